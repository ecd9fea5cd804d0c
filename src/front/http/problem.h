/* SPDX-License-Identifier: Apache-2.0 */
/* problem.h - from our statuses to what HTTP says: one place, so that the same refusal has the same code everywhere.
 *
 * The same status means different things by where it arose: a value of a body that is not valid is 400, one that the
 * board does not take is 422; no room in the queue is 503, no room on the board 422. Pure. */
#ifndef RUNG_FRONT_HTTP_PROBLEM_H
#define RUNG_FRONT_HTTP_PROBLEM_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/json_writer.h"

/* Every code there is, by status: for whoever sends one, /openapi.json and docs/http.md. Codes are never renamed. */
#define RUNG_PROBLEM_MAP(X)                                                                        \
    X(400, "malformed", "not a request this server understands")                                   \
    X(401, "unauthorized", "no key, or not a good one")                                            \
    X(403, "forbidden", "a key that may not; without keys, a Host or page not of this machine")    \
    X(403, "origin_not_allowed", "a page that may not")                                            \
    X(404, "board_not_found", "no such board")                                                     \
    X(404, "player_not_found", "no such player, or not in this ranking")                           \
    X(404, "window_not_found", "no such window")                                                   \
    X(404, "not_archived", "a window that has left memory, and the archive cannot tell")           \
    X(404, "not_found", "nothing is at this path, or what it names is not there")                  \
    X(405, "method_not_allowed", "Allow says which are")                                           \
    X(408, "request_timeout", "the head or the body came too slowly")                              \
    X(409, "id_conflict", "the same id with another body")                                         \
    X(409, "busy", "the same is under way already")                                                \
    X(409, "seq_ahead", "`min_seq` is further ahead than the log can come in a moment")            \
    X(413, "too_large", "a body, a line or an array beyond its limit")                             \
    X(414, "target_too_long", "path and query beyond their limit")                                 \
    X(415, "unsupported_media_type", "Content-Type or Content-Encoding is not one we read")        \
    X(417, "expectation_failed", "Expect is not 100-continue")                                     \
    X(421, "unknown_host", "Host is not a name of this server")                                    \
    X(422, "invalid", "well-formed, but not a value that fits here")                               \
    X(422, "refused", "the board's `rule` forbids it")                                             \
    X(422, "out_of_range", "a number beyond its range")                                            \
    X(422, "stale_id", "an id too old to know whether it was counted")                             \
    X(422, "future_id", "an id dated more than a minute ahead of the server's time")               \
    X(422, "future_at", "`at` lies further ahead of the server's time than limits.at_ahead")       \
    X(422, "limit_reached", "there are as many as there may be")                                   \
    X(422, "unsupported", "this cannot be done with this board or server")                         \
    X(426, "websocket_version", "Sec-WebSocket-Version is not 13")                                 \
    X(429, "rate_limited", "with Retry-After and RateLimit headers")                               \
    X(431, "headers_too_large", "header fields beyond their limit")                                \
    X(431, "too_many_headers", "more header fields than their limit")                              \
    X(501, "method_not_implemented", "CONNECT: this is not a proxy")                               \
    X(501, "coding_not_implemented", "Transfer-Encoding is not chunked")                           \
    X(503, "not_ready", "the server is still recovering")                                          \
    X(503, "overloaded", "too much is under way: try again")                                       \
    X(503, "memory_full", "`memory.max` is used up; reads go on, and what removes something")      \
    X(503, "too_many_connections", "try again later")                                              \
    X(503, "too_many_viewers", "as many live connections as there may be")                         \
    X(503, "seq_timeout", "`min_seq` was not reached in time")                                     \
    X(503, "archive_unavailable", "the archive does not answer")                                   \
    X(503, "archive_behind", "the archive has not caught up in time with a ban, a removal, ...")   \
    X(503, "out_of_memory", "try again")                                                           \
    X(503, "stopping", "the server stops")                                                         \
    X(503, "unavailable", "something has failed; the server's log says what")                      \
    X(505, "version_not_supported", "neither HTTP/1.1 nor HTTP/1.0")                               \
    X(507, "storage_full", "the disk is full; reads go on")

/* Is it in the map? For assertions. */
bool rung_problem_is_known(int status, const char *code);

typedef enum rung_stage {
    RUNG_STAGE_FORM,  /* reading path, query or body: malformed */
    RUNG_STAGE_RULES, /* well-formed, held against the board, before anything was queued */
    RUNG_STAGE_PUT,   /* rung_hub_put() and its like */
    RUNG_STAGE_APPLY, /* the answer of the state */
} rung_stage;

typedef struct rung_problem {
    int status;
    const char *code;  /* static */
    rung_slice field;  /* what is wrong; may be empty; borrows from the rung_err */
    bool is_rule;      /* `field` is a rule of the board */
    rung_slice detail; /* borrows from the message */
    int retry_s;       /* 0: no Retry-After */
} rung_problem;

/* `err` may be NULL; it lives as long as the problem. */
rung_problem rung_problem_of(rung_status st, const rung_err *err, rung_stage stage);

/* "field" or "rule", as one member of an open object, if there is one. */
void rung_problem_write_field(rung_json_writer *w, const rung_problem *p);

/* status, code, detail, field, retry_after: as the members of an open object. */
void rung_problem_write(rung_json_writer *w, const rung_problem *p);

#endif
