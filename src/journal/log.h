/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - the log port: one total order of records. Propose hands records over, deliver returns what was committed.
 *
 *     ... rung_log_cursor_read(): everything up to `last` ...
 *     rung_log_start(log, last + 1, &err);
 *     rung_log_propose(log, entries, n, &err);       // bytes and a tag each; returns at once
 *     ... the log's wake callback ...
 *     rung_log_deliver(log, max, &delivery, &err);   // the next outcomes: apply, then answer
 *
 * A record is opaque bytes with a 16-bit type. Sequences are consecutive from 1. The rules:
 *
 *   L1  Committed records are delivered in the order of their sequences, each once, none left out, beginning at the
 *       sequence given to start: this node's own with their tags, those of others with RUNG_LOG_FOREIGN.
 *   L2  Every proposal has exactly one outcome. COMMITTED: it is in the log and survives a crash. REJECTED: it is not
 *       in the log and never will be; it may be proposed again. UNKNOWN: nobody can say; if it is in the log after all,
 *       it is delivered as if it were another's.
 *   L3  The outcomes of a node's own proposals come in the order in which they were proposed.
 *   L4  The bytes of a proposal stay where they are until its outcome was delivered, after a failure until the log is
 *       closed. So a log need not copy them, and may deliver the very same bytes.
 *   L5  After the log itself has failed nothing is committed, or taken, again.
 *
 * A log on this machine's disk (segment_log.h) has no foreign records, and its outcomes become unknown when a write or
 * a sync fails. A log shared by several nodes (stream/kafka_log.h) delivers what it reads back. A log in memory
 * (memory_log.h) commits what it is given.
 *
 * Threads: start, propose, deliver, await, sync and truncate_before belong to one thread, the owner. Cursors may be
 * used from any thread (each by one at a time), durable_seq and stat from anywhere. */
#ifndef RUNG_JOURNAL_LOG_H
#define RUNG_JOURNAL_LOG_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNG_LOG_RECORD_MAX ((size_t)1 << 20) /* bytes of one payload */
#define RUNG_LOG_FOREIGN    UINT64_MAX        /* tag of a record that another node proposed */

/* Types that mean the same to everybody; the others are the users' own. */
#define RUNG_LOG_TYPE_VOID                                                                         \
    0u /* has no effect: it only takes a sequence. A payload is for people and tools */
#define RUNG_LOG_TYPE_LOST                                                                         \
    0xffffu /* stands for a record whose effect only a snapshot has; cannot be applied */

typedef struct rung_log_entry {
    rung_slice payload;
    uint16_t type;
    uint64_t tag; /* chosen by the proposer, returned with the outcome */
} rung_log_entry;

typedef struct rung_log_record {
    uint64_t seq;
    rung_slice payload; /* borrowed from the cursor until its next read or close */
    uint16_t type;
} rung_log_record;

typedef enum rung_log_outcome {
    RUNG_LOG_COMMITTED,
    RUNG_LOG_REJECTED,
    RUNG_LOG_UNKNOWN,
} rung_log_outcome;

/* Entries with the same outcome. Valid until the next deliver or close. */
typedef struct rung_log_delivery {
    rung_log_outcome outcome;
    size_t count;
    const rung_log_entry *entries;
    uint64_t first_seq; /* if committed: of the first entry; the others follow */
    rung_err why;       /* otherwise: the reason */
} rung_log_delivery;

/* A histogram of times: bucket i counts those below 2^i us, the last bucket all others. */
#define RUNG_LOG_TIME_BUCKETS 24

typedef struct rung_log_stats {
    uint64_t batches, records, bytes; /* committed since the start */
    uint64_t batch_records_max;
    uint64_t queued; /* proposed, but not in a batch yet */
    /* Write and sync of a batch, or only the write if it is not synced. */
    uint64_t sync_count, sync_us_total, sync_us[RUNG_LOG_TIME_BUCKETS];
    /* Of a shared log. */
    uint64_t end_seq;           /* its end, as last heard of */
    uint64_t rejected, unknown; /* proposals that were not delivered as committed */
    uint64_t foreign;           /* records of other nodes delivered */
    uint64_t rebuilds;          /* of the producer, after an error that it did not survive */
    int64_t silent_ms;          /* how long ago somebody last answered; 0: somebody does */
} rung_log_stats;

typedef struct rung_log rung_log;
typedef struct rung_log_cursor rung_log_cursor;

typedef struct rung_log_ops {
    rung_status (*start)(rung_log *log, uint64_t from_seq, rung_err *err);
    rung_status (*propose)(rung_log *log, const rung_log_entry *entries, size_t count,
                           rung_err *err);
    rung_status (*deliver)(rung_log *log, size_t max, rung_log_delivery *out, rung_err *err);
    void (*await)(rung_log *log);
    rung_status (*sync)(rung_log *log, rung_err *err);
    uint64_t (*durable_seq)(const rung_log *log);
    uint64_t (*sure_seq)(const rung_log *log); /* NULL: durable_seq */
    /* NULL in a log that keeps nothing. */
    uint64_t (*first_seq)(rung_log *log);
    const uint8_t *(*id)(const rung_log *log);
    rung_status (*cursor_open)(rung_log *log, uint64_t from_seq, rung_log_cursor **cursor_out,
                               rung_err *err);
    rung_status (*cursor_read)(rung_log_cursor *cursor, rung_log_record *records, size_t max,
                               size_t *count_out, rung_err *err);
    void (*cursor_close)(rung_log_cursor *cursor);
    rung_status (*truncate_before)(rung_log *log, uint64_t seq, rung_err *err);
    rung_log_stats (*stat)(rung_log *log);
    rung_status (*close)(rung_log *log, rung_err *err);
    bool is_shared; /* other nodes write to it, too */
} rung_log_ops;

