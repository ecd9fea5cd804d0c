/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - a list of pieces.
 *
 * 1. Every piece has bytes (start < end).
 * 2. `size` is the sum of end - start, `memory` that of the pieces without what blobs hold, `blobs` is what those hold.
 * 3. blob->stuck_count is the number of its pieces with is_stuck; pool.stuck the bytes of all blobs with any.
 * 4. A free piece is in the pool of its kind: the most recently used is taken first, it is still in the cache. */
#include "front/net/queue.h"

#include "base/assert.h"

#include <string.h>

static const struct {
    uint32_t size, kept; /* kept: free ones, for the next burst: 4 MiB at most */
} kinds[RUNG__PIECE_KINDS] = {
/* Under a sanitizer nothing is kept, so that it sees a use after free. */
#if defined(__SANITIZE_ADDRESS__)
    [RUNG__PIECE_BLOB] = {0, 0},
    [RUNG__PIECE_SMALL] = {RUNG__CHUNK_SMALL, 0},
    [RUNG__PIECE_LARGE] = {RUNG__CHUNK_LARGE, 0},
#else
    [RUNG__PIECE_BLOB] = {0, 16384},
    [RUNG__PIECE_SMALL] = {RUNG__CHUNK_SMALL, 2048},
    [RUNG__PIECE_LARGE] = {RUNG__CHUNK_LARGE, 64},
#endif
};

static size_t memory_of(rung__piece_kind kind) {
    return sizeof(rung__piece) + kinds[kind].size;
}

static rung__piece *piece_take(rung__pool *p, rung__piece_kind kind) {
    rung__piece *piece = p->free[kind];
    if (piece) {
        p->free[kind] = piece->next;
        p->free_count[kind]--;
    } else {
        piece = rung_alloc_get(p->alloc, memory_of(kind));
        if (!piece)
            return NULL;
        p->memory += memory_of(kind);
    }
    p->used += memory_of(kind);
    *piece = (rung__piece){.kind = kind, .size = kinds[kind].size};
    return piece;
}

static void stick(rung__pool *p, rung__piece *piece) {
    if (!piece->blob || piece->is_stuck)
        return;
    piece->is_stuck = true;
    if (piece->blob->stuck_count++ == 0)
        p->stuck += piece->blob->size;
}

static void unstick(rung__pool *p, rung__piece *piece) {
    if (!piece->is_stuck)
        return;
    piece->is_stuck = false;
    if (--piece->blob->stuck_count == 0)
        p->stuck -= piece->blob->size;
}

static void piece_give(rung__pool *p, rung__piece *piece) {
    rung__piece_kind kind = piece->kind;
    unstick(p, piece);
    rung_blob_give(piece->blob);
    p->used -= memory_of(kind);
    if (p->free_count[kind] < kinds[kind].kept) {
        piece->next = p->free[kind];
        p->free[kind] = piece;
        p->free_count[kind]++;
        return;
    }
    p->memory -= memory_of(kind);
    rung_alloc_free(p->alloc, piece, memory_of(kind));
}

void rung__net_pool_deinit(rung__pool *p) {
    for (int kind = 0; kind < RUNG__PIECE_KINDS; kind++)
        while (p->free[kind]) {
            rung__piece *next = p->free[kind]->next;
            rung_alloc_free(p->alloc, p->free[kind], memory_of((rung__piece_kind)kind));
            p->free[kind] = next;
        }
    *p = (rung__pool){.alloc = p->alloc};
}

static void append(rung__queue *q, rung__piece *piece) {
    q->memory += memory_of(piece->kind);
    *(q->tail ? &q->tail->next : &q->head) = piece;
    q->tail = piece;
}

static size_t tail_room(const rung__queue *q) {
    return q->tail ? q->tail->size - q->tail->end : 0;
}

static rung__piece_kind kind_for(const rung__queue *q, size_t len) {
    return !q->tail && len <= RUNG__CHUNK_SMALL ? RUNG__PIECE_SMALL : RUNG__PIECE_LARGE;
}

