/* SPDX-License-Identifier: Apache-2.0 */
/* Guided ladders: a guide and three ladders that it guides, every player in at most one of those, as a window's ranking
 * and those of a scope are; two of them share a arena. Random puts, moves between the three and removals, with
 * fresh descents, stale ones and none, against plain arrays. */
/* ctest: labels=release */
#include "ladder/pipeline.h"
#include "ladder/tree.h"
#include "support/check.h"
#include "support/failalloc.h"
#include "support/rng.h"

#include <string.h>

enum { PLAYERS = 600, VALUES = 3, OUT = VALUES, STALE = 8 };

typedef struct pair {
    rung_descent d[2];
} pair;

typedef struct world {
    rung_failalloc fa;
    rung_rng rng;
    rung_ladder *guide, *of[VALUES];
    rung_arena *arena;
    uint8_t words;
    uint64_t key[PLAYERS][2];
    uint32_t value[PLAYERS]; /* OUT: not ranked */
    pair stale[STALE];
    uint32_t stale_count;
} world;

static uint32_t roll(world *w, uint32_t n) {
    return (uint32_t)(rung_rng_next(&w->rng) % n);
}

static int larger_first(const void *ctx, uint32_t a, uint32_t b) {
    (void)ctx;
    return a < b ? 1 : a > b ? -1 : 0;
}

static void prefetch(const void *ctx, uint32_t player, int part) {
    (void)ctx;
    (void)player;
    (void)part;
}

/* Coarse, and of a guide's own: it is begun with other players than the ladders it guides. */
static void begin_prefixes(const void *ctx, uint32_t n, const uint32_t *players, void *origin) {
    uint32_t width = 2 + players[0] % 5;
    (void)ctx;
    CHECK(n > 0);
    memcpy(origin, &width, sizeof width);
}

static uint32_t prefix(const void *ctx, const void *origin, uint32_t player) {
    uint32_t width;
    (void)ctx;
    memcpy(&width, origin, sizeof width);
    return UINT32_MAX - player / width;
}

static void begin(world *w, uint64_t seed, uint8_t words, bool own_ties) {
    memset(w, 0, sizeof *w);
    rung_failalloc_init(&w->fa);
    rung_rng_seed(&w->rng, seed);
    w->words = words;
    static const rung_ladder_aid aid = {
        .prefetch = prefetch, .prefix_begin = begin_prefixes, .prefix = prefix};
    rung_ladder_config config = {.alloc = rung_failalloc_port(&w->fa),
                                 .key_words = words,
                                 .score_words = 1,
                                 .tie = own_ties ? larger_first : NULL,

                                 .tie_aid = &aid};
    CHECK_OK(rung_ladder_create(&config, &w->guide));
    w->arena = rung_arena_create(config.alloc);
    CHECK(w->arena);
    config.guide = w->guide;
    for (uint32_t v = 0; v < VALUES; v++) {
        config.arena = v ? w->arena : NULL;
        CHECK_OK(rung_ladder_create(&config, &w->of[v]));
    }
    for (uint32_t p = 0; p < PLAYERS; p++)
        w->value[p] = OUT;
}

static void end(world *w) {
    rung_ladder_destroy(w->guide);
    for (uint32_t v = 0; v < VALUES; v++)
        rung_ladder_destroy(w->of[v]);
    rung_arena_destroy(w->arena);
    rung_failalloc_deinit(&w->fa);
}

/* ---- against the arrays ---- */

static int compare(const world *w, uint32_t a, uint32_t b) {
    rung_ladder_entry x = {.player = a}, y = {.player = b};
    memcpy(x.key, w->key[a], sizeof w->key[a]);
    memcpy(y.key, w->key[b], sizeof w->key[b]);
    return rung_ladder_compare(w->guide, &x, &y);
}

