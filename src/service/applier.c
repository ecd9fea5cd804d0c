/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded scores form a group until it is full or the next event cannot join. Then the group is applied.
 *
 * Invariants:
 *   A1  A group is up to GROUP scores of one UTC hour, or one event of another kind: only such an event can remove
 *       what an answer names, and the follower is told of a new hour before its first event is applied.
 *   A2  Apply, then tell the follower, then answer.
 *   A3  A void record moves the sequence on, and changes nothing else.
 *   A4  A group ends at a checkpoint, so the digest there is that of exactly this sequence. A report is no member of a
 *       group. */
#include "service/applier.h"

#include <stdio.h>

enum {
    GROUP = 256, /* many times the state's look-ahead, and fits L2 */
    HOUR_MS = 3600000,
    NO_HOUR = -1
};

struct rung_applier {
    rung_applier_config config;
    int64_t hour;         /* of the last event */
    uint64_t weight;      /* of all events, beyond their number */
    rung_zkey_sink *sink; /* while an event with one is applied */
    void *sink_ctx;
    /* The group. */
    uint32_t count;
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
    a->count = 0;
    a->weight = 0;
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

uint64_t rung_applier_weight(const rung_applier *a) {
    return a->weight;
}

/* Never negative: event times are after 1900 (model/civil.h). */
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

/* Returns how many were tried. A single event gains nothing from the look-ahead. */
static uint32_t apply_events(rung_applier *a, uint32_t count) {
    rung_state *s = a->config.state;
    if (count > 1)
        return rung_state_apply_batch(s, count, a->pointers, a->statuses, a->outcomes, a->errs);
    if (a->sink && a->events[0].kind == RUNG_EVENT_KEYS) {
        a->statuses[0] = rung_state_apply_keys(s, &a->events[0], a->sink, a->sink_ctx, &a->errs[0]);
        a->outcomes[0] = (rung_outcome){.seq = rung_state_seq(s), .next_number = UINT32_MAX};
    } else {
        a->statuses[0] = rung_state_apply(s, &a->events[0], &a->outcomes[0], &a->errs[0]);
    }
    return 1;
}

/* Does the record before the one at `ahead` end a group? */
static inline bool is_checkpoint(const rung_applier *a, uint32_t ahead) {
    return a->config.nodes &&
           rung_nodes_is_checkpoint(a->config.nodes, rung_state_seq(a->config.state) + ahead);
}

static void take_checkpoint(rung_applier *a) {
    const rung_state *s = a->config.state;
    if (is_checkpoint(a, 0))
        rung_nodes_checkpoint(a->config.nodes, rung_state_seq(s), rung_state_digest(s));
}

/* A2 for matches, whose results are there until the next one is applied: one at a time, each answered at once. */
static rung_status finish_matches(rung_applier *a, uint64_t first_seq, uint32_t count,
                                  rung_err *err) {
    const rung_hub_follower *f = a->config.follower;
    rung_state *s = a->config.state;
    rung_state_foresee(s, count, a->pointers);
    for (uint32_t i = 0; i < count; i++) {
        if (i && f && f->prepare)
            f->prepare(f->ctx, s, first_seq + i, &a->events[i]);
        rung_status st = rung_state_apply(s, &a->events[i], &a->outcomes[i], &a->errs[i]);
        if (st == RUNG_ENOMEM)
            return RUNG_FAIL(err, st, "out of memory at event %llu",
                             (unsigned long long)first_seq + i);
        if (f && f->applied)
            f->applied(f->ctx, first_seq + i, 1, &a->pointers[i], &st, &a->outcomes[i]);
        if (i + 1 == count)
            take_checkpoint(a);
        if (a->config.answer)
            a->config.answer(a->config.ctx, st, &a->outcomes[i], &a->errs[i]);
    }
    return RUNG_OK;
}

/* A2. */
rung_status rung_applier_finish(rung_applier *a, rung_err *err) {
    const rung_hub_follower *f = a->config.follower;
    uint64_t first_seq = rung_state_seq(a->config.state) + 1;
    uint32_t count = a->count, done = 0;
    if (count == 0)
        return RUNG_OK;
    a->count = 0;
    look_at_the_clock(a, &a->events[0]);
    if (a->events[0].kind != RUNG_EVENT_SCORE && f && f->prepare)
        f->prepare(f->ctx, a->config.state, first_seq, &a->events[0]);
    if (a->events[0].kind == RUNG_EVENT_MATCH)
        return finish_matches(a, first_seq, count, err);
    uint32_t tried = apply_events(a, count);
    while (done < tried && a->statuses[done] != RUNG_ENOMEM)
        done++;
    if (done && f && f->applied)
        f->applied(f->ctx, first_seq, done, a->pointers, a->statuses, a->outcomes);
    take_checkpoint(a);
    for (uint32_t i = 0; a->config.answer && i < done; i++)
        a->config.answer(a->config.ctx, a->statuses[i], &a->outcomes[i], &a->errs[i]);
    return done == count ? RUNG_OK
                         : RUNG_FAIL(err, RUNG_ENOMEM, "out of memory at event %llu",
                                     (unsigned long long)first_seq + done);
}

/* A1. */
static bool may_join(const rung_applier *a, const rung_event *e) {
    const rung_event *first = &a->events[0];
    bool may_be_many = e->kind == RUNG_EVENT_SCORE || e->kind == RUNG_EVENT_MATCH;
    return a->count == 0 || (may_be_many && e->kind == first->kind &&
                             (e->ts_ms == first->ts_ms || hour_of(e) == hour_of(first)));
}

typedef struct place {
    char text[64];
} place;

/* Operators look for a record of a topic by its offset. */
static place place_of(const rung_applier *a, uint64_t seq) {
    place p;
    int len = snprintf(p.text, sizeof p.text, "record %llu", (unsigned long long)seq);
    if (a->config.is_shared)
        snprintf(p.text + len, sizeof p.text - (size_t)len, " (offset %llu of the topic)",
                 (unsigned long long)seq - 1);
    return p;
}

/* Apply the events before it, then decode again for the reason. Rare, so not inlined. */
__attribute__((noinline)) static rung_status refuse(rung_applier *a, rung_slice payload,
                                                    rung_err *err) {
    rung_err why = {0};
    rung_status st = rung_applier_finish(a, err);
    if (st < 0)
        return st;
    st = rung_event_decode(payload, &a->events[0], &why);
    return RUNG_FAIL(err, st == RUNG_EVERSION ? st : RUNG_ECORRUPT, "%s is not an event: %s",
                     place_of(a, rung_state_seq(a->config.state) + 1).text, why.message);
}

static inline rung_status add(rung_applier *a, rung_slice payload, bool is_own, bool is_brief,
                              rung_err *err) {
    bool is_full = a->count == GROUP || (a->count && is_checkpoint(a, a->count)); /* A4 */
    rung_status st = is_full ? rung_applier_finish(a, err) : RUNG_OK;
    if (st < 0)
        return st;
    rung_event *e = &a->events[a->count];
    st = is_own ? rung_event_decode_own(payload, e, NULL) : rung_event_decode(payload, e, NULL);
    if (st < 0)
        return refuse(a, payload, err);
    if (e->kind == RUNG_EVENT_SCORE)
        e->score.is_brief = is_brief;
    else
        a->weight += rung_event_weight(e) - 1;
    if (!may_join(a, e)) {
        st = rung_applier_finish(a, err);
        if (st < 0)
            return st;
        a->events[0] = *e;
    }
    a->count++;
    return RUNG_OK;
}

rung_status rung_applier_add(rung_applier *a, rung_slice payload, bool is_brief, rung_err *err) {
    return add(a, payload, true, is_brief, err);
}

static rung_status check_record(const rung_applier *a, const rung_log_record *r, uint64_t seq,
                                rung_err *err) {
    if (r->seq != seq)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "record %llu follows state %llu",
                         (unsigned long long)r->seq, (unsigned long long)(seq - 1));
    if (r->type == RUNG_LOG_TYPE_LOST)
        return RUNG_FAIL(err, RUNG_ECORRUPT,
                         "%s is not in this log, which was copied with a snapshot: fill the data "
                         "folder with rung join",
                         place_of(a, seq).text);
    if (r->type != RUNG_LOG_TYPE_EVENT && r->type != RUNG_LOG_TYPE_VOID &&
        r->type != RUNG_LOG_TYPE_REPORT)
        return RUNG_FAIL(err, RUNG_EVERSION, "%s is of type %u, which this version does not know",
                         place_of(a, seq).text, (unsigned)r->type);
    return RUNG_OK;
}

