/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - a folder that keeps a state: its log and its snapshots. Open it, save into it, let
 * go what is not needed.
 *
 *     rung_store_open(&config, &store, &state, &err);   // lock, newest whole snapshot, replay of the rest, ready
 *     ... the commit line proposes to rung_store_log(store) ...
 *     rung_store_save(store, state, &err);              // a snapshot, here and now
 *     rung_store_save_begin(store, state, &err);        // or in a child process, while we go on
 *     rung_store_close(store, &err);
 *
 * The state belongs to the caller. Threads: one at a time. */
#ifndef RUNG_SERVICE_STORE_H
#define RUNG_SERVICE_STORE_H

#include "base/alloc.h"
#include "base/status.h"
#include "journal/file.h"
#include "journal/log.h"
#include "journal/snapshot_file.h"
#include "journal/writer.h"
#include "service/child.h"
#include "service/hub_follower.h"
#include "state/image/save.h"
#include "state/state.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_store rung_store; /* heap object; whoever opened it calls rung_store_close() */

typedef struct rung_store_config {
    const rung_fs *fs; /* NULL: the operating system's files */
    const rung_alloc *alloc;
    const rung_children *children; /* who writes snapshots in the background; NULL: forked ones */
    const char *path;
    /* A log that is elsewhere: the folder has its snapshots only. The store closes it, also when it cannot be opened.
     * NULL: the folder's own log, of: */
    rung_log *log;
    uint64_t segment_size;     /* as in segment_log.h */
    rung_writer_config writer; /* of its log; is_patient: see rung_store_stats.is_full */
    rung_state_config
        state; /* without id_capacity, id_keep_ms and rules_level: what a log gives must not depend on who opens
                  it. Events change them (rung_store_ids_event, rung_store_rules_event) */
    const rung_hub_follower
        *follower; /* of the replay: begin, before, applied, catch_up. NULL: none */
    /* While opening: what is being read ("snapshot", "log"), and how far it is. May be NULL. */
    void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
    void (*say)(void *ctx, const char *line); /* one line for the operator; may be NULL */
    void *ctx;
} rung_store_config;

/* RUNG_OK: the state is all of the log, and the log takes proposals. RUNG_EBUSY names the process
 * that has it. RUNG_ECORRUPT: damage, or a gap between snapshot and log; a damaged snapshot
 * alone is passed over (and said) where an older one or the whole log is there. RUNG_EVERSION,
 * RUNG_EIO, RUNG_ENOSPC, RUNG_ENOMEM. On failure nothing is open. */
RUNG_NODISCARD rung_status rung_store_open(const rung_store_config *config, rung_store **store_out,
                                           rung_state **state_out, rung_err *err);

/* Load a snapshot and check it against its digest. RUNG_ECORRUPT: it is damaged. */
RUNG_NODISCARD rung_status rung_store_load_snapshot(rung_snapshot_reader *reader,
                                                    const rung_state_config *config,
                                                    const rung_save_progress *progress,
                                                    const rung_load_helper *beside,
                                                    rung_state **state_out, rung_err *err);

/* The event that gives the state this memory for ids (0: as it is); false when it has it. */
bool rung_store_ids_event(const rung_state *state, uint32_t id_capacity, int64_t id_keep_ms,
                          rung_event *event_out);

/* The event that raises the state to the rules of this program; false when it has them. */
bool rung_store_rules_event(const rung_state *state, rung_event *event_out);

/* Wait for a save under way, sync and close the log. The store is gone whatever is returned.
 * Accepts NULL. */
rung_status rung_store_close(rung_store *s, rung_err *err);

rung_log *rung_store_log(rung_store *s);             /* borrowed, started */
const rung_dir *rung_store_dir(const rung_store *s); /* the folder; borrowed */

typedef struct rung_store_stats {
    uint64_t snapshot_seq;   /* of the snapshot that was loaded; 0: none */
    uint64_t replayed_bytes; /* of log behind it */
    bool is_full; /* there is no space for the log: it takes proposals when it has found some */
} rung_store_stats;
rung_store_stats rung_store_stat(const rung_store *s); /* how it was opened */

/* Is the folder still where it was opened? RUNG_OK; RUNG_EABSENT: it was removed or replaced. */
RUNG_NODISCARD rung_status rung_store_check_place(const rung_store *s, rung_err *err);

/* Write a snapshot of `state`, which must be durable in the log: sync first. RUNG_OK;
 * RUNG_UNCHANGED when the newest one is of this very sequence; RUNG_EBUSY while one is being
 * written. Two are kept. */
RUNG_NODISCARD rung_status rung_store_save(rung_store *s, const rung_state *state, rung_err *err);

/* The same in a forked child, which shares the memory page by page until one of the two writes
 * to it. RUNG_OK: it is under way. The child ends by itself when this process does. */
RUNG_NODISCARD rung_status rung_store_save_begin(rung_store *s, const rung_state *state,
                                                 rung_err *err);

/* How the child fares: asking never waits, not even for the memory of a child that has ended. RUNG_PARTIAL: still
 * writing (never with `wait`); RUNG_NOT_FOUND: there is none; RUNG_OK or its failure, told once. */
RUNG_NODISCARD rung_status rung_store_save_poll(rung_store *s, bool wait, rung_err *err);

/* Records before this sequence are in both snapshots and may go; 0 or 1 while there are not two. */
RUNG_NODISCARD rung_status rung_store_needed_from(rung_store *s, uint64_t *seq_out, rung_err *err);

#endif
