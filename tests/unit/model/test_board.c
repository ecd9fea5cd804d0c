/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of a definition, with the field it blames; and its bytes: one spelling, no other accepted. */
#include "model/board.h"

#include "support/check.h"
#include "support/event_gen.h"

#include <math.h>
#include <stdlib.h>

#define NOT_A_NUMBER ((double)NAN) /* the macro is a float */

static uint8_t bytes[RUNG_BOARD_DEF_BYTES_MAX + 1], again[RUNG_BOARD_DEF_BYTES_MAX];
static event_gen gen;

/* ---- rules ------------------------------------------------------------------------------------------- */

static void check_refused(int line, const rung_board_def *def, const char *blame) {
    rung_err err = {0};
    size_t length = 77;
    test_status(__FILE__, line, blame, rung_board_def_check(def, &err), RUNG_EINVAL);
    if (strncmp(err.message, blame, strlen(blame)) != 0)
        test_fail(__FILE__, line, "the message is \"%s\", expected \"%s...\"", err.message, blame);
    test_status(__FILE__, line, "encode", rung_board_def_encode(def, bytes, sizeof bytes, &length),
                RUNG_EINVAL);
    test_eq_u64(__FILE__, line, "length", "77", length, 77);
}

static void check_accepted(int line, const rung_board_def *def) {
    rung_err err = {0};
    if (rung_board_def_check(def, &err) != RUNG_OK)
        test_fail(__FILE__, line, "refused: %s", err.message);
}

/* The default definition, changed by the statements after the first argument. */
#define REFUSED(blame, ...)                                                                        \
    do {                                                                                           \
        rung_board_def d = rung_board_def_default();                                               \
        __VA_ARGS__;                                                                               \
        check_refused(__LINE__, &d, blame);                                                        \
    } while (0)
#define ACCEPTED(...)                                                                              \
    do {                                                                                           \
        rung_board_def d = rung_board_def_default();                                               \
        __VA_ARGS__;                                                                               \
        check_accepted(__LINE__, &d);                                                              \
    } while (0)

/* `size` bytes of 'a'; the last of them `last`. */
static rung_slice text_of(size_t size, const char *last) {
    static char buffers[8][RUNG_ZONE_PACKED_MAX + 8];
    static unsigned turn;
    char *text = buffers[turn++ % 8];
    memset(text, 'a', size);
    memcpy(text + size - strlen(last), last, strlen(last));
    return rung_slice_of(text, size);
}

TEST(the_default_is_what_the_manual_says) {
    rung_board_def d = rung_board_def_default();
    CHECK_OK(rung_board_def_check(&d, NULL));
    CHECK_EQ_U64(d.key.column_count, 1);
    CHECK_EQ_U64(d.key.columns[0].type, RUNG_SCORE_INTEGER);
    CHECK_EQ_U64(d.key.columns[0].order, RUNG_ORDER_DESC);
    CHECK_EQ_U64(d.key.tie, RUNG_TIE_FIRST);
    CHECK_EQ_U64(d.update, RUNG_UPDATE_BEST);
    CHECK_EQ_U64(d.rank, RUNG_RANK_SPARSE);
    CHECK_EQ_U64(d.windows, RUNG_WINDOWS_ALL);
    CHECK_EQ_U64(d.keep, 2);
    CHECK_EQ_U64(d.zone_name.len + d.zone_rules.len, 0);
    CHECK_EQ_U64(d.writers, RUNG_WRITERS_SERVER);
}

TEST(names) {
    CHECK(rung_name_is_valid(RUNG_SLICE("a")));
    CHECK(rung_name_is_valid(RUNG_SLICE("J\xc3\xa4rvenp\xc3\xa4\xc3\xa4 \xf0\x9f\x8e\xae")));
    CHECK(rung_name_is_valid(text_of(RUNG_NAME_MAX, "")));
    CHECK(!rung_name_is_valid(text_of(RUNG_NAME_MAX + 1, "")));
    CHECK(!rung_name_is_valid((rung_slice){NULL, 0}));
    CHECK(!rung_name_is_valid(RUNG_SLICE("a\nb")));
    CHECK(!rung_name_is_valid(RUNG_SLICE("a\0b")));
    CHECK(!rung_name_is_valid(RUNG_SLICE("\x7f")));
    CHECK(!rung_name_is_valid(RUNG_SLICE("\xc2\x80")));
    CHECK(!rung_name_is_valid(RUNG_SLICE("\xc2\x9f")));
    CHECK(rung_name_is_valid(RUNG_SLICE("\xc2\xa0")));
    CHECK(!rung_name_is_valid(RUNG_SLICE("\xed\xa0\x80")));
    CHECK(!rung_name_is_valid(text_of(RUNG_NAME_MAX, "\xc3")));
}

