/* SPDX-License-Identifier: Apache-2.0 */
/* A board's definition as bytes, version 1, in the terms of base/bytes.h (an example is in docs/formats/events.md):
 *
 *   byte      1, the version, 2 of a rating board, 3 of a sketch board; bit 7: keep differs by the kind of window;
 *             bit 6: there are rules; bit 5: something about reviews; bit 4: timed snapshots
 *   text      title
 *   byte      columns, 1 to 3: the score and what comes after it
 *   per column:
 *     byte    bits 0-1 type, bit 2 order, bits 4-7 decimals
 *     text    its name; not for the score
 *   byte      tie
 *   byte      update; after decay (4) follows a number, the half life in milliseconds; after elo (5), glicko2 (6) and
 *             openskill (7) follow the parameters: real initial, real deviation, real volatility, real conservative,
 *             real draw, number min_games, byte pairs_count_fully (0 or 1), then
 *               elo: real k, scale, floor, difference_max, byte normal, number provisional_games, real provisional_k,
 *                 provisional_effect, number of rules; per rule: number games_under, real from, under, k
 *               glicko2: real tau, deviation_min, deviation_max, number period in milliseconds
 *               openskill: byte model, real beta, kappa, tau, byte limit_sigma, number window, byte window_mean
 *   byte      rank
 *   byte      windows
 *   number    seasons; per season: text name, signed start, number of milliseconds to its end
 *   text      zone name
 *   text      zone rules, packed
 *   number    the minute at which days start
 *   number    grace in milliseconds
 *   number    keep; with bit 7 of the version follow: byte kinds (not 0), and per kind a number
 *   number    scopes; per scope: text
 *   byte      1 with teams, else 0; with teams follow: text by, byte combine, and after top (2) a number, how many
 *   byte      limits, one bit each; then those that are there, in the order of their bits:
 *               min, max, max_step as a value of the score: signed, or real; number rate; real z_score
 *   byte      writers
 *   with bit 6 of the version: number of rules (not 0); per rule byte rule, byte action; min, max, max_step, first_min
 *             and first_max as a value of the score, submissions as a number, the others as a real; of max_rate and
 *             submissions then a number of milliseconds; attested_* have no value
 *   with bit 5 of the version: byte review, and after top (1) a number, how many; number of milliseconds until a review
 *             ends, 0 for the default; byte outcome, 0 reject, 1 promote; not all of them 0
 *   with bit 4 of the version: timed snapshots: number of milliseconds, number top, number keep; none of them 0
 *   of a sketch board: byte sketch (1 counts, 2 percentile, 3 distinct), number memory in bytes, number top, real error
 *
 * Valid = each value in its only encoding, nothing after it, and the definition passes rung_board_def_check().
 *
 * Invariants
 *   1. What decodes encodes to the same bytes: every byte is a field, and a bit without a meaning must be 0.
 *   2. What is encoded decodes: only valid definitions are written.
 *   3. A field that does not apply is not written. Where no flag or count rules it out (half life, members of a team
 *      that count) it must be 0, so that nothing a client sent is dropped silently. */
#include "model/board.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "model/coder.h"
#include "model/utf8.h"

#define DEF_VERSION    1
#define RATING_VERSION 2 /* of rating boards: older programs must not take one for another */
#define SNAPSHOT_FLAG  0x10
#define SKETCH_VERSION 3 /* of sketch boards: the same */
#define REVIEW_FLAG    0x20
#define RULES_FLAG     0x40
#define KEEP_FLAG      0x80 /* of the version, so that older programs refuse what they would get wrong */

uint32_t rung_board_window_kind(const rung_board_def *def, rung_slice name,
                                rung_slice *season_out) {
    static const uint8_t order[] = {0,
                                    RUNG_WINDOW_YEAR,
                                    RUNG_WINDOW_MONTH,
                                    RUNG_WINDOW_WEEK,
                                    RUNG_WINDOW_DAY,
                                    RUNG_WINDOW_HOUR};
    int named = name.len ? rung_word_find(rung_plain_window_words, name) : -1;
    if (named >= 0)
        return (uint32_t)named;
    for (uint32_t i = 0; i < sizeof order && !name.len; i++)
        if (def->windows >> order[i] & 1)
            return order[i];
    *season_out = name.len ? name : def->seasons[0].name;
    return RUNG_WINDOW_SEASON;
}

const rung_season *rung_board_season(const rung_board_def *def, rung_slice name) {
    for (uint32_t i = 0; i < def->season_count; i++)
        if (rung_slice_eq(def->seasons[i].name, name))
            return &def->seasons[i];
    return NULL;
}

rung_board_def rung_board_def_default(void) {
    return (rung_board_def){
        .key = {.column_count = 1},
        .rank = RUNG_RANK_SPARSE,
        .windows = RUNG_WINDOWS_ALL,
        .keep = RUNG_KEEP_DEFAULT,
    };
}

/* Is anything about reviews not as usual? */
static bool has_review_part(const rung_board_def *def) {
    return def->review || def->review_ms || def->review_outcome;
}

/* ---- names ------------------------------------------------------------------------------------------- */

