/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - how much memory the state may use: memory.max = auto. Linux. One thread. */
#ifndef RUNG_APP_MEMORY_H
#define RUNG_APP_MEMORY_H

#include <stdint.h>

/* What this process may use: the least of the machine's memory, its control groups' limits, and the rest of its address
 * space (ulimit -v). 0: unknown. */
uint64_t rung_memory_of_process(void);

/* How much of `memory` the state may use if connections may hold `buffers`. Reserves a fifth (growing tables, copied
 * pages of a snapshot, the archive) and twice the buffers, but at most three quarters. 0 for 0. */
uint64_t rung_memory_for_state(uint64_t memory, uint64_t buffers);

/* If the address space is limited, use one heap arena for all threads. Call it first in main. */
void rung_memory_save_address_space(void);

#endif
