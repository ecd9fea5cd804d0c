/* SPDX-License-Identifier: Apache-2.0 */
/* commit.h - the commit line, the only path from an accepted change to its answer: propose, deliver, apply, answer.
 *
 *     rung_commit_put(c, from, &event, sink, answer, ctx, &err);   // check and queue a change
 *     rung_commit_place(c, from, read, ctx, &err);                 // queue a question between changes
 *     rung_commit_propose(c);                                      // pass what was put to the log
 *     rung_commit_work(c, true, budget);                           // apply what the log delivers, answer
 *
 * Events are applied from the bytes that the log delivers, so live, replayed and foreign events cannot differ. Items
 * are processed in the order in which they were put:
 *
 *     put a, place q, put b    ->    a applied, q called, b applied
 *
 * The server drives it from its loop with an asynchronous log, the library after every change with an inline one
 * (hub.h). Any log that implements log.h will do, also one that delivers records of other nodes.
 *
 *     open --(the log has no space)--> full --(it has again)--> open
 *     open, full --(rung_commit_close)--> closing
 *     any --(the log failed, or what it has cannot be applied)--> failed, for good
 *     any --(the servers' vote: our state is not theirs)--> failed, for good; `fatal` is not called
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
#include "service/nodes.h"
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
    bool is_kept;                      /* the log is durable: all it has must be applied */
    bool is_full;                      /* the log has no space, and that was reported */
    bool is_past;                      /* the state is that of the past: refuse all changes */
    rung_log_time *time;               /* borrowed */
    rung_memory_limit *memory;         /* borrowed; NULL: none */
    const rung_hub_follower *follower; /* borrowed; of `before`, `applied`, `passed`. NULL: none */
    rung_nodes *nodes;                 /* borrowed; of a shared log. NULL: none */
    uint32_t waiting_max;              /* changes in flight, and as many questions */
    size_t bytes_max;                  /* of changes in flight; a power of two */
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

/* The answer to a change: the status and outcome of rung_state_apply (outcome all zero unless a score), and `err` if
 * the status is negative. Slices are valid during the call. May put and place; must not flush, turn, tick or close.
 * `outcome` is NULL if the change was not applied: RUNG_ENOSPC and RUNG_ENOMEM: nothing changed; after a failure of
 * the log (RUNG_EIO, ...) only the next start knows whether the log has it. */
typedef void rung_hub_answer(void *ctx, rung_status st, const rung_outcome *outcome,
                             const rung_err *err);

/* The sender, for fair shares of the limits (base/fair.h). All zero: the server itself, with no share of its own. */
typedef struct rung_hub_sender {
    uint32_t share;          /* below RUNG_FAIR_SHARES; from rung_access_share() */
    bool is_patient;         /* can wait (a stream, a pipeline), so it is refused earlier */
    const rung_actor *actor; /* recorded with events of the audit trail; NULL: not recorded */
} rung_hub_sender;

/* Queue a change; the event is copied. Sets event->ts_ms, has_actor and actor. `sink` (may be NULL) is called with
 * `ctx` for every command of an event of kind RUNG_EVENT_KEYS as it takes effect (state/keyspace/keys.h), right before
 * `answer`. RUNG_OK: `answer` (may be NULL) is called exactly once, later. Otherwise nothing happened and it is not
 * called: RUNG_EINVAL names the field; RUNG_EFUTURE: `at` is too far ahead; RUNG_ELIMIT: too much is in flight, in all
 * or for this sender; RUNG_EFULL (memory); RUNG_ENOSPC; RUNG_ECLOSED; the failure. */
RUNG_NODISCARD rung_status rung_commit_put(rung_commit *c, rung_hub_sender from, rung_event *event,
                                           rung_zkey_sink *sink, rung_hub_answer *answer, void *ctx,
                                           rung_err *err);

/* RUNG_OK, or what put would return for any change. */
RUNG_NODISCARD rung_status rung_commit_may_put(const rung_commit *c, rung_err *err);

/* How many more changes the sender may put. 0: stop reading from it. */
uint32_t rung_commit_room(const rung_commit *c, rung_hub_sender from);

/* Put a tick if a window is due to close. The first put after a propose does the same. */
void rung_commit_put_tick(rung_commit *c);

/* Is none of our reports in flight, and would one be taken? Also after close. */
bool rung_commit_may_report(const rung_commit *c);
/* Put a report of this server; the bytes are copied. RUNG_EBUSY: may_report; RUNG_ELIMIT: no room. */
RUNG_NODISCARD rung_status rung_commit_put_report(rung_commit *c, const void *bytes, size_t len);

/* ---- questions between changes ---- */

typedef void rung_hub_reader(void *ctx);

/* Call `read` after everything put so far is applied, and before anything put later is. RUNG_OK or RUNG_ELIMIT. */
RUNG_NODISCARD rung_status rung_commit_place(rung_commit *c, rung_hub_sender from,
                                             rung_hub_reader *read, void *ctx, rung_err *err);

/* A callback after a group of answers and readers, such as sending what they wrote. Embedded in the caller's object;
 * zero before use. */
typedef struct rung_hub_after {
    rung_hub_reader *call; /* may do what an answer may */
    void *ctx;
    bool is_waiting;
    struct rung_hub_after *next;
} rung_hub_after;
/* From an answer, a reader or a sink: call it once after the answers and readers of this work. */
void rung_commit_call_after(rung_commit *c, rung_hub_after *after);

/* From an answer, a reader or a sink that took long: return to the loop before the next. */
void rung_commit_rest(rung_commit *c);

/* ---- for the driver ---- */

/* Propose what was put, as much as the log takes; the rest goes with the next call. */
void rung_commit_propose(rung_commit *c);
/* Apply and answer what the log delivers (without `asks_log`: what is left of its last delivery), and call the
 * questions that are due. Stops soon after `budget` items. True: there is more to do now. */
bool rung_commit_work(rung_commit *c, bool asks_log, uint64_t budget);
/* Between these two, other callbacks (waiters) may use call_after and rest. */
void rung_commit_begin_calls(rung_commit *c);
void rung_commit_end_calls(rung_commit *c);
/* While held, nothing is applied: a snapshot waits for the log. */
void rung_commit_hold(rung_commit *c, bool is_held);
void rung_commit_end_turn(rung_commit *c); /* what came so far is no longer new */
/* Refuse all further changes. */
void rung_commit_close(rung_commit *c);
/* Fail for good: refuse all that is queued. */
void rung_commit_fail(rung_commit *c, rung_status st, const rung_err *cause);

bool rung_commit_is_idle(const rung_commit *c); /* nothing is put, placed or in flight */
/* Something was put or placed since the last end_turn, so another propose would hand it over. What the log had no room
 * for does not count: it goes with the log's next word. */
bool rung_commit_has_new(const rung_commit *c);
bool rung_commit_is_working(const rung_commit *c); /* answers and questions are being called */

typedef struct rung_commit_stats {
    rung_status status;     /* RUNG_OK; RUNG_ENOSPC while the disk is full; or the failure */
    uint64_t put, answered; /* changes */
    uint64_t refused;       /* by put, or answered without being applied */
    uint32_t waiting;       /* put and not answered */
} rung_commit_stats;
rung_commit_stats rung_commit_stat(const rung_commit *c);
/* The failure; code RUNG_OK: none. Valid as long as `c`. */
const rung_err *rung_commit_failure(const rung_commit *c);

#endif
