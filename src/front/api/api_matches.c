/* SPDX-License-Identifier: Apache-2.0 */
/* Matches: read one, propose it, answer with what it did to everybody; and predictions. */
#include "codec/board_json.h"
#include "codec/match_json.h"
#include "front/api/answers.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "model/text.h"
#include "service/matches.h"

#include <string.h>

static void answer_match(void *ctx, rung_status st, const rung_outcome *outcome,
                         const rung_err *err) {
    rung_call *c = ctx;
    if (st < 0) {
        rung__call_fail(c, st, err);
        return;
    }
    rung_json_writer *w = rung__call_begin(c);
    rung_answer_match(w, rung__api_state(c->api), c->board, st, outcome);
    rung__call_answer(c, 200);
}

/* Read the body into `match`. False: it is refused, and the call is ended. */
static bool read_match(rung_call *c, const rung_schema *schema, uint8_t *packed,
                       rung_match_event *match) {
    rung_err err = {0};
    rung_status st =
        rung_match_json_read(schema, c->body, c->body_len, &c->api->reader, packed, match, &err);
    match->board = c->board;
    if (st >= 0)
        return true;
    return err.reason == RUNG_REASON_MALFORMED ? rung__call_malformed(c, st, &err)
                                               : rung__call_fail(c, st, &err);
}

/* An array, or the lines of a stream, which has no body yet? */
static bool is_many(const rung_call *c) {
    size_t i = 0;
    while (c->body && i < c->body_len && strchr(" \t\r\n", c->body[i]) && c->body[i])
        i++;
    return !c->body || (i < c->body_len && c->body[i] == '[');
}

void rung_api_submit_match(rung_call *c) {
    rung_api *api = c->api;
    if (is_many(c)) {
        rung__api_submit_matches(c);
        return;
    }
    if (c->body_len > RUNG_API_MATCH_BYTES_MAX) {
        rung__call_fail_with(c, RUNG_ELIMIT, RUNG_REASON_TOO_LARGE, NULL,
                             "one match has at most 131,072 bytes");
        return;
    }
    uint8_t packed[RUNG_MATCH_PACKED_MAX];
    rung_err err = {0};
    api->event.kind = RUNG_EVENT_MATCH;
    if (!read_match(c, &rung_match_schema, packed, &api->event.match))
        return;
    rung_status st =
        rung_match_submit(&api->service, rung__call_sender(c), &api->event, answer_match, c, &err);
    if (st < 0)
        rung__call_fail(c, st, &err);
}

/* ---- predictions ---- */

/* A prediction compares all sides with each other: with this many it takes some hundredths of a millisecond, with 256
 * as long as thousands of other questions. */
enum { SIDES_AT_ONCE = 16 };

static void forecast(rung_call *c, const rung_match_event *match) {
    const rung_api *api = c->api;
    rung_match_forecast forecast;
    rung_err err = {0};
    rung_status st =
        rung_match_predict(&api->service, match, rung_hub_now(api->service.hub), &forecast, &err);
    if (st < 0) {
        rung__call_fail(c, st, &err);
        return;
    }
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "board", string, c->board);
    RUNG_JSON_MEMBER(w, "draw", real, forecast.draw);
    RUNG_JSON_OPEN(w, "sides", array);
    for (uint32_t i = 0; i < forecast.side_count; i++) {
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "win", real, forecast.sides[i].win);
        RUNG_JSON_MEMBER(w, "expected", real, forecast.sides[i].score);
        RUNG_JSON_MEMBER(w, "place", real, forecast.sides[i].place);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
    RUNG_JSON_MEMBER(w, "seq", uint, rung_state_seq(rung_hub_state(api->service.hub)));
    rung__call_answer(c, 200);
}

static rung_call *take_forecast(rung_api *api) {
    rung_call *c = api->forecasts.first;
    RUNG_LIST_REMOVE(&api->forecasts, c, link);
    rung_fair_give(&api->forecast_shares, c->share, 1);
    return c;
}

/* One in a turn, so that everybody else waits for one at most. */
void rung__answer_forecast(void *ctx) {
    rung_api *api = ctx;
    if (!api->forecasts.first)
        return;
    rung_call *c = take_forecast(api);
    if (api->forecasts.first)
        rung_loop_wake(api->config.loop, &api->answer_forecast);
    if (rung_exchange_is_gone(c->x))
        rung__call_fail(c, RUNG_ECLOSED, NULL);
    else if (rung__call_may_still(c))
        forecast(c, &(rung_match_event){.board = c->board, .packed = c->note});
}

void rung__forecast_stop_all(rung_api *api) {
    while (api->forecasts.first)
        rung__call_fail(take_forecast(api), RUNG_ECLOSED, NULL);
}

