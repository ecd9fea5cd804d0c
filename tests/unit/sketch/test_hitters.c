/* SPDX-License-Identifier: Apache-2.0 */
/* Heavy hitters: small cases by hand, order of rows, long names, save and load, refusals. Bounds over random streams
 * are in tests/model/test_sketch.c. */
#include "sketch/hitters.h"
#include "support/check.h"
#include "support/rng.h"
#include "support/sketch_bytes.h"

static rung_hitters *fresh(size_t memory, uint64_t seed, uint64_t secret) {
    rung_hitters *h;
    CHECK_OK(
        rung_hitters_create(&(rung_hitters_config){rung_alloc_heap(), memory, seed, secret}, &h));
    return h;
}

static void add_number(rung_hitters *h, uint64_t number, size_t len, uint64_t weight) {
    char text[RUNG_HITTERS_NAME_MAX + 1];
    snprintf(text, sizeof text, "%0*llu", (int)len, (unsigned long long)number);
    CHECK_OK(rung_hitters_add(h, rung_slice_str(text), weight));
}

/* Zipf-like, with names of several lengths and weights. */
static void add_many(rung_hitters *h, uint64_t seed, uint32_t n) {
    rung_rng rng;
    rung_rng_seed(&rng, seed);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t number = rung_rng_below(&rng, 1 + rung_rng_below(&rng, 2000));
        add_number(h, number, 1 + number % 7 * 17, 1 + rung_rng_below(&rng, 3));
    }
}

TEST(exact_while_there_is_room) {
    rung_hitters *h = fresh(4096, 1, 2);
    rung_hitter row, rows[8];
    CHECK_OK(rung_hitters_add(h, RUNG_SLICE("ann"), 5));
    CHECK_OK(rung_hitters_add(h, RUNG_SLICE("bob"), 7));
    CHECK_OK(rung_hitters_add(h, RUNG_SLICE("ann"), 5));
    CHECK_OK(rung_hitters_find(h, RUNG_SLICE("ann"), &row));
    CHECK_EQ_U64(row.count, 10);
    CHECK_EQ_U64(row.error, 0);
    CHECK_STATUS(rung_hitters_find(h, RUNG_SLICE("cid"), &row), RUNG_NOT_FOUND);
    CHECK_EQ_U64(rung_hitters_top(h, 0, 8, rows), 2);
    CHECK(rung_slice_eq(rows[0].name, RUNG_SLICE("ann")));
    CHECK_EQ_U64(rung_hitters_top(h, 1, 7, rows), 1);
    CHECK(rung_slice_eq(rows[0].name, RUNG_SLICE("bob")));
    CHECK_EQ_U64(rung_hitters_top(h, 2, 6, rows), 0);
    CHECK_EQ_U64(rung_hitters_above(h, 7), 1);
    CHECK_EQ_U64(rung_hitters_floor(h), 0);
    CHECK_SOUND(rung_hitters_check(h));
    rung_hitters_clear(h);
    CHECK_EQ_U64(rung_hitters_total(h), 0);
    CHECK_SOUND(rung_hitters_check(h));
    rung_hitters_destroy(h);
}

TEST(refusals_change_nothing) {
    char longest[RUNG_HITTERS_NAME_MAX + 1];
    memset(longest, 'x', sizeof longest);
    rung_hitters *h = fresh(4096, 1, 2);
    CHECK_OK(rung_hitters_add(h, rung_slice_of(longest, RUNG_HITTERS_NAME_MAX), 1));
    uint64_t digest = rung_hitters_digest(h);
    CHECK_STATUS(rung_hitters_add(h, rung_slice_of(longest, sizeof longest), 1), RUNG_EINVAL);
    CHECK_STATUS(rung_hitters_add(h, rung_slice_of(longest, 0), 1), RUNG_EINVAL);
    CHECK_STATUS(rung_hitters_add(h, RUNG_SLICE("a"), 0), RUNG_EINVAL);
    CHECK_STATUS(rung_hitters_add(h, RUNG_SLICE("a"), RUNG_HITTERS_TOTAL_MAX), RUNG_ERANGE);
    rung_hitters *other = fresh(8192, 1, 2), *stranger = fresh(4096, 2, 2),
                 *full = fresh(4096, 1, 3);
    CHECK_STATUS(rung_hitters_merge(h, other), RUNG_EINVAL);
    CHECK_STATUS(rung_hitters_merge(h, stranger), RUNG_EINVAL);
    CHECK_OK(rung_hitters_add(full, RUNG_SLICE("a"), RUNG_HITTERS_TOTAL_MAX));
    CHECK_STATUS(rung_hitters_merge(h, full), RUNG_ERANGE);
    CHECK_EQ_U64(rung_hitters_digest(h), digest);
    rung_hitters *none = NULL;
    CHECK_STATUS(rung_hitters_create(&(rung_hitters_config){rung_alloc_heap(), 4095, 0, 0}, &none),
                 RUNG_EINVAL);
    CHECK_STATUS(
        rung_hitters_create(
            &(rung_hitters_config){rung_alloc_heap(), RUNG_HITTERS_MEMORY_MAX + 1, 0, 0}, &none),
        RUNG_EINVAL);
    rung_hitters_destroy(h);
    rung_hitters_destroy(other);
    rung_hitters_destroy(stranger);
    rung_hitters_destroy(full);
}

