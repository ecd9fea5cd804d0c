/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: what a connection has in flight in the hub.
 *
 *  1. The hub answers in the order of putting. What follows a request in flight goes through the hub, too, so that the
 *     replies of one connection are in order.
 *  2. Questions behind a change are gathered in a script and placed once; more are added until something else is put.
 *  3. Consecutive scores of one member each, by one command to one key, are a group: one request for all of them, which
 *     is answered several times. A score may join while the group has answers to come, whatever was put in between: the
 *     hub keeps the order.
 *  4. Changes in flight are counted by key, for transactions that watch one. */
#include "front/resp/request.h"

#include "base/hash.h"
#include "front/resp/permission.h"
#include "front/resp/server.h"
#include "service/matches.h"
#include "service/submit.h"

enum {
    REQUESTS_KEPT = 1024,
    GROUP_MAX = 64 /* a paused session goes on when its group is answered */
};

/* ---- life ---- */

rung__resp_request *rung__resp_request_new(rung__resp_session *s) {
    rung_resp *r = s->r;
    rung__resp_request *q = r->free_requests;
    if (q) {
        r->free_requests = q->next_free;
        r->free_count--;
    } else {
        q = rung_alloc_get(r->config.alloc, sizeof *q);
        if (!q)
            return NULL;
    }
    memset(q, 0, offsetof(rung__resp_request, key));
    q->session = s;
    q->script.alloc = r->config.alloc;
    s->pending++;
    return q;
}

rung__resp_request *rung__resp_request_for(rung__resp_call *call) {
    rung__resp_request *q = rung__resp_request_new(call->s);
    if (!q) {
        rung__resp_error_status(call, RUNG_ENOMEM, NULL);
        return NULL;
    }
    q->command = call->command;
    q->style = call->style;
    return q;
}

static void leave_flight(rung__resp_request *q) {
    rung_resp *r = q->session->r;
    if (!q->is_counted)
        return;
    q->is_counted = false;
    r->stats.in_flight--;
    if (q->slot == RUNG__IN_FLIGHT_WIDE)
        r->in_flight_wide--;
    else
        r->in_flight_by_key[q->slot]--;
}

void rung__resp_request_release(rung__resp_request *q) {
    rung__resp_session *s = q->session;
    rung_resp *r = s->r;
    leave_flight(q);
    if (s->tail == q)
        s->tail = NULL;
    if (s->group == q)
        s->group = NULL;
    s->pending--;
    s->pending_bytes -= q->script.len;
    rung__resp_script_free(&q->script);
    if (r->free_count < REQUESTS_KEPT) {
        q->next_free = r->free_requests;
        r->free_requests = q;
        r->free_count++;
    } else {
        rung_alloc_free(r->config.alloc, q, sizeof *q);
    }
}

void rung__resp_request_finish(rung__resp_request *q) {
    rung__resp_session *s = q->session;
    rung__resp_request_release(q);
    rung__resp_session_go_on(s);
}

void rung__resp_requests_free(rung_resp *r) {
    while (r->free_requests) {
        rung__resp_request *q = r->free_requests;
        r->free_requests = q->next_free;
        rung_alloc_free(r->config.alloc, q, sizeof *q);
    }
}

rung__resp_call rung__resp_request_call(rung__resp_request *q) {
    rung__resp_call call = rung__resp_call_begin(q->session);
    call.command = q->command;
    call.style = q->style;
    call.spent = &q->work;
    return call;
}

/* ---- which keys it changes ---- */

uint32_t rung__resp_in_flight_slot(rung_slice key) {
    uint64_t h = key.len, word;
    for (size_t i = 0; i < key.len; i += sizeof word) {
        size_t n = key.len - i < sizeof word ? key.len - i : sizeof word;
        word = 0;
        memcpy(&word, key.ptr + i, n);
        h = rung_hash_word(h ^ word);
    }
    return (uint32_t)(h % RUNG__IN_FLIGHT_SLOTS);
}

/* Commands on several keys have no `key`, except RENAME. */
static uint32_t slot_of_command(const rung_zcommand *c) {
    bool is_single = c->key.len && c->kind != RUNG_ZCOMMAND_RENAME;
    return is_single ? rung__resp_in_flight_slot(c->key) : RUNG__IN_FLIGHT_WIDE;
}

