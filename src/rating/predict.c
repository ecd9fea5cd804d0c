/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - what the ratings say about a match that was not played yet. Nothing here is part of the state.
 *
 * Pairs: each system has its own expected points E of one side against another, uncertainty of both included. A draw
 * between two sides has the probability d = nu sqrt(E (1 - E)) / (1 + nu sqrt(E (1 - E))) (Davidson 1970), where nu
 * makes it the parameter `draw` for equals; wins share the rest as E : 1 - E. First place among more than two:
 * Luce's choice. A side's strength is the geometric mean of its odds against each other side; for Elo, whose odds
 * are quotients of strengths, that is exact. Expected place: 1 + the expected number of sides that do better + half
 * of those that draw. */
#include "rating/arith.h"
#include "rating/systems.h"

static void sides_of(const rung_rating_params *p, const rung_match *m, rung_rating_scratch *s) {
    switch (p->system) {
    case RUNG_RATING_ELO:
        rung__elo_sides(p, m, s);
        break;
    case RUNG_RATING_GLICKO2:
        rung__glicko2_sides(p, m, s);
        break;
    case RUNG_RATING_OPENSKILL:
        rung__wenglin_sides(p, m, s);
        break;
    }
}

/* Expected points of a side against another; kept away from 0 and 1, so that odds are finite. */
static double expected(const rung_rating_params *p, double a, double b, double variance) {
    double e = 0.5;
    switch (p->system) {
    case RUNG_RATING_ELO:
        e = rung__elo_expected(p, a, b);
        break;
    case RUNG_RATING_GLICKO2:
        e = rung__glicko2_expected(a, b, variance);
        break;
    case RUNG_RATING_OPENSKILL:
        e = rung__wenglin_expected(p, a, b, variance);
        break;
    }
    return e < 1e-15 ? 1e-15 : e > 1 - 1e-15 ? 1 - 1e-15 : e;
}

/* The probability of a draw, given the expected points. */
static double draw_of(const rung_rating_params *p, double e) {
    double nu = 2 * p->draw / (1 - p->draw);
    double tied = nu * rung_sqrt(e * (1 - e));
    return tied / (1 + tied);
}

rung_status rung_rating_predict(const rung_rating_params *p, const rung_match *m,
                                rung_rating_scratch *scratch, rung_prediction *out,
                                double *draw_out, rung_err *err) {
    rung_status st = rung_match_check(p, m, err);
    if (st < 0)
        return st;
    rung_rating_scratch *s = scratch;
    sides_of(p, m, s);
    uint32_t n = m->side_count;
    double others = n - 1, draws = 0, strongest = 0;
    for (uint32_t i = 0; i < n; i++) {
        double points = 0, log_odds = 0;
        for (uint32_t q = 0; q < n; q++) {
            if (q == i)
                continue;
            double e = expected(p, s->mean[i], s->mean[q], s->variance[i] + s->variance[q]);
            double drawn = draw_of(p, e);
            points += e * (1 - drawn) + drawn / 2;
            log_odds += rung_log(e / (1 - e));
            draws += drawn;
        }
        out[i].score = points / others;
        out[i].place = 1 + (others - points);
        /* The mean over all n sides, itself included with odds of 1: differences are then log strengths. */
        s->a[i] = log_odds / n;
        strongest = i == 0 || s->a[i] > strongest ? s->a[i] : strongest;
    }
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        s->b[i] = rung_exp(s->a[i] - strongest);
        sum += s->b[i];
    }
    double drawn = draws / (n * others);
    for (uint32_t i = 0; i < n; i++)
        out[i].win = s->b[i] / sum * (1 - drawn);
    *draw_out = drawn;
    return RUNG_OK;
}

double rung_rating_quality(const rung_rating_params *p, const rung_rating *a, const rung_rating *b,
                           int64_t at_ms) {
    double da = rung_rating_deviation_at(p, a, at_ms), db = rung_rating_deviation_at(p, b, at_ms);
    double variance = da * da + db * db, difference = a->rating - b->rating;
    if (p->system ==
        RUNG_RATING_OPENSKILL) { /* as TrueSkill's: the density of a draw beside that of certain equals */
        double own = 2 * p->wenglin.beta * p->wenglin.beta, all = own + variance;
        return rung_sqrt(own / all) * rung_exp(-difference * difference / (2 * all));
    }
    if (p->system == RUNG_RATING_ELO) {
        double e = rung__elo_expected(p, a->rating, b->rating);
        return 4 * e * (1 - e);
    }
    /* Uncertainty makes a match worse, not better: it scales the result, and leaves the expectation as it is. */
    double e = rung__glicko2_expected(a->rating, b->rating, 0);
    return 4 * e * (1 - e) * rung__glicko2_worth(variance);
}
