/* SPDX-License-Identifier: Apache-2.0 */
/* segment_copy.h - copies of log files: a sealed copy of a segment up to one of its records, and plain copies; and the
 * empty segment of a log that begins later than at 1. For backup, restore, repair and copies of a log. Any thread. */
#ifndef RUNG_JOURNAL_SEGMENT_COPY_H
#define RUNG_JOURNAL_SEGMENT_COPY_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/file.h"
#include "journal/recovery.h"

/* Create an empty segment after sequence `seq`; its folder is synced. What was before is in a snapshot only. `info_out`
 * describes it. */
RUNG_NODISCARD rung_status rung__segment_begin_after(const rung_dir *dir,
                                                     const uint8_t uuid[RUNG_UUID_SIZE],
                                                     uint64_t seq, uint32_t epoch,
                                                     rung_segment_info *info_out, rung_err *err);
/* Create a log that begins after sequence `seq`, in a folder that has none. */
RUNG_NODISCARD rung_status rung_log_begin_after(const rung_dir *dir, uint64_t seq, rung_err *err);

/* Write the segment `from_name` up to `last_seq` (at least its first) as the sealed file `to_name`, which must not
 * exist. Verifies every record. `info_out` describes the copy. The file is synced, its folder is not. */
RUNG_NODISCARD rung_status rung_segment_copy(const rung_alloc *alloc, const rung_dir *from,
                                             const char *from_name, const rung_dir *to,
                                             const char *to_name, uint64_t last_seq,
                                             rung_segment_info *info_out, rung_err *err);

/* Copy a whole file, replacing the target. RUNG_NOT_FOUND: no such file. */
RUNG_NODISCARD rung_status rung_file_copy(const rung_dir *from, const char *from_name,
                                          const rung_dir *to, const char *to_name, rung_err *err);

#endif
