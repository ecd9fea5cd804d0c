/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=300 labels=thread,broker */
/* The change feed of a hub against librdkafka's mock brokers: complete and in order, across restarts, a ring that is
 * too small, and a producer that gives up. tests/e2e/test_feed.py has real brokers and several servers. */
#include "service/hub.h"
#include "stream/feed.h"
#include "stream/feed_record.h"

#include "support/c11_threads.h"
#include "support/check.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PRODUCE = 0, PARTITIONS = 3, MANY_PARTITIONS = 40, PLAYERS = 7 };

typedef struct kit {
    rd_kafka_t *rk;
    rd_kafka_mock_cluster_t *mock;
    char folder[64];
    rung_feed_config config;
    rung_feed *feed;
    rung_hub *hub;
    uint64_t scores;
    char said[4096];
} kit;

static void say(void *ctx, const char *line) {
    kit *k = ctx;
    size_t len = strlen(k->said);
    snprintf(k->said + len, sizeof k->said - len, "%s\n", line);
}

static void kit_open(kit *k) {
    rung_err err = {0};
    CHECK_OK(rung_feed_create(&k->config, &k->feed, &err));
    rung_hub_config hub = {.alloc = rung_alloc_heap(),
                           .clock = rung_clock_real(),
                           .is_inline = true,
                           .path = k->folder,
                           .follower = rung_feed_port(k->feed)};
    CHECK_OK(rung_hub_open(&hub, &k->hub, &err));
}

static void kit_close(kit *k) {
    CHECK_OK(rung_hub_close(k->hub, NULL));
    rung_feed_destroy(k->feed);
}

static void kit_init(kit *k, size_t memory_bytes) {
    char text[256];
    static const rung_kafka_option options[] = {{"fetch.wait.max.ms", "10"}};
    *k = (kit){0};
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "log_level", "3", text, sizeof text), RD_KAFKA_CONF_OK);
    k->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    CHECK(k->rk);
    k->mock = rd_kafka_mock_cluster_new(k->rk, 1);
    CHECK(k->mock);
    CHECK_EQ_I64(rd_kafka_mock_topic_create(k->mock, "feed", PARTITIONS, 1), 0);
    CHECK_EQ_I64(rd_kafka_mock_topic_create(k->mock, "wide", MANY_PARTITIONS, 1), 0);
    snprintf(k->folder, sizeof k->folder, "/tmp/rung-feed-XXXXXX");
    CHECK(mkdtemp(k->folder));
    k->config = (rung_feed_config){
        .alloc = rung_alloc_heap(),
        .kafka = {.brokers = rd_kafka_mock_cluster_bootstraps(k->mock),
                  .topic = "feed",
                  .options = options,
                  .option_count = 1,
                  .say = say,
                  .ctx = k},
        .folder = k->folder,
        .is_from_first = true,
        .memory_bytes = memory_bytes,
        .progress_ms = 100,
        .retry_ms = 100,
        .look_ms = 100,
    };
    kit_open(k);
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED,
                    .defined = {.board = RUNG_SLICE("race"), .def = rung_board_def_default()}};
    e.defined.def.update = RUNG_UPDATE_SUM;
    CHECK_OK(rung_hub_put(k->hub, &e, NULL, NULL, NULL));
    rung_hub_flush(k->hub);
}

static void kit_deinit(kit *k) {
    char command[128];
    kit_close(k);
    rd_kafka_mock_cluster_destroy(k->mock);
    rd_kafka_destroy(k->rk);
    snprintf(command, sizeof command, "rm -rf '%s'", k->folder);
    CHECK_EQ_I64(system(command), 0);
}

/* One player after the other gets a point. */
static void submit(kit *k, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        char name[8];
        snprintf(name, sizeof name, "p%u", (unsigned)(k->scores++ % PLAYERS));
        rung_event e = {.kind = RUNG_EVENT_SCORE,
                        .score = {.board = RUNG_SLICE("race"),
                                  .player = rung_slice_str(name),
                                  .is_delta = true,
                                  .is_brief = true,
                                  .value_count = 1,
                                  .values = {{.i = 1}}}};
        CHECK_OK(rung_hub_put(k->hub, &e, NULL, NULL, NULL));
        rung_hub_flush(k->hub);
    }
}

