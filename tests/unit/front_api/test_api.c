/* SPDX-License-Identifier: Apache-2.0 */
/* Every route of the API over a socket: what it answers, and how it refuses. */
#include "support/askkit.h"
#include "support/memfs.h"
#include "support/shared_log.h"

static const ask_row fill[] = {
    {"PUT", "/v1/boards/race",
     "{\"title\":\"Race\",\"windows\":[\"all\",\"day\"],\"scopes\":[\"country\",\"level\"],"
     "\"teams\":{\"by\":\"guild\",\"combine\":\"mean\"}}",
     201, "\"id\":\"race\""},
    {"PUT", "/v1/boards/laps", "{\"columns\":[{\"name\":\"time\",\"type\":\"integer\"}]}", 201,
     NULL},
    {"PUT", "/v1/boards/real", "{\"score\":{\"type\":\"real\"},\"update\":\"sum\"}", 201, NULL},
    {"PUT", "/v1/boards/heat",
     "{\"update\":\"decay\",\"score\":{\"type\":\"real\"},\"half_life\":3600}", 201, NULL},
    {"PUT", "/v1/boards/visits", "{\"update\":\"count\"}", 201, NULL},
    {"PUT", "/v1/players/ada",
     "{\"name\":\"Ada\",\"country\":\"FI\",\"guild\":\"wolves\",\"level\":\"9\",\"shoe\":\"42\"}",
     200, "\"changed\":true"},
    {"PUT", "/v1/players/bob", "{\"name\":\"Bob\",\"avatar\":\"b.png\",\"guild\":\"bears\"}", 200,
     NULL},
    {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\",\"score\":30,\"id\":\"a1\"}", 200,
     "\"rank\":1"},
    {"POST", "/v1/boards/race/scores", "{\"player\":\"bob\",\"score\":20}", 200, "\"next\":{"},
    {"POST", "/v1/boards/race/scores", "{\"player\":\"cyd\",\"score\":10}", 200, "\"rank\":3"},
    {"POST", "/v1/boards/laps/scores",
     "{\"player\":\"ada\",\"score\":3,\"columns\":{\"time\":7},\"meta\":true}", 200,
     "\"columns\":{\"time\":7}"},
    {"POST", "/v1/boards/real/scores", "{\"player\":\"ada\",\"score\":1.5}", 200, NULL},
    {"POST", "/v1/boards/heat/scores", "{\"player\":\"ada\",\"score\":8}", 200, NULL},
    {"POST", "/v1/boards/visits/scores", "{\"player\":\"ada\"}", 200, "\"score\":1"},
    {"PUT", "/v1/players/ada/friends", "{\"friends\":[\"bob\",\"cyd\"]}", 200, "\"changed\":true"},
};

static void start(frontkit *k, const frontkit_config *config) {
    frontkit_start(k, config);
    ask_all(k, NULL, fill, COUNT_OF(fill));
}

TEST(boards) {
    static const ask_row rows[] = {
        {"GET", "/v1/boards", NULL, 200, "\"next\":null"},
        {"GET", "/v1/boards?limit=2", NULL, 200, "\"next\":2"},
        {"GET", "/v1/boards?limit=2&cursor=2", NULL, 200, "\"id\":\"real\""},
        {"GET", "/v1/boards/race", NULL, 200, "\"scopes\":[\"country\",\"level\"]"},
        {"HEAD", "/v1/boards/race", NULL, 200, "Content-Length: "},
        {"GET", "/v1/boards/none", NULL, 404, "\"code\":\"board_not_found\""},
        {"PUT", "/v1/boards/race", "{\"title\":\"Race\",\"windows\":[\"all\",\"day\"]}", 200, NULL},
        {"PUT", "/v1/boards/race", "{\"update\":\"sum\"}", 422, NULL},
        {"PUT", "/v1/boards/race", "{\"nonsense\":1}", 400, "\"field\":\"nonsense\""},
        {"PUT", "/v1/boards/zone", "{\"timezone\":\"Mars/Base\"}", 422, "timezone"},
        {"PUT", "/v1/boards/race", "", 400, "a body is needed"},
        {"DELETE", "/v1/boards/visits", NULL, 200, "\"changed\":true"},
        {"DELETE", "/v1/boards/visits", NULL, 404, "board_not_found"},
        {"DELETE", "/v1/boards/race", "{}", 400, "takes no body"},
        {"POST", "/v1/boards/race", NULL, 405, "Allow: PUT, GET, HEAD, DELETE"},
        {"GET", "/v1/nothing", NULL, 404, "\"code\":\"not_found\""},
        {"GET", "/v1/a/b/c/d/e/f/g/h/i/j/k/l/m/n", NULL, 404, NULL},
        {"GET", "/v1/boards/%zz", NULL, 400, "\"field\":\"board\""},
        {"GET", "/v1/boards/race/windows", NULL, 200, "\"source\":\"memory\""},
        {"GET", "/v1/boards/race/windows?kind=day&limit=1", NULL, 200, "\"kind\":\"day\""},
        {"GET", "/v1/boards/race/windows?before=2020-01-01T00:00:00Z", NULL, 200, "\"windows\":[]"},
        {"GET", "/v1/boards/none/windows", NULL, 404, "board_not_found"},
        {"GET", "/v1/boards/race/digest", NULL, 200, "\"closed\":false,\"total\":"},
        {"GET", "/v1/boards/none/digest", NULL, 404, "board_not_found"},
    };
    frontkit k;
    start(&k, &(frontkit_config){0});
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    frontkit_stop(&k);
}

