/* SPDX-License-Identifier: Apache-2.0 */
/* rung top, rank, submit. */
#include "cli/ask.h"

#include <string.h>

/* ---- top ---- */

typedef struct top_args {
    rung_view_args view;
    const char *board, *version;
    uint64_t limit, offset;
} top_args;

static const rung_option top_options[] = {
    RUNG_OPERAND(top_args, board, "BOARD", "the board"),
    RUNG_OPTION_NUMBER(top_args, limit, "--limit", "N", "how many (default 10)"),
    RUNG_OPTION_NUMBER(top_args, offset, "--offset", "N", "skip this many first"),
    RUNG_OPTION_TEXT(top_args, version, "--version", "N",
                     "of a timed snapshot: its number, newest"),
    RUNG_VIEW_OPTIONS,
    RUNG_READ_OPTIONS,
    RUNG_PAST_OPTION,
    RUNG_ASK_OPTIONS,
};

static void print_ranking(rung_slice answer, const void *args) {
    (void)args;
    rung_ranking_print(answer, NULL);
}

static const rung_question top = {
    "GET", "/v1/boards/{BOARD}/top?limit=10,offset,version," RUNG_VIEW_QUERY "," RUNG_PAST_QUERY,
    .print = print_ranking};

const rung_command rung_command_top = {
    .name = "top",
    .summary = "show the best players of a board",
    .details = "  rung top race --limit 20 --window week --scope country:FI\n",
    RUNG_OPTIONS(top_args, top_options),
    .question = &top,
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
    RUNG_OPTION_NUMBER(rank_args, around, "--around", "N",
                       "neighbours above and below (default 2)"),
    RUNG_VIEW_OPTIONS,
    RUNG_READ_OPTIONS,
    RUNG_PAST_OPTION,
    RUNG_ASK_OPTIONS,
};

static const rung_question rank = {
    "GET", "/v1/boards/{BOARD}/players/{PLAYER}?around=2," RUNG_VIEW_QUERY "," RUNG_PAST_QUERY,
    .print = print_ranking};

const rung_command rung_command_rank = {
    .name = "rank",
    .summary = "show a player's rank and neighbours",
    .details = "Exit code 1 when the player is not on the board.\n"
               "\n"
               "  rung rank race ada --around 5 --window week\n",
    RUNG_OPTIONS(rank_args, rank_options),
    .question = &rank,
};

/* ---- movers ---- */

typedef struct movers_args {
    rung_view_args view;
    const char *board, *since;
    uint64_t limit;
} movers_args;

static const rung_option movers_options[] = {
    RUNG_OPERAND(movers_args, board, "BOARD", "the board"),
    RUNG_OPTION_TEXT(movers_args, since, "--since", "TIME",
                     "how long before: 1h, 1d, 1w, 90m (default 1d)"),
    RUNG_OPTION_NUMBER(movers_args, limit, "--limit", "N", "how many of each list (default 10)"),
    RUNG_OPTION_TEXT(rung_view_args, window, "--window", "WINDOW",
                     "all, hour, day, week, month, year or a season"),
    RUNG_OPTION_TEXT(rung_view_args, scope, "--scope", "NAME:VALUE",
                     "only some players: country:FI"),
    RUNG_PAST_OPTION,
    RUNG_ASK_OPTIONS,
};

static void add_movers(rung_table *t, rung_slice answer, const char *list) {
    static rung_answer_items it; /* large; one thread */
    rung_slice all, mover, raw;
    char text[96], player[300];
    if (!rung_answer_find(answer, list, &all))
        return;
    for (rung_answer_begin(&it, all); rung_answer_next(&it, &mover);) {
        rung_slice entry = {0};
        rung_answer_find(mover, "change", &raw);
        rung_table_cell(t, RUNG_COLOR_ACCENT, "%s%s", raw.ptr[0] == '-' ? "" : "+",
                        rung_answer_amount(raw, text, sizeof text));
        rung_answer_find(mover, "entry", &entry);
        rung_answer_member(entry, "player", player, sizeof player);
        rung_table_word(t, RUNG_COLOR_PLAIN, rung_slice_str(player));
        rung_answer_find(mover, "rank_before", &raw);
        rung_table_cell(t, RUNG_COLOR_DIM, "%s", rung_answer_amount(raw, text, sizeof text));
        rung_answer_find(entry, "rank", &raw);
        rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", rung_answer_amount(raw, text, sizeof text));
    }
}