static void tell_passed(rung_applier *a, uint64_t seq) {
    const rung_hub_follower *f = a->config.follower;
    const rung_outcome nothing = {.seq = seq, .next_number = UINT32_MAX};
    if (f && f->passed)
        f->passed(f->ctx, seq);
    if (a->config.answer)
        a->config.answer(a->config.ctx, RUNG_UNCHANGED, &nothing, NULL);
}

/* A3. */
static rung_status add_void(rung_applier *a, rung_err *err) {
    rung_status st = rung_applier_finish(a, err);
    if (st < 0)
        return st;
    rung_state_pass(a->config.state);
    take_checkpoint(a);
    tell_passed(a, rung_state_seq(a->config.state));
    return RUNG_OK;
}

/* A4. The servers' vote may be that this state is wrong; then nobody is answered. */
static rung_status pass_over(rung_applier *a, rung_slice payload, rung_err *err) {
    rung_state *s = a->config.state;
    rung_nodes *nodes = a->config.nodes;
    rung_node_report report;
    rung_err why = {0};
    rung_status st = rung_applier_finish(a, err);
    if (st < 0)
        return st;
    uint64_t seq = rung_state_seq(s) + 1;
    st = rung_node_report_decode(payload, &report, &why);
    if (st < 0)
        return RUNG_FAIL(err, st, "%s is not a report: %.150s", place_of(a, seq).text, why.message);
    rung_state_pass(s);
    if (nodes)
        rung_nodes_hear(nodes, seq, &report, rung_state_digest(s));
    if (nodes && rung_nodes_divergence(nodes))
        return rung_divergence_fail(rung_nodes_divergence(nodes), err);
    tell_passed(a, seq);
    return RUNG_OK;
}

