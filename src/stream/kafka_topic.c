/* SPDX-License-Identifier: Apache-2.0 */
/* The topic of a log: created with settings that lose nothing, or checked for them. */
#include "stream/kafka_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 256, NEW_TOPIC_CONFIGS = 6, ASK_MS = 500 };
#define RETENTION_MIN_BYTES INT64_C(1073741824)
#define MESSAGE_MIN_BYTES   INT64_C(1000000) /* an event has 512 KiB at most */

typedef struct topic_facts {
    bool exists, has_leader;
    int partitions, replicas;
} topic_facts;

static bool is_forbidden(rd_kafka_resp_err_t code) {
    return code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
           code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
}

/* With one, the only replica that has a record may be the one that dies. */
static uint32_t least_isr(uint32_t replicas) {
    return replicas > 1 ? 2 : 1;
}

/* Of all topics: to ask for one by name would create it on brokers that do so by themselves. */
static rung_status look(const rung_kafka_config *c, rd_kafka_t *rk, int wait_ms, topic_facts *out,
                        rung_err *err) {
    const struct rd_kafka_metadata *all;
    rd_kafka_resp_err_t code = rd_kafka_metadata(rk, 1, NULL, &all, wait_ms);
    if (code)
        return RUNG_FAIL_WHY(err, RUNG_EIO, RUNG_REASON_LOG_UNAVAILABLE,
                             "no Kafka broker of %.100s answers: %s", c->brokers,
                             rd_kafka_err2str(code));
    *out = (topic_facts){0};
    for (int i = 0; i < all->topic_cnt; i++) {
        const rd_kafka_metadata_topic_t *t = &all->topics[i];
        if (strcmp(t->topic, c->topic) != 0)
            continue;
        out->exists = t->err != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
        out->partitions = t->partition_cnt;
        if (t->partition_cnt > 0) {
            out->replicas = t->partitions[0].replica_cnt;
            out->has_leader = t->partitions[0].leader >= 0;
        }
    }
    rd_kafka_metadata_destroy(all);
    return RUNG_OK;
}

/* ---- creating ---- */

