/* SPDX-License-Identifier: Apache-2.0 */
/* rung reviews: tentative scores, oldest first; rung review: decide on one. */
#include "cli/ask.h"

typedef struct review_args {
    rung_ask_args ask;
    const char *board, *player, *rule, *after, *id, *verdict, *reason;
    uint64_t limit;
} review_args;

static const rung_option list_options[] = {
    RUNG_OPTION_TEXT(review_args, board, "--board", "BOARD", "only those of this board"),
    RUNG_OPTION_TEXT(review_args, player, "--player", "PLAYER", "only those of this player"),
    RUNG_OPTION_TEXT(review_args, rule, "--rule", "RULE", "only those that broke this rule"),
    RUNG_OPTION_TEXT(review_args, after, "--after", "NEXT",
                     "the next page: `next` of the last one"),
    RUNG_OPTION_NUMBER(review_args, limit, "--limit", "N", "how many, up to 1000 (default 100)"),
    RUNG_ASK_OPTIONS,
};

/* Escaped, since anybody may have chosen it. */
static void add_text(rung_table *t, rung_color color, rung_slice object, const char *name) {
    char text[300];
    if (*rung_answer_member(object, name, text, sizeof text))
        rung_table_word(t, color, rung_slice_str(text));
    else
        rung_table_cell(t, color, "%s", "");
}

static void add_number(rung_table *t, rung_slice object, const char *name) {
    char text[64];
    rung_slice raw;
    bool is_there = rung_answer_find(object, name, &raw);
    rung_table_cell(t, RUNG_COLOR_PLAIN, "%s",
                    is_there ? rung_answer_amount(raw, text, sizeof text) : "");
}

/* The names of the rules, with spaces between. */
static void add_rules(rung_table *t, rung_slice review) {
    char all[256] = "", name[64];
    size_t used = 0;
    rung_answer_items it;
    rung_slice rules, rule;
    if (rung_answer_find(review, "rules", &rules))
        for (rung_answer_begin(&it, rules); rung_answer_next(&it, &rule);) {
            rung_answer_member(rule, "rule", name, sizeof name);
            int n = snprintf(all + used, sizeof all - used, "%s%s", used ? " " : "", name);
            used += n > 0 && (size_t)n < sizeof all - used ? (size_t)n : 0;
        }
    all[used] = '\0';
    rung_table_word(t, RUNG_COLOR_BAD, rung_slice_str(all));
}

static void add_review(rung_table *t, rung_slice review) {
    rung_slice standing, raw;
    add_text(t, RUNG_COLOR_BOLD, review, "id");
    add_text(t, RUNG_COLOR_PLAIN, review, "board");
    add_text(t, RUNG_COLOR_PLAIN, review, "player");
    add_number(t, review, rung_answer_find(review, "delta", &raw) ? "delta" : "score");
    add_number(t, review, "rank");
    if (!rung_answer_find(review, "standing", &standing) || standing.ptr[0] != '{')
        standing = RUNG_SLICE("{}");
    add_number(t, standing, "score");
    add_rules(t, review);
    add_text(t, RUNG_COLOR_DIM, review, "at");
    add_text(t, RUNG_COLOR_DIM, review, "expires");
}

static void print_reviews(rung_slice answer, const void *args) {
    static const rung_table_column columns[] = {
        {"review", false}, {"board", false}, {"player", false}, {"score", true},   {"rank", true},
        {"stands", true},  {"rules", false}, {"at", false},     {"expires", false}};
    rung_table *t = rung_table_begin(sizeof columns / sizeof columns[0], columns);
    rung_answer_items it;
    rung_slice reviews, review;
    (void)args;
    if (rung_answer_find(answer, "reviews", &reviews))
        for (rung_answer_begin(&it, reviews); rung_answer_next(&it, &review);)
            add_review(t, review);
    rung_table_print(t, stdout);
}

static const rung_question list = {"GET", "/v1/reviews?board,player,rule,after,limit",
                                   .print = print_reviews};

const rung_command rung_command_reviews = {
    .name = "reviews",
    .summary = "list tentative scores, which wait for a review",
    .details = "Oldest first. --json also shows the values against their limits, and the player's\n"
               "history. Needs an admin key if the server has keys.\n",
    RUNG_OPTIONS(review_args, list_options),
    .question = &list,
};

/* ---- one ---- */

static const rung_option review_options[] = {
    RUNG_OPERAND(review_args, id, "REVIEW", "its id"),
    RUNG_OPERAND(review_args, verdict, "promote|reject|ban", "the verdict"),
    RUNG_OPTION_TEXT(review_args, reason, "--reason", "TEXT", "stored in the log"),
    RUNG_ASK_OPTIONS,
};

static void write_verdict(rung_json_writer *w, const void *args) {
    const review_args *a = args;
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "verdict", word, a->verdict);
    if (a->reason)
        RUNG_JSON_MEMBER(w, "reason", word, a->reason);
    rung_json_close_object(w);
}

static void print_decided(rung_slice answer, const void *args) {
    const review_args *a = args;
    (void)answer;
    printf("review %s: %s\n", a->id, a->verdict);
}

static const rung_question review = {"POST", "/v1/reviews/{REVIEW}", write_verdict, print_decided};

const rung_command rung_command_review = {
    .name = "review",
    .summary = "promote or reject a tentative score, or ban its player",
    .details =
        "promote: the score counts, at its own time. reject: it never does. ban: the player\n"
        "is banned, and none of their tentative scores counts.\n",
    RUNG_OPTIONS(review_args, review_options),
    .question = &review,
};
