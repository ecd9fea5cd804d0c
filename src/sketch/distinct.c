/* SPDX-License-Identifier: Apache-2.0 */
/* HyperLogLog with packed registers of 6 bits.
 *
 * The first `precision` bits of a hash choose the register; it keeps the
 * largest number of leading zeros of the other bits, plus one, that it has
 * seen. `histogram` counts registers by value, so an estimate reads 62 numbers
 * and not the registers. Differs from the textbook in the estimator only (see
 * the header).
 *
 * Invariants:
 *  1. A register is at most 65 - precision.
 *  2. histogram[v] is the number of registers with value v.
 *
 * Saved form:
 *   byte 1 (version), byte precision, 8 bytes seed, registers packed from the
 * lowest bit on (3 bytes hold 4), 4 bytes CRC-32C of all before. Little-endian.
 * Valid: nothing more, and invariant 1. */
#include "sketch/distinct.h"

#include "base/hash.h"
#include "sketch/seed.h"

#include <math.h>
#include <string.h>

enum { VERSION = 1, VALUES = 64, HEAD_BYTES = 10, CRC_BYTES = 4 };

struct rung_distinct {
    const rung_alloc *alloc;
    uint64_t seed;
    rung_hash_key key;
    uint32_t precision;
    uint32_t histogram[VALUES];
    uint8_t registers[]; /* 3/4 of a byte each, and one byte so that two can
                          always be read */
};

static size_t register_bytes(uint32_t precision) {
    return ((size_t)3 << precision) / 4;
}

static size_t object_bytes(uint32_t precision) {
    return sizeof(rung_distinct) + register_bytes(precision) + 1;
}

static uint32_t value_max(const rung_distinct *d) {
    return 65 - d->precision;
}

static uint32_t get(const rung_distinct *d, uint32_t i) {
    size_t bit = (size_t)i * 6;
    return (uint32_t)rung_get16(d->registers + bit / 8) >> bit % 8 & 63;
}

static void set(rung_distinct *d, uint32_t i, uint32_t value) {
    size_t bit = (size_t)i * 6;
    uint8_t *p = d->registers + bit / 8;
    uint32_t both = rung_get16(p);
    both = (both & ~(63u << bit % 8)) | value << bit % 8;
    rung_put16(p, (uint16_t)both);
}

static bool raise_register(rung_distinct *d, uint32_t i, uint32_t value) {
    uint32_t old = get(d, i);
    if (value <= old)
        return false;
    set(d, i, value);
    d->histogram[old]--;
    d->histogram[value]++;
    return true;
}

rung_status rung_distinct_create(const rung_distinct_config *config, rung_distinct **out) {
    if (config->precision < RUNG_DISTINCT_PRECISION_MIN ||
        config->precision > RUNG_DISTINCT_PRECISION_MAX)
        return RUNG_EINVAL;
    rung_distinct *d = rung_alloc_zeroed(config->alloc, object_bytes(config->precision));
    if (!d)
        return RUNG_ENOMEM;
    d->alloc = config->alloc;
    d->seed = config->seed;
    d->key = rung__sketch_key(config->seed);
    d->precision = config->precision;
    d->histogram[0] = 1u << config->precision;
    *out = d;
    return RUNG_OK;
}

void rung_distinct_destroy(rung_distinct *d) {
    if (d)
        rung_alloc_free(d->alloc, d, object_bytes(d->precision));
}

void rung_distinct_clear(rung_distinct *d) {
    memset(d->histogram, 0, sizeof d->histogram);
    d->histogram[0] = 1u << d->precision;
    memset(d->registers, 0, register_bytes(d->precision));
}

bool rung_distinct_add(rung_distinct *d, rung_slice name) {
    return rung_distinct_add_hash(d, rung_hash_keyed(&d->key, name.ptr, name.len));
}

bool rung_distinct_add_hash(rung_distinct *d, uint64_t hash) {
    uint32_t i = (uint32_t)(hash >> (64 - d->precision));
    uint64_t rest = hash << d->precision | (uint64_t)1 << (d->precision - 1); /* ends the zeros */
    return raise_register(d, i, (uint32_t)__builtin_clzll(rest) + 1);
}

rung_status rung_distinct_merge(rung_distinct *d, const rung_distinct *from) {
    if (d->precision != from->precision || d->seed != from->seed)
        return RUNG_EINVAL;
    for (uint32_t i = 0; i < 1u << d->precision; i++)
        raise_register(d, i, get(from, i));
    return RUNG_OK;
}

