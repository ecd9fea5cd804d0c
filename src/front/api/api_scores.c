/* SPDX-License-Identifier: Apache-2.0 */
/* One submission: read, put, answered when it is durable and applied. */
#include "front/api/answers.h"
#include "front/api/call.h"
#include "front/api/submission.h"

static void answer_submit(void *ctx, rung_status st, const rung_outcome *outcome,
                          const rung_err *err) {
    rung_call *c = ctx;
    const rung_board_def *def;
    if (st < 0) {
        rung__call_fail(c, st, err, outcome ? RUNG_STAGE_APPLY : RUNG_STAGE_PUT);
        return;
    }
    if (rung_state_board(rung__api_state(c->api), c->board, &def) != RUNG_OK) {
        rung__call_problem(c, 404, "board_not_found", "board", "it was deleted meanwhile");
        return;
    }
    rung_json_writer *w = rung__call_begin(c);
    rung_answer_outcome(w, def, c->note, outcome);
    rung__call_answer(c, 200);
}

void rung_api_submit(rung_call *c) {
    rung_api *api = c->api;
    const rung_board_def *def;
    rung_slot slots[SCORE_FIELDS];
    rung_access_answer why;
    rung_err err = {0};
    rung_status st = rung_submission_read(&rung_submission_schema, c->body, c->body_len,
                                          &api->reader, slots, &err);
    if (st < 0) {
        rung__call_fail(c, st, &err, RUNG_STAGE_FORM);
        return;
    }
    if (rung_state_board(rung__api_state(api), c->board, &def) != RUNG_OK) {
        rung__call_absent(c, "board", "no such board");
        return;
    }
    st = rung_submission_fill(slots, c->board, def, &api->reader, &api->event, &err);
    if (st < 0) {
        rung__call_fail(c, st, &err, RUNG_STAGE_RULES);
        return;
    }
    rung_verdict v = rung_access_admit(api->config.access, slots[SCORE_PLAYER].text,
                                       rung_hub_now(api->hub), &why);
    if (v != RUNG_ACCESS_OK) {
        rung__call_refuse(c, v, &why);
        return;
    }
    if (rung__call_keep(c, slots[SCORE_PLAYER].text, &c->note))
        rung__call_put(c, answer_submit);
}
