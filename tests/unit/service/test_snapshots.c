/* SPDX-License-Identifier: Apache-2.0 */
/* The snapshots and the log that a folder keeps (log.keep): every moment of the kept span can be rebuilt, what is older
 * goes, a full disk takes the oldest days. An event of the storekit takes an hour of log time. */
#include "journal/segment_log.h"
#include "service/applier.h"
#include "service/snapshots.h"
#include "support/check.h"
#include "support/memfs.h"
#include "support/rng.h"
#include "support/storekit.h"

#include <string.h>

#define FOLDER "data"
#define DAY_MS INT64_C(86400000)

enum { EVENTS = 3000 };

typedef struct world {
    rung_memfs fs;
    rung_store_config config;
    storekit k;
    rung_snapshots s;
    rung_retention keep;
    char said[2000];
    rung_digest digests[EVENTS]; /* of the state after each sequence */
    rung_err err;
} world;

static void hear(void *ctx, const char *line) {
    world *w = ctx;
    size_t used = strlen(w->said);
    snprintf(w->said + used, sizeof w->said - used, "%s\n", line);
}

static void begin(world *w, rung_retention keep) {
    memset(w, 0, sizeof *w);
    w->keep = keep;
    rung_memfs_init(&w->fs);
    w->config = (rung_store_config){.fs = &w->fs.port,
                                    .alloc = rung_alloc_heap(),
                                    .path = FOLDER,
                                    .segment_size = (uint64_t)2 << 20,
                                    .state = {.alloc = rung_alloc_heap()},
                                    .say = hear,
                                    .ctx = w};
}

static void reopen(world *w) {
    CHECK_OK(storekit_open(&w->k, &w->config, &w->err));
    w->k.now_ms =
        rung_state_time(w->k.state) == INT64_MIN ? STOREKIT_NOON : rung_state_time(w->k.state);
    w->s = (rung_snapshots){.store = w->k.store,
                            .state = w->k.state,
                            .time = &w->k.time,
                            .every = UINT64_MAX,
                            .retention = w->keep,
                            .alloc = rung_alloc_heap(),
                            .say = hear,
                            .ctx = w};
    CHECK_OK(rung_snapshots_init(&w->s, &w->err));
}

static void close_world(world *w) {
    rung_snapshots_deinit(&w->s);
    CHECK_OK(storekit_close(&w->k, &w->err));
}

static void end(world *w) {
    close_world(w);
    rung_memfs_deinit(&w->fs);
}

static void grow(world *w, int count) {
    for (int i = 0; i < count; i++) {
        CHECK_OK(storekit_next(&w->k, &w->err));
        uint64_t seq = rung_state_seq(w->k.state);
        CHECK(seq < EVENTS);
        w->digests[seq] = rung_state_digest(w->k.state);
    }
}

/* Rebuild the state at `seq` from the nearest snapshot, as the list on the disk has it. */
static void rebuild(world *w, uint64_t seq) {
    rung_snapshot_entries list;
    rung_log *log = rung_store_log(w->k.store);
    rung_state *state = NULL;
    rung_applier *applier;
    rung_log_cursor *cursor;
    const rung_dir *dir = rung_store_dir(w->k.store);
    while (!w->digests[seq].a && !w->digests[seq].b) /* a tick, before an event */
        seq++;
    CHECK_OK(rung_snapshot_list_read(dir, rung_alloc_heap(), rung_log_id(log), &list, &w->err));
    const rung_snapshot_entry *e = rung_snapshot_nearest(&list, rung_log_first_seq(log), seq);
    if (e) {
        rung_snapshot_reader *reader;
        CHECK_OK(rung_snapshot_reader_open(dir, rung_alloc_heap(), rung_log_id(log), e->seq,
                                           &reader, &w->err));
        CHECK_OK(rung_store_load_snapshot(reader, &w->config.state, NULL, NULL, &state, &w->err));
        rung_snapshot_reader_close(reader);
        CHECK_EQ_I64(e->time_ms, rung_state_time(state));
        const rung_snapshot_entry *same =
            rung_snapshot_nearest_time(&list, rung_log_first_seq(log), e->time_ms);
        CHECK(same && same->time_ms == e->time_ms);
    } else {
        CHECK_EQ_U64(rung_log_first_seq(log), 1);
        CHECK_OK(rung_state_create(&w->config.state, &state));
    }
    rung_applier_config config = {.alloc = rung_alloc_heap(), .state = state};
    CHECK_OK(rung_applier_create(&config, &applier, &w->err));
    CHECK_OK(rung_log_cursor_open(log, rung_state_seq(state) + 1, &cursor, &w->err));
    while (rung_state_seq(state) < seq) {
        rung_log_record record;
        size_t count;
        CHECK_OK(rung_log_cursor_read(cursor, &record, 1, &count, &w->err));
        CHECK_OK(rung_applier_replay(applier, &record, 1, &w->err));
    }
    rung_digest d = rung_state_digest(state);
    CHECK(d.a == w->digests[seq].a && d.b == w->digests[seq].b);
    rung_log_cursor_close(cursor);
    rung_applier_destroy(applier);
    rung_state_destroy(state);
    rung_snapshot_list_deinit(&list);
}

