/* SPDX-License-Identifier: Apache-2.0 */
#include "front/api/submission.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

static rung_json reader;
static rung_event event;
static char buffer[8192];

static rung_status read_one(const char *text, const rung_board_def *def, rung_err *err) {
    rung_slot slots[SCORE_FIELDS];
    size_t len = strlen(text);
    memcpy(buffer, text, len + 1);
    rung_status st =
        rung_submission_read(&rung_submission_schema, buffer, len, &reader, slots, err);
    return st < 0 ? st : rung_submission_fill(slots, RUNG_SLICE("race"), def, &reader, &event, err);
}

static rung_board_def columns(void) {
    rung_board_def def = rung_board_def_default();
    def.key.column_count = 3;
    def.key.columns[0] = (rung_column){.type = RUNG_SCORE_DECIMAL, .decimals = 2};
    def.key.columns[1] = (rung_column){.type = RUNG_SCORE_INTEGER};
    def.key.columns[2] = (rung_column){.type = RUNG_SCORE_REAL};
    def.column_names[0] = RUNG_SLICE("lives");
    def.column_names[1] = RUNG_SLICE("time");
    return def;
}

TEST(all_of_it) {
    rung_board_def def = columns();
    rung_err err = {0};
    CHECK_OK(read_one(
        "{\"player\":\"a\\u00e9\",\"score\":\"12.5\",\"columns\":{\"time\":0.5,\"lives\":\"3\"},"
        "\"at\":\"1970-01-01T00:00:01Z\",\"id\":\"x\",\"meta\":{\"a\": [1]}}",
        &def, &err));
    const rung_score_event *e = &event.score;
    CHECK(rung_slice_eq(e->board, RUNG_SLICE("race")) &&
          rung_slice_eq(e->player, RUNG_SLICE("a\xc3\xa9")));
    CHECK_EQ_U64(e->value_count, 3);
    CHECK_EQ_I64(e->values[0].i, 1250);
    CHECK_EQ_I64(e->values[1].i, 3);
    CHECK_EQ_F64(e->values[2].d, 0.5);
    CHECK(e->types[0] == RUNG_SCORE_DECIMAL && e->decimals[0] == 2 &&
          e->types[2] == RUNG_SCORE_REAL);
    CHECK(!e->is_delta && e->has_at && e->at_ms == 1000);
    CHECK(rung_slice_eq(e->id, RUNG_SLICE("x")) &&
          rung_slice_eq(e->meta, RUNG_SLICE("{\"a\": [1]}")));
}

TEST(metas) {
    static const char *const cases[][2] = {{"true", "true"}, {"false", "false"}, {"null", ""},
                                           {"5", "5"},       {"\"t\"", "t"},     {"[]", "[]"}};
    rung_board_def def = rung_board_def_default();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        rung_err err = {0};
        memset(buffer, 'x', sizeof buffer);
        snprintf(text, sizeof text, "{\"player\":\"a\",\"score\":1,\"meta\":%s}", cases[i][0]);
        CHECK_OK(read_one(text, &def, &err));
        CHECK(rung_slice_eq(event.score.meta, rung_slice_str(cases[i][1])));
    }
}

TEST(refusals_name_the_field) {
    static const char *const cases[][2] = {
        {"{\"player\":\"a\"}", "score"},
        {"{\"player\":\"a\",\"score\":1,\"delta\":1}", "delta"},
        {"{\"player\":\"a\",\"score\":1.234,\"columns\":{\"lives\":1,\"time\":1}}", "score"},
        {"{\"player\":\"a\",\"delta\":\"x\",\"columns\":{\"lives\":1,\"time\":1}}", "delta"},
        {"{\"player\":\"a\",\"score\":1}", "columns"},
        {"{\"player\":\"a\",\"score\":1,\"columns\":{\"lives\":1}}", "columns.time"},
        {"{\"player\":\"a\",\"score\":1,\"columns\":{\"lives\":1,\"time\":1,\"x\":1}}",
         "columns.x"},
        {"{\"player\":\"a\",\"score\":1,\"columns\":{\"lives\":true,\"time\":1}}", "columns.lives"},
    };
    rung_board_def def = columns();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rung_err err = {0};
        rung_status st = read_one(cases[i][0], &def, &err);
        CHECK_MSG(st < 0 && strcmp(err.field, cases[i][1]) == 0, "%s: %s", cases[i][0],
                  err.message);
    }
}

RUNG_TEST_MAIN
