/* SPDX-License-Identifier: Apache-2.0 */
/* Strangers in a topic. Everything here walks the topic from a sequence to its end, with a reader of its own.
 *
 * Invariants:
 *   1. A decision stands behind the records that it is about: as long as the topic has those, it has the decision.
 *   2. What may be passed over is judged from the key alone (envelope.h), by the tool that decides and again by every
 *      server: a decision about a record of ours has no effect. */
#include "stream/skip.h"

#include "base/bytes.h"
#include "model/utf8.h"
#include "stream/kafka_client.h"

#include <stdio.h>
#include <string.h>

enum { HEAD_SIZE = 48, LISTED_MAX = 65536 };

typedef unsigned long long ull;

static const char magic[4] = {'R', 'G', 'S', '1'};

/* ---- the payload ---- */

size_t rung_kafka_decision_encode(const rung_kafka_decision *d,
                                  const uint8_t log_id[RUNG_LOG_ID_SIZE],
                                  uint8_t out[RUNG_KAFKA_DECISION_MAX]) {
    memcpy(out, magic, sizeof magic);
    rung_put32(out + 4, 0);
    memcpy(out + 8, log_id, RUNG_LOG_ID_SIZE);
    rung_put64(out + 24, d->offset);
    rung_put64(out + 32, d->count);
    rung_put64(out + 40, (uint64_t)d->decided_ms);
    memcpy(out + HEAD_SIZE, d->reason.ptr, d->reason.len);
    return HEAD_SIZE + d->reason.len;
}

static bool is_reason(rung_slice text) {
    return text.len > 0 && text.len <= RUNG_KAFKA_REASON_MAX && rung_utf8_is_plain(text);
}

bool rung_kafka_decision_decode(rung_slice payload, const uint8_t log_id[RUNG_LOG_ID_SIZE],
                                rung_kafka_decision *out) {
    const uint8_t *in = (const uint8_t *)payload.ptr;
    if (payload.len <= HEAD_SIZE || memcmp(in, magic, sizeof magic) != 0 ||
        rung_get32(in + 4) != 0 || memcmp(in + 8, log_id, RUNG_LOG_ID_SIZE) != 0)
        return false;
    *out = (rung_kafka_decision){
        .offset = rung_get64(in + 24),
        .count = rung_get64(in + 32),
        .decided_ms = (int64_t)rung_get64(in + 40),
        .reason = rung_slice_of(payload.ptr + HEAD_SIZE, payload.len - HEAD_SIZE),
    };
    return out->count > 0 && out->offset <= INT64_MAX && out->count <= INT64_MAX &&
           is_reason(out->reason);
}

/* ---- walking ---- */

/* A record of the topic; envelope NULL: a stranger. Anything but RUNG_OK ends the walk. */
typedef rung_status visitor(void *ctx, uint64_t seq, const rd_kafka_message_t *m,
                            const rung__envelope *envelope, rung_err *err);

typedef struct walk {
    const rung_kafka_config *config;
    const uint8_t *log_id;
    rung__kafka_reader reader;
    uint64_t next_seq, last_seq;
    int64_t heard_ms; /* when the last record came */
    visitor *visit;
    void *ctx;
} walk;

static int64_t now_ms(const walk *w) {
    return rung_clock_monotonic_ms(&w->config->clock);
}

static rung_status visit_message(walk *w, const rd_kafka_message_t *m, rung_err *err) {
    rung__envelope envelope;
    rung_err why;
    rung_status st = rung__kafka_check(w->config, m, w->log_id, w->next_seq, &envelope, &why);
    bool is_strange = st == RUNG_ECORRUPT && rung__kafka_is_stranger(m, w->log_id, w->next_seq);
    if (st == RUNG_EBUSY && now_ms(w) - w->heard_ms < w->config->connect_ms)
        return RUNG_OK;
    if (st != RUNG_OK && !is_strange) {
        if (err && st < 0)
            *err = why;
        return st;
    }
    w->heard_ms = now_ms(w);
    return w->visit(w->ctx, w->next_seq++, m, is_strange ? NULL : &envelope, err);
}

