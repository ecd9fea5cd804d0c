/* SPDX-License-Identifier: Apache-2.0 */
/* hidden.h - the entries that a ban hides from a ranking, and where they would rank.
 *
 * A ban removes entries and keeps them, so that an unban can restore them (docs/boards.md). Code that copies a
 * ranking for good, such as an archive, must copy these, too, or an unban would have nothing to restore.
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
    uint32_t above;  /* rows of the view that would rank above it */
    uint32_t better; /* of them, those with a better score */
    bool is_tied;    /* some row of the view has the same score */
    bool is_same;    /* the hidden row before this one has the same score */
} rung_hidden_row;

/* The hidden rows of a main ranking (no scope, no teams), in the order in which they would rank. *rows_out is NULL if
 * there are none. RUNG_OK or RUNG_ENOMEM. O(banned players + k log^2 n), and k log k to sort k of them. */
RUNG_NODISCARD rung_status rung_view_hidden(const rung_view *v, const rung_alloc *alloc,
                                            rung_hidden_row **rows_out, uint32_t *count_out);
void rung_view_hidden_free(const rung_alloc *alloc, rung_hidden_row *rows, uint32_t count);

#endif
