/* SPDX-License-Identifier: Apache-2.0 */
/* Time that does not follow a jump ahead: the clock alone, across lives, and in hub and library. */
#include "service/steady_clock.h"

#include "service/hub.h"
#include "support/check.h"
#include "support/memfs.h"

#include <rung/rung.h>
#include <stdio.h>
#include <string.h>

#define NOON   INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */
#define MINUTE INT64_C(60000)
#define HOUR   (60 * MINUTE)
#define YEARS  (INT64_C(3650) * 24 * HOUR)

typedef struct machine {
    int64_t wall_ms, boot_ms;
    const char *boot_id;
} machine;

static int64_t wall_of(void *ctx) {
    return ((const machine *)ctx)->wall_ms;
}

static int64_t boot_of(void *ctx) {
    return ((const machine *)ctx)->boot_ms;
}

static bool boot_id_of(void *ctx, char out[RUNG_BOOT_ID_MAX]) {
    snprintf(out, RUNG_BOOT_ID_MAX, "%s", ((const machine *)ctx)->boot_id);
    return true;
}

static rung_clock clock_of(machine *m) {
    return (rung_clock){.now_ms = wall_of, .ctx = m, .boot_ms = boot_of, .boot_id = boot_id_of};
}

static void pass(machine *m, int64_t ms) {
    m->wall_ms += ms;
    m->boot_ms += ms;
}

static rung_steady_clock begin(machine *m) {
    rung_steady_clock c;
    rung_clock clock = clock_of(m);
    rung_steady_clock_init(&c, &clock, 5 * MINUTE);
    return c;
}

TEST(a_clock_that_goes_right_is_followed) {
    machine m = {NOON, 1000, "a"};
    rung_steady_clock c = begin(&m);
    for (int i = 0; i < 1000; i++) {
        pass(&m, 7 * HOUR); /* also over a long sleep */
        m.wall_ms += i % 2 ? 4 * MINUTE : -4 * MINUTE;
        CHECK_EQ_I64(rung_steady_clock_now(&c), m.wall_ms);
        CHECK(!c.is_held);
    }
}

TEST(a_jump_ahead_is_not_followed) {
    machine m = {NOON, 1000, "a"};
    rung_steady_clock c = begin(&m);
    m.wall_ms += YEARS;
    CHECK_EQ_I64(rung_steady_clock_now(&c), NOON);
    CHECK(c.is_held);
    pass(&m, HOUR);
    CHECK_EQ_I64(rung_steady_clock_now(&c), NOON + HOUR);
    m.wall_ms -= YEARS - MINUTE; /* back, near enough */
    CHECK_EQ_I64(rung_steady_clock_now(&c), NOON + HOUR + MINUTE);
    CHECK(!c.is_held);
}

TEST(the_bound_itself_is_followed) {
    machine m = {NOON, 1000, "a"};
    rung_steady_clock c = begin(&m);
    m.wall_ms += 5 * MINUTE;
    CHECK_EQ_I64(rung_steady_clock_now(&c), NOON + 5 * MINUTE);
    m.wall_ms += 5 * MINUTE + 1;
    CHECK_EQ_I64(rung_steady_clock_now(&c), NOON + 5 * MINUTE);
}

TEST(an_operator_confirms_a_jump) {
    machine m = {NOON, 1000, "a"};
    rung_steady_clock c = begin(&m);
    CHECK(!rung_steady_clock_accept(&c));
    m.wall_ms += 3 * HOUR;
    CHECK_EQ_I64(rung_steady_clock_now(&c), NOON);
    CHECK(rung_steady_clock_accept(&c));
    CHECK_EQ_I64(rung_steady_clock_now(&c), NOON + 3 * HOUR);
    CHECK(!c.is_held);
}

