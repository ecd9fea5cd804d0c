/* SPDX-License-Identifier: Apache-2.0 */
/* A path is split before it is decoded, so an encoded slash is part of a name, never a separator. */
#include "codec/url.h"

#include "base/ascii.h"
#include "model/utf8.h"

rung_status rung_url_decode(rung_slice text, bool plus_is_space, char *out, rung_slice *decoded_out,
                            rung_err *err) {
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '+' && plus_is_space)
            c = ' ';
        if (c == '%') {
            int high = i + 2 < text.len ? rung_hex_value(text.ptr[i + 1]) : -1;
            int low = high >= 0 ? rung_hex_value(text.ptr[i + 2]) : -1;
            if (low < 0)
                return RUNG_FAIL(err, RUNG_EINVAL, "%% must be followed by two hexadecimal digits");
            c = (char)(high << 4 | low);
            i += 2;
        }
        out[len++] = c;
    }
    if (!rung_utf8_is_text(rung_slice_of(out, len)))
        return RUNG_FAIL(err, RUNG_EINVAL, "not valid UTF-8 text");
    *decoded_out = rung_slice_of(out, len);
    return RUNG_OK;
}

rung_status rung_url_segments(rung_slice path, rung_slice *segments, uint32_t room,
                              uint32_t *count_out, rung_err *err) {
    if (!path.len || path.ptr[0] != '/')
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "path", "expected '/' at the start");
    uint32_t count = 0;
    for (const char *at = path.ptr, *end = at + path.len; at; count++) {
        const char *from = at + 1;
        if (count == room)
            return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "path", "more than %u segments", room);
        at = from < end ? memchr(from, '/', (size_t)(end - from)) : NULL;
        segments[count] = rung_slice_of(from, (size_t)((at ? at : end) - from));
    }
    *count_out = count;
    return RUNG_OK;
}

static bool is_unreserved(char c) {
    return rung_is_letter(c) || rung_is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

size_t rung_url_encode(rung_slice text, char *out) {
    static const char hex[] = "0123456789ABCDEF";
    char *start = out;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (is_unreserved((char)c)) {
            *out++ = (char)c;
        } else {
            *out++ = '%';
            *out++ = hex[c >> 4];
            *out++ = hex[c & 15];
        }
    }
    return (size_t)(out - start);
}
