/* SPDX-License-Identifier: Apache-2.0 */
/* WebSocket connections over real sockets: masks, fragments, control frames, limits, closing. */
/* ctest: labels=thread */
#include "front/live/websocket.h"

#include "front/live/topic.h"
#include "support/livekit.h"
#include "support/netkit.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- a server whose connections are WebSockets from the first byte ---- */

typedef struct kit {
    netkit net;
    livekit live; /* its state and clock; the room itself is `room`, on the net's loop */
    rung_live *room;
    uint32_t closed;
    bool is_forbidden;
    rung_protocol protocol;
} kit;

static bool may(void *ctx, rung_live_spec *spec, rung_err *err) {
    kit *k = ctx;
    if (spec && rung_slice_eq(spec->player, RUNG_SLICE("secret"))) {
        RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "player", "not yours");
        return false;
    }
    return !k->is_forbidden;
}

static void closed(void *ctx) {
    ((kit *)ctx)->closed++;
}

static void *on_opened(void *ctx, rung_conn *c) {
    kit *k = ctx;
    rung_websocket *ws;
    CHECK_OK(rung_websocket_create(&(rung_websocket_config){.alloc = rung_alloc_heap(),
                                                            .live = k->room,
                                                            .board = RUNG_SLICE("race"),
                                                            .may = may,
                                                            .closed = closed,
                                                            .ctx = k,
                                                            .ping_ms = 300},
                                   &ws, NULL));
    rung_live_spec spec = {.kind = RUNG_LIVE_TOP, .board = RUNG_SLICE("race"), .count = 3};
    rung_websocket_begin(ws, c, &spec, NULL);
    return ws;
}

static void start(kit *k) {
    memset(k, 0, sizeof *k);
    livekit_start(&k->live, &(rung_live_config){0});
    livekit_define(&k->live, "race", RUNG_WINDOWS_ALL);
    livekit_score(&k->live, "race", "ada", 10);
    netkit_start(&k->net, &(rung_net_config){0});
    CHECK_OK(rung_live_create(&(rung_live_config){.alloc = rung_alloc_heap(),
                                                  .loop = k->net.loop,
                                                  .state = livekit_state,
                                                  .now_ms = livekit_now,
                                                  .write_head = livekit_head,
                                                  .write_row = livekit_row,
                                                  .frame_rate = 100,
                                                  .ctx = &k->live},
                              &k->room, NULL));
    k->protocol = *rung_websocket_protocol();
    k->protocol.opened = on_opened;
    netkit_listen(&k->net, &k->protocol, k, NULL);
    netkit_run(&k->net);
}

static void stop(kit *k) {
    netkit_begin_stop(&k->net, 3000);
    netkit_join(&k->net);
    rung_live_stop(k->room);
    rung_live_destroy(k->room);
    netkit_end(&k->net);
    livekit_stop(&k->live);
}

/* ---- a client ---- */

static void send_frame(int fd, uint8_t first, const void *payload, size_t len) {
    static const uint8_t mask[4] = {1, 2, 3, 4};
    static uint8_t bytes[70000];
    size_t at = 0;
    bytes[at++] = first;
    if (len < 126) {
        bytes[at++] = (uint8_t)(0x80 | len);
    } else {
        bytes[at++] = 0x80 | 126;
        bytes[at++] = (uint8_t)(len >> 8);
        bytes[at++] = (uint8_t)len;
    }
    memcpy(bytes + at, mask, 4);
    at += 4;
    for (size_t i = 0; i < len; i++)
        bytes[at + i] = ((const uint8_t *)payload)[i] ^ mask[i % 4];
    netkit_send_bytes(fd, bytes, at + len);
}

static void say(int fd, const char *text) {
    send_frame(fd, 0x81, text, strlen(text));
}

static char payload[70000];

