/* SPDX-License-Identifier: Apache-2.0 */
/* Reviews of tentative scores, notes, previews of bans, and sessions with what players sign in them. */
#define _GNU_SOURCE
#include "guard/signature.h"
#include "support/askkit.h"
#include "support/token.h"

#include <openssl/hmac.h>
#include <openssl/sha.h>

#define RULES                                                                                      \
    "\"rules\":[{\"rule\":\"max\",\"value\":100,\"action\":\"review\"},"                           \
    "{\"rule\":\"z_player\",\"value\":50,\"action\":\"flag\"}]"

static const ask_row fill[] = {
    {"PUT", "/v1/boards/race", "{\"update\":\"last\"," RULES "}", 201, "\"review_expires\":604800"},
    {"PUT", "/v1/boards/laps",
     "{\"columns\":[{\"name\":\"time\",\"type\":\"integer\"}],\"review\":\"top:2\"}", 201, NULL},
    {"PUT", "/v1/boards/sums", "{\"update\":\"sum\",\"review\":\"top:9\"}", 201, NULL},
    {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\",\"score\":7}", 200, "\"rank\":1"},
    {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\",\"score\":700}", 200,
     "\"tentative\":true"},
    {"POST", "/v1/boards/race/scores", "{\"player\":\"bob\",\"score\":900}", 200,
     "\"tentative\":true"},
    {"POST", "/v1/boards/laps/scores", "{\"player\":\"cyd\",\"score\":3,\"columns\":{\"time\":7}}",
     200, "\"tentative\":true"},
    {"POST", "/v1/boards/sums/scores", "{\"player\":\"cyd\",\"delta\":3}", 200, NULL},
};

static void start(frontkit *k, const frontkit_config *config) {
    frontkit_start(k, config);
    ask_all(k, NULL, fill, COUNT_OF(fill));
}

/* The id of the n-th review in the last answer. */
static void take_id(uint32_t n, char out[64]) {
    const char *at = ask_reply;
    for (uint32_t i = 0; i <= n; i++) {
        at = strstr(at, "{\"id\":\"");
        CHECK(at);
        at += strlen("{\"id\":\"");
    }
    CHECK(sscanf(at, "%63[^\"]", out) == 1);
}

TEST(the_list_and_its_evidence) {
    static const ask_row rows[] = {
        {"GET", "/v1/reviews", NULL, 200, "\"next\":null,\"total\":4"},
        {"GET", "/v1/reviews?board=race", NULL, 200, "\"standing\":{\"rank\":1,\"total\":1"},
        {"GET", "/v1/reviews?player=ada", NULL, 200, "\"history\":{\"scores\":1"},
        {"GET", "/v1/reviews?player=bob", NULL, 200, "\"standing\":null,\"rank\":1"},
        {"GET", "/v1/reviews?board=laps", NULL, 200, "\"columns\":{\"time\":7}"},
        {"GET", "/v1/reviews?board=sums", NULL, 200, "\"delta\":3"},
        {"GET", "/v1/reviews?rule=top", NULL, 200, "\"total\":2"},
        {"GET", "/v1/reviews?rule=min", NULL, 200, "\"reviews\":[]"},
        {"GET", "/v1/reviews?rule=odd", NULL, 400, "\"field\":\"rule\""},
        {"GET", "/v1/reviews?after=x", NULL, 400, "\"field\":\"after\""},
        {"GET", "/v1/reviews?limit=1", NULL, 200, "\"next\":\""},
    };
    frontkit k;
    char target[96], id[64];
    start(&k, &(frontkit_config){0});
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    take_id(0, id);
    snprintf(target, sizeof target, "/v1/reviews?after=%s", id);
    CHECK_EQ_I64(ask(&k, "GET", target, NULL, NULL), 200);
    CHECK(strstr(ask_reply, "\"total\":3"));
    frontkit_stop(&k);
}

