/* SPDX-License-Identifier: Apache-2.0 */
/* Proposals wait in a ring (proposals.h): taking everything queued only advances a position under the lock. A second
 * worker prepares the next segment, so that the writer does not wait for 64 MiB of zeros; a third compresses old ones.
 *
 * Invariants:
 *   W1 Sequences follow the order of the ring.
 *   W2 One batch is in flight (Rule S); the sync of a batch returns before the next one is appended.
 *   W3 A batch is committed only after its sync (or after the write, with sync_every_ms).
 *   W4 After a failure nothing more is committed; the outcome of the rest is unknown.
 *
 * A step of the writer: take_duties -> put_down -> publish -> maintain; keep_house when idle. Inline, deliver runs
 * the steps. */
#include "journal/writer.h"

#include "base/assert.h"
#include "journal/proposals.h"
#include "journal/segment_log.h"

#include <pthread.h>

#define BATCH_BYTES_MAX        ((size_t)8 << 20)
#define PROPOSALS_DEFAULT      65536
#define SPACE_RETRY_MS_DEFAULT 200
#define IDLE_MS                100 /* then the high-water mark is moved up */
#define PACK_RETRY_MS          60000

struct rung_writer {
    rung_writer_config config;
    rung_segment_log *log;
    const rung_alloc *alloc;
    size_t batch_bytes_max;
    rung_worker *writer, *helper; /* NULL: inline */
    rung_worker *packer;          /* NULL: segments stay as they are */

    pthread_mutex_t lock;
    /* Protected by the lock, except `head`, `freed` and the entries after `tail`, which belong to the owner. */
    rung_proposals proposals;
    rung_status status; /* RUNG_OK; RUNG_ENOSPC while the disk is full; the failure */
    rung_err why;       /* of it */
    uint64_t truncate_before;
    bool wants_sync;
    bool wants_spare;
    rung_log_stats stats;

    /* The writing worker's. */
    bool has_unsynced;
    uint64_t written_seq;
    int64_t synced_us;
    int64_t house_us; /* when it is time to keep house, if nothing comes before */

    /* The helper's. */
    int64_t prepare_us; /* not before: there was no space */

    /* The packer's. */
    int64_t pack_us; /* not before: it failed */
};

static int64_t now_us(const rung_writer *w) {
    return rung_clock_monotonic_us(&w->config.clock);
}

static uint32_t time_bucket(uint64_t us) {
    uint32_t bits = us ? 64 - (uint32_t)__builtin_clzll(us) : 0;
    return bits < RUNG_LOG_TIME_BUCKETS ? bits : RUNG_LOG_TIME_BUCKETS - 1;
}

/* ---- what a batch ends with ---- */

static void wake(rung_writer *w) {
    if (w->config.wake)
        w->config.wake(w->config.ctx);
}

/* W4. Releases the lock for the calls: `fatal` may never return. */
static void die(rung_writer *w, rung_status st, const rung_err *err) {
    pthread_mutex_lock(&w->lock);
    w->status = st;
    w->why = *err;
    rung_proposals_settle(&w->proposals, RUNG_LOG_UNKNOWN, err);
    pthread_mutex_unlock(&w->lock);
    if (w->config.fatal)
        w->config.fatal(w->config.ctx, err);
    wake(w);
}

static void publish(rung_writer *w, size_t count, size_t bytes, uint64_t us) {
    rung_log_stats *s = &w->stats;
    pthread_mutex_lock(&w->lock);
    rung_proposals_commit(&w->proposals);
    s->batches++;
    s->records += count;
    s->bytes += bytes;
    if (count > s->batch_records_max)
        s->batch_records_max = count;
    s->sync_count++;
    s->sync_us_total += us;
    s->sync_us[time_bucket(us)]++;
    pthread_mutex_unlock(&w->lock);
    wake(w);
}

