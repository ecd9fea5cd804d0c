/* SPDX-License-Identifier: Apache-2.0 */
/* glicko2.c - Glicko-2, after Mark Glickman, "Example of the Glicko-2 system" (2013, revised 2022).
 *
 * Steps and letters are the paper's: mu and phi on the scale of 173.7178, sigma the volatility. What we add:
 * - Time is continuous. A player who was inactive for t periods first gets phi = sqrt(phi^2 + sigma^2 t), as the
 *   paper does for whole periods. A match then is a period without length, so no rating depends on where periods
 *   begin.
 * - A side of several players counts as one opponent with their mean rating and their mean variance; its players are
 *   expected to score what a player with the side's mean rating would.
 * - More than two sides are pairwise games, together worth one game unless every pair counts fully.
 * - The search for sigma ends after VOLATILITY_STEPS; it needs about ten. */
#include "rating/glicko2.h"

#include "rating/arith.h"
#include "rating/systems.h"

#define VOLATILITY_STEPS 64
#define CONVERGED        1e-6 /* the paper's epsilon */
#define EXPONENT_MAX     35.0
#define VOLATILITY_MIN   1e-6
#define VOLATILITY_MAX   1.0

static const double SCALE = 173.7178;
static const double THREE_BY_PI_SQUARED = 0x1.37423899a1558p-2; /* 3 / pi^2 */

/* Step 3's g(phi), from the variance phi^2. */
static double g_of(double variance) {
    return 1 / rung_sqrt(1 + THREE_BY_PI_SQUARED * variance);
}

/* Step 3's E, from g and the difference of mu. Beyond EXPONENT_MAX, more than 6,000 points, differences count as
 * that: E and 1 - E stay above 0, so that 1 / v does. */
static double expected(double g, double difference) {
    double exponent = -g * difference;
    exponent = exponent > EXPONENT_MAX ? EXPONENT_MAX : exponent;
    exponent = exponent < -EXPONENT_MAX ? -EXPONENT_MAX : exponent;
    return 1 / (1 + rung_exp(exponent));
}

/* Step 5's f(x). */
static double step_five(double x, double a, double delta_squared, double variance, double v,
                        double tau) {
    double e = rung_exp(x), d = variance + v + e;
    return e * (delta_squared - d) / (2 * d * d) - (x - a) / (tau * tau);
}

/* Step 5: the new volatility, by the Illinois variant of regula falsi. */
static double new_volatility(double sigma, double delta_squared, double variance, double v,
                             double tau) {
    double a = rung_log(sigma * sigma);
    double low = a, high; /* the paper's A and B */
    if (delta_squared > variance + v) {
        high = rung_log(delta_squared - variance - v);
    } else {
        int k = 1;
        while (k < VOLATILITY_STEPS &&
               step_five(a - k * tau, a, delta_squared, variance, v, tau) < 0)
            k++;
        high = a - k * tau;
    }
    double f_low = step_five(low, a, delta_squared, variance, v, tau);
    double f_high = step_five(high, a, delta_squared, variance, v, tau);
    for (int step = 0; step < VOLATILITY_STEPS; step++) {
        double distance = high - low;
        if ((distance < 0 ? -distance : distance) <= CONVERGED || f_high == f_low)
            break;
        double c = low + (low - high) * f_low / (f_high - f_low);
        double f_c = step_five(c, a, delta_squared, variance, v, tau);
        if (f_c * f_high <= 0) {
            low = high;
            f_low = f_high;
        } else {
            f_low = f_low / 2;
        }
        high = c;
        f_high = f_c;
    }
    double found = rung_exp(low / 2);
    return found < VOLATILITY_MIN   ? VOLATILITY_MIN
           : found > VOLATILITY_MAX ? VOLATILITY_MAX
                                    : found;
}

static double square(double x) {
    return x * x;
}