static void check_player(const world *w, uint32_t player) {
    for (uint32_t v = 0; v < VALUES; v++) {
        rung_ladder_entry e;
        uint32_t rank, expected = 1;
        bool is_here = w->value[player] == v;
        CHECK_EQ_I64(rung_ladder_find(w->of[v], player, &e), is_here ? RUNG_OK : RUNG_NOT_FOUND);
        CHECK_EQ_I64(rung_ladder_rank(w->of[v], player, RUNG_RANK_UNIQUE, &rank),
                     is_here ? RUNG_OK : RUNG_NOT_FOUND);
        if (!is_here)
            continue;
        CHECK_EQ_U64(e.player, player);
        CHECK_EQ_U64(e.key[0], w->key[player][0]);
        for (uint32_t p = 0; p < PLAYERS; p++)
            expected += w->value[p] == v && compare(w, p, player) < 0;
        CHECK_EQ_U64(rank, expected);
    }
}

static void check_all(const world *w) {
    for (uint32_t v = 0; v < VALUES; v++) {
        uint32_t count = 0;
        for (uint32_t p = 0; p < PLAYERS; p++)
            count += w->value[p] == v;
        CHECK_EQ_U64(rung_ladder_count(w->of[v]), count);
        CHECK_SOUND(rung_ladder_check(w->of[v]));
    }
    CHECK_SOUND(rung_ladder_check(w->guide));
}

/* ---- changes ---- */

static void descend(world *w, uint32_t player, uint32_t value, const uint64_t *key, pair *p) {
    rung_ladder *l = w->of[value];
    for (int part = 0; part < 3; part++)
        rung_ladder_prefetch(l, part);
    rung_descent_init_guided(&p->d[0], &p->d[1], l, player,
                             w->value[player] == OUT ? NULL : w->key[player], key);
    for (uint32_t stage = RUNG_DESCENT_DOWN; stage < RUNG_DESCENT_STAGES; stage++)
        rung_descent_advance(p->d, 2, stage);
}

/* The guided one first; what does not succeed leaves it as it was. */
static rung_status put(world *w, uint32_t player, uint32_t value, const uint64_t *key) {
    pair fresh;
    uint32_t how = roll(w, 4);
    if (how == 0 || (how == 1 && !w->stale_count))
        return rung_ladder_put(w->of[value], player, key, NULL);
    if (how != 1)
        descend(w, player, value, key, &fresh);
    /* A stale one is of some player, for some key, perhaps in another ladder. */
    const pair *p = how == 1 ? &w->stale[roll(w, w->stale_count)] : &fresh;
    return rung_descent_put(w->of[value], player, key, &p->d[0], &p->d[1], NULL);
}

static void put_player(world *w, uint32_t player) {
    uint64_t key[2] = {roll(w, 40), roll(w, 5)};
    bool is_new = w->value[player] == OUT;
    uint32_t value = is_new ? roll(w, VALUES) : w->value[player];
    bool same = !is_new && memcmp(key, w->key[player], w->words * sizeof *key) == 0;
    rung_status st = put(w, player, value, key);
    if (st == RUNG_ENOMEM)
        return;
    CHECK_EQ_I64(st, same ? RUNG_UNCHANGED : RUNG_OK);
    w->fa.fail_at = 0;
    CHECK_EQ_I64(rung_ladder_put(w->guide, player, key, NULL), st);
    w->value[player] = value;
    memcpy(w->key[player], key, sizeof key);
}

/* The player keeps its key and changes its value. */
static void change_value(world *w, uint32_t player) {
    uint32_t value = roll(w, VALUES);
    if (w->value[player] == OUT || w->value[player] == value)
        return;
    if (rung_ladder_secure(w->of[value], player, true) < 0)
        return;
    rung_failalloc_fail_at(&w->fa, 1, true); /* secured: needs no more */
    CHECK_OK(rung_ladder_remove(w->of[w->value[player]], player));
    CHECK_OK(rung_ladder_put(w->of[value], player, w->key[player], NULL));
    rung_failalloc_fail_at(&w->fa, 0, false);
    w->value[player] = value;
}

static void take_out(world *w, uint32_t player) {
    for (uint32_t v = 0; v < VALUES; v++)
        CHECK_EQ_I64(rung_ladder_remove(w->of[v], player),
                     v == w->value[player] ? RUNG_OK : RUNG_NOT_FOUND);
    if (w->value[player] != OUT)
        CHECK_OK(rung_ladder_remove(w->guide, player));
    w->value[player] = OUT;
}

