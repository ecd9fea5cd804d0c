/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_list.h - the snapshots of a folder, with their times, and the one from which a moment can be rebuilt.
 *
 *     rung_snapshot_list_read(&dir, alloc, uuid, &list, &err);
 *     const rung_snapshot_entry *e = rung_snapshot_nearest(&list, rung_log_first_seq(log), seq);
 *     ... load it, and replay the records after e->seq; NULL: see there ...
 *     rung_snapshot_list_deinit(&list);
 *
 * Beside a running server a listed file may be removed at any time: opening it then returns RUNG_NOT_FOUND, and the
 * list is to be read again. Threads: one at a time. */
#ifndef RUNG_JOURNAL_SNAPSHOT_LIST_H
#define RUNG_JOURNAL_SNAPSHOT_LIST_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/file.h"
#include "journal/segment.h"

#include <stddef.h>
#include <stdint.h>

typedef struct rung_snapshot_entry {
    uint64_t seq;
    int64_t time_ms; /* log time of that record; 0: unknown, written by an older program */
    uint64_t file_bytes;
} rung_snapshot_entry;

/* Zero is empty. Deinit releases it. */
typedef struct rung_snapshot_entries {
    const rung_alloc *alloc;
    rung_snapshot_entry *entries; /* oldest first; neither sequences nor known times decrease */
    size_t count, capacity;
} rung_snapshot_entries;

/* Read the ends of every snapshot file of the log `uuid`. Files that are damaged there, of another log or just being
 * removed are left out. On failure the list is empty. */
RUNG_NODISCARD rung_status rung_snapshot_list_read(const rung_dir *dir, const rung_alloc *alloc,
                                                   const uint8_t uuid[RUNG_UUID_SIZE],
                                                   rung_snapshot_entries *out, rung_err *err);
void rung_snapshot_list_deinit(rung_snapshot_entries *list);
/* The snapshot at `seq` alone. RUNG_NOT_FOUND, RUNG_ECORRUPT, RUNG_EVERSION. */
RUNG_NODISCARD rung_status rung_snapshot_entry_read(const rung_dir *dir,
                                                    const uint8_t uuid[RUNG_UUID_SIZE],
                                                    uint64_t seq, rung_snapshot_entry *out,
                                                    rung_err *err);
/* Add one, or replace the one of its sequence. On RUNG_ENOMEM the list is as before. */
RUNG_NODISCARD rung_status rung_snapshot_list_add(rung_snapshot_entries *list,
                                                  const rung_snapshot_entry *entry, rung_err *err);
/* Only the sequences, from the names: times and sizes are 0. */
RUNG_NODISCARD rung_status rung_snapshot_list_names(const rung_dir *dir, const rung_alloc *alloc,
                                                    rung_snapshot_entries *out, rung_err *err);

/* The newest snapshot at or before sequence `seq` from which a log that begins at `first_seq` can be replayed. NULL:
 * none; then the state at `seq` can be rebuilt only if `first_seq` is 1, from the empty state. */
const rung_snapshot_entry *rung_snapshot_nearest(const rung_snapshot_entries *list,
                                                 uint64_t first_seq, uint64_t seq);
/* The same for the newest one at or before log time `time_ms`. One whose time is unknown counts as older than all
 * others: after loading it, compare the time of its state. */
const rung_snapshot_entry *rung_snapshot_nearest_time(const rung_snapshot_entries *list,
                                                      uint64_t first_seq, int64_t time_ms);

/* Remove all snapshots up to `newest` but the two newest of them and `keep` (ascending). A failure leaves one too many,
 * which the next call removes. */
void rung_snapshot_remove_old(const rung_dir *dir, const rung_alloc *alloc, uint64_t newest,
                              const uint64_t *keep, size_t keep_count);

#endif
