/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/url.h"
#include "support/check.h"

#include <string.h>

static rung_err err;

TEST(decoding) {
    static const struct {
        const char *in, *want; /* want NULL: refused */
        bool plus;
    } cases[] = {
        {"", "", false},         {"abc", "abc", false},
        {"a%20b", "a b", false}, {"a+b", "a+b", false},
        {"a+b", "a b", true},    {"%2B", "+", true},
        {"%2f%2F", "//", false}, {"%c3%A4", "\xc3\xa4", false},
        {"%25", "%", false},     {"%", NULL, false},
        {"%4", NULL, false},     {"%4g", NULL, false},
        {"%%41", NULL, false},   {"a%00", NULL, false},
        {"%ff", NULL, false},    {"%c3", NULL, false},
        {"\xff", NULL, false},   {"%C0%AF", NULL, false},
        {"% 41", NULL, false},   {"%e2%82%ac", "\xe2\x82\xac", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[64];
        rung_slice got;
        rung_status st =
            rung_url_decode(rung_slice_str(cases[i].in), cases[i].plus, out, &got, &err);
        CHECK_MSG((st == RUNG_OK) == (cases[i].want != NULL), "%s", cases[i].in);
        if (st == RUNG_OK)
            CHECK(rung_slice_eq(got, rung_slice_str(cases[i].want)));
    }
}

TEST(every_byte_there_and_back) {
    for (unsigned c = 1; c < 128; c++) {
        char in = (char)c, encoded[3], out[3];
        size_t len = rung_url_encode(rung_slice_of(&in, 1), encoded);
        rung_slice got;
        CHECK_OK(rung_url_decode(rung_slice_of(encoded, len), true, out, &got, &err));
        CHECK(got.len == 1 && got.ptr[0] == in);
    }
}

TEST(segments) {
    rung_slice s[4];
    uint32_t n;
    CHECK_OK(rung_url_segments(RUNG_SLICE("/v1/boards/a%2Fb"), s, 4, &n, &err));
    CHECK_EQ_U64(n, 3);
    CHECK(rung_slice_eq(s[0], RUNG_SLICE("v1")) && rung_slice_eq(s[2], RUNG_SLICE("a%2Fb")));
    CHECK_OK(rung_url_segments(RUNG_SLICE("/"), s, 4, &n, &err));
    CHECK(n == 1 && s[0].len == 0);
    CHECK_OK(rung_url_segments(RUNG_SLICE("/a/"), s, 4, &n, &err));
    CHECK(n == 2 && s[1].len == 0);
    CHECK_OK(rung_url_segments(RUNG_SLICE("/a/b/c/d"), s, 4, &n, &err));
    CHECK_STATUS(rung_url_segments(RUNG_SLICE("/a/b/c/d/"), s, 4, &n, &err), RUNG_ELIMIT);
    CHECK_STATUS(rung_url_segments(RUNG_SLICE(""), s, 4, &n, &err), RUNG_EINVAL);
    CHECK_STATUS(rung_url_segments(RUNG_SLICE("a"), s, 4, &n, &err), RUNG_EINVAL);
}

RUNG_TEST_MAIN
