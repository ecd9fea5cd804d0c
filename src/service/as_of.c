/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of helpers.
 *
 *     put -> [questions] -> a slot of that moment: free -> building -> ready -> ask, one at a time -> done
 *                                                             \-> failed: all are told, the process ends
 *
 * Senders take turns as in asker.c: a question's turn is one after the previous one of its sender.
 *
 * Invariants:
 *  1. `first` .. `last` are the questions put and not done. One with is_asked is a slot's.
 *  2. A slot works on one thing at a time; its helper is not ended meanwhile, only cut.
 *  3. A slot with waiting questions of its moment, or that is building, is not taken away for another moment.
 *  4. Nothing is started after rung_as_of_stop(). */
#include "service/as_of.h"

#include "base/fair.h"

enum {
    LOOK_FIRST_MS = 4, /* after the start; then twice as long, up to: */
    LOOK_MOST_MS = 100,
    ASK_MOST_MS = 30000, /* a helper that does not answer for so long is ended */
    FAILED_MS = 2000,    /* a failure is remembered for so long */
    IDLE_LOOK_MS = 1000,
};

typedef enum phase { PHASE_FREE, PHASE_BUILDING, PHASE_READY, PHASE_FAILED } phase;

typedef struct slot {
    rung_asker_work work;
    rung_as_of *pool;
    rung_helper *helper; /* NULL: PHASE_FREE, or PHASE_FAILED */
    phase phase;
    rung_moment moment;
    int64_t used_ms, look_ms, begun_ms; /* last used; when to look; when the work began */
    uint32_t pause_ms, percent;
    bool is_working, is_cut;
    rung_past_question *question; /* that is asked; NULL: looking */
    /* What the other thread found. */
    rung_status status;
    rung_err err; /* also of PHASE_FAILED */
    rung_helper_answer answer;
} slot;

struct rung_as_of {
    rung_as_of_config config;
    slot slots[RUNG_AS_OF_PROCESSES_MAX];
    rung_past_question *first, *last;
    rung_fair shares;
    uint64_t turn, turns[RUNG_FAIR_SHARES];
    int64_t next_start_ms; /* by the rate: one start takes this far ahead */
    rung_as_of_stats stats;
    bool is_stopped;
};

rung_status rung_as_of_create(const rung_as_of_config *config, rung_as_of **out, rung_err *err) {
    rung_as_of *p = rung_alloc_zeroed(config->alloc, sizeof *p);
    if (!p)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    p->config = *config;
    p->shares.max = RUNG_AS_OF_WAITING_MAX;
    for (uint32_t i = 0; i < RUNG_AS_OF_PROCESSES_MAX; i++)
        p->slots[i].pool = p;
    *out = p;
    return RUNG_OK;
}

static int64_t now_of(const rung_as_of *p) {
    return p->config.now_ms(p->config.ctx);
}

static void end_helper(slot *s) {
    if (s->helper)
        s->pool->config.port->end(s->helper);
    s->helper = NULL;
    s->phase = PHASE_FREE;
}

void rung_as_of_destroy(rung_as_of *p) {
    if (!p)
        return;
    for (uint32_t i = 0; i < p->config.processes; i++)
        end_helper(&p->slots[i]);
    rung_alloc_free(p->config.alloc, p, sizeof *p);
}

/* ---- questions ---- */

static void join(rung_as_of *p, rung_past_question *q) {
    q->next = NULL;
    q->prev = p->last;
    *(p->last ? &p->last->next : &p->first) = q;
    p->last = q;
    rung_fair_take(&p->shares, q->share, 1);
}

static void finish(rung_as_of *p, rung_past_question *q) {
    *(q->prev ? &q->prev->next : &p->first) = q->next;
    *(q->next ? &q->next->prev : &p->last) = q->prev;
    rung_fair_give(&p->shares, q->share, 1);
    if (q->status < 0)
        p->stats.failures++;
    q->done(q);
}