static void wait_published(kit *k) {
    uint64_t seq = rung_state_seq(rung_hub_state(k->hub));
    while (rung_feed_stat(k->feed).published_seq < seq || !rung_feed_stat(k->feed).is_known)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* ---- reading the topic ---- */

typedef struct reading {
    uint64_t scores[PLAYERS]; /* points of each */
    uint64_t records, duplicates, gaps;
} reading;

static void read_record(reading *r, const rd_kafka_message_t *m, rung__feed_position *last) {
    char text[1024];
    rung__feed_position p;
    CHECK(m->len < sizeof text);
    memcpy(text, m->payload, m->len);
    text[m->len] = '\0';
    bool is_score = strstr(text, "\"type\":\"score\"") != NULL;
    r->gaps += strstr(text, "\"type\":\"gap\"") != NULL;
    uint64_t value = 0;
    if (is_score) {
        static const char before[] = "\"cause\":\"score\",\"score\":";
        const char *points = strstr(text, before);
        CHECK(points);
        value = strtoull(points + strlen(before), NULL, 10);
    }
    CHECK_OK(rung__feed_record_read(text, m->len, &p, NULL));
    if (!rung__feed_is_after(p, *last)) {
        r->duplicates++;
        return;
    }
    *last = p;
    r->records++;
    if (!is_score)
        return;
    uint32_t player = (uint32_t)strtoul((const char *)m->key + 1, NULL, 10);
    CHECK(player < PLAYERS);
    CHECK_EQ_U64(value, r->scores[player] + 1); /* none missing, none twice, in order */
    r->scores[player] = value;
}

static reading read_topic(const kit *k, const char *name, int32_t partitions) {
    char text[256];
    reading r = {0};
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    const char *brokers = rd_kafka_mock_cluster_bootstraps(k->mock);
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "bootstrap.servers", brokers, text, sizeof text), 0);
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "enable.partition.eof", "true", text, sizeof text), 0);
    /* A mock broker lets a fetch wait for so long, whatever it has. */
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "fetch.wait.max.ms", "10", text, sizeof text), 0);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
    CHECK(rk);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, name, NULL);
    for (int32_t p = 0; p < partitions; p++) {
        rung__feed_position last = {0, 0};
        bool is_end = false;
        CHECK_EQ_I64(rd_kafka_consume_start(topic, p, RD_KAFKA_OFFSET_BEGINNING), 0);
        while (!is_end) {
            rd_kafka_message_t *m = rd_kafka_consume(topic, p, 60000);
            CHECK(m);
            is_end = m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
            if (!m->err)
                read_record(&r, m, &last);
            rd_kafka_message_destroy(m);
        }
        rd_kafka_consume_stop(topic, p);
    }
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(rk);
    return r;
}

static reading check_complete(kit *k) {
    wait_published(k);
    reading r = read_topic(k, "feed", PARTITIONS);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < PLAYERS; i++)
        sum += r.scores[i];
    CHECK_EQ_U64(sum, k->scores);
    CHECK_EQ_U64(r.gaps, 0);
    return r;
}

/* ---- tests ---- */

TEST(a_restart_goes_on_where_the_topic_ends) {
    kit k;
    kit_init(&k, 0);
    submit(&k, 50);
    CHECK_EQ_U64(check_complete(&k).duplicates, 0);
    for (int round = 0; round < 2; round++) {
        kit_close(&k);
        kit_open(&k);
        submit(&k, 50);
        CHECK_EQ_U64(check_complete(&k).duplicates, 0);
        CHECK(rung_feed_stat(k.feed).is_publisher);
        CHECK_EQ_U64(rung_feed_stat(k.feed).behind_events, 0);
    }
    kit_deinit(&k);
}

