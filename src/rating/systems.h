/* SPDX-License-Identifier: Apache-2.0 */
/* systems.h - what the systems share. Private to the room. Matches have been checked. */
#ifndef RUNG_RATING_SYSTEMS_H
#define RUNG_RATING_SYSTEMS_H

#include "rating/rating.h"

/* Fill scratch->order: the sides by place, in the order of the match where places are equal. */
void rung__match_sort(const rung_match *m, rung_rating_scratch *s);
/* 1, 1/2 or 0: what `a` scored against `b`. */
double rung__match_points(const rung_match_side *a, const rung_match_side *b);
/* A change of a player's rating, by the player's weight. */
double rung__match_weighted(double change, double weight);
/* The result of every rate function passes here: keep it within +-RUNG_RATING_MAX and count the game. */
rung_rating rung__rating_settled(const rung_rating *old, double rating, double deviation,
                                 double volatility, int64_t at_ms);

void rung__elo_rate(const rung_rating_params *p, const rung_match *m, rung_rating_scratch *s,
                    rung_rating *after);
void rung__glicko2_rate(const rung_rating_params *p, const rung_match *m, rung_rating_scratch *s,
                        rung_rating *after);
void rung__wenglin_rate(const rung_rating_params *p, const rung_match *m, rung_rating_scratch *s,
                        rung_rating *after);

/* Mean and variance of each side, in the order of the match. */
void rung__elo_sides(const rung_rating_params *p, const rung_match *m, rung_rating_scratch *s);
void rung__glicko2_sides(const rung_rating_params *p, const rung_match *m, rung_rating_scratch *s);
void rung__wenglin_sides(const rung_rating_params *p, const rung_match *m, rung_rating_scratch *s);

/* Expected points of a side of mean `a` against one of mean `b`; variances as the function above made them. */
double rung__elo_expected(const rung_rating_params *p, double a, double b);
double rung__glicko2_expected(double a, double b, double variance);
double rung__wenglin_expected(const rung_rating_params *p, double a, double b, double variance);

/* g: what a result is worth against an opponent of this variance, on the displayed scale; 1 for a certain one. */
double rung__glicko2_worth(double variance);

#endif
