/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - the log port: one total order of records, made durable in batches.
 *
 * A record is opaque bytes with a 16-bit type. Sequences are consecutive from 1. A batch is all the records of one
 * append. The embedded implementation is segment_log.h; a distributed one may stand behind the same table.
 *
 *     rung_log_append(log, entries, n, &first, &err);   // ordered and written, not yet durable
 *     rung_log_sync(log, &durable, &err);               // now they are: apply, then answer
 *
 * A failed append with RUNG_ENOSPC, RUNG_ENOMEM, RUNG_ELIMIT or RUNG_EINVAL changed nothing and may be tried again.
 * Any other failure of append or sync is final: nobody can say what is on the disk, every later call returns
 * it again, and the process should end without another acknowledgement.
 *
 * Threads: append, sync, maintain and truncate belong to one thread. prepare may run in one other thread beside them.
 * Cursors may be used from any thread (each by one at a time); durable_seq from anywhere. */
#ifndef RUNG_JOURNAL_LOG_H
#define RUNG_JOURNAL_LOG_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNG_LOG_RECORD_MAX ((size_t)1 << 20) /* bytes of one payload */

typedef struct rung_log_entry {
    rung_slice payload;
    uint16_t type;
} rung_log_entry;

typedef struct rung_log_record {
    uint64_t seq;
    rung_slice payload; /* borrowed from the cursor: until its next read or close */
    uint16_t type;
} rung_log_record;

typedef struct rung_log rung_log;
typedef struct rung_log_cursor rung_log_cursor;

typedef struct rung_log_ops {
    rung_status (*append)(rung_log *log, const rung_log_entry *entries, size_t count,
                          uint64_t *first_seq_out, rung_err *err);
    rung_status (*sync)(rung_log *log, uint64_t *durable_seq_out, rung_err *err);
    uint64_t (*durable_seq)(const rung_log *log);
    rung_status (*cursor_open)(rung_log *log, uint64_t from_seq, rung_log_cursor **cursor_out,
                               rung_err *err);
    rung_status (*cursor_read)(rung_log_cursor *cursor, rung_log_record *records, size_t max,
                               size_t *count_out, rung_err *err);
    void (*cursor_close)(rung_log_cursor *cursor);
    rung_status (*truncate_before)(rung_log *log, uint64_t seq, rung_err *err);
    rung_status (*maintain)(rung_log *log, bool is_idle, rung_err *err);
    rung_status (*prepare)(rung_log *log, rung_err *err);
    size_t (*batch_bytes_max)(const rung_log *log);
    rung_status (*close)(rung_log *log, rung_err *err);
} rung_log_ops;

/* The first member of every implementation. */
struct rung_log {
    const rung_log_ops *ops;
};

struct rung_log_cursor {
    const rung_log_ops *ops;
};

/* Order and write `count` (at least 1) records as one batch. Payloads are copied. */
RUNG_NODISCARD static inline rung_status rung_log_append(rung_log *log,
                                                         const rung_log_entry *entries,
                                                         size_t count, uint64_t *first_seq_out,
                                                         rung_err *err) {
    return log->ops->append(log, entries, count, first_seq_out, err);
}

/* Everything appended is on stable storage when this returns RUNG_OK. */
RUNG_NODISCARD static inline rung_status rung_log_sync(rung_log *log, uint64_t *durable_seq_out,
                                                       rung_err *err) {
    return log->ops->sync(log, durable_seq_out, err);
}

/* The last sequence that is durable; 0 when there is none. */
static inline uint64_t rung_log_durable_seq(const rung_log *log) {
    return log->ops->durable_seq(log);
}

/* Read from `from_seq` (at least 1) on. RUNG_ESTALE when the log begins later than that. */
RUNG_NODISCARD static inline rung_status rung_log_cursor_open(rung_log *log, uint64_t from_seq,
                                                              rung_log_cursor **cursor_out,
                                                              rung_err *err) {
    return log->ops->cursor_open(log, from_seq, cursor_out, err);
}

/* Up to `max` records, in order. RUNG_NOT_FOUND when there is nothing durable beyond (ask again later);
 * RUNG_ECORRUPT names segment, offset and sequence. */
RUNG_NODISCARD static inline rung_status rung_log_cursor_read(rung_log_cursor *cursor,
                                                              rung_log_record *records, size_t max,
                                                              size_t *count_out, rung_err *err) {
    return cursor->ops->cursor_read(cursor, records, max, count_out, err);
}

static inline void rung_log_cursor_close(rung_log_cursor *cursor) {
    if (cursor)
        cursor->ops->cursor_close(cursor);
}

/* Records before `seq` may go. What goes is the implementation's choice; nothing at or after `seq` ever does. */
RUNG_NODISCARD static inline rung_status rung_log_truncate_before(rung_log *log, uint64_t seq,
                                                                  rung_err *err) {
    return log->ops->truncate_before(log, seq, err);
}

/* Housekeeping after the answers are out: call it after each sync, and with `is_idle` after a tenth of a second
 * without work. RUNG_OK, RUNG_PARTIAL when prepare would be of use, or a failure, final as in sync. */
RUNG_NODISCARD static inline rung_status rung_log_maintain(rung_log *log, bool is_idle,
                                                           rung_err *err) {
    return log->ops->maintain(log, is_idle, err);
}

/* Get ready what coming appends will need (space), so that they need not wait. RUNG_UNCHANGED when all is there. */
RUNG_NODISCARD static inline rung_status rung_log_prepare(rung_log *log, rung_err *err) {
    return log->ops->prepare(log, err);
}

/* The most that one append takes, counted with rung_log_framed_size per record. */
static inline size_t rung_log_batch_bytes_max(const rung_log *log) {
    return log->ops->batch_bytes_max(log);
}

/* What a payload takes in a batch: header and padding included. */
static inline size_t rung_log_framed_size(size_t payload_len) {
    return 32 + ((payload_len + 7) & ~(size_t)7);
}

/* Make durable what is not, note a clean end, release everything; also after a failure. NULL is fine. */
static inline rung_status rung_log_close(rung_log *log, rung_err *err) {
    return log ? log->ops->close(log, err) : RUNG_OK;
}

#endif
