/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch.h - ask for a cache line. */
#ifndef RUNG_BASE_PREFETCH_H
#define RUNG_BASE_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

/* A prefetch that stays: gcc 12 takes a function that does nothing but prefetch for one without effect, and
 * drops calls to it. The empty assembly is the effect. */
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

/* For later, as a rule a microsecond or so, and one among many: into the second cache. The first can wait for so few
 * lines at a time that it forgets some. */
static inline void rung_prefetch(const void *p) {
    RUNG__PREFETCH(p, 2);
}

/* All lines of a range. */
static inline void rung_prefetch_range(const void *start, size_t bytes) {
    RUNG__PREFETCH_RANGE(start, bytes, 2);
}

/* The same two for at once: whatever comes next reads it. */
static inline void rung_prefetch_now(const void *p) {
    RUNG__PREFETCH(p, 3);
}

static inline void rung_prefetch_range_now(const void *start, size_t bytes) {
    RUNG__PREFETCH_RANGE(start, bytes, 3);
}

#endif
