/* SPDX-License-Identifier: Apache-2.0 */
/* One table of submissions, sent through every door: HTTP, a line of NDJSON, an element of an array, RUNG.SUBMIT, ZADD
 * and the library. All must decide alike: what is accepted, what is refused and why, in which order it is looked at,
 * and how long to wait. */
#include "guard/keys_file.h"
#include "support/frontkit.h"

#include <rung/rung.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum decision {
    ACCEPTED,
    INVALID,  /* not a value, or not for this board */
    RANGE,    /* a number beyond its range */
    ABSENT,   /* no such board */
    RULE,     /* the board's limits */
    FUTURE,   /* `at` too far ahead */
    CONFLICT, /* the same id with another body */
    LIMIT,    /* too many in too short a time */
    UNKNOWN,  /* no key, or not a good one */
    FORBIDDEN,
} decision;

static const char *const names[] = {"accepted", "invalid",  "range", "absent",  "rule",
                                    "future",   "conflict", "limit", "unknown", "forbidden"};

/* One submission; `at` 0 and `id` NULL: none. */
typedef struct submission {
    const char *board, *player, *score;
    int64_t at_ms;
    const char *id;
} submission;

typedef struct verdict {
    decision decision;
    int retry_s;
} verdict;

typedef struct door door;
struct door {
    const char *name;
    verdict (*submit)(door *d, const submission *s);
    bool is_plain;   /* takes a board, a player and a number, and nothing else */
    bool is_library; /* knows no keys and no rates */
    frontkit *kit;
    rung *db;
    const char *key; /* NULL: none */
};

#define NOW     INT64_C(1800000000000) /* frontkit's */
#define AHEAD   (NOW + 3600000)
#define FAR_END INT64_C(9000000000000000)

static char reply[1 << 14];

