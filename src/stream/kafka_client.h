/* SPDX-License-Identifier: Apache-2.0 */
/* kafka_client.h - librdkafka handles from our configuration, and its errors as ours. Private to the room. */
#ifndef RUNG_STREAM_KAFKA_CLIENT_H
#define RUNG_STREAM_KAFKA_CLIENT_H

#include "base/status.h"
#include "stream/envelope.h"
#include "stream/kafka_log.h"

#include <librdkafka/rdkafka.h>

enum { RUNG__PARTITION = 0 };

/* Functions that librdkafka calls from rd_kafka_poll(), with `ctx`. */
typedef struct rung__kafka_hooks {
    void (*reported)(rd_kafka_t *rk, const rd_kafka_message_t *message,
                     void *ctx); /* a producer's */
    void (*erred)(rd_kafka_t *rk, int code, const char *reason, void *ctx);
    /* Of a member of a consumer group; NULL: of none. */
    void (*rebalanced)(rd_kafka_t *rk, rd_kafka_resp_err_t code,
                       rd_kafka_topic_partition_list_t *partitions, void *ctx);
    void *ctx;
} rung__kafka_hooks;

/* `config` with its defaults filled in. */
void rung__kafka_defaults(rung_kafka_config *config);

/* A client with `more` settings beside those of `config`. `hooks` (may be NULL) live as long as the client. */
RUNG_NODISCARD rung_status rung__kafka_create(const rung_kafka_config *config, rd_kafka_type_t type,
                                              const rung_kafka_option *more, size_t more_count,
                                              const rung__kafka_hooks *hooks, rd_kafka_t **rk_out,
                                              rung_err *err);

/* A producer that waits for all in-sync replicas, and retries without reordering. A patient one sends
 * while rd_kafka_flush() runs, or when it has many records. */
RUNG_NODISCARD rung_status rung__kafka_producer(const rung_kafka_config *config, bool is_patient,
                                                const rung__kafka_hooks *hooks, rd_kafka_t **rk_out,
                                                rung_err *err);

/* A reader of the partition from `seq` on. What it reads, and its errors, come through `queue`. */
typedef struct rung__kafka_reader {
    rd_kafka_t *rk;
    rd_kafka_topic_t *topic;
    rd_kafka_queue_t *queue;
    bool is_reading;
    bool must_resume;              /* it has stopped (rung__kafka_reader_doubt) */
    int64_t doubted_ms, resume_ms; /* the first doubt of a series; not before */
} rung__kafka_reader;

RUNG_NODISCARD rung_status rung__kafka_reader_open(rung__kafka_reader *r,
                                                   const rung_kafka_config *config,
                                                   const rung__kafka_hooks *hooks, bool tells_end,
                                                   rung_err *err);
RUNG_NODISCARD rung_status rung__kafka_reader_begin(rung__kafka_reader *r, uint64_t seq,
                                                    rung_err *err);
void rung__kafka_reader_close(rung__kafka_reader *r); /* fine when it is not open */

/* The broker says that it does not have the next record (RUNG_ESTALE of check). So does a leader that was replaced and
 * has not noticed, if the metadata came from it: librdkafka before 2.1 does not tell a fetch's epoch. RUNG_EBUSY:
 * resume later. RUNG_ECORRUPT: the brokers have been saying so for connect_ms, and `err` stays. */
RUNG_NODISCARD rung_status rung__kafka_reader_doubt(rung__kafka_reader *r,
                                                    const rung_kafka_config *config);
/* Read again from `seq` on, if it must resume and the time has come. What was read must be taken. */
void rung__kafka_reader_resume(rung__kafka_reader *r, const rung_kafka_config *config,
                               uint64_t seq);

/* The first sequence that the partition has (NULL: not wanted), and its last (first - 1: it is empty). Asks a broker,
 * and waits for each. */
RUNG_NODISCARD rung_status rung__kafka_span(const rung_kafka_config *config, rd_kafka_t *rk,
                                            uint32_t wait_ms, uint64_t *first_out,
                                            uint64_t *last_out, rung_err *err);

/* Check what the reader took from its queue. RUNG_OK: the record with this sequence, whose envelope is in *out.
 * RUNG_NOT_FOUND: the end of the partition. RUNG_EBUSY: a broker has a problem, which will pass. RUNG_ESTALE: it does
 * not have the record, and the reader has stopped. RUNG_ECORRUPT: not a record of this log, or not the next one. */
RUNG_NODISCARD rung_status rung__kafka_check(const rung_kafka_config *config,
                                             const rd_kafka_message_t *message,
                                             const uint8_t log_id[RUNG_LOG_ID_SIZE], uint64_t seq,
                                             rung__envelope *out, rung_err *err);

/* Is it the record with this sequence, and not of this log, nor of any version of it? */
bool rung__kafka_is_stranger(const rd_kafka_message_t *message,
                             const uint8_t log_id[RUNG_LOG_ID_SIZE], uint64_t seq);

/* Why brokers do not serve us, as librdkafka's error callback says it. Zero: nothing is known. */
typedef struct rung__kafka_trouble {
    bool is_refusal;    /* a password or a certificate: it does not pass by waiting */
    bool is_everywhere; /* no broker is left */
    char text[160];     /* of the last error, and which settings to look at */
} rung__kafka_trouble;

/* Is it a password or a certificate that is wrong? */
bool rung__kafka_is_refusal(int code);
void rung__kafka_note_trouble(rung__kafka_trouble *t, int code, const char *reason);

/* Find the topic, or create it; refuse an unsafe one. Polls `rk`, whose error callback fills *trouble. RUNG_EREFUSED:
 * the topic is unsafe, may not be created, or brokers refuse our password or certificate; RUNG_EIO: nobody answers. */
RUNG_NODISCARD rung_status rung__kafka_topic_prepare(const rung_kafka_config *config,
                                                     rd_kafka_t *rk,
                                                     const rung__kafka_trouble *trouble,
                                                     rung_err *err);

/* How many partitions a topic has that is not a log. If there is none of this name it is created with `partitions`. One
 * attempt: RUNG_EBUSY and RUNG_EIO may pass. */
RUNG_NODISCARD rung_status rung__kafka_topic_find(const rung_kafka_config *config, rd_kafka_t *rk,
                                                  uint32_t partitions, uint32_t *partitions_out,
                                                  rung_err *err);

void rung__kafka_pause(void); /* before the next attempt */
void rung__kafka_say(const rung_kafka_config *config, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Cursors (kafka_cursor.c). The partition is known to have `known_end`; 0: nothing is known. */
rung_status rung__kafka_cursor_open(const rung_log_ops *ops, const rung_kafka_config *config,
                                    const uint8_t log_id[RUNG_LOG_ID_SIZE], uint64_t from_seq,
                                    uint64_t known_end, rung_log_cursor **cursor_out,
                                    rung_err *err);
rung_status rung__kafka_cursor_read(rung_log_cursor *cursor, rung_log_record *records, size_t max,
                                    size_t *count_out, rung_err *err);
void rung__kafka_cursor_close(rung_log_cursor *cursor);

#endif
