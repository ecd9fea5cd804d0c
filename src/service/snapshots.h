/* SPDX-License-Identifier: Apache-2.0 */
/* snapshots.h - decides when to save the state of a folder and when to remove old segments.
 *
 *     none --(due, or requested)--> waiting --(the log is durable up to the state)--> writing --> none
 *
 * While one is waiting nothing may be applied, so that the log can catch up. Threads: one at a time. */
#ifndef RUNG_SERVICE_SNAPSHOTS_H
#define RUNG_SERVICE_SNAPSHOTS_H

#include "service/hub_follower.h"
#include "service/log_time.h"
#include "service/retention.h"
#include "service/store.h"

typedef enum rung_snapshot_phase {
    RUNG_SNAPSHOT_NONE,
    RUNG_SNAPSHOT_WAITING,
    RUNG_SNAPSHOT_WRITING,
} rung_snapshot_phase;

/* Read-only outside. */
typedef struct rung_snapshots {
    rung_store *store; /* NULL: memory only */
    const rung_state *state;
    const rung_hub_follower *follower; /* NULL: none */
    rung_log_time *time;
    uint64_t every;   /* bytes of log between two; UINT64_MAX: only on request */
    int64_t every_ms; /* after this time also for fewer bytes; 0: no limit */
    /* Also when replaying what came after the newest would take so long; 0: no limit. */
    int64_t target_ms;
    rung_retention retention;
    const rung_alloc *alloc;
    void (*say)(void *ctx, const char *line);
    void *ctx;

    rung_snapshot_phase phase;
    uint64_t bytes_before;        /* log bytes after the snapshot that was loaded */
    uint64_t bytes_at_save;       /* log bytes when the last one was started */
    uint64_t bytes_at_newest;     /* when the newest complete one was */
    int64_t begun_ms;             /* when that was, or when the folder was opened */
    int64_t opened_ms, day_begun; /* day_begun: the day of begun_ms, unless that is opened_ms */
    uint64_t saving_seq;
    rung_snapshot_entries list; /* of the folder */
    uint64_t *keep; /* of these, to be kept besides the newest two; room for `keep_room` */
    size_t keep_room;
    rung_retention_plan plan;
    bool has_plan;
    int64_t planned_ms; /* log time of the plan */
    int64_t
        log_begin_ms; /* log time of record 1; 0: the log does not begin there, or it is unknown */
    bool is_short;    /* it was said that the log gives way */
    uint64_t kept_from;    /* records before this are not needed for what is kept */
    uint64_t trimmed_from; /* the log may remove records before this */
    uint64_t count, failures, newest_seq;
    int64_t newest_ms;   /* when the newest was complete; 0: none since the start */
    uint64_t applied_us; /* of applying events since the start */
} rung_snapshots;

/* The fields before `phase` are set, the others zero; the store is open. */
RUNG_NODISCARD rung_status rung_snapshots_init(rung_snapshots *s, rung_err *err);
void rung_snapshots_deinit(rung_snapshots *s);

/* Start one in the background. RUNG_OK: writing or waiting; RUNG_UNCHANGED; RUNG_EBUSY: one is running, or the archive
 * must catch up first; RUNG_EUNSUPPORTED: no folder. */
RUNG_NODISCARD rung_status rung_snapshots_begin(rung_snapshots *s, rung_err *err);
/* Write one now. The log must be synced. */
RUNG_NODISCARD rung_status rung_snapshots_save(rung_snapshots *s, rung_err *err);

static inline bool rung_snapshots_are_waiting(const rung_snapshots *s) {
    return s->phase == RUNG_SNAPSHOT_WAITING;
}
/* Start one that waits, if the log is durable up to the state. */
void rung_snapshots_go_on(rung_snapshots *s);
/* Cancel one that waits: the log has failed. */
void rung_snapshots_give_up(rung_snapshots *s);

/* Applying events took so long. */
static inline void rung_snapshots_note_work(rung_snapshots *s, int64_t us) {
    s->applied_us += us > 0 ? (uint64_t)us : 0;
}
/* How long a start would take to replay the log after the newest snapshot: its bytes, times what one took when the
 * folder was opened, or takes now. */
int64_t rung_snapshots_replay_ms(const rung_snapshots *s);
/* The folder is being closed: write one now if a start would take long without it. The log must be synced. */
RUNG_NODISCARD rung_status rung_snapshots_save_last(rung_snapshots *s, rung_err *err);

/* Cancel one that waits or is being written: the state is not to be trusted. */
void rung_snapshots_cancel(rung_snapshots *s);

/* The result of the one that is being written, as rung_store_save_poll(). */
rung_status rung_snapshots_poll(rung_snapshots *s, bool wait, rung_err *err);
/* Start one if the log has grown enough, or if it is the day's first. */
void rung_snapshots_begin_if_due(rung_snapshots *s);
/* Remove segments that need not be kept any more and that the follower has read. */
void rung_snapshots_trim(rung_snapshots *s);

/* The oldest moment that can be rebuilt, in log time; 0: unknown. */
int64_t rung_snapshots_reach_ms(const rung_snapshots *s);
/* The bytes of all snapshot files. */
uint64_t rung_snapshots_bytes(const rung_snapshots *s);

#endif
