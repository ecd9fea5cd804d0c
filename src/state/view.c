/* SPDX-License-Identifier: Apache-2.0 */
/* All queries. A view is one ladder with what is needed to read it. All ranks come from that ladder, so results
 * cannot disagree. */
#include "base/assert.h"
#include "ladder/pipeline.h"
#include "state/attribute.h"
#include "state/decay.h"
#include "state/people.h"
#include "state/ranking.h"
#include "state/sketch.h"
#include "state/sketch_view.h"
#include "state/team.h"

#include <math.h>
#include <string.h>

enum { PREFETCH_TOGETHER = 32 }; /* enough to hide a cache miss, few enough to stay in L1 */

static const rung__board *board_of(const rung_view *v) {
    return v->board;
}

/* ---- choosing a ranking ---- */

/* The kind that a query names, or the board's first; RUNG__KINDS: no such kind. */
static uint32_t query_kind(const rung__board *b, const rung_query *q, rung_slice *season_out) {
    uint32_t kind = rung_board_window_kind(b->def, q->window, season_out);
    if (kind != RUNG_WINDOW_SEASON)
        return b->def->windows >> kind & 1 ? kind : RUNG__KINDS;
    const rung_season *season = rung_board_season(b->def, *season_out);
    if (!season)
        return RUNG__KINDS;
    *season_out = season->name;
    return kind;
}

static rung_status choose_span(const rung__board *b, const rung_query *q, uint32_t kind,
                               rung_slice season, int64_t now_ms, rung_window *span,
                               rung_err *err) {
    *span = (rung_window){0, INT64_MIN, INT64_MAX};
    if (kind == 0 || kind == RUNG_WINDOW_SEASON) {
        rung_slice name = kind == 0 ? rung_slice_str(rung_window_words[0]) : season;
        if (q->window_id.len && !rung_slice_eq(q->window_id, name))
            return RUNG_FAIL_FIELD_WHY(err, RUNG_NOT_FOUND, RUNG_REASON_NOT_IN_MEMORY, "window_id",
                                       "there is no such window");
        if (q->on.len && rung_window_on(RUNG_WINDOW_DAY, q->on, &span->ordinal, NULL) < 0)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "on", "expected a date, such as 2026-11-15");
        span->ordinal = 0; /* there is one such window, whatever the date */
        if (kind)
            *span = rung__season_span(rung_board_season(b->def, season));
        return RUNG_OK;
    }
    rung_status st;
    rung_err why;
    if (!q->window_id.len && !q->on.len)
        return rung__window_at(b, kind, now_ms, span);
    st = rung_window_find((rung_window_kind)kind, q->window_id, q->on, &span->ordinal, &why);
    if (st < 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "%s", q->window_id.len ? "window_id" : "on",
                               why.message);
    st = rung__window_span(b, kind, span->ordinal, span);
    if (st != RUNG_OK)
        return RUNG_FAIL_FIELD_WHY(err, RUNG_NOT_FOUND, RUNG_REASON_NOT_IN_MEMORY, "window_id",
                                   "there is no such window");
    return RUNG_OK;
}

/* "country:FI" -> the ladder of that value; NULL in an empty ranking. */
static rung_status choose_scope(const rung_state *s, const rung__board *b, const rung__window *w,
                                rung_slice scope, const rung_ladder **out,
                                const rung__sketch **sketch_out, rung_err *err) {
    const char *colon = memchr(scope.ptr, ':', scope.len);
    if (!colon)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "scope", "must be attribute:value");
    rung_slice name = rung_slice_of(scope.ptr, (size_t)(colon - scope.ptr));
    rung_slice value = rung_slice_of(colon + 1, scope.len - name.len - 1);
    uint32_t slot = 0, number;
    *out = NULL;
    *sketch_out = NULL;
    while (slot < b->def->scope_count && !rung_slice_eq(b->def->scopes[slot], name))
        slot++;
    if (slot == b->def->scope_count)
        return RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "scope",
                               "the board has no ranking by this attribute");
    if (!w || value.len < 1 || value.len > RUNG_NAME_MAX ||
        rung_names_find(s->attributes[b->attribute[slot]].values, value, &number) != RUNG_OK)
        return RUNG_OK;
    if (number < w->scopes[slot].cap)
        *out = w->scopes[slot].ladders[number];
    if (number < w->scopes[slot].sketch_cap)
        *sketch_out = w->scopes[slot].sketches[number];
    return RUNG_OK;
}