static void keep_stale(world *w, uint32_t player) {
    uint64_t key[2] = {roll(w, 40), roll(w, 5)};
    uint32_t at = w->stale_count < STALE ? w->stale_count++ : roll(w, STALE);
    descend(w, player, roll(w, VALUES), key, &w->stale[at]);
}

static void run(uint64_t seed, uint8_t words, bool own_ties, uint32_t fail_every) {
    static world w;
    uint64_t steps = test_steps(6000);
    begin(&w, test_seed(seed), words, own_ties);
    for (uint64_t i = 0; i < steps; i++) {
        /* Grow for a while, then shrink, and again. */
        bool grows = i / 1500 % 2 == 0;
        uint32_t player = roll(&w, PLAYERS), what = roll(&w, 16);
        rung_failalloc_fail_at(&w.fa, fail_every && roll(&w, fail_every) == 0 ? 1 : 0, true);
        if (what < (grows ? 11u : 6u))
            put_player(&w, player);
        else if (what < 12)
            take_out(&w, grows ? roll(&w, PLAYERS / 8) : player);
        else if (what < 14)
            change_value(&w, player);
        else
            keep_stale(&w, player);
        rung_failalloc_fail_at(&w.fa, 0, false);
        check_player(&w, roll(&w, 2) ? player : roll(&w, PLAYERS));
        if (i % 32 == 0)
            check_all(&w);
    }
    check_all(&w);
    end(&w);
}

TEST(random_changes) {
    run(1, 2, false, 0);
}

TEST(random_changes_with_ties_by_player) {
    run(2, 1, false, 0);
}

TEST(random_changes_with_ties_of_its_own) {
    run(3, 1, true, 0);
}

TEST(random_changes_with_failing_memory) {
    run(4, 2, false, 3);
}

/* ---- building, and checking ---- */

/* Every third of the guide's entries. */
static bool supply(void *ctx, rung_ladder_entry *out) {
    rung_ladder_entry skipped;
    bool is_there = rung_ladder_next(ctx, out);
    for (uint32_t i = 1; i < VALUES; i++)
        rung_ladder_next(ctx, &skipped);
    return is_there;
}

TEST(a_built_one_is_like_a_grown_one) {
    static world w;
    begin(&w, 5, 2, false);
    for (uint32_t p = 0; p < PLAYERS; p++) {
        w.key[p][0] = roll(&w, 40);
        w.key[p][1] = roll(&w, 5);
        w.value[p] = OUT;
        CHECK_OK(rung_ladder_put(w.guide, p, w.key[p], NULL));
    }
    for (uint32_t i = 0; i < PLAYERS; i++) {
        rung_ladder_entry e;
        CHECK_OK(rung_ladder_at(w.guide, i, &e));
        w.value[e.player] = i % VALUES;
    }
    for (uint32_t v = 0; v < VALUES; v++) {
        rung_ladder_cursor source = rung_ladder_seek(w.guide, v);
        CHECK_OK(rung_ladder_build(w.of[v], PLAYERS / VALUES, supply, &source));
    }
    check_all(&w);
    for (uint32_t p = 0; p < PLAYERS; p++)
        check_player(&w, p);
    end(&w);
}

TEST(an_entry_that_the_guide_lacks_is_noticed) {
    static world w;
    begin(&w, 6, 2, false);
    uint64_t key[2] = {1, 2}, other[2] = {1, 3};
    CHECK_OK(rung_ladder_put(w.of[0], 7, key, NULL));
    CHECK(rung_ladder_check(w.of[0]) != NULL);
    CHECK_OK(rung_ladder_put(w.guide, 7, other, NULL));
    CHECK(rung_ladder_check(w.of[0]) != NULL);
    CHECK_OK(rung_ladder_put(w.guide, 7, key, NULL));
    CHECK_SOUND(rung_ladder_check(w.of[0]));
    end(&w);
}

RUNG_TEST_MAIN
