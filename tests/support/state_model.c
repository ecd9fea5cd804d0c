/* SPDX-License-Identifier: Apache-2.0 */
/* The facts, and how each event adds to them. Reads like docs/boards.md, in its order; see state_model.h. */
#include "support/state_model.h"

#include "support/check.h"
#include "support/state_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ID_AHEAD_MS = 60000, ID_TURNS = 16 };

/* ---- arrays and texts ---- */

void *model_grow(void *items, uint32_t count, uint32_t *room, size_t size) {
    if (count < *room)
        return items;
    *room = *room ? 2 * *room : 8;
    items = realloc(items, *room * size);
    CHECK(items);
    return items;
}

/* A copy that lives as long as the model. */
static rung_slice keep_text(state_model *m, rung_slice text) {
    if (!text.len)
        return (rung_slice){0};
    model_text *t = malloc(sizeof *t + text.len);
    CHECK(t);
    memcpy(t->bytes, text.ptr, text.len);
    t->next = m->texts;
    m->texts = t;
    return rung_slice_of(t->bytes, text.len);
}

state_model *state_model_create(const state_model_config *config) {
    state_model *m = calloc(1, sizeof *m);
    CHECK(m);
    m->config = *config;
    m->time_ms = INT64_MIN;
    m->id_horizon_ms = INT64_MIN;
    return m;
}

static void board_free(model_board *b) {
    for (uint32_t i = 0; i < b->window_count; i++)
        free(b->windows[i].entries);
    free(b->windows);
    free(b->closed);
    free(b->rates);
    free(b->past);
    free(b);
}

void state_model_destroy(state_model *m) {
    for (uint32_t i = 0; i < m->board_count; i++)
        board_free(m->boards[i]);
    for (uint32_t i = 0; i < m->player_count; i++)
        free(m->players[i].follows);
    for (uint32_t i = 0; i < m->zone_count; i++)
        rung_zone_destroy(m->zones[i]);
    for (model_text *t = m->texts, *next; t; t = next) {
        next = t->next;
        free(t);
    }
    free(m->boards);
    free(m->players);
    free(m->free_numbers);
    free(m->ids);
    for (uint32_t i = 0; i < m->source_count; i++)
        free(m->sources[i].offsets);
    free(m->sources);
    free(m->zones);
    free(m);
}

/* ---- who is known ---- */

model_board *model_board_find(const state_model *m, rung_slice name) {
    for (uint32_t i = 0; i < m->board_count; i++)
        if (rung_slice_eq(m->boards[i]->name, name))
            return m->boards[i];
    return NULL;
}

model_player *model_player_find(const state_model *m, rung_slice name, uint32_t *number_out) {
    for (uint32_t i = 0; i < m->player_count; i++)
        if (m->players[i].is_used && rung_slice_eq(m->players[i].name, name)) {
            if (number_out)
                *number_out = i;
            return &m->players[i];
        }
    return NULL;
}

/* The player's number; a new player gets the number that was freed last, or the next. */
static uint32_t know_player(state_model *m, rung_slice name) {
    uint32_t number;
    if (model_player_find(m, name, &number))
        return number;
    model_player *p;
    if (m->free_count) {
        p = &m->players[m->free_numbers[--m->free_count]];
    } else {
        p = MODEL_PUSH(m->players, m->player_count, m->player_room);
    }
    *p = (model_player){.is_used = true, .serial = ++m->serials, .name = keep_text(m, name)};
    return (uint32_t)(p - m->players);
}

/* The value that ranks a player now; empty: none. */
static rung_slice value_now(const model_player *p, rung_slice name) {
    for (uint32_t i = 0; i < p->attribute_count; i++)
        if (rung_slice_eq(p->attributes[i].name, name) &&
            p->attributes[i].value.len <= RUNG_NAME_MAX)
            return p->attributes[i].value;
    return (rung_slice){0};
}

static rung_attribute *frozen_find(model_entry *e, rung_slice name) {
    for (uint32_t i = 0; i < e->frozen_count; i++)
        if (rung_slice_eq(e->frozen[i].name, name))
            return &e->frozen[i];
    return NULL;
}

rung_slice model_value_of(const state_model *m, const model_window *w, const model_entry *e,
                          rung_slice attribute) {
    if (!w->closed)
        return value_now(&m->players[e->player], attribute);
    for (uint32_t i = 0; i < e->frozen_count; i++)
        if (rung_slice_eq(e->frozen[i].name, attribute))
            return e->frozen[i].value;
    return (rung_slice){0};
}

/* The attributes a board ranks by, each once. */
static uint32_t ranked_attributes(const rung_board_def *def, rung_slice names[MODEL_SLOTS]) {
    uint32_t n = 0;
    bool has_team = !def->has_teams;
    for (; n < def->scope_count; n++) {
        names[n] = def->scopes[n];
        has_team |= rung_slice_eq(names[n], def->team_by);
    }
    if (!has_team)
        names[n++] = def->team_by;
    return n;
}

static bool is_ranked_attribute(const rung_board_def *def, rung_slice name) {
    rung_slice names[MODEL_SLOTS];
    for (uint32_t i = ranked_attributes(def, names); i-- > 0;)
        if (rung_slice_eq(names[i], name))
            return true;
    return false;
}

/* Today's value for every attribute that has none frozen yet. */
static void freeze(const state_model *m, const rung_board_def *def, model_entry *e) {
    rung_slice names[MODEL_SLOTS];
    for (uint32_t i = ranked_attributes(def, names); i-- > 0;)
        if (!frozen_find(e, names[i]))
            e->frozen[e->frozen_count++] =
                (rung_attribute){names[i], value_now(&m->players[e->player], names[i])};
}

const rung_season *model_season(const rung_board_def *def, rung_slice name) {
    for (uint32_t i = 0; i < def->season_count; i++)
        if (rung_slice_eq(def->seasons[i].name, name))
            return &def->seasons[i];
    return NULL;
}

/* ---- which window ---- */

static rung_window rule_at(const model_rule *r, uint32_t kind, int64_t at) {
    rung_window w;
    CHECK_OK(rung_window_at((rung_window_kind)kind, r->zone, r->day_starts_min, at, &w));
    return w;
}

static int64_t rule_end(const model_rule *r, uint32_t kind, int64_t ordinal) {
    rung_window w;
    CHECK_OK(rung_window_span((rung_window_kind)kind, ordinal, r->zone, r->day_starts_min, &w));
    return w.end_ms;
}

/* A rule whose first instant still has the number of the window before it (or an earlier number) lets that
 * window go on, until the rule itself comes to a later number. */
static bool rule_goes_on(const model_rule *r, uint32_t kind) {
    return rule_at(r, kind, r->from_ms).ordinal <= r->before;
}

rung_window model_calendar_at(const model_board *b, uint32_t kind, int64_t at) {
    const model_calendar *c = &b->calendars[kind];
    uint32_t i = c->count - 1;
    while (i > 0 && at < c->rules[i].from_ms)
        i--;
    const model_rule *r = &c->rules[i];
    rung_window w = rule_at(r, kind, at);
    if (i > 0 && w.ordinal <= r->before) {
        w.ordinal = r->before;
        w.start_ms = model_calendar_at(b, kind, r->from_ms - 1).start_ms;
        w.end_ms = rule_end(r, kind, w.ordinal);
    } else if (i > 0 && w.start_ms < r->from_ms) {
        w.start_ms = r->from_ms;
    }
    for (i++; i < c->count && w.end_ms >= c->rules[i].from_ms; i++) {
        w.end_ms = c->rules[i].from_ms;
        if (!rule_goes_on(&c->rules[i], kind))
            break;
        w.end_ms = rule_end(&c->rules[i], kind, w.ordinal);
    }
    return w;
}

bool model_calendar_span(const model_board *b, uint32_t kind, int64_t ordinal, rung_window *out) {
    const model_calendar *c = &b->calendars[kind];
    for (uint32_t i = 0; i < c->count; i++) {
        rung_window w;
        if (rung_window_span((rung_window_kind)kind, ordinal, c->rules[i].zone,
                             c->rules[i].day_starts_min, &w) < 0)
            continue;
        int64_t from = c->rules[i].from_ms;
        *out = model_calendar_at(b, kind, w.start_ms > from ? w.start_ms : from);
        if (out->ordinal == ordinal)
            return true;
        if (i > 0 && c->rules[i].before == ordinal) {
            *out = model_calendar_at(b, kind, from - 1);
            return true;
        }
    }
    return false;
}

/* The new rule holds, for each kind, from the end of the window that contains the log time. */
static void calendars_change(state_model *m, model_board *b, rung_zone *zone, int day_starts_min) {
    for (uint32_t kind = 1; kind < MODEL_KINDS; kind++) {
        model_calendar *c = &b->calendars[kind];
        rung_window w = model_calendar_at(b, kind, m->time_ms);
        if (c->count > 1 && c->rules[c->count - 1].from_ms == w.end_ms)
            c->count--; /* that one never came into force */
        CHECK(c->count < MODEL_RULES_MAX);
        c->rules[c->count++] = (model_rule){zone, day_starts_min, w.end_ms, w.ordinal};
    }
}

static rung_zone *zone_of(state_model *m, rung_slice rules) {
    if (!rules.len)
        return NULL;
    rung_zone *zone;
    CHECK_OK(rung_zone_unpack(rung_alloc_heap(), rules, &zone, NULL));
    *MODEL_PUSH(m->zones, m->zone_count, m->zone_room) = zone;
    return zone;
}

