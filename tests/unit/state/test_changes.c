/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=300 */
/* What on_change reports, against the state itself: a mirror that knows nothing but the reports has the same entries in
 * every window, and each report fits what came before. Reporting changes neither state nor answers. */
#include "state/state.h"

#include "support/check.h"
#include "support/history_gen.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MAX = 60000, EVENTS = 1500, DIRTY_MAX = 16 };

typedef struct entry {
    char board[RUNG_NAME_MAX], player[RUNG_NAME_MAX], season[RUNG_NAME_MAX];
    size_t board_len, player_len, season_len;
    uint32_t window;
    int64_t ordinal;
    uint32_t value_count;
    rung_value values[RUNG_COLUMNS_MAX];
} entry;

typedef struct mirror {
    entry *entries;
    uint32_t count;
    uint64_t seq, seq_max; /* of the events that are being applied */
    uint64_t reports, by_kind[5];
    /* Boards that were defined or replaced as a whole: to be read again after the event. */
    char dirty[DIRTY_MAX][RUNG_NAME_MAX];
    size_t dirty_len[DIRTY_MAX];
    uint32_t dirty_count;
} mirror;

static bool is_board(const entry *e, rung_slice board) {
    return rung_slice_eq(rung_slice_of(e->board, e->board_len), board);
}

static bool is_in(const entry *e, rung_slice board, uint32_t window, int64_t ordinal,
                  rung_slice season) {
    return e->window == window && e->ordinal == ordinal &&
           rung_slice_eq(rung_slice_of(e->season, e->season_len), season) && is_board(e, board);
}

static uint32_t count_in(const mirror *m, const rung_change *c) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->count; i++)
        n += is_in(&m->entries[i], c->board, c->window, c->ordinal, c->season);
    return n;
}

static entry *find(const mirror *m, rung_slice board, uint32_t window, int64_t ordinal,
                   rung_slice season, rung_slice player) {
    for (uint32_t i = 0; i < m->count; i++) {
        entry *e = &m->entries[i];
        if (rung_slice_eq(rung_slice_of(e->player, e->player_len), player) &&
            is_in(e, board, window, ordinal, season))
            return e;
    }
    return NULL;
}

static size_t keep(char *room, rung_slice text) {
    CHECK(text.len <= RUNG_NAME_MAX);
    if (text.len)
        memcpy(room, text.ptr, text.len);
    return text.len;
}

static entry *add(mirror *m, rung_slice board, uint32_t window, int64_t ordinal, rung_slice season,
                  rung_slice player) {
    CHECK(m->count < ENTRIES_MAX);
    entry *e = &m->entries[m->count++];
    e->board_len = keep(e->board, board);
    e->player_len = keep(e->player, player);
    e->season_len = keep(e->season, season);
    e->window = window;
    e->ordinal = ordinal;
    return e;
}

static void drop_board(mirror *m, rung_slice board) {
    for (uint32_t i = 0; i < m->count;)
        if (is_board(&m->entries[i], board))
            m->entries[i] = m->entries[--m->count];
        else
            i++;
}

static void on_change(void *ctx, const rung_change *c) {
    mirror *m = ctx;
    m->reports++;
    m->by_kind[c->kind]++;
    CHECK(c->seq >= m->seq && c->seq <= (m->seq_max ? m->seq_max : m->seq));
    m->seq = c->seq;
    if (c->kind == RUNG_CHANGE_BOARD_DELETED) {
        drop_board(m, c->board);
        return;
    }
    if (c->kind == RUNG_CHANGE_BOARD_DEFINED || c->kind == RUNG_CHANGE_BOARD_REPLACED) {
        CHECK(m->dirty_count < DIRTY_MAX);
        m->dirty_len[m->dirty_count] = keep(m->dirty[m->dirty_count], c->board);
        m->dirty_count++;
        return;
    }
    entry *e = find(m, c->board, c->window, c->ordinal, c->season, c->player);
    CHECK_EQ_U64(e != NULL, c->rank_before != 0);
    if (c->kind == RUNG_CHANGE_REMOVED) {
        CHECK(e && c->changed && c->rank == 0);
        *e = m->entries[--m->count];
    } else {
        CHECK(c->rank >= 1 && c->rank <= c->total);
        e = e ? e : add(m, c->board, c->window, c->ordinal, c->season, c->player);
        e->value_count = c->value_count;
        memcpy(e->values, c->values, sizeof e->values);
    }
    CHECK_EQ_U64(count_in(m, c), c->total);
}

