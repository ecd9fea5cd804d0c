/* SPDX-License-Identifier: Apache-2.0 */
#include "state/image/stream.h"

#include "base/assert.h"

/* ---- writing ---- */

void rung__out_flush(rung__out *o) {
    if (o->st >= 0 && o->used)
        o->st = o->sink(o->ctx, o->bytes, o->used);
    o->used = 0;
}

void rung__out_bytes(rung__out *o, const void *bytes, size_t len) {
    const uint8_t *from = bytes;
    while (len) {
        size_t room = sizeof o->bytes - o->used, n = len < room ? len : room;
        memcpy(o->bytes + o->used, from, n);
        o->used += n;
        from += n;
        len -= n;
        if (len)
            rung__out_flush(o);
    }
}

void rung__out_long_number(rung__out *o, uint64_t number) {
    uint8_t bytes[RUNG_NUMBER_BYTES_MAX];
    rung__out_bytes(o, bytes, (size_t)(rung_encode_number(bytes, number) - bytes));
}

/* Bits needed for a difference; 64 above 56, since a load of 8 bytes has to skip up to 7 bits. */
static unsigned width_of(uint64_t distance) {
    unsigned width = distance ? 64 - (unsigned)__builtin_clzll(distance) : 0;
    return width > 56 ? 64 : width;
}

void rung__out_column(rung__out *o, const uint64_t *values, uint32_t n) {
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    unsigned width = width_of(most - least);
    uint8_t packed[RUNG__COLUMN_BYTES];
    size_t size = rung__column_size(n, width);
    memset(packed, 0, size + 8);
    for (size_t i = 0, bit = 0; i < n; i++, bit += width) {
        uint8_t *at = packed + bit / 8;
        rung_put64(at, rung_get64(at) | (values[i] - least) << (bit % 8));
    }
    rung__out_byte(o, (uint8_t)width);
    rung__out_number(o, least);
    rung__out_bytes(o, packed, size);
}

/* ---- reading ---- */

void rung__in_fail(rung__in *in, rung_status st, const char *fault) {
    if (in->st < 0)
        return;
    in->before = rung__in_offset(in);
    in->st = st;
    in->fault = fault;
    in->piece = in->at = in->end = in->joined;
}

uint64_t rung__in_offset(const rung__in *in) {
    return in->before + (uint64_t)(in->at - in->piece);
}

/* Get the next piece of the source when this one is used up. false at the end and after a failure. */
static bool next_piece(rung__in *in) {
    while (in->at == in->end && in->st >= 0) {
        const void *bytes = NULL;
        size_t len = 0;
        rung_status st = in->source(in->ctx, &bytes, &len);
        if (st == RUNG_NOT_FOUND)
            return false;
        if (st < 0) {
            rung__in_fail(in, st, NULL);
            return false;
        }
        in->before = rung__in_offset(in);
        in->piece = in->at = bytes;
        in->end = in->at + len;
    }
    return in->st >= 0;
}

void rung__in_bytes(rung__in *in, void *out, size_t len) {
    uint8_t *to = out;
    while (len) {
        if (in->at == in->end && !next_piece(in)) {
            rung__in_fail(in, RUNG_ECORRUPT, "it ends too early");
            memset(to, 0, len);
            return;
        }
        size_t have = (size_t)(in->end - in->at), n = len < have ? len : have;
        memcpy(to, in->at, n);
        in->at += n;
        to += n;
        len -= n;
    }
}

const uint8_t *rung__in_joined(rung__in *in, size_t len) {
    RUNG_ASSERT(len <= sizeof in->joined);
    rung__in_bytes(in, in->joined, len);
    return in->joined;
}

/* A number may span two pieces: collect its bytes first. */
uint64_t rung__in_long_number(rung__in *in) {
    uint8_t bytes[RUNG_NUMBER_BYTES_MAX];
    size_t n = 0;
    do
        bytes[n] = rung__in_byte(in);
    while (bytes[n++] & 0x80 && n < sizeof bytes);
    rung_byte_reader r = rung_byte_reader_of(rung_slice_of(bytes, n));
    uint64_t number = rung_get_number(&r);
    if (r.fault)
        rung__in_fail(in, RUNG_ECORRUPT, r.fault);
    return number;
}

void rung__in_column(rung__in *in, uint64_t *values, uint32_t n) {
    unsigned width = rung__in_byte(in);
    uint64_t least = rung__in_number(in);
    if (width > 56 && width != 64) {
        rung__in_fail(in, RUNG_ECORRUPT, "a column has a width that does not exist");
        width = 0;
    }
    uint8_t packed[RUNG__COLUMN_BYTES];
    size_t size = rung__column_size(n, width);
    rung__in_bytes(in, packed, size);
    memset(packed + size, 0, 8);
    uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    for (size_t i = 0, bit = 0; i < n; i++, bit += width)
        values[i] = least + (rung_get64(packed + bit / 8) >> (bit % 8) & mask);
}

void rung__in_finish(rung__in *in) {
    if (in->st >= 0 && next_piece(in))
        rung__in_fail(in, RUNG_ECORRUPT, "something follows its end");
}