TEST(scores) {
    static const ask_row rows[] = {
        {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\",\"score\":30,\"id\":\"a1\"}", 200,
         "\"duplicate\":true"},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\",\"score\":31,\"id\":\"a1\"}", 409,
         "id_conflict"},
        {"POST", "/v1/boards/none/scores", "{\"player\":\"ada\",\"score\":1}", 404,
         "board_not_found"},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\"}", 422, "\"field\":\"score\""},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\",\"score\":1,\"delta\":1}", 422,
         "\"field\":\"delta\""},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\",\"score\":\"x\"}", 422, NULL},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\"", 400, "\"code\":\"malformed\""},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\",\"score\":1} x", 400, NULL},
        {"POST", "/v1/boards/laps/scores", "{\"player\":\"ada\",\"score\":3}", 422, "columns"},
        {"POST", "/v1/boards/laps/scores", "{\"player\":\"ada\",\"score\":3,\"columns\":{\"x\":1}}",
         422, "no such column"},
        {"POST", "/v1/boards/laps/scores", "{\"player\":\"ada\",\"score\":3,\"columns\":{}}", 422,
         "columns.time"},
        {"POST", "/v1/boards/laps/scores",
         "{\"player\":\"ada\",\"score\":3,\"columns\":{\"time\":\"y\"}}", 422, "columns.time"},
        {"POST", "/v1/boards/laps/scores",
         "{\"player\":\"ada\",\"score\":3,\"columns\":{\"time\":true}}", 422, "a number"},
        {"DELETE", "/v1/boards/race/players/cyd", NULL, 200, "\"changed\":true"},
        {"DELETE", "/v1/boards/race/players/cyd", NULL, 200, "\"changed\":false"},
    };
    frontkit k;
    start(&k, &(frontkit_config){0});
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    CHECK_EQ_I64(ask(&k, "POST", "/v1/boards/race/scores", "Content-Type: text/plain\r\n", "{}"),
                 415);
    CHECK_EQ_I64(ask(&k, "POST", "/v1/boards/race/scores",
                     "Content-Type: application/json;charset=utf-8\r\nContent-Encoding: gzip\r\n",
                     "{}"),
                 415);
    CHECK_EQ_I64(ask(&k, "POST", "/v1/scores", "Content-Type: text/plain\r\n", "{}"), 415);
    CHECK_EQ_I64(ask(&k, "POST", "/v1/boards/race/scores",
                     "Origin: http://localhost:9\r\nContent-Type: application/json\r\n", "{}"),
                 403);
    CHECK(strstr(ask_reply, "origin_not_allowed"));
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards", "Origin: http://elsewhere.example\r\n", NULL), 403);
    frontkit_stop(&k);
}

