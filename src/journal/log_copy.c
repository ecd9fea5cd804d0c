/* SPDX-License-Identifier: Apache-2.0 */
/* Batches go round: read from the source into a free batch, propose it, deliver, and the batch is free again when all
 * of its records are committed.
 *
 *     free --fill()--> proposed --take_delivery()--> free
 *
 * Invariants:
 *   1. The tag of a proposal is the sequence that it must get. Another sequence, or another's record, ends the copy.
 *   2. The bytes of a proposal stay until its outcome (log.h L4): they are in its batch. */
#include "journal/log_copy.h"

#include "base/buffer.h"

#include <string.h>

typedef unsigned long long ull;

#ifdef RUNG_TEST_BUILD
enum { BATCHES = 3, BATCH_RECORDS = 7, READ_RECORDS = 3, BATCH_BYTES = 256 };
#else
enum {
    BATCHES = 8,
    BATCH_RECORDS = 1024,
    READ_RECORDS = 16,    /* at once: of the longest kind, they take 8 MiB */
    BATCH_BYTES = 1 << 20 /* a batch with as many is full */
};
#endif

typedef struct batch {
    rung_buffer bytes;
    size_t count; /* of proposals without an outcome */
} batch;

typedef struct copying {
    const rung_log_copy_config *config;
    rung_log_copy_report *report;
    rung_log_cursor *source;
    uint64_t next_seq; /* to be proposed */
    uint64_t done_seq; /* the target has it */
    batch batches[BATCHES];
    uint64_t oldest, newest; /* batches in flight, by number */
    rung_log_entry entries[BATCH_RECORDS];
    rung_log_record records[BATCH_RECORDS], twins[BATCH_RECORDS];
} copying;

static void tell(const copying *c, const char *what, uint64_t done, uint64_t total) {
    if (c->config->progress)
        c->config->progress(c->config->ctx, what, done, total);
}

static rung_status look_for_stop(const copying *c, rung_err *err) {
    if (c->config->is_stopped && c->config->is_stopped(c->config->ctx))
        return RUNG_FAIL(err, RUNG_ECLOSED, "stopped at sequence %llu: run it again to go on",
                         (ull)c->done_seq);
    return RUNG_OK;
}

/* ---- comparing ---- */

/* A stretch of records read from a log; what is left of the last read. */
typedef struct stretch {
    rung_log_cursor *cursor;
    rung_log_record *records;
    size_t at, count;
} stretch;

static rung_status next_record(stretch *s, uint64_t seq, const char *whose, rung_err *err,
                               const rung_log_record **out) {
    if (s->at == s->count) {
        s->at = s->count = 0;
        rung_status st = rung_log_cursor_read(s->cursor, s->records, BATCH_RECORDS, &s->count, err);
        if (st < 0)
            return st;
        if (st != RUNG_OK)
            return RUNG_FAIL(err, RUNG_ECORRUPT, "the %s ends before sequence %llu", whose,
                             (ull)seq);
    }
    *out = &s->records[s->at++];
    if ((*out)->seq != seq)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "the %s has sequence %llu where %llu is due", whose,
                         (ull)(*out)->seq, (ull)seq);
    return RUNG_OK;
}

static bool is_equal(const rung_log_record *a, const rung_log_record *b) {
    return a->type == b->type && rung_slice_eq(a->payload, b->payload);
}

static rung_status compare_open(copying *c, stretch *source, stretch *target, uint64_t from,
                                uint64_t to, const char *what, rung_err *err) {
    static const rung_log_record lost = {.type = RUNG_LOG_TYPE_LOST};
    rung_status st = RUNG_OK;
    for (uint64_t seq = from; st == RUNG_OK && seq <= to; seq++) {
        const rung_log_record *mine = &lost, *theirs = &lost;
        st = next_record(target, seq, "target", err, &theirs);
        if (st == RUNG_OK && seq >= c->report->first_seq)
            st = next_record(source, seq, "source", err, &mine);
        if (st == RUNG_OK && !is_equal(mine, theirs))
            st = RUNG_FAIL(err, RUNG_EREFUSED,
                           "the target has another record at sequence %llu than the source",
                           (ull)seq);
        if (st == RUNG_OK && (seq % BATCH_RECORDS == 0 || seq == to)) {
            tell(c, what, seq - from + 1, to - from + 1);
            st = look_for_stop(c, err);
        }
    }
    return st;
}

