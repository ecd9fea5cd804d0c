/* SPDX-License-Identifier: Apache-2.0 */
/* replay_report.h - who moves where when a board and its shadow change places: counts, largest changes, all moves.
 *
 *     rung_replay_report_make(state, board, report);                         // in a child process: it may take long
 *     rung_replay_moves(state, board, &query, &cursor, rows, max, &count);   // a page of all moves
 *
 * "Before" is the board without the replay, "after" with it, whichever of them is the board now. Pure. */
#ifndef RUNG_SERVICE_REPLAY_REPORT_H
#define RUNG_SERVICE_REPLAY_REPORT_H

#include "state/replay.h"

#define RUNG_REPORT_WINDOWS_MAX 32
#define RUNG_REPORT_LARGEST_MAX 10

typedef struct rung_move {
    char player[RUNG_NAME_MAX];
    uint32_t player_len;
    uint32_t rank_before, rank_after; /* 0: not ranked */
    rung_value before, after;         /* scores, in the terms of their side's definition */
} rung_move;

typedef struct rung_report_window {
    uint32_t kind;
    char id[RUNG_NAME_MAX + 1];                    /* "2026-W46", or a season's name */
    uint64_t before, after;                        /* entries */
    uint64_t moved, entered, left, rescored, same; /* rescored: another score, the same rank */
    uint32_t up_count, down_count;
    rung_move up[RUNG_REPORT_LARGEST_MAX], down[RUNG_REPORT_LARGEST_MAX]; /* largest first */
} rung_report_window;

typedef struct rung_replay_report {
    uint64_t seq;                        /* of the state that it is about */
    uint32_t window_count, window_total; /* the rest of the windows is left out */
    rung_report_window windows[RUNG_REPORT_WINDOWS_MAX];
} rung_replay_report;

/* O(entries x log entries). The report is zeroed before. */
void rung_replay_report_make(const rung_state *s, rung_slice board, rung_replay_report *out);

/* Where a walk over all moves of a window is; zero: at its begin. First those who are ranked after, in that order, then
 * those who are not. */
typedef struct rung_moves_cursor {
    bool is_left;
    uint32_t at;
} rung_moves_cursor;
/* The next moves; looks at up to `span` entries. RUNG_OK: the cursor is at the next page; RUNG_NOT_FOUND: that was the
 * last one; RUNG_EABSENT: no such board, window or shadow; RUNG_EINVAL. */
rung_status rung_replay_moves(const rung_state *s, const rung_query *query,
                              rung_moves_cursor *cursor, uint32_t span, rung_move *moves,
                              uint32_t max, uint32_t *count_out, rung_err *err);

#endif
