/* SPDX-License-Identifier: Apache-2.0 */
/* A state and its copy from bytes: equal now, and equal after everything that happens to both. Then damage: every
 * truncation and every bit. RUNG_SEED=n runs one history again. */
/* ctest: timeout=300 labels=release */
#include "state/editions.h"
#include "state/image/save.h"
#include "state/replay.h"

#include "support/check.h"
#include "support/failalloc.h"
#include "support/history_gen.h"
#include "support/rng.h"
#include "support/state_bytes.h"

#include <stdio.h>

#ifdef __SANITIZE_ADDRESS__
enum { HISTORY_EVENTS = 10000, DAMAGE_BYTES = 800 };
#else
enum { HISTORY_EVENTS = 60000, DAMAGE_BYTES = 1600 };
#endif

enum { ROWS_MAX = 400, WINDOWS_MAX = 4096 };

static rung_state *create(uint32_t id_capacity, int64_t id_keep_ms) {
    rung_state *s = NULL;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap(),
                                                    .hash_key = {1, 2},
                                                    .id_capacity = id_capacity,
                                                    .id_keep_ms = id_keep_ms},
                               &s));
    return s;
}

/* Another hash key on purpose. */
static const rung_state_config *copy_config(void) {
    static rung_state_config config = {.hash_key = {3, 4}};
    config.alloc = rung_alloc_heap();
    return &config;
}

static void check_same_digest(const rung_state *s, const rung_state *copy) {
    rung_digest a = rung_state_digest(s), b = rung_state_digest(copy);
    CHECK_EQ_U64(b.a, a.a);
    CHECK_EQ_U64(b.b, a.b);
    CHECK_EQ_U64(rung_state_seq(copy), rung_state_seq(s));
    CHECK_EQ_I64(rung_state_time(copy), rung_state_time(s));
    CHECK_EQ_I64(rung_state_next_close(copy), rung_state_next_close(s));
}

/* A copy of `s` by way of bytes, sound and with the same bytes again. */
static rung_state *copy_of(const rung_state *s, size_t piece) {
    state_bytes first = {0}, again = {0};
    rung_state *copy = NULL;
    rung_err err = {.message = ""};
    state_bytes_save(&first, s);
    rung_status st = state_bytes_load(&first, copy_config(), piece, false, &copy, &err);
    CHECK_MSG(st == RUNG_OK, "%s: %s", rung_status_name(st), err.message);
    CHECK_SOUND(rung_state_check(copy));
    check_same_digest(s, copy);
    state_bytes_save(&again, copy);
    CHECK_EQ_U64(again.len, first.len);
    CHECK_EQ_MEM(again.bytes, first.bytes, first.len);
    state_bytes_deinit(&first);
    state_bytes_deinit(&again);
    return copy;
}

/* ---- all there is to see ---- */

static void check_same_slice(rung_slice a, rung_slice b) {
    CHECK_MSG(rung_slice_eq(a, b), "\"%.*s\" is not \"%.*s\"", (int)b.len, b.ptr, (int)a.len,
              a.ptr);
}

static void check_same_rows(const rung_row *a, const rung_row *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        CHECK_EQ_U64(b[i].rank, a[i].rank);
        CHECK_EQ_U64(b[i].number, a[i].number);
        check_same_slice(a[i].id, b[i].id);
        CHECK_EQ_U64(b[i].value_count, a[i].value_count);
        CHECK_EQ_MEM(b[i].values, a[i].values, a[i].value_count * sizeof *a[i].values);
        CHECK_EQ_U64(b[i].has_at, a[i].has_at);
        CHECK_EQ_I64(b[i].at_ms, a[i].at_ms);
        CHECK_EQ_F64(b[i].percentile, a[i].percentile);
        CHECK_EQ_U64(b[i].members, a[i].members);
    }
}

static void check_same_view(const rung_state *s, const rung_state *copy, const rung_query *q) {
    static rung_row a[ROWS_MAX], b[ROWS_MAX];
    rung_view v, w;
    rung_status st = rung_state_view(s, q, &v, NULL);
    CHECK_STATUS(rung_state_view(copy, q, &w, NULL), st);
    if (st != RUNG_OK)
        return;
    CHECK_EQ_U64(w.total, v.total);
    CHECK_EQ_U64(w.distinct, v.distinct);
    CHECK_EQ_U64(w.closed, v.closed);
    uint32_t n = rung_view_top(&v, 0, ROWS_MAX, a);
    CHECK_EQ_U64(rung_view_top(&w, 0, ROWS_MAX, b), n);
    check_same_rows(a, b, n);
}

/* Every value of a scope that somebody may have. */
static void check_same_scopes(history_gen *g, const rung_state *s, const rung_state *copy,
                              const rung_board_def *def, rung_query q) {
    for (uint32_t k = 0; k < def->scope_count; k++)
        for (int i = 0; i < 3; i++) {
            rung_slice value = history_attribute_value(g, def->scopes[k]);
            char scope[RUNG_ATTRIBUTE_NAME_MAX + 2 + RUNG_ATTRIBUTE_VALUE_MAX];
            int len = snprintf(scope, sizeof scope, "%.*s:%.*s", (int)def->scopes[k].len,
                               def->scopes[k].ptr, (int)value.len, value.ptr);
            q.scope = rung_slice_of(scope, (size_t)len);
            check_same_view(s, copy, &q);
        }
}

