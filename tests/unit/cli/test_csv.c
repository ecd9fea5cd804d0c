/* SPDX-License-Identifier: Apache-2.0 */
/* CSV: fields, quotes, places, and what is refused. */
#include "cli/csv.h"
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

static rung_csv csv;

static void open_text(const char *text) {
    if (csv.in)
        fclose(csv.in);
    memset(&csv, 0, sizeof csv);
    csv.in = fmemopen((void *)(size_t)text, strlen(text), "r");
    CHECK(csv.in);
}

static void must_be(const char *wanted) { /* fields with | between */
    char seen[1000] = "";
    rung_err err = {0};
    CHECK_MSG(rung_csv_next(&csv, false, &err) == RUNG_OK, "%s", err.message);
    for (uint32_t i = 0; i < csv.count; i++)
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s%.*s", i ? "|" : "",
                 (int)csv.fields[i].len, csv.fields[i].ptr);
    CHECK_EQ_STR(seen, wanted);
}

static void must_end(void) {
    CHECK_STATUS(rung_csv_next(&csv, false, NULL), RUNG_NOT_FOUND);
}

static void must_refuse(const char *text, const char *why) {
    rung_err err = {0};
    open_text(text);
    CHECK_STATUS(rung_csv_next(&csv, false, &err), RUNG_EINVAL);
    CHECK_MSG(strstr(err.message, why), "\"%s\" does not say \"%s\"", err.message, why);
}

TEST(records) {
    open_text("\xef\xbb\xbfplayer,score\r\nada,42\n\n\r\n\"a \"\"b\"\", c\",\"x\ny\"\n,\nlast,");
    must_be("player|score");
    must_be("ada|42");
    CHECK_EQ_U64(csv.line, 2);
    CHECK_EQ_U64(csv.offset, 3 + 14 + 7);
    must_be("a \"b\", c|x\ny");
    CHECK_EQ_U64(csv.line, 5);
    must_be("|");
    CHECK_EQ_U64(csv.line, 7);
    must_be("last|");
    must_end();
    must_end();
    open_text("a\rb,c\"d\n\"\"\n\"\",x");
    must_be("a\rb|c\"d");
    must_be("|x");
    must_end();
}

TEST(refusals) {
    must_refuse("a,\"b", "line 1: the quote does not end");
    must_refuse("\"b\"c", "after a closing quote");
    static char big[RUNG_CSV_RECORD_MAX + 2];
    memset(big, 'x', sizeof big - 1);
    must_refuse(big, "64 KiB");
    memset(big, ',', 70);
    big[70] = '\0';
    must_refuse(big, "64 fields");
}

TEST(lines) {
    open_text("{\"a\":\"x,\"}\r\n\nlast");
    CHECK(rung_csv_next(&csv, true, NULL) == RUNG_OK);
    CHECK(rung_slice_eq(csv.fields[0], RUNG_SLICE("{\"a\":\"x,\"}")));
    CHECK(rung_csv_next(&csv, true, NULL) == RUNG_OK);
    CHECK(rung_slice_eq(csv.fields[0], RUNG_SLICE("last")));
    CHECK_EQ_U64(csv.line, 3);
    CHECK_STATUS(rung_csv_next(&csv, true, NULL), RUNG_NOT_FOUND);
}

TEST(printed_fields_are_read_back) {
    static const char *const texts[] = {"ada", "", "a,b", "a\"b", "a\nb", " x "};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char line[64] = "";
        FILE *f = fmemopen(line, sizeof line, "w");
        fputs("-,", f);
        rung_csv_print(f, rung_slice_str(texts[i]));
        fclose(f);
        open_text(line);
        CHECK(rung_csv_next(&csv, false, NULL) == RUNG_OK);
        CHECK_MSG(rung_slice_eq(csv.fields[1], rung_slice_str(texts[i])), "%s", line);
    }
}

/* As SQL's NULL comes: no bytes, and no place where they would be. */
TEST(nothing_is_printed_as_nothing) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    CHECK(f);
    rung_csv_print(f, (rung_slice){NULL, 0});
    fclose(f);
    CHECK_EQ_U64(size, 0);
    free(text);
}

RUNG_TEST_MAIN
