/* SPDX-License-Identifier: Apache-2.0 */
/* The hub opens the parts and drives the commit line.
 *
 *     store, log -> snapshots, time -> commit -> waiters        opened in this order, released in reverse
 *
 * Two drivers. Asynchronous: the log has a thread, wakes us, and a turn does a bounded amount of work. Otherwise
 * (inline, or in memory) the log works in our calls, and a flush does everything. */
#include "service/hub.h"

#include "base/assert.h"
#include "journal/memory_log.h"
#include "service/snapshots.h"
#include "service/store.h"
#include "service/zoneinfo.h"

#include <string.h>

#ifdef RUNG_TEST_BUILD
#define BYTES_MAX        ((size_t)2 << 20)
#define SEGMENT_SIZE_MIN ((uint64_t)1 << 14)
enum { INLINE_WAITING_DEFAULT = 64 };
#else
#define BYTES_MAX        ((size_t)32 << 20) /* of events that wait: 500 bytes for each of 65,536 */
#define SEGMENT_SIZE_MIN ((uint64_t)4 << 20)
enum { INLINE_WAITING_DEFAULT = 4096 };
#endif

enum {
    WAITING_DEFAULT = 65536,
    TURN_MAX = 512,  /* items per turn: then the loop goes on */
    PLACE_TICKS = 5, /* ticks between two checks that the folder is still there */
    UNBANS_MAX = 64, /* bans lifted at a tick */
    TRIM_TICKS = 10, /* ticks between two removals of old segments */
};
#define RETURN_BYTES            ((size_t)4 << 20) /* of freed memory, in a turn: 0.3 ms at most */
#define INLINE_BYTES_MAX        ((size_t)2 << 20)
#define INLINE_SEGMENT_SIZE_MIN ((uint64_t)4 << 20)
#define SNAPSHOT_EVERY_DEFAULT  ((uint64_t)256 << 20)
#define SEGMENT_SIZE_DEFAULT    ((uint64_t)64 << 20)
#define READY_LAG_MAX_DEFAULT   10000u

struct rung_hub {
    rung_hub_config config;
    rung_alloc_lazy lazy;   /* what the state frees is returned in later turns, unless inline */
    rung_alloc_meter meter; /* of the state, on that */
    rung_memory_limit memory;
    rung_store *store; /* NULL: nothing is kept */
    rung_past *past;   /* with config.as_of: has the state. NULL: now */
    rung_log *log;
    rung_state *state;
    rung_commit *commit;
    rung_log_time time;
    rung_snapshots snapshots;
    rung_waiters waiters;
    rung_waiters asking; /* for the end of a shared log; `seq` is the number of their probe */
    uint64_t probes, probes_answered; /* has_probe: the last one is in flight */
    uint32_t probes_spent;            /* since the last tick */
    rung_err probe_err;               /* of the last one answered; code RUNG_OK: it is committed */
    bool has_probe;
    bool is_probe_queued;       /* it is not proposed yet */
    rung_hub_follower listener; /* passes events to the follower and the observer */
    rung_hub_observer *observer;
    void *observer_ctx;
    bool is_async;     /* the log wakes us */
    bool lacks_first;  /* the first events (put_first) are not in the log */
    bool is_raising;   /* the event that raises the rules of a shared log is in flight */
    rung_nodes *nodes; /* the store's; NULL: the log is not shared */
    bool has_stopped;  /* because the state has diverged */
    uint8_t last_words[RUNG_NODE_REPORT_SIZE_MAX];
    rung_err first_err;
    uint32_t ticks;
    uint32_t unbans;   /* ends of bans in flight */
    int64_t silent_ms; /* of a shared log, at the last tick */
    bool is_ready;
};

static void wake(const rung_hub *h) {
    if (h->config.wake)
        h->config.wake(h->config.ctx);
}

static void wake_from_log(void *ctx) {
    wake(ctx);
}

static void fail_from_log(void *ctx, const rung_err *err) {
    const rung_hub *h = ctx;
    if (h->config.fatal)
        h->config.fatal(h->config.ctx, err);
}

static void say_line(void *ctx, const char *line) {
    const rung_hub *h = ctx;
    if (h->config.say)
        h->config.say(h->config.ctx, line);
}

/* ---- followers ---- */

static void tell_before(void *ctx, const rung_state *state, int64_t ts_ms) {
    const rung_hub *h = ctx;
    const rung_hub_follower *f = h->config.follower;
    if (f && f->before)
        f->before(f->ctx, state, ts_ms);
}

static void tell_prepare(void *ctx, const rung_state *state, uint64_t seq,
                         const rung_event *event) {
    const rung_hub *h = ctx;
    const rung_hub_follower *f = h->config.follower;
    if (f && f->prepare)
        f->prepare(f->ctx, state, seq, event);
}