TEST(verdicts) {
    static const ask_row refusals[] = {
        {"POST", "/v1/reviews/x", "{\"verdict\":\"promote\"}", 404, "\"field\":\"review\""},
        {"POST", "/v1/reviews/999999", "{\"verdict\":\"promote\"}", 404, "it has ended"},
        {"POST", "/v1/reviews/1", "{\"verdict\":\"maybe\"}", 400, "\"field\":\"verdict\""},
        {"POST", "/v1/reviews", "{\"verdict\":\"reject\",\"ids\":[\"x\"]}", 400, "ids"},
        {"POST", "/v1/reviews", "{\"verdict\":\"reject\",\"ids\":[7]}", 400, "ids"},
        {"POST", "/v1/reviews", "{\"verdict\":\"reject\"}", 400, "ids"},
    };
    static const ask_row after[] = {
        {"GET", "/v1/reviews", NULL, 200, "\"total\":0"},
        {"GET", "/v1/boards/race/top", NULL, 200, "\"score\":700"},
        {"GET", "/v1/boards/race/players/bob", NULL, 404, "player_not_found"},
        {"GET", "/v1/players/bob/ban", NULL, 200, "\"banned\":true"},
    };
    frontkit k;
    char target[96], body[256], ids[4][64];
    start(&k, &(frontkit_config){0});
    ask_all(&k, NULL, refusals, COUNT_OF(refusals));
    CHECK_EQ_I64(ask(&k, "GET", "/v1/reviews", NULL, NULL), 200);
    for (uint32_t i = 0; i < 4; i++)
        take_id(i, ids[i]);
    snprintf(target, sizeof target, "/v1/reviews/%s", ids[0]);
    const char *promote = "{\"verdict\":\"promote\",\"reason\":\"seen\"}";
    CHECK_EQ_I64(ask(&k, "POST", target, NULL, promote), 200);
    CHECK(strstr(ask_reply, "\"changed\":true"));
    CHECK_EQ_I64(ask(&k, "POST", target, NULL, promote), 404);
    snprintf(body, sizeof body, "{\"verdict\":\"ban\",\"ids\":[\"%s\",\"%s\"]}", ids[1], ids[0]);
    CHECK_EQ_I64(ask(&k, "POST", "/v1/reviews", NULL, body), 200);
    CHECK(strstr(ask_reply, "\"changed\":true") && strstr(ask_reply, "\"code\":\"not_found\""));
    snprintf(body, sizeof body, "{\"verdict\":\"reject\",\"ids\":[\"%s\",\"%s\"]}", ids[2], ids[3]);
    CHECK_EQ_I64(ask(&k, "POST", "/v1/reviews", NULL, body), 200);
    ask_all(&k, NULL, after, COUNT_OF(after));
    frontkit_stop(&k);
}

/* Whoever may moderate one board sees and decides its reviews alone, and cannot ban. */
TEST(a_key_for_one_board) {
    static const ask_row rows[] = {
        {"GET", "/v1/reviews?board=laps", NULL, 200, "\"total\":1"},
        {"GET", "/v1/reviews?board=race", NULL, 403, "not for this board"},
        {"GET", "/v1/reviews", NULL, 403, "concerns all boards"},
    };
    char folder[64], path[96], admin[256], limited[256], target[96], body[256], ids[4][64];
    frontkit k;
    ask_make_folder(folder, path);
    ask_mint(path, (rung_key){.role = RUNG_ROLE_ADMIN}, 1, admin);
    ask_mint(
        path,
        (rung_key){.role = RUNG_ROLE_ADMIN, .pattern_count = 1, .patterns = {RUNG_SLICE("laps")}},
        2, limited);
    frontkit_start(&k, &(frontkit_config){.access = {.path = path}});
    ask_all(&k, admin, fill, COUNT_OF(fill));
    CHECK_EQ_I64(ask(&k, "GET", "/v1/reviews", admin, NULL), 200);
    for (uint32_t i = 0; i < 4; i++)
        take_id(i, ids[i]);
    ask_all(&k, limited, rows, COUNT_OF(rows));
    snprintf(target, sizeof target, "/v1/reviews/%s", ids[0]);
    CHECK_EQ_I64(ask(&k, "POST", target, limited, "{\"verdict\":\"promote\"}"), 403);
    snprintf(body, sizeof body, "{\"verdict\":\"ban\",\"ids\":[\"%s\",\"%s\"]}", ids[0], ids[2]);
    CHECK_EQ_I64(ask(&k, "POST", "/v1/reviews", limited, body), 200);
    CHECK(!strstr(ask_reply, "\"changed\":true"));
    snprintf(target, sizeof target, "/v1/reviews/%s", ids[2]);
    CHECK_EQ_I64(ask(&k, "POST", target, limited, "{\"verdict\":\"promote\"}"), 200);
    frontkit_stop(&k);
    ask_remove_folder(folder, path);
}

