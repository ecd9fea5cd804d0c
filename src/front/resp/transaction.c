/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions.
 *
 *  1. A transaction is one event. Its questions are answered between its changes, from the sink; those before the first
 *     change by a reader placed right before it. Nothing can come between the two: both are put in one call.
 *  2. WATCH: the keys' versions are compared when EXEC is put, and no change of them may be in flight then, since the
 *     hub would apply it first. Changes of RESP clients are counted by key; while others are in flight, EXEC waits. */
#include "front/resp/transaction.h"

#include "base/assert.h"
#include "front/resp/handlers.h"
#include "front/resp/permission.h"
#include "front/resp/server.h"

enum { EXEC_TRIES_MAX = 8, WATCHED_MAX = 1024, QUEUED_MAX = 10000 };
enum { QUEUE_BYTES_MAX = 4 << 20, QUEUE_BYTES_READER = 64 << 10 };

/* ---- queuing ---- */

static void queue_clear(rung__resp_session *s) {
    rung__resp_script_free(&s->queue);
    s->multi = RUNG__MULTI_NONE;
}

static void watch_clear(rung__resp_session *s) {
    rung_buffer_deinit(&s->watched);
    s->watched_count = 0;
}

void rung__resp_transaction_clear(rung__resp_session *s) {
    queue_clear(s);
    watch_clear(s);
}

void rung__resp_transaction_spoil(rung__resp_session *s) {
    if (s->multi == RUNG__MULTI_QUEUING)
        s->multi = RUNG__MULTI_SPOILED;
}

/* A session that may not change anything needs no long transaction. */
static bool is_queue_full(const rung__resp_call *call) {
    rung__resp_session *s = call->s;
    size_t need = s->queue.len + rung__resp_script_need(call->argv, call->argc);
    if (s->queue.count == QUEUED_MAX)
        return true;
    if (need <= QUEUE_BYTES_READER)
        return false;
    bool may_write = rung__resp_has_role(s, RUNG_ROLE_SERVER, RUNG_BOARDS_EACH, call->now_ms);
    return need > (may_write ? QUEUE_BYTES_MAX : QUEUE_BYTES_READER);
}

void rung__resp_transaction_queue(rung__resp_call *call) {
    rung__resp_session *s = call->s;
    if (call->command->flags & RUNG__NO_MULTI)
        rung__resp_error(call, "ERR Command not allowed inside a transaction");
    else if (is_queue_full(call) ||
             !rung__resp_script_add(&s->queue, call->command, call->argv, call->argc))
        rung__resp_error(call, "ERR the transaction is too large");
    else {
        rung_resp_simple(call->out, "QUEUED");
        return;
    }
    rung__resp_transaction_spoil(s);
}

void rung__resp_transaction_abort(rung__resp_call *call, size_t mark) {
    char text[256];
    if (call->out->is_failed)
        return;
    rung_slice why = rung_slice_of(call->out->data + mark + 1, call->out->len - mark - 3);
    if (why.len > 4 && memcmp(why.ptr, "ERR ", 4) == 0)
        why = rung_slice_of(why.ptr + 4, why.len - 4);
    size_t len = why.len < sizeof text ? why.len : sizeof text;
    memcpy(text, why.ptr, len);
    call->out->len = mark;
    rung__resp_error_of(
        call, "EXECABORT Transaction discarded because of: ", rung_slice_of(text, len), "");
    rung__resp_transaction_clear(call->s);
}

void rung__resp_answer_multi(rung__resp_call *call) {
    if (call->s->multi != RUNG__MULTI_NONE) {
        rung__resp_error(call, "ERR MULTI calls can not be nested");
        return;
    }
    call->s->multi = RUNG__MULTI_QUEUING;
    rung_resp_simple(call->out, "OK");
}

void rung__resp_answer_discard(rung__resp_call *call) {
    if (call->s->multi == RUNG__MULTI_NONE) {
        rung__resp_error(call, "ERR DISCARD without MULTI");
        return;
    }
    rung__resp_transaction_clear(call->s);
    rung_resp_simple(call->out, "OK");
}

/* ---- from the queue to an event and its script ---- */

