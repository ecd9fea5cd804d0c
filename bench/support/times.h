/* SPDX-License-Identifier: Apache-2.0 */
/* times.h - many measured times, and their percentiles.
 *
 *     bench_times t = {0};
 *     bench_times_add(&t, now_ns - due_ns);
 *     p99 = bench_times_at(&t, 0.99);                  // microseconds; sorts once
 *     bench_times_deinit(&t);
 *
 * Zero is a valid empty value. Out of memory ends the program. One thread. */
#ifndef RUNG_BENCH_TIMES_H
#define RUNG_BENCH_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_times {
    uint32_t *tenths; /* of a microsecond */
    size_t count, cap;
    bool is_sorted;
} bench_times;

void bench_times_add(bench_times *t, uint64_t ns);
/* The time that this share of the others does not exceed: 0.5 the median, 1 the longest. 0 for none. */
double bench_times_at(bench_times *t, double share);
void bench_times_deinit(bench_times *t);

#endif
