/* SPDX-License-Identifier: Apache-2.0 */
/* The commit line. Workload: hundreds of thousands of small changes per second from thousands of connections, with
 * questions between them; or one change at a time from a program that waits for its answer.
 *
 * Changes and questions are items of one FIFO queue. The encoded bytes of a change are in a ring buffer until it is
 * applied. The position of an item is its tag in the log:
 *
 *     head                proposed                  tail
 *       | in the log          | not proposed yet      |
 *
 *     put -> propose -> the log: committed -> work (apply_run)  -> answer
 *                                rejected  -> work (refuse_run) -> answer
 *
 * Invariants:
 *   C1  Durable, then visible, then answered: an event is applied only after the log delivered it as committed.
 *   C2  The state's sequence is that of the last record applied; the next record delivered follows it.
 *   C3  Every event that was put is answered exactly once: applied, or refused with the reason.
 *   C4  A question is called when it is at the head: after all items before it, before all items after it.
 *   C5  After a failure nothing is proposed or applied; every item is refused. The ring is not written to any more,
 *       since the log may still be reading it.
 *   C6  Our own events come back in queue order (log.h L3): the next one delivered is the first in the queue.
 *   C7  All events put between two calls of propose have the same time. If a window is due then, a tick before them
 *       closes it. At most one tick is queued.
 *
 * Answers and questions may put and place: items and bytes are only added at the tail, and never move. */
#include "service/commit.h"

#include "base/assert.h"
#include "base/fair.h"
#include "service/applier.h"

#include <stdio.h>
#include <string.h>

#ifdef RUNG_TEST_BUILD
enum { PROPOSE_MAX = 16, RUN_MAX = 48, DELIVER_MAX = 96 };
#else
enum {
    PROPOSE_MAX = 4096, /* handed to the log at once */
    RUN_MAX = 256,      /* applied at once */
    DELIVER_MAX = 1024, /* taken from the log at once */
};
#endif

enum {
    RING_SPARE = RUNG_EVENT_BYTES_MAX
}; /* less room than one maximum-size event counts as full */

typedef enum item_kind { ITEM_EVENT, ITEM_TICK, ITEM_REPORT, ITEM_READ } item_kind;

typedef struct item {
    union {
        rung_hub_answer *answer; /* may be NULL */
        rung_hub_reader *read;
    };
    void *ctx;
    rung_zkey_sink *sink;  /* NULL: none. An event with a sink is applied alone */
    uint64_t ring_end;     /* where the event's bytes end */
    uint32_t length;       /* of the bytes */
    uint16_t share;        /* the sender's */
    uint16_t kind : 3;     /* item_kind */
    uint16_t is_brief : 1; /* of a score */
    uint16_t weight : 12;  /* of an event: places it takes of the sender's share */
} item;

_Static_assert(RUNG_EVENT_WEIGHT_MAX < 1 << 12, "it fits");

typedef enum phase { PHASE_OPEN, PHASE_FULL, PHASE_CLOSING, PHASE_FAILED, PHASE_PAST } phase;

/* Working: answers and questions are being called, so work must not be entered again. Resting: one of them took long;
 * return to the loop. */
typedef enum activity { ACTIVITY_NONE, ACTIVITY_WORKING, ACTIVITY_RESTING } activity;

struct rung_commit {
    rung_commit_config config;
    rung_state *state;
    rung_applier *applier;
    phase phase;
    activity activity;
    bool is_held;     /* nothing is applied */
    rung_err failure; /* C5; code RUNG_OK: none */

    /* The queue. Positions only grow; an item is at position & mask. */
    item *items;
    uint32_t mask;
    uint64_t head, proposed, tail;
    uint64_t looked_at;       /* the tail at the end of the last turn */
    rung_fair waiting, reads; /* shares of events, by weight, and of questions */
    uint32_t events;          /* in the queue */
    bool has_tick;            /* C7 */
    bool has_report;          /* one is in the queue */
    bool has_time;            /* since the last propose */
    int64_t time_ms;          /* C7 */

    /* The ring of bytes. Positions only grow. An event does not wrap around. */
    char *ring;
    uint64_t ring_head, ring_tail;
    rung_fair bytes; /* shares of the ring, without the bytes skipped at its end */