TEST(notes_and_previews) {
    static const ask_row rows[] = {
        {"POST", "/v1/players/ada/notes", "{\"note\":\"asked about a replay\"}", 200, NULL},
        {"POST", "/v1/players/ada/notes", "{\"note\":\"\"}", 400, "note"},
        {"POST", "/v1/players/ada/notes", "{}", 400, "note"},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"dan\",\"score\":5}", 200, NULL},
        {"GET", "/v1/players/ada/ban", NULL, 200, "\"move_up\":1,\"next\":[\"dan\"]"},
        {"GET", "/v1/players/ada/ban", NULL, 200, "\"complete\":true"},
        {"GET", "/v1/players/nobody/ban", NULL, 404, "player_not_found"},
        {"POST", "/v1/players/ada/ban", "{\"until\":\"2030-01-01T00:00:00Z\"}", 200, NULL},
        {"GET", "/v1/players/ada/ban", NULL, 200, "\"until\":\"2030-01-01T00:00:00"},
    };
    frontkit k;
    start(&k, &(frontkit_config){0});
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    frontkit_stop(&k);
}

/* ---- sessions ---- */

typedef struct signed_world {
    frontkit k;
    char folder[64], path[96];
    char server[256], token[TOKEN_SIZE];
    char session[64], secret[96];
} signed_world;

static void add_token_keys(signed_world *w) {
    rung_key login = token_key("login", RUNG_ALG_HS256);
    rung_key sessions = token_key("sessions", RUNG_ALG_SESSION);
    login.created_ms = sessions.created_ms = INT64_C(1700000000000);
    CHECK_OK(rung_keys_file_change(NULL, rung_alloc_heap(), w->path, ask_add_key, &login, NULL));
    CHECK_OK(rung_keys_file_change(NULL, rung_alloc_heap(), w->path, ask_add_key, &sessions, NULL));
}

static void begin_session(signed_world *w) {
    CHECK_EQ_I64(ask(&w->k, "POST", "/v1/sessions", w->server, "{\"player\":\"ada\"}"), 201);
    CHECK(sscanf(strstr(ask_reply, "\"session\":\""), "\"session\":\"%63[^\"]", w->session) == 1);
    CHECK(sscanf(strstr(ask_reply, "\"secret\":\""), "\"secret\":\"%95[^\"]", w->secret) == 1);
}

static void signed_world_init(signed_world *w, bool has_sessions) {
    char text[TOKEN_SIZE];
    memset(w, 0, sizeof *w);
    ask_make_folder(w->folder, w->path);
    ask_mint(w->path, (rung_key){.role = RUNG_ROLE_ADMIN}, 1, w->server);
    if (has_sessions)
        add_token_keys(w);
    rung_slice token =
        token_make(RUNG_ALG_HS256, RUNG_SLICE("{\"alg\":\"HS256\",\"kid\":\"login\"}"),
                   RUNG_SLICE("{\"sub\":\"ada\",\"exp\":1800003600}"), text);
    snprintf(w->token, sizeof w->token, "Authorization: Bearer %.*s\r\n", (int)token.len,
             token.ptr);
    frontkit_start(&w->k, &(frontkit_config){.access = {.path = w->path}});
    CHECK_EQ_I64(ask(&w->k, "PUT", "/v1/boards/race", w->server,
                     "{\"writers\":\"player\",\"update\":\"last\"}"),
                 201);
}

static void signed_world_end(signed_world *w) {
    frontkit_stop(&w->k);
    ask_remove_folder(w->folder, w->path);
}

