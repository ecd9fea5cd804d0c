/* SPDX-License-Identifier: Apache-2.0 */
/* Movers against a plain model: ranks of every player at both moments, compared one by one. */
#include "service/movers.h"

#include "model/calendar.h"
#include "support/check.h"
#include "support/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T0 INT64_C(1763164800000)

enum { PLAYERS = 40, LIMIT = 7 };

static const char *const countries[] = {"FI", "CH", "US"};

static rung_state *make_state(void) {
    rung_state *s;
    CHECK_OK(rung_state_create(
        &(rung_state_config){.alloc = rung_alloc_heap(), .rules_level = RUNG_RULES_LEVEL}, &s));
    return s;
}

static rung_status apply(rung_state *s, rung_event e, int64_t ts_ms) {
    e.ts_ms = ts_ms;
    rung_outcome outcome;
    return rung_state_apply(s, &e, &outcome, NULL);
}

static rung_slice name_of(uint32_t i, char out[16]) {
    snprintf(out, 16, "p%u", i);
    return rung_slice_str(out);
}

static void define(rung_state *s, rung_rank_style style) {
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.update = RUNG_UPDATE_LAST;
    def.rank = style;
    def.scope_count = 1;
    def.scopes[0] = RUNG_SLICE("country");
    CHECK(apply(s,
                (rung_event){.kind = RUNG_EVENT_BOARD_DEFINED,
                             .defined = {.board = RUNG_SLICE("race"), .def = def}},
                T0) >= 0);
}

/* Who was erased goes to `m`, and to `erased`, by number. */
static void change(rung_state *s, rung_rng *r, int64_t ts_ms, rung_movers *m, bool *erased) {
    char text[16];
    uint32_t number = (uint32_t)rung_rng_below(r, PLAYERS);
    rung_slice player = name_of(number, text);
    uint64_t what = rung_rng_below(r, 100);
    rung_attribute country = {RUNG_SLICE("country"),
                              rung_slice_str(countries[rung_rng_below(r, 3)])};
    rung_event e = {.kind = RUNG_EVENT_SCORE,
                    .score = {.board = RUNG_SLICE("race"),
                              .player = player,
                              .value_count = 1,
                              .values = {{.i = (int64_t)rung_rng_below(r, 30)}}}};
    if (what < 15)
        e = (rung_event){.kind = RUNG_EVENT_PLAYER_SET,
                         .profile = {.player = player, .count = 1, .attributes = {country}}};
    else if (what < 20)
        e = (rung_event){.kind = RUNG_EVENT_ENTRY_REMOVED,
                         .removed = {.board = RUNG_SLICE("race"), .player = player}};
    else if (what < 25) {
        e = (rung_event){.kind = RUNG_EVENT_PLAYER_ERASED, .erased = {.player = player}};
        if (m)
            CHECK_OK(rung_movers_erase(m, player));
        if (erased)
            erased[number] = true;
    }
    rung_ignore(apply(s, e, ts_ms), "some refer to nobody");
}

/* ---- the model ---- */

typedef struct standing {
    char id[16];
    uint32_t rank;
} standing;

typedef struct table {
    standing rows[2 * PLAYERS];
    uint32_t count;
} table;

static table read_table(const rung_state *s, const rung_query *q) {
    static rung_row rows[2 * PLAYERS];
    table t = {0};
    rung_view view;
    if (rung_state_view(s, q, &view, NULL) != RUNG_OK)
        return t;
    t.count = rung_view_top(&view, 0, 2 * PLAYERS, rows);
    for (uint32_t i = 0; i < t.count; i++) {
        snprintf(t.rows[i].id, sizeof t.rows[i].id, "%.*s", (int)rows[i].id.len, rows[i].id.ptr);
        t.rows[i].rank = rows[i].rank;
    }
    return t;
}

static uint32_t rank_in(const table *t, const char *id) {
    for (uint32_t i = 0; i < t->count; i++)
        if (strcmp(t->rows[i].id, id) == 0)
            return t->rows[i].rank;
    return 0;
}

typedef struct expected {
    char id[16];
    int64_t change;
    uint32_t index;
} expected;

static int compare(const void *a, const void *b) {
    const expected *x = a, *y = b;
    int64_t m = llabs(x->change), n = llabs(y->change);
    return m != n ? (m < n ? 1 : -1) : x->index < y->index ? -1 : 1;
}

static void check_list(const table *then, const table *now, bool up, const rung_mover *list,
                       uint32_t count, uint32_t total) {
    expected all[2 * PLAYERS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < now->count; i++) {
        uint32_t before = rank_in(then, now->rows[i].id);
        int64_t change = (int64_t)before - (int64_t)now->rows[i].rank;
        if (before && (up ? change > 0 : change < 0)) {
            all[n] = (expected){.change = change, .index = i};
            memcpy(all[n++].id, now->rows[i].id, sizeof all->id);
        }
    }
    qsort(all, n, sizeof *all, compare);
    CHECK_EQ_U64(total, n);
    CHECK_EQ_U64(count, n < LIMIT ? n : LIMIT);
    for (uint32_t i = 0; i < count; i++) {
        CHECK(rung_slice_eq(list[i].row.id, rung_slice_str(all[i].id)));
        CHECK_EQ_I64((int64_t)list[i].rank_before - (int64_t)list[i].row.rank, all[i].change);
    }
}

