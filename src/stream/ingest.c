/* SPDX-License-Identifier: Apache-2.0 */
/* The loop's part (submit, and hear the answer), the steps of the thread, and the life of both. The way of a record is
 * drawn in ingest_items.h. */
#include "stream/ingest.h"

#include "base/fair.h"
#include "base/hash.h"
#include "service/matches.h"
#include "service/submit.h"
#include "stream/ingest_items.h"

#include <stdio.h>
#include <string.h>

enum {
    IN_FLIGHT = 1024,
    SESSION_MS = 10000,
    TURN_MAX = 256,  /* submitted in one turn of the loop */
    POLL_MS = 100,   /* the longest sleep between two steps */
    COMMIT_MS = 200, /* between two commits */
    FLUSH_MS = 5000, /* for dead letters in flight, at the end */
    SOURCE_MAX = RUNG_NAME_MAX + 1,
    PARTITION_DIGITS = 10,
};

/* ---- the loop's part ---- */

bool rung__item_is_for_now(rung_status st, const rung_err *err) {
    switch (st) {
    case RUNG_ENOMEM:
    case RUNG_EFULL:
    case RUNG_ENOSPC:
    case RUNG_EIO:
    case RUNG_EBUSY:
    case RUNG_ECLOSED:
        return true;
    default:
        return st == RUNG_ELIMIT &&
               (err->reason == RUNG_REASON_OVERLOADED || err->reason == RUNG_REASON_RATE);
    }
}

/* Tell the thread what became of a record. */
static void resolve(rung__item *it, rung_status st, const rung_err *err) {
    rung_ingest *g = it->ingest;
    it->st = st;
    if (st < 0 && err)
        it->err = *err;
    pthread_mutex_lock(&g->lock);
    bool was_empty = !g->results.first;
    rung__item_push(&g->results, it);
    g->is_gated = g->is_gated || (st < 0 && rung__item_is_for_now(st, &it->err)); /* I3 */
    pthread_mutex_unlock(&g->lock);
    if (was_empty)
        rung__ingest_wake(g);
}

static void answered(void *ctx, rung_status st, const rung_outcome *outcome, const rung_err *err) {
    (void)outcome;
    resolve(ctx, st, err);
}

static rung_status put_score(rung_ingest *g, const rung_service *service, rung_slice source,
                             rung__item *it, int64_t now_ms, rung_access_answer *why) {
    g->event.score.source = source;
    g->event.score.offset = it->offset;
    g->event.score.is_brief = true;
    return rung_submit_put(service, NULL, g->sender, &g->event, now_ms, answered, it, why);
}

static rung_status put_match(rung_ingest *g, const rung_service *service, rung_slice source,
                             rung__item *it, rung_err *err) {
    g->event.match.source = source;
    g->event.match.offset = it->offset;
    return rung_match_submit(service, g->sender, &g->event, answered, it, err);
}

static void submit(rung_ingest *g, const rung_service *service, rung__item *it) {
    char source[SOURCE_MAX];
    const rung_board_def *def;
    rung_access_answer why = {0};
    int64_t at_ms = rung_hub_now(service->hub);
    rung_status st = rung_submit_open(service, NULL, it->mapped.board, at_ms, &def, &why);
    if (st >= 0)
        st = rung_mapping_fill(g->config.mapping, &it->mapped, def, &g->event, &why.err);
    if (st >= 0) {
        int len = snprintf(source, sizeof source, "%s/%s/%d", g->config.group, g->config.topic,
                           it->partition);
        st = g->event.kind == RUNG_EVENT_MATCH
                 ? put_match(g, service, rung_slice_of(source, (size_t)len), it, &why.err)
                 : put_score(g, service, rung_slice_of(source, (size_t)len), it, at_ms, &why);
    }
    if (st < 0)
        resolve(it, st, &why.err);
}

void rung_ingest_turn(rung_ingest *g, const rung_service *service) {
    for (uint32_t n = 0; service->hub && !g->is_stopped; n++) {
        pthread_mutex_lock(&g->lock);
        rung__item *it = g->is_gated || n == TURN_MAX ? NULL : rung__item_pop(&g->inbox);
        bool has_more = !g->is_gated && g->inbox.first;
        pthread_mutex_unlock(&g->lock);
        if (it)
            submit(g, service, it);
        else if (has_more)
            g->config.wake(g->config.ctx);
        if (!it)
            return;
    }
}

void rung_ingest_stop(rung_ingest *g) {
    g->is_stopped = true;
}

uint32_t rung_ingest_stat(rung_ingest *g, rung_ingest_stats *out, rung_ingest_lag *lags,
                          uint32_t max) {
    pthread_mutex_lock(&g->lock);
    *out = g->stats;
    uint32_t count = g->lag_count < max ? g->lag_count : max;
    if (count)
        memcpy(lags, g->lags, count * sizeof *lags);
    pthread_mutex_unlock(&g->lock);
    return count;
}