static void fail(rung_as_of *p, rung_past_question *q, const rung_err *err) {
    q->status = err->code;
    q->err = *err;
    finish(p, q);
}

static bool is_same(const rung_moment *a, const rung_moment *b) {
    return a->seq == b->seq && a->time_ms == b->time_ms && a->since_ms == b->since_ms;
}

static slot *slot_of(rung_as_of *p, const rung_moment *moment) {
    for (uint32_t i = 0; i < p->config.processes; i++)
        if (p->slots[i].phase != PHASE_FREE && is_same(&p->slots[i].moment, moment))
            return &p->slots[i];
    return NULL;
}

/* The question with the lowest turn, of this slot's moment or (NULL) of a moment that has no slot. */
static rung_past_question *next_of(rung_as_of *p, const slot *s) {
    rung_past_question *next = NULL;
    for (rung_past_question *q = p->first; q; q = q->next)
        if (!q->is_asked && (s ? is_same(&q->moment, &s->moment) : !slot_of(p, &q->moment)) &&
            (!next || q->turn < next->turn))
            next = q;
    return next;
}

/* ---- work in another thread ---- */

static void run(rung_asker_work *w) {
    slot *s = w->ctx;
    const rung_helper_port *port = s->pool->config.port;
    s->status = s->question ? port->ask(s->helper, s->question->protocol, s->question->request,
                                        &s->answer, &s->err)
                            : port->look(s->helper, &s->percent, &s->err);
}

static void fail_slot(slot *s) {
    rung_as_of *p = s->pool;
    rung_err err = s->err;
    end_helper(s);
    s->phase = PHASE_FAILED;
    s->used_ms = now_of(p);
    for (rung_past_question *q; !p->is_stopped && (q = next_of(p, s)) != NULL;)
        fail(p, q, &err);
}

static void worked(rung_asker_work *w) {
    slot *s = w->ctx;
    rung_as_of *p = s->pool;
    rung_past_question *q = s->question;
    s->is_working = false;
    s->question = NULL;
    if (s->is_cut)
        s->status = RUNG_FAIL(&s->err, RUNG_EIO, "the helper took too long and was ended");
    s->is_cut = false;
    if (q && s->status == RUNG_OK) {
        s->used_ms = now_of(p);
        q->status = RUNG_OK;
        q->answer = s->answer;
        finish(p, q);
    } else if (q) {
        fail(p, q, &s->err);
    } else if (s->status == RUNG_OK) {
        s->phase = PHASE_READY;
        s->used_ms = now_of(p);
    }
    if (s->status < 0)
        fail_slot(s);
    rung_as_of_look(p);
}

static void begin(slot *s, rung_past_question *q) {
    rung_as_of *p = s->pool;
    s->question = q;
    s->work = (rung_asker_work){.run = run, .done = worked, .ctx = s};
    s->begun_ms = now_of(p);
    s->is_working = p->config.work(p->config.ctx, (uint32_t)(s - p->slots), &s->work);
    if (!s->is_working) { /* again at the next look */
        s->question = NULL;
        return;
    }
    if (q) {
        q->is_asked = true;
        p->turn = q->turn;
    }
}

/* ---- helpers ---- */

/* A free slot, or the one used least recently whose moment nobody asks about. */
static slot *find_room(rung_as_of *p) {
    slot *oldest = NULL;
    for (uint32_t i = 0; i < p->config.processes; i++) {
        slot *s = &p->slots[i];
        if (s->phase == PHASE_FREE)
            return s;
        bool may_go = !s->is_working && s->phase != PHASE_BUILDING && !next_of(p, s); /* 3 */
        if (may_go && (!oldest || s->used_ms < oldest->used_ms))
            oldest = s;
    }
    return oldest;
}

/* A start moves next_start_ms on by its share of the period; it may be ahead by a period. */
static bool may_start(rung_as_of *p, int64_t now_ms) {
    const rung_rate_limit *r = &p->config.rate;
    if (!r->count)
        return true;
    if (p->next_start_ms < now_ms)
        p->next_start_ms = now_ms;
    int64_t step = (int64_t)r->period_ms / (int64_t)r->count;
    if (p->next_start_ms + step - now_ms > (int64_t)r->period_ms)
        return false;
    p->next_start_ms += step;
    return true;
}

