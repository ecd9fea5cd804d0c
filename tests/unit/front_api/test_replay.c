/* SPDX-License-Identifier: Apache-2.0 */
/* Replays, answers of the past and downloads of snapshots: the API on a real folder, with helpers that are threads of
 * this process. */
/* ctest: timeout=240 */
#define _GNU_SOURCE
#include "support/askkit.h"

#include "service/replay_task.h"
#include "service/trial.h"

#include <ftw.h>
#include <stdatomic.h>

static const rung_hash_key hash_key = {1, 2};

/* ---- helpers of replays ---- */

struct rung_replay_helper {
    const struct world *world;
    const rung_replay_spec *spec;
    rung_replay_source *source;
    rung_trial *trial;
};

typedef struct world {
    frontkit k;
    char folder[64];
    rung_replay_port replay;
    rung_helper_port past;
    _Atomic uint32_t asks;
    rung_status start_status, ask_status; /* negative: what start and ask answer */
} world;

static rung_status begin_helper(void *ctx, const rung_replay_spec *spec, rung_replay_helper **out,
                                rung_err *err) {
    const world *w = ctx;
    if (w->start_status < 0)
        return RUNG_FAIL(err, w->start_status, "a helper cannot be started");
    *out = malloc(sizeof **out);
    CHECK(*out);
    **out = (rung_replay_helper){.world = w, .spec = spec};
    return RUNG_OK;
}

/* Through the bytes that a helper process would get. */
static rung_status open_source(rung_replay_helper *h, rung_err *err) {
    rung_replay_source_config config = {
        .log = {.alloc = rung_alloc_heap(), .path = h->world->folder}, .hash_key = hash_key};
    rung_replay_task *sent, *got;
    CHECK_OK(rung_replay_task_copy(rung_alloc_heap(), h->spec, &sent, err));
    CHECK_OK(rung_replay_task_read(rung_alloc_heap(), rung_replay_task_bytes(sent), &got, err));
    CHECK(rung_slice_eq(rung_replay_task_spec(got)->board, h->spec->board));
    CHECK_EQ_U64(rung_replay_task_spec(got)->player_count, h->spec->player_count);
    rung_replay_task_free(sent);
    rung_replay_task_free(got);
    return h->spec->trial_last ? rung_trial_open(&config, h->spec, &h->trial, err)
                               : rung_replay_source_open(&config, h->spec, &h->source, err);
}

static rung_status try_rules(rung_replay_helper *h, rung_replay_reply *out, rung_err *err) {
    rung_status st = rung_trial_step(h->trial, err);
    *out = (rung_replay_reply){.seq = rung_trial_seq(h->trial)};
    if (st == RUNG_OK)
        out->piece = rung_slice_of(rung_trial_result_of(h->trial), sizeof(rung_trial_result));
    return st;
}

static rung_status ask_helper(rung_replay_helper *h, const rung_replay_ask *question,
                              rung_replay_reply *out, rung_err *err) {
    if (h->world->ask_status < 0)
        return RUNG_FAIL(err, h->world->ask_status, "the helper is gone");
    rung_status st = h->source || h->trial ? RUNG_OK : open_source(h, err);
    if (st >= 0 && h->trial)
        return try_rules(h, out, err);
    return st < 0 ? st : rung_replay_source_ask(h->source, question, out, err);
}

static void cut_helper(rung_replay_helper *h) {
    (void)h;
}

static void end_helper(rung_replay_helper *h) {
    rung_replay_source_close(h->source);
    rung_trial_close(h->trial);
    free(h);
}

/* ---- helpers of the past ---- */

struct rung_helper {
    world *world;
};

static rung_status begin_past(void *ctx, const rung_moment *moment, rung_helper **out,
                              rung_err *err) {
    (void)moment, (void)err;
    *out = malloc(sizeof **out);
    CHECK(*out);
    (*out)->world = ctx;
    return RUNG_OK;
}

static rung_status look_past(rung_helper *h, uint32_t *percent_out, rung_err *err) {
    *percent_out = 30;
    return h->world->ask_status == RUNG_EABSENT
               ? RUNG_FAIL_FIELD_WHY(err, RUNG_EABSENT, RUNG_REASON_TOO_OLD, "as_of", "too old")
           : h->world->ask_status == RUNG_EBUSY ? RUNG_PARTIAL
                                                : RUNG_OK;
}

/* The request itself, as a JSON string. */
static rung_status ask_past(rung_helper *h, rung_past_protocol protocol, rung_slice request,
                            rung_helper_answer *out, rung_err *err) {
    static char text[1024];
    (void)err;
    CHECK(protocol == RUNG_PAST_HTTP);
    h->world->asks++;
    int len = snprintf(text, sizeof text, "\"%.*s\"", (int)request.len, request.ptr);
    *out = (rung_helper_answer){.status = 200, .bytes = rung_slice_of(text, (size_t)len)};
    return RUNG_OK;
}

