/* SPDX-License-Identifier: Apache-2.0 */
/* The commit line over a log made for the occasion: what is proposed when, and what becomes of a change that the log
 * commits, rejects or does not know about; and of the records of other nodes. */
#include "service/commit.h"

#include "base/bytes.h"
#include "model/match.h"
#include "service/applier.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

enum { ENTRIES_MAX = 512 };

/* Delivers what the test tells it to, in the order of proposal. */
typedef struct fake_log {
    rung_log port;
    rung_log_entry entries[ENTRIES_MAX];
    uint32_t count, delivered;
    uint32_t proposals;       /* calls */
    rung_log_outcome outcome; /* of the next deliveries */
    rung_err why;
    uint32_t committable; /* entries that may be delivered; the others wait */
    uint64_t next_seq;
    rung_log_entry foreign;
    bool has_foreign;  /* delivered next */
    rung_status state; /* when there is nothing to deliver */
    rung_status next_propose;
} fake_log;

static rung_status fake_propose(rung_log *port, const rung_log_entry *entries, size_t count,
                                rung_err *err) {
    fake_log *f = (fake_log *)port;
    if (f->next_propose < 0)
        return RUNG_FAIL(err, f->next_propose, "propose says no");
    f->proposals++;
    CHECK(f->count + count <= ENTRIES_MAX);
    memcpy(f->entries + f->count, entries, count * sizeof *entries);
    f->count += (uint32_t)count;
    return RUNG_OK;
}

static rung_status fake_deliver(rung_log *port, size_t max, rung_log_delivery *out, rung_err *err) {
    fake_log *f = (fake_log *)port;
    uint32_t limit = f->committable < f->count ? f->committable : f->count;
    *out = (rung_log_delivery){.outcome = f->outcome, .first_seq = f->next_seq, .why = f->why};
    if (f->has_foreign) {
        f->has_foreign = false;
        out->outcome = RUNG_LOG_COMMITTED;
        out->entries = &f->foreign;
        out->count = 1;
        f->next_seq++;
        return RUNG_OK;
    }
    if (f->delivered >= limit)
        return f->state < 0 ? RUNG_FAIL(err, f->state, "the log says no") : RUNG_NOT_FOUND;
    out->entries = &f->entries[f->delivered];
    out->count = limit - f->delivered < max ? limit - f->delivered : max;
    f->delivered += (uint32_t)out->count;
    f->next_seq += f->outcome == RUNG_LOG_COMMITTED ? out->count : 0;
    return RUNG_OK;
}

static const rung_log_ops fake_ops = {.propose = fake_propose, .deliver = fake_deliver};

#define NOON INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */

typedef struct bench {
    fake_log log;
    rung_state *state;
    rung_log_time time;
    rung_commit *commit;
    int64_t now_ms;
    uint32_t said, fatal;
    rung_err err;
} bench;

static int64_t bench_now(void *ctx) {
    return ((bench *)ctx)->now_ms;
}

static void on_say(void *ctx, const char *line) {
    ((bench *)ctx)->said += line[0] != '\0';
}

static void on_fatal(void *ctx, const rung_err *err) {
    ((bench *)ctx)->fatal += err->message[0] != '\0';
}

static void bench_init(bench *b) {
    memset(b, 0, sizeof *b);
    b->log.port.ops = &fake_ops;
    b->log.next_seq = 1;
    b->log.committable = UINT32_MAX;
    b->now_ms = NOON;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &b->state));
    rung_clock clock = {.now_ms = bench_now, .ctx = b};
    rung_log_time_init(&b->time, &clock, 0, NULL, NULL, NULL);
    rung_commit_config config = {.alloc = rung_alloc_heap(),
                                 .state = b->state,
                                 .log = &b->log.port,
                                 .is_kept = true,
                                 .time = &b->time,
                                 .waiting_max = 100,
                                 .bytes_max = (size_t)1 << 20,
                                 .fatal = on_fatal,
                                 .say = on_say,
                                 .ctx = b};
    CHECK_OK(rung_commit_create(&config, &b->commit, &b->err));
}

