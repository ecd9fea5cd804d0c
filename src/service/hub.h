/* SPDX-License-Identifier: Apache-2.0 */
/* hub.h - state, log, folder, clock and commit line as one object.
 *
 *     rung_commit_put(rung_hub_commit(hub), from, &event, NULL, answer, ctx, &err);   // checked and queued
 *     rung_hub_flush(hub);   // at the end of a loop turn: propose to the log
 *     rung_hub_turn(hub);    // when woken: apply what the log delivered, answer
 *
 * A server drives it from its loop and never waits for the disk: the log writes in its own thread, and the changes of
 * all connections share a batch. The library (library.c) drives it inline: a flush returns when everything is answered.
 * commit.h describes the path of a change.
 *
 * Threads: one, the owner of the state. rung_hub_open() may run in another one. The log's thread calls `wake`. */
#ifndef RUNG_SERVICE_HUB_H
#define RUNG_SERVICE_HUB_H

#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"
#include "base/worker.h"
#include "journal/file.h"
#include "journal/snapshot_file.h"
#include "model/event.h"
#include "service/child.h"
#include "service/commit.h"
#include "service/hub_follower.h"
#include "service/log_time.h"
#include "service/nodes.h"
#include "service/past.h"
#include "service/retention.h"
#include "service/waiters.h"
#include "state/keyspace/keys.h"
#include "state/state.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_hub rung_hub; /* heap object; whoever opened it calls rung_hub_close() */

/* Zero is a good default, except for alloc and clock. Strings and functions are used until close. */
typedef struct rung_hub_config {
    const rung_alloc *alloc;
    rung_clock clock;
    /* Ports; NULL: the system's. */
    const rung_random *random;
    const rung_threads *threads;
    const rung_children *children; /* write snapshots */
    bool is_inline;                /* no thread and no wake: flush waits for the disk */
    const char *path;              /* the folder; NULL: memory only */
    const rung_fs *fs;             /* NULL: the operating system's files */
    /* A log shared by several nodes (stream/kafka_log.h), open but not started, with the same `wake` and `fatal`. The
     * folder then has only snapshots. The hub closes it, even if it cannot be opened. NULL: the folder's own log. */
    rung_log *log;
    /* With a shared log: how this server is known to the others (nodes.h); 0 and NULL are good defaults. */
    const char *version, *address;
    uint64_t checkpoint_every;
    uint32_t heartbeat_ms;
    uint64_t segment_size; /* 0: 64 MiB */
    /* Open the folder as it was at that moment, beside the server that writes it (past.h): no lock, no change, and the
     * clock stands still. All changes are refused (RUNG_EREFUSED, RUNG_REASON_READ_ONLY). memory_max bounds what is
     * read. There is no follower. NULL: now. */
    const rung_moment *as_of;
    /* As in rung_config. */
    uint32_t sync_every_ms, id_capacity;
    bool packs; /* compress full segments of the log; not if inline */
    int64_t id_keep_ms, at_ahead_ms, max_jump_ms;
    const char *zoneinfo;
    uint32_t space_retry_ms; /* how often to look for space on a full disk; 0: 200 */
    /* Limit for changes in flight, and for placed questions; 0: 65,536. The changes may take 32 MiB. */
    uint32_t waiting_max;
    /* Limit for the state's memory. Beyond it, changes that make the state larger are refused (RUNG_EFULL); reads and
     * removals go on. Not checked while opening. 0: no limit. */
    uint64_t memory_max;
    /* Bytes of log between background snapshots, or the size of players and rankings in memory if that is larger.
     * 0: 256 MiB; UINT64_MAX: only on request. */
    uint64_t snapshot_every;
    int64_t
        snapshot_every_ms; /* a snapshot after this time, even if the log has grown by less; 0: no limit */
    /* A snapshot also when replaying the log after the newest one would take so long, and at the close when it would
     * take more than a fifteenth of it; 0: neither. Not if inline. */
    uint64_t recovery_target_ms;
    /* How much of the log and of its snapshots is kept (retention.h). Zero: what the newest two snapshots need. */
    rung_retention log_keep;
    /* Of a shared log: ready when at most so many records of it are not applied; 0: 10,000. */
    uint64_t ready_lag_max;
    const rung_hub_follower *follower; /* NULL: none */
    /* Call rung_hub_turn() soon. From any thread; must not block. */
    void (*wake)(void *ctx);
    /* The log failed, or there is no memory to apply what it has (RUNG_ENOMEM). Nothing is acknowledged after this.
     * From any thread; a server calls _exit here. */
    void (*fatal)(void *ctx, const rung_err *err);
    /* While opening, as in rung_config. */
    void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
    void (*say)(void *ctx, const char *line); /* one line for the operator */
    void *ctx;                                /* of the four functions above */
} rung_hub_config;