/* The disk is full: reject the batch and everything queued after it. Inline, the next proposal may retry. */
static void reject(rung_writer *w, const rung_err *why) {
    pthread_mutex_lock(&w->lock);
    rung_proposals_settle(&w->proposals, RUNG_LOG_REJECTED, why);
    w->status = w->config.is_inline ? RUNG_OK : RUNG_ENOSPC;
    w->why = *why;
    pthread_mutex_unlock(&w->lock);
    wake(w);
}

/* ---- a step ---- */

static rung_status sync_log(rung_writer *w, rung_err *err) {
    uint64_t durable;
    rung_status st = rung_segment_log_sync(w->log, &durable, err);
    w->has_unsynced = st < 0;
    w->synced_us = now_us(w);
    return st;
}

static bool is_sync_due(const rung_writer *w) {
    return w->has_unsynced && (w->config.sync_every_ms == 0 ||
                               now_us(w) - w->synced_us >= (int64_t)w->config.sync_every_ms * 1000);
}

/* The helper prepares what the log needs; whoever needs space reports the lack of it. */
static rung_status maintain(rung_writer *w, bool is_idle, rung_err *err) {
    rung_status st = rung_segment_log_maintain(w->log, is_idle, err);
    if (st != RUNG_PARTIAL)
        return st;
    if (!w->helper) {
        rung_ignore(rung_segment_log_prepare(w->log, NULL), "an append will say so itself");
        return RUNG_OK;
    }
    pthread_mutex_lock(&w->lock);
    w->wants_spare = true;
    pthread_mutex_unlock(&w->lock);
    rung_worker_wake(w->helper);
    return st;
}

/* Pending requests, read under the lock. */
typedef struct duties {
    const rung_log_entry *batch; /* NULL: none */
    size_t count, bytes;         /* of it */
    uint64_t truncate_before;
    bool is_full, wants_sync;
} duties;

static duties take_duties(rung_writer *w) {
    duties d = {0};
    pthread_mutex_lock(&w->lock);
    d.batch = rung_proposals_take(&w->proposals, w->batch_bytes_max, &d.count, &d.bytes);
    d.truncate_before = w->truncate_before;
    d.is_full = w->status == RUNG_ENOSPC;
    d.wants_sync = w->wants_sync;
    w->truncate_before = 0;
    w->wants_sync = false;
    pthread_mutex_unlock(&w->lock);
    return d;
}

/* One batch: write, sync, tell. */
static rung_status put_down(rung_writer *w, const duties *d, rung_err *err) {
    uint64_t first;
    int64_t begun_us = now_us(w);
    rung_status st = rung_segment_log_append(w->log, d->batch, d->count, &first, err);
    if (st == RUNG_ENOSPC || st == RUNG_ENOMEM) {
        reject(w, err);
        return RUNG_OK;
    }
    if (st < 0)
        return st;
    RUNG_ASSERT(first == w->written_seq + 1); /* W1 */
    w->written_seq += d->count;
    w->has_unsynced = true;
    if (is_sync_due(w))
        st = sync_log(w, err);
    if (st < 0)
        return st;
    publish(w, d->count, d->bytes, (uint64_t)(now_us(w) - begun_us));
    return maintain(w, false, err);
}

/* Idle: sync what is not synced, and advance the mark. */
static rung_status keep_house(rung_writer *w, rung_err *err) {
    rung_status st = w->has_unsynced ? sync_log(w, err) : RUNG_OK;
    return st < 0 ? st : maintain(w, true, err);
}

/* On a full disk: is there space again? The owner must have seen the rejection before we accept again. */
static void look_for_space(rung_writer *w) {
    rung_err err;
    rung_status st = rung_segment_log_prepare(w->log, &err);
    pthread_mutex_lock(&w->lock);
    const rung_proposals *p = &w->proposals;
    bool is_back = st >= 0 && w->status == RUNG_ENOSPC && p->head == p->settled;
    if (is_back)
        w->status = RUNG_OK;
    pthread_mutex_unlock(&w->lock);
    if (is_back)
        wake(w);
}