rung_view rung__window_view(const rung_state *s, const rung__board *b, const rung__window *w) {
    return (rung_view){.total = rung_ladder_count(w->ladder),
                       .distinct = rung_ladder_distinct(w->ladder),
                       .rank = b->def->rank,
                       .closed = w->closed,
                       .kind = w->kind,
                       .ordinal = w->ordinal,
                       .start_ms = w->start_ms,
                       .end_ms = w->end_ms,
                       .season = w->season,
                       .state = s,
                       .board = b,
                       .window = w,
                       .ladder = w->ladder,
                       .sketch_kind = b->def->sketch,
                       .sketch = w->sketch,
                       .now_ms = s->time_ms};
}

rung_status rung_state_view(const rung_state *s, const rung_query *q, rung_view *out,
                            rung_err *err) {
    const rung__board *b = rung__board_find(s, q->board);
    rung_slice season = {NULL, 0};
    rung_window span;
    memset(out, 0, sizeof *out);
    if (!b)
        return RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "board", "no such board");
    int64_t now_ms = q->now_ms ? q->now_ms : s->time_ms;
    if (now_ms < RUNG_TIME_MS_MIN || now_ms >= RUNG_TIME_MS_END)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "now", "outside the years %d to %d", RUNG_YEAR_MIN,
                               RUNG_YEAR_MAX);
    if (b->expiry.place && b->expiry.at_ms <= now_ms)
        return RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "board", "the board has expired");
    uint32_t kind = query_kind(b, q, &season);
    if (kind == RUNG__KINDS)
        return RUNG_FAIL_FIELD_WHY(err, RUNG_NOT_FOUND, RUNG_REASON_NOT_IN_MEMORY, "window",
                                   "the board has no such windows");
    rung_status st = choose_span(b, q, kind, season, now_ms, &span, err);
    if (st != RUNG_OK)
        return st;
    const rung__window *w = rung__window_find(b, kind, span.ordinal, season);
    if (w && w->dropped)
        return RUNG_FAIL_FIELD_WHY(err, RUNG_NOT_FOUND, RUNG_REASON_NOT_IN_MEMORY, "window",
                                   "closed and no longer in memory");
    if (!w && !rung__window_takes_scores(s, b, span.end_ms, NULL))
        return RUNG_FAIL_FIELD_WHY(err, RUNG_NOT_FOUND, RUNG_REASON_NOT_IN_MEMORY, "window",
                                   "ended and no longer in memory");
    *out = (rung_view){.rank = q->has_rank ? q->rank : b->def->rank,
                       .closed = w && w->closed,
                       .kind = kind,
                       .ordinal = span.ordinal,
                       .start_ms = w ? w->start_ms : span.start_ms,
                       .end_ms = w ? w->end_ms : span.end_ms,
                       .season = season,
                       .state = s,
                       .board = b,
                       .window = w,
                       .teams = q->teams,
                       .sketch_kind = b->def->sketch,
                       .now_ms = now_ms};
    const rung_ladder *ladder = w ? w->ladder : NULL;
    const rung__sketch *sketch = w ? w->sketch : NULL;
    if (b->def->sketch) { /* equal bounds cannot be told apart */
        if (q->has_rank && q->rank != RUNG_RANK_SPARSE)
            return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "rank", "a sketch board ranks sparse");
        out->rank = RUNG_RANK_SPARSE;
    }
    if (q->teams) {
        if (!b->def->has_teams)
            return RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "teams", "the board has no team ranking");
        if (q->scope.len)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "scope", "not with teams");
        ladder = w ? w->team_ladder : NULL;
    } else if (q->scope.len) {
        st = choose_scope(s, b, w, q->scope, &ladder, &sketch, err);
        if (st != RUNG_OK)
            return st;
    }
    out->ladder = ladder;
    out->sketch = sketch;
    out->total = ladder ? rung_ladder_count(ladder) : 0;
    out->distinct = ladder ? rung_ladder_distinct(ladder) : 0;
    return RUNG_OK;
}

/* ---- rows ---- */