/* The four headers for a POST, by OpenSSL alone. */
static void sign(const signed_world *w, const char *target, const char *body, uint64_t nonce,
                 char out[2048]) {
    uint8_t hash[SHA256_DIGEST_LENGTH], mac[EVP_MAX_MD_SIZE];
    unsigned mac_len;
    char text[1024], hex[2 * SHA256_DIGEST_LENGTH + 1];
    SHA256((const uint8_t *)body, strlen(body), hash);
    for (size_t i = 0; i < sizeof hash; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    int len = snprintf(text, sizeof text, "rung-signature-1\nPOST\n%s\n%s\n%s\n1800000000000\n%llu",
                       target, hex, w->session, (unsigned long long)nonce);
    HMAC(EVP_sha256(), w->secret, (int)strlen(w->secret), (const uint8_t *)text, (size_t)len, mac,
         &mac_len);
    for (size_t i = 0; i < mac_len; i++)
        snprintf(hex + 2 * i, 3, "%02x", mac[i]);
    snprintf(out, 2048,
             "%.1000sRung-Session: %s\r\nRung-Time: 1800000000000\r\nRung-Nonce: %llu\r\n"
             "Rung-Signature: %s\r\n",
             w->token, w->session, (unsigned long long)nonce, hex);
}

/* askkit's ask() has room for short headers only. */
static int ask_signed(signed_world *w, const char *target, const char *headers, const char *body) {
    char all[3072];
    snprintf(all, sizeof all, "Connection: close\r\n%s", headers);
    int fd = ask_begin(&w->k, "POST", target, all, body);
    ask_await(&w->k, fd, NULL);
    close(fd);
    frontkit_turn(&w->k, 2);
    return ask_status();
}

#define TARGET "/v1/boards/race/scores"

TEST(a_session_signs) {
    static const char good[] = "{\"player\":\"ada\",\"score\":5}";
    static const char dated[] = "{\"player\":\"ada\",\"score\":5,\"at\":1800000000000}";
    static const char other[] = "{\"player\":\"bob\",\"score\":5}";
    signed_world w;
    char headers[2048];
    signed_world_init(&w, true);
    begin_session(&w);
    sign(&w, TARGET, good, 1, headers);
    CHECK_EQ_I64(ask_signed(&w, TARGET, headers, good), 200);
    CHECK_EQ_I64(ask_signed(&w, TARGET, headers, good), 409);
    CHECK(strstr(ask_reply, "\"code\":\"replayed\""));
    sign(&w, TARGET, good, 2, headers);
    CHECK_EQ_I64(ask_signed(&w, TARGET, headers, "{\"player\":\"ada\",\"score\":6}"), 401);
    CHECK(strstr(ask_reply, "\"code\":\"signature\""));
    sign(&w, TARGET "?", good, 3, headers); /* the query is part of it */
    CHECK_EQ_I64(ask_signed(&w, TARGET, headers, good), 401);
    sign(&w, TARGET, dated, 4, headers);
    CHECK_EQ_I64(ask_signed(&w, TARGET, headers, dated), 422);
    CHECK(strstr(ask_reply, "\"field\":\"at\""));
    sign(&w, TARGET, other, 5, headers);
    CHECK_EQ_I64(ask_signed(&w, TARGET, headers, other), 403);
    w.k.now_ms += INT64_C(3600000);
    sign(&w, TARGET, good, 6, headers);
    CHECK_EQ_I64(ask_signed(&w, TARGET, headers, good), 401);
    signed_world_end(&w);
}

TEST(sessions_begin_and_end) {
    static const char good[] = "{\"player\":\"ada\",\"score\":5}";
    signed_world w;
    char headers[2048], target[128];
    const ask_row refusals[] = {
        {"POST", "/v1/sessions", "{}", 400, "player"},
        {"POST", "/v1/sessions", "{\"player\":\"\"}", 422, "player"},
        {"POST", "/v1/sessions", "{\"player\":\"ada\",\"life_s\":0}", 422, "life_s"},
        {"DELETE", "/v1/sessions/x", NULL, 400, "\"field\":\"session\""},
    };
    signed_world_init(&w, true);
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        int status = ask(&w.k, refusals[i].method, refusals[i].target, w.server, refusals[i].body);
        CHECK_MSG(status >= 400 && status < 500 && strstr(ask_reply, refusals[i].part), "%s",
                  ask_reply);
    }
    begin_session(&w);
    snprintf(target, sizeof target, "/v1/sessions/%s", w.session);
    CHECK_EQ_I64(ask(&w.k, "DELETE", target, w.server, NULL), 200);
    sign(&w, TARGET, good, 1, headers);
    CHECK_EQ_I64(ask_signed(&w, TARGET, headers, good), 401);
    begin_session(&w);
    CHECK_EQ_I64(ask(&w.k, "DELETE", "/v1/players/ada/sessions", w.server, NULL), 200);
    CHECK(strstr(ask_reply, "\"changed\":true"));
    sign(&w, TARGET, good, 2, headers);
    CHECK_EQ_I64(ask_signed(&w, TARGET, headers, good), 401);
    signed_world_end(&w);
}

