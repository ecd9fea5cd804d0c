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
#include "service/nodes.h"
#include "state/keyspace/keys.h"
#include "state/state.h"

#include <stdint.h>

/* The type of a log record that is an event (docs/formats/events.md). The only other type is a server's report
 * (service/node_report.h), which is passed over. */
#define RUNG_LOG_TYPE_EVENT 1u

typedef struct rung_applier
    rung_applier; /* heap object; whoever created it calls rung_applier_destroy() */

/* The answer to an applied event, in the order of adding. `err` is set if `st` is negative; slices in `outcome` are
 * valid during the call. Must not use the applier. */
typedef void rung_applier_answer(void *ctx, rung_status st, const rung_outcome *outcome,
                                 const rung_err *err);

typedef struct rung_applier_config {
    const rung_alloc *alloc;
    rung_state *state;                 /* borrowed; nobody else changes it */
    const rung_hub_follower *follower; /* borrowed; NULL: none */
    rung_nodes *nodes;                 /* borrowed; hears reports, gets checkpoints. NULL: none */
    rung_applier_answer *answer;       /* may be NULL */
    void *ctx;                         /* for answer */
    bool is_shared;                    /* the log is a topic: name offsets */
} rung_applier_config;

/* About how many scores could be applied in the time that this event takes. A match compares all sides with each
 * other, so a large one takes thousands of times as long as a score. Other events count as one. */
#define RUNG_EVENT_WEIGHT_MAX                                                                      \
    (1 + RUNG_MATCH_PLAYERS_MAX + RUNG_MATCH_PLAYERS_MAX * RUNG_MATCH_PLAYERS_MAX / 32)
static inline uint32_t rung_event_weight(const rung_event *e) {
    uint32_t n = e->kind == RUNG_EVENT_MATCH ? e->match.player_count : 0;
    n = n < RUNG_MATCH_PLAYERS_MAX ? n : RUNG_MATCH_PLAYERS_MAX; /* checked later */
    return 1 + n + n * n / 32;
}

/* RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_applier_create(const rung_applier_config *config,
                                               rung_applier **applier_out, rung_err *err);
void rung_applier_destroy(rung_applier *a); /* accepts NULL */

/* Add an event that this process encoded, so it is not validated again. `is_brief` is that of the encoded score. The
 * bytes must stay until the event is applied, at finish or before. RUNG_OK, also if the state will refuse it.
 * Otherwise the events added before are applied and this one is not: RUNG_ECORRUPT or RUNG_EVERSION: not an event;
 * RUNG_ENOMEM: out of memory at one of those before. */
RUNG_NODISCARD rung_status rung_applier_add(rung_applier *a, rung_slice payload, bool is_brief,
                                            rung_err *err);

/* The same for a record that another process may have written: it is validated. A void one has no effect (log.h); a
 * report is answered like an event that changed nothing. RUNG_ECORRUPT also if its sequence is not the next one, it was
 * lost, or (RUNG_REASON_DIVERGED) the report shows that our state is not that of the other servers; RUNG_EVERSION also
 * for a record of another type. */
RUNG_NODISCARD rung_status rung_applier_add_record(rung_applier *a, const rung_log_record *record,
                                                   rung_err *err);

/* What the events added so far weigh beyond their number. */
uint64_t rung_applier_weight(const rung_applier *a);

/* Apply what was added. RUNG_ENOMEM: the failed event and those after it are dropped. */
RUNG_NODISCARD rung_status rung_applier_finish(rung_applier *a, rung_err *err);

/* Apply one event of kind RUNG_EVENT_KEYS now: `sink` is called with `ctx` for every command as it takes effect,
 * before the answer. */
RUNG_NODISCARD rung_status rung_applier_run_keys(rung_applier *a, rung_slice payload,
                                                 rung_zkey_sink *sink, void *ctx, rung_err *err);

/* Add all records and finish. */
RUNG_NODISCARD rung_status rung_applier_replay(rung_applier *a, const rung_log_record *records,
                                               size_t count, rung_err *err);

#endif
