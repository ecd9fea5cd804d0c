/* SPDX-License-Identifier: Apache-2.0 */
/* Timed snapshots against a brute-force model. Before every event the model asks of each board and window: does the
 * event leave the span of `every` that log time was in, and is the ranking that was current at its end another one than
 * in the newest version? Then it copies the whole ranking, row by row, with names. It has no digests and no hints.
 * A second state gets the same events and is saved and loaded all the time: it must always have the same digest. */
#include "state/editions.h"
#include "state/image/save.h"
#include "state/state.h"
#include "support/check.h"
#include "support/rng.h"
#include "support/state_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAYERS = 12, BOARDS = 3, STEPS = 2500, KINDS = 4, COPIES_MAX = 64, ROWS = 32 };
#define NOON INT64_C(1763208000000)

typedef struct row_copy {
    char player[16], name[16];
    rung_value values[RUNG_COLUMNS_MAX];
    int64_t at_ms;
    uint32_t rank[3];
    double percentile;
} row_copy;

typedef struct copy {
    uint64_t version;
    int64_t at_ms, ordinal;
    uint32_t total, kept;
    row_copy rows[ROWS]; /* all of them, also those that are not kept */
} copy;

typedef struct board_model {
    bool exists;
    rung_board_def def;
    copy *list[KINDS]; /* oldest first */
    uint32_t count[KINDS];
} board_model;

static const rung_slice windows[KINDS] = {{"all", 3}, {"hour", 4}, {"day", 3}, {"cup", 3}};
static const uint32_t kinds[KINDS] = {RUNG_WINDOW_ALL, RUNG_WINDOW_HOUR, RUNG_WINDOW_DAY,
                                      RUNG_WINDOW_SEASON};
static rung_rng rng;
static uint64_t taken, withdrawn, trimmed, ahead;

typedef struct world {
    rung_state *s, *other;
    rung_state_config config;
    board_model boards[BOARDS];
    int64_t now_ms;
    char names[PLAYERS][8];
} world;

static int64_t between(int64_t low, int64_t high) {
    return low + (int64_t)rung_rng_below(&rng, (uint64_t)(high - low + 1));
}

static bool chance(uint32_t percent) {
    return between(1, 100) <= percent;
}

static rung_slice board_name(uint32_t i) {
    static const char *const names[BOARDS] = {"one", "two", "three"};
    return rung_slice_str(names[i]);
}

static bool has_kind(const rung_board_def *d, uint32_t k) {
    return kinds[k] == RUNG_WINDOW_SEASON ? d->season_count != 0 : d->windows >> kinds[k] & 1;
}

static int64_t floor_to(int64_t ms, int64_t every) {
    return ms - ((ms % every) + every) % every;
}

/* ---- the model takes copies ---- */

static void text_of(char *out, size_t size, rung_slice text) {
    snprintf(out, size, "%.*s", (int)text.len, text.ptr ? text.ptr : "");
}

static void copy_name(const rung_state *s, rung_slice id, char out[16]) {
    rung_attribute attributes[RUNG_ATTRIBUTES_MAX];
    uint32_t count = 0;
    bool is_banned;
    out[0] = '\0';
    CHECK_OK(rung_state_player(s, id, &count, attributes, &is_banned));
    for (uint32_t i = 0; i < count; i++)
        if (rung_slice_eq(attributes[i].name, RUNG_SLICE("name")))
            text_of(out, 16, attributes[i].value);
}

