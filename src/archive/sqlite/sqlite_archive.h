/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_archive.h - the archive port on one SQLite file, in WAL mode: any SQL tool may read it while Rung writes.
 *
 * A batch is one transaction, synced (synchronous = FULL); the cursor is in it. Names and notes of erased players are
 * overwritten (secure_delete). The schema is versioned by user_version; an older file is brought up to date when it
 * is opened for writing, a newer one is refused with RUNG_EVERSION.
 *
 * The file is its owner's alone (0600) when it is made, and so are those that SQLite puts beside it. One that everybody
 * may read is closed to them when it is opened for writing.
 *
 * Threads: as archive.h says. Any number of them, and of processes, may have the file open; one of them writes. */
#ifndef RUNG_ARCHIVE_SQLITE_SQLITE_ARCHIVE_H
#define RUNG_ARCHIVE_SQLITE_SQLITE_ARCHIVE_H

#include "archive/archive.h"

typedef struct rung_sqlite_archive_config {
    const char *path;        /* the file; created unless read-only. Its folder must exist */
    const rung_alloc *alloc; /* for answers; SQLite has memory of its own */
    /* identity of the log it follows, any text; another one is refused. Empty: not checked */
    rung_slice log_id;
    bool is_read_only;
    int busy_timeout_ms; /* how long to wait for another writer; 0: 5000 */
    const char *vfs;     /* NULL: SQLite's own; for tests */
} rung_sqlite_archive_config;

/* RUNG_OK; RUNG_EVERSION; RUNG_ECONFLICT: it is the archive of another log; RUNG_ECORRUPT: not an archive, or
 * damaged; RUNG_NOT_FOUND: read-only and not there (or not whole) yet; RUNG_EBUSY, RUNG_ENOSPC, RUNG_EIO,
 * RUNG_ENOMEM. Release with rung_archive_close(). */
RUNG_NODISCARD rung_status rung_sqlite_archive_open(const rung_sqlite_archive_config *config,
                                                    rung_archive **archive_out, rung_err *err);

/* Look at every page of the file: it takes as long as reading it does. RUNG_OK: sound; RUNG_ECORRUPT with what was
 * found first; RUNG_ECLOSED: interrupted; or why it cannot be read. */
RUNG_NODISCARD rung_status rung_sqlite_archive_check(rung_archive *a, rung_err *err);
/* End a check that is under way; one that begins later is not concerned. From any thread, while `a` is open. */
void rung_sqlite_archive_interrupt(rung_archive *a);

#endif
