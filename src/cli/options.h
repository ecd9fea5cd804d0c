/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the options of a command: one table to parse them and to print the help.
 *
 *     typedef struct cat_args { const char *folder; uint64_t from; bool json; } cat_args;
 *     static const rung_option cat_options[] = {
 *         RUNG_OPERAND(cat_args, folder, "DIR", "the data folder"),
 *         RUNG_OPTION_NUMBER(cat_args, from, "--from", "SEQ", "begin with this record"),
 *         RUNG_OPTION_FLAG(cat_args, json, "--json", "one JSON object per line"),
 *     };
 *
 * Strict: unknown and repeated options, missing or wrong values, too many or too few operands are errors. `--name
 * value` and `--name=value` are the same; -5 is a number, not an option; after `--` everything is an operand. */
#ifndef RUNG_CLI_OPTIONS_H
#define RUNG_CLI_OPTIONS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum rung_option_kind {
    RUNG_OPTION_IS_OPERAND,  /* const char *; required, in the order of the table */
    RUNG_OPTION_IS_OPTIONAL, /* const char *; an operand after the required ones */
    RUNG_OPTION_IS_MANY,     /* rung_words; all remaining operands, at least one */
    RUNG_OPTION_IS_TEXT,     /* const char *; NULL when not given */
    RUNG_OPTION_IS_NUMBER,   /* uint64_t from 1 on; 0 when not given */
    RUNG_OPTION_IS_FLAG,     /* bool */
} rung_option_kind;

enum { RUNG_WORDS_MAX = 64 };

typedef struct rung_words {
    size_t count;
    const char *word[RUNG_WORDS_MAX]; /* borrowed from argv */
} rung_words;

typedef struct rung_option {
    rung_option_kind kind;
    const char *name;  /* "--from"; of an operand, the word in the usage line */
    const char *value; /* the word for its value, or "a|b|c"; NULL for operands and flags */
    const char *help;
    size_t offset; /* of the field in the command's struct */
} rung_option;

#define RUNG_OPERAND(type, field, word, text)                                                      \
    { RUNG_OPTION_IS_OPERAND, word, NULL, text, offsetof(type, field) }
#define RUNG_OPERAND_OPTIONAL(type, field, word, text)                                             \
    { RUNG_OPTION_IS_OPTIONAL, word, NULL, text, offsetof(type, field) }
#define RUNG_OPERAND_MANY(type, field, word, text)                                                 \
    { RUNG_OPTION_IS_MANY, word, NULL, text, offsetof(type, field) }
#define RUNG_OPTION_TEXT(type, field, name, word, text)                                            \
    { RUNG_OPTION_IS_TEXT, name, word, text, offsetof(type, field) }
#define RUNG_OPTION_NUMBER(type, field, name, word, text)                                          \
    { RUNG_OPTION_IS_NUMBER, name, word, text, offsetof(type, field) }
#define RUNG_OPTION_FLAG(type, field, name, text)                                                  \
    { RUNG_OPTION_IS_FLAG, name, NULL, text, offsetof(type, field) }

/* Read `argc` words into the zeroed struct `into`. Texts borrow from argv. RUNG_OK, or RUNG_EINVAL. */
RUNG_NODISCARD rung_status rung_options_read(const rung_option *options, size_t count, int argc,
                                             char **argv, void *into, rung_err *err);

bool rung_option_is_operand(const rung_option *o);

/* " DIR [--from SEQ] [--json]", or " DIR [OPTION ...]" if there are many. */
void rung_options_print_usage(const rung_option *options, size_t count, FILE *out);
/* One line each. */
void rung_options_print_help(const rung_option *options, size_t count, FILE *out);

/* A whole number: digits only. false: anything else, or too large. */
bool rung_number_parse(const char *text, uint64_t *number_out);

#endif
