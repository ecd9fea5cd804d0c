/* SPDX-License-Identifier: Apache-2.0 */
#include "support/duel.h"

static rung_rating_params p;
static duel d;

static void start(uint32_t sides, uint32_t each) {
    rung_rating_params_init(&p, RUNG_RATING_ELO);
    duel_init(&d, &p, sides, each);
}

/* The change of the first of two players with these ratings and this result: 1, 0.5 or 0. */
static double change(double mine, double theirs, double points) {
    duel_init(&d, &p, 2, 1);
    d.players[0].rating.rating = mine;
    d.players[1].rating.rating = theirs;
    d.sides[0].place = points > 0.5 ? 1 : points < 0.5 ? 3 : 2;
    d.sides[1].place = 2;
    duel_rate(&d, &p);
    return d.after[0].rating - mine;
}

/* Elo, "The Rating of Chessplayers", and every page about it since: a player of 1613 scores 2.5 where 2.867 was
 * expected (often printed as 2.88, from rounded parts), and goes to 1601. */
TEST(the_tournament_of_the_encyclopedia) {
    static const double THEIRS[] = {1609, 1477, 1388, 1586, 1720}, POINTS[] = {0, 0.5, 1, 1, 0};
    static const double EXPECTED[] = {0.51, 0.69, 0.79, 0.54, 0.35};
    start(2, 1);
    double sum = 1613;
    for (int i = 0; i < 5; i++) {
        sum += change(1613, THEIRS[i], POINTS[i]);
        duel_predict(&d, &p);
        CHECK_NEAR(d.predicted[0].score, EXPECTED[i], 0.0051);
    }
    CHECK_NEAR(sum, 1601, 0.5);
}

TEST(four_hundred_points_are_odds_of_ten_to_one) {
    start(2, 1);
    CHECK_NEAR(change(1900, 1500, 1), 32.0 / 11, 1e-12);
    CHECK_NEAR(change(1900, 1500, 0), -320.0 / 11, 1e-12);
    CHECK_NEAR(change(1900, 1500, 0.5), 32 * (0.5 - 10.0 / 11), 1e-12);
    CHECK_EQ_F64(change(1500, 1500, 1), 16);
    CHECK_EQ_F64(change(1500, 1500, 0.5), 0);
}

/* FIDE: 40 for the first 30 games, 20 below 2400, then 10; differences above 400 count as 400. */
TEST(the_rules_of_the_chess_federation) {
    start(2, 1);
    p.elo.k = 10;
    p.elo.difference_max = 400;
    p.elo.rule_count = 2;
    p.elo.rules[0] = (rung_elo_rule){
        .games_under = 30, .from = -RUNG_RATING_MAX, .under = 2 * RUNG_RATING_MAX, .k = 40};
    p.elo.rules[1] = (rung_elo_rule){.from = -RUNG_RATING_MAX, .under = 2400, .k = 20};
    CHECK_OK(rung_rating_params_check(&p, NULL));
    duel_init(&d, &p, 2, 1);
    d.players[0].rating.games = 29;
    d.players[1].rating.games = 30;
    duel_rate(&d, &p);
    CHECK_EQ_F64(d.after[0].rating, 1520);
    CHECK_EQ_F64(d.after[1].rating, 1490);
    CHECK_EQ_U64(d.after[0].games, 30);
    d.players[0].rating = (rung_rating){.rating = 2400, .games = 500};
    d.players[1].rating = (rung_rating){.rating = 2400, .games = 500};
    duel_rate(&d, &p);
    CHECK_EQ_F64(d.after[0].rating, 2405);
    CHECK_NEAR(change(1000, 2900, 1), 40 * 10.0 / 11, 1e-12);
}

