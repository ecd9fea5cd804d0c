/* SPDX-License-Identifier: Apache-2.0 */
/* Connections as their peers see them: echoed, paused, flooded, half closed, reset, timed out, stopped. */
/* ctest: labels=thread */
#include "front/net/net.h"

#include "support/netkit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>

/* ---- a protocol of lines, for tests ---- "echo X" is answered "X"; "sum" counts; "flood N" answers N bytes;
 * "pause" stops reading until "drained" or woken by the test; "quit" finishes, "abort" aborts; "ms N" sets a
 * deadline; "switch" goes on in upper case; "hold N" keeps N bytes, "shared N" sends N bytes that all share;
 * "claim" and "place" are about reserved places. */

typedef struct kit {
    netkit net;
    uint32_t opened, closed, ended, drained, expired, stopping, woken;
    rung_conn *newest;
    rung_blob *shared;
} kit;

typedef struct line_session {
    kit *kit;
} line_session;

static const rung_protocol lines, loud_lines;

static void *on_opened(void *ctx, rung_conn *c) {
    kit *k = ctx;
    line_session *s = malloc(sizeof *s);
    s->kit = k;
    k->opened++;
    k->newest = c;
    return s;
}

static kit *kit_of(rung_conn *c) {
    return ((line_session *)rung_conn_session(c))->kit;
}

static void flood(rung_conn *c, size_t len) {
    static char junk[1000];
    memset(junk, 'x', sizeof junk);
    for (; len; len -= len < sizeof junk ? len : sizeof junk)
        rung_conn_write(c, rung_slice_of(junk, len < sizeof junk ? len : sizeof junk));
}

static void command(rung_conn *c, rung_slice line) {
    char text[256] = "";
    memcpy(text, line.ptr, line.len < 255 ? line.len : 255);
    if (strncmp(text, "echo ", 5) == 0)
        rung_conn_write(c, rung_slice_of(line.ptr + 5, line.len - 5));
    else if (strncmp(text, "flood ", 6) == 0)
        flood(c, strtoul(text + 6, NULL, 10));
    else if (strcmp(text, "pause") == 0)
        rung_conn_pause(c);
    else if (strcmp(text, "wake") == 0)
        rung_conn_wake(c);
    else if (strcmp(text, "quit") == 0)
        rung_conn_finish(c);
    else if (strcmp(text, "abort") == 0)
        rung_conn_abort(c);
    else if (strncmp(text, "ms ", 3) == 0)
        rung_conn_deadline(c, (uint32_t)atoi(text + 3));
    else if (strcmp(text, "switch") == 0)
        rung_conn_switch(c, &loud_lines, rung_conn_session(c));
    else if (strcmp(text, "blob") == 0) {
        rung_blob *b = rung_blob_create(rung_alloc_heap(), 6);
        memcpy(b->bytes, "[blob]", 6);
        rung_conn_write(c, RUNG_SLICE("("));
        rung_conn_write_blob(c, b);
        rung_conn_write_blob(c, b);
        rung_conn_write(c, RUNG_SLICE(")"));
        rung_blob_give(b);
    } else if (strncmp(text, "hold ", 5) == 0) {
        rung_conn_hold(c, strtoul(text + 5, NULL, 10));
    } else if (strncmp(text, "shared ", 7) == 0) {
        kit *k = ((line_session *)rung_conn_session(c))->kit;
        if (!k->shared)
            k->shared = rung_blob_create(rung_alloc_heap(), strtoul(text + 7, NULL, 10));
        memset(k->shared->bytes, 'x', k->shared->len);
        rung_conn_write_blob(c, k->shared);
    } else if (strcmp(text, "claim") == 0) {
        rung_conn_claim(c);
    } else if (strcmp(text, "place") == 0) {
        rung_conn_write(c,
                        rung_conn_is_reserved(c) ? RUNG_SLICE("reserved") : RUNG_SLICE("common"));
    } else if (strcmp(text, "peer") == 0) {
        char peer[RUNG_ADDRESS_TEXT_MAX];
        rung_conn_peer(c, peer);
        rung_conn_write(c, rung_slice_str(peer));
    }
}

