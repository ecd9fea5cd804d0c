/* SPDX-License-Identifier: Apache-2.0 */
/* Words as in docs/formats/events.md.
 *
 *   byte      version, 2
 *   byte      1 for samples, 0 for a closed window
 *   signed    time of the sample, or 0
 *   number    sequence; signed log time
 *   text      board; number kind; text window id; signed start, signed end
 *   number    total; number distinct; number rank style; text definition
 *   number    attributes: the scopes, and that of the teams if it is none of them; none for samples; for each: text
 *   number    rows that follow
 *   row       closed window: number: bit 0: another score than the row above (the first has 1); bit 1: hidden by a ban
 *             sample:        number place, number sparse, number dense
 *             number player number; text player; per column a signed or 8 bytes of a double; signed at - end, if kept
 *             per attribute: text value that it stands under, empty: none
 *
 * The sparse rank of a row of a closed window is its place if its score is another one, else that of the row above.
 * Hidden rows count: total, distinct and all ranks are those of the window with nobody banned. */
#include "archive/closed_window.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "state/hidden.h"
#include "state/scope_values.h"

#include <math.h>

enum { VERSION = 2, ROWS_AT_ONCE = 256, PIECE_BYTES = 1 << 20, STEP = 1, HIDDEN = 2 };

/* ---- packing ---- */

static void put_number(rung_buffer *b, uint64_t number) {
    if (rung_buffer_reserve(b, RUNG_NUMBER_BYTES_MAX))
        b->len =
            (size_t)((char *)rung_encode_number((uint8_t *)b->data + b->len, number) - b->data);
}

static void put_signed(rung_buffer *b, int64_t number) {
    put_number(b, rung_zigzag(number));
}

static void put_word(rung_buffer *b, uint64_t word) {
    uint8_t bytes[sizeof word];
    rung_put64(bytes, word);
    rung_buffer_put(b, bytes, sizeof bytes);
}

static void put_text(rung_buffer *b, rung_slice text) {
    put_number(b, text.len);
    rung_buffer_put(b, text.ptr, text.len);
}

/* A board that exists has a valid definition: only its size is not known. */
static void put_definition(rung_buffer *b, const rung_board_def *def) {
    size_t len = 0;
    rung_status st = rung_board_def_encode(def, NULL, 0, &len);
    put_number(b, len);
    if (!rung_buffer_reserve(b, len))
        return;
    st = rung_board_def_encode(def, b->data + b->len, len, &len);
    RUNG_ASSERT(st == RUNG_OK);
    b->len += len;
}

static const rung_board_def *definition_of(const rung_view *view, rung_slice board) {
    const rung_board_def *def;
    rung_status st = rung_state_board(view->state, board, &def);
    RUNG_ASSERT(st == RUNG_OK);
    return def;
}

static rung_slice window_id(const rung_view *v, char out[RUNG_WINDOW_ID_MAX]) {
    if (v->kind == RUNG_WINDOW_SEASON)
        return v->season;
    if (v->kind == 0)
        return RUNG_SLICE("all");
    return rung_slice_of(out, rung_window_id_format((rung_window_kind)v->kind, v->ordinal, out));
}

static void put_head(rung_buffer *b, rung_slice board, const rung_view *v,
                     const rung_board_def *def, bool is_sample, int64_t time_ms,
                     const rung_scope_values *scopes, uint32_t row_count) {
    char id[RUNG_WINDOW_ID_MAX];
    put_number(b, VERSION);
    put_number(b, is_sample);
    put_signed(b, time_ms);
    put_number(b, rung_state_seq(v->state));
    put_signed(b, rung_state_time(v->state));
    put_text(b, board);
    put_number(b, v->kind);
    put_text(b, window_id(v, id));
    put_signed(b, v->start_ms);
    put_signed(b, v->end_ms);
    put_number(b, v->total);
    put_number(b, v->distinct);
    put_number(b, def->rank);
    put_definition(b, def);
    put_number(b, scopes ? scopes->count : 0);
    for (uint32_t i = 0; scopes && i < scopes->count; i++)
        put_text(b, scopes->attributes[i]);
    put_number(b, row_count);
}