/* ---- over a WebSocket ---- */

/* Send {"op":"submit",...} with these fields, masked with zeros; wait for `part` in what comes back. */
static void submit_live(signed_world *w, int fd, uint64_t nonce, const char *body,
                        const char *secret, const char *part) {
    char headers[2048], mac[65] = "", message[1024], escaped[512], *to = escaped;
    char frame[1100];
    sign(w, TARGET, body, nonce, headers);
    sscanf(strstr(headers, "Rung-Signature: "), "Rung-Signature: %64s", mac);
    for (const char *at = body; *at; at++) {
        if (*at == '"')
            *to++ = '\\';
        *to++ = *at;
    }
    *to = 0;
    int len = snprintf(
        message, sizeof message,
        "{\"op\":\"submit\",\"board\":\"race\",\"session\":\"%s\",\"time\":\"1800000000000\","
        "\"nonce\":\"%llu\",\"signature\":\"%s\",\"body\":\"%s\"}",
        w->session, (unsigned long long)nonce, secret ? secret : mac, escaped);
    frame[0] = (char)0x81;
    frame[1] = (char)(0x80 | 126);
    frame[2] = (char)(len >> 8);
    frame[3] = (char)len;
    memset(frame + 4, 0, 4);
    memcpy(frame + 8, message, (size_t)len);
    CHECK(send(fd, frame, 8 + (size_t)len, MSG_NOSIGNAL) == 8 + len);
    size_t got = 0;
    for (bool has_come = false; !has_come;) { /* frames hold zeros: look at all bytes */
        frontkit_turn(&w->k, 1);
        ssize_t n = recv(fd, ask_reply + got, sizeof ask_reply - 1 - got, MSG_DONTWAIT);
        CHECK_MSG(n != 0, "closed before %s", part);
        got += n > 0 ? (size_t)n : 0;
        has_come = memmem(ask_reply, got, part, strlen(part)) != NULL;
    }
}

TEST(a_session_signs_over_a_websocket) {
    static const char upgrade[] =
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    static const char good[] = "{\"player\":\"ada\",\"score\":5}";
    signed_world w;
    char headers[2048];
    signed_world_init(&w, true);
    begin_session(&w);
    snprintf(headers, sizeof headers, "%s%.1000s", upgrade, w.token);
    int fd = ask_begin(&w.k, "GET", "/v1/players/ada/live", headers, NULL);
    CHECK(ask_await(&w.k, fd, "\r\n\r\n"));
    CHECK_MSG(strstr(ask_reply, "101 Switching"), "%s", ask_reply);
    submit_live(&w, fd, 1, good, NULL, "\"rank\":1");
    submit_live(&w, fd, 1, good, NULL, "replayed");
    submit_live(&w, fd, 2, good, "00", "signature");
    submit_live(&w, fd, 3, "{\"player\":\"bob\",\"score\":5}", NULL, "forbidden");
    submit_live(&w, fd, 4, "{\"player\":\"ada\"}", NULL, "score");
    submit_live(&w, fd, 5, "{", NULL, "malformed");
    close(fd);
    frontkit_turn(&w.k, 10);
    signed_world_end(&w);
}

TEST(no_key_for_sessions) {
    signed_world w;
    signed_world_init(&w, false);
    int status = ask(&w.k, "POST", "/v1/sessions", w.server, "{\"player\":\"ada\"}");
    CHECK_MSG(status == 422 && strstr(ask_reply, "--alg session"), "%s", ask_reply);
    signed_world_end(&w);
}

RUNG_TEST_MAIN
