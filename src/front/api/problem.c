/* SPDX-License-Identifier: Apache-2.0 */
#include "front/api/problem.h"

#include <string.h>

#define ANY       NULL
#define R(reason) RUNG_REASON_##reason

/* Sorted by HTTP status. Any of three fields may name a ranking's window. */
const rung_problem_row rung_problem_rows[] = {
    {400, "malformed", 0, RUNG_EINVAL, R(MALFORMED), ANY, NULL},
    {400, "malformed", 0, RUNG_ERANGE, R(MALFORMED), ANY, NULL},
    {400, "malformed", 0, RUNG_ELIMIT, R(MALFORMED), ANY, NULL},
    {401, "unauthorized", 0, RUNG_EREFUSED, R(UNAUTHORIZED), ANY, "no key, or an invalid one"},
    {401, "signature", 0, RUNG_EREFUSED, R(SIGNATURE), ANY,
     "a player's submission whose signature is not that of the request"},
    {401, "expired", 0, RUNG_EREFUSED, R(EXPIRED), ANY,
     "the session is over: begin a new one; or the signed time is too far from the server's"},
    {403, "forbidden", 0, RUNG_EREFUSED, R(FORBIDDEN), ANY,
     "the key lacks the permission; without keys: a Host or page not of this machine"},
    {403, "read_only", 0, RUNG_EREFUSED, R(READ_ONLY), ANY,
     "this server shows a moment of the past (`rung serve --as-of`): nothing can be changed"},
    {403, "origin_not_allowed", 0, RUNG_EREFUSED, R(ORIGIN), ANY, NULL},
    {404, "board_not_found", 0, RUNG_EABSENT, R(NONE), "board", "no such board"},
    {404, "player_not_found", 0, RUNG_EABSENT, R(NONE), "player",
     "no such player, or not in this ranking"},
    {404, "match_not_found", 0, RUNG_EABSENT, R(NONE), "match",
     "the board knows no such match, or not any more"},
    {404, "window_not_found", 0, RUNG_EABSENT, R(NONE), "window", "no such window"},
    {404, "window_not_found", 0, RUNG_EABSENT, R(NONE), "window_id", NULL},
    {404, "window_not_found", 0, RUNG_EABSENT, R(NONE), "on", NULL},
    {404, "not_archived", 0, RUNG_EABSENT, R(NOT_ARCHIVED), ANY,
     "the window is no longer in memory, and not in the archive"},
    {404, "as_of_too_old", 0, RUNG_EABSENT, R(TOO_OLD), ANY,
     "the kept log does not reach back to `as_of`; the detail names the oldest moment"},
    {404, "not_found", 0, RUNG_EABSENT, R(NONE), ANY,
     "nothing at this path, or what it names does not exist"},
    {405, "method_not_allowed", 0, RUNG_EUNSUPPORTED, R(METHOD), ANY, "Allow says which are"},
    {408, "request_timeout", 0, RUNG_EBUSY, R(SILENT), ANY, NULL},
    {409, "id_conflict", 0, RUNG_ECONFLICT, R(NONE), ANY, "same id with a different body"},
    {409, "replayed", 0, RUNG_EREFUSED, R(REPLAYED), ANY,
     "the nonce was used before: sign again with a higher one"},
    {409, "busy", 0, RUNG_EBUSY, R(NONE), ANY, "already in progress"},
    {409, "seq_ahead", 0, RUNG_ERANGE, R(SEQ_AHEAD), ANY, "`min_seq` is far ahead of the log"},
    {410, "page_expired", 0, RUNG_EABSENT, R(PAGE_EXPIRED), ANY,
     "`page` is of a ranking that this server no longer holds: begin with `page=first`"},
    {413, "too_large", 0, RUNG_ELIMIT, R(TOO_LARGE), ANY, NULL},
    {415, "unsupported_media_type", 0, RUNG_EUNSUPPORTED, R(MEDIA_TYPE), ANY,
     "unsupported Content-Type or Content-Encoding"},
    {416, "range_not_satisfiable", 0, RUNG_ERANGE, R(RANGE), ANY,
     "Range begins beyond the end; Content-Range says the size"},
    {422, "invalid", 0, RUNG_EINVAL, R(NONE), ANY, "well-formed, but not a valid value here"},
    {422, "refused", 0, RUNG_EREFUSED, R(NONE), ANY, "the board's `rule` forbids it"},
    {422, "out_of_range", 0, RUNG_ERANGE, R(NONE), ANY, "a number beyond its range"},
    {422, "stale_id", 0, RUNG_ESTALE, R(NONE), ANY, "an id too old to know whether it was counted"},
    {422, "future_id", 0, RUNG_EFUTURE, R(NONE), "id",
     "an id dated more than a minute ahead of the server's time"},
    {422, "future_at", 0, RUNG_EFUTURE, R(NONE), ANY,
     "`at` lies further ahead of the server's time than limits.at_ahead"},
    {422, "limit_reached", 0, RUNG_ELIMIT, R(NONE), ANY, "a limit is reached"},
    {422, "unsupported", 0, RUNG_EUNSUPPORTED, R(NONE), ANY,
     "this cannot be done with this board or server"},
    {426, "websocket_version", 0, RUNG_EVERSION, R(WEBSOCKET), ANY,
     "Sec-WebSocket-Version is not 13"},
    {429, "rate_limited", 1, RUNG_ELIMIT, R(RATE), ANY, "with Retry-After and RateLimit headers"},
    {503, "not_ready", 1, RUNG_ECLOSED, R(RECOVERING), ANY, "the server is still recovering"},
    {503, "diverged", 0, RUNG_ECORRUPT, R(DIVERGED), ANY,
     "this server's state differs from that of the others: ask another one"},
    {503, "no_snapshot", 1, RUNG_EBUSY, R(NO_SNAPSHOT), ANY,
     "there is no snapshot yet; one was started"},
    {503, "overloaded", 1, RUNG_ELIMIT, R(OVERLOADED), ANY, NULL},
    {503, "memory_full", 10, RUNG_EFULL, R(NONE), ANY,
     "`memory.max` is used up; reads go on, and what removes something"},
    {503, "too_many_connections", 1, RUNG_ELIMIT, R(CONNECTIONS), ANY, NULL},
    {503, "too_many_viewers", 5, RUNG_ELIMIT, R(VIEWERS), ANY,
     "the limit of live connections is reached"},
    {503, "seq_timeout", 1, RUNG_EBUSY, R(SEQ_BEHIND), ANY, "`min_seq` was not reached in time"},
    {503, "log_unavailable", 1, RUNG_EIO, R(LOG_UNAVAILABLE), ANY,
     "the brokers do not answer; the change was not accepted, reads go on"},
    {503, "outcome_unknown", 1, RUNG_EIO, R(OUTCOME_UNKNOWN), ANY,
     "the log may have the change or not: repeat it with the same id"},
    {503, "older_servers", 10, RUNG_EBUSY, R(OLDER_SERVERS), ANY,
     "servers of an older version share the log and could not read this: upgrade them first"},
    {503, "as_of_building", 1, RUNG_EBUSY, R(BUILDING), ANY,
     "the state at `as_of` is being built: ask again; `progress.percent` says how far it is"},
    {503, "archive_unavailable", 0, RUNG_EIO, R(ARCHIVE), ANY, "the archive does not answer"},
    {503, "archive_behind", 1, RUNG_EBUSY, R(ARCHIVE_BEHIND), ANY,
     "the archive has not caught up in time with a ban, a removal, ..."},
    {503, "out_of_memory", 1, RUNG_ENOMEM, R(NONE), ANY, "try again"},
    {503, "stopping", 1, RUNG_ECLOSED, R(NONE), ANY, "server is shutting down"},
    {503, "unavailable", 1, RUNG_EIO, R(NONE), ANY,
     "something has failed; the server's log says what"},
    {507, "storage_full", 0, RUNG_ENOSPC, R(NONE), ANY, "the disk is full; reads go on"},
};
const uint32_t rung_problem_row_count = sizeof rung_problem_rows / sizeof rung_problem_rows[0];

