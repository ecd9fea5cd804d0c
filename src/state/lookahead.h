/* SPDX-License-Identifier: Apache-2.0 */
/* lookahead.h - a run of submissions, each prepared ahead of its turn; private to state. Only speed depends on it. */
#ifndef RUNG_STATE_LOOKAHEAD_H
#define RUNG_STATE_LOOKAHEAD_H

#include "state/score.h"

enum { RUNG__AIM_KINDS = 6, RUNG__AIM_SLOTS = 2, RUNG__AHEAD_RING = 32, RUNG__AHEAD_HASHES = 256 };
typedef struct rung__aim {
    const rung_score_event *event;
    int64_t ts_ms;
    uint64_t hash;   /* of the player's id */
    uint32_t player; /* RUNG_PLAYER_NONE: look it up */
    /* `reached` holds, if it is still time_ms and the same board when the turn comes. */
    bool prepared;
    uint32_t count; /* windows reached; 0: the submission is left to its turn */
    int64_t time_ms;
    rung__board *board;               /* while aiming */
    uint64_t serial;                  /* of the board */
    uint32_t slot_count;              /* scopes looked at */
    uint32_t values[RUNG__AIM_SLOTS]; /* the player's in the first slots */
    uint32_t slots[RUNG__AIM_KINDS];  /* by place in `reached`: which slots have hints */
    rung__reach reached[RUNG__AIM_KINDS];
    rung_ladder_hint main[RUNG__AIM_KINDS];
    rung_ladder_move slot[RUNG__AIM_KINDS][RUNG__AIM_SLOTS];
    uint32_t way_count;
    rung_ladder_way ways[RUNG__AIM_KINDS * (1 + 2 * RUNG__AIM_SLOTS)];
} rung__aim;

/* A run of submissions, applied one after the other, each looked at ahead of its turn. */
typedef const rung_score_event *(*rung__ahead_source)(const void *ctx, uint32_t i, int64_t *ts_ms);
typedef struct rung__lookahead {
    uint32_t n, turn, tick; /* of n, whose turn is next, and how many were begun */
    uint32_t first_step;
    uint64_t ladders_freed; /* the state's */
    rung__ahead_source get;
    const void *ctx;
    /* What the last submission reached, if all of it was there: so do others to that board at these times. */
    const rung__board *board; /* NULL: nothing is known */
    uint64_t serial;
    int64_t time_ms, at_ms;
    uint32_t count;
    rung__window *windows[RUNG__AIM_KINDS];
    uint8_t under_way[RUNG__AHEAD_HASHES]; /* how many players are, by their hashes */
    rung__aim ring[RUNG__AHEAD_RING];      /* of those under way, by their number in the run */
} rung__lookahead;

/* A run of `n` submissions begins. Then, for each in turn, rung__ahead_next() gives what is to be applied with it;
 * nothing else is applied in between. */
void rung__ahead_begin(rung_state *s, uint32_t n, rung__ahead_source get, const void *ctx);
const rung__aim *rung__ahead_next(rung_state *s);

#endif