static void check_same_boards(history_gen *g, const rung_state *s, const rung_state *copy) {
    static const char *const kinds[] = {"all", "hour", "day", "week", "month", "year"};
    static rung_window_info a[WINDOWS_MAX], b[WINDOWS_MAX];
    CHECK_EQ_U64(rung_state_board_span(copy), rung_state_board_span(s));
    for (uint32_t i = 0; i < rung_state_board_span(s); i++) {
        rung_slice id, other;
        const rung_board_def *def, *def_copy;
        rung_status st = rung_state_board_at(s, i, &id, &def);
        CHECK_STATUS(rung_state_board_at(copy, i, &other, &def_copy), st);
        if (st != RUNG_OK)
            continue;
        check_same_slice(id, other);
        uint32_t n = rung_state_windows(s, id, a, WINDOWS_MAX);
        CHECK_EQ_U64(rung_state_windows(copy, id, b, WINDOWS_MAX), n);
        for (uint32_t k = 0; k < n; k++) {
            CHECK_EQ_STR(b[k].id, a[k].id);
            CHECK_EQ_I64(b[k].start_ms, a[k].start_ms);
            CHECK_EQ_I64(b[k].end_ms, a[k].end_ms);
            CHECK_EQ_U64(b[k].closed, a[k].closed);
            rung_query q = {.board = id};
            bool is_season = a[k].kind == RUNG_WINDOW_SEASON;
            q.window = is_season ? a[k].season : rung_slice_str(kinds[a[k].kind]);
            q.window_id =
                is_season || a[k].kind == 0 ? (rung_slice){NULL, 0} : rung_slice_str(a[k].id);
            check_same_view(s, copy, &q);
            check_same_scopes(g, s, copy, def, q);
            q.teams = true;
            check_same_view(s, copy, &q);
        }
    }
}

static void check_same_people(const history_taste *taste, const rung_state *s,
                              const rung_state *copy) {
    static rung_slice a[HISTORY_PLAYERS_MAX], b[HISTORY_PLAYERS_MAX];
    rung_attribute x[RUNG_ATTRIBUTES_MAX], y[RUNG_ATTRIBUTES_MAX];
    for (uint32_t i = 0; i < taste->player_count; i++) {
        uint32_t n = 0, m = 0;
        bool banned = false, banned_copy = false;
        rung_status st = rung_state_player(s, taste->players[i], &n, x, &banned);
        CHECK_STATUS(rung_state_player(copy, taste->players[i], &m, y, &banned_copy), st);
        CHECK_EQ_U64(m, n);
        CHECK_EQ_U64(banned_copy, banned);
        for (uint32_t k = 0; k < n; k++) {
            check_same_slice(x[k].name, y[k].name);
            check_same_slice(x[k].value, y[k].value);
        }
        n = rung_state_friends(s, taste->players[i], a, HISTORY_PLAYERS_MAX);
        CHECK_EQ_U64(rung_state_friends(copy, taste->players[i], b, HISTORY_PLAYERS_MAX), n);
        for (uint32_t k = 0; k < n && k < HISTORY_PLAYERS_MAX; k++)
            check_same_slice(a[k], b[k]);
    }
}

static void check_same_stats(const rung_state *s, const rung_state *copy) {
    rung_stats a, b;
    rung_state_stats(s, &a);
    rung_state_stats(copy, &b);
    CHECK_EQ_U64(b.refused, a.refused);
    CHECK_EQ_U64(b.boards, a.boards);
    CHECK_EQ_U64(b.players, a.players);
    CHECK_EQ_U64(b.windows, a.windows);
    CHECK_EQ_U64(b.entries, a.entries);
    CHECK_EQ_U64(b.friendships, a.friendships);
    CHECK_EQ_U64(b.ids, a.ids);
    CHECK_EQ_U64(b.banned, a.banned);
    CHECK_EQ_U64(b.profiles, a.profiles);
}

static void check_same(history_gen *g, const rung_state *s, const rung_state *copy) {
    check_same_stats(s, copy);
    check_same_boards(g, s, copy);
    check_same_people(history_gen_taste(g), s, copy);
}

/* ---- the future ---- */

static void check_same_outcome(const rung_outcome *a, const rung_outcome *b) {
    CHECK_EQ_U64(b->seq, a->seq);
    CHECK_EQ_U64(b->changed, a->changed);
    CHECK_EQ_U64(b->duplicate, a->duplicate);
    CHECK_EQ_U64(b->value_count, a->value_count);
    CHECK_EQ_MEM(b->values, a->values, sizeof a->values);
    CHECK_EQ_U64(b->rank_before, a->rank_before);
    CHECK_EQ_U64(b->rank, a->rank);
    CHECK_EQ_U64(b->total, a->total);
    CHECK_EQ_U64(b->passed, a->passed);
    CHECK_EQ_F64(b->percentile, a->percentile);
    CHECK_EQ_U64(b->has_next, a->has_next);
    check_same_slice(a->next, b->next);
    CHECK_EQ_I64(b->gap.i, a->gap.i);
    CHECK_EQ_U64(b->window_count, a->window_count);
    for (uint32_t i = 0; i < a->window_count; i++) {
        const rung_window_outcome *x = &a->windows[i], *y = &b->windows[i];
        CHECK_EQ_U64(y->kind, x->kind);
        CHECK_EQ_I64(y->ordinal, x->ordinal);
        check_same_slice(x->season, y->season);
        CHECK_EQ_U64(y->changed, x->changed);
        CHECK_EQ_U64(y->rank_before, x->rank_before);
        CHECK_EQ_U64(y->rank, x->rank);
        CHECK_EQ_U64(y->total, x->total);
    }
}

