/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a folder at a moment, built beside the store that writes it. */
#include "service/past.h"

#include "journal/segment_log.h"
#include "journal/snapshot_file.h"
#include "support/check.h"
#include "support/memfs.h"
#include "support/storekit.h"

#include <string.h>

#define FOLDER "data"

typedef struct world {
    rung_memfs fs;
    rung_store_config config;
    storekit k;
    rung_err err;
    rung_digest digests[4096]; /* after each sequence */
    int64_t times[4096];
    uint64_t steps; /* of progress */
    bool gives_up;
} world;

static void note(world *w) {
    uint64_t seq = rung_state_seq(w->k.state);
    CHECK(seq < 4096);
    w->digests[seq] = rung_state_digest(w->k.state);
    w->times[seq] = rung_state_time(w->k.state);
}

static void grow_to(world *w, uint64_t seq) {
    while (rung_state_seq(w->k.state) < seq) {
        CHECK_OK(storekit_next(&w->k, &w->err));
        note(w);
    }
}

static void world_init(world *w) {
    memset(w, 0, sizeof *w);
    rung_memfs_init(&w->fs);
    w->config = (rung_store_config){.fs = &w->fs.port,
                                    .alloc = rung_alloc_heap(),
                                    .path = FOLDER,
                                    .segment_size = 8192,
                                    .state = {.alloc = rung_alloc_heap()}};
    CHECK_OK(storekit_open(&w->k, &w->config, &w->err));
}

static void world_end(world *w) {
    CHECK_OK(storekit_close(&w->k, &w->err));
    rung_memfs_deinit(&w->fs);
}

static void save(world *w) {
    CHECK_OK(rung_store_save(w->k.store, w->k.state, &w->err));
}

static bool step(void *ctx, const char *what, uint64_t done, uint64_t total) {
    world *w = ctx;
    CHECK(done <= total && what);
    w->steps++;
    return !w->gives_up;
}

static rung_past_config config_of(world *w, rung_moment moment) {
    return (rung_past_config){
        .log = {.fs = &w->fs.port, .alloc = rung_alloc_heap(), .path = FOLDER},
        .moment = moment,
        .progress = step,
        .ctx = w};
}

static void check_at(const world *w, const rung_past *p, uint64_t seq) {
    rung_digest d = rung_state_digest(rung_past_state(p));
    CHECK_EQ_U64(rung_state_seq(rung_past_state(p)), seq);
    CHECK_EQ_U64(d.a, w->digests[seq].a);
    CHECK_EQ_U64(d.b, w->digests[seq].b);
}

static rung_status open_at(world *w, rung_moment moment, rung_past **out, rung_past_span *span) {
    rung_past_config config = config_of(w, moment);
    return rung_past_open(&config, out, span, &w->err);
}

/* A tick before an event has a sequence that nobody noted. */
static bool is_noted(const world *w, uint64_t seq) {
    return w->times[seq] != 0;
}

TEST(moments_are_read) {
    rung_moment m;
    rung_err err;
    CHECK_OK(rung_moment_parse(RUNG_SLICE("18446744073709551615"), &m, &err));
    CHECK_EQ_U64(m.seq, UINT64_MAX);
    CHECK_OK(rung_moment_parse(RUNG_SLICE("2026-11-15T12:00:00Z"), &m, &err));
    CHECK(m.seq == 0 && m.time_ms == STOREKIT_NOON);
    const char *bad[] = {"", "0", "-1", "18446744073709551616", "12x", "2026-11-15", "yesterday"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK(rung_moment_parse(rung_slice_str(bad[i]), &m, &err) < 0);
        CHECK_EQ_STR(err.field, "as_of");
    }
}

