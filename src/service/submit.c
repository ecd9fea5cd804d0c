/* SPDX-License-Identifier: Apache-2.0 */
/* Checks before a submission is logged. The state checks it again when it is applied. */
#include "service/submit.h"

#include "model/calendar.h"

#include <math.h>

/* For sums: 2^63 summands of this size do not overflow a double, so no sum becomes infinite. */
#define SUMMAND_MAX 1e288

rung_status rung_submit_open(const rung_service *s, rung_who *who, rung_slice board, int64_t now_ms,
                             const rung_board_def **def_out, rung_access_answer *why) {
    rung_need need = {.role = RUNG_ROLE_SERVER, .board = board};
    why->verdict = RUNG_ACCESS_OK;
    if (who && rung_access_allow(s->access, who, &need, now_ms, why) != RUNG_ACCESS_OK)
        return RUNG_EREFUSED;
    if (rung_state_board(rung_hub_state(s->hub), board, def_out) != RUNG_OK)
        return RUNG_FAIL_FIELD(&why->err, RUNG_EABSENT, "board", "no such board");
    return RUNG_OK;
}

/* ---- values ---- */

static bool is_beyond_sums(double value) {
    return fabs(value) > SUMMAND_MAX && !isinf(value);
}

/* The range of values that the board's kind of update allows. */
static rung_status check_update(const rung_board_def *def, uint32_t column,
                                const rung_score_event *e, rung_err *err) {
    double value = e->values[column].d;
    if (def->key.columns[column].type != RUNG_SCORE_REAL)
        return RUNG_OK;
    if (def->update == RUNG_UPDATE_DECAY && value <= 0)
        return RUNG_FAIL(err, RUNG_ERANGE, "must be above 0 on a board that decays");
    if (def->update == RUNG_UPDATE_SUM && is_beyond_sums(value))
        return RUNG_FAIL(err, RUNG_ERANGE, "a sum takes parts from -1e288 to 1e288");
    return RUNG_OK;
}

rung_status rung_submit_value(const rung_board_def *def, uint32_t column, rung_slice text,
                              rung_score_event *e, rung_err *err) {
    const rung_column *c = &def->key.columns[column];
    rung_status st = rung_score_parse(c, text, &e->values[column], err);
    if (st < 0)
        return st;
    e->types[column] = (uint8_t)c->type;
    e->decimals[column] = (uint8_t)c->decimals;
    return check_update(def, column, e, err);
}

/* ---- propose ---- */

static inline bool is_large(const rung_score_event *e, uint32_t column) {
    return e->types[column] == RUNG_SCORE_REAL && is_beyond_sums(e->values[column].d);
}

/* For callers with doubles that have not looked up the board. Rare, so not inlined. */
__attribute__((noinline)) static rung_status check_large(const rung_service *s,
                                                         const rung_score_event *e, rung_err *err) {
    const rung_board_def *def;
    rung_status st = RUNG_OK;
    if (rung_state_board(rung_hub_state(s->hub), e->board, &def) != RUNG_OK)
        return RUNG_OK;
    for (uint32_t i = 0; i < e->value_count && i < RUNG_COLUMNS_MAX && st >= 0; i++)
        if (is_large(e, i))
            st = check_update(def, i, e, err);
    return st;
}

/* value_count may be too large here; rung_event_check() refuses that later. */
static inline bool has_large(const rung_score_event *e) {
    for (uint32_t i = 0; i < e->value_count && i < RUNG_COLUMNS_MAX; i++)
        if (is_large(e, i))
            return true;
    return false;
}

static rung_status check_at(const rung_score_event *e, rung_err *err) {
    if (!e->has_at || (e->at_ms >= RUNG_TIME_MS_MIN && e->at_ms < RUNG_TIME_MS_END))
        return RUNG_OK;
    return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "at", "outside the years %d to %d", RUNG_YEAR_MIN,
                           RUNG_YEAR_MAX);
}

rung_status rung_submit_check(const rung_service *s, const rung_who *who, const rung_score_event *e,
                              int64_t now_ms, rung_access_answer *why) {
    why->verdict = RUNG_ACCESS_OK;
    rung_status st = check_at(e, &why->err);
    if (st >= 0 && has_large(e))
        st = check_large(s, e, &why->err);
    if (st < 0)
        return st;
    if (s->access && rung_access_admit(s->access, who, e->player, now_ms, why) != RUNG_ACCESS_OK)
        return RUNG_ELIMIT;
    return RUNG_OK;
}

rung_status rung_submit_judge(const rung_service *s, const rung_event *event, int64_t now_ms,
                              rung_judgement *out, rung_err *err) {
    rung_status st = check_at(&event->score, err);
    if (st >= 0)
        st = rung_event_check(event, err);
    if (st < 0)
        return st;
    rung_state_judge(rung_hub_state(s->hub), &event->score, now_ms, out, err);
    return RUNG_OK;
}