/* ---- the thread ---- */

/* Without memory for it, the lags stay as they were. */
static void publish(rung_ingest *g) {
    uint32_t stuck = 0, count = g->part_count;
    pthread_mutex_lock(&g->lock);
    if (count > g->lag_cap) {
        rung_ingest_lag *grown = rung_alloc_resize(
            g->config.alloc, g->lags, g->lag_cap * sizeof *grown, g->part_cap * sizeof *grown);
        g->lags = grown ? grown : g->lags;
        g->lag_cap = grown ? g->part_cap : g->lag_cap;
    }
    for (uint32_t i = 0; i < count; i++) {
        const rung__part *p = &g->parts[i];
        stuck += p->is_stuck;
        if (i < g->lag_cap)
            g->lags[i] = (rung_ingest_lag){p->partition, rung__ingest_lag(g, p)};
    }
    g->lag_count = count < g->lag_cap ? count : g->lag_cap;
    g->stats = g->counts;
    g->stats.in_flight = g->in_use;
    g->stats.partitions = count;
    g->stats.stuck = stuck;
    g->stats.is_paused = g->is_paused;
    g->stats.stalled_ms = g->stalled_ms ? rung__ingest_now_ms(g) - g->stalled_ms + 1 : 0;
    pthread_mutex_unlock(&g->lock);
}

/* The last step: what was answered is committed; dead letters that are not acknowledged in time come again. */
static uint32_t leave(rung_ingest *g) {
    rung__ingest_hear(g);
    g->bury_at_ms = 0;
    rung__ingest_bury_again(g);
    rd_kafka_flush(g->letters.producer, FLUSH_MS);
    rung__ingest_commit(g, false);
    rd_kafka_consumer_close(g->consumer);
    publish(g);
    return RUNG_WORKER_END;
}

static uint32_t pause_of(const rung_ingest *g) {
    int64_t left = g->again_at_ms - rung__ingest_now_ms(g);
    return g->stalled_ms && left > 0 && left < POLL_MS ? (uint32_t)left : POLL_MS;
}

static uint32_t step(void *arg, bool is_stopping) {
    rung_ingest *g = arg;
    if (is_stopping)
        return leave(g);
    if (!g->is_ready)
        g->is_ready = rung__ingest_subscribe(g) == RUNG_OK;
    bool is_busy = rung__ingest_hear(g);
    rd_kafka_poll(g->letters.producer, 0);
    rung__ingest_bury_again(g);
    if (g->rejoin_at_ms && rung__ingest_now_ms(g) >= g->rejoin_at_ms)
        rung_ignore(rung__ingest_subscribe(g), "it is tried again");
    is_busy = rung__ingest_take(g) || is_busy;
    rung__ingest_ask_again(g);
    rung__ingest_hand_over(g);
    if (rung__ingest_now_ms(g) - g->committed_ms >= COMMIT_MS)
        rung__ingest_commit(g, true);
    publish(g);
    return is_busy ? RUNG_WORKER_AGAIN : pause_of(g);
}

/* ---- life ---- */

static void on_event(rd_kafka_t *rk, void *ctx) {
    (void)rk;
    rung__ingest_wake(ctx);
}

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *ctx) {
    rung_ingest *g = ctx;
    (void)rk;
    if ((int)g->said != code)
        rung__kafka_say(&g->kafka, "ingest %s: %s", g->config.name, reason);
    g->said = (rd_kafka_resp_err_t)code;
}

static rung_status open_consumer(rung_ingest *g, rung_err *err) {
    char session[16];
    snprintf(session, sizeof session, "%u", g->config.session_ms);
    char heartbeat[16];
    snprintf(heartbeat, sizeof heartbeat, "%u", g->config.session_ms / 5);
    const rung_kafka_option options[] = {
        {"group.id", g->config.group},
        {"session.timeout.ms", session},
        {"heartbeat.interval.ms", heartbeat},
        {"enable.auto.commit", "false"},
        {"enable.auto.offset.store", "false"},
        {"auto.offset.reset", "error"},
        {"partition.assignment.strategy", "roundrobin"},
        {"topic.metadata.refresh.interval.ms", "10000"},
        {"check.crcs", "true"},
        {"fetch.error.backoff.ms", "50"},
        {"queued.max.messages.kbytes", "16384"},
    };
    rung_status st =
        rung__kafka_create(&g->kafka, RD_KAFKA_CONSUMER, options, RUNG_COUNT_OF(options),
                           &g->consumer_hooks, &g->consumer, err);
    if (st < 0)
        return st;
    rd_kafka_poll_set_consumer(g->consumer);
    g->events = rd_kafka_queue_get_consumer(g->consumer);
    rd_kafka_queue_cb_event_enable(g->events, on_event, g);
    return RUNG_OK;
}