/* A snapshot that is newer than the feed, and a ring that holds next to nothing: the log is replayed. */
TEST(what_is_not_in_memory_comes_from_the_log) {
    kit k;
    rung_err err = {0};
    kit_init(&k, 256);
    submit(&k, 400);
    CHECK_OK(rung_hub_save(k.hub, &err)); /* the first: it may be ahead of the feed */
    submit(&k, 400);
    check_complete(&k);
    CHECK(rung_feed_stat(k.feed).replays > 0);
    kit_close(&k);
    kit_open(&k);
    submit(&k, 100);
    check_complete(&k);
    kit_deinit(&k);
}

TEST(snapshots_wait_for_the_feed) {
    kit k;
    rung_err err = {0};
    kit_init(&k, 0);
    submit(&k, 10);
    wait_published(&k);
    CHECK_OK(rung_hub_save(k.hub, &err));
    CHECK_EQ_I64(rd_kafka_mock_broker_set_down(k.mock, 1), 0);
    do
        submit(&k, 10);
    while (rung_hub_save(k.hub, &err) == RUNG_OK); /* the feed was past the one before */
    CHECK_STATUS(err.code, RUNG_EBUSY);
    CHECK(rung_feed_stat(k.feed).behind_events > 0);
    CHECK_EQ_I64(rd_kafka_mock_broker_set_up(k.mock, 1), 0);
    while (rung_hub_save(k.hub, &err) == RUNG_EBUSY)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    check_complete(&k);
    kit_deinit(&k);
}

/* A sequence number that the broker cannot have seen: the session ends, and another goes on at the topic's end. */
TEST(a_producer_that_gives_up_is_replaced) {
    kit k;
    kit_init(&k, 0);
    submit(&k, 20);
    wait_published(&k);
    for (int round = 0; round < 2; round++) {
        uint64_t failures = rung_feed_stat(k.feed).failures;
        rd_kafka_mock_push_request_errors(k.mock, PRODUCE, 1,
                                          RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
        submit(&k, 20);
        while (rung_feed_stat(k.feed).failures == failures)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        submit(&k, 20);
        check_complete(&k);
    }
    kit_deinit(&k);
}

/* More partitions than records may be in flight: the beginning of a feed is stated in each of them. */
TEST(a_gap_is_stated_in_every_partition) {
    kit k;
    kit_init(&k, 0);
    submit(&k, 20);
    wait_published(&k); /* a mock broker aborts when a member leaves that is about to join */
    kit_close(&k);
    k.config.kafka.topic = "wide";
    k.config.kafka.proposals_max = 16;
    k.config.is_from_first = false;
    kit_open(&k);
    wait_published(&k);
    CHECK_EQ_U64(read_topic(&k, "wide", MANY_PARTITIONS).gaps, MANY_PARTITIONS);
    CHECK_EQ_U64(rung_feed_stat(k.feed).gaps, 0); /* nothing was lost */
    kit_deinit(&k);
}

TEST(snapshots_do_not_wait_for_ever) {
    kit k;
    rung_err err = {0};
    kit_init(&k, 0);
    submit(&k, 10);
    wait_published(&k);
    kit_close(&k);
    k.config.keep_ms = 200;
    CHECK_EQ_I64(rd_kafka_mock_broker_set_down(k.mock, 1), 0);
    kit_open(&k);
    CHECK_OK(rung_hub_save(k.hub, &err)); /* the first need not wait */
    submit(&k, 10);
    CHECK_STATUS(rung_hub_save(k.hub, &err), RUNG_EBUSY);
    while (rung_hub_save(k.hub, &err) == RUNG_EBUSY)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    CHECK(strstr(k.said, "no longer wait for it"));
    CHECK_EQ_I64(rd_kafka_mock_broker_set_up(k.mock, 1), 0);
    wait_published(&k);
    kit_deinit(&k);
}

RUNG_TEST_MAIN