static void print_movers(rung_slice answer, const void *args) {
    static const rung_table_column columns[] = {
        {"change", true}, {"player", false}, {"before", true}, {"rank", true}};
    rung_table *t = rung_table_begin(sizeof columns / sizeof columns[0], columns);
    (void)args;
    rung_ranking_print_title(answer);
    add_movers(t, answer, "risers");
    add_movers(t, answer, "fallers");
    rung_table_print(t, stdout);
}

static const rung_question movers = {
    "GET", "/v1/boards/{BOARD}/movers?since=1d,limit=10,window,scope,as-of", .print = print_movers};

const rung_command rung_command_movers = {
    .name = "movers",
    .summary = "show who rose and who fell most",
    .details = "  rung movers race --since 1w --limit 20 --window month\n",
    RUNG_OPTIONS(movers_args, movers_options),
    .question = &movers,
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
    RUNG_OPERAND_OPTIONAL(submit_args, score, "SCORE", "the score; not needed on a count board"),
    RUNG_OPTION_FLAG(submit_args, delta, "--delta", "add it to the current score"),
    RUNG_OPTION_TEXT(submit_args, columns, "--columns", "NAME=VALUE,...",
                     "the board's further columns"),
    RUNG_OPTION_TEXT(submit_args, at, "--at", "TIME",
                     "RFC 3339 or Unix milliseconds (default: now)"),
    RUNG_OPTION_TEXT(submit_args, id, "--id", "ID",
                     "a repeated submission with the same id counts once"),
    RUNG_OPTION_TEXT(submit_args, meta, "--meta", "TEXT", "stored with the score"),
    RUNG_ASK_OPTIONS,
};

/* "lap=2,time=3.5" as an object. */
static void write_columns(rung_json_writer *w, const char *columns) {
    RUNG_JSON_OPEN(w, "columns", object);
    for (;;) {
        size_t len = strcspn(columns, ","), name = strcspn(columns, "=");
        name = name < len ? name : len;
        rung_json_write_key(w, rung_slice_of(columns, name));
        rung_value_write(w,
                         rung_slice_of(columns + name + (name < len), len - name - (name < len)));
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
        rung_value_write(w, rung_slice_str(a->score));
    }
    if (a->columns)
        write_columns(w, a->columns);
    if (a->at) {
        RUNG_JSON_KEY(w, "at");
        rung_value_write(w, rung_slice_str(a->at));
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
    rung_slice player;
    (void)args;
    rung_answer_find(answer, "player", &player);
    rung_value_print(player);
    print_amount(" has ", answer, "score", "");
    print_amount(": rank ", answer, "rank", "");
    print_amount(" (was ", answer, "rank_before", ")");
    print_amount(" of ", answer, "total", "");
    if (rung_answer_number(answer, "passed", 0) > 0)
        print_amount(", ", answer, "passed", " passed");
    puts(rung_answer_is_true(answer, "duplicate") ? "; known id, nothing changed"
         : rung_answer_is_true(answer, "changed") ? ""
                                                  : "; nothing changed");
    if (rung_answer_find(answer, "next.player", &player)) {
        fputs("next: ", stdout);
        rung_value_print(player);
        print_amount(", ", answer, "next.gap", " ahead");
        putchar('\n');
    }
}

static const rung_question submit = {"POST", "/v1/boards/{BOARD}/scores", write_submission,
                                     print_outcome};

const rung_command rung_command_submit = {
    .name = "submit",
    .summary = "submit a score for a player",
    .details = "Returns when the score is on disk and ranked. For many scores, use rung import.\n"
               "\n"
               "  rung submit race ada 4200 --id run-17\n",
    RUNG_OPTIONS(submit_args, submit_options),
    .question = &submit,
};
