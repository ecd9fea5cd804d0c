/* SPDX-License-Identifier: Apache-2.0 */
#include "service/admission.h"

static bool do_commands_grow(rung_slice packed) {
    rung_zcommand c;
    while (rung_zcommand_next(&packed, &c, NULL) == RUNG_OK)
        if (c.kind == RUNG_ZCOMMAND_ZADD || c.kind == RUNG_ZCOMMAND_SADD ||
            c.kind == RUNG_ZCOMMAND_ZSTORE || c.kind == RUNG_ZCOMMAND_ZRANGESTORE ||
            c.kind >= RUNG_ZCOMMAND_SKETCH)
            return true;
    return false;
}

/* Does the event usually make the state larger? Removals and ticks must always be accepted: they free memory. */
static bool does_grow(const rung_state *state, const rung_event *event) {
    const rung_board_def *def;
    switch (event->kind) {
    case RUNG_EVENT_SCORE:
    case RUNG_EVENT_MATCH:
    case RUNG_EVENT_PLAYER_SET:
    case RUNG_EVENT_FRIEND_ADDED:
    case RUNG_EVENT_FRIENDS_REPLACED:
    case RUNG_EVENT_WINDOW_OPENED:
    case RUNG_EVENT_BOARD_FILLED:
        return true;
    case RUNG_EVENT_BOARD_DEFINED: /* a redefinition may make it smaller */
        return rung_state_board(state, event->defined.board, &def) != RUNG_OK;
    case RUNG_EVENT_SESSION:
        return !event->session.is_ended;
    case RUNG_EVENT_KEYS:
        return do_commands_grow(event->keys.packed);
    case RUNG_EVENT_BOARD_DELETED:
    case RUNG_EVENT_ENTRY_REMOVED:
    case RUNG_EVENT_PLAYER_ERASED:
    case RUNG_EVENT_FRIEND_REMOVED:
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
    case RUNG_EVENT_WINDOW_CLOSED:
    case RUNG_EVENT_TICK:
    case RUNG_EVENT_IDS_SET:
    case RUNG_EVENT_RULES_SET:
    case RUNG_EVENT_ACCESS_SET:
    case RUNG_EVENT_KEY_CHANGED:
    case RUNG_EVENT_BOARD_SWAPPED:
    case RUNG_EVENT_SHADOW_DROPPED:
    case RUNG_EVENT_REVIEWED:
    case RUNG_EVENT_NOTED:
        break;
    }
    return false;
}

rung_status rung__memory_limit_reached(rung_memory_limit *limit, const rung_state *state,
                                       const rung_event *event, rung_err *err) {
    if (!does_grow(state, event))
        return RUNG_OK;
    limit->refused++;
    return RUNG_FAIL(err, RUNG_EFULL,
                     "the memory for players and rankings (memory.max) is full: only removals are "
                     "accepted");
}
