/* SPDX-License-Identifier: Apache-2.0 */
/* The property the ladder rests on: order of words = order of scores, and words decode to what went in. */
#include "model/score.h"

#include "support/check.h"
#include "support/rng.h"

#include <float.h>
#include <math.h>

static const int64_t INTEGERS[] = {INT64_MIN,
                                   INT64_MIN + 1,
                                   -((int64_t)1 << 53) - 1,
                                   -((int64_t)1 << 53),
                                   -1000000007,
                                   -2,
                                   -1,
                                   0,
                                   1,
                                   2,
                                   1000000007,
                                   (int64_t)1 << 53,
                                   ((int64_t)1 << 53) + 1,
                                   INT64_MAX - 1,
                                   INT64_MAX};
static const double REALS[] = {-HUGE_VAL,
                               -DBL_MAX,
                               -1e300,
                               -9007199254740993.0,
                               -1.0000000000000002,
                               -1,
                               -DBL_MIN,
                               -DBL_TRUE_MIN,
                               -0.0,
                               0.0,
                               DBL_TRUE_MIN,
                               DBL_MIN,
                               0.1,
                               1,
                               1.0000000000000002,
                               9007199254740992.0,
                               1e300,
                               DBL_MAX,
                               HUGE_VAL};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The plain meaning, written without the encoding: <0 when `a` is better. */
static int plain_compare(const rung_column *column, rung_value a, rung_value b) {
    int c = column->type == RUNG_SCORE_REAL ? (a.d > b.d) - (a.d < b.d) : (a.i > b.i) - (a.i < b.i);
    return column->order == RUNG_ORDER_DESC ? -c : c;
}

static bool same_value(const rung_column *column, rung_value a, rung_value b) {
    if (column->type != RUNG_SCORE_REAL)
        return a.i == b.i;
    double zeroless = b.d == 0 ? 0.0 : b.d; /* -0 comes back as +0 */
    return memcmp(&a.d, &zeroless, sizeof(double)) == 0;
}

static rung_value edge_value(const rung_column *column, size_t i) {
    return column->type == RUNG_SCORE_REAL ? (rung_value){.d = REALS[i % COUNT(REALS)]}
                                           : (rung_value){.i = INTEGERS[i % COUNT(INTEGERS)]};
}

/* Edges, small numbers (so that ties happen) and all bit patterns. */
static rung_value random_value(rung_rng *rng, const rung_column *column) {
    rung_value v;
    switch (rung_rng_below(rng, 3)) {
    case 0:
        return edge_value(column, rung_rng_below(rng, 1000));
    case 1:
        v.i = (int64_t)rung_rng_below(rng, 5) - 2;
        return column->type == RUNG_SCORE_REAL ? (rung_value){.d = (double)v.i / 4} : v;
    default:
        do
            v.i = (int64_t)rung_rng_next(rng);
        while (column->type == RUNG_SCORE_REAL && isnan(v.d));
        return v;
    }
}

static void check_pair(const rung_column *column, rung_value a, rung_value b) {
    uint64_t left = 0, right = 0;
    CHECK_OK(rung_score_encode(column, a, &left));
    CHECK_OK(rung_score_encode(column, b, &right));
    CHECK(same_value(column, rung_score_decode(column, left), a));
    CHECK(same_value(column, rung_score_decode(column, right), b));
    int want = plain_compare(column, a, b);
    CHECK_EQ_I64((left > right) - (left < right), want);
    CHECK_EQ_I64(rung_score_compare(column, a, b), want);
}

TEST(words_order_as_scores_over_the_edges) {
    for (unsigned type = RUNG_SCORE_INTEGER; type <= RUNG_SCORE_REAL; type++)
        for (unsigned order = RUNG_ORDER_DESC; order <= RUNG_ORDER_ASC; order++) {
            rung_column column = {(rung_score_type)type, (rung_score_order)order, 0};
            for (size_t i = 0; i < 40; i++)
                for (size_t j = 0; j < 40; j++)
                    check_pair(&column, edge_value(&column, i), edge_value(&column, j));
        }
}

