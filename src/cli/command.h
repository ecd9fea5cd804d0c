/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - a command of `rung`: its name, its help, what it takes, what it does.
 *
 * The table of all of them is in command_table.c; help, man page and shell completions are made from it. */
#ifndef RUNG_CLI_COMMAND_H
#define RUNG_CLI_COMMAND_H

#include "base/status.h"
#include "cli/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Exit codes. */
enum {
    RUNG_EXIT_OK = 0,
    RUNG_EXIT_PROBLEM =
        1, /* refused, not found, failed, or found what it was to look for: damage */
    RUNG_EXIT_USAGE = 2,
    RUNG_EXIT_UNREACHED = 3, /* there is no server to ask */
};
#define RUNG_EXIT_CODES_TEXT                                                                       \
    "0 done, 1 refused, not found, failed or damage found, 2 wrong usage, 3 the server cannot be " \
    "reached"

typedef struct rung_command rung_command;
typedef struct rung_question rung_question; /* ask.h */

struct rung_command {
    const char *group;   /* its heading in the overview; commands of one group stand together */
    const char *name;    /* "demo", "log cat" */
    const char *summary; /* one line */
    const char *details; /* paragraphs, with examples; ends with a line break */
    const rung_option *options;
    size_t option_count;
    int (*run)(const rung_command *self, int argc,
               char **argv);       /* the words behind the name; returns the exit code */
    const rung_question *question; /* what a command with rung_question_run() asks a server */
    size_t args_size;              /* of its own struct */
};

#define RUNG_GROUP_SERVER "The server"
#define RUNG_GROUP_ASK    "Boards and players, over HTTP"
#define RUNG_GROUP_MOVE   "Many scores"
#define RUNG_GROUP_FOLDER "Data folders"
#define RUNG_GROUP_HELP   "Help"

#define RUNG_OPTIONS(table) .options = table, .option_count = sizeof(table) / sizeof((table)[0])

/* All of them, in the order of the overview. */
extern const rung_command *const rung_command_table[];
extern const size_t rung_command_count;

extern const rung_command rung_command_serve;
extern const rung_command rung_command_config_check;
extern const rung_command rung_command_config_show;
extern const rung_command rung_command_keys_create;
extern const rung_command rung_command_keys_list;
extern const rung_command rung_command_keys_revoke;
extern const rung_command rung_command_top;
extern const rung_command rung_command_rank;
extern const rung_command rung_command_submit;
extern const rung_command rung_command_watch;
extern const rung_command rung_command_board_list;
extern const rung_command rung_command_board_show;
extern const rung_command rung_command_board_create;
extern const rung_command rung_command_board_delete;
extern const rung_command rung_command_player_show;
extern const rung_command rung_command_player_set;
extern const rung_command rung_command_player_ban;
extern const rung_command rung_command_player_unban;
extern const rung_command rung_command_clock_show;
extern const rung_command rung_command_clock_accept;
extern const rung_command rung_command_player_friends;
extern const rung_command rung_command_import;
extern const rung_command rung_command_export;
extern const rung_command rung_command_completion;
extern const rung_command rung_command_demo;
extern const rung_command rung_command_status;
extern const rung_command rung_command_snapshot;
extern const rung_command rung_command_backup;
extern const rung_command rung_command_restore;
extern const rung_command rung_command_log_verify;
extern const rung_command rung_command_log_cat;
extern const rung_command rung_command_log_repair;

/* Read the words into `args` (zeroed); false when they are not right, which has then been told:
 * return RUNG_EXIT_USAGE. */
bool rung_command_read(const rung_command *self, int argc, char **argv, void *args);

void rung_command_print_usage(const rung_command *self,
                              FILE *out); /* "usage: rung backup DIR TO [--json]" */

/* "rung backup: <what>" on standard error. Returns RUNG_EXIT_PROBLEM. */
int rung_command_fail(const rung_command *self, const rung_err *err);

/* The man page, rung(1), as troff. */
void rung_man_print(FILE *out);
/* A completion script for "bash", "zsh" or "fish"; false: there is none for that shell. */
bool rung_completion_print(const char *shell, FILE *out);

#endif
