/* SPDX-License-Identifier: Apache-2.0 */
/* replay_source.h - the work of a replay's helper: the log folded again, and the shadow as parts (replay_fold.h).
 *
 *     rung_replay_source_open(&config, &spec, &source, &err);            // the state before the board was created
 *     rung_replay_source_ask(source, &(rung_replay_ask){.to_seq = 81934}, &reply, &err);      // until RUNG_OK
 *     rung_replay_source_ask(source, &(rung_replay_ask){.is_piece = true}, &reply, &err);     // until RUNG_NOT_FOUND
 *     rung_replay_source_close(source);
 *
 * Takes no lock and writes nothing, beside the server that writes the log. Threads: one at a time. */
#ifndef RUNG_SERVICE_REPLAY_SOURCE_H
#define RUNG_SERVICE_REPLAY_SOURCE_H

#include "service/past.h"
#include "service/replay_fold.h"

typedef struct rung_replay_source
    rung_replay_source; /* heap object; rung_replay_source_close() frees it */

typedef struct rung_replay_source_config {
    rung_past_log_config log;
    uint64_t memory_max; /* of the state; 0: no limit */
    rung_hash_key hash_key;
    const rung_threads *threads; /* NULL: the system's */
} rung_replay_source_config;

typedef struct rung_replay_ask {
    bool is_piece;   /* the next part of the shadow; otherwise: fold the log */
    bool begins;     /* of a piece: the first one */
    bool only_noted; /* of the first piece: only what changed since the last round */
    uint64_t to_seq; /* of a fold: exactly up to this record */
} rung_replay_ask;

typedef struct rung_replay_reply {
    uint64_t seq;      /* folded so far */
    uint64_t left_out; /* submissions */
    rung_slice piece;  /* valid until the next call */
} rung_replay_reply;

/* The spec is borrowed until close. RUNG_EABSENT with RUNG_REASON_TOO_OLD and the field board: the kept log does not
 * reach back to the creation of the board; otherwise as rung_past_open(). */
RUNG_NODISCARD rung_status rung_replay_source_open(const rung_replay_source_config *config,
                                                   const rung_replay_spec *spec,
                                                   rung_replay_source **out, rung_err *err);
void rung_replay_source_close(rung_replay_source *s); /* accepts NULL */

/* A fold: RUNG_OK: it is there; RUNG_PARTIAL: ask again; otherwise as rung_replay_fold_apply(). A piece: RUNG_OK, or
 * RUNG_NOT_FOUND: that was the last one. */
RUNG_NODISCARD rung_status rung_replay_source_ask(rung_replay_source *s, const rung_replay_ask *ask,
                                                  rung_replay_reply *out, rung_err *err);

#endif
