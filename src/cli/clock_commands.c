/* SPDX-License-Identifier: Apache-2.0 */
/* rung clock show, accept. */
#include "cli/ask.h"

typedef struct clock_args {
    rung_ask_args ask;
} clock_args;

static const rung_option clock_options[] = {RUNG_ASK_OPTIONS};

static void line(const char *name, rung_slice answer, const char *member) {
    char text[64];
    rung_slice raw;
    if (rung_answer_find(answer, member, &raw))
        printf("%s%-12s%s %s\n", rung_terminal_color(stdout, RUNG_COLOR_DIM), name,
               rung_terminal_color(stdout, RUNG_COLOR_PLAIN),
               rung_answer_text(raw, text, sizeof text));
}

static void print_clock(rung_slice answer) {
    line("wall clock", answer, "wall");
    line("log time", answer, "log_time");
    line("offset", answer, "offset_ms");
    if (rung_answer_is_true(answer, "held"))
        printf("%sheld: the wall clock has jumped ahead and is not followed; "
               "rung clock accept confirms it%s\n",
               rung_terminal_color(stdout, RUNG_COLOR_BAD),
               rung_terminal_color(stdout, RUNG_COLOR_PLAIN));
    if (rung_answer_is_true(answer, "log_time_ahead"))
        printf("%slog time is ahead of the wall clock and stands still%s\n",
               rung_terminal_color(stdout, RUNG_COLOR_BAD),
               rung_terminal_color(stdout, RUNG_COLOR_PLAIN));
}

static int ask_clock(const rung_command *self, int argc, char **argv, const char *method,
                     rung_slice body) {
    clock_args args = {0};
    rung_client *client;
    rung_path path = {0};
    rung_reply reply;
    if (!rung_command_read(self, argc, argv, &args))
        return RUNG_EXIT_USAGE;
    int code = rung_ask_open(self, &args.ask, &client);
    if (code)
        return code;
    rung_path_add(&path, "/v1/clock");
    code = rung_ask_for(self, client, method, &path, body, &reply);
    if (code == RUNG_EXIT_OK && args.ask.json)
        rung_reply_print(&reply);
    else if (code == RUNG_EXIT_OK)
        print_clock(rung_reply_body(&reply));
    rung_client_destroy(client);
    return code;
}

static int run_show(const rung_command *self, int argc, char **argv) {
    return ask_clock(self, argc, argv, "GET", (rung_slice){0});
}

static int run_accept(const rung_command *self, int argc, char **argv) {
    return ask_clock(self, argc, argv, "POST", RUNG_SLICE("{\"accept\":true}"));
}

const rung_command rung_command_clock_show = {
    .group = RUNG_GROUP_SERVER,
    .name = "clock show",
    .summary = "what time a server goes by, and whether it follows the wall clock",
    .details = "Needs an admin's key where there are keys.\n",
    RUNG_OPTIONS(clock_options),
    .run = run_show,
};

const rung_command rung_command_clock_accept = {
    .group = RUNG_GROUP_SERVER,
    .name = "clock accept",
    .summary = "confirm a wall clock that has jumped ahead",
    .details =
        "A server does not follow a clock that jumps ahead by more than clock.max_jump. Where the\n"
        "jump was right, this lets it follow. Windows that are over by then close, and log time\n"
        "never runs back: make sure first that the clock is right.\n",
    RUNG_OPTIONS(clock_options),
    .run = run_accept,
};
