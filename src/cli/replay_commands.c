/* SPDX-License-Identifier: Apache-2.0 */
/* rung replay: a board computed again from the log; who would move; swap, undo, drop. */
#include "cli/ask.h"
#include "cli/csv.h"

#include <errno.h>
#include <string.h>

enum { PAGE = 1000 };

typedef struct replay_args {
    rung_ask_args ask;
    const char *board, *file, *players, *from, *to, *reason;
    rung_json_writer text; /* of the file */
} replay_args;

/* ---- begin ---- */

static const rung_option begin_options[] = {
    RUNG_OPERAND(replay_args, board, "BOARD", "the board"),
    RUNG_OPTION_TEXT(replay_args, file, "--file", "FILE",
                     "another definition, as JSON; - for standard input"),
    RUNG_OPTION_TEXT(replay_args, players, "--without-players", "PLAYER,PLAYER",
                     "leave out what these players submitted"),
    RUNG_OPTION_TEXT(replay_args, from, "--without-from", "TIME",
                     "leave out submissions from this time on"),
    RUNG_OPTION_TEXT(replay_args, to, "--without-to", "TIME", "and before this one"),
    RUNG_ASK_OPTIONS,
};

static void write_players(rung_json_writer *w, const char *players) {
    RUNG_JSON_OPEN(w, "players", array);
    while (*players) {
        size_t len = strcspn(players, ",");
        rung_json_write_string(w, rung_slice_of(players, len));
        players += len + (players[len] == ',');
    }
    rung_json_close_array(w);
}

static void write_replay(rung_json_writer *w, const void *args) {
    const replay_args *a = args;
    rung_json_open_object(w);
    if (a->file) {
        RUNG_JSON_KEY(w, "definition");
        rung_json_write_raw(w, rung_json_written(&a->text));
    }
    if (a->players || a->from || a->to) {
        RUNG_JSON_OPEN(w, "exclude", object);
        if (a->players)
            write_players(w, a->players);
        if (a->from)
            RUNG_JSON_MEMBER(w, "from", string, rung_slice_str(a->from));
        if (a->to)
            RUNG_JSON_MEMBER(w, "to", string, rung_slice_str(a->to));
        rung_json_close_object(w);
    }
    rung_json_close_object(w);
}

static void print_begun(rung_slice answer, const void *args) {
    const replay_args *a = args;
    (void)answer;
    printf("begun; rung replay show %s tells how far it is\n", a->board);
}

static int read_file(const rung_command *self, replay_args *a) {
    char bytes[4096];
    size_t got;
    FILE *f = strcmp(a->file, "-") == 0 ? stdin : fopen(a->file, "re");
    if (!f)
        return rung_command_refuse(self, RUNG_EXIT_PROBLEM, "--file: cannot open %.100s: %s",
                                   a->file, strerror(errno));
    while ((got = fread(bytes, 1, sizeof bytes, f)) > 0)
        rung_json_append(&a->text, rung_slice_of(bytes, got));
    if (f != stdin)
        fclose(f);
    return rung_json_failed(&a->text)
               ? rung_command_refuse(self, RUNG_EXIT_PROBLEM, "--file: it is too long")
               : RUNG_EXIT_OK;
}

static int begin(const rung_command *self, rung_client *client, void *args) {
    static const rung_question question = {"POST", "/v1/boards/{BOARD}/replay", write_replay,
                                           print_begun};
    replay_args *a = args;
    a->text = (rung_json_writer){.alloc = rung_alloc_heap(), .limit = 1 << 20};
    int code = a->file ? read_file(self, a) : RUNG_EXIT_OK;
    if (code == RUNG_EXIT_OK)
        code = rung_question_send(self, client, &question, args);
    rung_json_writer_deinit(&a->text);
    return code;
}

const rung_command rung_command_replay_begin = {
    .name = "replay begin",
    .summary = "compute a board again from the log",
    .details = "Under another definition, or without some players or a span of time, while the\n"
               "server goes on. Nothing changes until rung replay swap. docs/replay.md explains.\n"
               "\n"
               "  rung replay begin race --without-players mallory\n",
    RUNG_OPTIONS(replay_args, begin_options),
    .ask = begin,
};

