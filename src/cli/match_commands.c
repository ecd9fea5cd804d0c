/* SPDX-License-Identifier: Apache-2.0 */
/* rung match: the result of one match. */
#include "cli/ask.h"

#include <string.h>

typedef struct match_args {
    rung_ask_args ask;
    const char *board;
    rung_words sides;
    const char *id, *at;
    bool draw;
} match_args;

static const rung_option match_options[] = {
    RUNG_OPERAND(match_args, board, "BOARD", "the rating board"),
    RUNG_OPERAND_MANY(match_args, sides, "SIDE",
                      "the players of a side, with commas between; the best side first"),
    RUNG_OPTION_FLAG(match_args, draw, "--draw", "all sides share the first place"),
    RUNG_OPTION_TEXT(match_args, id, "--id", "ID", "the same id again changes nothing"),
    RUNG_OPTION_TEXT(match_args, at, "--at", "TIME", "when it was played; now if left out"),
    RUNG_ASK_OPTIONS,
};

static void write_side(rung_json_writer *w, const char *players, size_t place) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "place", uint, place);
    RUNG_JSON_OPEN(w, "players", array);
    for (;;) {
        size_t len = strcspn(players, ",");
        rung_json_write_string(w, rung_slice_of(players, len));
        if (players[len] == '\0')
            break;
        players += len + 1;
    }
    rung_json_close_array(w);
    rung_json_close_object(w);
}

static void write_match(rung_json_writer *w, const void *args) {
    const match_args *a = args;
    rung_json_open_object(w);
    RUNG_JSON_OPEN(w, "sides", array);
    for (size_t i = 0; i < a->sides.count; i++)
        write_side(w, a->sides.word[i], a->draw ? 1 : i + 1);
    rung_json_close_array(w);
    if (a->id)
        RUNG_JSON_MEMBER(w, "id", word, a->id);
    if (a->at) {
        RUNG_JSON_KEY(w, "at");
        rung_value_write(w, rung_slice_str(a->at));
    }
    rung_json_close_object(w);
}

static void add_cell(rung_table *t, rung_color color, rung_slice row, const char *name) {
    char text[160];
    rung_slice raw;
    if (!rung_answer_find(row, name, &raw) || raw.ptr[0] == 'n')
        rung_table_cell(t, color, "-");
    else
        rung_table_cell(t, color, "%s", rung_answer_amount(raw, text, sizeof text));
}

static void print_match(rung_slice answer, const void *args) {
    static const rung_table_column columns[] = {{"place", true},  {"player", false},
                                                {"before", true}, {"rating", true},
                                                {"was", true},    {"rank", true}};
    rung_answer_items it;
    rung_slice rows, row;
    char text[160];
    (void)args;
    if (rung_answer_is_true(answer, "duplicate")) {
        puts("known id, nothing changed");
        return;
    }
    rung_table *t = rung_table_begin(6, columns);
    if (rung_answer_find(answer, "players", &rows))
        for (rung_answer_begin(&it, rows); rung_answer_next(&it, &row);) {
            add_cell(t, RUNG_COLOR_PLAIN, row, "place");
            rung_table_word(t, RUNG_COLOR_BOLD,
                            rung_slice_str(rung_answer_member(row, "player", text, sizeof text)));
            add_cell(t, RUNG_COLOR_DIM, row, "score_before");
            add_cell(t, RUNG_COLOR_PLAIN, row, "score");
            add_cell(t, RUNG_COLOR_DIM, row, "rank_before");
            add_cell(t, RUNG_COLOR_PLAIN, row, "rank");
        }
    rung_table_print(t, stdout);
}

static const rung_question match = {"POST", "/v1/boards/{BOARD}/matches", write_match, print_match};

const rung_command rung_command_match = {
    .name = "match",
    .summary = "submit the result of a match to a rating board",
    .details = "Sides are given from the first place to the last; players of a side are separated "
               "by commas.\n"
               "Returns when the match is on disk and everybody's rating has changed.\n"
               "\n"
               "  rung match chess ada bob --id final-1\n"
               "  rung match football ada,cleo bob,dan --draw\n",
    RUNG_OPTIONS(match_args, match_options),
    .question = &match,
};
