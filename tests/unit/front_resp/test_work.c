/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=120 labels=thread */
/* Commands that look at much are limited, and take turns. */
#include "support/resp_kit.h"

#define TOO_MUCH(members, after)                                                                   \
    "-ERR too much work: " members " members to look at" after ", at most 100 (limits.work)\r\n"

static uint64_t work_now;
static void count_work(resp_server *s) {
    work_now = rung_resp_stat(s->resp).work;
}

/* `count` members m0, m1, ... in z. */
static void fill_z(int fd, int count) {
    for (int i = 0; i < count; i++) {
        char text[64];
        snprintf(text, sizeof text, "ZADD z %d m%d\r\n", i, i);
        resp_send(fd, text);
        resp_expect(fd, integer(1));
    }
}

TEST(work_is_limited) {
    int fd = start(&(resp_server_config){.resp = {.work_max = 100}});
    char text[400];
    fill_z(fd, 60);
    resp_ask(fd, "ZINTERCARD 9 z z z z z z z z z", integer(60)); /* one key */
    resp_ask(fd, "ZINTERCARD 9 z z z z z z z z nokey", integer(0));
    resp_ask(fd, "ZINTER 2 z z", TOO_MUCH("122", ""));
    resp_ask(fd, "ZUNION 2 z z", TOO_MUCH("122", ""));
    resp_ask(fd, "ZDIFF 2 z z", TOO_MUCH("122", ""));
    resp_ask(fd, "ZDIFF 10 z a b c d e f g h i", /* all members once are fewer */
             array(bulk("m0"), bulk("m1"), bulk("m2"), bulk("m3"), bulk("m4"), bulk("m5"),
                   bulk("m6"), bulk("m7"), bulk("m8"), bulk("m9"), bulk("m10"), bulk("m11"),
                   bulk("m12"), bulk("m13"), bulk("m14"), bulk("m15"), bulk("m16"), bulk("m17"),
                   bulk("m18"), bulk("m19"), bulk("m20"), bulk("m21"), bulk("m22"), bulk("m23"),
                   bulk("m24"), bulk("m25"), bulk("m26"), bulk("m27"), bulk("m28"), bulk("m29"),
                   bulk("m30"), bulk("m31"), bulk("m32"), bulk("m33"), bulk("m34"), bulk("m35"),
                   bulk("m36"), bulk("m37"), bulk("m38"), bulk("m39"), bulk("m40"), bulk("m41"),
                   bulk("m42"), bulk("m43"), bulk("m44"), bulk("m45"), bulk("m46"), bulk("m47"),
                   bulk("m48"), bulk("m49"), bulk("m50"), bulk("m51"), bulk("m52"), bulk("m53"),
                   bulk("m54"), bulk("m55"), bulk("m56"), bulk("m57"), bulk("m58"), bulk("m59")));
    resp_ask(fd, "ZRANDMEMBER z -101", TOO_MUCH("101", ""));
    resp_ask(fd, "ZUNIONSTORE d 2 z z", TOO_MUCH("122", ""));
    resp_ask(fd, "ZINTERSTORE d 2 z z", TOO_MUCH("122", ""));
    resp_ask(fd, "ZDIFFSTORE d 2 z z", TOO_MUCH("122", ""));
    resp_ask(fd, "ZUNIONSTORE d 5 a a a a a", error("ERR a key is named more than 4 times"));
    resp_ask(fd, "EXISTS d", integer(0));
    resp_ask(fd, "ZUNIONSTORE d 1 z", integer(60));
    resp_ask(fd, "ZRANGESTORE d z 0 -1", integer(60));
    /* a transaction has as much as one command, also of what it moves to other names itself */
    resp_send(fd, "MULTI\r\nZINTERCARD 1 z\r\nZINTERCARD 1 z\r\nZCARD z\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:60\r\n" TOO_MUCH(
                        "61", " after others") ":60\r\n");
    resp_send(fd, "MULTI\r\nRENAME z y\r\nZUNIONSTORE d 2 y y\r\nRENAME y z\r\nEXEC\r\n");
    resp_expect(
        fd, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+OK\r\n" TOO_MUCH("122", "") "+OK\r\n");
    resp_send(fd, "MULTI\r\nZRANGESTORE y z 0 -1\r\nZRANGESTORE x y 0 -1\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:60\r\n" TOO_MUCH("60", " after others"));
    /* patterns */
    memset(text, '*', 300);
    memcpy(text, "KEYS ", 5);
    snprintf(text + 5 + 257, sizeof text - 262, "\r\n");
    resp_send(fd, text);
    resp_expect(fd, error("ERR the pattern is too long: at most 256 bytes"));
    resp_ask(fd, "SCAN 0 MATCH z", array(bulk("0"), array(bulk("z"))));
    stop(fd);
}

/* Commands that look at much come one by one, whoever sends them; each is answered, in its place. */
TEST(heavy_commands_take_turns) {
    enum { CLIENTS = 5, EACH = 40 };
    int fd = start(&(resp_server_config){.resp = {.work_max = 100}}), other[CLIENTS];
    fill_z(fd, 60);
    resp_ask(fd, "ZADD o 1 a", integer(1));
    for (int i = 0; i < CLIENTS; i++) {
        other[i] = resp_connect(&srv);
        for (int j = 0; j < EACH; j++)
            resp_send(other[i], i % 2 ? "ZADD o 1 a\r\nZINTERCARD 1 z\r\n"
                                      : "ZINTERCARD 1 z\r\nZSCORE z m5\r\n");
    }
    for (int i = 0; i < CLIENTS; i++)
        for (int j = 0; j < EACH; j++) {
            resp_expect(other[i], i % 2 ? ":0\r\n:60\r\n" : ":60\r\n$1\r\n5\r\n");
        }
    resp_server_run(&srv, count_work);
    CHECK(work_now >= CLIENTS * EACH * 61);
    for (int i = 0; i < CLIENTS; i++)
        close(other[i]);
    stop(fd);
}

RUNG_TEST_MAIN
