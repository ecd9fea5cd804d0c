/* SPDX-License-Identifier: Apache-2.0 */
/* Three clients: a member of the group, which reads nothing; a reader of the partitions' ends; a producer.
 *
 * Invariants:
 *   T1  The producer sends every record or none after it: it retries for ever, keeps the order (idempotent), and after
 *       an error that it does not survive, everything from there on fails. So what a session leaves in a partition is
 *       the beginning of what it sent there.
 *   T2  sent[] holds the records from the oldest that is not acknowledged, by serial & mask. */
#include "stream/feed_topic.h"

#include "stream/kafka_client.h"

#include <stdio.h>
#include <string.h>

enum {
    TAIL = 16, /* records at a partition's end: the last one may be another program's */
    RECORD_MAX = 2 << 20,
    CLOSE_POLL_MS = 50,
};

typedef struct sent {
    rung__feed_position position;
    bool is_acked;
} sent;

struct rung__feed_topic {
    rung__feed_topic_config config;
    rung__kafka_hooks hooks, reader_hooks;
    rd_kafka_t *member, *producer;
    rd_kafka_topic_t *producer_topic;
    rung__kafka_reader reader;
    uint32_t partitions;
    bool is_leader;
    rung_err failure;
    sent *sent; /* T2 */
    uint64_t mask, head, tail;
};

/* ---- what librdkafka tells ---- */

static void fail(rung__feed_topic *t, const char *what, const char *why) {
    if (t->failure.code == RUNG_OK)
        rung_ignore(RUNG_FAIL(&t->failure, RUNG_EIO, "topic %.100s: %s: %.120s",
                              t->config.kafka.topic, what, why),
                    "it is kept");
}

static void on_report(rd_kafka_t *rk, const rd_kafka_message_t *m, void *ctx) {
    rung__feed_topic *t = ctx;
    uint64_t serial = (uint64_t)(uintptr_t)m->_private;
    (void)rk;
    if (m->err) { /* T1 */
        fail(t, "a record was not taken", rd_kafka_err2str(m->err));
        return;
    }
    t->sent[serial & t->mask].is_acked = true;
    while (t->head < t->tail && t->sent[t->head & t->mask].is_acked)
        t->head++;
}

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *ctx) {
    rung__feed_topic *t = ctx;
    (void)rk;
    if (code == RD_KAFKA_RESP_ERR__FATAL)
        fail(t, "the producer gave up", reason);
    else if (code == RD_KAFKA_RESP_ERR__AUTHENTICATION || code == RD_KAFKA_RESP_ERR__SSL ||
             code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
             code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
        fail(t, "refused", reason);
}

/* The group's partitions only say who leads: nothing is read of them. */
static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t code,
                         rd_kafka_topic_partition_list_t *partitions, void *ctx) {
    rung__feed_topic *t = ctx;
    t->is_leader = false;
    if (code != RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        rd_kafka_assign(rk, NULL);
        return;
    }
    for (int i = 0; i < partitions->cnt; i++) {
        partitions->elems[i].offset = RD_KAFKA_OFFSET_END;
        t->is_leader = t->is_leader || partitions->elems[i].partition == 0;
    }
    rd_kafka_assign(rk, partitions);
    rd_kafka_pause_partitions(rk, partitions);
}

rung_status rung__feed_topic_poll(rung__feed_topic *t, uint32_t wait_ms, rung_err *err) {
    bool is_sending = t->head != t->tail;
    rd_kafka_poll(t->reader.rk, 0);
    rd_kafka_poll(t->producer, is_sending ? (int)wait_ms : 0);
    rd_kafka_message_t *m = rd_kafka_consumer_poll(t->member, is_sending ? 0 : (int)wait_ms);
    if (m)
        rd_kafka_message_destroy(
            m); /* an error that passes, or a record fetched before the pause */
    if (t->failure.code < 0 && err)
        *err = t->failure;
    return t->failure.code;
}

/* ---- sending ---- */

uint32_t rung__feed_topic_partition_of(const rung__feed_topic *t, rung_slice key) {
    return (uint32_t)rd_kafka_msg_partitioner_murmur2(t->producer_topic, key.ptr, key.len,
                                                      (int32_t)t->partitions, NULL, NULL);
}