    rung_log_entry *entries; /* PROPOSE_MAX, for the log */
    rung_log_delivery run;   /* the last delivery; entries before run_at are done */
    size_t run_at;
    rung_hub_after *first_after; /* while working */
    rung_commit_stats stats;
};

static rung_applier_answer answer_front;

/* ---- life ---- */

static void say(const rung_commit *c, const char *line) {
    if (c->config.say)
        c->config.say(c->config.ctx, line);
}

static uint32_t line_size(const rung_commit_config *c) {
    uint32_t size = 64;
    while (size < 2 * (uint64_t)c->waiting_max + 3) /* events, questions, a tick, a report */
        size *= 2;
    return size;
}

rung_status rung_commit_create(const rung_commit_config *config, rung_commit **commit_out,
                               rung_err *err) {
    const rung_alloc *a = config->alloc;
    uint32_t size = line_size(config);
    rung_commit *c = rung_alloc_zeroed(a, sizeof *c);
    if (!c)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    c->config = *config;
    c->state = config->state;
    c->phase = config->is_past ? PHASE_PAST : config->is_full ? PHASE_FULL : PHASE_OPEN;
    c->mask = size - 1;
    c->waiting.max = c->reads.max = config->waiting_max;
    c->bytes.max = (uint32_t)config->bytes_max;
    c->items = rung_alloc_get(a, size * sizeof *c->items);
    c->ring = rung_alloc_get(a, config->bytes_max);
    c->entries = rung_alloc_get(a, PROPOSE_MAX * sizeof *c->entries);
    rung_applier_config applier = {.alloc = a,
                                   .state = config->state,
                                   .follower = config->follower,
                                   .nodes = config->nodes,
                                   .answer = answer_front,
                                   .ctx = c,
                                   .is_shared = rung_log_is_shared(config->log)};
    if (!c->items || !c->ring || !c->entries ||
        rung_applier_create(&applier, &c->applier, NULL) < 0) {
        rung_commit_destroy(c);
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    }
    *commit_out = c;
    return RUNG_OK;
}

void rung_commit_destroy(rung_commit *c) {
    if (!c)
        return;
    const rung_alloc *a = c->config.alloc;
    rung_applier_destroy(c->applier);
    rung_alloc_free(a, c->entries, PROPOSE_MAX * sizeof *c->entries);
    rung_alloc_free(a, c->ring, c->config.bytes_max);
    rung_alloc_free(a, c->items, ((size_t)c->mask + 1) * sizeof *c->items);
    rung_alloc_free(a, c, sizeof *c);
}

/* ---- queue and ring ---- */

static item *item_at(const rung_commit *c, uint64_t position) {
    return &c->items[position & c->mask];
}

static inline void push(rung_commit *c, item it) {
    RUNG_ASSERT(c->tail - c->head <= c->mask);
    *item_at(c, c->tail++) = it;
}

/* Remove the first item. Its bytes stay until release_bytes(), the item itself until the next push. */
static inline const item *pop(rung_commit *c) {
    const item *it = item_at(c, c->head++);
    c->proposed = c->proposed < c->head ? c->head : c->proposed;
    if (it->kind == ITEM_EVENT) {
        c->events--;
        rung_fair_give(&c->waiting, it->share, it->weight);
        rung_fair_give(&c->bytes, it->share, it->length);
    } else if (it->kind == ITEM_READ) {
        rung_fair_give(&c->reads, it->share, 1);
    } else if (it->kind == ITEM_TICK) {
        c->has_tick = false;
    } else {
        c->has_report = false;
    }
    return it;
}

/* An empty ring starts again at its front, so that a short queue stays in the cache. */
static void release_bytes(rung_commit *c, uint64_t up_to) {
    c->ring_head = up_to;
    if (c->ring_head == c->ring_tail)
        c->ring_head = c->ring_tail = 0;
}

static size_t ring_free(const rung_commit *c) {
    return c->config.bytes_max - (size_t)(c->ring_tail - c->ring_head);
}

static size_t ring_index(const rung_commit *c, uint64_t position) {
    return (size_t)position & (c->config.bytes_max - 1);
}

static rung_slice bytes_of(const rung_commit *c, const item *it) {
    return rung_slice_of(c->ring + ring_index(c, it->ring_end - it->length), it->length);
}

