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
 * An exchange is ended exactly once, at any time, by one of rung_exchange_answer(), _problem(), _end(), _cut() or
 * _upgrade(); after that it is gone. If the client goes away first it stays valid: `gone`
 * (rung_exchange_watch()) is called, what is answered goes nowhere, and it must still be ended. So its address
 * may be the ctx of an answer that comes later.
 *
 * The transport has checked the framing, the head's form and its limits, and keeps the order of pipelined
 * answers. A request that changes something is alone on its connection: it is handed out when those before it
 * are answered, and those behind it wait. Requests that only read may run side by side.
 *
 * The transport also does: HEAD (answer as for GET), preflights of CORS and its headers, Date, gzip of whole
 * answers, 100 Continue (sent when the handler asks for the body), security headers, an unread body.
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
    bool has_length; /* its length is known: */
    uint64_t length; /* the Content-Length */
    bool
        wants_upgrade; /* Connection: upgrade and Upgrade: websocket are there; see rung_exchange_upgrade() */
    bool is_tls;
    bool is_unix; /* it came over a unix socket */
} rung_request;

const rung_request *rung_exchange_request(const rung_exchange *x);

/* A header field by its name in lower case: its value without blanks around it; ptr is NULL when there is none.
 * When a field came several times, the first (those where that would matter were refused by the transport). */
rung_slice rung_exchange_header(const rung_exchange *x, const char *lower_name);

/* "127.0.0.1:51324"; "" when the client is gone. */
void rung_exchange_peer(const rung_exchange *x, char text[RUNG_ADDRESS_TEXT_MAX]);
/* rung_conn_peer_key() of its connection; empty when the client is gone. */
rung_slice rung_exchange_peer_key(const rung_exchange *x);

/* Did it come on a connection in a reserved place (front/net/net.h)? Such places are for what must be answered when all
 * others are taken; the connection closes after it. */
bool rung_exchange_is_reserved(const rung_exchange *x);

/* Is it from no page, or from one that may change something and open WebSockets (front/http/origin.h)? */
bool rung_exchange_may_change(const rung_exchange *x);

/* ---- memory of the request ---- */

/* Memory that lives until the exchange is ended; zeroed. From the exchange's own pooled block as long as it has
 * room (about 2 KiB), so that the steady state allocates nothing. NULL: out of memory. */
void *rung_exchange_alloc(rung_exchange *x, size_t size);

/* What the handler keeps for this request has grown by `bytes`, or shrunk: buffers, queues, copies of the body; what
 * rung_exchange_alloc() gave counts by itself. All connections together may keep so much (limits.buffers): the client
 * may be cut off by this call, and is `gone` then, later. */
void rung_exchange_charge(rung_exchange *x, ptrdiff_t bytes);

/* A pointer of the handler's own, for its convenience. */
void rung_exchange_set_user(rung_exchange *x, void *user);
void *rung_exchange_user(const rung_exchange *x);

/* ---- the body: ask for it once, from `handle` or later; without that it is read and thrown away ---- */

/* `body` is valid during the call. */
typedef void rung_exchange_body(void *ctx, rung_exchange *x, rung_slice body);

/* The whole body at once; an empty one when there is none. Until `ready` is called the exchange is the
 * transport's: it ends it itself, without a word, when the client goes away or the body is too slow (408) or
 * longer than `limit` (413). */
void rung_exchange_collect(rung_exchange *x, size_t limit, rung_exchange_body *ready, void *ctx);

/* The body in pieces as they come, never empty, then once an empty one as its end. Longer than `limit`
 * (UINT64_MAX: any), too slow or malformed: the transport says so to the client if the answer has not begun,
 * cuts the connection, and the exchange is `gone`. */
void rung_exchange_stream(rung_exchange *x, uint64_t limit, rung_exchange_body *piece, void *ctx);

/* Back-pressure while streaming: no more pieces after this one until rung_exchange_go_on(), which does not call
 * back itself. */
void rung_exchange_hold(rung_exchange *x);
void rung_exchange_go_on(rung_exchange *x);

/* ---- the answer ---- */

#define RUNG_TYPE_JSON    "application/json"
#define RUNG_TYPE_NDJSON  "application/x-ndjson"
#define RUNG_TYPE_TEXT    "text/plain; charset=utf-8"
#define RUNG_TYPE_EVENTS  "text/event-stream"
#define RUNG_TYPE_PROBLEM "application/problem+json"

/* One more header field of the answer, before it begins. `name` and `value` are copied; a line break in either
 * is our own mistake. Content-Length, Transfer-Encoding, Connection, Date and Content-Type are the transport's.
 * */
void rung_exchange_set(rung_exchange *x, const char *name, rung_slice value);

/* The whole answer. `type` NULL: no content type (and, by custom, no body). Copies. */
void rung_exchange_answer(rung_exchange *x, int status, const char *type, rung_slice body);

/* application/problem+json: {"type":"about:blank","title":...,"status":...,"code":...,"detail":...}. `code` is
 * stable and in lower_snake_case; the rest is for people. `members`: more members of the object as JSON text, e.g.
 * "\"field\":\"score\""; may be empty. At most 479 bytes of `detail` are sent. */
void rung_exchange_problem(rung_exchange *x, int status, const char *code, rung_slice members,
                           rung_slice detail);

/* An answer in pieces: begin, write as often as you like, end. A body that is streamed meanwhile must be asked for
 * first: one that nobody has asked for when the answer begins is unwanted (no 100 Continue; a long one closes). */
void rung_exchange_begin(rung_exchange *x, int status, const char *type);
/* Copies. False: enough is waiting, write no more before `drained` (this piece was taken all the same). */
bool rung_exchange_write(rung_exchange *x, rung_slice bytes);
/* Bytes that are shared with other answers and already framed as chunks; only where rung_exchange_is_chunked(). */
void rung_exchange_write_blob(rung_exchange *x, rung_blob *chunks);
bool rung_exchange_is_chunked(const rung_exchange *x); /* a begun answer to HTTP/1.1, not to HEAD */
size_t
rung_exchange_queued(const rung_exchange *x); /* bytes written and not yet taken by the client */
void rung_exchange_end(rung_exchange *x);
/* End a begun answer so that the client sees that it is not complete: the connection is cut. Also for an exchange whose
 * client is gone. */
void rung_exchange_cut(rung_exchange *x);

/* What the handler wants to know while the exchange lasts; NULL: nothing. All are called from the loop.
 * drained: write on. gone: the client is away; the exchange must still be ended (also from inside, but no other
 * one). */
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