static void tell_applied(void *ctx, uint64_t first_seq, uint32_t count,
                         const rung_event *const *events, const rung_status *statuses,
                         const rung_outcome *outcomes) {
    const rung_hub *h = ctx;
    const rung_hub_follower *f = h->config.follower;
    if (f && f->applied)
        f->applied(f->ctx, first_seq, count, events, statuses, outcomes);
    if (h->observer)
        h->observer(h->observer_ctx, count, events);
}

static void tell_passed(void *ctx, uint64_t seq) {
    const rung_hub *h = ctx;
    const rung_hub_follower *f = h->config.follower;
    if (f && f->passed)
        f->passed(f->ctx, seq);
}

void rung_hub_observe(rung_hub *h, rung_hub_observer *observer, void *ctx) {
    h->observer = observer;
    h->observer_ctx = ctx;
}

/* ---- the parts ---- */

static void set_defaults(rung_hub_config *c) {
    c->zoneinfo = c->zoneinfo ? c->zoneinfo : RUNG_ZONEINFO_PATH;
    c->segment_size = c->segment_size ? c->segment_size : SEGMENT_SIZE_DEFAULT;
    if (!c->waiting_max)
        c->waiting_max = c->is_inline ? INLINE_WAITING_DEFAULT : WAITING_DEFAULT;
    c->snapshot_every = c->snapshot_every ? c->snapshot_every : SNAPSHOT_EVERY_DEFAULT;
    c->ready_lag_max = c->ready_lag_max ? c->ready_lag_max : READY_LAG_MAX_DEFAULT;
}

static rung_status open_folder(rung_hub *h, const rung_state_config *state, rung_err *err) {
    const rung_hub_config *c = &h->config;
    uint64_t least = c->is_inline ? INLINE_SEGMENT_SIZE_MIN : SEGMENT_SIZE_MIN;
    if (c->segment_size < least || c->segment_size % 512 != 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "segment_size",
                               "expected %llu bytes or more, a multiple of 512",
                               (unsigned long long)least);
    rung_store_config store = {.fs = c->fs,
                               .alloc = c->alloc,
                               .children = c->children,
                               .path = c->path,
                               .log = c->log,
                               .segment_size = c->segment_size,
                               .writer = {.is_inline = c->is_inline,
                                          .is_patient = !c->is_inline,
                                          .threads = c->threads,
                                          .clock = c->clock,
                                          .proposals_max = c->waiting_max + 1,
                                          .sync_every_ms = c->sync_every_ms,
                                          .space_retry_ms = c->space_retry_ms,
                                          .packs = c->packs,
                                          .wake = wake_from_log,
                                          .fatal = fail_from_log,
                                          .say = say_line,
                                          .ctx = h},
                               .state = *state,
                               .follower = c->follower,
                               .nodes = {.version = c->version,
                                         .address = c->address,
                                         .level = RUNG_RULES_LEVEL,
                                         .checkpoint_every = c->checkpoint_every,
                                         .heartbeat_ms = c->heartbeat_ms,
                                         .say = c->say,
                                         .ctx = c->ctx},
                               .random = c->random,
                               .progress = c->progress,
                               .say = c->say,
                               .ctx = c->ctx};
    h->config.log = NULL; /* the store's, from now on */
    rung_status st = rung_store_open(&store, &h->store, &h->state, err);
    if (st == RUNG_OK) {
        h->log = rung_store_log(h->store);
        h->nodes = rung_store_nodes(h->store);
    }
    return st;
}

/* ---- a moment of the past ---- */

static bool tell_past(void *ctx, const char *what, uint64_t done, uint64_t total) {
    const rung_hub *h = ctx;
    if (h->config.progress)
        h->config.progress(h->config.ctx, what, done, total);
    return true;
}

static int64_t still_ms(void *ctx) {
    return rung_past_now(((const rung_hub *)ctx)->past);
}

/* The log is in memory and gets nothing. The clock stands still, and has no boot time that could contradict it. */
static rung_status open_past(rung_hub *h, const rung_state_config *state, rung_err *err) {
    rung_hub_config *c = &h->config;
    rung_past_config past = {
        .log = {.fs = c->fs, .alloc = c->alloc, .path = c->path, .log = c->log},
        .moment = *c->as_of,
        .now_ms = rung_clock_now(&c->clock),
        .memory_max = c->memory_max,
        .hash_key = state->hash_key,
        .threads = c->threads,
        .progress = tell_past,
        .ctx = h};
    rung_status st = rung_past_open(&past, &h->past, NULL, err);
    rung_ignore(rung_log_close(c->log, NULL), "it was only read");
    c->log = NULL;
    if (st < 0)
        return st;
    c->clock = (rung_clock){.now_ms = still_ms, .ctx = h, .monotonic_us = c->clock.monotonic_us};
    h->state = rung_past_state(h->past);
    return rung_memory_log_create(c->alloc, c->waiting_max + 1, &h->log, err);
}

