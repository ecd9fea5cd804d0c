/* SPDX-License-Identifier: Apache-2.0 */
/* What a ladder weighs. A hundred thousand boards of ten players must be as possible as one board of ten million, so
 * the bounds are part of the contract. They hold for real nodes, in release; with the tiny nodes of a test build the
 * overhead per entry is several times larger, and the bounds there only catch leaks. */
/* ctest: labels=release */
#include "ladder/ladder.h"
#include "support/check.h"
#include "support/rng.h"

#ifdef RUNG_TEST_BUILD
enum { SLACK = 8, MANY = 20000, BOARDS = 2000 };
#else
enum { SLACK = 1, MANY = 1000000, BOARDS = 100000 };
#endif

/* An allocator that counts, and is otherwise the heap. */
typedef struct scale {
    rung_alloc port;
    size_t live_bytes;
} scale;

static void *scale_resize(void *ctx, void *ptr, size_t old_size, size_t new_size) {
    scale *s = ctx;
    const rung_alloc *heap = rung_alloc_heap();
    void *fresh = heap->resize(heap->ctx, ptr, old_size, new_size);
    if (fresh || new_size == 0)
        s->live_bytes += new_size - old_size;
    return fresh;
}

static void scale_init(scale *s) {
    *s = (scale){.port = {scale_resize, s}};
}

static rung_ladder *new_ladder(const scale *s, uint8_t key_words) {
    rung_ladder_config config = {.alloc = &s->port, .key_words = key_words, .score_words = 1};
    rung_ladder *l;
    CHECK_OK(rung_ladder_create(&config, &l));
    return l;
}

static void put_random(rung_ladder *l, uint32_t player, rung_rng *rng) {
    uint64_t key[RUNG_LADDER_WORDS_MAX];
    for (int i = 0; i < RUNG_LADDER_WORDS_MAX; i++)
        key[i] = rung_rng_next(rng);
    CHECK_OK(rung_ladder_put(l, player, key, NULL));
}

static void check_weight(const rung_ladder *l, const scale *s, size_t limit) {
    CHECK_EQ_U64(rung_ladder_memory(l), s->live_bytes);
    CHECK_MSG(s->live_bytes <= limit, "%zu bytes, at most %zu wanted", s->live_bytes, limit);
}

TEST(few_entries_weigh_little) {
    for (uint8_t key_words = 1; key_words <= RUNG_LADDER_WORDS_MAX; key_words++) {
        scale s;
        rung_rng rng;
        scale_init(&s);
        rung_rng_seed(&rng, key_words);
        rung_ladder *l = new_ladder(&s, key_words);
        check_weight(l, &s, 128);
        for (uint32_t i = 0; i < 10;
             i++) /* numbers from all over: a small board among many players */
            put_random(l, (uint32_t)rung_rng_next(&rng), &rng);
        check_weight(l, &s, 1024 * SLACK);
        rung_ladder_clear(l);
        check_weight(l, &s, 128);
        rung_ladder_destroy(l);
        CHECK_EQ_U64(s.live_bytes, 0);
    }
}

TEST(a_hundred_thousand_small_boards) {
    static rung_ladder *boards[BOARDS];
    scale s;
    rung_rng rng;
    scale_init(&s);
    rung_rng_seed(&rng, 1);
    size_t memory = 0;
    for (uint32_t b = 0; b < BOARDS; b++) {
        boards[b] = new_ladder(&s, 2);
        for (uint32_t i = 0; i < 10; i++)
            put_random(boards[b], (uint32_t)rung_rng_below(&rng, 10000000), &rng);
        memory += rung_ladder_memory(boards[b]);
    }
    CHECK_EQ_U64(memory, s.live_bytes);
    CHECK_MSG(memory <= (size_t)BOARDS * 1000 * SLACK, "%zu bytes for %d boards", memory, BOARDS);
    for (uint32_t b = 0; b < BOARDS; b++)
        rung_ladder_destroy(boards[b]);
    CHECK_EQ_U64(s.live_bytes, 0);
}

