/* SPDX-License-Identifier: Apache-2.0 */
/* websocket.h - a viewer's connection after the upgrade: frames by libwslay, messages to and from topics.
 *
 *     rung_websocket_accept(key, text);                          // for Sec-WebSocket-Accept
 *     rung_websocket_create(&config, &ws, &err);
 *     conn = rung_exchange_upgrade(x, headers, rung_websocket_protocol(), ws);
 *     rung_websocket_begin(ws, conn, &spec, since);              // or, without one: rung_websocket_destroy(ws)
 *
 * The client may send {"op":"subscribe", "limit":10, ...}, {"op":"unsubscribe","topic":...} and {"op":"submit", ...}:
 * docs/live.md.
 * Limits: 8 topics, messages of 4 KiB, 20 at once and 10 a second; who exceeds them is closed with 1009 or
 * 1008. A ping goes out with every beat of the live room; a peer that says nothing for three of them is cut
 * off. Thread: the loop's. */
#ifndef RUNG_FRONT_LIVE_WEBSOCKET_H
#define RUNG_FRONT_LIVE_WEBSOCKET_H

#include "base/slice.h"
#include "base/status.h"
#include "front/live/live.h"
#include "front/net/net.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_websocket rung_websocket; /* its connection's, once begun */

#define RUNG_WEBSOCKET_TOPICS_MAX  8u
#define RUNG_WEBSOCKET_MESSAGE_MAX 4096u

/* {"op":"submit", ...}, as sent; valid during the call. */
typedef struct rung_websocket_submission {
    rung_slice board; /* empty: the one that is watched */
    rung_slice session, time, nonce, signature;
    rung_slice body; /* the submission as JSON text: what is signed */
} rung_websocket_submission;

typedef struct rung_websocket_config {
    const rung_alloc *alloc;
    rung_live *live;
    /* What "subscribe" is about; copied. Empty: there is no subscribing by message. */
    rung_slice board;
    /* May this be watched? It fills in what the peer leaves unsaid: who asks, and who "me" is. With NULL: may the
     * connection still be there? */
    bool (*may)(void *ctx, rung_live_spec *spec, rung_err *err);
    /* A player's own submission to the board; rung_websocket_say() answers it, now or later. NULL: there are none. */
    void (*submit)(void *ctx, const rung_websocket_submission *q);
    void (*closed)(void *ctx); /* it is over: ctx is not used any more */
    void *ctx;
    uint32_t ping_ms; /* a silent peer is pinged this often, three times; 0: 20 s */
} rung_websocket_config;

/* The answer to a Sec-WebSocket-Key, NUL-terminated. False: the key is not one. */
#define RUNG_WEBSOCKET_ACCEPT_SIZE 29
bool rung_websocket_accept(rung_slice key, char out[RUNG_WEBSOCKET_ACCEPT_SIZE]);

RUNG_NODISCARD rung_status rung_websocket_create(const rung_websocket_config *config,
                                                 rung_websocket **out, rung_err *err);
/* Only when it was never begun; calls `closed`. */
void rung_websocket_destroy(rung_websocket *ws);
/* A message for this peer, unless the connection is closing. */
void rung_websocket_say(rung_websocket *ws, rung_slice message);
const rung_protocol *rung_websocket_protocol(void);
void rung_websocket_begin(rung_websocket *ws, rung_conn *conn, const rung_live_spec *spec,
                          const uint64_t *since);

#endif
