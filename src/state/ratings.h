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

/* ---- matches that the board still knows: rating.results_kept of its definition ---- */

typedef struct rung_match_info {
    uint64_t seq;         /* of its event */
    int64_t at_ms, ts_ms; /* when it was played; log time */
    rung_slice id;        /* empty: none */
    uint32_t player_count, side_count;
} rung_match_info;

/* What a match did to a player. */
typedef struct rung_match_result {
    rung_slice player; /* empty: removed from the board since, or erased */
    uint32_t side;
    int32_t place;
    bool was_new;  /* it was the player's first match */
    uint32_t rank; /* after it; 0: not ranked */
    double expected, weight, played;
    double rating_before, rating, deviation;
    int64_t score_before, score;
} rung_match_result;

/* The newest match with that id, or with an empty id the one of that sequence. RUNG_NOT_FOUND: not known, or not any
 * more. Searching an id takes time in proportion to the matches kept. */
rung_status rung_state_match(const rung_state *s, rung_slice board, rung_slice id, uint64_t seq,
                             rung_match_info *out);
/* Its results, in the match's order. Returns how many, up to `room`. */
uint32_t rung_state_match_results(const rung_state *s, rung_slice board, uint64_t seq,
                                  uint32_t room, rung_match_result *out);
/* The matches before a sequence (0: all), newest first. Returns how many, up to `room`. */
uint32_t rung_state_matches(const rung_state *s, rung_slice board, uint64_t before_seq,
                            uint32_t room, rung_match_info *out);
/* The same of one player, with the player's results: the rating curve. */
uint32_t rung_state_results_of(const rung_state *s, rung_slice board, rung_slice player,
                               uint64_t before_seq, uint32_t room, rung_match_info *matches,
                               rung_match_result *results);

#define RUNG_MATCHES_REMOVED_MAX 2000
/* The sequences of the matches that the board was computed without, ascending. Returns how many. */
uint32_t rung_state_removed_matches(const rung_state *s, rung_slice board,
                                    uint64_t *out /* RUNG_MATCHES_REMOVED_MAX */);

/* A player's card, by id, or by the number in a row. RUNG_NOT_FOUND: no such board, or no match yet. */
rung_status rung_state_rating(const rung_state *s, rung_slice board, rung_slice player,
                              rung_rating_card *out);
rung_status rung_state_rating_of(const rung_state *s, rung_slice board, uint32_t number,
                                 rung_rating_card *out);

#endif
