/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.h - scores from a foreign Kafka topic: each record has one effect, or becomes a dead letter.
 *
 *     rung_ingest_start(&config, &ingest, &err);      // joins the consumer group, on a thread of its own
 *     rung_ingest_turn(ingest, &service);             // when woken: submit what has come
 *     rung_ingest_stop(ingest);                       // submit nothing more
 *     ... the hub answers what is in flight, and is closed ...
 *     rung_ingest_destroy(ingest);                    // commits the offsets, leaves the group
 *
 * Servers with the same group share the partitions. A record is read, mapped (mapping.h) and submitted like any
 * request (service/submit.h), with its partition as the source and its offset as the number there: the state applies
 * an offset once, so a record that is delivered again, by this server or another one, changes nothing. The offset is
 * committed after the answer, which means durable and applied.
 *
 *     refused for good     goes to the dead-letter topic, which must acknowledge it before the offset is committed
 *     refused for now      (overload, brokers, memory, disk, unknown outcome) is submitted again, after what is in
 *                          flight was answered, in the order of the offsets; nothing is left out
 *
 * Records in flight are bounded; partitions are paused while there is no room. Threads: start, turn, stop, destroy and
 * stat are the loop's; everything else runs on the ingest's own thread, and the loop never waits for it, except in
 * destroy. */
#ifndef RUNG_STREAM_INGEST_H
#define RUNG_STREAM_INGEST_H

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/worker.h"
#include "service/service.h"
#include "stream/kafka_log.h"
#include "stream/mapping.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_ingest rung_ingest; /* whoever started it calls rung_ingest_destroy() */

/* Texts and functions are used until destroy. Zero is a good default from `starts_at_end` on. */
typedef struct rung_ingest_config {
    const rung_alloc *alloc; /* used by both threads */
    const char *name;        /* for people */
    const char *brokers, *topic, *group, *dead_letters;
    const rung_kafka_option *options; /* of every connection */
    size_t option_count;
    const rung_mapping *mapping;
    bool
        starts_at_end; /* where the group has no offset: at the partition's end, not at its beginning */
    uint32_t in_flight_max; /* records; 0: 1,024. At most RUNG_INGEST_IN_FLIGHT_MAX */
    uint32_t session_ms;    /* a member that is silent for so long loses its partitions; 0: 10 s */
    const rung_threads *threads; /* NULL: the system's */
    rung_clock clock;            /* only its monotonic time is used; zero: the system's */
    const char *(*code)(rung_status st, const rung_err *err); /* of a dead letter; any thread */
    void (*wake)(void *ctx);                                  /* call turn soon; any thread */
    void (*say)(void *ctx, const char *line);                 /* for the operator; any thread */
    void *ctx;
} rung_ingest_config;

#define RUNG_INGEST_IN_FLIGHT_MAX (RUNG_SOURCE_WINDOW / 2)

/* Is there room for the partitions' names, which are sources in the state? RUNG_EINVAL: group and topic are too long
 * together. */
RUNG_NODISCARD rung_status rung_ingest_check_names(const char *group, const char *topic,
                                                   rung_err *err);

/* Does not wait for brokers. RUNG_OK, RUNG_EINVAL (an option), RUNG_ENOMEM or RUNG_EIO. */
RUNG_NODISCARD rung_status rung_ingest_start(const rung_ingest_config *config,
                                             rung_ingest **ingest_out, rung_err *err);
/* Submit some of what has come; wakes again if there is more. */
void rung_ingest_turn(rung_ingest *g, const rung_service *service);
void rung_ingest_stop(rung_ingest *g);
/* May take some seconds if brokers do not answer. Accepts NULL. */
void rung_ingest_destroy(rung_ingest *g);

typedef struct rung_ingest_lag {
    int32_t partition;
    int64_t records; /* not answered yet, or not even read; -1: unknown */
} rung_ingest_lag;

typedef struct rung_ingest_stats {
    uint64_t records;      /* read */
    uint64_t applied;      /* answered, duplicates among them */
    uint64_t duplicates;   /* that had their effect before */
    uint64_t dead_letters; /* acknowledged */
    uint64_t retries;      /* submissions and dead letters that were tried again */
    uint32_t in_flight;
    uint32_t partitions; /* assigned to this server */
    uint32_t stuck;      /* of those, not read: their offsets do not fit the topic */
    int64_t stalled_ms;  /* for how long nothing could be submitted; 0: all is well */
    bool is_paused;      /* there is no room for more records */
} rung_ingest_stats;

/* With the lag of up to `max` partitions; returns how many. */
uint32_t rung_ingest_stat(rung_ingest *g, rung_ingest_stats *out, rung_ingest_lag *lags,
                          uint32_t max);

#endif
