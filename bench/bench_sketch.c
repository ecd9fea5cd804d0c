/* SPDX-License-Identifier: Apache-2.0 */
/* bench_sketch.c - items per second and error per byte of the sketches, beside Apache DataSketches from PyPI.
 *
 * One stream per case is written to a file; tools/sketch_reference.py feeds it to the package in its own process, says
 * how many bytes the package's sketch takes, its error and its speed. Ours then gets that many bytes for the same
 * stream. Errors are against exact counts. --full: a billion keys in 1 MiB; their exact ranks are known because every
 * place of the population occurs exactly once, in mixed order. Times are processor times. */
#include "sketch/distinct.h"
#include "sketch/hitters.h"
#include "sketch/quantiles.h"
#include "support/machine.h"
#include "support/options.h"
#include "support/report.h"
#include "support/rng.h"
#include "support/sketch_stream.h"
#include "support/stopwatch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POINTS = 1000, TOP = 100, LINES_MAX = 16, NAME_BYTES = 24, TRIALS = 20 };

#define PYTHON ".cache/sketch/bin/python" /* bench/sketch.sh installs the package there */

static uint64_t count_of;    /* items of a stream */
static const char *python;   /* with the package, or NULL */
static char stream_path[64]; /* 8-byte little-endian numbers */

/* One line of tools/sketch_reference.py. */
typedef struct reference {
    char name[48];
    double bytes, rate, worst, mean, bound;
} reference;

static void write_stream(const uint64_t *items) {
    FILE *f = fopen(stream_path, "wb");
    if (f == NULL || fwrite(items, sizeof *items, count_of, f) != count_of || fclose(f) != 0)
        bench_die("cannot write %s", stream_path);
}

static size_t ask_package(const char *what, reference *lines) {
    char command[512];
    size_t n = 0;
    snprintf(command, sizeof command, "%s tools/sketch_reference.py %s %s", python, what,
             stream_path);
    FILE *f = python != NULL ? popen(command, "r") : NULL;
    if (f == NULL)
        return 0;
    while (n < LINES_MAX &&
           fscanf(f, "%47s %lf %lf %lf %lf %lf", lines[n].name, &lines[n].bytes, &lines[n].rate,
                  &lines[n].worst, &lines[n].mean, &lines[n].bound) == 6)
        n++;
    if (pclose(f) != 0)
        bench_die("%s failed", command);
    return n;
}

static double share(double part) {
    return 100 * part / (double)count_of;
}

static void row(bench_table *t, const char *stream, const char *name, double bytes, double rate,
                double worst, double mean, double bound) {
    bench_table_cell(t, "%s", stream);
    bench_table_cell(t, "%s", name);
    bench_table_cell(t, "%.1f KiB", bytes / 1024);
    if (rate > 0)
        bench_table_cell(t, "%.1f", rate * 1e-6);
    else
        bench_table_skip(t, 1);
    bench_table_cell(t, "%.5f %%", worst);
    bench_table_cell(t, "%.5f %%", mean);
    if (bound >= 0)
        bench_table_cell(t, "%.4f %%", bound);
    else
        bench_table_skip(t, 1);
}

/* ---- heavy hitters ---- */

static void add_names(rung_hitters *h, const uint64_t *items) {
    for (uint64_t i = 0; i < count_of; i++) { /* decimal digits, as the package gets them */
        char name[NAME_BYTES], *at = name + sizeof name;
        uint64_t item = items[i];
        do
            *--at = (char)('0' + item % 10);
        while (item /= 10);
        rung_slice text = {at, (size_t)(name + sizeof name - at)};
        if (rung_hitters_add(h, text, 1) != RUNG_OK)
            bench_die("a name was refused");
    }
}

/* Errors of the true top 100, as a share of the stream. */
static void judge_hitters(const rung_hitters *h, const uint64_t *counts, const uint64_t *top,
                          double *worst, double *mean) {
    *worst = *mean = 0;
    for (uint32_t i = 0; i < TOP; i++) {
        char name[NAME_BYTES];
        rung_hitter found = {.count = 0};
        snprintf(name, sizeof name, "%llu", (unsigned long long)top[i]);
        rung_hitters_find(h, rung_slice_str(name), &found);
        double off = fabs((double)found.count - (double)counts[top[i]]);
        *worst = off > *worst ? off : *worst;
        *mean += off / TOP;
    }
}

