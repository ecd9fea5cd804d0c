/* SPDX-License-Identifier: Apache-2.0 */
/* Every number text is first read as D x 10^exponent, D a whole number without leading or trailing zeros.
 * What follows is integer arithmetic; there is no place where an error could accumulate.
 *
 * To a double: bring D x 10^exponent to the form mantissa x 2^e with a mantissa of exactly 64 bits and
 * a "sticky" bit that says whether anything nonzero was cut off. Rounding that to 53 bits is then right
 * by construction. Up to 19 digits and 10^+-27 this takes 128-bit integers; beyond, big integers and a
 * schoolbook division. No table of powers, no approximation that would need a proof.
 *
 * From a double, the shortest text: most scores have at most 15 digits, and for those one multiplication
 * finds the digits and one division proves them. The rest goes through the free-format algorithm of
 * Steele and White in the form of Burger and Dybvig (1996), on big integers.
 *
 * From a double, 17 digits: fraction x 2^exponent over a power of ten is divided digit by digit, and what is
 * left decides how the last one is rounded. Up to 2^-120 this takes 128 bits; beyond, big integers.
 *
 * Invariants
 *   1. A big integer has no leading zero limbs; zero has none at all.
 *   2. No big integer passes BIG_LIMBS: bounds on digits and exponent are checked before it is built. */
#include "model/text.h"

#include "base/ascii.h"
#include "base/assert.h"

#include <float.h>

_Static_assert(FLT_EVAL_METHOD == 0,
               "doubles are computed as doubles, or one division would prove nothing");
_Static_assert(sizeof(double) == sizeof(uint64_t) && DBL_MANT_DIG == 53, "IEEE 754 binary64");

typedef unsigned __int128 uint128;

static const double POWER_OF_TEN[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static uint64_t integer_power(uint64_t base, unsigned exponent) {
    uint64_t power = 1;
    while (exponent--)
        power *= base;
    return power;
}

/* ---- reading the text -------------------------------------------------------------------------------- */

/* D x 10^exponent. The digits of D stand in the text between `first` and `last`, perhaps around a point. */
typedef struct number {
    const char *first, *last; /* nonzero digits both; unset when digit_count is 0 */
    int64_t digit_count;      /* of D; 0 for the number zero */
    int64_t exponent;
    bool negative;
} number;

/* Beyond any exponent that matters, and far from overflow in sums with a text's length. */
#define EXPONENT_SATURATED ((int64_t)1 << 56)

/* `p` stands after the 'e'; digits must follow up to `end`. */
static bool scan_exponent(const char *p, const char *end, int64_t *exponent_out) {
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end)
        return false;
    int64_t exponent = 0;
    for (; p < end; p++) {
        if (!rung_is_digit(*p))
            return false;
        if (exponent < EXPONENT_SATURATED)
            exponent = exponent * 10 + (*p - '0');
    }
    *exponent_out = negative ? -exponent : exponent;
    return true;
}

static bool scan_number(rung_slice text, number *n) {
    *n = (number){0};
    const char *p = text.ptr, *end = p + text.len;
    if (text.len && (*p == '-' || *p == '+'))
        n->negative = *p++ == '-';

    int64_t seen = 0, seen_before_point = -1, first_at = -1, last_at = -1; /* counted in digits */
    for (; p < end && (rung_is_digit(*p) || (*p == '.' && seen_before_point < 0)); p++) {
        if (*p == '.') {
            seen_before_point = seen;
            continue;
        }
        if (*p != '0') {
            if (first_at < 0)
                n->first = p, first_at = seen;
            n->last = p, last_at = seen;
        }
        seen++;
    }
    if (seen == 0)
        return false;
    if (seen_before_point < 0)
        seen_before_point = seen;

    int64_t exponent = 0;
    if (p < end && ((*p != 'e' && *p != 'E') || !scan_exponent(p + 1, end, &exponent)))
        return false;
    if (first_at >= 0) {
        n->digit_count = last_at - first_at + 1;
        n->exponent = seen_before_point - 1 - last_at + exponent;
    }
    return true;
}

