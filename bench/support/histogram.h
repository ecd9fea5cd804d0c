/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.h - times in buckets whose width grows with the time: 32 to every doubling, so a percentile is within 3 %.
 *
 * Fixed size, 4 KiB, nothing is allocated: one for every tenth of a second of a run is fine. The longest is exact.
 * Zero is an empty one. */
#ifndef RUNG_BENCH_HISTOGRAM_H
#define RUNG_BENCH_HISTOGRAM_H

#include <stdint.h>

enum { BENCH_BUCKET_BITS = 5, BENCH_BUCKETS = 32 << BENCH_BUCKET_BITS };

typedef struct bench_histogram {
    uint32_t counts[BENCH_BUCKETS]; /* of times in units of 1.024 us */
    uint64_t count, longest_ns;
} bench_histogram;

/* Which bucket a number of units is in: itself below 64, then by its six highest bits. */
static inline uint32_t bench_bucket_of(uint64_t units) {
    if (units >> 32)
        units = UINT32_MAX;
    if (units < 2u << BENCH_BUCKET_BITS)
        return (uint32_t)units;
    uint32_t shift = 31 - (uint32_t)__builtin_clz((uint32_t)units) - BENCH_BUCKET_BITS;
    return (shift << BENCH_BUCKET_BITS) + (uint32_t)(units >> shift);
}

/* The largest number of units in a bucket. */
static inline uint64_t bench_bucket_end(uint32_t bucket) {
    if (bucket < 2u << BENCH_BUCKET_BITS)
        return bucket;
    uint32_t shift = (bucket >> BENCH_BUCKET_BITS) - 1;
    uint64_t top = (bucket & ((1u << BENCH_BUCKET_BITS) - 1)) | 1u << BENCH_BUCKET_BITS;
    return ((top + 1) << shift) - 1;
}

static inline void bench_histogram_add(bench_histogram *h, uint64_t ns) {
    h->counts[bench_bucket_of(ns >> 10)]++;
    h->count++;
    if (ns > h->longest_ns)
        h->longest_ns = ns;
}

static inline void bench_histogram_merge(bench_histogram *h, const bench_histogram *other) {
    for (uint32_t i = 0; i < BENCH_BUCKETS; i++)
        h->counts[i] += other->counts[i];
    h->count += other->count;
    if (other->longest_ns > h->longest_ns)
        h->longest_ns = other->longest_ns;
}

/* The time in milliseconds that this share of the others does not exceed: 0.5 the median, 1 the longest; 0 for none. */
static inline double bench_histogram_at(const bench_histogram *h, double share) {
    uint64_t wanted = (uint64_t)(share * (double)h->count + 0.999999), seen = 0;
    if (!h->count || share >= 1)
        return (double)h->longest_ns * 1e-6;
    for (uint32_t i = 0; i < BENCH_BUCKETS; i++)
        if ((seen += h->counts[i]) >= wanted) {
            uint64_t ns = (bench_bucket_end(i) + 1) << 10;
            return (double)(ns < h->longest_ns ? ns : h->longest_ns) * 1e-6;
        }
    return (double)h->longest_ns * 1e-6;
}

#endif
