/* SPDX-License-Identifier: Apache-2.0 */
/* What level 1 of the rules changes, each held against level 0: an old log gives what it always gave. */
#include "state/keyspace/keys.h"
#include "state/state.h"
#include "support/check.h"

#include <stdio.h>

#define NOON   INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */
#define MINUTE INT64_C(60000)
#define HOUR   INT64_C(3600000)
#define DAY    (24 * HOUR)

/* ---- making events ---- */

static rung_state *create(uint32_t level, uint32_t id_capacity, uint32_t boards_max) {
    rung_state *s;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap(),
                                                    .rules_level = level,
                                                    .id_capacity = id_capacity,
                                                    .boards_max = boards_max},
                               &s));
    return s;
}

static rung_status define(rung_state *s, const char *board, uint8_t windows, int64_t ts_ms) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED,
                    .ts_ms = ts_ms,
                    .defined = {.board = rung_slice_str(board)}};
    e.defined.def = rung_board_def_default();
    e.defined.def.update = RUNG_UPDATE_SUM;
    e.defined.def.windows = windows;
    return rung_state_apply(s, &e, NULL, NULL);
}

static rung_event score(const char *board, int64_t ts_ms) {
    return (rung_event){.kind = RUNG_EVENT_SCORE,
                        .ts_ms = ts_ms,
                        .score = {.board = rung_slice_str(board),
                                  .player = RUNG_SLICE("ada"),
                                  .value_count = 1,
                                  .values = {{.i = 1}}}};
}

static rung_status submit_id(rung_state *s, const char *board, const char *id, int64_t ts_ms) {
    rung_event e = score(board, ts_ms);
    e.score.id = rung_slice_str(id);
    return rung_state_apply(s, &e, NULL, NULL);
}

static rung_status submit_at(rung_state *s, const char *board, int64_t at_ms, int64_t ts_ms) {
    rung_event e = score(board, ts_ms);
    e.score.has_at = true;
    e.score.at_ms = at_ms;
    return rung_state_apply(s, &e, NULL, NULL);
}

/* A UUIDv7 of that time. */
static const char *uuid(int64_t ms, unsigned n) {
    static char text[4][40];
    static unsigned turn;
    char *out = text[turn++ % 4];
    snprintf(out, 40, "%08llx-%04llx-7000-8000-%012x", (unsigned long long)(ms >> 16),
             (unsigned long long)(ms & 0xffff), n);
    return out;
}

static void raise(rung_state *s, int64_t ts_ms) {
    rung_event e = {.kind = RUNG_EVENT_RULES_SET, .ts_ms = ts_ms, .rules = {1}};
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    CHECK_STATUS(rung_state_apply(s, &e, NULL, NULL), RUNG_UNCHANGED);
    CHECK_EQ_U64(rung_state_rules(s), 1);
}

/* ---- ids ---- */

TEST(an_id_may_be_dated_a_minute_ahead) {
    rung_err err;
    for (uint32_t level = 0; level <= 1; level++) {
        rung_state *s = create(level, 0, 0);
        CHECK_OK(define(s, "b", RUNG_WINDOWS_ALL, NOON));
        CHECK_OK(submit_id(s, "b", uuid(NOON + MINUTE, 1), NOON));
        CHECK_STATUS(submit_id(s, "b", uuid(NOON + MINUTE + 1, 2), NOON),
                     level ? RUNG_EFUTURE : RUNG_OK);
        CHECK_STATUS(submit_id(s, "b", uuid(NOON + DAY + 1, 3), NOON),
                     level ? RUNG_EFUTURE : RUNG_ESTALE);
        rung_event e = score("b", NOON);
        e.score.id = rung_slice_str(uuid(NOON + 2 * DAY, 4));
        CHECK(rung_state_apply(s, &e, NULL, &err) < 0 && strncmp(err.message, "id: ", 4) == 0);
        rung_state_destroy(s);
    }
}

