/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/change.h"

#include "codec/board_json.h"
#include "codec/json_reader.h"
#include "state/keyspace/keys.h"
#include "state/replay.h"
#include "state/review.h"

enum { KEYS_SHOWN = 100 }; /* of one event */

/* ---- definitions ---- */

static void write_definition(rung_json_writer *w, rung_slice board, const rung_board_def *def) {
    rung_json_open_object(w);
    rung_board_json_write(w, board, def);
    rung_json_close_object(w);
}

/* The raw value of a member. */
static bool find_member(rung_json *r, rung_slice object, rung_slice name, rung_slice *raw_out) {
    rung_slice key;
    rung_json_init_at(r, object, NULL, 0, NULL);
    rung_status st = rung_json_enter_object(r);
    while (st == RUNG_OK && rung_json_next_key(r, &key) == RUNG_OK) {
        bool is_it = rung_slice_eq(key, name);
        st = rung_json_skip(r, raw_out);
        if (is_it && st == RUNG_OK)
            return true;
    }
    return false;
}

/* The members of `object` that are not the same in `other`. */
static void write_changed(rung_json_writer *w, rung_json *r, rung_json *r2, rung_slice object,
                          rung_slice other) {
    rung_slice key, raw, same;
    rung_json_open_object(w);
    rung_json_init_at(r, object, NULL, 0, NULL);
    rung_status st = rung_json_enter_object(r);
    while (st == RUNG_OK && rung_json_next_key(r, &key) == RUNG_OK) {
        char name[RUNG_NAME_MAX];
        size_t len = key.len < sizeof name ? key.len : sizeof name;
        memcpy(name, key.ptr, len); /* a key lives until the next value */
        st = rung_json_skip(r, &raw);
        if (st != RUNG_OK ||
            (find_member(r2, other, rung_slice_of(name, len), &same) && rung_slice_eq(raw, same)))
            continue;
        rung_json_write_key(w, rung_slice_of(name, len));
        rung_json_write_raw(w, raw);
    }
    rung_json_close_object(w);
}

static void write_redefinition(const rung_state *state, rung_slice board,
                               const rung_board_def *next, rung_json_writer *before,
                               rung_json_writer *after) {
    const rung_board_def *def;
    if (rung_state_board(state, board, &def) != RUNG_OK)
        return; /* new: the details of the record have it all */
    rung_json_writer old = {.alloc = before->alloc}, new = {.alloc = before->alloc};
    rung_json *readers = rung_alloc_get(before->alloc, 2 * sizeof *readers);
    write_definition(&old, board, def);
    write_definition(&new, board, next);
    before->is_failed |= old.is_failed || new.is_failed || !readers;
    if (!before->is_failed) {
        write_changed(before, &readers[0], &readers[1], rung_json_written(&old),
                      rung_json_written(&new));
        write_changed(after, &readers[0], &readers[1], rung_json_written(&new),
                      rung_json_written(&old));
    }
    rung_alloc_free(before->alloc, readers, readers ? 2 * sizeof *readers : 0);
    rung_json_writer_deinit(&old);
    rung_json_writer_deinit(&new);
}

static void write_deleted(const rung_state *state, rung_slice board, rung_json_writer *w) {
    const rung_board_def *def;
    rung_stats stats;
    if (rung_state_board(state, board, &def) != RUNG_OK ||
        rung_state_board_stats(state, board, &stats) != RUNG_OK)
        return;
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "entries", uint, stats.entries);
    RUNG_JSON_KEY(w, "definition");
    write_definition(w, board, def);
    rung_json_close_object(w);
}

/* ---- people ---- */

static void write_entry(const rung_state *state, const rung_event *e, rung_json_writer *w) {
    const rung_board_def *def;
    rung_view view;
    rung_row row;
    bool found = false;
    if (rung_state_board(state, e->removed.board, &def) != RUNG_OK ||
        rung_state_view(state, &(rung_query){.board = e->removed.board}, &view, NULL) != RUNG_OK)
        return;
    rung_view_rows(&view, 1, &e->removed.player, &row, &found);
    if (!found)
        return;
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "rank", uint, row.rank);
    RUNG_JSON_MEMBER(w, "total", uint, view.total);
    rung_values_json_write(w, def, row.values, row.value_count);
    rung_json_close_object(w);
}

static void write_banned(rung_json_writer *w, bool is_banned, bool is_shadow) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "banned", bool, is_banned);
    if (is_shadow)
        RUNG_JSON_MEMBER(w, "shadow", bool, true);
    rung_json_close_object(w);
}

static void write_ban(const rung_state *state, const rung_event *e, rung_json_writer *before,
                      rung_json_writer *after) {
    rung_attribute attributes[RUNG_ATTRIBUTES_MAX];
    uint32_t count;
    bool is_banned = false;
    if (rung_state_player(state, e->ban.player, &count, attributes, &is_banned) != RUNG_OK)
        is_banned = false;
    bool is_new = e->kind == RUNG_EVENT_BANNED;
    write_banned(before, is_banned, rung_state_is_shadow_banned(state, e->ban.player));
    write_banned(after, is_new, is_new && e->ban.is_shadow);
}

