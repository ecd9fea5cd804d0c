/* SPDX-License-Identifier: Apache-2.0 */
/* A folder that keeps a state: what opening makes of log and snapshots, whole and damaged. */
#include "service/store.h"

#include "journal/snapshot_file.h"
#include "service/applier.h"
#include "support/check.h"
#include "support/memfs.h"
#include "support/storekit.h"

#include <stdio.h>
#include <string.h>

#define FOLDER "data"

typedef struct disk {
    rung_memfs fs;
    rung_store_config config;
    char said[1024];                  /* all lines for the operator */
    uint64_t from_snapshot, from_log; /* progress of the last open */
    rung_err err;
} disk;

static void hear(void *ctx, const char *line) {
    disk *d = ctx;
    size_t used = strlen(d->said);
    snprintf(d->said + used, sizeof d->said - used, "%s\n", line);
}

static void watch(void *ctx, const char *what, uint64_t done, uint64_t total) {
    disk *d = ctx;
    CHECK(done <= total);
    if (done == total)
        *(strcmp(what, "log") == 0 ? &d->from_log : &d->from_snapshot) = total;
}

static void disk_init(disk *d) {
    memset(d, 0, sizeof *d);
    rung_memfs_init(&d->fs);
    d->config = (rung_store_config){.fs = &d->fs.port,
                                    .alloc = rung_alloc_heap(),
                                    .path = FOLDER,
                                    .segment_size = (uint64_t)2 << 20,
                                    .state = {.alloc = rung_alloc_heap()},
                                    .progress = watch,
                                    .say = hear,
                                    .ctx = d};
}

static rung_status reopen(disk *d, storekit *k) {
    d->said[0] = '\0';
    d->from_snapshot = d->from_log = 0;
    return storekit_open(k, &d->config, &d->err);
}

static void grow_to(disk *d, storekit *k, uint64_t seq) {
    while (rung_state_seq(k->state) < seq)
        CHECK_OK(storekit_next(k, &d->err));
}

static memfs_bytes *snapshot_bytes(disk *d, uint64_t seq) {
    char name[RUNG_FILE_NAME_MAX];
    rung_snapshot_name(name, seq);
    return rung_memfs_bytes(&d->fs, FOLDER, name);
}

static void damage_snapshot(disk *d, uint64_t seq) {
    memfs_bytes *b = snapshot_bytes(d, seq);
    CHECK(b);
    b->bytes[b->size / 2] ^= 1;
}

TEST(replay_of_the_whole_log) {
    disk d;
    storekit k;
    disk_init(&d);
    CHECK_OK(reopen(&d, &k));
    CHECK_EQ_U64(rung_state_seq(k.state), 0);
    grow_to(&d, &k, 3000); /* more than is read at once */
    CHECK_OK(storekit_close(&k, &d.err));
    CHECK_OK(reopen(&d, &k));
    CHECK_EQ_U64(d.from_log, rung_state_seq(k.state));
    CHECK_EQ_U64(d.from_snapshot, 0);
    storekit_check(&k);
    grow_to(&d, &k, 3100);
    storekit_check(&k);
    CHECK_OK(storekit_close(&k, &d.err));
    rung_memfs_deinit(&d.fs);
}

TEST(snapshot_and_tail) {
    disk d;
    storekit k;
    uint64_t needed;
    disk_init(&d);
    CHECK_OK(reopen(&d, &k));
    grow_to(&d, &k, 100);
    uint64_t saved = rung_state_seq(k.state);
    CHECK_OK(rung_store_save(k.store, k.state, &d.err));
    CHECK_STATUS(rung_store_save(k.store, k.state, &d.err), RUNG_UNCHANGED);
    CHECK_OK(rung_store_needed_from(k.store, &needed, &d.err));
    CHECK_EQ_U64(needed, 1); /* with one snapshot alone the whole log is the other way back */
    grow_to(&d, &k, 150);
    uint64_t last = rung_state_seq(k.state);
    CHECK_OK(storekit_close(&k, &d.err));
    CHECK_OK(reopen(&d, &k));
    CHECK_EQ_STR(d.said, "");
    CHECK(d.from_snapshot > 0);
    CHECK_EQ_U64(d.from_log, last - saved);
    storekit_check(&k);
    grow_to(&d, &k, 160);
    CHECK_OK(rung_store_save(k.store, k.state, &d.err));
    CHECK_OK(rung_store_needed_from(k.store, &needed, &d.err));
    CHECK_EQ_U64(needed, saved + 1);
    CHECK_OK(storekit_close(&k, &d.err));
    rung_memfs_deinit(&d.fs);
}

/* Three lives with a snapshot in each: two are left, and the log from the older one on. */
static void make_two_snapshots(disk *d, storekit *k, bool trim, uint64_t seqs[2]) {
    disk_init(d);
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t needed;
        CHECK_OK(reopen(d, k));
        grow_to(d, k, 40 * (i + 1));
        seqs[0] = seqs[1];
        seqs[1] = rung_state_seq(k->state);
        CHECK_OK(rung_store_save(k->store, k->state, &d->err));
        CHECK_OK(rung_store_needed_from(k->store, &needed, &d->err));
        if (trim)
            CHECK(rung_log_truncate_before(rung_store_log(k->store), needed, &d->err) >= 0);
        grow_to(d, k, 40 * (i + 1) + 20);
        CHECK_OK(storekit_close(k, &d->err));
    }
    CHECK(snapshot_bytes(d, seqs[0]) && snapshot_bytes(d, seqs[1]));
}

