/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - what the numbers were measured on: the machine in one line, its memory, its latency.
 *
 * Reads /proc; where there is none the answers are 0 or "unknown". One thread. */
#ifndef RUNG_BENCH_MACHINE_H
#define RUNG_BENCH_MACHINE_H

#include "support/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The date, the machine (processor, cores, memory, kernel, compiler) and the command, as the head of a section. */
void bench_machine_describe(bench_report *r, const char *command);

size_t bench_memory_available(void); /* bytes a program may still take */
size_t bench_memory_resident(void);  /* bytes of this process in memory now */

/* Nanoseconds per load when each load's address comes from the one before, all over a block of `bytes` (rounded down
 * to a power of two), in 4 KiB or huge pages. 0 when there is no such memory. */
double bench_latency_ns(size_t bytes, bool is_huge, uint64_t seed);

#endif
