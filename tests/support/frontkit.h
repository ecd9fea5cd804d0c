/* SPDX-License-Identifier: Apache-2.0 */
/* frontkit.h - the server without its process: hub (in memory), access, net, HTTP with its API, and RESP, wired as
 * `rung serve` wires them, on one loop that the test turns by hand.
 *
 *     frontkit k;
 *     frontkit_start(&k, &(frontkit_config){0});
 *     int fd = frontkit_connect(&k.http_bound);      // a blocking loopback socket; send to it, then
 *     frontkit_turn(&k, 4);                          // no call here waits
 *     frontkit_stop(&k);                             // graceful; nothing may be left, neither memory nor a request
 *
 * The hub's clock stands still until the test moves k.now_ms. The loop's own time is real, unless the program brings a
 * clock_gettime() of its own. Nothing calls rung_hub_tick() but the test.
 *
 * Header-only: it uses all of the server's rooms, which only some tests link. */
#ifndef RUNG_TESTS_FRONTKIT_H
#define RUNG_TESTS_FRONTKIT_H

#include "front/api/api.h"
#include "front/net/uv_loop.h"
#include "front/resp/resp.h"
#include "support/check.h"
#include "support/failalloc.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What the fronts are given besides; alloc, loop, net, hub, access and ctx are filled in. */
typedef struct frontkit_config {
    rung_net_config net;
    rung_http_config http;
    rung_api_config api;
    rung_resp_config resp;
    rung_access_config access;
    uint32_t waiting_max; /* of the hub */
    /* Of the hub, too: a log that it shares (shared_log.h), and a folder for its snapshots. */
    rung_log *log;
    const char *path;
    const rung_fs *fs;
    uint64_t ready_lag_max;
    bool is_recovering; /* the API does not get the hub: it answers as before a server's recovery */
    size_t fill_max;    /* of the heap */
} frontkit_config;

typedef struct frontkit {
    rung_failalloc heap; /* everybody's */
    int64_t now_ms;
    rung_loop *loop;
    rung_task flush, apply;
    bool is_stopping, is_stopped;
    rung_hub *hub;
    rung_access *access;
    rung_net *net;
    rung_http *http;
    rung_api *api;
    rung_resp *resp;
    rung_address http_bound, resp_bound;
} frontkit;

static inline int64_t frontkit_now(void *ctx) {
    return ((frontkit *)ctx)->now_ms;
}

static inline void frontkit_wake(void *ctx) {
    frontkit *k = ctx;
    rung_loop_wake(k->loop, &k->apply);
}

static inline void frontkit_flush(void *ctx) {
    rung_hub_flush(((frontkit *)ctx)->hub);
}

static inline bool frontkit_has_changes(const void *ctx) {
    return rung_commit_has_new(rung_hub_commit(((const frontkit *)ctx)->hub));
}

static inline void frontkit_apply(void *ctx) {
    rung_hub_turn(((frontkit *)ctx)->hub);
}

static inline void frontkit_join_loop(frontkit *k) {
    k->flush = (rung_task){.run = frontkit_flush,
                           .ctx = k,
                           .is_in_every_turn = true,
                           .has_more = frontkit_has_changes};
    k->apply = (rung_task){.run = frontkit_apply, .ctx = k};
    rung_turn_add(&k->loop->turn, RUNG_PHASE_FLUSH, &k->flush);
    rung_turn_add(&k->loop->turn, RUNG_PHASE_APPLY, &k->apply);
}

static inline void frontkit_listen(frontkit *k, const rung_protocol *protocol, void *ctx,
                                   rung_address *bound_out) {
    rung_address address;
    CHECK_OK(rung_address_parse(RUNG_SLICE("127.0.0.1:0"), 0, &address, NULL));
    CHECK_OK(rung_net_listen(k->net, &address, protocol, ctx, NULL, bound_out, NULL));
}

