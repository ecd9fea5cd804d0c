/* SPDX-License-Identifier: Apache-2.0 */
/* ask.h - what commands that ask a server have in common: options, errors, rankings. Most of them are one request,
 * described as data:
 *
 *     static const rung_question rank = {"GET", "/v1/boards/{BOARD}/players/{PLAYER}?around=2", .print = print_it};
 *     const rung_command rung_command_rank = {..., RUNG_OPTIONS(rank_args, rank_options), .question = &rank};
 *
 * Functions that return an int return an exit code. If it is not RUNG_EXIT_OK, they have printed why. One thread. */
#ifndef RUNG_CLI_ASK_H
#define RUNG_CLI_ASK_H

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "codec/json_writer.h"
#include "model/words.h"

#include <stdbool.h>

/* The first member of the struct of such a command. Its options include RUNG_ASK_OPTIONS. */
typedef struct rung_ask_args {
    const char *url, *key_file, *ca_file;
    bool json;
    /* Of RUNG_READ_OPTIONS. */
    bool latest;
    uint64_t min_seq;
    const char *as_of; /* of RUNG_PAST_OPTION */
} rung_ask_args;

#define RUNG_ASK_OPTIONS                                                                           \
    RUNG_OPTION_TEXT(rung_ask_args, url, "--url", "URL",                                           \
                     "the server (or RUNG_URL; default " RUNG_URL_DEFAULT ")"),                    \
        RUNG_OPTION_TEXT(rung_ask_args, key_file, "--key-file", "FILE",                            \
                         "file with the key (or RUNG_KEY, RUNG_KEY_FILE)"),                        \
        RUNG_OPTION_TEXT(rung_ask_args, ca_file, "--ca-file", "FILE",                              \
                         "certificates to trust, PEM (or RUNG_CA_FILE)"),                          \
        RUNG_OPTION_FLAG(rung_ask_args, json, "--json", "print the server's answer unchanged")

/* Of a command that reads, and where its path has RUNG_READ_QUERY. */
#define RUNG_READ_OPTIONS                                                                          \
    RUNG_OPTION_NUMBER(rung_ask_args, min_seq, "--min-seq", "SEQ",                                 \
                       "wait until the server has applied this record"),                           \
        RUNG_OPTION_FLAG(rung_ask_args, latest, "--latest",                                        \
                         "wait for everything that any server has acknowledged")
#define RUNG_READ_QUERY "min-seq,latest"

/* Of a command whose answer can be that of the past, and whose path has RUNG_PAST_QUERY. */
#define RUNG_PAST_OPTION                                                                           \
    RUNG_OPTION_TEXT(rung_ask_args, as_of, "--as-of", "TIME|SEQ",                                  \
                     "as it was then: 2026-11-15T14:00:00Z, or the number of a record")
#define RUNG_PAST_QUERY RUNG_READ_QUERY ",as-of"

/* The same for a command that asks for a ranking. Its options also include RUNG_VIEW_OPTIONS. */
typedef struct rung_view_args {
    rung_ask_args ask;
    const char *window, *window_id, *on, *scope, *rank;
} rung_view_args;

#define RUNG_VIEW_OPTIONS                                                                          \
    RUNG_OPTION_TEXT(rung_view_args, window, "--window", "WINDOW",                                 \
                     "all, hour, day, week, month, year or a season"),                             \
        RUNG_OPTION_TEXT(rung_view_args, window_id, "--window-id", "ID",                           \
                         "one window: 2026-W46, 2026-11-15"),                                      \
        RUNG_OPTION_TEXT(rung_view_args, on, "--on", "DATE", "the window that contains this day"), \
        RUNG_OPTION_TEXT(rung_view_args, scope, "--scope", "NAME:VALUE",                           \
                         "only some players: country:FI"),                                         \
        RUNG_OPTION_TEXT(rung_view_args, rank, "--rank", RUNG_ALTERNATIVES(RUNG_RANK_STYLES),      \
                         "how equal scores are ranked")

#define RUNG_VIEW_QUERY "window,window-id,on,scope,rank"

int rung_ask_open(const rung_command *self, const rung_ask_args *args, rung_client **client_out);
/* Open a connection and run a command that has `ask` or `question`. */
int rung_ask_run(const rung_command *self, void *args);

/* Send a request. rung_ask_for() fails unless the status is below 300; rung_ask_status() accepts any. */
int rung_ask_for(const rung_command *self, rung_client *c, const char *method,
                 const rung_path *path, rung_slice body, rung_reply *reply_out);
int rung_ask_status(const rung_command *self, rung_client *c, const char *method,
                    const rung_path *path, rung_reply *reply_out);
/* Send submissions, one JSON object per line. Accepts any status. */
int rung_ask_submit(const rung_command *self, rung_client *c, rung_slice lines,
                    rung_reply *reply_out);
/* Print the error of a reply. Returns RUNG_EXIT_PROBLEM. */
int rung_ask_fail(const rung_command *self, const rung_reply *reply);

/* Print the status of a server, from /readyz and /metrics, unless `is_quiet`, and of its `peers` (URL,URL; may be
 * NULL). RUNG_EXIT_PROBLEM: one of them is not ready, or two have different states at the same sequence. */
int rung_server_status(const rung_command *self, const rung_ask_args *args, const char *peers,
                       bool is_quiet);

/* ---- one request as data ---- */

struct rung_question {
    const char *method;
    const char *path; /* as in rung_ask_path() */
    /* Both get the command's struct. */
    void (*write)(rung_json_writer *body, const void *args); /* NULL: no body */
    void (*print)(rung_slice answer, const void *args);      /* without --json */
};

/* Append a path. {BOARD} and {--board} are the values of that operand and option. After the question mark come the
 * options that form the query, separated by commas; in around=2, 2 is the value if the option was not given. */
void rung_ask_path(const rung_command *self, const char *pattern, const void *args,
                   rung_path *path);
int rung_question_send(const rung_command *self, rung_client *c, const rung_question *q,
                       const void *args);

/* ---- bodies and answers ---- */

/* A JSON number as it is, any other text as a string: the server then says what it expected. */
void rung_value_write(rung_json_writer *w, rung_slice text);

static inline rung_slice rung_reply_body(const rung_reply *reply) {
    return rung_slice_of(reply->body, reply->len);
}

/* The answer unchanged, with a newline. */
void rung_reply_print(const rung_reply *reply);

/* "race, week 2026-W46, country:FI: 1,234 entries" */
void rung_ranking_print_title(rung_slice answer);
/* The title, and a table of the entries; the player `marked` (may be NULL) is bold. */
void rung_ranking_print(rung_slice answer, const char *marked);
/* "changed" or "unchanged". */
void rung_change_print(rung_slice answer, const void *args);
/* A value that a stranger may have written. */
void rung_value_print(rung_slice raw);
/* A dim name, padded, and a value. */
void rung_member_print(const char *name, rung_slice raw);

#endif
