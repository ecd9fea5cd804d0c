/* SPDX-License-Identifier: Apache-2.0 */
/* Several hubs on one log: reports and checkpoints between the events, a wrong state that stops, rules that are raised
 * when everybody knows them. */
/* ctest: labels=thread */
#include "service/hub.h"

#include "base/bytes.h"
#include "journal/snapshot_file.h"
#include "service/store.h"
#include "support/check.h"
#include "support/memfs.h"
#include "support/shared_log.h"

#include <stdio.h>
#include <string.h>

#define NOON INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */
#define RACE RUNG_SLICE("race")

enum { NODES = 4, EVERY = 32, BEAT_MS = 1000 };

typedef struct cluster cluster;

typedef struct server {
    cluster *all;
    rung_memfs fs;
    rung_hub_config config;
    rung_hub *hub;
    shared_log *log;
    uint64_t deaths;
    char said[4096];
} server;

struct cluster {
    shared_topic *topic;
    int64_t now_ms;
    uint32_t count;
    server servers[NODES];
};

static int64_t now(void *ctx) {
    return ((server *)ctx)->all->now_ms;
}

static void on_fatal(void *ctx, const rung_err *err) {
    (void)err;
    ((server *)ctx)->deaths++;
}

static void on_say(void *ctx, const char *line) {
    server *s = ctx;
    size_t used = strlen(s->said);
    snprintf(s->said + used, sizeof s->said - used, "%s\n", line);
}

/* ---- children that work at once, so that their files are seen here ---- */

typedef struct child {
    rung_child base;
    rung_status st;
} child;

static rung_status never_pause(const rung_child_life *life, uint32_t ms) {
    (void)life, (void)ms;
    return RUNG_OK;
}

static rung_status begin_child(const rung_children *children, const rung_alloc *alloc,
                               rung_child_work *work, void *arg, rung_child **child_out,
                               rung_err *err) {
    child *c = malloc(sizeof *c);
    const rung_child_life life = {.alloc = alloc, .pause = never_pause};
    CHECK(c);
    *c = (child){{children}, work(arg, &life, err)};
    *child_out = &c->base;
    return RUNG_OK;
}

static rung_status poll_child(rung_child *base, bool wait, rung_err *err) {
    rung_status st = ((child *)base)->st;
    (void)wait, (void)err;
    free(base);
    return st;
}

static void kill_child(rung_child *base) {
    free(base);
}

static const rung_children at_once = {begin_child, poll_child, kill_child, NULL};

/* ---- servers ---- */

static rung_status try_open(server *s, rung_err *err) {
    s->config.log = shared_log_open(s->all->topic);
    s->log = (shared_log *)s->config.log;
    return rung_hub_open(&s->config, &s->hub, err);
}

