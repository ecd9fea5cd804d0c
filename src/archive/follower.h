/* SPDX-License-Identifier: Apache-2.0 */
/* follower.h - keeps an archive up to date with the log, in its own thread, and never makes the server wait.
 *
 * The follower reads events from the log, up to what the owner reports as applied. The owner also hands over what the
 * log does not contain: the outcome of each event, and every closed window, packed inside the state's on_close.
 * Everything up to a sequence is archived in one transaction with the cursor, so a crash at any time neither loses
 * nor duplicates anything:
 *
 *   - events after the cursor are read again from the log, which must not be truncated beyond rung_follower_cursor();
 *   - closed windows after the cursor come again when the state is rebuilt, because no snapshot is taken beyond a
 *     window that waits: rung_follower_pinned();
 *   - anything at or before the cursor is archived already and is ignored.
 *
 * If the archive fails, the follower retries with backoff until it works; rung_follower_stat() shows how far behind
 * it is and why. Outcomes wait in a ring of 32 bytes each; those that do not fit are archived as unknown. Windows wait
 * up to a limit of bytes. At the limit, without memory, or if the child that packed a window was killed, the follower
 * stops before that window (RUNG_ELIMIT, RUNG_ENOMEM, RUNG_EIO in the stats). A restart rebuilds the window, so
 * nothing is lost.
 *
 * An archive that may be away (archive.h) is asked for its cursor until it answers; until then everything waits. One
 * that other servers write as well is followed: what they archived is no longer needed here.
 *
 *     rung_follower_create(&config, &f, &err);         // before the log is replayed
 *     on_close:  rung_follower_close_window(f, board, view);
 *     applied:   rung_follower_applied(f, first_seq, n, statuses, outcomes);
 *
 * Threads: create, destroy, applied, close_window and sample from the owner of the state; the others from any. */
#ifndef RUNG_ARCHIVE_FOLLOWER_H
#define RUNG_ARCHIVE_FOLLOWER_H

#include "archive/archive.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/worker.h"
#include "journal/log.h"
#include "service/child.h"

/* Heap object. Release it with rung_follower_destroy(). */
typedef struct rung_follower rung_follower;

typedef struct rung_follower_config {
    rung_archive *archive;         /* borrowed; only the follower uses it until destroy */
    rung_log *log;                 /* borrowed; open until the follower is destroyed */
    const rung_alloc *alloc;       /* used from both threads */
    const rung_threads *threads;   /* NULL: the system's */
    const rung_children *children; /* to pack large windows; NULL: forked processes */
    rung_clock clock;              /* only its monotonic time is used; zero: the system's */
    /* Set to the start of the log if the archive may skip events that are no longer there (it records the gap). 0: an
     * archive that misses events fails. */
    uint64_t first_seq;
    uint32_t batch_events; /* events per transaction, at most; 0: 32768 */
    /* After a transaction, wait this long for more events unless as many as fit already wait: a transaction costs as
     * much as some hundred events. 0: 100. */
    uint32_t gather_ms;
    int64_t keep_ms;          /* remove what is older than this, by log time; 0: keep everything */
    uint32_t statuses_max;    /* waiting, with outcomes; 0: 1,048,576 */
    size_t pinned_bytes_max;  /* of closed windows waiting; 0: 1 GiB */
    size_t results_bytes_max; /* of results of events with several players, waiting; 0: 256 MiB */
    uint32_t retry_ms_min, retry_ms_max; /* after failures; 0: 50 and 5000 */
    uint32_t stop_ms;                    /* how long destroy keeps archiving; 0: 5000 */
    uint32_t sample_top;                 /* players of a daily sample; 0: 1000 */
    /* A child process (pack_job.h) packs windows with this many rows (half as many with one scope, and so on), so
     * that the owner does not stop for it. 0: 100,000; UINT32_MAX: never. */
    uint32_t fork_rows;
    /* One line when it starts to fail and when it works again; may be NULL. Called in the follower's thread. */
    void (*say)(void *ctx, const char *line);
    void *say_ctx;
} rung_follower_config;

