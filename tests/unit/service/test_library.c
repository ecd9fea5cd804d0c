/* SPDX-License-Identifier: Apache-2.0 */
/* rung.h as an embedder uses it, in memory. */
#include <rung/rung.h>

#include "support/check.h"
#include "support/failalloc.h"
#include "support/rng.h"

#include <stdio.h>
#include <string.h>

#define NOON INT64_C(1794744000000) /* Sunday 2026-11-15T12:00:00Z */
#define HOUR INT64_C(3600000)

static int64_t told_time(void *ctx) {
    return *(int64_t *)ctx;
}

static rung *open_at(int64_t *now_ms) {
    rung *db;
    rung_err err;
    CHECK_OK(rung_open(&(rung_config){.now_ms = told_time, .ctx = now_ms}, &db, &err));
    return db;
}

static void close_sound(rung *db) {
    CHECK_SOUND(rung_state_check(rung_state_of(db)));
    CHECK_OK(rung_close(db, NULL));
}

static void define(rung *db, const char *board, uint32_t windows) {
    rung_board_def def = rung_board_def_default();
    rung_err err;
    def.windows |= windows;
    CHECK_OK(rung_board_define(db, rung_slice_str(board), &def, &err));
}

static rung_score_event score_of(const char *board, const char *player, int64_t score) {
    return (rung_score_event){.board = rung_slice_str(board),
                              .player = rung_slice_str(player),
                              .value_count = 1,
                              .values = {{.i = score}}};
}

static rung_status submit(rung *db, const char *board, const char *player, int64_t score,
                          rung_outcome *out) {
    rung_err err;
    rung_score_event s = score_of(board, player, score);
    return rung_submit(db, &s, out, &err);
}

static uint32_t rank_of(rung *db, const char *board, const char *window, const char *player) {
    rung_view view;
    rung_err err;
    rung_row row;
    bool found;
    rung_query q = {.board = rung_slice_str(board), .window = rung_slice_str(window)};
    CHECK_OK(rung_ask(db, &q, &view, &err));
    rung_view_rows(&view, 1, &(rung_slice){player, strlen(player)}, &row, &found);
    return found ? row.rank : 0;
}

static void check_same_digest(const rung *a, const rung *b) {
    rung_digest x = rung_state_digest(rung_state_of(a)), y = rung_state_digest(rung_state_of(b));
    CHECK_EQ_U64(x.a, y.a);
    CHECK_EQ_U64(x.b, y.b);
}

TEST(defaults) {
    rung *db;
    rung_err err;
    CHECK_OK(rung_open(NULL, &db, &err));
    CHECK_EQ_STR(rung_version(), RUNG_VERSION);
    CHECK(rung_now(db) > NOON - 400 * 24 * HOUR); /* the real clock */
    define(db, "race", 0);
    CHECK_OK(submit(db, "race", "ada", 7, NULL));
    CHECK_EQ_U64(rank_of(db, "race", "", "ada"), 1);
    CHECK_STATUS(rung_tick(db, &err), RUNG_UNCHANGED);
    CHECK_OK(rung_sync(db, &err));
    close_sound(db);
    CHECK_OK(rung_close(NULL, NULL));
}

TEST(instances_side_by_side) {
    int64_t now_a = NOON, now_b = NOON + 24 * HOUR;
    rung *a = open_at(&now_a), *b = open_at(&now_b);
    define(a, "race", 0);
    CHECK_STATUS(submit(b, "race", "ada", 1, NULL), RUNG_EABSENT);
    define(b, "race", 0);
    CHECK_OK(submit(a, "race", "ada", 1, NULL));
    CHECK_OK(submit(b, "race", "bob", 2, NULL));
    CHECK_EQ_U64(rank_of(a, "race", "", "ada"), 1);
    CHECK_EQ_U64(rank_of(a, "race", "", "bob"), 0);
    CHECK_EQ_U64(rank_of(b, "race", "", "ada"), 0);
    CHECK_EQ_I64(rung_state_time(rung_state_of(b)) - rung_state_time(rung_state_of(a)), 24 * HOUR);
    close_sound(a);
    CHECK_EQ_U64(rank_of(b, "race", "", "bob"), 1);
    close_sound(b);
}

