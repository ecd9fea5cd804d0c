/* SPDX-License-Identifier: Apache-2.0 */
/* season_reset.h - how a season begins on a rating board that says so (rating.season_keep); private to state. */
#ifndef RUNG_STATE_SEASON_RESET_H
#define RUNG_STATE_SEASON_RESET_H

#include "state/board.h"

/* A board is there, or has a new definition: note when its next season begins. */
void rung__season_reset_note(rung_state *s, const rung__board *b);
/* Log time has moved on from before_ms: reset the ratings of boards whose seasons have begun since. false: there was
 * nothing to do. Memory that runs out breaks the state. */
bool rung__season_reset_due(rung_state *s, int64_t before_ms);

#endif