static rung_status open_memory(rung_hub *h, const rung_state_config *state, rung_err *err) {
    rung_status st = rung_state_create(state, &h->state);
    if (st < 0)
        return RUNG_FAIL(err, st, "out of memory");
    return rung_memory_log_create(h->config.alloc, h->config.waiting_max + 1, &h->log, err);
}

static rung_status open_state(rung_hub *h, rung_err *err) {
    const rung_hub_config *c = &h->config;
    const rung_hub_follower *f = c->follower;
    rung_alloc_lazy_init(&h->lazy, c->alloc);
    h->lazy.is_eager = true; /* a replay has no turns */
    rung_alloc_meter_init(&h->meter, c->is_inline ? c->alloc : &h->lazy.port);
    h->memory = (rung_memory_limit){.meter = &h->meter, .max = c->memory_max};
    rung_state_config state = {.alloc = &h->meter.port,
                               .id_capacity = c->id_capacity,
                               .id_keep_ms = c->id_keep_ms,
                               /* In memory; the library's first event sets it there, too. */
                               .rules_level = c->is_inline ? 0 : RUNG_RULES_LEVEL};
    if (f && f->on_close) {
        state.on_close = f->on_close;
        state.on_close_ctx = f->ctx;
    }
    if (f && f->on_change) {
        state.on_change = f->on_change;
        state.on_change_ctx = f->ctx;
    }
    rung_status st = rung_random_hash_key(c->random, &state.hash_key, err);
    if (st < 0)
        return st;
    if (c->as_of)
        return open_past(h, &state, err);
    return c->path ? open_folder(h, &state, err) : open_memory(h, &state, err);
}

/* ---- the first events ---- */

/* If the log rejects one because the disk is full, it is put again before any other change. */
static void first_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                           const rung_err *err) {
    rung_hub *h = ctx;
    if (outcome)
        return;
    h->lacks_first = true;
    h->first_err = *err;
    (void)st;
}

/* Other servers of a shared log may not know our level yet, unless there was nobody before us. */
static bool may_raise_at_once(const rung_hub *h) {
    return !h->nodes || rung_state_seq(h->state) == 0;
}

/* Put the events that must precede all others: raise the rules to our level, and configure the memory for ids. */
static rung_status put_first(rung_hub *h, rung_err *err) {
    const rung_hub_config *c = &h->config;
    const rung_hub_sender ourselves = {0};
    rung_event event;
    rung_status st = RUNG_OK;
    bool is_full = rung_commit_stat(h->commit).status == RUNG_ENOSPC;
    h->lacks_first = is_full;
    if (is_full)
        return RUNG_OK;
    if (may_raise_at_once(h) && rung_store_rules_event(h->state, &event))
        st = rung_commit_put(h->commit, ourselves, &event, NULL, first_answered, h, err);
    if (st == RUNG_OK && h->store &&
        rung_store_ids_event(h->state, c->id_capacity, c->id_keep_ms, &event))
        st = rung_commit_put(h->commit, ourselves, &event, NULL, first_answered, h, err);
    h->lacks_first = h->lacks_first || st < 0;
    return st;
}

static void put_missing(void *ctx) {
    rung_hub *h = ctx;
    if (h->lacks_first)
        rung_ignore(put_first(h, NULL), "it is put again when the log has space, or by a tick");
}

/* ---- the other servers of a shared log ---- */

static void put_report(rung_hub *h, rung_report_kind kind) {
    uint8_t bytes[RUNG_NODE_REPORT_SIZE_MAX];
    rung_node_report report;
    rung_nodes_write(h->nodes, kind, rung_state_seq(h->state), &report);
    rung_ignore(rung_commit_put_report(h->commit, bytes, rung_node_report_encode(&report, bytes)),
                "one is in flight, or the log takes none: the next one says the same");
}

static void report_if_due(rung_hub *h) {
    if (h->nodes && rung_nodes_is_due(h->nodes) && rung_commit_may_report(h->commit))
        put_report(h, RUNG_REPORT_USUAL);
}

/* The others know at once that this server is gone. Without brokers that would take long, and they will notice. */
static void say_goodbye(rung_hub *h) {
    if (h->nodes && !h->has_stopped && rung_log_stat(h->log).silent_ms == 0)
        put_report(h, RUNG_REPORT_LEAVING);
}

static void raised(void *ctx, rung_status st, const rung_outcome *outcome, const rung_err *err) {
    rung_hub *h = ctx;
    (void)st, (void)outcome, (void)err; /* a tick tries again */
    h->is_raising = false;
}

/* In a shared log, when everybody knows our level. Two servers may do it at the same time, which is harmless. */
static void raise_rules(rung_hub *h) {
    rung_event event;
    if (h->is_raising || !rung_store_rules_event(h->state, &event) ||
        !rung_nodes_may_raise(h->nodes))
        return;
    h->is_raising = rung_hub_put(h, &event, raised, h, NULL) == RUNG_OK;
}