static size_t on_data(rung_conn *c, rung_slice bytes) {
    const rung_protocol *as = &lines;
    size_t done = 0;
    bool is_stopped = false;
    CHECK(bytes.len > 0);
    while (!is_stopped) {
        const char *lf = memchr(bytes.ptr + done, '\n', bytes.len - done);
        if (!lf)
            break;
        size_t len = (size_t)(lf - bytes.ptr) - done;
        rung_slice line = rung_slice_of(bytes.ptr + done, len);
        is_stopped = rung_slice_eq(line, RUNG_SLICE("pause")) ||
                     rung_slice_eq(line, RUNG_SLICE("switch")) || rung_conn_is_full(c);
        command(c, line);
        done += len + 1;
    }
    (void)as;
    return done;
}

static size_t on_loud_data(rung_conn *c, rung_slice bytes) {
    for (size_t i = 0; i < bytes.len; i++) {
        char up =
            bytes.ptr[i] >= 'a' && bytes.ptr[i] <= 'z' ? (char)(bytes.ptr[i] - 32) : bytes.ptr[i];
        rung_conn_write(c, rung_slice_of(&up, 1));
    }
    return bytes.len;
}

static void on_ended(rung_conn *c) {
    kit_of(c)->ended++;
    rung_conn_write(c, RUNG_SLICE("bye"));
    rung_conn_finish(c);
}

static void on_drained(rung_conn *c) {
    kit_of(c)->drained++;
}

static void on_woken(rung_conn *c) {
    kit_of(c)->woken++;
    rung_conn_write(c, RUNG_SLICE("woken"));
}

static void on_expired(rung_conn *c) {
    kit_of(c)->expired++;
    rung_conn_write(c, RUNG_SLICE("late"));
    rung_conn_finish(c);
}

static void on_stopping(rung_conn *c) {
    kit_of(c)->stopping++;
    rung_conn_write(c, RUNG_SLICE("stop"));
    rung_conn_finish(c);
}

static void on_closed(rung_conn *c) {
    kit_of(c)->closed++;
    free(rung_conn_session(c));
}

static const rung_protocol lines = {.opened = on_opened,
                                    .data = on_data,
                                    .ended = on_ended,
                                    .drained = on_drained,
                                    .woken = on_woken,
                                    .expired = on_expired,
                                    .stopping = on_stopping,
                                    .closed = on_closed,
                                    .busy = {"busy", 4},
                                    .input_max = 4096};
static const rung_protocol loud_lines = {
    .opened = on_opened, .data = on_loud_data, .closed = on_closed};

static void start(kit *k, rung_net_config config) {
    memset(k, 0, sizeof *k);
    netkit_start(&k->net, &config);
    netkit_listen(&k->net, &lines, k, NULL);
    netkit_run(&k->net);
}

static void stop(kit *k) {
    netkit_begin_stop(&k->net, 5000);
    netkit_join(&k->net);
    CHECK_EQ_U64(k->closed, k->opened);
    CHECK_EQ_U64(rung_net_stat(k->net.net).open, 0);
    netkit_end(&k->net);
}

static void expect(int fd, const char *text) {
    char got[256];
    netkit_read_exactly(fd, got, strlen(text));
    CHECK_EQ_STR(got, text);
}

static void expect_end(int fd) {
    char got[16];
    CHECK(netkit_read(fd, got, sizeof got) == 0);
    close(fd);
}

typedef struct held_question {
    const rung_net *net;
    rung_net_stats stats;
} held_question;

static void ask_stats(void *ctx) {
    held_question *q = ctx;
    q->stats = rung_net_stat(q->net);
}

/* The loop answers within a turn, so asking again waits for it to make progress. */
static rung_net_stats stats_of(kit *k) {
    held_question q = {.net = k->net.net};
    netkit_call(&k->net, ask_stats, &q);
    return q.stats;
}

static void await_open(kit *k, uint32_t most) {
    while (stats_of(k).open > most) {
    }
}

