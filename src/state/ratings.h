/* SPDX-License-Identifier: Apache-2.0 */
/* ratings.h - the ratings of a board, and what the last match did to them.
 *
 * A rating board has one rating per player, whatever its windows are: a window ranks, by their displayed rating
 * after the last match that it contains, the players who played in it. Slices borrow from the state until the next
 * apply. */
#ifndef RUNG_STATE_RATINGS_H
#define RUNG_STATE_RATINGS_H

#include "rating/rating.h"
#include "state/state.h"

/* Everything about a player on a rating board. */
typedef struct rung_rating_card {
    rung_rating rating; /* its deviation as of the last match */
    uint32_t wins, draws, losses;
    int32_t streak; /* wins in a row; negative: losses */
} rung_rating_card;

/* One player in a match that was applied. */
typedef struct rung_match_row {
    rung_slice player;
    uint32_t side;
    int32_t place;
    double expected; /* points per opponent, 0 to 1: 1 for a win, 1/2 for a draw */
    rung_rating_card before, after;
    int64_t score_before, score; /* the displayed rating, in the board's decimals */
    uint32_t rank_before, rank;  /* in the first window reached; 0: not ranked */
} rung_match_row;

/* The players of the match that the last apply rated, in the match's order; 0 and NULL after any other event. */
const rung_match_row *rung_state_match_rows(const rung_state *s, uint32_t *count_out);

/* A player's card, by id, or by the number in a row. RUNG_NOT_FOUND: no such board, or no match yet. */
rung_status rung_state_rating(const rung_state *s, rung_slice board, rung_slice player,
                              rung_rating_card *out);
rung_status rung_state_rating_of(const rung_state *s, rung_slice board, uint32_t number,
                                 rung_rating_card *out);

#endif
