/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the brute-force model: filter, sort, look. See state_model.h. */
#include "support/state_model.h"

#include "support/check.h"
#include "support/state_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- which window ---- */

static const char *const kind_names[MODEL_KINDS] = {"all", "hour", "day", "week", "month", "year"};

/* The kind of that name, RUNG_WINDOW_SEASON for any other; an empty name is the board's first window. */
static uint32_t kind_of_name(const rung_board_def *def, rung_slice name, rung_slice *season_out) {
    static const uint32_t order[] = {0, 5, 4, 3, 2, 1};
    *season_out = (rung_slice){0};
    for (uint32_t kind = 0; name.len && kind < MODEL_KINDS; kind++)
        if (rung_slice_eq(name, rung_slice_str(kind_names[kind])))
            return kind;
    for (uint32_t i = 0; !name.len && i < MODEL_KINDS; i++)
        if (def->windows & RUNG_WINDOWS_BIT(order[i]))
            return order[i];
    *season_out = name.len || !def->season_count ? name : def->seasons[0].name;
    return RUNG_WINDOW_SEASON;
}

/* Which calendar window the query is about. */
static rung_status ordinal_of_query(const model_board *b, const rung_query *q, uint32_t kind,
                                    int64_t now, int64_t *ordinal_out) {
    if (q->window_id.len)
        return rung_window_id_parse((rung_window_kind)kind, q->window_id, ordinal_out, NULL) < 0
                   ? RUNG_EINVAL
                   : RUNG_OK;
    if (q->on.len)
        return rung_window_on((rung_window_kind)kind, q->on, ordinal_out, NULL) < 0 ? RUNG_EINVAL
                                                                                    : RUNG_OK;
    *ordinal_out = model_calendar_at(b, kind, now).ordinal;
    return RUNG_OK;
}

/* Fill kind, ordinal, span, season and closed; `*window_out` is NULL for a window without an entry yet. */
static rung_status choose_window(const state_model *m, const model_board *b, const rung_query *q,
                                 model_view *v, const model_window **window_out) {
    v->kind = kind_of_name(&b->def, q->window, &v->season);
    v->start_ms = INT64_MIN;
    v->end_ms = INT64_MAX;
    if (v->kind == RUNG_WINDOW_SEASON) {
        const rung_season *s = model_season(&b->def, v->season);
        if (!s)
            return RUNG_NOT_FOUND;
        v->season = s->name;
        v->start_ms = s->starts_ms;
        v->end_ms = s->ends_ms;
    } else if (!(b->def.windows & RUNG_WINDOWS_BIT(v->kind))) {
        return RUNG_NOT_FOUND;
    } else if (v->kind) {
        rung_status st = ordinal_of_query(b, q, v->kind, v->now_ms, &v->ordinal);
        if (st != RUNG_OK)
            return st;
    }
    const model_window *w = *window_out = model_window_find(b, v->kind, v->ordinal, v->season);
    if (w) {
        v->start_ms = w->start_ms;
        v->end_ms = w->end_ms;
        v->closed = w->closed;
        return RUNG_OK;
    }
    if (v->kind && v->kind != RUNG_WINDOW_SEASON) {
        rung_window span;
        if (!model_calendar_span(b, v->kind, v->ordinal, &span))
            return RUNG_NOT_FOUND;
        v->start_ms = span.start_ms;
        v->end_ms = span.end_ms;
    }
    return model_window_takes_scores(m, b, v->kind, v->ordinal, v->season, v->end_ms)
               ? RUNG_OK
               : RUNG_NOT_FOUND;
}

/* ---- who is in it ---- */

typedef struct selection {
    uint32_t count;
    const model_entry **entries; /* in order */
} selection;

static const state_model *sort_model;
static const model_board *sort_board;

static int by_place(const void *a, const void *b) {
    return model_compare_entries(sort_model, &sort_board->def, *(const model_entry *const *)a,
                                 *(const model_entry *const *)b);
}

