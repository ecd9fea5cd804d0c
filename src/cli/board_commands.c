/* SPDX-License-Identifier: Apache-2.0 */
/* rung board list, show, create, delete. */
#include "cli/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- list ---- */

static const rung_option list_options[] = {RUNG_READ_OPTIONS, RUNG_ASK_OPTIONS};

static void add_words(rung_slice raw, char *out, size_t size) {
    rung_answer_items it;
    rung_slice item;
    char text[160];
    size_t len = 0;
    out[0] = '\0';
    for (rung_answer_begin(&it, raw); rung_answer_next(&it, &item) && len < size;) {
        if (item.ptr[0] == '{')
            rung_answer_member(item, "name", text, sizeof text);
        else
            rung_answer_text(item, text, sizeof text);
        len += (size_t)snprintf(out + len, size - len, "%s%s", len ? " " : "", text);
    }
}

static void add_board(rung_table *t, rung_slice board) {
    char text[300], order[32];
    rung_slice raw;
    rung_table_word(t, RUNG_COLOR_BOLD,
                    rung_slice_str(rung_answer_member(board, "id", text, sizeof text)));
    rung_table_word(t, RUNG_COLOR_PLAIN,
                    rung_slice_str(rung_answer_member(board, "title", text, sizeof text)));
    rung_answer_member(board, "score.type", text, sizeof text);
    rung_table_cell(t, RUNG_COLOR_PLAIN, "%s %s", text,
                    rung_answer_member(board, "score.order", order, sizeof order));
    rung_table_cell(t, RUNG_COLOR_PLAIN, "%s",
                    rung_answer_member(board, "update", text, sizeof text));
    text[0] = '\0';
    if (rung_answer_find(board, "windows", &raw))
        add_words(raw, text, sizeof text);
    rung_table_cell(t, RUNG_COLOR_DIM, "%s", text);
}

/* Page by page; with --json each is a line. */
static int add_pages(const rung_command *self, rung_client *client, const rung_ask_args *args,
                     rung_table *t) {
    char cursor[32] = "";
    rung_answer_items it;
    rung_reply reply;
    rung_slice boards, board;
    do {
        rung_path path = {0};
        rung_ask_path(self, "/v1/boards?" RUNG_READ_QUERY, args, &path);
        rung_path_query_number(&path, "limit", 1000);
        rung_path_query(&path, "cursor", *cursor ? cursor : NULL);
        int code = rung_ask_for(self, client, "GET", &path, (rung_slice){0}, &reply);
        if (code)
            return code;
        rung_slice body = rung_reply_body(&reply);
        rung_answer_member(body, "next", cursor, sizeof cursor);
        if (args->json)
            rung_reply_print(&reply);
        else if (rung_answer_find(body, "boards", &boards))
            for (rung_answer_begin(&it, boards); rung_answer_next(&it, &board);)
                add_board(t, board);
    } while (*cursor);
    return RUNG_EXIT_OK;
}

static int list_boards(const rung_command *self, rung_client *client, void *args) {
    static const rung_table_column columns[] = {{"board", false},
                                                {"title", false},
                                                {"score", false},
                                                {"update", false},
                                                {"windows", false}};
    const rung_ask_args *a = args;
    rung_table *t = rung_table_begin(5, columns);
    int code = add_pages(self, client, a, t);
    rung_table_print(t, code || a->json ? NULL : stdout);
    return code;
}

const rung_command rung_command_board_list = {
    .name = "board list",
    .summary = "list all boards",
    RUNG_OPTIONS(rung_ask_args, list_options),
    .ask = list_boards,
};

/* ---- show and delete ---- */

typedef struct board_args {
    rung_ask_args ask;
    const char *board;
    bool yes;
} board_args;

static const rung_option show_options[] = {
    RUNG_OPERAND(board_args, board, "BOARD", "the board"),
    RUNG_READ_OPTIONS,
    RUNG_PAST_OPTION,
    RUNG_ASK_OPTIONS,
};

/* One line per member: simple values as text, others as JSON. */
static void print_members(rung_slice object, const void *args) {
    rung_answer_items it;
    rung_slice raw;
    char text[300];
    (void)args;
    for (rung_answer_begin(&it, object); rung_answer_next(&it, &raw);) {
        rung_print_colored(RUNG_COLOR_DIM, "%-14s ", it.key);
        if (raw.ptr[0] == '{' || raw.ptr[0] == '[')
            printf("%.*s", (int)raw.len, raw.ptr);
        else if (raw.ptr[0] == '"')
            rung_value_print(raw);
        else
            fputs(rung_answer_amount(raw, text, sizeof text), stdout);
        putchar('\n');
    }
}

