/* SPDX-License-Identifier: Apache-2.0 */
/* The engine over a log made for the occasion: what is written when, and what happens when the
 * log says no. */
#include "service/engine.h"

#include "support/check.h"

#include <stdio.h>
#include <string.h>

/* A log that remembers what it was told, and fails on demand. */
typedef struct fake_log {
    rung_log port;
    uint64_t appended, durable;
    uint32_t appends, syncs, maintains;
    rung_status next_append, next_sync, next_maintain;
    rung_event_kind kinds[64]; /* of the first records */
    int64_t times_ms[64];
    uint64_t state_seq_at_append;
    const rung_state *state;
} fake_log;

static rung_status fake_append(rung_log *port, const rung_log_entry *entries, size_t count,
                               uint64_t *first_seq_out, rung_err *err) {
    fake_log *f = (fake_log *)port;
    if (f->next_append < 0)
        return RUNG_FAIL(err, f->next_append, "append says no");
    f->appends++;
    f->state_seq_at_append = rung_state_seq(f->state);
    *first_seq_out = f->appended + 1;
    for (size_t i = 0; i < count; i++, f->appended++) {
        rung_event event;
        CHECK_EQ_U64(entries[i].type, RUNG_LOG_TYPE_EVENT);
        CHECK_OK(rung_event_decode(entries[i].payload, &event, NULL));
        if (f->appended < 64) {
            f->kinds[f->appended] = event.kind;
            f->times_ms[f->appended] = event.ts_ms;
        }
    }
    return RUNG_OK;
}

static rung_status fake_sync(rung_log *port, uint64_t *durable_seq_out, rung_err *err) {
    fake_log *f = (fake_log *)port;
    if (f->next_sync < 0)
        return RUNG_FAIL(err, f->next_sync, "sync says no");
    f->syncs++;
    *durable_seq_out = f->durable = f->appended;
    return RUNG_OK;
}

static rung_status fake_maintain(rung_log *port, bool is_idle, rung_err *err) {
    fake_log *f = (fake_log *)port;
    (void)is_idle;
    f->maintains++;
    return f->next_maintain < 0 ? RUNG_FAIL(err, f->next_maintain, "maintain says no")
                                : f->next_maintain;
}

static rung_status fake_prepare(rung_log *port, rung_err *err) {
    (void)port;
    return RUNG_FAIL(err, RUNG_ENOSPC, "prepare says no");
}

static size_t fake_batch_bytes_max(const rung_log *port) {
    (void)port;
    return RUNG_ENGINE_FRAMED_MAX;
}

static const rung_log_ops fake_ops = {
    .append = fake_append,
    .sync = fake_sync,
    .maintain = fake_maintain,
    .prepare = fake_prepare,
    .batch_bytes_max = fake_batch_bytes_max,
};

#define NOON INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */

typedef struct bench {
    fake_log log;
    rung_state *state;
    rung_engine *engine;
    int64_t now_ms;
    rung_err err;
} bench;

static int64_t bench_now(void *ctx) {
    return ((bench *)ctx)->now_ms;
}

static void bench_init(bench *b, bool has_log, uint32_t sync_every_ms) {
    memset(b, 0, sizeof *b);
    b->log.port.ops = &fake_ops;
    b->now_ms = NOON;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &b->state));
    b->log.state = b->state;
    rung_engine_config config = {.alloc = rung_alloc_heap(),
                                 .clock = {bench_now, b},
                                 .state = b->state,
                                 .log = has_log ? &b->log.port : NULL,
                                 .sync_every_ms = sync_every_ms};
    CHECK_OK(rung_engine_create(&config, &b->engine, &b->err));
}

static void bench_deinit(bench *b) {
    CHECK_SOUND(rung_state_check(b->state));
    rung_engine_destroy(b->engine);
    rung_state_destroy(b->state);
}

static rung_status define(bench *b, uint32_t windows) {
    rung_event event = {.kind = RUNG_EVENT_BOARD_DEFINED, .defined = {.board = RUNG_SLICE("race")}};
    event.defined.def = rung_board_def_default();
    event.defined.def.windows |= windows;
    return rung_engine_submit(b->engine, &event, NULL, &b->err);
}

static rung_event score_of(const char *player, int64_t score) {
    return (rung_event){.kind = RUNG_EVENT_SCORE,
                        .score = {.board = RUNG_SLICE("race"),
                                  .player = rung_slice_str(player),
                                  .value_count = 1,
                                  .values = {{.i = score}}}};
}