/* The way back is no jump, however long it took. */
TEST(a_clock_set_back_for_a_while) {
    machine m = {NOON, 1000, "a"};
    rung_steady_clock c = begin(&m);
    m.wall_ms -= 2 * HOUR;
    CHECK_EQ_I64(rung_steady_clock_now(&c), NOON - 2 * HOUR);
    pass(&m, HOUR);
    CHECK_EQ_I64(rung_steady_clock_now(&c), NOON - HOUR);
    m.wall_ms += 2 * HOUR;
    CHECK_EQ_I64(rung_steady_clock_now(&c), NOON + HOUR);
    CHECK(!c.is_held);
    m.wall_ms += 2 * HOUR; /* but from there on it is one */
    CHECK_EQ_I64(rung_steady_clock_now(&c), NOON + HOUR);
    CHECK(c.is_held);
}

/* ---- across lives ---- */

typedef struct folder {
    rung_memfs fs;
    rung_dir dir;
} folder;

static void folder_open(folder *f) {
    rung_memfs_init(&f->fs);
    CHECK_OK(rung_dir_open(&f->dir, &f->fs.port, "data", true, NULL));
}

static void folder_close(folder *f) {
    rung_dir_close(&f->dir);
    rung_memfs_deinit(&f->fs);
}

TEST(a_jump_between_two_lives) {
    folder f;
    machine m = {NOON, 1000, "a"};
    folder_open(&f);
    rung_steady_clock c = begin(&m);
    rung_steady_clock_load(&c, &f.dir); /* there is none yet */
    CHECK(!c.is_held);
    CHECK_OK(rung_steady_clock_save(&c, &f.dir, NULL));
    pass(&m, HOUR);
    m.wall_ms += YEARS;

    rung_steady_clock next = begin(&m);
    rung_steady_clock_load(&next, &f.dir);
    CHECK(next.is_held);
    CHECK_EQ_I64(rung_steady_clock_now(&next), NOON + HOUR);
    CHECK_OK(rung_steady_clock_save(&next, &f.dir, NULL)); /* held, and so it stays */

    rung_steady_clock third = begin(&m);
    rung_steady_clock_load(&third, &f.dir);
    CHECK(third.is_held);
    CHECK_EQ_I64(rung_steady_clock_now(&third), NOON + HOUR);

    m.boot_id = "b"; /* the machine was started anew: nobody knows for how long it was off */
    m.boot_ms = 500;
    rung_steady_clock fourth = begin(&m);
    rung_steady_clock_load(&fourth, &f.dir);
    CHECK(!fourth.is_held);
    CHECK_EQ_I64(rung_steady_clock_now(&fourth), m.wall_ms);
    folder_close(&f);
}

TEST(a_damaged_file_is_passed_over) {
    static const char *const damaged[] = {"",
                                          "1",
                                          "1 a",
                                          "1 a 5",
                                          "1 a 5 x\n",
                                          "2 a 5 1794744000000\n",
                                          "1 b 5 1794744000000\n",
                                          "1 a 99999999 1794744000000\n",
                                          "1 a -1 1794744000000\n",
                                          "1 a 5 9223372036854775807\n",
                                          "1 a 5 -9223372036854775808\n"};
    folder f;
    folder_open(&f);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        machine m = {NOON + YEARS, 1000, "a"};
        CHECK_OK(rung_file_replace(&f.dir, RUNG_CLOCK_FILE, damaged[i], strlen(damaged[i]), NULL));
        rung_steady_clock c = begin(&m);
        rung_steady_clock_load(&c, &f.dir);
        CHECK_EQ_I64(rung_steady_clock_now(&c), m.wall_ms);
        CHECK(!c.is_held);
    }
    folder_close(&f);
}

/* ---- the hub ---- */

typedef struct life {
    rung_hub *hub;
    char said[1024];
} life;

static void take_line(void *ctx, const char *line) {
    life *l = ctx;
    size_t len = strlen(l->said);
    snprintf(l->said + len, sizeof l->said - len, "%s\n", line);
}

