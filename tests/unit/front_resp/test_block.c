/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=120 labels=thread */
/* Clients that wait for a member. */
#include "support/resp_kit.h"

static uint32_t blocked_now;
static void count_blocked(resp_server *s) {
    blocked_now = rung_resp_stat(s->resp).blocked;
}

static void wait_until_blocked(uint32_t count) {
    do
        resp_server_run(&srv, count_blocked);
    while (blocked_now != count);
}

TEST(blocking) {
    int fd = start_plain(), one = resp_connect(&srv), two = resp_connect(&srv);
    resp_send(one, "BZPOPMIN k 0\r\nPING\r\n");
    wait_until_blocked(1);
    resp_send(two, "BZMPOP 0 2 j k MAX COUNT 2\r\n");
    wait_until_blocked(2);
    resp_ask(fd, "ZADD k 1 a", integer(1));
    resp_expect(one, replies(array(bulk("k"), bulk("a"), bulk("1")), simple("PONG")));
    resp_ask(fd, "ZADD k 2 b 3 c 4 d", integer(3));
    resp_expect(two,
                array(bulk("k"), array(array(bulk("d"), bulk("4")), array(bulk("c"), bulk("3")))));
    resp_ask(fd, "ZCARD k", integer(1));
    /* at once where there is something */
    resp_ask(one, "BZPOPMAX nokey k 0", array(bulk("k"), bulk("b"), bulk("2")));
    resp_ask(fd, "SADD s x", integer(1));
    resp_ask(one, "BZPOPMAX s 0",
             error("WRONGTYPE Operation against a key holding the wrong kind of value"));
    resp_ask(one, "BZPOPMAX k x", error("ERR timeout is not a float or out of range"));
    /* until the time is over */
    resp_send(one, "BZPOPMIN k 5\r\n");
    wait_until_blocked(1);
    resp_server_advance(&srv, 5000);
    resp_expect(one, nil_array);
    wait_until_blocked(0);
    /* gone before it was answered: the next one gets it */
    resp_send(one, "BZPOPMIN k 0\r\n");
    wait_until_blocked(1);
    close(one);
    wait_until_blocked(0);
    resp_send(two, "BZPOPMIN k 0\r\n");
    wait_until_blocked(1);
    resp_ask(fd, "ZADD k 7 q", integer(1));
    resp_expect(two, array(bulk("k"), bulk("q"), bulk("7")));
    close(two);
    stop(fd);
}

static void resp_ask_text(int fd, const char *text, const char *want) {
    resp_send(fd, text);
    resp_send(fd, "\r\n");
    resp_expect(fd, want);
}

static uint64_t looks_now;
static void count_looks(resp_server *s) {
    looks_now = rung_resp_stat(s->resp).blocked_looks;
}

static uint64_t looks(void) {
    resp_server_run(&srv, count_looks);
    return looks_now;
}

/* Many wait for many keys; changes of others cost nothing, and one of theirs as much as it serves. */
TEST(waiting_clients_cost_what_they_are_served) {
    enum { CLIENTS = 20, KEYS = 100, CHANGES = 200 };
    static char text[KEYS * 16 + 64];
    int fd = start_plain(), waiting[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        size_t len = (size_t)snprintf(text, sizeof text, "BZPOPMIN");
        for (int j = 0; j < KEYS; j++)
            len += (size_t)snprintf(text + len, sizeof text - len, " own%d.%d", i, j);
        snprintf(text + len, sizeof text - len, " shared 0\r\n");
        waiting[i] = resp_connect(&srv);
        resp_send(waiting[i], text);
        wait_until_blocked((uint32_t)i + 1);
    }
    uint64_t before = looks();
    CHECK_EQ_U64(before, CLIENTS * (KEYS + 1)); /* once each, when they came */
    for (int i = 0; i < CHANGES; i++) {
        snprintf(text, sizeof text, "ZADD other%d %d m", i, i);
        resp_ask_text(fd, text, integer(1));
    }
    CHECK_EQ_U64(looks(), before);
    resp_ask(fd, "ZADD own7.99 5 m", integer(1));
    resp_expect(waiting[7], array(bulk("own7.99"), bulk("m"), bulk("5")));
    wait_until_blocked(CLIENTS - 1);
    CHECK_EQ_U64(looks(), before + 1);
    /* Who came first is served first, from whichever key. */
    resp_ask(fd, "ZADD shared 1 a 2 b 3 c", integer(3));
    resp_expect(waiting[0], array(bulk("shared"), bulk("a"), bulk("1")));
    resp_expect(waiting[1], array(bulk("shared"), bulk("b"), bulk("2")));
    resp_expect(waiting[2], array(bulk("shared"), bulk("c"), bulk("3")));
    wait_until_blocked(CLIENTS - 4);
    CHECK(looks() <= before + 1 + 4);
    for (int i = 0; i < CLIENTS; i++)
        close(waiting[i]);
    wait_until_blocked(0);
    stop(fd);
}

