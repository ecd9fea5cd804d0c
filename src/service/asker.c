/* SPDX-License-Identifier: Apache-2.0 */
/* The loop never waits for the archive's disk. Questions are queued, a few threads work on them (each with its own
 * reader, since an archive is used by one thread at a time), and the loop answers, since it owns the players' names.
 *
 *     rung_asker_put -> [queue] -> run (elsewhere) -> finish (loop) -> job->done -> the next one
 *
 * Start-time fair queueing: a question's turn is one after the previous question of the same sender, but not before the
 * turn in progress. The lowest turn is next. So many questions of one sender do not delay the few of another.
 *
 * Invariants:
 *  1. `first` .. `last` are the jobs put and not done; those with is_asked have a reader.
 *  2. The archive's results for a job live until its `done` returns: the reader starts no other job before.
 *  3. Nothing is started after rung_asker_stop(). */
#include "service/asker.h"

#include "base/fair.h"

enum {
    LOOK_MS = 2, /* how often to check the archive's progress while a question waits for it */
    /* how long the archive may work on a question, whatever its deadline */
    LIMIT_MS_MIN = 100,
    LIMIT_MS_MAX = 60000
};

typedef struct reader {
    rung_asker_work work;
    rung_asker *asker;
    const rung_archive_port *port;
    rung_archive *archive;
    rung_archive_job *job; /* NULL: it is free */
    uint32_t limit_ms;     /* of that job, from its start */
} reader;

struct rung_asker {
    rung_asker_config config;
    const rung_state *state;
    reader readers[RUNG_ASKER_READERS_MAX];
    uint32_t reader_count;
    rung_archive_job *first, *last;
    rung_fair shares;
    uint64_t turn, turns[RUNG_FAIR_SHARES]; /* of the job started last; of each sender's last job */
    rung_asker_stats stats;
    bool is_stopped;
};

rung_status rung_asker_create(const rung_asker_config *config, rung_asker **asker_out,
                              rung_err *err) {
    rung_asker *a = rung_alloc_zeroed(config->alloc, sizeof *a);
    if (!a)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    a->config = *config;
    a->shares.max = RUNG_ASKER_WAITING_MAX;
    *asker_out = a;
    return RUNG_OK;
}

void rung_asker_destroy(rung_asker *a) {
    if (a)
        rung_alloc_free(a->config.alloc, a, sizeof *a);
}

void rung_asker_start(rung_asker *a, const rung_state *state) {
    a->state = state;
}

bool rung_asker_add_reader(rung_asker *a, const rung_archive_port *port, rung_archive *archive) {
    if (a->reader_count == RUNG_ASKER_READERS_MAX)
        return false;
    a->readers[a->reader_count++] = (reader){.asker = a, .port = port, .archive = archive};
    return true;
}

bool rung_asker_has_archive(const rung_asker *a) {
    return a->reader_count != 0;
}

rung_asker_stats rung_asker_stat(const rung_asker *a) {
    rung_asker_stats s = a->stats;
    s.waiting = a->shares.total;
    return s;
}

/* ---- the queue ---- */

static rung_archive_stats marks_of(const rung_asker *a) {
    rung_archive_stats m = {.cursor_seq = UINT64_MAX};
    if (a->config.marks && !a->config.marks(a->config.ctx, &m))
        m = (rung_archive_stats){.cursor_seq = UINT64_MAX};
    return m;
}

static void join(rung_asker *a, rung_archive_job *job) {
    job->next = NULL;
    job->prev = a->last;
    *(a->last ? &a->last->next : &a->first) = job;
    a->last = job;
    rung_fair_take(&a->shares, job->share, 1);
}

static void finish(rung_asker *a, rung_archive_job *job) {
    *(job->prev ? &job->prev->next : &a->first) = job->next;
    *(job->next ? &job->next->prev : &a->last) = job->prev;
    rung_fair_give(&a->shares, job->share, 1);
    job->done(job);
}

static void refuse_late(rung_asker *a, rung_archive_job *job) {
    a->stats.late++;
    if (marks_of(a).is_failing)
        job->status = RUNG_FAIL_WHY(&job->err, RUNG_EIO, RUNG_REASON_ARCHIVE,
                                    "the archive cannot be written and is behind");
    else
        job->status = RUNG_FAIL_WHY(&job->err, RUNG_EBUSY, RUNG_REASON_ARCHIVE_BEHIND,
                                    "the archive has not caught up with what changed this window");
    finish(a, job);
}

/* The job with the lowest turn among those that the archive can answer now. */
static rung_archive_job *next_ready(const rung_asker *a, uint64_t archived_seq) {
    rung_archive_job *next = NULL;
    for (rung_archive_job *j = a->first; j; j = j->next)
        if (!j->is_asked && j->needed_seq <= archived_seq && (!next || j->turn < next->turn))
            next = j;
    return next;
}

/* The first job that the archive cannot answer yet; with `late`: whose deadline has passed. */
static rung_archive_job *first_waiting(const rung_asker *a, uint64_t archived_seq, bool late) {
    int64_t now_ms = a->config.now_ms(a->config.ctx);
    rung_archive_job *j = a->first;
    while (j && (j->is_asked || j->needed_seq <= archived_seq || (late && j->deadline_ms > now_ms)))
        j = j->next;
    return j;
}

