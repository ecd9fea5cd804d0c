/* SPDX-License-Identifier: Apache-2.0 */
/* What a submission costs (id look-up, rules, every window and scope, the answer with ranks), in bare ladder
 * moves of the same run; what a player costs in memory; what ranking friends costs. The board's update is
 * `last`, so that every submission moves an entry. */
#include "ladder/pipeline.h"
#include "state/state.h"
#include "support/ladder_batch.h"
#include "support/machine.h"
#include "support/options.h"
#include "support/stopwatch.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 32, COUNTRIES = 200, SCORES = 1000000 };

typedef struct setup {
    const char *name;
    uint32_t windows;
    bool country;
    double moves_max, bytes_max; /* the bars; 0: none */
} setup;

#define THREE_WINDOWS                                                                              \
    (RUNG_WINDOWS_ALL | RUNG_WINDOWS_BIT(RUNG_WINDOW_WEEK) | RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY))

static const setup setups[] = {
    {"all", RUNG_WINDOWS_ALL, false, 2.5, 64},
    {"all + week + day", THREE_WINDOWS, false, 6, 130},
    {"all + week + day, by country", THREE_WINDOWS, true, 9, 0},
};

static uint64_t dice;

static uint64_t roll(void) {
    dice += UINT64_C(0x9e3779b97f4a7c15);
    return rung_hash_word(dice);
}

/* ---- the bare ladder ---- */

static rung_ladder *load_ladder(uint32_t players) {
    rung_ladder *l;
    rung_ladder_config config = {.alloc = rung_alloc_heap(), .key_words = 2, .score_words = 1};
    if (rung_ladder_create(&config, &l) < 0)
        bench_die("out of memory");
    for (uint32_t i = 0; i < players; i++) {
        uint64_t key[2] = {~(roll() % SCORES), i};
        if (rung_ladder_put(l, (uint32_t)((uint64_t)i * 2654435761u % players), key, NULL) < 0)
            bench_die("out of memory");
    }
    return l;
}

/* Nanoseconds of one move, in batches. */
static double time_moves(rung_ladder *l, uint32_t players, uint32_t ops, uint64_t *clock) {
    uint32_t who[BATCH];
    uint64_t keys[2 * BATCH], start = bench_cpu_ns();
    for (uint32_t i = 0; i < ops; i += BATCH) {
        for (uint32_t k = 0; k < BATCH; k++) {
            who[k] = (uint32_t)(roll() % players);
            keys[2 * k] = ~(roll() % SCORES);
            keys[2 * k + 1] = (*clock)++;
        }
        if (ladder_put_batch(l, 2, BATCH, who, keys, NULL, NULL) < 0)
            bench_die("out of memory");
    }
    return (double)(bench_cpu_ns() - start) / ops;
}

/* ---- the state ---- */

typedef struct batch {
    char ids[BATCH][24];
    rung_event events[BATCH];
    const rung_event *list[BATCH];
    rung_status statuses[BATCH];
    rung_outcome outcomes[BATCH];
} batch;

static void apply_one(rung_state *s, const rung_event *e) {
    rung_err err;
    if (rung_state_apply(s, e, NULL, &err) < 0)
        bench_die("%s", err.message);
}

static void define_board(rung_state *s, const setup *set, int64_t now) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = now};
    e.defined.board = RUNG_SLICE("race");
    e.defined.def = rung_board_def_default();
    e.defined.def.update = RUNG_UPDATE_LAST;
    e.defined.def.windows = set->windows;
    if (set->country) {
        e.defined.def.scope_count = 1;
        e.defined.def.scopes[0] = RUNG_SLICE("country");
    }
    apply_one(s, &e);
}

static void set_countries(rung_state *s, uint32_t players, int64_t now) {
    for (uint32_t i = 0; i < players; i++) {
        char id[20], country[8];
        snprintf(id, sizeof id, "player:%08u", i);
        snprintf(country, sizeof country, "C%u", (unsigned)(roll() % COUNTRIES));
        rung_event e = {.kind = RUNG_EVENT_PLAYER_SET, .ts_ms = now};
        e.profile.player = rung_slice_str(id);
        e.profile.count = 1;
        e.profile.attributes[0] = (rung_attribute){RUNG_SLICE("country"), rung_slice_str(country)};
        apply_one(s, &e);
    }
}

