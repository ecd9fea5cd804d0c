/* SPDX-License-Identifier: Apache-2.0 */
/* A step of the follower's worker archives one batch in one transaction, then settles: moves the cursor and frees
 * what was archived.
 *
 * Invariants:
 *   F1 Packed windows wait in order of their sequence. The owner appends; the thread removes from the front.
 *   F2 A batch ends at or before `applied_seq`, so the windows that its events closed were handed over; and before
 *      `blocked_seq`, the first event with a missing window.
 *   F3 cursor_seq moves only after a commit; an item in memory is freed only after the commit that contains it.
 *   F4 The ring has the statuses of events ring_first .. ring_first + ring_count - 1; that of seq is at seq %
 *      statuses_max. */
#include "archive/follower.h"

#include "archive/closed_window.h"
#include "archive/pack_job.h"
#include "base/list.h"
#include "service/applier.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define JOB_ROW_BYTES 24 /* estimated size of a row of a job */
#define NOT_DURABLE_YET_RETRY_MS                                                                   \
    10 /* with relaxed syncing an event is applied slightly before it can be read */
#define RECORDS_AT_ONCE 64

typedef struct item {
    RUNG_LINK(struct item) link;
    uint64_t seq;       /* of the event that closed the window or triggered the sample */
    size_t size;        /* memory: exact, or as expected from the job */
    rung_buffer packed; /* empty while a job makes the bytes */
    rung_pack_job *job; /* NULL: `packed` has them */
} item;

typedef RUNG_LIST(item) item_list;

struct rung_follower {
    rung_follower_config config;
    rung_worker *worker;

    pthread_mutex_t lock;
    /* Under the lock. */
    bool is_stopping;
    int64_t stop_by_ms; /* when stopping: of the monotonic clock */
    uint64_t applied_seq, cursor_seq;
    uint64_t blocked_seq; /* 0: not blocked */
    rung_status blocked_status;
    item_list queue;
    size_t pinned_bytes;
    int8_t *ring;
    uint64_t ring_first;
    uint32_t ring_count;
    uint64_t mark_seq; /* an event that waits, and since when: for behind_ms */
    int64_t mark_ms;
    rung_follower_stats stats;

    /* The thread's. */
    rung_log_cursor *log_cursor; /* stands at cursor_seq + 1; NULL: to be opened */
    int64_t log_time_ms;         /* at cursor_seq */
    int8_t *statuses;            /* of the batch */
    uint64_t lost_seq;           /* of a window whose job failed; 0: none */
    bool is_failing;
    uint32_t retry_ms;
    int64_t not_before_ms; /* of the monotonic clock: when to try again */
    rung_event event;
};

/* ---- small things ---- */

static int64_t monotonic_ms(const rung_follower *f) {
    return rung_clock_monotonic_ms(&f->config.clock);
}

static void say(rung_follower *f, const char *line) {
    if (f->config.say)
        f->config.say(f->config.say_ctx, line);
}

static void release_bytes(item *i) {
    rung_pack_job_end(i->job);
    rung_buffer_deinit(&i->packed);
}

static void list_free(rung_follower *f, item_list *l) {
    for (item *i; (i = l->first);) {
        RUNG_LIST_REMOVE(l, i, link);
        release_bytes(i);
        rung_alloc_free(f->config.alloc, i, sizeof *i);
    }
}

/* F2; lock held. */
static uint64_t target_seq(const rung_follower *f) {
    return f->blocked_seq && f->blocked_seq <= f->applied_seq ? f->blocked_seq - 1 : f->applied_seq;
}

/* ---- from the owner ---- */

/* F4: append statuses to the ring; those that do not fit, or follow a gap, are lost. */
static void ring_add(rung_follower *f, uint64_t first_seq, uint32_t count,
                     const rung_status *statuses) {
    uint32_t max = f->config.statuses_max;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t seq = first_seq + i;
        if (seq <= f->cursor_seq)
            continue;
        if (f->ring_count == 0)
            f->ring_first = seq;
        if (!statuses || f->ring_count == max || seq != f->ring_first + f->ring_count) {
            f->stats.statuses_lost++;
            continue;
        }
        f->ring[seq % max] = (int8_t)statuses[i];
        f->ring_count++;
    }
}

