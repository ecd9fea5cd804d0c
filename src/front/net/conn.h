/* SPDX-License-Identifier: Apache-2.0 */
/* conn.h - the structs of a net and of a connection, and what the files of the room call of each other. The contract
 * is net.h. Private to front/net. */
#ifndef RUNG_FRONT_NET_CONN_H
#define RUNG_FRONT_NET_CONN_H

#include "base/buffer.h"
#include "base/list.h"
#include "front/net/net.h"
#include "front/net/peers.h"
#include "front/net/queue.h"
#include "front/net/tls_session.h"

/* The timer wheel has steps of a quarter second. Deadlines more than one round away are looked at again. */
#define RUNG__WHEEL_STEP_MS 250u
#define RUNG__WHEEL_SLOTS   64u

#define RUNG__READ_SIZE 65536u /* the loop's read buffer */

/* A connection's life, see conn.c. From FINISHING on the protocol is given nothing more. */
typedef enum rung__conn_state {
    RUNG__CONN_NEW,
    RUNG__CONN_PROXY,     /* waits for a proxy's header; has no session yet */
    RUNG__CONN_HANDSHAKE, /* of TLS */
    RUNG__CONN_OPEN,
    RUNG__CONN_FINISHING, /* what is queued is still sent */
    RUNG__CONN_GOODBYE,   /* TLS says goodbye */
    RUNG__CONN_LINGERING, /* our side is shut down; the peer's end is waited for */
    RUNG__CONN_CLOSING,   /* the stream is being closed */
} rung__conn_state;

typedef enum rung__place {
    RUNG__PLACE_NONE,
    RUNG__PLACE_TOLD, /* refused, and being told so */
    RUNG__PLACE_COMMON,
    RUNG__PLACE_RESERVED,
    RUNG__PLACE_CLAIMED, /* reserved, see rung_conn_claim() */
} rung__place;

/* The peer's side. */
typedef enum rung__input {
    RUNG__INPUT_OPEN,
    RUNG__INPUT_ENDED,
    RUNG__INPUT_END_TOLD /* `ended` was called */
} rung__input;

/* Why nothing is read; both can be set. */
#define RUNG__HOLD_PROTOCOL 1u
#define RUNG__HOLD_OUTPUT   2u
/* What is to be done at the end of the turn besides sending: kept input is given again; `woken` is called. */
#define RUNG__DUE_INPUT 1u
#define RUNG__DUE_WOKEN 2u

typedef struct rung__listener {
    rung_listener *from;
    rung_net *net;
    const rung_protocol *protocol;
    void *ctx;
    rung_tls *tls;
    bool is_waiting; /* a connection was not accepted yet for lack of memory */
    struct rung__listener *next;
} rung__listener;

struct rung_net {
    rung_net_config config;
    rung__pool pool;
    rung_task send;
    rung_timer wheel_timer, stop_timer;
    size_t conn_size; /* of a connection with its stream */
    rung__listener *listeners;
    RUNG_LIST(rung_conn) all; /* that are not closed */
    rung_conn *idle_structs;  /* free ones, for reuse */
    uint32_t idle_struct_count;
    rung_conn *spare;          /* to refuse a connection when there is no memory */
    RUNG_LIST(rung_conn) turn; /* those with something to do before the loop waits */
    RUNG_LIST(rung_conn) wheel[RUNG__WHEEL_SLOTS];
    uint64_t tick; /* the last step of the wheel that is done */
    bool is_stopping;
    uint64_t shed_turn; /* the turn in which connections were last cut off to free memory */
    size_t held;        /* by all connections: the sum of theirs; without blobs, see pool.stuck */
    rung__peers peers;
    uint32_t common_count;         /* connections in common places */
    uint32_t told_count;           /* refused connections that are being told so */
    RUNG_LIST(rung_conn) reserved; /* in reserved places, in the order they came */
    void (*stopped)(void *ctx);
    void *stopped_ctx;
    rung_net_stats stats;
    char read_buffer[RUNG__READ_SIZE];
    char plain_buffer[RUNG__READ_SIZE]; /* what TLS decrypts */
};

