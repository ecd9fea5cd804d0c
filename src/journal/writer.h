/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - the part of the segment log that proposes and delivers (log.h): one write and one sync per batch.
 *
 * With a worker, the next batch collects while the worker syncs the current one (group commit). Inline, deliver
 * itself writes and syncs, and the owner waits.
 *
 * When the disk is full, everything queued is rejected, propose returns RUNG_ENOSPC, and the worker retries until
 * there is space; inline, the next proposal retries. When a write or sync fails, the worker calls `fatal` once and
 * nothing is committed any more; there the server calls _exit.
 *
 * Threads: see log.h. */
#ifndef RUNG_JOURNAL_WRITER_H
#define RUNG_JOURNAL_WRITER_H

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/worker.h"
#include "journal/log.h"

#include <stdbool.h>
#include <stdint.h>

struct rung_segment_log;
/* Heap object; whoever created it calls rung_writer_destroy(). */
typedef struct rung_writer rung_writer;

/* Zero is a good default. */
typedef struct rung_writer_config {
    bool is_inline;              /* no worker: deliver writes and syncs */
    bool is_patient;             /* start even if the disk is full */
    const rung_threads *threads; /* NULL: the system's */
    rung_clock clock;            /* only its monotonic time is used; zero: the system's */
    size_t proposals_max;        /* in flight; 0 = 65,536 */
    /* 0 = sync before a record counts as committed. Otherwise commit what is written and sync this often: a crash of
     * the machine may lose what was committed since the last sync. Needs a relaxed log. */
    uint32_t sync_every_ms;
    uint32_t space_retry_ms; /* how often to look for space on a full disk; 0 = 200 */
    bool packs;              /* compress sealed segments, in a worker of its own */
    /* Called when there is something to deliver or the log's state has changed; by the worker, without holding a
     * lock. */
    void (*wake)(void *ctx);
    void (*fatal)(void *ctx, const rung_err *err);
    void (*say)(void *ctx, const char *line); /* from a worker: packing failed. NULL: nobody */
    void *ctx;
} rung_writer_config;

/* `log` is started, or with `is_full` could not start for lack of space. Only the writer appends to it. RUNG_OK,
 * RUNG_ENOMEM, or RUNG_EIO: no thread. */
RUNG_NODISCARD rung_status rung_writer_create(const rung_writer_config *config,
                                              struct rung_segment_log *log, bool is_full,
                                              rung_writer **writer_out, rung_err *err);

/* Write and sync what is queued, then stop and free. The log stays open. NULL is fine. */
void rung_writer_destroy(rung_writer *w);

/* The functions of log.h, for the port of a segment log that has a writer. */
rung_status rung_writer_propose(rung_log *log, const rung_log_entry *entries, size_t count,
                                rung_err *err);
rung_status rung_writer_deliver(rung_log *log, size_t max, rung_log_delivery *out, rung_err *err);
void rung_writer_await(rung_log *log);
rung_status rung_writer_sync(rung_log *log, rung_err *err);
rung_status rung_writer_truncate_before(rung_log *log, uint64_t seq, rung_err *err);
rung_log_stats rung_writer_stat(rung_log *log);

#endif
