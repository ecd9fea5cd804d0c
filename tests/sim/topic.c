/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/topic.h"

#include "journal/proposals.h"
#include "sim/task.h"
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

enum { PROPOSALS_DEFAULT = 256, RUN_MAX = 64, CURSOR_MAX = 20 };

typedef enum phase { SENT, STORED, ACKED, REJECTED, UNKNOWN } phase;

typedef struct proposal {
    rung_log_entry entry;
    int64_t sent_us;
    phase phase;
    bool has_left; /* a broker may have it */
} proposal;

typedef struct topic_log {
    rung_log port;
    sim_topic *topic;
    sim_topic_config config;
    sim_topic_link whole; /* the link, if there is no other */
    uint64_t node;
    proposal *ring; /* by serial */
    uint64_t head, tail;
    uint64_t freed; /* before head: lent out by the last delivery */
    uint64_t durable, fetched, next_seq;
    bool is_started;
    rung_log_entry run[RUN_MAX];
    rung_log_stats stats;
} topic_log;

typedef struct topic_cursor {
    rung_log_cursor port;
    topic_log *log;
    uint64_t next_seq;
} topic_cursor;

static topic_log *self(const rung_log *log) {
    return (topic_log *)(uintptr_t)log;
}

static uint32_t below(const topic_log *l, uint32_t n) {
    return (uint32_t)rung_rng_below(l->topic->rng, n);
}

/* ---- the topic ---- */

void sim_topic_init(sim_topic *t, rung_rng *rng) {
    *t = (sim_topic){.rng = rng, .first = 1};
    for (size_t i = 0; i < sizeof t->id; i++)
        t->id[i] = (uint8_t)rung_rng_next(rng);
}

static void free_records(sim_topic_record *records, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        free(records[i].bytes);
    free(records);
}

void sim_topic_deinit(sim_topic *t) {
    free_records(t->records, t->count);
    free_records(t->late, t->late_count);
}

static void append(sim_topic_record **records, uint64_t *count, uint64_t *room,
                   sim_topic_record r) {
    if (*count == *room) {
        *room = *room ? 2 * *room : 64;
        *records = realloc(*records, *room * sizeof **records);
        CHECK(*records != NULL);
    }
    (*records)[(*count)++] = r;
}

static sim_topic_record with_bytes(sim_topic_record r, rung_slice payload) {
    r.len = payload.len;
    r.bytes = malloc(payload.len + 1);
    CHECK(r.bytes != NULL);
    if (payload.len)
        memcpy(r.bytes, payload.ptr, payload.len);
    return r;
}

static void store(sim_topic *t, sim_topic_record r, rung_slice payload) {
    append(&t->records, &t->count, &t->room, with_bytes(r, payload));
}

void sim_topic_add(sim_topic *t, uint16_t type, rung_slice payload) {
    store(t, (sim_topic_record){.type = type, .node = UINT64_MAX}, payload);
}

void sim_topic_settle_late(sim_topic *t, bool is_stored) {
    if (!t->late_count)
        return;
    uint64_t i = rung_rng_below(t->rng, t->late_count);
    sim_topic_record r = t->late[i];
    t->late[i] = t->late[--t->late_count];
    if (is_stored)
        append(&t->records, &t->count, &t->room, r);
    else
        free(r.bytes);
    t->lates += is_stored;
}

/* ---- between a node and the brokers ---- */

static proposal *at(const topic_log *l, uint64_t serial) {
    return &l->ring[serial % l->config.proposals_max];
}

static int64_t now_us(const topic_log *l) {
    return l->config.monotonic_us ? *l->config.monotonic_us : 0;
}

static sim_topic_record record_of(const topic_log *l, uint64_t serial, bool is_copy) {
    return (sim_topic_record){
        .type = at(l, serial)->entry.type, .is_copy = is_copy, .node = l->node, .serial = serial};
}

static void store_one(topic_log *l, uint64_t serial, bool is_copy) {
    store(l->topic, record_of(l, serial, is_copy), at(l, serial)->entry.payload);
    l->topic->copies += is_copy;
}

/* The answer to a request is lost, and perhaps the request, too. */
static void lose(topic_log *l, uint64_t serial) {
    sim_topic *t = l->topic;
    uint32_t fate = below(l, 3);
    t->lost++;
    if (fate == 0)
        store_one(l, serial, false);
    else if (fate == 1)
        append(&t->late, &t->late_count, &t->late_room,
               with_bytes(record_of(l, serial, false), at(l, serial)->entry.payload));
}

