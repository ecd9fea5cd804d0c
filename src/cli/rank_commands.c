/* SPDX-License-Identifier: Apache-2.0 */
/* rung top, rank, submit: the three things a leaderboard is for. */
#include "cli/ask.h"

#include <string.h>

/* ---- top ---- */

typedef struct top_args {
    rung_view_args view;
    const char *board;
    uint64_t limit, offset;
} top_args;

static const rung_option top_options[] = {
    RUNG_OPERAND(top_args, board, "BOARD", "the board"),
    RUNG_OPTION_NUMBER(top_args, limit, "--limit", "N", "how many (default 10)"),
    RUNG_OPTION_NUMBER(top_args, offset, "--offset", "N", "pass over so many first"),
    RUNG_VIEW_OPTIONS,
    RUNG_ASK_OPTIONS,
};

static void print_top(rung_slice answer, const void *args) {
    (void)args;
    rung_ranking_show(answer, NULL);
}

static const rung_question top = {"GET", "/v1/boards/{BOARD}/top?limit=10,offset," RUNG_VIEW_QUERY,
                                  .print = print_top};

const rung_command rung_command_top = {
    .group = RUNG_GROUP_ASK,
    .name = "top",
    .summary = "the best of a board",
    .details = "  rung top race --limit 20 --window week --scope country:FI\n",
    RUNG_OPTIONS(top_options),
    RUNG_QUESTION(top_args, &top),
};

/* ---- rank ---- */

typedef struct rank_args {
    rung_view_args view;
    const char *board, *player;
    uint64_t around;
} rank_args;

static const rung_option rank_options[] = {
    RUNG_OPERAND(rank_args, board, "BOARD", "the board"),
    RUNG_OPERAND(rank_args, player, "PLAYER", "the player"),
    RUNG_OPTION_NUMBER(rank_args, around, "--around", "N", "so many above and below (default 2)"),
    RUNG_VIEW_OPTIONS,
    RUNG_ASK_OPTIONS,
};

static void print_rank(rung_slice answer, const void *args) {
    rung_slice part;
    (void)args;
    rung_ranking_print_title(answer);
    rung_table *t = rung_ranking_begin();
    if (rung_answer_find(answer, "above", &part))
        rung_ranking_add(t, part, NULL);
    if (rung_answer_find(answer, "entry", &part))
        rung_ranking_add_one(t, part, true);
    if (rung_answer_find(answer, "below", &part))
        rung_ranking_add(t, part, NULL);
    rung_ranking_print(t);
}

static const rung_question rank = {
    "GET", "/v1/boards/{BOARD}/players/{PLAYER}?around=2," RUNG_VIEW_QUERY, .print = print_rank};

const rung_command rung_command_rank = {
    .group = RUNG_GROUP_ASK,
    .name = "rank",
    .summary = "where a player stands, and who is just above and below",
    .details = "Exit code 1 when the player is not on the board.\n"
               "\n"
               "  rung rank race ada --around 5 --window week\n",
    RUNG_OPTIONS(rank_options),
    RUNG_QUESTION(rank_args, &rank),
};

/* ---- submit ---- */

typedef struct submit_args {
    rung_ask_args ask;
    const char *board, *player, *score, *columns, *at, *id, *meta;
    bool delta;
} submit_args;

static const rung_option submit_options[] = {
    RUNG_OPERAND(submit_args, board, "BOARD", "the board"),
    RUNG_OPERAND(submit_args, player, "PLAYER", "who scored"),
    RUNG_OPERAND_OPTIONAL(submit_args, score, "SCORE", "the score; only a count board needs none"),
    RUNG_OPTION_FLAG(submit_args, delta, "--delta", "add it to what stands"),
    RUNG_OPTION_TEXT(submit_args, columns, "--columns", "NAME=VALUE,...",
                     "the further columns of the board"),
    RUNG_OPTION_TEXT(submit_args, at, "--at", "TIME",
                     "when: RFC 3339, or Unix milliseconds (default: now)"),
    RUNG_OPTION_TEXT(submit_args, id, "--id", "ID",
                     "so that it counts once, however often it is sent"),
    RUNG_OPTION_TEXT(submit_args, meta, "--meta", "TEXT", "kept with the score"),
    RUNG_ASK_OPTIONS,
};