/* `partitions` 0: a log, with one partition that is kept for ever. Another topic is kept as the brokers see fit. */
static rd_kafka_NewTopic_t *describe_new(const rung_kafka_config *c, uint32_t partitions,
                                         rung_err *err) {
    char text[TEXT_SIZE], min_isr[16];
    snprintf(min_isr, sizeof min_isr, "%u", c->min_isr);
    const rung_kafka_option configs[NEW_TOPIC_CONFIGS] = {
        {"cleanup.policy", "delete"},     {"unclean.leader.election.enable", "false"},
        {"min.insync.replicas", min_isr}, {"max.message.bytes", "2097152"},
        {"retention.ms", "-1"},           {"retention.bytes", "-1"},
    };
    size_t count = partitions ? NEW_TOPIC_CONFIGS - 2 : NEW_TOPIC_CONFIGS;
    rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(c->topic, partitions ? (int)partitions : 1,
                                                       (int)c->replication, text, sizeof text);
    if (!topic) {
        rung_ignore(RUNG_FAIL(err, RUNG_EINVAL, "topic %s: %.100s", c->topic, text),
                    "NULL says it failed");
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        rd_kafka_NewTopic_set_config(topic, configs[i].name, configs[i].value);
    return topic;
}

static rung_status read_created(const rung_kafka_config *c, rd_kafka_event_t *event,
                                rung_err *err) {
    size_t count = 0;
    rd_kafka_resp_err_t code = event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
    const char *text = rd_kafka_err2str(code);
    if (!code) {
        const rd_kafka_topic_result_t **results =
            rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
        code = count ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR__FAIL;
        const char *more = count ? rd_kafka_topic_result_error_string(results[0]) : NULL;
        text = more ? more : rd_kafka_err2str(code);
    }
    if (code == RD_KAFKA_RESP_ERR_NOT_CONTROLLER || code == RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT ||
        code == RD_KAFKA_RESP_ERR__TIMED_OUT || code == RD_KAFKA_RESP_ERR__TRANSPORT)
        return RUNG_FAIL_WHY(err, RUNG_EBUSY, RUNG_REASON_LOG_UNAVAILABLE,
                             "topic %s cannot be created: %.140s", c->topic, text);
    if (is_forbidden(code))
        return RUNG_FAIL(err, RUNG_EREFUSED,
                         "topic %s does not exist, or is hidden from this user, who may not create "
                         "it: %.100s",
                         c->topic, text);
    if (code && code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) /* another node was faster */
        return RUNG_FAIL(err, RUNG_EREFUSED, "topic %s cannot be created: %.140s", c->topic, text);
    return RUNG_OK;
}

/* Better not to create a topic than to refuse it afterwards. */
static rung_status check_new(const rung_kafka_config *c, rung_err *err) {
    if (c->min_isr > c->replication)
        return RUNG_FAIL(err, RUNG_EREFUSED,
                         "topic %s would accept no write: min.insync.replicas %u of %u replicas",
                         c->topic, c->min_isr, c->replication);
    if (c->min_isr < least_isr(c->replication) && !c->accepts_unsafe)
        return RUNG_FAIL(err, RUNG_EREFUSED,
                         "topic %s is not created, because it would be unsafe: min.insync.replicas "
                         "%u of %u replicas (log.kafka.accept_unsafe = on creates it)",
                         c->topic, c->min_isr, c->replication);
    return RUNG_OK;
}

static rung_status create(const rung_kafka_config *c, rd_kafka_t *rk, uint32_t partitions,
                          rung_err *err) {
    rung_status checked = check_new(c, err);
    if (checked < 0)
        return checked;
    rd_kafka_NewTopic_t *topic = describe_new(c, partitions, err);
    if (!topic)
        return RUNG_EINVAL;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_CreateTopics(rk, &topic, 1, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, (int)c->connect_ms);
    rung_status st = read_created(c, event, err);
    if (event)
        rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_NewTopic_destroy(topic);
    return st;
}

/* ---- checking ---- */

/* What a topic's setting must be, so that nothing acknowledged is lost and no record goes before it is in snapshots. */
typedef struct rule {
    const char *name, *expected;
    const char *word; /* it must be this; NULL: */
    int64_t least;    /* at least this, or -1 where `allows_forever` */
    bool allows_forever;
} rule;

static bool is_kept(const rule *r, const char *value) {
    if (r->word)
        return strcmp(value, r->word) == 0;
    int64_t number = strtoll(value, NULL, 10);
    return number >= r->least || (r->allows_forever && number == -1);
}

static rung_status check_entry(const rung_kafka_config *c, const rule *rules, size_t count,
                               const char *name, const char *value, rung_err *err) {
    for (size_t i = 0; i < count; i++) {
        const rule *r = &rules[i];
        if (strcmp(r->name, name) != 0 || is_kept(r, value))
            continue;
        if (!c->accepts_unsafe)
            return RUNG_FAIL(
                err, RUNG_EREFUSED,
                "topic %s is unsafe: %s is %.40s, expected %s (log.kafka.accept_unsafe "
                "= on takes it as it is)",
                c->topic, name, value, r->expected);
        rung__kafka_say(c, "topic %s is unsafe, and accepted as it is: %s is %.40s, expected %s",
                        c->topic, name, value, r->expected);
    }
    return RUNG_OK;
}

static rung_status check_entries(const rung_kafka_config *c, const topic_facts *facts,
                                 const rd_kafka_ConfigResource_t *resource, rung_err *err) {
    const rule rules[] = {
        {.name = "cleanup.policy", .expected = "delete", .word = "delete"},
        {.name = "unclean.leader.election.enable", .expected = "false", .word = "false"},
        {.name = "min.insync.replicas",
         .expected = "2 or more with several replicas",
         .least = least_isr((uint32_t)facts->replicas)},
        {.name = "retention.ms",
         .expected = "-1, or a day or more",
         .least = c->retention_min_ms,
         .allows_forever = true},
        {.name = "retention.bytes",
         .expected = "-1, or 1 GiB or more",
         .least = RETENTION_MIN_BYTES,
         .allows_forever = true},
        {.name = "max.message.bytes", .expected = "1000000 or more", .least = MESSAGE_MIN_BYTES},
    };
    size_t count;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &count);
    rung_status st = RUNG_OK;
    for (size_t i = 0; i < count && st == RUNG_OK; i++) {
        const char *value = rd_kafka_ConfigEntry_value(entries[i]);
        st = check_entry(c, rules, sizeof rules / sizeof rules[0],
                         rd_kafka_ConfigEntry_name(entries[i]), value ? value : "", err);
    }
    return st;
}

