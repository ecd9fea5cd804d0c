/* SPDX-License-Identifier: Apache-2.0 */
/* expire.h - what `archive.keep` removes from a PostgreSQL archive, in small steps, each inside a transaction of the
 * writer. Score events go by whole months: a partition is dropped when its last moment is old enough. Threads: the
 * connection's. */
#ifndef RUNG_ARCHIVE_POSTGRES_EXPIRE_H
#define RUNG_ARCHIVE_POSTGRES_EXPIRE_H

#include "archive/postgres/connection.h"

/* Samples and counts of refusals from before `before_ms`. Reads all of them: call it rarely. */
RUNG_NODISCARD rung_status rung__postgres_expire_samples(rung__pg *db, int64_t before_ms,
                                                         rung_err *err);
/* Drop the oldest month, and some standings of the oldest closed window, or the window after its last one. A lock that
 * readers hold is not waited for long: RUNG_EBUSY. *more_out: there may be more to do. */
RUNG_NODISCARD rung_status rung__postgres_expire(rung__pg *db, int64_t before_ms, bool *more_out,
                                                 rung_err *err);

#endif
