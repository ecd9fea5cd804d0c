/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rating_simulation.c - how well the systems find hidden skills: one million matches between players whose
 * true skill the program knows and the systems do not.
 *
 * Skills are normal with mean 1500 and deviation 300; a player beats another with the probability that Elo's
 * formula gives for the true skills. Pairs are random: a matchmaker that knew the true skills would tell them to the
 * systems. Every system sees the same matches. Before each match it predicts the result; the log-loss is the mean of
 * -ln(probability given to what happened): 0.693 for a coin. The rank correlation is Spearman's, between true skill
 * and the rating (not the displayed, conservative one). --csv FILE writes what tools/rating_plot.py draws. */
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

enum { PLAYERS = 10000, CHECKPOINTS = 8, SYSTEMS = 5 };

/* Checkpoints, in matches per player: each match has two players. */
static const double GAMES[CHECKPOINTS] = {1, 2, 5, 10, 20, 50, 100, 200};

typedef struct contender {
    const char *name;
    rung_rating_params params;
    rung_rating ratings[PLAYERS];
    double loss, correlation[CHECKPOINTS], losses[CHECKPOINTS];
} contender;

static contender systems[SYSTEMS];
static double skill[PLAYERS];
static const double *sort_by;

static int compare(const void *a, const void *b) {
    double x = sort_by[*(const uint32_t *)a], y = sort_by[*(const uint32_t *)b];
    return x > y ? -1 : x < y;
}

static void rank_by(const double *values, uint32_t *order, double *rank) {
    for (uint32_t i = 0; i < PLAYERS; i++)
        order[i] = i;
    sort_by = values;
    qsort(order, PLAYERS, sizeof *order, compare);
    for (uint32_t i = 0; i < PLAYERS;) { /* equal values share the mean of their ranks */
        uint32_t end = i;
        while (end < PLAYERS && values[order[end]] == values[order[i]])
            end++;
        for (uint32_t j = i; j < end; j++)
            rank[order[j]] = (i + end - 1) / 2.0;
        i = end;
    }
}