static rung_status make_pool(rung_ingest *g, rung_err *err) {
    uint32_t count = g->config.in_flight_max;
    g->pool = rung_alloc_zeroed(g->config.alloc, count * sizeof *g->pool);
    if (!g->pool)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        g->pool[i].next = g->free;
        g->free = &g->pool[i];
    }
    return RUNG_OK;
}

static rung_kafka_config kafka_of(const rung_ingest_config *c, const char *topic) {
    rung_kafka_config k = {.alloc = c->alloc,
                           .brokers = c->brokers,
                           .topic = topic,
                           .options = c->options,
                           .option_count = c->option_count,
                           .proposals_max = c->in_flight_max,
                           .clock = c->clock,
                           .say = c->say,
                           .ctx = c->ctx};
    rung__kafka_defaults(&k);
    return k;
}

static void configure(rung_ingest *g, const rung_ingest_config *config) {
    static const rung_hash_key any = {1, 2};
    rung_ingest_config *c = &g->config;
    *c = *config;
    c->in_flight_max = c->in_flight_max ? c->in_flight_max : IN_FLIGHT;
    if (c->in_flight_max > RUNG_INGEST_IN_FLIGHT_MAX)
        c->in_flight_max = RUNG_INGEST_IN_FLIGHT_MAX;
    c->session_ms = c->session_ms ? c->session_ms : SESSION_MS;
    g->kafka = kafka_of(c, c->topic);
    g->letters_kafka = kafka_of(c, c->dead_letters);
    g->consumer_hooks =
        (rung__kafka_hooks){.erred = on_error, .rebalanced = rung__ingest_on_rebalance, .ctx = g};
    g->producer_hooks =
        (rung__kafka_hooks){.reported = rung__ingest_on_report, .erred = on_error, .ctx = g};
    g->sender =
        (rung_hub_sender){.share = 1 + (uint32_t)(rung_hash_keyed(&any, c->name, strlen(c->name)) %
                                                  (RUNG_FAIR_SHARES - 1)),
                          .is_patient = true};
}

static void release(rung_ingest *g) {
    const rung_alloc *a = g->config.alloc;
    if (g->events) {
        rd_kafka_queue_cb_event_enable(g->events, NULL, NULL);
        rd_kafka_queue_destroy(g->events);
    }
    rung__dead_letters_close(&g->letters);
    for (uint32_t i = 0; g->pool && i < g->config.in_flight_max; i++)
        if (g->pool[i].message)
            rung__item_forget(&g->pool[i]);
    if (g->consumer)
        rd_kafka_destroy_flags(g->consumer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    rung_alloc_free(a, g->pool, g->pool ? g->config.in_flight_max * sizeof *g->pool : 0);
    rung_alloc_free(a, g->parts, g->part_cap * sizeof *g->parts);
    rung_alloc_free(a, g->lags, g->lag_cap * sizeof *g->lags);
    pthread_mutex_destroy(&g->lock);
    rung_alloc_free(a, g, sizeof *g);
}

rung_status rung_ingest_check_names(const char *group, const char *topic, rung_err *err) {
    if (strlen(group) + strlen(topic) + 2 + PARTITION_DIGITS <= RUNG_NAME_MAX)
        return RUNG_OK;
    return RUNG_FAIL(err, RUNG_EINVAL, "group and topic have at most %d bytes together",
                     RUNG_NAME_MAX - 2 - PARTITION_DIGITS);
}

rung_status rung_ingest_start(const rung_ingest_config *config, rung_ingest **ingest_out,
                              rung_err *err) {
    rung_worker *worker;
    rung_status st = rung_ingest_check_names(config->group, config->topic, err);
    if (st < 0)
        return st;
    rung_ingest *g = rung_alloc_zeroed(config->alloc, sizeof *g);
    if (!g)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    configure(g, config);
    pthread_mutex_init(&g->lock, NULL);
    st = make_pool(g, err);
    if (st == RUNG_OK)
        st = open_consumer(g, err);
    if (st == RUNG_OK)
        st = rung__dead_letters_open(&g->letters, &g->letters_kafka, &g->producer_hooks, err);
    if (st == RUNG_OK)
        st = rung_worker_start(config->threads, config->alloc, step, g, &worker, err);
    if (st < 0) {
        release(g);
        return st;
    }
    g->worker = worker;
    *ingest_out = g;
    return RUNG_OK;
}

void rung_ingest_destroy(rung_ingest *g) {
    if (!g)
        return;
    rung_ingest_stop(g);
    rd_kafka_queue_cb_event_enable(g->events, NULL, NULL); /* from now on nobody wakes the thread */
    rung_worker *worker = atomic_exchange(&g->worker, NULL);
    rung_worker_stop(worker);
    release(g);
}
