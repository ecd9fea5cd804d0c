/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated topic keeps the contract of every log (support/log_contract.h), and has what no other log here has:
 * records of other nodes, requests that get lost, and outcomes that nobody knows. */
#include "sim/topic.h"
#include "support/check.h"
#include "support/log_contract.h"

#include <stdio.h>
#include <string.h>

typedef struct fixture {
    sim_topic topic;
    rung_rng rng;
    rung_log *log;
} fixture;

static rung_log *open_log(void *ctx) {
    fixture *f = ctx;
    CHECK_OK(
        sim_topic_open(&f->topic, &(sim_topic_config){.alloc = rung_alloc_heap()}, &f->log, NULL));
    CHECK_OK(rung_log_start(f->log, rung_log_durable_seq(f->log) + 1, NULL));
    return f->log;
}

/* The node dies; what is stored stays. Its memory goes by a close that delivers to nobody. */
static void crash(void *ctx, rung_log *log) {
    (void)ctx;
    CHECK_OK(rung_log_close(log, NULL));
}

static void add_foreign(void *ctx, rung_slice payload) {
    fixture *f = ctx;
    sim_topic_add(&f->topic, 7, payload);
    while (sim_topic_step(f->log))
        continue;
}

static void with_topic(void (*test)(const log_maker *m)) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
        fixture f = {0};
        rung_rng_seed(&f.rng, seed);
        sim_topic_init(&f.topic, &f.rng);
        const log_maker maker = {
            .ctx = &f, .open = open_log, .crash = crash, .add_foreign = add_foreign};
        test(&maker);
        sim_topic_deinit(&f.topic);
    }
}

TEST(order_and_tags) {
    with_topic(log_contract_order);
}
TEST(limits) {
    with_topic(log_contract_limits);
}
TEST(records_of_others) {
    with_topic(log_contract_foreign);
}
TEST(a_crash) {
    with_topic(log_contract_crash);
}
TEST(proposals_under_way) {
    with_topic(log_contract_in_flight);
}

/* ---- two nodes, and trouble ---- */

enum { PROPOSALS = 200, NODES = 3 };

typedef struct node {
    rung_log *log;
    sim_topic_link link;
    char texts[PROPOSALS][16];
    uint32_t proposed, answered, committed, unknown, rejected;
    uint64_t seen; /* records applied */
    uint64_t hash; /* of them */
} node;

static void check_own(node *n, const rung_log_entry *e) {
    CHECK_EQ_U64(e->tag, n->answered); /* L2, L3 */
    CHECK_EQ_PTR(e->payload.ptr, n->texts[e->tag]);
    n->answered++;
}

static void apply(node *n, const rung_log_delivery *d) {
    for (size_t i = 0; i < d->count; i++) {
        const rung_log_entry *e = &d->entries[i];
        if (e->tag != RUNG_LOG_FOREIGN)
            check_own(n, e);
        n->rejected += d->outcome == RUNG_LOG_REJECTED;
        n->unknown += d->outcome == RUNG_LOG_UNKNOWN;
        if (d->outcome != RUNG_LOG_COMMITTED)
            continue;
        CHECK_EQ_U64(d->first_seq + i, ++n->seen); /* L1 */
        n->committed += e->tag != RUNG_LOG_FOREIGN;
        for (size_t k = 0; k < e->payload.len; k++)
            n->hash = (n->hash ^ (uint8_t)e->payload.ptr[k]) * UINT64_C(1099511628211);
    }
}

static void deliver(node *n) {
    rung_log_delivery d;
    while (rung_log_deliver(n->log, 1 + n->seen % 9, &d, NULL) == RUNG_OK)
        apply(n, &d);
}

static void propose(node *n, uint32_t number) {
    if (n->proposed == PROPOSALS)
        return;
    int len = snprintf(n->texts[n->proposed], sizeof n->texts[0], "%u-%u", number, n->proposed);
    rung_log_entry e = {.payload = rung_slice_of(n->texts[n->proposed], (size_t)len),
                        .type = 7,
                        .tag = n->proposed};
    CHECK_OK(rung_log_propose(n->log, &e, 1, NULL));
    n->proposed++;
}

static void live(sim_topic *topic, rung_rng *rng, int64_t *now_us) {
    static node nodes[NODES];
    memset(nodes, 0, sizeof nodes);
    for (uint32_t i = 0; i < NODES; i++) {
        sim_topic_config config = {.alloc = rung_alloc_heap(),
                                   .link = &nodes[i].link,
                                   .monotonic_us = now_us,
                                   .timeout_us = 5000};
        CHECK_OK(sim_topic_open(topic, &config, &nodes[i].log, NULL));
        CHECK_OK(rung_log_start(nodes[i].log, 1, NULL));
    }
    for (uint32_t step = 0; step < 3000; step++) {
        uint32_t i = (uint32_t)rung_rng_below(rng, NODES);
        uint32_t dice = (uint32_t)rung_rng_below(rng, 100);
        *now_us += (int64_t)rung_rng_below(rng, 200);
        if (dice < 25)
            propose(&nodes[i], i);
        else if (dice < 75)
            sim_topic_step(nodes[i].log);
        else if (dice < 97)
            deliver(&nodes[i]);
        else
            nodes[i].link =
                (sim_topic_link){.is_cut_up = dice == 97, .is_cut_down = dice <= 98 && step % 2};
        if (dice == 50)
            sim_topic_settle_late(topic, step % 2);
    }
    for (uint32_t i = 0; i < NODES; i++)
        nodes[i].link = (sim_topic_link){0};
    for (uint32_t round = 0; round < NODES * 2000; round++)
        sim_topic_step(nodes[round % NODES].log), deliver(&nodes[round % NODES]);
    for (uint32_t i = 0; i < NODES; i++) {
        const node *n = &nodes[i];
        CHECK_EQ_U64(n->answered, n->proposed);
        CHECK_EQ_U64(n->committed + n->unknown + n->rejected, n->proposed);
        CHECK_EQ_U64(n->seen, topic->count);
        CHECK_EQ_U64(n->hash, nodes[0].hash);
        CHECK_OK(rung_log_close(n->log, NULL));
    }
}

TEST(all_nodes_read_the_same_whatever_gets_lost) {
    uint64_t lost = 0, copies = 0, lates = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        sim_topic topic;
        rung_rng rng;
        int64_t now_us = 0;
        rung_rng_seed(&rng, seed);
        sim_topic_init(&topic, &rng);
        topic.lose = 50;
        topic.copy = 50;
        live(&topic, &rng, &now_us);
        lost += topic.lost;
        copies += topic.copies;
        lates += topic.lates;
        sim_topic_deinit(&topic);
    }
    CHECK(lost > 100 && copies > 100 && lates > 100);
}

RUNG_TEST_MAIN
