/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: labels=release */
/* The player table: by hand, by all short programs, by long seeded ones, out of memory, with colliding hashes. */
#include "ladder/names.h"

#include "support/check.h"
#include "support/failalloc.h"
#include "support/names_batch.h"
#include "support/names_program.h"
#include "support/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rung_hash_key key = {1, 2};

static rung_names *create(void) {
    rung_names *t = NULL;
    CHECK_OK(rung_names_create(rung_alloc_heap(), &key, &t));
    return t;
}

static uint32_t intern(rung_names *t, const char *id, rung_status want) {
    uint32_t number = RUNG_PLAYER_NONE;
    CHECK_STATUS(rung_names_intern(t, rung_slice_str(id), &number), want);
    return number;
}

TEST(an_empty_table_is_small_and_knows_nobody) {
    rung_names *t = create();
    uint32_t number = 7, numbers[1];
    CHECK_MSG(rung_names_size_bytes(t) <= 1024, "%zu bytes", rung_names_size_bytes(t));
    CHECK_STATUS(rung_names_find(t, RUNG_SLICE("ada"), &number), RUNG_NOT_FOUND);
    CHECK_EQ_U64(number, 7);
    CHECK_EQ_U64(rung_names_find_batch(t, &RUNG_SLICE("ada"), 1, numbers), 0);
    CHECK_EQ_U64(numbers[0], RUNG_PLAYER_NONE);
    CHECK_EQ_U64(rung_names_id(t, 0).len, 0);
    CHECK(!rung_names_is_used(t, 0));
    CHECK(!rung_names_is_used(t, RUNG_PLAYER_NONE));
    CHECK_STATUS(rung_names_remove(t, 0), RUNG_NOT_FOUND);
    CHECK_EQ_U64(rung_names_count(t), 0);
    CHECK_EQ_U64(rung_names_span(t), 0);
    CHECK_SOUND(rung_names_check(t));
    rung_names_clear(t);
    CHECK_SOUND(rung_names_check(t));
    rung_names_destroy(t);
    rung_names_destroy(NULL);
}

TEST(numbers_are_dense_and_the_last_removed_comes_back_first) {
    rung_names *t = create();
    CHECK_EQ_U64(intern(t, "a", RUNG_OK), 0);
    CHECK_EQ_U64(intern(t, "b", RUNG_OK), 1);
    CHECK_EQ_U64(intern(t, "c", RUNG_OK), 2);
    CHECK_EQ_U64(intern(t, "b", RUNG_UNCHANGED), 1);
    CHECK_OK(rung_names_remove(t, 0));
    CHECK_OK(rung_names_remove(t, 2));
    CHECK_STATUS(rung_names_remove(t, 2), RUNG_NOT_FOUND);
    CHECK_EQ_U64(rung_names_count(t), 1);
    CHECK_EQ_U64(rung_names_span(t), 3);
    CHECK_EQ_U64(intern(t, "d", RUNG_OK), 2);
    CHECK_EQ_U64(intern(t, "e", RUNG_OK), 0);
    CHECK_EQ_U64(intern(t, "f", RUNG_OK), 3);
    CHECK_EQ_U64(intern(t, "a", RUNG_OK), 4);
    rung_names_destroy(t);
}

TEST(ids_are_ordered_by_bytes) {
    rung_names *t = create();
    uint32_t a = intern(t, "ada", RUNG_OK), b = intern(t, "adam", RUNG_OK),
             c = intern(t, "\xff", RUNG_OK);
    CHECK(rung_names_compare(t, a, b) < 0);
    CHECK(rung_names_compare(t, c, b) > 0);
    CHECK(rung_names_compare(t, b, b) == 0);
    rung_names_destroy(t);
}

