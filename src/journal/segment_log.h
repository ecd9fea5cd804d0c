/* SPDX-License-Identifier: Apache-2.0 */
/* segment_log.h - the log port on local files: the single-threaded core under the writer thread.
 *
 *     rung_segment_log_open(&config, &log, &err);      // lock and examine the files; changes nothing
 *     ... replay with a cursor of rung_segment_log_port(log) ...
 *     rung_segment_log_start(log, &err);               // new segment, re-persist, seal the old one: now append
 *     rung_log_append(rung_segment_log_port(log), ...); rung_log_sync(...);
 *     rung_log_close(rung_segment_log_port(log), &err);
 *
 * Open refuses damage (RUNG_ECORRUPT names segment, offset, sequence) and a folder in use (RUNG_EBUSY names the
 * process). On a full disk append returns RUNG_ENOSPC and changes nothing; it succeeds again once there is space.
 * Threads: see log.h. */
#ifndef RUNG_JOURNAL_SEGMENT_LOG_H
#define RUNG_JOURNAL_SEGMENT_LOG_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/file.h"
#include "journal/log.h"
#include "journal/recovery.h"
#include "journal/segment.h"
#include "journal/writer.h"

#include <stdbool.h>
#include <stdint.h>

/* Heap object. Release it with rung_log_close() of its port. */
typedef struct rung_segment_log rung_segment_log;

typedef struct rung_segment_log_config {
    const rung_fs *fs;
    const rung_alloc *alloc; /* used by every thread that uses the log */
    /* The folder; must stay valid until close; created if absent unless read-only. */
    const char *path;
    uint64_t segment_size; /* bytes, multiple of 512; 0 = 64 MiB */
    uint32_t mark_every;   /* batches between two high-water marks; 0 = 64 */
    bool is_relaxed;       /* several appends may share one sync ("sync every N ms") */
    /* Take no lock, change nothing, refuse to start. For tools beside a running server. */
    bool is_read_only;
    void (*say)(void *ctx, const char *line); /* one line for the operator; may be NULL */
    void *say_ctx;
    rung_writer_config writer; /* how proposals are written; its sync_every_ms wants is_relaxed */
} rung_segment_log_config;

RUNG_NODISCARD rung_status rung_segment_log_open(const rung_segment_log_config *config,
                                                 rung_segment_log **log_out, rung_err *err);

/* ---- the core: used by the writer, or, where there is none, by one thread ---- */

/* Make the log writable. RUNG_ENOSPC: nothing acknowledged is lost; retry later, or let maintain retry: append
 * returns RUNG_ENOSPC until it succeeds. After any other failure the log must be closed. */
RUNG_NODISCARD rung_status rung_segment_log_start(rung_segment_log *log, rung_err *err);

/* Order and write `count` (at least 1) records as one batch; payloads are copied. RUNG_ENOSPC, RUNG_ENOMEM, RUNG_ELIMIT
 * and RUNG_EINVAL changed nothing and may be tried again. Any other failure, of sync and maintain as well, is final:
 * nobody can say what is on the disk, and every later call returns it again. */
RUNG_NODISCARD rung_status rung_segment_log_append(rung_segment_log *log,
                                                   const rung_log_entry *entries, size_t count,
                                                   uint64_t *first_seq_out, rung_err *err);
/* Everything appended is on stable storage when this returns RUNG_OK. */
RUNG_NODISCARD rung_status rung_segment_log_sync(rung_segment_log *log, uint64_t *durable_seq_out,
                                                 rung_err *err);
/* Housekeeping after the answers are out: call it after each sync, and with `is_idle` after a tenth of a second
 * without work. RUNG_OK, RUNG_PARTIAL when prepare would be of use, or a failure. */
RUNG_NODISCARD rung_status rung_segment_log_maintain(rung_segment_log *log, bool is_idle,
                                                     rung_err *err);
/* Get ready the space that coming appends will need, so that they need not wait; in one other thread if need be.
 * RUNG_UNCHANGED when all is there. */
