/* SPDX-License-Identifier: Apache-2.0 */
#include "rating/glicko2.h"

#include "support/duel.h"

#define DAY_MS (86400 * 1000LL)

static rung_rating_params p;
static duel d;

static void start(uint32_t sides, uint32_t each) {
    rung_rating_params_init(&p, RUNG_RATING_GLICKO2);
    duel_init(&d, &p, sides, each);
}

/* Every figure of Glickman's example. The paper computes with rounded parts: v is 1.7785 there and 1.7790 exactly,
 * and the new rating is 1464.06 there and 1464.0507 exactly, as all implementations find that do not round in
 * between. */
TEST(the_example_of_the_paper) {
    start(2, 1);
    rung_rating player = {.rating = 1500, .deviation = 200, .volatility = 0.06, .games = 7};
    rung_rating opponents[] = {{.rating = 1400, .deviation = 30},
                               {.rating = 1550, .deviation = 100},
                               {.rating = 1700, .deviation = 300}};
    double points[] = {1, 0, 0};
    rung_glicko2_games games = {0, 0};
    for (int i = 0; i < 3; i++)
        rung_glicko2_add(&games, &player, &opponents[i], points[i]);
    CHECK_NEAR(1 / games.information, 1.7785, 0.0006);
    CHECK_NEAR(games.surprise / games.information, -0.4834, 0.0006);
    rung_rating after = rung_glicko2_settle(&p, &player, &games, 1);
    CHECK_NEAR(after.rating, 1464.06, 0.01);
    CHECK_NEAR(after.rating, 1464.0507, 0.00005);
    CHECK_NEAR(after.deviation, 151.52, 0.005);
    CHECK_NEAR(after.volatility, 0.05999, 0.00001);
    CHECK_NEAR((after.rating - 1500) / 173.7178, -0.2069, 0.00006);
    CHECK_NEAR(after.deviation / 173.7178, 0.8722, 0.00005);
    CHECK_EQ_U64(after.games, 8);
}

/* The paper's table of g and E, through games against each opponent alone: surprise of a win is g (1 - E),
 * information g^2 E (1 - E). */
TEST(the_table_of_the_paper) {
    static const double RATING[] = {1400, 1550, 1700}, DEVIATION[] = {30, 100, 300};
    static const double G[] = {0.9955, 0.9531, 0.7242}, E[] = {0.639, 0.432, 0.303};
    rung_rating player = {.rating = 1500, .deviation = 200, .volatility = 0.06};
    for (int i = 0; i < 3; i++) {
        rung_rating opponent = {.rating = RATING[i], .deviation = DEVIATION[i]};
        rung_glicko2_games games = {0, 0};
        rung_glicko2_add(&games, &player, &opponent, 1);
        CHECK_NEAR(games.surprise, G[i] * (1 - E[i]), 0.0006);
        CHECK_NEAR(games.information, G[i] * G[i] * E[i] * (1 - E[i]), 0.0006);
    }
}

TEST(a_period_without_games_only_adds_uncertainty) {
    start(2, 1);
    rung_rating player = {.rating = 1500, .deviation = 200, .volatility = 0.06};
    rung_glicko2_games none = {0, 0};
    rung_rating after = rung_glicko2_settle(&p, &player, &none, 1);
    CHECK_EQ_F64(after.rating, 1500);
    CHECK_EQ_F64(after.volatility, 0.06);
    CHECK_NEAR(after.deviation, 173.7178 * sqrt(200 / 173.7178 * (200 / 173.7178) + 0.0036), 1e-9);
}

TEST(a_match_is_a_period_that_takes_no_time) {
    start(2, 1);
    d.players[0].rating = (rung_rating){.rating = 1500, .deviation = 200, .volatility = 0.06};
    d.players[1].rating = (rung_rating){.rating = 1400, .deviation = 30, .volatility = 0.06};
    duel_rate(&d, &p);
    rung_glicko2_games games = {0, 0};
    rung_glicko2_add(&games, &d.players[0].rating, &d.players[1].rating, 1);
    rung_rating want = rung_glicko2_settle(&p, &d.players[0].rating, &games, 0);
    CHECK_NEAR(d.after[0].rating, want.rating, 1e-9);
    CHECK_NEAR(d.after[0].deviation, want.deviation, 1e-9);
    CHECK_NEAR(d.after[0].volatility, want.volatility, 1e-12);
    CHECK(d.after[0].deviation < 200 && d.after[1].rating < 1400);
}

