/* SPDX-License-Identifier: Apache-2.0 */
/* Tentative scores against a brute-force model. The model is a list of what waits, and a second state with the same
 * board without rules, which gets a submission when it counts: at once, or when it is promoted, with its own `at`.
 * Then every window, scope and team ranking of both must be the same, row by row. Verdicts, expiry with both outcomes,
 * bans, erasure, redefinition, limits; now and then the state is saved and loaded. */
#include "state/image/save.h"
#include "state/review.h"
#include "state/state.h"
#include "support/check.h"
#include "support/rng.h"
#include "support/state_bytes.h"

#include <stdio.h>
#include <string.h>

enum { PLAYERS = 9, STEPS = 1500, WAITING_MAX = 400, ROWS = 64 };
#define NOON   INT64_C(1763208000000)
#define EXPIRY INT64_C(1800000)

typedef struct waiting {
    uint64_t id;
    uint32_t player;
    int64_t score, at_ms, expires_ms;
} waiting;

typedef struct world {
    rung_state *s, *plain;
    rung_state_config config;
    rung_board_def def;
    waiting list[WAITING_MAX];
    uint32_t count;
    int64_t now_ms;
    char names[PLAYERS][8];
} world;

static rung_rng rng;
static uint64_t promoted, rejected, expired, banned, full, by_top, refused;

static int64_t between(int64_t low, int64_t high) {
    return low + (int64_t)rung_rng_below(&rng, (uint64_t)(high - low + 1));
}

static rung_slice name_of(const world *w, uint32_t player) {
    return rung_slice_str(w->names[player]);
}

/* ---- the same on both sides ---- */

static void same_view(const world *w, rung_slice window, rung_slice scope, bool teams) {
    static rung_row a[ROWS], b[ROWS];
    rung_query q = {.board = RUNG_SLICE("b"),
                    .window = window,
                    .scope = scope,
                    .teams = teams,
                    .now_ms = w->now_ms};
    rung_view x, y;
    CHECK_OK(rung_state_view(w->s, &q, &x, NULL));
    CHECK_OK(rung_state_view(w->plain, &q, &y, NULL));
    uint32_t n = rung_view_top(&x, 0, ROWS, a);
    CHECK_EQ_U64(n, rung_view_top(&y, 0, ROWS, b));
    for (uint32_t i = 0; i < n; i++) {
        CHECK_EQ_U64(a[i].rank, b[i].rank);
        CHECK(rung_slice_eq(a[i].id, b[i].id));
        CHECK_EQ_I64(a[i].values[0].i, b[i].values[0].i);
        CHECK_EQ_I64(a[i].at_ms, b[i].at_ms);
    }
}

static void same_everywhere(const world *w) {
    static const rung_slice windows[] = {{"all", 3}, {"hour", 4}, {"day", 3}};
    static const rung_slice scopes[] = {{NULL, 0}, {"country:FI", 10}, {"country:SE", 10}};
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t k = 0; k < 3; k++)
            same_view(w, windows[i], scopes[k], false);
        same_view(w, windows[i], (rung_slice){NULL, 0}, true);
    }
    rung_review r = {0};
    for (uint32_t i = 0; i < w->count; i++) {
        CHECK_OK(rung_state_review_next(w->s, r.id, &r));
        CHECK_EQ_U64(r.id, w->list[i].id);
        CHECK_EQ_I64(r.values[0].i, w->list[i].score);
        CHECK_EQ_I64(r.at_ms, w->list[i].at_ms);
        CHECK_EQ_I64(r.expires_ms, w->list[i].expires_ms);
        CHECK(rung_slice_eq(r.player, name_of(w, w->list[i].player)));
        CHECK(r.finding_count > 0);
    }
    CHECK(rung_state_review_next(w->s, r.id, &r) == RUNG_NOT_FOUND);
    CHECK_EQ_U64(rung_state_review_count(w->s), w->count);
}