static void exchange(door *d, const rung_address *to, const char *text) {
    int fd = frontkit_connect(to);
    CHECK_EQ_U64((uint64_t)send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    frontkit_turn(d->kit, 8);
    frontkit_read(fd, reply, sizeof reply);
    CHECK_MSG(reply[0], "%s: no answer to %s", d->name, text);
    close(fd);
    frontkit_turn(d->kit, 4);
}

/* ---- HTTP ---- */

/* How long to wait: a request that is refused whole says it in its head, one submission of a batch in its error. */
static verdict verdict_of_json(const char *text) {
    static const struct {
        const char *code;
        decision decision;
    } codes[] = {{"malformed", INVALID},      {"invalid", INVALID},    {"out_of_range", RANGE},
                 {"board_not_found", ABSENT}, {"refused", RULE},       {"future_at", FUTURE},
                 {"id_conflict", CONFLICT},   {"rate_limited", LIMIT}, {"unauthorized", UNKNOWN},
                 {"forbidden", FORBIDDEN}};
    static const char *const waits[] = {"Retry-After: ", "\"retry_after\":"};
    verdict v = {ACCEPTED, 0};
    for (size_t i = 0; i < 2; i++) {
        const char *wait = strstr(text, waits[i]);
        v.retry_s = wait ? atoi(wait + strlen(waits[i])) : v.retry_s;
    }
    const char *code = strstr(text, "\"code\":\"");
    for (size_t i = 0; code && i < sizeof codes / sizeof *codes; i++)
        if (strncmp(code + 8, codes[i].code, strlen(codes[i].code)) == 0) {
            v.decision = codes[i].decision;
            return v;
        }
    CHECK_MSG(!code, "%s", text);
    return v;
}

static void write_json(const submission *s, bool has_board, char *out, size_t size) {
    size_t len = 0;
    out[len++] = '{';
    if (has_board)
        len += (size_t)snprintf(out + len, size - len, "\"board\":\"%s\",", s->board);
    len += (size_t)snprintf(out + len, size - len, "\"player\":\"%s\",\"score\":\"%s\"", s->player,
                            s->score);
    if (s->at_ms)
        len += (size_t)snprintf(out + len, size - len, ",\"at\":%lld", (long long)s->at_ms);
    if (s->id)
        len += (size_t)snprintf(out + len, size - len, ",\"id\":\"%s\"", s->id);
    snprintf(out + len, size - len, "}");
}

static void post(door *d, const char *path, const char *type, const char *body) {
    char request[1024], key[256] = "";
    if (d->key)
        snprintf(key, sizeof key, "Authorization: Bearer %s\r\n", d->key);
    snprintf(request, sizeof request,
             "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: %s\r\n%s"
             "Content-Length: %zu\r\n\r\n%s",
             path, type, key, strlen(body), body);
    exchange(d, &d->kit->http_bound, request);
}

static verdict submit_http(door *d, const submission *s) {
    char path[128], body[512];
    snprintf(path, sizeof path, "/v1/boards/%s/scores", s->board);
    write_json(s, false, body, sizeof body);
    post(d, path, "application/json", body);
    return verdict_of_json(reply);
}

static verdict submit_ndjson(door *d, const submission *s) {
    char body[512];
    write_json(s, true, body, sizeof body);
    post(d, "/v1/scores", "application/x-ndjson", body);
    return verdict_of_json(reply);
}

static verdict submit_array(door *d, const submission *s) {
    char body[512], array[520];
    write_json(s, true, body, sizeof body);
    snprintf(array, sizeof array, "[%s]", body);
    post(d, "/v1/scores", "application/json", array);
    return verdict_of_json(reply);
}

/* ---- RESP ---- */

static verdict verdict_of_resp(const char *text) {
    static const struct {
        const char *part;
        decision decision;
    } parts[] = {
        {"THROTTLED", LIMIT},      {"NOAUTH", UNKNOWN},          {"NOPERM", FORBIDDEN},
        {"no such board", ABSENT}, {"number", INVALID},          {"UTF-8", INVALID},
        {"integer", INVALID},      {"valid float", INVALID},     {"1e288", RANGE},
        {"above 0", RANGE},        {"leave the range", RANGE},   {"outside the years", RANGE},
        {"ahead", FUTURE},         {"different body", CONFLICT}, {"max", RULE},
        {"exact", INVALID}};
    const char *wait = strstr(text, " in "), *error = text[0] == '-' ? text : NULL;
    if (!error)
        return (verdict){ACCEPTED, 0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(error, parts[i].part))
            return (verdict){parts[i].decision, wait ? atoi(wait + 4) : 0};
    CHECK_MSG(false, "%s", text);
    return (verdict){ACCEPTED, 0};
}

static verdict call(door *d, const char *const *words, size_t count) {
    char request[1024] = "";
    size_t len = 0;
    if (d->key)
        len += (size_t)snprintf(request, sizeof request, "*2\r\n$4\r\nAUTH\r\n$%zu\r\n%s\r\n",
                                strlen(d->key), d->key);
    len += (size_t)snprintf(request + len, sizeof request - len, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++)
        len += (size_t)snprintf(request + len, sizeof request - len, "$%zu\r\n%s\r\n",
                                strlen(words[i]), words[i]);
    exchange(d, &d->kit->resp_bound, request);
    const char *text = reply;
    if (d->key && strncmp(text, "+OK\r\n", 5) == 0)
        text += 5;
    return verdict_of_resp(text);
}

static verdict submit_rung(door *d, const submission *s) {
    char at[24];
    const char *words[9] = {"RUNG.SUBMIT", s->board, s->player, s->score};
    size_t count = 4;
    if (s->at_ms) {
        snprintf(at, sizeof at, "%lld", (long long)s->at_ms);
        words[count++] = "AT";
        words[count++] = at;
    }
    if (s->id) {
        words[count++] = "ID";
        words[count++] = s->id;
    }
    return call(d, words, count);
}

static verdict submit_zadd(door *d, const submission *s) {
    return call(d, (const char *const[]){"ZADD", s->board, s->score, s->player}, 4);
}

/* ---- the library ---- */

static verdict submit_library(door *d, const submission *s) {
    const rung_board_def *def;
    rung_err err = {0};
    rung_score_event e = {.board = rung_slice_str(s->board),
                          .player = rung_slice_str(s->player),
                          .value_count = 1,
                          .has_at = s->at_ms != 0,
                          .at_ms = s->at_ms};
    if (s->id)
        e.id = rung_slice_str(s->id);
    rung_status st = RUNG_EABSENT;
    if (rung_state_board(rung_state_of(d->db), e.board, &def) == RUNG_OK) {
        const rung_column *c = &def->key.columns[0];
        e.types[0] = (uint8_t)c->type;
        st = rung_score_parse(c, rung_slice_str(s->score), &e.values[0], &err);
    }
    if (st == RUNG_OK)
        st = rung_submit(d->db, &e, NULL, &err);
    switch (st) {
    case RUNG_EINVAL:
        return (verdict){INVALID, 0};
    case RUNG_ERANGE:
        return (verdict){RANGE, 0};
    case RUNG_EABSENT:
        return (verdict){ABSENT, 0};
    case RUNG_EREFUSED:
        return (verdict){RULE, 0};
    case RUNG_EFUTURE:
        return (verdict){FUTURE, 0};
    case RUNG_ECONFLICT:
        return (verdict){CONFLICT, 0};
    default:
        CHECK_MSG(st >= 0, "%s", err.message);
        return (verdict){ACCEPTED, 0};
    }
}

static door doors[] = {{.name = "HTTP", .submit = submit_http},
                       {.name = "NDJSON", .submit = submit_ndjson},
                       {.name = "array", .submit = submit_array},
                       {.name = "RUNG.SUBMIT", .submit = submit_rung},
                       {.name = "ZADD", .submit = submit_zadd, .is_plain = true},
                       {.name = "library", .submit = submit_library, .is_library = true}};
enum { DOORS = sizeof doors / sizeof *doors };

/* ---- boards ---- */

static rung_board_def definition(rung_update update, rung_score_type type, bool is_limited) {
    rung_board_def def = rung_board_def_default();
    def.update = update;
    def.key.columns[0].type = type;
    if (update == RUNG_UPDATE_DECAY)
        def.half_life_ms = 3600000;
    if (is_limited) {
        def.limits = RUNG_LIMIT_MAX;
        def.max.i = 100;
    }
    return def;
}

static const struct {
    const char *name;
    rung_update update;
    rung_score_type type;
    bool is_limited;
} boards[] = {{"best", RUNG_UPDATE_BEST, RUNG_SCORE_INTEGER, false},
              {"sum", RUNG_UPDATE_SUM, RUNG_SCORE_REAL, false},
              {"decay", RUNG_UPDATE_DECAY, RUNG_SCORE_REAL, false},
              {"limited", RUNG_UPDATE_BEST, RUNG_SCORE_INTEGER, true}};

static int64_t now(void *ctx) {
    (void)ctx;
    return NOW;
}

static void open_door(door *d, frontkit *k, const frontkit_config *config) {
    if (d->is_library)
        CHECK_OK(rung_open(&(rung_config){.now_ms = now}, &d->db, NULL));
    else
        frontkit_start(k, config);
    d->kit = k;
    for (size_t i = 0; i < sizeof boards / sizeof *boards; i++) {
        rung_board_def def = definition(boards[i].update, boards[i].type, boards[i].is_limited);
        rung_slice name = rung_slice_str(boards[i].name);
        if (d->is_library)
            CHECK_OK(rung_board_define(d->db, name, &def, NULL));
        else
            CHECK_OK(rung_hub_define(k->hub, (rung_hub_sender){0}, name, &def, NULL, NULL, NULL));
    }
    if (!d->is_library)
        frontkit_turn(k, 2);
}

static void close_door(door *d) {
    d->key = NULL;
    if (d->is_library)
        CHECK_OK(rung_close(d->db, NULL));
    else
        frontkit_stop(d->kit);
}

/* ---- the tables ---- */

TEST(every_door_decides_alike) {
    static const struct {
        submission s;
        decision expected;
    } rows[] = {
        {{"best", "ada", "7", 0, NULL}, ACCEPTED},
        {{"best", "ada", "9223372036854775807", 0, NULL}, ACCEPTED},
        {{"best", "ada", "7.5", 0, NULL}, INVALID},
        {{"best", "ada", "seven", 0, NULL}, INVALID},
        {{"nowhere", "ada", "7", 0, NULL}, ABSENT},
        {{"nowhere", "ada", "seven", 0, NULL}, ABSENT}, /* the board comes before its values */
        {{"limited", "ada", "100", 0, NULL}, ACCEPTED},
        {{"limited", "ada", "101", 0, NULL}, RULE},
        {{"sum", "ada", "1e288", 0, NULL}, ACCEPTED},
        {{"sum", "ada", "-1e288", 0, NULL}, ACCEPTED},
        {{"sum", "ada", "1.1e288", 0, NULL}, RANGE},
        {{"sum", "ada", "-1e300", 0, NULL}, RANGE},
        {{"decay", "ada", "0.5", 0, NULL}, ACCEPTED},
        {{"decay", "ada", "0", 0, NULL}, RANGE},
        {{"decay", "ada", "-1", 0, NULL}, RANGE},
        {{"best", "ada", "8", NOW - 1000, NULL}, ACCEPTED},
        {{"best", "ada", "8", AHEAD, NULL}, FUTURE},
        {{"best", "ada", "x", AHEAD, NULL}, INVALID}, /* values come before the time */
        {{"best", "ada", "8", FAR_END, NULL}, RANGE},
        {{"best", "ada", "10", 0, "one"}, ACCEPTED},
        {{"best", "ada", "10", 0, "one"}, ACCEPTED}, /* a duplicate */
        {{"best", "ada", "11", 0, "one"}, CONFLICT},
    };
    for (size_t i = 0; i < DOORS; i++) {
        door *d = &doors[i];
        frontkit kit;
        open_door(d, &kit, &(frontkit_config){0});
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            const submission *s = &rows[r].s;
            bool makes_board = strcmp(s->board, "nowhere") == 0; /* ZADD makes a key */
            bool is_exact = strlen(s->score) > 15;               /* its numbers are doubles */
            if (d->is_plain && (s->at_ms || s->id || makes_board || is_exact))
                continue;
            verdict v = d->submit(d, s);
            CHECK_MSG(v.decision == rows[r].expected, "%s, row %zu (%s %s): %s, expected %s",
                      d->name, r, s->board, s->score, names[v.decision], names[rows[r].expected]);
            CHECK_MSG(v.retry_s == 0, "%s, row %zu: no waiting would help", d->name, r);
        }
        close_door(d);
    }
}