/* The ranking as a copy; false: there is no such ranking in memory. */
static bool copy_ranking(const world *w, uint32_t board, uint32_t k, int64_t end_ms, copy *out) {
    static rung_row rows[ROWS];
    const board_model *m = &w->boards[board];
    rung_view view;
    rung_query q = {.board = board_name(board), .window = windows[k], .now_ms = end_ms - 1};
    if (kinds[k] == RUNG_WINDOW_SEASON &&
        (end_ms <= m->def.seasons[0].starts_ms || end_ms > m->def.seasons[0].ends_ms))
        return false;
    memset(out, 0, sizeof *out);
    for (uint32_t style = 0; style < 3; style++) {
        q.has_rank = true;
        q.rank = (rung_rank_style)style;
        if (rung_state_view(w->s, &q, &view, NULL) != RUNG_OK || !view.ladder)
            return false;
        CHECK(view.total <= ROWS);
        CHECK_EQ_U64(rung_view_top(&view, 0, ROWS, rows), view.total);
        for (uint32_t i = 0; i < view.total; i++) {
            row_copy *r = &out->rows[i];
            text_of(r->player, sizeof r->player, rows[i].id);
            copy_name(w->s, rows[i].id, r->name);
            memcpy(r->values, rows[i].values, sizeof r->values);
            r->at_ms = rows[i].at_ms;
            r->rank[style] = rows[i].rank;
            r->percentile = rows[i].percentile;
        }
    }
    out->total = view.total;
    out->kept = view.total < m->def.snapshot_top ? view.total : m->def.snapshot_top;
    out->ordinal = view.ordinal;
    out->at_ms = end_ms;
    out->version = rung_state_seq(w->s);
    ahead += view.start_ms > rung_state_time(w->s);
    return true;
}

static bool same_entries(const copy *a, const copy *b) {
    if (a->total != b->total || a->kept != b->kept || a->ordinal != b->ordinal)
        return false;
    for (uint32_t i = 0; i < a->total; i++)
        if (strcmp(a->rows[i].player, b->rows[i].player) != 0 ||
            memcmp(a->rows[i].values, b->rows[i].values, sizeof a->rows[i].values) != 0 ||
            a->rows[i].at_ms != b->rows[i].at_ms)
            return false;
    return true;
}

static void trim(board_model *m, uint32_t k) {
    while (m->count[k] > m->def.snapshot_keep) {
        memmove(&m->list[k][0], &m->list[k][1], --m->count[k] * sizeof(copy));
        trimmed++;
    }
}

static void forget(board_model *m, uint32_t k, uint32_t i) {
    memmove(&m->list[k][i], &m->list[k][i + 1], (m->count[k] - i - 1) * sizeof(copy));
    m->count[k]--;
}

static void before_event(world *w, int64_t ts_ms) {
    static copy c;
    int64_t before_ms = rung_state_time(w->s);
    for (uint32_t i = 0; i < BOARDS && before_ms != INT64_MIN; i++) {
        board_model *m = &w->boards[i];
        int64_t every = m->def.snapshot_every_ms;
        if (!m->exists || !every || floor_to(before_ms, every) >= floor_to(ts_ms, every))
            continue;
        for (uint32_t k = 0; k < KINDS; k++) {
            uint32_t n = m->count[k];
            if (!has_kind(&m->def, k) ||
                !copy_ranking(w, i, k, floor_to(before_ms, every) + every, &c) ||
                ((!n || m->list[k][n - 1].ordinal != c.ordinal) && !c.total) ||
                (n && same_entries(&m->list[k][n - 1], &c)))
                continue;
            CHECK(n < COPIES_MAX);
            m->list[k][m->count[k]++] = c;
            taken++;
            trim(m, k);
        }
    }
}

static void withdraw(world *w, rung_slice player) {
    for (uint32_t i = 0; i < BOARDS; i++)
        for (uint32_t k = 0; k < KINDS; k++)
            for (uint32_t c = w->boards[i].count[k]; c-- > 0;) {
                const copy *one = &w->boards[i].list[k][c];
                bool shows = false;
                for (uint32_t r = 0; r < one->kept; r++)
                    shows |= rung_slice_eq(rung_slice_str(one->rows[r].player), player);
                if (shows) {
                    forget(&w->boards[i], k, c);
                    withdrawn++;
                }
            }
}

/* ---- comparing ---- */

