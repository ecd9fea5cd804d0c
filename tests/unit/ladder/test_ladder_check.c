/* SPDX-License-Identifier: Apache-2.0 */
/* A check that never complains proves nothing: here every invariant of the ladder and of its player map is broken once,
 * on purpose and from inside, and rung_ladder_check() must say which. Each way of breaking, done twice, repairs. */
/* ctest: labels=release */
#include "ladder/ladder.h"
#include "ladder/tree.h"
#include "support/check.h"

#include <string.h>

#ifdef RUNG_TEST_BUILD
enum { N = 60 };
#else
enum {
    N = 3500
}; /* sixteen pages of the player map are about full: some are split, some not yet */
#endif

/* ---- ladders to break ---- */

/* Player i at score i, numbers `factor` apart. */
typedef struct ascending {
    uint32_t next, factor;
} ascending;

static bool supply(void *ctx, rung_ladder_entry *out) {
    ascending *a = ctx;
    *out = (rung_ladder_entry){.key = {a->next}, .player = a->next * a->factor};
    a->next++;
    return true;
}

static int smaller_first(const void *ctx, uint32_t a, uint32_t b) {
    (void)ctx;
    return (a > b) - (a < b);
}

static void prefetch(const void *ctx, uint32_t player, int part) {
    (void)ctx;
    (void)player;
    (void)part;
}

static void begin_prefixes(const void *ctx, uint32_t n, const uint32_t *players, void *origin) {
    (void)ctx;
    (void)n;
    memcpy(origin, players, sizeof *players);
}

static uint32_t prefix(const void *ctx, const void *origin, uint32_t player) {
    (void)ctx;
    (void)origin;
    return player / 4;
}

static rung_ladder *new_ladder(uint32_t count, uint32_t factor) {
    static const rung_ladder_aid aid = {
        .prefetch = prefetch, .prefix_begin = begin_prefixes, .prefix = prefix};
    rung_ladder_config config = {.alloc = rung_alloc_heap(),
                                 .key_words = 1,
                                 .score_words = 1,
                                 .tie = smaller_first,

                                 .tie_aid = &aid};
    ascending source = {.factor = factor};
    rung_ladder *l;
    CHECK_OK(rung_ladder_create(&config, &l));
    CHECK_OK(rung_ladder_build(l, count, supply, &source));
    CHECK_SOUND(rung_ladder_check(l));
    return l;
}

static uint32_t leaf_id(const rung_ladder *l, uint32_t index) {
    return rung_ladder_seek(l, index).leaf;
}

static rung__node *first_leaf(rung_ladder *l) {
    return rung__leaf(l, leaf_id(l, 0));
}

static void swap_words(uint64_t *a, uint64_t *b) {
    uint64_t old = *a;
    *a = *b;
    *b = old;
}

/* ---- ways to break ---- */

static void break_totals_of_nothing(rung_ladder *l) {
    l->count ^= 1;
}

static void break_chain(rung_ladder *l) {
    rung__leaf(l, first_leaf(l)->next)->prev ^= 1;
}

static void break_end_of_chain(rung_ladder *l) {
    rung__leaf(l, leaf_id(l, N - 1))->next ^= 1;
}

static void break_order(rung_ladder *l) {
    swap_words(&rung__words(first_leaf(l), 0)[1], &rung__words(first_leaf(l), 0)[2]);
}

static void break_inner_key(rung_ladder *l) {
    rung__words(rung__inner(l, l->root), 0)[1] ^= 1;
}

static void break_inner_count(rung_ladder *l) {
    rung__column(l, rung__inner(l, l->root), RUNG__COUNT)[1] ^= 1;
}

static void break_inner_starts(rung_ladder *l) {
    rung__column(l, rung__inner(l, l->root), RUNG__STARTS)[0] ^= 1;
}

static void break_parent(rung_ladder *l) {
    rung__leaf(l, leaf_id(l, N / 2))->parent ^= 1;
}

static void break_place(rung_ladder *l) {
    rung__leaf(l, leaf_id(l, N / 2))->place ^= 1;
}

static void break_start_in_parent(rung_ladder *l) {
    const rung__node *leaf = first_leaf(l);
    rung__inner_places(l, rung__inner(l, leaf->parent), RUNG__COUNT)[leaf->place] ^=
        rung__pack_counts(0, 0, 1);
}

static void break_prefix(rung_ladder *l) {
    rung__prefixes(l, first_leaf(l))[1] ^= 1;
}

static void break_inner_prefix(rung_ladder *l) {
    rung__prefixes(l, rung__inner(l, l->root))[1] ^= 1;
}

static void break_fill(rung_ladder *l) {
    first_leaf(l)->n ^= 1 << 10;
}

static void break_start(rung_ladder *l) {
    first_leaf(l)->starts ^= 2;
}

static void break_start_behind_the_last(rung_ladder *l) {
    rung__node *leaf = first_leaf(l);
    leaf->starts ^= (uint64_t)1 << leaf->n;
}

static void break_distinct(rung_ladder *l) {
    l->distinct ^= 1;
}

static void break_leaf_of_player(rung_ladder *l) {
    uint32_t leaf = rung_numbermap_get(&l->tree->map, 0);
    rung_numbermap_set(&l->tree->map, 0, leaf ^ 1);
}