static const rung_names *names_of(const rung_view *v) {
    const rung__board *b = board_of(v);
    return v->teams ? v->state->attributes[b->attribute[b->team_slot]].values : v->state->players;
}

static void read_values(const rung_view *v, const uint64_t *key, rung_row *row) {
    const rung__board *b = board_of(v);
    row->has_at = false;
    row->at_ms = 0;
    if (!v->teams) {
        row->value_count = b->def->key.column_count;
        rung__key_values(b, key, v->now_ms, row->values, &row->at_ms);
        row->has_at = rung_tie_keeps_time(b->def->key.tie);
        return;
    }
    rung_column column = rung_team_column(b->def);
    row->value_count = 1;
    if (b->def->update == RUNG_UPDATE_DECAY)
        row->values[0].d =
            rung__decay_value(~key[0], v->now_ms, b->created_ms, b->def->half_life_ms);
    else
        row->values[0] = rung_score_decode(&column, key[0]);
}

/* Everything about an entry but its ranks and its name. */
static void read_row(const rung_view *v, const rung_ladder_entry *e, uint32_t index,
                     rung_row *row) {
    memset(row->values, 0, sizeof row->values);
    row->index = index;
    row->number = e->player;
    read_values(v, e->key, row);
    row->has_bounds = false;
    row->members = v->teams ? ((const rung__window *)v->window)->teams[e->player].members : 0;
    row->list_rank = 0;
}

static void set_ranks(const rung_view *v, rung_row *row, uint32_t sparse, uint32_t dense) {
    row->rank = rung_rank_in(v->rank, row->index + 1, sparse, dense);
    row->percentile = 100.0 * (double)(v->total - sparse + 1) / (double)v->total;
}

/* Look up the names of rows in bulk: each is likely a cache miss. */
static void name_rows(const rung_view *v, uint32_t count, rung_row *rows) {
    enum { TOGETHER = 64 };
    uint32_t numbers[TOGETHER];
    rung_slice ids[TOGETHER];
    for (uint32_t done = 0, n; done < count; done += n) {
        n = count - done < TOGETHER ? count - done : TOGETHER;
        for (uint32_t i = 0; i < n; i++)
            numbers[i] = rows[done + i].number;
        rung_names_id_used(names_of(v), numbers, n, ids);
        for (uint32_t i = 0; i < n; i++)
            rows[done + i].id = ids[i];
    }
}

/* Read `count` existing rows from a cursor; the first has index `offset`. Looks up the ranks of the first row and
 * counts on for the others. */
static void read_rows_at(const rung_view *v, rung_ladder_cursor c, uint32_t offset, uint32_t count,
                         rung_row *rows) {
    rung_ladder_entry e, before = {0};
    uint32_t sparse = rung_ladder_cursor_sparse(&c, offset),
             dense = v->rank == RUNG_RANK_DENSE ? rung_ladder_cursor_rank(&c, RUNG_RANK_DENSE) : 0,
             words = v->teams ? 1 : rung_keyspec_score_words(&board_of(v)->def->key);
    for (uint32_t i = 0; i < count && rung_ladder_next(&c, &e); i++) {
        if (i > 0 && memcmp(e.key, before.key, words * sizeof e.key[0]) != 0) {
            sparse = offset + i + 1;
            dense++;
        }
        read_row(v, &e, offset + i, &rows[i]);
        set_ranks(v, &rows[i], sparse, dense);
        before = e;
    }
    name_rows(v, count, rows);
}

static void read_rows(const rung_view *v, uint32_t offset, uint32_t count, rung_row *rows) {
    read_rows_at(v, rung_ladder_seek(v->ladder, offset), offset, count, rows);
}

/* One row by the entry alone. */
static void read_one(const rung_view *v, const rung_ladder_entry *e, rung_row *row) {
    uint32_t unique = 0, sparse = 0, dense = 0;
    rung_ignore(rung_ladder_rank(v->ladder, e->player, RUNG_RANK_UNIQUE, &unique), "it is there");
    rung_ignore(rung_ladder_rank(v->ladder, e->player, RUNG_RANK_SPARSE, &sparse), "it is there");
    if (v->rank == RUNG_RANK_DENSE)
        rung_ignore(rung_ladder_rank(v->ladder, e->player, RUNG_RANK_DENSE, &dense), "it is there");
    read_row(v, e, unique - 1, row);
    row->id = rung_names_id(names_of(v), e->player);
    set_ranks(v, row, sparse, dense);
}

