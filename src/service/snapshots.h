/* SPDX-License-Identifier: Apache-2.0 */
/* snapshots.h - when a folder's state is saved, and when its old log may go.
 *
 *     none --(due, or asked for)--> waiting --(the log is as far on the disk as the state)--> writing --> none
 *
 * While it waits nothing may be applied: the state must not run away from the log (rung_snapshots_are_waiting).
 * Threads: one at a time. */
#ifndef RUNG_SERVICE_SNAPSHOTS_H
#define RUNG_SERVICE_SNAPSHOTS_H

#include "service/hub_follower.h"
#include "service/log_time.h"
#include "service/store.h"

typedef enum rung_snapshot_phase {
    RUNG_SNAPSHOT_NONE,
    RUNG_SNAPSHOT_WAITING,
    RUNG_SNAPSHOT_WRITING,
} rung_snapshot_phase;

/* Read-only outside. */
typedef struct rung_snapshots {
    rung_store *store; /* NULL: nothing is kept */
    const rung_state *state;
    const rung_hub_follower *follower; /* NULL: none */
    rung_log_time *time;
    uint64_t every; /* bytes of log between two; UINT64_MAX: only when asked */
    void (*say)(void *ctx, const char *line);
    void *ctx;

    rung_snapshot_phase phase;
    uint64_t bytes_before;  /* of log behind the snapshot that the folder was opened from */
    uint64_t bytes_at_save; /* written when the last one was begun */
    uint64_t saving_seq;
    uint64_t kept_from;    /* the log before this is in both snapshots */
    uint64_t trimmed_from; /* the log was told to remove what is before this */
    uint64_t count, failures, newest_seq;
    int64_t newest_ms; /* when it was finished; 0: none since the start */
} rung_snapshots;

/* The first seven fields are set, the others zero; the store is open. */
RUNG_NODISCARD rung_status rung_snapshots_init(rung_snapshots *s, rung_err *err);

/* Begin one in the background. RUNG_OK: under way, or waiting; RUNG_UNCHANGED; RUNG_EBUSY: one is under way, or the
 * archive must catch up first (`err` says which); RUNG_EUNSUPPORTED without a folder. */
RUNG_NODISCARD rung_status rung_snapshots_begin(rung_snapshots *s, rung_err *err);
/* Write one here and now. The log must be synced. */
RUNG_NODISCARD rung_status rung_snapshots_save(rung_snapshots *s, rung_err *err);

static inline bool rung_snapshots_are_waiting(const rung_snapshots *s) {
    return s->phase == RUNG_SNAPSHOT_WAITING;
}
/* Begin one that waited, if the log is far enough by now. */
void rung_snapshots_go_on(rung_snapshots *s);
/* Give up one that waits: the log has failed. */
void rung_snapshots_give_up(rung_snapshots *s);

/* How the one that is being written ended: RUNG_PARTIAL, RUNG_NOT_FOUND, or as rung_store_save_poll(). */
rung_status rung_snapshots_poll(rung_snapshots *s, bool wait, rung_err *err);
/* Has the log grown by as much as it shall between two? Then begin one. */
void rung_snapshots_begin_if_due(rung_snapshots *s);
/* Let go of the log that is in both snapshots and with the follower. */
void rung_snapshots_trim(rung_snapshots *s);

#endif
