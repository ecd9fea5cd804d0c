/* SPDX-License-Identifier: Apache-2.0 */
/* topic.h - a log that several nodes share, as a topic of a broker is one: one total order, and everything late.
 *
 *     sim_topic topic;  sim_topic_init(&topic, &rng);
 *     rung_log *log = sim_topic_open(&topic, &(sim_topic_config){.alloc = a, .node = 1, .wake = ..., .ctx = ...});
 *     sim_topic_step(&topic, log);       // the world's: one thing happens between this node and the brokers
 *
 * A proposal is SENT, and in some step STORED at the end of the topic; in a later one its producer is told (ACKED). A
 * request may get lost, or be stored twice, or its acknowledgement get lost: then the outcome is unknown, and the
 * record comes, if it comes, as another node's. Records are fetched some steps after they were stored. While a node is
 * cut off nothing moves; what waits too long is rejected if it never left, else unknown. The order among a node's own
 * proposals is kept.
 *
 * Sequences are offsets + 1. A record belongs to the topic for ever; nodes come and go. */
#ifndef RUNG_TESTS_SIM_TOPIC_H
#define RUNG_TESTS_SIM_TOPIC_H

#include "base/alloc.h"
#include "journal/log.h"
#include "support/rng.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_topic_record {
    uint8_t *bytes;
    size_t len;
    uint16_t type;
    bool is_copy; /* of one that was stored before */
    uint64_t node, serial;
} sim_topic_record;

typedef struct sim_topic {
    rung_rng *rng;
    uint8_t id[16];
    sim_topic_record *records; /* of sequence i + 1 */
    uint64_t count, room;
    uint64_t openings;
    uint32_t lose, copy; /* per mille of requests; of those lost half are stored all the same */
    uint64_t lost, copies;
} sim_topic;

void sim_topic_init(sim_topic *t, rung_rng *rng);
void sim_topic_deinit(sim_topic *t);
/* A record of somebody who is no node here. */
void sim_topic_add(sim_topic *t, uint16_t type, rung_slice payload);

typedef struct sim_topic_config {
    const rung_alloc *alloc;
    size_t proposals_max;
    const int64_t *monotonic_us; /* NULL: nothing waits too long */
    int64_t timeout_us;
    void (*wake)(void *ctx); /* there may be something to deliver; may be NULL */
    void *ctx;
} sim_topic_config;

/* All its memory is the allocator's: of a node that is killed nothing is left but what is stored. */
rung_log *sim_topic_open(sim_topic *t, const sim_topic_config *config);

/* False: nothing can happen here now. */
bool sim_topic_step(rung_log *log);
void sim_topic_cut_off(rung_log *log, bool is_cut_off);

#endif
