/* SPDX-License-Identifier: Apache-2.0 */
/* transport.h - private to front/http: the structs that http.c (reading requests) and exchange.c (answering) share. */
#ifndef RUNG_FRONT_HTTP_TRANSPORT_H
#define RUNG_FRONT_HTTP_TRANSPORT_H

#include "base/buffer.h"
#include "codec/http1.h"
#include "front/http/exchange.h"
#include "front/http/http.h"

#include <zlib.h>

typedef struct rung__session rung__session;

typedef enum rung__body_mode {
    RUNG__BODY_UNASKED,
    RUNG__BODY_COLLECT,
    RUNG__BODY_STREAM,
} rung__body_mode;

#define RUNG__ROOM_SIZE  3072u /* an exchange's arena: its head, then what the handler allocates */
#define RUNG__EXTRA_SIZE 2560u /* header fields set by the handler, of the 4096 bytes of a head */

/* An allocation too large for the arena. */
typedef struct rung__block {
    struct rung__block *next;
    size_t size;
    _Alignas(16) char bytes[];
} rung__block;

/* The life of an exchange. It only goes forward, through rung__exchange_go():
 *
 *     NEW --head read--> QUEUED --its turn--> HANDED --head of the answer written--> BEGUN --> ENDED
 *
 * An exchange that the transport refuses while it is queued skips HANDED. One whose client is gone may end from any
 * state. From QUEUED on it counts as in flight, unless it is a stream of events. */
typedef enum rung__exchange_state {
    RUNG__NEW,
    RUNG__QUEUED,
    RUNG__HANDED, /* the handler has it */
    RUNG__BEGUN,
    RUNG__ENDED, /* the answer is complete, and is sent after those before it */
} rung__exchange_state;

/* COMING --> HERE when it is complete. If the handler asks only then: HERE --> DUE --body() called--> HERE. A handler
 * may pause a streamed body: COMING --> HELD --> COMING. */
typedef enum rung__body_state {
    RUNG__BODY_COMING,
    RUNG__BODY_HELD,
    RUNG__BODY_HERE,
    RUNG__BODY_DUE,
} rung__body_state;

/* The first member of what is pooled. */
typedef struct rung__pooled {
    struct rung__pooled *next;
} rung__pooled;

typedef struct rung__pool {
    rung__pooled *first;
    uint32_t count;
} rung__pool;

struct rung_exchange {
    rung__pooled pooled;
    rung_http *http;
    rung__session *session; /* NULL: the client is gone */
    rung_exchange *next;    /* on its connection */
    rung_request request;
    char *head_bytes;
    void *user;
    rung_exchange_watcher watcher;
    /* the body */
    rung__body_mode body_mode;
    rung_exchange_body *body;
    void *body_ctx;
    uint64_t body_limit, body_size; /* size: bytes received */
    rung_buffer collected;
    rung__body_state body_state;
    /* the answer */
    int status;
    rung__exchange_state state;
    bool is_chunked;   /* the answer's framing */
    bool is_final;     /* the connection closes after it */
    bool is_waiting;   /* the handler waits for `drained` */
    bool is_events;    /* the answer is a stream of events: it ends with its reader */
    bool has_encoding; /* the handler set Content-Encoding */
    rung_buffer out;   /* the answer, while others are before it */
    char *extra;       /* header fields set by the handler */
    uint32_t extra_len, extra_size;
    uint64_t started_ns, bytes_in, bytes_out;
    uint64_t client_key; /* rung_address_key() of the client, if the session is a proxy's */
    /* memory */
    rung__block *blocks;
    uint32_t room_used;
    size_t charged; /* bytes held for the client, besides this struct */
    rung_head head; /* not zeroed for a new request from head.fields on */
    _Alignas(16) char room[RUNG__ROOM_SIZE];
};

typedef enum rung__phase {
    RUNG__PHASE_IDLE,
    RUNG__PHASE_HEAD,   /* part of a head has been read: its deadline runs */
    RUNG__PHASE_LENGTH, /* a body of known length */
    RUNG__PHASE_CHUNKS,
    RUNG__PHASE_UPGRADED, /* the connection speaks another protocol */
} rung__phase;

struct rung__session {
    rung__pooled pooled;
    rung_http *http;
    rung_conn *conn;
    bool is_from_proxy;          /* requests say whom they come from */
    rung_exchange *first, *last; /* in flight, oldest first */
    rung_exchange *reading;      /* whose body is coming; NULL: a body is discarded */
    rung_head *half;             /* the parsed part of an incomplete head; may be NULL */
    uint32_t half_size;
    uint32_t count, unsafe_count;
    size_t behind_bytes; /* of answers that wait for those before them */
    size_t charged;      /* the sum of its exchanges' */
    rung__phase phase;
    bool is_last;     /* no more requests are read */
    bool is_in_data;  /* the reading loop runs: it continues by itself */
    bool is_stopping; /* the connection closes when all requests are answered */
    uint64_t left;    /* of a body of known length */
    rung_chunks chunks;
    uint64_t thrown; /* bytes discarded of a body that nobody asked for */
    uint64_t body_since_ms, body_bytes;
    uint64_t body_last_ms; /* time of its last piece */
};

/* One deflate stream and one buffer for all answers: reset, not rebuilt. */
typedef struct rung__gzip {
    rung_buffer packed; /* the last answer */
    z_stream stream;
    bool is_open;
} rung__gzip;

struct rung_http {
    rung_http_config config;
    rung_loop *loop; /* the net's */
    rung_head_limits limits;
    rung__pool exchanges, sessions; /* free ones */
    rung_http_stats stats;
    rung__gzip gzip;
    bool is_draining;
    int64_t date_s;
    char date[32]; /* "Sun, 15 Nov 2026 09:01:30 GMT", of date_s */
};

/* http.c */
extern const rung_head_problem rung__too_large;
/* Back to the pool: the exchange has ended and left its session. */
void rung__exchange_release(rung_exchange *x);
/* An exchange of this session has ended: send what can be sent, and finish the connection after the final one. */
void rung__session_advance(rung__session *s);
void rung__session_tell_held(rung__session *s); /* `charged` has changed */

/* exchange.c */
void rung__gzip_deinit(rung__gzip *g);
void rung__exchange_go(rung_exchange *x, rung__exchange_state to);
/* Append to a buffer of the exchange and charge its growth. False: out of memory. */
void rung__exchange_note_client(rung_exchange *x); /* its head was read */
bool rung__exchange_keep(rung_exchange *x, rung_buffer *b, rung_slice bytes);
/* End the exchange with a problem; or only send the problem. */
void rung__exchange_refuse(rung_exchange *x, const rung_head_problem *p);
void rung__exchange_tell(rung_exchange *x, const rung_head_problem *p);
/* End the connection so that the client sees an incomplete answer. */
void rung__exchange_cut_off(rung_exchange *x);
/* True: it was a CORS preflight, and is answered. */
bool rung__exchange_preflight(rung_exchange *x);

#endif
