/* SPDX-License-Identifier: Apache-2.0 */
/* The follower: in step, behind, stopped, blocked, restarted; always ending with everything exactly once. */
/* ctest: labels=thread */
#include "archive/follower.h"
#include "support/archive_dir.h"
#include "support/archive_server.h"
#include "support/check.h"
#include "support/memfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

typedef struct fixture {
    archive_dir dir;
    rung_memfs fs;
    archive_server_config config;
    archive_server server;
} fixture;

static void begin(fixture *f) {
    memset(f, 0, sizeof *f);
    archive_dir_init(&f->dir);
    rung_memfs_init(&f->fs);
    f->config = (archive_server_config){
        .fs = &f->fs.port,
        .log_path = "data",
        .archive_path = f->dir.path,
        .follower = {.retry_ms_min = 1, .retry_ms_max = 20, .batch_events = 100}};
}

static void start(fixture *f) {
    archive_server_open(&f->server, &f->config);
}

static void steps(fixture *f, uint32_t events) {
    for (uint32_t i = 0; i < events; i += 20)
        archive_server_step(&f->server, 20);
}

static void wait_all(fixture *f) {
    CHECK_OK(rung_follower_wait(f->server.follower, archive_server_seq(&f->server), 20000));
}

static void end(fixture *f) {
    rung_memfs_deinit(&f->fs);
    archive_dir_deinit(&f->dir);
}

TEST(follows_and_compares) {
    static fixture f;
    begin(&f);
    start(&f);
    steps(&f, 2600);
    wait_all(&f);
    rung_follower_stats s = rung_follower_stat(f.server.follower);
    CHECK_EQ_U64(s.cursor_seq, 2600);
    CHECK_EQ_U64(s.behind_events, 0);
    CHECK_EQ_I64(s.behind_ms, 0);
    CHECK_EQ_I64(s.status, RUNG_OK);
    CHECK_EQ_U64(s.statuses_lost, 0);
    CHECK(s.windows > 50);
    CHECK_EQ_U64(rung_follower_pinned(f.server.follower).bytes, 0);
    CHECK_EQ_U64(rung_follower_pinned(f.server.follower).oldest_seq, 0);
    /* A second archive answers beside it, as the state does. */
    rung_archive *reader;
    rung_err err;
    CHECK_OK(rung_sqlite_archive_open(&(rung_sqlite_archive_config){.path = f.dir.path,
                                                                    .alloc = rung_alloc_heap(),
                                                                    .is_read_only = true},
                                      &reader, &err));
    CHECK(archive_compare(f.server.state, reader) >= 3);
    /* Two days have passed: daily samples of everybody. */
    rung_archive_point points[200];
    uint32_t count, daily = 0;
    CHECK_OK(rung_archive_reading.history(reader, RUNG_SLICE("load"), RUNG_SLICE("player7"), 0,
                                          INT64_MAX, 200, points, &count, &err));
    for (uint32_t i = 0; i < count; i++)
        daily += points[i].is_sample;
    CHECK_EQ_U64(daily, 2);
    CHECK(count > 20);
    rung_archive_close(reader);
    archive_server_close(&f.server);
    archive_server_verify(f.dir.path, f.dir.dir, 2600, true);
    end(&f);
}

TEST(restarts_again_and_again) {
    static fixture f;
    begin(&f);
    for (int i = 0; i < 8; i++) {
        start(&f);
        steps(&f, 120 + (uint32_t)i * 20);
        if (i % 2)
            wait_all(&f);
        archive_server_close(&f.server);
    }
    start(&f);
    uint64_t last = archive_server_seq(&f.server);
    wait_all(&f);
    archive_server_close(&f.server);
    archive_server_verify(f.dir.path, f.dir.dir, last, true);
    end(&f);
}