static void apply_to_both(rung_state *s, rung_state *copy, const rung_event *e) {
    rung_outcome a, b;
    rung_err err_a = {.message = ""}, err_b = {.message = ""};
    rung_status st = rung_state_apply(s, e, &a, &err_a);
    CHECK_STATUS(rung_state_apply(copy, e, &b, &err_b), st);
    CHECK_EQ_STR(err_b.message, err_a.message);
    check_same_outcome(&a, &b);
    check_same_digest(s, copy);
}

/* A history with a copy beside it that is made anew now and then, of either of the two. */
static void run_history(uint64_t seed, uint64_t events) {
    history_gen *g = history_gen_create(seed);
    const history_taste *taste = history_gen_taste(g);
    rung_state *s = create(taste->id_capacity, taste->id_keep_ms), *copy = copy_of(s, 1);
    rung_rng rng;
    rung_rng_seed(&rng, seed);
    for (uint64_t i = 0; i < events; i++) {
        rung_event e;
        history_gen_next(g, &e);
        apply_to_both(s, copy, &e);
        if (rung_rng_below(&rng, 150))
            continue;
        check_same(g, s, copy);
        rung_state *fresh = copy_of(rung_rng_below(&rng, 2) ? s : copy, rung_rng_below(&rng, 100));
        check_same(g, s, fresh);
        rung_state_destroy(copy);
        copy = fresh;
    }
    CHECK_SOUND(rung_state_check(s));
    CHECK_SOUND(rung_state_check(copy));
    rung_state_destroy(s);
    rung_state_destroy(copy);
    history_gen_destroy(g);
}

TEST(histories) {
    const uint64_t each = 1500, histories = (test_steps(HISTORY_EVENTS) + each - 1) / each;
    for (uint64_t i = 1; i <= histories; i++) {
        run_history(test_seed(i), each); /* a failure names the seed */
        if (getenv("RUNG_SEED"))
            break;
    }
}

/* ---- damage ---- */

/* The state after `events` events of a history. */
static rung_state *state_of(uint64_t seed, uint64_t events) {
    history_gen *g = history_gen_create(seed);
    rung_state *s = create(16, history_gen_taste(g)->id_keep_ms);
    for (uint64_t i = 0; i < events; i++) {
        rung_event e;
        history_gen_next(g, &e);
        rung_status st = rung_state_apply(s, &e, NULL, NULL);
        CHECK(st != RUNG_ENOMEM);
    }
    history_gen_destroy(g);
    return s;
}

/* Whatever gets in must be a state like any other: sound, and able to go on. */
static void live_on(rung_state *s, uint64_t seed) {
    CHECK_SOUND(rung_state_check(s));
    history_gen *g = history_gen_create(seed);
    for (int i = 0; i < 40; i++) {
        rung_event e;
        history_gen_next(g, &e);
        rung_ignore(rung_state_apply(s, &e, NULL, NULL), "anything but a crash will do");
    }
    CHECK_SOUND(rung_state_check(s));
    history_gen_destroy(g);
}

static uint64_t try_damaged(const state_bytes *b, const rung_state *whole, uint64_t seed) {
    rung_state *s = NULL;
    rung_err err;
    rung_status st = state_bytes_load(b, copy_config(), 0, false, &s, &err);
    if (st == RUNG_OK) {
        rung_digest a = rung_state_digest(whole), d = rung_state_digest(s);
        CHECK(a.a == d.a && a.b == d.b);
        rung_state_destroy(s);
    } else {
        CHECK_MSG(st == RUNG_ECORRUPT || st == RUNG_EVERSION, "%s: %s", rung_status_name(st),
                  err.message);
    }
    if (state_bytes_load(b, copy_config(), 0, true, &s, NULL) != RUNG_OK)
        return 0;
    live_on(s, seed);
    rung_state_destroy(s);
    return 1;
}

TEST(every_truncation_is_refused) {
    rung_state *s = state_of(5, 400), *copy;
    state_bytes b = {0};
    state_bytes_save(&b, s);
    size_t len = b.len;
    for (b.len = 0; b.len < len; b.len++)
        CHECK_STATUS(state_bytes_load(&b, copy_config(), 0, true, &copy, NULL), RUNG_ECORRUPT);
    b.len = len;
    state_bytes_sink(&b, "", 1);
    CHECK_STATUS(state_bytes_load(&b, copy_config(), 0, true, &copy, NULL), RUNG_ECORRUPT);
    state_bytes_deinit(&b);
    rung_state_destroy(s);
}

