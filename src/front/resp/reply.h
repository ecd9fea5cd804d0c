/* SPDX-License-Identifier: Apache-2.0 */
/* reply.h - errors in the words of Redis, keys opened by kind, and a small cache of replies. */
#ifndef RUNG_FRONT_RESP_REPLY_H
#define RUNG_FRONT_RESP_REPLY_H

#include "front/resp/call.h"

/* Errors return false, so that a check can end with one. `text` begins with its code: "ERR syntax error". */
bool rung__resp_error(rung__resp_call *call, const char *text);
bool rung__resp_error_of(rung__resp_call *call, const char *before, rung_slice text,
                         const char *after);
bool rung__resp_error_syntax(rung__resp_call *call);
bool rung__resp_error_type(rung__resp_call *call);
bool rung__resp_error_denied(rung__resp_call *call);
bool rung__resp_error_status(rung__resp_call *call, rung_status st, const rung_err *err);
/* Over a rate limit: `what`, and when to retry. */
bool rung__resp_error_throttled(rung__resp_call *call, const char *what,
                                const rung_access_answer *why);
/* What service/submit refused. */
bool rung__resp_error_submission(rung__resp_call *call, rung_status st,
                                 const rung_access_answer *why);
/* false: it is an error, which has been written. */
bool rung__resp_is_fine(rung__resp_call *call, const rung_zkey_result *result);

/* An array of lines, as HELP answers. Every line ends with a newline. */
void rung__resp_put_lines(rung__resp_call *call, const char *text);

/* The beginning of a reply to SCAN, SSCAN or ZSCAN: the next cursor, and an array follows. */
void rung__resp_put_cursor(rung__resp_call *call, uint64_t cursor);

/* Open a key as a sorted set: false when it is a set, and the error has been written. */
bool rung__resp_open_zset(rung__resp_call *call, rung_slice name, rung_zkey *out);
bool rung__resp_open_set(rung__resp_call *call, rung_slice name, rung_zkey *out);

/* ---- the same page again ---- */

enum { RUNG__CACHED = 4, RUNG__CACHED_WORDS = 256, RUNG__CACHED_REPLY = 16 << 10 };
typedef struct rung__resp_cached {
    uint64_t seq; /* the state it was made of */
    uint32_t version, argc;
    char words[RUNG__CACHED_WORDS]; /* the command: each argument a length byte and its bytes */
    uint32_t reply_len;
    char reply[RUNG__CACHED_REPLY];
} rung__resp_cached;

typedef struct rung__resp_cache {
    rung__resp_cached entries[RUNG__CACHED];
    uint32_t next;
} rung__resp_cache;

/* Send the reply if it is cached. After writing a reply from `mark` on that depends on the state alone, keep it. */
bool rung__resp_cache_find(rung__resp_call *call);
void rung__resp_cache_keep(rung__resp_call *call, size_t mark);

#endif