bool rung_name_is_valid(rung_slice name) {
    return name.len >= 1 && name.len <= RUNG_NAME_MAX && rung_utf8_is_plain(name);
}

bool rung_attribute_name_is_valid(rung_slice name) {
    if (name.len < 1 || name.len > RUNG_ATTRIBUTE_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (!rung_is_letter(c) && !rung_is_digit(c) && c != '_' && c != '.' && c != '-')
            return false;
    }
    return true;
}

/* The syntax of IANA zone names, without the dot, which none of them has: such a name is also safe in a path. */
static bool is_zone_name(rung_slice name) {
    if (name.len < 1 || name.len > RUNG_ZONE_NAME_MAX || !rung_is_letter(name.ptr[0]))
        return false;
    for (size_t i = 1; i < name.len; i++) {
        char c = name.ptr[i];
        if (!rung_is_letter(c) && !rung_is_digit(c) && c != '_' && c != '+' && c != '-' && c != '/')
            return false;
    }
    return true;
}

/* ---- validity ---------------------------------------------------------------------------------------- */

static const char *const COLUMN_FIELDS[RUNG_COLUMNS_MAX] = {"score", "columns[0]", "columns[1]"};

static bool is_time(int64_t at_ms) {
    return at_ms >= RUNG_TIME_MS_MIN && at_ms < RUNG_TIME_MS_END;
}

static rung_status check_column(const rung_column *column, const char *field, rung_err *err) {
    if (column->type > RUNG_SCORE_REAL)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s.type", "integer, decimal or real", field);
    if (column->order > RUNG_ORDER_ASC)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s.order", "desc or asc", field);
    if (column->decimals > RUNG_DECIMALS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s.decimals", "0 to %d", field,
                               RUNG_DECIMALS_MAX);
    if (column->decimals && column->type != RUNG_SCORE_DECIMAL)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s.decimals", "only the type decimal has them",
                               field);
    return RUNG_OK;
}

static rung_status check_columns(const rung_board_def *def, rung_err *err) {
    const rung_keyspec *key = &def->key;
    if (key->column_count < 1 || key->column_count > RUNG_COLUMNS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "columns", "at most %d after the score",
                               RUNG_COLUMNS_MAX - 1);
    for (unsigned i = 0; i < key->column_count; i++) {
        rung_status st = check_column(&key->columns[i], COLUMN_FIELDS[i], err);
        if (st < 0)
            return st;
        if (i == 0)
            continue;
        rung_slice name = def->column_names[i - 1];
        if (!rung_attribute_name_is_valid(name) || rung_slice_eq(name, RUNG_SLICE("score")))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s.name",
                                   "1 to %d of a-z A-Z 0-9 _ . - and not \"score\"",
                                   COLUMN_FIELDS[i], RUNG_ATTRIBUTE_NAME_MAX);
        if (i == 2 && rung_slice_eq(name, def->column_names[0]))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s.name", "duplicate column name",
                                   COLUMN_FIELDS[i]);
    }
    if (key->tie > RUNG_TIE_PLAYER_LAST)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "tie", "first, last, player or player_desc");
    return RUNG_OK;
}

static rung_status check_rating(const rung_board_def *def, rung_err *err) {
    const rung_column *score = &def->key.columns[0];
    if (score->type == RUNG_SCORE_REAL || score->order != RUNG_ORDER_DESC ||
        def->key.column_count != 1)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "update",
                               "ratings need an integer or decimal score, desc, no columns");
    if (def->limits || def->rule_count || has_review_part(def))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "a rating board has none",
                               def->limits       ? "limits"
                               : def->rule_count ? "rules"
                                                 : "review");
    if (def->rating.system != rung_update_system(def->update))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rating", "parameters of another system");
    return rung_rating_params_check(&def->rating, err);
}

static rung_status check_update(const rung_board_def *def, rung_err *err) {
    const rung_column *score = &def->key.columns[0];
    bool is_alone = def->key.column_count == 1;
    if (def->update > RUNG_UPDATE_OPENSKILL)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "update", "expected one of %s",
                               RUNG_ALTERNATIVES(RUNG_UPDATES));
    if (def->update == RUNG_UPDATE_COUNT && (score->type != RUNG_SCORE_INTEGER || !is_alone))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "update",
                               "count needs an integer score and no columns");
    if (def->update != RUNG_UPDATE_DECAY && def->half_life_ms != 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "half_life", "only the update decay has one");
    if (def->update != RUNG_UPDATE_DECAY)
        return rung_update_is_rating(def->update) ? check_rating(def, err) : RUNG_OK;
    if (score->type != RUNG_SCORE_REAL || score->order != RUNG_ORDER_DESC || !is_alone)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "update",
                               "decay needs a real score, desc, no columns");
    if (def->half_life_ms < RUNG_HALF_LIFE_MIN_MS || def->half_life_ms > RUNG_HALF_LIFE_MAX_MS)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "half_life", "1 minute to 36500 days");
    return RUNG_OK;
}

