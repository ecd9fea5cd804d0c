/* SPDX-License-Identifier: Apache-2.0 */
/* The form is checked by the table in schemas.c; here numbers become exact values of the board's columns. */
#include "front/api/submission.h"

#include "model/calendar.h"

#include <math.h>
#include <string.h>

/* Of a sum's part. 2^63 of them do not reach the end of a double, so no sum becomes infinite, from where it could never
 * come back. */
#define SUMMAND_MAX 1e288

rung_status rung_submission_read(const rung_schema *schema, char *text, size_t len, rung_json *r,
                                 rung_slot slots[SCORE_FIELDS], rung_err *err) {
    rung_json_init(r, text, len, err);
    rung_status st = rung_schema_read(schema, r, slots);
    return st < 0 ? st : rung_json_end(r);
}

/* What the board's way of updating takes of a value. The state says the rest. */
static rung_status check_update(const rung_board_def *def, uint32_t i, rung_value value,
                                const char *field, rung_slice name, rung_err *err) {
    if (def->key.columns[i].type != RUNG_SCORE_REAL)
        return RUNG_OK;
    if (def->update == RUNG_UPDATE_DECAY && value.d <= 0)
        return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "%s%.*s", "must be above 0 on a board that decays",
                               field, (int)name.len, name.ptr);
    if (def->update == RUNG_UPDATE_SUM && fabs(value.d) > SUMMAND_MAX && !isinf(value.d))
        return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "%s%.*s", "a sum takes parts from -1e288 to 1e288",
                               field, (int)name.len, name.ptr);
    return RUNG_OK;
}

static rung_status put_value(rung_score_event *e, uint32_t i, const rung_board_def *def,
                             rung_slice text, const char *field, rung_slice name, rung_err *err) {
    const rung_column *column = &def->key.columns[i];
    rung_err why;
    rung_status st = rung_score_parse(column, text, &e->values[i], &why);
    if (st < 0)
        return RUNG_FAIL_FIELD(err, st, "%s%.*s", "%s", field, (int)name.len, name.ptr,
                               why.message);
    e->types[i] = (uint8_t)column->type;
    e->decimals[i] = (uint8_t)column->decimals;
    return check_update(def, i, e->values[i], field, name, err);
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
        rung_slice name = def->column_names[i - 1];
        st = put_value(e, i, def, text, "columns.", name, err);
        if (st < 0)
            return st;
        seen |= 1u << i;
    }
    if (st < 0)
        return st;
    for (uint32_t i = 1; i < def->key.column_count; i++)
        if (!(seen >> i & 1))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "columns.%.*s", "it is missing",
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
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "score", "it is missing");
        e->value_count = 0;
        return RUNG_OK;
    }
    e->is_delta = delta->present;
    e->value_count = def->key.column_count;
    rung_status st = put_value(e, 0, def, (e->is_delta ? delta : score)->text,
                               e->is_delta ? "delta" : "score", RUNG_SLICE(""), err);
    if (st < 0)
        return st;
    if (slots[SCORE_COLUMNS].present)
        return fill_columns(&slots[SCORE_COLUMNS], def, r, e, err);
    if (def->key.column_count > 1)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "columns",
                               "the board needs %u more than the score", def->key.column_count - 1);
    return RUNG_OK;
}

/* As its JSON says it; a string is kept as what it says. Null is none. */
static rung_slice meta_of(const rung_slot *slot) {
    if (!slot->present || slot->kind == RUNG_JSON_NULL)
        return (rung_slice){NULL, 0};
    if (slot->kind == RUNG_JSON_BOOL)
        return slot->integer ? RUNG_SLICE("true") : RUNG_SLICE("false");
    return slot->text;
}

rung_status rung_submission_fill(const rung_slot slots[SCORE_FIELDS], rung_slice board,
                                 const rung_board_def *def, rung_json *r, rung_event *event,
                                 rung_err *err) {
    event->kind = RUNG_EVENT_SCORE;
    rung_score_event *e = &event->score; /* the event is large: only this part of it is set */
    *e = (rung_score_event){.board = board, .player = slots[SCORE_PLAYER].text};
    rung_status st = fill_score(slots, def, r, e, err);
    if (st < 0)
        return st;
    if (slots[SCORE_AT].present) {
        e->has_at = true;
        e->at_ms = slots[SCORE_AT].integer;
        if (e->at_ms < RUNG_TIME_MS_MIN || e->at_ms >= RUNG_TIME_MS_END)
            return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "at", "outside the years %d to %d",
                                   RUNG_YEAR_MIN, RUNG_YEAR_MAX);
    }
    if (slots[SCORE_ID].present)
        e->id = slots[SCORE_ID].text;
    e->meta = meta_of(&slots[SCORE_META]);
    return RUNG_OK;
}
