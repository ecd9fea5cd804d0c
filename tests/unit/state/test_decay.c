/* SPDX-License-Identifier: Apache-2.0 */
/* Forward decay against the textbook: a submission of v at time a is worth v x 2^(-(T - a) / half_life) at time
 * T, evaluated directly in long double. Weights first, then a whole board over ten simulated years. */
#include "state/decay.h"
#include "state/state.h"
#include "support/check.h"
#include "support/rng.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define HOUR_MS         INT64_C(3600000)
#define DAY_MS          (24 * HOUR_MS)
#define YEAR_MS         (365 * DAY_MS)
#define LANDMARK        INT64_C(1794000000000) /* some day in 2026 */
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const int64_t half_lives_ms[] = {60000, HOUR_MS, 12345678, 30 * DAY_MS, 36500 * DAY_MS};

static uint64_t weigh(double value, int64_t at_ms, int64_t half_life_ms) {
    uint64_t weight = 0;
    CHECK_OK(rung__decay_weight(value, at_ms, LANDMARK, half_life_ms, &weight));
    return weight;
}

/* log2 of v x 2^((a - landmark) / half_life): what order is about. */
static long double log2_weight(double value, int64_t at_ms, int64_t half_life_ms) {
    return log2l((long double)value) + (long double)(at_ms - LANDMARK) / (long double)half_life_ms;
}

static void check_near(double got, long double expected, double tolerance) {
    if (expected < (long double)DBL_MIN || expected > (long double)DBL_MAX) {
        CHECK_MSG(expected < 1 ? got < 1e-300 : got > 1e300, "%.17g, expected %.17Lg", got,
                  expected);
        return;
    }
    CHECK_MSG(fabsl((long double)got - expected) <= (long double)tolerance * expected,
              "%.17g, expected %.17Lg", got, expected);
}

static double some_value(rung_rng *r) {
    static const double extremes[] = {5e-324,  DBL_MIN, 1e-300,          1e300,
                                      DBL_MAX, 1,       2 - DBL_EPSILON, 1 + DBL_EPSILON};
    if (rung_rng_below(r, 4) == 0)
        return extremes[rung_rng_below(r, COUNT_OF(extremes))];
    return 1e-9 + rung_rng_double(r) * (rung_rng_below(r, 2) ? 10 : 1e12);
}

static int64_t some_time(rung_rng *r) {
    return LANDMARK - YEAR_MS + (int64_t)rung_rng_below(r, 11 * (uint64_t)YEAR_MS);
}

TEST(one_submission_is_worth_what_the_textbook_says) {
    rung_rng r;
    rung_rng_seed(&r, test_seed(1));
    for (uint64_t i = 0, n = test_steps(20000); i < n; i++) {
        int64_t half_life = half_lives_ms[i % COUNT_OF(half_lives_ms)], at = some_time(&r),
                now = some_time(&r);
        if (i % 3 == 0)
            now = at + (int64_t)rung_rng_below(&r, 40 * (uint64_t)half_life);
        double value = some_value(&r);
        long double expected =
            (long double)value * exp2l(-(long double)(now - at) / (long double)half_life);
        check_near(rung__decay_value(weigh(value, at, half_life), now, LANDMARK, half_life),
                   expected, 2e-11);
    }
}

TEST(order_of_weights_is_order_of_scores) {
    rung_rng r;
    rung_rng_seed(&r, test_seed(2));
    for (uint64_t i = 0, n = test_steps(20000); i < n; i++) {
        int64_t half_life = half_lives_ms[i % COUNT_OF(half_lives_ms)], at = some_time(&r),
                other_at = some_time(&r);
        double value = some_value(&r), other = i % 2 ? value : some_value(&r);
        if (i % 3 == 0)
            other_at = at + (int64_t)rung_rng_below(&r, 3) - 1; /* a millisecond apart, or none */
        uint64_t x = weigh(value, at, half_life), y = weigh(other, other_at, half_life);
        long double apart =
            log2_weight(value, at, half_life) - log2_weight(other, other_at, half_life);
        if (fabsl(apart) > 2e-11L)
            CHECK_EQ_U64(x > y, apart > 0);
        if (value == other && at == other_at)
            CHECK_EQ_U64(x, y);
        if (value == other && at >= other_at)
            CHECK(x >= y); /* never the other way round, however near */
    }
}

TEST(sums) {
    rung_rng r;
    rung_rng_seed(&r, test_seed(3));
    for (uint64_t i = 0, n = test_steps(200); i < n; i++) {
        int64_t half_life = half_lives_ms[i % COUNT_OF(half_lives_ms)], at = LANDMARK;
        uint64_t weight = 0;
        long double score = 0; /* as of `at` */
        for (int k = 0; k < 500; k++) {
            int64_t step = (int64_t)rung_rng_below(&r, (uint64_t)half_life / 4);
            double value = 0.001 + rung_rng_double(&r) * 100;
            uint64_t term = weigh(value, at += step, half_life), before = weight;
            CHECK_EQ_U64(rung__decay_add(weight, term), rung__decay_add(term, weight));
            weight = rung__decay_add(weight, term);
            CHECK(weight >= before && weight >= term);
            score = score * exp2l(-(long double)step / (long double)half_life) + (long double)value;
        }
        check_near(rung__decay_value(weight, at, LANDMARK, half_life), score, 1e-9);
        check_near(rung__decay_value(rung__decay_divide(weight, 7), at, LANDMARK, half_life),
                   score / 7, 1e-9);
    }
    CHECK_EQ_U64(rung__decay_add(0, 0), 0);
    CHECK_EQ_U64(rung__decay_add(weigh(3, LANDMARK, 60000), 0), weigh(3, LANDMARK, 60000));
    CHECK_EQ_U64(rung__decay_divide(0, 3), 0);
}

