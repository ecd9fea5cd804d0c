/* SPDX-License-Identifier: Apache-2.0 */
/* applier.h - the step that live events and replay share: decode what the log has, apply it, tell the follower,
 * answer.
 *
 *     rung_applier_create(&(rung_applier_config){.alloc = a, .state = s, .answer = f, .ctx = c}, &applier, &err);
 *     rung_applier_add(applier, payload, is_brief, &err);   // decoded; applied later, or now
 *     rung_applier_finish(applier, &err);                   // all that was added is applied and answered
 *
 * Scores are applied in groups, which is several times faster than one by one (state.h). Any other event is applied
 * alone: it may remove a player or a season that an earlier answer names.
 *
 * Threads: one at a time. */
#ifndef RUNG_SERVICE_APPLIER_H
#define RUNG_SERVICE_APPLIER_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/log.h"
#include "service/hub_follower.h"
#include "state/keyspace/keys.h"
#include "state/state.h"

#include <stdint.h>

/* The type of a log record that is an event (docs/formats/events.md). */
#define RUNG_LOG_TYPE_EVENT 1u

typedef struct rung_applier
    rung_applier; /* heap object; whoever created it calls rung_applier_destroy() */

/* The answer to an event that was applied, in the order in which they were added. `err` is set when `st` is negative;
 * slices in `outcome` are valid during the call. Must not use the applier. */
typedef void rung_applier_answer(void *ctx, rung_status st, const rung_outcome *outcome,
                                 const rung_err *err);

typedef struct rung_applier_config {
    const rung_alloc *alloc;
    rung_state *state;                 /* borrowed; nobody else changes it */
    const rung_hub_follower *follower; /* borrowed; NULL: none */
    rung_applier_answer *answer;       /* NULL: nobody asks */
    void *ctx;                         /* for answer */
} rung_applier_config;

/* RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_applier_create(const rung_applier_config *config,
                                               rung_applier **applier_out, rung_err *err);
void rung_applier_destroy(rung_applier *a); /* accepts NULL */

/* Add an event that this process encoded; rung_event_encode() has checked it. `is_brief` is that of the encoded score.
 * The bytes stay until it is applied. After RUNG_OK it will be, by a later call at the latest by finish; the state's
 * refusal is an answer like another. Otherwise what was added before is applied, up to an event for which there is no
 * memory (RUNG_ENOMEM), and this one is not: RUNG_ECORRUPT or RUNG_EVERSION when its bytes are no event. */
RUNG_NODISCARD rung_status rung_applier_add(rung_applier *a, rung_slice payload, bool is_brief,
                                            rung_err *err);

/* The same for a record that somebody else may have written: it is checked. RUNG_ECORRUPT also when its sequence is
 * not the next; RUNG_EVERSION also for a record of another type. */
RUNG_NODISCARD rung_status rung_applier_add_record(rung_applier *a, const rung_log_record *record,
                                                   rung_err *err);

/* Apply what was added. RUNG_OK or RUNG_ENOMEM: those before the failed one are applied, the others are dropped. */
RUNG_NODISCARD rung_status rung_applier_finish(rung_applier *a, rung_err *err);

/* Apply one event of kind RUNG_EVENT_KEYS now: `sink` is called with `ctx` for every command as it takes effect,
 * before the answer. */
RUNG_NODISCARD rung_status rung_applier_run_keys(rung_applier *a, rung_slice payload,
                                                 rung_zkey_sink *sink, void *ctx, rung_err *err);

/* Add all records and finish. */
RUNG_NODISCARD rung_status rung_applier_replay(rung_applier *a, const rung_log_record *records,
                                               size_t count, rung_err *err);

#endif
