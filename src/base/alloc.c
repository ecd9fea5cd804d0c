/* SPDX-License-Identifier: Apache-2.0 */
/* The heap behind the port. Small blocks are malloc's; large ones are mapped with 2 MiB alignment so that
 * transparent huge pages apply from the first byte. A mapped block of any size is released by its size,
 * which the contract hands us, so no header is needed and the memory a room reports is what it uses. */
#define _GNU_SOURCE
#include "base/alloc.h"

#include "base/assert.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Sanitizers watch malloc, not mmap: let them see everything. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MAP_LARGE_BLOCKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MAP_LARGE_BLOCKS 0
#endif
#endif
#ifndef MAP_LARGE_BLOCKS
#define MAP_LARGE_BLOCKS 1
#endif

static size_t page_round(size_t size) {
    return (size + 4095) & ~(size_t)4095;
}

static int is_mapped(size_t size) {
    return MAP_LARGE_BLOCKS && size >= RUNG_ALLOC_HUGE;
}

static void *map_block(size_t size) {
    size_t want = page_round(size), span = want + RUNG_ALLOC_HUGE;
    if (span < size)
        return NULL;
    char *raw = mmap(NULL, span, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
        return NULL;
    size_t head = (size_t)(-(uintptr_t)raw & (RUNG_ALLOC_HUGE - 1));
    if (head)
        munmap(raw, head);
    munmap(raw + head + want, span - head - want);
    madvise(raw + head, want, MADV_HUGEPAGE); /* advice: a refusal costs speed, not correctness */
    return raw + head;
}

static void *heap_resize(void *ctx, void *ptr, size_t old_size, size_t new_size) {
    (void)ctx;
    RUNG_ASSERT((ptr == NULL) == (old_size == 0));
    if (new_size == 0) {
        if (is_mapped(old_size))
            munmap(ptr, page_round(old_size));
        else
            free(ptr);
        return NULL;
    }
    if (!is_mapped(old_size) && !is_mapped(new_size))
        return realloc(ptr, new_size);
    if (is_mapped(old_size) && is_mapped(new_size)) {
        if (page_round(old_size) == page_round(new_size))
            return ptr;
        /* In place if possible, to keep the alignment and the huge pages. */
        if (mremap(ptr, page_round(old_size), page_round(new_size), 0) != MAP_FAILED) {
            madvise(ptr, page_round(new_size), MADV_HUGEPAGE);
            return ptr;
        }
    }
    void *fresh = is_mapped(new_size) ? map_block(new_size) : malloc(new_size);
    if (!fresh)
        return NULL;
    if (ptr) {
        memcpy(fresh, ptr, old_size < new_size ? old_size : new_size);
        heap_resize(NULL, ptr, old_size, 0);
    }
    return fresh;
}

const rung_alloc *rung_alloc_heap(void) {
    static const rung_alloc heap = {heap_resize, NULL};
    return &heap;
}

void *rung_alloc_zeroed(const rung_alloc *a, size_t size) {
    void *p = rung_alloc_get(a, size);
    if (p)
        memset(p, 0, size);
    return p;
}

void *rung_alloc_array(const rung_alloc *a, void *array, uint32_t *cap, uint32_t index,
                       size_t size) {
    if (index < *cap)
        return array;
    uint32_t more = *cap ? *cap : 16;
    while (more <= index)
        more *= 2;
    char *grown = rung_alloc_resize(a, array, *cap * size, more * size);
    if (!grown)
        return NULL;
    memset(grown + *cap * size, 0, (more - *cap) * size);
    *cap = more;
    return grown;
}

/* ---- the lazy one ---- */

/* At the beginning of a block that was freed. */
struct rung__lazy_block {
    struct rung__lazy_block *next;
    size_t size;
};

static void put_off(rung_alloc_lazy *z, void *ptr, size_t size) {
    struct rung__lazy_block *b = ptr;
    b->size = size;
    b->next = atomic_load(&z->freed);
    atomic_fetch_add(&z->bytes, size);
    while (!atomic_compare_exchange_weak(&z->freed, &b->next, b))
        ;
}

static void return_block(rung_alloc_lazy *z, struct rung__lazy_block *b) {
    size_t size = b->size;
    atomic_fetch_sub(&z->bytes, size);
    rung_alloc_free(z->inner, b, size);
}

/* Out of memory: return what was freed. What a step has seen is its thread's. */
static bool return_freed(rung_alloc_lazy *z) {
    struct rung__lazy_block *list = atomic_exchange(&z->freed, NULL), *b;
    bool had_some = list != NULL;
    while ((b = list)) {
        list = b->next;
        return_block(z, b);
    }
    return had_some;
}

static void *lazy_resize(void *ctx, void *ptr, size_t old_size, size_t new_size) {
    rung_alloc_lazy *z = ctx;
    if (new_size == 0 && ptr && old_size >= RUNG_ALLOC_HUGE && !z->is_eager) {
        put_off(z, ptr, old_size);
        return NULL;
    }
    void *block = z->inner->resize(z->inner->ctx, ptr, old_size, new_size);
    if (!block && new_size && return_freed(z))
        block = z->inner->resize(z->inner->ctx, ptr, old_size, new_size);
    return block;
}

void rung_alloc_lazy_init(rung_alloc_lazy *z, const rung_alloc *inner) {
    z->port = (rung_alloc){lazy_resize, z};
    z->inner = inner;
    z->seen = NULL;
    z->is_eager = false;
    atomic_init(&z->freed, NULL);
    atomic_init(&z->bytes, 0);
}

void rung_alloc_lazy_deinit(rung_alloc_lazy *z) {
    while (rung_alloc_lazy_step(z, SIZE_MAX))
        ;
}

bool rung_alloc_lazy_step(rung_alloc_lazy *z, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
        if (!z->seen)
            z->seen = atomic_exchange(&z->freed, NULL);
        struct rung__lazy_block *b = z->seen;
        if (!b)
            return false;
        z->seen = b->next;
        done = b->size < bytes - done ? done + b->size : bytes;
        return_block(z, b);
    }
    return z->seen || atomic_load_explicit(&z->freed, memory_order_relaxed);
}

