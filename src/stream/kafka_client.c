/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/kafka_client.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    TIMEOUT_MS = 10000,
    CONNECT_MS = 30000,
    PROPOSALS_MAX = 65536,
    REPLICATION = 3,
    RETENTION_MIN_MS = 86400000,
    TEXT_SIZE = 512,
    PAUSE_MS = 50,
    DOUBT_GAP_MS = 10000, /* doubts further apart have nothing to do with each other */
};

typedef rung_kafka_option option;

void rung__kafka_defaults(rung_kafka_config *c) {
    c->timeout_ms = c->timeout_ms ? c->timeout_ms : TIMEOUT_MS;
    c->connect_ms = c->connect_ms ? c->connect_ms : CONNECT_MS;
    c->proposals_max = c->proposals_max ? c->proposals_max : PROPOSALS_MAX;
    c->replication = c->replication ? c->replication : REPLICATION;
    if (!c->min_isr)
        c->min_isr = c->replication > 2 ? c->replication - 1 : c->replication;
    c->retention_min_ms = c->retention_min_ms ? c->retention_min_ms : RETENTION_MIN_MS;
}

void rung__kafka_say(const rung_kafka_config *config, const char *format, ...) {
    char line[TEXT_SIZE];
    va_list args;
    if (!config->say)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    config->say(config->ctx, line);
}

/* ---- trouble ---- */

bool rung__kafka_is_refusal(int code) {
    return code == RD_KAFKA_RESP_ERR__AUTHENTICATION || code == RD_KAFKA_RESP_ERR__SSL;
}

void rung__kafka_note_trouble(rung__kafka_trouble *t, int code, const char *reason) {
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
        t->is_everywhere = true;
        return;
    }
    if (t->is_refusal && !rung__kafka_is_refusal(code))
        return;                               /* the better reason stays */
    const char *colon = strstr(reason, ": "); /* behind the broker's name */
    /* A broker that refuses our certificate closes the connection; only the text tells it from a network's fault. */
    t->is_refusal = rung__kafka_is_refusal(code) || strstr(reason, "SSL alert");
    snprintf(t->text, sizeof t->text, "%.100s%s", colon ? colon + 2 : reason,
             code == RD_KAFKA_RESP_ERR__AUTHENTICATION
                 ? " (see log.kafka.user and log.kafka.password_file)"
             : t->is_refusal ? " (see log.kafka.tls and log.kafka.tls_ca)"
                             : "");
}

/* ---- the URL ---- */

static bool is_topic(rung_slice text) {
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
        if (!is_good)
            return false;
    }
    return text.len > 0 && text.len < RUNG_KAFKA_TOPIC_MAX;
}

rung_status rung_kafka_url_parse(rung_slice text, rung_kafka_url *out, rung_err *err) {
    const rung_slice scheme = RUNG_SLICE("kafka://");
    if (text.len < scheme.len || memcmp(text.ptr, scheme.ptr, scheme.len) != 0)
        return RUNG_FAIL(err, RUNG_EINVAL, "expected kafka://HOST:PORT,.../TOPIC");
    text.ptr += scheme.len;
    text.len -= scheme.len;
    const char *slash = text.len ? memchr(text.ptr, '/', text.len) : NULL;
    rung_slice brokers = rung_slice_of(text.ptr, slash ? (size_t)(slash - text.ptr) : text.len);
    rung_slice topic =
        rung_slice_of(slash ? slash + 1 : "", slash ? text.len - brokers.len - 1 : 0);
    if (brokers.len == 0 || brokers.len >= sizeof out->brokers ||
        memchr(brokers.ptr, '@', brokers.len))
        return RUNG_FAIL(err, RUNG_EINVAL, "expected brokers as HOST:PORT,... after kafka://");
    if (slash && !is_topic(topic))
        return RUNG_FAIL(err, RUNG_EINVAL,
                         "a topic has letters, digits, '.', '_' and '-', 249 at most");
    *out = (rung_kafka_url){0};
    memcpy(out->brokers, brokers.ptr, brokers.len);
    memcpy(out->topic, topic.ptr, topic.len);
    return RUNG_OK;
}