rung_status rung__feed_topic_send(rung__feed_topic *t, uint32_t partition, rung_slice key,
                                  rung_slice json, rung__feed_position position, rung_err *err) {
    if (t->tail - t->head > t->mask)
        return RUNG_EBUSY;
    t->sent[t->tail & t->mask] = (sent){.position = position};
    if (rd_kafka_produce(t->producer_topic, (int32_t)partition, RD_KAFKA_MSG_F_COPY,
                         (void *)json.ptr, json.len, key.len ? key.ptr : NULL, key.len,
                         (void *)(uintptr_t)t->tail) == 0) {
        t->tail++;
        return RUNG_OK;
    }
    rd_kafka_resp_err_t code = rd_kafka_last_error();
    if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL)
        return RUNG_EBUSY;
    fail(t, "a record was not taken", rd_kafka_err2str(code));
    if (err)
        *err = t->failure;
    return t->failure.code;
}

bool rung__feed_topic_oldest(const rung__feed_topic *t, rung__feed_position *out) {
    if (t->head == t->tail)
        return false;
    *out = t->sent[t->head & t->mask].position;
    return true;
}

uint64_t rung__feed_topic_sent(const rung__feed_topic *t) {
    return t->tail;
}

uint64_t rung__feed_topic_acked(const rung__feed_topic *t) {
    return t->head;
}

bool rung__feed_topic_is_leader(const rung__feed_topic *t) {
    return t->is_leader;
}

uint32_t rung__feed_topic_partitions(const rung__feed_topic *t) {
    return t->partitions;
}

/* ---- the ends ---- */

static rung_status find_offsets(const rung__feed_topic *t, int64_t which,
                                rd_kafka_topic_partition_list_t **list_out, rung_err *err) {
    const rung_kafka_config *c = &t->config.kafka;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)t->partitions);
    for (uint32_t p = 0; p < t->partitions; p++)
        rd_kafka_topic_partition_list_add(list, c->topic, (int32_t)p)->offset = which;
    rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(t->reader.rk, list, (int)c->timeout_ms);
    for (uint32_t p = 0; !code && p < t->partitions; p++)
        code = list->elems[p].err          ? list->elems[p].err
               : list->elems[p].offset < 0 ? RD_KAFKA_RESP_ERR__NO_OFFSET
                                           : code;
    if (!code) {
        *list_out = list;
        return RUNG_OK;
    }
    rd_kafka_topic_partition_list_destroy(list);
    return RUNG_FAIL(err, RUNG_EIO, "the end of topic %.100s cannot be found: %s", c->topic,
                     rd_kafka_err2str(code));
}

/* What was read of one partition. */
typedef struct tail_read {
    bool is_started, is_reading;
    uint32_t records; /* that are not a feed's */
} tail_read;

static rung_status take(const rung__feed_topic *t, const rd_kafka_message_t *m, tail_read *tail,
                        rung__feed_end *end, rung_err *err) {
    const rung_alloc *a = t->config.kafka.alloc;
    rung__feed_position p;
    if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        tail->is_reading = false;
        return RUNG_OK;
    }
    if (m->err) /* it will pass, or the time runs out */
        return RUNG_OK;
    char *copy = m->len && m->len <= RECORD_MAX ? rung_alloc_get(a, m->len) : NULL;
    rung_status st = RUNG_ECORRUPT;
    if (copy) {
        memcpy(copy, m->payload, m->len);
        st = rung__feed_record_read(copy, m->len, &p, err);
        rung_alloc_free(a, copy, m->len);
    }
    if (st < 0) {
        tail->records++;
        return RUNG_OK;
    }
    if (!end->is_known || rung__feed_is_after(p, end->last))
        end->last = p;
    end->is_known = true;
    return RUNG_OK;
}

static rung_status read_tails(rung__feed_topic *t, tail_read *tails, rung__feed_end *ends,
                              rung_err *err) {
    const rung_kafka_config *c = &t->config.kafka;
    int64_t end_ms = rung_clock_monotonic_ms(&c->clock) + c->timeout_ms;
    uint32_t left = 0;
    for (uint32_t p = 0; p < t->partitions; p++)
        left += tails[p].is_reading;
    while (left > 0) {
        int64_t left_ms = end_ms - rung_clock_monotonic_ms(&c->clock);
        rd_kafka_message_t *m =
            left_ms > 0 ? rd_kafka_consume_queue(t->reader.queue, (int)left_ms) : NULL;
        if (!m)
            return RUNG_FAIL(err, RUNG_EIO, "the end of topic %.100s cannot be read", c->topic);
        tail_read *tail = &tails[(uint32_t)m->partition % t->partitions];
        bool was_reading = tail->is_reading;
        rung_status st = take(t, m, tail, &ends[(uint32_t)m->partition % t->partitions], err);
        left -= was_reading && !tail->is_reading;
        rd_kafka_message_destroy(m);
        if (st < 0)
            return st;
    }
    return RUNG_OK;
}

