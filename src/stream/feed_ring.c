/* SPDX-License-Identifier: Apache-2.0 */
/* A circle of bytes. A record is its header, its key and its JSON, at an offset that is a multiple of 8, without a
 * break: where the circle's end is too near, a header with no JSON fills it.
 *
 *   R1  head <= tail <= head + size; both only grow. The byte at offset o is bytes[o & (size - 1)].
 *   R2  From head to tail there are whole records, in the order of their positions.
 *   R3  What is lost lies before head: a record that is not stored counts as one that was, and was dropped. */
#include "stream/feed_ring.h"

#include <string.h>

typedef struct header {
    uint64_t seq;
    uint32_t n;
    uint32_t key_len, json_len; /* json_len 0: filling */
    uint32_t whole;             /* bytes with the header, rounded up */
    uint64_t is_for_all;
} header;

enum { ALIGN = 8, SIZE_MIN = 256 };

rung_status rung__feed_ring_init(rung__feed_ring *r, const rung_alloc *alloc, size_t size,
                                 uint64_t first_seq) {
    *r = (rung__feed_ring){.size = SIZE_MIN, .first_seq = first_seq};
    while (r->size < size)
        r->size *= 2;
    r->bytes = rung_alloc_get(alloc, r->size);
    return r->bytes ? RUNG_OK : RUNG_ENOMEM;
}

void rung__feed_ring_deinit(rung__feed_ring *r, const rung_alloc *alloc) {
    rung_alloc_free(alloc, r->bytes, r->bytes ? r->size : 0);
    *r = (rung__feed_ring){0};
}

static header header_at(const rung__feed_ring *r, uint64_t offset) {
    header h;
    memcpy(&h, r->bytes + (offset & (r->size - 1)), sizeof h);
    return h;
}

/* What is left up to the end of the circle may be too short for a header. */
static size_t rest_at(const rung__feed_ring *r, uint64_t offset) {
    return r->size - (size_t)(offset & (r->size - 1));
}

static uint64_t after(const rung__feed_ring *r, uint64_t offset) {
    size_t rest = rest_at(r, offset);
    return offset + (rest < sizeof(header) ? rest : header_at(r, offset).whole);
}

static bool is_filling(const rung__feed_ring *r, uint64_t offset) {
    return rest_at(r, offset) < sizeof(header) || header_at(r, offset).json_len == 0;
}

static void begin_after(rung__feed_ring *r, uint64_t seq) {
    r->first_seq = seq + 1 > r->first_seq ? seq + 1 : r->first_seq;
}

static void drop_oldest(rung__feed_ring *r) {
    if (!is_filling(r, r->head))
        begin_after(r, header_at(r, r->head).seq);
    r->head = after(r, r->head);
}

void rung__feed_ring_forget(rung__feed_ring *r, uint64_t seq) {
    begin_after(r, seq);
    while (r->head < r->tail && (is_filling(r, r->head) || header_at(r, r->head).seq <= seq))
        drop_oldest(r);
    if (r->head == r->tail) /* R3: a reader may be here */
        r->head = r->tail = r->tail + r->size;
}

static void fill_to_end(rung__feed_ring *r) {
    size_t rest = rest_at(r, r->tail);
    header h = {.whole = (uint32_t)rest};
    if (rest >= sizeof h)
        memcpy(r->bytes + (r->tail & (r->size - 1)), &h, sizeof h);
    r->tail += rest;
}

static void make_room(rung__feed_ring *r, size_t need) {
    while (r->tail + need > r->head + r->size)
        drop_oldest(r);
}

void rung__feed_ring_add(rung__feed_ring *r, const rung__feed_record *record) {
    size_t need = sizeof(header) + record->key.len + record->json.len;
    need = (need + ALIGN - 1) / ALIGN * ALIGN;
    uint64_t seq = record->position.seq;
    if (seq < r->first_seq)
        return;
    if (need > r->size) {
        rung__feed_ring_forget(r, seq);
        return;
    }
    if (rest_at(r, r->tail) < need) {
        make_room(r, rest_at(r, r->tail));
        fill_to_end(r);
    }
    make_room(r, need);
    if (seq < r->first_seq) { /* one event needs more than the ring */
        rung__feed_ring_forget(r, seq);
        return;
    }
    header h = {.seq = seq,
                .n = record->position.n,
                .key_len = (uint32_t)record->key.len,
                .json_len = (uint32_t)record->json.len,
                .whole = (uint32_t)need,
                .is_for_all = record->is_for_all};
    char *at = r->bytes + (r->tail & (r->size - 1));
    memcpy(at, &h, sizeof h);
    if (h.key_len)
        memcpy(at + sizeof h, record->key.ptr, h.key_len);
    memcpy(at + sizeof h + h.key_len, record->json.ptr, h.json_len);
    r->tail += need;
}

bool rung__feed_ring_look(const rung__feed_ring *r, uint64_t *place, rung__feed_record *out) {
    if (*place < r->head)
        *place = r->head;
    while (*place < r->tail && is_filling(r, *place))
        *place = after(r, *place);
    if (*place >= r->tail)
        return false;
    header h = header_at(r, *place);
    const char *at = r->bytes + (*place & (r->size - 1)) + sizeof h;
    *out = (rung__feed_record){.position = {h.seq, h.n},
                               .is_for_all = h.is_for_all,
                               .key = rung_slice_of(at, h.key_len),
                               .json = rung_slice_of(at + h.key_len, h.json_len)};
    return true;
}

void rung__feed_ring_pass(const rung__feed_ring *r, uint64_t *place) {
    *place = after(r, *place);
}
