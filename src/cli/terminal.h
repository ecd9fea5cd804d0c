/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - output for people: tables, numbers, colours, a progress bar, safe text.
 *
 * Colours only on a terminal and not with NO_COLOR (no-color.org); arrows only if the locale's variables say UTF-8.
 * Progress goes to standard error, only if that is a terminal. One thread. */
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
/* The escape sequence, or "" if `out` has no colours. Static text. */
const char *rung_terminal_color(FILE *out, rung_color color);
/* printf() in that colour. */
void rung_print_colored(rung_color color, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- text ---- */

enum { RUNG_COUNT_TEXT_MAX = 32 };

/* Put a comma between each three digits, and a NUL. Returns the length. */
size_t rung_digits_group(const char *digits, size_t count, char *out);
/* 1234567 as "1,234,567". Returns `out`. */
const char *rung_count_text(uint64_t n, char out[RUNG_COUNT_TEXT_MAX]);
/* 1536 as "1.5 KiB". Returns `out`. */
const char *rung_size_text(uint64_t bytes, char out[RUNG_COUNT_TEXT_MAX]);

/* Print a stranger's bytes as one word: unchanged if that is safe and clear, else in double quotes, with control
 * characters (also those of text direction) and invalid UTF-8 as \xNN. */
void rung_print_word(FILE *out, rung_slice text);
/* As a JSON string with quotes; invalid UTF-8 becomes U+FFFD. */
void rung_print_json(FILE *out, rung_slice text);

/* ---- tables ---- */

enum { RUNG_TABLE_COLUMNS_MAX = 24 };

typedef struct rung_table_column {
    const char *title;
    bool is_number; /* to the right */
} rung_table_column;

typedef struct rung_table rung_table; /* heap object; ended by rung_table_print() */

/* Exits with a message if there is no memory. */
rung_table *rung_table_begin(size_t column_count, const rung_table_column *columns);
/* Add the next cell, row by row. */
void rung_table_cell(rung_table *t, rung_color color, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void rung_table_word(rung_table *t, rung_color color, rung_slice text);
/* Print the row of the last cell bold; one row of a table. */
void rung_table_mark(rung_table *t);
/* Drop a column whose cells are all empty. Only after whole rows. */
void rung_table_drop_empty(rung_table *t, size_t column);
/* Print with decimal points aligned, and free the table; `out` NULL: only free it. Returns the number of lines. */
size_t rung_table_print(rung_table *t, FILE *out);

/* ---- progress ---- */

typedef struct rung_progress {
    const char *what; /* must live as long */
    int64_t began_ms, shown_ms;
    bool is_shown;
    uint64_t began_at; /* done before it began */
    const char *note;  /* printed after the bar; NULL: the count */
} rung_progress;

/* Zero is ready for use. Another `what` starts a new bar. Draws nothing in the first 0.3 seconds. */
void rung_progress_show(rung_progress *p, const char *what, uint64_t done, uint64_t total);
void rung_progress_end(rung_progress *p); /* erases it */

int64_t rung_elapsed_ms(void); /* monotonic */
void rung_pause_ms(long ms);   /* shorter if a signal arrives */

/* From here on SIGINT and SIGTERM no longer end the process. */
void rung_interrupt_catch(void);
bool rung_is_interrupted(void);

/* One line of a report: a dim name, then the text. */
void rung_terminal_line(const char *name, const char *text);

#endif