/* ---- show ---- */

static const rung_option show_options[] = {
    RUNG_OPERAND(replay_args, board, "BOARD", "the board"),
    RUNG_ASK_OPTIONS,
};

static void add_number(rung_table *t, rung_slice window, const char *name) {
    char text[64];
    rung_slice raw;
    if (rung_answer_find(window, name, &raw))
        rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", rung_answer_amount(raw, text, sizeof text));
}

static void print_report(rung_slice report) {
    static const rung_table_column columns[] = {
        {"window", false}, {"before", true}, {"after", true},   {"moved", true},
        {"entered", true}, {"left", true},   {"rescored", true}};
    static const char *const names[] = {"entries_before", "entries_after", "moved",
                                        "entered",        "left",          "rescored"};
    rung_table *t = rung_table_begin(sizeof columns / sizeof columns[0], columns);
    rung_answer_items it;
    rung_slice windows, window;
    char text[300];
    if (rung_answer_find(report, "windows", &windows))
        for (rung_answer_begin(&it, windows); rung_answer_next(&it, &window);) {
            rung_table_word(
                t, RUNG_COLOR_BOLD,
                rung_slice_str(rung_answer_member(window, "window_id", text, sizeof text)));
            for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                add_number(t, window, names[i]);
        }
    rung_table_print(t, stdout);
}

static void print_replay(rung_slice answer, const void *args) {
    rung_slice raw, inner;
    (void)args;
    if (rung_answer_find(answer, "state", &raw))
        rung_member_print("state", raw);
    if (rung_answer_find(answer, "error", &raw) && rung_answer_find(raw, "detail", &inner))
        rung_member_print("why", inner);
    if (rung_answer_find(answer, "entries", &raw))
        rung_member_print("entries", raw);
    if (rung_answer_find(answer, "left_out", &raw))
        rung_member_print("left out", raw);
    if (rung_answer_find(answer, "report", &raw) && raw.len && raw.ptr[0] == '{')
        print_report(raw);
}

static const rung_question show = {"GET", "/v1/boards/{BOARD}/replay", .print = print_replay};

const rung_command rung_command_replay_show = {
    .name = "replay show",
    .summary = "how far a replay is, and how many would move",
    .details = "--json also shows the largest changes in each window.\n",
    RUNG_OPTIONS(replay_args, show_options),
    .question = &show,
};

/* ---- moves ---- */

typedef struct moves_args {
    rung_ask_args ask;
    const char *board, *window, *window_id, *on, *format;
} moves_args;

static const rung_option moves_options[] = {
    RUNG_OPERAND(moves_args, board, "BOARD", "the board"),
    RUNG_OPTION_TEXT(moves_args, format, "--format", "csv|ndjson", "(default csv)"),
    RUNG_OPTION_TEXT(moves_args, window, "--window", "WINDOW",
                     "all, hour, day, week, month, year or a season"),
    RUNG_OPTION_TEXT(moves_args, window_id, "--window-id", "ID",
                     "one window: 2026-W46, 2026-11-15"),
    RUNG_OPTION_TEXT(moves_args, on, "--on", "DATE", "the window that contains this day"),
    RUNG_ASK_OPTIONS,
};

static void print_move(rung_slice move, bool is_csv) {
    static const char *const names[] = {"player", "rank_before", "rank_after", "score_before",
                                        "score_after"};
    char text[1024];
    rung_slice raw;
    if (!is_csv) {
        printf("%.*s\n", (int)move.len, move.ptr);
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (i)
            fputc(',', stdout);
        if (rung_answer_find(move, names[i], &raw) && !rung_slice_eq(raw, RUNG_SLICE("null")))
            rung_csv_print(stdout, rung_slice_str(rung_answer_text(raw, text, sizeof text)));
    }
    fputc('\n', stdout);
}

