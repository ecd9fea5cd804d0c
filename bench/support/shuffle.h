/* SPDX-License-Identifier: Apache-2.0 */
/* shuffle.h - a random order of 0 .. n-1 that takes no memory: a bijection instead of a shuffled array.
 *
 * A mixer that is one-to-one on k bits (2^k >= n) is applied until it lands below n; less than two rounds on
 * average. The same seed gives the same order. Pure. */
#ifndef RUNG_BENCH_SHUFFLE_H
#define RUNG_BENCH_SHUFFLE_H

#include <stdint.h>

typedef struct bench_shuffle {
    uint64_t n, mask, seed;
    unsigned half; /* half of k, rounded up: each step folds the high half into the low one */
} bench_shuffle;

/* n > 0. */
static inline bench_shuffle bench_shuffle_of(uint64_t n, uint64_t seed) {
    unsigned bits = 2;
    while (bits < 63 && (UINT64_C(1) << bits) < n)
        bits++;
    return (bench_shuffle){
        .n = n, .mask = (UINT64_C(1) << bits) - 1, .seed = seed, .half = (bits + 1) / 2};
}

/* The element at `i` < n. */
static inline uint64_t bench_shuffle_at(const bench_shuffle *s, uint64_t i) {
    do {
        i = (i + s->seed) & s->mask;
        for (int round = 0; round < 3; round++) {
            i ^= i >> s->half;
            i = (i * 0x9e3779b97f4a7c15u) & s->mask; /* odd factor: one-to-one */
        }
        i ^= i >> s->half;
    } while (i >= s->n);
    return i;
}

#endif