/* ---- handles ---- */

static rung_status set(rd_kafka_conf_t *conf, const option *options, size_t count, rung_err *err) {
    char text[TEXT_SIZE];
    for (size_t i = 0; i < count; i++)
        if (rd_kafka_conf_set(conf, options[i].name, options[i].value, text, sizeof text) !=
            RD_KAFKA_CONF_OK)
            return RUNG_FAIL(err, RUNG_EINVAL, "%.200s", text);
    return RUNG_OK;
}

/* What is wrong comes through the error callback; the library's own lines would go to standard error. */
static void drop_line(const rd_kafka_t *rk, int level, const char *facility, const char *text) {
    (void)rk, (void)level, (void)facility, (void)text;
}

static void on_report(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque) {
    const rung__kafka_hooks *hooks = opaque;
    hooks->reported(rk, message, hooks->ctx);
}

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *opaque) {
    const rung__kafka_hooks *hooks = opaque;
    hooks->erred(rk, code, reason, hooks->ctx);
}

static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t code,
                         rd_kafka_topic_partition_list_t *partitions, void *opaque) {
    const rung__kafka_hooks *hooks = opaque;
    hooks->rebalanced(rk, code, partitions, hooks->ctx);
}

rung_status rung__kafka_create(const rung_kafka_config *c, rd_kafka_type_t type, const option *more,
                               size_t more_count, const rung__kafka_hooks *hooks,
                               rd_kafka_t **rk_out, rung_err *err) {
    char text[TEXT_SIZE], wait_ms[16];
    snprintf(wait_ms, sizeof wait_ms, "%u", c->timeout_ms < 1000 ? 1000 : c->timeout_ms);
    const option common[] = {
        {"bootstrap.servers", c->brokers},
        {"client.id", "rung"},
        {"socket.nagle.disable", "true"},
        {"socket.keepalive.enable", "true"},
        {"socket.timeout.ms", wait_ms},
        {"reconnect.backoff.max.ms", "1000"},
        /* A leader that was replaced and has not noticed answers fetches with nothing, and never with an error. */
        {"topic.metadata.refresh.interval.ms", "5000"},
    };
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(conf, drop_line);
    if (hooks) {
        rd_kafka_conf_set_opaque(conf, (void *)hooks);
        if (type == RD_KAFKA_PRODUCER)
            rd_kafka_conf_set_dr_msg_cb(conf, on_report);
        rd_kafka_conf_set_error_cb(conf, on_error);
        if (hooks->rebalanced)
            rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
    }
    rung_status st = set(conf, common, sizeof common / sizeof common[0], err);
    if (st == RUNG_OK)
        st = set(conf, more, more_count, err);
    if (st == RUNG_OK)
        st = set(conf, c->options, c->option_count, err);
    if (st < 0) {
        rd_kafka_conf_destroy(conf);
        return st;
    }
    *rk_out = rd_kafka_new(type, conf, text, sizeof text);
    if (*rk_out)
        return RUNG_OK;
    rd_kafka_conf_destroy(conf);
    return RUNG_FAIL(err, RUNG_EIO, "no Kafka client: %.180s", text);
}

rung_status rung__kafka_producer(const rung_kafka_config *c, bool is_patient,
                                 const rung__kafka_hooks *hooks, rd_kafka_t **rk_out,
                                 rung_err *err) {
    char timeout[16], linger[16], messages[24];
    snprintf(timeout, sizeof timeout, "%u", c->timeout_ms);
    snprintf(linger, sizeof linger, "%u", is_patient ? c->timeout_ms / 2 : 0);
    snprintf(messages, sizeof messages, "%zu", 2 * c->proposals_max);
    const option options[] = {
        {"acks", "all"},
        {"enable.idempotence", "true"},
        {"linger.ms", linger},
        {"message.timeout.ms", timeout},
        {"message.max.bytes", "2097152"}, /* the longest record, with its key and its batch */
        {"queue.buffering.max.messages", messages},
        {"queue.buffering.max.kbytes", "131072"},
    };
    return rung__kafka_create(c, RD_KAFKA_PRODUCER, options, sizeof options / sizeof options[0],
                              hooks, rk_out, err);
}