static bool find_entry(const rung_view *v, rung_slice id, rung_ladder_entry *e) {
    uint32_t number;
    return v->ladder && rung_names_find(names_of(v), id, &number) == RUNG_OK &&
           rung_ladder_find(v->ladder, number, e) == RUNG_OK;
}

uint32_t rung_view_top(const rung_view *v, uint32_t offset, uint32_t limit, rung_row *rows) {
    if (v->sketch_kind)
        return rung__sketch_top(v, offset, limit, rows);
    if (offset >= v->total)
        return 0;
    uint32_t count = v->total - offset < limit ? v->total - offset : limit;
    read_rows(v, offset, count, rows);
    return count;
}

rung_status rung_view_around(const rung_view *v, rung_slice id, uint32_t around, rung_row *rows,
                             uint32_t *count_out, uint32_t *self_out) {
    rung_ladder_cursor c;
    uint32_t number, index;
    if (v->sketch_kind) { /* many names may share its bounds: it has no neighbours */
        *count_out = 1;
        *self_out = 0;
        return rung__sketch_row(v, id, rows);
    }
    if (!v->ladder || rung_names_find(names_of(v), id, &number) != RUNG_OK ||
        rung_ladder_seek_player(v->ladder, number, &c, &index) != RUNG_OK)
        return RUNG_NOT_FOUND;
    uint64_t want = 2 * (uint64_t)around + 1;
    uint32_t count = want < v->total ? (uint32_t)want : v->total;
    uint32_t first = index > around ? index - around : 0;
    if (first + count > v->total)
        first = v->total - count;
    rung_ladder_back(&c, index - first);
    read_rows_at(v, c, first, count, rows);
    *count_out = count;
    *self_out = index - first;
    return RUNG_OK;
}

/* One step for all, then the next step: each reads what the previous one prefetched. */
static void prefetch_some(uint32_t n, const rung_view *const *views, const rung_slice *ids) {
    uint64_t hashes[PREFETCH_TOGETHER];
    uint32_t numbers[PREFETCH_TOGETHER];
    for (uint32_t i = 0; i < n; i++) {
        hashes[i] = rung_names_hash(names_of(views[i]), ids[i]);
        rung_names_prefetch(names_of(views[i]), hashes[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        rung_names_prefetch_number(names_of(views[i]), hashes[i]);
    for (uint32_t i = 0; i < n; i++)
        rung_names_prefetch_cell(names_of(views[i]), hashes[i]);
    for (uint32_t i = 0; i < n; i++) {
        if (!views[i]->ladder ||
            rung_names_find_hashed(names_of(views[i]), hashes[i], ids[i], &numbers[i]) != RUNG_OK)
            numbers[i] = RUNG_PLAYER_NONE;
        else
            rung_ladder_prefetch_player(views[i]->ladder, numbers[i], 0);
    }
    for (int part = 1; part < 3; part++)
        for (uint32_t i = 0; i < n; i++)
            if (numbers[i] != RUNG_PLAYER_NONE)
                rung_ladder_prefetch_player(views[i]->ladder, numbers[i], part);
}

void rung_view_prefetch(uint32_t n, const rung_view *const *views, const rung_slice *ids) {
    for (uint32_t done = 0; done < n; done += PREFETCH_TOGETHER)
        prefetch_some(n - done < PREFETCH_TOGETHER ? n - done : PREFETCH_TOGETHER, views + done,
                      ids + done);
}

void rung_view_rows(const rung_view *v, uint32_t n, const rung_slice *ids, rung_row *rows,
                    bool *found) {
    for (uint32_t i = 0; i < n; i++) {
        rung_ladder_entry e;
        if (v->sketch_kind) {
            found[i] = rung__sketch_row(v, ids[i], &rows[i]) == RUNG_OK;
            continue;
        }
        found[i] = find_entry(v, ids[i], &e);
        if (found[i])
            read_one(v, &e, &rows[i]);
    }
}

/* ---- scores that need not exist ---- */

/* The key of a score in this view. */
static rung_status score_key(const rung_view *v, uint32_t value_count, const rung_value *values,
                             uint64_t *key, rung_err *err) {
    const rung__board *b = board_of(v);
    rung_value all[RUNG_COLUMNS_MAX] = {{0}};
    uint32_t columns = v->teams ? 1 : b->def->key.column_count;
    if (value_count < 1 || value_count > columns)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "score", "the board has %u columns, got %u",
                               columns, value_count);
    memcpy(all, values, value_count * sizeof *values);
    memset(key, 0, RUNG_LADDER_WORDS_MAX * sizeof *key);
    if (b->def->update == RUNG_UPDATE_DECAY) {
        uint64_t weight = 0;
        rung_value none = {.d = 0};
        if (isnan(all[0].d) || isinf(all[0].d))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "score", "not a finite number");
        if (all[0].d > 0 && rung__decay_weight(all[0].d, v->now_ms, b->created_ms,
                                               b->def->half_life_ms, &weight) < 0)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "score", "out of range");
        rung_status st =
            v->teams ? RUNG_OK : rung_keyspec_encode(&b->def->key, &none, v->now_ms, key);
        key[0] = ~weight;
        return st;
    }
    rung_status st;
    if (v->teams) {
        rung_column column = rung_team_column(b->def);
        st = rung_score_encode(&column, all[0], &key[0]);
    } else {
        st = rung_keyspec_encode(&b->def->key, all, v->now_ms, key);
    }
    return st < 0 ? RUNG_FAIL_FIELD(err, RUNG_EINVAL, "score", "not a number") : RUNG_OK;
}