/* ---- against the state ---- */

typedef void window_visit(mirror *m, rung_slice board, const rung_board_def *def,
                          const rung_view *view, const rung_row *rows);

static void visit_board(mirror *m, const rung_state *s, rung_slice board, const rung_board_def *def,
                        window_visit *visit) {
    static rung_window_info windows[4096];
    static rung_row rows[HISTORY_PLAYERS_MAX * 2];
    uint32_t count = rung_state_windows(s, board, windows, 4096);
    CHECK(count <= 4096);
    for (uint32_t i = 0; i < count; i++) {
        const rung_window_info *w = &windows[i];
        rung_view view;
        rung_query q = {.board = board, .window = w->season};
        if (w->kind != RUNG_WINDOW_SEASON) {
            q.window = rung_slice_str(rung_window_words[w->kind]);
            q.window_id = w->kind ? rung_slice_str(w->id) : (rung_slice){NULL, 0};
        }
        if (rung_state_view(s, &q, &view, NULL) != RUNG_OK)
            continue;
        CHECK(view.total <= sizeof rows / sizeof rows[0]);
        CHECK_EQ_U64(rung_view_top(&view, 0, view.total, rows), view.total);
        visit(m, board, def, &view, rows);
    }
}

static void read_window(mirror *m, rung_slice board, const rung_board_def *def,
                        const rung_view *view, const rung_row *rows) {
    (void)def;
    for (uint32_t i = 0; i < view->total; i++) {
        entry *e = add(m, board, view->kind, view->ordinal, view->season, rows[i].id);
        e->value_count = rows[i].value_count;
        memcpy(e->values, rows[i].values, sizeof e->values);
    }
}

static void check_window(mirror *m, rung_slice board, const rung_board_def *def,
                         const rung_view *view, const rung_row *rows) {
    rung_change place = {
        .board = board, .window = view->kind, .ordinal = view->ordinal, .season = view->season};
    CHECK_EQ_U64(count_in(m, &place), view->total);
    for (uint32_t i = 0; i < view->total; i++) {
        const entry *e = find(m, board, view->kind, view->ordinal, view->season, rows[i].id);
        CHECK(e);
        CHECK_EQ_U64(e->value_count, rows[i].value_count);
        for (uint32_t k = 0; def->update != RUNG_UPDATE_DECAY && k < e->value_count; k++)
            CHECK_EQ_I64(e->values[k].i, rows[i].values[k].i);
    }
}

static void read_dirty(mirror *m, const rung_state *s) {
    while (m->dirty_count > 0) {
        const rung_board_def *def;
        m->dirty_count--;
        rung_slice board = rung_slice_of(m->dirty[m->dirty_count], m->dirty_len[m->dirty_count]);
        drop_board(m, board);
        if (rung_state_board(s, board, &def) == RUNG_OK)
            visit_board(m, s, board, def, read_window);
    }
}

static void check_all(mirror *m, const rung_state *s) {
    for (uint32_t i = 0; i < rung_state_board_span(s); i++) {
        rung_slice board;
        const rung_board_def *def;
        if (rung_state_board_at(s, i, &board, &def) == RUNG_OK)
            visit_board(m, s, board, def, check_window);
    }
}

static void mirror_init(mirror *m) {
    *m = (mirror){.entries = calloc(ENTRIES_MAX, sizeof(entry))};
    CHECK(m->entries);
}

static rung_state *make(mirror *m, const history_taste *taste) {
    rung_state *s;
    rung_state_config c = {.alloc = rung_alloc_heap(), .rules_level = RUNG_RULES_LEVEL};
    if (taste) {
        c.id_capacity = taste->id_capacity;
        c.id_keep_ms = taste->id_keep_ms;
    }
    if (m) {
        c.on_change = on_change;
        c.on_change_ctx = m;
    }
    CHECK_OK(rung_state_create(&c, &s));
    return s;
}