static void open_server(server *s) {
    rung_err err = {0};
    rung_status st = try_open(s, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
}

static void add_server(cluster *c) {
    server *s = &c->servers[c->count++];
    *s = (server){.all = c};
    rung_memfs_init(&s->fs);
    s->config = (rung_hub_config){.alloc = rung_alloc_heap(),
                                  .clock = {now, s},
                                  .fs = &s->fs.port,
                                  .path = "data",
                                  .children = &at_once,
                                  .snapshot_every = UINT64_MAX,
                                  .version = "9.9",
                                  .address = "here:1",
                                  .checkpoint_every = EVERY,
                                  .heartbeat_ms = BEAT_MS,
                                  .fatal = on_fatal,
                                  .say = on_say,
                                  .ctx = s};
    open_server(s);
}

static void begin(cluster *c, uint32_t count) {
    memset(c, 0, sizeof *c);
    c->topic = calloc(1, sizeof *c->topic);
    CHECK(c->topic);
    c->now_ms = NOON;
    while (c->count < count)
        add_server(c);
}

static void close_server(server *s) {
    rung_ignore(rung_hub_close(s->hub, NULL), "one that has diverged says so");
    s->hub = NULL;
}

static void end(cluster *c) {
    for (uint32_t i = 0; i < c->count; i++) {
        close_server(&c->servers[i]);
        rung_memfs_deinit(&c->servers[i].fs);
    }
    shared_topic_free(c->topic);
}

static bool is_busy(const server *s) {
    return s->hub && !rung_hub_divergence(s->hub) &&
           (!rung_commit_is_idle(rung_hub_commit(s->hub)) ||
            rung_state_seq(rung_hub_state(s->hub)) < s->all->topic->count);
}

/* Until everybody has everything. */
static void settle(cluster *c) {
    for (bool is_more = true; is_more;) {
        is_more = false;
        for (uint32_t i = 0; i < c->count; i++) {
            if (!c->servers[i].hub)
                continue;
            rung_hub_turn(c->servers[i].hub);
            rung_hub_flush(c->servers[i].hub);
        }
        for (uint32_t i = 0; i < c->count; i++)
            is_more |= is_busy(&c->servers[i]);
    }
}

/* So much time passes, with ticks. */
static void pass(cluster *c, int64_t ms) {
    for (; ms > 0; ms -= 100) {
        c->now_ms += 100;
        for (uint32_t i = 0; i < c->count; i++)
            if (c->servers[i].hub)
                rung_hub_tick(c->servers[i].hub);
        settle(c);
    }
}

typedef struct answer {
    uint32_t calls;
    rung_status st;
    rung_reason reason;
} answer;

static void on_answer(void *ctx, rung_status st, const rung_outcome *outcome, const rung_err *err) {
    answer *a = ctx;
    (void)outcome;
    a->calls++;
    a->st = st;
    a->reason = st < 0 ? err->reason : RUNG_REASON_NONE;
}

static rung_status put_score(server *s, const char *player, int64_t points, answer *a,
                             rung_err *err) {
    rung_event e = {.kind = RUNG_EVENT_SCORE,
                    .score = {.board = RACE,
                              .player = rung_slice_str(player),
                              .value_count = 1,
                              .values = {{.i = points}}}};
    *a = (answer){0};
    return rung_hub_put(s->hub, &e, on_answer, a, err);
}

static void play(cluster *c, uint32_t events) {
    answer a;
    char name[16];
    for (uint32_t i = 0; i < events; i++) {
        snprintf(name, sizeof name, "p%u", i % 7);
        CHECK_OK(put_score(&c->servers[i % c->count], name, i, &a, NULL));
        settle(c);
        CHECK(a.calls == 1 && a.st >= 0);
    }
}

static void define_race(cluster *c) {
    answer a = {0};
    rung_board_def def = rung_board_def_default();
    def.update = RUNG_UPDATE_SUM;
    CHECK_OK(
        rung_hub_define(c->servers[0].hub, (rung_hub_sender){0}, RACE, &def, on_answer, &a, NULL));
    settle(c);
    CHECK_OK(a.st);
}

static rung_nodes_stats stat_of(const server *s) {
    return rung_nodes_stat(rung_hub_nodes(s->hub));
}

static void check_equal(const cluster *c) {
    rung_digest first = rung_state_digest(rung_hub_state(c->servers[0].hub));
    for (uint32_t i = 1; i < c->count; i++) {
        rung_digest d = rung_state_digest(rung_hub_state(c->servers[i].hub));
        CHECK(d.a == first.a && d.b == first.b);
        CHECK_EQ_U64(rung_state_seq(rung_hub_state(c->servers[i].hub)), c->topic->count);
    }
}

/* ---- agreement ---- */

TEST(servers_compare_digests_under_load_and_when_idle) {
    cluster c;
    begin(&c, 3);
    define_race(&c);
    pass(&c, 500); /* everybody is heard of */
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ_U64(stat_of(&c.servers[i]).present, 3);
    play(&c, 5 * EVERY);
    check_equal(&c);
    for (uint32_t i = 0; i < 3; i++) {
        rung_nodes_stats s = stat_of(&c.servers[i]);
        CHECK(s.agreed.seq + EVERY + 8 > c.topic->count); /* the last multiple */
        CHECK(s.disputes == 0 && s.disagreeing == 0);
    }
    uint64_t before = c.topic->count;
    pass(&c, 10 * BEAT_MS);
    uint64_t beats = c.topic->count - before;
    CHECK_MSG(beats >= 30 && beats <= 6 * 14, "%llu records", (unsigned long long)beats);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(c.now_ms - stat_of(&c.servers[i]).agreed_ms <= 2 * BEAT_MS);
    check_equal(&c);
    end(&c);
}

/* What a report leaves in the state is its number. */
TEST(reports_change_nothing_and_survive_snapshots_and_replays) {
    cluster c;
    begin(&c, 2);
    define_race(&c);
    play(&c, 50);
    pass(&c, 3 * BEAT_MS);
    CHECK_OK(rung_hub_snapshot(c.servers[0].hub, NULL));
    CHECK_OK(rung_hub_wait_for_snapshot(c.servers[0].hub, NULL));
    pass(&c, 3 * BEAT_MS);
    play(&c, 10);
    rung_nodes_stats before = stat_of(&c.servers[0]);
    close_server(&c.servers[0]); /* begins from its snapshot */
    close_server(&c.servers[1]); /* from the first record */
    c.now_ms += 100;
    open_server(&c.servers[0]);
    open_server(&c.servers[1]);
    settle(&c);
    check_equal(&c);
    rung_checkpoint last;
    CHECK(rung_nodes_checkpoint_at(rung_hub_nodes(c.servers[1].hub), 0, &last));
    CHECK(last.seq >= before.checkpoint.seq);
    pass(&c, BEAT_MS);
    CHECK_EQ_U64(stat_of(&c.servers[0]).present, 2); /* the same two, by their ids */
    rung_node_info info;
    CHECK(!rung_nodes_at(rung_hub_nodes(c.servers[0].hub), 2, &info));
    CHECK(rung_nodes_at(rung_hub_nodes(c.servers[0].hub), 1, &info));
    CHECK(rung_slice_eq(info.version, RUNG_SLICE("9.9")));
    CHECK(rung_slice_eq(info.address, RUNG_SLICE("here:1")));
    end(&c);
}

TEST(one_that_stops_says_so) {
    cluster c;
    rung_node_info info;
    begin(&c, 2);
    pass(&c, BEAT_MS);
    close_server(&c.servers[1]);
    settle(&c);
    CHECK(rung_nodes_at(rung_hub_nodes(c.servers[0].hub), 1, &info));
    CHECK_EQ_U64(info.state, RUNG_NODE_LEFT);
    CHECK_EQ_U64(stat_of(&c.servers[0]).present, 1);
    end(&c);
}

/* ---- a wrong state ---- */

/* The next record that server `i` is delivered is not the one in the log: another score. */
static void fool(cluster *c, uint32_t i, const char *player) {
    static char bytes[NODES][512];
    rung_event e = {.kind = RUNG_EVENT_SCORE,
                    .ts_ms = c->now_ms,
                    .score = {.board = RACE,
                              .player = rung_slice_str(player),
                              .value_count = 1,
                              .values = {{.i = 1000000}}}};
    size_t len;
    CHECK_OK(rung_event_encode(&e, bytes[i], sizeof bytes[i], &len));
    c->servers[i].log->wrong = rung_slice_of(bytes[i], len);
    c->servers[i].log->wrong_seq = c->topic->count + 1;
}

typedef struct waiting {
    uint32_t ready, failed;
    rung_reason reason;
} waiting;

static void on_ready(void *ctx) {
    ((waiting *)ctx)->ready++;
}

static void on_failed(void *ctx, const rung_err *err) {
    waiting *w = ctx;
    w->failed++;
    w->reason = err->reason;
}

static void check_stopped(server *s, bool is_tie) {
    const rung_divergence *d = rung_hub_divergence(s->hub);
    answer a;
    rung_err err = {0};
    CHECK(d && d->is_tie == is_tie);
    CHECK(d->ours.a != d->theirs.a);
    CHECK_STATUS(put_score(s, "p1", 1, &a, &err), RUNG_ECORRUPT);
    CHECK_EQ_U64(err.reason, RUNG_REASON_DIVERGED);
    CHECK_STATUS(rung_hub_snapshot(s->hub, &err), RUNG_ECORRUPT);
    CHECK(strstr(s->said, "serves no more"));
    CHECK_EQ_U64(s->deaths, 0); /* it stays up, to be asked why */
}

/* Events until somebody has stopped. */
static void play_until_stopped(cluster *c, uint32_t who, uint32_t by) {
    answer a;
    for (uint32_t i = 0; !rung_hub_divergence(c->servers[who].hub); i++) {
        CHECK(i < 3 * EVERY);
        CHECK_OK(put_score(&c->servers[by], "p1", 1, &a, NULL));
        settle(c);
    }
}

TEST(one_wrong_server_of_three_stops) {
    cluster c;
    answer a, b;
    begin(&c, 3);
    define_race(&c);
    play(&c, 30);
    pass(&c, BEAT_MS);
    fool(&c, 1, "p2");
    CHECK_OK(put_score(&c.servers[0], "p3", 1, &a, NULL));
    settle(&c);
    waiting w = {0};
    rung_hub_waiter waiter = {
        .seq = c.topic->count + 1000, .ready = on_ready, .failed = on_failed, .ctx = &w};
    rung_hub_wait(c.servers[1].hub, &waiter);
    play_until_stopped(&c, 1, 0);
    check_stopped(&c.servers[1], false);
    CHECK_EQ_U64(rung_hub_divergence(c.servers[1].hub)->with_them, 2);
    CHECK(w.failed == 1 && w.ready == 0 && w.reason == RUNG_REASON_DIVERGED);
    uint64_t frozen = rung_state_seq(rung_hub_state(c.servers[1].hub));
    CHECK_OK(put_score(&c.servers[0], "p3", 1, &a, NULL));
    CHECK_OK(put_score(&c.servers[2], "p4", 1, &b, NULL));
    settle(&c);
    CHECK(a.st == RUNG_OK && b.st == RUNG_OK);
    CHECK_EQ_U64(rung_state_seq(rung_hub_state(c.servers[1].hub)), frozen);
    pass(&c, 5 * BEAT_MS);
    for (uint32_t i = 0; i < 3; i += 2) {
        rung_node_info info;
        CHECK(!rung_hub_divergence(c.servers[i].hub));
        CHECK(stat_of(&c.servers[i]).agreed.seq > frozen);
        uint32_t stopped = 0;
        for (uint32_t k = 0; rung_nodes_at(rung_hub_nodes(c.servers[i].hub), k, &info); k++)
            stopped += info.state == RUNG_NODE_DIVERGED;
        CHECK_EQ_U64(stopped, 1);
        CHECK(strstr(c.servers[i].said, "digests differ"));
    }
    end(&c);
}

/* A change that waits for its answer gets none: what it would say is wrong. */
TEST(changes_in_flight_are_refused_when_the_state_is_wrong) {
    cluster c;
    answer a[2 * EVERY];
    uint32_t refused = 0;
    begin(&c, 3);
    define_race(&c);
    pass(&c, BEAT_MS);
    fool(&c, 1, "p2");
    CHECK_OK(put_score(&c.servers[0], "p3", 1, &a[0], NULL));
    settle(&c);
    while (!rung_hub_divergence(c.servers[1].hub)) {
        for (uint32_t i = 0; i < 2 * EVERY; i++)
            rung_ignore(put_score(&c.servers[1], "p1", 1, &a[i], NULL), "or it has stopped");
        settle(&c);
    }
    for (uint32_t i = 0; i < 2 * EVERY; i++) {
        CHECK(a[i].calls <= 1);
        refused += a[i].reason == RUNG_REASON_DIVERGED;
    }
    CHECK(rung_commit_is_idle(rung_hub_commit(c.servers[1].hub)));
    (void)refused; /* how many depends on where the votes were */
    end(&c);
}

TEST(two_servers_that_differ_both_stop) {
    cluster c;
    answer a;
    begin(&c, 2);
    define_race(&c);
    pass(&c, BEAT_MS);
    fool(&c, 1, "p2");
    CHECK_OK(put_score(&c.servers[0], "p3", 1, &a, NULL));
    settle(&c);
    pass(&c, 3 * BEAT_MS);
    check_stopped(&c.servers[0], true);
    check_stopped(&c.servers[1], true);
    end(&c);
}

/* From a snapshot made after the fault: the votes of the others are in the log. */
TEST(a_wrong_snapshot_is_found_out_by_the_replay) {
    cluster c;
    answer a;
    rung_err err = {0};
    begin(&c, 3);
    define_race(&c);
    pass(&c, BEAT_MS);
    fool(&c, 1, "p2");
    CHECK_OK(put_score(&c.servers[0], "p3", 1, &a, NULL));
    settle(&c);
    CHECK_OK(rung_hub_snapshot(c.servers[1].hub, NULL));
    CHECK_OK(rung_hub_wait_for_snapshot(c.servers[1].hub, NULL));
    play_until_stopped(&c, 1, 0);
    close_server(&c.servers[1]);
    CHECK_STATUS(try_open(&c.servers[1], &err), RUNG_ECORRUPT);
    CHECK_EQ_U64(err.reason, RUNG_REASON_DIVERGED);
    end(&c);
}

/* Without that snapshot the log gives it the right state again. */
TEST(a_replay_of_the_log_repairs_it) {
    cluster c;
    answer a;
    begin(&c, 3);
    define_race(&c);
    pass(&c, BEAT_MS);
    fool(&c, 1, "p2");
    CHECK_OK(put_score(&c.servers[0], "p3", 1, &a, NULL));
    settle(&c);
    play_until_stopped(&c, 1, 0);
    close_server(&c.servers[1]);
    c.now_ms += 100;
    open_server(&c.servers[1]);
    pass(&c, 2 * BEAT_MS);
    check_equal(&c);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(!rung_hub_divergence(c.servers[i].hub));
        CHECK_EQ_U64(stat_of(&c.servers[i]).present, 3);
        CHECK_EQ_U64(stat_of(&c.servers[i]).disagreeing, 0);
    }
    end(&c);
}

