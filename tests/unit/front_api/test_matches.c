/* SPDX-License-Identifier: Apache-2.0 */
/* Matches of rating boards over the API: one, many, predictions, and what the ratings look like afterwards. */
#include "support/askkit.h"

#define MATCHES "/v1/boards/chess/matches"
#define DUEL                                                                                       \
    "{\"sides\":[{\"place\":1,\"players\":[\"ada\"]},{\"place\":2,\"players\":[\"bob\"]}],"        \
    "\"id\":\"m1\"}"

static const ask_row fill[] = {
    {"PUT", "/v1/boards/chess", "{\"update\":\"elo\",\"scopes\":[\"country\"]}", 201, "\"k\":32"},
    {"PUT", "/v1/boards/go", "{\"update\":\"glicko2\"}", 201, NULL},
    {"PUT", "/v1/boards/arena", "{\"update\":\"openskill\"}", 201, NULL},
    {"PUT", "/v1/boards/race", "{}", 201, NULL},
    {"POST", MATCHES, DUEL, 200, "\"expected\":0.5"},
};

static void start(frontkit *k) {
    frontkit_start(k, &(frontkit_config){0});
    ask_all(k, NULL, fill, COUNT_OF(fill));
}

TEST(one_match) {
    static const ask_row rows[] = {
        {"POST", MATCHES, DUEL, 200, "\"duplicate\":true"},
        {"POST", MATCHES,
         "{\"sides\":[{\"place\":2,\"players\":[\"ada\"]},{\"place\":1,\"players\":[\"bob\"]}],"
         "\"id\":\"m1\"}",
         409, "id_conflict"},
        {"POST", "/v1/boards/go/matches", DUEL, 200, "\"volatility\":"},
        {"POST", "/v1/boards/arena/matches",
         "{\"sides\":[{\"score\":3,\"players\":[\"ada\",{\"player\":\"cyd\",\"weight\":0.5}]},"
         "{\"score\":3,\"players\":[\"bob\"]}]}",
         200, "\"draws\":1"},
        {"POST", MATCHES, "{\"sides\":[{\"place\":1,\"players\":[\"ada\"]}]}", 422,
         "\"field\":\"sides\""},
        {"POST", MATCHES, "{\"sides\":7}", 400, "sides"},
        {"POST", MATCHES, "{", 400, "malformed"},
        {"POST", "/v1/boards/race/matches", DUEL, 422, "update"},
        {"POST", "/v1/boards/none/matches", DUEL, 404, "board_not_found"},
        {"GET", "/v1/boards/chess/top", NULL, 200, "\"games\":1"},
        {"GET", "/v1/boards/chess/players/bob", NULL, 200, "\"losses\":1"},
        {"POST", "/v1/boards/chess/scores", "{\"player\":\"ada\",\"score\":5}", 422, NULL},
    };
    frontkit k;
    start(&k);
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    frontkit_stop(&k);
}

TEST(many_matches) {
    frontkit k;
    start(&k);
    CHECK_EQ_I64(ask(&k, "POST", MATCHES, NULL, " [" DUEL ",5,{}]"), 200);
    CHECK(strstr(ask_reply, "\"duplicate\":true") && strstr(ask_reply, "\"line\":3"));
    CHECK_EQ_I64(ask(&k, "POST", MATCHES, "Content-Type: application/x-ndjson\r\n",
                     DUEL "\n{\"sides\":[]}\n"),
                 200);
    CHECK(strstr(ask_reply, "\"line\":2") && strstr(ask_reply, "\"field\":\"sides\""));
    CHECK_EQ_I64(ask(&k, "POST", MATCHES, NULL, "[]"), 200);
    frontkit_stop(&k);
}

TEST(a_match_too_long) {
    enum { LONG = 140000 };
    static char body[LONG + 64];
    frontkit k;
    start(&k);
    memset(body, ' ', LONG);
    memcpy(body + LONG, "{}", 3);
    CHECK_EQ_I64(ask(&k, "POST", MATCHES, NULL, body), 413);
    CHECK(strstr(ask_reply, "too_large"));
    frontkit_stop(&k);
}

TEST(predictions_and_opponents) {
    static const ask_row rows[] = {
        {"POST", "/v1/boards/chess/predict",
         "{\"sides\":[{\"players\":[\"ada\"]},{\"players\":[\"bob\"]}]}", 200, "\"win\":0.5"},
        {"POST", "/v1/boards/chess/predict",
         "{\"sides\":[{\"players\":[\"new\"]},{\"players\":[\"bob\"]},{\"players\":[\"ada\"]}]}",
         200, "\"place\":"},
        {"POST", "/v1/boards/chess/predict", "{\"sides\":[{\"players\":[\"ada\"]}]}", 422, "sides"},
        {"POST", "/v1/boards/race/predict",
         "{\"sides\":[{\"players\":[\"ada\"]},{\"players\":[\"bob\"]}]}", 422, "update"},
        {"GET", "/v1/boards/chess/opponents/ada?n=3", NULL, 200, "\"player\":\"bob\""},
        {"GET", "/v1/boards/chess/opponents/ada?n=0", NULL, 400, "\"field\":\"n\""},
        {"GET", "/v1/boards/chess/opponents/new", NULL, 200, "\"quality\":"},
        {"GET", "/v1/boards/race/opponents/ada", NULL, 422, NULL},
    };
    frontkit k;
    start(&k);
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    frontkit_stop(&k);
}

TEST(matches_that_were_played) {
    static const ask_row rows[] = {
        {"GET", MATCHES "/m1", NULL, 200, "\"outcome\":\"win\""},
        {"GET", MATCHES "/m2", NULL, 404, "\"field\":\"match\""},
        {"POST", MATCHES,
         "{\"sides\":[{\"place\":1,\"players\":[{\"player\":\"cyd\",\"weight\":2,\"played\":0.5}]},"
         "{\"place\":1,\"players\":[\"bob\"]}]}",
         200, "\"expected\""},
        {"GET", MATCHES, NULL, 200, "\"next\":null"},
        {"GET", MATCHES "?limit=1", NULL, 200, "\"outcome\":\"draw\""},
        {"GET", MATCHES "?before=1", NULL, 200, "\"matches\":[]"},
        {"GET", "/v1/boards/race/matches", NULL, 422, "update"},
        {"GET", "/v1/boards/none/matches", NULL, 404, "board_not_found"},
        {"GET", "/v1/boards/chess/players/bob/matches", NULL, 200, "\"others\":[{"},
        {"GET", "/v1/boards/chess/players/bob/matches?limit=1", NULL, 200, "\"next\":"},
        {"GET", "/v1/boards/chess/players/new/matches", NULL, 200, NULL},
        {"GET", "/v1/boards/race/players/bob/matches", NULL, 422, NULL},
        {"POST", "/v1/boards/arena/matches", DUEL, 200, NULL},
        {"GET", "/v1/boards/arena/matches/m1", NULL, 200, "\"deviation\":"},
    };
    frontkit k;
    start(&k);
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    frontkit_stop(&k);
}

RUNG_TEST_MAIN
