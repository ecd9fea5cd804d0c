/* SPDX-License-Identifier: Apache-2.0 */
/* Limits refuse; each rule does what its action says. docs/boards.md, "Limits" and "Rules", has what each compares. */
#include "state/judge.h"

#include "state/form.h"

#include <math.h>

/* A decimal in its smallest unit: only ratios matter here. */
static double magnitude(const rung_column *column, rung_value v) {
    return column->type == RUNG_SCORE_REAL ? v.d : (double)v.i;
}

static bool less(const rung_column *column, rung_value a, rung_value b) {
    return column->type == RUNG_SCORE_REAL ? a.d < b.d : a.i < b.i;
}

/* |a - b|; of integers at most INT64_MAX */
static rung_value distance(const rung_column *column, rung_value a, rung_value b) {
    if (column->type == RUNG_SCORE_REAL)
        return (rung_value){.d = fabs(a.d - b.d)};
    rung__wide gap = (rung__wide)a.i - b.i;
    gap = gap < 0 ? -gap : gap;
    return (rung_value){.i = gap > INT64_MAX ? INT64_MAX : (int64_t)gap};
}

/* |a - b| > step */
static bool apart(const rung_column *column, rung_value a, rung_value b, rung_value step) {
    if (column->type == RUNG_SCORE_REAL)
        return fabs(a.d - b.d) > step.d;
    rung__wide gap = (rung__wide)a.i - b.i;
    return (gap < 0 ? -gap : gap) > step.i;
}

/* Does the submitted score compete with the one that stands? */
static bool competes(const rung__case *c) {
    return c->b->def->update == RUNG_UPDATE_BEST || c->b->def->update == RUNG_UPDATE_LAST;
}

static bool has_score(const rung__case *c) {
    return c->e->value_count > 0 && c->b->def->update != RUNG_UPDATE_COUNT;
}

rung_value rung__judged_score(const rung__case *c) {
    if (!has_score(c))
        return (rung_value){0};
    return competes(c) && c->e->is_delta ? c->first->candidate : c->e->values[0];
}

/* From where to where the score moves. false: there is no step. */
static bool step_of(const rung__case *c, rung_value *from, rung_value *to) {
    *from = (rung_value){0};
    *to = c->e->values[0];
    if (!competes(c))
        return true;
    if (!c->first->existed)
        return false;
    rung_value old[RUNG_COLUMNS_MAX];
    rung_keyspec_decode(&c->b->def->key, c->first->old_key, old, NULL);
    *from = old[0];
    *to = c->first->candidate;
    return true;
}

/* The quartiles of the first window reached. false: too few entries, or all alike. */
static bool quartiles(const rung__case *c, double v[3]) {
    const rung__board *b = c->b;
    const rung__window *w = c->first->window;
    rung_ladder_entry at[3];
    if (!w || rung_ladder_count(w->ladder) < 100)
        return false;
    for (uint32_t i = 0; i < 3; i++) {
        rung_value values[RUNG_COLUMNS_MAX];
        rung_ignore(rung_ladder_quantile(w->ladder, i + 1, 4, &at[i]),
                    "there are a hundred entries");
        rung__key_values(b, at[i].key, c->now_ms, values, NULL);
        v[i] = magnitude(&b->def->key.columns[0], values[0]);
    }
    return fabs(v[2] - v[0]) != 0;
}

/* Is x more than z deviations from the median? */
static bool is_outlier(const rung__case *c, rung_value x, double z, double *measured) {
    double v[3];
    if (!quartiles(c, v))
        return false;
    double spread = fabs(v[2] - v[0]), off = fabs(magnitude(&c->b->def->key.columns[0], x) - v[1]);
    *measured = off * 1.349 / spread;
    return off > z * spread / 1.349;
}

/* ---- limits ---- */

static rung_rule score_limit(const rung__case *c, rung_value *limit_out) {
    const rung_board_def *def = c->b->def;
    const rung_column *column = &def->key.columns[0];
    rung_value x = rung__judged_score(c), from, to;
    if (def->limits & RUNG_LIMIT_MIN && less(column, x, def->min)) {
        *limit_out = def->min;
        return RUNG_RULE_MIN;
    }
    if (def->limits & RUNG_LIMIT_MAX && less(column, def->max, x)) {
        *limit_out = def->max;
        return RUNG_RULE_MAX;
    }
    if (def->limits & RUNG_LIMIT_STEP && step_of(c, &from, &to) &&
        apart(column, to, from, def->max_step)) {
        *limit_out = def->max_step;
        return RUNG_RULE_STEP;
    }
    return RUNG_RULE_NONE;
}

