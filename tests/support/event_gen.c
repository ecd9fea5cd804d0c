/* SPDX-License-Identifier: Apache-2.0 */
/* Chance with a taste for edges: each number is drawn as "an end of its range, or something small, or anything". */
#include "support/event_gen.h"

#include "base/bytes.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WEEK_START_MS INT64_C(1763337600000) /* 2025-11-17T00:00:00Z, a Monday */
#define WEEK_MS       (7 * INT64_C(86400000))
#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))

void event_gen_init(event_gen *g, uint64_t seed) {
    rung_rng_seed(&g->rng, seed);
    g->board_count = g->player_count = 0;
    g->used = 0;
}

/* ---- chance ------------------------------------------------------------------------------------------ */

static uint64_t below(event_gen *g, uint64_t n) {
    return rung_rng_below(&g->rng, n);
}

static bool one_in(event_gen *g, uint64_t n) {
    return below(g, n) == 0;
}

static int64_t between(event_gen *g, int64_t from, int64_t to) {
    uint64_t span = (uint64_t)to - (uint64_t)from;
    uint64_t step = span == UINT64_MAX ? rung_rng_next(&g->rng) : below(g, span + 1);
    return (int64_t)((uint64_t)from + step);
}

/* Within the range: an end, near the lower end, or anywhere. */
static int64_t edgy(event_gen *g, int64_t from, int64_t to) {
    switch (below(g, 4)) {
    case 0:
        return from;
    case 1:
        return to;
    case 2:
        return to - from > 10 ? between(g, from, from + 10) : between(g, from, to);
    default:
        return between(g, from, to);
    }
}

static size_t edgy_size(event_gen *g, size_t from, size_t to) {
    return (size_t)edgy(g, (int64_t)from, (int64_t)to);
}

static int64_t any_time(event_gen *g) {
    if (g->board_count || !one_in(g, 4))
        return between(g, WEEK_START_MS, WEEK_START_MS + WEEK_MS - 1);
    return edgy(g, RUNG_TIME_MS_MIN, RUNG_TIME_MS_END - 1);
}

static rung_value any_value(event_gen *g, rung_score_type type) {
    static const int64_t INTEGERS[] = {INT64_MIN, INT64_MAX, 0, -1, 63, 64, -64, -65, 4200};
    static const double REALS[] = {-HUGE_VAL, HUGE_VAL, -0.0, 0.0, 5e-324, 0.1, -1e308};
    rung_value v;
    bool is_edge = one_in(g, 3);
    if (type != RUNG_SCORE_REAL) {
        v.i = is_edge ? INTEGERS[below(g, COUNT(INTEGERS))] : between(g, -100000, 100000);
        return v;
    }
    v.d = is_edge ? REALS[below(g, COUNT(REALS))] : (double)between(g, -100000, 100000) / 8;
    return v;
}

/* ---- texts ------------------------------------------------------------------------------------------- */

static char *take(event_gen *g, size_t size) {
    CHECK(size <= sizeof g->text - g->used);
    g->used += size;
    return g->text + g->used - size;
}

/* "prefix-7", or "prefix-07" where names shall ascend with the number. */
static rung_slice keep(event_gen *g, const char *prefix, int digits, unsigned number) {
    char *out = take(g, 32);
    return rung_slice_of(out, (size_t)snprintf(out, 32, "%s-%0*u", prefix, digits, number));
}

/* Characters of every length, those at the ends of each length, and their neighbours that are allowed. */
static const char *const CHARACTERS[] = {" ",
                                         "~",
                                         "a",
                                         "Z",
                                         "0",
                                         "\"",
                                         "\\",
                                         "\xc2\xa0",
                                         "\xdf\xbf",
                                         "\xc3\xa4",
                                         "\xe0\xa0\x80",
                                         "\xed\x9f\xbf",
                                         "\xee\x80\x80",
                                         "\xef\xbf\xbf",
                                         "\xe2\x82\xac",
                                         "\xf0\x90\x80\x80",
                                         "\xf4\x8f\xbf\xbf",
                                         "\xf0\x9f\x8e\xae"};

/* UTF-8 without control characters, exactly `size` bytes. */
static rung_slice wild_text(event_gen *g, size_t size) {
    char *out = take(g, size);
    bool is_ascii = one_in(g, 2);
    for (size_t at = 0, len; at < size; at += len) {
        const char *c = CHARACTERS[below(g, is_ascii ? 7 : COUNT(CHARACTERS))];
        len = strlen(c);
        if (len > size - at)
            c = "x", len = 1;
        memcpy(out + at, c, len);
    }
    return rung_slice_of(out, size);
}

static rung_slice from_alphabet(event_gen *g, size_t size, const char *alphabet) {
    char *out = take(g, size);
    for (size_t i = 0; i < size; i++)
        out[i] = alphabet[below(g, strlen(alphabet))];
    return rung_slice_of(out, size);
}

static size_t name_size(event_gen *g, size_t max) {
    return one_in(g, 4) ? edgy_size(g, 1, max) : 1 + below(g, max < 16 ? max : 16);
}

static rung_slice any_name(event_gen *g) {
    return wild_text(g, name_size(g, RUNG_NAME_MAX));
}

static rung_slice any_board(event_gen *g) {
    return g->board_count ? keep(g, "board", 1, (unsigned)below(g, g->board_count)) : any_name(g);
}

static rung_slice any_player(event_gen *g) {
    return g->player_count ? keep(g, "player", 1, (unsigned)below(g, g->player_count))
                           : any_name(g);
}

/* Not the same as `player`. */
static rung_slice other_player(event_gen *g, rung_slice player) {
    rung_slice other = any_player(g);
    return rung_slice_eq(other, player) ? RUNG_SLICE("somebody else") : other;
}

