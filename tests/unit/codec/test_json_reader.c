/* SPDX-License-Identifier: Apache-2.0 */
/* The classes of the public JSON corpora: y_ must be read, n_ must be refused, i_ are the cases the standard leaves to
 * us, each with what we decided. */
#include "codec/json_reader.h"
#include "codec/json_writer.h"
#include "model/text.h"
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

static rung_json reader;
static rung_err err;
static char text[1 << 17];

/* A table's text: from a block of exactly its size, so that a read behind its end is found out. */
static rung_status walk_bytes(const char *bytes, size_t len) {
    char *copy = malloc(len ? len : 1);
    memcpy(copy, bytes, len);
    rung_json_init(&reader, copy, len, &err);
    rung_status st = rung_json_skip(&reader, NULL);
    st = st == RUNG_OK ? rung_json_end(&reader) : st;
    CHECK(len == 0 || memcmp(copy, bytes, len) == 0); /* skipping changes nothing */
    free(copy);
    return st;
}

static rung_status walk(const char *json) {
    return walk_bytes(json, strlen(json));
}

static void begin(const char *json) {
    CHECK(strlen(json) < sizeof text);
    memcpy(text, json, strlen(json));
    rung_json_init(&reader, text, strlen(json), &err);
}

TEST(accepted) {
    static const char *const cases[] = {
        "[]",
        "[[]   ]",
        "[\"\"]",
        "[]\n",
        " [1] ",
        "{}",
        "[false]",
        "[null, 1, \"1\", {}]",
        "[null]",
        "[1\n]",
        "[1,null,null,null,2]",
        "[2] ",
        "[123e65]",
        "[0e+1]",
        "[0e1]",
        "[ 4]",
        "[-0.000001]",
        "[20e1]",
        "[-0]",
        "[-123]",
        "[-1]",
        "[1E22]",
        "[1E-2]",
        "[1E+2]",
        "[123e45]",
        "[123.456e78]",
        "[1e-2]",
        "[1e+2]",
        "[123]",
        "[123.456789]",
        "{\"asd\":\"sdf\", \"dfg\":\"fgh\"}",
        "{\"\":0}",
        "{\"foo\\u0000bar\": 42}",
        "{\"min\": -1.0e+28, \"max\": 1.0e+28}",
        "{\"x\":[{\"id\": \"xxxxxxxxxxxxxxxxxxxxxxxx\"}], \"id\": \"xxxxxxxx\"}",
        "{\"a\":[]}",
        "{\"title\":\"\\u041f\\u043e\\u043b\\u0442\\u043e\\u0440\\u0430\"}",
        "{\n\"a\": \"b\"\n}",
        "[\"\\u0060\\u012a\\u12AB\"]",
        "[\"\\uD801\\udc37\"]",
        "[\"\\ud83d\\ude39\\ud83d\\udc8d\"]",
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
        "[\"\\\\u0000\"]",
        "[\"\\\"\"]",
        "[\"a/*b*/c/*d//e\"]",
        "[\"\\\\a\"]",
        "[\"\\\\n\"]",
        "[\"\\u0012\"]",
        "[\"\\uFFFF\"]",
        "[\"asd\"]",
        "[ \"asd\"]",
        "[\"\\uDBFF\\uDFFF\"]",
        "[\"new\\u00A0line\"]",
        "[\"\xf4\x8f\xbf\xbf\"]",
        "[\"\xef\xbf\xbf\"]",
        "[\"\\u0000\"]",
        "[\"\\u002c\"]",
        "[\"\xcf\x80\"]",
        "[\"\xf0\x9b\xbf\xbf\"]",
        "\" \"",
        "[\"\\uD834\\uDd1e\"]",
        "[\"\\u0821\"]",
        "[\"\\u0123\"]",
        "[\"\xe2\x80\xa8\"]",
        "[\"\xe2\x80\xa9\"]",
        "[\"\\u0061\\u30af\\u30EA\\u30b9\"]",
        "[\"new\\u000Aline\"]",
        "[\"\x7f\"]",
        "[\"\\uA66D\"]",
        "[\"\\u005C\"]",
        "[\"\xe2\x8d\x82\xe3\x88\xb4\xe2\x8d\x82\"]",
        "[\"\\uDBFF\\uDFFE\"]",
        "[\"\\u200B\"]",
        "[\"\\u2064\"]",
        "[\"\\uFDD0\"]",
        "[\"\\uFFFE\"]",
        "[\"\\u0022\"]",
        "[\"\xe2\x82\xac\xf0\x9d\x84\x9e\"]",
        ("[\"a\x7f"
         "a\"]"),
        "false",
        "42",
        "-0.1",
        "null",
        "\"asd\"",
        "true",
        "\"\"",
        "[\"a\"]\n",
        "[true]",
        "\t\r\n []",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_MSG(walk(cases[i]) == RUNG_OK, "refused: %s: %s", cases[i], err.message);
}

TEST(refused) {
    static const char *const cases[] = {
        "",
        " ",
        "[1 true]",
        "[a\xe5]",
        "[\"\": 1]",
        "[\"\"],",
        "[,1]",
        "[1,,2]",
        "[\"x\",,]",
        "[\"x\"]]",
        "[\"\",]",
        "[\"x\"",
        "[x",
        "[3[4]]",
        "[\xff]",
        "[1:2]",
        "[,]",
        "[-]",
        "[   , \"\"]",
        "[\"a\",\n4\n,1,",
        "[1,]",
        "[1,,]",
        ("[\"\x0b"
         "a\"\\f]"),
        "[*]",
        "[\"\"",
        "[1,",
        "[1,\n1\n,1",
        "[{}",
        "[fals]",
        "[nul]",
        "[tru]",
        "[++1234]",
        "[+1]",
        "[+Inf]",
        "[-01]",
        "[-1.0.]",
        "[-2.]",
        "[-NaN]",
        "[.-1]",
        "[.2e-3]",
        "[0.1.2]",
        "[0.3e+]",
        "[0.3e]",
        "[0.e1]",
        "[0E+]",
        "[0E]",
        "[0e+]",
        "[0e]",
        "[1.0e+]",
        "[1.0e-]",
        "[1.0e]",
        "[1 000.0]",
        "[1eE2]",
        "[2.e+3]",
        "[2.e-3]",
        "[2.e3]",
        "[9.e+]",
        "[Inf]",
        "[NaN]",
        "[1+2]",
        "[0x1]",
        "[0x42]",
        "[Infinity]",
        "[0e+-1]",
        "[-123.123foo]",
        "[123\xe5]",
        "[1e1\xe5]",
        "[0\xe5]",
        "[-Infinity]",
        "[-foo]",
        "[- 1]",
        "[-012]",
        "[-.123]",
        "[-1x]",
        "[1ea]",
        "[1.]",
        "[.123]",
        "[1.2a-3]",
        "[1.8011670033376514H-308]",
        "[012]",
        "[\"x\", truth]",
        "{[: \"x\"}",
        "{\"x\", null}",
        "{\"x\"::\"b\"}",
        "{\"a\":\"a\" 123}",
        "{key: 'value'}",
        "{\"\xb9\":\"0\",}",
        "{\"a\" b}",
        "{:\"b\"}",
        "{\"a\" \"b\"}",
        "{\"a\":",
        "{\"a\"",
        "{1:1}",
        "{9999E9999:1}",
        "{null:null,null:null}",
        "{\"id\":0,,,,,}",
        "{'a':0}",
        "{\"id\":0,}",
        "{\"a\":\"b\"}/**/",
        "{\"a\":\"b\"}/**//",
        "{\"a\":\"b\"}//",
        "{\"a\":\"b\"}/",
        "{\"a\":\"b\",,\"c\":\"d\"}",
        "{a: \"b\"}",
        "{\"a\":\"a",
        "{ \"foo\" : \"bar\", \"a\" }",
        "{\"a\":\"b\"}#",
        "[\"\\uD800\\\"]",
        "[\"\\uD800\\u\"]",
        "[\"\\uD800\\u1\"]",
        "[\"\\uD800\\u1x\"]",
        "[\xc3\xa9]",
        "[\"\\x00\"]",
        "[\"\\\\\\\"]",
        "[\"\\\t\"]",
        "[\"\\\xf0\x9f\x8c\x80\"]",
        "[\"\\\"]",
        "[\"\\u00A\"]",
        "[\"\\uD834\\uDd\"]",
        "[\"\\uD800\\uD800\\x\"]",
        "[\"\\u\xe5\"]",
        "[\"\\a\"]",
        "[\"\\uqqqq\"]",
        "[\"\\\xe5\"]",
        "[\\u0020\"asd\"]",
        "[\\n]",
        "\"",
        "['single quote']",
        "abc",
        "[\"\\",
        "[\"new\nline\"]",
        "[\"\t\"]",
        "\"\\UA66D\"",
        "\"\"x",
        "<.>",
        "[<null>]",
        "[1]x",
        "[1]]",
        "[\"asd]",
        "a\xc3\xa5",
        "[True]",
        "1]",
        "{\"x\": true,",
        "[][]",
        "]",
        "\xef\xbb{}",
        "\xe5",
        "[",
        "2@",
        "{}}",
        "{\"\":",
        "{\"a\":/*comment*/\"b\"}",
        "{\"a\": true} \"x\"",
        "['",
        "[,",
        "[{",
        "[\"a",
        "{]",
        "{,",
        "{[",
        "{\"a",
        "{'a'",
        "*",
        "[\xe2\x81\xa0]",
        "[\"a\" \"b\"]",
        "\xe2\x81\xa0[]",
        "{\"asd\":\"asd\"",
        "\xc3\xa5",
        "[1",
        "[false, nul",
        "[true, fals",
        "[false, tru",
        "[\f]",
        "\x0c[]",
        "nulll",
        "falsee",
        "--1",
        "-",
        "-a",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1]",
        /* the standard leaves these to us */
        "\xef\xbb\xbf{}", /* a byte order mark */
        "[\"\\uDADA\"]",
        "[\"\\uDd1e\\uD834\"]",
        "[\"\\uD888\\u1234\"]",
        "[\"\\uD800\\n\"]",
        "[\"\\uD800abc\"]",
        "[\"\\udc00\"]",
        "[\"\\uD834\"]", /* half a pair */
        "[\"\xf8\x88\x80\x80\x80\"]",
        "[\"\xed\xa0\x80\"]",
        "[\"\xc0\xaf\"]",
        "[\"\xfc\x80\x80\x80\x80\x80\"]",
        "[\"\xe6\x97\xa5\xd1\x88\xfa\"]",
        "[\"\xff\"]",
        "[\"\x81\"]",
        "[\"\xe0\xff\"]",
        "[\"\xf4\xbf\xbf\xbf\"]",
        "[\"\xe0\x80\xaf\"]",
        "[\"\xc3\"]", /* not UTF-8 */
        "{\"a\":\"b\",\"a\":\"c\"}",
        "{\"a\":\"b\",\"a\":\"b\"}",
        "{\"a\":1,\"\\u0061\":2}",
        "{\"\":1,\"\":2}",
        "[{\"x\":{\"y\":1,\"z\":2,\"y\":3}}]",
        "{\"\\u00e9\":1,\"\xc3\xa9\":2}",
        "{\"\\/\":1,\"/\":2}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_MSG(walk(cases[i]) < 0, "accepted: %s", cases[i]);
        CHECK(err.message[0]);
    }
    CHECK(walk_bytes("[1\0]", 4) < 0);
    CHECK(walk_bytes("[\"a\0b\"]", 7) < 0);
    CHECK(walk_bytes("\xff\xfe[\0", 4) < 0);
}

