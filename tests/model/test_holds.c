/* SPDX-License-Identifier: Apache-2.0 */
/* Rankings that are read page by page while they change, against copies of them. A hold and a copy of the whole ranking
 * are made at the same moment; whatever happens afterwards, every page must be the copy's rows, from wherever it is
 * read and however often, without the players who are banned at the moment of the page. A hold may end only when it is
 * allowed to. */
#include "state/hold.h"
#include "support/check.h"
#include "support/rng.h"

#include <stdio.h>
#include <string.h>

enum { PLAYERS = 60, HOLDS = 6, STEPS = 6000, NOTES = 40, ROWS = 64, PLACES = 80 };
#define NOON INT64_C(1763208000000)

typedef struct taken {
    rung_hold *hold;
    uint32_t board, window, total;
    uint64_t serial; /* of the board: grows when it is made again */
    struct {
        char id[8];
        int64_t score, at_ms;
        uint32_t rank;
        double percentile;
    } rows[ROWS];
    rung_hold_place places[PLACES];
    uint32_t place_count;
    bool touched[PLAYERS]; /* changed since, at least */
    uint32_t touched_count;
    bool may_end;
} taken;

static rung_rng rng;
static rung_state *s;
static taken list[HOLDS];
static char names[PLAYERS][8];
static bool banned[PLAYERS];
static int64_t now_ms;
static uint64_t pages, ended, full;

static const rung_slice windows[] = {{"all", 3}, {"hour", 4}};
static const rung_slice boards[] = {{"best", 4}, {"sum", 3}, {"tied", 4}};

static int64_t between(int64_t low, int64_t high) {
    return low + (int64_t)rung_rng_below(&rng, (uint64_t)(high - low + 1));
}

static void define(uint32_t i) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = now_ms};
    rung_board_def d = rung_board_def_default();
    d.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_HOUR);
    d.keep = 0;
    d.update = i == 1 ? RUNG_UPDATE_SUM : RUNG_UPDATE_LAST;
    d.key.tie = i == 2 ? RUNG_TIE_PLAYER_LAST : RUNG_TIE_FIRST;
    d.rank = (rung_rank_style)between(0, 2);
    e.defined.board = boards[i];
    e.defined.def = d;
    CHECK(rung_state_apply(s, &e, NULL, NULL) >= 0);
}

static uint32_t number_of(rung_slice id) {
    uint32_t i = 0;
    while (!rung_slice_eq(rung_slice_str(names[i]), id))
        i++;
    return i;
}

static void take(taken *t) {
    static rung_row rows[ROWS];
    rung_view view;
    rung_err err = {0};
    rung_hold_destroy(t->hold);
    memset(t, 0, sizeof *t);
    t->board = (uint32_t)between(0, 2);
    t->window = (uint32_t)between(0, 1);
    rung_query q = {.board = boards[t->board], .window = windows[t->window], .now_ms = now_ms};
    if (rung_state_view(s, &q, &view, NULL) != RUNG_OK || !view.total)
        return;
    CHECK_OK(rung_hold_create(&view, NOTES, &t->hold, &err));
    t->total = rung_view_top(&view, 0, ROWS, rows);
    CHECK_EQ_U64(t->total, view.total);
    for (uint32_t i = 0; i < t->total; i++) {
        snprintf(t->rows[i].id, sizeof t->rows[i].id, "%.*s", (int)rows[i].id.len, rows[i].id.ptr);
        t->rows[i].score = rows[i].values[0].i;
        t->rows[i].at_ms = rows[i].at_ms;
        t->rows[i].rank = rows[i].rank;
        t->rows[i].percentile = rows[i].percentile;
    }
    t->place_count = 1;
}

static void read_page(taken *t) {
    static rung_row rows[ROWS];
    uint32_t limit = (uint32_t)between(1, 20);
    bool is_more;
    if (!t->hold)
        return;
    if (rung_hold_is_over(t->hold)) {
        CHECK(t->may_end || t->touched_count > NOTES);
        full += t->touched_count > NOTES;
        ended++;
        take(t);
        return;
    }
    CHECK(rung_hold_notes(t->hold) <= NOTES && rung_hold_notes(t->hold) <= t->touched_count);
    rung_hold_place at = t->places[between(0, t->place_count - 1)];
    uint32_t i = at.index, n = rung_hold_rows(t->hold, &at, limit, rows, &is_more);
    for (uint32_t k = 0; k < n; k++, i++) {
        while (banned[number_of(rung_slice_str(t->rows[i].id))])
            i++;
        CHECK(rung_slice_eq(rows[k].id, rung_slice_str(t->rows[i].id)));
        CHECK_EQ_U64(rows[k].index, i);
        CHECK_EQ_I64(rows[k].values[0].i, t->rows[i].score);
        CHECK_EQ_I64(rows[k].at_ms, t->rows[i].at_ms);
        CHECK_EQ_U64(rows[k].rank, t->rows[i].rank);
        CHECK(rows[k].percentile == t->rows[i].percentile);
    }
    CHECK(n == limit || !is_more);
    CHECK_EQ_U64(is_more, at.index < t->total);
    if (is_more && t->place_count < PLACES)
        t->places[t->place_count++] = at;
    pages++;
}

