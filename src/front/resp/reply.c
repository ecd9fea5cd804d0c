/* SPDX-License-Identifier: Apache-2.0 */
/* Errors in the words of Redis 7: clients look at them. */
#include "front/resp/reply.h"

#include "front/resp/server.h"

#include <stdio.h>

static bool put_error(rung__resp_call *call, rung_slice line) {
    call->r->stats.errors++;
    rung_resp_error(call->out, line);
    return false;
}

bool rung__resp_error(rung__resp_call *call, const char *text) {
    return put_error(call, rung_slice_str(text));
}

bool rung__resp_error_of(rung__resp_call *call, const char *before, rung_slice text,
                         const char *after) {
    char line[512];
    rung_buffer b = {.data = line, .size = sizeof line};
    rung_buffer_put(&b, before, strlen(before));
    rung_buffer_put(&b, text.ptr, text.len < 256 ? text.len : 256);
    rung_buffer_put(&b, after, strlen(after));
    return put_error(call, rung_buffer_slice(&b));
}

bool rung__resp_error_syntax(rung__resp_call *call) {
    return rung__resp_error(call, "ERR syntax error");
}

bool rung__resp_error_type(rung__resp_call *call) {
    return rung__resp_error(call,
                            "WRONGTYPE Operation against a key holding the wrong kind of value");
}

bool rung__resp_error_denied(rung__resp_call *call) {
    return rung__resp_error(
        call, "NOPERM this user has no permissions to access one of the keys used as arguments");
}

bool rung__resp_error_status(rung__resp_call *call, rung_status st, const rung_err *err) {
    const char *text = err && err->message[0] ? err->message : rung_status_text(st);
    const char *code = "ERR ";
    if (st == RUNG_EFULL)
        return rung__resp_error(call, "OOM command not allowed when used memory > 'memory.max'");
    if (st == RUNG_ENOMEM)
        code = "OOM ";
    else if (st == RUNG_ENOSPC || st == RUNG_EIO)
        code = "MISCONF ";
    else if (st == RUNG_ELIMIT)
        code = "TRYAGAIN ";
    else if (st == RUNG_EREFUSED)
        code = "REFUSED ";
    return rung__resp_error_of(call, code, rung_slice_str(text), "");
}

bool rung__resp_error_throttled(rung__resp_call *call, const char *what,
                                const rung_access_answer *why) {
    char after[32];
    snprintf(after, sizeof after, ", try again in %u s", (unsigned)why->rate.retry_s);
    return rung__resp_error_of(call, "THROTTLED ", rung_slice_str(what), after);
}

bool rung__resp_error_submission(rung__resp_call *call, rung_status st,
                                 const rung_access_answer *why) {
    if (why->verdict == RUNG_ACCESS_TOO_MANY)
        return rung__resp_error_throttled(call, "too many submissions for this player", why);
    return rung__resp_error_status(call, st, &why->err);
}

static bool put_result_error(rung__resp_call *call, const rung_zkey_result *result) {
    switch (result->error) {
    case RUNG_ZKEY_WRONG_TYPE:
        return rung__resp_error_type(call);
    case RUNG_ZKEY_NAN:
        return rung__resp_error(call, "ERR resulting score is not a number (NaN)");
    case RUNG_ZKEY_NO_SUCH:
        return rung__resp_error(call, "ERR no such key");
    case RUNG_ZKEY_DENIED:
        return rung__resp_error_denied(call);
    case RUNG_ZKEY_FINE:
    case RUNG_ZKEY_REFUSED:
        break;
    }
    return rung__resp_error_status(call, result->err ? result->err->code : RUNG_EREFUSED,
                                   result->err);
}

bool rung__resp_is_fine(rung__resp_call *call, const rung_zkey_result *result) {
    return result->error == RUNG_ZKEY_FINE || put_result_error(call, result);
}

bool rung__resp_open_zset(rung__resp_call *call, rung_slice name, rung_zkey *out) {
    rung_zkey_open(call->state, name, call->now_ms, out);
    return out->kind != RUNG_ZKEY_SET || rung__resp_error_type(call);
}

bool rung__resp_open_set(rung__resp_call *call, rung_slice name, rung_zkey *out) {
    rung_zkey_open(call->state, name, call->now_ms, out);
    return out->kind == RUNG_ZKEY_SET || out->kind == RUNG_ZKEY_NONE || rung__resp_error_type(call);
}

void rung__resp_put_lines(rung__resp_call *call, const char *const *lines, size_t count) {
    rung_resp_array(call->out, count);
    for (size_t i = 0; i < count; i++)
        rung_resp_simple(call->out, lines[i]);
}

void rung__resp_put_cursor(rung__resp_call *call, uint64_t cursor) {
    char text[20];
    rung_resp_array(call->out, 2);
    rung_resp_bulk(call->out, rung_slice_of(text, rung_digits_format(cursor, text)));
}
