/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/schema.h"
#include "support/check.h"

#include <string.h>

enum { PLAYER, SCORE, AT, STYLE, LIMIT, IDS, META, FLAG, NOTHING, COUNT };

static const char *const styles[] = {"unique", "sparse", "dense", NULL};
static const rung_field fields[COUNT] = {
    [PLAYER] = {RUNG_NAMED("player"), .types = RUNG_FIELD_STRING, .required = true, .len_min = 1,
                .len_max = 8},
    [SCORE] = {RUNG_NAMED("score"), .types = RUNG_FIELD_NUMBER},
    [AT] = {RUNG_NAMED("at"), .types = RUNG_FIELD_TIME | RUNG_FIELD_INTEGER},
    [STYLE] = {RUNG_NAMED("style"), .types = RUNG_FIELD_STRING, .values = styles},
    [LIMIT] = {RUNG_NAMED("limit"), .types = RUNG_FIELD_INTEGER, .has_range = true, .min = 1,
               .max = 100},
    [IDS] = {RUNG_NAMED("ids"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_STRING,
             .items_max = 3, .item_len_max = 4},
    [META] = {RUNG_NAMED("meta"), .types = RUNG_FIELD_ANY},
    [FLAG] = {RUNG_NAMED("flag"), .types = RUNG_FIELD_BOOL},
    [NOTHING] = {RUNG_NAMED("nothing"), .types = RUNG_FIELD_OBJECT | RUNG_FIELD_NULL},
};
static const rung_schema schema = {
    .name = "Score", .doc = "One.", .fields = fields, .count = COUNT};

static const rung_field attribute = {RUNG_NAMED("*"), .types = RUNG_FIELD_STRING, .len_max = 8};
static const rung_schema open_schema = {
    .name = "Profile", .fields = fields, .count = 2, .others = &attribute, .others_max = 3};

static rung_json reader;
static rung_err err;
static char text[4096];
static rung_slot slots[COUNT + 3];

static rung_status read_with(const rung_schema *s, const char *json) {
    memcpy(text, json, strlen(json));
    rung_json_init(&reader, text, strlen(json), &err);
    memset(&err, 0, sizeof err);
    rung_status st = rung_schema_read(s, &reader, slots);
    return st == RUNG_OK ? rung_json_end(&reader) : st;
}

static rung_status read_json(const char *json) {
    return read_with(&schema, json);
}

TEST(all_fields) {
    CHECK_OK(read_json(
        "{\"score\":-1.5, "
        "\"pl\\u0061yer\":\"a\\nb\",\"at\":\"1970-01-01T00:00:01Z\",\"style\":\"dense\",\"limit\":"
        "1e1,"
        "\"ids\":[\"a\",\"\\u0062\"],\"meta\":{\"x\":[1, 2]},\"flag\":true,\"nothing\":null}"));
    CHECK(rung_slice_eq(slots[PLAYER].text, RUNG_SLICE("a\nb")));
    CHECK(rung_slice_eq(slots[SCORE].text, RUNG_SLICE("-1.5")));
    CHECK_EQ_I64(slots[AT].integer, 1000);
    CHECK_EQ_U64(slots[STYLE].choice, 2);
    CHECK_EQ_I64(slots[LIMIT].integer, 10);
    CHECK(rung_slice_eq(slots[IDS].text, RUNG_SLICE("[\"a\",\"\\u0062\"]")));
    CHECK_EQ_I64(slots[IDS].integer, 2);
    CHECK(rung_slice_eq(slots[META].text, RUNG_SLICE("{\"x\":[1, 2]}")));
    CHECK_EQ_I64(slots[FLAG].integer, 1);
    CHECK(slots[NOTHING].present && slots[NOTHING].kind == RUNG_JSON_NULL);
    CHECK_OK(read_json("{\"player\":\"a\",\"at\":-5}"));
    CHECK_EQ_I64(slots[AT].integer, -5);
    CHECK(!slots[SCORE].present && !slots[META].present && !slots[FLAG].present);
}

TEST(refusals) {
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"[]", "byte 0: expected an object"},
        {"{}", "player: required but missing (byte 2)"},
        {"{\"plyer\":\"a\"}", "plyer: unknown field; did you mean \"player\"? (byte 9)"},
        {"{\"palyer\":\"a\"}", "palyer: unknown field; did you mean \"player\"? (byte 10)"},
        {"{\"colour\":1}", "colour: unknown field (byte 10)"},
        {"{\"ta\":1}", "ta: unknown field; did you mean \"at\"? (byte 6)"},
        {"{\"player\":1}", "player: expected a string (byte 10)"},
        {"{\"player\":\"\"}", "player: expected 1 to 8 bytes (byte 12)"},
        {"{\"player\":\"123456789\"}", "player: expected 1 to 8 bytes (byte 21)"},
        {"{\"player\":\"a\",\"player\":\"b\"}", "player: given twice (byte 23)"},
        {"{\"player\":\"a\",\"\\u0070layer\":\"b\"}", "\\u0070layer: given twice (byte 28)"},
        {"{\"score\":\"1\"}", "score: expected a number (byte 9)"},
        {"{\"score\":null}", "score: expected a number (byte 9)"},
        {"{\"score\":01}", "score: expected ',' or '}' after the value (byte 10)"},
        {"{\"at\":1.5}", "at: expected an RFC 3339 time in quotes or a whole number (byte 9)"},
        {"{\"at\":\"yesterday\"}",
         "at: expected an RFC 3339 time in quotes or a whole number (byte 17)"},
        {"{\"at\":\"0001-01-01T00:00:00Z\"}", "at: years 1900 to 9999 are supported (byte 28)"},
        {"{\"style\":\"dens\"}", "style: expected one of unique, sparse, dense (byte 15)"},
        {"{\"limit\":0}", "limit: expected 1 to 100 (byte 10)"},
        {"{\"limit\":101}", "limit: expected 1 to 100 (byte 12)"},
        {"{\"limit\":1.5}", "limit: expected a whole number (byte 12)"},
        {"{\"limit\":99999999999999999999}", "limit: the number is out of range (byte 29)"},
        {"{\"ids\":[\"a\",1]}", "ids[1]: expected a string (byte 12)"},
        {"{\"ids\":[\"a\",\"b\",\"c\",\"d\"]}", "ids: expected 0 to 3 items (byte 24)"},
        {"{\"ids\":[\"abcde\"]}", "ids[0]: expected 0 to 4 bytes (byte 15)"},
        {"{\"meta\":{\"a\":1,\"a\":2}}", "meta.a: given twice (byte 15)"},
        {"{\"flag\":1}", "flag: expected true or false (byte 8)"},
        {"{\"nothing\":[]}", "nothing: expected an object or null (byte 11)"},
        {"{\"player\":\"a\"}x", "byte 14: nothing may follow the value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_MSG(read_json(cases[i].json) < 0, "accepted: %s", cases[i].json);
        CHECK_EQ_STR(err.message, cases[i].want);
    }
}

