/* SPDX-License-Identifier: Apache-2.0 */
/* rung clock show, accept. */
#include "cli/ask.h"

static const rung_option clock_options[] = {RUNG_ASK_OPTIONS};

static void print_clock(rung_slice answer, const void *args) {
    static const char *const members[][2] = {
        {"wall clock", "wall"}, {"log time", "log_time"}, {"offset", "offset_ms"}};
    rung_slice raw;
    (void)args;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (rung_answer_find(answer, members[i][1], &raw))
            rung_member_print(members[i][0], raw);
    if (rung_answer_is_true(answer, "held"))
        rung_print_colored(RUNG_COLOR_BAD, "held: the wall clock jumped ahead and is not followed; "
                                           "rung clock accept confirms it\n");
    if (rung_answer_is_true(answer, "log_time_ahead"))
        rung_print_colored(RUNG_COLOR_BAD,
                           "log time is ahead of the wall clock and stands still\n");
}

static void write_accept(rung_json_writer *w, const void *args) {
    (void)args;
    rung_json_write_raw(w, RUNG_SLICE("{\"accept\":true}"));
}

static const rung_question show = {"GET", "/v1/clock", .print = print_clock};
static const rung_question confirm = {"POST", "/v1/clock", write_accept, print_clock};

const rung_command rung_command_clock_show = {
    .name = "clock show",
    .summary = "show a server's time, and whether it follows the wall clock",
    .details = "Needs an admin key if the server has keys.\n",
    RUNG_OPTIONS(rung_ask_args, clock_options),
    .question = &show,
};

const rung_command rung_command_clock_accept = {
    .name = "clock accept",
    .summary = "confirm a wall clock that jumped ahead",
    .details = "A server does not follow a clock that jumps ahead by more than clock.max_jump.\n"
               "This command makes it follow. Windows that are over by then close, and log time\n"
               "never goes back: make sure first that the clock is right.\n",
    RUNG_OPTIONS(rung_ask_args, clock_options),
    .question = &confirm,
};