/* Nobody applies or answers any more, so the log gets this one from us. */
static void say_last_words(rung_hub *h) {
    rung_node_report report;
    rung_nodes_write(h->nodes, RUNG_REPORT_DIVERGED, rung_state_seq(h->state), &report);
    rung_log_entry entry = {.type = RUNG_LOG_TYPE_REPORT, .tag = 0};
    entry.payload = rung_slice_of(h->last_words, rung_node_report_encode(&report, h->last_words));
    rung_ignore(rung_log_propose(h->log, &entry, 1, NULL), "the others notice our silence");
}

static void fail_waiters(rung_waiters *all, const rung_err *err) {
    for (rung_hub_waiter *w; (w = all->first) != NULL;) {
        rung_waiters_remove(all, w);
        w->probe = 0;
        if (w->failed)
            w->failed(w->ctx, err);
        else
            w->ready(w->ctx);
    }
}

/* The servers' votes say that our state is wrong: stop, loudly. */
static void stop_if_diverged(rung_hub *h) {
    rung_err err;
    if (!h->nodes || h->has_stopped || !rung_nodes_divergence(h->nodes))
        return;
    h->has_stopped = true;
    rung_divergence_fail(rung_nodes_divergence(h->nodes), &err);
    rung_snapshots_cancel(&h->snapshots);
    if (rung_commit_failure(h->commit)->code == RUNG_OK)
        rung_commit_fail(h->commit, err.code, &err);
    say_last_words(h);
    rung_commit_begin_calls(h->commit);
    fail_waiters(&h->asking, &err);
    fail_waiters(&h->waiters, &err);
    rung_commit_end_calls(h->commit);
}

static void look_at_nodes(rung_hub *h) {
    if (!h->nodes || h->has_stopped)
        return;
    rung_nodes_tick(h->nodes, rung_log_time_now(&h->time));
    stop_if_diverged(h);
    if (h->has_stopped)
        return;
    raise_rules(h);
    report_if_due(h);
}

/* ---- opening ---- */

static rung_status open_commit(rung_hub *h, rung_err *err) {
    const rung_hub_config *c = &h->config;
    h->listener = (rung_hub_follower){.ctx = h,
                                      .before = tell_before,
                                      .prepare = tell_prepare,
                                      .applied = tell_applied,
                                      .passed = tell_passed};
    rung_commit_config commit = {.alloc = c->alloc,
                                 .state = h->state,
                                 .log = h->log,
                                 .is_kept = h->store != NULL,
                                 .is_past = h->past != NULL,
                                 .is_full = h->store && rung_store_stat(h->store).is_full,
                                 .time = &h->time,
                                 .memory = c->memory_max ? &h->memory : NULL,
                                 .follower = &h->listener,
                                 .nodes = h->nodes,
                                 .waiting_max = c->waiting_max,
                                 .bytes_max = c->is_inline ? INLINE_BYTES_MAX : BYTES_MAX,
                                 .at_ahead_ms = c->at_ahead_ms,
                                 .fatal = fail_from_log,
                                 .say = say_line,
                                 .reopened = put_missing,
                                 .ctx = h};
    return rung_commit_create(&commit, &h->commit, err);
}

static rung_status open_parts(rung_hub *h, rung_err *err) {
    const rung_hub_config *c = &h->config;
    rung_status st = open_state(h, err);
    if (st < 0)
        return st;
    h->is_async = h->store && !c->is_inline;
    h->snapshots = (rung_snapshots){.store = h->store,
                                    .state = h->state,
                                    .follower = c->follower,
                                    .time = &h->time,
                                    .every = c->snapshot_every,
                                    .every_ms = c->snapshot_every_ms,
                                    .target_ms = c->is_inline ? 0 : (int64_t)c->recovery_target_ms,
                                    .retention = c->log_keep,
                                    .alloc = c->alloc,
                                    .say = c->say,
                                    .ctx = c->ctx};
    st = rung_snapshots_init(&h->snapshots, err);
    rung_log_time_init(&h->time, &c->clock, c->max_jump_ms,
                       h->store ? rung_store_dir(h->store) : NULL, c->say, c->ctx);
    return st < 0 ? st : open_commit(h, err);
}

static rung_status release(rung_hub *h, rung_err *err) {
    rung_snapshots_deinit(&h->snapshots);
    rung_status st = h->store ? rung_store_close(h->store, err) : rung_log_close(h->log, err);
    rung_ignore(rung_log_close(h->config.log, NULL), "nothing was proposed to it yet");
    rung_commit_destroy(h->commit); /* after the log, which reads its bytes */
    if (h->past)
        rung_past_close(h->past);
    else
        rung_state_destroy(h->state);
    rung_alloc_lazy_deinit(&h->lazy);
    rung_alloc_free(h->config.alloc, h, sizeof *h);
    return st;
}

