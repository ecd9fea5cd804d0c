/* SPDX-License-Identifier: Apache-2.0 */
/* A rating board computed again against a plain fold of the changed history.
 *
 * Random matches, removals, bans and seasons are applied to a live state. In the middle a helper folds the same events
 * with the board's shadow, under other parameters and without some matches, and fills the live state's shadow in
 * rounds while the history goes on; now and then the live state is saved and loaded. After the swap the board must be
 * what a third state has that never saw the matches that are left out. */
#include "service/replay_fold.h"
#include "state/image/save.h"
#include "support/check.h"
#include "support/rng.h"
#include "support/state_bytes.h"

#include <stdio.h>
#include <string.h>

enum { PLAYERS = 16, STEPS = 240, JOB = 5, LEFT_OUT = 6, ROWS = 64, MATCHES = 300 };

static const rung_slice BOARD = {.ptr = "chess", .len = 5};
static char names[PLAYERS][16];
static rung_event events[STEPS];
static uint8_t packed[STEPS][256];
static uint64_t left_out[LEFT_OUT];
static rung_board_def definition, changed;
static rung_rng rng;

static rung_board_def make_def(rung_rating_system system) {
    rung_board_def d = rung_board_def_default();
    d.update = (rung_update)(RUNG_UPDATE_ELO + system);
    d.key.columns[0] = (rung_column){RUNG_SCORE_DECIMAL, RUNG_ORDER_DESC, 3};
    d.windows = RUNG_WINDOWS_ALL | RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    rung_rating_params_init(&d.rating, system);
    d.rating.season_keep = 0.5;
    d.rating.results_kept = 100;
    d.season_count = 2;
    for (int i = 0; i < 2; i++)
        d.seasons[i] = (rung_season){.name = rung_slice_str(i ? "b" : "a"),
                                     .starts_ms = 1763208000000 + i * INT64_C(86400000),
                                     .ends_ms = 1763208000000 + INT64_C(40) * 86400000};
    return d;
}

static void make_match(uint32_t i) {
    rung_byte_writer w = rung_byte_writer_of(packed[i], sizeof packed[i]);
    uint32_t first = (uint32_t)rung_rng_below(&rng, PLAYERS),
             sides = 2 + (uint32_t)rung_rng_below(&rng, 3);
    for (uint32_t k = 0; k < sides; k++) {
        rung_match_entry e = {.player = rung_slice_str(names[(first + 3 * k) % PLAYERS]),
                              .is_first = true,
                              .place = (int32_t)rung_rng_below(&rng, 3),
                              .weight = 1,
                              .played = rung_rng_below(&rng, 4) ? 1 : 0.5};
        CHECK(rung_match_put(&w, &e));
    }
    events[i].kind = RUNG_EVENT_MATCH;
    events[i].match = (rung_match_event){.board = BOARD, .player_count = sides};
    events[i].match.packed = rung_slice_of(packed[i], rung_byte_writer_length(&w));
}

static void make_history(void) {
    int64_t now_ms = 1763200000000;
    memset(events, 0, sizeof events);
    for (uint32_t i = 0; i < STEPS; i++) {
        rung_slice player = rung_slice_str(names[rung_rng_below(&rng, PLAYERS)]);
        rung_event *e = &events[i];
        e->ts_ms = now_ms += (int64_t)rung_rng_below(&rng, 1200000);
        uint64_t dice = i ? rung_rng_below(&rng, 40) : 0;
        if (i == 0) {
            e->kind = RUNG_EVENT_BOARD_DEFINED;
            e->defined.board = BOARD;
            e->defined.def = definition;
        } else if (dice == 0) {
            e->kind = RUNG_EVENT_ENTRY_REMOVED;
            e->removed.board = BOARD;
            e->removed.player = player;
        } else if (dice < 4) {
            e->kind = dice == 1 ? RUNG_EVENT_BANNED : RUNG_EVENT_UNBANNED;
            e->ban.player = player;
        } else if (dice == 4) {
            e->kind = RUNG_EVENT_TICK;
        } else {
            make_match(i);
        }
    }
}

