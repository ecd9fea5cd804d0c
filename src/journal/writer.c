/* SPDX-License-Identifier: Apache-2.0 */
/* Two buffers take turns: producers fill one while the writer thread empties the other, so taking "all that is
 * queued" is an exchange of two pointers under the lock, however much that is. A second thread prepares the next
 * segment, so that the writer does not wait for 64 MiB of zeros.
 *
 * Invariants:
 *   W1  Sequences are given out in the order of the queue: next_seq = durable + taken + queued + 1.
 *   W2  One batch is in flight (Rule S); the sync of a batch returns before the next is appended.
 *   W3  durable_seq moves only after a sync (or after the write, when sync_every_ms says so).
 *   W4  After a fatal failure durable_seq never moves again.
 *
 * A step of the writer: take_duties -> put_down -> publish -> maintain; keep_house when nothing came for a while. */
#include "journal/writer.h"

#include "base/assert.h"

#include <pthread.h>
#include <string.h>

#define QUEUE_BYTES_DEFAULT    ((size_t)8 << 20)
#define QUEUE_RECORDS_DEFAULT  65536
#define SPACE_RETRY_MS_DEFAULT 200
#define IDLE_MS                100 /* then the high-water mark is moved up */

typedef struct queue {
    rung_log_entry *entries; /* room for queue_records_max */
    uint8_t *
        bytes; /* payloads, one after the other; room for queue_bytes_max; NULL: they are borrowed */
    size_t count;
    size_t used;   /* of bytes */
    size_t framed; /* what it takes in the log */
} queue;

struct rung_writer {
    rung_writer_config config;
    rung_worker *writer, *helper;

    pthread_mutex_t lock;
    /* Under the lock. */
    queue queues[2];
    int filling; /* which of them producers use */
    uint64_t next_seq;
    uint64_t durable_seq;
    rung_status status;
    rung_err failure;
    uint64_t refused_from, refused_to;
    uint64_t truncate_before;
    bool wants_sync;
    bool is_stopping;
    bool wants_spare;
    rung_writer_stats stats;

    /* The writer thread's. */
    bool has_unsynced;
    uint64_t written_seq;
    int64_t synced_us;
    int64_t house_us; /* when it is time to keep house, if nothing comes before */

    /* The helper thread's. */
    int64_t prepare_us; /* not before: there was no space */
};

/* ---- time ---- */

static int64_t now_us(const rung_writer *w) {
    return rung_clock_monotonic_us(&w->config.clock);
}

static uint32_t time_bucket(uint64_t us) {
    uint32_t bits = us ? 64 - (uint32_t)__builtin_clzll(us) : 0;
    return bits < RUNG_WRITER_TIME_BUCKETS ? bits : RUNG_WRITER_TIME_BUCKETS - 1;
}

/* ---- the writer thread ---- */

static void notify(rung_writer *w) {
    if (w->config.notify)
        w->config.notify(w->config.ctx);
}

/* W4. The lock is free here: `fatal` may never return. */
static void die(rung_writer *w, rung_status st, const rung_err *err) {
    pthread_mutex_lock(&w->lock);
    w->status = st;
    w->failure = *err;
    pthread_mutex_unlock(&w->lock);
    if (w->config.fatal)
        w->config.fatal(w->config.ctx, err);
    notify(w);
}

static void publish(rung_writer *w, uint64_t seq, const queue *q, uint64_t us) {
    rung_writer_stats *s = &w->stats;
    pthread_mutex_lock(&w->lock);
    w->durable_seq = seq;
    s->batches++;
    s->records += q->count;
    s->bytes += q->framed;
    if (q->count > s->batch_records_max)
        s->batch_records_max = q->count;
    s->sync_count++;
    s->sync_us_total += us;
    s->sync_us[time_bucket(us)]++;
    pthread_mutex_unlock(&w->lock);
    notify(w);
}

/* The disk is full: give back the batch and all that queued up behind it. Their sequences go to others. */
static void refuse(rung_writer *w, queue *taken, const rung_err *why) {
    pthread_mutex_lock(&w->lock);
    w->status = RUNG_ENOSPC;
    w->failure = *why;
    w->refused_from = w->written_seq + 1;
    w->refused_to = w->next_seq - 1;
    w->next_seq = w->written_seq + 1;
    taken->count = taken->used = taken->framed = 0;
    queue *q = &w->queues[w->filling];
    q->count = q->used = q->framed = 0;
    pthread_mutex_unlock(&w->lock);
    notify(w);
}