static rung_status truncate_log(rung_writer *w, uint64_t before, rung_err *err) {
    rung_err detail = {0};
    uint64_t durable;
    rung_ignore(rung_segment_log_truncate_before(w->log, before, &detail),
                "what could not be removed is removed next time; a final failure shows in sync");
    return rung_segment_log_sync(w->log, &durable, err);
}

/* Somebody waits until everything committed is durable. */
static rung_status sync_as_asked(rung_writer *w, rung_err *err) {
    rung_status st = w->has_unsynced ? sync_log(w, err) : RUNG_OK;
    if (st >= 0)
        wake(w);
    return st;
}

static rung_status do_duties(rung_writer *w, const duties *d, rung_err *err) {
    rung_status st = RUNG_OK;
    if (d->is_full)
        look_for_space(w);
    if (d->truncate_before)
        st = truncate_log(w, d->truncate_before, err);
    if (st >= 0 && d->batch)
        st = put_down(w, d, err);
    else if (st >= 0 && now_us(w) >= w->house_us)
        st = keep_house(w, err);
    if (st >= 0 && d->wants_sync)
        st = sync_as_asked(w, err);
    return st;
}

/* The time until the next scheduled work. */
static uint32_t rest_ms(rung_writer *w) {
    uint32_t every = w->config.sync_every_ms;
    pthread_mutex_lock(&w->lock);
    bool is_full = w->status == RUNG_ENOSPC, has_more = w->proposals.tail != w->proposals.taken;
    pthread_mutex_unlock(&w->lock);
    if (has_more)
        return RUNG_WORKER_AGAIN;
    return is_full ? w->config.space_retry_ms : every && every < IDLE_MS ? every : IDLE_MS;
}

static uint32_t step_writer(void *arg, bool is_stopping) {
    rung_writer *w = arg;
    rung_err err = {0};
    duties d = take_duties(w);
    if (is_stopping)
        w->house_us = now_us(w);
    rung_status st = do_duties(w, &d, &err);
    if (st < 0) {
        die(w, st, &err);
        return RUNG_WORKER_END;
    }
    if (is_stopping)
        return d.batch ? RUNG_WORKER_AGAIN : RUNG_WORKER_END;
    uint32_t ms = rest_ms(w);
    w->house_us = now_us(w) + (int64_t)ms * 1000;
    return ms;
}

/* Inline: one batch, or a sync that is due. */
static void step_inline(rung_writer *w) {
    rung_err err = {0};
    duties d = take_duties(w);
    rung_status st = RUNG_OK;
    if (w->status < 0)
        return;
    if (d.batch)
        st = put_down(w, &d, &err);
    else if (is_sync_due(w))
        st = sync_log(w, &err);
    if (st < 0)
        die(w, st, &err);
}

/* ---- the helper ---- */

static bool take_wish(rung_writer *w) {
    pthread_mutex_lock(&w->lock);
    bool wants_spare = w->wants_spare;
    w->wants_spare = false;
    pthread_mutex_unlock(&w->lock);
    return wants_spare;
}

static uint32_t step_helper(void *arg, bool is_stopping) {
    rung_writer *w = arg;
    int64_t wait_us = w->prepare_us - now_us(w);
    if (is_stopping)
        return RUNG_WORKER_END;
    if (wait_us > 0)
        return (uint32_t)(wait_us / 1000) + 1;
    if (!take_wish(w))
        return RUNG_WORKER_SLEEP;
    if (rung_segment_log_prepare(w->log, NULL) < 0) /* who needs the space tries, and reports */
        w->prepare_us = now_us(w) + (int64_t)w->config.space_retry_ms * 1000;
    else if (w->packer)
        rung_worker_wake(w->packer); /* where a spare was needed, a segment was sealed */
    return RUNG_WORKER_AGAIN;
}

/* ---- the packer ---- */

