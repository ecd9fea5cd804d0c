/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - a client of the simulated server: it asks for things, hears answers, and asks again what it must.
 *
 * It speaks HTTP with pipelined requests, streams submissions as NDJSON, or speaks the Redis protocol, and changes when
 * it connects anew. A submission with an id whose answer it never heard is sent again until it is answered, over any of
 * the three; other requests are left at that, and may have happened or not. */
#ifndef RUNG_TESTS_SIM_CLIENT_H
#define RUNG_TESTS_SIM_CLIENT_H

#include "sim/judge.h"
#include "sim/net.h"

typedef struct sim_world sim_world;
typedef struct sim_node sim_node;

enum { SIM_FLIGHTS_MAX = 24, SIM_RETRIES_MAX = 64 };

typedef enum sim_mode { SIM_MODE_HTTP, SIM_MODE_STREAM, SIM_MODE_RESP } sim_mode;

/* A request under way. */
typedef struct sim_flight {
    sim_op *op;
    uint64_t lo;           /* what the server had applied when it left; latest=true: any server */
    uint32_t replies_left; /* of the Redis protocol */
    uint32_t key_number;
    bool is_key_gone; /* the key had been revoked, and the revoker told so */
} sim_flight;

typedef struct sim_client {
    sim_world *world;
    uint8_t number;
    sim_mode mode;
    sim_node *node; /* that it is or was connected to */
    sim_link *link; /* NULL: not connected */
    sim_flight flights[SIM_FLIGHTS_MAX];
    uint32_t flight_count;
    sim_op *retries[SIM_RETRIES_MAX];
    uint32_t retry_count;
    sim_bytes in;    /* heard, not understood yet */
    uint64_t seen;   /* the highest sequence in any answer */
    uint32_t ids;    /* made */
    uint32_t key;    /* which one it shows; may change when it connects */
    uint32_t unread; /* replies to come that answer no request: AUTH's */
    bool is_denied;  /* on this connection: its key is good no longer, or its node cannot say */
    /* A stream. */
    bool is_streaming, is_stream_over /* nothing more is sent */, is_answering, is_in_body;
    size_t chunk_left;
    sim_bytes line;
} sim_client;

void sim_client_init(sim_client *c, sim_world *w, uint8_t number);
void sim_client_deinit(sim_client *c);

/* One thing of its choice: connect, ask, end a stream, leave. */
void sim_client_act(sim_client *c);
/* Nothing new, only what has to be asked again; false: nothing is left to ask or to hear. */
bool sim_client_settle(sim_client *c);
/* Ask for this, if it can be asked over the connection there is. */
bool sim_client_ask(sim_client *c, sim_op *op);
void sim_client_leave(sim_client *c, bool with_reset);

/* For sim_net. */
void sim_client_got(void *client, const char *bytes, size_t len);
void sim_client_ended(void *client, bool is_broken);

#endif
