/* SPDX-License-Identifier: Apache-2.0 */
/* net.h - sockets on one event loop: listeners and connections with bounded memory, for any protocol.
 *
 *     rung_net_create(&(rung_net_config){.alloc = a, .loop = loop}, &net, &err);
 *     rung_net_listen(net, &address, &protocol, ctx, NULL, &bound, &err);
 *     rung_loop_run(loop, RUNG_RUN_UNTIL_STOP);
 *     rung_net_stop(net, 10000, stopped, ctx);       // from a signal's callback; when `stopped` was called:
 *     rung_net_destroy(net);
 *
 * A protocol is a table of functions. It receives bytes as they arrive and returns how many it has consumed. The rest
 * is kept (up to input_max) and given again together with what follows. Output is gathered and sent at the end of the
 * turn in one system call, so the answers to pipelined requests travel together.
 *
 * Slow peers: while more than output_high bytes wait to be sent, nothing is read from the peer. At output_low `drained`
 * is called and reading resumes. A protocol that only answers requests need not care; one that writes unasked checks
 * rung_conn_is_full() first. A peer that takes nothing for write_timeout_ms is cut off.
 *
 * Memory: an idle connection has its struct (about 1 KiB) and no buffers. One read buffer serves the whole loop; output
 * is in pooled chunks. There is a limit for what all connections together hold between turns: incomplete input, output
 * that the peer does not take, and what protocols keep (rung_conn_hold()). At held_max, connections that hold more than
 * an equal share are cut off, the largest first; the others never are, so the total stays below twice held_max. A blob
 * that several peers do not take counts once.
 *
 * Places: there are connections_max. Of these connections_reserved are kept for protocols with has_reserve, and as many
 * again are withheld from the other protocols, so no protocol can lock out another. A connection that finds the common
 * places taken, or exceeds the limit of its address, gets a reserved place. If those are taken, too, the oldest
 * connection that has not claimed its place (rung_conn_claim()) is closed.
 *
 * Thread: the loop's, for everything. No function here calls the protocol before it returns (except rung_net_stop(),
 * which calls `stopping`), so a protocol may call any of them from any of its functions. */
#ifndef RUNG_FRONT_NET_NET_H
#define RUNG_FRONT_NET_NET_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"
#include "front/net/address.h"
#include "front/net/loop.h"
#include "front/net/proxies.h"
#include "front/net/tls.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_net rung_net;   /* heap object; whoever created it calls rung_net_destroy() */
typedef struct rung_conn rung_conn; /* owned by the net; gone after its `closed` */

/* One protocol's life on a connection. Only opened, data and closed must be there. */
typedef struct rung_protocol {
    /* A connection was accepted (over TLS: before its handshake). Returns the session, see rung_conn_session(); NULL:
     * no memory, the connection is closed and `closed` is not called. `ctx` is that of rung_net_listen(). */
    void *(*opened)(void *ctx, rung_conn *c);
    /* At least one byte has come; returns how many are consumed. The rest is given again together with the next bytes,
     * or after rung_conn_resume(). */
    size_t (*data)(rung_conn *c, rung_slice bytes);
    /* The peer will send nothing more, but may still read. NULL: rung_conn_finish(). */
    void (*ended)(rung_conn *c);
    /* Output fell from above output_high to output_low. */
    void (*drained)(rung_conn *c);
    /* rung_conn_wake() was called. */
    void (*woken)(rung_conn *c);
    /* The deadline set by rung_conn_deadline() has passed; it is no longer set. NULL: rung_conn_abort(). */
    void (*expired)(rung_conn *c);
    /* The net stops: finish what is in flight, then rung_conn_finish(). NULL: rung_conn_finish(). */
    void (*stopping)(rung_conn *c);
    /* The connection is gone; called once, last, for every connection that was opened. */
    void (*closed)(rung_conn *c);
    rung_slice busy;    /* sent to a connection over the limit before it is closed; not over TLS */
    bool has_reserve;   /* may have a reserved place, see rung_conn_is_reserved() */
    uint32_t input_max; /* unconsumed bytes kept; a connection with more is cut off. 0: 64 KiB */
} rung_protocol;

/* Zero is a good default for every field but alloc and loop. */
typedef struct rung_net_config {
    const rung_alloc *alloc;
    rung_loop *loop;               /* outlives the net */
    uint32_t connections_max;      /* more are told `busy` and closed; 0: 16,384 */
    uint32_t connections_reserved; /* of them; at most a quarter */
    uint32_t per_address_max;      /* from one IPv4 address or IPv6 /64; 0: no limit */
    bool counts_loopback;          /* per_address_max applies to this machine, too */
    /* Who may say whom it speaks for; outlives the net. They have no limit of their own. NULL: nobody. */
    const rung_proxies *proxies;
    bool needs_proxy_header;   /* of them: every connection begins with a PROXY header, version 2 */
    uint32_t output_high;      /* bytes waiting to be sent at which reading stops; 0: 256 KiB */
    uint32_t output_low;       /* and goes on; 0: a quarter of output_high */
    uint32_t output_max;       /* a connection with more waiting is cut off; 0: 64 MiB */
    size_t held_max;           /* held by all connections together; 0: 48 MiB */
    uint32_t write_timeout_ms; /* 0: 30 s */
    uint32_t linger_ms;        /* how long a finished connection may take to say goodbye; 0: 2 s */
    uint32_t handshake_ms;     /* TLS, and the PROXY header; 0: 10 s */
} rung_net_config;