static void settle(rung_hub *h) {
    while (!rung_commit_is_idle(h->commit)) {
        rung_hub_flush(h);
        rung_log_await(h->log);
        rung_hub_turn(h);
    }
}

/* Nothing is served under older rules, except while the disk is full, or other servers of a shared log do not know
 * ours. An inline caller gets the former as an error. */
static rung_status begin_life(rung_hub *h, rung_err *err) {
    rung_log_time_watch(&h->time, rung_state_time(h->state));
    if (h->nodes)
        rung_nodes_go_live(h->nodes, rung_log_time_now(&h->time));
    if (h->past)
        return RUNG_OK;
    rung_status st = put_first(h, err);
    if (st < 0)
        return st;
    settle(h);
    if (!h->lacks_first || !h->config.is_inline)
        return RUNG_OK;
    if (err)
        *err = h->first_err;
    return h->first_err.code;
}

/* ---- opening and closing ---- */

/* While it opened, others may have written more than it had to read. Once is enough: a server that falls behind later
 * says so, but serves, as the others may be no better. */
static void look_at_lag(rung_hub *h) {
    h->is_ready =
        h->is_ready || !rung_log_is_shared(h->log) ||
        rung_log_stat(h->log).end_seq <= rung_state_seq(h->state) + h->config.ready_lag_max;
}

rung_status rung_hub_open(const rung_hub_config *config, rung_hub **hub_out, rung_err *err) {
    rung_hub *h = rung_alloc_zeroed(config->alloc, sizeof *h);
    if (!h) {
        rung_ignore(rung_log_close(config->log, NULL), "the failure to open is the one to tell");
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    }
    h->config = *config;
    set_defaults(&h->config);
    rung_status st = RUNG_OK;
    if (config->waiting_max > RUNG_HUB_WAITING_MAX)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "waiting_max", "expected at most %u",
                             RUNG_HUB_WAITING_MAX);
    if (st == RUNG_OK)
        st = open_parts(h, err);
    if (st == RUNG_OK)
        st = begin_life(h, err);
    if (st < 0) {
        rung_ignore(release(h, NULL), "the failure to open is the one to tell");
        return st;
    }
    look_at_lag(h);
    h->lazy.is_eager = !h->is_async;
    *hub_out = h;
    return RUNG_OK;
}

/* Two tries: a sync may be running that does not cover everything. */
static bool is_durable(rung_hub *h) {
    for (int i = 0; i < 3; i++) {
        if (rung_log_durable_seq(h->log) >= rung_state_seq(h->state))
            return true;
        if (rung_log_sync(h->log, NULL) < 0)
            return false;
        rung_log_await(h->log);
    }
    return false;
}

/* So that the next start need not replay. It is not worth failing for. */
static void save_last(rung_hub *h) {
    rung_err err = {0};
    if (!h->is_async || h->has_stopped || rung_commit_failure(h->commit)->code < 0 ||
        !is_durable(h))
        return;
    if (rung_snapshots_save_last(&h->snapshots, &err) < 0 && h->config.say)
        h->config.say(h->config.ctx, err.message);
}

rung_status rung_hub_close(rung_hub *h, rung_err *err) {
    if (!h)
        return RUNG_OK;
    rung_snapshots_give_up(&h->snapshots);
    rung_commit_close(h->commit);
    h->lazy.is_eager = true;
    settle(h);
    say_goodbye(h);
    settle(h);
    save_last(h);
    rung_err failure = *rung_commit_failure(h->commit);
    rung_log_time_keep(&h->time);
    rung_status st = release(h, err);
    if (failure.code < 0) {
        if (err)
            *err = failure;
        st = failure.code;
    }
    return st;
}

/* ---- changes and questions ---- */

rung_commit *rung_hub_commit(const rung_hub *h) {
    return h->commit;
}

rung_status rung_hub_find_zone(const rung_hub *h, rung_board_def *def, char *room, rung_err *err) {
    bool is_utc = def->zone_name.len == 0 || rung_slice_eq(def->zone_name, RUNG_SLICE("UTC"));
    size_t len;
    if (is_utc || def->zone_rules.len > 0)
        return RUNG_OK;
    rung_status st =
        rung_zoneinfo_pack(h->config.zoneinfo, def->zone_name, h->config.alloc, room, &len, err);
    if (st == RUNG_OK)
        def->zone_rules = rung_slice_of(room, len);
    return st;
}

rung_status rung_hub_define(rung_hub *h, rung_hub_sender from, rung_slice board,
                            const rung_board_def *def, rung_hub_answer *answer, void *ctx,
                            rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_BOARD_DEFINED, .defined = {.board = board, .def = *def}};
    const rung_alloc *a = h->config.alloc;
    char *room = rung_alloc_get(a, RUNG_ZONE_PACKED_MAX);
    if (!room)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    rung_status st = rung_hub_find_zone(h, &event.defined.def, room, err);
    if (st == RUNG_OK)
        st = rung_commit_put(h->commit, from, &event, NULL, answer, ctx, err);
    rung_alloc_free(a, room, RUNG_ZONE_PACKED_MAX);
    return st;
}

