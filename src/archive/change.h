/* SPDX-License-Identifier: Apache-2.0 */
/* change.h - what an event of the audit trail is about to change, as JSON: taken from the state right before the event
 * is applied.
 *
 * A definition, also by a swap: the members that change, old and new. A deletion: the definition and the number of
 * entries. A removal: rank and score. A ban: whether the player is banned. Redis commands: the keys that go, with their
 * sizes. Settings: their values. Nothing for an erasure. Pure; any thread. */
#ifndef RUNG_ARCHIVE_CHANGE_H
#define RUNG_ARCHIVE_CHANGE_H

#include "codec/json_writer.h"
#include "state/state.h"

/* Write what is there before and what will be there after, if the event succeeds. Both writers are empty; they may stay
 * so. On failure (is_failed) they are to be ignored. */
void rung_change_write(const rung_state *state, const rung_event *event, rung_json_writer *before,
                       rung_json_writer *after);

#endif
