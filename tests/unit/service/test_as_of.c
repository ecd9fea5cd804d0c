/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of helpers on a fake port: moments, turns, room, deadlines, failures, the rate of starts, stopping. */
#include "service/as_of.h"

#include "base/fair.h"
#include "support/check.h"

#include <string.h>

enum { HELPERS_MAX = 64 };

struct rung_helper {
    struct world *world;
    rung_moment moment;
    bool is_used, is_ended, is_cut;
};

typedef struct world {
    rung_as_of *pool;
    int64_t now_ms, look_at_ms; /* -1: no look is due */
    rung_asker_work *works[RUNG_AS_OF_PROCESSES_MAX];
    struct rung_helper helpers[HELPERS_MAX];
    uint32_t started, live;
    rung_status look_status, ask_status, start_status;
    rung_err err;
    rung_helper_port port;
} world;

typedef struct asking {
    rung_past_question q; /* first */
    uint32_t done;
    char answer[32];
} asking;

static rung_status start(void *ctx, const rung_moment *moment, rung_helper **out, rung_err *err) {
    world *w = ctx;
    if (w->start_status < 0)
        return RUNG_FAIL(err, w->start_status, "cannot start");
    CHECK(w->started < HELPERS_MAX);
    rung_helper *h = &w->helpers[w->started++];
    *h = (rung_helper){.world = w, .moment = *moment, .is_used = true};
    w->live++;
    *out = h;
    return RUNG_OK;
}

static rung_status look(rung_helper *h, uint32_t *percent_out, rung_err *err) {
    *percent_out = 42;
    if (h->is_cut)
        return RUNG_FAIL(err, RUNG_EIO, "cut");
    return h->world->look_status < 0 ? RUNG_FAIL_FIELD_WHY(err, h->world->look_status,
                                                           RUNG_REASON_TOO_OLD, "as_of", "old")
                                     : h->world->look_status;
}

static rung_status ask(rung_helper *h, rung_past_protocol protocol, rung_slice request,
                       rung_helper_answer *out, rung_err *err) {
    CHECK(protocol == RUNG_PAST_HTTP);
    if (h->is_cut || h->world->ask_status < 0)
        return RUNG_FAIL(err, RUNG_EIO, "no answer");
    *out = (rung_helper_answer){.status = 200, .bytes = request};
    return RUNG_OK;
}

static void cut(rung_helper *h) {
    h->is_cut = true;
}

static void end(rung_helper *h) {
    CHECK(!h->is_ended);
    h->is_ended = true;
    h->world->live--;
}

static bool work(void *ctx, uint32_t helper, rung_asker_work *w) {
    rung_asker_work **works = ((world *)ctx)->works;
    CHECK(!works[helper]);
    works[helper] = w;
    return true;
}

static void look_in(void *ctx, uint32_t ms) {
    world *w = ctx;
    w->look_at_ms = w->now_ms + ms;
}

static int64_t now_ms(void *ctx) {
    return ((world *)ctx)->now_ms;
}

static void world_init(world *w, uint32_t processes, rung_rate_limit rate) {
    *w = (world){.now_ms = 1000, .look_at_ms = -1};
    w->port = (rung_helper_port){
        .start = start, .look = look, .ask = ask, .cut = cut, .end = end, .ctx = w};
    rung_as_of_config config = {.alloc = rung_alloc_heap(),
                                .port = &w->port,
                                .processes = processes,
                                .idle_ms = 60000,
                                .wait_ms = 500,
                                .rate = rate,
                                .work = work,
                                .look_in = look_in,
                                .now_ms = now_ms,
                                .ctx = w};
    CHECK_OK(rung_as_of_create(&config, &w->pool, &w->err));
}

/* All that can be done by `until_ms`. */
static void run_until(world *w, int64_t until_ms) {
    for (;;) {
        bool did = false;
        for (uint32_t i = 0; i < RUNG_AS_OF_PROCESSES_MAX; i++) {
            rung_asker_work *job = w->works[i];
            w->works[i] = NULL;
            if (job) {
                job->run(job);
                job->done(job);
                did = true;
            }
        }
        if (did)
            continue;
        if (w->look_at_ms < 0 || w->look_at_ms > until_ms)
            break;
        w->now_ms = w->look_at_ms > w->now_ms ? w->look_at_ms : w->now_ms;
        w->look_at_ms = -1;
        rung_as_of_look(w->pool);
    }
    w->now_ms = until_ms;
}

