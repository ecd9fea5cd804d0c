/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/board_json.h"
#include "support/check.h"
#include "support/event_gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rung_status read_text(const char *text, rung_board_def *def, rung_err *err, char *buffer) {
    size_t len = strlen(text);
    memcpy(buffer, text, len + 1);
    return rung_board_json_read(buffer, len, RUNG_SLICE("race"), def, err);
}

static void refused(const char *text, rung_status want, const char *field) {
    char buffer[4096];
    rung_board_def def;
    rung_err err = {0};
    rung_status st = read_text(text, &def, &err, buffer);
    CHECK_MSG(st == want, "%s: %s, %s", text, rung_status_name(st), err.message);
    CHECK_MSG(strncmp(err.message, field, strlen(field)) == 0 && err.message[strlen(field)] == ':',
              "%s: %s", text, err.message);
}

TEST(nothing_is_the_default) {
    char buffer[8];
    rung_board_def def, want = rung_board_def_default();
    CHECK_OK(read_text("{}", &def, NULL, buffer));
    uint8_t a[256], b[256];
    size_t a_len, b_len;
    CHECK_OK(rung_board_def_encode(&def, a, sizeof a, &a_len));
    CHECK_OK(rung_board_def_encode(&want, b, sizeof b, &b_len));
    CHECK_EQ_U64(a_len, b_len);
    CHECK_EQ_MEM(a, b, a_len);
}

TEST(every_field) {
    char buffer[2048];
    rung_board_def d;
    rung_err err = {0};
    CHECK_OK(read_text(
        "{\"id\":\"race\",\"title\":\"T\",\"score\":{\"type\":\"decimal\",\"decimals\":2,\"order\":"
        "\"asc\"},"
        "\"columns\":[{\"name\":\"a\",\"type\":\"real\"},{\"name\":\"b\",\"order\":\"asc\"}],"
        "\"update\":\"last\",\"tie\":\"player\",\"rank\":\"dense\","
        "\"windows\":[\"day\",{\"name\":\"s1\",\"starts\":\"2026-01-01T00:00:00Z\",\"ends\":"
        "\"2026-02-01T00:00:00Z\"},\"all\"],\"timezone\":\"Asia/Tokyo\",\"day_starts\":\"23:59\","
        "\"grace\":1.5,\"keep\":0,\"scopes\":[\"country\",\"x\"],\"teams\":{\"by\":\"g\","
        "\"combine\":"
        "\"top:100\"},\"limits\":{\"min\":\"-0.5\",\"max\":1e2,\"max_step\":0.25,"
        "\"per_player_per_minute\":7,\"z_score\":2.5},\"writers\":\"player\",\"seq\":9}",
        &d, &err, buffer));
    CHECK(rung_slice_eq(d.title, RUNG_SLICE("T")));
    CHECK_EQ_U64(d.key.column_count, 3);
    CHECK_EQ_U64(d.key.columns[0].type, RUNG_SCORE_DECIMAL);
    CHECK_EQ_U64(d.key.columns[0].decimals, 2);
    CHECK_EQ_U64(d.key.columns[0].order, RUNG_ORDER_ASC);
    CHECK_EQ_U64(d.key.columns[1].type, RUNG_SCORE_REAL);
    CHECK(rung_slice_eq(d.column_names[1], RUNG_SLICE("b")));
    CHECK_EQ_U64(d.update, RUNG_UPDATE_LAST);
    CHECK_EQ_U64(d.key.tie, RUNG_TIE_PLAYER);
    CHECK_EQ_U64(d.rank, RUNG_RANK_DENSE);
    CHECK_EQ_U64(d.windows, RUNG_WINDOWS_ALL | RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY));
    CHECK_EQ_U64(d.season_count, 1);
    CHECK_EQ_I64(d.seasons[0].starts_ms, INT64_C(1767225600000));
    CHECK_EQ_I64(d.day_starts_min, 1439);
    CHECK_EQ_I64(d.grace_ms, 1500);
    CHECK_EQ_U64(d.keep, 0);
    CHECK_EQ_U64(d.scope_count, 2);
    CHECK(d.has_teams && d.team_combine == RUNG_COMBINE_TOP && d.team_top == 100);
    CHECK_EQ_U64(d.limits, RUNG_LIMITS_MASK);
    CHECK_EQ_I64(d.min.i, -50);
    CHECK_EQ_I64(d.max.i, 10000);
    CHECK_EQ_I64(d.max_step.i, 25);
    CHECK_EQ_U64(d.per_player_per_minute, 7);
    CHECK_EQ_F64(d.z_score, 2.5);
    CHECK_EQ_U64(d.writers, RUNG_WRITERS_PLAYER);
}

