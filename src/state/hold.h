/* SPDX-License-Identifier: Apache-2.0 */
/* hold.h - a ranking as it was at one moment, read page by page while it changes.
 *
 *     rung_hold_create(&view, 1 << 18, &hold, &err);        // now: the moment
 *     rung_hold_place at = {0};
 *     n = rung_hold_rows(hold, &at, 100, rows, &is_more);  // later, in any order, as often as needed
 *     rung_hold_destroy(hold);
 *
 * All pages together are the ranking of that moment: nobody twice, nobody left out, ranks of then
 * (docs/adr/0033-paging.md). A hold does not copy the ranking: it notes the key that a player had when that first
 * changes, so it costs what changes. It ends when it would note more than it may, when a player it knows is erased, or
 * when the ranking goes. Not part of the state: no digest, no image, no effect on apply. The thread of the state. */
#ifndef RUNG_STATE_HOLD_H
#define RUNG_STATE_HOLD_H

#include "ladder/ladder.h"
#include "state/state.h"

/* Heap object. Release it with rung_hold_destroy(), before or after the state. */
typedef struct rung_hold rung_hold;

/* Where a page begins. Zero: the first one. A place is valid for its hold only. */
typedef struct rung_hold_place {
    uint64_t key[RUNG_LADDER_WORDS_MAX]; /* of the entry before it */
    uint32_t player;
    uint32_t index, sparse, dense; /* entries before it, and the last one's ranks */
} rung_hold_place;

/* Hold the ranking of a view, which is of all players. It notes up to `notes_max` changed players, about 60 bytes each.
 * RUNG_OK; RUNG_EUNSUPPORTED: teams or a scope; RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_hold_create(const rung_view *v, uint32_t notes_max, rung_hold **out,
                                            rung_err *err);
void rung_hold_destroy(rung_hold *h); /* accepts NULL */

bool rung_hold_is_over(const rung_hold *h);
uint32_t rung_hold_notes(const rung_hold *h); /* players who changed since */
void rung_hold_end(rung_hold *h);             /* frees what it noted */
const rung_view *
rung_hold_view(const rung_hold *h); /* as of the moment; not to be read by rung_view_ functions */
uint64_t rung_hold_seq(const rung_hold *h); /* the moment */
bool rung_hold_is_of(const rung_hold *h, rung_slice board);

/* The rows from a place on, at most `limit`; the place moves behind them. Players who are banned now are left out.
 * Returns how many. The hold is not over. O(limit + notes). */
uint32_t rung_hold_rows(const rung_hold *h, rung_hold_place *place, uint32_t limit, rung_row *rows,
                        bool *more_out);

#endif
