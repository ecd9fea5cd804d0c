/* SPDX-License-Identifier: Apache-2.0 */
/* Room is secured once for each reply; lengths and numbers are written straight to their place. */
#include "codec/resp_writer.h"

#include "codec/json_writer.h"

enum { SIZE_FIRST = 1024, NUMBER_MAX = 24 };

void rung_resp_writer_deinit(rung_resp_writer *w) {
    rung_alloc_free(w->alloc, w->data, w->size);
    *w = (rung_resp_writer){.alloc = w->alloc, .limit = w->limit, .version = w->version};
}

void rung_resp_writer_reset(rung_resp_writer *w, size_t keep) {
    if (w->size > keep)
        rung_resp_writer_deinit(w);
    w->len = 0;
    w->is_failed = false;
}

__attribute__((noinline)) static bool grow(rung_resp_writer *w, size_t n) {
    size_t limit = w->limit ? w->limit : SIZE_MAX / 2;
    if (w->is_failed || n > limit || w->len > limit - n) {
        w->is_failed = true;
        return false;
    }
    size_t size = w->size ? w->size : SIZE_FIRST;
    while (size < w->len + n)
        size *= 2;
    if (size > limit)
        size = limit;
    char *data = rung_alloc_resize(w->alloc, w->data, w->size, size);
    if (!data) {
        w->is_failed = true;
        return false;
    }
    w->data = data;
    w->size = size;
    return true;
}

static inline bool reserve(rung_resp_writer *w, size_t n) {
    return __builtin_expect(w->size - w->len >= n && !w->is_failed, 1) || grow(w, n);
}

/* ---- pieces, in room that was reserved ---- */

static inline void put_end(rung_resp_writer *w) {
    w->data[w->len++] = '\r';
    w->data[w->len++] = '\n';
}

static inline void put_int(rung_resp_writer *w, int64_t value) {
    if (value < 0)
        w->data[w->len++] = '-';
    w->len += rung_digits_format(value < 0 ? -(uint64_t)value : (uint64_t)value, w->data + w->len);
}

static inline void put_bytes(rung_resp_writer *w, const char *bytes, size_t len) {
    if (len)
        memcpy(w->data + w->len, bytes, len);
    w->len += len;
}

static void header(rung_resp_writer *w, char type, uint64_t count) {
    if (!reserve(w, NUMBER_MAX))
        return;
    w->data[w->len++] = type;
    w->len += rung_digits_format(count, w->data + w->len);
    put_end(w);
}

/* ---- replies ---- */

void rung_resp_raw(rung_resp_writer *w, rung_slice bytes) {
    if (reserve(w, bytes.len))
        put_bytes(w, bytes.ptr, bytes.len);
}

void rung_resp_simple(rung_resp_writer *w, const char *text) {
    size_t len = strlen(text);
    if (!reserve(w, len + 3))
        return;
    w->data[w->len++] = '+';
    put_bytes(w, text, len);
    put_end(w);
}

void rung_resp_error(rung_resp_writer *w, rung_slice text) {
    if (!reserve(w, text.len + 3))
        return;
    w->data[w->len++] = '-';
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        w->data[w->len++] = c == '\r' || c == '\n' ? ' ' : c;
    }
    put_end(w);
}

void rung_resp_int(rung_resp_writer *w, int64_t value) {
    if (!reserve(w, NUMBER_MAX))
        return;
    if ((uint64_t)value < 10) { /* what nearly every change answers */
        memcpy(w->data + w->len, (const char[4]){':', (char)('0' + value), '\r', '\n'}, 4);
        w->len += 4;
        return;
    }
    w->data[w->len++] = ':';
    put_int(w, value);
    put_end(w);
}

/* Members and scores are short: their length is written without a loop, they themselves without a call. */
static inline char *put_length(char *at, size_t len) {
    *at++ = '$';
    if (len >= 100) {
        at += rung_digits_format(len, at);
    } else {
        *at = (char)('0' + len / 10);
        at += len >= 10;
        *at++ = (char)('0' + len % 10);
    }
    memcpy(at, "\r\n", 2);
    return at + 2;
}

