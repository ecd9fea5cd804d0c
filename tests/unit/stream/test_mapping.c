/* SPDX-License-Identifier: Apache-2.0 */
/* From a JSON record to a score: what each expression takes, and what is refused with which field. */
#include "stream/mapping.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

enum { PARTS = 8 };
static const rung_map_target order[PARTS - 1] = {RUNG_MAP_BOARD, RUNG_MAP_PLAYER, RUNG_MAP_SCORE,
                                                 RUNG_MAP_DELTA, RUNG_MAP_AT,     RUNG_MAP_ID,
                                                 RUNG_MAP_META};

/* The mapping of "board|player|score|delta|at|id|meta|columns"; empty ones are left out. */
static rung_status set(rung_mapping *m, const char *text, rung_err *err) {
    rung_status st = RUNG_OK;
    *m = (rung_mapping){0};
    for (size_t i = 0; i < PARTS && st == RUNG_OK; i++) {
        size_t len = strcspn(text, "|");
        rung_slice part = rung_slice_of(text, len);
        if (len && i + 1 < PARTS)
            st = rung_mapping_set(m, order[i], part, err);
        else if (len)
            st = rung_mapping_set_columns(m, part, err);
        text += len + (text[len] == '|');
    }
    return st < 0 ? st : rung_mapping_check(m, err);
}

static rung_json reader;

static rung_status read(const rung_mapping *m, char *text, const char *key, rung_mapped *out,
                        rung_err *err) {
    rung_map_record record = {.text = text,
                              .len = strlen(text),
                              .key = key ? rung_slice_str(key) : (rung_slice){NULL, 0},
                              .timestamp_ms = 1794744000123};
    return rung_mapping_read(m, &record, &reader, out, err);
}

static void print(char *out, size_t size, const rung_mapped *m) {
    size_t at = (size_t)snprintf(out, size, "%.*s %.*s %s%.*s", (int)m->board.len, m->board.ptr,
                                 (int)m->player.len, m->player.ptr, m->is_delta ? "+" : "",
                                 (int)m->value.len, m->value.ptr ? m->value.ptr : "");
    if (m->has_at)
        at += (size_t)snprintf(out + at, size - at, " at=%lld", (long long)m->at_ms);
    if (m->id.ptr)
        at += (size_t)snprintf(out + at, size - at, " id=%.*s", (int)m->id.len, m->id.ptr);
    if (m->meta.ptr)
        at += (size_t)snprintf(out + at, size - at, " meta=%.*s", (int)m->meta.len, m->meta.ptr);
    for (size_t i = 0; i < RUNG_MAP_COLUMNS_MAX; i++)
        if (m->columns[i].ptr)
            at += (size_t)snprintf(out + at, size - at, " c%zu=%.*s", i, (int)m->columns[i].len,
                                   m->columns[i].ptr);
}

