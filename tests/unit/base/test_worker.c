/* SPDX-License-Identifier: Apache-2.0 */
/* Workers as threads: every wake is followed by a step, deadlines come, await sees what steps bring about, stop lets
 * the last steps run. */
/* ctest: labels=thread */
#include "base/clock.h"
#include "base/random.h"
#include "base/worker.h"
#include "support/check.h"
#include "support/failalloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

typedef struct job {
    _Atomic uint64_t todo, done;
    _Atomic uint32_t steps, last_steps; /* the latter while stopping */
    uint32_t answer;                    /* when there is nothing to do */
} job;

static uint32_t step(void *arg, bool is_stopping) {
    job *j = arg;
    j->steps++;
    j->last_steps += is_stopping;
    if (j->done == j->todo)
        return j->answer;
    j->done++;
    return RUNG_WORKER_AGAIN;
}

static rung_worker *start(job *j) {
    rung_worker *w = NULL;
    CHECK_OK(rung_worker_start(NULL, rung_alloc_heap(), step, j, &w, NULL));
    return w;
}

static bool is_done(void *arg) {
    job *j = arg;
    return j->done == j->todo;
}

TEST(every_wake_is_followed_by_a_step) {
    job j = {.answer = RUNG_WORKER_SLEEP};
    rung_worker *w = start(&j);
    for (int i = 0; i < 20000; i++) {
        j.todo++;
        rung_worker_wake(w);
        if (i % 7 == 0)
            CHECK(rung_worker_await(w, is_done, &j, UINT32_MAX));
    }
    CHECK(rung_worker_await(w, is_done, &j, UINT32_MAX));
    CHECK_EQ_U64(j.done, 20000u);
    rung_worker_stop(w);
}

static void *wake_often(void *arg) {
    for (int i = 0; i < 5000; i++)
        rung_worker_wake(arg);
    return NULL;
}

TEST(several_threads_wake_one_worker) {
    job j = {.answer = RUNG_WORKER_SLEEP};
    rung_worker *w = start(&j);
    pthread_t threads[3];
    j.todo = 10000;
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, wake_often, w) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK(rung_worker_await(w, is_done, &j, UINT32_MAX));
    rung_worker_stop(w);
}

static bool has_stepped_thrice(void *arg) {
    job *j = arg;
    return j->steps >= 3;
}

TEST(a_deadline_comes_without_a_wake) {
    job j = {.answer = 1};
    rung_worker *w = start(&j);
    CHECK(rung_worker_await(w, has_stepped_thrice, &j, UINT32_MAX));
    rung_worker_stop(w);
}

static bool never(void *arg) {
    (void)arg;
    return false;
}

TEST(awaiting_ends_with_the_time_or_the_worker) {
    job j = {.answer = RUNG_WORKER_SLEEP};
    rung_worker *w = start(&j);
    CHECK(!rung_worker_await(w, never, &j, 2));
    rung_worker_stop(w);
    job ending = {.answer = RUNG_WORKER_END};
    w = start(&ending);
    CHECK(!rung_worker_await(w, never, &ending, UINT32_MAX));
    rung_worker_wake(w); /* no harm */
    CHECK_EQ_U64(ending.steps, 1u);
    rung_worker_stop(w);
}

TEST(stopping_lets_the_work_be_finished) {
    job j = {.todo = 1000, .answer = RUNG_WORKER_SLEEP};
    rung_worker *w = start(&j);
    rung_worker_stop(w);
    CHECK_EQ_U64(j.done, 1000u);
    CHECK(j.last_steps >= 1);
    rung_worker_stop(NULL);
}

TEST(no_memory_is_told) {
    rung_failalloc f;
    rung_failalloc_init(&f);
    rung_failalloc_fail_at(&f, 1, false);
    job j = {0};
    rung_worker *w = NULL;
    rung_err err = {0};
    CHECK_STATUS(rung_worker_start(NULL, &f.port, step, &j, &w, &err), RUNG_ENOMEM);
    CHECK(!w && j.steps == 0);
    rung_failalloc_deinit(&f);
}

static int64_t seven_seconds(void *ctx) {
    (void)ctx;
    return 7000000;
}

static rung_status fill_with_ones(void *ctx, void *bytes, size_t len, rung_err *err) {
    (void)ctx, (void)err;
    memset(bytes, 1, len);
    return RUNG_OK;
}

TEST(clock_and_chance_are_ports) {
    rung_clock real = rung_clock_real(), fake = {.monotonic_us = seven_seconds};
    char boot_id[RUNG_BOOT_ID_MAX];
    CHECK(rung_clock_now(&real) > 1600000000000);
    CHECK(real.boot_ms(NULL) > 0 && real.boot_id(NULL, boot_id));
    int64_t before = rung_clock_monotonic_us(NULL);
    CHECK(rung_clock_monotonic_us(&real) >= before);
    CHECK_EQ_I64(rung_clock_monotonic_ms(&fake), 7000);
    rung_random ones = {fill_with_ones, NULL};
    rung_hash_key a, b;
    CHECK_OK(rung_random_hash_key(&ones, &a, NULL));
    CHECK_EQ_U64(a.k0, 0x0101010101010101u);
    CHECK_OK(rung_random_hash_key(NULL, &a, NULL));
    CHECK_OK(rung_random_hash_key(NULL, &b, NULL));
    CHECK(a.k0 != b.k0 || a.k1 != b.k1);
}

RUNG_TEST_MAIN
