/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a turn: phases, rounds, who is due. */
#include "front/net/turn.h"

#include "support/check.h"

#include <string.h>

typedef struct part {
    rung_task task;
    const char *name;
    char *told;      /* names in the order of running */
    rung_task *next; /* wanted by this one, `times` times */
    int times;
    bool is_due;
} part;

static void run_part(void *ctx) {
    part *p = ctx;
    size_t len = strlen(p->told); /* the test's buffer is large enough */
    p->told[len] = *p->name;
    p->told[len + 1] = 0;
    p->is_due = false;
    if (p->next && p->times-- > 0)
        rung_turn_want(p->next);
}

static bool is_part_due(const void *ctx) {
    return ((const part *)ctx)->is_due;
}

static part part_of(const char *name, char *told) {
    return (part){.task = {.run = run_part}, .name = name, .told = told};
}

TEST(phases_run_in_order) {
    char told[64] = "";
    rung_turn t = {0};
    part flush = part_of("f", told), apply = part_of("a", told), answer = part_of("q", told),
         answer2 = part_of("r", told), send = part_of("s", told);
    part *all[] = {&send, &answer, &answer2, &apply, &flush};
    rung_phase phases[] = {RUNG_PHASE_SEND, RUNG_PHASE_ANSWER, RUNG_PHASE_ANSWER, RUNG_PHASE_APPLY,
                           RUNG_PHASE_FLUSH};
    for (size_t i = 0; i < 5; i++) {
        all[i]->task.ctx = all[i];
        rung_turn_add(&t, phases[i], &all[i]->task);
    }
    CHECK(!rung_turn_end(&t));
    CHECK_EQ_STR(told, ""); /* nothing was due */
    for (size_t i = 0; i < 5; i++)
        rung_turn_want(&all[i]->task);
    CHECK(!rung_turn_end(&t));
    CHECK_EQ_STR(told, "faqrs");
    CHECK_EQ_U64(t.number, 2);
    CHECK(!rung_turn_end(&t));
    CHECK_EQ_STR(told, "faqrs"); /* each once */
    rung_turn_remove(&t, &answer.task);
    rung_turn_remove(&t, &answer.task);
    rung_turn_want(&answer.task);
    rung_turn_want(&answer2.task);
    rung_turn_end(&t);
    CHECK_EQ_STR(told, "faqrsr");
}

TEST(rounds_repeat_until_nothing_is_due) {
    char told[64] = "";
    rung_turn t = {0};
    part flush = part_of("f", told), send = part_of("s", told);
    flush.task.ctx = &flush;
    flush.task.has_more = is_part_due;
    flush.next = &send.task;
    flush.times = 1;
    send.task.ctx = &send;
    send.next = &send.task; /* as an answer that lets the next request in */
    send.times = 2;
    rung_turn_add(&t, RUNG_PHASE_FLUSH, &flush.task);
    rung_turn_add(&t, RUNG_PHASE_SEND, &send.task);
    flush.is_due = true;
    rung_turn_end(&t);
    CHECK_EQ_STR(told, "fsss");
}

static void in_a_hurry(void *ctx) {
    rung_turn_hurry(ctx);
}

TEST(a_task_of_every_turn_runs_once_in_it) {
    char told[64] = "";
    rung_turn t = {0};
    part every = part_of("e", told), other = part_of("o", told);
    every.task.ctx = &every;
    every.task.is_in_every_turn = true;
    other.task.ctx = &other;
    other.next = &other.task;
    other.times = 1;
    rung_turn_add(&t, RUNG_PHASE_FLUSH, &every.task);
    rung_turn_add(&t, RUNG_PHASE_SEND, &other.task);
    rung_turn_want(&other.task);
    rung_turn_end(&t);
    CHECK_EQ_STR(told, "eoo");
    rung_turn_end(&t);
    CHECK_EQ_STR(told, "eooe");
}

static void wake_again(void *ctx) {
    part *p = ctx;
    run_part(p);
    if (p->times-- > 0)
        rung_turn_wake(p->task.turn, &p->task);
}

TEST(waking_counts_from_the_next_turn_on) {
    char told[64] = "";
    rung_turn t = {0};
    part apply = part_of("a", told);
    apply.task.run = wake_again;
    apply.task.ctx = &apply;
    apply.times = 1;
    rung_turn_add(&t, RUNG_PHASE_APPLY, &apply.task);
    rung_turn_wake(&t, &apply.task);
    rung_turn_end(&t);
    CHECK_EQ_STR(told, "a");
    rung_turn_end(&t);
    CHECK_EQ_STR(told, "aa");
    rung_turn_end(&t);
    CHECK_EQ_STR(told, "aa");
}

TEST(a_hurried_turn_is_not_waited_after) {
    rung_turn t = {0};
    rung_task task = {.run = in_a_hurry, .ctx = &t};
    rung_turn_add(&t, RUNG_PHASE_ANSWER, &task);
    CHECK(!rung_turn_end(&t));
    rung_turn_want(&task);
    CHECK(rung_turn_end(&t));
    CHECK(!rung_turn_end(&t));
}

RUNG_TEST_MAIN