void rung_hub_wait(rung_hub *h, rung_hub_waiter *w) {
    rung_waiters_add(&h->waiters, w);
    if (w->seq <= rung_state_seq(h->state))
        wake(h);
}

/* ---- the end of a shared log ----
 *
 * A broker's word is not enough: one that was replaced as leader and has not noticed names an end that other nodes have
 * passed. A committed event of our own is proof: it follows everything that was acknowledged before it was proposed. So
 * those who ask share a tick, which changes nothing: the probe. Who comes after it was proposed needs the next one.
 * Readers must not fill the log, so there are at most PROBES_PER_TICK between two calls of rung_hub_tick; who asks then
 * waits for the next. */

enum { PROBES_PER_TICK = 100 };

static void probe_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                           const rung_err *err) {
    rung_hub *h = ctx;
    (void)outcome;
    h->has_probe = h->is_probe_queued = false;
    h->probes_answered = h->probes;
    h->probe_err = st < 0 ? *err : (rung_err){0};
    if (st == RUNG_EIO) /* the log; other refusals, such as a full queue, are told as they are */
        rung_ignore(RUNG_FAIL_WHY(&h->probe_err, RUNG_EIO, RUNG_REASON_LOG_UNAVAILABLE,
                                  "the end of the log is unknown: %s", err->message),
                    "those who asked are told");
    wake(h);
}

static void put_probe(rung_hub *h) {
    rung_event tick = {.kind = RUNG_EVENT_TICK};
    rung_err err;
    if (h->has_probe || h->probes_spent == PROBES_PER_TICK)
        return;
    h->probes_spent++;
    h->probes++;
    h->has_probe = h->is_probe_queued = true;
    rung_status st = rung_hub_put(h, &tick, probe_answered, h, &err);
    if (st < 0)
        probe_answered(h, st, NULL, &err);
}

/* Those whose probe is answered wait for what the state has now. */
static void hear_probe(rung_hub *h) {
    for (rung_hub_waiter *w; (w = rung_waiters_pop(&h->asking, h->probes_answered));) {
        w->probe = 0;
        w->seq = rung_state_seq(h->state);
        if (h->probe_err.code < 0)
            w->failed(w->ctx, &h->probe_err);
        else
            rung_waiters_add(&h->waiters, w);
    }
    if (h->asking.first)
        put_probe(h);
}

void rung_hub_wait_for_end(rung_hub *h, rung_hub_waiter *w) {
    if (!rung_log_is_shared(h->log)) {
        w->seq = rung_log_durable_seq(h->log);
        rung_hub_wait(h, w);
        return;
    }
    w->seq = w->probe = h->probes + !h->is_probe_queued;
    rung_waiters_add(&h->asking, w);
    put_probe(h);
}

void rung_hub_cancel(rung_hub *h, rung_hub_waiter *w) {
    rung_waiters_remove(w->probe ? &h->asking : &h->waiters, w);
}

uint64_t rung_hub_reach(const rung_hub *h) {
    if (rung_log_is_shared(h->log))
        return UINT64_MAX; /* another node may be far ahead of us */
    return rung_state_seq(h->state) + h->config.waiting_max + 1; /* and a tick */
}

static void call_waiters(rung_hub *h) {
    rung_hub_waiter *w;
    rung_commit_begin_calls(h->commit);
    hear_probe(h);
    while ((w = rung_waiters_pop(&h->waiters, rung_state_seq(h->state))))
        w->ready(w->ctx);
    rung_commit_end_calls(h->commit);
}

/* ---- the loop's part ---- */

/* A log that works in our calls needs another call as long as there is something to do. */
static void end_turn(rung_hub *h, bool has_more) {
    rung_commit_end_turn(h->commit);
    /* More if there is much, so that it never piles up. */
    has_more |= rung_alloc_lazy_step(&h->lazy, RETURN_BYTES + h->lazy.bytes / 32);
    if (has_more || (!h->is_async && !rung_commit_is_idle(h->commit)))
        wake(h);
}

static void propose(rung_hub *h) {
    h->is_probe_queued = false;
    rung_commit_propose(h->commit);
}

void rung_hub_flush(rung_hub *h) {
    RUNG_ASSERT(!rung_commit_is_working(h->commit));
    propose(h); /* first: the disk works while we do */
    if (rung_commit_is_idle(h->commit)) {
        rung_commit_end_turn(h->commit);
        return;
    }
    bool has_more = h->is_async ? rung_commit_work(h->commit, false, TURN_MAX)
                                : rung_commit_work(h->commit, true, UINT32_MAX);
    if (!h->is_async)
        call_waiters(h);
    propose(h);
    end_turn(h, has_more);
}