TEST(rankings) {
    static const ask_row rows[] = {
        {"GET", "/v1/boards/race/top", NULL, 200, "\"attributes\":{\"guild\":\"wolves\""},
        {"GET", "/v1/boards/race/top?window=day&limit=1&offset=1", NULL, 200, "\"player\":\"bob\""},
        {"GET", "/v1/boards/race/top?scope=country:FI", NULL, 200, "\"total\":1"},
        {"GET", "/v1/boards/race/top?window=day&on=2020-01-01", NULL, 404, "window_not_found"},
        {"GET", "/v1/boards/race/top?window=none", NULL, 404, "window_not_found"},
        {"GET", "/v1/boards/race/top?limit=1001", NULL, 400, "\"field\":\"limit\""},
        {"GET", "/v1/boards/race/top?limit=1&limit=2", NULL, 400, "given twice"},
        {"GET", "/v1/boards/race/top?size=1", NULL, 400, "no such parameter"},
        {"GET", "/v1/boards/race/top?&", NULL, 400, "an empty part"},
        {"GET", "/v1/boards/race/top?rank=odd", NULL, 400, "expected one of"},
        {"GET", "/v1/boards/none/top", NULL, 404, "board_not_found"},
        {"GET", "/v1/boards/heat/top", NULL, 200, "\"score\":8"},
        {"GET", "/v1/boards/race/players/bob?around=1", NULL, 200, "\"above\":[{\"rank\":1"},
        {"GET", "/v1/boards/race/players/zoe", NULL, 404, "player_not_found"},
        {"GET", "/v1/boards/none/players/bob", NULL, 404, "board_not_found"},
        {"GET", "/v1/boards/race/players?ids=cyd,zoe,ada", NULL, 200, "\"missing\":[\"zoe\"]"},
        {"GET", "/v1/boards/race/players?ids=", NULL, 400, "\"field\":\"ids\""},
        {"GET", "/v1/boards/race/players", NULL, 400, "required but missing"},
        {"GET", "/v1/boards/race/friends/ada", NULL, 200, "\"global_rank\":2"},
        {"GET", "/v1/boards/race/friends/zoe", NULL, 404, "player_not_found"},
        {"GET", "/v1/boards/race/at-score/25", NULL, 200, "\"rank\":2"},
        {"GET", "/v1/boards/race/at-score/x", NULL, 400, "\"field\":\"score\""},
        {"GET", "/v1/boards/laps/at-score/3?columns=7", NULL, 200, "\"rank\":"},
        {"GET", "/v1/boards/laps/at-score/3?columns=7,8", NULL, 400, "\"field\":\"columns\""},
        {"GET", "/v1/boards/laps/at-score/3?columns=y", NULL, 400, "\"field\":\"columns\""},
        {"GET", "/v1/boards/laps/at-score/3?columns=,", NULL, 400, "\"field\":\"columns\""},
        {"GET", "/v1/boards/race/target?rank=2", NULL, 200, "\"score\":20"},
        {"GET", "/v1/boards/race/target?rank=9", NULL, 200, "\"score\":null,\"entry\":null"},
        {"GET", "/v1/boards/race/target?top_percent=50&rank_style=dense", NULL, 200,
         "\"top_percent\":50"},
        {"GET", "/v1/boards/race/target", NULL, 400, "either rank or top_percent"},
        {"GET", "/v1/boards/race/target?top_percent=0", NULL, 400, "top_percent"},
        {"GET", "/v1/boards/race/count?min=15&max=40", NULL, 200, "\"count\":2"},
        {"GET", "/v1/boards/real/count", NULL, 200, "\"count\":1"},
        {"GET", "/v1/boards/race/count?min=x", NULL, 400, "\"field\":\"min\""},
        {"GET", "/v1/boards/race/count?max=x", NULL, 400, "\"field\":\"max\""},
        {"GET", "/v1/boards/race/distribution?buckets=2", NULL, 200, "\"by\":\"width\""},
        {"GET", "/v1/boards/race/distribution?buckets=2&by=count", NULL, 200, "\"quantiles\":[{"},
        {"GET", "/v1/boards/none/distribution", NULL, 404, "board_not_found"},
        {"GET", "/v1/boards/none/count", NULL, 404, "board_not_found"},
        {"GET", "/v1/boards/none/at-score/1", NULL, 404, "board_not_found"},
        {"GET", "/v1/boards/none/players?ids=ada", NULL, 404, "board_not_found"},
        {"GET", "/v1/boards/race/scopes/country", NULL, 200, "\"value\":\"FI\",\"total\":1"},
        {"GET", "/v1/boards/race/scopes/guild", NULL, 404, "no such scope"},
        {"GET", "/v1/boards/none/scopes/country", NULL, 404, "board_not_found"},
        {"GET", "/v1/boards/race/teams", NULL, 200, "\"team\":\"wolves\""},
        {"GET", "/v1/boards/race/teams/bears?around=1", NULL, 200, "\"members\":1"},
        {"GET", "/v1/boards/race/teams/cats", NULL, 404, NULL},
        {"GET", "/v1/boards/race/top?min_seq=x", NULL, 400, "min_seq"},
        {"GET", "/v1/boards/race/top?min_seq=9000000000000000000", NULL, 409, "seq_ahead"},
    };
    frontkit k;
    start(&k, &(frontkit_config){0});
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards/race/top", NULL, NULL), 200); /* a kept page */
    char etag[160], header[200];
    CHECK(sscanf(strstr(ask_reply, "ETag: "), "ETag: %159[^\r]", etag) == 1);
    snprintf(header, sizeof header, "If-None-Match: \"x\", %s\r\n", etag);
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards/race/top", header, NULL), 304);
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards/race/top", "If-None-Match: *\r\n", NULL), 304);
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards/race/top", "If-None-Match: \"x\"\r\n", NULL), 200);
    frontkit_stop(&k);
}

