/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/net.h"

#include "base/alloc.h"
#include "support/check.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes ---- */

void sim_bytes_add(sim_bytes *b, const void *bytes, size_t len) {
    if (b->len + len > b->size) {
        b->size = 2 * (b->len + len);
        b->data = realloc(b->data, b->size);
        CHECK(b->data != NULL);
    }
    if (len)
        memcpy(b->data + b->len, bytes, len);
    b->len += len;
}

void sim_bytes_drop(sim_bytes *b, size_t len) {
    b->len -= len;
    if (len)
        memmove(b->data, b->data + len, b->len);
}

/* ---- links ---- */

static void free_link(sim_link *l) {
    free(l->up.data);
    free(l->down.data);
    free(l->arrived.data);
    free(l);
}

void sim_net_deinit(sim_net *n) {
    while (n->links) {
        sim_link *next = n->links->next;
        free_link(n->links);
        n->links = next;
    }
}

sim_link *sim_net_connect(sim_net *n, uint16_t port, void *client) {
    sim_link *l = calloc(1, sizeof *l), **at = &n->links;
    CHECK(l != NULL);
    *l = (sim_link){.number = n->made++, .port = port, .client = client};
    l->window = rung_rng_below(n->rng, 4) ? 16384 : 64 + rung_rng_below(n->rng, 256);
    while (*at)
        at = &(*at)->next;
    *at = l;
    n->link_count++;
    return l;
}

void sim_net_send(sim_link *l, const void *bytes, size_t len) {
    if (!l->is_server_done && l->up_end == SIM_GOES_ON)
        sim_bytes_add(&l->up, bytes, len);
}

void sim_net_close(sim_link *l, bool with_reset) {
    l->client = NULL;
    l->down.len = 0;
    l->up_end = with_reset ? SIM_BREAKS : SIM_ENDS;
}

bool sim_link_has_up(const sim_link *l) {
    return !l->is_server_done && (l->up.len || (l->up_end && !l->arrived_end));
}

bool sim_link_has_down(const sim_link *l) {
    return l->client && (l->down.len || l->down_end);
}

void sim_net_deliver_up(sim_net *n, sim_link *l, size_t max) {
    size_t len = l->up.len < max ? l->up.len : max;
    sim_bytes_add(&l->arrived, l->up.data, len);
    sim_bytes_drop(&l->up, len);
    if (!l->up.len)
        l->arrived_end = l->up_end;
    sim_tell(n->trace, "link %u: %zu bytes arrive%s", l->number, len,
             l->arrived_end == SIM_BREAKS ? ", then it breaks"
             : l->arrived_end             ? ", then its end"
                                          : "");
}

void sim_net_deliver_down(sim_net *n, sim_link *l, size_t max) {
    char piece[4096];
    size_t len = l->down.len < max ? l->down.len : max;
    len = len < sizeof piece ? len : sizeof piece;
    if (len)
        memcpy(piece, l->down.data, len);
    sim_bytes_drop(&l->down, len);
    sim_end end = l->down.len ? SIM_GOES_ON : l->down_end;
    sim_tell(n->trace, "link %u: client hears %zu bytes%s", l->number, len,
             end == SIM_BREAKS ? ", then it breaks"
             : end             ? ", then its end"
                               : "");
    if (len)
        n->got(l->client, piece, len);
    if (end && l->client) {
        void *client = l->client;
        sim_net_close(l, false);
        n->ended(client, end == SIM_BREAKS);
    }
}

void sim_net_cut(sim_net *n, sim_link *l) {
    sim_tell(n->trace, "link %u is cut", l->number);
    l->up.len = l->down.len = 0;
    l->up_end = l->down_end = SIM_BREAKS;
}

void sim_net_server_died(sim_net *n) {
    for (sim_link *l = n->links; l; l = l->next) {
        if (!l->is_server_done) {
            if (rung_rng_below(n->rng, 2))
                l->down.len = rung_rng_below(n->rng, l->down.len + 1);
            l->down_end = SIM_BREAKS;
        }
        l->is_server_done = true;
        l->stream = NULL;
        l->up.len = l->arrived.len = 0;
    }
}

void sim_net_sweep(sim_net *n) {
    sim_link **at = &n->links;
    while (*at) {
        sim_link *l = *at;
        if (l->client || !l->is_server_done) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        n->link_count--;
        free_link(l);
    }
}

/* ---- the loop ---- */

typedef struct sim_stream {
    rung_stream base;
    sim_link *link;
    bool is_reading, is_end_told, is_closing, is_writing, is_shut;
    struct iovec parts[4];
    uint32_t part_count;
    struct sim_stream *next;
} sim_stream;

struct rung_listener {
    sim_loop *loop;
    uint16_t port;
    void (*arrived)(void *ctx, rung_listener *from);
    void *ctx;
    sim_link *waiting; /* was told, and not accepted yet */
};

