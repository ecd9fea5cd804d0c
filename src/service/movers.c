/* SPDX-License-Identifier: Apache-2.0 */
/* One group for each open window of each board: the rank of every entry by player number, and for each attribute that
 * the board ranks by, the rank within the value and (a hash of) the value. Scope ranks are counted along the main
 * ranking, which has everybody in order.
 *
 * Invariants:
 *   M1  A number belongs to the same player at both moments only if the hash of the id is the same, and nobody of that
 *       id was erased between: numbers and ids of erased players are used again.
 *   M2  A player is compared within a scope only if they had that value at both moments. */
#include "service/movers.h"

#include "base/numbermap.h"
#include "ladder/names.h"
#include "model/words.h"
#include "service/ask.h"
#include "state/scope_values.h"

#include <string.h>

enum { ROWS = 512 };

/* Of one attribute, by player number. */
typedef struct scope {
    char attribute[RUNG_ATTRIBUTE_NAME_MAX];
    size_t attribute_len;
    rung_numbermap ranks, values;
} scope;

typedef struct group {
    rung_rank_style style;
    rung_numbermap ranks;
    scope *scopes;
    uint32_t scope_count;
} group;

/* A group's name: the board's number, the kind, and a hash of the window's id. */
typedef struct group_key {
    uint32_t board, kind;
    uint64_t id;
} group_key;

struct rung_movers {
    const rung_alloc *alloc;
    rung_hash_key key;
    rung_names *boards, *keys, *erased;
    group *groups; /* by the key's number */
    uint32_t group_cap;
    rung_numbermap players; /* M1: number to hash */
    int64_t time_ms;
    uint64_t seq;
};

/* ---- words ---- */

rung_status rung_since_parse(rung_slice text, int64_t *ms_out, rung_err *err) {
    static const struct {
        char letter;
        int64_t ms;
    } units[] = {{'m', 60000}, {'h', 3600000}, {'d', 86400000}, {'w', 604800000}};
    int64_t n = 0;
    size_t i = 0;
    for (; i < text.len && i < 9 && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++)
        n = n * 10 + (text.ptr[i] - '0');
    for (size_t u = 0; i > 0 && i + 1 == text.len && u < sizeof units / sizeof *units; u++) {
        if (text.ptr[i] != units[u].letter)
            continue;
        n *= units[u].ms;
        if (n < RUNG_MOVERS_SINCE_MS_MIN || n > RUNG_MOVERS_SINCE_MS_MAX)
            return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "since", "expected 1m to 366d");
        *ms_out = n;
        return RUNG_OK;
    }
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "since",
                           "expected minutes, hours, days or weeks such as 90m, 1h, 1d or 1w");
}

int64_t rung_movers_moment(int64_t since_ms, int64_t now_ms) {
    int64_t step = since_ms < 6 * INT64_C(3600000)    ? 60000
                   : since_ms < 3 * INT64_C(86400000) ? 600000
                                                      : 3600000;
    int64_t past = now_ms % step;
    return now_ms - (past < 0 ? past + step : past);
}

static uint64_t hash_of(const rung_movers *m, rung_slice text) {
    return rung_hash_keyed(&m->key, text.ptr, text.len);
}

/* A hash that a map can hold: never RUNG_NUMBER_NONE. */
static uint32_t mark_of(const rung_movers *m, rung_slice text) {
    return (uint32_t)hash_of(m, text) >> 1;
}

/* ---- life ---- */

static void free_group(group *g, const rung_alloc *a) {
    rung_numbermap_deinit(&g->ranks, a);
    for (uint32_t i = 0; i < g->scope_count; i++) {
        rung_numbermap_deinit(&g->scopes[i].ranks, a);
        rung_numbermap_deinit(&g->scopes[i].values, a);
    }
    rung_alloc_free(a, g->scopes, g->scope_count * sizeof *g->scopes);
}

void rung_movers_destroy(rung_movers *m) {
    if (!m)
        return;
    for (uint32_t i = 0; m->keys && i < rung_names_count(m->keys) && i < m->group_cap; i++)
        free_group(&m->groups[i], m->alloc);
    rung_alloc_free(m->alloc, m->groups, m->group_cap * sizeof *m->groups);
    rung_numbermap_deinit(&m->players, m->alloc);
    rung_names_destroy(m->boards);
    rung_names_destroy(m->keys);
    rung_names_destroy(m->erased);
    rung_alloc_free(m->alloc, m, sizeof *m);
}

rung_status rung_movers_erase(rung_movers *m, rung_slice player) {
    uint32_t number;
    rung_status st = rung_names_intern(m->erased, player, &number);
    return st == RUNG_ENOMEM || st == RUNG_ELIMIT ? RUNG_ENOMEM : RUNG_OK;
}

