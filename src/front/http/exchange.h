/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h - one HTTP request and its answer, as a handler sees them.
 *
 *     static void handle(void *ctx, rung_exchange *x) {   // rung_http_config.handle: the head is here, no body yet
 *         const rung_request *r = rung_exchange_request(x);
 *         if (r->method == RUNG_METHOD_GET)
 *             rung_exchange_answer(x, 200, RUNG_TYPE_JSON, body);
 *         else if (r->method == RUNG_METHOD_POST)
 *             rung_exchange_collect(x, 65536, got_body, ctx);    // got_body answers, now or later
 *         else
 *             rung_exchange_problem(x, 405, "method_not_allowed", (rung_slice){0}, RUNG_SLICE("..."));
 *     }
 *
 * The handler ends every exchange exactly once, at any time, with rung_exchange_answer(), _problem(), _end(), _cut() or
 * _upgrade(); after that it is invalid. If the client disconnects first, the exchange stays valid: `gone`
 * (rung_exchange_watch()) is called, answers go nowhere, and the handler must still end it. So its address may be the
 * ctx of an answer that comes later.
 *
 * The transport has checked framing, head and limits, and keeps pipelined answers in order. A request that changes
 * something is alone on its connection: it is handed out after those before it are answered, and later ones wait.
 * Requests that only read may overlap.
 *
 * The transport also handles HEAD (answer as for GET), CORS, Date, gzip of whole answers, 100 Continue (sent when the
 * handler asks for the body), security headers, and bodies that nobody reads.
 *
 * Thread: the loop's. Slices of the request are valid until the exchange is ended. */
#ifndef RUNG_FRONT_HTTP_EXCHANGE_H
#define RUNG_FRONT_HTTP_EXCHANGE_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/http1.h"
#include "front/net/net.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rung_exchange rung_exchange;

typedef struct rung_request {
    rung_method method;
    rung_slice method_text;
    rung_slice path;  /* as sent, still percent-encoded; starts with '/' (or is "*" with OPTIONS) */
    rung_slice query; /* what follows the '?', still encoded; empty when there is none */
    rung_slice host;
    bool has_body;   /* a Content-Length above 0, or chunked */
    bool has_length; /* a Content-Length */
    uint64_t length;
    bool wants_upgrade; /* to WebSocket: rung_exchange_upgrade() */
    bool is_tls, is_unix;
} rung_request;

const rung_request *rung_exchange_request(const rung_exchange *x);

/* The value of a header field, trimmed; ptr is NULL when there is none. The first one if it was repeated: the transport
 * refuses repeats where they matter. */
rung_slice rung_exchange_header(const rung_exchange *x, const char *lower_name);

/* The client's address, as a trusted proxy says it, or the connection's: "127.0.0.1:51324"; "" when the client is gone.
 * From a proxy that does not tell the port: "203.0.113.7", "[2001:db8::1]". */
void rung_exchange_peer(const rung_exchange *x, char text[RUNG_ADDRESS_TEXT_MAX]);
/* The same as rung_conn_peer_key() has it; empty when the client is gone. */
rung_slice rung_exchange_peer_key(const rung_exchange *x);

/* Did it come on a reserved connection (front/net/net.h)? Those are for requests that must be answered when all other
 * connections are taken; the connection closes after it. */
bool rung_exchange_is_reserved(const rung_exchange *x);

/* Does its Origin allow changes and WebSockets (front/http/origin.h)? */
bool rung_exchange_may_change(const rung_exchange *x);

/* ---- memory of the request ---- */

/* Zeroed memory until the exchange ends, from its pooled arena while that lasts (about 2 KiB), so that the steady state
 * allocates nothing. NULL: out of memory. */
void *rung_exchange_alloc(rung_exchange *x, size_t size);

/* The handler holds `bytes` more (or less) for this request: buffers, queues, copies of the body. Memory of
 * rung_exchange_alloc() is counted already. The sum of all connections is limited (limits.buffers): this call may
 * disconnect the client, and `gone` follows later. */
void rung_exchange_charge(rung_exchange *x, ptrdiff_t bytes);

/* A pointer of the handler's own, for its convenience. */
void rung_exchange_set_user(rung_exchange *x, void *user);
void *rung_exchange_user(const rung_exchange *x);

/* ---- the body: ask for it once, from `handle` or later; otherwise it is read and discarded ---- */

/* `body` is valid during the call. */
typedef void rung_exchange_body(void *ctx, rung_exchange *x, rung_slice body);

