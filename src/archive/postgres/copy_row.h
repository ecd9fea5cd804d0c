/* SPDX-License-Identifier: Apache-2.0 */
/* copy_row.h - values in PostgreSQL's binary form, as COPY and arrays take them: a length, then the bytes.
 *
 *     rung__pgrow_row(&b, 3);                       // a row of three columns
 *     rung__pgrow_int(&b, seq); rung__pgrow_text(&b, player); rung__pgrow_null(&b);
 *
 * The buffer remembers a failure. Pure. */
#ifndef RUNG_ARCHIVE_POSTGRES_COPY_ROW_H
#define RUNG_ARCHIVE_POSTGRES_COPY_ROW_H

#include "base/buffer.h"
#include "service/archive_port.h"

void rung__pgrow_row(rung_buffer *b, uint16_t columns);
void rung__pgrow_null(rung_buffer *b);
void rung__pgrow_int(rung_buffer *b, int64_t n);   /* bigint */
void rung__pgrow_int4(rung_buffer *b, int32_t n);  /* integer */
void rung__pgrow_bool(rung_buffer *b, bool is_on); /* boolean */
void rung__pgrow_bytes(rung_buffer *b, const void *bytes, size_t len);
void rung__pgrow_text(rung_buffer *b, rung_slice text); /* empty: NULL */
/* fixed / 10^decimals as numeric, with that many decimals. */
void rung__pgrow_fixed(rung_buffer *b, int64_t fixed, unsigned decimals);
/* The shortest decimal number that reads back as this double, as numeric. */
void rung__pgrow_real(rung_buffer *b, double real);
/* Value `i` as numeric; NULL if it is not there. */
void rung__pgrow_value(rung_buffer *b, const rung_archive_values *v, uint32_t i);
/* Three numeric columns; NULL for values that are not there. */
void rung__pgrow_values(rung_buffer *b, const rung_archive_values *v);

/* An array is a header, then its elements. `type` is the array's, one of RUNG__ARRAY_*. */
enum {
    RUNG__ARRAY_HEADER = 20,
    RUNG__ARRAY_INT4 = 1007,
    RUNG__ARRAY_TEXT = 1009,
    RUNG__ARRAY_INT = 1016,
    RUNG__ARRAY_NUMERIC = 1231
};
void rung__pgrow_array_header(char out[RUNG__ARRAY_HEADER], uint32_t type, uint32_t count);

#endif