TEST(an_outcome_tells_what_happened) {
    int64_t now = NOON;
    rung *db = open_at(&now);
    rung_outcome out;
    define(db, "race", 0);
    CHECK_OK(submit(db, "race", "ada", 10, NULL));
    CHECK_OK(submit(db, "race", "bob", 20, NULL));
    CHECK_OK(submit(db, "race", "ada", 15, &out));
    CHECK_EQ_U64(out.rank, 2);
    CHECK_EQ_U64(out.total, 2);
    CHECK(rung_slice_eq(out.next, RUNG_SLICE("bob")));
    CHECK_EQ_I64(out.gap.i, 5);
    CHECK_STATUS(submit(db, "race", "ada", 12, &out), RUNG_UNCHANGED);
    rung_score_event s = score_of("race", "ada", 30);
    s.id = RUNG_SLICE("first");
    CHECK_OK(rung_submit(db, &s, &out, NULL));
    CHECK_STATUS(rung_submit(db, &s, &out, NULL), RUNG_DUPLICATE);
    CHECK_EQ_U64(out.rank, 1);
    close_sound(db);
}

/* Every refusal at the door names its field and leaves the state alone. */
TEST(matches_change_ratings) {
    rung *db;
    rung_err err = {0};
    uint8_t packed[RUNG_MATCH_PACKED_MAX];
    size_t len = 0;
    uint32_t count;
    CHECK_OK(rung_open(NULL, &db, &err));
    rung_board_def def = rung_board_def_default();
    def.update = RUNG_UPDATE_ELO;
    rung_rating_params_init(&def.rating, RUNG_RATING_ELO);
    CHECK_OK(rung_board_define(db, RUNG_SLICE("chess"), &def, &err));
    rung_match_entry ada = {.player = RUNG_SLICE("ada"), .is_first = true, .place = 1};
    rung_match_entry bob = {.player = RUNG_SLICE("bob"), .is_first = true, .place = 2};
    rung_match_entry bad = {.player = RUNG_SLICE("eve"), .weight = -1};
    CHECK_OK(rung_match_add(packed, sizeof packed, &len, &ada, &err));
    CHECK_STATUS(rung_match_add(packed, sizeof packed, &len, &bad, &err), RUNG_EINVAL);
    rung_match_event match = {.board = RUNG_SLICE("chess"), .id = RUNG_SLICE("m1")};
    match.packed = rung_slice_of(packed, len);
    CHECK_STATUS(rung_submit_match(db, &match, &err), RUNG_EINVAL); /* one side */
    CHECK_EQ_STR(err.field, "sides");
    CHECK_STATUS(rung_match_add(packed, len + 2, &len, &bob, &err), RUNG_ELIMIT);
    CHECK_OK(rung_match_add(packed, sizeof packed, &len, &bob, &err));
    match.packed = rung_slice_of(packed, len);
    CHECK_OK(rung_submit_match(db, &match, &err));
    const rung_match_row *rows = rung_state_match_rows(rung_state_of(db), &count);
    CHECK_EQ_U64(count, 2);
    CHECK_EQ_I64(rows[0].score, 1516);
    CHECK_EQ_I64(rows[1].score, 1484);
    CHECK_STATUS(rung_submit_match(db, &match, &err), RUNG_DUPLICATE);
    rung_rating_card card;
    CHECK_OK(rung_state_rating(rung_state_of(db), RUNG_SLICE("chess"), RUNG_SLICE("bob"), &card));
    CHECK_EQ_U64(card.losses, 1);
    match.board = RUNG_SLICE("none");
    CHECK_STATUS(rung_submit_match(db, &match, &err), RUNG_EABSENT);
    CHECK_OK(rung_close(db, &err));
}

