/* SPDX-License-Identifier: Apache-2.0 */
#include "support/times.h"

#include "support/stopwatch.h"

#include <stdlib.h>

void bench_times_add(bench_times *t, uint64_t ns) {
    if (t->count == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 4096;
        t->tenths = realloc(t->tenths, t->cap * sizeof *t->tenths);
        if (!t->tenths)
            bench_die("no memory for %zu times", t->cap);
    }
    uint64_t value = ns / 100;
    t->tenths[t->count++] = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
    t->is_sorted = false;
}

static int by_time(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

double bench_times_at(bench_times *t, double share) {
    if (t->count == 0)
        return 0;
    if (!t->is_sorted)
        qsort(t->tenths, t->count, sizeof *t->tenths, by_time);
    t->is_sorted = true;
    size_t at = (size_t)(share * (double)t->count);
    return t->tenths[at < t->count ? at : t->count - 1] / 10.0;
}

void bench_times_deinit(bench_times *t) {
    free(t->tenths);
    *t = (bench_times){0};
}
