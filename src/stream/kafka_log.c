/* SPDX-License-Identifier: Apache-2.0 */
/* The log on a partition. Two streams meet in deliver: the records of the partition, in the order of their offsets, and
 * the outcomes of our own proposals, in the order of their serials.
 *
 *     propose --> producer --> broker --> reader --> inbox --+--> deliver
 *                    \--> report (acknowledged or not) --> ring --/
 *
 * The ring holds our proposals that have no outcome yet. Each goes
 *
 *     QUEUED --(send_group)--> SENT --(report: stored)--> ACKED --(read back)--> delivered as committed
 *       |                        |                          \--(not read back in time)--> UNKNOWN
 *       |                        \--(report: not stored)--> REJECTED, or UNKNOWN if nobody can say
 *       \--(queued for too long)--> REJECTED
 *
 * What is proposed while brokers work on a group waits, and makes the next group, as the writer of a segment log does
 * it. Handing everything over at once is worse in two ways. A producer sends whatever it has whenever it looks, so that
 * a thousand records become a dozen requests; and while it holds more than it may send now, it polls its socket without
 * a pause, which takes a core. A small group goes to a producer here, which sends it at once; a large one to the sender
 * (kafka_sender.h), which makes one request of it.
 *
 * Invariants:
 *   K1  Outcomes leave at the head of the ring (L3). A record of ours is delivered as ours only if it is the head's and
 *       ACKED. If the head is still SENT, the records behind it wait for its report, which always comes.
 *   K2  When a later record of ours is read, an earlier one cannot follow: the producer keeps the order. It is
 *       settled as unknown first. If it does come, it counts as another node's, and so does a record that was settled
 *       before it was read.
 *   K3  Acknowledged by all in-sync replicas before it is committed: the reader alone may see a record that fewer
 *       replicas have.
 *   K4  The producer copies what it is given, so the ring may let go of a proposal before its report has come.
 *   K5  At any time only one of them, producer or sender, has records that are not reported, so the order of proposals
 *       holds. */
#include "stream/kafka_log.h"

#include "journal/sha256.h"
#include "stream/kafka_client.h"
#include "stream/kafka_sender.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    INBOX = 1024,    /* records taken from the reader at once */
    AWAIT_MS = 100,  /* between two looks at the clock while waiting */
    LOOK_MS = 1000,  /* a broker that was not heard of for this long is asked */
    QUIET_MS = 5000, /* without an answer for this long, the log counts as silent */
    LARGE = 64,      /* records: from here on a group is worth waking the sender */
    EAGER = 5,       /* records: an idempotent producer with as many in flight sends nothing more */
};

typedef enum phase { QUEUED, SENT, ACKED, REJECTED, UNKNOWN } phase;

typedef struct proposal {
    rung_log_entry entry;
    int64_t sent_us;
    phase phase;
    rd_kafka_resp_err_t code; /* why it is rejected or unknown */
} proposal;

typedef struct producer {
    rd_kafka_t *rk; /* NULL: the last one died, and another could not be made */
    rd_kafka_topic_t *topic;
    rd_kafka_queue_t *events; /* its main queue */
    bool is_dead;
} producer;

typedef struct kafka_log {
    rung_log port;
    rung_kafka_config config;
    rung__kafka_hooks hooks;
    uint8_t id[RUNG_LOG_ID_SIZE];
    uint64_t node;

    /* The owner's. */
    producer producer;
    rung__kafka_sender *sender;
    rung__kafka_reader reader;
    rd_kafka_queue_t *reader_events; /* its main queue */
    bool is_open, is_started;
    rung__kafka_trouble trouble;       /* while it opens; later: of the last line about it */
    proposal *ring;                    /* by serial & mask */
    uint64_t mask, head, unsent, tail; /* from `unsent` on they are QUEUED */
    uint64_t in_flight, group_from;    /* records without a report; where the sender's begin */
    bool is_prompt;                    /* K5: they are the producer's */
    bool has_report;                   /* that a record was stored */
    rd_kafka_message_t *inbox[INBOX];  /* before given_back: destroyed; before inbox_at: lent */
    size_t given_back, inbox_at, inbox_count;
    rung_log_entry run[INBOX]; /* of the last delivery */
    uint64_t first_seq, next_seq;
    uint64_t end_at_start; /* the last sequence of the partition, when reading began */
    int64_t delivered_us;  /* when the last delivery was put together */
    rung_err failure;      /* code RUNG_OK while all is well */
    rung_log_stats stats;

    _Atomic uint64_t durable_seq;
    atomic_bool is_down;
    _Atomic int64_t heard_us; /* when the partition's leader last answered */

    /* Shared with librdkafka's threads and the helper, under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool has_news;
    rd_kafka_t *retired; /* a dead producer for the helper to destroy */

    rung_worker *helper;
} kafka_log;

