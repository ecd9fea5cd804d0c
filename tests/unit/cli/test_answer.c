/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in a server's answers; paths of questions. */
#include "cli/answer.h"
#include "cli/client.h"
#include "support/check.h"

#include <string.h>

static char text[] = "{\"a\":{\"b\":[1,{\"c\":\"x\\u00e4\\n\"}]},\"n\":-1234567.5,\"t\":true,\"z\":"
                     "null,\"e\":\"\",\"k\":42}";
static const char untouched[] =
    "{\"a\":{\"b\":[1,{\"c\":\"x\\u00e4\\n\"}]},\"n\":-1234567.5,\"t\":true,\"z\":null,"
    "\"e\":\"\",\"k\":42}";

static rung_slice all(void) {
    return rung_slice_str(text);
}

TEST(members_by_path) {
    rung_slice raw;
    CHECK(rung_answer_find(all(), "a.b", &raw));
    CHECK(raw.len > 0 && raw.ptr[0] == '[');
    CHECK(!rung_answer_find(all(), "a.x", &raw) && raw.len == 0);
    CHECK(!rung_answer_find(all(), "n.x", &raw));
    CHECK(!rung_answer_find(all(), "z", &raw)); /* null is none */
    CHECK(!rung_answer_find(RUNG_SLICE("no JSON"), "a", &raw));
    CHECK(!rung_answer_find(RUNG_SLICE("{\"a\":"), "a", &raw));
    CHECK(!rung_answer_find((rung_slice){0}, "a", &raw));
    CHECK_EQ_I64(rung_answer_number(all(), "k", 7), 42);
    CHECK_EQ_I64(rung_answer_number(all(), "n", 7), 7); /* not whole */
    CHECK_EQ_I64(rung_answer_number(all(), "x", 7), 7);
    CHECK(rung_answer_is_true(all(), "t") && !rung_answer_is_true(all(), "k"));
}

TEST(texts_and_amounts) {
    char out[64];
    rung_slice raw, item;
    rung_answer_items it;
    CHECK(rung_answer_find(all(), "a.b", &raw));
    rung_answer_begin(&it, raw);
    CHECK(rung_answer_next(&it, &item) && rung_answer_next(&it, &item));
    CHECK_EQ_STR(rung_answer_member(item, "c", out, sizeof out), "x\xc3\xa4\n");
    CHECK(!rung_answer_next(&it, &item) && !rung_answer_next(&it, &item));
    CHECK_EQ_STR(rung_answer_member(all(), "e", out, sizeof out), "");
    CHECK_EQ_STR(rung_answer_member(all(), "n", out, 5), "-123"); /* cut */
    CHECK(rung_answer_find(all(), "n", &raw));
    CHECK_EQ_STR(rung_answer_amount(raw, out, sizeof out), "-1,234,567.5");
    CHECK_EQ_STR(rung_answer_amount(RUNG_SLICE("1e21"), out, sizeof out), "1e21");
    CHECK_EQ_STR(rung_answer_amount(RUNG_SLICE("\"inf\""), out, sizeof out), "inf");
    CHECK_EQ_STR(rung_answer_amount((rung_slice){0}, out, sizeof out), "");
    CHECK_EQ_STR(text, untouched);
}

TEST(members_of_an_object) {
    rung_answer_items it;
    rung_slice raw;
    char keys[32] = "";
    size_t count = 0;
    for (rung_answer_begin(&it, all()); rung_answer_next(&it, &raw) && count < 30;)
        for (size_t i = 0; i < 2 && it.key[i]; i++)
            keys[count++] = it.key[i];
    CHECK_EQ_STR(keys, "antzek");
}

TEST(paths) {
    rung_path p = {0};
    rung_path_add(&p, "/v1/boards/");
    rung_path_name(&p, "a/b c\xc3\xa4");
    rung_path_query(&p, "window", NULL);
    rung_path_query_number(&p, "limit", 10);
    rung_path_query_number(&p, "offset", 0);
    rung_path_query(&p, "scope", "country:FI&x");
    CHECK_EQ_STR(p.text, "/v1/boards/a%2Fb%20c%C3%A4?limit=10&scope=country%3AFI%26x");
    static char big[1100];
    memset(big, 'x', sizeof big - 1);
    CHECK(!p.is_cut);
    rung_path_name(&p, big);
    CHECK(p.is_cut);
}

RUNG_TEST_MAIN