TEST(attribute_names) {
    for (unsigned c = 0; c < 256; c++) {
        char text[] = {'a', (char)c, 'z'};
        bool is_good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == '-';
        CHECK_EQ_U64(rung_attribute_name_is_valid(rung_slice_of(text, 3)), is_good);
        CHECK_EQ_U64(rung_attribute_name_is_valid(rung_slice_of(text + 1, 1)), is_good);
    }
    CHECK(!rung_attribute_name_is_valid((rung_slice){NULL, 0}));
    CHECK(rung_attribute_name_is_valid(text_of(RUNG_ATTRIBUTE_NAME_MAX, "")));
    CHECK(!rung_attribute_name_is_valid(text_of(RUNG_ATTRIBUTE_NAME_MAX + 1, "")));
}

TEST(title) {
    ACCEPTED(d.title = text_of(RUNG_TITLE_MAX, "\xc3\xa4"));
    REFUSED("title: ", d.title = text_of(RUNG_TITLE_MAX + 1, ""));
    REFUSED("title: ", d.title = RUNG_SLICE("two\nlines"));
    REFUSED("title: ", d.title = RUNG_SLICE("\xff"));
}

static void two_columns(rung_board_def *d) {
    d->key.column_count = 3;
    d->column_names[0] = RUNG_SLICE("time");
    d->column_names[1] = RUNG_SLICE("deaths");
}

TEST(score_and_columns) {
    ACCEPTED(two_columns(&d));
    ACCEPTED(d.key.columns[0].type = RUNG_SCORE_DECIMAL, d.key.columns[0].decimals = 9);
    ACCEPTED(d.column_names[0] = RUNG_SLICE("\n")); /* past the last column: not looked at */
    REFUSED("columns: ", d.key.column_count = 0);
    REFUSED("columns: ", d.key.column_count = 4);
    REFUSED("score.type: ", d.key.columns[0].type = (rung_score_type)3);
    REFUSED("score.order: ", d.key.columns[0].order = (rung_score_order)2);
    REFUSED("score.decimals: ", d.key.columns[0].decimals = 1);
    REFUSED("score.decimals: ", d.key.columns[0].type = RUNG_SCORE_DECIMAL,
            d.key.columns[0].decimals = 10);
    REFUSED("columns[0].type: ", two_columns(&d), d.key.columns[1].type = (rung_score_type)3);
    REFUSED("columns[1].order: ", two_columns(&d), d.key.columns[2].order = (rung_score_order)9);
    REFUSED("columns[1].decimals: ", two_columns(&d), d.key.columns[2].decimals = 1);
    REFUSED("columns[0].name: ", two_columns(&d), d.column_names[0] = (rung_slice){NULL, 0});
    REFUSED("columns[0].name: ", two_columns(&d), d.column_names[0] = RUNG_SLICE("score"));
    REFUSED("columns[1].name: ", two_columns(&d), d.column_names[1] = RUNG_SLICE("a b"));
    REFUSED("columns[1].name: duplicate", two_columns(&d), d.column_names[1] = RUNG_SLICE("time"));
    REFUSED("tie: ", d.key.tie = (rung_tie)4);
}

static void decaying(rung_board_def *d) {
    d->key.columns[0].type = RUNG_SCORE_REAL;
    d->update = RUNG_UPDATE_DECAY;
    d->half_life_ms = 86400000;
}

static void rated(rung_board_def *d, unsigned system) {
    d->update = (rung_update)(RUNG_UPDATE_ELO + system);
    rung_rating_params_init(&d->rating, (rung_rating_system)system);
}

