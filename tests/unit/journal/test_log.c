/* SPDX-License-Identifier: Apache-2.0 */
/* The log port: one contract over the segment log with its writer, the segment log inline, and the log in memory; and
 * what the writer alone promises: group commit, relaxed syncing, removal of old segments. */
/* ctest: labels=thread */
#include "journal/memory_log.h"
#include "journal/proposals.h"
#include "support/check.h"
#include "support/log_contract.h"
#include "support/logkit.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

typedef struct disk {
    rung_memfs fs;
    rung_segment_log_config config;
    rung_segment_log *log;
    rung_threads threads; /* the system's, which remember the log's workers */
    rung_worker *workers[2];
    int worker_count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_held; /* syncs wait */
    bool is_waiting;
    atomic_uint wakes;
} disk;

enum { HELPER, WRITER }; /* in the order in which they start */

static void wait_while_held(void *arg, rung_memfs *fs, const char *call) {
    disk *d = arg;
    (void)fs;
    pthread_mutex_lock(&d->lock);
    while (strcmp(call, "sync") == 0 && d->is_held) {
        d->is_waiting = true;
        pthread_cond_broadcast(&d->changed);
        pthread_cond_wait(&d->changed, &d->lock);
    }
    pthread_mutex_unlock(&d->lock);
}

