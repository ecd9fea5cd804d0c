/* SPDX-License-Identifier: Apache-2.0 */
/* Sketch boards against exact counts: random submissions to windows and scopes of all three kinds, bans, erasures.
 * Every answer must keep its bounds, and a saved and loaded state must go on like the one that was saved.
 * ctest: timeout=300 */
#include "state/sketches.h"

#include "model/calendar.h"
#include "state/scope_values.h"
#include "support/check.h"
#include "support/rng.h"
#include "support/state_bytes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 3000, DAYS = 3, COUNTRIES = 3, SCORE_MAX = 100000 };
#define START INT64_C(1794000000000)
#define DAY   INT64_C(86400000)

static rung_state *s;
static rung_rng rng;
/* What was submitted, exactly: [0] all of it, then by country of the player at the time. */
static uint64_t counts[DAYS + 1][COUNTRIES + 1][NAMES];
static uint32_t scores[DAYS + 1][COUNTRIES + 1][SCORE_MAX + 1];
static uint64_t totals[DAYS + 1][COUNTRIES + 1], score_totals[DAYS + 1][COUNTRIES + 1];
static bool seen[NAMES], erased[NAMES], banned[NAMES];
static int country_of[NAMES]; /* from 1; 0: none */
static int today;

static rung_state_config config(void) {
    return (rung_state_config){.alloc = rung_alloc_heap(), .rules_level = RUNG_RULES_LEVEL};
}

static rung_status apply(rung_event *e, rung_err *err) {
    e->ts_ms = START + today * DAY;
    return rung_state_apply(s, e, NULL, err);
}

static rung_slice name_of(int i, char text[16]) {
    return rung_slice_of(text, (size_t)snprintf(text, 16, "name-%d", i));
}

static rung_board_def def_of(rung_sketch_kind kind) {
    rung_board_def def = rung_board_def_default();
    def.sketch = kind;
    def.sketch_memory = RUNG_SKETCH_MEMORY_MIN;
    def.update = kind == RUNG_SKETCH_COUNTS     ? RUNG_UPDATE_SUM
                 : kind == RUNG_SKETCH_DISTINCT ? RUNG_UPDATE_COUNT
                                                : RUNG_UPDATE_BEST;
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.keep = 10;
    def.scopes[def.scope_count++] = RUNG_SLICE("country");
    return def;
}

static const struct {
    rung_slice id;
    rung_sketch_kind kind;
} boards[] = {{{"plays", 5}, RUNG_SKETCH_COUNTS},
              {{"marks", 5}, RUNG_SKETCH_PERCENTILE},
              {{"people", 6}, RUNG_SKETCH_DISTINCT}};

static void define_all(void) {
    for (size_t i = 0; i < 3; i++) {
        rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED};
        e.defined.board = boards[i].id;
        e.defined.def = def_of(boards[i].kind);
        CHECK_OK(apply(&e, NULL));
    }
}

static void submit_one(int board, int name, int64_t value) {
    char text[16];
    rung_event e = {.kind = RUNG_EVENT_SCORE};
    e.score.board = boards[board].id;
    e.score.player = name_of(name, text);
    e.score.value_count = board < 2;
    e.score.values[0].i = value;
    rung_status st = apply(&e, NULL);
    CHECK_EQ_I64(st, banned[name] ? RUNG_EREFUSED : RUNG_OK);
}

static void submit(int name) {
    int64_t weight = 1 + (int64_t)rung_rng_below(&rng, 5);
    int64_t score = (int64_t)sqrt((double)rung_rng_below(&rng, (uint64_t)SCORE_MAX * SCORE_MAX));
    submit_one(0, name, weight);
    submit_one(1, name, score);
    submit_one(2, name, 0);
    if (banned[name])
        return;
    seen[name] = true;
    for (int day = 0; day <= DAYS; day++)
        for (int country = 0; country <= COUNTRIES; country++) {
            if ((day && day != today + 1) || (country && country != country_of[name]))
                continue;
            counts[day][country][name] += (uint64_t)weight;
            totals[day][country] += (uint64_t)weight;
            scores[day][country][score]++;
            score_totals[day][country]++;
        }
}

