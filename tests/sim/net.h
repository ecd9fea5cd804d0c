/* SPDX-License-Identifier: Apache-2.0 */
/* net.h - a network of byte pipes, and the event loop (front/net/loop.h) of a server on it.
 *
 *     client -- up: under way --> arrived, not read yet --> server
 *     client <-- down: under way ------------------------- server
 *
 * Nothing moves by itself: the world delivers some bytes of one pipe, in one step of its own. Pipes keep their order,
 * links do not wait for each other. A link can be cut: what is under way is lost or not, and both ends hear of it later
 * or never. The network outlives the server's process. */
#ifndef RUNG_TESTS_SIM_NET_H
#define RUNG_TESTS_SIM_NET_H

#include "front/net/loop.h"
#include "sim/task.h"
#include "sim/trace.h"
#include "support/rng.h"

enum { SIM_HTTP_PORT = 7864, SIM_RESP_PORT = 7865 };

typedef struct sim_bytes {
    char *data;
    size_t len, size;
} sim_bytes;

void sim_bytes_add(sim_bytes *b, const void *bytes, size_t len);
void sim_bytes_drop(sim_bytes *b, size_t len); /* from the front */

/* What follows the bytes of a pipe. */
typedef enum sim_end { SIM_GOES_ON, SIM_ENDS, SIM_BREAKS } sim_end;

typedef struct sim_link {
    uint32_t number;
    uint16_t port;
    void *client; /* NULL: the client has closed its end */
    sim_bytes up, down, arrived;
    sim_end up_end, down_end, arrived_end;
    bool has_arrived;          /* the server was told of it */
    bool is_server_done;       /* the server has closed its end, or is dead */
    struct sim_stream *stream; /* the server's end, while it has one */
    size_t window;             /* bytes that `down` holds */
    struct sim_link *next;
} sim_link;

typedef struct sim_net {
    sim_trace *trace;
    rung_rng *rng;
    sim_link *links;
    uint32_t link_count, made;
    void (*got)(void *client, const char *bytes, size_t len);
    void (*ended)(void *client, bool is_broken);
} sim_net;

void sim_net_deinit(sim_net *n);

/* ---- the clients' side ---- */

sim_link *sim_net_connect(sim_net *n, uint16_t port, void *client);
void sim_net_send(sim_link *l, const void *bytes, size_t len);
void sim_net_close(sim_link *l, bool with_reset); /* no callback comes any more */

/* ---- the world's side ---- */

bool sim_link_has_up(const sim_link *l);
bool sim_link_has_down(const sim_link *l);
/* Some of the bytes, at most `max`; with the last of them the end. */
void sim_net_deliver_up(sim_net *n, sim_link *l, size_t max);
void sim_net_deliver_down(sim_net *n, sim_link *l, size_t max);
/* The link breaks; what is under way is lost. */
void sim_net_cut(sim_net *n, sim_link *l);
/* The server's process is gone. Answers that it has sent may still arrive, or the first part of them. */
void sim_net_server_died(sim_net *n);
void sim_net_sweep(sim_net *n); /* forget links that both ends have closed */

/* ---- the server's side ---- */

typedef struct sim_loop sim_loop;
/* Of a process, with these clocks. Memory from `alloc`; it goes with the process. */
sim_loop *sim_loop_create(sim_net *n, sim_process *p, const rung_alloc *alloc,
                          const int64_t *monotonic_us, const int64_t *wall_ms);
rung_loop *sim_loop_port(sim_loop *l);
void sim_loop_destroy(sim_loop *l);
bool sim_loop_is_listening(const sim_loop *l, uint16_t port);

#endif