/* Whoever writes to a sandbox only must not decide what others may send. */
TEST(one_board_cannot_take_the_room_of_the_others) {
    for (uint32_t level = 0; level <= 1; level++) {
        rung_state *s = create(level, 100, 0);
        CHECK_OK(define(s, "prod", RUNG_WINDOWS_ALL, NOON));
        CHECK_OK(define(s, "sandbox", RUNG_WINDOWS_ALL, NOON));
        for (unsigned i = 0; i < 40; i++)
            CHECK_OK(submit_id(s, "prod", uuid(NOON, i), NOON + i));
        for (unsigned i = 0; i < 1000; i++)
            rung_ignore(submit_id(s, "sandbox", uuid(NOON + MINUTE, i), NOON + 100),
                        "at level 0, or while there is room, it is taken");
        int64_t later = NOON + 200;
        CHECK_STATUS(submit_id(s, "prod", uuid(later, 50), later), level ? RUNG_OK : RUNG_ESTALE);
        CHECK_STATUS(submit_id(s, "prod", uuid(NOON, 0), later),
                     level ? RUNG_DUPLICATE : RUNG_ESTALE);
        CHECK_STATUS(submit_id(s, "prod", uuid(NOON, 39), later),
                     level ? RUNG_DUPLICATE : RUNG_ESTALE);
        rung_stats stats;
        rung_state_stats(s, &stats);
        CHECK_EQ_U64(stats.ids, 100);
        CHECK_SOUND(rung_state_check(s));
        rung_state_destroy(s);
    }
}

