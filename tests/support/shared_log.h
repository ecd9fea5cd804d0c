/* SPDX-License-Identifier: Apache-2.0 */
/* shared_log.h - a log that several hubs share, at its simplest: what is proposed is committed at once, in one order.
 *
 *     shared_topic topic = {0};
 *     rung_log *log = shared_log_open(&topic);
 *
 *     topic.claimed_end = 500;   // from now on servers hear that others have written so far
 *
 * Everything is delivered in the next call of deliver. tests/sim/topic.h is the one with faults. */
#ifndef RUNG_TESTS_SHARED_LOG_H
#define RUNG_TESTS_SHARED_LOG_H

#include "base/alloc.h"
#include "journal/log.h"
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

enum { SHARED_RECORDS = 1 << 16, SHARED_RUN = 64 };

typedef struct shared_record {
    uint8_t *bytes;
    size_t len;
    uint16_t type;
    uint64_t node, tag;
} shared_record;

/* Zero is empty. */
typedef struct shared_topic {
    uint64_t count, nodes, claimed_end;
    shared_record records[SHARED_RECORDS];
} shared_topic;

typedef struct shared_log {
    rung_log port;
    shared_topic *topic;
    uint64_t node, next;
    uint64_t wrong_seq; /* of this record the node gets `wrong` instead; 0: of none */
    rung_slice wrong;
    rung_log_entry run[SHARED_RUN];
} shared_log;

typedef struct shared_cursor {
    rung_log_cursor port;
    const shared_topic *topic;
    uint64_t next;
} shared_cursor;

static inline void shared_topic_add(shared_topic *t, uint16_t type, rung_slice payload,
                                    uint64_t node, uint64_t tag) {
    CHECK(t->count < SHARED_RECORDS);
    shared_record *r = &t->records[t->count++];
    *r = (shared_record){malloc(payload.len + 1), payload.len, type, node, tag};
    CHECK(r->bytes);
    memcpy(r->bytes, payload.ptr, payload.len);
}

static inline void shared_topic_free(shared_topic *t) {
    for (uint64_t i = 0; i < t->count; i++)
        free(t->records[i].bytes);
    free(t);
}

static inline rung_status shared_start(rung_log *log, uint64_t from_seq, rung_err *err) {
    (void)err;
    ((shared_log *)log)->next = from_seq;
    return RUNG_OK;
}

static inline rung_status shared_propose(rung_log *log, const rung_log_entry *entries, size_t count,
                                         rung_err *err) {
    shared_log *l = (shared_log *)log;
    (void)err;
    for (size_t i = 0; i < count; i++)
        shared_topic_add(l->topic, entries[i].type, entries[i].payload, l->node, entries[i].tag);
    return RUNG_OK;
}

static inline rung_status shared_deliver(rung_log *log, size_t max, rung_log_delivery *out,
                                         rung_err *err) {
    shared_log *l = (shared_log *)log;
    size_t n = 0;
    (void)err;
    *out = (rung_log_delivery){.entries = l->run, .first_seq = l->next};
    for (; n < max && n < SHARED_RUN && l->next <= l->topic->count; n++, l->next++) {
        const shared_record *r = &l->topic->records[l->next - 1];
        l->run[n] = (rung_log_entry){.payload = rung_slice_of(r->bytes, r->len),
                                     .type = r->type,
                                     .tag = r->node == l->node ? r->tag : RUNG_LOG_FOREIGN};
        if (l->next == l->wrong_seq)
            l->run[n].payload = l->wrong;
    }
    out->count = n;
    return n ? RUNG_OK : RUNG_NOT_FOUND;
}

static inline void shared_await(rung_log *log) {
    (void)log;
}

static inline rung_status shared_sync(rung_log *log, rung_err *err) {
    (void)log, (void)err;
    return RUNG_OK;
}

static inline uint64_t shared_durable_seq(const rung_log *log) {
    return ((const shared_log *)log)->topic->count;
}

static inline uint64_t shared_first_seq(rung_log *log) {
    (void)log;
    return 1;
}

static inline const uint8_t *shared_id(const rung_log *log) {
    static const uint8_t id[RUNG_LOG_ID_SIZE] = "a shared log";
    (void)log;
    return id;
}

static inline rung_status shared_cursor_open(rung_log *log, uint64_t from_seq,
                                             rung_log_cursor **cursor_out, rung_err *err) {
    shared_cursor *c = malloc(sizeof *c);
    (void)err;
    CHECK(c);
    *c = (shared_cursor){{log->ops}, ((shared_log *)log)->topic, from_seq};
    *cursor_out = &c->port;
    return RUNG_OK;
}

static inline rung_status shared_cursor_read(rung_log_cursor *cursor, rung_log_record *records,
                                             size_t max, size_t *count_out, rung_err *err) {
    shared_cursor *c = (shared_cursor *)cursor;
    size_t n = 0;
    (void)err;
    for (; n < max && c->next <= c->topic->count; n++, c->next++) {
        const shared_record *r = &c->topic->records[c->next - 1];
        records[n] = (rung_log_record){c->next, rung_slice_of(r->bytes, r->len), r->type};
    }
    *count_out = n;
    return n ? RUNG_OK : RUNG_NOT_FOUND;
}

static inline void shared_cursor_close(rung_log_cursor *cursor) {
    free(cursor);
}

static inline rung_status shared_truncate(rung_log *log, uint64_t seq, rung_err *err) {
    (void)log, (void)seq, (void)err;
    return RUNG_UNCHANGED;
}

static inline rung_log_stats shared_stat(rung_log *log) {
    const shared_topic *t = ((const shared_log *)log)->topic;
    return (rung_log_stats){.end_seq = t->claimed_end > t->count ? t->claimed_end : t->count};
}

static inline rung_status shared_close(rung_log *log, rung_err *err) {
    (void)err;
    free(log);
    return RUNG_OK;
}

static inline rung_log *shared_log_open(shared_topic *topic) {
    static const rung_log_ops ops = {.start = shared_start,
                                     .propose = shared_propose,
                                     .deliver = shared_deliver,
                                     .await = shared_await,
                                     .sync = shared_sync,
                                     .durable_seq = shared_durable_seq,
                                     .first_seq = shared_first_seq,
                                     .id = shared_id,
                                     .cursor_open = shared_cursor_open,
                                     .cursor_read = shared_cursor_read,
                                     .cursor_close = shared_cursor_close,
                                     .truncate_before = shared_truncate,
                                     .stat = shared_stat,
                                     .close = shared_close,
                                     .is_shared = true};
    shared_log *l = malloc(sizeof *l);
    CHECK(l);
    *l = (shared_log){.port = {&ops}, .topic = topic, .node = ++topic->nodes};
    return &l->port;
}

#endif
