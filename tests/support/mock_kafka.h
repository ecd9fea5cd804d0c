/* SPDX-License-Identifier: Apache-2.0 */
/* mock_kafka.h - librdkafka's mock brokers for tests: one broker, and a topic "rung" with one partition.
 *
 *     mock_kafka kafka;  mock_kafka_init(&kafka);
 *     rung_kafka_config config = mock_kafka_config(&kafka);
 *     rd_kafka_mock_push_request_errors(kafka.mock, MOCK_KAFKA_PRODUCE, 1, RD_KAFKA_RESP_ERR_...);
 *
 * A mock broker keeps only the last 5 MiB or 100,000 records of a partition, does not tell its settings, and stores a
 * batch although it refused the one before. Inline: only tests that link stream may use it. */
#ifndef RUNG_TESTS_MOCK_KAFKA_H
#define RUNG_TESTS_MOCK_KAFKA_H

#include "stream/kafka_log.h"
#include "support/check.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

enum { MOCK_KAFKA_PRODUCE = 0, MOCK_KAFKA_FETCH = 1 }; /* of the protocol */

typedef struct mock_kafka {
    rd_kafka_t *rk;
    rd_kafka_mock_cluster_t *mock; /* NULL: not open */
} mock_kafka;

static inline void mock_kafka_init(mock_kafka *k) {
    char text[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "log_level", "3", text, sizeof text), RD_KAFKA_CONF_OK);
    k->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    CHECK(k->rk);
    k->mock = rd_kafka_mock_cluster_new(k->rk, 1);
    CHECK(k->mock);
    CHECK_EQ_I64(rd_kafka_mock_topic_create(k->mock, "rung", 1, 1), 0);
}

static inline void mock_kafka_deinit(mock_kafka *k) {
    if (!k->mock)
        return;
    rd_kafka_mock_cluster_destroy(k->mock);
    rd_kafka_destroy(k->rk);
}

static inline rung_kafka_config mock_kafka_config(const mock_kafka *k) {
    /* A mock broker answers a fetch late, not when there is something new. */
    static const rung_kafka_option options[] = {{"fetch.wait.max.ms", "10"}};
    return (rung_kafka_config){.alloc = rung_alloc_heap(),
                               .brokers = rd_kafka_mock_cluster_bootstraps(k->mock),
                               .topic = "rung",
                               .options = options,
                               .option_count = 1,
                               .is_unchecked = true,
                               .timeout_ms = 5000,
                               .proposals_max = 500};
}

#endif