static rung_status submit(bench *b, const char *player, int64_t score, rung_outcome *out) {
    rung_event event = score_of(player, score);
    return rung_engine_submit(b->engine, &event, out, &b->err);
}

TEST(logged_and_synced_before_applied) {
    bench b;
    rung_outcome out;
    bench_init(&b, true, 0);
    CHECK_OK(define(&b, 0));
    CHECK_OK(submit(&b, "ada", 7, &out));
    CHECK_EQ_U64(b.log.state_seq_at_append, 1);
    CHECK_EQ_U64(b.log.durable, 2);
    CHECK_EQ_U64(b.log.syncs, 2);
    CHECK_EQ_U64(b.log.maintains, 2);
    CHECK_EQ_U64(out.seq, 2);
    CHECK_EQ_U64(out.rank, 1);
    bench_deinit(&b);
}

TEST(what_is_malformed_never_reaches_the_log) {
    bench b;
    bench_init(&b, true, 0);
    CHECK_OK(define(&b, 0));
    rung_digest before = rung_state_digest(b.state);
    CHECK_STATUS(submit(&b, "", 7, NULL), RUNG_EINVAL);
    CHECK(strncmp(b.err.message, "player", 6) == 0);
    CHECK_EQ_U64(b.log.appended, 1);
    rung_digest after = rung_state_digest(b.state);
    CHECK_EQ_MEM(&before, &after, sizeof before);
    b.now_ms = INT64_MAX; /* a clock gone mad is malformed too */
    CHECK_STATUS(submit(&b, "ada", 7, NULL), RUNG_EINVAL);
    CHECK_EQ_U64(b.log.appended, 1);
    bench_deinit(&b);
}

/* What the state refuses is in the log, and counts. */
TEST(refusals_are_recorded) {
    bench b;
    bench_init(&b, true, 0);
    CHECK_STATUS(submit(&b, "ada", 7, NULL), RUNG_EABSENT);
    CHECK(b.err.message[0]);
    CHECK_EQ_U64(b.log.appended, 1);
    CHECK_EQ_U64(rung_state_seq(b.state), 1);
    bench_deinit(&b);
}

TEST(a_due_window_closes_by_a_tick_in_the_log) {
    bench b;
    bench_init(&b, true, 0);
    CHECK_OK(define(&b, RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY)));
    CHECK_OK(submit(&b, "ada", 7, NULL));
    b.now_ms = NOON + 13 * 3600000;
    CHECK_OK(submit(&b, "bob", 8, NULL));
    CHECK_EQ_U64(b.log.appended, 4);
    CHECK_EQ_U64(b.log.appends, 3); /* the tick travels with its event */
    CHECK_EQ_U64(b.log.kinds[2], RUNG_EVENT_TICK);
    CHECK_EQ_I64(b.log.times_ms[2], b.now_ms);
    CHECK_EQ_U64(b.log.kinds[3], RUNG_EVENT_SCORE);
    CHECK_STATUS(rung_engine_tick(b.engine, &b.err), RUNG_UNCHANGED);
    b.now_ms += 24 * 3600000;
    CHECK_OK(rung_engine_tick(b.engine, &b.err));
    CHECK_EQ_U64(b.log.appended, 5);
    CHECK_EQ_U64(b.log.kinds[4], RUNG_EVENT_TICK);
    bench_deinit(&b);
}

/* A refused event is no reason to tick. */
TEST(no_tick_without_an_event) {
    bench b;
    bench_init(&b, true, 0);
    CHECK_OK(define(&b, RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY)));
    CHECK_OK(submit(&b, "ada", 7, NULL));
    b.now_ms = NOON + 13 * 3600000;
    CHECK_STATUS(submit(&b, "", 8, NULL), RUNG_EINVAL);
    CHECK_EQ_U64(b.log.appended, 2);
    bench_deinit(&b);
}

TEST(a_full_disk_changes_nothing_and_passes) {
    bench b;
    bench_init(&b, true, 0);
    CHECK_OK(define(&b, 0));
    rung_digest before = rung_state_digest(b.state);
    b.log.next_append = RUNG_ENOSPC;
    CHECK_STATUS(submit(&b, "ada", 7, NULL), RUNG_ENOSPC);
    CHECK_EQ_STR(b.err.message, "append says no");
    rung_digest after = rung_state_digest(b.state);
    CHECK_EQ_MEM(&before, &after, sizeof before);
    b.log.next_append = RUNG_OK;
    CHECK_OK(submit(&b, "ada", 7, NULL));
    bench_deinit(&b);
}

