/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - the file port of the journal: every system call it makes, as a table that tests can replace.
 *
 * The table (rung_fs) is raw: results are >= 0 or a negative errno, writes and reads may be short and may be
 * interrupted. The functions below it (rung_dir_*, rung_file_*) are what the rooms call: they finish short
 * transfers, repeat what a signal interrupted, and translate errno once, with the file's name in the message.
 * A sync is never repeated: after a failed one the kernel may have dropped the pages and report success next time.
 *
 * Threads: no state of its own; one rung_file belongs to one thread at a time, positions are always explicit. */
#ifndef RUNG_JOURNAL_FILE_H
#define RUNG_JOURNAL_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
    RUNG_FILE_READ = 0,      /* read only */
    RUNG_FILE_WRITE = 1,     /* read and write an existing file */
    RUNG_FILE_CREATE = 2,    /* read and write; created if absent */
    RUNG_FILE_EXCLUSIVE = 4, /* read and write; must not exist */
    RUNG_FILE_PRIVATE = 8,   /* the same; and it is the folder's owner's, and nobody else's */
};

/* What is known of a file without its content; the first five tell whether it is the file it was. */
typedef struct rung_file_stamp {
    uint64_t device, inode, size;
    int64_t mtime_ns, ctime_ns;
    uint32_t mode;   /* the permission bits */
    bool is_regular; /* neither a folder nor a device nor a pipe */
} rung_file_stamp;

/* Handles are small numbers of the implementation. Names are relative to an open folder, one component each. */
typedef struct rung_fs {
    void *ctx;
    int (*dir_open)(void *ctx, const char *path,
                    bool create); /* creates the last component, durably */
    int (*dir_sync)(void *ctx, int dir);
    int (*dir_list)(void *ctx, int dir, void (*each)(void *arg, const char *name), void *arg);
    int (*open)(void *ctx, int dir, const char *name, int mode);
    int (*close)(void *ctx, int handle); /* folder or file; ends its lock */
    ssize_t (*pwritev)(void *ctx, int file, const struct iovec *parts, int count, uint64_t offset);
    ssize_t (*pread)(void *ctx, int file, void *buffer, size_t len, uint64_t offset);
    int (*fdatasync)(void *ctx, int file);
    int (*fsync)(void *ctx, int file);
    int (*write_out)(void *ctx, int file, uint64_t offset,
                     uint64_t len);                                    /* NULL: nothing to gain */
    int (*forget)(void *ctx, int file, uint64_t offset, uint64_t len); /* NULL: nothing to gain */
    int (*fallocate)(void *ctx, int file, uint64_t size);              /* and extend to `size` */
    int (*ftruncate)(void *ctx, int file, uint64_t size);
    int64_t (*size)(void *ctx, int file);
    int (*rename)(void *ctx, int dir, const char *from, const char *to);
    int (*link)(void *ctx, int from_dir, const char *from, int to_dir, const char *to);
    int (*unlink)(void *ctx, int dir, const char *name);
    int (*lock)(void *ctx, int file);    /* exclusive, at once or -EAGAIN; held until close */
    int (*dir_lock)(void *ctx, int dir); /* exclusive; waits for it; held until close */
    /* Of the file `name` in the folder `handle`, or, without a name, of the open file itself. */
    int (*stamp)(void *ctx, int handle, const char *name, rung_file_stamp *out);
    /* 1: this very file is what stands at folder/name; 0: another one or none does. NULL: it always is. */
    int (*is_at)(void *ctx, int file, const char *folder, const char *name);
    int (*random)(void *ctx, void *buffer, size_t len);
} rung_fs;

/* The operating system's files. Static storage. */
const rung_fs *rung_fs_posix(void);

#define RUNG_FILE_NAME_MAX 64 /* the longest name the journal gives out, with its NUL */

/* Zero is closed; close may be called twice. */
typedef struct rung_dir {
    const rung_fs *fs;
    int handle;
    char path[256]; /* for messages; cut when longer */
} rung_dir;