/* Append to the request's script what the queued command of the call became; count changes and their bytes. RUNG_OK,
 * RUNG_ENOMEM, or RUNG_ELIMIT when the transaction is too long for one event. */
static rung_status add_item(rung__resp_call *call, rung__resp_script *script, uint32_t *changes,
                            size_t *bytes) {
    rung__resp_change made;
    size_t mark = call->out->len, length;
    bool is_added;
    made.kind = call->command->build ? RUNG__CHANGE_KEYS : RUNG__CHANGE_NONE;
    made.score = NULL;
    call->style = 0;
    call->work = 0;
    bool is_good = !call->command->build || call->command->build(call, &made);
    rung_status st = RUNG_OK;
    if (is_good && made.kind == RUNG__CHANGE_KEYS)
        st = rung__resp_pack(call, &made.keys, *bytes, &length);
    if (is_good && made.kind == RUNG__CHANGE_NONE) {
        is_added = rung__resp_script_add(script, call->command, call->argv, call->argc);
    } else if (!is_good || st < 0) {
        rung_slice error = rung_slice_of(call->out->data + mark, call->out->len - mark);
        is_added = rung__resp_script_add_reply(script, error);
        call->out->len = mark;
    } else {
        ++*changes;
        *bytes += length;
        is_added = rung__resp_script_add_change(script, call->command, call->style);
    }
    return st == RUNG_ELIMIT ? st : is_added ? RUNG_OK : RUNG_ENOMEM;
}

/* The queue as a script, the header first. RUNG_EREFUSED: something may not be done, and an error has been written. */
static rung_status make_script(rung__resp_call *call, rung__resp_script *script, uint32_t *changes,
                               size_t *bytes) {
    rung__resp_session *s = call->s;
    size_t mark = call->out->len;
    rung_resp_array(call->out, s->queue.count);
    rung_slice header = rung_slice_of(call->out->data + mark, call->out->len - mark);
    bool is_added = rung__resp_script_add_reply(script, header);
    call->out->len = mark;
    rung_status st = is_added ? RUNG_OK : RUNG_ENOMEM;
    for (size_t at = 0; st == RUNG_OK && at < s->queue.len;) {
        rung__resp_item item = rung__resp_script_item(&s->queue, at);
        if (!rung__resp_script_unpack(call, &item))
            return RUNG_ENOMEM;
        if (!rung__resp_is_permitted(call)) /* it was when it was queued */
            return RUNG_EREFUSED;
        st = add_item(call, script, changes, bytes);
        at = item.next;
    }
    return st;
}

/* ---- answers ---- */

/* What is asked before the first change; or why there is no change. */
static void begins(void *ctx) {
    rung__resp_request *q = ctx;
    rung__resp_call call = rung__resp_request_call(q);
    if (q->failure < 0)
        rung__resp_error_status(&call, q->failure, NULL);
    else
        rung__resp_script_answer(&call, &q->script, &q->at);
    rung__resp_call_end(&call);
    if (q->failure < 0)
        rung__resp_request_finish(q);
}

/* A change's reply, and what is asked between it and the next. */
static void told(void *ctx, uint32_t i, const rung_zkey_result *result) {
    rung__resp_request *q = ctx;
    (void)i;
    rung__resp_call call = rung__resp_request_call(q);
    call.is_inside = true;
    rung__resp_script_answer(&call, &q->script, &q->at);
    rung__resp_item item = rung__resp_script_item(&q->script, q->at);
    RUNG_ASSERT(item.kind == RUNG__ITEM_CHANGE);
    call.command = item.command;
    call.style = item.style;
    call.is_continued = q->is_told;
    item.command->reply(&call, result);
    q->is_told = result->more;
    if (!result->more) {
        q->at = item.next;
        call.style = 0;
        call.is_continued = false;
        rung__resp_script_answer(&call, &q->script, &q->at);
    }
    rung__resp_call_end(&call);
}

/* Reply an error for each change that was not applied: the header may have been sent already. */
static void answered(void *ctx, rung_status st, const rung_outcome *outcome, const rung_err *err) {
    rung__resp_request *q = ctx;
    (void)outcome;
    rung__resp_call call = rung__resp_request_call(q);
    for (;;) {
        rung__resp_script_answer(&call, &q->script, &q->at);
        if (q->at >= q->script.len)
            break;
        rung__resp_error_status(&call, st, err);
        q->at = rung__resp_script_item(&q->script, q->at).next;
    }
    rung__resp_call_end(&call);
    rung__resp_worked(q->session->r, q->work);
    rung__resp_request_finish(q);
}