static void check_read_only(bench *b, const char *why) {
    uint64_t appended = b->log.appended, seq = rung_state_seq(b->state);
    b->log.next_append = b->log.next_sync = b->log.next_maintain = RUNG_OK; /* too late */
    CHECK_STATUS(submit(b, "bob", 9, NULL), RUNG_EIO);
    char wanted[100];
    snprintf(wanted, sizeof wanted, "read-only, open again to go on: %s", why);
    CHECK_EQ_STR(b->err.message, wanted);
    CHECK_STATUS(rung_engine_commit(b->engine, NULL, NULL, NULL), RUNG_EIO);
    CHECK_STATUS(rung_engine_tick(b->engine, NULL), RUNG_EIO);
    CHECK_STATUS(rung_engine_sync(b->engine, NULL), RUNG_EIO);
    CHECK_EQ_U64(b->log.appended, appended);
    CHECK_EQ_U64(rung_state_seq(b->state), seq);
    rung_view view;
    CHECK_OK(rung_state_view(b->state, &(rung_query){.board = RUNG_SLICE("race")}, &view, &b->err));
}

TEST(a_failed_append_ends_all_writing) {
    bench b;
    bench_init(&b, true, 0);
    CHECK_OK(define(&b, 0));
    b.log.next_append = RUNG_EIO;
    CHECK_STATUS(submit(&b, "ada", 7, NULL), RUNG_EIO);
    check_read_only(&b, "append says no");
    bench_deinit(&b);
}

TEST(a_failed_sync_is_not_applied_and_ends_all_writing) {
    bench b;
    bench_init(&b, true, 0);
    CHECK_OK(define(&b, 0));
    b.log.next_sync = RUNG_EIO;
    CHECK_STATUS(submit(&b, "ada", 7, NULL), RUNG_EIO);
    CHECK_EQ_U64(rung_state_seq(b.state), 1);
    check_read_only(&b, "sync says no");
    bench_deinit(&b);
}

/* Housekeeping fails after the answer: the event stands, the next one hears of it. */
TEST(a_failed_tend_is_told_to_the_next) {
    bench b;
    bench_init(&b, true, 0);
    CHECK_OK(define(&b, 0));
    b.log.next_maintain = RUNG_EIO;
    CHECK_OK(submit(&b, "ada", 7, NULL));
    check_read_only(&b, "maintain says no");
    bench_deinit(&b);
}

TEST(preparing_may_fail) {
    bench b;
    bench_init(&b, true, 0);
    b.log.next_maintain = RUNG_PARTIAL;
    CHECK_OK(define(&b, 0));
    CHECK_OK(submit(&b, "ada", 7, NULL));
    bench_deinit(&b);
}

TEST(relaxed_answers_before_the_sync) {
    bench b;
    bench_init(&b, true, 3600000);
    CHECK_OK(define(&b, 0));
    CHECK_OK(submit(&b, "ada", 7, NULL));
    CHECK_EQ_U64(b.log.syncs, 0);
    CHECK_STATUS(rung_engine_tick(b.engine, &b.err), RUNG_UNCHANGED);
    CHECK_OK(rung_engine_sync(b.engine, &b.err));
    CHECK_EQ_U64(b.log.durable, 2);
    CHECK_OK(rung_engine_sync(b.engine, &b.err)); /* nothing waits: no second sync */
    CHECK_EQ_U64(b.log.syncs, 1);
    bench_deinit(&b);
}

typedef struct tally {
    uint32_t answered, ok;
    uint64_t last_seq;
} tally;

static void count_answer(void *ctx, uint32_t i, rung_status st, const rung_outcome *outcome,
                         const rung_err *err) {
    tally *t = ctx;
    (void)err;
    CHECK_EQ_U64(i, t->answered++);
    t->ok += st == RUNG_OK;
    t->last_seq = outcome->seq;
}

