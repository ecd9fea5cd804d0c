/* SPDX-License-Identifier: Apache-2.0 */
/* results.h - the scores of the players that one event names, after it: of Redis commands with several members, of
 * matches, of a review. The owner of the state packs them; the archive reads them in the order of its rows.
 *
 * Like an outcome they go from the owner to the follower's thread in memory: these bytes are never stored. */
#ifndef RUNG_ARCHIVE_RESULTS_H
#define RUNG_ARCHIVE_RESULTS_H

#include "base/buffer.h"
#include "service/archive_port.h"
#include "state/state.h"

/* Does the event have such results? Not scores, whose outcome has theirs. */
bool rung_results_has(const rung_event *event);

/* Append what the state says right after `event`, one result for each player it names, in order. Without memory
 * `out` fails. O(players). */
void rung_results_pack(const rung_state *state, const rung_event *event, rung_buffer *out);

/* Take the next one off the front. false: the player has no score there, or there are no more. */
bool rung_results_next(rung_slice *packed, rung_archive_values *out);

#endif