/* Numbers beyond doubles and integers are JSON; who knows the column refuses them. */
TEST(numbers_are_text) {
    static const char *const cases[] = {"123123e100000",
                                        "-123123123123123123123123123123",
                                        "0.4e00669999999999999999969999999006",
                                        "-1e+9999",
                                        "1.5e+9999",
                                        "100000000000000000000",
                                        "-237462374673276894279832749832423479823246327846"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rung_slice number;
        begin(cases[i]);
        CHECK_OK(rung_json_number(&reader, &number));
        CHECK(rung_slice_eq(number, rung_slice_str(cases[i])));
        CHECK_OK(rung_json_end(&reader));
        int64_t whole;
        begin(cases[i]);
        CHECK(rung_json_int64(&reader, &whole) < 0);
    }
}

TEST(a_truncated_text_is_refused_at_every_byte) {
    const char *json =
        "{\"a\":[1,-2.5e+3,\"x\\u00e4\xc3\xa4\",true,false,null],\"b\":{\"c\":\"\\ud83d\\ude39\"}}";
    for (size_t len = 0; len < strlen(json); len++)
        CHECK(walk_bytes(json, len) < 0);
    CHECK_OK(walk(json));
}

TEST(limits) {
    for (int depth = 1; depth <= RUNG_JSON_DEPTH_MAX + 1; depth++) {
        char nest[256] = {0};
        memset(nest, '[', (size_t)depth);
        memset(nest + depth, ']', (size_t)depth);
        CHECK_STATUS(walk(nest), depth <= RUNG_JSON_DEPTH_MAX ? RUNG_OK : RUNG_ELIMIT);
    }
    static char many[200000];
    memset(many, '[', 100000);
    CHECK_STATUS(walk_bytes(many, 100000), RUNG_ELIMIT);
    memset(many, '9', 1100);
    CHECK_OK(walk_bytes(many, RUNG_JSON_NUMBER_MAX));
    CHECK_STATUS(walk_bytes(many, RUNG_JSON_NUMBER_MAX + 1), RUNG_ELIMIT);
}

