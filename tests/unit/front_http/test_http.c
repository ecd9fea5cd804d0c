/* SPDX-License-Identifier: Apache-2.0 */
/* The transport as clients meet it, over real sockets: bodies, order, limits, streams, ends. */
/* ctest: labels=thread timeout=180 */
#include "front/http/http.h"

#include "support/netkit.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

/* ---- a handler with a route for each thing to try ---- */

typedef struct kit {
    netkit net;
    rung_http *http;
    rung_exchange *later[64]; /* those that wait for answer_later() */
    uint32_t later_count, gone, observed, handled, drained;
    bool is_held; /* a stream's body has been held up */
    uint64_t observed_bytes_in, observed_bytes_out;
    int last_status;
} kit;

static bool is_path(rung_exchange *x, const char *path) {
    return rung_slice_eq(rung_exchange_request(x)->path, rung_slice_str(path));
}

static void on_gone(void *ctx, rung_exchange *x) {
    kit *k = ctx;
    k->gone++;
    for (uint32_t i = 0; i < k->later_count; i++)
        if (k->later[i] == x)
            k->later[i] = k->later[--k->later_count];
    rung_exchange_cut(x);
}

static void wait_for_later(kit *k, rung_exchange *x) {
    k->later[k->later_count++] = x;
    rung_exchange_watch(x, &(rung_exchange_watcher){.gone = on_gone, .ctx = k});
}

static void got_body(void *ctx, rung_exchange *x, rung_slice body) {
    (void)ctx;
    rung_exchange_answer(x, 200, "text/x-echo", body);
}

static void got_body_later(void *ctx, rung_exchange *x, rung_slice body) {
    char *copy = rung_exchange_alloc(x, body.len + 1);
    memcpy(copy, body.ptr, body.len);
    rung_exchange_set_user(x, copy);
    wait_for_later(ctx, x);
}

static void got_piece(void *ctx, rung_exchange *x, rung_slice piece) {
    if (!piece.len) {
        rung_exchange_end(x);
    } else if (!rung_exchange_write(x, piece)) {
        ((kit *)ctx)->is_held = true;
        rung_exchange_hold(x);
    }
}

static void on_stream_drained(void *ctx, rung_exchange *x) {
    ((kit *)ctx)->drained++;
    rung_exchange_go_on(x);
}

/* Ten megabytes in pieces, as fast as they are taken. */
typedef struct flood {
    kit *kit;
    uint32_t left;
} flood;

static void pour(void *ctx, rung_exchange *x) {
    static char junk[10000];
    flood *f = ctx;
    memset(junk, 'f', sizeof junk);
    while (f->left) {
        f->left--;
        if (!rung_exchange_write(x, rung_slice_of(junk, sizeof junk)) && f->left) {
            f->kit->drained++;
            return;
        }
    }
    rung_exchange_end(x);
}

static void flood_gone(void *ctx, rung_exchange *x) {
    ((flood *)ctx)->kit->gone++;
    rung_exchange_cut(x);
}

static void begin_flood(kit *k, rung_exchange *x) {
    flood *f = rung_exchange_alloc(x, sizeof *f);
    *f = (flood){k, 1000};
    rung_exchange_watch(x, &(rung_exchange_watcher){pour, flood_gone, f});
    rung_exchange_begin(x, 200, RUNG_TYPE_TEXT);
    pour(f, x);
}

static void *raw_opened(void *ctx, rung_conn *c) {
    (void)ctx;
    (void)c;
    return NULL;
}

static size_t raw_data(rung_conn *c, rung_slice bytes) {
    rung_conn_write(c, RUNG_SLICE("raw:"));
    rung_conn_write(c, bytes);
    return bytes.len;
}

static void raw_closed(rung_conn *c) {
    (void)c;
}

static const rung_protocol raw = {.opened = raw_opened, .data = raw_data, .closed = raw_closed};