static void start(slot *s, const rung_moment *moment) {
    rung_as_of *p = s->pool;
    end_helper(s);
    s->moment = *moment;
    s->percent = 0;
    s->pause_ms = LOOK_FIRST_MS;
    s->used_ms = now_of(p);
    s->look_ms = s->used_ms + s->pause_ms;
    s->phase = PHASE_BUILDING;
    p->stats.starts++;
    if (p->config.port->start(p->config.port->ctx, moment, &s->helper, &s->err) < 0) {
        s->helper = NULL;
        fail_slot(s);
    }
}

static void start_some(rung_as_of *p, int64_t now_ms) {
    for (rung_past_question *q; (q = next_of(p, NULL)) != NULL;) {
        slot *s = find_room(p);
        if (!s || !may_start(p, now_ms))
            return;
        rung_moment moment = q->moment;
        start(s, &moment);
    }
}

static void look_at_slot(slot *s, int64_t now_ms) {
    rung_as_of *p = s->pool;
    rung_past_question *q;
    if (s->is_working) {
        if (now_ms - s->begun_ms > ASK_MOST_MS && !s->is_cut) { /* 2 */
            s->is_cut = true;
            p->config.port->cut(s->helper);
        }
        return;
    }
    if (s->phase == PHASE_BUILDING && now_ms >= s->look_ms) {
        s->look_ms = now_ms + s->pause_ms;
        s->pause_ms = s->pause_ms * 2 < LOOK_MOST_MS ? s->pause_ms * 2 : LOOK_MOST_MS;
        begin(s, NULL);
    } else if (s->phase == PHASE_READY && (q = next_of(p, s)) != NULL) {
        begin(s, q);
    } else if (s->phase == PHASE_FAILED) {
        while ((q = next_of(p, s)) != NULL) {
            rung_err err = s->err;
            fail(p, q, &err);
        }
        if (now_ms - s->used_ms > FAILED_MS)
            s->phase = PHASE_FREE;
    } else if (s->phase == PHASE_READY && now_ms - s->used_ms > p->config.idle_ms) {
        end_helper(s);
    }
}

/* ---- time ---- */

static void refuse_late(rung_as_of *p, rung_past_question *q) {
    const slot *s = slot_of(p, &q->moment);
    rung_err err;
    q->percent = s && s->phase == PHASE_BUILDING ? s->percent : 0;
    p->stats.late++;
    rung_ignore(RUNG_FAIL_WHY(&err, RUNG_EBUSY, RUNG_REASON_BUILDING,
                              "the state of that moment is being built, %u %% are done: ask again",
                              (unsigned)q->percent),
                "it is the answer");
    fail(p, q, &err);
}

static bool is_late(rung_as_of *p, const rung_past_question *q, int64_t now_ms) {
    const slot *s = slot_of(p, &q->moment);
    return !q->is_asked && q->deadline_ms <= now_ms && !(s && s->phase == PHASE_READY);
}

/* A helper that is ready answers all, soon or (ASK_MOST_MS) not at all. */
static void refuse_all_late(rung_as_of *p, int64_t now_ms) {
    for (rung_past_question *q = p->first; q;) {
        if (is_late(p, q, now_ms)) {
            refuse_late(p, q);
            q = p->first; /* `done` may have changed the list */
        } else {
            q = q->next;
        }
    }
}

