/* SPDX-License-Identifier: Apache-2.0 */
/* Replays: begin one, look at it, read who moves, swap, undo, drop. */
#include "codec/board_json.h"
#include "front/api/answers.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "front/api/problem.h"
#include "front/api/schemas.h"
#include "model/text.h"
#include "model/words.h"
#include "service/matches.h"
#include "service/replay.h"

enum { MOVES_SPAN = 5000 }; /* entries looked at for one page: bounds its time */

/* ---- the loop's side ---- */

static bool begin_work(void *ctx, uint32_t slot, rung_asker_work *work) {
    rung_api *api = ctx;
    return rung__api_begin_work(api, &api->replay_work[slot], work);
}

static void look(void *ctx) {
    rung_replay_look(((rung_api *)ctx)->replay);
}

static void look_in(void *ctx, uint32_t ms) {
    rung_api *api = ctx;
    rung_timer_start(api->config.loop, &api->replay_timer, ms, 0);
}

rung_status rung__replay_create(rung_api *api, rung_err *err) {
    rung_replay_config config = {.alloc = api->config.alloc,
                                 .port = api->config.replay,
                                 .work = begin_work,
                                 .look_in = look_in,
                                 .ctx = api};
    api->replay_timer = (rung_timer){.call = look, .ctx = api};
    return rung_replay_create(&config, &api->replay, err);
}

/* ---- begin ---- */

static rung_status read_players(rung_call *c, const rung_slot *slot, rung_replay_spec *spec,
                                rung_err *err) {
    rung_json *r = &c->api->reader;
    rung_slice *players = rung__call_alloc(c, ((size_t)slot->integer + 1) * sizeof *players);
    if (!players)
        return RUNG_ECLOSED; /* the call is ended */
    spec->players = players;
    rung_json_init_at(r, slot->text, "exclude.players", slot->offset, err);
    rung_status st = rung_json_enter_array(r);
    while (st == RUNG_OK && (st = rung_json_next_item(r)) == RUNG_OK) {
        st = rung_json_string(r, &players[spec->player_count]);
        spec->player_count += st == RUNG_OK;
    }
    return st < 0 ? st : RUNG_OK;
}

/* By id, if the board still knows it, or by position in the log. */
static rung_status find_match(const rung_call *c, rung_slice name, uint64_t *seq_out,
                              rung_err *err) {
    rung_match_info m;
    int64_t seq;
    if (rung_match_find(&c->api->service, c->board, name, &m, err) == RUNG_OK) {
        *seq_out = m.seq;
        return RUNG_OK;
    }
    if (name.len < 2 || name.ptr[0] != '@' ||
        rung_text_parse_fixed(rung_slice_of(name.ptr + 1, name.len - 1), 0, &seq, NULL) < 0 ||
        seq < 1)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "exclude.matches",
                               "the board knows no such match, or not any more: name it by `@` "
                               "and its seq");
    *seq_out = (uint64_t)seq;
    return RUNG_OK;
}

static rung_status read_matches(rung_call *c, const rung_slot *slot, rung_replay_spec *spec,
                                rung_err *err) {
    rung_json *r = &c->api->reader;
    rung_slice name;
    uint64_t *matches = rung__call_alloc(c, ((size_t)slot->integer + 1) * sizeof *matches);
    if (!matches)
        return RUNG_ECLOSED; /* the call is ended */
    spec->matches = matches;
    rung_json_init_at(r, slot->text, "exclude.matches", slot->offset, err);
    rung_status st = rung_json_enter_array(r);
    while (st == RUNG_OK && (st = rung_json_next_item(r)) == RUNG_OK) {
        st = rung_json_string(r, &name);
        if (st == RUNG_OK)
            st = find_match(c, name, &matches[spec->match_count], err);
        spec->match_count += st == RUNG_OK;
    }
    return st < 0 ? st : RUNG_OK;
}