TEST(rounding_carries_into_the_exponent) {
    CHECK_EQ_U64(weigh(2 - DBL_EPSILON, LANDMARK, HOUR_MS), weigh(2, LANDMARK, HOUR_MS));
    CHECK_EQ_F64(
        rung__decay_value(weigh(2 - DBL_EPSILON, LANDMARK, HOUR_MS), LANDMARK, LANDMARK, HOUR_MS),
        2);
    CHECK(weigh(1 + 0x1p-30, LANDMARK, HOUR_MS) > weigh(1, LANDMARK, HOUR_MS));
    CHECK(weigh(1 - 0x1p-30, LANDMARK, HOUR_MS) < weigh(1, LANDMARK, HOUR_MS));
    /* The sum of all that is just below a power of two. */
    uint64_t below = weigh(1 - 0x1p-39, LANDMARK, HOUR_MS);
    CHECK(rung__decay_add(below, below) >= below);
    check_near(rung__decay_value(rung__decay_add(below, below), LANDMARK, LANDMARK, HOUR_MS), 2,
               1e-11);
}

TEST(a_drop_in_the_ocean) {
    uint64_t ocean = weigh(1e9, LANDMARK + 100 * HOUR_MS, HOUR_MS),
             drop = weigh(1, LANDMARK, HOUR_MS);
    CHECK_EQ_U64(rung__decay_add(ocean, drop), ocean);
    CHECK_EQ_U64(rung__decay_add(drop, ocean), ocean);
}

TEST(what_cannot_be_weighed) {
    static const double bad[] = {0, -0.0, -1, HUGE_VAL, -HUGE_VAL, (double)NAN};
    uint64_t weight = 77;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK_STATUS(rung__decay_weight(bad[i], LANDMARK, LANDMARK, HOUR_MS, &weight), RUNG_ERANGE);
    /* 33 million half-lives of a minute are 63 years. */
    CHECK_STATUS(rung__decay_weight(1, LANDMARK + 64 * YEAR_MS, LANDMARK, 60000, &weight),
                 RUNG_ERANGE);
    CHECK_STATUS(rung__decay_weight(1, LANDMARK - 64 * YEAR_MS, LANDMARK, 60000, &weight),
                 RUNG_ERANGE);
    CHECK_EQ_U64(weight, 77);
    CHECK_OK(rung__decay_weight(1, LANDMARK + 63 * YEAR_MS, LANDMARK, 60000, &weight));
    CHECK_OK(rung__decay_weight(1, LANDMARK - 63 * YEAR_MS, LANDMARK, 60000, &weight));
}

/* ---- a board over ten years ---- */

enum { PLAYERS = 6 };

static const char *const names[PLAYERS] = {"ada", "bob", "cem", "dag", "eva", "fia"};

/* log2(2^x + 2^y) */
static long double log2_add(long double x, long double y) {
    long double high = x > y ? x : y, low = x > y ? y : x;
    return high + log2l(1 + exp2l(low - high));
}

static rung_state *decay_board(int64_t half_life_ms) {
    rung_state *s = NULL;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s));
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = LANDMARK};
    e.defined.board = RUNG_SLICE("fame");
    e.defined.def = rung_board_def_default();
    e.defined.def.update = RUNG_UPDATE_DECAY;
    e.defined.def.half_life_ms = half_life_ms;
    e.defined.def.key.columns[0].type = RUNG_SCORE_REAL;
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    return s;
}

/* Order and scores as the textbook has them; `log2s` are relative to the landmark. */
static void check_board(const rung_state *s, const long double *log2s, int64_t now,
                        int64_t half_life_ms) {
    rung_view v;
    rung_row rows[PLAYERS];
    CHECK_OK(
        rung_state_view(s, &(rung_query){.board = RUNG_SLICE("fame"), .now_ms = now}, &v, NULL));
    uint32_t n = rung_view_top(&v, 0, PLAYERS, rows);
    long double above = HUGE_VALL;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t p = 0;
        while (!rung_slice_eq(rows[i].id, rung_slice_str(names[p])))
            p++;
        CHECK_MSG(log2s[p] <= above + 2e-9L, "%s stands too low", names[p]);
        above = log2s[p];
        long double now_halvings = (long double)(now - LANDMARK) / (long double)half_life_ms;
        check_near(rows[i].values[0].d, exp2l(log2s[p] - now_halvings), 1e-9);
    }
}

