/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rating.c - matches per second of the rating room, beside plain C loops with libm and the openskill packages.
 *
 * 100,000 players in an array; each match takes random players, rates them and stores the results. The plain loops
 * hold the same formulas for two players and nothing else: no checks, no sides, no weights. All three take turns in
 * every round. The packages run in their own processes (tools/rating_speed.py) if e2e.rating_reference has installed
 * them. Times are processor times; a figure is the median of the rounds. */
#include "rating/rating.h"
#include "support/machine.h"
#include "support/options.h"
#include "support/report.h"
#include "support/rng.h"
#include "support/stopwatch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAYERS = 100000, ROUNDS_MAX = 99, CASES_MAX = 16 };

typedef struct bench_case {
    const char *name;
    rung_rating_system system;
    rung_wenglin_model model;
    uint32_t sides, each;
    void (*plain)(rung_rating *a, rung_rating *b); /* `a` won; NULL: none */
    const char *package; /* what tools/rating_speed.py calls it; NULL: none */
} bench_case;

static void plain_elo(rung_rating *a, rung_rating *b) {
    double expected = 1 / (1 + pow(10, (b->rating - a->rating) / 400));
    double change = 32 * (1 - expected);
    a->rating += change;
    b->rating -= change;
}

static double plain_f(double x, double a, double d2, double phi2, double v) {
    double e = exp(x), d = phi2 + v + e;
    return e * (d2 - d) / (2 * d * d) - (x - a) / 0.25;
}

static rung_rating plain_glicko2_one(const rung_rating *me, const rung_rating *other,
                                     double points) {
    double phi2 = me->deviation / 173.7178 * (me->deviation / 173.7178),
           op = other->deviation / 173.7178;
    double g = 1 / sqrt(1 + 3 * op * op / (M_PI * M_PI));
    double e = 1 / (1 + exp(-g * (me->rating - other->rating) / 173.7178));
    double v = 1 / (g * g * e * (1 - e)), delta = v * g * (points - e);
    double a = log(me->volatility * me->volatility), low = a, high;
    if (delta * delta > phi2 + v) {
        high = log(delta * delta - phi2 - v);
    } else {
        high = a - 0.5;
        while (plain_f(high, a, delta * delta, phi2, v) < 0)
            high -= 0.5;
    }
    double f_low = plain_f(low, a, delta * delta, phi2, v),
           f_high = plain_f(high, a, delta * delta, phi2, v);
    while (fabs(high - low) > 1e-6) {
        double c = low + (low - high) * f_low / (f_high - f_low),
               f_c = plain_f(c, a, delta * delta, phi2, v);
        if (f_c * f_high <= 0) {
            low = high;
            f_low = f_high;
        } else {
            f_low /= 2;
        }
        high = c;
        f_high = f_c;
    }
    rung_rating r = *me;
    r.volatility = exp(low / 2);
    double variance = 1 / (1 / phi2 + 1 / v);
    r.deviation = fmax(30, 173.7178 * sqrt(variance));
    r.rating += 173.7178 * variance * g * (points - e);
    return r;
}

static void plain_glicko2(rung_rating *a, rung_rating *b) {
    rung_rating first = plain_glicko2_one(a, b, 1);
    *b = plain_glicko2_one(b, a, 0);
    *a = first;
}

static void plain_luce(rung_rating *a, rung_rating *b) {
    double beta = 25.0 / 6, tau = 25.0 / 300;
    double va = a->deviation * a->deviation + tau * tau,
           vb = b->deviation * b->deviation + tau * tau;
    double c = sqrt(va + vb + 2 * beta * beta), ea = exp(a->rating / c), eb = exp(b->rating / c),
           p = ea / (ea + eb);
    a->rating += va / c * (1 - p);
    b->rating -= vb / c * (1 - p);
    a->deviation = sqrt(va * fmax(1 - va / (c * c) * sqrt(va) / c * p * (1 - p), 0.0001));
    b->deviation = sqrt(vb * fmax(1 - vb / (c * c) * sqrt(vb) / c * p * (1 - p), 0.0001));
}

static const bench_case CASES[] = {
    {"Elo, 1 against 1", RUNG_RATING_ELO, 0, 2, 1, plain_elo, NULL},
    {"Elo, 8 for themselves", RUNG_RATING_ELO, 0, 8, 1, NULL, NULL},
    {"Glicko-2, 1 against 1", RUNG_RATING_GLICKO2, 0, 2, 1, plain_glicko2, NULL},
    {"Glicko-2, 5 against 5", RUNG_RATING_GLICKO2, 0, 2, 5, NULL, NULL},
    {"Plackett-Luce, 1 against 1", RUNG_RATING_OPENSKILL, RUNG_WENGLIN_PLACKETT_LUCE, 2, 1,
     plain_luce, "plackett_luce 2 1"},
    {"Plackett-Luce, 5 against 5", RUNG_RATING_OPENSKILL, RUNG_WENGLIN_PLACKETT_LUCE, 2, 5, NULL,
     "plackett_luce 2 5"},
    {"Plackett-Luce, 8 for themselves", RUNG_RATING_OPENSKILL, RUNG_WENGLIN_PLACKETT_LUCE, 8, 1,
     NULL, "plackett_luce 8 1"},
    {"Bradley-Terry full, 8 for themselves", RUNG_RATING_OPENSKILL, RUNG_WENGLIN_BRADLEY_TERRY_FULL,
     8, 1, NULL, "bradley_terry_full 8 1"},
    {"Bradley-Terry part, 8 for themselves", RUNG_RATING_OPENSKILL, RUNG_WENGLIN_BRADLEY_TERRY_PART,
     8, 1, NULL, "bradley_terry_part 8 1"},
};
#define CASE_COUNT (sizeof CASES / sizeof CASES[0])