static rung_status check_season(const rung_board_def *def, uint32_t index, rung_err *err) {
    const rung_season *season = &def->seasons[index];
    if (!rung_name_is_valid(season->name))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "seasons[%u].name",
                               "1 to %d bytes of UTF-8 without control characters", index,
                               RUNG_NAME_MAX);
    if (rung_word_find(rung_plain_window_words, season->name) >= 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "seasons[%u].name", "the name of a window kind",
                               index);
    for (uint32_t i = 0; i < index; i++)
        if (rung_slice_eq(season->name, def->seasons[i].name))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "seasons[%u].name", "same name as seasons[%u]",
                                   index, i);
    if (!is_time(season->starts_ms))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "seasons[%u].starts", "in the years %d to %d",
                               index, RUNG_YEAR_MIN, RUNG_YEAR_MAX);
    if (!is_time(season->ends_ms))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "seasons[%u].ends", "in the years %d to %d", index,
                               RUNG_YEAR_MIN, RUNG_YEAR_MAX);
    if (season->starts_ms >= season->ends_ms)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "seasons[%u].ends", "must be after its start",
                               index);
    return RUNG_OK;
}

static rung_status check_windows(const rung_board_def *def, rung_err *err) {
    if (def->windows & ~RUNG_WINDOWS_MASK)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "windows",
                               "all, hour, day, week, month, year or seasons");
    if (!def->windows && !def->season_count)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "windows", "at least one window or season");
    if (def->season_count > RUNG_SEASONS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "seasons", "at most %d", RUNG_SEASONS_MAX);
    for (uint32_t i = 0; i < def->season_count; i++) {
        rung_status st = check_season(def, i, err);
        if (st < 0)
            return st;
    }
    return RUNG_OK;
}

static rung_status check_keep(const rung_board_def *def, rung_err *err) {
    if (def->keep > RUNG_KEEP_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "keep", "0 to %d", RUNG_KEEP_MAX);
    if (def->keep_kinds & ~RUNG_KEEP_KINDS_MASK)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "keep", "not a kind of window that closes");
    for (uint32_t kind = 0; kind <= RUNG_WINDOW_SEASON; kind++)
        if (def->keep_of[kind] > (def->keep_kinds >> kind & 1 ? RUNG_KEEP_MAX : 0))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "keep", "%s: 0 to %d", rung_window_words[kind],
                                   RUNG_KEEP_MAX);
    return RUNG_OK;
}

static rung_status check_clock(const rung_board_def *def, rung_err *err) {
    bool is_utc = def->zone_name.len == 0 || rung_slice_eq(def->zone_name, RUNG_SLICE("UTC"));
    if (!is_utc && !is_zone_name(def->zone_name))
        return RUNG_FAIL_FIELD(
            err, RUNG_EINVAL, "timezone",
            "an IANA zone name: a letter, then up to %d letters, digits, _ + - /",
            RUNG_ZONE_NAME_MAX - 1);
    if (is_utc && def->zone_rules.len)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "timezone", "UTC has no rules");
    if (!is_utc && !def->zone_rules.len)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "timezone",
                               "a zone other than UTC needs its rules");
    if (def->zone_rules.len > RUNG_ZONE_PACKED_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "timezone", "rules of at most %zu bytes",
                               RUNG_ZONE_PACKED_MAX);
    if (def->day_starts_min < 0 || def->day_starts_min > RUNG_DAY_STARTS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "day_starts", "00:00 to 23:59");
    if (def->grace_ms < 0 || def->grace_ms > RUNG_GRACE_MAX_MS)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "grace", "0 to 366 days");
    return check_keep(def, err);
}

static rung_status check_scopes(const rung_board_def *def, rung_err *err) {
    if (def->scope_count > RUNG_SCOPES_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "scopes", "at most %d", RUNG_SCOPES_MAX);
    for (uint32_t i = 0; i < def->scope_count; i++) {
        if (!rung_attribute_name_is_valid(def->scopes[i]))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "scopes[%u]", "1 to %d of a-z A-Z 0-9 _ . -",
                                   i, RUNG_ATTRIBUTE_NAME_MAX);
        for (uint32_t k = 0; k < i; k++)
            if (rung_slice_eq(def->scopes[i], def->scopes[k]))
                return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "scopes[%u]", "same as scopes[%u]", i, k);
    }
    return RUNG_OK;
}

static rung_status check_teams(const rung_board_def *def, rung_err *err) {
    if (!def->has_teams)
        return RUNG_OK;
    if (!rung_attribute_name_is_valid(def->team_by))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "teams.by", "1 to %d of a-z A-Z 0-9 _ . -",
                               RUNG_ATTRIBUTE_NAME_MAX);
    if (def->team_combine > RUNG_COMBINE_TOP)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "teams.combine", "sum, mean or top");
    if (def->team_combine != RUNG_COMBINE_TOP && def->team_top)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "teams.combine", "only top counts members");
    if (def->team_combine == RUNG_COMBINE_TOP &&
        (def->team_top < 1 || def->team_top > RUNG_TEAM_TOP_MAX))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "teams.combine", "top of 1 to %d members",
                               RUNG_TEAM_TOP_MAX);
    return RUNG_OK;
}