/* Chunks for `len` bytes beyond the room of the tail, as a list; NULL: none needed or no memory (`*ok`). */
static rung__piece *take_chunks(const rung__queue *q, rung__pool *p, size_t len, bool *ok) {
    rung__piece_kind kind = kind_for(q, len);
    rung__piece *first = NULL;
    *ok = true;
    for (size_t got = 0; got < len; got += kinds[kind].size) {
        rung__piece *piece = piece_take(p, kind);
        if (!piece) {
            while (first) {
                rung__piece *next = first->next;
                piece_give(p, first);
                first = next;
            }
            *ok = false;
            return NULL;
        }
        piece->next = first;
        first = piece;
    }
    return first;
}

bool rung__queue_add(rung__queue *q, rung__pool *p, rung_slice bytes) {
    size_t room = tail_room(q);
    bool ok = true;
    rung__piece *fresh = bytes.len > room ? take_chunks(q, p, bytes.len - room, &ok) : NULL;
    if (!ok)
        return false;
    while (bytes.len) {
        if (!tail_room(q)) {
            rung__piece *piece = fresh;
            fresh = piece->next;
            piece->next = NULL;
            append(q, piece);
        }
        size_t n = tail_room(q) < bytes.len ? tail_room(q) : bytes.len;
        memcpy(q->tail->bytes + q->tail->end, bytes.ptr, n);
        q->tail->end += (uint32_t)n;
        q->size += n;
        bytes = rung_slice_of(bytes.ptr + n, bytes.len - n);
    }
    return true;
}

bool rung__queue_add_blob(rung__queue *q, rung__pool *p, rung_blob *b) {
    if (!b->len)
        return true;
    rung__piece *piece = piece_take(p, RUNG__PIECE_BLOB);
    if (!piece)
        return false;
    piece->blob = rung_blob_take(b);
    piece->size = piece->end = b->len; /* full */
    append(q, piece);
    q->size += b->len;
    q->blobs += b->size;
    q->unstuck_count++;
    return true;
}

uint32_t rung__queue_front(const rung__queue *q, struct iovec *bufs, uint32_t max) {
    uint32_t n = 0;
    for (rung__piece *piece = q->head; piece && n < max; piece = piece->next) {
        char *bytes = piece->blob ? piece->blob->bytes : piece->bytes;
        if (piece->start < piece->end)
            bufs[n++] = (struct iovec){bytes + piece->start, piece->end - piece->start};
    }
    return n;
}

void rung__queue_drop(rung__queue *q, rung__pool *p, size_t len) {
    RUNG_ASSERT(len <= q->size);
    q->size -= len;
    while (q->head) {
        rung__piece *piece = q->head;
        size_t n = piece->end - piece->start;
        if (n > len) {
            piece->start += (uint32_t)len;
            return;
        }
        len -= n;
        q->head = piece->next;
        if (!q->head)
            q->tail = NULL;
        q->memory -= memory_of(piece->kind);
        if (piece->blob) {
            q->blobs -= piece->blob->size;
            q->unstuck_count -= !piece->is_stuck;
        }
        piece_give(p, piece);
    }
}

void rung__queue_clear(rung__queue *q, rung__pool *p) {
    rung__queue_drop(q, p, q->size);
    *q = (rung__queue){0};
}

void rung__queue_stick(rung__queue *q, rung__pool *p) {
    for (rung__piece *piece = q->head; piece && q->unstuck_count; piece = piece->next) {
        q->unstuck_count -= piece->blob && !piece->is_stuck;
        stick(p, piece);
    }
}

void rung__queue_unstick(rung__queue *q, rung__pool *p) {
    for (rung__piece *piece = q->head; piece; piece = piece->next) {
        q->unstuck_count += piece->is_stuck;
        unstick(p, piece);
    }
}

rung_blob *rung_blob_create(const rung_alloc *alloc, size_t len) {
    if (len > UINT32_MAX / 2)
        return NULL;
    rung_blob *b = rung_alloc_get(alloc, sizeof *b + len);
    if (b)
        *b = (rung_blob){
            .ref_count = 1, .len = (uint32_t)len, .size = (uint32_t)len, .alloc = alloc};
    return b;
}

rung_blob *rung_blob_take(rung_blob *b) {
    b->ref_count++;
    return b;
}

void rung_blob_give(rung_blob *b) {
    if (b && --b->ref_count == 0)
        rung_alloc_free(b->alloc, b, sizeof *b + b->size);
}
