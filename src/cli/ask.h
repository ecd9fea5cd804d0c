/* SPDX-License-Identifier: Apache-2.0 */
/* ask.h - what commands that ask a server have in common: their options, their failures, and how a ranking is asked for
 * and shown. Most of them are one question, and that is data:
 *
 *     static const rung_question rank = {"GET", "/v1/boards/{BOARD}/players/{PLAYER}?around=2", .print = print_it};
 *     const rung_command rung_command_rank = {..., RUNG_OPTIONS(rank_options), RUNG_QUESTION(rank_args, &rank)};
 *
 * One thread. */
#ifndef RUNG_CLI_ASK_H
#define RUNG_CLI_ASK_H

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "codec/json_writer.h"
#include "model/words.h"

#include <stdbool.h>

/* The first member of a command's own struct; its options begin with RUNG_ASK_OPTIONS. */
typedef struct rung_ask_args {
    const char *url, *key_file, *ca_file;
    bool json;
} rung_ask_args;

#define RUNG_ASK_OPTIONS                                                                           \
    RUNG_OPTION_TEXT(rung_ask_args, url, "--url", "URL",                                           \
                     "the server (or RUNG_URL; by default " RUNG_URL_DEFAULT ")"),                 \
        RUNG_OPTION_TEXT(rung_ask_args, key_file, "--key-file", "FILE",                            \
                         "a file that holds the key (or RUNG_KEY, RUNG_KEY_FILE)"),                \
        RUNG_OPTION_TEXT(rung_ask_args, ca_file, "--ca-file", "FILE",                              \
                         "certificates to trust, PEM (or RUNG_CA_FILE)"),                          \
        RUNG_OPTION_FLAG(rung_ask_args, json, "--json", "the server's answer as it is")

/* The members after rung_ask_args of a command that asks for a ranking; its options go on with RUNG_VIEW_OPTIONS. */
typedef struct rung_view_args {
    rung_ask_args ask;
    const char *window, *window_id, *on, *scope, *rank;
} rung_view_args;

#define RUNG_VIEW_OPTIONS                                                                          \
    RUNG_OPTION_TEXT(rung_view_args, window, "--window", "WINDOW",                                 \
                     "all, hour, day, week, month, year or a season"),                             \
        RUNG_OPTION_TEXT(rung_view_args, window_id, "--window-id", "ID",                           \
                         "a certain one: 2026-W46, 2026-11-15"),                                   \
        RUNG_OPTION_TEXT(rung_view_args, on, "--on", "DATE", "the window that holds this day"),    \
        RUNG_OPTION_TEXT(rung_view_args, scope, "--scope", "NAME:VALUE",                           \
                         "a part of the players: country:FI"),                                     \
        RUNG_OPTION_TEXT(rung_view_args, rank, "--rank", RUNG_ALTERNATIVES(RUNG_RANK_STYLES),      \
                         "how equal scores are counted")

#define RUNG_VIEW_QUERY "window,window-id,on,scope,rank"
void rung_view_query(rung_path *path, const rung_view_args *view);

/* Both return an exit code and have told what went wrong unless it is RUNG_EXIT_OK. */
int rung_ask_open(const rung_command *self, const rung_ask_args *args, rung_client **client_out);
int rung_ask_for(const rung_command *self, rung_client *c, const char *method,
                 const rung_path *path, rung_slice body, rung_reply *reply_out);

/* The same, whatever the status of the answer is. */
int rung_ask_status(const rung_command *self, rung_client *c, const char *method,
                    const rung_path *path, rung_reply *reply_out);

/* ---- one question ---- */

struct rung_question {
    const char *method;
    /* {BOARD} and {--board} are the values of that operand and option. Behind the question mark are the options that
     * become the query, with commas between; around=2: that is the value of an option that was not given. */
    const char *path;
    /* Both get the command's own struct, which begins with rung_ask_args. */
    void (*write)(rung_json_writer *body, const void *args); /* NULL: no body */
    void (*print)(rung_slice answer, const void *args);      /* without --json */
};

#define RUNG_QUESTION(type, what)                                                                  \
    .question = (what), .args_size = sizeof(type), .run = rung_question_run

/* All return the exit code. `run` reads the command line and asks the command's question, `ask` asks one with
 * arguments that were read, `send` on a connection that is open. */
int rung_question_run(const rung_command *self, int argc, char **argv);
int rung_question_ask(const rung_command *self, const rung_question *q, const void *args);
int rung_question_send(const rung_command *self, rung_client *c, const rung_question *q,
                       const void *args);

/* Tell what an answer with a status of 400 and more says. Returns RUNG_EXIT_PROBLEM. */
int rung_ask_fail(const rung_command *self, const rung_reply *reply);

static inline rung_slice rung_reply_body(const rung_reply *reply) {
    return rung_slice_of(reply->body, reply->len);
}

/* The answer as it is, with a line break. */
void rung_reply_print(const rung_reply *reply);

/* "race, week 2026-W46, country:FI: 1,234 entries" */
void rung_ranking_print_title(rung_slice answer);

/* A table of entries, gathered from arrays; the player marked is printed bold. */
rung_table *rung_ranking_begin(void);
void rung_ranking_add(rung_table *t, rung_slice entries, const char *marked);
void rung_ranking_add_one(rung_table *t, rung_slice entry, bool is_marked);
void rung_ranking_print(rung_table *t); /* names only where somebody has one; ends the table */
/* The title of an answer, and a table of its entries. */
void rung_ranking_show(rung_slice answer, const char *marked);
/* "changed", or "it was so already". */
void rung_change_print(rung_slice answer, const void *args);
/* A dim name, padded, and a value that a stranger may have written. */
void rung_member_print(const char *name, rung_slice raw);

#endif
