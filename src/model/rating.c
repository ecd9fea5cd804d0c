/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults and limits of the parameters. */
#include "model/rating.h"

#include "model/match.h"

#include <string.h>

#define GLICKO2_PERIOD_MS_MAX (3660LL * 86400 * 1000)

void rung_rating_params_init(rung_rating_params *p, rung_rating_system system) {
    memset(p, 0, sizeof *p);
    p->system = system;
    p->season_keep = 1;
    p->results_kept = RUNG_RESULTS_KEPT;
    switch (system) {
    case RUNG_RATING_ELO:
        p->rating = 1500;
        p->elo = (rung_elo_params){
            .k = 32, .scale = 400, .floor = -RUNG_RATING_MAX, .provisional_effect = 1};
        break;
    case RUNG_RATING_GLICKO2:
        p->rating = 1500;
        p->deviation = 350;
        p->volatility = 0.06;
        p->conservative = 2;
        /* A deviation of 50 grows back to 350 in 1,100 periods: three years of days. */
        p->glicko2 = (rung_glicko2_params){
            .tau = 0.5, .deviation_min = 30, .deviation_max = 350, .period_ms = 86400 * 1000};
        break;
    case RUNG_RATING_OPENSKILL:
        p->rating = 25;
        p->deviation = 25.0 / 3;
        p->conservative = 3;
        p->wenglin = (rung_wenglin_params){.model = RUNG_WENGLIN_PLACKETT_LUCE,
                                           .beta = 25.0 / 6,
                                           .kappa = 0.0001,
                                           .tau = 25.0 / 300,
                                           .window = 1};
        break;
    }
}

/* Also false for NaN. */
static bool is_within(double x, double least, double most) {
    return x >= least && x <= most;
}

#define NEED(value, least, most, field, text)                                                      \
    do {                                                                                           \
        if (!is_within((value), (least), (most)))                                                  \
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, field, "must be " text);                      \
    } while (0)

static rung_status check_rule(const rung_elo_rule *rule, uint32_t i, rung_err *err) {
    if (!is_within(rule->k, 0, 10000))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rating.rules[%u].k", "must be 0 to 10000", i);
    if (!is_within(rule->from, -RUNG_RATING_MAX, RUNG_RATING_MAX))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rating.rules[%u].from",
                               "must be -1000000 to 1000000", i);
    /* A rule without an upper end has the largest rating and more: the bound itself is excluded. */
    if (!is_within(rule->under, -RUNG_RATING_MAX, 2 * RUNG_RATING_MAX) || rule->under <= rule->from)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rating.rules[%u].under",
                               "must be larger than from", i);
    return RUNG_OK;
}

static rung_status check_elo(const rung_rating_params *p, rung_err *err) {
    const rung_elo_params *e = &p->elo;
    NEED(e->k, 0, 10000, "rating.k", "0 to 10000");
    NEED(e->scale, 1, 1e5, "rating.scale", "1 to 100000");
    NEED(e->floor, -RUNG_RATING_MAX, RUNG_RATING_MAX, "rating.floor", "-1000000 to 1000000");
    NEED(e->difference_max, 0, RUNG_RATING_MAX, "rating.difference_max", "0 to 1000000");
    NEED(e->provisional_games, 0, RUNG_RATING_GAMES_MAX, "rating.provisional_games",
         "0 to 1000000");
    NEED(e->provisional_k, 0, 10000, "rating.provisional_k", "0 to 10000");
    NEED(e->provisional_effect, 0, 1, "rating.provisional_effect", "0 to 1");
    NEED(e->rule_count, 0, RUNG_ELO_RULES_MAX, "rating.rules", "at most 8");
    if (p->rating < e->floor)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rating.floor", "above the rating of new players");
    for (uint32_t i = 0; i < e->rule_count; i++) {
        rung_status st = check_rule(&e->rules[i], i, err);
        if (st < 0)
            return st;
    }
    return RUNG_OK;
}

static rung_status check_glicko2(const rung_rating_params *p, rung_err *err) {
    const rung_glicko2_params *g = &p->glicko2;
    NEED(p->deviation, 1, 10000, "rating.deviation", "1 to 10000");
    NEED(p->volatility, 0.0001, 1, "rating.volatility", "0.0001 to 1");
    NEED(g->tau, 0.01, 10, "rating.tau", "0.01 to 10");
    NEED(g->deviation_min, 0.001, 10000, "rating.deviation_min", "0.001 to 10000");
    NEED(g->deviation_max, 1, 10000, "rating.deviation_max", "1 to 10000");
    NEED((double)g->period_ms, 0, (double)GLICKO2_PERIOD_MS_MAX, "rating.period", "0 to 3660 days");
    if (g->deviation_min > p->deviation)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rating.deviation_min",
                               "above the deviation of new players");
    if (g->deviation_max < p->deviation)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rating.deviation_max",
                               "below the deviation of new players");
    return RUNG_OK;
}

static rung_status check_wenglin(const rung_rating_params *p, rung_err *err) {
    const rung_wenglin_params *w = &p->wenglin;
    if (p->pairs_count_fully)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rating.pairs_count_fully",
                               "only of elo and glicko2");
    NEED(w->model, 0, RUNG_WENGLIN_BRADLEY_TERRY_PART, "rating.model", "a known model");
    NEED(p->deviation, 0.001, 10000, "rating.deviation", "0.001 to 10000");
    NEED(w->beta, 0.001, 10000, "rating.beta", "0.001 to 10000");
    NEED(w->kappa, 1e-9, 1, "rating.kappa", "1e-9 to 1");
    NEED(w->tau, 0, 10000, "rating.tau", "0 to 10000");
    NEED(w->window, 1, RUNG_MATCH_PLAYERS_MAX, "rating.window", "1 to 256");
    return RUNG_OK;
}

rung_status rung_rating_params_check(const rung_rating_params *p, rung_err *err) {
    NEED(p->rating, -RUNG_RATING_MAX, RUNG_RATING_MAX, "rating.initial", "-1000000 to 1000000");
    NEED(p->conservative, 0, 10, "rating.conservative", "0 to 10");
    NEED(p->draw, 0, 0.99, "rating.draw", "0 to 0.99");
    NEED(p->min_games, 0, RUNG_RATING_GAMES_MAX, "rating.min_games", "0 to 1000000");
    NEED(p->season_keep, 0, 1, "rating.season_keep", "0 to 1");
    NEED(p->season_deviation, 0, 10000, "rating.season_deviation", "0 to 10000");
    NEED(p->results_kept, 0, RUNG_RESULTS_KEPT_MAX, "rating.results_kept", "0 to 10000000");
    if (p->system == RUNG_RATING_ELO && p->season_deviation > 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rating.season_deviation", "elo has no deviation");
    switch (p->system) {
    case RUNG_RATING_ELO:
        return check_elo(p, err);
    case RUNG_RATING_GLICKO2:
        return check_glicko2(p, err);
    case RUNG_RATING_OPENSKILL:
        return check_wenglin(p, err);
    }
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "update", "unknown rating system");
}