/* Everything up to `seq` is applied: wake the thread if it was idle. Lock held on entry; releases it. */
static void unlock_applied(rung_follower *f, uint64_t seq) {
    bool was_idle = target_seq(f) <= f->cursor_seq;
    f->applied_seq = seq;
    if (f->mark_seq <= f->cursor_seq) {
        f->mark_seq = seq;
        f->mark_ms = monotonic_ms(f);
    }
    bool is_work = was_idle && target_seq(f) > f->cursor_seq;
    pthread_mutex_unlock(&f->lock);
    if (is_work)
        rung_worker_wake(f->worker);
}

void rung_follower_resume(rung_follower *f, uint64_t seq) {
    pthread_mutex_lock(&f->lock);
    unlock_applied(f, seq);
}

void rung_follower_applied(rung_follower *f, uint64_t first_seq, uint32_t count,
                           const rung_status *statuses) {
    if (count == 0)
        return;
    pthread_mutex_lock(&f->lock);
    ring_add(f, first_seq, count, statuses);
    unlock_applied(f, first_seq + count - 1);
}

/* The window of event `seq` cannot be kept: archive nothing from there on. Lock held. */
static void block(rung_follower *f, uint64_t seq, rung_status st) {
    if (f->blocked_seq)
        return;
    f->blocked_seq = seq;
    RUNG_FAIL(&f->stats.last_error, st,
              "archive: stopped before event %" PRIu64
              ": %s for a window that closed; restart to go on",
              seq,
              st == RUNG_ENOMEM   ? "no memory"
              : st == RUNG_ELIMIT ? "no room"
                                  : "no process");
    f->stats.status = f->blocked_status = st;
    f->stats.failures++;
}

/* Will the follower archive event `seq`? Lock held. */
static bool is_to_come(const rung_follower *f, uint64_t seq) {
    return seq > f->cursor_seq && (!f->blocked_seq || seq < f->blocked_seq);
}

/* Queue packed bytes or the job that makes them, or block. Takes ownership of both. */
static void hand_over(rung_follower *f, uint64_t seq, rung_status st, size_t size,
                      rung_buffer packed, rung_pack_job *job) {
    item *i = st == RUNG_OK ? rung_alloc_get(f->config.alloc, sizeof *i) : NULL;
    item given = {.seq = seq, .size = size, .packed = packed, .job = job};
    pthread_mutex_lock(&f->lock);
    bool is_new = is_to_come(f, seq);
    if (is_new && !i)
        block(f, seq, RUNG_ENOMEM);
    else if (is_new && size > f->config.pinned_bytes_max - f->pinned_bytes)
        block(f, seq, RUNG_ELIMIT);
    else if (is_new) {
        f->pinned_bytes += size;
        *i = given;
        RUNG_LIST_APPEND(&f->queue, i, link);
        pthread_mutex_unlock(&f->lock);
        return;
    }
    pthread_mutex_unlock(&f->lock);
    release_bytes(&given);
    rung_alloc_free(f->config.alloc, i, sizeof *i);
}

/* Must it be packed? A replay repeats windows that are archived already. */
static bool is_wanted(rung_follower *f, uint64_t seq) {
    pthread_mutex_lock(&f->lock);
    bool is = is_to_come(f, seq);
    pthread_mutex_unlock(&f->lock);
    return is;
}

/* In rows: each attribute that a row is ranked by takes up to as long again. */
static uint64_t packing_work(const rung_view *view, rung_slice board) {
    const rung_board_def *def;
    uint64_t attributes = 0;
    if (rung_state_board(view->state, board, &def) == RUNG_OK)
        attributes = def->scope_count + (def->has_teams ? 1u : 0u);
    uint64_t work = view->total * (1 + attributes);
    return work < UINT32_MAX ? work : UINT32_MAX - 1;
}

void rung_follower_close_window(rung_follower *f, rung_slice board, const rung_view *view) {
    uint64_t seq = rung_state_seq(view->state);
    rung_buffer packed = {0};
    rung_pack_job *job = NULL;
    if (!is_wanted(f, seq))
        return;
    if (packing_work(view, board) >= f->config.fork_rows &&
        rung_pack_job_begin(f->config.children, f->config.alloc, board, view, &job, NULL) ==
            RUNG_OK) {
        hand_over(f, seq, RUNG_OK, (size_t)view->total * JOB_ROW_BYTES, packed, job);
        return;
    }
    rung_status st = rung_closed_window_pack(f->config.alloc, board, view, &packed);
    hand_over(f, seq, st, packed.size, packed, NULL);
}

