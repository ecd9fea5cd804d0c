/* SPDX-License-Identifier: Apache-2.0 */
/* The log on Kafka against librdkafka's mock brokers: the contract of every log, and what goes wrong with brokers. With
 * RUNG_KAFKA_BROKERS=HOST:PORT the contract runs against a real broker, in topics of its own, and the rest is left out
 * (tests/e2e/test_kafka.py). */
/* ctest: timeout=300 labels=thread */
#include "stream/kafka_client.h"
#include "stream/kafka_log.h"
#include "support/c11_threads.h"
#include "support/check.h"
#include "support/log_contract.h"
#include "support/mock_kafka.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct kit {
    mock_kafka kafka;
    rung_kafka_config config;
    atomic_uint wakes, fatals;
    rung_err fatal;
    char topic[64]; /* with a real broker */
} kit;

static void on_wake(void *ctx) {
    ((kit *)ctx)->wakes++;
}

static void on_fatal(void *ctx, const rung_err *err) {
    kit *t = ctx;
    t->fatals++;
    t->fatal = *err;
}

static void kit_init_real(kit *t, const char *brokers) {
    static int count;
    *t = (kit){0};
    snprintf(t->topic, sizeof t->topic, "contract-%ld-%d", (long)getpid(), ++count);
    t->config = (rung_kafka_config){.alloc = rung_alloc_heap(),
                                    .brokers = brokers,
                                    .topic = t->topic,
                                    .replication = 1,
                                    .proposals_max = 500,
                                    .wake = on_wake,
                                    .fatal = on_fatal,
                                    .ctx = t};
}

static void kit_init(kit *t) {
    *t = (kit){0};
    mock_kafka_init(&t->kafka);
    t->config = mock_kafka_config(&t->kafka);
    t->config.wake = on_wake;
    t->config.fatal = on_fatal;
    t->config.ctx = t;
}

static void kit_deinit(kit *t) {
    mock_kafka_deinit(&t->kafka);
}

static rung_log *kit_open(void *ctx) {
    kit *t = ctx;
    rung_log *log;
    rung_err err = {0};
    CHECK_OK(rung_kafka_log_open(&t->config, &log, &err));
    CHECK_STATUS(rung_log_start(log, rung_log_durable_seq(log) + 2, &err), RUNG_EINVAL);
    CHECK_OK(rung_log_start(log, rung_log_durable_seq(log) + 1, &err));
    return log;
}

static void kit_crash(void *ctx, rung_log *log) {
    (void)ctx;
    rung_ignore(rung_log_close(log, NULL), "it is gone");
}

static void pause_shortly(void) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* The next delivery, whenever it comes. */
static rung_status next(rung_log *log, rung_log_delivery *out, rung_err *err) {
    rung_status st;
    while ((st = rung_log_deliver(log, 64, out, err)) == RUNG_NOT_FOUND)
        pause_shortly();
    return st;
}

static void propose(rung_log *log, const char *text, uint64_t tag) {
    rung_log_entry entry = {.payload = rung_slice_str(text), .type = 1, .tag = tag};
    CHECK_OK(rung_log_propose(log, &entry, 1, NULL));
}

/* Another node writes one record. */
static void kit_add_foreign(void *ctx, rung_slice text) {
    rung_log *log = kit_open(ctx);
    rung_log_delivery got;
    rung_log_entry entry = {.payload = text, .type = 7, .tag = 0};
    CHECK_OK(rung_log_propose(log, &entry, 1, NULL));
    CHECK_OK(next(log, &got, NULL));
    CHECK_EQ_U64(got.outcome, RUNG_LOG_COMMITTED);
    CHECK_OK(rung_log_close(log, NULL));
}

