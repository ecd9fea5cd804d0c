/* SPDX-License-Identifier: Apache-2.0 */
/* Random histories; see history_gen.h. In order: taste, small things (texts, times, values), definitions, events,
 * printing. */
#include "support/history_gen.h"

#include "base/hash.h"
#include "support/check.h"
#include "support/tzif.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define HOUR_MS         (INT64_C(3600) * 1000)
#define DAY_MS          (24 * HOUR_MS)

typedef struct text {
    struct text *next;
    char bytes[];
} text;

enum { RECENT_MAX = 64, ZONES = 6, SOURCES = 3 };

struct history_gen {
    rung_rng rng;
    history_taste taste;
    int64_t time_ms; /* log time as the receiver will have it */
    bool is_defined[HISTORY_BOARDS_MAX];
    rung_board_def defs[HISTORY_BOARDS_MAX];
    uint32_t recent_count; /* submissions with an id, the last RECENT_MAX of them */
    rung_score_event recent[RECENT_MAX];
    int64_t recent_ms[RECENT_MAX]; /* when they were sent */
    uint64_t source_next[SOURCES];
    uint32_t serial;
    bool has_no_rules;
    uint64_t steps, rules_step; /* which event raises the rules; UINT64_MAX: none */
    rung_slice zone_names[ZONES], zone_rules[ZONES];
    rung_zone *zones[ZONES];
    text *texts;
};

/* ---- choosing ---- */

static uint32_t below(history_gen *g, uint32_t n) {
    return (uint32_t)rung_rng_below(&g->rng, n);
}

static bool chance(history_gen *g, uint32_t percent) {
    return below(g, 100) < percent;
}

static int64_t between(history_gen *g, int64_t low, int64_t high) {
    return low + (int64_t)rung_rng_below(&g->rng, (uint64_t)(high - low) + 1);
}

#define PICK(g, array) ((array)[below((g), (uint32_t)COUNT_OF(array))])

rung_rng *history_gen_rng(history_gen *g) {
    return &g->rng;
}

int64_t history_time(const history_gen *g) {
    return g->time_ms;
}

const history_taste *history_gen_taste(const history_gen *g) {
    return &g->taste;
}

const rung_board_def *history_def(const history_gen *g, uint32_t i) {
    return g->is_defined[i] ? &g->defs[i] : NULL;
}

/* ---- texts ---- */

static rung_slice keep_bytes(history_gen *g, const void *bytes, size_t len) {
    text *t = malloc(sizeof *t + len + 1);
    CHECK(t);
    memcpy(t->bytes, bytes, len);
    t->bytes[len] = '\0';
    t->next = g->texts;
    g->texts = t;
    return rung_slice_of(t->bytes, len);
}

rung_slice history_text(history_gen *g, const char *format, ...) {
    char buffer[512];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    CHECK(len >= 0 && (size_t)len < sizeof buffer);
    return keep_bytes(g, buffer, (size_t)len);
}

static rung_slice text_of_length(history_gen *g, char c, size_t len) {
    char buffer[1024];
    memset(buffer, c, len);
    return keep_bytes(g, buffer, len);
}

/* ---- zones and taste ---- */

static void load_zones(history_gen *g) {
    static const char *const names[ZONES] = {
        "UTC",          "Europe/Helsinki",     "America/New_York",
        "Pacific/Apia", "Australia/Lord_Howe", "Asia/Kathmandu"};
    for (uint32_t i = 0; i < ZONES; i++) {
        char path[128];
        static char packed[RUNG_ZONE_PACKED_MAX];
        size_t size;
        g->zone_names[i] = rung_slice_str(names[i]);
        if (i == 0)
            continue;
        snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", names[i]);
        g->zones[i] = tzif_load(path);
        if (!g->zones[i])
            test_skip("the system has no time zone files");
        CHECK_OK(rung_zone_pack(g->zones[i], 946684800, packed, sizeof packed, &size));
        g->zone_rules[i] = keep_bytes(g, packed, size);
    }
}

/* Where windows are strange: clocks change in one of the zones, a year ends, week 53, a day is skipped. */
static const char *const places[] = {
    "2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", "2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z",
    "2026-04-04T15:00:00Z", "2026-10-03T15:30:00Z", "2026-12-31T23:00:00Z", "2020-12-31T22:00:00Z",
    "2027-01-03T12:00:00Z", "2011-12-30T10:00:00Z", "2024-02-29T12:00:00Z", "2026-11-15T14:00:00Z",
    "2037-12-31T20:00:00Z",
};

static void name_players(history_gen *g) {
    for (uint32_t i = 0; i < g->taste.player_count; i++) {
        rung_slice *name = &g->taste.players[i];
        if (i % 17 == 3)
            *name = history_text(g, "\xc3\xa4-%u", i);
        else if (i % 29 == 5)
            *name = text_of_length(g, (char)('a' + i % 26), RUNG_NAME_MAX);
        else
            *name = history_text(g, "p%u", i * 7 % g->taste.player_count);
    }
}

static void choose_taste(history_gen *g) {
    history_taste *t = &g->taste;
    static const uint32_t crowds[] = {4, 8, 12, 20, 30, 50};
    static const int64_t paces[] = {200, 5000, 60000, 10 * 60000, HOUR_MS, 8 * HOUR_MS};
    static const uint32_t capacities[] = {1, 3, 10, 50, 100000, 100000};
    static const int64_t keeps[] = {10 * 60000, HOUR_MS, DAY_MS, DAY_MS};
    t->player_count = chance(g, 8) ? 150 + below(g, HISTORY_PLAYERS_MAX - 150) : PICK(g, crowds);
    t->board_count = t->player_count > 100 ? 1 : 1 + below(g, HISTORY_BOARDS_MAX);
    t->pace_ms = PICK(g, paces);
    t->id_capacity = PICK(g, capacities);
    t->id_keep_ms = PICK(g, keeps);
    t->score_percent = t->player_count > 100 ? 93 : 60 + below(g, 25);
    t->is_plain = chance(g, 30);
    t->is_fickle = chance(g, 20);
    if (t->is_fickle) { /* few players and fewer scores, so that everything meets everything */
        t->player_count = 4 + below(g, 5);
        t->board_count = 1;
        t->score_percent = 35;
    }
    rung_slice place = rung_slice_str(PICK(g, places));
    CHECK_OK(rung_time_parse(place, &t->start_ms, NULL));
    t->start_ms -= between(g, 0, 60 * t->pace_ms);
    name_players(g);
    static const char *const boards[HISTORY_BOARDS_MAX] = {"race", "kills", "b", "z\xc3\xb6"};
    for (uint32_t i = 0; i < HISTORY_BOARDS_MAX; i++)
        t->boards[i] = rung_slice_str(boards[i]);
}

