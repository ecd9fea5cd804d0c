/* SPDX-License-Identifier: Apache-2.0 */
/* match.h - matches and the ratings they change; private to state. */
#ifndef RUNG_STATE_MATCH_H
#define RUNG_STATE_MATCH_H

#include "state/board.h"
#include "state/ratings.h"

struct rung__seats;
/* `seats`: what is known of its players ahead of its turn; NULL: nothing. */
RUNG_NODISCARD rung_status rung__apply_match(rung_state *s, const rung_match_event *e,
                                             const struct rung__seats *seats, rung_outcome *out,
                                             rung_err *err);

/* A match that reached a board reaches its shadow, under the shadow's definition. `seq`: of its event. */
RUNG_NODISCARD rung_status rung__match_follow(rung_state *s, rung__board *b,
                                              const rung_match_event *e, uint64_t seq);
/* The player's card; NULL: no match yet. */
const rung_rating_card *rung__rated_find(const rung__board *b, uint32_t player);
/* Where the chain of the player's kept results begins (kept.h); the player has a card. */
uint64_t *rung__rated_last(rung__board *b, uint32_t player);
/* Add a card, with its digest, for a player who has none. */
RUNG_NODISCARD rung_status rung__rated_add(rung_state *s, rung__board *b, uint32_t player,
                                           const rung_rating_card *card);
/* Give the card at place `i` another value. */
void rung__rated_set(rung_state *s, rung__board *b, uint32_t i, const rung_rating_card *card);
/* Forget a player's rating. false: there was none. */
bool rung__rated_remove(rung_state *s, rung__board *b, uint32_t player);
void rung__match_room_free(rung_state *s);
void rung__rated_deinit(rung_state *s, rung__board *b); /* memory alone */
size_t rung__rated_bytes(const rung__board *b);
/* Is it a card that a match could have made? For images. */
bool rung__rated_is_valid(const rung_board_def *def, const rung_rating_card *card);
const char *rung__rated_check(const rung__board *b);

#endif
