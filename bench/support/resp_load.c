/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1 /* ppoll */
#include "support/resp_load.h"

#include "support/stopwatch.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { IN_SIZE = 4 << 20, OUT_SIZE = 256 * BENCH_COMMAND_MAX / 8, DUE_MAX = 1 << 18, OVERRUN = 3 };

/* ---- sockets ---- */

static int connect_to(const bench_address *address) {
    struct sockaddr_in ip = {.sin_family = AF_INET, .sin_port = htons(address->port)};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    ip.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memcpy(local.sun_path, address->path, sizeof local.sun_path - 1);
    bool is_local = address->path[0] != '\0';
    int fd = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int st = is_local ? connect(fd, (struct sockaddr *)&local, sizeof local)
                      : connect(fd, (struct sockaddr *)&ip, sizeof ip);
    if (st != 0) {
        close(fd);
        return -1;
    }
    if (!is_local)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return fd;
}

static void send_all(int fd, const char *bytes, size_t len) {
    while (len) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            bench_die("a connection broke: %s", strerror(errno));
        bytes += n;
        len -= (size_t)n;
    }
}

void bench_load_connect(bench_load *load, const bench_address *address) {
    bench_load_connect_to(load, address, 1);
}

void bench_load_connect_to(bench_load *load, const bench_address *addresses, uint32_t count) {
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    for (uint32_t i = 0; i < load->connections; i++) {
        bench_load_conn *c = &load->conns[i];
        *c = (bench_load_conn){.fd = connect_to(&addresses[i % count])};
        c->in = malloc(IN_SIZE);
        c->out = malloc(OUT_SIZE);
        c->due_ns = malloc(DUE_MAX * sizeof *c->due_ns);
        if (c->fd < 0 || !c->in || !c->out || !c->due_ns)
            bench_die("cannot connect");
        struct epoll_event e = {.events = EPOLLIN, .data.u32 = i};
        epoll_ctl(load->epoll, EPOLL_CTL_ADD, c->fd, &e);
    }
}

void bench_load_close(bench_load *load) {
    for (uint32_t i = 0; i < load->connections; i++) {
        close(load->conns[i].fd);
        free(load->conns[i].in);
        free(load->conns[i].out);
        free(load->conns[i].due_ns);
    }
    close(load->epoll);
}

/* ---- replies ---- */

/* The number behind the first byte of the line at *p; *p moves to the next line. false: it is not all there. */
static bool take_line(const char **p, const char *end, int64_t *number) {
    const char *at = *p + 1;
    bool is_negative = at < end && *at == '-';
    int64_t n = 0;
    for (at += is_negative; at < end && *at >= '0' && *at <= '9'; at++)
        n = n * 10 + (*at - '0');
    *number = is_negative ? -n : n;
    if (at < end && *at != '\r')
        at = memchr(at, '\r', (size_t)(end - at));
    if (!at || end - at < 2)
        return false;
    *p = at + 2;
    return true;
}

/* The end of the reply at `p`; NULL: it is not all there. */
static const char *skip_reply(const char *p, const char *end, uint64_t *errors) {
    int64_t left = 1; /* items still to come, those of nested arrays too */
    while (left > 0) {
        int64_t number;
        if (p >= end)
            return NULL;
        char kind = *p;
        if (!take_line(&p, end, &number))
            return NULL;
        left--;
        *errors += kind == '-';
        if (kind == '$' && number >= 0) {
            if (end - p < number + 2)
                return NULL;
            p += number + 2;
        } else if (kind == '*' && number > 0) {
            left += number;
        }
    }
    return p;
}

/* Count the complete replies a connection has, and keep the rest. */
static void take_replies(bench_load *load, bench_load_conn *c) {
    const char *p = c->in, *end = c->in + c->used, *next;
    uint64_t errors = 0;
    while (c->awaited && (next = skip_reply(p, end, &errors)) != NULL) {
        p = next;
        c->awaited--;
        load->answered++;
        load->errors += errors;
        errors = 0;
    }
    c->used = (size_t)(end - p);
    memmove(c->in, p, c->used);
}

static void read_some(bench_load_conn *c) {
    if (c->used == IN_SIZE)
        bench_die("a reply is too long");
    ssize_t n = read(c->fd, c->in + c->used, IN_SIZE - c->used);
    if (n <= 0)
        bench_die("the server closed a connection");
    c->used += (size_t)n;
}

/* ---- load ---- */

static void send_next(bench_load *load, bench_load_conn *c, bench_command_maker make, void *ctx) {
    size_t used = 0;
    for (uint32_t i = 0; i < load->depth; i++) {
        size_t length;
        c->awaited += make(ctx, c->out + used, &length);
        used += length;
    }
    c->sent_ns = bench_now_ns();
    send_all(c->fd, c->out, used);
}