history_gen *history_gen_create(uint64_t seed) {
    history_gen *g = calloc(1, sizeof *g);
    CHECK(g);
    rung_rng_seed(&g->rng, rung_hash_word(seed));
    load_zones(g);
    choose_taste(g);
    g->time_ms = g->taste.start_ms;
    static const uint64_t rules_steps[] = {0, 0, 40, UINT64_MAX};
    g->rules_step = rules_steps[seed % COUNT_OF(rules_steps)];
    return g;
}

void history_gen_destroy(history_gen *g) {
    for (uint32_t i = 0; i < ZONES; i++)
        rung_zone_destroy(g->zones[i]);
    for (text *t = g->texts, *next; t; t = next) {
        next = t->next;
        free(t);
    }
    free(g);
}

rung_slice history_player(history_gen *g) {
    if (chance(g, 2))
        return RUNG_SLICE("nobody");
    /* Few play much, many play little. */
    uint32_t n = g->taste.player_count;
    return g->taste.players[chance(g, 50) ? below(g, 1 + n / 3) : below(g, n)];
}

rung_slice history_attribute_value(history_gen *g, rung_slice name) {
    static const char *const countries[] = {"FI", "SE", "US", "DE"}, *const guilds[] = {
                                                                         "red", "blue", "r", "reds",
                                                                         "gr\xc3\xbcn"};
    static const char *const platforms[] = {"pc", "phone"};
    if (name.ptr[0] == 'c')
        return rung_slice_str(PICK(g, countries));
    if (name.ptr[0] == 'p')
        return rung_slice_str(PICK(g, platforms));
    if (chance(g, 4))
        return text_of_length(g, 'L', RUNG_NAME_MAX + below(g, 2));
    return rung_slice_str(PICK(g, guilds));
}

/* ---- times ---- */

static const rung_zone *zone_of(const history_gen *g, const rung_board_def *def) {
    for (uint32_t i = 1; i < ZONES; i++)
        if (def && rung_slice_eq(def->zone_rules, g->zone_rules[i]))
            return g->zones[i];
    return NULL;
}

static rung_window window_near(history_gen *g, const rung_board_def *def, uint32_t kind,
                               int64_t at) {
    rung_window w;
    CHECK_OK(rung_window_at((rung_window_kind)kind, zone_of(g, def), def ? def->day_starts_min : 0,
                            at, &w));
    return w;
}

/* The end of a window or season that is open about now. */
static int64_t window_edge(history_gen *g, const rung_board_def *def, int64_t at) {
    if (def && def->season_count && chance(g, 30)) {
        const rung_season *s = &def->seasons[below(g, def->season_count)];
        return chance(g, 30) ? s->starts_ms : s->ends_ms;
    }
    rung_window w = window_near(g, def, 1 + below(g, 5), at);
    return chance(g, 30) ? w.start_ms : w.end_ms;
}

int64_t history_instant(history_gen *g, const rung_board_def *def) {
    int64_t t = g->time_ms;
    switch (below(g, 10)) {
    case 0:
        return t;
    case 1:
        return t - between(g, 0, 1000);
    case 2:
        return t + between(g, -2 * HOUR_MS, 2 * HOUR_MS);
    case 3:
        return t + between(g, -3 * DAY_MS, 3 * DAY_MS);
    case 4:
        return t + between(g, -30 * DAY_MS, 30 * DAY_MS);
    case 5:
        return t - between(g, 0, 500 * DAY_MS);
    case 6:
    case 7:
        return window_edge(g, def, t) + between(g, -1, 1);
    case 8:
        return window_edge(g, def, t + between(g, -3 * DAY_MS, 3 * DAY_MS)) + between(g, -1, 1);
    default:
        return t - between(g, 0, 5) * 1000; /* few distinct times: ties */
    }
}

static uint32_t recent_index(history_gen *g) {
    return below(g, g->recent_count < RECENT_MAX ? g->recent_count : RECENT_MAX);
}

/* The time the next event is taken in: mostly onwards, now and then back, far ahead, or to the very edge of a
 * window. */
static int64_t next_ts(history_gen *g) {
    int64_t t = g->time_ms, pace = g->taste.pace_ms;
    uint32_t dice = below(g, 100);
    if (dice < 20)
        return t;
    if (dice < 24)
        return t - between(g, 0, 10 * pace);
    if (dice < 26)
        return t + between(g, 0, 100 * pace);
    if (dice < 32) {
        uint32_t i = below(g, g->taste.board_count);
        const rung_board_def *def = history_def(g, i);
        int64_t edge = window_edge(g, def, t) + (def ? def->grace_ms : 0) + between(g, -1, 1);
        if (edge > t && edge - t < 200 * pace)
            return edge;
    }
    if (dice == 32 && g->recent_count) { /* the moment an id is forgotten */
        int64_t edge = g->recent_ms[recent_index(g)] + g->taste.id_keep_ms + between(g, -1, 1);
        if (edge > t)
            return edge;
    }
    return t + between(g, 0, 2 * pace);
}

/* ---- values ---- */