static const struct {
    const char *mapping, *record;
    const char *expected; /* what it says; or the message of the refusal, after '!' */
} cases[] = {
    {"race|$.player|$.score", "{\"player\":\"ada\",\"score\":12}", "race ada 12"},
    {"race|$.player|$.score", " {\"x\":[1,{}],\"score\":1e3,\"player\":\"ada\"}\n", "race ada 1e3"},
    {"$.mode|$.user.id||$.points", "{\"user\":{\"id\":42},\"points\":\"1.5\",\"mode\":\"m\"}",
     "m 42 +1.5"},
    {"race|$key||1", "{}", "race the-key +1"},
    {"race|$key|", "{}", "race the-key "},
    {"race|$.a.b.c|$.a.b.d", "{\"a\":{\"b\":{\"d\":7,\"c\":\"x\"},\"z\":0}}", "race x 7"},
    {"race|$.p|$.p", "{\"p\":5}", "race 5 5"}, /* the same path twice */
    {"race|$.p|1||$.at", "{\"p\":\"a\",\"at\":1700000000000}", "race a 1 at=1700000000000"},
    {"race|$.p|1||$.at", "{\"p\":\"a\",\"at\":\"2023-11-14T22:13:20Z\"}",
     "race a 1 at=1700000000000"},
    {"race|$.p|1||$.at|$.id|$.m", "{\"p\":\"a\",\"at\":null}", "race a 1"},
    {"race|$.p|1||$timestamp", "{\"p\":\"a\"}", "race a 1 at=1794744000123"},
    {"race|$.p|1|||$.id|$.m", "{\"p\":\"a\",\"id\":9,\"m\":{\"k\":\"\\u0041\"}}",
     "race a 1 id=9 meta={\"k\":\"\\u0041\"}"}, /* as it was sent */
    {"race|$.p|1|||$.id|$.m", "{\"p\":\"\\u0061b\",\"id\":\"x\",\"m\":\"te\\nxt\"}",
     "race ab 1 id=x meta=te\nxt"},
    {"race|$.p|1||||$.m", "{\"p\":\"a\",\"m\":true}", "race a 1 meta=true"},
    {"race|$.p|$.s|||||time: $.t, lives:$.l", "{\"p\":\"a\",\"s\":1,\"t\":2.5,\"l\":3}",
     "race a 1 c0=2.5 c1=3"},
    {"race|$.p|$.s|||||time: $.t, lives:$.l", "{\"p\":\"a\",\"s\":1,\"l\":3}", "race a 1 c1=3"},
    {"race|$.player|$.score", "{\"player\":\"ada\"}", "!score: the record has no $.score"},
    {"race|$.player|$.score", "{\"score\":1}", "!player: the record has no $.player"},
    {"race|$.player|$.score", "{\"player\":null,\"score\":1}",
     "!player: the record has no $.player"},
    {"race|$.a.b|1", "{\"a\":[{\"b\":1}]}", "!player: the record has no $.a.b"},
    {"race|$.a.b|1", "{\"a\":\"b\"}", "!player: the record has no $.a.b"},
    {"race|$.player|$.score", "{\"player\":{},\"score\":1}",
     "!player: expected a string or a number"},
    {"race|$.player|$.score", "{\"player\":\"a\",\"score\":true}",
     "!score: expected a string or a number"},
    {"$.b|$.p|1", "{\"p\":1}", "!board: the record has no $.b"},
    {"race|$.p|1||$.at", "{\"p\":1,\"at\":\"noon\"}",
     "!at: expected milliseconds since 1970 or an RFC 3339 time"},
    {"race|$.p|1||$.at", "{\"p\":1,\"at\":1.5}",
     "!at: expected milliseconds since 1970 or an RFC 3339 time"},
    {"race|$.p|1||$.at", "{\"p\":1,\"at\":{}}",
     "!at: expected milliseconds since 1970 or an RFC 3339 time"},
};

TEST(records) {
    for (size_t i = 0; i < RUNG_COUNT_OF(cases); i++) {
        rung_mapping m;
        rung_mapped mapped;
        rung_err err = {.message = ""};
        char text[512], got[512] = "!";
        CHECK_MSG(set(&m, cases[i].mapping, &err) == RUNG_OK, "%s: %s", cases[i].mapping,
                  err.message);
        snprintf(text, sizeof text, "%s", cases[i].record);
        rung_status st = read(&m, text, "the-key", &mapped, &err);
        if (st < 0)
            snprintf(got + 1, sizeof got - 1, "%s", err.message);
        else
            print(got, sizeof got, &mapped);
        CHECK_EQ_STR(got, cases[i].expected);
        CHECK(st == RUNG_OK || err.reason == RUNG_REASON_NONE);
    }
}

TEST(what_is_not_json_is_malformed) {
    static const char *const bad[] = {"",
                                      "x",
                                      "{",
                                      "[1]",
                                      "{\"player\":}",
                                      "{}{}",
                                      "\"player\"",
                                      "{\"a\":1,\"a\":2}",
                                      "\xff",
                                      "{\"player\":\"\x80\"}"};
    rung_mapping m;
    rung_err err;
    CHECK_OK(set(&m, "race|$.player|$.score", &err));
    for (size_t i = 0; i < RUNG_COUNT_OF(bad); i++) {
        char text[64];
        rung_mapped mapped;
        snprintf(text, sizeof text, "%s", bad[i]);
        err = (rung_err){0};
        CHECK(read(&m, text, NULL, &mapped, &err) < 0);
        CHECK_MSG(err.reason == RUNG_REASON_MALFORMED, "%s: %s", bad[i], err.message);
    }
}

