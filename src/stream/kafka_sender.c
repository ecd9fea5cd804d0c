/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/kafka_sender.h"

#include "base/alloc.h"
#include "base/worker.h"

#include <stdatomic.h>
#include <string.h>

enum {
    GROUP_MAX = 4096,                  /* records */
    GROUP_BYTES = RUNG_LOG_RECORD_MAX, /* of their payloads: what a request takes */
    FLUSH_MS = 100,                    /* between two looks at what else is wanted */
    IDLE_MS = 1000,                    /* errors that nobody waits for are dropped then */
};

typedef enum state { FILLING, SENDING, DONE } state;

struct rung__kafka_sender {
    const rung_kafka_config *config;
    rung__kafka_hooks hooks;
    void (*wake)(void *ctx);
    void *ctx;
    rung_worker *worker;
    atomic_int state; /* SENDING: what follows is the thread's, otherwise the owner's */
    size_t count, bytes;
    rd_kafka_message_t messages[GROUP_MAX];
    rung__kafka_fate fates[GROUP_MAX];
    uint8_t keys[GROUP_MAX][RUNG__ENVELOPE_SIZE];
    char payloads[GROUP_BYTES];

    /* The thread's. */
    rd_kafka_t *rk; /* NULL: the last one died, and another could not be made */
    rd_kafka_topic_t *topic;
    bool is_dead;

    atomic_bool must_end;
    _Atomic uint64_t rebuilds;
};

/* ---- what librdkafka calls, from the thread's flush and poll ---- */

static void on_report(rd_kafka_t *rk, const rd_kafka_message_t *m, void *ctx) {
    rung__kafka_sender *s = ctx;
    (void)rk;
    s->fates[(size_t)(uintptr_t)m->_private] =
        (rung__kafka_fate){m->err, rd_kafka_message_status(m) != RD_KAFKA_MSG_STATUS_NOT_PERSISTED};
}

/* Brokers that are down or refuse us: the log hears of them from its reader. */
static void on_error(rd_kafka_t *rk, int code, const char *reason, void *ctx) {
    rung__kafka_sender *s = ctx;
    (void)rk, (void)reason;
    s->is_dead = s->is_dead || code == RD_KAFKA_RESP_ERR__FATAL;
}

/* ---- the thread ---- */

static rung_status start_producer(rung__kafka_sender *s, rung_err *err) {
    rung_status st = rung__kafka_producer(s->config, true, &s->hooks, &s->rk, err);
    if (st == RUNG_OK)
        s->topic = rd_kafka_topic_new(s->rk, s->config->topic, NULL);
    return st;
}

static void destroy_producer(rung__kafka_sender *s) {
    if (!s->rk)
        return;
    rd_kafka_topic_destroy(s->topic);
    rd_kafka_destroy(s->rk);
    s->rk = NULL;
    s->topic = NULL;
    s->is_dead = false;
}

static void set_fates(rung__kafka_sender *s, rung__kafka_fate fate) {
    for (size_t i = 0; i < s->count; i++)
        s->fates[i] = fate;
}

/* Every record is reported: stored, refused, timed out, or purged. */
static void send_group(rung__kafka_sender *s) {
    set_fates(s, (rung__kafka_fate){RD_KAFKA_RESP_ERR__FATAL, true});
    rd_kafka_produce_batch(s->topic, RUNG__PARTITION, 0, s->messages, (int)s->count);
    for (size_t i = 0; i < s->count; i++)
        if (s->messages[i].err)
            s->fates[i] = (rung__kafka_fate){s->messages[i].err, false};
    while (rd_kafka_outq_len(s->rk) > 0) {
        if (s->is_dead || s->must_end)
            rd_kafka_purge(s->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_flush(s->rk, FLUSH_MS);
    }
}

static void replace_producer(rung__kafka_sender *s) {
    rung_err err;
    destroy_producer(s);
    s->rebuilds++;
    if (start_producer(s, &err) < 0)
        rung__kafka_say(s->config, "writes are refused: %s", err.message);
}

static uint32_t step(void *arg, bool is_stopping) {
    rung__kafka_sender *s = arg;
    rung_err err;
    if (s->is_dead)
        replace_producer(s);
    if (s->state == SENDING) {
        if (s->rk || start_producer(s, &err) == RUNG_OK)
            send_group(s);
        else
            set_fates(s, (rung__kafka_fate){RD_KAFKA_RESP_ERR__STATE, false});
        s->state = DONE;
        s->wake(s->ctx);
        return RUNG_WORKER_AGAIN;
    }
    if (s->rk)
        rd_kafka_poll(s->rk, 0);
    return is_stopping ? RUNG_WORKER_END : IDLE_MS;
}

/* ---- the owner ---- */

rung_status rung__kafka_sender_start(const rung_kafka_config *config, void (*wake)(void *ctx),
                                     void *ctx, rung__kafka_sender **sender_out, rung_err *err) {
    rung__kafka_sender *s = rung_alloc_zeroed(config->alloc, sizeof *s);
    if (!s)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    s->config = config;
    s->wake = wake;
    s->ctx = ctx;
    s->hooks = (rung__kafka_hooks){.reported = on_report, .erred = on_error, .ctx = s};
    rung_status st = start_producer(s, err);
    if (st == RUNG_OK)
        st = rung_worker_start(config->threads, config->alloc, step, s, &s->worker, err);
    if (st < 0) {
        rung__kafka_sender_stop(s);
        return st;
    }
    *sender_out = s;
    return RUNG_OK;
}

void rung__kafka_sender_stop(rung__kafka_sender *s) {
    if (!s)
        return;
    s->must_end = true;
    rung_worker_stop(s->worker);
    destroy_producer(s);
    rung_alloc_free(s->config->alloc, s, sizeof *s);
}

bool rung__kafka_sender_add(rung__kafka_sender *s, const uint8_t key[RUNG__ENVELOPE_SIZE],
                            rung_slice payload) {
    size_t i = s->count;
    if (i == GROUP_MAX || payload.len > GROUP_BYTES - s->bytes)
        return false;
    memcpy(s->keys[i], key, RUNG__ENVELOPE_SIZE);
    if (payload.len)
        memcpy(s->payloads + s->bytes, payload.ptr, payload.len);
    s->messages[i] = (rd_kafka_message_t){.payload = s->payloads + s->bytes,
                                          .len = payload.len,
                                          .key = s->keys[i],
                                          .key_len = RUNG__ENVELOPE_SIZE,
                                          ._private = (void *)(uintptr_t)i};
    s->bytes += payload.len;
    s->count++;
    return true;
}

void rung__kafka_sender_send(rung__kafka_sender *s) {
    s->state = SENDING;
    rung_worker_wake(s->worker);
}

const rung__kafka_fate *rung__kafka_sender_fates(rung__kafka_sender *s, size_t *count_out) {
    if (s->state != DONE)
        return NULL;
    *count_out = s->count;
    s->count = s->bytes = 0;
    s->state = FILLING;
    return s->fates;
}

uint64_t rung__kafka_sender_rebuilds(const rung__kafka_sender *s) {
    return s->rebuilds;
}