static void handle(void *ctx, rung_exchange *x) {
    kit *k = ctx;
    const rung_request *r = rung_exchange_request(x);
    k->handled++;
    if (is_path(x, "/hello")) {
        rung_exchange_answer(x, 200, RUNG_TYPE_JSON, RUNG_SLICE("{\"hello\":1}"));
    } else if (is_path(x, "/echo")) {
        rung_exchange_collect(x, 100000, got_body, k);
    } else if (is_path(x, "/small")) {
        rung_exchange_collect(x, 10, got_body, k);
    } else if (is_path(x, "/echo-later")) {
        rung_exchange_collect(x, 1000, got_body_later, k);
    } else if (is_path(x, "/stream")) {
        rung_exchange_watch(x, &(rung_exchange_watcher){on_stream_drained, on_gone, k});
        rung_exchange_stream(x, UINT64_MAX, got_piece, k);
        rung_exchange_begin(x, 200, RUNG_TYPE_NDJSON);
    } else if (is_path(x, "/limited-stream")) {
        rung_exchange_watch(x, &(rung_exchange_watcher){NULL, on_gone, k});
        rung_exchange_stream(x, 10, got_piece, k);
    } else if (is_path(x, "/later")) {
        wait_for_later(k, x);
    } else if (is_path(x, "/flood")) {
        begin_flood(k, x);
    } else if (is_path(x, "/cut")) {
        rung_exchange_begin(x, 200, RUNG_TYPE_TEXT);
        rung_exchange_write(x, RUNG_SLICE("half"));
        rung_exchange_cut(x);
    } else if (is_path(x, "/sized")) {
        rung_exchange_begin_sized(x, 206, RUNG_TYPE_BYTES, 8);
        rung_exchange_write(x, RUNG_SLICE("half"));
        rung_exchange_write(x, RUNG_SLICE("half"));
        rung_exchange_end(x);
    } else if (is_path(x, "/big")) {
        static char big[20000];
        memset(big, 'b', sizeof big);
        rung_exchange_answer(x, 200, RUNG_TYPE_JSON, rung_slice_of(big, sizeof big));
    } else if (is_path(x, "/none")) {
        rung_exchange_set(x, "X-Evil", RUNG_SLICE("a\r\nb: c"));
        rung_exchange_answer(x, 204, NULL, (rung_slice){0});
    } else if (is_path(x, "/raw") && r->wants_upgrade) {
        rung_exchange_upgrade(x, RUNG_SLICE("Upgrade: websocket\r\n"), &raw, k);
    } else if (is_path(x, "/query")) {
        rung_exchange_answer(x, 200, RUNG_TYPE_TEXT, r->query);
    } else {
        char detail[256];
        int len = snprintf(detail, sizeof detail, "%.*s: \"nothing\" here", (int)r->path.len,
                           r->path.ptr);
        rung_exchange_problem(x, 404, "not_found", (rung_slice){0},
                              rung_slice_of(detail, (size_t)len));
    }
}

static void observe(void *ctx, const rung_exchange *x, int status, uint64_t took_us,
                    uint64_t bytes_in, uint64_t bytes_out) {
    kit *k = ctx;
    (void)x;
    (void)took_us;
    k->observed++;
    k->last_status = status;
    k->observed_bytes_in += bytes_in;
    k->observed_bytes_out += bytes_out;
}

static void answer_at(kit *k, uint32_t i) {
    rung_exchange *x = k->later[i];
    k->later_count--;
    memmove(k->later + i, k->later + i + 1, (k->later_count - i) * sizeof *k->later);
    const char *text = rung_exchange_user(x);
    rung_slice query = rung_exchange_request(x)->query;
    rung_exchange_answer(x, 200, RUNG_TYPE_TEXT, text ? rung_slice_str(text) : query);
}

static void answer_newest(void *ctx) {
    kit *k = ctx;
    if (k->later_count)
        answer_at(k, k->later_count - 1);
}

static void answer_oldest(void *ctx) {
    kit *k = ctx;
    if (k->later_count)
        answer_at(k, 0);
}

static void start_with(kit *k, rung_http_config config, rung_net_config net) {
    memset(k, 0, sizeof *k);
    netkit_start(&k->net, &net);
    config.alloc = rung_failalloc_port(&k->net.heap);
    config.net = k->net.net;
    config.handle = handle;
    config.observe = observe;
    config.ctx = k;
    CHECK_OK(rung_http_create(&config, &k->http, NULL));
    netkit_listen(&k->net, rung_http_protocol(), k->http, NULL);
    netkit_run(&k->net);
}

static void start(kit *k) {
    start_with(k, (rung_http_config){0}, (rung_net_config){0});
}

static void stop(kit *k) {
    netkit_begin_stop(&k->net, 3000);
    netkit_join(&k->net);
    while (k->later_count)
        answer_oldest(k); /* they outlive their connections */
    CHECK_EQ_U64(rung_http_stat(k->http).in_flight, 0);
    rung_http_destroy(k->http);
    netkit_end(&k->net);
}

typedef struct count_call {
    kit *kit;
    uint32_t count;
} count_call;

static void read_later(void *ctx) {
    count_call *c = ctx;
    c->count = c->kit->later_count;
}

static void read_is_held(void *ctx) {
    count_call *c = ctx;
    c->count = c->kit->is_held;
}

static void read_refused(void *ctx) {
    count_call *c = ctx;
    rung_http_stats stats = rung_http_stat(c->kit->http);
    c->count = (uint32_t)(stats.malformed + stats.timed_out);
}

/* Wait until the server's thread counts that many. */
static void await(kit *k, void (*read)(void *ctx), uint32_t count) {
    count_call c = {k, 0};
    while (netkit_call(&k->net, read, &c), c.count != count)
        usleep(1000);
}

