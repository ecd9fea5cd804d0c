/* SPDX-License-Identifier: Apache-2.0 */
/* The loop port: timers over a clock that stands still, then the server's loop on libuv. Streams are tested through
 * the net (test_net.c). */
#include "front/net/loop.h"

#include "front/net/uv_loop.h"
#include "support/check.h"
#include "support/failalloc.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* ---- timers ---- */

typedef struct fake {
    rung_loop loop;
    uint64_t alarm_ms;
    char told[64];
} fake;

static void fake_alarm(rung_loop *l, uint64_t due_ms) {
    ((fake *)(void *)l)->alarm_ms = due_ms;
}

static const rung_loop_ops fake_ops = {.alarm = fake_alarm};

typedef struct bell {
    rung_timer timer;
    fake *f;
    char name;
    bool stops, starts_again;
} bell;

static void on_bell(void *ctx) {
    bell *b = ctx;
    size_t len = strlen(b->f->told);
    b->f->told[len] = b->name;
    b->f->told[len + 1] = 0;
    if (b->stops)
        rung_timer_stop(&b->f->loop, &b->timer);
    if (b->starts_again)
        rung_timer_start(&b->f->loop, &b->timer, 0, 0);
}

static bell bell_of(fake *f, char name) {
    return (bell){.timer = {.call = on_bell}, .f = f, .name = name};
}

static void pass(fake *f, uint64_t ms) {
    f->loop.now_ms += ms;
    if (f->alarm_ms <= f->loop.now_ms)
        rung_loop_expire(&f->loop);
}

TEST(timers_run_by_time_then_by_start) {
    fake f = {.loop = {.ops = &fake_ops, .now_ms = 1000}, .alarm_ms = UINT64_MAX};
    bell a = bell_of(&f, 'a'), b = bell_of(&f, 'b'), c = bell_of(&f, 'c');
    a.timer.ctx = &a, b.timer.ctx = &b, c.timer.ctx = &c;
    rung_timer_start(&f.loop, &a.timer, 20, 0);
    rung_timer_start(&f.loop, &b.timer, 10, 0);
    rung_timer_start(&f.loop, &c.timer, 20, 0);
    CHECK_EQ_U64(f.alarm_ms, 1010);
    pass(&f, 9);
    CHECK_EQ_STR(f.told, "");
    pass(&f, 1);
    CHECK_EQ_STR(f.told, "b");
    CHECK_EQ_U64(f.alarm_ms, 1020);
    pass(&f, 100);
    CHECK_EQ_STR(f.told, "bac");
    CHECK_EQ_U64(f.alarm_ms, UINT64_MAX);
    CHECK(!a.timer.is_running && !c.timer.is_running);
}

TEST(a_timer_is_stopped_and_moved) {
    fake f = {.loop = {.ops = &fake_ops}, .alarm_ms = UINT64_MAX};
    bell a = bell_of(&f, 'a'), b = bell_of(&f, 'b');
    a.timer.ctx = &a, b.timer.ctx = &b;
    rung_timer_stop(&f.loop, &a.timer);
    rung_timer_start(&f.loop, &a.timer, 5, 0);
    rung_timer_start(&f.loop, &b.timer, 7, 0);
    rung_timer_start(&f.loop, &a.timer, 9, 0);
    CHECK_EQ_U64(f.alarm_ms, 7);
    rung_timer_stop(&f.loop, &b.timer);
    CHECK_EQ_U64(f.alarm_ms, 9);
    rung_timer_stop(&f.loop, &a.timer);
    CHECK_EQ_U64(f.alarm_ms, UINT64_MAX);
    pass(&f, 100);
    CHECK_EQ_STR(f.told, "");
}

TEST(a_timer_repeats_until_it_is_stopped) {
    fake f = {.loop = {.ops = &fake_ops}, .alarm_ms = UINT64_MAX};
    bell a = bell_of(&f, 'a');
    a.timer.ctx = &a;
    rung_timer_start(&f.loop, &a.timer, 5, 10);
    pass(&f, 5);
    pass(&f, 10);
    CHECK_EQ_STR(f.told, "aa");
    a.stops = true;
    pass(&f, 10);
    pass(&f, 100);
    CHECK_EQ_STR(f.told, "aaa");
}

TEST(a_timer_started_by_a_timer_waits_for_another_turn) {
    fake f = {.loop = {.ops = &fake_ops}, .alarm_ms = UINT64_MAX};
    bell a = bell_of(&f, 'a');
    a.timer.ctx = &a;
    a.starts_again = true;
    rung_timer_start(&f.loop, &a.timer, 0, 0);
    pass(&f, 0);
    CHECK_EQ_STR(f.told, "a");
    pass(&f, 0);
    CHECK_EQ_STR(f.told, "aa");
}

/* ---- on libuv ---- */

typedef struct kit {
    rung_failalloc heap;
    rung_loop *loop;
    rung_task task;
    rung_work work;
    rung_timer timer;
    pthread_t worker;
    int signal;
    bool is_run, is_done, is_woken, is_rung;
} kit;

static void kit_start(kit *k) {
    memset(k, 0, sizeof *k);
    rung_failalloc_init(&k->heap);
    CHECK_OK(rung_uv_loop_create(rung_failalloc_port(&k->heap), &k->loop, NULL));
}