static const rung_question show = {"GET", "/v1/boards/{BOARD}?" RUNG_PAST_QUERY,
                                   .print = print_members};

const rung_command rung_command_board_show = {
    .name = "board show",
    .summary = "show a board's definition",
    RUNG_OPTIONS(board_args, show_options),
    .question = &show,
};

static const rung_option delete_options[] = {
    RUNG_OPERAND(board_args, board, "BOARD", "the board"),
    RUNG_OPTION_FLAG(board_args, yes, "--yes", "do not ask for confirmation"),
    RUNG_ASK_OPTIONS,
};

/* Ask on a terminal; a script passes --yes. */
static bool is_meant(const board_args *args) {
    char line[16] = "";
    if (args->yes)
        return true;
    if (!isatty(STDIN_FILENO))
        return false;
    fprintf(stderr, "Delete board %s with all its scores? [y/N] ", args->board);
    return fgets(line, sizeof line, stdin) && (line[0] == 'y' || line[0] == 'Y');
}

static void print_deleted(rung_slice answer, const void *args) {
    (void)answer;
    printf("board %s is deleted\n", ((const board_args *)args)->board);
}

static int delete_board(const rung_command *self, rung_client *client, void *args) {
    static const rung_question delete = {"DELETE", "/v1/boards/{BOARD}", .print = print_deleted};
    if (is_meant(args))
        return rung_question_send(self, client, &delete, args);
    return rung_command_refuse(self, RUNG_EXIT_PROBLEM,
                               "nothing was deleted; --yes deletes without asking");
}

const rung_command rung_command_board_delete = {
    .name = "board delete",
    .summary = "delete a board with all its scores",
    .details = "Asks for confirmation on a terminal; elsewhere it needs --yes.\n",
    RUNG_OPTIONS(board_args, delete_options),
    .ask = delete_board,
};

/* ---- create ---- */

typedef struct create_args {
    rung_ask_args ask;
    const char *board, *file, *title, *type, *order, *update, *half_life, *tie, *rank, *windows,
        *timezone, *day_starts, *keep, *scopes, *teams, *decimals, *sketch, *memory, *error;
    uint64_t grace;
    bool change;
    rung_json_writer text; /* of the file */
} create_args;

static const rung_option create_options[] = {
    RUNG_OPERAND(create_args, board, "BOARD", "its id: 1 to 128 bytes"),
    RUNG_OPTION_TEXT(create_args, title, "--title", "TEXT", "shown to people"),
    RUNG_OPTION_TEXT(create_args, type, "--type", RUNG_ALTERNATIVES(RUNG_SCORE_TYPES),
                     "score type (default integer)"),
    RUNG_OPTION_TEXT(create_args, decimals, "--decimals", "N",
                     "decimals of a decimal score, 0 to 9"),
    RUNG_OPTION_TEXT(create_args, order, "--order", RUNG_ALTERNATIVES(RUNG_SCORE_ORDERS),
                     "asc: lower is better (default desc)"),
    RUNG_OPTION_TEXT(create_args, sketch, "--sketch", RUNG_ALTERNATIVES(RUNG_SKETCHES),
                     "a board in fixed memory, with answers of a stated error"),
    RUNG_OPTION_TEXT(create_args, memory, "--memory", "SIZE",
                     "of each ranking of a sketch board: 64KiB to 64MiB (default 1MiB)"),
    RUNG_OPTION_TEXT(create_args, error, "--error", "SHARE",
                     "refuse if that memory cannot guarantee it: 0.001"),
    RUNG_OPTION_TEXT(create_args, update, "--update", RUNG_ALTERNATIVES(RUNG_UPDATES),
                     "how a new score changes the old one (default best)"),
    RUNG_OPTION_TEXT(create_args, half_life, "--half-life", "SECONDS",
                     "half-life of a decay board"),
    RUNG_OPTION_TEXT(create_args, tie, "--tie", RUNG_ALTERNATIVES(RUNG_TIES),
                     "who is ahead on equal scores (default first)"),
    RUNG_OPTION_TEXT(create_args, rank, "--rank", RUNG_ALTERNATIVES(RUNG_RANK_STYLES),
                     "how equal scores are ranked (default sparse)"),
    RUNG_OPTION_TEXT(create_args, windows, "--windows", "LIST",
                     "all,hour,day,week,month,year (default all)"),
    RUNG_OPTION_TEXT(create_args, timezone, "--timezone", "ZONE",
                     "time zone of the windows: Europe/Helsinki (default UTC)"),
    RUNG_OPTION_TEXT(create_args, day_starts, "--day-starts", "HH:MM",
                     "when a day begins (default 00:00)"),
    RUNG_OPTION_NUMBER(create_args, grace, "--grace", "SECONDS",
                       "how long late scores still count"),
    RUNG_OPTION_TEXT(create_args, keep, "--keep", "N",
                     "closed windows kept in memory (default 2); by kind: hour=48,day=30"),
    RUNG_OPTION_TEXT(create_args, scopes, "--scopes", "LIST",
                     "attributes with their own rankings: country,guild"),
    RUNG_OPTION_TEXT(create_args, teams, "--teams", "BY:COMBINE",
                     "guild:sum, guild:mean, guild:top:5"),
    RUNG_OPTION_TEXT(create_args, file, "--file", "FILE",
                     "the whole definition as JSON; - is standard input"),
    RUNG_OPTION_FLAG(create_args, change, "--change", "change an existing board"),
    RUNG_ASK_OPTIONS,
};

