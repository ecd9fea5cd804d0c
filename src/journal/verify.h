/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h - examine a log and its snapshots: `rung log verify`, `cat` and `repair`.
 *
 * verify and cat only read, take no lock, and may run beside a server. repair takes the folder's lock, requires the
 * caller to accept the loss of records, and saves every byte that it removes from the log in a file whose name starts
 * with "damaged-". The server itself never repairs. */
#ifndef RUNG_JOURNAL_VERIFY_H
#define RUNG_JOURNAL_VERIFY_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/file.h"
#include "journal/log.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_verify_report {
    uint64_t segment_count, record_count, size_bytes;
    uint64_t first_seq, last_seq; /* of intact records; first is 0 if there are none */
    uint64_t mark_seq;            /* the high-water mark */
    uint64_t torn_bytes;          /* after the last intact record; the next start cuts them */
    uint64_t snapshot_count;
    uint64_t newest_snapshot_seq; /* the newest intact one */
    /* The oldest intact one from which the log can be replayed: the kept span begins there, or with record 1. */
    uint64_t oldest_snapshot_seq;
    int64_t oldest_snapshot_ms; /* its log time; 0: none, or unknown */
    uint64_t damage_count;
} rung_verify_report;

/* Read and check everything. `each` (may be NULL) receives one line per finding, prefixed with "damage: " if a server
 * would refuse to start. RUNG_OK, or RUNG_ECORRUPT with the first damage in `err`; fills the report in both cases. */
RUNG_NODISCARD rung_status rung_log_verify(const rung_dir *dir, const rung_alloc *alloc,
                                           void (*each)(void *ctx, const char *line), void *ctx,
                                           rung_verify_report *report_out, rung_err *err);

/* Call `each` for the intact records from `from` to `to`, in order, until it returns anything but RUNG_OK. Returns
 * RUNG_OK, RUNG_ECORRUPT at the first damage, or what `each` returned. An incomplete last batch is the end of the
 * log, not damage. */
RUNG_NODISCARD rung_status rung_log_cat(
    const rung_dir *dir, const rung_alloc *alloc, uint64_t from, uint64_t to,
    rung_status (*each)(void *ctx, const rung_log_record *record), void *ctx, rung_err *err);

typedef struct rung_repair_report {
    uint64_t kept_seq; /* the log ends here, or begins after it if is_restarted */
    /* The range of lost records, as far as it is known; 0, 0: none. */
    uint64_t lost_from, lost_to;
    /* An intact snapshot is newer than the last intact record: the log restarts after it. */
    bool is_restarted;
    bool is_mark_only; /* only the high-water file was bad */
} rung_repair_report;

/* Reduce a refused log to its longest intact prefix. RUNG_UNCHANGED: a server would accept it as it is;
 * RUNG_EREFUSED: `accept_loss` is false, and the report says what would be lost; RUNG_EBUSY: in use. After a crash,
 * run it again. */
RUNG_NODISCARD rung_status rung_log_repair(const rung_dir *dir, const rung_alloc *alloc,
                                           bool accept_loss, rung_repair_report *report_out,
                                           rung_err *err);

#endif
