/* SPDX-License-Identifier: Apache-2.0 */
/* kafka_sender.h - many records in one request, sent by a thread of its own. Private to the room.
 *
 *     rung__kafka_sender_start(&config, wake, ctx, &sender, &err);
 *     while (rung__kafka_sender_add(sender, key, payload)) ...     // the next group
 *     rung__kafka_sender_send(sender);
 *     ... wake ...
 *     fates = rung__kafka_sender_fates(sender, &count);            // in the order of add
 *
 * A producer sends whatever it has whenever it looks, and it looks when the first record comes: the first of a thousand
 * went alone. While it waits for the rest of a millisecond it polls its socket without a pause, which takes a core. So
 * this producer lingers for half the timeout, and rd_kafka_flush() says that the group is complete. It must not return
 * before the producer's thread has seen that, and nobody can tell: it returns when all is reported. Hence the thread.
 *
 * Threads: all functions belong to the owner; the group belongs to the thread between send and fates. `wake` is called
 * by the thread. */
#ifndef RUNG_STREAM_KAFKA_SENDER_H
#define RUNG_STREAM_KAFKA_SENDER_H

#include "base/slice.h"
#include "base/status.h"
#include "stream/envelope.h"
#include "stream/kafka_client.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rung__kafka_sender rung__kafka_sender;

/* What became of a record. */
typedef struct rung__kafka_fate {
    rd_kafka_resp_err_t code; /* 0: all in-sync replicas have it */
    bool may_be_stored;       /* otherwise: nobody can tell that it is not */
} rung__kafka_fate;

/* `config` is used until stop. RUNG_OK, RUNG_ENOMEM, RUNG_EINVAL (an option) or RUNG_EIO. */
RUNG_NODISCARD rung_status rung__kafka_sender_start(const rung_kafka_config *config,
                                                    void (*wake)(void *ctx), void *ctx,
                                                    rung__kafka_sender **sender_out, rung_err *err);
/* A group that was sent is dropped. Accepts NULL. */
void rung__kafka_sender_stop(rung__kafka_sender *s);

/* Copy a record to the group. false: no room; send first. The longest record fits an empty group. */
RUNG_NODISCARD bool rung__kafka_sender_add(rung__kafka_sender *s,
                                           const uint8_t key[RUNG__ENVELOPE_SIZE],
                                           rung_slice payload);
void rung__kafka_sender_send(rung__kafka_sender *s);

/* The group that was sent has its reports, which takes config.timeout_ms at most, and the next begins. The fates are
 * good until the next send. NULL: there is none, or not yet. */
const rung__kafka_fate *rung__kafka_sender_fates(rung__kafka_sender *s, size_t *count_out);

/* How often the producer was replaced, after an error that it did not survive. Any thread. */
uint64_t rung__kafka_sender_rebuilds(const rung__kafka_sender *s);

#endif
