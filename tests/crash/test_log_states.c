/* SPDX-License-Identifier: Apache-2.0 */
/* Every world a crash can leave. Before each call that changes the disk, and after the last, the pending atoms
 * (unsynced sectors, sizes, names) are kept or lost in every combination up to 8 of them, in many random ones
 * beyond. In each world the log must open, hold an exact prefix of what was submitted with all that was
 * acknowledged, and go on working. A crash state is never damage, so a refusal is a failure here. */
/* ctest: timeout=180 labels=slow */
#include "support/check.h"
#include "support/logkit.h"
#include "support/rng.h"

#include <string.h>

enum { EXHAUSTIVE = 8 };

typedef struct watch {
    rung_segment_log_config config;
    uint64_t submitted, acked; /* highest sequences */
    uint64_t truncated;        /* records from here on must be there */
    uint64_t states;
    unsigned random_states; /* how many beyond the exhaustive ones */
    unsigned depth;         /* crashes inside the recovery of a crash */
    unsigned one_in;        /* look deeper at one state in so many */
    rung_rng rng;
} watch;

typedef struct choice {
    const uint64_t *bits;
} choice;

static bool is_kept(void *arg, size_t atom) {
    const choice *c = arg;
    return c->bits[atom / 64] >> (atom % 64) & 1;
}

static void enumerate(void *arg, rung_memfs *fs, const char *call);

/* Open, compare, start, append, and do it once more after a kill. */
static void check_world(watch *w, rung_memfs *world, unsigned depth) {
    rung_segment_log_config config = w->config;
    config.fs = &world->port;
    rung_segment_log *log;
    rung_err err = {0};
    uint64_t first, last;
    rung_status st = rung_segment_log_open(&config, &log, &err);
    CHECK_MSG(st == RUNG_OK, "acked %llu: %s: %s", (unsigned long long)w->acked,
              rung_status_name(st), err.message);
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_MSG(last >= w->acked, "acknowledged %llu, recovered %llu", (unsigned long long)w->acked,
              (unsigned long long)last);
    CHECK(last <= w->submitted);
    CHECK(first <= w->truncated);

    watch inner = *w;
    inner.acked =
        w->acked; /* what was only seen may still be lost until the start re-persisted it */
    inner.submitted = w->submitted > last ? w->submitted : last;
    inner.depth = depth - 1;
    if (depth > 0) {
        world->before = enumerate;
        world->before_arg = &inner;
    }
    st = rung_segment_log_start(log, &err);
    CHECK_MSG(st == RUNG_OK, "start: %s", err.message);
    /* From here on what was seen has been served. */
    inner.acked = inner.submitted = last;
    inner.submitted++;
    CHECK_OK(logkit_append(log, last + 1, 1, &err));
    inner.acked = last + 1;
    world->before = NULL;
    w->states += depth > 0 ? inner.states - w->states : 0;
    w->rng = inner.rng;
    logkit_abandon(world, log);

    CHECK_OK(rung_segment_log_open(&config, &log, &err));
    uint64_t again;
    CHECK_OK(logkit_read(log, &first, &again, &err));
    CHECK_EQ_U64(again, last + 1);
    logkit_abandon(world, log);
}

static void try_state(watch *w, rung_memfs *fs, const uint64_t *bits) {
    choice c = {bits};
    rung_memfs world;
    rung_memfs_crash(&world, fs, is_kept, &c);
    w->states++;
    unsigned depth = w->depth > 0 && rung_rng_below(&w->rng, w->one_in) == 0 ? w->depth : 0;
    check_world(w, &world, depth);
    rung_memfs_deinit(&world);
}

static void try_random(watch *w, rung_memfs *fs) {
    uint64_t bits[8];
    size_t words = sizeof bits / sizeof bits[0];
    CHECK(fs->atom_count <= 64 * words);
    memset(bits, 0, sizeof bits);
    try_state(w, fs, bits);
    memset(bits, 0xff, sizeof bits);
    try_state(w, fs, bits);
    for (unsigned i = 0; i < w->random_states; i++) {
        unsigned kind = (unsigned)rung_rng_below(&w->rng, 4);
        for (size_t k = 0; k < words; k++) {
            uint64_t a = rung_rng_next(&w->rng), b = rung_rng_next(&w->rng),
                     d = rung_rng_next(&w->rng);
            bits[k] = kind == 0 ? a : kind == 1 ? a & b & d : kind == 2 ? a | b | d : UINT64_MAX;
        }
        if (kind == 3) /* all but one */
            bits[0] &= ~((uint64_t)1 << rung_rng_below(&w->rng, 64));
        try_state(w, fs, bits);
    }
}

static void enumerate(void *arg, rung_memfs *fs, const char *call) {
    (void)call;
    watch *w = arg;
    if (w->depth == 0 && w->random_states == 0 && fs->atom_count > EXHAUSTIVE)
        return;
    if (fs->atom_count > EXHAUSTIVE) {
        try_random(w, fs);
        return;
    }
    for (uint64_t bits = 0; bits < (uint64_t)1 << fs->atom_count; bits++)
        try_state(w, fs, &bits);
}