static void done(rung_past_question *q) {
    asking *a = (asking *)q;
    a->done++;
    if (q->status == RUNG_OK) {
        CHECK(q->answer.bytes.len < sizeof a->answer);
        memcpy(a->answer, q->answer.bytes.ptr, q->answer.bytes.len);
    }
}

static rung_status put(world *w, asking *a, uint64_t seq, const char *text, uint32_t share) {
    *a = (asking){
        .q = {
            .moment = {.seq = seq}, .request = rung_slice_str(text), .share = share, .done = done}};
    return rung_as_of_put(w->pool, &a->q, &w->err);
}

static void world_end(world *w) {
    rung_as_of_stop(w->pool);
    run_until(w, w->now_ms);
    CHECK(!rung_as_of_is_busy(w->pool));
    rung_as_of_destroy(w->pool);
    CHECK_EQ_U64(w->live, 0);
}

TEST(one_helper_answers_all_questions_of_a_moment) {
    world w;
    asking a[5];
    char text[5][8] = {"a", "b", "c", "d", "e"};
    world_init(&w, 2, (rung_rate_limit){0});
    for (int i = 0; i < 5; i++)
        CHECK_OK(put(&w, &a[i], 7, text[i], 1));
    CHECK_EQ_U64(a[0].done, 0); /* never before put returns */
    run_until(&w, 1400);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ_U64(a[i].done, 1);
        CHECK_EQ_STR(a[i].answer, text[i]);
    }
    CHECK_EQ_U64(w.started, 1);
    CHECK_EQ_U64(rung_as_of_stat(w.pool).helpers, 1);
    run_until(&w, 70000); /* idle */
    CHECK_EQ_U64(w.live, 0);
    world_end(&w);
}

TEST(the_least_recently_used_makes_room) {
    world w;
    asking a;
    world_init(&w, 2, (rung_rate_limit){0});
    uint64_t seqs[] = {1, 2, 1, 3, 1, 2};
    for (size_t i = 0; i < sizeof seqs / sizeof seqs[0]; i++) {
        CHECK_OK(put(&w, &a, seqs[i], "q", 1));
        run_until(&w, w.now_ms + 300);
        CHECK(a.done == 1 && a.q.status == RUNG_OK);
        CHECK(w.live <= 2);
    }
    CHECK_EQ_U64(w.started, 4); /* 1, 2, 3 instead of 2, 2 instead of 3 */
    world_end(&w);
}

TEST(a_long_build_is_told_and_goes_on) {
    world w;
    asking a, b;
    world_init(&w, 1, (rung_rate_limit){0});
    w.look_status = RUNG_PARTIAL;
    CHECK_OK(put(&w, &a, 1, "a", 1));
    run_until(&w, 1600);
    CHECK(a.done == 1 && a.q.status == RUNG_EBUSY && a.q.err.reason == RUNG_REASON_BUILDING);
    CHECK_EQ_U64(a.q.percent, 42);
    CHECK_EQ_U64(w.live, 1);
    /* Another moment does not take its place. */
    CHECK_OK(put(&w, &b, 2, "b", 2));
    run_until(&w, 2200);
    CHECK(b.done == 1 && b.q.err.reason == RUNG_REASON_BUILDING && b.q.percent == 0);
    w.look_status = RUNG_OK;
    CHECK_OK(put(&w, &a, 1, "a", 1));
    run_until(&w, 2700);
    CHECK(a.done == 1 && a.q.status == RUNG_OK && w.started == 1);
    world_end(&w);
}

TEST(a_late_look_begins_the_helper) {
    world w;
    asking a;
    world_init(&w, 1, (rung_rate_limit){0});
    CHECK_OK(put(&w, &a, 1, "a", 1));
    w.now_ms += 10000; /* the loop was busy for longer than the question waits */
    rung_as_of_look(w.pool);
    CHECK(a.done == 1 && a.q.err.reason == RUNG_REASON_BUILDING);
    CHECK_EQ_U64(w.started, 1);
    world_end(&w);
}

