/* SPDX-License-Identifier: Apache-2.0 */
/* lookahead.h - a run of submissions, each prepared ahead of its turn; private to state. Only speed depends on it. */
#ifndef RUNG_STATE_LOOKAHEAD_H
#define RUNG_STATE_LOOKAHEAD_H

#include "ladder/pipeline.h"
#include "state/score.h"

enum {
    RUNG__LOOKAHEAD_WINDOWS = 6, /* a submission that reaches more is not prepared */
    RUNG__LOOKAHEAD_SLOTS = 2,   /* scope slots beyond these are not prepared */
    RUNG__LOOKAHEAD_RING = 32,
    RUNG__LOOKAHEAD_HASHES = 256,
};

/* Descents of one window, main ranking and scopes. Zero: none. */
typedef struct rung__slot_descents {
    const rung_ladder *ladder; /* of the player's value in this slot; NULL: none */
    rung_descent *pair;        /* from, to; NULL: none */
} rung__slot_descents;

typedef struct rung__descents {
    const rung_descent *main;         /* NULL: none */
    const rung__slot_descents *slots; /* slot_count of them */
    uint32_t slot_count;
} rung__descents;

/* A submission in flight: what is known about it so far. */
typedef struct rung__prepared {
    const rung_score_event *event;
    int64_t ts_ms;
    uint64_t hash;   /* of the player's id */
    uint32_t player; /* RUNG_PLAYER_NONE: unknown, or in flight twice */
    bool is_ready;   /* `reached` is valid if time_ms and the board's serial still match */
    uint32_t count;  /* windows reached; 0: not prepared */
    int64_t time_ms;
    rung__board *board;
    uint64_t serial;     /* of the board */
    uint32_t slot_count; /* scope slots prepared */
    rung__reach reached[RUNG__LOOKAHEAD_WINDOWS];
    rung__slot_descents slots[RUNG__LOOKAHEAD_WINDOWS][RUNG__LOOKAHEAD_SLOTS];
    /* First the main rankings, one for each window reached; then the pairs of the scopes. */
    uint32_t descent_count;
    rung_descent descents[RUNG__LOOKAHEAD_WINDOWS * (1 + 2 * RUNG__LOOKAHEAD_SLOTS)];
} rung__prepared;

typedef const rung_score_event *(*rung__lookahead_source)(const void *ctx, uint32_t i,
                                                          int64_t *ts_ms);

typedef struct rung__lookahead {
    uint32_t n, turn, tick; /* submissions of the run; applied; begun */
    uint32_t first_down;    /* the first descent stage that is needed */
    uint64_t ladders_freed; /* the state's, at the last turn */
    rung__lookahead_source get;
    const void *ctx;
    /* The windows that the last submission reached, all open; another to that board at these times reaches the same. */
    const rung__board *board; /* NULL: unknown */
    uint64_t serial;
    int64_t time_ms, at_ms;
    uint32_t count;
    rung__window *windows[RUNG__LOOKAHEAD_WINDOWS];
    uint8_t in_flight[RUNG__LOOKAHEAD_HASHES]; /* submissions, by hash of the player */
    rung__prepared ring[RUNG__LOOKAHEAD_RING]; /* those in flight, by their number in the run */
} rung__lookahead;

/* A run of `n` submissions begins. For each in turn, rung__lookahead_next() gives what rung__apply_score() takes; only
 * that may change the state in between. */
void rung__lookahead_begin(rung_state *s, uint32_t n, rung__lookahead_source get, const void *ctx);
const rung__prepared *rung__lookahead_next(rung_state *s);

#endif