/* While a snapshot waits until the log is durable up to the state, nothing is applied. */
static void hold_for_snapshot(rung_hub *h) {
    rung_snapshots_go_on(&h->snapshots);
    if (rung_snapshots_are_waiting(&h->snapshots)) {
        rung_status st = rung_log_sync(h->log, NULL);
        if (st < 0)
            rung_snapshots_give_up(&h->snapshots);
    }
    rung_commit_hold(h->commit, rung_snapshots_are_waiting(&h->snapshots));
}

/* Work, and measure what an event costs. */
static bool work_measured(rung_hub *h) {
    uint64_t from = rung_state_seq(h->state);
    int64_t began_us = rung_clock_monotonic_us(&h->config.clock);
    bool has_more = rung_commit_work(h->commit, true, TURN_MAX);
    if (rung_state_seq(h->state) != from)
        rung_snapshots_note_work(&h->snapshots,
                                 rung_clock_monotonic_us(&h->config.clock) - began_us);
    return has_more;
}

void rung_hub_turn(rung_hub *h) {
    RUNG_ASSERT(!rung_commit_is_working(h->commit));
    hold_for_snapshot(h);
    if (!h->is_async)
        propose(h);
    bool has_more = h->is_async ? work_measured(h) : rung_commit_work(h->commit, true, UINT32_MAX);
    stop_if_diverged(h);
    call_waiters(h);
    report_if_due(h);
    propose(h);
    end_turn(h, has_more);
}

/* If somebody removed or replaced the folder, anything acknowledged now would be lost. */
static bool is_in_place(rung_hub *h) {
    rung_err err = {0};
    if (rung_commit_failure(h->commit)->code < 0 || h->ticks % PLACE_TICKS != 0 ||
        rung_store_check_place(h->store, &err) == RUNG_OK)
        return true;
    if (h->config.fatal)
        h->config.fatal(h->config.ctx, &err);
    rung_snapshots_give_up(&h->snapshots);
    rung_commit_fail(h->commit, RUNG_EIO, &err);
    return false;
}

static void look_after_snapshots(rung_hub *h) {
    rung_ignore(rung_snapshots_poll(&h->snapshots, false, NULL),
                "a failure was said, and is counted");
    if (rung_commit_failure(h->commit)->code == RUNG_OK)
        rung_snapshots_begin_if_due(&h->snapshots);
    rung_commit_hold(h->commit, rung_snapshots_are_waiting(&h->snapshots));
    if (h->ticks++ % TRIM_TICKS == 0)
        rung_snapshots_trim(&h->snapshots);
}

static void unban_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                           const rung_err *err) {
    rung_hub *h = ctx;
    (void)st, (void)outcome, (void)err; /* a tick tries again */
    h->unbans--;
}

/* Lift bans whose time has come. Each server of a shared log may: the first one counts. */
static void lift_bans(rung_hub *h) {
    rung_slice players[UNBANS_MAX];
    int64_t untils[UNBANS_MAX];
    uint32_t count = h->unbans ? 0
                               : rung_state_bans_due(h->state, rung_log_time_now(&h->time),
                                                     UNBANS_MAX, players, untils);
    for (uint32_t i = 0; i < count; i++) {
        rung_event event = {.kind = RUNG_EVENT_UNBANNED,
                            .ban = {players[i], RUNG_SLICE("it has ended"), untils[i]}};
        h->unbans += rung_hub_put(h, &event, unban_answered, h, NULL) == RUNG_OK;
    }
}

void rung_hub_tick(rung_hub *h) {
    RUNG_ASSERT(!rung_commit_is_working(h->commit));
    h->probes_spent = 0;
    rung_log_time_watch(&h->time, rung_state_time(h->state));
    rung_log_time_keep_if_due(&h->time);
    if (h->store) {
        if (!is_in_place(h))
            return;
        look_after_snapshots(h);
    }
    look_at_nodes(h);
    if (rung_log_is_shared(h->log)) {
        h->silent_ms = rung_log_stat(h->log).silent_ms;
        look_at_lag(h);
        wake(h); /* it delivers what has waited for too long */
    }
    if (rung_commit_may_put(h->commit, NULL) == RUNG_OK) {
        put_missing(h);
        lift_bans(h);
        rung_commit_put_tick(h->commit);
        rung_hub_flush(h);
    }
}

/* ---- snapshots ---- */

rung_status rung_hub_snapshot(rung_hub *h, rung_err *err) {
    if (h->has_stopped)
        return rung_divergence_fail(rung_nodes_divergence(h->nodes), err);
    rung_status st = rung_snapshots_begin(&h->snapshots, err);
    rung_commit_hold(h->commit, rung_snapshots_are_waiting(&h->snapshots));
    return st;
}

