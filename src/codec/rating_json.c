/* SPDX-License-Identifier: Apache-2.0 */
/* One table says of every parameter its name, its systems, its kind and its place in the struct; reading and writing
 * follow it. */
#include "codec/rating_json.h"

#include "base/slice.h"
#include "model/text.h"

#include <stddef.h>

enum { RULE_GAMES, RULE_FROM, RULE_UNDER, RULE_K, RULE_FIELDS };
static const rung_field rule_fields[RULE_FIELDS] = {
    [RULE_GAMES] = {RUNG_NAMED("games_under"), .types = RUNG_FIELD_INTEGER, .has_range = true,
                    .min = 1, .max = RUNG_RATING_GAMES_MAX,
                    .doc = "Players with fewer games; left out: any number."},
    [RULE_FROM] = {RUNG_NAMED("from"), .types = RUNG_FIELD_NUMBER,
                   .doc = "Ratings from here on; left out: any."},
    [RULE_UNDER] = {RUNG_NAMED("under"), .types = RUNG_FIELD_NUMBER,
                    .doc = "Ratings below; left out: any."},
    [RULE_K] = {RUNG_NAMED("k"), .types = RUNG_FIELD_NUMBER, .required = true,
                .doc = "K of these players.", .example = "40"},
};
static const rung_schema rule_schema = {.name = "EloRule",
                                        .doc =
                                            "K of some players; the first rule that fits counts.",
                                        .fields = rule_fields,
                                        .count = RULE_FIELDS};

enum {
    FIELD_INITIAL,
    FIELD_DEVIATION,
    FIELD_VOLATILITY,
    FIELD_CONSERVATIVE,
    FIELD_DRAW,
    FIELD_MIN_GAMES,
    FIELD_PAIRS,
    FIELD_KNOWN,
    FIELD_SEASON_KEEP,
    FIELD_SEASON_DEVIATION,
    FIELD_RESULTS,
    FIELD_K,
    FIELD_SCALE,
    FIELD_NORMAL,
    FIELD_FLOOR,
    FIELD_DIFFERENCE,
    FIELD_PROVISIONAL_GAMES,
    FIELD_PROVISIONAL_K,
    FIELD_PROVISIONAL_EFFECT,
    FIELD_RULES,
    FIELD_TAU,
    FIELD_DEVIATION_MIN,
    FIELD_DEVIATION_MAX,
    FIELD_PERIOD,
    FIELD_MODEL,
    FIELD_BETA,
    FIELD_KAPPA,
    FIELD_LIMIT_SIGMA,
    FIELD_WINDOW,
    FIELD_WINDOW_MEAN,
    FIELDS
};

#define REAL  .types = RUNG_FIELD_NUMBER
#define COUNT .types = RUNG_FIELD_INTEGER, .has_range = true, .min = 0, .max = RUNG_RATING_GAMES_MAX
#define RESULTS                                                                                    \
    .types = RUNG_FIELD_INTEGER, .has_range = true, .min = 0, .max = RUNG_RESULTS_KEPT_MAX
#define FLAG .types = RUNG_FIELD_BOOL

