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
    else if (err && err->reason == RUNG_REASON_LOG_UNAVAILABLE)
        code = "LOGDOWN ";
    else if (err && err->reason == RUNG_REASON_OUTCOME_UNKNOWN)
        code = "UNKNOWN ";
    else if (err && err->reason == RUNG_REASON_DIVERGED)
        code = "DIVERGED ";
    else if (err && err->reason == RUNG_REASON_READ_ONLY)
        code = "READONLY ";
    else if (err && err->reason == RUNG_REASON_SIGNATURE)
        code = "SIGNATURE ";
    else if (err && err->reason == RUNG_REASON_EXPIRED)
        code = "EXPIRED ";
    else if (err && err->reason == RUNG_REASON_REPLAYED)
        code = "REPLAYED ";
    else if (err && err->reason == RUNG_REASON_FORBIDDEN)
        code = "NOPERM ";
    else if (st == RUNG_ENOSPC || st == RUNG_EIO)
        code = "MISCONF ";
    else if (st == RUNG_ELIMIT || (err && (err->reason == RUNG_REASON_BUILDING ||
                                           err->reason == RUNG_REASON_OLDER_SERVERS)))
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
        return rung__resp_error_throttled(call,
                                          why->is_for_address
                                              ? "too many submissions from this address"
                                              : "too many submissions for this player",
                                          why);
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
    case RUNG_ZKEY_EXISTS:
        return rung__resp_error(call, "ERR item exists");
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
    return (out->kind != RUNG_ZKEY_SET && out->kind != RUNG_ZKEY_SKETCH) ||
           rung__resp_error_type(call);
}

bool rung__resp_open_set(rung__resp_call *call, rung_slice name, rung_zkey *out) {
    rung_zkey_open(call->state, name, call->now_ms, out);
    return out->kind == RUNG_ZKEY_SET || out->kind == RUNG_ZKEY_NONE || rung__resp_error_type(call);
}

void rung__resp_put_lines(rung__resp_call *call, const char *text) {
    size_t count = 0;
    for (const char *p = text; *p; p++)
        count += *p == '\n';
    rung_resp_array(call->out, count);
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        rung_resp_raw(call->out, RUNG_SLICE("+"));
        rung_resp_raw(call->out, rung_slice_of(text, (size_t)(end - text)));
        rung_resp_raw(call->out, RUNG_SLICE("\r\n"));
    }
}

void rung__resp_put_cursor(rung__resp_call *call, uint64_t cursor) {
    char text[20];
    rung_resp_array(call->out, 2);
    rung_resp_bulk(call->out, rung_slice_of(text, rung_digits_format(cursor, text)));
}

/* ---- the same page again ----
 *
 * The page of a board that everybody looks at is written once and sent many times. An entry is good for one position of
 * the log, of which the state is a function. What also depends on the time (keys that expire, boards that decay) is not
 * kept. There are few entries, replaced in turn. */

static bool is_same(const rung__resp_cached *e, const rung__resp_call *call, uint64_t seq) {
    if (e->seq != seq || e->version != call->out->version || e->argc != call->argc)
        return false;
    const char *p = e->words;
    for (uint32_t i = 0; i < call->argc; i++) {
        if ((uint8_t)*p != call->argv[i].len ||
            memcmp(p + 1, call->argv[i].ptr, call->argv[i].len) != 0)
            return false;
        p += 1 + call->argv[i].len;
    }
    return true;
}

bool rung__resp_cache_find(rung__resp_call *call) {
    uint64_t seq = rung_state_seq(call->state);
    if (call->is_inside)
        return false;
    for (uint32_t i = 0; i < RUNG__CACHED; i++) {
        const rung__resp_cached *e = &call->r->cache.entries[i];
        if (!is_same(e, call, seq))
            continue;
        rung_resp_raw(call->out, rung_slice_of(e->reply, e->reply_len));
        return true;
    }
    return false;
}

void rung__resp_cache_keep(rung__resp_call *call, size_t mark) {
    rung__resp_cache *cache = &call->r->cache;
    rung__resp_cached *e = &cache->entries[cache->next];
    size_t len = call->out->len - mark, words = 0;
    for (uint32_t i = 0; i < call->argc; i++)
        words += call->argv[i].len > UINT8_MAX ? sizeof e->words : 1 + call->argv[i].len;
    if (call->is_inside || call->out->is_failed || len > sizeof e->reply || words > sizeof e->words)
        return;
    cache->next = (cache->next + 1) % RUNG__CACHED;
    e->seq = rung_state_seq(call->state);
    e->version = call->out->version;
    e->argc = call->argc;
    char *p = e->words;
    for (uint32_t i = 0; i < call->argc; i++) {
        *p = (char)call->argv[i].len;
        if (call->argv[i].len)
            memcpy(p + 1, call->argv[i].ptr, call->argv[i].len);
        p += 1 + call->argv[i].len;
    }
    e->reply_len = (uint32_t)len;
    memcpy(e->reply, call->out->data + mark, len);
}
