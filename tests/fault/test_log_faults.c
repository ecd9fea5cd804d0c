/* SPDX-License-Identifier: Apache-2.0 */
/* The N-th call fails, for every N and every kind of failure: once, and from then on. After it the process dies; the
 * restart finds, with the page cache and without it, every acknowledged record. A failed write or sync
 * is final: nothing is acknowledged behind it. Then the same sweep for memory. */
/* ctest: timeout=180 labels=slow */
#include "support/check.h"
#include "support/failalloc.h"
#include "support/logkit.h"
#include "support/rng.h"

#include <errno.h>
#include <string.h>

typedef struct life {
    rung_segment_log_config config;
    uint64_t submitted, acked, truncated;
    bool is_killed; /* its first run ends without a close, so the second has a segment to seal */
} life;

/* One batch. A refusal for lack of space or memory changes nothing; any other failure is for ever. */
static rung_status submit(life *l, rung_segment_log *log, size_t count) {
    rung_err err = {0};
    uint64_t seq = l->acked + 1;
    if (seq + count - 1 > l->submitted)
        l->submitted = seq + count - 1;
    rung_status st = logkit_append(log, seq, count, &err);
    if (st == RUNG_OK) {
        l->acked = seq + count - 1;
        return rung_segment_log_maintain(log, count % 2, &err);
    }
    CHECK(err.message[0] != '\0');
    if (st == RUNG_ENOSPC || st == RUNG_ENOMEM) {
        rung_err again = {0};
        rung_status second = logkit_append(log, seq, count, &again);
        if (second == RUNG_OK)
            l->acked = seq + count - 1;
        return second;
    }
    uint64_t durable;
    CHECK(rung_segment_log_sync(log, &durable, NULL) < 0);
    CHECK(logkit_append(log, seq, count, NULL) < 0);
    return st;
}

static rung_status read_all(life *l, rung_segment_log *log) {
    uint64_t first, last;
    rung_err err = {0};
    rung_status st = logkit_read(log, &first, &last, &err);
    if (st == RUNG_OK) {
        CHECK(last >= l->acked && last <= l->submitted);
        CHECK(first <= l->truncated);
        l->acked = last; /* served */
        l->submitted = last;
    }
    return st;
}

/* Open, replay, start, work, change segments, remove old ones, close; twice. Stops at the first failure. */
static rung_status live(life *l, rung_memfs *fs) {
    static const size_t batches[] = {1, 3, 12, 9, 14, 2, 11, 13};
    for (int run = 0; run < 2; run++) {
        rung_segment_log *log;
        rung_err err = {0};
        rung_status st = rung_segment_log_open(&l->config, &log, &err);
        if (st < 0)
            return st;
        if (run)
            st = read_all(l, log);
        if (st == RUNG_OK)
            st = rung_segment_log_start(log, &err);
        for (size_t i = 0; st >= 0 && i < sizeof batches / sizeof batches[0]; i++) {
            st = submit(l, log, batches[i]);
            if (st >= 0 && i % 3 == 0)
                st = rung_segment_log_prepare(log, &err);
        }
        if (st >= 0) {
            l->truncated = l->acked / 2;
            st = rung_segment_log_truncate_before(log, l->truncated, &err);
        }
        if (st >= 0 && run == 0 && !(l->is_killed && fs)) {
            st = rung_segment_log_close(log, &err);
        } else if (fs) {
            logkit_abandon(fs, log);
        } else {
            rung_segment_log_close(log, NULL);
        }
        if (st < 0)
            return st;
    }
    return RUNG_OK;
}

static bool keep_none(void *arg, size_t atom) {
    (void)arg;
    (void)atom;
    return false;
}

static bool keep_some(void *arg, size_t atom) {
    (void)atom;
    return rung_rng_next(arg) & 1;
}

/* Returns what is owed after it: all that was read, and what was appended then. */
static life check_restart(const life *l, rung_memfs *world) {
    life after = *l;
    after.config.fs = &world->port;
    rung_segment_log *log;
    rung_err err = {0};
    rung_status st = rung_segment_log_open(&after.config, &log, &err);
    CHECK_MSG(st == RUNG_OK, "restart: %s", err.message);
    CHECK_OK(read_all(&after, log));
    CHECK_OK(rung_segment_log_start(log, &err));
    CHECK_OK(logkit_append(log, after.acked + 1, 3, &err));
    after.submitted = after.acked += 3;
    logkit_abandon(world, log);
    return after;
}

static void check_worlds(const life *l, rung_memfs *fs, rung_rng *rng) {
    rung_memfs world;
    rung_memfs_crash(&world, fs, keep_none, NULL);
    check_restart(l, &world);
    rung_memfs_deinit(&world);
    rung_memfs_crash(&world, fs, keep_some, rng);
    check_restart(l, &world);
    rung_memfs_deinit(&world);
    /* Kills: the page cache stays, and may show what the disk never got. A crash after them finds it all. */
    life served = check_restart(l, fs);
    served = check_restart(&served, fs);
    rung_memfs_crash(&world, fs, keep_none, NULL);
    check_restart(&served, &world);
    rung_memfs_deinit(&world);
}