/* What a row has beside its ranks. */
static void put_row(rung_buffer *b, const rung_board_def *def, int64_t end_ms,
                    const rung_row *row) {
    put_number(b, row->number);
    put_text(b, row->id);
    for (uint32_t i = 0; i < row->value_count; i++) {
        if (def->key.columns[i].type == RUNG_SCORE_REAL)
            put_word(b, (uint64_t)row->values[i].i); /* the bits of the double */
        else
            put_signed(b, row->values[i].i);
    }
    if (row->has_at)
        put_signed(b, (int64_t)((uint64_t)row->at_ms - (uint64_t)end_ms));
}

/* A window on its way into bytes. */
typedef struct packing {
    rung_buffer b;
    rung_packed_sink *sink; /* NULL: all bytes stay in the buffer */
    void *ctx;
    rung_status status; /* the sink's */
    const rung_board_def *def;
    int64_t end_ms;
    uint64_t mark; /* of the score of the row above */
    rung_scope_values scopes;
    rung_hidden_row *hidden;
    uint32_t hidden_count, hidden_done;
} packing;

/* Rows with equal scores have the same mark, and it differs from the mark of the row above if the scores differ. It
 * is twice the sparse rank of the visible rows with that score, or an odd number if all of them are hidden. */
static void put_standing(packing *p, uint64_t mark, bool is_hidden, const rung_row *row) {
    put_number(&p->b, (mark != p->mark ? STEP : 0) | (is_hidden ? HIDDEN : 0));
    put_row(&p->b, p->def, p->end_ms, row);
    for (uint32_t i = 0; i < p->scopes.count; i++)
        put_text(&p->b, rung_scope_values_of(&p->scopes, i, row->number));
    p->mark = mark;
}

/* The hidden rows before the visible row `index`. */
static void put_hidden_before(packing *p, uint32_t index) {
    for (; p->hidden_done < p->hidden_count && p->hidden[p->hidden_done].above <= index;
         p->hidden_done++) {
        const rung_hidden_row *h = &p->hidden[p->hidden_done];
        uint64_t mark = h->is_tied   ? 2 * ((uint64_t)h->better + 1)
                        : h->is_same ? p->mark
                                     : 2 * (uint64_t)p->hidden_done + 1;
        put_standing(p, mark, true, &h->row);
    }
}

static void give_piece(packing *p, size_t at_least) {
    if (!p->sink || p->b.len < at_least || p->b.is_failed || p->status < 0)
        return;
    p->status = p->sink(p->ctx, p->b.data, p->b.len);
    p->b.len = 0;
}

static void put_standings(packing *p, const rung_view *v, rung_row *rows) {
    uint32_t count;
    for (uint32_t done = 0; !p->b.is_failed && p->status >= 0 &&
                            (count = rung_view_top(v, done, ROWS_AT_ONCE, rows)) > 0;
         done += count) {
        for (uint32_t i = 0; i < count; i++) {
            put_hidden_before(p, done + i);
            put_standing(p, 2 * (uint64_t)rows[i].rank, false, &rows[i]);
        }
        give_piece(p, PIECE_BYTES);
    }
    put_hidden_before(p, UINT32_MAX);
}

/* Scores that only hidden rows have. */
static uint32_t hidden_scores(const packing *p) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->hidden_count; i++)
        n += !p->hidden[i].is_tied && !p->hidden[i].is_same;
    return n;
}

