/* SPDX-License-Identifier: Apache-2.0 */
/* The largest values of a scope, against counting and sorting. */
#include "state/scope_values.h"
#include "support/check.h"
#include "support/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAYERS = 400, VALUES = 40 };

static rung_state *s;
static int value_of[PLAYERS]; /* -1: not ranked */

static void apply(rung_event *e) {
    e->ts_ms = INT64_C(1794000000000);
    CHECK(rung_state_apply(s, e, NULL, NULL) >= 0); /* the same score again changes nothing */
}

static void start(void) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED};
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s));
    e.defined.board = RUNG_SLICE("race");
    e.defined.def = rung_board_def_default();
    e.defined.def.scopes[e.defined.def.scope_count++] = RUNG_SLICE("country");
    e.defined.def.scopes[e.defined.def.scope_count++] = RUNG_SLICE("platform");
    e.defined.def.has_teams = true;
    e.defined.def.team_by = RUNG_SLICE("guild");
    apply(&e);
    for (int i = 0; i < PLAYERS; i++)
        value_of[i] = -1;
}

static rung_view view(void) {
    rung_view v;
    CHECK_OK(rung_state_view(s, &(rung_query){.board = RUNG_SLICE("race")}, &v, NULL));
    return v;
}

static rung_slice text(char *buffer, const char *word, int number) {
    return rung_slice_of(buffer, (size_t)snprintf(buffer, 16, "%s%d", word, number));
}

static void put(int player, int value) {
    char id[16], name[16];
    rung_event e = {.kind = RUNG_EVENT_PLAYER_SET};
    e.profile.player = text(id, "player-", player);
    e.profile.count = 1;
    e.profile.attributes[0] =
        (rung_attribute){.name = RUNG_SLICE("country"), .value = text(name, "c", value)};
    apply(&e);
    memset(&e, 0, sizeof e);
    e.kind = RUNG_EVENT_SCORE;
    e.score.board = RUNG_SLICE("race");
    e.score.player = text(id, "player-", player);
    e.score.value_count = 1;
    e.score.values[0].i = player;
    apply(&e);
    value_of[player] = value;
}

static int compare(const void *a, const void *b) {
    const rung_scope_size *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return rung_slice_cmp(x->value, y->value);
}

/* What the list must be, by counting and sorting. */
static uint32_t expect(rung_scope_size *out, char names[VALUES][16]) {
    uint32_t count = 0;
    for (int value = 0; value < VALUES; value++) {
        rung_scope_size one = {.value = text(names[value], "c", value)};
        for (int i = 0; i < PLAYERS; i++)
            one.total += value_of[i] == value;
        if (one.total)
            out[count++] = one;
    }
    qsort(out, count, sizeof *out, compare);
    return count;
}

static void check_all(void) {
    rung_scope_size expected[VALUES], got[VALUES + 2];
    char names[VALUES][16];
    uint32_t count = expect(expected, names), values = 0;
    rung_view v = view();
    for (uint32_t limit = 0; limit < VALUES + 2; limit += 1 + limit / 4) {
        uint32_t n = rung_scope_largest(&v, RUNG_SLICE("country"), limit, got, &values);
        CHECK_EQ_U64(values, count);
        CHECK_EQ_U64(n, limit < count ? limit : count);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(rung_slice_eq(got[i].value, expected[i].value));
            CHECK_EQ_U64(got[i].total, expected[i].total);
        }
    }
}

TEST(largest_first_while_players_come_and_move) {
    rung_rng r;
    rung_rng_seed(&r, test_seed(1));
    start();
    check_all();
    for (uint64_t i = 0, n = test_steps(2000); i < n; i++) {
        uint64_t value = rung_rng_below(&r, 1 + rung_rng_below(&r, VALUES));
        put((int)rung_rng_below(&r, PLAYERS), (int)value);
        if (i % 50 == 0)
            check_all();
    }
    check_all();
    rung_state_destroy(s);
}

TEST(only_scopes_of_the_board) {
    rung_scope_size one;
    uint32_t values = 7;
    start();
    put(1, 1);
    rung_view v = view();
    CHECK_EQ_U64(rung_scope_largest(&v, RUNG_SLICE("platform"), 1, &one, &values), 0);
    CHECK_EQ_U64(values, 0);
    CHECK_EQ_U64(rung_scope_largest(&v, RUNG_SLICE("guild"), 1, &one, &values), RUNG_SCOPE_NONE);
    CHECK_EQ_U64(rung_scope_largest(&v, RUNG_SLICE(""), 1, &one, &values), RUNG_SCOPE_NONE);
    rung_state_destroy(s);
}

RUNG_TEST_MAIN
