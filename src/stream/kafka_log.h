/* SPDX-License-Identifier: Apache-2.0 */
/* kafka_log.h - the log port on one partition of a Kafka topic, which any number of nodes share.
 *
 *     rung_kafka_url_parse(rung_slice_str("kafka://b1:9092,b2:9092/rung"), &url, &err);
 *     rung_kafka_log_open(&config, &log, &err);        // connects; creates the topic, or checks it
 *     ... replay with cursors up to rung_log_durable_seq(log) or further ...
 *     rung_log_start(log, next, &err);
 *
 * The sequence of a record is its offset + 1. A proposal is produced with acks=all, and delivered when the consumer has
 * read it back and the broker has acknowledged it. Its outcome is
 *
 *     REJECTED   the producer never sent it, or the broker refused it
 *     UNKNOWN    it may have been sent, and no acknowledgement came in time; or it was acknowledged, but not read back
 *
 * Either way the log goes on: writes succeed again when the brokers do. The log fails for good (RUNG_ECORRUPT) only
 * when the topic holds something that this node cannot apply: another program's record, an offset that is missing or
 * was deleted. The broker's own deduplication is a help; the guarantee for a retry is the event's id.
 *
 * There are two threads of ours: one sends large groups (kafka_sender.h), one does what may block. Brokers are served
 * by librdkafka's threads, which call `wake`; the owner then collects reports and records in deliver. Threads: see
 * log.h. */
#ifndef RUNG_STREAM_KAFKA_LOG_H
#define RUNG_STREAM_KAFKA_LOG_H

#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/worker.h"
#include "journal/log.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_KAFKA_BROKERS_MAX 512 /* bytes of the list, with its NUL */
#define RUNG_KAFKA_TOPIC_MAX   250

typedef struct rung_kafka_url {
    char brokers[RUNG_KAFKA_BROKERS_MAX]; /* "b1:9092,b2:9092" */
    char topic[RUNG_KAFKA_TOPIC_MAX];     /* "" if the URL names none */
} rung_kafka_url;

/* kafka://HOST:PORT,...[/TOPIC]. RUNG_OK or RUNG_EINVAL. */
RUNG_NODISCARD rung_status rung_kafka_url_parse(rung_slice text, rung_kafka_url *out,
                                                rung_err *err);

/* A setting of librdkafka: TLS, SASL, compression. */
typedef struct rung_kafka_option {
    const char *name, *value;
} rung_kafka_option;

/* Texts and functions are used until close. Zero is a good default, except for the first three. */
typedef struct rung_kafka_config {
    const rung_alloc *alloc; /* used by every thread that uses the log */
    const char *brokers, *topic;
    const rung_kafka_option *options; /* of every connection */
    size_t option_count;
    /* Of a topic that has to be created; min_isr 0: one less than `replication`, or both of two. */
    uint32_t replication, min_isr; /* replication 0: 3 */
    bool must_exist;               /* do not create the topic */
    bool accepts_unsafe;           /* warn of an unsafe topic instead of refusing it */
    bool is_unchecked;             /* do not even look: for brokers that do not tell */
    int64_t retention_min_ms;      /* a topic that keeps records for less is unsafe; 0: a day */
    uint32_t timeout_ms;           /* of a proposal; 0: 10 s */
    uint32_t connect_ms;           /* of open and cursors: how long to wait for brokers; 0: 30 s */
    size_t proposals_max;          /* in flight; 0: 65,536 */
    const rung_random *random;     /* NULL: the system's */
    const rung_threads *threads;   /* NULL: the system's */
    rung_clock clock;              /* only its monotonic time is used; zero: the system's */
    /* There is something to deliver; from any thread, must not wait. */
    void (*wake)(void *ctx);
    void (*fatal)(void *ctx, const rung_err *err); /* the log has failed; from deliver */
    void (*say)(void *ctx, const char *line);      /* one line for the operator; any thread */
    void *ctx;
} rung_kafka_config;

/* Delete the records before sequence `seq`, whatever the topic's retention says. RUNG_OK or why not. */
RUNG_NODISCARD rung_status rung_kafka_delete_before(const rung_kafka_config *config, uint64_t seq,
                                                    rung_err *err);

/* Connect, create or check the topic, find its first and last record. RUNG_EIO: no broker answers; RUNG_EREFUSED: the
 * topic is unsafe (`err` names the property), or must not be created; RUNG_EABSENT: it must exist and does not;
 * RUNG_EINVAL: an option is wrong; RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_kafka_log_open(const rung_kafka_config *config, rung_log **log_out,
                                               rung_err *err);

#endif