static inline char *put_short(char *at, const char *bytes, size_t len) {
    if (len >= 8 && len <= 16) { /* two words, which overlap */
        uint64_t head, tail;
        memcpy(&head, bytes, sizeof head);
        memcpy(&tail, bytes + len - sizeof tail, sizeof tail);
        memcpy(at, &head, sizeof head);
        memcpy(at + len - sizeof tail, &tail, sizeof tail);
    } else if (len) {
        memcpy(at, bytes, len);
    }
    return at + len;
}

void rung_resp_bulk(rung_resp_writer *w, rung_slice bytes) {
    if (!reserve(w, bytes.len + NUMBER_MAX + 2))
        return;
    char *at = put_length(w->data + w->len, bytes.len);
    at = put_short(at, bytes.ptr, bytes.len);
    memcpy(at, "\r\n", 2);
    w->len = (size_t)(at + 2 - w->data);
}

void rung_resp_text(rung_resp_writer *w, const char *text) {
    rung_resp_bulk(w, rung_slice_str(text));
}

/* A number is written behind a length that has one digit as a rule, which "$6\r\n" leaves room for; else it makes
 * room. */
enum { BEFORE = 4 };

static inline void end_number(rung_resp_writer *w, size_t len) {
    char *at = w->data + w->len;
    if (len >= 10)
        memmove(at + BEFORE + 1, at + BEFORE, len);
    at = put_length(at, len) + len;
    memcpy(at, "\r\n", 2);
    w->len = (size_t)(at + 2 - w->data);
}

void rung_resp_bulk_int(rung_resp_writer *w, int64_t value) {
    if (!reserve(w, 2 * NUMBER_MAX))
        return;
    char *at = w->data + w->len + BEFORE;
    if (RUNG__RESP_EIGHT && (uint64_t)value < 100000000) {
        end_number(w, rung__resp_put_eight((uint32_t)value, at));
        return;
    }
    *at = '-';
    size_t len = value < 0;
    len += rung_digits_format(value < 0 ? -(uint64_t)value : (uint64_t)value, at + len);
    end_number(w, len);
}

void rung_resp_null(rung_resp_writer *w) {
    rung_resp_raw(w, w->version == 2 ? RUNG_SLICE("$-1\r\n") : RUNG_SLICE("_\r\n"));
}

void rung_resp_null_array(rung_resp_writer *w) {
    rung_resp_raw(w, w->version == 2 ? RUNG_SLICE("*-1\r\n") : RUNG_SLICE("_\r\n"));
}

void rung_resp_bool(rung_resp_writer *w, bool value) {
    if (w->version == 2)
        rung_resp_int(w, value);
    else
        rung_resp_raw(w, value ? RUNG_SLICE("#t\r\n") : RUNG_SLICE("#f\r\n"));
}

void rung_resp_double(rung_resp_writer *w, double value) {
    if (!reserve(w, RUNG_RESP_DOUBLE_MAX + NUMBER_MAX))
        return;
    char *at = w->data + w->len;
    if (w->version == 2) {
        end_number(w, rung_resp_format_double(value, at + BEFORE));
        return;
    }
    *at++ = ',';
    at += rung_resp_format_double(value, at);
    memcpy(at, "\r\n", 2);
    w->len = (size_t)(at + 2 - w->data);
}

void rung_resp_verbatim(rung_resp_writer *w, rung_slice text) {
    if (w->version == 2) {
        rung_resp_bulk(w, text);
        return;
    }
    if (!reserve(w, text.len + NUMBER_MAX + 6))
        return;
    header(w, '=', text.len + 4);
    put_bytes(w, "txt:", 4);
    put_bytes(w, text.ptr, text.len);
    put_end(w);
}

void rung_resp_array(rung_resp_writer *w, uint64_t count) {
    header(w, '*', count);
}

void rung_resp_map(rung_resp_writer *w, uint64_t count) {
    header(w, w->version == 2 ? '*' : '%', w->version == 2 ? count * 2 : count);
}

void rung_resp_set(rung_resp_writer *w, uint64_t count) {
    header(w, w->version == 2 ? '*' : '~', count);
}
