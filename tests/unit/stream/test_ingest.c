/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a topic on librdkafka's mock brokers, ingested into a hub in memory: what is applied, committed, repeated,
 * put off and buried. Real brokers: tests/e2e/test_ingest.py. */
/* ctest: timeout=300 labels=thread,broker */
#include "stream/ingest.h"
#include "support/c11_threads.h"
#include "support/check.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PARTITIONS = 2, MEMBERS = 2, WAIT_S = 60, SEEN_MAX = 4096, LINE_MAX_LEN = 200 };
static const char topic[] = "plays", dead[] = "plays.dead", group[] = "rung-plays";

typedef struct kit {
    rd_kafka_t *rk; /* of the mock, and the producer of the test */
    rd_kafka_mock_cluster_t *mock;
    rung_hub *hub;
    rung_service service;
    rung_mapping mapping;
    rung_ingest_config config;
    rung_ingest *members[MEMBERS];
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool is_woken;
    char said[LINE_MAX_LEN]; /* the last line */
    /* What was applied, in order. */
    uint32_t seen;
    uint64_t offsets[SEEN_MAX];
    char sources[SEEN_MAX];
} kit;

static void wake(void *ctx) {
    kit *k = ctx;
    pthread_mutex_lock(&k->lock);
    k->is_woken = true;
    pthread_cond_signal(&k->news);
    pthread_mutex_unlock(&k->lock);
}

static void say(void *ctx, const char *line) {
    kit *k = ctx;
    pthread_mutex_lock(&k->lock);
    snprintf(k->said, sizeof k->said, "%s", line);
    pthread_mutex_unlock(&k->lock);
}

static bool has_said(kit *k, const char *part) {
    pthread_mutex_lock(&k->lock);
    bool is_there = strstr(k->said, part) != NULL;
    pthread_mutex_unlock(&k->lock);
    return is_there;
}

static void observe(void *ctx, uint32_t count, const rung_event *const *events) {
    kit *k = ctx;
    for (uint32_t i = 0; i < count; i++) {
        const rung_score_event *e = &events[i]->score;
        if (events[i]->kind != RUNG_EVENT_SCORE || !e->source.len)
            continue;
        CHECK(k->seen < SEEN_MAX);
        k->sources[k->seen] = e->source.ptr[e->source.len - 1]; /* the partition */
        k->offsets[k->seen++] = e->offset;
    }
}

static const char *code_of(rung_status st, const rung_err *err) {
    (void)err;
    return rung_status_name(st);
}

/* ---- the kit ---- */

static void define(kit *k, const char *board, rung_update update) {
    rung_board_def def = rung_board_def_default();
    def.update = update;
    def.limits = RUNG_LIMIT_MAX;
    def.max.i = 1000000;
    CHECK_OK(rung_hub_define(k->hub, (rung_hub_sender){0}, rung_slice_str(board), &def, NULL, NULL,
                             NULL));
    rung_hub_flush(k->hub);
}

static void open_hub(kit *k, uint32_t waiting_max) {
    rung_hub_config config = {.alloc = rung_alloc_heap(),
                              .clock = rung_clock_real(),
                              .waiting_max = waiting_max,
                              .wake = wake,
                              .ctx = k};
    CHECK_OK(rung_hub_open(&config, &k->hub, NULL));
    rung_hub_observe(k->hub, observe, k);
    k->service = (rung_service){.hub = k->hub, .alloc = rung_alloc_heap()};
    define(k, "sum", RUNG_UPDATE_SUM);
    define(k, "last", RUNG_UPDATE_LAST);
}

static void start_mock(kit *k) {
    char text[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", text, sizeof text), 0);
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "log_level", "0", text, sizeof text), 0);
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "linger.ms", "0", text, sizeof text), 0);
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "message.max.bytes", "3000000", text, sizeof text), 0);
    k->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    CHECK(k->rk);
    k->mock = rd_kafka_handle_mock_cluster(k->rk);
    CHECK(k->mock);
    CHECK_EQ_I64(rd_kafka_mock_topic_create(k->mock, topic, PARTITIONS, 1), 0);
    CHECK_EQ_I64(rd_kafka_mock_topic_create(k->mock, dead, 1, 1), 0);
}

static void map(kit *k, rung_map_target target, const char *text) {
    CHECK_OK(rung_mapping_set(&k->mapping, target, rung_slice_str(text), NULL));
}

