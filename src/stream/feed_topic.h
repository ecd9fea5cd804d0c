/* SPDX-License-Identifier: Apache-2.0 */
/* feed_topic.h - the topic of a change feed: one publisher among several servers, records acknowledged in order, and
 * what was published last. Private to the room.
 *
 *     rung__feed_topic_open(&config, &t, &err);
 *     rung__feed_topic_poll(t, 100, &err);                      // often; RUNG_OK, or the session has failed: close it
 *     if (rung__feed_topic_is_leader(t)) ...
 *     rung__feed_topic_ends(t, ends, &err);                     // the last record of each partition
 *     rung__feed_topic_send(t, partition, key, json, position, &err);
 *     if (rung__feed_topic_oldest(t, &position)) ...            // the oldest one not acknowledged
 *
 * Servers join a consumer group of the topic. The one that the group gives partition 0 to is the leader. The group is a
 * failure detector and no fence: an old leader may go on for a while. feed.c says why that does no harm.
 * Threads: one. Open, ends and close wait for brokers. */
#ifndef RUNG_STREAM_FEED_TOPIC_H
#define RUNG_STREAM_FEED_TOPIC_H

#include "stream/feed_record.h"
#include "stream/kafka_log.h"

typedef struct rung__feed_topic rung__feed_topic;

typedef struct rung__feed_topic_config {
    rung_kafka_config kafka; /* with its defaults; proposals_max: records in flight */
    const char *group;
    uint32_t partitions; /* if it has to be created */
    uint32_t session_ms; /* a leader that is silent for this long is replaced */
} rung__feed_topic_config;

RUNG_NODISCARD rung_status rung__feed_topic_open(const rung__feed_topic_config *config,
                                                 rung__feed_topic **out, rung_err *err);
/* Wait up to flush_ms for what is in flight; 0: drop it. Leaves the group. Accepts NULL. */
void rung__feed_topic_close(rung__feed_topic *t, uint32_t flush_ms);

uint32_t rung__feed_topic_partitions(const rung__feed_topic *t);
bool rung__feed_topic_is_leader(const rung__feed_topic *t);
/* Hear of acknowledgements and of the group. Waits up to wait_ms for something to happen. After a failure nothing that
 * is sent counts. */
RUNG_NODISCARD rung_status rung__feed_topic_poll(rung__feed_topic *t, uint32_t wait_ms,
                                                 rung_err *err);

typedef struct rung__feed_end {
    bool is_known; /* false: the partition is empty */
    rung__feed_position last;
} rung__feed_end;

/* RUNG_OK; RUNG_EIO: a broker does not answer; RUNG_ECORRUPT: the last records of a partition are not a feed's. */
RUNG_NODISCARD rung_status rung__feed_topic_ends(rung__feed_topic *t, rung__feed_end *ends,
                                                 rung_err *err);

/* The partition of a key: as the default partitioner of Kafka's Java client. */
uint32_t rung__feed_topic_partition_of(const rung__feed_topic *t, rung_slice key);
/* RUNG_OK: queued; RUNG_EBUSY: as much is in flight as may be. Otherwise the session has failed. */
RUNG_NODISCARD rung_status rung__feed_topic_send(rung__feed_topic *t, uint32_t partition,
                                                 rung_slice key, rung_slice json,
                                                 rung__feed_position position, rung_err *err);
/* How many were sent since it was opened, and of those, without a gap from the first, acknowledged. */
uint64_t rung__feed_topic_sent(const rung__feed_topic *t);
uint64_t rung__feed_topic_acked(const rung__feed_topic *t);
/* The oldest that is not acknowledged. False: all are. */
bool rung__feed_topic_oldest(const rung__feed_topic *t, rung__feed_position *out);

#endif
