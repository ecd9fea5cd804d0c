/* SPDX-License-Identifier: Apache-2.0 */
/* Every error has its problem: (status, reason, field) decide, and the message does not. */
#include "front/api/problem.h"
#include "front/http/http.h"
#include "support/check.h"

#include <string.h>

typedef struct expected {
    rung_status error;
    rung_reason reason;
    const char *field;
    int status;
    const char *code;
    int retry_s;
} expected;

#define R(reason) RUNG_REASON_##reason

static const expected cases[] = {
    /* the same status means different things by its reason */
    {RUNG_EINVAL, R(MALFORMED), "limits.min", 400, "malformed", 0},
    {RUNG_ERANGE, R(MALFORMED), "at", 400, "malformed", 0},
    {RUNG_ELIMIT, R(MALFORMED), "friends", 400, "malformed", 0},
    {RUNG_EINVAL, R(NONE), "score", 422, "invalid", 0},
    {RUNG_ERANGE, R(NONE), "score", 422, "out_of_range", 0},
    {RUNG_ERANGE, R(SEQ_AHEAD), "min_seq", 409, "seq_ahead", 0},
    {RUNG_ELIMIT, R(NONE), "window", 422, "limit_reached", 0},
    {RUNG_ELIMIT, R(OVERLOADED), "", 503, "overloaded", 1},
    {RUNG_ELIMIT, R(CONNECTIONS), "", 503, "too_many_connections", 1},
    {RUNG_ELIMIT, R(VIEWERS), "", 503, "too_many_viewers", 5},
    {RUNG_ELIMIT, R(RATE), "player", 429, "rate_limited", 1},
    {RUNG_ELIMIT, R(TOO_LARGE), "", 413, "too_large", 0},
    {RUNG_EREFUSED, R(NONE), "max", 422, "refused", 0},
    {RUNG_EREFUSED, R(UNAUTHORIZED), "token", 401, "unauthorized", 0},
    {RUNG_EREFUSED, R(SIGNATURE), "signature", 401, "signature", 0},
    {RUNG_EREFUSED, R(EXPIRED), "session", 401, "expired", 0},
    {RUNG_EREFUSED, R(REPLAYED), "nonce", 409, "replayed", 0},
    {RUNG_EREFUSED, R(FORBIDDEN), "", 403, "forbidden", 0},
    {RUNG_EREFUSED, R(ORIGIN), "Origin", 403, "origin_not_allowed", 0},
    {RUNG_EREFUSED, R(READ_ONLY), "", 403, "read_only", 0},
    {RUNG_EBUSY, R(OLDER_SERVERS), "", 503, "older_servers", 10},
    {RUNG_EBUSY, R(BUILDING), "as_of", 503, "as_of_building", 1},
    {RUNG_EABSENT, R(TOO_OLD), "as_of", 404, "as_of_too_old", 0},
    {RUNG_EABSENT, R(PAGE_EXPIRED), "page", 410, "page_expired", 0},
    {RUNG_EUNSUPPORTED, R(NONE), "review", 422, "unsupported", 0},
    {RUNG_EUNSUPPORTED, R(METHOD), "", 405, "method_not_allowed", 0},
    {RUNG_EUNSUPPORTED, R(MEDIA_TYPE), "Content-Type", 415, "unsupported_media_type", 0},
    {RUNG_ERANGE, R(RANGE), "Range", 416, "range_not_satisfiable", 0},
    {RUNG_EBUSY, R(NO_SNAPSHOT), "", 503, "no_snapshot", 1},
    {RUNG_EVERSION, R(WEBSOCKET), "Sec-WebSocket-Version", 426, "websocket_version", 0},
    {RUNG_EBUSY, R(NONE), "", 409, "busy", 0},
    {RUNG_EBUSY, R(SILENT), "", 408, "request_timeout", 0},
    {RUNG_EBUSY, R(SEQ_BEHIND), "min_seq", 503, "seq_timeout", 1},
    {RUNG_EBUSY, R(ARCHIVE_BEHIND), "", 503, "archive_behind", 1},
    {RUNG_EIO, R(ARCHIVE), "", 503, "archive_unavailable", 0},
    {RUNG_EIO, R(LOG_UNAVAILABLE), "", 503, "log_unavailable", 1},
    {RUNG_EIO, R(OUTCOME_UNKNOWN), "", 503, "outcome_unknown", 1},
    {RUNG_ECLOSED, R(NONE), "", 503, "stopping", 1},
    {RUNG_ECLOSED, R(RECOVERING), "", 503, "not_ready", 1},
    /* or by its field */
    {RUNG_EABSENT, R(NONE), "board", 404, "board_not_found", 0},
    {RUNG_NOT_FOUND, R(NONE), "board", 404, "board_not_found", 0},
    {RUNG_NOT_FOUND, R(NONE), "player", 404, "player_not_found", 0},
    {RUNG_EABSENT, R(NONE), "match", 404, "match_not_found", 0},
    {RUNG_NOT_FOUND, R(NONE), "window", 404, "window_not_found", 0},
    {RUNG_NOT_FOUND, R(NONE), "window_id", 404, "window_not_found", 0},
    {RUNG_NOT_FOUND, R(NONE), "on", 404, "window_not_found", 0},
    {RUNG_NOT_FOUND, R(NONE), "", 404, "not_found", 0},
    {RUNG_NOT_FOUND, R(NONE), "scope", 404, "not_found", 0},
    {RUNG_EABSENT, R(NOT_ARCHIVED), "window", 404, "not_archived", 0},
    {RUNG_EFUTURE, R(NONE), "id", 422, "future_id", 0},
    {RUNG_EFUTURE, R(NONE), "at", 422, "future_at", 0},
    /* or it is enough by itself */
    {RUNG_ECONFLICT, R(NONE), "id", 409, "id_conflict", 0},
    {RUNG_ESTALE, R(NONE), "id", 422, "stale_id", 0},
    {RUNG_EFULL, R(NONE), "", 503, "memory_full", 10},
    {RUNG_ENOMEM, R(NONE), "", 503, "out_of_memory", 1},
    {RUNG_ENOSPC, R(NONE), "", 507, "storage_full", 0},
    {RUNG_EIO, R(NONE), "", 503, "unavailable", 1},
    /* a reason without a row of its own changes nothing; a status without one is our failure */
    {RUNG_NOT_FOUND, R(NOT_IN_MEMORY), "window", 404, "window_not_found", 0},
    {RUNG_ENOMEM, R(MALFORMED), "", 503, "out_of_memory", 1},
    {RUNG_ECORRUPT, R(NONE), "", 503, "unavailable", 1},
    {RUNG_ECORRUPT, R(DIVERGED), "", 503, "diverged", 0},
    {RUNG_EEXIST, R(NONE), "id", 503, "unavailable", 1},
    {RUNG_EVERSION, R(NONE), "", 503, "unavailable", 1},
};
enum { CASES = sizeof cases / sizeof cases[0] };

