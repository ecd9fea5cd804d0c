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
    const char *group;   /* its heading in the overview; commands of one group are adjacent */
    const char *name;    /* "demo", "log cat" */
    const char *summary; /* one line */
    const char *details; /* paragraphs and examples; ends with a newline */
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

/* Every command, in the order of the overview: X(serve) is rung_command_serve. */
#define RUNG_COMMANDS(X)                                                                           \
    X(serve)                                                                                       \
    X(config_check)                                                                                \
    X(config_show) X(keys_create) X(keys_list) X(keys_revoke) X(clock_show) X(clock_accept)        \
        X(demo) X(top) X(rank) X(submit) X(watch) X(board_list) X(board_show) X(board_create)      \
            X(board_delete) X(player_show) X(player_set) X(player_ban) X(player_unban)             \
                X(player_friends) X(import) X(export) X(status) X(snapshot) X(backup) X(restore)   \
                    X(log_cat) X(log_verify) X(log_repair) X(completion)

#define RUNG_DECLARE_COMMAND(id) extern const rung_command rung_command_##id;
RUNG_COMMANDS(RUNG_DECLARE_COMMAND)
extern const rung_command *const rung_command_table[];
extern const size_t rung_command_count;

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
/* A completion script for "bash", "zsh" or "fish"; false: no such shell. */
bool rung_completion_print(const char *shell, FILE *out);

#endif