static int64_t integer_value(history_gen *g) {
    static const int64_t extremes[] = {INT64_MAX,     INT64_MIN,        INT64_MAX - 1,
                                       INT64_MIN + 1, INT64_C(1) << 53, (INT64_C(1) << 53) + 1};
    if (!g->taste.is_plain && chance(g, 3))
        return PICK(g, extremes);
    return chance(g, 80) ? between(g, -2, 12) : between(g, -1000, 1000);
}

static double real_value(history_gen *g, bool may_be_infinite) {
    static const double extremes[] = {1e308, -1e308,        5e-324, 1e300,  0.1,
                                      -0.0,  123456789.125, 0x1p80, -0x1p81};
    if (!g->taste.is_plain && chance(g, 5))
        return PICK(g, extremes);
    if (may_be_infinite && !g->taste.is_plain && chance(g, 1))
        return chance(g, 50) ? HUGE_VAL : -HUGE_VAL;
    return chance(g, 80) ? (double)between(g, -2, 12) / 4 : rung_rng_double(&g->rng) * 100;
}

static double decay_value(history_gen *g) {
    static const double extremes[] = {1e-300, 1e300, 0.0, -1.0, 5e-324};
    if (!g->taste.is_plain && chance(g, 3))
        return PICK(g, extremes);
    return (double)between(g, 1, 10) / 2;
}

rung_value history_value(history_gen *g, const rung_board_def *def, const rung_column *column) {
    if (def->update == RUNG_UPDATE_DECAY)
        return (rung_value){.d = decay_value(g)};
    if (column->type == RUNG_SCORE_REAL)
        return (rung_value){.d = real_value(g, def->update != RUNG_UPDATE_SUM)};
    return (rung_value){.i = integer_value(g)};
}

/* ---- definitions ---- */

static rung_column random_column(history_gen *g) {
    rung_column c = {(rung_score_type)below(g, 3), (rung_score_order)below(g, 2), 0};
    if (c.type == RUNG_SCORE_DECIMAL)
        c.decimals = below(g, RUNG_DECIMALS_MAX + 1);
    return c;
}

static void random_score(history_gen *g, rung_board_def *d) {
    static const rung_update updates[] = {RUNG_UPDATE_BEST, RUNG_UPDATE_BEST,  RUNG_UPDATE_BEST,
                                          RUNG_UPDATE_LAST, RUNG_UPDATE_LAST,  RUNG_UPDATE_SUM,
                                          RUNG_UPDATE_SUM,  RUNG_UPDATE_COUNT, RUNG_UPDATE_DECAY};
    static const char *const names[] = {"time", "kills"};
    static const int64_t half_lives[] = {60000, HOUR_MS, 12345678, DAY_MS, 30 * DAY_MS};
    d->update = PICK(g, updates);
    d->key.tie = (rung_tie)below(g, 4);
    d->key.column_count = chance(g, 60) ? 1 : 1 + below(g, RUNG_COLUMNS_MAX);
    if (d->update == RUNG_UPDATE_COUNT || d->update == RUNG_UPDATE_DECAY)
        d->key.column_count = 1;
    for (uint32_t i = 0; i < d->key.column_count; i++) {
        d->key.columns[i] = random_column(g);
        if (i)
            d->column_names[i - 1] = rung_slice_str(names[i - 1]);
    }
    if (d->update == RUNG_UPDATE_COUNT)
        d->key.columns[0] = (rung_column){RUNG_SCORE_INTEGER, (rung_score_order)below(g, 2), 0};
    if (d->update == RUNG_UPDATE_DECAY) {
        d->key.columns[0] = (rung_column){RUNG_SCORE_REAL, RUNG_ORDER_DESC, 0};
        d->half_life_ms = PICK(g, half_lives);
    }
}

static rung_season random_season(history_gen *g) {
    static const char *const names[] = {"spring", "summer", "S3", "S4", "cup", "h\xc3\xb6st"};
    rung_season s = {.name = rung_slice_str(PICK(g, names))};
    int64_t reach = 50 * g->taste.pace_ms;
    s.starts_ms = g->time_ms + between(g, -reach, reach / 2);
    s.ends_ms = s.starts_ms + 1 + between(g, 0, 2 * reach);
    return s;
}

static bool has_season(const rung_board_def *d, rung_slice name) {
    for (uint32_t i = 0; i < d->season_count; i++)
        if (rung_slice_eq(d->seasons[i].name, name))
            return true;
    return false;
}

static void add_season(history_gen *g, rung_board_def *d) {
    rung_season s = random_season(g);
    if (has_season(d, s.name) || d->season_count == RUNG_SEASONS_MAX)
        return;
    if (d->season_count && chance(g, 20) && s.starts_ms < d->seasons[0].ends_ms)
        s.ends_ms = d->seasons[0].ends_ms; /* two that end together */
    d->seasons[d->season_count++] = s;
}

/* So many that not all fit the list in an outcome. */
static void add_many_seasons(history_gen *g, rung_board_def *d) {
    for (uint32_t i = 0; i < 15; i++) {
        rung_season s = random_season(g);
        s.name = history_text(g, "season-%u", i);
        if (!has_season(d, s.name))
            d->seasons[d->season_count++] = s;
    }
}

static void random_windows(history_gen *g, rung_board_def *d) {
    d->windows = below(g, RUNG_WINDOWS_MASK + 1);
    if (chance(g, 60))
        d->windows |= RUNG_WINDOWS_ALL;
    if (!d->windows && !d->season_count)
        d->windows = RUNG_WINDOWS_ALL;
}

static void random_zone(history_gen *g, rung_board_def *d) {
    static const int32_t starts[] = {0, 0, 0, 240, 1439, 720};
    uint32_t zone = below(g, ZONES);
    d->zone_name = g->zone_names[zone];
    d->zone_rules = g->zone_rules[zone];
    d->day_starts_min =
        chance(g, 80) ? PICK(g, starts) : (int32_t)below(g, RUNG_DAY_STARTS_MAX + 1);
}