static uint32_t step_packer(void *arg, bool is_stopping) {
    rung_writer *w = arg;
    rung_err err = {0};
    int64_t wait_us = w->pack_us - now_us(w);
    if (is_stopping)
        return RUNG_WORKER_END;
    if (wait_us > 0)
        return (uint32_t)(wait_us / 1000) + 1;
    /* A simulator's workers share one thread with everything else. */
    rung_status st = rung_segment_log_pack(w->log, !w->config.threads, &err);
    if (st == RUNG_NOT_FOUND)
        return RUNG_WORKER_SLEEP;
    if (st < 0) {
        w->pack_us = now_us(w) + INT64_C(1000) * PACK_RETRY_MS;
        if (w->config.say)
            w->config.say(w->config.ctx, err.message);
    }
    return RUNG_WORKER_AGAIN;
}

/* ---- life ---- */

static void release(rung_writer *w) {
    rung_proposals_deinit(&w->proposals, w->alloc);
    pthread_mutex_destroy(&w->lock);
    rung_alloc_free(w->alloc, w, sizeof *w);
}

/* The packer first, which the helper wakes; then the helper, which the writer wakes. */
static rung_status start_workers(rung_writer *w, rung_err *err) {
    const rung_writer_config *c = &w->config;
    rung_status st = RUNG_OK;
    if (c->packs)
        st = rung_worker_start(c->threads, w->alloc, step_packer, w, &w->packer, err);
    if (st == RUNG_OK)
        st = rung_worker_start(c->threads, w->alloc, step_helper, w, &w->helper, err);
    if (st == RUNG_OK)
        st = rung_worker_start(c->threads, w->alloc, step_writer, w, &w->writer, err);
    if (st < 0) {
        rung_worker_stop(w->helper);
        rung_worker_stop(w->packer);
    }
    return st;
}

rung_status rung_writer_create(const rung_writer_config *config, rung_segment_log *log,
                               bool is_full, rung_writer **writer_out, rung_err *err) {
    const rung_alloc *alloc = rung__segment_log_alloc(log);
    rung_writer *w = rung_alloc_zeroed(alloc, sizeof *w);
    if (!w)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for the log writer");
    rung_writer_config *c = &w->config;
    size_t batch_max = rung_segment_log_batch_bytes_max(log);
    *c = *config;
    c->proposals_max = c->proposals_max ? c->proposals_max : PROPOSALS_DEFAULT;
    c->space_retry_ms = c->space_retry_ms ? c->space_retry_ms : SPACE_RETRY_MS_DEFAULT;
    w->log = log;
    w->alloc = alloc;
    w->batch_bytes_max = batch_max < BATCH_BYTES_MAX ? batch_max : BATCH_BYTES_MAX;
    w->written_seq = rung_log_durable_seq(rung_segment_log_port(log));
    w->status = is_full ? RUNG_ENOSPC : RUNG_OK;
    w->wants_spare = true;
    w->synced_us = now_us(w);
    pthread_mutex_init(&w->lock, NULL);
    w->house_us = w->synced_us + INT64_C(1000) * rest_ms(w);
    rung_status st =
        rung_proposals_init(&w->proposals, alloc, c->proposals_max, w->written_seq + 1, err);
    if (st == RUNG_OK && !c->is_inline)
        st = start_workers(w, err);
    if (st < 0) {
        release(w);
        return st;
    }
    *writer_out = w;
    return RUNG_OK;
}

void rung_writer_destroy(rung_writer *w) {
    if (!w)
        return;
    rung_worker_stop(w->writer);
    rung_worker_stop(w->helper);
    rung_worker_stop(w->packer);
    while (w->config.is_inline && w->status == RUNG_OK && w->proposals.taken != w->proposals.tail)
        step_inline(w);
    release(w);
}

/* ---- the owner's side ---- */

