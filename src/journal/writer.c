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
 * The writer's life: wait_for_work -> take -> put_down -> publish -> maintain -> again. */
#define _GNU_SOURCE
#include "journal/writer.h"

#include "base/assert.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

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
    pthread_t writer, helper;

    pthread_mutex_t lock;
    pthread_cond_t work;  /* for the writer: something queued, or stopping */
    pthread_cond_t spare; /* for the helper */
    pthread_cond_t done;  /* for drain */
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
    struct timespec synced_at;
};

/* ---- time ---- */

static struct timespec now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t;
}

static struct timespec later(struct timespec t, uint32_t ms) {
    t.tv_sec += ms / 1000;
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

static bool is_before(struct timespec a, struct timespec b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

static uint64_t us_since(struct timespec t) {
    struct timespec n = now();
    return (uint64_t)((int64_t)(n.tv_sec - t.tv_sec) * 1000000 + (n.tv_nsec - t.tv_nsec) / 1000);
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
    pthread_cond_broadcast(&w->done);
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
    pthread_cond_broadcast(&w->done);
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
    pthread_cond_broadcast(&w->done);
    pthread_mutex_unlock(&w->lock);
    notify(w);
}

static rung_status sync_log(rung_writer *w, rung_err *err) {
    uint64_t durable;
    rung_status st = rung_log_sync(w->config.log, &durable, err);
    w->has_unsynced = st < 0;
    w->synced_at = now();
    return st;
}

/* Housekeeping of the log; what it wants prepared is the helper's. */
static rung_status maintain(rung_writer *w, bool is_idle, rung_err *err) {
    rung_status st = rung_log_maintain(w->config.log, is_idle, err);
    if (st == RUNG_PARTIAL) {
        pthread_mutex_lock(&w->lock);
        w->wants_spare = true;
        pthread_cond_signal(&w->spare);
        pthread_mutex_unlock(&w->lock);
    }
    return st;
}

/* One batch: write, sync, tell. */
static rung_status put_down(rung_writer *w, queue *q, rung_err *err) {
    uint64_t first;
    struct timespec begun = now();
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
    struct timespec due = later(w->synced_at, w->config.sync_every_ms);
    if (w->config.sync_every_ms == 0 || is_before(due, now()))
        st = sync_log(w, err);
    if (st < 0)
        return st;
    publish(w, w->written_seq, q, us_since(begun));
    return maintain(w, false, err);
}

/* Sleep until there is something to do, at most until the next duty of the clock. Lock held. */
static void wait_for_work(rung_writer *w, uint32_t ms) {
    struct timespec until = later(now(), ms);
    while (!w->is_stopping && w->queues[w->filling].count == 0 && w->truncate_before == 0 &&
           !w->wants_sync) {
        if (pthread_cond_timedwait(&w->work, &w->lock, &until) != 0)
            return;
    }
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

static void *run_writer(void *arg) {
    rung_writer *w = arg;
    rung_err err = {0};
    rung_status st = RUNG_OK;
    uint32_t every = w->config.sync_every_ms;
    while (st >= 0) {
        pthread_mutex_lock(&w->lock);
        bool is_full = w->status == RUNG_ENOSPC;
        wait_for_work(w, is_full                    ? w->config.space_retry_ms
                         : every && every < IDLE_MS ? every
                                                    : IDLE_MS);
        queue *q = take(w);
        uint64_t before = w->truncate_before;
        w->truncate_before = 0;
        bool wants_sync = w->wants_sync;
        w->wants_sync = false;
        bool is_stopping = w->is_stopping;
        pthread_mutex_unlock(&w->lock);
        if (is_full)
            look_for_space(w);
        if (before)
            st = truncate_log(w, before, &err);
        if (st >= 0 && q)
            st = put_down(w, q, &err);
        else if (st >= 0)
            st = keep_house(w, &err);
        if (st >= 0 && wants_sync)
            st = sync_as_asked(w, &err);
        if (is_stopping && !q)
            break;
    }
    if (st < 0)
        die(w, st, &err);
    return NULL;
}

/* ---- the helper thread ---- */

static void *run_helper(void *arg) {
    rung_writer *w = arg;
    pthread_mutex_lock(&w->lock);
    while (!w->is_stopping) {
        if (!w->wants_spare) {
            pthread_cond_wait(&w->spare, &w->lock);
            continue;
        }
        w->wants_spare = false;
        pthread_mutex_unlock(&w->lock);
        rung_status st = rung_log_prepare(w->config.log,
                                          NULL); /* who needs the space tries again, and reports */
        pthread_mutex_lock(&w->lock);
        struct timespec until = later(now(), w->config.space_retry_ms);
        while (st < 0 && !w->is_stopping &&
               pthread_cond_timedwait(&w->spare, &w->lock, &until) == 0)
            continue;
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
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
    pthread_cond_destroy(&w->work);
    pthread_cond_destroy(&w->spare);
    pthread_cond_destroy(&w->done);
    pthread_mutex_destroy(&w->lock);
    rung_alloc_free(c->alloc, w, sizeof *w);
}

/* Signals are the owner's business: a sync must not be interrupted. */
static rung_status start_threads(rung_writer *w, rung_err *err) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&w->writer, NULL, run_writer, w);
    if (!failed) {
        failed = pthread_create(&w->helper, NULL, run_helper, w);
        if (failed) {
            pthread_mutex_lock(&w->lock);
            w->is_stopping = true;
            pthread_cond_signal(&w->work);
            pthread_mutex_unlock(&w->lock);
            pthread_join(w->writer, NULL);
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed ? RUNG_FAIL_OS(err, RUNG_EIO, failed, "no thread for the log writer") : RUNG_OK;
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
    w->synced_at = now();
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, &monotonic);
    pthread_cond_init(&w->spare, &monotonic);
    pthread_cond_init(&w->done, NULL);
    pthread_condattr_destroy(&monotonic);

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
    pthread_cond_signal(&w->work);
    pthread_cond_signal(&w->spare);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->writer, NULL);
    pthread_join(w->helper, NULL);
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
        return RUNG_FAIL(err, RUNG_ELIMIT, "the queue of the log writer is full");
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
        pthread_cond_signal(&w->work); /* behind the lock: the thread runs at once, and needs it */
    return st;
}

rung_writer_state rung_writer_poll(rung_writer *w) {
    pthread_mutex_lock(&w->lock);
    rung_writer_state s = {w->durable_seq, w->status, w->refused_from, w->refused_to};
    w->refused_from = w->refused_to = 0;
    pthread_mutex_unlock(&w->lock);
    return s;
}

void rung_writer_drain(rung_writer *w) {
    pthread_mutex_lock(&w->lock);
    uint64_t until = w->next_seq - 1;
    while (w->status >= 0 && w->durable_seq < until)
        pthread_cond_wait(&w->done, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

void rung_writer_truncate_before(rung_writer *w, uint64_t seq) {
    pthread_mutex_lock(&w->lock);
    if (seq > w->truncate_before)
        w->truncate_before = seq;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
}

void rung_writer_sync_soon(rung_writer *w) {
    pthread_mutex_lock(&w->lock);
    w->wants_sync = true;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
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