static rung_status sync_log(rung_writer *w, rung_err *err) {
    uint64_t durable;
    rung_status st = rung_log_sync(w->config.log, &durable, err);
    w->has_unsynced = st < 0;
    w->synced_us = now_us(w);
    return st;
}

/* Housekeeping of the log; what it wants prepared is the helper's. */
static rung_status maintain(rung_writer *w, bool is_idle, rung_err *err) {
    rung_status st = rung_log_maintain(w->config.log, is_idle, err);
    if (st == RUNG_PARTIAL) {
        pthread_mutex_lock(&w->lock);
        w->wants_spare = true;
        pthread_mutex_unlock(&w->lock);
        rung_worker_wake(w->helper);
    }
    return st;
}

/* One batch: write, sync, tell. */
static rung_status put_down(rung_writer *w, queue *q, rung_err *err) {
    uint64_t first;
    int64_t begun_us = now_us(w);
    rung_status st = rung_log_append(w->config.log, q->entries, q->count, &first, err);
    if (st == RUNG_ENOSPC || st == RUNG_ENOMEM) {
        refuse(w, q, err);
        return RUNG_OK;
    }
    if (st < 0)
        return st;
    RUNG_ASSERT(first == w->written_seq + 1); /* W1 */
    w->written_seq += q->count;
    w->has_unsynced = true;
    if (w->config.sync_every_ms == 0 ||
        now_us(w) - w->synced_us > (int64_t)w->config.sync_every_ms * 1000)
        st = sync_log(w, err);
    if (st < 0)
        return st;
    publish(w, w->written_seq, q, (uint64_t)(now_us(w) - begun_us));
    return maintain(w, false, err);
}

/* Exchange the queues. Lock held. */
static queue *take(rung_writer *w) {
    queue *q = &w->queues[w->filling];
    if (q->count == 0)
        return NULL;
    w->filling = !w->filling;
    queue *empty = &w->queues[w->filling];
    empty->count = empty->used = empty->framed = 0;
    return q;
}

/* Nothing came for a while: sync what waits for it, move the mark up. */
static rung_status keep_house(rung_writer *w, rung_err *err) {
    rung_status st = w->has_unsynced ? sync_log(w, err) : RUNG_OK;
    return st < 0 ? st : maintain(w, true, err);
}

/* On a full disk: is there space again? The owner must have heard of the refusal before we accept anew. */
static void look_for_space(rung_writer *w) {
    rung_err err;
    rung_status st = rung_log_prepare(w->config.log, &err);
    pthread_mutex_lock(&w->lock);
    bool is_back = st >= 0 && w->status == RUNG_ENOSPC && w->refused_to == 0;
    if (is_back)
        w->status = RUNG_OK;
    pthread_mutex_unlock(&w->lock);
    if (is_back)
        notify(w);
}

static rung_status truncate_log(rung_writer *w, uint64_t before, rung_err *err) {
    rung_err detail = {0};
    rung_status st = rung_log_truncate_before(w->config.log, before, &detail);
    uint64_t durable;
    rung_ignore(
        st,
        "segments that could not be removed are removed next time; a final failure shows in sync");
    return rung_log_sync(w->config.log, &durable, err);
}

/* Somebody waits for the log to be as far on the disk as it is acknowledged. */
static rung_status sync_as_asked(rung_writer *w, rung_err *err) {
    rung_status st = w->has_unsynced ? sync_log(w, err) : RUNG_OK;
    if (st >= 0)
        notify(w);
    return st;
}

/* Who asked for what, taken under the lock. */
typedef struct duties {
    queue *batch; /* NULL: none */
    uint64_t truncate_before;
    bool is_full, wants_sync;
} duties;

static duties take_duties(rung_writer *w) {
    pthread_mutex_lock(&w->lock);
    duties d = {.batch = take(w),
                .truncate_before = w->truncate_before,
                .is_full = w->status == RUNG_ENOSPC,
                .wants_sync = w->wants_sync};
    w->truncate_before = 0;
    w->wants_sync = false;
    pthread_mutex_unlock(&w->lock);
    return d;
}

