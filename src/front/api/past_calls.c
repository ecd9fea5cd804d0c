/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask, and how often, was decided as for every read. The helper gets the request as it is, but for "me", which
 * it could not resolve; its answer is relayed byte for byte. */
#include "front/api/past_calls.h"

#include "front/api/parts.h"
#include "front/net/loop.h"

#include <stdio.h>
#include <string.h>

/* ---- the loop's side ---- */

static bool begin_work(void *ctx, uint32_t helper, rung_asker_work *work) {
    rung_api *api = ctx;
    return rung__api_begin_work(api, &api->past_work[helper], work);
}

static void look(void *ctx) {
    rung_as_of_look(((rung_api *)ctx)->past);
}

static void look_in(void *ctx, uint32_t ms) {
    rung_api *api = ctx;
    rung_timer_start(api->config.loop, &api->past_timer, ms, 0);
}

static int64_t now_ms(void *ctx) {
    return (int64_t)rung_loop_now_ms(((rung_api *)ctx)->config.loop);
}

rung_status rung__past_create(rung_api *api, rung_err *err) {
    rung_as_of_config config = api->config.as_of;
    if (!config.port || !config.processes)
        return RUNG_OK;
    api->past_timer = (rung_timer){.call = look, .ctx = api};
    config.alloc = api->config.alloc;
    config.work = begin_work;
    config.look_in = look_in;
    config.now_ms = now_ms;
    config.ctx = api;
    return rung_as_of_create(&config, &api->past, err);
}

/* ---- the request ---- */

typedef struct past_call {
    rung_past_question question; /* the first member */
    rung_call *call;
    size_t size;
    size_t len;
    char target[];
} past_call;

static void put_encoded(past_call *p, rung_slice text) {
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        uint8_t b = (uint8_t)text.ptr[i];
        p->target[p->len++] = '%';
        p->target[p->len++] = hex[b >> 4];
        p->target[p->len++] = hex[b & 15];
    }
}

static void put_text(past_call *p, const char *text, size_t len) {
    memcpy(p->target + p->len, text, len);
    p->len += len;
}

/* The path as it came, but for the player. */
static void put_path(past_call *p, const rung_call *c) {
    rung_slice path = rung_exchange_request(c->x)->path;
    const char *raw = path.ptr, *end = path.ptr + path.len, *at = c->route->path;
    while (*at) { /* at a slash, in both */
        size_t plain = strcspn(at + 1, "/") + 1;
        const char *next = raw + 1 < end ? memchr(raw + 1, '/', (size_t)(end - raw - 1)) : NULL;
        next = next ? next : end;
        if (strncmp(at, "/{player}", 9) == 0) {
            put_text(p, "/", 1);
            put_encoded(p, c->player);
        } else {
            put_text(p, raw, (size_t)(next - raw));
        }
        at += plain;
        raw = next;
    }
}

static size_t path_room(const rung_call *c) {
    return rung_exchange_request(c->x)->path.len + 3 * c->player.len + 1;
}

/* The rest of the first line, and what of a review the asker may see: to the helper everybody is an admin. */
static rung_slice tail_of(const rung_call *c) {
    switch (rung__call_tentative(c)) {
    case RUNG__TENTATIVE_OWN:
        return RUNG_SLICE(" HTTP/1.1\r\nRung-Tentative: own\r\n");
    case RUNG__TENTATIVE_ALL:
        return RUNG_SLICE(" HTTP/1.1\r\nRung-Tentative: all\r\n");
    default:
        return RUNG_SLICE(" HTTP/1.1\r\n");
    }
}

/* ---- the answer ---- */

static void tell_progress(past_call *p) {
    char members[64];
    int len = snprintf(members, sizeof members, "\"progress\":{\"percent\":%u}",
                       (unsigned)p->question.percent);
    rung__call_fail_more(p->call, &p->question.err, rung_slice_of(members, (size_t)len));
}

static void done(rung_past_question *q) {
    past_call *p = (past_call *)q;
    rung_call *c = p->call;
    const rung_alloc *alloc = c->api->config.alloc; /* the call is gone once it is answered */
    if (!rung__call_may_still(c))
        ; /* it is answered */
    else if (q->status == RUNG_OK)
        rung_exchange_answer(c->x, q->answer.status,
                             q->answer.status < 400 ? RUNG_TYPE_JSON : RUNG_TYPE_PROBLEM,
                             q->answer.bytes);
    else if (q->err.reason == RUNG_REASON_BUILDING)
        tell_progress(p);
    else
        rung__call_fail(c, q->status, &q->err);
    rung_alloc_free(alloc, p, p->size);
}

static rung_status check(rung_call *c, const rung_moment *moment, rung_err *err) {
    if (!c->api->past)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "as_of",
                               "this server has no data folder, shows the past itself, or has "
                               "as_of.processes = 0");
    return rung_as_of_check(c->api->service.hub, moment, err);
}

/* Of a question about movers. */
static rung_status take_since(const rung_call *c, rung_moment *moment, rung_err *err) {
    const rung_arg *since = rung__call_find(c, "since");
    return since ? rung_since_parse(since->text, &moment->since_ms, err) : RUNG_OK;
}

static void ask_at(rung_call *c, const rung_moment *moment) {
    const rung_alloc *alloc = c->api->config.alloc;
    rung_slice query = rung_exchange_request(c->x)->query;
    rung_err err = {0};
    rung_status st = check(c, moment, &err);
    if (st < 0) {
        rung__call_fail(c, st, &err);
        return;
    }
    rung_slice tail = tail_of(c);
    size_t size = sizeof(past_call) + path_room(c) + 1 + query.len + tail.len;
    past_call *p = rung_alloc_zeroed(alloc, size);
    if (!p) {
        rung__call_fail(c, RUNG_ENOMEM, NULL);
        return;
    }
    p->call = c;
    p->size = size;
    put_path(p, c);
    put_text(p, "?", 1);
    put_text(p, query.ptr, query.len);
    put_text(p, tail.ptr, tail.len);
    p->question = (rung_past_question){.moment = *moment,
                                       .protocol = RUNG_PAST_HTTP,
                                       .request = rung_slice_of(p->target, p->len),
                                       .share = rung__call_share(c),
                                       .done = done};
    st = rung_as_of_put(c->api->past, &p->question, &err);
    if (st == RUNG_OK)
        return;
    rung_alloc_free(alloc, p, size);
    rung__call_fail(c, st, &err);
}

void rung__past_ask(rung_call *c, rung_slice as_of) {
    rung_moment moment;
    rung_err err = {0};
    rung_status st = rung_moment_parse(as_of, &moment, &err);
    if (st == RUNG_OK)
        st = take_since(c, &moment, &err);
    if (st < 0) {
        rung__call_malformed(c, st, &err);
        return;
    }
    ask_at(c, &moment);
}

void rung__past_ask_since(rung_call *c, rung_slice since) {
    rung_moment moment = {0};
    rung_err err = {0};
    rung_status st = rung_since_parse(since, &moment.since_ms, &err);
    if (st < 0) {
        rung__call_malformed(c, st, &err);
        return;
    }
    moment.time_ms = rung_movers_moment(moment.since_ms, rung_hub_now(c->api->service.hub));
    ask_at(c, &moment);
}