static void random_grace(history_gen *g, rung_board_def *d) {
    const int64_t graces[] = {0, 0, 0, 1, 60000, HOUR_MS, DAY_MS, 10 * g->taste.pace_ms};
    d->grace_ms = PICK(g, graces);
}

static void random_scopes(history_gen *g, rung_board_def *d) {
    static const char *const names[] = {"country", "guild", "platform"};
    uint32_t first = below(g, 3);
    d->scope_count = below(g, 4);
    for (uint32_t i = 0; i < d->scope_count; i++)
        d->scopes[i] = rung_slice_str(names[(first + i) % 3]);
}

static void random_teams(history_gen *g, rung_board_def *d) {
    d->has_teams = chance(g, 60);
    d->team_by = (rung_slice){0};
    d->team_combine = RUNG_COMBINE_SUM;
    d->team_top = 0;
    if (!d->has_teams)
        return;
    d->team_by = rung_slice_str(chance(g, 70) ? "guild" : "country");
    d->team_combine = (rung_combine)below(g, 3);
    if (d->team_combine == RUNG_COMBINE_TOP)
        d->team_top = 1 + below(g, 4);
}

static void random_limits(history_gen *g, rung_board_def *d) {
    d->limits = 0;
    d->min = d->max = d->max_step = (rung_value){0};
    d->per_player_per_minute = 0;
    d->z_score = 0;
    if (chance(g, 65))
        return;
    d->limits = below(g, 32);
    if (d->update == RUNG_UPDATE_COUNT)
        d->limits &= RUNG_LIMIT_RATE;
    bool is_real = d->key.columns[0].type == RUNG_SCORE_REAL;
    int64_t low = between(g, -3, 2), high = between(g, 8, 900), step = between(g, 0, 12);
    if (d->limits & RUNG_LIMIT_MIN)
        d->min = is_real ? (rung_value){.d = (double)low / 4} : (rung_value){.i = low};
    if (d->limits & RUNG_LIMIT_MAX)
        d->max = is_real ? (rung_value){.d = (double)high / 4} : (rung_value){.i = high};
    if (d->limits & RUNG_LIMIT_STEP)
        d->max_step = is_real ? (rung_value){.d = (double)step / 4} : (rung_value){.i = step};
    if (d->limits & RUNG_LIMIT_RATE)
        d->per_player_per_minute = 1 + below(g, 4);
    if (d->limits & RUNG_LIMIT_Z)
        d->z_score = (double)between(g, 1, 40) / 7;
}

static void random_rule(history_gen *g, rung_board_def *d, rung_board_rule *r) {
    static const rung_rule rules[] = {
        RUNG_RULE_SUBMISSIONS, RUNG_RULE_MIN,       RUNG_RULE_MAX,
        RUNG_RULE_STEP,        RUNG_RULE_Z,         RUNG_RULE_Z_PLAYER,
        RUNG_RULE_FIRST_MIN,   RUNG_RULE_FIRST_MAX, RUNG_RULE_MAX_RATE};
    bool is_real = d->key.columns[0].type == RUNG_SCORE_REAL;
    uint32_t kinds = d->update == RUNG_UPDATE_COUNT              ? 1
                     : d->key.columns[0].order == RUNG_ORDER_ASC ? COUNT_OF(rules) - 1
                                                                 : COUNT_OF(rules);
    *r = (rung_board_rule){.rule = rules[below(g, kinds)],
                           .action = chance(g, 60) ? RUNG_ACTION_FLAG : RUNG_ACTION_REFUSE};
    int64_t score = r->rule == RUNG_RULE_MIN || r->rule == RUNG_RULE_FIRST_MIN ? between(g, -3, 4)
                    : r->rule == RUNG_RULE_STEP                                ? between(g, 0, 12)
                                                                               : between(g, 4, 300);
    if (rung_rule_measure(r->rule) == RUNG_MEASURE_SCORE)
        r->value = is_real ? (rung_value){.d = (double)score / 4} : (rung_value){.i = score};
    else if (rung_rule_measure(r->rule) == RUNG_MEASURE_INTEGER)
        r->value.i = between(g, 1, 6);
    else
        r->value.d = (double)between(g, 1, 60) / 7;
    if (r->rule == RUNG_RULE_MAX_RATE)
        r->per_ms = chance(g, 50) ? 1000 : between(g, 1000, 3600000);
    if (r->rule == RUNG_RULE_SUBMISSIONS)
        r->per_ms = chance(g, 50) ? 60000 : 3600000;
}

static void random_rules(history_gen *g, rung_board_def *d) {
    d->rule_count = g->has_no_rules || chance(g, 60) ? 0 : 1 + below(g, 4);
    memset(d->rules, 0, sizeof d->rules);
    for (uint32_t i = 0; i < d->rule_count; i++) {
        random_rule(g, d, &d->rules[i]);
        for (uint32_t k = 0; k < i; k++) /* one period for all */
            if (d->rules[k].rule == RUNG_RULE_SUBMISSIONS &&
                d->rules[i].rule == RUNG_RULE_SUBMISSIONS)
                d->rules[i].per_ms = d->rules[k].per_ms;
    }
}

static void random_keep(history_gen *g, rung_board_def *d) {
    d->keep = below(g, 4);
    d->keep_kinds = chance(g, 30) ? below(g, 128) & RUNG_KEEP_KINDS_MASK : 0;
    for (uint32_t kind = 0; kind <= RUNG_WINDOW_SEASON; kind++)
        d->keep_of[kind] = d->keep_kinds >> kind & 1 ? below(g, 4) : 0;
}

static rung_board_def random_def(history_gen *g) {
    rung_board_def d = rung_board_def_default();
    random_score(g, &d);
    d.rank = (rung_rank_style)below(g, 3);
    for (uint32_t i = below(g, 4); i > 0; i--)
        add_season(g, &d);
    if (chance(g, 3))
        add_many_seasons(g, &d);
    random_windows(g, &d);
    random_zone(g, &d);
    random_grace(g, &d);
    random_keep(g, &d);
    random_scopes(g, &d);
    random_teams(g, &d);
    random_limits(g, &d);
    random_rules(g, &d);
    return d;
}