typedef struct sim_work {
    rung_work *work;
    sim_loop *loop;
    bool is_done;
    struct sim_work *next;
} sim_work;

struct sim_loop {
    rung_loop base;
    sim_net *net;
    sim_process *process;
    const rung_alloc *alloc;
    const int64_t *monotonic_us, *wall_ms;
    uint64_t alarm_ms;
    bool is_woken, is_stopped;
    rung_listener *listeners[2];
    sim_stream *streams;
    sim_work *works;
};

static sim_loop *loop_of(rung_loop *l) {
    return (sim_loop *)l;
}

static sim_stream *stream_of(const rung_stream *s) {
    return (sim_stream *)(uintptr_t)s;
}

static uint64_t clock_ns(rung_loop *l) {
    return (uint64_t)*loop_of(l)->monotonic_us * 1000;
}

static int64_t wall_ms(rung_loop *l) {
    return *loop_of(l)->wall_ms;
}

static rung_status get_random(rung_loop *l, void *to, size_t len) {
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)to)[i] = (uint8_t)rung_rng_next(loop_of(l)->net->rng);
    return RUNG_OK;
}

static void set_alarm(rung_loop *l, uint64_t due_ms) {
    loop_of(l)->alarm_ms = due_ms;
}

static void wake(rung_loop *l) {
    loop_of(l)->is_woken = true;
}

static void stop(rung_loop *l) {
    loop_of(l)->is_stopped = true;
}

/* ---- work ---- */

static void run_work(void *arg) {
    sim_work *w = arg;
    w->work->run(w->work);
    w->is_done = true;
    w->loop->is_woken = true;
}

static rung_status begin_work(rung_loop *base, rung_work *work) {
    sim_loop *l = loop_of(base);
    sim_work *w = rung_alloc_zeroed(l->alloc, sizeof *w);
    CHECK(w != NULL);
    *w = (sim_work){.work = work, .loop = l, .next = l->works};
    l->works = w;
    sim_process_start(l->process, "work", run_work, w);
    return RUNG_OK;
}

static void end_works(sim_loop *l) {
    sim_work **at = &l->works;
    while (*at) {
        sim_work *w = *at;
        if (!w->is_done) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        rung_work *work = w->work;
        rung_alloc_free(l->alloc, w, sizeof *w);
        work->done(work);
        at = &l->works; /* it may have begun another */
    }
}

/* ---- listeners ---- */

static rung_status begin_listen(rung_loop *base, const rung_address *address,
                                void (*arrived)(void *ctx, rung_listener *from), void *ctx,
                                rung_listener **out, rung_address *bound_out, rung_err *err) {
    sim_loop *l = loop_of(base);
    rung_listener *listener = rung_alloc_zeroed(l->alloc, sizeof *listener);
    (void)err;
    CHECK(listener != NULL);
    *listener = (rung_listener){
        .loop = l, .port = rung_address_port(address), .arrived = arrived, .ctx = ctx};
    uint32_t i = l->listeners[0] ? 1 : 0;
    CHECK(!l->listeners[i]);
    l->listeners[i] = listener;
    if (bound_out)
        *bound_out = *address;
    *out = listener;
    return RUNG_OK;
}

static void end_listen(rung_listener *listener) {
    sim_loop *l = listener->loop;
    for (int i = 0; i < 2; i++)
        if (l->listeners[i] == listener)
            l->listeners[i] = NULL;
    for (sim_link *k = l->net->links; k; k = k->next)
        if (k->port == listener->port && !k->stream && !k->is_server_done) {
            k->is_server_done = true;
            k->down_end = SIM_BREAKS;
        }
    rung_alloc_free(l->alloc, listener, sizeof *listener);
}

bool sim_loop_is_listening(const sim_loop *l, uint16_t port) {
    for (int i = 0; i < 2; i++)
        if (l->listeners[i] && l->listeners[i]->port == port)
            return true;
    return false;
}

static sim_link *find_arrival(const rung_listener *listener) {
    for (sim_link *k = listener->loop->net->links; k; k = k->next)
        if (k->port == listener->port && !k->has_arrived && !k->is_server_done)
            return k;
    return NULL;
}

static void announce(sim_loop *l) {
    for (int i = 0; i < 2; i++) {
        rung_listener *listener = l->listeners[i];
        sim_link *k = listener && !listener->waiting ? find_arrival(listener) : NULL;
        if (!k)
            continue;
        k->has_arrived = true;
        listener->waiting = k;
        listener->arrived(listener->ctx, listener);
    }
}

/* ---- streams ---- */

static int accept_stream(rung_listener *from, rung_stream *base) {
    sim_stream *s = stream_of(base);
    sim_link *k = from->waiting;
    rung_stream kept = *base;
    *s = (sim_stream){.base = kept, .link = k, .next = from->loop->streams};
    from->loop->streams = s;
    from->waiting = NULL;
    if (k)
        k->stream = s;
    return k ? 0 : -1;
}

