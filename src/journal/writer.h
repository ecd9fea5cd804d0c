/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - the writer thread: many submissions in, one write and one sync for all that queued up meanwhile.
 *
 *     rung_writer_submit_many(w, entries, n, &seq, &err);   // queued from `seq` on; not durable yet
 *     ... the notify callback wakes the owner's loop ...
 *     rung_writer_state s = rung_writer_poll(w);            // s.durable_seq >= seq: apply it, answer it
 *
 * While one batch is being synced the next one gathers: that is the group commit. The queue is bounded in bytes and
 * records; a submission that does not fit is refused with RUNG_ELIMIT and may be tried again after the next
 * notification. A full disk refuses everything that is queued (poll tells from which sequence on; those sequences
 * will be used again), submissions return RUNG_ENOSPC, and the thread tries for space until there is some. A failed
 * write or sync calls `fatal` once, from the writer thread, and nothing is ever reported durable again:
 * the server leaves with _exit there.
 *
 * Threads: submit_many, poll and drain from any thread; create and destroy from the owner's. */
#ifndef RUNG_JOURNAL_WRITER_H
#define RUNG_JOURNAL_WRITER_H

#include "base/alloc.h"
#include "base/clock.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/worker.h"
#include "journal/log.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_writer
    rung_writer; /* heap object; whoever created it calls rung_writer_destroy() */

typedef struct rung_writer_config {
    rung_log *log; /* borrowed, started; the writer alone appends to it until it is destroyed */
    const rung_alloc *alloc;
    const rung_threads *threads; /* NULL: the system's */
    rung_clock clock;            /* only its monotonic time is used; zero: the system's */
    size_t
        queue_bytes_max; /* framed bytes waiting; 0 = 8 MiB; never more than one batch of the log */
    size_t queue_records_max; /* 0 = 65,536 */
    uint32_t
        sync_every_ms; /* 0 = sync before every acknowledgement. Else acknowledge when written, sync this often:
                                 a crash of the machine may lose what was acknowledged since. Needs a relaxed log */
    uint32_t space_retry_ms; /* how often to look for space on a full disk; 0 = 200 */
    bool is_full; /* the log could not be started for lack of space: begin as on a full disk */
    bool
        is_borrowing; /* payloads are not copied: the caller leaves each where it is until it is durable or refused,
                         after a failure until the writer is destroyed */
    void (*notify)(
        void *
            ctx); /* durable_seq or status has changed; from the writer thread, never with a lock held */
    void (*fatal)(void *ctx, const rung_err *err);
    void *ctx;
} rung_writer_config;

typedef struct rung_writer_state {
    uint64_t durable_seq; /* everything up to here may be applied and answered */
    rung_status status;   /* RUNG_OK; RUNG_ENOSPC while read-only; the failure after a fatal one */
    uint64_t refused_from,
        refused_to; /* queued records that were refused; 0, 0 when there are none */
} rung_writer_state;

/* Times in microseconds, counted in buckets: bucket i holds those below 2^i us, the last one all others. */
#define RUNG_WRITER_TIME_BUCKETS 24

typedef struct rung_writer_stats {
    uint64_t batches, records, bytes;
    uint64_t batch_records_max;
    uint64_t queue_records, queue_bytes; /* waiting now */
    /* Write and sync of a batch (only the write, where a batch is not synced). */
    uint64_t sync_count, sync_us_total, sync_us[RUNG_WRITER_TIME_BUCKETS];
} rung_writer_stats;

/* RUNG_ENOMEM, RUNG_EIO (no thread) or RUNG_OK. */
RUNG_NODISCARD rung_status rung_writer_create(const rung_writer_config *config,
                                              rung_writer **writer_out, rung_err *err);

/* Write and sync what is queued, then stop the threads and free. The log stays open. NULL is fine. */
void rung_writer_destroy(rung_writer *w);

/* Queue one or more records; copies the payloads, unless it borrows them. All are queued, with consecutive sequences,
 * or none; they stay in one batch. RUNG_OK with the first sequence, RUNG_ELIMIT (queue full, or a record longer than
 * the log takes), RUNG_ENOSPC, or the failure. */
RUNG_NODISCARD rung_status rung_writer_submit_many(rung_writer *w, const rung_log_entry *entries,
                                                   size_t count, uint64_t *first_seq_out,
                                                   rung_err *err);

/* What has happened. A refusal is told once; after a full disk nothing is accepted until it has been told. */
rung_writer_state rung_writer_poll(rung_writer *w);

/* Wait until all submitted so far is durable or refused. */
void rung_writer_drain(rung_writer *w);

/* Sync what is written and not synced yet, now rather than when sync_every_ms says so; returns at once, and notifies
 * when it is done. Nothing to do where every batch is synced. */
void rung_writer_sync_soon(rung_writer *w);

/* Why nothing is durable any more; the code is RUNG_OK as long as all is well. */
void rung_writer_failure(rung_writer *w, rung_err *err_out);

/* Remove log segments before `seq` from the writer's thread; returns at once, RUNG_ELIMIT never. A later call with a
 * higher sequence replaces one not yet done. */
void rung_writer_truncate_before(rung_writer *w, uint64_t seq);

rung_writer_stats rung_writer_stat(rung_writer *w);

#endif