static uint64_t oldest_seq(const world *w) {
    return rung_log_first_seq(rung_store_log(w->k.store));
}

/* Lives of some hours to some days, with some snapshots in each: segments begin with each life. */
static void live(world *w, rung_rng *rng, int lives) {
    for (int i = 0; i < lives; i++) {
        reopen(w);
        for (uint64_t n = 1 + rung_rng_below(rng, 3); n > 0; n--) {
            grow(w, 1 + (int)rung_rng_below(rng, 20));
            if (rung_rng_below(rng, 4))
                CHECK(rung_snapshots_save(&w->s, &w->err) >= 0);
            rung_snapshots_trim(&w->s);
        }
        uint64_t first = oldest_seq(w), last = rung_state_seq(w->k.state);
        const rung_snapshot_entry *oldest = NULL;
        for (size_t e = w->s.list.count; e > 0; e--)
            if (w->s.list.entries[e - 1].seq + 1 >= first)
                oldest = &w->s.list.entries[e - 1];
        uint64_t from = first == 1 ? 1 : oldest->seq;
        rebuild(w, from);
        rebuild(w, last);
        rebuild(w, from + rung_rng_below(rng, last - from + 1));
        close_world(w);
    }
}

TEST(every_moment_of_the_span_can_be_rebuilt) {
    static world w;
    rung_rng rng;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        rung_rng_seed(&rng, seed);
        begin(&w, (rung_retention){.keep_ms = 10 * DAY_MS});
        live(&w, &rng, 60);
        reopen(&w);
        rung_snapshots_trim(&w.s);
        int64_t now = w.k.now_ms, reach = rung_snapshots_reach_ms(&w.s);
        CHECK(oldest_seq(&w) > 1);
        CHECK(reach <= now - 10 * DAY_MS);
        CHECK(reach >= now - 16 * DAY_MS); /* a life may pass without a snapshot */
        CHECK(w.s.list.count <= 10 + 6 + 2);
        CHECK_EQ_STR(w.said, "");
        end(&w);
    }
}

TEST(one_snapshot_of_each_day) {
    static world w;
    begin(&w, (rung_retention){.keep_ms = RUNG_RETENTION_FOREVER});
    reopen(&w);
    for (int i = 0; i < 10 * 4; i++) {
        grow(&w, 6);
        CHECK(rung_snapshots_save(&w.s, &w.err) >= 0);
    }
    /* Ticks are events too, so that a day may have one save more or less. */
    for (size_t i = 1; i + 2 < w.s.list.count; i++)
        CHECK(rung_retention_day(w.s.list.entries[i].time_ms) >
              rung_retention_day(w.s.list.entries[i - 1].time_ms));
    CHECK(w.s.list.count >= 9 && w.s.list.count <= 13);
    rung_snapshot_entries list;
    CHECK_OK(rung_store_list(w.k.store, &list, &w.err));
    CHECK_EQ_U64(list.count, w.s.list.count);
    for (size_t i = 0; i < list.count; i++)
        CHECK_EQ_U64(list.entries[i].seq, w.s.list.entries[i].seq);
    rung_snapshot_list_deinit(&list);
    CHECK_EQ_U64(oldest_seq(&w), 1);
    CHECK_EQ_I64(rung_snapshots_reach_ms(&w.s), STOREKIT_NOON + 3600000);
    end(&w);
}