#define RUNG_HUB_WAITING_MAX (1u << 24)

/* Lock the folder, load the snapshot, replay the log. */
RUNG_NODISCARD rung_status rung_hub_open(const rung_hub_config *config, rung_hub **hub_out,
                                         rung_err *err);

/* Commit and answer everything that was put, then close the folder. Changes put by those answers are refused
 * (RUNG_ECLOSED). There must be no waiters. Frees the hub in any case; returns RUNG_OK or the failure of the log.
 * Accepts NULL. */
rung_status rung_hub_close(rung_hub *h, rung_err *err);

/* ---- changes ---- */

/* Changes and placed questions go to the commit line. */
rung_commit *rung_hub_commit(const rung_hub *h);

/* Put a change of the server's own. */
RUNG_NODISCARD static inline rung_status
rung_hub_put(rung_hub *h, rung_event *event, rung_hub_answer *answer, void *ctx, rung_err *err) {
    return rung_commit_put(rung_hub_commit(h), (rung_hub_sender){0}, event, NULL, answer, ctx, err);
}

/* The same for a board definition; looks up the rules of its time zone. RUNG_EABSENT: no such zone. */
RUNG_NODISCARD rung_status rung_hub_define(rung_hub *h, rung_hub_sender from, rung_slice board,
                                           const rung_board_def *def, rung_hub_answer *answer,
                                           void *ctx, rung_err *err);

/* Look up the rules of a definition's time zone, unless it has them. `room` has RUNG_ZONE_PACKED_MAX bytes. */
RUNG_NODISCARD rung_status rung_hub_find_zone(const rung_hub *h, rung_board_def *def, char *room,
                                              rung_err *err);

/* ---- questions: rung_hub_state() may be read at any time ---- */

/* Call the waiter when the state has its sequence (min_seq= of a read, waiters.h). Order: by sequence, then FIFO. */
void rung_hub_wait(rung_hub *h, rung_hub_waiter *w);
/* The same for everything that any node has acknowledged so far (latest= of a read). Writes a tick to a shared log, one
 * for all who ask at the same time. */
void rung_hub_wait_for_end(rung_hub *h, rung_hub_waiter *w);
void rung_hub_cancel(rung_hub *h, rung_hub_waiter *w); /* no effect if it does not wait */
/* The highest sequence worth waiting for: the state's plus all changes that may be in flight. */
uint64_t rung_hub_reach(const rung_hub *h);

/* Called with up to a few hundred applied events, before their answers. It may use rung_hub_state() and nothing else of
 * the hub. The events are valid during the call. A new observer replaces the old one; NULL: none. */
typedef void rung_hub_observer(void *ctx, uint32_t count, const rung_event *const *events);
void rung_hub_observe(rung_hub *h, rung_hub_observer *observer, void *ctx);

const rung_state *rung_hub_state(const rung_hub *h);
/* Show what a shadow ban holds of the player to one question of theirs (rung_state_ghost_enter); conceal it afterwards.
 * False: there is no such ban, or no memory, and nothing to conceal. */
bool rung_hub_reveal(rung_hub *h, rung_slice board, rung_slice player);
void rung_hub_conceal(rung_hub *h);
/* The age of what it says: how many milliseconds ago a shared log last answered, as of the last tick. 0: it answers. */
int64_t rung_hub_silent_ms(const rung_hub *h);
int64_t rung_hub_now(rung_hub *h);
/* With config.as_of that has since_ms; otherwise NULL. Borrowed. */
const rung_movers *rung_hub_movers(const rung_hub *h);
/* It shows a moment of the past (config.as_of): RUNG_EREFUSED, as for every change. Otherwise RUNG_OK. */
RUNG_NODISCARD rung_status rung_hub_check_present(const rung_hub *h, rung_err *err);

