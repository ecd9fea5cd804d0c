/* SPDX-License-Identifier: Apache-2.0 */
/* The log is read twice: backwards in growing spans, only to count, until enough submissions are found; then forwards,
 * from the state before them.
 *
 * Invariants:
 *   T1  The state has applied exactly the records up to its sequence; submissions of other boards only moved its time.
 *   T2  The definition of the board in that state has the judging of the spec, also after the board was redefined.
 *   T3  result.judged = counted + flagged + tentative + refused + duplicates + other, and is at most trial_last. */
#include "service/trial.h"

#include "model/calendar.h"
#include "service/applier.h"
#include "state/replay.h"

#include <string.h>

enum { RECORDS = 1024, STEP_RECORDS = 1 << 16, SPAN_MIN = 1 << 16 };

const char *const rung_trial_words[] = {"flagged", "tentative", "refused", NULL};

struct rung_trial {
    const rung_alloc *alloc;
    const rung_replay_spec *spec;
    rung_past *past;
    uint64_t end_seq;
    uint64_t skip;   /* submissions before those that are counted */
    uint32_t newest; /* of the ring of examples */
    rung_trial_result result;
    rung_log_record records[RECORDS];
};

/* ---- where to begin ---- */

static bool is_submission(const rung_trial *t, const rung_log_record *record, rung_event *e) {
    return record->type == RUNG_LOG_TYPE_EVENT &&
           rung_event_decode(record->payload, e, NULL) == RUNG_OK && e->kind == RUNG_EVENT_SCORE &&
           rung_slice_eq(e->score.board, t->spec->board);
}

/* How many submissions the records from `from` to the end have. */
static rung_status count_from(rung_trial *t, rung_past_log *log, uint64_t from, uint64_t *count_out,
                              rung_err *err) {
    rung_event e;
    uint64_t seq = from - 1;
    size_t n;
    rung_status st = RUNG_OK;
    *count_out = 0;
    rung_past_log_seek(log, from);
    while (seq < t->end_seq) {
        st = rung_past_log_read(log, t->records, RECORDS, &n, err);
        if (st != RUNG_OK)
            break;
        for (size_t i = 0; i < n && t->records[i].seq <= t->end_seq; i++)
            *count_out += is_submission(t, &t->records[i], &e);
        seq = t->records[n - 1].seq;
    }
    return st < 0 ? st : RUNG_OK;
}

/* The first record that is folded, so that there are twice as many submissions as asked for: the first half is what
 * rules learn from. */
static rung_status find_start(rung_trial *t, rung_past_log *log, uint64_t oldest,
                              uint64_t *from_out, uint64_t *count_out, rung_err *err) {
    uint64_t want = 2 * (uint64_t)t->spec->trial_last, span = SPAN_MIN, count = 0, from;
    for (;;) {
        from = t->end_seq >= oldest + span ? t->end_seq - span + 1 : oldest;
        rung_status st = count_from(t, log, from, &count, err);
        if (st < 0)
            return st;
        if (count >= want || from == oldest || span >= RUNG_TRIAL_RECORDS_MAX)
            break;
        span = span * 4 < RUNG_TRIAL_RECORDS_MAX ? span * 4 : RUNG_TRIAL_RECORDS_MAX;
    }
    t->skip = count > t->spec->trial_last ? count - t->spec->trial_last : 0;
    t->result.is_complete = count >= t->spec->trial_last;
    *from_out = from;
    *count_out = count;
    return RUNG_OK;
}

/* ---- the state there ---- */

/* T2: what is asked about, in the definition that the board has there. */
static void take_judging(const rung_trial *t, rung_board_def *def) {
    const rung_board_def *wanted = t->spec->def;
    def->limits = wanted->limits;
    def->min = wanted->min;
    def->max = wanted->max;
    def->max_step = wanted->max_step;
    def->per_player_per_minute = wanted->per_player_per_minute;
    def->z_score = wanted->z_score;
    def->rule_count = wanted->rule_count;
    memcpy(def->rules, wanted->rules, sizeof def->rules);
    def->review = wanted->review;
    def->review_top = wanted->review_top;
}

