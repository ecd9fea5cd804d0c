/* SPDX-License-Identifier: Apache-2.0 */
/* Records of other programs in a topic, against librdkafka's mock brokers: a server stops at them, and passes over
 * those that a decision in the topic names. */
/* ctest: timeout=300 labels=thread */
#include "stream/envelope.h"
#include "stream/skip.h"
#include "support/c11_threads.h"
#include "support/check.h"
#include "support/mock_kafka.h"

#include <stdio.h>
#include <string.h>

typedef struct kit {
    mock_kafka kafka;
    rd_kafka_t *other; /* the program that writes what it should not */
    rung_kafka_config config;
    uint32_t lines; /* for the operator */
    char line[512]; /* the last one */
} kit;

static void note_line(void *ctx, const char *line) {
    kit *t = ctx;
    t->lines++;
    snprintf(t->line, sizeof t->line, "%s", line);
}

static void kit_init(kit *t) {
    char text[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    *t = (kit){0};
    mock_kafka_init(&t->kafka);
    t->config = mock_kafka_config(&t->kafka);
    t->config.say = note_line;
    t->config.ctx = t;
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "bootstrap.servers", t->config.brokers, text, sizeof text),
                 RD_KAFKA_CONF_OK);
    t->other = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    CHECK(t->other);
}

static void kit_deinit(kit *t) {
    rd_kafka_destroy(t->other);
    mock_kafka_deinit(&t->kafka);
}

/* Another program writes. */
static void put(kit *t, rung_slice key, const char *value) {
    rd_kafka_topic_t *topic = rd_kafka_topic_new(t->other, "rung", NULL);
    CHECK_EQ_I64(rd_kafka_produce(topic, 0, RD_KAFKA_MSG_F_COPY, (void *)(uintptr_t)value,
                                  strlen(value), key.ptr, key.len, NULL),
                 0);
    CHECK_EQ_I64(rd_kafka_flush(t->other, 10000), 0);
    rd_kafka_topic_destroy(topic);
}

/* A server writes. */
static void write_ours(kit *t, const char *text) {
    rung_log *log;
    rung_log_delivery got;
    rung_log_entry entry = {.payload = rung_slice_str(text), .type = 1};
    CHECK_OK(rung_kafka_log_open(&t->config, &log, NULL));
    CHECK_OK(rung_log_start(log, rung_log_durable_seq(log) + 1, NULL));
    CHECK_OK(rung_log_propose(log, &entry, 1, NULL));
    rung_log_await(log);
    CHECK_OK(rung_log_deliver(log, 1, &got, NULL));
    CHECK_EQ_U64(got.outcome, RUNG_LOG_COMMITTED);
    CHECK_OK(rung_log_close(log, NULL));
}

/* Read all; the types as a text of "e" (event) and "v" (void), and how it ended. */
static rung_status read_all(kit *t, char types_out[32], rung_err *err) {
    rung_log *log;
    rung_log_cursor *cursor;
    rung_log_record records[4];
    size_t count, n = 0;
    rung_status st;
    CHECK_OK(rung_kafka_log_open(&t->config, &log, err));
    CHECK_OK(rung_log_cursor_open(log, 1, &cursor, err));
    while ((st = rung_log_cursor_read(cursor, records, 4, &count, err)) == RUNG_OK)
        for (size_t i = 0; i < count; i++) {
            CHECK_EQ_U64(records[i].seq, n + 1);
            types_out[n++] = records[i].type == 1 ? 'e' : records[i].type ? '?' : 'v';
        }
    types_out[n] = '\0';
    rung_log_cursor_close(cursor);
    rung_ignore(rung_log_close(log, NULL), "it was only read");
    return st;
}

static rung_status skip(kit *t, uint64_t offset, uint64_t count, const char *reason,
                        rung_err *err) {
    uint64_t seq = 0;
    rung_kafka_decision d = {
        .offset = offset, .count = count, .decided_ms = 5, .reason = rung_slice_str(reason)};
    return rung_kafka_skip(&t->config, &d, &seq, err);
}

typedef struct listed {
    uint32_t count;
    rung_kafka_stranger last;
    char reason[64];
} listed;

static void note_stranger(void *ctx, const rung_kafka_stranger *s) {
    listed *l = ctx;
    l->count++;
    l->last = *s;
    snprintf(l->reason, sizeof l->reason, "%.*s", (int)s->reason.len,
             s->reason.len ? s->reason.ptr : "");
}