TEST(every_sequence_and_every_time_beside_the_writer) {
    world w;
    rung_past *p;
    rung_past_span span;
    world_init(&w);
    grow_to(&w, 100);
    save(&w);
    grow_to(&w, 200);
    save(&w);
    grow_to(&w, 300);
    for (uint64_t seq = 1; seq <= rung_state_seq(w.k.state); seq += 7) {
        if (!is_noted(&w, seq))
            continue;
        CHECK_OK(open_at(&w, (rung_moment){.seq = seq}, &p, &span));
        check_at(&w, p, seq);
        CHECK_EQ_I64(rung_past_now(p), w.times[seq]);
        CHECK_EQ_U64(span.first_seq, 1);
        rung_past_close(p);
        CHECK_OK(open_at(&w, (rung_moment){.time_ms = w.times[seq]}, &p, NULL));
        check_at(&w, p, seq);
        CHECK_EQ_I64(rung_past_now(p), w.times[seq]);
        rung_past_close(p);
        /* A little later nothing has happened yet, but it is later. */
        CHECK_OK(open_at(&w, (rung_moment){.time_ms = w.times[seq] + 1000}, &p, NULL));
        check_at(&w, p, seq);
        CHECK_EQ_I64(rung_past_now(p), w.times[seq] + 1000);
        rung_past_close(p);
    }
    CHECK(w.steps > 0);
    world_end(&w);
}

TEST(going_on_while_the_writer_does) {
    world w;
    rung_past *p;
    world_init(&w);
    grow_to(&w, 50);
    CHECK_OK(open_at(&w, (rung_moment){.seq = 20}, &p, NULL));
    check_at(&w, p, 20);
    CHECK_OK(rung_past_advance(p, &(rung_moment){.seq = 50}, &w.err));
    check_at(&w, p, 50);
    grow_to(&w, 900); /* several segments more */
    CHECK_OK(rung_past_advance(p, &(rung_moment){.time_ms = w.times[700]}, &w.err));
    check_at(&w, p, 700);
    CHECK_STATUS(rung_past_advance(p, &(rung_moment){.seq = 600}, &w.err), RUNG_EINVAL);
    CHECK_EQ_STR(w.err.field, "as_of");
    rung_past_close(p);
    world_end(&w);
}

TEST(the_future_is_refused) {
    world w;
    rung_past *p;
    world_init(&w);
    grow_to(&w, 50);
    uint64_t last = rung_state_seq(w.k.state);
    CHECK_STATUS(open_at(&w, (rung_moment){.seq = last + 1}, &p, NULL), RUNG_EINVAL);
    CHECK_EQ_STR(w.err.field, "as_of");
    rung_past_config config = config_of(&w, (rung_moment){.time_ms = w.times[last] + 5});
    config.now_ms = w.times[last] + 4;
    CHECK_STATUS(rung_past_open(&config, &p, NULL, &w.err), RUNG_EINVAL);
    CHECK_EQ_STR(w.err.field, "as_of");
    config.now_ms++;
    CHECK_OK(rung_past_open(&config, &p, NULL, &w.err));
    check_at(&w, p, last);
    rung_past_close(p);
    world_end(&w);
}

TEST(before_the_kept_log) {
    world w;
    rung_past *p;
    rung_past_span span = {0}, seen;
    world_init(&w);
    grow_to(&w, 300);
    save(&w);
    uint64_t older = rung_state_seq(w.k.state);
    grow_to(&w, 600);
    save(&w);
    CHECK(rung_log_truncate_before(rung_store_log(w.k.store), older + 1, &w.err) >= 0);
    grow_to(&w, 700);
    CHECK(rung_log_first_seq(rung_store_log(w.k.store)) > 1);
    CHECK_STATUS(open_at(&w, (rung_moment){.seq = older - 1}, &p, &span), RUNG_EABSENT);
    CHECK(w.err.reason == RUNG_REASON_TOO_OLD);
    CHECK_EQ_STR(w.err.field, "as_of");
    CHECK_EQ_U64(span.first_seq, older);
    CHECK_EQ_I64(span.first_ms, w.times[older]);
    rung_past_log_config log = {.fs = &w.fs.port, .alloc = rung_alloc_heap(), .path = FOLDER};
    CHECK_OK(rung_past_look(&log, &seen, &w.err));
    CHECK(seen.first_seq == span.first_seq && seen.first_ms == span.first_ms);
    CHECK_STATUS(open_at(&w, (rung_moment){.time_ms = w.times[older] - 1}, &p, &span),
                 RUNG_EABSENT);
    CHECK(w.err.reason == RUNG_REASON_TOO_OLD);
    CHECK_OK(open_at(&w, (rung_moment){.seq = older}, &p, NULL));
    check_at(&w, p, older);
    rung_past_close(p);
    world_end(&w);
}