/* Everybody ranked in the window; with scope >= 0 only those with that value. */
static selection select_entries(const state_model *m, const model_board *b, const model_window *w,
                                int scope, rung_slice value) {
    selection s = {0};
    uint32_t room = w ? w->count : 0;
    s.entries = malloc((room + 1) * sizeof *s.entries);
    CHECK(s.entries);
    for (uint32_t i = 0; i < room; i++) {
        const model_entry *e = &w->entries[i];
        if (m->players[e->player].is_banned)
            continue;
        if (scope >= 0 && !rung_slice_eq(model_value_of(m, w, e, b->def.scopes[scope]), value))
            continue;
        s.entries[s.count++] = e;
    }
    sort_model = m;
    sort_board = b;
    qsort(s.entries, s.count, sizeof *s.entries, by_place);
    return s;
}

/* ---- rows ---- */

static uint32_t styled(const model_row *r, rung_rank_style style) {
    return 1 + (style == RUNG_RANK_UNIQUE   ? r->row.index
                : style == RUNG_RANK_SPARSE ? r->better
                                            : r->group);
}

/* `is_tied[i]`: entry i has the score of the one before it. */
static void number_rows(model_view *v, const bool *is_tied) {
    v->distinct = 0;
    for (uint32_t i = 0; i < v->total; i++) {
        model_row *r = &v->rows[i];
        bool tied = i > 0 && is_tied[i];
        v->distinct += !tied;
        r->row.index = i;
        r->better = tied ? r[-1].better : i;
        r->group = v->distinct - 1;
        r->row.rank = styled(r, v->rank);
        r->row.percentile = 100.0 * (v->total - r->better) / v->total;
    }
}

static void rows_of_players(const state_model *m, const model_board *b, const selection *s,
                            model_view *v) {
    bool *is_tied = calloc(s->count + 1, sizeof *is_tied);
    v->total = s->count;
    v->rows = calloc(s->count + 1, sizeof *v->rows);
    CHECK(v->rows && is_tied);
    for (uint32_t i = 0; i < s->count; i++) {
        const model_entry *e = s->entries[i];
        rung_row *row = &v->rows[i].row;
        row->number = e->player;
        row->id = m->players[e->player].name;
        row->value_count = b->def.key.column_count;
        memcpy(row->values, e->values, row->value_count * sizeof *row->values);
        if (v->is_decay) {
            row->values[0].d = model_decay_show(b, e->decay, v->now_ms);
            v->rows[i].size = model_decay_log2(e->decay);
        }
        row->has_at = rung_tie_keeps_time(b->def.key.tie);
        row->at_ms = row->has_at ? e->at : 0;
        is_tied[i] = i > 0 && model_compare_scores(&b->def, s->entries[i - 1], e) == 0;
    }
    number_rows(v, is_tied);
    free(is_tied);
}

/* ---- teams ---- */

typedef struct team {
    rung_slice name;
    uint32_t members, counted;
    __int128 sum;     /* integers and decimals as they are, reals in units of 2^-20 */
    rung_value value; /* as shown, but for decay */
    model_decay decay;
} team;

static __int128 team_share(const rung_column *c, rung_value v) {
    if (c->type != RUNG_SCORE_REAL)
        return v.i;
    double d = v.d > 0x1p80 ? 0x1p80 : v.d < -0x1p80 ? -0x1p80 : v.d;
    return (__int128)roundl((long double)d * 0x1p20L);
}

/* Teams stand by what is shown. */
static int compare_team_scores(const rung_board_def *def, const team *a, const team *b) {
    rung_column c = def->key.columns[0];
    if (def->update == RUNG_UPDATE_DECAY)
        return model_decay_compare(b->decay, a->decay);
    if (def->team_combine == RUNG_COMBINE_MEAN)
        c = (rung_column){RUNG_SCORE_REAL, c.order, 0};
    return rung_score_compare(&c, a->value, b->value);
}

