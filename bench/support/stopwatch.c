/* SPDX-License-Identifier: Apache-2.0 */
#include "support/stopwatch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