model_window *model_window_find(const model_board *b, uint32_t kind, int64_t ordinal,
                                rung_slice season) {
    for (uint32_t i = 0; i < b->window_count; i++) {
        model_window *w = &b->windows[i];
        if (w->kind == kind && w->ordinal == ordinal && rung_slice_eq(w->season, season))
            return w;
    }
    return NULL;
}

bool model_window_takes_scores(const state_model *m, const model_board *b, uint32_t kind,
                               int64_t ordinal, rung_slice season, int64_t end_ms) {
    if (kind == 0)
        return true;
    for (uint32_t i = 0; i < b->closed_count; i++)
        if (b->closed[i].kind == kind && b->closed[i].ordinal == ordinal &&
            rung_slice_eq(b->closed[i].season, season))
            return false;
    /* More grace is for windows that are still open. */
    if (!model_window_find(b, kind, ordinal, season) && end_ms <= b->over_ms)
        return false;
    return m->time_ms < end_ms + b->def.grace_ms;
}

static model_window *window_open(state_model *m, model_board *b, const model_window *like) {
    model_window *w = model_window_find(b, like->kind, like->ordinal, like->season);
    if (w)
        return w;
    w = MODEL_PUSH(b->windows, b->window_count, b->window_room);
    *w = *like;
    w->season = keep_text(m, like->season);
    return w;
}

static void window_drop(model_board *b, model_window *w) {
    free(w->entries);
    *w = b->windows[--b->window_count];
}

/* Of those that end together, the smaller number or name is the older. */
static bool ended_before(const model_window *a, const model_window *b) {
    if (a->end_ms != b->end_ms)
        return a->end_ms < b->end_ms;
    return a->ordinal != b->ordinal ? a->ordinal < b->ordinal
                                    : rung_slice_cmp(a->season, b->season) < 0;
}

/* Of a kind the closed ones that ended last stay: `keep`, or the number of that kind. */
static void windows_trim(model_board *b, uint32_t kind) {
    for (;;) {
        model_window *oldest = NULL;
        uint32_t count = 0;
        for (uint32_t i = 0; i < b->window_count; i++) {
            model_window *w = &b->windows[i];
            if (w->kind != kind || !w->closed)
                continue;
            count++;
            if (!oldest || ended_before(w, oldest))
                oldest = w;
        }
        uint32_t keep = b->def.keep_kinds & 1u << kind ? b->def.keep_of[kind] : b->def.keep;
        if (count <= keep)
            return;
        window_drop(b, oldest);
    }
}

static void window_close(state_model *m, model_board *b, model_window *w) {
    w->closed = true;
    for (uint32_t i = 0; i < w->count; i++)
        if (!m->players[w->entries[i].player].is_banned) /* a banned one keeps what it had then */
            freeze(m, &b->def, &w->entries[i]);
    *MODEL_PUSH(b->closed, b->closed_count, b->closed_room) =
        (model_closed){w->kind, w->ordinal, w->season};
    windows_trim(b, w->kind);
}

enum { WINDOWS_REACHED_MAX = MODEL_KINDS + RUNG_SEASONS_MAX };

/* The windows that contain `at` and still take scores, in the order of the law; not yet alive. */
static uint32_t windows_reached(const state_model *m, const model_board *b, int64_t at,
                                model_window *out) {
    static const uint32_t order[] = {0, 5, 4, 3, 2, 1};
    uint32_t n = 0;
    for (uint32_t i = 0; i < MODEL_KINDS; i++) {
        uint32_t kind = order[i];
        if (!(b->def.windows & RUNG_WINDOWS_BIT(kind)))
            continue;
        rung_window w = {0, INT64_MIN, INT64_MAX};
        if (kind)
            w = model_calendar_at(b, kind, at);
        if (model_window_takes_scores(m, b, kind, w.ordinal, (rung_slice){0}, w.end_ms))
            out[n++] = (model_window){
                .kind = kind, .ordinal = w.ordinal, .start_ms = w.start_ms, .end_ms = w.end_ms};
    }
    for (uint32_t i = 0; i < b->def.season_count; i++) {
        const rung_season *s = &b->def.seasons[i];
        if (s->starts_ms <= at && at < s->ends_ms &&
            model_window_takes_scores(m, b, RUNG_WINDOW_SEASON, 0, s->name, s->ends_ms))
            out[n++] = (model_window){.kind = RUNG_WINDOW_SEASON,
                                      .season = s->name,
                                      .start_ms = s->starts_ms,
                                      .end_ms = s->ends_ms};
    }
    return n;
}

/* ---- decay, by the book ---- */

static model_decay decay_normal(long double mantissa, int64_t exponent, uint32_t terms) {
    int shift;
    mantissa = 2 * frexpl(mantissa, &shift); /* 0, or in [1, 2) */
    return (model_decay){mantissa, exponent + shift - 1, terms};
}

model_decay model_decay_of(const model_board *b, double value, int64_t at) {
    long double halvings =
        ((long double)at - (long double)b->created_ms) / (long double)b->def.half_life_ms;
    long double whole = floorl(halvings);
    return decay_normal((long double)value * exp2l(halvings - whole), (int64_t)whole, 1);
}

model_decay model_decay_add(model_decay a, model_decay b) {
    if (a.mantissa == 0 || b.mantissa == 0)
        return a.mantissa == 0 ? b : a;
    if (a.exponent < b.exponent)
        return model_decay_add(b, a);
    long double small =
        a.exponent - b.exponent > 200 ? 0 : ldexpl(b.mantissa, (int)(b.exponent - a.exponent));
    return decay_normal(a.mantissa + small, a.exponent, a.terms + b.terms);
}

int model_decay_compare(model_decay a, model_decay b) {
    if (a.exponent != b.exponent)
        return a.exponent < b.exponent ? -1 : 1;
    return (a.mantissa > b.mantissa) - (a.mantissa < b.mantissa);
}

long double model_decay_log2(model_decay a) {
    return log2l(a.mantissa) + (long double)a.exponent;
}

bool model_decay_is_close(model_decay a, model_decay b) {
    if (a.terms == 1 && b.terms == 1 && model_decay_compare(a, b) == 0)
        return false; /* one submission each, the same: equal for sure */
    return fabsl(model_decay_log2(a) - model_decay_log2(b)) < 2 * MODEL_TOLERANCE;
}

double model_decay_show(const model_board *b, model_decay a, int64_t now_ms) {
    long double halvings =
        ((long double)now_ms - (long double)b->created_ms) / (long double)b->def.half_life_ms;
    return (double)(a.mantissa * exp2l((long double)a.exponent - halvings));
}

/* The exponent has 26 bits. */
static bool decay_fits(model_decay a) {
    return a.exponent >= -(INT64_C(1) << 25) && a.exponent < INT64_C(1) << 25;
}

/* ---- order ---- */

int model_compare_scores(const rung_board_def *def, const model_entry *a, const model_entry *b) {
    if (def->update == RUNG_UPDATE_DECAY)
        return model_decay_compare(b->decay, a->decay);
    for (uint32_t i = 0; i < def->key.column_count; i++) {
        int c = rung_score_compare(&def->key.columns[i], a->values[i], b->values[i]);
        if (c)
            return c;
    }
    return 0;
}

int model_compare_entries(const state_model *m, const rung_board_def *def, const model_entry *a,
                          const model_entry *b) {
    int c = model_compare_scores(def, a, b);
    if (c)
        return c;
    if (def->key.tie == RUNG_TIE_PLAYER)
        return rung_slice_cmp(m->players[a->player].name, m->players[b->player].name);
    if (def->key.tie == RUNG_TIE_PLAYER_LAST)
        return rung_slice_cmp(m->players[b->player].name, m->players[a->player].name);
    if (a->at != b->at)
        return (a->at < b->at) == (def->key.tie == RUNG_TIE_FIRST) ? -1 : 1;
    return (a->player > b->player) - (a->player < b->player);
}

/* ---- what a submission makes of an entry ---- */

static model_entry *entry_of(const model_window *w, uint32_t player) {
    for (uint32_t i = 0; w && i < w->count; i++)
        if (w->entries[i].player == player)
            return &w->entries[i];
    return NULL;
}

static double plain_zero(double d) {
    return d == 0 ? 0 : d;
}

/* standing + submitted, column by column; false when it leaves the range. */
static bool add_values(const rung_board_def *def, const rung_value *standing,
                       const rung_value *submitted, rung_value *sum) {
    for (uint32_t i = 0; i < def->key.column_count; i++) {
        if (def->key.columns[i].type == RUNG_SCORE_REAL) {
            sum[i].d = plain_zero(standing[i].d + submitted[i].d);
            if (isnan(sum[i].d))
                return false;
        } else if (__builtin_add_overflow(standing[i].i, submitted[i].i, &sum[i].i)) {
            return false;
        }
    }
    return true;
}

