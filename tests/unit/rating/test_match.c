/* SPDX-License-Identifier: Apache-2.0 */
/* What is refused, by the name of the field; predictions, quality, display, soft reset. */
#include "support/duel.h"

static rung_rating_params p;
static duel d;

#define EACH_SYSTEM(system)                                                                        \
    for (rung_rating_system system = RUNG_RATING_ELO; system <= RUNG_RATING_OPENSKILL; system++)

static void start(rung_rating_system system, uint32_t sides, uint32_t each) {
    rung_rating_params_init(&p, system);
    duel_init(&d, &p, sides, each);
}

static void check_refused(const char *field) {
    memset(d.after, 0x5a, sizeof d.after);
    rung_rating untouched = d.after[0];
    CHECK_STATUS(rung_rating_rate(&p, &d.match, &d.scratch, d.after, &d.err), RUNG_EINVAL);
    CHECK_EQ_STR(d.err.field, field);
    CHECK_EQ_MEM(&untouched, &d.after[0], sizeof untouched);
    double draw;
    CHECK_STATUS(rung_rating_predict(&p, &d.match, &d.scratch, d.predicted, &draw, &d.err),
                 RUNG_EINVAL);
    CHECK_EQ_STR(d.err.field, field);
}

TEST(matches_that_are_none) {
    EACH_SYSTEM(system) {
        start(system, 1, 2);
        check_refused("sides");
        start(system, 0, 0);
        check_refused("sides");
        start(system, 257, 1);
        check_refused("sides");
        start(system, 2, 2);
        d.sides[1].count = 0;
        check_refused("sides[1].players");
        start(system, 2, 2);
        d.sides[1].first = 1; /* a player on both sides */
        check_refused("sides[1].players");
        start(system, 2, 2);
        d.sides[1].count = 1; /* a player on no side */
        check_refused("sides");
        start(system, 2, 2);
        d.sides[1].count = UINT32_MAX;
        check_refused("sides[1].players");
        start(system, 2, 1);
        d.match.side_count = 3;
        check_refused("sides");
    }
}

TEST(numbers_that_are_none) {
    double bad[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e300};
    EACH_SYSTEM(system) {
        for (int i = 0; i < 6; i++) {
            start(system, 2, 2);
            d.players[3].weight = bad[i];
            check_refused("sides[1].players[1].weight");
            start(system, 2, 2);
            d.players[1].played = bad[i];
            check_refused("sides[0].players[1].played");
            start(system, 2, 2);
            d.players[2].rating.rating = bad[i];
            if (!(fabs(bad[i]) <= RUNG_RATING_MAX))
                check_refused("sides[1].players[0].rating");
            if (system == RUNG_RATING_ELO)
                continue;
            start(system, 2, 2);
            d.players[2].rating.deviation = bad[i];
            check_refused("sides[1].players[0].rating");
        }
    }
}

TEST(the_largest_matches) {
    EACH_SYSTEM(system) {
        start(system, 256, 1);
        duel_rate(&d, &p);
        duel_predict(&d, &p);
        CHECK(d.after[0].rating > d.after[255].rating);
        CHECK_NEAR(d.predicted[17].place, 128.5, 1e-6);
        start(system, 2, 128);
        duel_rate(&d, &p);
        CHECK(d.after[0].rating > d.after[255].rating);
    }
}