static void await_held(kit *k, uint64_t least) {
    while (stats_of(k).held < least) {
    }
}

static void await_cut_off(kit *k, uint64_t count) {
    while (stats_of(k).cut_off < count) {
    }
}

/* ---- tests ---- */

TEST(bytes_split_anywhere_are_put_together) {
    kit k;
    start(&k, (rung_net_config){0});
    int fd = netkit_connect(&k.net);
    const char *text = "echo one\necho two\n";
    for (const char *p = text; *p; p++) {
        netkit_send_bytes(fd, p, 1);
        stats_of(&k); /* it reads each byte by itself */
    }
    expect(fd, "onetwo");
    netkit_send(fd, "echo a\necho b\necho c\n");
    expect(fd, "abc");
    close(fd);
    stop(&k);
}

TEST(answers_of_one_turn_leave_together) {
    kit k;
    char got[64];
    start(&k, (rung_net_config){0});
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "echo a\necho b\necho c\nquit\n");
    CHECK(netkit_read(fd, got, sizeof got) == 3);
    CHECK_EQ_STR(got, "abc");
    expect_end(fd);
    stop(&k);
}

TEST(a_half_closed_peer_still_gets_its_answer) {
    kit k;
    char got[64];
    start(&k, (rung_net_config){0});
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "echo last words\n");
    shutdown(fd, SHUT_WR);
    netkit_read_all(fd, got, sizeof got, NULL);
    CHECK_EQ_STR(got, "last wordsbye");
    close(fd);
    stop(&k);
    CHECK_EQ_U64(k.ended, 1);
}

TEST(a_reset_is_an_end) {
    kit k;
    start(&k, (rung_net_config){0});
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "echo x\n");
    expect(fd, "x");
    struct linger hard = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(fd);
    stop(&k);
    CHECK_EQ_U64(k.ended, 0);
}

static void resume_newest(void *ctx) {
    kit *k = ctx;
    rung_conn_resume(k->newest);
}

TEST(paused_input_waits_and_comes_again) {
    kit k;
    char got[64];
    start(&k, (rung_net_config){0});
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "echo a\npause\necho b\n");
    expect(fd, "a");
    netkit_send(fd, "echo c\n");
    CHECK(recv(fd, got, sizeof got, MSG_DONTWAIT) < 0);
    netkit_call(&k.net, resume_newest, &k);
    expect(fd, "bc");
    close(fd);
    stop(&k);
}

TEST(a_slow_reader_stops_being_read_from_and_goes_on_later) {
    kit k;
    static char got[4 << 20];
    start(&k, (rung_net_config){.output_high = 1 << 18, .output_low = 1 << 16});
    int fd = netkit_connect(&k.net);
    /* More than the kernel's buffers hold: the rest waits with us, and the second flood is not even read. */
    netkit_send(fd, "flood 8000000\nflood 4000000\necho end\n");
    size_t total = 0;
    await_held(&k, 1); /* the kernel's buffers are full */
    while (total < 12000003) {
        ssize_t n = netkit_read(fd, got, sizeof got);
        CHECK(n > 0);
        total += (size_t)n;
        got[n] = 0;
    }
    CHECK_EQ_U64(total, 12000003);
    close(fd);
    stop(&k);
    CHECK(k.drained >= 1);
}

TEST(what_waits_to_be_sent_has_a_limit) {
    kit k;
    static char got[1 << 20];
    bool was_reset;
    start(&k, (rung_net_config){.output_high = 1 << 16, .output_max = 1 << 20});
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "flood 60000000\n");
    while (netkit_read_all(fd, got, sizeof got, &was_reset) == sizeof got - 1) {
    }
    close(fd);
    netkit_begin_stop(&k.net, 1000);
    netkit_join(&k.net);
    CHECK_EQ_U64(rung_net_stat(k.net.net).cut_off, 1);
    netkit_end(&k.net);
}