static rung_status redefine(rung_trial *t, rung_err *err) {
    rung_state *s = rung_past_state(t->past);
    const rung_board_def *there;
    if (rung_state_board(s, t->spec->board, &there) != RUNG_OK)
        return RUNG_OK; /* it will be created */
    rung_board_def def = *there;
    take_judging(t, &def);
    rung_status st = rung_state_redefine(s, t->spec->board, &def, err);
    return st < 0 ? st : RUNG_OK;
}

static rung_status open_past(rung_trial *t, const rung_replay_source_config *config, uint64_t from,
                             rung_err *err) {
    rung_past_config past = {.log = config->log,
                             .moment = {.seq = from - 1},
                             .memory_max = config->memory_max,
                             .hash_key = config->hash_key,
                             .threads = config->threads,
                             .may_be_empty = true};
    if (from == 1) /* before everything */
        past.moment = (rung_moment){.time_ms = RUNG_TIME_MS_MIN - 1};
    rung_status st = rung_past_open(&past, &t->past, NULL, err);
    if (st < 0)
        t->past = NULL;
    return st < 0 ? st : redefine(t, err);
}

static rung_status begin(rung_trial *t, const rung_replay_source_config *config, rung_err *err) {
    rung_past_span span;
    rung_past_log *log;
    uint64_t from = 0, count = 0;
    rung_status st = rung_past_look(&config->log, &span, err);
    if (st == RUNG_OK && span.first_seq == UINT64_MAX)
        return RUNG_FAIL_FIELD_WHY(err, RUNG_EABSENT, RUNG_REASON_TOO_OLD, "last",
                                   "there is no snapshot that the log goes on from");
    if (st == RUNG_OK)
        st = rung_past_log_open(&config->log, &log, err);
    if (st < 0)
        return st;
    t->end_seq = rung_past_log_last(log);
    /* The state after the oldest moment is the first that a submission can be applied to. */
    uint64_t oldest = rung_past_log_first(log) == 1 ? 1 : span.first_seq + 1;
    if (oldest <= t->end_seq)
        st = find_start(t, log, oldest, &from, &count, err);
    rung_past_log_close(log);
    t->result.is_complete |= oldest == 1;
    if (st < 0 || !count) { /* nothing to judge */
        t->end_seq = 0;
        return st;
    }
    return open_past(t, config, from, err);
}

rung_status rung_trial_open(const rung_replay_source_config *config, const rung_replay_spec *spec,
                            rung_trial **out, rung_err *err) {
    rung_trial *t = rung_alloc_zeroed(config->log.alloc, sizeof *t);
    if (!t)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    t->alloc = config->log.alloc;
    t->spec = spec;
    rung_status st = begin(t, config, err);
    if (st == RUNG_ESTALE)
        st = RUNG_FAIL_FIELD_WHY(err, RUNG_EABSENT, RUNG_REASON_TOO_OLD, "last",
                                 "the log was removed while it was read");
    if (st < 0) {
        rung_trial_close(t);
        return st;
    }
    *out = t;
    return RUNG_OK;
}

void rung_trial_close(rung_trial *t) {
    if (!t)
        return;
    rung_past_close(t->past);
    rung_alloc_free(t->alloc, t, sizeof *t);
}

/* ---- judging ---- */

/* Which rules of the definition the findings stand for: both are in the same order. */
static uint32_t broken_rules(const rung_board_def *def, const rung_judgement *j) {
    uint32_t bits = 0, at = 0;
    for (uint32_t i = 0; i < j->finding_count; i++) {
        const rung_finding *f = &j->findings[i];
        while (at < def->rule_count &&
               !(def->rules[at].rule == (rung_rule)f->rule && def->rules[at].value.i == f->limit.i))
            at++;
        if (at < def->rule_count)
            bits |= 1u << at++;
    }
    return bits;
}

