/* SPDX-License-Identifier: Apache-2.0 */
/* Two nodes on one topic, whose producers die over and over. One submission in ten is sent twice, half of these to both
 * nodes. What is refused, or has no certain outcome, is sent again under the same id, to the other node. In the end
 * each submission counts once, and both nodes have the same state.
 *
 * librdkafka's mock broker kills a producer by an error that it does not survive; batches that were on their way behind
 * the refused one are stored, and nobody is told. RUNG_STEPS is the number of submissions; a producer dies after every
 * RUNG_PER_DEATH of them. `./dev hunt kafka-retries` sends ten million. */
/* ctest: timeout=300 labels=thread */
#include "service/hub.h"
#include "support/c11_threads.h"
#include "support/check.h"
#include "support/memfs.h"
#include "support/mock_kafka.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    NODES = 2,
    PLAYERS = 997,
    IN_FLIGHT = 4096, /* copies of submissions; well below what a mock broker keeps */
    WAIT_MS = 10,
    TICK_MS = 100,
};
#define BOARD RUNG_SLICE("race")

enum { ACKED = 1, COUNTED = 2 }; /* of a submission */

typedef struct node {
    rung_memfs fs;
    rung_log *log; /* the hub's */
    rung_hub *hub;
} node;

typedef struct retries retries;

/* One copy of a submission on its way. */
typedef struct copy {
    retries *r;
    uint64_t number;
    uint32_t at;       /* node */
    struct copy *next; /* free, or to be sent again */
} copy;

struct retries {
    mock_kafka kafka;
    node nodes[NODES];
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool has_news;
    uint64_t count, per_death;
    uint64_t sent, acked, deaths, refused, unknown, twice;
    uint8_t *book; /* by number */
    copy copies[IN_FLIGHT];
    copy *free_copies, *again;
    uint32_t in_flight;
};

static void on_wake(void *ctx) {
    retries *r = ctx;
    pthread_mutex_lock(&r->lock);
    r->has_news = true;
    pthread_cond_signal(&r->news);
    pthread_mutex_unlock(&r->lock);
}

static void on_fatal(void *ctx, const rung_err *err) {
    (void)ctx;
    test_fail(__FILE__, __LINE__, "the log failed: %s", err->message);
}

static void wait_for_news(retries *r) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += WAIT_MS * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000L;
    end.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&r->lock);
    while (!r->has_news && pthread_cond_timedwait(&r->news, &r->lock, &end) == 0) {
    }
    r->has_news = false;
    pthread_mutex_unlock(&r->lock);
}

/* ---- submissions ---- */

static void push(copy **list, copy *c) {
    c->next = *list;
    *list = c;
}

static copy *pop(copy **list) {
    copy *c = *list;
    *list = c->next;
    return c;
}

static void on_answer(void *ctx, rung_status st, const rung_outcome *outcome, const rung_err *err) {
    copy *c = ctx;
    retries *r = c->r;
    uint8_t *entry = &r->book[c->number];
    if (st < 0) {
        CHECK_MSG(!outcome && (err->reason == RUNG_REASON_LOG_UNAVAILABLE ||
                               err->reason == RUNG_REASON_OUTCOME_UNKNOWN),
                  "submission %llu: %s", (unsigned long long)c->number, err->message);
        *(err->reason == RUNG_REASON_LOG_UNAVAILABLE ? &r->refused : &r->unknown) += 1;
        push(&r->again, c);
        return;
    }
    if (!outcome->duplicate) {
        CHECK_MSG(!(*entry & COUNTED), "submission %llu counted twice",
                  (unsigned long long)c->number);
        *entry |= COUNTED;
    }
    r->acked += !(*entry & ACKED);
    *entry |= ACKED;
    push(&r->free_copies, c);
    r->in_flight--;
}