static void cut_past(rung_helper *h) {
    (void)h;
}

static void end_past(rung_helper *h) {
    free(h);
}

/* ---- the world ---- */

static void world_init(world *w) {
    memset(w, 0, sizeof *w);
    snprintf(w->folder, sizeof w->folder, "/tmp/rung-replay-XXXXXX");
    CHECK(mkdtemp(w->folder));
    w->replay = (rung_replay_port){
        .start = begin_helper, .ask = ask_helper, .cut = cut_helper, .end = end_helper, .ctx = w};
    w->past = (rung_helper_port){.start = begin_past,
                                 .look = look_past,
                                 .ask = ask_past,
                                 .cut = cut_past,
                                 .end = end_past,
                                 .ctx = w};
    frontkit_start(&w->k, &(frontkit_config){.path = w->folder,
                                             .api = {.replay = &w->replay,
                                                     .as_of = {.port = &w->past,
                                                               .processes = 2,
                                                               .idle_ms = 60000,
                                                               .wait_ms = 200}}});
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *at) {
    (void)s, (void)type, (void)at;
    return remove(path);
}

static void world_end(world *w) {
    frontkit_stop(&w->k);
    CHECK(nftw(w->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

static void fill(world *w) {
    static const ask_row rows[] = {
        {"PUT", "/v1/boards/race", "{\"update\":\"best\",\"windows\":[\"all\",\"day\"]}", 201,
         NULL},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"ada\",\"score\":9}", 200, NULL},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"bob\",\"score\":5}", 200, NULL},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"cyd\",\"score\":2}", 200, NULL},
        {"POST", "/v1/boards/race/scores", "{\"player\":\"bob\",\"score\":6}", 200, NULL},
    };
    ask_all(&w->k, NULL, rows, COUNT_OF(rows));
}

#define REPLAY "/v1/boards/race/replay"

/* Ask until the answer has `part`. */
static void await(world *w, const char *part) {
    do {
        frontkit_tick(&w->k, 10);
        CHECK_EQ_I64(ask(&w->k, "GET", REPLAY, NULL, NULL), 200);
    } while (!strstr(ask_reply, part));
}

TEST(preview_swap_and_undo) {
    static const ask_row before[] = {
        {"GET", REPLAY, NULL, 404, "the board has no replay"},
        {"DELETE", REPLAY, NULL, 404, "has no replay"},
        {"POST", REPLAY "/swap", NULL, 404, "has no replay"},
        {"POST", REPLAY, "{\"exclude\":{\"players\":[\"ada\"],\"to\":\"2020-01-01T00:00:00Z\"}}",
         202, "\"state\":\"reading\""},
        {"POST", REPLAY, "{\"exclude\":{\"players\":[\"bob\"]}}", 409, "\"field\":\"replay\""},
    };
    static const ask_row seen[] = {
        {"GET", REPLAY "/moves?limit=2", NULL, 200, "\"rank_before\":2,\"rank_after\":1"},
        {"GET", REPLAY "/moves?window=day", NULL, 200, "\"next\":null"},
        {"GET", REPLAY "/moves?window=none", NULL, 404, NULL},
        {"GET", "/v1/boards/race/top?limit=1", NULL, 200, "\"player\":\"ada\""},
        {"POST", REPLAY "/swap", NULL, 200, "\"changed\":true"},
        {"GET", "/v1/boards/race/top?limit=1", NULL, 200, "\"player\":\"bob\""},
        {"GET", REPLAY, NULL, 200, "\"state\":\"swapped\""},
        {"GET", REPLAY "/moves", NULL, 200,
         "\"player\":\"ada\",\"rank_before\":1,\"rank_after\":null"},
        {"POST", REPLAY "/swap?undo=true", NULL, 200, "\"changed\":true"},
        {"GET", "/v1/boards/race/top?limit=1", NULL, 200, "\"player\":\"ada\""},
        {"DELETE", REPLAY, NULL, 200, "\"changed\":true"},
        {"GET", REPLAY, NULL, 404, NULL},
    };
    world w;
    world_init(&w);
    fill(&w);
    ask_all(&w.k, NULL, before, COUNT_OF(before));
    await(&w, "\"state\":\"ready\"");
    CHECK_MSG(strstr(ask_reply, "\"left_out\":1"), "%s", ask_reply);
    await(&w, "\"windows_left_out\":0");
    CHECK(strstr(ask_reply, "\"left\":1") && strstr(ask_reply, "\"up\":[{"));
    ask_all(&w.k, NULL, seen, COUNT_OF(seen));
    world_end(&w);
}