static bool is_top(const rung_judgement *j) {
    return j->finding_count && j->findings[j->finding_count - 1].rule == RUNG_RULE_TOP;
}

static void note_example(rung_trial *t, uint64_t seq, const rung_event *e, const rung_judgement *j,
                         uint32_t broken, rung_trial_verdict verdict) {
    rung_trial_result *r = &t->result;
    const rung_score_event *s = &e->score;
    t->newest = (t->newest + 1) % RUNG_TRIAL_EXAMPLES_MAX;
    rung_trial_example *x = &r->examples[t->newest];
    *x = (rung_trial_example){.seq = seq,
                              .at_ms = s->has_at ? s->at_ms : e->ts_ms,
                              .player_len = (uint32_t)s->player.len,
                              .is_delta = s->is_delta,
                              .verdict = verdict,
                              .broken = broken,
                              .rule = j->rule     ? (rung_rule)j->rule
                                      : is_top(j) ? RUNG_RULE_TOP
                                                  : RUNG_RULE_NONE};
    memcpy(x->player, s->player.ptr, s->player.len);
    if (s->value_count)
        x->score = s->values[0];
    if (r->example_count < RUNG_TRIAL_EXAMPLES_MAX)
        r->example_count++;
}

static void count_broken(rung_trial *t, uint64_t seq, const rung_event *e,
                         const rung_judgement *j) {
    rung_trial_result *r = &t->result;
    uint32_t broken = broken_rules(t->spec->def, j);
    rung_trial_verdict verdict = RUNG_TRIAL_FLAGGED;
    for (uint32_t i = 0; i < RUNG_BOARD_RULES_MAX; i++)
        r->broken[i] += broken >> i & 1;
    if (j->rule >= RUNG_RULE_MIN && j->rule < RUNG_RULE_MIN + RUNG_TRIAL_LIMITS &&
        t->spec->def->limits >> (j->rule - RUNG_RULE_MIN) & 1)
        r->limited[j->rule - RUNG_RULE_MIN]++; /* limits are judged first */
    r->top += is_top(j);
    if (j->rule) {
        verdict = RUNG_TRIAL_REFUSED;
        r->refused++;
    } else if (j->tentative) {
        verdict = RUNG_TRIAL_TENTATIVE;
        r->tentative++;
    } else {
        r->flagged++;
    }
    note_example(t, seq, e, j, broken, verdict);
}

/* Is it refused for a reason that no limit or rule is? */
static bool is_other(const rung_judgement *j) {
    return j->status < 0 && !j->tentative &&
           (!j->rule || j->rule == RUNG_RULE_BANNED || j->rule == RUNG_RULE_WINDOW);
}

static void judge(rung_trial *t, uint64_t seq, const rung_event *e) {
    rung_trial_result *r = &t->result;
    rung_judgement j;
    if (t->skip) {
        t->skip--;
        return;
    }
    rung_state_judge(rung_past_state(t->past), &e->score, e->ts_ms, &j, NULL);
    if (!r->judged++) {
        r->first_seq = seq;
        r->first_ms = e->ts_ms;
    }
    r->last_seq = seq;
    r->last_ms = e->ts_ms;
    if (j.status == RUNG_DUPLICATE)
        r->duplicates++;
    else if (is_other(&j))
        r->other++;
    else if (j.rule || j.finding_count)
        count_broken(t, seq, e, &j);
    else
        r->counted++;
}

/* ---- the log ---- */

/* Submissions of other boards matter to nobody, unless they use up an offset or a nonce (replay_fold.c). */
static bool is_of_interest(const rung_trial *t, const rung_event *e) {
    return e->kind != RUNG_EVENT_SCORE || e->score.session.len || e->score.source.len ||
           rung_slice_eq(e->score.board, t->spec->board);
}

