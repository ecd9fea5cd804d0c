/* SPDX-License-Identifier: Apache-2.0 */
/* past_log.h - read the log of a folder beside the server that writes it: no lock, nothing is changed.
 *
 *     rung_past_log_open(&config, &log, &err);
 *     rung_past_log_find(log, time_ms, &seq, &err);               // the last record of a moment
 *     rung_past_log_seek(log, from);
 *     rung_past_log_read(log, records, max, &count, &err);        // until RUNG_NOT_FOUND
 *
 * The writer may seal, compress or remove segments meanwhile; the folder is then looked at again. A log that is
 * elsewhere (Kafka) is read through its own cursor. Threads: one at a time. */
#ifndef RUNG_SERVICE_PAST_LOG_H
#define RUNG_SERVICE_PAST_LOG_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/file.h"
#include "journal/log.h"

#include <stdint.h>

typedef struct rung_past_log rung_past_log; /* heap object; rung_past_log_close() frees it */

typedef struct rung_past_log_config {
    const rung_fs *fs; /* NULL: the operating system's files */
    const rung_alloc *alloc;
    const char *path; /* the folder; must stay valid until close */
    /* A log that is elsewhere, open; borrowed, and used through its cursors only. NULL: the folder's own. */
    rung_log *log;
} rung_past_log_config;

/* RUNG_OK; RUNG_EABSENT: no such folder, or no log in it; RUNG_EREFUSED: the folder has the snapshots of a log that is
 * elsewhere, or of another one; RUNG_ECORRUPT, RUNG_EVERSION, RUNG_EIO, RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_past_log_open(const rung_past_log_config *config,
                                              rung_past_log **log_out, rung_err *err);
void rung_past_log_close(rung_past_log *p); /* accepts NULL */

const rung_dir *rung_past_log_dir(const rung_past_log *p); /* where the snapshots are; borrowed */
const uint8_t *rung_past_log_id(const rung_past_log *p);   /* RUNG_LOG_ID_SIZE bytes; borrowed */

/* As last looked at: the oldest record, and the newest; first is last + 1 if there is none. */
uint64_t rung_past_log_first(const rung_past_log *p);
uint64_t rung_past_log_last(const rung_past_log *p);
/* Look again. */
RUNG_NODISCARD rung_status rung_past_log_refresh(rung_past_log *p, rung_err *err);

/* The next read begins at `from` (at least 1). */
void rung_past_log_seek(rung_past_log *p, uint64_t from);
/* The next records, in order; borrowed until the next call. RUNG_OK: at least one. RUNG_NOT_FOUND: the log ends here
 * for now. RUNG_ESTALE: the record was removed. RUNG_ECORRUPT names segment, offset and sequence. */
RUNG_NODISCARD rung_status rung_past_log_read(rung_past_log *p, rung_log_record *records,
                                              size_t max, size_t *count_out, rung_err *err);

/* The last record before the first event whose time is after `time_ms`; the end of the log if there is no such event;
 * rung_past_log_first() - 1 if there is nothing before it. In a shared log the clocks of its writers may differ by up
 * to ten minutes. Reads about a segment. */
RUNG_NODISCARD rung_status rung_past_log_find(rung_past_log *p, int64_t time_ms, uint64_t *seq_out,
                                              rung_err *err);
/* The time of the first event at `seq` or after it. RUNG_NOT_FOUND: there is none; otherwise as read. */
RUNG_NODISCARD rung_status rung_past_log_time(rung_past_log *p, uint64_t seq, int64_t *time_ms_out,
                                              rung_err *err);

#endif