static int64_t later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* The entry after the submission; `old` is NULL when there was none. False: ERANGE. */
static bool next_entry(const model_board *b, const rung_score_event *e, int64_t at,
                       const model_entry *old, model_entry *out) {
    const rung_board_def *def = &b->def;
    static const model_entry none = {0};
    model_entry given = {.at = at}, stands = old ? *old : none;
    memcpy(given.values, e->values, sizeof given.values);
    for (uint32_t i = 0; i < def->key.column_count; i++)
        if (def->key.columns[i].type == RUNG_SCORE_REAL)
            given.values[i].d = plain_zero(given.values[i].d);
    *out = old ? *old : given;
    switch (def->update) {
    case RUNG_UPDATE_BEST: {
        if (e->is_delta && !add_values(def, stands.values, e->values, given.values))
            return false;
        int c = old ? model_compare_scores(def, &given, old) : -1;
        if (c < 0) {
            memcpy(out->values, given.values, sizeof out->values);
            out->at = at;
        } else if (c == 0 && at < old->at) {
            out->at = at;
        }
        return true;
    }
    case RUNG_UPDATE_LAST:
        if (e->is_delta) {
            out->at = old ? later(at, old->at) : at;
            return add_values(def, stands.values, e->values, out->values);
        }
        if (!old || at >= old->at || !rung_tie_keeps_time(def->key.tie)) {
            memcpy(out->values, given.values, sizeof out->values);
            out->at = at;
        }
        return true;
    case RUNG_UPDATE_SUM:
        out->at = old ? later(at, old->at) : at;
        return add_values(def, stands.values, e->values, out->values);
    case RUNG_UPDATE_COUNT:
        out->at = old ? later(at, old->at) : at;
        return add_values(def, stands.values, &(rung_value){.i = 1}, out->values);
    case RUNG_UPDATE_DECAY: {
        if (!(e->values[0].d > 0) || isinf(e->values[0].d))
            return false;
        model_decay term = model_decay_of(b, e->values[0].d, at);
        out->at = old ? later(at, old->at) : at;
        out->decay = model_decay_add(stands.decay, term);
        return decay_fits(term) && decay_fits(out->decay);
    }
    case RUNG_UPDATE_ELO: /* model.ratings knows those */
    case RUNG_UPDATE_GLICKO2:
    case RUNG_UPDATE_OPENSKILL:
        break;
    }
    return false;
}

static bool entry_same(const rung_board_def *def, const model_entry *a, const model_entry *b) {
    return model_compare_scores(def, a, b) == 0 &&
           (!rung_tie_keeps_time(def->key.tie) || a->at == b->at);
}

/* ---- refusals ---- */

static bool values_fit(const rung_board_def *def, const rung_score_event *e) {
    if (!rung_name_is_valid(e->player))
        return false;
    if (def->update == RUNG_UPDATE_COUNT && e->value_count == 0)
        return true;
    if (e->value_count != def->key.column_count)
        return false;
    for (uint32_t i = 0; i < e->value_count; i++) {
        const rung_column *c = &def->key.columns[i];
        if (e->types[i] != (uint8_t)c->type)
            return false;
        if (c->type == RUNG_SCORE_DECIMAL && e->decimals[i] != c->decimals)
            return false;
        if (c->type == RUNG_SCORE_REAL && isnan(e->values[i].d))
            return false;
        if (c->type == RUNG_SCORE_REAL && def->update == RUNG_UPDATE_SUM && isinf(e->values[i].d))
            return false;
    }
    return true;
}

/* The value as a number to be held against limits; exact for integers. */
static long double number_of(const rung_column *c, rung_value v) {
    return c->type == RUNG_SCORE_REAL ? (long double)v.d : (long double)v.i;
}

static int compare_ld(long double a, long double b) {
    return (a > b) - (a < b);
}

typedef struct ranked {
    uint32_t count;
    const model_entry **entries;
} ranked;

static const state_model *sort_model;
static const rung_board_def *sort_def;

static int by_place(const void *a, const void *b) {
    return model_compare_entries(sort_model, sort_def, *(const model_entry *const *)a,
                                 *(const model_entry *const *)b);
}

/* Everybody who is ranked in the window, in order; the caller frees. */
static ranked window_ranked(const state_model *m, const model_board *b, const model_window *w) {
    ranked r = {0};
    if (!w || !w->count)
        return r;
    r.entries = malloc(w->count * sizeof *r.entries);
    CHECK(r.entries);
    for (uint32_t i = 0; i < w->count; i++)
        if (!m->players[w->entries[i].player].is_banned)
            r.entries[r.count++] = &w->entries[i];
    sort_model = m;
    sort_def = &b->def;
    qsort(r.entries, r.count, sizeof *r.entries, by_place);
    return r;
}

static uint32_t nearest_rank(uint32_t count, uint64_t num, uint64_t den) {
    uint64_t place = (count * num + den - 1) / den;
    return place ? (uint32_t)place - 1 : 0;
}

/* 1: refused, 0: not, -1: too close to say. */
static int z_refuses(const state_model *m, const model_board *b, const ranked *r, double z,
                     long double x) {
    if (r->count < 100)
        return 0;
    long double q[3];
    bool is_decay = b->def.update == RUNG_UPDATE_DECAY;
    for (uint64_t i = 0; i < 3; i++) { /* the quartiles; decayed scores as of now */
        const model_entry *e = r->entries[nearest_rank(r->count, i + 1, 4)];
        q[i] = is_decay ? (long double)model_decay_show(b, e->decay, m->time_ms)
                        : number_of(&b->def.key.columns[0], e->values[0]);
    }
    if (q[0] == q[2])
        return 0;
    long double limit = (long double)z * fabsl(q[2] - q[0]) / 1.349L;
    long double off = fabsl(x - q[1]), slack = is_decay ? 1e-8L : 1e-12L;
    if (fabsl(off - limit) < (limit + fabsl(x) + fabsl(q[1])) * slack)
        return -1;
    return off > limit;
}

/* Counted while the board has that limit. */
static uint32_t rate_of(const model_board *b, uint32_t player, int64_t minute) {
    for (uint32_t i = 0; i < b->rate_count; i++)
        if (b->rates[i].player == player && b->rates[i].minute == minute)
            return b->rates[i].count;
    return 0;
}

static int64_t minute_of(int64_t ms) {
    return ms >= 0 ? ms / 60000 : -((-ms + 59999) / 60000);
}

/* The name of the limit that refuses, or NULL. `old` is the standing entry in the first window reached. */
static const char *limit_that_refuses(const state_model *m, const model_board *b,
                                      const rung_score_event *e, const model_player *p,
                                      const model_window *first, const model_entry *old,
                                      rung_status hint) {
    const rung_board_def *def = &b->def;
    const rung_column *c = &def->key.columns[0];
    bool is_standing_kind = def->update == RUNG_UPDATE_BEST || def->update == RUNG_UPDATE_LAST;
    long double x = e->value_count ? number_of(c, e->values[0]) : 1,
                standing = old ? number_of(c, old->values[0]) : 0;
    if (e->is_delta && is_standing_kind) {
        x += standing;
        if (c->type == RUNG_SCORE_REAL) /* as the board itself would add */
            x = (long double)((old ? old->values[0].d : 0) + e->values[0].d);
    }
    if ((def->limits & RUNG_LIMIT_MIN) && compare_ld(x, number_of(c, def->min)) < 0)
        return "min";
    if ((def->limits & RUNG_LIMIT_MAX) && compare_ld(x, number_of(c, def->max)) > 0)
        return "max";
    if (def->limits & RUNG_LIMIT_STEP) {
        long double step = is_standing_kind ? (old ? fabsl(x - standing) : 0) : fabsl(x);
        if (c->type == RUNG_SCORE_REAL)
            step = (long double)(double)step;
        if (def->update != RUNG_UPDATE_COUNT && step > number_of(c, def->max_step))
            return "max_step";
    }
    if ((def->limits & RUNG_LIMIT_RATE) && p &&
        rate_of(b, (uint32_t)(p - m->players), minute_of(m->time_ms)) >= def->per_player_per_minute)
        return "per_player_per_minute";
    if (def->limits & RUNG_LIMIT_Z) {
        ranked r =
            window_ranked(m, b, model_window_find(b, first->kind, first->ordinal, first->season));
        int z = z_refuses(m, b, &r, def->z_score, x);
        free(r.entries);
        if (z == 1 || (z == -1 && hint == RUNG_EREFUSED))
            return "z_score";
    }
    return NULL;
}

/* ---- rules ---- */

static bool looks_back(const rung_board_def *def) {
    for (uint32_t i = 0; i < def->rule_count; i++)
        switch (def->rules[i].rule) {
        case RUNG_RULE_MAX_RATE:
        case RUNG_RULE_SUBMISSIONS:
        case RUNG_RULE_Z_PLAYER:
        case RUNG_RULE_FIRST_MIN:
        case RUNG_RULE_FIRST_MAX:
            return true;
        default:
            break;
        }
    return false;
}

static int64_t period_of(const rung_board_def *def) {
    for (uint32_t i = 0; i < def->rule_count; i++)
        if (def->rules[i].rule == RUNG_RULE_SUBMISSIONS)
            return def->rules[i].per_ms;
    return 0;
}

static double double_of(const rung_column *c, rung_value v) {
    return c->type == RUNG_SCORE_REAL ? v.d : (double)v.i;
}

static int64_t floor_to(int64_t t, int64_t per) {
    int64_t q = t / per;
    return (q - (t % per < 0)) * per;
}

/* Everything that a player's accepted submissions tell. */
typedef struct model_form {
    uint32_t total, known; /* submissions; finite scores among them */
    int64_t last_ms;
    rung_value last;
    double mean, deviation;
    uint32_t in_period;
} model_form;

static double form_spread(const rung_column *c, const model_form *f) {
    double least = fabs(f->mean) / 64, spread = 1.2533141373155003 * f->deviation;
    if (least > spread)
        spread = least;
    if (c->type != RUNG_SCORE_REAL && spread < 1)
        spread = 1;
    return spread;
}