static void put(copy *c) {
    char id[32], player[32];
    rung_err err;
    rung_event event = {.kind = RUNG_EVENT_SCORE,
                        .score = {.board = BOARD, .value_count = 1, .values = {{.i = 1}}}};
    snprintf(id, sizeof id, "id-%llu", (unsigned long long)c->number);
    snprintf(player, sizeof player, "p%llu", (unsigned long long)c->number % PLAYERS);
    event.score.id = rung_slice_str(id);
    event.score.player = rung_slice_str(player);
    rung_status st = rung_hub_put(c->r->nodes[c->at].hub, &event, on_answer, c, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
}

static void send_copy(retries *r, uint64_t number, uint32_t at) {
    copy *c = pop(&r->free_copies);
    *c = (copy){.r = r, .number = number, .at = at};
    r->in_flight++;
    put(c);
}

/* Not past the next death, unless nothing is on its way that could meet it. */
static bool may_send(const retries *r) {
    return r->sent < r->count && r->in_flight + 2 <= IN_FLIGHT &&
           (r->sent < r->deaths * r->per_death || r->in_flight == 0);
}

static void send_more(retries *r) {
    copy *again = r->again;
    r->again = NULL;
    while (again) {
        copy *c = pop(&again);
        c->at = (c->at + 1) % NODES;
        put(c);
    }
    for (; may_send(r); r->sent++) {
        uint32_t at = (uint32_t)(r->sent / 7 % NODES);
        send_copy(r, r->sent, at);
        if (r->sent % 10 == 0) {
            send_copy(r, r->sent, (at + (uint32_t)(r->sent / 10 % 2)) % NODES);
            r->twice++;
        }
    }
}

/* ---- deaths ---- */

static uint64_t deaths_so_far(const retries *r) {
    uint64_t sum = 0;
    for (size_t i = 0; i < NODES; i++)
        sum += rung_log_stat(r->nodes[i].log).rebuilds;
    return sum;
}

/* Half way to the next death: refuse the next request to produce, of either node. A producer survives that if the
 * request is not at the head of its sequence; then the next one is refused. */
static void kill_if_due(retries *r) {
    size_t pending = 0;
    r->deaths = deaths_so_far(r);
    if (2 * r->acked + r->per_death < 2 * r->deaths * r->per_death ||
        rd_kafka_mock_broker_error_stack_cnt(r->kafka.mock, 1, MOCK_KAFKA_PRODUCE, &pending) != 0 ||
        pending > 0)
        return;
    rd_kafka_mock_broker_push_request_error_rtts(r->kafka.mock, 1, MOCK_KAFKA_PRODUCE, (size_t)1,
                                                 RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, 0);
}

/* ---- the loop ---- */

static void turn(retries *r, int64_t *ticked_ms) {
    rung_clock clock = rung_clock_real();
    int64_t now_ms = rung_clock_monotonic_ms(&clock);
    bool is_tick = now_ms - *ticked_ms >= TICK_MS;
    if (is_tick)
        *ticked_ms = now_ms;
    for (size_t i = 0; i < NODES; i++) {
        rung_hub_flush(r->nodes[i].hub);
        rung_hub_turn(r->nodes[i].hub);
        if (is_tick)
            rung_hub_tick(r->nodes[i].hub);
    }
}

static bool is_equal(const retries *r) {
    uint64_t seq = rung_state_seq(rung_hub_state(r->nodes[0].hub));
    for (size_t i = 1; i < NODES; i++)
        if (rung_state_seq(rung_hub_state(r->nodes[i].hub)) != seq)
            return false;
    return true;
}

static void run(retries *r) {
    int64_t ticked_ms = 0;
    while (r->acked < r->count || r->in_flight > 0 || !is_equal(r)) {
        send_more(r);
        turn(r, &ticked_ms);
        kill_if_due(r);
        wait_for_news(r);
    }
}

/* ---- the checks ---- */

static void check_node(const retries *r, const node *n) {
    static rung_row rows[PLAYERS + 1];
    rung_view view;
    rung_err err;
    CHECK_OK(rung_state_view(rung_hub_state(n->hub), &(rung_query){.board = BOARD}, &view, &err));
    uint64_t players = r->count < PLAYERS ? r->count : PLAYERS;
    CHECK_EQ_U64(rung_view_top(&view, 0, PLAYERS + 1, rows), players);
    for (uint64_t i = 0; i < players; i++) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)rows[i].id.len, rows[i].id.ptr);
        uint64_t player = strtoull(name + 1, NULL, 10);
        uint64_t due = r->count / PLAYERS + (player < r->count % PLAYERS);
        CHECK_MSG((uint64_t)rows[i].values[0].i == due, "%s has %lld, not %llu", name,
                  (long long)rows[i].values[0].i, (unsigned long long)due);
    }
    rung_digest a = rung_state_digest(rung_hub_state(r->nodes[0].hub)),
                b = rung_state_digest(rung_hub_state(n->hub));
    CHECK_EQ_U64(a.a, b.a);
    CHECK_EQ_U64(a.b, b.b);
}