void rung_follower_sample(rung_follower *f, uint64_t seq, rung_slice board, const rung_view *view,
                          int64_t time_ms, uint32_t n, const rung_slice *ids) {
    rung_buffer packed = {0};
    if (!is_wanted(f, seq))
        return;
    rung_status st = rung_sample_pack(f->config.alloc, board, view, time_ms, f->config.sample_top,
                                      n, ids, &packed);
    hand_over(f, seq, st, packed.size, packed, NULL);
}

/* ---- looking ---- */

uint64_t rung_follower_cursor(rung_follower *f) {
    pthread_mutex_lock(&f->lock);
    uint64_t seq = f->cursor_seq;
    pthread_mutex_unlock(&f->lock);
    return seq;
}

rung_follower_pins rung_follower_pinned(rung_follower *f) {
    pthread_mutex_lock(&f->lock);
    rung_follower_pins p = {.bytes = f->pinned_bytes,
                            .oldest_seq = f->queue.first ? f->queue.first->seq : f->blocked_seq};
    pthread_mutex_unlock(&f->lock);
    return p;
}

rung_follower_stats rung_follower_stat(rung_follower *f) {
    pthread_mutex_lock(&f->lock);
    rung_follower_stats s = f->stats;
    s.cursor_seq = f->cursor_seq;
    s.applied_seq = f->applied_seq;
    s.behind_events = f->applied_seq > f->cursor_seq ? f->applied_seq - f->cursor_seq : 0;
    s.behind_ms = f->mark_seq > f->cursor_seq ? monotonic_ms(f) - f->mark_ms : 0;
    pthread_mutex_unlock(&f->lock);
    return s;
}

typedef struct goal {
    rung_follower *follower;
    uint64_t seq;
} goal;

static bool is_reached(void *arg) {
    const goal *g = arg;
    return rung_follower_cursor(g->follower) >= g->seq;
}

rung_status rung_follower_wait(rung_follower *f, uint64_t seq, uint32_t timeout_ms) {
    goal g = {f, seq};
    return rung_worker_await(f->worker, is_reached, &g, timeout_ms) ? RUNG_OK : RUNG_PARTIAL;
}

/* ---- the thread: one batch ---- */

/* Copy the statuses of events up to `last`. Lock held. */
static void take_statuses(rung_follower *f, uint64_t last) {
    for (uint64_t seq = f->cursor_seq + 1; seq <= last; seq++) {
        bool is_known =
            f->ring_count && seq >= f->ring_first && seq < f->ring_first + f->ring_count;
        f->statuses[seq - f->cursor_seq - 1] =
            is_known ? f->ring[seq % f->config.statuses_max] : RUNG_STATUS_UNKNOWN;
    }
}

static rung_status add_record(rung_follower *f, const rung_log_record *r, uint64_t seq, int status,
                              int64_t *log_time_ms, rung_err *err) {
    if (r->seq != seq)
        return RUNG_FAIL(err, RUNG_ECORRUPT,
                         "archive: the log gave event %" PRIu64 " instead of %" PRIu64, r->seq,
                         seq);
    if (r->type == RUNG_LOG_TYPE_VOID || r->type == RUNG_LOG_TYPE_REPORT)
        return RUNG_OK;
    if (r->type != RUNG_LOG_TYPE_EVENT)
        return RUNG_FAIL(err, RUNG_EVERSION,
                         "archive: record %" PRIu64 " is of type %u, which is not known", seq,
                         (unsigned)r->type);
    rung_status st = rung_event_decode(r->payload, &f->event, err);
    if (st < 0)
        return st;
    if (f->event.ts_ms > *log_time_ms)
        *log_time_ms = f->event.ts_ms;
    return rung_archive_add_event(f->config.archive, seq, &f->event, *log_time_ms, status, err);
}