static rung_status pack(packing *p, rung_slice board, const rung_view *view) {
    const rung_alloc *alloc = p->b.alloc;
    rung_view v = *view;
    v.rank =
        RUNG_RANK_SPARSE; /* two decayed scores can look equal and differ: use the ladder's ranks */
    v.now_ms = v.end_ms;
    p->def = definition_of(view, board);
    p->end_ms = v.end_ms;
    rung_row *rows = rung_alloc_get(alloc, ROWS_AT_ONCE * sizeof *rows);
    rung_status st = rows ? rung_view_hidden(&v, alloc, &p->hidden, &p->hidden_count) : RUNG_ENOMEM;
    if (st >= 0)
        st = rung_scope_values_init(&v, alloc, &p->scopes);
    if (st < 0) {
        rung_view_hidden_free(alloc, p->hidden, p->hidden_count);
        rung_alloc_free(alloc, rows, rows ? ROWS_AT_ONCE * sizeof *rows : 0);
        return st;
    }
    rung_view whole = v;
    whole.total += p->hidden_count;
    whole.distinct += hidden_scores(p);
    put_head(&p->b, board, &whole, p->def, false, 0, &p->scopes, whole.total);
    put_standings(p, &v, rows);
    give_piece(p, 1);
    rung_scope_values_deinit(&p->scopes, alloc);
    rung_view_hidden_free(alloc, p->hidden, p->hidden_count);
    rung_alloc_free(alloc, rows, ROWS_AT_ONCE * sizeof *rows);
    return p->b.is_failed ? RUNG_ENOMEM : p->status;
}

rung_status rung_closed_window_pack(const rung_alloc *alloc, rung_slice board,
                                    const rung_view *view, rung_buffer *out) {
    packing p = {.b = {.alloc = alloc}};
    rung_status st = pack(&p, board, view);
    if (st < 0) {
        rung_buffer_deinit(&p.b);
        return st;
    }
    *out = p.b;
    return RUNG_OK;
}

rung_status rung_closed_window_write(const rung_alloc *alloc, rung_slice board,
                                     const rung_view *view, rung_packed_sink *sink, void *ctx) {
    packing p = {.b = {.alloc = alloc}, .sink = sink, .ctx = ctx};
    rung_status st = pack(&p, board, view);
    rung_buffer_deinit(&p.b);
    return st;
}

/* One row of a sample; `styles` are the same view in each rank style. */
static void put_sampled(rung_buffer *b, const rung_board_def *def, const rung_view styles[3],
                        rung_slice id, uint32_t beyond, uint32_t *count) {
    rung_row sparse, dense;
    bool found;
    rung_view_rows(&styles[RUNG_RANK_SPARSE], 1, &id, &sparse, &found);
    if (!found || sparse.index < beyond)
        return;
    rung_view_rows(&styles[RUNG_RANK_DENSE], 1, &id, &dense, &found);
    put_number(b, sparse.index + 1);
    put_number(b, sparse.rank);
    put_number(b, dense.rank);
    put_row(b, def, styles[0].end_ms, &sparse);
    ++*count;
}

rung_status rung_sample_pack(const rung_alloc *alloc, rung_slice board, const rung_view *view,
                             int64_t time_ms, uint32_t top, uint32_t n, const rung_slice *ids,
                             rung_buffer *out) {
    const rung_board_def *def = definition_of(view, board);
    rung_view styles[3] = {*view, *view, *view};
    for (int i = 0; i < 3; i++) {
        styles[i].rank = (rung_rank_style)i;
        styles[i].now_ms = time_ms;
    }
    rung_buffer rows = {.alloc = alloc}, b = {.alloc = alloc};
    uint32_t count = 0;
    for (uint32_t i = 0; i < top && i < view->total; i++) {
        rung_row row;
        if (rung_view_top(&styles[0], i, 1, &row) == 1)
            put_sampled(&rows, def, styles, row.id, 0, &count);
    }
    for (uint32_t i = 0; i < n; i++)
        put_sampled(&rows, def, styles, ids[i], top, &count);
    put_head(&b, board, view, def, true, time_ms, NULL, count);
    rung_buffer_put(&b, rows.data, rows.len);
    b.is_failed |= rows.is_failed;
    rung_buffer_deinit(&rows);
    if (b.is_failed) {
        rung_buffer_deinit(&b);
        return RUNG_ENOMEM;
    }
    *out = b;
    return RUNG_OK;
}

/* ---- reading ---- */