static void submit(rung_state *s, batch *b, uint32_t n) {
    if (rung_state_apply_batch(s, n, b->list, b->statuses, b->outcomes, NULL) != n)
        bench_die("out of memory");
    for (uint32_t i = 0; i < n; i++)
        if (b->statuses[i] < 0)
            bench_die("refused: %s", rung_status_name(b->statuses[i]));
}

static void fill(batch *b, uint32_t i, uint32_t player, int64_t now) {
    snprintf(b->ids[i], sizeof b->ids[i], "player:%08u", player);
    rung_event *e = &b->events[i];
    e->kind = RUNG_EVENT_SCORE;
    e->ts_ms = now;
    e->score = (rung_score_event){.board = RUNG_SLICE("race"),
                                  .player = rung_slice_of(b->ids[i], 15),
                                  .value_count = 1,
                                  .values = {{.i = (int64_t)(roll() % SCORES)}}};
    b->list[i] = e;
}

static rung_state *load_state(const setup *set, uint32_t players, int64_t now, batch *b) {
    rung_state *s;
    if (rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s) < 0)
        bench_die("out of memory");
    define_board(s, set, now);
    if (set->country)
        set_countries(s, players, now);
    for (uint32_t i = 0; i < players; i += BATCH) {
        uint32_t n = players - i < BATCH ? players - i : BATCH;
        for (uint32_t k = 0; k < n; k++)
            fill(b, k, (uint32_t)((uint64_t)(i + k) * 2654435761u % players), now + (i + k) / 1000);
        submit(s, b, n);
    }
    return s;
}

/* Nanoseconds of one submission, in batches; making the events is not counted. */
static double time_submissions(rung_state *s, batch *b, uint32_t players, uint32_t ops, int64_t now,
                               bool batched) {
    uint64_t spent = 0;
    for (uint32_t i = 0; i < ops; i += BATCH) {
        for (uint32_t k = 0; k < BATCH; k++)
            fill(b, k, (uint32_t)(roll() % players), now + i / 100);
        uint64_t start = bench_cpu_ns();
        if (batched) {
            submit(s, b, BATCH);
        } else {
            for (uint32_t k = 0; k < BATCH; k++)
                b->statuses[k] = rung_state_apply(s, b->list[k], &b->outcomes[k], NULL);
        }
        spent += bench_cpu_ns() - start;
    }
    return (double)spent / ops;
}

/* ---- friends ---- */

/* Microseconds to rank `friends` random friends of one player and read the best hundred of them. */
static double time_friends(rung_state *s, uint32_t players, uint32_t friends, int64_t now) {
    static char packed[(1 + 15) * RUNG_FRIENDS_MAX];
    char id[24];
    for (uint32_t i = 0; i < friends; i++) {
        snprintf(id, sizeof id, "player:%08u", (uint32_t)(roll() % players));
        packed[16 * i] = 15;
        memcpy(packed + 16 * i + 1, id, 15);
    }
    rung_event e = {.kind = RUNG_EVENT_FRIENDS_REPLACED, .ts_ms = now};
    e.friends.player = RUNG_SLICE("the one with friends");
    e.friends.follow = true;
    e.friends.count = friends;
    e.friends.packed = rung_slice_of(packed, 16 * (size_t)friends);
    apply_one(s, &e);
    double times[15];
    static rung_row rows[100];
    for (int i = 0; i < 15; i++) {
        rung_view view;
        uint32_t count, total;
        uint64_t start = bench_cpu_ns();
        if (rung_state_view(s, &(rung_query){.board = RUNG_SLICE("race")}, &view, NULL) < 0 ||
            rung_view_friends(&view, rung_alloc_heap(), e.friends.player, 0, 100, rows, &count,
                              &total) < 0)
            bench_die("no friends");
        times[i] = (double)(bench_cpu_ns() - start) * 1e-3;
    }
    return bench_median(times, 15);
}

