/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - how the command looks: tables, numbers for people, colours, a progress bar, text
 * that cannot do harm.
 *
 * Colours only on a terminal and not with NO_COLOR (no-color.org); arrows, bars and rules in
 * Unicode only where the locale's variables say UTF-8. Progress goes to standard error, and only
 * when that is a terminal, so that neither a pipe nor a log file ever holds it. One thread. */
#ifndef RUNG_CLI_TERMINAL_H
#define RUNG_CLI_TERMINAL_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum rung_color {
    RUNG_COLOR_PLAIN,
    RUNG_COLOR_BOLD,
    RUNG_COLOR_DIM,
    RUNG_COLOR_GOOD,
    RUNG_COLOR_BAD,
    RUNG_COLOR_ACCENT,
} rung_color;

bool rung_terminal_has_color(FILE *out);
bool rung_terminal_has_unicode(void);
/* The escape sequence, or "" where `out` shall have no colours. Static text. */
const char *rung_terminal_color(FILE *out, rung_color color);
/* printf() in that colour. */
void rung_print_colored(rung_color color, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- text ---- */

enum { RUNG_COUNT_TEXT_MAX = 32 };

/* 1234567 as "1,234,567". Returns `out`. */
const char *rung_count_text(uint64_t n, char out[RUNG_COUNT_TEXT_MAX]);
/* 1536 as "1.5 KiB". Returns `out`. */
const char *rung_size_text(uint64_t bytes, char out[RUNG_COUNT_TEXT_MAX]);

/* Bytes of a stranger, as one word of a line: as they are when that is safe and clear, else in
 * double quotes with control characters, those of direction too, and what is no UTF-8 as \xNN. */
void rung_print_word(FILE *out, rung_slice text);
/* As a JSON string, quotes included; what is no UTF-8 becomes U+FFFD. */
void rung_print_json(FILE *out, rung_slice text);

/* ---- tables ---- */

enum { RUNG_TABLE_COLUMNS_MAX = 10 };

typedef struct rung_table_column {
    const char *title;
    bool is_number; /* to the right */
} rung_table_column;

typedef struct rung_table rung_table; /* heap object; ended by rung_table_print() */

/* Ends the process with a message when there is no memory. */
rung_table *rung_table_begin(size_t column_count, const rung_table_column *columns);
/* The next cell, row after row. A colour is for the cell alone. */
void rung_table_cell(rung_table *t, rung_color color, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void rung_table_word(rung_table *t, rung_color color, rung_slice text);
/* Mark the row begun: it is printed bold. */
void rung_table_mark(rung_table *t);
/* Leave a column out if every cell of it is empty. Only between whole rows. */
void rung_table_drop_empty(rung_table *t, size_t column);
/* Print with a margin of two, numbers with their points below each other, and free; `out` NULL: only free. Returns how
 * many lines. A character counts as one place: wide ones push the rest of their line. */
size_t rung_table_print(rung_table *t, FILE *out);

/* ---- progress ---- */

typedef struct rung_progress {
    const char *what; /* must live as long */
    int64_t began_ms, shown_ms;
    bool is_shown;
    uint64_t began_at; /* what was done when it began: not part of the rate */
    const char *note;  /* behind the bar, e.g. "12,000 scores a second"; NULL: none */
} rung_progress;

/* Zero is a progress that has not begun. Another `what` begins a new bar. Nothing is drawn in the
 * first 0.3 seconds. */
void rung_progress_show(rung_progress *p, const char *what, uint64_t done, uint64_t total);
void rung_progress_end(rung_progress *p); /* wipes it */

int64_t rung_elapsed_ms(void); /* since some moment; never jumps */

/* One line of a report: a dim name, then the text. */
void rung_terminal_line(const char *name, const char *text);

#endif
