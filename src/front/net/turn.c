/* SPDX-License-Identifier: Apache-2.0 */
#include "front/net/turn.h"

#include <stddef.h>

void rung_turn_add(rung_turn *t, rung_phase phase, rung_task *task) {
    rung_task **at = &t->tasks[phase];
    while (*at)
        at = &(*at)->next;
    task->next = NULL;
    *at = task;
}

void rung_turn_remove(rung_turn *t, rung_task *task) {
    for (int phase = 0; phase < RUNG_PHASES; phase++)
        for (rung_task **at = &t->tasks[phase]; *at; at = &(*at)->next)
            if (*at == task) {
                *at = task->next;
                return;
            }
}

/* Waking counts from the beginning of a turn on: whoever wakes the loop because they have done enough for now lets
 * sockets be read first. */
static void begin(rung_task *task) {
    if (task->is_in_every_turn || (atomic_load_explicit(&task->is_woken, memory_order_relaxed) &&
                                   atomic_exchange(&task->is_woken, false)))
        task->is_wanted = true;
}

/* The flag falls before the task runs: who wants it meanwhile is served in the next round. */
static bool run_if_due(rung_task *task) {
    if (!task->is_wanted && !(task->has_more && task->has_more(task->ctx)))
        return false;
    task->is_wanted = false;
    task->run(task->ctx);
    return true;
}

static bool run_round(rung_turn *t) {
    bool is_any = false;
    for (int phase = 0; phase < RUNG_PHASES; phase++)
        for (rung_task *task = t->tasks[phase], *next; task; task = next) {
            next = task->next;
            is_any |= run_if_due(task);
        }
    return is_any;
}

bool rung_turn_end(rung_turn *t) {
    t->number++;
    t->is_hurried = false;
    for (int phase = 0; phase < RUNG_PHASES; phase++)
        for (rung_task *task = t->tasks[phase]; task; task = task->next)
            begin(task);
    while (run_round(t))
        ;
    return t->is_hurried;
}
