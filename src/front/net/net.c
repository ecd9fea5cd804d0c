/* SPDX-License-Identifier: Apache-2.0 */
/* net.c - the loop's side: listeners, sending at the end of a turn, the timer wheel, stop.
 *
 * One wheel serves all connections. A connection is in the slot of its earliest deadline, or in an earlier one:
 * postponing a deadline (every request does) leaves it there, and it moves when the wheel reaches it. So setting a
 * deadline usually costs one store.
 *
 * 1. wheel_tick is the step at which a connection will be visited, never later than the step of its earliest deadline,
 *    and at most RUNG__WHEEL_SLOTS - 1 steps away; 0 when it is in no slot.
 * 2. The wheel's timer runs as long as there are connections. */
#include "front/net/net.h"

#include "base/assert.h"
#include "front/net/conn.h"

/* ---- the wheel ---- */

static uint64_t earliest(const rung_conn *c) {
    uint64_t first = UINT64_MAX;
    if (c->deadline_ms && c->deadline_ms < first)
        first = c->deadline_ms;
    if (c->write_ms && c->write_ms < first)
        first = c->write_ms;
    if (c->own_ms && c->own_ms < first)
        first = c->own_ms;
    return first;
}

void rung__net_unschedule(rung_conn *c) {
    if (!c->wheel_tick)
        return;
    RUNG_LIST_REMOVE(&c->net->wheel[c->wheel_tick % RUNG__WHEEL_SLOTS], c, wheel);
    c->wheel_tick = 0;
}

void rung__net_schedule(rung_conn *c) {
    rung_net *n = c->net;
    uint64_t due = earliest(c);
    if (due == UINT64_MAX)
        return;
    uint64_t tick = due / RUNG__WHEEL_STEP_MS + 1;
    if (tick <= n->tick)
        tick = n->tick + 1;
    if (tick >= n->tick + RUNG__WHEEL_SLOTS)
        tick = n->tick + RUNG__WHEEL_SLOTS - 1;
    if (c->wheel_tick && c->wheel_tick <= tick)
        return;
    rung__net_unschedule(c);
    c->wheel_tick = tick;
    RUNG_LIST_PREPEND(&n->wheel[tick % RUNG__WHEEL_SLOTS], c, wheel);
}

static void on_wheel(void *ctx) {
    rung_net *n = ctx;
    uint64_t now = rung__net_now_ms(n) / RUNG__WHEEL_STEP_MS;
    while (n->tick < now) {
        n->tick++;
        rung_conn *c;
        /* Those that stay go to a later slot, so this one becomes empty. */
        while ((c = n->wheel[n->tick % RUNG__WHEEL_SLOTS].first)) {
            rung__net_unschedule(c);
            rung__conn_expire(c);
        }
    }
}

/* After a time without connections the wheel has nothing to catch up on. */
static void wheel_start(rung_net *n) {
    if (n->wheel_timer.is_running)
        return;
    n->tick = rung__net_now_ms(n) / RUNG__WHEEL_STEP_MS;
    rung_timer_start(n->config.loop, &n->wheel_timer, RUNG__WHEEL_STEP_MS, RUNG__WHEEL_STEP_MS);
}

/* ---- the turn ---- */

void rung__net_send(void *net) {
    rung_net *n = net;
    rung_conn *c;
    while ((c = n->turn.first)) {
        rung__conn_leave_turn(c);
        rung__conn_turn(c);
    }
}

/* ---- birth and death ---- */

static void on_stop_time(void *ctx);

static void fill_defaults(rung_net_config *c) {
#define OR(field, value) c->field = c->field ? c->field : (value)
    OR(connections_max, 16384);
    OR(output_high, 256u << 10);
    OR(output_low, c->output_high / 4);
    OR(output_max, 64u << 20);
    OR(held_max, (size_t)48 << 20);
    OR(write_timeout_ms, 30000);
    OR(linger_ms, 2000);
    OR(handshake_ms, 10000);
#undef OR
    if (c->connections_reserved > c->connections_max / 4)
        c->connections_reserved = c->connections_max / 4;
}

