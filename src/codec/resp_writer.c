/* SPDX-License-Identifier: Apache-2.0 */
/* Reserve room once per reply; lengths and numbers are written in place. */
#include "codec/resp_writer.h"

#include "model/text.h"

enum { NUMBER_MAX = 24 };

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
    if (!rung_buffer_reserve(&w->buffer, NUMBER_MAX))
        return;
    w->data[w->len++] = type;
    w->len += rung_digits_format(count, w->data + w->len);
    put_end(w);
}

/* ---- replies ---- */

void rung_resp_raw(rung_resp_writer *w, rung_slice bytes) {
    if (rung_buffer_reserve(&w->buffer, bytes.len))
        put_bytes(w, bytes.ptr, bytes.len);
}

void rung_resp_simple(rung_resp_writer *w, const char *text) {
    size_t len = strlen(text);
    if (!rung_buffer_reserve(&w->buffer, len + 3))
        return;
    w->data[w->len++] = '+';
    put_bytes(w, text, len);
    put_end(w);
}

void rung_resp_error(rung_resp_writer *w, rung_slice text) {
    if (!rung_buffer_reserve(&w->buffer, text.len + 3))
        return;
    w->data[w->len++] = '-';
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        w->data[w->len++] = c == '\r' || c == '\n' ? ' ' : c;
    }
    put_end(w);
}

void rung_resp_int(rung_resp_writer *w, int64_t value) {
    if (!rung_buffer_reserve(&w->buffer, NUMBER_MAX))
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

/* Members and scores are short: their length is written without a loop. */
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

enum { BULK_MORE = NUMBER_MAX + 2 }; /* than the bytes themselves */

static inline char *put_bulk(char *at, rung_slice bytes) {
    at = put_length(at, bytes.len);
    rung_bytes_copy(at, bytes.ptr, bytes.len);
    memcpy(at + bytes.len, "\r\n", 2);
    return at + bytes.len + 2;
}

void rung_resp_bulk(rung_resp_writer *w, rung_slice bytes) {
    if (!rung_buffer_reserve(&w->buffer, bytes.len + BULK_MORE))
        return;
    w->len = (size_t)(put_bulk(w->data + w->len, bytes) - w->data);
}

void rung_resp_text(rung_resp_writer *w, const char *text) {
    rung_resp_bulk(w, rung_slice_str(text));
}

/* ---- numbers: most scores are integers of up to eight digits ---- */

#define HAS_EIGHT (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) /* where it works */

/* May eight_digits() format this value? Not 0, which has a sign. */
static inline bool is_short(double value) {
    return HAS_EIGHT && value > 0 && value < 1e8 && (double)(uint32_t)value == value;
}

/* The digits of a value below 10^8 as the bytes of a word, first digit lowest, and their number; the other bytes are
 * 0. Splits the value into fours, then pairs, then digits, in parallel lanes of one word. The divisions are
 * multiplications that are exact for numbers this small. Leading zeros are shifted out. */
static inline uint64_t eight_digits(uint32_t value, unsigned *count_out) {
    uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t hundreds = fours * 10486 >> 20 & UINT64_C(0x0000007f0000007f);
    uint64_t pairs = hundreds | (fours - hundreds * 100) << 16;
    uint64_t tens = pairs * 103 >> 10 & UINT64_C(0x000f000f000f000f);
    uint64_t digits = tens | (pairs - tens * 10) << 8;
    unsigned zeros = (unsigned)__builtin_ctzll(digits | (uint64_t)1 << 56) / 8;
    *count_out = 8 - zeros;
    return (digits | UINT64_C(0x3030303030303030)) >> zeros * 8;
}

/* A number follows its length, which usually has one digit: "$6\r\n" leaves room for that, otherwise the digits move.
 */
enum { BEFORE = 4, DOUBLE_MAX = RUNG_RESP_DOUBLE_MAX + NUMBER_MAX };

static char *end_bulk(char *at, size_t len) {
    if (len >= 10)
        memmove(at + BEFORE + 1, at + BEFORE, len);
    at = put_length(at, len) + len;
    memcpy(at, "\r\n", 2);
    return at + 2;
}

/* Most numbers are small integers: their length and digits are two words. */
static inline char *put_eight(char *at, uint32_t value, bool is_bulk) {
    unsigned count;
    uint64_t digits = eight_digits(value, &count);
    if (is_bulk) {
        memcpy(at, "$0\r\n", BEFORE);
        at[1] = (char)('0' + count);
        at += BEFORE;
    } else {
        *at++ = ',';
    }
    memcpy(at, &digits, sizeof digits);
    memcpy(at + count, "\r\n", 2);
    return at + count + 2;
}

void rung_resp_bulk_int(rung_resp_writer *w, int64_t value) {
    if (!rung_buffer_reserve(&w->buffer, 2 * NUMBER_MAX))
        return;
    char *at = w->data + w->len;
    if (HAS_EIGHT && (uint64_t)value < 100000000) {
        w->len = (size_t)(put_eight(at, (uint32_t)value, true) - w->data);
        return;
    }
    at[BEFORE] = '-';
    size_t len = value < 0;
    len += rung_digits_format(value < 0 ? -(uint64_t)value : (uint64_t)value, at + BEFORE + len);
    w->len = (size_t)(end_bulk(at, len) - w->data);
}

size_t rung_resp_format_double(double value, char out[RUNG_RESP_DOUBLE_MAX]) {
    unsigned count;
    if (!is_short(value))
        return rung_text_format_17g(value, out);
    uint64_t digits = eight_digits((uint32_t)value, &count);
    memcpy(out, &digits, sizeof digits);
    return count;
}

__attribute__((noinline)) static char *put_any_double(char *at, double value, bool is_bulk) {
    size_t len = rung_resp_format_double(value, at + (is_bulk ? BEFORE : 1));
    if (is_bulk)
        return end_bulk(at, len);
    *at = ',';
    memcpy(at + 1 + len, "\r\n", 2);
    return at + 1 + len + 2;
}

static inline char *put_double(char *at, double value, bool is_bulk) {
    return is_short(value) ? put_eight(at, (uint32_t)value, is_bulk)
                           : put_any_double(at, value, is_bulk);
}

void rung_resp_double(rung_resp_writer *w, double value) {
    if (!rung_buffer_reserve(&w->buffer, DOUBLE_MAX))
        return;
    w->len = (size_t)(put_double(w->data + w->len, value, w->version == 2) - w->data);
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

void rung_resp_row(rung_resp_writer *w, rung_slice member, double score) {
    enum { PAIR = 4 };
    if (!rung_buffer_reserve(&w->buffer, PAIR + member.len + BULK_MORE + DOUBLE_MAX))
        return;
    char *at = w->data + w->len;
    bool is_pair = w->version > 2;
    if (is_pair)
        memcpy(at, "*2\r\n", PAIR);
    at = put_bulk(at + (is_pair ? PAIR : 0), member);
    w->len = (size_t)(put_double(at, score, !is_pair) - w->data);
}

void rung_resp_verbatim(rung_resp_writer *w, rung_slice text) {
    if (w->version == 2) {
        rung_resp_bulk(w, text);
        return;
    }
    if (!rung_buffer_reserve(&w->buffer, text.len + NUMBER_MAX + 6))
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