static int by_team_place(const void *a, const void *b) {
    int c = compare_team_scores(&sort_board->def, a, b);
    return c ? c : rung_slice_cmp(((const team *)a)->name, ((const team *)b)->name);
}

static void team_score(const rung_board_def *def, team *t) {
    const rung_column *c = &def->key.columns[0];
    double unit = c->type == RUNG_SCORE_REAL ? 0x1p20 : 1;
    for (unsigned i = 0; i < c->decimals; i++)
        unit *= 10;
    if (def->update == RUNG_UPDATE_DECAY) {
        int shift;
        if (def->team_combine != RUNG_COMBINE_MEAN)
            return;
        t->decay.mantissa = 2 * frexpl(t->decay.mantissa / t->members, &shift);
        t->decay.exponent += shift - 1;
    } else if (def->team_combine == RUNG_COMBINE_MEAN) {
        t->value.d = (double)t->sum / ((double)t->members * unit);
    } else if (c->type == RUNG_SCORE_REAL) {
        t->value.d = (double)t->sum / unit;
    } else {
        t->value.i = t->sum > INT64_MAX   ? INT64_MAX
                     : t->sum < INT64_MIN ? INT64_MIN
                                          : (int64_t)t->sum;
    }
}

static uint32_t collect_teams(const state_model *m, const model_board *b, const model_window *w,
                              const selection *s, team *teams) {
    const rung_board_def *def = &b->def;
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->count;
         i++) { /* best first, so the first k of a team are its best k */
        rung_slice name = model_value_of(m, w, s->entries[i], def->team_by);
        if (!name.len)
            continue;
        uint32_t k = 0;
        while (k < count && !rung_slice_eq(teams[k].name, name))
            k++;
        if (k == count)
            teams[count++] = (team){.name = name};
        teams[k].members++;
        if (def->team_combine == RUNG_COMBINE_TOP && teams[k].counted == def->team_top)
            continue;
        teams[k].counted++;
        if (def->update == RUNG_UPDATE_DECAY)
            teams[k].decay = model_decay_add(teams[k].decay, s->entries[i]->decay);
        else
            teams[k].sum += team_share(&def->key.columns[0], s->entries[i]->values[0]);
    }
    for (uint32_t k = 0; k < count; k++)
        team_score(def, &teams[k]);
    sort_board = b;
    qsort(teams, count, sizeof *teams, by_team_place);
    return count;
}

static void rows_of_teams(const state_model *m, const model_board *b, const model_window *w,
                          const selection *s, model_view *v) {
    team *teams = calloc(s->count + 1, sizeof *teams);
    bool *is_tied = calloc(s->count + 1, sizeof *is_tied);
    CHECK(teams && is_tied);
    v->total = collect_teams(m, b, w, s, teams);
    v->rows = calloc(v->total + 1, sizeof *v->rows);
    CHECK(v->rows);
    for (uint32_t i = 0; i < v->total; i++) {
        rung_row *row = &v->rows[i].row;
        row->id = teams[i].name;
        row->members = teams[i].members;
        row->value_count = 1;
        row->values[0] = teams[i].value;
        if (v->is_decay) {
            row->values[0].d = model_decay_show(b, teams[i].decay, v->now_ms);
            v->rows[i].size = model_decay_log2(teams[i].decay);
        }
        is_tied[i] = i > 0 && compare_team_scores(&b->def, &teams[i - 1], &teams[i]) == 0;
    }
    number_rows(v, is_tied);
    free(teams);
    free(is_tied);
}

/* ---- the view ---- */