TEST(update) {
    ACCEPTED(d.update = RUNG_UPDATE_COUNT);
    ACCEPTED(decaying(&d));
    ACCEPTED(decaying(&d), d.half_life_ms = RUNG_HALF_LIFE_MIN_MS);
    ACCEPTED(decaying(&d), d.half_life_ms = RUNG_HALF_LIFE_MAX_MS);
    REFUSED("update: ", d.update = (rung_update)8);
    REFUSED("rating: ", d.update = RUNG_UPDATE_GLICKO2); /* the parameters are of Elo */
    for (unsigned i = 0; i < 3; i++) {
        ACCEPTED(rated(&d, i));
        REFUSED("update: ratings", rated(&d, i), d.key.columns[0].type = RUNG_SCORE_REAL);
        REFUSED("update: ratings", rated(&d, i), d.key.columns[0].order = RUNG_ORDER_ASC);
        REFUSED("update: ratings", rated(&d, i), two_columns(&d));
        REFUSED("limits: ", rated(&d, i), d.limits = RUNG_LIMIT_RATE, d.per_player_per_minute = 1);
        REFUSED("half_life: ", rated(&d, i), d.half_life_ms = 86400000);
        REFUSED("rating.initial: ", rated(&d, i), d.rating.rating = 2e6);
    }
    REFUSED("update: count", d.update = RUNG_UPDATE_COUNT,
            d.key.columns[0].type = RUNG_SCORE_DECIMAL);
    REFUSED("update: count", d.update = RUNG_UPDATE_COUNT, two_columns(&d));
    REFUSED("update: decay", decaying(&d), d.key.columns[0].type = RUNG_SCORE_INTEGER);
    REFUSED("update: decay", decaying(&d), d.key.columns[0].order = RUNG_ORDER_ASC);
    REFUSED("update: decay", decaying(&d), two_columns(&d));
    REFUSED("half_life: ", decaying(&d), d.half_life_ms = RUNG_HALF_LIFE_MIN_MS - 1);
    REFUSED("half_life: ", decaying(&d), d.half_life_ms = RUNG_HALF_LIFE_MAX_MS + 1);
    REFUSED("half_life: ", d.half_life_ms = 1);
}

static void two_seasons(rung_board_def *d) {
    d->season_count = 2;
    d->seasons[0] = (rung_season){RUNG_SLICE("spring"), 1000, 2000};
    d->seasons[1] = (rung_season){RUNG_SLICE("summer"), 1500, 1501}; /* they may overlap */
}

TEST(windows_and_seasons) {
    ACCEPTED(d.windows = RUNG_WINDOWS_MASK);
    ACCEPTED(d.windows = RUNG_WINDOWS_BIT(RUNG_WINDOW_YEAR));
    ACCEPTED(two_seasons(&d), d.windows = 0);
    ACCEPTED(two_seasons(&d), d.seasons[0].starts_ms = RUNG_TIME_MS_MIN,
             d.seasons[0].ends_ms = RUNG_TIME_MS_END - 1);
    REFUSED("windows: ", d.windows = 0);
    REFUSED("windows: ", d.windows = 64);
    REFUSED("seasons: ", d.season_count = RUNG_SEASONS_MAX + 1);
    REFUSED("seasons[1].name: ", two_seasons(&d), d.seasons[1].name = (rung_slice){NULL, 0});
    REFUSED("seasons[1].name: ", two_seasons(&d), d.seasons[1].name = text_of(129, ""));
    REFUSED("seasons[0].name: the name", two_seasons(&d), d.seasons[0].name = RUNG_SLICE("week"));
    REFUSED("seasons[0].name: the name", two_seasons(&d), d.seasons[0].name = RUNG_SLICE("all"));
    REFUSED("seasons[1].name: same name as seasons[0]", two_seasons(&d),
            d.seasons[1].name = RUNG_SLICE("spring"));
    REFUSED("seasons[0].starts: ", two_seasons(&d), d.seasons[0].starts_ms = RUNG_TIME_MS_MIN - 1);
    REFUSED("seasons[0].ends: ", two_seasons(&d), d.seasons[0].ends_ms = RUNG_TIME_MS_END);
    REFUSED("seasons[1].ends: must be after", two_seasons(&d), d.seasons[1].ends_ms = 1500);
    REFUSED("rank: ", d.rank = (rung_rank_style)3);
}