static void set_country(int name, int country) {
    char text[16], value[16];
    rung_event e = {.kind = RUNG_EVENT_PLAYER_SET};
    e.profile.player = name_of(name, text);
    e.profile.count = 1;
    e.profile.attributes[0] = (rung_attribute){
        RUNG_SLICE("country"), rung_slice_of(value, (size_t)snprintf(value, 16, "c%d", country))};
    CHECK(apply(&e, NULL) >= 0);
    country_of[name] = country;
}

static rung_view view_of(int board, int day, int country) {
    rung_view v;
    rung_err err = {.message = ""};
    char scope[32], on[RUNG_TIME_TEXT_MAX];
    rung_query q = {.board = boards[board].id};
    if (country)
        q.scope = rung_slice_of(scope, (size_t)snprintf(scope, 32, "country:c%d", country));
    if (day) {
        q.window = RUNG_SLICE("day");
        q.on = rung_slice_of(on, rung_time_format(START + (day - 1) * DAY, on) > 10 ? 10 : 0);
    }
    CHECK_MSG(rung_state_view(s, &q, &v, &err) == RUNG_OK, "%s", err.message);
    return v;
}

static void check_counts(int day, int country) {
    static rung_row rows[64];
    char text[16];
    rung_view v = view_of(0, day, country);
    rung_sketch_info info;
    rung_view_sketch(&v, &info);
    CHECK_EQ_U64(info.total, totals[day][country]);
    CHECK(info.memory_bytes == RUNG_SKETCH_MEMORY_MIN);
    for (int i = 0; i < NAMES; i++) {
        uint64_t low, high, truth = counts[day][country][i];
        rung_view_bounds(&v, name_of(i, text), &low, &high);
        CHECK(low <= truth && (erased[i] || truth <= high));
    }
    uint32_t n = rung_view_top(&v, 0, 64, rows);
    for (uint32_t i = 0; i < n; i++) {
        int name = atoi(rows[i].id.ptr + 5);
        rung_row one;
        bool found;
        CHECK(!banned[name] && rows[i].has_bounds);
        CHECK(rows[i].low <= counts[day][country][name]);
        CHECK(rows[i].high >= counts[day][country][name] || erased[name]);
        CHECK_EQ_U64((uint64_t)rows[i].values[0].i, rows[i].high);
        CHECK(!i || rows[i - 1].high >= rows[i].high);
        CHECK_EQ_U64(rows[i].rank,
                     i && rows[i - 1].high == rows[i].high ? rows[i - 1].rank : i + 1);
        rung_view_rows(&v, 1, &rows[i].id, &one, &found);
        CHECK(found);
        CHECK_EQ_U64(one.rank, rows[i].rank);
        CHECK(one.percentile == rows[i].percentile);
    }
    if (n > 10) { /* a later page */
        rung_row page[5];
        CHECK_EQ_U64(rung_view_top(&v, 4, 5, page), 5);
        for (uint32_t i = 0; i < 5; i++)
            CHECK(rung_slice_eq(page[i].id, rows[i + 4].id) && page[i].rank == rows[i + 4].rank);
    }
}

static void check_scores(int day, int country) {
    rung_view v = view_of(1, day, country);
    const uint32_t *exact = scores[day][country];
    uint64_t total = score_totals[day][country], better = total;
    rung_place place;
    rung_sketch_info info;
    rung_view_sketch(&v, &info);
    CHECK_EQ_U64(info.total, total);
    for (int score = 0; score <= SCORE_MAX; score++) {
        better -= exact[score];
        if (score % 997)
            continue;
        CHECK_OK(rung_view_place(&v, (rung_value){.i = score}, &place));
        CHECK(place.rank_low <= better + 1 && better + 1 <= place.rank_high);
        CHECK(place.rank_low <= place.rank && place.rank <= place.rank_high);
        CHECK(place.rank_high - place.rank_low <= info.error);
        CHECK_EQ_U64(place.total, total);
    }
    static const uint32_t per_mille[] = {1, 10, 500, 990, 1000};
    for (size_t i = 0; total && i < 5; i++) {
        uint64_t rank = 1 + (total - 1) * per_mille[i] / 1000, above = 0;
        rung_value score;
        CHECK_OK(rung_view_score_at(&v, rank, &score));
        for (int k = SCORE_MAX; k > score.i; k--)
            above += exact[k];
        CHECK(above <= rank - 1 + info.error);
        CHECK(above + exact[score.i] + info.error >= rank);
    }
    rung_bucket buckets[20];
    for (int by_count = 0; by_count < 2; by_count++) {
        uint64_t sum = 0;
        uint32_t n = rung_view_spread(&v, 20, by_count, buckets);
        for (uint32_t i = 0; i < n; i++)
            sum += buckets[i].count;
        CHECK_EQ_U64(sum, total);
    }
}