static void write_text(rung_json_writer *w, const char *name, const char *text) {
    if (!text)
        return;
    rung_json_write_key(w, rung_slice_str(name));
    rung_json_write_word(w, text);
}

static void write_number(rung_json_writer *w, const char *name, uint64_t value) {
    if (value == 0)
        return;
    rung_json_write_key(w, rung_slice_str(name));
    rung_json_write_uint(w, value);
}

/* A whole number as it is; other text as a string, which the server refuses with the name of the field. */
static void write_digits(rung_json_writer *w, rung_slice text) {
    bool is_number = text.len > 0 && text.len < 10 && (text.ptr[0] != '0' || text.len == 1);
    for (size_t i = 0; i < text.len; i++)
        is_number &= text.ptr[i] >= '0' && text.ptr[i] <= '9';
    if (is_number)
        rung_json_write_raw(w, text);
    else
        rung_json_write_string(w, text);
}

/* 30, or hour=48,day=30. */
static void write_keep(rung_json_writer *w, const char *keep) {
    if (!keep)
        return;
    RUNG_JSON_KEY(w, "keep");
    if (!strchr(keep, '=')) {
        write_digits(w, rung_slice_str(keep));
        return;
    }
    rung_json_open_object(w);
    for (;;) {
        size_t len = strcspn(keep, ","), name = strcspn(keep, "=,");
        size_t at = name < len ? name + 1 : len;
        rung_json_write_key(w, rung_slice_of(keep, name));
        write_digits(w, rung_slice_of(keep + at, len - at));
        if (keep[len] == '\0')
            break;
        keep += len + 1;
    }
    rung_json_close_object(w);
}

static void write_list(rung_json_writer *w, const char *name, const char *list) {
    if (!list)
        return;
    rung_json_write_key(w, rung_slice_str(name));
    rung_json_open_array(w);
    for (;;) {
        size_t len = strcspn(list, ",");
        rung_json_write_string(w, rung_slice_of(list, len));
        if (list[len] == '\0')
            break;
        list += len + 1;
    }
    rung_json_close_array(w);
}

static void write_score_type(rung_json_writer *w, const create_args *a) {
    if (!a->type && !a->order && !a->decimals)
        return;
    RUNG_JSON_OPEN(w, "score", object);
    write_text(w, "type",
               a->type
                   ? a->type
                   : rung_score_type_words[a->decimals ? RUNG_SCORE_DECIMAL : RUNG_SCORE_INTEGER]);
    write_text(w, "order", a->order);
    if (a->decimals)
        RUNG_JSON_MEMBER(w, "decimals", raw, rung_slice_str(a->decimals));
    rung_json_close_object(w);
}

static void write_teams(rung_json_writer *w, const char *teams) {
    if (!teams)
        return;
    size_t len = strcspn(teams, ":");
    RUNG_JSON_OPEN(w, "teams", object);
    RUNG_JSON_MEMBER(w, "by", string, rung_slice_of(teams, len));
    write_text(w, "combine", teams[len] ? teams + len + 1 : rung_combine_words[RUNG_COMBINE_SUM]);
    rung_json_close_object(w);
}