static rung_status begin_tails(rung__feed_topic *t, const rd_kafka_topic_partition_list_t *low,
                               const rd_kafka_topic_partition_list_t *high, tail_read *tails,
                               rung_err *err) {
    for (uint32_t p = 0; p < t->partitions; p++) {
        int64_t from = high->elems[p].offset - TAIL;
        from = from > low->elems[p].offset ? from : low->elems[p].offset;
        if (from >= high->elems[p].offset)
            continue; /* it is empty */
        if (rd_kafka_consume_start_queue(t->reader.topic, (int32_t)p, from, t->reader.queue) != 0)
            return RUNG_FAIL(err, RUNG_EIO, "the end of topic %.100s cannot be read: %s",
                             t->config.kafka.topic, rd_kafka_err2str(rd_kafka_last_error()));
        tails[p] = (tail_read){.is_started = true, .is_reading = true};
    }
    return RUNG_OK;
}

static rung_status judge_tails(const rung__feed_topic *t, const tail_read *tails,
                               const rung__feed_end *ends, rung_err *err) {
    for (uint32_t p = 0; p < t->partitions; p++)
        if (tails[p].records && !ends[p].is_known)
            return RUNG_FAIL(err, RUNG_ECORRUPT,
                             "topic %.100s: the last records of partition %u are not of a change "
                             "feed: another program writes there",
                             t->config.kafka.topic, p);
    return RUNG_OK;
}

rung_status rung__feed_topic_ends(rung__feed_topic *t, rung__feed_end *ends, rung_err *err) {
    const rung_alloc *a = t->config.kafka.alloc;
    size_t size = t->partitions * sizeof(tail_read);
    rd_kafka_topic_partition_list_t *low = NULL, *high = NULL;
    tail_read *tails = rung_alloc_zeroed(a, size);
    memset(ends, 0, t->partitions * sizeof *ends);
    rung_status st = tails ? RUNG_OK : RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    if (st == RUNG_OK)
        st = find_offsets(t, RD_KAFKA_OFFSET_BEGINNING, &low, err);
    if (st == RUNG_OK)
        st = find_offsets(t, RD_KAFKA_OFFSET_END, &high, err);
    if (st == RUNG_OK) {
        st = begin_tails(t, low, high, tails, err);
        if (st == RUNG_OK)
            st = read_tails(t, tails, ends, err);
        for (uint32_t p = 0; p < t->partitions; p++)
            if (tails[p].is_started)
                rd_kafka_consume_stop(t->reader.topic, (int32_t)p);
    }
    if (st == RUNG_OK)
        st = judge_tails(t, tails, ends, err);
    if (low)
        rd_kafka_topic_partition_list_destroy(low);
    if (high)
        rd_kafka_topic_partition_list_destroy(high);
    rung_alloc_free(a, tails, tails ? size : 0);
    return st;
}

/* ---- opening and closing ---- */

static rung_status open_member(rung__feed_topic *t, rung_err *err) {
    const rung__feed_topic_config *c = &t->config;
    char session[16], heartbeat[16];
    snprintf(session, sizeof session, "%u", c->session_ms);
    snprintf(heartbeat, sizeof heartbeat, "%u", c->session_ms / 3);
    const rung_kafka_option options[] = {
        {"group.id", c->group},
        {"session.timeout.ms", session},
        {"heartbeat.interval.ms", heartbeat},
        {"partition.assignment.strategy", "range"},
        {"enable.auto.commit", "false"},
        {"auto.offset.reset", "latest"},
    };
    rung_status st =
        rung__kafka_create(&c->kafka, RD_KAFKA_CONSUMER, options,
                           sizeof options / sizeof options[0], &t->hooks, &t->member, err);
    if (st < 0)
        return st;
    rd_kafka_poll_set_consumer(t->member);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, c->kafka.topic, RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t code = rd_kafka_subscribe(t->member, list);
    rd_kafka_topic_partition_list_destroy(list);
    return code ? RUNG_FAIL(err, RUNG_EIO, "group %.100s cannot be joined: %s", c->group,
                            rd_kafka_err2str(code))
                : RUNG_OK;
}

