/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - a command of `rung`: its name, its help, its options, its function.
 *
 * Help, man page and shell completions are generated from the table of all commands. */
#ifndef RUNG_CLI_COMMAND_H
#define RUNG_CLI_COMMAND_H

#include "base/status.h"
#include "cli/client.h"
#include "cli/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Exit codes. */
enum {
    RUNG_EXIT_OK = 0,
    RUNG_EXIT_PROBLEM = 1, /* refused, not found, failed, or damage found */
    RUNG_EXIT_USAGE = 2,
    RUNG_EXIT_UNREACHED = 3, /* the server does not answer */
};
#define RUNG_EXIT_CODES_TEXT                                                                       \
    "0 done, 1 refused, not found, failed or damage found, 2 wrong usage, 3 the server cannot be " \
    "reached"

typedef struct rung_command rung_command;
typedef struct rung_question rung_question; /* ask.h */

struct rung_command {
    const char *name;    /* "demo", "log cat" */
    const char *summary; /* one line */
    const char *details; /* paragraphs and examples, ends with a newline; may be NULL */
    const rung_option *options;
    size_t option_count;
    size_t args_size; /* of the struct that the options are read into */
    /* One of these. All get that struct and return the exit code. */
    int (*run)(const rung_command *self, void *args);
    int (*ask)(const rung_command *self, rung_client *client, void *args); /* with a server */
    const rung_question *question; /* one request to a server */
};

#define RUNG_GROUP_SERVER "The server"
#define RUNG_GROUP_ASK    "Boards and players, over HTTP"
#define RUNG_GROUP_MOVE   "Many scores"
#define RUNG_GROUP_FOLDER "Data folders"
#define RUNG_GROUP_HELP   "Help"

#define RUNG_OPTIONS(type, table)                                                                  \
    .options = table, .option_count = sizeof(table) / sizeof((table)[0]), .args_size = sizeof(type)

/* clang-format off */
/* Every command, in the order of the overview: X(SERVER, serve) is rung_command_serve. */
#define RUNG_COMMANDS(X)                                                                           \
    X(SERVER, serve) X(SERVER, config_check) X(SERVER, config_show)                                \
    X(SERVER, keys_create) X(SERVER, keys_list) X(SERVER, keys_revoke)                             \
    X(SERVER, clock_show) X(SERVER, clock_accept) X(SERVER, audit) X(SERVER, size)                 \
    X(SERVER, demo)                                                                                \
    X(ASK, top) X(ASK, rank) X(ASK, movers) X(ASK, submit) X(ASK, match) X(ASK, watch)             \
    X(ASK, board_list) X(ASK, board_show) X(ASK, board_create) X(ASK, board_delete)                \
    X(ASK, replay_begin) X(ASK, replay_show) X(ASK, replay_moves) X(ASK, replay_swap)              \
    X(ASK, replay_undo) X(ASK, replay_drop)                                                        \
    X(ASK, player_show) X(ASK, player_set) X(ASK, player_ban) X(ASK, player_unban)                 \
    X(ASK, player_friends) X(ASK, player_history) X(ASK, reviews) X(ASK, review)                   \
    X(MOVE, import) X(MOVE, export)                                                                \
    X(FOLDER, status) X(FOLDER, snapshot) X(FOLDER, backup) X(FOLDER, restore) X(FOLDER, join)     \
    X(FOLDER, log_cat) X(FOLDER, log_verify) X(FOLDER, log_repair) X(FOLDER, reconcile)            \
    X(FOLDER, log_copy) X(FOLDER, log_skip) X(FOLDER, sql)                                         \
    X(HELP, completion)
/* clang-format on */

#define RUNG_DECLARE_COMMAND(group, id) extern const rung_command rung_command_##id;
RUNG_COMMANDS(RUNG_DECLARE_COMMAND)

typedef struct rung_command_row {
    const char *group; /* a heading */
    const rung_command *command;
} rung_command_row;
extern const rung_command_row rung_command_table[];
extern const size_t rung_command_count;

/* The command whose name the words begin with, and how many of them. NULL: none. */
const rung_command *rung_command_find(size_t count, const char *const *words, size_t *used_out);
/* Is it one of the commands with this first word, as "log cat" of "log"? */
bool rung_command_is_of(const rung_command *c, const char *family);

/* Read the words after the command's name and run it. Returns the exit code. */
int rung_command_run(const rung_command *self, int argc, char **argv);

void rung_command_print_usage(const rung_command *self,
                              FILE *out); /* "usage: rung backup DIR TO [--json]" */

/* Print "rung backup: ..." to standard error. Returns `code`. */
int rung_command_refuse(const rung_command *self, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with the message of `err`. Returns RUNG_EXIT_PROBLEM. */
int rung_command_fail(const rung_command *self, const rung_err *err);

/* The man page, rung(1), as troff. */
void rung_man_print(FILE *out);

#endif