static void await_later(kit *k, uint32_t count) {
    await(k, read_later, count);
}

/* ---- a client ---- */

static char answer[1 << 20];

/* Send, half close, read everything. */
static const char *ask(kit *k, const char *request) {
    int fd = netkit_connect(&k->net);
    netkit_send(fd, request);
    netkit_read_all(fd, answer, sizeof answer, NULL);
    close(fd);
    return answer;
}

static const char *ask_close(kit *k, const char *start_line, const char *more) {
    char request[4096];
    snprintf(request, sizeof request, "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s",
             start_line, more);
    return ask(k, request);
}

static bool has(const char *text, const char *part) {
    return strstr(text, part) != NULL;
}

#define CHECK_HAS(text, part)                                                                      \
    do {                                                                                           \
        const char *checked_ = (text);                                                             \
        CHECK_MSG(has(checked_, (part)), "\"%s\" is not in:\n%s", (part), checked_);               \
    } while (0)

/* One answer with a Content-Length from a connection that stays open; returns its body. */
static const char *next_answer(int fd) {
    size_t len = 0;
    char *end;
    for (answer[0] = 0; !(end = strstr(answer, "\r\n\r\n")); len++)
        netkit_read_exactly(fd, answer + len, 1);
    const char *field = strstr(answer, "Content-Length: ");
    size_t body = field ? strtoul(field + 16, NULL, 10) : 0;
    netkit_read_exactly(fd, end + 4, body);
    return end + 4;
}

/* ---- tests ---- */

TEST(an_answer_has_what_it_needs) {
    kit k;
    start(&k);
    const char *a = ask_close(&k, "GET /hello", "\r\n");
    CHECK(strncmp(a, "HTTP/1.1 200 OK\r\nDate: ", 23) == 0);
    CHECK_HAS(a, "\r\nContent-Type: application/json\r\n");
    CHECK_HAS(a, "\r\nContent-Length: 11\r\n");
    CHECK_HAS(a, "\r\nX-Content-Type-Options: nosniff\r\n");
    CHECK_HAS(a, "\r\nConnection: close\r\n");
    CHECK_HAS(a, "\r\n\r\n{\"hello\":1}");
    a = ask_close(&k, "GET /a%22b", "\r\n");
    CHECK_HAS(a, "HTTP/1.1 404 Not Found\r\n");
    CHECK_HAS(a, "application/problem+json");
    CHECK_HAS(a,
              "\"status\":404,\"code\":\"not_found\",\"detail\":\"/a%22b: \\\"nothing\\\" here\"}");
    a = ask_close(&k, "GET /query?a=b&c", "\r\n");
    CHECK_HAS(a, "\r\n\r\na=b&c");
    a = ask_close(&k, "DELETE /none", "\r\n");
    CHECK_HAS(a, "HTTP/1.1 204 No Content\r\n");
    CHECK_HAS(a, "X-Evil: a  b: c\r\n");
    CHECK(!has(a, "Content-Length"));
    stop(&k);
    CHECK_EQ_U64(k.observed, 4);
    CHECK(k.observed_bytes_in > 0 && k.observed_bytes_out > 0);
}

TEST(head_is_get_without_the_body) {
    kit k;
    start(&k);
    const char *a = ask_close(&k, "HEAD /hello", "\r\n");
    CHECK_HAS(a, "Content-Length: 11\r\n");
    CHECK(strcmp(strstr(a, "\r\n\r\n"), "\r\n\r\n") == 0);
    a = ask_close(&k, "HEAD /flood", "\r\n");
    CHECK_HAS(a, "Transfer-Encoding: chunked");
    CHECK(strcmp(strstr(a, "\r\n\r\n"), "\r\n\r\n") == 0);
    stop(&k);
}

