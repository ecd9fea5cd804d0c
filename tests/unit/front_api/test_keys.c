/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask for what, and keys made and revoked over HTTP. */
#include "support/askkit.h"

static uint32_t changes;

static void key_changed(void *ctx, const rung_key *key, bool is_new, rung_slice by) {
    (void)ctx;
    (void)key;
    (void)is_new;
    (void)by;
    changes++;
}

/* The text of the key in the last answer, as an Authorization line; its id in `target`. */
static void take_key(char header[256], char target[128]) {
    char text[128], id[64];
    CHECK(sscanf(strstr(ask_reply, "\"key\":\""), "\"key\":\"%127[^\"]", text) == 1);
    CHECK(sscanf(strstr(ask_reply, "\"id\":\""), "\"id\":\"%63[^\"]", id) == 1);
    snprintf(header, 256, "Authorization: Bearer %s\r\n", text);
    snprintf(target, 128, "/v1/keys/%s", id);
}

TEST(keys_are_made_and_revoked) {
    static const ask_row first[] = {
        {"POST", "/v1/keys", "{\"role\":\"server\"}", 422, "the first key must be an admin's"},
        {"POST", "/v1/keys", "{\"role\":\"admin\",\"expires\":\"2020-01-01T00:00:00Z\"}", 422,
         "in the future"},
        {"POST", "/v1/keys", "{\"role\":\"king\"}", 400, "role"},
        {"POST", "/v1/keys", "{\"role\":\"admin\",\"boards\":[7]}", 400, "boards"},
        {"GET", "/v1/keys", NULL, 200, "\"can_change\":true"},
    };
    static const ask_row others[] = {
        {"POST", "/v1/keys",
         "{\"role\":\"read\",\"boards\":[\"race-*\",\"x\"],\"label\":\"tv\",\"rate\":5,"
         "\"expires\":\"2099-01-01T00:00:00Z\"}",
         201, "\"boards\":[\"race-*\",\"x\"]"},
        {"GET", "/v1/keys", NULL, 200, "\"rate\":5"},
        {"DELETE", "/v1/keys/nokey", NULL, 404, NULL},
        {"GET", "/v1/boards", NULL, 200, NULL},
    };
    char folder[64], path[96], admin[256], target[128];
    frontkit k;
    ask_make_folder(folder, path);
    frontkit_start(
        &k, &(frontkit_config){.access = {.path = path}, .api = {.key_changed = key_changed}});
    ask_all(&k, NULL, first, COUNT_OF(first));
    CHECK_EQ_I64(ask(&k, "POST", "/v1/keys", NULL, "{\"role\":\"admin\"}"), 201);
    take_key(admin, target);
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards", NULL, NULL), 401);
    ask_all(&k, admin, others, COUNT_OF(others));
    CHECK_EQ_I64(ask(&k, "POST", "/v1/keys", admin, "{\"role\":\"server\"}"), 201);
    char server[256];
    take_key(server, target);
    CHECK_EQ_I64(ask(&k, "GET", "/v1/keys", server, NULL), 403);
    CHECK_EQ_I64(ask(&k, "DELETE", target, admin, NULL), 200);
    CHECK(strstr(ask_reply, "\"state\":\"revoked\""));
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards", server, NULL), 401);
    CHECK_EQ_U64(changes, 4);
    /* One change at a time. */
    char headers[300];
    snprintf(headers, sizeof headers, "Connection: close\r\n%s", admin);
    int fds[8];
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        fds[i] = ask_begin(&k, "POST", "/v1/keys", headers, "{\"role\":\"read\"}");
    uint32_t made = 0, refused = 0;
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        ask_await(&k, fds[i], NULL);
        made += ask_status() == 201;
        refused += ask_status() == 503;
        close(fds[i]);
    }
    CHECK(made >= 1 && made + refused == COUNT_OF(fds));
    frontkit_stop(&k);
    ask_remove_folder(folder, path);
}

/* A folder that is gone: the change fails, and says so. */
TEST(a_change_that_fails_is_told) {
    char folder[64], path[96];
    frontkit k;
    ask_make_folder(folder, path);
    frontkit_start(&k, &(frontkit_config){.access = {.path = path}});
    ask_remove_folder(folder, path);
    CHECK_EQ_I64(ask(&k, "POST", "/v1/keys", NULL, "{\"role\":\"admin\"}"), 503);
    CHECK(strstr(ask_reply, "\"code\":\"unavailable\""));
    frontkit_stop(&k);
}

