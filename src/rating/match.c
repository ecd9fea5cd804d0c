/* SPDX-License-Identifier: Apache-2.0 */
/* match.c - checks of a match, and what all systems do with one. */
#include "rating/arith.h"
#include "rating/systems.h"

#define WEIGHT_MIN 0.01
#define WEIGHT_MAX 100.0
#define PLAYED_MIN 0.001

/* Also false for NaN. */
static bool is_within(double x, double least, double most) {
    return x >= least && x <= most;
}

bool rung_rating_is_valid(const rung_rating_params *p, const rung_rating *r) {
    if (!is_within(r->rating, -RUNG_RATING_MAX, RUNG_RATING_MAX))
        return false;
    if (p->system == RUNG_RATING_ELO)
        return true;
    if (!is_within(r->deviation, 1e-9, RUNG_RATING_MAX))
        return false;
    return p->system != RUNG_RATING_GLICKO2 || is_within(r->volatility, 1e-9, 10);
}

static rung_status check_player(const rung_rating_params *p, const rung_match_player *player,
                                uint32_t side, uint32_t index, rung_err *err) {
    if (!rung_rating_is_valid(p, &player->rating))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides[%u].players[%u].rating",
                               "not a rating of this system", side, index);
    if (!is_within(player->weight, WEIGHT_MIN, WEIGHT_MAX))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides[%u].players[%u].weight",
                               "must be 0.01 to 100", side, index);
    if (!is_within(player->played, PLAYED_MIN, 1))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides[%u].players[%u].played",
                               "must be 0.001 to 1", side, index);
    return RUNG_OK;
}

static rung_status check_side(const rung_rating_params *p, const rung_match *m, uint32_t side,
                              uint32_t first, rung_err *err) {
    const rung_match_side *s = &m->sides[side];
    if (s->count == 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides[%u].players",
                               "a side has at least one player", side);
    if (s->first != first || s->count > m->player_count - first)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides[%u].players",
                               "the sides must cover all players in order", side);
    for (uint32_t i = 0; i < s->count; i++) {
        rung_status st = check_player(p, &m->players[first + i], side, i, err);
        if (st < 0)
            return st;
    }
    return RUNG_OK;
}

rung_status rung_match_check(const rung_rating_params *p, const rung_match *m, rung_err *err) {
    if (m->side_count < 2)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides", "a match has at least two sides");
    if (m->player_count > RUNG_MATCH_PLAYERS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides", "at most 256 players");
    if (m->side_count > m->player_count)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides", "a side has at least one player");
    uint32_t first = 0;
    for (uint32_t side = 0; side < m->side_count; side++) {
        rung_status st = check_side(p, m, side, first, err);
        if (st < 0)
            return st;
        first += m->sides[side].count;
    }
    if (first != m->player_count)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides",
                               "the sides must cover all players in order");
    return RUNG_OK;
}

void rung__match_sort(const rung_match *m, rung_rating_scratch *s) {
    for (uint32_t i = 0; i < m->side_count; i++) { /* by insertion: sides usually come in order */
        uint32_t at = i;
        for (; at > 0 && m->sides[s->order[at - 1]].place > m->sides[i].place; at--)
            s->order[at] = s->order[at - 1];
        s->order[at] = (uint16_t)i;
    }
}

double rung__match_points(const rung_match_side *a, const rung_match_side *b) {
    return a->place == b->place ? 0.5 : a->place < b->place ? 1 : 0;
}

double rung__match_weighted(double change, double weight) {
    return change >= 0 ? change * weight : change / weight;
}

static double clamp(double x, double least, double most) {
    return x < least ? least : x > most ? most : x;
}

rung_rating rung__rating_settled(const rung_rating *old, double rating, double deviation,
                                 double volatility, int64_t at_ms) {
    return (rung_rating){
        .rating = clamp(rating, -RUNG_RATING_MAX, RUNG_RATING_MAX),
        .deviation = deviation,
        .volatility = volatility,
        .at_ms = old->games > 0 && old->at_ms > at_ms ? old->at_ms : at_ms, /* a late match */
        .games = old->games == UINT32_MAX ? UINT32_MAX : old->games + 1,
    };
}

rung_status rung_rating_rate(const rung_rating_params *p, const rung_match *m,
                             rung_rating_scratch *scratch, rung_rating *after, rung_err *err) {
    rung_status st = rung_match_check(p, m, err);
    if (st < 0)
        return st;
    switch (p->system) {
    case RUNG_RATING_ELO:
        rung__elo_rate(p, m, scratch, after);
        break;
    case RUNG_RATING_GLICKO2:
        rung__glicko2_rate(p, m, scratch, after);
        break;
    case RUNG_RATING_OPENSKILL:
        rung__wenglin_rate(p, m, scratch, after);
        break;
    }
    return RUNG_OK;
}
