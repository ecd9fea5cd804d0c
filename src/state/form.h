/* SPDX-License-Identifier: Apache-2.0 */
/* form.h - what a board's rules know of each player's earlier submissions; private to state.
 *
 * Kept while the definition has a rule that needs it (rung_board_needs_form), and only then: 60 bytes per player who
 * submitted to such a board. Changed by accepted submissions alone. */
#ifndef RUNG_STATE_FORM_H
#define RUNG_STATE_FORM_H

#include "model/board.h"
#include "state/machine.h"

struct rung__board;

typedef struct rung__form {
    uint32_t player;
    uint32_t count;     /* scores learned from, at most UINT32_MAX */
    int64_t last_ms;    /* log time of the last accepted submission */
    rung_value last;    /* its score, or the result of its delta; of a count board 0 */
    double mean;        /* of the scores, the recent ones with more weight; see form.c */
    double deviation;   /* the mean distance from the mean, likewise */
    int64_t period_ms;  /* when the period of `in_period` began */
    uint32_t in_period; /* accepted submissions of that period; 0 without such a rule */
} rung__form;

/* All players' forms on a board. Zero: none. */
typedef struct rung__forms {
    rung__form *items;
    uint32_t count, cap;
    rung_numbermap of; /* player -> place in `items` */
    rung_digest digest;
} rung__forms;

/* The player's; NULL: none. */
const rung__form *rung__form_find(const struct rung__board *b, uint32_t player);
/* Make sure that rung__form_note() of this player cannot fail. RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__form_secure(rung_state *s, struct rung__board *b, uint32_t player);
/* An accepted submission of score `x`. Without `learns` it counts as a submission, but its score is not learned. */
void rung__form_note(rung_state *s, struct rung__board *b, uint32_t player, rung_value x,
                     bool learns);
/* A tentative score of the player was promoted: learn from it. `is_last`: the entry is this score now. Secured. */
void rung__form_learn(rung_state *s, struct rung__board *b, uint32_t player, rung_value x,
                      bool is_last);
/* How far x is from what the player usually submits, in standard deviations. Negative: too little is known. */
double rung__form_distance(const struct rung__board *b, const rung__form *f, rung_value x);
/* When the present period of the board's rule `submissions` began; INT64_MIN: it has no such rule. */
int64_t rung__form_period(const rung_board_def *def, int64_t time_ms);

/* The definition changed from `old` to the board's: forget what is not needed any more. */
void rung__form_redefine(rung_state *s, struct rung__board *b, const rung_board_def *old);
void rung__form_remove(rung_state *s, struct rung__board *b, uint32_t player);
/* For images: add what was saved; is it a form that submissions could have made? */
RUNG_NODISCARD rung_status rung__form_add(rung_state *s, struct rung__board *b,
                                          const rung__form *f);
bool rung__form_is_valid(const struct rung__board *b, const rung__form *f);
void rung__form_deinit(rung_state *s, struct rung__board *b); /* memory alone */
size_t rung__form_bytes(const struct rung__board *b);
const char *rung__form_check(const struct rung__board *b);

#endif
