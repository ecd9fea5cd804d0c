/* SPDX-License-Identifier: Apache-2.0 */
/* Sketches when memory runs out: fail the n-th allocation of create, merge and load, n = 1, 2, ... until none is left
 * to fail. After each failure the sketch is as before, and nothing is left at the end. */
#include "sketch/distinct.h"
#include "sketch/hitters.h"
#include "sketch/quantiles.h"
#include "support/check.h"
#include "support/failalloc.h"
#include "support/rng.h"
#include "support/sketch_bytes.h"

static rung_status work_hitters(const rung_alloc *alloc) {
    rung_hitters *a = NULL, *b = NULL, *c = NULL;
    rung_status st = rung_hitters_create(&(rung_hitters_config){alloc, 4096, 1, 2}, &a);
    if (st == RUNG_OK)
        st = rung_hitters_create(&(rung_hitters_config){alloc, 4096, 1, 2}, &b);
    for (uint32_t i = 0; st == RUNG_OK && i < 500; i++) {
        rung_slice name = rung_slice_of(&i, sizeof i);
        CHECK_OK(rung_hitters_add(i % 2 ? a : b, name, 1 + i));
    }
    if (st == RUNG_OK) {
        uint64_t digest = rung_hitters_digest(a);
        st = rung_hitters_merge(a, b);
        CHECK(st == RUNG_OK || rung_hitters_digest(a) == digest);
        CHECK_SOUND(rung_hitters_check(a));
    }
    if (st == RUNG_OK)
        st = rung_hitters_load(alloc, 3, SAVED(hitters, a, 0), &c, NULL);
    rung_hitters_destroy(a);
    rung_hitters_destroy(b);
    rung_hitters_destroy(c);
    return st;
}

static rung_status work_quantiles(const rung_alloc *alloc) {
    rung_quantiles *a = NULL, *b = NULL, *c = NULL;
    rung_status st = rung_quantiles_create(&(rung_quantiles_config){alloc, 4096}, &a);
    if (st == RUNG_OK)
        st = rung_quantiles_create(&(rung_quantiles_config){alloc, 4096}, &b);
    for (uint64_t i = 0; st == RUNG_OK && i < 2000; i++)
        CHECK_OK(rung_quantiles_add(i % 2 ? a : b, i * i * i));
    if (st == RUNG_OK) {
        uint64_t digest = rung_quantiles_digest(a);
        st = rung_quantiles_merge(a, b);
        CHECK(st == RUNG_OK || rung_quantiles_digest(a) == digest);
        CHECK_SOUND(rung_quantiles_check(a));
    }
    if (st == RUNG_OK)
        st = rung_quantiles_load(alloc, SAVED(quantiles, a, 0), &c, NULL);
    rung_quantiles_destroy(a);
    rung_quantiles_destroy(b);
    rung_quantiles_destroy(c);
    return st;
}

static rung_status work_distinct(const rung_alloc *alloc) {
    rung_distinct *a = NULL, *b = NULL;
    rung_status st = rung_distinct_create(&(rung_distinct_config){alloc, 6, 1}, &a);
    if (st == RUNG_OK)
        st = rung_distinct_load(alloc, SAVED(distinct, a, 0), &b, NULL);
    rung_distinct_destroy(a);
    rung_distinct_destroy(b);
    return st;
}

static void sweep(rung_status (*work)(const rung_alloc *alloc), uint64_t least) {
    uint64_t n = 1;
    for (;; n++) {
        rung_failalloc fa;
        rung_failalloc_init(&fa);
        rung_failalloc_fail_at(&fa, n, false);
        rung_status st = work(rung_failalloc_port(&fa));
        rung_failalloc_deinit(&fa);
        if (!fa.failed_count) {
            CHECK_OK(st);
            break;
        }
        CHECK_STATUS(st, RUNG_ENOMEM);
    }
    CHECK(n > least);
}

TEST(hitters) {
    sweep(work_hitters, 4);
}

TEST(quantiles) {
    sweep(work_quantiles, 4);
}

TEST(distinct) {
    sweep(work_distinct, 2);
}

RUNG_TEST_MAIN
