/* SPDX-License-Identifier: Apache-2.0 */
/* The live routes: server-sent events and the WebSocket handshake, and why they end. */
#include "support/askkit.h"

#define UPGRADE                                                                                    \
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"                   \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static void start(frontkit *k, const frontkit_config *config) {
    frontkit_config c = *config;
    c.api.live_frame_rate = 60;
    frontkit_start(k, &c);
    frontkit_define(k, "race", RUNG_WINDOWS_ALL);
    CHECK_OK(frontkit_score(k, "race", "ada", 1));
    CHECK_OK(frontkit_score(k, "race", "bob", 2));
    frontkit_turn(k, 2);
}

static void abort_client(frontkit *k, int fd) {
    struct linger now = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
    frontkit_turn(k, 10);
}

TEST(a_board_as_events) {
    static const char *const targets[] = {
        "/v1/boards/race/live", "/v1/boards/race/live?player=ada&around=1&rank=dense",
        "/v1/boards/race/live?friends=ada&window=all", "/v1/players/ada/live?window=all"};
    frontkit k;
    start(&k, &(frontkit_config){0});
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        int fd = ask_begin(&k, "GET", targets[i], NULL, NULL);
        CHECK_MSG(ask_await(&k, fd, "\ndata: "), "%s: %s", targets[i], ask_reply);
        CHECK(strstr(ask_reply, "retry: 2000"));
        CHECK_OK(frontkit_score(&k, "race", "ada", (int64_t)(10 * (i + 1))));
        CHECK(ask_await(&k, fd, "\ndata: "));
        abort_client(&k, fd);
    }
    frontkit_stop(&k);
}

TEST(what_is_refused) {
    static const ask_row rows[] = {
        {"GET", "/v1/boards/none/live", NULL, 404, "board_not_found"},
        {"GET", "/v1/boards/race/live?player=a&friends=b", NULL, 400, "not together"},
        {"GET", "/v1/boards/race/live?scope=x", NULL, 400, "scope"},
        {"HEAD", "/v1/boards/race/live", NULL, 200, "text/event-stream"},
    };
    frontkit k;
    start(&k, &(frontkit_config){0});
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards/race/live", "Last-Event-ID: x1\r\n", NULL), 400);
    CHECK_EQ_I64(
        ask(&k, "GET", "/v1/boards/race/live", "Last-Event-ID: 12345678901234567890\r\n", NULL),
        400);
    int fd = ask_begin(&k, "GET", "/v1/boards/race/live?since=1", "Last-Event-ID: 3\r\n", NULL);
    CHECK(ask_await(&k, fd, "retry: "));
    abort_client(&k, fd);
    frontkit_stop(&k);
}