/* RUNG_OK; RUNG_ECONFLICT: the archive is ahead of the log, so it belongs to another history; RUNG_ENOMEM; RUNG_EIO:
 * no thread; or why the archive's cursor cannot be read. */
RUNG_NODISCARD rung_status rung_follower_create(const rung_follower_config *config,
                                                rung_follower **out, rung_err *err);
/* Archive what is ready, stop the thread, and free. Gives up at the first failure and after stop_ms: the rest is in
 * the log for the next start. Accepts NULL. */
void rung_follower_destroy(rung_follower *f);

/* ---- from the owner of the state; none of them waits for the archive ---- */

/* The state was loaded from a snapshot with all events up to `seq`, whose closed windows were archived before it was
 * taken. Call it before the first event is applied. */
void rung_follower_resume(rung_follower *f, uint64_t seq);
/* Events first_seq .. first_seq + count - 1 are applied, with these statuses (NULL: unknown) and outcomes (NULL: no
 * results). Call it in order, for live and replayed events. */
void rung_follower_applied(rung_follower *f, uint64_t first_seq, uint32_t count,
                           const rung_status *statuses, const rung_outcome *outcomes);
/* What event `seq`, the next to be applied, will change: JSON, which is copied. Left out of the archive if too much
 * waits already. */
void rung_follower_change(rung_follower *f, uint64_t seq, rung_slice before, rung_slice after);
/* The scores of the players that event `seq`, the next to be reported as applied, named (results.h). Takes ownership
 * of the bytes. Left out of the archive if too much waits already. */
void rung_follower_results(rung_follower *f, uint64_t seq, rung_buffer packed);
/* Is the event still to be archived? */
bool rung_follower_wants(rung_follower *f, uint64_t seq);
/* Call it from on_close, before the event is reported as applied. */
void rung_follower_close_window(rung_follower *f, rung_slice board, const rung_view *view);
/* A daily sample: the first sample_top of a ranking, and those of the ids that rank below. It belongs to event `seq`,
 * the next to be applied. */
void rung_follower_sample(rung_follower *f, uint64_t seq, rung_slice board, const rung_view *view,
                          int64_t time_ms, uint32_t n, const rung_slice *ids);

/* ---- status ---- */

/* Everything up to here is archived: the archive no longer needs the log before this + 1. */
uint64_t rung_follower_cursor(rung_follower *f);

typedef struct rung_follower_pins {
    size_t bytes; /* of closed windows and samples in memory */
    /* Take no snapshot at or beyond this sequence, or a crash loses a window. 0: nothing waits. */
    uint64_t oldest_seq;
} rung_follower_pins;
rung_follower_pins rung_follower_pinned(rung_follower *f);

typedef struct rung_follower_stats {
    uint64_t cursor_seq, applied_seq;
    uint64_t behind_events;
    int64_t behind_ms; /* how long the oldest waiting event has waited, to within one batch */
    uint64_t batches, windows, failures;
    uint64_t statuses_lost; /* events archived without their outcome */
    uint64_t changes_lost;  /* events archived without what they changed */
    uint64_t cpu_ns;        /* processor time of the follower's thread */
    rung_status status;     /* RUNG_OK, or why it is stuck */
    bool is_known;          /* the archive's cursor was read; it may be away at the start */
    bool is_writer;         /* this server wrote last, not another one that shares the archive */
    /* The last failure, even if it works again; code RUNG_OK: none. */
    rung_err last_error;
} rung_follower_stats;
rung_follower_stats rung_follower_stat(rung_follower *f);

/* Wait until `seq` is archived: RUNG_OK, or RUNG_PARTIAL after timeout_ms. */
RUNG_NODISCARD rung_status rung_follower_wait(rung_follower *f, uint64_t seq, uint32_t timeout_ms);

#endif