TEST(bodies_come_whole_however_they_are_cut) {
    kit k;
    start(&k);
    static const char plain[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello "
                                "world";
    static const char chunked[] =
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\nhello\r\n1;x=y\r\n \r\n5\r\nworld\r\n0\r\nT: v\r\n\r\n";
    const char *both[] = {plain, chunked};
    int fd = netkit_connect(&k.net);
    for (int i = 0; i < 2; i++)
        for (size_t split = 1; split < strlen(both[i]); split += 3) {
            netkit_send_bytes(fd, both[i], split);
            usleep(200);
            netkit_send(fd, both[i] + split);
            CHECK_EQ_STR(next_answer(fd), "hello world");
        }
    netkit_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    CHECK_EQ_STR(next_answer(fd), "");
    netkit_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK_EQ_STR(next_answer(fd), "");
    close(fd);
    stop(&k);
}

TEST(a_body_over_the_limit_is_413) {
    kit k;
    start(&k);
    const char *a =
        ask(&k, "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello world");
    CHECK_HAS(a, "413 Content Too Large");
    CHECK_HAS(a, "\"too_large\"");
    a = ask(&k, "POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                "b\r\nhello world\r\n0\r\n\r\n");
    CHECK_HAS(a, "413 Content Too Large");
    a = ask(&k, "POST /limited-stream HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                "b\r\nhello world\r\n0\r\n\r\n");
    CHECK_HAS(a, "413 Content Too Large");
    stop(&k);
    CHECK_EQ_U64(k.gone, 1);
}

TEST(continue_is_said_when_the_body_is_wanted) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
                    "Expect: 100-continue\r\n\r\n");
    char first[64];
    netkit_read_exactly(fd, first, 25);
    CHECK_EQ_STR(first, "HTTP/1.1 100 Continue\r\n\r\n");
    netkit_send(fd, "ok");
    CHECK_EQ_STR(next_answer(fd), "ok");
    /* Not wanted: no 100, and the connection closes, since the client may or may not send it. */
    netkit_send(fd, "POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
                    "Expect: 100-continue\r\n\r\n");
    netkit_read_all(fd, answer, sizeof answer, NULL);
    CHECK(strncmp(answer, "HTTP/1.1 200", 12) == 0);
    CHECK_HAS(answer, "Connection: close");
    close(fd);
    stop(&k);
}

TEST(an_unread_body_does_not_become_a_request) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 35\r\n\r\n"
                    "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
                    "GET /query?after HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK_EQ_STR(next_answer(fd), "{\"hello\":1}");
    CHECK_EQ_STR(next_answer(fd), "after");
    close(fd);
    /* A long one is not waited for. */
    const char *a = ask(&k, "POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n");
    CHECK_HAS(a, "Connection: close");
    stop(&k);
}

TEST(pipelined_answers_keep_their_order) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    netkit_send(fd,
                "GET /later?1 HTTP/1.1\r\nHost: x\r\n\r\nGET /later?2 HTTP/1.1\r\nHost: x\r\n\r\n"
                "GET /query?3 HTTP/1.1\r\nHost: x\r\n\r\nGET /flood HTTP/1.1\r\nHost: x\r\n\r\n"
                "GET /later?5 HTTP/1.1\r\nHost: x\r\n\r\n");
    await_later(&k, 3);
    for (int i = 0; i < 3; i++)
        netkit_call(&k.net, answer_newest, &k);
    CHECK_EQ_STR(next_answer(fd), "1");
    CHECK_EQ_STR(next_answer(fd), "2");
    CHECK_EQ_STR(next_answer(fd), "3");
    /* The flood, chunk by chunk of its fixed size, then the last. */
    size_t len = 0;
    for (answer[0] = 0; !strstr(answer, "\r\n\r\n"); len++)
        netkit_read_exactly(fd, answer + len, 1);
    for (int i = 0; i < 1000; i++) {
        netkit_read_exactly(fd, answer, 6 + 10000 + 2);
        CHECK(strncmp(answer, "2710\r\n", 6) == 0);
    }
    netkit_read_exactly(fd, answer, 5);
    CHECK_EQ_STR(answer, "0\r\n\r\n");
    CHECK_EQ_STR(next_answer(fd), "5");
    close(fd);
    stop(&k);
    CHECK(k.drained > 0);
}

TEST(a_request_that_changes_something_is_alone) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    netkit_send(fd,
                "GET /later?1 HTTP/1.1\r\nHost: x\r\n\r\n"
                "POST /echo-later HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n2"
                "POST /echo-later HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                "1\r\n3\r\n0\r\n\r\n"
                "GET /later?4 HTTP/1.1\r\nHost: x\r\n\r\nGET /later?5 HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 1; i <= 3; i++) {
        await_later(&k, 1);
        netkit_call(&k.net, answer_oldest, &k);
        char want[2] = {(char)('0' + i), 0};
        CHECK_EQ_STR(next_answer(fd), want);
    }
    await_later(&k, 2); /* those that only read run side by side */
    netkit_call(&k.net, answer_newest, &k);
    netkit_call(&k.net, answer_newest, &k);
    CHECK_EQ_STR(next_answer(fd), "4");
    CHECK_EQ_STR(next_answer(fd), "5");
    close(fd);
    stop(&k);
}

TEST(more_pipelined_requests_than_allowed_wait) {
    kit k;
    start_with(&k, (rung_http_config){.pipeline_max = 3}, (rung_net_config){0});
    int fd = netkit_connect(&k.net);
    for (int i = 0; i < 8; i++) {
        char request[64];
        snprintf(request, sizeof request, "GET /later?%d HTTP/1.1\r\nHost: x\r\n\r\n", i);
        netkit_send(fd, request);
    }
    for (int i = 0; i < 8; i++) {
        char want[2] = {(char)('0' + i), 0};
        await_later(&k, i < 6 ? 3 : 8 - (uint32_t)i);
        netkit_call(&k.net, answer_oldest, &k);
        CHECK_EQ_STR(next_answer(fd), want);
    }
    close(fd);
    stop(&k);
}