static void put_off(rung_call *c, rung_slice packed) {
    rung_api *api = c->api;
    if (!rung_fair_may(&api->forecast_shares, rung__call_share(c), false)) {
        rung__call_overloaded(c);
        return;
    }
    char *copy = rung__call_alloc(c, packed.len);
    if (!copy)
        return;
    memcpy(copy, packed.ptr, packed.len);
    c->note = rung_slice_of(copy, packed.len);
    rung_fair_take(&api->forecast_shares, c->share, 1);
    if (!api->forecasts.first)
        rung_loop_wake(api->config.loop, &api->answer_forecast);
    RUNG_LIST_APPEND(&api->forecasts, c, link);
}

void rung_api_predict(rung_call *c) {
    uint8_t packed[RUNG_MATCH_PACKED_MAX];
    rung_match_event match;
    if (!read_match(c, &rung_lineup_schema, packed, &match))
        return;
    if (match.player_count > SIDES_AT_ONCE)
        put_off(c, match.packed);
    else
        forecast(c, &match);
}

/* ---- matches that were played ---- */

enum { PLAYERS_SHOWN = 16, OTHERS_SHOWN = 8, PAGE_PLAYERS = 10000 };

static void write_match_name(rung_json_writer *w, const rung_match_info *m) {
    char name[1 + 20] = "@";
    size_t len = 1 + rung_digits_format(m->seq, name + 1);
    RUNG_JSON_MEMBER(w, "match", string, m->id.len ? m->id : rung_slice_of(name, len));
    if (m->id.len)
        RUNG_JSON_MEMBER(w, "id", string, m->id);
}

static void write_match_head(rung_json_writer *w, const rung_match_info *m) {
    write_match_name(w, m);
    RUNG_JSON_MEMBER(w, "played_at", time, m->at_ms);
    RUNG_JSON_MEMBER(w, "received_at", time, m->ts_ms);
    RUNG_JSON_MEMBER(w, "sides", uint, m->side_count);
    RUNG_JSON_MEMBER(w, "player_count", uint, m->player_count);
    RUNG_JSON_MEMBER(w, "match_seq", uint, m->seq);
}

/* The members about one player; `all` are the results of the match. */
static void write_result(rung_json_writer *w, const rung_board_def *def, const rung_match_result *r,
                         const rung_match_result *all, uint32_t count) {
    const rung_column *column = &def->key.columns[0];
    RUNG_JSON_MEMBER(w, "side", uint, r->side);
    RUNG_JSON_MEMBER(w, "place", int, r->place);
    RUNG_JSON_MEMBER(w, "outcome", word,
                     rung_match_outcome_words[rung_match_outcome_of(all, count, r->place)]);
    RUNG_JSON_MEMBER(w, "expected", real, r->expected);
    RUNG_JSON_KEY(w, "score_before");
    if (r->was_new)
        rung_json_write_null(w);
    else
        rung_score_json_write(w, column, (rung_value){.i = r->score_before});
    RUNG_JSON_KEY(w, "score");
    rung_score_json_write(w, column, (rung_value){.i = r->score});
    RUNG_JSON_MEMBER(w, "rating_before", real, r->rating_before);
    RUNG_JSON_MEMBER(w, "rating", real, r->rating);
    if (def->update != RUNG_UPDATE_ELO)
        RUNG_JSON_MEMBER(w, "deviation", real, r->deviation);
    RUNG_JSON_MEMBER(w, "rank", uint_or_null, r->rank);
    if (r->weight != 1)
        RUNG_JSON_MEMBER(w, "weight", real, r->weight);
    if (r->played != 1)
        RUNG_JSON_MEMBER(w, "played", real, r->played);
}

static void write_players(rung_json_writer *w, const rung_board_def *def,
                          const rung_match_result *all, uint32_t count, uint32_t shown) {
    RUNG_JSON_OPEN(w, "players", array);
    for (uint32_t i = 0; i < count && i < shown; i++) {
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "player", string_or_null, all[i].player);
        write_result(w, def, &all[i], all, count);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
}

/* The definition of a rating board; NULL: the call is ended. */
static const rung_board_def *rating_board(rung_call *c) {
    rung_err err = {0};
    const rung_board_def *def = rung__call_board(c);
    rung_status st = def ? rung_match_check_board(&c->api->service, c->board, &err) : RUNG_OK;
    if (st < 0)
        rung__call_fail(c, st, &err);
    return st < 0 ? NULL : def;
}

static uint64_t before_of(const rung_call *c) {
    const rung_arg *before = rung__call_arg(c, "before");
    return before->given ? (uint64_t)before->number : 0;
}