static watch begin(rung_memfs *fs, uint64_t seed) {
    rung_memfs_init(fs);
    watch w = {.config = logkit_config(fs, 0), .truncated = 1, .random_states = 10, .one_in = 1};
    w.config.mark_every = 3;
    rung_rng_seed(&w.rng, test_seed(seed));
    return w;
}

static void submit(watch *w, rung_segment_log *log, size_t count) {
    rung_err err;
    uint64_t seq = w->submitted + 1;
    w->submitted += count;
    rung_status st = logkit_append(log, seq, count, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
    w->acked = w->submitted;
    CHECK(rung_segment_log_maintain(log, count % 4 == 0, &err) >= 0);
}

/* Birth, batches of all shapes, rotation, removal, clean end, restart, kill, restart. */
static void live(watch *w, rung_memfs *fs, const size_t *batches, size_t batch_count) {
    rung_err err;
    rung_segment_log *log;
    fs->before = enumerate;
    fs->before_arg = w;
    for (int run = 0; run < 3; run++) {
        CHECK_OK(logkit_open(&w->config, true, &log, &err));
        for (size_t i = 0; i < batch_count; i++)
            submit(w, log, batches[i]);
        if (run == 1) {
            w->truncated = w->acked / 2;
            CHECK(rung_segment_log_truncate_before(log, w->truncated, &err) >= 0);
        }
        if (run == 0)
            CHECK_OK(rung_segment_log_close(log, &err));
        else
            logkit_abandon(fs, log);
        enumerate(w, fs, "between");
    }
    fs->before = NULL;
}

TEST(every_state_of_a_small_life) {
    static const size_t batches[] = {1, 2, 3, 9, 12, 1, 14, 5, 11, 10, 1};
    rung_memfs fs;
    watch w = begin(&fs, 1);
    live(&w, &fs, batches, sizeof batches / sizeof batches[0]);
    CHECK(w.states > 5000);
    rung_memfs_deinit(&fs);
}

TEST(every_state_of_recovery_itself) {
    static const size_t batches[] = {1, 8, 4, 9, 1};
    rung_memfs fs;
    watch w = begin(&fs, 2);
    w.depth = 1;
    w.one_in = 70;
    w.random_states = 4;
    live(&w, &fs, batches, sizeof batches / sizeof batches[0]);
    CHECK(w.states > 5000);
    rung_memfs_deinit(&fs);
}

TEST(random_lives) {
    uint64_t lives = test_steps(1);
    for (uint64_t i = 0; i < lives; i++) {
        rung_memfs fs;
        watch w = begin(&fs, 100 + i);
        size_t batches[10];
        for (size_t k = 0; k < 10; k++)
            batches[k] = 1 + (size_t)rung_rng_below(&w.rng, 13);
        w.random_states = 8;
        w.depth = 2;
        w.one_in = 1500;
        w.config.mark_every = 1 + (uint32_t)rung_rng_below(&w.rng, 6);
        w.config.segment_size = 8192 + 512 * rung_rng_below(&w.rng, 9);
        live(&w, &fs, batches, 10);
        rung_memfs_deinit(&fs);
    }
}

/* "Sync every": appends are acknowledged by the caller at its own risk; only synced ones count here. */
TEST(every_state_of_a_relaxed_life) {
    rung_memfs fs;
    watch w = begin(&fs, 3);
    w.config.is_relaxed = true;
    rung_segment_log *log;
    rung_err err;
    fs.before = enumerate;
    fs.before_arg = &w;
    for (int run = 0; run < 2; run++) {
        CHECK_OK(logkit_open(&w.config, true, &log, &err));
        for (int i = 0; i < 30; i++) {
            char bytes[LOGKIT_PAYLOAD_MAX];
            rung_log_entry entry = {.payload = logkit_payload_into(w.submitted + 1, bytes),
                                    .type = logkit_type(w.submitted + 1)};
            uint64_t seq, durable;
            w.submitted++;
            CHECK_OK(rung_segment_log_append(log, &entry, 1, &seq, &err));
            if (i % 4 == 3) {
                CHECK_OK(rung_segment_log_sync(log, &durable, &err));
                w.acked = durable;
                CHECK(rung_segment_log_maintain(log, i % 8 == 7, &err) >= 0);
            }
        }
        logkit_abandon(&fs, log);
        enumerate(&w, &fs, "between");
        /* A kill, not a crash: all that was written is seen, and served once it has been re-persisted. */
        fs.before = NULL;
        rung_memfs world;
        rung_memfs_copy(&world, &fs);
        rung_memfs_deinit(&fs);
        rung_memfs_copy(&fs, &world);
        rung_memfs_deinit(&world);
        w.acked = w.submitted;
        w.config.fs = &fs.port;
        fs.before = enumerate;
        fs.before_arg = &w;
    }
    rung_memfs_deinit(&fs);
}

RUNG_TEST_MAIN
