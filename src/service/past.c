/* SPDX-License-Identifier: Apache-2.0 */
/* The moment becomes a sequence, the newest snapshot at or before it is loaded, and the records up to it are applied.
 *
 * Invariants:
 *   Q1  The state is that of exactly the records 1 to its sequence: applied by the same code as everywhere, from a
 *       snapshot whose digest was checked.
 *   Q2  A snapshot helps only if the log has all records from there to the moment. */
#include "service/past.h"

#include "journal/snapshot_file.h"
#include "model/calendar.h"
#include "service/applier.h"
#include "service/store.h"

#include <stdio.h>

enum { RECORDS = 1024, SNAPSHOTS_MAX = 4096 };

struct rung_past {
    rung_past_config config;
    rung_past_log *log;
    rung_alloc_meter meter;
    rung_state *state;
    rung_applier *applier;
    rung_log_record *records;
    int64_t now_ms;
    rung_movers *movers;      /* NULL: none are asked for */
    rung_hub_follower eraser; /* tells them who was erased since */
    bool is_forgetful;        /* and had no memory for it */
    rung_worker *worker;      /* loads a part of the snapshot */
    void (*work)(void *arg);
    void *work_arg;
    bool is_stopped; /* progress said so */
};

rung_status rung_moment_parse(rung_slice text, rung_moment *moment_out, rung_err *err) {
    uint64_t seq = 0;
    size_t i = 0;
    while (i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9') {
        if (__builtin_mul_overflow(seq, 10, &seq) ||
            __builtin_add_overflow(seq, (uint64_t)(text.ptr[i] - '0'), &seq))
            return RUNG_FAIL_FIELD(err, RUNG_ERANGE, "as_of", "the sequence is too large");
        i++;
    }
    if (text.len > 0 && i == text.len) {
        *moment_out = (rung_moment){.seq = seq};
        return seq ? RUNG_OK : RUNG_FAIL_FIELD(err, RUNG_EINVAL, "as_of", "sequences begin at 1");
    }
    rung_moment m = {0};
    rung_err why = {0};
    rung_status st = rung_time_parse(text, &m.time_ms, &why);
    if (st < 0)
        return RUNG_FAIL_FIELD(err, st, "as_of",
                               "expected a sequence or a time such as 2026-11-15T14:00:00Z");
    *moment_out = m;
    return RUNG_OK;
}

/* ---- progress ---- */

static rung_status tell(rung_past *p, const char *what, uint64_t done, uint64_t total,
                        rung_err *err) {
    if (p->config.progress && !p->config.progress(p->config.ctx, what, done, total))
        p->is_stopped = true;
    return p->is_stopped ? RUNG_FAIL(err, RUNG_ECLOSED, "given up on request") : RUNG_OK;
}

static void tell_snapshot(void *ctx, uint64_t done, uint64_t total) {
    rung_ignore(tell(ctx, "snapshot", done, total, NULL), "looked at when it is loaded");
}

/* ---- what there is ---- */

typedef struct snapshots {
    uint64_t seqs[SNAPSHOTS_MAX]; /* newest first */
    size_t count;
} snapshots;

/* Q2. The oldest sequence whose state can be built; 0: that of the empty log. */
static rung_status find_oldest(const rung_past_log *log, snapshots *s, uint64_t *seq_out,
                               rung_err *err) {
    uint64_t first = rung_past_log_first(log);
    rung_status st =
        rung_snapshot_list(rung_past_log_dir(log), s->seqs, SNAPSHOTS_MAX, &s->count, err);
    if (st < 0)
        return st;
    *seq_out = first == 1 ? 0 : UINT64_MAX;
    for (size_t i = 0; first > 1 && i < s->count; i++)
        if (s->seqs[i] + 1 >= first)
            *seq_out = s->seqs[i];
    return RUNG_OK;
}

static rung_status fill_span(rung_past_log *log, uint64_t oldest, rung_past_span *span_out,
                             rung_err *err) {
    rung_past_span span = {.first_seq = oldest ? oldest : 1, .last_seq = rung_past_log_last(log)};
    uint64_t first = rung_past_log_first(log);
    rung_status st = RUNG_NOT_FOUND;
    if (oldest != UINT64_MAX)
        st = rung_past_log_time(log, span.first_seq > first ? span.first_seq : first,
                                &span.first_ms, err);
    *span_out = span;
    return st < 0 ? st : RUNG_OK;
}

