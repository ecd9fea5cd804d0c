/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets: what they let through, what the headers say, and what a full table forgets. */
#include "guard/rate.h"
#include "support/check.h"

static rung_rate *make(uint32_t capacity) {
    rung_rate *rate;
    CHECK_OK(rung_rate_create(rung_alloc_heap(), capacity, (rung_hash_key){1, 2}, &rate));
    return rate;
}

static bool take(rung_rate *rate, const char *name, rung_rate_limit limit, uint32_t cost,
                 int64_t now_ms, rung_rate_answer *answer) {
    bool is_taken =
        rung_rate_take(rate, RUNG_RATE_KEY, rung_slice_str(name), limit, cost, now_ms, answer);
    CHECK_SOUND(rung_rate_check(rate));
    return is_taken;
}

TEST(a_bucket_fills_evenly) {
    rung_rate *rate = make(8);
    rung_rate_limit limit = {10, 1000};
    rung_rate_answer a;
    for (uint32_t i = 0; i < 10; i++) {
        CHECK(take(rate, "k", limit, 1, 5000, &a));
        CHECK_EQ_U64(a.limit, 10);
        CHECK_EQ_U64(a.remaining, 9 - i);
        CHECK_EQ_U64(a.reset_s, 1);
        CHECK_EQ_U64(a.retry_s, 0);
    }
    CHECK(!take(rate, "k", limit, 1, 5000, &a));
    CHECK_EQ_U64(a.remaining, 0);
    CHECK_EQ_U64(a.retry_s, 1);
    CHECK(!take(rate, "k", limit, 1, 5099, &a));
    CHECK(take(rate, "k", limit, 1, 5100, &a));
    CHECK(!take(rate, "k", limit, 1, 5100, &a));
    CHECK(take(rate, "k", limit, 10, 6100, &a));
    CHECK(!take(rate, "k", limit, 1, 6100, &a));
    rung_rate_destroy(rate);
}

TEST(seconds_are_rounded_up) {
    rung_rate *rate = make(8);
    rung_rate_limit limit = {2, 10000}; /* one in five seconds */
    rung_rate_answer a;
    CHECK(take(rate, "k", limit, 2, 0, &a));
    CHECK_EQ_U64(a.reset_s, 10);
    CHECK(!take(rate, "k", limit, 1, 1, &a));
    CHECK_EQ_U64(a.retry_s, 5);
    CHECK(!take(rate, "k", limit, 1, 4999, &a));
    CHECK_EQ_U64(a.retry_s, 1);
    CHECK(!take(rate, "k", limit, 2, 4999, &a));
    CHECK_EQ_U64(a.retry_s, 6);
    CHECK(take(rate, "k", limit, 1, 5000, &a));
    rung_rate_destroy(rate);
}

TEST(no_limit_keeps_no_bucket) {
    rung_rate *rate = make(2);
    rung_rate_answer a = {.limit = 7};
    CHECK(take(rate, "k", (rung_rate_limit){0, 1000}, UINT32_MAX, 0, &a));
    CHECK(take(rate, "k", (rung_rate_limit){5, 0}, UINT32_MAX, 0, &a));
    CHECK_EQ_U64(a.limit, 0);
    CHECK_EQ_U64(rung_rate_count(rate), 0);
    rung_rate_destroy(rate);
}

TEST(more_than_the_limit_is_taken_as_the_limit) {
    rung_rate *rate = make(2);
    rung_rate_limit limit = {3, 1000};
    rung_rate_answer a;
    CHECK(take(rate, "k", limit, 1000, 0, &a));
    CHECK_EQ_U64(a.remaining, 0);
    CHECK(!take(rate, "k", limit, 1000, 999, &a));
    CHECK(take(rate, "k", limit, 1000, 1000, &a));
    rung_rate_destroy(rate);
}