/* The next frame: its first byte; the payload is NUL-terminated. 0: the connection is closed. */
static uint8_t next_frame(int fd) {
    char head[12];
    ssize_t n = netkit_read(fd, head, 2);
    if (n <= 0)
        return 0;
    netkit_read_exactly(fd, head + 1, 1);
    CHECK(!(head[1] & 0x80)); /* a server does not mask */
    size_t len = (uint8_t)head[1];
    if (len == 126) {
        char more[3];
        netkit_read_exactly(fd, more, 2);
        len = (size_t)(uint8_t)more[0] << 8 | (uint8_t)more[1];
    }
    netkit_read_exactly(fd, payload, len);
    payload[len] = 0;
    return (uint8_t)head[0];
}

/* Skip pings; the next frame is text with `part` in it. */
static void expect(int fd, const char *part) {
    uint8_t first;
    while ((first = next_frame(fd)) == 0x89) {
    }
    CHECK_EQ_U64(first, 0x81);
    CHECK_MSG(strstr(payload, part) != NULL, "\"%s\" is not in: %s", part, payload);
}

static void expect_close(int fd, uint16_t code) {
    uint8_t first;
    while ((first = next_frame(fd)) == 0x89 || first == 0x81) {
    }
    CHECK_MSG(first == 0x88, "expected to be closed with %u, got 0x%x", code, first);
    CHECK_EQ_U64((uint8_t)payload[0] << 8 | (uint8_t)payload[1], code);
}

/* ---- tests ---- */

TEST(the_key_of_the_rfc) {
    char out[RUNG_WEBSOCKET_ACCEPT_SIZE];
    CHECK(rung_websocket_accept(RUNG_SLICE("dGhlIHNhbXBsZSBub25jZQ=="), out));
    CHECK_EQ_STR(out, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    CHECK(!rung_websocket_accept(RUNG_SLICE("dGhlIHNhbXBsZSBub25jZQ="), out));
    CHECK(!rung_websocket_accept(RUNG_SLICE("dGhlIHNhbXBsZSBub25jZQ=!"), out));
    CHECK(!rung_websocket_accept(RUNG_SLICE("dGhlIHNhbXBsZSBub25j!!=="), out));
    CHECK(!rung_websocket_accept((rung_slice){0}, out));
}

TEST(frames_of_every_length) {
    static const size_t lengths[] = {0, 1, 125, 126, 65535, 65536};
    static char text[65536];
    for (size_t i = 0; i < 6; i++) {
        rung_blob *b = rung__websocket_frame(rung_alloc_heap(), 1, rung_slice_of(text, lengths[i]));
        size_t head = lengths[i] < 126 ? 2 : lengths[i] < 65536 ? 4 : 10;
        CHECK_EQ_U64(b->len, head + lengths[i]);
        CHECK_EQ_U64((uint8_t)b->bytes[0], 0x81);
        rung_blob_give(b);
    }
}

static void add_score(void *ctx) {
    livekit_score(ctx, "race", "bob", 20);
}

TEST(a_state_then_changes_then_more_topics) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    expect(fd, "\"type\":\"state\",\"topic\":\"boards/race?limit=3\"");
    netkit_call(&k.net, add_score, &k.live);
    expect(fd, "\"type\":\"change\"");
    say(fd, "{\"op\":\"subscribe\",\"player\":\"ada\",\"around\":1}");
    expect(fd, "\"topic\":\"boards/race?player=ada&around=1\"");
    say(fd, "{\"op\":\"unsubscribe\",\"topic\":\"boards/race?player=ada&around=1\"}");
    say(fd, "{\"op\":\"unsubscribe\",\"topic\":\"boards/race?player=ada&around=1\"}");
    expect(fd, "\"code\":\"not_found\"");
    say(fd, "{\"op\":\"subscribe\",\"window\":\"week\"}");
    expect(fd, "\"code\":\"not_found\"");
    say(fd, "{\"op\":\"subscribe\",\"friends\":\"secret\"}");
    expect(fd, "\"code\":\"forbidden\"");
    say(fd, "{\"op\":\"subscribe\",\"limit\":1000}");
    expect(fd, "\"code\":\"malformed\"");
    say(fd, "{\"op\":\"dance\"}");
    expect(fd, "op: expected subscribe");
    say(fd, "{\"op\":1}");
    expect(fd, "\"code\":\"malformed\"");
    say(fd, "nonsense");
    expect(fd, "\"code\":\"malformed\"");
    close(fd);
    stop(&k);
    CHECK_EQ_U64(k.closed, 1);
}