static rung_status walk_on(walk *w, rung_err *err) {
    rung_status st = RUNG_OK;
    w->heard_ms = now_ms(w);
    while (st == RUNG_OK && w->next_seq <= w->last_seq) {
        rd_kafka_message_t *m = rd_kafka_consume_queue(w->reader.queue, (int)w->config->connect_ms);
        if (!m)
            return RUNG_FAIL_WHY(err, RUNG_EIO, RUNG_REASON_LOG_UNAVAILABLE,
                                 "no record of topic %s came in %u ms", w->config->topic,
                                 w->config->connect_ms);
        st = visit_message(w, m, err);
        rd_kafka_message_destroy(m);
    }
    return st;
}

/* Visit the records from `from_seq` to the end of the topic as it is now. RUNG_OK, or what the visitor returned. */
static rung_status walk_topic(const rung_kafka_config *config,
                              const uint8_t log_id[RUNG_LOG_ID_SIZE], uint64_t from_seq,
                              visitor *visit, void *ctx, uint64_t *last_seq_out, rung_err *err) {
    walk w = {.config = config, .log_id = log_id, .visit = visit, .ctx = ctx};
    uint64_t first;
    rung_status st = rung__kafka_reader_open(&w.reader, config, NULL, false, err);
    if (st == RUNG_OK)
        st = rung__kafka_span(config, w.reader.rk, config->connect_ms, &first, &w.last_seq, err);
    if (st == RUNG_OK) {
        w.next_seq = from_seq > first ? from_seq : first;
        *last_seq_out = w.last_seq;
    }
    if (st == RUNG_OK && w.next_seq <= w.last_seq)
        st = rung__kafka_reader_begin(&w.reader, w.next_seq, err);
    if (st == RUNG_OK)
        st = walk_on(&w, err);
    rung__kafka_reader_close(&w.reader);
    return st;
}

static bool is_decision(const rd_kafka_message_t *m, const rung__envelope *envelope,
                        const uint8_t *log_id, rung_kafka_decision *out) {
    return envelope && envelope->type == RUNG_LOG_TYPE_VOID &&
           rung_kafka_decision_decode(rung_slice_of(m->payload, m->len), log_id, out);
}

/* ---- what a cursor asks ---- */

typedef struct search {
    rung__skips *skips;
    const rung_kafka_config *config;
    const uint8_t *log_id;
} search;

static rung_status note_decision(void *ctx, uint64_t seq, const rd_kafka_message_t *m,
                                 const rung__envelope *envelope, rung_err *err) {
    search *found = ctx;
    rung__skips *s = found->skips;
    rung_kafka_decision d;
    if (!is_decision(m, envelope, found->log_id, &d) || d.offset + d.count > seq - 1) /* 1 */
        return RUNG_OK;
    rung__skip *all =
        rung_alloc_array(found->config->alloc, s->all, &s->capacity, s->count, sizeof *all);
    if (!all)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    s->all = all;
    s->all[s->count++] = (rung__skip){.offset = d.offset, .count = d.count};
    rung__kafka_say(found->config,
                    "topic %s: %llu records from offset %llu on are not of this log and are passed "
                    "over, as decided at offset %llu: %.*s",
                    found->config->topic, (ull)d.count, (ull)d.offset, (ull)seq - 1,
                    (int)d.reason.len, d.reason.ptr);
    return RUNG_OK;
}

static bool covers(const rung__skips *s, uint64_t offset) {
    for (uint32_t i = 0; i < s->count; i++)
        if (offset >= s->all[i].offset && offset - s->all[i].offset < s->all[i].count)
            return true;
    return false;
}

rung_status rung__skips_ask(rung__skips *s, const rung_kafka_config *config,
                            const uint8_t log_id[RUNG_LOG_ID_SIZE], uint64_t seq, rung_err *err) {
    search found = {s, config, log_id};
    if (covers(s, seq - 1))
        return RUNG_OK;
    uint64_t from = s->read_to > seq ? s->read_to + 1 : seq + 1;
    rung_status st = walk_topic(config, log_id, from, note_decision, &found, &s->read_to, err);
    if (st < 0)
        return st;
    return covers(s, seq - 1) ? RUNG_OK : RUNG_NOT_FOUND;
}