TEST(the_writer_removes_what_is_being_read) {
    world w;
    rung_past *p;
    world_init(&w);
    grow_to(&w, 100);
    CHECK_OK(open_at(&w, (rung_moment){.seq = 50}, &p, NULL));
    grow_to(&w, 1500);
    save(&w);
    grow_to(&w, 2500);
    save(&w);
    CHECK(rung_log_truncate_before(rung_store_log(w.k.store), 1501, &w.err) >= 0);
    rung_status st = rung_past_advance(p, &(rung_moment){.seq = 2000}, &w.err);
    CHECK(st < 0 && st != RUNG_EINVAL);
    rung_past_close(p);
    CHECK_OK(open_at(&w, (rung_moment){.seq = 2000}, &p, NULL));
    check_at(&w, p, 2000);
    rung_past_close(p);
    world_end(&w);
}

TEST(packed_segments_are_read) {
    world w;
    rung_past *p;
    world_init(&w);
    grow_to(&w, 1500);
    rung_segment_log *log = (rung_segment_log *)rung_store_log(w.k.store);
    CHECK_OK(open_at(&w, (rung_moment){.seq = 60}, &p, NULL));
    rung_status st;
    while ((st = rung_segment_log_pack(log, false, &w.err)) != RUNG_NOT_FOUND)
        CHECK(st >= 0);
    CHECK_OK(rung_past_advance(p, &(rung_moment){.seq = 1400}, &w.err));
    check_at(&w, p, 1400);
    rung_past_close(p);
    CHECK_OK(open_at(&w, (rung_moment){.time_ms = w.times[777]}, &p, NULL));
    check_at(&w, p, 777);
    rung_past_close(p);
    world_end(&w);
}

TEST(bounded_memory_and_giving_up) {
    world w;
    rung_past *p;
    world_init(&w);
    grow_to(&w, 300);
    rung_past_config config = config_of(&w, (rung_moment){.seq = 200});
    config.memory_max = 4096;
    CHECK_STATUS(rung_past_open(&config, &p, NULL, &w.err), RUNG_ENOMEM);
    config.memory_max = (uint64_t)1 << 30;
    CHECK_OK(rung_past_open(&config, &p, NULL, &w.err));
    CHECK(rung_past_memory(p) > 4096);
    rung_past_close(p);
    w.gives_up = true;
    CHECK_STATUS(rung_past_open(&config, &p, NULL, &w.err), RUNG_ECLOSED);
    world_end(&w);
}

TEST(no_folder_and_no_log) {
    world w;
    rung_past *p;
    world_init(&w);
    rung_past_config config = config_of(&w, (rung_moment){.seq = 1});
    config.log.path = "nowhere";
    CHECK(rung_past_open(&config, &p, NULL, &w.err) < 0);
    world_end(&w);
}

/* A damaged snapshot is passed over: the log reaches further back. */
TEST(a_damaged_snapshot) {
    world w;
    rung_past *p;
    char name[RUNG_FILE_NAME_MAX];
    world_init(&w);
    grow_to(&w, 100);
    save(&w);
    uint64_t saved = rung_state_seq(w.k.state);
    grow_to(&w, 200);
    rung_snapshot_name(name, saved);
    memfs_bytes *b = rung_memfs_bytes(&w.fs, FOLDER, name);
    CHECK(b);
    b->bytes[b->size / 2] ^= 1;
    CHECK_OK(open_at(&w, (rung_moment){.seq = 150}, &p, NULL));
    check_at(&w, p, 150);
    rung_past_close(p);
    world_end(&w);
}

RUNG_TEST_MAIN
