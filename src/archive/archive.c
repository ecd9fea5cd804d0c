/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all archives: memory for results, and the arithmetic of hidden standings.
 *
 * Standings are stored once, with their ranks at the time the window closed, and never renumbered: otherwise a ban
 * would rewrite every row below it. Results leave out a hidden row (banned, removed), and the rows below it move up
 * by the number of hidden rows above them:
 *
 *   unique = place  - hidden rows above
 *   sparse = sparse - hidden rows with a better score
 *   dense  = dense  - better scores of which every row is hidden
 *
 * A scope is a ranking with its own places, ranks and hidden rows, and the same rules.
 *
 * Invariants:
 *   A1 view->hidden ascends by place. If every row of a score is hidden, the last of them has number 1; all others
 *      have 0. So the number of scores that disappear among the first k hidden rows is a sum.
 *   A2 Places are 1 .. total without gaps, including hidden ones. So visible row i has the smallest place p with p -
 *      (hidden places <= p) == i + 1. */
#include "archive/archive.h"

#include "archive/teams.h"
#include "base/assert.h"

#include <math.h>
#include <string.h>

/* ---- memory for answers ---- */

typedef struct rung__archive_chunk {
    struct rung__archive_chunk *next;
    size_t used, size;
    _Alignas(16) char bytes[];
} rung__archive_chunk;

enum { CHUNK_BYTES = 16384 };

void *rung__archive_get(rung_archive *a, size_t size) {
    rung__archive_chunk *c = a->arena;
    size = (size + 15) & ~(size_t)15;
    if (!c || c->size - c->used < size) {
        size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
        c = rung_alloc_get(a->alloc, sizeof *c + room);
        if (!c)
            return NULL;
        *c = (rung__archive_chunk){.next = a->arena, .size = room};
        a->arena = c;
    }
    void *at = c->bytes + c->used;
    c->used += size;
    return at;
}

bool rung__archive_keep(rung_archive *a, const void *bytes, size_t len, rung_slice *out) {
    char *copy = rung__archive_get(a, len ? len : 1);
    if (!copy)
        return false;
    if (len)
        memcpy(copy, bytes, len);
    *out = rung_slice_of(copy, len);
    return true;
}

void rung__archive_forget(rung_archive *a) {
    while (a->arena) {
        rung__archive_chunk *next = a->arena->next;
        rung_alloc_free(a->alloc, a->arena, sizeof *a->arena + a->arena->size);
        a->arena = next;
    }
}

rung_archive_values rung_archive_values_of(const rung_board_def *def) {
    rung_archive_values v = {.count = def->key.column_count};
    for (uint32_t i = 0; i < v.count; i++) {
        v.types[i] = (uint8_t)def->key.columns[i].type;
        v.decimals[i] = (uint8_t)def->key.columns[i].decimals;
    }
    return v;
}

bool rung_archive_kind_read(rung_slice kind, rung_archive_score *s) {
    s->is_delta = rung_slice_eq(kind, RUNG_SLICE("delta"));
    s->is_removal = rung_slice_eq(kind, RUNG_SLICE("removal"));
    if (s->is_delta || s->is_removal || rung_slice_eq(kind, RUNG_SLICE("score")))
        return true;
    for (s->command = RUNG_ARCHIVE_KINDS_END - 1; s->command; s->command--)
        if (rung_slice_eq(kind, rung_slice_str(rung_archive_kind_of(s))))
            return true;
    return false;
}

static void limit(rung_archive *a, uint32_t ms) {
    if (a->ops->limit)
        a->ops->limit(a, ms);
}

/* ---- lists ---- */

static rung_status windows(rung_archive *a, rung_slice board, uint32_t kind, int64_t before_end_ms,
                           uint32_t limit, rung_archive_window *out, uint32_t *count_out,
                           rung_err *err) {
    rung__archive_forget(a);
    return a->ops->windows(a, board, kind, before_end_ms, limit, out, count_out, err);
}

rung_status rung__archive_fail_erased(rung_err *err) {
    return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "as_of",
                           "a player who was ranked in that window has been erased since");
}

static rung_status history(rung_archive *a, rung_slice board, rung_slice player, int64_t from_ms,
                           int64_t to_ms, uint32_t limit, rung_archive_point *out,
                           uint32_t *count_out, rung_err *err) {
    rung__archive_forget(a);
    return a->ops->history(a, board, player, from_ms, to_ms, limit, out, count_out, err);
}

static rung_status scores(rung_archive *a, const rung_archive_score_query *q, uint32_t limit,
                          rung_archive_score *out, uint32_t *count_out, rung_err *err) {
    if (q->board.len == 0 && q->player.len == 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "scores", "name a board or a player");
    rung__archive_forget(a);
    return a->ops->scores(a, q, limit, out, count_out, err);
}