static model_form form_of(const state_model *m, const model_board *b, uint32_t player) {
    const rung_column *c = &b->def.key.columns[0];
    model_form f = {0};
    int64_t per = period_of(&b->def);
    for (uint32_t i = 0; i < b->past_count; i++) {
        const model_past *p = &b->past[i];
        if (p->player != player)
            continue;
        f.total++;
        f.last_ms = p->at_ms;
        f.last = p->x;
        if (per && !p->is_other_period && floor_to(p->at_ms, per) == floor_to(m->time_ms, per))
            f.in_period++;
        double x = double_of(c, p->x), off = x - f.mean;
        if (b->def.update == RUNG_UPDATE_COUNT || !isfinite(x) || !isfinite(off))
            continue;
        if (f.known++ == 0) {
            f.mean = x;
            continue;
        }
        double weight = f.known > 64 ? 64 : f.known, most = 3 * form_spread(c, &f);
        if (f.known > 8 && off > most)
            off = most;
        if (f.known > 8 && off < -most)
            off = -most;
        double mean = f.mean + off / weight,
               deviation = f.deviation + (fabs(off) - f.deviation) / weight;
        if (isfinite(mean) && isfinite(deviation)) {
            f.mean = mean;
            f.deviation = deviation;
        } else {
            f.known--;
        }
    }
    return f;
}

/* 1: broken, 0: kept, -1: too close to say. */
static int is_broken(const state_model *m, const model_board *b, const rung_board_rule *r,
                     const rung_score_event *e, const model_form *f, const model_window *first,
                     const model_entry *old) {
    const rung_board_def *def = &b->def;
    const rung_column *c = &def->key.columns[0];
    bool is_standing_kind = def->update == RUNG_UPDATE_BEST || def->update == RUNG_UPDATE_LAST;
    if (r->rule == RUNG_RULE_SUBMISSIONS)
        return f->in_period + 1 > (uint64_t)r->value.i;
    if (!e->value_count || def->update == RUNG_UPDATE_COUNT)
        return 0;
    long double x = number_of(c, e->values[0]), standing = old ? number_of(c, old->values[0]) : 0;
    rung_value exact = e->values[0];
    if (e->is_delta && is_standing_kind && old) {
        if (c->type == RUNG_SCORE_REAL)
            exact.d += old->values[0].d;
        else
            exact.i += old->values[0].i;
        x = number_of(c, exact);
    }
    long double step = is_standing_kind ? (old ? fabsl(x - standing) : 0) : fabsl(x);
    double points = double_of(c, e->values[0]), elapsed, far;
    switch (r->rule) {
    case RUNG_RULE_MIN:
        return x < number_of(c, r->value);
    case RUNG_RULE_MAX:
        return x > number_of(c, r->value);
    case RUNG_RULE_STEP:
        return (c->type == RUNG_SCORE_REAL ? (long double)(double)step : step) >
               number_of(c, r->value);
    case RUNG_RULE_FIRST_MIN:
        return !f->known && !old && x < number_of(c, r->value);
    case RUNG_RULE_FIRST_MAX:
        return !f->known && !old && x > number_of(c, r->value);
    case RUNG_RULE_MAX_RATE:
        if (!f->total)
            return 0;
        if (def->update == RUNG_UPDATE_LAST && !e->is_delta && f->known)
            points -= double_of(c, f->last);
        elapsed = (double)(m->time_ms - f->last_ms);
        return fabs(points) * (double)r->per_ms / (elapsed < 1 ? 1 : elapsed) > r->value.d;
    case RUNG_RULE_Z_PLAYER:
        far = fabs(double_of(c, exact) - f->mean);
        if (f->known < 8 || far == 0 || form_spread(c, f) == 0)
            return 0;
        return far / form_spread(c, f) > r->value.d;
    default: {
        ranked all =
            window_ranked(m, b, model_window_find(b, first->kind, first->ordinal, first->season));
        int z = z_refuses(m, b, &all, r->value.d, x);
        free(all.entries);
        return z;
    }
    }
}

/* The rule that refuses; otherwise NULL. */
static const char *rule_that_refuses(const state_model *m, const model_board *b,
                                     const rung_score_event *e, const model_player *p,
                                     const model_window *first, const model_entry *old,
                                     rung_status hint, model_answer *a) {
    model_form f = {0};
    if (p && looks_back(&b->def))
        f = form_of(m, b, (uint32_t)(p - m->players));
    a->rule_count = b->def.rule_count;
    for (uint32_t i = 0; i < b->def.rule_count; i++)
        a->broken[i] = is_broken(m, b, &b->def.rules[i], e, &f, first, old);
    for (uint32_t i = 0; i < b->def.rule_count; i++)
        if (b->def.rules[i].action == RUNG_ACTION_REFUSE &&
            (a->broken[i] == 1 || (a->broken[i] == -1 && hint == RUNG_EREFUSED)))
            return rung_rule_words[b->def.rules[i].rule];
    return NULL;
}

static void remember_past(const state_model *m, model_board *b, const rung_score_event *e,
                          uint32_t player, const model_entry *old) {
    const rung_column *c = &b->def.key.columns[0];
    bool is_standing_kind = b->def.update == RUNG_UPDATE_BEST || b->def.update == RUNG_UPDATE_LAST;
    rung_value x = e->values[0];
    if (!looks_back(&b->def))
        return;
    if (e->is_delta && is_standing_kind && old) {
        if (c->type == RUNG_SCORE_REAL)
            x.d += old->values[0].d;
        else
            x.i += old->values[0].i;
    }
    *MODEL_PUSH(b->past, b->past_count, b->past_room) =
        (model_past){.player = player, .at_ms = m->time_ms, .x = x};
}

static void forget_past(model_board *b, uint32_t player) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->past_count; i++)
        if (b->past[i].player != player)
            b->past[kept++] = b->past[i];
    b->past_count = kept;
}

static void redefine_past(model_board *b, const rung_board_def *old) {
    if (!looks_back(&b->def))
        b->past_count = 0;
    for (uint32_t i = 0; period_of(old) != period_of(&b->def) && i < b->past_count; i++)
        b->past[i].is_other_period = true;
}

/* ---- ids ---- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool uuid7_time(rung_slice id, int64_t *ms_out) {
    if (id.len != 36 || id.ptr[14] != '7' || !strchr("89abAB", id.ptr[19]))
        return false;
    int64_t ms = 0;
    for (size_t i = 0, digits = 0; i < 36; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (id.ptr[i] != '-')
                return false;
        } else {
            if (hex_digit(id.ptr[i]) < 0)
                return false;
            if (digits++ < 12)
                ms = ms * 16 + hex_digit(id.ptr[i]);
        }
    }
    *ms_out = ms;
    return true;
}

static bool ulid_time(rung_slice id, int64_t *ms_out) {
    static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    if (id.len != 26 || id.ptr[0] > '7')
        return false;
    int64_t ms = 0;
    for (size_t i = 0; i < 26; i++) {
        char c = id.ptr[i] >= 'a' && id.ptr[i] <= 'z' ? (char)(id.ptr[i] - 32) : id.ptr[i];
        const char *digit = strchr(alphabet, c);
        if (!c || !digit)
            return false;
        if (i < 10)
            ms = ms * 32 + (digit - alphabet);
    }
    *ms_out = ms;
    return true;
}

static bool same_body(const rung_score_event *a, const rung_score_event *b) {
    return rung_slice_eq(a->player, b->player) && a->is_delta == b->is_delta &&
           a->has_at == b->has_at && (!a->has_at || a->at_ms == b->at_ms) &&
           a->value_count == b->value_count &&
           memcmp(a->values, b->values, a->value_count * sizeof *a->values) == 0 &&
           rung_slice_eq(a->meta, b->meta);
}

static bool id_time(rung_slice id, int64_t *ms_out) {
    return uuid7_time(id, ms_out) || ulid_time(id, ms_out);
}

static bool is_remembered(const state_model *m, const model_id *id) {
    return m->time_ms - id->effective_ms <= m->config.id_keep_ms;
}

static const model_id *id_find(const state_model *m, const model_board *b, rung_slice id) {
    for (uint32_t i = 0; i < m->id_count; i++)
        if (m->ids[i].board_serial == b->serial && rung_slice_eq(m->ids[i].body.id, id))
            return &m->ids[i];
    return NULL;
}

static void id_take_off(state_model *m, uint32_t i) {
    memmove(&m->ids[i], &m->ids[i + 1], (--m->id_count - i) * sizeof *m->ids);
}

/* RUNG_OK: go on; DUPLICATE, ECONFLICT, ESTALE or EFUTURE. */
static rung_status id_check(const state_model *m, const model_board *b, const rung_score_event *e,
                            model_answer *out) {
    if (!e->id.len)
        return RUNG_OK;
    const model_id *known = id_find(m, b, e->id);
    if (known && is_remembered(m, known)) {
        if (!same_body(&known->body, e))
            return RUNG_ECONFLICT;
        *out = known->answer;
        out->outcome.duplicate = true;
        out->outcome.window_count = 0;
        const model_player *next = &m->players[known->next_number];
        if (out->outcome.has_next && (!next->is_used || next->serial != known->next_serial))
            out->outcome.next = (rung_slice){0};
        return RUNG_DUPLICATE;
    }
    int64_t ms;
    if (!id_time(e->id, &ms))
        return RUNG_OK;
    if (m->rules >= 1 && ms > m->time_ms + ID_AHEAD_MS && ms >= m->id_horizon_ms &&
        ms >= b->id_horizon_ms)
        return RUNG_EFUTURE;
    if (ms > m->time_ms + m->config.id_keep_ms && m->rules < 1)
        return RUNG_ESTALE;
    if (ms < m->time_ms - m->config.id_keep_ms || ms < m->id_horizon_ms || ms < b->id_horizon_ms)
        return RUNG_ESTALE;
    return RUNG_OK;
}

