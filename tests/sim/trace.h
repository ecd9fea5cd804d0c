/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - the story of one run: every event of it is a line, hashed, and the last ones kept.
 *
 * Two runs of one seed tell the same story to the letter, or something in the server depends on more than its ports.
 * RUNG_SIM_TRACE=1 prints the lines as they come. */
#ifndef RUNG_TESTS_SIM_TRACE_H
#define RUNG_TESTS_SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_TRACE_KEPT = 48, SIM_TRACE_LINE = 220 };

typedef struct sim_trace {
    uint64_t seed, hash, count, step;
    uint32_t nodes; /* of the run; with several a line says which one the step is about: */
    uint32_t node;
    bool is_loud;
    char last[SIM_TRACE_KEPT][SIM_TRACE_LINE];
} sim_trace;

void sim_trace_init(sim_trace *t, uint64_t seed, uint32_t nodes, bool is_loud);
__attribute__((format(printf, 2, 3))) void sim_tell(sim_trace *t, const char *format, ...);

/* The run has broken a promise: say which, with the last lines, the seed and how to see it again. */
__attribute__((format(printf, 2, 3))) _Noreturn void sim_fail(const sim_trace *t,
                                                              const char *format, ...);

#endif