static void begin(kit *k, uint32_t waiting_max) {
    static const rung_kafka_option options[] = {{"fetch.wait.max.ms", "10"}};
    *k = (kit){.lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};
    start_mock(k);
    open_hub(k, waiting_max);
    map(k, RUNG_MAP_BOARD, "$.board");
    map(k, RUNG_MAP_PLAYER, "$.player");
    map(k, RUNG_MAP_SCORE, "$.score");
    CHECK_OK(rung_mapping_check(&k->mapping, NULL));
    k->config = (rung_ingest_config){.alloc = rung_alloc_heap(),
                                     .name = "plays",
                                     .brokers = rd_kafka_mock_cluster_bootstraps(k->mock),
                                     .topic = topic,
                                     .group = group,
                                     .dead_letters = dead,
                                     .options = options,
                                     .option_count = 1,
                                     .mapping = &k->mapping,
                                     .session_ms = 6000,
                                     .code = code_of,
                                     .wake = wake,
                                     .say = say,
                                     .ctx = k};
}

static void start(kit *k, int member) {
    rung_err err = {0};
    CHECK_MSG(rung_ingest_start(&k->config, &k->members[member], &err) == RUNG_OK, "%s",
              err.message);
}

static void stop(kit *k, int member) {
    rung_ingest_stop(k->members[member]);
    rung_hub_flush(k->hub);
    rung_ingest_destroy(k->members[member]);
    k->members[member] = NULL;
}

static void end(kit *k) {
    for (int i = 0; i < MEMBERS; i++)
        if (k->members[i])
            stop(k, i);
    CHECK_OK(rung_hub_close(k->hub, NULL));
    rd_kafka_destroy(k->rk);
}

static void produce(kit *k, int partition, const char *value) {
    CHECK_EQ_I64(rd_kafka_producev(
                     k->rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
                     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY("key", 3),
                     RD_KAFKA_V_VALUE((void *)(uintptr_t)value, strlen(value)), RD_KAFKA_V_END),
                 0);
}

static void produce_score(kit *k, int partition, const char *board, int64_t score) {
    char text[128];
    snprintf(text, sizeof text, "{\"board\":\"%s\",\"player\":\"ada\",\"score\":%lld}", board,
             (long long)score);
    produce(k, partition, text);
}

static void flush(kit *k) {
    CHECK_EQ_I64(rd_kafka_flush(k->rk, WAIT_S * 1000), 0);
}

/* ---- waiting ---- */

static void turn(kit *k) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 5000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&k->lock);
    if (!k->is_woken)
        pthread_cond_timedwait(&k->news, &k->lock, &until);
    k->is_woken = false;
    pthread_mutex_unlock(&k->lock);
    for (int i = 0; i < MEMBERS; i++)
        if (k->members[i])
            rung_ingest_turn(k->members[i], &k->service);
    rung_hub_flush(k->hub);
}

static rung_ingest_stats stat_of(const kit *k, int member, int64_t *lag_out) {
    rung_ingest_stats s = {0};
    rung_ingest_lag lags[PARTITIONS];
    int64_t lag = 0;
    uint32_t count = rung_ingest_stat(k->members[member], &s, lags, PARTITIONS);
    for (uint32_t i = 0; i < count; i++)
        lag += lags[i].records < 0 ? 1000000 : lags[i].records;
    if (lag_out)
        *lag_out = s.partitions ? lag : -1;
    return s;
}

#define UNTIL(k, condition)                                                                        \
    do {                                                                                           \
        time_t limit = time(NULL) + WAIT_S;                                                        \
        while (!(condition)) {                                                                     \
            CHECK_MSG(time(NULL) < limit, "%s never happened; said: %s", #condition, (k)->said);   \
            turn(k);                                                                               \
        }                                                                                          \
    } while (0)

static bool is_caught_up(const kit *k, int member) {
    int64_t lag;
    rung_ingest_stats s = stat_of(k, member, &lag);
    return s.partitions == PARTITIONS && lag == 0 && s.in_flight == 0;
}

static int64_t score_of(const kit *k, const char *board) {
    rung_view view;
    rung_row row;
    CHECK_OK(rung_state_view(rung_hub_state(k->hub), &(rung_query){.board = rung_slice_str(board)},
                             &view, NULL));
    return rung_view_top(&view, 0, 1, &row) ? row.values[0].i : 0;
}

/* What the group has committed, set by an operator. */
static void set_offsets(kit *k, int64_t offset) {
    char text[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "group.id", group, text, sizeof text), 0);
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "log_level", "0", text, sizeof text), 0);
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "bootstrap.servers", k->config.brokers, text, sizeof text),
                 0);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
    CHECK(rk);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(PARTITIONS);
    for (int i = 0; i < PARTITIONS; i++)
        rd_kafka_topic_partition_list_add(list, topic, i)->offset = offset;
    CHECK_EQ_I64(rd_kafka_commit(rk, list, 0), 0);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_destroy(rk);
}

