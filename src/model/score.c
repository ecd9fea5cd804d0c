/* SPDX-License-Identifier: Apache-2.0 */
/* Each type maps to an unsigned word that grows with the value; a column where bigger is better stores the
 * complement.
 *
 *   int64    flip the sign bit:                  -2^63 .. 2^63-1  ->  0 .. 2^64-1
 *   double   positive: set the sign bit; negative: complement all bits. IEEE 754 orders the magnitudes of one sign
 *            as their bits; the complement turns the negatives round and puts them below.
 *
 * Invariants
 *   1. Both maps are one-to-one on what they accept, so a word decodes to the value it came from.
 *   2. -0 is made +0 before encoding, since equal scores must be equal words. */
#include "model/score.h"

#include "base/assert.h"

#define SIGN_BIT ((uint64_t)1 << 63)

static uint64_t word_of_integer(int64_t i) {
    return (uint64_t)i ^ SIGN_BIT;
}

static int64_t integer_of_word(uint64_t word) {
    return (int64_t)(word ^ SIGN_BIT);
}

static uint64_t word_of_real(double d) {
    uint64_t bits;
    d = d == 0 ? 0.0 : d; /* 2 */
    memcpy(&bits, &d, sizeof bits);
    return bits & SIGN_BIT ? ~bits : bits | SIGN_BIT;
}

static double real_of_word(uint64_t word) {
    uint64_t bits = word & SIGN_BIT ? word ^ SIGN_BIT : ~word;
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static inline uint64_t encode(const rung_column *column, rung_value value) {
    uint64_t word =
        column->type == RUNG_SCORE_REAL ? word_of_real(value.d) : word_of_integer(value.i);
    return column->order == RUNG_ORDER_DESC ? ~word : word;
}

static inline bool is_nan(const rung_column *column, rung_value value) {
    return column->type == RUNG_SCORE_REAL && __builtin_isnan(value.d);
}

rung_status rung_score_encode(const rung_column *column, rung_value value, uint64_t *word_out) {
    if (is_nan(column, value))
        return RUNG_EINVAL;
    *word_out = encode(column, value);
    return RUNG_OK;
}

rung_value rung_score_decode(const rung_column *column, uint64_t word) {
    if (column->order == RUNG_ORDER_DESC)
        word = ~word;
    return column->type == RUNG_SCORE_REAL ? (rung_value){.d = real_of_word(word)}
                                           : (rung_value){.i = integer_of_word(word)};
}

int rung_score_compare(const rung_column *column, rung_value a, rung_value b) {
    RUNG_ASSERT(!is_nan(column, a) && !is_nan(column, b));
    uint64_t left = encode(column, a), right = encode(column, b);
    return (left > right) - (left < right);
}

rung_status rung_score_parse(const rung_column *column, rung_slice text, rung_value *value_out,
                             rung_err *err) {
    return column->type == RUNG_SCORE_REAL
               ? rung_text_parse_real(text, &value_out->d, err)
               : rung_text_parse_fixed(text, column->decimals, &value_out->i, err);
}

size_t rung_score_format(const rung_column *column, rung_value value,
                         char out[RUNG_SCORE_TEXT_MAX]) {
    return column->type == RUNG_SCORE_REAL ? rung_text_format_real(value.d, out)
                                           : rung_text_format_fixed(value.i, column->decimals, out);
}

rung_status rung_keyspec_encode(const rung_keyspec *spec, const rung_value *values, int64_t at_ms,
                                uint64_t words[RUNG_KEY_WORDS_MAX]) {
    unsigned n = spec->column_count;
    RUNG_ASSERT(n >= 1 && n <= RUNG_COLUMNS_MAX);
    for (unsigned i = 0; i < n; i++)
        if (is_nan(&spec->columns[i], values[i]))
            return RUNG_EINVAL;
    for (unsigned i = 0; i < n; i++)
        words[i] = encode(&spec->columns[i], values[i]);
    if (rung_tie_keeps_time(spec->tie))
        words[n++] = spec->tie == RUNG_TIE_FIRST ? word_of_integer(at_ms) : ~word_of_integer(at_ms);
    while (n < RUNG_KEY_WORDS_MAX)
        words[n++] = 0;
    return RUNG_OK;
}

void rung_keyspec_decode(const rung_keyspec *spec, const uint64_t *words, rung_value *values,
                         int64_t *at_ms_out) {
    unsigned n = spec->column_count;
    for (unsigned i = 0; i < n; i++)
        values[i] = rung_score_decode(&spec->columns[i], words[i]);
    if (!at_ms_out)
        return;
    if (!rung_tie_keeps_time(spec->tie))
        *at_ms_out = 0;
    else
        *at_ms_out = integer_of_word(spec->tie == RUNG_TIE_FIRST ? words[n] : ~words[n]);
}
