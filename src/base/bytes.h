/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.h - numbers, texts and little-endian words as bytes: the codec under all of our formats.
 *
 *   byte      one byte
 *   number    unsigned, LEB128: 7 bits per byte, lowest first, in the shortest form (at most 10 bytes)
 *   signed    zigzag (0, -1, 1, -2, ... become 0, 1, 2, 3, ...), then a number
 *   real      an IEEE 754 double, 8 bytes little-endian
 *   text      its length as a number, then the bytes
 *
 * Every value has exactly one encoding, and the reader accepts no other.
 *
 * The writer never stops: it counts the bytes that do not fit, so one pass also computes the size needed. Errors of
 * the reader are sticky: after the first fault it returns zeros and empty texts; the caller tests `fault` at the end.
 * Pure; one thread at a time per reader or writer. */
#ifndef RUNG_BASE_BYTES_H
#define RUNG_BASE_BYTES_H

#include "base/slice.h"
#include "base/status.h"

#define RUNG_NUMBER_BYTES_MAX 10

/* ---- fixed width, little-endian ---- */

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define RUNG_LE(bits, v) __builtin_bswap##bits(v)
#else
#define RUNG_LE(bits, v) (v)
#endif

static inline void rung_put16(uint8_t *p, uint16_t v) {
    v = RUNG_LE(16, v);
    memcpy(p, &v, sizeof v);
}

static inline void rung_put32(uint8_t *p, uint32_t v) {
    v = RUNG_LE(32, v);
    memcpy(p, &v, sizeof v);
}

static inline void rung_put64(uint8_t *p, uint64_t v) {
    v = RUNG_LE(64, v);
    memcpy(p, &v, sizeof v);
}

static inline uint16_t rung_get16(const uint8_t *p) {
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return RUNG_LE(16, v);
}

static inline uint32_t rung_get32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return RUNG_LE(32, v);
}

static inline uint64_t rung_get64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return RUNG_LE(64, v);
}

static inline uint64_t rung_zigzag(int64_t number) {
    return ((uint64_t)number << 1) ^ (uint64_t)(number >> 63);
}

static inline int64_t rung_unzigzag(uint64_t number) {
    return (int64_t)((number >> 1) ^ -(number & 1));
}

/* Compares the bytes with themselves, shifted by one: the fastest way in plain C. */
static inline bool rung_is_zero(const void *bytes, size_t len) {
    const uint8_t *p = bytes;
    return len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0);
}

/* ---- writing into sufficient space; all return the end of what they wrote ---- */

uint8_t *rung_encode_long_number(uint8_t *at, uint64_t number); /* private to the next function */

static inline uint8_t *rung_encode_number(uint8_t *at, uint64_t number) {
    if (number >= 0x80)
        return rung_encode_long_number(at, number);
    *at = (uint8_t)number;
    return at + 1;
}

static inline uint8_t *rung_encode_signed(uint8_t *at, int64_t number) {
    return rung_encode_number(at, rung_zigzag(number));
}

static inline uint8_t *rung_encode_real(uint8_t *at, double real) {
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    rung_put64(at, bits);
    return at + sizeof bits;
}

static inline uint8_t *rung_encode_text(uint8_t *at, rung_slice text) {
    at = rung_encode_number(at, text.len);
    rung_bytes_copy(at, text.ptr, text.len);
    return at + text.len;
}

/* ---- writing anywhere ---- */

typedef struct rung_byte_writer {
    uint8_t *start, *at, *end; /* at == end from the first overflow on */
    size_t lost;               /* bytes that did not fit */
} rung_byte_writer;

static inline rung_byte_writer rung_byte_writer_of(void *out, size_t size) {
    uint8_t *p = out;
    return (rung_byte_writer){p, p, size ? p + size : p, 0};
}

static inline size_t rung_byte_writer_room(const rung_byte_writer *w) {
    return (size_t)(w->end - w->at);
}

/* The length of everything put, whether it fitted or not. */
static inline size_t rung_byte_writer_length(const rung_byte_writer *w) {
    return (size_t)(w->at - w->start) + w->lost;
}

static inline void rung_put_bytes(rung_byte_writer *w, const void *bytes, size_t len) {
    if (len > rung_byte_writer_room(w)) {
        w->lost += len;
        w->end = w->at;
    } else if (len) {
        memcpy(w->at, bytes, len);
        w->at += len;
    }
}

static inline void rung_put_byte(rung_byte_writer *w, uint8_t byte) {
    if (w->at == w->end)
        w->lost++;
    else
        *w->at++ = byte;
}

static inline void rung_put_number(rung_byte_writer *w, uint64_t number) {
    if (rung_byte_writer_room(w) >= RUNG_NUMBER_BYTES_MAX) { /* the common case: encode in place */
        w->at = rung_encode_number(w->at, number);
        return;
    }
    uint8_t bytes[RUNG_NUMBER_BYTES_MAX];
    rung_put_bytes(w, bytes, (size_t)(rung_encode_number(bytes, number) - bytes));
}

