/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - replays of boards: a helper process folds the log again, its parts go into the log and fill the board's
 * shadow (state/replay.h), and an event swaps the two.
 *
 *     rung_replay_create(&config, &replay, &err); rung_replay_start(replay, hub);
 *     rung_replay_begin(replay, from, &spec, &job, &err);        // runs while the server goes on
 *     rung_replay_look_at(replay, board, &info);                 // how far it is; then who would move
 *     rung_replay_swap(replay, from, board, false, answer, ctx, &err);
 *     rung_replay_stop(replay); while (rung_replay_is_busy(replay)) ... run the loop ...
 *     rung_replay_destroy(replay);
 *
 * At most RUNG_REPLAY_RUNNING_MAX helpers at a time. A server that ends leaves an unfinished shadow, which is dropped
 * at the next start. Whether the sender may is asked before (access.h).
 *
 * Threads: the loop's; the port's ask is called in another one. */
#ifndef RUNG_SERVICE_REPLAY_H
#define RUNG_SERVICE_REPLAY_H

#include "service/asker.h"
#include "service/child.h"
#include "service/hub.h"
#include "service/replay_report.h"
#include "service/replay_source.h"

typedef struct rung_replay
    rung_replay; /* heap object; whoever created it calls rung_replay_destroy() */

#define RUNG_REPLAY_RUNNING_MAX 2
#define RUNG_REPLAY_WORKS_MAX   RUNG_SHADOWS_MAX

/* ---- the port ---- */

typedef struct rung_replay_helper rung_replay_helper; /* from start to end */

typedef struct rung_replay_port {
    /* Begin; quick. The spec lives until end. */
    rung_status (*start)(void *ctx, const rung_replay_spec *spec, rung_replay_helper **out,
                         rung_err *err);
    /* In another thread: as rung_replay_source_ask(); the first one opens the source. */
    rung_status (*ask)(rung_replay_helper *h, const rung_replay_ask *ask, rung_replay_reply *out,
                       rung_err *err);
    void (*cut)(rung_replay_helper *h); /* make an ask in another thread return soon */
    void (*end)(rung_replay_helper *h); /* and free it; not during ask */
    void *ctx;
} rung_replay_port;

typedef struct rung_replay_config {
    const rung_alloc *alloc;
    const rung_replay_port *port;  /* NULL: there are no replays */
    const rung_children *children; /* make reports; NULL: forked processes */
    /* As in rung_asker_config; `slot` is below RUNG_REPLAY_WORKS_MAX. */
    bool (*work)(void *ctx, uint32_t slot, rung_asker_work *w);
    void (*look_in)(void *ctx, uint32_t ms); /* call rung_replay_look() after `ms` */
    void *ctx;
} rung_replay_config;

RUNG_NODISCARD rung_status rung_replay_create(const rung_replay_config *config, rung_replay **out,
                                              rung_err *err);
void rung_replay_destroy(rung_replay *r); /* not busy; accepts NULL */
/* The hub is used until stop. Drops what an earlier process left unfinished, unless other servers write the log. */
void rung_replay_start(rung_replay *r, rung_hub *hub);
void rung_replay_stop(rung_replay *r); /* accepts NULL */
bool rung_replay_is_busy(const rung_replay *r);
void rung_replay_look(rung_replay *r);

/* ---- use cases ---- */

/* Begin a replay; `spec` is copied, its created_ms and until_seq are filled in here. RUNG_EABSENT: no such board, or
 * (RUNG_REASON_TOO_OLD) the log does not reach back; RUNG_EBUSY: the board has a replay; RUNG_ELIMIT: too many;
 * RUNG_EINVAL and RUNG_EUNSUPPORTED name the field. */
RUNG_NODISCARD rung_status rung_replay_begin(rung_replay *r, const rung_replay_spec *spec,
                                             uint64_t *job_out, rung_err *err);

/* Compute a rating board without one more match, and swap the result in as soon as it is complete: a replay that is its
 * own swap and drop. `from` is copied. As begin; RUNG_ELIMIT: RUNG_MATCHES_REMOVED_MAX matches are left out already. */
RUNG_NODISCARD rung_status rung_replay_without_match(rung_replay *r, rung_hub_sender from,
                                                     rung_slice board, uint64_t seq, rung_err *err);

/* Put the event that makes board and shadow change places, or back. */
RUNG_NODISCARD rung_status rung_replay_swap(rung_replay *r, rung_hub_sender from, rung_slice board,
                                            bool is_undo, rung_hub_answer *answer, void *ctx,
                                            rung_err *err);
/* End a replay, and drop its shadow. RUNG_UNCHANGED: done, and there was no shadow: `answer` is not called. */
RUNG_NODISCARD rung_status rung_replay_drop(rung_replay *r, rung_hub_sender from, rung_slice board,
                                            rung_hub_answer *answer, void *ctx, rung_err *err);

typedef enum rung_replay_phase {
    RUNG_REPLAY_READING,    /* the helper reads the log */
    RUNG_REPLAY_FILLING,    /* its parts go into the log */
    RUNG_REPLAY_READY,      /* complete, and follows the board */
    RUNG_REPLAY_SWAPPED,    /* it is the board; the old content follows */
    RUNG_REPLAY_FAILED,     /* `err` says why */
    RUNG_REPLAY_UNATTENDED, /* not complete, and not the work of this process */
} rung_replay_phase;
extern const char *const rung_replay_phase_words[]; /* NULL at the end */

typedef struct rung_replay_info {
    rung_replay_phase phase;
    uint64_t job;
    uint64_t seq, to_seq; /* of READING */
    uint64_t left_out;    /* submissions; of this process's jobs */
    bool has_shadow;      /* in the state: */
    rung_shadow_info shadow;
    const rung_replay_spec *spec; /* NULL: begun by another process */
    const rung_err *err;          /* of FAILED */
} rung_replay_info;
/* RUNG_OK, or RUNG_NOT_FOUND: the board has none. */
rung_status rung_replay_look_at(const rung_replay *r, rung_slice board, rung_replay_info *out);

/* Who moves where; begins to find out if that is not known, or if the board has changed since. NULL: not known yet.
 * Valid until the next call of any function. */
const rung_replay_report *rung_replay_report_of(rung_replay *r, rung_slice board);

#endif
