/* SPDX-License-Identifier: Apache-2.0 */
/* What was taken from a arena stays where it is and is nobody else's; memory that runs out changes nothing. */
/* ctest: labels=release */
#include "ladder/arena.h"
#include "support/check.h"
#include "support/failalloc.h"
#include "support/rng.h"

#include <string.h>

enum { TAKES = 2000 };

static unsigned char *taken[TAKES];
static size_t sizes[TAKES];

static void check_piece(uint32_t i) {
    for (size_t k = 0; k < sizes[i]; k++)
        CHECK_EQ_U64(taken[i][k], i % 251);
}

TEST(pieces_do_not_overlap) {
    rung_failalloc fa;
    rung_rng rng;
    rung_failalloc_init(&fa);
    rung_rng_seed(&rng, test_seed(1));
    rung_arena *q = rung_arena_create(rung_failalloc_port(&fa));
    CHECK(q);
    size_t total = 0;
    for (uint32_t i = 0; i < TAKES; i++) {
        sizes[i] = 8 + 8 * (rung_rng_next(&rng) % (i % 100 ? 200 : 4000));
        if (rung_rng_next(&rng) % 8 == 0) { /* fails, if it needs memory at all */
            size_t held = rung_arena_memory(q);
            rung_failalloc_fail_at(&fa, 1, false);
            taken[i] = rung_arena_take(q, sizes[i]);
            rung_failalloc_fail_at(&fa, 0, false);
            CHECK_EQ_U64(rung_arena_memory(q), held);
        } else {
            taken[i] = NULL;
        }
        if (!taken[i])
            taken[i] = rung_arena_take(q, sizes[i]);
        CHECK(taken[i]);
        CHECK_EQ_U64((uintptr_t)taken[i] % 8, 0);
        memset(taken[i], (int)(i % 251), sizes[i]);
        total += sizes[i];
        CHECK_EQ_U64(rung_arena_memory(q), fa.live_bytes);
    }
    for (uint32_t i = 0; i < TAKES; i++)
        check_piece(i);
    CHECK(rung_arena_memory(q) < total + total / 2);
    rung_arena_destroy(q);
    rung_failalloc_deinit(&fa);
}

TEST(no_arena) {
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    rung_failalloc_fail_at(&fa, 1, false);
    CHECK_NULL(rung_arena_create(rung_failalloc_port(&fa)));
    rung_arena_destroy(NULL);
    CHECK_EQ_U64(rung_arena_memory(NULL), 0);
    rung_failalloc_deinit(&fa);
}

RUNG_TEST_MAIN
