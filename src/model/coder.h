/* SPDX-License-Identifier: Apache-2.0 */
/* coder.h - one description of an encoding for both directions; private to model.
 *
 * A coder writes what it is given and leaves it unchanged, or it reads into it. */
#ifndef RUNG_MODEL_CODER_H
#define RUNG_MODEL_CODER_H

#include "base/bytes.h"

typedef struct rung__coder { /* one of the two is NULL */
    rung_byte_writer *w;
    rung_byte_reader *r;
} rung__coder;

/* A field of any integer or enumeration type, as one byte. */
#define RUNG__CODE_BYTE(c, field)                                                                  \
    ((c)->w ? rung_put_byte((c)->w, (uint8_t)(field)) : (void)((field) = rung_get_byte((c)->r)))

static inline void rung__code_bool(const rung__coder *c, bool *flag) {
    uint8_t byte = *flag;
    RUNG__CODE_BYTE(c, byte);
    if (byte > 1)
        rung_byte_reader_fail(c->r, "not a boolean");
    if (c->r)
        *flag = byte == 1;
}

static inline void rung__code_number(const rung__coder *c, uint64_t *number) {
    if (c->w)
        rung_put_number(c->w, *number);
    else
        *number = rung_get_number(c->r);
}

/* A reader accepts counts up to `max`. */
static inline void rung__code_count(const rung__coder *c, uint32_t *count, uint32_t max) {
    if (c->w)
        rung_put_number(c->w, *count);
    else
        *count = rung_get_count(c->r, max);
}

/* A number that is not negative. A reader makes a larger one negative, for the caller to refuse. */
static inline void rung__code_positive(const rung__coder *c, int64_t *number) {
    if (c->w)
        rung_put_number(c->w, (uint64_t)*number);
    else
        *number = (int64_t)rung_get_number(c->r);
}

static inline void rung__code_signed(const rung__coder *c, int64_t *number) {
    if (c->w)
        rung_put_signed(c->w, *number);
    else
        *number = rung_get_signed(c->r);
}

static inline void rung__code_real(const rung__coder *c, double *real) {
    if (c->w)
        rung_put_real(c->w, *real);
    else
        *real = rung_get_real(c->r);
}

static inline void rung__code_text(const rung__coder *c, rung_slice *text) {
    if (c->w)
        rung_put_text(c->w, *text);
    else
        *text = rung_get_text(c->r);
}

/* All bytes to the end. */
static inline void rung__code_rest(const rung__coder *c, rung_slice *rest) {
    if (c->w)
        rung_put_bytes(c->w, rest->ptr, rest->len);
    else
        *rest = rung_get_rest(c->r);
}

#endif