TEST(every_word_of_an_integer_is_a_value) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(5));
    for (int i = 0; i < 10000; i++) {
        rung_column column = {(rung_score_type)rung_rng_below(&rng, 2),
                              (rung_score_order)rung_rng_below(&rng, 2), 0};
        uint64_t word = rung_rng_next(&rng), again = 0;
        CHECK_OK(rung_score_encode(&column, rung_score_decode(&column, word), &again));
        CHECK_EQ_U64(again, word);
    }
}

TEST(nan_is_refused) {
    rung_keyspec spec = {
        .columns = {{RUNG_SCORE_INTEGER, RUNG_ORDER_DESC, 0}, {RUNG_SCORE_REAL, RUNG_ORDER_ASC, 0}},
        .column_count = 2};
    rung_value values[2] = {{.i = 5}, {.d = (double)NAN}};
    uint64_t word = 7, words[RUNG_KEY_WORDS_MAX] = {1, 2, 3, 4};
    CHECK_STATUS(rung_score_encode(&spec.columns[1], values[1], &word), RUNG_EINVAL);
    CHECK_EQ_U64(word, 7);
    CHECK_STATUS(rung_keyspec_encode(&spec, values, 0, words), RUNG_EINVAL);
    CHECK_EQ_MEM(words, ((uint64_t[]){1, 2, 3, 4}), sizeof words);
    values[1].d = -(double)NAN;
    CHECK_STATUS(rung_keyspec_encode(&spec, values, 0, words), RUNG_EINVAL);
}

/* ---- whole keys ---- */

static rung_keyspec random_spec(rung_rng *rng) {
    rung_keyspec spec = {.column_count = 1 + (unsigned)rung_rng_below(rng, RUNG_COLUMNS_MAX),
                         .tie = (rung_tie)rung_rng_below(rng, 4)};
    for (unsigned i = 0; i < spec.column_count; i++) {
        rung_column *column = &spec.columns[i];
        column->type = (rung_score_type)rung_rng_below(rng, 3);
        column->order = (rung_score_order)rung_rng_below(rng, 2);
        column->decimals = column->type == RUNG_SCORE_DECIMAL
                               ? (unsigned)rung_rng_below(rng, RUNG_DECIMALS_MAX + 1)
                               : 0;
    }
    return spec;
}

typedef struct submission {
    rung_value values[RUNG_COLUMNS_MAX];
    int64_t at_ms;
    uint64_t words[RUNG_KEY_WORDS_MAX];
} submission;

static submission random_submission(rung_rng *rng, const rung_keyspec *spec) {
    submission s = {.at_ms = INTEGERS[rung_rng_below(rng, COUNT(INTEGERS))]};
    for (unsigned i = 0; i < spec->column_count; i++)
        s.values[i] = random_value(rng, &spec->columns[i]);
    memset(s.words, 0xee, sizeof s.words);
    CHECK_OK(rung_keyspec_encode(spec, s.values, s.at_ms, s.words));
    return s;
}

static void check_round_trip(const rung_keyspec *spec, const submission *s) {
    rung_value values[RUNG_COLUMNS_MAX];
    int64_t at_ms = 42;
    rung_keyspec_decode(spec, s->words, values, &at_ms);
    CHECK_EQ_I64(at_ms, !rung_tie_keeps_time(spec->tie) ? 0 : s->at_ms);
    for (unsigned i = 0; i < spec->column_count; i++)
        CHECK(same_value(&spec->columns[i], values[i], s->values[i]));
    for (unsigned i = rung_keyspec_words(spec); i < RUNG_KEY_WORDS_MAX; i++)
        CHECK_EQ_U64(s->words[i], 0);
}

static int plain_compare_scores(const rung_keyspec *spec, const submission *a,
                                const submission *b) {
    for (unsigned i = 0; i < spec->column_count; i++) {
        int c = plain_compare(&spec->columns[i], a->values[i], b->values[i]);
        if (c)
            return c;
    }
    return 0;
}

