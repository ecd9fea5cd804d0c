/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=120 labels=thread */
/* Clients that wait for a position of the log. */
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

static unsigned long long seq_now;
static void look_at_seq(resp_server *s) {
    seq_now = (unsigned long long)rung_state_seq(rung_hub_state(s->hub));
}

static unsigned long long seq(void) {
    resp_server_run(&srv, look_at_seq);
    return seq_now;
}

static const char *number(unsigned long long n) {
    static char text[4][32];
    static unsigned at;
    char *out = text[at++ % 4];
    snprintf(out, sizeof text[0], ":%llu\r\n", n);
    return out;
}

static void send_wait(int fd, unsigned long long n, const char *behind) {
    char line[128];
    snprintf(line, sizeof line, "RUNG.WAITSEQ %llu\r\n%s", n, behind);
    resp_send(fd, line);
}

TEST(a_client_reads_what_another_wrote) {
    int fd = start_plain(), one = resp_connect(&srv);
    resp_ask(fd, "ZADD k 1 a", integer(1));
    unsigned long long first = seq();
    resp_ask(fd, "RUNG.SEQ", number(first));
    resp_ask(one, "RUNG.LATEST", number(first));
    resp_ask(one, "RUNG.WAITSEQ 0", number(first));
    send_wait(one, first, "");
    resp_expect(one, number(first));
    send_wait(one, first + 1, "ZSCORE k b\r\nRUNG.SEQ\r\n");
    wait_until_blocked(1);
    resp_ask(fd, "ZADD k 2 b", integer(1));
    resp_expect(one, replies(number(first + 1), bulk("2"), number(first + 1)));
    wait_until_blocked(0);
    /* behind a change on the same connection */
    resp_send(one, "ZADD k 3 c\r\nRUNG.SEQ\r\nRUNG.LATEST\r\n");
    resp_expect(one, replies(integer(1), number(first + 2), number(first + 2)));
    close(one);
    stop(fd);
}

TEST(what_cannot_be_waited_for) {
    int fd = start_plain();
    resp_ask(fd, "RUNG.WAITSEQ 9000000000000000",
             error("ERR seq is far ahead of this log; was it restored from a backup?"));
    resp_ask(fd, "RUNG.WAITSEQ -1", error("ERR seq is out of range"));
    resp_ask(fd, "RUNG.WAITSEQ x", error("ERR seq is out of range"));
    resp_ask(fd, "MULTI", simple("OK"));
    resp_ask(fd, "RUNG.WAITSEQ 1", error("ERR Command not allowed inside a transaction"));
    resp_ask(fd, "EXEC", error("EXECABORT Transaction discarded because of previous errors."));
    stop(fd);
}

TEST(a_wait_ends) {
    int fd = start(&(resp_server_config){.resp = {.wait_ms = 20}});
    send_wait(fd, seq() + 1, "PING\r\n");
    resp_expect(fd,
                replies(error("TRYAGAIN that position has not been reached yet"), simple("PONG")));
    stop(fd);
}

/* Neither a client that leaves nor a server that stops waits for the end of a wait. */
TEST(who_leaves_does_not_wait) {
    int fd = start_plain(), one = resp_connect(&srv), two = resp_connect(&srv);
    send_wait(one, seq() + 1, "");
    send_wait(two, seq() + 1, "");
    wait_until_blocked(2);
    close(one);
    resp_server_stop(&srv);
    char byte;
    CHECK(recv(two, &byte, 1, 0) <= 0);
    close(two);
    close(fd);
}

RUNG_TEST_MAIN