/* Also false for NaN, on either side. */
static bool is_at_most(rung_score_type type, rung_value a, rung_value b) {
    return type == RUNG_SCORE_REAL ? a.d <= b.d : a.i <= b.i;
}

static rung_status check_limits(const rung_board_def *def, rung_err *err) {
    static const rung_value ZERO; /* as an integer and as a real */
    rung_score_type type = def->key.columns[0].type;
    uint32_t both = RUNG_LIMIT_MIN | RUNG_LIMIT_MAX;
    if (def->limits & ~(uint32_t)RUNG_LIMITS_MASK)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "limits",
                               "min, max, max_step, per_player_per_minute or z_score");
    if ((def->limits & RUNG_LIMIT_MIN) && !is_at_most(type, def->min, def->min))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "limits.min", "a number");
    if ((def->limits & RUNG_LIMIT_MAX) && !is_at_most(type, def->max, def->max))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "limits.max", "a number");
    if ((def->limits & both) == both && !is_at_most(type, def->min, def->max))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "limits.min", "at most limits.max");
    if ((def->limits & RUNG_LIMIT_STEP) && !is_at_most(type, ZERO, def->max_step))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "limits.max_step", "0 or more");
    if ((def->limits & RUNG_LIMIT_RATE) && def->per_player_per_minute < 1)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "limits.per_player_per_minute", "1 or more");
    if ((def->limits & RUNG_LIMIT_Z) && !(def->z_score > 0 && __builtin_isfinite(def->z_score)))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "limits.z_score", "above 0 and finite");
    return RUNG_OK;
}

static rung_status check_rule_value(const rung_board_def *def, uint32_t i, rung_err *err) {
    static const rung_value ZERO; /* as an integer and as a real */
    const rung_board_rule *r = &def->rules[i];
    rung_score_type type = def->key.columns[0].type;
    rung_measure measure = rung_rule_measure(r->rule);
    if (measure == RUNG_MEASURE_INTEGER && (r->value.i < 1 || r->value.i > UINT32_MAX))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rules[%u].value", "1 to %u", i, UINT32_MAX);
    if (measure == RUNG_MEASURE_REAL && !(r->value.d > 0 && __builtin_isfinite(r->value.d)))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rules[%u].value", "above 0 and finite", i);
    if (measure == RUNG_MEASURE_SCORE && !is_at_most(type, r->value, r->value))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rules[%u].value", "a number", i);
    if (r->rule == RUNG_RULE_STEP && !is_at_most(type, ZERO, r->value))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rules[%u].value", "0 or more", i);
    return RUNG_OK;
}

static rung_status check_rule(const rung_board_def *def, uint32_t i, rung_err *err) {
    const rung_board_rule *r = &def->rules[i];
    if (!rung_rule_is_definable(r->rule))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rules[%u].rule", "not a rule of a board", i);
    if (r->action > RUNG_ACTION_REVIEW)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rules[%u].action", "expected one of %s", i,
                               RUNG_ALTERNATIVES(RUNG_ACTIONS));
    if (rung_rule_has_per(r->rule)
            ? r->per_ms < RUNG_RULE_PER_MIN_MS || r->per_ms > RUNG_RULE_PER_MAX_MS
            : r->per_ms != 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rules[%u].per", "%s", i,
                               rung_rule_has_per(r->rule)
                                   ? "1 second to 366 days"
                                   : "only max_rate and submissions have it");
    if (def->update == RUNG_UPDATE_COUNT && r->rule != RUNG_RULE_SUBMISSIONS &&
        rung_rule_measure(r->rule) != RUNG_MEASURE_GIVEN)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rules[%u].rule",
                               "a board that counts has only submissions and attested_*", i);
    if (r->rule == RUNG_RULE_MAX_RATE && def->key.columns[0].order == RUNG_ORDER_ASC)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rules[%u].rule", "max_rate needs order desc", i);
    for (uint32_t k = 0; k < i; k++)
        if (r->rule == RUNG_RULE_SUBMISSIONS && def->rules[k].rule == r->rule &&
            def->rules[k].per_ms != r->per_ms)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rules[%u].per", "as that of rules[%u]", i, k);
    return check_rule_value(def, i, err);
}

static rung_status check_rules(const rung_board_def *def, rung_err *err) {
    if (def->rule_count > RUNG_BOARD_RULES_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rules", "at most %d", RUNG_BOARD_RULES_MAX);
    rung_status st = RUNG_OK;
    for (uint32_t i = 0; i < def->rule_count && st >= 0; i++)
        st = check_rule(def, i, err);
    return st;
}

static rung_status check_review(const rung_board_def *def, rung_err *err) {
    bool is_top = def->review == RUNG_REVIEW_TOP;
    if (def->review > RUNG_REVIEW_ANOMALIES)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "review", "top:N or anomalies");
    if (is_top ? def->review_top < 1 || def->review_top > RUNG_REVIEW_TOP_MAX : def->review_top)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "review", "top:1 to top:%d", RUNG_REVIEW_TOP_MAX);
    if (def->review_ms &&
        (def->review_ms < RUNG_REVIEW_MIN_MS || def->review_ms > RUNG_REVIEW_MAX_MS))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "review_expires", "1 second to 366 days");
    if (def->review_outcome > RUNG_VERDICT_PROMOTE)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "review_outcome", "reject or promote");
    return RUNG_OK;
}

