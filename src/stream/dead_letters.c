/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/dead_letters.h"

#include <stdio.h>
#include <string.h>

enum {
    CREATE_WAIT_MS = 5000,
    CREATE_AGAIN_MS = 10000,
    CUT_BYTES = 64 << 10, /* of a value that no broker takes as a whole */
    TEXT_SIZE = 256,
    BROKERS_DEFAULT = -1, /* as many replicas as the brokers' default says */
};

rung_status rung__dead_letters_open(rung__dead_letters *d, const rung_kafka_config *config,
                                    const rung__kafka_hooks *hooks, rung_err *err) {
    *d = (rung__dead_letters){.config = config};
    return rung__kafka_producer(config, false, hooks, &d->producer, err);
}

void rung__dead_letters_close(rung__dead_letters *d) {
    if (!d->producer)
        return;
    rd_kafka_purge(d->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_destroy(d->producer);
    d->producer = NULL;
}

/* ---- the topic ---- */

static const char *failure_of(rd_kafka_event_t *event) {
    size_t count = 0;
    rd_kafka_resp_err_t code = event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (!code) {
        const rd_kafka_topic_result_t **results =
            rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
        code = count ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR__FAIL;
    }
    return !code || code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS ? NULL : rd_kafka_err2str(code);
}

void rung__dead_letters_create(rung__dead_letters *d) {
    char text[TEXT_SIZE];
    int64_t now_ms = rung_clock_monotonic_ms(&d->config->clock);
    if (d->created_ms && now_ms - d->created_ms < CREATE_AGAIN_MS)
        return;
    d->created_ms = now_ms;
    rd_kafka_NewTopic_t *topic =
        rd_kafka_NewTopic_new(d->config->topic, 1, BROKERS_DEFAULT, text, sizeof text);
    if (!topic)
        return;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(d->producer);
    rd_kafka_CreateTopics(d->producer, &topic, 1, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, CREATE_WAIT_MS);
    const char *why = failure_of(event);
    if (why)
        rung__kafka_say(d->config, "cannot create the dead-letter topic %s: %s", d->config->topic,
                        why);
    if (event)
        rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_NewTopic_destroy(topic);
}

/* ---- letters ---- */

static void add(rd_kafka_headers_t *headers, const char *name, const char *value) {
    if (*value)
        rd_kafka_header_add(headers, name, -1, value, -1);
}

static void add_number(rd_kafka_headers_t *headers, const char *name, int64_t number) {
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    add(headers, name, digits);
}

static rd_kafka_headers_t *describe(const rung__dead_letter *letter) {
    const rd_kafka_message_t *m = letter->original;
    rd_kafka_headers_t *headers = rd_kafka_headers_new(9);
    add(headers, "rung.ingest", letter->ingest);
    add(headers, "rung.topic", rd_kafka_topic_name(m->rkt));
    add_number(headers, "rung.partition", m->partition);
    add_number(headers, "rung.offset", m->offset);
    add(headers, "rung.code", letter->code);
    add(headers, "rung.field", letter->err->field);
    add(headers, "rung.reason", letter->err->message);
    if (letter->is_cut)
        add_number(headers, "rung.size", (int64_t)m->len);
    return headers;
}

rd_kafka_resp_err_t rung__dead_letters_send(rung__dead_letters *d,
                                            const rung__dead_letter *letter) {
    const rd_kafka_message_t *m = letter->original;
    size_t len = letter->is_cut && m->len > CUT_BYTES ? CUT_BYTES : m->len;
    rd_kafka_headers_t *headers = describe(letter);
    rd_kafka_resp_err_t code = rd_kafka_producev(
        d->producer, RD_KAFKA_V_TOPIC(d->config->topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_KEY(m->key, m->key_len), RD_KAFKA_V_VALUE(m->payload, len),
        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(letter->tag), RD_KAFKA_V_END);
    if (code) /* otherwise they are the message's */
        rd_kafka_headers_destroy(headers);
    return code;
}