/* FIDE Handbook B.02, 8.1.2: rating differences and the expected score in hundredths. */
TEST(the_table_of_the_chess_federation) {
    static const int LEAST[] = {4, 48, 99, 154, 206, 303, 392, 517, 620};
    static const int HUNDREDTHS[] = {51, 57, 64, 71, 77, 86, 92, 97, 99};
    start(2, 1);
    p.elo.is_normal = true;
    for (int i = 0; i < 9; i++) {
        d.players[0].rating.rating = 1500 + LEAST[i] + 1;
        duel_predict(&d, &p);
        CHECK_EQ_I64(lround(100 * d.predicted[0].score), HUNDREDTHS[i]);
        CHECK_NEAR(d.predicted[0].score + d.predicted[1].score, 1, 1e-15);
    }
}

TEST(provisional_players_move_fast_and_move_others_little) {
    start(2, 1);
    p.elo.provisional_games = 10;
    p.elo.provisional_k = 64;
    p.elo.provisional_effect = 0.25;
    d.players[0].rating.games = 9;
    d.players[1].rating.games = 10;
    duel_rate(&d, &p);
    CHECK_EQ_F64(d.after[0].rating, 1532);
    CHECK_EQ_F64(d.after[1].rating, 1496);
}

TEST(several_sides_are_pairs) {
    start(4, 1);
    duel_rate(&d, &p);
    double pairs[] = {1.5, 0.5, -0.5, -1.5}; /* points beyond the expected 1.5 of 3 */
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(d.after[i].rating, 1500 + 32 * pairs[i] / 3, 1e-9);
    p.pairs_count_fully = true;
    duel_rate(&d, &p);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(d.after[i].rating, 1500 + 32 * pairs[i], 1e-9);
}

TEST(equal_k_keeps_the_sum) {
    start(7, 1);
    for (uint32_t i = 0; i < 7; i++)
        d.players[i].rating.rating = 1000 + 173.3 * i;
    d.sides[2].place = d.sides[5].place = 4;
    duel_rate(&d, &p);
    double before = 0, after = 0;
    for (int i = 0; i < 7; i++) {
        before += d.players[i].rating.rating;
        after += d.after[i].rating;
    }
    CHECK_NEAR(before, after, 1e-9);
}

TEST(a_side_counts_by_its_mean) {
    start(2, 2);
    d.players[0].rating.rating = 1400;
    d.players[1].rating.rating = 1600;
    duel_rate(&d, &p);
    CHECK_EQ_F64(d.after[0].rating, 1416);
    CHECK_EQ_F64(d.after[1].rating, 1616);
    CHECK_EQ_F64(d.after[3].rating, 1484);
    /* The strong player was there for a quarter of the match: the mean is 1440, and so is the player's part. */
    d.players[1].played = 0.25;
    duel_rate(&d, &p);
    double expected = 1 / (1 + pow(10, 60 / 400.0));
    CHECK_NEAR(d.after[0].rating, 1400 + 32 * (1 - expected), 1e-9);
    CHECK_NEAR(d.after[1].rating, 1600 + 8 * (1 - expected), 1e-9);
}

TEST(weights_multiply_gains_and_divide_losses) {
    start(2, 1);
    d.players[0].weight = d.players[1].weight = 2;
    duel_rate(&d, &p);
    CHECK_EQ_F64(d.after[0].rating, 1532);
    CHECK_EQ_F64(d.after[1].rating, 1492);
}

TEST(no_rating_falls_below_the_floor_or_leaves_the_range) {
    start(2, 1);
    p.elo.floor = 1490;
    duel_rate(&d, &p);
    CHECK_EQ_F64(d.after[1].rating, 1490);
    p.elo.k = 10000;
    p.elo.floor = -RUNG_RATING_MAX;
    d.players[0].rating.rating = d.players[1].rating.rating = RUNG_RATING_MAX;
    duel_rate(&d, &p);
    CHECK_EQ_F64(d.after[0].rating, RUNG_RATING_MAX);
    CHECK(rung_rating_is_valid(&p, &d.after[1]));
    d.players[1].rating.rating = -RUNG_RATING_MAX;
    duel_rate(&d, &p);
    CHECK(rung_rating_is_valid(&p, &d.after[1]));
}

RUNG_TEST_MAIN