static int64_t now_us(const kafka_log *k) {
    return rung_clock_monotonic_us(&k->config.clock);
}

static proposal *proposal_at(const kafka_log *k, uint64_t serial) {
    return &k->ring[serial & k->mask];
}

static void tell_news(void *ctx) {
    kafka_log *k = ctx;
    pthread_mutex_lock(&k->lock);
    k->has_news = true;
    pthread_cond_broadcast(&k->news);
    pthread_mutex_unlock(&k->lock);
    if (k->config.wake)
        k->config.wake(k->config.ctx);
}

/* From a thread of librdkafka: a queue that was empty is not any more. */
static void on_queue_event(rd_kafka_t *rk, void *opaque) {
    (void)rk;
    tell_news(opaque);
}

/* ---- brokers that answer, and those that do not ---- */

static void note_down(kafka_log *k, const char *why) {
    if (atomic_exchange(&k->is_down, true))
        return;
    rung__kafka_say(&k->config, "no Kafka broker answers: reads go on, writes wait: %s", why);
    if (k->helper)
        rung_worker_wake(k->helper); /* looks for them */
}

static void note_up(kafka_log *k) {
    k->heard_us = now_us(k);
    if (k->is_down && atomic_exchange(&k->is_down, false))
        rung__kafka_say(&k->config, "Kafka answers again");
}

static int64_t quiet_for_ms(const kafka_log *k) {
    int64_t quiet_us = now_us(k) - k->heard_us;
    return quiet_us > 0 ? quiet_us / 1000 : 0;
}

/* Once until a broker takes us again: each attempt to connect would say it. */
static void say_refusal(kafka_log *k, int code, const char *reason) {
    bool is_said = k->trouble.is_refusal;
    rung__kafka_note_trouble(&k->trouble, code, reason);
    if (!is_said)
        rung__kafka_say(&k->config, "a Kafka broker refuses us: %s", k->trouble.text);
}

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *ctx) {
    kafka_log *k = ctx;
    if (code == RD_KAFKA_RESP_ERR__FATAL && rk == k->producer.rk)
        k->producer.is_dead = true;
    else if (!k->is_open)
        rung__kafka_note_trouble(&k->trouble, code, reason);
    else if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
        note_down(k, reason);
    else if (rung__kafka_is_refusal(code))
        say_refusal(k, code, reason);
}

/* ---- reports ---- */

static void refuse(proposal *p, phase as, rd_kafka_resp_err_t code) {
    p->phase = as;
    p->code = code;
}

static void take_report(kafka_log *k, uint64_t serial, rung__kafka_fate fate) {
    k->has_report = k->has_report || !fate.code;
    k->in_flight--;
    if (serial < k->head) /* it has its outcome */
        return;
    proposal *p = proposal_at(k, serial);
    if (p->phase != SENT)
        return;
    if (!fate.code)
        p->phase = ACKED;
    else
        refuse(p, fate.may_be_stored ? UNKNOWN : REJECTED, fate.code);
}

static void on_report(rd_kafka_t *rk, const rd_kafka_message_t *m, void *ctx) {
    kafka_log *k = ctx;
    if (rk != k->producer.rk) /* one that was given up */
        return;
    bool is_out = rd_kafka_message_status(m) == RD_KAFKA_MSG_STATUS_NOT_PERSISTED;
    take_report(k, (uint64_t)(uintptr_t)m->_private, (rung__kafka_fate){m->err, !is_out});
}

static void take_group(kafka_log *k) {
    size_t count;
    const rung__kafka_fate *fates = rung__kafka_sender_fates(k->sender, &count);
    for (size_t i = 0; fates && i < count; i++)
        take_report(k, k->group_from + i, fates[i]);
}

/* ---- the producer ---- */

static rung_status start_producer(kafka_log *k, rung_err *err) {
    producer *p = &k->producer;
    rung_status st = rung__kafka_producer(&k->config, false, &k->hooks, &p->rk, err);
    if (st < 0)
        return st;
    p->topic = rd_kafka_topic_new(p->rk, k->config.topic, NULL);
    p->events = rd_kafka_queue_get_main(p->rk);
    rd_kafka_queue_cb_event_enable(p->events, on_queue_event, k);
    return RUNG_OK;
}