static rung_status read_described(const rung_kafka_config *c, const topic_facts *facts,
                                  rd_kafka_event_t *event, rung_err *err) {
    size_t count = 0;
    const rd_kafka_ConfigResource_t **resources = NULL;
    rd_kafka_resp_err_t code = event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (!code) {
        resources = rd_kafka_DescribeConfigs_result_resources(
            rd_kafka_event_DescribeConfigs_result(event), &count);
        code = count ? rd_kafka_ConfigResource_error(resources[0]) : RD_KAFKA_RESP_ERR__FAIL;
    }
    if (!code)
        return check_entries(c, facts, resources[0], err);
    if (is_forbidden(code) && c->accepts_unsafe) {
        rung__kafka_say(c, "the settings of topic %s are hidden from us and not checked", c->topic);
        return RUNG_OK;
    }
    if (is_forbidden(code))
        return RUNG_FAIL(
            err, RUNG_EREFUSED,
            "the settings of topic %s are hidden from this user: allow DescribeConfigs "
            "(log.kafka.accept_unsafe = on does without)",
            c->topic);
    return RUNG_FAIL_WHY(err, RUNG_EBUSY, RUNG_REASON_LOG_UNAVAILABLE,
                         "the settings of topic %s cannot be read: %s", c->topic,
                         rd_kafka_err2str(code));
}

static rung_status check(const rung_kafka_config *c, rd_kafka_t *rk, const topic_facts *facts,
                         rung_err *err) {
    if (facts->partitions != 1)
        return RUNG_FAIL(err, RUNG_EREFUSED,
                         "topic %s has %d partitions, and a log needs exactly one", c->topic,
                         facts->partitions);
    if (c->is_unchecked)
        return RUNG_OK;
    rd_kafka_ConfigResource_t *resource =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, c->topic);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_DescribeConfigs(rk, &resource, 1, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, (int)c->connect_ms);
    rung_status st = read_described(c, facts, event, err);
    if (event)
        rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_ConfigResource_destroy(resource);
    return st;
}

/* ---- both ---- */

/* One attempt. RUNG_EBUSY, RUNG_EIO: another may succeed. */
static rung_status prepare(const rung_kafka_config *c, rd_kafka_t *rk, int wait_ms, rung_err *err) {
    topic_facts facts = {0};
    rung_status st = look(c, rk, wait_ms, &facts, err);
    if (st < 0)
        return st;
    if (!facts.exists && c->must_exist)
        return RUNG_FAIL(err, RUNG_EABSENT, "there is no topic %s", c->topic);
    if (!facts.exists)
        st = create(c, rk, 0, err);
    else if (facts.has_leader)
        return check(c, rk, &facts, err);
    return st < 0 ? st
                  : RUNG_FAIL_WHY(err, RUNG_EBUSY, RUNG_REASON_LOG_UNAVAILABLE,
                                  "topic %s has no leader yet", c->topic);
}

/* Brokers of Kafka 4 compare a nonce that librdkafka before 2.6.1 sends wrongly: they refuse the right password. */
static void explain_scram(const rung_kafka_config *c) {
    enum { FIRST_GOOD = 0x02060100 };
    for (size_t i = 0; i < c->option_count; i++)
        if (!strcmp(c->options[i].name, "sasl.mechanism") &&
            !strncmp(c->options[i].value, "SCRAM", 5) && rd_kafka_version() < FIRST_GOOD)
            rung__kafka_say(c,
                            "librdkafka %s cannot log in to Kafka 4 with SCRAM: it takes 2.6.1, or "
                            "log.kafka.sasl = plain over TLS",
                            rd_kafka_version_str());
}

