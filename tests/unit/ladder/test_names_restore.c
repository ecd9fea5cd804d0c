/* SPDX-License-Identifier: Apache-2.0 */
/* A player table built anew from what another one shows: the same numbers, and the same ones to come. */
/* ctest: labels=release */
#include "ladder/names.h"

#include "support/check.h"
#include "support/failalloc.h"
#include "support/rng.h"

#include <stdio.h>
#include <string.h>

static const rung_hash_key key = {1, 2}, other_key = {3, 4};

static rung_names *create(const rung_alloc *a, const rung_hash_key *k) {
    rung_names *t = NULL;
    CHECK_OK(rung_names_create(a, k, &t));
    return t;
}

static rung_status restore_all(rung_names *copy, const rung_names *t) {
    rung_status st = RUNG_OK;
    uint32_t before = RUNG_PLAYER_NONE, n = RUNG_PLAYER_NONE;
    for (uint32_t number = 0; number < rung_names_span(t) && st >= 0; number++)
        st = rung_names_restore(copy, rung_names_id(t, number));
    while (st >= 0 && (n = rung_names_next_free(t, n)) != RUNG_PLAYER_NONE) {
        st = rung_names_restore_free(copy, before, n);
        before = n;
    }
    return st < 0 ? st : rung_names_restore_finish(copy);
}

static rung_slice name_of(uint64_t i) {
    static char id[RUNG_PLAYER_ID_MAX];
    return rung_slice_of(id,
                         (size_t)snprintf(id, sizeof id, "%0*d", (int)(1 + i * 7 % 100), (int)i));
}

static uint32_t intern(rung_names *t, uint64_t i) {
    uint32_t number;
    CHECK(rung_names_intern(t, name_of(i), &number) >= 0);
    return number;
}

static void check_same(const rung_names *t, const rung_names *copy) {
    CHECK_SOUND(rung_names_check(copy));
    CHECK_EQ_U64(rung_names_count(copy), rung_names_count(t));
    CHECK_EQ_U64(rung_names_span(copy), rung_names_span(t));
    for (uint32_t number = 0; number < rung_names_span(t); number++)
        CHECK(rung_slice_eq(rung_names_id(copy, number), rung_names_id(t, number)));
}

TEST(same_numbers_now_and_later) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(1));
    for (uint32_t size = 0; size < 400; size = size * 2 + 1) {
        rung_names *t = create(rung_alloc_heap(), &key),
                   *copy = create(rung_alloc_heap(), &other_key);
        for (uint32_t i = 0; i < size * 3; i++) {
            intern(t, rung_rng_below(&rng, size));
            if (rung_rng_below(&rng, 2))
                rung_names_remove(t, (uint32_t)rung_rng_below(&rng, size));
        }
        CHECK_OK(restore_all(copy, t));
        check_same(t, copy);
        for (uint32_t i = 0; i < size; i++)
            CHECK_EQ_U64(intern(copy, 1000 + i), intern(t, 1000 + i));
        check_same(t, copy);
        rung_names_destroy(t);
        rung_names_destroy(copy);
    }
}

static void restore(rung_names *t, const char *id, rung_status want) {
    CHECK_STATUS(rung_names_restore(t, rung_slice_str(id)), want);
}

TEST(what_no_table_shows_is_refused) {
    rung_names *t = create(rung_alloc_heap(), &key);
    char longest[RUNG_PLAYER_ID_MAX + 2] = {0};
    memset(longest, 'a', sizeof longest - 1);
    restore(t, longest, RUNG_EINVAL);
    restore(t, "a", RUNG_OK);
    restore(t, "", RUNG_OK);
    restore(t, "", RUNG_OK);
    restore(t, "a", RUNG_OK);
    CHECK_STATUS(rung_names_restore_free(t, RUNG_PLAYER_NONE, 0), RUNG_EINVAL); /* in use */
    CHECK_STATUS(rung_names_restore_free(t, RUNG_PLAYER_NONE, 4), RUNG_EINVAL); /* unheard of */
    CHECK_OK(rung_names_restore_free(t, RUNG_PLAYER_NONE, 2));
    CHECK_STATUS(rung_names_restore_free(t, 2, 2), RUNG_EINVAL); /* twice */
    CHECK_STATUS(rung_names_restore_finish(t), RUNG_EINVAL);     /* one is left out */
    CHECK_OK(rung_names_restore_free(t, 2, 1));
    CHECK_STATUS(rung_names_restore_finish(t), RUNG_EINVAL); /* "a" twice */
    rung_names_clear(t);
    CHECK_SOUND(rung_names_check(t));
    rung_names_set_limit(t, 1);
    restore(t, "a", RUNG_OK);
    restore(t, "b", RUNG_ELIMIT);
    restore(t, "", RUNG_OK);
    rung_names_destroy(t);
}

/* Fail each allocation in its turn. */
static void sweep(const rung_names *t) {
    rung_status st;
    uint64_t n = 1;
    do {
        rung_failalloc fa;
        rung_failalloc_init(&fa);
        rung_names *copy = create(rung_failalloc_port(&fa), &key);
        rung_failalloc_fail_at(&fa, n++, false);
        st = restore_all(copy, t);
        CHECK(st == (fa.failed_count ? RUNG_ENOMEM : RUNG_OK));
        rung_names_destroy(copy);
        rung_failalloc_deinit(&fa);
    } while (st < 0);
}

TEST(out_of_memory) {
    rung_names *t = create(rung_alloc_heap(), &key);
    for (uint32_t i = 0; i < 60; i++) {
        intern(t, i);
        if (i % 4 == 0)
            rung_names_remove(t, i / 2);
        sweep(t);
    }
    rung_names_destroy(t);
}

/* Only ids whose hash is high: they run over behind the last home, where buckets are opened on the way. */
TEST(out_of_memory_behind_the_end) {
    rung_names *t = create(rung_alloc_heap(), &key);
    for (uint32_t i = 0; rung_names_count(t) < 60; i++) {
        if (rung_names_hash(t, name_of(i)) >> 60 != 15)
            continue;
        intern(t, i);
        sweep(t);
    }
    rung_names_destroy(t);
}

RUNG_TEST_MAIN