static void kit_stop(kit *k) {
    rung_uv_loop_destroy(k->loop);
    rung_failalloc_deinit(&k->heap);
}

static void on_task(void *ctx) {
    kit *k = ctx;
    k->is_woken = true;
    rung_loop_stop(k->loop);
}

static void *wake_main(void *ctx) {
    kit *k = ctx;
    rung_loop_wake(k->loop, &k->task);
    return NULL;
}

TEST(another_thread_wakes_the_loop) {
    kit k;
    pthread_t thread;
    kit_start(&k);
    k.task = (rung_task){.run = on_task, .ctx = &k};
    rung_turn_add(&k.loop->turn, RUNG_PHASE_APPLY, &k.task);
    CHECK(pthread_create(&thread, NULL, wake_main, &k) == 0);
    rung_loop_run(k.loop, RUNG_RUN_UNTIL_STOP);
    CHECK(k.is_woken);
    CHECK(pthread_join(thread, NULL) == 0);
    kit_stop(&k);
}

static void run_work(rung_work *w) {
    kit *k = w->ctx;
    k->worker = pthread_self();
    k->is_run = true;
}

static void work_done(rung_work *w) {
    kit *k = w->ctx;
    k->is_done = true;
    rung_loop_stop(k->loop);
}

TEST(work_runs_elsewhere_and_ends_here) {
    kit k;
    kit_start(&k);
    k.work = (rung_work){.run = run_work, .done = work_done, .ctx = &k};
    CHECK_OK(rung_loop_work(k.loop, &k.work));
    CHECK(!k.is_done);
    rung_loop_run(k.loop, RUNG_RUN_UNTIL_STOP);
    CHECK(k.is_run && k.is_done && !pthread_equal(k.worker, pthread_self()));
    rung_failalloc_fail_at(&k.heap, 1, false);
    CHECK_STATUS(rung_loop_work(k.loop, &k.work), RUNG_ENOMEM);
    kit_stop(&k);
}

static void on_ring(void *ctx) {
    kit *k = ctx;
    k->is_rung = true;
    rung_loop_stop(k->loop);
}

TEST(time_passes) {
    kit k;
    kit_start(&k);
    k.timer = (rung_timer){.call = on_ring, .ctx = &k};
    uint64_t ms = rung_loop_now_ms(k.loop), ns = rung_loop_clock_ns(k.loop);
    rung_timer_start(k.loop, &k.timer, 2, 0);
    rung_loop_run(k.loop, RUNG_RUN_UNTIL_STOP);
    CHECK(k.is_rung && rung_loop_now_ms(k.loop) >= ms + 2);
    CHECK(rung_loop_clock_ns(k.loop) > ns);
    kit_stop(&k);
}

static void hurry_once(void *ctx) {
    kit *k = ctx;
    if (!k->is_rung)
        rung_turn_hurry(&k->loop->turn); /* without this the second turn would wait for ever */
    else
        rung_loop_stop(k->loop);
    k->is_rung = true;
    rung_turn_want(&k->task);
    rung_turn_remove(&k->loop->turn, &k->task); /* it is not due again in this turn */
}

TEST(a_hurried_turn_is_followed_at_once) {
    kit k;
    kit_start(&k);
    k.task = (rung_task){.run = hurry_once, .ctx = &k};
    rung_turn_add(&k.loop->turn, RUNG_PHASE_ANSWER, &k.task);
    rung_turn_want(&k.task);
    rung_loop_run(k.loop, RUNG_RUN_ONCE);
    rung_turn_add(&k.loop->turn, RUNG_PHASE_ANSWER, &k.task);
    rung_loop_run(k.loop, RUNG_RUN_NOWAIT);
    CHECK_EQ_U64(k.loop->turn.number, 2);
    kit_stop(&k);
}

TEST(chance_is_not_the_same_twice) {
    kit k;
    uint64_t a[2] = {0}, b[2] = {0};
    kit_start(&k);
    CHECK_OK(rung_loop_random(k.loop, a, sizeof a));
    CHECK_OK(rung_loop_random(k.loop, b, sizeof b));
    CHECK(memcmp(a, b, sizeof a) != 0);
    kit_stop(&k);
}

static void on_signal(void *ctx, int number) {
    kit *k = ctx;
    k->signal = number;
    rung_loop_stop(k->loop);
}

TEST(a_signal_is_caught) {
    kit k;
    kit_start(&k);
    rung_uv_loop_on_signal(k.loop, SIGUSR2, on_signal, &k);
    CHECK(kill(getpid(), SIGUSR2) == 0);
    rung_loop_run(k.loop, RUNG_RUN_UNTIL_STOP);
    CHECK_EQ_I64(k.signal, SIGUSR2);
    kit_stop(&k);
}

TEST(a_loop_needs_memory) {
    rung_failalloc heap;
    rung_loop *loop = NULL;
    rung_failalloc_init(&heap);
    rung_failalloc_fail_at(&heap, 1, false);
    CHECK_STATUS(rung_uv_loop_create(rung_failalloc_port(&heap), &loop, NULL), RUNG_ENOMEM);
    rung_uv_loop_destroy(NULL);
    rung_failalloc_deinit(&heap);
}

RUNG_TEST_MAIN
