/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a turn: what pipelined requests put is handed over in the turn that let them in. Turns are counted; no
 * time passes. */
#include "support/frontkit.h"

#include <stdio.h>

enum { COUNT = 50, TURNS_MAX = 4 /* accept, read, answer, and one to spare */ };

static char answer[1 << 16];

static uint32_t count_of(const char *text, const char *part) {
    uint32_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

static void start(frontkit *k) {
    frontkit_start(k, &(frontkit_config){0});
    frontkit_define(k, "race", RUNG_WINDOWS_ALL);
    frontkit_turn(k, 1);
}

/* Turn until `part` has come `count` times; returns how many turns that took. */
static uint32_t turns_until(frontkit *k, int fd, const char *part, uint32_t count) {
    size_t len = 0;
    for (uint32_t turns = 1; turns < 1000; turns++) {
        frontkit_turn(k, 1);
        len += frontkit_read(fd, answer + len, sizeof answer - len);
        if (count_of(answer, part) == count)
            return turns;
    }
    return UINT32_MAX;
}

static void send_all(int fd, const char *text) {
    CHECK_EQ_U64((uint64_t)send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Each is handed out when the one before it is answered. None waits for a timer: there is none. */
TEST(pipelined_http_writes_do_not_take_a_turn_each) {
    frontkit k;
    char request[256];
    start(&k);
    int fd = frontkit_connect(&k.http_bound);
    for (int i = 0; i < COUNT; i++) {
        snprintf(
            request, sizeof request,
            "POST /v1/boards/race/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
            "application/json\r\nContent-Length: 27\r\n\r\n{\"player\":\"ada\",\"score\":%02d}",
            10 + i % 80);
        send_all(fd, request);
    }
    CHECK(turns_until(&k, fd, "HTTP/1.1 200", COUNT) <= TURNS_MAX);
    close(fd);
    frontkit_stop(&k);
}

/* The same over RESP, where a session goes on inside the hub's turn. */
TEST(pipelined_resp_writes_do_not_take_a_turn_each) {
    frontkit k;
    start(&k);
    int fd = frontkit_connect(&k.resp_bound);
    for (int i = 0; i < COUNT; i++)
        send_all(fd, "ZINCRBY plain 1 ada\r\nZSCORE plain ada\r\n");
    CHECK(turns_until(&k, fd, "$", 2 * COUNT) <= TURNS_MAX);
    close(fd);
    frontkit_stop(&k);
}

/* With nothing to do a turn puts nothing, and hands nothing over. */
TEST(an_idle_turn_makes_no_batch) {
    frontkit k;
    start(&k);
    frontkit_turn(&k, 10);
    CHECK(!rung_commit_has_new(rung_hub_commit(k.hub)) &&
          rung_commit_is_idle(rung_hub_commit(k.hub)));
    CHECK_EQ_U64(rung_hub_stat(k.hub).put, 1);
    frontkit_stop(&k);
}

RUNG_TEST_MAIN
