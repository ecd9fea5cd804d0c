/* SPDX-License-Identifier: Apache-2.0 */
/* elo.c - Elo: a player's rating moves by K times (points - expected points).
 *
 * A side's rating is the mean of its players', by the part of the match each took part in. More than two sides are
 * pairwise matches: the points against all other sides are summed, and divided by their number unless every pair
 * counts fully. K belongs to the player: by the first rule that fits. */
#include "rating/arith.h"
#include "rating/systems.h"

void rung__elo_sides(const rung_rating_params *p, const rung_match *m, rung_rating_scratch *s) {
    (void)p;
    for (uint32_t i = 0; i < m->side_count; i++) {
        const rung_match_side *side = &m->sides[i];
        double sum = 0, played = 0;
        for (uint32_t j = side->first; j < side->first + side->count; j++) {
            sum += m->players[j].rating.rating * m->players[j].played;
            played += m->players[j].played;
        }
        s->mean[i] = sum / played;
        s->variance[i] = 0;
    }
}

double rung__elo_expected(const rung_rating_params *p, double a, double b) {
    double difference = b - a, most = p->elo.difference_max;
    if (most > 0 && difference > most)
        difference = most;
    if (most > 0 && difference < -most)
        difference = -most;
    if (p->elo
            .is_normal) /* performances of deviation scale / 2, so differences of scale / sqrt(2) */
        return rung_normal_cdf(-difference / p->elo.scale * 0x1.6a09e667f3bcdp0);
    return 1 / (1 + rung_exp10(difference / p->elo.scale));
}

static bool is_provisional(const rung_elo_params *e, const rung_rating *r) {
    return r->games < e->provisional_games;
}

static double k_of(const rung_elo_params *e, const rung_rating *r) {
    if (is_provisional(e, r) && e->provisional_k > 0)
        return e->provisional_k;
    for (uint32_t i = 0; i < e->rule_count; i++) {
        const rung_elo_rule *rule = &e->rules[i];
        if ((rule->games_under == 0 || r->games < rule->games_under) && r->rating >= rule->from &&
            r->rating < rule->under)
            return rule->k;
    }
    return e->k;
}

/* How much a result against this side counts for established players: less the more of its players are provisional. */
static double effect_of(const rung_elo_params *e, const rung_match *m,
                        const rung_match_side *side) {
    uint32_t provisional = 0;
    for (uint32_t j = side->first; j < side->first + side->count; j++)
        provisional += is_provisional(e, &m->players[j].rating);
    return 1 - (1 - e->provisional_effect) * provisional / side->count;
}

void rung__elo_rate(const rung_rating_params *p, const rung_match *m, rung_rating_scratch *s,
                    rung_rating *after) {
    const rung_elo_params *e = &p->elo;
    rung__elo_sides(p, m, s);
    double *effect = s->a;
    for (uint32_t i = 0; i < m->side_count; i++)
        effect[i] = effect_of(e, m, &m->sides[i]);
    double divisor = p->pairs_count_fully ? 1 : m->side_count - 1;
    for (uint32_t i = 0; i < m->side_count; i++) {
        const rung_match_side *side = &m->sides[i];
        double all = 0,
               discounted = 0; /* points beyond expectation; discounted by the opponents' effect */
        for (uint32_t q = 0; q < m->side_count; q++) {
            if (q == i)
                continue;
            double beyond = rung__match_points(side, &m->sides[q]) -
                            rung__elo_expected(p, s->mean[i], s->mean[q]);
            all += beyond;
            discounted += beyond * effect[q];
        }
        for (uint32_t j = side->first; j < side->first + side->count; j++) {
            const rung_match_player *player = &m->players[j];
            double beyond = (is_provisional(e, &player->rating) ? all : discounted) / divisor;
            double change = rung__match_weighted(k_of(e, &player->rating) * beyond * player->played,
                                                 player->weight);
            double rating = player->rating.rating + change;
            after[j] = rung__rating_settled(&player->rating, rating < e->floor ? e->floor : rating,
                                            0, 0, m->at_ms);
        }
    }
}