static void bench_deinit(bench *b) {
    CHECK_SOUND(rung_state_check(b->state));
    rung_commit_destroy(b->commit);
    rung_state_destroy(b->state);
}

typedef struct answer {
    uint32_t calls;
    rung_status st;
    bool was_applied;
    uint64_t seq;
    rung_err err;
} answer;

static void on_answer(void *ctx, rung_status st, const rung_outcome *outcome, const rung_err *err) {
    answer *a = ctx;
    a->calls++;
    a->st = st;
    a->was_applied = outcome != NULL;
    a->seq = outcome ? outcome->seq : 0;
    if (st < 0)
        a->err = *err;
}

static rung_status put(bench *b, rung_event *event, answer *a) {
    *a = (answer){0};
    return rung_commit_put(b->commit, (rung_hub_sender){0}, event, NULL, on_answer, a, &b->err);
}

static rung_event score_of(const char *player, int64_t score) {
    return (rung_event){.kind = RUNG_EVENT_SCORE,
                        .score = {.board = RUNG_SLICE("race"),
                                  .player = rung_slice_str(player),
                                  .value_count = 1,
                                  .values = {{.i = score}}}};
}

static rung_status put_score(bench *b, const char *player, int64_t score, answer *a) {
    rung_event event = score_of(player, score);
    return put(b, &event, a);
}

static rung_event board_event(uint32_t windows) {
    rung_event event = {.kind = RUNG_EVENT_BOARD_DEFINED, .defined = {.board = RUNG_SLICE("race")}};
    event.defined.def = rung_board_def_default();
    event.defined.def.windows |= windows;
    return event;
}

static bool work(bench *b) {
    rung_commit_propose(b->commit);
    return rung_commit_work(b->commit, true, UINT32_MAX);
}

static void define(bench *b, uint32_t windows) {
    rung_event event = board_event(windows);
    answer a;
    CHECK_OK(put(b, &event, &a));
    work(b);
    CHECK_STATUS(a.st, RUNG_OK);
}

static rung_event_kind kind_at(const bench *b, uint32_t i) {
    rung_event event;
    CHECK_OK(rung_event_decode(b->log.entries[i].payload, &event, NULL));
    return event.kind;
}

/* C1. */
TEST(applied_when_the_log_delivers_it) {
    bench b;
    answer a;
    bench_init(&b);
    define(&b, 0);
    b.log.committable = 1;
    CHECK_OK(put_score(&b, "ada", 7, &a));
    work(&b);
    CHECK_EQ_U64(b.log.count, 2);
    CHECK_EQ_U64(rung_state_seq(b.state), 1);
    CHECK_EQ_U64(a.calls, 0);
    b.log.committable = 2;
    work(&b);
    CHECK_EQ_U64(rung_state_seq(b.state), 2);
    CHECK_EQ_U64(a.calls, 1);
    CHECK_EQ_U64(a.seq, 2);
    bench_deinit(&b);
}

TEST(what_is_malformed_never_reaches_the_log) {
    bench b;
    answer a;
    bench_init(&b);
    define(&b, 0);
    CHECK_STATUS(put_score(&b, "", 7, &a), RUNG_EINVAL);
    CHECK_EQ_STR(b.err.field, "player");
    b.now_ms = INT64_MAX; /* a clock gone mad is malformed too */
    work(&b);
    CHECK_STATUS(put_score(&b, "ada", 7, &a), RUNG_EINVAL);
    work(&b);
    CHECK_EQ_U64(b.log.count, 1);
    bench_deinit(&b);
}

/* What the state refuses is in the log, and counts. */
TEST(refusals_are_recorded) {
    bench b;
    answer a;
    bench_init(&b);
    CHECK_OK(put_score(&b, "ada", 7, &a));
    work(&b);
    CHECK_STATUS(a.st, RUNG_EABSENT);
    CHECK(a.was_applied && a.err.message[0]);
    CHECK_EQ_U64(rung_state_seq(b.state), 1);
    bench_deinit(&b);
}

