/* SPDX-License-Identifier: Apache-2.0 */
/* resp_server.h - a RESP server in a thread of its own, for tests that talk to it over a real socket.
 *
 *     resp_server srv;
 *     resp_server_start(&srv, &(resp_server_config){0});      // listens on 127.0.0.1, port srv.port
 *     int fd = resp_connect(&srv);
 *     resp_send(fd, "ZADD k 1 a\r\n");
 *     resp_expect(fd, ":1\r\n");
 *     resp_server_stop(&srv);
 *
 * The clock is the test's: it stands still until resp_server_advance(). */
#ifndef RUNG_TESTS_RESP_SERVER_H
#define RUNG_TESTS_RESP_SERVER_H

#include "front/net/uv_loop.h"
#include "front/resp/resp.h"
#include "support/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct resp_server_config {
    const char *path;      /* a folder; NULL: in memory */
    rung_log *log;         /* a log that is elsewhere; NULL: the folder's */
    const char *keys_path; /* the keys file */
    rung_resp_config resp; /* limits */
    uint32_t waiting_max;  /* of the hub */
} resp_server_config;

typedef struct resp_server {
    resp_server_config config;
    uint16_t port;
    pthread_t thread;
    _Atomic int64_t now_ms;
    pthread_mutex_t lock;
    pthread_cond_t is_up;
    bool up, is_real_time;
    rung_loop *loop;
    rung_task flush, apply, quit, run;
    rung_timer tick;
    rung_hub *hub;
    rung_access *access;
    rung_net *net;
    rung_resp *resp;
    void (*job)(struct resp_server *srv); /* runs in the server's thread */
    atomic_bool is_job_done;
} resp_server;

static inline int64_t resp_server_now(void *ctx) {
    resp_server *srv = ctx;
    return srv->now_ms;
}

static inline void resp_server_wake(void *ctx) {
    resp_server *srv = ctx;
    rung_loop_wake(srv->loop, &srv->apply);
}

static inline void resp_server_apply(void *ctx) {
    rung_hub_turn(((resp_server *)ctx)->hub);
}

static inline void resp_server_flush(void *ctx) {
    rung_hub_flush(((resp_server *)ctx)->hub);
}

static inline bool resp_server_has_changes(const void *ctx) {
    return rung_commit_has_new(rung_hub_commit(((const resp_server *)ctx)->hub));
}

static inline void resp_server_on_tick(void *ctx) {
    rung_hub_tick(((resp_server *)ctx)->hub);
}

static inline void resp_server_on_run(void *ctx) {
    resp_server *srv = ctx;
    if (srv->job)
        srv->job(srv);
    srv->is_job_done = true;
}

static inline void resp_server_stopped(void *ctx) {
    rung_loop_stop(((resp_server *)ctx)->loop);
}

static inline void resp_server_on_quit(void *ctx) {
    resp_server *srv = ctx;
    rung_net_stop(srv->net, 1000, resp_server_stopped, srv);
}

static inline void resp_server_open(resp_server *srv) {
    rung_err err = {0};
    const resp_server_config *c = &srv->config;
    rung_hub_config hub = {.alloc = rung_alloc_heap(),
                           .clock = {resp_server_now, srv},
                           .path = c->path,
                           .log = c->log,
                           .waiting_max = c->waiting_max,
                           .wake = resp_server_wake,
                           .ctx = srv};
    CHECK_MSG(rung_hub_open(&hub, &srv->hub, &err) == RUNG_OK, "%s", err.message);
    rung_access_config access = {.alloc = rung_alloc_heap(), .path = c->keys_path};
    CHECK_MSG(rung_access_create(&access, &srv->access, &err) == RUNG_OK, "%s", err.message);
    rung_net_config net = {.alloc = rung_alloc_heap(), .loop = srv->loop};
    CHECK_MSG(rung_net_create(&net, &srv->net, &err) == RUNG_OK, "%s", err.message);
    rung_resp_config resp = c->resp;
    resp.alloc = rung_alloc_heap();
    resp.net = srv->net;
    resp.hub = srv->hub;
    resp.access = srv->access;
    CHECK_MSG(rung_resp_create(&resp, &srv->resp, &err) == RUNG_OK, "%s", err.message);
    rung_address address, bound;
    CHECK(rung_address_parse(RUNG_SLICE("127.0.0.1:0"), 0, &address, &err) == RUNG_OK);
    CHECK_MSG(rung_net_listen(srv->net, &address, rung_resp_protocol(), srv->resp, NULL, &bound,
                              &err) == RUNG_OK,
              "%s", err.message);
    srv->port = rung_address_port(&bound);
}

