/* SPDX-License-Identifier: Apache-2.0 */
/* backup.h - a consistent copy of log and snapshots while the server runs, and the way back, to any sequence.
 *
 * Sealed segments and snapshots never change, so they are hard-linked where both folders share a file system and copied
 * otherwise. The open segment is copied as far as it is durable, and sealed in the copy. A marker file is
 * written last: a backup without it is not one. Any thread; the log is pinned meanwhile, so that nothing is
 * removed under our hands. */
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
    uint64_t first_seq, last_seq; /* of the records in it; last = first - 1 when there are none */
    uint64_t segment_count, snapshot_count;
    uint64_t linked_count, copied_count; /* files */
    uint64_t newest_snapshot_seq;
} rung_backup_report;

/* Back up an open log into `to`, which must hold no log. With `log` from this process; NULL: the folder `from`, with no
 * server or beside one (then a removal of segments meanwhile makes it fail; try again). RUNG_EEXIST when `to` is
 * not empty. */
RUNG_NODISCARD rung_status rung_backup_run(const rung_dir *from, rung_segment_log *log,
                                           const rung_dir *to, const rung_alloc *alloc,
                                           rung_backup_report *report_out, rung_err *err);

/* Copy a backup into `to`, which must hold no log, and check every byte of the result. With `seq` > 0 only the records
 * up to `seq`, and no snapshot behind it. RUNG_ERANGE when the backup ends before `seq`, RUNG_ESTALE when that
 * moment cannot be had: the records begin behind it. */
RUNG_NODISCARD rung_status rung_backup_restore(const rung_dir *from, const rung_dir *to,
                                               const rung_alloc *alloc, uint64_t seq,
                                               rung_backup_report *report_out, rung_err *err);

#endif