static reader *free_reader(rung_asker *a) {
    for (uint32_t i = 0; i < a->reader_count; i++)
        if (!a->readers[i].job)
            return &a->readers[i];
    return NULL;
}

/* ---- work ---- */

static void ask_next(rung_asker *a);

static void run(rung_asker_work *w) {
    reader *r = w->ctx;
    rung_archive_job *job = r->job; /* not touched by the loop until worked() */
    if (r->port->limit)
        r->port->limit(r->archive, r->limit_ms);
    job->status = job->run(job, r->port, r->archive);
}

/* A window that was not found may not be archived yet. */
static bool is_early(const rung_asker *a, const rung_archive_job *job) {
    return job->status == RUNG_NOT_FOUND && job->needed_seq < job->closed_seq && !a->is_stopped;
}

/* Any other failure of the implementation is reported as RUNG_EIO. */
static void give_reason(rung_archive_job *job) {
    if (job->status == RUNG_EABSENT) {
        job->err.reason = RUNG_REASON_NOT_ARCHIVED;
    } else if (job->status < 0) {
        job->err.reason = RUNG_REASON_ARCHIVE;
        job->status = RUNG_EIO;
    }
}

static void worked(rung_asker_work *w) {
    reader *r = w->ctx;
    rung_asker *a = r->asker;
    rung_archive_job *job = r->job;
    job->is_asked = false;
    a->stats.questions++;
    a->stats.failures += job->status < 0;
    give_reason(job);
    if (is_early(a, job))
        job->needed_seq = job->closed_seq;
    else
        finish(a, job);
    r->job = NULL;
    if (!a->is_stopped)
        ask_next(a);
}

/* False: out of memory for now. */
static bool begin_work(rung_asker *a, reader *r, rung_archive_job *job) {
    int64_t left_ms = job->deadline_ms - a->config.now_ms(a->config.ctx);
    r->work = (rung_asker_work){.run = run, .done = worked, .ctx = r};
    r->job = job;
    r->limit_ms = left_ms < LIMIT_MS_MIN   ? LIMIT_MS_MIN
                  : left_ms < LIMIT_MS_MAX ? (uint32_t)left_ms
                                           : LIMIT_MS_MAX;
    if (!a->config.work(a->config.ctx, (uint32_t)(r - a->readers), &r->work)) {
        r->job = NULL;
        return false;
    }
    job->is_asked = true;
    a->turn = job->turn;
    return true;
}

static void ask_next(rung_asker *a) {
    reader *r;
    rung_archive_job *ready;
    if (!a->first)
        return;
    uint64_t archived_seq = marks_of(a).cursor_seq;
    bool is_waiting = first_waiting(a, archived_seq, false) != NULL;
    while ((r = free_reader(a)) != NULL && (ready = next_ready(a, archived_seq)) != NULL)
        if (!begin_work(a, r, ready)) {
            is_waiting = true;
            break;
        }
    if (is_waiting)
        a->config.look_in(a->config.ctx, LOOK_MS);
}

void rung_asker_look(rung_asker *a) {
    uint64_t archived_seq = marks_of(a).cursor_seq;
    rung_archive_job *late;
    if (a->is_stopped)
        return;
    while ((late = first_waiting(a, archived_seq, true)) != NULL)
        refuse_late(a, late);
    ask_next(a);
}

/* ---- public ---- */

rung_status rung_asker_put(rung_asker *a, rung_archive_job *job, rung_err *err) {
    if (a->is_stopped)
        return RUNG_FAIL(err, RUNG_ECLOSED, "%s", rung_status_text(RUNG_ECLOSED));
    if (!rung_fair_may(&a->shares, job->share, false))
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                             "too many questions wait for the archive");
    rung_archive_stats m = marks_of(a);
    job->seq = rung_state_seq(a->state);
    job->closed_seq = m.closed_seq;
    job->needed_seq =
        job->needs_closed && m.closed_seq > m.changed_seq ? m.closed_seq : m.changed_seq;
    if (!job->deadline_ms)
        job->deadline_ms = a->config.now_ms(a->config.ctx) + a->config.wait_ms;
    uint64_t *turn = &a->turns[job->share];
    job->turn = *turn = (*turn > a->turn ? *turn : a->turn) + 1;
    join(a, job);
    ask_next(a);
    return RUNG_OK;
}

void rung_asker_stop(rung_asker *a) {
    rung_archive_job *next;
    a->is_stopped = true;
    for (rung_archive_job *j = a->first; j; j = next) {
        next = j->next;
        if (j->is_asked)
            continue;
        j->status = RUNG_FAIL(&j->err, RUNG_ECLOSED, "the server is stopping");
        finish(a, j);
    }
}

bool rung_asker_is_busy(const rung_asker *a) {
    for (uint32_t i = 0; i < a->reader_count; i++)
        if (a->readers[i].job)
            return true;
    return false;
}