static size_t object_of(uint32_t count, char *out) {
    size_t len = 0;
    out[len++] = '{';
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            out[len++] = ',';
        out[len++] = '"';
        len += rung_digits_format(i * 7919u, out + len);
        memcpy(out + len, "\":1", 3);
        len += 3;
    }
    out[len++] = '}';
    return len;
}

TEST(many_keys) {
    size_t len = object_of(RUNG_JSON_KEYS_MAX, text);
    CHECK_OK(walk_bytes(text, len));
    memcpy(text + len - 1, ",\"0\":1}", 7);
    CHECK(walk_bytes(text, len + 6) < 0);
    len = object_of(RUNG_JSON_KEYS_MAX + 1, text);
    CHECK_STATUS(walk_bytes(text, len), RUNG_ELIMIT);
    /* The keys of an object that has ended count no longer. */
    len = 0;
    text[len++] = '[';
    for (int i = 0; i < 5; i++) {
        len += object_of(1000, text + len);
        text[len++] = i < 4 ? ',' : ']';
    }
    CHECK_OK(walk_bytes(text, len));
}

TEST(long_keys) {
    char json[700] = "{\"";
    memset(json + 2, 'k', RUNG_JSON_KEY_MAX);
    memcpy(json + 2 + RUNG_JSON_KEY_MAX, "\":1}", 5);
    CHECK_OK(walk(json));
    memcpy(json + 2 + RUNG_JSON_KEY_MAX, "k\":1}", 6);
    CHECK_STATUS(walk(json), RUNG_ELIMIT);
    memcpy(json + 2, "\\n", 2); /* one byte less, unescaped */
    CHECK_OK(walk(json));
    memcpy(json + 2 + RUNG_JSON_KEY_MAX, "kk\":1}", 7);
    CHECK_STATUS(walk(json), RUNG_ELIMIT);
}