double bench_load_run(bench_load *load, bench_command_maker make, void *ctx, double seconds,
                      uint64_t count) {
    uint64_t start = bench_now_ns(), done = 0, sent = 0;
    uint32_t busy = load->connections;
    struct epoll_event events[BENCH_LOAD_CONNECTIONS_MAX];
    for (uint32_t i = 0; i < load->connections; i++, sent += load->depth)
        send_next(load, &load->conns[i], make, ctx);
    while (busy) {
        int n = epoll_wait(load->epoll, events, BENCH_LOAD_CONNECTIONS_MAX, -1);
        bool is_over = count ? sent >= count : bench_seconds_since(start) >= seconds;
        for (int i = 0; i < n; i++) {
            bench_load_conn *c = &load->conns[events[i].data.u32];
            read_some(c);
            take_replies(load, c);
            if (c->awaited)
                continue;
            done += load->depth;
            if (load->times)
                bench_times_add(load->times, bench_now_ns() - c->sent_ns);
            if (is_over) {
                busy--;
            } else {
                send_next(load, c, make, ctx);
                sent += load->depth;
            }
        }
    }
    return (double)done / bench_seconds_since(start);
}

/* ---- open load ---- */

/* False: there is no room; it is late, then. */
static bool put_due(bench_load_conn *c, bench_command_maker make, void *ctx, uint64_t due_ns) {
    size_t length;
    if (c->due_tail - c->due_head == DUE_MAX || c->out_len + BENCH_COMMAND_MAX > OUT_SIZE)
        return false;
    make(ctx, c->out + c->out_len, &length);
    c->out_len += length;
    c->awaited++;
    c->due_ns[c->due_tail++ % DUE_MAX] = due_ns;
    return true;
}

static void send_some(bench_load_conn *c) {
    ssize_t n = c->out_len ? send(c->fd, c->out, c->out_len, MSG_DONTWAIT) : 0;
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        bench_die("a connection broke: %s", strerror(errno));
    if (n > 0) {
        c->out_len -= (size_t)n;
        memmove(c->out, c->out + n, c->out_len);
    }
}

static uint64_t take_due_replies(bench_load *load, bench_load_conn *c) {
    uint32_t before = c->awaited;
    read_some(c);
    take_replies(load, c);
    uint64_t now = bench_now_ns();
    for (uint32_t i = c->awaited; i < before; i++)
        bench_times_add(load->times, now - c->due_ns[c->due_head++ % DUE_MAX]);
    return before - c->awaited;
}

/* Wait for an answer, for room to send, or until the next command is due. */
static void wait_open(const bench_load *load, struct pollfd *fds, uint64_t until_ns) {
    uint64_t now = bench_now_ns(), left = until_ns > now ? until_ns - now : 0;
    struct timespec wait = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
    for (uint32_t i = 0; i < load->connections; i++)
        fds[i] = (struct pollfd){
            .fd = load->conns[i].fd,
            .events = (short)(POLLIN | (load->conns[i].out_len ? POLLOUT : 0)),
        };
    ppoll(fds, load->connections, &wait, NULL);
}

double bench_load_open(bench_load *load, bench_command_maker make, void *ctx, double rate,
                       double seconds) {
    struct pollfd fds[BENCH_LOAD_CONNECTIONS_MAX];
    uint64_t start = bench_now_ns(), total = (uint64_t)(rate * seconds), sent = 0, done = 0;
    while (done < total) {
        uint64_t now = bench_now_ns(), due = now + 1000000;
        if ((double)(now - start) > OVERRUN * seconds * 1e9)
            total = sent; /* it cannot keep up: what was sent is enough to show that */
        for (; sent < total; sent++) {
            due = start + (uint64_t)((double)sent / rate * 1e9);
            if (due > now || !put_due(&load->conns[sent % load->connections], make, ctx, due))
                break;
        }
        for (uint32_t i = 0; i < load->connections; i++)
            send_some(&load->conns[i]);
        wait_open(load, fds, due > now ? due : now + 1000000);
        for (uint32_t i = 0; i < load->connections; i++)
            if (fds[i].revents & (POLLIN | POLLERR | POLLHUP))
                done += take_due_replies(load, &load->conns[i]);
    }
    return (double)done / bench_seconds_since(start);
}

/* ---- single commands ---- */

/* "*3\r\n": a mark, a number, the end of a line. */
static char *put_head(char *at, char mark, size_t number) {
    char digits[24];
    int n = 0;
    *at++ = mark;
    do
        digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n)
        *at++ = digits[--n];
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

size_t bench_command(char *out, uint32_t count, const char *const *words) {
    char *at = put_head(out, '*', count);
    for (uint32_t i = 0; i < count; i++) {
        size_t len = strlen(words[i]);
        at = put_head(at, '$', len);
        memcpy(at, words[i], len);
        at += len;
        *at++ = '\r';
        *at++ = '\n';
    }
    return (size_t)(at - out);
}

bool bench_ask(const bench_address *address, const char *const *words, char *reply, size_t room) {
    static char command[256 << 10];
    uint32_t count = 0;
    uint64_t errors = 0;
    size_t used = 0;
    int fd = connect_to(address);
    while (words[count])
        count++;
    if (fd < 0)
        return false;
    size_t len = bench_command(command, count, words);
    bool is_fine = write(fd, command, len) == (ssize_t)len;
    while (is_fine && used + 1 < room && !skip_reply(reply, reply + used, &errors)) {
        ssize_t n = read(fd, reply + used, room - used - 1);
        is_fine = n > 0;
        used += n > 0 ? (size_t)n : 0;
    }
    reply[used] = '\0';
    close(fd);
    return is_fine;
}
