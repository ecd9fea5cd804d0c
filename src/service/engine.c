/* SPDX-License-Identifier: Apache-2.0 */
/* The engine. Workload: single events, and batches of thousands, from one thread that waits for
 * the answers.
 *
 * A batch lives in one buffer of encoded events, made once. Place 0 of the records is kept for a
 * tick, so that what is due closes at the same sequence live and replayed:
 *
 *     records   [tick] [first event] [second event] ...
 *     buffer    |tick  |first event's bytes|second event's bytes| ...
 *
 * Invariants:
 *   E1  An event is applied only after the log has it (and, without sync_every_ms, has synced it).
 *   E2  The state's sequence is the log's, between any two calls, unless `failure` is set.
 *   E3  Once `failure` is set nothing is logged, applied or acknowledged again.
 *   E4  All events of one batch carry one time. */
#include "service/engine.h"

#include "base/assert.h"
#include "service/admission.h"

#include <string.h>

enum {
    TICK_BYTES = 16 /* version, kind, a time */
};

struct rung_engine {
    rung_engine_config config;
    rung_err failure;  /* E3: code RUNG_OK while all is well */
    int64_t synced_ms; /* of the monotonic clock */
    bool has_unsynced;

    /* The batch. */
    int64_t time_ms; /* E4; of the first event */
    uint32_t count;
    size_t used;             /* bytes of `buffer`, the tick's room included */
    rung_log_entry *records; /* count + 1 in use; [0] is the tick's */
    char *buffer;
    rung_applier_payload *payloads; /* of the events, for the applier */
    rung_applier *applier;
};

static const size_t records_size = (RUNG_ENGINE_BATCH_RECORDS + 1) * sizeof(rung_log_entry);
static const size_t payloads_size = (RUNG_ENGINE_BATCH_RECORDS + 1) * sizeof(rung_applier_payload);
static const size_t buffer_size = TICK_BYTES + RUNG_ENGINE_BATCH_BYTES + RUNG_EVENT_BYTES_MAX;

/* ---- life ---- */

rung_status rung_engine_create(const rung_engine_config *config, rung_engine **engine_out,
                               rung_err *err) {
    if (config->log && rung_log_batch_bytes_max(config->log) < RUNG_ENGINE_FRAMED_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "segment_size",
                               "a log takes %zu bytes at once here; %zu are needed",
                               rung_log_batch_bytes_max(config->log), RUNG_ENGINE_FRAMED_MAX);
    rung_engine *e = rung_alloc_zeroed(config->alloc, sizeof *e);
    if (!e)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    e->config = *config;
    e->used = TICK_BYTES;
    e->synced_ms = rung_clock_monotonic_ms(NULL);
    e->records = rung_alloc_get(config->alloc, records_size);
    e->buffer = rung_alloc_get(config->alloc, buffer_size);
    e->payloads = rung_alloc_get(config->alloc, payloads_size);
    rung_applier_config applier = {.alloc = config->alloc, .state = config->state};
    if (!e->records || !e->buffer || !e->payloads ||
        rung_applier_create(&applier, &e->applier, NULL) < 0) {
        rung_engine_destroy(e);
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    }
    *engine_out = e;
    return RUNG_OK;
}

void rung_engine_destroy(rung_engine *e) {
    if (!e)
        return;
    const rung_alloc *a = e->config.alloc;
    rung_applier_destroy(e->applier);
    rung_alloc_free(a, e->payloads, payloads_size);
    rung_alloc_free(a, e->buffer, buffer_size);
    rung_alloc_free(a, e->records, records_size);
    rung_alloc_free(a, e, sizeof *e);
}

/* ---- failing for good ---- */

static rung_status refuse_after_failure(const rung_engine *e, rung_err *err) {
    if (err)
        *err = e->failure;
    return e->failure.code;
}

/* E3. The message outlives its cause: it is what every later change is told. */
static rung_status fail_for_good(rung_engine *e, rung_status st, const rung_err *cause,
                                 rung_err *err) {
    RUNG_FAIL(&e->failure, st, "read-only, open again to go on: %s", cause->message);
    e->failure.os_errno = cause->os_errno;
    e->failure.where = cause->where;
    return refuse_after_failure(e, err);
}

/* ---- gathering a batch ---- */