/* D, which has at most 19 digits. */
static uint64_t small_digits(const number *n) {
    uint64_t d = 0;
    if (n->digit_count)
        for (const char *p = n->first; p <= n->last; p++)
            if (*p != '.')
                d = d * 10 + (uint64_t)(*p - '0');
    return d;
}

rung_status rung_text_parse_fixed(rung_slice text, unsigned decimals, int64_t *fixed_out,
                                  rung_err *err) {
    RUNG_ASSERT(decimals <= RUNG_TEXT_DECIMALS_MAX);
    number n;
    if (decimals == 0 && rung_text_parse_plain(text, fixed_out))
        return RUNG_OK;
    if (!scan_number(text, &n))
        return RUNG_FAIL(err, RUNG_EINVAL, "not a number");
    if (n.digit_count == 0) {
        *fixed_out = 0;
        return RUNG_OK;
    }
    int64_t zeros = n.exponent + (int64_t)decimals;
    if (zeros < 0)
        return decimals ? RUNG_FAIL(err, RUNG_EINVAL, "more than %u decimals", decimals)
                        : RUNG_FAIL(err, RUNG_EINVAL, "not a whole number");
    if (n.digit_count + zeros > 19)
        return RUNG_FAIL(err, RUNG_ERANGE, "beyond 64 bits");
    uint64_t magnitude = small_digits(&n) * integer_power(10, (unsigned)zeros);
    if (magnitude > (uint64_t)INT64_MAX + n.negative)
        return RUNG_FAIL(err, RUNG_ERANGE, "beyond 64 bits");
    *fixed_out = (int64_t)(n.negative ? -magnitude : magnitude);
    return RUNG_OK;
}

/* ---- big integers ------------------------------------------------------------------------------------ */

/* The widest is 800 digits over 5^1143 (2,658 and 2,654 bits), aligned to each other and doubled, or
 * 10^324 x 2^60 while writing. 3,072 bits hold any of them. */
#define BIG_LIMBS  96
#define DIGITS_MAX 800 /* more digits cannot matter: 767 decide any tie between two doubles */

typedef struct big {
    int count;
    uint32_t limb[BIG_LIMBS]; /* lowest first */
} big;

static void big_set(big *a, uint64_t value) {
    a->count = 0;
    for (; value; value >>= 32)
        a->limb[a->count++] = (uint32_t)value;
}

/* a = a x factor + addend */
static void big_multiply(big *a, uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (int i = 0; i < a->count; i++) {
        carry += (uint64_t)a->limb[i] * factor;
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) {
        RUNG_ASSERT(a->count < BIG_LIMBS); /* 2 */
        a->limb[a->count++] = (uint32_t)carry;
    }
}

static void big_multiply_power_of_five(big *a, int exponent) {
    for (; exponent >= 13; exponent -= 13)
        big_multiply(a, 1220703125, 0); /* 5^13, the last below 2^32 */
    big_multiply(a, (uint32_t)integer_power(5, (unsigned)exponent), 0);
}

static void big_multiply_power_of_two(big *a, int exponent) {
    if (a->count == 0)
        return;
    int whole = exponent / 32, part = exponent % 32;
    big_multiply(a, (uint32_t)1 << part, 0);
    RUNG_ASSERT(a->count + whole <= BIG_LIMBS); /* 2 */
    memmove(a->limb + whole, a->limb, (size_t)a->count * sizeof a->limb[0]);
    memset(a->limb, 0, (size_t)whole * sizeof a->limb[0]);
    a->count += whole;
}

static int big_bits(const big *a) {
    return a->count ? a->count * 32 - __builtin_clz(a->limb[a->count - 1]) : 0;
}