/* One parameter out of range at a time. */
TEST(parameters_are_checked_by_name) {
    struct {
        rung_rating_system system;
        double *value;
        double good, bad;
        const char *field;
    } cases[] = {
        {RUNG_RATING_ELO, &p.rating, 0, 2e6, "rating.initial"},
        {RUNG_RATING_ELO, &p.conservative, 1, -1, "rating.conservative"},
        {RUNG_RATING_ELO, &p.draw, 0.5, 1, "rating.draw"},
        {RUNG_RATING_ELO, &p.elo.k, 0, -1, "rating.k"},
        {RUNG_RATING_ELO, &p.elo.scale, 1, 0, "rating.scale"},
        {RUNG_RATING_ELO, &p.elo.floor, 100, 1501, "rating.floor"},
        {RUNG_RATING_ELO, &p.elo.difference_max, 400, -1, "rating.difference_max"},
        {RUNG_RATING_ELO, &p.elo.provisional_k, 40, 10001, "rating.provisional_k"},
        {RUNG_RATING_ELO, &p.elo.provisional_effect, 0, 1.1, "rating.provisional_effect"},
        {RUNG_RATING_GLICKO2, &p.deviation, 300, 0, "rating.deviation"},
        {RUNG_RATING_GLICKO2, &p.volatility, 0.1, 1.1, "rating.volatility"},
        {RUNG_RATING_GLICKO2, &p.glicko2.tau, 0.3, 0, "rating.tau"},
        {RUNG_RATING_GLICKO2, &p.glicko2.deviation_min, 10, 0, "rating.deviation_min"},
        {RUNG_RATING_GLICKO2, &p.glicko2.deviation_min, 10, 351, "rating.deviation_min"},
        {RUNG_RATING_GLICKO2, &p.glicko2.deviation_max, 350, 349, "rating.deviation_max"},
        {RUNG_RATING_OPENSKILL, &p.deviation, 9, 0, "rating.deviation"},
        {RUNG_RATING_OPENSKILL, &p.wenglin.beta, 5, 0, "rating.beta"},
        {RUNG_RATING_OPENSKILL, &p.wenglin.kappa, 0.1, 0, "rating.kappa"},
        {RUNG_RATING_OPENSKILL, &p.wenglin.tau, 0, -0.1, "rating.tau"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rung_rating_params_init(&p, cases[i].system);
        CHECK_OK(rung_rating_params_check(&p, &d.err));
        *cases[i].value = cases[i].good;
        CHECK_OK(rung_rating_params_check(&p, &d.err));
        double bad[] = {cases[i].bad, NAN, INFINITY};
        for (int j = 0; j < 3; j++) {
            *cases[i].value = bad[j];
            CHECK_STATUS(rung_rating_params_check(&p, &d.err), RUNG_EINVAL);
            CHECK_EQ_STR(d.err.field, cases[i].field);
        }
    }
}

TEST(whole_numbers_and_rules_are_checked_by_name) {
    start(RUNG_RATING_ELO, 2, 1);
    p.elo.rule_count = 9;
    CHECK_STATUS(rung_rating_params_check(&p, &d.err), RUNG_EINVAL);
    CHECK_EQ_STR(d.err.field, "rating.rules");
    p.elo.rule_count = 2;
    p.elo.rules[0] = p.elo.rules[1] = (rung_elo_rule){.from = 0, .under = 1, .k = 1};
    CHECK_OK(rung_rating_params_check(&p, &d.err));
    p.elo.rules[1].under = 0;
    CHECK_STATUS(rung_rating_params_check(&p, &d.err), RUNG_EINVAL);
    CHECK_EQ_STR(d.err.field, "rating.rules[1].under");
    p.elo.rules[1] = (rung_elo_rule){.from = NAN, .under = 1, .k = 1};
    CHECK_STATUS(rung_rating_params_check(&p, &d.err), RUNG_EINVAL);
    CHECK_EQ_STR(d.err.field, "rating.rules[1].from");
    p.elo.rules[1] = (rung_elo_rule){.from = 0, .under = 1, .k = -1};
    CHECK_STATUS(rung_rating_params_check(&p, &d.err), RUNG_EINVAL);
    CHECK_EQ_STR(d.err.field, "rating.rules[1].k");
    start(RUNG_RATING_GLICKO2, 2, 1);
    p.glicko2.period_ms = -1;
    CHECK_STATUS(rung_rating_params_check(&p, &d.err), RUNG_EINVAL);
    CHECK_EQ_STR(d.err.field, "rating.period");
    start(RUNG_RATING_OPENSKILL, 2, 1);
    p.wenglin.window = 0;
    CHECK_STATUS(rung_rating_params_check(&p, &d.err), RUNG_EINVAL);
    CHECK_EQ_STR(d.err.field, "rating.window");
    p.system = (rung_rating_system)7;
    CHECK_STATUS(rung_rating_params_check(&p, &d.err), RUNG_EINVAL);
    CHECK_EQ_STR(d.err.field, "update");
}

TEST(predictions_are_probabilities) {
    EACH_SYSTEM(system) {
        start(system, 5, 2);
        p.draw = 0.2;
        for (uint32_t i = 0; i < 10; i++)
            d.players[i].rating.rating += 0.3 * d.players[i].rating.deviation * i;
        duel_predict(&d, &p);
        double wins = d.draw, places = 0, points = 0;
        for (int i = 0; i < 5; i++) {
            wins += d.predicted[i].win;
            places += d.predicted[i].place;
            points += d.predicted[i].score;
            CHECK(d.predicted[i].place >= 1 && d.predicted[i].place <= 5);
        }
        CHECK_NEAR(wins, 1, 1e-12);
        CHECK_NEAR(places, 15, 1e-9);
        CHECK_NEAR(points, 2.5, 1e-9);
    }
}

TEST(equals_draw_as_often_as_the_parameter_says) {
    EACH_SYSTEM(system) {
        start(system, 2, 1);
        p.draw = 0.3;
        duel_predict(&d, &p);
        CHECK_NEAR(d.draw, 0.3, 1e-12);
        CHECK_NEAR(d.predicted[0].win, 0.35, 1e-12);
        CHECK_NEAR(d.predicted[1].place, 1.5, 1e-12);
    }
}

/* For Elo, strengths are known: 10^(rating / 400). */
TEST(luce_is_exact_for_elo) {
    start(RUNG_RATING_ELO, 3, 1);
    double ratings[] = {1500, 1700, 1900}, sum = 0;
    for (int i = 0; i < 3; i++) {
        d.players[i].rating.rating = ratings[i];
        sum += pow(10, ratings[i] / 400);
    }
    duel_predict(&d, &p);
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(d.predicted[i].win, pow(10, ratings[i] / 400) / sum, 1e-12);
}

TEST(quality_is_best_among_certain_equals) {
    EACH_SYSTEM(system) {
        start(system, 2, 1);
        rung_rating a = d.players[0].rating, b = a;
        a.deviation = b.deviation = p.deviation / 1e6;
        a.games = b.games = 1;
        CHECK_NEAR(rung_rating_quality(&p, &a, &b, 0), 1, 1e-6);
        double last = 1.1;
        for (int i = 0; i < 100; i++, b.rating *= 1.05) {
            double q = rung_rating_quality(&p, &a, &b, 0);
            CHECK(q >= 0 && q <= last);
            CHECK_NEAR(q, rung_rating_quality(&p, &b, &a, 0), 1e-12);
            last = q;
        }
        if (system == RUNG_RATING_ELO)
            continue;
        b = a;
        b.deviation = p.deviation;
        CHECK(rung_rating_quality(&p, &a, &b, 0) < 0.9);
    }
}

TEST(the_displayed_rating_is_conservative_and_rounded_to_even) {
    start(RUNG_RATING_GLICKO2, 2, 1);
    rung_rating r = {.rating = 1500, .deviation = 350, .volatility = 0.06};
    CHECK_EQ_I64(rung_rating_displayed(&p, &r, 0), 800);
    CHECK_EQ_I64(rung_rating_displayed(&p, &r, 2), 80000);
    p.conservative = 0;
    r.rating = 0.5;
    CHECK_EQ_I64(rung_rating_displayed(&p, &r, 0), 0);
    r.rating = 1.5;
    CHECK_EQ_I64(rung_rating_displayed(&p, &r, 0), 2);
    r.rating = -1.5;
    CHECK_EQ_I64(rung_rating_displayed(&p, &r, 0), -2);
    r.rating = -2.5;
    CHECK_EQ_I64(rung_rating_displayed(&p, &r, 0), -2);
    r.rating = 1464.0507;
    CHECK_EQ_I64(rung_rating_displayed(&p, &r, 3), 1464051);
    r.rating = RUNG_RATING_MAX;
    CHECK_EQ_I64(rung_rating_displayed(&p, &r, 9), 1000000000000000);
    p.conservative = 10;
    r = (rung_rating){.rating = -RUNG_RATING_MAX, .deviation = RUNG_RATING_MAX};
    CHECK_EQ_I64(rung_rating_displayed(&p, &r, 9), -11000000000000000);
}

TEST(a_soft_reset_moves_towards_new_players) {
    start(RUNG_RATING_GLICKO2, 2, 1);
    rung_rating r = {.rating = 1900, .deviation = 60, .volatility = 0.05, .games = 70, .at_ms = 5};
    rung_rating after = rung_rating_soft_reset(&p, &r, 0.5, 80);
    CHECK_EQ_F64(after.rating, 1700);
    CHECK_EQ_F64(after.deviation, 100);
    CHECK_EQ_F64(after.volatility, 0.05);
    CHECK_EQ_U64(after.games, 70);
    CHECK_EQ_F64(rung_rating_soft_reset(&p, &r, 0, 1e5).rating, 1500);
    CHECK_EQ_F64(rung_rating_soft_reset(&p, &r, 1, 1e5).deviation, 350);
    start(RUNG_RATING_ELO, 2, 1);
    CHECK_EQ_F64(rung_rating_soft_reset(&p, &(rung_rating){.rating = 1100}, 0.75, 9).rating, 1200);
}

RUNG_TEST_MAIN
