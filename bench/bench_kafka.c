/* SPDX-License-Identifier: Apache-2.0 */
/* bench_kafka.c - the parts of ./dev bench kafka that must be fast; bench/kafka_bench.py starts brokers and servers and
 * calls them. Each prints one line of JSON.
 *
 *     --do floor    a bare librdkafka program: produce with acks=all, idempotent, and read back, `--depth` in flight
 *     --do submit   submissions to a server, `--connections` x `--depth` in flight; with --rate an open load
 *     --do rank     questions for a rank, to one server or to several
 *     --do fill     as many players as --players says, a hundred in each command
 *     --do machine  the head of a report
 *
 * The floor does nothing that a log on Kafka can do without: one thread, one partition, no key, no bytes looked at. A
 * record is done when it is acknowledged and read back. */
#include "support/machine.h"
#include "support/options.h"
#include "support/resp_load.h"
#include "support/rng.h"
#include "support/stopwatch.h"
#include "support/times.h"

#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1024, SCORE_MAX = 1000000, FILL_PAIRS = 100, SERVERS_MAX = 8, WARM = 4 };

typedef struct job {
    const char *what, *brokers, *topic, *ports, *command;
    uint64_t bytes, depth, connections, rate, players, milliseconds;
} job;

/* `total`: with those of the warm-up, for whoever divides CPU time by it. Times in microseconds. */
static void print_result(double rate, uint64_t total, bench_times *t) {
    printf("{\"rate\": %.0f, \"total\": %llu, \"p50\": %.1f, \"p99\": %.1f, \"p999\": %.1f, "
           "\"max\": %.1f}\n",
           rate, (unsigned long long)total, bench_times_at(t, 0.5), bench_times_at(t, 0.99),
           bench_times_at(t, 0.999), bench_times_at(t, 1));
    bench_times_deinit(t);
}

/* ---- the floor ---- */

typedef struct floor_run {
    rd_kafka_t *producer, *consumer;
    rd_kafka_topic_t *out, *in;
    rd_kafka_queue_t *queue;
    uint64_t sent, acked, read, done;
    uint64_t *sent_ns; /* of those in flight, by number % depth */
    uint64_t depth;
    bool is_counting;
    bench_times times;
} floor_run;

static void on_report(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
    (void)rk;
    if (m->err)
        bench_die("a record was not stored: %s", rd_kafka_err2str(m->err));
    ((floor_run *)opaque)->acked++;
}

static rd_kafka_t *connect_floor(floor_run *f, const job *j, rd_kafka_type_t type) {
    char text[256];
    const char *const producing[] = {"acks", "all", "enable.idempotence", "true", "linger.ms",
                                     "0",    NULL};
    const char *const consuming[] = {"enable.auto.commit", "false", NULL};
    const char *const *more = type == RD_KAFKA_PRODUCER ? producing : consuming;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", j->brokers, text, sizeof text);
    rd_kafka_conf_set(conf, "socket.nagle.disable", "true", text, sizeof text);
    for (size_t i = 0; more[i]; i += 2)
        if (rd_kafka_conf_set(conf, more[i], more[i + 1], text, sizeof text) != RD_KAFKA_CONF_OK)
            bench_die("%s", text);
    rd_kafka_conf_set_opaque(conf, f);
    if (type == RD_KAFKA_PRODUCER)
        rd_kafka_conf_set_dr_msg_cb(conf, on_report);
    rd_kafka_t *rk = rd_kafka_new(type, conf, text, sizeof text);
    if (!rk)
        bench_die("%s", text);
    return rk;
}

static void produce_floor(floor_run *f, const char *payload, size_t bytes) {
    uint64_t now = bench_now_ns();
    for (; f->sent - f->done < f->depth; f->sent++) {
        f->sent_ns[f->sent % f->depth] = now;
        if (rd_kafka_produce(f->out, 0, RD_KAFKA_MSG_F_COPY, (void *)(uintptr_t)payload, bytes,
                             NULL, 0, NULL) != 0)
            bench_die("%s", rd_kafka_err2str(rd_kafka_last_error()));
    }
}

static void take_floor(rd_kafka_message_t **messages, ssize_t count, floor_run *f) {
    for (ssize_t i = 0; i < count; i++) {
        if (!messages[i]->err)
            f->read++;
        rd_kafka_message_destroy(messages[i]);
    }
}