static rung_status both(world *w, rung_event *e) {
    e->ts_ms = w->now_ms;
    rung_status st = rung_state_apply(w->plain, e, NULL, NULL);
    CHECK_STATUS(rung_state_apply(w->s, e, NULL, NULL), st);
    return st;
}

/* ---- what the model does ---- */

static void drop(world *w, uint32_t i) {
    memmove(&w->list[i], &w->list[i + 1], (w->count - i - 1) * sizeof w->list[0]);
    w->count--;
}

static void drop_player(world *w, uint32_t player) {
    for (uint32_t i = w->count; i-- > 0;)
        if (w->list[i].player == player)
            drop(w, i);
}

static rung_event score_event(const world *w, uint32_t player, int64_t score, int64_t at_ms) {
    rung_event e = {.kind = RUNG_EVENT_SCORE, .ts_ms = w->now_ms};
    e.score = (rung_score_event){.board = RUNG_SLICE("b"),
                                 .player = name_of(w, player),
                                 .value_count = 1,
                                 .values = {{.i = score}},
                                 .has_at = true,
                                 .at_ms = at_ms};
    return e;
}

static rung_status count_plain(world *w, uint32_t player, int64_t score, int64_t at_ms) {
    rung_event e = score_event(w, player, score, at_ms);
    return rung_state_apply(w->plain, &e, NULL, NULL);
}

/* Would it enter the first places? Looked up row by row. */
static bool enters_top(const world *w, uint32_t player, int64_t score, int64_t at_ms) {
    rung_query q = {.board = RUNG_SLICE("b")};
    static rung_row rows[ROWS];
    rung_view v;
    uint32_t above = 0;
    if (w->def.review != RUNG_REVIEW_TOP)
        return false;
    CHECK_OK(rung_state_view(w->plain, &q, &v, NULL));
    uint32_t n = rung_view_top(&v, 0, ROWS, rows);
    int64_t next = score;
    for (uint32_t i = 0; i < n; i++) {
        if (!rung_slice_eq(rows[i].id, name_of(w, player)))
            continue;
        int64_t old = rows[i].values[0].i;
        bool is_earlier = at_ms < rows[i].at_ms;
        if (w->def.update == RUNG_UPDATE_BEST && (score < old || (score == old && !is_earlier)))
            return false;
        if (w->def.update == RUNG_UPDATE_LAST &&
            (is_earlier || (score == old && at_ms == rows[i].at_ms)))
            return false;
        if (w->def.update == RUNG_UPDATE_SUM)
            next = old + score;
        if (w->def.update == RUNG_UPDATE_SUM && score == 0 && at_ms <= rows[i].at_ms)
            return false;
    }
    for (uint32_t i = 0; i < n; i++)
        above += rows[i].values[0].i > next && !rung_slice_eq(rows[i].id, name_of(w, player));
    return above < w->def.review_top;
}

static bool breaks_a_rule(const world *w, int64_t score) {
    return w->def.rule_count && score > w->def.rules[0].value.i;
}

/* ---- steps ---- */

