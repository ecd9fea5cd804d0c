/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=240 */
/* Every call to the disk, and every allocation, fails once, or from then on, in a life with a
 * snapshot in its middle; then the machine crashes. What was acknowledged is there after the
 * restart, in the order it was sent, and the state is the history's. */
#include "support/check.h"
#include "support/failalloc.h"
#include "support/memfs.h"
#include "support/rng.h"
#include "support/storekit.h"

#include <errno.h>

enum { EVENTS = 24, SAVE_AT = 12, SEGMENT_SIZE = 600 << 10 };

static rung_store_config config_of(rung_memfs *fs, const rung_alloc *alloc) {
    return (rung_store_config){.fs = &fs->port,
                               .alloc = alloc,
                               .path = "data",
                               .segment_size = SEGMENT_SIZE,
                               .state = {.alloc = alloc}};
}

/* One life on `fs`; returns the last sequence acknowledged. */
static uint64_t live(rung_memfs *fs, const rung_alloc *alloc, uint64_t acknowledged) {
    rung_store_config config = config_of(fs, alloc);
    storekit k;
    rung_err err;
    uint64_t needed;
    if (storekit_open(&k, &config, &err) < 0)
        return acknowledged;
    CHECK(rung_state_seq(k.state) >= acknowledged);
    for (uint32_t i = 0; i < EVENTS; i++) {
        rung_status st = storekit_next(&k, &err);
        if (st == RUNG_ENOSPC || st == RUNG_ENOMEM)
            continue; /* the next turn tries the same again */
        if (st < 0)
            break;
        acknowledged = rung_state_seq(k.state);
        if (i == SAVE_AT && rung_store_save(k.store, k.state, &err) == RUNG_OK &&
            rung_store_needed_from(k.store, &needed, &err) == RUNG_OK)
            rung_ignore(rung_log_truncate_before(rung_store_log(k.store), needed, &err),
                        "what stays does no harm");
    }
    fs->is_frozen = fs->has_failed; /* after a fault the process is killed, not closed */
    rung_ignore(storekit_close(&k, &err), "it may fail");
    fs->is_frozen = false;
    return acknowledged;
}

static bool keep_some(void *arg, size_t atom) {
    (void)atom;
    return rung_rng_below(arg, 2);
}

static void check_restart(const rung_memfs *fs, uint64_t acknowledged, rung_rng *r) {
    rung_memfs after;
    storekit k;
    rung_err err;
    rung_memfs_crash(&after, fs, keep_some, r);
    rung_store_config config = config_of(&after, rung_alloc_heap());
    rung_status st = storekit_open(&k, &config, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
    CHECK(rung_state_seq(k.state) >= acknowledged);
    CHECK(rung_state_seq(k.state) <=
          acknowledged + 2); /* a tick and an event may be there unacknowledged */
    storekit_check(&k);
    CHECK_OK(storekit_next(&k, &err));
    CHECK_OK(storekit_close(&k, &err));
    rung_memfs_deinit(&after);
}

static void sweep(int os_errno, bool is_sticky) {
    rung_rng r;
    rung_memfs first; /* a first life, so that the second one has something to lose */
    rung_rng_seed(&r, test_seed(3));
    rung_memfs_init(&first);
    uint64_t before = live(&first, rung_alloc_heap(), 0);
    CHECK(before >= EVENTS);
    for (uint64_t n = 1;; n++) {
        rung_memfs fs;
        rung_memfs_copy(&fs, &first);
        rung_memfs_fail(&fs, n, os_errno, is_sticky);
        uint64_t acknowledged = live(&fs, rung_alloc_heap(), before);
        bool has_failed = fs.has_failed;
        rung_memfs_fail(&fs, 0, 0, false);
        check_restart(&fs, acknowledged, &r);
        rung_memfs_deinit(&fs);
        if (!has_failed)
            break;
    }
    rung_memfs_deinit(&first);
}

TEST(io_error_once) {
    sweep(EIO, false);
}

TEST(io_error_from_then_on) {
    sweep(EIO, true);
}

TEST(no_space_once) {
    sweep(ENOSPC, false);
}

TEST(no_space_from_then_on) {
    sweep(ENOSPC, true);
}

TEST(out_of_memory) {
    rung_rng r;
    rung_memfs first;
    rung_rng_seed(&r, test_seed(3));
    rung_memfs_init(&first);
    uint64_t before = live(&first, rung_alloc_heap(), 0);
    for (uint64_t n = 1;; n++) {
        rung_memfs fs;
        rung_failalloc fa;
        rung_memfs_copy(&fs, &first);
        rung_failalloc_init(&fa);
        rung_failalloc_fail_at(&fa, n, false);
        uint64_t acknowledged = live(&fs, rung_failalloc_port(&fa), before);
        bool has_failed = fa.failed_count > 0;
        rung_failalloc_deinit(&fa); /* nothing may be left */
        check_restart(&fs, acknowledged, &r);
        rung_memfs_deinit(&fs);
        if (!has_failed)
            break;
    }
    rung_memfs_deinit(&first);
}

RUNG_TEST_MAIN
