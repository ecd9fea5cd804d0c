/* SPDX-License-Identifier: Apache-2.0 */
/* The player map on its own. That it answers rightly is proven with the ladder around it (tests/model); here is what
 * the ladder does not see: that a map which changed its kind really leaves the old store behind, and its memory. */
/* ctest: labels=release */
#include "base/numbermap.h"
#include "support/check.h"
#include "support/failalloc.h"

#ifdef RUNG_TEST_BUILD
enum { N = 200 };
#else
enum { N = 20000 };
#endif

static void add(rung_numbermap *map, const rung_failalloc *fa, uint32_t player) {
    CHECK_OK(rung_numbermap_reserve(map, rung_failalloc_port(fa), player));
    rung_numbermap_set(map, player, player / 2);
    CHECK_EQ_U64(rung_numbermap_get(map, player), player / 2);
    CHECK_EQ_U64(map->bytes, fa->live_bytes);
}

static void check_count(const rung_numbermap *map, uint32_t in_array, uint32_t in_hash) {
    CHECK_SOUND(rung_numbermap_check(map));
    CHECK_EQ_U64(map->array_count, in_array);
    CHECK_EQ_U64(map->hash_count, in_hash);
}

TEST(from_dense_to_sparse) {
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    rung_numbermap map = {0};
    for (uint32_t i = 0; i < N; i++)
        add(&map, &fa, i);
    check_count(&map, N, 0);
    for (uint32_t i = 0; i < N; i++)
        add(&map, &fa, UINT32_MAX - i * 1000);
    check_count(&map, 0, 2 * N);
    CHECK_NULL(map.chunks);
    for (uint32_t i = 0; i < N; i++)
        CHECK_EQ_U64(rung_numbermap_get(&map, i), i / 2);
    rung_numbermap_deinit(&map, rung_failalloc_port(&fa));
    rung_failalloc_deinit(&fa);
}

TEST(from_sparse_to_dense) {
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    rung_numbermap map = {0};
    for (uint32_t i = N; i-- > 0;) { /* from above, so that the numbers look scattered at first */
        add(&map, &fa, i);
        CHECK(i < N - 2 || map.hash_is_home);
    }
    check_count(&map, N, 0);
    CHECK_NULL(map.pages);
    for (uint32_t i = 0; i < N; i++)
        CHECK_EQ_U64(rung_numbermap_get(&map, i), i / 2);
    rung_numbermap_deinit(&map, rung_failalloc_port(&fa));
    rung_failalloc_deinit(&fa);
}

/* The same in one call, in either home and on the way between them; who is there keeps the value. */
TEST(adding_in_one_call) {
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    const rung_alloc *a = rung_failalloc_port(&fa);
    rung_numbermap map = {0};
    for (uint32_t i = 0; i < N; i++)
        CHECK_OK(rung_numbermap_add(&map, a, i * 7919 % N, i));
    check_count(&map, N, 0);
    for (uint32_t i = 0; i < N; i++) {
        CHECK_OK(rung_numbermap_add(&map, a, UINT32_MAX - 1 - i * 1000, i));
        CHECK_STATUS(rung_numbermap_add(&map, a, i * 7919 % N, i + 1), RUNG_UNCHANGED);
        CHECK_STATUS(rung_numbermap_add(&map, a, UINT32_MAX - 1 - i * 1000, i + 1), RUNG_UNCHANGED);
    }
    check_count(&map, 0, 2 * N);
    for (uint32_t i = 0; i < N; i++) {
        CHECK_EQ_U64(rung_numbermap_get(&map, i * 7919 % N), i);
        CHECK_EQ_U64(rung_numbermap_get(&map, UINT32_MAX - 1 - i * 1000), i);
    }
    CHECK_EQ_U64(map.bytes, fa.live_bytes);
    rung_numbermap_deinit(&map, a);
    rung_failalloc_deinit(&fa);
}