static void ten_years(int64_t half_life_ms, int64_t step_ms) {
    rung_state *s = decay_board(half_life_ms);
    rung_rng r;
    rung_rng_seed(&r, test_seed(4));
    long double log2s[PLAYERS];
    for (int p = 0; p < PLAYERS; p++)
        log2s[p] = -HUGE_VALL;
    uint64_t steps = (uint64_t)(10 * YEAR_MS / step_ms);
    for (uint64_t i = 1; i <= steps; i++) {
        int64_t t = LANDMARK + (int64_t)i * step_ms;
        uint64_t p = rung_rng_below(&r, PLAYERS);
        rung_event e = {.kind = RUNG_EVENT_SCORE, .ts_ms = t};
        e.score = (rung_score_event){
            .board = RUNG_SLICE("fame"), .player = rung_slice_str(names[p]), .value_count = 1};
        e.score.types[0] = RUNG_SCORE_REAL;
        e.score.values[0].d = 0.5 + rung_rng_double(&r) * 10;
        e.score.has_at = i % 5 == 0;
        e.score.at_ms = t - (int64_t)rung_rng_below(&r, (uint64_t)half_life_ms * 2);
        rung_status st = rung_state_apply(s, &e, NULL, NULL);
        CHECK_MSG(st == RUNG_OK || st == RUNG_UNCHANGED, "step %" PRIu64 ": %s", i,
                  rung_status_name(st));
        int64_t at = e.score.has_at ? e.score.at_ms : t;
        log2s[p] = log2_add(log2s[p], log2_weight(e.score.values[0].d, at, half_life_ms));
        if (i % 997 == 0 || i == steps)
            check_board(s, log2s, t, half_life_ms);
    }
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

TEST(ten_years_of_one_minute) {
    ten_years(60000, HOUR_MS);
}
TEST(ten_years_of_one_hour) {
    ten_years(HOUR_MS, HOUR_MS);
}
TEST(ten_years_of_thirty_days) {
    ten_years(30 * DAY_MS, HOUR_MS);
}

/* ---- counting at the ends of the doubles ---- */

static void submit(rung_state *s, const char *name, double score, int64_t at) {
    rung_event e = {.kind = RUNG_EVENT_SCORE, .ts_ms = LANDMARK};
    e.score = (rung_score_event){.board = RUNG_SLICE("fame"),
                                 .player = rung_slice_str(name),
                                 .value_count = 1,
                                 .has_at = true,
                                 .at_ms = at};
    e.score.types[0] = RUNG_SCORE_REAL;
    e.score.values[0].d = score;
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
}

static uint32_t count_in(const rung_state *s, int64_t now, double low, double high) {
    rung_view v;
    uint32_t count = 77;
    CHECK_OK(
        rung_state_view(s, &(rung_query){.board = RUNG_SLICE("fame"), .now_ms = now}, &v, NULL));
    CHECK_OK(rung_view_count_range(&v, (rung_value){.d = low}, (rung_value){.d = high}, &count));
    return count;
}

TEST(what_has_decayed_to_nothing_is_counted) {
    rung_state *s = decay_board(HOUR_MS);
    int64_t later = LANDMARK + 60 * DAY_MS;
    CHECK_EQ_U64(count_in(s, LANDMARK, -HUGE_VAL, HUGE_VAL), 0);
    for (int p = 0; p < PLAYERS; p++)
        submit(s, names[p], 7 + p / 2, LANDMARK);
    CHECK_EQ_U64(count_in(s, LANDMARK, 0, 0), 0);
    CHECK_EQ_U64(count_in(s, LANDMARK, 7.5, 8.5), 2);
    CHECK_EQ_U64(count_in(s, later, -HUGE_VAL, HUGE_VAL), PLAYERS);
    CHECK_EQ_U64(count_in(s, later, 0, HUGE_VAL), PLAYERS);
    CHECK_EQ_U64(count_in(s, later, 0, 0), PLAYERS);
    CHECK_EQ_U64(count_in(s, later, 5e-324, HUGE_VAL), 0);
    CHECK_EQ_U64(count_in(s, later, 1, 0), 0);
    rung_state_destroy(s);
}

TEST(what_is_beyond_all_doubles_is_counted) {
    rung_state *s = decay_board(60000);
    submit(s, names[0], 7, LANDMARK);
    submit(s, names[1], 5, LANDMARK + DAY_MS);
    CHECK_EQ_U64(count_in(s, LANDMARK, 5, HUGE_VAL), 2);
    CHECK_EQ_U64(count_in(s, LANDMARK, 5, DBL_MAX), 1);
    CHECK_EQ_U64(count_in(s, LANDMARK, HUGE_VAL, HUGE_VAL), 1);
    CHECK_EQ_U64(count_in(s, LANDMARK + 63 * YEAR_MS, 0, 0), 2);
    CHECK_EQ_U64(count_in(s, LANDMARK + 70 * YEAR_MS, -1, HUGE_VAL), 2);
    rung_state_destroy(s);
}

RUNG_TEST_MAIN