/* Are the records `from` to `to` the same in both logs? RUNG_EREFUSED: no. */
static rung_status compare(copying *c, uint64_t from, uint64_t to, const char *what,
                           rung_err *err) {
    stretch source = {.records = c->records}, target = {.records = c->twins};
    uint64_t first = c->report->first_seq;
    if (from > to)
        return RUNG_OK;
    rung_status st = rung_log_cursor_open(c->config->to, from, &target.cursor, err);
    if (st == RUNG_OK && to >= first)
        st =
            rung_log_cursor_open(c->config->from, from > first ? from : first, &source.cursor, err);
    if (st == RUNG_OK)
        st = compare_open(c, &source, &target, from, to, what, err);
    rung_log_cursor_close(target.cursor);
    rung_log_cursor_close(source.cursor);
    return st;
}

/* ---- copying ---- */

/* Before the first record of the source: records that say so. */
static void fill_lost(copying *c, batch *b) {
    uint64_t left = c->report->first_seq - c->next_seq;
    b->count = left < BATCH_RECORDS ? (size_t)left : BATCH_RECORDS;
    for (size_t i = 0; i < b->count; i++)
        c->entries[i] = (rung_log_entry){.type = RUNG_LOG_TYPE_LOST, .tag = c->next_seq + i};
    c->report->filled += b->count;
}

/* Read a few records into the batch; their bytes may move until it is complete. */
static rung_status read_some(copying *c, batch *b, rung_err *err) {
    size_t count = 0, room = BATCH_RECORDS - b->count;
    uint64_t left = c->report->last_seq - (c->next_seq + b->count) + 1;
    size_t max = room < READ_RECORDS ? room : READ_RECORDS;
    max = left < max ? (size_t)left : max;
    rung_status st = rung_log_cursor_read(c->source, c->records, max, &count, err);
    if (st != RUNG_OK)
        return st < 0 ? st
                      : RUNG_FAIL(err, RUNG_ECORRUPT, "the source ends before sequence %llu",
                                  (ull)(c->next_seq + b->count));
    for (size_t i = 0; i < count; i++) {
        const rung_log_record *r = &c->records[i];
        c->entries[b->count + i] =
            (rung_log_entry){r->payload, r->type, c->next_seq + b->count + i};
        rung_buffer_put(&b->bytes, r->payload.ptr, r->payload.len);
    }
    b->count += count;
    return b->bytes.is_failed ? RUNG_FAIL(err, RUNG_ENOMEM, "out of memory") : RUNG_OK;
}

/* 2. */
static rung_status fill(copying *c, batch *b, rung_err *err) {
    rung_status st = RUNG_OK;
    b->count = b->bytes.len = 0;
    if (c->next_seq < c->report->first_seq) {
        fill_lost(c, b);
        return RUNG_OK;
    }
    while (st == RUNG_OK && b->count < BATCH_RECORDS && b->bytes.len < BATCH_BYTES &&
           c->next_seq + b->count <= c->report->last_seq)
        st = read_some(c, b, err);
    size_t at = 0;
    for (size_t i = 0; i < b->count; i++) {
        c->entries[i].payload.ptr = b->bytes.data + at;
        at += c->entries[i].payload.len;
    }
    c->report->copied += b->count;
    return st;
}

static rung_status propose_next(copying *c, rung_err *err) {
    batch *b = &c->batches[c->newest % BATCHES];
    rung_status st = fill(c, b, err);
    if (st < 0)
        return st;
    st = rung_log_propose(c->config->to, c->entries, b->count, err);
    if (st < 0)
        return st;
    c->newest++;
    c->next_seq += b->count;
    return RUNG_OK;
}

static rung_status settle(copying *c, const rung_log_delivery *got, rung_err *err) {
    if (got->outcome != RUNG_LOG_COMMITTED) {
        if (err)
            *err = got->why;
        return got->why.code;
    }
    for (size_t i = 0; i < got->count; i++) {
        if (got->entries[i].tag != got->first_seq + i) /* 1 */
            return RUNG_FAIL(err, RUNG_EREFUSED,
                             "somebody else writes to the target: sequence %llu is not ours",
                             (ull)(got->first_seq + i));
        c->done_seq = got->first_seq + i;
        batch *b = &c->batches[c->oldest % BATCHES];
        if (--b->count == 0)
            c->oldest++;
    }
    return RUNG_OK;
}

