/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - the primitives of a saved state, written to a sink and read from a source; private to save.c and load.c.
 *
 *   byte      one byte
 *   number    unsigned, LEB128: 7 bits per byte, lowest first, in the shortest form (at most 10 bytes)
 *   signed    zigzag (0, -1, 1, -2, ... become 0, 1, 2, 3, ...), then a number
 *   word      8 bytes, little-endian
 *   text      its length as a number, then the bytes
 *   column    n numbers (the reader knows n), up to RUNG__COLUMN_MAX: a byte with the width w in bits (0 to 56, or 64);
 *             the smallest of them as a number; then each one's difference from it in w bits, packed from the lowest
 *             bit of the first byte on and padded with zero bits
 *
 * Reading a column takes one load, one shift and one mask per number, whatever its width: no branch depends on the
 * data. Errors are sticky: after the first failure the writer writes nothing and the reader returns zeros. */
#ifndef RUNG_STATE_IMAGE_STREAM_H
#define RUNG_STATE_IMAGE_STREAM_H

#include "base/bytes.h"
#include "state/image/save.h"

#include <string.h>

enum {
    /* Long enough to amortise the 10 bytes of overhead, short enough to keep widths narrow. */
    RUNG__COLUMN_MAX = 256,
    /* The last load may read past the last number. */
    RUNG__COLUMN_BYTES = RUNG__COLUMN_MAX * 8 + 8,
#ifdef RUNG_TEST_BUILD
    RUNG__OUT_SIZE = 61,
#else
    RUNG__OUT_SIZE = 1 << 16,
#endif
    RUNG__TAKE_MAX = 256,      /* the most that one take can read */
    RUNG__PIECE_MAX = 1 << 16, /* of a sketch: bytes behind one length */
};

#define RUNG__STREAM_MAGIC "RUNGSTAT"

static inline size_t rung__column_size(uint32_t n, unsigned width) {
    return ((size_t)n * width + 7) / 8;
}

/* As rung_state_load(), for tests and fuzzing. With `any_digest` it does not compare the digest, so that random bytes
 * get as far as they can. */
RUNG_NODISCARD rung_status rung__state_load(const rung_state_config *config,
                                            rung_load_source source, void *ctx,
                                            const rung_save_progress *progress,
                                            const rung_load_helper *helper, bool any_digest,
                                            rung_state **out, rung_err *err);

/* ---- progress ---- */

enum { RUNG__METER_STEP = 1 << 16 };

typedef struct rung__meter {
    const rung_save_progress *progress;
    uint64_t done, total, told;
} rung__meter;

static inline void rung__meter_add(rung__meter *m, uint64_t n) {
    m->done += n;
    if (m->progress && m->done - m->told >= RUNG__METER_STEP && m->done < m->total) {
        m->told = m->done;
        m->progress->tell(m->progress->ctx, m->done, m->total);
    }
}

/* ---- writing ---- */

typedef struct rung__out {
    rung_save_sink sink;
    void *ctx;
    rung_status st; /* the sink's status; negative: write nothing more */
    rung__meter meter;
    size_t used;
    uint8_t bytes[RUNG__OUT_SIZE];
} rung__out;

void rung__out_flush(rung__out *o);
void rung__out_bytes(rung__out *o, const void *bytes, size_t len);
void rung__out_long_number(rung__out *o, uint64_t number);
void rung__out_column(rung__out *o, const uint64_t *values, uint32_t n);

static inline void rung__out_byte(rung__out *o, uint8_t byte) {
    if (o->used == sizeof o->bytes)
        rung__out_flush(o);
    o->bytes[o->used++] = byte;
}

static inline void rung__out_number(rung__out *o, uint64_t number) {
    if (number < 0x80)
        rung__out_byte(o, (uint8_t)number);
    else
        rung__out_long_number(o, number);
}

static inline void rung__out_signed(rung__out *o, int64_t number) {
    rung__out_number(o, rung_zigzag(number));
}

static inline void rung__out_word(rung__out *o, uint64_t word) {
    uint8_t bytes[8];
    rung_put64(bytes, word);
    rung__out_bytes(o, bytes, sizeof bytes);
}

static inline void rung__out_text(rung__out *o, rung_slice text) {
    rung__out_number(o, text.len);
    rung__out_bytes(o, text.ptr, text.len);
}

/* ---- reading ---- */

typedef struct rung__in {
    rung_load_source source;
    void *ctx;
    const uint8_t *at, *end;
    rung_status st;    /* RUNG_OK, or why reading stopped */
    const char *fault; /* with RUNG_ECORRUPT: the reason; static */
    uint64_t before;   /* bytes before this piece */
    const uint8_t *piece;
    rung__meter meter;
    uint8_t joined[RUNG__TAKE_MAX]; /* bytes that span two pieces of the source */
} rung__in;

/* Record the first failure. */
void rung__in_fail(rung__in *in, rung_status st, const char *fault);
/* Bytes read so far. */
uint64_t rung__in_offset(const rung__in *in);
/* Read any number of bytes; zeros after a failure. */
void rung__in_bytes(rung__in *in, void *out, size_t len);
/* Fail unless the source has ended. */
void rung__in_finish(rung__in *in);
uint64_t rung__in_long_number(rung__in *in);
const uint8_t *rung__in_joined(rung__in *in, size_t len);
void rung__in_column(rung__in *in, uint64_t *values, uint32_t n);

/* The next `len` bytes (up to RUNG__TAKE_MAX), contiguous, valid until the next call. */
static inline const uint8_t *rung__in_take(rung__in *in, size_t len) {
    if ((size_t)(in->end - in->at) < len)
        return rung__in_joined(in, len);
    in->at += len;
    return in->at - len;
}

static inline uint8_t rung__in_byte(rung__in *in) {
    return *rung__in_take(in, 1);
}

static inline uint64_t rung__in_number(rung__in *in) {
    if (in->at != in->end && *in->at < 0x80)
        return *in->at++;
    return rung__in_long_number(in);
}

/* A number up to `max`, which fits in 32 bits; fails and returns 0 if it is larger. */
static inline uint32_t rung__in_count(rung__in *in, uint64_t max) {
    uint64_t number = rung__in_number(in);
    if (number > max) {
        rung__in_fail(in, RUNG_ECORRUPT, "a number is too large");
        return 0;
    }
    return (uint32_t)number;
}

static inline int64_t rung__in_signed(rung__in *in) {
    return rung_unzigzag(rung__in_number(in));
}

static inline uint64_t rung__in_word(rung__in *in) {
    return rung_get64(rung__in_take(in, 8));
}

#endif