rung_status rung_view_at_score(const rung_view *v, uint32_t value_count, const rung_value *values,
                               uint32_t around, uint32_t *rank_out, rung_row *rows,
                               uint32_t *count_out, uint32_t *above_out, rung_err *err) {
    uint64_t key[RUNG_LADDER_WORDS_MAX];
    rung_status st = score_key(v, value_count, values, key, err);
    if (st < 0)
        return st;
    *rank_out = 1;
    *count_out = *above_out = 0;
    if (v->total == 0)
        return RUNG_OK;
    *rank_out = rung_ladder_rank_of_key(v->ladder, key, v->rank);
    uint32_t index = rung_ladder_rank_of_key(v->ladder, key, RUNG_RANK_UNIQUE) - 1;
    uint32_t above = index < around ? index : around,
             below = v->total - index < around ? v->total - index : around;
    read_rows(v, index - above, above + below, rows);
    *count_out = above + below;
    *above_out = above;
    return RUNG_OK;
}

rung_status rung_view_target_rank(const rung_view *v, uint32_t rank, rung_row *row) {
    rung_ladder_entry e;
    if (!v->ladder || rung_ladder_select(v->ladder, rank, v->rank, &e) != RUNG_OK)
        return RUNG_NOT_FOUND;
    read_one(v, &e, row);
    return RUNG_OK;
}

rung_status rung_view_target_percent(const rung_view *v, double percent, rung_row *row) {
    rung_ladder_entry e;
    if (!v->ladder || v->total == 0 || !(percent > 0) || percent > 100)
        return RUNG_NOT_FOUND;
    double nth = ceil((double)v->total * percent / 100.0);
    uint32_t index = nth < 1 ? 0 : nth > (double)v->total ? v->total - 1 : (uint32_t)nth - 1;
    rung_ignore(rung_ladder_at(v->ladder, index, &e), "within the total");
    read_one(v, &e, row);
    return RUNG_OK;
}

static rung_value first_value_at(const rung_view *v, uint32_t index) {
    rung_ladder_entry e;
    rung_row row;
    rung_ignore(rung_ladder_at(v->ladder, index, &e), "within the total");
    read_values(v, e.key, &row);
    return row.values[0];
}

/* Decayed scores are compared as displayed: those outside the range of a double are 0 or infinite, which no key
 * shows. They never rise from row to row; returns how many are above `edge`, or with a flag, equal to it. */