TEST(clock_and_keep) {
    ACCEPTED(d.zone_name = RUNG_SLICE("UTC"));
    ACCEPTED(d.zone_name = RUNG_SLICE("America/Port-au-Prince"), d.zone_rules = RUNG_SLICE("x"));
    ACCEPTED(d.zone_name = RUNG_SLICE("Etc/GMT+12"),
             d.zone_rules = text_of(RUNG_ZONE_PACKED_MAX, ""));
    ACCEPTED(d.zone_name = text_of(RUNG_ZONE_NAME_MAX, "_"), d.zone_rules = RUNG_SLICE("x"));
    REFUSED("timezone: an IANA", d.zone_name = text_of(RUNG_ZONE_NAME_MAX + 1, ""),
            d.zone_rules = RUNG_SLICE("x"));
    REFUSED("timezone: an IANA", d.zone_name = RUNG_SLICE("../etc/passwd"),
            d.zone_rules = RUNG_SLICE("x"));
    REFUSED("timezone: an IANA", d.zone_name = RUNG_SLICE("Europe/.."),
            d.zone_rules = RUNG_SLICE("x"));
    REFUSED("timezone: an IANA", d.zone_name = RUNG_SLICE("/Europe"),
            d.zone_rules = RUNG_SLICE("x"));
    REFUSED("timezone: UTC", d.zone_rules = RUNG_SLICE("x"));
    REFUSED("timezone: UTC", d.zone_name = RUNG_SLICE("UTC"), d.zone_rules = RUNG_SLICE("x"));
    REFUSED("timezone: a zone", d.zone_name = RUNG_SLICE("Europe/Helsinki"));
    REFUSED("timezone: rules", d.zone_name = RUNG_SLICE("Europe/Helsinki"),
            d.zone_rules = text_of(RUNG_ZONE_PACKED_MAX + 1, ""));
    ACCEPTED(d.day_starts_min = 1439, d.grace_ms = RUNG_GRACE_MAX_MS, d.keep = RUNG_KEEP_MAX);
    ACCEPTED(d.keep = 0);
    REFUSED("day_starts: ", d.day_starts_min = 1440);
    REFUSED("day_starts: ", d.day_starts_min = -1);
    REFUSED("grace: ", d.grace_ms = -1);
    REFUSED("grace: ", d.grace_ms = RUNG_GRACE_MAX_MS + 1);
    REFUSED("keep: ", d.keep = RUNG_KEEP_MAX + 1);
    ACCEPTED(d.keep_kinds = RUNG_KEEP_KINDS_MASK, d.keep_of[RUNG_WINDOW_SEASON] = RUNG_KEEP_MAX);
    REFUSED("keep: ", d.keep_kinds = 1);
    REFUSED("keep: ", d.keep_kinds = 0x80);
    REFUSED("keep: ", d.keep_of[RUNG_WINDOW_DAY] = 1); /* it would be lost */
    REFUSED("keep: ", d.keep_kinds = RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY),
            d.keep_of[RUNG_WINDOW_DAY] = RUNG_KEEP_MAX + 1);
}

static void teams(rung_board_def *d, rung_combine combine, uint32_t top) {
    d->has_teams = true;
    d->team_by = RUNG_SLICE("guild");
    d->team_combine = combine;
    d->team_top = top;
}