TEST(players) {
    static const ask_row rows[] = {
        {"GET", "/v1/players/ada", NULL, 200, "\"shoe\":\"42\""},
        {"GET", "/v1/players/zoe", NULL, 404, "player_not_found"},
        {"PUT", "/v1/players/zoe", "{\"a b\":\"1\"}", 400, "the name of an attribute"},
        {"PUT", "/v1/players/zoe", "{\"level\":\"\"}", 400, NULL},
        {"PUT", "/v1/players/zoe", "{\"level\":\"\\u0001\"}", 400, NULL},
        {"PUT", "/v1/players/zoe", "{\"level\":7}", 400, "\"field\":\"level\""},
        {"GET", "/v1/players/ada/friends", NULL, 200, "\"friends\":[\"bob\",\"cyd\"]"},
        {"GET", "/v1/players/ada/friends?limit=1&offset=1", NULL, 200, "\"friends\":[\"cyd\"]"},
        {"GET", "/v1/players/zoe/friends", NULL, 404, "player_not_found"},
        {"PUT", "/v1/players/ada/friends", "{\"friends\":[\"\"]}", 400, "friends"},
        {"PUT", "/v1/players/ada/friends", "{\"friends\":[\"a\\u0001\"]}", 400, "friends"},
        {"PUT", "/v1/players/ada/friends", "{\"friends\":[1]}", 400, "friends"},
        {"PUT", "/v1/players/ada/friends", "{}", 400, "friends"},
        {"PUT", "/v1/players/ada/friends/bob?follow=true", NULL, 200, "\"changed\":false"},
        {"PUT", "/v1/players/ada/friends/dan?follow=maybe", NULL, 400, "expected true or false"},
        {"DELETE", "/v1/players/ada/friends/bob", NULL, 200, "\"changed\":true"},
        {"POST", "/v1/players/bob/ban", "{\"reason\":\"speed hack\"}", 200, "\"changed\":true"},
        {"POST", "/v1/players/bob/ban", NULL, 200, "\"changed\":false"},
        {"POST", "/v1/players/bob/ban", "{\"why\":\"x\"}", 400, "why"},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"bob\",\"score\":50}", 422,
         "\"rule\":\"banned\""},
        {"GET", "/v1/players/bob", NULL, 200, "\"banned\":true"},
        {"DELETE", "/v1/players/bob/ban", NULL, 200, "\"changed\":true"},
        {"GET", "/v1/players/ada/history?board=race", NULL, 200, "\"points\":[]"},
        {"GET", "/v1/players/ada/history?board=none", NULL, 404, "board_not_found"},
        {"GET", "/v1/players/ada/history", NULL, 400, "board"},
        {"GET", "/v1/players/ada/submissions", NULL, 200, "\"submissions\":[]"},
        {"GET", "/v1/players/ada/submissions?before=x", NULL, 400, "next"},
        {"GET", "/v1/players/ada/submissions?before=1.x", NULL, 400, "next"},
        {"GET", "/v1/players/ada/submissions?before=1.1&from=1000&to=500", NULL, 200, NULL},
        {"GET", "/v1/players/ada/submissions?from=yesterday", NULL, 400, "RFC 3339"},
        {"DELETE", "/v1/players/cyd", NULL, 200, "\"changed\":true"},
    };
    frontkit k;
    start(&k, &(frontkit_config){0});
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    char body[2048] = "{";
    size_t len = 1;
    for (int i = 0; i <= RUNG_ATTRIBUTES_MAX; i++)
        len += (size_t)snprintf(body + len, sizeof body - len, "\"%s%d\":\"x\",", "a", i);
    snprintf(body + len, sizeof body - len, "\"name\":\"x\"}");
    CHECK_EQ_I64(ask(&k, "PUT", "/v1/players/zoe", NULL, body), 400);
    frontkit_stop(&k);
}

/* ---- operations ---- */

static bool archive_stat(void *ctx, rung_archive_stats *out) {
    (void)ctx;
    *out = (rung_archive_stats){.cursor_seq = 77, .behind_ms = 1500};
    return true;
}

static bool resp_stat(void *ctx, rung_api_resp_stat *out) {
    (void)ctx;
    *out = (rung_api_resp_stat){.commands = 78};
    return true;
}

static rung_api_progress progress(void *ctx) {
    (void)ctx;
    return (rung_api_progress){.what = "log", .done = 1, .total = 4};
}

