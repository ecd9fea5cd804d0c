/* SPDX-License-Identifier: Apache-2.0 */
/* net.h - sockets on one event loop: listeners and connections with bounded memory, for any protocol.
 *
 *     rung_net_create(&(rung_net_config){.alloc = a, .loop = loop}, &net, &err);
 *     rung_net_listen(net, &address, &protocol, ctx, NULL, &bound, &err);
 *     rung_loop_run(loop, RUNG_RUN_UNTIL_STOP);
 *     rung_net_stop(net, 10000, stopped, ctx);       // from a signal's callback; when `stopped` was called:
 *     rung_net_destroy(net);
 *
 * A protocol is a table of functions. It is given bytes as they come, and says how many it has consumed; what
 * it leaves is kept (up to input_max) and given again, with what follows it. What it writes is gathered and
 * leaves at the end of the turn of the loop in one system call, whoever wrote it: answers of pipelined requests
 * travel together.
 *
 * Slow peers: when more than output_high bytes wait to be sent, nothing more is read from the peer; when they
 * fall to output_low, `drained` is called and reading goes on. Nobody has to take part in that who answers what
 * was asked; who writes without being asked looks at rung_conn_is_full() first. A peer that takes nothing for
 * write_timeout_ms is cut off.
 *
 * Memory: an idle connection has its own struct (about 1 KiB) and no buffers. Bytes are read into one buffer of
 * the whole loop; output lives in chunks from a pool. What is held for connections from one turn to the next is bounded
 * for all together: input that is not complete, output that the peer does not take, and what their protocols say they
 * keep for them (rung_conn_hold()). At held_max those that hold more than an equal share are cut off, the largest
 * first. Below its share nobody is, so it is never more than twice held_max. A blob that many peers do not take
 * counts once.
 *
 * Places: connections_max of them. Of these connections_reserved are kept for protocols that have a use for them
 * (has_reserve), and as many again are not given to the others: so one protocol cannot close the door to another. A
 * connection that finds the common places taken, or has too many from its address beside it, gets a reserved one; where
 * those are taken, too, the one that came first and has not claimed its place (rung_conn_claim()) goes.
 *
 * Thread: the loop's, for everything. No function here calls back into the protocol before it returns (except
 * rung_net_stop(), which calls `stopping`), so a protocol may call any of them from any of its functions. */
#ifndef RUNG_FRONT_NET_NET_H
#define RUNG_FRONT_NET_NET_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"
#include "front/net/address.h"
#include "front/net/loop.h"
#include "front/net/tls.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_net rung_net;   /* heap object; whoever created it calls rung_net_destroy() */
typedef struct rung_conn rung_conn; /* owned by the net; gone after its `closed` */

/* One protocol's life on a connection. Only opened, data and closed must be there. */
typedef struct rung_protocol {
    /* A connection is there (over TLS: before its handshake). Returns the session, see rung_conn_session();
     * NULL: no memory, the connection is closed and `closed` is not called. `ctx` is the one given to
     * rung_net_listen(). */
    void *(*opened)(void *ctx, rung_conn *c);
    /* Bytes, at least one; returns how many of them are done with. The rest comes again together with the next
     * ones, or after rung_conn_resume(). */
    size_t (*data)(rung_conn *c, rung_slice bytes);
    /* The peer will send nothing more, but may still read. NULL: rung_conn_finish(). */
    void (*ended)(rung_conn *c);
    /* Output fell from above output_high to output_low. */
    void (*drained)(rung_conn *c);
    /* rung_conn_wake() was called. */
    void (*woken)(rung_conn *c);
    /* The deadline set by rung_conn_deadline() has passed; it is no longer set. NULL: rung_conn_abort(). */
    void (*expired)(rung_conn *c);
    /* The net stops: finish what is under way, then rung_conn_finish(). NULL: rung_conn_finish(). */
    void (*stopping)(rung_conn *c);
    /* It is over, for whatever reason; called once, last, for every connection that was opened. */
    void (*closed)(rung_conn *c);
    rung_slice
        busy; /* what a connection over the limit is told before it is closed; not over TLS */
    bool has_reserve; /* may have a reserved place: it looks at rung_conn_is_reserved() */
    uint32_t
        input_max; /* unconsumed bytes kept; a protocol that leaves more is cut off. 0: 64 KiB */
} rung_protocol;

/* Zero is a good default for every field but alloc and loop. */
typedef struct rung_net_config {
    const rung_alloc *alloc;
    rung_loop *loop;               /* outlives the net */
    uint32_t connections_max;      /* more are told `busy` and closed; 0: 16,384 */
    uint32_t connections_reserved; /* of them; at most a quarter */
    uint32_t per_address_max;      /* from one IPv4 address or IPv6 /64; 0: as many as there are */
    bool counts_loopback;          /* per_address_max is for connections from this machine, too */
    uint32_t output_high;          /* bytes waiting to be sent at which reading stops; 0: 256 KiB */
    uint32_t output_low;           /* and goes on; 0: a quarter of output_high */
    uint32_t output_max;           /* a connection with more waiting is cut off; 0: 64 MiB */
    size_t held_max;               /* held by all connections together; 0: 48 MiB */
    uint32_t write_timeout_ms;     /* 0: 30 s */
    uint32_t linger_ms;    /* how long a finished connection may take to say goodbye; 0: 2 s */
    uint32_t handshake_ms; /* TLS; 0: 10 s */
} rung_net_config;