static inline void rung_put_signed(rung_byte_writer *w, int64_t number) {
    rung_put_number(w, rung_zigzag(number));
}

static inline void rung_put_real(rung_byte_writer *w, double real) {
    uint8_t bytes[sizeof real];
    rung_put_bytes(w, bytes, (size_t)(rung_encode_real(bytes, real) - bytes));
}

static inline void rung_put_text(rung_byte_writer *w, rung_slice text) {
    rung_put_number(w, text.len);
    rung_put_bytes(w, text.ptr, text.len);
}

/* ---- reading ---- */

typedef struct rung_byte_reader {
    const uint8_t *at, *end;
    const char *fault; /* NULL, or what is wrong; static */
    size_t left;       /* bytes not yet read at the fault */
} rung_byte_reader;

static inline rung_byte_reader rung_byte_reader_of(rung_slice bytes) {
    const uint8_t *p = (const uint8_t *)bytes.ptr;
    return (rung_byte_reader){p, bytes.len ? p + bytes.len : p, NULL, 0};
}

static inline size_t rung_byte_reader_left(const rung_byte_reader *r) {
    return (size_t)(r->end - r->at);
}

/* Record the first fault. From here on there is nothing more to read. */
static inline void rung_byte_reader_fail(rung_byte_reader *r, const char *fault) {
    if (!r->fault) {
        r->fault = fault;
        r->left = rung_byte_reader_left(r);
    }
    r->at = r->end;
}

rung_status rung_byte_reader_failure(rung_byte_reader r, rung_slice bytes, const char *what,
                                     rung_err *err);

/* Fail if bytes are left. RUNG_OK, or RUNG_ECORRUPT with the offset of the fault in `bytes`. */
static inline rung_status rung_byte_reader_finish(const rung_byte_reader *r, rung_slice bytes,
                                                  const char *what, rung_err *err) {
    if (!r->fault && r->at == r->end)
        return RUNG_OK;
    return rung_byte_reader_failure(*r, bytes, what, err);
}

static inline uint8_t rung_get_byte(rung_byte_reader *r) {
    if (r->at == r->end) {
        rung_byte_reader_fail(r, "it ends too early");
        return 0;
    }
    return *r->at++;
}

typedef struct rung_number {
    uint64_t value;
    const uint8_t *behind; /* what follows it; NULL: use rung_careful_number() */
} rung_number;

/* The first reads numbers of 2 to 8 bytes if 8 bytes are readable. The second is private to the next function, which
 * passes it a copy: the reader's own address never escapes, so the compiler can keep it in registers. */
rung_number rung_long_number(const uint8_t *at, const uint8_t *end);
uint64_t rung_careful_number(rung_byte_reader *r);

static inline uint64_t rung_get_number(rung_byte_reader *r) {
    if (r->at != r->end && *r->at < 0x80)
        return *r->at++;
    rung_number number = rung_long_number(r->at, r->end);
    if (number.behind) {
        r->at = number.behind;
        return number.value;
    }
    rung_byte_reader copy = *r;
    number.value = rung_careful_number(&copy);
    *r = copy;
    return number.value;
}

/* A number up to `max`, which fits in 32 bits. */
static inline uint32_t rung_get_count(rung_byte_reader *r, uint32_t max) {
    uint64_t number = rung_get_number(r);
    if (number > max) {
        rung_byte_reader_fail(r, "a count is too large");
        return 0;
    }
    return (uint32_t)number;
}

static inline int64_t rung_get_signed(rung_byte_reader *r) {
    return rung_unzigzag(rung_get_number(r));
}

static inline double rung_real_at(const uint8_t *p) {
    uint64_t bits = rung_get64(p);
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static inline double rung_get_real(rung_byte_reader *r) {
    if (rung_byte_reader_left(r) < 8) {
        rung_byte_reader_fail(r, "it ends too early");
        return 0;
    }
    r->at += 8;
    return rung_real_at(r->at - 8);
}

static inline rung_slice rung_get_text(rung_byte_reader *r) {
    uint64_t len = rung_get_number(r);
    if (len > rung_byte_reader_left(r)) {
        rung_byte_reader_fail(r, "a text ends too early");
        return (rung_slice){NULL, 0};
    }
    rung_slice text = rung_slice_of(r->at, (size_t)len);
    r->at += len;
    return text;
}

/* Everything that is left. */
static inline rung_slice rung_get_rest(rung_byte_reader *r) {
    rung_slice rest = rung_slice_of(r->at, rung_byte_reader_left(r));
    r->at = r->end;
    return rest;
}

#endif
