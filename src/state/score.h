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

enum { RUNG__REACH_MAX = 6 + RUNG_SEASONS_MAX };

/* Are the values, id and player of the kind that the board takes? */
RUNG_NODISCARD rung_status rung__score_check(const rung__board *b, const rung_score_event *e,
                                             rung_err *err);
/* The windows that a submission with this time reaches; returns how many, RUNG__REACH_MAX at most. */
uint32_t rung__reach_windows(rung_state *s, rung__board *b, int64_t at_ms, rung__reach *reached);
/* Compute r->key and r->candidate. RUNG_OK or RUNG_ERANGE. */
RUNG_NODISCARD rung_status rung__score_become(const rung__board *b, const rung_score_event *e,
                                              int64_t at_ms, rung__reach *r);
/* Is the new value the whole answer? Ranks and the next player above take time to find. */
static inline bool rung__is_brief(const rung_state *s, const rung_score_event *e) {
    return (e->when || e->is_brief) && !e->id.len && !s->on_change;
}

/* Apply a submission to a shadow, whose values may be of another type. Its id is not looked at. Statuses as of a
 * submission. */
RUNG_NODISCARD rung_status rung__score_follow(rung_state *s, rung__board *b,
                                              const rung_score_event *e);

/* What a player's entry in a window (of the main ranking) would become by a tentative score, and its ranks. false: it
 * would not change. */
bool rung__score_would(const rung_state *s, rung__board *b, rung__window *w, uint32_t player,
                       const rung_score_event *e, rung_rank_style style, rung__reach *r_out,
                       uint32_t *rank_out);
/* Count a tentative score: at its own time, in the windows that still take scores, without limits and rules. The values
 * may be of another type than the board's, if that was replaced. Statuses as of a submission. */
RUNG_NODISCARD rung_status rung__score_promote(rung_state *s, rung__board *b,
                                               const rung_score_event *e, rung_err *err);

struct rung__prepared;

/* Apply a submission. `prepared` comes from rung__lookahead_next(); may be NULL. */
RUNG_NODISCARD rung_status rung__apply_score(rung_state *s, const rung_score_event *e,
                                             const struct rung__prepared *prepared,
                                             rung_outcome *out, rung_err *err);

#endif