static bool is_left_out(uint64_t seq) {
    for (uint32_t i = 0; i < LEFT_OUT; i++)
        if (left_out[i] == seq)
            return true;
    return false;
}

static rung_state *create(void) {
    rung_state *s;
    CHECK_OK(
        rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap(), .rules_level = 2}, &s));
    return s;
}

static void apply(rung_state *s, const rung_event *e) {
    rung_err err;
    CHECK(rung_state_apply(s, e, NULL, &err) != RUNG_ENOMEM);
}

static rung_status put(rung_state **live, uint32_t *part, int64_t ts_ms, rung_slice bytes) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_FILLED, .ts_ms = ts_ms};
    e.filled.board = BOARD;
    e.filled.job = JOB;
    e.filled.part = *part;
    e.filled.packed = bytes;
    rung_err err = {0};
    rung_status st = rung_state_apply(*live, &e, NULL, &err);
    *part += st >= 0;
    return st;
}

static void reload(rung_state **live) {
    state_bytes b = {0};
    rung_state *copy;
    rung_digest before = rung_state_digest(*live);
    state_bytes_save(&b, *live);
    CHECK_OK(state_bytes_load(&b, &(rung_state_config){.alloc = rung_alloc_heap()}, 0, false, &copy,
                              NULL));
    state_bytes_deinit(&b);
    CHECK_EQ_U64(rung_state_digest(copy).a, before.a);
    rung_state_destroy(*live);
    *live = copy;
}

/* Sequences of the live state and of the other two differ by the parts that were put: so all three are compared by
 * the order of what they know. */
static void check_same(const rung_state *a, const rung_state *b) {
    static rung_match_info ma[MATCHES], mb[MATCHES];
    for (int w = 0; w < 4; w++) {
        static const char *const words[] = {"all", "day", "a", "b"};
        rung_query q = {.board = BOARD, .window = rung_slice_str(words[w])};
        rung_view va, vb;
        rung_row ra[ROWS], rb[ROWS];
        rung_status sa = rung_state_view(a, &q, &va, NULL), sb = rung_state_view(b, &q, &vb, NULL);
        CHECK_STATUS(sa, sb);
        if (sa != RUNG_OK)
            continue;
        uint32_t n = rung_view_top(&va, 0, ROWS, ra);
        CHECK_EQ_U64(n, rung_view_top(&vb, 0, ROWS, rb));
        for (uint32_t i = 0; i < n; i++) {
            CHECK(rung_slice_eq(ra[i].id, rb[i].id));
            CHECK_EQ_I64(ra[i].values[0].i, rb[i].values[0].i);
            CHECK_EQ_U64(ra[i].rank, rb[i].rank);
        }
    }
    for (int p = 0; p < PLAYERS; p++) {
        rung_rating_card ca = {0}, cb = {0};
        CHECK_STATUS(rung_state_rating(a, BOARD, rung_slice_str(names[p]), &ca),
                     rung_state_rating(b, BOARD, rung_slice_str(names[p]), &cb));
        CHECK_EQ_F64(ca.rating.rating, cb.rating.rating);
        CHECK_EQ_F64(ca.rating.deviation, cb.rating.deviation);
        CHECK_EQ_U64(ca.wins, cb.wins);
        CHECK_EQ_I64(ca.streak, cb.streak);
    }
    uint32_t n = rung_state_matches(a, BOARD, 0, MATCHES, ma);
    CHECK_EQ_U64(n, rung_state_matches(b, BOARD, 0, MATCHES, mb));
    for (uint32_t i = 0; i < n; i++) {
        rung_match_result xa[8], xb[8];
        uint32_t k = rung_state_match_results(a, BOARD, ma[i].seq, 8, xa);
        CHECK_EQ_U64(k, rung_state_match_results(b, BOARD, mb[i].seq, 8, xb));
        CHECK_EQ_I64(ma[i].ts_ms, mb[i].ts_ms);
        while (k--) {
            CHECK(rung_slice_eq(xa[k].player, xb[k].player));
            CHECK_EQ_F64(xa[k].rating, xb[k].rating);
            CHECK_EQ_I64(xa[k].score, xb[k].score);
        }
    }
}