TEST(a_damaged_manifest_is_said) {
    disk d;
    storekit k;
    uint64_t seqs[2] = {0};
    make_two_snapshots(&d, &k, false, seqs);
    memfs_bytes *manifest = rung_memfs_bytes(&d.fs, FOLDER, RUNG_SNAPSHOT_MANIFEST);
    CHECK(manifest);
    manifest->bytes[manifest->size / 2] ^= 1;
    CHECK_OK(reopen(&d, &k));
    CHECK(strstr(d.said, "the manifest is passed over"));
    storekit_check(&k);
    CHECK_OK(storekit_close(&k, &d.err));
    rung_memfs_deinit(&d.fs);
}

TEST(a_damaged_snapshot_is_passed_over) {
    disk d;
    storekit k;
    uint64_t seqs[2] = {0};
    make_two_snapshots(&d, &k, true, seqs);
    damage_snapshot(&d, seqs[1]);
    CHECK_OK(reopen(&d, &k));
    CHECK(strstr(d.said, "is damaged and passed over"));
    CHECK(rung_state_seq(k.state) >= 140);
    CHECK_EQ_U64(d.from_log, rung_state_seq(k.state) - seqs[0]);
    storekit_check(&k);
    CHECK_OK(storekit_close(&k, &d.err));
    rung_memfs_deinit(&d.fs);
}

TEST(without_a_whole_snapshot_a_trimmed_log_is_refused) {
    disk d;
    storekit k;
    uint64_t seqs[2] = {0};
    make_two_snapshots(&d, &k, true, seqs);
    damage_snapshot(&d, seqs[0]);
    damage_snapshot(&d, seqs[1]);
    CHECK_STATUS(reopen(&d, &k), RUNG_ECORRUPT);
    CHECK(d.err.message[0]);
    CHECK_STATUS(reopen(&d, &k), RUNG_ECORRUPT); /* and gave the lock back */
    rung_memfs_deinit(&d.fs);
}

TEST(without_a_whole_snapshot_a_whole_log_will_do) {
    disk d;
    storekit k;
    uint64_t seqs[2] = {0};
    make_two_snapshots(&d, &k, false, seqs);
    damage_snapshot(&d, seqs[0]);
    damage_snapshot(&d, seqs[1]);
    CHECK_OK(reopen(&d, &k));
    CHECK_EQ_U64(d.from_log, rung_state_seq(k.state));
    storekit_check(&k);
    CHECK_OK(storekit_close(&k, &d.err));
    rung_memfs_deinit(&d.fs);
}

/* A snapshot and a log that do not meet. */
TEST(a_gap_is_refused) {
    disk d;
    storekit k;
    uint64_t seqs[2] = {0};
    make_two_snapshots(&d, &k, true, seqs);
    char name[RUNG_FILE_NAME_MAX];
    for (int i = 0; i < 2; i++) {
        rung_snapshot_name(name, seqs[i]);
        rung_memfs_remove(&d.fs, FOLDER, name);
    }
    CHECK_STATUS(reopen(&d, &k), RUNG_ECORRUPT);
    CHECK_MSG(strstr(d.err.message, "but 1 is needed"), "%s", d.err.message);
    rung_memfs_deinit(&d.fs);
}

TEST(one_opener_at_a_time) {
    disk d;
    storekit k, second;
    disk_init(&d);
    CHECK_OK(reopen(&d, &k));
    CHECK_STATUS(storekit_open(&second, &d.config, &d.err), RUNG_EBUSY);
    CHECK(strstr(d.err.message, "in use"));
    CHECK_OK(storekit_close(&k, &d.err));
    CHECK_OK(reopen(&d, &k));
    CHECK_OK(storekit_close(&k, &d.err));
    rung_memfs_deinit(&d.fs);
}

/* The disk fills up: changes are refused, questions answered, and once there is room again all
 * goes on. */