/* Every bit of some small states, as far as the time allows; all fields are near the beginning of one of them. */
TEST(every_bit) {
    uint64_t got_in = 0, bits = test_steps(DAMAGE_BYTES) * 8;
    for (uint64_t seed = 1; bits; seed++) {
        rung_state *s = state_of(seed, 20 + seed % 7 * 40);
        state_bytes b = {0};
        state_bytes_save(&b, s);
        for (size_t i = 0; i < b.len && bits; i++)
            for (int bit = 0; bit < 8 && bits; bit++, bits--) {
                b.bytes[i] ^= (uint8_t)(1 << bit);
                got_in += try_damaged(&b, s, seed);
                b.bytes[i] ^= (uint8_t)(1 << bit);
            }
        state_bytes_deinit(&b);
        rung_state_destroy(s);
    }
    CHECK(got_in > 100); /* else this proves little */
}

/* Several bytes by chance, in richer states. */
TEST(bytes_by_chance) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(1));
    for (uint64_t round = test_steps(DAMAGE_BYTES) / 50; round; round--) {
        uint64_t seed = 1 + rung_rng_below(&rng, 1000);
        rung_state *s = state_of(seed, rung_rng_below(&rng, 800));
        state_bytes whole = {0}, b = {0};
        state_bytes_save(&whole, s);
        for (int i = 0; i < 20; i++) {
            b.len = 0;
            state_bytes_sink(&b, whole.bytes, whole.len);
            for (uint64_t n = 1 + rung_rng_below(&rng, 2); n; n--)
                b.bytes[rung_rng_below(&rng, b.len)] = (uint8_t)rung_rng_next(&rng);
            try_damaged(&b, s, seed);
        }
        state_bytes_deinit(&whole);
        state_bytes_deinit(&b);
        rung_state_destroy(s);
    }
}

/* ---- by hand ---- */

static void define(rung_state *s, const char *id, rung_board_def def, int64_t ts_ms) {
    rung_event e = {
        .kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = ts_ms, .defined = {rung_slice_str(id), def}};
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
}

static rung_status submit(rung_state *s, const char *board, const char *player, int64_t score,
                          int64_t ts_ms, const char *id) {
    rung_event e = {.kind = RUNG_EVENT_SCORE, .ts_ms = ts_ms};
    e.score.board = rung_slice_str(board);
    e.score.player = rung_slice_str(player);
    e.score.value_count = 1;
    e.score.values[0].i = score;
    e.score.id = rung_slice_str(id);
    return rung_state_apply(s, &e, NULL, NULL);
}

static void set_attribute(rung_state *s, const char *player, const char *name, const char *value) {
    rung_event e = {.kind = RUNG_EVENT_PLAYER_SET, .ts_ms = 1};
    e.profile.player = rung_slice_str(player);
    e.profile.count = 1;
    e.profile.attributes[0] = (rung_attribute){rung_slice_str(name), rung_slice_str(value)};
    CHECK(rung_state_apply(s, &e, NULL, NULL) >= 0);
}

TEST(nothing_at_all) {
    rung_state *s = create(0, 0), *copy = copy_of(s, 0);
    rung_state_destroy(s);
    rung_state_destroy(copy);
}

/* Many columns, scopes in open and closed windows, erased players in between, a sparse count of submissions. */
TEST(many_players) {
    enum { N = 3000 };
    rung_state *s = create(100, 0);
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_HOUR);
    def.scope_count = 1;
    def.scopes[0] = RUNG_SLICE("country");
    def.has_teams = true;
    def.team_by = RUNG_SLICE("country");
    def.limits = RUNG_LIMIT_RATE;
    def.per_player_per_minute = 5;
    define(s, "race", def, 1);
    char player[32], value[32], id[64];
    for (int i = 0; i < N; i++) {
        snprintf(player, sizeof player, "player-%d", i * 7919 % N);
        snprintf(value, sizeof value, "c%d", i % 17);
        snprintf(id, sizeof id, "%s%d", i % 3 ? "id-" : "a rather long name for an event ", i);
        set_attribute(s, player, "country", value);
        CHECK_OK(submit(s, "race", player, (int64_t)rung_hash_word((uint64_t)i) >> i % 60,
                        1 + i / 10, id));
    }
    rung_event tick = {.kind = RUNG_EVENT_TICK, .ts_ms = 3600000};
    CHECK_OK(rung_state_apply(s, &tick, NULL, NULL));
    for (int i = 0; i < N; i += 3) {
        snprintf(player, sizeof player, "player-%d", i);
        set_attribute(s, player, "country", i % 2 ? "c1" : "elsewhere");
        if (i % 5 == 0) {
            rung_event erase = {
                .kind = RUNG_EVENT_PLAYER_ERASED, .ts_ms = 1, .erased = {rung_slice_str(player)}};
            CHECK_OK(rung_state_apply(s, &erase, NULL, NULL));
        } else if (i % 11 == 0) {
            rung_event ban = {
                .kind = RUNG_EVENT_BANNED, .ts_ms = 1, .ban = {.player = rung_slice_str(player)}};
            CHECK_OK(rung_state_apply(s, &ban, NULL, NULL));
        } else {
            CHECK_OK(submit(s, "race", player, INT64_MAX - i, 3600000 + i, ""));
        }
    }
    rung_state *copy = copy_of(s, 4096);
    for (int i = 0; i < N; i++) {
        snprintf(player, sizeof player, "new-%d", i);
        snprintf(id, sizeof id, "player-%d", i);
        rung_event unban = {
            .kind = RUNG_EVENT_UNBANNED, .ts_ms = 1, .ban = {.player = rung_slice_str(id)}};
        apply_to_both(s, copy, &unban);
        CHECK_STATUS(submit(copy, "race", player, i, 3700000, ""),
                     submit(s, "race", player, i, 3700000, ""));
        check_same_digest(s, copy);
    }
    CHECK_SOUND(rung_state_check(copy));
    rung_state_destroy(s);
    rung_state_destroy(copy);
}