TEST(each_error_has_its_problem) {
    for (size_t i = 0; i < CASES; i++) {
        const expected *e = &cases[i];
        rung_err err;
        RUNG_FAIL_FIELD_WHY(&err, e->error, e->reason, "%s", "text", e->field);
        rung_problem p = rung_problem_of(e->error, &err);
        CHECK_MSG(p.status == e->status && strcmp(p.code, e->code) == 0 && p.retry_s == e->retry_s,
                  "case %zu: %d %s %d", i, p.status, p.code, p.retry_s);
        CHECK(rung_slice_eq(p.field, rung_slice_str(e->field)));
        CHECK_EQ_I64(p.is_rule, strcmp(e->code, "refused") == 0);
        CHECK(rung_slice_eq(p.detail, rung_slice_str(err.message)));
    }
}

TEST(each_row_is_expected_above) {
    for (uint32_t i = 0; i < rung_problem_row_count; i++) {
        const rung_problem_row *row = &rung_problem_rows[i];
        bool is_expected = false;
        for (size_t k = 0; k < CASES; k++)
            is_expected |= cases[k].reason == row->reason &&
                           (cases[k].error == row->error || cases[k].error == RUNG_NOT_FOUND) &&
                           strcmp(cases[k].code, row->code) == 0;
        CHECK_MSG(is_expected, "row %u: %s", i, row->code);
    }
}

static uint32_t docs_of(int status, const char *code) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < rung_problem_row_count; i++)
        count += rung_problem_rows[i].status == status && rung_problem_rows[i].doc &&
                 strcmp(rung_problem_rows[i].code, code) == 0;
#define X(of, name, doc) count += of == status && strcmp(name, code) == 0;
    RUNG_HTTP_PROBLEM_MAP(X)
#undef X
    return count;
}

TEST(each_code_is_described_once) {
    for (uint32_t i = 0; i < rung_problem_row_count; i++)
        CHECK_MSG(docs_of(rung_problem_rows[i].status, rung_problem_rows[i].code) == 1, "%s",
                  rung_problem_rows[i].code);
#define X(of, name, doc) CHECK_MSG(docs_of(of, name) == 1, "%s", name);
    RUNG_HTTP_PROBLEM_MAP(X)
#undef X
}

TEST(without_an_error_the_status_speaks) {
    rung_problem p = rung_problem_of(RUNG_ENOMEM, NULL);
    CHECK_EQ_STR(p.code, "out_of_memory");
    CHECK(p.field.len == 0 && rung_slice_eq(p.detail, RUNG_SLICE("out of memory")));
    rung_err err = {0};
    p = rung_problem_of(RUNG_EREFUSED, &err);
    CHECK_EQ_STR(p.code, "refused");
    CHECK(rung_slice_eq(p.detail, rung_slice_str(rung_status_text(RUNG_EREFUSED))));
}

static void writes(rung_status st, const char *field, const char *json) {
    char text[256];
    rung_json_writer w = {.data = text, .size = sizeof text};
    rung_err err;
    RUNG_FAIL_FIELD(&err, st, "%s", "no", field);
    rung_problem p = rung_problem_of(st, &err);
    rung_json_open_object(&w);
    rung_problem_write(&w, &p);
    rung_json_close_object(&w);
    rung_slice written = rung_json_written(&w);
    CHECK_MSG(rung_slice_eq(written, rung_slice_str(json)), "%.*s", (int)written.len, written.ptr);
}

TEST(members) {
    writes(RUNG_EREFUSED, "max",
           "{\"status\":422,\"code\":\"refused\",\"detail\":\"max: no\",\"rule\":\"max\"}");
    writes(RUNG_EINVAL, "score",
           "{\"status\":422,\"code\":\"invalid\",\"detail\":\"score: no\",\"field\":\"score\"}");
    writes(RUNG_EFULL, "x",
           "{\"status\":503,\"code\":\"memory_full\",\"detail\":\"x: no\",\"field\":\"x\","
           "\"retry_after\":10}");
}

RUNG_TEST_MAIN