TEST(a_record_without_a_key) {
    rung_mapping m;
    rung_mapped mapped;
    rung_err err = {0};
    char text[] = "{}";
    CHECK_OK(set(&m, "race|$key|1", &err));
    CHECK_STATUS(read(&m, text, NULL, &mapped, &err), RUNG_EINVAL);
    CHECK_EQ_STR(err.message, "player: the record has no $key");
    CHECK_EQ_STR(err.field, "player");
}

TEST(mappings_that_are_refused) {
    static const struct {
        const char *mapping, *why;
    } bad[] = {
        {"|$.p|1", "board: required but missing"},
        {"race||1", "player: required but missing"},
        {"race|$.p|1|2", "delta: not together with score"},
        {"race|$.p.q|$.p", "player: $.p.q is inside of $.p"},
        {"race|$.p|1||||$.p.m", "meta: $.p.m is inside of $.p"},
        {"race|$|1", "$.KEY.KEY, $key, or a constant without $ in front"},
        {"race|$.|1", "$.KEY.KEY, $key, or a constant without $ in front"},
        {"race|$timestamp|1", "$.KEY.KEY, $key, or a constant without $ in front"},
        {"race|$x|1", "$.KEY.KEY, $key, or a constant without $ in front"},
        {"race|$.a..b|1", "a path of keys, such as $.user.id"},
        {"race|$.a.|1", "a path of keys, such as $.user.id"},
        {"race|$.1.2.3.4.5.6.7.8.9|1", "a path of at most 8 keys"},
        {"race| |1", "a path such as $.user.id, $key, or a constant"},
        {"race|$.p|1|||||time", "a path such as $.user.id, $key, or a constant"},
        {"race|$.p|1|||||: $.x", "NAME: EXPRESSION, ..."},
        {"race|$.p|1|||||a: $.x, a: $.y", "each column once"},
        {"race|$.p|1|||||a:1,b:1,c:1,d:1,e:1", "at most 4 columns"},
    };
    for (size_t i = 0; i < RUNG_COUNT_OF(bad); i++) {
        rung_mapping m;
        rung_err err = {.message = ""};
        CHECK_STATUS(set(&m, bad[i].mapping, &err), RUNG_EINVAL);
        CHECK_EQ_STR(err.message, bad[i].why);
    }
}

TEST(matches) {
    rung_mapping m = {0};
    rung_mapped mapped;
    rung_event e;
    rung_err err = {0};
    char text[] = "{\"b\":\"chess\",\"s\":[{\"score\":2,\"players\":[\"\\u00e9\"]},"
                  "{\"score\":3,\"players\":[{\"player\":\"b\",\"weight\":2,\"played\":1e-1}]}],"
                  "\"id\":\"m\\n1\"}";
    CHECK_OK(rung_mapping_set(&m, RUNG_MAP_BOARD, RUNG_SLICE("$.b"), &err));
    CHECK_OK(rung_mapping_set(&m, RUNG_MAP_ID, RUNG_SLICE("$.id"), &err));
    CHECK_OK(rung_mapping_set(&m, RUNG_MAP_SIDES, RUNG_SLICE("$.s"), &err));
    CHECK_OK(rung_mapping_check(&m, &err));
    CHECK_OK(read(&m, text, NULL, &mapped, &err));
    for (int i = 0; i < 2; i++) { /* as when it is submitted again */
        CHECK_OK(rung_mapping_fill(&m, &mapped, NULL, &e, &err));
        CHECK_EQ_U64(e.kind, RUNG_EVENT_MATCH);
        CHECK_EQ_U64(e.match.player_count, 2);
        CHECK(rung_slice_eq(e.match.id, RUNG_SLICE("m\n1")));
        rung_match_cursor c = {.rest = e.match.packed};
        rung_match_entry entry;
        CHECK(rung_match_next(&c, &entry) && rung_slice_eq(entry.player, RUNG_SLICE("\xc3\xa9")));
        CHECK_EQ_I64(entry.place, 2);
        CHECK(rung_match_next(&c, &entry) && entry.place == 1 && entry.weight == 2);
        CHECK(!rung_match_next(&c, &entry) && !c.fault);
    }
    CHECK_OK(rung_mapping_set(&m, RUNG_MAP_SCORE, RUNG_SLICE("$.x"), &err));
    CHECK_STATUS(rung_mapping_check(&m, &err), RUNG_EINVAL);
    CHECK_EQ_STR(err.field, "score");
    m.targets[RUNG_MAP_SCORE].kind = RUNG_MAP_UNSET;
    CHECK_OK(rung_mapping_set(&m, RUNG_MAP_SIDES, RUNG_SLICE("word"), &err));
    CHECK_STATUS(rung_mapping_check(&m, &err), RUNG_EINVAL);
    CHECK_EQ_STR(err.field, "sides");
}

