/* SPDX-License-Identifier: Apache-2.0 */
/* ladder_model.h - what a ladder means, written to be believed: a sorted array, every answer by looking at it.
 *
 * Costs are O(n) and nobody minds. The contract of each question is the one of ladder/ladder.h. */
#ifndef RUNG_TESTS_LADDER_MODEL_H
#define RUNG_TESTS_LADDER_MODEL_H

#include "ladder/ladder.h"

typedef struct ladder_model_key {
    uint64_t words[RUNG_LADDER_WORDS_MAX]; /* those past key_words are 0 */
} ladder_model_key;

typedef struct ladder_model {
    uint8_t key_words, score_words;
    rung_ladder_tie tie; /* never NULL */
    uint32_t count, capacity;
    ladder_model_key *keys; /* in order */
    uint32_t *players;      /* beside them */
} ladder_model;

void ladder_model_init(ladder_model *m, uint8_t key_words, uint8_t score_words,
                       rung_ladder_tie tie);
void ladder_model_deinit(ladder_model *m);

void ladder_model_put(ladder_model *m, uint32_t player, const ladder_model_key *key);
void ladder_model_remove_at(ladder_model *m, uint32_t index);

/* Where the player stands, or `count` when nowhere. */
uint32_t ladder_model_index_of(const ladder_model *m, uint32_t player);
uint32_t ladder_model_rank_at(const ladder_model *m, uint32_t index, rung_rank_style style);
uint32_t ladder_model_rank_of_key(const ladder_model *m, const ladder_model_key *key,
                                  rung_rank_style style);
/* The index of the answer of rung_ladder_select(), or `count`. */
uint32_t ladder_model_select(const ladder_model *m, uint32_t rank, rung_rank_style style);
uint32_t ladder_model_distinct(const ladder_model *m);
uint32_t ladder_model_count_before(const ladder_model *m, const ladder_model_key *key,
                                   bool or_equal);
/* The index of the answer of rung_ladder_quantile(); the model is not empty. */
uint32_t ladder_model_quantile(const ladder_model *m, uint32_t numerator, uint32_t denominator);

/* Do the entries at a and b have the same score? */
bool ladder_model_same_score(const ladder_model *m, uint32_t a, uint32_t b);

#endif
