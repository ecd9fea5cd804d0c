/* SPDX-License-Identifier: Apache-2.0 */
/* closed_window.h - a ranking copied out of the state into self-contained bytes.
 *
 * A window that closes may leave memory in the same event, so the state's on_close packs all of it, at about 20 bytes
 * per row, and the archive stores it later. Daily samples use the same format. The bytes live only in memory, between
 * two threads of one process: the version byte guards against mistakes, not against other versions.
 *
 *     rung_closed_window_pack(alloc, board, view, &packed);           // inside on_close
 *     rung_packed_open(rung_buffer_slice(&packed), &reader, &err);
 *     while (rung_packed_next(&reader, &row, &err) == RUNG_OK) ...
 *
 * Pure; any thread. */
#ifndef RUNG_ARCHIVE_CLOSED_WINDOW_H
#define RUNG_ARCHIVE_CLOSED_WINDOW_H

#include "archive/archive.h"
#include "base/buffer.h"

/* Pack all rows of a view with their scopes, and the rows hidden by bans. `board` is the view's. Scores of decay
 * boards are as of the window's end. RUNG_OK: release `out` with rung_buffer_deinit(); or RUNG_ENOMEM. About 0.2 us
 * per row, and up to as much again per attribute. */
RUNG_NODISCARD rung_status rung_closed_window_pack(const rung_alloc *alloc, rung_slice board,
                                                   const rung_view *view, rung_buffer *out);

/* Receives the next bytes. A negative status ends the packing, which returns it. */
typedef rung_status rung_packed_sink(void *ctx, const void *bytes, size_t len);

/* The same bytes, piece by piece. RUNG_OK, RUNG_ENOMEM, or the failure of the sink. */
RUNG_NODISCARD rung_status rung_closed_window_write(const rung_alloc *alloc, rung_slice board,
                                                    const rung_view *view, rung_packed_sink *sink,
                                                    void *ctx);

/* Pack the first `top` rows of a view, and those of the `n` ids that rank below, as samples taken at `time_ms`. */
RUNG_NODISCARD rung_status rung_sample_pack(const rung_alloc *alloc, rung_slice board,
                                            const rung_view *view, int64_t time_ms, uint32_t top,
                                            uint32_t n, const rung_slice *ids, rung_buffer *out);

typedef struct rung_packed_reader {
    bool is_sample;
    int64_t time_ms;            /* of a sample */
    rung_archive_window window; /* slices borrow from the packed bytes */
    uint32_t row_count;
    /* attributes that came with it: the board's scopes, and that of its teams */
    uint32_t slot_count;
    rung_slice attributes[RUNG_SCOPE_SLOTS_MAX];
    /* The scope values of the last row read; empty: none. */
    rung_slice scope_values[RUNG_SCOPE_SLOTS_MAX];
    /* private */
    rung_archive_values format;
    bool has_at;
    const uint8_t *at, *end;
    uint32_t done, sparse, dense;
} rung_packed_reader;

/* RUNG_OK or RUNG_ECORRUPT. */
RUNG_NODISCARD rung_status rung_packed_open(rung_slice packed, rung_packed_reader *out,
                                            rung_err *err);
/* The next row; its player borrows. RUNG_OK, RUNG_NOT_FOUND at the end, RUNG_ECORRUPT. */
RUNG_NODISCARD rung_status rung_packed_next(rung_packed_reader *r, rung_archive_row *row_out,
                                            rung_err *err);

#endif