/* Wait for one record, then take what else is there: asking for many would wait until they are. */
static void read_floor(floor_run *f) {
    rd_kafka_message_t *messages[BATCH];
    rd_kafka_poll(f->producer, 0);
    ssize_t got = rd_kafka_consume_batch_queue(f->queue, 0, messages, BATCH);
    if (got <= 0 && f->read < f->sent) {
        messages[0] = rd_kafka_consume_queue(f->queue, 100);
        got = messages[0] != NULL;
    }
    take_floor(messages, got, f);
    rd_kafka_poll(f->producer, f->read > f->acked ? 100 : 0);
    uint64_t end = f->read < f->acked ? f->read : f->acked, now = bench_now_ns();
    for (; f->done < end; f->done++)
        if (f->is_counting)
            bench_times_add(&f->times, now - f->sent_ns[f->done % f->depth]);
}

static void run_floor_for(floor_run *f, const char *payload, size_t bytes, double seconds) {
    uint64_t start = bench_now_ns();
    while (bench_seconds_since(start) < seconds) {
        produce_floor(f, payload, bytes);
        read_floor(f);
    }
}

static void do_floor(const job *j) {
    floor_run f = {.depth = j->depth, .sent_ns = calloc(j->depth, sizeof(uint64_t))};
    char *payload = calloc(1, j->bytes);
    int64_t low, high;
    if (!f.sent_ns || !payload)
        bench_die("out of memory");
    f.producer = connect_floor(&f, j, RD_KAFKA_PRODUCER);
    f.consumer = connect_floor(&f, j, RD_KAFKA_CONSUMER);
    f.out = rd_kafka_topic_new(f.producer, j->topic, NULL);
    f.in = rd_kafka_topic_new(f.consumer, j->topic, NULL);
    f.queue = rd_kafka_queue_new(f.consumer);
    if (rd_kafka_query_watermark_offsets(f.consumer, j->topic, 0, &low, &high, 30000) != 0)
        bench_die("no end of topic %s", j->topic);
    rd_kafka_consume_start_queue(f.in, 0, high, f.queue);
    double seconds = (double)j->milliseconds * 1e-3;
    run_floor_for(&f, payload, j->bytes, seconds / WARM);
    f.is_counting = true;
    uint64_t before = f.done, start = bench_now_ns();
    run_floor_for(&f, payload, j->bytes, seconds);
    print_result((double)(f.done - before) / bench_seconds_since(start), f.done, &f.times);
    rd_kafka_flush(f.producer, 10000);
    rd_kafka_consume_stop(f.in, 0);
    rd_kafka_queue_destroy(f.queue);
    rd_kafka_topic_destroy(f.in);
    rd_kafka_topic_destroy(f.out);
    rd_kafka_destroy(f.consumer);
    rd_kafka_destroy(f.producer);
    free(payload);
    free(f.sent_ns);
}

/* ---- commands ---- */

typedef struct maker {
    rung_rng random;
    uint64_t players, next;
} maker;

/* Decimal digits, at least `width`: printf would cost the client more than the rest of a command. */
static const char *digits(char text[24], uint64_t number, unsigned width) {
    char back[24];
    unsigned n = 0;
    for (; number || n < width; number /= 10)
        back[n++] = (char)('0' + number % 10);
    for (unsigned i = 0; i < n; i++)
        text[i] = back[n - 1 - i];
    text[n] = '\0';
    return text;
}

static const char *player_name(char text[32], uint64_t number) {
    memcpy(text, "player:", 7);
    digits(text + 7, number, 8);
    return text;
}

static uint32_t make_submit(void *ctx, char *out, size_t *length) {
    maker *m = ctx;
    char player[32], score[24];
    digits(score, rung_rng_below(&m->random, SCORE_MAX), 1);
    *length =
        bench_command(out, 5,
                      (const char *[]){"RUNG.SUBMIT", "race",
                                       player_name(player, rung_rng_below(&m->random, m->players)),
                                       score, "BRIEF"});
    return 1;
}

static uint32_t make_rank(void *ctx, char *out, size_t *length) {
    maker *m = ctx;
    char player[32];
    *length = bench_command(
        out, 3,
        (const char *[]){"RUNG.RANK", "race",
                         player_name(player, rung_rng_below(&m->random, m->players))});
    return 1;
}

static uint32_t make_fill(void *ctx, char *out, size_t *length) {
    maker *m = ctx;
    static char text[FILL_PAIRS][2][32];
    const char *words[2 + 2 * FILL_PAIRS] = {"ZADD", "race"};
    uint32_t n = 0;
    for (; n < FILL_PAIRS && m->next < m->players; n++, m->next++) {
        words[2 + 2 * n] = digits(text[n][0], m->next * 2654435761u % 1000003, 1);
        words[3 + 2 * n] = player_name(text[n][1], m->next);
    }
    if (n == 0) { /* all are there; a connection had one to send all the same */
        words[2] = "0", words[3] = player_name(text[0][1], 0);
        n = 1;
    }
    *length = bench_command(out, 2 + 2 * n, words);
    return 1;
}