/* Lock held. */
static rung_status refuse(const rung_writer *w, rung_err *err) {
    if (w->status == RUNG_ENOSPC)
        return RUNG_FAIL(err, RUNG_ENOSPC,
                         "there is no space for the log: nothing is accepted until there is some");
    if (err && w->status < 0)
        *err = w->why;
    return w->status;
}

rung_status rung_writer_propose(rung_log *log, const rung_log_entry *entries, size_t count,
                                rung_err *err) {
    rung_writer *w = rung__segment_log_writer(log);
    rung_status st = rung_proposals_check(&w->proposals, entries, count, w->batch_bytes_max, err);
    if (st < 0)
        return st;
    rung_proposals_write(&w->proposals, entries, count);
    pthread_mutex_lock(&w->lock);
    st = refuse(w, err);
    if (st == RUNG_OK)
        st = rung_proposals_add(&w->proposals, count, err);
    pthread_mutex_unlock(&w->lock);
    if (st == RUNG_OK && w->writer)
        rung_worker_wake(
            w->writer); /* after the lock is initialised: the worker runs at once and needs it */
    return st;
}

static bool deliver(rung_writer *w, size_t max, rung_log_delivery *out, rung_status *st,
                    rung_err *err) {
    pthread_mutex_lock(&w->lock);
    bool is_found = rung_proposals_deliver(&w->proposals, max, out);
    *st = is_found ? RUNG_OK : refuse(w, err);
    pthread_mutex_unlock(&w->lock);
    return is_found;
}

rung_status rung_writer_deliver(rung_log *log, size_t max, rung_log_delivery *out, rung_err *err) {
    rung_writer *w = rung__segment_log_writer(log);
    rung_status st;
    bool is_found = deliver(w, max, out, &st, err);
    if (!is_found && w->config.is_inline && st == RUNG_OK) {
        step_inline(w);
        is_found = deliver(w, max, out, &st, err);
    }
    return is_found || st < 0 ? st : RUNG_NOT_FOUND;
}

static bool is_settled(void *arg) {
    rung_writer *w = arg;
    pthread_mutex_lock(&w->lock);
    bool is = w->proposals.settled == w->proposals.tail && !w->wants_sync;
    pthread_mutex_unlock(&w->lock);
    return is;
}

void rung_writer_await(rung_log *log) {
    rung_writer *w = rung__segment_log_writer(log);
    if (w->writer)
        rung_worker_await(w->writer, is_settled, w, UINT32_MAX);
}

rung_status rung_writer_sync(rung_log *log, rung_err *err) {
    rung_writer *w = rung__segment_log_writer(log);
    if (w->config.is_inline) {
        rung_err why = {0};
        rung_status st = w->status < 0 || !w->has_unsynced ? w->status : sync_log(w, &why);
        if (st < 0 && w->status == RUNG_OK)
            die(w, st, &why);
        return refuse(w, err);
    }
    pthread_mutex_lock(&w->lock);
    rung_status st = refuse(w, err);
    w->wants_sync = true;
    pthread_mutex_unlock(&w->lock);
    rung_worker_wake(w->writer);
    return st < 0 && st != RUNG_ENOSPC ? st : RUNG_PARTIAL;
}

rung_status rung_writer_truncate_before(rung_log *log, uint64_t seq, rung_err *err) {
    rung_writer *w = rung__segment_log_writer(log);
    if (w->config.is_inline)
        return rung_segment_log_truncate_before(w->log, seq, err);
    pthread_mutex_lock(&w->lock);
    if (seq > w->truncate_before)
        w->truncate_before = seq;
    pthread_mutex_unlock(&w->lock);
    rung_worker_wake(w->writer);
    return RUNG_OK;
}

rung_log_stats rung_writer_stat(rung_log *log) {
    rung_writer *w = rung__segment_log_writer(log);
    pthread_mutex_lock(&w->lock);
    rung_log_stats s = w->stats;
    s.queued = w->proposals.tail - w->proposals.taken;
    pthread_mutex_unlock(&w->lock);
    return s;
}