TEST(failures_are_told_to_all_and_remembered_for_a_moment) {
    world w;
    asking a, b, c;
    world_init(&w, 2, (rung_rate_limit){0});
    w.look_status = RUNG_EABSENT;
    CHECK_OK(put(&w, &a, 1, "a", 1));
    CHECK_OK(put(&w, &b, 1, "b", 2));
    run_until(&w, 1200);
    CHECK(a.q.status == RUNG_EABSENT && b.q.err.reason == RUNG_REASON_TOO_OLD);
    CHECK_EQ_U64(w.live, 0);
    CHECK_OK(put(&w, &c, 1, "c", 1));
    run_until(&w, 1300);
    CHECK(c.done == 1 && c.q.status == RUNG_EABSENT && w.started == 1);
    run_until(&w, 9000);
    w.look_status = RUNG_OK;
    CHECK_OK(put(&w, &c, 1, "c", 1));
    run_until(&w, 9400);
    CHECK(c.q.status == RUNG_OK && w.started == 2);
    w.ask_status = RUNG_EIO; /* it dies */
    CHECK_OK(put(&w, &a, 1, "a", 1));
    run_until(&w, 9800);
    CHECK(a.q.status == RUNG_EIO && w.live == 0);
    w.start_status = RUNG_EIO;
    CHECK_OK(put(&w, &b, 5, "b", 1));
    run_until(&w, 9900);
    CHECK(b.done == 1 && b.q.status == RUNG_EIO);
    world_end(&w);
}

TEST(starts_are_bounded_whoever_asks) {
    world w;
    asking a[12];
    world_init(&w, 16, (rung_rate_limit){.count = 3, .period_ms = 60000});
    for (uint32_t i = 0; i < 12; i++)
        CHECK_OK(put(&w, &a[i], i + 1, "a", i + 1));
    run_until(&w, 3000);
    CHECK_EQ_U64(w.started, 3);
    for (uint32_t i = 0; i < 12; i++)
        CHECK(a[i].done == 1);
    CHECK_OK(put(&w, &a[0], 100, "a", 1));
    run_until(&w, 3400);
    CHECK_EQ_U64(w.started, 3);
    run_until(&w, 30000);
    CHECK_OK(put(&w, &a[1], 100, "a", 1));
    run_until(&w, 30400);
    CHECK(w.started == 4 && a[1].q.status == RUNG_OK);
    world_end(&w);
}

TEST(one_sender_cannot_take_all_places) {
    world w;
    static asking many[RUNG_AS_OF_WAITING_MAX];
    asking other;
    uint32_t taken = 0;
    world_init(&w, 1, (rung_rate_limit){0});
    w.look_status = RUNG_PARTIAL;
    while (put(&w, &many[taken], 1, "m", 1) == RUNG_OK)
        taken++;
    CHECK(taken > 1 && taken < RUNG_AS_OF_WAITING_MAX);
    CHECK(w.err.code == RUNG_ELIMIT && w.err.reason == RUNG_REASON_OVERLOADED);
    CHECK_OK(put(&w, &other, 1, "o", 2));
    w.look_status = RUNG_OK;
    w.look_at_ms = w.now_ms;
    run_until(&w, 1490);
    CHECK_EQ_STR(other.answer, "o");
    world_end(&w);
}

TEST(a_stop_refuses_and_ends) {
    world w;
    asking a, b;
    world_init(&w, 1, (rung_rate_limit){0});
    w.look_status = RUNG_PARTIAL;
    CHECK_OK(put(&w, &a, 1, "a", 1));
    w.now_ms = 1005;
    rung_as_of_look(w.pool);
    w.now_ms = 1010;
    rung_as_of_look(w.pool); /* a look is in another thread now */
    CHECK(rung_as_of_is_busy(w.pool));
    rung_as_of_stop(w.pool);
    CHECK(a.done == 1 && a.q.status == RUNG_ECLOSED);
    CHECK_STATUS(put(&w, &b, 1, "b", 1), RUNG_ECLOSED);
    world_end(&w);
}

RUNG_TEST_MAIN
