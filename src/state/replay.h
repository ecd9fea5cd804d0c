/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - the shadow of a board: the same board under other rules, or without some of its events (docs/replay.md).
 *
 * A shadow is filled by events (RUNG_EVENT_BOARD_FILLED) with what a helper process computed from the log. Once it is
 * complete it follows its board: every event that reaches the board reaches the shadow, under the shadow's own
 * definition. RUNG_EVENT_BOARD_SWAPPED makes the two change places; the old content then follows in turn, so a second
 * swap gives the board back exactly as if there had been no first.
 *
 *     helper:  rung_state_shadow_begin(s, board, &def, &err);         // beside a board that has just been created
 *              rung_state_shadow_skip(s, is_excluded(event)); rung_state_apply(s, event, ...);   // the whole log
 *              rung_fill_begin(s, board, false, &fill);
 *              while (rung_fill_next(&fill, bytes, size, &length) == RUNG_OK) ...   // payloads of the events
 *
 * Pure; as state.h. */
#ifndef RUNG_STATE_REPLAY_H
#define RUNG_STATE_REPLAY_H

#include "state/state.h"

#define RUNG_SHADOWS_MAX 16 /* boards that may have one at the same time */
/* Of submissions that a shadow puts off while its last parts are on their way. */
#define RUNG_SHADOW_QUEUE_MAX ((size_t)8 << 20)

typedef enum rung_shadow_phase {
    RUNG_SHADOW_FILLING = 0,  /* parts are missing, and what happens to the board is not noted */
    RUNG_SHADOW_QUEUEING = 1, /* the same, but submissions are queued for the last part */
    RUNG_SHADOW_READY = 2,    /* it follows the board */
} rung_shadow_phase;

typedef struct rung_shadow_info {
    uint64_t job;
    rung_shadow_phase phase;
    bool was_live; /* it was the board before: a swap is an undo */
    uint32_t parts;
    uint64_t queued; /* bytes */
    uint64_t entries, bytes;
    const rung_board_def *def;
} rung_shadow_info;

/* The board's shadow. RUNG_OK, or RUNG_NOT_FOUND: no such board, or it has none. */
rung_status rung_state_shadow(const rung_state *s, rung_slice board, rung_shadow_info *out);
/* Has any submission named a source? */
bool rung_state_has_sources(const rung_state *s);
/* When the board was created, by log time, and whether it is a Redis key without rules of its own. RUNG_OK or
 * RUNG_NOT_FOUND. */
rung_status rung_state_board_origin(const rung_state *s, rung_slice board, int64_t *created_out,
                                    bool *is_key_out);
/* The i-th window in memory of a board, or of its shadow, as a view of its main ranking. RUNG_NOT_FOUND past the end.
 * Windows that are no longer in memory are left out. */
rung_status rung_state_shadow_window(const rung_state *s, rung_slice board, bool of_shadow,
                                     uint32_t i, rung_view *out);
/* The view of the same window on the other side: the shadow's for a board's view, and back. RUNG_NOT_FOUND: it has
 * no such window in memory. */
rung_status rung_state_shadow_twin(const rung_view *v, rung_view *out);

/* ---- in the helper, where no event does it ---- */

/* Give a board an empty shadow, ready, with `def` (NULL: the board's own). The board must have no entries yet, or the
 * shadow misses them. RUNG_OK; as RUNG_EVENT_BOARD_DEFINED; RUNG_EREFUSED: it has one, or is a Redis key. */
RUNG_NODISCARD rung_status rung_state_shadow_begin(rung_state *s, rung_slice board,
                                                   const rung_board_def *def, rung_err *err);
/* Redefine the shadow as RUNG_EVENT_BOARD_DEFINED would. */
RUNG_NODISCARD rung_status rung_state_shadow_define(rung_state *s, rung_slice board,
                                                    const rung_board_def *def, rung_err *err);
/* Which matches the shadow is computed without, ascending, up to RUNG_MATCHES_REMOVED_MAX (ratings.h): for later
 * replays. */
RUNG_NODISCARD rung_status rung_state_shadow_exclude(rung_state *s, rung_slice board,
                                                     const uint64_t *seqs, uint32_t count);
/* Redefine a board as RUNG_EVENT_BOARD_DEFINED would, without an event. RUNG_OK, RUNG_UNCHANGED, or as that. */
RUNG_NODISCARD rung_status rung_state_redefine(rung_state *s, rung_slice board,
                                               const rung_board_def *def, rung_err *err);
/* Whether the submissions applied from now on leave shadows alone. */
void rung_state_shadow_skip(rung_state *s, bool skip);
/* The next record concerns another board alone: only log time and the count of events change. */
void rung_state_shadow_pass(rung_state *s, int64_t ts_ms);
/* Note from now on whose entries in shadows change; forgets what was noted. */
void rung_state_shadow_note(rung_state *s);

/* The shadow of a board as the payloads of events. */
typedef struct rung_fill { /* private */
    const rung_state *s;
    const void *board;
    bool only_noted;
    bool is_full; /* the next record needs a piece of its own */
    uint32_t stage, window, at, player;
    uint64_t kept; /* the next kept match */
} rung_fill;

/* All of it, or only what was noted. Until the last piece nothing may be applied. RUNG_OK or RUNG_NOT_FOUND. */
RUNG_NODISCARD rung_status rung_fill_begin(const rung_state *s, rung_slice board, bool only_noted,
                                           rung_fill *out);
/* The next payload. `size` is at least RUNG_FILL_PIECE_MIN. RUNG_OK; RUNG_NOT_FOUND at the end; RUNG_ELIMIT: the
 * definition, or the list of windows, does not fit. */
#define RUNG_FILL_PIECE_MIN ((size_t)4096)
RUNG_NODISCARD rung_status rung_fill_next(rung_fill *f, void *out, size_t size, size_t *length_out);
/* The last payload of a round: from here on submissions are queued, or: the shadow is complete. One byte each. */
extern const rung_slice rung_fill_queue, rung_fill_complete;

#endif
