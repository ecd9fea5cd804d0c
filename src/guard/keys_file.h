/* SPDX-License-Identifier: Apache-2.0 */
/* keys_file.h - the file `keys` of a data folder: read whole, replaced whole.
 *
 * Changes go through rung_keys_file_change(): lock the folder, read, change, write a new file beside the old one, sync,
 * rename, sync the folder. A crash leaves the old file or the new one; two commands at once come one after the other;
 * a server that looks at the stamp sees the change at its next look. The file is for its owner only (mode 0600: it may
 * hold HS256 secrets); one that others can read or write is refused. `fs` may be NULL: the
 * operating system's files. Any thread. */
#ifndef RUNG_GUARD_KEYS_FILE_H
#define RUNG_GUARD_KEYS_FILE_H

#include "base/alloc.h"
#include "base/status.h"
#include "guard/keys.h"
#include "journal/file.h"

#include <stdbool.h>
#include <stdint.h>

/* Is it the same file? */
bool rung_keys_stamp_eq(const rung_file_stamp *a, const rung_file_stamp *b);

/* RUNG_OK, RUNG_NOT_FOUND (the stamp is all zero), or RUNG_EIO. */
RUNG_NODISCARD rung_status rung_keys_file_stamp(const rung_fs *fs, const char *path,
                                                rung_file_stamp *stamp_out, rung_err *err);

/* RUNG_NOT_FOUND when there is no file; RUNG_EREFUSED when others may read or write it; else as rung_keys_create(),
 * with the path in the message. */
RUNG_NODISCARD rung_status rung_keys_file_read(const rung_fs *fs, const rung_alloc *alloc,
                                               const char *path, rung_keys **keys_out,
                                               rung_file_stamp *stamp_out, rung_err *err);

/* A change of the table: as rung_keys_add() and rung_keys_revoke() make one. */
typedef rung_status rung_keys_change(void *ctx, const rung_keys *keys, rung_keys **keys_out,
                                     rung_err *err);

/* Change the file, or make it. RUNG_OK: it is durable. What `change` returns otherwise (RUNG_UNCHANGED too), and then
 * the file is as it was; so it is after RUNG_EIO, RUNG_ENOSPC and all others, unless the very last step failed (the
 * sync of the folder, which the message says). */
RUNG_NODISCARD rung_status rung_keys_file_change(const rung_fs *fs, const rung_alloc *alloc,
                                                 const char *path, rung_keys_change *change,
                                                 void *ctx, rung_err *err);

#endif
