/* SPDX-License-Identifier: Apache-2.0 */
/* A trial of rules: what they would have said to the last submissions. */
#include "codec/board_json.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "front/api/schemas.h"

/* ---- the loop's side ---- */

static bool begin_work(void *ctx, rung_asker_work *work) {
    rung_api *api = ctx;
    return rung__api_begin_work(api, &api->trial_work, work);
}

rung_status rung__trials_create(rung_api *api, rung_err *err) {
    rung_trials_config config = {
        .alloc = api->config.alloc, .port = api->config.replay, .work = begin_work, .ctx = api};
    return rung_trials_create(&config, &api->trials, err);
}

/* ---- the answer ---- */

typedef struct trial_call {
    rung_trial_question question; /* the first member */
    rung_call *call;
    rung_board_def def; /* without its texts */
} trial_call;

static void write_rules(rung_json_writer *w, const rung_board_def *def,
                        const rung_trial_result *r) {
    RUNG_JSON_OPEN(w, "rules", array);
    for (uint32_t i = 0; i < def->rule_count; i++) {
        const rung_board_rule *rule = &def->rules[i];
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "rule", word, rung_rule_words[rule->rule]);
        RUNG_JSON_MEMBER(w, "action", word, rung_action_words[rule->action]);
        RUNG_JSON_KEY(w, "limit");
        rung_measure_json_write(w, &def->key.columns[0], rung_rule_measure(rule->rule),
                                rule->value);
        RUNG_JSON_MEMBER(w, "broken", uint, r->broken[i]);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
    RUNG_JSON_OPEN(w, "limits", object);
    for (uint32_t i = 0; i < RUNG_TRIAL_LIMITS; i++) {
        if (!(def->limits >> i & 1))
            continue;
        rung_json_write_key(w, rung_slice_str(rung_rule_words[RUNG_RULE_MIN + i]));
        rung_json_write_uint(w, r->limited[i]);
    }
    rung_json_close_object(w);
    if (def->review == RUNG_REVIEW_TOP)
        RUNG_JSON_MEMBER(w, "top", uint, r->top);
}

static void write_example(rung_json_writer *w, const rung_board_def *def,
                          const rung_trial_example *x) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "seq", uint, x->seq);
    RUNG_JSON_MEMBER(w, "player", string, rung_slice_of(x->player, x->player_len));
    if (def->update != RUNG_UPDATE_COUNT) {
        rung_json_write_key(w, x->is_delta ? RUNG_SLICE("delta") : RUNG_SLICE("score"));
        rung_score_json_write(w, &def->key.columns[0], x->score);
    }
    RUNG_JSON_MEMBER(w, "at", time, x->at_ms);
    RUNG_JSON_MEMBER(w, "verdict", word, rung_trial_words[x->verdict]);
    RUNG_JSON_KEY(w, "rule");
    if (x->rule)
        rung_json_write_word(w, rung_rule_words[x->rule]);
    else
        rung_json_write_null(w);
    RUNG_JSON_OPEN(w, "broken", array);
    for (uint32_t i = 0; i < def->rule_count; i++)
        if (x->broken >> i & 1)
            rung_json_write_uint(w, i);
    rung_json_close_array(w);
    rung_json_close_object(w);
}

static void answer(rung_call *c, const rung_board_def *def, const rung_trial_result *r) {
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "board", string, c->board);
    RUNG_JSON_MEMBER(w, "judged", uint, r->judged);
    RUNG_JSON_MEMBER(w, "complete", bool, r->is_complete);
    if (r->judged) {
        RUNG_JSON_MEMBER(w, "from_seq", uint, r->first_seq);
        RUNG_JSON_MEMBER(w, "to_seq", uint, r->last_seq);
        RUNG_JSON_MEMBER(w, "from", time, r->first_ms);
        RUNG_JSON_MEMBER(w, "to", time, r->last_ms);
    }
    RUNG_JSON_MEMBER(w, "counted", uint, r->counted);
    RUNG_JSON_MEMBER(w, "flagged", uint, r->flagged);
    RUNG_JSON_MEMBER(w, "tentative", uint, r->tentative);
    RUNG_JSON_MEMBER(w, "refused", uint, r->refused);
    RUNG_JSON_MEMBER(w, "duplicates", uint, r->duplicates);
    RUNG_JSON_MEMBER(w, "other", uint, r->other);
    write_rules(w, def, r);
    RUNG_JSON_OPEN(w, "examples", array);
    for (uint32_t i = 0; i < r->example_count; i++)
        write_example(w, def, &r->examples[i]);
    rung_json_close_array(w);
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung__call_answer_seq(c, 200, rung_state_seq(rung__api_state(c->api)));
}

static void done(rung_trial_question *q) {
    trial_call *t = (trial_call *)q;
    rung_call *c = t->call;
    if (!rung__call_may_still(c))
        return; /* it is answered */
    if (q->status < 0)
        rung__call_fail(c, q->status, &q->err);
    else
        answer(c, &t->def, q->result);
}

/* ---- the request ---- */

/* The board's definition with the judging of the body. */
static rung_status read_judging(rung_call *c, const rung_slot *slots, rung_board_def *def,
                                rung_err *err) {
    rung_status st = rung_board_json_read_judging(
        &c->api->reader, &slots[TRIAL_LIMITS], &slots[TRIAL_RULES], &slots[TRIAL_REVIEW], def, err);
    return st < 0 ? st : rung_board_def_check(def, err);
}

void rung_api_check_rules(rung_call *c) {
    rung_slot slots[TRIAL_FIELDS] = {0};
    rung_err err = {0};
    const rung_board_def *there = rung__call_board(c);
    if (!there || !rung__call_read_body(c, slots))
        return;
    if (rung_update_is_rating(there->update)) {
        rung__call_fail_with(c, RUNG_EUNSUPPORTED, RUNG_REASON_NONE, "board",
                             "a rating board has no rules");
        return;
    }
    trial_call *t = rung__call_alloc(c, sizeof *t);
    if (!t)
        return;
    t->call = c;
    c->is_stream = true; /* it takes as long as the log is */
    t->def = *there;
    rung_status st = read_judging(c, slots, &t->def, &err);
    if (st < 0) {
        rung__call_malformed(c, st, &err);
        return;
    }
    rung_replay_spec spec = {.board = c->board,
                             .def = &t->def,
                             .trial_last = slots[TRIAL_LAST].present
                                               ? (uint32_t)slots[TRIAL_LAST].integer
                                               : RUNG_API_TRIAL_LAST};
    t->question = (rung_trial_question){.spec = &spec, .done = done};
    st = rung_trials_put(c->api->trials, &t->question, &err);
    if (st < 0)
        rung__call_fail(c, st, &err);
}
