/* SPDX-License-Identifier: Apache-2.0 */
/* arith.c - elementary functions from correctly rounded operations.
 *
 * The methods are the textbook ones: reduce the argument exactly (Cody and Waite), evaluate a Taylor polynomial that
 * is longer than double precision needs, put the exponent back as bits. Tables and minimax coefficients would save a
 * few multiplications; Taylor coefficients can be checked by eye.
 *
 * Invariants:
 * 1. No operation but + - * / sqrt, comparisons, and conversions between double and integer.
 * 2. The compiler evaluates them as written: in double, without contraction, without reassociation. */
#include "rating/arith.h"

#include <float.h>
#include <stdint.h>
#include <string.h>

/* Invariant 2, as far as the compiler tells. gcc has no macro for -ffp-contract: the build defines ours beside it. */
#if FLT_EVAL_METHOD != 0
#error "ratings need double arithmetic without excess precision (on x86: -msse2 -mfpmath=sse)"
#endif
#ifdef __FAST_MATH__
#error "ratings must not be compiled with -ffast-math"
#endif
#ifndef RUNG_NO_CONTRACTION
#error "compile with -ffp-contract=off and -DRUNG_NO_CONTRACTION=1"
#endif
_Static_assert(DBL_MANT_DIG == 53 && DBL_MAX_EXP == 1024, "double must be IEEE 754 binary64");

static const double INF = (double)__builtin_inff();

/* ln 2 in two parts; the first has 32 trailing zero bits, so n * LN2_HIGH is exact for every exponent n. */
static const double LN2_HIGH = 0x1.62e42fee00000p-1;
static const double LN2_LOW = 0x1.a39ef35793c76p-33;
/* Adding and subtracting it rounds to the nearest integer (below 2^51). */
static const double ROUNDER = 0x1.8p52;

static uint64_t bits_of(double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static double from_bits(uint64_t b) {
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}

/* 2^n for -1022 <= n <= 1023. */
static double power_of_two(int n) {
    return from_bits((uint64_t)(n + 1023) << 52);
}

/* x * 2^n, rounded once. x is in [0.5, 2]. */
static double scale(double x, int n) {
    if (n > 1023)
        return x * 0x1p1023 * power_of_two(n - 1023);
    if (n >= -1021)
        return x * power_of_two(n);
    return x * power_of_two(n + 200) * 0x1p-200; /* only the last step can be subnormal */
}

/* (e^r - 1 - r) / r^2 for |r| <= 0.35: the terms to r^13 of the exponential. The rest is below 2^-57. */
static double exp_tail(double r) {
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    return p * r + 0.5;
}

/* e^(x + low), where |low| is tiny beside |x| and |x| < 746. */
static double exp_of_sum(double x, double low) {
    double n = x * 0x1.71547652b82fep0 + ROUNDER - ROUNDER; /* log2(e) */
    double high = x - n * LN2_HIGH;                         /* exact */
    double rest = low - n * LN2_LOW;
    double r = high + rest;
    double lost = (high - r) + rest; /* what rounding took from r */
    return scale(1.0 + (r + (r * r * exp_tail(r) + lost)), (int)n);
}

double rung_exp(double x) {
    if (x > 709.79)
        return INF;
    if (x < -745.2)
        return 0;
    return exp_of_sum(x, 0);
}

/* a with its lower 27 bits cleared: products of two such numbers are exact. */
static double upper_half(double a) {
    return from_bits(bits_of(a) & 0xfffffffff8000000u);
}

double rung_exp10(double x) {
    if (x > 308.26)
        return INF;
    if (x < -323.7)
        return 0;
    /* x * ln 10 as a sum: the constant as high + low, the first product exactly (Dekker). */
    static const double LN10_HIGH = 0x1.26bb1b8000000p1, LN10_LOW = 0x1.daaa8ac16ea57p-26;
    double x_high = upper_half(x), x_low = x - x_high;
    double first = x_high * LN10_HIGH; /* exact */
    double low = x_low * LN10_HIGH + x * LN10_LOW;
    double sum = first + low;
    return exp_of_sum(sum, (first - sum) + low);
}

double rung_log(double x) {
    if (!(x > 0) || x == INF)
        return -INF;
    int k = 0;
    if (x < DBL_MIN) {
        x *= 0x1p54;
        k = -54;
    }
    /* x = 2^k * m with m in [sqrt(1/2), sqrt(2)) */
    uint64_t b = bits_of(x);
    k += (int)(b >> 52) - 1023;
    double m = from_bits((b & 0xfffffffffffffu) | 0x3ff0000000000000u);
    if (m >= 0x1.6a09e667f3bcdp0) {
        m *= 0.5;
        k++;
    }
    /* log(1 + f) = 2 atanh(s), s = f / (2 + f), |s| < 0.172; written as f - (f^2/2 - s * (f^2/2 + R)), so that the
     * leading term is exact. The series ends with s^20 / 21: the rest is below 2^-59. */
    double f = m - 1.0; /* exact */
    double s = f / (2.0 + f);
    double z = s * s;
    double p = 2.0 / 21;
    p = p * z + 2.0 / 19;
    p = p * z + 2.0 / 17;
    p = p * z + 2.0 / 15;
    p = p * z + 2.0 / 13;
    p = p * z + 2.0 / 11;
    p = p * z + 2.0 / 9;
    p = p * z + 2.0 / 7;
    p = p * z + 2.0 / 5;
    p = p * z + 2.0 / 3;
    double half = 0.5 * f * f;
    double n = k;
    return n * LN2_HIGH - ((half - (s * (half + z * p) + n * LN2_LOW)) - f);
}

double rung_sqrt(double x) {
    return __builtin_sqrt(x);
}

/* e^(-x^2 / 2): x = a + b with a^2 exact, so that the error of the square does not grow with x. */
static double gauss(double x) {
    double a = upper_half(x), b = x - a;
    double square = -0.5 * a * a; /* exact */
    return square < -745.2 ? 0 : exp_of_sum(square, 0) * rung_exp(-0.5 * b * (x + a));
}

static const double ONE_BY_SQRT_2PI = 0x1.9884533d43651p-2;

double rung_normal_pdf(double x) {
    return ONE_BY_SQRT_2PI * gauss(x);
}

/* cdf(x) - 1/2 for 0 <= x <= 1: pdf(x) * (x + x^3/3 + x^5/15 + x^7/105 ...), all terms of one sign. */
static double half_from_series(double x) {
    double term = x, sum = x;
    for (int odd = 3; odd <= 35; odd += 2) {
        term = term * x * x / odd;
        sum += term;
    }
    return rung_normal_pdf(x) * sum;
}

/* 1 - cdf(x) for x > 1: pdf(x) / (x + 1/(x + 2/(x + 3/(x + ...)))), from the inside out. The number of levels that
 * double precision needs falls with x: 361 / x^2, from the rate e^(-2 x sqrt(levels)). */
static double upper_tail(double x) {
    int levels = 16 + (int)(400.0 / (x * x));
    double fraction = x;
    for (int i = levels; i > 0; i--)
        fraction = x + i / fraction;
    return rung_normal_pdf(x) / fraction;
}

double rung_normal_cdf(double x) {
    if (x < -39)
        return 0;
    if (x > 9)
        return 1;
    if (x < -1)
        return upper_tail(-x);
    if (x > 1)
        return 1 - upper_tail(x);
    return x < 0 ? 0.5 - half_from_series(-x) : 0.5 + half_from_series(x);
}