/* What is malformed, or names no board, is not counted; the third of a minute's two waits for half a minute. */
TEST(limits_come_last_and_say_how_long) {
    frontkit_config config = {.access = {.per_player = {2, 60000}, .rate_capacity = 64}};
    for (size_t i = 0; i < DOORS; i++) {
        door *d = &doors[i];
        frontkit kit;
        if (d->is_library)
            continue;
        open_door(d, &kit, &config);
        for (int n = 0; n < 3; n++) {
            CHECK_EQ_I64(d->submit(d, &(submission){"best", "ada", "x", 0, NULL}).decision,
                         INVALID);
            CHECK_EQ_I64(d->submit(d, &(submission){"sum", "ada", "1e300", 0, NULL}).decision,
                         RANGE);
        }
        for (int n = 0; n < 2; n++)
            CHECK_EQ_I64(d->submit(d, &(submission){"best", "ada", "5", 0, NULL}).decision,
                         ACCEPTED);
        verdict v = d->submit(d, &(submission){"best", "ada", "5", 0, NULL});
        CHECK_MSG(v.decision == LIMIT && v.retry_s == 30, "%s: %s, wait %d s", d->name,
                  names[v.decision], v.retry_s);
        CHECK_EQ_I64(d->submit(d, &(submission){"best", "ada", "x", 0, NULL}).decision, INVALID);
        CHECK_EQ_I64(d->submit(d, &(submission){"best", "bob", "5", 0, NULL}).decision, ACCEPTED);
        close_door(d);
    }
}

