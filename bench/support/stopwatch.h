/* SPDX-License-Identifier: Apache-2.0 */
/* stopwatch.h - time for benchmarks: a monotonic clock, medians, and signs of life on stderr.
 *
 * Progress goes to stderr so that stdout carries the report alone. One thread. */
#ifndef RUNG_BENCH_STOPWATCH_H
#define RUNG_BENCH_STOPWATCH_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t bench_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline double bench_seconds_since(uint64_t start_ns) {
    return (double)(bench_now_ns() - start_ns) * 1e-9;
}

/* Keep the compiler from dropping work whose result nobody reads. */
static inline void bench_use(uint64_t value) {
    __asm__ volatile("" : : "r"(value) : "memory");
}

/* The middle value, the mean of the two middle ones for an even count; 0 for none. Sorts `values`. */
double bench_median(double *values, size_t n);

/* One line on stderr, with the time since the first call. */
void bench_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Say why on stderr and end with code 1: a benchmark has nobody to hand an error to. */
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