TEST(waiting_clients_hear_of_every_way_members_come) {
    static const char *const ways[] = {
        "ZADD k 1 m",
        "ZADD k 1 m 2 n",
        "ZINCRBY k 1 m",
        "ZUNIONSTORE k 1 full",
        "ZINTERSTORE k 1 full",
        "ZDIFFSTORE k 1 full",
        "ZRANGESTORE k full 0 -1",
        "RENAME spare k",
        "MULTI\r\nZADD j 1 m\r\nZADD k 1 m\r\nEXEC",
        "MULTI\r\nZADD k 1 m\r\nDEL k\r\nZADD k 1 m\r\nEXEC",
    };
    int fd = start_plain(), other = resp_connect(&srv);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        resp_ask(fd, "ZADD full 1 m", integer(1));
        resp_ask(fd, "ZADD spare 1 m", integer(1));
        resp_send(other, "BZPOPMIN nokey k 0\r\n");
        wait_until_blocked(1);
        resp_send(fd, ways[i]);
        resp_send(fd, "\r\n");
        resp_expect(other, array(bulk("k"), bulk("m"), bulk("1")));
        close(fd);
        fd = resp_connect(&srv);
        resp_ask(fd, "FLUSHALL", simple("OK"));
    }
    /* A pop that comes to nothing: the client waits on, and is served by the next. */
    resp_send(other, "BZPOPMIN k 0\r\n");
    wait_until_blocked(1);
    resp_send(fd, "ZADD k 1 m\r\nZREM k m\r\nZCARD k\r\n");
    resp_expect(fd, replies(integer(1), integer(1), integer(0)));
    wait_until_blocked(1);
    resp_ask(fd, "ZADD k 2 n", integer(1));
    resp_expect(other, array(bulk("k"), bulk("n"), bulk("2")));
    close(other);
    stop(fd);
}

TEST(keys_to_wait_for_have_a_limit) {
    enum { MOST = 1024, ALL = 65536 / 2 };
    static char text[(MOST + 1) * 8 + 64];
    int fd = start_plain(), waiting[ALL / MOST + 1];
    for (int more = 0; more < 2; more++) {
        size_t len = (size_t)snprintf(text, sizeof text, "BZPOPMIN");
        for (int j = 0; j < MOST + more; j++)
            len += (size_t)snprintf(text + len, sizeof text - len, " k%d", j);
        snprintf(text + len, sizeof text - len, " 0");
        if (more)
            resp_ask_text(fd, text,
                          error("ERR too many keys to wait for: at most 1024 in one command"));
    }
    size_t end = strlen(text) - strlen(" k1024 0");
    snprintf(text + end, sizeof text - end, " 0");
    int count = 0; /* all of one sender: it gets half */
    for (; count < ALL / MOST; count++) {
        waiting[count] = resp_connect(&srv);
        resp_send(waiting[count], text);
        resp_send(waiting[count], "\r\n");
        wait_until_blocked((uint32_t)count + 1);
    }
    resp_ask_text(fd, text, error("ERR too many keys are waited for by blocked clients"));
    while (count)
        close(waiting[--count]);
    wait_until_blocked(0);
    resp_send(fd, text);
    resp_send(fd, "\r\n");
    wait_until_blocked(1);
    stop(fd);
}

TEST(blocking_has_a_limit) {
    int fd = start(&(resp_server_config){.resp = {.blocked_max = 1}}), other = resp_connect(&srv);
    resp_send(fd, "BZPOPMIN k 0\r\n");
    wait_until_blocked(1);
    resp_ask(other, "BZPOPMIN k 0", error("ERR too many clients are blocked"));
    close(other);
    stop(fd);
}

RUNG_TEST_MAIN
