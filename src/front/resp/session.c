/* SPDX-License-Identifier: Apache-2.0 */
/* A connection's life: its states, its input, its deadlines.
 *
 *  1. Replies leave in the order of the commands. Only what is behind nothing in flight is written at once.
 *  2. A command that cannot be executed now stays in the input, and the session leaves READING until it can.
 *  3. A session outlives its connection until its last request is answered. */
#include "front/resp/session.h"

#include "base/assert.h"
#include "front/resp/dispatch.h"
#include "front/resp/permission.h"
#include "front/resp/server.h"
#include "front/resp/transaction.h"

enum { COMMAND_BYTES_PER_MS = 64 }; /* at least, of a long command */

/* ---- states ---- */

void rung__resp_session_enter(rung__resp_session *s, rung__resp_state to) {
    enum {
        READING = 1 << RUNG__SESSION_READING,
        PAUSED = 1 << RUNG__SESSION_PAUSED,
        STALLED = 1 << RUNG__SESSION_STALLED,
        BLOCKED = 1 << RUNG__SESSION_BLOCKED,
        CLOSING = 1 << RUNG__SESSION_CLOSING,
    };
    static const uint8_t from[] = {
        [RUNG__SESSION_READING] = PAUSED | STALLED,
        [RUNG__SESSION_PAUSED] = READING | BLOCKED,
        [RUNG__SESSION_STALLED] = READING,
        [RUNG__SESSION_BLOCKED] = READING,
        [RUNG__SESSION_CLOSING] = READING | PAUSED | STALLED | CLOSING,
        [RUNG__SESSION_GONE] = READING | PAUSED | STALLED | CLOSING,
    };
    RUNG_ASSERT(from[to] >> s->state & 1);
    if (s->state == RUNG__SESSION_STALLED)
        RUNG_LIST_REMOVE(&s->r->stalled, s, stalled);
    s->state = to;
    switch (to) {
    case RUNG__SESSION_READING:
        rung_conn_pause(s->conn); /* it was not paused while BLOCKED; resume needs a pause */
        rung_conn_resume(s->conn);
        break;
    case RUNG__SESSION_STALLED:
        RUNG_LIST_APPEND(&s->r->stalled, s, stalled);
        rung__resp_timer_start(s->r);
        rung_conn_pause(s->conn);
        break;
    case RUNG__SESSION_PAUSED:
    case RUNG__SESSION_CLOSING:
        rung_conn_pause(s->conn);
        break;
    case RUNG__SESSION_BLOCKED: /* still read from, to notice when the client disconnects */
        break;
    case RUNG__SESSION_GONE:
        s->conn = NULL;
        break;
    }
}

void rung__resp_session_pause(rung__resp_session *s, uint32_t resume_at) {
    s->resume_at = resume_at;
    rung__resp_session_enter(s, RUNG__SESSION_PAUSED);
}

void rung__resp_session_close(rung__resp_session *s) {
    if (s->state == RUNG__SESSION_BLOCKED)
        rung__resp_unblock(s);
    rung__resp_position_drop(s);
    rung__resp_session_enter(s, RUNG__SESSION_CLOSING);
    if (!s->pending)
        rung_conn_finish(s->conn);
}

static void session_free(rung__resp_session *s) {
    rung_resp *r = s->r;
    if (r->gathering.s == s)
        rung__resp_gather_end(r);
    rung__resp_transaction_clear(s);
    rung_resp_parser_deinit(&s->parser);
    rung_alloc_free(r->config.alloc, s, sizeof *s);
}

void rung__resp_session_go_on(rung__resp_session *s) {
    if (s->state == RUNG__SESSION_GONE) {
        if (!s->pending)
            session_free(s);
        return;
    }
    rung__resp_session_tell_held(s);
    if (s->state == RUNG__SESSION_PAUSED && s->pending <= s->resume_at) {
        rung__resp_session_enter(s, RUNG__SESSION_READING);
    } else if (s->state == RUNG__SESSION_CLOSING && !s->pending) {
        rung__resp_gather_end(s->r);
        rung_conn_finish(s->conn);
    }
}

/* ---- what it keeps, and since when ---- */

static uint64_t loop_now(const rung__resp_session *s) {
    return rung_loop_now_ms(s->r->loop);
}

