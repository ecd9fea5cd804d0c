/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder when memory runs out: fail the n-th allocation of a program, n = 1, 2, ... until none is left to fail,
 * once alone and once with all that follow. After each failure the ladder must be as before the failing step (the
 * interpreter compares everything), the rest of the program must work, rung_ladder_memory() must equal what the
 * allocator has given out, and at the end nothing may be left. */
#include "support/check.h"
#include "support/failalloc.h"
#include "support/ladder_program.h"

#include <string.h>

enum { STEPS_MAX = 2000, SIZE_MAX_BYTES = 1 + STEPS_MAX * LADDER_STEP_SIZE };

/* One run with the n-th allocation failing (0: none); how many failed. */
static uint64_t run_with_failure(const uint8_t *program, size_t size, uint64_t n, bool is_sticky) {
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    rung_failalloc_fail_at(&fa, n, is_sticky);
    ladder_run_options options = {.failalloc = &fa, .may_run_out = n > 0};
    ladder_verdict v = ladder_program_run(program, size, &options);
    if (!v.is_good) {
        ladder_program_print(program, size);
        CHECK_MSG(false, "allocation %" PRIu64 "%s failed; step %zu: %s", n,
                  is_sticky ? " and all after it" : "", v.step, v.message);
    }
    CHECK_MSG(v.enomem_count <= fa.failed_count,
              "ran out of memory %" PRIu64 " times, %" PRIu64 " failures", v.enomem_count,
              fa.failed_count);
    rung_failalloc_deinit(&fa);
    return fa.failed_count;
}

/* Every allocation of the program fails in its turn. With a `stride` only every so many. */
static void sweep(const uint8_t *program, size_t size, uint64_t stride) {
    CHECK_EQ_U64(run_with_failure(program, size, 0, false), 0);
    for (int is_sticky = 0; is_sticky <= 1; is_sticky++) {
        uint64_t n = 1;
        while (run_with_failure(program, size, n, is_sticky))
            n += stride;
        CHECK(n > 1);
    }
}

TEST(creation) {
    static const uint8_t program[] = {LADDER_CONFIG(2, 1, LADDER_BY_NUMBER)};
    CHECK_EQ_U64(run_with_failure(program, sizeof program, 1, false), 1);
    sweep(program, sizeof program, 1);
}

#define PUT(players, keys, selector, word)                                                         \
    LADDER_STEP(LADDER_PUT, LADDER_FLAGS(1, players, keys, 1), selector, (uint8_t)(word), 0, 0, 0)

/* From nothing to a tree of several levels, one put at a time, in each order of arrival. */
static void sweep_growth(ladder_players players, uint32_t factor) {
    enum { N = 120 };
    static uint8_t program[1 + N * LADDER_STEP_SIZE];
    program[0] = LADDER_CONFIG(2, 1, LADDER_PREFIXED(LADDER_BY_FAKE_ID));
    for (uint32_t i = 0; i < N; i++) {
        uint32_t place = i * factor % N;
        const uint8_t put[] = {PUT(players, LADDER_KEY_BYTES, place, place)};
        memcpy(program + 1 + i * sizeof put, put, sizeof put);
    }
    sweep(program, sizeof program, 1);
}

TEST(growth_upwards) {
    sweep_growth(LADDER_LOW, 1);
}
TEST(growth_downwards) {
    sweep_growth(LADDER_HIGH, 119);
}
TEST(growth_in_the_middle) {
    sweep_growth(LADDER_SCATTERED, 67);
}

/* Low numbers far apart, then all between them: the player map changes from sparse to dense; then strangers from
 * the other end of the numbers make it sparse again. */