static bool is_lucky(const topic_log *l, uint32_t per_mille) {
    return below(l, 1000) >= per_mille;
}

/* The oldest that was sent reaches the broker, or does not. */
static bool carry(topic_log *l) {
    uint64_t serial = l->head;
    while (serial < l->tail && at(l, serial)->phase != SENT)
        serial++;
    if (serial == l->tail)
        return false;
    proposal *p = at(l, serial);
    p->has_left = true;
    if (is_lucky(l, l->topic->lose)) {
        store_one(l, serial, false);
        p->phase = STORED;
        if (!is_lucky(l, l->topic->copy))
            store_one(l, serial, true);
        return true;
    }
    lose(l, serial);
    p->phase = UNKNOWN;
    return true;
}

static bool acknowledge(topic_log *l) {
    uint64_t serial = l->head;
    while (serial < l->tail && at(l, serial)->phase != STORED)
        serial++;
    if (serial == l->tail)
        return false;
    at(l, serial)->phase = ACKED;
    return true;
}

static bool fetch(topic_log *l) {
    if (!l->is_started || l->fetched == l->topic->count ||
        (l->config.link->lag && !is_lucky(l, l->config.link->lag)))
        return false;
    l->fetched += 1 + below(l, (uint32_t)(l->topic->count - l->fetched));
    return true;
}

static rung_status is_silent(const topic_log *l, rung_err *err) {
    l->config.link->has_failed = true;
    return RUNG_FAIL_WHY(err, RUNG_EIO, RUNG_REASON_LOG_UNAVAILABLE, "no broker answers");
}

static bool is_late(const topic_log *l, int64_t since_us) {
    return l->config.monotonic_us && now_us(l) - since_us >= l->config.timeout_us;
}

/* Nobody waits forever. */
static bool give_up(topic_log *l) {
    bool is_one = false;
    for (uint64_t serial = l->head; serial < l->tail; serial++) {
        proposal *p = at(l, serial);
        if (p->phase > ACKED || !is_late(l, p->sent_us))
            continue;
        p->phase = p->has_left ? UNKNOWN : REJECTED;
        is_one = true;
    }
    return is_one;
}

/* One of the things that can happen: dice 0 to 2. */
static bool move(topic_log *l, uint32_t dice) {
    const sim_topic_link *link = l->config.link;
    switch (dice) {
    case 0:
        return !link->is_cut_up && carry(l);
    case 1:
        return !link->is_cut_down && acknowledge(l);
    default:
        return !link->is_cut_down && fetch(l);
    }
}

bool sim_topic_step(rung_log *log) {
    topic_log *l = self(log);
    bool is_done = give_up(l);
    uint32_t dice = below(l, 3);
    for (uint32_t i = 0; !is_done && !l->topic->is_paused && i < 3; i++)
        is_done = move(l, (dice + i) % 3);
    if (is_done && l->config.wake)
        l->config.wake(l->config.ctx);
    return is_done;
}

/* ---- calls that wait for an answer ---- */

typedef struct patience {
    const topic_log *log;
    int64_t since_us;
} patience;

static bool is_reached(const topic_log *l) {
    return !l->topic->is_paused && !l->config.link->is_cut_up && !l->config.link->is_cut_down;
}

static bool is_call_over(void *ctx) {
    const patience *p = ctx;
    return is_reached(p->log) || is_late(p->log, p->since_us);
}

/* RUNG_OK when the brokers answer; RUNG_EIO: they did not in time. */
static rung_status reach(const topic_log *l, rung_err *err) {
    patience p = {l, now_us(l)};
    sim_process *process = sim_process_running();
    if (process && below(l, 3) == 0)
        sim_process_pause(process); /* others write meanwhile */
    if (process && !is_reached(l))
        sim_process_wait(process, is_call_over, &p);
    return is_reached(l) ? RUNG_OK : is_silent(l, err);
}

/* ---- the port ---- */

static rung_status start(rung_log *log, uint64_t from_seq, rung_err *err) {
    topic_log *l = self(log);
    rung_status st = reach(l, err);
    if (st < 0)
        return st;
    if (from_seq < l->topic->first || from_seq > l->topic->count + 1)
        return RUNG_FAIL(err, RUNG_EINVAL, "the topic has records %llu to %llu",
                         (unsigned long long)l->topic->first, (unsigned long long)l->topic->count);
    l->next_seq = from_seq;
    l->fetched = from_seq - 1;
    l->is_started = true;
    return RUNG_OK;
}

