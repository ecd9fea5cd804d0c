/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch.h - ask for a cache line. */
#ifndef RUNG_BASE_PREFETCH_H
#define RUNG_BASE_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

/* A prefetch that stays: gcc 12 takes a function that does nothing but prefetch for one without effect, and
 * drops calls to it. The empty assembly is the effect.
 * Into the second cache, not the first: who asks for a line uses it a microsecond later as a rule, after many others
 * were asked for, and the first cache can wait for so few lines at a time that it forgets some. */
static inline void rung_prefetch(const void *p) {
    __builtin_prefetch(p, 0, 2);
    __asm__ volatile("" : : "r"(p));
}

/* All lines of a range. */
static inline void rung_prefetch_range(const void *start, size_t bytes) {
    const char *line = (const char *)((uintptr_t)start & ~(uintptr_t)63),
               *end = (const char *)start + bytes;
    for (; line < end; line += 64)
        rung_prefetch(line);
}

#endif