static void compare_edition(const copy *want, const rung_edition *got) {
    static rung_row rows[ROWS];
    rung_slice names[ROWS];
    CHECK_EQ_U64(got->version, want->version);
    CHECK_EQ_I64(got->at_ms, want->at_ms);
    CHECK_EQ_I64(got->ordinal, want->ordinal);
    CHECK_EQ_U64(got->total, want->total);
    CHECK_EQ_U64(got->count, want->kept);
    for (uint32_t style = 0; style < 3; style++) {
        uint32_t offset = (uint32_t)between(0, 3);
        uint32_t n = rung_edition_rows(got, (rung_rank_style)style, offset, ROWS, rows, names);
        CHECK_EQ_U64(n, want->kept > offset ? want->kept - offset : 0);
        for (uint32_t i = 0; i < n; i++) {
            const row_copy *r = &want->rows[offset + i];
            CHECK(rung_slice_eq(rows[i].id, rung_slice_str(r->player)));
            CHECK(rung_slice_eq(names[i], rung_slice_str(r->name)));
            CHECK_EQ_I64(rows[i].values[0].i, r->values[0].i);
            CHECK_EQ_I64(rows[i].at_ms, r->at_ms);
            CHECK_EQ_U64(rows[i].rank, r->rank[style]);
            CHECK(rows[i].percentile == r->percentile);
        }
    }
}

static void compare(const world *w) {
    static rung_edition got[COPIES_MAX];
    for (uint32_t i = 0; i < BOARDS; i++)
        for (uint32_t k = 0; k < KINDS; k++) {
            const board_model *m = &w->boards[i];
            rung_query q = {.board = board_name(i), .window = windows[k]};
            uint32_t count = 0, total = 0;
            bool has = m->exists && m->def.snapshot_every_ms && has_kind(&m->def, k);
            rung_status st = rung_state_editions(w->s, &q, COPIES_MAX, got, &count, &total, NULL);
            CHECK_STATUS(st, has ? RUNG_OK : RUNG_NOT_FOUND);
            CHECK_EQ_U64(total, has ? m->count[k] : 0);
            CHECK_EQ_U64(count, total);
            if (!count)
                continue;
            uint32_t c = (uint32_t)between(0, count - 1);
            compare_edition(&m->list[k][count - 1], &got[0]);
            compare_edition(&m->list[k][count - 1 - c], &got[c]);
            rung_edition one;
            CHECK_OK(rung_state_edition(w->s, &q, got[c].version, &one, NULL));
            CHECK_EQ_U64(one.hash, got[c].hash);
            CHECK_OK(rung_state_edition(w->s, &q, RUNG_EDITION_NEWEST, &one, NULL));
            CHECK_EQ_U64(one.version, got[0].version);
            CHECK(rung_state_edition(w->s, &q, got[0].version + 1, &one, NULL) == RUNG_NOT_FOUND);
        }
    CHECK_EQ_U64(rung_state_digest(w->s).a, rung_state_digest(w->other).a);
    CHECK_EQ_U64(rung_state_digest(w->s).b, rung_state_digest(w->other).b);
}

/* ---- events ---- */

static rung_status apply(world *w, rung_event *e) {
    e->ts_ms = w->now_ms;
    before_event(w, w->now_ms);
    rung_status st = rung_state_apply(w->s, e, NULL, NULL);
    CHECK_STATUS(rung_state_apply(w->other, e, NULL, NULL), st);
    return st;
}

static void restart(world *w) {
    state_bytes bytes = {0};
    rung_err err = {.message = ""};
    state_bytes_save(&bytes, w->other);
    rung_state_destroy(w->other);
    CHECK_MSG(state_bytes_load(&bytes, &w->config, 0, false, &w->other, &err) == RUNG_OK, "%s",
              err.message);
    CHECK_SOUND(rung_state_check(w->other));
    state_bytes_deinit(&bytes);
}

