/* SPDX-License-Identifier: Apache-2.0 */
/* feed_replay.h - records of the change feed that are no longer in memory, made again from the log. Private to the
 * room.
 *
 * A second state is loaded from a snapshot that is old enough, or begins empty where the log still has its first event,
 * and events are applied to it in the pace of the brokers. It takes as much memory as the server's own state, until it
 * has caught up. Threads: one. */
#ifndef RUNG_STREAM_FEED_REPLAY_H
#define RUNG_STREAM_FEED_REPLAY_H

#include "journal/file.h"
#include "journal/log.h"
#include "stream/feed_record.h"

typedef struct rung__feed_replay rung__feed_replay;

typedef struct rung__feed_replay_config {
    const rung_alloc *alloc;
    const rung_fs *fs;  /* NULL: the operating system's */
    const char *folder; /* with the snapshots */
    rung_log *log;
    const uint8_t *log_id;
    rung__feed_writer *writer; /* borrowed */
} rung__feed_replay_config;

/* Records from event `from` on are wanted; from `until` on they are in memory. RUNG_OK: the first event with all its
 * records will be *first_out, `from` if possible and always before `until`. RUNG_NOT_FOUND: neither snapshots nor the
 * log reach back before `until`. */
RUNG_NODISCARD rung_status rung__feed_replay_open(const rung__feed_replay_config *config,
                                                  uint64_t from, uint64_t until,
                                                  rung__feed_replay **out, uint64_t *first_out,
                                                  rung_err *err);
/* Apply some events, `last` at most; the writer gets what they change. RUNG_OK; RUNG_NOT_FOUND: the log has no more. */
RUNG_NODISCARD rung_status rung__feed_replay_step(rung__feed_replay *r, uint64_t last,
                                                  rung_err *err);
uint64_t rung__feed_replay_seq(const rung__feed_replay *r); /* the last event applied */
void rung__feed_replay_close(rung__feed_replay *r);         /* accepts NULL */

#endif
