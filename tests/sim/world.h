/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - one run of the simulation: a server, its disk, its clients, the network between them, and time. Or three
 * servers, each with its disk and clock, and the log that they share (cluster.h).
 *
 *     sim_report report;
 *     sim_run(&(sim_config){.seed = 7}, &report);      // checked to the end, or test_fail()
 *
 * In every step the world chooses one thing to happen, by its seed alone: a client acts, some bytes of one connection
 * arrive, a task of the server goes on, time passes or jumps, a connection is cut, the disk fails or fills up, the
 * process is killed, the power goes. One seed is one run, to the letter: report.hash is the hash of its story. */
#ifndef RUNG_TESTS_SIM_WORLD_H
#define RUNG_TESTS_SIM_WORLD_H

#include "sim/client.h"
#include "sim/fields.h"
#include "sim/judge.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/trace.h"
#include "support/memfs.h"
#include "support/rng.h"

enum { SIM_CLIENTS_MAX = 5, SIM_NODES_MAX = 3 };

#define SIM_BEGIN_MS INT64_C(1800000000000) /* the hour in which every run begins: 2027-01-15T08 */

typedef struct sim_config {
    uint64_t seed;
    uint32_t steps; /* 0: as the seed says */
    uint32_t nodes; /* 0: one */
    bool is_loud;
} sim_config;

typedef struct sim_report {
    uint64_t hash; /* of the whole story */
    uint64_t steps, events, answers, closed, crashes, kills, faults, snapshots, cuts, flips,
        refusals; /* of a damaged folder */
    /* Of several nodes. */
    uint64_t partitions, standstills, pauses, unknown, late, copies, wipes, joins, gaps,
        divergences;
} sim_report;

void sim_run(const sim_config *config, sim_report *report);

/* How a seed's run is made: what can happen in it, in parts of a thousand steps. */
typedef struct sim_taste {
    uint32_t nodes, clients, steps;
    uint32_t crash, kill, fail, fill, cut, jump, stop, rot;
    uint32_t crash_opening; /* in its place while the server recovers */
    /* Of several nodes. */
    bool has_wrong_state; /* in the end one node's state is made wrong: it must stop */
    bool is_calm;         /* the shared log has no trouble */
    uint32_t cut_off, standstill, stop_node, wipe, expire; /* in parts of a thousand steps */
    uint32_t lose, copy, lag;                              /* in parts of a thousand requests */
    uint32_t checkpoint_every, heartbeat_ms;               /* of the nodes' reports */
    int64_t timeout_us;                                    /* of the shared log */
    uint32_t pause; /* percent of file calls at which a task is put aside */
    bool has_keys, has_archive, has_meta;
    uint32_t waiting_max;
    uint64_t segment_size, snapshot_every, memory_max;
    uint32_t id_capacity;
    int64_t id_keep_ms;
} sim_taste;

/* An API key. All are of admins; the first is never revoked. */
typedef struct sim_key {
    char text[RUNG_KEY_TEXT_MAX], id[RUNG_KEY_ID_SIZE + 1];
    bool is_revoked_perhaps, is_revoked; /* somebody asked for it; somebody was told so */
} sim_key;

struct sim_world {
    sim_trace trace;
    rung_rng rng;
    sim_taste taste;
    int64_t wall_ms, monotonic_us;
    sim_node nodes[SIM_NODES_MAX];
    sim_node *node; /* what this step is about */
    sim_topic topic;
    uint64_t seen;      /* the highest sequence that any client has heard of */
    sim_bytes snapshot; /* the newest one that a client has downloaded */
    uint64_t snapshot_seq;
    sim_client clients[SIM_CLIENTS_MAX];
    sim_judge judge;
    sim_report report;
    bool is_defined[SIM_BOARDS];
    sim_key keys[SIM_CLIENTS_MAX];
    sim_fields *fields; /* scratch: the last JSON that was read */
};

/* ---- what clients ask of it ---- */

sim_node *sim_world_some_node(sim_world *w);
const char *sim_world_key(const sim_world *w, const sim_client *c); /* its API key; "": none */
void sim_world_sent(sim_world *w, sim_client *c, sim_flight *f);
void sim_world_answered(sim_world *w, sim_client *c, const sim_flight *f, sim_answer answer,
                        int status, const char *text);
uint64_t sim_world_applied(const sim_world *w); /* by the node that is furthest */
void sim_world_downloaded(sim_world *w, uint64_t seq, const char *bytes, size_t len);
/* Make it a revocation, if there is a key to revoke. */
bool sim_world_want_revocation(sim_world *w, sim_op *op);

#endif
