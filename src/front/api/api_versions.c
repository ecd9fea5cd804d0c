/* SPDX-License-Identifier: Apache-2.0 */
/* Timed snapshots (state/editions.h): their list, and the top list of one of them.
 *
 * An answer that names its version never changes, so caches may keep it for a year; `newest` must be asked for again,
 * which costs a 304 as long as it is the same. */
#include "codec/board_json.h"
#include "front/api/answers.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "model/text.h"
#include "state/editions.h"

#include <stdio.h>
#include <string.h>

static void set_ranking(const rung_call *c, const rung_edition *e, rung_ranking *k) {
    const rung_state *state = rung__api_state(c->api);
    *k = (rung_ranking){.board = c->board,
                        .state = state,
                        .kind = e->kind,
                        .start_ms = e->start_ms,
                        .end_ms = e->end_ms,
                        .rank = e->rank,
                        .total = e->total,
                        .seq = e->version};
    rung_ignore(rung_state_board(state, c->board, &k->def), "it has an edition");
    k->window_id_len = rung_window_id_write(e->kind, e->ordinal, e->season, k->window_id);
}

static rung_query query_of(const rung_call *c) {
    return (rung_query){.board = c->board,
                        .window = rung__call_text(c, "window"),
                        .window_id = rung__call_text(c, "window_id"),
                        .on = rung__call_text(c, "on"),
                        .scope = rung__call_text(c, "scope")};
}

/* Strong: the same content on every server, for ever. */
static size_t make_etag(const rung_edition *e, char out[96]) {
    return (size_t)snprintf(out, 96, "\"%llx-%llx\"", (unsigned long long)e->version,
                            (unsigned long long)e->hash);
}

/* True: the client has it, and the call is ended. */
static bool is_known(rung_call *c, const rung_edition *e, bool is_named) {
    char etag[96];
    bool is_private = c->who.key_id_len || c->who.player_len;
    size_t len = make_etag(e, etag);
    rung_exchange_set(c->x, "ETag", rung_slice_of(etag, len));
    rung_exchange_set(c->x, "Cache-Control",
                      !is_named    ? RUNG_SLICE("no-cache")
                      : is_private ? RUNG_SLICE("private, max-age=31536000, immutable")
                                   : RUNG_SLICE("public, max-age=31536000, immutable"));
    if (!rung__call_has_etag(c, rung_slice_of(etag, len)))
        return false;
    rung_exchange_answer(c->x, 304, NULL, (rung_slice){NULL, 0});
    return true;
}

/* As in other answers, but what is not of that moment is left out. */
static void write_row(rung_json_writer *w, const rung_board_def *def, const rung_row *row,
                      rung_slice name) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "rank", uint, row->rank);
    RUNG_JSON_MEMBER(w, "player", string, row->id);
    RUNG_JSON_MEMBER(w, "name", string_or_null, name);
    rung_values_json_write(w, def, row->values, row->value_count);
    if (row->has_at)
        RUNG_JSON_MEMBER(w, "at", time, row->at_ms);
    RUNG_JSON_MEMBER(w, "percentile", fixed, (int64_t)(row->percentile * 1e9 + 0.5), 9);
    rung_json_close_object(w);
}

static void write_edition(rung_call *c, const rung_edition *e) {
    rung_slice names[RUNG_API_ROWS_MAX];
    const rung_arg *rank = rung__call_find(c, "rank");
    rung_ranking k;
    set_ranking(c, e, &k);
    if (rank && rank->given)
        k.rank = (rung_rank_style)rank->number;
    uint32_t n = rung_edition_rows(e, k.rank, rung__call_count(c, "offset"),
                                   rung__call_count(c, "limit"), c->api->rows, names);
    rung_json_writer *w = rung__call_begin(c);
    rung_answer_head(w, &k);
    RUNG_JSON_MEMBER(w, "version", uint, e->version);
    RUNG_JSON_MEMBER(w, "version_at", time, e->at_ms);
    RUNG_JSON_MEMBER(w, "kept", uint, e->count);
    RUNG_JSON_OPEN(w, "entries", array);
    for (uint32_t i = 0; i < n; i++)
        write_row(w, k.def, &c->api->rows[i], names[i]);
    rung_json_close_array(w);
    rung__call_answer(c, 200);
}

void rung__api_top_version(rung_call *c, rung_slice text) {
    rung_query query = query_of(c);
    rung_edition e;
    rung_err err = {0};
    int64_t version = 0;
    bool is_newest = rung_slice_eq(text, RUNG_SLICE("newest"));
    if (!is_newest && (!rung_text_parse_plain(text, &version) || version < 0)) {
        rung__call_fail_with(c, RUNG_EINVAL, RUNG_REASON_MALFORMED, "version",
                             "expected a number, or newest");
        return;
    }
    rung_status st =
        rung_state_edition(rung__api_state(c->api), &query,
                           is_newest ? RUNG_EDITION_NEWEST : (uint64_t)version, &e, &err);
    if (st != RUNG_OK)
        rung__call_malformed(c, st, &err);
    else if (!is_known(c, &e, !is_newest))
        write_edition(c, &e);
}

static void write_version(rung_json_writer *w, const rung_edition *e) {
    char id[RUNG_NAME_MAX + 1];
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "version", uint, e->version);
    RUNG_JSON_MEMBER(w, "at", time, e->at_ms);
    RUNG_JSON_MEMBER(w, "window_id", string,
                     rung_slice_of(id, rung_window_id_write(e->kind, e->ordinal, e->season, id)));
    RUNG_JSON_MEMBER(w, "total", uint, e->total);
    RUNG_JSON_MEMBER(w, "kept", uint, e->count);
    rung_json_close_object(w);
}

void rung_api_versions(rung_call *c) {
    const rung_state *state = rung__api_state(c->api);
    rung_query query = query_of(c);
    uint32_t limit = rung__call_count(c, "limit"), count, total;
    const rung_board_def *def = rung__call_board(c);
    rung_err err = {0};
    rung_slice season = {NULL, 0};
    if (!def)
        return;
    rung_edition *list = rung__call_alloc(c, limit * sizeof *list);
    if (!list)
        return;
    rung_status st = rung_state_editions(state, &query, limit, list, &count, &total, &err);
    if (st != RUNG_OK) {
        rung__call_malformed(c, st, &err);
        return;
    }
    uint32_t kind = rung_board_window_kind(def, query.window, &season);
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "board", string, c->board);
    RUNG_JSON_KEY(w, "window");
    if (kind == RUNG_WINDOW_SEASON)
        rung_json_write_string(w, season);
    else
        rung_json_write_word(w, rung_window_words[kind]);
    RUNG_JSON_MEMBER(w, "every", fixed, def->snapshot_every_ms, 3);
    RUNG_JSON_MEMBER(w, "top", uint, def->snapshot_top);
    RUNG_JSON_MEMBER(w, "keep", uint, def->snapshot_keep);
    RUNG_JSON_MEMBER(w, "count", uint, total);
    RUNG_JSON_OPEN(w, "versions", array);
    for (uint32_t i = 0; i < count; i++)
        write_version(w, &list[i]);
    rung_json_close_array(w);
    RUNG_JSON_MEMBER(w, "seq", uint, rung_state_seq(state));
    rung__call_answer(c, 200);
}
