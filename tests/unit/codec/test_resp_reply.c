/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a reply, whole and cut at every point. */
#include "codec/resp_reply.h"

#include "support/check.h"

#include <string.h>

TEST(replies) {
    static const char *const good[] = {
        "+OK\r\n",
        "-ERR no\r\n",
        ":12\r\n",
        "$3\r\nada\r\n",
        "$0\r\n\r\n",
        "$-1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*2\r\n$1\r\na\r\n:1\r\n",
        "*2\r\n*2\r\n+a\r\n+b\r\n*1\r\n$2\r\n\r\n\r\n",
        "%1\r\n+k\r\n,1.5\r\n",
        "|1\r\n+k\r\n+v\r\n:5\r\n",
        "~2\r\n#t\r\n_\r\n",
        "(123\r\n",
        "=5\r\ntxt:a\r\n",
        ">1\r\n+x\r\n",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        size_t len = strlen(good[i]), got = 0;
        char more[64];
        memcpy(more, good[i], len);
        memcpy(more + len, "+next\r\n", 7);
        for (size_t cut = 0; cut <= len; cut++) {
            rung_resp_reply r = {0};
            rung_status st = rung_resp_reply_end(&r, rung_slice_of(good[i], cut), &got);
            CHECK(st == (cut == len ? RUNG_OK : RUNG_PARTIAL));
            if (st == RUNG_PARTIAL)
                CHECK_OK(rung_resp_reply_end(&r, rung_slice_of(more, len + 7), &got));
            CHECK_EQ_U64(got, len);
        }
    }
}

TEST(not_replies) {
    static const char *const bad[] = {
        "x\r\n",       "\r\n", "$x\r\n", "*-2\r\n", "+a\rb\r\n", "$1\r\nab\r\n", "$99999999999\r\n",
        "*1\r\nz\r\n", "*\r\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rung_resp_reply r = {0};
        size_t got;
        CHECK_STATUS(rung_resp_reply_end(&r, rung_slice_str(bad[i]), &got), RUNG_EINVAL);
    }
}

RUNG_TEST_MAIN