static int plain_compare_keys(const rung_keyspec *spec, const submission *a, const submission *b) {
    int c = plain_compare_scores(spec, a, b);
    if (c || !rung_tie_keeps_time(spec->tie))
        return c;
    c = (a->at_ms > b->at_ms) - (a->at_ms < b->at_ms);
    return spec->tie == RUNG_TIE_LAST ? -c : c;
}

static int compare_words(const uint64_t *a, const uint64_t *b, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

TEST(keys_order_as_tuples_for_all_combinations) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(6));
    uint64_t steps = test_steps(400000);
    for (uint64_t i = 0; i < steps; i += 20) {
        rung_keyspec spec = random_spec(&rng);
        unsigned words = rung_keyspec_words(&spec), score_words = rung_keyspec_score_words(&spec);
        CHECK(words >= 1 && words <= RUNG_KEY_WORDS_MAX &&
              words - score_words == rung_tie_keeps_time(spec.tie));
        for (int j = 0; j < 20; j++) {
            submission a = random_submission(&rng, &spec), b = random_submission(&rng, &spec);
            check_round_trip(&spec, &a);
            CHECK_EQ_I64(compare_words(a.words, b.words, words), plain_compare_keys(&spec, &a, &b));
            CHECK_EQ_I64(compare_words(a.words, b.words, score_words),
                         plain_compare_scores(&spec, &a, &b));
        }
    }
}

TEST(the_earlier_wins_a_tie_by_default) {
    rung_keyspec spec = {.column_count = 1};
    uint64_t early[RUNG_KEY_WORDS_MAX], late[RUNG_KEY_WORDS_MAX];
    CHECK_OK(rung_keyspec_encode(&spec, &(rung_value){.i = 10}, 1000, early));
    CHECK_OK(rung_keyspec_encode(&spec, &(rung_value){.i = 10}, 1001, late));
    CHECK(compare_words(early, late, 1) == 0 && compare_words(early, late, 2) < 0);
    rung_value value;
    rung_keyspec_decode(&spec, early, &value, NULL);
    CHECK_EQ_I64(value.i, 10);
}

/* ---- text ---- */

TEST(text_goes_by_the_columns_type) {
    rung_column integer = {RUNG_SCORE_INTEGER, RUNG_ORDER_DESC, 0},
                decimal = {RUNG_SCORE_DECIMAL, RUNG_ORDER_DESC, 2},
                real = {RUNG_SCORE_REAL, RUNG_ORDER_DESC, 0};
    rung_value v;
    CHECK_STATUS(rung_score_parse(&integer, RUNG_SLICE("12.5"), &v, NULL), RUNG_EINVAL);
    CHECK_OK(rung_score_parse(&integer, RUNG_SLICE("125e1"), &v, NULL));
    CHECK_EQ_I64(v.i, 1250);
    CHECK_OK(rung_score_parse(&decimal, RUNG_SLICE("12.5"), &v, NULL));
    CHECK_EQ_I64(v.i, 1250);
    CHECK_OK(rung_score_parse(&real, RUNG_SLICE("12.5"), &v, NULL));
    CHECK(v.d == 12.5);
}

TEST(values_survive_text_in_every_type) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(7));
    uint64_t steps = test_steps(200000);
    for (uint64_t i = 0; i < steps; i++) {
        rung_keyspec spec = random_spec(&rng);
        rung_value value = random_value(&rng, &spec.columns[0]), back = {0};
        char text[RUNG_SCORE_TEXT_MAX];
        size_t length = rung_score_format(&spec.columns[0], value, text);
        CHECK_EQ_U64(length, strlen(text));
        CHECK_OK(rung_score_parse(&spec.columns[0], rung_slice_of(text, length), &back, NULL));
        CHECK(same_value(&spec.columns[0], back, value));
    }
}

RUNG_TEST_MAIN
