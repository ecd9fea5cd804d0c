/* SPDX-License-Identifier: Apache-2.0 */
/* Many submissions in one request: arrays and NDJSON, at every limit that makes them stop and go on. */
#include "support/askkit.h"

#define NDJSON "Connection: close\r\nContent-Type: application/x-ndjson\r\n"
#define CHUNKS NDJSON "Transfer-Encoding: chunked\r\n"

static void start(frontkit *k, const frontkit_config *config) {
    frontkit_start(k, config);
    frontkit_define(k, "race", RUNG_WINDOWS_ALL);
    frontkit_turn(k, 2);
}

static uint32_t count_of(const char *text, const char *part) {
    uint32_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

/* `count` good submissions; free() it. */
static char *lines_of(uint32_t count) {
    size_t len = 0, size = count * 64 + 1;
    char *text = malloc(size);
    for (uint32_t i = 0; i < count; i++)
        len +=
            (size_t)snprintf(text + len, size - len,
                             "{\"board\":\"race\",\"player\":\"p%u\",\"score\":%u}\n", i % 50, i);
    return text;
}

static void send_chunk(int fd, const char *text) {
    char head[24];
    snprintf(head, sizeof head, "%zx\r\n", strlen(text));
    CHECK(send(fd, head, strlen(head), MSG_NOSIGNAL) == (ssize_t)strlen(head));
    CHECK(send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
    CHECK(send(fd, "\r\n", 2, MSG_NOSIGNAL) == 2);
}

TEST(arrays) {
    static const ask_row rows[] = {
        {"POST", "/v1/scores", "[]", 200, "[]"},
        {"POST", "/v1/scores",
         "[{\"board\":\"race\",\"player\":\"ada\",\"score\":5,\"id\":\"x\"},"
         "{\"board\":\"race\",\"player\":\"ada\",\"score\":5,\"id\":\"x\"},"
         "{\"board\":\"none\",\"player\":\"ada\",\"score\":5},{\"board\":7},"
         "{\"board\":\"race\",\"player\":\"ada\",\"score\":\"x\"}]",
         200, "\"duplicate\":true"},
        {"POST", "/v1/scores", "[{\"board\":\"none\",\"player\":\"ada\",\"score\":5}]", 200,
         "[{\"line\":1,\"error\":{\"status\":404,\"code\":\"board_not_found\""},
        {"POST", "/v1/scores", "[{\"board\":\"race\"", 400, "malformed"},
        {"POST", "/v1/scores", "{}", 400, "malformed"},
        {"POST", "/v1/scores", "[] 1", 400, "malformed"},
        {"POST", "/v1/scores", "", 400, "a body is needed"},
    };
    frontkit k;
    start(&k, &(frontkit_config){0});
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    char *many = malloc(3 * 10002);
    many[0] = '[';
    for (size_t i = 0; i < 10001; i++)
        memcpy(many + 1 + 2 * i, "1,", 2);
    memcpy(many + 2 * 10001, "]", 2);
    CHECK_EQ_I64(ask(&k, "POST", "/v1/scores", NULL, many), 413);
    free(many);
    frontkit_stop(&k);
}

/* Results come in the order of the lines, refused ones among them; the ring of a test build has 16 places. */
TEST(a_stream_keeps_its_order) {
    frontkit k;
    start(&k, &(frontkit_config){0});
    char *lines = lines_of(300);
    size_t len = strlen(lines);
    lines = realloc(lines, len + 400);
    snprintf(lines + len, 400,
             "\n  \t\r\n{\"board\":\"none\",\"player\":\"a\",\"score\":1}\nnonsense\n"
             "{\"board\":\"race\",\"player\":\"last\",\"score\":1}");
    CHECK_EQ_I64(ask(&k, "POST", "/v1/scores", NDJSON, lines), 200);
    CHECK_EQ_U64(count_of(ask_reply, "{\"line\":"), 303);
    const char *at = ask_reply;
    for (uint32_t i = 1; i <= 305; i++) {
        char part[32];
        snprintf(part, sizeof part, "{\"line\":%u,", i);
        if (i == 301 || i == 302) /* blank */
            continue;
        at = strstr(at, part);
        CHECK_MSG(at, "line %u is missing or out of order", i);
    }
    free(lines);
    frontkit_stop(&k);
}

/* A small hub: the stream waits for room, with and without changes of its own under way. */
TEST(a_full_hub_makes_a_stream_wait) {
    frontkit k;
    start(&k, &(frontkit_config){.waiting_max = 4});
    char *lines = lines_of(100);
    CHECK_EQ_I64(ask(&k, "POST", "/v1/scores", NDJSON, lines), 200);
    CHECK_EQ_U64(count_of(ask_reply, "\"rank\":"), 100);
    int fd = ask_begin(&k, "POST", "/v1/scores", NDJSON, lines);
    for (int i = 0; i < 4; i++)
        rung_ignore(frontkit_score(&k, "race", "other", i), "the hub is to be full");
    ask_await(&k, fd, NULL);
    CHECK_EQ_U64(count_of(ask_reply, "\"rank\":"), 100);
    close(fd);
    free(lines);
    frontkit_stop(&k);
}

TEST(long_lines_are_refused) {
    frontkit k;
    start(&k, &(frontkit_config){0});
    size_t size = 70000;
    char *line = malloc(2 * size + 200);
    memset(line, ' ', size);
    snprintf(line + size, 200, "\n{\"board\":\"race\",\"player\":\"ada\",\"score\":1}\n");
    CHECK_EQ_I64(ask(&k, "POST", "/v1/scores", NDJSON, line), 200);
    CHECK(strstr(ask_reply, "{\"line\":1,\"error\":{\"status\":413") &&
          strstr(ask_reply, "{\"line\":2,\"changed\""));
    int fd = ask_begin(&k, "POST", "/v1/scores", CHUNKS, NULL);
    memset(line, 'x', 2 * size);
    line[2 * size] = 0;
    send_chunk(fd, line); /* its end has not come yet */
    CHECK(ask_await(&k, fd, "\"code\":\"too_large\""));
    send_chunk(fd, "rest\n{\"board\":\"race\",\"player\":\"ada\",\"score\":2}\n");
    CHECK(ask_await(&k, fd, "{\"line\":2,\"changed\""));
    CHECK(send(fd, "0\r\n\r\n", 5, MSG_NOSIGNAL) == 5);
    ask_await(&k, fd, NULL);
    close(fd);
    free(line);
    frontkit_stop(&k);
}

/* Lines wait for the sender's rate; elements of an array are refused, and say for how long. */
TEST(the_rate_throttles_lines_and_refuses_elements) {
    frontkit k;
    start(&k, &(frontkit_config){.access = {.per_peer = {3, 60000}, .rate_capacity = 64}});
    char *lines = lines_of(5);
    int fd = ask_begin(&k, "POST", "/v1/scores", NDJSON, lines);
    CHECK(ask_await(&k, fd, "{\"line\":3,"));
    CHECK(!strstr(ask_reply, "{\"line\":4,"));
    frontkit_tick(&k, 60000);
    ask_await(&k, fd, NULL);
    CHECK(strstr(ask_reply, "{\"line\":5,\"changed\""));
    close(fd);
    frontkit_tick(&k, 600000);
    CHECK_EQ_I64(ask(&k, "POST", "/v1/scores", NULL,
                     "[{\"board\":\"race\",\"player\":\"a\",\"score\":1},"
                     "{\"board\":\"race\",\"player\":\"b\",\"score\":1},"
                     "{\"board\":\"race\",\"player\":\"c\",\"score\":1},"
                     "{\"board\":\"race\",\"player\":\"d\",\"score\":1},"
                     "{\"board\":\"race\",\"player\":\"e\",\"score\":1}]"),
                 200);
    CHECK(strstr(ask_reply, "\"line\":4,\"error\":{\"status\":429,\"code\":\"rate_limited\""));
    CHECK_EQ_U64(count_of(ask_reply, "\"retry_after\":20"), 2);
    free(lines);
    frontkit_stop(&k);
}

TEST(a_stream_without_lines_ends) {
    frontkit k;
    start(&k, &(frontkit_config){.api = {.line_ms = 30}});
    int fd = ask_begin(&k, "POST", "/v1/scores", CHUNKS, NULL);
    ask_await(&k, fd, NULL);
    CHECK(strstr(ask_reply, "\"code\":\"request_timeout\""));
    close(fd);
    frontkit_stop(&k);
}

/* A peer that reads nothing stops the stream; when it reads, all results come. */
TEST(unread_results_hold_a_stream_up) {
    enum { LINES = 40000 };
    frontkit k;
    start(&k, &(frontkit_config){.net = {.output_high = 20000}, .fill_max = 64});
    char *lines = lines_of(LINES);
    size_t size = strlen(lines), sent = 0, idle = 0;
    int small = 4096;
    int fd = frontkit_connect(&k.http_bound);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    char head[256];
    int len = snprintf(head, sizeof head,
                       "POST /v1/scores HTTP/1.1\r\nHost: localhost\r\n" NDJSON
                       "Content-Length: %zu\r\n\r\n",
                       size);
    CHECK(send(fd, head, (size_t)len, MSG_NOSIGNAL) == len);
    while (sent < size && idle < 200) {
        ssize_t n = send(fd, lines + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += n > 0 ? (size_t)n : 0;
        idle = n > 0 ? 0 : idle + 1;
        frontkit_turn(&k, 1);
    }
    uint64_t results = 0;
    for (;;) {
        if (sent < size) {
            ssize_t n = send(fd, lines + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
            sent += n > 0 ? (size_t)n : 0;
        }
        frontkit_turn(&k, 1);
        ssize_t n = recv(fd, ask_reply, sizeof ask_reply - 1, MSG_DONTWAIT);
        if (n == 0)
            break;
        for (ssize_t i = 0; i < n; i++)
            results += ask_reply[i] == '}';
    }
    CHECK_EQ_U64(results, LINES);
    close(fd);
    free(lines);
    frontkit_stop(&k);
}

TEST(too_many_streams_are_503) {
    enum { STREAMS = 260 };
    static int fds[STREAMS];
    frontkit k;
    start(&k, &(frontkit_config){0});
    uint32_t refused = 0;
    for (size_t i = 0; i < STREAMS; i++)
        fds[i] = ask_begin(&k, "POST", "/v1/scores", CHUNKS, NULL);
    frontkit_turn(&k, 20);
    for (size_t i = 0; i < STREAMS; i++) {
        frontkit_read(fds[i], ask_reply, sizeof ask_reply);
        refused += ask_status() == 503;
    }
    CHECK(refused > 0);
    CHECK_EQ_I64(ask(&k, "POST", "/v1/scores", NULL, "[]"), 503);
    for (size_t i = 0; i < STREAMS; i++)
        close(fds[i]);
    frontkit_stop(&k);
}

/* The client goes away with lines under way; the server stops with a stream open. */
TEST(a_stream_may_end_early) {
    frontkit k;
    start(&k, &(frontkit_config){0});
    int fd = ask_begin(&k, "POST", "/v1/scores", CHUNKS, NULL);
    frontkit_turn(&k, 2);
    send_chunk(fd, "{\"board\":\"race\",\"player\":\"ada\",\"score\":2}\n");
    struct linger now = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
    frontkit_turn(&k, 10);
    fd = ask_begin(&k, "POST", "/v1/scores", CHUNKS, NULL);
    send_chunk(fd, "{\"board\":\"race\",\"player\":\"bob\",\"score\":2}\n");
    CHECK(ask_await(&k, fd, "{\"line\":1,"));
    frontkit_begin_stop(&k, 1000);
    ask_await(&k, fd, NULL);
    CHECK(!strstr(ask_reply, "0\r\n\r\n")); /* seen to be incomplete */
    close(fd);
    frontkit_stop(&k);
}

/* A key that is revoked ends its stream with a line that says so. */
TEST(a_revoked_key_ends_its_stream) {
    char folder[64], path[96], admin[256], server[256], headers[600];
    frontkit k;
    ask_make_folder(folder, path);
    ask_mint(path, (rung_key){.role = RUNG_ROLE_ADMIN}, 1, admin);
    ask_mint(path, (rung_key){.role = RUNG_ROLE_SERVER}, 2, server);
    start(&k, &(frontkit_config){.access = {.path = path}});
    snprintf(headers, sizeof headers, CHUNKS "%s", server);
    int fd = ask_begin(&k, "POST", "/v1/scores", headers, NULL);
    send_chunk(fd, "{\"board\":\"race\",\"player\":\"ada\",\"score\":2}\n");
    CHECK(ask_await(&k, fd, "{\"line\":1,"));
    unlink(path);
    ask_mint(path, (rung_key){.role = RUNG_ROLE_ADMIN}, 1, admin);
    CHECK_OK(rung_access_reload(k.access, true, NULL));
    send_chunk(fd, "{\"board\":\"race\",\"player\":\"ada\",\"score\":3}\n");
    ask_await(&k, fd, NULL);
    CHECK(strstr(ask_reply, "{\"line\":2,\"error\":{\"status\":401"));
    close(fd);
    frontkit_stop(&k);
    ask_remove_folder(folder, path);
}

/* Whatever allocation fails: the stream is answered, cut or refused, and nothing leaks. */
TEST(streams_survive_without_memory) {
    for (uint64_t n = 1;; n++) {
        frontkit k;
        start(&k, &(frontkit_config){.fill_max = 64});
        char *lines = lines_of(20);
        size_t len = strlen(lines);
        lines = realloc(lines, len + 16);
        snprintf(lines + len, 16, "x\nx\nx\n");
        rung_failalloc_fail_at(&k.heap, n, false);
        ask(&k, "POST", "/v1/scores", NDJSON, lines);
        bool is_swept = !k.heap.failed_count;
        rung_failalloc_fail_at(&k.heap, 0, false);
        CHECK_EQ_I64(ask(&k, "GET", "/readyz", NULL, NULL), 200);
        free(lines);
        frontkit_stop(&k);
        if (is_swept)
            break;
    }
}

RUNG_TEST_MAIN
