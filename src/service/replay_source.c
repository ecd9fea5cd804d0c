/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants:
 *   R1  The state is that of the records up to its sequence, with the board twice.
 *   R2  At the end of each round of parts the notes begin anew, so the next round has what changed since. */
#define _GNU_SOURCE
#include "service/replay_source.h"

#include "model/calendar.h"
#include "service/applier.h"

#include <time.h>

enum {
    RECORDS = 1024,
    FOLD_RECORDS = 1 << 16, /* per call, so that the caller hears of progress */
    PIECE_BYTES = 32 << 10, /* about a thousand entries: a millisecond of the server's loop */
    PAUSE_MS = 20,
};

struct rung_replay_source {
    const rung_alloc *alloc;
    const rung_replay_spec *spec;
    rung_past *past;
    rung_replay_fold fold;
    bool has_fold, is_filling;
    rung_fill fill;
    uint8_t bytes[RUNG_FILL_BYTES_MAX];
    rung_log_record records[RECORDS];
};

static rung_status explain(const rung_replay_spec *spec, rung_status st, rung_err *err) {
    char text[RUNG_TIME_TEXT_MAX] = "";
    if (!err || err->reason != RUNG_REASON_TOO_OLD)
        return st;
    rung_time_format(spec->created_ms, text);
    return RUNG_FAIL_FIELD_WHY(err, RUNG_EABSENT, RUNG_REASON_TOO_OLD, "board",
                               "the kept log does not reach back to the creation of the board (%s)",
                               text);
}

rung_status rung_replay_source_open(const rung_replay_source_config *config,
                                    const rung_replay_spec *spec, rung_replay_source **out,
                                    rung_err *err) {
    rung_past_config past = {.log = config->log,
                             .moment = {.time_ms = spec->created_ms - 1},
                             .memory_max = config->memory_max,
                             .hash_key = config->hash_key,
                             .threads = config->threads,
                             .may_be_empty = true};
    rung_replay_source *s = rung_alloc_zeroed(config->log.alloc, sizeof *s);
    if (!s)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    s->alloc = config->log.alloc;
    s->spec = spec;
    rung_status st = rung_past_open(&past, &s->past, NULL, err);
    if (st < 0) {
        s->past = NULL;
        st = explain(spec, st, err);
    }
    if (st == RUNG_OK) {
        st = rung_replay_fold_init(&s->fold, s->alloc, rung_past_state(s->past), spec);
        s->has_fold = st == RUNG_OK;
    }
    if (st < 0) {
        rung_replay_source_close(s);
        return st;
    }
    *out = s;
    return RUNG_OK;
}

void rung_replay_source_close(rung_replay_source *s) {
    if (!s)
        return;
    if (s->has_fold)
        rung_replay_fold_deinit(&s->fold);
    rung_past_close(s->past);
    rung_alloc_free(s->alloc, s, sizeof *s);
}

/* ---- the log ---- */

static rung_status apply(rung_replay_source *s, const rung_log_record *record, rung_err *err) {
    rung_state *state = rung_past_state(s->past);
    rung_event event;
    if (record->seq != rung_state_seq(state) + 1)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "record %llu follows state %llu",
                         (unsigned long long)record->seq,
                         (unsigned long long)rung_state_seq(state));
    if (record->type == RUNG_LOG_TYPE_VOID || record->type == RUNG_LOG_TYPE_REPORT) {
        rung_state_pass(state);
        return RUNG_OK;
    }
    if (record->type != RUNG_LOG_TYPE_EVENT)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "record %llu is not in this log",
                         (unsigned long long)record->seq);
    rung_status st = rung_event_decode(record->payload, &event, err);
    return st < 0 ? st : rung_replay_fold_apply(&s->fold, &event, err);
}

static void pause_a_little(void) {
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
}

static rung_status fold_to(rung_replay_source *s, uint64_t to, rung_err *err) {
    rung_state *state = rung_past_state(s->past);
    rung_past_log *log = rung_past_log_of(s->past);
    uint64_t end = rung_state_seq(state) + FOLD_RECORDS;
    rung_status st = RUNG_OK;
    rung_past_log_seek(log, rung_state_seq(state) + 1);
    while (st == RUNG_OK && rung_state_seq(state) < to) {
        uint64_t left = to - rung_state_seq(state);
        size_t count;
        if (rung_state_seq(state) >= end)
            return RUNG_PARTIAL;
        st = rung_past_log_read(log, s->records, left < RECORDS ? (size_t)left : RECORDS, &count,
                                err);
        if (st == RUNG_NOT_FOUND) { /* the writer is behind */
            pause_a_little();
            return RUNG_PARTIAL;
        }
        for (size_t i = 0; st == RUNG_OK && i < count; i++)
            st = apply(s, &s->records[i], err);
    }
    if (st == RUNG_ESTALE)
        return RUNG_FAIL_FIELD_WHY(err, RUNG_EABSENT, RUNG_REASON_TOO_OLD, "board",
                                   "the log was removed while it was read");
    return st;
}

static rung_status fold(rung_replay_source *s, uint64_t to, rung_err *err) {
    rung_shadow_info info;
    rung_status st = fold_to(s, to, err);
    if (st == RUNG_OK &&
        rung_state_shadow(rung_past_state(s->past), s->spec->board, &info) != RUNG_OK)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "the log has no such board any more");
    return st;
}

/* ---- parts ---- */

static rung_status next_piece(rung_replay_source *s, const rung_replay_ask *ask,
                              rung_replay_reply *out, rung_err *err) {
    rung_state *state = rung_past_state(s->past);
    size_t length;
    if (ask->begins) {
        s->is_filling =
            rung_fill_begin(state, s->spec->board, ask->only_noted, &s->fill) == RUNG_OK;
    }
    if (!s->is_filling)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "it has no shadow");
    rung_status st =
        rung_fill_next(&s->fill, s->bytes, ask->begins ? sizeof s->bytes : PIECE_BYTES, &length);
    if (st == RUNG_OK)
        out->piece = rung_slice_of(s->bytes, length);
    if (st == RUNG_NOT_FOUND) { /* R2 */
        s->is_filling = false;
        rung_state_shadow_note(state);
    }
    return st < 0 ? RUNG_FAIL(err, st, "the definition does not fit an event") : st;
}

rung_status rung_replay_source_ask(rung_replay_source *s, const rung_replay_ask *ask,
                                   rung_replay_reply *out, rung_err *err) {
    *out = (rung_replay_reply){0};
    rung_status st = ask->is_piece ? next_piece(s, ask, out, err) : fold(s, ask->to_seq, err);
    out->seq = rung_state_seq(rung_past_state(s->past));
    out->left_out = s->fold.left_out;
    return st;
}
