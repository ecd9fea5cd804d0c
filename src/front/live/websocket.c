/* SPDX-License-Identifier: Apache-2.0 */
/* websocket.c - wslay between a connection and topics.
 *
 * Incoming bytes are given to wslay, which knows masks, fragments, control frames, UTF-8 and closing. Outgoing
 * frames of a topic do not pass through it: a server's frame is the same for all, so it is made once (with
 * wslay's own frame writer) and shared. Both end up in the connection's output as whole frames, so they cannot
 * mix.
 *
 * wslay's context has 8 KiB of buffers, most of what a viewer would cost. A viewer that listens needs none: it is made
 * when bytes come or the connection is to close, and freed between two messages. A pong in answer to our ping is all
 * that most peers ever send.
 *
 * 1. viewers[i].viewer is NULL or a viewer whose ctx is &viewers[i].
 * 2. After is_closing nothing is sent but the close frame; the connection finishes once wslay wants neither to
 *    read nor to write, or at a deadline.
 * 3. Without a context wslay holds nothing: no part of a frame or message, nothing to send, no close. */
#include "front/live/websocket.h"

#include "base/assert.h"
#include "codec/json_reader.h"
#include "front/live/topic.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <wslay/wslay.h>

#define MESSAGES_AT_ONCE 20u
#define MESSAGES_PER_S   10u
#define CLOSE_MS         2000u
#define PINGS_MAX        3u
#define CONTEXT_BYTES    8192u /* of wslay, beside the message it puts together */

typedef struct subscription {
    rung_websocket *ws;
    rung_viewer *viewer;
} subscription;

struct rung_websocket {
    rung_websocket_config config;
    rung_conn *conn;
    wslay_event_context_ptr wslay; /* NULL between two messages */
    rung_slice in;                 /* bytes that wslay has not read yet; during `data` */
    uint64_t fed, framed; /* bytes passed to this context; bytes of all frames begun in it */
    bool is_parted;       /* the last data frame was not the end of its message */
    subscription viewers[RUNG_WEBSOCKET_TOPICS_MAX];
    uint32_t tokens; /* messages it may send now, times 1000 */
    uint64_t tokens_ms;
    bool is_closing;
    uint32_t silent; /* pings without a word in return */
    char board[RUNG_NAME_MAX];
};

/* ---- shared frames ---- */

typedef struct frame_sink {
    char *at;
    size_t len;
} frame_sink;

static ssize_t frame_bytes(const uint8_t *data, size_t len, int flags, void *ctx) {
    frame_sink *s = ctx;
    (void)flags;
    memcpy(s->at + s->len, data, len);
    s->len += len;
    return (ssize_t)len;
}

rung_blob *rung__websocket_frame(const rung_alloc *alloc, uint8_t opcode, rung_slice payload) {
    static const struct wslay_frame_callbacks callbacks = {.send_callback = frame_bytes};
    wslay_frame_context_ptr context;
    rung_blob *b = rung_blob_create(alloc, payload.len + 10);
    if (!b)
        return NULL;
    frame_sink sink = {b->bytes, 0};
    if (wslay_frame_context_init(&context, &callbacks, &sink) != 0) {
        rung_blob_give(b);
        return NULL;
    }
    struct wslay_frame_iocb io = {.fin = 1,
                                  .opcode = opcode,
                                  .payload_length = payload.len,
                                  .data = (const uint8_t *)payload.ptr,
                                  .data_length = payload.len};
    ssize_t n = wslay_frame_send(context, &io);
    wslay_frame_context_free(context);
    if (n < 0) {
        rung_blob_give(b);
        return NULL;
    }
    b->len = (uint32_t)sink.len;
    return b;
}

/* ---- the handshake ---- */

bool rung_websocket_accept(rung_slice key, char out[RUNG_WEBSOCKET_ACCEPT_SIZE]) {
    static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    unsigned char text[24 + sizeof magic], digest[EVP_MAX_MD_SIZE], decoded[24];
    unsigned len = 0;
    /* 16 bytes in base64: 22 characters and two padding characters. */
    if (key.len != 24 || memcmp(key.ptr + 22, "==", 2) != 0 || key.ptr[21] == '=')
        return false;
    if (EVP_DecodeBlock(decoded, (const unsigned char *)key.ptr, 24) != 18)
        return false;
    memcpy(text, key.ptr, 24);
    memcpy(text + 24, magic, sizeof magic - 1);
    if (EVP_Digest(text, 24 + sizeof magic - 1, digest, &len, EVP_sha1(), NULL) != 1)
        return false;
    return EVP_EncodeBlock((unsigned char *)out, digest, 20) == 28;
}

