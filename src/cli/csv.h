/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - records of a CSV file (RFC 4180) and lines of a text file, with the place of each.
 *
 * Fields are separated by commas; a field in double quotes may hold commas, line breaks and doubled quotes. Lines
 * end with LF or CRLF; empty lines are passed over; a byte order mark at the start is too. Refused: a quote that
 * does not end, something behind a closing quote, a record of more than RUNG_CSV_RECORD_MAX bytes or
 * RUNG_CSV_FIELDS_MAX fields, a zero byte. One thread. */
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
    rung_slice fields[RUNG_CSV_FIELDS_MAX]; /* until the next record */
    char text[RUNG_CSV_RECORD_MAX];
} rung_csv;

/* The next record, or with `is_line` the next line as one field, just as it is. RUNG_OK, RUNG_NOT_FOUND at the end,
 * RUNG_EINVAL naming the line, RUNG_EIO. */
RUNG_NODISCARD rung_status rung_csv_next(rung_csv *c, bool is_line, rung_err *err);

/* Write a field so that it is read back as it is. */
void rung_csv_print(FILE *out, rung_slice field);

#endif