static rung_status refusing_sink(void *ctx, const void *bytes, size_t len) {
    (void)bytes;
    (void)len;
    int *left = ctx;
    return (*left)-- ? RUNG_OK : RUNG_ENOSPC;
}

static rung_status refusing_source(void *ctx, const void **bytes_out, size_t *len_out) {
    static const char start[] = "RUNGSTAT";
    int *left = ctx;
    *bytes_out = start;
    *len_out = sizeof start - 1;
    return (*left)-- ? RUNG_OK : RUNG_EIO;
}

TEST(failures_of_sink_and_source_are_passed_on) {
    rung_state *s = state_of(3, 300), *copy = NULL;
    rung_err err;
    for (int n = 0; n < 20; n++) {
        int left = n;
        CHECK_STATUS(rung_state_save(s, refusing_sink, &left, NULL), RUNG_ENOSPC);
#ifndef RUNG_TEST_BUILD
        break;
#endif
    }
    int left = 1;
    CHECK_STATUS(rung_state_load(copy_config(), refusing_source, &left, NULL, NULL, &copy, &err),
                 RUNG_EIO);
    CHECK_EQ_U64(err.code, RUNG_EIO);
    CHECK_NULL(copy);
    rung_state_destroy(s);
}

TEST(other_versions_and_other_files) {
    rung_state *s = state_of(1, 50), *copy;
    state_bytes b = {0};
    rung_err err;
    state_bytes_save(&b, s);
    b.bytes[8] = RUNG_STATE_FORMAT + 1;
    CHECK_STATUS(state_bytes_load(&b, copy_config(), 0, false, &copy, &err), RUNG_EVERSION);
    b.bytes[0] = 'r';
    CHECK_STATUS(state_bytes_load(&b, copy_config(), 0, false, &copy, &err), RUNG_ECORRUPT);
    CHECK_EQ_STR(err.message, "saved state, before byte 8: it is not a saved state");
    state_bytes_deinit(&b);
    rung_state_destroy(s);
}

/* What the first version wrote is read for ever, and written anew it is the same state. */
TEST(the_first_version) {
    const char *root = getenv("RUNG_SOURCE");
    char path[512];
    static uint8_t old[8192];
    snprintf(path, sizeof path, "%s/tests/golden/state-v1", root ? root : ".");
    FILE *f = fopen(path, "rb");
    CHECK_MSG(f != NULL, "%s: cannot be opened", path);
    state_bytes b = {.bytes = old, .len = fread(old, 1, sizeof old, f)}, again = {0};
    CHECK(fclose(f) == 0 && b.len > 3000 && old[8] == 1);
    rung_state *s, *copy;
    rung_err err = {.message = ""};
    CHECK_MSG(state_bytes_load(&b, copy_config(), 0, false, &s, &err) == RUNG_OK, "%s",
              err.message);
    CHECK_SOUND(rung_state_check(s));
    CHECK_EQ_U64(rung_state_seq(s), 400);
    state_bytes_save(&again, s);
    CHECK_EQ_U64(again.bytes[8], RUNG_STATE_FORMAT);
    CHECK_OK(state_bytes_load(&again, copy_config(), 0, false, &copy, &err));
    CHECK_EQ_U64(rung_state_digest(s).a, rung_state_digest(copy).a);
    rung_state_destroy(copy);
    rung_state_destroy(s);
    state_bytes_deinit(&again);
}

static rung_state *load_golden(const char *name, state_bytes *b) {
    const char *root = getenv("RUNG_SOURCE");
    char path[512];
    static uint8_t golden[16384];
    snprintf(path, sizeof path, "%s/tests/golden/%s", root ? root : ".", name);
    FILE *f = fopen(path, "rb");
    CHECK_MSG(f != NULL, "%s: cannot be opened", path);
    *b = (state_bytes){.bytes = golden, .len = fread(golden, 1, sizeof golden, f)};
    CHECK(fclose(f) == 0);
    rung_state *s;
    rung_err err = {.message = ""};
    CHECK_MSG(state_bytes_load(b, copy_config(), 0, false, &s, &err) == RUNG_OK, "%s", err.message);
    CHECK_SOUND(rung_state_check(s));
    return s;
}

/* Boards of all kinds, closed windows, bans, ids, keys and sets, before there were levels of rules. */
TEST(the_second_version) {
    state_bytes b;
    rung_state *s = load_golden("state-v2", &b);
    rung_stats stats;
    CHECK_EQ_U64(rung_state_rules(s), 0);
    CHECK_EQ_U64(rung_state_digest(s).a, UINT64_C(0xdd6b02adcae33b43));
    CHECK_EQ_U64(rung_state_digest(s).b, UINT64_C(0x317cf1c6ecc0beb6));
    rung_state_stats(s, &stats);
    CHECK_EQ_U64(stats.seq, 603);
    CHECK_EQ_U64(stats.windows, 25);
    CHECK_EQ_U64(stats.banned, 6);
    CHECK_EQ_U64(stats.ids, 38);
    CHECK_EQ_U64(stats.id_capacity, 5000);
    CHECK_EQ_U64(stats.sets, 1);
    rung_state_destroy(s);
}