/* A few senders whose clocks are fast: their ids stay until their time has come, so nobody else is refused. */
TEST(ids_dated_ahead_do_not_move_the_horizon_past_log_time) {
    rung_state *s = create(1, 100, 0);
    CHECK_OK(define(s, "b", RUNG_WINDOWS_ALL, NOON));
    for (unsigned i = 0; i < 5000; i++) {
        int64_t now = NOON + i;
        CHECK_OK(submit_id(s, "b", uuid(i % 10 ? now : now + 50, i), now));
    }
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

TEST(a_board_takes_its_ids_with_it) {
    rung_state *s = create(0, 100, 0);
    rung_stats stats;
    rung_event gone = {.kind = RUNG_EVENT_BOARD_DELETED, .ts_ms = NOON + 1};
    CHECK_OK(define(s, "a", RUNG_WINDOWS_ALL, NOON));
    CHECK_OK(define(s, "b", RUNG_WINDOWS_ALL, NOON));
    for (unsigned i = 0; i < 10; i++) {
        CHECK_OK(submit_id(s, "a", uuid(NOON, i), NOON));
        CHECK_OK(submit_id(s, "b", uuid(NOON, i), NOON));
    }
    gone.deleted.board = RUNG_SLICE("a");
    CHECK_OK(rung_state_apply(s, &gone, NULL, NULL));
    rung_state_stats(s, &stats);
    CHECK_EQ_U64(stats.ids, 20);
    raise(s, NOON + 2);
    rung_state_stats(s, &stats);
    CHECK_EQ_U64(stats.ids, 10);
    CHECK_SOUND(rung_state_check(s));
    gone.deleted.board = RUNG_SLICE("b");
    CHECK_OK(rung_state_apply(s, &gone, NULL, NULL));
    rung_state_stats(s, &stats);
    CHECK_EQ_U64(stats.ids, 0);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

/* ---- windows ---- */

TEST(windows_ahead_do_not_keep_anybody_out_of_the_present) {
    uint8_t windows =
        RUNG_WINDOWS_ALL | RUNG_WINDOWS_BIT(RUNG_WINDOW_HOUR) | RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    for (uint32_t level = 0; level <= 1; level++) {
        rung_state *s = create(level, 0, 0);
        rung_status st = RUNG_OK;
        CHECK_OK(define(s, "b", windows, NOON));
        for (int i = 0; i < 4200 && st >= 0; i++)
            st = submit_at(s, "b", NOON + 3 * DAY + i * HOUR, NOON);
        CHECK_STATUS(st, RUNG_ELIMIT); /* those that are still to begin are limited */
        for (int i = 1; i < 60; i++) {
            rung_event now = score("b", NOON + i * HOUR);
            CHECK_STATUS(rung_state_apply(s, &now, NULL, NULL), level ? RUNG_OK : RUNG_ELIMIT);
        }
        rung_event open = {.kind = RUNG_EVENT_WINDOW_OPENED,
                           .ts_ms = NOON + 70 * HOUR,
                           .window = {.board = RUNG_SLICE("b"), .kind = RUNG_WINDOW_HOUR}};
        open.window.ordinal = (NOON + 70 * HOUR) / HOUR;
        CHECK_STATUS(rung_state_apply(s, &open, NULL, NULL), level ? RUNG_OK : RUNG_ELIMIT);
        CHECK_SOUND(rung_state_check(s));
        rung_state_destroy(s);
    }
}

/* More closed windows than the limit, kept because the board says so. */
TEST(kept_windows_do_not_fill_the_board) {
    rung_state *s = create(1, 0, 0);
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED,
                    .ts_ms = NOON,
                    .defined = {.board = RUNG_SLICE("b"), .def = rung_board_def_default()}};
    e.defined.def.windows = RUNG_WINDOWS_BIT(RUNG_WINDOW_HOUR);
    e.defined.def.keep = 5000;
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    for (int i = 0; i < 4200; i++) {
        rung_event tick = {.kind = RUNG_EVENT_TICK, .ts_ms = NOON + i * HOUR},
                   now = score("b", NOON + i * HOUR);
        rung_ignore(rung_state_apply(s, &tick, NULL, NULL), "the first closes nothing");
        CHECK_OK(rung_state_apply(s, &now, NULL, NULL));
    }
    rung_stats stats;
    rung_state_stats(s, &stats);
    CHECK_EQ_U64(stats.windows, 4200);
    rung_state_destroy(s);
}

/* ---- commands of the Redis protocol ---- */

typedef struct told {
    rung_zkey_error error;
    uint64_t count;
} told;

static void take(void *ctx, uint32_t i, const rung_zkey_result *result) {
    told *t = ctx;
    (void)i;
    *t = (told){result->error, result->count};
}

static told run(rung_state *s, rung_zcommand c, bool is_admin, int64_t ts_ms) {
    char bytes[512];
    size_t length;
    told t = {0};
    CHECK_OK(rung_zcommand_encode(&c, bytes, sizeof bytes, &length, NULL));
    rung_event e = {.kind = RUNG_EVENT_KEYS,
                    .ts_ms = ts_ms,
                    .keys = {1, rung_slice_of(bytes, length), is_admin}};
    CHECK(rung_state_apply_keys(s, &e, take, &t, NULL) >= 0);
    return t;
}

static told zadd(rung_state *s, const char *key, int64_t ts_ms) {
    rung_zcommand_item item = {RUNG_SLICE("ada"), 1};
    return run(s,
               (rung_zcommand){.kind = RUNG_ZCOMMAND_ZADD,
                               .key = rung_slice_str(key),
                               .item_count = 1,
                               .items = &item},
               false, ts_ms);
}

static told del(rung_state *s, const char *first, const char *second, bool is_admin) {
    rung_zcommand_item items[2] = {{rung_slice_str(first), 0}, {rung_slice_str(second), 0}};
    return run(s, (rung_zcommand){.kind = RUNG_ZCOMMAND_DEL, .item_count = 2, .items = items},
               is_admin, NOON);
}

static bool is_there(const rung_state *s, const char *key, int64_t now_ms) {
    rung_zkey k;
    rung_zkey_open(s, rung_slice_str(key), now_ms, &k);
    return k.kind != RUNG_ZKEY_NONE;
}

/* Queued in a transaction while it was a key, applied when it was a board. */
TEST(only_an_admin_takes_away_a_board_with_rules) {
    const rung_slice cup = RUNG_SLICE("cup");
    const rung_zcommand expire = {.kind = RUNG_ZCOMMAND_EXPIRE, .key = cup, .at_ms = NOON + HOUR},
                        at_once = {.kind = RUNG_ZCOMMAND_EXPIRE, .key = cup, .at_ms = NOON - HOUR},
                        persist = {.kind = RUNG_ZCOMMAND_PERSIST, .key = cup},
                        flush = {.kind = RUNG_ZCOMMAND_FLUSH};
    rung_state *s = create(1, 0, 0);
    CHECK_OK(define(s, "cup", RUNG_WINDOWS_ALL, NOON));
    CHECK_EQ_U64(zadd(s, "key", NOON).count, 1);
    CHECK_EQ_I64(del(s, "key", "cup", false).error, RUNG_ZKEY_DENIED);
    CHECK(is_there(s, "key", NOON) && is_there(s, "cup", NOON));
    CHECK_EQ_I64(run(s, expire, false, NOON).error, RUNG_ZKEY_DENIED);
    CHECK_EQ_I64(run(s, at_once, false, NOON).error, RUNG_ZKEY_DENIED);
    CHECK_EQ_I64(run(s, persist, false, NOON).error, RUNG_ZKEY_DENIED);
    CHECK_EQ_I64(run(s, flush, false, NOON).error, RUNG_ZKEY_DENIED);
    CHECK(is_there(s, "key", NOON) && is_there(s, "cup", NOON));
    CHECK_EQ_U64(run(s, expire, true, NOON).count, 1);
    CHECK_EQ_I64(run(s, persist, false, NOON).error, RUNG_ZKEY_DENIED);
    CHECK_EQ_U64(run(s, persist, true, NOON).count, 1);
    CHECK_EQ_U64(del(s, "key", "cup", true).count, 2);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);

    s = create(0, 0, 0); /* an old log says nothing of its senders */
    CHECK_OK(define(s, "cup", RUNG_WINDOWS_ALL, NOON));
    CHECK_EQ_U64(run(s, expire, false, NOON).count, 1);
    CHECK_EQ_U64(run(s, flush, false, NOON).count, 1);
    rung_state_destroy(s);
}