/* ---- the loop's part ---- */

/* Propose what was put in this loop turn, then call the questions that are due. Without a folder, also apply and
 * answer. */
void rung_hub_flush(rung_hub *h);
/* Apply and answer what is durable, then propose what was put meanwhile. Cheap when there is nothing to do. Call it
 * after the flush of the same loop turn, so that the disk works in parallel. */
void rung_hub_turn(rung_hub *h);
/* About ten times a second: close windows that are due, manage snapshots, remove old segments. */
void rung_hub_tick(rung_hub *h);
/* Start a background snapshot. RUNG_OK: started; RUNG_UNCHANGED; RUNG_EBUSY: one is running, or the archive must catch
 * up first; RUNG_EUNSUPPORTED: no folder; RUNG_ECORRUPT: the state has diverged. */
RUNG_NODISCARD rung_status rung_hub_snapshot(rung_hub *h, rung_err *err);
/* Open the newest snapshot file, to copy it elsewhere. RUNG_NOT_FOUND: there is none yet; RUNG_EUNSUPPORTED: no
 * folder. */
RUNG_NODISCARD rung_status rung_hub_open_snapshot(const rung_hub *h, rung_snapshot_raw *raw_out,
                                                  rung_err *err);
/* Write a snapshot and return when it is complete; inline only. */
RUNG_NODISCARD rung_status rung_hub_save(rung_hub *h, rung_err *err);
/* Wait for the background snapshot and return its result. RUNG_NOT_FOUND: there is none. */
rung_status rung_hub_wait_for_snapshot(rung_hub *h, rung_err *err);
/* Make everything answered durable; inline only. */
RUNG_NODISCARD rung_status rung_hub_sync(rung_hub *h, rung_err *err);
/* RUNG_OK, or the failure because of which all changes are refused. */
RUNG_NODISCARD rung_status rung_hub_failure(const rung_hub *h, rung_err *err);

/* The servers that share the log; NULL: it is not shared. */
const rung_nodes *rung_hub_nodes(const rung_hub *h);
/* Set when the other servers have another state. Then nothing must be served: all changes are refused, nothing more is
 * applied, no snapshot is written, and those that waited for a sequence were told. NULL: all is well. */
const rung_divergence *rung_hub_divergence(const rung_hub *h);

rung_hub_time rung_hub_look_at_time(rung_hub *h);
/* Trust the wall clock as it is now. Returns whether time was held. */
bool rung_hub_accept_time(rung_hub *h);

typedef struct rung_hub_stats {
    rung_status status;     /* RUNG_OK; RUNG_ENOSPC while the disk is full; or the failure */
    uint64_t put, answered; /* changes */
    uint64_t refused;       /* by put, or answered without being applied */
    uint32_t waiting;       /* put and not answered */
    uint64_t waiter_steps;  /* comparisons in the heap of waiters */
    uint64_t batches;
    uint64_t sync_count, sync_us_total,
        sync_us[RUNG_LOG_TIME_BUCKETS];       /* write and sync of a batch */
    uint64_t log_bytes;                       /* written since the start */
    uint64_t memory, memory_peak, memory_max; /* of the state; max 0: no limit */
    uint64_t memory_refused;                  /* changes refused for lack of memory */
    uint64_t durable_seq, applied_seq;
    /* It has once been close enough to the end of a shared log. Looked at while opening and in every tick. */
    bool is_ready;
    uint64_t log_end_seq, log_rejected, log_unknown, log_foreign; /* of a shared log (log.h) */
    uint64_t log_rebuilds;
    int64_t log_silent_ms;
    uint64_t snapshots, snapshot_failures, snapshot_seq; /* of the newest */
    bool is_snapshotting;
    int64_t snapshot_ms; /* when the newest was complete; 0: none since the start */
    uint64_t log_first_seq, log_disk_bytes; /* 0: there is no folder, or the log is elsewhere */
    int64_t log_reach_ms;                   /* the oldest moment that can be rebuilt; 0: unknown */
    bool is_log_short;                      /* size or disk end it before log.keep is over */
    uint64_t snapshots_kept, snapshot_bytes;
    int64_t replay_ms; /* how long replaying the log after the newest snapshot would take */
} rung_hub_stats;
rung_hub_stats rung_hub_stat(const rung_hub *h);

#endif