static rung_status audit(rung_archive *a, const rung_archive_audit_query *q, uint32_t limit,
                         rung_archive_audit *out, uint32_t *count_out, rung_err *err) {
    rung__archive_forget(a);
    return a->ops->audit(a, q, limit, out, count_out, err);
}

/* ---- one closed window ---- */

static double decay_factor(const rung_board_def *def, int64_t end_ms, int64_t now_ms) {
    if (def->update != RUNG_UPDATE_DECAY || now_ms == 0)
        return 1;
    return exp2(-((double)now_ms - (double)end_ms) / (double)def->half_life_ms);
}

/* Read the hidden rows and determine which scores disappear with them (A1). */
static rung_status load_hidden(rung_archive_view *v, rung_err *err) {
    rung_archive *a = v->archive;
    rung_status st = a->ops->hidden(a, &v->ranking, &v->hidden, &v->hidden_count, err);
    if (st < 0)
        return st;
    for (uint32_t i = 0; i < v->hidden_count; i++) {
        rung_archive_row *h = &v->hidden[i], first;
        uint32_t count;
        h->number = 0;
        if (i + 1 < v->hidden_count && h[1].sparse == h->sparse)
            continue;
        st = a->ops->rows(a, &v->ranking, h->sparse, 1, &first, &count, err);
        if (st < 0)
            return st;
        h->number = count == 0 || first.sparse != h->sparse;
        v->distinct -= h->number;
    }
    v->total -= v->hidden_count;
    return RUNG_OK;
}

/* As a scope or for teams: it may have become a scope since. */
static bool ranks_by(const rung_board_def *def, rung_slice attribute) {
    if (def->has_teams && rung_slice_eq(def->team_by, attribute))
        return true;
    for (uint32_t i = 0; i < def->scope_count; i++)
        if (rung_slice_eq(def->scopes[i], attribute))
            return true;
    return false;
}

/* Turn the view into one of a single scope. An empty scope reads no rows. */
static rung_status choose_scope(rung_archive_view *v, const rung_board_def *def, rung_slice scope,
                                rung_err *err) {
    rung_archive_scope found = {0};
    const char *colon = memchr(scope.ptr, ':', scope.len);
    if (!colon)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "scope", "must be attribute:value");
    rung_slice attribute = rung_slice_of(scope.ptr, (size_t)(colon - scope.ptr));
    rung_slice value = rung_slice_of(colon + 1, scope.len - attribute.len - 1);
    if (!ranks_by(def, attribute))
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "scope",
                               "the board did not rank by this attribute when the window closed");
    if (value.len) {
        rung_status st =
            v->archive->ops->find_scope(v->archive, v->window.key, attribute, value, &found, err);
        if (st < 0)
            return st;
    }
    v->ranking.scope = found.key;
    v->total = found.total;
    v->distinct = found.distinct;
    return RUNG_OK;
}

static rung_status choose_ranking(rung_archive_view *v, const rung_board_def *def,
                                  const rung_archive_query *q, rung_err *err) {
    if (q->teams && q->scope.len)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "scope", "not with teams");
    if (!v->window.has_scopes)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "window",
                               "it was archived without its scopes and teams");
    if (!q->teams)
        return choose_scope(v, def, q->scope, err);
    if (!def->has_teams)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "teams",
                               "the board had no team ranking when the window closed");
    return rung__teams_open(v, def, err);
}

static rung_status open_window(rung_archive_view *v, const rung_archive_query *q, rung_err *err) {
    rung_archive *a = v->archive;
    rung_board_def def;
    rung_status st = a->ops->find_window(a, q->board, q->kind, q->window_id, &v->window, err);
    if (st != RUNG_OK)
        return st;
    st = rung_board_def_decode(v->window.definition, &def, err);
    if (st < 0)
        return st;
    v->rank = q->has_rank ? q->rank : v->window.rank;
    v->total = v->window.total;
    v->distinct = v->window.distinct;
    v->decay = decay_factor(&def, v->window.end_ms, q->now_ms);
    v->ranking.window = v->window.key;
    if (q->teams || q->scope.len)
        st = choose_ranking(v, &def, q, err);
    return st < 0 || v->teams || v->total == 0 ? st : load_hidden(v, err);
}

static rung_status open_view(rung_archive *a, const rung_archive_query *q,
                             rung_archive_view *view_out, rung_err *err) {
    rung_archive_view v = {.archive = a};
    rung__archive_forget(a);
    rung_status st = a->ops->read_begin(a, err);
    if (st < 0)
        return st;
    st = open_window(&v, q, err);
    if (st != RUNG_OK) {
        a->ops->read_end(a);
        return st;
    }
    *view_out = v;
    return RUNG_OK;
}

static void close_view(rung_archive_view *view) {
    view->archive->ops->read_end(view->archive);
    rung__archive_forget(view->archive);
    *view = (rung_archive_view){0};
}

