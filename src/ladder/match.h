/* SPDX-License-Identifier: Apache-2.0 */
/* match.h - compare a column with a number, a result bit for each row. Private to ladder. */
#ifndef RUNG_LADDER_MATCH_H
#define RUNG_LADDER_MATCH_H

#include <stdint.h>

#if defined(__SSE2__)
#include <emmintrin.h>

/* Sixteen rows. */
static inline uint64_t rung__match_sixteen(const uint32_t *column, __m128i wanted) {
    const __m128i *p = (const __m128i *)column;
    __m128i a = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_loadu_si128(p), wanted),
                                _mm_cmpeq_epi32(_mm_loadu_si128(p + 1), wanted));
    __m128i b = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_loadu_si128(p + 2), wanted),
                                _mm_cmpeq_epi32(_mm_loadu_si128(p + 3), wanted));
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(a, b));
}
#endif

/* `n` <= 64 rows, without data-dependent branches. Unrolls for a constant n. */
static inline uint64_t rung__match(const uint32_t *column, uint32_t n, uint32_t value) {
    uint64_t found = 0;
    uint32_t i = 0;
#if defined(__SSE2__)
    __m128i wanted = _mm_set1_epi32((int)value);
    for (; i + 16 <= n; i += 16)
        found |= rung__match_sixteen(column + i, wanted) << i;
#endif
    for (; i < n; i++)
        found |= (uint64_t)(column[i] == value) << i;
    return found;
}

#endif
