/* SPDX-License-Identifier: Apache-2.0 */
/* Walking a map in order, dense, scattered and while it moves house; and expecting many before they come. */
/* ctest: labels=release */
#include "base/numbermap.h"

#include "support/check.h"
#include "support/rng.h"

static void add(rung_numbermap *m, uint32_t player) {
    CHECK_OK(rung_numbermap_reserve(m, rung_alloc_heap(), player));
    rung_numbermap_set(m, player, player / 3);
}

/* All players, `room` at a time, are those and only those in the map. */
static void check_walk(const rung_numbermap *m, uint32_t room) {
    uint32_t players[64], n, from = 0, count = 0;
    do {
        n = rung_numbermap_list(m, from, players, room);
        CHECK(n <= room);
        for (uint32_t i = 0; i < n; i++) {
            CHECK(players[i] >= from);
            CHECK_EQ_U64(rung_numbermap_get(m, players[i]), players[i] / 3);
            from = players[i] + 1;
        }
        count += n;
    } while (n == room && from);
    CHECK_EQ_U64(count, m->array_count + m->hash_count);
}

/* Numbers below `below`, added and removed at random. */
static void walk_random(rung_rng *rng, uint64_t below, uint32_t changes) {
    rung_numbermap m = {0};
    check_walk(&m, 1);
    for (uint32_t i = 0; i < changes; i++) {
        uint32_t player = (uint32_t)rung_rng_below(rng, below);
        if (rung_numbermap_get(&m, player) == RUNG_NUMBER_NONE)
            add(&m, player);
        else
            rung_numbermap_remove(&m, player);
        if (i % 16 == 0)
            check_walk(&m, 1 + (uint32_t)rung_rng_below(rng, 64));
    }
    rung_numbermap_deinit(&m, rung_alloc_heap());
}

TEST(walks_meet_everybody_in_order) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(1));
    for (int round = 0; round < 20; round++) {
        walk_random(&rng, 50, 200);
        walk_random(&rng, 3000, 600);
        walk_random(&rng, 100000, 300);
    }
}

/* Few high numbers, then many low ones: part of it is in the hash table, part in the array. */
TEST(while_moving_house) {
    rung_numbermap m = {0};
    for (uint32_t i = 0; i < 40; i++)
        add(&m, 20000 + i * 37);
    CHECK(m.hash_is_home);
    for (uint32_t i = 0; i < 12000; i++) {
        add(&m, i);
        if (i % 1000 == 0)
            check_walk(&m, 64);
    }
    for (uint32_t i = 0; i < 12000; i++) {
        rung_numbermap_remove(&m, i);
        if (i % 60 == 0)
            add(&m, 100000 + i);
        if (i % 1000 == 0)
            check_walk(&m, 64);
    }
    check_walk(&m, 64);
    rung_numbermap_deinit(&m, rung_alloc_heap());
}

TEST(who_expects_many_does_not_move) {
    enum { N = 5000 };
    rung_numbermap m = {0};
    rung_numbermap_expect(&m, N);
    for (uint32_t i = N; i-- > 0;) {
        add(&m, i);
        CHECK(!m.hash_is_home);
    }
    rung_numbermap_expect(&m, 0);
    CHECK_NULL(rung_numbermap_check(&m));
    check_walk(&m, 64);
    rung_numbermap_deinit(&m, rung_alloc_heap());
    rung_numbermap_expect(&m, 2); /* two far apart are few all the same */
    add(&m, 0);
    add(&m, UINT32_MAX - 1);
    CHECK(m.hash_is_home);
    check_walk(&m, 1);
    rung_numbermap_deinit(&m, rung_alloc_heap());
}

RUNG_TEST_MAIN
