/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - is a closed window in the archive what the log gives? The standings that the replayed state had when the
 * window closed are compared with those that are stored, row by row; only a page of them is in memory.
 *
 *     rung_closed_window_pack(alloc, board, view, &packed);       // inside on_close of a replay
 *     st = rung_archive_compare(archive, alloc, rung_buffer_slice(&packed), &difference, &err);
 *
 * Changes nothing. Threads: as the archive's. */
#ifndef RUNG_ARCHIVE_COMPARE_H
#define RUNG_ARCHIVE_COMPARE_H

#include "archive/archive.h"

typedef struct rung_archive_difference {
    const char *
        what; /* "entries", "definition", "player", "score", "time", "rank" or "standing"; static */
    char board[RUNG_NAME_MAX + 1], window[RUNG_NAME_MAX + 1], player[RUNG_NAME_MAX + 1];
    uint32_t place;      /* of the first row that differs; 0: none does */
    uint64_t closed_seq; /* of the window */
    uint32_t total, archived_total;
} rung_archive_difference;

/* RUNG_UNCHANGED: equal. RUNG_OK: `out` has the first difference. RUNG_NOT_FOUND: the archive has no such window of a
 * board that still exists. RUNG_PARTIAL: it has another window of that name, which cannot be compared. Otherwise the
 * archive cannot be read. Of standings that are hidden now, only the ranks are compared. */
RUNG_NODISCARD rung_status rung_archive_compare(rung_archive *a, const rung_alloc *alloc,
                                                rung_slice packed, rung_archive_difference *out,
                                                rung_err *err);

#endif
