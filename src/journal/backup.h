/* SPDX-License-Identifier: Apache-2.0 */
/* backup.h - back up log and snapshots consistently while the server runs, and restore them up to any sequence.
 *
 * Sealed segments and snapshots never change, so they are hard-linked if both folders are on one file system, else
 * copied. The open segment is copied up to its durable end and sealed in the copy. A marker file is written last:
 * without it the backup is incomplete. Any thread. The log is pinned meanwhile, so that no segment is removed. */
#ifndef RUNG_JOURNAL_BACKUP_H
#define RUNG_JOURNAL_BACKUP_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/file.h"
#include "journal/segment_log.h"

#include <stdint.h>

#define RUNG_BACKUP_MARKER      "backup-complete"
#define RUNG_BACKUP_MARKER_SIZE 512u

typedef struct rung_backup_report {
    uint64_t first_seq, last_seq; /* of its records; last = first - 1 if there are none */
    uint64_t segment_count, snapshot_count;
    uint64_t linked_count, copied_count; /* files */
    uint64_t newest_snapshot_seq;
} rung_backup_report;

/* Back up a log into `to`, which must not contain a log. `log` is the open log of this process, or NULL to read the
 * folder `from`, with or without a server running; if segments are removed meanwhile, it fails: retry. RUNG_EEXIST:
 * `to` is not empty. */
RUNG_NODISCARD rung_status rung_backup_run(const rung_dir *from, rung_segment_log *log,
                                           const rung_dir *to, const rung_alloc *alloc,
                                           rung_backup_report *report_out, rung_err *err);

/* Copy a backup into `to`, which must not contain a log, and verify every byte of the copy. With `seq` > 0 only
 * records up to `seq`, and no later snapshot. RUNG_ERANGE: the backup ends before `seq`; RUNG_ESTALE: its records
 * begin after `seq`. */
RUNG_NODISCARD rung_status rung_backup_restore(const rung_dir *from, const rung_dir *to,
                                               const rung_alloc *alloc, uint64_t seq,
                                               rung_backup_report *report_out, rung_err *err);

#endif