bool rung_engine_is_full(const rung_engine *e) {
    return e->count == RUNG_ENGINE_BATCH_RECORDS || e->used >= TICK_BYTES + RUNG_ENGINE_BATCH_BYTES;
}

uint32_t rung_engine_waiting(const rung_engine *e) {
    return e->count;
}

rung_status rung_engine_put(rung_engine *e, rung_event *event, rung_err *err) {
    if (e->failure.code < 0)
        return refuse_after_failure(e, err);
    RUNG_ASSERT(!rung_engine_is_full(e));
    event->ts_ms = e->count ? e->time_ms : rung_clock_now(&e->config.clock);
    char *at = e->buffer + e->used;
    size_t len;
    rung_status st = rung_event_encode(event, at, buffer_size - e->used, &len);
    if (st < 0) {
        st = rung_event_check(event, err); /* the same refusal, with its reason */
        RUNG_ASSERT(st < 0);
        return st;
    }
    st = rung_admit(event, e->config.state, e->config.at_ahead_ms, err);
    if (st < 0)
        return st;
    e->time_ms = event->ts_ms;
    e->used += len;
    e->payloads[e->count++] = (rung_applier_payload){
        rung_slice_of(at, len), event->kind == RUNG_EVENT_SCORE && event->score.is_brief};
    e->records[e->count] =
        (rung_log_entry){.payload = rung_slice_of(at, len), .type = RUNG_LOG_TYPE_EVENT};
    return RUNG_OK;
}

static void drop_batch(rung_engine *e) {
    e->count = 0;
    e->used = TICK_BYTES;
}

static bool is_tick_due(const rung_engine *e, int64_t now_ms) {
    return rung_state_next_close(e->config.state) <= now_ms;
}

static rung_status make_tick(rung_engine *e, rung_err *err) {
    rung_event tick = {.kind = RUNG_EVENT_TICK, .ts_ms = e->time_ms};
    size_t len;
    if (rung_event_encode(&tick, e->buffer, TICK_BYTES, &len) < 0)
        return rung_event_check(&tick, err);
    e->records[0] =
        (rung_log_entry){.payload = rung_slice_of(e->buffer, len), .type = RUNG_LOG_TYPE_EVENT};
    return RUNG_OK;
}

/* ---- the log's part ---- */

static rung_status sync_log(rung_engine *e, rung_err *err) {
    rung_err cause = {0};
    uint64_t durable;
    rung_status st = rung_log_sync(e->config.log, &durable, &cause);
    if (st < 0)
        return fail_for_good(e, st, &cause, err);
    e->has_unsynced = false;
    e->synced_ms = rung_clock_monotonic_ms(NULL);
    return RUNG_OK;
}

static bool is_sync_due(const rung_engine *e) {
    return e->has_unsynced &&
           rung_clock_monotonic_ms(NULL) - e->synced_ms >= (int64_t)e->config.sync_every_ms;
}

/* E1. Failures that changed nothing are returned as they are; all others end the engine's
 * writing. */
static rung_status make_durable(rung_engine *e, const rung_log_entry *records, uint32_t count,
                                rung_err *err) {
    rung_err cause = {0};
    uint64_t first;
    if (!e->config.log)
        return RUNG_OK;
    rung_status st = rung_log_append(e->config.log, records, count, &first, &cause);
    if (st == RUNG_ENOSPC || st == RUNG_ENOMEM) {
        if (err)
            *err = cause;
        return st;
    }
    if (st < 0)
        return fail_for_good(e, st, &cause, err);
    RUNG_ASSERT(first == rung_state_seq(e->config.state) + 1); /* E2 */
    e->has_unsynced = true;
    return is_sync_due(e) ? sync_log(e, err) : RUNG_OK;
}

/* After the answers are known: let the log prepare what the next appends will need. */
static rung_status maintain_log(rung_engine *e) {
    if (!e->config.log)
        return RUNG_OK;
    rung_err cause = {0};
    rung_status st = rung_log_maintain(e->config.log, false, &cause);
    if (st == RUNG_PARTIAL) {
        rung_ignore(rung_log_prepare(e->config.log, NULL),
                    "an append that lacks the space will say so itself");
        return RUNG_OK;
    }
    return st < 0 ? fail_for_good(e, st, &cause, NULL) : RUNG_OK;
}