rung_rule rung__judge_limits(const rung__case *c, rung_value *limit_out) {
    const rung_board_def *def = c->b->def;
    rung_rule rule = has_score(c) ? score_limit(c, limit_out) : RUNG_RULE_NONE;
    double measured;
    if (rule)
        return rule;
    if (def->limits & RUNG_LIMIT_RATE && c->player != RUNG_PLAYER_NONE &&
        c->b->rate_minute == c->now_ms / 60000) {
        uint32_t so_far = rung_numbermap_get(&c->b->rate, c->player);
        if (so_far != RUNG_NUMBER_NONE && so_far >= def->per_player_per_minute) {
            limit_out->i = def->per_player_per_minute;
            return RUNG_RULE_RATE;
        }
    }
    if (def->limits & RUNG_LIMIT_Z && has_score(c) &&
        is_outlier(c, rung__judged_score(c), def->z_score, &measured)) {
        limit_out->d = def->z_score;
        return RUNG_RULE_Z;
    }
    return RUNG_RULE_NONE;
}

/* ---- rules ---- */

/* Points per rule's time since the player's last submission. false: there was none. */
static bool rate_of(const rung__case *c, const rung__form *f, const rung_board_rule *r,
                    double *rate) {
    const rung_column *column = &c->b->def->key.columns[0];
    if (!f)
        return false;
    double points = magnitude(column, c->e->values[0]);
    if (c->b->def->update == RUNG_UPDATE_LAST && !c->e->is_delta && f->count)
        points -= magnitude(column, f->last);
    int64_t elapsed = c->now_ms - f->last_ms;
    *rate = fabs(points) * (double)r->per_ms / (double)(elapsed < 1 ? 1 : elapsed);
    return !isnan(*rate); /* from one infinity to the same one */
}

static bool breaks_score(const rung__case *c, const rung_board_rule *r, const rung__form *f,
                         rung_value *value) {
    const rung_column *column = &c->b->def->key.columns[0];
    rung_value x = rung__judged_score(c), from, to;
    bool is_first = !(f && f->count) && !c->first->existed;
    *value = x;
    switch (r->rule) {
    case RUNG_RULE_MIN:
        return less(column, x, r->value);
    case RUNG_RULE_MAX:
        return less(column, r->value, x);
    case RUNG_RULE_FIRST_MIN:
        return is_first && less(column, x, r->value);
    case RUNG_RULE_FIRST_MAX:
        return is_first && less(column, r->value, x);
    default:
        break;
    }
    if (!step_of(c, &from, &to))
        return false;
    *value = distance(column, to, from);
    return apart(column, to, from, r->value);
}

static bool is_missing(const rung_attested *a, rung_rule rule) {
    return rule == RUNG_RULE_DURATION ? !a->has_duration
           : rule == RUNG_RULE_SEED   ? !a->seed.len
                                      : !a->replay.len;
}

static bool breaks(const rung__case *c, const rung_board_rule *r, const rung__form *f,
                   rung_value *value) {
    if (r->rule == RUNG_RULE_SUBMISSIONS) {
        int64_t period_ms = rung__form_period(c->b->def, c->now_ms);
        value->i = (f && f->period_ms == period_ms ? (int64_t)f->in_period : 0) + 1;
        return value->i > r->value.i;
    }
    if (rung_rule_measure(r->rule) == RUNG_MEASURE_GIVEN)
        return is_missing(&c->e->attested, r->rule);
    if (!has_score(c))
        return false;
    switch (r->rule) {
    case RUNG_RULE_MAX_RATE:
        return rate_of(c, f, r, &value->d) && value->d > r->value.d;
    case RUNG_RULE_Z_PLAYER:
        value->d = rung__form_distance(c->b, f, rung__judged_score(c));
        return value->d > r->value.d;
    case RUNG_RULE_Z:
        return is_outlier(c, rung__judged_score(c), r->value.d, &value->d);
    default:
        return breaks_score(c, r, f, value);
    }
}

uint32_t rung__judge_rules(const rung__case *c, rung_finding findings[RUNG_FINDINGS_MAX]) {
    const rung_board_def *def = c->b->def;
    const rung__form *f = rung__form_find(c->b, c->player);
    uint32_t n = 0;
    for (uint32_t i = 0; i < def->rule_count; i++) {
        const rung_board_rule *r = &def->rules[i];
        rung_value value = {0};
        if (breaks(c, r, f, &value))
            findings[n++] = (rung_finding){(uint8_t)r->rule, (uint8_t)r->action, value, r->value};
    }
    return n;
}
