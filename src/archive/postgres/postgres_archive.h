/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_archive.h - the archive port on a schema of a PostgreSQL database, which several servers may share.
 *
 * A batch is one transaction that includes the cursor. One of the servers of a log writes: the one whose session holds
 * an advisory lock. rung_archive_begin() returns RUNG_PARTIAL at the others, whose next batches find the cursor moved.
 * When the holder's session ends, in whatever way, the next server to begin a batch takes over. Each transaction
 * takes the lock once more and locks the cursor's row, so a server that lost its session cannot write.
 *
 * The database may be away: opening succeeds, and every call tries to connect again and fails meanwhile (RUNG_EIO).
 * The table schema_migrations has the version. The first writer brings an older schema up to date.
 *
 * Threads: see archive.h. Any number of threads and servers may have it open. */
#ifndef RUNG_ARCHIVE_POSTGRES_POSTGRES_ARCHIVE_H
#define RUNG_ARCHIVE_POSTGRES_POSTGRES_ARCHIVE_H

#include "archive/archive.h"

typedef struct rung_postgres_archive_config {
    const char *url; /* as in url.h; copied */
    const rung_alloc *alloc;
    /* Identity of the log it follows, any text. Another log's archive is refused. Empty: not checked. */
    rung_slice log_id;
    bool is_read_only;
    uint64_t as_of_seq; /* read-only: answer as of this event; 0: now */
    uint32_t wait_ms;   /* for one answer; 0: 5000 when read-only, else 120,000 */
} rung_postgres_archive_config;

/* RUNG_OK, also if the database cannot be reached or used now: `away_out` (may be NULL) then has the reason, and
 * code RUNG_OK otherwise. What no retry would mend: RUNG_EINVAL: not an address; RUNG_EVERSION: a newer schema;
 * RUNG_ECONFLICT: the archive of another log; RUNG_ECORRUPT: the schema has tables of somebody else;
 * RUNG_EUNSUPPORTED: PostgreSQL before 14, or an encoding other than UTF-8; RUNG_ENOMEM. A read-only archive does not
 * connect before its first query. Release it with rung_archive_close(). */
RUNG_NODISCARD rung_status rung_postgres_archive_open(const rung_postgres_archive_config *config,
                                                      rung_archive **archive_out,
                                                      rung_err *away_out, rung_err *err);

#endif
