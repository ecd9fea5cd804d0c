/* SPDX-License-Identifier: Apache-2.0 */
/* keys_file.h - the file `keys` in a data folder, always read and replaced as a whole.
 *
 * rung_keys_file_change() locks the folder, reads, changes and replaces the file durably. A crash leaves the old file
 * or the new one. Two concurrent commands run one after the other. A server polls the stamp. Only the owner may access
 * the file (mode 0600: it may hold HS256 secrets); a file that others can read or write is refused. `fs` may be NULL:
 * the operating system's files. Messages begin with the path. Any thread. */
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

/* RUNG_NOT_FOUND when there is no file; RUNG_EREFUSED when others may read or write it; else as rung_keys_create(). */
RUNG_NODISCARD rung_status rung_keys_file_read(const rung_fs *fs, const rung_alloc *alloc,
                                               const char *path, rung_keys **keys_out,
                                               rung_file_stamp *stamp_out, rung_err *err);

/* Makes a changed table, as rung_keys_add() and rung_keys_revoke() do. */
typedef rung_status rung_keys_change(void *ctx, const rung_keys *keys, rung_keys **keys_out,
                                     rung_err *err);

/* Change the file, or create it. RUNG_OK: the change is durable. Otherwise, including when `change` returns
 * RUNG_UNCHANGED, the file is as it was, unless only the last step failed, the sync of the folder; the message says
 * so. */
RUNG_NODISCARD rung_status rung_keys_file_change(const rung_fs *fs, const rung_alloc *alloc,
                                                 const char *path, rung_keys_change *change,
                                                 void *ctx, rung_err *err);

#endif