TEST(too_many_requests_in_all_are_503) {
    kit k;
    start_with(&k, (rung_http_config){.in_flight_max = 2}, (rung_net_config){0});
    int a = netkit_connect(&k.net), b = netkit_connect(&k.net);
    netkit_send(a, "GET /later?a HTTP/1.1\r\nHost: x\r\n\r\n");
    netkit_send(b, "GET /later?b HTTP/1.1\r\nHost: x\r\n\r\n");
    await_later(&k, 2);
    const char *text = ask_close(&k, "GET /hello", "\r\n");
    CHECK_HAS(text, "503 Service Unavailable");
    CHECK_HAS(text, "\r\nRetry-After: 1\r\n");
    CHECK_HAS(text, "\"overloaded\"");
    netkit_call(&k.net, answer_oldest, &k);
    CHECK_EQ_STR(next_answer(a), "a");
    CHECK_HAS(ask_close(&k, "GET /hello", "\r\n"), "200 OK");
    close(a);
    close(b);
    stop(&k);
}

TEST(too_many_connections_are_told) {
    kit k;
    start_with(&k, (rung_http_config){0}, (rung_net_config){.connections_max = 1});
    int a = netkit_connect(&k.net);
    netkit_send(a, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    next_answer(a);
    const char *text = ask_close(&k, "GET /hello", "\r\n");
    CHECK_HAS(text, "503 Service Unavailable");
    const char *body = strstr(text, "\r\n\r\n") + 4;
    CHECK_EQ_U64(strlen(body), strtoul(strstr(text, "Content-Length: ") + 16, NULL, 10));
    close(a);
    stop(&k);
}

TEST(a_client_that_goes_away_is_told_of) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    netkit_send(fd,
                "GET /later?1 HTTP/1.1\r\nHost: x\r\n\r\nGET /later?2 HTTP/1.1\r\nHost: x\r\n\r\n");
    await_later(&k, 2);
    struct linger hard = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(fd);
    await_later(&k, 0);
    stop(&k);
    CHECK_EQ_U64(k.gone, 2);
    CHECK_EQ_I64(k.last_status, 0);
}

TEST(a_half_closed_client_gets_all_its_answers) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    netkit_send(fd,
                "GET /later?1 HTTP/1.1\r\nHost: x\r\n\r\nGET /later?2 HTTP/1.1\r\nHost: x\r\n\r\n");
    shutdown(fd, SHUT_WR);
    await_later(&k, 2);
    netkit_call(&k.net, answer_newest, &k);
    netkit_call(&k.net, answer_newest, &k);
    netkit_read_all(fd, answer, sizeof answer, NULL);
    CHECK_HAS(answer, "\r\n\r\n1HTTP/1.1 200");
    CHECK_HAS(answer, "\r\n\r\n2");
    close(fd);
    stop(&k);
}

TEST(a_stream_goes_both_ways_within_bounds) {
    kit k;
    enum { PIECES = 3000, SIZE = 4000 };
    start_with(&k, (rung_http_config){0}, (rung_net_config){.output_high = 100000});
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "POST /stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n");
    pid_t child = fork(); /* one sends; the other reads when the server has stopped reading */
    if (child == 0) {
        static char piece[SIZE + 16];
        int head = snprintf(piece, sizeof piece, "%x\r\n", SIZE);
        memset(piece + head, 's', SIZE);
        memcpy(piece + head + SIZE, "\r\n", 2);
        for (int i = 0; i < PIECES; i++)
            netkit_send_bytes(fd, piece, (size_t)head + SIZE + 2);
        netkit_send(fd, "0\r\n\r\n");
        _exit(0);
    }
    await(&k, read_is_held, 1);
    size_t len = 0, in_body = 0;
    for (answer[0] = 0; !strstr(answer, "\r\n\r\n"); len++)
        netkit_read_exactly(fd, answer + len, 1);
    for (;;) {
        ssize_t n = netkit_read(fd, answer, sizeof answer);
        CHECK(n >= 0);
        if (n == 0)
            break;
        for (ssize_t i = 0; i < n; i++)
            in_body += answer[i] == 's';
    }
    CHECK_EQ_U64(in_body, (uint64_t)PIECES * SIZE);
    close(fd);
    netkit_begin_stop(&k.net, 3000);
    netkit_join(&k.net);
    CHECK(k.net.heap.live_bytes_max < 2000000); /* 12 MB went through */
    rung_http_destroy(k.http);
    netkit_end(&k.net);
}