/* The bytes of an item. If its job failed, the window is lost. */
static rung_status item_bytes(rung_follower *f, item *i, rung_slice *out, rung_err *err) {
    *out = rung_buffer_slice(&i->packed);
    if (!i->job)
        return RUNG_OK;
    rung_status st = rung_pack_job_wait(i->job, out, err);
    if (st < 0)
        f->lost_seq = i->seq;
    return st;
}

/* Under the lock: the owner may append behind it. */
static item *item_after(rung_follower *f, const item *i) {
    pthread_mutex_lock(&f->lock);
    item *next = i->link.next;
    pthread_mutex_unlock(&f->lock);
    return next;
}

/* Add the windows and samples of events up to `seq`, from `*next` on. They stay in the queue until the commit (F3). */
static rung_status add_items(rung_follower *f, uint64_t seq, item **next, rung_err *err) {
    for (; *next && (*next)->seq <= seq; *next = item_after(f, *next)) {
        rung_slice packed;
        rung_status st = item_bytes(f, *next, &packed, err);
        if (st >= 0)
            st = rung_archive_add_packed(f->config.archive, packed, err);
        if (st < 0)
            return st;
    }
    return RUNG_OK;
}

/* Add events from + 1 .. last with everything that belongs to them. `*done_out` is the last one added: less than
 * `last` if the log has not synced the rest yet. */
static rung_status add_events(rung_follower *f, uint64_t from, uint64_t last, item *next,
                              uint64_t *done_out, int64_t *log_time_ms, rung_err *err) {
    rung_log_record records[RECORDS_AT_ONCE];
    uint64_t seq = from;
    rung_status st = RUNG_OK;
    if (!f->log_cursor)
        st = rung_log_cursor_open(f->config.log, from + 1, &f->log_cursor, err);
    while (st >= 0 && seq < last) {
        size_t count = 0,
               max = last - seq < RECORDS_AT_ONCE ? (size_t)(last - seq) : RECORDS_AT_ONCE;
        st = rung_log_cursor_read(f->log_cursor, records, max, &count, err);
        if (st == RUNG_NOT_FOUND)
            break;
        for (size_t i = 0; st >= 0 && i < count; i++) {
            seq++;
            st = add_record(f, &records[i], seq, f->statuses[seq - from - 1], log_time_ms, err);
            if (st >= 0)
                st = add_items(f, seq, &next, err);
        }
    }
    *done_out = seq;
    return st < 0 ? st : RUNG_OK;
}

static void close_log_cursor(rung_follower *f) {
    rung_log_cursor_close(f->log_cursor);
    f->log_cursor = NULL;
}

/* A commit that was reported as failed may have succeeded: read the cursor rather than archive twice. */
static rung_status check_cursor(rung_follower *f, uint64_t from, uint64_t *seq_out, rung_err *err) {
    rung_status st = rung_archive_cursor(f->config.archive, seq_out, NULL, err);
    if (st >= 0 && *seq_out < from)
        st =
            RUNG_FAIL(err, RUNG_ECORRUPT,
                      "archive: it had event %" PRIu64 " and now ends at %" PRIu64, from, *seq_out);
    return st;
}

/* One transaction; `next` is the first item that waits. RUNG_OK with its last event, possibly none; after a failure
 * nothing has changed. */
static rung_status archive_batch(rung_follower *f, uint64_t from, uint64_t last, item *next,
                                 uint64_t *done_out, rung_err *err) {
    rung_archive *a = f->config.archive;
    int64_t log_time_ms = f->log_time_ms;
    uint64_t seq = from;
    rung_status st = rung_archive_begin(a, err);
    if (st >= 0)
        st = check_cursor(f, from, &seq, err);
    if (st >= 0 && seq > from) { /* the archive is ahead: continue from there */
        rung_archive_rollback(a);
        close_log_cursor(f);
        return rung_archive_cursor(a, done_out, &f->log_time_ms, err);
    }
    if (st >= 0)
        st = add_events(f, from, last, next, done_out, &log_time_ms, err);
    if (st >= 0 && *done_out == from) {
        rung_archive_rollback(a);
        return RUNG_OK;
    }
    if (st >= 0)
        st = rung_archive_commit(a, *done_out, log_time_ms, err);
    if (st < 0) {
        rung_archive_rollback(a);
        close_log_cursor(f);
        return st;
    }
    f->log_time_ms = log_time_ms;
    return RUNG_OK;
}

