/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch.h - prefetch cache lines to L2 or L1. */
#ifndef RUNG_BASE_PREFETCH_H
#define RUNG_BASE_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

/* gcc 12 considers a function that only prefetches free of side effects and drops calls to it. The empty assembly is
 * a side effect. */
#define RUNG__PREFETCH(p, cache)                                                                   \
    do {                                                                                           \
        __builtin_prefetch(p, 0, cache);                                                           \
        __asm__ volatile("" : : "r"(p));                                                           \
    } while (0)

#define RUNG__PREFETCH_RANGE(start, bytes, cache)                                                  \
    do {                                                                                           \
        const char *line_ = (const char *)((uintptr_t)(start) & ~(uintptr_t)63),                   \
                   *end_ = (const char *)(start) + (bytes);                                        \
        for (; line_ < end_; line_ += 64)                                                          \
            RUNG__PREFETCH(line_, cache);                                                          \
    } while (0)

/* To L2, for use about a microsecond later, with many others in flight: L1 has too few fill buffers. */
static inline void rung_prefetch(const void *p) {
    RUNG__PREFETCH(p, 2);
}

/* All lines of a range. */
static inline void rung_prefetch_range(const void *start, size_t bytes) {
    RUNG__PREFETCH_RANGE(start, bytes, 2);
}

/* The same two to L1, for use at once. */
static inline void rung_prefetch_now(const void *p) {
    RUNG__PREFETCH(p, 3);
}

static inline void rung_prefetch_range_now(const void *start, size_t bytes) {
    RUNG__PREFETCH_RANGE(start, bytes, 3);
}

#endif