TEST(strangers_stop_a_reader_until_a_decision_names_them) {
    kit t;
    char types[32];
    rung_err err = {0};
    listed list = {0};
    kit_init(&t);
    write_ours(&t, "one");
    put(&t, RUNG_SLICE("key"), "junk");
    put(&t, (rung_slice){0}, "more junk");
    CHECK_STATUS(read_all(&t, types, &err), RUNG_ECORRUPT);
    CHECK(strstr(err.message, "offset 1 ") != NULL);
    CHECK(strstr(err.message, "rung help log skip") != NULL);
    CHECK_OK(rung_kafka_strangers(&t.config, note_stranger, &list, &err));
    CHECK_EQ_U64(list.count, 1);
    CHECK_EQ_U64(list.last.offset, 1);
    CHECK_EQ_U64(list.last.count, 2);
    CHECK_EQ_U64(list.last.skipped, 0);

    CHECK_OK(skip(&t, 1, 1, "a test", &err));
    CHECK_STATUS(read_all(&t, types, &err), RUNG_ECORRUPT); /* of the other one */
    CHECK(strstr(err.message, "offset 2 ") != NULL);
    CHECK_OK(skip(&t, 2, 1, "a test, too", &err));
    t.lines = 0;
    CHECK_STATUS(read_all(&t, types, &err), RUNG_NOT_FOUND);
    CHECK_EQ_STR(types, "evvvv");
    CHECK_EQ_U64(t.lines, 2);
    CHECK(strstr(t.line, "offset 2 ") && strstr(t.line, "a test, too"));
    write_ours(&t, "two");
    CHECK_STATUS(read_all(&t, types, &err), RUNG_NOT_FOUND);
    CHECK_EQ_STR(types, "evvvve");

    put(&t, RUNG_SLICE("key"), "again"); /* a decision is about what was there */
    CHECK_STATUS(read_all(&t, types, &err), RUNG_ECORRUPT);
    CHECK_OK(skip(&t, 6, 1, "again", &err));
    CHECK_STATUS(read_all(&t, types, &err), RUNG_NOT_FOUND);
    CHECK_EQ_STR(types, "evvvvevv");
    list = (listed){0};
    CHECK_OK(rung_kafka_strangers(&t.config, note_stranger, &list, &err));
    CHECK_EQ_U64(list.count, 2);
    CHECK_EQ_U64(list.last.skipped, 1);
    CHECK_EQ_U64(list.last.decided_at, 7);
    CHECK_EQ_I64(list.last.decided_ms, 5);
    CHECK_EQ_STR(list.reason, "again");
    kit_deinit(&t);
}

/* The key of a record of this log, made by hand. */
static rung_slice forge(kit *t, uint16_t type, uint8_t out[RUNG__ENVELOPE_SIZE]) {
    rung_log *log;
    rung__envelope e = {.node = 1, .type = type};
    CHECK_OK(rung_kafka_log_open(&t->config, &log, NULL));
    memcpy(e.log_id, rung_log_id(log), sizeof e.log_id);
    CHECK_OK(rung_log_close(log, NULL));
    rung__envelope_encode(&e, out);
    return rung_slice_of(out, RUNG__ENVELOPE_SIZE);
}