static void read_attributes(rung_byte_reader *b, rung_packed_reader *r) {
    uint64_t count = rung_get_number(b);
    if (count > RUNG_SCOPE_SLOTS_MAX)
        rung_byte_reader_fail(b, "too many attributes");
    for (uint64_t i = 0; !b->fault && i < count; i++)
        r->attributes[r->slot_count++] = rung_get_text(b);
}

rung_status rung_packed_open(rung_slice packed, rung_packed_reader *out, rung_err *err) {
    rung_byte_reader b = rung_byte_reader_of(packed);
    rung_packed_reader r = {0};
    rung_board_def def;
    if (rung_get_number(&b) != VERSION)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "packed window: not of this version");
    r.is_sample = rung_get_number(&b) == 1;
    r.time_ms = rung_get_signed(&b);
    r.window.closed_seq = rung_get_number(&b);
    r.window.closed_ms = rung_get_signed(&b);
    r.window.board = rung_get_text(&b);
    r.window.kind = (uint32_t)rung_get_number(&b);
    r.window.id = rung_get_text(&b);
    r.window.start_ms = rung_get_signed(&b);
    r.window.end_ms = rung_get_signed(&b);
    r.window.total = (uint32_t)rung_get_number(&b);
    r.window.distinct = (uint32_t)rung_get_number(&b);
    r.window.rank = (rung_rank_style)rung_get_number(&b);
    r.window.definition = rung_get_text(&b);
    read_attributes(&b, &r);
    r.row_count = (uint32_t)rung_get_number(&b);
    if (b.fault || r.window.kind > RUNG_WINDOW_SEASON || r.window.rank > RUNG_RANK_DENSE ||
        rung_board_def_decode(r.window.definition, &def, err) < 0)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "packed window: its head is damaged");
    r.format = rung_archive_values_of(&def);
    r.has_at = rung_tie_keeps_time(def.key.tie);
    r.at = b.at;
    r.end = b.end;
    *out = r;
    return RUNG_OK;
}

static void read_ranks(rung_packed_reader *r, rung_byte_reader *b, rung_archive_row *row) {
    if (r->is_sample) {
        row->place = (uint32_t)rung_get_number(b);
        row->sparse = (uint32_t)rung_get_number(b);
        row->dense = (uint32_t)rung_get_number(b);
        return;
    }
    uint64_t flags = rung_get_number(b);
    if (flags > (STEP | HIDDEN))
        rung_byte_reader_fail(b, "unknown flags");
    row->place = r->done + 1;
    row->hidden = flags & HIDDEN ? RUNG_HIDDEN_BANNED : 0;
    if (flags & STEP) {
        r->sparse = row->place;
        r->dense++;
    }
    row->sparse = r->sparse;
    row->dense = r->dense;
}

rung_status rung_packed_next(rung_packed_reader *r, rung_archive_row *row_out, rung_err *err) {
    if (r->done == r->row_count)
        return r->at == r->end
                   ? RUNG_NOT_FOUND
                   : RUNG_FAIL(err, RUNG_ECORRUPT, "packed window: bytes after its end");
    rung_byte_reader b = {r->at, r->end, NULL, 0};
    rung_archive_row row = {.values = r->format, .has_at = r->has_at};
    read_ranks(r, &b, &row);
    row.number = (uint32_t)rung_get_number(&b);
    row.player = rung_get_text(&b);
    for (uint32_t i = 0; i < row.values.count; i++) {
        bool is_real = row.values.types[i] == RUNG_SCORE_REAL;
        if (is_real)
            row.values.values[i].d = rung_get_real(&b);
        else
            row.values.values[i].i = rung_get_signed(&b);
        if (is_real && isnan(row.values.values[i].d))
            rung_byte_reader_fail(&b, "not a number");
    }
    if (row.has_at)
        row.at_ms = (int64_t)((uint64_t)rung_get_signed(&b) + (uint64_t)r->window.end_ms);
    for (uint32_t i = 0; i < r->slot_count; i++)
        r->scope_values[i] = rung_get_text(&b);
    if (b.fault || row.player.len == 0)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "packed window: row %u is damaged", r->done);
    r->at = b.at;
    r->done++;
    *row_out = row;
    return RUNG_OK;
}
