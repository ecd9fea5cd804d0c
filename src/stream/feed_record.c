/* SPDX-License-Identifier: Apache-2.0 */
/* Changes come window by window, inside apply. They are written as they come, and the record is complete when a change
 * of something else comes, or the event ends.
 *
 * Invariants:
 *   W1  Positions ascend: by the event, then by `n`, which counts the records of an event from 0 whatever board or
 *       partition they are for.
 *   W2  A record depends on the log and on `boards` alone, never on time, place or what was written before. A record in
 *       which no window changed is dropped and takes no `n`. */
#include "stream/feed_record.h"

#include "codec/board_json.h"
#include "codec/json_reader.h"
#include "guard/keys.h"
#include "service/ask.h"

#include <string.h>

#define JSON_MAX  ((size_t)1 << 20)
#define JSON_GOAL ((size_t)1 << 17) /* begin another record: brokers take 1 MiB by default */

static bool is_wanted(const rung__feed_writer *w, rung_slice board) {
    const char *at = w->boards;
    if (!at || !*at)
        return true;
    for (;; at++) {
        size_t len = strcspn(at, ", ");
        if (len && rung_pattern_matches(rung_slice_of(at, len), board))
            return true;
        at += len;
        if (!*at)
            return false;
    }
}

/* ---- one record ---- */

/* W1. Returns the place of the next record of this event. */
static rung__feed_position place(rung__feed_writer *w, uint64_t seq) {
    if (w->next.seq != seq)
        w->next = (rung__feed_position){.seq = seq};
    return w->next;
}

static void begin(rung__feed_writer *w, const char *type, uint64_t seq, int64_t at_ms,
                  rung_slice board) {
    rung__feed_position p = place(w, seq);
    rung_json_writer *j = &w->json;
    j->alloc = w->alloc;
    j->limit = JSON_MAX;
    rung_json_writer_reset(j);
    rung_json_open_object(j);
    RUNG_JSON_MEMBER(j, "seq", uint, p.seq);
    RUNG_JSON_MEMBER(j, "n", uint, p.n);
    RUNG_JSON_MEMBER(j, "type", word, type);
    RUNG_JSON_MEMBER(j, "at", time, at_ms);
    RUNG_JSON_MEMBER(j, "board", string, board);
}

static void finish(rung__feed_writer *w, bool is_for_all, rung_slice key) {
    rung_json_close_object(&w->json);
    if (rung_json_failed(&w->json))
        w->lose(w->ctx, w->next.seq);
    else
        w->emit(w->ctx, &(rung__feed_record){.position = w->next,
                                             .is_for_all = is_for_all,
                                             .key = key,
                                             .json = rung_json_written(&w->json)});
    w->next.n++;
}

static void write_window(rung_json_writer *j, uint32_t kind, int64_t ordinal, rung_slice season) {
    char id[RUNG_NAME_MAX + 1];
    uint32_t len = rung_window_id_write(kind, ordinal, season, id);
    RUNG_JSON_KEY(j, "window");
    if (kind == RUNG_WINDOW_SEASON)
        rung_json_write_string(j, season);
    else
        rung_json_write_word(j, rung_window_words[kind]);
    RUNG_JSON_MEMBER(j, "id", string, rung_slice_of(id, len));
}

/* ---- entries: one record of several windows ---- */

static const char *cause_word(rung_event_kind cause) {
    switch (cause) {
    case RUNG_EVENT_SCORE:
        return "score";
    case RUNG_EVENT_ENTRY_REMOVED:
        return "removal";
    case RUNG_EVENT_REVIEWED:
    case RUNG_EVENT_TICK: /* of a review that has expired */
        return "review";
    case RUNG_EVENT_BANNED:
        return "ban";
    case RUNG_EVENT_UNBANNED:
        return "unban";
    case RUNG_EVENT_PLAYER_ERASED:
        return "erasure";
    case RUNG_EVENT_KEYS:
        return "redis";
    default:
        return rung_event_kind_name(cause);
    }
}

static void write_standing(rung_json_writer *j, const rung_change *c) {
    rung_values_json_write(j, c->def, c->values, c->value_count);
    RUNG_JSON_MEMBER(j, "rank_before", uint_or_null, c->rank_before);
    RUNG_JSON_MEMBER(j, "rank", uint_or_null, c->rank);
    RUNG_JSON_MEMBER(j, "total", uint, c->total);
}

static rung_slice keep(char *room, rung_slice name) {
    size_t len = name.len < RUNG_NAME_MAX ? name.len : RUNG_NAME_MAX;
    memcpy(room, name.ptr ? name.ptr : "", len);
    return rung_slice_of(room, len);
}

static void open_entry(rung__feed_writer *w, const rung_change *c) {
    begin(w, c->kind == RUNG_CHANGE_REMOVED ? "removed" : "score", c->seq, c->time_ms, c->board);
    RUNG_JSON_MEMBER(&w->json, "player", string, c->player);
    RUNG_JSON_MEMBER(&w->json, "cause", word, cause_word(c->cause));
    write_standing(&w->json, c);
    RUNG_JSON_OPEN(&w->json, "windows", array);
    w->first = *c;
    w->first.board = keep(w->board, c->board);
    w->first.player = keep(w->player, c->player);
    w->first.season = keep(w->season, c->season);
    w->is_open = true;
    w->is_changed = false;
}