static const rung_problem_row *find(rung_status st, rung_reason reason, const char *field) {
    for (uint32_t i = 0; i < rung_problem_row_count; i++) {
        const rung_problem_row *row = &rung_problem_rows[i];
        if (row->error == st && row->reason == reason &&
            (!row->field || strcmp(row->field, field) == 0))
            return row;
    }
    return NULL;
}

/* A status without a row is an internal failure. */
static const rung_problem_row *row_of(rung_status st, rung_reason reason, const char *field) {
    const rung_problem_row *row = NULL;
    if (st == RUNG_NOT_FOUND)
        st = RUNG_EABSENT;
    if (reason != RUNG_REASON_NONE)
        row = find(st, reason, field);
    if (!row)
        row = find(st, RUNG_REASON_NONE, field);
    return row ? row : find(RUNG_EIO, RUNG_REASON_NONE, field);
}

rung_problem rung_problem_of(rung_status st, const rung_err *err) {
    const char *field = err ? err->field : "";
    const rung_problem_row *row = row_of(st, err ? err->reason : RUNG_REASON_NONE, field);
    return (rung_problem){
        .status = row->status,
        .code = row->code,
        .field = rung_slice_str(field),
        .is_rule = row->error == RUNG_EREFUSED && row->reason == RUNG_REASON_NONE,
        .detail = rung_slice_str(err && err->message[0] ? err->message : rung_status_text(st)),
        .retry_s = row->retry_s,
    };
}

void rung_problem_write_field(rung_json_writer *w, const rung_problem *p) {
    if (!p->field.len)
        return;
    if (p->is_rule)
        RUNG_JSON_MEMBER(w, "rule", string, p->field);
    else
        RUNG_JSON_MEMBER(w, "field", string, p->field);
}

void rung_problem_write(rung_json_writer *w, const rung_problem *p) {
    RUNG_JSON_MEMBER(w, "status", int, p->status);
    RUNG_JSON_MEMBER(w, "code", word, p->code);
    RUNG_JSON_MEMBER(w, "detail", string, p->detail);
    rung_problem_write_field(w, p);
    if (p->retry_s)
        RUNG_JSON_MEMBER(w, "retry_after", int, p->retry_s);
}
