/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/topic.h"

#include "journal/proposals.h"
#include "sim/task.h"
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

enum { PROPOSALS_DEFAULT = 256, RUN_MAX = 64 };

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
    uint64_t node;
    proposal *ring; /* by serial */
    uint64_t head, tail;
    uint64_t freed; /* before head: lent out by the last delivery */
    uint64_t fetched, next_seq;
    bool is_cut_off, is_started;
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
    *t = (sim_topic){.rng = rng};
    for (size_t i = 0; i < sizeof t->id; i++)
        t->id[i] = (uint8_t)rung_rng_next(rng);
}

void sim_topic_deinit(sim_topic *t) {
    for (uint64_t i = 0; i < t->count; i++)
        free(t->records[i].bytes);
    free(t->records);
}

static void store(sim_topic *t, sim_topic_record r, rung_slice payload) {
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : 64;
        t->records = realloc(t->records, t->room * sizeof *t->records);
        CHECK(t->records != NULL);
    }
    r.len = payload.len;
    r.bytes = malloc(payload.len + 1);
    CHECK(r.bytes != NULL);
    if (payload.len)
        memcpy(r.bytes, payload.ptr, payload.len);
    t->records[t->count++] = r;
}

void sim_topic_add(sim_topic *t, uint16_t type, rung_slice payload) {
    store(t, (sim_topic_record){.type = type, .node = UINT64_MAX}, payload);
}

/* ---- between a node and the brokers ---- */

static proposal *at(const topic_log *l, uint64_t serial) {
    return &l->ring[serial % l->config.proposals_max];
}

static int64_t now_us(const topic_log *l) {
    return l->config.monotonic_us ? *l->config.monotonic_us : 0;
}

static void store_one(topic_log *l, uint64_t serial, bool is_copy) {
    const proposal *p = at(l, serial);
    sim_topic_record r = {
        .type = p->entry.type, .is_copy = is_copy, .node = l->node, .serial = serial};
    store(l->topic, r, p->entry.payload);
    l->topic->copies += is_copy;
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
    l->topic->lost++;
    if (below(l, 2)) /* only the acknowledgement was lost */
        store_one(l, serial, false);
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
    if (!l->is_started || l->fetched == l->topic->count)
        return false;
    l->fetched += 1 + below(l, (uint32_t)(l->topic->count - l->fetched));
    return true;
}

/* Nobody waits forever. */
static bool give_up(topic_log *l) {
    bool is_one = false;
    for (uint64_t serial = l->head; l->config.monotonic_us && serial < l->tail; serial++) {
        proposal *p = at(l, serial);
        if (p->phase > ACKED || now_us(l) - p->sent_us < l->config.timeout_us)
            continue;
        p->phase = p->has_left ? UNKNOWN : REJECTED;
        is_one = true;
    }
    return is_one;
}

bool sim_topic_step(rung_log *log) {
    topic_log *l = self(log);
    bool is_done = give_up(l);
    uint32_t dice = below(l, 3);
    for (uint32_t i = 0; !is_done && !l->is_cut_off && i < 3; i++)
        is_done = (dice + i) % 3 == 0 ? carry(l) : (dice + i) % 3 == 1 ? acknowledge(l) : fetch(l);
    if (is_done && l->config.wake)
        l->config.wake(l->config.ctx);
    return is_done;
}

void sim_topic_cut_off(rung_log *log, bool is_cut_off) {
    self(log)->is_cut_off = is_cut_off;
}

/* ---- the port ---- */

static rung_status start(rung_log *log, uint64_t from_seq, rung_err *err) {
    topic_log *l = self(log);
    if (from_seq == 0 || from_seq > l->topic->count + 1)
        return RUNG_FAIL(err, RUNG_EINVAL, "the topic has %llu records",
                         (unsigned long long)l->topic->count);
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
    *out = (rung_log_delivery){.outcome = is == REJECTED ? RUNG_LOG_REJECTED : RUNG_LOG_UNKNOWN,
                               .count = n,
                               .entries = l->run};
    rung_ignore(RUNG_FAIL(&out->why, RUNG_EIO, "the brokers did not answer in time"), "told");
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
        l->stats.records += is_own;
        l->next_seq++;
    }
    if (n == 0)
        return is_settled(l) ? deliver_settled(l, max, out) : RUNG_NOT_FOUND;
    *out = (rung_log_delivery){
        .outcome = RUNG_LOG_COMMITTED, .count = n, .entries = l->run, .first_seq = first};
    l->stats.batches++;
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
    const topic_log *l = self(log);
    return l->is_started ? l->fetched : l->topic->count;
}

static rung_status cursor_open(rung_log *log, uint64_t from_seq, rung_log_cursor **cursor_out,
                               rung_err *err) {
    topic_log *l = self(log);
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
    (void)err;
    size_t n = 0;
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
    return self(log)->stats;
}

static rung_status close_log(rung_log *log, rung_err *err) {
    topic_log *l = self(log);
    (void)err;
    await(log);
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
    .cursor_open = cursor_open,
    .cursor_read = cursor_read,
    .cursor_close = cursor_close,
    .truncate_before = truncate_before,
    .stat = stat_of,
    .close = close_log,
};

rung_log *sim_topic_open(sim_topic *t, const sim_topic_config *config) {
    topic_log *l = rung_alloc_zeroed(config->alloc, sizeof *l);
    CHECK(l != NULL);
    *l = (topic_log){.port = {&ops}, .topic = t, .config = *config, .node = t->openings++};
    if (!l->config.proposals_max)
        l->config.proposals_max = PROPOSALS_DEFAULT;
    l->ring = rung_alloc_zeroed(config->alloc, l->config.proposals_max * sizeof *l->ring);
    CHECK(l->ring != NULL);
    return &l->port;
}
