/* SPDX-License-Identifier: Apache-2.0 */
/* log_copy.h - copy the records of one log into another, with the same sequences.
 *
 *     rung_log_copy_config config = {.alloc = a, .from = folder, .to = topic};
 *     rung_log_copy(&config, &report, &err);      // both open, neither started
 *
 * What the target has already must be the beginning of the source: it is compared, and the copy goes on behind it. So
 * an interrupted copy is resumed by copying again. At the end everything that was written is read back and compared.
 *
 * The source may begin later than the target: its beginning was removed, since a snapshot covers it. Then the sequences
 * before it are filled with records of the type RUNG_LOG_TYPE_LOST, which nobody can apply; the caller brings the
 * snapshot.
 *
 * Nobody else may write to either log meanwhile: another's record in the target ends the copy. One thread. */
#ifndef RUNG_JOURNAL_LOG_COPY_H
#define RUNG_JOURNAL_LOG_COPY_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/log.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_log_copy_config {
    const rung_alloc *alloc;
    rung_log *from; /* the caller closes it */
    rung_log *to;   /* closed in any case */
    /* "comparing", "copying" or "verifying", and how far it is. May be NULL. */
    void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
    /* Looked at between batches: true ends the copy with RUNG_ECLOSED. May be NULL. */
    bool (*is_stopped)(void *ctx);
    void *ctx;
} rung_log_copy_config;

typedef struct rung_log_copy_report {
    uint64_t first_seq, last_seq; /* of the source */
    uint64_t present;             /* records that the target had already */
    uint64_t filled;              /* sequences filled now, before the first record of the source */
    uint64_t copied;
} rung_log_copy_report;

/* RUNG_OK: the target ends where the source does, and has its records. RUNG_EREFUSED: the target has something else,
 * or somebody writes to it; RUNG_ECORRUPT: what was read back differs; RUNG_ECLOSED: stopped; or the failure of a log.
 * After any failure the target has a beginning of the source, unless it had something else before. */
RUNG_NODISCARD rung_status rung_log_copy(const rung_log_copy_config *config,
                                         rung_log_copy_report *report_out, rung_err *err);

#endif