/* C7. */
TEST(a_due_window_closes_by_a_tick_in_the_log) {
    bench b;
    answer a;
    bench_init(&b);
    define(&b, RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY));
    CHECK_OK(put_score(&b, "ada", 7, &a));
    work(&b);
    b.now_ms = NOON + 13 * 3600000;
    CHECK_STATUS(put_score(&b, "", 8, &a), RUNG_EINVAL); /* a refused event is no reason to tick */
    work(&b);
    CHECK_EQ_U64(b.log.count, 2);
    CHECK_OK(put_score(&b, "bob", 8, &a));
    uint32_t proposals = b.log.proposals;
    work(&b);
    CHECK_EQ_U64(b.log.proposals, proposals + 1); /* the tick travels with its event */
    CHECK_EQ_U64(kind_at(&b, 2), RUNG_EVENT_TICK);
    CHECK_EQ_U64(kind_at(&b, 3), RUNG_EVENT_SCORE);
    CHECK_EQ_U64(a.seq, 4);
    rung_commit_put_tick(b.commit); /* none is due */
    CHECK(rung_commit_is_idle(b.commit));
    b.now_ms += 24 * 3600000;
    work(&b);
    rung_commit_put_tick(b.commit);
    work(&b);
    CHECK_EQ_U64(kind_at(&b, 4), RUNG_EVENT_TICK);
    bench_deinit(&b);
}

static void count_read(void *ctx) {
    ++*(uint32_t *)ctx;
}

/* C3, C4: a rejected change is answered in its place, and nothing has changed. */
TEST(what_the_log_rejects_did_not_happen) {
    bench b;
    answer a, c;
    uint32_t reads = 0;
    bench_init(&b);
    define(&b, 0);
    rung_digest before = rung_state_digest(b.state);
    b.log.outcome = RUNG_LOG_REJECTED;
    RUNG_FAIL(&b.log.why, RUNG_ENOSPC, "no space");
    CHECK_OK(put_score(&b, "ada", 7, &a));
    CHECK_OK(rung_commit_place(b.commit, (rung_hub_sender){0}, count_read, &reads, NULL));
    CHECK_OK(put_score(&b, "bob", 7, &c));
    b.log.state = RUNG_ENOSPC;
    work(&b);
    CHECK_EQ_U64(reads, 1);
    CHECK(a.calls == 1 && a.st == RUNG_ENOSPC && !a.was_applied);
    CHECK(c.calls == 1 && c.st == RUNG_ENOSPC && !c.was_applied);
    rung_digest after = rung_state_digest(b.state);
    CHECK_EQ_MEM(&before, &after, sizeof before);
    CHECK_STATUS(rung_commit_stat(b.commit).status, RUNG_ENOSPC);
    CHECK_STATUS(put_score(&b, "ada", 7, &a), RUNG_ENOSPC);
    b.log.state = RUNG_OK;
    b.log.outcome = RUNG_LOG_COMMITTED;
    work(&b);
    CHECK_EQ_U64(b.said, 2); /* full, and not any more */
    CHECK_OK(put_score(&b, "ada", 7, &a));
    work(&b);
    CHECK_OK(a.st);
    bench_deinit(&b);
}

/* What the log does not take is refused when it says why. */
TEST(what_the_log_does_not_take_is_refused) {
    bench b;
    answer a;
    bench_init(&b);
    define(&b, 0);
    b.log.next_propose = b.log.state = RUNG_ENOSPC;
    CHECK_OK(put_score(&b, "ada", 7, &a));
    work(&b);
    CHECK(a.calls == 1 && a.st == RUNG_ENOSPC && !a.was_applied);
    bench_deinit(&b);
}

static void check_read_only(bench *b) {
    answer a;
    uint64_t seq = rung_state_seq(b->state);
    b->log.outcome = RUNG_LOG_COMMITTED; /* too late */
    b->log.state = RUNG_OK;
    CHECK_STATUS(put_score(b, "bob", 9, &a), RUNG_EIO);
    CHECK(strncmp(b->err.message, "read-only until reopened: ", 26) == 0);
    work(b);
    CHECK_EQ_U64(rung_state_seq(b->state), seq);
    rung_view view;
    CHECK_OK(rung_state_view(b->state, &(rung_query){.board = RUNG_SLICE("race")}, &view, NULL));
}

