/* SPDX-License-Identifier: Apache-2.0 */
#include "front/http/problem.h"

#include "base/assert.h"

#include <string.h>

bool rung_problem_is_known(int status, const char *code) {
#define X(of, name, doc)                                                                           \
    if (status == of && strcmp(code, name) == 0)                                                   \
        return true;
    RUNG_PROBLEM_MAP(X)
#undef X
    return false;
}

static bool is_about(const rung_problem *p, const char *field) {
    return rung_slice_eq(p->field, rung_slice_str(field));
}

static void set(rung_problem *p, int status, const char *code) {
    p->status = status;
    p->code = code;
}

static void set_absent(rung_problem *p) {
    if (is_about(p, "board"))
        set(p, 404, "board_not_found");
    else if (is_about(p, "player"))
        set(p, 404, "player_not_found");
    else if (is_about(p, "window") || is_about(p, "window_id") || is_about(p, "on"))
        set(p, 404, "window_not_found");
    else
        set(p, 404, "not_found");
}

static void set_invalid(rung_problem *p, rung_stage stage) {
    if (stage == RUNG_STAGE_FORM || stage == RUNG_STAGE_PUT)
        set(p, 400, "malformed");
    else
        set(p, 422, "invalid");
}

static void set_limit(rung_problem *p, rung_stage stage) {
    if (stage == RUNG_STAGE_FORM) {
        set(p, 400, "malformed");
    } else if (stage == RUNG_STAGE_PUT) {
        set(p, 503, "overloaded");
        p->retry_s = 1;
    } else {
        set(p, 422, "limit_reached");
    }
}

static void set_status(rung_problem *p, rung_status st, rung_stage stage) {
    switch (st) {
    case RUNG_EINVAL:
        set_invalid(p, stage);
        return;
    case RUNG_ERANGE:
        if (stage == RUNG_STAGE_FORM)
            set(p, 400, "malformed");
        else
            set(p, 422, "out_of_range");
        return;
    case RUNG_EABSENT:
    case RUNG_NOT_FOUND:
        set_absent(p);
        return;
    case RUNG_ECONFLICT:
        set(p, 409, "id_conflict");
        return;
    case RUNG_EREFUSED:
        set(p, 422, "refused");
        p->is_rule = true;
        return;
    case RUNG_ESTALE:
        set(p, 422, "stale_id");
        return;
    case RUNG_EFUTURE:
        set(p, 422, is_about(p, "id") ? "future_id" : "future_at");
        return;
    case RUNG_EUNSUPPORTED:
        set(p, 422, "unsupported");
        return;
    case RUNG_ELIMIT:
        set_limit(p, stage);
        return;
    case RUNG_ENOSPC:
        set(p, 507, "storage_full");
        return;
    case RUNG_EFULL:
        set(p, 503, "memory_full");
        p->retry_s = 10;
        return;
    case RUNG_ENOMEM:
        set(p, 503, "out_of_memory");
        p->retry_s = 1;
        return;
    case RUNG_ECLOSED:
        set(p, 503, "stopping");
        p->retry_s = 1;
        return;
    default:
        set(p, 503, "unavailable");
        p->retry_s = 1;
    }
}

rung_problem rung_problem_of(rung_status st, const rung_err *err, rung_stage stage) {
    rung_problem p = {0};
    const char *message = err && err->message[0] ? err->message : rung_status_text(st);
    p.detail = rung_slice_str(message);
    p.field = rung_slice_str(err ? err->field : "");
    set_status(&p, st, stage);
    return p;
}

void rung_problem_write_field(rung_json_writer *w, const rung_problem *p) {
    if (!p->field.len)
        return;
    if (p->is_rule)
        RUNG_JSON_KEY(w, "rule");
    else
        RUNG_JSON_KEY(w, "field");
    rung_json_write_string(w, p->field);
}

void rung_problem_write(rung_json_writer *w, const rung_problem *p) {
    RUNG_ASSERT_SLOW(rung_problem_is_known(p->status, p->code));
    RUNG_JSON_KEY(w, "status");
    rung_json_write_int(w, p->status);
    RUNG_JSON_KEY(w, "code");
    rung_json_write_string(w, rung_slice_str(p->code));
    RUNG_JSON_KEY(w, "detail");
    rung_json_write_string(w, p->detail);
    rung_problem_write_field(w, p);
    if (p->retry_s) {
        RUNG_JSON_KEY(w, "retry_after");
        rung_json_write_int(w, p->retry_s);
    }
}
