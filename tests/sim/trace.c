/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace.h"

#include "support/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void sim_trace_init(sim_trace *t, uint64_t seed, uint32_t nodes, bool is_loud) {
    *t = (sim_trace){
        .seed = seed, .nodes = nodes, .hash = UINT64_C(14695981039346656037), .is_loud = is_loud};
}

void sim_tell(sim_trace *t, const char *format, ...) {
    char *line = t->last[t->count++ % SIM_TRACE_KEPT];
    int head = snprintf(line, SIM_TRACE_LINE, "%5" PRIu64 "  ", t->step);
    if (t->nodes > 1)
        head += snprintf(line + head, (size_t)(SIM_TRACE_LINE - head), "[%u] ", t->node);
    va_list args;
    va_start(args, format);
    vsnprintf(line + head, (size_t)(SIM_TRACE_LINE - head), format, args);
    va_end(args);
    for (const char *c = line; *c; c++) { /* FNV-1a; control characters are shown as dots */
        t->hash = (t->hash ^ (uint8_t)*c) * UINT64_C(1099511628211);
        if ((uint8_t)*c < ' ')
            line[c - line] = '.';
    }
    if (t->is_loud)
        fprintf(stderr, "%s\n", line);
}

static void print_last(const sim_trace *t) {
    uint64_t from = t->count > SIM_TRACE_KEPT ? t->count - SIM_TRACE_KEPT : 0;
    for (uint64_t i = from; !t->is_loud && i < t->count; i++)
        fprintf(stderr, "%s\n", t->last[i % SIM_TRACE_KEPT]);
}

void sim_fail(const sim_trace *t, const char *format, ...) {
    char why[600];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    print_last(t);
    fprintf(stderr,
            "seed %" PRIu64 ": %s\nsee it again: RUNG_SIM_SEED=%" PRIu64
            " RUNG_SIM_NODES=%u RUNG_SIM_TRACE=1 build/dev/tests/test_sim_world one_seed "
            "--no-fork\n",
            t->seed, why, t->seed, t->nodes);
    test_fail("sim", (int)t->step, "seed %" PRIu64 ": %s", t->seed, why);
}
