/* SPDX-License-Identifier: Apache-2.0 */
/* A group gathers decoded scores until it is full, or the next event cannot join it; then it is applied as one.
 *
 * Invariants:
 *   A1  A group is up to GROUP scores of one UTC hour, or one event of another kind: only such an event can remove
 *       what an answer names, and the follower hears of every new hour before its first event is applied.
 *   A2  Applied, then told to the follower, then answered. */
#include "service/applier.h"

#include "base/assert.h"

enum {
    GROUP = 256, /* many times what the state looks ahead, small enough for the second cache */
    HOUR_MS = 3600000,
    NO_HOUR = -1
};

struct rung_applier {
    rung_applier_config config;
    int64_t hour;         /* of the last event; NO_HOUR: there was none */
    rung_zkey_sink *sink; /* of the run */
    void *sink_ctx;
    /* The group. */
    uint32_t count;
    uint32_t first; /* its first event's index in the run */
    rung_event events[GROUP];
    const rung_event *pointers[GROUP];
    rung_status statuses[GROUP];
    rung_outcome outcomes[GROUP];
    rung_err errs[GROUP];
};

rung_status rung_applier_create(const rung_applier_config *config, rung_applier **applier_out,
                                rung_err *err) {
    rung_applier *a = rung_alloc_get(config->alloc, sizeof *a);
    if (!a)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    a->config = *config;
    a->count = a->first = 0;
    a->sink = NULL;
    a->hour = NO_HOUR;
    for (uint32_t i = 0; i < GROUP; i++)
        a->pointers[i] = &a->events[i];
    *applier_out = a;
    return RUNG_OK;
}

void rung_applier_destroy(rung_applier *a) {
    if (a)
        rung_alloc_free(a->config.alloc, a, sizeof *a);
}

/* Events have times after 1900 (model/civil.h): counted from there no hour is negative. */
static int64_t hour_of(const rung_event *e) {
    return (e->ts_ms - RUNG_TIME_MS_MIN) / HOUR_MS;
}

static void look_at_the_clock(rung_applier *a, const rung_event *next) {
    const rung_hub_follower *f = a->config.follower;
    int64_t hour = hour_of(next);
    if (hour == a->hour)
        return;
    a->hour = hour;
    if (f && f->before)
        f->before(f->ctx, a->config.state, next->ts_ms);
}

static void answer_group(const rung_applier *a, uint32_t done, rung_applier_answer *answer,
                         void *ctx) {
    for (uint32_t i = 0; answer && i < done; i++)
        answer(ctx, a->first + i, a->statuses[i], &a->outcomes[i], &a->errs[i]);
}

/* How many were tried. */
static uint32_t apply_events(rung_applier *a, uint32_t count) {
    rung_state *s = a->config.state;
    if (!a->sink || a->events[0].kind != RUNG_EVENT_KEYS)
        return rung_state_apply_batch(s, count, a->pointers, a->statuses, a->outcomes, a->errs);
    a->statuses[0] = rung_state_apply_keys(s, &a->events[0], a->sink, a->sink_ctx, &a->errs[0]);
    a->outcomes[0] = (rung_outcome){.seq = rung_state_seq(s), .next_number = UINT32_MAX};
    return 1;
}

/* A2. How many of the group were applied: all, unless memory ran out at the next. */
static uint32_t apply_group(rung_applier *a, rung_applier_answer *answer, void *ctx) {
    const rung_hub_follower *f = a->config.follower;
    rung_state *s = a->config.state;
    uint64_t first_seq = rung_state_seq(s) + 1;
    uint32_t count = a->count, done = 0;
    if (count == 0)
        return 0;
    a->count = 0;
    look_at_the_clock(a, &a->events[0]);
    uint32_t tried = apply_events(a, count);
    while (done < tried && a->statuses[done] != RUNG_ENOMEM)
        done++;
    if (done && f && f->applied)
        f->applied(f->ctx, first_seq, done, a->pointers, a->statuses);
    answer_group(a, done, answer, ctx);
    return done;
}

/* A1. */
static bool may_join(const rung_applier *a, const rung_event *e) {
    const rung_event *first = &a->events[0];
    return a->count == 0 ||
           (a->count < GROUP && e->kind == RUNG_EVENT_SCORE && first->kind == RUNG_EVENT_SCORE &&
            (e->ts_ms == first->ts_ms || hour_of(e) == hour_of(first)));
}

