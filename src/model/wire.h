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

/* A word as 8 bytes, the lowest first, and back. */
static inline uint64_t rung__word_swap(uint64_t word) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline void rung__word_store(uint8_t *p, uint64_t word) {
    word = rung__word_swap(word);
    memcpy(p, &word, sizeof word);
}

static inline uint64_t rung__word_load(const uint8_t *p) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return rung__word_swap(word);
}

/* ---- writing where there is room for the longest spelling; all return what is behind it ---- */

uint8_t *rung__spell_long_number(uint8_t *at, uint64_t number); /* private to the next function */

static inline uint8_t *rung__spell_number(uint8_t *at, uint64_t number) {
    if (number >= 0x80)
        return rung__spell_long_number(at, number);
    *at = (uint8_t)number;
    return at + 1;
}

static inline uint8_t *rung__spell_signed(uint8_t *at, int64_t number) {
    return rung__spell_number(at, ((uint64_t)number << 1) ^ (uint64_t)(number >> 63));
}

static inline uint8_t *rung__spell_real(uint8_t *at, double real) {
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    rung__word_store(at, bits);
    return at + sizeof bits;
}

static inline uint8_t *rung__spell_text(uint8_t *at, rung_slice text) {
    at = rung__spell_number(at, text.len);
    rung_bytes_copy(at, text.ptr, text.len);
    return at + text.len;
}

/* ---- writing anywhere ---- */

typedef struct rung__writer {
    uint8_t *start, *at, *end; /* at == end for good once something did not fit */
    size_t lost;               /* bytes that did not fit */
} rung__writer;

static inline rung__writer rung__writer_of(void *out, size_t size) {
    uint8_t *p = out;
    return (rung__writer){p, p, size ? p + size : p, 0};
}

static inline size_t rung__writer_room(const rung__writer *w) {
    return (size_t)(w->end - w->at);
}

/* Of all that was put, whether it fitted or not. */
static inline size_t rung__writer_length(const rung__writer *w) {
    return (size_t)(w->at - w->start) + w->lost;
}

static inline void rung__put_bytes(rung__writer *w, const void *bytes, size_t len) {
    if (len > rung__writer_room(w)) {
        w->lost += len;
        w->end = w->at;
    } else if (len) {
        memcpy(w->at, bytes, len);
        w->at += len;
    }
}

static inline void rung__put_byte(rung__writer *w, uint8_t byte) {
    if (w->at == w->end)
        w->lost++;
    else
        *w->at++ = byte;
}

static inline void rung__put_number(rung__writer *w, uint64_t number) {
    if (rung__writer_room(w) >= RUNG__NUMBER_BYTES_MAX) { /* nearly always: straight into place */
        w->at = rung__spell_number(w->at, number);
        return;
    }
    uint8_t bytes[RUNG__NUMBER_BYTES_MAX];
    rung__put_bytes(w, bytes, (size_t)(rung__spell_number(bytes, number) - bytes));
}

static inline void rung__put_signed(rung__writer *w, int64_t number) {
    rung__put_number(w, ((uint64_t)number << 1) ^ (uint64_t)(number >> 63));
}

static inline void rung__put_real(rung__writer *w, double real) {
    uint8_t bytes[sizeof real];
    rung__put_bytes(w, bytes, (size_t)(rung__spell_real(bytes, real) - bytes));
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

rung_status rung__reader_failure(rung__reader r, rung_slice bytes, const char *what, rung_err *err);

/* For the end of what is read: nothing may follow. RUNG_OK, or RUNG_ECORRUPT with the place of the fault in `bytes`. */
static inline rung_status rung__reader_finish(const rung__reader *r, rung_slice bytes,
                                              const char *what, rung_err *err) {
    if (!r->fault && r->at == r->end)
        return RUNG_OK;
    return rung__reader_failure(*r, bytes, what, err);
}

static inline uint8_t rung__get_byte(rung__reader *r) {
    if (r->at == r->end) {
        rung__reader_fail(r, "it ends too early");
        return 0;
    }
    return *r->at++;
}

typedef struct rung__number {
    uint64_t value;
    const uint8_t *behind; /* what follows it; NULL: look at it carefully */
} rung__number;

/* The first: of 2 to 8 bytes, with 8 there to be read. The second is private to the next function. A reader's own
 * address goes nowhere, so that it can be kept in registers. */
rung__number rung__long_number(const uint8_t *at, const uint8_t *end);
uint64_t rung__careful_number(rung__reader *r);

static inline uint64_t rung__get_number(rung__reader *r) {
    if (r->at != r->end && *r->at < 0x80)
        return *r->at++;
    rung__number number = rung__long_number(r->at, r->end);
    if (number.behind) {
        r->at = number.behind;
        return number.value;
    }
    rung__reader copy = *r;
    number.value = rung__careful_number(&copy);
    *r = copy;
    return number.value;
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

static inline int64_t rung__signed_of(uint64_t number) {
    return (int64_t)((number >> 1) ^ -(number & 1));
}

static inline int64_t rung__get_signed(rung__reader *r) {
    return rung__signed_of(rung__get_number(r));
}

static inline double rung__real_at(const uint8_t *p) {
    uint64_t bits = rung__word_load(p);
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static inline double rung__get_real(rung__reader *r) {
    if (rung__reader_left(r) < 8) {
        rung__reader_fail(r, "it ends too early");
        return 0;
    }
    r->at += 8;
    return rung__real_at(r->at - 8);
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
