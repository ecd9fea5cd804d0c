/* SPDX-License-Identifier: Apache-2.0 */
/* printf's %.17g without printf, whose decimal point follows the locale.
 *
 * A double is fraction x 2^exponent, and so has finitely many decimal digits: all are made, exactly, and rounded to 17,
 * ties to even, as the C library does. Scores are mostly whole, or have few digits before the point and need no more
 * than 128 bits; the others take the long way with up to 770 digits. */
#include "codec/json_writer.h"
#include "codec/resp_digits.h"
#include "codec/resp_writer.h"

enum { PRECISION = 17, LIMB = 1000000000, LIMBS_MAX = 90, DIGITS_MAX = LIMBS_MAX * 9 };

typedef unsigned __int128 wide;

/* Leading digits of a value: 0.d1 d2 d3 ... x 10^point. */
typedef struct leading {
    char digit[PRECISION + 1];
    int point;
} leading;

/* Add one to the last of 17 digits; 999... becomes 1 and one more place. */
static void round_up(leading *d) {
    int i = PRECISION - 1;
    while (i >= 0 && d->digit[i] == '9')
        d->digit[i--] = '0';
    if (i >= 0) {
        d->digit[i]++;
    } else {
        d->digit[0] = '1';
        d->point++;
    }
}

/* From all digits (the first is not 0) to 17 of them. */
static void round_digits(const char *digits, int count, leading *d) {
    for (int i = 0; i < PRECISION; i++)
        d->digit[i] = i < count ? digits[i] : '0';
    if (count <= PRECISION)
        return;
    int compared = digits[PRECISION] - '5';
    for (int i = PRECISION + 1; compared == 0 && i < count; i++)
        compared = digits[i] != '0';
    if (compared > 0 || (compared == 0 && (digits[PRECISION - 1] - '0') % 2))
        round_up(d);
}

/* ---- the short way: fraction x 2^-down with a whole part, down <= 120 ---- */

static void short_way(uint64_t fraction, int down, leading *d) {
    char digits[PRECISION + 24];
    uint64_t whole = down < 64 ? fraction >> down : 0;
    wide rest = down < 64 ? fraction & (((uint64_t)1 << down) - 1) : fraction;
    int count = 0;
    if (whole)
        count = (int)rung_digits_format(whole, digits);
    d->point = count;
    while (count <= PRECISION && rest) {
        rest *= 10;
        char digit = (char)('0' + (int)(rest >> down));
        rest &= ((wide)1 << down) - 1;
        if (count || digit != '0')
            digits[count++] = digit;
        else
            d->point--;
    }
    if (rest) /* what is left decides only whether a tie is one */
        digits[count++] = '1';
    round_digits(digits, count, d);
}

/* ---- the long way ---- */

typedef struct big {
    uint32_t limb[LIMBS_MAX]; /* base 10^9, lowest first */
    int count;
} big;

static void big_multiply(big *b, uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < b->count; i++) {
        carry += (uint64_t)b->limb[i] * factor;
        b->limb[i] = (uint32_t)(carry % LIMB);
        carry /= LIMB;
    }
    if (carry)
        b->limb[b->count++] = (uint32_t)carry;
}

static int big_digits(const big *b, char *out) {
    int count = (int)rung_digits_format(b->limb[b->count - 1], out);
    for (int i = b->count - 2; i >= 0; i--) {
        uint32_t rest = b->limb[i];
        for (int j = 8; j >= 0; j--, rest /= 10)
            out[count + j] = (char)('0' + rest % 10);
        count += 9;
    }
    return count;
}

static void long_way(uint64_t fraction, int exponent, leading *d) {
    big b = {.count = 0};
    for (; fraction; fraction /= LIMB)
        b.limb[b.count++] = (uint32_t)(fraction % LIMB);
    /* x 2^-n is x 5^n / 10^n */
    uint32_t base = exponent < 0 ? 5 : 2, step = exponent < 0 ? 244140625u : 1u << 12;
    int left = exponent < 0 ? -exponent : exponent;
    for (; left >= 12; left -= 12)
        big_multiply(&b, step);
    while (left--)
        big_multiply(&b, base);
    char digits[DIGITS_MAX + 24];
    int count = big_digits(&b, digits);
    d->point = count + (exponent < 0 ? exponent : 0);
    round_digits(digits, count, d);
}

static void leading_digits(double value, leading *d) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int field = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    fraction |= field ? (uint64_t)1 << 52 : 0;
    int exponent = (field ? field : 1) - 1075;
    if (exponent < 0 && exponent >= -120)
        short_way(fraction, -exponent, d);
    else
        long_way(fraction, exponent, d);
}

/* ---- layout ---- */

static char *put_fixed(char *p, const leading *d, int count) {
    if (d->point <= 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = d->point; i < 0; i++)
            *p++ = '0';
    }
    for (int i = 0; i < count || i < d->point; i++) {
        if (i == d->point && i > 0)
            *p++ = '.';
        *p++ = i < count ? d->digit[i] : '0';
    }
    return p;
}

static char *put_exponential(char *p, const leading *d, int count) {
    int exponent = d->point - 1;
    *p++ = d->digit[0];
    if (count > 1) {
        *p++ = '.';
        memcpy(p, d->digit + 1, (size_t)count - 1);
        p += count - 1;
    }
    *p++ = 'e';
    *p++ = exponent < 0 ? '-' : '+';
    exponent = exponent < 0 ? -exponent : exponent;
    if (exponent < 10)
        *p++ = '0';
    return p + rung_digits_format((uint64_t)exponent, p);
}

/* Apart, as it needs a frame that the quick way shall not pay for. */
__attribute__((noinline)) static size_t format_any(double value, char *out) {
    char *p = out;
    if (__builtin_isnan(value)) {
        memcpy(out, "nan", 3);
        return 3;
    }
    if (__builtin_signbit(value)) {
        *p++ = '-';
        value = -value;
    }
    if (__builtin_isinf(value)) {
        memcpy(p, "inf", 3);
        return (size_t)(p + 3 - out);
    }
    if (value < 1e17 && (double)(uint64_t)value == value)
        return (size_t)(p + rung_digits_format((uint64_t)value, p) - out);
    leading d;
    leading_digits(value, &d);
    int count = PRECISION;
    while (count > 1 && d.digit[count - 1] == '0')
        count--;
    bool is_fixed = d.point > -4 && d.point <= PRECISION;
    p = is_fixed ? put_fixed(p, &d, count) : put_exponential(p, &d, count);
    return (size_t)(p - out);
}

size_t rung_resp_format_double(double value, char out[RUNG_RESP_DOUBLE_MAX]) {
    unsigned count;
    if (!rung__resp_is_short(value))
        return format_any(value, out);
    uint64_t digits = rung__resp_eight((uint32_t)value, &count);
    memcpy(out, &digits, sizeof digits);
    return count;
}
