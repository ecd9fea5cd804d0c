/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - a command of `rung`: its name, its help, what it takes, what it does.
 *
 * The table of all of them is in main.c; everything `rung help` prints comes from it. */
#ifndef RUNG_APP_COMMAND_H
#define RUNG_APP_COMMAND_H

#include "app/options.h"
#include "base/status.h"

#include <stddef.h>

/* Exit codes. */
enum {
    RUNG_EXIT_OK = 0,
    RUNG_EXIT_PROBLEM = 1, /* it failed, or found what it was to look for: damage */
    RUNG_EXIT_USAGE = 2,
};

typedef struct rung_command rung_command;

struct rung_command {
    const char *name;    /* "demo", "log cat" */
    const char *summary; /* one line */
    const char *details; /* paragraphs, with examples; ends with a line break */
    const rung_option *options;
    size_t option_count;
    int (*run)(const rung_command *self, int argc,
               char **argv); /* the words behind the name; returns the exit code */
};

#define RUNG_OPTIONS(table) .options = table, .option_count = sizeof(table) / sizeof((table)[0])

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

#endif