TEST(errors_name_the_field) {
    int64_t now = NOON;
    rung *db = open_at(&now);
    rung_err err;
    define(db, "race", 0);
    rung_digest before = rung_state_digest(rung_state_of(db));
#define CHECK_NAMES(call, status, field)                                                           \
    do {                                                                                           \
        memset(&err, 0, sizeof err);                                                               \
        CHECK_STATUS(call, status);                                                                \
        CHECK_EQ_U64(err.code, status);                                                            \
        CHECK_MSG(strncmp(err.message, field, strlen(field)) == 0, "%s", err.message);             \
    } while (0)
    rung_slice ada = RUNG_SLICE("ada"), none = {0}, race = RUNG_SLICE("race"),
               bad = RUNG_SLICE("a\nb");
    rung_board_def def = rung_board_def_default();
    def.keep = RUNG_KEEP_MAX + 1;
    CHECK_NAMES(rung_board_define(db, race, &def, &err), RUNG_EINVAL, "keep");
    def = rung_board_def_default();
    CHECK_NAMES(rung_board_define(db, bad, &def, &err), RUNG_EINVAL, "board");
    def.zone_name = RUNG_SLICE("Europe/Atlantis");
    CHECK_NAMES(rung_board_define(db, race, &def, &err), RUNG_EABSENT, "timezone");
    def.zone_name = RUNG_SLICE("../UTC");
    CHECK_NAMES(rung_board_define(db, race, &def, &err), RUNG_EINVAL, "timezone");
    rung_score_event s = score_of("race", "", 1);
    CHECK_NAMES(rung_submit(db, &s, NULL, &err), RUNG_EINVAL, "player");
    s = score_of("race", "ada", 1);
    s.value_count = 4;
    CHECK_NAMES(rung_submit(db, &s, NULL, &err), RUNG_EINVAL, "");
    rung_attribute two[] = {{RUNG_SLICE("a"), ada}, {RUNG_SLICE("a"), ada}};
    CHECK_NAMES(rung_player_set(db, ada, 2, two, &err), RUNG_EINVAL, "attributes");
    CHECK_NAMES(rung_player_set(db, ada, 33, two, &err), RUNG_EINVAL, "attributes");
    CHECK_NAMES(rung_player_set(db, none, 0, NULL, &err), RUNG_EINVAL, "player");
    CHECK_NAMES(rung_player_erase(db, bad, &err), RUNG_EINVAL, "player");
    CHECK_NAMES(rung_player_ban(db, ada, rung_slice_of("\0", 1), &err), RUNG_EINVAL, "reason");
    CHECK_NAMES(rung_friend_add(db, ada, ada, false, &err), RUNG_EINVAL, "");
    CHECK_NAMES(rung_friends_replace(db, ada, 2, (rung_slice[]){RUNG_SLICE("b"), bad}, false, &err),
                RUNG_EINVAL, "friends");
    CHECK_NAMES(rung_friends_replace(db, ada, RUNG_FRIENDS_MAX + 1, NULL, false, &err), RUNG_EINVAL,
                "friends");
    CHECK_NAMES(rung_entry_remove(db, none, ada, &err), RUNG_EINVAL, "board");
    CHECK_NAMES(rung_board_delete(db, none, &err), RUNG_EINVAL, "board");
    CHECK_STATUS(rung_board_delete(db, none, NULL), RUNG_EINVAL);
    rung_digest after = rung_state_digest(rung_state_of(db));
    CHECK_EQ_MEM(&before, &after, sizeof before);
    CHECK_EQ_U64(rung_state_seq(rung_state_of(db)), 2);
    close_sound(db);
}

TEST(time_is_the_clock_s) {
    int64_t now = NOON;
    rung *db = open_at(&now);
    rung_err err;
    rung_view view;
    define(db, "race", RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY));
    CHECK_OK(submit(db, "race", "ada", 7, NULL));
    CHECK_EQ_U64(rank_of(db, "race", "day", "ada"), 1);
    now += 24 * HOUR;
    CHECK_EQ_U64(rank_of(db, "race", "day", "ada"),
                 0); /* another day by the clock, without any event */
    rung_query yesterday = {.board = RUNG_SLICE("race"),
                            .window = RUNG_SLICE("day"),
                            .window_id = RUNG_SLICE("2026-11-15")};
    CHECK_OK(rung_ask(db, &yesterday, &view, &err));
    CHECK(!view.closed);
    CHECK_OK(rung_tick(db, &err));
    CHECK_STATUS(rung_tick(db, &err), RUNG_UNCHANGED);
    CHECK_OK(rung_ask(db, &yesterday, &view, &err));
    CHECK(view.closed);
    CHECK_EQ_U64(view.total, 1);
    CHECK_EQ_U64(rank_of(db, "race", "all", "ada"), 1);
    close_sound(db);
}

