/* SPDX-License-Identifier: Apache-2.0 */
/* dead_letters.h - records that cannot be ingested, sent to another topic with the reason. Private to the room.
 *
 * A dead letter has the key and the value of the original, byte for byte, so that a program can send it again. Its
 * headers say where it came from and why it is here (docs/ingest.md). Thread: one at a time. */
#ifndef RUNG_STREAM_DEAD_LETTERS_H
#define RUNG_STREAM_DEAD_LETTERS_H

#include "stream/kafka_client.h"

typedef struct rung__dead_letters {
    const rung_kafka_config *config; /* its topic is that of the dead letters */
    rd_kafka_t *producer;
    int64_t created_ms; /* the last attempt to create the topic */
} rung__dead_letters;

typedef struct rung__dead_letter {
    const rd_kafka_message_t *original;
    const char *ingest, *code;
    const rung_err *err;
    bool is_cut; /* send only the beginning of the value: the whole was too large */
    void *tag;   /* _private of the report */
} rung__dead_letter;

/* Connect. Reports come through hooks->reported, from rd_kafka_poll(). */
RUNG_NODISCARD rung_status rung__dead_letters_open(rung__dead_letters *d,
                                                   const rung_kafka_config *config,
                                                   const rung__kafka_hooks *hooks, rung_err *err);
void rung__dead_letters_close(rung__dead_letters *d); /* fine when it is not open */

/* Create the topic, unless it exists or that was tried shortly before. Waits for the answer. */
void rung__dead_letters_create(rung__dead_letters *d);

/* 0: a report will come. MSG_SIZE_TOO_LARGE: cut it. Anything else: try again later. */
rd_kafka_resp_err_t rung__dead_letters_send(rung__dead_letters *d, const rung__dead_letter *letter);

#endif