rung_status rung_past_look(const rung_past_log_config *config, rung_past_span *span_out,
                           rung_err *err) {
    rung_past_log *log;
    uint64_t oldest;
    snapshots *s = rung_alloc_get(config->alloc, sizeof *s);
    if (!s)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    rung_status st = rung_past_log_open(config, &log, err);
    if (st == RUNG_OK) {
        st = find_oldest(log, s, &oldest, err);
        if (st == RUNG_OK)
            st = fill_span(log, oldest, span_out, err);
        rung_past_log_close(log);
    }
    rung_alloc_free(config->alloc, s, sizeof *s);
    return st;
}

static rung_status too_old(rung_past *p, uint64_t oldest, rung_past_span *span_out, rung_err *err) {
    char text[RUNG_TIME_TEXT_MAX] = "";
    rung_past_span span;
    rung_status st = fill_span(p->log, oldest, &span, err);
    if (st < 0)
        return st;
    if (span_out)
        *span_out = span;
    if (oldest == UINT64_MAX)
        return RUNG_FAIL_FIELD_WHY(err, RUNG_EABSENT, RUNG_REASON_TOO_OLD, "as_of",
                                   "there is no snapshot that the log goes on from");
    if (span.first_ms >= RUNG_TIME_MS_MIN && span.first_ms < RUNG_TIME_MS_END)
        rung_time_format(span.first_ms, text);
    return RUNG_FAIL_FIELD_WHY(err, RUNG_EABSENT, RUNG_REASON_TOO_OLD, "as_of",
                               "the kept log does not reach back so far; the oldest moment is "
                               "sequence %llu (%s)",
                               (unsigned long long)span.first_seq, text);
}

/* ---- the snapshot ---- */

static uint32_t step(void *arg, bool is_stopping) {
    const rung_past *p = arg;
    (void)is_stopping;
    p->work(p->work_arg);
    return RUNG_WORKER_END;
}

static bool begin_help(void *ctx, void (*work)(void *arg), void *arg) {
    rung_past *p = ctx;
    p->work = work;
    p->work_arg = arg;
    return rung_worker_start(p->config.threads, p->config.log.alloc, step, p, &p->worker, NULL) ==
           RUNG_OK;
}

static void wait_for_help(void *ctx) {
    rung_past *p = ctx;
    rung_worker_stop(p->worker);
    p->worker = NULL;
}

static rung_state_config state_config(rung_past *p) {
    const rung_hub_follower *f = p->config.follower;
    return (rung_state_config){.alloc = &p->meter.port,
                               .hash_key = p->config.hash_key,
                               .on_close = f ? f->on_close : NULL,
                               .on_close_ctx = f ? f->ctx : NULL};
}

static rung_status load(rung_past *p, uint64_t seq, rung_err *err) {
    rung_snapshot_reader *reader;
    rung_state_config config = state_config(p);
    rung_save_progress progress = {.tell = tell_snapshot, .ctx = p};
    rung_load_helper beside = {p, begin_help, wait_for_help};
    rung_status st = rung_snapshot_reader_open(rung_past_log_dir(p->log), p->config.log.alloc,
                                               rung_past_log_id(p->log), seq, &reader, err);
    if (st != RUNG_OK)
        return st;
    st = rung_store_load_snapshot(reader, &config, &progress,
                                  rung_alloc_is_shared(config.alloc) ? &beside : NULL, &p->state,
                                  err);
    rung_snapshot_reader_close(reader);
    return st;
}

/* The newest whole snapshot at or before `seq`, or the empty state. A server may remove one while we look. */
static rung_status load_nearest(rung_past *p, uint64_t seq, const snapshots *s,
                                rung_past_span *span_out, rung_err *err) {
    rung_status st;
    for (size_t i = 0; i < s->count; i++) {
        if (s->seqs[i] > seq || (s->seqs[i] + 1 < rung_past_log_first(p->log) && s->seqs[i] < seq))
            continue;
        st = load(p, s->seqs[i], err);
        if (st == RUNG_OK && p->is_stopped)
            return tell(p, "snapshot", 1, 1, err);
        if (st != RUNG_ECORRUPT && st != RUNG_NOT_FOUND)
            return st;
    }
    if (rung_past_log_first(p->log) > 1)
        return too_old(p, UINT64_MAX, span_out, err);
    rung_state_config config = state_config(p);
    st = rung_state_create(&config, &p->state);
    return st < 0 ? RUNG_FAIL(err, st, "out of memory") : RUNG_OK;
}