/* The event did not fit after the tail. Rare, so not inlined. */
__attribute__((noinline)) static rung_status
encode_at_front(rung_commit *c, const rung_event *event, size_t *length_out, rung_err *err) {
    size_t to_end = c->config.bytes_max - ring_index(c, c->ring_tail), room = ring_free(c), len;
    rung_status st = rung_event_check(event, err);
    if (st < 0)
        return st;
    if (to_end >= room || rung_event_encode(event, c->ring, room - to_end, &len) < 0)
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                             "too many bytes are waiting");
    c->ring_tail += to_end + len;
    *length_out = len;
    return RUNG_OK;
}

/* Encode the event after the tail, or at the front if it does not fit before the ring's end; the skipped bytes count
 * as the event's. */
static inline rung_status encode(rung_commit *c, const rung_event *event, size_t *length_out,
                                 rung_err *err) {
    size_t at = ring_index(c, c->ring_tail), to_end = c->config.bytes_max - at, room = ring_free(c);
    size_t len;
    if (rung_event_encode(event, c->ring + at, room < to_end ? room : to_end, &len) < 0)
        return encode_at_front(c, event, length_out, err);
    c->ring_tail += len;
    *length_out = len;
    return RUNG_OK;
}

/* ---- putting ---- */

/* C7. The state lags behind the queue, so a window that has just become due may be noticed one batch later. */
static void begin_batch(rung_commit *c) {
    c->has_time = true;
    c->time_ms = rung_log_time_now(c->config.time);
    if (c->has_tick || rung_state_next_close(c->state) > c->time_ms)
        return;
    rung_event tick = {.kind = RUNG_EVENT_TICK, .ts_ms = c->time_ms};
    size_t len;
    if (encode(c, &tick, &len, NULL) < 0)
        return; /* no room: it goes with the next batch */
    c->has_tick = true;
    push(c, (item){.kind = ITEM_TICK, .ring_end = c->ring_tail, .length = (uint32_t)len});
}

void rung_commit_put_tick(rung_commit *c) {
    if (rung_commit_may_put(c, NULL) == RUNG_OK && !c->has_time)
        begin_batch(c);
}

/* Rare, so not inlined. */
__attribute__((noinline)) static rung_status refuse_put(const rung_commit *c, rung_err *err) {
    if (c->phase == PHASE_CLOSING)
        return RUNG_FAIL(err, RUNG_ECLOSED, "closing: no further changes are accepted");
    if (c->phase == PHASE_FULL)
        return RUNG_FAIL(err, RUNG_ENOSPC,
                         "there is no space for the log: changes are refused until there is some");
    if (c->phase == PHASE_PAST)
        return RUNG_FAIL_WHY(err, RUNG_EREFUSED, RUNG_REASON_READ_ONLY,
                             "this server shows a moment of the past: nothing can be changed");
    if (err)
        *err = c->failure;
    return c->failure.code;
}

rung_status rung_commit_may_put(const rung_commit *c, rung_err *err) {
    if (c->phase != PHASE_OPEN)
        return refuse_put(c, err);
    if (rung_fair_free(&c->waiting) == 0)
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                             "too many changes are waiting");
    return RUNG_OK;
}

/* No sender may take all free places, or all free bytes. */
static inline rung_status check_share(const rung_commit *c, rung_hub_sender from, rung_err *err) {
    if (rung_fair_may(&c->waiting, from.share, from.is_patient) &&
        rung_fair_may(&c->bytes, from.share, from.is_patient))
        return RUNG_OK;
    return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                         rung_fair_free(&c->waiting)
                             ? "too many of this sender's changes are waiting"
                             : "too many changes are waiting");
}

/* RUNG_EINVAL takes precedence over RUNG_EFUTURE. */
static inline rung_status admit_and_encode(rung_commit *c, rung_event *event, size_t *length_out,
                                           rung_err *err) {
    event->ts_ms = c->time_ms;
    rung_status late = rung_admit(event, c->state, c->config.at_ahead_ms, err);
    if (late == RUNG_OK)
        return encode(c, event, length_out, err);
    rung_status st = rung_event_check(event, err);
    return st < 0 ? st : late;
}

/* The first event of a batch, after a tick if one is due. Undoes both if the event is refused. */
__attribute__((noinline)) static rung_status encode_first(rung_commit *c, rung_event *event,
                                                          size_t *length_out, rung_err *err) {
    uint64_t tail = c->tail, ring_tail = c->ring_tail;
    bool had_tick = c->has_tick;
    begin_batch(c);
    rung_status st = admit_and_encode(c, event, length_out, err);
    if (st < 0) {
        c->tail = tail;
        c->ring_tail = ring_tail;
        c->has_time = false;
        c->has_tick = had_tick;
    }
    return st;
}