/* ---- for tests/e2e/test_kafka_digest.py ---- */

static rung_status write_some(void *ctx, const void *bytes, size_t len) {
    return rung_snapshot_writer_append(ctx, bytes, len, NULL);
}

/* The newest snapshot, with one more event that no log has, is the newest of the folder. All its checksums and its
 * digest are right. */
static void change_newest(const rung_dir *dir) {
    char name[RUNG_FILE_NAME_MAX];
    uint8_t digest[RUNG_SNAPSHOT_DIGEST_SIZE] = {0};
    uint64_t seq;
    size_t count;
    rung_snapshot_raw raw;
    rung_snapshot_info info;
    rung_snapshot_reader *reader;
    rung_snapshot_writer *writer;
    rung_state *state;
    CHECK_OK(rung_snapshot_list(dir, &seq, 1, &count, NULL));
    CHECK_EQ_U64(count, 1);
    rung_snapshot_name(name, seq);
    CHECK_OK(rung_snapshot_raw_open(dir, name, &raw, NULL));
    rung_file_close(&raw.file);
    CHECK_OK(rung_snapshot_reader_open(dir, rung_alloc_heap(), raw.uuid, seq, &reader, NULL));
    CHECK_OK(rung_store_load_snapshot(reader, &(rung_state_config){.alloc = rung_alloc_heap()},
                                      NULL, NULL, &state, NULL));
    rung_snapshot_reader_close(reader);
    rung_event e = {.kind = RUNG_EVENT_SCORE,
                    .ts_ms = rung_state_time(state),
                    .score = {.board = RACE,
                              .player = RUNG_SLICE("cheat"),
                              .value_count = 1,
                              .values = {{.i = 1000000}}}};
    CHECK_OK(rung_state_apply(state, &e, NULL, NULL));
    CHECK_OK(rung_snapshot_writer_begin(dir, rung_alloc_heap(), raw.uuid, seq + 1, &writer, NULL));
    CHECK_OK(rung_state_save(state, write_some, writer, NULL));
    rung_put64(digest, rung_state_digest(state).a);
    rung_put64(digest + 8, rung_state_digest(state).b);
    CHECK_OK(rung_snapshot_writer_finish(writer, digest, &info, NULL));
    rung_state_destroy(state);
}

