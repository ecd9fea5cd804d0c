/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - read the records of a CSV file (RFC 4180) or the lines of a text file, with their places.
 *
 * Lines end with LF or CRLF. Empty lines and a byte order mark are skipped. Refused: an open quote, text after a
 * closing quote, a zero byte, and records above the limits below. One thread. */
#ifndef RUNG_CLI_CSV_H
#define RUNG_CLI_CSV_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { RUNG_CSV_RECORD_MAX = 64 << 10, RUNG_CSV_FIELDS_MAX = 64 };

/* Zero with `in` set is ready. */
typedef struct rung_csv {
    FILE *in;
    uint64_t offset; /* bytes read: the next record begins here */
    uint64_t line;   /* of the record handed out last, from 1 */
    uint64_t lines_read;
    uint32_t count;
    rung_slice fields[RUNG_CSV_FIELDS_MAX]; /* valid until the next record */
    char text[RUNG_CSV_RECORD_MAX];
    size_t len, start; /* private: bytes of the text, and where the current field begins */
} rung_csv;

/* The next record; with `is_line` the next line as one field. RUNG_OK, RUNG_NOT_FOUND at the end, RUNG_EINVAL naming
 * the line, RUNG_EIO. */
RUNG_NODISCARD rung_status rung_csv_next(rung_csv *c, bool is_line, rung_err *err);

/* Write a field so that it is read back as it is. */
void rung_csv_print(FILE *out, rung_slice field);

#endif
