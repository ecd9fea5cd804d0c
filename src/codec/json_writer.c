/* SPDX-License-Identifier: Apache-2.0 */
/* Reserve room once per value for the worst case, so that writing needs no checks. Strings are scanned eight bytes at
 * a time; names rarely need escapes. */
#include "codec/json_writer.h"

#include "codec/json_reader.h"
#include "model/calendar.h"
#include "model/text.h"
#include "model/utf8.h"

enum { ESCAPED_MAX = 6 }; /* \u001f is the longest for one byte */

/* ---- strings ---- */

static char *put_escape(char *out, char byte) {
    static const char bytes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt",
                      hex[] = "0123456789abcdef";
    const char *found = byte ? strchr(bytes, byte) : NULL;
    *out++ = '\\';
    if (found) {
        *out++ = letters[found - bytes];
        return out;
    }
    memcpy(out, "u00", 3);
    out[3] = hex[byte >> 4];
    out[4] = hex[byte & 15];
    return out + 5;
}

/* One character of `p`; returns the bytes it took. */
static size_t put_character(char **out, const char *p, size_t left) {
    uint8_t byte = (uint8_t)*p;
    if (byte >= 0x80) {
        size_t size = rung_utf8_size(p, left);
        if (size) {
            memcpy(*out, p, size);
            *out += size;
            return size;
        }
        memcpy(*out, "\xef\xbf\xbd", 3);
        *out += 3;
    } else if (byte < 0x20 || byte == '"' || byte == '\\') {
        *out = put_escape(*out, *p);
    } else {
        *(*out)++ = (char)byte;
    }
    return 1;
}

static char *put_text(char *out, rung_slice text) {
    size_t i = 0;
    while (i < text.len) {
        if (text.len - i >= sizeof(uint64_t) && !rung__json_stops(text.ptr + i)) {
            memcpy(out, text.ptr + i, sizeof(uint64_t));
            out += sizeof(uint64_t);
            i += sizeof(uint64_t);
        } else {
            i += put_character(&out, text.ptr + i, text.len - i);
        }
    }
    return out;
}

/* Measure the text only if there is no room for six times its length. */
static size_t escaped_len(rung_slice text) {
    char scratch[ESCAPED_MAX];
    size_t len = 0;
    for (size_t i = 0; i < text.len;) {
        char *out = scratch;
        i += put_character(&out, text.ptr + i, text.len - i);
        len += (size_t)(out - scratch);
    }
    return len;
}

static bool reserve_text(rung_json_writer *w, rung_slice text) {
    size_t most = text.len <= SIZE_MAX / 16 ? text.len * ESCAPED_MAX + 8 : SIZE_MAX;
    if (w->size - w->len >= most && !w->is_failed)
        return true;
    return rung_buffer_reserve(&w->buffer,
                               escaped_len(text) + 8); /* quotes, colon, comma; a word's overhang */
}

static void write_text(rung_json_writer *w, rung_slice text, bool is_key) {
    if (!reserve_text(w, text))
        return;
    char *out = w->data + w->len;
    if (w->is_comma_due)
        *out++ = ',';
    *out++ = '"';
    out = put_text(out, text);
    *out++ = '"';
    if (is_key)
        *out++ = ':';
    w->len = (size_t)(out - w->data);
    w->is_comma_due = !is_key;
}

void rung_json_write_key(rung_json_writer *w, rung_slice key) {
    write_text(w, key, true);
}

void rung_json_write_string(rung_json_writer *w, rung_slice text) {
    write_text(w, text, false);
}

/* ---- numbers ---- */

static void write_digits(rung_json_writer *w, bool is_negative, uint64_t value) {
    if (!rung_buffer_reserve(&w->buffer, 22))
        return;
    if (w->is_comma_due)
        w->data[w->len++] = ',';
    if (is_negative)
        w->data[w->len++] = '-';
    w->len += rung_digits_format(value, w->data + w->len);
    w->is_comma_due = true;
}

void rung_json_write_int(rung_json_writer *w, int64_t value) {
    write_digits(w, value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void rung_json_write_uint(rung_json_writer *w, uint64_t value) {
    write_digits(w, false, value);
}

void rung_json_write_fixed(rung_json_writer *w, int64_t fixed, unsigned decimals) {
    char text[RUNG_TEXT_NUMBER_MAX];
    if (!decimals)
        rung_json_write_int(w, fixed);
    else
        rung__json_put(w, text, rung_text_format_fixed(fixed, decimals, text), true);
}

void rung_json_write_real(rung_json_writer *w, double value) {
    char text[RUNG_TEXT_NUMBER_MAX];
    if (__builtin_isnan(value))
        rung_json_write_null(w);
    else if (__builtin_isinf(value))
        rung__json_put(w, value < 0 ? "\"-inf\"" : "\"inf\"", value < 0 ? 6 : 5, true);
    else if (value > -1e15 && value < 1e15 && (double)(int64_t)value == value)
        rung_json_write_int(w, (int64_t)value);
    else
        rung__json_put(w, text, rung_text_format_real(value, text), true);
}

void rung_json_write_time(rung_json_writer *w, int64_t at_ms) {
    char text[RUNG_TIME_TEXT_MAX + 2];
    if (at_ms < RUNG_TIME_MS_MIN || at_ms >= RUNG_TIME_MS_END) {
        rung_json_write_null(w);
        return;
    }
    size_t len = rung_time_format(at_ms, text + 1);
    text[0] = '"';
    text[len + 1] = '"';
    rung__json_put(w, text, len + 2, true);
}