/* "attribute:value" into the number of the scope and the value. */
static rung_status parse_scope(const rung_board_def *def, rung_slice text, int *scope_out,
                               rung_slice *value_out) {
    *scope_out = -1;
    if (!text.len)
        return RUNG_OK;
    const char *colon = memchr(text.ptr, ':', text.len);
    if (!colon)
        return RUNG_EINVAL;
    rung_slice name = rung_slice_of(text.ptr, (size_t)(colon - text.ptr));
    *value_out = rung_slice_of(colon + 1, text.len - name.len - 1);
    for (uint32_t i = 0; i < def->scope_count; i++)
        if (rung_slice_eq(def->scopes[i], name))
            *scope_out = (int)i;
    return *scope_out < 0 ? RUNG_NOT_FOUND : RUNG_OK;
}

rung_status state_model_view(const state_model *m, const rung_query *q, model_view *out) {
    const model_board *b = model_board_find(m, q->board);
    if (!b)
        return RUNG_NOT_FOUND;
    *out = (model_view){.def = &b->def, .model = m, .teams = q->teams};
    out->now_ms = q->now_ms ? q->now_ms : m->time_ms;
    out->rank = q->has_rank ? q->rank : b->def.rank;
    out->is_decay = b->def.update == RUNG_UPDATE_DECAY;
    out->is_mean = q->teams && b->def.team_combine == RUNG_COMBINE_MEAN;
    out->key = b->def.key;
    if (q->teams) {
        out->key.column_count = 1;
        out->key.tie = RUNG_TIE_PLAYER;
    }
    if (out->is_mean)
        out->key.columns[0] = (rung_column){RUNG_SCORE_REAL, out->key.columns[0].order, 0};
    const model_window *w = NULL;
    rung_status st = choose_window(m, b, q, out, &w);
    if (st != RUNG_OK)
        return st;
    if (q->teams && !b->def.has_teams)
        return RUNG_NOT_FOUND;
    int scope;
    rung_slice value = {0};
    st = parse_scope(&b->def, q->scope, &scope, &value);
    if (st != RUNG_OK)
        return st;
    selection s = select_entries(m, b, w, scope, value);
    if (q->teams)
        rows_of_teams(m, b, w, &s, out);
    else
        rows_of_players(m, b, &s, out);
    free(s.entries);
    return RUNG_OK;
}

void model_view_deinit(model_view *v) {
    free(v->rows);
}

static const model_row *find_row(const model_view *v, rung_slice id) {
    for (uint32_t i = 0; i < v->total; i++)
        if (rung_slice_eq(v->rows[i].row.id, id))
            return &v->rows[i];
    return NULL;
}

static bool same_within_tolerance(double a, double b) {
    return a == b || fabs(a - b) <= (double)MODEL_TOLERANCE * fabs(b) ||
           (fabs(a) < 1e-290 && fabs(b) < 1e-290) || (fabs(a) > 1e290 && fabs(b) > 1e290);
}

/* Among equal scores: is the order of these two neighbours the one of the tie rule? */
static bool tie_order_is_right(const model_view *v, const rung_row *a, const rung_row *b) {
    if (v->key.tie == RUNG_TIE_PLAYER)
        return rung_slice_cmp(a->id, b->id) < 0;
    if (v->key.tie == RUNG_TIE_PLAYER_LAST)
        return rung_slice_cmp(b->id, a->id) < 0;
    if (a->at_ms != b->at_ms)
        return (a->at_ms < b->at_ms) == (v->key.tie == RUNG_TIE_FIRST);
    return a->number < b->number;
}

