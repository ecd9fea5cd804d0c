/* SPDX-License-Identifier: Apache-2.0 */
/* bench_load.c - submissions, ranks and tops at stated rates, all at once, whatever the server does: an open load.
 * bench/load_bench.py starts the server, calls this, and draws what it prints.
 *
 * Every request has a time at which it is due, fixed before the run. Its latency counts from there, not from when it
 * was sent: a server that stands still for a second keeps a second's requests waiting, and all of them count. A client
 * that waits for an answer before it asks again would send nothing during the stall and see one slow request.
 *
 * One thread; it spins rather than sleep, so it takes a core. Requests go to the connections in turn. Answers come in
 * order, so a queue of due times per connection is all there is to remember.
 *
 *     --do fill   players into the board, a hundred in each ZADD
 *     --do load   the load: one line of JSON for each tenth of a second, then one for the whole */
#include "support/histogram.h"
#include "support/options.h"
#include "support/resp_load.h"
#include "support/rng.h"
#include "support/stopwatch.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 1024,
    REQUEST_MAX = 512,
    IN_SIZE = 1 << 20,
    SCORE_MAX = 1000000,
    FILL_PAIRS = 100,
    BEHIND_MAX = 4000000, /* requests without an answer at which the load is given up */
    LATE_S = 20,          /* how long the last answers may take */
};

typedef enum kind { WRITE, RANK, TOP, KINDS } kind;
static const char *const kind_names[KINDS] = {"writes", "ranks", "tops"};

typedef struct options {
    const char *what, *protocol, *board;
    uint64_t port, players, seconds, connections, slice_ms, rate[KINDS], seed;
    bool is_http;
} options;

typedef struct conn {
    int fd;
    bool is_blocked; /* the socket takes no more for now */
    char *out;
    size_t out_at, out_len, out_size;
    char *in;
    size_t in_len;
    uint64_t
        *due; /* a ring of due times, the kind in the lowest two bits; its size is a power of two */
    uint64_t head, tail, ring;
} conn;

typedef struct load {
    const options *o;
    rung_rng rng;
    int epoll;
    conn conns[CONNECTIONS_MAX];
    uint64_t start_ns, slice_ns, slice_count;
    bench_histogram *slices, kinds[KINDS], all;
    uint64_t sent[KINDS], answered, errors, in_flight;
    uint32_t next;
} load;

/* ---- requests ---- */

static size_t make_resp(load *l, kind k, char *out) {
    uint64_t player = rung_rng_below(&l->rng, l->o->players);
    const char *b = l->o->board;
    int len = 0;
    if (k == WRITE) {
        char score[16];
        int digits =
            snprintf(score, sizeof score, "%u", (unsigned)rung_rng_below(&l->rng, SCORE_MAX));
        len = snprintf(out, REQUEST_MAX,
                       "*4\r\n$4\r\nZADD\r\n$%zu\r\n%s\r\n$%d\r\n%s\r\n$15\r\nplayer:%08llu\r\n",
                       strlen(b), b, digits, score, (unsigned long long)player);
    } else if (k == RANK) {
        len = snprintf(out, REQUEST_MAX,
                       "*3\r\n$8\r\nZREVRANK\r\n$%zu\r\n%s\r\n$15\r\nplayer:%08llu\r\n", strlen(b),
                       b, (unsigned long long)player);
    } else {
        len = snprintf(out, REQUEST_MAX,
                       "*5\r\n$9\r\nZREVRANGE\r\n$%zu\r\n%s\r\n$1\r\n0\r\n$1\r\n9\r\n"
                       "$10\r\nWITHSCORES\r\n",
                       strlen(b), b);
    }
    return (size_t)len;
}