static rung_status read_exclude(rung_call *c, const rung_slot *slot, rung_replay_spec *spec,
                                rung_err *err) {
    rung_slot slots[EXCLUDE_FIELDS];
    rung_status st = rung_schema_read_at(&rung_replay_exclude_schema, &c->api->reader, slot->text,
                                         "exclude", slot->offset, slots, err);
    if (st < 0)
        return st;
    spec->has_span = slots[EXCLUDE_FROM].present || slots[EXCLUDE_TO].present;
    spec->from_ms = slots[EXCLUDE_FROM].present ? slots[EXCLUDE_FROM].integer : RUNG_TIME_MS_MIN;
    spec->to_ms = slots[EXCLUDE_TO].present ? slots[EXCLUDE_TO].integer : RUNG_TIME_MS_END;
    if (slots[EXCLUDE_PLAYERS].present)
        st = read_players(c, &slots[EXCLUDE_PLAYERS], spec, err);
    return st >= 0 && slots[EXCLUDE_MATCHES].present
               ? read_matches(c, &slots[EXCLUDE_MATCHES], spec, err)
               : st;
}

static void answer_replay(rung_call *c, int status);

void rung_api_begin_replay(rung_call *c) {
    rung_slot slots[REPLAY_FIELDS];
    rung_replay_spec spec = {.board = c->board};
    rung_board_def def;
    rung_err err = {0};
    uint64_t job;
    rung_status st = RUNG_OK;
    if (!rung__call_read_body(c, slots))
        return;
    if (slots[REPLAY_EXCLUDE].present)
        st = read_exclude(c, &slots[REPLAY_EXCLUDE], &spec, &err);
    if (st == RUNG_OK && slots[REPLAY_DEFINITION].present) {
        rung_slice text = slots[REPLAY_DEFINITION].text;
        st = rung_board_json_read((char *)(uintptr_t)text.ptr, text.len, c->board, &def, &err);
        spec.def = &def;
    }
    if (st == RUNG_ECLOSED)
        return;
    if (st < 0) {
        rung__call_malformed(c, st, &err);
        return;
    }
    st = rung_replay_begin(c->api->replay, &spec, &job, &err);
    if (st < 0)
        rung__call_fail(c, st, &err);
    else
        answer_replay(c, 202);
}

/* ---- look ---- */

static void write_matches(rung_json_writer *w, const rung_replay_spec *spec) {
    RUNG_JSON_OPEN(w, "matches", array);
    for (uint32_t i = 0; i < spec->match_count; i++) {
        char name[1 + 20] = "@";
        size_t len = 1 + rung_digits_format(spec->matches[i], name + 1);
        rung_json_write_string(w, rung_slice_of(name, len));
    }
    rung_json_close_array(w);
}

static void write_spec(rung_json_writer *w, const rung_replay_spec *spec) {
    RUNG_JSON_OPEN(w, "exclude", object);
    RUNG_JSON_OPEN(w, "players", array);
    for (uint32_t i = 0; i < spec->player_count; i++)
        rung_json_write_string(w, spec->players[i]);
    rung_json_close_array(w);
    if (spec->match_count)
        write_matches(w, spec);
    if (spec->has_span && spec->from_ms > RUNG_TIME_MS_MIN)
        RUNG_JSON_MEMBER(w, "from", time, spec->from_ms);
    if (spec->has_span && spec->to_ms < RUNG_TIME_MS_END)
        RUNG_JSON_MEMBER(w, "to", time, spec->to_ms);
    rung_json_close_object(w);
}

static void write_score(rung_json_writer *w, const rung_board_def *def, uint32_t rank,
                        rung_value score) {
    if (rank)
        rung_score_json_write(w, &def->key.columns[0], score);
    else
        rung_json_write_null(w);
}

/* The definitions before and after. */
typedef struct defs {
    const rung_board_def *before, *after;
} defs;

static void write_moves(rung_json_writer *w, const char *name, const defs *d,
                        const rung_move *moves, uint32_t count) {
    rung_json_write_key(w, rung_slice_str(name));
    rung_json_open_array(w);
    for (uint32_t i = 0; i < count; i++) {
        const rung_move *m = &moves[i];
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "player", string, rung_slice_of(m->player, m->player_len));
        RUNG_JSON_MEMBER(w, "rank_before", uint_or_null, m->rank_before);
        RUNG_JSON_MEMBER(w, "rank_after", uint_or_null, m->rank_after);
        RUNG_JSON_KEY(w, "score_before");
        write_score(w, d->before, m->rank_before, m->before);
        RUNG_JSON_KEY(w, "score_after");
        write_score(w, d->after, m->rank_after, m->after);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
}

