/* SPDX-License-Identifier: Apache-2.0 */
#include "service/reconcile.h"

#include "model/words.h"

#include <string.h>

enum { ROWS = 256 }; /* compared at a time */

static void put_text(char *out, size_t size, rung_slice text) {
    size_t len = text.len < size - 1 ? text.len : size - 1;
    if (len)
        memcpy(out, text.ptr, len);
    out[len] = '\0';
}

static bool is_same_digest(rung_digest a, rung_digest b) {
    return a.a == b.a && a.b == b.b;
}

static bool is_same_row(const rung_row *a, const rung_row *b) {
    return rung_slice_eq(a->id, b->id) && a->value_count == b->value_count &&
           memcmp(a->values, b->values, a->value_count * sizeof a->values[0]) == 0 &&
           a->has_at == b->has_at && (!a->has_at || a->at_ms == b->at_ms);
}

static rung_status view_of(const rung_state *s, rung_slice board, const rung_window_info *w,
                           rung_view *out, rung_err *err) {
    bool is_season = w->kind == RUNG_WINDOW_SEASON;
    rung_query q = {.board = board,
                    .window = is_season ? w->season : rung_slice_str(rung_window_words[w->kind])};
    if (w->kind != RUNG_WINDOW_ALL && !is_season)
        q.window_id = rung_slice_str(w->id);
    return rung_state_view(s, &q, out, err);
}

/* The first row that differs. The digests do, so there is one, unless it is in what rows do not show. */
static void find_row(const rung_view *a, const rung_view *b, rung_row rows[2][ROWS],
                     rung_difference *out) {
    uint32_t total = a->total > b->total ? a->total : b->total;
    out->index = total;
    for (uint32_t at = 0; at < total; at += ROWS) {
        uint32_t n = rung_view_top(a, at, ROWS, rows[0]), m = rung_view_top(b, at, ROWS, rows[1]);
        for (uint32_t i = 0; i < n || i < m; i++) {
            if (i < n && i < m && is_same_row(&rows[0][i], &rows[1][i]))
                continue;
            out->index = at + i;
            put_text(out->player, sizeof out->player, rows[i < n ? 0 : 1][i].id);
            return;
        }
    }
}

static rung_status compare_entries(const rung_alloc *alloc, const rung_state *a,
                                   const rung_state *b, rung_slice board,
                                   const rung_window_info *wa, const rung_window_info *wb,
                                   rung_difference *out, rung_err *err) {
    rung_view va, vb;
    rung_row(*rows)[ROWS] = rung_alloc_get(alloc, 2 * sizeof *rows);
    if (!rows)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory to compare entries");
    out->kind = RUNG_DIFFERENCE_ENTRY;
    out->total_a = wa->total;
    out->total_b = wb->total;
    put_text(out->window, sizeof out->window, rung_slice_str(wa->id));
    if (view_of(a, board, wa, &va, NULL) == RUNG_OK && view_of(b, board, wb, &vb, NULL) == RUNG_OK)
        find_row(&va, &vb, rows, out);
    rung_alloc_free(alloc, rows, 2 * sizeof *rows);
    return RUNG_OK;
}

static bool is_same_window(const rung_window_info *a, const rung_window_info *b) {
    return a->kind == b->kind && a->closed == b->closed && strcmp(a->id, b->id) == 0;
}

static rung_status compare_windows(const rung_alloc *alloc, const rung_state *a,
                                   const rung_state *b, rung_slice board, rung_difference *out,
                                   rung_err *err) {
    uint32_t n = rung_state_windows(a, board, NULL, 0), m = rung_state_windows(b, board, NULL, 0);
    size_t size = ((size_t)n + m + 1) * sizeof(rung_window_info);
    rung_window_info *wa = rung_alloc_get(alloc, size), *wb = wa + n;
    if (!wa)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory to compare windows");
    rung_state_windows(a, board, wa, n);
    rung_state_windows(b, board, wb, m);
    rung_status st = RUNG_UNCHANGED;
    for (uint32_t i = 0; st == RUNG_UNCHANGED && (i < n || i < m); i++) {
        if (i >= n || i >= m || !is_same_window(&wa[i], &wb[i])) {
            out->kind = RUNG_DIFFERENCE_WINDOW;
            put_text(out->window, sizeof out->window, rung_slice_str(i < n ? wa[i].id : wb[i].id));
            st = RUNG_OK;
        } else if (!is_same_digest(wa[i].digest, wb[i].digest)) {
            st = compare_entries(alloc, a, b, board, &wa[i], &wb[i], out, err);
        }
    }
    rung_alloc_free(alloc, wa, size);
    return st;
}

rung_status rung_reconcile_states(const rung_alloc *alloc, const rung_state *a, const rung_state *b,
                                  rung_difference *out, rung_err *err) {
    *out = (rung_difference){.kind = RUNG_DIFFERENCE_SEQ};
    if (rung_state_seq(a) != rung_state_seq(b))
        return RUNG_OK;
    if (is_same_digest(rung_state_digest(a), rung_state_digest(b)))
        return RUNG_UNCHANGED;
    uint32_t n = rung_state_board_span(a), m = rung_state_board_span(b);
    for (uint32_t i = 0; i < n || i < m; i++) {
        rung_slice ids[2] = {{NULL, 0}, {NULL, 0}};
        const rung_board_def *def;
        bool has_a = i < n && rung_state_board_at(a, i, &ids[0], &def) == RUNG_OK;
        bool has_b = i < m && rung_state_board_at(b, i, &ids[1], &def) == RUNG_OK;
        if (!has_a && !has_b)
            continue;
        put_text(out->board, sizeof out->board, ids[has_a ? 0 : 1]);
        if (has_a != has_b || !rung_slice_eq(ids[0], ids[1])) {
            out->kind = RUNG_DIFFERENCE_BOARD;
            return RUNG_OK;
        }
        rung_status st = compare_windows(alloc, a, b, ids[0], out, err);
        if (st != RUNG_UNCHANGED)
            return st;
    }
    out->board[0] = '\0';
    out->kind = RUNG_DIFFERENCE_OTHER;
    return RUNG_OK;
}
