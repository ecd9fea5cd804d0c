/* SPDX-License-Identifier: Apache-2.0 */
/* A cursor is a client of its own: librdkafka reads a partition once per client.
 *
 * A broker that has just become the leader may not know yet how far the others have its records: for a moment the
 * partition seems to end before records that were committed. So an end before one that we have heard of is not the end,
 * and the cursor asks again. */
#include "stream/kafka_client.h"
#include "stream/skip.h"

enum { BATCH = 512 };

typedef struct kafka_cursor {
    rung_log_cursor port;
    rung_kafka_config config;
    uint8_t log_id[RUNG_LOG_ID_SIZE];
    rung__kafka_reader reader;
    rung__skips skips;
    uint64_t next_seq;
    uint64_t known_end;                  /* it has been said that the partition has this one */
    bool is_at_end;                      /* as far as the broker has said */
    rd_kafka_message_t *messages[BATCH]; /* lent until the next read */
    size_t count;
} kafka_cursor;

static void give_back(kafka_cursor *k) {
    while (k->count > 0)
        rd_kafka_message_destroy(k->messages[--k->count]);
}

/* Wait for one, then take what else is there: asking for many would wait until they are. */
static size_t fetch(kafka_cursor *k, size_t max) {
    int wait_ms = k->is_at_end ? 0 : (int)k->config.connect_ms;
    max = max < BATCH ? max : BATCH;
    k->messages[0] = rd_kafka_consume_queue(k->reader.queue, wait_ms);
    if (!k->messages[0])
        return 0;
    k->count = 1;
    ssize_t more =
        max > 1 ? rd_kafka_consume_batch_queue(k->reader.queue, 0, k->messages + 1, max - 1) : 0;
    k->count += more > 0 ? (size_t)more : 0;
    return k->count;
}

/* A record that is not of this log: void, if the log says further on that it is passed over. */
static rung_status judge_stranger(kafka_cursor *k, const rd_kafka_message_t *m, const rung_err *why,
                                  rung_err *err) {
    rung_status st = RUNG_NOT_FOUND;
    if (rung__kafka_is_stranger(m, k->log_id, k->next_seq))
        st = rung__skips_ask(&k->skips, &k->config, k->log_id, k->next_seq, err);
    if (st != RUNG_NOT_FOUND)
        return st;
    if (err)
        *err = *why;
    return RUNG_ECORRUPT;
}

/* The records among what was fetched. Of what comes behind a fault nothing is given out. */
static rung_status take(kafka_cursor *k, rung_log_record *records, size_t *count_out,
                        rung_err *err) {
    size_t n = 0;
    rung_status st = RUNG_OK;
    for (size_t i = 0; i < k->count; i++) {
        const rd_kafka_message_t *m = k->messages[i];
        rung__envelope envelope;
        rung_err why;
        st = rung__kafka_check(&k->config, m, k->log_id, k->next_seq, &envelope, &why);
        if (st == RUNG_ESTALE && (st = rung__kafka_reader_doubt(&k->reader, &k->config)) < 0)
            why.code = st;
        bool is_void = st == RUNG_ECORRUPT;
        if (is_void && (st = judge_stranger(k, m, &why, err)) < 0)
            return st;
        if (st < 0 && err)
            *err = why;
        k->is_at_end = st == RUNG_NOT_FOUND;
        if (st != RUNG_OK)
            continue;
        records[n++] = (rung_log_record){
            .seq = k->next_seq++,
            .payload = is_void ? (rung_slice){0} : rung_slice_of(m->payload, m->len),
            .type = is_void ? RUNG_LOG_TYPE_VOID : envelope.type,
        };
    }
    *count_out = n;
    return n ? RUNG_OK : st;
}

rung_status rung__kafka_cursor_read(rung_log_cursor *cursor, rung_log_record *records, size_t max,
                                    size_t *count_out, rung_err *err) {
    kafka_cursor *k = (kafka_cursor *)cursor;
    int64_t start_ms = rung_clock_monotonic_ms(&k->config.clock);
    give_back(k);
    do {
        if (k->reader.must_resume)
            rung__kafka_pause();
        rung__kafka_reader_resume(&k->reader, &k->config, k->next_seq);
        if (fetch(k, max) == 0)
            break;
        rung_status st = take(k, records, count_out, err);
        bool is_early = st == RUNG_NOT_FOUND && k->next_seq <= k->known_end;
        if (st != RUNG_EBUSY && !is_early)
            return st;
        give_back(k);
        k->is_at_end = false; /* so that the next one is waited for */
    } while (rung_clock_monotonic_ms(&k->config.clock) - start_ms < k->config.connect_ms);
    if (k->is_at_end)
        return RUNG_NOT_FOUND;
    return RUNG_FAIL_WHY(err, RUNG_EIO, RUNG_REASON_LOG_UNAVAILABLE,
                         "no record of topic %s with sequence %llu came in %u ms", k->config.topic,
                         (unsigned long long)k->next_seq, k->config.connect_ms);
}

void rung__kafka_cursor_close(rung_log_cursor *cursor) {
    kafka_cursor *k = (kafka_cursor *)cursor;
    give_back(k);
    rung__kafka_reader_close(&k->reader);
    rung__skips_deinit(&k->skips, k->config.alloc);
    rung_alloc_free(k->config.alloc, k, sizeof *k);
}

static rung_status begin(kafka_cursor *k, rung_err *err) {
    uint64_t first, last;
    rung_status st = rung__kafka_reader_open(&k->reader, &k->config, NULL, true, err);
    if (st == RUNG_OK)
        st = rung__kafka_span(&k->config, k->reader.rk, k->config.connect_ms, &first, &last, err);
    if (st == RUNG_OK && k->next_seq < first)
        st = RUNG_FAIL(err, RUNG_ESTALE, "topic %s begins at sequence %llu", k->config.topic,
                       (unsigned long long)first);
    if (st < 0)
        return st;
    k->known_end = last > k->known_end ? last : k->known_end;
    return rung__kafka_reader_begin(&k->reader, k->next_seq, err);
}

rung_status rung__kafka_cursor_open(const rung_log_ops *ops, const rung_kafka_config *config,
                                    const uint8_t log_id[RUNG_LOG_ID_SIZE], uint64_t from_seq,
                                    uint64_t known_end, rung_log_cursor **cursor_out,
                                    rung_err *err) {
    kafka_cursor *k = rung_alloc_zeroed(config->alloc, sizeof *k);
    if (!k)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    k->port.ops = ops;
    k->config = *config;
    memcpy(k->log_id, log_id, sizeof k->log_id);
    k->next_seq = from_seq;
    k->known_end = known_end;
    rung_status st = begin(k, err);
    if (st < 0) {
        rung__kafka_cursor_close(&k->port);
        return st;
    }
    *cursor_out = &k->port;
    return RUNG_OK;
}
