/* SPDX-License-Identifier: Apache-2.0 */
/* netkit.h - a loop in a thread of its own, and blocking clients in the test's: for tests of what sits on
 * front/net.
 *
 *     netkit k;
 *     netkit_start(&k, &(rung_net_config){0});          // alloc and loop are filled in
 *     netkit_listen(&k, protocol, ctx, NULL);           // 127.0.0.1, a free port: k.port
 *     netkit_run(&k);                                   // from here on the loop's thread owns net and protocol
 *     int fd = netkit_connect(&k);
 *     netkit_send(fd, "GET / HTTP/1.1\r\n\r\n");
 *     netkit_read_all(fd, buffer, sizeof buffer);       // until the peer closes
 *     netkit_stop(&k, 1000);                            // graceful, then the loop is gone
 *
 * Header-only: it uses front_net, which only some tests link. A client that waits longer than ten seconds fails
 * the test. */
#ifndef RUNG_TESTS_NETKIT_H
#define RUNG_TESTS_NETKIT_H

#include "base/alloc.h"
#include "front/net/net.h"
#include "front/net/uv_loop.h"
#include "support/check.h"
#include "support/failalloc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

typedef struct netkit {
    rung_failalloc heap; /* the loop's thread only, while it runs */
    rung_loop *loop;
    rung_net *net;
    uint16_t port;
    rung_task called_for;
    pthread_t thread;
    uint32_t deadline_ms;
    void (*call)(void *ctx); /* to be called in the loop's thread */
    void *call_ctx;
    pthread_mutex_t lock;
    pthread_cond_t called;
    bool is_stop_due, is_call_due;
} netkit;

static inline void netkit_on_stopped(void *ctx) {
    netkit *k = ctx;
    rung_loop_stop(k->loop);
}

static inline void netkit_on_call(void *ctx) {
    netkit *k = ctx;
    pthread_mutex_lock(&k->lock);
    if (k->is_call_due) {
        k->call(k->call_ctx);
        k->is_call_due = false;
        pthread_cond_signal(&k->called);
    }
    if (k->is_stop_due)
        rung_net_stop(k->net, k->deadline_ms, netkit_on_stopped, k);
    k->is_stop_due = false;
    pthread_mutex_unlock(&k->lock);
}

static inline void netkit_start(netkit *k, const rung_net_config *config) {
    rung_net_config c = *config;
    memset(k, 0, sizeof *k);
    rung_failalloc_init(&k->heap);
    c.alloc = rung_failalloc_port(&k->heap);
    CHECK_OK(rung_uv_loop_create(c.alloc, &k->loop, NULL));
    c.loop = k->loop;
    CHECK_OK(rung_net_create(&c, &k->net, NULL));
    k->called_for = (rung_task){.run = netkit_on_call, .ctx = k};
    rung_turn_add(&k->loop->turn, RUNG_PHASE_ANSWER, &k->called_for);
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->called, NULL);
}

static inline void netkit_listen(netkit *k, const rung_protocol *protocol, void *ctx,
                                 rung_tls *tls) {
    rung_address address, bound;
    CHECK_OK(rung_address_parse(RUNG_SLICE("127.0.0.1:0"), 0, &address, NULL));
    CHECK_OK(rung_net_listen(k->net, &address, protocol, ctx, tls, &bound, NULL));
    k->port = rung_address_port(&bound);
}

static inline void *netkit_thread(void *ctx) {
    netkit *k = ctx;
    rung_loop_run(k->loop, RUNG_RUN_UNTIL_STOP);
    return NULL;
}

static inline void netkit_run(netkit *k) {
    CHECK(pthread_create(&k->thread, NULL, netkit_thread, k) == 0);
}

/* Have `call` run in the loop's thread, and wait for it. */
static inline void netkit_call(netkit *k, void (*call)(void *ctx), void *ctx) {
    pthread_mutex_lock(&k->lock);
    k->call = call;
    k->call_ctx = ctx;
    k->is_call_due = true;
    rung_loop_wake(k->loop, &k->called_for);
    while (k->is_call_due)
        pthread_cond_wait(&k->called, &k->lock);
    pthread_mutex_unlock(&k->lock);
}

/* Begin a graceful stop; netkit_join() waits for its end. */
static inline void netkit_begin_stop(netkit *k, uint32_t deadline_ms) {
    pthread_mutex_lock(&k->lock);
    k->deadline_ms = deadline_ms;
    k->is_stop_due = true;
    pthread_mutex_unlock(&k->lock);
    rung_loop_wake(k->loop, &k->called_for);
}

/* Afterwards the net is there only to be asked: rung_net_stat(k->net); then netkit_end(). */
static inline void netkit_join(netkit *k) {
    CHECK(pthread_join(k->thread, NULL) == 0);
}

static inline void netkit_end(netkit *k) {
    rung_net_destroy(k->net);
    rung_uv_loop_destroy(k->loop);
    rung_failalloc_deinit(&k->heap);
    pthread_mutex_destroy(&k->lock);
    pthread_cond_destroy(&k->called);
}

static inline void netkit_stop(netkit *k, uint32_t deadline_ms) {
    netkit_begin_stop(k, deadline_ms);
    netkit_join(k);
    netkit_end(k);
}

/* ---- clients ---- */

static inline int netkit_connect_port(uint16_t port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct timeval patience = {.tv_sec = 60};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    return fd;
}

static inline int netkit_connect(const netkit *k) {
    return netkit_connect_port(k->port);
}

/* What the peer does not take any more (it closed) is not an error here. */
static inline void netkit_send_bytes(int fd, const void *bytes, size_t len) {
    const char *at = bytes;
    while (len) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return;
        CHECK_MSG(n > 0, "send: %s", strerror(errno));
        at += n;
        len -= (size_t)n;
    }
}

static inline void netkit_send(int fd, const char *text) {
    netkit_send_bytes(fd, text, strlen(text));
}

/* Some bytes, NUL-terminated; 0 at the end, -1 after a reset. */
static inline ssize_t netkit_read(int fd, char *to, size_t room) {
    ssize_t n = recv(fd, to, room - 1, 0);
    CHECK_MSG(n >= 0 || errno == ECONNRESET, "recv: %s", strerror(errno));
    to[n > 0 ? n : 0] = 0;
    return n;
}

/* Until the peer closes; NUL-terminated. Returns the length; *reset_out (may be NULL): it ended in a reset. */
static inline size_t netkit_read_all(int fd, char *to, size_t room, bool *reset_out) {
    size_t len = 0;
    ssize_t n;
    while (len + 1 < room && (n = netkit_read(fd, to + len, room - len)) > 0)
        len += (size_t)n;
    if (reset_out)
        *reset_out = n < 0;
    return len;
}

/* Exactly `len` bytes; NUL-terminated (room for one more). */
static inline void netkit_read_exactly(int fd, char *to, size_t len) {
    *to = '\0';
    for (size_t got = 0; got < len;) {
        ssize_t n = netkit_read(fd, to + got, len - got + 1);
        CHECK_MSG(n > 0, "the peer closed after %zu of %zu bytes", got, len);
        got += (size_t)n;
    }
}

#endif