static uint32_t ids_of(const state_model *m, uint64_t board_serial) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->id_count; i++)
        count += m->ids[i].board_serial == board_serial;
    return count;
}

/* The board with the most ids; of equals, the oldest. */
static model_board *largest_board(state_model *m) {
    model_board *largest = NULL;
    uint32_t most = 0;
    for (uint32_t i = 0; i < m->board_count; i++) {
        model_board *b = m->boards[i];
        uint32_t count = ids_of(m, b->serial);
        if (count > most || (largest && count == most && b->serial < largest->serial)) {
            largest = b;
            most = count;
        }
    }
    return largest;
}

static uint32_t oldest_id_of(const state_model *m, const model_board *b) {
    uint32_t i = 0;
    while (m->ids[i].board_serial != b->serial)
        i++;
    return i;
}

static void id_to_the_end(state_model *m, uint32_t i) {
    model_id id = m->ids[i];
    id_take_off(m, i);
    m->ids[m->id_count++] = id;
}

static void id_forget_for_room(state_model *m) {
    if (m->rules < 1) {
        m->id_horizon_ms = later(m->id_horizon_ms, m->ids[0].effective_ms + 1);
        id_take_off(m, 0);
        return;
    }
    model_board *b = largest_board(m);
    for (int turn = 0; turn < ID_TURNS; turn++)
        if (m->ids[oldest_id_of(m, b)].effective_ms > m->time_ms)
            id_to_the_end(m, oldest_id_of(m, b));
    uint32_t i = oldest_id_of(m, b);
    b->id_horizon_ms = later(b->id_horizon_ms, m->ids[i].effective_ms + 1);
    id_take_off(m, i);
}

/* Level 1: ids go with their board. */
static void ids_forget_board(state_model *m, uint64_t serial) {
    for (uint32_t i = m->id_count; i-- > 0;)
        if (m->ids[i].board_serial == serial)
            id_take_off(m, i);
}

static void id_remember(state_model *m, const model_board *b, const rung_score_event *e,
                        const model_answer *answer) {
    const model_id *old = id_find(m, b, e->id);
    if (old)
        id_take_off(m, (uint32_t)(old - m->ids));
    model_id *id = MODEL_PUSH(m->ids, m->id_count, m->id_room);
    *id = (model_id){.board_serial = b->serial, .body = *e, .answer = *answer};
    id->effective_ms =
        id_time(e->id, &id->effective_ms) ? later(id->effective_ms, m->time_ms) : m->time_ms;
    id->body.id = keep_text(m, e->id);
    id->body.player = keep_text(m, e->player);
    id->body.meta = keep_text(m, e->meta);
    if (answer->outcome.has_next)
        id->next_serial = model_player_find(m, answer->outcome.next, &id->next_number)->serial;
    while (!is_remembered(m, &m->ids[0]))
        id_take_off(m, 0);
    if (m->id_count > m->config.id_capacity)
        id_forget_for_room(m);
}

/* ---- the submission ---- */

static uint32_t place_in(const ranked *r, uint32_t player) {
    for (uint32_t i = 0; i < r->count; i++)
        if (r->entries[i]->player == player)
            return i;
    return r->count;
}

static uint32_t rank_at(const rung_board_def *def, const ranked *r, uint32_t index,
                        rung_rank_style style) {
    if (style == RUNG_RANK_UNIQUE)
        return index + 1;
    uint32_t better = 0, groups = 0;
    for (uint32_t i = 0; i < index; i++)
        if (model_compare_scores(def, r->entries[i], r->entries[index]) != 0) {
            better++;
            groups += model_compare_scores(def, r->entries[i], r->entries[i + 1]) != 0;
        }
    return 1 + (style == RUNG_RANK_SPARSE ? better : groups);
}

/* Does the order hang on the last digits of somebody's decayed score? */
static bool order_is_doubtful(const ranked *r) {
    for (uint32_t i = 1; i < r->count; i++)
        if (model_decay_is_close(r->entries[i - 1]->decay, r->entries[i]->decay))
            return true;
    return false;
}

static rung_value gap_between(const model_board *b, const model_entry *a, const model_entry *above,
                              int64_t now) {
    const rung_column *c = &b->def.key.columns[0];
    if (c->type == RUNG_SCORE_REAL) {
        double x = a->values[0].d, y = above->values[0].d;
        if (b->def.update == RUNG_UPDATE_DECAY) {
            x = model_decay_show(b, a->decay, now);
            y = model_decay_show(b, above->decay, now);
        }
        return (rung_value){.d = x == y ? 0 : fabs(x - y)}; /* 0 also between two infinities */
    }
    __int128 gap = (__int128)a->values[0].i - above->values[0].i;
    gap = gap < 0 ? -gap : gap;
    return (rung_value){.i = gap > INT64_MAX ? INT64_MAX : (int64_t)gap};
}

static void show_values(const model_board *b, const model_entry *e, int64_t now, rung_value *out) {
    for (uint32_t i = 0; i < b->def.key.column_count; i++)
        out[i] = e->values[i];
    if (b->def.update == RUNG_UPDATE_DECAY)
        out[0].d = model_decay_show(b, e->decay, now);
}

/* Put the new entry into its window and say what that did. */
static void put_entry(state_model *m, model_board *b, const model_window *target,
                      const model_entry *entry, bool is_first, model_answer *a) {
    rung_outcome *out = &a->outcome;
    model_window *w = window_open(m, b, target);
    model_entry *old = entry_of(w, entry->player);
    ranked before = window_ranked(m, b, w);
    uint32_t index_before = place_in(&before, entry->player);
    bool existed = old != NULL;
    rung_window_outcome part = {.kind = w->kind, .ordinal = w->ordinal, .season = w->season};
    part.changed = !existed || !entry_same(&b->def, old, entry);
    part.rank_before = existed ? rank_at(&b->def, &before, index_before, b->def.rank) : 0;
    if (a->is_decay && existed) /* a term that drowns may or may not leave a trace */
        a->is_change_doubtful |=
            (old->at == entry->at ||
             !rung_tie_keeps_time(b->def.key.tie)) && /* no time is kept then */
            model_decay_log2(entry->decay) - model_decay_log2(old->decay) < 1e-8L;
    a->is_rank_doubtful |= a->is_decay && order_is_doubtful(&before);
    free(before.entries);

    if (!existed)
        old = MODEL_PUSH(w->entries, w->count, w->room);
    *old = *entry;
    ranked after = window_ranked(m, b, w);
    a->is_rank_doubtful |= a->is_decay && order_is_doubtful(&after);
    uint32_t index = place_in(&after, entry->player);
    part.rank = rank_at(&b->def, &after, index, b->def.rank);
    part.total = after.count;
    out->changed |= part.changed;
    if (out->window_count < RUNG_OUTCOME_WINDOWS_MAX)
        out->windows[out->window_count++] = part;
    if (is_first) {
        out->value_count = b->def.key.column_count;
        show_values(b, entry, m->time_ms, out->values);
        out->rank_before = part.rank_before;
        out->rank = part.rank;
        out->total = part.total;
        out->passed =
            existed ? (index_before > index ? index_before - index : 0) : after.count - 1 - index;
        uint32_t better = rank_at(&b->def, &after, index, RUNG_RANK_SPARSE) - 1;
        out->percentile = 100.0 * (after.count - better) / after.count;
        if (index > 0) {
            out->has_next = true;
            out->next = m->players[after.entries[index - 1]->player].name;
            out->gap = gap_between(b, entry, after.entries[index - 1], m->time_ms);
        }
    }
    free(after.entries);
}

static void count_rate(state_model *m, model_board *b, uint32_t player) {
    int64_t minute = minute_of(m->time_ms);
    if (!(b->def.limits & RUNG_LIMIT_RATE))
        return;
    for (uint32_t i = 0; i < b->rate_count; i++)
        if (b->rates[i].player == player && b->rates[i].minute == minute) {
            b->rates[i].count++;
            return;
        }
    *MODEL_PUSH(b->rates, b->rate_count, b->rate_room) = (model_rate){player, minute, 1};
}

enum { WINDOWS_PER_BOARD_MAX = 4096 };

/* Level 1: only windows that are still to begin are limited. */
static bool may_open(const state_model *m, const model_board *b, uint32_t fresh, uint32_t ahead) {
    if (m->rules < 1)
        return !fresh || b->window_count + fresh <= WINDOWS_PER_BOARD_MAX;
    uint32_t there = 0;
    for (uint32_t i = 0; i < b->window_count; i++)
        there += b->windows[i].start_ms > m->time_ms;
    return !ahead || there + ahead <= WINDOWS_PER_BOARD_MAX;
}

