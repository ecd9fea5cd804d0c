/* SPDX-License-Identifier: Apache-2.0 */
/* duel.h - short ways to write matches in tests. */
#ifndef RUNG_TESTS_RATING_DUEL_H
#define RUNG_TESTS_RATING_DUEL_H

#include "rating/rating.h"

#include "support/check.h"

#include <math.h>
#include <string.h>

#define CHECK_NEAR(got, want, tolerance)                                                           \
    CHECK_MSG(fabs((got) - (want)) <= (tolerance), "%s is %.10g, want %.10g", #got, (double)(got), \
              (double)(want))

typedef struct duel {
    rung_match_player players[RUNG_MATCH_PLAYERS_MAX + 1];
    rung_match_side sides[RUNG_MATCH_PLAYERS_MAX + 1];
    rung_rating after[RUNG_MATCH_PLAYERS_MAX + 1];
    rung_prediction predicted[RUNG_MATCH_PLAYERS_MAX + 1];
    double draw;
    rung_rating_scratch scratch;
    rung_match match;
    rung_err err;
} duel;

/* `sides` sides of `each` new players; side i has place i + 1. */
static inline void duel_init(duel *d, const rung_rating_params *p, uint32_t sides, uint32_t each) {
    for (uint32_t i = 0; i < sides * each; i++)
        d->players[i] =
            (rung_match_player){.rating = rung_rating_initial(p), .weight = 1, .played = 1};
    for (uint32_t i = 0; i < sides; i++)
        d->sides[i] = (rung_match_side){i * each, each, (int32_t)i + 1};
    d->match = (rung_match){d->players, sides * each, d->sides, sides, 0};
}

static inline void duel_rate(duel *d, const rung_rating_params *p) {
    CHECK_OK(rung_rating_rate(p, &d->match, &d->scratch, d->after, &d->err));
}

static inline void duel_predict(duel *d, const rung_rating_params *p) {
    CHECK_OK(rung_rating_predict(p, &d->match, &d->scratch, d->predicted, &d->draw, &d->err));
}

#endif