/* What is hidden before a place: rows, rows with a better score than `sparse`, and scores of which every row is
 * hidden. */
typedef struct gone {
    uint32_t rows, better, scores;
} gone;

static gone gone_above(const rung_archive_view *v, uint32_t place, uint32_t sparse) {
    gone g = {0};
    for (; g.rows < v->hidden_count && v->hidden[g.rows].place < place; g.rows++) {
        g.better += v->hidden[g.rows].sparse < sparse;
        g.scores += v->hidden[g.rows].number;
    }
    return g;
}

static void show_row(const rung_archive_view *v, const rung_archive_row *from, rung_row *row) {
    gone g = gone_above(v, from->place, from->sparse);
    uint32_t sparse = from->sparse - g.better, dense = from->dense - g.scores;
    *row = (rung_row){.index = from->place - 1 - g.rows,
                      .number = from->number,
                      .id = from->player,
                      .value_count = from->values.count,
                      .has_at = from->has_at,
                      .at_ms = from->has_at ? from->at_ms : 0};
    memcpy(row->values, from->values.values, sizeof row->values);
    if (v->decay != 1)
        row->values[0].d *= v->decay;
    row->rank = rung_rank_in(v->rank, row->index + 1, sparse, dense);
    row->percentile = 100.0 * (double)(v->total - sparse + 1) / (double)v->total;
}

/* A2 */
static uint32_t place_of_index(const rung_archive_view *v, uint32_t index) {
    uint32_t place = index + 1;
    for (uint32_t i = 0; i < v->hidden_count && v->hidden[i].place <= place; i++)
        place++;
    return place;
}

/* The displayed row of a player or team. RUNG_NOT_FOUND. */
static rung_status find_row(rung_archive_view *view, rung_slice id, rung_row *out, rung_err *err) {
    rung_archive_row found;
    for (uint32_t i = 0; view->teams && i < view->total; i++)
        if (rung_slice_eq(view->teams[i].id, id)) {
            *out = view->teams[i];
            return RUNG_OK;
        }
    if (view->teams || view->total == 0)
        return RUNG_NOT_FOUND;
    rung_status st = view->archive->ops->row_of(view->archive, &view->ranking, id, &found, err);
    if (st == RUNG_OK)
        show_row(view, &found, out);
    return st;
}

static rung_status top(rung_archive_view *view, uint32_t offset, uint32_t limit, rung_row *rows,
                       uint32_t *count_out, rung_err *err) {
    enum { AT_ONCE = 64 };
    rung_archive *a = view->archive;
    rung_archive_row some[AT_ONCE];
    uint32_t want = offset >= view->total          ? 0
                    : view->total - offset < limit ? view->total - offset
                                                   : limit;
    if (view->teams && want)
        memcpy(rows, view->teams + offset, want * sizeof *rows);
    for (uint32_t done = view->teams ? want : 0; done < want;) {
        uint32_t count, ask = want - done < AT_ONCE ? want - done : AT_ONCE;
        rung_status st = a->ops->rows(a, &view->ranking, place_of_index(view, offset + done), ask,
                                      some, &count, err);
        if (st < 0)
            return st;
        if (count != ask)
            return RUNG_FAIL(err, RUNG_ECORRUPT,
                             "archive: standings of a closed window are missing");
        for (uint32_t i = 0; i < count; i++)
            show_row(view, &some[i], &rows[done + i]);
        done += count;
    }
    *count_out = want;
    return RUNG_OK;
}

static rung_status around_player(rung_archive_view *view, rung_slice id, uint32_t around,
                                 rung_row *rows, uint32_t *count_out, uint32_t *self_out,
                                 rung_err *err) {
    rung_row self;
    rung_status st = find_row(view, id, &self, err);
    if (st != RUNG_OK)
        return st;
    uint64_t want = 2 * (uint64_t)around + 1;
    uint32_t count = want < view->total ? (uint32_t)want : view->total;
    uint32_t first = self.index > around ? self.index - around : 0;
    if (first + count > view->total)
        first = view->total - count;
    *self_out = self.index - first;
    return top(view, first, count, rows, count_out, err);
}

static rung_status rows_of(rung_archive_view *view, uint32_t n, const rung_slice *ids,
                           rung_row *rows, bool *found, rung_err *err) {
    for (uint32_t i = 0; i < n; i++) {
        rung_status st = find_row(view, ids[i], &rows[i], err);
        if (st < 0)
            return st;
        found[i] = st == RUNG_OK;
    }
    return RUNG_OK;
}

const rung_archive_port rung_archive_reading = {.limit = limit,
                                                .cursor = rung_archive_cursor,
                                                .open = open_view,
                                                .close = close_view,
                                                .top = top,
                                                .around = around_player,
                                                .rows = rows_of,
                                                .windows = windows,
                                                .history = history,
                                                .scores = scores,
                                                .audit = audit};