static void open_hub(life *l, machine *m, const rung_fs *fs) {
    rung_err err = {.message = ""};
    rung_hub_config config = {.alloc = rung_alloc_heap(),
                              .clock = clock_of(m),
                              .path = fs ? "data" : NULL,
                              .fs = fs,
                              .segment_size = 1 << 20,
                              .say = take_line,
                              .ctx = l};
    l->said[0] = '\0';
    CHECK_MSG(rung_hub_open(&config, &l->hub, &err) == RUNG_OK, "%s", err.message);
}

static void put(life *l, rung_event e) {
    rung_err err = {.message = ""};
    CHECK_MSG(rung_hub_put(l->hub, &e, NULL, NULL, &err) == RUNG_OK, "%s", err.message);
    while (!rung_commit_is_idle(rung_hub_commit(l->hub))) {
        rung_hub_flush(l->hub);
        rung_hub_turn(l->hub);
    }
}

static rung_event board_with_days(void) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED, .defined = {.board = RUNG_SLICE("b")}};
    e.defined.def = rung_board_def_default();
    e.defined.def.windows = RUNG_WINDOWS_ALL | RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    return e;
}

static rung_event score(int64_t value) {
    return (rung_event){.kind = RUNG_EVENT_SCORE,
                        .score = {.board = RUNG_SLICE("b"),
                                  .player = RUNG_SLICE("ada"),
                                  .value_count = 1,
                                  .values = {{.i = value}}}};
}

static uint32_t entries_today(life *l) {
    rung_view v;
    rung_query q = {.board = RUNG_SLICE("b"), .window = RUNG_SLICE("day"), .now_ms = NOON};
    return rung_state_view(rung_hub_state(l->hub), &q, &v, NULL) == RUNG_OK ? v.total : 0;
}

/* Ten years ahead for two seconds: today's windows stay open, and nothing is dated 2036. */
TEST(today_stays_open) {
    machine m = {NOON, 1000, "a"};
    life l;
    open_hub(&l, &m, NULL);
    put(&l, board_with_days());
    put(&l, score(1));
    m.wall_ms += YEARS;
    rung_hub_tick(l.hub);
    rung_hub_turn(l.hub);
    CHECK(rung_hub_look_at_time(l.hub).is_held);
    CHECK(strstr(l.said, "jumped ahead by 315360000 s"));
    pass(&m, 2000);
    put(&l, score(2));
    CHECK_EQ_I64(rung_state_time(rung_hub_state(l.hub)), NOON + 2000);
    m.wall_ms -= YEARS;
    rung_hub_tick(l.hub);
    rung_hub_tick(l.hub);
    CHECK(strstr(l.said, "the wall clock is trusted again"));
    put(&l, score(3));
    CHECK_EQ_I64(rung_state_time(rung_hub_state(l.hub)), NOON + 2000);
    CHECK_EQ_U64(entries_today(&l), 1);
    CHECK(!rung_hub_look_at_time(l.hub).is_held);
    size_t said = strlen(l.said); /* once each */
    rung_hub_tick(l.hub);
    CHECK_EQ_U64(strlen(l.said), said);
    CHECK_OK(rung_hub_close(l.hub, NULL));
}

TEST(the_operator_confirms) {
    machine m = {NOON, 1000, "a"};
    life l;
    open_hub(&l, &m, NULL);
    put(&l, board_with_days());
    m.wall_ms += 48 * HOUR;
    CHECK_EQ_I64(rung_hub_now(l.hub), NOON);
    CHECK(rung_hub_accept_time(l.hub));
    CHECK(!rung_hub_accept_time(l.hub));
    CHECK(strstr(l.said, "confirmed"));
    put(&l, score(1));
    CHECK_EQ_I64(rung_state_time(rung_hub_state(l.hub)), NOON + 48 * HOUR);
    CHECK_OK(rung_hub_close(l.hub, NULL));
}

