/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/resp_reply.h"

#include <string.h>

#define COUNT_MAX ((int64_t)1 << 32)

enum { LINE_MAX_BYTES = 64 << 10 };

/* A count or a length: -1 or more. */
static bool read_count(const char *at, const char *end, int64_t *out) {
    int64_t n = 0;
    if (end - at == 2 && at[0] == '-' && at[1] == '1') {
        *out = -1;
        return true;
    }
    if (at == end || end - at > 10)
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        n = n * 10 + (*at - '0');
    }
    *out = n;
    return n <= COUNT_MAX;
}

/* How many replies follow and belong to it, per counted element; 0: none. */
static int per_element(char type) {
    return type == '*' || type == '~' || type == '>' ? 1 : type == '%' || type == '|' ? 2 : 0;
}

/* One line, and the bytes of a string. RUNG_OK: r->at is behind it. */
static rung_status step(rung_resp_reply *r, rung_slice bytes) {
    const char *begin = bytes.ptr + r->at;
    size_t left = bytes.len - r->at;
    const char *cr =
        left ? memchr(begin, '\r', left < LINE_MAX_BYTES ? left : LINE_MAX_BYTES) : NULL;
    if (!cr || cr + 1 == bytes.ptr + bytes.len)
        return left < LINE_MAX_BYTES ? RUNG_PARTIAL : RUNG_EINVAL;
    if (cr[1] != '\n' || cr == begin)
        return RUNG_EINVAL;
    size_t line = (size_t)(cr + 2 - begin);
    int64_t count = 0;
    bool is_string = memchr("$!=", *begin, 3) != NULL;
    if (!is_string && !per_element(*begin)) {
        r->at += line;
        return memchr("+-:_,#(", *begin, 7) ? RUNG_OK : RUNG_EINVAL;
    }
    if (!read_count(begin + 1, cr, &count))
        return RUNG_EINVAL;
    if (is_string && count >= 0) {
        if (left < line + (size_t)count + 2)
            return RUNG_PARTIAL;
        if (memcmp(begin + line + count, "\r\n", 2) != 0)
            return RUNG_EINVAL;
        line += (size_t)count + 2;
    }
    r->at += line;
    if (count > 0)
        r->behind += (uint64_t)count * (uint64_t)per_element(*begin);
    if (*begin == '|') /* attributes come before the reply that they are about */
        r->behind++;
    return r->behind > (uint64_t)COUNT_MAX * 4 ? RUNG_EINVAL : RUNG_OK;
}

rung_status rung_resp_reply_end(rung_resp_reply *r, rung_slice bytes, size_t *len_out) {
    if (!r->has_begun)
        r->behind = 1;
    r->has_begun = true;
    while (r->behind > 0) {
        rung_status st = step(r, bytes);
        if (st != RUNG_OK)
            return st;
        r->behind--;
    }
    *len_out = r->at;
    return RUNG_OK;
}
