/* SPDX-License-Identifier: Apache-2.0 */
#include "front/resp/arguments.h"
#include "support/check.h"

#include <math.h>

TEST(patterns) {
    static const struct {
        const char *pattern, *text;
        bool is_match;
    } cases[] = {
        {"*", "", true},          {"", "", true},
        {"", "a", false},         {"a", "a", true},
        {"a", "A", false},        {"?", "a", true},
        {"?", "", false},         {"a*c", "abbbc", true},
        {"a*c", "ac", true},      {"a*c", "acb", false},
        {"*a*b*", "xaxbx", true}, {"*a*b*", "xbxax", false},
        {"[abc]", "b", true},     {"[abc]", "d", false},
        {"[a-c]x", "bx", true},   {"[c-a]x", "bx", true},
        {"[^a]", "b", true},      {"[^a]", "a", false},
        {"[\\]]", "]", true},     {"\\*", "*", true},
        {"\\*", "x", false},      {"h[ae]llo", "hallo", true},
        {"h\\", "h\\", true},     {"[a", "a", true},
        {"**", "abc", true},      {"a**b", "ab", true},
        {"*?", "", false},        {"*?", "x", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_MSG(rung__resp_glob(rung_slice_str(cases[i].pattern), rung_slice_str(cases[i].text),
                                  NULL) == cases[i].is_match,
                  "%s and %s", cases[i].pattern, cases[i].text);
}

/* A pattern of stars must not take for ever. */
TEST(a_bad_pattern_is_quick) {
    static char pattern[257], text[4001];
    for (int i = 0; i < 256; i += 2) {
        pattern[i] = '*';
        pattern[i + 1] = 'a';
    }
    memset(text, 'a', 4000);
    text[3999] = 'b';
    CHECK(!rung__resp_glob(rung_slice_str(pattern), rung_slice_str(text), NULL));
}

TEST(doubles) {
    static const struct {
        const char *text;
        bool is_good;
        double value;
    } cases[] = {
        {"1", true, 1},
        {"-1.5", true, -1.5},
        {"+2", true, 2},
        {".5", true, 0.5},
        {"5.", true, 5},
        {"1e3", true, 1000},
        {"inf", true, HUGE_VAL},
        {"-INF", true, -HUGE_VAL},
        {"+infinity", true, HUGE_VAL},
        {"1e-400", false, 0},
        {"1e400", false, 0},
        {"0e-400", true, 0},
        {"nan", false, 0},
        {"", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1x", false, 0},
        {"--1", false, 0},
        {"e5", false, 0},
        {"5e-324", true, 5e-324},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = 0;
        CHECK_MSG(rung__resp_parse_double(rung_slice_str(cases[i].text), &value) ==
                      cases[i].is_good,
                  "%s", cases[i].text);
        CHECK_EQ_F64(value, cases[i].value);
    }
}

TEST(words) {
    CHECK(rung__resp_is_word(RUNG_SLICE("WithScores"), "withscores"));
    CHECK(!rung__resp_is_word(RUNG_SLICE("withscore"), "withscores"));
    CHECK(!rung__resp_is_word(RUNG_SLICE("withscoress"), "withscores"));
    CHECK(!rung__resp_is_word(rung_slice_of("no\0", 3), "no"));
    CHECK(rung__resp_is_word(RUNG_SLICE("HoSt:"), "host:"));
    CHECK(!rung__resp_is_word(RUNG_SLICE("host\x1a"), "host:"));
    CHECK(!rung__resp_is_word(RUNG_SLICE(""), "at"));
    CHECK(rung__resp_is_like_number(RUNG_SLICE("-1")) &&
          rung__resp_is_like_number(RUNG_SLICE(".5")));
    CHECK(!rung__resp_is_like_number(RUNG_SLICE("Inf")) &&
          !rung__resp_is_like_number(RUNG_SLICE("")));
}

RUNG_TEST_MAIN
