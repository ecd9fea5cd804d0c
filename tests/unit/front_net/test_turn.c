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

static void take_turn(rung_turn *t, uint64_t begin_ns, uint64_t end_ns) {
    rung_turn_begin(t, begin_ns);
    rung_turn_begin(t, end_ns); /* does nothing */
    rung_turn_over(t, end_ns);
}

TEST(turns_are_counted_by_how_long_they_took) {
    const uint64_t ms = 1000000, s = 1000 * ms;
    rung_turn t = {0};
    rung_turn_over(&t, 5 * s); /* none has begun */
    CHECK_EQ_U64(t.stalls.total_ns, 0);
    take_turn(&t, 100 * s, 100 * s + ms / 10);
    take_turn(&t, 101 * s, 101 * s + 7 * ms);
    take_turn(&t, 102 * s, 105 * s);
    CHECK_EQ_U64(t.stalls.count[0], 1); /* a bound counts as below it */
    CHECK_EQ_U64(t.stalls.count[6], 1);
    CHECK_EQ_U64(t.stalls.count[RUNG_STALL_BUCKETS - 1], 1);
    CHECK_EQ_U64(t.stalls.total_ns, 3 * s + 7 * ms + ms / 10);
}

TEST(the_longest_turn_is_forgotten_in_time) {
    const uint64_t ms = 1000000, s = 1000 * ms;
    rung_turn t = {0};
    CHECK_EQ_U64(rung_turn_longest_ns(&t, s), 0);
    take_turn(&t, 30 * s, 30 * s + 9 * ms);
    CHECK_EQ_U64(rung_turn_longest_ns(&t, 31 * s), 9 * ms);
    take_turn(&t, 46 * s, 46 * s + 2 * ms);
    CHECK_EQ_U64(rung_turn_longest_ns(&t, 47 * s), 9 * ms);
    take_turn(&t, 61 * s, 61 * s + ms);
    CHECK_EQ_U64(rung_turn_longest_ns(&t, 62 * s), 2 * ms);
    CHECK_EQ_U64(rung_turn_longest_ns(&t, 89 * s), ms); /* without any turn since */
    CHECK_EQ_U64(rung_turn_longest_ns(&t, 900 * s), 0);
}

RUNG_TEST_MAIN