/* How many of the matches found, `limit` at most, one page has: their players bound its work. */
static uint32_t page_of(const rung_match_info *found, uint32_t count, uint32_t limit) {
    uint32_t shown = 0, players = 0;
    while (shown < count && shown < limit && (!shown || players < PAGE_PLAYERS))
        players += found[shown++].player_count;
    return shown;
}

/* Asks for one match more than the page has: is there a next one? */
static void end_page(rung_call *c, const rung_match_info *last, bool has_more) {
    rung_json_writer *w = &c->api->out;
    RUNG_JSON_KEY(w, "next");
    if (has_more)
        rung_json_write_uint(w, last->seq);
    else
        rung_json_write_null(w);
    rung__call_answer_seq(c, 200, rung_state_seq(rung__api_state(c->api)));
}

void rung_api_match(rung_call *c) {
    const rung_state *s = rung__api_state(c->api);
    rung_match_info m;
    rung_match_result all[RUNG_MATCH_PLAYERS_MAX];
    rung_err err = {0};
    const rung_board_def *def = rating_board(c);
    if (!def)
        return;
    rung_status st =
        rung_match_find(&c->api->service, c->board, rung__call_text(c, "match"), &m, &err);
    if (st < 0) {
        rung__call_fail(c, st, &err);
        return;
    }
    uint32_t count = rung_state_match_results(s, c->board, m.seq, RUNG_MATCH_PLAYERS_MAX, all);
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "board", string, c->board);
    write_match_head(w, &m);
    write_players(w, def, all, count, count);
    rung__call_answer_seq(c, 200, rung_state_seq(s));
}

void rung_api_matches(rung_call *c) {
    const rung_state *s = rung__api_state(c->api);
    rung_match_result all[RUNG_MATCH_PLAYERS_MAX];
    uint32_t limit = rung__call_count(c, "limit");
    const rung_board_def *def = rating_board(c);
    rung_match_info *found = def ? rung__call_alloc(c, (limit + 1) * sizeof *found) : NULL;
    if (!found)
        return;
    uint32_t count = rung_state_matches(s, c->board, before_of(c), limit + 1, found);
    uint32_t shown = page_of(found, count, limit);
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "board", string, c->board);
    RUNG_JSON_OPEN(w, "matches", array);
    for (uint32_t i = 0; i < shown; i++) {
        uint32_t n =
            rung_state_match_results(s, c->board, found[i].seq, RUNG_MATCH_PLAYERS_MAX, all);
        rung_json_open_object(w);
        write_match_head(w, &found[i]);
        write_players(w, def, all, n, PLAYERS_SHOWN);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
    end_page(c, &found[shown - 1], count > shown);
}

static void write_others(rung_json_writer *w, rung_slice player, const rung_match_result *all,
                         uint32_t count) {
    RUNG_JSON_OPEN(w, "others", array);
    for (uint32_t i = 0, shown = 0; i < count && shown < OTHERS_SHOWN; i++) {
        if (rung_slice_eq(all[i].player, player))
            continue;
        shown++;
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "player", string_or_null, all[i].player);
        RUNG_JSON_MEMBER(w, "side", uint, all[i].side);
        RUNG_JSON_MEMBER(w, "place", int, all[i].place);
        RUNG_JSON_MEMBER(w, "rating_before", real, all[i].rating_before);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
}

void rung_api_results(rung_call *c) {
    const rung_state *s = rung__api_state(c->api);
    rung_match_result all[RUNG_MATCH_PLAYERS_MAX];
    uint32_t limit = rung__call_count(c, "limit");
    const rung_board_def *def = rating_board(c);
    rung_match_info *found = def ? rung__call_alloc(c, (limit + 1) * sizeof *found) : NULL;
    rung_match_result *own = found ? rung__call_alloc(c, (limit + 1) * sizeof *own) : NULL;
    if (!own)
        return;
    uint32_t count =
        rung_state_results_of(s, c->board, c->player, before_of(c), limit + 1, found, own);
    uint32_t shown = page_of(found, count, limit);
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "board", string, c->board);
    RUNG_JSON_MEMBER(w, "player", string, c->player);
    RUNG_JSON_OPEN(w, "results", array);
    for (uint32_t i = 0; i < shown; i++) {
        uint32_t n =
            rung_state_match_results(s, c->board, found[i].seq, RUNG_MATCH_PLAYERS_MAX, all);
        rung_json_open_object(w);
        write_match_head(w, &found[i]);
        write_result(w, def, &own[i], all, n);
        write_others(w, c->player, all, n);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
    end_page(c, &found[shown - 1], count > shown);
}