TEST(tamper_with_a_folder) {
    rung_dir dir;
    const char *path = getenv("RUNG_TAMPER");
    if (!path)
        return;
    CHECK_OK(rung_dir_open(&dir, rung_fs_posix(), path, false, NULL));
    change_newest(&dir);
    rung_dir_close(&dir);
}

/* ---- the level of rules ---- */

/* A server of an older version: it knows level 0 only. */
static void hear_of_older(cluster *c, bool is_leaving) {
    uint8_t bytes[RUNG_NODE_REPORT_SIZE_MAX];
    rung_node_report r = {.node = 77,
                          .run = 1,
                          .time_ms = c->now_ms,
                          .heartbeat_ms = BEAT_MS,
                          .is_leaving = is_leaving};
    shared_topic_add(c->topic, RUNG_LOG_TYPE_REPORT,
                     rung_slice_of(bytes, rung_node_report_encode(&r, bytes)), 99, 0);
}

static uint32_t level_of(const server *s) {
    return rung_state_rules(rung_hub_state(s->hub));
}

TEST(an_empty_log_gets_our_rules_at_once) {
    cluster c;
    begin(&c, 2);
    settle(&c);
    CHECK_EQ_U64(level_of(&c.servers[0]), RUNG_RULES_LEVEL);
    CHECK_EQ_U64(level_of(&c.servers[1]), RUNG_RULES_LEVEL);
    end(&c);
}

