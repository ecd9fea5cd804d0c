/* SPDX-License-Identifier: Apache-2.0 */
/* arith.h - exp, log and the normal distribution, with the same bits on every machine.
 *
 * libm differs in the last bit between versions and processors, and ratings are part of the state. These functions
 * use only the IEEE 754 operations + - * / and sqrt, each rounded to nearest, in a fixed order. Pure; thread-safe.
 * Errors are measured against tests/golden/rating/arith.txt (tools/rating_tables.py), in units in the last place
 * (ulp).
 *
 *     double expected = 1 / (1 + rung_exp10((theirs - mine) / 400)); */
#ifndef RUNG_RATING_ARITH_H
#define RUNG_RATING_ARITH_H

/* e^x: 1 ulp. +infinity above 709.78, 0 below -745.13. x is not NaN. */
double rung_exp(double x);
/* 10^x: 1 ulp. The same limits, in powers of ten: 308.25 and -323.3. */
double rung_exp10(double x);
/* The natural logarithm: 1 ulp. x is finite and above 0; for others -infinity. */
double rung_log(double x);
/* The square root, correctly rounded; x >= 0. */
double rung_sqrt(double x);

/* The density of the standard normal distribution: 2 ulp while it is a normal number. */
double rung_normal_pdf(double x);
/* P(X <= x): 8 ulp, also far out on the left side while it is a normal number. About 1 us. */
double rung_normal_cdf(double x);

#endif