static rung_status do_duties(rung_writer *w, const duties *d, rung_err *err) {
    rung_status st = RUNG_OK;
    if (d->is_full)
        look_for_space(w);
    if (d->truncate_before)
        st = truncate_log(w, d->truncate_before, err);
    if (st >= 0 && d->batch)
        st = put_down(w, d->batch, err);
    else if (st >= 0 && now_us(w) >= w->house_us)
        st = keep_house(w, err);
    if (st >= 0 && d->wants_sync)
        st = sync_as_asked(w, err);
    return st;
}

/* How long until there is something to do without being asked. */
static uint32_t rest_ms(rung_writer *w) {
    uint32_t every = w->config.sync_every_ms;
    pthread_mutex_lock(&w->lock);
    bool is_full = w->status == RUNG_ENOSPC;
    pthread_mutex_unlock(&w->lock);
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

/* ---- the helper thread ---- */

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
    if (rung_log_prepare(w->config.log, NULL) < 0) /* who needs the space tries, and reports */
        w->prepare_us = now_us(w) + (int64_t)w->config.space_retry_ms * 1000;
    return RUNG_WORKER_AGAIN;
}

/* ---- the owner's side ---- */

static rung_status make_queue(const rung_writer_config *c, queue *q) {
    q->entries = rung_alloc_get(c->alloc, c->queue_records_max * sizeof *q->entries);
    if (!c->is_borrowing)
        q->bytes = rung_alloc_get(c->alloc, c->queue_bytes_max);
    return q->entries && (q->bytes || c->is_borrowing) ? RUNG_OK : RUNG_ENOMEM;
}

static void release(rung_writer *w) {
    const rung_writer_config *c = &w->config;
    for (int i = 0; i < 2; i++) {
        if (w->queues[i].entries)
            rung_alloc_free(c->alloc, w->queues[i].entries,
                            c->queue_records_max * sizeof(rung_log_entry));
        if (w->queues[i].bytes)
            rung_alloc_free(c->alloc, w->queues[i].bytes, c->queue_bytes_max);
    }
    pthread_mutex_destroy(&w->lock);
    rung_alloc_free(c->alloc, w, sizeof *w);
}

/* The helper first: the writer wakes it. */
static rung_status start_threads(rung_writer *w, rung_err *err) {
    const rung_writer_config *c = &w->config;
    rung_status st = rung_worker_start(c->threads, c->alloc, step_helper, w, &w->helper, err);
    if (st == RUNG_OK)
        st = rung_worker_start(c->threads, c->alloc, step_writer, w, &w->writer, err);
    if (st < 0)
        rung_worker_stop(w->helper);
    return st;
}

rung_status rung_writer_create(const rung_writer_config *config, rung_writer **writer_out,
                               rung_err *err) {
    rung_writer *w = rung_alloc_zeroed(config->alloc, sizeof *w);
    if (!w)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for the log writer");
    rung_writer_config *c = &w->config;
    size_t batch_max = rung_log_batch_bytes_max(config->log);
    *c = *config;
    c->queue_bytes_max = c->queue_bytes_max ? c->queue_bytes_max : QUEUE_BYTES_DEFAULT;
    c->queue_bytes_max = c->queue_bytes_max < batch_max ? c->queue_bytes_max : batch_max;
    c->queue_records_max = c->queue_records_max ? c->queue_records_max : QUEUE_RECORDS_DEFAULT;
    c->space_retry_ms = c->space_retry_ms ? c->space_retry_ms : SPACE_RETRY_MS_DEFAULT;
    w->durable_seq = w->written_seq = rung_log_durable_seq(config->log);
    w->next_seq = w->durable_seq + 1;
    w->status = config->is_full ? RUNG_ENOSPC : RUNG_OK;
    w->wants_spare = true;
    pthread_mutex_init(&w->lock, NULL);
    w->synced_us = now_us(w);
    w->house_us = w->synced_us + INT64_C(1000) * rest_ms(w);
    rung_status st = make_queue(c, &w->queues[0]);
    if (st == RUNG_OK)
        st = make_queue(c, &w->queues[1]);
    if (st < 0)
        st = RUNG_FAIL(err, st, "no memory for the queue of the log writer");
    if (st == RUNG_OK)
        st = start_threads(w, err);
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
    pthread_mutex_lock(&w->lock);
    w->is_stopping = true;
    pthread_mutex_unlock(&w->lock);
    rung_worker_stop(w->writer);
    rung_worker_stop(w->helper);
    release(w);
}