static void write_window(rung_json_writer *w, const defs *d, const rung_report_window *window) {
    rung_json_open_object(w);
    RUNG_JSON_KEY(w, "window"); /* as a request names it */
    if (window->kind == RUNG_WINDOW_SEASON)
        rung_json_write_string(w, rung_slice_str(window->id));
    else
        rung_json_write_word(w, rung_window_words[window->kind]);
    RUNG_JSON_MEMBER(w, "window_id", string, rung_slice_str(window->id));
    RUNG_JSON_MEMBER(w, "entries_before", uint, window->before);
    RUNG_JSON_MEMBER(w, "entries_after", uint, window->after);
    RUNG_JSON_MEMBER(w, "moved", uint, window->moved);
    RUNG_JSON_MEMBER(w, "entered", uint, window->entered);
    RUNG_JSON_MEMBER(w, "left", uint, window->left);
    RUNG_JSON_MEMBER(w, "rescored", uint, window->rescored);
    RUNG_JSON_MEMBER(w, "same", uint, window->same);
    write_moves(w, "up", d, window->up, window->up_count);
    write_moves(w, "down", d, window->down, window->down_count);
    rung_json_close_object(w);
}

static void write_report(rung_json_writer *w, const defs *d, const rung_replay_report *report) {
    RUNG_JSON_KEY(w, "report");
    if (!report) {
        rung_json_write_null(w);
        return;
    }
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "seq", uint, report->seq);
    RUNG_JSON_OPEN(w, "windows", array);
    for (uint32_t i = 0; i < report->window_count; i++)
        write_window(w, d, &report->windows[i]);
    rung_json_close_array(w);
    RUNG_JSON_MEMBER(w, "windows_left_out", uint, report->window_total - report->window_count);
    rung_json_close_object(w);
}

static void write_failure(rung_json_writer *w, const rung_err *err) {
    RUNG_JSON_OPEN(w, "error", object);
    RUNG_JSON_MEMBER(w, "code", word, rung_problem_of(err->code, err).code);
    RUNG_JSON_MEMBER(w, "detail", string, rung_slice_str(err->message));
    rung_json_close_object(w);
}

static void write_definition(rung_json_writer *w, rung_slice board, const rung_board_def *def) {
    RUNG_JSON_OPEN(w, "definition", object);
    rung_board_json_write(w, board, def);
    rung_json_close_object(w);
}

static void answer_replay(rung_call *c, int status) {
    rung_api *api = c->api;
    const rung_state *s = rung__api_state(api);
    const rung_board_def *def = rung__call_board(c);
    rung_replay_info info;
    if (!def)
        return;
    if (rung_replay_look_at(api->replay, c->board, &info) != RUNG_OK) {
        rung__call_absent(c, "replay", "the board has no replay");
        return;
    }
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "board", string, c->board);
    RUNG_JSON_MEMBER(w, "job", uint, info.job);
    RUNG_JSON_MEMBER(w, "state", word, rung_replay_phase_words[info.phase]);
    if (info.phase == RUNG_REPLAY_READING) {
        RUNG_JSON_OPEN(w, "progress", object);
        RUNG_JSON_MEMBER(w, "seq", uint, info.seq);
        RUNG_JSON_MEMBER(w, "of", uint, info.to_seq);
        rung_json_close_object(w);
    }
    if (info.phase == RUNG_REPLAY_FAILED)
        write_failure(w, info.err);
    if (info.spec) {
        write_spec(w, info.spec);
        RUNG_JSON_MEMBER(w, "left_out", uint, info.left_out);
    }
    if (info.has_shadow) {
        bool is_after = info.phase == RUNG_REPLAY_SWAPPED;
        defs d = {is_after ? info.shadow.def : def, is_after ? def : info.shadow.def};
        RUNG_JSON_MEMBER(w, "entries", uint, info.shadow.entries);
        RUNG_JSON_MEMBER(w, "bytes", uint, info.shadow.bytes);
        write_definition(w, c->board, d.after);
        write_report(w, &d, rung_replay_report_of(api->replay, c->board));
    } else if (info.spec && info.spec->def) {
        write_definition(w, c->board, info.spec->def);
    }
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung__call_answer_seq(c, status, rung_state_seq(s));
}