uint64_t rung_board_snapshot_rows(const rung_board_def *def) {
    uint32_t windows = (uint32_t)__builtin_popcount(def->windows) + def->season_count;
    return (uint64_t)def->snapshot_top * def->snapshot_keep * windows;
}

static rung_status check_snapshots(const rung_board_def *def, rung_err *err) {
    if (!def->snapshot_every_ms && !def->snapshot_top && !def->snapshot_keep)
        return RUNG_OK;
    if (def->snapshot_every_ms < RUNG_SNAPSHOT_EVERY_MIN_MS ||
        def->snapshot_every_ms > RUNG_SNAPSHOT_EVERY_MAX_MS || def->snapshot_every_ms % 1000)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "snapshots.every",
                               "1 second to 31 days, in whole seconds");
    if (def->snapshot_top < 1 || def->snapshot_top > RUNG_SNAPSHOT_TOP_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "snapshots.top", "1 to %d", RUNG_SNAPSHOT_TOP_MAX);
    if (def->snapshot_keep < 1 || def->snapshot_keep > RUNG_SNAPSHOT_KEEP_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "snapshots.keep", "1 to %d",
                               RUNG_SNAPSHOT_KEEP_MAX);
    if (rung_board_snapshot_rows(def) > RUNG_SNAPSHOT_ROWS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "snapshots.keep",
                               "top x keep x windows is %llu entries; at most %llu are kept",
                               (unsigned long long)rung_board_snapshot_rows(def),
                               (unsigned long long)RUNG_SNAPSHOT_ROWS_MAX);
    return RUNG_OK;
}

bool rung_board_has_reviews(const rung_board_def *def) {
    for (uint32_t i = 0; i < def->rule_count; i++)
        if (def->rules[i].action == RUNG_ACTION_REVIEW)
            return true;
    return def->review != RUNG_REVIEW_NONE;
}

bool rung_board_needs_form(const rung_board_def *def) {
    for (uint32_t i = 0; i < def->rule_count; i++)
        if (rung_rule_needs_form(def->rules[i].rule))
            return true;
    return false;
}

/* What a board without entries cannot have. */
static const char *field_of_entries(const rung_board_def *def) {
    return def->key.column_count > 1 ? "columns"
           : def->has_teams          ? "teams"
           : def->limits             ? "limits"
           : def->rule_count         ? "rules"
           : has_review_part(def)    ? "review"
           : def->snapshot_every_ms  ? "snapshots"
                                     : NULL;
}

static rung_status check_sketch_update(const rung_board_def *def, rung_err *err) {
    const rung_column *score = &def->key.columns[0];
    bool is_counts = def->sketch == RUNG_SKETCH_COUNTS;
    if (is_counts && def->update != RUNG_UPDATE_SUM && def->update != RUNG_UPDATE_COUNT)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "update", "a counts board has sum or count");
    if (is_counts && (score->type != RUNG_SCORE_INTEGER || score->order != RUNG_ORDER_DESC))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "score", "counts are integers, order desc");
    if (def->sketch == RUNG_SKETCH_PERCENTILE && def->update != RUNG_UPDATE_BEST)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "update",
                               "on a percentile board every submission counts: leave it out");
    if (def->sketch == RUNG_SKETCH_DISTINCT && def->update != RUNG_UPDATE_COUNT)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "update", "a distinct board has count");
    return RUNG_OK;
}

static rung_status check_sketch(const rung_board_def *def, rung_err *err) {
    uint32_t least = def->sketch == RUNG_SKETCH_DISTINCT ? RUNG_SKETCH_MEMORY_MIN_DISTINCT
                                                         : RUNG_SKETCH_MEMORY_MIN;
    if (!def->sketch && (def->sketch_memory || def->sketch_top || def->sketch_error != 0))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "only a sketch board has it",
                               def->sketch_memory ? "memory"
                               : def->sketch_top  ? "top"
                                                  : "error");
    if (!def->sketch)
        return RUNG_OK;
    if (def->sketch > RUNG_SKETCH_DISTINCT)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sketch", "counts, percentile or distinct");
    if (def->sketch_memory < least || def->sketch_memory > RUNG_SKETCH_MEMORY_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "memory", "%uKiB to %uMiB", least >> 10,
                               RUNG_SKETCH_MEMORY_MAX >> 20);
    if (def->sketch_top > (def->sketch == RUNG_SKETCH_COUNTS ? RUNG_SKETCH_TOP_MAX : 0))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "top", "1 to %d, of a counts board only",
                               RUNG_SKETCH_TOP_MAX);
    if (!(def->sketch_error >= 0 && def->sketch_error < 1))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "error", "above 0 and below 1");
    const char *field = field_of_entries(def);
    if (field)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "a sketch board has none", field);
    return check_sketch_update(def, err);
}