TEST(keep_by_kind) {
    rung_board_def def;
    rung_err err = {0};
    char buffer[2048];
    CHECK_OK(read_text("{\"keep\":{\"hour\":48,\"season\":0}}", &def, &err, buffer));
    CHECK_EQ_U64(rung_board_keep(&def, RUNG_WINDOW_HOUR), 48);
    CHECK_EQ_U64(rung_board_keep(&def, RUNG_WINDOW_SEASON), 0);
    CHECK_EQ_U64(rung_board_keep(&def, RUNG_WINDOW_DAY), 2);
    CHECK_OK(read_text("{\"keep\":{\"day\":30,\"other\":0}}", &def, &err, buffer));
    CHECK_EQ_U64(rung_board_keep(&def, RUNG_WINDOW_DAY), 30);
    CHECK_EQ_U64(rung_board_keep(&def, RUNG_WINDOW_HOUR), 0);
    CHECK_OK(read_text("{\"keep\":{}}", &def, &err, buffer));
    CHECK_EQ_U64(def.keep, 2);
    CHECK_EQ_U64(def.keep_kinds, 0);
}

TEST(what_is_wrong_is_named) {
    refused("{\"windows\":[\"day\",\"day\"]}", RUNG_EINVAL, "windows[1]");
    refused("{\"columns\":[{\"name\":\"a\"},{\"name\":\"b\",\"type\":\"text\"}]}", RUNG_EINVAL,
            "columns[1].type");
    refused("{\"score\":{\"type\":\"real\",\"decimals\":1}}", RUNG_EINVAL, "score.decimals");
    refused("{\"columns\":[{\"name\":\"a\",\"decimals\":1}]}", RUNG_EINVAL, "columns[0].decimals");
    refused("{\"limits\":{\"max\":\"ten\"}}", RUNG_EINVAL, "limits.max");
    refused("{\"limits\":{\"max\":99999999999999999999}}", RUNG_ERANGE, "limits.max");
    refused("{\"limits\":{\"z_score\":1e999}}", RUNG_ERANGE, "limits.z_score");
    refused("{\"grace\":1e30}", RUNG_EINVAL, "grace");
    refused("{\"half_life\":0.0001}", RUNG_EINVAL, "half_life");
    refused("{\"teams\":{\"by\":\"g\",\"combine\":\"top:1000\"}}", RUNG_EINVAL, "teams.combine");
    refused("{\"teams\":{\"by\":\"g\",\"combine\":\"top:\"}}", RUNG_EINVAL, "teams.combine");
    refused("{\"update\":\"elo\",\"rating\":{\"tau\":1}}", RUNG_EINVAL, "rating.tau");
    refused("{\"update\":\"elo\",\"rating\":{\"k\":1e999}}", RUNG_ERANGE, "rating.k");
    refused("{\"rating\":{}}", RUNG_EINVAL, "rating");
    refused("{\"review\":\"top:0\"}", RUNG_EINVAL, "review");
    refused("{\"review\":\"top:1000001\"}", RUNG_EINVAL, "review");
    refused("{\"review\":\"all\"}", RUNG_EINVAL, "review");
    refused("{\"keep\":{\"hour\":-1}}", RUNG_ERANGE, "keep.hour");
    refused("{\"keep\":{\"day\":10001}}", RUNG_ERANGE, "keep.day");
    refused("{\"keep\":{\"all\":1}}", RUNG_EINVAL, "keep.all");
    refused("{\"keep\":\"two\"}", RUNG_EINVAL, "keep");
    refused("{\"id\":\"rac\"}", RUNG_EINVAL, "id");
    refused(
        "{\"windows\":[{\"name\":\"s\",\"starts\":\"2026-01-01T00:00:00Z\",\"ends\":\"2026-01-"
        "02T00:00:00Z\"},"
        "{\"name\":\"s\",\"starts\":\"2026-01-01T00:00:00Z\",\"ends\":\"2026-01-02T00:00:00Z\"}]}",
        RUNG_EINVAL, "windows[1]");
}

