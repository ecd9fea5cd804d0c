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

/* The flag falls before the task runs: who wants it meanwhile is served in the next round. */
static bool take_due(rung_task *task) {
    if (task->is_due)
        return task->is_due(task->ctx);
    return atomic_load_explicit(&task->is_wanted, memory_order_relaxed) &&
           atomic_exchange(&task->is_wanted, false);
}

static bool run_round(rung_turn *t) {
    bool is_any = false;
    for (int phase = 0; phase < RUNG_PHASES; phase++)
        for (rung_task *task = t->tasks[phase], *next; task; task = next) {
            next = task->next;
            if (take_due(task)) {
                is_any = true;
                task->run(task->ctx);
            }
        }
    return is_any;
}

bool rung_turn_end(rung_turn *t) {
    t->number++;
    t->is_hurried = false;
    while (run_round(t))
        ;
    return t->is_hurried;
}
