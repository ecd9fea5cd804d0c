/* SPDX-License-Identifier: Apache-2.0 */
/* What the connections share, and the task and the timer that serve stalled and blocked sessions. The timer runs only
 * while there are any. */
#include "front/resp/server.h"

enum { TICK_MS = 10, OUT_MAX = 64 << 20 };

/* ---- stalled and blocked sessions ---- */

/* Each session that is stalled now gets one try: one that stalls again goes to the end. */
static bool resume_stalled(rung_resp *r) {
    const rung__resp_session *last = r->stalled.last;
    bool is_last = !last;
    for (rung__resp_session *s = r->stalled.first, *next; !is_last; s = next) {
        is_last = s == last;
        next = s->stalled.next;
        if (rung__resp_is_tired(r))
            break;
        if (rung_commit_room(rung_hub_commit(r->hub), rung__resp_sender(s, true)))
            rung__resp_session_enter(s, RUNG__SESSION_READING);
    }
    return r->stalled.first != NULL;
}

static void on_timer(void *ctx) {
    rung_resp *r = ctx;
    bool is_needed = resume_stalled(r);
    is_needed |= rung__resp_blocked_due(r, rung_hub_now(r->hub));
    is_needed |= rung__resp_positions_due(r);
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
    if (r->stalled.first && resume_stalled(r) && rung__resp_is_tired(r))
        rung_turn_hurry(&r->loop->turn);
    if (r->waiters.all.first &&
        (r->waiters.touched.first || r->waiters.generation != rung_access_generation(r->access) ||
         rung_hub_divergence(r->hub)))
        rung__resp_blocked_look(r);
}

static void after_answers(void *ctx) {
    rung__resp_gather_end(ctx);
}

/* ---- life ---- */

static void fill_defaults(rung_resp_config *c) {
#define OR(field, value) c->field = c->field ? c->field : (value)
    OR(args_max, 1 << 20);
    OR(bulk_max, 1 << 20);
    OR(command_max, RUNG__COMMAND_MAX);
    OR(pending_max, 4096);
    OR(pending_bytes_max, 256 << 10);
    OR(blocked_max, 4096);
    OR(auth_ms, 10000);
    OR(command_ms, 10000);
    OR(idle_ms, 75000);
    OR(work_max, 1000000);
    OR(wait_ms, 5000);
    OR(version, "");
#undef OR
    if (c->command_max > RUNG__COMMAND_MAX)
        c->command_max = RUNG__COMMAND_MAX;
}

static void free_memory(rung_resp *r) {
    const rung_alloc *a = r->config.alloc;
    rung__resp_requests_free(r);
    rung__resp_waiters_free(r);
    rung_resp_args_deinit(&r->args);
    rung_buffer_deinit(&r->out.buffer);
    rung_buffer_deinit(&r->unpacked);
    rung_buffer_deinit(&r->items);
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
    r->config = *config;
    fill_defaults(&r->config);
    r->loop = rung_net_loop(config->net);
    r->hub = config->hub;
    r->access = config->access;
    r->service = (rung_service){
        .access = config->access, .hub = config->hub, .asker = config->asker, .alloc = a};
    r->args.alloc = r->out.alloc = r->unpacked.alloc = r->items.alloc = a;
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
    r->positions.clients.max = RUNG__POSITIONS_MAX;
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