static void compare_all(const rung_movers *m, const rung_state *now, rung_query q,
                        const table *then) {
    rung_movement found;
    rung_err err;
    table t = read_table(now, &q);
    rung_status st = rung_movers_find(m, rung_alloc_heap(), now, &q, LIMIT, &found, &err);
    CHECK_OK(st);
    CHECK_EQ_U64(found.compared + found.entered, t.count);
    check_list(then, &t, true, found.risers, found.riser_count, found.risen);
    check_list(then, &t, false, found.fallers, found.faller_count, found.fallen);
    rung_movement_deinit(&found, rung_alloc_heap());
}

/* An erased player who comes back under the same id is somebody else. */
static void forget(table *t, const bool *erased) {
    for (uint32_t i = 0; i < t->count; i++)
        if (erased[strtoul(t->rows[i].id + 1, NULL, 10)])
            t->rows[i].id[0] = '\0';
}

TEST(against_a_model) {
    for (uint64_t seed = 1; seed <= 60; seed++) {
        rung_rng r;
        rung_rng_seed(&r, test_seed(1) + seed);
        rung_state *s = make_state();
        rung_movers *m;
        rung_err err;
        table then[8];
        rung_query q[8];
        uint32_t n = 0;
        bool erased[PLAYERS] = {0};
        define(s, (rung_rank_style)(seed % 3));
        for (int i = 0; i < 120; i++)
            change(s, &r, T0 + i, NULL, NULL);
        for (uint32_t w = 0; w < 2; w++)
            for (uint32_t c = 0; c < 4; c++) {
                static const char *const scopes[] = {"", "country:FI", "country:CH", "country:US"};
                q[n] = (rung_query){.board = RUNG_SLICE("race"),
                                    .window = w ? RUNG_SLICE("day") : RUNG_SLICE("all"),
                                    .scope = rung_slice_str(scopes[c]),
                                    .now_ms = T0 + 1000};
                then[n] = read_table(s, &q[n]);
                n++;
            }
        CHECK_OK(rung_movers_create(rung_alloc_heap(), &(rung_hash_key){seed, 2}, s, T0 + 1000, &m,
                                    &err));
        for (uint64_t i = 0, most = rung_rng_below(&r, 150); i < most; i++)
            change(s, &r, T0 + 2000 + (int64_t)i, m, erased);
        for (uint32_t i = 0; i < n; i++)
            forget(&then[i], erased);
        for (uint32_t i = 0; i < n; i++)
            compare_all(m, s, q[i], &then[i]);
        rung_movers_destroy(m);
        rung_state_destroy(s);
    }
}

TEST(a_window_that_began_since) {
    rung_state *s = make_state();
    rung_movers *m;
    rung_err err;
    rung_movement found;
    rung_rng r;
    rung_rng_seed(&r, 7);
    define(s, RUNG_RANK_SPARSE);
    for (int i = 0; i < 50; i++)
        change(s, &r, T0 + i, NULL, NULL);
    CHECK_OK(rung_movers_create(rung_alloc_heap(), &(rung_hash_key){1, 2}, s, T0 + 60, &m, &err));
    for (int i = 0; i < 50; i++)
        change(s, &r, T0 + 86400000 + i, m, NULL);
    rung_query q = {
        .board = RUNG_SLICE("race"), .window = RUNG_SLICE("day"), .now_ms = T0 + 86400000 + 60};
    CHECK_OK(rung_movers_find(m, rung_alloc_heap(), s, &q, LIMIT, &found, &err));
    CHECK_EQ_U64(found.compared, 0);
    CHECK_EQ_U64(found.entered, found.view.total);
    rung_movement_deinit(&found, rung_alloc_heap());
    q.teams = true;
    CHECK_EQ_I64(rung_movers_find(m, rung_alloc_heap(), s, &q, LIMIT, &found, &err), RUNG_EINVAL);
    rung_movers_destroy(m);
    rung_state_destroy(s);
}

TEST(since) {
    int64_t ms = 0;
    rung_err err;
    static const char *const bad[] = {"",    "d",   "1",    "1s",          "0d",  "1dd",
                                      "-1d", "1 d", "367d", "9999999999w", "1.5h"};
    CHECK_OK(rung_since_parse(RUNG_SLICE("90m"), &ms, &err));
    CHECK_EQ_I64(ms, 5400000);
    CHECK_OK(rung_since_parse(RUNG_SLICE("2w"), &ms, &err));
    CHECK_EQ_I64(ms, 2 * INT64_C(604800000));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(rung_since_parse(rung_slice_str(bad[i]), &ms, &err) < 0);
        CHECK_EQ_STR(err.field, "since");
    }
    CHECK_EQ_I64(rung_movers_moment(3600000, 3661000), 3660000);
    CHECK_EQ_I64(rung_movers_moment(86400000, 3661000), 3600000);
    CHECK_EQ_I64(rung_movers_moment(7 * INT64_C(86400000), 7300000), 7200000);
}

RUNG_TEST_MAIN
