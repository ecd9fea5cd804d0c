/* SPDX-License-Identifier: Apache-2.0 */
/* net.c - the loop's side: listeners, the end of a turn, the wheel of deadlines, stop.
 *
 * The turn: libuv runs timers, then prepare, then waits and calls readers, checks and closers. The net works in
 * prepare: all that was written since the last wait, by whomever, is sent there, just before the loop waits
 * again.
 *
 * The wheel: one timer for all connections. A connection stands in the slot of its earliest deadline, or of an
 * earlier one: moving a deadline back (every request does) leaves it where it is, and it finds its new place
 * when the wheel comes to it. So a deadline costs a store in the usual case.
 *
 * 1. wheel_tick is the step at which a connection will be visited, never later than its earliest deadline's
 *    step, and at most RUNG__WHEEL_SLOTS - 1 steps away; 0 when it is in no slot.
 * 2. The wheel's timer runs as long as there are connections. */
#include "front/net/net.h"

#include "base/assert.h"
#include "front/net/conn.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024

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

static void wheel_remove(rung_conn *c) {
    if (!c->wheel_tick)
        return;
    if (c->wheel_prev)
        c->wheel_prev->wheel_next = c->wheel_next;
    else
        c->net->wheel[c->wheel_tick % RUNG__WHEEL_SLOTS] = c->wheel_next;
    if (c->wheel_next)
        c->wheel_next->wheel_prev = c->wheel_prev;
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
    wheel_remove(c);
    rung_conn **slot = &n->wheel[tick % RUNG__WHEEL_SLOTS];
    c->wheel_tick = tick;
    c->wheel_prev = NULL;
    c->wheel_next = *slot;
    if (*slot)
        (*slot)->wheel_prev = c;
    *slot = c;
}

void rung__net_unschedule(rung_conn *c) {
    wheel_remove(c);
}

static void on_wheel(uv_timer_t *timer) {
    rung_net *n = timer->data;
    uint64_t now = uv_now(n->config.loop) / RUNG__WHEEL_STEP_MS;
    while (n->tick < now) {
        n->tick++;
        rung_conn **slot = &n->wheel[n->tick % RUNG__WHEEL_SLOTS];
        while (*slot) { /* whoever stays is put into a later slot, so this one becomes empty */
            rung_conn *c = *slot;
            wheel_remove(c);
            rung__conn_expire(c);
        }
    }
}

/* After a pause without connections the wheel has nothing to catch up with. */
static void wheel_start(rung_net *n) {
    if (n->is_wheel_turning)
        return;
    n->is_wheel_turning = true;
    n->tick = uv_now(n->config.loop) / RUNG__WHEEL_STEP_MS;
    uv_timer_start(&n->wheel_timer, on_wheel, RUNG__WHEEL_STEP_MS, RUNG__WHEEL_STEP_MS);
}

/* ---- the turn ---- */

void rung_net_flush(rung_net *n) {
    while (n->turn_first) {
        rung_conn *c = n->turn_first;
        rung__conn_leave_turn(c);
        rung__conn_turn(c);
    }
}

static void on_prepare(uv_prepare_t *prepare) {
    rung_net *n = prepare->data;
    rung_net_flush(n);
    n->has_shed = false;
}

/* ---- birth and death ---- */

static void on_own_handle_closed(uv_handle_t *handle) {
    rung_net *n = handle->data;
    n->handles_open--;
    if (!n->handles_open && n->stopped)
        n->stopped(n->stopped_ctx);
}