/* ---- EXEC ---- */

/* Is something asked before the first change? Errors that are known already do not count. */
static bool has_questions_first(const rung__resp_script *script) {
    for (size_t at = 0; at < script->len;) {
        rung__resp_item item = rung__resp_script_item(script, at);
        if (item.kind != RUNG__ITEM_REPLY)
            return item.kind == RUNG__ITEM_COMMAND;
        at = item.next;
    }
    return false;
}

static rung_status place(rung__resp_request *q, rung_hub_reader *reader) {
    return rung_commit_place(rung_hub_commit(q->session->r->hub),
                             rung__resp_sender(q->session, false), reader, q, NULL);
}

/* Put the request's script with its packed changes. RUNG_OK: it will be answered. */
static rung_status put(rung__resp_request *q, uint32_t changes, size_t bytes, int64_t now_ms) {
    bool is_placed = has_questions_first(&q->script);
    rung_status st = is_placed ? place(q, begins) : RUNG_OK;
    if (st < 0)
        return st;
    bool is_admin = rung__resp_is_admin(q->session, now_ms);
    st = rung__resp_put_packed(q, changes, bytes, is_admin, false, told, answered, NULL);
    if (st >= 0)
        rung__resp_enter_flight(q, RUNG__IN_FLIGHT_WIDE);
    else if (is_placed)
        q->failure = st; /* the reader that is placed will tell */
    return is_placed ? RUNG_OK : st;
}

/* EXEC when nothing is watched, or what is watched has been found unchanged. */
static void exec_now(rung__resp_call *call) {
    rung__resp_session *s = call->s;
    uint32_t changes = 0;
    size_t bytes = 0;
    bool is_behind = s->pending > 0;
    size_t mark = call->out->len;
    rung__resp_request *q = rung__resp_request_for(call);
    if (!q)
        return;
    call->spent = &q->work;
    call->r->moved = 0;
    memset(call->r->moved_to, 0, sizeof call->r->moved_to);
    rung_status st = make_script(call, &q->script, &changes, &bytes);
    bool is_too_long = st == RUNG_ELIMIT;
    s->pending_bytes += q->script.len;
    if (st == RUNG_OK && !changes && !is_behind) {
        rung__resp_script_answer(call, &q->script, &q->at);
        call->spent = NULL;
        rung__resp_request_release(q);
        return;
    }
    call->spent = NULL;
    if (st == RUNG_OK)
        st = changes ? put(q, changes, bytes, call->now_ms) : place(q, rung__resp_script_ready);
    s->tail = NULL;
    if (st < 0) {
        rung__resp_request_release(q);
        if (st == RUNG_EREFUSED)
            rung__resp_transaction_abort(call, mark);
        else if (is_too_long)
            rung__resp_error(call, "EXECABORT Transaction discarded because it is too long.");
        else
            rung__resp_error_status(call, st, NULL);
    }
}

/* ---- EXEC behind WATCH ---- */

static const rung__resp_watched *watched_at(const rung__resp_session *s, uint32_t i) {
    return (const rung__resp_watched *)(const void *)s->watched.data + i;
}

static bool is_changed(const rung__resp_call *call) {
    const rung__resp_session *s = call->s;
    for (uint32_t i = 0; i < s->watched_count; i++) {
        const rung__resp_watched *w = watched_at(s, i);
        rung_zkey k;
        rung_zkey_open(call->state, rung_slice_of(w->name, w->len), call->now_ms, &k);
        if (k.version != w->version || (k.kind != RUNG_ZKEY_NONE) != w->is_there)
            return true;
    }
    return false;
}

/* May a change of a watched key be in flight? */
static bool is_changing(const rung__resp_call *call) {
    const rung_resp *r = call->r;
    if (r->in_flight_wide || rung_hub_stat(r->hub).waiting > r->stats.in_flight)
        return true;
    for (uint32_t i = 0; i < call->s->watched_count; i++) {
        const rung__resp_watched *w = watched_at(call->s, i);
        if (r->in_flight_by_key[rung__resp_in_flight_slot(rung_slice_of(w->name, w->len))])
            return true;
    }
    return false;
}

