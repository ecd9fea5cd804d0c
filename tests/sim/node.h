/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - one server of the simulation: the hub, the guard, the net, HTTP with its API and RESP, wired as `rung serve`
 * wires them, in a process whose loop, threads, clock, chance, files and snapshots are the simulator's. Of several
 * nodes each has its own disk and clock, and they share a log (topic.h), as `rung serve --log kafka://` does it.
 *
 *     sim_node_start(n);                 // from nothing, or after it died; it recovers from its disk
 *     sim_process_step(&n->process, t);  // one of its tasks goes on
 *     sim_node_stop(n);                  // gracefully: when its tasks have ended it is down
 *     sim_node_kill(n);                  // or at once */
#ifndef RUNG_TESTS_SIM_NODE_H
#define RUNG_TESTS_SIM_NODE_H

#include "archive/attach.h"
#include "front/api/api.h"
#include "front/resp/resp.h"
#include "service/hub.h"
#include "sim/net.h"
#include "sim/task.h"
#include "sim/topic.h"
#include "support/memfs.h"

#define SIM_FOLDER "data"

typedef enum sim_stage { SIM_DOWN, SIM_OPENING, SIM_SERVING, SIM_STOPPING } sim_stage;

typedef struct sim_world sim_world;

typedef struct sim_node {
    sim_world *world;
    uint32_t number;
    sim_net wire; /* its clients' */
    /* Of the log that nodes share. */
    sim_topic_link link;
    rung_log *log;         /* NULL: not open, or the folder's own */
    uint64_t paused_until; /* step; its process stands still until then */
    int64_t skew_ms;       /* of its wall clock */
    uint32_t boots;        /* of its machine */
    bool has_archive;      /* closed windows can be asked for, in this life */
    bool must_join;        /* the topic begins behind its snapshots */
    rung_memfs *fs;
    bool is_disk_bad;  /* it was made to fail or to fill up, and not healed since */
    uint64_t bad_life; /* the life of the server in which it was healed */
    memfs_flip flip;   /* damage; mask 0: none */
    char flip_file[64];
    sim_process process;
    sim_stage stage;
    bool is_fatal; /* the log failed, and the process left */
    bool is_access_put;
    bool is_sealed;           /* the last life was ended well, with a closed log */
    rung_status close_status; /* of the hub */
    rung_status open_status;  /* of the folder, in this life */
    rung_err open_err;
    const rung_state *state; /* from the follower's `begin` on */
    uint64_t applied;        /* the last sequence that could be seen, in any life */
    uint64_t recovered;      /* what that was before this life */
    uint64_t lives;

    sim_loop *loop;
    rung_clock clock;
    rung_random random;
    rung_children children;
    rung_hub_follower follower;
    rung_task flush, apply;
    rung_timer tick;
    rung_work opening;
    rung_hub *hub, *opened;
    rung_attach *attach;              /* NULL: no archive */
    const rung_hub_follower *archive; /* its port */
    rung_access *access;
    rung_net *net;
    rung_http *http;
    rung_api *api;
    rung_resp *resp;
    rung_protocol resp_gate;
} sim_node;

void sim_node_init(sim_node *n, sim_world *w);
void sim_node_start(sim_node *n);
void sim_node_stop(sim_node *n);
void sim_node_kill(sim_node *n); /* tasks, memory, connections, open files: all gone */
int64_t sim_node_wall_ms(const sim_node *n);

#endif
