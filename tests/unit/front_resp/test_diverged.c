/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=120 labels=thread */
/* A server whose state is not that of the others answers no question about it, nor one that was waiting. */
#include "support/resp_kit.h"
#include "support/shared_log.h"

static shared_topic *topic;
static uint32_t blocked_now;
static uint64_t checkpoint_now;

static void look(resp_server *s) {
    rung_checkpoint c = {0};
    blocked_now = rung_resp_stat(s->resp).blocked;
    checkpoint_now = rung_nodes_checkpoint_at(rung_hub_nodes(s->hub), 0, &c) ? c.seq : 0;
}

/* Two other servers have another digest at the last checkpoint. */
static void outvote(resp_server *s) {
    uint8_t bytes[RUNG_NODE_REPORT_SIZE_MAX];
    (void)s;
    for (uint64_t node = 77; node < 79; node++) {
        rung_node_report r = {.node = node,
                              .run = 1,
                              .seq = checkpoint_now,
                              .heartbeat_ms = 60000,
                              .checkpoint_count = 1,
                              .checkpoints = {{checkpoint_now, {1, 2}}}};
        shared_topic_add(topic, RUNG_LOG_TYPE_REPORT,
                         rung_slice_of(bytes, rung_node_report_encode(&r, bytes)), 99, 0);
    }
}

static void expect_line(int fd, const char *start) {
    char line[512];
    size_t len = 0;
    while (len == 0 || line[len - 1] != '\n') {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        CHECK(len < sizeof line && poll(&p, 1, 60000) > 0);
        CHECK(recv(fd, line + len++, 1, 0) == 1);
    }
    CHECK_MSG(strncmp(line, start, strlen(start)) == 0, "%.*s", (int)len, line);
}

static void expect_diverged(int fd) {
    expect_line(fd, "-DIVERGED the state differs from that of the other servers at ");
}

TEST(nobody_gets_an_answer) {
    char path[32];
    make_folder(path);
    topic = calloc(1, sizeof *topic);
    CHECK(topic);
    int fd = start(&(resp_server_config){.path = path, .log = shared_log_open(topic)});
    int popping = resp_connect(&srv), waiting = resp_connect(&srv), asking = resp_connect(&srv);
    resp_ask(fd, "ZADD k 1 a", integer(1));
    resp_ask(asking, "MULTI", simple("OK"));
    resp_ask(asking, "ZSCORE k a", simple("QUEUED"));
    resp_send(popping, "BZPOPMIN none 0\r\n");
    resp_send(waiting, "RUNG.WAITSEQ 60000\r\n");
    do
        resp_server_run(&srv, look);
    while (blocked_now != 2 || !checkpoint_now);
    resp_server_run(&srv, outvote);
    expect_diverged(popping);
    expect_diverged(waiting);
    static const char *const commands[] = {"ZSCORE k a\r\n", "ZADD k 2 b\r\n", "DBSIZE\r\n",
                                           "RUNG.TOP k\r\n", "RUNG.SEQ\r\n",   "BZPOPMIN k 0\r\n"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        resp_send(fd, commands[i]);
        expect_diverged(fd);
    }
    resp_send(asking, "EXEC\r\n");
    expect_line(asking, "-EXECABORT Transaction discarded because of: DIVERGED ");
    resp_ask(fd, "PING", simple("PONG"));
    close(popping);
    close(waiting);
    close(asking);
    stop(fd);
    shared_topic_free(topic);
    remove_folder(path);
}

RUNG_TEST_MAIN
