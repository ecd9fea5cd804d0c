/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people, words of strangers, and tables that line up. */
#include "cli/terminal.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

static char text[4096];

static FILE *to_text(void) {
    memset(text, 0, sizeof text);
    FILE *f = fmemopen(text, sizeof text - 1, "w");
    CHECK(f);
    return f;
}

#define CHECK_WORD(print, bytes, wanted)                                                           \
    do {                                                                                           \
        FILE *f = to_text();                                                                       \
        print(f, RUNG_SLICE(bytes));                                                               \
        fclose(f);                                                                                 \
        CHECK_EQ_STR(text, wanted);                                                                \
    } while (0)

TEST(counts_and_sizes) {
    char out[RUNG_COUNT_TEXT_MAX];
    CHECK_EQ_STR(rung_count_text(0, out), "0");
    CHECK_EQ_STR(rung_count_text(999, out), "999");
    CHECK_EQ_STR(rung_count_text(1000, out), "1,000");
    CHECK_EQ_STR(rung_count_text(UINT64_MAX, out), "18,446,744,073,709,551,615");
    CHECK_EQ_STR(rung_size_text(1023, out), "1023 bytes");
    CHECK_EQ_STR(rung_size_text(1536, out), "1.5 KiB");
    CHECK_EQ_STR(rung_size_text((uint64_t)300 << 20, out), "300 MiB");
}

TEST(words_of_strangers) {
    CHECK_WORD(rung_print_word, "ada", "ada");
    CHECK_WORD(rung_print_word, "", "\"\"");
    CHECK_WORD(rung_print_word, "ada b", "\"ada b\"");
    CHECK_WORD(rung_print_word, "\xc3\xa4iti", "\xc3\xa4iti");
    CHECK_WORD(rung_print_word, "a\033[2J", "\"a\\x1b[2J\"");
    CHECK_WORD(rung_print_word, "a\xc2\x9b", "\"a\\xc2\\x9b\""); /* CSI in one character */
    CHECK_WORD(rung_print_word, "\xff\"", "\"\\xff\\\"\"");
    CHECK_WORD(rung_print_word, "\xf0\x9f\x98", "\"\\xf0\\x9f\\x98\""); /* cut off */
    CHECK_WORD(rung_print_word, "a=b", "\"a=b\"");
    CHECK_WORD(rung_print_word, "a\xe2\x80\xae",
               "\"a\\xe2\\x80\\xae\""); /* right to left from here on */
    CHECK_WORD(rung_print_word, "\xd8\x9c", "\"\\xd8\\x9c\"");
    CHECK_WORD(rung_print_word, "a\xe2\x80\x8d", "a\xe2\x80\x8d"); /* joins emoji */
}

TEST(json_strings) {
    CHECK_WORD(rung_print_json, "ada", "\"ada\"");
    CHECK_WORD(rung_print_json, "a\"\\\n\x7f", "\"a\\\"\\\\\\u000a\\u007f\"");
    CHECK_WORD(rung_print_json, "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"");
    CHECK_WORD(rung_print_json, "\xc2\x85x", "\"\\u0085x\"");
    CHECK_WORD(rung_print_json, "a\xe2\x80\xae\xe2\x81\xa6\xd8\x9cz",
               "\"a\\u202e\\u2066\\u061cz\"");
    CHECK_WORD(rung_print_json, "\xff\xc2", "\"\\ufffd\\ufffd\"");
}

TEST(tables_line_up) {
    static const rung_table_column columns[] = {
        {"rank", true}, {"player", false}, {"points", true}};
    FILE *f = to_text();
    rung_table *t = rung_table_begin(3, columns);
    for (int i = 0; i < 2; i++) {
        rung_table_cell(t, RUNG_COLOR_GOOD, "%d", i ? 10000 : 1);
        rung_table_word(t, RUNG_COLOR_PLAIN,
                        i ? RUNG_SLICE("\xc3\xa4iti") : RUNG_SLICE("adalbert"));
        rung_table_cell(t, RUNG_COLOR_PLAIN, "%d", i ? 5 : 123);
        rung_table_mark(t);
    }
    CHECK_EQ_U64(rung_table_print(t, f), 3);
    fclose(f);
    CHECK_EQ_STR(text, "   rank  player    points\n"
                       "      1  adalbert     123\n"
                       "  10000  \xc3\xa4iti           5\n");
}

TEST(points_stand_below_each_other) {
    static const rung_table_column columns[] = {{"score", true}, {"at", false}};
    static const char *const scores[] = {"12.3", "1,010.999", "11", ""};
    FILE *f = to_text();
    rung_table *t = rung_table_begin(2, columns);
    for (int i = 0; i < 4; i++) {
        rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", scores[i]);
        rung_table_cell(t, RUNG_COLOR_PLAIN, "x");
    }
    rung_table_print(t, f);
    fclose(f);
    CHECK_EQ_STR(text, "      score  at\n"
                       "     12.3    x\n"
                       "  1,010.999  x\n"
                       "     11      x\n"
                       "             x\n");
}

TEST(a_column_that_is_empty_is_left_out) {
    static const rung_table_column columns[] = {{"rank", true}, {"name", false}, {"score", true}};
    for (int named = 0; named < 2; named++) {
        FILE *f = to_text();
        rung_table *t = rung_table_begin(3, columns);
        for (int i = 1; i < 3; i++) {
            rung_table_cell(t, RUNG_COLOR_PLAIN, "%d", i);
            rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", named && i == 2 ? "Ada" : "");
            rung_table_cell(t, RUNG_COLOR_PLAIN, "%d", 10 * i);
        }
        rung_table_drop_empty(t, 1);
        CHECK_EQ_U64(rung_table_print(t, f), 3);
        fclose(f);
        CHECK_EQ_STR(text, named ? "  rank  name  score\n"
                                   "     1           10\n"
                                   "     2  Ada      20\n"
                                 : "  rank  score\n"
                                   "     1     10\n"
                                   "     2     20\n");
    }
}

TEST(a_table_without_rows_is_its_head) {
    static const rung_table_column columns[] = {{"player", false}};
    FILE *f = to_text();
    CHECK_EQ_U64(rung_table_print(rung_table_begin(1, columns), f), 1);
    fclose(f);
    CHECK_EQ_STR(text, "  player\n");
}

RUNG_TEST_MAIN