static rung_status submit_shown(state_model *m, const rung_score_event *e, rung_status hint,
                                model_answer *a) {
    model_board *b = model_board_find(m, e->board);
    if (!b)
        return RUNG_EABSENT;
    if (!values_fit(&b->def, e))
        return RUNG_EINVAL;
    uint32_t number = 0;
    const model_player *p = model_player_find(m, e->player, &number);
    a->rule = "banned";
    if (p && p->is_banned)
        return RUNG_EREFUSED;
    a->rule = NULL;
    a->is_decay = b->def.update == RUNG_UPDATE_DECAY;
    rung_status st = id_check(m, b, e, a);
    if (st != RUNG_OK)
        return st;

    model_window reached[WINDOWS_REACHED_MAX];
    model_entry entries[WINDOWS_REACHED_MAX];
    int64_t at = e->has_at ? e->at_ms : m->time_ms;
    uint32_t count = windows_reached(m, b, at, reached), fresh = 0, ahead = 0;
    a->rule = "window";
    if (!count)
        return RUNG_EREFUSED;
    a->rule = NULL;
    const model_entry *olds[WINDOWS_REACHED_MAX];
    for (uint32_t i = 0; i < count; i++) {
        const model_window *w =
            model_window_find(b, reached[i].kind, reached[i].ordinal, reached[i].season);
        fresh += !w;
        ahead += !w && reached[i].start_ms > m->time_ms;
        olds[i] = p ? entry_of(w, number) : NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!next_entry(b, e, at, olds[i], &entries[i]))
            return RUNG_ERANGE;
    a->rule = limit_that_refuses(m, b, e, p, &reached[0], olds[0], hint);
    if (!a->rule)
        a->rule = rule_that_refuses(m, b, e, p, &reached[0], olds[0], hint, a);
    if (a->rule)
        return RUNG_EREFUSED;
    if (!may_open(m, b, fresh, ahead))
        return RUNG_ELIMIT;

    number = know_player(m, e->player);
    remember_past(m, b, e, number, olds[0]);
    a->outcome.seq = m->seq;
    for (uint32_t i = 0; i < count; i++) {
        entries[i].player = number;
        put_entry(m, b, &reached[i], &entries[i], i == 0, a);
    }
    count_rate(m, b, number);
    if (e->id.len)
        id_remember(m, b, e, a);
    return a->outcome.changed ? RUNG_OK : RUNG_UNCHANGED;
}

/* Who is banned in the shadow submits like anybody else, and sees a board with their own entries. What is accepted
 * lies in the ban with the attributes of the moment. */
static rung_status submit(state_model *m, const rung_score_event *e, rung_status hint,
                          model_answer *a) {
    uint32_t number = 0;
    const model_player *p = model_player_find(m, e->player, &number);
    if (!p || !p->is_banned || !p->is_shadow)
        return submit_shown(m, e, hint, a);
    m->players[number].is_banned = false;
    rung_status st = submit_shown(m, e, hint, a);
    m->players[number].is_banned = true;
    const model_board *b = model_board_find(m, e->board);
    for (uint32_t i = 0; st >= 0 && i < b->window_count; i++) {
        model_entry *own = b->windows[i].closed ? NULL : entry_of(&b->windows[i], number);
        if (!own)
            continue;
        own->frozen_count = 0;
        freeze(m, &b->def, own);
    }
    return st;
}

static model_source *source_find(const state_model *m, rung_slice name) {
    for (uint32_t i = 0; i < m->source_count; i++)
        if (rung_slice_eq(m->sources[i].name, name))
            return &m->sources[i];
    return NULL;
}

static bool source_has(const model_source *s, uint64_t offset) {
    for (uint32_t i = 0; i < s->count; i++)
        if (s->offsets[i] == offset)
            return true;
    return offset + RUNG_SOURCE_WINDOW < s->next;
}

static rung_status apply_score(state_model *m, const rung_score_event *e, rung_status hint,
                               model_answer *a) {
    model_source *s = e->source.len ? source_find(m, e->source) : NULL;
    if (s && source_has(s, e->offset)) {
        a->outcome.duplicate = true;
        a->outcome.seq = m->seq;
        return RUNG_DUPLICATE;
    }
    rung_status st = submit(m, e, hint, a);
    if (st < 0 || !e->source.len)
        return st;
    if (!s) {
        s = MODEL_PUSH(m->sources, m->source_count, m->source_room);
        *s = (model_source){.name = keep_text(m, e->source)};
    }
    *MODEL_PUSH(s->offsets, s->count, s->room) = e->offset;
    s->next = e->offset >= s->next ? e->offset + 1 : s->next;
    return st;
}

/* ---- defining a board ---- */

static rung_board_def keep_def(state_model *m, const rung_board_def *def) {
    rung_board_def d = *def;
    d.title = keep_text(m, def->title);
    d.zone_name = keep_text(m, def->zone_name);
    d.zone_rules = keep_text(m, def->zone_rules);
    d.team_by = keep_text(m, def->team_by);
    for (size_t i = 0; i < RUNG_COLUMNS_MAX - 1; i++)
        d.column_names[i] = keep_text(m, def->column_names[i]);
    for (uint32_t i = 0; i < def->season_count; i++)
        d.seasons[i].name = keep_text(m, def->seasons[i].name);
    for (uint32_t i = 0; i < def->scope_count; i++)
        d.scopes[i] = keep_text(m, def->scopes[i]);
    return d;
}

static bool same_def(const rung_board_def *a, const rung_board_def *b) {
    static char x[RUNG_EVENT_BYTES_MAX], y[RUNG_EVENT_BYTES_MAX];
    size_t x_size, y_size;
    CHECK_OK(rung_board_def_encode(a, x, sizeof x, &x_size));
    CHECK_OK(rung_board_def_encode(b, y, sizeof y, &y_size));
    return x_size == y_size && memcmp(x, y, x_size) == 0;
}

/* The field that cannot change but would; NULL if there is none. */
static const char *fixed_field(const rung_board_def *a, const rung_board_def *b) {
    if (a->key.column_count != b->key.column_count)
        return "columns";
    for (uint32_t i = 0; i < a->key.column_count; i++) {
        const rung_column *c = &a->key.columns[i], *d = &b->key.columns[i];
        if (c->type != d->type || c->order != d->order || c->decimals != d->decimals)
            return i                            ? "columns"
                   : c->type != d->type         ? "score.type"
                   : c->decimals != d->decimals ? "score.decimals"
                                                : "score.order";
        if (i && !rung_slice_eq(a->column_names[i - 1], b->column_names[i - 1]))
            return "columns";
    }
    if (a->update != b->update)
        return "update";
    if (a->half_life_ms != b->half_life_ms)
        return "half_life";
    return a->key.tie != b->key.tie ? "tie" : NULL;
}

/* Which date of a closed season would change; NULL if none. */
static const char *fixed_dates(const model_board *b, const rung_board_def *def) {
    for (uint32_t i = 0; i < def->season_count; i++) {
        const rung_season *now = &def->seasons[i], *old = model_season(&b->def, now->name);
        for (uint32_t k = 0; old && k < b->closed_count; k++)
            if (b->closed[k].kind == RUNG_WINDOW_SEASON &&
                rung_slice_eq(b->closed[k].season, now->name) &&
                (now->starts_ms != old->starts_ms || now->ends_ms != old->ends_ms))
                return now->starts_ms != old->starts_ms ? "].starts: " : "].ends: ";
    }
    return NULL;
}

/* A new window of a `best` or `last` board starts with the entries of `all` whose time lies in it. */
static void fill_window(state_model *m, model_board *b, const model_window *like) {
    const model_window *all = model_window_find(b, 0, 0, (rung_slice){0});
    if (!all || (b->def.update != RUNG_UPDATE_BEST && b->def.update != RUNG_UPDATE_LAST) ||
        !rung_tie_keeps_time(b->def.key.tie))
        return;
    uint32_t count = all->count;
    for (uint32_t i = 0; i < count; i++) {
        model_entry e = model_window_find(b, 0, 0, (rung_slice){0})->entries[i];
        if (e.at < like->start_ms || e.at >= like->end_ms || m->players[e.player].is_banned)
            continue;
        model_window *w = window_open(m, b, like);
        *MODEL_PUSH(w->entries, w->count, w->room) = e;
    }
}

static void drop_windows(model_board *b, uint32_t kind, rung_slice season) {
    for (uint32_t i = b->window_count; i-- > 0;)
        if (b->windows[i].kind == kind && rung_slice_eq(b->windows[i].season, season))
            window_drop(b, &b->windows[i]);
    for (uint32_t i = b->closed_count; i-- > 0;)
        if (b->closed[i].kind == kind && rung_slice_eq(b->closed[i].season, season))
            b->closed[i] = b->closed[--b->closed_count];
}

/* Closed windows, and whom a ban took out, keep what they have; a new attribute takes its values of the moment. */
static void refreeze(state_model *m, model_board *b) {
    for (uint32_t k = 0; k < b->window_count; k++) {
        model_window *w = &b->windows[k];
        for (uint32_t i = 0; i < w->count; i++) {
            model_entry *e = &w->entries[i];
            for (uint32_t f = e->frozen_count; f-- > 0;)
                if (!is_ranked_attribute(&b->def, e->frozen[f].name))
                    e->frozen[f] = e->frozen[--e->frozen_count];
            if (w->closed || m->players[e->player].is_banned)
                freeze(m, &b->def, e);
        }
    }
}

static void refresh_spans(model_board *b) {
    for (uint32_t i = 0; i < b->window_count; i++) {
        model_window *w = &b->windows[i];
        rung_window span;
        const rung_season *s = model_season(&b->def, w->season);
        if (w->closed || w->kind == 0)
            continue;
        if (w->kind == RUNG_WINDOW_SEASON) {
            w->start_ms = s->starts_ms;
            w->end_ms = s->ends_ms;
        } else if (model_calendar_span(b, w->kind, w->ordinal, &span)) {
            w->start_ms = span.start_ms;
            w->end_ms = span.end_ms;
        }
    }
}

