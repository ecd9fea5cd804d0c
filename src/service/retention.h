/* SPDX-License-Identifier: Apache-2.0 */
/* retention.h - what of the log and of its snapshots is kept: log.keep as a pure function
 * (docs/adr/0020-keep-the-log.md).
 *
 * The oldest kept snapshot decides which records may be removed. Of each UTC day of log time the first snapshot is
 * kept, so every moment since the oldest one can be rebuilt from a snapshot of its day, or of the last day with
 * changes.
 *
 *     days   |  1   |  2   |  3   | today
 *            a      b      c      d  e f      a..d are the first of their days; e and f the newest two
 *                      ^ now - keep_ms        b is the base: a goes, and the log up to b
 *
 * Invariants:
 *   K1  The newest two snapshots stay, and every record after the older one.
 *   K2  The base is the newest first-of-day snapshot that is as old as `keep_ms`; while there is none, nothing goes.
 *   K3  If that takes more than `keep_bytes`, or the disk is short, the base moves on day by day, at most to the older
 *       of the newest two. */
#ifndef RUNG_SERVICE_RETENTION_H
#define RUNG_SERVICE_RETENTION_H

#include "journal/snapshot_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNG_RETENTION_FOREVER INT64_MAX

typedef struct rung_retention {
    int64_t
        keep_ms; /* 0: only what the newest two snapshots need; RUNG_RETENTION_FOREVER: no limit */
    uint64_t keep_bytes;   /* of log and snapshots together; 0: no limit */
    uint32_t keep_percent; /* of the disk, likewise; 0: no limit */
} rung_retention;

typedef struct rung_retention_facts {
    const rung_snapshot_entry *entries; /* oldest first */
    size_t count;
    uint64_t first_seq;   /* of the log */
    int64_t now_ms;       /* log time */
    uint64_t disk_bytes;  /* the size of the disk; 0: not known */
    uint64_t short_bytes; /* so much must become free */
    /* The bytes of the log's files that have records from `seq` on. */
    uint64_t (*log_bytes)(void *ctx, uint64_t seq);
    void *ctx;
} rung_retention_facts;

typedef struct rung_retention_plan {
    uint64_t needed_from; /* records before this may go; 0: none may */
    size_t keep_count;    /* snapshots to keep, besides the newest two */
    uint64_t bytes;       /* of what stays */
    uint64_t bytes_max;   /* the limit that counted; UINT64_MAX: none */
    int64_t
        reach_ms; /* the time of the oldest snapshot that stays; 0: there is none, or it is unknown */
    bool has_given_way; /* less than keep_ms stays, because of K3 */
} rung_retention_plan;

/* `keep_out` has room for `count` sequences and gets those to keep, ascending. */
rung_retention_plan rung_retention_decide(const rung_retention *r, const rung_retention_facts *f,
                                          uint64_t *keep_out);

/* The number of the UTC day. */
int64_t rung_retention_day(int64_t time_ms);

#endif