static void close_own_handles(rung_net *n) {
    uv_close((uv_handle_t *)&n->prepare, on_own_handle_closed);
    uv_close((uv_handle_t *)&n->wheel_timer, on_own_handle_closed);
    uv_close((uv_handle_t *)&n->stop_timer, on_own_handle_closed);
}

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
    rung_net *n = rung_alloc_zeroed(config->alloc, sizeof *n);
    if (!n)
        return RUNG_FAIL(err, RUNG_ENOMEM, "net: out of memory");
    n->spare = rung_alloc_zeroed(config->alloc, sizeof *n->spare);
    if (!n->spare) {
        rung_alloc_free(config->alloc, n, sizeof *n);
        return RUNG_FAIL(err, RUNG_ENOMEM, "net: out of memory");
    }
    signal(SIGPIPE, SIG_IGN); /* libuv writes with writev, which has no flag for that */
    n->config = *config;
    n->pool.alloc = config->alloc;
    n->stats.memory = sizeof *n + sizeof *n->spare;
    fill_defaults(&n->config);
    uv_prepare_init(config->loop, &n->prepare);
    uv_timer_init(config->loop, &n->wheel_timer);
    uv_timer_init(config->loop, &n->stop_timer);
    n->prepare.data = n->wheel_timer.data = n->stop_timer.data = n;
    n->handles_open = 3;
    uv_prepare_start(&n->prepare, on_prepare);
    uv_unref((uv_handle_t *)&n->prepare);
    uv_unref((uv_handle_t *)&n->wheel_timer);
    *net_out = n;
    return RUNG_OK;
}

void rung_net_destroy(rung_net *n) {
    if (!n)
        return;
    RUNG_ASSERT(!n->conns && !n->listeners);
    if (n->handles_open && !n->is_stopping)
        close_own_handles(n);
    while (n->handles_open)
        uv_run(n->config.loop, UV_RUN_NOWAIT);
    while (n->idle_structs) {
        rung_conn *next = n->idle_structs->next;
        rung_alloc_free(n->config.alloc, n->idle_structs, sizeof *n->idle_structs);
        n->idle_structs = next;
    }
    rung_alloc_free(n->config.alloc, n->spare, sizeof *n->spare);
    rung__net_pool_deinit(&n->pool);
    rung__peers_deinit(&n->peers, n->config.alloc);
    rung_alloc_free(n->config.alloc, n, sizeof *n);
}

/* ---- listeners ---- */

static void on_connection(uv_stream_t *stream, int status) {
    rung__listener *l = stream->data;
    if (status != 0)
        return;
    wheel_start(l->net);
    rung__conn_accept(l);
}

static rung_status fail_uv(rung_err *err, const rung_address *a, int e) {
    char text[RUNG_ADDRESS_TEXT_MAX];
    rung_address_text(a, text);
    rung_status st = e == UV_EADDRINUSE                              ? RUNG_EBUSY
                     : e == UV_ENOMEM                                ? RUNG_ENOMEM
                     : e == UV_EADDRNOTAVAIL || e == UV_EAFNOSUPPORT ? RUNG_EINVAL
                                                                     : RUNG_EIO;
    return RUNG_FAIL_OS(err, st, -e, "listen on %s: %s", text, uv_strerror(e));
}