static void find_top(const uint64_t *counts, uint64_t span, uint64_t *top) {
    uint32_t n = 0;
    for (uint64_t item = 0; item < span; item++) {
        uint32_t at = n < TOP ? n++ : counts[item] > counts[top[TOP - 1]] ? TOP - 1 : TOP;
        if (at == TOP)
            continue;
        for (; at > 0 && counts[top[at - 1]] < counts[item]; at--)
            top[at] = top[at - 1];
        top[at] = item;
    }
}

static void measure_hitters(sketch_stream s, const char *stream, uint64_t *items, bench_table *t) {
    uint64_t *counts = calloc(s.span, sizeof *counts), top[TOP + 1];
    reference lines[LINES_MAX];
    if (counts == NULL)
        bench_die("out of memory");
    for (uint64_t i = 0; i < count_of; i++)
        counts[items[i] = sketch_next(&s)]++;
    find_top(counts, s.span, top);
    write_stream(items);
    size_t n = ask_package("frequent", lines);
    if (n == 0) {
        n = 2;
        lines[0].bytes = 43008;
        lines[1].bytes = 688128;
    }
    for (size_t i = 0; i < n; i++) {
        rung_hitters *h;
        double worst, mean;
        if (python != NULL)
            row(t, stream, lines[i].name, lines[i].bytes, lines[i].rate, lines[i].worst,
                lines[i].mean, lines[i].bound);
        if (rung_hitters_create(
                &(rung_hitters_config){rung_alloc_heap(), (size_t)lines[i].bytes, 1, 2}, &h) !=
            RUNG_OK)
            bench_die("no sketch of %.0f bytes", lines[i].bytes);
        uint64_t start = bench_cpu_ns();
        add_names(h, items);
        double rate = (double)count_of * 1e9 / (double)(bench_cpu_ns() - start);
        judge_hitters(h, counts, top, &worst, &mean);
        row(t, stream, "**Rung**", (double)rung_hitters_memory(h), rate, share(worst), share(mean),
            share((double)rung_hitters_floor(h)));
        rung_hitters_destroy(h);
    }
    free(counts);
}

/* ---- ranks ---- */

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t score_of(rung_rng *rng, int kind, uint64_t i) {
    double u = rung_rng_double(rng), v = rung_rng_double(rng);
    double z = sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
    switch (kind) {
    case 0:
        return (uint64_t)(-1e6 * log(1 - u));
    case 1:
        return (uint64_t)exp(12 + 2 * z);
    default: /* scores that rise over time */
        return (uint64_t)fmax(0, 1e6 + 2e5 * z + 1e6 * (double)i / (double)count_of);
    }
}

/* Errors at POINTS places of the sorted keys. */
static void judge_quantiles(const rung_quantiles *q, const uint64_t *sorted, double *worst,
                            double *mean) {
    *worst = *mean = 0;
    for (uint64_t i = 0; i < POINTS; i++) {
        uint64_t place = i * count_of / POINTS;
        rung_rank_bounds b;
        while (place && sorted[place - 1] == sorted[place])
            place--;
        rung_quantiles_below(q, sorted[place], &b);
        if (place < b.low || place > b.high)
            bench_die("a bound does not hold");
        double off = fabs((double)b.estimate - (double)place);
        *worst = off > *worst ? off : *worst;
        *mean += off / POINTS;
    }
}