RUNG_NODISCARD rung_status rung_net_create(const rung_net_config *config, rung_net **net_out,
                                           rung_err *err);

/* Listen. `protocol` and `tls` outlive the net, `*bound_out` (may be NULL) is the address with its real port. A
 * unix socket left behind by a dead process is replaced, that of a living one is not (RUNG_EBUSY), and it is
 * removed at the end. RUNG_EBUSY: in use; RUNG_EINVAL; RUNG_EIO; RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_net_listen(rung_net *n, const rung_address *address,
                                           const rung_protocol *protocol, void *ctx, rung_tls *tls,
                                           rung_address *bound_out, rung_err *err);

/* Accept no more, tell every connection that we stop, cut off what is left after deadline_ms. `stopped` is
 * called, from the loop, when all is closed. Once. */
void rung_net_stop(rung_net *n, uint32_t deadline_ms, void (*stopped)(void *ctx), void *ctx);

/* After `stopped`, or when nothing was ever listened on. NULL is fine. */
void rung_net_destroy(rung_net *n);

typedef struct rung_net_stats {
    uint64_t accepted, refused /* over the limit */, timed_out,
        refused_address /* of the refused: by per_address_max */,
        cut_off /* output_max, input_max, held_max */;
    uint64_t tls_failures;
    uint64_t bytes_in, bytes_out;
    uint32_t open;
    uint32_t reserved; /* of them, in reserved places */
    size_t held;       /* what held_max bounds */
    size_t memory; /* bytes held: connections, buffers, pools; without the kernel's and OpenSSL's */
} rung_net_stats;
rung_net_stats rung_net_stat(const rung_net *n);

rung_loop *rung_net_loop(const rung_net *n);

/* Are seven eighths of the places taken that this protocol's connections may have? Then idle ones should go. */
bool rung_net_is_crowded(const rung_net *n, const rung_protocol *protocol);

/* ---- a connection: what is known ---- */

void *rung_conn_session(const rung_conn *c); /* what `opened` returned */
rung_net *rung_conn_net(const rung_conn *c);
bool rung_conn_is_tls(const rung_conn *c);
bool rung_conn_is_unix(const rung_conn *c);
bool rung_conn_is_finished(
    const rung_conn *c); /* rung_conn_finish() or rung_conn_abort() was called, or it broke */
bool rung_conn_is_reserved(const rung_conn *c); /* it has a reserved place */
/* "127.0.0.1:51324", or "unix:" for a unix socket. */
void rung_conn_peer(const rung_conn *c, char text[RUNG_ADDRESS_TEXT_MAX]);
/* What tells senders apart who show no key: eight bytes for an IPv4 address or an IPv6 /64, the same for all unix
 * sockets. Valid as long as the connection. */
rung_slice rung_conn_peer_key(const rung_conn *c);

/* ---- output ---- */

/* Bytes that many connections send: made once, shared by count. */
typedef struct rung_blob {
    uint32_t ref_count;
    uint32_t stuck_count; /* the net's own */
    uint32_t len;         /* may be made shorter than what was asked for, before it is shared */
    uint32_t size;        /* as asked for */
    const rung_alloc *alloc;
    char bytes[];
} rung_blob;
rung_blob *rung_blob_create(const rung_alloc *alloc,
                            size_t len); /* one reference, the caller's; NULL: no memory */
rung_blob *rung_blob_take(rung_blob *b); /* one more */
void rung_blob_give(rung_blob *b);       /* one less; NULL is fine */

/* Queue a copy. Without memory, or beyond output_max, the connection is cut off: there is nothing for the
 * caller to do. On a finished connection nothing happens. */
void rung_conn_write(rung_conn *c, rung_slice bytes);
/* Queue a shared blob; takes a reference of its own. */
void rung_conn_write_blob(rung_conn *c, rung_blob *b);

size_t rung_conn_queued(const rung_conn *c); /* bytes waiting to be sent */
bool rung_conn_is_full(
    const rung_conn *c); /* more than output_high wait; `drained` will be called */

/* ---- input ---- */

/* No more `data` until resumed; pausing twice is pausing once. What was left unconsumed is given again after a
 * resume, from the loop, not from here. */
void rung_conn_pause(rung_conn *c);
void rung_conn_resume(rung_conn *c);

/* The protocol keeps so many bytes for this connection, in all. What counts is memory that the peer can make it keep:
 * parts of requests, queued commands, answers that wait. May cut this connection off, or one that holds more. */
void rung_conn_hold(rung_conn *c, size_t bytes);

/* In a reserved place: something worth its place is under way, and the connection is not sent away for another one. It
 * is again once it is finished. */
void rung_conn_claim(rung_conn *c);

/* Have `woken` called before the loop waits again: for work that must not be done where it was found. */
void rung_conn_wake(rung_conn *c);

/* ---- its end ---- */

/* `expired` is called when `ms` have passed, give or take a quarter second. Replaces the one before; 0: none.
 * Very cheap. */
void rung_conn_deadline(rung_conn *c, uint32_t ms);

/* Another protocol goes on with this connection (an upgrade); `closed` will be the new one's. Unconsumed bytes
 * are given to it. */
void rung_conn_switch(rung_conn *c, const rung_protocol *protocol, void *session);

/* Send what is queued, say goodbye, close. No more `data`. */
void rung_conn_finish(rung_conn *c);
/* Close now; what is queued is dropped, the peer sees a reset. */
void rung_conn_abort(rung_conn *c);

#endif