static void check_players(void) {
    rung_view v = view_of(2, 0, 0);
    rung_sketch_info info;
    uint64_t players = 0;
    for (int i = 0; i < NAMES; i++)
        players += seen[i];
    rung_view_sketch(&v, &info);
    double error = fabs((double)info.players - (double)players);
    CHECK_MSG(error <= 2 + 5e-6 * info.players_error_ppm * (double)players, "%llu, not %llu",
              (unsigned long long)info.players, (unsigned long long)players);
}

static void check_all(void) {
    CHECK_SOUND(rung_state_check(s));
    for (int day = 0; day <= today + 1; day++)
        for (int country = 0; country <= COUNTRIES; country++) {
            check_counts(day, country);
            check_scores(day, country);
        }
    check_players();
}

/* Saved and loaded it is the same, and goes on like it. */
static void check_saved(void) {
    rung_state_config c = config();
    state_bytes bytes = {0}, again = {0};
    rung_state *copy;
    rung_err err = {.message = ""};
    c.hash_key = (rung_hash_key){7, 11}; /* changes nothing */
    state_bytes_save(&bytes, s);
    CHECK_MSG(state_bytes_load(&bytes, &c, 100, false, &copy, &err) == RUNG_OK, "%s", err.message);
    CHECK_SOUND(rung_state_check(copy));
    rung_digest a = rung_state_digest(s), b = rung_state_digest(copy);
    CHECK(a.a == b.a && a.b == b.b);
    state_bytes_save(&again, copy);
    CHECK(bytes.len == again.len && memcmp(bytes.bytes, again.bytes, bytes.len) == 0);
    rung_state_destroy(s);
    s = copy; /* from here on with the copy */
    state_bytes_deinit(&bytes);
    state_bytes_deinit(&again);
}

static int zipf(void) {
    double u = rung_rng_double(&rng);
    int i = (int)(pow(NAMES, u)) - 1;
    return i < NAMES ? i : NAMES - 1;
}

static void run(uint64_t steps) {
    CHECK_OK(rung_state_create(
        &(rung_state_config){.alloc = rung_alloc_heap(), .rules_level = RUNG_RULES_LEVEL}, &s));
    define_all();
    for (int i = 0; i < NAMES; i += 3)
        set_country(i, 1 + i % COUNTRIES);
    for (uint64_t i = 0; i < steps; i++) {
        int name = zipf();
        char text[16];
        rung_event e = {0};
        submit(name);
        if (i % (steps / DAYS) == steps / DAYS - 1 && today + 1 < DAYS) {
            check_all();
            check_saved();
            today++;
        }
        if (i % 500 == 7 && !banned[name]) {
            e.kind = RUNG_EVENT_BANNED;
            e.ban.player = name_of(name, text);
            CHECK_OK(apply(&e, NULL));
            banned[name] = true;
        } else if (i % 700 == 8 && !banned[name] && !erased[name]) {
            e.kind = RUNG_EVENT_PLAYER_ERASED;
            e.erased.player = name_of(name, text);
            CHECK(apply(&e, NULL) >= 0);
            erased[name] = true;
            country_of[name] = 0;
        } else if (i % 50 == 9) {
            set_country(name, 1 + (int)rung_rng_below(&rng, COUNTRIES));
        }
    }
    check_all();
    check_saved();
    check_all();
}

TEST(answers_keep_their_bounds) {
    rung_rng_seed(&rng, test_seed(1));
    run(test_steps(6000));
    rung_state_destroy(s);
}

