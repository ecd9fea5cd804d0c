/* SPDX-License-Identifier: Apache-2.0 */
/* A step of the follower's worker archives one batch in one transaction, then settles: moves the cursor and frees
 * what was archived.
 *
 * Invariants:
 *   F1 Packed windows wait in order of their sequence. The owner appends; the thread removes from the front.
 *   F2 A batch ends at or before `applied_seq`, so the windows that its events closed were handed over; and before
 *      `blocked_seq`, the first event with a missing window.
 *   F3 cursor_seq moves only after a commit; an item in memory is freed only after the commit that contains it.
 *   F4 The ring has the results of events ring_first .. ring_first + ring_count - 1, from ring_start on. It starts at
 *      0 whenever it was empty, so that an archive that keeps up touches little of it. */
#define _GNU_SOURCE
#include "archive/follower.h"

#include "archive/closed_window.h"
#include "archive/pack_job.h"
#include "base/list.h"
#include "service/applier.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define JOB_ROW_BYTES 24 /* estimated size of a row of a job */
#define NOT_DURABLE_YET_RETRY_MS                                                                   \
    10 /* with relaxed syncing an event is applied slightly before it can be read */
#define OTHER_WRITES_MS 100 /* how often to look how far another server is with the archive */
#define RECORDS_AT_ONCE 64
#define NICE            10 /* SCHED_IDLE would starve beside a server that uses all cores */
#define UPKEEP_PAUSE_MS 1000
/* After a batch this large, gather this many times as long: each commit syncs the disk that the log needs, too. */
#define BUSY_EVENTS 2048
#define BUSY_GATHER 3
/* Unless many wait, pause for a millisecond after so many events: thirty thousand in one go may take the processor from
 * the server's threads for a whole slice of the scheduler. Not measured yet (bench/archive_bench.py). */
#define PACE_EVENTS 1024
/* Under load upkeep takes this part of the time. With a larger one bench/archive_bench.py saw a p99.9 of 120 ms; we
 * suspect its bursts of random pages, which the log's syncs wait for, but have not isolated them. */
#define UPKEEP_SHARE 100

typedef struct item {
    RUNG_LINK(struct item) link;
    uint64_t seq;       /* of the event that closed the window or triggered the sample */
    size_t size;        /* memory: exact, or as expected from the job */
    rung_buffer packed; /* empty while a job makes the bytes; of a change: before, then after */
    size_t before_len;  /* of a change */
    bool is_change;     /* what the event itself changed */
    rung_pack_job *job; /* NULL: `packed` has them */
} item;

typedef RUNG_LIST(item) item_list;

/* What came of an event with several players. */
typedef struct player_results {
    RUNG_LINK(struct player_results) link;
    uint64_t seq;
    size_t size;
    rung_buffer packed; /* results.h */
} player_results;

typedef RUNG_LIST(player_results) results_list;

/* What came of an event. */
typedef struct result {
    rung_value values[RUNG_COLUMNS_MAX]; /* the score afterwards; or the limit that refused it */
    uint8_t types[RUNG_COLUMNS_MAX];     /* as in rung_outcome */
    uint8_t count;                       /* of values afterwards */
    int8_t status;
    uint8_t rule;
} result;
_Static_assert(sizeof(result) == 32, "half a cache line");

struct rung_follower {
    rung_follower_config config;
    rung_worker *worker;

    pthread_mutex_t lock;
    /* Under the lock. */
    bool is_stopping;
    bool is_known;      /* the archive's cursor was read */
    bool is_settled;    /* when stopping: nothing is left that can be archived now */
    int64_t stop_by_ms; /* when stopping: of the monotonic clock */
    uint64_t applied_seq, cursor_seq;
    uint64_t blocked_seq; /* 0: not blocked */
    rung_status blocked_status;
    item_list queue;
    size_t pinned_bytes;
    result *ring;
    uint64_t ring_first;
    uint32_t ring_start, ring_count;
    results_list
        results_queue; /* in order of sequence, like the queue, but a snapshot need not wait for them */
    size_t results_bytes;
    uint64_t mark_seq; /* an event that waits, and since when: for behind_ms */
    int64_t mark_ms;
    rung_follower_stats stats;