void rung__resp_enter_flight(rung__resp_request *q, uint32_t slot) {
    rung_resp *r = q->session->r;
    q->slot = slot;
    q->is_counted = true;
    r->stats.in_flight++;
    if (slot == RUNG__IN_FLIGHT_WIDE)
        r->in_flight_wide++;
    else
        r->in_flight_by_key[slot]++;
}

/* ---- questions in their place ---- */

void rung__resp_script_ready(void *ctx) {
    rung__resp_request *q = ctx;
    if (q->session->tail == q)
        q->session->tail = NULL;
    rung__resp_call call = rung__resp_request_call(q);
    rung__resp_script_answer(&call, &q->script, &q->at);
    rung__resp_call_end(&call);
    rung__resp_request_finish(q);
}

/* The request whose script takes what comes now; NULL: not now. */
static rung__resp_request *open_script(rung__resp_session *s) {
    if (s->tail)
        return s->tail;
    rung__resp_request *q = rung__resp_request_new(s);
    if (!q)
        return NULL;
    if (rung_commit_place(rung_hub_commit(s->r->hub), rung__resp_sender(s, true),
                          rung__resp_script_ready, q, NULL) < 0) {
        rung__resp_request_release(q);
        return NULL;
    }
    s->tail = q;
    return q;
}

bool rung__resp_ask_later(rung__resp_call *call) {
    rung__resp_request *q = open_script(call->s);
    size_t before = q ? q->script.len : 0;
    if (!q || !rung__resp_script_add(&q->script, call->command, call->argv, call->argc))
        return false;
    call->s->pending_bytes += q->script.len - before;
    return true;
}

bool rung__resp_say_later(rung__resp_session *s, rung_slice bytes) {
    rung__resp_request *q = open_script(s);
    size_t before = q ? q->script.len : 0;
    if (!q || !rung__resp_script_add_reply(&q->script, bytes))
        return false;
    s->pending_bytes += q->script.len - before;
    return true;
}

/* ---- scores of one member ---- */

static rung_slice group_key(const rung__resp_request *q) {
    return rung_slice_of(q->key, q->key_len);
}

/* The key is kept to show the score, or why it was refused. NULL: no memory, and the error has been written. */
static rung__resp_request *begin_group(rung__resp_call *call, rung_slice key) {
    rung__resp_request *q = rung__resp_request_for(call);
    if (!q)
        return NULL;
    q->key_len = (uint8_t)(key.len < RUNG_NAME_MAX ? key.len : RUNG_NAME_MAX);
    memcpy(q->key, key.ptr, q->key_len);
    q->joined = q->left = 1;
    rung__resp_enter_flight(q, rung__resp_in_flight_slot(key));
    call->s->group = q;
    return q;
}

/* The session's group with one score more, or a new one; NULL: as begin_group(). */
static rung__resp_request *join_group(rung__resp_call *call, rung_slice key) {
    rung__resp_session *s = call->s;
    rung__resp_request *q = s->group;
    if (!q || q->command != call->command || q->style != call->style || q->joined == GROUP_MAX ||
        !rung_slice_eq(group_key(q), key))
        return begin_group(call, key);
    q->joined++;
    q->left++;
    s->pending++;
    s->r->stats.in_flight++;
    return q;
}

/* One of its scores is answered, or was not put; true: it was the last, and the request is gone. */
static bool leave_group(rung__resp_request *q) {
    rung__resp_session *s = q->session;
    if (--q->left == 0) {
        rung__resp_request_release(q);
        return true;
    }
    s->pending--;
    s->r->stats.in_flight--;
    return false;
}

static inline rung__resp_call *gather(rung__resp_session *s) {
    rung_resp *r = s->r;
    bool is_going_on = r->gathering.s == s && r->out.len < RUNG__SPILL_AT;
    return is_going_on ? &r->gathering : rung__resp_gather_begin(s);
}

static void score_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                           const rung_err *err) {
    rung__resp_request *q = ctx;
    rung__resp_session *s = q->session;
    rung__resp_call *call = gather(s);
    call->command = q->command;
    call->style = q->style;
    if (outcome)
        q->command->reply_score(call, group_key(q), st, outcome, err);
    else
        rung__resp_error_status(call, st, err);
    if (leave_group(q))
        rung__resp_session_go_on(s);
}

