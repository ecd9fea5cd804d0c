/* SPDX-License-Identifier: Apache-2.0 */
/* rating.h - old ratings and the result of a match in, new ratings out: Elo, Glicko-2 and Weng-Lin (OpenSkill).
 *
 * Pure: no I/O, clock, memory or threads; the caller gives the scratch space. Every machine computes the same bits
 * (arith.h). docs/ratings.md has the formulas, docs/adr/0027-rating-arithmetic.md the reasons.
 *
 *     rung_rating_params p;
 *     rung_rating_params_init(&p, RUNG_RATING_ELO);
 *     rung_match_player players[] = {{.rating = rung_rating_initial(&p), .weight = 1, .played = 1}, ...};
 *     rung_match_side sides[] = {{.first = 0, .count = 1, .place = 1}, {.first = 1, .count = 1, .place = 2}};
 *     rung_match m = {players, 2, sides, 2, at_ms};
 *     st = rung_rating_rate(&p, &m, scratch, after, &err); */
#ifndef RUNG_RATING_RATING_H
#define RUNG_RATING_RATING_H

#include "base/status.h"
#include "model/match.h"
#include "model/rating.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known about one player. Elo uses only rating and games. */
typedef struct rung_rating {
    double rating;
    double deviation;
    double volatility;
    int64_t at_ms;  /* of the last match; no meaning while games is 0 */
    uint32_t games; /* matches rated so far; stays at the maximum */
} rung_rating;

typedef struct rung_match_player {
    rung_rating rating; /* before the match */
    double weight;      /* gains are multiplied by it, losses divided; 1 unless told */
    double played; /* the part of the match in which the player took part, above 0, at most 1 */
} rung_match_player;

typedef struct rung_match_side {
    uint32_t first, count; /* its players in the match's list */
    int32_t place;         /* smaller is better; equal places are a draw */
} rung_match_side;

/* Borrowed for the call. The sides cover the list of players in order, without gaps. */
typedef struct rung_match {
    const rung_match_player *players;
    uint32_t player_count;
    const rung_match_side *sides;
    uint32_t side_count;
    int64_t at_ms;
} rung_match;

/* Working space of one call, in the caller's memory; needs no initialisation. */
typedef struct rung_rating_scratch {
    double mean[RUNG_MATCH_PLAYERS_MAX];     /* of each side, in the order of `order` */
    double variance[RUNG_MATCH_PLAYERS_MAX]; /* likewise */
    double a[RUNG_MATCH_PLAYERS_MAX];
    double b[RUNG_MATCH_PLAYERS_MAX];
    uint16_t order[RUNG_MATCH_PLAYERS_MAX]; /* sides by place */
} rung_rating_scratch;

/* What is expected of one side. */
typedef struct rung_prediction {
    double win;   /* probability of the first place, alone */
    double score; /* expected points per opponent: 1 for a win, 1/2 for a draw */
    double place; /* expected place, from 1 */
} rung_prediction;

/* ---- players ---- */

/* A new player. */
rung_rating rung_rating_initial(const rung_rating_params *p);
/* Is `r` one that rung_rating_rate may be given? Never false for its own results. */
bool rung_rating_is_valid(const rung_rating_params *p, const rung_rating *r);

/* ---- changes ---- */

/* RUNG_OK, or RUNG_EINVAL with the field at fault: "sides", "sides[1].players", "sides[1].players[0].weight". */
RUNG_NODISCARD rung_status rung_match_check(const rung_rating_params *p, const rung_match *m,
                                            rung_err *err);

/* Rate one match: after[i] is the new rating of players[i]. The parameters are valid (rung_rating_params_check).
 * Fails as rung_match_check does, and then writes nothing. O(sides^2 + players). */
RUNG_NODISCARD rung_status rung_rating_rate(const rung_rating_params *p, const rung_match *m,
                                            rung_rating_scratch *scratch, rung_rating *after,
                                            rung_err *err);

/* The start of a season: move the rating towards that of a new player, keeping the part `keep` (0 to 1) of the
 * distance, and add `deviation` to the uncertainty. Games are kept. */
rung_rating rung_rating_soft_reset(const rung_rating_params *p, const rung_rating *r, double keep,
                                   double deviation);

/* ---- questions ---- */

/* The deviation at a later time: Glicko-2's grows with inactivity, others are constant. */
double rung_rating_deviation_at(const rung_rating_params *p, const rung_rating *r, int64_t at_ms);

/* rating - conservative * deviation as an integer of 10^-decimals, rounded half to even. `decimals` is 0 to 9. */
int64_t rung_rating_displayed(const rung_rating_params *p, const rung_rating *r, uint32_t decimals);

/* What each side may expect; the places in the match do not matter. `draw_out` is the probability that a pair of
 * sides draws, on average. Fails as rung_match_check does. */
RUNG_NODISCARD rung_status rung_rating_predict(const rung_rating_params *p, const rung_match *m,
                                               rung_rating_scratch *scratch, rung_prediction *out,
                                               double *draw_out, rung_err *err);

/* How good a match between two players would be, 0 to 1: 1 for certain equals. */
double rung_rating_quality(const rung_rating_params *p, const rung_rating *a, const rung_rating *b,
                           int64_t at_ms);

#endif
