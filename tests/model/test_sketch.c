/* SPDX-License-Identifier: Apache-2.0 */
/* Sketches against exact counts: 100 random streams (support/sketch_stream.h). Every stated bound is checked, for the
 * whole stream and for four parts of it that are merged. RUNG_STEPS is the length of a stream (./dev hunt sketch: 10
 * M). */
/* ctest: timeout=300 labels=release */
#include "sketch/distinct.h"
#include "sketch/hitters.h"
#include "sketch/quantiles.h"
#include "support/check.h"
#include "support/sketch_stream.h"

#include <stdlib.h>
#include <string.h>

enum { STREAMS = 100, PARTS = 4 };

static uint64_t length, span;

static void set_sizes(void) {
    length = test_steps(20000);
    span = length / 4;
}

static rung_slice name_of(uint64_t item, char *out, size_t size) {
    return rung_slice_of(out, (size_t)snprintf(out, size, "player-%llx", (unsigned long long)item));
}

static void *room(size_t count, size_t size) {
    void *p = calloc(count, size);
    CHECK(p);
    return p;
}

/* ---- heavy hitters ---- */

static rung_hitters *new_hitters(size_t memory) {
    rung_hitters *h;
    CHECK_OK(rung_hitters_create(
        &(rung_hitters_config){rung_alloc_heap(), memory, .seed = 7, .secret = memory}, &h));
    return h;
}

static void check_hitters(rung_hitters *h, size_t memory, const uint64_t *exact, const char *what) {
    uint64_t total = rung_hitters_total(h), floor = rung_hitters_floor(h);
    CHECK_SOUND(rung_hitters_check(h));
    CHECK_EQ_U64(total, length);
    CHECK_MSG(floor <= total / rung_hitters_capacity_of(memory, 16),
              "%s: floor %" PRIu64 " of %" PRIu64, what, floor, total);
    for (uint64_t item = 0; item < span; item++) {
        char text[32];
        rung_hitter row;
        if (rung_hitters_find(h, name_of(item, text, sizeof text), &row) == RUNG_OK)
            CHECK_MSG(row.count - row.error <= exact[item] && exact[item] <= row.count,
                      "%s: item %" PRIu64 ": %" PRIu64 " - %" PRIu64 ", exact %" PRIu64, what, item,
                      row.count, row.error, exact[item]);
        else
            CHECK_MSG(exact[item] <= floor, "%s: item %" PRIu64 " has %" PRIu64 ", floor %" PRIu64,
                      what, item, exact[item], floor);
    }
}

static void run_hitters(uint64_t seed) {
    char what[32], text[32];
    sketch_stream s = sketch_stream_of(seed, span, length);
    sketch_stream_text(&s, what, sizeof what);
    size_t memory = (size_t)4096 << seed % 4;
    rung_hitters *whole = new_hitters(memory), *parts[PARTS];
    uint64_t *exact = room(span, sizeof *exact);
    for (int i = 0; i < PARTS; i++)
        parts[i] = new_hitters(memory);
    for (uint64_t i = 0; i < length; i++) {
        uint64_t item = sketch_next(&s);
        rung_slice name = name_of(item, text, sizeof text);
        exact[item]++;
        CHECK_OK(rung_hitters_add(whole, name, 1));
        CHECK_OK(rung_hitters_add(parts[i * PARTS / length], name, 1));
    }
    check_hitters(whole, memory, exact, what);
    for (int i = 1; i < PARTS; i++)
        CHECK_OK(rung_hitters_merge(parts[0], parts[i]));
    check_hitters(parts[0], memory, exact, what);
    rung_hitters_destroy(whole);
    for (int i = 0; i < PARTS; i++)
        rung_hitters_destroy(parts[i]);
    free(exact);
}

TEST(heavy_hitters) {
    set_sizes();
    uint64_t seed = test_seed(0);
    for (uint64_t i = 0; i < STREAMS; i++)
        run_hitters(seed + i);
}

/* ---- quantiles ---- */

/* Spread items over the 64-bit keys in three ways, order kept. */
static uint64_t key_of(uint64_t item, uint64_t seed) {
    switch (seed % 3) {
    case 0:
        return item;
    case 1:
        return ((uint64_t)1 << 63) + item * 1000;
    default:
        return item << 40 | item;
    }
}

static rung_quantiles *new_quantiles(size_t memory) {
    rung_quantiles *q;
    CHECK_OK(rung_quantiles_create(&(rung_quantiles_config){rung_alloc_heap(), memory}, &q));
    return q;
}

static void check_key(const rung_quantiles *q, uint64_t key, uint64_t exact, const char *what) {
    rung_rank_bounds b;
    rung_quantiles_below(q, key, &b);
    CHECK_MSG(b.low <= exact && exact <= b.high && b.low <= b.estimate && b.estimate <= b.high,
              "%s: below %" PRIu64 ": %" PRIu64 " %" PRIu64 " %" PRIu64 ", exact %" PRIu64, what,
              key, b.low, b.estimate, b.high, exact);
    CHECK(b.high - b.low <= rung_quantiles_error(q));
}