TEST(operations) {
    static const ask_row rows[] = {
        {"GET", "/healthz", NULL, 200, "{\"status\":\"ok\"}"},
        {"GET", "/readyz", NULL, 200, "\"status\":\"ready\""},
        {"GET", "/readyz?writes=true", NULL, 200, "\"status\":\"ready\""},
        {"GET", "/readyz?writes=7", NULL, 400, "writes"},
        {"GET", "/openapi.json", NULL, 200, "\"openapi\":\"3.1.0\""},
        {"GET", "/v1/clock", NULL, 200, "\"held\":false"},
        {"POST", "/v1/clock", "{\"accept\":true}", 200, "\"held\":false"},
        {"POST", "/v1/clock", "{\"accept\":false}", 422, "must be true"},
        {"POST", "/v1/clock", "{\"accept\":1}", 400, "accept"},
        {"POST", "/v1/snapshot", NULL, 422, "\"code\":\"unsupported\""},
        {"GET", "/v1/snapshot", NULL, 422, "\"code\":\"unsupported\""},
        {"GET", "/metrics", NULL, 200, "rung_archive_seq 77"},
        {"GET", "/metrics", NULL, 200, "rung_resp_commands_total 78"},
        {"GET", "/metrics", NULL, 200, "rung_board_entries{board=\"race\"} 3"},
        {"GET", "/metrics", NULL, 200, "rung_http_requests_total{route=\"getMetrics\""},
        {"GET", "/", NULL, 200, "Content-Security-Policy: "},
        {"POST", "/", "{}", 404, NULL},
        {"GET", "/v1/keys", NULL, 200, "{\"keys\":[],\"can_change\":false}"},
        {"POST", "/v1/keys", "{\"role\":\"admin\"}", 422, "data folder"},
        {"DELETE", "/v1/keys/x", NULL, 422, "data folder"},
    };
    frontkit k;
    start(&k,
          &(frontkit_config){
              .api = {.archive_stat = archive_stat, .resp_stat = resp_stat, .version = "7.8.9"}});
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    CHECK_EQ_I64(ask(&k, "GET", "/", "Accept-Encoding: gzip\r\n", NULL), 200);
    char etag[160], header[200];
    CHECK(sscanf(strstr(ask_reply, "ETag: "), "ETag: %159[^\r]", etag) == 1);
    snprintf(header, sizeof header, "If-None-Match: %s\r\n", etag);
    CHECK_EQ_I64(ask(&k, "GET", "/", header, NULL), 304);
    frontkit_stop(&k);
}

TEST(metrics_can_be_off) {
    frontkit k;
    frontkit_start(&k, &(frontkit_config){.api = {.is_unmeasured = true}});
    CHECK_EQ_I64(ask(&k, "GET", "/metrics", NULL, NULL), 404);
    frontkit_stop(&k);
}

TEST(before_recovery) {
    static const ask_row rows[] = {
        {"GET", "/healthz", NULL, 200, NULL},
        {"GET", "/metrics", NULL, 200, "rung_ready 0"},
        {"GET", "/openapi.json", NULL, 200, NULL},
        {"GET", "/v1/boards", NULL, 503, "\"code\":\"not_ready\""},
        {"GET", "/v1/boards", NULL, 503, "Retry-After: 1"},
    };
    static const ask_row ready[] = {
        {"GET", "/readyz", NULL, 503, "\"progress\":{\"reading\":\"log\",\"done\":1,\"total\":4}"}};
    static const ask_row unknown[] = {{"GET", "/readyz", NULL, 503, "still recovering"}};
    frontkit k;
    frontkit_start(&k, &(frontkit_config){.is_recovering = true, .api = {.progress = progress}});
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    ask_all(&k, NULL, ready, 1);
    frontkit_stop(&k);
    frontkit_start(&k, &(frontkit_config){.is_recovering = true});
    ask_all(&k, NULL, unknown, 1);
    frontkit_stop(&k);
}

/* Others have written to the log while it recovered. It adds records of its own, so its sequence is not fixed. */
TEST(before_it_has_caught_up) {
    static const ask_row behind[] = {
        {"GET", "/readyz", NULL, 503, "of 1000 records are applied"},
        {"GET", "/readyz", NULL, 503, "\"progress\":{\"reading\":\"log\",\"done\":"},
        {"GET", "/readyz", NULL, 503, ",\"total\":1000}"},
        {"GET", "/metrics", NULL, 200, "rung_ready 0"},
        {"GET", "/v1/boards", NULL, 200, NULL}, /* it answers who asks all the same */
    };
    static const ask_row close[] = {
        {"GET", "/readyz", NULL, 200, "\"log\":{\"end_seq\":"},
        {"GET", "/metrics", NULL, 200, "rung_ready 1"},
    };
    static const ask_row later[] = {{"GET", "/readyz", NULL, 200, "\"end_seq\":1000,"}};
    frontkit k;
    rung_memfs fs;
    shared_topic *topic = calloc(1, sizeof *topic);
    CHECK(topic);
    rung_memfs_init(&fs);
    topic->claimed_end = 1000;
    frontkit_start(
        &k, &(frontkit_config){
                .log = shared_log_open(topic), .path = "data", .fs = &fs.port, .ready_lag_max = 5});
    ask_all(&k, NULL, behind, COUNT_OF(behind));
    topic->claimed_end = rung_state_seq(rung_hub_state(k.hub)) + 5;
    frontkit_tick(&k, 100);
    ask_all(&k, NULL, close, COUNT_OF(close));
    topic->claimed_end = 1000; /* once ready, it stays so */
    frontkit_tick(&k, 100);
    ask_all(&k, NULL, later, 1);
    frontkit_stop(&k);
    rung_memfs_deinit(&fs);
    shared_topic_free(topic);
}

