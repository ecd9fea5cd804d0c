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

/* Processor time of this thread: stands still while others have the processor. A system call, about half a
 * microsecond: for stretches of work, not for single operations. */
static inline uint64_t bench_cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline double bench_seconds_since(uint64_t start_ns) {
    return (double)(bench_now_ns() - start_ns) * 1e-9;
}

/* Keep the compiler from dropping work whose result nobody reads. */
static inline void bench_use(uint64_t value) {
    __asm__ volatile("" : : "r"(value) : "memory");
}

/* Finds the longest of very many short operations, leaving out the time others had the processor. The wall clock is
 * read for each; processor time only now and then, and when one looks long. Begin, then call lap after each. */
typedef struct bench_laps {
    uint64_t longest_ns;
    uint64_t over_1ms;
    uint64_t wall_base, cpu_base, last, since_base; /* private */
} bench_laps;

void bench_laps_begin(bench_laps *l);
void bench_laps_settle(bench_laps *l, uint64_t now); /* private: the slow part of a lap */

static inline void bench_lap(bench_laps *l) {
    uint64_t now = bench_now_ns();
    if (now - l->last > 20000 || ++l->since_base == 256)
        bench_laps_settle(l, now);
    else if (now - l->last > l->longest_ns)
        l->longest_ns = now - l->last;
    l->last = now;
}

/* The middle value, the mean of the two middle ones for an even count; 0 for none. Sorts `values`. */
double bench_median(double *values, size_t n);

/* One line on stderr, with the time since the first call. */
void bench_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Say why on stderr and end with code 1: a benchmark has nobody to hand an error to. */
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
