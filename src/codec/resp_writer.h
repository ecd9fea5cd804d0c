/* SPDX-License-Identifier: Apache-2.0 */
/* resp_writer.h - append Redis replies to a buffer, as RESP2 or RESP3.
 *
 *     rung_resp_writer w = {.alloc = alloc, .limit = 64 << 20, .version = 2};
 *     rung_resp_array(&w, 2);
 *     rung_resp_bulk(&w, RUNG_SLICE("ada"));
 *     rung_resp_double(&w, 12.5);
 *     if (w.is_failed) ...
 *
 * Types that RESP2 lacks are written as Redis does: a map as an array, a double as a bulk string, a boolean as 0 or
 * 1. The buffer grows up to `limit` (0: no limit); a failure to grow is sticky. Reset and free it as w.buffer.
 * Pure; one thread at a time. */
#ifndef RUNG_CODEC_RESP_WRITER_H
#define RUNG_CODEC_RESP_WRITER_H

#include "base/buffer.h"
#include "model/text.h"

#include <stdint.h>

typedef struct
    rung_resp_writer { /* as a rung_buffer: zero, an allocator and a version is ready for use */
    RUNG_BUFFER_PART;
    uint8_t version; /* 2 or 3 */
} rung_resp_writer;

void rung_resp_simple(rung_resp_writer *w, const char *text); /* +OK */
/* "-" text; bytes that would end the line become spaces. */
void rung_resp_error(rung_resp_writer *w, rung_slice text);
void rung_resp_int(rung_resp_writer *w, int64_t value);
void rung_resp_bulk(rung_resp_writer *w, rung_slice bytes);
void rung_resp_text(rung_resp_writer *w, const char *text);  /* a bulk string */
void rung_resp_bulk_int(rung_resp_writer *w, int64_t value); /* a number as a bulk string */
void rung_resp_null(rung_resp_writer *w);                    /* RESP2: a null bulk string */
void rung_resp_null_array(rung_resp_writer *w);
void rung_resp_bool(rung_resp_writer *w, bool value);
void rung_resp_double(rung_resp_writer *w, double value);
/* A member with its score: an array of two in RESP3, two items in RESP2. */
void rung_resp_row(rung_resp_writer *w, rung_slice member, double score);
/* Text with lines: verbatim in RESP3, a bulk string in RESP2. */
void rung_resp_verbatim(rung_resp_writer *w, rung_slice text);

/* Headers: `count` items (pairs, of a map) must follow. */
void rung_resp_array(rung_resp_writer *w, uint64_t count);
void rung_resp_map(rung_resp_writer *w, uint64_t count);
void rung_resp_set(rung_resp_writer *w, uint64_t count);

/* Append bytes that are a reply already. */
void rung_resp_raw(rung_resp_writer *w, rung_slice bytes);

#define RUNG_RESP_DOUBLE_MAX RUNG_TEXT_NUMBER_MAX
/* rung_text_format_17g(), with a fast path for small integers, as most scores are. */
size_t rung_resp_format_double(double value, char out[RUNG_RESP_DOUBLE_MAX]);

#endif
