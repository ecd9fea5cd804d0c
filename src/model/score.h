/* SPDX-License-Identifier: Apache-2.0 */
/* score.h - a board's scores, and how they become the ladder's keys.
 *
 * The ladder compares 1 to 4 unsigned 64-bit words, smaller is better, and knows nothing else. The encoding here
 * covers everything that a board defines: type, direction, further columns, ties. Both directions are exact:
 *
 *   rung_keyspec spec = {.columns = {{RUNG_SCORE_INTEGER, RUNG_ORDER_DESC, 0}}, .column_count = 1};
 *   uint64_t words[RUNG_KEY_WORDS_MAX];
 *   st = rung_keyspec_encode(&spec, &(rung_value){.i = 4200}, at_ms, words);   // 2 words: score, time
 *
 * Words compare as the scores do; equal words are equal scores. Pure functions on plain values; any thread. */
#ifndef RUNG_MODEL_SCORE_H
#define RUNG_MODEL_SCORE_H

#include "base/slice.h"
#include "base/status.h"
#include "model/text.h"
#include "model/words.h"

#include <stdint.h>

#define RUNG_COLUMNS_MAX    3 /* the score and two more */
#define RUNG_KEY_WORDS_MAX  4 /* and a time */
#define RUNG_DECIMALS_MAX   RUNG_TEXT_DECIMALS_MAX
#define RUNG_SCORE_TEXT_MAX RUNG_TEXT_NUMBER_MAX

/* Does a key have a time? */
static inline bool rung_tie_keeps_time(rung_tie tie) {
    return tie == RUNG_TIE_FIRST || tie == RUNG_TIE_LAST;
}

typedef union rung_value {
    int64_t i;
    double d;
} rung_value;

typedef struct rung_column {
    rung_score_type type;
    rung_score_order order;
    unsigned decimals; /* 0 to RUNG_DECIMALS_MAX for decimals, 0 otherwise */
} rung_column;

typedef struct rung_keyspec {
    rung_column columns[RUNG_COLUMNS_MAX];
    unsigned column_count; /* 1 to RUNG_COLUMNS_MAX; the score is the first */
    rung_tie tie;
} rung_keyspec;

/* ---- one column, with valid fields (rung_keyspec_check) ---- */

/* RUNG_EINVAL for NaN. */
RUNG_NODISCARD rung_status rung_score_encode(const rung_column *column, rung_value value,
                                             uint64_t *word_out);
/* For integers and decimals every word is valid; for reals only words from rung_score_encode(). */
rung_value rung_score_decode(const rung_column *column, uint64_t word);
/* <0: `a` is better, 0: equal, >0: `b` is better. Not for NaN. */
int rung_score_compare(const rung_column *column, rung_value a, rung_value b);

/* Parse a number (grammar in text.h) as an exact value of this column; a real is rounded to the nearest double.
 * RUNG_EINVAL: not a number, or not exact in this column. RUNG_ERANGE: too large. `err` says which. */
RUNG_NODISCARD rung_status rung_score_parse(const rung_column *column, rung_slice text,
                                            rung_value *value_out, rung_err *err);
/* The shortest text that parses back to the same value. Returns its length. Infinities are "inf" and "-inf". Not for
 * NaN. */
size_t rung_score_format(const rung_column *column, rung_value value,
                         char out[RUNG_SCORE_TEXT_MAX]);

/* ---- the whole key ---- */

/* The number of leading words that make up the score: one per column. */
static inline unsigned rung_keyspec_score_words(const rung_keyspec *spec) {
    return spec->column_count;
}

/* The number of words of a key: the columns, and a time unless ties go by player. 1 to RUNG_KEY_WORDS_MAX. */
static inline unsigned rung_keyspec_words(const rung_keyspec *spec) {
    return spec->column_count + rung_tie_keeps_time(spec->tie);
}

/* Encode one value per column, and the time that decides a tie (any int64; ignored if ties go by player). Unused
 * words are set to 0. RUNG_EINVAL: a value is NaN; `words` is then unchanged. */
RUNG_NODISCARD rung_status rung_keyspec_encode(const rung_keyspec *spec, const rung_value *values,
                                               int64_t at_ms, uint64_t words[RUNG_KEY_WORDS_MAX]);

/* The reverse. `values` receives one per column; `at_ms_out` (may be NULL) receives 0 if ties go by player. */
void rung_keyspec_decode(const rung_keyspec *spec, const uint64_t *words, rung_value *values,
                         int64_t *at_ms_out);

#endif