static rung_status propose(rung_log *log, const rung_log_entry *entries, size_t count,
                           rung_err *err) {
    topic_log *l = self(log);
    if (count == 0)
        return RUNG_FAIL(err, RUNG_EINVAL, "nothing is proposed");
    for (size_t i = 0; i < count; i++)
        if (entries[i].payload.len > RUNG_LOG_RECORD_MAX)
            return RUNG_FAIL(err, RUNG_ELIMIT, "a record is too long");
    if (l->tail - l->freed + count > l->config.proposals_max)
        return RUNG_FAIL(err, RUNG_ELIMIT, "too many proposals are under way");
    for (size_t i = 0; i < count; i++)
        *at(l, l->tail++) = (proposal){.entry = entries[i], .sent_us = now_us(l)};
    return RUNG_OK;
}

/* Those at the head that have the same outcome, and it is not committed. */
static rung_status deliver_settled(topic_log *l, size_t max, rung_log_delivery *out) {
    phase is = at(l, l->head)->phase;
    size_t n = 0;
    for (; n < max && l->head < l->tail && at(l, l->head)->phase == is; n++, l->head++)
        l->run[n] = at(l, l->head)->entry;
    bool is_rejected = is == REJECTED;
    *out = (rung_log_delivery){.outcome = is_rejected ? RUNG_LOG_REJECTED : RUNG_LOG_UNKNOWN,
                               .count = n,
                               .entries = l->run};
    rung_ignore(
        RUNG_FAIL_WHY(&out->why, RUNG_EIO,
                      is_rejected ? RUNG_REASON_LOG_UNAVAILABLE : RUNG_REASON_OUTCOME_UNKNOWN,
                      "Kafka: the brokers did not answer in time"),
        "it is the reason");
    *(is_rejected ? &l->stats.rejected : &l->stats.unknown) += n;
    return RUNG_OK;
}

/* May the record be delivered now, and is it the head's? Settles what cannot come any more. */
static bool is_next(topic_log *l, const sim_topic_record *r, bool *is_own) {
    *is_own = false;
    if (r->node != l->node || r->serial < l->head)
        return true;
    for (uint64_t serial = l->head; serial < r->serial; serial++)
        at(l, serial)->phase = UNKNOWN;
    if (l->head < r->serial)
        return false;
    *is_own = at(l, l->head)->phase == ACKED;
    return *is_own; /* UNKNOWN leaves first, then the record is a stranger's */
}

static bool is_settled(const topic_log *l) {
    return l->head < l->tail && at(l, l->head)->phase >= REJECTED;
}

static rung_status deliver(rung_log *log, size_t max, rung_log_delivery *out, rung_err *err) {
    topic_log *l = self(log);
    size_t n = 0;
    (void)err;
    l->freed = l->head;
    if (max > RUN_MAX)
        max = RUN_MAX;
    uint64_t first = l->next_seq;
    while (n < max && !is_settled(l) && l->next_seq <= l->fetched) {
        const sim_topic_record *r = &l->topic->records[l->next_seq - 1];
        bool is_own;
        if (!is_next(l, r, &is_own))
            break;
        l->run[n++] = is_own ? at(l, l->head)->entry
                             : (rung_log_entry){.payload = rung_slice_of(r->bytes, r->len),
                                                .type = r->type,
                                                .tag = RUNG_LOG_FOREIGN};
        l->head += is_own;
        l->stats.foreign += !is_own;
        l->stats.bytes += rung_log_framed_size(r->len);
        l->next_seq++;
    }
    if (n == 0)
        return is_settled(l) ? deliver_settled(l, max, out) : RUNG_NOT_FOUND;
    *out = (rung_log_delivery){
        .outcome = RUNG_LOG_COMMITTED, .count = n, .entries = l->run, .first_seq = first};
    l->durable = l->next_seq - 1;
    l->stats.batches++;
    l->stats.records += n;
    return RUNG_OK;
}

/* Does every proposal have an outcome that deliver would give? */
static bool is_answered(void *ctx) {
    const topic_log *l = ctx;
    uint64_t seq = l->next_seq;
    for (uint64_t serial = l->head; serial < l->tail; serial++) {
        const proposal *p = at(l, serial);
        if (p->phase >= REJECTED)
            continue;
        if (p->phase != ACKED)
            return false;
        for (;; seq++) {
            if (seq > l->fetched)
                return false;
            const sim_topic_record *r = &l->topic->records[seq - 1];
            if (r->node == l->node && r->serial == serial)
                break;
        }
    }
    return true;
}

