/* SPDX-License-Identifier: Apache-2.0 */
/* asker.h - questions to the archive: they wait in a queue, threads work on a few, answers come back to the loop.
 *
 *     rung_asker_create(&config, &asker, &err);
 *     rung_asker_start(asker, state); rung_asker_add_reader(asker, port, archive);
 *     ...
 *     rung_asker_put(asker, &question->job, &err);     // question->job.done() will be called, in the loop
 *     ...
 *     rung_asker_stop(asker);                          // refuses what waits
 *     while (rung_asker_is_busy(asker)) ... run the loop ...
 *     rung_asker_destroy(asker);
 *
 * An archive follows the log a moment behind. An answer reflects the sequence it states all the same: a question waits
 * until the archive has the last event that hid or brought back anybody, as of the time the question came; and a window
 * that is not found is looked for again when the archive has all windows that had closed by then. Scores do not reach
 * closed windows, so nobody waits for those.
 *
 * Threads: the owner of the state; a job's `run` in another one. */
#ifndef RUNG_SERVICE_ASKER_H
#define RUNG_SERVICE_ASKER_H

#include "base/alloc.h"
#include "service/archive_port.h"

typedef struct rung_asker
    rung_asker; /* heap object; whoever created it calls rung_asker_destroy() */

#define RUNG_ASKER_READERS_MAX 3    /* questions worked on at a time */
#define RUNG_ASKER_WAITING_MAX 1024 /* one more is refused */

/* A question on its way. Embedded in the caller's memory, which is the asker's until `done`. */
typedef struct rung_archive_job {
    /* In another thread; may use this job and the archive. RUNG_OK, RUNG_NOT_FOUND or a failure, with job->err. */
    rung_status (*run)(struct rung_archive_job *job, const rung_archive_port *port,
                       rung_archive *archive);
    /* In the loop, with status and err set. What the archive gave lives until it returns. err.reason tells what was not
     * archived (RUNG_EABSENT), that the archive failed (RUNG_EIO) or did not come as far in time (RUNG_EBUSY);
     * RUNG_ECLOSED: the asker stops. */
    void (*done)(struct rung_archive_job *job);
    uint32_t share;      /* whose it is, of RUNG_FAIR_SHARES */
    bool needs_closed;   /* an archive that may not have the window yet is not asked at all */
    int64_t deadline_ms; /* of the loop's clock; 0: the asker's own */

    rung_status status;
    rung_err err;
    uint64_t seq; /* the state's when it was put: what the answer reflects, at least */

    /* the asker's */
    uint64_t needed_seq, closed_seq, turn;
    bool is_asked;
    struct rung_archive_job *prev, *next;
} rung_archive_job;

/* What the loop does for the asker. */
typedef struct rung_asker_work {
    void (*run)(struct rung_asker_work *w);  /* in another thread */
    void (*done)(struct rung_asker_work *w); /* then, in the loop */
    void *ctx;                               /* the asker's */
} rung_asker_work;

typedef struct rung_asker_config {
    const rung_alloc *alloc;
    uint32_t wait_ms; /* how long a question waits for the archive to catch up */
    bool (*work)(
        void *ctx, uint32_t reader,
        rung_asker_work *w); /* `reader` works on one at a time; false: it cannot be begun */
    void (*look_in)(void *ctx, uint32_t ms);           /* call rung_asker_look() then */
    int64_t (*now_ms)(void *ctx);                      /* the loop's clock */
    bool (*marks)(void *ctx, rung_archive_marks *out); /* false, or NULL: it is never behind */
    void *ctx;
} rung_asker_config;

RUNG_NODISCARD rung_status rung_asker_create(const rung_asker_config *config,
                                             rung_asker **asker_out, rung_err *err);
void rung_asker_destroy(rung_asker *a); /* nothing is under way; accepts NULL */

void rung_asker_start(rung_asker *a, const rung_state *state);
/* An archive that nobody else uses, as long as the asker is busy. false: there are enough. */
bool rung_asker_add_reader(rung_asker *a, const rung_archive_port *port, rung_archive *archive);
bool rung_asker_has_archive(const rung_asker *a);

/* RUNG_OK: `done` will be called, never from here. RUNG_ELIMIT: too many questions wait, of all or of this sender;
 * RUNG_ECLOSED: it has stopped. */
RUNG_NODISCARD rung_status rung_asker_put(rung_asker *a, rung_archive_job *job, rung_err *err);
void rung_asker_look(rung_asker *a);

void rung_asker_stop(rung_asker *a); /* those that wait are refused; those under way are answered */
bool rung_asker_is_busy(const rung_asker *a);

typedef struct rung_asker_stats {
    uint64_t questions, failures, late;
    uint32_t waiting;
} rung_asker_stats;
rung_asker_stats rung_asker_stat(const rung_asker *a);

#endif