/* Its stream follows it in the same block. */
struct rung_conn {
    rung_net *net;
    rung__listener *listener;
    const rung_protocol *protocol;
    void *session;
    rung__tls_session *tls; /* NULL: plain */
    rung__queue out;        /* to be sent; with TLS to be encrypted first */
    rung_buffer kept;       /* unconsumed input */
    uint32_t writing;       /* bytes of the stream's write in flight */
    size_t held;         /* memory of kept input, output that the peer does not take, the session */
    size_t session_held; /* as the protocol says */
    rung__peer *peer;    /* whose address it has; NULL: not counted */
    uint64_t peer_key;   /* rung__peer_key() of that address; 0 on a unix socket */
    union {
        struct sockaddr any; /* sa_family 0: none */
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
    } client; /* of whom a proxy's header speaks */
    rung__place place;
    RUNG_LINK(rung_conn) all, reserved, turn, wheel;
    uint64_t wheel_tick; /* 0: not in the wheel */
    /* Deadlines of the protocol, of output, of the handshake or goodbye; 0: none. */
    uint64_t deadline_ms, write_ms, own_ms;
    size_t write_left; /* unsent when write_ms was set: has any been sent since? */
    rung__conn_state state;
    rung__input input;
    unsigned holds;  /* RUNG__HOLD_*; not 0: nothing is read, nothing given to the protocol */
    unsigned due;    /* RUNG__DUE_* */
    bool is_reading; /* the stream is read */
    bool is_in_turn; /* in the list of this turn */
    bool is_in_data; /* the protocol's `data` is running */
};

static inline rung_stream *rung__conn_stream(const rung_conn *c) {
    return (rung_stream *)(uintptr_t)(c + 1);
}

static inline const rung_loop_ops *rung__conn_ops(const rung_conn *c) {
    return c->net->config.loop->ops;
}

static inline uint64_t rung__net_now_ms(const rung_net *n) {
    return rung_loop_now_ms(n->config.loop);
}

/* conn.c */
void rung__conn_accept(rung__listener *l);
void rung__conn_turn(rung_conn *c); /* its part of the send phase */
void rung__conn_to_turn(rung_conn *c);
void rung__conn_leave_turn(rung_conn *c);
void rung__conn_expire(rung_conn *c); /* its step of the wheel has come; it is out of the wheel */
void rung__conn_stop(rung_conn *c);   /* the net stops */
void rung__conn_open(rung_conn *c);   /* it has a place; the proxy's header, if any, was read */
void rung__conn_opened(rung_conn *c); /* the handshake is over */
void rung__conn_update_reading(rung_conn *c);
void rung__conn_close(rung_conn *c, bool with_reset); /* now; twice is fine */
void rung__conn_cut_off(rung_conn *c); /* with a reset, and counted: it exceeded a limit */

/* input.c */
struct iovec rung__conn_room(rung_stream *s);
void rung__conn_got(rung_stream *s, char *at, ssize_t n);
void rung__conn_take_up(rung_conn *c); /* give again what was left */
void rung__conn_drop_input(rung_conn *c);

/* output.c */
void rung__conn_flush(rung_conn *c);
void rung__conn_written(rung_stream *s, bool is_ok);
void rung__conn_check_drained(rung_conn *c);

/* hold.c */
void rung__conn_count_held(rung_conn *c);  /* what it holds has changed */
void rung__conn_stay_within(rung_conn *c); /* it has come to hold more; may close it */

/* place.c */
bool rung__conn_find_place(rung_conn *c); /* false: there is none for it */
bool rung__conn_awaits_header(const rung_conn *c);
/* A proxy has said who the client is. False: that address has too many connections, or there is no memory. */
bool rung__conn_set_client(rung_conn *c, const rung_address *client);
void rung__conn_leave_place(rung_conn *c);

/* net.c */
void rung__net_schedule(rung_conn *c); /* deadline_ms, write_ms or own_ms has changed */
void rung__net_unschedule(rung_conn *c);
void rung__net_closed(rung_net *n); /* a connection is gone: was it the last? */
void rung__net_send(void *net);     /* send now what was written in this turn */

#endif
