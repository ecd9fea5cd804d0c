/* SPDX-License-Identifier: Apache-2.0 */
/* score.h - a submission; private to state. */
#ifndef RUNG_STATE_SCORE_H
#define RUNG_STATE_SCORE_H

#include "state/board.h"

/* One window that a submission reaches, and what becomes of the player's entry there. */
typedef struct rung__reach {
    rung__window *window; /* NULL: to be opened */
    bool fresh;           /* opened by this submission */
    bool existed;         /* the player has an entry there, at old_key */
    uint32_t kind;        /* this and the next two only of a window to be opened */
    rung_window span;
    rung_slice season;
    uint64_t old_key[RUNG_LADDER_WORDS_MAX];
    uint64_t key[RUNG_LADDER_WORDS_MAX];
    rung_value candidate; /* the first column of the new values, before `best` chose */
} rung__reach;

struct rung__aim;

/* `aim`: what was found out ahead of its turn; may be NULL. */
RUNG_NODISCARD rung_status rung__apply_score(rung_state *s, const rung_score_event *e,
                                             const struct rung__aim *aim, rung_outcome *out,
                                             rung_err *err);

#endif