/* The sender's own limit, whoever the player is: the third request of a minute's two. */
TEST(a_sender_is_told_how_long_to_wait) {
    frontkit_config config = {.access = {.per_peer = {2, 60000}, .rate_capacity = 64}};
    static const char *const players[] = {"ada", "bob", "cyd"};
    for (size_t i = 0; i < DOORS; i++) {
        door *d = &doors[i];
        frontkit kit;
        if (d->is_library)
            continue;
        open_door(d, &kit, &config);
        for (int n = 0; n < 3; n++) {
            verdict v = d->submit(d, &(submission){"best", players[n], "5", 0, NULL});
            CHECK_MSG(v.decision == (n < 2 ? ACCEPTED : LIMIT) && v.retry_s == (n < 2 ? 0 : 30),
                      "%s, request %d: %s, wait %d s", d->name, n, names[v.decision], v.retry_s);
        }
        kit.now_ms += 30000; /* as told */
        CHECK_EQ_I64(d->submit(d, &(submission){"best", "dan", "5", 0, NULL}).decision, ACCEPTED);
        close_door(d);
    }
}

static rung_status add_key(void *ctx, const rung_keys *keys, rung_keys **keys_out, rung_err *err) {
    return rung_keys_add(keys, ctx, keys_out, err);
}