static void watched_ready(void *ctx);

/* RUNG_OK: EXEC may be put; RUNG_UNCHANGED: it must not; RUNG_PARTIAL: the request will look again. */
static rung_status look_at_watched(const rung__resp_call *call, rung__resp_request *q) {
    if (is_changed(call))
        return RUNG_UNCHANGED;
    if (!is_changing(call))
        return RUNG_OK;
    if (q->tries++ == EXEC_TRIES_MAX || place(q, watched_ready) < 0)
        return RUNG_UNCHANGED;
    return RUNG_PARTIAL;
}

static void end_watched(rung__resp_call *call, rung_status st) {
    if (st == RUNG_UNCHANGED)
        rung_resp_null_array(call->out);
    else
        exec_now(call);
    rung__resp_transaction_clear(call->s);
}

/* Everything that was in flight when it was placed has been applied. */
static void watched_ready(void *ctx) {
    rung__resp_request *q = ctx;
    rung__resp_session *s = q->session;
    rung__resp_call call = rung__resp_call_begin(s);
    rung_status st = look_at_watched(&call, q);
    if (st != RUNG_PARTIAL) {
        rung__resp_request_release(q);
        end_watched(&call, st);
    }
    rung__resp_call_end(&call);
    rung__resp_session_go_on(s);
}

/* With keys watched, only when nothing of the session is in flight. */
void rung__resp_answer_exec(rung__resp_call *call) {
    rung__resp_session *s = call->s;
    if (s->multi == RUNG__MULTI_NONE) {
        rung__resp_error(call, "ERR EXEC without MULTI");
        return;
    }
    if (s->multi == RUNG__MULTI_SPOILED) {
        rung__resp_error(call, "EXECABORT Transaction discarded because of previous errors.");
        rung__resp_transaction_clear(s);
        return;
    }
    if (!s->watched_count) {
        exec_now(call);
        queue_clear(s);
        return;
    }
    rung__resp_request *q = rung__resp_request_new(s);
    rung_status st = q ? look_at_watched(call, q) : RUNG_UNCHANGED;
    if (st == RUNG_PARTIAL) {
        rung__resp_session_pause(s, 0);
        return;
    }
    if (q)
        rung__resp_request_release(q);
    end_watched(call, st);
}

/* ---- WATCH ---- */

static bool is_watched(const rung__resp_session *s, rung_slice key) {
    for (uint32_t i = 0; i < s->watched_count; i++)
        if (rung_slice_eq(rung_slice_of(watched_at(s, i)->name, watched_at(s, i)->len), key))
            return true;
    return false;
}

static bool watch_one(rung__resp_call *call, rung_slice key) {
    rung__resp_session *s = call->s;
    if (key.len > RUNG_NAME_MAX || is_watched(s, key))
        return true; /* no key has such a long name */
    if (s->watched_count == WATCHED_MAX)
        return false;
    rung_zkey k;
    rung_zkey_open(call->state, key, call->now_ms, &k);
    rung__resp_watched w = {
        .version = k.version, .is_there = k.kind != RUNG_ZKEY_NONE, .len = (uint8_t)key.len};
    if (key.len)
        memcpy(w.name, key.ptr, key.len);
    rung_buffer_put(&s->watched, &w, sizeof w);
    s->watched_count += !s->watched.is_failed;
    return !s->watched.is_failed;
}

void rung__resp_answer_watch(rung__resp_call *call) {
    if (call->s->multi != RUNG__MULTI_NONE) {
        rung__resp_error(call, "ERR WATCH inside MULTI is not allowed");
        return;
    }
    for (uint32_t i = 1; i < call->argc; i++)
        if (!watch_one(call, call->argv[i])) {
            rung__resp_error(call, "ERR too many keys are watched");
            return;
        }
    rung_resp_simple(call->out, "OK");
}

void rung__resp_answer_unwatch(rung__resp_call *call) {
    watch_clear(call->s);
    rung_resp_simple(call->out, "OK");
}
