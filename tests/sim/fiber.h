/* SPDX-License-Identifier: Apache-2.0 */
/* fiber.h - stacks that take turns in one thread: how the simulator runs a process and its workers.
 *
 *     sim_fiber *f = sim_fiber_create(run, arg);
 *     while (!sim_fiber_is_done(f)) sim_fiber_resume(f);    // runs until it yields or returns
 *     sim_fiber_destroy(f);                                 // also in the middle: that is what a crash is
 *
 * Only the world resumes (the stack that called sim_fiber_create). Fibers yield back to it. One thread. */
#ifndef RUNG_TESTS_SIM_FIBER_H
#define RUNG_TESTS_SIM_FIBER_H

#include <stdbool.h>

typedef struct sim_fiber sim_fiber; /* heap object; whoever created it calls sim_fiber_destroy() */

sim_fiber *sim_fiber_create(void (*run)(void *arg), void *arg);
void sim_fiber_destroy(sim_fiber *f); /* NULL is fine; not from inside it */
void sim_fiber_resume(sim_fiber *f);
bool sim_fiber_is_done(const sim_fiber *f);

/* From inside a fiber: back to the world. */
void sim_fiber_yield(void);
bool sim_fiber_is_inside(void);

#endif