const char *model_view_adopt(model_view *v, const rung_row *rows, uint32_t count) {
    if (count != v->total)
        return "another number of rows";
    model_row *ours = calloc(count + 1, sizeof *ours);
    bool *is_tied = calloc(count + 1, sizeof *is_tied);
    CHECK(ours && is_tied);
    const char *wrong = NULL;
    for (uint32_t i = 0; i < count && !wrong; i++) {
        const model_row *r = find_row(v, rows[i].id);
        if (!r) {
            wrong = "somebody else is ranked";
            break;
        }
        ours[i] = *r;
        ours[i].row.values[0] = rows[i].values[0];
        is_tied[i] = i > 0 && rows[i].rank == rows[i - 1].rank;
        if (!same_within_tolerance(rows[i].values[0].d, r->row.values[0].d))
            wrong = "a score is off";
        else if (i > 0 && ours[i - 1].size < r->size - 4 * MODEL_TOLERANCE)
            wrong = "a lower score stands above a higher one";
        else if (is_tied[i] && fabsl(ours[i - 1].size - r->size) > 4 * MODEL_TOLERANCE)
            wrong = "different scores are tied";
        else if (is_tied[i] && !tie_order_is_right(v, &ours[i - 1].row, &r->row))
            wrong = "a tie is in the wrong order";
    }
    if (!wrong) {
        memcpy(v->rows, ours, count * sizeof *ours);
        number_rows(v, is_tied);
    }
    free(ours);
    free(is_tied);
    return wrong;
}

/* ---- the questions ---- */

uint32_t model_top(const model_view *v, uint32_t offset, uint32_t limit, rung_row *rows) {
    uint32_t n = 0;
    for (uint32_t i = offset; i < v->total && n < limit; i++)
        rows[n++] = v->rows[i].row;
    return n;
}

rung_status model_around(const model_view *v, rung_slice id, uint32_t around, rung_row *rows,
                         uint32_t *count_out, uint32_t *self_out) {
    const model_row *r = find_row(v, id);
    if (!r)
        return RUNG_NOT_FOUND;
    int64_t wanted = 2 * (int64_t)around + 1, start = (int64_t)r->row.index - around;
    if (start > (int64_t)v->total - wanted)
        start = (int64_t)v->total - wanted;
    if (start < 0)
        start = 0;
    *count_out = model_top(v, (uint32_t)start, (uint32_t)wanted, rows);
    *self_out = r->row.index - (uint32_t)start;
    return RUNG_OK;
}

bool model_row_of(const model_view *v, rung_slice id, rung_row *row) {
    const model_row *r = find_row(v, id);
    if (r)
        *row = r->row;
    return r != NULL;
}

/* <0: the values are the better score. */
static int compare_values(const model_view *v, const rung_value *values, const rung_row *row) {
    for (uint32_t i = 0; i < v->key.column_count; i++) {
        int c = rung_score_compare(&v->key.columns[i], values[i], row->values[i]);
        if (c)
            return c;
    }
    return 0;
}

rung_status model_at_score(const model_view *v, uint32_t value_count, const rung_value *values,
                           uint32_t around, uint32_t *rank_out, rung_row *rows, uint32_t *count_out,
                           uint32_t *above_out) {
    rung_value given[RUNG_COLUMNS_MAX] = {{0}};
    const rung_keyspec *key = &v->key;
    if (value_count < 1 || value_count > key->column_count)
        return RUNG_EINVAL;
    for (uint32_t i = 0; i < value_count; i++) {
        given[i] = values[i];
        if (key->columns[i].type == RUNG_SCORE_REAL && isnan(values[i].d))
            return RUNG_EINVAL;
    }
    uint32_t index = 0, better = 0, groups = 0;
    for (uint32_t i = 0; i < v->total; i++) {
        const rung_row *row = &v->rows[i].row;
        int c = compare_values(v, given, row);
        bool stands_above = c > 0;
        if (c == 0) /* the newcomer comes now, and behind those of the very same time */
            stands_above = !rung_tie_keeps_time(key->tie) || row->at_ms == v->now_ms ||
                           (row->at_ms < v->now_ms) == (key->tie == RUNG_TIE_FIRST);
        index += stands_above;
        better += c > 0;
        groups += c > 0 && v->rows[i].better == i;
    }
    *rank_out = 1 + (v->rank == RUNG_RANK_UNIQUE   ? index
                     : v->rank == RUNG_RANK_SPARSE ? better
                                                   : groups);
    *above_out = index < around ? index : around;
    *count_out = model_top(v, index - *above_out, *above_out + around, rows);
    return RUNG_OK;
}