TEST(ids_of_all_lengths_and_all_bytes) {
    rung_names *t = create();
    char bytes[RUNG_PLAYER_ID_MAX + 1];
    uint32_t number, expected = 0;
    for (int byte = 0; byte < 256; byte++) {
        memset(bytes, byte, sizeof bytes);
        for (size_t len = 1; len <= RUNG_PLAYER_ID_MAX; len++) {
            CHECK_OK(rung_names_intern(t, rung_slice_of(bytes, len), &number));
            CHECK_EQ_U64(number, expected++);
        }
        CHECK_STATUS(rung_names_intern(t, rung_slice_of(bytes, 0), &number), RUNG_EINVAL);
        CHECK_STATUS(rung_names_intern(t, rung_slice_of(bytes, sizeof bytes), &number),
                     RUNG_EINVAL);
        CHECK_STATUS(rung_names_find(t, rung_slice_of(bytes, 0), &number), RUNG_NOT_FOUND);
        CHECK_STATUS(rung_names_find(t, rung_slice_of(bytes, sizeof bytes), &number),
                     RUNG_NOT_FOUND);
    }
    for (number = 0; number < expected; number++) {
        rung_slice id = rung_names_id(t, number);
        CHECK_EQ_U64(id.len, 1 + number % RUNG_PLAYER_ID_MAX);
        for (size_t i = 0; i < id.len; i++)
            CHECK_EQ_U64((unsigned char)id.ptr[i], number / RUNG_PLAYER_ID_MAX);
    }
    CHECK_SOUND(rung_names_check(t));
    rung_names_destroy(t);
}

/* One byte anywhere makes another id. */
TEST(ids_that_differ_in_one_byte_are_different) {
    rung_names *t = create();
    rung__names_weaken(t, 0); /* so that only the bytes tell them apart */
    for (size_t len = 1; len <= 40; len++) {
        char bytes[40] = {0};
        uint32_t whole, other;
        CHECK_OK(rung_names_intern(t, rung_slice_of(bytes, len), &whole));
        for (size_t i = 0; i < len; i++) {
            bytes[i] = 1;
            CHECK_STATUS(rung_names_find(t, rung_slice_of(bytes, len), &other), RUNG_NOT_FOUND);
            bytes[i] = 0;
        }
        CHECK_OK(rung_names_find(t, rung_slice_of(bytes, len), &other));
        CHECK_EQ_U64(other, whole);
    }
    rung_names_destroy(t);
}

TEST(ids_stay_where_they_are_while_the_table_grows) {
    rung_names *t = create();
    const char *first = rung_names_id(t, intern(t, "the first of many", RUNG_OK)).ptr;
    char id[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(id, sizeof id, "player:%08d", i);
        intern(t, id, RUNG_OK);
    }
    CHECK_EQ_PTR(rung_names_id(t, 0).ptr, first);
    CHECK_EQ_MEM(first, "the first of many", 17);
    rung_names_destroy(t);
}

/* The bytes of the removed are used again, by ids as long or shorter: a table in motion does not grow. */
TEST(memory_is_reused) {
    rung_names *t = create();
    char id[RUNG_PLAYER_ID_MAX];
    uint32_t number;
    memset(id, 'x', sizeof id);
    for (int i = 0; i < 1000; i++) {
        memcpy(id, &i, sizeof i);
        CHECK_OK(rung_names_intern(t, rung_slice_of(id, 128), &number));
    }
    size_t full = rung_names_size_bytes(t);
    for (int i = 1000; i < 20000; i++) {
        CHECK_OK(rung_names_remove(t, (uint32_t)(i * 7) % 1000));
        memcpy(id, &i, sizeof i);
        CHECK_OK(rung_names_intern(t, rung_slice_of(id, (size_t)(128 - i / 1000)), &number));
        CHECK_EQ_U64(number, (uint32_t)(i * 7) % 1000);
    }
    CHECK(rung_names_size_bytes(t) <= full + full / 8); /* growth under way is finished, no more */
    CHECK_SOUND(rung_names_check(t));
    rung_names_clear(t);
    CHECK_MSG(rung_names_size_bytes(t) <= full / 20, "%zu bytes left", rung_names_size_bytes(t));
    rung_names_destroy(t);
}

