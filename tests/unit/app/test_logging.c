/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: both looks, and that no secret gets out. */
#include "app/logging.h"
#include "support/check.h"

#include <string.h>

static int64_t at_noon(void *ctx) {
    (void)ctx;
    return INT64_C(1793966400123); /* 2026-11-06 */
}

static const rung_logger text_logger = {.clock = {at_noon, NULL}};
static const rung_logger json_logger = {.clock = {at_noon, NULL}, .is_json = true};
static char line[RUNG_LOG_LINE_MAX];

#define LINE(logger, message, ...)                                                                 \
    (line[rung_logger_format(logger, RUNG_LOG_WARNING, message,                                    \
                             sizeof((rung_log_field[]){__VA_ARGS__}) / sizeof(rung_log_field),     \
                             (const rung_log_field[]){__VA_ARGS__}, line) -                        \
          1] = '\0',                                                                               \
     line)

TEST(both_looks) {
    CHECK_EQ_STR(
        LINE(&text_logger, "it is so", RUNG_LOG_NUMBER("n", -5), RUNG_LOG_STR("who", "ada l"), {0}),
        "2026-11-06T12:00:00.123Z warning it is so n=-5 who=\"ada l\"");
    CHECK_EQ_STR(
        LINE(&json_logger, "it is \"so\"", RUNG_LOG_NUMBER("n", 7), RUNG_LOG_STR("who", "a\nb")),
        "{\"ts\":\"2026-11-06T12:00:00.123Z\",\"level\":\"warning\",\"msg\":\"it is "
        "\\\"so\\\"\",\"n\":7,"
        "\"who\":\"a\\u000ab\"}");
    CHECK_EQ_STR(LINE(&text_logger, "two\nlines", {0}),
                 "2026-11-06T12:00:00.123Z warning two lines");
}

TEST(secrets_do_not_get_out) {
    static const char *const texts[] = {
        "Authorization: Bearer SECRET",
        "bearer SECRET, please",
        "rung_admin_abcdef_SECRET",
        "see rung_read_x_SECRET here",
        "eyJhbGciOi.SECRET.SECRET",
        "redis://me:SECRET@host/0",
        "kafka://SECRET@h",
        "Basic SECRET",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CHECK_MSG(!strstr(LINE(&text_logger, texts[i], {0}), "SECRET"), "%s", line);
        CHECK_MSG(!strstr(LINE(&json_logger, "x", RUNG_LOG_STR("url", texts[i])), "SECRET"), "%s",
                  line);
    }
    static const char *const names[] = {"key",           "api_key",  "Token",
                                        "Authorization", "password", "client_secret"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK(!strstr(LINE(&text_logger, "x", RUNG_LOG_STR(names[i], "SECRET")), "SECRET"));
    CHECK(strstr(LINE(&text_logger, "http://host/a@b", {0}), "http://host/a@b"));
}

TEST(long_texts_are_cut) {
    static char text[5000];
    memset(text, '\001', sizeof text - 1);
    LINE(&json_logger, text, RUNG_LOG_STR("a", text), RUNG_LOG_STR("b", text),
         RUNG_LOG_STR("c", text));
    size_t len = strlen(line);
    CHECK(len < RUNG_LOG_LINE_MAX && line[0] == '{' && line[len - 1] == '}');
}

RUNG_TEST_MAIN