TEST(servers_of_a_log_and_digests) {
    static const ask_row alone[] = {
        {"GET", "/v1/nodes", NULL, 200, "\"shared\":false"},
        {"GET", "/v1/nodes", NULL, 200, "\"self\":true,\"state\":\"present\",\"address\":null"},
        {"GET", "/v1/digest", NULL, 200, "\"digest\":\""},
    };
    static const ask_row shared[] = {
        {"GET", "/v1/nodes", NULL, 200, "\"shared\":true"},
        {"GET", "/v1/digest", NULL, 200, "\"agreed\":"},
        {"GET", "/v1/digest", NULL, 200, "\"checkpoints\":["},
        {"GET", "/v1/digest", NULL, 200, "\"diverged\":null"},
    };
    frontkit k;
    rung_memfs fs;
    start(&k, &(frontkit_config){0});
    ask_all(&k, NULL, alone, COUNT_OF(alone));
    frontkit_stop(&k);
    shared_topic *topic = calloc(1, sizeof *topic);
    CHECK(topic);
    rung_memfs_init(&fs);
    frontkit_start(
        &k, &(frontkit_config){.log = shared_log_open(topic), .path = "data", .fs = &fs.port});
    for (int i = 0; i < 4; i++) /* reports */
        frontkit_tick(&k, 20000), frontkit_turn(&k, 4);
    ask_all(&k, NULL, shared, COUNT_OF(shared));
    frontkit_stop(&k);
    rung_memfs_deinit(&fs);
    shared_topic_free(topic);
}

TEST(timed_snapshots) {
    static const ask_row before[] = {
        {"PUT", "/v1/boards/slow",
         "{\"snapshots\":{\"every\":\"1m\",\"top\":2,\"keep\":3},\"windows\":[\"all\",\"day\"]}",
         201, "\"snapshots\""},
        {"POST", "/v1/boards/slow/scores", "{\"player\":\"ada\",\"score\":3}", 200, NULL},
        {"POST", "/v1/boards/slow/scores", "{\"player\":\"bob\",\"score\":2}", 200, NULL},
        {"POST", "/v1/boards/slow/scores", "{\"player\":\"cyd\",\"score\":1}", 200, NULL},
    };
    static const ask_row after[] = {
        {"POST", "/v1/boards/slow/scores", "{\"player\":\"dan\",\"score\":9}", 200, NULL},
        {"GET", "/v1/boards/slow/versions", NULL, 200, "\"total\":3,\"kept\":2"},
        {"GET", "/v1/boards/slow/versions?window=day", NULL, 200, "\"version\":"},
        {"GET", "/v1/boards/none/versions", NULL, 404, "board_not_found"},
        {"GET", "/v1/boards/slow/top?version=newest", NULL, 200, "Cache-Control: no-cache"},
        {"GET", "/v1/boards/slow/top?version=newest&rank=dense&limit=1", NULL, 200, "\"kept\":2"},
        {"GET", "/v1/boards/slow/top?version=soon", NULL, 400, "\"field\":\"version\""},
        {"GET", "/v1/boards/slow/top?version=1", NULL, 404, NULL},
        {"GET", "/v1/boards/race/top?version=newest", NULL, 404, NULL},
    };
    frontkit k;
    char target[96], headers[160], etag[96];
    unsigned long long version;
    start(&k, &(frontkit_config){0});
    ask_all(&k, NULL, before, COUNT_OF(before));
    for (int i = 0; i < 3; i++)
        frontkit_tick(&k, 61000), frontkit_turn(&k, 4);
    ask_all(&k, NULL, after, COUNT_OF(after));
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards/slow/top?version=newest", NULL, NULL), 200);
    CHECK(sscanf(strstr(ask_reply, "\"version\":"), "\"version\":%llu", &version) == 1);
    CHECK(sscanf(strstr(ask_reply, "ETag: "), "ETag: %95[^\r]", etag) == 1);
    snprintf(target, sizeof target, "/v1/boards/slow/top?version=%llu", version);
    CHECK_EQ_I64(ask(&k, "GET", target, NULL, NULL), 200);
    CHECK(strstr(ask_reply, "immutable") && !strstr(ask_reply, "dan"));
    snprintf(headers, sizeof headers, "If-None-Match: %s\r\n", etag);
    CHECK_EQ_I64(ask(&k, "GET", target, headers, NULL), 304);
    frontkit_stop(&k);
}

/* The first page, and what follows although somebody moves meanwhile. */
TEST(pages_of_one_moment) {
    char target[256], token[160];
    frontkit k;
    start(&k, &(frontkit_config){0});
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards/race/top?page=first&limit=2", NULL, NULL), 200);
    CHECK(strstr(ask_reply, "\"player\":\"ada\"") && strstr(ask_reply, "\"player\":\"bob\""));
    CHECK(sscanf(strstr(ask_reply, "\"next\":\""), "\"next\":\"%159[^\"]", token) == 1);
    CHECK_OK(frontkit_score(&k, "race", "cyd", 99));
    frontkit_turn(&k, 2);
    snprintf(target, sizeof target, "/v1/boards/race/top?page=%s&limit=2", token);
    CHECK_EQ_I64(ask(&k, "GET", target, NULL, NULL), 200);
    CHECK(strstr(ask_reply, "\"player\":\"cyd\"") && strstr(ask_reply, "\"score\":10"));
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards/race/top?page=nonsense", NULL, NULL) / 100, 4);
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards/none/top?page=first", NULL, NULL), 404);
    frontkit_stop(&k);
}