/* A socket file whose process is dead would be in the way for ever. RUNG_EBUSY when somebody answers there. */
static rung_status remove_stale(const rung_address *a, rung_err *err) {
    struct stat st;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (lstat(a->path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return RUNG_OK; /* something else there is not ours to remove: bind will say so */
    memcpy(to.sun_path, a->path, sizeof to.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail_uv(err, a, uv_translate_sys_error(errno));
    int e = connect(fd, (struct sockaddr *)&to, sizeof to) == 0 ? 0 : errno;
    close(fd);
    if (e != ECONNREFUSED)
        return fail_uv(err, a, UV_EADDRINUSE);
    if (unlink(a->path) != 0)
        return fail_uv(err, a, uv_translate_sys_error(errno));
    return RUNG_OK;
}

static int bind_tcp(rung__listener *l, const rung_address *a) {
    int e = uv_tcp_bind(&l->tcp, &a->any, 0);
    if (e != UV_EAFNOSUPPORT || a->any.sa_family != AF_INET6 ||
        !IN6_IS_ADDR_UNSPECIFIED(&a->ip6.sin6_addr))
        return e;
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = a->ip6.sin6_port};
    return uv_tcp_bind(&l->tcp, (struct sockaddr *)&any, 0); /* "*" on a machine without IPv6 */
}

static void on_listener_closed(uv_handle_t *handle) {
    rung__listener *l = handle->data, **at = &l->net->listeners;
    rung_net *n = l->net;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    rung_alloc_free(n->config.alloc, l, sizeof *l);
    rung__net_closed(n);
}

static void bound_address(rung__listener *l, const rung_address *asked, rung_address *out) {
    struct sockaddr_storage raw = {0};
    int len = sizeof raw;
    *out = *asked;
    if (asked->is_unix || uv_tcp_getsockname(&l->tcp, (struct sockaddr *)&raw, &len) != 0)
        return;
    memcpy(&out->ip6, &raw, sizeof out->ip6);
}

rung_status rung_net_listen(rung_net *n, const rung_address *address, const rung_protocol *protocol,
                            void *ctx, rung_tls *tls, rung_address *bound_out, rung_err *err) {
    RUNG_ASSERT(!n->is_stopping);
    if (address->is_unix) {
        rung_status st = remove_stale(address, err);
        if (st < 0)
            return st;
    }
    rung__listener *l = rung_alloc_zeroed(n->config.alloc, sizeof *l);
    if (!l)
        return RUNG_FAIL(err, RUNG_ENOMEM, "listen: out of memory");
    l->net = n;
    l->protocol = protocol;
    l->ctx = ctx;
    l->tls = tls;
    l->is_unix = address->is_unix;
    int e = l->is_unix ? uv_pipe_init(n->config.loop, &l->pipe, 0)
                       : uv_tcp_init(n->config.loop, &l->tcp);
    RUNG_ASSERT(e == 0); /* neither makes a socket yet */
    l->handle.data = l;
    l->next = n->listeners;
    n->listeners = l;
    e = l->is_unix ? uv_pipe_bind(&l->pipe, address->path) : bind_tcp(l, address);
    if (e == 0)
        e = uv_listen(&l->stream, BACKLOG, on_connection);
    if (e != 0) {
        const rung__listener *before = l->next;
        uv_close(&l->handle, on_listener_closed);
        while (n->listeners != before)
            uv_run(n->config.loop, UV_RUN_NOWAIT);
        return fail_uv(err, address, e);
    }
    if (bound_out)
        bound_address(l, address, bound_out);
    return RUNG_OK;
}

/* ---- stop ---- */

void rung__net_closed(rung_net *n) {
    for (rung__listener *l = n->listeners; l && !n->is_stopping; l = l->next)
        if (l->is_waiting)
            rung__conn_accept(l);
    if (!n->conns && n->is_wheel_turning) {
        n->is_wheel_turning = false;
        uv_timer_stop(&n->wheel_timer);
    }
    if (n->is_stopping && !n->conns && !n->listeners && uv_is_active((uv_handle_t *)&n->stop_timer))
        close_own_handles(n);
}

static void on_stop_deadline(uv_timer_t *timer) {
    rung_net *n = timer->data;
    for (rung_conn *c = n->conns; c; c = c->next)
        rung_conn_abort(c);
    rung__net_closed(n);
}

void rung_net_stop(rung_net *n, uint32_t deadline_ms, void (*stopped)(void *ctx), void *ctx) {
    RUNG_ASSERT(!n->is_stopping);
    n->is_stopping = true;
    n->stopped = stopped;
    n->stopped_ctx = ctx;
    /* Repeating, so that it stays active until all is closed. */
    uv_timer_start(&n->stop_timer, on_stop_deadline, deadline_ms, 1000);
    for (rung__listener *l = n->listeners; l; l = l->next)
        uv_close(&l->handle, on_listener_closed);
    for (rung_conn *c = n->conns; c; c = c->next)
        rung__conn_stop(c);
    if (!n->listeners && !n->conns)
        uv_timer_start(&n->stop_timer, on_stop_deadline, 0, 1000);
}

/* ---- what is known ---- */

rung_net_stats rung_net_stat(const rung_net *n) {
    rung_net_stats s = n->stats;
    s.memory += n->pool.memory;
    s.held = n->held + n->pool.stuck;
    return s;
}

uv_loop_t *rung_net_loop(const rung_net *n) {
    return n->config.loop;
}
