/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte picks a column, the rest is the text of a number: refused, or a value that survives
 * formatting, parsing and encoding unchanged. */
#include "base/assert.h"
#include "model/score.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static rung_column pick_column(unsigned choice) {
    rung_column column = {(rung_score_type)(choice % 3), (rung_score_order)(choice / 3 % 2), 0};
    if (column.type == RUNG_SCORE_DECIMAL)
        column.decimals = choice / 6 % (RUNG_DECIMALS_MAX + 1);
    return column;
}

static bool is_same(const rung_column *column, rung_value a, rung_value b) {
    return column->type == RUNG_SCORE_REAL ? memcmp(&a.d, &b.d, sizeof a.d) == 0 : a.i == b.i;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    if (size == 0)
        return 0;
    rung_column column = pick_column(data[0]);
    rung_value value, back;
    if (rung_score_parse(&column, rung_slice_of(data + 1, size - 1), &value, NULL) != RUNG_OK)
        return 0;
    char text[RUNG_SCORE_TEXT_MAX];
    size_t length = rung_score_format(&column, value, text);
    RUNG_ASSERT(length < sizeof text && text[length] == 0);
    rung_status st = rung_score_parse(&column, rung_slice_of(text, length), &back, NULL);
    RUNG_ASSERT(st == RUNG_OK && is_same(&column, back, value));
    uint64_t word = 0;
    st = rung_score_encode(&column, value, &word);
    RUNG_ASSERT(st == RUNG_OK && is_same(&column, rung_score_decode(&column, word), value));
    RUNG_ASSERT(rung_score_compare(&column, value, back) == 0);
    return 0;
}
