/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=120 */
/* Token buckets against a list of names in order of use, each with the history of what it took: the level of a bucket
 * is computed anew from that history every time, in a way of its own (exact fractions, one millisecond at a time). */
#include "guard/rate.h"
#include "support/check.h"
#include "support/rng.h"

#include <stdio.h>
#include <string.h>

enum { NAMES = 40, HISTORY = 64 };

typedef struct taking {
    int64_t at_ms;
    uint64_t cost;
} taking;

/* What is known of a name: nothing, or when it was first seen full and what it took since. */
typedef struct model_bucket {
    int name;
    int64_t full_at_ms, used_at_ms;
    taking takings[HISTORY];
    int count;
} model_bucket;

typedef struct model {
    model_bucket buckets[NAMES]; /* the one used last comes first */
    int used, capacity;
} model;

/* Tokens times period: walk from full through every millisecond that matters. */
static uint64_t level_at(const model_bucket *b, uint64_t count, uint64_t period, int64_t now_ms) {
    uint64_t level = count * period;
    int64_t t = b->full_at_ms;
    for (int i = 0; i <= b->count; i++) {
        int64_t until = i < b->count ? b->takings[i].at_ms : now_ms;
        for (; t < until && level < count * period; t++)
            level += count;
        t = until > t ? until : t;
        if (level > count * period)
            level = count * period;
        if (i < b->count)
            level -= b->takings[i].cost * period;
    }
    return level;
}

/* `wanted`: the tokens of the request that uses it. */
static model_bucket *model_use(model *m, int name, uint64_t wanted, rung_rate_limit limit,
                               int64_t now_ms) {
    model_bucket found = {.name = name, .full_at_ms = now_ms};
    int i = 0;
    while (i < m->used && m->buckets[i].name != name)
        i++;
    if (i < m->used)
        found = m->buckets[i];
    else if (m->used < m->capacity)
        i = m->used++;
    else if (now_ms - m->buckets[i = m->used - 1].used_at_ms < (int64_t)limit.period_ms &&
             wanted < limit.count) /* the last one goes, too early: the new one is not full */
        found.takings[found.count++] = (taking){now_ms, limit.count - wanted};
    found.used_at_ms = now_ms;
    memmove(m->buckets + 1, m->buckets, (size_t)i * sizeof m->buckets[0]);
    m->buckets[0] = found;
    return &m->buckets[0];
}

/* A bucket that is full has no history. */
static void forget_when_full(model_bucket *b, uint64_t count, uint64_t period, int64_t now_ms) {
    if (level_at(b, count, period, now_ms) == count * period) {
        b->full_at_ms = now_ms;
        b->count = 0;
    }
}

static uint32_t ceil_s(uint64_t parts, uint64_t count) {
    uint64_t ms = 0;
    while (ms * count < parts)
        ms++;
    while (ms % 1000)
        ms++;
    return (uint32_t)(ms / 1000);
}

static void run(uint64_t seed, int capacity, rung_rate_limit limit, uint64_t steps) {
    static model m;
    rung_rng rng;
    rung_rate *rate;
    int64_t now_ms = 1000000;
    uint64_t refused = 0;
    rung_rng_seed(&rng, seed);
    m = (model){.capacity = capacity};
    CHECK_OK(rung_rate_create(rung_alloc_heap(), (uint32_t)capacity, (rung_hash_key){seed, ~seed},
                              &rate));
    for (uint64_t step = 0; step < steps; step++) {
        char name[16];
        int number = (int)rung_rng_below(&rng, rung_rng_below(&rng, 2) ? 5 : NAMES);
        uint64_t cost = 1 + rung_rng_below(&rng, rung_rng_below(&rng, 4) ? 2 : limit.count + 2);
        now_ms += (int64_t)rung_rng_below(&rng, rung_rng_below(&rng, 8)
                                                    ? limit.period_ms / limit.count + 2
                                                    : 2 * limit.period_ms);
        int len = snprintf(name, sizeof name, "n%d", number);
        uint64_t wanted = cost < limit.count ? cost : limit.count;
        model_bucket *b = model_use(&m, number, wanted, limit, now_ms);
        forget_when_full(b, limit.count, limit.period_ms, now_ms);
        if (b->count == HISTORY) /* a history as long as that is not followed further */
            break;
        uint64_t level = level_at(b, limit.count, limit.period_ms, now_ms),
                 full = (uint64_t)limit.count * limit.period_ms;
        bool expected = level >= wanted * limit.period_ms;
        if (expected) {
            b->takings[b->count++] = (taking){now_ms, wanted};
            level -= wanted * limit.period_ms;
        }
        rung_rate_answer a;
        bool is_taken = rung_rate_take(rate, RUNG_RATE_PLAYER, rung_slice_of(name, (size_t)len),
                                       limit, (uint32_t)cost, now_ms, &a);
        CHECK_EQ_U64(is_taken, expected);
        CHECK_EQ_U64(a.limit, limit.count);
        CHECK_EQ_U64(a.remaining, level / limit.period_ms);
        CHECK_EQ_U64(a.reset_s, ceil_s(full - level, limit.count));
        CHECK_EQ_U64(a.retry_s,
                     expected ? 0 : ceil_s(wanted * limit.period_ms - level, limit.count));
        CHECK_EQ_U64(rung_rate_count(rate), m.used);
        CHECK_SOUND(rung_rate_check(rate));
        refused += !expected;
    }
    CHECK(refused > 0 || steps < 100);
    rung_rate_destroy(rate);
}

TEST(random_programs) {
    static const rung_rate_limit limits[] = {{1, 100},  {3, 1000},  {7, 1000},
                                             {10, 333}, {5, 60000}, {1000, 1000}};
    uint64_t seed = test_seed(1), rounds = test_steps(60);
    for (uint64_t i = 0; i < rounds; i++)
        run(seed + i, 1 + (int)(i * 7 % NAMES), limits[i % (sizeof limits / sizeof limits[0])],
            400);
}

RUNG_TEST_MAIN