bool rung__resp_put_score(rung__resp_call *call) {
    rung_event *event = &call->r->event;
    rung_access_answer why;
    rung__resp_request *q = join_group(call, event->score.board);
    if (!q)
        return true;
    event->kind = RUNG_EVENT_SCORE;
    rung_status st =
        rung_submit_put(&call->r->service, &call->s->who, rung__resp_sender(call->s, true), event,
                        call->now_ms, score_answered, q, &why);
    if (st < 0) {
        leave_group(q);
        if (st == RUNG_ELIMIT && why.verdict == RUNG_ACCESS_OK)
            return false; /* the hub has no room */
        rung__resp_error_submission(call, st, &why);
        return true;
    }
    call->before.group = q;
    call->s->tail = NULL;
    return true;
}

bool rung__resp_put_match(rung__resp_call *call) {
    rung_event *event = &call->r->event;
    rung_err err = {0};
    rung__resp_request *q = join_group(call, event->match.board);
    if (!q)
        return true;
    rung_status st = rung_match_submit(&call->r->service, rung__resp_sender(call->s, true), event,
                                       score_answered, q, &err);
    if (st < 0) {
        leave_group(q);
        if (st == RUNG_ELIMIT && err.reason == RUNG_REASON_OVERLOADED)
            return false; /* the hub has no room */
        rung__resp_error_status(call, st, &err);
        return true;
    }
    call->s->tail = NULL;
    return true;
}

/* How many more may join a group of the session. */
static uint32_t group_room(const rung__resp_session *s, const rung__resp_request *q) {
    const rung_resp_config *c = &s->r->config;
    uint32_t room = GROUP_MAX - q->joined;
    if (s->pending >= c->pending_max || s->pending_bytes >= c->pending_bytes_max)
        return 0;
    return room < c->pending_max - s->pending ? room : c->pending_max - s->pending;
}

/* One that cannot be put is left as it was: executed by itself, it is told what is wrong. */
uint32_t rung__resp_put_scores_alike(rung__resp_call *call, uint32_t n) {
    rung_resp *r = call->r;
    rung__resp_session *s = call->s;
    rung__resp_request *q = call->before.group;
    rung_event *event = &r->event;
    rung__resp_change made;
    rung_access_answer why;
    size_t mark = call->out->len;
    uint64_t errors = r->stats.errors;
    uint32_t room = group_room(s, q), count = n < room ? n : room, done = 0;
    made.score = &event->score;
    for (; done < count; done++) {
        call->argv += call->argc;
        call->style = 0;
        made.kind = RUNG__CHANGE_KEYS;
        if (!call->command->build(call, &made) || made.kind != RUNG__CHANGE_SCORE ||
            call->style != q->style ||
            rung_submit_put(&r->service, &s->who, rung__resp_sender(s, true), event, call->now_ms,
                            score_answered, q, &why) < 0)
            break;
    }
    call->out->len = mark;
    r->stats.errors = errors;
    q->joined += done;
    q->left += done;
    s->pending += done;
    r->stats.in_flight += done;
    if (done)
        s->tail = NULL;
    return done;
}

/* ---- commands on keys ---- */

rung_status rung__resp_pack(rung__resp_call *call, const rung_zcommand *c, size_t at,
                            size_t *length_out) {
    rung_err err;
    rung_status st = rung_zcommand_encode(c, call->r->pack + at, RUNG_ZCOMMANDS_BYTES_MAX - at,
                                          length_out, &err);
    if (st == RUNG_ELIMIT)
        rung__resp_error(call, "ERR the command is too long for one record of the log");
    else if (st < 0)
        rung__resp_error_status(call, st, &err);
    return st;
}