TEST(unconsumed_input_has_a_limit) {
    kit k;
    static char line[20000];
    char got[16];
    bool was_reset = false;
    start(&k, (rung_net_config){0});
    int fd = netkit_connect(&k.net);
    memset(line, 'y', sizeof line);
    netkit_send_bytes(fd, line, sizeof line);
    netkit_read_all(fd, got, sizeof got, &was_reset);
    CHECK(was_reset);
    close(fd);
    stop(&k);
}

TEST(unfinished_input_of_all_together_has_a_limit) {
    kit k;
    enum { HOGS = 60, EACH = 3000 };
    int fds[HOGS];
    char junk[EACH];
    start(&k, (rung_net_config){.held_max = 65536});
    int polite = netkit_connect(&k.net);
    netkit_send(polite, "echo a\nech");
    expect(polite, "a");
    memset(junk, 'y', sizeof junk);
    for (int i = 0; i < HOGS; i++) {
        fds[i] = netkit_connect(&k.net);
        netkit_send_bytes(fds[i], junk, sizeof junk);
        netkit_send(polite, "o b\nech"); /* below its share it is never cut off */
        expect(polite, "b");
    }
    netkit_begin_stop(&k.net, 100);
    netkit_join(&k.net);
    rung_net_stats stats = rung_net_stat(k.net.net);
    CHECK(stats.cut_off > 0 && stats.cut_off <= HOGS);
    CHECK_EQ_U64(stats.held, 0);
    netkit_end(&k.net);
    for (int i = 0; i < HOGS; i++)
        close(fds[i]);
    close(polite);
}

TEST(unread_output_of_all_together_has_a_limit) {
    kit k;
    static char got[1 << 20];
    start(&k, (rung_net_config){.held_max = 1 << 20});
    int polite = netkit_connect(&k.net);
    for (uint64_t i = 1; i <= 3; i++) {
        bool was_reset = false;
        int fd = netkit_connect(&k.net);
        netkit_send(fd, "flood 30000000\n");
        await_cut_off(&k, i); /* a reader that is quick enough would not be one */
        netkit_send(polite, "echo b\n");
        expect(polite, "b");
        while (netkit_read_all(fd, got, sizeof got, &was_reset) == sizeof got - 1) {
        }
        close(fd);
    }
    close(polite);
    netkit_begin_stop(&k.net, 1000);
    netkit_join(&k.net);
    CHECK_EQ_U64(rung_net_stat(k.net.net).cut_off, 3);
    CHECK_EQ_U64(rung_net_stat(k.net.net).held, 0);
    netkit_end(&k.net);
}

/* ---- what protocols hold ---- */

static int hold(kit *k, const char *line) {
    int fd = netkit_connect(&k->net);
    netkit_send(fd, line);
    netkit_send(fd, "echo ok\n");
    expect(fd, "ok");
    return fd;
}

TEST(what_a_protocol_holds_counts_and_the_largest_goes_first) {
    kit k;
    char got[16];
    start(&k, (rung_net_config){.held_max = 1 << 20});
    int small = hold(&k, "hold 100000\n"), large = hold(&k, "hold 500000\n"),
        middle = hold(&k, "hold 300000\n");
    CHECK_EQ_U64(stats_of(&k).held, 900000);
    netkit_send(small, "hold 50000\necho ok\n");
    expect(small, "ok");
    CHECK_EQ_U64(stats_of(&k).held, 850000);
    int late = hold(&k, "hold 280000\n"); /* more than there is room for; others hold more */
    CHECK(netkit_read(large, got, sizeof got) <= 0);
    CHECK_EQ_U64(stats_of(&k).held, 50000 + 300000 + 280000);
    netkit_send(middle, "echo still here\n");
    expect(middle, "still here");
    close(small);
    close(large);
    close(middle);
    close(late);
    await_open(&k, 0);
    CHECK_EQ_U64(stats_of(&k).held, 0);
    stop(&k);
}

