/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.h - little-endian numbers in file formats, and "is it all zero". Pure. */
#ifndef RUNG_JOURNAL_BYTES_H
#define RUNG_JOURNAL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* memcmp of the bytes with themselves one further: the fastest plain C there is for it. */
static inline bool rung_is_zero(const void *bytes, size_t len) {
    const uint8_t *p = bytes;
    return len == 0 || (p[0] == 0 && memcmp(p, p + 1, len - 1) == 0);
}

#endif
