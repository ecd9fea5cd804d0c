/* SPDX-License-Identifier: Apache-2.0 */
/* tls_session.h - one connection's TLS, without a socket: cipher text is put in and comes out in memory.
 *
 *     rung__tls_feed(s, bytes);                 // what the socket read
 *     while (rung__tls_read(s, room, &n) == RUNG_OK) ...
 *     rung__tls_write(s, bytes, &n);            // plain text to send
 *     s->wire                                   // what the socket has to send: take from its front
 *
 * Private to front/net. */
#ifndef RUNG_FRONT_NET_TLS_SESSION_H
#define RUNG_FRONT_NET_TLS_SESSION_H

#include "base/buffer.h"
#include "front/net/queue.h"
#include "front/net/tls.h"

#include <openssl/ssl.h>

typedef struct rung__tls_session {
    SSL *ssl;
    rung__pool *pool;
    rung__queue wire; /* cipher text to send */
    rung_slice in;    /* cipher text not read yet, in the loop's buffer or in `kept` */
    rung_buffer kept;
    bool is_out_of_memory; /* wire could not grow: the connection is lost */
} rung__tls_session;

RUNG_NODISCARD rung_status rung__tls_session_create(rung_tls *t, rung__pool *pool,
                                                    rung__tls_session **out);
void rung__tls_session_destroy(rung__tls_session *s); /* NULL is fine */

/* Cipher text has come. Borrowed until rung__tls_keep(), which copies what is not read yet. False: no memory. */
RUNG_NODISCARD bool rung__tls_feed(rung__tls_session *s, rung_slice bytes);
RUNG_NODISCARD bool rung__tls_keep(rung__tls_session *s);

/* Plain text. RUNG_OK with *n_out > 0; RUNG_PARTIAL: needs more cipher text; RUNG_ECLOSED: the peer said goodbye;
 * RUNG_EINVAL: not TLS, or broken. Does the handshake on the way. */
rung_status rung__tls_read(rung__tls_session *s, char *to, size_t room, size_t *n_out);
bool rung__tls_is_open(const rung__tls_session *s); /* the handshake is done */

/* Encrypt; only when open. RUNG_OK with *n_out > 0, or RUNG_EINVAL. */
rung_status rung__tls_write(rung__tls_session *s, rung_slice bytes, size_t *n_out);
/* Say goodbye. */
void rung__tls_goodbye(rung__tls_session *s);

#endif