TEST(what_may_be_ours_is_not_passed_over) {
    static const struct {
        const char *what;
        size_t at; /* the byte of the key that is another, RUNG__ENVELOPE_SIZE: none */
        size_t len;
        bool is_strange;
    } rows[] = {
        {"a record of this log", RUNG__ENVELOPE_SIZE, RUNG__ENVELOPE_SIZE, false},
        {"a newer version", 3, RUNG__ENVELOPE_SIZE, false},
        {"a flag that is not known", 6, RUNG__ENVELOPE_SIZE, false},
        {"cut short", RUNG__ENVELOPE_SIZE, 20, false},
        {"another log", 8, RUNG__ENVELOPE_SIZE, true},
        {"another program", 0, RUNG__ENVELOPE_SIZE, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kit t;
        uint8_t key[RUNG__ENVELOPE_SIZE];
        char types[32];
        rung_err err = {0};
        kit_init(&t);
        forge(&t, 1, key);
        if (rows[i].at < sizeof key)
            key[rows[i].at] ^= 1;
        put(&t, rung_slice_of(key, rows[i].len), "value");
        rung_status st = skip(&t, 0, 1, "a test", &err);
        CHECK_STATUS(st, rows[i].is_strange ? RUNG_OK : i == 0 ? RUNG_EREFUSED : RUNG_ECORRUPT);
        /* Somebody forges the decision, too. */
        uint8_t payload[RUNG_KAFKA_DECISION_MAX + 1];
        rung_kafka_decision d = {.offset = 0, .count = 1, .reason = RUNG_SLICE("forged")};
        uint8_t good[RUNG__ENVELOPE_SIZE];
        forge(&t, RUNG_LOG_TYPE_VOID, good);
        payload[rung_kafka_decision_encode(&d, good + 8, payload)] = '\0';
        rd_kafka_topic_t *topic = rd_kafka_topic_new(t.other, "rung", NULL);
        CHECK_EQ_I64(rd_kafka_produce(topic, 0, RD_KAFKA_MSG_F_COPY, payload, 48 + 6, good,
                                      sizeof good, NULL),
                     0);
        CHECK_EQ_I64(rd_kafka_flush(t.other, 10000), 0);
        rd_kafka_topic_destroy(topic);
        st = read_all(&t, types, &err);
        CHECK_STATUS(st, rows[i].is_strange || i == 0 ? RUNG_NOT_FOUND : RUNG_ECORRUPT);
        kit_deinit(&t);
    }
}

TEST(what_is_not_there_cannot_be_decided_about) {
    kit t;
    rung_err err = {0};
    char reason[RUNG_KAFKA_REASON_MAX + 2];
    memset(reason, 'x', sizeof reason);
    reason[sizeof reason - 1] = '\0';
    kit_init(&t);
    put(&t, RUNG_SLICE("key"), "junk");
    CHECK_STATUS(skip(&t, 1, 1, "beyond the end", &err), RUNG_ERANGE);
    CHECK_STATUS(skip(&t, 0, 2, "one too many", &err), RUNG_ERANGE);
    CHECK_STATUS(skip(&t, 0, UINT64_MAX, "as many as there are numbers", &err), RUNG_ERANGE);
    CHECK_STATUS(skip(&t, UINT64_MAX, 1, "far away", &err), RUNG_ERANGE);
    CHECK_EQ_STR(err.field, "offset");
    CHECK_STATUS(skip(&t, 0, 1, "", &err), RUNG_EINVAL);
    CHECK_STATUS(skip(&t, 0, 1, "two\nlines", &err), RUNG_EINVAL);
    CHECK_STATUS(skip(&t, 0, 1, reason, &err), RUNG_EINVAL);
    CHECK_EQ_STR(err.field, "reason");
    kit_deinit(&t);
}

TEST(the_bytes_of_a_decision) {
    const uint8_t id[RUNG_LOG_ID_SIZE] = "0123456789abcde", other[RUNG_LOG_ID_SIZE] = "another";
    uint8_t bytes[RUNG_KAFKA_DECISION_MAX];
    rung_kafka_decision d = {.offset = 513,
                             .count = 2,
                             .decided_ms = INT64_C(1794744000000),
                             .reason = RUNG_SLICE("why")},
                        got;
    size_t len = rung_kafka_decision_encode(&d, id, bytes);
    CHECK_EQ_U64(len, 51);
    CHECK_EQ_MEM(bytes,
                 "RGS1\0\0\0\0"
                 "0123456789abcde\0"
                 "\1\2\0\0\0\0\0\0"
                 "\2\0\0\0\0\0\0\0",
                 40);
    CHECK(rung_kafka_decision_decode(rung_slice_of(bytes, len), id, &got));
    CHECK_EQ_U64(got.offset, 513);
    CHECK_EQ_U64(got.count, 2);
    CHECK_EQ_I64(got.decided_ms, d.decided_ms);
    CHECK(rung_slice_eq(got.reason, d.reason));
    CHECK(!rung_kafka_decision_decode(rung_slice_of(bytes, len), other, &got));
    for (size_t cut = 0; cut <= 48; cut++)
        CHECK(!rung_kafka_decision_decode(rung_slice_of(bytes, cut), id, &got));
    for (size_t at = 0; at < 8; at++) {
        bytes[at] ^= 1;
        CHECK(!rung_kafka_decision_decode(rung_slice_of(bytes, len), id, &got));
        bytes[at] ^= 1;
    }
}

RUNG_TEST_MAIN
