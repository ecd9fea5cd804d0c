/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.h - when a day (UTC, by log time) is over, a sample of every board: the first places, and whoever played.
 *
 *     rung_sampler_before(s, state, f, ts_ms);     // before an event with that ts is applied
 *     rung_sampler_note(s, &event);                // after a score was applied
 *
 * The players of the day are remembered up to a limit; beyond it, and for the part of a day before a restart, only
 * the first places are sampled. A sample belongs to the first event of the new day, so a replay takes it again at
 * the same place. One thread: the owner of the state. */
#ifndef RUNG_ARCHIVE_SAMPLER_H
#define RUNG_ARCHIVE_SAMPLER_H

#include "archive/follower.h"

/* heap object; whoever created it calls rung_sampler_destroy() */
typedef struct rung_sampler rung_sampler;

#define RUNG_SAMPLER_PLAYERS_DEFAULT 1000000u

/* At most `players_max` players a day over all boards (0: a million). RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_sampler_create(const rung_alloc *alloc, const rung_hash_key *key,
                                               uint32_t players_max, rung_sampler **out);
void rung_sampler_destroy(rung_sampler *s); /* accepts NULL */

/* Samples every board (its first ranking: all of time, if it has that) if `ts_ms` begins a new day. One comparison
 * otherwise. */
void rung_sampler_before(rung_sampler *s, const rung_state *state, rung_follower *f, int64_t ts_ms);
void rung_sampler_note(rung_sampler *s, const rung_event *event);

#endif
