/* SPDX-License-Identifier: Apache-2.0 */
/* transport.h - what the files of the transport know of each other: the front, a connection's session, an exchange.
 *
 * Private to front/http: http.c reads requests, exchange.c answers them. */
#ifndef RUNG_FRONT_HTTP_TRANSPORT_H
#define RUNG_FRONT_HTTP_TRANSPORT_H

#include "base/buffer.h"
#include "codec/http1.h"
#include "front/http/exchange.h"
#include "front/http/gzip.h"
#include "front/http/http.h"

typedef struct rung__session rung__session;

typedef enum rung__body_mode {
    RUNG__BODY_UNASKED,
    RUNG__BODY_COLLECT,
    RUNG__BODY_STREAM,
} rung__body_mode;

#define RUNG__ROOM_SIZE  3072u /* of an exchange: its head, then what the handler allocates */
#define RUNG__EXTRA_SIZE 2560u /* header fields set by the handler; a head has 4096 in all */

/* A block too large for the room. */
typedef struct rung__block {
    struct rung__block *next;
    size_t size;
    _Alignas(16) char bytes[];
} rung__block;

/* How far an exchange is. It only goes forward, through rung__exchange_go():
 *
 *     NEW --its head has come--> QUEUED --its turn has come--> HANDED --the answer's head is written--> BEGUN --> ENDED
 *
 * One that the transport refuses in its queue skips HANDED; one whose client is gone may end from anywhere. From QUEUED
 * on it counts as in flight, unless it is a stream of events. */
typedef enum rung__exchange_state {
    RUNG__NEW,
    RUNG__QUEUED, /* the handler has not seen it */
    RUNG__HANDED, /* the handler has it */
    RUNG__BEGUN,  /* the answer's head is written */
    RUNG__ENDED,  /* and all of it; it waits for those before it to be sent */
} rung__exchange_state;

/* COMING --all has come--> HERE; the handler asks only then: HERE --> DUE --it is told--> HERE. A handler may hold up a
 * streamed body: COMING --> HELD --> COMING. */
typedef enum rung__body_state {
    RUNG__BODY_COMING,
    RUNG__BODY_HELD,
    RUNG__BODY_HERE,
    RUNG__BODY_DUE,
} rung__body_state;

struct rung_exchange {
    rung_http *http;
    rung__session *session; /* NULL: the client is gone */
    rung_exchange *next;    /* on its connection, in order of arrival; or in the pool */
    rung_request request;
    char *head_bytes;
    void *user;
    rung_exchange_watcher watcher;
    /* the body */
    rung__body_mode body_mode;
    rung_exchange_body *body;
    void *body_ctx;
    uint64_t body_limit, body_size; /* size: what has come */
    rung_buffer collected;
    rung__body_state body_state;
    /* the answer */
    int status;
    rung__exchange_state state;
    bool is_chunked;   /* the answer is */
    bool is_final;     /* the connection closes after it */
    bool is_waiting;   /* was told to wait for `drained` */
    bool is_events;    /* the answer is a stream of events: it ends with its reader */
    bool has_encoding; /* the handler set Content-Encoding */
    rung_buffer out;   /* the answer, as long as others are before it */
    char *extra;       /* more fields of its head */
    uint32_t extra_len, extra_size;
    uint64_t started_ns, bytes_in, bytes_out;
    /* memory */
    rung__block *blocks;
    uint32_t room_used;
    size_t charged; /* bytes that it keeps for its client, beside itself */
    rung_head head; /* from its fields on, nothing is zeroed for a new request */
    _Alignas(16) char room[RUNG__ROOM_SIZE];
};

typedef enum rung__phase {
    RUNG__PHASE_IDLE,   /* nothing of the next head has come */
    RUNG__PHASE_HEAD,   /* some of it has: its deadline runs */
    RUNG__PHASE_LENGTH, /* a body of known length */
    RUNG__PHASE_CHUNKS,
    RUNG__PHASE_UPGRADED, /* the connection speaks another protocol */
} rung__phase;

struct rung__session {
    rung_http *http;
    rung_conn *conn;
    rung_exchange *first, *last; /* under way, oldest first */
    rung_exchange *reading; /* whose body is coming; NULL: nobody's, and a body is thrown away */
    rung_head *half;        /* what is known of a head of which more is to come; NULL: nothing */
    uint32_t half_size;
    uint32_t count, unsafe_count;
    size_t behind_bytes; /* of answers that wait for others */
    size_t charged;      /* the sum of its exchanges' */
    rung__phase phase;
    bool is_last;     /* no more requests are read */
    bool is_in_data;  /* the reading loop runs, and looks at the exchanges when it ends */
    bool is_stopping; /* the connection closes when all requests are answered */
    uint64_t left;    /* of a body of known length */
    rung_chunks chunks;
    uint64_t thrown; /* of an unread body */
    uint64_t body_since_ms, body_bytes;
    uint64_t body_last_ms; /* when the last of it came */
    rung__session *next;   /* in the pool */
};

struct rung_http {
    rung_http_config config;
    rung_loop *loop; /* the net's */
    rung_head_limits limits;
    rung_exchange *exchanges; /* free ones */
    rung__session *sessions;
    uint32_t exchange_count, session_count;
    rung_http_stats stats;
    rung__gzip gzip;
    int64_t date_s;
    char date[32]; /* "Sun, 15 Nov 2026 09:01:30 GMT", of date_s */
};

/* http.c */
extern const rung_head_problem rung__too_large;
void rung__exchange_release(
    rung_exchange *x); /* it is ended and off its session: back to the pool */
/* An exchange of this session has ended: send what can be sent, finish the connection if it was the final one. */
void rung__session_advance(rung__session *s);
void rung__session_tell_held(rung__session *s); /* `charged` has changed */

/* exchange.c */
void rung__exchange_go(rung_exchange *x, rung__exchange_state to);
/* Add to a buffer of the exchange, and count it. False: no memory. */
bool rung__exchange_keep(rung_exchange *x, rung_buffer *b, rung_slice bytes);
void rung__exchange_refuse(rung_exchange *x,
                           const rung_head_problem *p); /* end it with a problem */
void rung__exchange_tell(rung_exchange *x,
                         const rung_head_problem *p); /* say it, without ending the exchange */
void rung__exchange_cut_off(
    rung_exchange *x); /* end the connection so that the answer looks incomplete */
bool rung__exchange_preflight(rung_exchange *x); /* true: it was one, and is ended */

#endif