/* One change that is allowed. */
static void change_def(history_gen *g, rung_board_def *d) {
    switch (g->taste.is_fickle && chance(g, 50) ? 9 + below(g, 2)
                                                : below(g, g->has_no_rules ? 12 : 13)) {
    case 0:
        d->title = history_text(g, "title %u", below(g, 3));
        break;
    case 1:
        d->rank = (rung_rank_style)below(g, 3);
        break;
    case 2:
        random_windows(g, d);
        break;
    case 3:
        d->windows ^= RUNG_WINDOWS_BIT(below(g, 6));
        if (!d->windows && !d->season_count)
            d->windows = RUNG_WINDOWS_ALL;
        break;
    case 4:
        add_season(g, d);
        break;
    case 5:
        if (d->season_count && (d->windows || d->season_count > 1))
            d->seasons[below(g, d->season_count)] = d->seasons[d->season_count - 1],
                                d->season_count--;
        break;
    case 6:
        if (d->season_count) { /* other dates */
            rung_season *s = &d->seasons[below(g, d->season_count)];
            rung_slice name = s->name;
            *s = random_season(g);
            s->name = name;
        }
        break;
    case 7:
        random_zone(g, d);
        break;
    case 8:
        random_grace(g, d);
        random_keep(g, d);
        break;
    case 9:
        random_scopes(g, d);
        break;
    case 10:
        random_teams(g, d);
        break;
    case 12:
        random_rules(g, d);
        break;
    default:
        random_limits(g, d);
        break;
    }
}

/* One change that is refused: the board has data that would change its meaning. */
static void break_def(history_gen *g, rung_board_def *d) {
    switch (below(g, 4)) {
    case 0:
        d->key.tie = (rung_tie)((d->key.tie + 1) % 4);
        break;
    case 1:
        if (d->update == RUNG_UPDATE_DECAY)
            d->half_life_ms += 60000;
        else
            d->key.columns[0].order =
                d->key.columns[0].order == RUNG_ORDER_ASC ? RUNG_ORDER_DESC : RUNG_ORDER_ASC;
        break;
    case 2:
        if (d->update == RUNG_UPDATE_BEST || d->update == RUNG_UPDATE_LAST)
            d->update = d->update == RUNG_UPDATE_BEST ? RUNG_UPDATE_LAST : RUNG_UPDATE_BEST;
        else
            d->key.tie = (rung_tie)((d->key.tie + 1) % 4);
        break;
    default:
        random_score(g, d);
        d->rule_count = 0;
        d->limits = 0;
        d->min = d->max = d->max_step = (rung_value){0};
        d->per_player_per_minute = 0;
        d->z_score = 0;
        break;
    }
}

/* ---- events ---- */

/* Board number i; one in fifty is none of ours. */
static rung_slice some_board(history_gen *g, uint32_t i) {
    return chance(g, 2) ? RUNG_SLICE("nowhere") : g->taste.boards[i];
}

static void defined_event(history_gen *g, uint32_t i, rung_event *out) {
    out->kind = RUNG_EVENT_BOARD_DEFINED;
    out->defined.board = g->taste.boards[i];
    if (!g->is_defined[i]) {
        g->is_defined[i] = true;
        g->defs[i] = random_def(g);
        if (g->taste.player_count > 100 && g->defs[i].update != RUNG_UPDATE_COUNT) {
            g->defs[i].windows |= RUNG_WINDOWS_ALL; /* a crowd, so that there are quartiles */
            g->defs[i].limits |= RUNG_LIMIT_Z;
            g->defs[i].z_score = (double)between(g, 3, 30) / 7;
        }
        out->defined.def = g->defs[i];
        return;
    }
    rung_board_def d = g->defs[i];
    bool is_broken = chance(g, 12);
    if (is_broken)
        break_def(g, &d);
    for (uint32_t n = is_broken ? 0 : below(g, 4); n > 0; n--)
        change_def(g, &d);
    out->defined.def = d;
    if (!is_broken)
        g->defs[i] = d;
}

static void deleted_event(history_gen *g, uint32_t i, rung_event *out) {
    out->kind = RUNG_EVENT_BOARD_DELETED;
    out->deleted.board = some_board(g, i);
    if (rung_slice_eq(out->deleted.board, g->taste.boards[i]))
        g->is_defined[i] = false;
}

static int64_t id_time(history_gen *g) {
    int64_t t = g->time_ms, keep = g->taste.id_keep_ms;
    switch (below(g, 9)) {
    case 8:
        return (g->recent_count ? g->recent_ms[recent_index(g)] : t) + between(g, -1, 2);
    case 0:
        return t - keep + between(g, -2, 2);
    case 1:
        return t + keep + between(g, -2, 2);
    case 2:
        return t - between(g, 0, 2 * keep);
    case 3:
        return t + between(g, 0, chance(g, 50) ? 120000 : 2 * keep);
    default:
        return t - between(g, 0, 2000);
    }
}

static rung_slice fresh_id(history_gen *g) {
    uint64_t bits = rung_rng_next(&g->rng);
    switch (below(g, 4)) {
    case 0: {
        uint64_t ms = (uint64_t)id_time(g);
        return history_text(g, "%08x-%04x-7%03x-%04x-%012llx", (unsigned)(ms >> 16),
                            (unsigned)(ms & 0xffff), (unsigned)(bits & 0xfff),
                            0x8000 | (unsigned)(bits >> 12 & 0x3fff),
                            (unsigned long long)(bits >> 16));
    }
    case 1: {
        static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        char ulid[26];
        uint64_t ms = (uint64_t)id_time(g);
        for (int i = 9; i >= 0; i--, ms /= 32)
            ulid[i] = digits[ms % 32];
        for (int i = 10; i < 26; i++, bits = bits >> 4 | bits << 60)
            ulid[i] = digits[bits % 32];
        return keep_bytes(g, ulid, sizeof ulid);
    }
    case 2:
        return history_text(g, "%064u", ++g->serial);
    default:
        return history_text(g, "id-%u", chance(g, 30) ? below(g, 40) : 1000 + ++g->serial);
    }
}