static rung_status row_at(const model_view *v, uint64_t index, rung_row *row) {
    if (index >= v->total)
        return RUNG_NOT_FOUND;
    *row = v->rows[index].row;
    return RUNG_OK;
}

rung_status model_target_rank(const model_view *v, uint32_t rank, rung_row *row) {
    if (rank == 0)
        return RUNG_NOT_FOUND;
    if (v->rank != RUNG_RANK_DENSE) /* sparse: rank r is held by entry r, or left empty by it */
        return row_at(v, (uint64_t)rank - 1, row);
    for (uint32_t i = 0; i < v->total; i++)
        if (v->rows[i].group + 1 == rank)
            return row_at(v, i, row);
    return RUNG_NOT_FOUND;
}

rung_status model_target_percent(const model_view *v, double percent, rung_row *row) {
    double place = ceil(v->total * percent / 100);
    return row_at(v, place < 1 ? 0 : (uint64_t)place - 1, row);
}

rung_status model_quantile(const model_view *v, uint32_t num, uint32_t den, rung_row *row) {
    uint64_t place = ((uint64_t)v->total * num + den - 1) / den;
    return row_at(v, place ? place - 1 : 0, row);
}

/* Is a <= b as numbers of the first column? */
static bool not_above(const rung_column *c, rung_value a, rung_value b) {
    return c->type == RUNG_SCORE_REAL ? a.d <= b.d : a.i <= b.i;
}

uint32_t model_count_range(const model_view *v, rung_value low, rung_value high) {
    const rung_column *c = &v->key.columns[0];
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->total; i++) {
        rung_value x = v->rows[i].row.values[0];
        n += not_above(c, low, x) && not_above(c, x, high);
    }
    return n;
}

uint32_t model_distribution_by_width(const model_view *v, uint32_t n, rung_bucket *buckets) {
    if (!v->total)
        return 0;
    __int128 low = INT64_MAX, high = INT64_MIN;
    for (uint32_t i = 0; i < v->total; i++) {
        int64_t x = v->rows[i].row.values[0].i;
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    __int128 width = high - low + 1;
    if (n > width)
        n = (uint32_t)width;
    for (uint32_t i = 0; i < n; i++) {
        __int128 from = low + width * i / n, to = low + width * (i + 1) / n;
        buckets[i] = (rung_bucket){.low.i = (int64_t)from,
                                   .high.i = i + 1 == n ? (int64_t)high : (int64_t)to};
        for (uint32_t k = 0; k < v->total; k++)
            buckets[i].count +=
                v->rows[k].row.values[0].i >= from && v->rows[k].row.values[0].i < to;
    }
    return n;
}

static int by_index(const void *a, const void *b) {
    uint32_t x = ((const rung_row *)a)->index, y = ((const rung_row *)b)->index;
    return (x > y) - (x < y);
}

/* Rank those among themselves, and cut out the page. */
static void finish_list(const model_view *v, rung_row *listed, uint32_t total, uint32_t offset,
                        uint32_t limit, rung_row *rows, uint32_t *count_out, uint32_t *total_out) {
    qsort(listed, total, sizeof *listed, by_index);
    uint32_t groups = 0, better = 0;
    *count_out = 0;
    for (uint32_t i = 0; i < total; i++) {
        if (i == 0 || v->rows[listed[i].index].group != v->rows[listed[i - 1].index].group) {
            groups++;
            better = i;
        }
        listed[i].list_rank = v->rank == RUNG_RANK_UNIQUE   ? i + 1
                              : v->rank == RUNG_RANK_SPARSE ? better + 1
                                                            : groups;
        if (i >= offset && *count_out < limit)
            rows[(*count_out)++] = listed[i];
    }
    *total_out = total;
}

void model_list(const model_view *v, uint32_t n, const rung_slice *ids, uint32_t offset,
                uint32_t limit, rung_row *rows, uint32_t *count_out, uint32_t *total_out) {
    rung_row *listed = malloc((n + 1) * sizeof *listed);
    CHECK(listed);
    uint32_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool is_repeated = false;
        for (uint32_t k = 0; k < i; k++)
            is_repeated |= rung_slice_eq(ids[i], ids[k]);
        if (!is_repeated)
            total += model_row_of(v, ids[i], &listed[total]);
    }
    finish_list(v, listed, total, offset, limit, rows, count_out, total_out);
    free(listed);
}