static void over(void (*contract)(const log_maker *m)) {
    kit t;
    const char *brokers = getenv("RUNG_KAFKA_BROKERS");
    if (brokers)
        kit_init_real(&t, brokers);
    else
        kit_init(&t);
    contract(&(log_maker){
        .ctx = &t, .open = kit_open, .crash = kit_crash, .add_foreign = kit_add_foreign});
    CHECK(t.wakes > 0);
    CHECK_EQ_U64(t.fatals, 0);
    kit_deinit(&t);
}

TEST(order_and_tags) {
    over(log_contract_order);
}

TEST(limits) {
    over(log_contract_limits);
}

TEST(foreign_records) {
    over(log_contract_foreign);
}

TEST(what_was_delivered_survives) {
    over(log_contract_crash);
}

TEST(closed_with_proposals_in_flight) {
    over(log_contract_in_flight);
}

/* ---- brokers that refuse, vanish and come back ---- */

TEST(what_the_broker_refuses_is_rejected) {
    kit t;
    rung_log_delivery got;
    kit_init(&t);
    rung_log *log = kit_open(&t);
    rd_kafka_mock_push_request_errors(t.kafka.mock, MOCK_KAFKA_PRODUCE, 1,
                                      RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
    propose(log, "refused", 5);
    CHECK_OK(next(log, &got, NULL));
    CHECK_EQ_U64(got.outcome, RUNG_LOG_REJECTED);
    CHECK_EQ_U64(got.count, 1);
    CHECK_EQ_U64(got.entries[0].tag, 5);
    CHECK_EQ_U64(got.why.reason, RUNG_REASON_LOG_UNAVAILABLE);
    propose(log, "taken", 6);
    CHECK_OK(next(log, &got, NULL));
    CHECK_EQ_U64(got.outcome, RUNG_LOG_COMMITTED);
    CHECK_EQ_U64(got.first_seq, 1);
    CHECK_EQ_U64(rung_log_stat(log).rejected, 1);
    CHECK_OK(rung_log_close(log, NULL));
    kit_deinit(&t);
}

TEST(errors_that_pass_are_retried) {
    kit t;
    rung_log_delivery got;
    kit_init(&t);
    rung_log *log = kit_open(&t);
    rd_kafka_mock_push_request_errors(
        t.kafka.mock, MOCK_KAFKA_PRODUCE, 3, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT);
    rd_kafka_mock_push_request_errors(t.kafka.mock, MOCK_KAFKA_FETCH, 2,
                                      RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
                                      RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    for (uint64_t seen = 0; seen < 2;
         seen++) { /* one at a time: a mock broker does not keep the order */
        propose(log, "one", seen);
        CHECK_OK(next(log, &got, NULL));
        CHECK_EQ_U64(got.outcome, RUNG_LOG_COMMITTED);
        CHECK_EQ_U64(got.first_seq, seen + 1);
        CHECK_EQ_U64(got.entries[0].tag, seen);
    }
    CHECK_OK(rung_log_close(log, NULL));
    kit_deinit(&t);
}

/* A leader that was replaced and has not noticed does not have what its successor has. It is asked again, and then the
 * successor. What is really gone stays gone. */
TEST(a_leader_that_lags_behind_is_asked_again) {
    kit t;
    rung_log_delivery got;
    rung_log_cursor *cursor;
    rung_log_record records[4];
    size_t count;
    rung_err err = {0};
    kit_init(&t);
    rung_log *log = kit_open(&t);
    for (uint64_t seen = 0; seen < 2; seen++) {
        rd_kafka_mock_push_request_errors(t.kafka.mock, MOCK_KAFKA_FETCH, 2,
                                          RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE,
                                          RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE);
        propose(log, "one", seen);
        CHECK_OK(next(log, &got, NULL));
        CHECK_EQ_U64(got.outcome, RUNG_LOG_COMMITTED);
        CHECK_EQ_U64(got.first_seq, seen + 1);
    }
    rd_kafka_mock_push_request_errors(t.kafka.mock, MOCK_KAFKA_FETCH, 1,
                                      RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE);
    CHECK_OK(rung_log_cursor_open(log, 1, &cursor, &err));
    CHECK_OK(rung_log_cursor_read(cursor, records, 4, &count, &err));
    CHECK_EQ_U64(records[0].seq, 1);
    rung_log_cursor_close(cursor);
    CHECK_EQ_U64(t.fatals, 0);
    CHECK_OK(rung_log_close(log, NULL));
    kit_deinit(&t);
}

/* A new leader does not know at once how far its records are committed: the partition seems to end too early. */
TEST(an_end_before_a_known_record_is_not_the_end) {
    kit t;
    rung_log_delivery got;
    rung_log_cursor *cursor;
    rung_log_record records[4];
    size_t count;
    rung_err err = {0};
    kit_init(&t);
    t.config.connect_ms = 300;
    rung_log *log = kit_open(&t);
    propose(log, "one", 0);
    CHECK_OK(next(log, &got, NULL));
    CHECK_OK(rung__kafka_cursor_open(log->ops, &t.config, rung_log_id(log), 1, 2, &cursor, &err));
    CHECK_OK(rung_log_cursor_read(cursor, records, 4, &count, &err));
    CHECK_STATUS(rung_log_cursor_read(cursor, records, 4, &count, &err), RUNG_EIO);
    CHECK(strstr(err.message, "sequence 2") != NULL);
    propose(log, "two", 1);
    CHECK_OK(next(log, &got, NULL));
    CHECK_OK(rung_log_cursor_read(cursor, records, 4, &count, &err));
    CHECK_EQ_U64(records[0].seq, 2);
    CHECK_STATUS(rung_log_cursor_read(cursor, records, 4, &count, &err), RUNG_NOT_FOUND);
    rung_log_cursor_close(cursor);
    CHECK_OK(rung_log_close(log, NULL));
    kit_deinit(&t);
}

TEST(an_offset_that_stays_away_stops_the_log) {
    kit t;
    rung_log_delivery got;
    rung_err err = {0};
    rd_kafka_resp_err_t errors[500];
    kit_init(&t);
    t.config.connect_ms = 500;
    rung_log *log = kit_open(&t);
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        errors[i] = RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
    rd_kafka_mock_push_request_errors_array(t.kafka.mock, MOCK_KAFKA_FETCH,
                                            sizeof errors / sizeof errors[0], errors);
    CHECK_STATUS(next(log, &got, &err), RUNG_ECORRUPT);
    CHECK(strstr(err.message, "offset 0") != NULL);
    CHECK_EQ_U64(t.fatals, 1);
    CHECK_STATUS(rung_log_close(log, NULL), RUNG_ECORRUPT);
    kit_deinit(&t);
}

/* A mock broker stores the second of two batches and refuses the first for now, which a real one does not. The first
 * has no certain outcome when the second is read, and counts as another node's when it comes. */
TEST(records_out_of_order_are_not_ours) {
    kit t;
    rung_log_delivery got;
    uint64_t outcomes[2] = {99, 99}, foreign = 0, seq = 1;
    kit_init(&t);
    rung_log *log = kit_open(&t);
    rd_kafka_mock_push_request_errors(t.kafka.mock, MOCK_KAFKA_PRODUCE, 1,
                                      RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS);
    propose(log, "first", 0);
    nanosleep(&(struct timespec){.tv_nsec = 20000000},
              NULL); /* so that it has a batch of its own */
    propose(log, "second", 1);
    while (seq <= 2 || outcomes[0] == 99 || outcomes[1] == 99) {
        CHECK_OK(next(log, &got, NULL));
        for (size_t i = 0; i < got.count; i++)
            if (got.entries[i].tag == RUNG_LOG_FOREIGN)
                foreign++;
            else
                outcomes[got.entries[i].tag] = got.outcome;
        seq += got.outcome == RUNG_LOG_COMMITTED ? got.count : 0;
    }
    CHECK_EQ_U64(outcomes[1], RUNG_LOG_COMMITTED);
    CHECK(outcomes[0] == RUNG_LOG_COMMITTED ? foreign == 0
                                            : outcomes[0] == RUNG_LOG_UNKNOWN && foreign == 1);
    CHECK_OK(rung_log_close(log, NULL));
    kit_deinit(&t);
}

/* Groups of all sizes, some of which wait for others: small ones and large ones have producers of their own. */
TEST(groups_keep_their_order) {
    enum { ALL = 3000 };
    static const size_t sizes[] = {1, 3, 200, 1, 70, 63, 64, 5, 400};
    kit t;
    rung_log_delivery got;
    static rung_log_entry entries[400];
    kit_init(&t);
    rung_log *log = kit_open(&t);
    uint64_t sent = 0, seen = 0;
    for (size_t round = 0; seen < ALL; round++) {
        size_t count = sizes[round % 9];
        for (size_t i = 0; i < count; i++)
            entries[i] =
                (rung_log_entry){.payload = rung_slice_str("record"), .type = 1, .tag = sent + i};
        if (sent < ALL && rung_log_propose(log, entries, count, NULL) == RUNG_OK)
            sent += count;
        if (rung_log_deliver(log, 512, &got, NULL) != RUNG_OK)
            continue;
        CHECK_EQ_U64(got.outcome, RUNG_LOG_COMMITTED);
        CHECK_EQ_U64(got.first_seq, seen + 1);
        for (size_t i = 0; i < got.count; i++)
            CHECK_EQ_U64(got.entries[i].tag, seen++);
    }
    CHECK_EQ_U64(rung_log_stat(log).foreign, 0);
    CHECK_OK(rung_log_close(log, NULL));
    kit_deinit(&t);
}

/* The broker is gone: what waits behind a group gets its outcome in time, too, and in order. */
TEST(groups_that_wait_for_a_broker_that_is_gone) {
    enum { ALL = 400 };
    kit t;
    rung_log_delivery got;
    static rung_log_entry entries[ALL];
    kit_init(&t);
    t.config.timeout_ms = 1000;
    rung_log *log = kit_open(&t);
    propose(log, "before", 0);
    CHECK_OK(next(log, &got, NULL));
    rd_kafka_mock_broker_set_down(t.kafka.mock, 1);
    for (size_t i = 0; i < ALL; i++)
        entries[i] = (rung_log_entry){.payload = rung_slice_str("x"), .type = 1, .tag = i};
    for (size_t at = 0; at < ALL; at += 100)
        CHECK_OK(rung_log_propose(log, entries + at, 100, NULL));
    bool is_rejected = false;
    for (uint64_t seen = 0; seen < ALL;) {
        CHECK_OK(next(log, &got, NULL));
        CHECK(got.outcome != RUNG_LOG_COMMITTED);
        is_rejected = is_rejected || got.outcome == RUNG_LOG_REJECTED;
        for (size_t i = 0; i < got.count; i++)
            CHECK_EQ_U64(got.entries[i].tag, seen++);
    }
    CHECK(is_rejected); /* those that were never sent */
    rung_ignore(rung_log_close(log, NULL), "nobody answers");
    kit_deinit(&t);
}

/* A sequence number that the broker cannot have seen: the producer gives up, and another takes its place. */
TEST(a_producer_that_gives_up_is_replaced) {
    kit t;
    rung_log_delivery got;
    kit_init(&t);
    rung_log *log = kit_open(&t);
    for (uint64_t round = 0; round < 3; round++) {
        rd_kafka_mock_push_request_errors(t.kafka.mock, MOCK_KAFKA_PRODUCE, 1,
                                          RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
        propose(log, "lost", 10 * round);
        CHECK_OK(next(log, &got, NULL));
        CHECK(got.outcome != RUNG_LOG_COMMITTED);
        CHECK_EQ_U64(got.entries[0].tag, 10 * round);
        propose(log, "taken", 10 * round + 1);
        CHECK_OK(next(log, &got, NULL));
        CHECK_EQ_U64(got.outcome, RUNG_LOG_COMMITTED);
        CHECK_EQ_U64(got.first_seq, round + 1);
    }
    CHECK_EQ_U64(rung_log_stat(log).rebuilds, 3);
    CHECK_OK(rung_log_close(log, NULL));
    kit_deinit(&t);
}

enum { MANY = 200, MANY_CALLS = 50, LONG_RECORDS = 48, LONG_BYTES = 100000 };

/* `count` records at once, which is a large group; tags count up from `tag`. */
static void propose_many(rung_log *log, rung_slice payload, size_t count, uint64_t tag) {
    rung_log_entry entries[MANY];
    for (size_t i = 0; i < count; i++)
        entries[i] = (rung_log_entry){.payload = payload, .type = 1, .tag = tag + i};
    CHECK_OK(rung_log_propose(log, entries, count, NULL));
}

/* The outcomes of those with the tags from `from` to `end`, in order. */
static void take_many(rung_log *log, uint64_t from, uint64_t end, bool is_committed) {
    rung_log_delivery got;
    while (from < end) {
        CHECK_OK(next(log, &got, NULL));
        CHECK((got.outcome == RUNG_LOG_COMMITTED) == is_committed);
        for (size_t i = 0; i < got.count; i++)
            CHECK_EQ_U64(got.entries[i].tag, from++);
    }
    CHECK_EQ_U64(from, end);
}

/* Small and large groups by turns, more than one group takes: their order is that of the proposals. */
TEST(large_groups_keep_the_order) {
    kit t;
    uint64_t tag = 0;
    kit_init(&t);
    t.config.proposals_max = MANY_CALLS * (MANY + 1);
    rung_log *log = kit_open(&t);
    for (size_t i = 0; i < MANY_CALLS; i++) {
        propose_many(log, RUNG_SLICE("one of many"), MANY, tag);
        propose(log, "alone", tag + MANY);
        tag += MANY + 1;
    }
    take_many(log, 0, tag, true);
    CHECK_EQ_U64(rung_log_durable_seq(log), tag);
    CHECK_OK(rung_log_close(log, NULL));
    kit_deinit(&t);
}

/* More bytes than a request takes, and fewer than the mock keeps: it would drop what the log has not read yet. */
TEST(a_large_group_of_long_records) {
    kit t;
    static char bytes[LONG_BYTES];
    kit_init(&t);
    t.config.timeout_ms = 60000; /* 5 MB: on a busy machine the mock takes more than 5 s */
    rung_log *log = kit_open(&t);
    propose_many(log, rung_slice_of(bytes, sizeof bytes), LONG_RECORDS, 0);
    take_many(log, 0, LONG_RECORDS, true);
    CHECK_OK(rung_log_close(log, NULL));
    kit_deinit(&t);
}

TEST(closing_sends_a_large_group) {
    kit t;
    kit_init(&t);
    rung_log *log = kit_open(&t);
    propose(log, "alone", 0);
    propose_many(log, RUNG_SLICE("one of many"), MANY, 1);
    CHECK_OK(rung_log_close(log, NULL));
    log = kit_open(&t);
    CHECK_EQ_U64(rung_log_durable_seq(log), MANY + 1);
    CHECK_OK(rung_log_close(log, NULL));
    kit_deinit(&t);
}

/* The producer of large groups gives up, too; what it had has no good outcome, and what follows is taken. */
TEST(a_sender_that_gives_up_is_replaced) {
    kit t;
    kit_init(&t);
    rung_log *log = kit_open(&t);
    for (uint64_t round = 0; round < 3; round++) {
        rd_kafka_mock_push_request_errors(t.kafka.mock, MOCK_KAFKA_PRODUCE, 1,
                                          RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
        propose_many(log, RUNG_SLICE("lost"), MANY, 0);
        take_many(log, 0, MANY, false);
        propose_many(log, RUNG_SLICE("taken"), MANY, MANY);
        take_many(log, MANY, (uint64_t)2 * MANY, true);
    }
    CHECK_EQ_U64(rung_log_stat(log).rebuilds, 3);
    CHECK_EQ_U64(rung_log_durable_seq(log), (uint64_t)3 * MANY);
    CHECK_OK(rung_log_close(log, NULL));
    kit_deinit(&t);
}

/* The broker is gone: each proposal gets an outcome within the timeout, and the log works again when it is back. */
TEST(a_broker_goes_and_comes_back) {
    kit t;
    rung_log_delivery got;
    kit_init(&t);
    t.config.timeout_ms = 1000;
    rung_log *log = kit_open(&t);
    propose(log, "before", 0);
    CHECK_OK(next(log, &got, NULL));
    rd_kafka_mock_broker_set_down(t.kafka.mock, 1);
    for (uint64_t tag = 1; tag <= 10; tag++)
        propose(log, "during", tag);
    for (uint64_t tag = 1; tag <= 10; tag += got.count) {
        CHECK_OK(next(log, &got, NULL));
        CHECK(got.outcome != RUNG_LOG_COMMITTED);
        CHECK_EQ_U64(got.entries[0].tag, tag); /* L3 */
        CHECK(got.why.reason == RUNG_REASON_LOG_UNAVAILABLE ||
              got.why.reason == RUNG_REASON_OUTCOME_UNKNOWN);
    }
    CHECK(rung_log_stat(log).silent_ms > 0);
    rd_kafka_mock_broker_set_up(t.kafka.mock, 1);
    uint64_t tag = 11;
    do {
        propose(log, "after", tag);
        do
            CHECK_OK(next(log, &got, NULL)); /* what was unknown may come first, as another's */
        while (got.outcome == RUNG_LOG_COMMITTED && got.entries[got.count - 1].tag != tag);
        tag++;
    } while (got.outcome != RUNG_LOG_COMMITTED);
    CHECK_EQ_I64(rung_log_stat(log).silent_ms, 0);
    CHECK_OK(rung_log_close(log, NULL));
    kit_deinit(&t);
}

TEST(records_of_others_are_delivered) {
    kit t;
    rung_log_delivery got;
    kit_init(&t);
    rung_log *log = kit_open(&t);
    CHECK(rung_log_is_shared(log));
    CHECK_EQ_U64(rung_log_first_seq(log), 1);
    kit_add_foreign(&t, RUNG_SLICE("theirs"));
    kit_add_foreign(&t, RUNG_SLICE("theirs"));
    for (uint64_t seen = 0; seen < 2; seen += got.count)
        CHECK_OK(next(log, &got, NULL));
    CHECK_EQ_U64(rung_log_durable_seq(log), 2);
    CHECK_OK(rung_log_close(log, NULL));
    kit_deinit(&t);
}

/* ---- what does not belong here ---- */

/* A record of another program. */
static void produce_junk(rd_kafka_t *rk) {
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, "rung", NULL);
    CHECK_EQ_I64(rd_kafka_produce(topic, 0, RD_KAFKA_MSG_F_COPY, (void *)"junk", 4, "key", 3, NULL),
                 0);
    CHECK_EQ_I64(rd_kafka_flush(rk, 10000), 0);
    rd_kafka_topic_destroy(topic);
}

/* A client beside the log's. */
static rd_kafka_t *stranger(const kit *t) {
    char text[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "bootstrap.servers", t->config.brokers, text, sizeof text),
                 RD_KAFKA_CONF_OK);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    CHECK(rk);
    return rk;
}

TEST(a_foreign_program_stops_the_log) {
    kit t;
    rung_log_delivery got;
    rung_err err = {0};
    kit_init(&t);
    rd_kafka_t *other = stranger(&t);
    rung_log *log = kit_open(&t);
    propose(log, "ours", 1);
    CHECK_OK(next(log, &got, NULL));
    produce_junk(other);
    CHECK_STATUS(next(log, &got, &err), RUNG_ECORRUPT);
    CHECK(strstr(err.message, "offset 1 ") != NULL);
    CHECK_EQ_U64(t.fatals, 1);
    rung_log_entry entry = {.payload = RUNG_SLICE("more"), .type = 1, .tag = 2};
    CHECK_STATUS(rung_log_propose(log, &entry, 1, &err), RUNG_ECORRUPT); /* L5 */
    CHECK_STATUS(rung_log_close(log, NULL), RUNG_ECORRUPT);

    CHECK_OK(rung_kafka_log_open(&t.config, &log, &err));
    rung_log_cursor *cursor;
    rung_log_record records[8];
    size_t count;
    CHECK_OK(rung_log_cursor_open(log, 1, &cursor, &err));
    rung_status st = rung_log_cursor_read(cursor, records, 8, &count, &err);
    if (st == RUNG_OK)
        st = rung_log_cursor_read(cursor, records, 8, &count, &err);
    CHECK_STATUS(st, RUNG_ECORRUPT);
    rung_log_cursor_close(cursor);
    CHECK_OK(rung_log_close(log, NULL));
    rd_kafka_destroy(other);
    kit_deinit(&t);
}

TEST(another_topic_is_another_log) {
    kit t;
    rung_log *one, *two;
    kit_init(&t);
    CHECK_EQ_I64(rd_kafka_mock_topic_create(t.kafka.mock, "other", 1, 1), 0);
    CHECK_EQ_I64(rd_kafka_mock_topic_create(t.kafka.mock, "wide", 2, 1), 0);
    one = kit_open(&t);
    t.config.topic = "other";
    two = kit_open(&t);
    CHECK(memcmp(rung_log_id(one), rung_log_id(two), RUNG_LOG_ID_SIZE) != 0);
    CHECK_OK(rung_log_close(one, NULL));
    CHECK_OK(rung_log_close(two, NULL));
    t.config.topic = "wide";
    CHECK_STATUS(rung_kafka_log_open(&t.config, &one, NULL), RUNG_EREFUSED);
    kit_deinit(&t);
}

TEST(nobody_is_there) {
    rung_log *log;
    rung_err err = {0};
    rung_kafka_config config = {
        .alloc = rung_alloc_heap(), .brokers = "127.0.0.1:1", .topic = "rung", .connect_ms = 300};
    CHECK_STATUS(rung_kafka_log_open(&config, &log, &err), RUNG_EIO);
    CHECK_EQ_U64(err.reason, RUNG_REASON_LOG_UNAVAILABLE);
    const rung_kafka_option wrong = {"no.such.option", "1"};
    config.options = &wrong;
    config.option_count = 1;
    CHECK_STATUS(rung_kafka_log_open(&config, &log, &err), RUNG_EINVAL);
}

TEST(urls) {
    static const struct {
        const char *text, *brokers, *topic; /* brokers NULL: refused */
    } cases[] = {
        {"kafka://b1:9092,b2:9092/rung", "b1:9092,b2:9092", "rung"},
        {"kafka://b1", "b1", ""},
        {"kafka://[::1]:9092/a.b-c_1", "[::1]:9092", "a.b-c_1"},
        {"kafka://", NULL, NULL},
        {"kafka:///rung", NULL, NULL},
        {"kafka://b1/", NULL, NULL},
        {"kafka://b1/a/b", NULL, NULL},
        {"kafka://user@b1/a", NULL, NULL},
        {"http://b1/a", NULL, NULL},
        {"kafka", NULL, NULL},
        {"", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rung_kafka_url url;
        rung_status st = rung_kafka_url_parse(rung_slice_str(cases[i].text), &url, NULL);
        CHECK_STATUS(st, cases[i].brokers ? RUNG_OK : RUNG_EINVAL);
        if (st < 0)
            continue;
        CHECK_EQ_STR(url.brokers, cases[i].brokers);
        CHECK_EQ_STR(url.topic, cases[i].topic);
    }
}

RUNG_TEST_MAIN