TEST(values_of_a_scope_are_listed) {
    rung_scope_size sizes[4];
    uint32_t values;
    rung_rng_seed(&rng, test_seed(2));
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s));
    define_all();
    for (int i = 1; i <= 3; i++)
        set_country(i, i);
    for (int i = 0; i < 9; i++)
        submit_one(0, i < 5 ? 1 : i < 8 ? 2 : 3, 1);
    rung_view v = view_of(0, 0, 0);
    CHECK_EQ_U64(rung_scope_largest(&v, RUNG_SLICE("country"), 4, sizes, &values), 3);
    CHECK_EQ_U64(sizes[0].total, 5);
    CHECK_EQ_U64(sizes[2].total, 1);
    rung_state_destroy(s);
}

/* An image of a few submissions loads for ever. RUNG_WRITE_GOLDEN=1 writes the file. */
TEST(the_golden_image_means_what_it_always_meant) {
    const char *root = getenv("RUNG_SOURCE");
    static uint8_t room[16384];
    char path[512];
    state_bytes bytes = {0}, golden = {.bytes = room};
    rung_state_config c = config();
    rung_state *copy;
    rung_err err = {.message = ""};
    c.rules_level = 2;
    CHECK_OK(rung_state_create(&c, &s));
    for (int board = 0; board < 2; board++) {
        rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED};
        e.defined.board = boards[board].id;
        e.defined.def = def_of(boards[board].kind);
        e.defined.def.windows = RUNG_WINDOWS_ALL;
        e.defined.def.scope_count = 0;
        CHECK_OK(apply(&e, NULL));
        for (int i = 0; i < 300; i++)
            submit_one(board, i % 17 * 3, 1 + i % 7 * (board ? 1000 : 1));
    }
    snprintf(path, sizeof path, "%s/tests/golden/state-v6-sketches", root ? root : ".");
    FILE *f = fopen(path, getenv("RUNG_WRITE_GOLDEN") ? "wb" : "rb");
    CHECK_MSG(f != NULL, "%s: cannot be opened", path);
    if (getenv("RUNG_WRITE_GOLDEN")) {
        state_bytes_save(&bytes, s);
        CHECK(fwrite(bytes.bytes, 1, bytes.len, f) == bytes.len);
    } else {
        golden.len = fread(room, 1, sizeof room, f);
        CHECK_MSG(state_bytes_load(&golden, &c, 0, false, &copy, &err) == RUNG_OK, "%s",
                  err.message);
        CHECK_SOUND(rung_state_check(copy));
        rung_digest x = rung_state_digest(s), y = rung_state_digest(copy);
        CHECK(x.a == y.a && x.b == y.b);
        rung_state_destroy(copy);
    }
    CHECK(fclose(f) == 0);
    state_bytes_deinit(&bytes);
    rung_state_destroy(s);
}

/* ---- Redis commands ---- */

static rung_status keys_event(const rung_zcommand *c) {
    static uint8_t packed[4096];
    size_t length;
    rung_event e = {.kind = RUNG_EVENT_KEYS};
    CHECK_OK(rung_zcommand_encode(c, packed, sizeof packed, &length, NULL));
    e.keys.count = 1;
    e.keys.packed = rung_slice_of(packed, length);
    return apply(&e, NULL);
}

static rung_status add_elements(rung_slice key, int first, int count) {
    rung_zcommand_item items[32];
    char text[32][16];
    for (int i = 0; i < count; i++)
        items[i] = (rung_zcommand_item){name_of(first + i, text[i]), 1};
    return keys_event(&(rung_zcommand){.kind = RUNG_ZCOMMAND_SKETCH_ADD,
                                       .flags = RUNG_SKETCH_DISTINCT << RUNG_ZCOMMAND_SKETCH_SHIFT,
                                       .key = key,
                                       .item_count = (uint32_t)count,
                                       .items = items});
}

static uint64_t players_of(rung_slice key) {
    rung_view v;
    uint64_t players;
    CHECK_OK(rung_state_view(s, &(rung_query){.board = key}, &v, NULL));
    CHECK_OK(rung_views_players(rung_alloc_heap(), 1, &v, &players));
    return players;
}

