/* SPDX-License-Identifier: Apache-2.0 */
/* rung watch: the top of a board as it changes.
 *
 * Whenever the live stream reports a change, or every half second without a stream, it asks for the whole list again.
 * So it always shows one consistent answer. */
#include "cli/ask.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { ROWS_MAX = 100, NAME_SIZE = 160, POLL_MS = 500, FRAME_MS = 100 };

typedef struct watch_args {
    rung_view_args view;
    const char *board;
    uint64_t limit, seconds;
} watch_args;

static const rung_option watch_options[] = {
    RUNG_OPERAND(watch_args, board, "BOARD", "the board"),
    RUNG_OPTION_NUMBER(watch_args, limit, "--limit", "N", "how many (default 10, at most 100)"),
    RUNG_OPTION_NUMBER(watch_args, seconds, "--seconds", "N",
                       "stop after this many seconds (default: Ctrl-C)"),
    RUNG_VIEW_OPTIONS,
    RUNG_ASK_OPTIONS,
};

typedef struct watching {
    const rung_command *self;
    const watch_args *args;
    rung_client *client, *stream;
    int64_t end_ms; /* 0: none */
    int64_t shown_ms;
    int64_t seq;    /* of what is shown; -1: nothing yet */
    size_t lines;   /* of the frame on the screen */
    uint32_t count; /* who stood where in it */
    char names[ROWS_MAX][NAME_SIZE];
    int code;
} watching;

static bool is_over(const watching *w) {
    return rung_is_interrupted() || (w->end_ms && rung_elapsed_ms() >= w->end_ms);
}

/* ---- a frame ---- */

static void add_movement(rung_table *t, const watching *w, const char *name, uint32_t place) {
    bool is_unicode = rung_terminal_has_unicode();
    const char *up = is_unicode ? "▲" : "+", *down = is_unicode ? "▼" : "-";
    uint32_t was = 0;
    while (was < w->count && strcmp(w->names[was], name) != 0)
        was++;
    if (w->seq < 0 || (was < w->count && was == place))
        rung_table_cell(t, RUNG_COLOR_DIM, "%s", is_unicode ? "·" : ".");
    else if (was == w->count)
        rung_table_cell(t, RUNG_COLOR_GOOD, "%s new", up);
    else if (was > place)
        rung_table_cell(t, RUNG_COLOR_GOOD, "%s %u", up, was - place);
    else
        rung_table_cell(t, RUNG_COLOR_BAD, "%s %u", down, place - was);
}

static void add_row(rung_table *t, const watching *w, rung_slice entry, const char *name,
                    uint32_t place) {
    char text[96];
    rung_slice raw;
    rung_answer_find(entry, "rank", &raw);
    rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", rung_answer_amount(raw, text, sizeof text));
    add_movement(t, w, name, place);
    rung_table_word(t, place == 0 ? RUNG_COLOR_BOLD : RUNG_COLOR_PLAIN, rung_slice_str(name));
    rung_answer_find(entry, "score", &raw);
    rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", rung_answer_amount(raw, text, sizeof text));
}

static void draw(watching *w, rung_slice answer) {
    static const rung_table_column columns[] = {
        {"rank", true}, {"", false}, {"player", false}, {"score", true}};
    static char names[ROWS_MAX][NAME_SIZE];
    static rung_answer_items it;
    rung_slice entries, entry;
    uint32_t count = 0;
    rung_table *t = rung_table_begin(4, columns);
    if (rung_answer_find(answer, "entries", &entries))
        for (rung_answer_begin(&it, entries); rung_answer_next(&it, &entry) && count < ROWS_MAX;
             count++) {
            rung_answer_member(entry, "player", names[count], NAME_SIZE);
            add_row(t, w, entry, names[count], count);
        }
    if (w->lines && isatty(STDOUT_FILENO))
        printf("\033[%zuA\033[J", w->lines);
    rung_ranking_print_title(answer);
    w->lines = 1 + rung_table_print(t, stdout);
    memcpy(w->names, names, sizeof names);
    w->count = count;
}

/* Ask, and show the answer if it is new. false: failed. */
static bool look(watching *w) {
    rung_path path = {0};
    rung_reply reply;
    rung_ask_path(w->self, "/v1/boards/{BOARD}/top?limit," RUNG_VIEW_QUERY, w->args, &path);
    w->code = rung_ask_for(w->self, w->client, "GET", &path, (rung_slice){0}, &reply);
    if (w->code)
        return false;
    rung_slice body = rung_reply_body(&reply);
    int64_t seq = rung_answer_number(body, "seq", 0);
    if (seq != w->seq) {
        if (w->args->view.ask.json)
            rung_reply_print(&reply);
        else
            draw(w, body);
        w->seq = seq;
    }
    fflush(stdout);
    w->shown_ms = rung_elapsed_ms();
    return true;
}

/* ---- following ---- */

/* Something happened, or time passed. */
static bool on_stream(void *ctx, rung_slice bytes) {
    watching *w = ctx;
    if (is_over(w))
        return false;
    bool is_due = rung_elapsed_ms() - w->shown_ms >= (bytes.len ? FRAME_MS : POLL_MS);
    return !is_due || look(w);
}

static void poll_forever(watching *w) {
    while (!is_over(w)) {
        rung_pause_ms(POLL_MS);
        if (!is_over(w) && !look(w))
            return;
    }
}

static void follow(watching *w) {
    rung_path path = {0};
    rung_err err = {0};
    rung_ask_path(w->self, "/v1/boards/{BOARD}/live?limit," RUNG_VIEW_QUERY, w->args, &path);
    if (!look(w))
        return;
    rung_status st = rung_client_follow(w->stream, &path, on_stream, w, &err);
    if (st != RUNG_OK && w->code == RUNG_EXIT_OK)
        poll_forever(w); /* no stream, or it broke; a dead server shows itself here */
}

/* A frame that is drawn over the one before must fit on the screen. */
static uint64_t fitting(uint64_t limit) {
    enum { AROUND = 4 }; /* title, head, and a little room */
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row <= AROUND)
        return limit;
    uint64_t rows = (uint64_t)size.ws_row - AROUND;
    return limit < rows ? limit : rows;
}

static int watch(const rung_command *self, rung_client *client, void *arguments) {
    static watching w;
    watch_args *args = arguments;
    if (args->limit > ROWS_MAX)
        return rung_command_refuse(self, RUNG_EXIT_USAGE, "--limit: at most %d", ROWS_MAX);
    args->limit = fitting(args->limit ? args->limit : 10);
    w = (watching){.self = self, .args = args, .client = client, .seq = -1};
    w.end_ms = args->seconds ? rung_elapsed_ms() + (int64_t)args->seconds * 1000 : 0;
    int code = rung_ask_open(self, &args->view.ask, &w.stream);
    if (code)
        return code;
    rung_interrupt_catch();
    follow(&w);
    rung_client_destroy(w.stream);
    return w.code;
}

const rung_command rung_command_watch = {
    .name = "watch",
    .summary = "show the top of a board, live",
    .details = "Arrows show who moved since the last update. With --json each answer is a line.\n"
               "\n"
               "  rung watch arena --window day\n",
    RUNG_OPTIONS(watch_args, watch_options),
    .ask = watch,
};