TEST(fields_of_other_names) {
    CHECK_OK(
        read_with(&open_schema, "{\"country\":\"FI\",\"player\":\"a\",\"gu\\u0069ld\":\"x\"}"));
    CHECK(slots[2].present && slots[3].present && !slots[4].present);
    CHECK(rung_slice_eq(slots[2].name, RUNG_SLICE("country")));
    CHECK(rung_slice_eq(slots[3].name, RUNG_SLICE("guild")));
    CHECK(rung_slice_eq(slots[3].text, RUNG_SLICE("x")));
    CHECK_STATUS(read_with(&open_schema, "{\"player\":\"a\",\"x\":\"1\",\"\\u0078\":\"2\"}"),
                 RUNG_EINVAL);
    CHECK_STATUS(read_with(&open_schema, "{\"player\":\"a\",\"x\":1}"), RUNG_EINVAL);
    CHECK_STATUS(
        read_with(&open_schema, "{\"player\":\"a\",\"w\":\"\",\"x\":\"\",\"y\":\"\",\"z\":\"\"}"),
        RUNG_ELIMIT);
}

TEST(a_nested_object) {
    static const rung_field limits_fields[] = {
        {RUNG_NAMED("min"), .types = RUNG_FIELD_NUMBER, .required = true}};
    static const rung_schema limits = {.name = "Limits", .fields = limits_fields, .count = 1};
    rung_slot inner[1];
    CHECK_OK(read_json("{\"player\":\"a\",\"meta\":{\"min\":5}}"));
    CHECK_OK(rung_schema_read_at(&limits, &reader, slots[META].text, "meta", slots[META].offset,
                                 inner, &err));
    CHECK(rung_slice_eq(inner[0].text, RUNG_SLICE("5")));
    CHECK_OK(read_json("{\"player\":\"a\",\"meta\":{\"min\":\"5\"}}"));
    CHECK(rung_schema_read_at(&limits, &reader, slots[META].text, "meta", slots[META].offset, inner,
                              &err) < 0);
    CHECK_EQ_STR(err.message, "meta.min: expected a number (byte 28)");
    CHECK_OK(read_json("{\"player\":\"a\",\"meta\":{}}"));
    CHECK(rung_schema_read_at(&limits, &reader, slots[META].text, "meta", slots[META].offset, inner,
                              &err) < 0);
    CHECK_EQ_STR(err.message, "meta.min: required but missing (byte 23)");
}

RUNG_TEST_MAIN