/* ---- the log ---- */

static rung_status ended(const rung_past *p, uint64_t seq, rung_err *err) {
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "as_of", "the log ends at %llu, before %llu",
                           (unsigned long long)rung_past_log_last(p->log), (unsigned long long)seq);
}

/* `*seq_out` is the moment's last record. */
static rung_status resolve(rung_past *p, const rung_moment *moment, uint64_t *seq_out,
                           rung_err *err) {
    if (moment->seq) {
        *seq_out = moment->seq;
        if (moment->seq <= rung_past_log_last(p->log))
            return RUNG_OK;
        rung_status st = rung_past_log_refresh(p->log, err);
        if (st < 0)
            return st;
        return moment->seq <= rung_past_log_last(p->log) ? RUNG_OK : ended(p, moment->seq, err);
    }
    if (p->config.now_ms && moment->time_ms > p->config.now_ms)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "as_of", "the time is in the future");
    rung_status st = tell(p, "time", 0, 1, err);
    if (st == RUNG_OK)
        st = rung_past_log_find(p->log, moment->time_ms, seq_out, err);
    return st;
}

static rung_status replay(rung_past *p, uint64_t to, rung_err *err) {
    uint64_t from = rung_state_seq(p->state);
    rung_status st = RUNG_OK;
    rung_past_log_seek(p->log, from + 1);
    while (st == RUNG_OK && rung_state_seq(p->state) < to) {
        uint64_t left = to - rung_state_seq(p->state);
        size_t count;
        st = rung_past_log_read(p->log, p->records, left < RECORDS ? (size_t)left : RECORDS, &count,
                                err);
        if (st == RUNG_NOT_FOUND)
            return ended(p, to, err);
        if (st == RUNG_OK)
            st = rung_applier_replay(p->applier, p->records, count, err);
        if (st == RUNG_OK)
            st = tell(p, "log", rung_state_seq(p->state) - from, to - from, err);
    }
    return st;
}

static void set_now(rung_past *p, const rung_moment *moment) {
    int64_t log_ms = rung_state_time(p->state);
    p->now_ms = moment->seq || log_ms > moment->time_ms ? log_ms : moment->time_ms;
}

rung_status rung_past_advance(rung_past *p, const rung_moment *to, rung_err *err) {
    uint64_t seq;
    rung_status st = rung_past_log_refresh(p->log, err);
    if (st == RUNG_OK)
        st = resolve(p, to, &seq, err);
    if (st == RUNG_OK && seq < rung_state_seq(p->state))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "as_of", "the state is already further, at %llu",
                               (unsigned long long)rung_state_seq(p->state));
    if (st == RUNG_OK)
        st = replay(p, seq, err);
    if (st == RUNG_OK)
        set_now(p, to);
    return st;
}

/* ---- opening ---- */

static void note_erased(void *ctx, uint64_t first_seq, uint32_t count,
                        const rung_event *const *events, const rung_status *statuses,
                        const rung_outcome *outcomes) {
    rung_past *p = ctx;
    (void)first_seq, (void)outcomes, (void)statuses; /* an erasure of nobody erases nobody */
    for (uint32_t i = 0; p->movers && i < count; i++)
        if (events[i]->kind == RUNG_EVENT_PLAYER_ERASED &&
            rung_movers_erase(p->movers, events[i]->erased.player) < 0)
            p->is_forgetful = true;
}

static rung_status start_applier(rung_past *p, rung_err *err) {
    const rung_alloc *a = p->config.log.alloc;
    p->eraser = (rung_hub_follower){.ctx = p, .applied = note_erased};
    rung_applier_config config = {.alloc = a,
                                  .state = p->state,
                                  .follower =
                                      p->config.moment.since_ms ? &p->eraser : p->config.follower,
                                  .is_shared = p->config.log.log != NULL};
    p->records = rung_alloc_get(a, RECORDS * sizeof *p->records);
    if (!p->records)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    return rung_applier_create(&config, &p->applier, err);
}

