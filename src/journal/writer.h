/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - proposals to a segment log: one write and one sync for all that queued up meanwhile.
 *
 * The part of the segment log that proposes and delivers (log.h). Either a worker writes, and while it syncs one batch
 * the next one gathers: that is the group commit. Or, inline, deliver writes and syncs itself, and the owner waits.
 *
 * A full disk rejects everything that is queued, propose returns RUNG_ENOSPC, and the worker tries for space until
 * there is some; inline, the next proposal tries. A failed write or sync calls `fatal` once, from the worker, and
 * nothing is committed again: the server leaves with _exit there.
 *
 * Threads: as log.h says. */
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
typedef struct rung_writer
    rung_writer; /* heap object; whoever created it calls rung_writer_destroy() */

/* Zero is a good default. */
typedef struct rung_writer_config {
    bool is_inline;              /* no worker: deliver writes and syncs */
    bool is_patient;             /* a full disk is no reason not to start */
    const rung_threads *threads; /* NULL: the system's */
    rung_clock clock;            /* only its monotonic time is used; zero: the system's */
    size_t proposals_max;        /* under way; 0 = 65,536 */
    /* 0 = sync before a record counts as committed. Else commit what is written, sync this often: a crash of the
     * machine may lose what was committed since. Needs a relaxed log. */
    uint32_t sync_every_ms;
    uint32_t space_retry_ms; /* how often to look for space on a full disk; 0 = 200 */
    /* There is something to deliver, or the log's state has changed; from the worker, never with a lock held. */
    void (*wake)(void *ctx);
    void (*fatal)(void *ctx, const rung_err *err);
    void *ctx;
} rung_writer_config;

/* `log` is started, or, with `is_full`, could not be for lack of space; nobody else appends to it. RUNG_ENOMEM,
 * RUNG_EIO (no thread) or RUNG_OK. */
RUNG_NODISCARD rung_status rung_writer_create(const rung_writer_config *config,
                                              struct rung_segment_log *log, bool is_full,
                                              rung_writer **writer_out, rung_err *err);

/* Write and sync what is queued, then stop and free. The log stays open. NULL is fine. */
void rung_writer_destroy(rung_writer *w);

/* As the functions of log.h. */
RUNG_NODISCARD rung_status rung_writer_propose(rung_writer *w, const rung_log_entry *entries,
                                               size_t count, rung_err *err);
RUNG_NODISCARD rung_status rung_writer_deliver(rung_writer *w, size_t max, rung_log_delivery *out,
                                               rung_err *err);
void rung_writer_await(rung_writer *w);
RUNG_NODISCARD rung_status rung_writer_sync(rung_writer *w, rung_err *err);
RUNG_NODISCARD rung_status rung_writer_truncate_before(rung_writer *w, uint64_t seq, rung_err *err);
rung_log_stats rung_writer_stat(rung_writer *w);

#endif