/* Servers of a shared log that do not know the level of an event would stop at it. In a log of our own the level is
 * raised before anything else. */
static rung_status check_level(const rung_commit *c, const rung_event *event, rung_err *err) {
    if (!rung_log_is_shared(c->config.log) || rung_event_level(event) <= rung_state_rules(c->state))
        return RUNG_OK;
    return RUNG_FAIL_WHY(
        err, RUNG_EBUSY, RUNG_REASON_OLDER_SERVERS,
        "the log is at level %u of the rules, as a server that shares it, and this "
        "needs level %u",
        rung_state_rules(c->state), rung_event_level(event));
}

/* By weight, but no single event takes so much of the queue that nothing is left for others. */
static inline uint32_t places_of(const rung_commit *c, const rung_event *event) {
    uint32_t weight = rung_event_weight(event), most = 1 + c->waiting.max / 64;
    return weight < most ? weight : most;
}

rung_status rung_commit_put(rung_commit *c, rung_hub_sender from, rung_event *event,
                            rung_zkey_sink *sink, rung_hub_answer *answer, void *ctx,
                            rung_err *err) {
    size_t len = 0;
    uint32_t weight = places_of(c, event);
    rung_status st = c->phase == PHASE_OPEN ? RUNG_OK : refuse_put(c, err);
    /* Servers of a shared log that do not know level 2 cannot read an actor either. */
    event->has_actor =
        from.actor && rung_event_is_audited(event) && rung_state_rules(c->state) >= 2;
    if (event->has_actor)
        event->actor = *from.actor;
    if (st == RUNG_OK)
        st = check_level(c, event, err);
    if (st == RUNG_OK)
        st = check_share(c, from, err);
    if (st == RUNG_OK && c->config.memory)
        st = rung_memory_limit_check(c->config.memory, c->state, event, c->waiting.total,
                                     c->bytes.total, err);
    if (st == RUNG_OK)
        st =
            c->has_time ? admit_and_encode(c, event, &len, err) : encode_first(c, event, &len, err);
    if (st < 0) {
        c->stats.refused++;
        return st;
    }
    push(c, (item){.answer = answer,
                   .sink = sink,
                   .ctx = ctx,
                   .kind = ITEM_EVENT,
                   .share = (uint16_t)from.share,
                   .is_brief = event->kind == RUNG_EVENT_SCORE && event->score.is_brief,
                   .weight = (uint16_t)(weight & 0xfff),
                   .ring_end = c->ring_tail,
                   .length = (uint32_t)len});
    rung_fair_take(&c->waiting, from.share, weight);
    c->events++;
    rung_fair_take(&c->bytes, from.share, (uint32_t)len);
    c->stats.put++;
    return RUNG_OK;
}

/* Copy bytes into the ring, in one piece. False: no room. */
static bool copy_in(rung_commit *c, const void *bytes, size_t len) {
    size_t at = ring_index(c, c->ring_tail), to_end = c->config.bytes_max - at;
    size_t skipped = len <= to_end ? 0 : to_end;
    if (skipped + len > ring_free(c))
        return false;
    memcpy(c->ring + (skipped ? 0 : at), bytes, len);
    c->ring_tail += skipped + len;
    return true;
}

bool rung_commit_may_report(const rung_commit *c) {
    return (c->phase == PHASE_OPEN || c->phase == PHASE_CLOSING) && !c->has_report;
}

rung_status rung_commit_put_report(rung_commit *c, const void *bytes, size_t len) {
    if (!rung_commit_may_report(c))
        return RUNG_EBUSY;
    if (!copy_in(c, bytes, len))
        return RUNG_ELIMIT;
    c->has_report = true;
    push(c, (item){.kind = ITEM_REPORT, .ring_end = c->ring_tail, .length = (uint32_t)len});
    return RUNG_OK;
}

uint32_t rung_commit_room(const rung_commit *c, rung_hub_sender from) {
    if (ring_free(c) < RING_SPARE || !rung_fair_may(&c->bytes, from.share, from.is_patient))
        return 0;
    return rung_fair_room(&c->waiting, from.share, from.is_patient);
}