/* ---- random histories ---- */

static void follow(uint64_t seed, uint64_t *by_kind) {
    mirror m;
    mirror_init(&m);
    history_gen *g = history_gen_create(seed);
    rung_state *plain = make(NULL, history_gen_taste(g)), *told = make(&m, history_gen_taste(g));
    for (uint32_t i = 0; i < EVENTS; i++) {
        rung_event e;
        rung_outcome a = {0}, b = {0};
        history_gen_next(g, &e);
        m.seq = i + 1;
        rung_status st = rung_state_apply(plain, &e, &a, NULL);
        CHECK_STATUS(rung_state_apply(told, &e, &b, NULL), st);
        if (a.rank) /* it was not brief */
            CHECK_EQ_U64(a.rank, b.rank);
        read_dirty(&m, told);
        if (i % 250 == 0)
            check_all(&m, told);
    }
    check_all(&m, told);
    rung_digest x = rung_state_digest(plain), y = rung_state_digest(told);
    CHECK(x.a == y.a && x.b == y.b);
    for (uint32_t k = 0; k < 5; k++)
        by_kind[k] += m.by_kind[k];
    rung_state_destroy(plain);
    rung_state_destroy(told);
    history_gen_destroy(g);
    free(m.entries);
}

TEST(a_mirror_of_random_histories) {
    uint64_t by_kind[5] = {0}, seed = test_seed(1);
    for (uint64_t i = 0; i < test_steps(12); i++)
        follow(seed + i, by_kind);
    CHECK(by_kind[RUNG_CHANGE_ENTRY] > 1000 && by_kind[RUNG_CHANGE_REMOVED] > 100);
    CHECK(by_kind[RUNG_CHANGE_BOARD_DEFINED] > 10 && by_kind[RUNG_CHANGE_BOARD_DELETED] > 0);
}

/* ---- in runs ---- */

/* The look-ahead of a run, brief or not, gives the same reports as one by one. */
TEST(runs_of_brief_scores_report_ranks) {
    enum { N = 64 };
    mirror m;
    mirror_init(&m);
    rung_state *s = make(&m, NULL);
    rung_event define = {.kind = RUNG_EVENT_BOARD_DEFINED,
                         .ts_ms = INT64_C(1794744000000),
                         .defined = {.board = RUNG_SLICE("race"), .def = rung_board_def_default()}};
    define.defined.def.update = RUNG_UPDATE_LAST;
    rung_event events[N];
    const rung_event *pointers[N];
    rung_status statuses[N];
    char names[N];
    m.seq = 1;
    CHECK_OK(rung_state_apply(s, &define, NULL, NULL));
    read_dirty(&m, s);
    for (uint32_t i = 0; i < N; i++) {
        names[i] = (char)('a' + i % 9);
        events[i] = (rung_event){.kind = RUNG_EVENT_SCORE,
                                 .ts_ms = define.ts_ms,
                                 .score = {.board = RUNG_SLICE("race"),
                                           .player = rung_slice_of(&names[i], 1),
                                           .is_brief = true,
                                           .value_count = 1,
                                           .values = {{.i = i * 7919 % 31}}}};
        if (i % 3 == 0) { /* as ZADD */
            events[i].score.when = RUNG_SCORE_KEY;
            events[i].score.types[0] = RUNG_SCORE_REAL;
            events[i].score.values[0].d = (double)(i % 13);
        }
        pointers[i] = &events[i];
    }
    m.seq = 2;
    m.seq_max = N + 1;
    uint64_t before = m.reports;
    CHECK_EQ_U64(rung_state_apply_batch(s, N, pointers, statuses, NULL, NULL), N);
    CHECK_EQ_U64(m.reports - before, N);
    check_all(&m, s);
    rung_state_destroy(s);
    free(m.entries);
}

RUNG_TEST_MAIN