/* The first member of every implementation. */
struct rung_log {
    const rung_log_ops *ops;
};

struct rung_log_cursor {
    const rung_log_ops *ops;
};

/* Accept proposals, and deliver from `from_seq` on; a cursor has read everything before. RUNG_OK; RUNG_EINVAL: the
 * log cannot start at this sequence; RUNG_ENOSPC: no space to start; retry or close. */
RUNG_NODISCARD static inline rung_status rung_log_start(rung_log *log, uint64_t from_seq,
                                                        rung_err *err) {
    return log->ops->start(log, from_seq, err);
}

/* Propose one or more records, all or none. They stay together as far as the log can do that. RUNG_OK: each gets an
 * outcome later. RUNG_ELIMIT: too many in flight (deliver, then retry), or a record is too long. RUNG_ENOSPC: no
 * space. Otherwise the failure (L5). */
RUNG_NODISCARD static inline rung_status
rung_log_propose(rung_log *log, const rung_log_entry *entries, size_t count, rung_err *err) {
    return log->ops->propose(log, entries, count, err);
}

/* The next outcomes in order: at most `max`, all of one kind. Invalidates the previous delivery. RUNG_OK. If there
 * are none now: RUNG_NOT_FOUND; RUNG_ENOSPC: the log also accepts nothing for lack of space; or the failure (L5),
 * once every outcome was delivered. */
RUNG_NODISCARD static inline rung_status rung_log_deliver(rung_log *log, size_t max,
                                                          rung_log_delivery *out, rung_err *err) {
    return log->ops->deliver(log, max, out, err);
}

/* Wait until every proposal so far has an outcome to deliver, and until a sync that was asked for has begun. */
static inline void rung_log_await(rung_log *log) {
    log->ops->await(log);
}

/* Committed means durable unless the log is configured to sync periodically; this call then requests a sync. RUNG_OK:
 * all that was delivered is durable. RUNG_PARTIAL: soon; the log wakes its owner, and durable_seq shows it. Or the
 * failure. */
RUNG_NODISCARD static inline rung_status rung_log_sync(rung_log *log, rung_err *err) {
    return log->ops->sync(log, err);
}

/* The last durable sequence; 0: none. */
static inline uint64_t rung_log_durable_seq(const rung_log *log) {
    return log->ops->durable_seq(log);
}

/* The last sequence that no crash can undo. Before start it may be less than durable_seq: an interrupted run leaves
 * records that can be read but may not be on the disk. Start makes them durable. */
static inline uint64_t rung_log_sure_seq(const rung_log *log) {
    return log->ops->sure_seq ? log->ops->sure_seq(log) : rung_log_durable_seq(log);
}

/* The oldest record that a cursor finds; durable_seq + 1 if there is none. */
static inline uint64_t rung_log_first_seq(rung_log *log) {
    return log->ops->first_seq(log);
}

#define RUNG_LOG_ID_SIZE 16
/* What tells this log from every other: RUNG_LOG_ID_SIZE bytes, valid while the log is open. */
static inline const uint8_t *rung_log_id(const rung_log *log) {
    return log->ops->id(log);
}

/* Do other nodes write to it, too? */
static inline bool rung_log_is_shared(const rung_log *log) {
    return log->ops->is_shared;
}

/* Open a cursor at `from_seq` (at least 1). RUNG_ESTALE: the log begins later. */
RUNG_NODISCARD static inline rung_status rung_log_cursor_open(rung_log *log, uint64_t from_seq,
                                                              rung_log_cursor **cursor_out,
                                                              rung_err *err) {
    return log->ops->cursor_open(log, from_seq, cursor_out, err);
}

/* Read up to `max` records, in order. RUNG_NOT_FOUND: no durable record left; retry later. RUNG_ECORRUPT names
 * segment, offset and sequence. */
RUNG_NODISCARD static inline rung_status rung_log_cursor_read(rung_log_cursor *cursor,
                                                              rung_log_record *records, size_t max,
                                                              size_t *count_out, rung_err *err) {
    return cursor->ops->cursor_read(cursor, records, max, count_out, err);
}

static inline void rung_log_cursor_close(rung_log_cursor *cursor) {
    if (cursor)
        cursor->ops->cursor_close(cursor);
}

/* Allow the log to remove records before `seq`. The implementation decides which; it never removes `seq` or later. */
RUNG_NODISCARD static inline rung_status rung_log_truncate_before(rung_log *log, uint64_t seq,
                                                                  rung_err *err) {
    return log->ops->truncate_before(log, seq, err);
}

static inline rung_log_stats rung_log_stat(rung_log *log) {
    return log->ops->stat(log);
}

/* The size of a record in the log, with header and padding. */
static inline size_t rung_log_framed_size(size_t payload_len) {
    return 32 + ((payload_len + 7) & ~(size_t)7);
}

/* Commit what was proposed, sync, and release everything, even after a failure. Outcomes not yet delivered are
 * dropped; the next reader finds those records. Accepts NULL. */
static inline rung_status rung_log_close(rung_log *log, rung_err *err) {
    return log ? log->ops->close(log, err) : RUNG_OK;
}

#endif