static size_t make_http(load *l, kind k, char *out) {
    uint64_t player = rung_rng_below(&l->rng, l->o->players);
    const char *b = l->o->board;
    int len = 0;
    if (k == WRITE) {
        char body[96];
        int size =
            snprintf(body, sizeof body, "{\"player\":\"player:%08llu\",\"score\":%u}",
                     (unsigned long long)player, (unsigned)rung_rng_below(&l->rng, SCORE_MAX));
        len = snprintf(out, REQUEST_MAX,
                       "POST /v1/boards/%s/scores HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                       "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                       b, size, body);
    } else if (k == RANK) {
        len = snprintf(out, REQUEST_MAX,
                       "GET /v1/boards/%s/players/player:%08llu?around=0 HTTP/1.1\r\n"
                       "Host: 127.0.0.1\r\n\r\n",
                       b, (unsigned long long)player);
    } else {
        len = snprintf(out, REQUEST_MAX,
                       "GET /v1/boards/%s/top?limit=10 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b);
    }
    return (size_t)len;
}

/* ---- answers: the end of the first one, NULL when it is not all there ---- */

static const char *line_end(const char *p, const char *end) {
    const char *at = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return at ? at + 1 : NULL;
}

static const char *skip_resp(const char *p, const char *end, bool *is_error) {
    *is_error = p < end && *p == '-';
    for (int64_t left = 1; left > 0; left--) {
        const char *next = line_end(p, end);
        if (!next)
            return NULL;
        long number = strtol(p + 1, NULL, 10);
        if (*p == '$' && number >= 0) {
            if (end - next < number + 2)
                return NULL;
            next += number + 2;
        } else if (*p == '*' && number > 0) {
            left += number;
        }
        p = next;
    }
    return p;
}

static const char *skip_http(const char *p, const char *end, bool *is_error) {
    size_t length = 0;
    const char *line = line_end(p, end);
    *is_error = end - p > 12 && p[9] != '2';
    while (line) {
        const char *next = line_end(line, end);
        if (!next)
            return NULL;
        if (next - line == 2)
            return (size_t)(end - next) < length ? NULL : next + length;
        if (strncasecmp(line, "content-length:", 15) == 0)
            length = strtoul(line + 15, NULL, 10);
        line = next;
    }
    return NULL;
}

/* ---- connections ---- */

static void grow(conn *c) {
    uint64_t size = c->ring ? c->ring * 2 : 1024;
    uint64_t *due = malloc(size * sizeof *due);
    if (!due)
        bench_die("out of memory");
    for (uint64_t i = c->head; i != c->tail; i++)
        due[i & (size - 1)] = c->due[i & (c->ring - 1)];
    free(c->due);
    c->due = due;
    c->ring = size;
}

static void flush(load *l, conn *c) {
    while (c->out_at < c->out_len) {
        ssize_t n =
            send(c->fd, c->out + c->out_at, c->out_len - c->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!c->is_blocked) {
                struct epoll_event e = {.events = EPOLLIN | EPOLLOUT, .data.ptr = c};
                epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &e);
            }
            c->is_blocked = true;
            return;
        }
        if (n < 0)
            bench_die("a connection broke: %s", strerror(errno));
        c->out_at += (size_t)n;
    }
    c->out_at = c->out_len = 0;
    if (c->is_blocked) {
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &e);
        c->is_blocked = false;
    }
}

static void put(load *l, kind k, uint64_t due_ns) {
    conn *c = &l->conns[l->next++ % l->o->connections];
    if (c->out_size - c->out_len < REQUEST_MAX) {
        c->out_size = c->out_size ? c->out_size * 2 : 65536;
        c->out = realloc(c->out, c->out_size);
        if (!c->out)
            bench_die("out of memory");
    }
    if (c->tail - c->head == c->ring)
        grow(c);
    c->out_len +=
        l->o->is_http ? make_http(l, k, c->out + c->out_len) : make_resp(l, k, c->out + c->out_len);
    c->due[c->tail++ & (c->ring - 1)] = due_ns << 2 | k;
    l->sent[k]++;
    l->in_flight++;
}

static void answered(load *l, conn *c, uint64_t now_ns, bool is_error) {
    uint64_t due = c->due[c->head++ & (c->ring - 1)];
    uint64_t due_ns = due >> 2, slice = (due_ns - l->start_ns) / l->slice_ns;
    kind k = (kind)(due & 3);
    bench_histogram_add(&l->kinds[k], now_ns - due_ns);
    if (slice < l->slice_count)
        bench_histogram_add(&l->slices[slice], now_ns - due_ns);
    l->answered++;
    l->in_flight--;
    l->errors += is_error;
}

