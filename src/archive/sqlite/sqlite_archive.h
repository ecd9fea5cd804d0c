/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_archive.h - the archive port on one SQLite file in WAL mode: any SQL tool may read it while Rung writes.
 *
 * A batch is one synced transaction (synchronous = FULL) that includes the cursor. Names and metadata of erased
 * players are overwritten (secure_delete). user_version holds the schema version. Opening an older file for writing
 * upgrades it; a newer one is refused with RUNG_EVERSION.
 *
 * Only the owner may access a new file (mode 0600) and the files that SQLite creates beside it. Opening a
 * world-readable file for writing restricts it.
 *
 * Threads: see archive.h. Any number of threads and processes may have the file open; one of them writes. */
#ifndef RUNG_ARCHIVE_SQLITE_SQLITE_ARCHIVE_H
#define RUNG_ARCHIVE_SQLITE_SQLITE_ARCHIVE_H

#include "archive/archive.h"

typedef struct rung_sqlite_archive_config {
    const char *path;        /* the file; created unless read-only. Its folder must exist */
    const rung_alloc *alloc; /* for results; SQLite allocates its own memory */
    /* Identity of the log it follows, any text. Another log's archive is refused. Empty: not checked. */
    rung_slice log_id;
    bool is_read_only;
    uint64_t as_of_seq;  /* read-only: answer as of this event; 0: now */
    int busy_timeout_ms; /* how long to wait for another writer; 0: 5000 */
    const char *vfs;     /* NULL: SQLite's own; for tests */
} rung_sqlite_archive_config;

/* RUNG_OK; RUNG_EVERSION; RUNG_ECONFLICT: the archive of another log; RUNG_ECORRUPT: not an archive, or damaged;
 * RUNG_NOT_FOUND: read-only, and the file is absent or incomplete; RUNG_EBUSY, RUNG_ENOSPC, RUNG_EIO, RUNG_ENOMEM.
 * Release it with rung_archive_close(). */
RUNG_NODISCARD rung_status rung_sqlite_archive_open(const rung_sqlite_archive_config *config,
                                                    rung_archive **archive_out, rung_err *err);

/* Check every page of the file; takes as long as reading it. RUNG_OK: intact; RUNG_ECORRUPT with the first finding;
 * RUNG_ECLOSED: interrupted; or why it cannot be read. */
RUNG_NODISCARD rung_status rung_sqlite_archive_check(rung_archive *a, rung_err *err);
/* Interrupt a running check; later checks are not affected. From any thread, while `a` is open. */
void rung_sqlite_archive_interrupt(rung_archive *a);

#endif
