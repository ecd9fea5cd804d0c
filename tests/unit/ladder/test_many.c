/* SPDX-License-Identifier: Apache-2.0 */
/* Many at once: seeks, walks and counts together, against the same asked one by one of a sorted array. */
/* ctest: labels=release */
#include "ladder/pipeline.h"
#include "support/check.h"
#include "support/rng.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MAX = 3000, ASKED_MAX = 70, WALK_MAX = 200 };

typedef struct world {
    rung_rng rng;
    rung_ladder *l;
    uint8_t words;
    uint32_t n;
    rung_ladder_entry entries[ENTRIES_MAX]; /* in order */
} world;

static world w;

static uint32_t roll(uint32_t n) {
    return (uint32_t)rung_rng_below(&w.rng, n);
}

/* Few different ones, so that many tie, and both ends of what there is. */
static uint64_t any_word(void) {
    uint64_t words[] = {0, 1, UINT64_MAX - 1, UINT64_MAX, 1000 + roll(40), roll(3)};
    return words[roll(6)];
}

static int larger_first(const void *ctx, uint32_t a, uint32_t b) {
    (void)ctx;
    return a < b ? 1 : a > b ? -1 : 0;
}

static int compare_words(const uint64_t *a, const uint64_t *b) {
    for (uint32_t k = 0; k < w.words; k++)
        if (a[k] != b[k])
            return a[k] < b[k] ? -1 : 1;
    return 0;
}

static int compare_entries(const void *a, const void *b) {
    const rung_ladder_entry *x = a, *y = b;
    int c = compare_words(x->key, y->key);
    return c ? c : larger_first(NULL, x->player, y->player);
}

static void begin(uint8_t words, uint32_t n) {
    rung_ladder_config config = {
        .alloc = rung_alloc_heap(), .key_words = words, .score_words = 1, .tie = larger_first};
    CHECK_OK(rung_ladder_create(&config, &w.l));
    w.words = words;
    w.n = n;
    memset(w.entries, 0, sizeof w.entries);
    for (uint32_t i = 0; i < n; i++) {
        w.entries[i].player = i;
        for (uint32_t k = 0; k < words; k++)
            w.entries[i].key[k] = any_word();
        CHECK_OK(rung_ladder_put(w.l, i, w.entries[i].key, NULL));
    }
    qsort(w.entries, n, sizeof *w.entries, compare_entries);
}

static void check_entry(const rung_ladder_entry *got, uint32_t index) {
    CHECK_EQ_U64(got->player, w.entries[index].player);
    CHECK_EQ_MEM(got->key, w.entries[index].key, sizeof got->key);
}

/* On from `index` in one direction, in one piece or in several. */
static void check_walk(rung_ladder_cursor c, uint32_t index, bool back) {
    rung_ladder_entry got[WALK_MAX];
    for (int piece = 0; piece < 3; piece++) {
        uint32_t want = roll(4) ? roll(20) : roll(WALK_MAX + 1), left = back ? index : w.n - index;
        rung_ladder_prefetch_walk(&c, back, want, 0);
        rung_ladder_prefetch_walk(&c, back, want, 1);
        uint32_t n = rung_ladder_walk(&c, back, want, got);
        CHECK_EQ_U64(n, left < want ? left : want);
        for (uint32_t i = 0; i < n; i++)
            check_entry(&got[i], back ? index - 1 - i : index + i);
        index = back ? index - n : index + n;
        CHECK_EQ_U64(rung_ladder_cursor_rank(&c, RUNG_RANK_UNIQUE), index < w.n ? index + 1 : 0);
    }
}