/* Nobody reads it, so it is held; for all of them it is one and the same. */
TEST(shared_bytes_that_nobody_takes_count_once) {
    kit k;
    enum { VIEWERS = 8, SIZE = 20 << 20 };
    int fds[VIEWERS];
    char line[32];
    start(&k, (rung_net_config){.held_max = 32u << 20, .output_max = 1u << 30});
    snprintf(line, sizeof line, "shared %d\n", SIZE);
    for (int i = 0; i < VIEWERS; i++) {
        fds[i] = netkit_connect(&k.net);
        netkit_send(fds[i], line);
    }
    await_held(&k, SIZE);
    rung_net_stats stats = stats_of(&k);
    CHECK(stats.held < SIZE + (1 << 20));
    CHECK_EQ_U64(stats.cut_off, 0);
    for (int i = 0; i < VIEWERS; i++)
        close(fds[i]);
    await_open(&k, 0);
    CHECK_EQ_U64(stats_of(&k).held, 0);
    stop(&k);
    rung_blob_give(k.shared);
}

/* ---- places ---- */

static const char *place_of(int fd) {
    static char got[16];
    netkit_send(fd, "place\n");
    netkit_read(fd, got, sizeof got);
    return got;
}

static const rung_protocol *with_reserve(void) {
    static rung_protocol protocol;
    protocol = lines;
    protocol.has_reserve = true;
    return &protocol;
}

static void start_places(kit *k, rung_net_config config, uint16_t *plain_port_out) {
    memset(k, 0, sizeof *k);
    netkit_start(&k->net, &config);
    netkit_listen(&k->net, &lines, k, NULL);
    *plain_port_out = k->net.port;
    netkit_listen(&k->net, with_reserve(), k, NULL);
    netkit_run(&k->net);
}

TEST(one_protocol_leaves_places_for_another) {
    kit k;
    uint16_t plain;
    int fds[8];
    start_places(&k, (rung_net_config){.connections_max = 8, .connections_reserved = 2}, &plain);
    for (int i = 0; i < 4; i++) { /* as many as it may have: all but twice the reserve */
        fds[i] = netkit_connect_port(plain);
        CHECK_EQ_STR(place_of(fds[i]), "common");
    }
    int more = netkit_connect_port(plain);
    expect(more, "busy");
    close(more);
    for (int i = 4; i < 6; i++) {
        fds[i] = netkit_connect(&k.net);
        CHECK_EQ_STR(place_of(fds[i]), "common");
    }
    for (int i = 6; i < 8; i++) {
        fds[i] = netkit_connect(&k.net);
        CHECK_EQ_STR(place_of(fds[i]), "reserved");
    }
    CHECK_EQ_U64(stats_of(&k).reserved, 2);
    for (int i = 0; i < 8; i++)
        close(fds[i]);
    stop(&k);
}

TEST(a_reserved_place_goes_to_the_next_unless_it_is_claimed) {
    kit k;
    uint16_t plain;
    char got[16];
    start_places(&k, (rung_net_config){.connections_max = 8, .connections_reserved = 2}, &plain);
    int fds[6];
    for (int i = 0; i < 6; i++) {
        fds[i] = netkit_connect(&k.net);
        CHECK_EQ_STR(place_of(fds[i]), "common");
    }
    int first = netkit_connect(&k.net);
    netkit_send(first, "claim\n");
    CHECK_EQ_STR(place_of(first), "reserved");
    for (int i = 0; i < 20; i++) { /* each sends the one before it away, never the first */
        int next = netkit_connect(&k.net), last = netkit_connect(&k.net);
        CHECK(netkit_read(next, got, sizeof got) <= 0);
        CHECK_EQ_STR(place_of(last), "reserved");
        close(next);
        close(last);
    }
    CHECK_EQ_STR(place_of(first), "reserved");
    netkit_send(first, "quit\n");
    expect_end(first);
    for (int i = 0; i < 6; i++)
        close(fds[i]);
    stop(&k);
}