/* ---- nodes ---- */

static void open_node(retries *r, node *n) {
    rung_err err = {0};
    rung_kafka_config kafka = mock_kafka_config(&r->kafka);
    kafka.proposals_max = 4 * IN_FLIGHT;
    kafka.wake = on_wake;
    kafka.fatal = on_fatal;
    kafka.ctx = r;
    rung_status st = rung_kafka_log_open(&kafka, &n->log, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
    rung_memfs_init(&n->fs);
    rung_hub_config hub = {.alloc = rung_alloc_heap(),
                           .clock = rung_clock_real(),
                           .path = "data",
                           .fs = &n->fs.port,
                           .log = n->log,
                           .waiting_max = 2 * IN_FLIGHT,
                           .snapshot_every = UINT64_MAX,
                           .wake = on_wake,
                           .fatal = on_fatal,
                           .ctx = r};
    st = rung_hub_open(&hub, &n->hub, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
}

static void on_defined(void *ctx, rung_status st, const rung_outcome *outcome,
                       const rung_err *err) {
    (void)outcome, (void)err;
    CHECK_OK(st);
    *(bool *)ctx = true;
}

static void define_board(retries *r) {
    bool is_defined = false;
    int64_t ticked_ms = 0;
    rung_err err;
    rung_board_def def = rung_board_def_default();
    def.update = RUNG_UPDATE_SUM;
    CHECK_OK(rung_hub_define(r->nodes[0].hub, (rung_hub_sender){0}, BOARD, &def, on_defined,
                             &is_defined, &err));
    while (!is_defined || !is_equal(r)) {
        turn(r, &ticked_ms);
        wait_for_news(r);
    }
}

static retries *start(uint64_t count, uint64_t per_death) {
    retries *r = rung_alloc_zeroed(rung_alloc_heap(), sizeof *r);
    CHECK(r);
    r->count = count;
    r->per_death = per_death;
    r->book = rung_alloc_zeroed(rung_alloc_heap(), count);
    CHECK(r->book);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->news, NULL);
    for (size_t i = 0; i < IN_FLIGHT; i++)
        push(&r->free_copies, &r->copies[i]);
    mock_kafka_init(&r->kafka);
    for (size_t i = 0; i < NODES; i++)
        open_node(r, &r->nodes[i]);
    define_board(r);
    return r;
}

static void stop(retries *r) {
    for (size_t i = 0; i < NODES; i++) {
        CHECK_OK(rung_hub_close(r->nodes[i].hub, NULL));
        rung_memfs_deinit(&r->nodes[i].fs);
    }
    mock_kafka_deinit(&r->kafka);
    pthread_cond_destroy(&r->news);
    pthread_mutex_destroy(&r->lock);
    rung_alloc_free(rung_alloc_heap(), r->book, r->count);
    rung_alloc_free(rung_alloc_heap(), r, sizeof *r);
}

TEST(each_submission_counts_once) {
    const char *per_death = getenv("RUNG_PER_DEATH");
    retries *r = start(test_steps(20000), per_death ? strtoull(per_death, NULL, 10) : 1000);
    run(r);
    for (size_t i = 0; i < NODES; i++)
        check_node(r, &r->nodes[i]);
    printf("%llu submissions, %llu sent twice, %llu producers died: none lost, none counted twice "
           "(%llu refused, %llu unknown, all sent again)\n",
           (unsigned long long)r->count, (unsigned long long)r->twice,
           (unsigned long long)r->deaths, (unsigned long long)r->refused,
           (unsigned long long)r->unknown);
    CHECK(r->deaths >= r->count / r->per_death);
    CHECK(r->unknown > 0);
    stop(r);
}

RUNG_TEST_MAIN