static void hold_syncs(disk *d, bool is_held) {
    pthread_mutex_lock(&d->lock);
    d->is_held = is_held;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

static void await_held_sync(disk *d) {
    pthread_mutex_lock(&d->lock);
    while (!d->is_waiting)
        pthread_cond_wait(&d->changed, &d->lock);
    pthread_mutex_unlock(&d->lock);
}

static rung_status start_worker(const rung_threads *threads, const rung_alloc *alloc,
                                rung_worker_step *step, void *arg, rung_worker **worker_out,
                                rung_err *err) {
    disk *d = threads->ctx;
    rung_status st = rung_worker_start(NULL, alloc, step, arg, worker_out, err);
    d->workers[d->worker_count++ % 2] = *worker_out;
    return st;
}

static bool has_spare(void *arg) {
    return rung_segment_log_stat(((disk *)arg)->log).is_spare_ready;
}

/* The helper makes the next segment's file, which takes syncs of its own. */
static void await_spare(disk *d) {
    if (!d->config.writer.is_inline)
        CHECK(rung_worker_await(d->workers[HELPER], has_spare, d, UINT32_MAX));
}

static void on_wake(void *ctx) {
    ((disk *)ctx)->wakes++;
}

static void disk_init(disk *d, uint64_t segment_size, bool is_inline) {
    *d = (disk){0};
    rung_memfs_init(&d->fs);
    d->fs.before = wait_while_held;
    d->fs.before_arg = d;
    d->threads = (rung_threads){.start = start_worker, .ctx = d};
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
    d->config = logkit_config(&d->fs, segment_size);
    d->config.writer = (rung_writer_config){.is_inline = is_inline,
                                            .proposals_max = 500,
                                            .space_retry_ms = 2,
                                            .threads = &d->threads,
                                            .wake = on_wake,
                                            .ctx = d};
}

static rung_log *disk_open(void *ctx) {
    disk *d = ctx;
    rung_err err = {0};
    CHECK_OK(rung_segment_log_open(&d->config, &d->log, &err));
    rung_log *log = rung_segment_log_port(d->log);
    CHECK_STATUS(rung_log_start(log, rung_log_durable_seq(log) + 2, &err), RUNG_EINVAL);
    CHECK_OK(rung_log_start(log, rung_log_durable_seq(log) + 1, &err));
    return log;
}

static bool keep_none(void *arg, size_t atom) {
    (void)arg, (void)atom;
    return false;
}

static void disk_crash(void *ctx, rung_log *log) {
    disk *d = ctx;
    rung_memfs after;
    pthread_mutex_lock(&d->fs.lock); /* the writer may be at work */
    rung_memfs_crash(&after, &d->fs, keep_none, NULL);
    d->fs.is_frozen = true; /* the process is dead: what is freed now writes nothing */
    pthread_mutex_unlock(&d->fs.lock);
    rung_ignore(rung_log_close(log, NULL), "it cannot succeed");
    rung_memfs_deinit(&d->fs);
    rung_memfs_copy(&d->fs, &after);
    rung_memfs_deinit(&after);
    d->config.fs = &d->fs.port;
}

static void disk_set_full(void *ctx, bool is_full) {
    disk *d = ctx;
    pthread_mutex_lock(&d->fs.lock);
    d->fs.space = is_full ? (uint64_t)5 * 8192 : 0;
    pthread_mutex_unlock(&d->fs.lock);
}

static void disk_fail_next_sync(void *ctx) {
    disk *d = ctx;
    await_spare(d);
    pthread_mutex_lock(&d->fs.lock);
    d->fs.only = 's';
    rung_memfs_fail(&d->fs, 1, EIO, false); /* later syncs would succeed: they must not be tried */
    pthread_mutex_unlock(&d->fs.lock);
}

static rung_log *memory_open(void *ctx) {
    rung_log *log;
    (void)ctx;
    CHECK_OK(rung_memory_log_create(rung_alloc_heap(), 500, &log, NULL));
    CHECK_STATUS(rung_log_start(log, 0, NULL), RUNG_EINVAL);
    CHECK_OK(rung_log_start(log, 1, NULL));
    rung_log_cursor *cursor;
    CHECK_STATUS(rung_log_cursor_open(log, 1, &cursor, NULL), RUNG_ESTALE);
    return log;
}

static void over_all(void (*contract)(const log_maker *m), uint64_t segment_size) {
    for (int is_inline = 0; is_inline < 2; is_inline++) {
        disk d;
        disk_init(&d, segment_size, is_inline);
        contract(&(log_maker){.ctx = &d,
                              .open = disk_open,
                              .crash = disk_crash,
                              .set_full = disk_set_full,
                              .fail_next_sync = disk_fail_next_sync});
        rung_memfs_deinit(&d.fs);
    }
    contract(&(log_maker){.open = memory_open});
}

TEST(order_and_tags) {
    over_all(log_contract_order, 8192);
}

TEST(limits) {
    over_all(log_contract_limits, 1 << 20);
}

TEST(foreign_records) {
    over_all(log_contract_foreign, 8192);
}

TEST(what_was_delivered_survives_a_crash) {
    over_all(log_contract_crash, 8192);
}

TEST(a_full_disk_rejects_and_recovers) {
    over_all(log_contract_full, 8192);
}

TEST(a_failed_sync_leaves_outcomes_unknown) {
    over_all(log_contract_failure, 1 << 16);
}

TEST(closed_with_proposals_in_flight) {
    over_all(log_contract_in_flight, 1 << 16);
}

/* ---- the writer ---- */

static void propose_one(rung_log *log, uint64_t number, char bytes[LOGKIT_PAYLOAD_MAX]) {
    rung_log_entry entry = {
        .payload = logkit_payload_into(number, bytes), .type = logkit_type(number), .tag = number};
    CHECK_OK(rung_log_propose(log, &entry, 1, NULL));
}

static uint64_t delivered(rung_log *log) {
    rung_log_delivery got;
    uint64_t n = 0;
    rung_log_await(log);
    while (rung_log_deliver(log, SIZE_MAX, &got, NULL) == RUNG_OK)
        n += got.outcome == RUNG_LOG_COMMITTED ? got.count : 0;
    return n;
}

/* The sync of one record is held up; the others gather, and go down together. */
TEST(what_queues_up_during_a_sync_is_one_batch) {
    static char bytes[301][LOGKIT_PAYLOAD_MAX];
    disk d;
    rung_log_delivery got;
    uint64_t first, last;
    disk_init(&d, 1 << 20, false);
    rung_log *log = disk_open(&d);
    propose_one(log, 1, bytes[1]);
    CHECK_EQ_U64(delivered(log), 1);
    await_spare(&d);
    hold_syncs(&d, true);
    propose_one(log, 2, bytes[2]);
    await_held_sync(&d);
    for (uint64_t i = 3; i <= 300; i++)
        propose_one(log, i, bytes[i]);
    CHECK_STATUS(rung_log_deliver(log, 8, &got, NULL), RUNG_NOT_FOUND); /* not before its sync */
    unsigned wakes = d.wakes;
    hold_syncs(&d, false);
    CHECK_EQ_U64(delivered(log), 299);
    CHECK(d.wakes > wakes);
    CHECK_EQ_U64(rung_log_stat(log).batches, 3);
    CHECK_EQ_U64(rung_log_stat(log).batch_records_max, 298);
    CHECK_OK(logkit_read(d.log, &first, &last, NULL));
    CHECK_EQ_U64(last, 300);
    CHECK_OK(rung_log_close(log, NULL));
    rung_memfs_deinit(&d.fs);
}

static bool is_durable(void *arg) {
    return rung_log_durable_seq(rung_segment_log_port(((disk *)arg)->log)) == 1;
}

TEST(relaxed_commits_before_the_sync) {
    static char bytes[LOGKIT_PAYLOAD_MAX];
    for (int is_inline = 0; is_inline < 2; is_inline++) {
        disk d;
        disk_init(&d, 1 << 20, is_inline);
        d.config.is_relaxed = true;
        d.config.writer.sync_every_ms = 3600 * 1000;
        rung_log *log = disk_open(&d);
        propose_one(log, 1, bytes);
        CHECK_EQ_U64(delivered(log), 1);
        CHECK_EQ_U64(is_inline ? rung_log_durable_seq(log) : 0, 0);
        CHECK(rung_log_sync(log, NULL) >= 0);
        CHECK(is_inline ? is_durable(&d)
                        : rung_worker_await(d.workers[WRITER], is_durable, &d, UINT32_MAX));
        CHECK_OK(rung_log_close(log, NULL));
        rung_memfs_deinit(&d.fs);
    }
}

static bool is_trimmed(void *arg) {
    return rung_segment_log_stat(((disk *)arg)->log).first_seq >= 100;
}

TEST(old_segments_go) {
    static char bytes[401][LOGKIT_PAYLOAD_MAX];
    for (int is_inline = 0; is_inline < 2; is_inline++) {
        disk d;
        uint64_t done = 0;
        disk_init(&d, 8192, is_inline);
        rung_log *log = disk_open(&d);
        for (uint64_t i = 1; i <= 400; i++) {
            propose_one(log, i, bytes[i]);
            if (i % 20 == 0)
                done += delivered(log);
        }
        while (done < 400)
            done += delivered(log);
        CHECK(rung_log_truncate_before(log, 200, NULL) >= 0);
        CHECK(is_inline ? is_trimmed(&d)
                        : rung_worker_await(d.workers[WRITER], is_trimmed, &d, UINT32_MAX));
        CHECK(rung_segment_log_stat(d.log).first_seq <= 200);
        CHECK_OK(rung_log_close(log, NULL));
        rung_memfs_deinit(&d.fs);
    }
}

RUNG_TEST_MAIN