/* C5. */
TEST(after_a_failure_nothing_is_applied) {
    bench b;
    answer a, c;
    bench_init(&b);
    define(&b, 0);
    b.log.outcome = RUNG_LOG_UNKNOWN;
    b.log.state = RUNG_EIO;
    RUNG_FAIL(&b.log.why, RUNG_EIO, "sync says no");
    CHECK_OK(put_score(&b, "ada", 7, &a));
    rung_commit_propose(b.commit);
    CHECK_OK(put_score(&b, "ann", 7, &c)); /* not proposed yet */
    rung_commit_work(b.commit, true, UINT32_MAX);
    CHECK(a.calls == 1 && a.st == RUNG_EIO && !a.was_applied);
    CHECK(strstr(a.err.message, "sync says no"));
    CHECK(c.calls == 1 && c.st == RUNG_EIO && !c.was_applied);
    CHECK_EQ_U64(rung_state_seq(b.state), 1);
    check_read_only(&b);
    bench_deinit(&b);
}

/* One unknown outcome is not the end: a log shared by several nodes goes on. */
TEST(an_unknown_outcome_is_told_and_the_line_goes_on) {
    bench b;
    answer a;
    bench_init(&b);
    define(&b, 0);
    b.log.outcome = RUNG_LOG_UNKNOWN;
    RUNG_FAIL(&b.log.why, RUNG_EIO, "no word from the broker");
    CHECK_OK(put_score(&b, "ada", 7, &a));
    work(&b);
    CHECK(a.calls == 1 && a.st == RUNG_EIO && !a.was_applied);
    b.log.outcome = RUNG_LOG_COMMITTED;
    CHECK_OK(put_score(&b, "bob", 7, &a));
    work(&b);
    CHECK_OK(a.st);
    CHECK_EQ_U64(a.seq, 2);
    bench_deinit(&b);
}

/* ---- records of other nodes ---- */

static void deliver_foreign(bench *b, const rung_event *event, char bytes[512]) {
    size_t len;
    CHECK_OK(rung_event_encode(event, bytes, 512, &len));
    b->log.foreign = (rung_log_entry){
        .payload = rung_slice_of(bytes, len), .type = RUNG_LOG_TYPE_EVENT, .tag = RUNG_LOG_FOREIGN};
    b->log.has_foreign = true;
}

TEST(records_of_others_are_applied_between_ours) {
    bench b;
    answer a;
    char bytes[512];
    bench_init(&b);
    rung_event theirs = board_event(0);
    theirs.ts_ms = NOON;
    deliver_foreign(&b, &theirs, bytes);
    work(&b); /* nothing of ours is waiting */
    CHECK_EQ_U64(rung_state_seq(b.state), 1);
    theirs = score_of("eve", 9);
    theirs.ts_ms = NOON;
    deliver_foreign(&b, &theirs, bytes);
    CHECK_OK(put_score(&b, "ada", 7, &a));
    work(&b);
    CHECK_OK(a.st);
    CHECK_EQ_U64(a.seq, 3);
    rung_view view;
    CHECK_OK(rung_state_view(b.state, &(rung_query){.board = RUNG_SLICE("race")}, &view, NULL));
    CHECK_EQ_U64(view.total, 2);
    bench_deinit(&b);
}

TEST(foreign_bytes_that_are_no_event_end_it) {
    bench b;
    answer a;
    char bytes[512];
    bench_init(&b);
    define(&b, 0);
    rung_event theirs = score_of("eve", 9);
    theirs.ts_ms = NOON;
    deliver_foreign(&b, &theirs, bytes);
    b.log.foreign.payload.len--;
    CHECK_OK(put_score(&b, "ada", 7, &a));
    work(&b);
    CHECK_EQ_U64(b.fatal, 1);
    CHECK(a.calls == 1 && a.st == RUNG_ECORRUPT && !a.was_applied);
    CHECK_EQ_U64(rung_state_seq(b.state), 1);
    CHECK_STATUS(put_score(&b, "ada", 7, &a), RUNG_ECORRUPT);
    bench_deinit(&b);
}

/* ---- weights ---- */