/* A body that is asked for is wanted, however long it is. */
TEST(a_long_streamed_body_keeps_the_connection) {
    static char piece[100000];
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "POST /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n"
                    "Expect: 100-continue\r\n\r\n");
    netkit_read_exactly(fd, answer, 25);
    CHECK_EQ_STR(answer, "HTTP/1.1 100 Continue\r\n\r\n");
    size_t len = 0;
    for (answer[0] = 0; !strstr(answer, "\r\n\r\n"); len++)
        netkit_read_exactly(fd, answer + len, 1);
    CHECK(strncmp(answer, "HTTP/1.1 200", 12) == 0);
    CHECK(!has(answer, "Connection: close"));
    memset(piece, 's', sizeof piece);
    netkit_send_bytes(fd, piece, sizeof piece);
    for (len = 0, answer[0] = 0; !strstr(answer, "\r\n0\r\n\r\n"); len++)
        netkit_read_exactly(fd, answer + len, 1);
    netkit_send(fd, "GET /query?next HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK_EQ_STR(next_answer(fd), "next");
    close(fd);
    stop(&k);
}

TEST(half_heads_are_small) {
    kit k;
    enum { COUNT = 300 };
    static const char half[] = "GET /echo HTTP/1.1\r\nHost: x\r\nA: b\r\nC: d";
    int fds[COUNT];
    start(&k);
    for (int i = 0; i < COUNT; i++) {
        fds[i] = netkit_connect(&k.net);
        netkit_send(fds[i], half);
    }
    const char *a = ask_close(&k, "GET /echo", "\r\n"); /* by now all of them were read */
    CHECK(strncmp(a, "HTTP/1.1 200", 12) == 0);
    netkit_begin_stop(&k.net, 100);
    netkit_join(&k.net);
    CHECK(k.net.heap.live_bytes_max < 400000 + COUNT * 3072);
    rung_http_destroy(k.http);
    netkit_end(&k.net);
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
}

TEST(a_cut_answer_looks_cut) {
    kit k;
    start(&k);
    const char *a = ask_close(&k, "GET /cut", "\r\n");
    CHECK(!has(a, "0\r\n\r\n"));
    stop(&k);
}

TEST(pieces_of_a_known_length) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    for (int minor = 0; minor < 2; minor++) {
        char request[100];
        snprintf(request, sizeof request,
                 "GET /sized HTTP/1.%d\r\nHost: x\r\nConnection: keep-alive\r\n\r\n", minor);
        netkit_send(fd, request);
        CHECK_EQ_STR(next_answer(fd), "halfhalf");
        CHECK_HAS(answer, "HTTP/1.1 206 Partial Content\r\n");
        CHECK_HAS(answer, "Content-Length: 8\r\n");
        CHECK(!has(answer, "chunked"));
    }
    close(fd);
    CHECK_HAS(ask_close(&k, "HEAD /sized", "\r\n"), "Content-Length: 8\r\n");
    CHECK(!has(answer, "half"));
    stop(&k);
}

