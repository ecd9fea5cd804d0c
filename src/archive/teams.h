/* SPDX-License-Identifier: Apache-2.0 */
/* teams.h - the team ranking of a closed window; private to this room.
 *
 * A team is a scope with the sum of its members' scores, computed with nobody hidden. Teams with hidden members are
 * summed again from the visible ones; then all teams are sorted. */
#ifndef RUNG_ARCHIVE_TEAMS_H
#define RUNG_ARCHIVE_TEAMS_H

#include "archive/archive.h"
#include "state/team.h"

/* The sum of a team's members, added in rank order. Zero is a team without members. */
typedef struct rung__tally {
    rung_team_sum sum;
    double decayed; /* used instead on decay boards: as of the window's end */
    uint32_t members;
} rung__tally;

void rung__tally_add(rung__tally *t, const rung_board_def *def, rung_value score);
/* As kept in a rung_archive_scope. */
rung_team_sum rung__tally_sum(const rung__tally *t, const rung_board_def *def);

/* Turn an open view of a window into one of its teams: rows, total and distinct. RUNG_OK, RUNG_ENOMEM, or the failure
 * of the implementation. */
RUNG_NODISCARD rung_status rung__teams_open(rung_archive_view *v, const rung_board_def *def,
                                            rung_err *err);

#endif
