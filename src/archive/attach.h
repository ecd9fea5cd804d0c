/* SPDX-License-Identifier: Apache-2.0 */
/* attach.h - an archive attached to a hub: the SQLite file of a folder, its follower and its sampler behind the
 * port that the hub calls, and a second way into the file for questions.
 *
 *     rung_attach_create(&(rung_attach_config){.alloc = a, .folder = path}, &attach, &err);
 *     hub_config.follower = rung_attach_port(attach);
 *     rung_hub_open(&hub_config, &hub, &err);            // opens the file; fails on one that is another log's
 *     if (rung_attach_reader(attach, &archive, &err) == RUNG_OK) ... rung_archive_view_open(archive, ...) ...
 *     rung_hub_close(hub, &err);                         // archives what is ready, closes the file
 *     rung_attach_destroy(attach);
 *
 * What is wrong with the file is said when it begins: that it was emptied, that it misses events which the log no
 * longer has. Damage inside it is looked for in a thread of its own, since that takes as long as reading the file.
 *
 * Threads: the owner of the state; rung_attach_stat(), rung_attach_mark() and rung_attach_checked() from any. */
#ifndef RUNG_ARCHIVE_ATTACH_H
#define RUNG_ARCHIVE_ATTACH_H

#include "archive/archive.h"
#include "archive/follower.h"
#include "service/hub_follower.h"

/* heap object; whoever created it calls rung_attach_destroy() */
typedef struct rung_attach rung_attach;

#define RUNG_ATTACH_FILE "archive.db" /* inside the folder */

/* Zero is a good default for every field but alloc, and one of folder and path. Texts are used until destroy. */
typedef struct rung_attach_config {
    const rung_alloc *alloc;
    const char *folder; /* the hub's: the file is RUNG_ATTACH_FILE in it */
    const char *path;   /* or the file itself */
    /* limits and times; what is ours (archive, log, alloc, first_seq) is set here */
    rung_follower_config follower;
    uint32_t sample_players_max; /* as in sampler.h */
    size_t replay_bytes_max; /* of closed windows that wait while a log is replayed; 0: 128 MiB */
    const char *vfs;         /* as in sqlite_archive.h */
    /* one line for the operator; from any thread; may be NULL */
    void (*say)(void *ctx, const char *line);
    void *ctx;
} rung_attach_config;

/* RUNG_OK, RUNG_EINVAL (no folder and no path, or too long), RUNG_ENOMEM. Nothing is opened yet. */
RUNG_NODISCARD rung_status rung_attach_create(const rung_attach_config *config, rung_attach **out,
                                              rung_err *err);
/* After the hub was closed. Accepts NULL. */
void rung_attach_destroy(rung_attach *a);

/* For the hub's configuration; valid until destroy. Its `begin` answers what rung_sqlite_archive_open() and
 * rung_follower_create() do. */
const rung_hub_follower *rung_attach_port(rung_attach *a);

/* The archive for questions: borrowed, read-only, closed with the hub. RUNG_OK; RUNG_NOT_FOUND: there is none yet;
 * or why it cannot be opened. Opened at the first call. */
RUNG_NODISCARD rung_status rung_attach_reader(rung_attach *a, rung_archive **archive_out,
                                              rung_err *err);
/* Another one, for another thread. RUNG_ELIMIT: there are RUNG_ATTACH_READERS_MAX. */
#define RUNG_ATTACH_READERS_MAX 3
RUNG_NODISCARD rung_status rung_attach_add_reader(rung_attach *a, rung_archive **archive_out,
                                                  rung_err *err);

/* How far it is and how it fares; all zero while no hub is open. */
rung_follower_stats rung_attach_stat(rung_attach *a);

/* How far an archive must have come to be believed; all zero while no hub is open. A state that came from a
 * snapshot counts as changed by its last event: what happened before is not told. */
typedef struct rung_attach_marks {
    /* the last event that changed how closed windows are answered: a ban, a removal, ... */
    uint64_t changed_seq;
    uint64_t closed_seq; /* the last that closed a window */
} rung_attach_marks;
rung_attach_marks rung_attach_mark(rung_attach *a);

/* What the search for damage found: RUNG_PARTIAL while it is under way, RUNG_OK, RUNG_ECORRUPT. Zero before. */
rung_status rung_attach_checked(rung_attach *a);

/* Wait until all up to `seq` is archived. RUNG_OK, or RUNG_PARTIAL after timeout_ms. For tests and for leaving. */
RUNG_NODISCARD rung_status rung_attach_wait(rung_attach *a, uint64_t seq, uint32_t timeout_ms);

#endif