/* Levels of rules, keys, and horizons of boards, before there were sources. */
TEST(the_third_version) {
    state_bytes b;
    rung_stats stats;
    rung_state *s = load_golden("state-v3", &b);
    CHECK_EQ_U64(rung_state_rules(s), 1);
    CHECK(rung_state_has_keys(s));
    rung_state_stats(s, &stats);
    CHECK_EQ_U64(stats.seq, 606);
    CHECK_EQ_U64(stats.ids, 19);
    rung_state_destroy(s);
}

static rung_status submit_of_source(rung_state *s, const char *source, uint64_t offset) {
    rung_event e = {.kind = RUNG_EVENT_SCORE,
                    .ts_ms = rung_state_time(s),
                    .score = {.board = RUNG_SLICE("of-sources"),
                              .player = RUNG_SLICE("ada"),
                              .value_count = 1,
                              .values = {{.i = 1}},
                              .source = rung_slice_str(source),
                              .offset = offset}};
    return rung_state_apply(s, &e, NULL, NULL);
}

/* The third version's state, with offsets of two sources. */
TEST(the_fourth_version) {
    state_bytes b;
    rung_state *s = load_golden("state-v4", &b);
    for (uint64_t i = 0; i < 5000; i += 1 + i % 3)
        CHECK_STATUS(submit_of_source(s, i % 2 ? "group/topic/0" : "group/topic/1", i),
                     RUNG_DUPLICATE);
    CHECK(submit_of_source(s, "group/topic/1", 4999) != RUNG_DUPLICATE);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

static rung_status fill(rung_state *s, const char *board, uint32_t part, rung_slice packed) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_FILLED, .ts_ms = rung_state_time(s)};
    e.filled.board = rung_slice_str(board);
    e.filled.job = 5;
    e.filled.part = part;
    e.filled.packed = packed;
    return rung_state_apply(s, &e, NULL, NULL);
}

static rung_status swap_shadow(rung_state *s, const char *board, bool is_undo) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_SWAPPED, .ts_ms = rung_state_time(s)};
    e.swapped.board = rung_slice_str(board);
    e.swapped.job = 5;
    e.swapped.is_undo = is_undo;
    return rung_state_apply(s, &e, NULL, NULL);
}

static void write_state(const rung_state *s, const char *path) {
    state_bytes bytes = {0};
    state_bytes_save(&bytes, s);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes.bytes, 1, bytes.len, f) == bytes.len && fclose(f) == 0);
    state_bytes_deinit(&bytes);
}

/* The fifth version's state at level 3, with timed snapshots of three kinds of windows. */
static void write_sixth_version(const char *path) {
    state_bytes b;
    rung_state *s = load_golden("state-v5", &b);
    int64_t now_ms = rung_state_time(s);
    rung_event rules = {.kind = RUNG_EVENT_RULES_SET, .ts_ms = now_ms, .rules = {3}};
    CHECK(rung_state_apply(s, &rules, NULL, NULL) >= 0);
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.season_count = 1;
    def.seasons[0] = (rung_season){RUNG_SLICE("spring cup"), now_ms - 1000, now_ms + 86400000};
    def.snapshot_every_ms = 60000;
    def.snapshot_top = 3;
    def.snapshot_keep = 2;
    define(s, "of-snapshots", def, now_ms);
    rung_event profile = {.kind = RUNG_EVENT_PLAYER_SET, .ts_ms = now_ms};
    profile.profile.player = RUNG_SLICE("ada");
    profile.profile.count = 1;
    profile.profile.attributes[0] = (rung_attribute){RUNG_SLICE("name"), RUNG_SLICE("Ada L.")};
    CHECK(rung_state_apply(s, &profile, NULL, NULL) >= 0);
    static const char *const players[] = {"ada", "snap-1", "snap-2", "snap-3", "snap-4"};
    for (int i = 0; i < 10; i++)
        CHECK_OK(submit(s, "of-snapshots", players[i % 5], i * 10, now_ms + i * 40000, ""));
    write_state(s, path);
    rung_state_destroy(s);
}

/* What this version writes is what it always wrote. RUNG_WRITE_STATE=path writes the file anew. */
TEST(the_sixth_version) {
    state_bytes b, again = {0};
    rung_edition list[4];
    rung_row rows[3];
    rung_slice names[3];
    uint32_t count, total;
    if (getenv("RUNG_WRITE_STATE"))
        write_sixth_version(getenv("RUNG_WRITE_STATE"));
    rung_state *s = load_golden("state-v6", &b);
    state_bytes_save(&again, s);
    CHECK_EQ_U64(again.len, b.len);
    CHECK_EQ_MEM(again.bytes, b.bytes, b.len);
    rung_query q = {.board = RUNG_SLICE("of-snapshots"), .window = RUNG_SLICE("spring cup")};
    CHECK_OK(rung_state_editions(s, &q, 4, list, &count, &total, NULL));
    CHECK_EQ_U64(count, 2);
    CHECK(list[0].version > list[1].version && list[0].at_ms == list[1].at_ms + 60000);
    CHECK_EQ_U64(rung_edition_rows(&list[0], RUNG_RANK_UNIQUE, 0, 3, rows, names), 3);
    CHECK(rows[0].values[0].i > rows[2].values[0].i && rows[2].rank == 3);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
    state_bytes_deinit(&again);
}