int64_t rung_movers_time(const rung_movers *m) {
    return m->time_ms;
}

uint64_t rung_movers_seq(const rung_movers *m) {
    return m->seq;
}

/* ---- keeping ---- */

/* Ranks within one value of an attribute, so far. */
typedef struct tally {
    uint32_t place, sparse, dense;
    rung_row last; /* the values only */
} tally;

typedef struct tallies {
    rung_names *values;
    tally *all;
    uint32_t cap;
} tallies;

static bool is_same_score(const rung_row *a, const rung_row *b) {
    for (uint32_t i = 0; i < a->value_count; i++)
        if (a->values[i].i != b->values[i].i)
            return false;
    return true;
}

static uint32_t count_row(tally *t, const rung_row *row, rung_rank_style style) {
    t->place++;
    if (t->place == 1 || !is_same_score(&t->last, row)) {
        t->sparse = t->place;
        t->dense++;
    }
    t->last = *row;
    return rung_rank_in(style, t->place, t->sparse, t->dense);
}

static rung_status keep_scope(rung_movers *m, group *g, scope *s, tallies *t, rung_slice value,
                              const rung_row *row) {
    uint32_t number;
    if (!value.len)
        return RUNG_OK;
    rung_status st = rung_names_intern(t->values, value, &number);
    if (st < 0)
        return st;
    tally *all = rung_alloc_array(m->alloc, t->all, &t->cap, number, sizeof *all);
    if (!all)
        return RUNG_ENOMEM;
    t->all = all;
    uint32_t rank = count_row(&all[number], row, g->style);
    if (rung_numbermap_add(&s->ranks, m->alloc, row->number, rank) < 0)
        return RUNG_ENOMEM;
    return rung_numbermap_add(&s->values, m->alloc, row->number, mark_of(m, value));
}

static rung_status keep_row(rung_movers *m, group *g, const rung_scope_values *values,
                            tallies *counts, const rung_row *row) {
    rung_status st = rung_numbermap_add(&g->ranks, m->alloc, row->number, row->rank);
    if (st >= 0)
        st = rung_numbermap_add(&m->players, m->alloc, row->number, mark_of(m, row->id));
    for (uint32_t i = 0; st >= 0 && i < g->scope_count; i++)
        st = keep_scope(m, g, &g->scopes[i], &counts[i],
                        rung_scope_values_of(values, i, row->number), row);
    return st;
}

static rung_status keep_rows(rung_movers *m, group *g, const rung_view *view,
                             const rung_scope_values *values, tallies *counts) {
    rung_row *rows = rung_alloc_get(m->alloc, ROWS * sizeof *rows);
    rung_status st = rows ? RUNG_OK : RUNG_ENOMEM;
    rung_numbermap_expect(&g->ranks, view->total);
    for (uint32_t at = 0, n; st >= 0 && at < view->total; at += n) {
        n = rung_view_top(view, at, ROWS, rows);
        for (uint32_t i = 0; st >= 0 && i < n; i++)
            st = keep_row(m, g, values, counts, &rows[i]);
        if (n == 0)
            break;
    }
    rung_alloc_free(m->alloc, rows, rows ? ROWS * sizeof *rows : 0);
    return st;
}

static rung_status make_scopes(rung_movers *m, group *g, const rung_board_def *def,
                               const rung_scope_values *values, tallies *counts) {
    rung_status st = RUNG_OK;
    if (!def->scope_count)
        return RUNG_OK;
    g->scopes = rung_alloc_zeroed(m->alloc, def->scope_count * sizeof *g->scopes);
    if (!g->scopes)
        return RUNG_ENOMEM;
    g->scope_count = def->scope_count;
    for (uint32_t i = 0; st >= 0 && i < def->scope_count; i++) {
        rung_slice name = values->attributes[i];
        g->scopes[i].attribute_len = name.len;
        memcpy(g->scopes[i].attribute, name.ptr, name.len);
        st = rung_names_create(m->alloc, &m->key, &counts[i].values);
    }
    return st;
}

static rung_status keep_window(rung_movers *m, group *g, const rung_board_def *def,
                               const rung_view *view) {
    rung_scope_values values;
    tallies counts[RUNG_SCOPES_MAX] = {0};
    g->style = view->rank;
    rung_status st = rung_scope_values_init(view, m->alloc, &values);
    if (st < 0)
        return st;
    st = make_scopes(m, g, def, &values, counts);
    if (st >= 0)
        st = keep_rows(m, g, view, &values, counts);
    for (uint32_t i = 0; i < RUNG_SCOPES_MAX; i++) {
        rung_names_destroy(counts[i].values);
        rung_alloc_free(m->alloc, counts[i].all, counts[i].cap * sizeof *counts[i].all);
    }
    rung_scope_values_deinit(&values, m->alloc);
    return st;
}