rung_status rung_board_def_check(const rung_board_def *def, rung_err *err) {
    static rung_status (*const CHECKS[])(const rung_board_def *, rung_err *) = {
        check_columns, check_update, check_windows, check_clock,     check_scopes, check_teams,
        check_limits,  check_rules,  check_review,  check_snapshots, check_sketch,
    };
    if (def->title.len > RUNG_TITLE_MAX || !rung_utf8_is_plain(def->title))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "title",
                               "up to %d bytes of UTF-8 without control characters",
                               RUNG_TITLE_MAX);
    if (def->rank > RUNG_RANK_DENSE)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "rank", "unique, sparse or dense");
    if (def->writers > RUNG_WRITERS_PLAYER)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "writers", "server or player");
    for (size_t i = 0; i < RUNG_COUNT_OF(CHECKS); i++) {
        rung_status st = CHECKS[i](def, err);
        if (st < 0)
            return st;
    }
    return RUNG_OK;
}

/* ---- bytes ------------------------------------------------------------------------------------------- */

static void code_value(const rung__coder *c, rung_score_type type, rung_value *value) {
    if (type == RUNG_SCORE_REAL)
        rung__code_real(c, &value->d);
    else
        rung__code_signed(c, &value->i);
}

static void code_columns(const rung__coder *c, rung_board_def *def) {
    rung__code_count(c, &def->key.column_count, RUNG_COLUMNS_MAX);
    for (unsigned i = 0; i < def->key.column_count; i++) {
        rung_column *column = &def->key.columns[i];
        uint8_t byte = (uint8_t)(column->type | column->order << 2 | column->decimals << 4);
        RUNG__CODE_BYTE(c, byte);
        if (byte & 0x08)
            rung_byte_reader_fail(c->r, "a column has an unknown bit");
        if (c->r)
            *column = (rung_column){(rung_score_type)(byte & 3), (rung_score_order)(byte >> 2 & 1),
                                    byte >> 4};
        if (i)
            rung__code_text(c, &def->column_names[i - 1]);
    }
    RUNG__CODE_BYTE(c, def->key.tie);
}

static void code_windows(const rung__coder *c, rung_board_def *def) {
    RUNG__CODE_BYTE(c, def->windows);
    rung__code_count(c, &def->season_count, RUNG_SEASONS_MAX);
    for (uint32_t i = 0; i < def->season_count; i++) {
        rung_season *season = &def->seasons[i];
        uint64_t length_ms = (uint64_t)(season->ends_ms - season->starts_ms);
        rung__code_text(c, &season->name);
        rung__code_signed(c, &season->starts_ms);
        rung__code_number(c, &length_ms);
        if (c->r && __builtin_add_overflow(season->starts_ms, length_ms, &season->ends_ms))
            rung_byte_reader_fail(c->r, "a season ends beyond all time");
    }
}

/* While decoding, keep_kinds is not 0 because the version says that the kinds follow. */
static void code_keep(const rung__coder *c, rung_board_def *def) {
    RUNG__CODE_BYTE(c, def->keep_kinds);
    if (c->r && def->keep_kinds == 0)
        rung_byte_reader_fail(c->r, "no kind has a keep of its own");
    for (uint32_t kind = 0; kind <= RUNG_WINDOW_SEASON; kind++)
        if (def->keep_kinds >> kind & 1)
            rung__code_count(c, &def->keep_of[kind], UINT32_MAX);
}

static void code_clock(const rung__coder *c, rung_board_def *def) {
    uint32_t day_starts_min = (uint32_t)def->day_starts_min;
    rung__code_text(c, &def->zone_name);
    rung__code_text(c, &def->zone_rules);
    rung__code_count(c, &day_starts_min, INT32_MAX);
    if (c->r)
        def->day_starts_min = (int32_t)day_starts_min;
    rung__code_positive(c, &def->grace_ms);
    rung__code_count(c, &def->keep, UINT32_MAX);
    if (def->keep_kinds)
        code_keep(c, def);
}

static void code_groups(const rung__coder *c, rung_board_def *def) {
    rung__code_count(c, &def->scope_count, RUNG_SCOPES_MAX);
    for (uint32_t i = 0; i < def->scope_count; i++)
        rung__code_text(c, &def->scopes[i]);
    rung__code_bool(c, &def->has_teams);
    if (!def->has_teams)
        return;
    rung__code_text(c, &def->team_by);
    RUNG__CODE_BYTE(c, def->team_combine);
    if (def->team_combine == RUNG_COMBINE_TOP)
        rung__code_count(c, &def->team_top, UINT32_MAX);
}

static void code_limits(const rung__coder *c, rung_board_def *def) {
    rung_score_type type = def->key.columns[0].type;
    RUNG__CODE_BYTE(c, def->limits);
    if (def->limits & RUNG_LIMIT_MIN)
        code_value(c, type, &def->min);
    if (def->limits & RUNG_LIMIT_MAX)
        code_value(c, type, &def->max);
    if (def->limits & RUNG_LIMIT_STEP)
        code_value(c, type, &def->max_step);
    if (def->limits & RUNG_LIMIT_RATE)
        rung__code_count(c, &def->per_player_per_minute, UINT32_MAX);
    if (def->limits & RUNG_LIMIT_Z)
        rung__code_real(c, &def->z_score);
}

