/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - a data folder: the log and the snapshots of one state.
 *
 *     rung_store_open(&config, &store, &state, &err);   // lock, load the newest valid snapshot, replay
 *     ... the commit line proposes to rung_store_log(store) ...
 *     rung_store_save(store, state, &err);              // write a snapshot
 *     rung_store_save_begin(store, state, &err);        // or in a child process
 *     rung_store_close(store, &err);
 *
 * The state belongs to the caller. Threads: one at a time. */
#ifndef RUNG_SERVICE_STORE_H
#define RUNG_SERVICE_STORE_H

#include "base/alloc.h"
#include "base/random.h"
#include "base/status.h"
#include "journal/file.h"
#include "journal/log.h"
#include "journal/snapshot_file.h"
#include "journal/snapshot_list.h"
#include "journal/writer.h"
#include "service/child.h"
#include "service/hub_follower.h"
#include "service/nodes.h"
#include "state/image/save.h"
#include "state/state.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_store rung_store; /* heap object; whoever opened it calls rung_store_close() */

typedef struct rung_store_config {
    const rung_fs *fs; /* NULL: the operating system's files */
    const rung_alloc *alloc;
    const rung_children *children; /* write snapshots in the background; NULL: forked processes */
    const char *path;
    /* A log that is elsewhere: the folder has its snapshots only. The store closes it, also when it cannot be opened.
     * NULL: the folder's own log, of: */
    rung_log *log;
    uint64_t segment_size;     /* as in segment_log.h */
    rung_writer_config writer; /* of the log; is_patient: see rung_store_stats.is_full */
    /* Must not set id_capacity, id_keep_ms or rules_level: a log gives the same state whoever opens it. Events change
     * them (rung_store_ids_event, rung_store_rules_event). */
    rung_state_config state;
    const rung_hub_follower
        *follower; /* of the replay: begin, before, applied, passed, catch_up; may be NULL */
    /* With a shared log: this server among the others, without id and run, which the folder has. */
    rung_nodes_config nodes;
    const rung_random *random; /* for a new id; NULL: the system's */
    /* Progress while opening; `what` is "snapshot" or "log". May be NULL. */
    void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
    void (*say)(void *ctx, const char *line); /* one line for the operator; may be NULL */
    void *ctx;
} rung_store_config;

/* RUNG_OK: the state reflects the whole log, and the log accepts proposals. RUNG_EBUSY names the process that has the
 * folder open. RUNG_ECORRUPT: damage, a gap between snapshot and log, or (RUNG_REASON_DIVERGED) the other servers have
 * another state. A damaged snapshot is reported and skipped if
 * an older one or the whole log exists. RUNG_EVERSION, RUNG_EIO, RUNG_ENOSPC, RUNG_ENOMEM. On failure nothing is
 * open. */
RUNG_NODISCARD rung_status rung_store_open(const rung_store_config *config, rung_store **store_out,
                                           rung_state **state_out, rung_err *err);

/* Load a snapshot and check it against its digest. RUNG_ECORRUPT: it is damaged. */
RUNG_NODISCARD rung_status rung_store_load_snapshot(rung_snapshot_reader *reader,
                                                    const rung_state_config *config,
                                                    const rung_save_progress *progress,
                                                    const rung_load_helper *beside,
                                                    rung_state **state_out, rung_err *err);

/* The event that sets how many submission ids are remembered and for how long (0: unchanged). False: no change. */
bool rung_store_ids_event(const rung_state *state, uint32_t id_capacity, int64_t id_keep_ms,
                          rung_event *event_out);

/* The event that raises the state to this program's level of rules. False: it is at that level. */
bool rung_store_rules_event(const rung_state *state, rung_event *event_out);

/* Wait for a running save, sync and close the log. Releases the store even on failure. Accepts NULL. */
rung_status rung_store_close(rung_store *s, rung_err *err);

rung_log *rung_store_log(rung_store *s);             /* borrowed, started */
const rung_dir *rung_store_dir(const rung_store *s); /* the folder; borrowed */
rung_nodes *rung_store_nodes(rung_store *s);         /* borrowed; NULL: the log is not shared */

typedef struct rung_store_stats {
    uint64_t snapshot_seq;   /* of the loaded snapshot; 0: none */
    uint64_t replayed_bytes; /* of log after it */
    uint64_t replay_us;      /* the time that took */
    bool is_full;            /* no space for the log, which accepts proposals once there is some */
} rung_store_stats;
rung_store_stats rung_store_stat(const rung_store *s); /* about the opening */

/* RUNG_OK; RUNG_EABSENT: the folder was removed or replaced since it was opened. */
RUNG_NODISCARD rung_status rung_store_check_place(const rung_store *s, rung_err *err);

/* Coming saves keep these snapshots (ascending) besides the newest two, and remove all others: those that a former list
 * named before they write, to have the space. Never called: they keep two. RUNG_ENOMEM leaves the former list. */
RUNG_NODISCARD rung_status rung_store_keep(rung_store *s, const uint64_t *seqs, size_t count,
                                           rung_err *err);
/* Remove now what the next save would remove first. Not while one is being written. */
void rung_store_remove_old(rung_store *s);

/* Write a snapshot of `state`, whose events must be durable: sync first. RUNG_OK;
 * RUNG_UNCHANGED: the newest snapshot has this sequence; RUNG_EBUSY: one is being written. */
RUNG_NODISCARD rung_status rung_store_save(rung_store *s, const rung_state *state, rung_err *err);

/* The same in a forked child, which shares memory copy-on-write. RUNG_OK: it has started. The child exits when this
 * process does. */
RUNG_NODISCARD rung_status rung_store_save_begin(rung_store *s, const rung_state *state,
                                                 rung_err *err);

/* The child's result, returned once: RUNG_OK or its failure. RUNG_PARTIAL: still writing (never with `wait`);
 * RUNG_NOT_FOUND: no child. Without `wait` it never blocks, not even while the kernel frees the child's memory. */
RUNG_NODISCARD rung_status rung_store_save_poll(rung_store *s, bool wait, rung_err *err);

/* Kill the child, if there is one: its snapshot must not get a name. */
void rung_store_save_cancel(rung_store *s);

/* The newest two snapshots contain the records before this sequence; 0 or 1: there are fewer than two. */
RUNG_NODISCARD rung_status rung_store_needed_from(rung_store *s, uint64_t *seq_out, rung_err *err);

/* The snapshots of the folder, read from its files. The caller releases the list. */
RUNG_NODISCARD rung_status rung_store_list(const rung_store *s, rung_snapshot_entries *out,
                                           rung_err *err);
/* The one at `seq`. RUNG_NOT_FOUND, RUNG_ECORRUPT. */
RUNG_NODISCARD rung_status rung_store_entry(const rung_store *s, uint64_t seq,
                                            rung_snapshot_entry *out, rung_err *err);
/* The bytes on the disk of the log's files with records from `seq` on; 0 if the log is elsewhere. */
uint64_t rung_store_log_bytes(const rung_store *s, uint64_t seq);

#endif