TEST(a_batch_is_one_append_and_one_sync) {
    bench b;
    bench_init(&b, true, 0);
    CHECK_OK(define(&b, 0));
    char name[16];
    uint32_t n = 0;
    for (; !rung_engine_is_full(b.engine); n++) {
        snprintf(name, sizeof name, "p%u", n);
        rung_event event = score_of(name, n);
        CHECK_OK(rung_engine_put(b.engine, &event, &b.err));
        if (n == 0)
            b.now_ms += 5000; /* one time for the whole batch */
    }
    CHECK_EQ_U64(n, RUNG_ENGINE_BATCH_RECORDS);
    CHECK_EQ_U64(rung_engine_waiting(b.engine), n);
    tally t = {0};
    CHECK_OK(rung_engine_commit(b.engine, count_answer, &t, &b.err));
    CHECK_EQ_U64(t.answered, n);
    CHECK_EQ_U64(t.ok, n);
    CHECK_EQ_U64(t.last_seq, n + 1);
    CHECK_EQ_U64(b.log.appends, 2);
    CHECK_EQ_U64(b.log.syncs, 2);
    CHECK_EQ_I64(b.log.times_ms[60], NOON);
    CHECK_OK(rung_engine_commit(b.engine, count_answer, &t, &b.err)); /* empty: nothing */
    CHECK_EQ_U64(b.log.appends, 2);
    bench_deinit(&b);
}

/* The longest events fit: a batch is full by bytes, and what is full still fits the log. */
TEST(a_batch_of_the_longest_events) {
    bench b;
    bench_init(&b, true, 0);
    static char packed[RUNG_FRIENDS_BYTES_MAX];
    uint32_t count = 0;
    size_t used = 0;
    for (; used + 101 <= sizeof packed; count++) {
        packed[used] = 100;
        snprintf(packed + used + 1, 101, "%0100u", count);
        used += 101;
    }
    uint32_t n = 0;
    for (; !rung_engine_is_full(b.engine); n++) {
        rung_event event = {.kind = RUNG_EVENT_FRIENDS_REPLACED,
                            .friends = {.player = RUNG_SLICE("ada"),
                                        .count = count,
                                        .packed = rung_slice_of(packed, used)}};
        CHECK_OK(rung_engine_put(b.engine, &event, &b.err));
    }
    CHECK(n >= 1 && n <= 3);
    tally t = {0};
    CHECK_OK(rung_engine_commit(b.engine, count_answer, &t, &b.err));
    CHECK_EQ_U64(t.answered, n);
    bench_deinit(&b);
}

TEST(replay_takes_records_in_order_only) {
    bench b, fresh;
    bench_init(&b, false, 0);
    CHECK_OK(define(&b, 0));
    CHECK_OK(submit(&b, "ada", 7, NULL));

    bench_init(&fresh, false, 0);
    rung_event events[2] = {{.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = NOON}, score_of("ada", 7)};
    events[0].defined.board = RUNG_SLICE("race");
    events[0].defined.def = rung_board_def_default();
    events[1].ts_ms = NOON;
    char bytes[2][256];
    rung_log_record records[2];
    for (int i = 0; i < 2; i++) {
        size_t len;
        CHECK_OK(rung_event_encode(&events[i], bytes[i], sizeof bytes[i], &len));
        records[i] = (rung_log_record){
            .seq = (uint64_t)i + 1, .payload = {bytes[i], len}, .type = RUNG_LOG_TYPE_EVENT};
    }
    const rung_alloc *a = rung_alloc_heap();
    CHECK_STATUS(rung_engine_replay(fresh.state, a, records + 1, 1, &fresh.err), RUNG_ECORRUPT);
    CHECK_EQ_STR(fresh.err.message, "record 2 follows state 0");
    records[0].type = 9;
    CHECK_STATUS(rung_engine_replay(fresh.state, a, records, 1, &fresh.err), RUNG_EVERSION);
    records[0].type = RUNG_LOG_TYPE_EVENT;
    records[0].payload.len--;
    CHECK_STATUS(rung_engine_replay(fresh.state, a, records, 1, &fresh.err), RUNG_ECORRUPT);
    CHECK(strncmp(fresh.err.message, "record 1 is not an event: ", 26) == 0);
    records[0].payload.len++;
    CHECK_OK(rung_engine_replay(fresh.state, a, records, 2, &fresh.err));
    rung_digest live = rung_state_digest(b.state), replayed = rung_state_digest(fresh.state);
    CHECK_EQ_MEM(&live, &replayed, sizeof live);
    bench_deinit(&fresh);
    bench_deinit(&b);
}

RUNG_TEST_MAIN
