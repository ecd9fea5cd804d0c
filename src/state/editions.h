/* SPDX-License-Identifier: Apache-2.0 */
/* editions.h - timed snapshots of rankings: immutable, numbered versions of the top of a window.
 *
 * A board whose definition has `snapshots` keeps one edition of each of its windows per span of log time in which that
 * window changed. An edition is what the ranking was just before the first event at or after the boundary; its version
 * is the sequence of the last event in it (docs/adr/0032-timed-snapshots.md). Queries, and nothing else; slices borrow
 * from the state until the next apply. */
#ifndef RUNG_STATE_EDITIONS_H
#define RUNG_STATE_EDITIONS_H

#include "state/state.h"

/* Entries that the editions of all boards together may hold, by their definitions: top x keep x windows. */
#define RUNG_EDITION_ROWS_MAX (UINT64_C(1) << 22)
/* A longer name is left out of an edition. */
#define RUNG_EDITION_NAME_MAX 128

typedef struct rung_edition {
    uint64_t version;
    int64_t at_ms; /* the boundary of log time that it was taken for */
    uint32_t kind; /* the window, as it was */
    int64_t ordinal, start_ms, end_ms;
    rung_slice season;
    rung_rank_style rank; /* the board's when it was taken */
    uint32_t total;       /* entries of the ranking */
    uint32_t count;       /* the first so many are here */
    uint64_t hash;        /* of all that it shows: equal on every server */
    uint64_t serial;      /* of the board */
    const rung_state *state;
    const void *board, *own; /* private */
} rung_edition;

/* Which editions: of the window that the query's `window` names; with window_id or on, of that one alone. `version`
 * UINT64_MAX: the newest. RUNG_OK; RUNG_NOT_FOUND: no such board, kind of window or version; RUNG_EINVAL. */
#define RUNG_EDITION_NEWEST UINT64_MAX
RUNG_NODISCARD rung_status rung_state_edition(const rung_state *s, const rung_query *q,
                                              uint64_t version, rung_edition *out, rung_err *err);
/* The newest `room` of them, newest first. *count_out may be 0; *total_out is how many there are. */
RUNG_NODISCARD rung_status rung_state_editions(const rung_state *s, const rung_query *q,
                                               uint32_t room, rung_edition *out,
                                               uint32_t *count_out, uint32_t *total_out,
                                               rung_err *err);
/* The newest version of that kind of window; 0: there is none. O(editions of the board). */
uint64_t rung_state_edition_newest(const rung_state *s, rung_slice board, uint32_t kind,
                                   rung_slice season);

/* Rows [offset, offset + limit), ranked in the style; names[i] is the player's `name` when the edition was taken, empty
 * if there was none. Returns how many. O(offset + limit). */
uint32_t rung_edition_rows(const rung_edition *e, rung_rank_style rank, uint32_t offset,
                           uint32_t limit, rung_row *rows, rung_slice *names);

#endif