/* ---- sending ---- */

static bool wake_wslay(rung_websocket *ws);

static void close_with(rung_websocket *ws, uint16_t code, const char *reason) {
    if (ws->is_closing || !wake_wslay(ws))
        return;
    ws->is_closing = true;
    wslay_event_queue_close(ws->wslay, code, (const uint8_t *)reason, strlen(reason));
    if (ws->conn) {
        rung_conn_deadline(ws->conn, CLOSE_MS);
        rung_conn_wake(ws->conn);
    }
}

/* A frame for this peer alone. */
static void say(rung_websocket *ws, uint8_t opcode, rung_slice payload) {
    rung_blob *frame = rung__websocket_frame(ws->config.alloc, opcode, payload);
    if (frame)
        rung_conn_write_blob(ws->conn, frame);
    else
        rung_conn_abort(ws->conn);
    rung_blob_give(frame);
}

static void say_error(rung_websocket *ws, const char *code, const char *detail) {
    char text[1024];
    rung_json_writer w = {.data = text, .size = sizeof text};
    rung_json_open_object(&w);
    RUNG_JSON_MEMBER(&w, "type", string, RUNG_SLICE("error"));
    RUNG_JSON_MEMBER(&w, "code", word, code);
    RUNG_JSON_MEMBER(&w, "detail", word, detail);
    rung_json_close_object(&w);
    if (!rung_json_failed(&w))
        say(ws, 1, rung_json_written(&w));
}

void rung_websocket_say(rung_websocket *ws, rung_slice message) {
    if (!ws->is_closing)
        say(ws, 1, message);
}

/* ---- a topic's sink ---- */

static void sink_send(void *ctx, rung_blob *frame) {
    rung_websocket *ws = ((subscription *)ctx)->ws;
    if (!ws->is_closing)
        rung_conn_write_blob(ws->conn, frame);
}

static size_t sink_queued(void *ctx) {
    return rung_conn_queued(((subscription *)ctx)->ws->conn);
}

static bool sink_may(void *ctx) {
    rung_websocket *ws = ((subscription *)ctx)->ws;
    return !ws->config.may || ws->config.may(ws->config.ctx, NULL, NULL);
}

/* With the reason, which has to fit into a control frame. */
static void close_forbidden(rung_websocket *ws) {
    rung_err err;
    char reason[120];
    RUNG_FAIL(&err, RUNG_EREFUSED, "no longer allowed");
    (void)ws->config.may(ws->config.ctx, NULL, &err); /* says more, if it still refuses */
    snprintf(reason, sizeof reason, "%.119s", err.message);
    close_with(ws, 1008, reason);
}

static void sink_end(void *ctx, rung_viewer *v, rung_live_end why) {
    subscription *s = ctx;
    (void)v;
    s->viewer = NULL;
    if (why == RUNG_LIVE_STOPPING)
        close_with(s->ws, 1001, "server is shutting down");
    else if (why == RUNG_LIVE_FORBIDDEN)
        close_forbidden(s->ws);
    else if (why == RUNG_LIVE_FAILED)
        close_with(s->ws, 1011, "out of memory");
    else
        close_with(s->ws, 1000, "the watched board or player is gone");
}

static const rung_live_sink sink = {.encoding = RUNG_LIVE_WEBSOCKET,
                                    .send = sink_send,
                                    .queued = sink_queued,
                                    .may = sink_may,
                                    .end = sink_end};

/* ---- subscribing ---- */

static const char *code_of(rung_status st) {
    return st == RUNG_NOT_FOUND ? "not_found"
           : st == RUNG_ELIMIT  ? "too_many"
           : st == RUNG_EINVAL  ? "malformed"
                                : "unavailable";
}

static void subscribe(rung_websocket *ws, const rung_live_spec *spec, const uint64_t *since) {
    rung_err err = {0};
    subscription *room = NULL;
    for (uint32_t i = 0; i < RUNG_WEBSOCKET_TOPICS_MAX && !room; i++)
        if (!ws->viewers[i].viewer)
            room = &ws->viewers[i];
    if (!room) {
        say_error(ws, "too_many", "a connection may watch 8 topics");
        return;
    }
    room->ws = ws;
    rung_status st = rung_live_open(ws->config.live, spec, since, &sink, room, &room->viewer, &err);
    if (st != RUNG_OK)
        say_error(ws, code_of(st), err.message);
}