static void read_answers(load *l, conn *c) {
    ssize_t n = recv(c->fd, c->in + c->in_len, IN_SIZE - c->in_len, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        bench_die("the server closed a connection");
    c->in_len += (size_t)n;
    uint64_t now_ns = bench_now_ns();
    const char *p = c->in, *end = c->in + c->in_len, *next;
    bool is_error;
    while (c->head != c->tail &&
           (next = l->o->is_http ? skip_http(p, end, &is_error) : skip_resp(p, end, &is_error))) {
        answered(l, c, now_ns, is_error);
        p = next;
    }
    c->in_len = (size_t)(end - p);
    memmove(c->in, p, c->in_len);
    if (c->in_len == IN_SIZE)
        bench_die("an answer is too long");
}

static void connect_all(load *l) {
    struct sockaddr_in ip = {.sin_family = AF_INET, .sin_port = htons((uint16_t)l->o->port)};
    ip.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    for (uint32_t i = 0; i < l->o->connections; i++) {
        conn *c = &l->conns[i];
        c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        c->in = malloc(IN_SIZE);
        if (c->fd < 0 || !c->in || connect(c->fd, (struct sockaddr *)&ip, sizeof ip) != 0)
            bench_die("cannot connect: %s", strerror(errno));
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &e);
    }
}

static void take_events(load *l) {
    struct epoll_event events[256];
    int n = epoll_wait(l->epoll, events, 256, 0);
    for (int i = 0; i < n; i++) {
        if (events[i].events & EPOLLOUT)
            flush(l, events[i].data.ptr);
        read_answers(l, events[i].data.ptr);
    }
}

/* ---- the run ---- */

static void print_slice(const load *l, uint64_t i) {
    const bench_histogram *h = &l->slices[i];
    printf("{\"ms\": %llu, \"count\": %llu, \"p50\": %.3f, \"p99\": %.3f, \"max\": %.3f}\n",
           (unsigned long long)(i * l->o->slice_ms), (unsigned long long)h->count,
           bench_histogram_at(h, 0.5), bench_histogram_at(h, 0.99), bench_histogram_at(h, 1));
}

static void print_part(const char *name, const bench_histogram *h, uint64_t sent) {
    printf("\"%s\": {\"sent\": %llu, \"p50\": %.3f, \"p90\": %.3f, \"p99\": %.3f, \"p999\": %.3f, "
           "\"max\": %.3f}, ",
           name, (unsigned long long)sent, bench_histogram_at(h, 0.5), bench_histogram_at(h, 0.9),
           bench_histogram_at(h, 0.99), bench_histogram_at(h, 0.999), bench_histogram_at(h, 1));
}

static void print_all(load *l, double seconds) {
    uint64_t sent = 0;
    for (uint64_t i = 0; i < l->slice_count; i++)
        print_slice(l, i);
    printf("{");
    for (int k = 0; k < KINDS; k++) {
        print_part(kind_names[k], &l->kinds[k], l->sent[k]);
        bench_histogram_merge(&l->all, &l->kinds[k]);
        sent += l->sent[k];
    }
    print_part("all", &l->all, sent);
    printf("\"seconds\": %.2f, \"errors\": %llu, \"unanswered\": %llu}\n", seconds,
           (unsigned long long)l->errors, (unsigned long long)l->in_flight);
}

/* Put what is due by now; false: the run is over. */
static bool put_due(load *l, uint64_t now_ns, const double period_ns[KINDS], uint64_t end_ns) {
    bool is_open = false;
    for (int k = 0; k < KINDS; k++) {
        while (l->o->rate[k]) {
            uint64_t due = l->start_ns + (uint64_t)((double)l->sent[k] * period_ns[k]);
            if (due >= end_ns)
                break;
            is_open = true;
            if (due > now_ns)
                break;
            put(l, (kind)k, due);
        }
    }
    return is_open;
}

static void run(load *l) {
    double period_ns[KINDS];
    for (int k = 0; k < KINDS; k++)
        period_ns[k] = l->o->rate[k] ? 1e9 / (double)l->o->rate[k] : 0;
    l->slice_ns = l->o->slice_ms * 1000000;
    l->slice_count = l->o->seconds * 1000 / l->o->slice_ms;
    l->slices = calloc(l->slice_count, sizeof *l->slices);
    if (!l->slices)
        bench_die("out of memory");
    l->start_ns = bench_now_ns() + 10000000;
    uint64_t end_ns = l->start_ns + l->o->seconds * 1000000000;
    bool is_open = true;
    for (uint64_t now = bench_now_ns();
         is_open || (l->in_flight && now < end_ns + (uint64_t)LATE_S * 1000000000);
         now = bench_now_ns()) {
        is_open = is_open && l->in_flight < BEHIND_MAX && put_due(l, now, period_ns, end_ns);
        for (uint32_t i = 0; i < l->o->connections; i++)
            if (l->conns[i].out_at < l->conns[i].out_len && !l->conns[i].is_blocked)
                flush(l, &l->conns[i]);
        take_events(l);
    }
    print_all(l, bench_seconds_since(l->start_ns));
}

