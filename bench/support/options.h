/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the command line of a benchmark: sizes, a few common switches, and those the benchmark adds.
 *
 *     bool is_full = false;
 *     const bench_option own[] = {{"--full", BENCH_FLAG, &is_full, "also 100 M entries"}, {0}};
 *     bench_options o = {.section = "ladder", .sizes = {1000000}, .size_count = 1, .rounds = 7};
 *     bench_options_parse(&o, argc, argv, "the ordered index against a skip list", own);
 *
 * What stands in the struct before the call is the default. Every benchmark knows --rounds N, --seed N, --write (into
 * docs/benchmarks.md), --markdown FILE, --section NAME and --help; counts are written 500k, 10M, 2500. */
#ifndef RUNG_BENCH_OPTIONS_H
#define RUNG_BENCH_OPTIONS_H

#include "support/report.h"

#include <stddef.h>
#include <stdint.h>

enum { BENCH_SIZES_MAX = 8 };

typedef struct bench_options {
    uint64_t sizes[BENCH_SIZES_MAX]; /* positional arguments, in place of the default */
    size_t size_count;
    uint64_t rounds;
    uint64_t seed;
    const char *markdown; /* page to write into; NULL: none */
    const char *section;
    char command[256]; /* "./dev bench ladder 10M": how to repeat the run */
} bench_options;

typedef enum bench_option_kind {
    BENCH_FLAG,   /* target: bool */
    BENCH_NUMBER, /* target: uint64_t */
    BENCH_TEXT,   /* target: const char * */
} bench_option_kind;

typedef struct bench_option {
    const char *name;
    bench_option_kind kind;
    void *target;
    const char *help;
} bench_option;

/* `own` ends with a zero element. Ends the program on --help and on what it does not understand. */
void bench_options_parse(bench_options *o, int argc, char **argv, const char *purpose,
                         const bench_option *own);

/* The end of a benchmark: the report to stdout and, where asked for, into the page. Returns the exit code. */
int bench_options_finish(const bench_options *o, const bench_report *r);

#endif
