/* SPDX-License-Identifier: Apache-2.0 */
/* json_reader.h - a strict pull parser for one complete JSON text: one pass, no allocation.
 *
 *     rung_json_init(&r, text, len, &err);
 *     rung_json_enter_object(&r);
 *     while (rung_json_next_key(&r, &key) == RUNG_OK)
 *         if (rung_slice_eq(key, RUNG_SLICE("score"))) st = rung_json_number(&r, &score);
 *         else                                         st = rung_json_skip(&r, NULL);
 *     st = rung_json_end(&r);                  // the first failure, if any
 *
 * It accepts exactly RFC 8259, and also refuses: a repeated key in an object (read or skipped), invalid UTF-8, an
 * unpaired surrogate, anything after the value, a byte order mark, and texts beyond the limits below.
 *
 * Errors are sticky: `err` gets the first one as "limits.min: expected a number (byte 57)", and every later call
 * returns it. So a caller may continue and test the status once.
 *
 * The caller owns the text, which must be writable: reading a string with escapes unescapes it in place. All slices
 * point into the text and live as long as it does, except a key (see rung_json_next_key). Skipped values stay
 * unchanged. Numbers are returned as text: the caller, who knows the column, decides what is exact.
 *
 * A reader takes about 9 KB, of which little is touched: keep one and reuse it. Pure; one thread at a time. */
#ifndef RUNG_CODEC_JSON_READER_H
#define RUNG_CODEC_JSON_READER_H

#include "base/bytes.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_JSON_DEPTH_MAX  32   /* objects and arrays inside each other */
#define RUNG_JSON_KEY_MAX    256  /* bytes of one key, unescaped */
#define RUNG_JSON_KEYS_MAX   1024 /* keys of all objects open at one time */
#define RUNG_JSON_NUMBER_MAX 1024 /* bytes of one number */

typedef enum rung_json_kind {
    RUNG_JSON_NONE = 0, /* no value can be here */
    RUNG_JSON_NULL,
    RUNG_JSON_BOOL,
    RUNG_JSON_NUMBER,
    RUNG_JSON_STRING,
    RUNG_JSON_OBJECT,
    RUNG_JSON_ARRAY,
} rung_json_kind;

typedef struct rung__json_frame {
    bool is_array, is_begun; /* begun: the first key or item was returned */
    uint32_t place;     /* object: offset of the current key's quote; array: the current index */
    uint32_t first_key; /* object: where its keys begin in key_hashes */
} rung__json_frame;

typedef struct rung_json { /* private; initialise with rung_json_init() */
    char *text;
    size_t len, at;
    rung_status status;
    rung_err *err;
    const char *prefix;
    size_t base;
    uint32_t depth, key_count;
    rung__json_frame frames[RUNG_JSON_DEPTH_MAX];
    char key[RUNG_JSON_KEY_MAX];
    uint32_t key_hashes[RUNG_JSON_KEYS_MAX];
    uint32_t key_offsets[RUNG_JSON_KEYS_MAX];
} rung_json;

/* Start reading `text`, less than 4 GiB. `err` (may be NULL) receives the first failure. */
void rung_json_init(rung_json *r, char *text, size_t len, rung_err *err);

/* The same for a part of a larger text, such as a result of rung_json_skip(). Failures report `prefix` (may be NULL;
 * "limits", "columns[1]"; must outlive the reader) before the path, and add `base` to the byte offset. */
void rung_json_init_at(rung_json *r, rung_slice piece, const char *prefix, size_t base,
                       rung_err *err);

/* The kind of the next value. RUNG_JSON_NONE: none, and the reader has failed. */
rung_json_kind rung_json_peek(rung_json *r);

/* ---- objects and arrays: read or skip each value before asking for the next ---- */

RUNG_NODISCARD rung_status rung_json_enter_object(rung_json *r);
/* RUNG_OK: `*key_out`; its value is next. A key with escapes is valid until the next call, others as long as the
 * text. RUNG_NOT_FOUND: the object has ended. */
RUNG_NODISCARD rung_status rung_json_next_key(rung_json *r, rung_slice *key_out);

RUNG_NODISCARD rung_status rung_json_enter_array(rung_json *r);
/* RUNG_OK: an item is next. RUNG_NOT_FOUND: the array has ended. */
RUNG_NODISCARD rung_status rung_json_next_item(rung_json *r);

/* ---- values ---- */

RUNG_NODISCARD rung_status rung_json_string(rung_json *r, rung_slice *text_out);
RUNG_NODISCARD rung_status rung_json_number(rung_json *r, rung_slice *number_out);
/* An integer in range, however it is written: 1e3 is 1000. */
RUNG_NODISCARD rung_status rung_json_int64(rung_json *r, int64_t *value_out);
RUNG_NODISCARD rung_status rung_json_uint32(rung_json *r, uint32_t *value_out);
RUNG_NODISCARD rung_status rung_json_bool(rung_json *r, bool *value_out);

/* Check any value and step over it; `*raw_out` (may be NULL) is its text. */
RUNG_NODISCARD rung_status rung_json_skip(rung_json *r, rung_slice *raw_out);

/* Check that only white space is left. Returns the first failure, if there was one. */
RUNG_NODISCARD rung_status rung_json_end(rung_json *r);

/* Fail at the value read or skipped last, for a rule of the caller; formatted like the reader's own failures. */
rung_status rung_json_refuse(rung_json *r, rung_status st, const char *what);

/* The offset of the next byte in the larger text. */
static inline size_t rung_json_offset(const rung_json *r) {
    return r->base + r->at;
}

/* ---- shared inside the room ---- */

/* Of eight bytes, the first in the lowest place: the high bit of each that is a quote, a backslash, a control character
 * or not ASCII. A borrow can set a wrong bit only above a right one: use only the lowest. */
static inline uint64_t rung__json_stops(const char *p) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t w = rung_get64((const uint8_t *)p), quote = w ^ (ones * '"'),
             slash = w ^ (ones * '\\');
    return (((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((w - ones * 0x20) & ~w) | w) &
           ones * 0x80;
}

/* As rung_json_next_key, for a caller that detects repeated keys itself. */
RUNG_NODISCARD rung_status rung__json_next_key_unchecked(rung_json *r, rung_slice *key_out);
/* Unescape the current key in place, so that it lives as long as the text. */
rung_slice rung__json_keep_key(rung_json *r);
/* Fail because the object just read has no field `name`. */
rung_status rung__json_refuse_missing(rung_json *r, const char *name);
/* Convert a number's text to an exact int64. RUNG_EINVAL or RUNG_ERANGE. */
RUNG_NODISCARD rung_status rung__json_whole(rung_slice number, int64_t *value_out);

#endif