void rung__resp_session_tell_held(const rung__resp_session *s) {
    const rung_resp_parser *p = &s->parser;
    size_t spans = p->spans == p->own ? 0 : p->size * sizeof *p->spans;
    if (s->conn)
        rung_conn_hold(s->conn, s->queue.size + s->pending_bytes + s->blocked_bytes + spans +
                                    s->watched.size);
}

void rung__resp_session_limits(rung__resp_session *s, int64_t now_ms) {
    const rung_resp_config *c = &s->r->config;
    bool was_stranger = s->is_stranger;
    s->is_stranger = rung__resp_is_stranger(s, now_ms);
    s->share = rung_access_share(s->r->access, &s->who);
    if (s->is_stranger && !was_stranger)
        s->stranger_ms = loop_now(s);
    s->parser.limits = s->is_stranger
                           ? RUNG_RESP_LIMITS_STRANGER
                           : (rung_resp_limits){c->args_max, c->bulk_max, c->command_max, false};
}

/* ---- input ---- */

static void protocol_error(rung__resp_session *s) {
    rung__resp_call call = rung__resp_call_begin(s);
    s->r->stats.protocol_errors++;
    rung__resp_error_of(&call, "ERR ", rung_slice_str(s->parser.error), "");
    if (s->pending) {
        if (!rung__resp_say_later(s, rung_slice_of(call.out->data, call.out->len)))
            rung_conn_abort(s->conn);
        call.out->len = 0;
    }
    rung__resp_call_end(&call);
    rung__resp_session_close(s);
}

/* Parse some commands of `bytes` and execute them. Returns the bytes done with; 0 when it can go no further. */
static size_t take_some(rung__resp_session *s, rung_slice bytes) {
    rung_resp *r = s->r;
    rung__resp_parsed commands[RUNG__BATCH_MAX];
    uint32_t n = 0, max = s->is_stranger ? 1 : RUNG__BATCH_MAX; /* AUTH changes the limits */
    size_t at = 0, skipped = 0;
    rung_status st = RUNG_OK;
    rung_resp_args_reset(&r->args);
    while (n < max) {
        rung_resp_command c;
        size_t used;
        st = rung_resp_parse(&s->parser, &r->args, rung_slice_of(bytes.ptr + at, bytes.len - at),
                             &used, &c);
        if (st != RUNG_OK)
            break;
        at += used;
        if (c.count)
            commands[n++] = (rung__resp_parsed){c.first, c.count, at, c.is_alike};
        else if (n)
            commands[n - 1].end = at;
        else
            skipped = at;
        if (c.is_inline && c.count)
            break; /* parsing the next one would overwrite its words */
    }
    uint32_t done = 0;
    if (n) {
        rung__resp_call call = rung__resp_call_begin(s);
        done = rung__resp_dispatch(&call, commands, n);
        rung__resp_call_end(&call);
    }
    if (done < n) {
        rung_resp_parser_restart(&s->parser);
        return done ? commands[done - 1].end : skipped;
    }
    if (st == RUNG_EINVAL && s->state != RUNG__SESSION_READING)
        rung_resp_parser_restart(&s->parser);
    else if (st == RUNG_EINVAL)
        protocol_error(s);
    else if (st == RUNG_ENOMEM)
        rung_conn_abort(s->conn);
    return at;
}

/* ---- time ---- */

/* The rest of the input is the beginning of a command. The deadline of an earlier unfinished one stays. */
static void note_begun(rung__resp_session *s, size_t bytes, bool is_another) {
    if (!bytes)
        s->begun_ms = 0;
    else if (!s->begun_ms || is_another)
        s->begun_ms = loop_now(s);
    s->begun_bytes = bytes;
}

/* Set the deadline for what the session waits for: a key, the rest of a command, or the next command. */
static void watch(rung__resp_session *s) {
    const rung_resp_config *c = &s->r->config;
    if (!s->conn || rung_conn_is_finished(s->conn))
        return;
    uint64_t now = loop_now(s), due = now + c->idle_ms;
    if (s->begun_ms)
        due = s->begun_ms + c->command_ms + s->begun_bytes / COMMAND_BYTES_PER_MS;
    if (s->is_stranger && due > s->stranger_ms + c->auth_ms)
        due = s->stranger_ms + c->auth_ms;
    rung_conn_deadline(s->conn, due > now ? (uint32_t)(due - now) : 1);
}