rung_status rung_applier_add_record(rung_applier *a, const rung_log_record *record, rung_err *err) {
    rung_err why;
    uint64_t seq = rung_state_seq(a->config.state) + a->count + 1;
    if (check_record(a, record, seq, &why) == RUNG_OK)
        return record->type == RUNG_LOG_TYPE_VOID     ? add_void(a, err)
               : record->type == RUNG_LOG_TYPE_REPORT ? pass_over(a, record->payload, err)
                                                      : add(a, record->payload, false, true, err);
    rung_status st = rung_applier_finish(a, err);
    if (st == RUNG_OK && err)
        *err = why;
    return st < 0 ? st : why.code;
}

rung_status rung_applier_run_keys(rung_applier *a, rung_slice payload, rung_zkey_sink *sink,
                                  void *ctx, rung_err *err) {
    rung_status st = rung_applier_add(a, payload, false, err);
    if (st < 0)
        return st;
    a->sink = sink;
    a->sink_ctx = ctx;
    st = rung_applier_finish(a, err);
    a->sink = NULL;
    return st;
}

rung_status rung_applier_replay(rung_applier *a, const rung_log_record *records, size_t count,
                                rung_err *err) {
    rung_status st = RUNG_OK;
    for (size_t i = 0; i < count && st == RUNG_OK; i++)
        st = rung_applier_add_record(a, &records[i], err);
    return st < 0 ? st : rung_applier_finish(a, err);
}
