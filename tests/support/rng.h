/* SPDX-License-Identifier: Apache-2.0 */
/* rng.h - repeatable randomness for tests and benchmarks: xoshiro256**, seeded by splitmix64.
 * The same seed gives the same numbers on every machine. Not for secrets. One generator per thread. */
#ifndef RUNG_TESTS_RNG_H
#define RUNG_TESTS_RNG_H

#include <stdint.h>

typedef struct rung_rng {
    uint64_t s[4];
} rung_rng;

static inline uint64_t rung_splitmix64(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void rung_rng_seed(rung_rng *r, uint64_t seed) {
    for (int i = 0; i < 4; i++)
        r->s[i] = rung_splitmix64(&seed);
}

static inline uint64_t rung_rng_next(rung_rng *r) {
    uint64_t *s = r->s;
    uint64_t x = s[1] * 5, result = ((x << 7) | (x >> 57)) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

/* Uniform in 0 .. n-1 without bias (Lemire); n > 0. */
static inline uint64_t rung_rng_below(rung_rng *r, uint64_t n) {
    unsigned __int128 m = (unsigned __int128)rung_rng_next(r) * n;
    if ((uint64_t)m < n) {
        uint64_t floor = -n % n;
        while ((uint64_t)m < floor)
            m = (unsigned __int128)rung_rng_next(r) * n;
    }
    return (uint64_t)(m >> 64);
}

/* Uniform in [0, 1), 53 bits. */
static inline double rung_rng_double(rung_rng *r) {
    return (double)(rung_rng_next(r) >> 11) * 0x1p-53;
}

#endif
