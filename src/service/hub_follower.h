/* SPDX-License-Identifier: Apache-2.0 */
/* hub_follower.h - the port of somebody who follows every event, live and in replay: the archive.
 *
 * A table of functions; `ctx` is their first argument. All are called by the owner of the state and must not wait,
 * unless it says so. A function that is NULL is not called. */
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
    /* The log is open and has events first_seq .. end_seq; the state has all up to state_seq (a snapshot). Before any
     * event is replayed. A failure fails the opening. May wait. */
    rung_status (*begin)(void *ctx, rung_log *log, const uint8_t log_id[16], uint64_t first_seq,
                         uint64_t state_seq, const rung_state *state, rung_err *err);
    /* Before an event of that time is applied; not for every one, but for the first of every UTC hour. */
    void (*before)(void *ctx, const rung_state *state, int64_t ts_ms);
    /* These are applied, in order: a few dozen at most. Nothing is kept of them after the call. */
    void (*applied)(void *ctx, uint64_t first_seq, uint32_t count, const rung_event *const *events,
                    const rung_status *statuses);
    void (*on_close)(void *ctx, rung_slice board,
                     const rung_view *view); /* as in rung_state_config */
    void (*catch_up)(void *ctx); /* between replayed batches: may wait while it holds too much */
    /* The log must keep what is at or after this sequence; UINT64_MAX: nothing. */
    uint64_t (*needed_from)(void *ctx);
    /* No snapshot at or beyond this sequence now; UINT64_MAX: any. */
    uint64_t (*snapshot_before)(void *ctx);
    /* The log and the state are about to go: let go of both. Once for each begin that succeeded. May wait. */
    void (*end)(void *ctx);
} rung_hub_follower;

#endif
