/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - what a run with several nodes has more than one with a single server: the log that they share (topic.h),
 * its trouble, folders that begin again, and the comparison of the nodes.
 *
 * All nodes are equal: each takes changes and questions, with a disk, a clock and a link to the brokers of its own. A
 * calm run has no trouble with the log, so no change may be refused for it or have an unknown outcome. */
#ifndef RUNG_TESTS_SIM_CLUSTER_H
#define RUNG_TESTS_SIM_CLUSTER_H

#include "sim/world.h"

void sim_cluster_choose(sim_world *w); /* what can happen in this run */
void sim_cluster_begin(sim_world *w);
void sim_cluster_deinit(sim_world *w);

/* Something goes wrong, or an end to it comes: for the step's node, or for the brokers. */
void sim_cluster_trouble(sim_world *w);
/* Things happen between the step's node and the brokers. False: nothing can. */
bool sim_cluster_step(sim_world *w);
bool sim_node_is_paused(const sim_node *n);
/* No more trouble, from here on. */
void sim_cluster_heal(sim_world *w);

/* A node that is down begins with an empty folder, or with the snapshot that a client has downloaded from a peer. */
void sim_cluster_wipe(sim_world *w);
/* Did the node refuse its folder because the topic begins behind its snapshots? It joins a peer then. */
bool sim_cluster_is_gap_told(sim_world *w);

bool sim_cluster_is_even(const sim_world *w); /* every node has applied the whole topic */
/* All have the same state, which is that of the topic. */
void sim_cluster_compare(const sim_world *w);

bool sim_cluster_is_known(const sim_world *w); /* every node has heard from every other */
/* Make one node's state wrong. It must notice by the others' digests, and they must not stop. */
sim_node *sim_cluster_spoil(sim_world *w);
void sim_cluster_check_spoiled(sim_world *w, const sim_node *spoiled);

#endif
