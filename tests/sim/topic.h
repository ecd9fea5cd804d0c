/* SPDX-License-Identifier: Apache-2.0 */
/* topic.h - a log that several nodes share, as a topic of a broker is one: one total order, and everything late.
 *
 *     sim_topic topic;  sim_topic_init(&topic, &rng);
 *     sim_topic_open(&topic, &(sim_topic_config){.alloc = a, .link = &link, .wake = ..., .ctx = ...}, &log, &err);
 *     sim_topic_step(log);       // the world's: one thing happens between this node and the brokers
 *
 * A proposal is SENT, and in some step STORED at the end of the topic; in a later one its producer is told (ACKED). A
 * request may get lost, or be stored twice, or its acknowledgement get lost: then the outcome is unknown, and the
 * record comes, if it comes, as another node's, perhaps long after its producer was told, or died. Records are fetched
 * some steps after they were stored. A node may be cut off in one direction or both, or the brokers may stand still;
 * what waits too long is rejected if it never left, else unknown. The order among a node's own proposals is kept.
 *
 * Sequences are offsets + 1. Old records may be deleted; nodes come and go. */
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
    uint64_t first; /* sequence; those before it are deleted, though the world still has them */
    uint64_t openings;
    /* Per mille of requests. Of those lost one third is stored at once, one third late, one third never. */
    uint32_t lose, copy;
    uint64_t lost, copies, lates;
    sim_topic_record *late; /* lost requests that some broker will store yet */
    uint64_t late_count, late_room;
    bool is_paused; /* the brokers stand still */
} sim_topic;

void sim_topic_init(sim_topic *t, rung_rng *rng);
void sim_topic_deinit(sim_topic *t);
/* A record of somebody who is no node here. */
void sim_topic_add(sim_topic *t, uint16_t type, rung_slice payload);
/* One of the late requests is stored, or lost for good. */
void sim_topic_settle_late(sim_topic *t, bool is_stored);

/* The way between a node and the brokers. It outlives the node's process. */
typedef struct sim_topic_link {
    bool is_cut_up, is_cut_down; /* requests do not arrive; answers and records do not */
    uint32_t lag;                /* per mille of fetches that bring nothing */
    bool has_failed; /* a call was refused because nobody answered; the world's to clear */
} sim_topic_link;

typedef struct sim_topic_config {
    const rung_alloc *alloc;
    size_t proposals_max;
    sim_topic_link *link;        /* NULL: whole for ever */
    const int64_t *monotonic_us; /* NULL: nothing waits too long */
    int64_t timeout_us;
    rung_log **self;         /* NULL again when the log is closed; may be NULL */
    void (*wake)(void *ctx); /* there may be something to deliver; may be NULL */
    void *ctx;
} sim_topic_config;

/* All its memory is the allocator's: of a node that is killed nothing is left but what is stored. RUNG_EIO: nobody
 * answers. */
RUNG_NODISCARD rung_status sim_topic_open(sim_topic *t, const sim_topic_config *config,
                                          rung_log **log_out, rung_err *err);

/* False: nothing can happen here now. */
bool sim_topic_step(rung_log *log);

#endif
