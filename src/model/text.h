/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - numbers to decimal text and back: exact, and the same on every machine.
 *
 * strtod and printf depend on the locale, which a state machine must not, so the conversions are here. The grammar of
 * a number: an optional sign, digits with at most one point among them (at least one digit), an optional exponent.
 * That accepts JSON's numbers and a little more ("+5", ".5", "007"): a stricter codec checks its own grammar first.
 * Pure functions; any thread. */
#ifndef RUNG_MODEL_TEXT_H
#define RUNG_MODEL_TEXT_H

#include "base/slice.h"
#include "base/status.h"

#include <stdint.h>

#define RUNG_TEXT_NUMBER_MAX   32 /* any number written here, including its NUL */
#define RUNG_TEXT_DECIMALS_MAX 9

/* Fast path for most numbers: 1 to 15 digits, optionally after '-', which a double represents exactly. false: not
 * that simple, but it may still be a number. */
static inline bool rung_text_parse_plain(rung_slice text, int64_t *value_out) {
    enum { EXACT = 15 };
    int64_t value = 0;
    if (!text.len)
        return false;
    bool is_negative = text.ptr[0] == '-';
    const char *p = text.ptr + is_negative, *end = text.ptr + text.len;
    if (p == end || end - p > EXACT)
        return false;
    for (; p < end; p++) {
        unsigned digit = (unsigned char)*p - (unsigned)'0';
        if (digit > 9)
            return false;
        value = value * 10 + digit;
    }
    *value_out = is_negative ? -value : value;
    return true;
}

/* The number times 10^decimals, exactly: "1.5" with 2 decimals is 150, and so is "15e-1". RUNG_EINVAL: not a number,
 * or it has more decimals. RUNG_ERANGE: does not fit an int64. O(text). `decimals` is 0 to RUNG_TEXT_DECIMALS_MAX. */
RUNG_NODISCARD rung_status rung_text_parse_fixed(rung_slice text, unsigned decimals,
                                                 int64_t *fixed_out, rung_err *err);

/* The nearest double, ties to even; -0 becomes +0. Also accepts inf and infinity in any case, with an optional sign.
 * RUNG_EINVAL: not a number ("nan" is none). RUNG_ERANGE: a finite number too large for a double. About 50 ns up to
 * 19 digits and common exponents, a few microseconds beyond. */
RUNG_NODISCARD rung_status rung_text_parse_real(rung_slice text, double *real_out, rung_err *err);

/* fixed / 10^decimals, exactly and without trailing zeros: 150 with 2 decimals is "1.5". Returns the
 * length. */
size_t rung_text_format_fixed(int64_t fixed, unsigned decimals, char out[RUNG_TEXT_NUMBER_MAX]);

/* The shortest text that parses back to the same double (of several, the nearest), in JavaScript's format: "0.1",
 * "1e+21", "5e-324"; "inf" and "-inf"; both zeros are "0". Not for NaN. Returns the length. */
size_t rung_text_format_real(double real, char out[RUNG_TEXT_NUMBER_MAX]);

/* printf's %.17g in the C locale, as Redis 7 prints a score: "1.1000000000000001", "1e+17", "-0", "inf", "-inf",
 * "nan". Returns the length; no NUL. */
size_t rung_text_format_17g(double real, char out[RUNG_TEXT_NUMBER_MAX]);

/* Write an integer to `out`, which has room for 20 bytes. Returns the length; no NUL. */
size_t rung_digits_format(uint64_t value, char *out);

#endif