/* An offset that is not there is an error: skipping to another one would leave records out. */
rung_status rung__kafka_reader_open(rung__kafka_reader *r, const rung_kafka_config *c,
                                    const rung__kafka_hooks *hooks, bool tells_end, rung_err *err) {
    const option options[] = {
        {"check.crcs", "true"},
        {"enable.auto.commit", "false"},
        {"enable.auto.offset.store", "false"}, /* a lock for every record */
        {"auto.offset.reset", "error"},
        {"isolation.level", "read_uncommitted"},
        {"enable.partition.eof", tells_end ? "true" : "false"},
        {"fetch.error.backoff.ms", "50"},
        {"queued.max.messages.kbytes", "16384"},
    };
    *r = (rung__kafka_reader){0};
    rung_status st = rung__kafka_create(c, RD_KAFKA_CONSUMER, options,
                                        sizeof options / sizeof options[0], hooks, &r->rk, err);
    if (st < 0)
        return st;
    r->topic = rd_kafka_topic_new(r->rk, c->topic, NULL);
    r->queue = rd_kafka_queue_new(r->rk);
    if (r->topic && r->queue)
        return RUNG_OK;
    rung__kafka_reader_close(r);
    return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
}

rung_status rung__kafka_reader_begin(rung__kafka_reader *r, uint64_t seq, rung_err *err) {
    if (rd_kafka_consume_start_queue(r->topic, RUNG__PARTITION, (int64_t)seq - 1, r->queue) != 0)
        return RUNG_FAIL(err, RUNG_EIO, "cannot read the topic: %s",
                         rd_kafka_err2str(rd_kafka_last_error()));
    r->is_reading = true;
    return RUNG_OK;
}

rung_status rung__kafka_reader_doubt(rung__kafka_reader *r, const rung_kafka_config *c) {
    int64_t now_ms = rung_clock_monotonic_ms(&c->clock);
    if (!r->resume_ms || now_ms - r->resume_ms > DOUBT_GAP_MS)
        r->doubted_ms = now_ms;
    r->must_resume = true;
    r->resume_ms = now_ms + PAUSE_MS;
    return now_ms - r->doubted_ms > c->connect_ms ? RUNG_ECORRUPT : RUNG_EBUSY;
}

void rung__kafka_reader_resume(rung__kafka_reader *r, const rung_kafka_config *c, uint64_t seq) {
    if (!r->must_resume || rung_clock_monotonic_ms(&c->clock) < r->resume_ms)
        return;
    rd_kafka_consume_stop(r->topic, RUNG__PARTITION);
    r->is_reading = false;
    if (rung__kafka_reader_begin(r, seq, NULL) == RUNG_OK)
        r->must_resume = false;
}

void rung__kafka_reader_close(rung__kafka_reader *r) {
    if (r->is_reading)
        rd_kafka_consume_stop(r->topic, RUNG__PARTITION);
    if (r->queue)
        rd_kafka_queue_destroy(r->queue);
    if (r->topic)
        rd_kafka_topic_destroy(r->topic);
    if (r->rk)
        rd_kafka_destroy(r->rk);
    *r = (rung__kafka_reader){0};
}

/* ---- the partition ---- */

/* Not rd_kafka_query_watermark_offsets(): that one waits for a broker that is down, whatever its timeout. */
static rd_kafka_resp_err_t find_offset(const rung_kafka_config *c, rd_kafka_t *rk, int64_t which,
                                       uint32_t wait_ms, uint64_t *offset_out) {
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *one =
        rd_kafka_topic_partition_list_add(list, c->topic, RUNG__PARTITION);
    one->offset = which;
    rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(rk, list, (int)wait_ms);
    if (!code)
        code = one->err;
    if (!code && one->offset < 0)
        code = RD_KAFKA_RESP_ERR__NO_OFFSET;
    *offset_out = code ? 0 : (uint64_t)one->offset;
    rd_kafka_topic_partition_list_destroy(list);
    return code;
}