TEST(rules_are_raised_when_the_last_older_server_is_gone) {
    cluster c = {0};
    begin(&c, 0);
    hear_of_older(&c, false); /* the log is not empty, and of level 0 */
    add_server(&c);
    server *s = &c.servers[0];
    for (int i = 0; i < 10; i++) {
        pass(&c, BEAT_MS);
        CHECK_EQ_U64(level_of(s), 0);
        hear_of_older(&c, false);
    }
    hear_of_older(&c, true);
    pass(&c, BEAT_MS);
    CHECK_EQ_U64(level_of(s), RUNG_RULES_LEVEL);
    uint64_t seq = c.topic->count;
    pass(&c, 500);
    CHECK(c.topic->count <= seq + 2); /* once */
    end(&c);
}

/* An event of a kind that older servers do not know would stop them. */
TEST(what_older_servers_cannot_read_is_refused) {
    cluster c = {0};
    rung_err err = {0};
    rung_event swap = {.kind = RUNG_EVENT_SHADOW_DROPPED,
                       .dropped = {.board = RUNG_SLICE("race"), .job = 1}};
    begin(&c, 0);
    hear_of_older(&c, false);
    add_server(&c);
    server *s = &c.servers[0];
    pass(&c, BEAT_MS);
    uint64_t seq = c.topic->count;
    CHECK_STATUS(rung_hub_put(s->hub, &swap, NULL, NULL, &err), RUNG_EBUSY);
    CHECK_EQ_I64(err.reason, RUNG_REASON_OLDER_SERVERS);
    settle(&c);
    CHECK_EQ_U64(c.topic->count, seq);
    hear_of_older(&c, true);
    for (int i = 0; level_of(s) < RUNG_RULES_LEVEL; i++) {
        CHECK(i < 10);
        pass(&c, BEAT_MS);
    }
    CHECK_OK(rung_hub_put(s->hub, &swap, NULL, NULL, &err));
    end(&c);
}

