/* SPDX-License-Identifier: Apache-2.0 */
/* What the connections share: buffers for one command and its reply, the free list, the list of those who wait, and the
 * task and the timer that look after them. The timer runs only while somebody waits. */
#include "front/resp/server.h"

enum { TICK_MS = 10, OUT_MAX = 64 << 20 };

/* ---- those who wait ---- */

/* Each that was stalled when it began gets one try: who stalls again is behind all others. */
static bool resume_stalled(rung_resp *r) {
    const rung__resp_session *last = r->stalled_last;
    for (rung__resp_session *s = r->stalled_first, *next; s; s = next) {
        bool is_last = s == last;
        next = s->next_stalled;
        if (rung__resp_is_tired(r))
            break;
        if (rung_commit_room(rung_hub_commit(r->hub), rung__resp_sender(s, true))) {
            rung__resp_session_enter(s, RUNG__SESSION_READING);
        }
        if (is_last)
            break;
    }
    return r->stalled_first != NULL;
}

static void on_timer(void *ctx) {
    rung_resp *r = ctx;
    bool is_needed = resume_stalled(r);
    is_needed |= rung__resp_blocked_due(r, rung_hub_now(r->hub));
    if (!is_needed)
        rung_timer_stop(r->loop, &r->timer);
}

void rung__resp_timer_start(rung_resp *r) {
    if (!r->timer.is_running)
        rung_timer_start(r->loop, &r->timer, TICK_MS, TICK_MS);
}

/* Runs after the hub's part of the turn, which may have made room. Blocked clients are looked at when one of the keys
 * they wait for has changed, or their rights. */
static void answer(void *ctx) {
    rung_resp *r = ctx;
    if (r->turn_number != r->loop->turn.number)
        r->turn_work = 0;
    r->turn_number = r->loop->turn.number;
    if (r->stalled_first && resume_stalled(r) && rung__resp_is_tired(r))
        rung_turn_hurry(&r->loop->turn);
    if (r->waiters.first &&
        (r->waiters.touched_first || r->waiters.generation != rung_access_generation(r->access)))
        rung__resp_blocked_look(r);
}

static void after_answers(void *ctx) {
    rung__resp_gather_end(ctx);
}

/* ---- life ---- */

static rung_resp_config with_defaults(const rung_resp_config *config) {
    rung_resp_config c = *config;
    if (!c.args_max)
        c.args_max = 1 << 20;
    if (!c.bulk_max)
        c.bulk_max = 1 << 20;
    if (!c.command_max || c.command_max > RUNG__COMMAND_MAX)
        c.command_max = RUNG__COMMAND_MAX;
    if (!c.pending_max)
        c.pending_max = 4096;
    if (!c.pending_bytes_max)
        c.pending_bytes_max = 256 << 10;
    if (!c.blocked_max)
        c.blocked_max = 4096;
    if (!c.auth_ms)
        c.auth_ms = 10000;
    if (!c.command_ms)
        c.command_ms = 10000;
    if (!c.idle_ms)
        c.idle_ms = 75000;
    if (!c.work_max)
        c.work_max = 1000000;
    if (!c.version)
        c.version = "";
    return c;
}

static void free_memory(rung_resp *r) {
    const rung_alloc *a = r->config.alloc;
    rung__resp_requests_free(r);
    rung__resp_waiters_free(r);
    rung_resp_args_deinit(&r->args);
    rung_resp_writer_deinit(&r->out);
    rung_alloc_free(a, r->unpacked, r->unpacked_size * sizeof *r->unpacked);
    rung_alloc_free(a, r->items, r->items_size * sizeof *r->items);
    rung_alloc_free(a, r->pack, r->pack ? RUNG_ZCOMMANDS_BYTES_MAX : 0);
    rung_alloc_free(a, r->in_flight_by_key,
                    r->in_flight_by_key ? RUNG__IN_FLIGHT_SLOTS * sizeof *r->in_flight_by_key : 0);
    rung_alloc_free(a, r, sizeof *r);
}

rung_status rung_resp_create(const rung_resp_config *config, rung_resp **resp_out, rung_err *err) {
    const rung_alloc *a = config->alloc;
    rung_resp *r = rung_alloc_zeroed(a, sizeof *r);
    if (!r)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    r->config = with_defaults(config);
    r->loop = rung_net_loop(config->net);
    r->hub = config->hub;
    r->access = config->access;
    r->service = (rung_service){
        .access = config->access, .hub = config->hub, .asker = config->asker, .alloc = a};
    r->args.alloc = r->out.alloc = a;
    r->out.version = 2;
    r->out.limit = OUT_MAX;
    r->after_answers = (rung_hub_after){.call = after_answers, .ctx = r};
    r->pack = rung_alloc_get(a, RUNG_ZCOMMANDS_BYTES_MAX);
    r->in_flight_by_key = rung_alloc_zeroed(a, RUNG__IN_FLIGHT_SLOTS * sizeof *r->in_flight_by_key);
    if (!r->pack || !r->in_flight_by_key) {
        free_memory(r);
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    }
    if (rung_loop_random(r->loop, &r->random, sizeof r->random) < 0)
        r->random = rung_loop_clock_ns(r->loop);
    r->waiters.hash = (rung_hash_key){rung__resp_random(r), rung__resp_random(r)};
    r->waiters.clients.max = r->config.blocked_max;
    r->waiters.waits.max = RUNG__WAITS_MAX;
    rung_hub_observe(r->hub, rung__resp_applied, r);
    rung__resp_commands_index(&r->commands);
    r->started_ms = rung_hub_now(r->hub);
    r->timer = (rung_timer){.call = on_timer, .ctx = r};
    r->answer = (rung_task){.run = answer, .ctx = r, .is_in_every_turn = true};
    rung_turn_add(&r->loop->turn, RUNG_PHASE_ANSWER, &r->answer);
    *resp_out = r;
    return RUNG_OK;
}

void rung_resp_destroy(rung_resp *r) {
    if (!r)
        return;
    rung_turn_remove(&r->loop->turn, &r->answer);
    rung_timer_stop(r->loop, &r->timer);
    free_memory(r);
}

rung_resp_stats rung_resp_stat(const rung_resp *r) {
    return r->stats;
}