static void remember_recent(history_gen *g, const rung_score_event *e) {
    g->recent_ms[g->recent_count % RECENT_MAX] = g->time_ms;
    g->recent[g->recent_count++ % RECENT_MAX] = *e;
}

/* A submission seen before: the same, or its id with another body. */
static void repeat_score(history_gen *g, rung_score_event *e) {
    *e = g->recent[recent_index(g)];
    if (chance(g, 60))
        return;
    switch (below(g, 5)) {
    case 0:
        e->player = history_player(g);
        break;
    case 1:
        e->has_at = !e->has_at;
        e->at_ms = e->has_at ? g->time_ms : 0;
        break;
    case 2:
        e->meta = history_text(g, "other");
        break;
    case 3:
        e->is_delta = !e->is_delta;
        break;
    default:
        if (e->value_count && e->types[0] != RUNG_SCORE_REAL)
            e->values[0].i ^= 1;
        break;
    }
}

static void spoil_score(history_gen *g, rung_score_event *e) {
    switch (below(g, 6)) {
    case 5:
        e->player = (rung_slice){0};
        break;
    case 0:
        e->value_count = e->value_count == RUNG_COLUMNS_MAX ? 1 : e->value_count + 1;
        e->types[e->value_count - 1] = RUNG_SCORE_INTEGER;
        e->decimals[e->value_count - 1] = 0;
        e->values[e->value_count - 1].i = 5;
        break;
    case 1:
        if (!e->value_count)
            break;
        e->types[0] = e->types[0] == RUNG_SCORE_INTEGER ? RUNG_SCORE_REAL : RUNG_SCORE_INTEGER;
        e->decimals[0] = 0;
        e->values[0].i = 0;
        break;
    case 2:
        if (e->value_count && e->types[0] == RUNG_SCORE_DECIMAL)
            e->decimals[0] = (uint8_t)((e->decimals[0] + 1) % (RUNG_DECIMALS_MAX + 1));
        break;
    case 3:
        if (e->value_count && e->types[0] == RUNG_SCORE_REAL)
            e->values[0].d = (double)NAN;
        break;
    default:
        if (e->value_count)
            e->value_count--;
        break;
    }
}

/* The next offset of a source, one of the last ones again, or one at the edge of what is remembered. */
static void take_from_source(history_gen *g, rung_score_event *e) {
    uint32_t i = below(g, SOURCES);
    uint64_t next = g->source_next[i], back = below(g, chance(g, 50) ? 8 : RUNG_SOURCE_WINDOW + 4);
    e->source = history_text(g, "topic/%u", i);
    e->offset = chance(g, 60) ? next : next > back ? next - back : 0;
    if (chance(g, 3))
        e->offset = next + below(g, 2 * RUNG_SOURCE_WINDOW);
    if (e->offset >= next)
        g->source_next[i] = e->offset + 1;
}

static void score_event(history_gen *g, uint32_t i, rung_event *out) {
    out->kind = RUNG_EVENT_SCORE;
    rung_score_event *e = &out->score;
    if (g->recent_count && chance(g, 8)) {
        repeat_score(g, e);
        return;
    }
    const rung_board_def *d = &g->defs[i]; /* also when deleted: then it fits nothing */
    *e = (rung_score_event){.board = some_board(g, i), .player = history_player(g)};
    e->is_delta = chance(g, 20);
    e->has_at = chance(g, 60);
    if (e->has_at)
        e->at_ms = history_instant(g, d);
    e->value_count = d->key.column_count;
    if (d->update == RUNG_UPDATE_COUNT && chance(g, 60))
        e->value_count = 0;
    for (uint32_t k = 0; k < e->value_count; k++) {
        e->types[k] = (uint8_t)d->key.columns[k].type;
        e->decimals[k] = (uint8_t)d->key.columns[k].decimals;
        e->values[k] = history_value(g, d, &d->key.columns[k]);
    }
    if (chance(g, 10))
        e->meta = history_text(g, "{\"level\":%u}", below(g, 3));
    if (chance(g, 30))
        e->id = chance(g, 10) && g->recent_count ? g->recent[0].id : fresh_id(g);
    if (chance(g, 20))
        take_from_source(g, e);
    if (chance(g, 3) && rung_slice_eq(e->board, g->taste.boards[i]))
        spoil_score(g, e);
    else if (e->id.len)
        remember_recent(g, e);
}

static void profile_event(history_gen *g, rung_event *out) {
    static const char *const names[] = {"country", "guild", "name",
                                        "platform"}; /* ascending, as the contract wants */
    out->kind = RUNG_EVENT_PLAYER_SET;
    out->profile.player = history_player(g);
    out->profile.count = 0;
    for (uint32_t i = 0; i < COUNT_OF(names); i++)
        if (chance(g, 75)) {
            rung_slice name = rung_slice_str(names[i]);
            out->profile.attributes[out->profile.count++] =
                (rung_attribute){name, i == 2 ? text_of_length(g, 'n', 1 + below(g, 200))
                                              : history_attribute_value(g, name)};
        }
}

static void friend_event(history_gen *g, rung_event *out) {
    if (chance(g, 80)) {
        out->kind = chance(g, 65) ? RUNG_EVENT_FRIEND_ADDED : RUNG_EVENT_FRIEND_REMOVED;
        out->friend.player = history_player(g);
        do
            out->friend.other = history_player(g);
        while (rung_slice_eq(out->friend.other, out->friend.player));
        out->friend.follow = chance(g, 40);
        return;
    }
    out->kind = RUNG_EVENT_FRIENDS_REPLACED;
    out->friends.player = history_player(g);
    out->friends.follow = chance(g, 40);
    out->friends.count = 0;
    char packed[16 * (RUNG_NAME_MAX + 1)];
    size_t len = 0;
    uint32_t start = below(g, g->taste.player_count);
    for (uint32_t i = 0, n = below(g, 12); i < n; i++) {
        rung_slice name = g->taste.players[(start + 3 * i) % g->taste.player_count];
        if (rung_slice_eq(name, out->friends.player) || i * 3 >= g->taste.player_count)
            continue;
        packed[len++] = (char)name.len;
        memcpy(packed + len, name.ptr, name.len);
        len += name.len;
        out->friends.count++;
    }
    out->friends.packed = keep_bytes(g, packed, len);
}