/* With shadows (one swapped in, one with a queue), and a session. */
TEST(the_fifth_version) {
    state_bytes b;
    rung_shadow_info info;
    rung_view v;
    rung_state *s = load_golden("state-v5", &b);
    CHECK_OK(rung_state_shadow(s, RUNG_SLICE("of-queue"), &info));
    CHECK_EQ_U64(info.phase, RUNG_SHADOW_QUEUEING);
    CHECK(info.queued > 0);
    CHECK_OK(fill(s, "of-queue", 3, rung_fill_complete));
    CHECK_OK(rung_state_shadow(s, RUNG_SLICE("of-queue"), &info));
    CHECK_EQ_U64(info.entries, 1); /* only what was queued */
    CHECK_OK(rung_state_view(s, &(rung_query){.board = RUNG_SLICE("of-swap")}, &v, NULL));
    CHECK_EQ_U64(v.total, 1);
    CHECK_STATUS(submit(s, "of-swap", "ada", 7, rung_state_time(s), "first"), RUNG_DUPLICATE);
    CHECK_OK(swap_shadow(s, "of-swap", true));
    CHECK_OK(rung_state_view(s, &(rung_query){.board = RUNG_SLICE("of-swap")}, &v, NULL));
    CHECK_EQ_U64(v.total, 2);
    rung_session_info session;
    CHECK_OK(rung_state_session(s, RUNG_SLICE("mh0Jv3nqSIm2o1pZbD4xWg"), &session));
    CHECK(rung_slice_eq(session.player, RUNG_SLICE("ada")) && session.window_ms == 300000);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

TEST(limits_are_those_of_the_configuration) {
    rung_state *s = create(0, 0), *copy;
    for (int i = 0; i < 3; i++)
        define(s, (const char *[]){"a", "b", "c"}[i], rung_board_def_default(), i);
    CHECK_OK(submit(s, "a", "ada", 1, 5, "one"));
    CHECK_OK(submit(s, "a", "ada", 2, 6, "two"));
    state_bytes b = {0};
    rung_err err;
    state_bytes_save(&b, s);
    rung_state_config config = {.alloc = rung_alloc_heap(), .boards_max = 2};
    CHECK_STATUS(state_bytes_load(&b, &config, 0, false, &copy, &err), RUNG_ELIMIT);
    config.boards_max = 3;
    config.id_capacity = 2; /* fewer than before: the next one pushes the first out */
    CHECK_OK(state_bytes_load(&b, &config, 0, false, &copy, &err));
    CHECK_STATUS(submit(copy, "a", "ada", 1, 7, "one"), RUNG_DUPLICATE);
    CHECK_OK(submit(copy, "a", "ada", 3, 8, "three"));
    CHECK_STATUS(submit(copy, "a", "ada", 1, 9, "one"),
                 RUNG_UNCHANGED); /* not known any more, and no better */
    CHECK_STATUS(submit(s, "a", "ada", 1, 9, "one"), RUNG_DUPLICATE);
    state_bytes_deinit(&b);
    rung_state_destroy(s);
    rung_state_destroy(copy);
}

TEST(a_state_that_is_not_whole_is_not_saved) {
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    rung_state *s;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_failalloc_port(&fa)}, &s));
    rung_failalloc_fail_at(&fa, 1, true);
    rung_event e = {.kind = RUNG_EVENT_BANNED, .ts_ms = 1, .ban = {.player = RUNG_SLICE("ada")}};
    CHECK_STATUS(rung_state_apply(s, &e, NULL, NULL), RUNG_ENOMEM);
    state_bytes b = {0};
    CHECK_STATUS(rung_state_save(s, state_bytes_sink, &b, NULL), RUNG_ENOMEM);
    CHECK_EQ_U64(b.len, 0);
    rung_state_destroy(s);
    rung_failalloc_deinit(&fa);
}

typedef struct told {
    uint64_t calls, done, total;
} told;

static void note(void *ctx, uint64_t done, uint64_t total) {
    told *t = ctx;
    CHECK(done <= total && done >= t->done);
    *t = (told){t->calls + 1, done, total};
}

TEST(progress) {
    enum { N = 100000 };
    rung_state *s = create(0, 0), *copy;
    define(s, "race", rung_board_def_default(), 1);
    char player[32];
    for (int i = 0; i < N; i++) {
        snprintf(player, sizeof player, "%d", i);
        CHECK_OK(submit(s, "race", player, i, 1, ""));
    }
    told saved = {0}, loaded = {0};
    state_bytes b = {0};
    CHECK_OK(rung_state_save(s, state_bytes_sink, &b, &(rung_save_progress){note, &saved}));
    state_source source = {b.bytes, b.len, 1 << 16, NULL};
    rung_save_progress progress = {note, &loaded};
    CHECK_OK(
        rung_state_load(copy_config(), state_source_next, &source, &progress, NULL, &copy, NULL));
    check_same_digest(s, copy);
    CHECK_EQ_U64(saved.total, 2 * N);
    CHECK_EQ_U64(saved.done, 2 * N);
    CHECK_EQ_U64(saved.calls, 4);
    CHECK_EQ_MEM(&loaded, &saved, sizeof saved);
    state_bytes_deinit(&b);
    rung_state_destroy(s);
    rung_state_destroy(copy);
}

