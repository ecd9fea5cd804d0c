/* SPDX-License-Identifier: Apache-2.0 */
/* A player's form: the mean of the scores and their mean distance from it, updated with each accepted score x:
 *
 *     n = min(count + 1, 64);  r = x - mean, cut to 3 standard deviations once 8 scores are known
 *     mean += r / n;  deviation += (|r| - deviation) / n
 *
 * So the first 64 scores weigh the same and older ones fade, which lets a player improve; and because of the cut, one
 * outlier moves the mean by at most 3/64 of a deviation: it takes dozens to make the next one look normal. The standard
 * deviation is estimated as 1.2533 x the mean distance (the ratio of a normal distribution). It counts as at least 1/64
 * of the mean and at least one smallest unit of an exact score, so that a player whose scores are all alike is not
 * reported for the first one that differs a little.
 *
 * Only +, -, x and / of doubles, each rounded on its own (CMakeLists.txt forbids contraction): the same bits on every
 * machine.
 *
 * Invariants F1  items[i].player is mapped to i, and every mapped player has an item. F2  the digest is the sum of the
 * items' facts, and part of the state's. F3  Without a rule that needs forms there are none. */
#include "state/form.h"

#include "state/board.h"
#include "state/digest.h"

#include <math.h>
#include <string.h>

enum { MEMORY = 64, KNOWN_MIN = 8, FLOOR_PARTS = 64 };
static const double SIGMA = 1.2533141373155003, CUT = 3;

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static rung_digest form_digest(const rung__board *b, const rung__form *f) {
    uint64_t words[] = {f->count,         (uint64_t)f->last_ms,  (uint64_t)f->last.i,
                        bits_of(f->mean), bits_of(f->deviation), (uint64_t)f->period_ms,
                        f->in_period};
    return rung__fact_digest(RUNG__FACT_FORM, b->serial, f->player, words,
                             sizeof words / sizeof *words);
}

static void count_fact(rung_state *s, rung__board *b, const rung__form *f, bool is_there) {
    rung_digest fact = form_digest(b, f);
    if (is_there) {
        rung__digest_add(&s->digest, fact);
        rung__digest_add(&b->forms.digest, fact);
    } else {
        rung__digest_subtract(&s->digest, fact);
        rung__digest_subtract(&b->forms.digest, fact);
    }
}

const rung__form *rung__form_find(const rung__board *b, uint32_t player) {
    uint32_t i =
        player == RUNG_PLAYER_NONE ? RUNG_NUMBER_NONE : rung_numbermap_get(&b->forms.of, player);
    return i == RUNG_NUMBER_NONE ? NULL : &b->forms.items[i];
}

rung_status rung__form_secure(rung_state *s, rung__board *b, uint32_t player) {
    rung__forms *all = &b->forms;
    if (rung_numbermap_get(&all->of, player) != RUNG_NUMBER_NONE)
        return RUNG_OK;
    if (rung__grow(s->alloc, &all->items, &all->cap, all->count + 1, sizeof *all->items) < 0)
        return RUNG_ENOMEM;
    return rung_numbermap_reserve(&all->of, s->alloc, player);
}

/* ---- what is learned ---- */

static double magnitude(const rung__board *b, rung_value x) {
    return b->def->key.columns[0].type == RUNG_SCORE_REAL ? x.d : (double)x.i;
}

/* The standard deviation, at least so much that it can be divided by; 0: none. */
static double spread_of(const rung__board *b, const rung__form *f) {
    double spread = f->deviation * SIGMA, low = fabs(f->mean) / FLOOR_PARTS;
    spread = spread < low ? low : spread;
    return b->def->key.columns[0].type != RUNG_SCORE_REAL && spread < 1 ? 1 : spread;
}

double rung__form_distance(const rung__board *b, const rung__form *f, rung_value x) {
    if (!f || f->count < KNOWN_MIN)
        return -1;
    double spread = spread_of(b, f), off = fabs(magnitude(b, x) - f->mean);
    return off == 0 ? 0 : spread > 0 ? off / spread : -1;
}

static void learn(const rung__board *b, rung__form *f, double x) {
    double n = f->count + 1 < MEMORY ? (double)(f->count + 1) : MEMORY, r = x - f->mean;
    if (!isfinite(x) || !isfinite(r))
        return; /* an infinite score tells nothing about the next one */
    if (f->count == 0) {
        f->mean = x;
        f->count = 1;
        return;
    }
    double cut = CUT * spread_of(b, f);
    if (f->count >= KNOWN_MIN && fabs(r) > cut)
        r = r < 0 ? -cut : cut;
    double mean = f->mean + r / n, deviation = f->deviation + (fabs(r) - f->deviation) / n;
    if (!isfinite(mean) || !isfinite(deviation))
        return;
    f->mean = mean;
    f->deviation = deviation < 0 ? 0 : deviation;
    f->count += f->count < UINT32_MAX;
}

/* Of the rule `submissions`; 0: there is none. */
static int64_t period_length(const rung_board_def *def) {
    for (uint32_t i = 0; i < def->rule_count; i++)
        if (def->rules[i].rule == RUNG_RULE_SUBMISSIONS)
            return def->rules[i].per_ms;
    return 0;
}