static void check_seeks(void) {
    uint32_t indexes[ASKED_MAX] = {0}, n = roll(ASKED_MAX + 1);
    rung_ladder_cursor cursors[ASKED_MAX];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t edges[] = {0, w.n ? w.n - 1 : 0, w.n, w.n + 1, UINT32_MAX};
        indexes[i] = roll(3) ? roll(w.n + 1) : edges[roll(5)];
    }
    rung_ladder_seek_batch(w.l, n, indexes, cursors);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t index = indexes[i] < w.n ? indexes[i] : w.n;
        rung_ladder_cursor alone = rung_ladder_seek(w.l, indexes[i]);
        CHECK_EQ_U64(cursors[i].leaf, alone.leaf);
        CHECK_EQ_U64(cursors[i].pos, alone.pos);
        check_walk(cursors[i], index, roll(2));
    }
}

static void check_counts(void) {
    uint64_t keys[ASKED_MAX * RUNG_LADDER_WORDS_MAX] = {0};
    bool or_equal[ASKED_MAX] = {false};
    uint32_t counts[ASKED_MAX], n = roll(ASKED_MAX + 1);
    for (uint32_t i = 0; i < n; i++) {
        or_equal[i] = roll(2);
        for (uint32_t k = 0; k < w.words; k++)
            keys[i * w.words + k] = any_word();
        if (w.n && roll(2))
            memcpy(keys + i * w.words, w.entries[roll(w.n)].key, w.words * sizeof *keys);
    }
    rung_ladder_count_before_batch(w.l, n, keys, or_equal, counts);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *key = keys + i * w.words;
        uint32_t expected = 0;
        while (expected < w.n &&
               compare_words(w.entries[expected].key, key) < (or_equal[i] ? 1 : 0))
            expected++;
        CHECK_EQ_U64(counts[i], expected);
        CHECK_EQ_U64(rung_ladder_count_before(w.l, key, or_equal[i]), expected);
    }
}

static void check_found(void) {
    uint32_t players[ASKED_MAX] = {0}, n = roll(ASKED_MAX + 1);
    rung_ladder_entry entries[ASKED_MAX];
    bool found[ASKED_MAX];
    for (uint32_t i = 0; i < n; i++)
        players[i] = roll(w.n + w.n / 8 + 2);
    uint64_t words[ASKED_MAX];
    bool has_word[ASKED_MAX];
    rung_ladder_find_batch(w.l, n, players, entries, found);
    rung_ladder_word_batch(w.l, n, players, words, has_word);
    for (uint32_t i = 0; i < n; i++) {
        rung_ladder_entry alone;
        bool is_there = players[i] < w.n;
        CHECK_EQ_U64(found[i], is_there);
        CHECK_EQ_U64(has_word[i], is_there);
        CHECK_EQ_U64(rung_ladder_find(w.l, players[i], &alone),
                     is_there ? RUNG_OK : RUNG_NOT_FOUND);
        if (!is_there)
            continue;
        CHECK_EQ_MEM(&entries[i], &alone, sizeof alone.key + sizeof alone.player);
        CHECK_EQ_U64(words[i], alone.key[0]);
    }
}

TEST(as_one_by_one) {
    static const uint32_t sizes[] = {0, 1, 2, 3, 4, 6, 7, 15, 16, 17, 63, 64, 65, 300, 3000};
    rung_rng_seed(&w.rng, test_seed(1));
    for (uint8_t words = 1; words <= 3; words++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            begin(words, sizes[i]);
            for (uint64_t step = 0; step < test_steps(40); step++) {
                check_seeks();
                check_counts();
                check_found();
            }
            rung_ladder_destroy(w.l);
        }
}

/* A ladder that had entries and lost them has a leaf, and nobody in it. */
TEST(emptied) {
    rung_rng_seed(&w.rng, test_seed(2));
    for (uint32_t n = 1; n <= 300; n += 299) {
        begin(1, n);
        for (uint32_t i = 0; i < n; i++)
            CHECK_OK(rung_ladder_remove(w.l, i));
        w.n = 0;
        check_seeks();
        check_counts();
        check_found();
        rung_ladder_destroy(w.l);
    }
}

RUNG_TEST_MAIN