static int read_start(rung_stream *s) {
    stream_of(s)->is_reading = true;
    return 0;
}

static void read_stop(rung_stream *s) {
    stream_of(s)->is_reading = false;
}

static bool is_broken(const sim_stream *s) {
    return !s->link || s->link->down_end == SIM_BREAKS || s->link->arrived_end == SIM_BREAKS;
}

/* Into the pipe; a client that has closed its end throws it away. */
static size_t put_down(sim_link *k, const char *bytes, size_t len) {
    size_t room = k->window > k->down.len ? k->window - k->down.len : 0;
    len = len < room ? len : room;
    if (k->client)
        sim_bytes_add(&k->down, bytes, len);
    return len;
}

static ssize_t try_write(rung_stream *base, const struct iovec *parts, uint32_t count) {
    sim_stream *s = stream_of(base);
    size_t sum = 0;
    CHECK(!s->is_writing && !s->is_shut);
    if (is_broken(s))
        return RUNG_STREAM_BROKEN;
    for (uint32_t i = 0; i < count; i++) {
        size_t n = put_down(s->link, parts[i].iov_base, parts[i].iov_len);
        sum += n;
        if (n < parts[i].iov_len)
            break;
    }
    return sum ? (ssize_t)sum : RUNG_STREAM_AGAIN;
}

static int write_stream(rung_stream *base, const struct iovec *parts, uint32_t count) {
    sim_stream *s = stream_of(base);
    CHECK(!s->is_writing && !s->is_shut && count <= 4);
    if (is_broken(s))
        return -1;
    s->is_writing = true;
    s->part_count = count;
    memcpy(s->parts, parts, count * sizeof *parts);
    return 0;
}

static size_t unwritten(const rung_stream *base) {
    const sim_stream *s = stream_of(base);
    size_t sum = 0;
    for (uint32_t i = 0; s->is_writing && i < s->part_count; i++)
        sum += s->parts[i].iov_len;
    return sum;
}

static int shutdown_stream(rung_stream *base) {
    sim_stream *s = stream_of(base);
    if (is_broken(s))
        return -1;
    s->is_shut = true;
    if (!s->is_writing)
        s->link->down_end = SIM_ENDS;
    return 0;
}

static void close_stream(rung_stream *base, bool with_reset) {
    sim_stream *s = stream_of(base);
    CHECK(!s->is_closing);
    s->is_closing = true;
    s->is_reading = false;
    if (!s->link)
        return;
    if (s->link->down_end != SIM_BREAKS)
        s->link->down_end = with_reset ? SIM_BREAKS : SIM_ENDS;
    if (with_reset)
        s->link->down.len = 0;
}

static int peer(const rung_stream *s, struct sockaddr_storage *out) {
    struct sockaddr_in *in = (struct sockaddr_in *)out;
    if (!stream_of(s)->link)
        return -1;
    *in = (struct sockaddr_in){.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)(20000 + stream_of(s)->link->number)),
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return 0;
}

/* ---- what the sockets have to tell in one turn ---- */

static void go_on_writing(sim_stream *s) {
    while (s->part_count) {
        size_t n = put_down(s->link, s->parts[0].iov_base, s->parts[0].iov_len);
        s->parts[0].iov_base = (char *)s->parts[0].iov_base + n;
        s->parts[0].iov_len -= n;
        if (s->parts[0].iov_len)
            return;
        s->part_count--;
        memmove(s->parts, s->parts + 1, s->part_count * sizeof *s->parts);
    }
    s->is_writing = false;
    if (s->is_shut)
        s->link->down_end = SIM_ENDS;
    s->base.events->written(&s->base, true);
}

static bool can_read(const sim_stream *s) {
    return s->is_reading && s->link && !s->is_end_told &&
           (s->link->arrived.len || s->link->arrived_end || s->link->down_end == SIM_BREAKS);
}

static bool can_write(const sim_stream *s) {
    return s->is_writing && (is_broken(s) || s->link->down.len < s->link->window);
}

static void read_some(sim_stream *s) {
    sim_link *k = s->link;
    if (k->arrived.len && k->arrived_end != SIM_BREAKS) {
        struct iovec room = s->base.events->room(&s->base);
        size_t n = k->arrived.len < room.iov_len ? k->arrived.len : room.iov_len;
        if (n) {
            memcpy(room.iov_base, k->arrived.data, n);
            sim_bytes_drop(&k->arrived, n);
            s->base.events->got(&s->base, room.iov_base, (ssize_t)n);
            return;
        }
    }
    s->is_end_told = true;
    bool is_end = k->arrived_end == SIM_ENDS && k->down_end != SIM_BREAKS && !k->arrived.len;
    s->base.events->got(&s->base, NULL, is_end ? RUNG_STREAM_END : RUNG_STREAM_BROKEN);
}

