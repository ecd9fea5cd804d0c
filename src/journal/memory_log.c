/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/memory_log.h"

#include "journal/proposals.h"

typedef struct memory_log {
    rung_log port;
    const rung_alloc *alloc;
    rung_proposals proposals;
    rung_log_stats stats;
} memory_log;

static rung_status start(rung_log *log, uint64_t from_seq, rung_err *err) {
    memory_log *m = (memory_log *)log;
    if (from_seq == 0)
        return RUNG_FAIL(err, RUNG_EINVAL, "sequences begin at 1");
    m->proposals.next_seq = from_seq;
    return RUNG_OK;
}

static rung_status propose(rung_log *log, const rung_log_entry *entries, size_t count,
                           rung_err *err) {
    memory_log *m = (memory_log *)log;
    rung_proposals *p = &m->proposals;
    rung_status st = rung_proposals_check(p, entries, count, SIZE_MAX, err);
    if (st < 0)
        return st;
    rung_proposals_write(p, entries, count);
    p->tail += count;
    p->taken = p->tail;
    rung_proposals_commit(p);
    m->stats.batches++;
    m->stats.records += count;
    return RUNG_OK;
}

static rung_status deliver(rung_log *log, size_t max, rung_log_delivery *out, rung_err *err) {
    (void)err;
    return rung_proposals_deliver(&((memory_log *)log)->proposals, max, out) ? RUNG_OK
                                                                             : RUNG_NOT_FOUND;
}

static void await(rung_log *log) {
    (void)log;
}

static rung_status sync_now(rung_log *log, rung_err *err) {
    (void)log, (void)err;
    return RUNG_OK;
}

static uint64_t durable_seq(const rung_log *log) {
    const rung_proposals *p = &((const memory_log *)log)->proposals;
    return p->next_seq - 1 + (p->committed - p->head);
}

static rung_status cursor_open(rung_log *log, uint64_t from_seq, rung_log_cursor **cursor_out,
                               rung_err *err) {
    (void)log, (void)from_seq, (void)cursor_out;
    return RUNG_FAIL(err, RUNG_ESTALE, "a log in memory keeps nothing");
}

static rung_status truncate_before(rung_log *log, uint64_t seq, rung_err *err) {
    (void)log, (void)seq, (void)err;
    return RUNG_UNCHANGED;
}

static rung_log_stats stat_of(rung_log *log) {
    return ((memory_log *)log)->stats;
}

static rung_status close_log(rung_log *log, rung_err *err) {
    memory_log *m = (memory_log *)log;
    (void)err;
    rung_proposals_deinit(&m->proposals, m->alloc);
    rung_alloc_free(m->alloc, m, sizeof *m);
    return RUNG_OK;
}

rung_status rung_memory_log_create(const rung_alloc *alloc, size_t proposals_max,
                                   rung_log **log_out, rung_err *err) {
    static const rung_log_ops ops = {
        .start = start,
        .propose = propose,
        .deliver = deliver,
        .await = await,
        .sync = sync_now,
        .durable_seq = durable_seq,
        .cursor_open = cursor_open,
        .truncate_before = truncate_before,
        .stat = stat_of,
        .close = close_log,
    };
    memory_log *m = rung_alloc_zeroed(alloc, sizeof *m);
    if (!m)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    m->port.ops = &ops;
    m->alloc = alloc;
    rung_status st = rung_proposals_init(&m->proposals, alloc, proposals_max, 1, err);
    if (st < 0) {
        rung_alloc_free(alloc, m, sizeof *m);
        return st;
    }
    *log_out = &m->port;
    return RUNG_OK;
}
