/* SPDX-License-Identifier: Apache-2.0 */
/* trials.h - trials of rules (trial.h) for a server: one helper process at a time, through the port of replays.
 *
 *     question->spec = &spec; question->done = answer;
 *     st = rung_trials_put(trials, question, &err);       // done() will be called, in the loop
 *     rung_trials_stop(trials); while (rung_trials_is_busy(trials)) ... run the loop ...
 *     rung_trials_destroy(trials);
 *
 * Threads: the loop's; the port's ask is called in another one. */
#ifndef RUNG_SERVICE_TRIALS_H
#define RUNG_SERVICE_TRIALS_H

#include "service/asker.h"
#include "service/replay.h"
#include "service/trial.h"

typedef struct rung_trials
    rung_trials; /* heap object; whoever created it calls rung_trials_destroy() */

/* Embedded in the caller's object, which lives until `done`. */
typedef struct rung_trial_question {
    const rung_replay_spec *spec; /* copied by put */
    void (*done)(struct rung_trial_question *q);
    void *ctx;
    /* In `done`: RUNG_OK and the result, valid during the call; or the failure. RUNG_ECLOSED: stopped. */
    rung_status status;
    rung_err err;
    const rung_trial_result *result;
} rung_trial_question;

typedef struct rung_trials_config {
    const rung_alloc *alloc;
    const rung_replay_port *port;                /* NULL: there are no trials */
    bool (*work)(void *ctx, rung_asker_work *w); /* as in rung_asker_config */
    void *ctx;
} rung_trials_config;

RUNG_NODISCARD rung_status rung_trials_create(const rung_trials_config *config, rung_trials **out,
                                              rung_err *err);
void rung_trials_destroy(rung_trials *t); /* not busy; accepts NULL */

/* RUNG_OK; RUNG_EUNSUPPORTED: this server has no data folder; RUNG_ELIMIT with RUNG_REASON_OVERLOADED: one is running;
 * RUNG_ECLOSED. */
RUNG_NODISCARD rung_status rung_trials_put(rung_trials *t, rung_trial_question *q, rung_err *err);

void rung_trials_stop(rung_trials *t); /* accepts NULL */
bool rung_trials_is_busy(const rung_trials *t);

#endif