TEST(an_address_has_its_share) {
    kit k;
    uint16_t plain;
    int fds[3];
    start_places(&k,
                 (rung_net_config){.connections_max = 16,
                                   .connections_reserved = 2,
                                   .per_address_max = 2,
                                   .counts_loopback = true},
                 &plain);
    for (int i = 0; i < 2; i++) {
        fds[i] = netkit_connect_port(plain);
        CHECK_EQ_STR(place_of(fds[i]), "common");
    }
    int more = netkit_connect_port(plain);
    expect(more, "busy");
    close(more);
    fds[2] = netkit_connect(&k.net);
    CHECK_EQ_STR(place_of(fds[2]), "reserved");
    CHECK_EQ_U64(stats_of(&k).refused_address, 1);
    close(fds[0]);
    await_open(&k, 2);
    close(fds[2]);
    await_open(&k, 1);
    int again = netkit_connect_port(plain); /* who left makes room */
    CHECK_EQ_STR(place_of(again), "common");
    close(again);
    close(fds[1]);
    stop(&k);
}

TEST(a_peer_that_never_reads_is_cut_off) {
    kit k;
    start(&k, (rung_net_config){.write_timeout_ms = 300});
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "flood 20000000\n");
    for (;;) { /* until our own sending fails: the server is gone */
        char byte = 'z';
        if (send(fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN)
            break;
        usleep(20000);
    }
    close(fd);
    netkit_begin_stop(&k.net, 1000);
    netkit_join(&k.net);
    CHECK_EQ_U64(rung_net_stat(k.net.net).timed_out, 1);
    netkit_end(&k.net);
}

TEST(a_deadline_passes_and_can_be_moved) {
    kit k;
    char got[16];
    start(&k, (rung_net_config){0});
    int fd = netkit_connect(&k.net), other = netkit_connect(&k.net);
    netkit_send(fd, "ms 20000\nms 100\n");
    netkit_send(other, "ms 100\nms 0\n");
    netkit_read_all(fd, got, sizeof got, NULL);
    CHECK_EQ_STR(got, "late");
    netkit_send(other, "echo still here\n");
    expect(other, "still here");
    close(fd);
    close(other);
    stop(&k);
    CHECK_EQ_U64(k.expired, 1);
}

TEST(a_connection_too_many_is_told_so) {
    kit k;
    char got[16];
    start(&k, (rung_net_config){.connections_max = 2});
    int a = netkit_connect(&k.net), b = netkit_connect(&k.net);
    netkit_send(a, "echo a\n");
    expect(a, "a");
    netkit_send(b, "echo b\n");
    expect(b, "b");
    int c = netkit_connect(&k.net);
    netkit_send(c, "echo c\n");
    netkit_read_all(c, got, sizeof got, NULL);
    CHECK_EQ_STR(got, "busy");
    close(c);
    close(a);
    netkit_send(b, "echo b\n"); /* the others are none the worse for it */
    expect(b, "b");
    close(b);
    stop(&k);
    CHECK_EQ_U64(k.opened, 2);
}

TEST(the_last_answer_survives_unread_input) {
    kit k;
    static char got[2 << 20], junk[200000];
    start(&k, (rung_net_config){0});
    memset(junk, 'j', sizeof junk);
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "flood 1000000\nquit\n");
    netkit_send_bytes(fd, junk, sizeof junk);
    bool was_reset;
    size_t len = netkit_read_all(fd, got, sizeof got, &was_reset);
    CHECK_EQ_U64(len, 1000000);
    CHECK(!was_reset);
    close(fd);
    stop(&k);
}

TEST(an_abort_is_a_reset) {
    kit k;
    char got[16];
    bool was_reset;
    start(&k, (rung_net_config){0});
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "abort\n");
    netkit_read_all(fd, got, sizeof got, &was_reset);
    CHECK(was_reset);
    close(fd);
    stop(&k);
}

TEST(another_protocol_goes_on_with_what_is_left) {
    kit k;
    start(&k, (rung_net_config){0});
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "echo a\nswitch\nbcd");
    expect(fd, "aBCD");
    netkit_send(fd, "efg");
    expect(fd, "EFG");
    close(fd);
    stop(&k);
}

