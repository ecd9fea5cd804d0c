/* SPDX-License-Identifier: Apache-2.0 */
/* Walks by player number: everybody exactly once, in order, in pieces of any size; in one leaf and in trees; and
 * whoever stays through changes in between is not missed. */
#include "ladder/ladder.h"
#include "support/check.h"
#include "support/rng.h"

#include <stdlib.h>

enum { PLAYERS = 2000 };

static rung_ladder *create(void) {
    rung_ladder *l;
    CHECK_OK(rung_ladder_create(
        &(rung_ladder_config){.alloc = rung_alloc_heap(), .key_words = 1, .score_words = 1}, &l));
    return l;
}

static void check_walk(const rung_ladder *l, const bool *is_in, uint32_t room) {
    uint32_t players[64], from = 0, n, expected = 0;
    do {
        n = rung_ladder_list(l, from, players, room);
        for (uint32_t i = 0; i < n; i++) {
            while (expected < PLAYERS && !is_in[expected])
                expected++;
            CHECK_EQ_U64(players[i], expected);
            expected++;
        }
        from = n ? players[n - 1] + 1 : 0;
    } while (n == room);
    while (expected < PLAYERS)
        CHECK(!is_in[expected++]);
}

TEST(walks_of_all_sizes) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(1));
    for (uint32_t count = 0; count < 1200; count = count * 2 + 1) {
        static bool is_in[PLAYERS];
        rung_ladder *l = create();
        for (uint32_t i = 0; i < PLAYERS; i++)
            is_in[i] = false;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t player = (uint32_t)rung_rng_below(&rng, PLAYERS);
            uint64_t key = rung_rng_below(&rng, 50);
            CHECK(rung_ladder_put(l, player, &key, NULL) >= 0);
            is_in[player] = true;
        }
        for (uint32_t room = 1; room <= 64; room += 9)
            check_walk(l, is_in, room);
        rung_ladder_destroy(l);
    }
}

TEST(walks_beside_changes) {
    rung_rng rng;
    rung_ladder *l = create();
    rung_rng_seed(&rng, test_seed(2));
    for (uint32_t player = 0; player < PLAYERS; player++)
        CHECK_OK(rung_ladder_put(l, player, (uint64_t[]){player}, NULL));
    uint32_t players[7], from = 0, n, stayed = 0;
    do {
        n = rung_ladder_list(l, from, players, 7);
        for (uint32_t i = 0; i < n; i++)
            stayed += players[i] % 2; /* the odd ones only move */
        from = n ? players[n - 1] + 1 : 0;
        for (int i = 0; i < 20; i++) {
            uint32_t player = (uint32_t)rung_rng_below(&rng, PLAYERS);
            uint64_t key = rung_rng_next(&rng);
            if (player % 2)
                CHECK(rung_ladder_put(l, player, &key, NULL) >= 0);
            else
                rung_ladder_remove(l, player);
        }
    } while (n == 7);
    CHECK_EQ_U64(stayed, PLAYERS / 2);
    rung_ladder_destroy(l);
}

RUNG_TEST_MAIN
