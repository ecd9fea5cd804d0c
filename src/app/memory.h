/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - how much memory there is for the state: what memory.max = auto means.
 *
 * Linux. One thread. */
#ifndef RUNG_APP_MEMORY_H
#define RUNG_APP_MEMORY_H

#include <stdint.h>

/* What this process may use: the least of the machine's memory, the limits of its control groups, and what is left of
 * its address space (ulimit -v). 0: unknown. */
uint64_t rung_memory_of_process(void);

/* The limit of the state in so much memory, when connections may hold `buffers`: a fifth is kept for tables while they
 * grow, a snapshot's copied pages and the archive, and twice the buffers; but never more than three quarters. 0 for
 * 0. */
uint64_t rung_memory_for_state(uint64_t memory, uint64_t buffers);

/* Where the address space is limited, keep the heap of each thread from reserving some of it for itself. First thing in
 * main. */
void rung_memory_save_address_space(void);

#endif
