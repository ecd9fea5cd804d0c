/* SPDX-License-Identifier: Apache-2.0 */
/* commit.h - the only way from an accepted change to its answer: proposed to the log, delivered, applied, answered.
 *
 *     rung_commit_put(c, from, &event, sink, answer, ctx, &err);   // checked and queued
 *     rung_commit_place(c, from, read, ctx, &err);                 // a question between changes before and after
 *     rung_commit_propose(c);                                      // hand over what was put
 *     rung_commit_work(c, true, budget);                           // apply what the log delivers, answer
 *
 * What is applied is decoded from the bytes that the log delivers: live, replayed and foreign events cannot differ.
 * Items are worked off in the order in which they were put:
 *
 *     put a, place q, put b    ->    a applied, q called, b applied
 *
 * The server drives it from its loop, with a log that works beside it; the library after every change, with a log that
 * works when it is asked (hub.h). The log is any that keeps to log.h: it may deliver records of other nodes between our
 * own, reject a proposal, or say that it does not know what became of it.
 *
 *     open --(the log has no space)--> full --(it has again)--> open
 *     open, full --(rung_commit_close)--> closing
 *     any --(the log failed, or what it has cannot be applied)--> failed, for good
 *
 * Threads: one at a time. */
#ifndef RUNG_SERVICE_COMMIT_H
#define RUNG_SERVICE_COMMIT_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/log.h"
#include "model/event.h"
#include "service/admission.h"
#include "service/hub_follower.h"
#include "service/log_time.h"
#include "state/keyspace/keys.h"
#include "state/state.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_commit
    rung_commit; /* heap object; whoever created it calls rung_commit_destroy() */

typedef struct rung_commit_config {
    const rung_alloc *alloc;
    rung_state *state;                 /* borrowed; the commit line alone changes it */
    rung_log *log;                     /* borrowed, started at the state's next sequence */
    bool is_kept;                      /* the log outlives us: what it has must be applied */
    bool is_full;                      /* the log has no space, and that was said */
    rung_log_time *time;               /* borrowed */
    rung_memory_limit *memory;         /* borrowed; NULL: none */
    const rung_hub_follower *follower; /* borrowed; of `before` and `applied`. NULL: none */
    uint32_t waiting_max;              /* changes put and not answered, and as many questions */
    size_t bytes_max;                  /* of the changes; a power of two */
    int64_t at_ahead_ms;               /* as in rung_config */
    void (*fatal)(void *ctx, const rung_err *err); /* what the log has cannot be applied */
    void (*say)(void *ctx, const char *line);
    /* The log has space again; may put what must come before any other change. NULL: nothing. */
    void (*reopened)(void *ctx);
    void *ctx;
} rung_commit_config;

/* RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_commit_create(const rung_commit_config *config,
                                              rung_commit **commit_out, rung_err *err);
void rung_commit_destroy(rung_commit *c); /* NULL is fine. Nobody is answered any more */

/* ---- changes ---- */

/* The end of a change: what rung_state_apply returned, with its outcome (all zero unless a score) and, when
 * negative, why. Slices are valid during the call. May put and place; must not flush, turn, tick or close.
 * `outcome` is NULL when the change was not applied: RUNG_ENOSPC (the disk is full, nothing changed); RUNG_ENOMEM
 * (the same); after the log failed the failure (RUNG_EIO, ...): only the next start tells whether it is in the log. */
typedef void rung_hub_answer(void *ctx, rung_status st, const rung_outcome *outcome,
                             const rung_err *err);

/* Whose a change is, where the room is shared (base/fair.h). All zero: the server's own, limited by the room alone. */
typedef struct rung_hub_sender {
    uint32_t share;  /* below RUNG_FAIR_SHARES; rung_guard_share() makes it */
    bool is_patient; /* waits when it is refused (a stream, a pipeline), so it is refused earlier */
} rung_hub_sender;

