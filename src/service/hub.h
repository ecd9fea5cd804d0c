/* SPDX-License-Identifier: Apache-2.0 */
/* hub.h - the service as one object: a state, its log, its folder, its clock, and the commit line in front of them.
 *
 *     rung_commit_put(rung_hub_commit(hub), from, &event, NULL, answer, ctx, &err);   // checked and queued
 *     rung_hub_flush(hub);   // at the end of a turn of the loop: off to the log
 *     rung_hub_turn(hub);    // when woken: apply what was delivered, answer
 *
 * A server drives it from its loop and never waits for the disk: the log writes in a thread of its own, and the changes
 * of all connections share one batch. The library (library.c) drives the same object inline: a flush returns when
 * everything is answered. How a change gets to its answer is commit.h.
 *
 * Threads: all calls from one thread, the owner of the state, except rung_hub_open(), which may run in another
 * before the hub is handed over. `wake` is called from the log's thread. */
#ifndef RUNG_SERVICE_HUB_H
#define RUNG_SERVICE_HUB_H

#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"
#include "base/worker.h"
#include "journal/file.h"
#include "model/event.h"
#include "service/child.h"
#include "service/commit.h"
#include "service/hub_follower.h"
#include "service/log_time.h"
#include "service/waiters.h"
#include "state/keyspace/keys.h"
#include "state/state.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_hub rung_hub; /* heap object; whoever opened it calls rung_hub_close() */

/* Zero is a good default for every field but alloc and clock. Texts and functions are used until close. */
typedef struct rung_hub_config {
    const rung_alloc *alloc;
    rung_clock clock;
    /* Ports; NULL: the system's. */
    const rung_random *random;
    const rung_threads *threads;
    const rung_children *children; /* who writes snapshots */
    bool is_inline;         /* no thread and no wake: the caller waits for the disk in flush */
    const char *path;       /* the folder; NULL: nothing is kept */
    const rung_fs *fs;      /* where it is; NULL: the operating system's files */
    uint32_t sync_every_ms; /* as in rung_config */
    uint64_t segment_size;  /* 0: 64 MiB */
    uint32_t id_capacity;   /* as in rung_config; a change is the first event of this life */
    int64_t id_keep_ms;
    int64_t at_ahead_ms;     /* as in rung_config */
    int64_t max_jump_ms;     /* as in rung_config */
    const char *zoneinfo;    /* as in rung_config */
    uint32_t space_retry_ms; /* how often to look for space on a full disk; 0: 200 */
    uint32_t
        waiting_max; /* changes put and not answered, and as many questions; 0: 65,536. With a limit of
                                  32 MiB for the changes' bytes */
    /* Bytes that the state may take: beyond it changes that make it larger are refused (RUNG_EFULL), while questions
     * are answered and what removes something is taken. Opening does not look at it. 0: no limit. */
    uint64_t memory_max;
    /* Bytes of log between snapshots in the background; as many as players and rankings have in memory, if those are
     * more. 0: 256 MiB; UINT64_MAX: only when asked. */
    uint64_t snapshot_every;
    const rung_hub_follower *follower; /* NULL: none */
    void (*wake)(
        void *ctx); /* something is ready for rung_hub_turn(); from any thread, must not wait */
    void (*fatal)(
        void *ctx,
        const rung_err
            *err); /* the log failed, or (RUNG_ENOMEM) there is no memory to apply what it has:
                                                      nothing more is acknowledged. From any thread;
                                                      a server leaves here, with _exit */
    void (*progress)(void *ctx, const char *what, uint64_t done,
                     uint64_t total);         /* as in rung_config; while opening */
    void (*say)(void *ctx, const char *line); /* one line for the operator */
    void *ctx;                                /* for the four above */
} rung_hub_config;

#define RUNG_HUB_WAITING_MAX (1u << 24)

/* Opens (lock, snapshot, replay), as rung_open. Takes as long as the recovery does. */
RUNG_NODISCARD rung_status rung_hub_open(const rung_hub_config *config, rung_hub **hub_out,
                                         rung_err *err);

/* Log, apply and answer everything that was put, wait for the disk, close the folder. What answers put meanwhile is
 * refused (RUNG_ECLOSED); nobody may be waiting for a sequence. The hub is gone whatever is returned: RUNG_OK, or the
 * failure of the log, now or before. NULL is fine. */
rung_status rung_hub_close(rung_hub *h, rung_err *err);

/* ---- changes ---- */

/* Changes and questions go to the commit line: rung_commit_put, _place, _room, _call_after and _rest. */
rung_commit *rung_hub_commit(const rung_hub *h);

