/* SPDX-License-Identifier: Apache-2.0 */
/* json_writer.h - append JSON to a buffer: inserts commas, and the output is always valid UTF-8.
 *
 *     rung_json_writer w = {.alloc = alloc, .limit = 1 << 20};
 *     rung_json_open_object(&w);
 *     RUNG_JSON_KEY(&w, "rank");
 *     rung_json_write_uint(&w, 7);
 *     rung_json_close_object(&w);
 *     if (rung_json_failed(&w)) ...              // once, at the end
 *     send(w.data, w.len);
 *     rung_json_writer_deinit(&w);
 *
 * The text goes to a rung_buffer (base/buffer.h), which grows up to `limit` or is fixed memory of the caller. A
 * failure to grow is sticky, and `data` is then incomplete. The caller keeps the nesting correct: the writer only
 * tracks whether a comma is due. Pure; one thread at a time. */
#ifndef RUNG_CODEC_JSON_WRITER_H
#define RUNG_CODEC_JSON_WRITER_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct rung_json_writer { /* as a rung_buffer: zero and an allocator is ready for use */
    RUNG_BUFFER_PART;
    bool is_comma_due;
} rung_json_writer;

/* Free the memory if the writer owns it. The writer is then empty. */
static inline void rung_json_writer_deinit(rung_json_writer *w) {
    rung_buffer_deinit(&w->buffer);
    w->is_comma_due = false;
}

/* Empty the writer and keep its buffer. */
static inline void rung_json_writer_reset(rung_json_writer *w) {
    w->len = 0;
    w->is_comma_due = false;
    w->is_failed = false;
}

static inline bool rung_json_failed(const rung_json_writer *w) {
    return w->is_failed;
}

static inline rung_slice rung_json_written(const rung_json_writer *w) {
    return rung_buffer_slice(&w->buffer);
}

/* ---- structure ---- */

/* Write `byte`, after a comma if one is due. */
static inline void rung__json_open(rung_json_writer *w, char byte) {
    if (!rung_buffer_reserve(&w->buffer, 2))
        return;
    if (w->is_comma_due)
        w->data[w->len++] = ',';
    w->data[w->len++] = byte;
    w->is_comma_due = false;
}

static inline void rung__json_close(rung_json_writer *w, char byte) {
    if (!rung_buffer_reserve(&w->buffer, 1))
        return;
    w->data[w->len++] = byte;
    w->is_comma_due = true;
}

static inline void rung_json_open_object(rung_json_writer *w) {
    rung__json_open(w, '{');
}
static inline void rung_json_close_object(rung_json_writer *w) {
    rung__json_close(w, '}');
}
static inline void rung_json_open_array(rung_json_writer *w) {
    rung__json_open(w, '[');
}
static inline void rung_json_close_array(rung_json_writer *w) {
    rung__json_close(w, ']');
}

/* Write a value (or a key with its colon) that is JSON already, after a comma if one is due. */
static inline void rung__json_put(rung_json_writer *w, const char *bytes, size_t len,
                                  bool is_comma_due) {
    if (!rung_buffer_reserve(&w->buffer, len + 1))
        return;
    if (w->is_comma_due)
        w->data[w->len++] = ',';
    memcpy(w->data + w->len, bytes, len);
    w->len += len;
    w->is_comma_due = is_comma_due;
}

/* The key of the next value: a literal without anything to escape, or any text. */
#define RUNG_JSON_KEY(w, literal)                                                                  \
    rung__json_put((w), "\"" literal "\":", sizeof("\"" literal "\":") - 1, false)
void rung_json_write_key(rung_json_writer *w, rung_slice key);

/* A key and its value: RUNG_JSON_MEMBER(w, "total", uint, 7) calls rung_json_write_uint(). */
#define RUNG_JSON_MEMBER(w, literal, kind, ...)                                                    \
    (RUNG_JSON_KEY(w, literal), rung_json_write_##kind(w, __VA_ARGS__))
/* A key and the start of its value, an array or an object: RUNG_JSON_OPEN(w, "rows", array). */
#define RUNG_JSON_OPEN(w, literal, kind) (RUNG_JSON_KEY(w, literal), rung_json_open_##kind(w))

/* ---- values ---- */

/* Bytes that are not UTF-8 become U+FFFD, one for each byte. */
void rung_json_write_string(rung_json_writer *w, rung_slice text);
static inline void rung_json_write_word(rung_json_writer *w, const char *text) {
    rung_json_write_string(w, rung_slice_str(text));
}
void rung_json_write_int(rung_json_writer *w, int64_t value);
void rung_json_write_uint(rung_json_writer *w, uint64_t value);
/* fixed / 10^decimals, exactly (model/text.h). */
void rung_json_write_fixed(rung_json_writer *w, int64_t fixed, unsigned decimals);
/* The shortest text that reads back as the same double. JSON has no infinity: they are the strings "inf" and "-inf";
 * a NaN is null. */
void rung_json_write_real(rung_json_writer *w, double value);
/* RFC 3339 with milliseconds, in quotes; a time outside the supported years is null. */
void rung_json_write_time(rung_json_writer *w, int64_t at_ms);
/* One value that is JSON already. */
static inline void rung_json_write_raw(rung_json_writer *w, rung_slice json) {
    rung__json_put(w, json.ptr, json.len, true);
}
static inline void rung_json_write_bool(rung_json_writer *w, bool value) {
    rung__json_put(w, value ? "true" : "false", value ? 4 : 5, true);
}
static inline void rung_json_write_null(rung_json_writer *w) {
    rung__json_put(w, "null", 4, true);
}

/* The number, or null for 0. */
static inline void rung_json_write_uint_or_null(rung_json_writer *w, uint64_t number) {
    if (number)
        rung_json_write_uint(w, number);
    else
        rung_json_write_null(w);
}

/* Append bytes without commas: newlines, or text around the JSON. */
static inline void rung_json_append(rung_json_writer *w, rung_slice bytes) {
    rung_buffer_put(&w->buffer, bytes.ptr, bytes.len);
}

#endif
