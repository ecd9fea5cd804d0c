/* SPDX-License-Identifier: Apache-2.0 */
/* applier.h - the step that live events and replay share: decode what the log has, apply it, tell the follower,
 * answer.
 *
 *     rung_applier_create(&(rung_applier_config){.alloc = a, .state = s}, &applier, &err);
 *     rung_applier_run(applier, n, payloads, answer, ctx, &done, &err);
 *
 * Scores are applied in groups, which is several times faster than one by one (state.h); every other event stands
 * alone, so that what an answer names (a player, a season) cannot have gone before the answer is given.
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

typedef struct rung_applier_config {
    const rung_alloc *alloc;
    rung_state *state;                 /* borrowed; nobody else changes it */
    const rung_hub_follower *follower; /* borrowed; NULL: none */
} rung_applier_config;

/* RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_applier_create(const rung_applier_config *config,
                                               rung_applier **applier_out, rung_err *err);
void rung_applier_destroy(rung_applier *a); /* accepts NULL */

/* An encoded event. */
typedef struct rung_applier_payload {
    rung_slice bytes;
    bool is_brief; /* as of the score event that it was encoded from */
} rung_applier_payload;

/* The answer to the i-th event, after it was applied. `err` is filled when `st` is negative; slices in `outcome` are
 * valid during the call. Must not use the applier. */
typedef void rung_applier_answer(void *ctx, uint32_t i, rung_status st, const rung_outcome *outcome,
                                 const rung_err *err);

/* Apply events that this process encoded, in order; rung_event_encode() has checked them, so that is not done again.
 * RUNG_OK: all were applied (a refusal by the state is an answer like another), the follower has heard of them, and
 * `answer` (may be NULL) was called for each. Otherwise *done_out were, and the next was not: RUNG_ENOMEM;
 * RUNG_ECORRUPT or RUNG_EVERSION when its bytes are no event. */
RUNG_NODISCARD rung_status rung_applier_run(rung_applier *a, uint32_t count,
                                            const rung_applier_payload *payloads,
                                            rung_applier_answer *answer, void *ctx,
                                            uint32_t *done_out, rung_err *err);

/* The same for one event of kind RUNG_EVENT_KEYS: `sink` is called with `ctx` for every command as it takes effect,
 * before `answer`. */
RUNG_NODISCARD rung_status rung_applier_run_keys(rung_applier *a, rung_slice payload,
                                                 rung_zkey_sink *sink, rung_applier_answer *answer,
                                                 void *ctx, void *answer_ctx, uint32_t *done_out,
                                                 rung_err *err);

/* The same for records of a log, which are checked: whoever wrote them. RUNG_ECORRUPT also when a sequence is not the
 * state's next; RUNG_EVERSION also for a record of another type. */
RUNG_NODISCARD rung_status rung_applier_replay(rung_applier *a, const rung_log_record *records,
                                               size_t count, rung_err *err);

#endif
