/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - what follows from the parameters alone: a new player, the soft reset, the displayed rating. */
#include "rating/arith.h"
#include "rating/rating.h"

rung_rating rung_rating_initial(const rung_rating_params *p) {
    return (rung_rating){
        .rating = p->rating, .deviation = p->deviation, .volatility = p->volatility};
}

rung_rating rung_rating_soft_reset(const rung_rating_params *p, const rung_rating *r, double keep,
                                   double deviation) {
    rung_rating after = *r;
    after.rating = p->rating + (r->rating - p->rating) * keep;
    if (p->system == RUNG_RATING_ELO) {
        after.rating = after.rating < p->elo.floor ? p->elo.floor : after.rating;
        return after;
    }
    /* Never more uncertain than a new player, unless the player was so before. */
    double grown = rung_sqrt(r->deviation * r->deviation + deviation * deviation);
    double most = r->deviation > p->deviation ? r->deviation : p->deviation;
    after.deviation = grown < most ? grown : most;
    return after;
}

int64_t rung_rating_displayed(const rung_rating_params *p, const rung_rating *r,
                              uint32_t decimals) {
    static const double POWERS[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    double power =
        POWERS[decimals < RUNG_RATING_DECIMALS_MAX ? decimals : RUNG_RATING_DECIMALS_MAX];
    double x = (r->rating - p->conservative * r->deviation) * power; /* below 2^54 */
    if (x >= 0x1p52 || x <= -0x1p52)
        return (int64_t)x; /* an integer already */
    return (int64_t)(x < 0 ? x - 0x1p52 + 0x1p52 : x + 0x1p52 - 0x1p52);
}