TEST(scopes_teams_and_writers) {
    ACCEPTED(d.scope_count = 2, d.scopes[0] = RUNG_SLICE("country"),
             d.scopes[1] = RUNG_SLICE("Country"));
    REFUSED("scopes: ", d.scope_count = RUNG_SCOPES_MAX + 1);
    REFUSED("scopes[0]: ", d.scope_count = 1);
    REFUSED("scopes[1]: same as scopes[0]", d.scope_count = 2,
            d.scopes[0] = d.scopes[1] = RUNG_SLICE("x"));
    ACCEPTED(teams(&d, RUNG_COMBINE_MEAN, 0));
    ACCEPTED(teams(&d, RUNG_COMBINE_TOP, RUNG_TEAM_TOP_MAX));
    ACCEPTED(d.team_by = RUNG_SLICE("\n")); /* without has_teams: not looked at */
    REFUSED("teams.by: ", teams(&d, RUNG_COMBINE_SUM, 0), d.team_by.len = 0);
    REFUSED("teams.combine: ", teams(&d, (rung_combine)3, 0));
    REFUSED("teams.combine: only", teams(&d, RUNG_COMBINE_SUM, 1));
    REFUSED("teams.combine: top", teams(&d, RUNG_COMBINE_TOP, 0));
    REFUSED("teams.combine: top", teams(&d, RUNG_COMBINE_TOP, RUNG_TEAM_TOP_MAX + 1));
    ACCEPTED(d.writers = RUNG_WRITERS_PLAYER);
    REFUSED("writers: ", d.writers = (rung_writers)2);
}

static void real(rung_board_def *d, uint32_t limits, double min, double max, double step) {
    d->key.columns[0].type = RUNG_SCORE_REAL;
    d->limits = limits;
    d->min.d = min;
    d->max.d = max;
    d->max_step.d = step;
}

static void integer(rung_board_def *d, uint32_t limits, int64_t min, int64_t max, int64_t step) {
    d->limits = limits;
    d->min.i = min;
    d->max.i = max;
    d->max_step.i = step;
}

TEST(limits) {
    ACCEPTED(integer(&d, 7, INT64_MIN, INT64_MAX, 0));
    ACCEPTED(integer(&d, 3, 5, 5, -1)); /* no step limit: not looked at */
    ACCEPTED(integer(&d, RUNG_LIMIT_MIN, 5, 4, 0));
    ACCEPTED(real(&d, 7, -HUGE_VAL, HUGE_VAL, HUGE_VAL));
    ACCEPTED(real(&d, 0, NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER));
    ACCEPTED(d.limits = RUNG_LIMIT_RATE, d.per_player_per_minute = UINT32_MAX);
    ACCEPTED(d.limits = RUNG_LIMIT_Z, d.z_score = 5e-324);
    REFUSED("limits: ", d.limits = 32);
    REFUSED("limits.min: at most", integer(&d, 3, 6, 5, 0));
    REFUSED("limits.min: at most", real(&d, 3, 0.5, 0.25, 0));
    REFUSED("limits.min: a number", real(&d, 3, NOT_A_NUMBER, 0, 0));
    REFUSED("limits.max: a number", real(&d, 3, 0, NOT_A_NUMBER, 0));
    REFUSED("limits.max_step: ", integer(&d, RUNG_LIMIT_STEP, 0, 0, -1));
    REFUSED("limits.max_step: ", real(&d, RUNG_LIMIT_STEP, 0, 0, NOT_A_NUMBER));
    REFUSED("limits.per_player_per_minute: ", d.limits = RUNG_LIMIT_RATE);
    REFUSED("limits.z_score: ", d.limits = RUNG_LIMIT_Z);
    REFUSED("limits.z_score: ", d.limits = RUNG_LIMIT_Z, d.z_score = HUGE_VAL);
    REFUSED("limits.z_score: ", d.limits = RUNG_LIMIT_Z, d.z_score = NOT_A_NUMBER);
}

/* ---- bytes ------------------------------------------------------------------------------------------- */

static size_t encode(const rung_board_def *def) {
    size_t length = 0;
    CHECK_OK(rung_board_def_encode(def, bytes, sizeof bytes, &length));
    return length;
}

/* Refused, or the bytes are the only ones for what they say. */
static rung_status check_spelling(const uint8_t *p, size_t len) {
    static rung_board_def def;
    size_t length = 0;
    rung_status st = rung_board_def_decode(rung_slice_of(p, len), &def, NULL);
    CHECK(st == RUNG_OK || st == RUNG_EINVAL || st == RUNG_ECORRUPT || st == RUNG_EVERSION);
    if (st != RUNG_OK)
        return st;
    CHECK_OK(rung_board_def_encode(&def, again, sizeof again, &length));
    CHECK_EQ_U64(length, len);
    CHECK_EQ_MEM(again, p, len);
    return st;
}