static void define_ratings(bench *b) {
    rung_event event = board_event(0);
    answer a;
    event.defined.def.update = RUNG_UPDATE_ELO;
    rung_rating_params_init(&event.defined.def.rating, RUNG_RATING_ELO);
    CHECK_OK(put(b, &event, &a));
    work(b);
    CHECK_STATUS(a.st, RUNG_OK);
}

/* A match of so many sides of one player. */
static rung_event match_of(uint32_t sides, uint8_t *packed) {
    rung_byte_writer w = rung_byte_writer_of(packed, RUNG_MATCH_PACKED_MAX);
    rung_event event = {.kind = RUNG_EVENT_MATCH,
                        .match = {.board = RUNG_SLICE("race"), .player_count = sides}};
    for (uint32_t i = 0; i < sides; i++) {
        char name[16];
        int len = snprintf(name, sizeof name, "p%u", i);
        CHECK(rung_match_put(&w, &(rung_match_entry){.is_first = true,
                                                     .place = (int32_t)i + 1,
                                                     .side = i,
                                                     .player = rung_slice_of(name, (size_t)len),
                                                     .weight = 1,
                                                     .played = 1}));
    }
    event.match.packed = rung_slice_of(packed, rung_byte_writer_length(&w));
    return event;
}

/* Nobody waits for more than one of them, and their sender holds more of the queue. */
TEST(a_large_match_counts_as_many_changes) {
    bench b;
    static answer answers[8];
    static uint8_t packed[RUNG_MATCH_PACKED_MAX];
    bench_init(&b);
    define_ratings(&b);
    rung_event event = match_of(RUNG_MATCH_PLAYERS_MAX, packed);
    CHECK_EQ_U64(rung_event_weight(&event), RUNG_EVENT_WEIGHT_MAX);
    CHECK_OK(put(&b, &event, &answers[0]));
    CHECK_EQ_U64(rung_commit_room(b.commit, (rung_hub_sender){0}), 98); /* of 100 places */
    CHECK_EQ_U64(rung_commit_stat(b.commit).waiting, 1);
    work(&b);
    CHECK_STATUS(answers[0].st, RUNG_OK);
    CHECK_EQ_U64(rung_commit_stat(b.commit).waiting, 0);
    event = match_of(30, packed);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_OK(put(&b, &event, &answers[i]));
    CHECK_EQ_U64(rung_commit_room(b.commit, (rung_hub_sender){0}), 94);
    rung_commit_propose(b.commit);
    for (uint32_t done = 1; done <= 3; done++) {
        CHECK(rung_commit_work(b.commit, true, 20)); /* there is more */
        CHECK_EQ_U64(rung_state_seq(b.state), 2 + done);
    }
    work(&b);
    CHECK_STATUS(answers[2].st, RUNG_OK);
    bench_deinit(&b);
}

/* ---- batches ---- */

TEST(a_batch_has_one_time_and_holds_are_kept) {
    bench b;
    static answer answers[100];
    char name[16];
    bench_init(&b);
    define(&b, 0);
    for (uint32_t i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "p%u", i);
        CHECK_OK(put_score(&b, name, i, &answers[i]));
        b.now_ms += 5;
    }
    CHECK_EQ_U64(rung_commit_room(b.commit, (rung_hub_sender){0}), 0);
    CHECK_STATUS(rung_commit_may_put(b.commit, NULL), RUNG_ELIMIT);
    rung_commit_hold(b.commit, true);
    work(&b);
    CHECK_EQ_U64(rung_state_seq(b.state), 1);
    rung_commit_hold(b.commit, false);
    CHECK(rung_commit_work(b.commit, true, 10)); /* there is more */
    work(&b);
    rung_event last;
    CHECK_OK(rung_event_decode(b.log.entries[100].payload, &last, NULL));
    CHECK_EQ_I64(last.ts_ms, NOON);
    for (uint32_t i = 0; i < 100; i++)
        CHECK(answers[i].calls == 1 && answers[i].seq == i + 2);
    rung_commit_close(b.commit);
    CHECK_STATUS(put_score(&b, "ada", 7, &answers[0]), RUNG_ECLOSED);
    bench_deinit(&b);
}

RUNG_TEST_MAIN
