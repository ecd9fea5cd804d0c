/* SPDX-License-Identifier: Apache-2.0 */
/* Weng-Lin against two independent packages: the openskill of PyPI and that of npm (tools/rating_reference.py).
 * RUNG_RATING_VECTORS names another file of matches; e2e.rating_reference makes 10,000 per package. */
#include "rating/arith.h"
#include "rating/rating.h"

#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-9

static const char *const MODELS[] = {"plackett_luce", "bradley_terry_full", "bradley_terry_part"};

typedef struct sample {
    rung_rating_params params;
    rung_match_player players[RUNG_MATCH_PLAYERS_MAX];
    rung_match_side sides[RUNG_MATCH_PLAYERS_MAX];
    double mu[RUNG_MATCH_PLAYERS_MAX], sigma[RUNG_MATCH_PLAYERS_MAX]; /* what the package says */
    double expected;
    rung_match match;
} sample;

static bool read_sample(FILE *f, sample *s) {
    char model[32];
    int limit, mean;
    double kappa, beta, tau;
    uint32_t window, sides;
    if (fscanf(f, " match %31s %lf %lf %lf %d %u %d %u %lf", model, &beta, &tau, &kappa, &limit,
               &window, &mean, &sides, &s->expected) != 9)
        return false;
    CHECK(sides <= RUNG_MATCH_PLAYERS_MAX);
    rung_rating_params_init(&s->params, RUNG_RATING_OPENSKILL);
    s->params.wenglin = (rung_wenglin_params){.beta = beta,
                                              .tau = tau,
                                              .kappa = kappa,
                                              .limit_sigma = limit,
                                              .window = window,
                                              .window_mean = mean};
    while (strcmp(MODELS[s->params.wenglin.model], model) != 0) {
        CHECK(s->params.wenglin.model < RUNG_WENGLIN_BRADLEY_TERRY_PART);
        s->params.wenglin.model++;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < sides; i++) {
        rung_match_side *side = &s->sides[i];
        CHECK(fscanf(f, "%d %u", &side->place, &side->count) == 2);
        for (side->first = n; n < side->first + side->count; n++) {
            rung_match_player *p = &s->players[n];
            *p = (rung_match_player){.played = 1};
            CHECK(n < RUNG_MATCH_PLAYERS_MAX);
            CHECK(fscanf(f, "%lf %lf %lf %lf %lf", &p->rating.rating, &p->rating.deviation,
                         &p->weight, &s->mu[n], &s->sigma[n]) == 5);
        }
    }
    s->match = (rung_match){s->players, n, s->sides, sides, 0};
    return true;
}

/* Means may be near 0, where the change is what matters: both are measured beside the deviation. */
static double off_by(double got, double want, double scale) {
    return fabs(got - want) / (fabs(want) > scale ? fabs(want) : scale);
}

/* The packages use the normal distribution where our predictions use the logistic one, on the same scale. */
static double as_normal(double win) {
    return rung_normal_cdf(rung_log(win / (1 - win)));
}

static uint32_t check_file(const char *path) {
    static sample s;
    static rung_rating after[RUNG_MATCH_PLAYERS_MAX];
    static rung_prediction predicted[RUNG_MATCH_PLAYERS_MAX];
    rung_rating_scratch scratch;
    double worst = 0, draw;
    uint32_t count = 0;
    FILE *f = fopen(path, "r");
    CHECK_MSG(f != NULL, "cannot open %s", path);
    for (; read_sample(f, &s); count++) {
        CHECK_OK(rung_rating_params_check(&s.params, NULL));
        CHECK_OK(rung_rating_rate(&s.params, &s.match, &scratch, after, NULL));
        for (uint32_t i = 0; i < s.match.player_count; i++) {
            double mu = off_by(after[i].rating, s.mu[i], s.sigma[i]);
            double sigma = off_by(after[i].deviation, s.sigma[i], 0);
            CHECK_MSG(mu <= TOLERANCE && sigma <= TOLERANCE,
                      "match %u (%s), player %u: %.12g %.12g, the package says %.12g %.12g", count,
                      MODELS[s.params.wenglin.model], i, after[i].rating, after[i].deviation,
                      s.mu[i], s.sigma[i]);
            worst = fmax(worst, fmax(mu, sigma));
        }
        CHECK_OK(rung_rating_predict(&s.params, &s.match, &scratch, predicted, &draw, NULL));
        if (s.expected >= 0)
            CHECK_MSG(fabs(as_normal(predicted[0].win) - s.expected) <= TOLERANCE,
                      "match %u: win %.12g, the package says %.12g", count,
                      as_normal(predicted[0].win), s.expected);
    }
    CHECK(feof(f));
    fclose(f);
    printf("%s: %u matches, at most %.2g off\n", strrchr(path, '/') + 1, count, worst);
    return count;
}

static void check_golden(const char *name) {
    char path[4096];
    const char *source = getenv("RUNG_SOURCE");
    if (source == NULL)
        test_skip("RUNG_SOURCE is not set");
    snprintf(path, sizeof path, "%s/tests/golden/rating/%s", source, name);
    CHECK_EQ_U64(check_file(path), 300);
}

TEST(the_python_package_agrees) {
    check_golden("openskill-python.txt");
}

TEST(the_javascript_package_agrees) {
    check_golden("openskill-javascript.txt");
}

TEST(a_given_file_agrees) {
    const char *path = getenv("RUNG_RATING_VECTORS");
    if (path == NULL)
        test_skip("RUNG_RATING_VECTORS is not set");
    CHECK(check_file(path) > 0);
}

RUNG_TEST_MAIN