TEST(dry_runs_movers_and_clocks) {
    static const ask_row rows[] = {
        {"PUT", "/v1/boards/strict",
         "{\"rules\":[{\"rule\":\"max\",\"value\":10},{\"rule\":\"first_max\",\"value\":5,"
         "\"action\":\"flag\"}]}",
         201, NULL},
        {"POST", "/v1/boards/strict/check", "{\"player\":\"ada\",\"score\":30}", 200,
         "\"verdict\":\"refuse"},
        {"POST", "/v1/boards/strict/check", "{\"player\":\"ada\",\"score\":7}", 200,
         "\"rule\":\"first_max\""},
        {"POST", "/v1/boards/strict/check", "{\"player\":\"ada\",\"score\":2}", 200,
         "\"verdict\":\"counts\""},
        {"POST", "/v1/boards/none/check", "{\"player\":\"ada\",\"score\":2}", 404,
         "board_not_found"},
        {"POST", "/v1/boards/strict/check", "{\"player\":\"ada\"}", 422, "score"},
        {"POST", "/v1/boards/strict/check", "[", 400, "malformed"},
        {"GET", "/v1/boards/strict/players/ada", NULL, 404, NULL},
        {"GET", "/v1/clock", NULL, 200, "\"log_time\""},
        {"POST", "/v1/clock", "{\"accept\":false}", 422, "accept"},
        {"POST", "/v1/clock", "{\"accept\":true}", 200, NULL},
    };
    frontkit k;
    start(&k, &(frontkit_config){0});
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    frontkit_stop(&k);
}

/* ---- waiting for a sequence ---- */

static uint64_t seq_of(frontkit *k) {
    return rung_state_seq(rung_hub_state(k->hub));
}

TEST(a_read_waits_for_its_sequence) {
    frontkit k;
    char target[64];
    start(&k, &(frontkit_config){0});
    snprintf(target, sizeof target, "/v1/boards/race/top?min_seq=%llu",
             (unsigned long long)seq_of(&k) + 1);
    int fd = ask_begin(&k, "GET", target, "Connection: close\r\n", NULL);
    frontkit_turn(&k, 4);
    CHECK_OK(frontkit_score(&k, "race", "dan", 99));
    ask_await(&k, fd, NULL);
    CHECK(ask_status() == 200 && strstr(ask_reply, "\"player\":\"dan\""));
    close(fd);
    frontkit_stop(&k);
}

TEST(a_sequence_that_does_not_come_is_503) {
    frontkit k;
    char target[64];
    start(&k, &(frontkit_config){.api = {.wait_ms = 20}});
    snprintf(target, sizeof target, "/v1/boards/race/top?min_seq=%llu",
             (unsigned long long)seq_of(&k) + 1);
    CHECK_EQ_I64(ask(&k, "GET", target, NULL, NULL), 503);
    CHECK(strstr(ask_reply, "\"code\":\"seq_timeout\""));
    frontkit_stop(&k);
}

TEST(too_many_that_wait_are_503) {
    frontkit k;
    char target[64];
    int fds[4];
    start(&k, &(frontkit_config){.api = {.waiting_max = 2}});
    snprintf(target, sizeof target, "/v1/boards/race/top?min_seq=%llu",
             (unsigned long long)seq_of(&k) + 1);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        fds[i] = ask_begin(&k, "GET", target, "Connection: close\r\n", NULL);
    ask_await(&k, fds[3], NULL);
    CHECK(ask_status() == 503 && strstr(ask_reply, "\"code\":\"overloaded\""));
    frontkit_begin_stop(&k, 1000); /* those that wait are told */
    ask_await(&k, fds[0], NULL);
    CHECK(ask_status() == 503 && strstr(ask_reply, "\"code\":\"stopping\""));
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        close(fds[i]);
    frontkit_stop(&k);
}

/* The second request is read while the board still exists, and applied after it was deleted. */
TEST(a_score_behind_the_deletion_of_its_board_is_refused) {
    frontkit k;
    start(&k, &(frontkit_config){0});
    int first = ask_begin(&k, "DELETE", "/v1/boards/race", "Connection: close\r\n", NULL);
    int second = ask_begin(&k, "POST", "/v1/boards/race/scores", "Connection: close\r\n",
                           "{\"player\":\"ada\",\"score\":40}");
    ask_await(&k, first, NULL);
    CHECK_EQ_I64(ask_status(), 200);
    ask_await(&k, second, NULL);
    CHECK_EQ_I64(ask_status(), 404);
    close(first);
    close(second);
    frontkit_stop(&k);
}