static int big_compare(const big *a, const big *b) {
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (int i = a->count - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* a = a - b; a is not smaller. */
static void big_subtract(big *a, const big *b) {
    uint64_t borrow = 0;
    for (int i = 0; i < a->count; i++) {
        uint64_t difference = (uint64_t)a->limb[i] - (i < b->count ? b->limb[i] : 0) - borrow;
        a->limb[i] = (uint32_t)difference;
        borrow = difference >> 63;
    }
    RUNG_ASSERT(borrow == 0);
    while (a->count && a->limb[a->count - 1] == 0)
        a->count--; /* 1 */
}

static void big_add(big *a, const big *b) {
    uint64_t carry = 0;
    for (int i = 0; i < b->count || carry; i++) {
        if (i == a->count) {
            RUNG_ASSERT(a->count < BIG_LIMBS); /* 2 */
            a->limb[a->count++] = 0;
        }
        carry += (uint64_t)a->limb[i] + (i < b->count ? b->limb[i] : 0);
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* ---- text to double ---------------------------------------------------------------------------------- */

/* (mantissa + some fraction if sticky) x 2^exponent, the mantissa's top bit set. */
typedef struct scaled {
    uint64_t mantissa;
    int exponent;
    bool sticky;
} scaled;

/* Round to 53 bits, or to the fewer of a subnormal, ties to even. Returns the bits of the double; those
 * of infinity on overflow. */
static uint64_t round_to_double(scaled s) {
    int top = s.exponent + 63; /* the value is in [2^top, 2^(top+1)) */
    if (top > 1023)
        return (uint64_t)0x7ff << 52;
    int cut = top >= -1022 ? 11 : 11 + (-1022 - top); /* low bits that do not fit */
    if (cut > 64)
        return 0;
    uint64_t kept = cut == 64 ? 0 : s.mantissa >> cut;
    uint64_t half = (uint64_t)1 << (cut - 1);
    uint64_t rest = s.mantissa & (half | (half - 1));
    bool up = rest > half || (rest == half && (s.sticky || (kept & 1)));
    /* The hidden bit of `kept` adds one to the exponent field; a carry out of the fraction does the same. */
    uint64_t field = top >= -1022 ? (uint64_t)(top + 1022) : 0;
    return (field << 52) + kept + up;
}

static scaled normalize(uint128 value, int exponent, bool sticky) {
    uint64_t high = (uint64_t)(value >> 64);
    int shift = high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)value);
    value <<= shift;
    return (scaled){(uint64_t)(value >> 64), exponent + 64 - shift, sticky || (uint64_t)value != 0};
}

#define SMALL_DIGITS   19 /* below 2^64 */
#define SMALL_EXPONENT 27 /* 5^27 is below 2^63 */

static scaled scale_small(uint64_t digits, int exponent) {
    if (exponent >= 0)
        return normalize((uint128)digits * integer_power(5, (unsigned)exponent), exponent, false);
    uint64_t divisor = integer_power(5, (unsigned)-exponent);
    int shift = __builtin_clzll(digits);
    uint128 dividend = (uint128)(digits << shift)
                       << 64; /* at least 2^127, so the quotient has over 64 bits */
    return normalize(dividend / divisor, exponent - shift - 64, dividend % divisor != 0);
}

static scaled scale_big(const number *n) {
    big numerator, denominator;
    big_set(&numerator, 0);
    big_set(&denominator, 1);
    int64_t kept = n->digit_count < DIGITS_MAX ? n->digit_count : DIGITS_MAX;
    const char *p = n->first;
    for (int64_t i = 0; i < kept; p++)
        if (*p != '.') {
            big_multiply(&numerator, 10, (uint32_t)(*p - '0'));
            i++;
        }
    bool sticky = kept < n->digit_count; /* D ends in a nonzero digit */
    int exponent = (int)(n->exponent + (n->digit_count - kept));
    big_multiply_power_of_five(exponent >= 0 ? &numerator : &denominator,
                               exponent >= 0 ? exponent : -exponent);

    /* Align to denominator <= numerator < 2 x denominator, then take 64 bits of quotient, one per step. */
    int shift = big_bits(&denominator) - big_bits(&numerator);
    big_multiply_power_of_two(shift > 0 ? &numerator : &denominator, shift > 0 ? shift : -shift);
    if (big_compare(&numerator, &denominator) < 0) {
        big_multiply_power_of_two(&numerator, 1);
        shift++;
    }
    uint64_t quotient = 0;
    for (int i = 0; i < 64; i++) {
        quotient <<= 1;
        if (big_compare(&numerator, &denominator) >= 0) {
            big_subtract(&numerator, &denominator);
            quotient |= 1;
        }
        big_multiply_power_of_two(&numerator, 1);
    }
    return (scaled){quotient, exponent - shift - 63, sticky || numerator.count != 0};
}

/* The bits of the nearest double, or of infinity when the number is too large. */
static uint64_t magnitude_bits(const number *n) {
    int64_t top = n->digit_count + n->exponent; /* the number is in [10^(top-1), 10^top) */
    if (n->digit_count == 0 || top <= -324)
        return 0; /* below half of the least double, 4.9e-324 */
    if (top > 309)
        return (uint64_t)0x7ff << 52;
    if (n->digit_count <= SMALL_DIGITS && n->exponent >= -SMALL_EXPONENT &&
        n->exponent <= SMALL_EXPONENT)
        return round_to_double(scale_small(small_digits(n), (int)n->exponent));
    return round_to_double(scale_big(n));
}

static bool equals_ignoring_case(rung_slice text, const char *lower) {
    for (size_t i = 0; i < text.len; i++)
        if ((text.ptr[i] | 0x20) != lower[i]) /* `lower` ends in NUL, which matches nothing */
            return false;
    return lower[text.len] == 0;
}

static bool is_infinity(rung_slice text) {
    if (text.len && (*text.ptr == '-' || *text.ptr == '+'))
        text = rung_slice_of(text.ptr + 1, text.len - 1);
    return equals_ignoring_case(text, "inf") || equals_ignoring_case(text, "infinity");
}

/* Never inlined: a plain number does not pay for it. */
__attribute__((noinline)) static rung_status parse_any_real(rung_slice text, double *real_out,
                                                            rung_err *err) {
    number n;
    if (!scan_number(text, &n)) {
        if (!is_infinity(text))
            return RUNG_FAIL(err, RUNG_EINVAL, "not a number");
        *real_out = *text.ptr == '-' ? -__builtin_inf() : __builtin_inf();
        return RUNG_OK;
    }
    uint64_t bits = magnitude_bits(&n);
    if (bits == (uint64_t)0x7ff << 52)
        return RUNG_FAIL(err, RUNG_ERANGE, "beyond the largest real number");
    double real;
    memcpy(&real, &bits, sizeof real);
    *real_out = n.negative && real > 0 ? -real : real;
    return RUNG_OK;
}

rung_status rung_text_parse_real(rung_slice text, double *real_out, rung_err *err) {
    int64_t plain;
    if (!rung_text_parse_plain(text, &plain))
        return parse_any_real(text, real_out, err);
    *real_out = (double)plain;
    return RUNG_OK;
}

/* ---- double to text ---------------------------------------------------------------------------------- */

#define REAL_DIGITS_MAX 17

/* 0.DDD... x 10^point, without trailing zeros. */
typedef struct digits {
    char digit[20];
    int count, point;
} digits;

static size_t digit_count(uint64_t value) {
    size_t count = 1;
    for (; value >= 10000; value /= 10000)
        count += 4;
    return count + (value >= 10) + (value >= 100) + (value >= 1000);
}

size_t rung_digits_format(uint64_t value, char *out) {
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
        "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
        "8081828384858687888990919293949596979899";
    size_t count = digit_count(value);
    char *at = out + count;
    for (; value >= 100; value /= 100)
        memcpy(at -= 2, pairs + value % 100 * 2, 2);
    if (value >= 10)
        memcpy(at - 2, pairs + value * 2, 2);
    else
        at[-1] = (char)('0' + value);
    return count;
}

static void strip_zeros(digits *d) {
    while (d->count && d->digit[d->count - 1] == '0')
        d->count--;
}

static void digits_set(digits *out, uint64_t value, int exponent) {
    out->count = (int)rung_digits_format(value, out->digit);
    out->point = out->count + exponent;
    strip_zeros(out);
}

/* A finite double above 0 is fraction x 2^exponent. */
static int split(double real, uint64_t *fraction_out) {
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    int field = (int)(bits >> 52);
    *fraction_out = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)(field > 0) << 52;
    return (field ? field : 1) - 1075;
}

/* If at most 15 digits tell `real` (positive, finite) apart, find them. For the right number of
 * decimals, real x 10^decimals is within 0.25 of the whole number sought, so rounding finds it; that
 * number and the power of ten are exact doubles, so the quotient is correctly rounded, as the text's
 * reader would do it. */
static bool few_digits(double real, digits *out) {
    for (int decimals = 0; decimals <= 22; decimals++) {
        double scaled_up = real * POWER_OF_TEN[decimals];
        if (scaled_up >= 1e15)
            return false;
        double whole = (double)(int64_t)(scaled_up + 0.5);
        if (whole / POWER_OF_TEN[decimals] ==
            real) { /* exact comparison intended: this is the proof */
            digits_set(out, (uint64_t)whole, -decimals);
            return true;
        }
    }
    return false;
}

static void big_multiply_power_of_ten(big *a, int exponent) {
    big_multiply_power_of_five(a, exponent);
    big_multiply_power_of_two(a, exponent);
}

/* The state of digit generation, all over one denominator: what is left of the number, and the
 * distances to the two midpoints between it and its neighbours. A text between the midpoints reads back
 * as the number. */
typedef struct generator {
    big rest, denominator, below, above;
    bool midpoints_included; /* ties go to even, so an even fraction owns its midpoints */
} generator;

/* Is rest + above past the denominator, that is, would rounding up here stay within the upper midpoint? */
static bool may_round_up(const generator *g) {
    big sum = g->rest;
    big_add(&sum, &g->above);
    int c = big_compare(&sum, &g->denominator);
    return c > 0 || (c == 0 && g->midpoints_included);
}

static bool may_round_down(const generator *g) {
    int c = big_compare(&g->rest, &g->below);
    return c < 0 || (c == 0 && g->midpoints_included);
}

/* The least p, or one less, with fraction x 2^exponent < 10^p: floor(log10(2^top)) by a rational close enough for all
 * doubles. */
static int point_of(uint64_t fraction, int exponent) {
    int top = exponent + 63 - __builtin_clzll(fraction);
    return (int)(((int64_t)top * 78913) >> 18) + 1;
}

/* Set up for fraction x 2^exponent; returns the decimal point's place: the value is below 10^point. */
static int generator_init(generator *g, uint64_t fraction, int exponent) {
    /* At a power of two the neighbour below is half as far as the one above. */
    int uneven = fraction == (uint64_t)1 << 52 && exponent > -1074;
    int up = exponent > 0 ? exponent : 0, down = exponent < 0 ? -exponent : 0;
    g->midpoints_included = fraction % 2 == 0;
    big_set(&g->rest, fraction);
    big_multiply_power_of_two(&g->rest, up + 1 + uneven);
    big_set(&g->denominator, 1);
    big_multiply_power_of_two(&g->denominator, down + 1 + uneven);
    big_set(&g->above, 1);
    big_multiply_power_of_two(&g->above, up + uneven);
    big_set(&g->below, 1);
    big_multiply_power_of_two(&g->below, up);

    int point = point_of(fraction, exponent);
    if (point >= 0) {
        big_multiply_power_of_ten(&g->denominator, point);
    } else {
        big_multiply_power_of_ten(&g->rest, -point);
        big_multiply_power_of_ten(&g->above, -point);
        big_multiply_power_of_ten(&g->below, -point);
    }
    if (may_round_up(g)) {
        big_multiply(&g->denominator, 10, 0);
        point++;
    }
    return point;
}

/* The whole part of rest / denominator, which is below 10; the rest is what is left. */
static char next_digit(big *rest, const big *denominator) {
    char digit = '0';
    for (; big_compare(rest, denominator) >= 0; digit++)
        big_subtract(rest, denominator);
    return digit;
}

static void many_digits(uint64_t fraction, int exponent, digits *out) {
    generator g;
    out->point = generator_init(&g, fraction, exponent);
    out->count = 0;
    bool down, up;
    do {
        RUNG_ASSERT(out->count < REAL_DIGITS_MAX);
        big_multiply(&g.rest, 10, 0);
        big_multiply(&g.above, 10, 0);
        big_multiply(&g.below, 10, 0);
        char digit = next_digit(&g.rest, &g.denominator);
        down = may_round_down(&g);
        up = may_round_up(&g);
        if (up && down) {
            big_multiply(&g.rest, 2, 0);
            up = big_compare(&g.rest, &g.denominator) >= 0;
        }
        out->digit[out->count++] = (char)(digit + up);
    } while (!up && !down);
}

/* ---- 17 digits ---- */

/* Add one to the last digit; 999... becomes 1 and one more place. */
static void round_up(digits *d) {
    while (d->count && d->digit[d->count - 1] == '9')
        d->count--;
    if (d->count) {
        d->digit[d->count - 1]++;
    } else {
        d->digit[d->count++] = '1';
        d->point++;
    }
}

/* `compared`: what is left against half of the last place. Ties go to the even digit. */
static void round_last(digits *d, int compared) {
    if (compared > 0 || (compared == 0 && (d->digit[d->count - 1] - '0') % 2))
        round_up(d);
    strip_zeros(d);
}

/* fraction x 2^-down, down 1 to 120. */
static void exact_digits_short(uint64_t fraction, int down, digits *d) {
    uint64_t whole = down < 64 ? fraction >> down : 0;
    uint128 rest = fraction - (whole << (down < 64 ? down : 0));
    d->count = whole ? (int)rung_digits_format(whole, d->digit) : 0;
    d->point = d->count;
    while (d->count < REAL_DIGITS_MAX && rest) {
        rest *= 10;
        char digit = (char)('0' + (int)(rest >> down));
        rest &= ((uint128)1 << down) - 1;
        if (d->count || digit != '0')
            d->digit[d->count++] = digit;
        else
            d->point--;
    }
    uint128 half = (uint128)1 << (down - 1);
    round_last(d, rest < half ? -1 : rest > half);
}

static void exact_digits(uint64_t fraction, int exponent, digits *d) {
    big rest, denominator;
    int point = point_of(fraction, exponent);
    big_set(&rest, fraction);
    big_multiply_power_of_two(&rest, exponent > 0 ? exponent : 0);
    big_set(&denominator, 1);
    big_multiply_power_of_two(&denominator, exponent < 0 ? -exponent : 0);
    big_multiply_power_of_ten(point >= 0 ? &denominator : &rest, point >= 0 ? point : -point);
    if (big_compare(&rest, &denominator) >= 0) {
        big_multiply(&denominator, 10, 0);
        point++;
    }
    d->point = point;
    for (d->count = 0; d->count < REAL_DIGITS_MAX;) {
        big_multiply(&rest, 10, 0);
        d->digit[d->count++] = next_digit(&rest, &denominator);
    }
    big_multiply(&rest, 2, 0);
    round_last(d, big_compare(&rest, &denominator));
}

/* ---- layout ---- */

/* The places [from, to): zeros before the first digit and after the last. */
static char *put_digits(char *p, const digits *d, int from, int to) {
    for (; from < 0 && from < to; from++)
        *p++ = '0';
    for (; from < to; from++)
        *p++ = from < d->count ? d->digit[from] : '0';
    return p;
}

static char *put_exponent(char *p, int exponent, bool is_padded) {
    *p++ = 'e';
    *p++ = exponent < 0 ? '-' : '+';
    unsigned e = (unsigned)(exponent < 0 ? -exponent : exponent);
    if (is_padded && e < 10)
        *p++ = '0';
    return p + rung_digits_format(e, p);
}

static char *put_plain(char *p, const digits *d) {
    p = put_digits(p, d, d->point > 0 ? 0 : d->point - 1, d->point);
    if (d->count > d->point) {
        *p++ = '.';
        p = put_digits(p, d, d->point, d->count);
    }
    return p;
}

static char *put_scientific(char *p, const digits *d, bool is_padded) {
    p = put_digits(p, d, 0, 1);
    if (d->count > 1) {
        *p++ = '.';
        p = put_digits(p, d, 1, d->count);
    }
    return put_exponent(p, d->point - 1, is_padded);
}

size_t rung_text_format_fixed(int64_t fixed, unsigned decimals, char out[RUNG_TEXT_NUMBER_MAX]) {
    RUNG_ASSERT(decimals <= RUNG_TEXT_DECIMALS_MAX);
    char *p = out;
    digits d;
    if (fixed < 0)
        *p++ = '-';
    digits_set(&d, fixed < 0 ? -(uint64_t)fixed : (uint64_t)fixed, -(int)decimals);
    if (fixed == 0)
        *p++ = '0';
    else
        p = put_plain(p, &d);
    *p = 0;
    return (size_t)(p - out);
}

size_t rung_text_format_real(double real, char out[RUNG_TEXT_NUMBER_MAX]) {
    RUNG_ASSERT(!__builtin_isnan(real));
    char *p = out;
    if (real < 0)
        *p++ = '-';
    real = real < 0 ? -real : real;
    if (__builtin_isinf(real)) {
        memcpy(p, "inf", 3);
        p += 3;
    } else if (real == 0) {
        *p++ = '0';
    } else {
        digits d;
        if (!few_digits(real, &d)) {
            uint64_t fraction;
            int exponent = split(real, &fraction);
            many_digits(fraction, exponent, &d);
        }
        p = d.point > -6 && d.point <= 21 ? put_plain(p, &d) : put_scientific(p, &d, false);
    }
    *p = 0;
    return (size_t)(p - out);
}

size_t rung_text_format_17g(double real, char out[RUNG_TEXT_NUMBER_MAX]) {
    char *p = out;
    if (__builtin_isnan(real)) {
        memcpy(out, "nan", 3);
        return 3;
    }
    if (__builtin_signbit(real)) {
        *p++ = '-';
        real = -real;
    }
    if (__builtin_isinf(real)) {
        memcpy(p, "inf", 3);
        return (size_t)(p + 3 - out);
    }
    if (real < 1e17 && (double)(uint64_t)real == real)
        return (size_t)(p + rung_digits_format((uint64_t)real, p) - out);
    digits d;
    uint64_t fraction;
    int exponent = split(real, &fraction);
    if (exponent < 0 && exponent >= -120)
        exact_digits_short(fraction, -exponent, &d);
    else
        exact_digits(fraction, exponent, &d);
    bool is_plain = d.point > -4 && d.point <= REAL_DIGITS_MAX;
    p = is_plain ? put_plain(p, &d) : put_scientific(p, &d, true);
    return (size_t)(p - out);
}