void rung__skips_deinit(rung__skips *s, const rung_alloc *alloc) {
    rung_alloc_free(alloc, s->all, s->capacity * sizeof *s->all);
    *s = (rung__skips){0};
}

/* ---- listing ---- */

typedef struct decided {
    rung_kafka_decision what;
    uint64_t at; /* its offset */
    char reason[RUNG_KAFKA_REASON_MAX];
} decided;

typedef struct listing {
    const rung_kafka_config *config;
    const uint8_t *log_id;
    rung_kafka_stranger *strangers;
    uint32_t stranger_count, stranger_capacity;
    decided *decisions;
    uint32_t decision_count, decision_capacity;
} listing;

static rung_status add_stranger(listing *l, uint64_t offset, const rd_kafka_message_t *m,
                                rung_err *err) {
    rung__envelope unused;
    rung_err why;
    rung_kafka_stranger *last = l->stranger_count ? &l->strangers[l->stranger_count - 1] : NULL;
    if (last && last->offset + last->count == offset) {
        last->count++;
        return RUNG_OK;
    }
    rung_kafka_stranger *all =
        l->stranger_count == LISTED_MAX
            ? NULL
            : rung_alloc_array(l->config->alloc, l->strangers, &l->stranger_capacity,
                               l->stranger_count, sizeof *all);
    if (!all)
        return RUNG_FAIL(err, RUNG_ELIMIT, "topic %s has too many strange records to list",
                         l->config->topic);
    l->strangers = all;
    rung_ignore(rung__envelope_decode(rung_slice_of(m->key, m->key_len), l->log_id, &unused, &why),
                "it is the reason");
    all[l->stranger_count] = (rung_kafka_stranger){.offset = offset, .count = 1};
    snprintf(all[l->stranger_count].why, sizeof all->why, "%.60s", why.message);
    l->stranger_count++;
    return RUNG_OK;
}

static rung_status list_record(void *ctx, uint64_t seq, const rd_kafka_message_t *m,
                               const rung__envelope *envelope, rung_err *err) {
    listing *l = ctx;
    rung_kafka_decision d;
    if (!envelope)
        return add_stranger(l, seq - 1, m, err);
    if (!is_decision(m, envelope, l->log_id, &d))
        return RUNG_OK;
    decided *all = l->decision_count == LISTED_MAX
                       ? NULL
                       : rung_alloc_array(l->config->alloc, l->decisions, &l->decision_capacity,
                                          l->decision_count, sizeof *all);
    if (!all)
        return RUNG_FAIL(err, RUNG_ELIMIT, "topic %s has too many decisions to list",
                         l->config->topic);
    l->decisions = all;
    decided *one = &all[l->decision_count++];
    *one = (decided){.what = d, .at = seq - 1};
    memcpy(one->reason, d.reason.ptr, d.reason.len);
    return RUNG_OK;
}

/* How many of [offset, offset + count) a decision names. */
static uint64_t overlap(const rung_kafka_stranger *s, const rung_kafka_decision *d) {
    uint64_t from = s->offset > d->offset ? s->offset : d->offset;
    uint64_t s_end = s->offset + s->count, d_end = d->offset + d->count;
    uint64_t to = s_end < d_end ? s_end : d_end;
    return to > from ? to - from : 0;
}

static void judge_stranger(const listing *l, rung_kafka_stranger *s) {
    for (uint32_t i = 0; i < l->decision_count; i++) {
        const decided *d = &l->decisions[i];
        uint64_t named = overlap(s, &d->what);
        if (!named)
            continue;
        s->skipped = s->skipped + named < s->count ? s->skipped + named : s->count;
        s->decided_at = d->at;
        s->decided_ms = d->what.decided_ms;
        s->reason = rung_slice_of(d->reason, d->what.reason.len);
    }
}

/* `config` with its defaults, for a topic that must exist. */
static rung_kafka_config settled(const rung_kafka_config *config) {
    rung_kafka_config c = *config;
    rung__kafka_defaults(&c);
    c.must_exist = true;
    return c;
}