static void push(queue *q, const rung_log_entry *entries, size_t count) {
    rung_log_entry *out = &q->entries[q->count];
    memcpy(out, entries, count * sizeof *out);
    for (size_t i = 0; q->bytes && i < count; i++) {
        char *copy = (char *)q->bytes + q->used;
        if (out[i].payload.len)
            memcpy(copy, out[i].payload.ptr, out[i].payload.len);
        out[i].payload.ptr = copy;
        q->used += out[i].payload.len;
    }
    q->count += count;
}

/* Lock held. */
static rung_status try_push(rung_writer *w, const rung_log_entry *entries, size_t count,
                            size_t framed, uint64_t *first_seq_out, rung_err *err) {
    queue *q = &w->queues[w->filling];
    if (w->status == RUNG_ENOSPC)
        return RUNG_FAIL(err, RUNG_ENOSPC,
                         "there is no space for the log: nothing is accepted until there is some");
    if (w->status < 0) {
        if (err)
            *err = w->failure;
        return w->status;
    }
    if (w->is_stopping)
        return RUNG_FAIL(err, RUNG_ECLOSED, "the log writer is closing");
    if (q->count + count > w->config.queue_records_max ||
        q->framed + framed > w->config.queue_bytes_max)
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                             "the queue of the log writer is full");
    push(q, entries, count);
    q->framed += framed;
    *first_seq_out = w->next_seq;
    w->next_seq += count;
    return RUNG_OK;
}

rung_status rung_writer_submit_many(rung_writer *w, const rung_log_entry *entries, size_t count,
                                    uint64_t *first_seq_out, rung_err *err) {
    size_t framed = 0;
    if (count == 0)
        return RUNG_FAIL(err, RUNG_EINVAL, "nothing to submit");
    for (size_t i = 0; i < count; i++) {
        if (entries[i].payload.len > RUNG_LOG_RECORD_MAX)
            return RUNG_FAIL(err, RUNG_ELIMIT, "a record of %zu bytes is longer than the log takes",
                             entries[i].payload.len);
        framed += rung_log_framed_size(entries[i].payload.len);
    }
    pthread_mutex_lock(&w->lock);
    rung_status st = try_push(w, entries, count, framed, first_seq_out, err);
    pthread_mutex_unlock(&w->lock);
    if (st == RUNG_OK)
        rung_worker_wake(w->writer); /* behind the lock: the thread runs at once, and needs it */
    return st;
}

rung_writer_state rung_writer_poll(rung_writer *w) {
    pthread_mutex_lock(&w->lock);
    rung_writer_state s = {w->durable_seq, w->status, w->refused_from, w->refused_to};
    w->refused_from = w->refused_to = 0;
    pthread_mutex_unlock(&w->lock);
    return s;
}

typedef struct drain {
    rung_writer *writer;
    uint64_t until;
} drain;

static bool is_drained(void *arg) {
    const drain *d = arg;
    pthread_mutex_lock(&d->writer->lock);
    bool is = d->writer->status < 0 || d->writer->durable_seq >= d->until;
    pthread_mutex_unlock(&d->writer->lock);
    return is;
}

void rung_writer_drain(rung_writer *w) {
    pthread_mutex_lock(&w->lock);
    drain d = {w, w->next_seq - 1};
    pthread_mutex_unlock(&w->lock);
    rung_worker_await(w->writer, is_drained, &d, UINT32_MAX);
}

void rung_writer_truncate_before(rung_writer *w, uint64_t seq) {
    pthread_mutex_lock(&w->lock);
    if (seq > w->truncate_before)
        w->truncate_before = seq;
    pthread_mutex_unlock(&w->lock);
    rung_worker_wake(w->writer);
}

void rung_writer_sync_soon(rung_writer *w) {
    pthread_mutex_lock(&w->lock);
    w->wants_sync = true;
    pthread_mutex_unlock(&w->lock);
    rung_worker_wake(w->writer);
}

void rung_writer_failure(rung_writer *w, rung_err *err_out) {
    pthread_mutex_lock(&w->lock);
    *err_out = w->failure;
    pthread_mutex_unlock(&w->lock);
}

rung_writer_stats rung_writer_stat(rung_writer *w) {
    pthread_mutex_lock(&w->lock);
    rung_writer_stats s = w->stats;
    s.queue_records = w->queues[w->filling].count;
    s.queue_bytes = w->queues[w->filling].framed;
    pthread_mutex_unlock(&w->lock);
    return s;
}
