/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - Redis commands as changes of the state (keys.c); private to state. */
#ifndef RUNG_STATE_KEYSPACE_COMMANDS_H
#define RUNG_STATE_KEYSPACE_COMMANDS_H

#include "state/board.h"

RUNG_NODISCARD rung_status rung__apply_keys(rung_state *s, const rung_event *e, rung_err *err);
/* A new board for a score event whose key does not exist. RUNG_EUNSUPPORTED: a set has the name. */
RUNG_NODISCARD rung_status rung__zset_make(rung_state *s, rung_slice name, rung__board **out,
                                           rung_err *err);
/* Delete a board or set by its number. */
void rung__key_delete(rung_state *s, uint32_t number);

#endif
