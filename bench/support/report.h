/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - what a benchmark has to say, as text that reads well on a terminal and is Markdown at the same time.
 *
 *     bench_report r = {0};
 *     bench_report_line(&r, "### %s", "10 M entries");
 *     bench_table t = {0};
 *     bench_table_head(&t, 2, "question", "M/s");
 *     bench_table_cell(&t, "rank");
 *     bench_table_cell(&t, "%.2f", 4.1);
 *     bench_table_end(&t, &r);               // the columns line up; the table is empty again
 *     bench_report_print(&r);
 *     bench_report_splice(&r, "docs/benchmarks.md", "ladder");
 *     bench_report_deinit(&r);
 *
 * Zero is a valid empty value of both types. Out of memory ends the program. One thread. */
#ifndef RUNG_BENCH_REPORT_H
#define RUNG_BENCH_REPORT_H

#include <stddef.h>
#include <stdint.h>

typedef struct bench_report {
    char *text;
    size_t len, cap;
} bench_report;

/* Text and a line break. */
void bench_report_line(bench_report *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void bench_report_gap(bench_report *r);         /* an empty line */
void bench_report_print(const bench_report *r); /* to stdout */
void bench_report_deinit(bench_report *r);

/* Put the text between the lines "<!-- bench:SECTION:begin -->" and "<!-- bench:SECTION:end -->" of `path`, in
 * place of what stood there; the file is replaced in one step. NULL, or why not (the file is then as it was). */
const char *bench_report_splice(const bench_report *r, const char *path, const char *section);

enum { BENCH_COLUMNS_MAX = 12, BENCH_ROWS_MAX = 64, BENCH_CELL_MAX = 96 };

typedef struct bench_table {
    unsigned columns, cells;
    char (*text)[BENCH_CELL_MAX];
} bench_table;

/* The column heads: as many `const char *` as `columns` says. The first column is set left, the others right. */
void bench_table_head(bench_table *t, unsigned columns, ...);
/* The next cell, row by row. */
void bench_table_cell(bench_table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Leave the next `n` cells empty. */
void bench_table_skip(bench_table *t, unsigned n);
/* Append to the report with an empty line behind, and empty the table. */
void bench_table_end(bench_table *t, bench_report *r);

/* "10 M", "2.5 k", "731": a count for people, in the caller's buffer. */
typedef struct bench_label {
    char text[24];
} bench_label;
bench_label bench_count_label(uint64_t count);
bench_label bench_bytes_label(uint64_t bytes); /* "512 MiB" */

#endif