static void measure_quantiles(int kind, const char *stream, uint64_t *items, uint64_t seed,
                              bench_table *t) {
    uint64_t *sorted = malloc(count_of * sizeof *sorted);
    reference lines[LINES_MAX];
    rung_rng rng;
    if (sorted == NULL)
        bench_die("out of memory");
    rung_rng_seed(&rng, seed);
    for (uint64_t i = 0; i < count_of; i++)
        items[i] = score_of(&rng, kind, i);
    memcpy(sorted, items, count_of * sizeof *sorted);
    qsort(sorted, count_of, sizeof *sorted, compare);
    write_stream(items);
    size_t n = ask_package("ranks", lines);
    if (n == 0) {
        n = 2;
        lines[0].bytes = 16384;
        lines[1].bytes = 131072;
    }
    for (size_t i = 0; i < n; i++) {
        rung_quantiles *q;
        double worst, mean;
        if (python != NULL)
            row(t, stream, lines[i].name, lines[i].bytes, lines[i].rate, lines[i].worst,
                lines[i].mean, lines[i].bound);
        if (rung_quantiles_create(
                &(rung_quantiles_config){rung_alloc_heap(), (size_t)lines[i].bytes}, &q) != RUNG_OK)
            bench_die("no sketch of %.0f bytes", lines[i].bytes);
        uint64_t start = bench_cpu_ns();
        for (uint64_t j = 0; j < count_of; j++)
            if (rung_quantiles_add(q, items[j]) != RUNG_OK)
                bench_die("a key was refused");
        double rate = (double)count_of * 1e9 / (double)(bench_cpu_ns() - start);
        judge_quantiles(q, sorted, &worst, &mean);
        row(t, stream, "**Rung**", (double)rung_quantiles_memory(q), rate, share(worst),
            share(mean), share((double)rung_quantiles_error(q)));
        rung_quantiles_destroy(q);
    }
    free(sorted);
}

/* ---- distinct ---- */

/* Root mean square of the error over TRIALS counts of 100,000 names each, in percent. */
static void measure_distinct(uint32_t precision, bench_table *t) {
    enum { NAMES = 100000 };
    double squares = 0, worst = 0;
    size_t memory = 0;
    uint64_t time_ns = 0;
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        rung_distinct *d;
        if (rung_distinct_create(&(rung_distinct_config){rung_alloc_heap(), precision, trial},
                                 &d) != RUNG_OK)
            bench_die("no sketch of precision %u", precision);
        uint64_t start = bench_cpu_ns();
        for (uint64_t i = 0; i < NAMES; i++)
            rung_distinct_add(d, rung_slice_of(&i, sizeof i));
        time_ns += bench_cpu_ns() - start;
        double off = 100 * ((double)rung_distinct_estimate(d) / NAMES - 1);
        squares += off * off / TRIALS;
        worst = fabs(off) > worst ? fabs(off) : worst;
        memory = rung_distinct_memory(d);
        if (trial + 1 == TRIALS)
            row(t, "100 k names", "**Rung**", (double)memory,
                (double)NAMES * TRIALS * 1e9 / (double)time_ns, worst, sqrt(squares),
                rung_distinct_error_ppm(d) * 1e-4);
        rung_distinct_destroy(d);
    }
}

/* ---- a billion ---- */

enum { BITS = 30 };

/* A permutation of 0 .. 2^30 - 1. */
static uint64_t mixed(uint64_t i) {
    const uint64_t mask = ((uint64_t)1 << BITS) - 1;
    i = (i * 0x2c1b3c6d) & mask;
    i ^= i >> 13;
    i = (i * 0x297a2d39) & mask;
    i ^= i >> 15;
    return (i * 0x1b56c4e9) & mask;
}

static uint64_t score_at(uint64_t place, uint64_t players) {
    return (uint64_t)(-1e6 * log1p(-(double)place / (double)players));
}

static void measure_billion(uint64_t players, bench_report *r) {
    rung_quantiles *q;
    if (rung_quantiles_create(&(rung_quantiles_config){rung_alloc_heap(), 1 << 20}, &q) != RUNG_OK)
        bench_die("no sketch");
    uint64_t start = bench_cpu_ns(), worst = 0, width = 0;
    for (uint64_t i = 0; i >> BITS == 0; i++) {
        uint64_t place = mixed(i);
        if (place < players && rung_quantiles_add(q, score_at(place, players)) != RUNG_OK)
            bench_die("a key was refused");
    }
    double seconds = (double)(bench_cpu_ns() - start) * 1e-9;
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t place = i * (players / 100000), score = score_at(place, players);
        rung_rank_bounds b;
        while (place && score_at(place - 1, players) == score)
            place--;
        rung_quantiles_below(q, score, &b);
        if (place < b.low || place > b.high)
            bench_die("a bound does not hold");
        uint64_t off = b.estimate > place ? b.estimate - place : place - b.estimate;
        worst = off > worst ? off : worst;
        width = b.high - b.low > width ? b.high - b.low : width;
    }
    bench_report_line(
        r,
        "%s simulated players in %.0f KiB. The greatest rank error at 100,000 places is\n"
        "%.5f %% of the population (bar: below 0.1 %%), the greatest stated bound %.5f %%.\n"
        "Made and added in %.0f s.",
        bench_count_label(players).text, (double)rung_quantiles_memory(q) / 1024,
        100.0 * (double)worst / (double)players, 100.0 * (double)width / (double)players, seconds);
    bench_report_gap(r);
    rung_quantiles_destroy(q);
}