/* ---- players' own submissions ---- */

static const rung_slice session_id = RUNG_SLICE("mh0Jv3nqSIm2o1pZbD4xWg");

static rung_status put_signed(server *s, uint64_t nonce, int64_t now_ms, answer *a) {
    rung_event e = {.kind = RUNG_EVENT_SCORE,
                    .score = {.board = RACE,
                              .player = RUNG_SLICE("ada"),
                              .value_count = 1,
                              .values = {{.i = 1}},
                              .session = session_id,
                              .nonce = nonce,
                              .signed_ms = now_ms}};
    *a = (answer){0};
    return rung_hub_put(s->hub, &e, on_answer, a, NULL);
}

/* Proposed on two servers at once, before either has applied it, and again after all were started anew. */
TEST(a_nonce_takes_effect_once_on_all_servers) {
    cluster c;
    answer a, b;
    rung_board_def def = rung_board_def_default();
    begin(&c, 3);
    def.update = RUNG_UPDATE_SUM;
    def.writers = RUNG_WRITERS_PLAYER;
    CHECK_OK(
        rung_hub_define(c.servers[0].hub, (rung_hub_sender){0}, RACE, &def, on_answer, &a, NULL));
    settle(&c);
    int64_t now_ms = rung_hub_now(c.servers[0].hub);
    rung_event e = {.kind = RUNG_EVENT_SESSION,
                    .session = {.id = session_id,
                                .player = RUNG_SLICE("ada"),
                                .key = RUNG_SLICE("master"),
                                .expires_ms = now_ms + 3600000,
                                .window_ms = 300000}};
    CHECK_OK(rung_hub_put(c.servers[1].hub, &e, on_answer, &a, NULL));
    settle(&c);
    CHECK_OK(a.st);
    for (uint64_t nonce = 1; nonce <= 20; nonce++) {
        CHECK_OK(put_signed(&c.servers[nonce % 3], nonce, now_ms, &a));
        CHECK_OK(put_signed(&c.servers[(nonce + 1) % 3], nonce, now_ms, &b));
        settle(&c);
        CHECK(a.calls == 1 && b.calls == 1);
        CHECK((a.st < 0) != (b.st < 0)); /* one of them, whichever the log has first */
        CHECK_EQ_I64(a.st < 0 ? a.reason : b.reason, RUNG_REASON_REPLAYED);
    }
    check_equal(&c);
    for (uint32_t i = 0; i < 3; i++) {
        close_server(&c.servers[i]);
        open_server(&c.servers[i]);
        settle(&c);
        for (uint64_t nonce = 1; nonce <= 20; nonce++) {
            CHECK_OK(put_signed(&c.servers[i], nonce, now_ms, &a));
            settle(&c);
            CHECK_EQ_I64(a.st, RUNG_EREFUSED);
            CHECK_EQ_I64(a.reason, RUNG_REASON_REPLAYED);
        }
    }
    rung_view v;
    rung_row row;
    CHECK_OK(
        rung_state_view(rung_hub_state(c.servers[2].hub), &(rung_query){.board = RACE}, &v, NULL));
    CHECK_EQ_U64(rung_view_top(&v, 0, 1, &row), 1);
    CHECK_EQ_I64(row.values[0].i, 20);
    check_equal(&c);
    end(&c);
}