/* Long names take the room of several short ones; the bound of the header holds with fewer entries. */
TEST(long_names) {
    rung_hitters *h = fresh(8192, 1, 2);
    for (uint32_t i = 0; i < 5000; i++) {
        add_number(h, i % 97, 3, 1);
        add_number(h, i, RUNG_HITTERS_NAME_MAX, 1);
        if (i % 50 == 0)
            CHECK_SOUND(rung_hitters_check(h));
    }
    uint64_t fewest = rung_hitters_capacity_of(8192, RUNG_HITTERS_NAME_MAX);
    CHECK(rung_hitters_floor(h) <= rung_hitters_total(h) / fewest);
    rung_hitters_destroy(h);
}

TEST(memory_is_what_was_asked_for) {
    for (size_t memory = RUNG_HITTERS_MEMORY_MIN; memory <= RUNG_HITTERS_MEMORY_MAX; memory *= 2) {
        rung_hitters *h = fresh(memory, 1, 2);
        CHECK(rung_hitters_memory(h) <= memory && rung_hitters_memory(h) > memory - memory / 16);
        CHECK(rung_hitters_capacity(h) < (1u << 21) - 1);
        CHECK(rung_hitters_capacity_of(memory, 8) <= rung_hitters_capacity(h));
        rung_hitters_destroy(h);
    }
}

/* Errors beyond 26 bits are rounded up: the bounds stay bounds. */
TEST(large_weights) {
    rung_hitters *h = fresh(4096, 1, 2);
    uint64_t weight = (uint64_t)1 << 50, n = 3 * rung_hitters_capacity(h);
    for (uint64_t i = 0; i < n; i++)
        add_number(h, i, 4, weight + 2 * i + 1);
    rung_hitter row;
    for (uint64_t i = 0; i < n; i++) {
        char text[24];
        snprintf(text, sizeof text, "%04llu", (unsigned long long)i);
        if (rung_hitters_find(h, rung_slice_str(text), &row) == RUNG_OK)
            CHECK(row.count - row.error <= weight + 2 * i + 1 && weight + 2 * i + 1 <= row.count);
    }
    CHECK_SOUND(rung_hitters_check(h));
    rung_hitters *again;
    CHECK_OK(rung_hitters_load(rung_alloc_heap(), 5, SAVED(hitters, h, 0), &again, NULL));
    CHECK_EQ_U64(rung_hitters_digest(again), rung_hitters_digest(h));
    rung_hitters_destroy(again);
    rung_hitters_destroy(h);
}

/* All rows come in one order, whatever part of them is asked for. */
TEST(top_is_one_order) {
    enum { N = 400 };
    static rung_hitter all[N], some[N];
    rung_hitters *h = fresh(8192, 1, 2);
    add_many(h, 5, 3000);
    uint32_t n = rung_hitters_top(h, 0, N, all);
    CHECK_EQ_U64(n, rung_hitters_count(h));
    for (uint32_t i = 0; i < n; i++) {
        CHECK(i == 0 || all[i - 1].count >= all[i].count);
        CHECK_EQ_U64(rung_hitters_top(h, i, 3, some), n - i < 3 ? n - i : 3);
        CHECK(rung_slice_eq(some[0].name, all[i].name));
    }
    rung_hitters_destroy(h);
}

static rung_status load_only(rung_slice bytes) {
    rung_hitters *h = NULL;
    rung_status st = rung_hitters_load(rung_alloc_heap(), 0, bytes, &h, NULL);
    rung_hitters_destroy(h);
    return st;
}

/* A sketch that was saved and loaded on the way, in a process with another secret, ends with the same bytes. */
TEST(loading_changes_nothing) {
    rung_hitters *a = fresh(4096, 9, 1), *b = fresh(4096, 9, 2);
    for (uint32_t round = 0; round < 40; round++) {
        add_many(a, round, 50);
        add_many(b, round, 50);
        rung_slice bytes = SAVED(hitters, b, 1);
        rung_hitters *again;
        CHECK_OK(rung_hitters_load(rung_alloc_heap(), round, bytes, &again, NULL));
        CHECK_SOUND(rung_hitters_check(again));
        CHECK_EQ_U64(rung_hitters_digest(again), rung_hitters_digest(a));
        rung_hitters_destroy(b);
        b = again;
    }
    rung_slice first = SAVED(hitters, a, 0), second = SAVED(hitters, b, 1);
    CHECK(rung_slice_eq(first, second));
    check_damage(first, load_only);
    rung_hitters_destroy(a);
    rung_hitters_destroy(b);
}

TEST(golden_bytes) {
    rung_hitters *h = fresh(4096, 42, 1), *other = fresh(4096, 42, 2);
    add_many(h, 1, 2000);
    check_golden("hitters", SAVED(hitters, h, 0));
    add_many(other, 2, 2000);
    CHECK_OK(rung_hitters_merge(h, other));
    check_golden("hitters-merged", SAVED(hitters, h, 0));
    rung_hitters_destroy(h);
    rung_hitters_destroy(other);
}

RUNG_TEST_MAIN