static rung_query query_of(rung_slice board, const rung_window_info *w, int64_t now_ms) {
    rung_query q = {.board = board, .window = rung_slice_str(w->id), .now_ms = now_ms};
    if (w->kind != RUNG_WINDOW_SEASON) {
        q.window = rung_slice_str(rung_window_words[w->kind]);
        q.window_id = w->kind == RUNG_WINDOW_ALL ? (rung_slice){0} : rung_slice_str(w->id);
    }
    return q;
}

static rung_slice bytes_of(const group_key *key) {
    return rung_slice_of(key, sizeof *key);
}

static rung_status add_group(rung_movers *m, rung_slice board, const rung_window_info *w,
                             group **out) {
    group_key key = {.kind = w->kind, .id = hash_of(m, rung_slice_str(w->id))};
    uint32_t number;
    rung_status st = rung_names_intern(m->boards, board, &key.board);
    if (st < 0)
        return st;
    group *groups = rung_alloc_array(m->alloc, m->groups, &m->group_cap, rung_names_count(m->keys),
                                     sizeof *groups);
    if (!groups)
        return RUNG_ENOMEM;
    m->groups = groups;
    st = rung_names_intern(m->keys, bytes_of(&key), &number);
    if (st < 0)
        return st;
    *out = &m->groups[number];
    return RUNG_OK;
}

static rung_status keep_board(rung_movers *m, const rung_state *then, rung_slice board,
                              const rung_board_def *def) {
    uint32_t count = rung_state_windows(then, board, NULL, 0);
    rung_window_info *windows = rung_alloc_get(m->alloc, (count + 1) * sizeof *windows);
    rung_status st = windows ? RUNG_OK : RUNG_ENOMEM;
    if (windows)
        rung_state_windows(then, board, windows, count);
    for (uint32_t i = 0; st >= 0 && i < count; i++) {
        rung_query q = query_of(board, &windows[i], m->time_ms);
        rung_view view;
        group *g;
        if (windows[i].closed || rung_state_view(then, &q, &view, NULL) != RUNG_OK)
            continue;
        st = add_group(m, board, &windows[i], &g);
        if (st >= 0)
            st = keep_window(m, g, def, &view);
    }
    rung_alloc_free(m->alloc, windows, windows ? (count + 1) * sizeof *windows : 0);
    return st;
}

rung_status rung_movers_create(const rung_alloc *alloc, const rung_hash_key *key,
                               const rung_state *then, int64_t now_ms, rung_movers **out,
                               rung_err *err) {
    rung_movers *m = rung_alloc_zeroed(alloc, sizeof *m);
    if (!m)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    m->alloc = alloc;
    m->key = *key;
    m->time_ms = now_ms;
    m->seq = rung_state_seq(then);
    rung_status st = rung_names_create(alloc, key, &m->boards);
    if (st >= 0)
        st = rung_names_create(alloc, key, &m->keys);
    if (st >= 0)
        st = rung_names_create(alloc, key, &m->erased);
    for (uint32_t i = 0; st >= 0 && i < rung_state_board_span(then); i++) {
        rung_slice board;
        const rung_board_def *def;
        if (rung_state_board_at(then, i, &board, &def) == RUNG_OK)
            st = keep_board(m, then, board, def);
    }
    if (st < 0) {
        rung_movers_destroy(m);
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    }
    *out = m;
    return RUNG_OK;
}

/* ---- comparing ---- */

/* A list keeps the largest changes; of equal ones those that came first, which rank better. */
static void offer(rung_mover *list, uint32_t *count, uint32_t limit, const rung_row *row,
                  uint32_t before, uint32_t change) {
    uint32_t at = *count;
    if (limit == 0)
        return;
    while (at > 0) {
        const rung_mover *m = &list[at - 1];
        uint32_t there = m->rank_before > m->row.rank ? m->rank_before - m->row.rank
                                                      : m->row.rank - m->rank_before;
        if (there >= change)
            break;
        at--;
    }
    if (at == limit)
        return;
    uint32_t kept = *count < limit ? *count : limit - 1;
    memmove(&list[at + 1], &list[at], (kept - at) * sizeof *list);
    list[at] = (rung_mover){.row = *row, .rank_before = before};
    *count = kept + 1;
}

static const group *find_group(const rung_movers *m, rung_slice board, const rung_view *view) {
    char id[RUNG_NAME_MAX + 1];
    uint32_t number;
    group_key key = {.kind = view->kind};
    if (rung_names_find(m->boards, board, &key.board) != RUNG_OK)
        return NULL;
    uint32_t len = rung_window_id_write(view->kind, view->ordinal, view->season, id);
    key.id = hash_of(m, rung_slice_of(id, len));
    return rung_names_find(m->keys, bytes_of(&key), &number) == RUNG_OK ? &m->groups[number] : NULL;
}