rung_status rung_net_create(const rung_net_config *config, rung_net **net_out, rung_err *err) {
    size_t conn_size = sizeof(rung_conn) + config->loop->ops->stream_size;
    rung_net *n = rung_alloc_zeroed(config->alloc, sizeof *n);
    if (!n)
        return RUNG_FAIL(err, RUNG_ENOMEM, "net: out of memory");
    n->spare = rung_alloc_zeroed(config->alloc, conn_size);
    if (!n->spare) {
        rung_alloc_free(config->alloc, n, sizeof *n);
        return RUNG_FAIL(err, RUNG_ENOMEM, "net: out of memory");
    }
    n->config = *config;
    n->conn_size = conn_size;
    n->pool.alloc = config->alloc;
    n->stats.memory = sizeof *n + conn_size;
    fill_defaults(&n->config);
    if (rung_loop_random(config->loop, &n->peers.hash, sizeof n->peers.hash) < 0)
        n->peers.hash.k0 = rung_loop_clock_ns(config->loop);
    n->send = (rung_task){.run = rung__net_send, .ctx = n};
    n->wheel_timer = (rung_timer){.call = on_wheel, .ctx = n};
    n->stop_timer = (rung_timer){.call = on_stop_time, .ctx = n};
    rung_turn_add(&config->loop->turn, RUNG_PHASE_SEND, &n->send);
    *net_out = n;
    return RUNG_OK;
}

void rung_net_destroy(rung_net *n) {
    if (!n)
        return;
    RUNG_ASSERT(!n->all.first && !n->listeners);
    rung_turn_remove(&n->config.loop->turn, &n->send);
    rung_timer_stop(n->config.loop, &n->wheel_timer);
    rung_timer_stop(n->config.loop, &n->stop_timer);
    while (n->idle_structs) {
        rung_conn *next = n->idle_structs->all.next;
        rung_alloc_free(n->config.alloc, n->idle_structs, n->conn_size);
        n->idle_structs = next;
    }
    rung_alloc_free(n->config.alloc, n->spare, n->conn_size);
    rung__net_pool_deinit(&n->pool);
    rung__peers_deinit(&n->peers, n->config.alloc);
    rung_alloc_free(n->config.alloc, n, sizeof *n);
}

/* ---- listeners ---- */

static void on_arrived(void *ctx, rung_listener *from) {
    rung__listener *l = ctx;
    (void)from;
    wheel_start(l->net);
    rung__conn_accept(l);
}

rung_status rung_net_listen(rung_net *n, const rung_address *address, const rung_protocol *protocol,
                            void *ctx, rung_tls *tls, rung_address *bound_out, rung_err *err) {
    RUNG_ASSERT(!n->is_stopping);
    rung_address bound;
    rung__listener *l = rung_alloc_zeroed(n->config.alloc, sizeof *l);
    if (!l)
        return RUNG_FAIL(err, RUNG_ENOMEM, "listen: out of memory");
    *l = (rung__listener){
        .net = n, .protocol = protocol, .ctx = ctx, .tls = tls, .next = n->listeners};
    rung_status st =
        rung_loop_listen(n->config.loop, address, on_arrived, l, &l->from, &bound, err);
    if (st < 0) {
        rung_alloc_free(n->config.alloc, l, sizeof *l);
        return st;
    }
    n->listeners = l;
    if (bound_out)
        *bound_out = bound;
    return RUNG_OK;
}

static void close_listeners(rung_net *n) {
    while (n->listeners) {
        rung__listener *l = n->listeners;
        n->listeners = l->next;
        rung_loop_unlisten(n->config.loop, l->from);
        rung_alloc_free(n->config.alloc, l, sizeof *l);
    }
}

/* ---- stop ---- */

void rung__net_closed(rung_net *n) {
    for (rung__listener *l = n->listeners; l; l = l->next)
        if (l->is_waiting)
            rung__conn_accept(l);
    if (n->all.first)
        return;
    rung_timer_stop(n->config.loop, &n->wheel_timer);
    if (!n->is_stopping || !n->stop_timer.is_running)
        return;
    rung_timer_stop(n->config.loop, &n->stop_timer);
    if (n->stopped)
        n->stopped(n->stopped_ctx);
}

static void on_stop_time(void *ctx) {
    rung_net *n = ctx;
    for (rung_conn *c = n->all.first; c; c = c->all.next)
        rung_conn_abort(c);
    rung__net_closed(n);
}

void rung_net_stop(rung_net *n, uint32_t deadline_ms, void (*stopped)(void *ctx), void *ctx) {
    RUNG_ASSERT(!n->is_stopping);
    n->is_stopping = true;
    n->stopped = stopped;
    n->stopped_ctx = ctx;
    close_listeners(n);
    for (rung_conn *c = n->all.first; c; c = c->all.next)
        rung__conn_stop(c);
    /* Repeating: it runs until all is closed. */
    rung_timer_start(n->config.loop, &n->stop_timer, n->all.first ? deadline_ms : 0, 1000);
}

/* ---- what is known ---- */

rung_net_stats rung_net_stat(const rung_net *n) {
    rung_net_stats s = n->stats;
    s.memory += n->pool.memory;
    s.held = n->held + n->pool.stuck;
    return s;
}

rung_loop *rung_net_loop(const rung_net *n) {
    return n->config.loop;
}