static void end_write(sim_stream *s, bool is_ok) {
    s->is_writing = false;
    s->base.events->written(&s->base, is_ok);
}

static void finish_close(sim_loop *l, sim_stream *s) {
    sim_stream **at = &l->streams;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    if (s->link) {
        s->link->stream = NULL;
        s->link->is_server_done = true;
        s->link->arrived.len = s->link->up.len = 0;
    }
    if (s->is_writing)
        end_write(s, false);
    s->base.events->closed(&s->base);
}

/* One piece of news; false: there is none. A callback may close any stream, so the list is looked at anew. */
static bool serve_one(sim_loop *l, sim_stream *s) {
    if (s->is_closing) {
        finish_close(l, s);
        return true;
    }
    if (can_write(s)) {
        if (is_broken(s))
            end_write(s, false);
        else
            go_on_writing(s);
        return true;
    }
    if (can_read(s)) {
        read_some(s);
        return true;
    }
    return false;
}

static bool has_news(const sim_stream *s) {
    return s->is_closing || can_write(s) || can_read(s);
}

static void serve_streams(sim_loop *l) {
    for (uint32_t budget = 1 + (uint32_t)rung_rng_below(l->net->rng, 6); budget > 0; budget--) {
        sim_stream *found[64];
        uint32_t n = 0;
        for (sim_stream *s = l->streams; s && n < 64; s = s->next)
            if (has_news(s))
                found[n++] = s;
        if (n == 0 || !serve_one(l, found[rung_rng_below(l->net->rng, n)]))
            return;
    }
}

/* ---- running ---- */

static bool has_work_done(const sim_loop *l) {
    for (const sim_work *w = l->works; w; w = w->next)
        if (w->is_done)
            return true;
    return false;
}

static bool has_something(void *ctx) {
    const sim_loop *l = ctx;
    if (l->is_woken || (uint64_t)*l->monotonic_us / 1000 >= l->alarm_ms || has_work_done(l))
        return true;
    for (const sim_stream *s = l->streams; s; s = s->next)
        if (has_news(s))
            return true;
    for (int i = 0; i < 2; i++)
        if (l->listeners[i] && !l->listeners[i]->waiting && find_arrival(l->listeners[i]))
            return true;
    return false;
}

static bool turn(sim_loop *l) {
    l->base.now_ms = (uint64_t)*l->monotonic_us / 1000;
    l->is_woken = false;
    if (l->base.now_ms >= l->alarm_ms)
        rung_loop_expire(&l->base);
    announce(l);
    serve_streams(l);
    end_works(l);
    return rung_turn_end(&l->base.turn);
}

static void run(rung_loop *base, rung_run mode) {
    sim_loop *l = loop_of(base);
    l->is_stopped = false;
    do {
        bool is_hurried = turn(l);
        if (mode == RUNG_RUN_NOWAIT)
            return;
        if (l->is_stopped)
            return;
        sim_process_wait(l->process, is_hurried ? NULL : has_something, l);
    } while (mode == RUNG_RUN_UNTIL_STOP);
}

static const rung_loop_ops ops = {.clock_ns = clock_ns,
                                  .wall_ms = wall_ms,
                                  .random = get_random,
                                  .alarm = set_alarm,
                                  .wake = wake,
                                  .run = run,
                                  .stop = stop,
                                  .work = begin_work,
                                  .listen = begin_listen,
                                  .unlisten = end_listen,
                                  .stream_size = sizeof(sim_stream),
                                  .accept = accept_stream,
                                  .read_start = read_start,
                                  .read_stop = read_stop,
                                  .try_write = try_write,
                                  .write = write_stream,
                                  .unwritten = unwritten,
                                  .shutdown = shutdown_stream,
                                  .close = close_stream,
                                  .peer = peer};

sim_loop *sim_loop_create(sim_net *n, sim_process *p, const rung_alloc *alloc,
                          const int64_t *monotonic_us, const int64_t *wall_ms) {
    sim_loop *l = rung_alloc_zeroed(alloc, sizeof *l);
    CHECK(l != NULL);
    *l = (sim_loop){.base = {.ops = &ops, .now_ms = (uint64_t)*monotonic_us / 1000},
                    .net = n,
                    .process = p,
                    .alloc = alloc,
                    .monotonic_us = monotonic_us,
                    .wall_ms = wall_ms,
                    .alarm_ms = UINT64_MAX};
    return l;
}

rung_loop *sim_loop_port(sim_loop *l) {
    return &l->base;
}

void sim_loop_destroy(sim_loop *l) {
    CHECK(!l->streams && !l->works);
    rung_alloc_free(l->alloc, l, sizeof *l);
}
