/* SPDX-License-Identifier: Apache-2.0 */
/* The allocators on the heap: what is freed lazily comes back in steps. */
#include "base/alloc.h"

#include "support/check.h"
#include "support/failalloc.h"

#include <string.h>

enum { HUGE = 2 << 20 };

TEST(large_blocks_are_returned_in_steps) {
    rung_failalloc fa;
    rung_alloc_lazy z;
    rung_failalloc_init(&fa);
    rung_alloc_lazy_init(&z, rung_failalloc_port(&fa));
    void *blocks[4], *small = rung_alloc_get(&z.port, 100);
    for (int i = 0; i < 4; i++) {
        blocks[i] = rung_alloc_get(&z.port, HUGE);
        memset(blocks[i], i, HUGE);
    }
    CHECK(!rung_alloc_lazy_step(&z, SIZE_MAX));
    rung_alloc_free(&z.port, small, 100); /* at once */
    CHECK_EQ_U64(z.bytes, 0);
    for (int i = 0; i < 4; i++)
        rung_alloc_free(&z.port, blocks[i], HUGE);
    CHECK_EQ_U64(z.bytes, 4 * HUGE);
    CHECK(rung_alloc_lazy_step(&z, 1));
    CHECK_EQ_U64(z.bytes, 3 * HUGE);
    CHECK(rung_alloc_lazy_step(&z, 2 * HUGE));
    CHECK_EQ_U64(z.bytes, HUGE);
    blocks[0] = rung_alloc_get(&z.port, HUGE);
    rung_alloc_free(&z.port, blocks[0], HUGE);
    rung_alloc_lazy_deinit(&z);
    CHECK_EQ_U64(z.bytes, 0);
    rung_failalloc_deinit(&fa);
}

TEST(freed_blocks_are_returned_when_memory_runs_out) {
    rung_failalloc fa;
    rung_alloc_lazy z;
    rung_failalloc_init(&fa);
    rung_alloc_lazy_init(&z, rung_failalloc_port(&fa));
    void *block = rung_alloc_get(&z.port, HUGE);
    rung_alloc_free(&z.port, block, HUGE);
    rung_failalloc_fail_at(&fa, 1, false);
    block = rung_alloc_get(&z.port, HUGE);
    CHECK(block != NULL);
    CHECK_EQ_U64(z.bytes, 0);
    rung_alloc_free(&z.port, block, HUGE);
    rung_alloc_lazy_deinit(&z);
    rung_failalloc_deinit(&fa);
}

TEST(it_is_shared_like_what_it_is_on) {
    rung_failalloc fa;
    rung_alloc_lazy z;
    rung_alloc_meter m;
    rung_alloc_lazy_init(&z, rung_alloc_heap());
    rung_alloc_meter_init(&m, &z.port);
    CHECK(rung_alloc_is_shared(&m.port));
    rung_failalloc_init(&fa);
    rung_alloc_lazy_init(&z, rung_failalloc_port(&fa));
    CHECK(!rung_alloc_is_shared(&m.port));
    rung_failalloc_deinit(&fa);
}

RUNG_TEST_MAIN