/* Returns librdkafka's handle without what hangs on it. */
static rd_kafka_t *detach_producer(producer *p) {
    rd_kafka_t *rk = p->rk;
    if (!rk)
        return NULL;
    rd_kafka_queue_cb_event_enable(p->events, NULL, NULL);
    rd_kafka_queue_destroy(p->events);
    rd_kafka_topic_destroy(p->topic);
    *p = (producer){0};
    return rk;
}

/* An error that the producer does not survive (a sequence that the broker does not accept): all that it had is settled,
 * and another takes its place. Destroying one takes time, so the helper does that. */
static void replace_producer(kafka_log *k) {
    rung_err err;
    rd_kafka_purge(k->producer.rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_poll(k->producer.rk, 0);
    for (uint64_t s = k->head; k->is_prompt && s < k->unsent; s++)
        if (proposal_at(k, s)->phase == SENT)
            refuse(proposal_at(k, s), UNKNOWN, RD_KAFKA_RESP_ERR__FATAL);
    if (k->is_prompt)
        k->in_flight = 0;
    rd_kafka_t *old = detach_producer(&k->producer);
    pthread_mutex_lock(&k->lock);
    rd_kafka_t *older = k->retired;
    k->retired = old;
    pthread_mutex_unlock(&k->lock);
    if (older)
        rd_kafka_destroy(older);
    rung_worker_wake(k->helper);
    k->stats.rebuilds++;
    if (start_producer(k, &err) < 0)
        rung__kafka_say(&k->config, "writes are refused: %s", err.message);
}

/* ---- the helper ---- */

/* Returns whether there was something to do. */
static bool destroy_retired(kafka_log *k) {
    pthread_mutex_lock(&k->lock);
    rd_kafka_t *rk = k->retired;
    k->retired = NULL;
    pthread_mutex_unlock(&k->lock);
    if (rk)
        rd_kafka_destroy(rk);
    return rk != NULL;
}

/* Ask the leader something if nothing was heard of it. A paused broker keeps its connections, so librdkafka alone would
 * not notice it for a minute. */
static uint32_t help(void *arg, bool is_stopping) {
    kafka_log *k = arg;
    uint64_t last = 0;
    rung_err err = {0};
    if (destroy_retired(k))
        return RUNG_WORKER_AGAIN;
    if (is_stopping)
        return RUNG_WORKER_END;
    int64_t quiet_ms = quiet_for_ms(k);
    if (!k->is_down && quiet_ms < LOOK_MS)
        return (uint32_t)(LOOK_MS - quiet_ms);
    if (rung__kafka_span(&k->config, k->reader.rk, k->config.timeout_ms, NULL, &last, &err) < 0)
        note_down(k, err.message);
    else
        note_up(k);
    return LOOK_MS;
}

/* ---- propose ---- */

static rung_status may_propose(const kafka_log *k, const rung_log_entry *entries, size_t count,
                               rung_err *err) {
    if (k->failure.code < 0) {
        if (err)
            *err = k->failure;
        return k->failure.code;
    }
    if (count == 0)
        return RUNG_FAIL(err, RUNG_EINVAL, "nothing to propose");
    if (count > k->mask + 1 - (k->tail - k->head))
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                             "the queue of the log is full");
    for (size_t i = 0; i < count; i++)
        if (entries[i].payload.len > RUNG_LOG_RECORD_MAX)
            return RUNG_FAIL(err, RUNG_ELIMIT, "a record of %zu bytes is longer than the log takes",
                             entries[i].payload.len);
    return RUNG_OK;
}

/* Everything but the serial and the type, which are the record's. */
static rung__envelope envelope_of(const kafka_log *k) {
    rung__envelope e = {.node = k->node};
    memcpy(e.log_id, k->id, sizeof e.log_id);
    return e;
}

static void encode_key(const kafka_log *k, uint64_t serial, rung__envelope *e,
                       uint8_t key[RUNG__ENVELOPE_SIZE]) {
    e->serial = serial;
    e->type = proposal_at(k, serial)->entry.type;
    rung__envelope_encode(e, key);
}

static void produce(kafka_log *k, uint64_t serial, rung__envelope *envelope) {
    uint8_t key[RUNG__ENVELOPE_SIZE];
    proposal *p = proposal_at(k, serial);
    encode_key(k, serial, envelope, key);
    p->phase = SENT;
    if (rd_kafka_produce(k->producer.topic, RUNG__PARTITION, RD_KAFKA_MSG_F_COPY, /* K4 */
                         (void *)p->entry.payload.ptr, p->entry.payload.len, key, sizeof key,
                         (void *)(uintptr_t)serial) == 0)
        k->in_flight++;
    else
        refuse(p, REJECTED, rd_kafka_last_error());
}

