/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.h - the allocator port: one function, Lua's contract, sizes always known.
 *
 *   resize(ctx, NULL, 0, n)    allocate n bytes; NULL when there are none
 *   resize(ctx, p, old, n)     grow or shrink; on NULL the old block is untouched
 *   resize(ctx, p, old, 0)     free; returns NULL
 *
 * malloc and friends are not called outside base/, so every room can be swept for out-of-memory.
 * Threads: rung_alloc_heap() may be used from any thread. */
#ifndef RUNG_BASE_ALLOC_H
#define RUNG_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

typedef struct rung_alloc {
    void *(*resize)(void *ctx, void *ptr, size_t old_size, size_t new_size);
    void *ctx;
} rung_alloc;

/* The process heap. Blocks of RUNG_ALLOC_HUGE bytes and more are mapped on their own, aligned to huge
 * pages and advised to use them (a random access into a 1 GB block then costs one miss, not three);
 * they grow in place where the address space allows. Static storage; never freed. */
const rung_alloc *rung_alloc_heap(void);

#define RUNG_ALLOC_HUGE ((size_t)2 << 20)

/* Fresh bytes, not zeroed; NULL when out of memory. */
static inline void *rung_alloc_get(const rung_alloc *a, size_t size) {
    return a->resize(a->ctx, NULL, 0, size);
}

/* Fresh zeroed bytes. */
void *rung_alloc_zeroed(const rung_alloc *a, size_t size);

static inline void *rung_alloc_resize(const rung_alloc *a, void *ptr, size_t old_size,
                                      size_t new_size) {
    return a->resize(a->ctx, ptr, old_size, new_size);
}

/* Give back; NULL with size 0 is accepted. */
static inline void rung_alloc_free(const rung_alloc *a, void *ptr, size_t size) {
    if (ptr)
        a->resize(a->ctx, ptr, size, 0);
}

/* May several threads use it at a time? The heap, and a meter on it. */
bool rung_alloc_is_shared(const rung_alloc *a);

/* An allocator that knows how much it has given out: with what the heap adds to small blocks, and whole pages of large
 * ones. Embedded; `inner` is used as long as it is. */
typedef struct rung_alloc_meter {
    rung_alloc port; /* give this to whoever is to be measured */
    const rung_alloc *inner;
    _Atomic size_t used, peak;
} rung_alloc_meter;
void rung_alloc_meter_init(rung_alloc_meter *m, const rung_alloc *inner);

#endif