/* No call works in proportion to the table: seen by what it asks of the allocator. */
TEST(growing_takes_few_allocations_at_a_time) {
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    rung_names *t;
    CHECK_OK(rung_names_create(rung_failalloc_port(&fa), &key, &t));
    char id[32];
    for (int i = 0; i < 20000; i++) {
        uint64_t before = fa.call_count;
        snprintf(id, sizeof id, "player:%08d", i);
        intern(t, id, RUNG_OK);
        CHECK_MSG(fa.call_count - before <= 16, "player %d: %" PRIu64 " allocations", i,
                  fa.call_count - before);
    }
    CHECK_EQ_U64(rung_names_size_bytes(t), fa.live_bytes);
    rung_names_destroy(t);
    rung_failalloc_deinit(&fa);
}

TEST(a_reserved_table_is_loaded_without_growing) {
    rung_names *t = create();
    char id[32];
    intern(t, "before", RUNG_OK);
    CHECK_OK(rung_names_reserve(t, 3000));
    CHECK_OK(rung_names_reserve(t, 10));
    CHECK_SOUND(rung_names_check(t));
    for (int i = 0; i < 3000; i++) {
        snprintf(id, sizeof id, "player:%08d", i);
        intern(t, id, RUNG_OK);
    }
    CHECK_SOUND(rung_names_check(t));
    rung_names_destroy(t);
}

TEST(the_limit_is_told_and_kept) {
    rung_names *t = create();
    rung_slice ids[] = {RUNG_SLICE("a"), RUNG_SLICE("b"), RUNG_SLICE("c"), RUNG_SLICE("d")};
    uint32_t numbers[4];
    size_t done;
    rung_names_set_limit(t, 2);
    CHECK_STATUS(names_intern_batch(t, ids, 4, numbers, NULL, &done), RUNG_ELIMIT);
    CHECK_EQ_U64(done, 2);
    CHECK_EQ_U64(rung_names_count(t), 2);
    intern(t, "b", RUNG_UNCHANGED);
    intern(t, "c", RUNG_ELIMIT);
    CHECK_OK(rung_names_remove(t, 0));
    CHECK_EQ_U64(intern(t, "c", RUNG_OK), 0);
    rung_names_set_limit(t, 0);
    intern(t, "d", RUNG_ELIMIT);
    rung_names_set_limit(t, UINT32_MAX);
    CHECK_EQ_U64(intern(t, "d", RUNG_OK), 2);
    rung_names_destroy(t);
}

/* In the test build 32 MiB instead of 16 GiB. */
TEST(the_limit_of_all_ids_together_is_told) {
#ifndef RUNG_TEST_BUILD
    test_skip("takes 16 GiB outside the test build");
#endif
    rung_names *t = create();
    char id[RUNG_PLAYER_ID_MAX] = {0};
    rung_status st = RUNG_OK;
    uint32_t number = 0, n = 0;
    for (; st == RUNG_OK && n < 1000000; n++) {
        memcpy(id, &n, sizeof n);
        st = rung_names_intern(t, rung_slice_of(id, sizeof id), &number);
    }
    CHECK_STATUS(st, RUNG_ELIMIT);
    CHECK_EQ_U64(rung_names_count(t), n - 1);
    CHECK_OK(rung_names_remove(t, 17));
    memcpy(id, &n, sizeof n);
    CHECK_OK(rung_names_intern(t, rung_slice_of(id, sizeof id), &number));
    CHECK_EQ_U64(number, 17);
    rung_names_destroy(t);
}

/* ---- programs ---- */

#define RUN(...)                                                                                   \
    do {                                                                                           \
        const uint8_t program[] = {__VA_ARGS__};                                                   \
        names_program_run(program, sizeof program, &(players_run_options){.check_every = 1});      \
    } while (0)

