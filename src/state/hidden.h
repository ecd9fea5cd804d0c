/* SPDX-License-Identifier: Apache-2.0 */
/* hidden.h - who would stand in a ranking were it not for a ban, and where.
 *
 * A ban takes entries out and keeps them, so that an unban can put them back (docs/boards.md). Whoever copies a
 * ranking for good, as an archive does with a window that closed, copies these, too, or an unban would find nothing
 * to bring back.
 *
 *     rung_view_hidden(&view, alloc, &rows, &count);
 *     ... rung_view_hidden_free(alloc, rows, count);
 *
 * Pure; as state.h. */
#ifndef RUNG_STATE_HIDDEN_H
#define RUNG_STATE_HIDDEN_H

#include "state/state.h"

typedef struct rung_hidden_row {
    rung_row row;    /* without ranks, index and percentile: it has none */
    uint32_t above;  /* rows of the view that would stand above it */
    uint32_t better; /* of them, those with a better score */
    bool is_tied;    /* some row of the view has the same score */
    bool is_same;    /* the hidden row before this one has the same score */
} rung_hidden_row;

/* The hidden rows of a main ranking (no scope, no teams), in the order in which they would stand. *rows_out is NULL
 * when there are none. RUNG_OK or RUNG_ENOMEM. O(banned players + k log^2 n), and k log k to put k of them in
 * order. */
RUNG_NODISCARD rung_status rung_view_hidden(const rung_view *v, const rung_alloc *alloc,
                                            rung_hidden_row **rows_out, uint32_t *count_out);
void rung_view_hidden_free(const rung_alloc *alloc, rung_hidden_row *rows, uint32_t count);

#endif
