/* SPDX-License-Identifier: Apache-2.0 */
/* The option parser: what it takes, and what it refuses with which words. */
#include "cli/options.h"
#include "support/check.h"

#include <string.h>

typedef struct args {
    const char *from, *to, *board;
    uint64_t seq;
    bool json;
} args;

static const rung_option options[] = {
    RUNG_OPERAND(args, from, "FROM", "where from"),
    RUNG_OPERAND(args, to, "TO", "where to"),
    RUNG_OPTION_TEXT(args, board, "--board", "BOARD", "which board"),
    RUNG_OPTION_NUMBER(args, seq, "--seq", "SEQ", "which record"),
    RUNG_OPTION_FLAG(args, json, "--json", "as JSON"),
};

#define WORDS(...)                                                                                 \
    ((char *[]){__VA_ARGS__}), (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))

static args must_read(char **words, int count) {
    args a = {0};
    rung_err err = {0};
    CHECK_MSG(rung_options_read(options, 5, count, words, &a, &err) == RUNG_OK, "%s", err.message);
    return a;
}

static void must_refuse(char **words, int count, const char *why) {
    args a = {0};
    rung_err err = {0};
    CHECK_STATUS(rung_options_read(options, 5, count, words, &a, &err), RUNG_EINVAL);
    CHECK_MSG(strstr(err.message, why), "\"%s\" does not say \"%s\"", err.message, why);
}

TEST(operands_and_options_in_any_order) {
    char a[] = "a", b[] = "b", json[] = "--json", seq[] = "--seq", five[] = "5",
         board[] = "--board=x=y";
    args r = must_read(WORDS(a, b));
    CHECK_EQ_STR(r.from, "a");
    CHECK_EQ_STR(r.to, "b");
    CHECK(!r.board && !r.json && r.seq == 0);
    r = must_read(WORDS(json, a, seq, five, b, board));
    CHECK(r.json);
    CHECK_EQ_U64(r.seq, 5);
    CHECK_EQ_STR(r.board, "x=y");
    CHECK_EQ_STR(r.to, "b");
}

TEST(two_dashes_end_the_options) {
    char dashes[] = "--", json[] = "--json", one[] = "-", a[] = "a";
    args r = must_read(WORDS(dashes, json, a));
    CHECK_EQ_STR(r.from, "--json");
    CHECK(!r.json);
    r = must_read(WORDS(one, a)); /* a dash alone is a word */
    CHECK_EQ_STR(r.from, "-");
}

TEST(a_value_may_begin_with_a_dash) {
    char a[] = "a", b[] = "b", board[] = "--board", odd[] = "--odd", empty[] = "--board=";
    CHECK_EQ_STR(must_read(WORDS(a, b, board, odd)).board, "--odd");
    CHECK_EQ_STR(must_read(WORDS(a, b, empty)).board, "");
}

TEST(refusals) {
    char a[] = "a", b[] = "b", c[] = "c", json[] = "--json", jsonx[] = "--json=yes",
         seq[] = "--seq", jso[] = "--jso";
    char zero[] = "--seq=0", word[] = "--seq=x", minus[] = "--seq=-1",
         huge[] = "--seq=18446744073709551616", none[] = "--seq=";
    must_refuse(WORDS(a), "TO is missing");
    must_refuse(WORDS(a, b, c), "too many");
    must_refuse(WORDS(a, b, json, json), "twice");
    must_refuse(WORDS(a, b, jsonx), "takes no value");
    must_refuse(WORDS(a, b, seq), "needs a value");
    must_refuse(WORDS(a, b, jso), "no option --jso");
    must_refuse(WORDS(a, b, zero), "whole number");
    must_refuse(WORDS(a, b, word), "whole number");
    must_refuse(WORDS(a, b, minus), "whole number");
    must_refuse(WORDS(a, b, huge), "whole number");
    must_refuse(WORDS(a, b, none), "whole number");
}

typedef struct more_args {
    const char *first, *second;
    rung_words rest;
} more_args;

TEST(operands_that_may_be_left_out_and_many) {
    static const rung_option optional[] = {
        RUNG_OPERAND(more_args, first, "A", "first"),
        RUNG_OPERAND_OPTIONAL(more_args, second, "B", "second"),
    };
    static const rung_option many[] = {
        RUNG_OPERAND(more_args, first, "A", "first"),
        RUNG_OPERAND_MANY(more_args, rest, "C", "the rest"),
    };
    char a[] = "a", minus[] = "-5", c[] = "c", fraction[] = "-.5";
    more_args r = {0};
    rung_err err = {0};
    CHECK(rung_options_read(optional, 2, 1, (char *[]){a}, &r, &err) == RUNG_OK && !r.second);
    CHECK(rung_options_read(optional, 2, 2, (char *[]){a, minus}, &r, &err) == RUNG_OK);
    CHECK_EQ_STR(r.second, "-5"); /* a number, no option */
    CHECK_STATUS(rung_options_read(optional, 2, 3, (char *[]){a, c, c}, &r, &err), RUNG_EINVAL);
    CHECK_STATUS(rung_options_read(many, 2, 1, (char *[]){a}, &r, &err), RUNG_EINVAL);
    CHECK(rung_options_read(many, 2, 3, (char *[]){a, c, fraction}, &r, &err) == RUNG_OK);
    CHECK_EQ_U64(r.rest.count, 2);
    CHECK_EQ_STR(r.rest.word[1], "-.5");
    char *too_many[RUNG_WORDS_MAX + 2];
    for (size_t i = 0; i < RUNG_WORDS_MAX + 2; i++)
        too_many[i] = c;
    r = (more_args){0};
    CHECK_STATUS(rung_options_read(many, 2, RUNG_WORDS_MAX + 2, too_many, &r, &err), RUNG_EINVAL);
}

TEST(numbers) {
    uint64_t n = 7;
    CHECK(rung_number_parse("18446744073709551615", &n));
    CHECK_EQ_U64(n, UINT64_MAX);
    CHECK(rung_number_parse("007", &n) && n == 7);
    CHECK(!rung_number_parse("18446744073709551616", &n));
    CHECK(!rung_number_parse("", &n) && !rung_number_parse("1 ", &n) &&
          !rung_number_parse("+1", &n));
    CHECK_EQ_U64(n, 7);
}

RUNG_TEST_MAIN