TEST(zones_by_name) {
    int64_t now = NOON + 10 * HOUR; /* 22:00 UTC: Monday in Helsinki, Sunday in New York */
    rung *db = open_at(&now);
    rung_err err;
    static const struct {
        const char *zone, *week;
    } cases[] = {{"Europe/Helsinki", "2026-W47"},
                 {"America/New_York", "2026-W46"},
                 {"UTC", "2026-W46"},
                 {"", "2026-W46"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rung_board_def def = rung_board_def_default();
        def.windows = RUNG_WINDOWS_BIT(RUNG_WINDOW_WEEK);
        def.zone_name = rung_slice_str(cases[i].zone);
        char board[16];
        snprintf(board, sizeof board, "b%zu", i);
        CHECK_OK(rung_board_define(db, rung_slice_str(board), &def, &err));
        CHECK_STATUS(rung_board_define(db, rung_slice_str(board), &def, &err), RUNG_UNCHANGED);
        CHECK_OK(submit(db, board, "ada", 1, NULL));
        rung_window_info window;
        CHECK_EQ_U64(rung_state_windows(rung_state_of(db), rung_slice_str(board), &window, 1), 1);
        CHECK_EQ_STR(window.id, cases[i].week);
        const rung_board_def *stored;
        CHECK_OK(rung_state_board(rung_state_of(db), rung_slice_str(board), &stored));
        CHECK(rung_slice_eq(stored->zone_name, def.zone_name));
    }
    close_sound(db);
}

TEST(people) {
    int64_t now = NOON;
    rung *db = open_at(&now);
    rung_err err;
    rung_board_def def = rung_board_def_default();
    def.scopes[def.scope_count++] = RUNG_SLICE("country");
    rung_slice race = RUNG_SLICE("race"), ada = RUNG_SLICE("ada"), bob = RUNG_SLICE("bob"),
               eve = RUNG_SLICE("eve");
    CHECK_OK(rung_board_define(db, race, &def, &err));
    CHECK_OK(submit(db, "race", "ada", 1, NULL));
    CHECK_OK(submit(db, "race", "bob", 2, NULL));
    CHECK_OK(submit(db, "race", "eve", 3, NULL));

    /* attributes in any order */
    rung_attribute profile[] = {{RUNG_SLICE("name"), RUNG_SLICE("Ada")},
                                {RUNG_SLICE("avatar"), RUNG_SLICE("1.png")},
                                {RUNG_SLICE("country"), RUNG_SLICE("GB")}};
    CHECK_OK(rung_player_set(db, ada, 3, profile, &err));
    rung_attribute read[RUNG_ATTRIBUTES_MAX];
    uint32_t count;
    bool banned;
    CHECK_OK(rung_state_player(rung_state_of(db), ada, &count, read, &banned));
    CHECK_EQ_U64(count, 3);
    CHECK(rung_slice_eq(read[0].name, RUNG_SLICE("avatar")) &&
          rung_slice_eq(read[2].value, RUNG_SLICE("Ada")));
    rung_view view;
    CHECK_OK(
        rung_ask(db, &(rung_query){.board = race, .scope = RUNG_SLICE("country:GB")}, &view, &err));
    CHECK_EQ_U64(view.total, 1);

    CHECK_OK(rung_friend_add(db, ada, bob, false, &err));
    CHECK_OK(rung_friends_replace(db, eve, 2, (rung_slice[]){ada, bob}, true, &err));
    rung_row rows[4];
    uint32_t total;
    CHECK_OK(rung_ask(db, &(rung_query){.board = race}, &view, &err));
    CHECK_OK(rung_view_friends(&view, rung_alloc_heap(), ada, 0, 4, rows, &count, &total));
    CHECK_EQ_U64(count, 2);
    CHECK_OK(rung_view_friends(&view, rung_alloc_heap(), eve, 0, 4, rows, &count, &total));
    CHECK_EQ_U64(count, 3);
    CHECK_OK(rung_friends_replace(db, eve, 0, NULL, true, &err));
    CHECK_OK(rung_friend_remove(db, ada, bob, false, &err));
    CHECK_EQ_U64(rung_state_friends(rung_state_of(db), ada, NULL, 0), 0);

    CHECK_OK(rung_player_ban(db, eve, RUNG_SLICE("cheating"), &err));
    CHECK_EQ_U64(rank_of(db, "race", "", "bob"), 1);
    CHECK_OK(rung_player_unban(db, eve, RUNG_SLICE(""), &err));
    CHECK_EQ_U64(rank_of(db, "race", "", "bob"), 2);
    CHECK_OK(rung_entry_remove(db, race, eve, &err));
    CHECK_EQ_U64(rank_of(db, "race", "", "eve"), 0);
    CHECK_OK(rung_player_erase(db, bob, &err));
    CHECK_STATUS(rung_state_player(rung_state_of(db), bob, &count, read, &banned), RUNG_NOT_FOUND);
    CHECK_OK(rung_board_delete(db, race, &err));
    CHECK_STATUS(rung_ask(db, &(rung_query){.board = race}, &view, &err), RUNG_NOT_FOUND);
    close_sound(db);
}

/* Many at once do the same as one by one: same digest, same answers; the malformed among them
 * are told so in place. */
TEST(a_batch_is_its_singles) {
    enum { N = 9000 };
    static rung_score_event scores[N];
    static rung_status statuses[N];
    static rung_outcome outs[N];
    static rung_err errs[N];
    static char names[N][8];
    int64_t now = NOON;
    rung *one = open_at(&now), *many = open_at(&now);
    rung_err err;
    define(one, "race", RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY));
    define(many, "race", RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY));
    CHECK_OK(submit(one, "race", "first", 1, NULL));
    CHECK_OK(submit(many, "race", "first", 1, NULL));
    now += 24 * HOUR; /* so that a tick goes first */
    rung_rng r;
    rung_rng_seed(&r, test_seed(1));
    for (size_t i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "p%u", (unsigned)rung_rng_below(&r, 3000));
        scores[i] = score_of(rung_rng_below(&r, 50) ? "race" : "nowhere", names[i],
                             (int64_t)rung_rng_below(&r, 1000));
        if (rung_rng_below(&r, 20) == 0)
            scores[i].player.len = 0;
        if (rung_rng_below(&r, 4) == 0)
            scores[i].id = rung_slice_str(names[rung_rng_below(&r, i + 1)]);
    }
    CHECK_OK(rung_submit_many(many, N, scores, statuses, outs, errs, &err));
    for (size_t i = 0; i < N; i++) {
        rung_outcome out = {0};
        CHECK_STATUS(rung_submit(one, &scores[i], &out, &err), statuses[i]);
        if (statuses[i] < 0)
            CHECK_EQ_STR(err.message, errs[i].message);
        if (statuses[i] == RUNG_EINVAL)
            continue; /* never got as far as an outcome */
        CHECK_EQ_U64(out.rank, outs[i].rank);
        CHECK_EQ_U64(out.seq, outs[i].seq);
        CHECK_EQ_U64(out.window_count, outs[i].window_count);
        CHECK(rung_slice_eq(out.next, outs[i].next));
    }
    check_same_digest(one, many);
    CHECK_OK(
        rung_submit_many(many, N, scores, statuses, NULL, NULL, NULL)); /* answers nobody wants */
    CHECK_OK(rung_submit_many(many, 0, NULL, NULL, NULL, NULL, NULL));
    close_sound(one);
    close_sound(many);
}

