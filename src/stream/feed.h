/* SPDX-License-Identifier: Apache-2.0 */
/* feed.h - the change feed: a Kafka topic with every change of every player's standing (docs/feed.md).
 *
 *     rung_feed_create(&config, &feed, &err);
 *     hub_config.follower = rung_feed_port(feed);       // or one of several (service/followers.h)
 *     rung_hub_open(&hub_config, &hub, &err);
 *     ... rung_feed_stat(feed) ...
 *     rung_hub_close(hub, &err);                        // publishes what it can in a moment
 *     rung_feed_destroy(feed);
 *
 * The owner of the state never waits for a broker: it writes records into memory of a fixed size, and a worker
 * publishes them. What did not fit there the worker makes again from the log.
 *
 * Threads: the owner of the state; rung_feed_stat() from any. */
#ifndef RUNG_STREAM_FEED_H
#define RUNG_STREAM_FEED_H

#include "journal/file.h"
#include "service/hub_follower.h"
#include "stream/kafka_log.h"

typedef struct rung_feed rung_feed; /* heap object; whoever created it calls rung_feed_destroy() */

/* Zero is a good default for every field but alloc, kafka and folder. Texts are used until destroy. */
typedef struct rung_feed_config {
    const rung_alloc *alloc;
    /* brokers, topic, options, replication, min_isr, clock, threads, say, ctx; proposals_max: records in flight,
     * 0: 8,192; alloc is set here */
    rung_kafka_config kafka;
    const char *folder;  /* the hub's */
    const rung_fs *fs;   /* NULL: the operating system's files */
    const char *boards;  /* patterns with commas between; NULL or empty: every board */
    uint32_t partitions; /* of a topic that has to be created; 0: 6 */
    bool is_from_first;  /* an empty topic gets everything that the log has, not only what is new */
    size_t memory_bytes; /* for records that are not published; 0: 32 MiB */
    int64_t keep_ms;     /* how long a feed that is behind holds up snapshots; 0: a day */
    uint32_t session_ms; /* a publisher that is silent for this long is replaced; 0: 6 s */
    uint32_t progress_ms; /* between two records of progress; 0: 2 s */
    uint32_t look_ms; /* between two looks at the topic of a server that does not publish; 0: 5 s */
    uint32_t retry_ms; /* after a failure; 0: 1 s */
} rung_feed_config;

RUNG_NODISCARD rung_status rung_feed_create(const rung_feed_config *config, rung_feed **out,
                                            rung_err *err);
void rung_feed_destroy(rung_feed *f); /* after the hub is closed; accepts NULL */

/* For the hub's configuration; valid until destroy. */
const rung_hub_follower *rung_feed_port(rung_feed *f);

typedef struct rung_feed_stats {
    bool is_publisher;
    bool is_known;          /* false: the topic has not been read yet */
    uint64_t published_seq; /* every change up to this event is in the topic */
    uint64_t behind_events; /* applied and not published */
    int64_t behind_ms;      /* the age of the oldest of them */
    uint64_t records;       /* sent by this server since it started */
    uint64_t replays;       /* how often records were made again from the log */
    uint64_t gaps, failures;
    rung_status status; /* of the last attempt */
} rung_feed_stats;
rung_feed_stats rung_feed_stat(rung_feed *f);

#endif