static rung_rating players[PLAYERS];
static uint32_t who[RUNG_MATCH_PLAYERS_MAX];

static void reset(const rung_rating_params *p) {
    for (int i = 0; i < PLAYERS; i++)
        players[i] = rung_rating_initial(p);
}

/* Different players: a random one and those after it, with a stride. */
static void deal(rung_rng *rng, uint32_t n) {
    uint32_t first = (uint32_t)rung_rng_below(rng, PLAYERS);
    for (uint32_t i = 0; i < n; i++)
        who[i] = (first + i * 7919) % PLAYERS;
}

/* Matches per second of processor time. */
static double rate_ours(const bench_case *c, uint64_t matches, rung_rng *rng) {
    static rung_rating_scratch scratch;
    static rung_rating after[RUNG_MATCH_PLAYERS_MAX];
    static rung_match_player in[RUNG_MATCH_PLAYERS_MAX];
    static rung_match_side sides[RUNG_MATCH_PLAYERS_MAX];
    rung_rating_params p;
    rung_rating_params_init(&p, c->system);
    if (c->system == RUNG_RATING_OPENSKILL)
        p.wenglin.model = c->model;
    reset(&p);
    uint32_t n = c->sides * c->each;
    for (uint32_t i = 0; i < c->sides; i++)
        sides[i] = (rung_match_side){i * c->each, c->each, (int32_t)i};
    rung_match m = {in, n, sides, c->sides, 0};
    uint64_t start = bench_cpu_ns();
    for (uint64_t done = 0; done < matches; done++) {
        deal(rng, n);
        for (uint32_t i = 0; i < n; i++)
            in[i] = (rung_match_player){players[who[i]], 1, 1};
        m.at_ms = (int64_t)done * 10;
        if (rung_rating_rate(&p, &m, &scratch, after, NULL) < 0)
            abort();
        for (uint32_t i = 0; i < n; i++)
            players[who[i]] = after[i];
    }
    return (double)matches * 1e9 / (double)(bench_cpu_ns() - start);
}

static double rate_plain(const bench_case *c, uint64_t matches, rung_rng *rng) {
    rung_rating_params p;
    rung_rating_params_init(&p, c->system);
    reset(&p);
    uint64_t start = bench_cpu_ns();
    for (uint64_t done = 0; done < matches; done++) {
        deal(rng, 2);
        c->plain(&players[who[0]], &players[who[1]]);
    }
    return (double)matches * 1e9 / (double)(bench_cpu_ns() - start);
}

/* What tools/rating_speed.py measures; 0 if the package is not there. */
static double rate_package(const bench_case *c, const char *package) {
    char command[256];
    double rate = 0;
    bool is_python = strcmp(package, "python") == 0;
    snprintf(command, sizeof command,
             "%s tools/rating_speed.py %s %s .cache/rating/javascript 2>/dev/null",
             is_python ? ".cache/rating/python/bin/python" : "python3", package, c->package);
    FILE *f = popen(command, "r");
    if (f == NULL)
        return 0;
    if (fscanf(f, "%lf", &rate) != 1)
        rate = 0;
    return pclose(f) == 0 ? rate : 0;
}

static void rate_cell(bench_table *t, double rate) {
    if (rate <= 0)
        bench_table_skip(t, 1);
    else if (rate >= 1e6)
        bench_table_cell(t, "%.2f M", rate * 1e-6);
    else
        bench_table_cell(t, "%.1f k", rate * 1e-3);
}

static void measure(const bench_case *c, const bench_options *o, bench_table *t) {
    double ours[ROUNDS_MAX], plain[ROUNDS_MAX], ratio[ROUNDS_MAX];
    size_t rounds = o->rounds < ROUNDS_MAX ? (size_t)o->rounds : ROUNDS_MAX;
    uint64_t matches = o->sizes[0] * 2 / (c->sides * c->each);
    bench_progress("%s", c->name);
    for (size_t i = 0; i < rounds; i++) {
        rung_rng rng;
        rung_rng_seed(&rng, o->seed + i);
        ours[i] = rate_ours(c, matches, &rng);
        rung_rng_seed(&rng, o->seed + i);
        plain[i] = c->plain != NULL ? rate_plain(c, matches, &rng) : 0;
        ratio[i] = plain[i] > 0 ? ours[i] / plain[i] : 0;
    }
    bench_table_cell(t, "%s", c->name);
    rate_cell(t, bench_median(ours, rounds));
    rate_cell(t, bench_median(plain, rounds));
    if (c->plain != NULL)
        bench_table_cell(t, "%.2fx", bench_median(ratio, rounds));
    else
        bench_table_skip(t, 1);
    rate_cell(t, c->package != NULL ? rate_package(c, "python") : 0);
    rate_cell(t, c->package != NULL ? rate_package(c, "javascript") : 0);
}

int main(int argc, char **argv) {
    bench_options o = {
        .section = "rating", .sizes = {1000000}, .size_count = 1, .rounds = 5, .seed = 1};
    bench_options_parse(&o, argc, argv, "matches per second of the rating systems",
                        (const bench_option[]){{0}});
    bench_report report = {0};
    bench_table table = {0};
    bench_machine_describe(&report, o.command);
    bench_table_head(&table, 6, "matches per second", "rating room", "plain C, libm", "ratio",
                     "openskill of PyPI", "openskill of npm");
    for (size_t i = 0; i < CASE_COUNT; i++)
        measure(&CASES[i], &o, &table);
    bench_table_end(&table, &report);
    return bench_options_finish(&o, &report);
}
