/* SPDX-License-Identifier: Apache-2.0 */
/* The distinct count: small counts, merges, save and load, refusals. Errors over random streams are in
 * tests/model/test_sketch.c. */
#include "sketch/distinct.h"
#include "support/check.h"
#include "support/rng.h"
#include "support/sketch_bytes.h"

static rung_distinct *fresh(uint32_t precision, uint64_t seed) {
    rung_distinct *d;
    CHECK_OK(rung_distinct_create(&(rung_distinct_config){rung_alloc_heap(), precision, seed}, &d));
    return d;
}

static void add_numbers(rung_distinct *d, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++) {
        char text[32];
        snprintf(text, sizeof text, "%llu", (unsigned long long)i);
        rung_distinct_add(d, rung_slice_str(text));
    }
}

TEST(few_names_are_counted_well) {
    rung_distinct *d = fresh(14, 3);
    CHECK_EQ_U64(rung_distinct_estimate(d), 0);
    for (uint64_t i = 1; i <= 100; i++) {
        add_numbers(d, 0, i);
        uint64_t estimate = rung_distinct_estimate(d);
        CHECK_MSG(estimate + 2 >= i && estimate <= i + 2, "%" PRIu64 " of %" PRIu64, estimate, i);
    }
    CHECK(!rung_distinct_add(d, RUNG_SLICE("7")));
    rung_distinct_clear(d);
    CHECK_EQ_U64(rung_distinct_estimate(d), 0);
    CHECK_SOUND(rung_distinct_check(d));
    rung_distinct_destroy(d);
}

/* The mean of many counts is the truth: the estimate has no bias, small or large. */
TEST(no_bias) {
    static const uint64_t sizes[] = {10, 100, 300, 640, 1000, 3000, 20000};
    rung_rng rng;
    rung_rng_seed(&rng, 1);
    for (size_t s = 0; s < RUNG_COUNT_OF(sizes); s++) {
        double sum = 0;
        enum { TIMES = 200 };
        for (uint64_t i = 0; i < TIMES; i++) {
            rung_distinct *d = fresh(8, i);
            for (uint64_t j = 0; j < sizes[s]; j++)
                rung_distinct_add_hash(d, rung_rng_next(&rng));
            sum += (double)rung_distinct_estimate(d);
            rung_distinct_destroy(d);
        }
        double off = sum / TIMES / (double)sizes[s] - 1;
        CHECK_MSG(off > -0.02 && off < 0.02, "%" PRIu64 ": off by %g", sizes[s], off);
    }
}

TEST(every_register_full) {
    rung_distinct *d = fresh(4, 0);
    for (uint64_t i = 0; i < 16; i++)
        CHECK(rung_distinct_add_hash(d, i << 60));
    CHECK_SOUND(rung_distinct_check(d));
    CHECK(rung_distinct_estimate(d) >= (uint64_t)1 << 60);
    rung_distinct_destroy(d);
}

TEST(merging) {
    rung_distinct *a = fresh(10, 5), *b = fresh(10, 5), *both = fresh(10, 5);
    rung_distinct *coarse = fresh(9, 5), *stranger = fresh(10, 6);
    add_numbers(a, 0, 3000);
    add_numbers(b, 2000, 6000);
    add_numbers(both, 0, 6000);
    CHECK_STATUS(rung_distinct_merge(a, coarse), RUNG_EINVAL);
    CHECK_STATUS(rung_distinct_merge(a, stranger), RUNG_EINVAL);
    CHECK_OK(rung_distinct_merge(a, b));
    rung_slice first = SAVED(distinct, a, 0), second = SAVED(distinct, both, 1);
    CHECK(rung_slice_eq(first, second));
    CHECK_SOUND(rung_distinct_check(a));
    rung_distinct_destroy(a);
    rung_distinct_destroy(b);
    rung_distinct_destroy(both);
    rung_distinct_destroy(coarse);
    rung_distinct_destroy(stranger);
}

static rung_status load_only(rung_slice bytes) {
    rung_distinct *d = NULL;
    rung_status st = rung_distinct_load(rung_alloc_heap(), bytes, &d, NULL);
    rung_distinct_destroy(d);
    return st;
}

TEST(save_and_load) {
    rung_distinct *d = fresh(8, 42), *again;
    add_numbers(d, 0, 1000);
    rung_slice bytes = SAVED(distinct, d, 0);
    check_golden("distinct", bytes);
    CHECK_OK(rung_distinct_load(rung_alloc_heap(), bytes, &again, NULL));
    CHECK_SOUND(rung_distinct_check(again));
    CHECK_EQ_U64(rung_distinct_estimate(again), rung_distinct_estimate(d));
    check_damage(bytes, load_only);
    rung_distinct_destroy(d);
    rung_distinct_destroy(again);
}

/* The bits of the estimate are the same on every machine. */
TEST(known_estimates) {
    rung_distinct *d = fresh(12, 42);
    add_numbers(d, 0, 1000);
    uint64_t small = rung_distinct_estimate(d);
    add_numbers(d, 1000, 100000);
    uint64_t large = rung_distinct_estimate(d);
    CHECK_EQ_U64(small, 986);
    CHECK_EQ_U64(large, 98586);
    CHECK_EQ_U64(rung_distinct_error_ppm(d), 16250);
    rung_distinct_destroy(d);
}

TEST(precision_is_checked) {
    rung_distinct *d = NULL;
    CHECK_STATUS(rung_distinct_create(&(rung_distinct_config){rung_alloc_heap(), 3, 0}, &d),
                 RUNG_EINVAL);
    CHECK_STATUS(rung_distinct_create(&(rung_distinct_config){rung_alloc_heap(), 19, 0}, &d),
                 RUNG_EINVAL);
}

RUNG_TEST_MAIN
