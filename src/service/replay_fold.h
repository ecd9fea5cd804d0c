/* SPDX-License-Identifier: Apache-2.0 */
/* replay_fold.h - the log once more, with one board twice: as it was, and under other rules or without some events.
 *
 *     rung_replay_fold_init(&fold, state, &spec, &err);
 *     for each record of the log, from the first on:
 *         rung_replay_fold_apply(&fold, &event, &err);
 *     rung_fill_begin(state, spec.board, false, &fill);   // state/replay.h
 *
 * Both boards are in `state`: the second is the first one's shadow. Scores of other boards are left
 * out, unless there are sources. */
#ifndef RUNG_SERVICE_REPLAY_FOLD_H
#define RUNG_SERVICE_REPLAY_FOLD_H

#include "state/ratings.h"
#include "state/replay.h"

#define RUNG_REPLAY_PLAYERS_MAX 10000

typedef struct rung_replay_spec {
    rung_slice board;
    const rung_board_def *def; /* from the board's creation on; NULL: the definitions that it had */
    uint32_t player_count;     /* whose submissions are left out; up to RUNG_REPLAY_PLAYERS_MAX */
    const rung_slice *players;
    uint32_t
        match_count; /* matches that are left out, by the sequence of their event; up to RUNG_MATCHES_REMOVED_MAX */
    const uint64_t *matches; /* ascending */
    bool has_span;           /* submissions whose `at` is in [from, to) are left out */
    int64_t from_ms, to_ms;
    uint64_t until_seq; /* nothing after this record is left out */
    int64_t created_ms; /* log time when the board was created */
    /* Submissions have sources (rung_state_has_sources): what other boards take uses up offsets, so they get theirs. */
    bool has_sources;
    /* Not a replay but a trial (trial.h) of def's limits, rules and review over so many submissions; 0: a replay. */
    uint32_t trial_last;
} rung_replay_spec;

typedef struct rung_replay_fold { /* read-only outside */
    rung_state *state;
    const rung_replay_spec *spec; /* borrowed */
    rung_slice *excluded;         /* the spec's players, sorted */
    const rung_alloc *alloc;
    uint64_t left_out; /* submissions */
} rung_replay_fold;

/* `state` is as it was before the board was created. RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_replay_fold_init(rung_replay_fold *f, const rung_alloc *alloc,
                                                 rung_state *state, const rung_replay_spec *spec);
void rung_replay_fold_deinit(rung_replay_fold *f); /* not the state */

/* The next record. RUNG_OK, whatever the event did; RUNG_ENOMEM; RUNG_EUNSUPPORTED: the board was a Redis key before it
 * was defined; or why the new definition is refused. */
RUNG_NODISCARD rung_status rung_replay_fold_apply(rung_replay_fold *f, const rung_event *e,
                                                  rung_err *err);

#endif