/* Stores and renames onto such a board are refused whoever sends them, as before. */
TEST(nothing_is_stored_over_a_board_with_rules) {
    rung_state *s = create(1, 0, 0);
    rung_zcommand_item from = {RUNG_SLICE("key"), 1};
    CHECK_OK(define(s, "cup", RUNG_WINDOWS_ALL, NOON));
    CHECK_EQ_U64(zadd(s, "key", NOON).count, 1);
    for (int kind = RUNG_KEYS_UNION; kind <= RUNG_KEYS_DIFF; kind++)
        CHECK_EQ_I64(run(s,
                         (rung_zcommand){.kind = RUNG_ZCOMMAND_ZSTORE,
                                         .key = RUNG_SLICE("cup"),
                                         .combine = (rung_combine_keys)kind,
                                         .item_count = 1,
                                         .items = &from},
                         true, NOON)
                         .error,
                     RUNG_ZKEY_REFUSED);
    rung_zcommand store = {.kind = RUNG_ZCOMMAND_ZRANGESTORE,
                           .key = RUNG_SLICE("cup"),
                           .other = RUNG_SLICE("key"),
                           .range = {.stop = -1}},
                  rename = {.kind = RUNG_ZCOMMAND_RENAME,
                            .key = RUNG_SLICE("key"),
                            .other = RUNG_SLICE("cup")};
    CHECK_EQ_I64(run(s, store, true, NOON).error, RUNG_ZKEY_REFUSED);
    CHECK_EQ_I64(run(s, rename, true, NOON).error, RUNG_ZKEY_REFUSED);
    CHECK(is_there(s, "key", NOON) && is_there(s, "cup", NOON));
    rung_state_destroy(s);
}

