/* SPDX-License-Identifier: Apache-2.0 */
/* The rank histogram: exact while there is room, ends of the keys, save and load, refusals, and how close the estimate
 * is on ordinary scores. Bounds over random streams are in tests/model/test_sketch.c. */
#include "sketch/quantiles.h"
#include "support/check.h"
#include "support/rng.h"
#include "support/sketch_bytes.h"

#include <math.h>

static rung_quantiles *fresh(size_t memory) {
    rung_quantiles *q;
    CHECK_OK(rung_quantiles_create(&(rung_quantiles_config){rung_alloc_heap(), memory}, &q));
    return q;
}

static void add_many(rung_quantiles *q, uint64_t seed, uint32_t n) {
    rung_rng rng;
    rung_rng_seed(&rng, seed);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t key = rung_rng_next(&rng), shift = rung_rng_below(&rng, 64);
        CHECK_OK(rung_quantiles_add(q, key >> shift));
    }
}

TEST(exact_while_there_is_room) {
    rung_quantiles *q = fresh(65536);
    rung_rank_bounds b;
    uint64_t key, least, greatest;
    CHECK(!rung_quantiles_span(q, &least, &greatest));
    CHECK_STATUS(rung_quantiles_at(q, 0, &key), RUNG_NOT_FOUND);
    for (uint64_t i = 0; i < 20000; i++)
        CHECK_OK(rung_quantiles_add(q, i * 7919 % 1000 * 3));
    for (uint64_t i = 0; i < 1000; i++) {
        rung_quantiles_below(q, i * 3, &b);
        CHECK_EQ_U64(b.low, i * 20);
        CHECK_EQ_U64(b.high, i * 20);
        rung_quantiles_upto(q, i * 3, &b);
        CHECK_EQ_U64(b.estimate, i * 20 + 20);
        CHECK_OK(rung_quantiles_at(q, i * 20 + 19, &key));
        CHECK_EQ_U64(key, i * 3);
    }
    CHECK(rung_quantiles_span(q, &least, &greatest));
    CHECK_EQ_U64(least, 0);
    CHECK_EQ_U64(greatest, 2997);
    CHECK_EQ_U64(rung_quantiles_error(q), 0);
    CHECK_SOUND(rung_quantiles_check(q));
    rung_quantiles_destroy(q);
}

TEST(ends_of_the_keys) {
    rung_quantiles *q = fresh(4096);
    rung_rank_bounds b;
    for (uint64_t i = 0; i < 3000; i++) {
        CHECK_OK(rung_quantiles_add(q, 0));
        CHECK_OK(rung_quantiles_add(q, UINT64_MAX));
        CHECK_OK(rung_quantiles_add(q, i << 50 | i));
    }
    CHECK_SOUND(rung_quantiles_check(q));
    rung_quantiles_below(q, 0, &b);
    CHECK_EQ_U64(b.high, 0);
    rung_quantiles_below(q, 1, &b);
    CHECK(b.low <= 3001 && b.high >= 3001);
    rung_quantiles_upto(q, UINT64_MAX, &b);
    CHECK_EQ_U64(b.low, 9000);
    rung_quantiles_destroy(q);
}

TEST(memory_is_what_was_asked_for) {
    rung_quantiles *q = NULL;
    for (size_t memory = RUNG_QUANTILES_MEMORY_MIN; memory <= RUNG_QUANTILES_MEMORY_MAX;
         memory *= 4) {
        q = fresh(memory);
        CHECK(rung_quantiles_memory(q) <= memory &&
              rung_quantiles_memory(q) > memory - memory / 16);
        rung_quantiles_destroy(q);
    }
    CHECK_STATUS(rung_quantiles_create(&(rung_quantiles_config){rung_alloc_heap(), 4095}, &q),
                 RUNG_EINVAL);
    CHECK_STATUS(
        rung_quantiles_create(
            &(rung_quantiles_config){rung_alloc_heap(), RUNG_QUANTILES_MEMORY_MAX + 1}, &q),
        RUNG_EINVAL);
}

/* Scores as games have them, in 64 KiB: the estimate is within 0.02 % of the population everywhere. */
TEST(ordinary_scores) {
    enum { N = 1000000, SPAN = 1 << 20 };
    static uint32_t counts[SPAN + 1];
    rung_quantiles *q = fresh(65536);
    rung_rng rng;
    rung_rng_seed(&rng, 1);
    for (uint32_t i = 0; i < N; i++) {
        double u = rung_rng_double(&rng), score = 3000 * -log(1 - u);
        uint32_t key = score < SPAN ? (uint32_t)score : SPAN - 1;
        counts[key]++;
        CHECK_OK(rung_quantiles_add(q, ((uint64_t)1 << 63) + key));
    }
    uint64_t below = 0;
    for (uint32_t key = 0; key < SPAN; key++) {
        if (counts[key] && key % 7 == 0) {
            rung_rank_bounds b;
            rung_quantiles_below(q, ((uint64_t)1 << 63) + key, &b);
            CHECK(b.low <= below && below <= b.high);
            uint64_t off = b.estimate > below ? b.estimate - below : below - b.estimate;
            CHECK_MSG(off <= N / 5000, "key %u: off by %" PRIu64, key, off);
        }
        below += counts[key];
    }
    rung_quantiles_destroy(q);
}

static rung_status load_only(rung_slice bytes) {
    rung_quantiles *q = NULL;
    rung_status st = rung_quantiles_load(rung_alloc_heap(), bytes, &q, NULL);
    rung_quantiles_destroy(q);
    return st;
}

/* A sketch that was saved and loaded on the way ends with the same bytes. */
TEST(loading_changes_nothing) {
    rung_quantiles *a = fresh(4096), *b = fresh(4096), *again;
    for (uint32_t round = 0; round < 60; round++) {
        add_many(a, round, 37);
        add_many(b, round, 37);
        CHECK_SOUND(rung_quantiles_check(a));
        CHECK_OK(rung_quantiles_load(rung_alloc_heap(), SAVED(quantiles, b, 1), &again, NULL));
        CHECK_EQ_U64(rung_quantiles_digest(again), rung_quantiles_digest(a));
        rung_quantiles_destroy(b);
        b = again;
    }
    rung_slice first = SAVED(quantiles, a, 0), second = SAVED(quantiles, b, 1);
    CHECK(rung_slice_eq(first, second));
    check_damage(first, load_only);
    rung_quantiles_clear(a);
    CHECK_SOUND(rung_quantiles_check(a));
    CHECK_OK(load_only(SAVED(quantiles, a, 0)));
    rung_quantiles_destroy(a);
    rung_quantiles_destroy(b);
}

TEST(golden_bytes) {
    rung_quantiles *q = fresh(4096), *other = fresh(4096), *larger = fresh(8192);
    add_many(q, 1, 5000);
    check_golden("quantiles", SAVED(quantiles, q, 0));
    add_many(other, 2, 5000);
    CHECK_STATUS(rung_quantiles_merge(q, larger), RUNG_EINVAL);
    CHECK_OK(rung_quantiles_merge(q, other));
    CHECK_SOUND(rung_quantiles_check(q));
    CHECK_EQ_U64(rung_quantiles_count(q), 10000);
    check_golden("quantiles-merged", SAVED(quantiles, q, 0));
    rung_quantiles_destroy(q);
    rung_quantiles_destroy(other);
    rung_quantiles_destroy(larger);
}

RUNG_TEST_MAIN