RUNG_NODISCARD rung_status rung_net_create(const rung_net_config *config, rung_net **net_out,
                                           rung_err *err);

/* Listen. `protocol` and `tls` outlive the net, `*bound_out` (may be NULL) is the address with its real port. The file
 * of a unix socket is removed at the end. Fails like rung_loop_listen(). */
RUNG_NODISCARD rung_status rung_net_listen(rung_net *n, const rung_address *address,
                                           const rung_protocol *protocol, void *ctx, rung_tls *tls,
                                           rung_address *bound_out, rung_err *err);

/* Accept no more, tell every connection, cut off those left after deadline_ms. `stopped` is called once, from the loop,
 * when all are closed. */
void rung_net_stop(rung_net *n, uint32_t deadline_ms, void (*stopped)(void *ctx), void *ctx);

/* After `stopped`, or when nothing was ever listened on. NULL is fine. */
void rung_net_destroy(rung_net *n);

typedef struct rung_net_stats {
    uint64_t accepted, timed_out, tls_failures;
    uint64_t refused, refused_address; /* over a limit; of them, over per_address_max */
    uint64_t refused_proxy;            /* a trusted proxy did not send a good PROXY header */
    uint64_t cut_off;                  /* over output_max, input_max or held_max */
    uint64_t bytes_in, bytes_out;
    uint32_t open;
    uint32_t reserved; /* of them, in reserved places */
    size_t held;       /* what held_max bounds */
    size_t memory;     /* of connections, buffers, pools; without the kernel's and OpenSSL's */
} rung_net_stats;
rung_net_stats rung_net_stat(const rung_net *n);

rung_loop *rung_net_loop(const rung_net *n);

/* Are seven eighths of this protocol's places taken? Then idle connections should go. */
bool rung_net_is_crowded(const rung_net *n, const rung_protocol *protocol);

/* ---- a connection: what is known ---- */

void *rung_conn_session(const rung_conn *c); /* what `opened` returned */
rung_net *rung_conn_net(const rung_conn *c);
bool rung_conn_is_tls(const rung_conn *c);
bool rung_conn_is_unix(const rung_conn *c);
bool rung_conn_is_finished(const rung_conn *c); /* finished, aborted or broken */
bool rung_conn_is_reserved(const rung_conn *c); /* it has a reserved place */
/* The client's address: the connection's, or what a trusted proxy's header says. A unix socket has is_unix and no path.
 * False: the peer has gone. */
bool rung_conn_address(const rung_conn *c, rung_address *out);
/* The same as text: "127.0.0.1:51324", or "unix:". */
void rung_conn_peer(const rung_conn *c, char text[RUNG_ADDRESS_TEXT_MAX]);
/* The eight bytes of an address, as below. */
uint64_t rung_address_key(const rung_address *a);
/* Identifies a sender without a key: eight bytes for an IPv4 address or an IPv6 /64, the same for all unix sockets.
 * Valid as long as the connection. */
rung_slice rung_conn_peer_key(const rung_conn *c);

/* ---- output ---- */

/* Bytes that many connections send: made once, shared by count. */
typedef struct rung_blob {
    uint32_t ref_count;
    uint32_t stuck_count; /* the net's own */
    uint32_t len;         /* may be reduced before it is shared */
    uint32_t size;        /* as created */
    const rung_alloc *alloc;
    char bytes[];
} rung_blob;
/* With one reference, the caller's; NULL: no memory. */
rung_blob *rung_blob_create(const rung_alloc *alloc, size_t len);
rung_blob *rung_blob_take(rung_blob *b); /* one reference more */
void rung_blob_give(rung_blob *b);       /* one less; NULL is fine */

/* Queue a copy. Without memory, or beyond output_max, the connection is cut off; the caller has nothing to do. Does
 * nothing on a finished connection. */
void rung_conn_write(rung_conn *c, rung_slice bytes);
/* Queue a shared blob; takes a reference of its own. */
void rung_conn_write_blob(rung_conn *c, rung_blob *b);

size_t rung_conn_queued(const rung_conn *c); /* bytes waiting to be sent */
bool rung_conn_is_full(
    const rung_conn *c); /* more than output_high wait; `drained` will be called */

/* ---- input ---- */

/* No more `data` until resumed. Pauses do not nest. Unconsumed bytes are given again after it, from the loop. */
void rung_conn_pause(rung_conn *c);
void rung_conn_resume(rung_conn *c);

/* Set how many bytes the protocol keeps for this connection because of what its peer sent: parts of requests, queued
 * commands, waiting answers. May cut off this connection, or one that holds more. */
void rung_conn_hold(rung_conn *c, size_t bytes);

/* A connection in a reserved place has something important in flight: it is not closed for another one, until it is
 * finished. */
void rung_conn_claim(rung_conn *c);

/* Have `woken` called before the loop waits again. */
void rung_conn_wake(rung_conn *c);

/* ---- its end ---- */

/* `expired` is called after `ms`, give or take a quarter second. Replaces the deadline before; 0: none. Very cheap. */
void rung_conn_deadline(rung_conn *c, uint32_t ms);

/* Another protocol takes over the connection (an upgrade), with its unconsumed bytes. */
void rung_conn_switch(rung_conn *c, const rung_protocol *protocol, void *session);

/* Send what is queued, say goodbye, close. No more `data`. */
void rung_conn_finish(rung_conn *c);
/* Close now; what is queued is dropped, the peer sees a reset. */
void rung_conn_abort(rung_conn *c);

#endif