/* Put a change of the server's own. */
RUNG_NODISCARD static inline rung_status
rung_hub_put(rung_hub *h, rung_event *event, rung_hub_answer *answer, void *ctx, rung_err *err) {
    return rung_commit_put(rung_hub_commit(h), (rung_hub_sender){0}, event, NULL, answer, ctx, err);
}

/* The same for a board definition in a zone by name: its rules are looked up. RUNG_EABSENT: no such zone. */
RUNG_NODISCARD rung_status rung_hub_define(rung_hub *h, rung_slice board, const rung_board_def *def,
                                           rung_hub_answer *answer, void *ctx, rung_err *err);

/* ---- questions: at any time, of rung_hub_state(); or in their place ---- */

/* Wait for a sequence: min_seq= of a read (waiters.h). All who wait are called in the order of their
 * sequences, and of coming. */
void rung_hub_wait(rung_hub *h, rung_hub_waiter *w);
void rung_hub_cancel(rung_hub *h, rung_hub_waiter *w); /* fine also when it does not wait */
/* The last sequence that can come soon: as many changes ahead of the state as may be waiting at a time. Nobody was told
 * of a later one by this log. */
uint64_t rung_hub_reach(const rung_hub *h);

/* Called for events that were applied, a few hundred at most, before their answers; from rung_hub_flush() and
 * rung_hub_turn(). It must use nothing of the hub but rung_hub_state(), and keep nothing of them. There is one: the
 * next takes its place, NULL ends it. */
typedef void rung_hub_observer(void *ctx, uint32_t count, const rung_event *const *events);
void rung_hub_observe(rung_hub *h, rung_hub_observer *observer, void *ctx);

const rung_state *rung_hub_state(const rung_hub *h);
int64_t rung_hub_now(rung_hub *h);

/* ---- the loop's part ---- */

/* Hand over what was put in this turn, then call the questions that can be. Without a folder all is applied and
 * answered right here. */
void rung_hub_flush(rung_hub *h);
/* Apply and answer what is durable, then hand over what was put meanwhile. Cheap when there is nothing. Best called
 * behind the flush of the same turn of the loop: the disk works while this does. */
void rung_hub_turn(rung_hub *h);
/* Ten times a second or so: close windows that are due, look after snapshots, let go of old log. */
void rung_hub_tick(rung_hub *h);
/* Begin a snapshot in the background. RUNG_OK: under way; RUNG_UNCHANGED; RUNG_EBUSY: one is under way, or the archive
 * must catch up first (`err` says which); RUNG_EUNSUPPORTED without a folder. */
RUNG_NODISCARD rung_status rung_hub_snapshot(rung_hub *h, rung_err *err);
/* The same here and now; inline only. */
RUNG_NODISCARD rung_status rung_hub_save(rung_hub *h, rung_err *err);
/* Wait for the one in the background. RUNG_NOT_FOUND: there is none; else how it ended. */
rung_status rung_hub_wait_for_snapshot(rung_hub *h, rung_err *err);
/* All that was answered is durable when this returns RUNG_OK; inline only. */
RUNG_NODISCARD rung_status rung_hub_sync(rung_hub *h, rung_err *err);
/* RUNG_OK, or why nothing is accepted any more. */
RUNG_NODISCARD rung_status rung_hub_failure(const rung_hub *h, rung_err *err);

rung_hub_time rung_hub_look_at_time(rung_hub *h);
/* An operator confirms the wall clock: time follows it from now on. Was it held? */
bool rung_hub_accept_time(rung_hub *h);

typedef struct rung_hub_stats {
    rung_status status;     /* RUNG_OK; RUNG_ENOSPC while the disk is full; or the failure */
    uint64_t put, answered; /* changes */
    uint64_t refused;       /* turned away at put, or answered without having been applied */
    uint32_t waiting;       /* put and not answered */
    uint64_t waiter_steps;  /* comparisons made to keep those who wait for a sequence in order */
    uint64_t batches;
    uint64_t sync_count, sync_us_total,
        sync_us[RUNG_LOG_TIME_BUCKETS];       /* write and sync of one batch */
    uint64_t log_bytes;                       /* written since the start */
    uint64_t memory, memory_peak, memory_max; /* of the state; max 0: no limit */
    uint64_t memory_refused;                  /* changes refused for lack of it */
    uint64_t durable_seq, applied_seq;
    uint64_t snapshots, snapshot_failures, snapshot_seq; /* the newest one's sequence */
    bool is_snapshotting;
    int64_t
        snapshot_ms; /* when the newest was finished, Unix milliseconds; 0: none since the start */
} rung_hub_stats;
rung_hub_stats rung_hub_stat(const rung_hub *h);

#endif