/* ---- a helper ---- */

/* The laziest there is: it does the work when somebody waits for it. Whatever needed it before would be wrong. */
typedef struct lazy {
    void (*work)(void *arg);
    void *arg;
    bool is_willing;
    uint32_t begun, waited;
} lazy;

static bool lazy_begin(void *ctx, void (*work)(void *arg), void *arg) {
    lazy *z = ctx;
    CHECK_NULL(z->work);
    z->begun++;
    if (z->is_willing) {
        z->work = work;
        z->arg = arg;
    }
    return z->is_willing;
}

static void lazy_wait(void *ctx) {
    lazy *z = ctx;
    CHECK(z->work);
    z->work(z->arg);
    z->work = NULL;
    z->waited++;
}

static rung_status load_helped(const state_bytes *b, size_t len, lazy *z, rung_state **copy) {
    rung_load_helper helper = {z, lazy_begin, lazy_wait};
    state_source source = {b->bytes, len, 4096, NULL};
    rung_status st =
        rung_state_load(copy_config(), state_source_next, &source, NULL, &helper, copy, NULL);
    free(source.given);
    return st;
}

TEST(a_helper_late_unwilling_and_needed_no_more) {
    rung_state *s = state_of(9, 2000), *copy = NULL;
    state_bytes b = {0};
    state_bytes_save(&b, s);
    for (int willing = 0; willing < 2; willing++) {
        lazy z = {.is_willing = willing};
        CHECK_OK(load_helped(&b, b.len, &z, &copy));
        CHECK(z.begun == 1 && z.waited == (uint32_t)willing);
        check_same_digest(s, copy);
        CHECK_NULL(rung_state_check(copy));
        rung_state_destroy(copy);
    }
    for (size_t len = 0; len < b.len; len += 1 + b.len / 97) {
        lazy z = {.is_willing = true};
        CHECK_STATUS(load_helped(&b, len, &z, &copy), RUNG_ECORRUPT);
        CHECK_EQ_U64(z.begun, z.waited);
    }
    state_bytes_deinit(&b);
    rung_state_destroy(s);
}

/* ---- words ---- */

static void check_column(const uint64_t *values, uint32_t n) {
    uint64_t back[RUNG__COLUMN_MAX];
    state_bytes b = {0};
    rung__out o = {.sink = state_bytes_sink, .ctx = &b};
    rung__out_column(&o, values, n);
    rung__out_flush(&o);
    state_source source = {b.bytes, b.len, 13, NULL};
    rung__in in = {.source = state_source_next, .ctx = &source};
    rung__in_column(&in, back, n);
    CHECK_STATUS(in.st, RUNG_OK);
    CHECK_EQ_MEM(back, values, n * sizeof *values);
    rung__in_finish(&in);
    CHECK_STATUS(in.st, RUNG_OK);
    state_bytes_deinit(&b);
}

TEST(columns_of_every_width_and_length) {
    uint64_t values[RUNG__COLUMN_MAX];
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(1));
    for (unsigned width = 0; width <= 64; width++) {
        uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1,
                 base = rung_rng_next(&rng) & ~mask;
        for (uint32_t n = 1; n <= RUNG__COLUMN_MAX; n += n < 20 ? 1 : 59) {
            for (uint32_t i = 0; i < n; i++)
                values[i] = base + (rung_rng_next(&rng) & mask);
            check_column(values, n);
        }
    }
}

TEST(numbers_have_one_spelling) {
    static const struct {
        const char *bytes;
        size_t len;
    } wrong[] = {{"\x80\x00", 2},
                 {"\xff\x80\x00", 3},
                 {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10},
                 {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},
                 {"\x80", 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        state_source source = {(const uint8_t *)wrong[i].bytes, wrong[i].len, 1, NULL};
        rung__in in = {.source = state_source_next, .ctx = &source};
        CHECK_EQ_U64(rung__in_number(&in), 0);
        CHECK_STATUS(in.st, RUNG_ECORRUPT);
        free(source.given);
    }
    for (unsigned shift = 0; shift < 64; shift++)
        for (int i = -1; i <= 1; i++) {
            uint64_t number = (UINT64_C(1) << shift) + (uint64_t)i;
            state_bytes b = {0};
            rung__out o = {.sink = state_bytes_sink, .ctx = &b};
            rung__out_number(&o, number);
            rung__out_signed(&o, (int64_t)number);
            rung__out_flush(&o);
            state_source source = {b.bytes, b.len, 3, NULL};
            rung__in in = {.source = state_source_next, .ctx = &source};
            CHECK_EQ_U64(rung__in_number(&in), number);
            CHECK_EQ_I64(rung__in_signed(&in), (int64_t)number);
            CHECK_EQ_U64(rung__in_offset(&in), b.len);
            free(source.given);
            state_bytes_deinit(&b);
        }
}

RUNG_TEST_MAIN