/* The whole body at once, possibly empty. Until `ready` is called the transport owns the exchange: it ends it without
 * telling the handler when the client disconnects or the body is too slow (408) or longer than `limit` (413). */
void rung_exchange_collect(rung_exchange *x, size_t limit, rung_exchange_body *ready, void *ctx);

/* The body in pieces as they arrive, then an empty one at its end. If it is longer than `limit` (UINT64_MAX: any), too
 * slow or malformed, the transport tells the client if the answer has not begun and closes: the exchange is `gone`. */
void rung_exchange_stream(rung_exchange *x, uint64_t limit, rung_exchange_body *piece, void *ctx);

/* Backpressure while streaming: no more pieces after this one until rung_exchange_go_on(), which does not call back
 * itself. */
void rung_exchange_hold(rung_exchange *x);
void rung_exchange_go_on(rung_exchange *x);

/* ---- the answer ---- */

#define RUNG_TYPE_JSON    "application/json"
#define RUNG_TYPE_NDJSON  "application/x-ndjson"
#define RUNG_TYPE_TEXT    "text/plain; charset=utf-8"
#define RUNG_TYPE_EVENTS  "text/event-stream"
#define RUNG_TYPE_PROBLEM "application/problem+json"
#define RUNG_TYPE_BYTES   "application/octet-stream"

/* Add a header field, before the answer begins. Copies; control characters become blanks. The transport sets
 * Content-Length, Transfer-Encoding, Connection, Date and Content-Type. */
void rung_exchange_set(rung_exchange *x, const char *name, rung_slice value);

/* The whole answer. `type` NULL: no Content-Type, and no body. Copies. */
void rung_exchange_answer(rung_exchange *x, int status, const char *type, rung_slice body);

/* application/problem+json: {"type":"about:blank","title":...,"status":...,"code":...,"detail":...}. `code` is
 * stable and in lower_snake_case; the rest is for people. `members`: more members of the object as JSON text, e.g.
 * "\"field\":\"score\""; may be empty. At most 479 bytes of `detail` are sent. */
void rung_exchange_problem(rung_exchange *x, int status, const char *code, rung_slice members,
                           rung_slice detail);

/* An answer in pieces: begin, write any number of times, end. Ask for a streamed body first: one that nobody has asked
 * for when the answer begins is discarded (no 100 Continue; a long one closes the connection). */
void rung_exchange_begin(rung_exchange *x, int status, const char *type);
/* The same with a Content-Length: write exactly `length` bytes (none for HEAD) before the end, or cut. */
void rung_exchange_begin_sized(rung_exchange *x, int status, const char *type, uint64_t length);
/* Copies. False: the piece was taken, but write no more before `drained`. */
bool rung_exchange_write(rung_exchange *x, rung_slice bytes);
/* Bytes that are shared with other answers and already framed as chunks; only where rung_exchange_is_chunked(). */
void rung_exchange_write_blob(rung_exchange *x, rung_blob *chunks);
/* A begun answer to HTTP/1.1, not to HEAD. */
bool rung_exchange_is_chunked(const rung_exchange *x);
/* Bytes written that the client has not taken yet. */
size_t rung_exchange_queued(const rung_exchange *x);
void rung_exchange_end(rung_exchange *x);
/* End a begun answer so that the client sees that it is not complete: the connection is cut. Also for an exchange whose
 * client is gone. */
void rung_exchange_cut(rung_exchange *x);

/* Events of an exchange; each may be NULL. drained: write on. gone: the client has disconnected; the exchange must
 * still be ended, now or later, but not another one from inside. */
typedef struct rung_exchange_watcher {
    void (*drained)(void *ctx, rung_exchange *x);
    void (*gone)(void *ctx, rung_exchange *x);
    void *ctx;
} rung_exchange_watcher;
void rung_exchange_watch(rung_exchange *x, const rung_exchange_watcher *w);
bool rung_exchange_is_gone(const rung_exchange *x);

/* ---- leaving HTTP ---- */

/* 101 with `headers` ("Name: value\r\n" ...), then the connection speaks `protocol`. The exchange is gone.
 * NULL: the client is away (the exchange is gone too, `session` stays the caller's). Only for requests with
 * wants_upgrade. */
rung_conn *rung_exchange_upgrade(rung_exchange *x, rung_slice headers,
                                 const rung_protocol *protocol, void *session);

#endif