/* What looks like a JSON number is one; the server judges all else. */
static void write_value(rung_json_writer *w, rung_slice text) {
    bool is_number = text.len > 0;
    for (size_t i = 0; i < text.len; i++)
        is_number &= strchr("0123456789+-.eE", text.ptr[i]) != NULL;
    if (is_number)
        rung_json_write_raw(w, text);
    else
        rung_json_write_string(w, text);
}

/* "lap=2,time=3.5" as an object. */
static void write_columns(rung_json_writer *w, const char *columns) {
    RUNG_JSON_OPEN(w, "columns", object);
    for (;;) {
        size_t len = strcspn(columns, ","), name = strcspn(columns, "=");
        name = name < len ? name : len;
        rung_json_write_key(w, rung_slice_of(columns, name));
        write_value(w, rung_slice_of(columns + name + (name < len), len - name - (name < len)));
        if (columns[len] == '\0')
            break;
        columns += len + 1;
    }
    rung_json_close_object(w);
}

static void write_submission(rung_json_writer *w, const void *args) {
    const submit_args *a = args;
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "player", word, a->player);
    if (a->score) {
        rung_json_write_key(w, a->delta ? RUNG_SLICE("delta") : RUNG_SLICE("score"));
        write_value(w, rung_slice_str(a->score));
    }
    if (a->columns)
        write_columns(w, a->columns);
    if (a->at) {
        RUNG_JSON_KEY(w, "at");
        write_value(w, rung_slice_str(a->at));
    }
    if (a->id)
        RUNG_JSON_MEMBER(w, "id", word, a->id);
    if (a->meta)
        RUNG_JSON_MEMBER(w, "meta", word, a->meta);
    rung_json_close_object(w);
}

static void print_amount(const char *before, rung_slice answer, const char *name,
                         const char *after) {
    char text[96];
    rung_slice raw;
    if (rung_answer_find(answer, name, &raw))
        printf("%s%s%s", before, rung_answer_amount(raw, text, sizeof text), after);
}

static void print_outcome(rung_slice answer, const void *args) {
    char player[300];
    (void)args;
    rung_print_word(stdout,
                    rung_slice_str(rung_answer_member(answer, "player", player, sizeof player)));
    print_amount(" has ", answer, "score", "");
    print_amount(": rank ", answer, "rank", "");
    print_amount(" (was ", answer, "rank_before", ")");
    print_amount(" of ", answer, "total", "");
    if (rung_answer_number(answer, "passed", 0) > 0)
        print_amount(", ", answer, "passed", " passed");
    puts(rung_answer_is_true(answer, "duplicate") ? "; the id was known: nothing changed"
         : rung_answer_is_true(answer, "changed") ? ""
                                                  : "; nothing changed");
    rung_answer_member(answer, "next.player", player, sizeof player);
    if (*player) {
        fputs("next: ", stdout);
        rung_print_word(stdout, rung_slice_str(player));
        print_amount(", ", answer, "next.gap", " ahead");
        putchar('\n');
    }
}

static const rung_question submit = {"POST", "/v1/boards/{BOARD}/scores", write_submission,
                                     print_outcome};

const rung_command rung_command_submit = {
    .group = RUNG_GROUP_ASK,
    .name = "submit",
    .summary = "a score for a player",
    .details = "Answered when it is on disk and ranked. For many scores: rung import.\n"
               "\n"
               "  rung submit race ada 4200 --id run-17\n",
    RUNG_OPTIONS(submit_options),
    RUNG_QUESTION(submit_args, &submit),
};
