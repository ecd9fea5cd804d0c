/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: labels=release */
/* Long runs of submissions, looked at ahead of their turn while others are applied, against the same one by one: the
 * same answers, the same digest. Few players, so that many are under way twice; boards with windows, scopes and ties of
 * all kinds; keys that are made and whose time ends in the middle of a run; days that pass. */
#include "state/state.h"

#include "support/check.h"
#include "support/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOON INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */
#define HOUR INT64_C(3600000)

enum { RUN_MAX = 300, BOARDS = 4, KEYS = 3 };

typedef struct world {
    rung_rng rng;
    rung_state *one, *many; /* one by one, and in runs */
    int64_t now_ms;
    uint32_t players;
    rung_event events[RUN_MAX];
    char names[RUN_MAX][24];
} world;

static uint64_t roll(world *w, uint64_t n) {
    return rung_rng_below(&w->rng, n);
}

static const char *const boards[BOARDS] = {"plain", "windows", "country", "best"};
static const char *const keys[KEYS] = {"k0", "k1", "k2"};

static void both(world *w, const rung_event *e) {
    rung_status st = rung_state_apply(w->one, e, NULL, NULL);
    CHECK_STATUS(rung_state_apply(w->many, e, NULL, NULL), st);
}

static void define(world *w, const char *name) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED,
                    .ts_ms = w->now_ms,
                    .defined = {.board = rung_slice_str(name)}};
    rung_board_def *def = &e.defined.def;
    *def = rung_board_def_default();
    def->update = strcmp(name, "best") == 0 ? RUNG_UPDATE_BEST : RUNG_UPDATE_SUM;
    def->key.tie = roll(w, 2) ? RUNG_TIE_PLAYER_LAST : RUNG_TIE_FIRST;
    def->keep = 1;
    if (strcmp(name, "plain") != 0)
        def->windows = RUNG_WINDOWS_ALL | RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY) |
                       RUNG_WINDOWS_BIT(RUNG_WINDOW_HOUR);
    if (strcmp(name, "country") == 0) {
        def->scope_count = 1;
        def->scopes[0] = RUNG_SLICE("country");
    }
    both(w, &e);
}

static void settle_players(world *w) {
    for (uint32_t i = 0; i < w->players / 2; i++) { /* the other half is new when it comes */
        char name[24], country[4];
        snprintf(name, sizeof name, "player:%08u", i);
        snprintf(country, sizeof country, "C%u", (unsigned)roll(w, 3));
        rung_event e = {.kind = RUNG_EVENT_PLAYER_SET,
                        .ts_ms = w->now_ms,
                        .profile = {.player = rung_slice_str(name), .count = 1}};
        e.profile.attributes[0] = (rung_attribute){RUNG_SLICE("country"), rung_slice_str(country)};
        both(w, &e);
    }
}

static void let_end(world *w, const char *key, int64_t at_ms) {
    char bytes[256];
    size_t length;
    rung_zcommand c = {.kind = RUNG_ZCOMMAND_EXPIRE, .key = rung_slice_str(key), .at_ms = at_ms};
    CHECK_OK(rung_zcommand_encode(&c, bytes, sizeof bytes, &length, NULL));
    rung_event e = {
        .kind = RUNG_EVENT_KEYS, .ts_ms = w->now_ms, .keys = {1, rung_slice_of(bytes, length)}};
    both(w, &e);
}

static void next_event(world *w, uint32_t i) {
    static const uint8_t conditions[] = {0, 0, 0, RUNG_IF_NX, RUNG_IF_XX, RUNG_IF_GT, RUNG_IF_LT};
    rung_event *e = &w->events[i];
    bool is_key = roll(w, 3) == 0;
    w->now_ms += roll(w, 40) ? (int64_t)roll(w, 1000) : (int64_t)roll(w, 30) * HOUR;
    snprintf(w->names[i], sizeof w->names[i], "player:%08u", (unsigned)roll(w, w->players));
    *e = (rung_event){.kind = RUNG_EVENT_SCORE, .ts_ms = w->now_ms};
    e->score.board = rung_slice_str(is_key ? keys[roll(w, KEYS)] : boards[roll(w, BOARDS)]);
    e->score.player = rung_slice_str(w->names[i]);
    e->score.value_count = 1;
    e->score.is_delta = roll(w, 4) == 0;
    e->score.is_brief = roll(w, 2);
    int64_t value = (int64_t)roll(w, 60) - 5;
    if (is_key) {
        e->score.when = RUNG_SCORE_KEY | conditions[roll(w, sizeof conditions)];
        e->score.types[0] = RUNG_SCORE_REAL;
        e->score.values[0].d = (double)value;
    } else {
        e->score.values[0].i = value;
    }
}

static void compare(const rung_outcome *a, const rung_outcome *b) {
    CHECK_EQ_U64(a->seq, b->seq);
    CHECK_EQ_U64(a->held, b->held);
    CHECK_EQ_U64(a->is_new, b->is_new);
    CHECK_EQ_U64(a->rank_before, b->rank_before);
    CHECK_EQ_U64(a->rank, b->rank);
    CHECK_EQ_U64(a->passed, b->passed);
    CHECK_EQ_U64(a->window_count, b->window_count);
    CHECK_EQ_U64(a->value_count, b->value_count);
    CHECK_EQ_MEM(a->values, b->values, a->value_count * sizeof(rung_value));
    CHECK(a->has_next == b->has_next && rung_slice_eq(a->next, b->next));
}

static void run(world *w) {
    static rung_status statuses[RUN_MAX];
    static rung_outcome outcomes[RUN_MAX], alone;
    static const rung_event *list[RUN_MAX];
    uint32_t n = 1 + (uint32_t)roll(w, RUN_MAX);
    for (uint32_t i = 0; i < n; i++) {
        next_event(w, i);
        list[i] = &w->events[i];
    }
    CHECK_EQ_U64(rung_state_apply_batch(w->many, n, list, statuses, outcomes, NULL), n);
    for (uint32_t i = 0; i < n; i++) {
        memset(&alone, 0, sizeof alone);
        CHECK_STATUS(rung_state_apply(w->one, list[i], &alone, NULL), statuses[i]);
        if (statuses[i] >= 0)
            compare(&outcomes[i], &alone);
    }
    rung_digest a = rung_state_digest(w->one), b = rung_state_digest(w->many);
    CHECK(a.a == b.a && a.b == b.b);
}

static void run_world(uint64_t seed) {
    static world w;
    w.now_ms = NOON;
    rung_rng_seed(&w.rng, seed);
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &w.one));
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &w.many));
    w.players = roll(&w, 2) ? 20 : 600;
    for (uint32_t i = roll(&w, 3) ? 0 : 3; i < BOARDS; i++) /* or none with a scope */
        define(&w, boards[i]);
    settle_players(&w);
    for (int i = 0; i < 12; i++) {
        run(&w);
        if (roll(&w, 2)) /* in the middle of the next run, likely */
            let_end(&w, keys[roll(&w, KEYS)], w.now_ms + (int64_t)roll(&w, 60000));
    }
    CHECK_SOUND(rung_state_check(w.many));
    rung_state_destroy(w.one);
    rung_state_destroy(w.many);
}

TEST(a_run_is_as_one_by_one) {
    const char *given = getenv("RUNG_SEED");
    if (given) {
        run_world(strtoull(given, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= 60; seed++) {
        printf("RUNG_SEED=%llu\n", (unsigned long long)seed);
        run_world(seed);
    }
}

RUNG_TEST_MAIN