static rung_status apply_event(rung_trial *t, uint64_t seq, rung_event *e, rung_err *err) {
    rung_state *s = rung_past_state(t->past);
    if (!is_of_interest(t, e)) {
        rung_state_shadow_pass(s, e->ts_ms);
        return RUNG_OK;
    }
    bool is_ours = e->kind == RUNG_EVENT_SCORE && rung_slice_eq(e->score.board, t->spec->board);
    if (e->kind == RUNG_EVENT_BOARD_DEFINED && rung_slice_eq(e->defined.board, t->spec->board))
        take_judging(t, &e->defined.def);
    if (is_ours)
        judge(t, seq, e);
    return rung_state_apply(s, e, NULL, NULL) == RUNG_ENOMEM
               ? RUNG_FAIL(err, RUNG_ENOMEM, "out of memory")
               : RUNG_OK;
}

static rung_status apply_record(rung_trial *t, const rung_log_record *record, rung_err *err) {
    rung_state *s = rung_past_state(t->past);
    rung_event e;
    if (record->seq != rung_state_seq(s) + 1) /* T1 */
        return RUNG_FAIL(err, RUNG_ECORRUPT, "record %llu follows state %llu",
                         (unsigned long long)record->seq, (unsigned long long)rung_state_seq(s));
    if (record->type != RUNG_LOG_TYPE_EVENT) {
        rung_state_pass(s);
        return RUNG_OK;
    }
    rung_status st = rung_event_decode(record->payload, &e, err);
    return st < 0 ? st : apply_event(t, record->seq, &e, err);
}

/* Newest first: the ring becomes a list. */
static void finish(rung_trial *t) {
    rung_trial_result *r = &t->result;
    rung_trial_example ring[RUNG_TRIAL_EXAMPLES_MAX];
    memcpy(ring, r->examples, sizeof ring);
    for (uint32_t i = 0; i < r->example_count; i++)
        r->examples[i] = ring[(t->newest + RUNG_TRIAL_EXAMPLES_MAX - i) % RUNG_TRIAL_EXAMPLES_MAX];
    t->end_seq = 0;
}

rung_status rung_trial_step(rung_trial *t, rung_err *err) {
    uint64_t seq = rung_trial_seq(t), stop = seq + STEP_RECORDS;
    rung_status st = RUNG_OK;
    if (!t->end_seq)
        return RUNG_OK;
    rung_past_log *log = rung_past_log_of(t->past);
    rung_past_log_seek(log, seq + 1);
    while (st == RUNG_OK && seq < t->end_seq && seq < stop) {
        uint64_t left = t->end_seq - seq;
        size_t n = 0;
        st = rung_past_log_read(log, t->records, left < RECORDS ? (size_t)left : RECORDS, &n, err);
        if (st == RUNG_NOT_FOUND)
            return RUNG_FAIL(err, RUNG_ECORRUPT, "the log ends at %llu, before %llu",
                             (unsigned long long)seq, (unsigned long long)t->end_seq);
        for (size_t i = 0; st == RUNG_OK && i < n; i++)
            st = apply_record(t, &t->records[i], err);
        seq = rung_trial_seq(t);
    }
    if (st == RUNG_ESTALE)
        return RUNG_FAIL_FIELD_WHY(err, RUNG_EABSENT, RUNG_REASON_TOO_OLD, "last",
                                   "the log was removed while it was read");
    if (st < 0)
        return st;
    if (seq < t->end_seq)
        return RUNG_PARTIAL;
    finish(t);
    return RUNG_OK;
}

uint64_t rung_trial_seq(const rung_trial *t) {
    return t->past ? rung_state_seq(rung_past_state(t->past)) : 0;
}

const rung_trial_result *rung_trial_result_of(const rung_trial *t) {
    return &t->result;
}