/* It was too slow: tell it why, and close. */
static void give_up(rung__resp_session *s, const char *why) {
    s->r->stats.timed_out++;
    if (s->pending) { /* its replies come first */
        rung__resp_session_close(s);
        return;
    }
    rung__resp_call call = rung__resp_call_begin(s);
    rung__resp_error(&call, why);
    rung__resp_call_end(&call);
    rung_conn_finish(s->conn);
}

static void on_expired(rung_conn *c) {
    rung__resp_session *s = rung_conn_session(c);
    uint64_t now = loop_now(s);
    if (s->is_stranger) /* a key may no longer be needed */
        rung__resp_session_limits(s, rung_hub_now(s->r->hub));
    bool is_waiting = s->pending || s->state != RUNG__SESSION_READING || rung_conn_is_full(c);
    if (s->is_stranger && now >= s->stranger_ms + s->r->config.auth_ms)
        give_up(s, "ERR no key was shown in time, the connection closes");
    else if (is_waiting)
        watch(s); /* it waits for us */
    else if (s->begun_ms)
        give_up(s, "ERR the command did not arrive in time, the connection closes");
    else if (s->multi != RUNG__MULTI_NONE)
        give_up(s, "ERR the transaction was idle for too long, the connection closes");
    else if (rung_net_is_crowded(s->r->config.net, rung_resp_protocol()))
        rung_conn_finish(c);
    else
        watch(s);
}

static size_t on_data(rung_conn *c, rung_slice bytes) {
    rung__resp_session *s = rung_conn_session(c);
    size_t done = 0;
    while (done < bytes.len && s->state == RUNG__SESSION_READING && !rung_conn_is_finished(c) &&
           !rung_conn_is_full(c)) {
        size_t n = take_some(s, rung_slice_of(bytes.ptr + done, bytes.len - done));
        done += n;
        if (!n)
            break;
    }
    if (s->state == RUNG__SESSION_CLOSING && !s->pending)
        rung_conn_finish(c);
    bool is_begun = done < bytes.len && s->state == RUNG__SESSION_READING && !rung_conn_is_full(c);
    note_begun(s, is_begun ? bytes.len - done : 0, done > 0);
    rung__resp_session_tell_held(s);
    watch(s);
    return s->state == RUNG__SESSION_CLOSING ? bytes.len : done;
}

/* ---- life ---- */

static void *on_opened(void *ctx, rung_conn *c) {
    rung_resp *r = ctx;
    rung__resp_session *s = rung_alloc_zeroed(r->config.alloc, sizeof *s);
    if (!s)
        return NULL;
    int64_t now_ms = rung_hub_now(r->hub);
    s->r = r;
    s->queue.alloc = s->watched.alloc = r->config.alloc;
    s->conn = c;
    s->id = ++r->next_id;
    s->since_ms = now_ms;
    s->version = 2;
    rung__resp_forget_who(s, now_ms);
    rung_resp_parser_init(&s->parser, r->config.alloc, RUNG_RESP_LIMITS_STRANGER);
    rung__resp_session_limits(s, now_ms);
    watch(s);
    RUNG_LIST_PREPEND(&r->sessions, s, all);
    r->stats.connections++;
    r->stats.open++;
    return s;
}

static void on_closed(rung_conn *c) {
    rung__resp_session *s = rung_conn_session(c);
    rung_resp *r = s->r;
    if (s->state == RUNG__SESSION_BLOCKED)
        rung__resp_unblock(s);
    rung__resp_position_drop(s);
    rung__resp_session_enter(s, RUNG__SESSION_GONE);
    RUNG_LIST_REMOVE(&r->sessions, s, all);
    r->stats.open--;
    rung__resp_session_go_on(s);
}

/* The peer sends no more, or the server stops. Requests in flight are still answered; a blocked client is not. */
static void on_ended(rung_conn *c) {
    rung__resp_session_close(rung_conn_session(c));
}

const rung_protocol *rung_resp_protocol(void) {
    static const rung_protocol protocol = {
        .opened = on_opened,
        .data = on_data,
        .ended = on_ended,
        .expired = on_expired,
        .stopping = on_ended,
        .closed = on_closed,
        .busy = {"-ERR max number of clients reached\r\n", 36},
        .input_max = RUNG__COMMAND_MAX + (64 << 10),
    };
    return &protocol;
}