/* A new archive, or one that was detached too long, starts where the log does and records the gap. */
static rung_status skip_gap(rung_follower *f, uint64_t from, rung_err *err) {
    rung_archive *a = f->config.archive;
    rung_status st = rung_archive_begin(a, err);
    if (st >= 0)
        st = rung_archive_add_gap(a, from + 1, f->config.first_seq - 1, err);
    if (st >= 0)
        st = rung_archive_commit(a, f->config.first_seq - 1, f->log_time_ms, err);
    if (st < 0)
        rung_archive_rollback(a);
    return st;
}

/* ---- the thread: its life ---- */

/* After a commit up to `done`. Lock held. Returns the items it contains, which are those up to `items_seq`, to be
 * freed (F3). */
static item_list settle(rung_follower *f, uint64_t done, uint64_t items_seq) {
    item_list archived = {0};
    for (item *i; (i = f->queue.first) && i->seq <= items_seq;) {
        RUNG_LIST_REMOVE(&f->queue, i, link);
        f->pinned_bytes -= i->size;
        f->stats.windows++;
        RUNG_LIST_APPEND(&archived, i, link);
    }
    f->cursor_seq = done;
    f->stats.batches++;
    f->stats.status = f->blocked_status;
    if (f->ring_count && done >= f->ring_first) {
        uint64_t gone = done - f->ring_first + 1;
        f->ring_count = gone < f->ring_count ? f->ring_count - (uint32_t)gone : 0;
        f->ring_first = done + 1;
    }
    if (f->mark_seq <= done && f->applied_seq > done) {
        f->mark_seq = f->applied_seq;
        f->mark_ms = monotonic_ms(f);
    }
    return archived;
}

/* Lock held on entry and return; released while it works. */
static rung_status one_batch(rung_follower *f) {
    uint64_t from = f->cursor_seq, last = target_seq(f), done = from;
    bool is_gap = from + 1 < f->config.first_seq;
    uint64_t sure = rung_log_sure_seq(f->config.log);
    if (last - from > f->config.batch_events)
        last = from + f->config.batch_events;
    if (last > sure && !is_gap) /* what a power cut undoes must not stay in the archive */
        last = sure;
    if (last <= from && !is_gap)
        return RUNG_NOT_FOUND;
    if (!is_gap)
        take_statuses(f, last);
    item *next = f->queue.first;
    rung_err err = {0};
    pthread_mutex_unlock(&f->lock);
    rung_status st =
        is_gap ? skip_gap(f, from, &err) : archive_batch(f, from, last, next, &done, &err);
    if (is_gap && st >= 0)
        done = f->config.first_seq - 1;
    pthread_mutex_lock(&f->lock);
    if (st < 0) {
        f->stats.failures++;
        f->stats.last_error = err;
        f->stats.status = st;
        if (f->lost_seq)
            block(f, f->lost_seq, st);
        f->lost_seq = 0;
        return st;
    }
    if (done == from)
        return RUNG_NOT_FOUND;
    item_list archived = settle(f, done, is_gap ? 0 : done);
    pthread_mutex_unlock(&f->lock);
    list_free(f, &archived);
    pthread_mutex_lock(&f->lock);
    return RUNG_OK;
}

/* Tell the operator when it starts to fail and when it works again. Releases the lock to do so. */
static void report(rung_follower *f, rung_status st) {
    char line[sizeof f->stats.last_error.message + 64];
    bool is_failing = st < 0;
    if (f->is_failing == is_failing || st == RUNG_NOT_FOUND)
        return;
    f->is_failing = is_failing;
    if (is_failing)
        snprintf(line, sizeof line, "archive falls behind, will be tried again: %s",
                 f->stats.last_error.message);
    else
        snprintf(line, sizeof line, "archive works again at event %" PRIu64, f->cursor_seq);
    pthread_mutex_unlock(&f->lock);
    say(f, line);
    pthread_mutex_lock(&f->lock);
}