TEST(strings_unescaped) {
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"\"\"", ""},
        {"\"plain\"", "plain"},
        {"\"a long plain text that takes more than one word\"",
         "a long plain text that takes more than one word"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e4\\u20ac\\ud83d\\ude39!\"", "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\xb9!"},
        {"\"\xc3\xa4\\n\xe2\x82\xac\"", "\xc3\xa4\n\xe2\x82\xac"},
        {"\"\\uDBFF\\uDFFF\\uFFFF\"", "\xf4\x8f\xbf\xbf\xef\xbf\xbf"},
        {"\"1234567\\n1234567\\\\12345678\"", "1234567\n1234567\\12345678"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rung_slice got;
        begin(cases[i].json);
        CHECK_OK(rung_json_string(&reader, &got));
        CHECK_MSG(rung_slice_eq(got, rung_slice_str(cases[i].want)), "%s: %.*s", cases[i].json,
                  (int)got.len, got.ptr);
        CHECK_OK(rung_json_end(&reader));
    }
}

TEST(pulling_an_object) {
    rung_slice key, name, number, raw;
    bool flag;
    uint32_t small;
    begin(" { \"na\\u006de\" : \"x\\ty\" , "
          "\"n\":-1.50e2,\"b\":true,\"u\":4294967295,\"z\":null,\"o\": {\"q\":[1, 2 ]} , \"a\":[ ] "
          "} ");
    CHECK_OK(rung_json_enter_object(&reader));
    CHECK_OK(rung_json_next_key(&reader, &key));
    CHECK(rung_slice_eq(key, RUNG_SLICE("name")));
    CHECK(rung_json_peek(&reader) == RUNG_JSON_STRING);
    CHECK_OK(rung_json_string(&reader, &name));
    CHECK(rung_slice_eq(name, RUNG_SLICE("x\ty")));
    CHECK_OK(rung_json_next_key(&reader, &key));
    CHECK_OK(rung_json_number(&reader, &number));
    CHECK(rung_slice_eq(number, RUNG_SLICE("-1.50e2")));
    CHECK_OK(rung_json_next_key(&reader, &key));
    CHECK_OK(rung_json_bool(&reader, &flag));
    CHECK(flag);
    CHECK_OK(rung_json_next_key(&reader, &key));
    CHECK_OK(rung_json_uint32(&reader, &small));
    CHECK_EQ_U64(small, UINT32_MAX);
    CHECK_OK(rung_json_next_key(&reader, &key));
    CHECK_OK(rung_json_skip(&reader, &raw));
    CHECK(rung_slice_eq(raw, RUNG_SLICE("null")));
    CHECK_OK(rung_json_next_key(&reader, &key));
    CHECK_OK(rung_json_skip(&reader, &raw));
    CHECK(rung_slice_eq(raw, RUNG_SLICE("{\"q\":[1, 2 ]}")));
    CHECK_OK(rung_json_next_key(&reader, &key));
    CHECK_OK(rung_json_enter_array(&reader));
    CHECK_STATUS(rung_json_next_item(&reader), RUNG_NOT_FOUND);
    CHECK_STATUS(rung_json_next_key(&reader, &key), RUNG_NOT_FOUND);
    CHECK_OK(rung_json_end(&reader));
}