static void produce_small(kafka_log *k) {
    rung__envelope envelope = envelope_of(k);
    rung_err err;
    if (!k->producer.rk && start_producer(k, &err) < 0)
        rung__kafka_say(&k->config, "writes are refused: %s", err.message);
    k->is_prompt = true;
    for (; k->unsent < k->tail; k->unsent++)
        if (k->producer.rk)
            produce(k, k->unsent, &envelope);
        else
            refuse(proposal_at(k, k->unsent), REJECTED, RD_KAFKA_RESP_ERR__STATE);
}

/* K4: the sender copies. What does not fit makes the next group. */
static void send_large(kafka_log *k) {
    rung__envelope envelope = envelope_of(k);
    uint8_t key[RUNG__ENVELOPE_SIZE];
    k->is_prompt = false;
    k->group_from = k->unsent;
    for (; k->unsent < k->tail; k->unsent++) {
        encode_key(k, k->unsent, &envelope, key);
        if (!rung__kafka_sender_add(k->sender, key, proposal_at(k, k->unsent)->entry.payload))
            break;
        proposal_at(k, k->unsent)->phase = SENT;
        k->in_flight++;
    }
    rung__kafka_sender_send(k->sender);
}

/* A group is with the brokers, and nothing comes back: an outcome is due within twice the timeout. */
static void reject_late(kafka_log *k) {
    int64_t latest_us = now_us(k) - (int64_t)k->config.timeout_ms * 1000;
    while (k->unsent < k->tail && proposal_at(k, k->unsent)->sent_us < latest_us)
        refuse(proposal_at(k, k->unsent++), REJECTED, RD_KAFKA_RESP_ERR__TIMED_OUT);
}

/* K5. Hand over what is queued, if it would be sent. */
static void send_group(kafka_log *k) {
    uint64_t count = k->tail - k->unsent;
    if (count == 0)
        return;
    if (k->in_flight >= (count < LARGE ? EAGER : 1))
        reject_late(k);
    else if (count < LARGE)
        produce_small(k);
    else
        send_large(k);
}

static rung_status propose(rung_log *log, const rung_log_entry *entries, size_t count,
                           rung_err *err) {
    kafka_log *k = (kafka_log *)log;
    rung_status st = may_propose(k, entries, count, err);
    if (st < 0)
        return st;
    int64_t sent_us = now_us(k);
    for (size_t i = 0; i < count; i++)
        *proposal_at(k, k->tail++) = (proposal){.entry = entries[i], .sent_us = sent_us};
    send_group(k);
    if (proposal_at(k, k->tail - 1)->phase == REJECTED)
        tell_news(k);
    return RUNG_OK;
}

/* ---- deliver ---- */

static void fail(kafka_log *k, const rung_err *err) {
    k->failure = *err;
    for (uint64_t s = k->head; s < k->tail; s++)
        if (proposal_at(k, s)->phase == SENT || proposal_at(k, s)->phase == ACKED)
            refuse(proposal_at(k, s), UNKNOWN, RD_KAFKA_RESP_ERR__FATAL);
        else if (proposal_at(k, s)->phase == QUEUED)
            refuse(proposal_at(k, s), REJECTED, RD_KAFKA_RESP_ERR__FATAL);
    k->unsent = k->tail;
    if (k->config.fatal)
        k->config.fatal(k->config.ctx, err);
}

static void give_back(kafka_log *k) {
    for (; k->given_back < k->inbox_at; k->given_back++)
        rd_kafka_message_destroy(k->inbox[k->given_back]);
    if (k->inbox_at == k->inbox_count)
        k->given_back = k->inbox_at = k->inbox_count = 0;
}

static void fill_inbox(kafka_log *k) {
    if (k->inbox_at < k->inbox_count || k->failure.code < 0 || !k->is_started)
        return;
    give_back(k);
    rung__kafka_reader_resume(&k->reader, &k->config, k->next_seq);
    ssize_t got = rd_kafka_consume_batch_queue(k->reader.queue, 0, k->inbox, INBOX);
    k->inbox_count = got > 0 ? (size_t)got : 0;
}

static void hear_reports(kafka_log *k) {
    if (k->producer.rk)
        rd_kafka_poll(k->producer.rk, 0);
    take_group(k);
    rd_kafka_poll(k->reader.rk, 0);
    if (k->has_report) {
        k->has_report = false;
        note_up(k);
        k->trouble.is_refusal = false;
    }
    if (k->producer.is_dead)
        replace_producer(k);
    send_group(k);
}