static rung_status take_deliveries(copying *c, rung_err *err) {
    rung_log_delivery got;
    rung_log_await(c->config->to);
    rung_status st;
    while ((st = rung_log_deliver(c->config->to, BATCH_RECORDS, &got, err)) == RUNG_OK) {
        st = settle(c, &got, err);
        if (st < 0)
            return st;
    }
    return st == RUNG_NOT_FOUND ? RUNG_OK : st;
}

static rung_status pump(copying *c, uint64_t from, rung_err *err) {
    uint64_t last = c->report->last_seq;
    rung_status st = RUNG_OK;
    while (st == RUNG_OK && c->done_seq < last) {
        while (st == RUNG_OK && c->next_seq <= last && c->newest - c->oldest < BATCHES)
            st = propose_next(c, err);
        if (st == RUNG_OK)
            st = take_deliveries(c, err);
        tell(c, "copying", c->done_seq - from + 1, last - from + 1);
        if (st == RUNG_OK && c->done_seq < last)
            st = look_for_stop(c, err);
    }
    return st;
}

static rung_status copy_from(copying *c, uint64_t from, rung_err *err) {
    uint64_t first = c->report->first_seq;
    c->next_seq = from;
    if (from > c->report->last_seq)
        return RUNG_OK;
    rung_status st = rung_log_start(c->config->to, from, err);
    if (st == RUNG_OK && c->report->last_seq >= first)
        st = rung_log_cursor_open(c->config->from, from > first ? from : first, &c->source, err);
    return st < 0 ? st : pump(c, from, err);
}

/* ---- all of it ---- */

static rung_status check_ends(const copying *c, rung_err *err) {
    rung_log *to = c->config->to;
    const rung_log_copy_report *r = c->report;
    uint64_t first = rung_log_first_seq(to), last = rung_log_durable_seq(to);
    if (last > r->last_seq)
        return RUNG_FAIL(err, RUNG_EREFUSED,
                         "the target ends at sequence %llu and the source at %llu: the target is "
                         "not its beginning",
                         (ull)last, (ull)r->last_seq);
    if (first > r->first_seq)
        return RUNG_FAIL(err, RUNG_EREFUSED,
                         "the target begins at sequence %llu, later than the source (%llu)",
                         (ull)first, (ull)r->first_seq);
    return RUNG_OK;
}

static rung_status copy_all(copying *c, rung_err *err) {
    uint64_t first = rung_log_first_seq(c->config->to), had = rung_log_durable_seq(c->config->to);
    rung_status st = check_ends(c, err);
    if (st < 0)
        return st;
    c->report->present = had + 1 - first;
    c->done_seq = had;
    st = compare(c, first, had, "comparing", err);
    if (st == RUNG_OK)
        st = copy_from(c, had + 1, err);
    if (st < 0)
        return st;
    st = compare(c, had + 1, c->report->last_seq, "verifying", err);
    if (st == RUNG_EREFUSED && err)
        err->code = RUNG_ECORRUPT;
    return st == RUNG_EREFUSED ? RUNG_ECORRUPT : st;
}

rung_status rung_log_copy(const rung_log_copy_config *config, rung_log_copy_report *report_out,
                          rung_err *err) {
    const rung_alloc *a = config->alloc;
    *report_out = (rung_log_copy_report){.first_seq = rung_log_first_seq(config->from),
                                         .last_seq = rung_log_durable_seq(config->from)};
    copying *c = rung_alloc_zeroed(a, sizeof *c);
    if (!c) {
        rung_ignore(rung_log_close(config->to, NULL), "nothing was proposed to it");
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    }
    c->config = config;
    c->report = report_out;
    for (size_t i = 0; i < BATCHES; i++)
        c->batches[i].bytes.alloc = a;
    rung_status st = copy_all(c, err);
    rung_log_cursor_close(c->source);
    rung_status closed =
        rung_log_close(config->to, st < 0 ? NULL : err); /* before the batches go */
    for (size_t i = 0; i < BATCHES; i++)
        rung_buffer_deinit(&c->batches[i].bytes);
    rung_alloc_free(a, c, sizeof *c);
    return st < 0 ? st : closed;
}