static void close_entry(rung__feed_writer *w) {
    if (!w->is_open)
        return;
    w->is_open = false;
    rung_json_close_array(&w->json);
    if (w->is_changed) /* W2 */
        finish(w, false, w->first.player);
}

/* Is it of the record that is open? Its first window again is another change. */
static bool belongs(const rung__feed_writer *w, const rung_change *c) {
    const rung_change *f = &w->first;
    bool is_first_window =
        f->window == c->window && f->ordinal == c->ordinal && rung_slice_eq(f->season, c->season);
    return w->is_open && f->seq == c->seq && f->kind == c->kind && !is_first_window &&
           w->json.len < JSON_GOAL && rung_slice_eq(f->board, c->board) &&
           rung_slice_eq(f->player, c->player);
}

static void write_entry(rung__feed_writer *w, const rung_change *c) {
    if (!belongs(w, c)) {
        close_entry(w);
        open_entry(w, c);
    }
    rung_json_open_object(&w->json);
    write_window(&w->json, c->window, c->ordinal, c->season);
    RUNG_JSON_MEMBER(&w->json, "changed", bool, c->changed);
    write_standing(&w->json, c);
    rung_json_close_object(&w->json);
    w->is_changed = w->is_changed || c->changed;
}

/* ---- all kinds ---- */

static void write_board(rung__feed_writer *w, const rung_change *c, const char *type) {
    close_entry(w);
    begin(w, type, c->seq, c->time_ms, c->board);
    finish(w, true, (rung_slice){NULL, 0});
}

void rung__feed_write_change(rung__feed_writer *w, const rung_change *c) {
    if (!is_wanted(w, c->board))
        return;
    switch (c->kind) {
    case RUNG_CHANGE_ENTRY:
    case RUNG_CHANGE_REMOVED:
        write_entry(w, c);
        break;
    case RUNG_CHANGE_BOARD_DEFINED:
        write_board(w, c, "board_defined");
        break;
    case RUNG_CHANGE_BOARD_DELETED:
        write_board(w, c, "board_deleted");
        break;
    case RUNG_CHANGE_BOARD_REPLACED:
        write_board(w, c, "board_replaced");
        break;
    }
}

void rung__feed_write_close(rung__feed_writer *w, rung_slice board, const rung_view *view) {
    if (!is_wanted(w, board))
        return;
    close_entry(w);
    begin(w, "window_closed", rung_state_seq(view->state), rung_state_time(view->state), board);
    write_window(&w->json, view->kind, view->ordinal, view->season);
    RUNG_JSON_MEMBER(&w->json, "total", uint, view->total);
    finish(w, true, (rung_slice){NULL, 0});
}

void rung__feed_write_end(rung__feed_writer *w) {
    close_entry(w);
}

void rung__feed_writer_deinit(rung__feed_writer *w) {
    rung_json_writer_deinit(&w->json);
}

void rung__feed_write_progress(rung_json_writer *j, uint64_t seq, int64_t at_ms) {
    rung_json_writer_reset(j);
    rung_json_open_object(j);
    RUNG_JSON_MEMBER(j, "seq", uint, seq);
    RUNG_JSON_MEMBER(j, "type", word, "progress");
    RUNG_JSON_MEMBER(j, "at", time, at_ms);
    rung_json_close_object(j);
}

void rung__feed_write_gap(rung_json_writer *j, uint64_t from, uint64_t to) {
    rung_json_writer_reset(j);
    rung_json_open_object(j);
    RUNG_JSON_MEMBER(j, "seq", uint, to);
    RUNG_JSON_MEMBER(j, "type", word, "gap");
    RUNG_JSON_MEMBER(j, "from", uint, from);
    RUNG_JSON_MEMBER(j, "to", uint, to);
    rung_json_close_object(j);
}

/* ---- reading back ---- */

rung_status rung__feed_record_read(char *json, size_t len, rung__feed_position *out,
                                   rung_err *err) {
    rung_json r;
    rung_slice key;
    rung_err why = {0};
    int64_t seq = -1;
    *out = (rung__feed_position){.n = RUNG__FEED_ALL};
    rung_json_init(&r, json, len, &why);
    rung_status st = rung_json_enter_object(&r);
    while (st == RUNG_OK && (st = rung_json_next_key(&r, &key)) == RUNG_OK)
        st = rung_slice_eq(key, RUNG_SLICE("seq")) ? rung_json_int64(&r, &seq)
             : rung_slice_eq(key, RUNG_SLICE("n")) ? rung_json_uint32(&r, &out->n)
                                                   : rung_json_skip(&r, NULL);
    if (rung_json_end(&r) < 0 || seq < 0)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "not a record of a change feed: %.120s",
                         why.message[0] ? why.message : "it has no seq");
    out->seq = (uint64_t)seq;
    return RUNG_OK;
}
