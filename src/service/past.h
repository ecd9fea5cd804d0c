/* SPDX-License-Identifier: Apache-2.0 */
/* past.h - the state of a folder as it was at a moment, beside the server that writes the folder.
 *
 *     rung_moment_parse(RUNG_SLICE("2026-11-15T14:00:00Z"), &config.moment, &err);   // or "81934"
 *     rung_past_open(&config, &past, &err);         // nearest snapshot at or before it, and the log up to it
 *     ... questions to rung_past_state(past), with rung_past_now(past) as the time ...
 *     rung_past_advance(past, &later, &err);        // the same state, further on
 *     rung_past_close(past);
 *
 * Takes no lock, and writes nothing. A sequence means all records up to it, and "now" is the log's time there. A time
 * means all records before the first event that is later, and "now" is that time. The same moment always gives the same
 * state. Threads: one at a time; opening may use another one. */
#ifndef RUNG_SERVICE_PAST_H
#define RUNG_SERVICE_PAST_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/worker.h"
#include "service/hub_follower.h"
#include "service/movers.h"
#include "service/past_log.h"
#include "state/state.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_moment {
    uint64_t seq;     /* 0: the moment is a time */
    int64_t time_ms;  /* of a time */
    int64_t since_ms; /* also keep the ranks of so long before (movers.h); 0: no */
} rung_moment;

/* Only digits: a sequence, 1 or more. Otherwise a time as rung_time_parse() reads it. RUNG_EINVAL or RUNG_ERANGE with
 * the field as_of. */
RUNG_NODISCARD rung_status rung_moment_parse(rung_slice text, rung_moment *moment_out,
                                             rung_err *err);

/* What can be answered: every moment from `oldest` on. */
typedef struct rung_past_span {
    uint64_t first_seq, last_seq; /* last: as far as the log was seen */
    int64_t first_ms;             /* the log's time at first_seq, or a little later */
} rung_past_span;

typedef struct rung_past rung_past; /* heap object; rung_past_close() frees it */

typedef struct rung_past_config {
    rung_past_log_config log;
    rung_moment moment;
    int64_t now_ms;      /* a later time is refused; 0: none is */
    uint64_t memory_max; /* of the state; 0: no limit */
    rung_hash_key hash_key;
    const rung_threads *threads; /* NULL: the system's */
    bool may_be_empty;           /* a moment before the first record is the empty state */
    /* Of the replayed records: before, prepare, applied, passed, on_close. May be NULL; not with the moment's
     * since_ms. */
    const rung_hub_follower *follower;
    /* `what` is "time", "snapshot" or "log". Return false to give up (RUNG_ECLOSED). May be NULL. */
    bool (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
    void *ctx;
} rung_past_config;

/* RUNG_EABSENT with RUNG_REASON_TOO_OLD and the field as_of: the log no longer reaches back; the message names the
 * oldest moment, and so does `span_out`. RUNG_EINVAL with the field as_of: the moment is in the future. RUNG_ENOMEM:
 * more than memory_max. Otherwise as rung_past_log_open(), or RUNG_ECORRUPT. `span_out` may be NULL; it is filled for
 * RUNG_OK and RUNG_REASON_TOO_OLD. */
RUNG_NODISCARD rung_status rung_past_open(const rung_past_config *config, rung_past **past_out,
                                          rung_past_span *span_out, rung_err *err);
void rung_past_close(rung_past *p); /* with its state; accepts NULL */

/* Go on to a moment that is not earlier. As rung_past_open(); after a failure only close remains. */
RUNG_NODISCARD rung_status rung_past_advance(rung_past *p, const rung_moment *to, rung_err *err);

rung_state *rung_past_state(const rung_past *p); /* borrowed */
int64_t rung_past_now(const rung_past *p);
uint64_t rung_past_memory(const rung_past *p); /* of the state, in bytes */
/* Borrowed, for a caller that applies the records after the moment itself. */
rung_past_log *rung_past_log_of(const rung_past *p);
/* With the moment's since_ms; otherwise NULL. Borrowed. */
const rung_movers *rung_past_movers(const rung_past *p);

/* What a folder can answer. Reads little. */
RUNG_NODISCARD rung_status rung_past_look(const rung_past_log_config *config,
                                          rung_past_span *span_out, rung_err *err);

#endif