/* The tentative score on which was decided, with the rules that it broke. */
static void write_review(const rung_state *state, uint64_t id, rung_json_writer *w) {
    rung_review r;
    if (rung_state_review(state, id, &r) != RUNG_OK)
        return;
    rung_json_open_object(w);
    for (uint32_t i = 0; i < r.value_count && i < 1; i++) {
        rung_column column = {.type = (rung_score_type)r.types[i], .decimals = r.decimals[i]};
        rung_json_write_key(w, r.is_delta ? RUNG_SLICE("delta") : RUNG_SLICE("score"));
        rung_score_json_write(w, &column, r.values[i]);
    }
    RUNG_JSON_MEMBER(w, "at", time, r.at_ms);
    RUNG_JSON_OPEN(w, "rules", array);
    for (uint32_t i = 0; i < r.finding_count; i++)
        rung_json_write_word(w, rung_rule_words[r.findings[i].rule]);
    rung_json_close_array(w);
    rung_json_close_object(w);
}

/* ---- keys of the Redis protocol ---- */

static void write_key(const rung_state *state, rung_slice key, rung_json_writer *w) {
    rung_stats stats;
    if (rung_state_board_stats(state, key, &stats) != RUNG_OK)
        stats = (rung_stats){0}; /* a set, or absent */
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "key", string, key);
    RUNG_JSON_MEMBER(w, "members", uint, stats.entries);
    rung_json_close_object(w);
}

static void write_everything(const rung_state *state, rung_json_writer *w) {
    rung_stats stats;
    rung_state_stats(state, &stats);
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "boards", uint, stats.boards);
    RUNG_JSON_MEMBER(w, "entries", uint, stats.entries);
    RUNG_JSON_MEMBER(w, "sets", uint, stats.sets);
    RUNG_JSON_MEMBER(w, "set_members", uint, stats.set_members);
    rung_json_close_object(w);
}

/* As they are before the first command of the event. */
static void write_keys(const rung_state *state, const rung_event *e, rung_json_writer *w) {
    rung_slice rest = e->keys.packed;
    rung_zcommand c;
    rung_zcommand_item item;
    uint32_t shown = 0;
    rung_json_open_array(w);
    while (shown < KEYS_SHOWN && rung_zcommand_next(&rest, &c, NULL) == RUNG_OK) {
        if (c.kind == RUNG_ZCOMMAND_FLUSH) {
            write_everything(state, w);
            shown = KEYS_SHOWN;
        } else if (c.kind == RUNG_ZCOMMAND_RENAME) {
            write_key(state, c.key, w);
            write_key(state, c.other, w);
            shown += 2;
        } else if (c.kind == RUNG_ZCOMMAND_DEL) {
            while (shown++ < KEYS_SHOWN && rung_zcommand_item_next(&c, &item))
                write_key(state, item.name, w);
        }
    }
    rung_json_close_array(w);
}

/* ---- settings ---- */

static void write_ids(uint64_t capacity, int64_t keep_ms, rung_json_writer *w) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "capacity", uint, capacity);
    RUNG_JSON_MEMBER(w, "keep_ms", int, keep_ms);
    rung_json_close_object(w);
}

static void write_level(uint32_t level, rung_json_writer *w) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "level", uint, level);
    rung_json_close_object(w);
}

static void write_access(bool has_keys, rung_json_writer *w) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "has_keys", bool, has_keys);
    rung_json_close_object(w);
}

void rung_change_write(const rung_state *state, const rung_event *e, rung_json_writer *before,
                       rung_json_writer *after) {
    rung_stats stats;
    rung_shadow_info shadow;
    if (!rung_event_is_audited(e))
        return;
    if (e->kind == RUNG_EVENT_BOARD_DEFINED) {
        write_redefinition(state, e->defined.board, &e->defined.def, before, after);
    } else if (e->kind == RUNG_EVENT_BOARD_SWAPPED) {
        if (rung_state_shadow(state, e->swapped.board, &shadow) == RUNG_OK)
            write_redefinition(state, e->swapped.board, shadow.def, before, after);
    } else if (e->kind == RUNG_EVENT_BOARD_DELETED) {
        write_deleted(state, e->deleted.board, before);
    } else if (e->kind == RUNG_EVENT_ENTRY_REMOVED) {
        write_entry(state, e, before);
    } else if (e->kind == RUNG_EVENT_BANNED || e->kind == RUNG_EVENT_UNBANNED) {
        write_ban(state, e, before, after);
    } else if (e->kind == RUNG_EVENT_REVIEWED) {
        write_review(state, e->reviewed.id, before);
    } else if (e->kind == RUNG_EVENT_KEYS) {
        write_keys(state, e, before);
    } else if (e->kind == RUNG_EVENT_IDS_SET) {
        rung_state_stats(state, &stats);
        write_ids(stats.id_capacity, stats.id_keep_ms, before);
        write_ids(e->ids.capacity, e->ids.keep_ms, after);
    } else if (e->kind == RUNG_EVENT_RULES_SET) {
        write_level(rung_state_rules(state), before);
        write_level(e->rules.level, after);
    } else if (e->kind == RUNG_EVENT_ACCESS_SET) {
        write_access(rung_state_has_keys(state), before);
        write_access(e->access.has_keys, after);
    }
}