rung_status rung_commit_place(rung_commit *c, rung_hub_sender from, rung_hub_reader *read,
                              void *ctx, rung_err *err) {
    if (!rung_fair_may(&c->reads, from.share, from.is_patient))
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                             "too many questions are waiting");
    push(c, (item){.read = read, .ctx = ctx, .kind = ITEM_READ, .share = (uint16_t)from.share});
    rung_fair_take(&c->reads, from.share, 1);
    return RUNG_OK;
}

/* ---- proposing ---- */

/* Collect up to `max` unproposed events as log entries; *next_out: the position after the last one. */
static uint32_t gather(const rung_commit *c, uint32_t max, uint64_t *next_out) {
    uint32_t n = 0;
    uint64_t position = c->proposed;
    for (; position != c->tail && n < max; position++) {
        const item *it = item_at(c, position);
        if (it->kind != ITEM_READ)
            c->entries[n++] = (rung_log_entry){
                .payload = bytes_of(c, it),
                .type = it->kind == ITEM_REPORT ? RUNG_LOG_TYPE_REPORT : RUNG_LOG_TYPE_EVENT,
                .tag = position};
    }
    *next_out = position;
    return n;
}

/* The log reads the bytes in the ring. What it does not take now is proposed again when it wakes us. */
void rung_commit_propose(rung_commit *c) {
    c->has_time = false; /* C7 */
    uint32_t max = c->phase == PHASE_FAILED ? 0 : PROPOSE_MAX;
    while (c->proposed != c->tail && max > 0) {
        uint64_t next;
        uint32_t count = gather(c, max, &next);
        rung_status st = RUNG_OK;
        if (count)
            st = rung_log_propose(c->config.log, c->entries, count, NULL);
        if (st == RUNG_ELIMIT) {
            max /= 2;
            continue;
        }
        if (st < 0)
            return; /* deliver reports the failure after the last outcome */
        c->proposed = next;
    }
}

/* ---- callbacks after answers ---- */

void rung_commit_call_after(rung_commit *c, rung_hub_after *after) {
    RUNG_ASSERT(c->activity != ACTIVITY_NONE);
    if (after->is_waiting)
        return;
    after->is_waiting = true;
    after->next = c->first_after;
    c->first_after = after;
}

void rung_commit_rest(rung_commit *c) {
    if (c->activity != ACTIVITY_NONE)
        c->activity = ACTIVITY_RESTING;
}

void rung_commit_begin_calls(rung_commit *c) {
    RUNG_ASSERT(c->activity == ACTIVITY_NONE);
    c->activity = ACTIVITY_WORKING;
}

void rung_commit_end_calls(rung_commit *c) {
    while (c->first_after) {
        rung_hub_after *after = c->first_after;
        c->first_after = after->next;
        after->is_waiting = false;
        after->call(after->ctx);
    }
    c->activity = ACTIVITY_NONE;
}

/* ---- failing ---- */

/* Answer the first event without applying it; a question is called as usual. */
static void refuse_front(rung_commit *c, rung_status st, const rung_err *err) {
    const item *it = pop(c);
    if (it->kind == ITEM_READ) {
        it->read(it->ctx);
        return;
    }
    release_bytes(c, it->ring_end);
    if (it->kind != ITEM_EVENT)
        return;
    c->stats.answered++;
    c->stats.refused++;
    if (it->answer)
        it->answer(it->ctx, st, NULL, err);
}

/* C3. Everything queued so far. */
static void refuse_all(rung_commit *c, rung_status st, const rung_err *err) {
    for (uint64_t end = c->tail; c->head != end;)
        refuse_front(c, st, err);
}

/* C5. Every later change is refused with this message. */
static void fail_for_good(rung_commit *c, rung_status st, const rung_err *cause) {
    if (cause->reason == RUNG_REASON_DIVERGED)
        c->failure = *cause;
    else
        RUNG_FAIL(&c->failure, st, "read-only until reopened: %s", cause->message);
    c->failure.os_errno = cause->os_errno;
    c->failure.where = cause->where;
    c->phase = PHASE_FAILED;
    c->run.count = c->run_at = 0;
    rung_err failure = c->failure;
    refuse_all(c, st, &failure);
}