static void window_event(history_gen *g, uint32_t i, rung_event *out) {
    const rung_board_def *d = &g->defs[i];
    out->kind = chance(g, 50) ? RUNG_EVENT_WINDOW_OPENED : RUNG_EVENT_WINDOW_CLOSED;
    out->window.board = some_board(g, i);
    if (d->season_count && chance(g, 35)) {
        out->window.season = chance(g, 90) ? d->seasons[below(g, d->season_count)].name
                                           : RUNG_SLICE("no such season");
        return;
    }
    uint32_t kind = 1 + below(g, 5);
    for (uint32_t tries = 0; tries < 6 && !(d->windows & RUNG_WINDOWS_BIT(kind)); tries++)
        kind = 1 + below(g, 5);
    out->window.kind = kind;
    out->window.ordinal =
        window_near(g, d, kind, g->time_ms).ordinal + (chance(g, 60) ? 0 : between(g, -3, 3));
}

static void ban_event(history_gen *g, rung_event *out) {
    out->kind = chance(g, 50) ? RUNG_EVENT_BANNED : RUNG_EVENT_UNBANNED;
    out->ban.is_shadow = out->kind == RUNG_EVENT_BANNED && chance(g, 40);
    /* Among few, so that bans also end. */
    out->ban.player = chance(g, 80) ? g->taste.players[below(g, 1 + g->taste.player_count / 5)]
                                    : history_player(g);
    if (chance(g, 30))
        out->ban.reason = history_text(g, "cheating");
}

static void other_event(history_gen *g, uint32_t i, rung_event *out) {
    uint32_t dice = below(g, 100);
    if (dice < 18) {
        out->kind = RUNG_EVENT_TICK;
    } else if (dice < 32) {
        ban_event(g, out);
    } else if (dice < 40) {
        out->kind = RUNG_EVENT_ENTRY_REMOVED;
        out->removed.board = some_board(g, i);
        out->removed.player = history_player(g);
    } else if (dice < 45) {
        out->kind = RUNG_EVENT_PLAYER_ERASED;
        out->erased.player = history_player(g);
    } else if (dice < 62) {
        profile_event(g, out);
    } else if (dice < 76) {
        friend_event(g, out);
    } else if (dice < 83) {
        window_event(g, i, out);
    } else if (dice < 98) {
        defined_event(g, i, out);
    } else {
        deleted_event(g, i, out);
    }
}

void history_gen_without_rules(history_gen *g) {
    g->has_no_rules = true;
}

void history_gen_next(history_gen *g, rung_event *out) {
    memset(out, 0, sizeof *out);
    out->ts_ms = next_ts(g);
    g->time_ms = out->ts_ms > g->time_ms ? out->ts_ms : g->time_ms;
    if (g->steps++ == g->rules_step) {
        out->kind = RUNG_EVENT_RULES_SET;
        out->rules.level = RUNG_RULES_LEVEL;
        return;
    }
    if (g->steps % 200 == 0) {
        out->kind = RUNG_EVENT_ACCESS_SET;
        out->access.has_keys = chance(g, 50);
        return;
    }
    uint32_t i = below(g, g->taste.board_count);
    if (!g->is_defined[i] && chance(g, 85))
        defined_event(g, i, out);
    else if (chance(g, g->taste.score_percent))
        score_event(g, i, out);
    else
        other_event(g, i, out);
}

/* ---- printing ---- */

static void print_slice(FILE *file, const char *label, rung_slice s) {
    if (s.len)
        fprintf(file, " %s=%.*s", label, (int)(s.len < 80 ? s.len : 80), s.ptr);
}

static void print_time(FILE *file, const char *label, int64_t ms) {
    char out[RUNG_TIME_TEXT_MAX];
    if (ms >= RUNG_TIME_MS_MIN && ms < RUNG_TIME_MS_END)
        fprintf(file, " %s=%.*s", label, (int)rung_time_format(ms, out), out);
    else
        fprintf(file, " %s=%" PRId64, label, ms);
}

static void print_score(FILE *file, const rung_score_event *e) {
    print_slice(file, "board", e->board);
    print_slice(file, "player", e->player);
    fprintf(file, "%s (", e->is_delta ? " delta" : "");
    for (uint32_t i = 0; i < e->value_count; i++) {
        rung_column c = {(rung_score_type)e->types[i], RUNG_ORDER_DESC, e->decimals[i]};
        char out[RUNG_SCORE_TEXT_MAX] = "NaN";
        int len = 3;
        if (c.type != RUNG_SCORE_REAL || !isnan(e->values[i].d))
            len = (int)rung_score_format(&c, e->values[i], out);
        fprintf(file, "%s%.*s", i ? " " : "", len, out);
    }
    fprintf(file, ")");
    if (e->has_at)
        print_time(file, "at", e->at_ms);
    print_slice(file, "id", e->id);
    print_slice(file, "meta", e->meta);
    print_slice(file, "source", e->source);
    if (e->source.len)
        fprintf(file, " offset=%" PRIu64, e->offset);
}