rung_status model_friends(const model_view *v, rung_slice player, uint32_t offset, uint32_t limit,
                          rung_row *rows, uint32_t *count_out, uint32_t *total_out) {
    const model_player *p = model_player_find(v->model, player, NULL);
    if (!p)
        return RUNG_NOT_FOUND;
    rung_slice *ids = malloc((p->follow_count + 1) * sizeof *ids);
    CHECK(ids);
    ids[0] = player;
    for (uint32_t i = 0; i < p->follow_count; i++)
        ids[i + 1] = v->model->players[p->follows[i]].name;
    model_list(v, p->follow_count + 1, ids, offset, limit, rows, count_out, total_out);
    free(ids);
    return RUNG_OK;
}

/* ---- looking around ---- */

const rung_board_def *state_model_board(const state_model *m, rung_slice id) {
    const model_board *b = model_board_find(m, id);
    return b ? &b->def : NULL;
}

static int by_kind_then_newest(const void *a, const void *b) {
    const rung_window_info *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->start_ms != y->start_ms)
        return x->start_ms > y->start_ms ? -1 : 1;
    if (x->ordinal != y->ordinal)
        return x->ordinal > y->ordinal ? -1 : 1;
    return rung_slice_cmp(x->season, y->season);
}

uint32_t state_model_windows(const state_model *m, rung_slice board, rung_window_info *out,
                             uint32_t room) {
    const model_board *b = model_board_find(m, board);
    if (!b)
        return 0;
    rung_window_info *all = calloc(b->window_count + 1, sizeof *all);
    CHECK(all);
    for (uint32_t i = 0; i < b->window_count; i++) {
        const model_window *w = &b->windows[i];
        rung_window_info *info = &all[i];
        *info = (rung_window_info){.kind = w->kind,
                                   .ordinal = w->ordinal,
                                   .start_ms = w->start_ms,
                                   .end_ms = w->end_ms,
                                   .season = w->season,
                                   .closed = w->closed};
        for (uint32_t k = 0; k < w->count; k++)
            info->total += !m->players[w->entries[k].player].is_banned;
        if (w->kind == RUNG_WINDOW_SEASON)
            memcpy(info->id, w->season.ptr, w->season.len);
        else if (w->kind)
            rung_window_id_format((rung_window_kind)w->kind, w->ordinal, info->id);
        else
            memcpy(info->id, "all", 3);
    }
    qsort(all, b->window_count, sizeof *all, by_kind_then_newest);
    uint32_t count = b->window_count;
    memcpy(out, all, (count < room ? count : room) * sizeof *all);
    free(all);
    return count;
}

rung_status state_model_player(const state_model *m, rung_slice id, uint32_t *count_out,
                               rung_attribute *attributes, bool *banned_out) {
    const model_player *p = model_player_find(m, id, NULL);
    if (!p)
        return RUNG_NOT_FOUND;
    *count_out = p->attribute_count;
    memcpy(attributes, p->attributes, p->attribute_count * sizeof *attributes);
    *banned_out = p->is_banned;
    return RUNG_OK;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

uint32_t state_model_friends(const state_model *m, rung_slice id, rung_slice *ids, uint32_t room) {
    model_player *p = model_player_find(m, id, NULL);
    if (!p)
        return 0;
    if (p->follow_count)
        qsort(p->follows, p->follow_count, sizeof *p->follows, by_number);
    for (uint32_t i = 0; i < p->follow_count && i < room; i++)
        ids[i] = m->players[p->follows[i]].name;
    return p->follow_count;
}
