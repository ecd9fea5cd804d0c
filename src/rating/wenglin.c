/* SPDX-License-Identifier: Apache-2.0 */
/* wenglin.c - R. Weng and C.-J. Lin, "A Bayesian Approximation Method for Online Ranking" (JMLR 12, 2011): algorithm
 * 4 (Plackett-Luce) and algorithm 1 (Bradley-Terry, full and partial pairing), as the openskill packages read them.
 *
 * A side's skill is the sum over its players; each player takes the share of the side's change that is the player's
 * share of its variance. What the packages add to the paper, and we follow: tau, kappa, gamma = sigma / c,
 * limit_sigma, weights (gains are multiplied, losses divided), and a window with a mean for partial pairing (the
 * package of Python; that of JavaScript and the paper have a window of 1 and a sum). What we add: `played`, the part
 * of the match a player took part in, which scales the player's contribution to the side and, by the chain rule, the
 * change.
 *
 * Plackett-Luce needs e^(mean / c) only up to a common factor: the largest mean is subtracted, so nothing overflows,
 * and differences beyond 700 c count as 700 c, so nothing is divided by zero. */
#include "rating/arith.h"
#include "rating/systems.h"

#define EXPONENT_MIN  (-700.0)
#define DEVIATION_MIN 1e-6

typedef struct step {
    double omega, delta; /* of the side: change of the mean, relative loss of variance */
} step;

static double variance_of(const rung_match_player *player, double tau) {
    double d = player->rating.deviation;
    return d * d + tau * tau;
}

static void add_up(const rung_match *m, const rung_match_side *side, double tau, double *mean_out,
                   double *variance_out) {
    double mean = 0, variance = 0;
    for (uint32_t j = side->first; j < side->first + side->count; j++) {
        const rung_match_player *player = &m->players[j];
        mean += player->rating.rating * player->played;
        variance += variance_of(player, tau) * player->played * player->played;
    }
    *mean_out = mean;
    *variance_out = variance;
}

void rung__wenglin_sides(const rung_rating_params *p, const rung_match *m, rung_rating_scratch *s) {
    (void)p;
    for (uint32_t i = 0; i < m->side_count; i++)
        add_up(m, &m->sides[i], 0, &s->mean[i], &s->variance[i]);
}

double rung__wenglin_expected(const rung_rating_params *p, double a, double b, double variance) {
    double beta = p->wenglin.beta;
    return 1 / (1 + rung_exp((b - a) / rung_sqrt(2 * beta * beta + variance)));
}

/* ---- Plackett-Luce ---- */

/* a[i] = e^(mean / c); b[i] = the sum of a over the sides that are not better than side i. Returns c. */
static double luce_prepare(const rung_rating_params *p, const rung_match *m,
                           rung_rating_scratch *s) {
    uint32_t n = m->side_count;
    double beta = p->wenglin.beta, sum = 0, most = s->mean[0];
    for (uint32_t i = 0; i < n; i++) {
        sum += s->variance[i] + beta * beta;
        most = s->mean[i] > most ? s->mean[i] : most;
    }
    double c = rung_sqrt(sum);
    for (uint32_t i = 0; i < n; i++) {
        double exponent = (s->mean[i] - most) / c;
        s->a[i] = rung_exp(exponent < EXPONENT_MIN ? EXPONENT_MIN : exponent);
    }
    /* From the last place up; sides of one place share the sum. */
    double tail = 0;
    for (uint32_t i = n; i > 0;) {
        uint32_t end = i;
        int32_t place = m->sides[s->order[i - 1]].place;
        for (; i > 0 && m->sides[s->order[i - 1]].place == place; i--)
            tail += s->a[i - 1];
        for (uint32_t q = i; q < end; q++)
            s->b[q] = tail;
    }
    return c;
}