TEST(a_player_has_a_rate) {
    static const ask_row rows[] = {
        {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\",\"score\":40}", 429,
         "\"field\":\"player\""},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"eve\",\"score\":2}", 200, NULL},
    };
    frontkit k;
    start(&k, &(frontkit_config){.access = {.per_player = {5, 60000}}}); /* ada has sent 5 */
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    frontkit_stop(&k);
}

TEST(a_stopping_server_says_so) {
    frontkit k;
    start(&k, &(frontkit_config){0});
    int fd = ask_begin(&k, "POST", "/v1/boards/race/scores",
                       "Content-Length: 30\r\nContent-Type: application/json\r\n", NULL);
    int idle = ask_begin(&k, "GET", "/readyz", "Connection: keep-alive\r\n", NULL);
    ask_await(&k, idle, "ready");
    CHECK(send(idle, "GET /re", 7, MSG_NOSIGNAL) == 7);
    frontkit_turn(&k, 4);
    frontkit_begin_stop(&k, 1000);
    CHECK(send(fd, "{\"player\":\"ada\",\"score\":1234}  ", 30, MSG_NOSIGNAL) == 30);
    ask_await(&k, fd, NULL);
    CHECK(ask_status() == 503 && strstr(ask_reply, "\"code\":\"stopping\""));
    CHECK(send(idle, "adyz HTTP/1.1\r\nHost: localhost\r\n\r\n", 35, MSG_NOSIGNAL) == 35);
    ask_await(&k, idle, NULL);
    CHECK(ask_status() == 503 && strstr(ask_reply, "shutting down"));
    close(fd);
    close(idle);
    frontkit_stop(&k);
}

TEST(a_draining_server_serves_and_says_that_it_is_not_ready) {
    static const ask_row rows[] = {
        {"GET", "/readyz", NULL, 503, "\"code\":\"stopping\""},
        {"GET", "/healthz", NULL, 200, NULL},
        {"GET", "/metrics", NULL, 200, "rung_ready 0"},
        {"GET", "/v1/boards/race/top", NULL, 200, NULL},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\",\"score\":4000}", 200, NULL},
    };
    frontkit k;
    start(&k, &(frontkit_config){0});
    rung_api_drain(k.api);
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    frontkit_stop(&k);
}

/* ---- memory ---- */

/* Whatever allocation fails, the request is answered or its connection closed, nothing leaks, and the next one is
 * answered. */
TEST(no_allocation_is_needed_to_survive) {
    static const ask_row rows[] = {
        {"GET", "/v1/boards/race/top?limit=1000", NULL, 200, NULL},
        {"GET", "/v1/boards/race/windows", NULL, 200, NULL},
        {"GET", "/v1/boards/race/scopes/country?limit=1000", NULL, 200, NULL},
        {"GET", "/v1/players/ada/friends", NULL, 200, NULL},
        {"GET", "/metrics", NULL, 200, NULL},
        {"PUT", "/v1/players/ada", "{\"name\":\"Ada\"}", 200, NULL},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\",\"score\":40}", 200, NULL},
        {"POST", "/v1/scores", "[{\"board\":\"race\",\"player\":\"ada\",\"score\":41}]", 200, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (uint64_t n = 1;; n++) {
            frontkit k;
            start(&k, &(frontkit_config){.fill_max = 64});
            rung_failalloc_fail_at(&k.heap, n, false);
            int status = ask(&k, rows[i].method, rows[i].target, NULL, rows[i].body);
            bool is_swept = !k.heap.failed_count;
            rung_failalloc_fail_at(&k.heap, 0, false);
            CHECK_MSG(status == 0 || status == 200 || status == 503, "%s", ask_reply);
            CHECK_EQ_I64(ask(&k, "GET", "/readyz", NULL, NULL), 200);
            frontkit_stop(&k);
            if (is_swept)
                break;
        }
    }
}

TEST(creating_it_fails_without_leaks) {
    for (uint64_t n = 1;; n++) {
        rung_failalloc heap;
        rung_loop *loop;
        rung_access *access;
        rung_api *api;
        rung_failalloc_init(&heap);
        const rung_alloc *a = rung_failalloc_port(&heap);
        CHECK_OK(rung_uv_loop_create(a, &loop, NULL));
        CHECK_OK(rung_access_create(&(rung_access_config){.alloc = a}, &access, NULL));
        rung_failalloc_fail_at(&heap, n, false);
        rung_status st = rung_api_create(
            &(rung_api_config){.alloc = a, .loop = loop, .access = access}, &api, NULL);
        bool is_swept = !heap.failed_count;
        CHECK(st == RUNG_OK || st == RUNG_ENOMEM);
        if (st == RUNG_OK)
            rung_api_destroy(api);
        rung_access_destroy(access);
        rung_uv_loop_destroy(loop);
        rung_failalloc_deinit(&heap);
        if (is_swept)
            break;
    }
}

RUNG_TEST_MAIN
