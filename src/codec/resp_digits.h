/* SPDX-License-Identifier: Apache-2.0 */
/* resp_digits.h - whole numbers of up to eight digits, as most scores are; private to the room. */
#ifndef RUNG_CODEC_RESP_DIGITS_H
#define RUNG_CODEC_RESP_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

#define RUNG__RESP_EIGHT (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) /* where it works */

/* May rung__resp_eight() format this value? Not 0, which has a sign. */
static inline bool rung__resp_is_short(double value) {
    return RUNG__RESP_EIGHT && value > 0 && value < 1e8 && (double)(uint32_t)value == value;
}

/* The digits of a value below 10^8 as the bytes of a word, first digit lowest, and their number; the other bytes are
 * 0. Splits the value into fours, then pairs, then digits, in parallel lanes of one word. The divisions are
 * multiplications that are exact for numbers this small. Leading zeros are shifted out. */
static inline uint64_t rung__resp_eight(uint32_t value, unsigned *count_out) {
    uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t hundreds = fours * 10486 >> 20 & UINT64_C(0x0000007f0000007f);
    uint64_t pairs = hundreds | (fours - hundreds * 100) << 16;
    uint64_t tens = pairs * 103 >> 10 & UINT64_C(0x000f000f000f000f);
    uint64_t digits = tens | (pairs - tens * 10) << 8;
    unsigned zeros = (unsigned)__builtin_ctzll(digits | (uint64_t)1 << 56) / 8;
    *count_out = 8 - zeros;
    return (digits | UINT64_C(0x3030303030303030)) >> zeros * 8;
}

#endif
