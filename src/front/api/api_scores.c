/* SPDX-License-Identifier: Apache-2.0 */
/* One submission: read it, propose it, answer when it is durable and applied. */
#include "front/api/answers.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "front/api/submission.h"
#include "service/sessions.h"
#include "service/submit.h"

#include <string.h>

static void answer_submit(void *ctx, rung_status st, const rung_outcome *outcome,
                          const rung_err *err) {
    rung_call *c = ctx;
    if (st < 0) {
        rung__call_fail(c, st, err);
        return;
    }
    const rung_board_def *def = rung__call_board(c); /* it may have been deleted since */
    if (!def)
        return;
    rung_json_writer *w = rung__call_begin(c);
    rung_answer_outcome(w, def, c->note, outcome);
    rung__call_answer(c, 200);
}

static const char *verdict_of(const rung_judgement *j) {
    if (j->status == RUNG_DUPLICATE)
        return "duplicate";
    if (j->status < 0)
        return "refused";
    return j->tentative ? "tentative" : j->finding_count ? "flagged" : "counts";
}

static void answer_check(rung_call *c, const rung_board_def *def, rung_slice player,
                         const rung_judgement *j, const rung_err *err) {
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "player", string, player);
    RUNG_JSON_MEMBER(w, "verdict", word, verdict_of(j));
    RUNG_JSON_KEY(w, "rule");
    if (j->status >= 0)
        rung_json_write_null(w);
    else
        rung_json_write_word(w, j->rule ? rung_rule_words[j->rule] : err->field);
    rung_answer_findings(w, def, "broken", j->findings, j->finding_count);
    RUNG_JSON_MEMBER(w, "rank", uint_or_null, j->rank);
    RUNG_JSON_MEMBER(w, "seq", uint, rung_state_seq(rung_hub_state(c->api->service.hub)));
    rung__call_answer(c, 200);
}

void rung_api_check(rung_call *c) {
    rung_api *api = c->api;
    const rung_board_def *def;
    rung_slot slots[SCORE_FIELDS];
    rung_access_answer why = {0};
    rung_judgement judgement;
    int64_t now_ms = rung_hub_now(api->service.hub);
    rung_status st = rung_submission_read(&rung_submission_schema, c->body, c->body_len,
                                          &api->reader, slots, &why.err);
    if (st < 0) {
        rung__call_malformed(c, st, &why.err);
        return;
    }
    st = rung_submit_open(&api->service, NULL, c->board, now_ms, &def, &why);
    if (st >= 0)
        st = rung_submission_fill(slots, c->board, def, &api->reader, &api->event, &why.err);
    if (st >= 0)
        st = rung_submit_judge(&api->service, &api->event, now_ms, &judgement, &why.err);
    if (st < 0)
        rung__call_refuse(c, st, &why);
    else
        answer_check(c, def, slots[SCORE_PLAYER].text, &judgement, &why.err);
}

void rung_api_submit(rung_call *c) {
    rung_api *api = c->api;
    const rung_board_def *def;
    rung_slot slots[SCORE_FIELDS];
    rung_access_answer why = {0};
    rung_signature signature;
    bool is_own = c->who.player_len; /* a player's own submission */
    int64_t now_ms = rung_hub_now(api->service.hub);
    rung_status st = is_own ? rung__call_verify(c, now_ms, &signature, &why.err) : RUNG_OK;
    if (st < 0) {
        rung__call_refuse(c, st, &why);
        return;
    }
    st = rung_submission_read(&rung_submission_schema, c->body, c->body_len, &api->reader, slots,
                              &why.err);
    if (st < 0) {
        rung__call_malformed(c, st, &why.err);
        return;
    }
    st = rung_submit_open(&api->service, NULL, c->board, now_ms, &def, &why);
    if (st >= 0)
        st = rung_submission_fill(slots, c->board, def, &api->reader, &api->event, &why.err);
    if (st >= 0 && is_own)
        st = rung_signed_fill(&c->who, &signature, &api->event.score, &why.err);
    if (st < 0) {
        rung__call_refuse(c, st, &why);
        return;
    }
    rung_slice player = api->event.score.player;
    char *kept = rung__call_alloc(c, player.len);
    if (!kept)
        return;
    c->note = rung_slice_of(memcpy(kept, player.ptr, player.len), player.len);
    st = rung_submit_put(&api->service, &c->who, rung__call_sender(c), &api->event, now_ms,
                         answer_submit, c, &why);
    if (st < 0)
        rung__call_refuse(c, st, &why);
}