/* The index keeps names of one list apart, and ascending up to 100. */
static rung_slice attribute_name(event_gen *g, unsigned index) {
    static const char ALPHABET[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    if (g->board_count)
        return keep(g, "attribute", 2, index);
    rung_slice rest = from_alphabet(g, name_size(g, RUNG_ATTRIBUTE_NAME_MAX - 2) + 2, ALPHABET);
    char *start = g->text + (rest.ptr - g->text);
    start[0] = (char)('0' + index / 10);
    start[1] = (char)('0' + index % 10);
    return rest;
}

/* ---- definitions ------------------------------------------------------------------------------------- */

static void any_columns(event_gen *g, rung_board_def *d) {
    d->key.column_count = 1 + (unsigned)(one_in(g, 3) ? below(g, RUNG_COLUMNS_MAX) : 0);
    for (unsigned i = 0; i < d->key.column_count; i++) {
        rung_column *c = &d->key.columns[i];
        c->type = (rung_score_type)below(g, 3);
        c->order = (rung_score_order)below(g, 2);
        c->decimals = c->type == RUNG_SCORE_DECIMAL ? (unsigned)edgy(g, 0, RUNG_DECIMALS_MAX) : 0;
        if (i)
            d->column_names[i - 1] = attribute_name(g, i);
    }
    d->key.tie = (rung_tie)below(g, 4);
    d->update = (rung_update)below(g, 5);
    if (d->update == RUNG_UPDATE_COUNT || d->update == RUNG_UPDATE_DECAY)
        d->key.column_count = 1;
    if (d->update == RUNG_UPDATE_COUNT)
        d->key.columns[0] = (rung_column){RUNG_SCORE_INTEGER, (rung_score_order)below(g, 2), 0};
    if (d->update == RUNG_UPDATE_DECAY) {
        d->key.columns[0] = (rung_column){RUNG_SCORE_REAL, RUNG_ORDER_DESC, 0};
        d->half_life_ms = edgy(g, RUNG_HALF_LIFE_MIN_MS, RUNG_HALF_LIFE_MAX_MS);
    }
}

static void any_windows(event_gen *g, rung_board_def *d) {
    d->windows = one_in(g, 2) ? RUNG_WINDOWS_ALL : (uint32_t)below(g, RUNG_WINDOWS_MASK + 1);
    d->season_count = one_in(g, 10) ? RUNG_SEASONS_MAX : (uint32_t)below(g, 3);
    if (!d->windows && !d->season_count)
        d->windows = RUNG_WINDOWS_BIT(1 + below(g, 5));
    for (uint32_t i = 0; i < d->season_count; i++) {
        rung_season *s = &d->seasons[i];
        char *name = take(g, RUNG_NAME_MAX);
        size_t len = (size_t)snprintf(name, RUNG_NAME_MAX, "season-%u", i);
        s->name = rung_slice_of(name, one_in(g, 10) ? RUNG_NAME_MAX : len);
        memset(name + len, 'x', RUNG_NAME_MAX - len);
        s->starts_ms = any_time(g);
        if (s->starts_ms == RUNG_TIME_MS_END - 1)
            s->starts_ms--;
        s->ends_ms = edgy(g, s->starts_ms + 1, RUNG_TIME_MS_END - 1);
    }
}

/* No transitions, an offset of that many seconds: what rung_zone_pack() writes for "<+02>-2". */
static rung_slice packed_zone(event_gen *g, int32_t offset_s) {
    char *out = take(g, 8);
    size_t n = 0;
    uint32_t zigzag = (uint32_t)offset_s << 1 ^ (uint32_t)(offset_s >> 31);
    out[n++] = 1;
    out[n++] = 0;
    for (; zigzag >= 0x80; zigzag >>= 7)
        out[n++] = (char)(zigzag | 0x80);
    out[n++] = (char)zigzag;
    out[n++] = 0;
    return rung_slice_of(out, n);
}

static void any_clock(event_gen *g, rung_board_def *d) {
    if (one_in(g, 3)) {
        d->zone_name = one_in(g, 2) ? RUNG_SLICE("Europe/Helsinki") : RUNG_SLICE("Etc/GMT+12");
        d->zone_rules = packed_zone(g, (int32_t)between(g, -12 * 3600, 14 * 3600));
    } else if (one_in(g, 2)) {
        d->zone_name = RUNG_SLICE("UTC");
    }
    if (!g->board_count &&
        one_in(g, 10)) { /* the model takes any rules, as long as they are not too long */
        size_t size = one_in(g, 4) ? RUNG_ZONE_PACKED_MAX : 1 + below(g, 300);
        char *rules = take(g, size);
        memset(rules, (int)below(g, 256), size);
        d->zone_rules = rung_slice_of(rules, size);
        d->zone_name = from_alphabet(g, name_size(g, RUNG_ZONE_NAME_MAX), "abcXYZ");
    }
    d->day_starts_min = (int32_t)edgy(g, 0, RUNG_DAY_STARTS_MAX);
    d->grace_ms = edgy(g, 0, RUNG_GRACE_MAX_MS);
    d->keep = (uint32_t)edgy(g, 0, RUNG_KEEP_MAX);
    d->keep_kinds = below(g, 3) ? 0 : (uint32_t)below(g, 128) & RUNG_KEEP_KINDS_MASK;
    for (uint32_t kind = 0; kind <= RUNG_WINDOW_SEASON; kind++)
        d->keep_of[kind] = d->keep_kinds >> kind & 1 ? (uint32_t)edgy(g, 0, RUNG_KEEP_MAX) : 0;
}

static void any_groups(event_gen *g, rung_board_def *d) {
    d->scope_count = (uint32_t)edgy(g, 0, RUNG_SCOPES_MAX);
    for (uint32_t i = 0; i < d->scope_count; i++)
        d->scopes[i] = attribute_name(g, i);
    d->has_teams = one_in(g, 3);
    if (!d->has_teams)
        return;
    d->team_by = attribute_name(g, (unsigned)below(g, 10));
    d->team_combine = (rung_combine)below(g, 3);
    if (d->team_combine == RUNG_COMBINE_TOP)
        d->team_top = (uint32_t)edgy(g, 1, RUNG_TEAM_TOP_MAX);
}

static void any_limits(event_gen *g, rung_board_def *d) {
    rung_score_type type = d->key.columns[0].type;
    d->limits = one_in(g, 2) ? 0 : (uint32_t)below(g, RUNG_LIMITS_MASK + 1);
    if (d->limits & RUNG_LIMIT_MIN)
        d->min = any_value(g, type);
    if (d->limits & RUNG_LIMIT_MAX)
        d->max = any_value(g, type);
    bool has_both = (d->limits & RUNG_LIMIT_MIN) && (d->limits & RUNG_LIMIT_MAX);
    if (has_both && (type == RUNG_SCORE_REAL ? d->min.d > d->max.d : d->min.i > d->max.i)) {
        rung_value min = d->max;
        d->max = d->min;
        d->min = min;
    }
    if (d->limits & RUNG_LIMIT_STEP) {
        if (type == RUNG_SCORE_REAL)
            d->max_step.d = (double)edgy(g, 0, 1000) / 16;
        else
            d->max_step.i = edgy(g, 0, INT64_MAX);
    }
    if (d->limits & RUNG_LIMIT_RATE)
        d->per_player_per_minute = (uint32_t)edgy(g, 1, UINT32_MAX);
    if (d->limits & RUNG_LIMIT_Z)
        d->z_score = (double)edgy(g, 1, 1000) / 64;
}

static void any_rules(event_gen *g, rung_board_def *d) {
    d->rule_count = one_in(g, 2) ? 0 : (uint32_t)edgy(g, 1, RUNG_BOARD_RULES_MAX);
    for (uint32_t i = 0; i < d->rule_count; i++) {
        rung_board_rule *r = &d->rules[i];
        *r = (rung_board_rule){.rule = RUNG_RULE_SUBMISSIONS, .action = (rung_action)below(g, 3)};
        do {
            if (d->update != RUNG_UPDATE_COUNT)
                r->rule = (rung_rule)between(g, RUNG_RULE_MIN, RUNG_RULE_TOP);
        } while (!rung_rule_is_definable(r->rule) ||
                 (r->rule == RUNG_RULE_MAX_RATE && d->key.columns[0].order == RUNG_ORDER_ASC));
        rung_measure measure = rung_rule_measure(r->rule);
        if (r->rule == RUNG_RULE_SUBMISSIONS)
            r->per_ms = 60000;
        if (r->rule == RUNG_RULE_MAX_RATE)
            r->per_ms = edgy(g, RUNG_RULE_PER_MIN_MS, RUNG_RULE_PER_MAX_MS);
        if (measure == RUNG_MEASURE_GIVEN)
            continue;
        if (measure == RUNG_MEASURE_REAL)
            r->value.d = (double)edgy(g, 1, 1000) / 64;
        else if (measure == RUNG_MEASURE_INTEGER)
            r->value.i = edgy(g, 1, UINT32_MAX);
        else if (r->rule == RUNG_RULE_STEP && d->key.columns[0].type == RUNG_SCORE_REAL)
            r->value.d = (double)edgy(g, 0, 1000) / 16;
        else if (r->rule == RUNG_RULE_STEP)
            r->value.i = edgy(g, 0, INT64_MAX);
        else
            r->value = any_value(g, d->key.columns[0].type);
    }
}

static void any_reviews(event_gen *g, rung_board_def *d) {
    d->review = (rung_review_kind)below(g, 3);
    if (d->review == RUNG_REVIEW_TOP)
        d->review_top = (uint32_t)edgy(g, 1, RUNG_REVIEW_TOP_MAX);
    d->review_ms = one_in(g, 2) ? 0 : edgy(g, RUNG_REVIEW_MIN_MS, RUNG_REVIEW_MAX_MS);
    d->review_outcome = (rung_review_verdict)below(g, 2);
}

static void any_snapshots(event_gen *g, rung_board_def *d) {
    if (!one_in(g, 4))
        return;
    uint64_t windows = (uint64_t)__builtin_popcount(d->windows) + d->season_count;
    d->snapshot_every_ms =
        1000 * edgy(g, RUNG_SNAPSHOT_EVERY_MIN_MS / 1000, RUNG_SNAPSHOT_EVERY_MAX_MS / 1000);
    d->snapshot_top = (uint32_t)edgy(g, 1, RUNG_SNAPSHOT_TOP_MAX);
    uint64_t most = RUNG_SNAPSHOT_ROWS_MAX / (d->snapshot_top * windows);
    d->snapshot_keep = (uint32_t)edgy(
        g, 1, most > RUNG_SNAPSHOT_KEEP_MAX ? RUNG_SNAPSHOT_KEEP_MAX : (int64_t)most);
}

/* Turn a definition into that of a rating board. */
static void make_rating(event_gen *g, rung_board_def *d) {
    rung_rating_params *p = &d->rating;
    d->update = (rung_update)(RUNG_UPDATE_ELO + below(g, 3));
    d->half_life_ms = 0;
    d->limits = 0;
    d->rule_count = 0;
    d->review = RUNG_REVIEW_NONE;
    d->review_top = 0;
    d->review_ms = 0;
    d->review_outcome = RUNG_VERDICT_REJECT;
    d->key.column_count = 1;
    d->key.columns[0] = (rung_column){RUNG_SCORE_DECIMAL, RUNG_ORDER_DESC, 3};
    rung_rating_params_init(p, (rung_rating_system)(d->update - RUNG_UPDATE_ELO));
    p->draw = one_in(g, 2) ? 0.25 : 0;
    p->min_games = (uint32_t)below(g, 20);
    p->pairs_count_fully = p->system != RUNG_RATING_OPENSKILL && one_in(g, 2);
    if (p->system == RUNG_RATING_ELO) {
        p->elo.is_normal = one_in(g, 2);
        p->elo.rule_count = (uint32_t)below(g, RUNG_ELO_RULES_MAX + 1);
        for (uint32_t i = 0; i < p->elo.rule_count; i++)
            p->elo.rules[i] = (rung_elo_rule){i, (double)between(g, -50, 50), 100, 30};
    } else if (p->system == RUNG_RATING_GLICKO2) {
        p->glicko2.period_ms = between(g, 0, 1000000);
    } else {
        p->wenglin.model = (rung_wenglin_model)below(g, 3);
        p->wenglin.window = 1 + (uint32_t)below(g, 8);
    }
}

/* Turn a definition into that of a sketch board. */
static void make_sketch(event_gen *g, rung_board_def *d) {
    static const rung_update updates[] = {[RUNG_SKETCH_COUNTS] = RUNG_UPDATE_SUM,
                                          [RUNG_SKETCH_PERCENTILE] = RUNG_UPDATE_BEST,
                                          [RUNG_SKETCH_DISTINCT] = RUNG_UPDATE_COUNT};
    d->sketch = (rung_sketch_kind)(1 + below(g, 3));
    d->update = updates[d->sketch];
    d->half_life_ms = 0;
    d->limits = 0;
    d->rule_count = 0;
    d->has_teams = false;
    d->review = RUNG_REVIEW_NONE;
    d->review_top = 0;
    d->review_ms = 0;
    d->review_outcome = RUNG_VERDICT_REJECT;
    d->snapshot_every_ms = 0;
    d->snapshot_top = d->snapshot_keep = 0;
    d->key.column_count = 1;
    if (d->sketch != RUNG_SKETCH_PERCENTILE)
        d->key.columns[0] = (rung_column){RUNG_SCORE_INTEGER, RUNG_ORDER_DESC, 0};
    d->sketch_memory = (uint32_t)edgy(g, RUNG_SKETCH_MEMORY_MIN, RUNG_SKETCH_MEMORY_MAX);
    if (d->sketch == RUNG_SKETCH_COUNTS)
        d->sketch_top = (uint32_t)edgy(g, 0, RUNG_SKETCH_TOP_MAX);
    d->sketch_error = one_in(g, 2) ? 0 : (double)between(g, 1, 999) / 1024;
}

static void make_def(event_gen *g, rung_board_def *d) {
    *d = rung_board_def_default();
    if (one_in(g, 2))
        d->title = wild_text(g, edgy_size(g, 0, RUNG_TITLE_MAX));
    any_columns(g, d);
    d->rank = (rung_rank_style)below(g, 3);
    any_windows(g, d);
    any_clock(g, d);
    any_groups(g, d);
    any_limits(g, d);
    any_rules(g, d);
    if (one_in(g, 2))
        any_reviews(g, d);
    any_snapshots(g, d);
    d->writers = (rung_writers)below(g, 2);
    if (one_in(g, 6))
        make_rating(g, d);
    else if (one_in(g, 6))
        make_sketch(g, d);
}

void event_gen_def(event_gen *g, rung_board_def *def_out) {
    g->used = 0;
    make_def(g, def_out);
}

/* ---- events ------------------------------------------------------------------------------------------ */

static uint32_t any_conditions(event_gen *g) {
    static const uint32_t ALL[] = {0,
                                   RUNG_IF_NX,
                                   RUNG_IF_XX,
                                   RUNG_IF_GT,
                                   RUNG_IF_LT,
                                   RUNG_IF_XX | RUNG_IF_GT,
                                   RUNG_IF_XX | RUNG_IF_LT};
    return ALL[below(g, COUNT(ALL))];
}

static void make_attested(event_gen *g, rung_attested *a) {
    a->has_duration = one_in(g, 2);
    if (a->has_duration)
        a->duration_ms = (int64_t)(one_in(g, 2) ? below(g, 100000) : below(g, INT64_C(1) << 53));
    if (one_in(g, 2))
        a->seed = wild_text(g, edgy_size(g, 1, RUNG_ATTESTED_SEED_MAX));
    if (one_in(g, 2))
        a->replay = wild_text(g, edgy_size(g, 1, RUNG_ATTESTED_REPLAY_MAX));
}

static rung_slice any_session(event_gen *g) {
    static const char *const IDS[] = {"AAAAAAAAAAAAAAAAAAAAAA", "0-_zZ9aaaaaaaaaaaaaaaa",
                                      "mh0Jv3nqSIm2o1pZbD4xWg"};
    return rung_slice_str(IDS[below(g, COUNT(IDS))]);
}

static void make_session(event_gen *g, rung_event *e) {
    e->session.is_ended = one_in(g, 3);
    bool is_of_player = e->session.is_ended && one_in(g, 2);
    if (!is_of_player)
        e->session.id = any_session(g);
    if (!e->session.is_ended || is_of_player)
        e->session.player = any_player(g);
    if (e->session.is_ended)
        return;
    e->session.key = wild_text(g, edgy_size(g, 1, RUNG_SESSION_KEY_MAX));
    e->session.expires_ms = (int64_t)below(g, RUNG_TIME_MS_END);
    e->session.window_ms = (int64_t)(1 + below(g, RUNG_SESSION_WINDOW_MS_MAX));
}

static void make_score(event_gen *g, int64_t ts_ms, rung_score_event *s) {
    s->board = any_board(g);
    s->player = any_player(g);
    s->is_delta = one_in(g, 4);
    s->value_count = one_in(g, 3) ? (uint32_t)below(g, RUNG_COLUMNS_MAX + 1) : 1;
    for (uint32_t i = 0; i < s->value_count; i++) {
        s->types[i] = (uint8_t)below(g, 3);
        s->values[i] = any_value(g, (rung_score_type)s->types[i]);
        s->decimals[i] =
            s->types[i] == RUNG_SCORE_DECIMAL ? (uint8_t)edgy(g, 0, RUNG_DECIMALS_MAX) : 0;
    }
    s->has_at = one_in(g, 2);
    if (s->has_at)
        s->at_ms = one_in(g, 2) ? ts_ms : any_time(g);
    if (one_in(g, 2))
        s->id = wild_text(g, edgy_size(g, 1, RUNG_EVENT_ID_MAX));
    if (one_in(g, 8))
        s->meta = wild_text(g, edgy_size(g, 1, RUNG_EVENT_META_MAX));
    if (one_in(g, 6))
        s->when = (uint8_t)(RUNG_SCORE_KEY | any_conditions(g));
    if (one_in(g, 6)) {
        s->source = wild_text(g, edgy_size(g, 1, RUNG_NAME_MAX));
        s->offset = one_in(g, 2) ? below(g, 100) : below(g, INT64_MAX) + 1;
    }
    if (one_in(g, 4))
        make_attested(g, &s->attested);
    if (!s->source.len && below(g, 16) == 0) {
        s->session = any_session(g);
        s->nonce = 1 + below(g, below(g, 2) ? 100 : RUNG_NONCE_MAX);
        s->signed_ms = any_time(g);
    }
}

static void make_profile(event_gen *g, rung_event *e) {
    e->profile.player = any_player(g);
    e->profile.count = (uint32_t)edgy(g, 0, one_in(g, 4) ? RUNG_ATTRIBUTES_MAX : 4);
    for (uint32_t i = 0; i < e->profile.count; i++) {
        size_t size = one_in(g, 20) ? RUNG_ATTRIBUTE_VALUE_MAX : edgy_size(g, 1, RUNG_NAME_MAX);
        e->profile.attributes[i].name = attribute_name(g, i);
        e->profile.attributes[i].value =
            g->board_count ? keep(g, "value", 1, (unsigned)below(g, 5)) : wild_text(g, size);
    }
}

static void make_friends(event_gen *g, rung_event *e) {
    e->friends.player = any_player(g);
    e->friends.follow = one_in(g, 2);
    e->friends.count =
        one_in(g, 20) && !g->player_count ? RUNG_FRIENDS_MAX : (uint32_t)below(g, 20);
    bool is_full = e->friends.count == RUNG_FRIENDS_MAX;
    char *packed = take(g, is_full ? (size_t)RUNG_FRIENDS_MAX * 12 : 20 * (RUNG_NAME_MAX + 1));
    size_t len = 0;
    for (uint32_t i = 0; i < e->friends.count; i++) {
        size_t mark = g->used;
        rung_slice name = is_full ? keep(g, "f", 1, i) : other_player(g, e->friends.player);
        packed[len++] = (char)name.len;
        memcpy(packed + len, name.ptr, name.len);
        len += name.len;
        g->used = mark;
    }
    e->friends.packed = rung_slice_of(packed, len);
}

static void make_window(event_gen *g, rung_event *e) {
    static const struct {
        int64_t first, last;
    } ORDINALS[] = {[RUNG_WINDOW_HOUR] = {-613608, 70389527},
                    [RUNG_WINDOW_DAY] = {-25567, 2932896},
                    [RUNG_WINDOW_WEEK] = {-3652, 418985},
                    [RUNG_WINDOW_MONTH] = {22800, 119999},
                    [RUNG_WINDOW_YEAR] = {1900, 9999}};
    e->window.board = any_board(g);
    e->window.kind = (uint32_t)below(g, 6);
    if (e->window.kind)
        e->window.ordinal = edgy(g, ORDINALS[e->window.kind].first, ORDINALS[e->window.kind].last);
    else
        e->window.season = any_name(g);
}

/* ---- commands ---------------------------------------------------------------------------------------- */

static rung_lex_bound any_bound(event_gen *g) {
    rung_lex_bound b = {.kind = (rung_lex_kind)below(g, 4)};
    if (b.kind >= RUNG_LEX_CLOSED)
        b.text = one_in(g, 2) ? any_player(g) : wild_text(g, edgy_size(g, 0, 40));
    return b;
}

static void any_range(event_gen *g, rung_range *r) {
    r->by = (rung_range_by)below(g, 3);
    if (r->by == RUNG_RANGE_RANK) {
        r->start = edgy(g, -5, 5);
        r->stop = one_in(g, 8) ? INT64_MIN : edgy(g, -5, 5);
    } else if (r->by == RUNG_RANGE_SCORE) {
        r->min = any_value(g, RUNG_SCORE_REAL).d;
        r->max = any_value(g, RUNG_SCORE_REAL).d;
        r->min_is_open = one_in(g, 2);
        r->max_is_open = one_in(g, 2);
    } else {
        r->lex_min = any_bound(g);
        r->lex_max = any_bound(g);
    }
}

static bool names_keys(rung_zcommand_kind kind) {
    return kind == RUNG_ZCOMMAND_ZPOP || kind == RUNG_ZCOMMAND_ZSTORE || kind == RUNG_ZCOMMAND_DEL;
}

/* One command of a kind, packed behind the others in g->text. */
static void make_command(event_gen *g, rung_zcommand_kind kind) {
    rung_zcommand_item items[4];
    rung_zcommand c = {.kind = kind, .items = items, .item_count = 1 + (uint32_t)below(g, 4)};
    bool has_number =
        kind == RUNG_ZCOMMAND_ZADD || kind == RUNG_ZCOMMAND_ZSTORE || kind >= RUNG_ZCOMMAND_SKETCH;
    c.key = any_board(g);
    c.other = any_board(g);
    any_range(g, &c.range);
    c.combine = (rung_combine_keys)below(g, 3);
    c.aggregate = c.combine == RUNG_KEYS_DIFF ? RUNG_AGGREGATE_SUM : (rung_aggregate)below(g, 3);
    c.pop_count = (uint64_t)edgy(g, 0, 4);
    c.offset = edgy(g, -1, 3);
    c.limit = edgy(g, -1, 3);
    c.at_ms = any_time(g);
    if (kind == RUNG_ZCOMMAND_ZADD || kind == RUNG_ZCOMMAND_EXPIRE)
        c.flags = any_conditions(g);
    if (kind == RUNG_ZCOMMAND_ZADD && one_in(g, 3)) {
        c.flags |= RUNG_ZCOMMAND_INCR;
        c.item_count = 1;
    }
    if (kind == RUNG_ZCOMMAND_ZPOP)
        c.flags = (uint32_t)below(g, 2);
    if (kind == RUNG_ZCOMMAND_ZRANGESTORE)
        c.flags = (uint32_t)below(g, c.range.by == RUNG_RANGE_RANK ? 2 : 4);
    if (kind >= RUNG_ZCOMMAND_SKETCH)
        c.flags = (uint32_t)(1 + below(g, 3)) << RUNG_ZCOMMAND_SKETCH_SHIFT | (uint32_t)below(g, 2);
    if (kind == RUNG_ZCOMMAND_RENAME)
        c.flags = one_in(g, 2) ? RUNG_IF_NX : 0;
    for (uint32_t i = 0; i < c.item_count; i++)
        items[i] = (rung_zcommand_item){names_keys(kind) ? any_board(g) : any_player(g),
                                        has_number ? any_value(g, RUNG_SCORE_REAL).d : 0};
    size_t length = 0;
    rung_status st = rung_zcommand_encode(&c, g->commands + g->commands_used,
                                          sizeof g->commands - g->commands_used, &length, NULL);
    CHECK(st == RUNG_OK);
    g->commands_used += length;
}

static void make_keys(event_gen *g, rung_event *e) {
    g->commands_used = 0;
    e->keys.count = one_in(g, 2) ? 1 : 1 + (uint32_t)below(g, 5);
    for (uint32_t i = 0; i < e->keys.count; i++)
        make_command(g, (rung_zcommand_kind)(1 + below(g, RUNG_ZCOMMAND_SKETCH_ADD)));
    e->keys.packed = rung_slice_of(g->commands, g->commands_used);
    e->keys.is_admin = one_in(g, 4);
}

/* Players are numbered, so that nobody is in it twice. */
static void make_match(event_gen *g, rung_event *e) {
    uint8_t raw[4096];
    rung_byte_writer w = rung_byte_writer_of(raw, sizeof raw);
    uint32_t count = 2 + (uint32_t)below(g, 6);
    for (uint32_t i = 0; i < count; i++) {
        rung_match_entry entry = {.player = keep(g, "player", 2, i),
                                  .is_first = i < 2 || one_in(g, 2),
                                  .place = (int32_t)between(g, -3, 3),
                                  .weight = one_in(g, 3) ? 2.5 : 1,
                                  .played = one_in(g, 3) ? 0.5 : 1};
        CHECK(rung_match_put(&w, &entry));
    }
    size_t len = rung_byte_writer_length(&w);
    e->match.board = any_board(g);
    e->match.player_count = count;
    e->match.packed = rung_slice_of(memcpy(take(g, len), raw, len), len);
    e->match.has_at = one_in(g, 2);
    e->match.at_ms = e->match.has_at ? any_time(g) : 0;
    if (one_in(g, 4)) {
        e->match.source = keep(g, "source", 2, (unsigned)below(g, 5));
        e->match.offset = below(g, 10000);
    }
    e->match.id = one_in(g, 2) ? keep(g, "match", 2, (unsigned)below(g, 50)) : (rung_slice){0};
}

void event_gen_make(event_gen *g, rung_event_kind kind, rung_event *e) {
    g->used = 0;
    memset(e, 0, sizeof *e);
    e->kind = kind;
    e->ts_ms = any_time(g);
    switch (kind) {
    case RUNG_EVENT_BOARD_DEFINED:
        e->defined.board = any_board(g);
        make_def(g, &e->defined.def);
        break;
    case RUNG_EVENT_BOARD_DELETED:
        e->deleted.board = any_board(g);
        break;
    case RUNG_EVENT_SCORE:
        make_score(g, e->ts_ms, &e->score);
        break;
    case RUNG_EVENT_ENTRY_REMOVED:
        e->removed.board = any_board(g);
        e->removed.player = any_player(g);
        break;
    case RUNG_EVENT_PLAYER_SET:
        make_profile(g, e);
        break;
    case RUNG_EVENT_PLAYER_ERASED:
        e->erased.player = any_player(g);
        break;
    case RUNG_EVENT_FRIEND_ADDED:
    case RUNG_EVENT_FRIEND_REMOVED:
        e->friend.player = any_player(g);
        e->friend.other = other_player(g, e->friend.player);
        e->friend.follow = one_in(g, 2);
        break;
    case RUNG_EVENT_FRIENDS_REPLACED:
        make_friends(g, e);
        break;
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
        e->ban.player = any_player(g);
        e->ban.reason = wild_text(g, edgy_size(g, 0, RUNG_REASON_MAX));
        if (one_in(g, 3)) {
            e->ban.until_ms = any_time(g);
            e->ban.until_ms += e->ban.until_ms == 0;
        }
        e->ban.is_shadow = e->kind == RUNG_EVENT_BANNED && one_in(g, 3);
        break;
    case RUNG_EVENT_REVIEWED:
        e->reviewed.board = any_board(g);
        e->reviewed.player = any_player(g);
        e->reviewed.id = 1 + below(g, UINT64_MAX - 1);
        e->reviewed.verdict = (rung_review_verdict)below(g, RUNG_VERDICT_BAN + 1);
        e->reviewed.reason = wild_text(g, edgy_size(g, 0, RUNG_REASON_MAX));
        break;
    case RUNG_EVENT_NOTED:
        e->noted.player = any_player(g);
        e->noted.note = wild_text(g, edgy_size(g, 1, RUNG_NOTE_MAX));
        break;
    case RUNG_EVENT_WINDOW_OPENED:
    case RUNG_EVENT_WINDOW_CLOSED:
        make_window(g, e);
        break;
    case RUNG_EVENT_TICK:
        break;
    case RUNG_EVENT_KEYS:
        make_keys(g, e);
        break;
    case RUNG_EVENT_IDS_SET:
        e->ids.capacity = below(g, 4) ? (uint32_t)(1 + below(g, 1000)) : UINT32_MAX;
        e->ids.keep_ms = below(g, 4) ? (int64_t)(1 + below(g, 100000000)) : RUNG_IDS_KEEP_MS_MAX;
        break;
    case RUNG_EVENT_RULES_SET:
        e->rules.level = (uint32_t)(1 + below(g, RUNG_RULES_LEVEL));
        break;
    case RUNG_EVENT_ACCESS_SET:
        e->access.has_keys = below(g, 2);
        break;
    case RUNG_EVENT_KEY_CHANGED:
        e->key.id = RUNG_SLICE("a key");
        e->key.role = RUNG_SLICE("server");
        e->key.boards = below(g, 2) ? RUNG_SLICE("race-*") : RUNG_SLICE("");
        e->key.is_revoked = below(g, 2);
        e->key.expires_ms = (int64_t)below(g, 1000000);
        e->has_actor = true;
        break;
    case RUNG_EVENT_BOARD_FILLED:
        e->filled.board = any_name(g);
        e->filled.job = 1 + below(g, UINT32_MAX);
        e->filled.part = (uint32_t)below(g, 1000);
        e->filled.packed = below(g, 2) ? rung_slice_str("\7") : (rung_slice){NULL, 0};
        break;
    case RUNG_EVENT_BOARD_SWAPPED:
        e->swapped.board = any_name(g);
        e->swapped.job = 1 + below(g, UINT32_MAX);
        e->swapped.is_undo = below(g, 2);
        break;
    case RUNG_EVENT_SHADOW_DROPPED:
        e->dropped.board = any_name(g);
        e->dropped.job = 1 + below(g, UINT32_MAX);
        break;
    case RUNG_EVENT_MATCH:
        make_match(g, e);
        break;
    case RUNG_EVENT_SESSION:
        make_session(g, e);
        break;
    }
}

void event_gen_any(event_gen *g, rung_event *event_out) {
    uint64_t kind = 1 + below(g, RUNG_EVENT_ACCESS_SET + 8);
    kind += kind > RUNG_EVENT_ACCESS_SET; /* numbers 19 and 25 are no kinds of their own */
    kind += kind > RUNG_EVENT_MATCH;
    event_gen_make(g, (rung_event_kind)kind, event_out);
    if (event_out->has_actor ||
        (event_out->kind != RUNG_EVENT_SCORE && event_out->kind != RUNG_EVENT_FRIENDS_REPLACED &&
         below(g, 4) == 0)) {
        event_out->has_actor = true;
        event_out->actor = (rung_actor){
            .key = below(g, 2) ? RUNG_SLICE("k3Yid") : RUNG_SLICE(""),
            .player = below(g, 4) ? RUNG_SLICE("") : RUNG_SLICE("ada"),
            .address = below(g, 2) ? RUNG_SLICE("192.0.2.7:4711") : RUNG_SLICE("library"),
            .reason = below(g, 4) ? RUNG_SLICE("") : RUNG_SLICE("cheated\n")};
    }
}

/* ---- as text ----------------------------------------------------------------------------------------- */

static void print_text(FILE *f, const char *field, rung_slice text) {
    fprintf(f, " %s=\"", field);
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = (uint8_t)text.ptr[i];
        if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
            fprintf(f, "\\x%02x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

static void print_value(FILE *f, const char *field, unsigned type, rung_value v) {
    if (type == RUNG_SCORE_REAL)
        fprintf(f, " %s=%a", field, v.d);
    else
        fprintf(f, " %s=%" PRId64, field, v.i);
}

static void print_rating(FILE *f, const rung_rating_params *p) {
    fprintf(f, " rating=%u/%a/%a/%a/%a/%a games=%u pairs=%d", p->system, p->rating, p->deviation,
            p->volatility, p->conservative, p->draw, p->min_games, p->pairs_count_fully);
    if (p->system == RUNG_RATING_ELO) {
        const rung_elo_params *e = &p->elo;
        fprintf(f, " elo=%a/%a/%a/%a/%d/%u/%a/%a", e->k, e->scale, e->floor, e->difference_max,
                e->is_normal, e->provisional_games, e->provisional_k, e->provisional_effect);
        for (uint32_t i = 0; i < e->rule_count; i++)
            fprintf(f, " rule=%u/%a/%a/%a", e->rules[i].games_under, e->rules[i].from,
                    e->rules[i].under, e->rules[i].k);
    } else if (p->system == RUNG_RATING_GLICKO2) {
        fprintf(f, " glicko2=%a/%a/%a/%" PRId64, p->glicko2.tau, p->glicko2.deviation_min,
                p->glicko2.deviation_max, p->glicko2.period_ms);
    } else {
        const rung_wenglin_params *w = &p->wenglin;
        fprintf(f, " openskill=%u/%a/%a/%a/%d/%u/%d", w->model, w->beta, w->kappa, w->tau,
                w->limit_sigma, w->window, w->window_mean);
    }
}

static void print_def(FILE *f, const rung_board_def *d) {
    print_text(f, "title", d->title);
    for (unsigned i = 0; i < d->key.column_count; i++) {
        const rung_column *c = &d->key.columns[i];
        fprintf(f, " column=%u/%u/%u", c->type, c->order, c->decimals);
        if (i)
            print_text(f, "name", d->column_names[i - 1]);
    }
    fprintf(f, " tie=%u update=%u half_life=%" PRId64 " rank=%u windows=%u", d->key.tie, d->update,
            d->half_life_ms, d->rank, d->windows);
    if (rung_update_is_rating(d->update))
        print_rating(f, &d->rating);
    for (uint32_t i = 0; i < d->season_count; i++) {
        print_text(f, "season", d->seasons[i].name);
        fprintf(f, " from=%" PRId64 " to=%" PRId64, d->seasons[i].starts_ms, d->seasons[i].ends_ms);
    }
    print_text(f, "zone", d->zone_name);
    print_text(f, "rules", d->zone_rules);
    fprintf(f, " day_starts=%d grace=%" PRId64 " keep=%u", d->day_starts_min, d->grace_ms, d->keep);
    for (uint32_t kind = 0; kind <= RUNG_WINDOW_SEASON; kind++)
        if (d->keep_kinds >> kind & 1)
            fprintf(f, " keep.%s=%u", rung_window_words[kind], d->keep_of[kind]);
    for (uint32_t i = 0; i < d->scope_count; i++)
        print_text(f, "scope", d->scopes[i]);
    if (d->has_teams) {
        print_text(f, "teams", d->team_by);
        fprintf(f, " combine=%u top=%u", d->team_combine, d->team_top);
    }
    if (d->limits & RUNG_LIMIT_MIN)
        print_value(f, "min", d->key.columns[0].type, d->min);
    if (d->limits & RUNG_LIMIT_MAX)
        print_value(f, "max", d->key.columns[0].type, d->max);
    if (d->limits & RUNG_LIMIT_STEP)
        print_value(f, "max_step", d->key.columns[0].type, d->max_step);
    if (d->limits & RUNG_LIMIT_RATE)
        fprintf(f, " per_minute=%u", d->per_player_per_minute);
    if (d->limits & RUNG_LIMIT_Z)
        fprintf(f, " z_score=%a", d->z_score);
    fprintf(f, " writers=%u", d->writers);
    if (d->snapshot_every_ms)
        fprintf(f, " snapshots=%" PRId64 "/%u/%u", d->snapshot_every_ms, d->snapshot_top,
                d->snapshot_keep);
    if (d->sketch)
        fprintf(f, " sketch=%u/%u/%u/%a", d->sketch, d->sketch_memory, d->sketch_top,
                d->sketch_error);
    if (d->review || d->review_ms || d->review_outcome)
        fprintf(f, " review=%d/%u/%" PRId64 "/%d", (int)d->review, d->review_top, d->review_ms,
                (int)d->review_outcome);
    for (uint32_t i = 0; i < d->rule_count; i++)
        fprintf(f, " rule=%u/%u/%" PRId64 "/%" PRId64, d->rules[i].rule, d->rules[i].action,
                d->rules[i].value.i, d->rules[i].per_ms);
}

static void print_score(FILE *f, const rung_score_event *s) {
    print_text(f, "board", s->board);
    print_text(f, "player", s->player);
    for (uint32_t i = 0; i < s->value_count; i++) {
        fprintf(f, " type=%u/%u", s->types[i], s->decimals[i]);
        print_value(f, s->is_delta ? "delta" : "value", s->types[i], s->values[i]);
    }
    if (s->is_delta)
        fputs(" is_delta", f);
    if (s->has_at)
        fprintf(f, " at=%" PRId64, s->at_ms);
    print_text(f, "id", s->id);
    print_text(f, "meta", s->meta);
    if (s->when)
        fprintf(f, " when=%u", s->when);
    if (s->source.len) {
        print_text(f, "source", s->source);
        fprintf(f, " offset=%" PRIu64, s->offset);
    }
    if (s->session.len) {
        print_text(f, "session", s->session);
        fprintf(f, " nonce=%" PRIu64 " signed_ms=%" PRId64, s->nonce, s->signed_ms);
    }
    if (s->attested.has_duration)
        fprintf(f, " duration=%" PRId64, s->attested.duration_ms);
    if (s->attested.seed.len)
        print_text(f, "seed", s->attested.seed);
    if (s->attested.replay.len)
        print_text(f, "replay", s->attested.replay);
}

static void print_range(FILE *f, const rung_range *r) {
    if (r->by == RUNG_RANGE_RANK)
        fprintf(f, " ranks=%" PRId64 "/%" PRId64, r->start, r->stop);
    if (r->by == RUNG_RANGE_SCORE)
        fprintf(f, " scores=%s%a/%s%a", r->min_is_open ? "(" : "", r->min,
                r->max_is_open ? "(" : "", r->max);
    if (r->by == RUNG_RANGE_LEX) {
        fprintf(f, " members=%u/%u", r->lex_min.kind, r->lex_max.kind);
        print_text(f, "from", r->lex_min.text);
        print_text(f, "to", r->lex_max.text);
    }
}

static void print_command(FILE *f, rung_zcommand *c) {
    rung_zcommand_item item;
    fprintf(f, " [%s flags=%u", rung_zcommand_kind_name(c->kind), c->flags);
    print_text(f, "key", c->key);
    if (c->other.len)
        print_text(f, "other", c->other);
    if (c->kind == RUNG_ZCOMMAND_ZREMRANGE || c->kind == RUNG_ZCOMMAND_ZRANGESTORE)
        print_range(f, &c->range);
    if (c->kind == RUNG_ZCOMMAND_ZRANGESTORE)
        fprintf(f, " limit=%" PRId64 "/%" PRId64, c->offset, c->limit);
    if (c->kind == RUNG_ZCOMMAND_ZPOP)
        fprintf(f, " pop=%" PRIu64, c->pop_count);
    if (c->kind == RUNG_ZCOMMAND_ZSTORE)
        fprintf(f, " combine=%u/%u", c->combine, c->aggregate);
    if (c->kind == RUNG_ZCOMMAND_EXPIRE)
        fprintf(f, " at=%" PRId64, c->at_ms);
    while (rung_zcommand_item_next(c, &item)) {
        print_text(f, "item", item.name);
        fprintf(f, "/%a", item.number);
    }
    fputs("]", f);
}

static void print_keys(FILE *f, const rung_event *e) {
    rung_slice rest = e->keys.packed;
    rung_zcommand c;
    fprintf(f, "%s count=%u", e->keys.is_admin ? " admin" : "", e->keys.count);
    while (rung_zcommand_next(&rest, &c, NULL) == RUNG_OK)
        print_command(f, &c);
}

static void print_friends(FILE *f, const rung_event *e) {
    rung_slice rest = e->friends.packed, name;
    print_text(f, "player", e->friends.player);
    fprintf(f, " follow=%d count=%u", e->friends.follow, e->friends.count);
    while (rung_names_next(&rest, &name))
        print_text(f, "friend", name);
}

static void print_match(FILE *f, const rung_match_event *m) {
    rung_match_cursor c = {.rest = m->packed};
    rung_match_entry e;
    print_text(f, "board", m->board);
    if (m->has_at)
        fprintf(f, " at=%" PRId64, m->at_ms);
    if (m->id.len)
        print_text(f, "id", m->id);
    if (m->source.len) {
        print_text(f, "source", m->source);
        fprintf(f, " offset=%" PRIu64, m->offset);
    }
    while (rung_match_next(&c, &e)) {
        if (e.is_first)
            fprintf(f, " side=%u place=%d", e.side, (int)e.place);
        print_text(f, "player", e.player);
        fprintf(f, " weight=%a played=%a", e.weight, e.played);
    }
}

static void print_body(FILE *f, const rung_event *e) {
    switch (e->kind) {
    case RUNG_EVENT_BOARD_DEFINED:
        print_text(f, "board", e->defined.board);
        print_def(f, &e->defined.def);
        break;
    case RUNG_EVENT_BOARD_DELETED:
        print_text(f, "board", e->deleted.board);
        break;
    case RUNG_EVENT_SCORE:
        print_score(f, &e->score);
        break;
    case RUNG_EVENT_ENTRY_REMOVED:
        print_text(f, "board", e->removed.board);
        print_text(f, "player", e->removed.player);
        break;
    case RUNG_EVENT_PLAYER_SET:
        print_text(f, "player", e->profile.player);
        for (uint32_t i = 0; i < e->profile.count; i++) {
            print_text(f, "attribute", e->profile.attributes[i].name);
            print_text(f, "value", e->profile.attributes[i].value);
        }
        break;
    case RUNG_EVENT_PLAYER_ERASED:
        print_text(f, "player", e->erased.player);
        break;
    case RUNG_EVENT_FRIEND_ADDED:
    case RUNG_EVENT_FRIEND_REMOVED:
        print_text(f, "player", e->friend.player);
        print_text(f, "friend", e->friend.other);
        fprintf(f, " follow=%d", e->friend.follow);
        break;
    case RUNG_EVENT_FRIENDS_REPLACED:
        print_friends(f, e);
        break;
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
        print_text(f, "player", e->ban.player);
        print_text(f, "reason", e->ban.reason);
        if (e->ban.until_ms)
            fprintf(f, " until=%" PRId64, e->ban.until_ms);
        if (e->ban.is_shadow)
            fputs(" shadow", f);
        break;
    case RUNG_EVENT_REVIEWED:
        print_text(f, "board", e->reviewed.board);
        print_text(f, "player", e->reviewed.player);
        fprintf(f, " id=%" PRIu64 " verdict=%d", e->reviewed.id, (int)e->reviewed.verdict);
        print_text(f, "reason", e->reviewed.reason);
        break;
    case RUNG_EVENT_NOTED:
        print_text(f, "player", e->noted.player);
        print_text(f, "note", e->noted.note);
        break;
    case RUNG_EVENT_WINDOW_OPENED:
    case RUNG_EVENT_WINDOW_CLOSED:
        print_text(f, "board", e->window.board);
        fprintf(f, " kind=%u ordinal=%" PRId64, e->window.kind, e->window.ordinal);
        print_text(f, "season", e->window.season);
        break;
    case RUNG_EVENT_TICK:
        break;
    case RUNG_EVENT_KEYS:
        print_keys(f, e);
        break;
    case RUNG_EVENT_IDS_SET:
        fprintf(f, " capacity=%u keep_ms=%" PRId64, e->ids.capacity, e->ids.keep_ms);
        break;
    case RUNG_EVENT_RULES_SET:
        fprintf(f, " level=%u", e->rules.level);
        break;
    case RUNG_EVENT_MATCH:
        print_match(f, &e->match);
        break;
    case RUNG_EVENT_ACCESS_SET:
        fprintf(f, " has_keys=%d", e->access.has_keys);
        break;
    case RUNG_EVENT_KEY_CHANGED:
        print_text(f, "id", e->key.id);
        print_text(f, "role", e->key.role);
        print_text(f, "boards", e->key.boards);
        fprintf(f, " is_revoked=%d expires_ms=%" PRId64, e->key.is_revoked, e->key.expires_ms);
        break;
    case RUNG_EVENT_BOARD_FILLED:
        print_text(f, "board", e->filled.board);
        fprintf(f, " job=%" PRIu64 " part=%u bytes=%zu", e->filled.job, e->filled.part,
                e->filled.packed.len);
        break;
    case RUNG_EVENT_BOARD_SWAPPED:
        print_text(f, "board", e->swapped.board);
        fprintf(f, " job=%" PRIu64 " undo=%d", e->swapped.job, e->swapped.is_undo);
        break;
    case RUNG_EVENT_SHADOW_DROPPED:
        print_text(f, "board", e->dropped.board);
        fprintf(f, " job=%" PRIu64, e->dropped.job);
        break;
    case RUNG_EVENT_SESSION:
        print_text(f, "id", e->session.id);
        print_text(f, "player", e->session.player);
        print_text(f, "key", e->session.key);
        fprintf(f, " ended=%d expires_ms=%" PRId64 " window_ms=%" PRId64, e->session.is_ended,
                e->session.expires_ms, e->session.window_ms);
        break;
    }
}

char *event_text(const rung_event *event) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    CHECK(f);
    fprintf(f, "%s ts=%" PRId64, rung_event_kind_name(event->kind), event->ts_ms);
    if (event->has_actor) {
        print_text(f, "key", event->actor.key);
        print_text(f, "by", event->actor.player);
        print_text(f, "from", event->actor.address);
        print_text(f, "why", event->actor.reason);
    }
    print_body(f, event);
    CHECK(fclose(f) == 0);
    return text;
}

char *board_def_text(const rung_board_def *def) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    CHECK(f);
    print_def(f, def);
    CHECK(fclose(f) == 0);
    return text;
}