static const rung_field rating_fields[FIELDS] = {
    [FIELD_INITIAL] = {RUNG_NAMED("initial"), REAL,
                       .doc = "Rating of a new player: 1500, or 25 of openskill.",
                       .example = "1500"},
    [FIELD_DEVIATION] = {RUNG_NAMED("deviation"), REAL,
                         .doc = "Deviation of a new player, of glicko2 (350) and openskill (25/3).",
                         .example = "350"},
    [FIELD_VOLATILITY] = {RUNG_NAMED("volatility"), REAL,
                          .doc = "glicko2: volatility of a new player, 0.06."},
    [FIELD_CONSERVATIVE] = {RUNG_NAMED("conservative"), REAL,
                            .doc = "The score is the rating minus so many deviations: 0 of elo, 2 "
                                   "of glicko2, 3 of openskill.",
                            .example = "2"},
    [FIELD_DRAW] = {RUNG_NAMED("draw"), REAL, .fallback = "0",
                    .doc = "How often equals draw; for predictions only."},
    [FIELD_MIN_GAMES] = {RUNG_NAMED("min_games"), COUNT, .fallback = "0",
                         .doc = "Players are ranked from so many games on."},
    [FIELD_PAIRS] = {RUNG_NAMED("pairs_count_fully"), FLAG, .fallback = "false",
                     .doc = "elo and glicko2, more than two sides: every pair of sides counts as a "
                            "match of its own, not all pairs of a player as one."},
    [FIELD_KNOWN] = {RUNG_NAMED("known_players_only"), FLAG, .fallback = "false",
                     .doc = "Refuse a match with a player whom nothing is known of: no profile, no "
                            "friends, no score or match on any board."},
    [FIELD_SEASON_KEEP] = {RUNG_NAMED("season_keep"), REAL, .fallback = "1",
                           .doc = "At the start of a season every rating's distance to that of a "
                                  "new player is multiplied by this, 0 to 1.",
                           .example = "0.75"},
    [FIELD_SEASON_DEVIATION] = {RUNG_NAMED("season_deviation"), REAL, .fallback = "0",
                                .doc = "Not of elo: at the start of a season every deviation "
                                       "becomes sqrt(deviation^2 + this^2), at most that of a new "
                                       "player."},
    [FIELD_RESULTS] = {RUNG_NAMED("results_kept"), RESULTS, .fallback = "100000",
                       .doc = "The last matches stay readable: up to so many results of players, "
                              "which take about 150 bytes each."},
    [FIELD_K] = {RUNG_NAMED("k"), REAL, .doc = "elo: K where no rule fits, 32.", .example = "32"},
    [FIELD_SCALE] = {RUNG_NAMED("scale"), REAL,
                     .doc = "elo: so much more means ten times the odds, 400."},
    [FIELD_NORMAL] = {RUNG_NAMED("normal"), FLAG,
                      .doc = "elo: expect by the normal distribution, as FIDE's table does."},
    [FIELD_FLOOR] = {RUNG_NAMED("floor"), REAL, .doc = "elo: no rating falls below."},
    [FIELD_DIFFERENCE] = {RUNG_NAMED("difference_max"), REAL,
                          .doc = "elo: larger differences count as this; 0: no limit."},
    [FIELD_PROVISIONAL_GAMES] = {RUNG_NAMED("provisional_games"), COUNT,
                                 .doc = "elo: so many games a player is provisional."},
    [FIELD_PROVISIONAL_K] = {RUNG_NAMED("provisional_k"), REAL,
                             .doc = "elo: K of provisional players; 0: by the rules."},
    [FIELD_PROVISIONAL_EFFECT] = {RUNG_NAMED("provisional_effect"), REAL,
                                  .doc = "elo: the changes of established players against "
                                         "provisional ones are multiplied by this, 1."},
    [FIELD_RULES] = {RUNG_NAMED("rules"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_OBJECT,
                     .nested = &rule_schema, .items_max = RUNG_ELO_RULES_MAX,
                     .doc = "elo: K by games and rating; the first rule that fits counts.",
                     .example = "[{\"games_under\":30,\"k\":40},{\"under\":2400,\"k\":20}]"},
    [FIELD_TAU] = {RUNG_NAMED("tau"), REAL,
                   .doc = "glicko2: how fast the volatility changes, 0.5; openskill: added to the "
                          "deviation before each match, 25/300."},
    [FIELD_DEVIATION_MIN] = {RUNG_NAMED("deviation_min"), REAL,
                             .doc = "glicko2: the deviation never falls below, 30."},
    [FIELD_DEVIATION_MAX] = {RUNG_NAMED("deviation_max"), REAL,
                             .doc = "glicko2: inactivity never raises the deviation above, 350."},
    [FIELD_PERIOD] = {RUNG_NAMED("period"), REAL,
                      .doc = "glicko2: seconds of a rating period, the unit of inactivity, 86400; "
                             "0: no inactivity."},
    [FIELD_MODEL] = {RUNG_NAMED("model"), .types = RUNG_FIELD_STRING,
                     .values = rung_wenglin_model_words, .doc = "openskill: plackett_luce.",
                     .example = "\"plackett_luce\""},
    [FIELD_BETA] = {RUNG_NAMED("beta"), REAL,
                    .doc = "openskill: spread of a performance around the skill, 25/6."},
    [FIELD_KAPPA] = {RUNG_NAMED("kappa"), REAL,
                     .doc =
                         "openskill: one match keeps at least this part of the variance, 0.0001."},
    [FIELD_LIMIT_SIGMA] = {RUNG_NAMED("limit_sigma"), FLAG,
                           .doc = "openskill: no match raises a deviation."},
    [FIELD_WINDOW] = {RUNG_NAMED("window"), COUNT,
                      .doc = "openskill, partial pairing: neighbours on either side, 1."},
    [FIELD_WINDOW_MEAN] = {RUNG_NAMED("window_mean"), FLAG,
                           .doc = "openskill, partial pairing: their mean, not their sum."},
};
const rung_schema rung_rating_schema = {
    .name = "Rating",
    .doc = "The parameters of a rating board; each has the system's published default.",
    .fields = rating_fields,
    .count = FIELDS};

/* ---- places in the struct ---- */

enum {
    ELO = 1,
    GLICKO2 = 2,
    OPENSKILL = 4,
    PAIRED = ELO | GLICKO2,
    UNSURE = GLICKO2 | OPENSKILL,
    ALL = 7
};
typedef enum kind { KIND_REAL, KIND_COUNT, KIND_FLAG, KIND_SECONDS, KIND_MODEL, KIND_RULES } kind;

typedef struct parameter {
    unsigned field, systems;
    kind kind;
    size_t offset;
} parameter;

#define IN(member) offsetof(rung_rating_params, member)
static const parameter PARAMETERS[] = {
    {FIELD_INITIAL, ALL, KIND_REAL, IN(rating)},
    {FIELD_DEVIATION, UNSURE, KIND_REAL, IN(deviation)},
    {FIELD_VOLATILITY, GLICKO2, KIND_REAL, IN(volatility)},
    {FIELD_CONSERVATIVE, ALL, KIND_REAL, IN(conservative)},
    {FIELD_DRAW, ALL, KIND_REAL, IN(draw)},
    {FIELD_MIN_GAMES, ALL, KIND_COUNT, IN(min_games)},
    {FIELD_PAIRS, PAIRED, KIND_FLAG, IN(pairs_count_fully)},
    {FIELD_KNOWN, ALL, KIND_FLAG, IN(known_players_only)},
    {FIELD_SEASON_KEEP, ALL, KIND_REAL, IN(season_keep)},
    {FIELD_SEASON_DEVIATION, UNSURE, KIND_REAL, IN(season_deviation)},
    {FIELD_RESULTS, ALL, KIND_COUNT, IN(results_kept)},
    {FIELD_K, ELO, KIND_REAL, IN(elo.k)},
    {FIELD_SCALE, ELO, KIND_REAL, IN(elo.scale)},
    {FIELD_NORMAL, ELO, KIND_FLAG, IN(elo.is_normal)},
    {FIELD_FLOOR, ELO, KIND_REAL, IN(elo.floor)},
    {FIELD_DIFFERENCE, ELO, KIND_REAL, IN(elo.difference_max)},
    {FIELD_PROVISIONAL_GAMES, ELO, KIND_COUNT, IN(elo.provisional_games)},
    {FIELD_PROVISIONAL_K, ELO, KIND_REAL, IN(elo.provisional_k)},
    {FIELD_PROVISIONAL_EFFECT, ELO, KIND_REAL, IN(elo.provisional_effect)},
    {FIELD_RULES, ELO, KIND_RULES, IN(elo)},
    {FIELD_TAU, GLICKO2, KIND_REAL, IN(glicko2.tau)},
    {FIELD_TAU, OPENSKILL, KIND_REAL, IN(wenglin.tau)},
    {FIELD_DEVIATION_MIN, GLICKO2, KIND_REAL, IN(glicko2.deviation_min)},
    {FIELD_DEVIATION_MAX, GLICKO2, KIND_REAL, IN(glicko2.deviation_max)},
    {FIELD_PERIOD, GLICKO2, KIND_SECONDS, IN(glicko2.period_ms)},
    {FIELD_MODEL, OPENSKILL, KIND_MODEL, IN(wenglin.model)},
    {FIELD_BETA, OPENSKILL, KIND_REAL, IN(wenglin.beta)},
    {FIELD_KAPPA, OPENSKILL, KIND_REAL, IN(wenglin.kappa)},
    {FIELD_LIMIT_SIGMA, OPENSKILL, KIND_FLAG, IN(wenglin.limit_sigma)},
    {FIELD_WINDOW, OPENSKILL, KIND_COUNT, IN(wenglin.window)},
    {FIELD_WINDOW_MEAN, OPENSKILL, KIND_FLAG, IN(wenglin.window_mean)},
};

static const parameter *parameter_of(unsigned field, rung_rating_system system) {
    for (size_t i = 0; i < RUNG_COUNT_OF(PARAMETERS); i++)
        if (PARAMETERS[i].field == field && PARAMETERS[i].systems >> system & 1)
            return &PARAMETERS[i];
    return NULL;
}

/* ---- reading ---- */

static rung_status read_real(const rung_slot *slot, const char *name, double *out, rung_err *err) {
    if (rung_text_parse_real(slot->text, out, NULL) < 0)
        return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "rating.%s", "the number is out of range", name);
    return RUNG_OK;
}