static void mint(const char *path, rung_key key, uint8_t chance, char text[RUNG_KEY_TEXT_MAX]) {
    uint8_t bytes[RUNG_KEY_CHANCE_SIZE];
    memset(bytes, chance, sizeof bytes);
    key.created_ms = NOW - 1000;
    CHECK_OK(rung_key_mint(&key, bytes, text, NULL));
    CHECK_OK(rung_keys_file_change(NULL, rung_alloc_heap(), path, add_key, &key, NULL));
}

/* Access comes before the board, its values and the limits. */
TEST(keys_are_looked_at_first) {
    static char reader[RUNG_KEY_TEXT_MAX], other[RUNG_KEY_TEXT_MAX], server[RUNG_KEY_TEXT_MAX];
    char folder[64] = "/tmp/rung-same-XXXXXX", path[96];
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/keys", folder);
    mint(path, (rung_key){.role = RUNG_ROLE_READ}, 1, reader);
    mint(path,
         (rung_key){.role = RUNG_ROLE_SERVER, .patterns = {RUNG_SLICE("race")}, .pattern_count = 1},
         2, other);
    mint(path, (rung_key){.role = RUNG_ROLE_SERVER}, 3, server);
    const struct {
        const char *key, *score;
        decision expected;
    } rows[] = {{NULL, "7", UNKNOWN},     {NULL, "x", UNKNOWN},    {reader, "7", FORBIDDEN},
                {reader, "x", FORBIDDEN}, {other, "7", FORBIDDEN}, {other, "x", FORBIDDEN},
                {server, "7", ACCEPTED},  {server, "x", INVALID}};
    for (size_t i = 0; i < DOORS; i++) {
        door *d = &doors[i];
        frontkit kit;
        if (d->is_library)
            continue;
        open_door(d, &kit, &(frontkit_config){.access = {.path = path}});
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            d->key = rows[r].key;
            verdict v = d->submit(d, &(submission){"best", "ada", rows[r].score, 0, NULL});
            CHECK_MSG(v.decision == rows[r].expected, "%s, row %zu: %s, expected %s", d->name, r,
                      names[v.decision], names[rows[r].expected]);
        }
        close_door(d);
    }
    unlink(path);
    CHECK(rmdir(folder) == 0);
}

RUNG_TEST_MAIN
