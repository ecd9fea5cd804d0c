/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.h - bytes that grow, and numbers in few of them; private to this room.
 *
 * A buffer that could not grow stays as it was and says so in `failed`: write on, look once at the end. The words
 * are those of docs/formats/events.md: number (LEB128), signed (zigzag), real (8 bytes, lowest first), text
 * (length, bytes). The zero value with an allocator is an empty buffer. */
#ifndef RUNG_ARCHIVE_BUFFER_H
#define RUNG_ARCHIVE_BUFFER_H

#include "base/alloc.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct rung__buffer {
    const rung_alloc *alloc;
    char *ptr;
    size_t len, cap;
    bool failed;
} rung__buffer;

static inline void rung__buffer_deinit(rung__buffer *b) {
    rung_alloc_free(b->alloc, b->ptr, b->cap);
    *b = (rung__buffer){.alloc = b->alloc};
}

static inline bool rung__buffer_reserve(rung__buffer *b, size_t more) {
    if (b->cap - b->len >= more)
        return !b->failed;
    size_t cap = b->cap ? b->cap : 256;
    while (cap - b->len < more)
        cap += cap / 2;
    char *ptr = b->failed ? NULL : rung_alloc_resize(b->alloc, b->ptr, b->cap, cap);
    if (!ptr) {
        b->failed = true;
        return false;
    }
    b->ptr = ptr;
    b->cap = cap;
    return true;
}

static inline void rung__buffer_put(rung__buffer *b, const void *bytes, size_t len) {
    if (len && rung__buffer_reserve(b, len)) {
        memcpy(b->ptr + b->len, bytes, len);
        b->len += len;
    }
}

static inline void rung__buffer_number(rung__buffer *b, uint64_t number) {
    uint8_t bytes[10];
    unsigned n = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[n++] = (uint8_t)(number | 0x80);
    bytes[n++] = (uint8_t)number;
    rung__buffer_put(b, bytes, n);
}

static inline void rung__buffer_signed(rung__buffer *b, int64_t number) {
    rung__buffer_number(b, ((uint64_t)number << 1) ^ (uint64_t)(number >> 63));
}

static inline void rung__buffer_word(rung__buffer *b, uint64_t word) {
    uint8_t bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(word >> (8 * i));
    rung__buffer_put(b, bytes, sizeof bytes);
}

static inline void rung__buffer_text(rung__buffer *b, rung_slice text) {
    rung__buffer_number(b, text.len);
    rung__buffer_put(b, text.ptr, text.len);
}

/* ---- reading: after the first fault there are only zeros, until somebody looks at is_bad ---- */

typedef struct rung__bytes {
    const uint8_t *at, *end;
    bool is_bad;
} rung__bytes;

static inline rung__bytes rung__bytes_of(rung_slice s) {
    const uint8_t *p = (const uint8_t *)s.ptr;
    return (rung__bytes){p, s.len ? p + s.len : p, false};
}

static inline uint64_t rung__bytes_number(rung__bytes *r) {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && r->at != r->end; shift += 7) {
        uint8_t byte = *r->at++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
    r->is_bad = true;
    r->at = r->end;
    return 0;
}

static inline int64_t rung__bytes_signed(rung__bytes *r) {
    uint64_t number = rung__bytes_number(r);
    return (int64_t)((number >> 1) ^ -(number & 1));
}

static inline uint64_t rung__bytes_word(rung__bytes *r) {
    uint64_t word = 0;
    if (r->end - r->at < 8) {
        r->is_bad = true;
        r->at = r->end;
        return 0;
    }
    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)*r->at++ << (8 * i);
    return word;
}

static inline rung_slice rung__bytes_text(rung__bytes *r) {
    uint64_t len = rung__bytes_number(r);
    if (len > (uint64_t)(r->end - r->at)) {
        r->is_bad = true;
        r->at = r->end;
        return (rung_slice){NULL, 0};
    }
    rung_slice text = rung_slice_of(r->at, (size_t)len);
    r->at += len;
    return text;
}

#endif