static int print_page(const rung_command *self, rung_client *client, const moves_args *args,
                      bool is_csv, bool *has_head, int64_t *cursor) {
    static rung_answer_items it;
    rung_path path = {0};
    rung_reply reply;
    rung_slice moves, move;
    rung_ask_path(self, "/v1/boards/{BOARD}/replay/moves?window,window-id,on", args, &path);
    rung_path_query_number(&path, "limit", PAGE);
    rung_path_query_number(&path, "cursor", (uint64_t)*cursor);
    int code = rung_ask_for(self, client, "GET", &path, (rung_slice){0}, &reply);
    if (code)
        return code;
    rung_slice body = rung_reply_body(&reply);
    if (!*has_head)
        puts("player,rank_before,rank_after,score_before,score_after");
    *has_head = true;
    if (rung_answer_find(body, "moves", &moves))
        for (rung_answer_begin(&it, moves); rung_answer_next(&it, &move);)
            print_move(move, is_csv);
    *cursor = rung_answer_number(body, "next", -1);
    return RUNG_EXIT_OK;
}

static int print_moves(const rung_command *self, rung_client *client, void *arguments) {
    const moves_args *args = arguments;
    bool is_csv = !args->format || strcmp(args->format, "csv") == 0;
    int64_t cursor = 0;
    int code = RUNG_EXIT_OK;
    if (!is_csv && strcmp(args->format, "ndjson") != 0)
        return rung_command_refuse(self, RUNG_EXIT_USAGE, "--format: expected csv or ndjson");
    bool has_head = !is_csv; /* after the first page, so that an error stands alone */
    while (code == RUNG_EXIT_OK && cursor >= 0)
        code = print_page(self, client, args, is_csv, &has_head, &cursor);
    if (code == RUNG_EXIT_OK && (fflush(stdout) != 0 || ferror(stdout)))
        return rung_command_refuse(self, RUNG_EXIT_PROBLEM, "cannot write the output");
    return code;
}

const rung_command rung_command_replay_moves = {
    .name = "replay moves",
    .summary = "everybody whose place a replay changes, as CSV or NDJSON",
    .details = "By rank with the replay, then those who are not ranked any more.\n",
    RUNG_OPTIONS(moves_args, moves_options),
    .ask = print_moves,
};

/* ---- swap, undo, drop ---- */

static const rung_option change_options[] = {
    RUNG_OPERAND(replay_args, board, "BOARD", "the board"),
    RUNG_OPTION_TEXT(replay_args, reason, "--reason", "TEXT", "why, for the audit trail"),
    RUNG_ASK_OPTIONS,
};

static const rung_question swap = {"POST", "/v1/boards/{BOARD}/replay/swap?reason",
                                   .print = rung_change_print};
static const rung_question drop = {"DELETE", "/v1/boards/{BOARD}/replay?reason",
                                   .print = rung_change_print};

static int undo(const rung_command *self, rung_client *client, void *args) {
    const replay_args *a = args;
    rung_path path = {0};
    rung_reply reply;
    rung_ask_path(self, "/v1/boards/{BOARD}/replay/swap?reason", args, &path);
    rung_path_query(&path, "undo", "true");
    int code = rung_ask_for(self, client, "POST", &path, (rung_slice){0}, &reply);
    if (code == RUNG_EXIT_OK && a->ask.json)
        rung_reply_print(&reply);
    else if (code == RUNG_EXIT_OK)
        rung_change_print(rung_reply_body(&reply), args);
    return code;
}

const rung_command rung_command_replay_swap = {
    .name = "replay swap",
    .summary = "put a replay in its board's place",
    .details = "The old content goes on in the background until rung replay drop.\n",
    RUNG_OPTIONS(replay_args, change_options),
    .question = &swap,
};

const rung_command rung_command_replay_undo = {
    .name = "replay undo",
    .summary = "give a board back as it was before the swap",
    RUNG_OPTIONS(replay_args, change_options),
    .ask = undo,
};

const rung_command rung_command_replay_drop = {
    .name = "replay drop",
    .summary = "end a replay and forget it",
    .details = "After a swap this forgets the old content: it cannot be undone any more.\n",
    RUNG_OPTIONS(replay_args, change_options),
    .question = &drop,
};