/* EXPIRE by whoever made the key, then the admin defines the board: it must not vanish with all its scores. */
TEST(a_key_that_becomes_a_board_has_no_end) {
    for (uint32_t level = 0; level <= 1; level++) {
        rung_state *s = create(level, 0, 0);
        rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED,
                        .ts_ms = NOON + 1,
                        .defined = {.board = RUNG_SLICE("cup"), .def = rung_board_def_default()}};
        e.defined.def.key.columns[0].type = RUNG_SCORE_REAL;
        e.defined.def.key.tie = RUNG_TIE_PLAYER_LAST;
        e.defined.def.update = RUNG_UPDATE_LAST;
        e.defined.def.title = RUNG_SLICE("the cup");
        zadd(s, "cup", NOON);
        rung_zcommand expire = {
            .kind = RUNG_ZCOMMAND_EXPIRE, .key = RUNG_SLICE("cup"), .at_ms = NOON + HOUR};
        CHECK_EQ_U64(run(s, expire, false, NOON).count, 1);
        CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
        CHECK(is_there(s, "cup", NOON + 2 * HOUR) == (level == 1));
        CHECK_SOUND(rung_state_check(s));
        if (level) { /* an end that an admin gives it afterwards stays, also when it is defined again */
            CHECK_EQ_U64(run(s, expire, true, NOON).count, 1);
            e.defined.def.title = RUNG_SLICE("the other cup");
            CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
            CHECK(!is_there(s, "cup", NOON + 2 * HOUR));
        }
        rung_state_destroy(s);
    }
}

/* ---- names ---- */

TEST(keys_leave_names_for_boards) {
    for (uint32_t level = 0; level <= 1; level++) {
        rung_state *s = create(level, 0, 200);
        char name[16];
        uint64_t made = 0;
        for (int i = 0; i < 200; i++) {
            snprintf(name, sizeof name, "key %d", i);
            made += zadd(s, name, NOON).count;
        }
        CHECK_EQ_U64(made, level ? 198 : 200);
        rung_zcommand_item member = {RUNG_SLICE("ada"), 0};
        CHECK_EQ_I64(run(s,
                         (rung_zcommand){.kind = RUNG_ZCOMMAND_SADD,
                                         .key = RUNG_SLICE("set"),
                                         .item_count = 1,
                                         .items = &member},
                         false, NOON)
                         .error,
                     RUNG_ZKEY_REFUSED);
        CHECK_STATUS(define(s, "cup", RUNG_WINDOWS_ALL, NOON), level ? RUNG_OK : RUNG_ELIMIT);
        CHECK_STATUS(define(s, "cup 2", RUNG_WINDOWS_ALL, NOON), level ? RUNG_OK : RUNG_ELIMIT);
        CHECK_STATUS(define(s, "cup 3", RUNG_WINDOWS_ALL, NOON), RUNG_ELIMIT);
        /* A rename needs two names for a moment. */
        rung_zcommand rename = {
            .kind = RUNG_ZCOMMAND_RENAME, .key = RUNG_SLICE("key 7"), .other = RUNG_SLICE("new")};
        CHECK_EQ_I64(run(s, rename, false, NOON).error, RUNG_ZKEY_REFUSED);
        CHECK(is_there(s, "key 7", NOON));
        rename.other = RUNG_SLICE("key 8");
        CHECK_EQ_U64(run(s, rename, false, NOON).count, 1);
        CHECK_SOUND(rung_state_check(s));
        rung_state_destroy(s);
    }
}

/* ---- access ---- */

TEST(whether_there_are_keys_is_remembered) {
    rung_state *s = create(1, 0, 0);
    rung_event e = {.kind = RUNG_EVENT_ACCESS_SET, .ts_ms = NOON, .access = {true}};
    CHECK(!rung_state_has_keys(s));
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    CHECK_STATUS(rung_state_apply(s, &e, NULL, NULL), RUNG_UNCHANGED);
    CHECK(rung_state_has_keys(s));
    e.access.has_keys = false;
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    CHECK(!rung_state_has_keys(s));
    rung_state_destroy(s);
}

RUNG_TEST_MAIN
