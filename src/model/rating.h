/* SPDX-License-Identifier: Apache-2.0 */
/* rating.h - the parameters of a rating board: which system, and its numbers. src/rating computes with them;
 * docs/ratings.md explains them. Plain values. Pure; any thread.
 *
 *     rung_rating_params p;
 *     rung_rating_params_init(&p, RUNG_RATING_ELO);
 *     p.elo.k = 20;
 *     st = rung_rating_params_check(&p, &err); */
#ifndef RUNG_MODEL_RATING_H
#define RUNG_MODEL_RATING_H

#include "base/status.h"
#include "model/words.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_RATING_MAX          1e6 /* ratings and deviations stay within +-this */
#define RUNG_ELO_RULES_MAX       8
#define RUNG_RATING_DECIMALS_MAX 9
#define RUNG_RATING_GAMES_MAX    1000000
#define RUNG_RESULTS_KEPT        100000 /* of players in matches, unless the board says otherwise */
#define RUNG_RESULTS_KEPT_MAX    10000000

typedef enum rung_rating_system {
    RUNG_RATING_ELO,
    RUNG_RATING_GLICKO2,
    RUNG_RATING_OPENSKILL,
} rung_rating_system;

/* K of the players with fewer than `games_under` games (0: any number) and a rating in [from, under). */
typedef struct rung_elo_rule {
    uint32_t games_under;
    double from, under;
    double k;
} rung_elo_rule;

typedef struct rung_elo_params {
    double k;              /* where no rule fits */
    double scale;          /* this much more means ten times the odds */
    double floor;          /* no rating falls below */
    double difference_max; /* larger differences count as this; 0: no limit */
    bool is_normal; /* expect by the normal distribution, as FIDE's table, not the logistic */
    /* A player is provisional for this many games: has this K (0: by the rules), and the opponents' changes are
     * multiplied by the effect. */
    uint32_t provisional_games;
    double provisional_k;
    double provisional_effect;
    uint32_t rule_count; /* the first rule that fits decides */
    rung_elo_rule rules[RUNG_ELO_RULES_MAX];
} rung_elo_params;

typedef struct rung_glicko2_params {
    double tau;           /* how fast volatility may change */
    double deviation_min; /* the deviation never falls below */
    double deviation_max; /* inactivity never raises it above */
    int64_t period_ms; /* the length of a rating period: the unit of inactivity; 0: no inactivity */
} rung_glicko2_params;

typedef struct rung_wenglin_params {
    rung_wenglin_model model;
    double beta;      /* the spread of a performance around the skill */
    double kappa;     /* one match keeps at least this part of the variance */
    double tau;       /* added to the deviation before each match: skills change */
    bool limit_sigma; /* no match raises a deviation */
    uint32_t window;  /* partial pairing: with so many neighbours on either side */
    bool window_mean; /* partial pairing: the mean over the neighbours, not the sum */
} rung_wenglin_params;

typedef struct rung_rating_params {
    rung_rating_system system;
    double rating, deviation, volatility; /* of a new player */
    double conservative; /* the displayed rating is rating - conservative * deviation */
    double draw;         /* how often equals draw; used by predictions only */
    uint32_t min_games;  /* players are ranked from this many games on */
    /* Elo and Glicko-2 with more than two sides: every pair of sides counts as a match of its own. Otherwise all
     * pairs of a player together count as one. */
    bool pairs_count_fully;
    bool known_players_only; /* a match with a player whom nothing is known of is refused */
    /* At the start of a season the distance of every rating to a new player's is multiplied by season_keep, and the
     * deviation becomes sqrt(deviation^2 + season_deviation^2). 1 and 0: seasons leave ratings alone. */
    double season_keep, season_deviation;
    uint32_t results_kept; /* the last matches stay in memory: up to so many results of players */
    union {
        rung_elo_params elo;
        rung_glicko2_params glicko2;
        rung_wenglin_params wenglin;
    };
} rung_rating_params;

/* Do seasons change ratings? */
static inline bool rung_rating_has_reset(const rung_rating_params *p) {
    return p->season_keep < 1 || p->season_deviation > 0;
}

/* The published defaults of the system. */
void rung_rating_params_init(rung_rating_params *p, rung_rating_system system);
/* RUNG_OK, or RUNG_EINVAL with the field's name, such as "rating.k" or "rating.rules[2].under". */
RUNG_NODISCARD rung_status rung_rating_params_check(const rung_rating_params *p, rung_err *err);

#endif
