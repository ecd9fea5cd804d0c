/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes from a WebSocket client, through a real connection: answered or closed, nothing kept.
 *
 * The first byte chooses how the rest is cut. With its lowest bit set the rest is taken as payloads of masked
 * text frames, one for each line, so that the messages themselves are reached. */
#include "base/alloc.h"
#include "base/assert.h"
#include "front/live/websocket.h"
#include "front/net/net.h"
#include "front/net/uv_loop.h"
#include "state/state.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static struct {
    bool is_ready;
    rung_loop *loop;
    rung_state *state;
    rung_net *net;
    rung_live *live;
    rung_address bound;
    uint32_t open;
} world;

static const rung_state *state_of(void *ctx) {
    (void)ctx;
    return world.state;
}

static int64_t now_of(void *ctx) {
    (void)ctx;
    return INT64_C(1800000000000);
}

static void write_head(void *ctx, rung_json_writer *w, const rung_live_spec *spec,
                       const rung_view *view, uint64_t seq) {
    (void)ctx;
    (void)spec;
    (void)view;
    RUNG_JSON_KEY(w, "seq");
    rung_json_write_uint(w, seq);
}

static void write_row(void *ctx, rung_json_writer *w, const rung_live_spec *spec,
                      const rung_view *view, const rung_row *row, uint32_t place, bool among) {
    (void)ctx;
    (void)spec;
    (void)view;
    (void)place;
    (void)among;
    rung_json_write_string(w, row->id);
}

static void on_websocket_closed(void *ctx) {
    (void)ctx;
    world.open--;
}

static void *on_opened(void *ctx, rung_conn *c) {
    rung_websocket *ws;
    rung_live_spec spec = {.kind = RUNG_LIVE_TOP, .board = RUNG_SLICE("race"), .count = 3};
    (void)ctx;
    rung_websocket_config config = {.alloc = rung_alloc_heap(),
                                    .live = world.live,
                                    .board = RUNG_SLICE("race"),
                                    .closed = on_websocket_closed};
    if (rung_websocket_create(&config, &ws, NULL) < 0)
        return NULL;
    world.open++;
    rung_websocket_begin(ws, c, &spec, NULL);
    return ws;
}

static void add_events(void) {
    rung_event board = {.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = 1};
    rung_event score = {.kind = RUNG_EVENT_SCORE, .ts_ms = 2};
    board.defined.board = score.score.board = RUNG_SLICE("race");
    board.defined.def = rung_board_def_default();
    score.score.player = RUNG_SLICE("ada");
    score.score.value_count = 1;
    rung_status st = rung_state_apply(world.state, &board, NULL, NULL);
    RUNG_ASSERT(st >= 0);
    st = rung_state_apply(world.state, &score, NULL, NULL);
    RUNG_ASSERT(st >= 0);
}

static void prepare(void) {
    static rung_protocol protocol;
    const rung_alloc *a = rung_alloc_heap();
    rung_address address;
    rung_status st = rung_uv_loop_create(a, &world.loop, NULL);
    RUNG_ASSERT(st == RUNG_OK);
    st = rung_state_create(&(rung_state_config){.alloc = a}, &world.state);
    RUNG_ASSERT(st == RUNG_OK);
    add_events();
    st = rung_net_create(&(rung_net_config){.alloc = a, .loop = world.loop}, &world.net, NULL);
    RUNG_ASSERT(st == RUNG_OK);
    st = rung_live_create(&(rung_live_config){.alloc = a,
                                              .loop = world.loop,
                                              .state = state_of,
                                              .now_ms = now_of,
                                              .write_head = write_head,
                                              .write_row = write_row},
                          &world.live, NULL);
    RUNG_ASSERT(st == RUNG_OK);
    protocol = *rung_websocket_protocol();
    protocol.opened = on_opened;
    st = rung_address_parse(RUNG_SLICE("127.0.0.1:0"), 0, &address, NULL);
    RUNG_ASSERT(st == RUNG_OK);
    st = rung_net_listen(world.net, &address, &protocol, NULL, NULL, &world.bound, NULL);
    RUNG_ASSERT(st == RUNG_OK);
    world.is_ready = true;
}

static void turn(int times) {
    for (int i = 0; i < times; i++)
        rung_loop_run(world.loop, RUNG_RUN_NOWAIT);
}

static void send_all(int fd, const void *bytes, size_t len) {
    while (len) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN)
            return;
        if (n > 0) {
            bytes = (const char *)bytes + n;
            len -= (size_t)n;
        }
        turn(1);
    }
}

/* `text` as one masked frame; the mask is zero, which is a mask too. */
static void send_text(int fd, const unsigned char *text, size_t len) {
    unsigned char head[8] = {0x81, (unsigned char)(0x80 | len), 0, 0, 0, 0};
    size_t head_len = 6;
    if (len >= 126) {
        head_len = 8;
        memmove(head + 4, head + 2, 4);
        head[1] = 0xfe;
        head[2] = (unsigned char)(len >> 8);
        head[3] = (unsigned char)len;
    }
    send_all(fd, head, head_len);
    send_all(fd, text, len);
}

static void send_lines(int fd, const unsigned char *data, size_t size) {
    while (size) {
        const unsigned char *end = memchr(data, '\n', size);
        size_t len = end ? (size_t)(end - data) : size;
        send_text(fd, data, len);
        data += end ? len + 1 : len;
        size -= end ? len + 1 : len;
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    if (size < 1 || size > 8192)
        return 0;
    if (!world.is_ready)
        prepare();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, &world.bound.any, sizeof world.bound.ip4) != 0)
        return 0;
    turn(2);
    if (data[0] & 1) {
        send_lines(fd, data + 1, size - 1);
    } else {
        size_t cut = size > 1 ? 1 + data[0] % (size - 1) : 1;
        send_all(fd, data + 1, cut < size ? cut - 1 : 0);
        turn(1);
        send_all(fd, data + cut, cut < size ? size - cut : 0);
    }
    turn(2);
    struct linger hard = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(fd);
    for (int i = 0; i < 1000 && world.open; i++)
        turn(1);
    RUNG_ASSERT(!world.open && rung_live_stat(world.live).viewers == 0);
    return 0;
}
