/* SPDX-License-Identifier: Apache-2.0 */
/* A list of blocks, the newest first; memory is taken from the newest. A new block has a quarter of the total size, so
 * that a small arena wastes little and a large one uses huge pages. */
#include "ladder/arena.h"

#include "base/assert.h"

#include <stdint.h>

#ifdef RUNG_TEST_BUILD
#define BLOCK_BYTES_MAX ((size_t)4096)
#else
#define BLOCK_BYTES_MAX RUNG_ALLOC_HUGE
#endif

typedef struct block {
    struct block *before;
    size_t size; /* header included */
} block;

struct rung_arena {
    const rung_alloc *alloc;
    block *newest;
    size_t used; /* bytes of the newest */
    size_t bytes;
};

rung_arena *rung_arena_create(const rung_alloc *alloc) {
    rung_arena *q = rung_alloc_zeroed(alloc, sizeof *q);
    if (!q)
        return NULL;
    q->alloc = alloc;
    q->bytes = sizeof *q;
    return q;
}

void rung_arena_destroy(rung_arena *q) {
    if (!q)
        return;
    while (q->newest) {
        block *gone = q->newest;
        q->newest = gone->before;
        rung_alloc_free(q->alloc, gone, gone->size);
    }
    rung_alloc_free(q->alloc, q, sizeof *q);
}

void *rung_arena_take(rung_arena *q, size_t size) {
    RUNG_ASSERT(size % 8 == 0 && size <= SIZE_MAX / 2);
    if (!q->newest || q->newest->size - q->used < size) {
        size_t want = q->bytes / 4 < BLOCK_BYTES_MAX ? q->bytes / 4 & ~(size_t)7 : BLOCK_BYTES_MAX;
        want = want < sizeof(block) + size ? sizeof(block) + size : want;
        block *fresh = rung_alloc_get(q->alloc, want);
        if (!fresh)
            return NULL;
        *fresh = (block){q->newest, want};
        q->newest = fresh;
        q->used = sizeof *fresh;
        q->bytes += want;
    }
    void *taken = (char *)q->newest + q->used;
    q->used += size;
    return taken;
}

size_t rung_arena_memory(const rung_arena *q) {
    return q ? q->bytes : 0;
}