static void run(uint64_t seed) {
    rung_rng_seed(&rng, seed);
    for (int i = 0; i < PLAYERS; i++)
        snprintf(names[i], sizeof names[i], "p%d", i);
    definition = make_def((rung_rating_system)rung_rng_below(&rng, 3));
    changed = make_def((rung_rating_system)rung_rng_below(&rng, 3));
    changed.rating.min_games = (uint32_t)rung_rng_below(&rng, 3);
    make_history();
    uint32_t half = STEPS / 2, part = 0, at = 0;
    for (uint32_t i = 0; i < LEFT_OUT; i++)
        left_out[i] = 2 + i * (half / LEFT_OUT); /* sequences ascend; some may be no matches */
    rung_replay_spec spec = {.board = BOARD,
                             .def = &changed,
                             .match_count = LEFT_OUT,
                             .matches = left_out,
                             .until_seq = half};
    rung_state *live = create(), *helper = create(), *third = create();
    rung_replay_fold fold;
    CHECK_OK(rung_replay_fold_init(&fold, rung_alloc_heap(), helper, &spec));
    uint32_t folded = 0;
    for (; at < half; at++)
        apply(live, &events[at]);
    static uint8_t bytes[RUNG_FILL_BYTES_MAX];
    rung_status done = RUNG_EREFUSED;
    for (int round = 0; done != RUNG_OK && at < STEPS - 20; round++) {
        bool is_last = round > 0;
        if (is_last)
            CHECK_OK(put(&live, &part, events[at].ts_ms, rung_fill_queue));
        for (; folded < at; folded++)
            CHECK_OK(rung_replay_fold_apply(&fold, &events[folded], NULL));
        rung_fill fill;
        size_t length;
        CHECK_OK(rung_fill_begin(helper, BOARD, round > 0, &fill));
        while (rung_fill_next(&fill, bytes, round ? 4096 : sizeof bytes, &length) == RUNG_OK) {
            if (length)
                CHECK_OK(put(&live, &part, events[at].ts_ms, rung_slice_of(bytes, length)));
            if (rung_rng_below(&rng, 2) && at < STEPS - 20)
                apply(live, &events[at++]);
            if (rung_rng_below(&rng, 8) == 0)
                reload(&live);
        }
        rung_state_shadow_note(helper);
        if (is_last)
            done = put(&live, &part, events[at].ts_ms, rung_fill_complete);
        CHECK_SOUND(rung_state_check(live));
    }
    CHECK_OK(done);
    reload(&live);
    for (; at < STEPS; at++)
        apply(live, &events[at]);
    CHECK_SOUND(rung_state_check(live));
    rung_event swap = {.kind = RUNG_EVENT_BOARD_SWAPPED,
                       .ts_ms = events[STEPS - 1].ts_ms,
                       .swapped = {.board = BOARD, .job = JOB}};
    apply(live, &swap);
    events[0].defined.def = changed;
    for (uint32_t i = 0; i < STEPS; i++) {
        rung_event tick = {.kind = RUNG_EVENT_TICK, .ts_ms = events[i].ts_ms};
        bool is_out = is_left_out(i + 1) && events[i].kind == RUNG_EVENT_MATCH;
        apply(third, is_out ? &tick : &events[i]);
    }
    CHECK_SOUND(rung_state_check(live));
    check_same(live, third);
    rung_replay_fold_deinit(&fold);
    rung_state_destroy(live);
    rung_state_destroy(helper);
    rung_state_destroy(third);
}

TEST(a_swapped_board_is_what_the_changed_history_gives) {
    for (uint64_t i = 0; i < test_steps(40); i++)
        run(test_seed(1) + i);
}

RUNG_TEST_MAIN