/* After a batch: when to go on. Lock held. */
static uint32_t next_in_ms(rung_follower *f, rung_status st) {
    uint32_t ms = RUNG_WORKER_AGAIN;
    if (f->is_stopping)
        return st != RUNG_OK || monotonic_ms(f) >= f->stop_by_ms ? RUNG_WORKER_END : ms;
    if (st < 0) {
        ms = f->retry_ms;
        f->retry_ms = ms * 2 < f->config.retry_ms_max ? ms * 2 : f->config.retry_ms_max;
    } else if (st == RUNG_NOT_FOUND) {
        ms = NOT_DURABLE_YET_RETRY_MS;
    } else {
        f->retry_ms = f->config.retry_ms_min;
    }
    f->not_before_ms = monotonic_ms(f) + ms;
    return ms;
}

/* Lock held. */
static uint32_t work(rung_follower *f) {
    if (target_seq(f) <= f->cursor_seq)
        return RUNG_WORKER_SLEEP;
    int64_t wait_ms = f->not_before_ms - monotonic_ms(f);
    if (!f->is_stopping && wait_ms > 0)
        return (uint32_t)wait_ms;
    rung_status st = one_batch(f);
    report(f, st);
    return next_in_ms(f, st);
}

static uint32_t step(void *arg, bool is_stopping) {
    rung_follower *f = arg;
    (void)is_stopping; /* our own is set before, with the time to stop by */
    pthread_mutex_lock(&f->lock);
    uint32_t ms = work(f);
    pthread_mutex_unlock(&f->lock);
    return ms;
}

/* ---- life ---- */

static rung_follower_config with_defaults(const rung_follower_config *config) {
    rung_follower_config c = *config;
    c.batch_events = c.batch_events ? c.batch_events : 4096;
    c.statuses_max = c.statuses_max ? c.statuses_max : 1u << 20;
    c.pinned_bytes_max = c.pinned_bytes_max ? c.pinned_bytes_max : (size_t)1 << 30;
    c.retry_ms_min = c.retry_ms_min ? c.retry_ms_min : 50;
    c.retry_ms_max = c.retry_ms_max ? c.retry_ms_max : 5000;
    c.stop_ms = c.stop_ms ? c.stop_ms : 5000;
    c.sample_top = c.sample_top ? c.sample_top : 1000;
    c.fork_rows =
        c.fork_rows ? c.fork_rows : 100000; /* packs as long as a fork takes: some 20 ms */
    return c;
}

static void release(rung_follower *f) {
    list_free(f, &f->queue);
    rung_alloc_free(f->config.alloc, f->ring, f->ring ? f->config.statuses_max : 0);
    rung_alloc_free(f->config.alloc, f->statuses, f->statuses ? f->config.batch_events : 0);
    rung_alloc_free(f->config.alloc, f, sizeof *f);
}

rung_status rung_follower_create(const rung_follower_config *config, rung_follower **out,
                                 rung_err *err) {
    rung_follower *f = rung_alloc_zeroed(config->alloc, sizeof *f);
    if (!f)
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    f->config = with_defaults(config);
    f->ring = rung_alloc_get(config->alloc, f->config.statuses_max);
    f->statuses = rung_alloc_get(config->alloc, f->config.batch_events);
    rung_status st = rung_archive_cursor(config->archive, &f->cursor_seq, &f->log_time_ms, err);
    if (!f->ring || !f->statuses)
        st = RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    uint64_t durable = rung_log_durable_seq(config->log);
    if (st >= 0 && f->cursor_seq > durable)
        st = RUNG_FAIL(err, RUNG_ECONFLICT,
                       "archive: it has event %" PRIu64 ", the log ends at %" PRIu64
                       ": they do not belong together",
                       f->cursor_seq, durable);
    if (st < 0) {
        release(f);
        return st;
    }
    f->retry_ms = f->config.retry_ms_min;
    pthread_mutex_init(&f->lock, NULL);
    st = rung_worker_start(config->threads, config->alloc, step, f, &f->worker, err);
    if (st < 0) {
        pthread_mutex_destroy(&f->lock);
        release(f);
        return st;
    }
    *out = f;
    return RUNG_OK;
}

void rung_follower_destroy(rung_follower *f) {
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->is_stopping = true;
    f->stop_by_ms = monotonic_ms(f) + f->config.stop_ms;
    pthread_mutex_unlock(&f->lock);
    rung_worker_stop(f->worker);
    close_log_cursor(f);
    pthread_mutex_destroy(&f->lock);
    release(f);
}