TEST(programs_by_hand) {
    RUN(0);
    RUN(0, PLAYERS_STEP(PLAYERS_CLEAR, 0, 0), PLAYERS_STEP(PLAYERS_RESERVE, 255, 0),
        PLAYERS_STEP(PLAYERS_CLEAR, 0, 0), PLAYERS_STEP(PLAYERS_INTERN, 14, 1));
    RUN(PLAYERS_HASH_NONE, PLAYERS_STEP(PLAYERS_INTERN_BATCH, 99, 1),
        PLAYERS_STEP(PLAYERS_REMOVE, 0, 0), PLAYERS_STEP(PLAYERS_REMOVE, 0, 50),
        PLAYERS_STEP(PLAYERS_RESERVE, 255, 0), PLAYERS_STEP(PLAYERS_INTERN_BATCH, 99, 50));
    /* A long cell is cut for a short id, and its rest for another. */
    RUN(0, PLAYERS_STEP(PLAYERS_INTERN, 127, 1), PLAYERS_STEP(PLAYERS_REMOVE, 0, 0),
        PLAYERS_STEP(PLAYERS_INTERN, 14, 2), PLAYERS_STEP(PLAYERS_INTERN, 30, 3),
        PLAYERS_STEP(PLAYERS_INTERN, 79, 4), PLAYERS_STEP(PLAYERS_INTERN, 127, 1));
    /* Asking in the middle of growth. */
    RUN(0, PLAYERS_STEP(PLAYERS_INTERN_BATCH, 90, 0), PLAYERS_STEP(PLAYERS_FIND_BATCH, 99, 0),
        PLAYERS_STEP(PLAYERS_ID_BATCH, 99, 0), PLAYERS_STEP(PLAYERS_COMPARE, 3, 7),
        PLAYERS_STEP(PLAYERS_RESERVE, 200, 0), PLAYERS_STEP(PLAYERS_CHECK, 0, 0));
}

static void run_all_programs(uint8_t config, size_t steps) {
    static const uint8_t choices[][PLAYERS_STEP_SIZE] = {
        {PLAYERS_STEP(PLAYERS_INTERN, 14, 1)},      {PLAYERS_STEP(PLAYERS_INTERN_MORE, 2, 2)},
        {PLAYERS_STEP(PLAYERS_INTERN_BATCH, 9, 3)}, {PLAYERS_STEP(PLAYERS_REMOVE, 0, 0)},
        {PLAYERS_STEP(PLAYERS_REMOVE, 0, 1)},       {PLAYERS_STEP(PLAYERS_CLEAR, 0, 0)},
        {PLAYERS_STEP(PLAYERS_RESERVE, 20, 0)},
    };
    enum { CHOICES = sizeof choices / sizeof *choices, STEPS_MAX = 6 };
    uint8_t program[1 + STEPS_MAX * PLAYERS_STEP_SIZE] = {config};
    unsigned digits[STEPS_MAX] = {0};
    for (size_t i = 0; i < steps;) {
        for (size_t k = 0; k < steps; k++)
            memcpy(program + 1 + k * PLAYERS_STEP_SIZE, choices[digits[k]], PLAYERS_STEP_SIZE);
        names_program_run(program, 1 + steps * PLAYERS_STEP_SIZE,
                          &(players_run_options){.check_every = 1});
        for (i = 0; i < steps && ++digits[i] == CHOICES; i++)
            digits[i] = 0;
    }
}

TEST(all_short_programs) {
    for (uint8_t config = 0; config < 4; config++)
        run_all_programs(config, 5);
}

static uint8_t *generate(uint64_t seed, uint8_t config, uint16_t ids, size_t steps) {
    uint8_t *program = malloc(1 + steps * PLAYERS_STEP_SIZE);
    CHECK(program != NULL);
    rung_rng rng;
    rung_rng_seed(&rng, seed);
    names_program_generate(&rng, config, ids, program, 1 + steps * PLAYERS_STEP_SIZE);
    return program;
}

static void run_generated(uint64_t seed, uint8_t config, uint16_t ids, size_t steps,
                          uint64_t check_every) {
    uint8_t *program = generate(seed, config, ids, steps);
    names_program_run(program, 1 + steps * PLAYERS_STEP_SIZE,
                      &(players_run_options){.check_every = check_every});
    free(program);
}

TEST(seeded_programs_checked_at_each_step) {
    uint64_t seed = test_seed(1);
    for (unsigned i = 0; i < 24; i++)
        run_generated(seed + i, (uint8_t)i, (uint16_t)(20 + 8 * i), 200, 1);
}

