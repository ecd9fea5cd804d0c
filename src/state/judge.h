/* SPDX-License-Identifier: Apache-2.0 */
/* judge.h - a submission against the limits and rules of its board; private to state. */
#ifndef RUNG_STATE_JUDGE_H
#define RUNG_STATE_JUDGE_H

#include "state/score.h"

/* What is judged: a submission whose values, player and windows have been found. */
typedef struct rung__case {
    const rung_state *s;
    const rung__board *b;
    const rung_score_event *e;
    uint32_t player;          /* RUNG_PLAYER_NONE: not known yet */
    const rung__reach *first; /* the first window reached */
    int64_t now_ms;           /* log time, or later for a dry run */
} rung__case;

/* The first limit that refuses it, or RUNG_RULE_NONE. */
rung_rule rung__judge_limits(const rung__case *c, rung_value *limit_out);
/* Every rule of the definition that it breaks, in order; without limits. Returns how many. */
uint32_t rung__judge_rules(const rung__case *c, rung_finding findings[RUNG_FINDINGS_MAX]);
/* The score that rules look at: the submitted one, or the result of a delta. */
rung_value rung__judged_score(const rung__case *c);

#endif