TEST(old_clients_are_served) {
    kit k;
    start(&k);
    const char *a = ask(&k, "GET /hello HTTP/1.0\r\n\r\n");
    CHECK_HAS(a, "Connection: close");
    a = ask(&k, "GET /flood HTTP/1.0\r\n\r\n");
    CHECK(!has(a, "chunked"));
    int fd = netkit_connect(&k.net);
    for (int i = 0; i < 2; i++) {
        netkit_send(fd, "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        CHECK_EQ_STR(next_answer(fd), "{\"hello\":1}");
        CHECK_HAS(answer, "Connection: keep-alive");
    }
    close(fd);
    stop(&k);
}

TEST(slow_heads_and_bodies_are_408) {
    kit k;
    start_with(
        &k, (rung_http_config){.head_ms = 200, .body_ms = 200, .body_rate = 1000, .idle_ms = 400},
        (rung_net_config){0});
    CHECK_HAS(ask(&k, "GET /hello HT"), "408 Request Timeout");
    CHECK_HAS(ask(&k, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel"),
              "408 Request Timeout");
    CHECK_HAS(ask(&k, "POST /limited-stream HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"),
              "408 Request Timeout");
    CHECK_EQ_STR(ask(&k, ""), ""); /* idle: just closed */
    netkit_begin_stop(&k.net, 3000);
    netkit_join(&k.net);
    CHECK_EQ_U64(rung_http_stat(k.http).timed_out, 3);
    rung_http_destroy(k.http);
    netkit_end(&k.net);
}

TEST(answers_are_packed_when_asked) {
    kit k;
    start(&k);
    const char *a = ask_close(&k, "GET /big", "Accept-Encoding: br, gzip\r\n\r\n");
    CHECK_HAS(a, "Content-Encoding: gzip\r\n");
    CHECK_HAS(a, "Vary: Accept-Encoding\r\n");
    size_t len = strtoul(strstr(a, "Content-Length: ") + 16, NULL, 10);
    static char plain[20001];
    z_stream z = {.next_in = (Bytef *)(uintptr_t)(strstr(a, "\r\n\r\n") + 4),
                  .avail_in = (uInt)len,
                  .next_out = (Bytef *)plain,
                  .avail_out = sizeof plain};
    CHECK(inflateInit2(&z, 15 + 16) == Z_OK && inflate(&z, Z_FINISH) == Z_STREAM_END);
    CHECK_EQ_U64(z.total_out, 20000);
    inflateEnd(&z);
    a = ask_close(&k, "GET /big", "Accept-Encoding: gzip;q=0\r\n\r\n");
    CHECK_HAS(a, "Content-Length: 20000\r\n");
    CHECK_HAS(a, "Vary: Accept-Encoding\r\n");
    a = ask_close(&k, "GET /hello", "Accept-Encoding: gzip\r\n\r\n");
    CHECK(!has(a, "gzip"));
    stop(&k);
}

TEST(cors_is_for_the_configured_origins) {
    kit k;
    const char *const origins[] = {"https://game.example", NULL};
    start_with(&k, (rung_http_config){.cors_origins = origins}, (rung_net_config){0});
    const char *a = ask_close(&k, "GET /hello", "Origin: https://game.example\r\n\r\n");
    CHECK_HAS(a, "Access-Control-Allow-Origin: https://game.example\r\n");
    CHECK_HAS(a, "Vary: Origin\r\n");
    a = ask_close(&k, "GET /hello", "Origin: https://evil.example\r\n\r\n");
    CHECK(!has(a, "Access-Control"));
    a = ask_close(&k, "OPTIONS /hello",
                  "Origin: https://game.example\r\nAccess-Control-Request-Method: PUT\r\n\r\n");
    CHECK_HAS(a, "204 No Content");
    CHECK_HAS(a, "Access-Control-Allow-Methods: ");
    a = ask_close(&k, "OPTIONS /hello",
                  "Origin: https://evil.example\r\nAccess-Control-Request-Method: PUT\r\n\r\n");
    CHECK_HAS(a, "403 Forbidden");
    stop(&k);
    CHECK_EQ_U64(k.handled, 2);
}

TEST(an_upgrade_leaves_http) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "GET /raw HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\n"
                    "Upgrade: websocket\r\n\r\nGET /");
    size_t len = 0;
    for (answer[0] = 0; !strstr(answer, "\r\n\r\n"); len++)
        netkit_read_exactly(fd, answer + len, 1);
    CHECK_HAS(answer, "HTTP/1.1 101 Switching Protocols\r\n");
    netkit_read_exactly(fd, answer, 9);
    CHECK_EQ_STR(answer, "raw:GET /");
    close(fd);
    /* Not by accident: without both fields it is an ordinary request. */
    CHECK_HAS(ask_close(&k, "GET /raw", "Upgrade: websocket\r\n\r\n"), "404");
    CHECK_HAS(ask_close(&k, "GET /hello", "Upgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n"), "200 OK");
    stop(&k);
}

