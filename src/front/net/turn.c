/* SPDX-License-Identifier: Apache-2.0 */
#include "front/net/turn.h"

#include <stddef.h>

void rung_turn_add(rung_turn *t, rung_phase phase, rung_task *task) {
    rung_task **at = &t->tasks;
    while (*at && (*at)->phase <= phase)
        at = &(*at)->next;
    task->phase = phase;
    task->next = *at;
    task->turn = t;
    task->is_wanted = false;
    *at = task;
}

void rung_turn_remove(rung_turn *t, rung_task *task) {
    rung_task **at = &t->tasks;
    while (*at && *at != task)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = task->next;
    t->wanted_count -= task->is_wanted;
    task->is_wanted = true; /* later calls of rung_turn_want() do nothing */
}

/* A task woken during a turn runs in the next one: a task that wakes the loop because it has done enough for now lets
 * sockets be read first. */
static void take_woken(rung_turn *t) {
    if (!atomic_load_explicit(&t->is_woken, memory_order_relaxed) ||
        !atomic_exchange(&t->is_woken, false))
        return;
    for (rung_task *task = t->tasks; task; task = task->next)
        if (atomic_exchange(&task->is_woken, false))
            rung_turn_want(task);
}

static bool has_more(const rung_task *task) {
    return task->has_more && task->has_more(task->ctx);
}

/* is_wanted is reset before the task runs: who wants it meanwhile is served in the next round. */
static void run_round(rung_turn *t, bool is_first) {
    for (rung_task *task = t->tasks, *next; task; task = next) {
        next = task->next;
        bool is_due = task->is_wanted | (is_first & task->is_in_every_turn);
        if (!is_due && !has_more(task))
            continue;
        t->wanted_count -= task->is_wanted;
        task->is_wanted = false;
        task->run(task->ctx);
    }
}

static bool is_any_due(const rung_turn *t) {
    if (t->wanted_count)
        return true;
    const rung_task *task = t->tasks;
    while (task && task->phase == RUNG_PHASE_FLUSH && !has_more(task))
        task = task->next;
    return task && task->phase == RUNG_PHASE_FLUSH;
}

bool rung_turn_end(rung_turn *t) {
    t->number++;
    t->is_hurried = false;
    take_woken(t);
    run_round(t, true);
    while (is_any_due(t))
        run_round(t, false);
    return t->is_hurried;
}

/* ---- stalls ---- */

#define SPAN_NS UINT64_C(15000000000)

const uint32_t rung_stall_bounds_us[RUNG_STALL_BUCKETS - 1] = {
    100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 1000000};

void rung_turn_over(rung_turn *t, uint64_t now_ns) {
    rung_stalls *s = &t->stalls;
    uint64_t took_ns = now_ns - t->began_ns, span = now_ns / SPAN_NS;
    uint32_t bucket = 0;
    if (!t->began_ns)
        return;
    t->began_ns = 0;
    while (bucket < RUNG_STALL_BUCKETS - 1 &&
           took_ns > (uint64_t)rung_stall_bounds_us[bucket] * 1000)
        bucket++;
    s->count[bucket]++;
    s->total_ns += took_ns;
    if (span != s->span) {
        s->longest_ns[1] = span == s->span + 1 ? s->longest_ns[0] : 0;
        s->longest_ns[0] = 0;
        s->span = span;
    }
    if (took_ns > s->longest_ns[0])
        s->longest_ns[0] = took_ns;
}

uint64_t rung_turn_longest_ns(const rung_turn *t, uint64_t now_ns) {
    const rung_stalls *s = &t->stalls;
    uint64_t ago = now_ns / SPAN_NS - s->span, longest_ns = 0;
    for (uint64_t i = 0; i + ago < 2; i++)
        if (s->longest_ns[i] > longest_ns)
            longest_ns = s->longest_ns[i];
    return longest_ns;
}