static uint32_t count_decayed(const rung_view *v, double edge, bool or_equal) {
    uint32_t low = 0, high = v->total;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        double shown = first_value_at(v, mid).d;
        if (shown > edge || (or_equal && shown >= edge))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool is_decayed(const rung_view *v) {
    return board_of(v)->def->update == RUNG_UPDATE_DECAY;
}

static bool is_descending(const rung_view *v) {
    return board_of(v)->def->key.columns[0].order == RUNG_ORDER_DESC;
}

/* Entries whose first column is better than `value`, or with `or_equal` as good. RUNG_EINVAL: not a number. */
static rung_status count_better(const rung_view *v, rung_value value, bool or_equal,
                                uint32_t *count_out) {
    uint64_t key[RUNG_LADDER_WORDS_MAX];
    if (is_decayed(v)) {
        *count_out = count_decayed(v, value.d, or_equal);
        return isnan(value.d) ? RUNG_EINVAL : RUNG_OK;
    }
    if (score_key(v, 1, &value, key, NULL) < 0)
        return RUNG_EINVAL;
    memset(key + 1, or_equal ? 0xff : 0, sizeof key - sizeof key[0]);
    *count_out = v->total ? rung_ladder_count_before(v->ladder, key, or_equal) : 0;
    return RUNG_OK;
}

rung_status rung_view_count_range(const rung_view *v, rung_value low, rung_value high,
                                  uint32_t *count_out) {
    uint32_t within, before;
    if (count_better(v, is_descending(v) ? low : high, true, &within) < 0 ||
        count_better(v, is_descending(v) ? high : low, false, &before) < 0)
        return RUNG_EINVAL;
    *count_out = within > before ? within - before : 0;
    return RUNG_OK;
}

/* ---- distributions ---- */

static bool view_is_real(const rung_view *v) {
    const rung__board *b = board_of(v);
    return (v->teams ? rung_team_column(b->def) : b->def->key.columns[0]).type == RUNG_SCORE_REAL;
}

/* Entries with a first column below `edge`. */
static uint32_t count_below(const rung_view *v, rung_value edge) {
    uint32_t count = 0;
    rung_status st = count_better(v, edge, is_descending(v), &count);
    RUNG_ASSERT(st == RUNG_OK); /* edges lie between scores that are there */
    return is_descending(v) ? v->total - count : count;
}

static double share_of_range(double low, double high, double share) {
    double at = isinf(high - low) ? low * (1 - share) + high * share : low + (high - low) * share;
    return at > high ? high : at;
}

uint32_t rung_view_distribution_by_width(const rung_view *v, uint32_t n, rung_bucket *buckets) {
    if (v->total == 0 || n == 0)
        return 0;
    rung_value a = first_value_at(v, 0), z = first_value_at(v, v->total - 1);
    bool desc = is_descending(v), real = view_is_real(v);
    rung_value low = desc ? z : a, high = desc ? a : z;
    rung__wide span = real ? 0 : (rung__wide)high.i - low.i + 1;
    if (!real && span < n)
        n = (uint32_t)span;
    if (real && (!(high.d > low.d) || isinf(low.d) || isinf(high.d)))
        n = 1;
    uint32_t below = 0;
    rung_value edge = low;
    for (uint32_t i = 0; i < n; i++) {
        bool is_last = i + 1 == n;
        rung_value next = high;
        if (!is_last && real)
            next.d = share_of_range(low.d, high.d, (double)(i + 1) / (double)n);
        else if (!is_last)
            next.i = (int64_t)(low.i + span * (i + 1) / n);
        uint32_t upto = is_last ? v->total : count_below(v, next);
        upto = upto < below ? below : upto;
        buckets[i] = (rung_bucket){edge, next, upto - below};
        below = upto;
        edge = next;
    }
    return n;
}

uint32_t rung_view_distribution_by_count(const rung_view *v, uint32_t n, rung_bucket *buckets) {
    n = n < v->total ? n : v->total;
    bool desc = v->total && is_descending(v);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t start = (uint32_t)((uint64_t)v->total * i / n),
                 end = (uint32_t)((uint64_t)v->total * (i + 1) / n);
        rung_value a = first_value_at(v, start), z = first_value_at(v, end - 1);
        buckets[i] = (rung_bucket){desc ? z : a, desc ? a : z, end - start};
    }
    return n;
}