static void define(world *w, uint32_t i) {
    static const int64_t every[] = {1000, 60000, 600000, 3600000};
    board_model *m = &w->boards[i];
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED};
    rung_board_def d = rung_board_def_default();
    d.windows = RUNG_WINDOWS_ALL | (chance(80) ? RUNG_WINDOWS_BIT(RUNG_WINDOW_HOUR) : 0) |
                (chance(50) ? RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY) : 0);
    d.update = i == 2 ? RUNG_UPDATE_SUM : RUNG_UPDATE_BEST;
    d.rank = (rung_rank_style)between(0, 2);
    d.grace_ms = 600000;
    if (i == 0) {
        d.season_count = 1;
        d.seasons[0] = (rung_season){RUNG_SLICE("cup"), NOON + 3600000, NOON + 4 * 3600000};
    }
    if (chance(90)) {
        d.snapshot_every_ms = every[between(0, 3)];
        d.snapshot_top = (uint32_t)between(1, 15);
        d.snapshot_keep = (uint32_t)between(1, 8);
    }
    e.defined.board = board_name(i);
    e.defined.def = d;
    if (apply(w, &e) < 0)
        return; /* the season has closed */
    m->exists = true;
    m->def = d;
    for (uint32_t k = 0; k < KINDS; k++) {
        if (!d.snapshot_every_ms || !has_kind(&d, k))
            m->count[k] = 0;
        else
            trim(m, k);
    }
}

static void people(world *w, rung_slice player) {
    static const char *const called[] = {"Ada", "Bob", "C"};
    rung_event e = {0};
    uint32_t what = (uint32_t)between(0, 9);
    if (what < 5) {
        e.kind = RUNG_EVENT_PLAYER_SET;
        e.profile.player = player;
        e.profile.count = 1;
        e.profile.attributes[0] =
            (rung_attribute){RUNG_SLICE("name"), rung_slice_str(called[between(0, 2)])};
    } else if (what < 9) {
        e.kind = what < 7 ? RUNG_EVENT_BANNED : RUNG_EVENT_UNBANNED;
        e.ban.player = player;
    } else {
        e.kind = RUNG_EVENT_PLAYER_ERASED;
        e.erased.player = player;
    }
    rung_status st = apply(w, &e);
    if (st == RUNG_OK && (e.kind == RUNG_EVENT_BANNED || e.kind == RUNG_EVENT_PLAYER_ERASED))
        withdraw(w, player);
}

static void delete_board(world *w, uint32_t i) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_DELETED};
    e.deleted.board = board_name(i);
    apply(w, &e);
    w->boards[i].exists = false;
    memset(w->boards[i].count, 0, sizeof w->boards[i].count);
}

static void step(world *w) {
    uint32_t board = (uint32_t)between(0, BOARDS - 1), what = (uint32_t)between(0, 99);
    rung_slice player = rung_slice_str(w->names[between(0, PLAYERS - 1)]);
    rung_event e = {0};
    w->now_ms += chance(60) ? between(0, 300) : chance(80) ? between(0, 90000) : between(0, 900000);
    if (what < 75) {
        e.kind = RUNG_EVENT_SCORE;
        e.score =
            (rung_score_event){.board = board_name(board),
                               .player = player,
                               .value_count = 1,
                               .values = {{.i = between(0, 20)}},
                               .is_delta = board == 2,
                               .has_at = true,
                               .at_ms = w->now_ms + (chance(10) ? between(-900000, 4000000) : 0)};
        apply(w, &e);
    } else if (what < 82) {
        e.kind = RUNG_EVENT_TICK;
        apply(w, &e);
    } else if (what < 86) {
        e.kind = RUNG_EVENT_ENTRY_REMOVED;
        e.removed.board = board_name(board);
        e.removed.player = player;
        apply(w, &e);
    } else if (what < 95) {
        people(w, player);
    } else if (what < 99) {
        define(w, board);
    } else if (chance(30)) {
        delete_board(w, board);
    }
}

