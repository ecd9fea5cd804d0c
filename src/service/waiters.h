/* SPDX-License-Identifier: Apache-2.0 */
/* waiters.h - requests that wait for a sequence (min_seq=).
 *
 * A pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986) of the callers' objects: no allocation, O(1) to add,
 * amortized O(log n) to remove. Clients choose the sequences, so a sorted list could be made to cost O(n) each.
 * Threads: one at a time. */
#ifndef RUNG_SERVICE_WAITERS_H
#define RUNG_SERVICE_WAITERS_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Embedded in the caller's request; zero before use. */
typedef struct rung_hub_waiter {
    uint64_t seq;
    void (*ready)(void *ctx); /* called when the state has `seq`, after it was removed */
    /* It waits in vain: the end of the log cannot be determined, or the state has diverged. Called after it was
     * removed. */
    void (*failed)(void *ctx, const rung_err *err);
    void *ctx;
    /* Private. */
    uint64_t probe; /* its number (hub.c); 0: waits for `seq` */
    bool is_waiting;
    uint64_t ticket;                              /* the order of adding */
    struct rung_hub_waiter *child, *next, *above; /* `above`: the parent, or the sibling before */
} rung_hub_waiter;

/* Zero is empty. */
typedef struct rung_waiters {
    rung_hub_waiter *first; /* the lowest (sequence, ticket) */
    uint64_t tickets;
    uint64_t steps; /* comparisons so far */
} rung_waiters;

void rung_waiters_add(rung_waiters *all, rung_hub_waiter *w);    /* O(1) */
void rung_waiters_remove(rung_waiters *all, rung_hub_waiter *w); /* no effect if it does not wait */
/* Remove and return the first waiter for `seq` or less. NULL: none. */
rung_hub_waiter *rung_waiters_pop(rung_waiters *all, uint64_t seq);

#endif