TEST(whole_numbers) {
    static const struct {
        const char *json;
        rung_status st;
        int64_t value;
    } cases[] = {
        {"0", RUNG_OK, 0},
        {"-0", RUNG_OK, 0},
        {"1e3", RUNG_OK, 1000},
        {"1.0", RUNG_OK, 1},
        {"15e-1", RUNG_EINVAL, 0},
        {"9223372036854775807", RUNG_OK, INT64_MAX},
        {"-9223372036854775808", RUNG_OK, INT64_MIN},
        {"9223372036854775808", RUNG_ERANGE, 0},
        {"999999999999999999", RUNG_OK, 999999999999999999},
        {"-999999999999999999", RUNG_OK, -999999999999999999},
        {"0.5", RUNG_EINVAL, 0},
        {"\"1\"", RUNG_EINVAL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = 0;
        begin(cases[i].json);
        CHECK_STATUS(rung_json_int64(&reader, &value), cases[i].st);
        CHECK_EQ_I64(value, cases[i].value);
    }
    uint32_t small;
    begin("4294967296");
    CHECK_STATUS(rung_json_uint32(&reader, &small), RUNG_ERANGE);
    begin("-1");
    CHECK_STATUS(rung_json_uint32(&reader, &small), RUNG_ERANGE);
}

static void check_message(const char *json, const char *want) {
    CHECK(walk(json) < 0);
    CHECK_EQ_STR(err.message, want);
}

TEST(failures_name_the_place) {
    check_message("", "byte 0: the text ends too soon");
    check_message("[1,2,x]", "[2]: not a JSON value (byte 5)");
    check_message("{\"limits\":{\"min\":01}}",
                  "limits.min: expected ',' or '}' after the value (byte 18)");
    check_message("{\"a\":[{\"b\":1},{\"b\":[0,tru]}]}", "a[1].b[1]: not a JSON value (byte 22)");
    check_message("{\"a\":1,\"a\":2}", "a: given twice (byte 7)");
    check_message("{\"a\":1,}", "byte 7: expected a field's name in quotes");
    check_message("{\"\xc3\xa4\":\"\xff\"}", "\xc3\xa4: not valid UTF-8 (byte 7)");
    check_message("{} x", "byte 3: nothing may follow the value");
    begin("{\"limits\":{\"min\":\"1\"}}");
    rung_slice key, number;
    CHECK_OK(rung_json_enter_object(&reader));
    CHECK_OK(rung_json_next_key(&reader, &key));
    CHECK_OK(rung_json_enter_object(&reader));
    CHECK_OK(rung_json_next_key(&reader, &key));
    CHECK_STATUS(rung_json_number(&reader, &number), RUNG_EINVAL);
    CHECK_EQ_STR(err.message, "limits.min: expected a number (byte 17)");
    /* and it stays so */
    CHECK_STATUS(rung_json_next_key(&reader, &key), RUNG_EINVAL);
    CHECK(rung_json_peek(&reader) == RUNG_JSON_NONE);
    CHECK_STATUS(rung_json_end(&reader), RUNG_EINVAL);
    CHECK_EQ_STR(err.message, "limits.min: expected a number (byte 17)");
    rung_json_init_at(&reader, RUNG_SLICE("[0,\"\"]"), "columns", 100, &err);
    CHECK_OK(rung_json_enter_array(&reader));
    CHECK_OK(rung_json_next_item(&reader));
    CHECK_OK(rung_json_skip(&reader, NULL));
    CHECK_OK(rung_json_next_item(&reader));
    CHECK_STATUS(rung_json_number(&reader, &number), RUNG_EINVAL);
    CHECK_EQ_STR(err.message, "columns[1]: expected a number (byte 103)");
}

/* A long path is cut, at a whole character. */
TEST(long_paths) {
    char json[4000] = {0};
    for (int i = 0; i < 20; i++)
        memcpy(json + strlen(json), "{\"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\":", 15);
    memcpy(json + strlen(json), "x", 2);
    CHECK(walk(json) < 0);
    CHECK(strstr(err.message, "not a JSON value (byte 280)"));
}

RUNG_TEST_MAIN
