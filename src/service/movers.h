/* SPDX-License-Identifier: Apache-2.0 */
/* movers.h - who rose and who fell most between two moments, exactly: ranks of all rankings are kept at the first, and
 * compared with those at the second.
 *
 *     rung_movers_create(alloc, key, state, now_ms, &movers, &err);      // the state as it was then
 *     ... the same state, further on ...
 *     rung_movers_find(movers, alloc, &query, 10, &found, &err);         // of one ranking
 *     ... found.risers, found.fallers ...
 *     rung_movement_deinit(&found, alloc);
 *
 * Every open window is kept, with its scopes, but no teams. It takes some 4 bytes for each entry of a dense ranking (16
 * of a sparse one), 12 for each entry and scope attribute, and 4 for each player; keeping and finding take O(entries).
 * For helper processes (as_of.h), not for the loop of a server. Pure; one thread at a time. */
#ifndef RUNG_SERVICE_MOVERS_H
#define RUNG_SERVICE_MOVERS_H

#include "base/alloc.h"
#include "base/hash.h"
#include "base/slice.h"
#include "base/status.h"
#include "state/state.h"

#define RUNG_MOVERS_MAX          1000 /* of each list */
#define RUNG_MOVERS_SINCE_MS_MIN INT64_C(60000)
#define RUNG_MOVERS_SINCE_MS_MAX (INT64_C(366) * 86400000)

typedef struct rung_movers
    rung_movers; /* heap object; whoever created it calls rung_movers_destroy() */

/* "90m", "1h", "1d", "2w": a number of minutes, hours, days or weeks. RUNG_EINVAL or RUNG_ERANGE with the field
 * since. */
RUNG_NODISCARD rung_status rung_since_parse(rung_slice text, int64_t *ms_out, rung_err *err);

/* The last moment that a question at `now_ms` is about: the beginning of the minute, of ten minutes from six hours on,
 * of the hour from three days on. Questions that come soon after each other share it, and the helper that answers. */
int64_t rung_movers_moment(int64_t since_ms, int64_t now_ms);

/* Keep the ranks of a state; `now_ms` is its time. RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_movers_create(const rung_alloc *alloc, const rung_hash_key *key,
                                              const rung_state *then, int64_t now_ms,
                                              rung_movers **out, rung_err *err);
void rung_movers_destroy(rung_movers *m); /* accepts NULL */

/* The player was erased since: who has that id now is somebody else. RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_movers_erase(rung_movers *m, rung_slice player);

int64_t rung_movers_time(const rung_movers *m); /* of the first moment */
uint64_t rung_movers_seq(const rung_movers *m);

typedef struct rung_mover {
    rung_row row; /* now; borrowed from the state */
    uint32_t rank_before;
} rung_mover;

typedef struct rung_movement {
    rung_view view;             /* of now, in the rank style of both */
    uint32_t compared, entered; /* ranked at both moments; only at the second */
    uint32_t risen, fallen;     /* of those compared */
    uint32_t riser_count,
        faller_count; /* in the lists: the largest changes first, then the better rank */
    rung_mover *risers, *fallers;
    uint32_t limit; /* private */
} rung_movement;

/* Compare a ranking of the state, now further on. Ranks are of the style that the board had at the first moment;
 * query.has_rank is ignored. A window that began since is empty before: all have entered. RUNG_OK: deinit it. As
 * rung_state_view(); RUNG_EINVAL with the field: a team ranking, or a window that had ended at the first moment, or a
 * scope that the board did not have; RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_movers_find(const rung_movers *m, const rung_alloc *alloc,
                                            const rung_state *now, const rung_query *query,
                                            uint32_t limit, rung_movement *out, rung_err *err);
void rung_movement_deinit(rung_movement *found, const rung_alloc *alloc);

#endif