/* ---- the event ---- */

static rung_status fill(const char *mapping, const char *record, const rung_board_def *def,
                        rung_event *e, rung_err *err) {
    static rung_mapping m;
    static rung_mapped mapped;
    static char text[256];
    CHECK_OK(set(&m, mapping, err));
    snprintf(text, sizeof text, "%s", record);
    CHECK_OK(read(&m, text, "k", &mapped, err));
    return rung_mapping_fill(&m, &mapped, def, e, err);
}

TEST(events_have_the_types_of_the_board) {
    rung_board_def def = rung_board_def_default();
    rung_event e = {0};
    rung_err err = {0};
    def.key.columns[0].type = RUNG_SCORE_DECIMAL;
    def.key.columns[0].decimals = 2;
    def.key.column_count = 2;
    def.key.columns[1] = (rung_column){RUNG_SCORE_INTEGER, RUNG_ORDER_ASC, 0};
    def.column_names[0] = RUNG_SLICE("time");
    const char *mapping = "race|$.p||$.s|$.at|$.id|$.m|time: $.t, other: $.o";
    CHECK_OK(fill(mapping,
                  "{\"p\":\"ada\",\"s\":1.25,\"at\":5,\"id\":\"x\",\"m\":\"note\",\"t\":7}", &def,
                  &e, &err));
    CHECK_EQ_U64(e.kind, RUNG_EVENT_SCORE);
    CHECK(e.score.is_delta && e.score.has_at && e.score.at_ms == 5);
    CHECK_EQ_U64(e.score.value_count, 2);
    CHECK_EQ_I64(e.score.values[0].i, 125);
    CHECK_EQ_U64(e.score.decimals[0], 2);
    CHECK_EQ_I64(e.score.values[1].i, 7);
    CHECK(rung_slice_eq(e.score.id, RUNG_SLICE("x")));
    CHECK(rung_slice_eq(e.score.meta, RUNG_SLICE("note")));
    CHECK_STATUS(fill(mapping, "{\"p\":\"ada\",\"s\":1.255,\"t\":7}", &def, &e, &err), RUNG_EINVAL);
    CHECK_EQ_STR(err.field, "delta");
    CHECK_STATUS(fill(mapping, "{\"p\":\"ada\",\"s\":1.25}", &def, &e, &err), RUNG_EINVAL);
    CHECK_EQ_STR(err.field, "columns.time");
    CHECK_STATUS(fill(mapping, "{\"p\":\"ada\",\"s\":1.25,\"t\":\"x\"}", &def, &e, &err),
                 RUNG_EINVAL);
    CHECK_EQ_STR(err.field, "columns.time");
}

TEST(a_count_needs_no_score) {
    rung_board_def def = rung_board_def_default();
    rung_event e = {0};
    rung_err err = {0};
    CHECK_STATUS(fill("race|$.p", "{\"p\":\"ada\"}", &def, &e, &err), RUNG_EINVAL);
    CHECK_EQ_STR(err.field, "score");
    def.update = RUNG_UPDATE_COUNT;
    CHECK_OK(fill("race|$.p", "{\"p\":\"ada\"}", &def, &e, &err));
    CHECK_EQ_U64(e.score.value_count, 0);
}

RUNG_TEST_MAIN
