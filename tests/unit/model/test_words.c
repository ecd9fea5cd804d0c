/* SPDX-License-Identifier: Apache-2.0 */
/* A word finds the value it stands for, every array ends, and no word stands for two values of one table. */
#include "model/words.h"

#include "support/check.h"

static void check_words(const char *const *words, int count) {
    for (int i = 0; i < count; i++)
        CHECK_EQ_I64(rung_word_find(words, rung_slice_str(words[i])), i);
    CHECK(!words[count]);
    CHECK_EQ_I64(rung_word_find(words, RUNG_SLICE("")), -1);
    CHECK_EQ_I64(rung_word_find(words, RUNG_SLICE("uniqu")), -1);
}

TEST(words_find_their_values) {
    check_words(rung_rank_words, RUNG_RANK_DENSE + 1);
    check_words(rung_window_words, RUNG_WINDOW_SEASON + 1);
    check_words(rung_plain_window_words, RUNG_WINDOW_YEAR + 1);
    check_words(rung_update_words, RUNG_UPDATE_OPENSKILL + 1);
    check_words(rung_wenglin_model_words, RUNG_WENGLIN_BRADLEY_TERRY_PART + 1);
    check_words(rung_tie_words, RUNG_TIE_PLAYER_LAST + 1);
    check_words(rung_score_type_words, RUNG_SCORE_REAL + 1);
    check_words(rung_score_order_words, RUNG_ORDER_ASC + 1);
    check_words(rung_combine_words, RUNG_COMBINE_TOP + 1);
    check_words(rung_writers_words, RUNG_WRITERS_PLAYER + 1);
}

TEST(alternatives_are_one_text) {
    CHECK_EQ_STR(RUNG_ALTERNATIVES(RUNG_RANK_STYLES), "unique|sparse|dense");
    CHECK_EQ_STR("enum" RUNG_SCORE_ORDERS(RUNG_OR), "enum|desc|asc");
}

RUNG_TEST_MAIN