RUNG_NODISCARD rung_status rung_segment_log_prepare(rung_segment_log *log, rung_err *err);
/* The most that one append takes, counted with rung_log_framed_size per record. */
size_t rung_segment_log_batch_bytes_max(const rung_segment_log *log);
/* RUNG_OK; RUNG_UNCHANGED when there was nothing to remove. */
RUNG_NODISCARD rung_status rung_segment_log_truncate_before(rung_segment_log *log, uint64_t seq,
                                                            rung_err *err);
/* Compress the oldest sealed segment that is not compressed yet (segment_pack.h); in one other thread. RUNG_OK or
 * RUNG_UNCHANGED: call again; RUNG_NOT_FOUND: none left; a failure changed nothing, and is not the log's. `gives_way`:
 * as rung_segment_pack(). */
RUNG_NODISCARD rung_status rung_segment_log_pack(rung_segment_log *log, bool gives_way,
                                                 rung_err *err);
/* As rung_log_close of its port. */
rung_status rung_segment_log_close(rung_segment_log *log, rung_err *err);

/* ---- either way ---- */

/* Is the folder still where it was opened? RUNG_EABSENT: it was removed or replaced, and new records would be lost.
 * RUNG_OK if that cannot be determined. Cheap; any thread. */
RUNG_NODISCARD rung_status rung_segment_log_check_place(const rung_segment_log *log, rung_err *err);

rung_log *rung_segment_log_port(rung_segment_log *log); /* borrowed; the same object */

/* The identity of this log, 16 bytes, fixed at its first open; valid while the log is open. */
const uint8_t *rung_segment_log_uuid(const rung_segment_log *log);

typedef struct rung_segment_log_stats {
    uint64_t first_seq; /* the oldest record present; durable_seq + 1 if there is none */
    uint64_t durable_seq;
    uint64_t segment_count;
    uint64_t size_bytes; /* of all records and headers */
    uint64_t disk_bytes; /* of all files */
    uint64_t torn_bytes; /* cut at the last start, and saved in a file */
    bool is_spare_ready;
    uint32_t epoch;
} rung_segment_log_stats;

/* There was no space to start it, and there is none yet. From any thread. */
bool rung_segment_log_is_start_due(const rung_segment_log *log);

/* From any thread. */
rung_segment_log_stats rung_segment_log_stat(rung_segment_log *log);

/* The bytes on the disk of the segments that have records from `seq` on. From any thread. */
uint64_t rung_segment_log_bytes_from(rung_segment_log *log, uint64_t seq);

/* While pinned, truncate_before removes nothing (RUNG_UNCHANGED), for a running backup. Any thread. */
void rung_segment_log_pin(rung_segment_log *log);
void rung_segment_log_unpin(rung_segment_log *log);

/* Copy the list of segments, with their durable ends, to `out` (room for `max`). Returns how many there are. Any
 * thread. */
size_t rung_segment_log_segments(rung_segment_log *log, rung_segment_info *out, size_t max);
const rung_dir *rung_segment_log_dir(const rung_segment_log *log);

/* ---- shared inside the room ---- */

/* The segment that contains `seq`, up to its durable end. RUNG_NOT_FOUND: `seq` is not durable yet; RUNG_ESTALE: it
 * was removed. */
rung_status rung__segment_log_locate(rung_segment_log *log, uint64_t seq,
                                     rung_segment_info *info_out, rung_err *err);
const rung_alloc *rung__segment_log_alloc(const rung_segment_log *log);
rung_writer *rung__segment_log_writer(const rung_log *log); /* NULL: not started */
rung_status rung__segment_cursor_open(rung_log *log, uint64_t from_seq,
                                      rung_log_cursor **cursor_out, rung_err *err);
rung_status rung__segment_cursor_read(rung_log_cursor *cursor, rung_log_record *records, size_t max,
                                      size_t *count_out, rung_err *err);
void rung__segment_cursor_close(rung_log_cursor *cursor);

/* Create a high-water file, replacing any other: all of `last` (NULL: there is no segment) is durable. */
rung_status rung__high_water_create(const rung_dir *dir, const uint8_t uuid[RUNG_UUID_SIZE],
                                    const rung_segment_info *last, rung_err *err);

#endif