/* While decoding, rule_count is not 0 because the version says that the rules follow. */
static void code_rules(const rung__coder *c, rung_board_def *def) {
    rung__code_count(c, &def->rule_count, RUNG_BOARD_RULES_MAX);
    if (c->r && def->rule_count == 0)
        rung_byte_reader_fail(c->r, "there are no rules");
    for (uint32_t i = 0; i < def->rule_count; i++) {
        rung_board_rule *r = &def->rules[i];
        RUNG__CODE_BYTE(c, r->rule);
        RUNG__CODE_BYTE(c, r->action);
        rung_measure measure = rung_rule_measure(r->rule);
        if (measure == RUNG_MEASURE_SCORE)
            code_value(c, def->key.columns[0].type, &r->value);
        else if (measure == RUNG_MEASURE_INTEGER)
            rung__code_positive(c, &r->value.i);
        else if (measure != RUNG_MEASURE_GIVEN)
            rung__code_real(c, &r->value.d);
        if (rung_rule_has_per(r->rule))
            rung__code_positive(c, &r->per_ms);
    }
}

/* While decoding, review_ms is not 0 because the version says that this follows. */
static void code_review(const rung__coder *c, rung_board_def *def) {
    RUNG__CODE_BYTE(c, def->review);
    if (def->review == RUNG_REVIEW_TOP)
        rung__code_count(c, &def->review_top, RUNG_REVIEW_TOP_MAX);
    rung__code_positive(c, &def->review_ms);
    RUNG__CODE_BYTE(c, def->review_outcome);
    if (c->r && !has_review_part(def))
        rung_byte_reader_fail(c->r, "there is nothing about reviews");
}

/* While decoding, snapshot_every_ms is not 0 because the version says that this follows. */
static void code_snapshots(const rung__coder *c, rung_board_def *def) {
    rung__code_positive(c, &def->snapshot_every_ms);
    rung__code_count(c, &def->snapshot_top, RUNG_SNAPSHOT_TOP_MAX);
    rung__code_count(c, &def->snapshot_keep, RUNG_SNAPSHOT_KEEP_MAX);
    if (c->r && !def->snapshot_every_ms)
        rung_byte_reader_fail(c->r, "there are no timed snapshots");
}

static void code_elo(const rung__coder *c, rung_elo_params *e) {
    rung__code_real(c, &e->k);
    rung__code_real(c, &e->scale);
    rung__code_real(c, &e->floor);
    rung__code_real(c, &e->difference_max);
    rung__code_bool(c, &e->is_normal);
    rung__code_count(c, &e->provisional_games, UINT32_MAX);
    rung__code_real(c, &e->provisional_k);
    rung__code_real(c, &e->provisional_effect);
    rung__code_count(c, &e->rule_count, RUNG_ELO_RULES_MAX);
    for (uint32_t i = 0; i < e->rule_count; i++) {
        rung__code_count(c, &e->rules[i].games_under, UINT32_MAX);
        rung__code_real(c, &e->rules[i].from);
        rung__code_real(c, &e->rules[i].under);
        rung__code_real(c, &e->rules[i].k);
    }
}

static void code_glicko2(const rung__coder *c, rung_glicko2_params *g) {
    rung__code_real(c, &g->tau);
    rung__code_real(c, &g->deviation_min);
    rung__code_real(c, &g->deviation_max);
    rung__code_positive(c, &g->period_ms);
}

static void code_wenglin(const rung__coder *c, rung_wenglin_params *w) {
    RUNG__CODE_BYTE(c, w->model);
    rung__code_real(c, &w->beta);
    rung__code_real(c, &w->kappa);
    rung__code_real(c, &w->tau);
    rung__code_bool(c, &w->limit_sigma);
    rung__code_count(c, &w->window, UINT32_MAX);
    rung__code_bool(c, &w->window_mean);
}

enum { RATING_PAIRS = 1, RATING_EXTRAS = 2, RATING_KNOWN = 4, RATING_FLAGS = 7 };

/* A byte of flags; with bit 1, what not every board has: how seasons begin, and how many results are kept. */
static void code_rating_flags(const rung__coder *c, rung_rating_params *p) {
    bool has_extras = rung_rating_has_reset(p) || p->results_kept != RUNG_RESULTS_KEPT;
    unsigned flags = (p->pairs_count_fully ? RATING_PAIRS : 0u) |
                     (has_extras ? RATING_EXTRAS : 0u) |
                     (p->known_players_only ? RATING_KNOWN : 0u);
    RUNG__CODE_BYTE(c, flags);
    if (c->r) {
        if (flags & ~(unsigned)RATING_FLAGS)
            rung_byte_reader_fail(c->r, "unknown flags of a rating board");
        p->pairs_count_fully = flags & RATING_PAIRS;
        p->known_players_only = flags & RATING_KNOWN;
        p->season_keep = 1;
        p->results_kept = RUNG_RESULTS_KEPT;
    }
    if (!(flags & RATING_EXTRAS))
        return;
    rung__code_real(c, &p->season_keep);
    rung__code_real(c, &p->season_deviation);
    rung__code_count(c, &p->results_kept, UINT32_MAX);
    if (c->r && !rung_rating_has_reset(p) && p->results_kept == RUNG_RESULTS_KEPT)
        rung_byte_reader_fail(c->r, "a rating board without anything special");
}