/* `*value_out` is what M2 asks for; `*scope_out` is NULL for everybody. */
static rung_status find_scope(const rung_movers *m, const group *g, rung_slice text,
                              const scope **scope_out, uint32_t *value_out, rung_err *err) {
    *scope_out = NULL;
    if (!text.len)
        return RUNG_OK;
    const char *colon = memchr(text.ptr, ':', text.len);
    size_t len = colon ? (size_t)(colon - text.ptr) : text.len;
    for (uint32_t i = 0; colon && i < g->scope_count; i++) {
        const scope *s = &g->scopes[i];
        if (!rung_slice_eq(rung_slice_of(s->attribute, s->attribute_len),
                           rung_slice_of(text.ptr, len)))
            continue;
        *scope_out = s;
        *value_out = mark_of(m, rung_slice_of(colon + 1, text.len - len - 1));
        return RUNG_OK;
    }
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "scope", "the board did not rank by it then");
}

/* RUNG_NUMBER_NONE: it was not ranked there. */
static uint32_t rank_before(const rung_movers *m, const group *g, const scope *s, uint32_t value,
                            const rung_row *row) {
    uint32_t number;
    if (!g || rung_numbermap_get(&m->players, row->number) != mark_of(m, row->id) ||
        (rung_names_count(m->erased) &&
         rung_names_find(m->erased, row->id, &number) == RUNG_OK)) /* M1 */
        return RUNG_NUMBER_NONE;
    if (!s)
        return rung_numbermap_get(&g->ranks, row->number);
    return rung_numbermap_get(&s->values, row->number) == value /* M2 */
               ? rung_numbermap_get(&s->ranks, row->number)
               : RUNG_NUMBER_NONE;
}

static void compare_row(rung_movement *out, const rung_row *row, uint32_t before) {
    if (before == RUNG_NUMBER_NONE) {
        out->entered++;
        return;
    }
    out->compared++;
    if (before > row->rank) {
        out->risen++;
        offer(out->risers, &out->riser_count, out->limit, row, before, before - row->rank);
    } else if (before < row->rank) {
        out->fallen++;
        offer(out->fallers, &out->faller_count, out->limit, row, before, row->rank - before);
    }
}

static rung_status make_room(rung_movement *out, const rung_alloc *alloc, uint32_t limit) {
    size_t size = (limit + 1) * sizeof *out->risers;
    out->limit = limit;
    out->risers = rung_alloc_get(alloc, size);
    out->fallers = rung_alloc_get(alloc, size);
    if (out->risers && out->fallers)
        return RUNG_OK;
    rung_movement_deinit(out, alloc);
    return RUNG_ENOMEM;
}

void rung_movement_deinit(rung_movement *found, const rung_alloc *alloc) {
    size_t size = (found->limit + 1) * sizeof *found->risers;
    rung_alloc_free(alloc, found->risers, found->risers ? size : 0);
    rung_alloc_free(alloc, found->fallers, found->fallers ? size : 0);
    found->risers = found->fallers = NULL;
}

rung_status rung_movers_find(const rung_movers *m, const rung_alloc *alloc, const rung_state *now,
                             const rung_query *query, uint32_t limit, rung_movement *out,
                             rung_err *err) {
    const scope *s = NULL;
    uint32_t value = 0;
    *out = (rung_movement){0};
    if (query->teams)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "window", "there are no movers among teams");
    rung_status st = rung_state_view(now, query, &out->view, err);
    if (st != RUNG_OK)
        return st;
    rung_view *view = &out->view;
    if (view->closed && view->end_ms <= m->time_ms)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "window", "it had ended by then");
    const group *g = find_group(m, query->board, view);
    if (g)
        st = find_scope(m, g, query->scope, &s, &value, err);
    if (st < 0)
        return st;
    if (g)
        view->rank = g->style;
    rung_row *rows = rung_alloc_get(alloc, ROWS * sizeof *rows);
    st = rows ? make_room(out, alloc, limit < RUNG_MOVERS_MAX ? limit : RUNG_MOVERS_MAX)
              : RUNG_ENOMEM;
    for (uint32_t at = 0, n = 1; st == RUNG_OK && n && at < view->total; at += n) {
        n = rung_view_top(view, at, ROWS, rows);
        for (uint32_t i = 0; i < n; i++)
            compare_row(out, &rows[i], rank_before(m, g, s, value, &rows[i]));
    }
    rung_alloc_free(alloc, rows, rows ? ROWS * sizeof *rows : 0);
    return st < 0 ? RUNG_FAIL(err, st, "out of memory") : RUNG_OK;
}