typedef struct rung_file {
    const rung_fs *fs;
    int handle;
    char name[RUNG_FILE_NAME_MAX];
} rung_file;

/* All return RUNG_OK or the translated failure, with `err` filled. RUNG_ENOSPC also for a quota and for a limit on open
 * files: what failed may succeed later. */
RUNG_NODISCARD rung_status rung_dir_open(rung_dir *d, const rung_fs *fs, const char *path,
                                         bool create, rung_err *err);
void rung_dir_close(rung_dir *d);
RUNG_NODISCARD rung_status rung_dir_sync(const rung_dir *d, rung_err *err);
RUNG_NODISCARD rung_status rung_dir_list(const rung_dir *d,
                                         void (*each)(void *arg, const char *name), void *arg,
                                         rung_err *err);
RUNG_NODISCARD rung_status rung_dir_rename(const rung_dir *d, const char *from, const char *to,
                                           rung_err *err);
/* RUNG_EUNSUPPORTED where the two folders cannot share a file: copy then. */
RUNG_NODISCARD rung_status rung_dir_link(const rung_dir *from_dir, const char *from,
                                         const rung_dir *to_dir, const char *to, rung_err *err);
/* RUNG_NOT_FOUND when there is none. */
RUNG_NODISCARD rung_status rung_dir_unlink(const rung_dir *d, const char *name, rung_err *err);

/* RUNG_NOT_FOUND (no message) when there is no such file and `mode` does not create. */
RUNG_NODISCARD rung_status rung_file_open(rung_file *f, const rung_dir *d, const char *name,
                                          int mode, rung_err *err);
void rung_file_close(rung_file *f);
static inline bool rung_file_is_open(const rung_file *f) {
    return f->fs != NULL;
}
/* All of it, or a failure after which the range holds anything. */
RUNG_NODISCARD rung_status rung_file_write(const rung_file *f, const void *bytes, size_t len,
                                           uint64_t offset, rung_err *err);
RUNG_NODISCARD rung_status rung_file_write_zeros(const rung_file *f, uint64_t from, uint64_t to,
                                                 rung_err *err);
/* As much as there is, up to `len`; less only at the end of the file. */
RUNG_NODISCARD rung_status rung_file_read(const rung_file *f, void *buffer, size_t len,
                                          uint64_t offset, size_t *got_out, rung_err *err);
RUNG_NODISCARD rung_status rung_file_datasync(const rung_file *f, rung_err *err);
RUNG_NODISCARD rung_status rung_file_sync(const rung_file *f, rung_err *err);
/* Have a range that was written go to the disk now, and wait. Promises nothing: it only keeps a later sync short. */
RUNG_NODISCARD rung_status rung_file_write_out(const rung_file *f, uint64_t offset, uint64_t len,
                                               rung_err *err);
/* What stands on the disk of a range need not stay in memory. Advice: nothing is lost by it. */
void rung_file_forget(const rung_file *f, uint64_t offset, uint64_t len);
RUNG_NODISCARD rung_status rung_file_reserve(const rung_file *f, uint64_t size, rung_err *err);
RUNG_NODISCARD rung_status rung_file_truncate(const rung_file *f, uint64_t size, rung_err *err);
RUNG_NODISCARD rung_status rung_file_size(const rung_file *f, uint64_t *size_out, rung_err *err);
/* RUNG_EBUSY (no message) when another open file holds it, in this process or another. */
RUNG_NODISCARD rung_status rung_file_lock(const rung_file *f, rung_err *err);
/* Is the file at folder/name this one? RUNG_OK; RUNG_NOT_FOUND: it was removed, or replaced; or it cannot be told. */
RUNG_NODISCARD rung_status rung_file_is_at(const rung_file *f, const char *folder, rung_err *err);

/* A whole small file put in place of `name` so that a crash leaves the old one or the new one: temporary file,
 * sync, rename, sync of the folder. */
RUNG_NODISCARD rung_status rung_file_replace(const rung_dir *d, const char *name, const void *bytes,
                                             size_t len, rung_err *err);

#endif