rung_status rung_hub_open_snapshot(const rung_hub *h, rung_snapshot_raw *raw_out, rung_err *err) {
    char name[RUNG_FILE_NAME_MAX];
    if (!h->store)
        return RUNG_FAIL(err, RUNG_EUNSUPPORTED, "this server has no data folder");
    if (!h->snapshots.newest_seq)
        return RUNG_NOT_FOUND;
    rung_snapshot_name(name, h->snapshots.newest_seq);
    return rung_snapshot_raw_open(rung_store_dir(h->store), name, raw_out, err);
}

rung_status rung_hub_save(rung_hub *h, rung_err *err) {
    return rung_snapshots_save(&h->snapshots, err);
}

rung_status rung_hub_wait_for_snapshot(rung_hub *h, rung_err *err) {
    return rung_snapshots_poll(&h->snapshots, true, err);
}

rung_status rung_hub_sync(rung_hub *h, rung_err *err) {
    rung_status st = rung_hub_failure(h, err);
    if (st < 0 || rung_log_sync(h->log, err) >= 0)
        return st;
    rung_hub_turn(h); /* hears of it, and fails */
    return rung_hub_failure(h, err);
}

/* ---- looking ---- */

rung_status rung_hub_failure(const rung_hub *h, rung_err *err) {
    const rung_err *failure = rung_commit_failure(h->commit);
    if (failure->code < 0 && err)
        *err = *failure;
    return failure->code;
}

const rung_nodes *rung_hub_nodes(const rung_hub *h) {
    return h->nodes;
}

const rung_divergence *rung_hub_divergence(const rung_hub *h) {
    return h->nodes ? rung_nodes_divergence(h->nodes) : NULL;
}

rung_hub_time rung_hub_look_at_time(rung_hub *h) {
    return rung_log_time_look(&h->time, rung_state_time(h->state));
}

bool rung_hub_accept_time(rung_hub *h) {
    return rung_log_time_accept(&h->time, rung_state_time(h->state));
}

bool rung_hub_reveal(rung_hub *h, rung_slice board, rung_slice player) {
    return rung_state_ghost_enter(h->state, board, player) == RUNG_OK;
}

void rung_hub_conceal(rung_hub *h) {
    rung_state_ghost_leave(h->state);
}

const rung_state *rung_hub_state(const rung_hub *h) {
    return h->state;
}

int64_t rung_hub_silent_ms(const rung_hub *h) {
    return h->silent_ms;
}

rung_status rung_hub_check_present(const rung_hub *h, rung_err *err) {
    return h->past ? rung_commit_may_put(h->commit, err) : RUNG_OK;
}

int64_t rung_hub_now(rung_hub *h) {
    return rung_log_time_now(&h->time);
}

rung_hub_stats rung_hub_stat(const rung_hub *h) {
    rung_commit_stats c = rung_commit_stat(h->commit);
    const rung_snapshots *snapshots = &h->snapshots;
    rung_log_stats log = rung_log_stat(h->log);
    uint64_t applied_seq = rung_state_seq(h->state);
    rung_hub_stats s = {
        .status = c.status,
        .put = c.put,
        .answered = c.answered,
        .refused = c.refused,
        .waiting = c.waiting,
        .waiter_steps = h->waiters.steps,
        .batches = log.batches,
        .sync_count = log.sync_count,
        .sync_us_total = log.sync_us_total,
        .log_bytes = log.bytes,
        .memory = h->past ? rung_past_memory(h->past) : h->meter.used,
        .memory_peak = h->past ? rung_past_memory(h->past) : h->meter.peak,
        .memory_max = h->memory.max,
        .memory_refused = h->memory.refused,
        .durable_seq = h->store ? rung_log_durable_seq(h->log) : applied_seq,
        .applied_seq = applied_seq,
        .is_ready = h->is_ready,
        .log_end_seq = rung_log_is_shared(h->log) ? log.end_seq : 0,
        .log_rejected = log.rejected,
        .log_unknown = log.unknown,
        .log_foreign = log.foreign,
        .log_rebuilds = log.rebuilds,
        .log_silent_ms = log.silent_ms,
        .snapshots = snapshots->count,
        .snapshot_failures = snapshots->failures,
        .snapshot_seq = snapshots->newest_seq,
        .is_snapshotting = snapshots->phase == RUNG_SNAPSHOT_WRITING,
        .snapshot_ms = snapshots->newest_ms,
        .log_first_seq = h->store ? rung_log_first_seq(h->log) : 0,
        .log_disk_bytes = h->store ? rung_store_log_bytes(h->store, 0) : 0,
        .log_reach_ms = rung_snapshots_reach_ms(snapshots),
        .is_log_short = snapshots->plan.has_given_way,
        .snapshots_kept = snapshots->list.count,
        .snapshot_bytes = rung_snapshots_bytes(snapshots),
        .replay_ms = rung_snapshots_replay_ms(snapshots),
    };
    memcpy(s.sync_us, log.sync_us, sizeof s.sync_us);
    return s;
}

const rung_movers *rung_hub_movers(const rung_hub *h) {
    return h->past ? rung_past_movers(h->past) : NULL;
}