/* The head that waits for too long: its report comes within the timeout, so it is the reader that is late. */
static void expire(kafka_log *k) {
    if (k->head == k->tail)
        return;
    proposal *p = proposal_at(k, k->head);
    int64_t waited_us = now_us(k) - p->sent_us;
    if ((p->phase == SENT || p->phase == ACKED) &&
        waited_us > 2 * (int64_t)k->config.timeout_ms * 1000)
        refuse(p, UNKNOWN, RD_KAFKA_RESP_ERR__TIMED_OUT);
}

static bool is_refused(const kafka_log *k, uint64_t serial) {
    return serial < k->tail &&
           (proposal_at(k, serial)->phase == REJECTED || proposal_at(k, serial)->phase == UNKNOWN);
}

static rung_err reason_of(const kafka_log *k, const proposal *p) {
    rung_err why = {0};
    const char *text = rd_kafka_err2str(p->code);
    if (p->phase == UNKNOWN && k->failure.code < 0)
        return k->failure;
    if (p->phase == UNKNOWN)
        rung_ignore(RUNG_FAIL_WHY(&why, RUNG_EIO, RUNG_REASON_OUTCOME_UNKNOWN, "Kafka: %s", text),
                    "it is the reason");
    else
        rung_ignore(RUNG_FAIL_WHY(&why, RUNG_EIO, RUNG_REASON_LOG_UNAVAILABLE, "Kafka: %s", text),
                    "it is the reason");
    return why;
}

/* K1. Those at the head that are rejected, or unknown, for the same reason. */
static bool deliver_refused(kafka_log *k, size_t max, rung_log_delivery *out) {
    if (!is_refused(k, k->head))
        return false;
    const proposal first = *proposal_at(k, k->head);
    size_t n = 0;
    while (n < max && is_refused(k, k->head) && proposal_at(k, k->head)->phase == first.phase &&
           proposal_at(k, k->head)->code == first.code)
        k->run[n++] = proposal_at(k, k->head++)->entry;
    *out = (rung_log_delivery){
        .outcome = first.phase == REJECTED ? RUNG_LOG_REJECTED : RUNG_LOG_UNKNOWN,
        .count = n,
        .entries = k->run,
        .why = reason_of(k, &first),
    };
    *(first.phase == REJECTED ? &k->stats.rejected : &k->stats.unknown) += n;
    return true;
}

/* K2. */
static void settle_before(kafka_log *k, uint64_t serial) {
    for (uint64_t s = k->head; s < serial; s++)
        if (!is_refused(k, s))
            refuse(proposal_at(k, s), UNKNOWN, RD_KAFKA_RESP_ERR__TIMED_OUT);
}

static bool is_own(const kafka_log *k, const rung__envelope *e) {
    return e->node == k->node && e->serial >= k->head && e->serial < k->tail;
}

static void count_time(kafka_log *k, int64_t us) {
    size_t i = 0;
    while (i < RUNG_LOG_TIME_BUCKETS - 1 && us >= INT64_C(1) << i)
        i++;
    k->stats.sync_count++;
    k->stats.sync_us_total += (uint64_t)us;
    k->stats.sync_us[i]++;
}

/* K1, K3. The entry of our own record, if it may be delivered as ours now. */
static bool take_own(kafka_log *k, const rung__envelope *e, rung_log_entry *out) {
    proposal *p = proposal_at(k, e->serial);
    if (e->serial > k->head) {
        settle_before(k, e->serial);
        return false;
    }
    if (p->phase == REJECTED) /* and yet it is in the log */
        p->phase = UNKNOWN;
    if (p->phase != ACKED)
        return false;
    *out = p->entry;
    k->head++;
    count_time(k, k->delivered_us - p->sent_us);
    return true;
}

typedef enum step { STEP_TAKEN, STEP_PASSED, STEP_STUCK } step;

/* The broker does not have the next record. */
static rung_status doubt(kafka_log *k, rung_err *err) {
    bool is_new = k->reader.doubted_ms == 0;
    rung_status st = rung__kafka_reader_doubt(&k->reader, &k->config);
    if (st == RUNG_ECORRUPT)
        err->code = RUNG_ECORRUPT;
    else if (is_new)
        rung__kafka_say(&k->config, "%s; or a leader answers that was replaced", err->message);
    return st;
}

/* The next of the inbox: taken as an entry, passed over (an error that goes away), or stuck: an outcome of ours comes
 * first, or a report, or the log has failed. */