static void write_definition(rung_json_writer *w, const void *args) {
    const create_args *a = args;
    if (a->file) {
        rung_json_append(w, rung_json_written(&a->text));
        return;
    }
    rung_json_open_object(w);
    write_text(w, "title", a->title);
    write_text(w, "kind", a->sketch ? "sketch" : NULL);
    write_text(w, "sketch", a->sketch);
    write_text(w, "memory", a->memory);
    if (a->error)
        RUNG_JSON_MEMBER(w, "error", raw, rung_slice_str(a->error));
    write_score_type(w, a);
    write_text(w, "update", a->update);
    if (a->half_life)
        RUNG_JSON_MEMBER(w, "half_life", raw, rung_slice_str(a->half_life));
    write_text(w, "tie", a->tie);
    write_text(w, "rank", a->rank);
    write_list(w, "windows", a->windows);
    write_text(w, "timezone", a->timezone);
    write_text(w, "day_starts", a->day_starts);
    write_number(w, "grace", a->grace);
    write_keep(w, a->keep);
    write_list(w, "scopes", a->scopes);
    write_teams(w, a->teams);
    rung_json_close_object(w);
}

static rung_status read_definition(rung_json_writer *w, const char *path, rung_err *err) {
    char bytes[4096];
    size_t got;
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!f)
        return RUNG_FAIL_OS(err, RUNG_EIO, errno, "--file: cannot open %.100s: %s", path,
                            strerror(errno));
    while ((got = fread(bytes, 1, sizeof bytes, f)) > 0)
        rung_json_append(w, rung_slice_of(bytes, got));
    if (f != stdin)
        fclose(f);
    return rung_json_failed(w)
               ? RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "--file", "%.100s is too long", path)
               : RUNG_OK;
}

static int check_absent(const rung_command *self, rung_client *client, const create_args *args) {
    rung_reply reply;
    rung_path path = {0};
    if (args->change)
        return RUNG_EXIT_OK;
    rung_ask_path(self, "/v1/boards/{BOARD}", args, &path);
    int code = rung_ask_status(self, client, "GET", &path, &reply);
    if (code || reply.status == 404)
        return code;
    if (reply.status != 200)
        return rung_ask_fail(self, &reply);
    return rung_command_refuse(self, RUNG_EXIT_PROBLEM,
                               "board %s exists already; --change changes it", args->board);
}

/* These go into the definition unquoted. NULL: all are numbers. */
static const char *check_numbers(const create_args *a) {
    uint64_t n;
    char *end;
    if (a->decimals && (!rung_number_parse(a->decimals, &n) || n > 9 || strlen(a->decimals) > 1))
        return "--decimals: expected 0 to 9";
    if (a->half_life && (strspn(a->half_life, "0123456789.") != strlen(a->half_life) ||
                         !(strtod(a->half_life, &end) > 0) || *end))
        return "--half-life: expected seconds, such as 86400";
    if (a->error && (strspn(a->error, "0123456789.") != strlen(a->error) ||
                     !(strtod(a->error, &end) > 0) || *end || a->error[0] == '.'))
        return "--error: expected a share of the total, such as 0.001";
    return NULL;
}

static void print_created(rung_slice answer, const void *args) {
    const create_args *a = args;
    (void)answer;
    printf("board %s %s\n", a->board, a->change ? "changed" : "created");
}

static int create_board(const rung_command *self, rung_client *client, void *args) {
    static const rung_question create = {"PUT", "/v1/boards/{BOARD}", write_definition,
                                         print_created};
    create_args *a = args;
    rung_err err = {0};
    const char *why = check_numbers(a);
    if (why)
        return rung_command_refuse(self, RUNG_EXIT_USAGE, "%s", why);
    a->text = (rung_json_writer){.alloc = rung_alloc_heap(), .limit = 1 << 20};
    int code = RUNG_EXIT_OK;
    if (a->file && read_definition(&a->text, a->file, &err) < 0)
        code = rung_command_fail(self, &err);
    if (code == RUNG_EXIT_OK)
        code = check_absent(self, client, a);
    if (code == RUNG_EXIT_OK)
        code = rung_question_send(self, client, &create, args);
    rung_json_writer_deinit(&a->text);
    return code;
}

const rung_command rung_command_board_create = {
    .name = "board create",
    .summary = "create or change a board",
    .details =
        "docs/boards.md explains what the fields do, docs/http.md lists them all. Fields\n"
        "without an option (seasons, columns, limits) need a JSON definition. A decay board\n"
        "has real scores, order desc, one column, and a half-life of 60 seconds to 36500\n"
        "days.\n"
        "\n"
        "  rung board create race --windows all,week,day --scopes country\n"
        "  rung board create hot --type real --update decay --half-life 86400\n"
        "  rung board create plays --sketch counts --memory 1MiB --windows all,day\n"
        "  rung board create laps --type decimal --decimals 3 --order asc\n"
        "  echo '{\"limits\":{\"max\":100000}}' | rung board create quiz --file -\n",
    RUNG_OPTIONS(create_args, create_options),
    .ask = create_board,
};