TEST(long_seeded_programs) {
    uint64_t seed = test_seed(2), steps = test_steps(100000);
    for (uint64_t done = 0; done < steps; done += 20000) {
        unsigned i = (unsigned)(done / 20000);
        bool is_whole = i % 4 == PLAYERS_HASH_WHOLE;
        run_generated(seed + i, (uint8_t)i, is_whole ? 500 : 120, 20000, 500);
    }
}

TEST(out_of_memory_leaves_the_table_as_it_was) {
    for (uint8_t config = 0; config < 4; config++) {
        enum { STEPS = 100 };
        uint8_t *program = generate(test_seed(3) + config, config, 40, STEPS);
        const uint8_t reserve[] = {PLAYERS_STEP(PLAYERS_RESERVE, 60, 0)};
        for (size_t i = 9; i < STEPS; i += 10) /* some in the middle of growth */
            memcpy(program + 1 + i * PLAYERS_STEP_SIZE, reserve, sizeof reserve);
        uint64_t n = 1;
        while (names_program_run(program, 1 + STEPS * PLAYERS_STEP_SIZE,
                                 &(players_run_options){.fail_at = n}))
            n++;
        CHECK_MSG(n > 10, "only %" PRIu64 " allocations", n);
        free(program);
    }
}

/* A reservation that fails half-way leaves nothing behind that would be missed, or in the way. */
TEST(a_reservation_that_fails_is_forgotten) {
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    rung_names *t;
    CHECK_OK(rung_names_create(rung_failalloc_port(&fa), &key, &t));
    for (uint64_t n = 1;; n++) {
        size_t blocks = fa.live_blocks;
        rung_failalloc_fail_at(&fa, n, true);
        rung_status st = rung_names_reserve(t, 1000 * (uint32_t)n);
        rung_failalloc_fail_at(&fa, 0, false);
        CHECK_SOUND(rung_names_check(t));
        if (st == RUNG_OK)
            break;
        CHECK_STATUS(st, RUNG_ENOMEM);
        CHECK(fa.live_blocks <= blocks); /* the list of chunks may be longer, that is all */
        char id[32];
        snprintf(id, sizeof id, "player:%08d", (int)n);
        intern(t, id, RUNG_OK);
        if (n == 8)
            break;
    }
    rung_names_destroy(t);
    rung_failalloc_deinit(&fa);
}

/* ---- collisions ---- */

TEST(ids_with_equal_hashes_are_kept_apart) {
    static const uint64_t masks[] = {0, 0xff, 0x8000000000000000u, 0xc0000000000000ffu};
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        rung_names *t = create();
        rung__names_weaken(t, masks[m]);
        char id[32];
        uint32_t number;
        for (int i = 0; i < 600; i++) {
            snprintf(id, sizeof id, "player:%08d", i);
            uint64_t hash = rung_names_hash(t, rung_slice_str(id));
            CHECK_EQ_U64(hash & ~masks[m], 0);
            CHECK_OK(rung_names_intern_hashed(t, hash, rung_slice_str(id), &number));
            CHECK_EQ_U64(number, i);
        }
        for (uint32_t i = 0; i < 600; i += 3)
            CHECK_OK(rung_names_remove(t, i));
        for (int i = 0; i < 600; i++) {
            snprintf(id, sizeof id, "player:%08d", i);
            uint64_t hash = rung_names_hash(t, rung_slice_str(id));
            rung_status st = rung_names_find_hashed(t, hash, rung_slice_str(id), &number);
            CHECK_STATUS(st, i % 3 ? RUNG_OK : RUNG_NOT_FOUND);
            if (st == RUNG_OK)
                CHECK_EQ_U64(number, i);
        }
        CHECK_SOUND(rung_names_check(t));
        rung_names_destroy(t);
    }
}