/* x + the sum of x^(2^k) 2^(k-1) over k >= 1: what the registers that are still
 * zero contribute. x < 1. */
static double sigma(double x) {
    double sum = x, last, y = 1;
    do {
        x *= x;
        last = sum;
        sum += x * y;
        y += y;
    } while (sum != last);
    return sum;
}

/* The same for the registers that have reached the end of the hash. */
static double tau(double x) {
    if (x == 0 || x == 1)
        return 0;
    double sum = 1 - x, last, y = 1;
    do {
        x = sqrt(x);
        last = sum;
        y /= 2;
        sum -= (1 - x) * (1 - x) * y;
    } while (sum != last);
    return sum / 3;
}

uint64_t rung_distinct_estimate(const rung_distinct *d) {
    double m = (double)(1u << d->precision);
    uint32_t end = value_max(d);
    if (d->histogram[0] == 1u << d->precision)
        return 0;
    double z = m * tau(1 - (double)d->histogram[end] / m);
    for (uint32_t v = end - 1; v >= 1; v--)
        z = (z + (double)d->histogram[v]) / 2;
    z += m * sigma((double)d->histogram[0] / m);
    double estimate = m * m * 0.72134752044448170368 / z; /* 1 / (2 ln 2) */
    return estimate < 0x1p63 ? (uint64_t)(estimate + 0.5) : (uint64_t)1 << 63;
}

uint32_t rung_distinct_error_ppm(const rung_distinct *d) {
    return (uint32_t)(1040000 / sqrt((double)(1u << d->precision)) + 0.5);
}

size_t rung_distinct_memory(const rung_distinct *d) {
    return object_bytes(d->precision);
}

void rung_distinct_stream(const rung_distinct *d, rung_sketch_put *put, void *ctx) {
    uint8_t head[HEAD_BYTES] = {VERSION, (uint8_t)d->precision}, tail[CRC_BYTES];
    rung_put64(head + 2, d->seed);
    uint32_t crc = rung_crc32c(0, head, sizeof head);
    rung_put32(tail, rung_crc32c(crc, d->registers, register_bytes(d->precision)));
    put(ctx, head, sizeof head);
    put(ctx, d->registers, register_bytes(d->precision));
    put(ctx, tail, sizeof tail);
}

void rung_distinct_save(const rung_distinct *d, rung_byte_writer *w) {
    rung_distinct_stream(d, rung_sketch_put_writer, w);
}

static rung_status take_registers(rung_distinct *d, const uint8_t *bytes, rung_err *err) {
    memcpy(d->registers, bytes, register_bytes(d->precision));
    d->histogram[0] = 0;
    for (uint32_t i = 0; i < 1u << d->precision; i++) {
        if (get(d, i) > value_max(d))
            return RUNG_FAIL(err, RUNG_ECORRUPT,
                             "a distinct sketch has a register that is too large");
        d->histogram[get(d, i)]++;
    }
    return RUNG_OK;
}

rung_status rung_distinct_load(const rung_alloc *alloc, rung_slice bytes, rung_distinct **out,
                               rung_err *err) {
    const uint8_t *p = (const uint8_t *)bytes.ptr;
    if (bytes.len < HEAD_BYTES || p[0] != VERSION || p[1] < RUNG_DISTINCT_PRECISION_MIN ||
        p[1] > RUNG_DISTINCT_PRECISION_MAX ||
        bytes.len != HEAD_BYTES + register_bytes(p[1]) + CRC_BYTES)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "not a distinct sketch");
    if (rung_get32(p + bytes.len - CRC_BYTES) != rung_crc32c(0, p, bytes.len - CRC_BYTES))
        return RUNG_FAIL(err, RUNG_ECORRUPT, "a distinct sketch fails its checksum");
    rung_distinct *d;
    rung_status st = rung_distinct_create(
        &(rung_distinct_config){.alloc = alloc, .precision = p[1], .seed = rung_get64(p + 2)}, &d);
    if (st < 0)
        return RUNG_FAIL(err, st, "out of memory");
    st = take_registers(d, p + HEAD_BYTES, err);
    if (st < 0)
        rung_distinct_destroy(d);
    else
        *out = d;
    return st;
}

const char *rung_distinct_check(const rung_distinct *d) {
    uint32_t counted[VALUES] = {0};
    for (uint32_t i = 0; i < 1u << d->precision; i++) {
        if (get(d, i) > value_max(d))
            return "1: a register is too large";
        counted[get(d, i)]++;
    }
    if (memcmp(counted, d->histogram, sizeof counted) != 0)
        return "2: the histogram does not count the registers";
    return NULL;
}
