/* SPDX-License-Identifier: Apache-2.0 */
/* conn.h - what net.c and conn.c know of each other: the structs of a net and of a connection.
 *
 * Private to front/net; the contract is net.h. */
#ifndef RUNG_FRONT_NET_CONN_H
#define RUNG_FRONT_NET_CONN_H

#include "front/net/net.h"
#include "front/net/peers.h"
#include "front/net/queue.h"
#include "front/net/tls_session.h"

/* The wheel: deadlines are kept in steps of a quarter second, and looked at again after one round when further
 * away. */
#define RUNG__WHEEL_STEP_MS 250u
#define RUNG__WHEEL_SLOTS   64u

#define RUNG__READ_SIZE 65536u /* the loop's read buffer */

typedef enum rung__place { RUNG__PLACE_NONE, RUNG__PLACE_COMMON, RUNG__PLACE_RESERVED } rung__place;

typedef struct rung__listener {
    rung_listener *from;
    rung_net *net;
    const rung_protocol *protocol;
    void *ctx;
    rung_tls *tls;
    bool is_waiting; /* somebody is at the door, and there was no memory to let them in */
    struct rung__listener *next;
} rung__listener;

struct rung_net {
    rung_net_config config;
    rung__pool pool;
    rung_task send;
    rung_timer wheel_timer, stop_timer;
    size_t conn_size; /* of a connection with its stream */
    rung__listener *listeners;
    rung_conn *conns;        /* all that are not closed */
    rung_conn *idle_structs; /* free ones, for reuse */
    uint32_t idle_struct_count;
    rung_conn *spare;                  /* to turn somebody away when there is no memory */
    rung_conn *turn_first, *turn_last; /* those with something to do before the loop waits */
    rung_conn *wheel[RUNG__WHEEL_SLOTS];
    uint64_t tick; /* the last step of the wheel that was worked off */
    bool is_stopping;
    uint64_t shed_turn; /* the number of the turn in which room was made last */
    size_t held;   /* by all connections: the sum of theirs; without blobs, see pool.stuck */
    rung__peers peers;
    uint32_t common_count; /* connections in common places */
    uint32_t told_count;   /* connections that got no place and are being told so */
    rung_conn *reserved_first, *reserved_last; /* in reserved places, in the order they came */
    void (*stopped)(void *ctx);
    void *stopped_ctx;
    rung_net_stats stats;
    char read_buffer[RUNG__READ_SIZE];
    char plain_buffer[RUNG__READ_SIZE]; /* what TLS decrypts */
};

/* Its stream follows it in the same block. */
struct rung_conn {
    rung_net *net;
    const rung_protocol *protocol;
    void *session;
    rung__tls_session *tls; /* NULL: plain */
    rung__queue out;        /* to be sent; with TLS to be encrypted first */
    char *kept;             /* unconsumed input */
    uint32_t kept_len, kept_size;
    uint32_t writing; /* bytes of the stream's write that is under way */
    size_t
        held; /* memory of input kept, of output that the peer does not take, and of the session */
    size_t session_held; /* as the protocol says */
    rung__peer *peer;    /* whose address it has; NULL: not counted */
    uint64_t peer_key;   /* rung__peer_key() of that address; 0 on a unix socket */
    rung__place place;
    rung_conn *reserved_prev, *reserved_next;
    rung_conn *prev, *next;
    rung_conn *turn_prev, *turn_next;
    rung_conn *wheel_prev, *wheel_next;
    uint64_t wheel_tick; /* 0: not in the wheel */
    uint64_t deadline_ms, write_ms,
        own_ms;        /* the protocol's; output's; handshake or goodbye. 0: none */
    size_t write_left; /* unsent when write_ms was set: has it moved since? */
    bool is_spare;
    bool is_claimed;                     /* of a reserved place */
    bool is_told;                        /* that there is no place for it */
    bool is_opened;                      /* the protocol knows it */
    bool is_paused, is_full, is_reading; /* by the protocol; by output; the stream is read */
    bool is_in_turn, has_input,
        is_woken;               /* in the list of this turn; kept input is to be given again */
    bool is_ended, is_end_told; /* the peer's side is closed; `ended` was called */
    bool is_finished, is_goodbye,
        is_shut;     /* finish was called; TLS said goodbye; our side is shut down */
    bool is_closing; /* the stream is being closed */
    bool is_in_data; /* the protocol's `data` is running */
};

static inline rung_stream *rung__conn_stream(const rung_conn *c) {
    return (rung_stream *)(uintptr_t)(c + 1);
}

static inline uint64_t rung__net_now_ms(const rung_net *n) {
    return rung_loop_now_ms(n->config.loop);
}

/* conn.c for net.c */
void rung__conn_accept(rung__listener *l);
void rung__conn_turn(rung_conn *c); /* do what is to be done before the loop waits */
void rung__conn_leave_turn(rung_conn *c);
void rung__conn_expire(rung_conn *c); /* the wheel has come to it; it is out of the wheel */
void rung__conn_stop(rung_conn *c);   /* the net stops */

/* net.c for conn.c */
void rung__net_schedule(rung_conn *c); /* deadline_ms, write_ms or own_ms has changed */
void rung__net_unschedule(rung_conn *c);
void rung__net_closed(rung_net *n); /* a connection is gone: was it the last? */
void rung__net_send(void *net);     /* send now what was written in this turn */

#endif
