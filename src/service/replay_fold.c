/* SPDX-License-Identifier: Apache-2.0 */
#include "service/replay_fold.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b) {
    return rung_slice_cmp(*(const rung_slice *)a, *(const rung_slice *)b);
}

rung_status rung_replay_fold_init(rung_replay_fold *f, const rung_alloc *alloc, rung_state *state,
                                  const rung_replay_spec *spec) {
    *f = (rung_replay_fold){.state = state, .spec = spec, .alloc = alloc};
    if (!spec->player_count)
        return RUNG_OK;
    f->excluded = rung_alloc_get(alloc, spec->player_count * sizeof *f->excluded);
    if (!f->excluded)
        return RUNG_ENOMEM;
    memcpy(f->excluded, spec->players, spec->player_count * sizeof *f->excluded);
    qsort(f->excluded, spec->player_count, sizeof *f->excluded, by_name);
    return RUNG_OK;
}

void rung_replay_fold_deinit(rung_replay_fold *f) {
    rung_alloc_free(f->alloc, f->excluded, f->spec->player_count * sizeof *f->excluded);
    f->excluded = NULL;
}

static bool is_excluded(const rung_replay_fold *f, rung_slice player, int64_t at_ms) {
    const rung_replay_spec *spec = f->spec;
    if (rung_state_seq(f->state) >= spec->until_seq)
        return false;
    return (spec->has_span && at_ms >= spec->from_ms && at_ms < spec->to_ms) ||
           (f->excluded &&
            bsearch(&player, f->excluded, spec->player_count, sizeof player, by_name));
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The event is the state's next one. */
static bool is_excluded_match(const rung_replay_fold *f, const rung_match_event *e, int64_t at_ms) {
    const rung_replay_spec *spec = f->spec;
    uint64_t seq = rung_state_seq(f->state) + 1;
    rung_match_cursor c = {.rest = e->packed};
    rung_match_entry entry;
    if (spec->match_count && bsearch(&seq, spec->matches, spec->match_count, sizeof seq, by_number))
        return true;
    while (rung_match_next(&c, &entry))
        if (is_excluded(f, entry.player, at_ms))
            return true;
    return false;
}

/* The time of a submission, as apply sees it. */
static int64_t time_of(const rung_replay_fold *f, const rung_event *e) {
    int64_t log_ms = rung_state_time(f->state);
    if (e->kind == RUNG_EVENT_SCORE && e->score.has_at)
        return e->score.at_ms;
    if (e->kind == RUNG_EVENT_MATCH && e->match.has_at)
        return e->match.at_ms;
    return e->ts_ms > log_ms ? e->ts_ms : log_ms;
}

/* Is it a submission that is left out? Commands in one event are left out together, if they name an excluded player. */
static bool is_left_out(const rung_replay_fold *f, const rung_event *e) {
    rung_zcommand c;
    rung_zcommand_item item;
    if (e->kind == RUNG_EVENT_SCORE)
        return rung_slice_eq(e->score.board, f->spec->board) &&
               is_excluded(f, e->score.player, time_of(f, e));
    if (e->kind == RUNG_EVENT_MATCH)
        return rung_slice_eq(e->match.board, f->spec->board) &&
               is_excluded_match(f, &e->match, time_of(f, e));
    if (e->kind != RUNG_EVENT_KEYS)
        return false;
    rung_slice rest = e->keys.packed;
    while (rung_zcommand_next(&rest, &c, NULL) == RUNG_OK)
        while (c.kind == RUNG_ZCOMMAND_ZADD && rung_slice_eq(c.key, f->spec->board) &&
               rung_zcommand_item_next(&c, &item))
            if (is_excluded(f, item.name, time_of(f, e)))
                return true;
    return false;
}

/* Scores of other boards matter to nobody here, and are most of a log. But an offset of a source, or the nonce of a
 * session, is used up by the board that took it, whichever it is; and whether it takes one may depend on all that it
 * has. */
static bool is_of_interest(const rung_replay_fold *f, const rung_event *e) {
    if (e->kind == RUNG_EVENT_MATCH)
        return f->spec->has_sources || rung_slice_eq(e->match.board, f->spec->board);
    return e->kind != RUNG_EVENT_SCORE || f->spec->has_sources || e->score.session.len ||
           rung_slice_eq(e->score.board, f->spec->board);
}

static rung_status define(rung_replay_fold *f, const rung_event *e, bool was_there, rung_err *err) {
    rung_shadow_info info;
    bool has_shadow = rung_state_shadow(f->state, f->spec->board, &info) == RUNG_OK;
    if (was_there && !has_shadow)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "board",
                               "it was a Redis key before it was defined");
    if (!has_shadow) {
        rung_status st = rung_state_shadow_begin(
            f->state, f->spec->board, f->spec->def ? f->spec->def : &e->defined.def, err);
        return st < 0 ? st
                      : rung_state_shadow_exclude(f->state, f->spec->board, f->spec->matches,
                                                  f->spec->match_count);
    }
    if (f->spec->def)
        return RUNG_OK;
    rung_status st = rung_state_shadow_define(f->state, f->spec->board, &e->defined.def, err);
    return st < 0 ? st : RUNG_OK;
}

rung_status rung_replay_fold_apply(rung_replay_fold *f, const rung_event *e, rung_err *err) {
    const rung_board_def *def;
    bool is_definition =
        e->kind == RUNG_EVENT_BOARD_DEFINED && rung_slice_eq(e->defined.board, f->spec->board);
    bool was_there = rung_state_board(f->state, f->spec->board, &def) == RUNG_OK;
    if (!is_of_interest(f, e)) {
        rung_state_shadow_pass(f->state, e->ts_ms);
        return RUNG_OK;
    }
    bool left_out = is_left_out(f, e);
    f->left_out += left_out;
    rung_state_shadow_skip(f->state, left_out);
    rung_status st = rung_state_apply(f->state, e, NULL, NULL);
    if (st == RUNG_ENOMEM)
        return RUNG_FAIL(err, st, "out of memory");
    return is_definition && st >= 0 ? define(f, e, was_there, err) : RUNG_OK;
}