void rung__kafka_pause(void) {
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
}

/* A broker that has just started, or lost the partition to another, says so at once: ask again. */
static rd_kafka_resp_err_t seek_offset(const rung_kafka_config *c, rd_kafka_t *rk, int64_t which,
                                       uint32_t wait_ms, uint64_t *offset_out) {
    int64_t end_ms = rung_clock_monotonic_ms(&c->clock) + wait_ms;
    for (;;) {
        int64_t left_ms = end_ms - rung_clock_monotonic_ms(&c->clock);
        rd_kafka_resp_err_t code =
            find_offset(c, rk, which, left_ms > 1 ? (uint32_t)left_ms : 1, offset_out);
        if (!code || left_ms <= PAUSE_MS)
            return code;
        rung__kafka_pause();
    }
}

rung_status rung__kafka_span(const rung_kafka_config *c, rd_kafka_t *rk, uint32_t wait_ms,
                             uint64_t *first_out, uint64_t *last_out, rung_err *err) {
    uint64_t low = 0;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (first_out)
        code = seek_offset(c, rk, RD_KAFKA_OFFSET_BEGINNING, wait_ms, &low);
    if (!code)
        code = seek_offset(c, rk, RD_KAFKA_OFFSET_END, wait_ms, last_out);
    if (code)
        return RUNG_FAIL_WHY(err, RUNG_EIO, RUNG_REASON_LOG_UNAVAILABLE,
                             "the end of topic %s cannot be found: %s", c->topic,
                             rd_kafka_err2str(code));
    if (first_out)
        *first_out = low + 1;
    return RUNG_OK;
}

/* A broker's error: does the record that we wait for still exist? */
static rung_status judge_error(const rung_kafka_config *c, const rd_kafka_message_t *m,
                               uint64_t seq, rung_err *err) {
    unsigned long long offset = (unsigned long long)seq - 1;
    switch (m->err) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
        return RUNG_NOT_FOUND;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
        return RUNG_FAIL(err, RUNG_ESTALE,
                         "topic %s no longer has offset %llu: it was deleted, or the topic was "
                         "created again",
                         c->topic, offset);
    case RD_KAFKA_RESP_ERR__BAD_MSG:
    case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
        return RUNG_FAIL(err, RUNG_ECORRUPT, "topic %s is damaged at offset %llu: %s", c->topic,
                         offset, rd_kafka_message_errstr(m));
    default:
        return RUNG_FAIL_WHY(err, RUNG_EBUSY, RUNG_REASON_LOG_UNAVAILABLE, "topic %s: %s", c->topic,
                             rd_kafka_err2str(m->err));
    }
}

rung_status rung__kafka_check(const rung_kafka_config *c, const rd_kafka_message_t *m,
                              const uint8_t log_id[RUNG_LOG_ID_SIZE], uint64_t seq,
                              rung__envelope *out, rung_err *err) {
    rung_err why;
    if (m->err)
        return judge_error(c, m, seq, err);
    if ((uint64_t)m->offset + 1 != seq)
        return RUNG_FAIL(err, RUNG_ECORRUPT,
                         "topic %s has offset %lld where %llu is due: it was compacted, or holds "
                         "transactions",
                         c->topic, (long long)m->offset, (unsigned long long)seq - 1);
    if (rung__envelope_decode(rung_slice_of(m->key, m->key_len), log_id, out, &why) < 0)
        return RUNG_FAIL(err, RUNG_ECORRUPT,
                         "the record at offset %lld of topic %.60s is not of this log: %.60s%s",
                         (long long)m->offset, c->topic, why.message,
                         rung__kafka_is_stranger(m, log_id, seq) ? " (rung help log skip)" : "");
    return RUNG_OK;
}

bool rung__kafka_is_stranger(const rd_kafka_message_t *m, const uint8_t log_id[RUNG_LOG_ID_SIZE],
                             uint64_t seq) {
    return !m->err && (uint64_t)m->offset + 1 == seq &&
           rung__envelope_is_strange(rung_slice_of(m->key, m->key_len), log_id);
}