static void check_same(const rung_board_def *a, const rung_board_def *b) {
    char *x = board_def_text(a), *y = board_def_text(b);
    CHECK_EQ_STR(x, y);
    free(x);
    free(y);
}

TEST(random_definitions_come_back) {
    event_gen_init(&gen, test_seed(1));
    for (uint64_t n = test_steps(5000); n; n--) {
        rung_board_def def, back;
        event_gen_def(&gen, &def);
        check_accepted(__LINE__, &def);
        size_t length = encode(&def);
        CHECK_OK(rung_board_def_decode(rung_slice_of(bytes, length), &back, NULL));
        check_same(&def, &back);
        CHECK_OK(check_spelling(bytes, length));
    }
}

TEST(a_cut_or_a_flipped_bit_never_passes_unseen) {
    event_gen_init(&gen, test_seed(2));
    for (uint64_t n = test_steps(60); n; n--) {
        rung_board_def def;
        do
            event_gen_def(&gen, &def);
        while (encode(&def) > 600);
        size_t length = encode(&def);
        for (size_t i = 0; i < length; i++)
            CHECK_STATUS(check_spelling(bytes, i), RUNG_ECORRUPT);
        for (size_t i = 0; i < 8 * length; i++) {
            bytes[i / 8] ^= (uint8_t)(1 << i % 8);
            rung_status st = check_spelling(bytes, length);
            CHECK(st != RUNG_OK || i >= 8);
            bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        }
        bytes[length] = 0;
        CHECK_STATUS(check_spelling(bytes, length + 1), RUNG_ECORRUPT);
    }
}

TEST(a_small_buffer_is_told_what_it_takes) {
    rung_board_def def = rung_board_def_default();
    two_columns(&def);
    two_seasons(&def);
    size_t need = encode(&def), length;
    memcpy(again, bytes, need);
    for (size_t size = 0; size < need; size++) {
        memset(bytes, 0xee, need);
        CHECK_STATUS(rung_board_def_encode(&def, bytes, size, &length), RUNG_ELIMIT);
        CHECK_EQ_U64(length, need);
        for (size_t i = size; i < need; i++)
            CHECK_EQ_U64(bytes[i], 0xee);
    }
    CHECK_OK(rung_board_def_encode(&def, bytes, need, &length));
    CHECK_EQ_MEM(bytes, again, need);
    CHECK_STATUS(rung_board_def_encode(&def, NULL, 0, &length), RUNG_ELIMIT);
    CHECK_EQ_U64(length, need);
}

TEST(the_largest_definition_fits) {
    rung_board_def def = rung_board_def_default();
    static char names[RUNG_SEASONS_MAX + RUNG_SCOPES_MAX][RUNG_NAME_MAX];
    memset(names, 'n', sizeof names);
    for (int i = 0; i < RUNG_SEASONS_MAX + RUNG_SCOPES_MAX; i++)
        names[i][0] = (char)('0' + i);
    def.title = text_of(RUNG_TITLE_MAX, "");
    two_columns(&def);
    def.column_names[0] = text_of(RUNG_ATTRIBUTE_NAME_MAX, "0");
    def.column_names[1] = text_of(RUNG_ATTRIBUTE_NAME_MAX, "1");
    def.season_count = RUNG_SEASONS_MAX;
    for (int i = 0; i < RUNG_SEASONS_MAX; i++)
        def.seasons[i] = (rung_season){rung_slice_of(names[RUNG_SCOPES_MAX + i], RUNG_NAME_MAX),
                                       RUNG_TIME_MS_END - 2 - i, RUNG_TIME_MS_END - 1};
    def.seasons[0].starts_ms = RUNG_TIME_MS_MIN;
    def.zone_name = text_of(RUNG_ZONE_NAME_MAX, "");
    def.zone_rules = text_of(RUNG_ZONE_PACKED_MAX, "");
    def.day_starts_min = RUNG_DAY_STARTS_MAX;
    def.grace_ms = RUNG_GRACE_MAX_MS;
    def.keep = RUNG_KEEP_MAX;
    def.keep_kinds = RUNG_KEEP_KINDS_MASK;
    for (int i = RUNG_WINDOW_HOUR; i <= RUNG_WINDOW_SEASON; i++)
        def.keep_of[i] = RUNG_KEEP_MAX;
    def.scope_count = RUNG_SCOPES_MAX;
    for (int i = 0; i < RUNG_SCOPES_MAX; i++)
        def.scopes[i] = rung_slice_of(names[i], RUNG_ATTRIBUTE_NAME_MAX);
    teams(&def, RUNG_COMBINE_TOP, RUNG_TEAM_TOP_MAX);
    integer(&def, RUNG_LIMITS_MASK, INT64_MIN, INT64_MAX, INT64_MAX);
    def.per_player_per_minute = UINT32_MAX;
    def.z_score = 3;
    check_accepted(__LINE__, &def);
    size_t length = encode(&def);
    CHECK(length <= RUNG_BOARD_DEF_BYTES_MAX);
    CHECK_OK(check_spelling(bytes, length));
}

