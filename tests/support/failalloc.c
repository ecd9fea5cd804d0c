/* SPDX-License-Identifier: Apache-2.0 */
/* Each block lies between a header and a trailing guard word:
 *
 *     | failalloc_block | size bytes for the caller | GUARD |
 *
 * The headers form a list, for the leak report. Freed blocks go back to malloc at once, so ASan sees a late use.
 * Shrinking counts and fails like growing: the port allows it, and the heap does it when a block changes its kind. */
#include "support/failalloc.h"

#include "support/check.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t MAGIC_LIVE = 0x6c6976652d626c6bu, MAGIC_DEAD = 0x646561642d626c6bu;
static const uint64_t GUARD = 0x9e3779b97f4a7c15u;

typedef struct failalloc_block {
    alignas(max_align_t) uint64_t magic;
    size_t size;
    uint64_t call; /* which call made it: run the test again and break there */
    struct failalloc_block *prev, *next;
} failalloc_block;

static unsigned char *bytes_of(failalloc_block *b) {
    return (unsigned char *)(b + 1);
}

static failalloc_block *block_of(void *ptr, size_t size) {
    failalloc_block *b = (failalloc_block *)ptr - 1;
    CHECK_MSG(b->magic != MAGIC_DEAD, "failalloc: %p was given back already", ptr);
    CHECK_MSG(b->magic == MAGIC_LIVE,
              "failalloc: %p is no block of this allocator, or was written before", ptr);
    CHECK_MSG(b->size == size,
              "failalloc: block %p of call %" PRIu64 " has %zu bytes, the caller says %zu", ptr,
              b->call, b->size, size);
    CHECK_MSG(memcmp(bytes_of(b) + size, &GUARD, sizeof GUARD) == 0,
              "failalloc: written past the end of block %p (%zu bytes, call %" PRIu64 ")", ptr,
              size, b->call);
    return b;
}

static void fill(const rung_failalloc *fa, failalloc_block *b, int byte) {
    size_t len = fa->fill_max && fa->fill_max < b->size ? fa->fill_max : b->size;
    memset(bytes_of(b), byte, len);
}

static void *make_block(rung_failalloc *fa, size_t size) {
    failalloc_block *b = malloc(sizeof *b + size + sizeof GUARD);
    CHECK_MSG(b, "failalloc: the machine itself is out of memory");
    *b = (failalloc_block){
        .magic = MAGIC_LIVE, .size = size, .call = fa->call_count, .next = fa->blocks};
    fill(fa, b, 0xA5);
    memcpy(bytes_of(b) + size, &GUARD, sizeof GUARD);
    if (fa->blocks)
        fa->blocks->prev = b;
    fa->blocks = b;
    fa->live_blocks++;
    fa->live_bytes += size;
    if (fa->live_bytes > fa->live_bytes_max)
        fa->live_bytes_max = fa->live_bytes;
    return bytes_of(b);
}

static void drop_block(rung_failalloc *fa, failalloc_block *b) {
    if (b->prev)
        b->prev->next = b->next;
    else
        fa->blocks = b->next;
    if (b->next)
        b->next->prev = b->prev;
    fa->live_blocks--;
    fa->live_bytes -= b->size;
    b->magic = MAGIC_DEAD;
    fill(fa, b, 0xDD);
    free(b);
}

static bool must_fail(rung_failalloc *fa) {
    fa->call_count++;
    if (!fa->fail_at || fa->call_count < fa->fail_at)
        return false;
    if (fa->call_count > fa->fail_at && !fa->is_sticky)
        return false;
    fa->failed_count++;
    return true;
}

static void *resize(rung_failalloc *fa, void *ptr, size_t old_size, size_t new_size) {
    CHECK_MSG((ptr == NULL) == (old_size == 0), "failalloc: pointer %p with old size %zu", ptr,
              old_size);
    failalloc_block *old = ptr ? block_of(ptr, old_size) : NULL;

    void *fresh = NULL;
    if (new_size > 0) {
        if (must_fail(fa))
            return NULL;
        fresh = make_block(fa, new_size);
        if (ptr)
            memcpy(fresh, ptr, old_size < new_size ? old_size : new_size);
    }
    if (old)
        drop_block(fa, old);
    return fresh;
}

/* A server under test works in several threads. */
static void *failalloc_resize(void *ctx, void *ptr, size_t old_size, size_t new_size) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    void *fresh = resize(ctx, ptr, old_size, new_size);
    pthread_mutex_unlock(&lock);
    return fresh;
}

void rung_failalloc_init(rung_failalloc *fa) {
    *fa = (rung_failalloc){.port = {failalloc_resize, fa}};
}

void rung_failalloc_deinit(rung_failalloc *fa) {
    const failalloc_block *b = fa->blocks;
    CHECK_MSG(
        !b,
        "failalloc: %zu blocks with %zu bytes not given back; the last: %zu bytes of call %" PRIu64,
        fa->live_blocks, fa->live_bytes, b->size, b->call);
}

void rung_failalloc_fail_at(rung_failalloc *fa, uint64_t n, bool is_sticky) {
    fa->fail_at = n ? fa->call_count + n : 0;
    fa->is_sticky = is_sticky;
}