int main(int argc, char **argv) {
    bool is_full = false;
    const bench_option own[] = {{"--full", BENCH_FLAG, &is_full,
                                 "instead: a billion keys in 1 MiB, in two to three minutes"},
                                {0}};
    bench_options o = {
        .section = "sketch", .sizes = {2000000}, .size_count = 1, .rounds = 1, .seed = 1};
    bench_options_parse(&o, argc, argv, "sketches: items per second, error per byte", own);
    count_of = o.sizes[0];
    python = access(PYTHON, X_OK) == 0 ? PYTHON : NULL;
    bench_report report = {0};
    bench_table t = {0};
    bench_machine_describe(&report, o.command);
    if (is_full) {
        o.section = "sketch-full";
        measure_billion(1000000000, &report);
        return bench_options_finish(&o, &report);
    }
    uint64_t *items = malloc(count_of * sizeof *items);
    snprintf(stream_path, sizeof stream_path, "/tmp/rung-sketch.XXXXXX");
    int fd = mkstemp(stream_path);
    if (items == NULL || fd < 0 || close(fd) != 0)
        bench_die("no memory, or no temporary file");

    bench_report_line(&report, "### Heavy hitters, %s items", bench_count_label(count_of).text);
    bench_report_gap(&report);
    bench_table_head(&t, 7, "stream", "sketch", "memory", "M items/s", "greatest error",
                     "mean error", "stated bound");
    static const double exponents[] = {0.8, 1.1, 1.5};
    for (size_t i = 0; i < 3; i++) {
        char name[32];
        sketch_stream s = {
            .order = SKETCH_ZIPF, .exponent = exponents[i], .span = count_of, .length = count_of};
        rung_rng_seed(&s.rng, o.seed);
        snprintf(name, sizeof name, "Zipf %.1f", exponents[i]);
        bench_progress("heavy hitters, %s", name);
        measure_hitters(s, name, items, &t);
    }
    bench_table_end(&t, &report);

    bench_report_line(&report, "### Ranks, %s items", bench_count_label(count_of).text);
    bench_report_gap(&report);
    bench_table_head(&t, 7, "stream", "sketch", "memory", "M items/s", "greatest error",
                     "mean error", "stated bound");
    static const char *const kinds[] = {"exponential", "log-normal", "rising"};
    for (int i = 0; i < 3; i++) {
        bench_progress("ranks, %s", kinds[i]);
        measure_quantiles(i, kinds[i], items, o.seed, &t);
    }
    bench_table_end(&t, &report);

    bench_report_line(&report, "### Distinct names, %d counts", TRIALS);
    bench_report_gap(&report);
    bench_table_head(&t, 7, "stream", "sketch", "memory", "M items/s", "greatest error",
                     "root mean square", "standard error");
    bench_progress("distinct");
    reference lines[LINES_MAX];
    size_t n = ask_package("distinct", lines);
    for (size_t i = 0; i < n; i++)
        row(&t, "100 k names", lines[i].name, lines[i].bytes, lines[i].rate, lines[i].worst,
            lines[i].mean, lines[i].bound);
    measure_distinct(10, &t);
    measure_distinct(12, &t);
    measure_distinct(14, &t);
    bench_table_end(&t, &report);
    unlink(stream_path);
    free(items);
    return bench_options_finish(&o, &report);
}