static void touch(uint32_t board, uint32_t player) {
    for (taken *t = list; t < list + HOLDS; t++)
        if (t->hold && (board == UINT32_MAX || t->board == board) && !t->touched[player]) {
            t->touched[player] = true;
            t->touched_count++;
        }
}

static void may_end(uint32_t board) {
    for (taken *t = list; t < list + HOLDS; t++)
        t->may_end |= board == UINT32_MAX || t->board == board;
}

static void step(void) {
    uint32_t what = (uint32_t)between(0, 199), board = (uint32_t)between(0, 2);
    uint32_t player = (uint32_t)between(0, PLAYERS - 1);
    rung_slice name = rung_slice_str(names[player]);
    rung_event e = {.ts_ms = now_ms += between(0, 3000)};
    if (what < 140) {
        e.kind = RUNG_EVENT_SCORE;
        e.score = (rung_score_event){.board = boards[board],
                                     .player = name,
                                     .value_count = 1,
                                     .values = {{.i = between(0, 9)}},
                                     .is_delta = board == 1};
        touch(board, player);
    } else if (what < 160) {
        e.kind = RUNG_EVENT_ENTRY_REMOVED;
        e.removed.board = boards[board];
        e.removed.player = name;
        touch(board, player);
    } else if (what < 190) {
        e.kind = banned[player] ? RUNG_EVENT_UNBANNED : RUNG_EVENT_BANNED;
        e.ban.player = name;
        banned[player] = !banned[player];
        touch(UINT32_MAX, player);
    } else if (what < 195) {
        e.kind = RUNG_EVENT_TICK; /* closes hours, which are not kept */
        if (between(0, 9) == 0)
            e.ts_ms = now_ms += 3600000;
        for (taken *t = list; t < list + HOLDS; t++)
            t->may_end |= t->window == 1;
    } else if (what < 197) {
        e.kind = RUNG_EVENT_PLAYER_ERASED;
        e.erased.player = name;
        banned[player] = false;
        touch(UINT32_MAX, player);
        may_end(UINT32_MAX);
    } else if (what < 198) {
        e.kind = RUNG_EVENT_BOARD_DELETED;
        e.deleted.board = boards[board];
        may_end(board);
    } else {
        define(board);
        return;
    }
    CHECK(rung_state_apply(s, &e, NULL, NULL) != RUNG_ENOMEM);
    if (e.kind == RUNG_EVENT_BOARD_DELETED)
        define(board);
}

static void run(uint64_t seed) {
    rung_rng_seed(&rng, seed);
    memset(list, 0, sizeof list);
    memset(banned, 0, sizeof banned);
    now_ms = NOON;
    CHECK_OK(rung_state_create(
        &(rung_state_config){.alloc = rung_alloc_heap(), .rules_level = RUNG_RULES_LEVEL}, &s));
    for (uint32_t i = 0; i < PLAYERS; i++)
        snprintf(names[i], sizeof names[i], "p%u", i);
    for (uint32_t i = 0; i < 3; i++)
        define(i);
    for (uint32_t i = 0; i < STEPS; i++) {
        step();
        taken *t = &list[between(0, HOLDS - 1)];
        if (!t->hold || between(0, 99) == 0)
            take(t);
        read_page(t);
        if (i % 500 == 0)
            CHECK_SOUND(rung_state_check(s));
    }
    for (uint32_t i = 0; i < HOLDS / 2; i++)
        rung_hold_destroy(list[i].hold);
    rung_state_destroy(s);
    for (uint32_t i = HOLDS / 2; i < HOLDS; i++)
        rung_hold_destroy(list[i].hold);
}

TEST(pages_are_the_ranking_of_the_moment) {
    uint64_t seed = test_seed(1);
    for (uint64_t i = 0; i < 3; i++)
        run(seed + i);
    CHECK(pages > 5000 && ended > 50 && full > 10);
}

RUNG_TEST_MAIN