static void run(const setup *set, uint32_t players, uint64_t rounds, bench_table *t,
                bench_table *f) {
    static batch b;
    const uint32_t ops = 320000;
    const int64_t now = INT64_C(1794700800000); /* 2026-11-15T00:00Z, a Sunday */
    uint64_t clock = players;
    bench_label label = bench_count_label(players);
    bench_progress("%s players, %s: loading", label.text, set->name);
    rung_state *s = load_state(set, players, now, &b);
    rung_ladder *l = load_ladder(players);
    double moves[64], batched[64], single[64], ratio[64];
    if (rounds > 64)
        rounds = 64;
    for (uint64_t r = 0; r < rounds; r++) {
        moves[r] = time_moves(l, players, ops, &clock);
        int64_t t0 = now + players / 1000 + (int64_t)r * 20000;
        batched[r] = time_submissions(s, &b, players, ops, t0, true);
        single[r] = time_submissions(s, &b, players, ops / 4, t0 + 10000, false);
        ratio[r] = batched[r] / moves[r];
    }
    rung_stats stats;
    rung_state_stats(s, &stats);
    if (set == setups) {
        bench_table_cell(f, "%s", label.text);
        bench_table_cell(f, "%.0f", time_friends(s, players, 200, now));
        bench_table_cell(f, "%.0f", time_friends(s, players, RUNG_FRIENDS_MAX, now));
    }
    double bytes = (double)(stats.bytes_players + stats.bytes_entries) / players;
    double cost = bench_median(ratio, rounds);
    bench_table_cell(t, "%s, %s", label.text, set->name);
    bench_table_cell(t, "%.2f", 1e3 / bench_median(batched, rounds));
    bench_table_cell(t, "%.2f", 1e3 / bench_median(single, rounds));
    bench_table_cell(t, "%.2f", 1e3 / bench_median(moves, rounds));
    bench_table_cell(t, "%.2f", cost);
    bench_table_cell(t, "%.1f %s", set->moves_max, cost <= set->moves_max ? "met" : "missed");
    bench_table_cell(t, "%.1f", bytes);
    bench_table_cell(t, "%.1f", (double)stats.bytes_total / players);
    if (set->bytes_max > 0)
        bench_table_cell(t, "%.0f %s", set->bytes_max, bytes <= set->bytes_max ? "met" : "missed");
    else
        bench_table_skip(t, 1);
    rung_ladder_destroy(l);
    rung_state_destroy(s);
}

int main(int argc, char **argv) {
    bench_options o = {
        .sizes = {1000000, 10000000}, .size_count = 2, .rounds = 7, .seed = 1, .section = "state"};
    uint64_t only = 0;
    const bench_option own[] = {
        {"--only", BENCH_NUMBER, &only, "     one board: 1 all, 2 three windows, 3 by country"},
        {0}};
    bench_options_parse(&o, argc, argv,
                        "What a submission costs in the state machine, in bare ladder moves.", own);
    bench_report report = {0};
    bench_table t = {0}, friends = {0};
    dice = o.seed;
    bench_machine_describe(&report, o.command);
    bench_report_line(
        &report,
        "Submissions of random known players (15-byte ids) with random scores to a board with");
    bench_report_line(
        &report,
        "`update: last`, in batches of %d. Every submission moves an entry, and its answer has",
        BATCH);
    bench_report_line(&report,
                      "ranks, percentile and the next player. A move is one put of a batch "
                      "of the same size,");
    bench_report_line(&report, "measured alternately in the same run. CPU time of the one thread.");
    bench_report_gap(&report);
    bench_table_head(&t, 9, "players, windows", "M events/s", "one by one", "M moves/s",
                     "moves per event", "bar", "bytes per player", "all in", "bar");
    bench_table_head(&friends, 3, "players", "200 friends ranked, us", "10,000 friends ranked, us");
    for (size_t i = 0; i < o.size_count; i++)
        for (size_t k = 0; k < sizeof setups / sizeof setups[0]; k++)
            if (only == 0 || only == k + 1)
                run(&setups[k], (uint32_t)o.sizes[i], o.rounds, &t, &friends);
    bench_table_end(&t, &report);
    bench_table_end(&friends, &report);
    int code = bench_options_finish(&o, &report);
    bench_report_deinit(&report);
    return code;
}
