/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold whatever the packages say; they are asked in test_reference.c. */
#include "support/duel.h"

static rung_rating_params p;
static duel d;

static void start(rung_wenglin_model model, uint32_t sides, uint32_t each) {
    rung_rating_params_init(&p, RUNG_RATING_OPENSKILL);
    p.wenglin.model = model;
    duel_init(&d, &p, sides, each);
}

#define EACH_MODEL(model)                                                                          \
    for (rung_wenglin_model model = RUNG_WENGLIN_PLACKETT_LUCE;                                    \
         model <= RUNG_WENGLIN_BRADLEY_TERRY_PART; model++)

/* The example of openskill.js's documentation, which had no tau then. */
TEST(two_new_players) {
    start(RUNG_WENGLIN_PLACKETT_LUCE, 2, 1);
    p.wenglin.tau = 0;
    duel_rate(&d, &p);
    CHECK_NEAR(d.after[0].rating, 27.63523138347365, 1e-12);
    CHECK_NEAR(d.after[1].rating, 22.36476861652635, 1e-12);
    CHECK_NEAR(d.after[0].deviation, 8.065506316323548, 1e-12);
    CHECK_NEAR(d.after[0].rating + d.after[1].rating, 50, 1e-9);
}

TEST(the_order_of_the_sides_does_not_matter) {
    EACH_MODEL(model) {
        start(model, 4, 2);
        for (uint32_t i = 0; i < 8; i++)
            d.players[i].rating.rating = 20 + i;
        duel_rate(&d, &p);
        static duel turned;
        turned = d;
        for (uint32_t i = 0; i < 4; i++) {
            turned.sides[i].place = d.sides[3 - i].place;
            for (uint32_t j = 0; j < 2; j++)
                turned.players[2 * i + j] = d.players[2 * (3 - i) + j];
        }
        turned.match.players = turned.players;
        turned.match.sides = turned.sides;
        duel_rate(&turned, &p);
        for (uint32_t i = 0; i < 8; i++) {
            const rung_rating *same = &turned.after[2 * (3 - i / 2) + i % 2];
            CHECK_EQ_F64(d.after[i].rating, same->rating);
            CHECK_EQ_F64(d.after[i].deviation, same->deviation);
        }
    }
}

TEST(better_places_gain_more_among_equals) {
    EACH_MODEL(model) {
        start(model, 6, 1);
        p.wenglin.window = 6;
        duel_rate(&d, &p);
        for (int i = 1; i < 6; i++)
            CHECK(d.after[i - 1].rating > d.after[i].rating);
        CHECK(d.after[0].rating > 25 && d.after[5].rating < 25);
        for (int i = 0; i < 6; i++)
            CHECK(d.after[i].deviation < 25.0 / 3);
    }
}

TEST(a_draw_of_equals_moves_nobody) {
    EACH_MODEL(model) {
        start(model, 3, 2);
        d.sides[1].place = d.sides[2].place = 1;
        duel_rate(&d, &p);
        for (int i = 0; i < 6; i++)
            CHECK_NEAR(d.after[i].rating, 25, 1e-12);
    }
}

TEST(limit_sigma_never_raises_a_deviation) {
    EACH_MODEL(model) {
        start(model, 2, 1);
        p.wenglin.tau = 2;
        d.players[0].rating.deviation = d.players[1].rating.deviation = 0.5;
        duel_rate(&d, &p);
        CHECK(d.after[0].deviation > 0.5);
        p.wenglin.limit_sigma = true;
        duel_rate(&d, &p);
        CHECK_EQ_F64(d.after[0].deviation, 0.5);
    }
}

TEST(who_played_less_moves_less_and_counts_less) {
    EACH_MODEL(model) {
        start(model, 2, 2);
        p.wenglin.tau = 0;
        d.players[1].played = 0.001;
        duel_rate(&d, &p);
        double nearly_alone = d.after[0].rating, nearly_absent = d.after[1].rating;
        CHECK_NEAR(nearly_absent, 25, 0.01);
        CHECK_NEAR(d.after[1].deviation, 25.0 / 3, 1e-5);
        d.players[1].played = 1; /* the same player in a match of one against two */
        d.players[1] = d.players[2];
        d.players[2] = d.players[3];
        d.sides[0].count = 1;
        d.sides[1].first = 1;
        d.match.player_count = 3;
        duel_rate(&d, &p);
        CHECK_NEAR(nearly_alone, d.after[0].rating, 0.02);
    }
}

TEST(any_ratings_give_valid_ones) {
    double means[] = {-RUNG_RATING_MAX, -100, 0, 25, RUNG_RATING_MAX},
           deviations[] = {1e-9, 0.1, 8, RUNG_RATING_MAX};
    EACH_MODEL(model) {
        start(model, 3, 1);
        for (int i = 0; i < 8000; i++) {
            int at = i;
            for (int j = 0; j < 3; j++) {
                d.players[j].rating.rating = means[at % 5];
                d.players[j].rating.deviation = deviations[at / 5 % 4];
                at /= 20;
            }
            duel_rate(&d, &p);
            for (int j = 0; j < 3; j++)
                CHECK_MSG(rung_rating_is_valid(&p, &d.after[j]), "case %d, player %d: %g %g", i, j,
                          d.after[j].rating, d.after[j].deviation);
        }
    }
}

RUNG_TEST_MAIN