TEST(the_handshake) {
    static const struct {
        const char *headers, *part;
    } rows[] = {
        {UPGRADE, "101 Switching Protocols"},
        {"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 12\r\n",
         "HTTP/1.1 426"},
        {"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
         "Sec-WebSocket-Key: x\r\n",
         "Sec-WebSocket-Key"},
        {UPGRADE "Origin: http://localhost:9\r\n", "origin_not_allowed"},
    };
    frontkit k;
    start(&k, &(frontkit_config){0});
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int fd = ask_begin(&k, "GET", "/v1/boards/race/live", rows[i].headers, NULL);
        CHECK_MSG(ask_await(&k, fd, rows[i].part), "%s", ask_reply);
        abort_client(&k, fd);
    }
    int fd = ask_begin(&k, "GET", "/v1/boards/none/live", UPGRADE, NULL);
    CHECK(ask_await(&k, fd, "board_not_found"));
    abort_client(&k, fd);
    fd = ask_begin(&k, "GET", "/v1/players/ada/live", UPGRADE, NULL);
    CHECK(ask_await(&k, fd, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    abort_client(&k, fd);
    frontkit_stop(&k);
}

/* {"op":"subscribe","player":"bob"}, masked with zeros. */
TEST(a_subscription_asks_who_may) {
    static const char text[] = "{\"op\":\"subscribe\",\"player\":\"bob\"}";
    char frame[64] = {(char)0x81, (char)(0x80 | (sizeof text - 1))};
    memcpy(frame + 6, text, sizeof text - 1);
    frontkit k;
    start(&k, &(frontkit_config){0});
    int fd = ask_begin(&k, "GET", "/v1/boards/race/live", UPGRADE, NULL);
    CHECK(ask_await(&k, fd, "101 Switching"));
    CHECK(send(fd, frame, 6 + sizeof text - 1, MSG_NOSIGNAL) == 6 + sizeof text - 1);
    for (bool has_come = false; !has_come;) { /* frames hold zeros: look at all bytes */
        frontkit_turn(&k, 1);
        ssize_t n = recv(fd, ask_reply, sizeof ask_reply, MSG_DONTWAIT);
        for (ssize_t i = 0; i < n; i++)
            has_come |= strncmp(ask_reply + i, "player=bob", 10) == 0;
    }
    abort_client(&k, fd);
    frontkit_stop(&k);
}

TEST(a_view_ends_with_its_board) {
    frontkit k;
    start(&k, &(frontkit_config){0});
    int fd = ask_begin(&k, "GET", "/v1/boards/race/live", NULL, NULL);
    CHECK(ask_await(&k, fd, "retry: "));
    CHECK_EQ_I64(ask(&k, "DELETE", "/v1/boards/race", NULL, NULL), 200);
    CHECK(ask_await(&k, fd, "event: end\ndata: {\"why\":\"gone\"}"));
    close(fd);
    frontkit_stop(&k);
}

TEST(a_view_ends_with_the_server) {
    frontkit k;
    start(&k, &(frontkit_config){0});
    int fd = ask_begin(&k, "GET", "/v1/boards/race/live", NULL, NULL);
    CHECK(ask_await(&k, fd, "retry: "));
    frontkit_begin_stop(&k, 1000);
    CHECK(ask_await(&k, fd, "{\"why\":\"stopping\"}"));
    close(fd);
    frontkit_stop(&k);
}

/* Keys: a view ends when its key is revoked, a feed also when its key may see other boards. */
TEST(a_view_ends_with_its_key) {
    char folder[64], path[96], admin[256], reader[256], limited[256];
    static const rung_key to_race = {
        .role = RUNG_ROLE_READ, .patterns = {{"race", 4}}, .pattern_count = 1};
    static const rung_key to_other = {
        .role = RUNG_ROLE_READ, .patterns = {{"other", 5}}, .pattern_count = 1};
    frontkit k;
    ask_make_folder(folder, path);
    ask_mint(path, (rung_key){.role = RUNG_ROLE_ADMIN}, 1, admin);
    ask_mint(path, (rung_key){.role = RUNG_ROLE_READ}, 2, reader);
    ask_mint(path, to_race, 3, limited);
    start(&k, &(frontkit_config){.access = {.path = path}});
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards/race/live", NULL, NULL), 401);
    CHECK(strstr(ask_reply, "WWW-Authenticate: Bearer"));
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards/x/live", limited, NULL), 403);
    int one = ask_begin(&k, "GET", "/v1/boards/race/live", reader, NULL);
    CHECK(ask_await(&k, one, "retry: "));
    int feed = ask_begin(&k, "GET", "/v1/players/ada/live", limited, NULL);
    CHECK(ask_await(&k, feed, "retry: "));
    unlink(path);
    ask_mint(path, (rung_key){.role = RUNG_ROLE_ADMIN}, 1, admin);
    ask_mint(path, to_other, 3, limited);
    CHECK_OK(rung_access_reload(k.access, true, NULL));
    CHECK(ask_await(&k, one, "{\"why\":\"forbidden\",\"detail\":"));
    CHECK(ask_await(&k, feed, "boards have changed"));
    close(one);
    close(feed);
    frontkit_stop(&k);
    ask_remove_folder(folder, path);
}

/* With and without an upgrade, whatever allocation fails. */
TEST(views_survive_without_memory) {
    for (int upgrades = 0; upgrades < 2; upgrades++) {
        for (uint64_t n = 1;; n++) {
            frontkit k;
            start(&k, &(frontkit_config){.fill_max = 64});
            rung_failalloc_fail_at(&k.heap, n, false);
            int fd = ask_begin(&k, "GET",
                               n % 2 ? "/v1/boards/race/live" : "/v1/players/ada/live?window=all",
                               upgrades ? UPGRADE : NULL, NULL);
            frontkit_turn(&k, 20);
            bool is_swept = !k.heap.failed_count;
            rung_failalloc_fail_at(&k.heap, 0, false);
            abort_client(&k, fd);
            frontkit_stop(&k);
            if (is_swept && n > 4)
                break;
        }
    }
}

RUNG_TEST_MAIN