    /* The thread's. */
    rung_log_cursor *log_cursor; /* stands at cursor_seq + 1; NULL: to be opened */
    int64_t log_time_ms;         /* at cursor_seq */
    result *results;             /* of the batch */
    uint64_t lost_seq;           /* of a window whose job failed; 0: none */
    bool is_second;              /* another server holds the archive */
    bool is_failing, is_nice;
    bool is_busy;  /* the last batch was large */
    bool is_paced; /* this one need not hurry */
    uint32_t retry_ms;
    bool is_upkeep_due;
    int64_t upkeep_ms;     /* of the monotonic clock: not before */
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

static void results_free(rung_follower *f, results_list *l) {
    for (player_results *c; (c = l->first);) {
        RUNG_LIST_REMOVE(l, c, link);
        rung_buffer_deinit(&c->packed);
        rung_alloc_free(f->config.alloc, c, sizeof *c);
    }
}

/* F2; lock held. */
static uint64_t target_seq(const rung_follower *f) {
    return f->blocked_seq && f->blocked_seq <= f->applied_seq ? f->blocked_seq - 1 : f->applied_seq;
}

/* ---- from the owner ---- */

static result result_of(rung_status st, const rung_outcome *o) {
    result r = {.status = (int8_t)st};
    if (!o)
        return r;
    memcpy(r.types, o->types, sizeof r.types);
    if (st < 0) {
        r.rule = o->rule;
        r.values[0] = o->limit;
    } else if (!o->duplicate && !o->tentative) { /* that of a duplicate is the first one's */
        r.count = (uint8_t)o->value_count;
        memcpy(r.values, o->values, sizeof r.values);
    }
    return r;
}

/* F4: append results to the ring; those that do not fit, or follow a gap, are lost. */
static void ring_add(rung_follower *f, uint64_t first_seq, uint32_t count,
                     const rung_status *statuses, const rung_outcome *outcomes) {
    uint32_t max = f->config.statuses_max;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t seq = first_seq + i;
        if (seq <= f->cursor_seq)
            continue;
        if (f->ring_count == 0) {
            f->ring_first = seq;
            f->ring_start = 0;
        }
        if (!statuses || f->ring_count == max || seq != f->ring_first + f->ring_count) {
            f->stats.statuses_lost++;
            continue;
        }
        uint32_t at = f->ring_start + f->ring_count++;
        f->ring[at < max ? at : at - max] = result_of(statuses[i], outcomes ? &outcomes[i] : NULL);
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
                           const rung_status *statuses, const rung_outcome *outcomes) {
    if (count == 0)
        return;
    pthread_mutex_lock(&f->lock);
    ring_add(f, first_seq, count, statuses, outcomes);
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

void rung_follower_change(rung_follower *f, uint64_t seq, rung_slice before, rung_slice after) {
    rung_buffer packed = {.alloc = f->config.alloc};
    item *i = rung_alloc_get(f->config.alloc, sizeof *i);
    rung_buffer_put(&packed, before.ptr, before.len);
    rung_buffer_put(&packed, after.ptr, after.len);
    bool is_kept = i && !packed.is_failed;
    size_t size = packed.size + sizeof *i;
    pthread_mutex_lock(&f->lock);
    bool is_new = is_to_come(f, seq);
    /* Half of the room is for windows, which cannot be left out. */
    is_kept = is_kept && is_new && f->pinned_bytes <= f->config.pinned_bytes_max / 2 &&
              size <= f->config.pinned_bytes_max / 2 - f->pinned_bytes;
    if (is_kept) {
        f->pinned_bytes += size;
        *i = (item){.seq = seq,
                    .size = size,
                    .packed = packed,
                    .before_len = before.len,
                    .is_change = true};
        RUNG_LIST_APPEND(&f->queue, i, link);
    } else if (is_new) {
        f->stats.changes_lost++;
    }
    pthread_mutex_unlock(&f->lock);
    if (is_kept)
        return;
    rung_buffer_deinit(&packed);
    rung_alloc_free(f->config.alloc, i, i ? sizeof *i : 0);
}

void rung_follower_results(rung_follower *f, uint64_t seq, rung_buffer packed) {
    player_results *c = rung_alloc_get(f->config.alloc, sizeof *c);
    size_t size = packed.size + sizeof *c;
    pthread_mutex_lock(&f->lock);
    bool is_new = is_to_come(f, seq);
    bool is_kept = c && !packed.is_failed && is_new && size <= f->config.results_bytes_max &&
                   f->results_bytes <= f->config.results_bytes_max - size;
    if (is_kept) {
        f->results_bytes += size;
        *c = (player_results){.seq = seq, .size = size, .packed = packed};
        RUNG_LIST_APPEND(&f->results_queue, c, link);
    } else if (is_new) {
        f->stats.statuses_lost++;
    }
    pthread_mutex_unlock(&f->lock);
    if (is_kept)
        return;
    rung_buffer_deinit(&packed);
    rung_alloc_free(f->config.alloc, c, c ? sizeof *c : 0);
}

bool rung_follower_wants(rung_follower *f, uint64_t seq) {
    pthread_mutex_lock(&f->lock);
    bool is = is_to_come(f, seq);
    pthread_mutex_unlock(&f->lock);
    return is;
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
    s.is_known = f->is_known;
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

/* Where the ring's results are. */
typedef struct ring_span {
    uint64_t first;
    uint32_t start, count;
} ring_span;

/* Copy the results of events up to `last`. Without the lock, or the owner would wait for this thread, which others
 * preempt: what is in the ring stays as it is until settle() removes it (F4). */
static void take_results(rung_follower *f, const ring_span *ring, uint64_t last) {
    uint32_t max = f->config.statuses_max;
    for (uint64_t seq = f->cursor_seq + 1; seq <= last; seq++) {
        bool is_known = ring->count && seq >= ring->first && seq < ring->first + ring->count;
        uint64_t at = is_known ? ring->start + (seq - ring->first) : 0;
        f->results[seq - f->cursor_seq - 1] =
            is_known ? f->ring[at < max ? at : at - max] : (result){.status = RUNG_STATUS_UNKNOWN};
    }
}

static rung_archive_effect effect_of(const result *r) {
    rung_archive_effect e = {
        .status = r->status, .rule = (rung_rule)r->rule, .result = {.count = r->count}};
    for (uint32_t i = 0; i < RUNG_COLUMNS_MAX; i++) {
        e.result.types[i] = r->types[i] & 15;
        e.result.decimals[i] = r->types[i] >> 4;
    }
    if (r->status < 0)
        e.limit = r->values[0];
    else
        memcpy(e.result.values, r->values, sizeof r->values);
    return e;
}

/* The change of event `seq`, from `next` on; NULL: none. Under the lock: the owner may append behind it. */
static const item *find_change(rung_follower *f, const item *next, uint64_t seq) {
    if (!next || next->seq > seq)
        return NULL;
    pthread_mutex_lock(&f->lock);
    const item *i = next;
    while (i && i->seq <= seq && !(i->is_change && i->seq == seq))
        i = i->link.next;
    pthread_mutex_unlock(&f->lock);
    return i && i->is_change && i->seq == seq ? i : NULL;
}

/* An event that was refused or changed nothing has none. */
static void add_change(rung_archive_effect *effect, const item *change) {
    rung_slice bytes = change ? rung_buffer_slice(&change->packed) : (rung_slice){0};
    if (!bytes.len || effect->status != RUNG_OK)
        return;
    effect->before = rung_slice_of(bytes.ptr, change->before_len);
    effect->after = rung_slice_of(bytes.ptr + change->before_len, bytes.len - change->before_len);
}

/* The results of event `seq`, from `*next` on. Under the lock: the owner may append behind it. */
static rung_slice find_results(rung_follower *f, player_results **next, uint64_t seq) {
    if (!*next || (*next)->seq > seq)
        return (rung_slice){0};
    pthread_mutex_lock(&f->lock);
    while (*next && (*next)->seq < seq)
        *next = (*next)->link.next;
    pthread_mutex_unlock(&f->lock);
    return *next && (*next)->seq == seq ? rung_buffer_slice(&(*next)->packed) : (rung_slice){0};
}

static rung_status add_record(rung_follower *f, const rung_log_record *r, uint64_t seq,
                              const item *next, player_results **next_results, const result *came,
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
    rung_archive_effect effect = effect_of(came);
    add_change(&effect, find_change(f, next, seq));
    effect.results = find_results(f, next_results, seq);
    return rung_archive_add_event(f->config.archive, seq, &f->event, *log_time_ms, &effect, err);
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
        if ((*next)->is_change)
            continue;
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
                              player_results *results, uint64_t *done_out, int64_t *log_time_ms,
                              rung_err *err) {
    rung_log_record records[RECORDS_AT_ONCE];
    uint64_t seq = from;
    rung_status st = RUNG_OK;
    if (!f->log_cursor)
        st = rung_log_cursor_open(f->config.log, from + 1, &f->log_cursor, err);
    while (st >= 0 && seq < last) {
        if (f->is_paced && seq > from && (seq - from) % PACE_EVENTS < RECORDS_AT_ONCE)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        size_t count = 0,
               max = last - seq < RECORDS_AT_ONCE ? (size_t)(last - seq) : RECORDS_AT_ONCE;
        st = rung_log_cursor_read(f->log_cursor, records, max, &count, err);
        if (st == RUNG_NOT_FOUND)
            break;
        for (size_t i = 0; st >= 0 && i < count; i++) {
            seq++;
            st = add_record(f, &records[i], seq, next, &results, &f->results[seq - from - 1],
                            log_time_ms, err);
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

/* RUNG_OK: a batch has begun, and the archive is at `from`. RUNG_PARTIAL: nothing has begun, since another server
 * writes, or the archive is ahead of us; it is at `*done_out`. */
static rung_status begin(rung_follower *f, uint64_t from, uint64_t *done_out, rung_err *err) {
    rung_archive *a = f->config.archive;
    uint64_t seq = from;
    rung_status begun = rung_archive_begin(a, err), st = begun;
    if (st >= 0)
        st = check_cursor(f, from, &seq, err);
    if (st < 0 || (begun == RUNG_OK && seq == from))
        return st;
    rung_archive_rollback(a);
    f->is_second = begun == RUNG_PARTIAL;
    if (seq > from) {
        close_log_cursor(f);
        st = rung_archive_cursor(a, done_out, &f->log_time_ms, err);
    }
    return st < 0 ? st : RUNG_PARTIAL;
}

/* One transaction; `next` and `results` are the first ones that wait. RUNG_OK with its last event, possibly none;
 * RUNG_PARTIAL as begin(); after a failure nothing has changed. */
static rung_status archive_batch(rung_follower *f, uint64_t from, uint64_t last, item *next,
                                 player_results *results, uint64_t *done_out, rung_err *err) {
    rung_archive *a = f->config.archive;
    int64_t log_time_ms = f->log_time_ms;
    rung_status st = begin(f, from, done_out, err);
    if (st == RUNG_PARTIAL)
        return st;
    if (st >= 0)
        st = add_events(f, from, last, next, results, done_out, &log_time_ms, err);
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
static rung_status skip_gap(rung_follower *f, uint64_t from, uint64_t *done_out, rung_err *err) {
    rung_archive *a = f->config.archive;
    rung_status st = begin(f, from, done_out, err);
    if (st == RUNG_PARTIAL)
        return st;
    if (st >= 0)
        st = rung_archive_add_gap(a, from + 1, f->config.first_seq - 1, err);
    if (st >= 0)
        st = rung_archive_commit(a, f->config.first_seq - 1, f->log_time_ms, err);
    if (st < 0)
        rung_archive_rollback(a);
    else
        *done_out = f->config.first_seq - 1;
    return st;
}

/* ---- the thread: its life ---- */

/* After a commit up to `done`. Lock held. Returns the items it contains, which are those up to `items_seq`, to be
 * freed (F3), and the results. */
static item_list settle(rung_follower *f, uint64_t done, uint64_t items_seq,
                        results_list *results) {
    item_list archived = {0};
    for (player_results *c; (c = f->results_queue.first) && c->seq <= done;) {
        RUNG_LIST_REMOVE(&f->results_queue, c, link);
        f->results_bytes -= c->size;
        RUNG_LIST_APPEND(results, c, link);
    }
    for (item *i; (i = f->queue.first) && i->seq <= items_seq;) {
        RUNG_LIST_REMOVE(&f->queue, i, link);
        f->pinned_bytes -= i->size;
        f->stats.windows += !i->is_change;
        RUNG_LIST_APPEND(&archived, i, link);
    }
    f->cursor_seq = done;
    f->is_upkeep_due = f->config.archive->ops->upkeep != NULL;
    f->stats.batches++;
    f->stats.status = f->blocked_status;
    if (f->ring_count && done >= f->ring_first) {
        uint64_t gone = done - f->ring_first + 1;
        uint32_t n = gone < f->ring_count ? (uint32_t)gone : f->ring_count;
        f->ring_start = (f->ring_start + n) % f->config.statuses_max;
        f->ring_count -= n;
        f->ring_first = done + 1;
    }
    if (f->mark_seq <= done && f->applied_seq > done) {
        f->mark_seq = f->applied_seq;
        f->mark_ms = monotonic_ms(f);
    }
    return archived;
}

/* Lock held on entry and return; released while it frees. */
static void settle_and_free(rung_follower *f, uint64_t done, uint64_t items_seq) {
    results_list results = {0};
    item_list archived = settle(f, done, items_seq, &results);
    pthread_mutex_unlock(&f->lock);
    list_free(f, &archived);
    results_free(f, &results);
    pthread_mutex_lock(&f->lock);
}

/* Lock held. */
static void note_failure(rung_follower *f, rung_status st, const rung_err *err) {
    f->stats.failures++;
    f->stats.last_error = *err;
    f->stats.status = st;
}

/* Lock held on entry and return; released while it works. RUNG_PARTIAL: another server writes. */
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
    f->is_paced = !f->config.threads && !f->is_stopping &&
                  target_seq(f) - from < 4 * (uint64_t)f->config.batch_events;
    ring_span ring = {f->ring_first, f->ring_start, f->ring_count};
    item *next = f->queue.first;
    player_results *results = f->results_queue.first;
    rung_err err = {0};
    f->is_second = false;
    pthread_mutex_unlock(&f->lock);
    if (!is_gap)
        take_results(f, &ring, last);
    rung_status st = is_gap ? skip_gap(f, from, &done, &err)
                            : archive_batch(f, from, last, next, results, &done, &err);
    pthread_mutex_lock(&f->lock);
    f->stats.is_writer = st == RUNG_OK || (st == RUNG_PARTIAL && !f->is_second);
    if (st < 0) {
        note_failure(f, st, &err);
        if (f->lost_seq)
            block(f, f->lost_seq, st);
        f->lost_seq = 0;
        return st;
    }
    f->is_busy = done - from >= BUSY_EVENTS;
    if (done != from)
        settle_and_free(f, done, is_gap && st == RUNG_OK ? 0 : done);
    return f->is_second ? RUNG_PARTIAL : done == from ? RUNG_NOT_FOUND : RUNG_OK;
}

static rung_status check_beginning(const rung_follower *f, uint64_t cursor_seq, rung_err *err) {
    uint64_t durable = rung_log_durable_seq(f->config.log);
    /* another server may have written to both since this one looked at the log */
    bool is_shared = f->config.archive->may_be_away && rung_log_is_shared(f->config.log);
    if (cursor_seq <= durable || is_shared)
        return RUNG_OK;
    return RUNG_FAIL(err, RUNG_ECONFLICT,
                     "archive: it has event %" PRIu64 ", the log ends at %" PRIu64
                     ": they do not belong together",
                     cursor_seq, durable);
}

/* Where does an archive begin that was away until now? Lock held on entry and return; released while it asks. */
static rung_status learn_cursor(rung_follower *f) {
    uint64_t seq = 0;
    int64_t log_time_ms = INT64_MIN;
    rung_err err = {0};
    pthread_mutex_unlock(&f->lock);
    rung_status st = rung_archive_cursor(f->config.archive, &seq, &log_time_ms, &err);
    if (st >= 0)
        st = check_beginning(f, seq, &err);
    pthread_mutex_lock(&f->lock);
    if (st < 0) {
        note_failure(f, st, &err);
        return st;
    }
    f->is_known = true;
    f->log_time_ms = log_time_ms;
    settle_and_free(f, seq, seq);
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
    } else if (st == RUNG_PARTIAL) {
        ms = OTHER_WRITES_MS;
    } else {
        f->retry_ms = f->config.retry_ms_min;
        if (target_seq(f) < f->cursor_seq + f->config.batch_events)
            ms = f->config.gather_ms * (f->is_busy ? BUSY_GATHER : 1);
    }
    f->not_before_ms = monotonic_ms(f) + ms;
    return ms;
}

/* What can wait, when little else does. Takes at most a hundredth of the time, or half if there is nothing else to do.
 * Lock held; released while it works. */
static void look_after(rung_follower *f) {
    rung_archive *a = f->config.archive;
    uint64_t waiting = target_seq(f) > f->cursor_seq ? target_seq(f) - f->cursor_seq : 0;
    int64_t start_ms = monotonic_ms(f);
    if (!f->is_known || !f->is_upkeep_due || f->is_stopping || start_ms < f->upkeep_ms ||
        waiting >= f->config.batch_events)
        return;
    bool is_more = false;
    rung_err err = {0};
    bool has_old = f->config.keep_ms && f->log_time_ms != INT64_MIN;
    int64_t before_ms = has_old ? f->log_time_ms - f->config.keep_ms : INT64_MIN;
    pthread_mutex_unlock(&f->lock);
    rung_status st = a->ops->upkeep(a, before_ms, &is_more, &err);
    pthread_mutex_lock(&f->lock);
    int64_t now_ms = monotonic_ms(f), spent_ms = now_ms - start_ms;
    int64_t pause_ms = waiting ? spent_ms * UPKEEP_SHARE : spent_ms;
    f->upkeep_ms = now_ms + (pause_ms > UPKEEP_PAUSE_MS || is_more ? pause_ms : UPKEEP_PAUSE_MS);
    f->is_upkeep_due = is_more;
    if (st < 0) {
        f->stats.failures++;
        f->stats.last_error = err;
        f->upkeep_ms = now_ms + f->config.retry_ms_max;
        f->is_upkeep_due = true;
    }
}

/* Nothing to archive: when to look after the archive. Lock held. */
static uint32_t rest(rung_follower *f) {
    if (!f->is_upkeep_due || f->is_stopping)
        return RUNG_WORKER_SLEEP;
    int64_t ms = f->upkeep_ms - monotonic_ms(f);
    return ms > 0 ? (uint32_t)ms : 1;
}

/* Lock held. */
static uint32_t work(rung_follower *f) {
    look_after(f);
    if (f->is_known && target_seq(f) <= f->cursor_seq)
        return rest(f);
    int64_t wait_ms = f->not_before_ms - monotonic_ms(f);
    if (!f->is_stopping && wait_ms > 0)
        return (uint32_t)wait_ms;
    rung_status st = f->is_known ? one_batch(f) : learn_cursor(f);
    report(f, st);
    return next_in_ms(f, st);
}

/* The server comes first: its threads get the processor before this one does. */
static void give_way(rung_follower *f) {
    if (!f->is_nice && !f->config.threads) {
        setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
        /* waking up, it preempts nobody */
        sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
    }
    f->is_nice = true;
}

/* Processor time of this thread; in a simulator none is counted. */
static uint64_t cpu_ns(const rung_follower *f) {
    struct timespec t = {0};
    if (!f->config.threads)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint32_t step(void *arg, bool is_stopping) {
    rung_follower *f = arg;
    (void)is_stopping; /* our own is set before, with the time to stop by */
    give_way(f);
    pthread_mutex_lock(&f->lock);
    uint32_t ms = work(f);
    f->is_settled = f->is_stopping && ms != RUNG_WORKER_AGAIN;
    f->stats.cpu_ns = cpu_ns(f);
    pthread_mutex_unlock(&f->lock);
    return ms;
}

/* ---- life ---- */

static rung_follower_config with_defaults(const rung_follower_config *config) {
    rung_follower_config c = *config;
    c.batch_events = c.batch_events ? c.batch_events : 32768;
    c.gather_ms = c.gather_ms ? c.gather_ms : 100;
    c.statuses_max = c.statuses_max ? c.statuses_max : 1u << 20;
    c.pinned_bytes_max = c.pinned_bytes_max ? c.pinned_bytes_max : (size_t)1 << 30;
    c.results_bytes_max = c.results_bytes_max ? c.results_bytes_max : (size_t)256 << 20;
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
    results_free(f, &f->results_queue);
    rung_alloc_free(f->config.alloc, f->ring,
                    f->ring ? f->config.statuses_max * sizeof *f->ring : 0);
    rung_alloc_free(f->config.alloc, f->results,
                    f->results ? f->config.batch_events * sizeof *f->results : 0);
    rung_alloc_free(f->config.alloc, f, sizeof *f);
}

/* Failures to read the cursor that may pass. */
static bool is_away(rung_status st) {
    return st == RUNG_EIO || st == RUNG_EBUSY || st == RUNG_ENOSPC;
}

rung_status rung_follower_create(const rung_follower_config *config, rung_follower **out,
                                 rung_err *err) {
    rung_follower *f = rung_alloc_zeroed(config->alloc, sizeof *f);
    if (!f)
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    f->config = with_defaults(config);
    f->ring = rung_alloc_get(config->alloc, f->config.statuses_max * sizeof *f->ring);
    f->results = rung_alloc_get(config->alloc, f->config.batch_events * sizeof *f->results);
    rung_status st = rung_archive_cursor(config->archive, &f->cursor_seq, &f->log_time_ms, err);
    if (!f->ring || !f->results)
        st = RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    f->is_known = st >= 0;
    if (st >= 0)
        st = check_beginning(f, f->cursor_seq, err);
    else if (config->archive->may_be_away && is_away(st))
        st = RUNG_OK; /* it is asked again */
    if (st < 0) {
        release(f);
        return st;
    }
    f->retry_ms = f->config.retry_ms_min;
    f->is_upkeep_due = config->archive->ops->upkeep != NULL;
    f->upkeep_ms = monotonic_ms(f) + UPKEEP_PAUSE_MS;
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

static bool is_settled(void *arg) {
    rung_follower *f = arg;
    pthread_mutex_lock(&f->lock);
    bool is_settled = f->is_settled;
    pthread_mutex_unlock(&f->lock);
    return is_settled;
}

/* Interrupt an archive that does not answer when the time is over. */
static void hurry(rung_follower *f) {
    rung_archive *a = f->config.archive;
    if (!a->ops->interrupt)
        return;
    rung_worker_wake(f->worker);
    if (!rung_worker_await(f->worker, is_settled, f, f->config.stop_ms) && !is_settled(f))
        a->ops->interrupt(a);
}

void rung_follower_destroy(rung_follower *f) {
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->is_stopping = true;
    f->stop_by_ms = monotonic_ms(f) + f->config.stop_ms;
    pthread_mutex_unlock(&f->lock);
    hurry(f);
    rung_worker_stop(f->worker);
    close_log_cursor(f);
    pthread_mutex_destroy(&f->lock);
    release(f);
}
