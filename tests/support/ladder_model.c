/* SPDX-License-Identifier: Apache-2.0 */
/* The one piece of cleverness is first_index_where(): a binary search, so that long programs spend their time in
 * the ladder. */
#include "support/ladder_model.h"

#include "support/check.h"

#include <stdlib.h>
#include <string.h>

void ladder_model_init(ladder_model *m, uint8_t key_words, uint8_t score_words,
                       rung_ladder_tie tie) {
    *m = (ladder_model){.key_words = key_words, .score_words = score_words, .tie = tie};
}

void ladder_model_deinit(ladder_model *m) {
    free(m->keys);
    free(m->players);
    *m = (ladder_model){0};
}

static int compare_words(const ladder_model_key *a, const ladder_model_key *b, uint8_t word_count) {
    for (int i = 0; i < word_count; i++)
        if (a->words[i] != b->words[i])
            return a->words[i] < b->words[i] ? -1 : 1;
    return 0;
}

/* ---- the order ---- */

/* Is the entry at `index` to the left of what is looked for? True for a prefix of the array. */
typedef bool (*is_left)(const ladder_model *m, uint32_t index, const ladder_model_key *key,
                        uint32_t player);

static uint32_t first_index_where(const ladder_model *m, is_left not, const ladder_model_key *key,
                                  uint32_t player) {
    uint32_t low = 0, high = m->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (not(m, middle, key, player))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool entry_is_less(const ladder_model *m, uint32_t index, const ladder_model_key *key,
                          uint32_t player) {
    int c = compare_words(&m->keys[index], key, m->key_words);
    return c ? c < 0 : m->tie(NULL, m->players[index], player) < 0;
}

static bool words_are_less(const ladder_model *m, uint32_t index, const ladder_model_key *key,
                           uint32_t player) {
    (void)player;
    return compare_words(&m->keys[index], key, m->key_words) < 0;
}

static bool words_are_not_greater(const ladder_model *m, uint32_t index,
                                  const ladder_model_key *key, uint32_t player) {
    (void)player;
    return compare_words(&m->keys[index], key, m->key_words) <= 0;
}

static bool score_is_less(const ladder_model *m, uint32_t index, const ladder_model_key *key,
                          uint32_t player) {
    (void)player;
    return compare_words(&m->keys[index], key, m->score_words) < 0;
}

bool ladder_model_same_score(const ladder_model *m, uint32_t a, uint32_t b) {
    return compare_words(&m->keys[a], &m->keys[b], m->score_words) == 0;
}

/* Distinct scores among the first `end` entries. */
static uint32_t distinct_before(const ladder_model *m, uint32_t end) {
    uint32_t distinct = 0;
    for (uint32_t i = 0; i < end; i++)
        distinct += i == 0 || !ladder_model_same_score(m, i - 1, i);
    return distinct;
}

/* ---- changes ---- */

static void grow(ladder_model *m) {
    m->capacity = m->capacity ? 2 * m->capacity : 16;
    m->keys = realloc(m->keys, m->capacity * sizeof *m->keys);
    m->players = realloc(m->players, m->capacity * sizeof *m->players);
    CHECK(m->keys && m->players);
}

void ladder_model_remove_at(ladder_model *m, uint32_t index) {
    size_t behind = m->count - index - 1;
    memmove(m->keys + index, m->keys + index + 1, behind * sizeof *m->keys);
    memmove(m->players + index, m->players + index + 1, behind * sizeof *m->players);
    m->count--;
}

void ladder_model_put(ladder_model *m, uint32_t player, const ladder_model_key *key) {
    uint32_t old = ladder_model_index_of(m, player);
    if (old < m->count)
        ladder_model_remove_at(m, old);
    if (m->count == m->capacity)
        grow(m);
    uint32_t index = first_index_where(m, entry_is_less, key, player);
    memmove(m->keys + index + 1, m->keys + index, (m->count - index) * sizeof *m->keys);
    memmove(m->players + index + 1, m->players + index, (m->count - index) * sizeof *m->players);
    m->keys[index] = *key;
    m->players[index] = player;
    m->count++;
}

/* ---- questions ---- */

uint32_t ladder_model_index_of(const ladder_model *m, uint32_t player) {
    uint32_t i = 0;
    while (i < m->count && m->players[i] != player)
        i++;
    return i;
}

uint32_t ladder_model_rank_at(const ladder_model *m, uint32_t index, rung_rank_style style) {
    if (style == RUNG_RANK_DENSE)
        return distinct_before(m, index + 1);
    uint32_t first = index;
    if (style == RUNG_RANK_SPARSE)
        while (first > 0 && ladder_model_same_score(m, first - 1, index))
            first--;
    return first + 1;
}

uint32_t ladder_model_rank_of_key(const ladder_model *m, const ladder_model_key *key,
                                  rung_rank_style style) {
    if (style == RUNG_RANK_UNIQUE)
        return ladder_model_count_before(m, key, true) + 1;
    uint32_t better = first_index_where(m, score_is_less, key, 0);
    return (style == RUNG_RANK_SPARSE ? better : distinct_before(m, better)) + 1;
}

uint32_t ladder_model_select(const ladder_model *m, uint32_t rank, rung_rank_style style) {
    if (rank == 0)
        return m->count;
    if (style == RUNG_RANK_DENSE) {
        uint32_t i = 0;
        for (uint32_t dense = 0; i < m->count; i++) {
            dense += i == 0 || !ladder_model_same_score(m, i - 1, i);
            if (dense == rank)
                return i;
        }
        return m->count;
    }
    /* Sparse: at position `rank` stands the first who holds that rank or, when nobody does, one of those tied
     * across it. */
    return rank > m->count ? m->count : rank - 1;
}

uint32_t ladder_model_distinct(const ladder_model *m) {
    return distinct_before(m, m->count);
}

uint32_t ladder_model_count_before(const ladder_model *m, const ladder_model_key *key,
                                   bool or_equal) {
    return first_index_where(m, or_equal ? words_are_not_greater : words_are_less, key, 0);
}

uint32_t ladder_model_quantile(const ladder_model *m, uint32_t numerator, uint32_t denominator) {
    uint64_t product = (uint64_t)m->count * numerator;
    uint64_t rank = product / denominator + (product % denominator != 0);
    return rank ? (uint32_t)(rank - 1) : 0;
}
