/* SPDX-License-Identifier: Apache-2.0 */
/* reconcile.h - compare two states that should be equal, and name the first difference
 * (docs/adr/0026-reconcile.md).
 *
 * Digests of the whole, then of each board's windows, lead to the window; its entries are compared one by one only
 * there. Changes nothing. Threads: one at a time. */
#ifndef RUNG_SERVICE_RECONCILE_H
#define RUNG_SERVICE_RECONCILE_H

#include "base/alloc.h"
#include "base/status.h"
#include "state/state.h"

#include <stdint.h>

typedef enum rung_difference_kind {
    RUNG_DIFFERENCE_SEQ,    /* they are not of the same sequence */
    RUNG_DIFFERENCE_BOARD,  /* only one has this board */
    RUNG_DIFFERENCE_WINDOW, /* only one has this window, or it is closed in one only */
    RUNG_DIFFERENCE_ENTRY,  /* a player's entry */
    RUNG_DIFFERENCE_OTHER,  /* in what is no ranking: profiles, friends, bans, ids, sets */
} rung_difference_kind;

typedef struct rung_difference {
    rung_difference_kind kind;
    char board[RUNG_NAME_MAX + 1], window[RUNG_NAME_MAX + 1];
    char player[1025]; /* whose entry is at `index` in the first, or else in the second */
    uint32_t index;    /* from 0, in the order of the ranking */
    uint32_t total_a, total_b;
} rung_difference;

/* RUNG_UNCHANGED: they are equal. RUNG_OK: `out` is the first difference. RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_reconcile_states(const rung_alloc *alloc, const rung_state *a,
                                                 const rung_state *b, rung_difference *out,
                                                 rung_err *err);

#endif
