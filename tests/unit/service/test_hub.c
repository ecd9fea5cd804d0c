/* SPDX-License-Identifier: Apache-2.0 */
/* The hub: order, one answer for each, limits, a full disk, a failed sync, restarts, snapshots beside the work, the
 * follower's port; and random histories through it, driven in both ways, and against its own log. */
/* ctest: timeout=240 labels=thread */
#include "service/hub.h"

#include "journal/segment_log.h"
#include "service/store.h"
#include "support/archive_dir.h"
#include "support/check.h"
#include "support/failalloc.h"
#include "support/history_gen.h"
#include "support/memfs.h"
#include "support/rng.h"
#include "support/storekit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NOON INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */
#define RACE RUNG_SLICE("race")

static rung_status place(const rung_hub *h, rung_hub_reader *read, void *ctx, rung_err *err) {
    return rung_commit_place(rung_hub_commit(h), (rung_hub_sender){0}, read, ctx, err);
}

static bool is_idle(const rung_hub *h) {
    return rung_commit_is_idle(rung_hub_commit(h));
}

static uint32_t room(const rung_hub *h) {
    return rung_commit_room(rung_hub_commit(h), (rung_hub_sender){0});
}

typedef struct fixture {
    rung_memfs fs;
    rung_hub_config config;
    rung_hub *hub;
    int64_t now_ms;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t wakes;
    uint64_t deaths;
    uint64_t said;
} fixture;

static int64_t now(void *ctx) {
    return ((fixture *)ctx)->now_ms;
}