/* Somebody else holds the write lock: the server goes on, the lag shows, and all is made up for. */
TEST(falls_behind_without_harm) {
    static fixture f;
    sqlite3 *db;
    begin(&f);
    start(&f);
    CHECK_OK(rung_follower_wait(f.server.follower, 0, 0));
    CHECK_EQ_I64(sqlite3_open(f.dir.path, &db), SQLITE_OK);
    CHECK_EQ_I64(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    steps(&f, 1000);
    rung_follower_stats s = rung_follower_stat(f.server.follower);
    CHECK_EQ_U64(s.cursor_seq, 0);
    CHECK_EQ_U64(s.behind_events, 1000);
    rung_follower_pins p = rung_follower_pinned(f.server.follower);
    CHECK(p.bytes > 0);
    CHECK_EQ_U64(p.oldest_seq, 50); /* the first hour closed there */
    CHECK_STATUS(rung_follower_wait(f.server.follower, 1, 30), RUNG_PARTIAL);
    CHECK(rung_follower_stat(f.server.follower).behind_ms >= 20);
    CHECK_EQ_I64(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    wait_all(&f);
    CHECK_EQ_I64(rung_follower_stat(f.server.follower).status, RUNG_OK);
    archive_server_close(&f.server);
    archive_server_verify(f.dir.path, f.dir.dir, 1000, true);
    end(&f);
}

/* More windows than there is room for: it stops before the first that does not fit; a restart goes on. */
TEST(blocked_for_lack_of_room) {
    static fixture f;
    sqlite3 *db;
    begin(&f);
    f.config.follower.pinned_bytes_max = 4000;
    start(&f);
    CHECK_EQ_I64(sqlite3_open(f.dir.path, &db), SQLITE_OK);
    CHECK_EQ_I64(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    steps(&f, 600);
    CHECK_EQ_I64(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    uint64_t blocked = 0;
    for (int i = 0; i < 12000 && !blocked; i++) { /* until all before the block is archived */
        usleep(5000);
        rung_follower_pins p = rung_follower_pinned(f.server.follower);
        blocked = p.bytes == 0 && rung_follower_cursor(f.server.follower) == p.oldest_seq - 1
                      ? p.oldest_seq
                      : 0;
    }
    CHECK(blocked > 50 && blocked < 600 && blocked % 50 == 0);
    rung_follower_stats s = rung_follower_stat(f.server.follower);
    CHECK_EQ_I64(s.status, RUNG_ELIMIT);
    CHECK_EQ_I64(s.last_error.code, RUNG_ELIMIT);
    archive_server_close(&f.server);
    f.config.follower.pinned_bytes_max = 0;
    start(&f);
    wait_all(&f);
    archive_server_close(&f.server);
    archive_server_verify(f.dir.path, f.dir.dir, 600, true);
    end(&f);
}

/* Outcomes that found no room in the ring are archived as unknown; all else is there. */
TEST(statuses_may_be_lost_events_not) {
    static fixture f;
    begin(&f);
    f.config.follower.statuses_max = 8;
    start(&f);
    steps(&f, 800);
    wait_all(&f);
    CHECK(rung_follower_stat(f.server.follower).statuses_lost > 0);
    archive_server_close(&f.server);
    archive_server_verify(f.dir.path, f.dir.dir, 800, false);
    end(&f);
}

/* An archive of a longer history than the log has is refused. */
TEST(archive_ahead_of_the_log) {
    static fixture f;
    rung_archive *a;
    rung_segment_log *log;
    rung_follower *follower;
    rung_err err = {0};
    begin(&f);
    CHECK_OK(archive_dir_open(&f.dir, &a, &err));
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(rung_archive_commit(a, 5, 0, &err));
    rung_segment_log_config c = {
        .fs = f.config.fs, .alloc = rung_alloc_heap(), .path = "data", .segment_size = 1 << 16};
    CHECK_OK(rung_segment_log_open(&c, &log, &err));
    rung_follower_config config = {
        .archive = a, .log = rung_segment_log_port(log), .alloc = rung_alloc_heap()};
    CHECK_STATUS(rung_follower_create(&config, &follower, &err), RUNG_ECONFLICT);
    CHECK(err.message[0]);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_archive_close(a);
    end(&f);
}

/* The log no longer has the beginning: an error, unless the gap is accepted; then it is on record. */
TEST(a_log_that_begins_later) {
    static fixture f;
    rung_err err = {0};
    begin(&f);
    start(&f);
    steps(&f, 1200);
    wait_all(&f);
    CHECK_OK(rung_segment_log_truncate_before(f.server.log, 1100, &err));
    uint64_t first = rung_segment_log_stat(f.server.log).first_seq;
    CHECK(first > 1 && first <= 1100);
    archive_dir other;
    archive_dir_init(&other);
    rung_archive *a;
    rung_follower *follower;
    CHECK_OK(archive_dir_open(&other, &a, &err));
    rung_follower_config c = {.archive = a,
                              .log = rung_segment_log_port(f.server.log),
                              .alloc = rung_alloc_heap(),
                              .retry_ms_min = 1};
    CHECK_OK(rung_follower_create(&c, &follower, &err));
    rung_follower_applied(follower, 1, 1200, NULL, NULL);
    CHECK_STATUS(rung_follower_wait(follower, 1, 50), RUNG_PARTIAL);
    CHECK_EQ_I64(rung_follower_stat(follower).last_error.code, RUNG_ESTALE);
    rung_follower_destroy(follower);
    c.first_seq = first;
    CHECK_OK(rung_follower_create(&c, &follower, &err));
    rung_follower_applied(follower, 1, 1200, NULL, NULL);
    CHECK_OK(rung_follower_wait(follower, 1200, 5000));
    rung_follower_destroy(follower);
    rung_archive_score s[8];
    uint32_t count;
    CHECK_OK(rung_archive_reading.scores(
        a, &(rung_archive_score_query){.board = RUNG_SLICE("load")}, 1, s, &count, &err));
    CHECK_EQ_U64(count, 1);
    CHECK(s[0].seq >= first);
    rung_archive_close(a);
    archive_dir_deinit(&other);
    archive_server_close(&f.server);
    end(&f);
}

/* Many threads look while one works. */
static void *looker(void *ctx) {
    fixture *f = ctx;
    while (rung_follower_cursor(f->server.follower) < 600) {
        rung_follower_stats s = rung_follower_stat(f->server.follower);
        CHECK(s.cursor_seq <= s.applied_seq || s.applied_seq == 0);
        (void)rung_follower_pinned(f->server.follower);
        rung_ignore(rung_follower_wait(f->server.follower, 600, 5), "just looking");
    }
    return NULL;
}

TEST(looked_at_from_other_threads) {
    static fixture f;
    pthread_t threads[3];
    begin(&f);
    start(&f);
    for (int i = 0; i < 3; i++)
        CHECK_EQ_I64(pthread_create(&threads[i], NULL, looker, &f), 0);
    steps(&f, 600);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    archive_server_close(&f.server);
    archive_server_verify(f.dir.path, f.dir.dir, 600, true);
    end(&f);
}

RUNG_TEST_MAIN