TEST(without_history_two_are_kept) {
    static world w;
    begin(&w, (rung_retention){0});
    for (int life = 0; life < 5; life++) {
        reopen(&w);
        grow(&w, 30);
        CHECK(rung_snapshots_save(&w.s, &w.err) >= 0);
        CHECK_EQ_U64(w.s.list.count, life == 0 ? 1 : 2);
        if (life < 4)
            close_world(&w);
    }
    CHECK(oldest_seq(&w) > 1);
    CHECK(oldest_seq(&w) <= w.s.list.entries[0].seq + 1);
    CHECK_EQ_I64(rung_snapshots_reach_ms(&w.s), w.s.list.entries[0].time_ms);
    end(&w);
}

/* The size counts log and snapshots. */
TEST(a_size_ends_the_span_before_the_time) {
    static world w;
    rung_rng rng;
    rung_rng_seed(&rng, 7);
    begin(&w, (rung_retention){.keep_ms = 100 * DAY_MS, .keep_bytes = (uint64_t)64 << 10});
    live(&w, &rng, 60);
    reopen(&w);
    rung_snapshots_trim(&w.s);
    CHECK(oldest_seq(&w) > 1);
    CHECK(w.s.plan.has_given_way);
    uint64_t bytes = rung_snapshots_bytes(&w.s) + rung_store_log_bytes(w.k.store, 0);
    CHECK(bytes < (uint64_t)128 << 10); /* a segment and a snapshot more, until the next snapshot */
    CHECK(strstr(w.said, "the limit of log.keep") != NULL);
    end(&w);
}

/* The disk is nearly full with ten days of history: days go at once, without a new snapshot, and one line says so. */
TEST(a_full_disk_takes_the_oldest_days) {
    static world w;
    begin(&w, (rung_retention){.keep_ms = RUNG_RETENTION_FOREVER});
    for (int life = 0; life < 10; life++) {
        reopen(&w);
        grow(&w, 24);
        CHECK(rung_snapshots_save(&w.s, &w.err) >= 0);
        close_world(&w);
    }
    reopen(&w);
    rung_snapshots_trim(&w.s);
    CHECK_EQ_U64(oldest_seq(&w), 1);
    CHECK_EQ_STR(w.said, "");
    size_t before = w.s.list.count;
    /* A twentieth of the disk, and twice the newest snapshot, are to be free. */
    uint64_t newest = w.s.list.entries[before - 1].file_bytes;
    w.fs.space = rung_memfs_used(&w.fs) / 19 * 20 + newest;
    rung_snapshots_trim(&w.s);
    CHECK(oldest_seq(&w) > 1);
    CHECK(w.s.list.count > 2);
    CHECK(strstr(w.said, "the disk is nearly full") != NULL);
    CHECK(strchr(w.said, '\n') == strrchr(w.said, '\n'));
    rebuild(&w, w.s.list.entries[0].seq);
    rebuild(&w, rung_state_seq(w.k.state));
    /* It goes down to the newest two, never further. */
    w.fs.space = rung_memfs_used(&w.fs);
    for (int i = 0; i < 20; i++)
        rung_snapshots_trim(&w.s);
    CHECK_EQ_U64(w.s.list.count, 2);
    CHECK(oldest_seq(&w) <= w.s.list.entries[0].seq + 1);
    rebuild(&w, w.s.list.entries[0].seq);
    CHECK(strchr(w.said, '\n') == strrchr(w.said, '\n'));
    w.fs.space = 0;
    end(&w);
}

RUNG_TEST_MAIN