static inline void resp_server_join_loop(resp_server *srv) {
    rung_turn *turn = &srv->loop->turn;
    srv->flush = (rung_task){.run = resp_server_flush,
                             .ctx = srv,
                             .is_in_every_turn = true,
                             .has_more = resp_server_has_changes};
    srv->apply = (rung_task){.run = resp_server_apply, .ctx = srv};
    srv->quit = (rung_task){.run = resp_server_on_quit, .ctx = srv};
    srv->run = (rung_task){.run = resp_server_on_run, .ctx = srv};
    srv->tick = (rung_timer){.call = resp_server_on_tick, .ctx = srv};
    rung_turn_add(turn, RUNG_PHASE_FLUSH, &srv->flush);
    rung_turn_add(turn, RUNG_PHASE_APPLY, &srv->apply);
    rung_turn_add(turn, RUNG_PHASE_ANSWER, &srv->quit);
    rung_turn_add(turn, RUNG_PHASE_ANSWER, &srv->run);
    rung_timer_start(srv->loop, &srv->tick, 100, 100);
}

static inline void *resp_server_main(void *ctx) {
    resp_server *srv = ctx;
    CHECK_OK(rung_uv_loop_create(rung_alloc_heap(), &srv->loop, NULL));
    resp_server_open(srv);
    resp_server_join_loop(srv);
    pthread_mutex_lock(&srv->lock);
    srv->up = true;
    pthread_cond_signal(&srv->is_up);
    pthread_mutex_unlock(&srv->lock);
    rung_loop_run(srv->loop, RUNG_RUN_UNTIL_STOP);
    bool is_good = !rung_hub_divergence(srv->hub);
    CHECK((rung_hub_close(srv->hub, NULL) == RUNG_OK) == is_good);
    rung_resp_destroy(srv->resp);
    rung_net_destroy(srv->net);
    rung_access_destroy(srv->access);
    return NULL;
}

static inline void resp_server_start(resp_server *srv, const resp_server_config *config) {
    memset(srv, 0, sizeof *srv);
    srv->config = *config;
    srv->now_ms = 1700000000000;
    pthread_mutex_init(&srv->lock, NULL);
    pthread_cond_init(&srv->is_up, NULL);
    CHECK(pthread_create(&srv->thread, NULL, resp_server_main, srv) == 0);
    pthread_mutex_lock(&srv->lock);
    while (!srv->up)
        pthread_cond_wait(&srv->is_up, &srv->lock);
    pthread_mutex_unlock(&srv->lock);
}

static inline void resp_server_stop(resp_server *srv) {
    rung_loop_wake(srv->loop, &srv->quit);
    pthread_join(srv->thread, NULL);
    rung_uv_loop_destroy(srv->loop); /* not before: we may still be waking it */
    pthread_mutex_destroy(&srv->lock);
    pthread_cond_destroy(&srv->is_up);
}

static inline void resp_server_advance(resp_server *srv, int64_t ms) {
    srv->now_ms += ms;
}

/* Run something in the server's thread, and wait for it. */
static inline void resp_server_run(resp_server *srv, void (*job)(resp_server *srv)) {
    srv->job = job;
    srv->is_job_done = false;
    rung_loop_wake(srv->loop, &srv->run);
    while (!srv->is_job_done)
        usleep(200);
}

/* ---- a client ---- */

static inline int resp_connect(const resp_server *srv) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(srv->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    return fd;
}

static inline void resp_send_bytes(int fd, const char *bytes, size_t len) {
    while (len) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        CHECK_MSG(n > 0, "send: %s", strerror(errno));
        bytes += n;
        len -= (size_t)n;
    }
}

static inline void resp_send(int fd, const char *text) {
    resp_send_bytes(fd, text, strlen(text));
}

/* Read exactly what is wanted; whatever else comes first ends the test. */
static inline void resp_expect_at(const char *file, int line, int fd, const char *want) {
    char got[65536];
    size_t have = 0, len = strlen(want);
    CHECK(len < sizeof got);
    while (have < len) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 60000) <= 0)
            test_fail(file, line, "no answer within a minute; had \"%.*s\", expected \"%s\"",
                      (int)have, got, want);
        ssize_t n = recv(fd, got + have, len - have, 0);
        if (n <= 0)
            test_fail(file, line, "closed; had \"%.*s\", expected \"%s\"", (int)have, got, want);
        have += (size_t)n;
        if (memcmp(got, want, have) != 0)
            test_fail(file, line, "got \"%.*s\", expected \"%s\"", (int)have, got, want);
    }
}
#define resp_expect(fd, want) resp_expect_at(__FILE__, __LINE__, (fd), (want))

/* Send a line, expect a reply. */
#define resp_ask(fd, line, want)                                                                   \
    do {                                                                                           \
        resp_send((fd), line "\r\n");                                                              \
        resp_expect_at(__FILE__, __LINE__, (fd), (want));                                          \
    } while (0)

/* Nothing more comes, and the server has closed. */
static inline void resp_expect_closed(int fd) {
    char byte;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    CHECK_MSG(poll(&p, 1, 60000) > 0, "the connection was not closed");
    ssize_t n = recv(fd, &byte, 1, 0);
    CHECK_MSG(n <= 0, "got '%c' where the end was expected", byte);
}

#endif
