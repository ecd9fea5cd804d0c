/* SPDX-License-Identifier: Apache-2.0 */
/* logging.h - the server's log on standard error, as text or JSON.
 *
 *     RUNG_SAY(logger, RUNG_LOG_INFO, "recovered", RUNG_LOG_NUMBER("seq", seq), RUNG_LOG_STR("folder", path));
 *
 *     text   2026-11-15T09:30:00.123Z info recovered seq=42 folder=/var/lib/rung
 *     json   {"ts":"2026-11-15T09:30:00.123Z","level":"info","msg":"recovered","seq":42,"folder":"/var/lib/rung"}
 *
 * A text is cut after 1 KB; a line above RUNG_LOG_LINE_MAX bytes loses its fields. A line is one write, so lines of
 * several threads do not mix. Secrets become "***": the value of a field whose name contains key, token, secret,
 * password, authorization or cookie, and in any text our own keys, what follows "Bearer ", and the user in a URL. Any
 * thread. */
#ifndef RUNG_APP_LOGGING_H
#define RUNG_APP_LOGGING_H

#include "base/clock.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum rung_log_level {
    RUNG_LOG_DEBUG,
    RUNG_LOG_INFO,
    RUNG_LOG_WARNING,
    RUNG_LOG_ERROR,
} rung_log_level; /* in the order of the setting logging.level */

enum { RUNG_LOG_LINE_MAX = 16384 };

/* A plain value; zero writes everything, as text, to standard error, with the system's time. */
typedef struct rung_logger {
    rung_log_level level;
    bool is_json;
    int fd;           /* 0: standard error */
    rung_clock clock; /* now_ms NULL: the system's */
} rung_logger;

typedef struct rung_log_field {
    const char *name; /* a word; NULL: no field */
    rung_slice text;  /* ptr NULL: a number */
    int64_t number;
} rung_log_field;

#define RUNG_LOG_NUMBER(key, value) ((rung_log_field){.name = (key), .number = (int64_t)(value)})
#define RUNG_LOG_SLICE(key, value)  ((rung_log_field){.name = (key), .text = (value)})
#define RUNG_LOG_STR(key, value)    ((rung_log_field){.name = (key), .text = rung_slice_str(value)})

void rung_logger_write(const rung_logger *l, rung_log_level level, const char *message,
                       size_t field_count, const rung_log_field *fields);

#define RUNG_SAY(logger, level, message, ...)                                                      \
    rung_logger_write(logger, level, message,                                                      \
                      sizeof((rung_log_field[]){__VA_ARGS__}) / sizeof(rung_log_field),            \
                      (const rung_log_field[]){__VA_ARGS__})

/* The line as it would be written, line break included, into `out`; returns its length. For tests. */
size_t rung_logger_format(const rung_logger *l, rung_log_level level, const char *message,
                          size_t field_count, const rung_log_field *fields,
                          char out[RUNG_LOG_LINE_MAX]);

#endif