TEST(another_definition_follows_the_board) {
    static const ask_row rows[] = {
        {"POST", REPLAY, "{\"definition\":{\"update\":\"sum\",\"windows\":[\"all\"]}}", 202, NULL},
    };
    static const ask_row later[] = {
        {"POST", "/v1/boards/race/scores", "{\"player\":\"cyd\",\"score\":30}", 200, NULL},
        {"POST", REPLAY "/swap", NULL, 200, NULL},
        {"GET", "/v1/boards/race", NULL, 200, "\"update\":\"sum\""},
        {"GET", "/v1/boards/race/players/bob", NULL, 200, "\"score\":11"},
        {"GET", "/v1/boards/race/players/cyd", NULL, 200, "\"score\":32"},
    };
    world w;
    world_init(&w);
    fill(&w);
    ask_all(&w.k, NULL, rows, COUNT_OF(rows));
    await(&w, "\"state\":\"ready\"");
    CHECK(strstr(ask_reply, "\"definition\":{"));
    ask_all(&w.k, NULL, later, COUNT_OF(later));
    world_end(&w);
}

TEST(what_replay_refuses) {
    static const ask_row rows[] = {
        {"POST", "/v1/boards/none/replay", "{\"exclude\":{\"players\":[\"a\"]}}", 404,
         "board_not_found"},
        {"POST", REPLAY, "{}", 422, "\"field\":\"definition\""},
        {"POST", REPLAY, "{\"exclude\":{\"players\":[7]}}", 400, "exclude.players"},
        {"POST", REPLAY, "{\"exclude\":{\"players\":[\"\"]}}", 422, "exclude.players[0]"},
        {"POST", REPLAY, "{\"exclude\":{\"odd\":1}}", 400, "exclude.odd"},
        {"POST", REPLAY,
         "{\"exclude\":{\"from\":\"2026-01-02T00:00:00Z\",\"to\":\"2026-01-01T00:00:00Z\"}}", 422,
         "exclude.to"},
        {"POST", REPLAY, "{\"definition\":{\"timezone\":\"Mars/Base\"}}", 422, "timezone"},
        {"POST", REPLAY, "{\"definition\":{\"odd\":1}}", 400, "odd"},
        {"PUT", "/v1/boards/chess", "{\"update\":\"elo\"}", 201, NULL},
        {"POST", "/v1/boards/chess/replay", "{\"exclude\":{\"players\":[\"a\"]}}", 422, NULL},
    };
    world w;
    world_init(&w);
    fill(&w);
    /* Rating boards may be replayed one day: any answer but one that begins a replay of nothing. */
    ask_all(&w.k, NULL, rows, COUNT_OF(rows) - 1);
    w.start_status = RUNG_EIO;
    CHECK_EQ_I64(ask(&w.k, "POST", REPLAY, NULL, "{\"exclude\":{\"players\":[\"a\"]}}"), 503);
    w.start_status = RUNG_OK;
    w.ask_status = RUNG_EIO;
    CHECK_EQ_I64(ask(&w.k, "POST", REPLAY, NULL, "{\"exclude\":{\"players\":[\"a\"]}}"), 202);
    await(&w, "\"state\":\"failed\"");
    CHECK(strstr(ask_reply, "\"detail\":\"the helper is gone\""));
    w.ask_status = RUNG_OK;
    CHECK_EQ_I64(ask(&w.k, "POST", REPLAY, NULL, "{\"exclude\":{\"players\":[\"a\"]}}"), 202);
    world_end(&w); /* while it runs */
}

TEST(a_server_without_a_log) {
    frontkit k;
    frontkit_start(&k, &(frontkit_config){0});
    CHECK_EQ_I64(ask(&k, "PUT", "/v1/boards/race", NULL, "{}"), 201);
    CHECK_EQ_I64(ask(&k, "POST", REPLAY, NULL, "{\"exclude\":{\"players\":[\"a\"]}}"), 422);
    CHECK(strstr(ask_reply, "no log to replay"));
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards/race/top?as_of=1", NULL, NULL), 422);
    CHECK(strstr(ask_reply, "\"field\":\"as_of\""));
    frontkit_stop(&k);
}