static void submit(world *w) {
    uint32_t player = (uint32_t)between(0, PLAYERS - 1), own = 0;
    int64_t score = between(0, 5) ? between(0, 1000) : between(900, 3000);
    int64_t at_ms = w->now_ms - (between(0, 3) ? 0 : between(0, 7200000));
    static rung_outcome out;
    rung_event e = score_event(w, player, score, at_ms);
    bool is_banned = false;
    uint32_t count;
    rung_attribute attributes[RUNG_ATTRIBUTES_MAX];
    rung_judgement j;
    rung_ignore(rung_state_player(w->plain, name_of(w, player), &count, attributes, &is_banned),
                "it need not be known");
    bool is_top = enters_top(w, player, score, at_ms);
    bool waits = breaks_a_rule(w, score) || is_top;
    rung_state_judge(w->s, &e.score, w->now_ms, &j, NULL);
    rung_status st = rung_state_apply(w->s, &e, &out, NULL);
    for (uint32_t i = 0; i < w->count; i++)
        own += w->list[i].player == player;
    if (is_banned) {
        CHECK_STATUS(st, RUNG_EREFUSED);
        return;
    }
    if (waits && own == RUNG_REVIEWS_PLAYER_MAX) {
        CHECK_STATUS(st, RUNG_ELIMIT);
        CHECK_STATUS(j.status, RUNG_ELIMIT);
        full++;
        return;
    }
    if (!waits) {
        CHECK(!out.tentative && !j.tentative);
        CHECK_STATUS(count_plain(w, player, score, at_ms), st);
        return;
    }
    CHECK_STATUS(st, RUNG_TENTATIVE);
    CHECK(out.tentative && j.tentative && !out.changed);
    CHECK_EQ_U64(out.review >> RUNG_REVIEW_PART_BITS, rung_state_seq(w->s));
    CHECK_EQ_U64(out.rank, j.rank);
    by_top += is_top;
    CHECK(w->count < WAITING_MAX);
    w->list[w->count++] =
        (waiting){out.review, player, score, at_ms,
                  w->now_ms + (w->def.review_ms ? w->def.review_ms : RUNG_REVIEW_DEFAULT_MS)};
}

static void decide(world *w) {
    if (!w->count)
        return;
    uint32_t i = (uint32_t)between(0, w->count - 1);
    waiting it = w->list[i];
    rung_review_verdict verdict = between(0, 20) == 0 ? RUNG_VERDICT_BAN
                                  : between(0, 1)     ? RUNG_VERDICT_PROMOTE
                                                      : RUNG_VERDICT_REJECT;
    rung_event e = {.kind = RUNG_EVENT_REVIEWED, .ts_ms = w->now_ms};
    e.reviewed.board = RUNG_SLICE("b");
    e.reviewed.player = name_of(w, it.player);
    e.reviewed.id = it.id;
    e.reviewed.verdict = verdict;
    rung_status st = rung_state_apply(w->s, &e, NULL, NULL);
    if (verdict == RUNG_VERDICT_PROMOTE) {
        rung_status counted = count_plain(w, it.player, it.score, it.at_ms);
        if (counted < 0) {
            CHECK_STATUS(st,
                         counted); /* no window takes it, or the player is banned: it waits on */
            refused++;
            return;
        }
        promoted++;
    }
    CHECK_STATUS(st, RUNG_OK);
    if (verdict == RUNG_VERDICT_BAN) {
        rung_event ban = {.kind = RUNG_EVENT_BANNED, .ts_ms = w->now_ms};
        ban.ban.player = name_of(w, it.player);
        CHECK(rung_state_apply(w->plain, &ban, NULL, NULL) >= 0);
        drop_player(w, it.player);
        banned++;
        return;
    }
    rejected += verdict == RUNG_VERDICT_REJECT;
    drop(w, i);
    CHECK_STATUS(rung_state_apply(w->s, &e, NULL, NULL), RUNG_EABSENT); /* once */
}

static void tick(world *w) {
    rung_event e = {.kind = RUNG_EVENT_TICK, .ts_ms = w->now_ms};
    for (uint32_t i = 0; i < w->count;) {
        waiting it = w->list[i];
        if (it.expires_ms > w->now_ms) {
            CHECK(rung_state_next_close(w->s) <= it.expires_ms);
            i++;
            continue;
        }
        if (w->def.review_outcome == RUNG_VERDICT_PROMOTE)
            rung_ignore(count_plain(w, it.player, it.score, it.at_ms), "else it is rejected");
        expired++;
        drop(w, i);
    }
    CHECK(rung_state_apply(w->s, &e, NULL, NULL) >= 0);
    CHECK(rung_state_apply(w->plain, &e, NULL, NULL) >= 0);
}