/* The time so long before the moment, and the last record until then: 0 if that is before the first one ever. */
static rung_status find_since(rung_past *p, uint64_t seq, int64_t *time_ms_out, uint64_t *seq_out,
                              rung_err *err) {
    const rung_moment *m = &p->config.moment;
    int64_t time_ms = m->time_ms;
    rung_status st = RUNG_OK;
    if (m->seq)
        st = rung_past_log_time(p->log, seq, &time_ms, err);
    if (st < 0)
        return st;
    *time_ms_out = time_ms - m->since_ms;
    st = rung_past_log_find(p->log, *time_ms_out, seq_out, err);
    if (st == RUNG_OK && *seq_out > seq)
        *seq_out = seq;
    return st;
}

/* At the earlier moment: keep the ranks. */
static rung_status keep_ranks(rung_past *p, uint64_t seq, int64_t time_ms, rung_err *err) {
    rung_status st = replay(p, seq, err);
    if (st < 0)
        return st;
    return rung_movers_create(&p->meter.port, &p->config.hash_key, p->state, time_ms, &p->movers,
                              err);
}

static rung_status build(rung_past *p, snapshots *s, rung_past_span *span_out, rung_err *err) {
    uint64_t seq = 0, first = 0, oldest = 0;
    int64_t since_ms = 0;
    rung_status st = resolve(p, &p->config.moment, &seq, err);
    first = seq;
    if (st == RUNG_OK)
        st = find_oldest(p->log, s, &oldest, err);
    if (st == RUNG_OK && p->config.moment.since_ms)
        st = find_since(p, seq, &since_ms, &first, err);
    if (st < 0)
        return st;
    if (oldest == UINT64_MAX || first < oldest || (seq == 0 && !p->config.may_be_empty))
        return too_old(p, oldest, span_out, err);
    st = load_nearest(p, first, s, span_out, err);
    if (st == RUNG_OK)
        st = start_applier(p, err);
    if (st == RUNG_OK && p->config.moment.since_ms)
        st = keep_ranks(p, first, since_ms, err);
    if (st == RUNG_OK)
        st = replay(p, seq, err);
    if (st == RUNG_OK && p->is_forgetful)
        st = RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    if (st == RUNG_ESTALE) /* what we were about to read was removed */
        return too_old(p, oldest, span_out, err);
    if (st == RUNG_OK)
        set_now(p, &p->config.moment);
    return st == RUNG_OK && span_out ? fill_span(p->log, oldest, span_out, err) : st;
}

static rung_status explain_memory(const rung_past *p, rung_status st, rung_err *err) {
    if (st != RUNG_ENOMEM || !p->meter.max)
        return st;
    return RUNG_FAIL(err, st, "the state of that moment needs more than %llu bytes of memory",
                     (unsigned long long)p->meter.max);
}

rung_status rung_past_open(const rung_past_config *config, rung_past **past_out,
                           rung_past_span *span_out, rung_err *err) {
    const rung_alloc *a = config->log.alloc;
    rung_past *p = rung_alloc_zeroed(a, sizeof *p);
    snapshots *s = rung_alloc_get(a, sizeof *s);
    rung_status st = p && s ? RUNG_OK : RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    if (st == RUNG_OK) {
        p->config = *config;
        rung_alloc_meter_init(&p->meter, a);
        p->meter.max = config->memory_max;
        st = rung_past_log_open(&config->log, &p->log, err);
    }
    if (st == RUNG_OK)
        st = explain_memory(p, build(p, s, span_out, err), err);
    rung_alloc_free(a, s, sizeof *s);
    if (st < 0) {
        if (p && p->config.log.alloc)
            rung_past_close(p);
        else
            rung_alloc_free(a, p, sizeof *p);
        return st;
    }
    *past_out = p;
    return RUNG_OK;
}

void rung_past_close(rung_past *p) {
    if (!p)
        return;
    const rung_alloc *a = p->config.log.alloc;
    rung_applier_destroy(p->applier);
    if (p->records)
        rung_alloc_free(a, p->records, RECORDS * sizeof *p->records);
    rung_movers_destroy(p->movers);
    rung_state_destroy(p->state);
    rung_past_log_close(p->log);
    rung_alloc_free(a, p, sizeof *p);
}

rung_state *rung_past_state(const rung_past *p) {
    return p->state;
}

int64_t rung_past_now(const rung_past *p) {
    return p->now_ms;
}

const rung_movers *rung_past_movers(const rung_past *p) {
    return p->movers;
}

uint64_t rung_past_memory(const rung_past *p) {
    return p->meter.used;
}

rung_past_log *rung_past_log_of(const rung_past *p) {
    return p->log;
}