void rung_api_remove_match(rung_call *c) {
    rung__call_actor actor;
    rung_match_info m;
    rung_err err = {0};
    rung_status st =
        rung_match_find(&c->api->service, c->board, rung__call_text(c, "match"), &m, &err);
    if (st >= 0)
        st = rung_replay_without_match(c->api->replay, rung__call_signed(c, &actor), c->board,
                                       m.seq, &err);
    if (st < 0)
        rung__call_fail(c, st, &err);
    else
        answer_replay(c, 202);
}

void rung_api_get_replay(rung_call *c) {
    answer_replay(c, 200);
}

/* ---- all moves ---- */

void rung_api_replay_moves(rung_call *c) {
    rung_api *api = c->api;
    const rung_state *s = rung__api_state(api);
    const rung_board_def *def = rung__call_board(c);
    if (!def)
        return; /* the call has ended */
    uint32_t limit = rung__call_count(c, "limit"), count;
    uint64_t at = (uint64_t)rung__call_arg(c, "cursor")->number;
    rung_moves_cursor cursor = {.is_left = at >> 32 & 1, .at = (uint32_t)at};
    rung_query query = {.board = c->board,
                        .window = rung__call_text(c, "window"),
                        .window_id = rung__call_text(c, "window_id"),
                        .on = rung__call_text(c, "on"),
                        .now_ms = rung_hub_now(api->service.hub)};
    rung_shadow_info info;
    rung_err err = {0};
    rung_move *moves = rung_alloc_get(api->config.alloc, limit * sizeof *moves);
    if (!moves) {
        rung__call_fail(c, RUNG_ENOMEM, NULL);
        return;
    }
    rung_status st = rung_replay_moves(s, &query, &cursor, MOVES_SPAN, moves, limit, &count, &err);
    if (st >= 0 && rung_state_shadow(s, c->board, &info) == RUNG_OK) {
        defs d = {info.was_live ? info.def : def, info.was_live ? def : info.def};
        rung_json_writer *w = rung__call_begin(c);
        RUNG_JSON_MEMBER(w, "board", string, c->board);
        write_moves(w, "moves", &d, moves, count);
        RUNG_JSON_MEMBER(w, "next", uint_or_null,
                         st == RUNG_OK ? (uint64_t)cursor.is_left << 32 | cursor.at : 0);
        rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
        rung__call_answer_seq(c, 200, rung_state_seq(s));
    } else {
        rung__call_fail(c, st, &err);
    }
    rung_alloc_free(api->config.alloc, moves, limit * sizeof *moves);
}

/* ---- swap, undo, drop ---- */

void rung_api_swap_replay(rung_call *c) {
    rung__call_actor actor;
    rung_err err = {0};
    bool is_undo = rung__call_arg(c, "undo")->number != 0;
    if (!rung__call_board(c))
        return;
    rung_status st = rung_replay_swap(c->api->replay, rung__call_signed(c, &actor), c->board,
                                      is_undo, rung__call_changed, c, &err);
    if (st < 0)
        rung__call_fail(c, st, &err);
}

void rung_api_drop_replay(rung_call *c) {
    rung__call_actor actor;
    rung_err err = {0};
    if (!rung__call_board(c))
        return;
    rung_status st = rung_replay_drop(c->api->replay, rung__call_signed(c, &actor), c->board,
                                      rung__call_changed, c, &err);
    if (st < 0)
        rung__call_fail(c, st, &err);
    else if (st == RUNG_UNCHANGED)
        rung__call_answer_changed(c, 200, true);
}