static void redefine(state_model *m, model_board *b, const rung_board_def *def) {
    rung_board_def old = b->def;
    if (old.grace_ms != def->grace_ms)
        b->over_ms = later(b->over_ms, m->time_ms - old.grace_ms);
    b->def = keep_def(m, def);
    redefine_past(b, &old);
    if (!rung_slice_eq(old.zone_rules, def->zone_rules) ||
        old.day_starts_min != def->day_starts_min)
        calendars_change(m, b, zone_of(m, def->zone_rules), def->day_starts_min);
    for (uint32_t kind = 0; kind < MODEL_KINDS; kind++)
        if ((old.windows & ~def->windows) & RUNG_WINDOWS_BIT(kind))
            drop_windows(b, kind, (rung_slice){0});
    for (uint32_t i = 0; i < old.season_count; i++)
        if (!model_season(def, old.seasons[i].name))
            drop_windows(b, RUNG_WINDOW_SEASON, old.seasons[i].name);
    for (uint32_t kind = 1; kind < MODEL_KINDS; kind++)
        if ((def->windows & ~old.windows) & RUNG_WINDOWS_BIT(kind)) {
            rung_window w = model_calendar_at(b, kind, m->time_ms);
            fill_window(m, b,
                        &(model_window){.kind = kind,
                                        .ordinal = w.ordinal,
                                        .start_ms = w.start_ms,
                                        .end_ms = w.end_ms});
        }
    for (uint32_t i = 0; i < def->season_count; i++) {
        const rung_season *s = &b->def.seasons[i];
        if (!model_season(&old, s->name) && s->starts_ms <= m->time_ms && m->time_ms < s->ends_ms)
            fill_window(m, b,
                        &(model_window){.kind = RUNG_WINDOW_SEASON,
                                        .season = s->name,
                                        .start_ms = s->starts_ms,
                                        .end_ms = s->ends_ms});
    }
    refreeze(m, b);
    refresh_spans(b);
    for (uint32_t kind = 1; kind <= RUNG_WINDOW_SEASON; kind++)
        windows_trim(b, kind);
}

static rung_status apply_defined(state_model *m, rung_slice name, const rung_board_def *def,
                                 model_answer *a) {
    if (rung_board_def_check(def, NULL) < 0)
        return RUNG_EINVAL;
    model_board *b = model_board_find(m, name);
    if (b) {
        a->rule = fixed_field(&b->def, def);
        if (!a->rule)
            a->rule = fixed_dates(b, def);
        if (a->rule)
            return RUNG_EUNSUPPORTED;
        if (same_def(&b->def, def))
            return RUNG_UNCHANGED;
        redefine(m, b, def);
        return RUNG_OK;
    }
    b = calloc(1, sizeof *b);
    CHECK(b);
    *b = (model_board){.serial = ++m->serials,
                       .name = keep_text(m, name),
                       .def = keep_def(m, def),
                       .created_ms = m->time_ms,
                       .over_ms = INT64_MIN,
                       .id_horizon_ms = INT64_MIN};
    rung_zone *zone = zone_of(m, def->zone_rules);
    for (uint32_t kind = 1; kind < MODEL_KINDS; kind++) {
        b->calendars[kind].count = 1;
        b->calendars[kind].rules[0] = (model_rule){zone, def->day_starts_min, INT64_MIN, INT64_MIN};
    }
    *MODEL_PUSH(m->boards, m->board_count, m->board_room) = b;
    return RUNG_OK;
}

static rung_status apply_deleted(state_model *m, rung_slice name) {
    for (uint32_t i = 0; i < m->board_count; i++)
        if (rung_slice_eq(m->boards[i]->name, name)) {
            if (m->rules >= 1)
                ids_forget_board(m, m->boards[i]->serial);
            board_free(m->boards[i]);
            m->boards[i] = m->boards[--m->board_count];
            return RUNG_OK;
        }
    return RUNG_EABSENT;
}

/* ---- levels ---- */

static rung_status apply_rules(state_model *m, uint32_t level) {
    if (level <= m->rules)
        return RUNG_UNCHANGED;
    m->rules = level;
    for (uint32_t i = m->id_count; i-- > 0;) {
        bool is_there = false;
        for (uint32_t k = 0; k < m->board_count; k++)
            is_there = is_there || m->boards[k]->serial == m->ids[i].board_serial;
        if (!is_there)
            id_take_off(m, i);
    }
    return RUNG_OK;
}

static rung_status apply_access(state_model *m, bool has_keys) {
    bool changes = m->has_keys != has_keys;
    m->has_keys = has_keys;
    return changes ? RUNG_OK : RUNG_UNCHANGED;
}

/* ---- windows by event ---- */

static rung_status apply_window(state_model *m, const rung_event *e, model_answer *a) {
    model_board *b = model_board_find(m, e->window.board);
    if (!b)
        return RUNG_EABSENT;
    model_window like = {.kind = e->window.kind, .ordinal = e->window.ordinal};
    if (e->window.kind == 0) {
        const rung_season *s = model_season(&b->def, e->window.season);
        if (!s)
            return RUNG_EABSENT;
        like = (model_window){.kind = RUNG_WINDOW_SEASON,
                              .season = s->name,
                              .start_ms = s->starts_ms,
                              .end_ms = s->ends_ms};
    } else {
        rung_window span;
        if (!(b->def.windows & RUNG_WINDOWS_BIT(like.kind)))
            return RUNG_EABSENT;
        const model_window *known = model_window_find(b, like.kind, like.ordinal, like.season);
        if (known)
            span = (rung_window){like.ordinal, known->start_ms, known->end_ms};
        else if (!model_calendar_span(b, like.kind, like.ordinal, &span))
            return RUNG_ERANGE;
        like.start_ms = span.start_ms;
        like.end_ms = span.end_ms;
    }
    model_window *w = model_window_find(b, like.kind, like.ordinal, like.season);
    bool takes = model_window_takes_scores(m, b, like.kind, like.ordinal, like.season, like.end_ms);
    if (e->kind == RUNG_EVENT_WINDOW_OPENED) {
        if (w && !w->closed)
            return RUNG_UNCHANGED;
        a->rule = "window";
        if (!takes)
            return RUNG_EREFUSED;
        a->rule = NULL;
        window_open(m, b, &like);
        return RUNG_OK;
    }
    if (!w)
        return RUNG_EABSENT;
    if (w->closed)
        return RUNG_UNCHANGED;
    window_close(m, b, w);
    return RUNG_OK;
}

static rung_status apply_tick(state_model *m) {
    bool any = false;
    for (uint32_t i = 0; i < m->board_count; i++) {
        model_board *b = m->boards[i];
        for (uint32_t k = 0; k < b->window_count;) {
            model_window *w = &b->windows[k];
            if (!w->closed && w->kind && m->time_ms >= w->end_ms + b->def.grace_ms) {
                window_close(m, b, w);
                any = true;
                k = 0; /* windows may have gone */
            } else {
                k++;
            }
        }
    }
    return any ? RUNG_OK : RUNG_UNCHANGED;
}

/* ---- players ---- */

static bool remove_entries(model_board *b, uint32_t player) {
    bool any = false;
    for (uint32_t i = 0; i < b->window_count; i++) {
        model_entry *e = entry_of(&b->windows[i], player);
        if (e) {
            *e = b->windows[i].entries[--b->windows[i].count];
            any = true;
        }
    }
    forget_past(b, player);
    return any;
}

static rung_status apply_removed(state_model *m, rung_slice board, rung_slice player) {
    model_board *b = model_board_find(m, board);
    uint32_t number;
    if (!b)
        return RUNG_EABSENT;
    return model_player_find(m, player, &number) && remove_entries(b, number) ? RUNG_OK
                                                                              : RUNG_UNCHANGED;
}

static rung_status apply_profile(state_model *m, const rung_event *e) {
    uint32_t count = e->profile.count;
    const model_player *known = model_player_find(m, e->profile.player, NULL);
    bool same = known && known->attribute_count == count;
    for (uint32_t i = 0; same && i < count; i++)
        same = rung_slice_eq(known->attributes[i].name, e->profile.attributes[i].name) &&
               rung_slice_eq(known->attributes[i].value, e->profile.attributes[i].value);
    if (same)
        return RUNG_UNCHANGED;
    uint32_t number = know_player(m, e->profile.player);
    model_player *p = &m->players[number];
    p->attribute_count = count;
    for (uint32_t i = 0; i < count; i++)
        p->attributes[i] = (rung_attribute){keep_text(m, e->profile.attributes[i].name),
                                            keep_text(m, e->profile.attributes[i].value)};
    return RUNG_OK;
}

static bool follows(const model_player *p, uint32_t other) {
    for (uint32_t i = 0; i < p->follow_count; i++)
        if (p->follows[i] == other)
            return true;
    return false;
}

static bool follow(state_model *m, uint32_t player, uint32_t other) {
    model_player *p = &m->players[player];
    if (player == other || follows(p, other))
        return false;
    *MODEL_PUSH(p->follows, p->follow_count, p->follow_room) = other;
    return true;
}