static rung_status live_once(const rung_alloc *alloc, int64_t *now) {
    rung *db;
    rung_err err = {0};
    rung_board_def def = rung_board_def_default();
    def.zone_name = RUNG_SLICE("Europe/Helsinki");
    rung_status st =
        rung_open(&(rung_config){.alloc = alloc, .now_ms = told_time, .ctx = now}, &db, &err);
    if (st < 0)
        return st;
    st = rung_board_define(db, RUNG_SLICE("race"), &def, &err);
    rung_score_event s[2] = {score_of("race", "ada", 1), score_of("race", "bob", 2)};
    rung_status each[2];
    if (st >= 0)
        st = rung_submit_many(db, 2, s, each, NULL, NULL, &err);
    if (st >= 0)
        CHECK(each[0] == RUNG_OK && each[1] == RUNG_OK);
    if (st >= 0)
        st = rung_friends_replace(db, RUNG_SLICE("ada"), 1, (rung_slice[]){RUNG_SLICE("bob")}, true,
                                  &err);
    if (st < 0)
        CHECK(err.code == RUNG_ENOMEM && err.message[0]);
    CHECK_OK(rung_close(db, NULL));
    return st;
}

TEST(memory_may_run_out_anywhere) {
    int64_t now = NOON;
    rung_failalloc fa;
    for (uint64_t n = 1;; n++) {
        rung_failalloc_init(&fa);
        rung_failalloc_fail_at(&fa, n, false);
        rung_status st = live_once(rung_failalloc_port(&fa), &now);
        rung_failalloc_deinit(&fa);
        if (!fa.failed_count)
            break;
        if (st < 0) /* else the one who asked could do without */
            CHECK_STATUS(st, RUNG_ENOMEM);
    }
}

RUNG_TEST_MAIN