TEST(a_clock_that_goes_backwards) {
    rung_rate *rate = make(2);
    rung_rate_limit limit = {2, 1000};
    rung_rate_answer a;
    CHECK(take(rate, "k", limit, 1, 100000, &a));
    CHECK(take(rate, "k", limit, 1, 50, &a));
    CHECK(!take(rate, "k", limit, 1, 0, &a));
    CHECK(take(rate, "k", limit, 1, 500, &a)); /* it goes on from where the clock is */
    CHECK(take(rate, "k", limit, 2, INT64_MAX, &a));
    CHECK(!take(rate, "k", limit, 1, INT64_MIN, &a));
    CHECK(take(rate, "k", limit, 2, INT64_MAX, &a));
    rung_rate_destroy(rate);
}

TEST(the_largest_limits_do_not_overflow) {
    rung_rate *rate = make(2);
    rung_rate_limit limit = {UINT32_MAX, UINT32_MAX};
    rung_rate_answer a;
    CHECK(take(rate, "k", limit, UINT32_MAX, 0, &a));
    CHECK_EQ_U64(a.limit, RUNG_RATE_COUNT_MAX);
    CHECK_EQ_U64(a.remaining, 0);
    CHECK_EQ_U64(a.reset_s, 86400);
    CHECK(!take(rate, "k", limit, UINT32_MAX, 86399999, &a));
    CHECK(take(rate, "k", limit, UINT32_MAX, 86400000, &a));
    rung_rate_destroy(rate);
}

TEST(kinds_and_names_are_apart) {
    rung_rate *rate = make(8);
    rung_rate_limit limit = {1, 1000};
    rung_rate_answer a;
    CHECK(rung_rate_take(rate, RUNG_RATE_KEY, RUNG_SLICE("x"), limit, 1, 0, &a));
    CHECK(rung_rate_take(rate, RUNG_RATE_PLAYER, RUNG_SLICE("x"), limit, 1, 0, &a));
    CHECK(rung_rate_take(rate, RUNG_RATE_PEER, RUNG_SLICE("x"), limit, 1, 0, &a));
    CHECK(rung_rate_take(rate, RUNG_RATE_TOKEN, RUNG_SLICE("x"), limit, 1, 0, &a));
    CHECK(rung_rate_take(rate, RUNG_RATE_KEY, RUNG_SLICE(""), limit, 1, 0, &a));
    CHECK(!rung_rate_take(rate, RUNG_RATE_KEY, RUNG_SLICE("x"), limit, 1, 0, &a));
    CHECK(!rung_rate_take(rate, RUNG_RATE_TOKEN, RUNG_SLICE("x"), limit, 1, 0, &a));
    CHECK_EQ_U64(rung_rate_count(rate), 5);
    rung_rate_destroy(rate);
}

TEST(a_full_table_forgets_the_one_unused_for_longest) {
    rung_rate *rate = make(3);
    rung_rate_limit limit = {1, 1000};
    rung_rate_answer a;
    CHECK(take(rate, "a", limit, 1, 0, &a));
    CHECK(take(rate, "b", limit, 1, 0, &a));
    CHECK(take(rate, "c", limit, 1, 0, &a));
    CHECK(!take(rate, "a", limit, 1, 1, &a)); /* being refused is being used */
    CHECK(take(rate, "d", limit, 1, 2, &a));  /* b goes */
    CHECK_EQ_U64(rung_rate_count(rate), 3);
    CHECK(!take(rate, "a", limit, 1, 3, &a));
    CHECK(!take(rate, "c", limit, 1, 3, &a));
    CHECK(take(rate, "b", limit, 1, 4, &a)); /* as if it were new */
    CHECK(take(rate, "d", limit, 1, 5, &a)); /* which made d go */
    rung_rate_destroy(rate);
}

TEST(one_bucket_is_a_table) {
    rung_rate *rate = make(1);
    rung_rate_limit limit = {1, 1000};
    rung_rate_answer a;
    CHECK(take(rate, "a", limit, 1, 0, &a));
    CHECK(!take(rate, "a", limit, 1, 0, &a));
    CHECK(take(rate, "b", limit, 1, 0, &a));
    CHECK(take(rate, "a", limit, 1, 0, &a));
    rung_rate_destroy(rate);
}

RUNG_TEST_MAIN