TEST(stop_finishes_what_is_under_way) {
    kit k;
    start(&k);
    int busy = netkit_connect(&k.net), idle = netkit_connect(&k.net);
    netkit_send(idle, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    next_answer(idle);
    netkit_send(busy, "GET /later?last HTTP/1.1\r\nHost: x\r\n\r\n");
    await_later(&k, 1);
    netkit_begin_stop(&k.net, 10000);
    CHECK(netkit_read(idle, answer, sizeof answer) == 0);
    close(idle);
    netkit_call(&k.net, answer_oldest, &k);
    netkit_read_all(busy, answer, sizeof answer, NULL);
    CHECK_HAS(answer, "Connection: close");
    CHECK_HAS(answer, "\r\n\r\nlast");
    close(busy);
    netkit_join(&k.net);
    rung_http_destroy(k.http);
    netkit_end(&k.net);
}

static void drain(void *ctx) {
    rung_http_drain(((kit *)ctx)->http);
}

TEST(a_draining_server_closes_with_the_next_answer) {
    kit k;
    start(&k);
    int busy = netkit_connect(&k.net), idle = netkit_connect(&k.net);
    netkit_send(idle, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    next_answer(idle);
    CHECK(!strstr(answer, "Connection: close"));
    netkit_send(busy, "GET /later?one HTTP/1.1\r\nHost: x\r\n\r\n"
                      "GET /later?two HTTP/1.1\r\nHost: x\r\n\r\n");
    await_later(&k, 2);
    netkit_call(&k.net, drain, &k);
    netkit_send(idle, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    netkit_read_all(idle, answer, sizeof answer, NULL);
    CHECK_HAS(answer, "Connection: close");
    CHECK_HAS(answer, " 200 ");
    close(idle);
    netkit_call(&k.net, answer_oldest, &k);
    netkit_call(&k.net, answer_oldest, &k);
    netkit_read_all(busy, answer, sizeof answer, NULL);
    CHECK_HAS(answer, "\r\n\r\none");
    CHECK_HAS(answer, "\r\n\r\ntwo");
    CHECK(strstr(answer, "Connection: close") > strstr(answer, "\r\n\r\none"));
    close(busy);
    int fresh = netkit_connect(&k.net);
    netkit_send(fresh, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    netkit_read_all(fresh, answer, sizeof answer, NULL);
    CHECK_HAS(answer, " 200 ");
    close(fresh);
    stop(&k);
}

TEST(malformed_requests_end_the_connection) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "GET /query?good HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost : x\r\n\r\n"
                    "GET /query?never HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK_EQ_STR(next_answer(fd), "good");
    netkit_read_all(fd, answer, sizeof answer, NULL);
    CHECK_HAS(answer, "400 Bad Request");
    CHECK_HAS(answer, "\"malformed\"");
    CHECK(!has(answer, "never"));
    close(fd);
    CHECK_HAS(
        ask(&k, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello"),
        "400 Bad Request");
    stop(&k);
    CHECK_EQ_U64(k.handled, 2);
}

/* The refusal waits for its turn; the handler never sees the request. */
TEST(a_request_refused_behind_one_under_way_is_answered_in_its_turn) {
    static const char *const seconds[] = {"X\r\n\r\n", "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
                                          "GET /half HT" /* 408 */};
    kit k;
    start_with(&k, (rung_http_config){.head_ms = 200}, (rung_net_config){0});
    for (uint32_t i = 0; i < 3; i++) {
        int fd = netkit_connect(&k.net);
        netkit_send(fd, "GET /later?first HTTP/1.1\r\nHost: x\r\n\r\n");
        await_later(&k, 1);
        netkit_send(fd, seconds[i]);
        await(&k, read_refused, i + 1);
        netkit_call(&k.net, answer_oldest, &k);
        CHECK_EQ_STR(next_answer(fd), "first");
        netkit_read_all(fd, answer, sizeof answer, NULL);
        CHECK_HAS(answer, i == 2 ? "HTTP/1.1 408 " : "HTTP/1.1 400 ");
        CHECK_HAS(answer, "Connection: close");
        close(fd);
    }
    stop(&k);
    CHECK_EQ_U64(k.handled, 3);
}

/* The client goes away while a refusal waits behind what it asked before. */
TEST(a_client_may_leave_before_a_refusal_is_sent) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "GET /later?1 HTTP/1.1\r\nHost: x\r\n\r\nX\r\n\r\n");
    await(&k, read_refused, 1);
    close(fd);
    stop(&k);
    CHECK_EQ_U64(k.handled, 1);
}

/* Whatever allocation fails: an answer or a closed connection, never a hang, a leak or a crash. */
TEST(no_memory_is_no_disaster) {
    static char big[9000];
    memset(big, 'm', sizeof big);
    for (uint64_t n = 1;; n++) {
        kit k = {0};
        netkit_start(&k.net, &(rung_net_config){.linger_ms = 100});
        rung_http_config config = {.alloc = rung_failalloc_port(&k.net.heap),
                                   .net = k.net.net,
                                   .handle = handle,
                                   .ctx = &k};
        CHECK_OK(rung_http_create(&config, &k.http, NULL));
        netkit_listen(&k.net, rung_http_protocol(), k.http, NULL);
        rung_failalloc_fail_at(&k.net.heap, n, false);
        netkit_run(&k.net);
        for (int i = 0; i < 2; i++) {
            int fd = netkit_connect(&k.net);
            netkit_send(fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /big HTTP/1.1\r\nHost: x\r\n"
                            "Accept-Encoding: gzip\r\n\r\n"
                            "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "2328\r\n");
            netkit_send_bytes(fd, big, sizeof big);
            netkit_send(fd, "\r\n2328\r\n");
            netkit_send_bytes(fd, big, sizeof big);
            netkit_send(fd,
                        "\r\n0\r\n\r\nGET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
            netkit_read_all(fd, answer, sizeof answer, NULL);
            close(fd);
        }
        netkit_begin_stop(&k.net, 1000);
        netkit_join(&k.net);
        uint64_t failed = k.net.heap.failed_count;
        rung_http_destroy(k.http);
        netkit_end(&k.net);
        if (!failed)
            break;
    }
}

RUNG_TEST_MAIN