static void on_wake(void *ctx) {
    fixture *f = ctx;
    pthread_mutex_lock(&f->lock);
    f->wakes++;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void on_fatal(void *ctx, const rung_err *err) {
    fixture *f = ctx;
    CHECK(err->message[0]);
    pthread_mutex_lock(&f->lock);
    f->deaths++;
    pthread_mutex_unlock(&f->lock);
}

static void on_say(void *ctx, const char *line) {
    fixture *f = ctx;
    CHECK(line[0]);
    pthread_mutex_lock(&f->lock);
    f->said++;
    pthread_mutex_unlock(&f->lock);
}

static void begin(fixture *f) {
    memset(f, 0, sizeof *f);
    rung_memfs_init(&f->fs);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    f->now_ms = NOON;
    f->config = (rung_hub_config){.alloc = rung_alloc_heap(),
                                  .clock = {now, f},
                                  .fs = &f->fs.port,
                                  .segment_size = 1 << 20,
                                  .space_retry_ms = 5,
                                  .wake = on_wake,
                                  .fatal = on_fatal,
                                  .say = on_say,
                                  .ctx = f};
}

static void open_hub(fixture *f) {
    rung_err err = {0};
    rung_status st = rung_hub_open(&f->config, &f->hub, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
}

static void open_on_disk(fixture *f) {
    begin(f);
    f->config.path = "data";
    open_hub(f);
}

static void open_in_memory(fixture *f) {
    begin(f);
    f->config.fs = NULL;
    open_hub(f);
}

static void end(fixture *f) {
    rung_memfs_deinit(&f->fs);
}

static uint64_t wakes(fixture *f) {
    pthread_mutex_lock(&f->lock);
    uint64_t n = f->wakes;
    pthread_mutex_unlock(&f->lock);
    return n;
}

static void wait_wake(fixture *f, uint64_t seen) {
    pthread_mutex_lock(&f->lock);
    while (f->wakes == seen)
        pthread_cond_wait(&f->changed, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

/* What a server's loop does until nothing is left to do. */
static void settle(fixture *f) {
    for (;;) {
        uint64_t seen = wakes(f);
        rung_hub_turn(f->hub);
        rung_hub_flush(f->hub);
        if (is_idle(f->hub))
            return;
        wait_wake(f, seen);
    }
}

/* ---- events and answers ---- */

typedef struct answer {
    uint32_t calls;
    rung_status st;
    bool has_outcome;
    uint64_t seq;       /* the event's */
    uint64_t state_seq; /* when it was answered */
    char next[32];
    char message[64];
    rung_hub *hub;
} answer;

static void on_answer(void *ctx, rung_status st, const rung_outcome *outcome, const rung_err *err) {
    answer *a = ctx;
    a->calls++;
    a->st = st;
    a->has_outcome = outcome != NULL;
    if (outcome) {
        a->seq = outcome->seq;
        snprintf(a->next, sizeof a->next, "%.*s", (int)outcome->next.len, outcome->next.ptr);
    }
    if (st < 0)
        snprintf(a->message, sizeof a->message, "%.60s", err->message);
    if (a->hub)
        a->state_seq = rung_state_seq(rung_hub_state(a->hub));
}

static rung_event score_event(rung_slice player, int64_t points) {
    return (rung_event){
        .kind = RUNG_EVENT_SCORE,
        .score = {.board = RACE, .player = player, .value_count = 1, .values = {{.i = points}}}};
}

static rung_status put_score(fixture *f, const char *player, int64_t points, answer *a) {
    rung_event e = score_event(rung_slice_str(player), points);
    rung_err err = {0};
    *a = (answer){.hub = f->hub};
    return rung_hub_put(f->hub, &e, on_answer, a, &err);
}

/* A board of sums with windows of a day. */
static void define_race(fixture *f) {
    answer a = {0};
    rung_err err = {0};
    rung_board_def def = rung_board_def_default();
    def.update = RUNG_UPDATE_SUM;
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    CHECK_OK(rung_hub_define(f->hub, (rung_hub_sender){0}, RACE, &def, on_answer, &a, &err));
    settle(f);
    CHECK_EQ_U64(a.calls, 1);
    CHECK_OK(a.st);
}

static int64_t points_of(const fixture *f, const char *player) {
    rung_view v;
    rung_row row;
    bool found;
    rung_slice id = rung_slice_str(player);
    CHECK_OK(rung_state_view(rung_hub_state(f->hub), &(rung_query){.board = RACE}, &v, NULL));
    rung_view_rows(&v, 1, &id, &row, &found);
    return found ? row.values[0].i : 0;
}

typedef struct question {
    fixture *f;
    uint32_t calls;
    int64_t points; /* of "ann", when it was asked */
} question;

static void ask_for_ann(void *ctx) {
    question *q = ctx;
    q->calls++;
    q->points = points_of(q->f, "ann");
}

static void check_order(fixture *f) {
    answer a[3];
    question q[4];
    rung_err err;
    settle(f);
    rung_hub_stats before = rung_hub_stat(f->hub); /* a folder begins with an event of its own */
    define_race(f);
    for (int i = 0; i < 4; i++)
        q[i] = (question){.f = f};
    CHECK_OK(place(f->hub, ask_for_ann, &q[0], &err));
    CHECK_OK(put_score(f, "ann", 1, &a[0]));
    CHECK_OK(place(f->hub, ask_for_ann, &q[1], &err));
    CHECK_OK(put_score(f, "ann", 10, &a[1]));
    CHECK_OK(put_score(f, "ann", 100, &a[2]));
    CHECK_OK(place(f->hub, ask_for_ann, &q[2], &err));
    CHECK_OK(place(f->hub, ask_for_ann, &q[3], &err));
    CHECK_EQ_U64(a[0].calls + q[0].calls, 0); /* never from inside put and place */
    CHECK(!is_idle(f->hub));
    settle(f);
    static const int64_t want[] = {0, 1, 111, 111};
    for (int i = 0; i < 4; i++) {
        CHECK_EQ_U64(q[i].calls, 1);
        CHECK_EQ_I64(q[i].points, want[i]);
    }
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_U64(a[i].calls, 1);
        CHECK_OK(a[i].st);
        CHECK_EQ_U64(a[i].seq, before.applied_seq + 2 + (uint64_t)i);
    }
    rung_hub_stats s = rung_hub_stat(f->hub);
    CHECK_EQ_U64(s.put - before.put, 4);
    CHECK_EQ_U64(s.answered - before.answered, 4);
    CHECK_EQ_U64(s.waiting, 0);
    CHECK_EQ_U64(s.applied_seq - before.applied_seq, 4);
}

TEST(changes_and_questions_keep_their_order_in_memory) {
    fixture f;
    open_in_memory(&f);
    check_order(&f);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

TEST(changes_and_questions_keep_their_order_on_disk) {
    fixture f;
    open_on_disk(&f);
    check_order(&f);
    rung_hub_stats s = rung_hub_stat(f.hub);
    uint64_t counted = 0;
    for (int i = 0; i < RUNG_LOG_TIME_BUCKETS; i++)
        counted += s.sync_us[i];
    CHECK_EQ_U64(s.sync_count, s.batches);
    CHECK_EQ_U64(counted, s.batches);
    CHECK(s.log_bytes > 0);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

/* ---- answers that put ---- */

typedef struct chain {
    fixture *f;
    uint32_t left, answered;
} chain;

static void put_the_next(void *ctx, rung_status st, const rung_outcome *outcome,
                         const rung_err *err) {
    chain *c = ctx;
    (void)outcome;
    (void)err;
    CHECK_OK(st);
    c->answered++;
    if (c->left == 0)
        return;
    c->left--;
    rung_event e = score_event(RUNG_SLICE("ann"), 1);
    CHECK_OK(rung_hub_put(c->f->hub, &e, put_the_next, c, NULL));
}

static void check_chain(fixture *f) {
    chain c = {.f = f, .left = 300};
    define_race(f);
    rung_event e = score_event(RUNG_SLICE("ann"), 1);
    CHECK_OK(rung_hub_put(f->hub, &e, put_the_next, &c, NULL));
    settle(f);
    CHECK_EQ_U64(c.answered, 301);
    CHECK_EQ_I64(points_of(f, "ann"), 301);
    CHECK_OK(rung_hub_close(f->hub, NULL));
    end(f);
}

TEST(an_answer_may_put_in_memory) {
    fixture f;
    open_in_memory(&f);
    check_chain(&f);
}

TEST(an_answer_may_put_on_disk) {
    fixture f;
    open_on_disk(&f);
    check_chain(&f);
}

/* ---- what comes after answers ---- */

typedef struct gathered {
    rung_hub_after after;
    rung_hub *hub;
    uint32_t waiting; /* answers since the last call */
    uint32_t calls, answered;
} gathered;

static void gathered_end(void *ctx) {
    gathered *g = ctx;
    CHECK(g->waiting > 0 && !g->after.is_waiting);
    g->answered += g->waiting;
    g->waiting = 0;
    g->calls++;
}

static void gather_answer(void *ctx, rung_status st, const rung_outcome *outcome,
                          const rung_err *err) {
    gathered *g = ctx;
    (void)st;
    (void)outcome;
    (void)err;
    g->waiting++;
    rung_commit_call_after(rung_hub_commit(g->hub), &g->after);
    rung_commit_call_after(rung_hub_commit(g->hub), &g->after);
}

static void gather_reader(void *ctx) {
    gather_answer(ctx, RUNG_OK, NULL, NULL);
}

static void check_after(fixture *f) {
    gathered g[2];
    define_race(f);
    for (int i = 0; i < 2; i++)
        g[i] = (gathered){.after = {.call = gathered_end, .ctx = &g[i]}, .hub = f->hub};
    for (int i = 0; i < 10; i++) {
        rung_event e = score_event(RUNG_SLICE("ann"), 1);
        CHECK_OK(rung_hub_put(f->hub, &e, gather_answer, &g[i % 2], NULL));
        CHECK_OK(place(f->hub, gather_reader, &g[1], NULL));
    }
    CHECK_EQ_U64(g[0].calls + g[1].calls, 0);
    settle(f);
    CHECK_EQ_U64(g[0].answered, 5);
    CHECK_EQ_U64(g[1].answered, 15);
    CHECK(g[0].calls >= 1 && g[1].calls >= 1);
    CHECK_EQ_U64(g[0].waiting + g[1].waiting, 0);
    rung_hub_waiter w = {.seq = 0, .ready = gather_reader, .ctx = &g[0]}; /* it is there */
    rung_hub_wait(f->hub, &w);
    rung_hub_turn(f->hub);
    CHECK_EQ_U64(g[0].answered, 6);
    CHECK_OK(rung_hub_close(f->hub, NULL));
    end(f);
}

TEST(what_answers_want_done_comes_once_after_them_in_memory) {
    fixture f;
    open_in_memory(&f);
    check_after(&f);
}

TEST(what_answers_want_done_comes_once_after_them_on_disk) {
    fixture f;
    open_on_disk(&f);
    check_after(&f);
}

typedef struct meanwhile {
    fixture *f;
    uint64_t seen;
    uint32_t calls;
} meanwhile;

static void wait_for_the_disk(void *ctx) {
    meanwhile *m = ctx;
    m->calls++;
    wait_wake(m->f, m->seen);
}

/* A question that takes until the change behind it is on the disk. */
TEST(the_disk_works_while_answers_are_given) {
    fixture f;
    answer a;
    open_on_disk(&f);
    define_race(&f);
    meanwhile m = {.f = &f, .seen = wakes(&f)};
    CHECK_OK(place(f.hub, wait_for_the_disk, &m, NULL));
    CHECK_OK(put_score(&f, "ann", 5, &a));
    rung_hub_flush(f.hub);
    CHECK_EQ_U64(m.calls, 1);
    CHECK_EQ_U64(a.calls, 0);
    rung_hub_turn(f.hub);
    CHECK_EQ_U64(a.calls, 1);
    CHECK_STATUS(a.st, RUNG_OK);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

static void put_while_closing(void *ctx, rung_status st, const rung_outcome *outcome,
                              const rung_err *err) {
    answer *a = ctx;
    rung_event e = score_event(RUNG_SLICE("ann"), 1);
    on_answer(a, st, outcome, err);
    CHECK_STATUS(rung_hub_put(a->hub, &e, on_answer, a, NULL), RUNG_ECLOSED);
}

TEST(closing_answers_all_and_takes_no_more) {
    fixture f;
    static answer a[500];
    question q = {.f = &f};
    open_on_disk(&f);
    define_race(&f);
    rung_event e = score_event(RUNG_SLICE("ann"), 1);
    for (int i = 0; i < 500; i++) {
        a[i] = (answer){.hub = f.hub};
        CHECK_OK(rung_hub_put(f.hub, &e, put_while_closing, &a[i], NULL));
    }
    CHECK_OK(place(f.hub, ask_for_ann, &q, NULL));
    CHECK_OK(rung_hub_close(f.hub, NULL));
    for (int i = 0; i < 500; i++) {
        CHECK_EQ_U64(a[i].calls, 1);
        CHECK_OK(a[i].st);
    }
    CHECK_EQ_U64(q.calls, 1);
    CHECK_EQ_I64(q.points, 500);
    end(&f);
}

/* ---- refusals and limits ---- */

TEST(refusals_name_the_field_and_change_nothing) {
    fixture f;
    answer a;
    rung_err err = {0};
    open_on_disk(&f);
    define_race(&f);
    CHECK_STATUS(put_score(&f, "", 1, &a), RUNG_EINVAL);
    rung_board_def def = rung_board_def_default();
    def.zone_name = RUNG_SLICE("Mars/Olympus");
    CHECK_STATUS(rung_hub_define(f.hub, (rung_hub_sender){0}, RACE, &def, on_answer, &a, &err),
                 RUNG_EABSENT);
    CHECK(is_idle(f.hub));
    rung_event e = score_event(RUNG_SLICE("ann"), 1);
    e.score.board = RUNG_SLICE("absent");
    CHECK_OK(rung_hub_put(f.hub, &e, on_answer, &a, &err));
    settle(&f);
    CHECK_EQ_U64(a.calls, 1);
    CHECK(a.st < 0 && a.has_outcome && a.message[0]); /* the state's refusal is an outcome */
    CHECK_EQ_U64(rung_hub_stat(f.hub).refused, 1);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

TEST(a_zone_is_looked_up) {
    fixture f;
    answer a = {0};
    rung_err err = {0};
    open_in_memory(&f);
    rung_board_def def = rung_board_def_default();
    def.zone_name = RUNG_SLICE("Europe/Helsinki");
    rung_status st = rung_hub_define(f.hub, (rung_hub_sender){0}, RACE, &def, on_answer, &a, &err);
    if (st == RUNG_EABSENT)
        test_skip("no time zone files here");
    CHECK_OK(st);
    settle(&f);
    CHECK_OK(a.st);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

TEST(too_many_are_refused_until_there_is_room) {
    fixture f;
    answer a[4], late;
    question q = {.f = &f};
    rung_err err;
    begin(&f);
    f.config.path = "data";
    f.config.waiting_max = 4;
    open_hub(&f);
    define_race(&f);
    for (int round = 0; round < 20; round++) {
        CHECK_EQ_U64(room(f.hub), 4);
        for (int i = 0; i < 4; i++) {
            CHECK_OK(put_score(&f, "ann", 1, &a[i]));
            CHECK_OK(place(f.hub, ask_for_ann, &q, &err));
        }
        CHECK_EQ_U64(room(f.hub), 0);
        CHECK_STATUS(put_score(&f, "ann", 1, &late), RUNG_ELIMIT);
        CHECK_STATUS(place(f.hub, ask_for_ann, &q, &err), RUNG_ELIMIT);
        settle(&f);
        for (int i = 0; i < 4; i++)
            CHECK_EQ_U64(a[i].calls, 1);
    }
    CHECK_EQ_U64(late.calls, 0);
    CHECK_EQ_U64(q.calls, 80);
    CHECK_EQ_I64(points_of(&f, "ann"), 80);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

/* Long and short events by turns, so that the ring of bytes wraps in every way; then more and more, until it is full.
 * They are long by few long names: what the state makes of them is not what is tested here. */
TEST(bytes_are_limited_and_come_back) {
    enum { ROUNDS = 6, MANY = 4000, TURNED = 400, NAME = 120, NAMES = 900 };
    static answer answers[MANY];
    static char packed[NAMES * (NAME + 1) + 1];
    fixture f;
    rung_rng r;
    rung_rng_seed(&r, test_seed(5));
    open_on_disk(&f);
    define_race(&f);
    for (int i = 0; i < NAMES; i++) {
        packed[i * (NAME + 1)] = NAME;
        snprintf(packed + i * (NAME + 1) + 1, NAME + 1, "f%0*d", NAME - 1, i);
    }
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t n = 0;
        for (; n < MANY; n++) {
            uint32_t count = 1 + (uint32_t)rung_rng_below(&r, rung_rng_below(&r, 3) ? 2 : NAMES);
            rung_event e = {
                .kind = RUNG_EVENT_FRIENDS_REPLACED,
                .friends = {.player = RUNG_SLICE("ann"),
                            .follow = true,
                            .count = count,
                            .packed = rung_slice_of(packed, (size_t)count * (NAME + 1))}};
            answers[n] = (answer){0};
            rung_status st = rung_hub_put(f.hub, &e, on_answer, &answers[n], NULL);
            if (st == RUNG_ELIMIT)
                break;
            CHECK_OK(st);
            if (n < TURNED && rung_rng_below(&r, 8) == 0) {
                rung_hub_flush(f.hub);
                rung_hub_turn(f.hub);
            }
        }
        CHECK(n < MANY);
        settle(&f);
        for (uint32_t i = 0; i < n; i++) {
            CHECK_EQ_U64(answers[i].calls, 1);
            CHECK(answers[i].st >= 0);
        }
    }
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

/* ---- the disk says no ---- */

static void set_space(fixture *f, uint64_t bytes) {
    pthread_mutex_lock(&f->fs.lock);
    f->fs.space = bytes;
    pthread_mutex_unlock(&f->fs.lock);
}

/* Fill the disk; every one is answered, and what was answered with RUNG_OK is what the state has. */
static void fill(fixture *f) {
    enum { MANY = 40 };
    static char meta[4096];
    answer a[MANY];
    question q = {.f = f};
    rung_err err;
    int64_t done = points_of(f, "ann");
    memset(meta, 'x', sizeof meta);
    for (bool is_full = false; !is_full;) {
        uint32_t n = 0;
        rung_event e = score_event(RUNG_SLICE("ann"), 1);
        e.score.meta = rung_slice_of(meta, sizeof meta);
        for (; n < MANY; n++) {
            a[n] = (answer){0};
            CHECK_OK(rung_hub_put(f->hub, &e, on_answer, &a[n], &err));
        }
        CHECK_OK(place(f->hub, ask_for_ann, &q, &err));
        settle(f);
        for (uint32_t i = 0; i < n; i++) {
            CHECK_EQ_U64(a[i].calls, 1);
            CHECK(a[i].st == RUNG_OK || a[i].st == RUNG_ENOSPC);
            CHECK_EQ_U64(a[i].has_outcome, a[i].st == RUNG_OK);
            done += a[i].st == RUNG_OK;
            is_full |= a[i].st == RUNG_ENOSPC;
        }
        CHECK_EQ_I64(q.points, done);
    }
    CHECK_EQ_I64(points_of(f, "ann"), done);
}

TEST(a_full_disk_refuses_and_returns_by_itself) {
    fixture f;
    answer a;
    question q = {.f = &f};
    open_on_disk(&f);
    define_race(&f);
    for (int round = 0; round < 3; round++) {
        set_space(&f, ((uint64_t)round + 4) << 20);
        fill(&f);
        CHECK_STATUS(put_score(&f, "ann", 1, &a), RUNG_ENOSPC);
        CHECK_STATUS(rung_hub_stat(f.hub).status, RUNG_ENOSPC);
        CHECK_OK(place(f.hub, ask_for_ann, &q, NULL)); /* reading goes on */
        settle(&f);
        CHECK_EQ_U64(q.calls, 1 + round);
        set_space(&f, 0);
        uint64_t seen = wakes(&f);
        while (rung_hub_turn(f.hub), rung_hub_stat(f.hub).status == RUNG_ENOSPC)
            wait_wake(&f, seen++);
        int64_t before = points_of(&f, "ann");
        CHECK_OK(put_score(&f, "ann", 1, &a));
        settle(&f);
        CHECK_OK(a.st);
        CHECK_EQ_I64(points_of(&f, "ann"), before + 1);
    }
    rung_digest digest = rung_state_digest(rung_hub_state(f.hub));
    CHECK_OK(rung_hub_close(f.hub, NULL));
    open_hub(&f);
    CHECK_EQ_U64(rung_state_digest(rung_hub_state(f.hub)).a, digest.a);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    CHECK_EQ_U64(f.deaths, 0);
    end(&f);
}

TEST(a_start_on_a_full_disk_reads_and_returns_by_itself) {
    fixture f;
    answer a;
    question q = {.f = &f};
    open_on_disk(&f);
    define_race(&f);
    set_space(&f, 4 << 20);
    fill(&f);
    int64_t points = points_of(&f, "ann");
    CHECK_OK(rung_hub_close(f.hub, NULL));
    rung_memfs_remove(&f.fs, "data", "spare"); /* its space would do for a start */
    set_space(&f, 1);
    f.config.id_capacity = 1234; /* a change that the start itself has to make */
    open_hub(&f);
    CHECK_STATUS(rung_hub_stat(f.hub).status, RUNG_ENOSPC);
    CHECK_STATUS(put_score(&f, "ann", 1, &a), RUNG_ENOSPC);
    CHECK_OK(place(f.hub, ask_for_ann, &q, NULL));
    settle(&f);
    CHECK_EQ_I64(q.points, points);
    rung_hub_tick(f.hub);
    set_space(&f, 0);
    uint64_t seen = wakes(&f);
    while (rung_hub_turn(f.hub), rung_hub_stat(f.hub).status == RUNG_ENOSPC)
        wait_wake(&f, seen++);
    rung_hub_tick(f.hub);
    CHECK_OK(put_score(&f, "ann", 1, &a));
    settle(&f);
    CHECK_OK(a.st);
    CHECK_EQ_I64(points_of(&f, "ann"), points + 1);
    rung_stats stats;
    rung_state_stats(rung_hub_state(f.hub), &stats);
    CHECK_EQ_U64(stats.id_capacity, 1234);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    CHECK_EQ_U64(f.deaths, 0);
    open_hub(&f);
    CHECK_EQ_I64(points_of(&f, "ann"), points + 1);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

static bool is_moved;

static int is_at(void *ctx, int file, const char *folder, const char *name) {
    (void)ctx;
    (void)file;
    CHECK_EQ_STR(folder, "data");
    CHECK_EQ_STR(name, "lock");
    return !is_moved;
}

TEST(a_folder_that_has_gone_ends_everything) {
    fixture f;
    answer a;
    rung_err err = {0};
    begin(&f);
    f.config.path = "data";
    f.fs.port.is_at = is_at;
    open_hub(&f);
    define_race(&f);
    for (int i = 0; i < 20; i++)
        rung_hub_tick(f.hub);
    settle(&f);
    CHECK_EQ_U64(f.deaths, 0);
    is_moved = true;
    for (int i = 0; i < 5; i++)
        rung_hub_tick(f.hub);
    CHECK_EQ_U64(f.deaths, 1);
    CHECK_STATUS(put_score(&f, "ann", 1, &a), RUNG_EIO);
    CHECK_STATUS(rung_hub_close(f.hub, &err), RUNG_EIO);
    CHECK(strstr(err.message, "removed or replaced"));
    end(&f);
}

TEST(after_a_failed_sync_nothing_is_acknowledged) {
    enum { MANY = 20 };
    fixture f;
    answer first, a[MANY];
    question q = {.f = &f};
    rung_err err = {0};
    open_on_disk(&f);
    define_race(&f);
    CHECK_OK(put_score(&f, "ann", 1, &first));
    settle(&f);
    CHECK_OK(first.st);
    pthread_mutex_lock(&f.fs.lock);
    f.fs.only = 's';
    rung_memfs_fail(&f.fs, 1, EIO, true);
    pthread_mutex_unlock(&f.fs.lock);
    uint32_t n = 0;
    for (; n < MANY; n++) {
        rung_status st = put_score(&f, "ann", 1, &a[n]);
        if (st == RUNG_EIO)
            break; /* the writer's own housekeeping may have failed first */
        CHECK_OK(st);
    }
    CHECK_OK(place(f.hub, ask_for_ann, &q, NULL));
    settle(&f);
    for (uint32_t i = 0; i < n; i++) {
        CHECK_EQ_U64(a[i].calls, 1);
        CHECK_STATUS(a[i].st, RUNG_EIO);
        CHECK(!a[i].has_outcome && a[i].message[0]);
    }
    CHECK_EQ_U64(q.calls, 1);
    CHECK_EQ_I64(q.points, 1);
    CHECK_STATUS(put_score(&f, "ann", 1, &first), RUNG_EIO);
    CHECK_STATUS(rung_hub_stat(f.hub).status, RUNG_EIO);
    CHECK_EQ_U64(f.deaths, 1);
    CHECK_STATUS(rung_hub_close(f.hub, &err), RUNG_EIO);
    CHECK(err.message[0]);
    end(&f);
}

/* ---- what answers name ---- */

TEST(an_answer_may_name_somebody_who_is_erased_behind_it) {
    fixture f;
    answer a, b;
    open_in_memory(&f);
    define_race(&f);
    CHECK_OK(put_score(&f, "zoe-with-a-long-name", 100, &a));
    settle(&f);
    CHECK_OK(put_score(&f, "ann", 1, &a));
    rung_event e = {.kind = RUNG_EVENT_PLAYER_ERASED,
                    .erased = {RUNG_SLICE("zoe-with-a-long-name")}};
    CHECK_OK(rung_hub_put(f.hub, &e, NULL, NULL, NULL));
    e = (rung_event){.kind = RUNG_EVENT_PLAYER_SET,
                     .profile = {.player = RUNG_SLICE("abc-another-long-name")}};
    CHECK_OK(rung_hub_put(f.hub, &e, NULL, NULL, NULL));
    CHECK_OK(put_score(&f, "bob", 1, &b));
    settle(&f);
    CHECK_EQ_STR(a.next, "zoe-with-a-long-name");
    CHECK_EQ_STR(b.next, "ann");
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

/* ---- commands of the Redis protocol ---- */

typedef struct commands {
    uint32_t sunk, answered;
    uint64_t added;
    rung_status st;
    fixture *f;
    int64_t ann_before; /* points of ann when the first command took effect */
} commands;

static void on_command(void *ctx, uint32_t i, const rung_zkey_result *result) {
    commands *c = ctx;
    CHECK_EQ_U64(i, c->sunk++);
    CHECK_EQ_U64(c->answered, 0);
    c->added += result->count;
    if (i == 0)
        c->ann_before = points_of(c->f, "ann");
}

static void on_commands_done(void *ctx, rung_status st, const rung_outcome *outcome,
                             const rung_err *err) {
    commands *c = ctx;
    (void)err;
    CHECK(outcome != NULL && outcome->seq > 0);
    c->answered++;
    c->st = st;
}

static rung_event zadd_event(char *buffer, size_t size) {
    const rung_zcommand_item items[] = {{RUNG_SLICE("x"), 1}, {RUNG_SLICE("y"), 2}};
    rung_zcommand c = {
        .kind = RUNG_ZCOMMAND_ZADD, .key = RUNG_SLICE("keys"), .item_count = 2, .items = items};
    size_t used = 0, length;
    for (int i = 0; i < 2; i++, c.key = RUNG_SLICE("other")) {
        CHECK_OK(rung_zcommand_encode(&c, buffer + used, size - used, &length, NULL));
        used += length;
    }
    return (rung_event){.kind = RUNG_EVENT_KEYS, .keys = {2, rung_slice_of(buffer, used)}};
}

TEST(commands_are_told_one_by_one_in_their_place) {
    fixture f;
    answer a[2];
    commands c[2] = {{.f = &f}, {.f = &f}};
    char buffer[256];
    open_on_disk(&f);
    define_race(&f);
    rung_event e = zadd_event(buffer, sizeof buffer);
    CHECK_OK(put_score(&f, "ann", 1, &a[0]));
    CHECK_OK(rung_commit_put(rung_hub_commit(f.hub), (rung_hub_sender){0}, &e, on_command,
                             on_commands_done, &c[0], NULL));
    CHECK_OK(put_score(&f, "ann", 10, &a[1]));
    CHECK_OK(rung_commit_put(rung_hub_commit(f.hub), (rung_hub_sender){0}, &e, on_command,
                             on_commands_done, &c[1], NULL));
    settle(&f);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_U64(c[i].sunk, 2);
        CHECK_EQ_U64(c[i].answered, 1);
        CHECK_EQ_U64(c[i].added, i ? 0 : 4);
        CHECK_EQ_I64(c[i].ann_before, i ? 11 : 1);
        CHECK_STATUS(c[i].st, i ? RUNG_UNCHANGED : RUNG_OK);
    }
    CHECK_OK(rung_hub_put(f.hub, &e, on_answer, &a[0], NULL)); /* without a sink the same */
    settle(&f);
    rung_digest digest = rung_state_digest(rung_hub_state(f.hub));
    CHECK_OK(rung_hub_close(f.hub, NULL));
    open_hub(&f);
    CHECK_EQ_U64(rung_state_digest(rung_hub_state(f.hub)).a, digest.a);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

/* ---- waiting for a sequence ---- */

typedef struct waiting {
    rung_hub_waiter w;
    fixture *f;
    uint64_t at_seq;
    uint32_t calls;
} waiting;

static void on_ready(void *ctx) {
    waiting *w = ctx;
    w->calls++;
    w->at_seq = rung_state_seq(rung_hub_state(w->f->hub));
}

static void wait_for(fixture *f, waiting *w, uint64_t seq) {
    *w = (waiting){.f = f};
    w->w = (rung_hub_waiter){.seq = seq, .ready = on_ready, .ctx = w};
    rung_hub_wait(f->hub, &w->w);
}

TEST(waiters_are_called_when_the_state_is_there) {
    fixture f;
    answer a[10];
    waiting w[5];
    open_on_disk(&f);
    define_race(&f);
    wait_for(&f, &w[0], 5);
    wait_for(&f, &w[1], 1); /* there already */
    wait_for(&f, &w[2], 11);
    wait_for(&f, &w[3], 4);
    wait_for(&f, &w[4], 7);
    rung_hub_turn(f.hub);
    CHECK_EQ_U64(w[1].calls, 1);
    CHECK_EQ_U64(w[0].calls + w[2].calls + w[3].calls + w[4].calls, 0);
    rung_hub_cancel(f.hub, &w[4].w);
    rung_hub_cancel(f.hub, &w[4].w);
    rung_hub_cancel(f.hub, &w[1].w);
    for (int i = 0; i < 10; i++)
        CHECK_OK(put_score(&f, "ann", 1, &a[i]));
    settle(&f);
    rung_hub_turn(f.hub);
    CHECK_EQ_U64(w[0].calls, 1);
    CHECK(w[0].at_seq >= 5 && w[3].at_seq >= 4);
    CHECK_EQ_U64(w[2].calls, 1);
    CHECK_EQ_U64(w[3].calls, 1);
    CHECK_EQ_U64(w[4].calls, 0);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

static uint64_t last_called;

static void on_ready_in_order(void *ctx) {
    const waiting *w = ctx;
    CHECK(w->w.seq >= last_called);
    last_called = w->w.seq;
    on_ready(ctx);
}

/* Whoever asks with a lower sequence than all others must not cost a step for each of them. */
TEST(many_may_wait_in_any_order) {
    enum { MANY = 20000, LOG2 = 15 };
    static waiting w[MANY];
    static answer a[8];
    for (int order = 0; order < 3; order++) {
        fixture f;
        rung_rng r;
        rung_rng_seed(&r, test_seed(41));
        open_in_memory(&f);
        define_race(&f);
        uint64_t seq = rung_state_seq(rung_hub_state(f.hub)), called = 0;
        last_called = 0;
        for (uint32_t i = 0; i < MANY; i++) {
            uint64_t ahead = order == 0   ? MANY - i
                             : order == 1 ? i + 1
                                          : rung_rng_below(&r, MANY) + 1;
            w[i] = (waiting){.f = &f};
            w[i].w = (rung_hub_waiter){
                .seq = seq + 1 + ahead * 8 / MANY, .ready = on_ready_in_order, .ctx = &w[i]};
            rung_hub_wait(f.hub, &w[i].w);
        }
        CHECK(rung_hub_stat(f.hub).waiter_steps <= MANY);
        for (uint32_t i = 0; i < MANY; i += 3)
            rung_hub_cancel(f.hub, &w[i].w);
        for (int i = 0; i < 8; i++) {
            CHECK_OK(put_score(&f, "ann", 1, &a[i]));
            settle(&f);
        }
        CHECK_OK(put_score(&f, "ann", 1, &a[0]));
        settle(&f);
        for (uint32_t i = 0; i < MANY; i++) {
            CHECK_EQ_U64(w[i].calls, i % 3 != 0);
            CHECK(!w[i].calls || w[i].at_seq == w[i].w.seq);
            called += w[i].calls;
        }
        CHECK_EQ_U64(called, MANY - (MANY + 2) / 3);
        CHECK(rung_hub_stat(f.hub).waiter_steps <= 3 * MANY * LOG2);
        CHECK_OK(rung_hub_close(f.hub, NULL));
        end(&f);
    }
}

TEST(a_sequence_beyond_reach_is_known) {
    fixture f;
    begin(&f);
    f.config.fs = NULL;
    f.config.waiting_max = 100;
    open_hub(&f);
    CHECK_EQ_U64(rung_hub_reach(f.hub), 101);
    define_race(&f);
    CHECK_EQ_U64(rung_hub_reach(f.hub), 102);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

/* ---- sharing ---- */

static rung_status put_from(fixture *f, uint32_t share, bool is_patient, answer *a) {
    rung_event e = score_event(RUNG_SLICE("ann"), 1);
    *a = (answer){.hub = f->hub};
    return rung_commit_put(rung_hub_commit(f->hub),
                           (rung_hub_sender){.share = share, .is_patient = is_patient}, &e, NULL,
                           on_answer, a, NULL);
}

/* As many as it may, in one go. */
static uint32_t fill_share(fixture *f, uint32_t share, bool is_patient, answer *a) {
    rung_hub_sender from = {.share = share, .is_patient = is_patient};
    uint32_t n = 0;
    while (rung_commit_room(rung_hub_commit(f->hub), from)) {
        CHECK_OK(put_from(f, share, is_patient, &a[n]));
        n++;
    }
    CHECK_STATUS(put_from(f, share, is_patient, &a[n]), RUNG_ELIMIT);
    return n;
}

TEST(no_sender_takes_the_room_of_all) {
    static answer a[5][1100];
    fixture f;
    begin(&f);
    f.config.path = "data";
    f.config.waiting_max = 1000;
    open_hub(&f);
    define_race(&f);
    for (int round = 0; round < 3; round++) {
        CHECK_EQ_U64(fill_share(&f, 1, true, a[0]), 200);  /* a stream: a fifth */
        CHECK_EQ_U64(fill_share(&f, 2, false, a[1]), 400); /* half of what is left */
        CHECK_EQ_U64(fill_share(&f, 3, false, a[2]), 200);
        CHECK_EQ_U64(fill_share(&f, 4, true, a[3]), 40);
        CHECK_STATUS(put_from(&f, 1, true, &a[4][0]),
                     RUNG_ELIMIT);                  /* it has more than others get */
        CHECK_OK(put_from(&f, 5, false, &a[4][0])); /* and who comes new is let in */
        CHECK_EQ_U64(room(f.hub), 159);
        CHECK_OK(put_score(&f, "ann", 1, &a[4][1])); /* as the server is */
        settle(&f);
        CHECK_EQ_U64(room(f.hub), 1000);
        CHECK_EQ_U64(a[0][199].calls + a[1][399].calls + a[2][199].calls + a[3][39].calls, 4);
    }
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

TEST(questions_are_shared_as_changes_are) {
    fixture f;
    question q = {.f = &f};
    uint32_t n = 0;
    begin(&f);
    f.config.path = "data";
    f.config.waiting_max = 100;
    open_hub(&f);
    define_race(&f);
    while (rung_commit_place(rung_hub_commit(f.hub),
                             (rung_hub_sender){.share = 7, .is_patient = true}, ask_for_ann, &q,
                             NULL) == RUNG_OK)
        n++;
    CHECK_EQ_U64(n, 20);
    CHECK_OK(rung_commit_place(rung_hub_commit(f.hub),
                               (rung_hub_sender){.share = 8, .is_patient = true}, ask_for_ann, &q,
                               NULL));
    settle(&f);
    CHECK_EQ_U64(q.calls, 21);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

/* A few long changes hold as much of the ring as many short ones. */
TEST(bytes_are_shared_as_places_are) {
    enum { NAME = 120, NAMES = 900 };
    static char packed[NAMES * (NAME + 1) + 1];
    fixture f;
    answer a[64], other;
    uint32_t n = 0;
    open_on_disk(&f);
    define_race(&f);
    for (int i = 0; i < NAMES; i++) {
        packed[i * (NAME + 1)] = NAME;
        snprintf(packed + i * (NAME + 1) + 1, NAME + 1, "f%0*d", NAME - 1, i);
    }
    rung_event e = {.kind = RUNG_EVENT_FRIENDS_REPLACED,
                    .friends = {.player = RUNG_SLICE("ann"),
                                .follow = true,
                                .count = NAMES,
                                .packed = rung_slice_of(packed, sizeof packed - 1)}};
    rung_hub_sender from = {.share = 9, .is_patient = true};
    while (n < 64 && rung_commit_put(rung_hub_commit(f.hub), from, &e, NULL, on_answer, &a[n],
                                     NULL) == RUNG_OK)
        n++;
    CHECK(n > 1 && n < 6); /* a fifth of 2 MiB is four of them */
    CHECK_OK(put_from(&f, 10, true, &other));
    settle(&f);
    CHECK_OK(other.st);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

/* ---- memory ---- */

/* New players until there is no memory for more; returns how many. */
static uint32_t fill_memory(fixture *f, uint32_t first) {
    for (uint32_t i = first;; i++) {
        char name[32];
        answer a;
        snprintf(name, sizeof name, "player%u", i);
        rung_status st = put_score(f, name, i, &a);
        settle(f);
        if (st == RUNG_EFULL)
            return i;
        CHECK_OK(st);
        CHECK_OK(a.st);
    }
}

static rung_status put_kind(fixture *f, rung_event *e) {
    answer a = {0};
    rung_status st = rung_hub_put(f->hub, e, on_answer, &a, NULL);
    settle(f);
    return st == RUNG_OK ? a.st : st;
}

/* Growth is refused, with nothing changed; questions and what removes something go on; there is room again after. */
TEST(memory_has_a_limit_that_only_growth_meets) {
    enum { MAX = 1 << 20 };
    fixture f;
    rung_event ban = {.kind = RUNG_EVENT_BANNED, .ban = {.player = RUNG_SLICE("player1")}};
    rung_event unban = {.kind = RUNG_EVENT_UNBANNED, .ban = {.player = RUNG_SLICE("player1")}};
    rung_event profile = {.kind = RUNG_EVENT_PLAYER_SET,
                          .profile = {.player = RUNG_SLICE("player1"),
                                      .count = 1,
                                      .attributes = {{RUNG_SLICE("a"), RUNG_SLICE("b")}}}};
    rung_event erase = {.kind = RUNG_EVENT_PLAYER_ERASED,
                        .erased = {.player = RUNG_SLICE("player1")}};
    begin(&f);
    f.config.path = "data";
    f.config.memory_max = MAX;
    open_hub(&f);
    define_race(&f);
    uint32_t count = fill_memory(&f, 0);
    CHECK(count > 1000);
    rung_hub_stats s = rung_hub_stat(f.hub);
    CHECK_EQ_U64(s.memory_max, MAX);
    CHECK(s.memory > MAX - 4096 && s.memory < MAX + MAX / 4);
    CHECK(s.memory_refused >= 1);
    uint64_t seq = rung_state_seq(rung_hub_state(f.hub));
    CHECK_STATUS(put_kind(&f, &profile), RUNG_EFULL);
    answer late;
    rung_board_def def = rung_board_def_default();
    CHECK_STATUS(rung_hub_define(f.hub, (rung_hub_sender){0}, RUNG_SLICE("new"), &def, on_answer,
                                 &late, NULL),
                 RUNG_EFULL);
    CHECK_EQ_U64(rung_state_seq(rung_hub_state(f.hub)), seq);
    CHECK_EQ_I64(points_of(&f, "player7"), 7);
    CHECK_OK(put_kind(&f, &ban));
    CHECK_OK(put_kind(&f, &unban));
    CHECK_OK(put_kind(&f, &erase));
    CHECK_OK(rung_hub_close(f.hub, NULL));
    /* It opens again, whatever the limit is, and then refuses growth only. */
    f.config.memory_max = MAX / 2;
    open_hub(&f);
    CHECK_EQ_I64(points_of(&f, "player7"), 7);
    CHECK_STATUS(put_score(&f, "one more", 1, &late), RUNG_EFULL);
    rung_event drop = {.kind = RUNG_EVENT_BOARD_DELETED, .deleted = {.board = RACE}};
    CHECK_OK(put_kind(&f, &drop));
    CHECK_OK(rung_hub_close(f.hub, NULL));
    f.config.memory_max = 0;
    open_hub(&f);
    define_race(&f);
    CHECK_OK(put_score(&f, "one more", 1, &late));
    settle(&f);
    CHECK_OK(late.st);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

/* A server of many small keys is normal: all that is the same of them is there once. */
TEST(a_key_of_one_member_takes_little) {
    enum { KEYS = 2000, EACH_MAX = 1750 };
    fixture f;
    open_in_memory(&f);
    uint64_t before = rung_hub_stat(f.hub).memory;
    for (int i = 0; i < KEYS; i++) {
        char name[32];
        snprintf(name, sizeof name, "key%d", i);
        rung_event e = score_event(RUNG_SLICE("ann"), 0);
        e.score.board = rung_slice_str(name);
        e.score.when = RUNG_SCORE_KEY;
        e.score.types[0] = RUNG_SCORE_REAL;
        e.score.values[0].d = i;
        CHECK_OK(put_kind(&f, &e));
    }
    uint64_t each = (rung_hub_stat(f.hub).memory - before) / KEYS;
    CHECK_MSG(each <= EACH_MAX, "%llu bytes", (unsigned long long)each);
    CHECK_SOUND(rung_state_check(rung_hub_state(f.hub)));
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

/* ---- windows ---- */

static uint32_t closed_days(const fixture *f) {
    rung_window_info infos[16];
    uint32_t n = rung_state_windows(rung_hub_state(f->hub), RACE, infos, 16), closed = 0;
    for (uint32_t i = 0; i < n && i < 16; i++)
        closed += infos[i].kind == RUNG_WINDOW_DAY && infos[i].closed;
    return closed;
}

TEST(a_window_closes_by_a_tick_of_the_log) {
    fixture f;
    answer a;
    open_on_disk(&f);
    define_race(&f);
    CHECK_OK(put_score(&f, "ann", 1, &a));
    settle(&f);
    f.now_ms += 2 * 86400000;
    CHECK_OK(put_score(&f, "ann", 1, &a)); /* a tick goes before it */
    settle(&f);
    CHECK_EQ_U64(a.seq, 5); /* rules, board, score, tick, score */
    CHECK_EQ_U64(closed_days(&f), 1);
    f.now_ms += 2 * 86400000;
    rung_hub_tick(f.hub);
    rung_hub_tick(f.hub); /* not twice */
    settle(&f);
    CHECK_EQ_U64(closed_days(&f), 2);
    CHECK_EQ_U64(rung_state_seq(rung_hub_state(f.hub)), 6);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

/* ---- random histories ---- */

static void count_call(void *ctx, rung_status st, const rung_outcome *outcome,
                       const rung_err *err) {
    CHECK(outcome != NULL);
    CHECK((st < 0) == (err->code < 0) || st >= 0);
    ++*(uint32_t *)ctx;
}

/* The same events, in the same batches, beside the disk and waiting for it. */
TEST(both_drivers_agree) {
    enum { STEPS = 3000 };
    for (uint64_t seed = test_seed(1), last = seed + 3; seed < last; seed++) {
        fixture f;
        rung_rng r;
        history_gen *g = history_gen_create(seed);
        const history_taste *taste = history_gen_taste(g);
        rung_hub *other;
        static rung_event e, copy;
        rung_err err;
        uint32_t put = 0, answered = 0, also_answered = 0;
        rung_rng_seed(&r, seed);
        begin(&f);
        f.config.path = "data";
        f.now_ms = taste->start_ms;
        f.config.id_capacity = taste->id_capacity;
        f.config.id_keep_ms = taste->id_keep_ms;
        open_hub(&f);
        settle(&f);
        rung_hub_config config = f.config;
        config.path = "other";
        config.is_inline = true;
        config.segment_size = (uint64_t)4 << 20;
        CHECK_OK(rung_hub_open(&config, &other, &err));
        for (uint32_t i = 0; i < STEPS; i++) {
            history_gen_next(g, &e);
            copy = e;
            if (is_idle(other))
                f.now_ms = e.ts_ms;
            rung_status st = rung_hub_put(f.hub, &e, count_call, &answered, &err);
            CHECK_STATUS(rung_hub_put(other, &copy, count_call, &also_answered, &err), st);
            put += st == RUNG_OK;
            bool is_begun = !is_idle(other);
            if (is_begun && rung_rng_below(&r, 6) && room(other) > 0)
                continue;
            rung_hub_flush(other);
            CHECK(is_idle(other));
            settle(&f);
        }
        rung_hub_flush(other);
        settle(&f);
        CHECK_EQ_U64(answered, put);
        CHECK_EQ_U64(also_answered, put);
        rung_digest want = rung_state_digest(rung_hub_state(other)),
                    got = rung_state_digest(rung_hub_state(f.hub));
        CHECK_EQ_U64(got.a, want.a);
        CHECK_EQ_U64(got.b, want.b);
        CHECK_OK(rung_hub_close(f.hub, &err));
        open_hub(&f); /* and so does the log */
        got = rung_state_digest(rung_hub_state(f.hub));
        CHECK_EQ_U64(got.a, want.a);
        CHECK_OK(rung_hub_close(f.hub, &err));
        CHECK_OK(rung_hub_close(other, &err));
        history_gen_destroy(g);
        end(&f);
    }
}

/* Without waiting for anything: whatever the batches were, the log gives the same state again. */
TEST(the_log_gives_the_same_state_again) {
    enum { LIVES = 4, STEPS = 1500 };
    fixture f;
    rung_rng r;
    history_gen *g = history_gen_create(test_seed(7));
    static rung_event e;
    rung_digest digest = {0, 0};
    uint64_t seq = 1; /* a new folder begins with the rules */
    rung_rng_seed(&r, test_seed(7));
    begin(&f);
    f.config.path = "data";
    for (int life = 0; life < LIVES; life++) {
        uint32_t put = 0, answered = 0;
        open_hub(&f);
        CHECK_EQ_U64(rung_state_seq(rung_hub_state(f.hub)), seq);
        if (life)
            CHECK_EQ_U64(rung_state_digest(rung_hub_state(f.hub)).a, digest.a);
        for (uint32_t i = 0; i < STEPS; i++) {
            history_gen_next(g, &e);
            f.now_ms = e.ts_ms > f.now_ms ? e.ts_ms : f.now_ms;
            put += rung_hub_put(f.hub, &e, count_call, &answered, NULL) == RUNG_OK;
            uint64_t what = rung_rng_below(&r, 16);
            if (what == 0)
                rung_hub_turn(f.hub);
            else if (what < 4)
                rung_hub_flush(f.hub);
            else if (what == 4)
                rung_hub_tick(f.hub);
        }
        settle(&f);
        CHECK_EQ_U64(answered, put);
        CHECK_SOUND(rung_state_check(rung_hub_state(f.hub)));
        digest = rung_state_digest(rung_hub_state(f.hub));
        seq = rung_state_seq(rung_hub_state(f.hub));
        CHECK_OK(rung_hub_close(f.hub, NULL));
    }
    history_gen_destroy(g);
    end(&f);
}

/* A new folder has our rules from its first event on; a folder opened again has them already. */
TEST(a_folder_is_raised_to_our_rules) {
    fixture f;
    begin(&f);
    f.config.path = "data";
    open_hub(&f);
    CHECK_EQ_U64(rung_state_rules(rung_hub_state(f.hub)), RUNG_RULES_LEVEL);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    open_hub(&f);
    CHECK_EQ_U64(rung_state_rules(rung_hub_state(f.hub)), RUNG_RULES_LEVEL);
    CHECK(is_idle(f.hub));
    CHECK_OK(rung_hub_close(f.hub, NULL));
    f.config.path = NULL;
    open_hub(&f);
    CHECK_EQ_U64(rung_state_rules(rung_hub_state(f.hub)), RUNG_RULES_LEVEL);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

/* What a version wrote that knew of no levels: its events keep their meaning, those behind them have the new one. */
TEST(a_folder_of_an_older_version_is_raised) {
    fixture f;
    storekit k;
    rung_err err;
    const char *far = "01a1b2c3-0000-7000-8000-000000000001"; /* a UUIDv7, dated below */
    begin(&f);
    int64_t ahead_ms = (INT64_C(0x01a1b2c3) << 16);
    f.now_ms = ahead_ms - 3600000;
    rung_store_config old = {.fs = f.config.fs,
                             .alloc = rung_alloc_heap(),
                             .path = "data",
                             .segment_size = f.config.segment_size,
                             .state = {.alloc = rung_alloc_heap()}};
    CHECK_OK(storekit_open(&k, &old, &err));
    k.now_ms = f.now_ms;
    rung_event board = {.kind = RUNG_EVENT_BOARD_DEFINED, .defined = {.board = RACE}};
    rung_event score = {.kind = RUNG_EVENT_SCORE,
                        .score = {.board = RACE,
                                  .player = RUNG_SLICE("ann"),
                                  .value_count = 1,
                                  .values = {{.i = 7}},
                                  .id = rung_slice_str(far)}};
    board.defined.def = rung_board_def_default();
    CHECK_OK(storekit_submit(&k, &board, &err));
    CHECK_OK(storekit_submit(&k, &score, &err));
    CHECK_OK(storekit_close(&k, &err));

    f.config.path = "data";
    open_hub(&f);
    const rung_state *s = rung_hub_state(f.hub);
    CHECK_EQ_U64(rung_state_seq(s), 3);
    CHECK_EQ_U64(rung_state_rules(s), RUNG_RULES_LEVEL);
    answer a = {.hub = f.hub};
    CHECK_OK(rung_hub_put(f.hub, &score, on_answer, &a, &err));
    settle(&f);
    CHECK_STATUS(a.st, RUNG_DUPLICATE); /* taken before: it is remembered */
    a = (answer){.hub = f.hub};
    score.score.id = RUNG_SLICE("01a1b2c3-0000-7000-8000-000000000002");
    CHECK_OK(rung_hub_put(f.hub, &score, on_answer, &a, &err));
    settle(&f);
    CHECK_STATUS(a.st, RUNG_EFUTURE);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    open_hub(&f);
    CHECK_EQ_U64(rung_state_seq(rung_hub_state(f.hub)), 5);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    end(&f);
}

/* A folder keeps how many ids it remembers; who wants it otherwise puts an event. */
TEST(a_folder_keeps_its_memory_for_ids) {
    fixture f;
    rung_stats stats;
    begin(&f);
    f.config.path = "data";
    open_hub(&f);
    rung_state_stats(rung_hub_state(f.hub), &stats);
    CHECK_EQ_U64(stats.id_capacity, 1000000);
    CHECK_EQ_I64(stats.id_keep_ms, 86400000);
    settle(&f);
    CHECK_EQ_U64(rung_state_seq(rung_hub_state(f.hub)), 1); /* the rules */
    CHECK_OK(rung_hub_close(f.hub, NULL));
    f.config.id_capacity = 7;
    open_hub(&f);
    settle(&f);
    rung_state_stats(rung_hub_state(f.hub), &stats);
    CHECK_EQ_U64(stats.id_capacity, 7);
    CHECK_EQ_U64(stats.seq, 2);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    f.config.id_capacity = 0;
    open_hub(&f);
    rung_state_stats(rung_hub_state(f.hub), &stats);
    CHECK_EQ_U64(stats.id_capacity, 7);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    f.config.id_capacity = 7;
    f.config.id_keep_ms = 86400000;
    open_hub(&f);
    CHECK(is_idle(f.hub)); /* nothing to change */
    CHECK_OK(rung_hub_close(f.hub, NULL));
    f.config.id_keep_ms = -1;
    CHECK_STATUS(rung_hub_open(&f.config, &f.hub, NULL), RUNG_EINVAL);
    end(&f);
}

/* ---- snapshots, on real files: the child's writes must be seen here ---- */

typedef struct disk {
    archive_dir dir;
    fixture f;
} disk;

static void open_on_files(disk *d, uint32_t sync_every_ms) {
    archive_dir_init(&d->dir);
    begin(&d->f);
    d->f.config.fs = NULL;
    d->f.config.path = d->dir.dir;
    d->f.config.sync_every_ms = sync_every_ms;
    d->f.config.snapshot_every = UINT64_MAX;
    open_hub(&d->f);
}

static void close_files(disk *d) {
    CHECK_OK(rung_hub_close(d->f.hub, NULL));
    archive_dir_deinit(&d->dir);
    end(&d->f);
}

/* By so many players in turn. */
static void score_by(fixture *f, uint32_t n, uint32_t players) {
    answer a;
    for (uint32_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", i % players);
        CHECK_OK(put_score(f, name, 1, &a));
        if (i % 7 == 0)
            settle(f);
    }
    settle(f);
}

static void score_some(fixture *f, uint32_t n) {
    score_by(f, n, 100);
}

static void wait_snapshot(fixture *f, uint64_t count) {
    while (rung_hub_stat(f->hub).snapshots < count) {
        CHECK_EQ_U64(rung_hub_stat(f->hub).snapshot_failures, 0);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        rung_hub_turn(f->hub);
        rung_hub_tick(f->hub);
    }
}

static void check_snapshots(uint32_t sync_every_ms) {
    disk d;
    rung_err err;
    open_on_files(&d, sync_every_ms);
    fixture *f = &d.f;
    define_race(f);
    for (uint64_t i = 1; i <= 3; i++) {
        score_some(f, 300);
        answer a;
        CHECK_OK(put_score(f, "ann", 1, &a)); /* in flight when it begins */
        rung_hub_flush(f->hub);
        CHECK_OK(rung_hub_snapshot(f->hub, &err));
        CHECK_STATUS(rung_hub_snapshot(f->hub, &err), RUNG_EBUSY);
        score_some(f, 50);
        wait_snapshot(f, i);
        CHECK_EQ_U64(a.calls, 1);
        CHECK_OK(a.st);
        CHECK(rung_hub_stat(f->hub).snapshot_seq > 300 * i);
    }
    rung_digest digest = rung_state_digest(rung_hub_state(f->hub));
    uint64_t newest = rung_hub_stat(f->hub).snapshot_seq;
    CHECK_OK(rung_hub_close(f->hub, NULL));
    open_hub(f);
    CHECK_EQ_U64(rung_hub_stat(f->hub).snapshot_seq, newest);
    CHECK_EQ_U64(rung_state_digest(rung_hub_state(f->hub)).a, digest.a);
    close_files(&d);
}

TEST(snapshots_beside_the_work) {
    check_snapshots(0);
}

TEST(snapshots_of_a_log_that_is_synced_now_and_then) {
    check_snapshots(10000);
}

enum { SNAPSHOT_EVERY = 1 << 16 };

static void open_with_snapshots(disk *d) {
    open_on_files(d, 0);
    CHECK_OK(rung_hub_close(d->f.hub, NULL));
    d->f.config.snapshot_every = SNAPSHOT_EVERY;
    open_hub(&d->f);
    define_race(&d->f);
}

TEST(snapshots_come_by_themselves) {
    disk d;
    open_with_snapshots(&d);
    score_some(&d.f, 2000);
    wait_snapshot(&d.f, 1);
    score_some(&d.f, 2000);
    wait_snapshot(&d.f, 2);
    close_files(&d);
}

TEST(snapshots_come_after_some_time) {
    disk d;
    open_on_files(&d, 0);
    CHECK_OK(rung_hub_close(d.f.hub, NULL));
    d.f.config.snapshot_every_ms = 60000;
    open_hub(&d.f);
    define_race(&d.f);
    score_some(&d.f, 10);
    rung_hub_tick(d.f.hub);
    CHECK(!rung_hub_stat(d.f.hub).is_snapshotting);
    d.f.now_ms += 60000;
    wait_snapshot(&d.f, 1);
    d.f.now_ms += 120000;
    rung_hub_tick(d.f.hub);
    CHECK(!rung_hub_stat(d.f.hub).is_snapshotting); /* nothing has changed */
    close_files(&d);
}

/* A large state is not copied for a little log. */
TEST(snapshots_wait_until_the_log_is_worth_one) {
    disk d;
    rung_stats now;
    open_with_snapshots(&d);
    score_by(&d.f, 1500, 1500);
    rung_state_stats(rung_hub_state(d.f.hub), &now);
    uint64_t state_bytes = now.bytes_players + now.bytes_entries;
    CHECK(rung_hub_stat(d.f.hub).log_bytes > SNAPSHOT_EVERY);
    CHECK(rung_hub_stat(d.f.hub).log_bytes < state_bytes);
    rung_hub_tick(d.f.hub);
    CHECK(!rung_hub_stat(d.f.hub).is_snapshotting);
    while (rung_hub_stat(d.f.hub).log_bytes < state_bytes)
        score_by(&d.f, 100, 100);
    wait_snapshot(&d.f, 1);
    close_files(&d);
}

/* Every byte of log counts as a twentieth of a microsecond as long as little was measured. */
TEST(snapshots_come_when_a_replay_would_take_long) {
    disk d;
    open_on_files(&d, 0);
    CHECK_OK(rung_hub_close(d.f.hub, NULL));
    d.f.config.recovery_target_ms = 8;
    open_hub(&d.f);
    define_race(&d.f);
    score_some(&d.f, 1000);
    rung_hub_tick(d.f.hub);
    CHECK(!rung_hub_stat(d.f.hub).is_snapshotting);
    CHECK(rung_hub_stat(d.f.hub).replay_ms < 8);
    while (rung_hub_stat(d.f.hub).replay_ms < 8)
        score_some(&d.f, 500);
    wait_snapshot(&d.f, 1);
    CHECK_EQ_I64(rung_hub_stat(d.f.hub).replay_ms, 0);
    close_files(&d);
}

/* Opened with that target, changed, closed, and opened again: is there a snapshot? */
static bool leaves_snapshot(uint32_t sync_every_ms, uint64_t target_ms, uint32_t events) {
    disk d;
    open_on_files(&d, sync_every_ms);
    CHECK_OK(rung_hub_close(d.f.hub, NULL));
    d.f.config.recovery_target_ms = target_ms;
    open_hub(&d.f);
    define_race(&d.f);
    score_some(&d.f, events);
    uint64_t seq = rung_state_seq(rung_hub_state(d.f.hub));
    CHECK_OK(rung_hub_close(d.f.hub, NULL));
    open_hub(&d.f);
    CHECK_EQ_U64(rung_state_seq(rung_hub_state(d.f.hub)), seq);
    uint64_t snapshot = rung_hub_stat(d.f.hub).snapshot_seq;
    CHECK(snapshot == 0 || snapshot == seq);
    close_files(&d);
    return snapshot > 0;
}

TEST(the_last_snapshot_is_written_at_the_close) {
    CHECK(leaves_snapshot(0, 45, 4000));
    CHECK(leaves_snapshot(10000, 45, 4000)); /* what is not durable yet is synced first */
    CHECK(!leaves_snapshot(0, 45, 100));     /* not worth one */
    CHECK(!leaves_snapshot(0, 0, 4000));
}

/* ---- the follower ---- */

typedef struct follower {
    rung_hub_follower port;
    uint64_t next_seq; /* of the event that must come next */
    uint64_t needed_from, snapshot_before;
    uint32_t begins, ends, befores, closes, catch_ups;
    rung_status begin_answer;
} follower;

static rung_status on_begin(void *ctx, rung_log *log, const uint8_t log_id[16], uint64_t first_seq,
                            uint64_t state_seq, const rung_state *state, rung_err *err) {
    follower *w = ctx;
    CHECK(log && log_id && state);
    CHECK(first_seq <= state_seq + 1);
    CHECK_EQ_U64(rung_state_seq(state), state_seq);
    if (w->begin_answer < 0)
        return RUNG_FAIL(err, w->begin_answer, "the follower says no");
    w->begins++;
    w->next_seq = state_seq + 1;
    return RUNG_OK;
}

static void on_before(void *ctx, const rung_state *state, int64_t ts_ms) {
    follower *w = ctx;
    CHECK_EQ_U64(rung_state_seq(state) + 1, w->next_seq);
    CHECK(ts_ms >= NOON);
    w->befores++;
}

static void on_applied(void *ctx, uint64_t first_seq, uint32_t count,
                       const rung_event *const *events, const rung_status *statuses,
                       const rung_outcome *outcomes) {
    follower *w = ctx;
    CHECK_EQ_U64(first_seq, w->next_seq);
    CHECK(count > 0 && events[count - 1]->kind > 0 && statuses[0] != RUNG_ENOMEM && outcomes);
    w->next_seq += count;
}

static void on_close_window(void *ctx, rung_slice board, const rung_view *view) {
    follower *w = ctx;
    CHECK(board.len > 0 && view->total > 0);
    w->closes++;
}

static void on_catch_up(void *ctx) {
    ((follower *)ctx)->catch_ups++;
}

static uint64_t on_needed_from(void *ctx) {
    return ((follower *)ctx)->needed_from;
}

static uint64_t on_snapshot_before(void *ctx) {
    return ((follower *)ctx)->snapshot_before;
}

static void on_end(void *ctx) {
    ((follower *)ctx)->ends++;
}

static void make_follower(follower *w) {
    *w = (follower){.port = {.ctx = w,
                             .begin = on_begin,
                             .before = on_before,
                             .applied = on_applied,
                             .on_close = on_close_window,
                             .catch_up = on_catch_up,
                             .needed_from = on_needed_from,
                             .snapshot_before = on_snapshot_before,
                             .end = on_end},
                    .needed_from = UINT64_MAX,
                    .snapshot_before = UINT64_MAX};
}

TEST(a_follower_hears_of_every_event_live_and_replayed) {
    fixture f;
    follower w;
    rung_err err = {0};
    make_follower(&w);
    begin(&f);
    f.config.path = "data";
    f.config.follower = &w.port;
    open_hub(&f);
    define_race(&f);
    for (int day = 0; day < 3; day++) {
        score_some(&f, 100);
        f.now_ms += 2 * 86400000;
        rung_hub_tick(f.hub);
        settle(&f);
    }
    uint64_t seq = rung_state_seq(rung_hub_state(f.hub));
    CHECK_EQ_U64(w.next_seq, seq + 1);
    CHECK_EQ_U64(w.closes, 3);
    CHECK_EQ_U64(w.befores, 4); /* each time the clock had moved */
    CHECK_OK(rung_hub_close(f.hub, NULL));
    CHECK_EQ_U64(w.ends, 1);
    open_hub(&f);
    CHECK_EQ_U64(w.next_seq, seq + 1);
    CHECK_EQ_U64(w.closes, 6);
    CHECK_EQ_U64(w.befores, 8);
    CHECK(w.catch_ups > 0);
    CHECK_OK(rung_hub_close(f.hub, NULL));
    CHECK_EQ_U64(w.ends, 2);
    w.begin_answer = RUNG_ECONFLICT;
    CHECK_STATUS(rung_hub_open(&f.config, &f.hub, &err), RUNG_ECONFLICT);
    CHECK_EQ_U64(w.begins, 2);
    CHECK_EQ_U64(w.ends, 2);
    end(&f);
}

static uint64_t first_in_log(const disk *d) {
    rung_segment_log *log;
    rung_err err;
    rung_segment_log_config c = {.fs = rung_fs_posix(),
                                 .alloc = rung_alloc_heap(),
                                 .path = d->dir.dir,
                                 .segment_size = d->f.config.segment_size};
    CHECK_OK(rung_segment_log_open(&c, &log, &err));
    uint64_t first = rung_segment_log_stat(log).first_seq;
    CHECK_OK(rung_segment_log_close(log, NULL));
    return first;
}

static void fill_some_segments(fixture *f) {
    static char meta[4096];
    answer a = {.hub = f->hub};
    memset(meta, 'x', sizeof meta);
    rung_event e = score_event(RUNG_SLICE("ann"), 1);
    e.score.meta = rung_slice_of(meta, sizeof meta);
    for (int i = 0; i < 600; i++) {
        CHECK_OK(rung_hub_put(f->hub, &e, on_answer, &a, NULL));
        if (i % 16 == 0)
            settle(f);
    }
    settle(f);
}

TEST(a_follower_holds_back_snapshots_and_keeps_the_log) {
    disk d;
    follower w;
    rung_err err = {0};
    make_follower(&w);
    open_on_files(&d, 0);
    CHECK_OK(rung_hub_close(d.f.hub, NULL));
    d.f.config.follower = &w.port;
    open_hub(&d.f);
    define_race(&d.f);
    w.needed_from = 1;
    w.snapshot_before = 2;
    fill_some_segments(&d.f);
    CHECK_STATUS(rung_hub_snapshot(d.f.hub, &err), RUNG_EBUSY);
    w.snapshot_before = UINT64_MAX;
    for (uint64_t i = 1; i <= 2; i++) {
        CHECK_OK(rung_hub_snapshot(d.f.hub, &err));
        wait_snapshot(&d.f, i);
        fill_some_segments(&d.f);
    }
    for (int i = 0; i < 30; i++)
        rung_hub_tick(d.f.hub);
    CHECK_OK(rung_hub_close(d.f.hub, NULL));
    CHECK_EQ_U64(first_in_log(&d), 1);
    w.needed_from = UINT64_MAX;
    open_hub(&d.f);
    for (int i = 0; i < 30; i++)
        rung_hub_tick(d.f.hub);
    CHECK_OK(rung_hub_close(d.f.hub, NULL));
    CHECK(first_in_log(&d) > 1);
    open_hub(&d.f);
    close_files(&d);
}

/* ---- memory ---- */

TEST(opening_without_memory_fails_whole) {
    for (uint64_t n = 1;; n++) {
        rung_failalloc fa;
        fixture f;
        rung_err err = {0};
        rung_failalloc_init(&fa);
        rung_failalloc_fail_at(&fa, n, false);
        begin(&f);
        f.config.fs = NULL;
        f.config.alloc = rung_failalloc_port(&fa);
        rung_status st = rung_hub_open(&f.config, &f.hub, &err);
        if (st == RUNG_OK)
            CHECK_OK(rung_hub_close(f.hub, NULL));
        else
            CHECK_STATUS(st, RUNG_ENOMEM);
        rung_failalloc_deinit(&fa);
        end(&f);
        if (fa.failed_count == 0)
            break;
    }
}

/* In memory a score that found none did not happen, and the next may. */
TEST(a_score_without_memory_is_refused_alone) {
    rung_failalloc fa;
    fixture f;
    answer a, b;
    rung_failalloc_init(&fa);
    begin(&f);
    f.config.fs = NULL;
    f.config.alloc = rung_failalloc_port(&fa);
    open_hub(&f);
    define_race(&f);
    uint32_t refused = 0;
    for (uint32_t i = 0; i < 200; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", i);
        CHECK_OK(put_score(&f, name, 1, &a));
        snprintf(name, sizeof name, "q%u", i);
        CHECK_OK(put_score(&f, name, 1, &b));
        rung_failalloc_fail_at(&fa, 1, false);
        settle(&f);
        rung_failalloc_fail_at(&fa, 0, false);
        CHECK_EQ_U64(a.calls, 1);
        CHECK_EQ_U64(b.calls, 1);
        CHECK(a.st == RUNG_OK || (a.st == RUNG_ENOMEM && !a.has_outcome));
        CHECK(b.st == RUNG_OK || (b.st == RUNG_ENOMEM && !b.has_outcome));
        refused += a.st == RUNG_ENOMEM;
    }
    CHECK(refused > 0);
    CHECK_SOUND(rung_state_check(rung_hub_state(f.hub)));
    CHECK_OK(rung_hub_close(f.hub, NULL));
    rung_failalloc_deinit(&fa);
    end(&f);
}

RUNG_TEST_MAIN