static step take_next(kafka_log *k, rung_log_entry *out) {
    const rd_kafka_message_t *m = k->inbox[k->inbox_at];
    rung__envelope e;
    rung_err err = {0};
    rung_status st = rung__kafka_check(&k->config, m, k->id, k->next_seq, &e, &err);
    if (st == RUNG_ESTALE)
        st = doubt(k, &err);
    if (st == RUNG_ECORRUPT) {
        fail(k, &err);
        return STEP_STUCK;
    }
    if (st != RUNG_OK)
        return STEP_PASSED;
    if (!is_own(k, &e)) {
        *out = (rung_log_entry){rung_slice_of(m->payload, m->len), e.type, RUNG_LOG_FOREIGN};
        k->stats.foreign++;
        return STEP_TAKEN;
    }
    return take_own(k, &e, out) ? STEP_TAKEN : STEP_STUCK;
}

static size_t gather(kafka_log *k, size_t max) {
    size_t n = 0;
    k->delivered_us = now_us(k);
    step s = STEP_TAKEN;
    while (n < max && k->inbox_at < k->inbox_count &&
           (s = take_next(k, &k->run[n])) != STEP_STUCK) {
        k->inbox_at++;
        if (s == STEP_PASSED)
            continue;
        k->stats.bytes += rung_log_framed_size(k->run[n].payload.len);
        k->next_seq++;
        n++;
    }
    return n;
}

static bool deliver_committed(kafka_log *k, size_t max, rung_log_delivery *out) {
    uint64_t first_seq = k->next_seq;
    size_t n = gather(k, max);
    if (n == 0)
        return false;
    note_up(k);
    k->durable_seq = k->next_seq - 1;
    k->stats.batches++;
    k->stats.records += n;
    if (n > k->stats.batch_records_max)
        k->stats.batch_records_max = n;
    *out = (rung_log_delivery){
        .outcome = RUNG_LOG_COMMITTED, .count = n, .entries = k->run, .first_seq = first_seq};
    return true;
}

static rung_status deliver(rung_log *log, size_t max, rung_log_delivery *out, rung_err *err) {
    kafka_log *k = (kafka_log *)log;
    max = max < INBOX ? max : INBOX;
    give_back(k);
    hear_reports(k);
    fill_inbox(k);
    expire(k);
    if (deliver_refused(k, max, out) || deliver_committed(k, max, out) ||
        deliver_refused(k, max, out)) /* gather may have settled some */
        return RUNG_OK;
    if (k->failure.code == RUNG_OK)
        return RUNG_NOT_FOUND;
    if (err)
        *err = k->failure;
    return k->failure.code;
}

/* Would deliver return something? Only its own thread calls this, so what is there stays there. */
static bool has_outcome(kafka_log *k) {
    rung__envelope e;
    hear_reports(k);
    fill_inbox(k);
    expire(k);
    if (is_refused(k, k->head) || k->failure.code < 0)
        return true;
    if (k->inbox_at == k->inbox_count)
        return false;
    rung_status st =
        rung__kafka_check(&k->config, k->inbox[k->inbox_at], k->id, k->next_seq, &e, NULL);
    return st != RUNG_OK || !is_own(k, &e) || e.serial != k->head ||
           proposal_at(k, e.serial)->phase != SENT;
}

static void wait_for_news(kafka_log *k) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += AWAIT_MS * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000L;
    end.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&k->lock);
    while (!k->has_news && pthread_cond_timedwait(&k->news, &k->lock, &end) == 0) {
    }
    k->has_news = false;
    pthread_mutex_unlock(&k->lock);
}

static void await(rung_log *log) {
    kafka_log *k = (kafka_log *)log;
    while (k->head != k->tail && !has_outcome(k))
        wait_for_news(k);
}

/* ---- the rest of the port ---- */

/* What the partition has. A new leader may not know at once of records that we know to be committed: wait for it. */
static rung_status find_span(kafka_log *k, uint64_t from_seq, uint64_t *first_out,
                             uint64_t *last_out, rung_err *err) {
    int64_t end_ms = rung_clock_monotonic_ms(&k->config.clock) + k->config.connect_ms;
    for (;;) {
        rung_status st = rung__kafka_span(&k->config, k->reader.rk, k->config.connect_ms, first_out,
                                          last_out, err);
        bool is_known = from_seq <= k->durable_seq + 1;
        if (st < 0 || !is_known || from_seq <= *last_out + 1 ||
            rung_clock_monotonic_ms(&k->config.clock) >= end_ms)
            return st;
        rung__kafka_pause();
    }
}

