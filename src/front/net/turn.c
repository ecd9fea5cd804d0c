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
