/* SPDX-License-Identifier: Apache-2.0 */
/* task.h - a process of the simulation: its tasks (the loop and the workers, each a fiber), and its memory.
 *
 * A task runs until it waits for something, or until it touches a file and chance makes it pause there. The world picks
 * which of those that can go on does so next. A process that dies takes its tasks and its memory with it, in the middle
 * of whatever it does. */
#ifndef RUNG_TESTS_SIM_TASK_H
#define RUNG_TESTS_SIM_TASK_H

#include "base/alloc.h"
#include "base/worker.h"
#include "sim/fiber.h"
#include "sim/trace.h"
#include "support/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_TASKS_MAX = 24 };

typedef bool sim_ready(void *ctx);

typedef struct sim_task {
    const char *name;
    sim_fiber *fiber;
    sim_ready *is_ready; /* what it waits for; NULL: nothing */
    void *ctx;
    void (*run)(void *arg);
    void *arg;
} sim_task;

typedef struct sim_process {
    sim_trace *trace;
    rung_rng *rng;
    int64_t *monotonic_us;
    sim_task *tasks[SIM_TASKS_MAX];
    uint32_t task_count;
    sim_task *running; /* NULL: the world is */
    bool is_dead;      /* it has called _exit */
    rung_alloc alloc;
    struct sim_block *blocks; /* all its memory */
    size_t used;
    rung_threads threads; /* the thread port */
} sim_process;

void sim_process_init(sim_process *p, sim_trace *trace, rung_rng *rng, int64_t *monotonic_us);
/* Tasks and memory go, whatever they were doing. */
void sim_process_kill(sim_process *p);

sim_task *sim_process_start(sim_process *p, const char *name, void (*run)(void *arg), void *arg);
/* Those that can go on. */
uint32_t sim_process_ready(sim_process *p, sim_task *out[SIM_TASKS_MAX]);
/* Let it go on until it waits, pauses, ends or dies. */
void sim_process_step(sim_process *p, sim_task *t);

sim_process *sim_process_running(void); /* whose task runs; NULL: none does */

/* From inside a task. */
void sim_process_wait(sim_process *p, sim_ready *is_ready, void *ctx);
void sim_process_pause(sim_process *p); /* anything may happen elsewhere meanwhile */
_Noreturn void sim_process_exit(sim_process *p);

#endif