static rung_status read_rule(rung_json *r, rung_elo_params *e, rung_err *err) {
    rung_slot slots[RULE_FIELDS];
    rung_status st = rung_schema_read(&rule_schema, r, slots);
    if (st < 0)
        return st;
    rung_elo_rule *rule =
        &e->rules[e->rule_count++]; /* the table allows no more than there is room for */
    *rule = (rung_elo_rule){.from = -RUNG_RATING_MAX, .under = 2 * RUNG_RATING_MAX};
    if (slots[RULE_GAMES].present)
        rule->games_under = (uint32_t)slots[RULE_GAMES].integer;
    if (slots[RULE_FROM].present)
        st = read_real(&slots[RULE_FROM], "rules.from", &rule->from, err);
    if (st >= 0 && slots[RULE_UNDER].present)
        st = read_real(&slots[RULE_UNDER], "rules.under", &rule->under, err);
    return st < 0 ? st : read_real(&slots[RULE_K], "rules.k", &rule->k, err);
}

static rung_status read_rules(rung_json *r, const rung_slot *slot, rung_elo_params *e,
                              rung_err *err) {
    e->rule_count = 0;
    rung_json_init_at(r, slot->text, "rating.rules", slot->offset, err);
    rung_status st = rung_json_enter_array(r);
    while (st == RUNG_OK && (st = rung_json_next_item(r)) == RUNG_OK)
        st = read_rule(r, e, err);
    return st < 0 ? st : RUNG_OK;
}