TEST(shared_bytes_keep_their_place) {
    kit k;
    start(&k, (rung_net_config){0});
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "blob\nblob\n");
    expect(fd, "([blob][blob])([blob][blob])");
    close(fd);
    stop(&k);
}

TEST(woken_comes_before_the_loop_waits) {
    kit k;
    start(&k, (rung_net_config){0});
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "wake\necho first \n");
    expect(fd, "first woken");
    close(fd);
    stop(&k);
}

TEST(stop_lets_connections_finish) {
    kit k;
    char got[16];
    start(&k, (rung_net_config){0});
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "echo a\n");
    expect(fd, "a");
    netkit_begin_stop(&k.net, 5000);
    netkit_read_all(fd, got, sizeof got, NULL);
    CHECK_EQ_STR(got, "stop");
    close(fd);
    netkit_join(&k.net);
    CHECK_EQ_U64(k.stopping, 1);
    CHECK_EQ_U64(k.closed, 1);
    netkit_end(&k.net);
}

TEST(stop_has_a_deadline) {
    kit k;
    start(&k, (rung_net_config){.linger_ms = 60000});
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "echo a\n");
    expect(fd, "a");
    netkit_begin_stop(&k.net, 100); /* and we do not close our side */
    netkit_join(&k.net);
    CHECK_EQ_U64(k.closed, 1);
    netkit_end(&k.net);
    close(fd);
}

TEST(a_unix_socket_is_taken_over_from_the_dead_only) {
    kit k;
    char folder[] = "/tmp/rung-net-XXXXXX", text[128], got[16];
    rung_address address;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    CHECK(mkdtemp(folder) != NULL);
    snprintf(text, sizeof text, "unix:%s/s", folder);
    CHECK_OK(rung_address_parse(rung_slice_str(text), 0, &address, NULL));
    memcpy(to.sun_path, address.path, sizeof to.sun_path);
    int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(dead, (struct sockaddr *)&to, sizeof to) == 0);
    close(dead); /* the file stays, nobody listens */

    memset(&k, 0, sizeof k);
    netkit_start(&k.net, &(rung_net_config){0});
    CHECK_OK(rung_net_listen(k.net.net, &address, &lines, &k, NULL, NULL, NULL));
    rung_err err;
    CHECK_STATUS(rung_net_listen(k.net.net, &address, &lines, &k, NULL, NULL, &err), RUNG_EBUSY);
    netkit_run(&k.net);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    netkit_send(fd, "echo hello\npeer\nquit\n");
    netkit_read_all(fd, got, sizeof got, NULL);
    CHECK_EQ_STR(got, "hellounix:");
    close(fd);
    stop(&k);
    struct stat st;
    CHECK(stat(address.path, &st) != 0);
    CHECK(rmdir(folder) == 0);
}

TEST(a_port_in_use_is_said) {
    kit k;
    rung_address address;
    rung_err err;
    memset(&k, 0, sizeof k);
    netkit_start(&k.net, &(rung_net_config){0});
    netkit_listen(&k.net, &lines, &k, NULL);
    char text[32];
    snprintf(text, sizeof text, "127.0.0.1:%u", k.net.port);
    CHECK_OK(rung_address_parse(rung_slice_str(text), 0, &address, NULL));
    CHECK_STATUS(rung_net_listen(k.net.net, &address, &lines, &k, NULL, NULL, &err), RUNG_EBUSY);
    CHECK(strstr(err.message, text) != NULL);
    netkit_run(&k.net);
    stop(&k);
}

TEST(idle_connections_are_small) {
    kit k;
    enum { COUNT = 300 };
    int fds[COUNT];
    start(&k, (rung_net_config){0});
    for (int i = 0; i < COUNT; i++) {
        fds[i] = netkit_connect(&k.net);
        netkit_send(fds[i], "echo a\nech"); /* half a line stays with us */
        expect(fds[i], "a");
    }
    netkit_begin_stop(&k.net, 100);
    netkit_join(&k.net);
    CHECK(k.net.heap.live_bytes_max < 300000 + COUNT * 4096);
    netkit_end(&k.net);
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
}

RUNG_TEST_MAIN
