/* SPDX-License-Identifier: Apache-2.0 */
/* hub_follower.h - the port of a follower of all events, live and replayed: the archive, the change feed.
 *
 * The owner of the state calls the functions; they must not block unless stated. A function may be NULL. */
#ifndef RUNG_SERVICE_HUB_FOLLOWER_H
#define RUNG_SERVICE_HUB_FOLLOWER_H

#include "base/slice.h"
#include "base/status.h"
#include "journal/log.h"
#include "model/event.h"
#include "state/state.h"

#include <stdint.h>

typedef struct rung_hub_follower {
    void *ctx;
    /* The log is open and begins at first_seq; the state has all events up to state_seq (a snapshot). Called before any
     * event is replayed. A failure fails the opening. May block. */
    rung_status (*begin)(void *ctx, rung_log *log, const uint8_t log_id[16], uint64_t first_seq,
                         uint64_t state_seq, const rung_state *state, rung_err *err);
    /* Before the first event of each UTC hour is applied. */
    void (*before)(void *ctx, const rung_state *state, int64_t ts_ms);
    /* Event `seq`, which is not a score, is about to be applied: the state is as before it. */
    void (*prepare)(void *ctx, const rung_state *state, uint64_t seq, const rung_event *event);
    /* These events were applied, in order. All of it is valid during the call. */
    void (*applied)(void *ctx, uint64_t first_seq, uint32_t count, const rung_event *const *events,
                    const rung_status *statuses, const rung_outcome *outcomes);
    /* The record of this sequence is not an event: a server's report. */
    void (*passed)(void *ctx, uint64_t seq);
    void (*on_close)(void *ctx, rung_slice board,
                     const rung_view *view);                 /* as in rung_state_config */
    void (*on_change)(void *ctx, const rung_change *change); /* as in rung_state_config */
    void (*catch_up)(void *ctx); /* between replayed batches; may block to limit its backlog */
    /* The log must keep records from this sequence on; UINT64_MAX: none. */
    uint64_t (*needed_from)(void *ctx);
    /* Snapshots must be before this sequence for now; UINT64_MAX: no limit. */
    uint64_t (*snapshot_before)(void *ctx);
    /* Log and state are about to be closed: stop using both. Once for each successful begin. May block. */
    void (*end)(void *ctx);
} rung_hub_follower;

#endif