/* ---- tests ---- */

TEST(records_are_applied_and_committed) {
    kit k;
    begin(&k, 0);
    for (int i = 1; i <= 100; i++)
        produce_score(&k, i % PARTITIONS, "sum", i);
    flush(&k);
    start(&k, 0);
    UNTIL(&k, is_caught_up(&k, 0));
    CHECK_EQ_I64(score_of(&k, "sum"), 5050);
    produce_score(&k, 0, "sum", 1); /* while it runs */
    UNTIL(&k, score_of(&k, "sum") == 5051);
    UNTIL(&k, stat_of(&k, 0, NULL).applied == 101);
    rung_ingest_stats s = stat_of(&k, 0, NULL);
    CHECK_EQ_U64(s.records, 101);
    CHECK_EQ_U64(s.applied, 101);
    CHECK_EQ_U64(s.duplicates + s.dead_letters + s.retries, 0);
    stop(&k, 0);
    start(&k, 0); /* nothing comes twice: the offsets were committed */
    UNTIL(&k, is_caught_up(&k, 0));
    CHECK_EQ_U64(stat_of(&k, 0, NULL).records, 0);
    end(&k);
}

/* Another server has applied the record, and did not live to commit its offset. */
static void apply_elsewhere(kit *k, int partition, uint64_t offset, int64_t score) {
    char source[64];
    int len = snprintf(source, sizeof source, "%s/%s/%d", group, topic, partition);
    rung_event e = {.kind = RUNG_EVENT_SCORE,
                    .score = {.board = RUNG_SLICE("sum"),
                              .player = RUNG_SLICE("ada"),
                              .value_count = 1,
                              .values = {{.i = score}},
                              .source = rung_slice_of(source, (size_t)len),
                              .offset = offset}};
    CHECK_OK(rung_hub_put(k->hub, &e, NULL, NULL, NULL));
    rung_hub_flush(k->hub);
}

TEST(a_record_that_was_applied_before_changes_nothing) {
    kit k;
    begin(&k, 0);
    for (int i = 0; i < 50; i++)
        produce_score(&k, i % PARTITIONS, "sum", 1);
    flush(&k);
    for (uint64_t i = 0; i < 25; i += 1 + i % 2)
        apply_elsewhere(&k, 1, i, 1);
    int64_t before = score_of(&k, "sum");
    start(&k, 0);
    UNTIL(&k, is_caught_up(&k, 0));
    CHECK_EQ_U64(stat_of(&k, 0, NULL).duplicates, before);
    CHECK_EQ_I64(score_of(&k, "sum"), 50);
    end(&k);
}

typedef struct letter {
    char code[32], field[64], reason[128], offset[16], partition[16], from[32], size[16],
        value[256];
    size_t len;
} letter;

static void copy_header(const rd_kafka_headers_t *headers, const char *name, char *out,
                        size_t size) {
    const void *value;
    size_t len;
    *out = '\0';
    if (rd_kafka_header_get_last(headers, name, &value, &len) == RD_KAFKA_RESP_ERR_NO_ERROR)
        snprintf(out, size, "%.*s", (int)len, (const char *)value);
}

/* The dead letter at an offset. */
static letter read_letter(const kit *k, int64_t offset) {
    char text[256];
    letter got = {0};
    rd_kafka_headers_t *headers;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "log_level", "0", text, sizeof text), 0);
    CHECK_EQ_I64(rd_kafka_conf_set(conf, "bootstrap.servers", k->config.brokers, text, sizeof text),
                 0);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
    rd_kafka_topic_t *handle = rd_kafka_topic_new(rk, dead, NULL);
    CHECK_EQ_I64(rd_kafka_consume_start(handle, 0, offset), 0);
    rd_kafka_message_t *m = rd_kafka_consume(handle, 0, WAIT_S * 1000);
    CHECK(m && !m->err);
    CHECK_EQ_I64(rd_kafka_message_headers(m, &headers), 0);
    copy_header(headers, "rung.code", got.code, sizeof got.code);
    copy_header(headers, "rung.field", got.field, sizeof got.field);
    copy_header(headers, "rung.reason", got.reason, sizeof got.reason);
    copy_header(headers, "rung.offset", got.offset, sizeof got.offset);
    copy_header(headers, "rung.partition", got.partition, sizeof got.partition);
    copy_header(headers, "rung.topic", got.from, sizeof got.from);
    copy_header(headers, "rung.size", got.size, sizeof got.size);
    got.len = m->len;
    snprintf(got.value, sizeof got.value, "%.*s", (int)m->len, (const char *)m->payload);
    CHECK_EQ_MEM(m->key, "key", 3);
    rd_kafka_message_destroy(m);
    rd_kafka_consume_stop(handle, 0);
    rd_kafka_topic_destroy(handle);
    rd_kafka_destroy(rk);
    return got;
}