TEST(timed_snapshots_are_what_the_model_says) {
    uint64_t seed = test_seed(1);
    static world w;
    memset(&w, 0, sizeof w);
    rung_rng_seed(&rng, seed);
    w.config = (rung_state_config){.alloc = rung_alloc_heap(), .rules_level = RUNG_RULES_LEVEL};
    CHECK_OK(rung_state_create(&w.config, &w.s));
    CHECK_OK(rung_state_create(&w.config, &w.other));
    w.now_ms = NOON;
    for (uint32_t i = 0; i < PLAYERS; i++)
        snprintf(w.names[i], sizeof w.names[i], "p%u", i);
    for (uint32_t i = 0; i < BOARDS; i++)
        for (uint32_t k = 0; k < KINDS; k++) {
            w.boards[i].list[k] = calloc(COPIES_MAX, sizeof(copy));
            CHECK(w.boards[i].list[k]);
        }
    for (uint32_t i = 0; i < STEPS; i++) {
        step(&w);
        if (chance(10))
            restart(&w);
        if (chance(10))
            CHECK_SOUND(rung_state_check(w.s));
        compare(&w);
    }
    CHECK(taken > 200 && withdrawn > 20 && trimmed > 50);
    for (uint32_t i = 0; i < BOARDS; i++)
        for (uint32_t k = 0; k < KINDS; k++)
            free(w.boards[i].list[k]);
    rung_state_destroy(w.s);
    rung_state_destroy(w.other);
}

/* An idle board asks for no tick; a changed one for the end of the span. */
TEST(a_tick_is_due_only_for_what_has_changed) {
    rung_state *s;
    rung_state_config config = {.alloc = rung_alloc_heap(), .rules_level = RUNG_RULES_LEVEL};
    CHECK_OK(rung_state_create(&config, &s));
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = NOON + 1};
    e.defined.board = RUNG_SLICE("race");
    e.defined.def = rung_board_def_default();
    e.defined.def.snapshot_every_ms = 60000;
    e.defined.def.snapshot_top = 10;
    e.defined.def.snapshot_keep = 3;
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    rung_event tick = {.kind = RUNG_EVENT_TICK, .ts_ms = NOON + 60000};
    CHECK(rung_state_apply(s, &tick, NULL, NULL) >= 0);
    CHECK_EQ_I64(rung_state_next_close(s), INT64_MAX);
    rung_event score = {.kind = RUNG_EVENT_SCORE, .ts_ms = NOON + 90000};
    score.score = (rung_score_event){.board = RUNG_SLICE("race"),
                                     .player = RUNG_SLICE("ada"),
                                     .value_count = 1,
                                     .values = {{.i = 7}}};
    CHECK_OK(rung_state_apply(s, &score, NULL, NULL));
    CHECK_EQ_I64(rung_state_next_close(s), NOON + 120000);
    CHECK_EQ_U64(rung_state_edition_newest(s, RUNG_SLICE("race"), 0, (rung_slice){0}), 0);
    tick.ts_ms = NOON + 500000;
    CHECK_STATUS(rung_state_apply(s, &tick, NULL, NULL), RUNG_OK);
    CHECK_EQ_U64(rung_state_edition_newest(s, RUNG_SLICE("race"), 0, (rung_slice){0}), 3);
    CHECK_EQ_I64(rung_state_next_close(s), INT64_MAX);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

/* Definitions that could make the server hold too much. */
TEST(what_all_boards_may_hold_is_limited) {
    rung_state *s;
    rung_state_config config = {.alloc = rung_alloc_heap(), .rules_level = RUNG_RULES_LEVEL};
    CHECK_OK(rung_state_create(&config, &s));
    rung_err err;
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "b%d", i);
        rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = NOON};
        e.defined.board = rung_slice_str(name);
        e.defined.def = rung_board_def_default();
        e.defined.def.snapshot_every_ms = 60000;
        e.defined.def.snapshot_top = 1024;
        e.defined.def.snapshot_keep = 1024;
        CHECK_STATUS(rung_state_apply(s, &e, NULL, &err), i < 4 ? RUNG_OK : RUNG_ELIMIT);
    }
    CHECK_EQ_STR(err.field, "snapshots");
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

RUNG_TEST_MAIN