static void break_map_with_a_stranger(rung_ladder *l) {
    rung_numbermap *map = &l->tree->map;
    if (rung_numbermap_get(map, N + 1) != RUNG_NUMBER_NONE) {
        rung_numbermap_remove(map, N + 1);
        return;
    }
    CHECK_OK(rung_numbermap_reserve(map, l->alloc, N + 1));
    rung_numbermap_set(map, N + 1, 0);
}

static void break_map_count(rung_ladder *l) {
    l->tree->map.hash_count ^= 1;
}

TEST(every_invariant_of_the_tree) {
    static const struct {
        void (*break_or_repair)(rung_ladder *l);
        const char *complaint;
    } cases[] = {
        {break_chain, "I1: the leaf chain is broken"},
        {break_end_of_chain, "I1: the leaf chain does not end"},
        {break_order, "I1: entries are out of order"},
        {break_inner_key, "I2: an inner key is not the first entry below it"},
        {break_inner_count, "I2: a count or the starts of a child are wrong"},
        {break_inner_starts, "I2: a count or the starts of a child are wrong"},
        {break_start_in_parent, "I2: a parent does not know where the rows of a leaf start"},
        {break_parent, "I3: a node does not know its parent"},
        {break_place, "I3: a node does not know its place"},
        {break_fill, "I4: a node is too full or too empty"},
        {break_start, "I5: a start bit is wrong"},
        {break_start_behind_the_last, "I5: a start bit is set behind the last row"},
        {break_leaf_of_player, "I6: the player map names another leaf"},
        {break_map_with_a_stranger, "I6: the player map has others too"},
        {break_distinct, "I7: the totals are wrong"},
        {break_prefix, "I8: an entry has another player's prefix"},
        {break_inner_prefix, "I8: an inner row has another player's prefix"},
        {break_map_count, "L2: the map's counts are wrong"},
    };
    rung_ladder *l = new_ladder(N, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cases[i].break_or_repair(l);
        CHECK_EQ_STR(rung_ladder_check(l), cases[i].complaint);
        cases[i].break_or_repair(l);
        CHECK_SOUND(rung_ladder_check(l));
    }
    rung_ladder_clear(l);
    break_totals_of_nothing(l);
    CHECK_EQ_STR(rung_ladder_check(l), "I7: totals without a root");
    break_totals_of_nothing(l);
    rung_ladder_destroy(l);
}

/* The first pair of directory slots, an even one and the next, that share a page or do not. */
static rung__number_page **find_pair(const rung_numbermap *map, bool is_shared) {
    for (uint32_t i = 0; i < UINT32_C(1) << map->depth; i += 2)
        if ((map->pages[i] == map->pages[i + 1]) == is_shared)
            return map->pages + i;
    test_fail(__FILE__, __LINE__, "no such pages in a directory of depth %d", map->depth);
}

static void swap_pages(rung__number_page **pair) {
    rung__number_page *old = pair[0];
    pair[0] = pair[1];
    pair[1] = old;
}

TEST(every_invariant_of_the_sparse_player_map) {
    rung_ladder *l = new_ladder(N, 2654435761u);
    rung_numbermap *map = &l->tree->map;

    rung__number_page **shared = find_pair(map, true), *page = shared[1];
    shared[1] = NULL;
    CHECK_EQ_STR(rung_numbermap_check(map),
                 "L3: a page does not stand in all of its directory slots");
    shared[1] = page;

    rung__number_page **single = find_pair(map, false);
    swap_pages(single);
    CHECK_EQ_STR(rung_numbermap_check(map), "L3: a key cannot be reached by its hash");
    swap_pages(single);

    uint16_t *used = (uint16_t *)map->pages[0]; /* its first field */
    *used ^= 1;
    CHECK_EQ_STR(rung_ladder_check(l), "L4: a page's count is wrong, or it is full");
    *used ^= 1;
    CHECK_SOUND(rung_ladder_check(l));
    rung_ladder_destroy(l);
}

TEST(nobody_is_in_both_stores) {
    rung_ladder *l = new_ladder(N, 1);
    rung_numbermap *map = &l->tree->map;
    CHECK_OK(rung_ladder_put(l, UINT32_MAX, (uint64_t[]){UINT64_MAX}, NULL)); /* sparse now */
    CHECK(map->hash_count > 1 && map->array_count > 0);
    CHECK_EQ_U64(map->chunks[0][0], 0);
    CHECK_SOUND(rung_ladder_check(l));
    map->chunks[0][0] = rung_numbermap_get(map, 0) + 1;
    CHECK_EQ_STR(rung_ladder_check(l), "L1: a key is in both stores");
    map->chunks[0][0] = 0;
    rung_ladder_destroy(l);
}

TEST(a_full_ladder_takes_nobody_new) {
    rung_ladder *l = new_ladder(N, 1);
    l->count = RUNG_LADDER_COUNT_MAX; /* as if: nobody has the memory to fill one */
    CHECK_STATUS(rung_ladder_put(l, N, (uint64_t[]){0}, NULL), RUNG_ELIMIT);
    CHECK_STATUS(rung_ladder_secure(l, N, true), RUNG_ELIMIT);
    l->count = N;
    CHECK_SOUND(rung_ladder_check(l));
    rung_ladder_destroy(l);
}

RUNG_TEST_MAIN