/* Everybody's note is `player * 3`. */
static rung_status begin_fill(rung_numbermap_fill *fill, rung_numbermap *map, rung_failalloc *fa,
                              uint32_t span) {
    rung_status st = rung_numbermap_fill_begin(fill, map, rung_failalloc_port(fa), span);
    uint32_t n, *notes, from = 0;
    for (; st == RUNG_OK && (notes = rung_numbermap_fill_notes(fill, from, &n)); from += n)
        for (uint32_t i = 0; i < n; i++)
            notes[i] = (from + i) * 3;
    CHECK(st < 0 || from == span);
    return st;
}

/* Of `span` players those from `first` on, backwards, all but every `leave`th. */
static void fill(uint32_t span, uint32_t first, uint32_t leave) {
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    rung_numbermap map = {0};
    rung_numbermap_fill f = {0};
    uint32_t note, count = 0;
    CHECK_OK(begin_fill(&f, &map, &fa, span));
    for (uint32_t i = span; i-- > first;) {
        if (i % leave == 0)
            continue;
        rung_numbermap_fill_prefetch(&f, i);
        CHECK(rung_numbermap_fill_put(&f, i, i / 2, &note));
        CHECK_EQ_U64(note, i * 3);
        count++;
    }
    for (uint32_t i = first; i < span; i++)
        CHECK(i % leave == 0 || !rung_numbermap_fill_put(&f, i, 1, &note));
    CHECK(!rung_numbermap_fill_put(&f, span, 1, &note));
    rung_numbermap_fill_end(&f);
    check_count(&map, count, 0);
    CHECK_EQ_U64(map.bytes, fa.live_bytes);
    for (uint32_t i = 0; i < span + 3; i++)
        CHECK_EQ_U64(rung_numbermap_get(&map, i),
                     i >= first && i < span && i % leave ? i / 2 : RUNG_NUMBER_NONE);
    for (uint32_t i = 0; i < span + 3; i++) /* an ordinary map */
        if (rung_numbermap_get(&map, i) == RUNG_NUMBER_NONE)
            add(&map, &fa, i);
    check_count(&map, span + 3, 0);
    rung_numbermap_deinit(&map, rung_failalloc_port(&fa));
    rung_failalloc_deinit(&fa);
}

TEST(filling_in_one_go) {
    for (uint32_t span = 1; span < 70; span++) {
        fill(span, 0, UINT32_MAX);
        fill(span, 0, 3);
        fill(span, span / 2, 7);
        fill(span, span, 2);
    }
    fill(N, 0, 64);
    fill(N, N - N / 3, 2);
    rung_numbermap_fill none = {0};
    rung_numbermap_fill_end(&none);
}

TEST(filling_without_memory) {
    for (uint64_t nth = 1;; nth++) {
        rung_failalloc fa;
        rung_failalloc_init(&fa);
        rung_failalloc_fail_at(&fa, nth, false);
        rung_numbermap map = {0};
        rung_numbermap_fill f = {0};
        rung_status st = begin_fill(&f, &map, &fa, N);
        if (st < 0)
            CHECK_EQ_U64(fa.live_bytes, 0);
        rung_numbermap_fill_end(&f);
        check_count(&map, 0, 0);
        rung_numbermap_deinit(&map, rung_failalloc_port(&fa));
        rung_failalloc_deinit(&fa);
        if (st == RUNG_OK)
            break;
    }
}

/* Removing while moving house: whoever goes is gone from both stores. */
TEST(removing_on_the_way) {
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    rung_numbermap map = {0};
    for (uint32_t i = 0; i < N; i++)
        add(&map, &fa, i);
    for (uint32_t i = 0; i < N; i++) {
        add(&map, &fa, UINT32_MAX - i);
        rung_numbermap_remove(&map, i * 7919 % N); /* coprime: everybody once */
        CHECK_EQ_U64(rung_numbermap_get(&map, i * 7919 % N), RUNG_NUMBER_NONE);
    }
    check_count(&map, 0, N);
    rung_numbermap_deinit(&map, rung_failalloc_port(&fa));
    rung_failalloc_deinit(&fa);
}

RUNG_TEST_MAIN
