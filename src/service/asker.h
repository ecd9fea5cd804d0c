/* SPDX-License-Identifier: Apache-2.0 */
/* asker.h - a queue of questions to the archive: threads work on a few at a time, answers come back to the loop.
 *
 *     rung_asker_create(&config, &asker, &err);
 *     rung_asker_start(asker, state); rung_asker_add_reader(asker, port, archive);
 *     ...
 *     rung_asker_put(asker, &question->job, &err);     // question->job.done() will be called, in the loop
 *     ...
 *     rung_asker_stop(asker);                          // refuses what is queued
 *     while (rung_asker_is_busy(asker)) ... run the loop ...
 *     rung_asker_destroy(asker);
 *
 * An archive lags behind the log. Still, an answer must reflect the sequence it states. So a question waits until the
 * archive has the last event that hid or restored a player when the question was put. A window that is not found is
 * looked up again once the archive has all windows that were closed by then. Scores do not change closed windows.
 *
 * Threads: the owner of the state; a job's `run` is called in another one. */
#ifndef RUNG_SERVICE_ASKER_H
#define RUNG_SERVICE_ASKER_H

#include "base/alloc.h"
#include "service/archive_port.h"

typedef struct rung_asker
    rung_asker; /* heap object; whoever created it calls rung_asker_destroy() */

#define RUNG_ASKER_READERS_MAX 3 /* questions at a time */
#define RUNG_ASKER_WAITING_MAX 1024

/* A queued question. Embedded in the caller's object, which must live until `done`. */
typedef struct rung_archive_job {
    /* In another thread; may use only this job and the archive. RUNG_OK, RUNG_NOT_FOUND or a failure with job->err. */
    rung_status (*run)(struct rung_archive_job *job, const rung_archive_port *port,
                       rung_archive *archive);
    /* In the loop, with status and err set; the archive's results are valid during the call. RUNG_EABSENT: not
     * archived; RUNG_EIO: the archive failed; RUNG_EBUSY: it is late; RUNG_ECLOSED: the asker stops. */
    void (*done)(struct rung_archive_job *job);
    uint32_t share;      /* the sender's, below RUNG_FAIR_SHARES */
    bool needs_closed;   /* wait until the archive has every closed window */
    int64_t deadline_ms; /* by the loop's clock; 0: wait_ms from now */

    rung_status status;
    rung_err err;
    uint64_t seq; /* the state's when it was put; the answer reflects at least this */

    /* Private. */
    uint64_t needed_seq, closed_seq, turn;
    bool is_asked;
    struct rung_archive_job *prev, *next;
} rung_archive_job;

/* Work that the loop runs for the asker. */
typedef struct rung_asker_work {
    void (*run)(struct rung_asker_work *w);  /* in another thread */
    void (*done)(struct rung_asker_work *w); /* afterwards, in the loop */
    void *ctx;                               /* private */
} rung_asker_work;

typedef struct rung_asker_config {
    const rung_alloc *alloc;
    uint32_t wait_ms; /* how long a question waits for the archive to catch up */
    /* Start the work of `reader`, which has one at a time. False: it cannot be started now. */
    bool (*work)(void *ctx, uint32_t reader, rung_asker_work *w);
    void (*look_in)(void *ctx, uint32_t ms);           /* call rung_asker_look() after `ms` */
    int64_t (*now_ms)(void *ctx);                      /* the loop's clock */
    bool (*marks)(void *ctx, rung_archive_stats *out); /* false, or NULL: never behind */
    void *ctx;
} rung_asker_config;

RUNG_NODISCARD rung_status rung_asker_create(const rung_asker_config *config,
                                             rung_asker **asker_out, rung_err *err);
void rung_asker_destroy(rung_asker *a); /* not busy; accepts NULL */

void rung_asker_start(rung_asker *a, const rung_state *state);
/* Add an archive that nobody else uses while the asker is busy. False: there are RUNG_ASKER_READERS_MAX already. */
bool rung_asker_add_reader(rung_asker *a, const rung_archive_port *port, rung_archive *archive);
bool rung_asker_has_archive(const rung_asker *a);

/* RUNG_OK: `done` will be called, later. RUNG_ELIMIT: too many questions in all or of this sender; RUNG_ECLOSED:
 * stopped. */
RUNG_NODISCARD rung_status rung_asker_put(rung_asker *a, rung_archive_job *job, rung_err *err);
void rung_asker_look(rung_asker *a);

void rung_asker_stop(rung_asker *a); /* refuses queued questions; those in progress are answered */
bool rung_asker_is_busy(const rung_asker *a);

typedef struct rung_asker_stats {
    uint64_t questions, failures, late;
    uint32_t waiting;
} rung_asker_stats;
rung_asker_stats rung_asker_stat(const rung_asker *a);

#endif
