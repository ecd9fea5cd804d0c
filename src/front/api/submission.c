/* SPDX-License-Identifier: Apache-2.0 */
/* The schema checks the form, the use case (service/submit.h) the values. */
#include "front/api/submission.h"

#include "service/submit.h"

rung_status rung_submission_read(const rung_schema *schema, char *text, size_t len, rung_json *r,
                                 rung_slot slots[SCORE_FIELDS], rung_err *err) {
    rung_json_init(r, text, len, err);
    rung_status st = rung_schema_read(schema, r, slots);
    return st < 0 ? st : rung_json_end(r);
}

static rung_status put_value(const rung_board_def *def, uint32_t i, rung_slice text,
                             rung_score_event *e, rung_err *err) {
    rung_err why;
    rung_slice name = i ? def->column_names[i - 1] : RUNG_SLICE("");
    rung_status st = rung_submit_value(def, i, text, e, &why);
    if (st < 0)
        return RUNG_FAIL_FIELD(err, st, "%s%.*s", "%s",
                               i             ? "columns."
                               : e->is_delta ? "delta"
                                             : "score",
                               (int)name.len, name.ptr, why.message);
    return RUNG_OK;
}

/* "columns": {"time": 12.5, ...}: all of them, in any order. */
static rung_status fill_columns(const rung_slot *slot, const rung_board_def *def, rung_json *r,
                                rung_score_event *e, rung_err *err) {
    uint32_t seen = 0;
    rung_slice key, text;
    rung_json_init_at(r, slot->text, "columns", slot->offset, err);
    rung_status st = rung_json_enter_object(r);
    while (st == RUNG_OK && (st = rung_json_next_key(r, &key)) == RUNG_OK) {
        uint32_t i = 1;
        while (i < def->key.column_count && !rung_slice_eq(def->column_names[i - 1], key))
            i++;
        if (rung_json_peek(r) == RUNG_JSON_STRING)
            st = rung_json_string(r, &text);
        else
            st = rung_json_number(r, &text);
        if (st < 0)
            return st;
        if (i == def->key.column_count)
            return rung_json_refuse(r, RUNG_EINVAL, "the board has no such column");
        st = put_value(def, i, text, e, err);
        if (st < 0)
            return st;
        seen |= 1u << i;
    }
    if (st < 0)
        return st;
    for (uint32_t i = 1; i < def->key.column_count; i++)
        if (!(seen >> i & 1))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "columns.%.*s", "required but missing",
                                   (int)def->column_names[i - 1].len, def->column_names[i - 1].ptr);
    return RUNG_OK;
}

static rung_status fill_score(const rung_slot *slots, const rung_board_def *def, rung_json *r,
                              rung_score_event *e, rung_err *err) {
    const rung_slot *score = &slots[SCORE_SCORE], *delta = &slots[SCORE_DELTA];
    if (score->present && delta->present)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "delta", "not together with score");
    if (!score->present && !delta->present) {
        if (def->update != RUNG_UPDATE_COUNT)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "score", "required but missing");
        e->value_count = 0;
        return RUNG_OK;
    }
    e->is_delta = delta->present;
    e->value_count = def->key.column_count;
    rung_status st = put_value(def, 0, (e->is_delta ? delta : score)->text, e, err);
    if (st < 0)
        return st;
    if (slots[SCORE_COLUMNS].present)
        return fill_columns(&slots[SCORE_COLUMNS], def, r, e, err);
    if (def->key.column_count > 1)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "columns",
                               "the board needs %u more than the score", def->key.column_count - 1);
    return RUNG_OK;
}

/* The JSON text, of a string its content; null is none. */
static rung_slice meta_of(const rung_slot *slot) {
    if (!slot->present || slot->kind == RUNG_JSON_NULL)
        return (rung_slice){NULL, 0};
    if (slot->kind == RUNG_JSON_BOOL)
        return slot->integer ? RUNG_SLICE("true") : RUNG_SLICE("false");
    return slot->text;
}

static rung_status fill_attested(const rung_slot *slot, rung_json *r, rung_attested *a,
                                 rung_err *err) {
    rung_slot slots[ATTESTED_FIELDS];
    rung_status st = rung_schema_read_at(&rung_attested_schema, r, slot->text, "attested",
                                         slot->offset, slots, err);
    if (st < 0) {
        err->reason = RUNG_REASON_MALFORMED; /* whatever the board is */
        return st;
    }
    a->has_duration = slots[ATTESTED_DURATION].present;
    a->duration_ms = a->has_duration ? slots[ATTESTED_DURATION].integer : 0;
    if (slots[ATTESTED_SEED].present)
        a->seed = slots[ATTESTED_SEED].text;
    if (slots[ATTESTED_REPLAY].present)
        a->replay = slots[ATTESTED_REPLAY].text;
    return RUNG_OK;
}

rung_status rung_submission_fill(const rung_slot slots[SCORE_FIELDS], rung_slice board,
                                 const rung_board_def *def, rung_json *r, rung_event *event,
                                 rung_err *err) {
    event->kind = RUNG_EVENT_SCORE;
    event->has_actor = false;
    rung_score_event *e = &event->score; /* only these parts are set: the event is large */
    *e = (rung_score_event){.board = board, .player = slots[SCORE_PLAYER].text};
    rung_status st = fill_score(slots, def, r, e, err);
    if (st < 0)
        return st;
    if (slots[SCORE_AT].present) {
        e->has_at = true;
        e->at_ms = slots[SCORE_AT].integer;
    }
    if (slots[SCORE_ID].present)
        e->id = slots[SCORE_ID].text;
    e->meta = meta_of(&slots[SCORE_META]);
    return slots[SCORE_ATTESTED].present
               ? fill_attested(&slots[SCORE_ATTESTED], r, &e->attested, err)
               : RUNG_OK;
}