static void change_people(world *w) {
    uint32_t player = (uint32_t)between(0, PLAYERS - 1);
    rung_event e = {.kind = RUNG_EVENT_PLAYER_SET};
    switch (between(0, 5)) {
    case 0:
        e.kind = RUNG_EVENT_PLAYER_ERASED;
        e.erased.player = name_of(w, player);
        e.ts_ms = w->now_ms;
        rung_ignore(rung_state_apply(w->plain, &e, NULL, NULL), "may know only what waits");
        if (rung_state_apply(w->s, &e, NULL, NULL) == RUNG_OK)
            drop_player(w, player);
        return;
    case 1:
    case 2:
        e.kind = RUNG_EVENT_UNBANNED;
        e.ban.player = name_of(w, player);
        break;
    case 3:
        e.kind = RUNG_EVENT_BANNED; /* what waits goes on waiting */
        e.ban.player = name_of(w, player);
        break;
    default:
        e.profile.player = name_of(w, player);
        e.profile.count = 2;
        e.profile.attributes[0] = (rung_attribute){
            RUNG_SLICE("country"), between(0, 1) ? RUNG_SLICE("FI") : RUNG_SLICE("SE")};
        e.profile.attributes[1] = (rung_attribute){
            RUNG_SLICE("guild"), between(0, 1) ? RUNG_SLICE("x") : RUNG_SLICE("y")};
    }
    rung_ignore(both(w, &e), "the same on both sides");
}

static void random_reviews(rung_board_def *d) {
    d->rule_count = between(0, 4) != 0;
    d->rules[0] = (rung_board_rule){
        .rule = RUNG_RULE_MAX, .action = RUNG_ACTION_REVIEW, .value = {.i = between(800, 1500)}};
    d->review = (rung_review_kind)between(0, 2);
    d->review_top = d->review == RUNG_REVIEW_TOP ? (uint32_t)between(1, 3) : 0;
    if (d->review == RUNG_REVIEW_ANOMALIES)
        d->rules[0].action = RUNG_ACTION_FLAG;
    d->review_ms = between(0, 9) ? EXPIRY : 0;
}

static void define(world *w) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = w->now_ms};
    e.defined.board = RUNG_SLICE("b");
    e.defined.def = w->def;
    CHECK(rung_state_apply(w->s, &e, NULL, NULL) >= 0);
    e.defined.def.rule_count = 0;
    e.defined.def.review = RUNG_REVIEW_NONE;
    e.defined.def.review_top = 0;
    e.defined.def.review_ms = 0;
    e.defined.def.review_outcome = RUNG_VERDICT_REJECT;
    CHECK(rung_state_apply(w->plain, &e, NULL, NULL) >= 0);
}

static void save_and_load(world *w) {
    state_bytes bytes = {0};
    rung_state *copy;
    rung_err err = {0};
    rung_digest digest = rung_state_digest(w->s);
    state_bytes_save(&bytes, w->s);
    CHECK_OK(state_bytes_load(&bytes, &w->config, 0, false, &copy, &err));
    CHECK_EQ_U64(rung_state_digest(copy).a, digest.a);
    CHECK_EQ_U64(rung_state_digest(copy).b, digest.b);
    state_bytes_deinit(&bytes);
    rung_state_destroy(w->s);
    w->s = copy;
}

/* The owner's view: the best of what waits, if it changes the entry, and its rank if it was promoted. */
static void check_owner(world *w) {
    uint32_t player = (uint32_t)between(0, PLAYERS - 1);
    rung_query q = {.board = RUNG_SLICE("b")};
    rung_view v;
    rung_row row;
    uint64_t id = 0;
    bool is_there = false;
    CHECK_OK(rung_state_view(w->s, &q, &v, NULL));
    rung_status st = rung_view_tentative(&v, name_of(w, player), &row, &id);
    for (uint32_t i = 0; i < w->count; i++)
        is_there |= w->list[i].player == player && w->list[i].id == id;
    CHECK(st == RUNG_OK ? is_there : id == 0);
}

