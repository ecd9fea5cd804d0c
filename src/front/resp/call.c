/* SPDX-License-Identifier: Apache-2.0 */
/* Writing replies. Short answers of the hub gather as long as they are for one session; whoever writes next sends them
 * first. */
#include "front/resp/call.h"

#include "base/assert.h"
#include "front/resp/server.h"

#include <stdio.h>

enum { OUT_KEPT = 256 << 10 };

/* After a quarter of what one command may do, heavy ones wait for the next turn. */
enum { TIRED = 4 };

static rung__resp_call begin(rung__resp_session *s, int64_t now_ms) {
    rung_resp *r = s->r;
    rung__resp_gather_end(r);
    RUNG_ASSERT(r->out.len == 0);
    r->out.version = s->version;
    return (rung__resp_call){.r = r,
                             .s = s,
                             .out = &r->out,
                             .state = rung_hub_state(r->hub),
                             .now_ms = now_ms,
                             .may_spill = true};
}

rung__resp_call rung__resp_call_begin(rung__resp_session *s) {
    return begin(s, rung_hub_now(s->r->hub));
}

void rung__resp_call_end(rung__resp_call *call) {
    rung_resp *r = call->r;
    if (call->s->conn && r->out.is_failed)
        rung_conn_abort(call->s->conn);
    else
        rung__resp_flush(call);
    rung_buffer_reset(&r->out.buffer, OUT_KEPT);
}

rung__resp_call *rung__resp_gather_begin(rung__resp_session *s) {
    rung_resp *r = s->r;
    r->gathering = begin(s, 0);
    rung_commit_call_after(rung_hub_commit(r->hub), &r->after_answers);
    return &r->gathering;
}

void rung__resp_gather_end(rung_resp *r) {
    if (!r->gathering.s)
        return;
    rung__resp_call call = r->gathering;
    r->gathering.s = NULL;
    rung__resp_call_end(&call);
}

void rung__resp_flush(rung__resp_call *call) {
    const rung__resp_session *s = call->s;
    if (s->conn && !s->is_silent && call->out->len)
        rung_conn_write(s->conn, rung_slice_of(call->out->data, call->out->len));
    call->out->len = 0;
}

const rung_alloc *rung__resp_alloc(const rung__resp_call *call) {
    return call->r->config.alloc;
}

uint64_t rung__resp_random(rung_resp *r) {
    r->random += 0x9e3779b97f4a7c15u;
    return rung_hash_word(r->random);
}

/* ---- work ---- */

uint64_t rung__resp_work_max(const rung__resp_call *call) {
    return call->r->config.work_max;
}

bool rung__resp_is_tired(const rung_resp *r) {
    return r->turn_work >= r->config.work_max / TIRED;
}

void rung__resp_worked(rung_resp *r, uint64_t work) {
    r->turn_work += work;
    r->stats.work += work;
    if (rung__resp_is_tired(r))
        rung_commit_rest(rung_hub_commit(r->hub));
}

bool rung__resp_afford(rung__resp_call *call, uint64_t work) {
    uint64_t most = call->r->config.work_max, spent = call->spent ? *call->spent : 0;
    if (spent <= most && work <= most - spent) {
        if (call->spent)
            *call->spent += work;
        return true;
    }
    char text[160];
    int len =
        snprintf(text, sizeof text, "%llu members to look at%s, at most %llu (limits.work)",
                 (unsigned long long)work, spent ? " after others" : "", (unsigned long long)most);
    return rung__resp_error_of(call, "ERR too much work: ", rung_slice_of(text, (size_t)len), "");
}