/* ---- the end of the log ---- */

/* A full queue is not the brokers' fault, and the next question finds room. */
TEST(who_asks_for_the_end_while_the_queue_is_full_is_told_so) {
    cluster c;
    answer scores[4];
    waiting w = {0};
    rung_hub_waiter waiter = {.ready = on_ready, .failed = on_failed, .ctx = &w};
    begin(&c, 1);
    define_race(&c);
    close_server(&c.servers[0]);
    c.servers[0].config.waiting_max = 2;
    open_server(&c.servers[0]);
    uint32_t count = 0;
    while (count < 4 && put_score(&c.servers[0], "ada", 1, &scores[count], NULL) == RUNG_OK)
        count++;
    CHECK(count > 0 && count < 4);
    rung_hub_wait_for_end(c.servers[0].hub, &waiter);
    settle(&c);
    CHECK(w.failed == 1 && w.ready == 0);
    CHECK_EQ_U64(w.reason, RUNG_REASON_OVERLOADED);
    rung_hub_wait_for_end(c.servers[0].hub, &waiter);
    settle(&c);
    CHECK(w.failed == 1 && w.ready == 1);
    end(&c);
}

static uint64_t events_in(const shared_topic *t) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < t->count; i++)
        n += t->records[i].type != RUNG_LOG_TYPE_REPORT;
    return n;
}

/* Readers cannot fill the log: those who ask at the same time share a record, and between two ticks there are so many.
 */
TEST(reads_of_the_end_add_few_records) {
    enum { READERS = 50, ROUNDS = 300, PER_TICK = 100 };
    cluster c;
    waiting w = {0};
    rung_hub_waiter waiters[READERS];
    begin(&c, 1);
    pass(&c, 100);
    uint64_t before = events_in(c.topic), ticks = 0;
    for (int i = 0; i < READERS; i++) {
        waiters[i] = (rung_hub_waiter){.ready = on_ready, .failed = on_failed, .ctx = &w};
        rung_hub_wait_for_end(c.servers[0].hub, &waiters[i]);
    }
    settle(&c);
    CHECK_EQ_U64(w.ready, READERS);
    CHECK_EQ_U64(events_in(c.topic), before + 1);
    for (int i = 0; i < ROUNDS; i++) {
        w.ready = 0;
        rung_hub_wait_for_end(c.servers[0].hub, &waiters[0]);
        settle(&c);
        CHECK(events_in(c.topic) <= before + PER_TICK + ticks * (PER_TICK + 1));
        if (w.ready == 0) {
            ticks++;
            pass(&c, 100);
        }
        CHECK_EQ_U64(w.ready, 1);
    }
    CHECK_EQ_U64(w.failed, 0);
    CHECK_EQ_U64(ticks, ROUNDS / PER_TICK);
    end(&c);
}

RUNG_TEST_MAIN