/* Queue a change; the event's texts may go after the call. Sets event->ts_ms. `sink` may be NULL; else it is called
 * with `ctx` for every command of an event of kind RUNG_EVENT_KEYS as it takes effect (state/keyspace/keys.h), right
 * before `answer`. RUNG_OK: `answer` (may be NULL) will be called exactly once, later, never from here. Otherwise it
 * will not be, and nothing happened: RUNG_EINVAL naming the field; RUNG_EFUTURE: `at` is too far ahead; RUNG_ELIMIT:
 * too much is waiting, of this sender or in all; RUNG_EFULL (memory); RUNG_ENOSPC; RUNG_ECLOSED; the failure. */
RUNG_NODISCARD rung_status rung_commit_put(rung_commit *c, rung_hub_sender from, rung_event *event,
                                           rung_zkey_sink *sink, rung_hub_answer *answer, void *ctx,
                                           rung_err *err);

/* May anything be put at all? RUNG_OK, or what put would return. */
RUNG_NODISCARD rung_status rung_commit_may_put(const rung_commit *c, rung_err *err);

/* How much more may be put: senders are read from only as long as there is room. */
uint32_t rung_commit_room(const rung_commit *c, rung_hub_sender from);

/* If a window is due put a tick, which closes it; as the first change after a propose does by itself. */
void rung_commit_put_tick(rung_commit *c);

/* ---- questions in their place ---- */

typedef void rung_hub_reader(void *ctx);

/* Call `read` when all that was put so far has been applied and nothing that is put later. RUNG_OK or RUNG_ELIMIT. */
RUNG_NODISCARD rung_status rung_commit_place(rung_commit *c, rung_hub_sender from,
                                             rung_hub_reader *read, void *ctx, rung_err *err);

/* What answers and readers want done once for all of them, such as sending what they wrote. Embedded in the caller's
 * object; zero before use. */
typedef struct rung_hub_after {
    rung_hub_reader *call; /* may do what an answer may */
    void *ctx;
    bool is_waiting;
    struct rung_hub_after *next;
} rung_hub_after;
/* From an answer, a reader or a sink: call it when the answers and readers of this work are through. Fine also when it
 * waits already. */
void rung_commit_call_after(rung_commit *c, rung_hub_after *after);

/* From an answer, a reader or a sink that took long: let the loop have its turn before the next. */
void rung_commit_rest(rung_commit *c);

/* ---- the driver's part ---- */

/* Hand over what was put since, as much as the log takes. What it does not take now goes with the next call. */
void rung_commit_propose(rung_commit *c);
/* Apply and answer what the log delivers, or only what is left of its last delivery; call the questions that can be.
 * Not much more than `budget` items. True: there is more that could be done now. */
bool rung_commit_work(rung_commit *c, bool asks_log, uint64_t budget);
/* Call readers of others (waiters) as if they were ours: between these two they may call_after. */
void rung_commit_begin_calls(rung_commit *c);
void rung_commit_end_calls(rung_commit *c);
/* Apply nothing until told otherwise: a snapshot waits for the log. */
void rung_commit_hold(rung_commit *c, bool is_held);
void rung_commit_end_turn(rung_commit *c); /* what came so far is no longer new */
/* From now on nothing is put. */
void rung_commit_close(rung_commit *c);
/* Fail for good for a reason of the driver's: all that waits is refused. */
void rung_commit_fail(rung_commit *c, rung_status st, const rung_err *cause);

bool rung_commit_is_idle(const rung_commit *c); /* nothing is put, placed or in flight */
/* Something was put or placed since the last end_turn, so another propose would hand it over. What the log had no room
 * for does not count: it goes with the log's next word. */
bool rung_commit_has_new(const rung_commit *c);
bool rung_commit_is_working(const rung_commit *c); /* answers and questions are being called */

typedef struct rung_commit_stats {
    rung_status status;     /* RUNG_OK; RUNG_ENOSPC while the disk is full; or the failure */
    uint64_t put, answered; /* changes */
    uint64_t refused;       /* turned away at put, or answered without having been applied */
    uint32_t waiting;       /* put and not answered */
} rung_commit_stats;
rung_commit_stats rung_commit_stat(const rung_commit *c);
/* Why nothing is put any more; code RUNG_OK while all is well. Valid as long as `c`. */
const rung_err *rung_commit_failure(const rung_commit *c);

#endif