static void code_rating(const rung__coder *c, rung_board_def *def) {
    rung_rating_params *p = &def->rating;
    if (c->r)
        p->system = rung_update_system(def->update);
    rung__code_real(c, &p->rating);
    rung__code_real(c, &p->deviation);
    rung__code_real(c, &p->volatility);
    rung__code_real(c, &p->conservative);
    rung__code_real(c, &p->draw);
    rung__code_count(c, &p->min_games, UINT32_MAX);
    code_rating_flags(c, p);
    if (p->system == RUNG_RATING_ELO)
        code_elo(c, &p->elo);
    else if (p->system == RUNG_RATING_GLICKO2)
        code_glicko2(c, &p->glicko2);
    else
        code_wenglin(c, &p->wenglin);
}

/* While decoding, sketch is not 0 because the version says so. */
static void code_sketch(const rung__coder *c, rung_board_def *def) {
    RUNG__CODE_BYTE(c, def->sketch);
    rung__code_count(c, &def->sketch_memory, UINT32_MAX);
    rung__code_count(c, &def->sketch_top, UINT32_MAX);
    rung__code_real(c, &def->sketch_error);
    if (c->r && !def->sketch)
        rung_byte_reader_fail(c->r, "a sketch board without a sketch");
}

static void code_def(const rung__coder *c, rung_board_def *def) {
    rung__code_text(c, &def->title);
    code_columns(c, def);
    RUNG__CODE_BYTE(c, def->update);
    if (def->update == RUNG_UPDATE_DECAY)
        rung__code_positive(c, &def->half_life_ms);
    if (rung_update_is_rating(def->update))
        code_rating(c, def);
    RUNG__CODE_BYTE(c, def->rank);
    code_windows(c, def);
    code_clock(c, def);
    code_groups(c, def);
    code_limits(c, def);
    RUNG__CODE_BYTE(c, def->writers);
    if (def->rule_count)
        code_rules(c, def);
    if (has_review_part(def))
        code_review(c, def);
    if (def->snapshot_every_ms)
        code_snapshots(c, def);
    if (def->sketch)
        code_sketch(c, def);
}

static uint8_t version_of(const rung_board_def *def) {
    return (uint8_t)((rung_update_is_rating(def->update) ? RATING_VERSION
                      : def->sketch                      ? SKETCH_VERSION
                                                         : DEF_VERSION) |
                     (def->keep_kinds ? KEEP_FLAG : 0) | (def->rule_count ? RULES_FLAG : 0) |
                     (has_review_part(def) ? REVIEW_FLAG : 0) |
                     (def->snapshot_every_ms ? SNAPSHOT_FLAG : 0));
}

uint32_t rung_board_def_level(const rung_board_def *def) {
    uint8_t version = version_of(def);
    return version & SNAPSHOT_FLAG ? 3 : version == DEF_VERSION ? 0 : 2;
}

rung_status rung_board_def_encode(const rung_board_def *def, void *out, size_t size,
                                  size_t *length_out) {
    rung_status st = rung_board_def_check(def, NULL);
    if (st < 0)
        return st;
    rung_byte_writer w = rung_byte_writer_of(out, size);
    rung_put_byte(&w, version_of(def));
    code_def(&(rung__coder){.w = &w}, (rung_board_def *)(uintptr_t)def);
    size_t length = rung_byte_writer_length(&w);
    RUNG_ASSERT(length <= RUNG_BOARD_DEF_BYTES_MAX);
    *length_out = length;
    return length <= size ? RUNG_OK : RUNG_ELIMIT;
}

rung_status rung_board_def_decode(rung_slice bytes, rung_board_def *def_out, rung_err *err) {
    rung_byte_reader r = rung_byte_reader_of(bytes);
    rung_board_def def = {0};
    uint8_t version = rung_get_byte(&r);
    def.keep_kinds = version & KEEP_FLAG;
    def.rule_count = version & RULES_FLAG;
    def.review_ms = version & REVIEW_FLAG;
    def.snapshot_every_ms = version & SNAPSHOT_FLAG;
    version &= (uint8_t) ~(KEEP_FLAG | RULES_FLAG | REVIEW_FLAG | SNAPSHOT_FLAG);
    if (!r.fault && (version < DEF_VERSION || version > SKETCH_VERSION))
        return RUNG_FAIL(err, RUNG_EVERSION, "board definition: version %u is not known here",
                         version);
    def.sketch = version == SKETCH_VERSION ? RUNG_SKETCH_COUNTS : RUNG_SKETCH_NONE;
    code_def(&(rung__coder){.r = &r}, &def);
    if (rung_update_is_rating(def.update) != (version == RATING_VERSION))
        rung_byte_reader_fail(&r, "the version of another kind of board");
    rung_status st = rung_byte_reader_finish(&r, bytes, "board definition", err);
    if (st == RUNG_OK)
        st = rung_board_def_check(&def, err);
    if (st == RUNG_OK)
        *def_out = def;
    return st;
}
