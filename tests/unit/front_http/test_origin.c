/* SPDX-License-Identifier: Apache-2.0 */
/* Which pages may read, change, or ask at all. */
#include "front/http/origin.h"
#include "support/check.h"

#include <string.h>

static const char *const LIST[] = {"https://game.example", "http://localhost:3000", NULL};
static const char *const ANY[] = {"*", NULL};

static rung_slice text(const char *s) {
    return s ? rung_slice_str(s) : (rung_slice){0};
}

TEST(cors_names_the_origin_or_any) {
    static const struct {
        const char *const *list;
        const char *origin, *allowed;
    } cases[] = {
        {LIST, "https://game.example", "https://game.example"},
        {LIST, "http://localhost:3000", "http://localhost:3000"},
        {LIST, "http://game.example", ""},
        {LIST, "https://game.example.evil", ""},
        {LIST, "", ""},
        {ANY, "https://anybody", "*"},
        {ANY, NULL, ""},
        {NULL, "https://game.example", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rung_slice allowed = rung_origin_allowed(cases[i].list, text(cases[i].origin));
        CHECK_MSG(rung_slice_eq(allowed, rung_slice_str(cases[i].allowed)), "case %zu", i);
    }
    char big[300];
    memset(big, 'x', sizeof big);
    CHECK(!rung_origin_allowed(ANY, rung_slice_of(big, sizeof big)).len);
}

TEST(our_own_pages_and_listed_ones_may_change) {
    static const struct {
        const char *origin, *host;
        bool may;
    } cases[] = {
        {NULL, "scores.example", true},
        {"https://game.example", "scores.example", true},
        {"https://scores.example", "scores.example", true},
        {"http://scores.example:7864", "scores.example:7864", true},
        {"https://evil.example", "scores.example", false},
        {"https://scores.example.evil", "scores.example", false},
        {"null", "null", false},
        {"", "", false},
        {"://", "", false},
        {"x:/scores.example", "scores.example", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rung_slice origin = cases[i].origin
                                ? rung_slice_of(cases[i].origin, strlen(cases[i].origin))
                                : (rung_slice){0};
        CHECK_MSG(rung_origin_may_change(LIST, origin, text(cases[i].host)) == cases[i].may,
                  "case %zu", i);
    }
}

TEST(origins_of_this_machine) {
    static const char *const ours[] = {"http://localhost", "https://localhost:3000",
                                       "http://127.0.0.1:7864", "http://[::1]:7864"};
    static const char *const others[] = {"",
                                         "null",
                                         "localhost",
                                         "ftp://localhost",
                                         "file://localhost",
                                         "http://localhost.evil",
                                         "http://localhostx",
                                         "http://127.0.0.1.evil",
                                         "http://evil/localhost",
                                         "http://192.168.0.1"};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        CHECK_MSG(rung_origin_is_local(text(ours[i])), "%s", ours[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        CHECK_MSG(!rung_origin_is_local(text(others[i])), "%s", others[i]);
}

TEST(without_keys_only_this_machine_may_ask) {
    static const struct {
        const char *origin, *host;
        bool is_unix;
        const char *field; /* NULL: it is let in */
    } cases[] = {
        {NULL, NULL, false, NULL},
        {NULL, "localhost", false, NULL},
        {NULL, "LocalHost:7864", false, NULL},
        {NULL, "127.0.0.1:7864", false, NULL},
        {NULL, "[::1]:7864", false, NULL},
        {NULL, "evil.example", true, NULL},
        {"http://localhost:3000", "localhost:7864", false, NULL},
        {NULL, "evil.example", false, "Host"},
        {NULL, "localhost.evil", false, "Host"},
        {NULL, "192.168.0.1:7864", false, "Host"},
        {NULL, "unix:/tmp/x", false, "Host"},
        {"http://localhost", "evil.example", false, "Host"},
        {"https://evil.example", "localhost:7864", false, ""},
        {"https://evil.example", NULL, true, ""},
        {"null", "localhost", false, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rung_err err = {0};
        rung_status st = rung_origin_check_local(text(cases[i].origin), text(cases[i].host),
                                                 cases[i].is_unix, &err);
        CHECK_MSG(st == (cases[i].field ? RUNG_EREFUSED : RUNG_OK), "case %zu", i);
        if (cases[i].field) {
            CHECK_EQ_STR(err.field, cases[i].field);
            CHECK_EQ_I64(err.reason, RUNG_REASON_FORBIDDEN);
        }
    }
}

RUNG_TEST_MAIN
