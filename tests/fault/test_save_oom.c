/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a state when memory runs out: fail the n-th allocation, n = 1, 2, ... until none is left to fail. Each
 * failure is RUNG_ENOMEM, leaves nothing behind and gives no state; saving takes no memory at all. */
/* ctest: timeout=300 */
#include "state/image/save.h"
#include "support/check.h"
#include "support/failalloc.h"
#include "support/history_gen.h"
#include "support/state_bytes.h"

#ifdef __SANITIZE_ADDRESS__
enum { FAILURES = 5000 };
#else
enum { FAILURES = 30000 };
#endif

/* One load with the n-th allocation failing (0: none); whether it failed. */
static bool load_with_failure(const state_bytes *b, uint64_t n, bool is_sticky) {
    rung_failalloc fa;
    rung_state *s = NULL;
    rung_err err;
    rung_failalloc_init(&fa);
    rung_failalloc_fail_at(&fa, n, is_sticky);
    rung_status st = state_bytes_load(b, &(rung_state_config){.alloc = rung_failalloc_port(&fa)}, 0,
                                      false, &s, &err);
    /* A map that cannot move house stays where it is: not every failure is one of the load. */
    CHECK(st == RUNG_OK || (st == RUNG_ENOMEM && fa.failed_count));
    CHECK_EQ_U64(s != NULL, st == RUNG_OK);
    if (s)
        CHECK_SOUND(rung_state_check(s));
    bool failed = fa.failed_count > 0;
    rung_state_destroy(s);
    rung_failalloc_deinit(&fa);
    return failed;
}

/* Saving must not ask for memory; the state itself is made with an allocator that counts. */
static void save_without_memory(uint64_t seed, uint64_t events, state_bytes *b) {
    rung_failalloc fa;
    rung_state *s;
    rung_failalloc_init(&fa);
    history_gen *g = history_gen_create(seed);
    CHECK_OK(rung_state_create(
        &(rung_state_config){.alloc = rung_failalloc_port(&fa), .id_capacity = 50}, &s));
    for (uint64_t i = 0; i < events; i++) {
        rung_event e;
        history_gen_next(g, &e);
        CHECK(rung_state_apply(s, &e, NULL, NULL) != RUNG_ENOMEM);
    }
    uint64_t calls = fa.call_count;
    state_bytes_save(b, s);
    CHECK_EQ_U64(fa.call_count, calls);
    history_gen_destroy(g);
    rung_state_destroy(s);
    rung_failalloc_deinit(&fa);
}

TEST(every_allocation_of_a_load) {
    uint64_t left = test_steps(FAILURES);
    for (uint64_t seed = 1; left; seed++) {
        state_bytes b = {0};
        save_without_memory(seed, 100 + seed * 50, &b);
        load_with_failure(&b, 0, false);
        for (uint64_t n = 1; left && load_with_failure(&b, n, n % 2); n++)
            left--;
        state_bytes_deinit(&b);
    }
}

RUNG_TEST_MAIN