void rung_commit_fail(rung_commit *c, rung_status st, const rung_err *cause) {
    rung_commit_begin_calls(c);
    fail_for_good(c, st, cause);
    rung_commit_end_calls(c);
}

/* Out of memory in spite of the limit, not an event, or a vote against our state. With a durable log the state now
 * lacks an event that the log has; only a restart fixes that. In memory only this event fails. */
static void fail_to_apply(rung_commit *c, rung_status st, const rung_err *cause) {
    if (!c->config.is_kept) {
        c->run_at++;
        refuse_front(c, st, cause);
        return;
    }
    if (c->config.fatal && cause->reason != RUNG_REASON_DIVERGED)
        c->config.fatal(c->config.ctx, cause);
    fail_for_good(c, st, cause);
}

/* ---- the log's state ---- */

static void enter_full(rung_commit *c, const rung_err *why) {
    char line[400];
    if (c->phase != PHASE_OPEN)
        return;
    c->phase = PHASE_FULL;
    snprintf(line, sizeof line,
             "there is no space for the log, changes are refused, reads continue: %s",
             why->message);
    say(c, line);
}

static void leave_full(rung_commit *c) {
    if (c->phase != PHASE_FULL)
        return;
    c->phase = PHASE_OPEN;
    say(c, "the log has space again: changes are accepted");
    if (c->config.reopened)
        c->config.reopened(c->config.ctx);
}

/* The log has delivered everything; what is queued now was not proposed. */
static void hear_state(rung_commit *c, rung_status st, const rung_err *why) {
    rung_err err;
    if (st == RUNG_NOT_FOUND) {
        leave_full(c);
    } else if (st == RUNG_ENOSPC) {
        enter_full(c, why);
        RUNG_FAIL(&err, st, "there is no space for the log: nothing was changed");
        refuse_all(c, st, &err);
    } else if (st < 0) {
        fail_for_good(c, st, why);
    }
}

/* Are there entries left of the last delivery? */
static bool has_run(const rung_commit *c) {
    return c->run_at < c->run.count;
}

/* Get the next delivery if the last one is done. False: there is none. */
static bool fetch(rung_commit *c) {
    rung_err why; /* set by a failure only */
    if (has_run(c))
        return true;
    c->run.count = c->run_at = 0;
    rung_status st = rung_log_deliver(c->config.log, DELIVER_MAX, &c->run, &why);
    if (st == RUNG_OK)
        return true;
    c->run.count = 0;
    hear_state(c, st, &why);
    return false;
}

/* ---- applying ---- */

/* The next entry of the run was applied. */
static void answer_front(void *ctx, rung_status st, const rung_outcome *outcome,
                         const rung_err *err) {
    rung_commit *c = ctx;
    if (c->run.entries[c->run_at++].tag == RUNG_LOG_FOREIGN)
        return;
    const item *it = pop(c);
    release_bytes(c, it->ring_end);
    if (it->kind != ITEM_EVENT)
        return;
    c->stats.answered++;
    if (it->answer)
        it->answer(it->ctx, st, outcome, err);
}

/* Apply and answer the first event, which has a sink. */
static rung_status apply_keys(rung_commit *c, rung_err *err) {
    const item *it = item_at(c, c->head);
    const rung_log_entry *entry = &c->run.entries[c->run_at];
    return rung_applier_run_keys(c->applier, entry->payload, it->sink, it->ctx, err);
}

/* Apply and answer the next entries together, up to a question or an event with a sink. Records of other nodes are
 * validated, ours are not. */
static rung_status apply_group(rung_commit *c, rung_err *err) {
    const rung_log_entry *entry = &c->run.entries[c->run_at];
    uint64_t own = c->head, seq = c->run.first_seq + c->run_at;
    size_t left = c->run.count - c->run_at, limit = left < RUN_MAX ? left : RUN_MAX;
    uint64_t heavy = rung_applier_weight(c->applier) + RUN_MAX;
    rung_status st = RUNG_OK;
    for (size_t n = 0; n < limit && st == RUNG_OK && rung_applier_weight(c->applier) < heavy; n++) {
        rung_log_record record = {seq + n, entry[n].payload, entry[n].type};
        if (entry[n].tag == RUNG_LOG_FOREIGN) {
            st = rung_applier_add_record(c->applier, &record, err);
            continue;
        }
        const item *it = item_at(c, own);
        if (it->kind == ITEM_READ || it->sink)
            break;
        RUNG_ASSERT(entry[n].tag == own); /* C6 */
        st = it->kind == ITEM_REPORT
                 ? rung_applier_add_record(c->applier, &record, err)
                 : rung_applier_add(c->applier, entry[n].payload, it->is_brief, err);
        own++;
    }
    return st < 0 ? st : rung_applier_finish(c->applier, err);
}

