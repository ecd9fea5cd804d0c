/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.h - the allocator port: one function with Lua's contract; the caller always knows the size.
 *
 *   resize(ctx, NULL, 0, n)    allocate n bytes; NULL: out of memory
 *   resize(ctx, p, old, n)     grow or shrink; on NULL the old block is untouched
 *   resize(ctx, p, old, 0)     free; returns NULL
 *
 * Only base/ calls malloc, so tests can make every allocation of every other room fail. rung_alloc_heap() may be used
 * from any thread. */
#ifndef RUNG_BASE_ALLOC_H
#define RUNG_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rung_alloc {
    void *(*resize)(void *ctx, void *ptr, size_t old_size, size_t new_size);
    void *ctx;
} rung_alloc;

/* The process heap. Blocks of RUNG_ALLOC_HUGE bytes or more get a mapping of their own, aligned to huge pages and
 * with madvise(MADV_HUGEPAGE): a random access into a 1 GB block then costs one miss instead of three. They grow in
 * place where the address space allows it. Static storage. */
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

/* Free; accepts NULL with size 0. */
static inline void rung_alloc_free(const rung_alloc *a, void *ptr, size_t size) {
    if (ptr)
        a->resize(a->ctx, ptr, size, 0);
}

/* Grow an array of `*cap` elements of `size` bytes to more than `index` elements, the new ones zero. Returns the array;
 * NULL: out of memory, and nothing changed. */
void *rung_alloc_array(const rung_alloc *a, void *array, uint32_t *cap, uint32_t index,
                       size_t size);

/* May several threads use it at a time? True for the heap, and for a meter or a lazy one on it. */
bool rung_alloc_is_shared(const rung_alloc *a);

/* An allocator that takes large blocks back at once, but returns them to `inner` a few at a time. A ranking of ten
 * million entries has 280 MB: returning them takes the kernel 1.5 ms if they are huge pages, 40 ms if they are not, or
 * were split by a fork. Embed it by value. Any thread may allocate and free; one thread steps.
 *
 *     rung_alloc_lazy_init(&lazy, rung_alloc_heap());
 *     ... &lazy.port ...
 *     while (rung_alloc_lazy_step(&lazy, 4 << 20)) ...one turn of the loop...
 *     rung_alloc_lazy_deinit(&lazy); */
typedef struct rung_alloc_lazy {
    rung_alloc port;
    const rung_alloc *inner;
    struct rung__lazy_block *_Atomic freed; /* not returned yet, and not seen by a step */
    struct rung__lazy_block *seen;          /* not returned yet */
    _Atomic size_t bytes;                   /* of both */
    /* Return blocks at once, while nobody steps. Set it while one thread alone uses it. */
    bool is_eager;
} rung_alloc_lazy;
void rung_alloc_lazy_init(rung_alloc_lazy *z, const rung_alloc *inner);
/* Return all. Nothing may be allocated any more. */
void rung_alloc_lazy_deinit(rung_alloc_lazy *z);
/* Return about so many bytes, at least one block. False: none are left. */
bool rung_alloc_lazy_step(rung_alloc_lazy *z, size_t bytes);

/* An allocator that counts what it has handed out, including the heap's overhead for small blocks and whole pages for
 * large ones. Embed it by value. It uses `inner` throughout its life. */
typedef struct rung_alloc_meter {
    rung_alloc port; /* pass this to the code to be measured */
    const rung_alloc *inner;
    _Atomic size_t used, peak;
    size_t max; /* it hands out no more than this; 0, as after init: no limit */
} rung_alloc_meter;
void rung_alloc_meter_init(rung_alloc_meter *m, const rung_alloc *inner);

#endif