static size_t write_seasons(char *text, size_t size, int count) {
    size_t len = (size_t)snprintf(text, size, "{\"windows\":[");
    for (int i = 0; i < count; i++)
        len += (size_t)snprintf(text + len, size - len,
                                "%s{\"name\":\"s%d\",\"starts\":\"2026-01-01T00:00:00Z\",\"ends\":"
                                "\"2026-02-01T00:00:00Z\"}",
                                i ? "," : "", i);
    return len + (size_t)snprintf(text + len, size - len, "]}");
}

TEST(too_many_seasons) {
    static char text[1 << 16];
    rung_board_def def;
    rung_err err = {0};
    size_t len = write_seasons(text, sizeof text, RUNG_SEASONS_MAX + 1);
    CHECK_STATUS(rung_board_json_read(text, len, RUNG_SLICE("race"), &def, &err), RUNG_ELIMIT);
    len = write_seasons(text, sizeof text, RUNG_SEASONS_MAX);
    CHECK_OK(rung_board_json_read(text, len, RUNG_SLICE("race"), &def, &err));
    CHECK_EQ_U64(def.season_count, RUNG_SEASONS_MAX);
}

/* Any definition there can be, written and read, is the same again. */
TEST(there_and_back) {
    event_gen *gen = malloc(sizeof *gen);
    rung_json_writer w = {.alloc = rung_alloc_heap()};
    rung_board_def def, back;
    event_gen_init(gen, test_seed(1));
    for (uint64_t i = 0; i < test_steps(5000); i++) {
        rung_err err = {0};
        event_gen_def(gen, &def);
        if (def.zone_name.len && rung_slice_eq(def.zone_name, RUNG_SLICE("UTC")))
            def.zone_name.len = 0;
        if (def.key.columns[0].type == RUNG_SCORE_REAL) { /* both zeros are 0 */
            def.min.d += 0.0;
            def.max.d += 0.0;
            def.max_step.d += 0.0;
            for (uint32_t k = 0; k < def.rule_count; k++)
                if (rung_rule_measure(def.rules[k].rule) == RUNG_MEASURE_SCORE)
                    def.rules[k].value.d += 0.0;
        }
        rung_json_writer_reset(&w);
        rung_json_open_object(&w);
        rung_board_json_write(&w, RUNG_SLICE("race"), &def);
        rung_json_close_object(&w);
        CHECK(!rung_json_failed(&w));
        rung_status st = rung_board_json_read(w.data, w.len, RUNG_SLICE("race"), &back, &err);
        CHECK_MSG(st == RUNG_OK, "step %llu: %s", (unsigned long long)i, err.message);
        back.zone_rules = def.zone_rules; /* looked up by name, elsewhere */
        char *a = board_def_text(&def), *b = board_def_text(&back);
        CHECK_EQ_STR(a, b);
        free(a);
        free(b);
    }
    rung_json_writer_deinit(&w);
    free(gen);
}

/* Every prefix of a text is refused, and every flip of a bit is refused or read: nothing breaks. */
TEST(damaged_texts) {
    static const char whole[] =
        "{\"title\":\"a\\u00e9\",\"score\":{\"type\":\"real\"},\"windows\":[\"all\",{\"name\":"
        "\"s\","
        "\"starts\":\"2026-01-01T00:00:00Z\",\"ends\":\"2026-02-01T00:00:00Z\"}],\"teams\":{\"by\":"
        "\"g\"},\"limits\":{\"min\":1},\"scopes\":[\"x\"]}";
    char buffer[sizeof whole];
    rung_board_def def;
    rung_err err;
    for (size_t len = 0; len < sizeof whole - 1; len++) {
        memcpy(buffer, whole, sizeof whole);
        CHECK(rung_board_json_read(buffer, len, RUNG_SLICE("race"), &def, &err) < 0);
    }
    for (size_t bit = 0; bit < (sizeof whole - 1) * 8; bit++) {
        memcpy(buffer, whole, sizeof whole);
        buffer[bit / 8] = (char)(buffer[bit / 8] ^ 1 << bit % 8);
        rung_ignore(rung_board_json_read(buffer, sizeof whole - 1, RUNG_SLICE("race"), &def, &err),
                    "either is fine");
    }
}

RUNG_TEST_MAIN
