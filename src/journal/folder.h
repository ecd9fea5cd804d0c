/* SPDX-License-Identifier: Apache-2.0 */
/* folder.h - a data folder belongs to one process at a time: a lock on a file in it, which names the process. */
#ifndef RUNG_JOURNAL_FOLDER_H
#define RUNG_JOURNAL_FOLDER_H

#include "base/status.h"
#include "journal/file.h"

/* The file that names the log whose snapshots are here, if that log is elsewhere: its id, 32 hexadecimal digits. */
#define RUNG_FOLDER_LOG_ID "log-id"
/* The file that names this server among those that share a log: its id, 16 hexadecimal digits, a space, and how often
 * it has opened the log. */
#define RUNG_FOLDER_NODE_ID "node-id"

/* Held until `lock_out` is closed. RUNG_EBUSY names the process that has it. On failure `lock_out` may be open. */
RUNG_NODISCARD rung_status rung_folder_lock(const rung_dir *dir, rung_file *lock_out,
                                            rung_err *err);

/* Is the locked file still in the folder `path`? RUNG_EABSENT: it was removed or replaced, and new files would be
 * lost. RUNG_OK if that cannot be determined. Cheap; any thread. */
RUNG_NODISCARD rung_status rung_folder_check(const rung_file *lock, const char *path,
                                             rung_err *err);

#endif