TEST(a_poison_record_is_buried_and_blocks_nothing) {
    kit k;
    static const struct {
        const char *record, *code, *field, *reason;
    } bad[] = {
        {"not json", "EINVAL", "", ""},
        {"{\"player\":\"ada\",\"score\":1}", "EINVAL", "board", "board: the record has no $.board"},
        {"{\"board\":\"none\",\"player\":\"ada\",\"score\":1}", "EABSENT", "board",
         "board: no such board"},
        {"{\"board\":\"sum\",\"player\":\"ada\",\"score\":1000001}", "EREFUSED", "max",
         "max: the board's limit refuses this score"},
        {"{\"board\":\"sum\",\"player\":\"ada\",\"score\":1.5}", "EINVAL", "score", "score: "},
    };
    begin(&k, 0);
    for (size_t i = 0; i < RUNG_COUNT_OF(bad); i++) {
        produce(&k, 0, bad[i].record);
        produce_score(&k, 0, "sum", 10);
    }
    flush(&k);
    start(&k, 0);
    UNTIL(&k, is_caught_up(&k, 0));
    CHECK_EQ_I64(score_of(&k, "sum"), 10 * (int64_t)RUNG_COUNT_OF(bad));
    CHECK_EQ_U64(stat_of(&k, 0, NULL).dead_letters, RUNG_COUNT_OF(bad));
    bool is_found[RUNG_COUNT_OF(bad)] = {0};
    for (size_t i = 0; i < RUNG_COUNT_OF(bad); i++) { /* what cannot be mapped is buried first */
        letter got = read_letter(&k, (int64_t)i);
        size_t n = 0;
        while (n < RUNG_COUNT_OF(bad) && strcmp(got.value, bad[n].record) != 0)
            n++;
        CHECK(n < RUNG_COUNT_OF(bad) && !is_found[n]);
        is_found[n] = true;
        char offset[24];
        snprintf(offset, sizeof offset, "%zu", 2 * n);
        CHECK_EQ_STR(got.offset, offset);
        CHECK_EQ_STR(got.partition, "0");
        CHECK_EQ_STR(got.from, topic);
        CHECK_EQ_STR(got.code, bad[n].code);
        CHECK_EQ_STR(got.field, bad[n].field);
        CHECK_MSG(strncmp(got.reason, bad[n].reason, strlen(bad[n].reason)) == 0 && got.reason[0],
                  "%s", got.reason);
    }
    end(&k);
}

TEST(an_overloaded_hub_is_waited_for_and_the_order_stays) {
    kit k;
    begin(&k, 16); /* a patient sender may put four at a time */
    k.config.in_flight_max = 64;
    for (int i = 1; i <= 60; i++)
        for (int p = 0; p < PARTITIONS; p++)
            produce_score(&k, p, p ? "last" : "sum", i);
    flush(&k);
    start(&k, 0);
    UNTIL(&k, is_caught_up(&k, 0));
    CHECK(stat_of(&k, 0, NULL).retries > 0);
    CHECK_EQ_I64(score_of(&k, "sum"), 1830);
    CHECK_EQ_I64(score_of(&k, "last"), 60);
    CHECK_EQ_U64(k.seen, 120);
    uint64_t next[2] = {0, 0};
    for (uint32_t i = 0; i < k.seen; i++)
        CHECK_EQ_U64(k.offsets[i], next[k.sources[i] - '0']++);
    UNTIL(&k, stat_of(&k, 0, NULL).stalled_ms == 0);
    end(&k);
}

TEST(members_share_the_partitions) {
    kit k;
    int64_t sent = 0;
    begin(&k, 0);
    k.config.in_flight_max = 8;
    start(&k, 0);
    UNTIL(&k, stat_of(&k, 0, NULL).partitions == 2);
    for (int round = 0; round < 4; round++) { /* somebody joins or leaves in every round */
        for (int i = 0; i < 100; i++, sent++)
            produce_score(&k, i % PARTITIONS, "sum", 1);
        flush(&k);
        UNTIL(&k, score_of(&k, "sum") > sent - 80);
        if (k.members[1])
            stop(&k, round == 1 ? 0 : 1);
        else
            start(&k, 1);
        int other = k.members[0] ? 0 : 1;
        if (k.members[0] && k.members[1])
            UNTIL(&k, stat_of(&k, 0, NULL).partitions == 1 && stat_of(&k, 1, NULL).partitions == 1);
        else
            UNTIL(&k, stat_of(&k, other, NULL).partitions == 2);
        if (!k.members[0])
            start(&k, 0);
    }
    UNTIL(&k, score_of(&k, "sum") == sent);
    end(&k);
    CHECK_EQ_I64(sent, 400);
}