/* The array goes on behind the last home, as far as need be. */
TEST(the_last_home_may_overflow) {
    rung_names *t = create();
    CHECK_OK(rung_names_reserve(t, 400));
    char id[32];
    uint32_t count = 0;
    for (int i = 0; count < 200; i++) {
        uint32_t number;
        rung_slice slice = rung_slice_of(id, (size_t)snprintf(id, sizeof id, "player:%08d", i));
        if (rung_names_hash(t, slice) >> 56 != 0xff)
            continue;
        CHECK_OK(rung_names_intern(t, slice, &number));
        CHECK_EQ_U64(number, count++);
        CHECK_SOUND(rung_names_check(t));
    }
    rung_names_destroy(t);
}

/* ---- the check itself ---- */

/* An allocator that remembers its blocks, so that the test can damage them. */
enum { BLOCKS_MAX = 4096 };

typedef struct recorder {
    struct {
        unsigned char *bytes;
        size_t size;
    } blocks[BLOCKS_MAX];
    size_t count;
} recorder;

static void *recorder_resize(void *ctx, void *ptr, size_t old_size, size_t new_size) {
    recorder *r = ctx;
    void *fresh = rung_alloc_resize(rung_alloc_heap(), ptr, old_size, new_size);
    for (size_t i = 0; i < r->count; i++) {
        if (r->blocks[i].bytes == ptr)
            r->blocks[i].bytes = NULL;
    }
    if (fresh) {
        CHECK(r->count < BLOCKS_MAX);
        r->blocks[r->count].bytes = fresh;
        r->blocks[r->count++].size = new_size;
    }
    return fresh;
}

/* Pointers are beyond any check: a list of chunks begins with the address of a block. */
static bool starts_with_pointer(const recorder *r, size_t block) {
    unsigned char *pointer = NULL;
    if (r->blocks[block].size >= sizeof pointer)
        memcpy(&pointer, r->blocks[block].bytes, sizeof pointer);
    for (size_t i = 0; pointer && i < r->count; i++) {
        if (r->blocks[i].bytes == pointer)
            return true;
    }
    return false;
}

static bool answers_are_right(const rung_names *t, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        char id[32];
        uint32_t number = RUNG_PLAYER_NONE;
        size_t len = (size_t)snprintf(id, sizeof id, "player:%08" PRIu32, i);
        rung_slice stored = rung_names_id(t, i);
        if (rung_names_find(t, rung_slice_of(id, len), &number) !=
            (i % 5 ? RUNG_OK : RUNG_NOT_FOUND))
            return false;
        if (i % 5 && (number != i || !rung_slice_eq(stored, rung_slice_of(id, len))))
            return false;
    }
    return true;
}

/* Flip bits all over the table's memory. Either the check tells, or nobody would ever notice. */
TEST(the_check_notices_damage) {
    enum { PLAYERS = 150 };
    static recorder r;
    const rung_alloc alloc = {recorder_resize, &r};
    rung_names *t;
    CHECK_OK(rung_names_create(&alloc, &key, &t));
    for (uint32_t i = 0; i < PLAYERS; i++) {
        char id[32];
        snprintf(id, sizeof id, "player:%08" PRIu32, i);
        CHECK_EQ_U64(intern(t, id, RUNG_OK), i);
    }
    for (uint32_t i = 0; i < PLAYERS; i += 5)
        CHECK_OK(rung_names_remove(t, i));
    CHECK_SOUND(rung_names_check(t));
    size_t flips = 0, noticed = 0;
    for (size_t b = 0; b < r.count; b++) {
        unsigned char *bytes = r.blocks[b].bytes;
        if (!bytes || bytes == (void *)t || starts_with_pointer(&r, b))
            continue;
        for (size_t i = 0; i < r.blocks[b].size; i++) {
            unsigned char flip = (unsigned char)(1u << i % 8);
            bytes[i] ^= flip;
            bool is_noticed = rung_names_check(t) != NULL;
            CHECK_MSG(is_noticed || answers_are_right(t, PLAYERS), "block %zu byte %zu", b, i);
            bytes[i] ^= flip;
            flips++;
            noticed += is_noticed;
        }
    }
    CHECK_SOUND(rung_names_check(t));
    CHECK_MSG(noticed > flips / 4, "%zu of %zu flips noticed", noticed, flips);
    rung_names_destroy(t);
}

RUNG_TEST_MAIN
