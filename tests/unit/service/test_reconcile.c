/* SPDX-License-Identifier: Apache-2.0 */
/* Two states that should be equal: planted differences are found and named. */
#include "service/reconcile.h"
#include "support/check.h"

#include <stdio.h>

#define RACE RUNG_SLICE("race")

enum { PLAYERS = 1000 };

static void apply(rung_state *s, rung_event e) {
    rung_outcome outcome;
    e.ts_ms = INT64_C(1794744000000) + (int64_t)rung_state_seq(s);
    rung_ignore(rung_state_apply(s, &e, &outcome, NULL), "a refusal is a record, too");
}

static void score(rung_state *s, rung_slice board, int player, int64_t points) {
    char id[32];
    snprintf(id, sizeof id, "player-%d", player);
    apply(s, (rung_event){.kind = RUNG_EVENT_SCORE,
                          .score = {.board = board,
                                    .player = rung_slice_str(id),
                                    .value_count = 1,
                                    .values = {{.i = points}}}});
}

static void define(rung_state *s, rung_slice board) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED, .defined = {.board = board}};
    e.defined.def = rung_board_def_default();
    e.defined.def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    apply(s, e);
}

static rung_state *make(int changed, int64_t points) {
    rung_state *s;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s));
    define(s, RUNG_SLICE("other"));
    define(s, RACE);
    for (int i = 0; i < PLAYERS; i++)
        score(s, RACE, i, i == changed ? points : 10 * (PLAYERS - i));
    return s;
}

static rung_difference compare(rung_state *a, rung_state *b, rung_status want) {
    rung_difference d;
    CHECK_STATUS(rung_reconcile_states(rung_alloc_heap(), a, b, &d, NULL), want);
    CHECK_SOUND(rung_state_check(a));
    CHECK_SOUND(rung_state_check(b));
    rung_state_destroy(a);
    rung_state_destroy(b);
    return d;
}

TEST(equal_states) {
    compare(make(-1, 0), make(-1, 0), RUNG_UNCHANGED);
}

TEST(one_point_of_one_player) {
    for (int player = 0; player < PLAYERS; player += 333) {
        char name[32];
        snprintf(name, sizeof name, "player-%d", player);
        rung_difference d =
            compare(make(-1, 0), make(player, 10 * (PLAYERS - player) + 1), RUNG_OK);
        CHECK(d.kind == RUNG_DIFFERENCE_ENTRY);
        CHECK_EQ_STR(d.board, "race");
        CHECK_EQ_STR(d.window, "all");
        CHECK_EQ_STR(d.player, name);
        CHECK_EQ_U64(d.index, (uint64_t)player);
        CHECK_EQ_U64(d.total_a, PLAYERS);
    }
}

TEST(a_player_too_many_and_a_board_too_many) {
    rung_state *a = make(-1, 0), *b = make(-1, 0);
    score(a, RACE, PLAYERS, 1);
    score(b, RUNG_SLICE("absent"), PLAYERS, 1); /* refused */
    rung_difference d = compare(a, b, RUNG_OK);
    CHECK(d.kind == RUNG_DIFFERENCE_ENTRY);
    CHECK_EQ_STR(d.player, "player-1000");
    CHECK_EQ_U64(d.total_b, PLAYERS);
    a = make(-1, 0), b = make(-1, 0);
    define(a, RUNG_SLICE("new"));
    score(b, RUNG_SLICE("absent"), 1, 1);
    d = compare(a, b, RUNG_OK);
    CHECK(d.kind == RUNG_DIFFERENCE_BOARD);
    CHECK_EQ_STR(d.board, "new");
}

TEST(what_is_no_ranking_and_another_sequence) {
    rung_state *a = make(-1, 0), *b = make(-1, 0);
    rung_event e = {.kind = RUNG_EVENT_FRIEND_ADDED,
                    .friend = {.player = RUNG_SLICE("player-1"), .other = RUNG_SLICE("player-2")}};
    apply(a, e);
    score(b, RUNG_SLICE("absent"), 1, 1);
    CHECK(compare(a, b, RUNG_OK).kind == RUNG_DIFFERENCE_OTHER);
    a = make(-1, 0), b = make(-1, 0);
    score(a, RACE, 1, 1);
    CHECK(compare(a, b, RUNG_OK).kind == RUNG_DIFFERENCE_SEQ);
}

RUNG_TEST_MAIN