TEST(a_new_group_begins_where_it_is_told) {
    kit k;
    begin(&k, 0);
    produce_score(&k, 0, "sum", 1);
    flush(&k);
    k.config.starts_at_end = true;
    start(&k, 0);
    UNTIL(&k, is_caught_up(&k, 0));
    produce_score(&k, 0, "sum", 10);
    UNTIL(&k, score_of(&k, "sum") != 0);
    CHECK_EQ_I64(score_of(&k, "sum"), 10);
    stop(&k, 0);
    produce_score(&k, 0, "sum", 100);
    produce_score(&k, 1, "sum", 1000); /* nothing was read here, but the beginning was committed */
    flush(&k);
    start(&k, 0);
    UNTIL(&k, score_of(&k, "sum") == 1110);
    end(&k);
}

TEST(a_topic_that_was_created_again_is_not_read) {
    kit k;
    begin(&k, 0);
    produce_score(&k, 0, "sum", 1);
    flush(&k);
    set_offsets(&k, 1000);
    start(&k, 0);
    UNTIL(&k, stat_of(&k, 0, NULL).stuck == PARTITIONS);
    CHECK(has_said(&k, "created again"));
    CHECK_EQ_U64(stat_of(&k, 0, NULL).records, 0);
    end(&k);
}

TEST(the_hub_comes_later) {
    kit k;
    begin(&k, 0);
    rung_hub *hub = k.service.hub;
    k.service.hub = NULL;
    produce_score(&k, 0, "sum", 1);
    flush(&k);
    start(&k, 0);
    UNTIL(&k, stat_of(&k, 0, NULL).in_flight == 1);
    k.service.hub = hub;
    UNTIL(&k, is_caught_up(&k, 0));
    CHECK_EQ_I64(score_of(&k, "sum"), 1);
    end(&k);
}

TEST(without_room_partitions_are_paused) {
    kit k;
    begin(&k, 0);
    rung_hub *hub = k.service.hub;
    k.service.hub = NULL; /* nobody takes the records */
    k.config.in_flight_max = 8;
    for (int i = 1; i <= 50; i++)
        for (int p = 0; p < PARTITIONS; p++)
            produce_score(&k, p, p ? "last" : "sum", i);
    flush(&k);
    start(&k, 0);
    UNTIL(&k, stat_of(&k, 0, NULL).is_paused);
    CHECK_EQ_U64(stat_of(&k, 0, NULL).in_flight, 8);
    k.service.hub = hub;
    UNTIL(&k, is_caught_up(&k, 0));
    CHECK(!stat_of(&k, 0, NULL).is_paused);
    CHECK_EQ_U64(stat_of(&k, 0, NULL).records, 100);
    CHECK_EQ_I64(score_of(&k, "sum"), 1275);
    CHECK_EQ_I64(score_of(&k, "last"), 50);
    end(&k);
}

TEST(a_record_too_large_for_a_dead_letter_is_cut) {
    static char value[2200000];
    kit k;
    begin(&k, 0);
    memset(value, 'x', sizeof value - 1);
    produce(&k, 0, value);
    produce_score(&k, 0, "sum", 1);
    flush(&k);
    start(&k, 0);
    UNTIL(&k, is_caught_up(&k, 0));
    CHECK_EQ_I64(score_of(&k, "sum"), 1);
    letter got = read_letter(&k, 0);
    CHECK_EQ_STR(got.code, "EINVAL");
    CHECK_EQ_STR(got.size, "2199999");
    CHECK_EQ_U64(got.len, 64 << 10);
    end(&k);
}

TEST(names_must_fit) {
    char name[200];
    rung_err err = {0};
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    CHECK_STATUS(rung_ingest_check_names("g", name, &err), RUNG_EINVAL);
    name[115] = '\0';
    CHECK_OK(rung_ingest_check_names("g", name, &err));
    CHECK_STATUS(rung_ingest_check_names("gr", name, &err), RUNG_EINVAL);
}

RUNG_TEST_MAIN