static rung_status read_parameter(rung_json *r, const parameter *p, const rung_slot *slot,
                                  rung_rating_params *params, rung_err *err) {
    void *at = (char *)params + p->offset;
    const char *name = rating_fields[p->field].name;
    switch (p->kind) {
    case KIND_REAL:
        return read_real(slot, name, at, err);
    case KIND_COUNT:
        *(uint32_t *)at = (uint32_t)slot->integer;
        return RUNG_OK;
    case KIND_FLAG:
        *(bool *)at = slot->integer;
        return RUNG_OK;
    case KIND_MODEL:
        *(rung_wenglin_model *)at = (rung_wenglin_model)slot->choice;
        return RUNG_OK;
    case KIND_RULES:
        return read_rules(r, slot, at, err);
    case KIND_SECONDS:
        break;
    }
    if (rung_text_parse_fixed(slot->text, 3, at, NULL) < 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rating.%s",
                               "expected seconds with at most 3 decimals", name);
    return RUNG_OK;
}

rung_status rung_rating_json_read(rung_json *r, const rung_slot *slot, rung_rating_params *p,
                                  rung_err *err) {
    rung_slot slots[FIELDS];
    rung_status st =
        rung_schema_read_at(&rung_rating_schema, r, slot->text, "rating", slot->offset, slots, err);
    for (unsigned i = 0; st >= 0 && i < FIELDS; i++) {
        if (!slots[i].present)
            continue;
        const parameter *known = parameter_of(i, p->system);
        if (!known)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rating.%s",
                                   "the board's rating system has no such parameter",
                                   rating_fields[i].name);
        st = read_parameter(r, known, &slots[i], p, err);
    }
    return st;
}

/* ---- writing ---- */

static void write_rules(rung_json_writer *w, const rung_elo_params *e) {
    rung_json_open_array(w);
    for (uint32_t i = 0; i < e->rule_count; i++) {
        const rung_elo_rule *rule = &e->rules[i];
        rung_json_open_object(w);
        if (rule->games_under)
            RUNG_JSON_MEMBER(w, "games_under", uint, rule->games_under);
        if (rule->from > -RUNG_RATING_MAX)
            RUNG_JSON_MEMBER(w, "from", real, rule->from);
        if (rule->under < 2 * RUNG_RATING_MAX)
            RUNG_JSON_MEMBER(w, "under", real, rule->under);
        RUNG_JSON_MEMBER(w, "k", real, rule->k);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
}

static void write_parameter(rung_json_writer *w, const parameter *p, const void *at) {
    switch (p->kind) {
    case KIND_REAL:
        rung_json_write_real(w, *(const double *)at);
        break;
    case KIND_COUNT:
        rung_json_write_uint(w, *(const uint32_t *)at);
        break;
    case KIND_FLAG:
        rung_json_write_bool(w, *(const bool *)at);
        break;
    case KIND_SECONDS:
        rung_json_write_fixed(w, *(const int64_t *)at, 3);
        break;
    case KIND_MODEL:
        rung_json_write_word(w, rung_wenglin_model_words[*(const rung_wenglin_model *)at]);
        break;
    case KIND_RULES:
        write_rules(w, at);
        break;
    }
}

void rung_rating_json_write(rung_json_writer *w, const rung_rating_params *p) {
    rung_json_open_object(w);
    for (size_t i = 0; i < RUNG_COUNT_OF(PARAMETERS); i++) {
        const parameter *next = &PARAMETERS[i];
        if (!(next->systems >> p->system & 1))
            continue;
        rung_json_write_key(w, rung_slice_str(rating_fields[next->field].name));
        write_parameter(w, next, (const char *)p + next->offset);
    }
    rung_json_close_object(w);
}