TEST(a_full_disk_passes) {
    disk d;
    storekit k;
    disk_init(&d);
    d.fs.space = (uint64_t)5 << 20; /* two segments and a little */
    CHECK_OK(reopen(&d, &k));
    rung_status st = RUNG_OK;
    char meta[RUNG_EVENT_META_MAX];
    memset(meta, 'm', sizeof meta);
    CHECK_OK(storekit_next(&k, &d.err));
    rung_digest before;
    for (int i = 0; i < 2000 && st != RUNG_ENOSPC; i++) {
        rung_event event = {.kind = RUNG_EVENT_SCORE,
                            .score = {.board = STOREKIT_BOARD,
                                      .player = RUNG_SLICE("ada"),
                                      .value_count = 1,
                                      .values = {{.i = 1}},
                                      .meta = rung_slice_of(meta, sizeof meta)}};
        before = rung_state_digest(k.state);
        st = storekit_submit(&k, &event, &d.err);
        CHECK(st == RUNG_OK || st == RUNG_ENOSPC);
    }
    CHECK_STATUS(st, RUNG_ENOSPC);
    rung_digest after = rung_state_digest(k.state);
    CHECK_EQ_MEM(&before, &after, sizeof before);
    rung_view view;
    CHECK_OK(rung_state_view(k.state, &(rung_query){.board = STOREKIT_BOARD}, &view, &d.err));
    CHECK_EQ_U64(view.total, 1);
    d.fs.space = 0;
    CHECK_OK(storekit_next(&k, &d.err));
    uint64_t seq = rung_state_seq(k.state);
    after = rung_state_digest(k.state);
    CHECK_OK(storekit_close(&k, &d.err));
    CHECK_OK(reopen(&d, &k));
    CHECK_EQ_U64(rung_state_seq(k.state), seq);
    before = rung_state_digest(k.state);
    CHECK_EQ_MEM(&before, &after, sizeof before);
    CHECK_OK(storekit_close(&k, &d.err));
    rung_memfs_deinit(&d.fs);
}

/* ---- a log that other nodes write to ---- */

/* Whenever somebody reads, others write as much: it never ends. Its records are all the same event. */
typedef struct busy_log {
    rung_log port;
    rung_log_cursor cursor;
    uint64_t end;           /* when it was opened */
    uint64_t next, started; /* the cursor's next record; where it was started */
    uint32_t reads;
    uint8_t event[64];
    size_t len;
} busy_log;

enum { BUSY_END = 1500, BUSY_READS = 100 };

static busy_log *busy_of(const rung_log *log) {
    return (busy_log *)(uintptr_t)log;
}

static rung_status busy_start(rung_log *log, uint64_t from_seq, rung_err *err) {
    (void)err;
    busy_of(log)->started = from_seq;
    return RUNG_OK;
}

static uint64_t busy_durable_seq(const rung_log *log) {
    return busy_of(log)->end;
}

static uint64_t busy_first_seq(rung_log *log) {
    (void)log;
    return 1;
}

static const uint8_t *busy_id(const rung_log *log) {
    static const uint8_t id[RUNG_LOG_ID_SIZE] = {7};
    (void)log;
    return id;
}

static rung_status busy_cursor_open(rung_log *log, uint64_t from_seq, rung_log_cursor **cursor_out,
                                    rung_err *err) {
    (void)err;
    busy_of(log)->next = from_seq;
    *cursor_out = &busy_of(log)->cursor;
    return RUNG_OK;
}

static rung_status busy_cursor_read(rung_log_cursor *cursor, rung_log_record *records, size_t max,
                                    size_t *count_out, rung_err *err) {
    busy_log *l = (busy_log *)((char *)cursor - offsetof(busy_log, cursor));
    (void)err;
    CHECK(l->reads++ < BUSY_READS); /* the node would never be ready */
    for (size_t i = 0; i < max; i++)
        records[i] =
            (rung_log_record){l->next++, rung_slice_of(l->event, l->len), RUNG_LOG_TYPE_EVENT};
    *count_out = max;
    return RUNG_OK;
}

static void busy_cursor_close(rung_log_cursor *cursor) {
    (void)cursor;
}

static rung_status busy_close(rung_log *log, rung_err *err) {
    (void)log, (void)err;
    return RUNG_OK;
}

static void busy_init(busy_log *l) {
    static const rung_log_ops ops = {.start = busy_start,
                                     .durable_seq = busy_durable_seq,
                                     .first_seq = busy_first_seq,
                                     .id = busy_id,
                                     .cursor_open = busy_cursor_open,
                                     .cursor_read = busy_cursor_read,
                                     .cursor_close = busy_cursor_close,
                                     .close = busy_close,
                                     .is_shared = true};
    rung_event tick = {.kind = RUNG_EVENT_TICK, .ts_ms = STOREKIT_NOON};
    *l = (busy_log){.port = {&ops}, .cursor = {&ops}, .end = BUSY_END};
    CHECK_OK(rung_event_encode(&tick, l->event, sizeof l->event, &l->len));
}

/* The replay ends where the log ended when it was opened, whatever others add meanwhile; what they add is delivered. */
TEST(replay_of_a_log_that_others_write_to) {
    disk d;
    busy_log log;
    rung_store *store;
    rung_state *state;
    disk_init(&d);
    busy_init(&log);
    d.config.log = &log.port;
    CHECK_OK(rung_store_open(&d.config, &store, &state, &d.err));
    CHECK_EQ_U64(rung_state_seq(state), BUSY_END);
    CHECK_EQ_U64(log.started, BUSY_END + 1);
    CHECK_EQ_U64(d.from_log, BUSY_END);
    CHECK_OK(rung_store_save(store, state, &d.err)); /* S2: no further than the log is durable */
    CHECK_OK(rung_store_close(store, &d.err));
    rung_state_destroy(state);
    rung_memfs_deinit(&d.fs);
}

RUNG_TEST_MAIN