/* ---- the state's part ---- */

static rung_status apply_tick(rung_engine *e, rung_err *err) {
    uint32_t done;
    rung_applier_payload tick = {.bytes = e->records[0].payload};
    return rung_applier_run(e->applier, 1, &tick, NULL, NULL, &done, err);
}

static rung_status apply_batch(rung_engine *e, rung_engine_answer *answer, void *ctx,
                               rung_err *err) {
    uint32_t done;
    return rung_applier_run(e->applier, e->count, e->payloads, answer, ctx, &done, err);
}

rung_status rung_engine_replay(rung_state *state, const rung_alloc *alloc,
                               const rung_log_record *records, size_t count, rung_err *err) {
    rung_applier *applier;
    rung_applier_config config = {.alloc = alloc, .state = state};
    rung_status st = rung_applier_create(&config, &applier, err);
    if (st < 0)
        return st;
    st = rung_applier_replay(applier, records, count, err);
    rung_applier_destroy(applier);
    return st;
}

/* ---- committing ---- */

/* The batch, with a tick before it or alone. */
static rung_status commit_with(rung_engine *e, bool has_tick, rung_engine_answer *answer, void *ctx,
                               rung_err *err) {
    const rung_log_entry *first = has_tick ? e->records : e->records + 1;
    rung_status st = make_durable(e, first, e->count + has_tick, err);
    if (st < 0)
        return st;
    rung_err cause = {0};
    if (has_tick)
        st = apply_tick(e, &cause);
    if (st == RUNG_OK)
        st = apply_batch(e, answer, ctx, &cause);
    if (st < 0 && e->config.log)
        return fail_for_good(e, st, &cause, err); /* E2: the log is ahead of the state */
    if (st < 0 && err)
        *err = cause;
    if (st == RUNG_OK)
        rung_ignore(maintain_log(e),
                    "these events are durable and answered; the next ones hear of it");
    return st;
}

rung_status rung_engine_commit(rung_engine *e, rung_engine_answer *answer, void *ctx,
                               rung_err *err) {
    if (e->failure.code < 0)
        return refuse_after_failure(e, err);
    if (e->count == 0)
        return RUNG_OK;
    bool has_tick = is_tick_due(e, e->time_ms);
    rung_status st = has_tick ? make_tick(e, err) : RUNG_OK;
    if (st == RUNG_OK)
        st = commit_with(e, has_tick, answer, ctx, err);
    drop_batch(e);
    return st;
}

typedef struct one_answer {
    rung_status status;
    rung_outcome *out;
    rung_err *err;
} one_answer;

static void take_answer(void *ctx, uint32_t i, rung_status st, const rung_outcome *outcome,
                        const rung_err *err) {
    one_answer *one = ctx;
    (void)i;
    one->status = st;
    if (one->out)
        *one->out = *outcome;
    if (one->err && st < 0)
        *one->err = *err;
}

rung_status rung_engine_submit(rung_engine *e, rung_event *event, rung_outcome *out,
                               rung_err *err) {
    RUNG_ASSERT(e->count == 0);
    rung_status st = rung_engine_put(e, event, err);
    if (st < 0)
        return st;
    one_answer one = {.out = out, .err = err};
    st = rung_engine_commit(e, take_answer, &one, err);
    return st < 0 ? st : one.status;
}

/* ---- upkeep ---- */

rung_status rung_engine_tick(rung_engine *e, rung_err *err) {
    RUNG_ASSERT(e->count == 0);
    if (e->failure.code < 0)
        return refuse_after_failure(e, err);
    e->time_ms = rung_clock_now(&e->config.clock);
    if (!is_tick_due(e, e->time_ms))
        return is_sync_due(e) ? sync_log(e, err) : RUNG_UNCHANGED;
    rung_status st = make_tick(e, err);
    return st < 0 ? st : commit_with(e, true, NULL, NULL, err);
}

rung_status rung_engine_sync(rung_engine *e, rung_err *err) {
    if (e->failure.code < 0)
        return refuse_after_failure(e, err);
    return e->has_unsynced ? sync_log(e, err) : RUNG_OK;
}

int64_t rung_engine_now(const rung_engine *e) {
    return rung_clock_now(&e->config.clock);
}