static void run(uint64_t seed) {
    static world w;
    memset(&w, 0, sizeof w);
    rung_rng_seed(&rng, seed);
    w.config = (rung_state_config){.alloc = rung_alloc_heap(), .rules_level = RUNG_RULES_LEVEL};
    w.now_ms = NOON;
    for (uint32_t i = 0; i < PLAYERS; i++)
        snprintf(w.names[i], sizeof w.names[i], "p%u", i);
    CHECK_OK(rung_state_create(&w.config, &w.s));
    CHECK_OK(rung_state_create(&w.config, &w.plain));
    w.def = rung_board_def_default();
    w.def.update = (rung_update)between(RUNG_UPDATE_BEST, RUNG_UPDATE_SUM);
    w.def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_HOUR) | RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    w.def.grace_ms = between(0, 1) ? 600000 : 0;
    w.def.scope_count = 1;
    w.def.scopes[0] = RUNG_SLICE("country");
    w.def.has_teams = true;
    w.def.team_by = RUNG_SLICE("guild");
    w.def.review_outcome = between(0, 1) ? RUNG_VERDICT_PROMOTE : RUNG_VERDICT_REJECT;
    random_reviews(&w.def);
    define(&w);
    for (uint32_t step = 0; step < STEPS; step++) {
        int64_t what = between(0, 99);
        w.now_ms += between(0, 9) ? between(0, 60000) : between(0, 900000);
        if (what < 70)
            submit(&w);
        else if (what < 82)
            decide(&w);
        else if (what < 90)
            tick(&w);
        else if (what < 98)
            change_people(&w);
        else {
            random_reviews(&w.def);
            define(&w);
        }
        same_everywhere(&w);
        check_owner(&w);
        if (step % 100 == 0)
            CHECK(!rung_state_check(w.s));
        if (step % 300 == 0)
            save_and_load(&w);
    }
    CHECK(!rung_state_check(w.s));
    rung_state_destroy(w.s);
    rung_state_destroy(w.plain);
}

TEST(against_the_model) {
    uint64_t seed = test_seed(1);
    for (uint64_t i = 0; i < 40; i++)
        run(seed + i);
    CHECK(promoted > 100);
    CHECK(rejected > 100);
    CHECK(expired > 100);
    CHECK(banned > 20);
    CHECK(by_top > 100);
    CHECK(refused > 20);
}

/* ---- limits and ids ---- */

TEST(ids_are_text) {
    static const struct {
        uint64_t id;
        const char *text;
    } CASES[] = {{UINT64_C(1) << 14, "1"},
                 {UINT64_C(1234) << 14, "1234"},
                 {UINT64_C(1234) << 14 | 2, "1234-2"},
                 {UINT64_MAX, "1125899906842623-16383"}};
    static const char *const BAD[] = {"",
                                      "0",
                                      "-1",
                                      "01",
                                      "1-",
                                      "1-0",
                                      "1-01",
                                      "1-16384",
                                      "1 ",
                                      "1125899906842624",
                                      "99999999999999999999999",
                                      "x"};
    char out[RUNG_REVIEW_ID_TEXT_MAX];
    uint64_t id;
    for (size_t i = 0; i < RUNG_COUNT_OF(CASES); i++) {
        uint32_t len = rung_review_id_format(CASES[i].id, out);
        CHECK(rung_slice_eq(rung_slice_of(out, len), rung_slice_str(CASES[i].text)));
        CHECK(rung_review_id_parse(rung_slice_of(out, len), &id));
        CHECK_EQ_U64(id, CASES[i].id);
    }
    for (size_t i = 0; i < RUNG_COUNT_OF(BAD); i++)
        CHECK_MSG(!rung_review_id_parse(rung_slice_str(BAD[i]), &id), "%s", BAD[i]);
}

/* A board that sends everything to a review. */
static rung_state *all_tentative(void) {
    rung_state_config config = {.alloc = rung_alloc_heap(), .rules_level = RUNG_RULES_LEVEL};
    rung_state *s;
    CHECK_OK(rung_state_create(&config, &s));
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = NOON};
    e.defined.board = RUNG_SLICE("b");
    e.defined.def = rung_board_def_default();
    e.defined.def.review = RUNG_REVIEW_TOP;
    e.defined.def.review_top = RUNG_REVIEW_TOP_MAX;
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    return s;
}

