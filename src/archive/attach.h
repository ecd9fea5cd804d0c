/* SPDX-License-Identifier: Apache-2.0 */
/* attach.h - attach an archive to a hub: the SQLite file of a folder, or a PostgreSQL database, with its follower and
 * sampler, behind the port that the hub calls, and more connections for queries.
 *
 *     rung_attach_create(&(rung_attach_config){.alloc = a, .folder = path}, &attach, &err);
 *     hub_config.follower = rung_attach_port(attach);
 *     rung_hub_open(&hub_config, &hub, &err);            // opens the file; fails if it belongs to another log
 *     if (rung_attach_reader(attach, &archive, &err) == RUNG_OK) ... rung_archive_reading.open(archive, ...) ...
 *     rung_hub_close(hub, &err);                         // archives what is ready, closes the file
 *     rung_attach_destroy(attach);
 *
 * At the start it reports problems with the file: it was emptied, or it lacks events that the log no longer has. A
 * worker searches for damage inside the file, since that takes as long as reading it.
 *
 * Threads: the owner of the state; rung_attach_stat() from any. */
#ifndef RUNG_ARCHIVE_ATTACH_H
#define RUNG_ARCHIVE_ATTACH_H

#include "archive/archive.h"
#include "archive/follower.h"
#include "service/hub_follower.h"

/* Heap object. Release it with rung_attach_destroy(). */
typedef struct rung_attach rung_attach;

#define RUNG_ATTACH_FILE "archive.db" /* inside the folder */

/* Zero is a good default for every field except alloc; one of folder, path and url is required. Texts must live until
 * destroy. */
typedef struct rung_attach_config {
    const rung_alloc *alloc;
    const char *folder; /* the hub's: the file is RUNG_ATTACH_FILE in it */
    const char *path;   /* or the file itself */
    const char *url;    /* or a database: postgres/url.h */
    /* limits and times; what is ours (archive, log, alloc, first_seq) is set here */
    rung_follower_config follower;
    uint32_t sample_players_max; /* as in sampler.h */
    size_t replay_bytes_max;     /* of closed windows waiting during replay; 0: 128 MiB */
    const char *vfs;             /* as in sqlite_archive.h */
    /* one line for the operator; from any thread; may be NULL */
    void (*say)(void *ctx, const char *line);
    void *ctx;
} rung_attach_config;

/* RUNG_OK, RUNG_EINVAL (no folder, path or url, or too long), RUNG_ENOMEM. Nothing is opened yet. */
RUNG_NODISCARD rung_status rung_attach_create(const rung_attach_config *config, rung_attach **out,
                                              rung_err *err);
/* Call it after the hub is closed. Accepts NULL. */
void rung_attach_destroy(rung_attach *a);

/* For the hub's configuration; valid until destroy. Its `begin` returns the failures of rung_sqlite_archive_open() or
 * rung_postgres_archive_open(), and of rung_follower_create(). */
const rung_hub_follower *rung_attach_port(rung_attach *a);

/* The archive for queries: borrowed, read-only, opened at the first call, closed with the hub. RUNG_OK;
 * RUNG_NOT_FOUND: there is none yet; or why it cannot be opened. */
RUNG_NODISCARD rung_status rung_attach_reader(rung_attach *a, rung_archive **archive_out,
                                              rung_err *err);
/* After the first: another one, for another thread. RUNG_ELIMIT: RUNG_ATTACH_READERS_MAX are open. */
#define RUNG_ATTACH_READERS_MAX 3
RUNG_NODISCARD rung_status rung_attach_add_reader(rung_attach *a, rung_archive **archive_out,
                                                  rung_err *err);

/* Without a hub that follows: readers answer as of event `seq`. The marks of rung_attach_stat() are that event, and its
 * cursor is read from the archive, until it has come so far. RUNG_OK; RUNG_NOT_FOUND: a file that no server has open,
 * since reading it would change the folder; or why there is no archive to read. */
RUNG_NODISCARD rung_status rung_attach_open_past(rung_attach *a, uint64_t seq, rung_err *err);

/* Progress and failures; only is_damaged is set while no hub is open. After loading a snapshot, changed_seq and
 * closed_seq are its last event, since earlier ones are not known. */
rung_archive_stats rung_attach_stat(rung_attach *a);

/* Wait until everything up to `seq` is archived. RUNG_OK, or RUNG_PARTIAL after timeout_ms. For tests and shutdown. */
RUNG_NODISCARD rung_status rung_attach_wait(rung_attach *a, uint64_t seq, uint32_t timeout_ms);

#endif