static rung_status start(rung_log *log, uint64_t from_seq, rung_err *err) {
    kafka_log *k = (kafka_log *)log;
    uint64_t first, last;
    rung_status st = find_span(k, from_seq, &first, &last, err);
    if (st < 0)
        return st;
    if (from_seq < first || from_seq > last + 1)
        return RUNG_FAIL(err, RUNG_EINVAL,
                         "topic %s has sequences %llu to %llu and cannot be read from %llu",
                         k->config.topic, (unsigned long long)first, (unsigned long long)last,
                         (unsigned long long)from_seq);
    st = rung__kafka_reader_begin(&k->reader, from_seq, err);
    if (st < 0)
        return st;
    k->next_seq = from_seq;
    k->end_at_start = last;
    k->is_started = true;
    return RUNG_OK;
}

static rung_status sync_now(rung_log *log, rung_err *err) {
    (void)log, (void)err; /* committed is durable */
    return RUNG_OK;
}

static uint64_t durable_seq(const rung_log *log) {
    return ((const kafka_log *)log)->durable_seq;
}

/* The topic forgets records while we read it, as far as the client has heard. */
static uint64_t first_seq(rung_log *log) {
    kafka_log *k = (kafka_log *)log;
    int64_t low, high;
    if (rd_kafka_get_watermark_offsets(k->reader.rk, k->config.topic, RUNG__PARTITION, &low,
                                       &high) == RD_KAFKA_RESP_ERR_NO_ERROR &&
        low >= 0 && (uint64_t)low + 1 > k->first_seq)
        return (uint64_t)low + 1;
    return k->first_seq;
}

static const uint8_t *id_of(const rung_log *log) {
    return ((const kafka_log *)log)->id;
}

/* How long records are kept is the topic's setting: other nodes may need them. */
static rung_status truncate_before(rung_log *log, uint64_t seq, rung_err *err) {
    (void)log, (void)seq, (void)err;
    return RUNG_UNCHANGED;
}

static rung_log_stats stat_of(rung_log *log) {
    kafka_log *k = (kafka_log *)log;
    rung_log_stats s = k->stats;
    s.rebuilds += rung__kafka_sender_rebuilds(k->sender);
    int64_t low, high;
    s.queued = k->tail - k->head;
    s.end_seq = k->durable_seq > k->end_at_start ? k->durable_seq : k->end_at_start;
    if (rd_kafka_get_watermark_offsets(k->reader.rk, k->config.topic, RUNG__PARTITION, &low,
                                       &high) == RD_KAFKA_RESP_ERR_NO_ERROR &&
        high >= 0 && (uint64_t)high > s.end_seq)
        s.end_seq = (uint64_t)high;
    int64_t quiet_ms = quiet_for_ms(k);
    if (k->is_down || quiet_ms > QUIET_MS)
        s.silent_ms = quiet_ms + 1;
    return s;
}

static rung_status flush(kafka_log *k, rung_err *err) {
    int64_t end_us = now_us(k) + (int64_t)k->config.timeout_ms * 1000;
    hear_reports(k);
    while ((k->in_flight > 0 || k->unsent < k->tail) && now_us(k) < end_us) {
        wait_for_news(k);
        hear_reports(k);
    }
    if (k->failure.code < 0) {
        if (err)
            *err = k->failure;
        return k->failure.code;
    }
    if (k->in_flight > 0 || k->unsent < k->tail)
        return RUNG_FAIL_WHY(err, RUNG_EIO, RUNG_REASON_OUTCOME_UNKNOWN,
                             "closed with proposals that Kafka did not acknowledge: %s",
                             rd_kafka_err2str(RD_KAFKA_RESP_ERR__TIMED_OUT));
    return RUNG_OK;
}

static void release(kafka_log *k) {
    const rung_alloc *a = k->config.alloc;
    rd_kafka_t *rk = detach_producer(&k->producer);
    if (rk) {
        rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_destroy(rk);
    }
    rung__kafka_sender_stop(k->sender);
    rung_worker_stop(k->helper);
    k->inbox_at = k->inbox_count;
    give_back(k);
    if (k->reader_events) {
        rd_kafka_queue_cb_event_enable(k->reader_events, NULL, NULL);
        rd_kafka_queue_destroy(k->reader_events);
    }
    if (k->reader.queue)
        rd_kafka_queue_cb_event_enable(k->reader.queue, NULL, NULL);
    rung__kafka_reader_close(&k->reader);
    pthread_cond_destroy(&k->news);
    pthread_mutex_destroy(&k->lock);
    rung_alloc_free(a, k->ring, k->ring ? (k->mask + 1) * sizeof *k->ring : 0);
    rung_alloc_free(a, k, sizeof *k);
}

static rung_status close_log(rung_log *log, rung_err *err) {
    kafka_log *k = (kafka_log *)log;
    rung_status st = flush(k, err);
    release(k);
    return st;
}

