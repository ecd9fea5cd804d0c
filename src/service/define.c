/* SPDX-License-Identifier: Apache-2.0 */
#include "service/define.h"

#include "state/sketches.h"

/* The limits on scores make no sense for a count. */
static rung_status check_limits(const rung_board_def *def, rung_err *err) {
    const char *name = def->limits & RUNG_LIMIT_MIN    ? "min"
                       : def->limits & RUNG_LIMIT_MAX  ? "max"
                       : def->limits & RUNG_LIMIT_STEP ? "max_step"
                       : def->limits & RUNG_LIMIT_Z    ? "z_score"
                                                       : NULL;
    if (def->update != RUNG_UPDATE_COUNT || !name)
        return RUNG_OK;
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "limits.%s",
                           "a count board has no limit but per_player_per_minute", name);
}

/* These files of the zone folder are aliases for the machine's own setting. */
static rung_status check_zone(const rung_board_def *def, rung_err *err) {
    if (rung_slice_eq(def->zone_name, RUNG_SLICE("localtime")) ||
        rung_slice_eq(def->zone_name, RUNG_SLICE("posixrules")))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "timezone",
                               "expected the name of a zone, such as Europe/Helsinki");
    return RUNG_OK;
}

/* `old` is NULL for a new board. */
rung_status rung_define_check(const rung_board_def *def, const rung_board_def *old, rung_err *err) {
    rung_status st = rung_sketch_def_check(def, err);
    if (st < 0)
        return st;
    if (!old || old->limits != def->limits)
        st = check_limits(def, err);
    if (st >= 0 && (!old || !rung_slice_eq(old->zone_name, def->zone_name)))
        st = check_zone(def, err);
    return st;
}

rung_status rung_define_put(const rung_service *s, rung_hub_sender from, rung_slice board,
                            const rung_board_def *def, bool *is_new_out, rung_hub_answer *answer,
                            void *ctx, rung_err *err) {
    const rung_board_def *old;
    bool is_new = rung_state_board(rung_hub_state(s->hub), board, &old) != RUNG_OK;
    if (is_new_out)
        *is_new_out = is_new;
    rung_status st = rung_define_check(def, is_new ? NULL : old, err);
    return st < 0 ? st : rung_hub_define(s->hub, from, board, def, answer, ctx, err);
}
