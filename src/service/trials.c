/* SPDX-License-Identifier: Apache-2.0 */
/* One question at a time: start a helper, ask until it is there, end the helper. */
#include "service/trials.h"

#include <string.h>

struct rung_trials {
    rung_trials_config config;
    rung_trial_question *question; /* NULL: idle */
    rung_replay_helper *helper;    /* not NULL while there is a question */
    rung_asker_work work;          /* always in flight while there is a question */
    rung_replay_reply reply;
    rung_status status;
    rung_err err;
    rung_trial_result result;
    bool is_stopped;
};

rung_status rung_trials_create(const rung_trials_config *config, rung_trials **out, rung_err *err) {
    rung_trials *t = rung_alloc_zeroed(config->alloc, sizeof *t);
    if (!t)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    t->config = *config;
    *out = t;
    return RUNG_OK;
}

void rung_trials_destroy(rung_trials *t) {
    if (t)
        rung_alloc_free(t->config.alloc, t, sizeof *t);
}

static void finish(rung_trials *t, rung_status st) {
    rung_trial_question *q = t->question;
    t->config.port->end(t->helper);
    t->helper = NULL;
    t->question = NULL;
    if (st == RUNG_OK && t->reply.piece.len != sizeof t->result)
        st = RUNG_FAIL(&t->err, RUNG_EIO, "the helper process sent no result");
    q->status = st;
    q->err = t->err;
    q->result = st == RUNG_OK ? &t->result : NULL;
    q->done(q);
}

static void run(rung_asker_work *w) {
    rung_trials *t = w->ctx;
    rung_replay_ask ask = {0};
    t->status = t->config.port->ask(t->helper, &ask, &t->reply, &t->err);
    if (t->status == RUNG_OK && t->reply.piece.len == sizeof t->result)
        memcpy(&t->result, t->reply.piece.ptr, sizeof t->result);
}

static void worked(rung_asker_work *w);

static bool go_on(rung_trials *t) {
    t->work = (rung_asker_work){.run = run, .done = worked, .ctx = t};
    return t->config.work(t->config.ctx, &t->work);
}

static void worked(rung_asker_work *w) {
    rung_trials *t = w->ctx;
    if (t->is_stopped)
        finish(t, RUNG_FAIL(&t->err, RUNG_ECLOSED, "the server stops"));
    else if (t->status != RUNG_PARTIAL)
        finish(t, t->status);
    else if (!go_on(t))
        finish(t,
               RUNG_FAIL_WHY(&t->err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED, "no thread for it now"));
}

rung_status rung_trials_put(rung_trials *t, rung_trial_question *q, rung_err *err) {
    if (!t->config.port)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "last",
                               "this server has no data folder, or shows the past itself");
    if (t->is_stopped)
        return RUNG_FAIL(err, RUNG_ECLOSED, "the server stops");
    if (t->question)
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                             "another trial of rules is running");
    t->err = (rung_err){0};
    rung_status st = t->config.port->start(t->config.port->ctx, q->spec, &t->helper, err);
    if (st < 0)
        return st;
    t->question = q;
    if (go_on(t))
        return RUNG_OK;
    t->config.port->end(t->helper);
    t->helper = NULL;
    t->question = NULL;
    return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED, "no thread for it now");
}

void rung_trials_stop(rung_trials *t) {
    if (!t)
        return;
    t->is_stopped = true;
    if (t->question)
        t->config.port->cut(t->helper);
}

bool rung_trials_is_busy(const rung_trials *t) {
    return t && t->question;
}