/* `below[i]`: exactly how many items are less than i; below[span] all. */
static void check_quantiles(rung_quantiles *q, const uint64_t *below, uint64_t seed, uint64_t parts,
                            const char *what) {
    static const double shares[] = {0, 0.01, 0.5, 0.9, 0.99, 0.999, 0.9999, 1};
    CHECK_SOUND(rung_quantiles_check(q));
    CHECK_EQ_U64(rung_quantiles_count(q), length);
    uint64_t step = parts + length * 17 / 4 / rung_quantiles_capacity(q);
    CHECK_MSG(rung_quantiles_error(q) <= 64 * step, "%s: error %" PRIu64 ", step %" PRIu64, what,
              rung_quantiles_error(q), step);
    for (uint64_t item = 0; item < span; item += 1 + span / 2000)
        check_key(q, key_of(item, seed), below[item], what);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        uint64_t index = (uint64_t)(shares[i] * (double)(length - 1)), key = 0;
        rung_rank_bounds low, high;
        CHECK_OK(rung_quantiles_at(q, index, &key));
        rung_quantiles_below(q, key, &low);
        rung_quantiles_upto(q, key, &high);
        CHECK_MSG(low.low <= index && index < high.high, "%s: key at %" PRIu64, what, index);
    }
}

static void run_quantiles(uint64_t seed) {
    char what[32];
    sketch_stream s = sketch_stream_of(seed, span, length);
    sketch_stream_text(&s, what, sizeof what);
    size_t memory = (size_t)4096 << seed % 5;
    rung_quantiles *whole = new_quantiles(memory), *parts[PARTS];
    uint64_t *below = room(span + 1, sizeof *below);
    for (int i = 0; i < PARTS; i++)
        parts[i] = new_quantiles(memory);
    for (uint64_t i = 0; i < length; i++) {
        uint64_t item = sketch_next(&s);
        below[item + 1]++;
        CHECK_OK(rung_quantiles_add(whole, key_of(item, seed)));
        CHECK_OK(rung_quantiles_add(parts[i * PARTS / length], key_of(item, seed)));
    }
    for (uint64_t i = 0; i < span; i++)
        below[i + 1] += below[i];
    check_quantiles(whole, below, seed, 1, what);
    for (int i = 1; i < PARTS; i++)
        CHECK_OK(rung_quantiles_merge(parts[0], parts[i]));
    check_quantiles(parts[0], below, seed, PARTS, what);
    rung_quantiles_destroy(whole);
    for (int i = 0; i < PARTS; i++)
        rung_quantiles_destroy(parts[i]);
    free(below);
}

TEST(quantiles) {
    set_sizes();
    uint64_t seed = test_seed(0);
    for (uint64_t i = 0; i < STREAMS; i++)
        run_quantiles(seed + i);
}

/* ---- distinct ---- */

static rung_distinct *new_distinct(uint32_t precision) {
    rung_distinct *d;
    CHECK_OK(
        rung_distinct_create(&(rung_distinct_config){rung_alloc_heap(), precision, .seed = 7}, &d));
    return d;
}

static void run_distinct(uint64_t seed) {
    char what[32], text[32];
    sketch_stream s = sketch_stream_of(seed, span, length);
    sketch_stream_text(&s, what, sizeof what);
    uint32_t precision = 8 + (uint32_t)(seed % 7);
    rung_distinct *whole = new_distinct(precision), *parts[PARTS];
    uint8_t *seen = room(span, 1);
    uint64_t exact = 0;
    for (int i = 0; i < PARTS; i++)
        parts[i] = new_distinct(precision);
    for (uint64_t i = 0; i < length; i++) {
        uint64_t item = sketch_next(&s);
        rung_slice name = name_of(item, text, sizeof text);
        exact += !seen[item];
        seen[item] = 1;
        rung_distinct_add(whole, name);
        rung_distinct_add(parts[i * PARTS / length], name);
    }
    double off = fabs((double)rung_distinct_estimate(whole) - (double)exact) / (double)exact;
    CHECK_MSG(off <= 5e-6 * rung_distinct_error_ppm(whole), "%s: %" PRIu64 ", exact %" PRIu64, what,
              rung_distinct_estimate(whole), exact);
    for (int i = 1; i < PARTS; i++)
        CHECK_OK(rung_distinct_merge(parts[0], parts[i]));
    CHECK_SOUND(rung_distinct_check(parts[0]));
    CHECK_EQ_U64(rung_distinct_estimate(parts[0]), rung_distinct_estimate(whole));
    rung_distinct_destroy(whole);
    for (int i = 0; i < PARTS; i++)
        rung_distinct_destroy(parts[i]);
    free(seen);
}

TEST(distinct) {
    set_sizes();
    uint64_t seed = test_seed(0);
    for (uint64_t i = 0; i < STREAMS; i++)
        run_distinct(seed + i);
}

RUNG_TEST_MAIN