/* Every broker turned us away for a reason that does not pass (a wrong password, a certificate that is not trusted):
 * say it now. When no broker answered in all the time, say what the last one said. */
static rung_status give_up(const rung_kafka_config *c, const rung__kafka_trouble *trouble,
                           rung_status st, rung_err *err) {
    if (trouble->is_refusal)
        explain_scram(c);
    if (st == RUNG_EIO && trouble->text[0])
        return RUNG_FAIL_WHY(
            err, trouble->is_refusal ? RUNG_EREFUSED : RUNG_EIO, RUNG_REASON_LOG_UNAVAILABLE,
            "no Kafka broker of %.60s accepts us: %.159s", c->brokers, trouble->text);
    if (err)
        err->code = RUNG_EIO;
    return RUNG_EIO;
}

rung_status rung__kafka_topic_prepare(const rung_kafka_config *c, rd_kafka_t *rk,
                                      const rung__kafka_trouble *trouble, rung_err *err) {
    int64_t end_ms = rung_clock_monotonic_ms(&c->clock) + c->connect_ms;
    for (;;) {
        int64_t left_ms = end_ms - rung_clock_monotonic_ms(&c->clock);
        int wait_ms = left_ms < 1 ? 1 : left_ms < ASK_MS ? (int)left_ms : ASK_MS;
        rung_status st = prepare(c, rk, wait_ms, err);
        if (st != RUNG_EBUSY && st != RUNG_EIO)
            return st;
        rd_kafka_poll(rk, 0); /* hears of trouble */
        if (left_ms <= 0 || (st == RUNG_EIO && trouble->is_refusal && trouble->is_everywhere))
            return give_up(c, trouble, st, err);
        rung__kafka_pause();
    }
}

/* ---- deleting records ---- */

static rd_kafka_resp_err_t read_deleted(rd_kafka_event_t *event) {
    if (!event)
        return RD_KAFKA_RESP_ERR__TIMED_OUT;
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    if (code)
        return code;
    const rd_kafka_topic_partition_list_t *offsets =
        rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event));
    return offsets->cnt ? offsets->elems[0].err : RD_KAFKA_RESP_ERR__FAIL;
}

rung_status rung_kafka_delete_before(const rung_kafka_config *config, uint64_t seq, rung_err *err) {
    rung_kafka_config c = *config;
    rung__kafka_reader reader;
    rung__kafka_defaults(&c);
    rung_status st = rung__kafka_reader_open(&reader, &c, NULL, false, err);
    if (st < 0)
        return st;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, c.topic, RUNG__PARTITION)->offset = (int64_t)seq - 1;
    rd_kafka_DeleteRecords_t *records = rd_kafka_DeleteRecords_new(list);
    rd_kafka_DeleteRecords(reader.rk, &records, 1, NULL, reader.queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(reader.queue, (int)c.connect_ms);
    rd_kafka_resp_err_t code = read_deleted(event);
    if (event)
        rd_kafka_event_destroy(event);
    rd_kafka_DeleteRecords_destroy(records);
    rd_kafka_topic_partition_list_destroy(list);
    rung__kafka_reader_close(&reader);
    return code ? RUNG_FAIL(err, RUNG_EIO, "the beginning of topic %s cannot be deleted: %s",
                            c.topic, rd_kafka_err2str(code))
                : RUNG_OK;
}

/* ---- a topic that is no log ---- */

rung_status rung__kafka_topic_find(const rung_kafka_config *c, rd_kafka_t *rk, uint32_t partitions,
                                   uint32_t *partitions_out, rung_err *err) {
    topic_facts facts = {0};
    rung_status st = look(c, rk, (int)c->connect_ms, &facts, err);
    if (st == RUNG_OK && !facts.exists) {
        st = create(c, rk, partitions, err);
        if (st == RUNG_OK)
            st = look(c, rk, (int)c->connect_ms, &facts, err);
    }
    if (st < 0)
        return st;
    if (!facts.has_leader)
        return RUNG_FAIL_WHY(err, RUNG_EBUSY, RUNG_REASON_LOG_UNAVAILABLE,
                             "topic %s has no leader yet", c->topic);
    *partitions_out = (uint32_t)facts.partitions;
    return RUNG_OK;
}
