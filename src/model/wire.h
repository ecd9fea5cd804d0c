/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h - the words that events and board definitions are spelled with; private to this room.
 *
 *   byte      one byte
 *   number    unsigned, LEB128: 7 bits a byte, the lowest first, in the fewest bytes there are (at most 10)
 *   signed    zigzag (0, -1, 1, -2, ... become 0, 1, 2, 3, ...), then a number
 *   real      the 8 bytes of an IEEE 754 double, the lowest first
 *   text      a number, its length, and that many bytes
 *
 * Every value has one spelling, and the reader takes no other: what can be read is what the writer writes.
 *
 * The writer never stops: it counts what it has no room for, so that one pass also answers "how much would it take".
 * The reader is sticky: after the first fault it gives zeros and empty texts until somebody looks at `fault`. */
#ifndef RUNG_MODEL_WIRE_H
#define RUNG_MODEL_WIRE_H

#include "base/slice.h"
#include "base/status.h"

#define RUNG__NUMBER_BYTES_MAX 10

/* ---- writing ---- */

typedef struct rung__writer {
    uint8_t *at;
    size_t room;   /* bytes left at `at`; 0 for good once something did not fit */
    size_t length; /* of all that was put, whether it fitted or not */
} rung__writer;

static inline rung__writer rung__writer_of(void *out, size_t size) {
    return (rung__writer){out, size, 0};
}

static inline void rung__put_bytes(rung__writer *w, const void *bytes, size_t len) {
    w->length += len;
    if (len > w->room) {
        w->room = 0;
        return;
    }
    if (!len)
        return;
    memcpy(w->at, bytes, len);
    w->at += len;
    w->room -= len;
}

static inline void rung__put_byte(rung__writer *w, uint8_t byte) {
    rung__put_bytes(w, &byte, 1);
}

static inline unsigned rung__spell_number(uint8_t out[RUNG__NUMBER_BYTES_MAX], uint64_t number) {
    unsigned n = 0;
    for (; number >= 0x80; number >>= 7)
        out[n++] = (uint8_t)(number | 0x80);
    out[n++] = (uint8_t)number;
    return n;
}

static inline void rung__put_number(rung__writer *w, uint64_t number) {
    if (w->room >= RUNG__NUMBER_BYTES_MAX) { /* nearly always: straight into place */
        unsigned n = rung__spell_number(w->at, number);
        w->at += n;
        w->room -= n;
        w->length += n;
        return;
    }
    uint8_t bytes[RUNG__NUMBER_BYTES_MAX];
    rung__put_bytes(w, bytes, rung__spell_number(bytes, number));
}

static inline void rung__put_signed(rung__writer *w, int64_t number) {
    rung__put_number(w, ((uint64_t)number << 1) ^ (uint64_t)(number >> 63));
}

static inline void rung__put_real(rung__writer *w, double real) {
    uint64_t bits;
    uint8_t bytes[8];
    memcpy(&bits, &real, sizeof bits);
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
    rung__put_bytes(w, bytes, sizeof bytes);
}

static inline void rung__put_text(rung__writer *w, rung_slice text) {
    rung__put_number(w, text.len);
    rung__put_bytes(w, text.ptr, text.len);
}

/* ---- reading ---- */

typedef struct rung__reader {
    const uint8_t *at, *end;
    const char *fault; /* NULL, or what is wrong; static */
    size_t left;       /* at the fault: bytes that were still to come */
} rung__reader;

static inline rung__reader rung__reader_of(rung_slice bytes) {
    const uint8_t *p = (const uint8_t *)bytes.ptr;
    return (rung__reader){p, bytes.len ? p + bytes.len : p, NULL, 0};
}

static inline size_t rung__reader_left(const rung__reader *r) {
    return (size_t)(r->end - r->at);
}

/* Note the first fault; from here on there is nothing more to read. */
static inline void rung__reader_fail(rung__reader *r, const char *fault) {
    if (!r->fault) {
        r->fault = fault;
        r->left = rung__reader_left(r);
    }
    r->at = r->end;
}

/* For the end of what is read: nothing may follow. RUNG_OK, or RUNG_ECORRUPT with the place of the fault in `bytes`. */
rung_status rung__reader_finish(rung__reader *r, rung_slice bytes, const char *what, rung_err *err);

static inline uint8_t rung__get_byte(rung__reader *r) {
    if (r->at == r->end) {
        rung__reader_fail(r, "it ends too early");
        return 0;
    }
    return *r->at++;
}

uint64_t rung__get_long_number(rung__reader *r); /* private to the next function */

static inline uint64_t rung__get_number(rung__reader *r) {
    if (r->at != r->end && *r->at < 0x80)
        return *r->at++;
    return rung__get_long_number(r);
}

/* A number of at most `max`, which fits 32 bits. */
static inline uint32_t rung__get_count(rung__reader *r, uint32_t max) {
    uint64_t number = rung__get_number(r);
    if (number > max) {
        rung__reader_fail(r, "a count is too large");
        return 0;
    }
    return (uint32_t)number;
}

static inline int64_t rung__get_signed(rung__reader *r) {
    uint64_t number = rung__get_number(r);
    return (int64_t)((number >> 1) ^ -(number & 1));
}

static inline double rung__get_real(rung__reader *r) {
    uint64_t bits = 0;
    double real;
    if (rung__reader_left(r) < 8)
        rung__reader_fail(r, "it ends too early");
    else
        for (unsigned i = 0; i < 8; i++)
            bits |= (uint64_t)*r->at++ << (8 * i);
    memcpy(&real, &bits, sizeof real);
    return real;
}

static inline rung_slice rung__get_text(rung__reader *r) {
    uint64_t len = rung__get_number(r);
    if (len > rung__reader_left(r)) {
        rung__reader_fail(r, "a text ends too early");
        return (rung_slice){NULL, 0};
    }
    rung_slice text = rung_slice_of(r->at, (size_t)len);
    r->at += len;
    return text;
}

/* All that is left. */
static inline rung_slice rung__get_rest(rung__reader *r) {
    rung_slice rest = rung_slice_of(r->at, rung__reader_left(r));
    r->at = r->end;
    return rest;
}

#endif