TEST(timed_snapshots) {
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.snapshot_every_ms = 60000;
    def.snapshot_top = 1000;
    def.snapshot_keep = 60;
    check_accepted(__LINE__, &def);
    CHECK_EQ_U64(rung_board_def_level(&def), 3);
    CHECK_EQ_U64(rung_board_snapshot_rows(&def), 120000);
    size_t length = encode(&def);
    CHECK_EQ_U64(bytes[0], 0x11);
    CHECK_OK(check_spelling(bytes, length));
    static const struct {
        int64_t every_ms;
        uint32_t top, keep;
        const char *field;
    } BAD[] = {{0, 1, 1, "snapshots.every"},
               {999, 1, 1, "snapshots.every"},
               {1500, 1, 1, "snapshots.every"},
               {INT64_C(31) * 86400000 + 1000, 1, 1, "snapshots.every"},
               {1000, 0, 1, "snapshots.top"},
               {1000, 10001, 1, "snapshots.top"},
               {1000, 1, 0, "snapshots.keep"},
               {1000, 1, 10001, "snapshots.keep"},
               {1000, 10000, 53, "snapshots.keep"}};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        rung_err err = {0};
        def.snapshot_every_ms = BAD[i].every_ms;
        def.snapshot_top = BAD[i].top;
        def.snapshot_keep = BAD[i].keep;
        CHECK_STATUS(rung_board_def_check(&def, &err), RUNG_EINVAL);
        CHECK_EQ_STR(err.field, BAD[i].field);
    }
}

TEST(an_unknown_version_is_told_apart_from_damage) {
    rung_board_def def = rung_board_def_default();
    size_t length = encode(&def);
    rung_err err = {0};
    bytes[0] = 2; /* of rating boards */
    CHECK_STATUS(rung_board_def_decode(rung_slice_of(bytes, length), &def, &err), RUNG_ECORRUPT);
    bytes[0] = 3; /* of sketch boards */
    CHECK_STATUS(rung_board_def_decode(rung_slice_of(bytes, length), &def, &err), RUNG_ECORRUPT);
    bytes[0] = 4;
    CHECK_STATUS(rung_board_def_decode(rung_slice_of(bytes, length), &def, &err), RUNG_EVERSION);
    CHECK_STATUS(rung_board_def_decode((rung_slice){NULL, 0}, &def, &err), RUNG_ECORRUPT);
}

TEST(a_failed_decode_leaves_the_result_alone) {
    rung_board_def def = rung_board_def_default(), untouched;
    size_t length = encode(&def);
    memset(&def, 0x5a, sizeof def);
    memset(&untouched, 0x5a, sizeof untouched);
    for (size_t i = 0; i < length; i++) {
        CHECK_STATUS(rung_board_def_decode(rung_slice_of(bytes, i), &def, NULL), RUNG_ECORRUPT);
        CHECK_EQ_MEM(&def, &untouched, sizeof def);
    }
}

RUNG_TEST_MAIN