/* ---- loads ---- */

/* Connections to the ports in turn. */
static void connect_all(bench_load *load, const job *j) {
    bench_address addresses[SERVERS_MAX];
    uint32_t count = 0;
    for (const char *at = j->ports; *at && count < SERVERS_MAX; count++) {
        addresses[count] = (bench_address){.port = (uint16_t)strtoul(at, NULL, 10)};
        at += strcspn(at, ",");
        at += *at == ',';
    }
    if (count == 0)
        bench_die("--ports P,P,... of servers");
    bench_load_connect_to(load, addresses, count);
}

static void do_load(const job *j, bench_command_maker make) {
    static bench_load load;
    bench_times times = {0};
    maker m = {.players = j->players};
    rung_rng_seed(&m.random, j->rate + j->depth + j->connections);
    double seconds = (double)j->milliseconds * 1e-3, rate;
    load = (bench_load){.connections = (uint32_t)j->connections, .depth = (uint32_t)j->depth};
    connect_all(&load, j);
    if (make == make_fill) {
        rate = bench_load_run(&load, make, &m, 0, (j->players + FILL_PAIRS - 1) / FILL_PAIRS) *
               FILL_PAIRS;
    } else {
        bench_load_run(&load, make, &m, seconds / WARM, 0);
        load.times = &times;
        rate = j->rate ? bench_load_open(&load, make, &m, (double)j->rate, seconds)
                       : bench_load_run(&load, make, &m, seconds, 0);
    }
    bench_load_close(&load);
    if (load.errors)
        bench_die("%llu errors were answered", (unsigned long long)load.errors);
    print_result(rate, load.answered, &times);
}

static void do_machine(const job *j) {
    bench_report r = {0};
    bench_machine_describe(&r, j->command);
    bench_report_print(&r);
    bench_report_deinit(&r);
}

int main(int argc, char **argv) {
    job j = {
        .what = "", .brokers = "", .topic = "floor", .ports = "", .command = "./dev bench kafka"};
    j.bytes = 64, j.depth = 1, j.connections = 1, j.players = 100000, j.milliseconds = 3000;
    const bench_option own[] = {
        {"--do", BENCH_TEXT, &j.what, "floor, submit, rank, fill or machine"},
        {"--brokers", BENCH_TEXT, &j.brokers, "of the floor: HOST:PORT"},
        {"--topic", BENCH_TEXT, &j.topic, "of the floor; it exists, with one partition"},
        {"--ports", BENCH_TEXT, &j.ports, "of servers on this machine: P,P,..."},
        {"--command", BENCH_TEXT, &j.command, "what to say that was run"},
        {"--bytes", BENCH_NUMBER, &j.bytes, "of a record of the floor"},
        {"--depth", BENCH_NUMBER, &j.depth, "in flight, on each connection"},
        {"--connections", BENCH_NUMBER, &j.connections, "to servers"},
        {"--rate", BENCH_NUMBER, &j.rate,
         "commands a second, whatever the answers do; 0: closed loop"},
        {"--players", BENCH_NUMBER, &j.players, "how many there are"},
        {"--ms", BENCH_NUMBER, &j.milliseconds, "how long, after a quarter of it to warm up"},
        {0}};
    bench_options o = {.section = "kafka", .rounds = 1};
    bench_options_parse(&o, argc, argv, "one measurement for bench/kafka_bench.py", own);
    if (j.depth == 0 || j.connections == 0 || j.connections > BENCH_LOAD_CONNECTIONS_MAX ||
        j.players == 0)
        bench_die("--depth, --connections (at most %d) and --players: at least one",
                  BENCH_LOAD_CONNECTIONS_MAX);
    if (!strcmp(j.what, "floor"))
        do_floor(&j);
    else if (!strcmp(j.what, "submit"))
        do_load(&j, make_submit);
    else if (!strcmp(j.what, "rank"))
        do_load(&j, make_rank);
    else if (!strcmp(j.what, "fill"))
        do_load(&j, make_fill);
    else if (!strcmp(j.what, "machine"))
        do_machine(&j);
    else
        bench_die("what is --do %s? See --help", j.what);
    return 0;
}