static rung_status cursor_open(rung_log *log, uint64_t from_seq, rung_log_cursor **cursor_out,
                               rung_err *err) {
    kafka_log *k = (kafka_log *)log;
    return rung__kafka_cursor_open(log->ops, &k->config, k->id, from_seq, durable_seq(log),
                                   cursor_out, err);
}

/* ---- opening ---- */

/* The id tells this topic from one of the same name in another Kafka cluster. */
static rung_status identify(kafka_log *k, rung_err *err) {
    static const char domain[] = "rung kafka log 1";
    uint8_t digest[RUNG_SHA256_SIZE];
    rung_sha256 hash = {0};
    char *cluster = rd_kafka_clusterid(k->reader.rk, (int)k->config.connect_ms);
    if (!cluster)
        return RUNG_FAIL_WHY(err, RUNG_EIO, RUNG_REASON_LOG_UNAVAILABLE,
                             "no Kafka broker of %.100s tells its cluster's id", k->config.brokers);
    rung_status st = rung_sha256_start(&hash);
    if (st == RUNG_OK) {
        rung_sha256_add(&hash, domain, sizeof domain);
        rung_sha256_add(&hash, cluster, strlen(cluster) + 1);
        rung_sha256_add(&hash, k->config.topic, strlen(k->config.topic));
        rung_sha256_finish(&hash, digest);
        memcpy(k->id, digest, sizeof k->id);
    }
    rung_sha256_deinit(&hash);
    rd_kafka_mem_free(k->reader.rk, cluster);
    return st < 0 ? RUNG_FAIL(err, st, "out of memory") : RUNG_OK;
}

static rung_status open_connections(kafka_log *k, rung_err *err) {
    uint64_t last = 0;
    rung_status st = rung__kafka_reader_open(&k->reader, &k->config, &k->hooks, false, err);
    if (st < 0)
        return st;
    st = rung__kafka_topic_prepare(&k->config, k->reader.rk, &k->trouble, err);
    if (st == RUNG_OK)
        st = identify(k, err);
    if (st == RUNG_OK)
        st = rung__kafka_span(&k->config, k->reader.rk, k->config.connect_ms, &k->first_seq, &last,
                              err);
    if (st < 0)
        return st;
    k->durable_seq = last;
    k->heard_us = now_us(k);
    k->reader_events = rd_kafka_queue_get_main(k->reader.rk);
    rd_kafka_queue_cb_event_enable(k->reader_events, on_queue_event, k);
    rd_kafka_queue_cb_event_enable(k->reader.queue, on_queue_event, k);
    st = rung_worker_start(k->config.threads, k->config.alloc, help, k, &k->helper, err);
    k->is_open = true;
    k->trouble = (rung__kafka_trouble){0};
    if (st == RUNG_OK)
        st = start_producer(k, err);
    return st < 0 ? st : rung__kafka_sender_start(&k->config, tell_news, k, &k->sender, err);
}

static rung_status prepare(kafka_log *k, rung_err *err) {
    uint64_t size = 16;
    while (size < k->config.proposals_max)
        size *= 2;
    k->mask = size - 1;
    k->ring = rung_alloc_get(k->config.alloc, size * sizeof *k->ring);
    if (!k->ring)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for the log's queue");
    return rung_random_fill(k->config.random, &k->node, sizeof k->node, err);
}

rung_status rung_kafka_log_open(const rung_kafka_config *config, rung_log **log_out,
                                rung_err *err) {
    static const rung_log_ops ops = {
        .start = start,
        .propose = propose,
        .deliver = deliver,
        .await = await,
        .sync = sync_now,
        .durable_seq = durable_seq,
        .first_seq = first_seq,
        .id = id_of,
        .cursor_open = cursor_open,
        .cursor_read = rung__kafka_cursor_read,
        .cursor_close = rung__kafka_cursor_close,
        .truncate_before = truncate_before,
        .stat = stat_of,
        .close = close_log,
        .is_shared = true,
    };
    kafka_log *k = rung_alloc_zeroed(config->alloc, sizeof *k);
    if (!k)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    k->port.ops = &ops;
    k->config = *config;
    rung__kafka_defaults(&k->config);
    k->hooks = (rung__kafka_hooks){.reported = on_report, .erred = on_error, .ctx = k};
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->news, NULL);
    rung_status st = prepare(k, err);
    if (st == RUNG_OK)
        st = open_connections(k, err);
    if (st < 0) {
        release(k);
        return st;
    }
    *log_out = &k->port;
    return RUNG_OK;
}