TEST(player_map_changes_its_kind) {
    enum { N = 90 };
    static uint8_t program[1 + 3 * N * LADDER_STEP_SIZE];
    uint8_t *out = program + 1;
    program[0] = LADDER_CONFIG(1, 1, LADDER_BY_NUMBER);
    for (uint32_t i = 0; i < 3 * N; i++, out += LADDER_STEP_SIZE) {
        const uint8_t spread[] = {PUT(LADDER_LOW, LADDER_KEY_MIXED, i * 16 % 181, i)};
        const uint8_t close[] = {PUT(LADDER_LOW, LADDER_KEY_MIXED, i % 181, i)};
        const uint8_t far[] = {PUT(LADDER_SCATTERED, LADDER_KEY_MIXED, i, i)};
        memcpy(out, i < N / 2 ? spread : i < 2 * N ? close : far, LADDER_STEP_SIZE);
    }
    sweep(program, sizeof program, 1);
}

TEST(building) {
    enum { N = 200 };
    static uint8_t program[1 + (N + 3) * LADDER_STEP_SIZE];
    const uint8_t head[] = {
        LADDER_CONFIG(3, 2, LADDER_BY_NUMBER_DOWN),
        LADDER_STEP(LADDER_BUILD, LADDER_FLAGS(0, 0, 0, LADDER_SAME_PLAYER), N, 150, 0, 0, 0)};
    const uint8_t foot[] = {
        LADDER_STEP(LADDER_REBUILD, LADDER_FLAGS(0, 0, 0, LADDER_DRY), 0, 60, 0, 0, 0),
        PUT(LADDER_LOW, LADDER_KEY_BYTES, 1, 1)};
    memcpy(program, head, sizeof head);
    memcpy(program + sizeof program - sizeof foot, foot, sizeof foot);
    for (int kind = 0; kind < 2; kind++) {
        for (uint32_t i = 0; i < N; i++) {
            ladder_players players = kind ? LADDER_SCATTERED : LADDER_LOW;
            const uint8_t element[] = {PUT(players, LADDER_KEY_BYTES, i, i / 2)};
            memcpy(program + sizeof head + i * sizeof element, element, sizeof element);
        }
        sweep(program, sizeof program, 1);
    }
}

/* A put that was secured cannot fail. Dense numbers first, then scattered ones: while the player map changes its kind,
 * every change moves others along. */
TEST(secured_puts) {
    enum { N = 400 };
    static uint8_t program[1 + N * LADDER_STEP_SIZE];
    program[0] = LADDER_CONFIG(2, 1, LADDER_BY_FAKE_ID);
    for (int kind = 0; kind < 3; kind++) {
        for (uint32_t i = 0; i < N; i++) {
            ladder_players players = i % 5 == 4  ? LADDER_HELD
                                     : kind == 0 ? LADDER_SCATTERED
                                     : i < N / 2 ? LADDER_LOW
                                                 : LADDER_HIGH;
            uint32_t selector = kind == 2 ? N - i : i;
            const uint8_t put[] = {LADDER_STEP(LADDER_SECURED_PUT,
                                               LADDER_FLAGS(1, players, LADDER_KEY_MIXED, 1),
                                               selector, 0, 0, 0, 0)};
            memcpy(program + 1 + i * sizeof put, put, sizeof put);
        }
        sweep(program, sizeof program, 17);
    }
}

/* Everything mixed: batches, moves, rebuilds, clears. */
TEST(seeded_programs) {
    static uint8_t program[SIZE_MAX_BYTES];
    uint64_t seed = test_seed(1), rounds = test_steps(12);
    for (uint64_t round = 0; round < rounds; round++) {
        rung_rng rng;
        rung_rng_seed(&rng, seed + round);
        ladder_taste taste = {
            .config = (uint8_t)rung_rng_next(&rng),
            .players_max = (uint16_t)(10 + rung_rng_below(&rng, 200)),
        };
        size_t size = 1 + (100 + 2 * (size_t)taste.players_max) * LADDER_STEP_SIZE;
        CHECK(size <= sizeof program);
        ladder_program_generate(&rng, &taste, program, size);
        sweep(program, size, 1 + rung_rng_below(&rng, 3));
    }
}

RUNG_TEST_MAIN