static void await(rung_log *log) {
    sim_process *p = sim_process_running();
    while (!is_answered(log)) {
        if (p)
            sim_process_wait(p, is_answered, log);
        else
            CHECK(sim_topic_step(log));
    }
}

static rung_status sync_now(rung_log *log, rung_err *err) {
    (void)log, (void)err;
    return RUNG_OK;
}

static uint64_t durable_seq(const rung_log *log) {
    return self(log)->durable;
}

static uint64_t first_seq(rung_log *log) {
    return self(log)->topic->first;
}

static const uint8_t *id_of(const rung_log *log) {
    return self(log)->topic->id;
}

static rung_status cursor_open(rung_log *log, uint64_t from_seq, rung_log_cursor **cursor_out,
                               rung_err *err) {
    topic_log *l = self(log);
    rung_status st = reach(l, err);
    if (st < 0)
        return st;
    if (from_seq < l->topic->first)
        return RUNG_FAIL(err, RUNG_ESTALE, "the topic begins at %llu",
                         (unsigned long long)l->topic->first);
    topic_cursor *c = rung_alloc_zeroed(l->config.alloc, sizeof *c);
    if (!c)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    *c = (topic_cursor){.port = {log->ops}, .log = l, .next_seq = from_seq};
    *cursor_out = &c->port;
    return RUNG_OK;
}

static rung_status cursor_read(rung_log_cursor *cursor, rung_log_record *records, size_t max,
                               size_t *count_out, rung_err *err) {
    topic_cursor *c = (topic_cursor *)cursor;
    const sim_topic *t = c->log->topic;
    rung_status st = reach(c->log, err);
    if (st < 0)
        return st;
    size_t n = 0;
    if (sim_process_running() && max > CURSOR_MAX)
        max = CURSOR_MAX;
    for (; n < max && c->next_seq <= t->count; n++, c->next_seq++) {
        const sim_topic_record *r = &t->records[c->next_seq - 1];
        records[n] = (rung_log_record){c->next_seq, rung_slice_of(r->bytes, r->len), r->type};
    }
    *count_out = n;
    return n ? RUNG_OK : RUNG_NOT_FOUND;
}

static void cursor_close(rung_log_cursor *cursor) {
    topic_cursor *c = (topic_cursor *)cursor;
    rung_alloc_free(c->log->config.alloc, c, sizeof *c);
}

static rung_status truncate_before(rung_log *log, uint64_t seq, rung_err *err) {
    (void)log, (void)seq, (void)err;
    return RUNG_UNCHANGED;
}

static rung_log_stats stat_of(rung_log *log) {
    topic_log *l = self(log);
    rung_log_stats s = l->stats;
    s.queued = l->tail - l->head;
    s.end_seq = l->fetched > l->durable ? l->fetched : l->durable;
    return s;
}

static rung_status close_log(rung_log *log, rung_err *err) {
    topic_log *l = self(log);
    (void)err;
    await(log);
    if (l->config.self)
        *l->config.self = NULL;
    rung_alloc_free(l->config.alloc, l->ring, l->config.proposals_max * sizeof *l->ring);
    rung_alloc_free(l->config.alloc, l, sizeof *l);
    return RUNG_OK;
}

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
    .cursor_read = cursor_read,
    .cursor_close = cursor_close,
    .truncate_before = truncate_before,
    .stat = stat_of,
    .close = close_log,
    .is_shared = true,
};

rung_status sim_topic_open(sim_topic *t, const sim_topic_config *config, rung_log **log_out,
                           rung_err *err) {
    topic_log *l = rung_alloc_zeroed(config->alloc, sizeof *l);
    CHECK(l != NULL);
    *l = (topic_log){.port = {&ops}, .topic = t, .config = *config, .node = t->openings++};
    if (!l->config.link)
        l->config.link = &l->whole;
    rung_status st = reach(l, err);
    if (st < 0) {
        rung_alloc_free(config->alloc, l, sizeof *l);
        return st;
    }
    l->durable = t->count;
    if (!l->config.proposals_max)
        l->config.proposals_max = PROPOSALS_DEFAULT;
    l->ring = rung_alloc_zeroed(config->alloc, l->config.proposals_max * sizeof *l->ring);
    CHECK(l->ring != NULL);
    if (config->self)
        *config->self = &l->port;
    *log_out = &l->port;
    return RUNG_OK;
}