rung_status rung_view_quantile(const rung_view *v, uint32_t num, uint32_t den, rung_row *row) {
    rung_ladder_entry e;
    if (!v->ladder || den == 0 || num > den ||
        rung_ladder_quantile(v->ladder, num, den, &e) != RUNG_OK)
        return RUNG_NOT_FOUND;
    read_one(v, &e, row);
    return RUNG_OK;
}

/* ---- friends and lists ---- */

/* Read rows [offset, offset + limit) of the list, a heap of n, which this destroys. */
static void read_listed(const rung_view *v, rung_ladder_entry *list, uint32_t n, uint32_t offset,
                        uint32_t limit, rung_row *rows, uint32_t *count_out) {
    uint32_t sparse = 0, dense = 0,
             words = v->teams ? 1 : rung_keyspec_score_words(&board_of(v)->def->key);
    rung_ladder_entry before = {0};
    for (uint32_t i = 0; n > 0 && i < (uint64_t)offset + limit; i++) {
        rung_ladder_entry e = rung__entries_pop(v->ladder, list, &n);
        if (i == 0 || memcmp(e.key, before.key, words * sizeof e.key[0]) != 0) {
            sparse = i + 1;
            dense++;
        }
        before = e;
        if (i < offset)
            continue;
        rung_row *row = &rows[(*count_out)++];
        read_one(v, &e, row);
        row->list_rank = rung_rank_in(v->rank, i + 1, sparse, dense);
    }
}

/* Rank `players` (each once; RUNG_PLAYER_NONE and unranked ones are left out) among themselves and read a page of the
 * result. Only the page gets ranks in the view: a list of ten thousand costs ten thousand look-ups, and a heap
 * instead of a sort. */
static rung_status rank_list(const rung_view *v, const rung_alloc *alloc, uint32_t n,
                             const uint32_t *players, uint32_t offset, uint32_t limit,
                             rung_row *rows, uint32_t *count_out, uint32_t *total_out) {
    *count_out = *total_out = 0;
    if (!v->ladder || n == 0)
        return RUNG_OK;
    size_t bytes = n * (sizeof(rung_ladder_entry) + sizeof(bool));
    rung_ladder_entry *list = rung_alloc_get(alloc, bytes);
    if (!list)
        return RUNG_ENOMEM;
    bool *found = (bool *)(list + n);
    uint32_t total = 0;
    rung_ladder_find_batch(v->ladder, n, players, list, found);
    for (uint32_t i = 0; i < n; i++)
        if (found[i])
            list[total++] = list[i];
    *total_out = total;
    rung__entries_heap(v->ladder, list, total);
    read_listed(v, list, total, offset, limit, rows, count_out);
    rung_alloc_free(alloc, list, bytes);
    return RUNG_OK;
}

rung_status rung_view_friends(const rung_view *v, const rung_alloc *alloc, rung_slice player,
                              uint32_t offset, uint32_t limit, rung_row *rows, uint32_t *count_out,
                              uint32_t *total_out) {
    uint32_t number;
    if (v->teams || rung_names_find(v->state->players, player, &number) != RUNG_OK)
        return RUNG_NOT_FOUND;
    const rung__friends *f = rung__sparse_get(&v->state->friends, number);
    uint32_t n = f ? f->following_count : 0;
    uint32_t *players = rung_alloc_get(alloc, (n + 1) * sizeof *players);
    if (!players)
        return RUNG_ENOMEM;
    players[n] = number;
    if (n)
        memcpy(players, f->following, n * sizeof *players);
    rung_status st = rank_list(v, alloc, n + 1, players, offset, limit, rows, count_out, total_out);
    rung_alloc_free(alloc, players, (n + 1) * sizeof *players);
    return st;
}

rung_status rung_view_list(const rung_view *v, const rung_alloc *alloc, uint32_t n,
                           const rung_slice *ids, uint32_t offset, uint32_t limit, rung_row *rows,
                           uint32_t *count_out, uint32_t *total_out) {
    *count_out = *total_out = 0;
    if (n == 0)
        return RUNG_OK;
    uint32_t *players = rung_alloc_get(alloc, n * sizeof *players);
    if (!players)
        return RUNG_ENOMEM;
    rung_names_find_batch(names_of(v), ids, n, players);
    uint32_t kept = rung__sort_unique(players, n);
    rung_status st = rank_list(v, alloc, kept, players, offset, limit, rows, count_out, total_out);
    rung_alloc_free(alloc, players, n * sizeof *players);
    return st;
}

