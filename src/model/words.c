/* SPDX-License-Identifier: Apache-2.0 */
#include "model/words.h"

#define WORD(name, value, word) [value] = (word),

const char *const rung_rank_words[] = {RUNG_RANK_STYLES(WORD) NULL};
const char *const rung_window_words[] = {RUNG_WINDOW_KINDS(WORD) NULL};
const char *const rung_plain_window_words[] = {RUNG_PLAIN_WINDOWS(WORD) NULL};
const char *const rung_update_words[] = {RUNG_UPDATES(WORD) NULL};
const char *const rung_wenglin_model_words[] = {RUNG_WENGLIN_MODELS(WORD) NULL};
const char *const rung_tie_words[] = {RUNG_TIES(WORD) NULL};
const char *const rung_score_type_words[] = {RUNG_SCORE_TYPES(WORD) NULL};
const char *const rung_score_order_words[] = {RUNG_SCORE_ORDERS(WORD) NULL};
const char *const rung_combine_words[] = {RUNG_COMBINES(WORD) NULL};
const char *const rung_sketch_words[] = {RUNG_SKETCH_KINDS(WORD) NULL};
const char *const rung_writers_words[] = {RUNG_WRITER_KINDS(WORD) NULL};

int rung_word_find(const char *const *words, rung_slice word) {
    for (int i = 0; words[i]; i++)
        if (rung_slice_eq(word, rung_slice_str(words[i])))
            return i;
    return -1;
}
