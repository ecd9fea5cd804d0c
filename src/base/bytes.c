/* SPDX-License-Identifier: Apache-2.0 */
/* The slow paths and failures of bytes.h. Times are numbers of 6 bytes: up to 8 bytes are encoded and decoded as one
 * word with 7 bits of the number per byte, and the high bit set in all bytes except the last. */
#include "base/bytes.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)

/* Spread 56 bits, 7 per byte: first into halves, then quarters, and so on. */
static uint64_t spread(uint64_t word) {
    word = (word & 0x000000000fffffff) | (word & 0x00fffffff0000000) << 4;
    word = (word & 0x00003fff00003fff) | (word & 0x0fffc0000fffc000) << 2;
    return (word & 0x007f007f007f007f) | (word & 0x3f803f803f803f80) << 1;
}

/* The inverse of spread(); drops the high bits. */
static uint64_t fold(uint64_t word) {
    word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
    word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
    return (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
}

uint8_t *rung_encode_long_number(uint8_t *at, uint64_t number) {
    if (number >> 56 == 0) {
        uint64_t word = spread(number);
        unsigned n = 8 - (unsigned)__builtin_clzll(word) / 8;
        rung_put64(at, word | HIGH_BITS >> (72 - 8 * n)); /* on all bytes but the last */
        return at + n;
    }
    for (; number >= 0x80; number >>= 7)
        *at++ = (uint8_t)(number | 0x80);
    *at++ = (uint8_t)number;
    return at;
}

/* Checks the end and that no shorter form exists. */
uint64_t rung_careful_number(rung_byte_reader *r) {
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) { /* at most ten bytes */
        uint8_t byte = rung_get_byte(r);
        if (shift == 63 && byte > 1)
            rung_byte_reader_fail(r, "a number is larger than 64 bits");
        if (shift && byte == 0)
            rung_byte_reader_fail(r, "a number is longer than it needs to be");
        if (r->fault)
            return 0;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
}

rung_number rung_long_number(const uint8_t *at, const uint8_t *end) {
    const rung_number unclear = {0, NULL};
    if (end - at < (ptrdiff_t)sizeof(uint64_t))
        return unclear;
    uint64_t word = rung_get64(at), ends = ~word & HIGH_BITS;
    if (!ends)
        return unclear;
    unsigned bits = (unsigned)__builtin_ctzll(ends) + 1;
    word &= ends ^ (ends - 1); /* only the number's own bytes */
    if (word >> (bits - 8) == 0)
        return unclear; /* not the shortest form */
    return (rung_number){fold(word), at + bits / 8};
}

rung_status rung_byte_reader_failure(rung_byte_reader r, rung_slice bytes, const char *what,
                                     rung_err *err) {
    if (!r.fault)
        rung_byte_reader_fail(&r, "more bytes follow");
    return RUNG_FAIL(err, RUNG_ECORRUPT, "%s is damaged near byte %zu of %zu: %s", what,
                     bytes.len - r.left, bytes.len, r.fault);
}