/* Steps 5 to 8: `variance` is phi^2 before the games, `grown` the periods that pass during them. */
static rung_rating settle(const rung_rating_params *p, const rung_rating *old, double variance,
                          const rung_glicko2_games *games, double grown, double weight,
                          int64_t at_ms) {
    const rung_glicko2_params *g2 = &p->glicko2;
    double sigma = old->volatility, rating = old->rating;
    if (games->information > 0) {
        double v = 1 / games->information, delta = v * games->surprise;
        sigma = new_volatility(sigma, square(delta), variance, v, g2->tau);
        variance = variance + sigma * sigma * grown;        /* step 6 */
        variance = 1 / (1 / variance + games->information); /* step 7 */
        double change = SCALE * variance * games->surprise; /* step 8 */
        rating += rung__match_weighted(change, weight);
    } else {
        variance = variance + sigma * sigma * grown;
    }
    double deviation = SCALE * rung_sqrt(variance);
    deviation = deviation < g2->deviation_min ? g2->deviation_min : deviation;
    deviation = deviation > g2->deviation_max ? g2->deviation_max : deviation;
    return rung__rating_settled(old, rating, deviation, sigma, at_ms);
}

void rung_glicko2_add(rung_glicko2_games *games, const rung_rating *player,
                      const rung_rating *opponent, double points) {
    double g = g_of(square(opponent->deviation / SCALE));
    double e = expected(g, (player->rating - opponent->rating) / SCALE);
    games->information += g * g * e * (1 - e);
    games->surprise += g * (points - e);
}

rung_rating rung_glicko2_settle(const rung_rating_params *p, const rung_rating *player,
                                const rung_glicko2_games *games, double periods) {
    return settle(p, player, square(player->deviation / SCALE), games, periods, 1, player->at_ms);
}

double rung_rating_deviation_at(const rung_rating_params *p, const rung_rating *r, int64_t at_ms) {
    if (p->system != RUNG_RATING_GLICKO2 || p->glicko2.period_ms <= 0 || r->games == 0 ||
        at_ms <= r->at_ms)
        return r->deviation;
    double periods = ((double)at_ms - (double)r->at_ms) / (double)p->glicko2.period_ms;
    double deviation =
        SCALE * rung_sqrt(square(r->deviation / SCALE) + square(r->volatility) * periods);
    double most = p->glicko2.deviation_max;
    return deviation < most ? deviation : r->deviation > most ? r->deviation : most;
}

/* Mean rating and mean variance of each side, on the displayed scale, by the part of the match each player played. */
void rung__glicko2_sides(const rung_rating_params *p, const rung_match *m, rung_rating_scratch *s) {
    for (uint32_t i = 0; i < m->side_count; i++) {
        const rung_match_side *side = &m->sides[i];
        double mean = 0, variance = 0, played = 0;
        for (uint32_t j = side->first; j < side->first + side->count; j++) {
            const rung_match_player *player = &m->players[j];
            mean += player->rating.rating * player->played;
            variance +=
                square(rung_rating_deviation_at(p, &player->rating, m->at_ms)) * player->played;
            played += player->played;
        }
        s->mean[i] = mean / played;
        s->variance[i] = variance / played;
    }
}

double rung__glicko2_worth(double variance) {
    return g_of(variance / (SCALE * SCALE));
}

double rung__glicko2_expected(double a, double b, double variance) {
    return expected(rung__glicko2_worth(variance), (a - b) / SCALE);
}

void rung__glicko2_rate(const rung_rating_params *p, const rung_match *m, rung_rating_scratch *s,
                        rung_rating *after) {
    rung__glicko2_sides(p, m, s);
    double *g = s->a;
    for (uint32_t i = 0; i < m->side_count; i++)
        g[i] = rung__glicko2_worth(s->variance[i]);
    double share = p->pairs_count_fully ? 1 : 1 / (double)(m->side_count - 1);
    for (uint32_t i = 0; i < m->side_count; i++) {
        const rung_match_side *side = &m->sides[i];
        rung_glicko2_games all = {0, 0};
        for (uint32_t q = 0; q < m->side_count; q++) {
            if (q == i)
                continue;
            double e = expected(g[q], (s->mean[i] - s->mean[q]) / SCALE);
            all.information += share * g[q] * g[q] * e * (1 - e);
            all.surprise += share * g[q] * (rung__match_points(side, &m->sides[q]) - e);
        }
        for (uint32_t j = side->first; j < side->first + side->count; j++) {
            const rung_match_player *player = &m->players[j];
            rung_glicko2_games games = {all.information * player->played,
                                        all.surprise * player->played};
            double deviation = rung_rating_deviation_at(p, &player->rating, m->at_ms);
            after[j] = settle(p, &player->rating, square(deviation / SCALE), &games, 0,
                              player->weight, m->at_ms);
        }
    }
}
