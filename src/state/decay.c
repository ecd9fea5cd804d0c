/* SPDX-License-Identifier: Apache-2.0 */
#include "state/decay.h"

#include "base/assert.h"

#include <float.h>
#include <math.h>

enum { FRACTION_BITS = 38, EXPONENT_BITS = 26 };
#define ONE          (UINT64_C(1) << FRACTION_BITS)
#define BIAS         (INT64_C(1) << (EXPONENT_BITS - 1))
#define EXPONENT_MAX ((INT64_C(1) << EXPONENT_BITS) - 1)

typedef unsigned __int128 u128;

/* 2^(1/2), 2^(1/4), 2^(1/8), ... with 62 binary places. */
static const uint64_t roots[48] = {
    0x5a827999fcef3242, 0x4c1bf828c6dc54b8, 0x45cae0f1f545eb73, 0x42d561b3e6243d8a,
    0x4166c34c5615d0ec, 0x40b268f9de0183ba, 0x4058f6a7ecccd5b6, 0x402c6be96af2fb58,
    0x4016321b687027a8, 0x400b18178ba33b14, 0x40058bce410147e8, 0x4002c5d7bff71daf,
    0x400162e807ee7e5b, 0x4000b1730df6a524, 0x400058b9497b8152, 0x40002c5c955dd701,
    0x4000162e46d6f26c, 0x40000b1722757b1b, 0x4000058b90fd3e0c, 0x400002c5c86f3f26,
    0x40000162e433c79b, 0x400000b17218edd0, 0x40000058b90c3968, 0x4000002c5c860d54,
    0x400000162e4302d2, 0x4000000b17218073, 0x400000058b90bffc, 0x40000002c5c85fef,
    0x4000000162e42ff3, 0x40000000b17217f9, 0x4000000058b90bfc, 0x400000002c5c85fe,
    0x40000000162e42ff, 0x400000000b17217f, 0x40000000058b90c0, 0x4000000002c5c860,
    0x400000000162e430, 0x4000000000b17218, 0x400000000058b90c, 0x40000000002c5c86,
    0x4000000000162e43, 0x40000000000b1721, 0x4000000000058b91, 0x400000000002c5c8,
    0x40000000000162e4, 0x400000000000b172, 0x40000000000058b9, 0x4000000000002c5d,
};

/* (at - landmark) / half_life as whole half-lives (towards minus infinity) and 2^the rest, 62 binary places. */
static int64_t half_lives(int64_t at_ms, int64_t landmark_ms, int64_t half_life_ms,
                          uint64_t *power_out) {
    int64_t span = at_ms - landmark_ms; /* both within the supported years: no overflow */
    int64_t whole = span / half_life_ms, rest = span % half_life_ms;
    if (rest < 0) {
        rest += half_life_ms;
        whole--;
    }
    uint64_t fraction = (uint64_t)(((u128)(uint64_t)rest << 48) / (uint64_t)half_life_ms);
    uint64_t power = UINT64_C(1) << 62;
    for (int i = 0; i < 48; i++)
        if (fraction >> (47 - i) & 1)
            power = (uint64_t)((u128)power * roots[i] >> 62);
    *power_out = power;
    return whole;
}

/* A number mantissa x 2^exponent as a weight. */
static uint64_t pack(u128 mantissa, int64_t exponent, rung_status *st) {
    uint64_t high = (uint64_t)(mantissa >> 64), low = (uint64_t)mantissa;
    int top = high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll(low);
    int shift = top - FRACTION_BITS;
    uint64_t m =
        shift <= 0 ? low << -shift : (uint64_t)((mantissa + ((u128)1 << (shift - 1))) >> shift);
    exponent += top;
    if (m >> (FRACTION_BITS + 1)) { /* rounding carried into a new digit */
        m >>= 1;
        exponent++;
    }
    int64_t biased = exponent + BIAS;
    if (biased < 1 || biased > EXPONENT_MAX) {
        *st = RUNG_ERANGE;
        return biased < 1 ? 0 : UINT64_MAX;
    }
    return (uint64_t)biased << FRACTION_BITS | (m & (ONE - 1));
}

rung_status rung__decay_weight(double value, int64_t at_ms, int64_t landmark_ms,
                               int64_t half_life_ms, uint64_t *weight_out) {
    if (!(value > 0) || value > DBL_MAX)
        return RUNG_ERANGE;
    int exponent;
    uint64_t mantissa = (uint64_t)ldexp(frexp(value, &exponent), 53), power;
    int64_t whole = half_lives(at_ms, landmark_ms, half_life_ms, &power);
    rung_status st = RUNG_OK;
    uint64_t weight = pack((u128)mantissa * power, whole + exponent - 53 - 62, &st);
    if (st == RUNG_OK)
        *weight_out = weight;
    return st;
}

static int64_t exponent_of(uint64_t w) {
    return (int64_t)(w >> FRACTION_BITS) - BIAS;
}

static uint64_t mantissa_of(uint64_t w) {
    return ONE | (w & (ONE - 1));
}

uint64_t rung__decay_add(uint64_t a, uint64_t b) {
    enum { GUARD = 24 };
    if (a < b)
        return rung__decay_add(b, a);
    if (b == 0)
        return a;
    int64_t apart = exponent_of(a) - exponent_of(b);
    uint64_t small = apart < 63 ? mantissa_of(b) << GUARD >> apart : 0;
    rung_status st = RUNG_OK;
    return pack((mantissa_of(a) << GUARD) + small, exponent_of(a) - FRACTION_BITS - GUARD, &st);
}

uint64_t rung__decay_divide(uint64_t a, uint32_t n) {
    RUNG_ASSERT(n > 0);
    rung_status st = RUNG_OK;
    return a ? pack(((u128)mantissa_of(a) << 64) / n, exponent_of(a) - FRACTION_BITS - 64, &st) : 0;
}

double rung__decay_value(uint64_t weight, int64_t now_ms, int64_t landmark_ms,
                         int64_t half_life_ms) {
    if (weight == 0)
        return 0;
    uint64_t power;
    int64_t whole = half_lives(now_ms, landmark_ms, half_life_ms, &power);
    int64_t exponent = exponent_of(weight) - whole;
    double value = (double)mantissa_of(weight) / (double)power; /* times 2^(62 - 38) */
    exponent += 62 - FRACTION_BITS;
    return ldexp(value, exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : (int)exponent);
}