rung_status rung__resp_put_packed(rung__resp_request *q, uint32_t count, size_t length,
                                  bool is_admin, bool is_patient, rung_zkey_sink *told,
                                  rung_hub_answer *answered, rung_err *err) {
    rung__resp_session *s = q->session;
    rung_event *event = &s->r->event;
    event->kind = RUNG_EVENT_KEYS;
    event->keys.count = count;
    event->keys.packed = rung_slice_of(s->r->pack, length);
    event->keys.is_admin = is_admin;
    rung_hub_sender from = rung__resp_sender(s, is_patient);
    char address[RUNG_ADDRESS_TEXT_MAX];
    rung_actor actor;
    if (rung_event_is_audited(event)) {
        rung_conn_peer(s->conn, address);
        actor = rung_who_actor(&s->who, rung_slice_str(address), (rung_slice){0});
        from.actor = &actor;
    }
    rung_status st =
        rung_commit_put(rung_hub_commit(s->r->hub), from, event, told, answered, q, err);
    if (st >= 0)
        s->tail = NULL;
    return st;
}

static void keys_told(void *ctx, uint32_t i, const rung_zkey_result *result) {
    rung__resp_request *q = ctx;
    (void)i;
    rung__resp_call call = rung__resp_request_call(q);
    call.is_continued = q->is_told;
    q->is_told = true;
    q->command->reply(&call, result);
    rung__resp_call_end(&call);
}

static void keys_failed(rung__resp_request *q, rung_status st, const rung_err *err) {
    rung__resp_call call = rung__resp_request_call(q);
    rung__resp_error_status(&call, st, err);
    rung__resp_call_end(&call);
    q->is_told = true;
}

static void keys_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                          const rung_err *err) {
    rung__resp_request *q = ctx;
    (void)outcome;
    if (!q->is_told)
        keys_failed(q, st, err);
    rung__resp_worked(q->session->r, q->work);
    rung__resp_request_finish(q);
}

static bool takes_away(rung_zcommand_kind kind) {
    return kind == RUNG_ZCOMMAND_DEL || kind == RUNG_ZCOMMAND_EXPIRE ||
           kind == RUNG_ZCOMMAND_PERSIST || kind == RUNG_ZCOMMAND_FLUSH;
}

bool rung__resp_put_keys(rung__resp_call *call, const rung_zcommand *c) {
    rung_err err;
    size_t length;
    if (rung__resp_pack(call, c, 0, &length) < 0)
        return true;
    rung__resp_request *q = rung__resp_request_for(call);
    if (!q)
        return true;
    q->work = call->work;
    bool is_admin = takes_away(c->kind) && rung__resp_is_admin(call->s, call->now_ms);
    rung_status st =
        rung__resp_put_packed(q, 1, length, is_admin, true, keys_told, keys_answered, &err);
    if (st < 0) {
        rung__resp_request_release(q);
        if (st == RUNG_ELIMIT)
            return false; /* the hub has no room */
        rung__resp_error_status(call, st, &err);
        return true;
    }
    rung__resp_enter_flight(q, slot_of_command(c));
    return true;
}

/* ---- pops for clients that wait ---- */

static void pop_told(void *ctx, uint32_t i, const rung_zkey_result *result) {
    rung__resp_request *q = ctx;
    if (!q->is_told && !result->key.len && result->error == RUNG_ZKEY_FINE)
        return; /* another client was faster: this one goes on waiting */
    keys_told(ctx, i, result);
}

static void pop_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                         const rung_err *err) {
    rung__resp_request *q = ctx;
    rung__resp_session *s = q->session;
    (void)outcome;
    if (st < 0 && !q->is_told)
        keys_failed(q, st, err);
    bool is_told = q->is_told;
    rung__resp_request_release(q);
    rung__resp_pop_answered(s, is_told);
}

/* A pop leaves every board where it is, so it needs no admin. */
rung_status rung__resp_pop_for(rung__resp_session *s, const rung__resp_command *c, uint32_t style,
                               const rung_zcommand *pop) {
    rung_resp *r = s->r;
    size_t length;
    rung_status st = rung_zcommand_encode(pop, r->pack, RUNG_ZCOMMANDS_BYTES_MAX, &length, NULL);
    if (st < 0)
        return st;
    rung__resp_request *q = rung__resp_request_new(s);
    if (!q)
        return RUNG_ENOMEM;
    q->command = c;
    q->style = style;
    st = rung__resp_put_packed(q, 1, length, false, false, pop_told, pop_answered, NULL);
    if (st < 0) {
        rung__resp_request_release(q);
        return st;
    }
    rung__resp_enter_flight(q, RUNG__IN_FLIGHT_WIDE);
    return RUNG_OK;
}