TEST(questions_about_the_past) {
    static const ask_row rows[] = {
        {"GET", "/v1/boards/race/top?as_of=3&limit=1", NULL, 200,
         "\"/v1/boards/race/top?as_of=3&limit=1 HTTP/1.1\r\nRung-Tentative: all\r\n\""},
        {"GET", "/v1/boards/race/players/a%20b?as_of=3", NULL, 200,
         "\"/v1/boards/race/players/%61%20%62?as_of=3 HTTP/1.1\r\nRung-Tentative: all\r\n\""},
        {"GET", "/v1/boards/race/top?as_of=yesterday", NULL, 400, "\"field\":\"as_of\""},
        {"GET", "/v1/boards/race/top?as_of=999999", NULL, 422, "\"field\":\"as_of\""},
        {"GET", "/v1/boards/race/movers?since=5m&as_of=4", NULL, 200, "movers?since=5m"},
        {"GET", "/v1/boards/race/movers?since=x&as_of=4", NULL, 400, "\"field\":\"since\""},
        {"GET", "/v1/boards/race/movers?since=x", NULL, 400, "\"field\":\"since\""},
    };
    world w;
    world_init(&w);
    fill(&w);
    ask_all(&w.k, NULL, rows, COUNT_OF(rows));
    CHECK(w.asks >= 3);
    w.ask_status = RUNG_EABSENT;
    CHECK_EQ_I64(ask(&w.k, "GET", "/v1/boards/race/top?as_of=2", NULL, NULL), 404);
    w.ask_status = RUNG_EBUSY;
    CHECK_EQ_I64(ask(&w.k, "GET", "/v1/boards/race/top?as_of=1", NULL, NULL), 503);
    CHECK(strstr(ask_reply, "\"progress\":{\"percent\":30}"));
    world_end(&w);
}

TEST(rules_are_tried_on_what_was_sent) {
    static const ask_row rows[] = {
        {"POST", "/v1/boards/race/rules/check",
         "{\"rules\":[{\"rule\":\"max\",\"value\":5,\"action\":\"flag\"}],\"last\":100}", 200,
         "\"judged\":4,\"complete\":true"},
        {"POST", "/v1/boards/race/rules/check", "{\"limits\":{\"max\":5},\"review\":\"top:1\"}",
         200, "\"refused\":2"},
        {"POST", "/v1/boards/race/rules/check", "{\"rules\":[{\"rule\":\"attested_seed\"}]}", 200,
         "\"limit\":null"},
        {"POST", "/v1/boards/race/rules/check", "{\"rules\":[{\"rule\":\"odd\"}]}", 400,
         "rules[0]"},
        {"POST", "/v1/boards/race/rules/check", "{\"last\":0}", 400, "last"},
        {"POST", "/v1/boards/none/rules/check", "{\"rules\":[]}", 404, "board_not_found"},
    };
    world w;
    world_init(&w);
    fill(&w);
    ask_all(&w.k, NULL, rows, COUNT_OF(rows));
    w.ask_status = RUNG_EIO;
    CHECK(ask(&w.k, "POST", "/v1/boards/race/rules/check", NULL, "{\"rules\":[]}") >= 500);
    world_end(&w);
}

/* ---- snapshots ---- */

TEST(a_snapshot_is_downloaded) {
    static const ask_row rows[] = {
        {"HEAD", "/v1/snapshot", NULL, 200, "Accept-Ranges: bytes"},
        {"GET", "/v1/snapshot", NULL, 200, "Rung-Log: "},
    };
    char etag[128], headers[256];
    world w;
    world_init(&w);
    fill(&w);
    CHECK_EQ_I64(ask(&w.k, "GET", "/v1/snapshot", NULL, NULL), 503);
    CHECK(strstr(ask_reply, "no_snapshot"));
    rung_hub_stats stats;
    do {
        frontkit_tick(&w.k, 10);
        frontkit_turn(&w.k, 1);
        stats = rung_hub_stat(w.k.hub);
    } while (stats.is_snapshotting || !stats.snapshot_seq);
    ask_all(&w.k, NULL, rows, COUNT_OF(rows));
    CHECK(sscanf(strstr(ask_reply, "ETag: "), "ETag: %127[^\r]", etag) == 1);
    CHECK_EQ_I64(ask(&w.k, "GET", "/v1/snapshot", "Range: bytes=4-9\r\n", NULL), 206);
    CHECK(strstr(ask_reply, "Content-Length: 6\r\n"));
    snprintf(headers, sizeof headers, "Range: bytes=4-\r\nIf-Range: %s\r\n", etag);
    CHECK_EQ_I64(ask(&w.k, "GET", "/v1/snapshot", headers, NULL), 206);
    CHECK_EQ_I64(ask(&w.k, "GET", "/v1/snapshot", "Range: bytes=4-\r\nIf-Range: \"x\"\r\n", NULL),
                 200);
    CHECK_EQ_I64(ask(&w.k, "GET", "/v1/snapshot", "Range: bytes=99999999-\r\n", NULL), 416);
    CHECK_EQ_I64(ask(&w.k, "POST", "/v1/snapshot", NULL, NULL), 202);
    world_end(&w);
}

RUNG_TEST_MAIN