static void unsubscribe(rung_websocket *ws, rung_slice topic) {
    for (uint32_t i = 0; i < RUNG_WEBSOCKET_TOPICS_MAX; i++) {
        rung_viewer *v = ws->viewers[i].viewer;
        if (v && rung_slice_eq(rung_viewer_topic(v), topic)) {
            ws->viewers[i].viewer = NULL;
            rung_live_leave(v);
            return;
        }
    }
    say_error(ws, "not_found", "topic: not watched here");
}

/* ---- messages ---- */

typedef struct request {
    rung_slice op, topic, player, friends, window, window_id, scope, rank;
    rung_websocket_submission submission;
    bool has_since;
    uint32_t around, limit;
    int64_t since;
} request;

static rung_status read_field(rung_json *r, rung_slice key, request *q) {
    static const struct {
        const char *name;
        size_t at;
    } texts[] = {{"op", offsetof(request, op)},
                 {"topic", offsetof(request, topic)},
                 {"player", offsetof(request, player)},
                 {"friends", offsetof(request, friends)},
                 {"window", offsetof(request, window)},
                 {"window_id", offsetof(request, window_id)},
                 {"scope", offsetof(request, scope)},
                 {"rank", offsetof(request, rank)},
                 {"board", offsetof(request, submission.board)},
                 {"session", offsetof(request, submission.session)},
                 {"time", offsetof(request, submission.time)},
                 {"nonce", offsetof(request, submission.nonce)},
                 {"signature", offsetof(request, submission.signature)},
                 {"body", offsetof(request, submission.body)}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (rung_slice_eq(key, rung_slice_str(texts[i].name)))
            return rung_json_string(r, (rung_slice *)((char *)q + texts[i].at));
    if (rung_slice_eq(key, RUNG_SLICE("around")))
        return rung_json_uint32(r, &q->around);
    if (rung_slice_eq(key, RUNG_SLICE("limit")))
        return rung_json_uint32(r, &q->limit);
    if (rung_slice_eq(key, RUNG_SLICE("since"))) {
        q->has_since = true;
        return rung_json_int64(r, &q->since);
    }
    return rung_json_refuse(r, RUNG_EINVAL, "is not a known field");
}

static rung_status read_message(char *text, size_t len, request *q, rung_err *err) {
    rung_json reader;
    rung_slice key;
    *q = (request){.around = 5, .limit = 10};
    rung_json_init(&reader, text, len, err);
    rung_status st = rung_json_enter_object(&reader);
    while (st == RUNG_OK && (st = rung_json_next_key(&reader, &key)) == RUNG_OK)
        st = read_field(&reader, key, q);
    return rung_json_end(&reader);
}

/* The kind of query: around a player, friends, or the top. */
static bool spec_of(rung_websocket *ws, const request *q, rung_live_spec *spec, const char **why) {
    *spec = (rung_live_spec){.kind = q->player.len    ? RUNG_LIVE_AROUND
                                     : q->friends.len ? RUNG_LIVE_FRIENDS
                                                      : RUNG_LIVE_TOP,
                             .board = ws->config.board,
                             .player = q->player.len ? q->player : q->friends,
                             .count = q->player.len ? q->around : q->limit,
                             .window = q->window,
                             .window_id = q->window_id,
                             .scope = q->scope};
    *why = "friends: not together with player";
    if (q->player.len && q->friends.len)
        return false;
    *why = "rank: expected unique, sparse or dense";
    if (!q->rank.len)
        return true;
    int rank = rung_word_find(rung_rank_words, q->rank);
    spec->has_rank = rank >= 0;
    spec->rank = (rung_rank_style)(rank >= 0 ? rank : 0);
    return spec->has_rank;
}

static void on_request(rung_websocket *ws, const request *q) {
    rung_live_spec spec;
    const char *why;
    rung_err err = {0};
    uint64_t since = q->since > 0 ? (uint64_t)q->since : 0;
    if (rung_slice_eq(q->op, RUNG_SLICE("unsubscribe"))) {
        unsubscribe(ws, q->topic);
    } else if (ws->config.submit && rung_slice_eq(q->op, RUNG_SLICE("submit"))) {
        ws->config.submit(ws->config.ctx, &q->submission);
    } else if (!rung_slice_eq(q->op, RUNG_SLICE("subscribe"))) {
        say_error(ws, "malformed", "op: expected subscribe, unsubscribe or submit");
    } else if (!ws->config.board.len) {
        say_error(ws, "malformed", "op: a player's feed has no more topics");
    } else if (!spec_of(ws, q, &spec, &why)) {
        say_error(ws, "malformed", why);
    } else if (ws->config.may && !ws->config.may(ws->config.ctx, &spec, &err)) {
        say_error(ws, "forbidden", err.message);
    } else {
        subscribe(ws, &spec, q->has_since ? &since : NULL);
    }
}

/* A token bucket, in thousandths of a message. */
static bool take_token(rung_websocket *ws) {
    uint64_t now = rung_loop_now_ms(rung_net_loop(rung_conn_net(ws->conn)));
    uint64_t more = (now - ws->tokens_ms) * MESSAGES_PER_S + ws->tokens;
    ws->tokens = more > MESSAGES_AT_ONCE * 1000 ? MESSAGES_AT_ONCE * 1000 : (uint32_t)more;
    ws->tokens_ms = now;
    if (ws->tokens < 1000)
        return false;
    ws->tokens -= 1000;
    return true;
}

static void on_message(wslay_event_context_ptr context,
                       const struct wslay_event_on_msg_recv_arg *arg, void *ctx) {
    rung_websocket *ws = ctx;
    char text[RUNG_WEBSOCKET_MESSAGE_MAX];
    request q;
    rung_err err = {0};
    (void)context;
    if (ws->is_closing || arg->opcode == 8 /* wslay answers it */)
        return;
    if (!take_token(ws)) {
        close_with(ws, 1008, "too many messages");
    } else if (arg->opcode == 2) {
        close_with(ws, 1003, "text only");
    } else if (arg->opcode == 1 && arg->msg_length > sizeof text) {
        close_with(ws, 1009, "too long"); /* wslay has the same limit */
    } else if (arg->opcode == 1) {
        if (arg->msg_length) /* an empty message has no bytes to point at */
            memcpy(text, arg->msg, arg->msg_length);
        if (read_message(text, arg->msg_length, &q, &err) < 0)
            say_error(ws, "malformed", err.message);
        else
            on_request(ws, &q);
    }
}

/* ---- wslay's sockets ---- */

static ssize_t on_wslay_recv(wslay_event_context_ptr context, uint8_t *to, size_t room, int flags,
                             void *ctx) {
    rung_websocket *ws = ctx;
    (void)flags;
    if (!ws->in.len) {
        wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    size_t n = ws->in.len < room ? ws->in.len : room;
    memcpy(to, ws->in.ptr, n);
    ws->fed += n;
    ws->in = rung_slice_of(ws->in.ptr + n, ws->in.len - n);
    return (ssize_t)n;
}

static ssize_t on_wslay_send(wslay_event_context_ptr context, const uint8_t *data, size_t len,
                             int flags, void *ctx) {
    rung_websocket *ws = ctx;
    (void)context;
    (void)flags;
    rung_conn_write(ws->conn, rung_slice_of(data, len));
    return (ssize_t)len;
}

static void on_frame(wslay_event_context_ptr context,
                     const struct wslay_event_on_frame_recv_start_arg *arg, void *ctx) {
    rung_websocket *ws = ctx;
    uint64_t len = arg->payload_length;
    (void)context;
    ws->framed += 2u + (len < 126 ? 0u : len < 65536 ? 2u : 8u) + 4u /* mask */ + len;
    if (arg->opcode < 8)
        ws->is_parted = !arg->fin;
}

/* False: there is no memory, and the connection is over. */
static bool wake_wslay(rung_websocket *ws) {
    static const struct wslay_event_callbacks callbacks = {.recv_callback = on_wslay_recv,
                                                           .send_callback = on_wslay_send,
                                                           .on_frame_recv_start_callback = on_frame,
                                                           .on_msg_recv_callback = on_message};
    if (ws->wslay)
        return true;
    if (wslay_event_context_server_init(&ws->wslay, &callbacks, ws) != 0) {
        ws->wslay = NULL;
        if (ws->conn)
            rung_conn_abort(ws->conn);
        return false;
    }
    wslay_event_config_set_max_recv_msg_length(ws->wslay, RUNG_WEBSOCKET_MESSAGE_MAX);
    ws->fed = ws->framed = 0;
    ws->is_parted = false;
    return true;
}

/* Invariant 3. All bytes belonged to complete frames: wslay reads until there are none left. */
static void rest_wslay(rung_websocket *ws) {
    if (!ws->wslay || ws->is_closing || ws->fed != ws->framed || ws->is_parted ||
        wslay_event_want_write(ws->wslay) || wslay_event_get_close_sent(ws->wslay) ||
        wslay_event_get_close_received(ws->wslay))
        return;
    wslay_event_context_free(ws->wslay);
    ws->wslay = NULL;
}

/* ---- the connection ---- */

static void *on_opened(void *ctx, rung_conn *c) {
    (void)ctx;
    (void)c;
    return NULL; /* it comes by upgrade only */
}

static void flush(rung_websocket *ws) {
    if (rung_conn_is_finished(ws->conn) || !ws->wslay)
        return;
    if (wslay_event_send(ws->wslay) != 0) {
        rung_conn_abort(ws->conn);
        return;
    }
    bool is_over = wslay_event_get_close_sent(ws->wslay) &&
                   (wslay_event_get_close_received(ws->wslay) || !wslay_event_want_read(ws->wslay));
    if (is_over)
        rung_conn_finish(ws->conn);
}

static void watch_silence(rung_websocket *ws) {
    if (!ws->is_closing)
        rung_conn_deadline(ws->conn, ws->config.ping_ms);
}

/* An invalid frame. wslay would close without a reason. */
static void fail_protocol(rung_websocket *ws) {
    rung_blob *close_1002 = rung__websocket_frame(ws->config.alloc, 8, RUNG_SLICE("\x03\xea"));
    if (close_1002 && !ws->is_closing)
        rung_conn_write_blob(ws->conn, close_1002);
    rung_blob_give(close_1002);
    ws->is_closing = true;
    rung_conn_finish(ws->conn);
}

static size_t on_data(rung_conn *c, rung_slice bytes) {
    rung_websocket *ws = rung_conn_session(c);
    if (!wake_wslay(ws))
        return bytes.len;
    ws->in = bytes;
    while (ws->in.len && wslay_event_want_read(ws->wslay) && !rung_conn_is_finished(c))
        if (wslay_event_recv(ws->wslay) != 0) {
            fail_protocol(ws);
            break;
        }
    ws->in = (rung_slice){0};
    ws->silent = 0;
    watch_silence(ws);
    flush(ws);
    rest_wslay(ws);
    rung_conn_hold(c, ws->wslay ? CONTEXT_BYTES + RUNG_WEBSOCKET_MESSAGE_MAX : 0);
    return bytes.len;
}

static void on_woken(rung_conn *c) {
    flush(rung_conn_session(c));
}

static void on_expired(rung_conn *c) {
    rung_websocket *ws = rung_conn_session(c);
    if (ws->is_closing) {
        rung_conn_finish(c); /* the peer does not answer our close */
    } else if (++ws->silent > PINGS_MAX) {
        rung_conn_abort(c);
    } else {
        watch_silence(ws);
        say(ws, 9, RUNG_SLICE("")); /* a ping */
    }
}

static void on_stopping(rung_conn *c) {
    close_with(rung_conn_session(c), 1001, "server is shutting down");
}

static void on_closed(rung_conn *c) {
    rung_websocket_destroy(rung_conn_session(c));
}

const rung_protocol *rung_websocket_protocol(void) {
    static const rung_protocol protocol = {.opened = on_opened,
                                           .data = on_data,
                                           .woken = on_woken,
                                           .expired = on_expired,
                                           .stopping = on_stopping,
                                           .closed = on_closed};
    return &protocol;
}

rung_status rung_websocket_create(const rung_websocket_config *config, rung_websocket **out,
                                  rung_err *err) {
    rung_websocket *ws = rung_alloc_zeroed(config->alloc, sizeof *ws);
    RUNG_ASSERT(config->board.len <= RUNG_NAME_MAX);
    if (!ws)
        return RUNG_FAIL(err, RUNG_ENOMEM, "websocket: out of memory");
    ws->config = *config;
    if (config->board.len)
        memcpy(ws->board, config->board.ptr, config->board.len);
    ws->config.board = rung_slice_of(ws->board, config->board.len);
    if (!ws->config.ping_ms)
        ws->config.ping_ms = 20000;
    ws->tokens = MESSAGES_AT_ONCE * 1000;
    *out = ws;
    return RUNG_OK;
}

void rung_websocket_destroy(rung_websocket *ws) {
    for (uint32_t i = 0; i < RUNG_WEBSOCKET_TOPICS_MAX; i++)
        if (ws->viewers[i].viewer)
            rung_live_leave(ws->viewers[i].viewer);
    if (ws->config.closed)
        ws->config.closed(ws->config.ctx);
    if (ws->wslay)
        wslay_event_context_free(ws->wslay);
    rung_alloc_free(ws->config.alloc, ws, sizeof *ws);
}

void rung_websocket_begin(rung_websocket *ws, rung_conn *conn, const rung_live_spec *spec,
                          const uint64_t *since) {
    ws->conn = conn;
    ws->tokens_ms = rung_loop_now_ms(rung_net_loop(rung_conn_net(conn)));
    watch_silence(ws);
    subscribe(ws, spec, since);
    rung_conn_wake(conn);
}
