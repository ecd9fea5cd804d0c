/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rating_state.c - matches per second through the state machine: ids looked up, everybody rated, every window
 * and the ranks before and after, the match remembered. The players have played before, so no memory grows.
 *
 * Matches are applied as the server does it: groups of 256 that the state may foresee, one call each. The same matches
 * one by one show what the look-ahead saves. Making the events is not counted. Processor time of the one thread. */
#include "base/bytes.h"
#include "base/hash.h"
#include "state/ratings.h"
#include "state/state.h"
#include "support/machine.h"
#include "support/options.h"
#include "support/stopwatch.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { GROUP = 256, ROUNDS_MAX = 64, MATCHES = 200000, SIDES_MAX = 8 };

typedef struct setup {
    const char *name;
    rung_rating_system system;
    uint32_t sides, each, windows;
    double bar; /* matches per second at a million players; 0: none */
} setup;

#define WITH_DAY (RUNG_WINDOWS_ALL | RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY))
static const setup setups[] = {
    {"Elo, 1 against 1", RUNG_RATING_ELO, 2, 1, RUNG_WINDOWS_ALL, 300000},
    {"Glicko-2, 1 against 1", RUNG_RATING_GLICKO2, 2, 1, RUNG_WINDOWS_ALL, 150000},
    {"Plackett-Luce, 1 against 1", RUNG_RATING_OPENSKILL, 2, 1, RUNG_WINDOWS_ALL, 0},
    {"Elo, 1 against 1, all and day", RUNG_RATING_ELO, 2, 1, WITH_DAY, 0},
    {"Plackett-Luce, 5 against 5", RUNG_RATING_OPENSKILL, 2, 5, RUNG_WINDOWS_ALL, 0},
    {"Plackett-Luce, 8 for themselves", RUNG_RATING_OPENSKILL, 8, 1, RUNG_WINDOWS_ALL, 0},
};

typedef struct group {
    uint8_t packed[GROUP][1024];
    rung_event events[GROUP];
    const rung_event *list[GROUP];
} group;

static uint64_t dice;

static uint64_t roll(void) {
    dice += UINT64_C(0x9e3779b97f4a7c15);
    return rung_hash_word(dice);
}

static rung_state *create(const setup *set, int64_t now) {
    static rung_event e;
    rung_state *s;
    rung_err err;
    if (rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap(), .rules_level = 2}, &s) <
        0)
        bench_die("out of memory");
    e = (rung_event){.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = now};
    e.defined.board = RUNG_SLICE("ladder");
    e.defined.def = rung_board_def_default();
    e.defined.def.update = (rung_update)(RUNG_UPDATE_ELO + set->system);
    e.defined.def.key.columns[0] = (rung_column){RUNG_SCORE_DECIMAL, RUNG_ORDER_DESC, 2};
    e.defined.def.windows = set->windows;
    rung_rating_params_init(&e.defined.def.rating, set->system);
    if (rung_state_apply(s, &e, NULL, &err) < 0)
        bench_die("%s", err.message);
    return s;
}

/* Different players: a random one and those after it, with a stride. */
static void fill(group *g, uint32_t i, const setup *set, uint32_t players, uint32_t first,
                 int64_t now) {
    rung_byte_writer w = rung_byte_writer_of(g->packed[i], sizeof g->packed[i]);
    uint32_t best = (uint32_t)(roll() % set->sides);
    for (uint32_t k = 0; k < set->sides * set->each; k++) {
        char id[24];
        snprintf(id, sizeof id, "player:%08u", (first + k * 7919) % players);
        rung_match_entry e = {.player = rung_slice_of(id, 15),
                              .is_first = k % set->each == 0,
                              .place = (int32_t)((k / set->each + best) % set->sides),
                              .weight = 1,
                              .played = 1};
        if (!rung_match_put(&w, &e))
            bench_die("no room for a match");
    }
    rung_event *e = &g->events[i];
    *e = (rung_event){.kind = RUNG_EVENT_MATCH, .ts_ms = now};
    e->match.board = RUNG_SLICE("ladder");
    e->match.packed = rung_slice_of(g->packed[i], rung_byte_writer_length(&w));
    e->match.player_count = set->sides * set->each;
    g->list[i] = e;
}