rung_status rung_kafka_strangers(const rung_kafka_config *config,
                                 void (*each)(void *ctx, const rung_kafka_stranger *one), void *ctx,
                                 rung_err *err) {
    rung_kafka_config c = settled(config);
    rung_log *log;
    uint64_t last;
    rung_status st = rung_kafka_log_open(&c, &log, err);
    if (st < 0)
        return st;
    listing l = {.config = &c, .log_id = rung_log_id(log)};
    st = walk_topic(&c, l.log_id, 1, list_record, &l, &last, err);
    for (uint32_t i = 0; st == RUNG_OK && i < l.stranger_count; i++) {
        judge_stranger(&l, &l.strangers[i]);
        each(ctx, &l.strangers[i]);
    }
    rung_alloc_free(c.alloc, l.strangers, l.stranger_capacity * sizeof *l.strangers);
    rung_alloc_free(c.alloc, l.decisions, l.decision_capacity * sizeof *l.decisions);
    rung_ignore(rung_log_close(log, NULL), "it was only read");
    return st;
}

/* ---- deciding ---- */

typedef struct inspection {
    const rung_kafka_config *config;
    uint64_t left;
} inspection;

static rung_status inspect(void *ctx, uint64_t seq, const rd_kafka_message_t *m,
                           const rung__envelope *envelope, rung_err *err) {
    inspection *i = ctx;
    (void)m;
    if (envelope)
        return RUNG_FAIL(err, RUNG_EREFUSED,
                         "the record at offset %llu of topic %s is of this log: a server may have "
                         "applied it",
                         (ull)seq - 1, i->config->topic);
    return --i->left ? RUNG_OK : RUNG_NOT_FOUND; /* all were seen */
}

static rung_status check_decision(const rung_kafka_config *c, rung_log *log,
                                  const rung_kafka_decision *d, rung_err *err) {
    inspection look = {c, d->count};
    uint64_t first = rung_log_first_seq(log) - 1, end = rung_log_durable_seq(log), last;
    if (!is_reason(d->reason))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "reason",
                               "1 to %u bytes of UTF-8 without control characters",
                               RUNG_KAFKA_REASON_MAX);
    if (d->count == 0 || d->offset < first || d->offset >= end || d->count > end - d->offset)
        return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "offset", "topic %s has offsets %llu to %llu",
                               c->topic, (ull)first, (ull)end - 1);
    rung_status st = walk_topic(c, rung_log_id(log), d->offset + 1, inspect, &look, &last, err);
    return st == RUNG_NOT_FOUND ? RUNG_OK : st;
}

static rung_status publish(rung_log *log, const rung_kafka_decision *d, uint64_t *seq_out,
                           rung_err *err) {
    uint8_t payload[RUNG_KAFKA_DECISION_MAX];
    rung_log_delivery got;
    size_t len = rung_kafka_decision_encode(d, rung_log_id(log), payload);
    rung_log_entry entry = {.payload = rung_slice_of(payload, len), .type = RUNG_LOG_TYPE_VOID};
    rung_status st = rung_log_start(log, rung_log_durable_seq(log) + 1, err);
    if (st == RUNG_OK)
        st = rung_log_propose(log, &entry, 1, err);
    while (st == RUNG_OK) {
        rung_log_await(log);
        st = rung_log_deliver(log, 1, &got, err);
        if (st == RUNG_NOT_FOUND || (st == RUNG_OK && got.entries[0].tag == RUNG_LOG_FOREIGN)) {
            st = RUNG_OK;
            continue;
        }
        if (st == RUNG_OK && got.outcome != RUNG_LOG_COMMITTED) {
            if (err)
                *err = got.why;
            return got.why.code;
        }
        break;
    }
    *seq_out = st == RUNG_OK ? got.first_seq : 0;
    return st;
}

rung_status rung_kafka_skip(const rung_kafka_config *config, const rung_kafka_decision *decision,
                            uint64_t *seq_out, rung_err *err) {
    rung_kafka_config c = settled(config);
    rung_log *log;
    rung_status st = rung_kafka_log_open(&c, &log, err);
    if (st < 0)
        return st;
    st = check_decision(&c, log, decision, err);
    if (st == RUNG_OK)
        st = publish(log, decision, seq_out, err);
    rung_status closed = rung_log_close(log, NULL);
    if (st == RUNG_OK && closed < 0)
        st = RUNG_FAIL(err, closed, "the log did not close: look whether the decision is there");
    return st;
}
