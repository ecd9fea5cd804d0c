/* SPDX-License-Identifier: Apache-2.0 */
/* Matches: read one, propose it, answer with what it did to everybody; and predictions. */
#include "codec/board_json.h"
#include "codec/match_json.h"
#include "front/api/answers.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
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

void rung_api_predict(rung_call *c) {
    rung_api *api = c->api;
    uint8_t packed[RUNG_MATCH_PACKED_MAX];
    rung_match_event match;
    rung_match_forecast forecast;
    rung_err err = {0};
    if (!read_match(c, &rung_lineup_schema, packed, &match))
        return;
    rung_status st =
        rung_match_predict(&api->service, &match, rung_hub_now(api->service.hub), &forecast, &err);
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