static bool unfollow(state_model *m, uint32_t player, uint32_t other) {
    model_player *p = &m->players[player];
    for (uint32_t i = 0; i < p->follow_count; i++)
        if (p->follows[i] == other) {
            p->follows[i] = p->follows[--p->follow_count];
            return true;
        }
    return false;
}

static rung_status apply_erased(state_model *m, rung_slice player) {
    uint32_t number;
    model_player *p = model_player_find(m, player, &number);
    if (!p)
        return RUNG_EABSENT;
    for (uint32_t i = 0; i < m->board_count; i++) {
        model_board *b = m->boards[i];
        remove_entries(b, number);
        for (uint32_t k = b->rate_count; k-- > 0;)
            if (b->rates[k].player == number)
                b->rates[k] = b->rates[--b->rate_count];
    }
    for (uint32_t i = 0; i < m->player_count; i++)
        unfollow(m, i, number);
    free(p->follows);
    *p = (model_player){0};
    *MODEL_PUSH(m->free_numbers, m->free_count, m->free_room) = number;
    return RUNG_OK;
}

static rung_status apply_friend_added(state_model *m, rung_slice player, rung_slice other,
                                      bool one_way) {
    uint32_t known = m->player_count - m->free_count;
    uint32_t p = know_player(m, player), q = know_player(m, other);
    bool any = follow(m, p, q);
    if (!one_way)
        any |= follow(m, q, p);
    return any || known != m->player_count - m->free_count ? RUNG_OK : RUNG_UNCHANGED;
}

static rung_status apply_friend_removed(state_model *m, rung_slice player, rung_slice other,
                                        bool one_way) {
    uint32_t p, q;
    if (!model_player_find(m, player, &p) || !model_player_find(m, other, &q))
        return RUNG_UNCHANGED;
    bool any = unfollow(m, p, q);
    if (!one_way)
        any |= unfollow(m, q, p);
    return any ? RUNG_OK : RUNG_UNCHANGED;
}

/* The list becomes exactly this one. Both ways: those who leave it no longer follow back, those on it do. */
static rung_status apply_friends_replaced(state_model *m, const rung_event *e) {
    uint32_t known = m->player_count - m->free_count;
    uint32_t p = know_player(m, e->friends.player), count = 0;
    uint32_t *wanted = malloc((e->friends.count + 1) * sizeof *wanted);
    CHECK(wanted);
    rung_slice packed = e->friends.packed, name;
    while (rung_names_next(&packed, &name)) {
        uint32_t q = know_player(m, name);
        if (q != p)
            wanted[count++] = q;
    }
    bool any = known != m->player_count - m->free_count;
    for (uint32_t i = m->players[p].follow_count; i-- > 0;) {
        uint32_t q = m->players[p].follows[i];
        bool stays = false;
        for (uint32_t k = 0; k < count; k++)
            stays |= wanted[k] == q;
        if (stays)
            continue;
        any |= unfollow(m, p, q);
        if (!e->friends.follow)
            any |= unfollow(m, q, p);
    }
    for (uint32_t k = 0; k < count; k++) {
        any |= follow(m, p, wanted[k]);
        if (!e->friends.follow)
            any |= follow(m, wanted[k], p);
    }
    free(wanted);
    return any ? RUNG_OK : RUNG_UNCHANGED;
}

/* A ban takes the entry out of where it is; in a window that is or will be closed, it comes back there. */
static void freeze_for_ban(state_model *m, model_board *b, model_window *w, uint32_t player,
                           bool banned) {
    model_entry *e = entry_of(w, player);
    if (!e)
        return;
    if (!w->closed)
        e->frozen_count = 0;
    if (banned || w->closed)
        freeze(m, &b->def, e);
}

static rung_status apply_ban(state_model *m, rung_slice player, bool banned, bool is_shadow) {
    const model_player *known = model_player_find(m, player, NULL);
    uint32_t number;
    if (known && known->is_banned && banned) { /* only the terms change */
        number = know_player(m, player);
        bool same = known->is_shadow == is_shadow;
        m->players[number].is_shadow = is_shadow;
        return same ? RUNG_UNCHANGED : RUNG_OK;
    }
    if (known ? known->is_banned == banned : !banned)
        return RUNG_UNCHANGED;
    number = know_player(m, player);
    for (uint32_t i = 0; i < m->board_count; i++)
        for (uint32_t k = 0; k < m->boards[i]->window_count; k++)
            freeze_for_ban(m, m->boards[i], &m->boards[i]->windows[k], number, banned);
    m->players[number].is_banned = banned;
    m->players[number].is_shadow = banned && is_shadow;
    return RUNG_OK;
}

bool state_model_reveal(state_model *m, rung_slice player, bool is_shown) {
    uint32_t number;
    if (!model_player_find(m, player, &number) || !m->players[number].is_shadow ||
        m->players[number].is_banned != is_shown)
        return false;
    m->players[number].is_banned = !is_shown;
    for (uint32_t i = 0; i < m->board_count; i++)
        for (uint32_t k = 0; k < m->boards[i]->window_count; k++) {
            const model_window *w = &m->boards[i]->windows[k];
            model_entry *e = w->closed ? NULL : entry_of(w, number);
            if (!e)
                continue;
            uint32_t count = e->frozen_count;
            e->frozen_count = e->frozen_aside;
            e->frozen_aside = count;
        }
    return true;
}

/* ---- all events ---- */

static rung_status apply_kind(state_model *m, const rung_event *e, rung_status hint,
                              model_answer *a) {
    if (e->kind != RUNG_EVENT_SCORE &&
        rung_event_check(e, NULL) < 0) /* which refusal of a score comes first is law */
        return RUNG_EINVAL;
    switch (e->kind) {
    case RUNG_EVENT_BOARD_DEFINED:
        return apply_defined(m, e->defined.board, &e->defined.def, a);
    case RUNG_EVENT_BOARD_DELETED:
        return apply_deleted(m, e->deleted.board);
    case RUNG_EVENT_SCORE:
        return apply_score(m, &e->score, hint, a);
    case RUNG_EVENT_ENTRY_REMOVED:
        return apply_removed(m, e->removed.board, e->removed.player);
    case RUNG_EVENT_PLAYER_SET:
        return apply_profile(m, e);
    case RUNG_EVENT_PLAYER_ERASED:
        return apply_erased(m, e->erased.player);
    case RUNG_EVENT_FRIEND_ADDED:
        return apply_friend_added(m, e->friend.player, e->friend.other, e->friend.follow);
    case RUNG_EVENT_FRIEND_REMOVED:
        return apply_friend_removed(m, e->friend.player, e->friend.other, e->friend.follow);
    case RUNG_EVENT_FRIENDS_REPLACED:
        return apply_friends_replaced(m, e);
    case RUNG_EVENT_BANNED:
        return apply_ban(m, e->ban.player, true, e->ban.is_shadow);
    case RUNG_EVENT_UNBANNED:
        return apply_ban(m, e->ban.player, false, false);
    case RUNG_EVENT_WINDOW_OPENED:
    case RUNG_EVENT_WINDOW_CLOSED:
        return apply_window(m, e, a);
    case RUNG_EVENT_TICK:
        return apply_tick(m);
    case RUNG_EVENT_RULES_SET:
        return apply_rules(m, e->rules.level);
    case RUNG_EVENT_ACCESS_SET:
        return apply_access(m, e->access.has_keys);
    case RUNG_EVENT_KEY_CHANGED:
    case RUNG_EVENT_NOTED:
        return RUNG_OK;
    case RUNG_EVENT_REVIEWED:     /* tests/model/test_reviews.c */
    case RUNG_EVENT_MATCH:        /* model.ratings knows those */
    case RUNG_EVENT_KEYS:         /* key_model.c knows those */
    case RUNG_EVENT_IDS_SET:      /* a history keeps the memory it began with */
    case RUNG_EVENT_BOARD_FILLED: /* tests/model/test_replay.c */
    case RUNG_EVENT_BOARD_SWAPPED:
    case RUNG_EVENT_SHADOW_DROPPED:
    case RUNG_EVENT_SESSION: /* tests/model/test_sessions.c */
        break;
    }
    return RUNG_EINVAL;
}

void state_model_apply(state_model *m, const rung_event *event, rung_status hint,
                       model_answer *out) {
    *out = (model_answer){0};
    m->seq++;
    m->time_ms = later(m->time_ms, event->ts_ms);
    out->status = apply_kind(m, event, hint, out);
    m->refused += out->status < 0;
}

/* ---- the whole ---- */

int64_t state_model_time(const state_model *m) {
    return m->time_ms;
}

int64_t state_model_next_close(const state_model *m) {
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; i < m->board_count; i++)
        for (uint32_t k = 0; k < m->boards[i]->window_count; k++) {
            const model_window *w = &m->boards[i]->windows[k];
            int64_t due =
                w->kind && !w->closed ? w->end_ms + m->boards[i]->def.grace_ms : INT64_MAX;
            next = due < next ? due : next;
        }
    return next;
}

model_counts state_model_counts(const state_model *m) {
    model_counts c = {
        .seq = m->seq, .refused = m->refused, .boards = m->board_count, .ids = m->id_count};
    for (uint32_t i = 0; i < m->board_count; i++)
        c.windows += m->boards[i]->window_count;
    for (uint32_t i = 0; i < m->player_count; i++) {
        const model_player *p = &m->players[i];
        c.players += p->is_used;
        c.banned += p->is_banned;
        c.profiles += p->attribute_count > 0;
        c.friendships += p->follow_count;
    }
    return c;
}
