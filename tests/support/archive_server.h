/* SPDX-License-Identifier: Apache-2.0 */
/* archive_server.h - the smallest server that archives: a log, a state, a follower, fed by archive_load.h. Opening
 * replays the log: all of it, or from the last snapshot on (a pretended one: the state is rebuilt, but the follower
 * does not hear of what a snapshot would have held). */
#ifndef RUNG_TESTS_ARCHIVE_SERVER_H
#define RUNG_TESTS_ARCHIVE_SERVER_H

#include "archive/follower.h"
#include "archive/sampler.h"
#include "journal/segment_log.h"
#include "support/archive_load.h"

typedef struct archive_server {
    rung_segment_log *log;
    rung_state *state;
    rung_archive *archive;
    rung_follower *follower;
    rung_sampler *sampler;
    archive_load load;
    const char *snapshot_path; /* NULL: none are taken */
    rung_log_ops shared_ops;   /* of a shared log */
    bool is_mute;              /* replaying what a snapshot would hold */
} archive_server;

typedef struct archive_server_config {
    const rung_fs *fs;
    const char *log_path, *archive_path, *vfs;
    const archive_maker *maker; /* another archive than SQLite's at archive_path; NULL: that one */
    bool
        is_shared; /* several servers have this log, each in a folder of its own, and one archive */
    rung_follower_config follower; /* archive, log and alloc are filled in */
    const char *
        snapshot_path; /* a file that says up to where a restart needs no replay; NULL: all is replayed */
} archive_server_config;

void archive_server_open(archive_server *s, const archive_server_config *config);
/* The next `count` events: logged, synced, applied, announced. */
void archive_server_step(archive_server *s, uint32_t count);
/* Pretend to take a snapshot, if the follower has nothing pinned: a restart gets the state up to here silently. */
void archive_server_snapshot(archive_server *s);
uint64_t archive_server_seq(const archive_server *s);
void archive_server_close(archive_server *s);

/* Write the load's events 1 .. last to an empty archive, in one go. */
void archive_server_write_reference(rung_archive *a, uint64_t last);
/* The archive has all of the load's events 1 .. last and their windows exactly once: the same tables as one that
 * was written in one go (in `dir`). */
void archive_server_verify(const char *archive_path, const char *dir, uint64_t last,
                           bool with_statuses);

#endif