/* T1 */
static rung_status open_producer(rung__feed_topic *t, rung_err *err) {
    char messages[24];
    snprintf(messages, sizeof messages, "%llu", (unsigned long long)t->mask + 1);
    const rung_kafka_option options[] = {
        {"acks", "all"},
        {"enable.idempotence", "true"},
        {"enable.gapless.guarantee", "true"},
        {"message.timeout.ms", "0"},
        {"linger.ms", "2"},
        {"message.max.bytes", "2097152"},
        {"queue.buffering.max.messages", messages},
        {"queue.buffering.max.kbytes", "65536"},
    };
    rung_status st =
        rung__kafka_create(&t->config.kafka, RD_KAFKA_PRODUCER, options,
                           sizeof options / sizeof options[0], &t->hooks, &t->producer, err);
    if (st < 0)
        return st;
    t->producer_topic = rd_kafka_topic_new(t->producer, t->config.kafka.topic, NULL);
    return t->producer_topic ? RUNG_OK : RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
}

static rung_status prepare(rung__feed_topic *t, rung_err *err) {
    uint64_t size = 16;
    while (size < t->config.kafka.proposals_max)
        size *= 2;
    t->mask = size - 1;
    t->sent = rung_alloc_zeroed(t->config.kafka.alloc, size * sizeof *t->sent);
    return t->sent ? RUNG_OK : RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
}

/* A password or a certificate that is refused is a better reason than that nobody answers. */
static rung_status find_topic(rung__feed_topic *t, rung_err *err) {
    rung_status st = rung__kafka_topic_find(&t->config.kafka, t->reader.rk, t->config.partitions,
                                            &t->partitions, err);
    rd_kafka_poll(t->reader.rk, 0);
    if (st < 0 && t->failure.code < 0 && err)
        *err = t->failure;
    return st;
}

rung_status rung__feed_topic_open(const rung__feed_topic_config *config, rung__feed_topic **out,
                                  rung_err *err) {
    rung__feed_topic *t = rung_alloc_zeroed(config->kafka.alloc, sizeof *t);
    if (!t)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    t->config = *config;
    t->hooks = (rung__kafka_hooks){
        .reported = on_report, .erred = on_error, .rebalanced = on_rebalance, .ctx = t};
    t->reader_hooks = (rung__kafka_hooks){.erred = on_error, .ctx = t};
    rung_status st = prepare(t, err);
    if (st == RUNG_OK)
        st = rung__kafka_reader_open(&t->reader, &config->kafka, &t->reader_hooks, true, err);
    if (st == RUNG_OK)
        st = find_topic(t, err);
    if (st == RUNG_OK)
        st = open_producer(t, err);
    if (st == RUNG_OK)
        st = open_member(t, err);
    if (st < 0) {
        rung__feed_topic_close(t, 0);
        return st;
    }
    *out = t;
    return RUNG_OK;
}

static void flush(rung__feed_topic *t, uint32_t flush_ms) {
    const rung_clock *clock = &t->config.kafka.clock;
    int64_t end_ms = rung_clock_monotonic_ms(clock) + flush_ms;
    while (t->head != t->tail && t->failure.code == RUNG_OK &&
           rung_clock_monotonic_ms(clock) < end_ms)
        rd_kafka_poll(t->producer, CLOSE_POLL_MS);
}

void rung__feed_topic_close(rung__feed_topic *t, uint32_t flush_ms) {
    const rung_alloc *a = t ? t->config.kafka.alloc : NULL;
    if (!t)
        return;
    if (t->producer) {
        flush(t, flush_ms);
        rd_kafka_purge(t->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        if (t->producer_topic)
            rd_kafka_topic_destroy(t->producer_topic);
        rd_kafka_destroy(t->producer);
    }
    if (t->member) {
        rd_kafka_consumer_close(t->member);
        rd_kafka_destroy(t->member);
    }
    rung__kafka_reader_close(&t->reader);
    rung_alloc_free(a, t->sent, t->sent ? (t->mask + 1) * sizeof *t->sent : 0);
    rung_alloc_free(a, t, sizeof *t);
}
