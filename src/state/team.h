/* SPDX-License-Identifier: Apache-2.0 */
/* team.h - what a team's score is, given its members': the arithmetic of docs/boards.md for boards that do not decay.
 *
 *     sum += rung_team_contribution(def, member_score);          for each member, or each of the best k
 *     score = rung_team_score(def, sum, members);
 *
 * Pure. */
#ifndef RUNG_STATE_TEAM_H
#define RUNG_STATE_TEAM_H

#include "model/board.h"

#include <math.h>

typedef __int128 rung_team_sum;

/* The type and order of team scores. */
static inline rung_column rung_team_column(const rung_board_def *def) {
    rung_column c = def->key.columns[0];
    if (def->team_combine == RUNG_COMBINE_MEAN)
        c = (rung_column){RUNG_SCORE_REAL, c.order, 0};
    return c;
}

/* What a member's first score column counts for: exact for integers and decimals, in units of 2^-20 for reals. */
static inline rung_team_sum rung_team_contribution(const rung_board_def *def, rung_value v) {
    if (def->key.columns[0].type != RUNG_SCORE_REAL)
        return v.i;
    const double limit = 1208925819614629174706176.0 * 1048576.0; /* 2^80, in those units */
    double units = v.d * 1048576.0;
    if (units > limit)
        units = limit;
    if (units < -limit)
        units = -limit;
    return (rung_team_sum)round(units);
}

/* The score of a team of `members` (at least one) with this sum of contributions. Finite. */
static inline rung_value rung_team_score(const rung_board_def *def, rung_team_sum sum,
                                         uint32_t members) {
    bool real = def->key.columns[0].type == RUNG_SCORE_REAL;
    rung_value v;
    if (def->team_combine == RUNG_COMBINE_MEAN) {
        double unit = real ? 1048576.0 : 1.0;
        for (unsigned i = 0; i < def->key.columns[0].decimals; i++)
            unit *= 10.0;
        v.d = (double)sum / ((double)members * unit);
    } else if (real) {
        v.d = (double)sum / 1048576.0;
    } else {
        v.i = sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : (int64_t)sum;
    }
    return v;
}

#endif