/* ---- looking around ---- */

uint32_t rung_state_board_span(const rung_state *s) {
    return rung_names_span(s->board_ids);
}

rung_status rung_state_board_at(const rung_state *s, uint32_t i, rung_slice *id_out,
                                const rung_board_def **def_out) {
    if (i >= s->board_cap || !s->boards[i] || s->boards[i]->twin)
        return RUNG_NOT_FOUND;
    *id_out = rung_names_id(s->board_ids, i);
    *def_out = s->boards[i]->def;
    return RUNG_OK;
}

rung_status rung_state_board(const rung_state *s, rung_slice id, const rung_board_def **def_out) {
    const rung__board *b = rung__board_find(s, id);
    if (!b)
        return RUNG_NOT_FOUND;
    *def_out = b->def;
    return RUNG_OK;
}

uint64_t rung_state_board_version(const rung_state *s, rung_slice board) {
    const rung__board *b = rung__board_find(s, board);
    if (!b)
        return 0;
    return b->version > s->people_version ? b->version : s->people_version;
}

static void window_info(const rung__window *w, rung_window_info *out) {
    *out = (rung_window_info){.kind = w->kind,
                              .ordinal = w->ordinal,
                              .start_ms = w->start_ms,
                              .end_ms = w->end_ms,
                              .season = w->season,
                              .closed = w->closed,
                              .total = w->sketch ? rung__sketch_size32(w->sketch)
                                                 : rung_ladder_count(w->ladder),
                              .digest = w->entries};
    if (w->kind == 0)
        memcpy(out->id, "all", 4);
    else if (w->kind == RUNG_WINDOW_SEASON)
        memcpy(out->id, w->season.ptr, w->season.len);
    else
        rung_window_id_format((rung_window_kind)w->kind, w->ordinal, out->id);
}

/* Does a rank before b in a listing? */
static bool window_first(const rung__window *a, const rung__window *b) {
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (a->start_ms != b->start_ms)
        return a->start_ms > b->start_ms;
    if (a->ordinal !=
        b->ordinal) /* a change of zone can leave a window that was opened ahead of time empty */
        return a->ordinal > b->ordinal;
    return rung_slice_cmp(a->season, b->season) < 0;
}

uint32_t rung_state_windows(const rung_state *s, rung_slice board, rung_window_info *out,
                            uint32_t room) {
    const rung__board *b = rung__board_find(s, board);
    const rung__window *last = NULL;
    uint32_t count = 0;
    for (;;) { /* find the next one in order until there is none: lists are short */
        const rung__window *next = NULL;
        for (uint32_t i = 0; b && i < b->window_count; i++) {
            const rung__window *w = b->windows[i];
            if (!w->dropped && (!last || window_first(last, w)) && (!next || window_first(w, next)))
                next = w;
        }
        if (!next)
            return count;
        if (count < room)
            window_info(next, &out[count]);
        count++;
        last = next;
    }
}

uint32_t rung_state_profile(const rung_state *s, uint32_t number, rung_attribute *attributes) {
    const rung__profile *p = rung__sparse_get(&s->profiles, number);
    uint32_t count = 0;
    for (uint32_t offset = 0; p && rung__profile_next(p, &offset, &attributes[count]);)
        count++;
    return count;
}

rung_status rung_state_player(const rung_state *s, rung_slice id, uint32_t *count_out,
                              rung_attribute *attributes, bool *banned_out) {
    uint32_t player;
    if (rung_names_find(s->players, id, &player) != RUNG_OK)
        return RUNG_NOT_FOUND;
    *count_out = rung_state_profile(s, player, attributes);
    *banned_out = rung__sparse_get(&s->bans, player) != NULL;
    return RUNG_OK;
}

uint32_t rung_state_friends(const rung_state *s, rung_slice id, rung_slice *ids, uint32_t room) {
    uint32_t player;
    if (rung_names_find(s->players, id, &player) != RUNG_OK)
        return 0;
    const rung__friends *f = rung__sparse_get(&s->friends, player);
    for (uint32_t i = 0; f && i < f->following_count && i < room; i++)
        ids[i] = rung_names_id(s->players, f->following[i]);
    return f ? f->following_count : 0;
}
