/* SPDX-License-Identifier: Apache-2.0 */
#include "front/net/turn.h"

#include <stddef.h>

void rung_turn_add(rung_turn *t, rung_phase phase, rung_task *task) {
    rung_task **at = &t->tasks[phase];
    while (*at)
        at = &(*at)->next;
    task->next = NULL;
    task->turn = t;
    task->is_wanted = false;
    *at = task;
}

void rung_turn_remove(rung_turn *t, rung_task *task) {
    for (int phase = 0; phase < RUNG_PHASES; phase++)
        for (rung_task **at = &t->tasks[phase]; *at; at = &(*at)->next)
            if (*at == task) {
                *at = task->next;
                t->wanted_count -= task->is_wanted;
                task->is_wanted = true; /* wanting it counts no more */
                return;
            }
}

/* Waking counts from the beginning of a turn on: whoever wakes the loop because they have done enough for now lets
 * sockets be read first. */
static void take_woken(rung_turn *t) {
    if (!atomic_load_explicit(&t->is_woken, memory_order_relaxed) ||
        !atomic_exchange(&t->is_woken, false))
        return;
    for (int phase = 0; phase < RUNG_PHASES; phase++)
        for (rung_task *task = t->tasks[phase]; task; task = task->next)
            if (atomic_exchange(&task->is_woken, false))
                rung_turn_want(task);
}

static bool has_more(const rung_task *task) {
    return task->has_more && task->has_more(task->ctx);
}

/* The flag falls before the task runs: who wants it meanwhile is served in the next round. */
static void run_round(rung_turn *t, bool is_first) {
    for (int phase = 0; phase < RUNG_PHASES; phase++)
        for (rung_task *task = t->tasks[phase], *next; task; task = next) {
            next = task->next;
            if (!task->is_wanted && !(is_first && task->is_in_every_turn) && !has_more(task))
                continue;
            t->wanted_count -= task->is_wanted;
            task->is_wanted = false;
            task->run(task->ctx);
        }
}

static bool is_any_due(const rung_turn *t) {
    if (t->wanted_count)
        return true;
    for (const rung_task *task = t->tasks[RUNG_PHASE_FLUSH]; task; task = task->next)
        if (has_more(task))
            return true;
    return false;
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
