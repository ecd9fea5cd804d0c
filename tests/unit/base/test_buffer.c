/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer grows to its limit and not beyond, and a failure stays until somebody begins anew. */
#include "base/buffer.h"

#include "support/check.h"
#include "support/failalloc.h"

TEST(grows_by_doubling_up_to_its_limit) {
    rung_buffer b = {.alloc = rung_alloc_heap(), .limit = 1000};
    char piece[300] = {1, 2, 3};
    for (int i = 0; i < 3; i++)
        rung_buffer_put(&b, piece, sizeof piece);
    CHECK(!b.is_failed);
    CHECK_EQ_U64(b.len, 900);
    CHECK_EQ_U64(b.size, 1000);
    CHECK_EQ_MEM(b.data + 600, piece, sizeof piece);
    rung_buffer_put(&b, piece, 101);
    CHECK(b.is_failed);
    rung_buffer_put(&b, piece, 1); /* there is room, but the whole is lost already */
    CHECK_EQ_U64(b.len, 900);
    CHECK_EQ_U64(rung_buffer_slice(&b).len, 900);
    rung_buffer_reset(&b, 1000);
    CHECK(!b.is_failed && b.size == 1000 && b.len == 0);
    rung_buffer_reset(&b, 999);
    CHECK(!b.data && b.size == 0 && b.limit == 1000);
    rung_buffer_put(&b, "x", 0);
    CHECK(!b.data && !b.is_failed);
    rung_buffer_deinit(&b);
}

TEST(memory_of_the_caller_is_fixed) {
    char memory[4];
    rung_buffer b = {.data = memory, .size = sizeof memory};
    rung_buffer_put(&b, "abcd", 4);
    CHECK(!b.is_failed);
    CHECK(!rung_buffer_reserve(&b, 1));
    CHECK(b.is_failed);
    rung_buffer_deinit(&b);
}

TEST(no_length_overflows) {
    rung_buffer b = {.alloc = rung_alloc_heap()};
    rung_buffer_put(&b, "abc", 3);
    CHECK(!rung_buffer_reserve(&b, SIZE_MAX));
    CHECK(!rung_buffer_reserve(&b, 1));
    rung_buffer_deinit(&b);
}

TEST(out_of_memory_is_sticky) {
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    rung_failalloc_fail_at(&fa, 1, true);
    rung_buffer b = {.alloc = rung_failalloc_port(&fa)};
    rung_buffer_put(&b, "abc", 3);
    CHECK(b.is_failed && !b.data && b.len == 0);
    rung_buffer_deinit(&b);
    CHECK(!b.is_failed);
    rung_failalloc_deinit(&fa);
}

RUNG_TEST_MAIN