TEST(merged_counts_count_once) {
    static const rung_zcommand_item both[] = {{{"x", 1}, 0}, {{"y", 1}, 0}};
    CHECK_OK(
        rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap(), .rules_level = 2}, &s));
    for (int i = 0; i < 40; i++) {
        CHECK_OK(add_elements(RUNG_SLICE("x"), 20 * i, 20));
        CHECK_OK(add_elements(RUNG_SLICE("y"), 400 + 20 * i, 20));
        rung_status st = keys_event(&(rung_zcommand){
            .kind = RUNG_ZCOMMAND_SKETCH,
            .flags = RUNG_SKETCH_DISTINCT << RUNG_ZCOMMAND_SKETCH_SHIFT | RUNG_ZCOMMAND_MERGE,
            .key = RUNG_SLICE("z"),
            .item_count = 2,
            .items = both});
        CHECK_OK(st);
        CHECK_SOUND(rung_state_check(s));
        double truth = 20 * (i + 1) <= 400 ? 40 * (i + 1) : 420 + 20 * i;
        CHECK(fabs((double)players_of(RUNG_SLICE("z")) - truth) <= 2 + 5 * 0.0082 * truth);
        if (i % 8 == 0)
            check_saved();
    }
    rung_state_destroy(s);
}

/* ---- refusals ---- */

static rung_status define(const rung_board_def *def, rung_err *err) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED};
    e.defined.board = RUNG_SLICE("x");
    e.defined.def = *def;
    return apply(&e, err);
}

TEST(a_definition_that_cannot_be_is_refused) {
    rung_err err = {.message = ""};
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s));
    rung_board_def def = def_of(RUNG_SKETCH_COUNTS);
    def.sketch_error = 1e-6;
    CHECK_EQ_I64(define(&def, &err), RUNG_EINVAL);
    CHECK(strcmp(err.field, "memory") == 0);
    def.sketch_memory = RUNG_SKETCH_MEMORY_MAX;
    def.sketch_error = 1e-5;
    CHECK_OK(define(&def, &err));
    def = def_of(RUNG_SKETCH_PERCENTILE);
    CHECK_EQ_I64(define(&def, &err), RUNG_EUNSUPPORTED); /* it has another kind */
    CHECK(strcmp(err.field, "update") == 0);
    rung_state_destroy(s);
}

TEST(a_board_has_room_for_so_many_rankings) {
    rung_err err = {.message = ""};
    rung_event e = {.kind = RUNG_EVENT_SCORE};
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s));
    rung_board_def def = def_of(RUNG_SKETCH_DISTINCT);
    def.sketch_memory = RUNG_SKETCH_MEMORY_MAX;
    def.windows = RUNG_WINDOWS_BIT(RUNG_WINDOW_HOUR);
    CHECK_OK(define(&def, &err));
    e.score.board = RUNG_SLICE("x");
    e.score.player = RUNG_SLICE("ada");
    e.score.has_at = true;
    for (int hour = 0; hour < 17; hour++) {
        e.score.at_ms = START + hour * INT64_C(3600000);
        CHECK_EQ_I64(apply(&e, &err), hour < 16 ? RUNG_OK : RUNG_ELIMIT); /* 1 GiB */
    }
    CHECK(strcmp(err.field, "memory") == 0);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

TEST(what_cannot_be_added_changes_nothing) {
    rung_err err = {.message = ""};
    rung_event e = {.kind = RUNG_EVENT_SCORE};
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s));
    define_all();
    set_country(1, 1);
    e.score.board = RUNG_SLICE("plays");
    e.score.player = RUNG_SLICE("name-1");
    e.score.value_count = 1;
    e.score.values[0].i = INT64_MAX;
    CHECK_OK(apply(&e, &err));
    CHECK_EQ_I64(apply(&e, &err), RUNG_ERANGE);
    CHECK(strcmp(err.field, "score") == 0);
    e.score.values[0].i = 0;
    CHECK_EQ_I64(apply(&e, &err), RUNG_ERANGE);
    CHECK_SOUND(rung_state_check(s));
    e.score.board = RUNG_SLICE("marks");
    e.score.is_delta = true;
    CHECK_EQ_I64(apply(&e, &err), RUNG_EUNSUPPORTED);
    CHECK(strcmp(err.field, "delta") == 0);
    e.score.is_delta = false;
    e.score.when = RUNG_SCORE_KEY;
    CHECK_EQ_I64(apply(&e, &err), RUNG_EUNSUPPORTED);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

RUNG_TEST_MAIN
