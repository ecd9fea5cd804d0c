/* SPDX-License-Identifier: Apache-2.0 */
/* glicko2.h - Glicko-2 by rating periods: collect the games of a period, then settle them together.
 *
 * rung_rating_rate() treats each match as a period that takes no time. Whoever rates by periods keeps one of these
 * sums per player, made from the ratings at the start of the period. Pure. */
#ifndef RUNG_RATING_GLICKO2_H
#define RUNG_RATING_GLICKO2_H

#include "rating/rating.h"

/* The games of one period: two sums are all that Glickman's steps 3 and 4 need. Zero is none. */
typedef struct rung_glicko2_games {
    double information; /* 1 / v: sum of g^2 E (1 - E) */
    double surprise;    /* delta / v: sum of g (points - E) */
} rung_glicko2_games;

/* Add one game of `player` against `opponent`, both as they were at the start of the period. `points` is 0 to 1. */
void rung_glicko2_add(rung_glicko2_games *games, const rung_rating *player,
                      const rung_rating *opponent, double points);

/* The rating after a period with these games: Glickman's steps 5 to 8. `periods` is the time that passed, in rating
 * periods: 1, or more after inactivity. Games, time of the last match and limits are as in rung_rating_rate. */
rung_rating rung_glicko2_settle(const rung_rating_params *p, const rung_rating *player,
                                const rung_glicko2_games *games, double periods);

#endif