/* When there is something to do next; -1: never. */
static int64_t next_look(const rung_as_of *p, int64_t now_ms) {
    int64_t next = INT64_MAX;
    for (const rung_past_question *q = p->first; q; q = q->next)
        if (!q->is_asked && q->deadline_ms < next)
            next = q->deadline_ms;
    for (uint32_t i = 0; i < p->config.processes; i++) {
        const slot *s = &p->slots[i];
        if (s->phase == PHASE_FREE)
            continue;
        int64_t due =
            s->phase == PHASE_BUILDING && !s->is_working ? s->look_ms : now_ms + IDLE_LOOK_MS;
        next = due < next ? due : next;
    }
    if (p->first && (next > now_ms + LOOK_MOST_MS || next <= now_ms))
        next = now_ms + LOOK_MOST_MS; /* the rate, or a thread that could not be had */
    return next == INT64_MAX ? -1 : next > now_ms ? next - now_ms : 1;
}

void rung_as_of_look(rung_as_of *p) {
    if (p->is_stopped)
        return;
    int64_t now_ms = now_of(p);
    start_some(p, now_ms); /* a question that is late already has begun its helper at least */
    refuse_all_late(p, now_ms);
    for (uint32_t i = 0; i < p->config.processes; i++)
        look_at_slot(&p->slots[i], now_ms);
    int64_t wait = next_look(p, now_ms);
    if (wait >= 0)
        p->config.look_in(p->config.ctx, (uint32_t)wait);
}

/* ---- from outside ---- */

/* What is still to be logged must not belong to the moment. */
rung_status rung_as_of_check(rung_hub *hub, const rung_moment *m, rung_err *err) {
    const rung_state *state = rung_hub_state(hub);
    if (m->seq > rung_state_seq(state))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "as_of", "the log ends at %llu",
                               (unsigned long long)rung_state_seq(state));
    if (m->seq)
        return RUNG_OK;
    if (m->time_ms > rung_hub_now(hub))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "as_of", "the time is in the future");
    if (m->time_ms >= rung_state_time(state) &&
        (m->time_ms == rung_hub_now(hub) || !rung_commit_is_idle(rung_hub_commit(hub))))
        return RUNG_FAIL_FIELD_WHY(err, RUNG_EBUSY, RUNG_REASON_BUILDING, "as_of",
                                   "that moment is not over yet");
    return RUNG_OK;
}

rung_status rung_as_of_put(rung_as_of *p, rung_past_question *q, rung_err *err) {
    if (p->is_stopped)
        return RUNG_FAIL(err, RUNG_ECLOSED, "stopping: no further questions are taken");
    if (!rung_fair_may(&p->shares, q->share, false))
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                             "too many questions about the past are waiting");
    uint64_t last = p->turns[q->share];
    q->turn = (last > p->turn ? last : p->turn) + 1;
    p->turns[q->share] = q->turn;
    q->deadline_ms = now_of(p) + p->config.wait_ms;
    q->is_asked = false;
    q->percent = 0;
    q->err = (rung_err){0};
    p->stats.questions++;
    join(p, q);
    p->config.look_in(p->config.ctx, 0); /* never `done` before put returns */
    return RUNG_OK;
}

void rung_as_of_stop(rung_as_of *p) {
    if (!p || p->is_stopped)
        return;
    p->is_stopped = true; /* 4 */
    rung_err err;
    rung_ignore(RUNG_FAIL(&err, RUNG_ECLOSED, "server is shutting down"), "it is the answer");
    for (rung_past_question *q = p->first; q;) {
        if (q->is_asked) {
            q = q->next;
            continue;
        }
        fail(p, q, &err);
        q = p->first;
    }
    for (uint32_t i = 0; i < p->config.processes; i++)
        if (p->slots[i].is_working) {
            p->slots[i].is_cut = true;
            p->config.port->cut(p->slots[i].helper);
        }
}

bool rung_as_of_is_busy(const rung_as_of *p) {
    for (uint32_t i = 0; p && i < p->config.processes; i++)
        if (p->slots[i].is_working)
            return true;
    return false;
}

rung_as_of_stats rung_as_of_stat(const rung_as_of *p) {
    rung_as_of_stats s = p->stats;
    s.waiting = p->shares.total;
    for (uint32_t i = 0; i < p->config.processes; i++)
        s.helpers += p->slots[i].helper != NULL;
    return s;
}