/* ---- the meter ---- */

/* As glibc's malloc: 8 bytes of header per block, in steps of 16, at least 32. */
static size_t cost_of(size_t size) {
    if (size == 0)
        return 0;
    if (size >= RUNG_ALLOC_HUGE)
        return page_round(size);
    return size <= 24 ? 32 : (size + 8 + 15) & ~(size_t)15;
}

static void *meter_resize(void *ctx, void *ptr, size_t old_size, size_t new_size) {
    rung_alloc_meter *m = ctx;
    if (m->max && new_size > old_size &&
        atomic_load_explicit(&m->used, memory_order_relaxed) + cost_of(new_size) -
                cost_of(old_size) >
            m->max)
        return NULL;
    void *block = m->inner->resize(m->inner->ctx, ptr, old_size, new_size);
    if (!block && new_size)
        return NULL;
    size_t more = cost_of(new_size) - cost_of(old_size); /* may wrap; the sum wraps back */
    size_t used = atomic_fetch_add_explicit(&m->used, more, memory_order_relaxed) + more;
    if (used > atomic_load_explicit(&m->peak, memory_order_relaxed))
        atomic_store_explicit(&m->peak, used,
                              memory_order_relaxed); /* approximate if threads race */
    return block;
}

void rung_alloc_meter_init(rung_alloc_meter *m, const rung_alloc *inner) {
    m->port = (rung_alloc){meter_resize, m};
    m->inner = inner;
    m->max = 0;
    atomic_init(&m->used, 0);
    atomic_init(&m->peak, 0);
}

bool rung_alloc_is_shared(const rung_alloc *a) {
    while (a->resize == meter_resize || a->resize == lazy_resize)
        a = a->resize == meter_resize ? ((const rung_alloc_meter *)a->ctx)->inner
                                      : ((const rung_alloc_lazy *)a->ctx)->inner;
    return a == rung_alloc_heap();
}