/* Apply what has gathered; the event number `next` follows. */
static rung_status finish_group(rung_applier *a, rung_applier_answer *answer, void *ctx,
                                uint32_t next, uint32_t *done_out, rung_err *err) {
    uint32_t count = a->count, done = apply_group(a, answer, ctx);
    *done_out += done;
    a->first = next;
    if (done < count)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory at event %llu",
                         (unsigned long long)rung_state_seq(a->config.state) + 1);
    return RUNG_OK;
}

static rung_status gather(rung_applier *a, const rung_applier_payload *payload, bool is_own,
                          rung_event *into, rung_err *err) {
    rung_err why;
    rung_status st = is_own ? rung_event_decode_own(payload->bytes, into, &why)
                            : rung_event_decode(payload->bytes, into, &why);
    if (st < 0)
        return RUNG_FAIL(
            err, st == RUNG_EVERSION ? st : RUNG_ECORRUPT, "record %llu is not an event: %s",
            (unsigned long long)rung_state_seq(a->config.state) + a->count + 1, why.message);
    if (into->kind == RUNG_EVENT_SCORE)
        into->score.is_brief = payload->is_brief;
    return RUNG_OK;
}

static rung_status run(rung_applier *a, uint32_t count, const rung_applier_payload *payloads,
                       bool is_own, rung_applier_answer *answer, void *ctx, uint32_t *done_out,
                       rung_err *err) {
    rung_status st = RUNG_OK;
    *done_out = 0;
    a->count = a->first = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (a->count == GROUP && (st = finish_group(a, answer, ctx, i, done_out, err)) < 0)
            return st;
        rung_event *e = &a->events[a->count];
        rung_status decoded = gather(a, &payloads[i], is_own, e, err);
        if (decoded == RUNG_OK && may_join(a, e)) {
            a->count++;
            continue;
        }
        if ((st = finish_group(a, answer, ctx, i, done_out, err)) < 0)
            return st;
        if (decoded < 0)
            return decoded;
        a->events[a->count++] = *e; /* the first of the next group */
    }
    return finish_group(a, answer, ctx, count, done_out, err);
}

rung_status rung_applier_run(rung_applier *a, uint32_t count, const rung_applier_payload *payloads,
                             rung_applier_answer *answer, void *ctx, uint32_t *done_out,
                             rung_err *err) {
    return run(a, count, payloads, true, answer, ctx, done_out, err);
}

rung_status rung_applier_run_keys(rung_applier *a, rung_slice payload, rung_zkey_sink *sink,
                                  rung_applier_answer *answer, void *ctx, void *answer_ctx,
                                  uint32_t *done_out, rung_err *err) {
    a->sink = sink;
    a->sink_ctx = ctx;
    rung_status st =
        run(a, 1, &(rung_applier_payload){payload, false}, true, answer, answer_ctx, done_out, err);
    a->sink = NULL;
    return st;
}

static rung_status check_record(const rung_log_record *r, uint64_t seq, rung_err *err) {
    if (r->seq != seq)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "record %llu follows state %llu",
                         (unsigned long long)r->seq, (unsigned long long)(seq - 1));
    if (r->type != RUNG_LOG_TYPE_EVENT)
        return RUNG_FAIL(err, RUNG_EVERSION,
                         "record %llu is of type %u, which this version does not know",
                         (unsigned long long)r->seq, (unsigned)r->type);
    return RUNG_OK;
}

rung_status rung_applier_replay(rung_applier *a, const rung_log_record *records, size_t count,
                                rung_err *err) {
    enum { CHUNK = 8 * GROUP };
    rung_applier_payload payloads[CHUNK];
    for (size_t i = 0, n; i < count; i += n) {
        uint64_t seq = rung_state_seq(a->config.state) + 1;
        uint32_t done;
        rung_status st = RUNG_OK;
        for (n = 0; n < CHUNK && i + n < count; n++) {
            st = check_record(&records[i + n], seq + n, err);
            if (st < 0)
                return st;
            payloads[n] = (rung_applier_payload){records[i + n].payload, true};
        }
        st = run(a, (uint32_t)n, payloads, false, NULL, NULL, &done, err);
        if (st < 0)
            return st;
    }
    return RUNG_OK;
}
