/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "support/report.h"

#include "support/stopwatch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

static void append(bench_report *r, const char *text, size_t len) {
    if (r->len + len + 1 > r->cap) {
        r->cap = (r->len + len + 1) * 2;
        r->text = realloc(r->text, r->cap);
        if (!r->text)
            bench_die("out of memory");
    }
    if (len)
        memcpy(r->text + r->len, text, len);
    r->len += len;
    r->text[r->len] = '\0';
}

void bench_report_line(bench_report *r, const char *format, ...) {
    char *line = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&line, format, args);
    va_end(args);
    if (len < 0)
        bench_die("out of memory");
    append(r, line, (size_t)len);
    append(r, "\n", 1);
    free(line);
}

void bench_report_gap(bench_report *r) {
    append(r, "\n", 1);
}

void bench_report_print(const bench_report *r) {
    if (r->len)
        fwrite(r->text, 1, r->len, stdout);
    fflush(stdout);
}

void bench_report_deinit(bench_report *r) {
    free(r->text);
    *r = (bench_report){0};
}

/* ---- into a page ---- */

static bool read_whole(const char *path, bench_report *out) {
    FILE *f = fopen(path, "r");
    char block[4096];
    size_t n;
    if (!f)
        return false;
    while ((n = fread(block, 1, sizeof block, f)) > 0)
        append(out, block, n);
    bool is_good = !ferror(f);
    fclose(f);
    return is_good;
}

/* Beside the page first, then over it, so that a reader never sees half a page. */
static bool write_whole(const char *path, const bench_report *page) {
    char beside[4096];
    if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside)
        return false;
    FILE *f = fopen(beside, "w");
    if (!f)
        return false;
    bool is_good = fwrite(page->text, 1, page->len, f) == page->len;
    is_good = fclose(f) == 0 && is_good;
    if (!is_good || rename(beside, path) != 0) {
        remove(beside);
        return false;
    }
    return true;
}

/* The page with the section replaced; NULL, or what is missing. */
static const char *replace_section(const bench_report *old, const bench_report *r,
                                   const char *section, bench_report *fresh) {
    char begin[96], end[96];
    snprintf(begin, sizeof begin, "<!-- bench:%s:begin -->\n", section);
    snprintf(end, sizeof end, "<!-- bench:%s:end -->", section);
    const char *from = old->len ? strstr(old->text, begin) : NULL;
    const char *to = from ? strstr(from, end) : NULL;
    if (!to)
        return "the page has no begin and end marker for this section";
    from += strlen(begin);
    append(fresh, old->text, (size_t)(from - old->text));
    append(fresh, "\n", 1);
    append(fresh, r->text, r->len);
    append(fresh, to, strlen(to));
    return NULL;
}

const char *bench_report_splice(const bench_report *r, const char *path, const char *section) {
    bench_report old = {0}, fresh = {0};
    const char *why = NULL;
    if (!read_whole(path, &old))
        why = strerror(errno);
    if (!why)
        why = replace_section(&old, r, section, &fresh);
    if (!why && !write_whole(path, &fresh))
        why = strerror(errno);
    bench_report_deinit(&old);
    bench_report_deinit(&fresh);
    return why;
}

/* ---- tables ---- */

__attribute__((format(printf, 2, 0))) static void put_cell(bench_table *t, const char *format,
                                                           va_list args) {
    if (!t->text)
        t->text = calloc((size_t)BENCH_COLUMNS_MAX * BENCH_ROWS_MAX, BENCH_CELL_MAX);
    if (!t->text || t->cells == BENCH_COLUMNS_MAX * BENCH_ROWS_MAX)
        bench_die("a table is too large");
    vsnprintf(t->text[t->cells++], BENCH_CELL_MAX, format, args);
}

void bench_table_cell(bench_table *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    put_cell(t, format, args);
    va_end(args);
}

void bench_table_skip(bench_table *t, unsigned n) {
    while (n-- > 0)
        bench_table_cell(t, "%s", "");
}

void bench_table_head(bench_table *t, unsigned columns, ...) {
    va_list heads;
    if (columns > BENCH_COLUMNS_MAX)
        bench_die("a table is too wide");
    t->columns = columns;
    va_start(heads, columns);
    for (unsigned i = 0; i < columns; i++)
        bench_table_cell(t, "%s", va_arg(heads, const char *));
    va_end(heads);
}

static void add_row(const bench_table *t, unsigned first, const unsigned *widths, bench_report *r) {
    append(r, "|", 1);
    for (unsigned i = 0; i < t->columns; i++) {
        char cell[BENCH_CELL_MAX + 8];
        int width = (int)widths[i];
        int len = snprintf(cell, sizeof cell, i ? " %*s |" : " %-*s |", width, t->text[first + i]);
        append(r, cell, (size_t)len);
    }
    append(r, "\n", 1);
}

/* |------|----:| in the widths of the columns. */
static void add_rule(const bench_table *t, const unsigned *widths, bench_report *r) {
    append(r, "|", 1);
    for (unsigned i = 0; i < t->columns; i++) {
        for (unsigned k = 0; k < widths[i] + 1; k++)
            append(r, "-", 1);
        append(r, i ? ":|" : "-|", 2);
    }
    append(r, "\n", 1);
}

void bench_table_end(bench_table *t, bench_report *r) {
    unsigned widths[BENCH_COLUMNS_MAX] = {0};
    for (unsigned i = 0; i < t->cells; i++) {
        unsigned len = (unsigned)strlen(t->text[i]), column = i % t->columns;
        widths[column] = len > widths[column] ? len : widths[column];
    }
    for (unsigned row = 0; row + t->columns <= t->cells; row += t->columns) {
        add_row(t, row, widths, r);
        if (row == 0)
            add_rule(t, widths, r);
    }
    append(r, "\n", 1);
    free(t->text);
    *t = (bench_table){0};
}

/* ---- labels ---- */

static bench_label scaled(uint64_t value, uint64_t base, const char *const *units) {
    bench_label l;
    double v = (double)value;
    unsigned unit = 0;
    while (v >= (double)base && units[unit + 1]) {
        v /= (double)base;
        unit++;
    }
    bool is_whole = v == (double)(uint64_t)v || v >= 100;
    snprintf(l.text, sizeof l.text, "%.*f%s%s", is_whole ? 0 : 1, v, *units[unit] ? " " : "",
             units[unit]);
    return l;
}

bench_label bench_count_label(uint64_t count) {
    static const char *const units[] = {"", "k", "M", "G", NULL};
    return scaled(count, 1000, units);
}

bench_label bench_bytes_label(uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", NULL};
    return scaled(bytes, 1024, units);
}