/* C1. The first item is not a question. */
static void apply_run(rung_commit *c) {
    rung_err err; /* set by a failure only */
    bool is_own = c->run.entries[c->run_at].tag != RUNG_LOG_FOREIGN;
    rung_status st =
        is_own && item_at(c, c->head)->sink ? apply_keys(c, &err) : apply_group(c, &err);
    if (st < 0)
        fail_to_apply(c, st, &err);
}

/* Refuse entries that were rejected, or whose outcome is unknown, up to the next question. */
static void refuse_run(rung_commit *c) {
    const rung_err why = c->run.why;
    rung_err err = why;
    if (c->run.outcome == RUNG_LOG_UNKNOWN)
        RUNG_FAIL_WHY(&err, why.code, RUNG_REASON_OUTCOME_UNKNOWN,
                      "unknown whether the change was logged: %s", why.message);
    else if (why.code == RUNG_ENOSPC)
        RUNG_FAIL(&err, why.code, "there is no space for the log: nothing was changed");
    if (why.code == RUNG_ENOSPC)
        enter_full(c, &why);
    while (c->run_at < c->run.count && item_at(c, c->head)->kind != ITEM_READ) {
        RUNG_ASSERT(c->run.entries[c->run_at].tag == c->head); /* C6 */
        c->run_at++;
        refuse_front(c, err.code, &err);
    }
}

static void work_on_run(rung_commit *c) {
    if (c->run.outcome != RUNG_LOG_COMMITTED) {
        refuse_run(c);
        return;
    }
    RUNG_ASSERT(!c->config.is_kept ||
                c->run.first_seq + c->run_at == rung_state_seq(c->state) + 1); /* C2 */
    apply_run(c);
}

static bool is_read_at_head(const rung_commit *c) {
    return c->head != c->tail && item_at(c, c->head)->kind == ITEM_READ;
}

/* C4. Questions placed meanwhile wait for the next call. Heavy events use more of the budget. */
bool rung_commit_work(rung_commit *c, bool asks_log, uint64_t budget) {
    uint64_t end = c->tail, stop = c->head + budget;
    uint64_t heavy = rung_applier_weight(c->applier) + budget;
    rung_commit_begin_calls(c);
    bool is_stuck = false;
    while (!is_stuck && c->head < stop && rung_applier_weight(c->applier) < heavy &&
           c->activity != ACTIVITY_RESTING) {
        if (is_read_at_head(c) && c->head < end) {
            const item *it = pop(c);
            it->read(it->ctx);
            continue;
        }
        is_stuck = is_read_at_head(c) || c->phase == PHASE_FAILED || c->is_held ||
                   !(asks_log ? fetch(c) : has_run(c));
        if (!is_stuck)
            work_on_run(c);
    }
    rung_commit_end_calls(c);
    return !is_stuck || is_read_at_head(c);
}

/* ---- for the driver ---- */

void rung_commit_hold(rung_commit *c, bool is_held) {
    c->is_held = is_held;
}

void rung_commit_end_turn(rung_commit *c) {
    c->looked_at = c->tail;
}

void rung_commit_close(rung_commit *c) {
    if (c->phase != PHASE_FAILED)
        c->phase = PHASE_CLOSING;
    c->is_held = false;
}

bool rung_commit_is_idle(const rung_commit *c) {
    return c->head == c->tail;
}

bool rung_commit_has_new(const rung_commit *c) {
    return c->tail != c->looked_at;
}

bool rung_commit_is_working(const rung_commit *c) {
    return c->activity != ACTIVITY_NONE;
}

rung_commit_stats rung_commit_stat(const rung_commit *c) {
    rung_commit_stats s = c->stats;
    s.status = c->phase == PHASE_FULL ? RUNG_ENOSPC : c->failure.code;
    s.waiting = c->events;
    return s;
}

const rung_err *rung_commit_failure(const rung_commit *c) {
    return &c->failure;
}
