/* SPDX-License-Identifier: Apache-2.0 */
/* spare.h - the next segment of a log, made in advance: a file of zeros, on the disk with its size and its name.
 *
 *     rung_spare spare;
 *     rung_spare_init(&spare);
 *     rung_spare_ensure(&spare, &dir, size, &err);          // by whoever has time: it takes a while
 *     rung_spare_lock(&spare);
 *     ... rung_file_write(&spare.file, header, ...) ...
 *     rung_spare_take(&spare, &dir, "name", &file, &err);   // it is a segment now, and there is no spare
 *     rung_spare_unlock(&spare);
 *     rung_spare_deinit(&spare); */
#ifndef RUNG_JOURNAL_SPARE_H
#define RUNG_JOURNAL_SPARE_H

#include "journal/file.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct rung_spare {
    pthread_mutex_t mutex; /* guards the rest; held while one is made */
    rung_file file;        /* not open: there is none */
    uint64_t size;         /* of the file */
    _Atomic bool is_made;  /* a hint for those who must not wait for the lock */
} rung_spare;

void rung_spare_init(rung_spare *s);
/* The file stays in its folder, for the next start. */
void rung_spare_deinit(rung_spare *s);

void rung_spare_lock(rung_spare *s);
void rung_spare_unlock(rung_spare *s);

/* Make one unless it is there (RUNG_UNCHANGED). Takes the lock. */
RUNG_NODISCARD rung_status rung_spare_ensure(rung_spare *s, const rung_dir *dir, uint64_t size,
                                             rung_err *err);

/* With the lock held: */

/* At a start: take over the one that the last run left, whatever is in it, or as much of it as is wanted; else make
 * one. The space of the old one is ours already, so that a start succeeds on a disk that is full. */
RUNG_NODISCARD rung_status rung_spare_renew(rung_spare *s, const rung_dir *dir, uint64_t size,
                                            rung_err *err);
/* Sync what was written to it and give it another name, for good. The file is the caller's. */
RUNG_NODISCARD rung_status rung_spare_take(rung_spare *s, const rung_dir *dir, const char *name,
                                           rung_file *file_out, rung_err *err);

#endif
