/* SPDX-License-Identifier: Apache-2.0 */
/* segment_copy.h - copies of log files: a sealed copy of a segment up to one of its records, and plain copies.
 * For backup, restore and repair. The target is synced, its folder is not. Any thread. */
#ifndef RUNG_JOURNAL_SEGMENT_COPY_H
#define RUNG_JOURNAL_SEGMENT_COPY_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/file.h"
#include "journal/recovery.h"

/* Write the segment `from_name` up to `last_seq` (at least its first) as the sealed file `to_name`, which must not
 * exist. Verifies every record. `info_out` describes the copy. */
RUNG_NODISCARD rung_status rung_segment_copy(const rung_alloc *alloc, const rung_dir *from,
                                             const char *from_name, const rung_dir *to,
                                             const char *to_name, uint64_t last_seq,
                                             rung_segment_info *info_out, rung_err *err);

/* Copy a whole file, replacing the target. RUNG_NOT_FOUND: no such file. */
RUNG_NODISCARD rung_status rung_file_copy(const rung_dir *from, const char *from_name,
                                          const rung_dir *to, const char *to_name, rung_err *err);

#endif