/* ---- filling ---- */

typedef struct fill {
    const options *o;
    uint64_t next;
} fill;

static uint32_t make_fill(void *ctx, char *out, size_t *length_out) {
    fill *f = ctx;
    uint64_t left = f->next < f->o->players ? f->o->players - f->next : 1;
    uint32_t pairs = left < FILL_PAIRS ? (uint32_t)left : FILL_PAIRS;
    int len = snprintf(out, BENCH_COMMAND_MAX, "*%u\r\n$4\r\nZADD\r\n$%zu\r\n%s\r\n", 2 + 2 * pairs,
                       strlen(f->o->board), f->o->board);
    for (uint32_t i = 0; i < pairs; i++, f->next++) {
        char score[16];
        uint64_t player = f->next % f->o->players;
        int digits = snprintf(score, sizeof score, "%u",
                              (unsigned)(player * UINT64_C(2654435761) % SCORE_MAX));
        len += snprintf(out + len, (size_t)(BENCH_COMMAND_MAX - len),
                        "$%d\r\n%s\r\n$15\r\nplayer:%08llu\r\n", digits, score,
                        (unsigned long long)player);
    }
    *length_out = (size_t)len;
    return 1;
}

static void fill_board(const options *o) {
    static bench_load l = {.connections = 4, .depth = 4};
    fill f = {.o = o};
    bench_address address = {.port = (uint16_t)o->port};
    bench_load_connect(&l, &address);
    bench_load_run(&l, make_fill, &f, 3600, (o->players + FILL_PAIRS - 1) / FILL_PAIRS);
    if (l.errors)
        bench_die("%llu commands failed", (unsigned long long)l.errors);
    bench_load_close(&l);
}

int main(int argc, char **argv) {
    static options o = {.what = "load",
                        .protocol = "resp",
                        .board = "race",
                        .players = 1000000,
                        .seconds = 10,
                        .connections = 48,
                        .slice_ms = 100,
                        .rate = {100000, 200000, 50000}};
    static load l;
    const bench_option own[] = {
        {"--do", BENCH_TEXT, &o.what, "load or fill"},
        {"--protocol", BENCH_TEXT, &o.protocol, "resp or http"},
        {"--board", BENCH_TEXT, &o.board, "the board, or key"},
        {"--port", BENCH_NUMBER, &o.port, "on 127.0.0.1"},
        {"--players", BENCH_NUMBER, &o.players, "in the board"},
        {"--seconds", BENCH_NUMBER, &o.seconds, "to send requests"},
        {"--connections", BENCH_NUMBER, &o.connections, "at most 1024"},
        {"--slice", BENCH_NUMBER, &o.slice_ms, "milliseconds of one line of the timeline"},
        {"--writes", BENCH_NUMBER, &o.rate[WRITE], "submissions per second"},
        {"--ranks", BENCH_NUMBER, &o.rate[RANK], "ranks per second"},
        {"--tops", BENCH_NUMBER, &o.rate[TOP], "first ten per second"},
        {0}};
    bench_options common = {.section = "load", .seed = 1, .rounds = 1};
    bench_options_parse(&common, argc, argv, "an open load on a running server", own);
    o.is_http = strcmp(o.protocol, "http") == 0;
    if (!o.port || o.port > 65535 || !o.players || !o.seconds || !o.slice_ms || !o.connections ||
        o.connections > CONNECTIONS_MAX || strlen(o.board) > 64)
        bench_die("--port is needed; 1 to %d connections", CONNECTIONS_MAX);
    if (strcmp(o.what, "fill") == 0) {
        fill_board(&o);
        return 0;
    }
    l.o = &o;
    rung_rng_seed(&l.rng, common.seed);
    connect_all(&l);
    run(&l);
    return 0;
}