static double correlation(const contender *s) {
    static double values[PLAYERS], ranks[PLAYERS], true_ranks[PLAYERS];
    static uint32_t order[PLAYERS];
    for (int i = 0; i < PLAYERS; i++)
        values[i] = s->ratings[i].rating;
    rank_by(values, order, ranks);
    rank_by(skill, order, true_ranks);
    double mean = (PLAYERS - 1) / 2.0, xy = 0, xx = 0, yy = 0;
    for (int i = 0; i < PLAYERS; i++) {
        double x = ranks[i] - mean, y = true_ranks[i] - mean;
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    return xx > 0 ? xy / sqrt(xx * yy) : 0;
}

static void start(contender *s, const char *name, rung_rating_system system,
                  rung_wenglin_model model) {
    s->name = name;
    rung_rating_params_init(&s->params, system);
    if (system == RUNG_RATING_OPENSKILL)
        s->params.wenglin.model = model;
    for (int i = 0; i < PLAYERS; i++)
        s->ratings[i] = rung_rating_initial(&s->params);
}

static double gauss(rung_rng *rng) {
    double u = 1 - rung_rng_double(rng), v = rung_rng_double(rng);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static double true_chance(uint32_t a, uint32_t b) {
    return 1 / (1 + pow(10, (skill[b] - skill[a]) / 400));
}

static void play(contender *s, uint32_t winner, uint32_t loser, int64_t at_ms) {
    static rung_rating_scratch scratch;
    rung_match_player players[] = {{s->ratings[winner], 1, 1}, {s->ratings[loser], 1, 1}};
    rung_match_side sides[] = {{0, 1, 1}, {1, 1, 2}};
    rung_match m = {players, 2, sides, 2, at_ms};
    rung_prediction predicted[2];
    rung_rating after[2];
    double draw;
    if (rung_rating_predict(&s->params, &m, &scratch, predicted, &draw, NULL) < 0 ||
        rung_rating_rate(&s->params, &m, &scratch, after, NULL) < 0)
        abort();
    s->loss -= log(fmax(predicted[0].win, 1e-12));
    s->ratings[winner] = after[0];
    s->ratings[loser] = after[1];
}

static void pair(rung_rng *rng, uint32_t *a, uint32_t *b) {
    *a = (uint32_t)rung_rng_below(rng, PLAYERS);
    *b = (uint32_t)rung_rng_below(rng, PLAYERS - 1);
    *b += *b >= *a;
}

static void write_csv(const char *path, const double *best) {
    FILE *f = fopen(path, "w");
    if (f == NULL)
        bench_die("cannot write %s", path);
    fprintf(f, "system,games,correlation,loss\n");
    for (int i = 0; i < SYSTEMS; i++)
        for (int c = 0; c < CHECKPOINTS; c++)
            fprintf(f, "%s,%g,%.6f,%.6f\n", systems[i].name, GAMES[c], systems[i].correlation[c],
                    systems[i].losses[c]);
    for (int c = 0; c < CHECKPOINTS; c++)
        fprintf(f, "true skill,%g,1,%.6f\n", GAMES[c], best[c]);
    fclose(f);
}

static void table_of(bench_report *r, const char *what, bool is_loss, const double *best) {
    bench_table t = {0};
    bench_table_head(&t, 9, what, "1 game", "2", "5", "10", "20", "50", "100", "200");
    for (int i = 0; i < SYSTEMS; i++) {
        bench_table_cell(&t, "%s", systems[i].name);
        for (int c = 0; c < CHECKPOINTS; c++)
            bench_table_cell(&t, "%.3f",
                             is_loss ? systems[i].losses[c] : systems[i].correlation[c]);
    }
    if (is_loss) {
        bench_table_cell(&t, "who knows the true skills");
        for (int c = 0; c < CHECKPOINTS; c++)
            bench_table_cell(&t, "%.3f", best[c]);
    }
    bench_table_end(&t, r);
}

int main(int argc, char **argv) {
    const char *csv = NULL;
    const bench_option own[] = {
        {"--csv", BENCH_TEXT, &csv, "write the figures for tools/rating_plot.py"}, {0}};
    bench_options o = {.section = "rating-simulation",
                       .sizes = {1000000},
                       .size_count = 1,
                       .rounds = 1,
                       .seed = 1};
    bench_options_parse(&o, argc, argv, "how well ratings find hidden skills", own);
    if (o.markdown != NULL)
        o.markdown = "docs/ratings.md";
    start(&systems[0], "Elo", RUNG_RATING_ELO, 0);
    start(&systems[1], "Glicko-2", RUNG_RATING_GLICKO2, 0);
    start(&systems[2], "Plackett-Luce", RUNG_RATING_OPENSKILL, RUNG_WENGLIN_PLACKETT_LUCE);
    start(&systems[3], "Bradley-Terry full", RUNG_RATING_OPENSKILL,
          RUNG_WENGLIN_BRADLEY_TERRY_FULL);
    start(&systems[4], "Bradley-Terry part", RUNG_RATING_OPENSKILL,
          RUNG_WENGLIN_BRADLEY_TERRY_PART);
    rung_rng rng;
    rung_rng_seed(&rng, o.seed);
    for (int i = 0; i < PLAYERS; i++)
        skill[i] = 1500 + 300 * gauss(&rng);

    double best[CHECKPOINTS] = {0}, known = 0;
    uint64_t since = 0;
    int checkpoint = 0;
    for (uint64_t done = 0; done < o.sizes[0] && checkpoint < CHECKPOINTS;) {
        uint32_t a, b;
        pair(&rng, &a, &b);
        double chance = true_chance(a, b);
        bool a_wins = rung_rng_double(&rng) < chance;
        known -= log(a_wins ? chance : 1 - chance);
        for (int i = 0; i < SYSTEMS; i++) /* a second between matches: nobody is inactive */
            play(&systems[i], a_wins ? a : b, a_wins ? b : a, (int64_t)done * 1000);
        done++;
        since++;
        if (2.0 * (double)done / PLAYERS < GAMES[checkpoint])
            continue;
        for (int i = 0; i < SYSTEMS; i++) {
            systems[i].correlation[checkpoint] = correlation(&systems[i]);
            systems[i].losses[checkpoint] = systems[i].loss / (double)since;
            systems[i].loss = 0;
        }
        best[checkpoint++] = known / (double)since;
        known = 0;
        since = 0;
    }
    bench_report report = {0};
    bench_machine_describe(&report, o.command);
    bench_report_line(&report, "%d players; columns are matches per player so far.", PLAYERS);
    bench_report_gap(&report);
    table_of(&report, "rank correlation with the true skill", false, best);
    table_of(&report, "log-loss since the column before", true, best);
    if (csv != NULL)
        write_csv(csv, best);
    return bench_options_finish(&o, &report);
}
