/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - the words a saved state is spelled with, written to a sink and read from a source piece by piece;
 * private to save.c and load.c.
 *
 *   byte      one byte
 *   number    unsigned, LEB128: 7 bits a byte, the lowest first, in the fewest bytes there are (at most 10)
 *   signed    zigzag (0, -1, 1, -2, ... become 0, 1, 2, 3, ...), then a number
 *   word      8 bytes, the lowest first
 *   text      a number, its length, and that many bytes
 *   column    n numbers whose n the reader knows, up to RUNG__COLUMN_MAX: a byte, the width w in bits (0 to 56, or
 *             64); a number, the smallest of them; then how far each is above it in w bits, packed from the
 *             lowest bit of the first byte on, the last byte filled up with zeros
 *
 * A column takes one load, one shift and one mask to read, whatever its width: no branch depends on the data.
 * Both ends are sticky: after the first failure the writer writes nothing and the reader gives zeros. */
#ifndef RUNG_STATE_IMAGE_STREAM_H
#define RUNG_STATE_IMAGE_STREAM_H

#include "base/bytes.h"
#include "state/image/save.h"

#include <string.h>

enum {
    RUNG__COLUMN_MAX =
        256, /* long enough to forget the 10 bytes around it, short enough for narrow widths */
    RUNG__COLUMN_BYTES =
        RUNG__COLUMN_MAX * 8 + 8, /* the last load may reach past the last number */
#ifdef RUNG_TEST_BUILD
    RUNG__OUT_SIZE = 61,
#else
    RUNG__OUT_SIZE = 1 << 16,
#endif
    RUNG__TAKE_MAX = 256, /* what can be read in one piece */
};

#define RUNG__STREAM_MAGIC "RUNGSTAT"

static inline size_t rung__column_size(uint32_t n, unsigned width) {
    return ((size_t)n * width + 7) / 8;
}

/* As rung_state_load(), for tests and fuzzing: with `any_digest` the digest written down is not compared, so
 * that bytes by chance get as far as they can. */
RUNG_NODISCARD rung_status rung__state_load(const rung_state_config *config,
                                            rung_load_source source, void *ctx,
                                            const rung_save_progress *progress,
                                            const rung_load_helper *helper, bool any_digest,
                                            rung_state **out, rung_err *err);

/* ---- how far ---- */

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
    rung_status st; /* of the sink; negative: nothing more is written */
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
    rung_status st;    /* RUNG_OK, or why nothing more is read */
    const char *fault; /* with RUNG_ECORRUPT: what is wrong; static */
    uint64_t before;   /* bytes given out before this piece */
    const uint8_t *piece;
    rung__meter meter;
    uint8_t joined[RUNG__TAKE_MAX]; /* what lies across two pieces of the source */
} rung__in;

/* Note the first failure. */
void rung__in_fail(rung__in *in, rung_status st, const char *fault);
/* Bytes read so far. */
uint64_t rung__in_offset(const rung__in *in);
/* The next bytes, however many; zeros after a failure. */
void rung__in_bytes(rung__in *in, void *out, size_t len);
/* Nothing may follow. */
void rung__in_finish(rung__in *in);
uint64_t rung__in_long_number(rung__in *in);
const uint8_t *rung__in_joined(rung__in *in, size_t len);
void rung__in_column(rung__in *in, uint64_t *values, uint32_t n);

/* The next `len` bytes (up to RUNG__TAKE_MAX) in one piece, valid until the next call. */
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

/* A number of at most `max`, which fits 32 bits; 0 and a failure if it is larger. */
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
