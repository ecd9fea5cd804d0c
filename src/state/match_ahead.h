/* SPDX-License-Identifier: Apache-2.0 */
/* match_ahead.h - a run of matches, whose players are looked up ahead of their turn; private to state. Only speed
 * depends on it. */
#ifndef RUNG_STATE_MATCH_AHEAD_H
#define RUNG_STATE_MATCH_AHEAD_H

#include "state/board.h"

enum {
    RUNG__SEATS = 16,      /* players of a match beyond these are not looked up */
    RUNG__SEATS_RING = 16, /* matches in flight */
    RUNG__SEATS_LADDERS = 4,
};

/* What is known of a match's players before its turn. */
typedef struct rung__seats {
    const rung_match_event *event; /* NULL: not begun */
    rung__board *board;
    uint32_t count;
    uint32_t numbers[RUNG__SEATS]; /* RUNG_PLAYER_NONE: not known yet */
    uint32_t cards[RUNG__SEATS];   /* places in board->rated; RUNG_NUMBER_NONE: none */
    uint64_t hashes[RUNG__SEATS];
    rung_slice names[RUNG__SEATS];
    uint32_t ladder_count;
    const rung_ladder *ladders[RUNG__SEATS_LADDERS];
} rung__seats;

typedef struct rung__match_ahead {
    const rung_event *const *events;
    uint32_t n, turn, tick; /* matches of the run; applied; begun */
    uint64_t ladders_freed; /* the state's, at the last turn */
    rung__seats ring[RUNG__SEATS_RING];
} rung__match_ahead;

/* A run of `n` matches begins. */
void rung__match_ahead_begin(rung_state *s, uint32_t n, const rung_event *const *events);
/* The next match is about to be applied: what is known of its players, if it is of the run. NULL: nothing. */
const rung__seats *rung__match_ahead_next(rung_state *s, const rung_match_event *e);
/* The run is over. */
void rung__match_ahead_end(rung_state *s);

#endif
