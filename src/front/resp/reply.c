/* SPDX-License-Identifier: Apache-2.0 */
/* Errors in the words of Redis 7: clients look at them. */
#include "front/resp/reply.h"

#include "codec/json_writer.h"
#include "front/resp/server.h"

#include <stdio.h>

enum { ERROR_MAX = 512 };

void rung__resp_error(rung__resp_call *call, const char *text) {
    call->r->stats.errors++;
    rung_resp_error(call->out, rung_slice_str(text));
}

static size_t put(char *out, size_t at, const char *bytes, size_t len) {
    size_t room = ERROR_MAX - at;
    len = len < room ? len : room;
    memcpy(out + at, bytes, len);
    return at + len;
}

void rung__resp_error_of(rung__resp_call *call, const char *before, rung_slice text,
                         const char *after) {
    char line[ERROR_MAX];
    size_t len = put(line, 0, before, strlen(before));
    len = put(line, len, text.ptr, text.len < 256 ? text.len : 256);
    len = put(line, len, after, strlen(after));
    call->r->stats.errors++;
    rung_resp_error(call->out, rung_slice_of(line, len));
}

void rung__resp_error_syntax(rung__resp_call *call) {
    rung__resp_error(call, "ERR syntax error");
}

void rung__resp_error_type(rung__resp_call *call) {
    rung__resp_error(call, "WRONGTYPE Operation against a key holding the wrong kind of value");
}

void rung__resp_error_denied(rung__resp_call *call) {
    rung__resp_error(
        call, "NOPERM this user has no permissions to access one of the keys used as arguments");
}

void rung__resp_error_status(rung__resp_call *call, rung_status st, const rung_err *err) {
    const char *text = err && err->message[0] ? err->message : rung_status_text(st);
    const char *code = "ERR ";
    if (st == RUNG_EFULL) {
        rung__resp_error(call, "OOM command not allowed when used memory > 'memory.max'");
        return;
    }
    if (st == RUNG_ENOMEM)
        code = "OOM ";
    else if (st == RUNG_ENOSPC || st == RUNG_EIO)
        code = "MISCONF ";
    else if (st == RUNG_ELIMIT)
        code = "TRYAGAIN ";
    else if (st == RUNG_EREFUSED)
        code = "REFUSED ";
    rung__resp_error_of(call, code, rung_slice_str(text), "");
}

void rung__resp_error_throttled(rung__resp_call *call, const char *what,
                                const rung_access_answer *why) {
    char after[32];
    snprintf(after, sizeof after, ", try again in %u s", (unsigned)why->rate.retry_s);
    rung__resp_error_of(call, "THROTTLED ", rung_slice_str(what), after);
}

void rung__resp_error_submission(rung__resp_call *call, rung_status st,
                                 const rung_access_answer *why) {
    if (why->verdict == RUNG_ACCESS_TOO_MANY)
        rung__resp_error_throttled(call, "too many submissions for this player", why);
    else
        rung__resp_error_status(call, st, &why->err);
}

bool rung__resp_error_result(rung__resp_call *call, const rung_zkey_result *result) {
    switch (result->error) {
    case RUNG_ZKEY_FINE:
        return false;
    case RUNG_ZKEY_WRONG_TYPE:
        rung__resp_error_type(call);
        return true;
    case RUNG_ZKEY_NAN:
        rung__resp_error(call, "ERR resulting score is not a number (NaN)");
        return true;
    case RUNG_ZKEY_NO_SUCH:
        rung__resp_error(call, "ERR no such key");
        return true;
    case RUNG_ZKEY_DENIED:
        rung__resp_error_denied(call);
        return true;
    case RUNG_ZKEY_REFUSED:
        break;
    }
    rung__resp_error_status(call, result->err ? result->err->code : RUNG_EREFUSED, result->err);
    return true;
}

bool rung__resp_open_zset(rung__resp_call *call, rung_slice name, rung_zkey *out) {
    rung_zkey_open(call->state, name, call->now_ms, out);
    if (out->kind != RUNG_ZKEY_SET)
        return true;
    rung__resp_error_type(call);
    return false;
}

bool rung__resp_open_set(rung__resp_call *call, rung_slice name, rung_zkey *out) {
    rung_zkey_open(call->state, name, call->now_ms, out);
    if (out->kind == RUNG_ZKEY_SET || out->kind == RUNG_ZKEY_NONE)
        return true;
    rung__resp_error_type(call);
    return false;
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