/* A key for one board sees that board: in lists, in metrics and of profiles. */
TEST(a_limited_key_sees_its_boards) {
    char folder[64], path[96], admin[256], limited[256];
    frontkit k;
    ask_make_folder(folder, path);
    ask_mint(path, (rung_key){.role = RUNG_ROLE_ADMIN}, 1, admin);
    ask_mint(
        path,
        (rung_key){.role = RUNG_ROLE_READ, .patterns = {RUNG_SLICE("race")}, .pattern_count = 1}, 2,
        limited);
    frontkit_start(&k, &(frontkit_config){.access = {.path = path, .public_boards = "open"}});
    static const ask_row fill[] = {
        {"PUT", "/v1/boards/race", "{\"scopes\":[\"level\"],\"teams\":{\"by\":\"guild\"}}", 201,
         NULL},
        {"PUT", "/v1/boards/other", "{}", 201, NULL},
        {"PUT", "/v1/boards/open", "{}", 201, NULL},
        {"PUT", "/v1/players/ada",
         "{\"name\":\"Ada\",\"level\":\"9\",\"guild\":\"g\",\"shoe\":\"42\"}", 200, NULL},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\",\"score\":1}", 200, NULL},
        {"GET", "/v1/boards/race/top", NULL, 200, "Cache-Control: private"},
    };
    static const ask_row rows[] = {
        {"GET", "/v1/boards", NULL, 200, "\"id\":\"race\""},
        {"GET", "/v1/players/ada", NULL, 200,
         "\"profile\":{\"guild\":\"g\",\"level\":\"9\",\"name\":\"Ada\"}"},
        {"GET", "/metrics", NULL, 200, "rung_board_entries{board=\"race\"} 1"},
        {"GET", "/v1/boards/other", NULL, 403, "forbidden"},
        {"GET", "/v1/players/ada/submissions?board=other", NULL, 403, "forbidden"},
        {"GET", "/v1/players/ada/history?board=race", NULL, 200, NULL},
        {"GET", "/v1/players/ada/submissions", NULL, 403, NULL},
        {"PUT", "/v1/players/ada", "{}", 403, "forbidden"},
    };
    static const ask_row nobody[] = {
        {"GET", "/v1/boards/open/top", NULL, 200, NULL},
        {"GET", "/v1/boards/race/top", NULL, 401, "unauthorized"},
        {"GET", "/v1/boards/open/friends/ada", NULL, 401, NULL},
        {"GET", "/healthz", NULL, 200, NULL},
    };
    ask_all(&k, admin, fill, COUNT_OF(fill));
    ask_all(&k, limited, rows, COUNT_OF(rows));
    ask_all(&k, NULL, nobody, COUNT_OF(nobody));
    CHECK_EQ_I64(ask(&k, "GET", "/metrics", limited, NULL), 200);
    CHECK(!strstr(ask_reply, "board=\"other\"") && !strstr(ask_reply, "rung_events_total"));
    frontkit_stop(&k);
    ask_remove_folder(folder, path);
}

/* What was allowed when the request came is asked again when its sequence has come. */
TEST(a_revoked_key_gets_no_late_answer) {
    char folder[64], path[96], admin[256], reader[256], headers[300];
    frontkit k;
    ask_make_folder(folder, path);
    ask_mint(path, (rung_key){.role = RUNG_ROLE_ADMIN}, 1, admin);
    ask_mint(path, (rung_key){.role = RUNG_ROLE_READ}, 2, reader);
    frontkit_start(&k, &(frontkit_config){.access = {.path = path}});
    CHECK_EQ_I64(ask(&k, "PUT", "/v1/boards/race", admin, "{}"), 201);
    snprintf(headers, sizeof headers, "Connection: close\r\n%s", reader);
    char target[64];
    snprintf(target, sizeof target, "/v1/boards/race?min_seq=%llu",
             (unsigned long long)rung_state_seq(rung_hub_state(k.hub)) + 1);
    int fd = ask_begin(&k, "GET", target, headers, NULL);
    frontkit_turn(&k, 6);
    unlink(path);
    ask_mint(path, (rung_key){.role = RUNG_ROLE_ADMIN}, 1, admin);
    CHECK_OK(rung_access_reload(k.access, true, NULL));
    CHECK_OK(frontkit_score(&k, "race", "ada", 1));
    ask_await(&k, fd, NULL);
    CHECK_EQ_I64(ask_status(), 401);
    close(fd);
    frontkit_stop(&k);
    ask_remove_folder(folder, path);
}

TEST(the_rate_is_told) {
    frontkit k;
    frontkit_start(&k, &(frontkit_config){.access = {.per_peer = {2, 60000}, .rate_capacity = 64}});
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards", NULL, NULL), 200);
    CHECK(strstr(ask_reply, "RateLimit-Limit: 2\r\nRateLimit-Remaining: 1\r\n"));
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards", NULL, NULL), 200);
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards", NULL, NULL), 429);
    CHECK(strstr(ask_reply, "Retry-After: 30") && strstr(ask_reply, "\"code\":\"rate_limited\""));
    frontkit_stop(&k);
}

/* One place is left, and it is kept for health checks and admins. */
TEST(reserved_places_are_for_urgent_requests) {
    frontkit k;
    frontkit_start(&k, &(frontkit_config){.net = {.connections_max = 4}});
    int fds[8];
    uint32_t health = 0, refused = 0;
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = ask_begin(&k, "GET", i % 2 ? "/healthz" : "/v1/boards", NULL, NULL);
        frontkit_turn(&k, 6);
    }
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        frontkit_read(fds[i], ask_reply, sizeof ask_reply);
        health += i % 2 && ask_status() == 200;
        refused += ask_status() == 503;
        close(fds[i]);
    }
    CHECK(health && refused);
    frontkit_stop(&k);
}

RUNG_TEST_MAIN
