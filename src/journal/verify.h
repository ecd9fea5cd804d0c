/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h - the log and its snapshots under the magnifying glass: `rung log verify`, `cat` and `repair`.
 *
 * verify and cat only read, take no lock, and may run beside a server. repair takes the folder's lock, needs the
 * caller's word that records may be lost, and keeps every byte it takes out of the log under a name
 * that begins with "damaged-". The server itself never repairs. */
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
    uint64_t first_seq, last_seq; /* of whole records; first 0 when there are none */
    uint64_t mark_seq;            /* the high-water mark */
    uint64_t torn_bytes;          /* behind the last whole record; the next start cuts them */
    uint64_t snapshot_count;
    uint64_t newest_snapshot_seq; /* of the whole ones */
    uint64_t damage_count;
} rung_verify_report;

/* Read everything, check everything; `each` (may be NULL) gets one line per finding, with "damage: " in front where a
 * server would refuse. RUNG_OK, or RUNG_ECORRUPT with the first damage in `err`; the report is filled in both cases. */
RUNG_NODISCARD rung_status rung_log_verify(const rung_dir *dir, const rung_alloc *alloc,
                                           void (*each)(void *ctx, const char *line), void *ctx,
                                           rung_verify_report *report_out, rung_err *err);

/* Call `each` for the records from `from` to `to`, in order, as far as they are whole. Any other answer of `each`
 * than RUNG_OK ends the walk. RUNG_OK, RUNG_ECORRUPT at the first damage, or what `each` returned. A last batch that
 * is not whole is where the log ends, not damage. */
RUNG_NODISCARD rung_status rung_log_cat(
    const rung_dir *dir, const rung_alloc *alloc, uint64_t from, uint64_t to,
    rung_status (*each)(void *ctx, const rung_log_record *record), void *ctx, rung_err *err);

typedef struct rung_repair_report {
    uint64_t kept_seq; /* the log ends here, or begins behind it when is_restarted */
    uint64_t lost_from,
        lost_to; /* records that are lost to the log, as far as they can be known; 0, 0: none */
    bool
        is_restarted; /* a whole snapshot is newer than the last whole record: the log begins anew behind it */
    bool is_mark_only; /* only the high-water file was bad */
} rung_repair_report;

/* Bring a refused log back to its longest whole beginning. RUNG_UNCHANGED when a server would accept it as it is;
 * RUNG_EREFUSED without `accept_loss`, with the report saying what would be lost; RUNG_EBUSY when in use. May
 * be run again after a crash in the middle. */
RUNG_NODISCARD rung_status rung_log_repair(const rung_dir *dir, const rung_alloc *alloc,
                                           bool accept_loss, rung_repair_report *report_out,
                                           rung_err *err);

#endif