int64_t rung__form_period(const rung_board_def *def, int64_t time_ms) {
    int64_t per = period_length(def);
    return per ? time_ms - (time_ms % per + per) % per : INT64_MIN;
}

void rung__form_note(rung_state *s, rung__board *b, uint32_t player, rung_value x, bool learns) {
    rung__forms *all = &b->forms;
    uint32_t i = rung_numbermap_get(&all->of, player);
    int64_t period_ms = rung__form_period(b->def, s->time_ms);
    if (i == RUNG_NUMBER_NONE) {
        i = all->count++;
        all->items[i] = (rung__form){.player = player, .period_ms = INT64_MIN};
        rung_numbermap_set(&all->of, player, i);
    } else {
        count_fact(s, b, &all->items[i], false);
    }
    rung__form *f = &all->items[i];
    f->last_ms = s->time_ms;
    if (period_ms != f->period_ms)
        f->in_period = 0;
    f->period_ms = period_ms;
    if (period_ms != INT64_MIN)
        f->in_period += f->in_period < UINT32_MAX;
    if (learns) {
        f->last = x;
        learn(b, f, magnitude(b, x));
    }
    count_fact(s, b, f, true);
}

void rung__form_learn(rung_state *s, rung__board *b, uint32_t player, rung_value x, bool is_last) {
    rung__forms *all = &b->forms;
    uint32_t i = rung_numbermap_get(&all->of, player);
    if (i == RUNG_NUMBER_NONE) { /* the rule came after the submission */
        rung__form_note(s, b, player, x, true);
        return;
    }
    rung__form *f = &all->items[i];
    count_fact(s, b, f, false);
    if (is_last || f->count == 0)
        f->last = x;
    learn(b, f, magnitude(b, x));
    count_fact(s, b, f, true);
}

/* ---- life ---- */

static void forget_all(rung_state *s, rung__board *b) {
    rung__digest_subtract(&s->digest, b->forms.digest);
    rung__form_deinit(s, b);
    memset(&b->forms, 0, sizeof b->forms);
}

void rung__form_redefine(rung_state *s, rung__board *b, const rung_board_def *old) {
    if (!rung_board_needs_form(b->def)) {
        forget_all(s, b);
        return;
    }
    if (period_length(old) == period_length(b->def))
        return;
    for (uint32_t i = 0; i < b->forms.count; i++) { /* counts of another kind of period */
        rung__form *f = &b->forms.items[i];
        count_fact(s, b, f, false);
        f->period_ms = INT64_MIN;
        f->in_period = 0;
        count_fact(s, b, f, true);
    }
}

void rung__form_remove(rung_state *s, rung__board *b, uint32_t player) {
    rung__forms *all = &b->forms;
    uint32_t i = rung_numbermap_get(&all->of, player);
    if (i == RUNG_NUMBER_NONE)
        return;
    count_fact(s, b, &all->items[i], false);
    rung_numbermap_remove(&all->of, player);
    rung__form last = all->items[--all->count];
    if (i < all->count) { /* the last one fills the gap */
        all->items[i] = last;
        rung_numbermap_set(&all->of, last.player, i);
    }
}

rung_status rung__form_add(rung_state *s, rung__board *b, const rung__form *f) {
    rung__forms *all = &b->forms;
    if (rung__grow(s->alloc, &all->items, &all->cap, all->count + 1, sizeof *all->items) < 0 ||
        rung_numbermap_add(&all->of, s->alloc, f->player, all->count) != RUNG_OK)
        return RUNG_ENOMEM;
    all->items[all->count++] = *f;
    count_fact(s, b, f, true);
    return RUNG_OK;
}

bool rung__form_is_valid(const rung__board *b, const rung__form *f) {
    bool is_exact = b->def->key.columns[0].type != RUNG_SCORE_REAL;
    return isfinite(f->mean) && isfinite(f->deviation) && f->deviation >= 0 &&
           (is_exact || !isnan(f->last.d)) && f->last_ms >= RUNG_TIME_MS_MIN &&
           f->last_ms < RUNG_TIME_MS_END && (f->period_ms != INT64_MIN || f->in_period == 0);
}

void rung__form_deinit(rung_state *s, rung__board *b) {
    rung_numbermap_deinit(&b->forms.of, s->alloc);
    rung_alloc_free(s->alloc, b->forms.items, b->forms.cap * sizeof *b->forms.items);
}

size_t rung__form_bytes(const rung__board *b) {
    return b->forms.of.bytes + b->forms.cap * sizeof *b->forms.items;
}

const char *rung__form_check(const rung__board *b) {
    rung_digest sum = {0, 0};
    if (b->forms.count && !rung_board_needs_form(b->def))
        return "F3: a board without such rules has forms";
    for (uint32_t i = 0; i < b->forms.count; i++) {
        const rung__form *f = &b->forms.items[i];
        if (rung_numbermap_get(&b->forms.of, f->player) != i)
            return "F1: a form is not where the map says";
        if (!rung__form_is_valid(b, f))
            return "F1: a form is not valid";
        rung__digest_add(&sum, form_digest(b, f));
    }
    if (sum.a != b->forms.digest.a || sum.b != b->forms.digest.b)
        return "F2: the digest of the forms";
    return rung_numbermap_check(&b->forms.of);
}