static void sweep_lives(int os_errno, bool is_sticky, int only, bool is_killed) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(5));
    for (uint64_t n = 1;; n++) {
        rung_memfs fs;
        rung_memfs_init(&fs);
        life l = {.config = logkit_config(&fs, 8192), .truncated = 1, .is_killed = is_killed};
        fs.only = only;
        if (is_killed && n % 2) { /* a sync that fails may have written some of the pages */
            fs.keep_failed = keep_some;
            fs.keep_arg = &rng;
        }
        rung_memfs_fail(&fs, n, os_errno, is_sticky);
        rung_status st = live(&l, &fs);
        bool has_failed = fs.has_failed;
        CHECK_MSG(st >= 0 || has_failed, "call %llu: failed by itself: %s", (unsigned long long)n,
                  rung_status_name(st));
        if (os_errno == EINTR)
            CHECK_MSG(st >= 0, "call %llu: an interrupted call is no failure",
                      (unsigned long long)n);
        rung_memfs_fail(&fs, 0, 0, false);
        check_worlds(&l, &fs, &rng);
        rung_memfs_deinit(&fs);
        if (!has_failed)
            break;
        CHECK(n < 5000);
    }
}

static void sweep(int os_errno, bool is_sticky, int only) {
    sweep_lives(os_errno, is_sticky, only, false);
}

TEST(any_call_fails_once) {
    sweep(EIO, false, 0);
}
TEST(any_call_fails_for_good) {
    sweep(EIO, true, 0);
}
TEST(no_space_once) {
    sweep(ENOSPC, false, 'w');
}
TEST(no_space_for_good) {
    sweep(ENOSPC, true, 'w');
}
TEST(a_quota_ends_for_good) {
    sweep(EDQUOT, true, 'w');
}
TEST(a_sync_fails_once) {
    sweep(EIO, false, 's');
}
TEST(a_sync_fails_for_good) {
    sweep(EIO, true, 's');
}
/* A seal that failed is in the page cache for the next life: the disk must get it before the power goes. */
TEST(a_sync_fails_once_after_a_kill) {
    sweep_lives(EIO, false, 's', true);
}
TEST(a_sync_fails_for_good_after_a_kill) {
    sweep_lives(EIO, true, 's', true);
}
TEST(a_call_is_interrupted) {
    sweep(EINTR, false, 0);
}

TEST(short_transfers_of_every_small_size) {
    rung_rng rng;
    rung_rng_seed(&rng, 1);
    static const size_t sizes[] = {1, 7, 8, 31, 100, 511, 512, 513, 4000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        rung_memfs fs;
        rung_memfs_init(&fs);
        life l = {.config = logkit_config(&fs, 8192), .truncated = 1};
        fs.transfer_max = sizes[i];
        CHECK_OK(live(&l, &fs));
        check_worlds(&l, &fs, &rng);
        rung_memfs_deinit(&fs);
    }
}

/* The first failed sync is the end: no acknowledgement after it although all later calls would succeed. */
TEST(nothing_is_acknowledged_after_a_failed_sync) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_segment_log *log;
    rung_err err;
    uint64_t seq, durable;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_OK(logkit_append(log, 1, 2, &err));
    rung_log *port = rung_segment_log_port(log);
    rung_log_entry entry = {.payload = logkit_payload(3), .type = logkit_type(3)};
    CHECK_OK(rung_segment_log_append(log, &entry, 1, &seq, &err));
    rung_memfs_fail(&fs, 1, EIO, false);
    CHECK_STATUS(rung_segment_log_sync(log, &durable, &err), RUNG_EIO);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(rung_segment_log_sync(log, &durable, &err), RUNG_EIO);
        CHECK_STATUS(rung_segment_log_append(log, &entry, 1, &seq, &err), RUNG_EIO);
        CHECK_STATUS(rung_segment_log_maintain(log, true, &err), RUNG_EIO);
    }
    CHECK_EQ_U64(rung_log_durable_seq(port), 2);
    CHECK_STATUS(rung_segment_log_close(log, &err), RUNG_EIO);
    rung_memfs_deinit(&fs);
}

TEST(any_allocation_fails) {
    rung_rng rng;
    rung_rng_seed(&rng, 2);
    for (int is_sticky = 0; is_sticky < 2; is_sticky++)
        for (uint64_t n = 1;; n++) {
            rung_memfs fs;
            rung_failalloc fa;
            rung_memfs_init(&fs);
            rung_failalloc_init(&fa);
            rung_failalloc_fail_at(&fa, n, is_sticky);
            life l = {.config = logkit_config(&fs, 8192), .truncated = 1};
            l.config.alloc = rung_failalloc_port(&fa);
            rung_status st = live(&l, &fs);
            CHECK(st >= 0 || st == RUNG_ENOMEM);
            l.config.alloc = rung_alloc_heap();
            check_worlds(&l, &fs, &rng);
            bool is_over = fa.failed_count == 0;
            rung_failalloc_deinit(&fa);
            rung_memfs_deinit(&fs);
            if (is_over)
                break;
        }
}

RUNG_TEST_MAIN