static step luce_step(const rung_match *m, const rung_rating_scratch *s, uint32_t i, double c) {
    step t = {0, 0};
    int32_t place = m->sides[s->order[i]].place;
    uint32_t q = 0;
    while (q < m->side_count && m->sides[s->order[q]].place <= place) { /* by groups of one place */
        uint32_t end = q;
        int32_t group = m->sides[s->order[q]].place;
        while (end < m->side_count && m->sides[s->order[end]].place == group)
            end++;
        double drawn = end - q, quotient = s->a[i] / s->b[q];
        t.delta += quotient * (1 - quotient); /* `drawn` terms, each divided by `drawn` */
        t.omega -= quotient;
        if (q <= i && i < end)
            t.omega += 1 / drawn;
        q = end;
    }
    double variance = s->variance[i];
    t.omega *= variance / c;
    t.delta *= variance / (c * c) * (rung_sqrt(variance) / c);
    return t;
}

/* ---- Bradley-Terry ---- */

static step terry_step(const rung_rating_params *p, const rung_match *m,
                       const rung_rating_scratch *s, uint32_t i) {
    const rung_wenglin_params *w = &p->wenglin;
    uint32_t first = 0, end = m->side_count;
    if (w->model == RUNG_WENGLIN_BRADLEY_TERRY_PART) {
        first = i > w->window ? i - w->window : 0;
        end = end - i > w->window ? i + w->window + 1 : end;
    }
    const rung_match_side *side = &m->sides[s->order[i]];
    double variance = s->variance[i], root = rung_sqrt(variance);
    step t = {0, 0};
    for (uint32_t q = first; q < end; q++) {
        if (q == i)
            continue;
        double c = rung_sqrt(variance + s->variance[q] + 2 * w->beta * w->beta);
        double expected = 1 / (1 + rung_exp((s->mean[q] - s->mean[i]) / c));
        t.omega += variance / c * (rung__match_points(side, &m->sides[s->order[q]]) - expected);
        t.delta += root / c * (variance / c) / c * expected * (1 - expected);
    }
    if (w->model == RUNG_WENGLIN_BRADLEY_TERRY_PART && w->window_mean) {
        double compared = end - first - 1;
        t.omega /= compared;
        t.delta /= compared;
    }
    return t;
}

/* ---- both ---- */

static rung_rating changed(const rung_rating_params *p, const rung_match *m,
                           const rung_match_player *player, double side_variance, step t) {
    const rung_wenglin_params *w = &p->wenglin;
    double variance = variance_of(player, w->tau),
           share = variance / side_variance * player->played;
    double weight = t.omega >= 0 ? player->weight : 1 / player->weight;
    double kept = 1 - share * player->played * t.delta * weight;
    double deviation = rung_sqrt(variance) * rung_sqrt(kept > w->kappa ? kept : w->kappa);
    if (w->limit_sigma && deviation > player->rating.deviation)
        deviation = player->rating.deviation;
    deviation = deviation < DEVIATION_MIN ? DEVIATION_MIN : deviation;
    deviation = deviation > RUNG_RATING_MAX ? RUNG_RATING_MAX : deviation;
    return rung__rating_settled(&player->rating, player->rating.rating + share * t.omega * weight,
                                deviation, 0, m->at_ms);
}

void rung__wenglin_rate(const rung_rating_params *p, const rung_match *m, rung_rating_scratch *s,
                        rung_rating *after) {
    rung__match_sort(m, s);
    for (uint32_t i = 0; i < m->side_count; i++)
        add_up(m, &m->sides[s->order[i]], p->wenglin.tau, &s->mean[i], &s->variance[i]);
    bool luce = p->wenglin.model == RUNG_WENGLIN_PLACKETT_LUCE;
    double c = luce ? luce_prepare(p, m, s) : 0;
    for (uint32_t i = 0; i < m->side_count; i++) {
        const rung_match_side *side = &m->sides[s->order[i]];
        step t = luce ? luce_step(m, s, i, c) : terry_step(p, m, s, i);
        for (uint32_t j = side->first; j < side->first + side->count; j++)
            after[j] = changed(p, m, &m->players[j], s->variance[i], t);
    }
}
