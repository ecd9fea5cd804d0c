/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - the one way in: make an event durable, then apply it, then answer.
 *
 *     rung_engine_put(e, &event, &err);                 // checked, stamped, encoded; nothing has happened yet
 *     ... up to rung_engine_is_full() ...
 *     rung_engine_commit(e, answer, ctx, &err);         // logged, synced, applied, answered one by one
 *
 * What is applied is decoded from the bytes that were logged, by the function that replays a
 * log: live and replayed events cannot differ. Without a log the same steps are taken, only
 * nothing is written.
 *
 * Threads: one at a time. */
#ifndef RUNG_SERVICE_ENGINE_H
#define RUNG_SERVICE_ENGINE_H

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "journal/log.h"
#include "model/event.h"
#include "service/applier.h"
#include "state/state.h"

#include <stdbool.h>
#include <stdint.h>

/* A batch is full with so many events, or so many bytes. Tiny in tests, so that many are. */
#ifdef RUNG_TEST_BUILD
#define RUNG_ENGINE_BATCH_RECORDS 64u
#define RUNG_ENGINE_BATCH_BYTES   ((size_t)1 << 16)
#else
#define RUNG_ENGINE_BATCH_RECORDS 4096u
#define RUNG_ENGINE_BATCH_BYTES   ((size_t)1 << 20)
#endif
/* The most a batch takes in a log: one event more than full, a tick, and 40 bytes of frame for
 * each. */
#define RUNG_ENGINE_FRAMED_MAX                                                                     \
    (RUNG_ENGINE_BATCH_BYTES + RUNG_EVENT_BYTES_MAX + (RUNG_ENGINE_BATCH_RECORDS + 1) * 40)

typedef struct rung_engine
    rung_engine; /* heap object; whoever created it calls rung_engine_destroy() */

typedef struct rung_engine_config {
    const rung_alloc *alloc;
    rung_clock clock;
    rung_state *state; /* borrowed; the engine alone changes it */
    rung_log
        *log; /* borrowed, started, at the same sequence as the state; NULL: events are not kept */
    int64_t at_ahead_ms; /* as in rung_config */
    uint32_t
        sync_every_ms; /* 0: sync before every answer. Else answer when written: needs a relaxed log */
} rung_engine_config;

/* RUNG_OK, RUNG_ENOMEM, or RUNG_EINVAL when the log's batches are too small
 * (RUNG_ENGINE_FRAMED_MAX). */
RUNG_NODISCARD rung_status rung_engine_create(const rung_engine_config *config,
                                              rung_engine **engine_out, rung_err *err);
void rung_engine_destroy(rung_engine *e); /* accepts NULL; syncs nothing */

/* Add an event to the batch, when it is not full, and set its ts_ms: the time of the batch's
 * first. A refusal (as rung_event_check; RUNG_EFUTURE: `at` is too far ahead) leaves the batch as
 * it was; `err` names the field. The failure of the log, once it failed. */
RUNG_NODISCARD rung_status rung_engine_put(rung_engine *e, rung_event *event, rung_err *err);
bool rung_engine_is_full(const rung_engine *e);
uint32_t rung_engine_waiting(const rung_engine *e); /* events in the batch */

/* The answer to the i-th event of a batch. Must not use the engine. */
typedef rung_applier_answer rung_engine_answer;

/* Log, sync, apply, answer, in order; the batch is empty afterwards. If a window's time is up, a
 * tick goes first. RUNG_OK: every event was answered. Otherwise those not answered did not
 * happen:
 *   RUNG_ENOSPC  the disk is full; may be tried again
 *   RUNG_ENOMEM  may be tried again (with a log: unless put says otherwise)
 *   any other    the log failed, or memory ran out behind it: every later put says so again; reading goes on, and only
 *                opening the log anew tells which of the unanswered are in it */
RUNG_NODISCARD rung_status rung_engine_commit(rung_engine *e, rung_engine_answer *answer, void *ctx,
                                              rung_err *err);

/* One event and nothing else: put and commit. `out` may be NULL; its slices are valid until the
 * next change. */
RUNG_NODISCARD rung_status rung_engine_submit(rung_engine *e, rung_event *event, rung_outcome *out,
                                              rung_err *err);

/* Close what is due and sync what waited long enough. RUNG_OK, or RUNG_UNCHANGED when there was
 * nothing to do. */
RUNG_NODISCARD rung_status rung_engine_tick(rung_engine *e, rung_err *err);

/* Everything answered is on stable storage. */
RUNG_NODISCARD rung_status rung_engine_sync(rung_engine *e, rung_err *err);

int64_t rung_engine_now(const rung_engine *e);

/* Apply what a log record holds, at its sequence: the step that live events and replay share.
 * RUNG_OK also when the state refuses the event, as it did before; RUNG_ECORRUPT when the
 * sequence is not the state's next or the bytes are no event; RUNG_EVERSION, RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_engine_replay(rung_state *state, const rung_alloc *alloc,
                                              const rung_log_record *records, size_t count,
                                              rung_err *err);

#endif