/* At most so many bytes an entry after MANY entries with two-word keys in random order, the players being the multiples
 * of `factor` modulo `span`. */
static void weigh_many(uint64_t factor, uint64_t span, size_t bytes_per_entry) {
    scale s;
    rung_rng rng;
    scale_init(&s);
    rung_rng_seed(&rng, 1);
    rung_ladder *l = new_ladder(&s, 2);
    for (uint32_t i = 0; i < MANY; i++)
        put_random(l, (uint32_t)(i * factor % span), &rng);
    check_weight(l, &s, (size_t)MANY * bytes_per_entry * SLACK);
    CHECK_SOUND(rung_ladder_check(l));
    rung_ladder_clear(l);
    check_weight(l, &s, 128);
    rung_ladder_destroy(l);
}

TEST(a_million_players_numbered_densely) {
    weigh_many(1, MANY, 32);
}

/* The first numbers seen look scattered; only later they turn out to be dense. */
TEST(a_million_players_in_any_order) {
    weigh_many(7919, MANY, 32);
}

TEST(a_million_players_scattered) {
    weigh_many(2654435761u, UINT64_C(1) << 32, 44);
}

/* Read out in order and built again. */
typedef struct replay {
    rung_ladder_cursor cursor;
} replay;

static bool replay_next(void *ctx, rung_ladder_entry *out) {
    replay *r = ctx;
    return rung_ladder_next(&r->cursor, out);
}

TEST(a_built_ladder_weighs_no_more) {
    scale s, s_built;
    rung_rng rng;
    scale_init(&s);
    scale_init(&s_built);
    rung_rng_seed(&rng, 1);
    rung_ladder *l = new_ladder(&s, 2), *built = new_ladder(&s_built, 2);
    for (uint32_t i = 0; i < MANY / 10; i++)
        put_random(l, i, &rng);
    replay r = {rung_ladder_seek(l, 0)};
    CHECK_OK(rung_ladder_build(built, rung_ladder_count(l), replay_next, &r));
    check_weight(built, &s_built, (size_t)MANY / 10 * 32 * SLACK);
    CHECK_SOUND(rung_ladder_check(built));
    rung_ladder_destroy(built);
    rung_ladder_destroy(l);
    CHECK_EQ_U64(s_built.live_bytes, 0);
}

/* Going up and down between 0 and n again and again must not pile up memory. */
TEST(churn_does_not_pile_up) {
    enum { N = MANY / 100 };
    scale s;
    rung_rng rng;
    scale_init(&s);
    rung_rng_seed(&rng, 1);
    rung_ladder *l = new_ladder(&s, 1);
    size_t after_first = 0;
    for (int round = 0; round < 8; round++) {
        for (uint32_t i = 0; i < N; i++)
            put_random(l, i, &rng);
        if (round == 0)
            after_first = s.live_bytes;
        CHECK_MSG(s.live_bytes <= 2 * after_first, "%zu bytes, then %zu", after_first,
                  s.live_bytes);
        for (uint32_t i = 0; i < N; i++)
            CHECK_OK(rung_ladder_remove(l, i));
    }
    rung_ladder_clear(l);
    check_weight(l, &s, 128);
    rung_ladder_destroy(l);
    CHECK_EQ_U64(s.live_bytes, 0);
}

/* A second leaf, and the root above it, come and go: the nodes must be used again. */
TEST(a_root_that_comes_and_goes) {
    enum { FEW = 200, ROUNDS = 400 };
    scale s;
    rung_rng rng;
    scale_init(&s);
    rung_rng_seed(&rng, 1);
    rung_ladder *l = new_ladder(&s, 1);
    size_t after_first = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < FEW; i++)
            put_random(l, i, &rng);
        if (round == 0)
            after_first = s.live_bytes;
        CHECK_MSG(s.live_bytes <= 2 * after_first, "%zu bytes, %d rounds later %zu", after_first,
                  round, s.live_bytes);
        for (uint32_t i = 0; i < FEW; i++)
            CHECK_OK(rung_ladder_remove(l, i));
    }
    rung_ladder_destroy(l);
}

RUNG_TEST_MAIN
