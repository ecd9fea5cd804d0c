/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.h - at the end of each day (UTC, by log time), sample every board: the top places, and everyone who played.
 *
 *     rung_sampler_before(s, state, f, ts_ms);     // before an event with that ts is applied
 *     rung_sampler_note(s, &event);                // after an event was applied
 *
 * It remembers the day's players up to a limit. Beyond the limit, and for the part of a day before a restart, it
 * samples only the top places. A sample belongs to the first event of the new day, so a replay takes it again at the
 * same point. One thread: the owner of the state. */
#ifndef RUNG_ARCHIVE_SAMPLER_H
#define RUNG_ARCHIVE_SAMPLER_H

#include "archive/follower.h"

/* Heap object. Release it with rung_sampler_destroy(). */
typedef struct rung_sampler rung_sampler;

#define RUNG_SAMPLER_PLAYERS_DEFAULT 1000000u

/* At most `players_max` players per day over all boards (0: a million). RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_sampler_create(const rung_alloc *alloc, const rung_hash_key *key,
                                               uint32_t players_max, rung_sampler **out);
void rung_sampler_destroy(rung_sampler *s); /* accepts NULL */

/* Sample every board (its `all` window, or its first) if `ts_ms` begins a new day. Otherwise one comparison. */
void rung_sampler_before(rung_sampler *s, const rung_state *state, rung_follower *f, int64_t ts_ms);
void rung_sampler_note(rung_sampler *s, const rung_event *event);
uint32_t rung_sampler_count(const rung_sampler *s); /* pairs of board and player noted today */

#endif
