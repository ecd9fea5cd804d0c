/* SPDX-License-Identifier: Apache-2.0 */
/* spare.h - the next segment of a log, made in advance: a file of zeros whose size and name are durable.
 *
 *     rung_spare spare;
 *     rung_spare_init(&spare);
 *     rung_spare_ensure(&spare, &dir, size, &err);          // slow: call it from a thread that has time
 *     rung_spare_lock(&spare);
 *     ... rung_file_write(&spare.file, header, ...) ...
 *     rung_spare_take(&spare, &dir, "name", &file, &err);   // now it is a segment, and there is no spare
 *     rung_spare_unlock(&spare);
 *     rung_spare_deinit(&spare); */
#ifndef RUNG_JOURNAL_SPARE_H
#define RUNG_JOURNAL_SPARE_H

#include "journal/file.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct rung_spare {
    pthread_mutex_t mutex; /* protects the rest; held while making one */
    rung_file file;        /* not open: there is no spare */
    uint64_t size;         /* of the file */
    _Atomic bool is_made;  /* a hint for callers that must not wait for the lock */
} rung_spare;

void rung_spare_init(rung_spare *s);
/* The file stays in its folder, for the next start. */
void rung_spare_deinit(rung_spare *s);

void rung_spare_lock(rung_spare *s);
void rung_spare_unlock(rung_spare *s);

/* Make a spare unless there is one (RUNG_UNCHANGED). Takes the lock. */
RUNG_NODISCARD rung_status rung_spare_ensure(rung_spare *s, const rung_dir *dir, uint64_t size,
                                             rung_err *err);

/* With the lock held: */

/* At a start: reuse the spare of the last run, whatever its content and as much of it as needed, or else make one.
 * The old one already has its disk space, so that a start succeeds on a full disk. */
RUNG_NODISCARD rung_status rung_spare_renew(rung_spare *s, const rung_dir *dir, uint64_t size,
                                            rung_err *err);
/* Sync the spare and rename it. The file then belongs to the caller. */
RUNG_NODISCARD rung_status rung_spare_take(rung_spare *s, const rung_dir *dir, const char *name,
                                           rung_file *file_out, rung_err *err);

#endif