static void play(rung_state *s, const group *g, uint32_t n, bool foresees) {
    if (foresees)
        rung_state_foresee(s, n, g->list);
    for (uint32_t i = 0; i < n; i++) {
        rung_err err;
        rung_outcome outcome;
        if (rung_state_apply(s, g->list[i], &outcome, &err) != RUNG_OK)
            bench_die("%s", err.message);
    }
}

/* Everybody plays once; then enough matches that the ratings differ. */
static void load(rung_state *s, group *g, const setup *set, uint32_t players, int64_t now) {
    uint32_t at = 0;
    for (uint32_t first = 0; first < players + GROUP * 1024; first++) {
        bool is_random = first >= players;
        fill(g, at++, set, players, is_random ? (uint32_t)(roll() % players) : first, now);
        if (at == GROUP) {
            play(s, g, at, true);
            at = 0;
        }
    }
}

static double matches_per_second(rung_state *s, group *g, const setup *set, uint32_t players,
                                 uint32_t matches, int64_t now, bool foresees) {
    uint64_t spent = 0;
    for (uint32_t i = 0; i < matches; i += GROUP) {
        for (uint32_t k = 0; k < GROUP; k++)
            fill(g, k, set, players, (uint32_t)(roll() % players), now + i / 100);
        uint64_t start = bench_cpu_ns();
        play(s, g, GROUP, foresees);
        spent += bench_cpu_ns() - start;
    }
    return (double)matches / ((double)spent * 1e-9);
}

static void run(const setup *set, uint32_t players, uint64_t rounds, bench_table *t) {
    static group g;
    const int64_t now = INT64_C(1794700800000); /* 2026-11-15T00:00Z */
    double ahead[ROUNDS_MAX], alone[ROUNDS_MAX];
    bench_label label = bench_count_label(players);
    bench_progress("%s players, %s", label.text, set->name);
    rung_state *s = create(set, now);
    load(s, &g, set, players, now);
    uint32_t matches = MATCHES / GROUP * 2 / (set->sides * set->each) * GROUP;
    rounds = rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    for (uint64_t r = 0; r < rounds; r++) {
        int64_t then = now + (int64_t)(r + 1) * 10000;
        ahead[r] = matches_per_second(s, &g, set, players, matches, then, true);
        alone[r] = matches_per_second(s, &g, set, players, matches / 4, then + 5000, false);
    }
    double rate = bench_median(ahead, rounds);
    bench_table_cell(t, "%s, %s", label.text, set->name);
    bench_table_cell(t, "%.0f k", rate * 1e-3);
    bench_table_cell(t, "%.0f k", bench_median(alone, rounds) * 1e-3);
    if (set->bar > 0)
        bench_table_cell(t, "%.0f k %s", set->bar * 1e-3, rate >= set->bar ? "met" : "missed");
    else
        bench_table_skip(t, 1);
    rung_state_destroy(s);
}

int main(int argc, char **argv) {
    bench_options o = {
        .sizes = {1000000}, .size_count = 1, .rounds = 7, .seed = 1, .section = "rating-state"};
    uint64_t only = 0;
    const bench_option own[] = {
        {"--only", BENCH_NUMBER, &only, "     one of the boards, from 1 on"}, {0}};
    bench_options_parse(&o, argc, argv, "matches per second through the state machine", own);
    bench_report report = {0};
    bench_table t = {0};
    dice = o.seed;
    bench_machine_describe(&report, o.command);
    bench_table_head(&t, 4, "players, matches", "matches/s", "without look-ahead", "bar");
    for (size_t i = 0; i < o.size_count; i++)
        for (size_t k = 0; k < sizeof setups / sizeof setups[0]; k++)
            if (only == 0 || only == k + 1)
                run(&setups[k], (uint32_t)o.sizes[i], o.rounds, &t);
    bench_table_end(&t, &report);
    int code = bench_options_finish(&o, &report);
    bench_report_deinit(&report);
    return code;
}