TEST(a_restart_in_the_same_boot_finds_the_jump) {
    rung_memfs fs;
    machine m = {NOON, 1000, "a"};
    life l;
    rung_memfs_init(&fs);
    open_hub(&l, &m, &fs.port);
    put(&l, board_with_days());
    put(&l, score(1));
    CHECK_OK(rung_hub_close(l.hub, NULL));
    pass(&m, MINUTE);
    m.wall_ms += YEARS;
    open_hub(&l, &m, &fs.port);
    CHECK(rung_hub_look_at_time(l.hub).is_held);
    put(&l, score(2));
    CHECK_EQ_I64(rung_state_time(rung_hub_state(l.hub)), NOON + MINUTE);
    CHECK_OK(rung_hub_close(l.hub, NULL));

    m.boot_id =
        "b"; /* after a reboot the clock is set right: log time may be ahead, and that is said */
    m.wall_ms = NOON - HOUR;
    open_hub(&l, &m, &fs.port);
    rung_hub_time t = rung_hub_look_at_time(l.hub);
    CHECK(!t.is_held && t.is_log_ahead);
    CHECK_EQ_I64(t.log_ms, NOON + MINUTE);
    CHECK(strstr(l.said, "log time is ahead of the wall clock by 3660 s"));
    m.wall_ms = NOON + HOUR;
    rung_hub_tick(l.hub);
    CHECK(strstr(l.said, "caught up"));
    CHECK_OK(rung_hub_close(l.hub, NULL));
    rung_memfs_deinit(&fs);
}

/* ---- how far ahead a submission may be ---- */

TEST(the_hub_refuses_what_lies_too_far_ahead) {
    machine m = {NOON, 1000, "a"};
    life l;
    rung_err err;
    rung_event e = score(1);
    open_hub(&l, &m, NULL);
    put(&l, board_with_days());
    uint64_t seq = rung_state_seq(rung_hub_state(l.hub));
    e.score.has_at = true;
    e.score.at_ms = NOON + MINUTE + 1;
    CHECK_STATUS(rung_hub_put(l.hub, &e, NULL, NULL, &err), RUNG_EFUTURE);
    CHECK(strncmp(err.message, "at: ", 4) == 0);
    rung_hub_flush(l.hub);
    rung_hub_turn(l.hub);
    CHECK_EQ_U64(rung_state_seq(rung_hub_state(l.hub)), seq); /* it never reached the log */
    e.score.at_ms = NOON + MINUTE;
    put(&l, e);
    e.score.at_ms = NOON - YEARS; /* history may be sent at any time */
    put(&l, e);
    m.wall_ms -= HOUR; /* log time is ahead of the clock, and counts */
    e.score.at_ms = NOON + MINUTE;
    put(&l, e);
    CHECK_EQ_U64(rung_state_seq(rung_hub_state(l.hub)), seq + 3);
    CHECK_OK(rung_hub_close(l.hub, NULL));
}

static int64_t noon(void *ctx) {
    (void)ctx;
    return NOON;
}

TEST(so_does_the_library) {
    rung *db;
    rung_err err;
    rung_score_event e = score(1).score;
    rung_board_def def = rung_board_def_default();
    CHECK_OK(rung_open(&(rung_config){.now_ms = noon}, &db, &err));
    CHECK_OK(rung_board_define(db, RUNG_SLICE("b"), &def, &err));
    e.has_at = true;
    e.at_ms = NOON + MINUTE + 1;
    CHECK_STATUS(rung_submit(db, &e, NULL, &err), RUNG_EFUTURE);
    rung_time t = rung_time_look(db);
    CHECK(t.wall_ms == NOON && t.log_ms == NOON && !t.is_held);
    CHECK(!rung_time_accept(db));
    CHECK_OK(rung_close(db, NULL));
    CHECK_OK(rung_open(&(rung_config){.now_ms = noon, .at_ahead_ms = INT64_MAX}, &db, &err));
    CHECK_OK(rung_board_define(db, RUNG_SLICE("b"), &def, &err));
    CHECK_OK(rung_submit(db, &e, NULL, &err));
    CHECK_OK(rung_close(db, NULL));
}

RUNG_TEST_MAIN