static inline void frontkit_start(frontkit *k, const frontkit_config *config) {
    frontkit_config c = *config;
    memset(k, 0, sizeof *k);
    rung_failalloc_init(&k->heap);
    k->heap.fill_max = c.fill_max;
    const rung_alloc *a = rung_failalloc_port(&k->heap);
    k->now_ms = INT64_C(1800000000000);
    CHECK_OK(rung_uv_loop_create(a, &k->loop, NULL));
    rung_hub_config hub = {.alloc = a,
                           .clock = {frontkit_now, k},
                           .waiting_max = c.waiting_max,
                           .log = c.log,
                           .path = c.path,
                           .fs = c.fs,
                           .ready_lag_max = c.ready_lag_max,
                           .wake = frontkit_wake,
                           .ctx = k};
    CHECK_OK(rung_hub_open(&hub, &k->hub, NULL));
    c.access.alloc = a;
    CHECK_OK(rung_access_create(&c.access, &k->access, NULL));
    c.net.alloc = c.api.alloc = c.http.alloc = c.resp.alloc = a;
    c.net.loop = c.api.loop = k->loop;
    CHECK_OK(rung_net_create(&c.net, &k->net, NULL));
    c.api.access = c.resp.access = k->access;
    CHECK_OK(rung_api_create(&c.api, &k->api, NULL));
    c.http.net = c.resp.net = k->net;
    c.http.handle = rung_api_handle;
    c.http.observe = rung_api_observe;
    c.http.ctx = k->api;
    CHECK_OK(rung_http_create(&c.http, &k->http, NULL));
    rung_api_attach(k->api, k->net, k->http);
    c.resp.hub = k->hub;
    CHECK_OK(rung_resp_create(&c.resp, &k->resp, NULL));
    if (!c.is_recovering)
        rung_api_start(k->api, k->hub);
    frontkit_listen(k, rung_http_protocol(), k->http, &k->http_bound);
    frontkit_listen(k, rung_resp_protocol(), k->resp, &k->resp_bound);
    frontkit_join_loop(k);
}

/* Turns of the loop that do not wait. A turn ends one batch and then reads, so an answer takes two. */
static inline void frontkit_turn(frontkit *k, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        rung_loop_run(k->loop, RUNG_RUN_NOWAIT);
}

/* Time passes for the hub: windows close, keys expire. */
static inline void frontkit_tick(frontkit *k, int64_t ms) {
    k->now_ms += ms;
    rung_hub_tick(k->hub);
}

static inline void frontkit_on_stopped(void *ctx) {
    ((frontkit *)ctx)->is_stopped = true;
}

static inline void frontkit_begin_stop(frontkit *k, uint32_t deadline_ms) {
    if (k->is_stopping)
        return;
    k->is_stopping = true;
    rung_api_stop(k->api);
    rung_net_stop(k->net, deadline_ms, frontkit_on_stopped, k);
}

/* The net has stopped (k->is_stopped); everything else goes, in the server's order. */
static inline void frontkit_end(frontkit *k) {
    CHECK(k->is_stopped);
    rung_turn_remove(&k->loop->turn, &k->flush);
    rung_turn_remove(&k->loop->turn, &k->apply);
    rung_api_settle(k->api);
    CHECK_OK(rung_hub_close(k->hub, NULL));
    CHECK_EQ_U64(rung_resp_stat(k->resp).open, 0);
    CHECK_EQ_U64(rung_http_stat(k->http).in_flight, 0);
    rung_resp_destroy(k->resp);
    rung_api_destroy(k->api);
    rung_http_destroy(k->http);
    rung_net_destroy(k->net);
    rung_access_destroy(k->access);
    rung_uv_loop_destroy(k->loop);
    rung_failalloc_deinit(&k->heap);
}

static inline void frontkit_stop(frontkit *k) {
    frontkit_begin_stop(k, 1000);
    while (!k->is_stopped)
        rung_loop_run(k->loop, RUNG_RUN_ONCE);
    frontkit_end(k);
}

static inline int frontkit_connect(const rung_address *to) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK(connect(fd, &to->any, sizeof to->ip4) == 0);
    return fd;
}

/* All that has come so far; NUL-terminated. */
static inline size_t frontkit_read(int fd, char *to, size_t room) {
    size_t len = 0;
    ssize_t n;
    while (len + 1 < room && (n = recv(fd, to + len, room - 1 - len, MSG_DONTWAIT)) > 0)
        len += (size_t)n;
    to[len] = 0;
    return len;
}

/* A change of somebody else's, put straight into the hub. */
static inline void frontkit_define(frontkit *k, const char *board, uint32_t windows) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED};
    e.defined.board = rung_slice_str(board);
    e.defined.def = rung_board_def_default();
    e.defined.def.windows = windows;
    CHECK_OK(rung_hub_put(k->hub, &e, NULL, NULL, NULL));
}

static inline rung_status frontkit_score(frontkit *k, const char *board, const char *player,
                                         int64_t score) {
    rung_event e = {.kind = RUNG_EVENT_SCORE};
    e.score.board = rung_slice_str(board);
    e.score.player = rung_slice_str(player);
    e.score.value_count = 1;
    e.score.values[0].i = score;
    return rung_hub_put(k->hub, &e, NULL, NULL, NULL);
}

#endif
