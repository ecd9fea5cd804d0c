/* SPDX-License-Identifier: Apache-2.0 */
/* waiters.h - those who wait for a sequence: min_seq= of a read.
 *
 * A pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986) of the callers' own objects: nothing is allocated, joining
 * is one comparison, leaving O(log n) on average over any run of calls. A sorted list would cost n steps for each who
 * comes with a lower sequence than all others, and the senders choose it. Threads: one at a time. */
#ifndef RUNG_SERVICE_WAITERS_H
#define RUNG_SERVICE_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

/* Embedded in the caller's request; zero before use. */
typedef struct rung_hub_waiter {
    uint64_t seq;
    void (*ready)(void *ctx); /* called when the state has `seq`; it is no longer waiting then */
    void *ctx;
    /* The heap's. */
    bool is_waiting;
    uint64_t ticket;                              /* the order of coming */
    struct rung_hub_waiter *child, *next, *above; /* `above`: the parent, or the one before */
} rung_hub_waiter;

/* Zero is empty. */
typedef struct rung_waiters {
    rung_hub_waiter *first; /* none has a lower sequence, or came before with the same */
    uint64_t tickets;
    uint64_t steps; /* comparisons made */
} rung_waiters;

void rung_waiters_add(rung_waiters *all, rung_hub_waiter *w);    /* O(1) */
void rung_waiters_remove(rung_waiters *all, rung_hub_waiter *w); /* fine when it does not wait */
/* Take out the next who waits for `seq` or less, in the order of sequences, and of coming. NULL: none. */
rung_hub_waiter *rung_waiters_pop(rung_waiters *all, uint64_t seq);

#endif