TEST(fragments_and_control_frames_between_them) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    expect(fd, "state");
    send_frame(fd, 0x01, "{\"op\":", 6);
    send_frame(fd, 0x89, "hello", 5);
    CHECK_EQ_U64(next_frame(fd), 0x8a);
    CHECK_EQ_STR(payload, "hello");
    send_frame(fd, 0x00, "\"subscribe\",", 12);
    send_frame(fd, 0x80, "\"limit\":2}", 10);
    expect(fd, "boards/race?limit=2");
    close(fd);
    stop(&k);
}

TEST(what_is_not_websocket_is_closed) {
    kit k;
    static char big[5000];
    memset(big, 'x', sizeof big);
    start(&k);
    struct {
        uint8_t first;
        const char *text;
        size_t len;
        uint16_t code;
    } cases[] = {
        {0x83, "x", 1, 1002},        /* an unknown opcode */
        {0xc1, "x", 1, 1002},        /* a reserved bit */
        {0x80, "x", 1, 1002},        /* a continuation of nothing */
        {0x09, "x", 1, 1002},        /* a fragmented ping */
        {0x82, "x", 1, 1003},        /* binary */
        {0x81, "\xff\xfe", 2, 1007}, /* not UTF-8 */
        {0x81, big, 5000, 1009},     /* too long */
        {0x88, "\x03\xe8", 2, 1000}, /* goodbye */
        {0x88, "", 0, 1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int fd = netkit_connect(&k.net);
        expect(fd, "state");
        send_frame(fd, cases[i].first, cases[i].text, cases[i].len);
        if (cases[i].len || cases[i].first != 0x88)
            expect_close(fd, cases[i].code);
        else
            CHECK_EQ_U64(next_frame(fd), 0x88);
        shutdown(fd, SHUT_WR);
        CHECK_EQ_U64(next_frame(fd), 0);
        close(fd);
    }
    int fd = netkit_connect(&k.net); /* a client has to mask */
    expect(fd, "state");
    netkit_send_bytes(fd, "\x81\x01x", 3);
    expect_close(fd, 1002);
    close(fd);
    stop(&k);
}

TEST(too_many_messages_and_topics) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    expect(fd, "state");
    for (int i = 1; i <= 8; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"op\":\"subscribe\",\"limit\":%d}", i + 10);
        say(fd, text);
        expect(fd, i < 8 ? "\"type\":\"state\"" : "\"code\":\"too_many\"");
    }
    for (int i = 0; i < 30; i++)
        say(fd, "{\"op\":\"subscribe\",\"limit\":99}");
    expect_close(fd, 1008);
    close(fd);
    stop(&k);
}

TEST(a_silent_peer_is_pinged_then_cut_off) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    expect(fd, "state");
    for (int i = 0; i < 3; i++)
        CHECK_EQ_U64(next_frame(fd), 0x89);
    CHECK_EQ_U64(next_frame(fd), 0);
    close(fd);
    stop(&k);
}

TEST(stopping_says_1001) {
    kit k;
    start(&k);
    int fd = netkit_connect(&k.net);
    expect(fd, "state");
    netkit_begin_stop(&k.net, 3000);
    expect_close(fd, 1001);
    send_frame(fd, 0x88, "\x03\xe9", 2);
    CHECK_EQ_U64(next_frame(fd), 0);
    close(fd);
    netkit_join(&k.net);
    CHECK_EQ_U64(k.closed, 1);
    rung_live_stop(k.room);
    rung_live_destroy(k.room);
    netkit_end(&k.net);
    livekit_stop(&k.live);
}

RUNG_TEST_MAIN
