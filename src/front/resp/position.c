/* SPDX-License-Identifier: Apache-2.0 */
/* Where a connection is in the log: min_seq= and latest= of HTTP for clients of the Redis protocol.
 *
 * RUNG.SEQ tells the position that the replies so far reflect. RUNG.WAITSEQ waits for a position, RUNG.LATEST for
 * everything that any server has acknowledged; what follows on the connection sees at least that state. A command that
 * waits is alone on its connection: nothing is in flight before it, and nothing is read behind it.
 *
 * Invariants:
 *   1. A position is in the list, and its waiter in the hub, until it is answered or dropped; both end together.
 *   2. All wait equally long, so the list is in the order of the deadlines. */
#include "front/resp/position.h"

#include "front/resp/arguments.h"
#include "front/resp/handlers.h"
#include "front/resp/server.h"

struct rung__resp_position {
    RUNG_LINK(rung__resp_position) all;
    rung__resp_request *request;
    rung_hub_waiter waiter;
    uint64_t deadline_ms; /* in the loop's time */
    uint32_t share;
};

static void put_seq(rung__resp_call *call) {
    rung_resp_int(call->out, (int64_t)rung_state_seq(rung_hub_state(call->r->hub)));
}

/* Invariant 1. Returns the request, which stays in flight. */
static rung__resp_request *forget(rung__resp_position *p) {
    rung__resp_request *request = p->request;
    rung_resp *r = request->session->r;
    rung_hub_cancel(r->hub, &p->waiter);
    RUNG_LIST_REMOVE(&r->positions.all, p, all);
    rung_fair_give(&r->positions.clients, p->share, 1);
    request->session->position = NULL;
    r->stats.blocked--;
    rung_alloc_free(r->config.alloc, p, sizeof *p);
    return request;
}

static void answer_with(rung__resp_position *p, const rung_err *err) {
    rung__resp_request *request = forget(p);
    rung__resp_call call = rung__resp_request_call(request);
    if (err)
        rung__resp_error_status(&call, err->code, err);
    else
        put_seq(&call);
    rung__resp_call_end(&call);
    rung__resp_request_finish(request);
}

static void reached(void *ctx) {
    answer_with(ctx, NULL);
}

static void failed(void *ctx, const rung_err *err) {
    answer_with(ctx, err);
}

/* A new position in the list; NULL: an error has been written. */
static rung__resp_position *begin(rung__resp_call *call) {
    rung_resp *r = call->r;
    uint32_t share = call->s->share;
    if (!rung_fair_may(&r->positions.clients, share, false)) {
        rung__resp_error(call, "TRYAGAIN too many clients wait for the log");
        return NULL;
    }
    rung__resp_position *p = rung_alloc_zeroed(r->config.alloc, sizeof *p);
    if (p && !(p->request = rung__resp_request_for(call))) {
        rung_alloc_free(r->config.alloc, p, sizeof *p);
        return NULL;
    }
    if (!p) {
        rung__resp_error_status(call, RUNG_ENOMEM, NULL);
        return NULL;
    }
    p->share = share;
    p->deadline_ms = rung_loop_now_ms(r->loop) + r->config.wait_ms;
    p->waiter = (rung_hub_waiter){.ready = reached, .failed = failed, .ctx = p};
    rung_fair_take(&r->positions.clients, share, 1);
    RUNG_LIST_APPEND(&r->positions.all, p, all);
    call->s->position = p;
    r->stats.blocked++;
    rung__resp_timer_start(r);
    rung__resp_session_pause(call->s, 0);
    return p;
}

void rung__resp_position_drop(rung__resp_session *s) {
    if (s->position)
        rung__resp_request_release(forget(s->position));
}

bool rung__resp_positions_due(rung_resp *r) {
    uint64_t now_ms = rung_loop_now_ms(r->loop);
    rung_err err;
    rung_ignore(RUNG_FAIL(&err, RUNG_ELIMIT, "that position has not been reached yet"),
                "it is the answer");
    while (r->positions.all.first && r->positions.all.first->deadline_ms <= now_ms)
        answer_with(r->positions.all.first, &err);
    return r->positions.all.first != NULL;
}

/* ---- commands ---- */

/* RUNG.SEQ */
void rung__resp_answer_rung_seq(rung__resp_call *call) {
    put_seq(call);
}

/* RUNG.WAITSEQ seq */
void rung__resp_answer_rung_waitseq(rung__resp_call *call) {
    rung_hub *hub = call->r->hub;
    int64_t seq;
    if (!rung__resp_take_between(call, call->argv[1], 0, INT64_MAX, "ERR seq is out of range",
                                 &seq))
        return;
    if ((uint64_t)seq <= rung_state_seq(rung_hub_state(hub))) {
        put_seq(call);
    } else if ((uint64_t)seq > rung_hub_reach(hub)) {
        rung__resp_error(call, "ERR seq is far ahead of this log; was it restored from a backup?");
    } else {
        rung__resp_position *p = begin(call);
        if (!p)
            return;
        p->waiter.seq = (uint64_t)seq;
        rung_hub_wait(hub, &p->waiter);
    }
}

/* RUNG.LATEST */
void rung__resp_answer_rung_latest(rung__resp_call *call) {
    if (rung_hub_silent_ms(call->r->hub) > 0) {
        rung__resp_error(call, "LOGDOWN no broker answers");
        return;
    }
    rung__resp_position *p = begin(call);
    if (p)
        rung_hub_wait_for_end(call->r->hub, &p->waiter);
}