static void print_def(FILE *file, const rung_board_def *d) {
    static const char *const updates[] = {"best", "last", "sum", "count", "decay"},
                             *const ties[] = {"first", "last", "player", "player_desc"};
    static const char *const ranks[] = {"unique", "sparse", "dense"}, *const types[] = {"integer",
                                                                                        "decimal",
                                                                                        "real"};
    static const char *const kinds[] = {"all", "hour", "day", "week", "month", "year"},
                             *const combines[] = {"sum", "mean", "top"};
    fprintf(file, " %s tie:%s rank:%s", updates[d->update], ties[d->key.tie], ranks[d->rank]);
    for (uint32_t i = 0; i < d->key.column_count; i++)
        fprintf(file, " %s.%u/%s", types[d->key.columns[i].type], d->key.columns[i].decimals,
                d->key.columns[i].order == RUNG_ORDER_ASC ? "asc" : "desc");
    if (d->half_life_ms)
        fprintf(file, " half_life=%" PRId64, d->half_life_ms);
    for (uint32_t kind = 0; kind < 6; kind++)
        if (d->windows & RUNG_WINDOWS_BIT(kind))
            fprintf(file, " %s", kinds[kind]);
    for (uint32_t i = 0; i < d->season_count; i++) {
        print_slice(file, "season", d->seasons[i].name);
        print_time(file, "from", d->seasons[i].starts_ms);
        print_time(file, "to", d->seasons[i].ends_ms);
    }
    print_slice(file, "zone", d->zone_name);
    fprintf(file, " day_starts=%d grace=%" PRId64 " keep=%u", d->day_starts_min, d->grace_ms,
            d->keep);
    for (uint32_t kind = 0; kind <= RUNG_WINDOW_SEASON; kind++)
        if (d->keep_kinds >> kind & 1)
            fprintf(file, " keep.%s=%u", rung_window_words[kind], d->keep_of[kind]);
    for (uint32_t i = 0; i < d->scope_count; i++)
        print_slice(file, "scope", d->scopes[i]);
    if (d->has_teams) {
        print_slice(file, "teams", d->team_by);
        fprintf(file, ":%s%u", combines[d->team_combine], d->team_top);
    }
    bool is_real = d->key.columns[0].type == RUNG_SCORE_REAL;
    const rung_value limits[] = {d->min, d->max, d->max_step};
    static const char *const names[] = {"min", "max", "max_step"};
    for (uint32_t i = 0; i < 3; i++)
        if (d->limits & 1u << i)
            fprintf(file, " %s=%g", names[i], is_real ? limits[i].d : (double)limits[i].i);
    if (d->limits & RUNG_LIMIT_RATE)
        fprintf(file, " rate=%u", d->per_player_per_minute);
    if (d->limits & RUNG_LIMIT_Z)
        fprintf(file, " z=%.17g", d->z_score);
    for (uint32_t i = 0; i < d->rule_count; i++)
        fprintf(file, " %s:%s:%.17g:%" PRId64 ":%" PRId64, rung_rule_words[d->rules[i].rule],
                rung_action_words[d->rules[i].action], d->rules[i].value.d, d->rules[i].value.i,
                d->rules[i].per_ms);
}

static void print_friends(FILE *file, const rung_event *e) {
    rung_slice packed = e->friends.packed, name;
    fprintf(file, "%s", e->friends.follow ? " follow" : "");
    while (rung_names_next(&packed, &name))
        print_slice(file, "friend", name);
}

void history_print(FILE *file, const rung_event *e) {
    fprintf(file, "%s", rung_event_kind_name(e->kind));
    print_time(file, "ts", e->ts_ms);
    switch (e->kind) {
    case RUNG_EVENT_BOARD_DEFINED:
        print_slice(file, "board", e->defined.board);
        print_def(file, &e->defined.def);
        break;
    case RUNG_EVENT_BOARD_DELETED:
        print_slice(file, "board", e->deleted.board);
        break;
    case RUNG_EVENT_SCORE:
        print_score(file, &e->score);
        break;
    case RUNG_EVENT_ENTRY_REMOVED:
        print_slice(file, "board", e->removed.board);
        print_slice(file, "player", e->removed.player);
        break;
    case RUNG_EVENT_PLAYER_SET:
        print_slice(file, "player", e->profile.player);
        for (uint32_t i = 0; i < e->profile.count; i++) {
            fprintf(file, " %.*s", (int)e->profile.attributes[i].name.len,
                    e->profile.attributes[i].name.ptr);
            print_slice(file, "", e->profile.attributes[i].value);
        }
        break;
    case RUNG_EVENT_PLAYER_ERASED:
        print_slice(file, "player", e->erased.player);
        break;
    case RUNG_EVENT_FRIEND_ADDED:
    case RUNG_EVENT_FRIEND_REMOVED:
        print_slice(file, "player", e->friend.player);
        print_slice(file, "other", e->friend.other);
        fprintf(file, "%s", e->friend.follow ? " follow" : "");
        break;
    case RUNG_EVENT_FRIENDS_REPLACED:
        print_slice(file, "player", e->friends.player);
        print_friends(file, e);
        break;
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
        print_slice(file, "player", e->ban.player);
        break;
    case RUNG_EVENT_WINDOW_OPENED:
    case RUNG_EVENT_WINDOW_CLOSED: {
        char id[RUNG_WINDOW_ID_MAX] = "";
        print_slice(file, "board", e->window.board);
        if (e->window.kind)
            rung_window_id_format((rung_window_kind)e->window.kind, e->window.ordinal, id);
        fprintf(file, " kind=%u %s", e->window.kind, id);
        print_slice(file, "season", e->window.season);
        break;
    }
    case RUNG_EVENT_TICK:
    case RUNG_EVENT_KEYS:
    case RUNG_EVENT_IDS_SET:
    case RUNG_EVENT_RULES_SET:
    case RUNG_EVENT_ACCESS_SET:
    case RUNG_EVENT_KEY_CHANGED:
    case RUNG_EVENT_BOARD_FILLED:
    case RUNG_EVENT_BOARD_SWAPPED:
    case RUNG_EVENT_SHADOW_DROPPED:
    case RUNG_EVENT_MATCH:
    case RUNG_EVENT_SESSION:
    case RUNG_EVENT_REVIEWED:
    case RUNG_EVENT_NOTED:
        break;
    }
    fprintf(file, "\n");
}
