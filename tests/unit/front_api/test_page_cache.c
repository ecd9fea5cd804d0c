/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of pages against the rule: what it finds is what was kept last for the very same key. */
#include "front/api/page_cache.h"

#include "support/check.h"
#include "support/rng.h"

#include <stdio.h>
#include <string.h>

static rung_page_key key_of(const char *path, const char *query, uint64_t seq, int64_t ordinal) {
    return (rung_page_key){.path = rung_slice_str(path),
                           .query = rung_slice_str(query),
                           .seq = seq,
                           .kind = 3,
                           .ordinal = ordinal};
}

static bool finds(const rung_page_cache *cache, const rung_page_key *key, const char *body) {
    rung_slice found = rung_page_find(cache, key);
    return body ? rung_slice_eq(found, rung_slice_str(body)) : found.ptr == NULL;
}

TEST(a_page_is_of_one_request_one_sequence_and_one_window) {
    rung_page_cache cache = {0};
    rung_page_key key = key_of("/top", "limit=3", 7, 100), other;
    rung_page_keep(&cache, rung_alloc_heap(), &key, RUNG_SLICE("first"));
    CHECK(finds(&cache, &key, "first"));
    other = key_of("/top", "limit=3", 8, 100);
    CHECK(finds(&cache, &other, NULL));
    other = key_of("/top", "limit=3", 7, 101);
    CHECK(finds(&cache, &other, NULL));
    other = key_of("/toplimit", "=3", 7, 100); /* the same bytes, cut elsewhere */
    CHECK(finds(&cache, &other, NULL));
    other = key_of("/top", "", 7, 100);
    CHECK(finds(&cache, &other, NULL));
    other = key_of("/top", "limit=3", 8, 100);
    rung_page_keep(&cache, rung_alloc_heap(), &other, RUNG_SLICE("a longer second"));
    CHECK(finds(&cache, &other, "a longer second"));
    CHECK(finds(&cache, &key, NULL)); /* one page for one request */
    rung_page_cache_deinit(&cache);
}

TEST(what_is_too_long_is_not_kept) {
    static char body[RUNG_PAGE_BODY_MAX + 1], path[RUNG_PAGE_TARGET_MAX + 2];
    rung_page_cache cache = {0};
    rung_page_key key = key_of("/top", "", 1, 1);
    rung_page_keep(&cache, rung_alloc_heap(), &key, rung_slice_of(body, sizeof body));
    CHECK(finds(&cache, &key, NULL));
    rung_page_keep(&cache, rung_alloc_heap(), &key, rung_slice_of(body, RUNG_PAGE_BODY_MAX));
    CHECK(rung_page_find(&cache, &key).len == RUNG_PAGE_BODY_MAX);
    memset(path, 'x', RUNG_PAGE_TARGET_MAX + 1);
    key = key_of(path, "", 1, 1);
    rung_page_keep(&cache, rung_alloc_heap(), &key, RUNG_SLICE("body"));
    CHECK(finds(&cache, &key, NULL));
    rung_page_cache_deinit(&cache);
}

TEST(random_keys_find_their_own_or_nothing) {
    rung_page_cache cache = {0};
    rung_rng rng;
    rung_rng_seed(&rng, 5);
    for (int i = 0; i < 20000; i++) {
        char path[16], body[64];
        uint64_t seq = rung_rng_below(&rng, 5);
        unsigned number = (unsigned)rung_rng_below(&rng, 40);
        snprintf(path, sizeof path, "/%u", number);
        int len = snprintf(body, sizeof body, "%u at %u", number, (unsigned)seq);
        rung_page_key key = key_of(path, "q", seq, 0);
        rung_slice found = rung_page_find(&cache, &key);
        CHECK(!found.ptr || rung_slice_eq(found, rung_slice_of(body, (size_t)len)));
        if (rung_rng_below(&rng, 2))
            rung_page_keep(&cache, rung_alloc_heap(), &key, rung_slice_of(body, (size_t)len));
    }
    rung_page_cache_deinit(&cache);
}

RUNG_TEST_MAIN
