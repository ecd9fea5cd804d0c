/* SPDX-License-Identifier: Apache-2.0 */
#include "support/stopwatch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void bench_laps_begin(bench_laps *l) {
    *l = (bench_laps){.cpu_base = bench_cpu_ns()};
    l->wall_base = l->last = bench_now_ns();
}

/* The laps since the base were short, hence hardly interrupted: what processor time exceeds theirs is this lap's. */
void bench_laps_settle(bench_laps *l, uint64_t now) {
    uint64_t cpu = bench_cpu_ns(), others = l->last - l->wall_base, wall = now - l->last;
    uint64_t took = cpu - l->cpu_base > others ? cpu - l->cpu_base - others : 0;
    took = took < wall ? took : wall;
    if (took > l->longest_ns)
        l->longest_ns = took;
    l->over_1ms += took > 1000000;
    l->cpu_base = cpu;
    l->wall_base = now;
    l->since_base = 0;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, size_t n) {
    if (n == 0)
        return 0;
    qsort(values, n, sizeof *values, compare_doubles);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void bench_progress(const char *format, ...) {
    static uint64_t start_ns;
    va_list args;
    if (!start_ns)
        start_ns = bench_now_ns();
    fprintf(stderr, "%7.1f s  ", bench_seconds_since(start_ns));
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void bench_die(const char *format, ...) {
    va_list args;
    fputs("bench: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}