TEST(the_list_has_a_limit) {
    rung_state *s = all_tentative();
    static rung_outcome out;
    rung_err err = {0};
    char name[16];
    for (uint32_t i = 0; i <= RUNG_REVIEWS_MAX; i++) {
        rung_event e = {.kind = RUNG_EVENT_SCORE, .ts_ms = NOON};
        e.score.board = RUNG_SLICE("b");
        e.score.player = rung_slice_of(name, (size_t)snprintf(name, sizeof name, "p%u", i));
        e.score.value_count = 1;
        CHECK_STATUS(rung_state_apply(s, &e, &out, &err),
                     i < RUNG_REVIEWS_MAX ? RUNG_TENTATIVE : RUNG_ELIMIT);
    }
    CHECK_EQ_STR(err.field, "review");
    rung_event e = {.kind = RUNG_EVENT_BOARD_DELETED, .ts_ms = NOON};
    e.deleted.board = RUNG_SLICE("b");
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    CHECK_EQ_U64(rung_state_review_count(s), 0);
    CHECK(!rung_state_check(s));
    rung_state_destroy(s);
}

TEST(a_repeated_id_gets_the_first_answer) {
    rung_state *s = all_tentative();
    static rung_outcome first, second;
    rung_event e = {.kind = RUNG_EVENT_SCORE, .ts_ms = NOON};
    e.score.board = RUNG_SLICE("b");
    e.score.player = RUNG_SLICE("ada");
    e.score.id = RUNG_SLICE("one");
    e.score.value_count = 1;
    e.score.values[0].i = 7;
    CHECK_STATUS(rung_state_apply(s, &e, &first, NULL), RUNG_TENTATIVE);
    CHECK_STATUS(rung_state_apply(s, &e, &second, NULL), RUNG_DUPLICATE);
    CHECK(second.tentative && second.duplicate);
    CHECK_EQ_U64(second.review, first.review);
    CHECK_EQ_U64(rung_state_review_count(s), 1);
    rung_state_destroy(s);
}

/* ---- bans that end ---- */

TEST(a_ban_ends_at_its_time_alone) {
    rung_state *s = all_tentative();
    rung_slice who[4];
    int64_t until[4];
    rung_event e = {.kind = RUNG_EVENT_BANNED, .ts_ms = NOON};
    e.ban.player = RUNG_SLICE("ada");
    e.ban.until_ms = NOON + 1000;
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    CHECK_STATUS(rung_state_apply(s, &e, NULL, NULL), RUNG_UNCHANGED);
    CHECK_EQ_I64(rung_state_banned_until(s, RUNG_SLICE("ada")), NOON + 1000);
    CHECK_EQ_U64(rung_state_bans_due(s, NOON + 999, 4, who, until), 0);
    CHECK_EQ_U64(rung_state_bans_due(s, NOON + 1000, 4, who, until), 1);
    rung_event end = {.kind = RUNG_EVENT_UNBANNED, .ts_ms = NOON + 999};
    end.ban.player = RUNG_SLICE("ada");
    end.ban.until_ms = NOON + 1000;
    CHECK_STATUS(rung_state_apply(s, &end, NULL, NULL), RUNG_UNCHANGED); /* too early */
    e.ban.until_ms = NOON + 5000;
    e.ts_ms = NOON + 1000;
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL)); /* another end */
    end.ts_ms = NOON + 9000;
    CHECK_STATUS(rung_state_apply(s, &end, NULL, NULL), RUNG_UNCHANGED); /* of the earlier one */
    CHECK(!rung_state_check(s));
    CHECK_EQ_U64(rung_state_bans_due(s, NOON + 9000, 4, who, until), 1);
    end.ban.until_ms = until[0];
    CHECK_OK(rung_state_apply(s, &end, NULL, NULL));
    CHECK_EQ_U64(rung_state_bans_due(s, NOON + 9000, 4, who, until), 0);
    CHECK(!rung_state_check(s));
    rung_state_destroy(s);
}

RUNG_TEST_MAIN
