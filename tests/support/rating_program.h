/* SPDX-License-Identifier: Apache-2.0 */
/* rating_program.h - a long random history of matches in all systems, reduced to one number: the digest of every bit
 * of every rating and prediction. The same on every machine and with every compiler (unit rating.bits,
 * e2e.rating_bits). Only integers are converted here, so that these lines cannot differ themselves. */
#ifndef RUNG_TESTS_RATING_PROGRAM_H
#define RUNG_TESTS_RATING_PROGRAM_H

#include "rating/arith.h"
#include "rating/rating.h"
#include "support/rng.h"

#include <string.h>

#define RATING_PROGRAM_PLAYERS 64
#define RATING_PROGRAM_STEPS   20000
#define RATING_PROGRAM_DIGEST  0xb3d00df249e76331u

typedef struct rating_program {
    rung_rng rng;
    uint64_t digest;
    rung_rating_params params;
    rung_rating ratings[RATING_PROGRAM_PLAYERS];
    rung_match_player players[RATING_PROGRAM_PLAYERS];
    uint32_t who[RATING_PROGRAM_PLAYERS];
    rung_match_side sides[RATING_PROGRAM_PLAYERS];
    rung_rating after[RATING_PROGRAM_PLAYERS];
    rung_prediction predicted[RATING_PROGRAM_PLAYERS];
    rung_rating_scratch scratch;
    int64_t now_ms;
} rating_program;

static inline void rating_program_note(rating_program *r, double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    r->digest = (r->digest ^ bits) * 0x100000001b3u;
    r->digest ^= r->digest >> 29;
}

/* A number of [least, most] in steps of 1/1000. */
static inline double rating_program_number(rating_program *r, int64_t least, int64_t most) {
    uint64_t steps = (uint64_t)(most - least) * 1000 + 1;
    return (double)(least * 1000 + (int64_t)rung_rng_below(&r->rng, steps)) / 1000.0;
}

static inline void rating_program_new_board(rating_program *r) {
    rung_rating_params *p = &r->params;
    rung_rating_params_init(p, (rung_rating_system)rung_rng_below(&r->rng, 3));
    p->pairs_count_fully = rung_rng_below(&r->rng, 2);
    p->draw = rating_program_number(r, 0, 900) / 1000;
    if (p->system == RUNG_RATING_ELO) {
        p->elo.k = rating_program_number(r, 1, 100);
        p->elo.provisional_games = (uint32_t)rung_rng_below(&r->rng, 10);
        p->elo.provisional_k = 60;
        p->elo.is_normal = rung_rng_below(&r->rng, 4) == 0;
        p->elo.provisional_effect = 0.5;
    } else if (p->system == RUNG_RATING_GLICKO2) {
        p->glicko2.tau = rating_program_number(r, 200, 1200) / 1000;
    } else {
        p->wenglin.model = (rung_wenglin_model)rung_rng_below(&r->rng, 3);
        p->wenglin.limit_sigma = rung_rng_below(&r->rng, 2);
        p->wenglin.window = 1 + (uint32_t)rung_rng_below(&r->rng, 4);
        p->wenglin.window_mean = rung_rng_below(&r->rng, 2);
    }
    for (int i = 0; i < RATING_PROGRAM_PLAYERS; i++)
        r->ratings[i] = rung_rating_initial(p);
}

/* Deal random players to random sides. */
static inline rung_match rating_program_deal(rating_program *r) {
    uint32_t n = 0, sides = 2 + (uint32_t)rung_rng_below(&r->rng,
                                                         rung_rng_below(&r->rng, 4) == 0 ? 15 : 2);
    uint32_t first = (uint32_t)rung_rng_below(&r->rng, RATING_PROGRAM_PLAYERS);
    for (uint32_t i = 0; i < sides; i++) {
        rung_match_side *side = &r->sides[i];
        *side = (rung_match_side){n, 1 + (uint32_t)rung_rng_below(&r->rng, 3),
                                  (int32_t)rung_rng_below(&r->rng, 6)};
        for (uint32_t j = 0; j < side->count; j++, n++) {
            bool plain = rung_rng_below(&r->rng, 3) > 0;
            r->who[n] = (first + n * 5) % RATING_PROGRAM_PLAYERS;
            r->players[n] = (rung_match_player){
                .rating = r->ratings[r->who[n]],
                .weight = plain ? 1 : rating_program_number(r, 1, 3),
                .played = plain ? 1 : rating_program_number(r, 100, 1000) / 1000};
        }
    }
    r->now_ms += (int64_t)rung_rng_below(&r->rng, 3 * 86400 * 1000);
    return (rung_match){r->players, n, r->sides, sides, r->now_ms};
}

/* The digest, or 0 if a match was refused. */
static inline uint64_t rating_program_run(rating_program *r, uint64_t seed, uint64_t steps) {
    memset(r, 0, sizeof *r);
    rung_rng_seed(&r->rng, seed);
    r->digest = 0xcbf29ce484222325u;
    for (uint64_t step = 0; step < steps; step++) {
        if (step % 500 == 0)
            rating_program_new_board(r);
        rung_match m = rating_program_deal(r);
        double draw;
        if (rung_rating_predict(&r->params, &m, &r->scratch, r->predicted, &draw, NULL) < 0 ||
            rung_rating_rate(&r->params, &m, &r->scratch, r->after, NULL) < 0)
            return 0;
        rating_program_note(r, draw);
        for (uint32_t i = 0; i < m.side_count; i++) {
            rating_program_note(r, r->predicted[i].win);
            rating_program_note(r, r->predicted[i].score);
            rating_program_note(r, r->predicted[i].place);
        }
        for (uint32_t i = 0; i < m.player_count; i++) {
            const rung_rating *now = &r->after[i];
            r->ratings[r->who[i]] = *now;
            rating_program_note(r, now->rating);
            rating_program_note(r, now->deviation);
            rating_program_note(r, now->volatility);
            rating_program_note(r, (double)rung_rating_displayed(&r->params, now, 6));
            rating_program_note(r, rung_rating_quality(&r->params, now, &r->ratings[0], r->now_ms));
        }
        double x = rating_program_number(r, -700, 700);
        rating_program_note(r, rung_exp(x));
        rating_program_note(r, rung_exp10(x / 400));
        rating_program_note(r, rung_normal_cdf(x / 20));
        rating_program_note(r, rung_log(701 + x));
    }
    return r->digest;
}

#endif