TEST(the_deviation_grows_with_inactivity_up_to_the_limit) {
    start(2, 1);
    rung_rating r = {
        .rating = 1500, .deviation = 50, .volatility = 0.06, .games = 20, .at_ms = DAY_MS};
    CHECK_EQ_F64(rung_rating_deviation_at(&p, &r, DAY_MS), 50);
    CHECK_EQ_F64(rung_rating_deviation_at(&p, &r, 0), 50); /* an older time */
    double scale = 173.7178, want = scale * sqrt(50 / scale * (50 / scale) + 0.0036 * 100);
    CHECK_NEAR(rung_rating_deviation_at(&p, &r, 101 * DAY_MS), want, 1e-9);
    CHECK_EQ_F64(rung_rating_deviation_at(&p, &r, INT64_MAX), 350);
    r.games = 0; /* a new player waits for no one */
    CHECK_EQ_F64(rung_rating_deviation_at(&p, &r, INT64_MAX), 50);
    p.glicko2.period_ms = 0;
    r.games = 20;
    CHECK_EQ_F64(rung_rating_deviation_at(&p, &r, INT64_MAX), 50);
}

TEST(a_match_after_a_pause_moves_more) {
    start(2, 1);
    for (int i = 0; i < 2; i++)
        d.players[i].rating =
            (rung_rating){.rating = 1500, .deviation = 60, .volatility = 0.06, .games = 9};
    duel_rate(&d, &p);
    double at_once = d.after[0].rating;
    d.match.at_ms = 300 * DAY_MS;
    duel_rate(&d, &p);
    CHECK(d.after[0].rating > at_once + 10);
    CHECK_EQ_I64(d.after[0].at_ms, 300 * DAY_MS);
    d.players[0].rating.at_ms = 400 * DAY_MS; /* a late match does not turn back the clock */
    duel_rate(&d, &p);
    CHECK_EQ_I64(d.after[0].at_ms, 400 * DAY_MS);
    CHECK_EQ_I64(d.after[1].at_ms, 300 * DAY_MS);
}

TEST(several_sides_together_are_worth_one_game_unless_told) {
    start(2, 1);
    duel_rate(&d, &p);
    double one = d.after[0].deviation;
    start(5, 1);
    duel_rate(&d, &p);
    CHECK_NEAR(d.after[0].deviation, one, 0.5);
    CHECK_NEAR(d.after[2].rating, 1500, 1e-9); /* the middle one */
    p.pairs_count_fully = true;
    duel_rate(&d, &p);
    CHECK(d.after[0].deviation < one - 20);
}

TEST(upsets_of_any_size_stay_finite) {
    start(2, 1);
    double ratings[] = {-RUNG_RATING_MAX, -5000, 0, 1500, 9000, RUNG_RATING_MAX};
    double deviations[] = {1e-9, 1, 30, 350, RUNG_RATING_MAX}, volatilities[] = {1e-9, 0.06, 10};
    for (int i = 0; i < 6 * 6 * 5 * 5 * 3; i++) {
        d.players[0].rating = (rung_rating){.rating = ratings[i % 6],
                                            .deviation = deviations[i / 36 % 5],
                                            .volatility = volatilities[i / 900 % 3]};
        d.players[1].rating = (rung_rating){
            .rating = ratings[i / 6 % 6], .deviation = deviations[i / 180 % 5], .volatility = 0.06};
        duel_rate(&d, &p);
        for (int j = 0; j < 2; j++)
            CHECK_MSG(rung_rating_is_valid(&p, &d.after[j]), "case %d, player %d: %g %g %g", i, j,
                      d.after[j].rating, d.after[j].deviation, d.after[j].volatility);
    }
}

RUNG_TEST_MAIN
