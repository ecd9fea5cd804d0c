/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - the file port of the journal: every system call it makes, as a table that tests can replace.
 *
 * The table (rung_fs) is raw: results are >= 0 or a negative errno; reads and writes may be short or interrupted.
 * Code calls the functions below it (rung_dir_*, rung_file_*): they complete short transfers, retry on EINTR, and
 * translate errno once, with the file's name in the message. They never retry a sync: after a failed one the kernel
 * may have dropped the pages and report success the next time.
 *
 * Threads: no state of its own. One thread at a time uses a rung_file; offsets are always explicit. */
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
    RUNG_FILE_PRIVATE = 8,   /* the same, and only the owner of the folder may access it */
};

/* A file's metadata. The first five fields tell whether it is still the same, unchanged file. */
typedef struct rung_file_stamp {
    uint64_t device, inode, size;
    int64_t mtime_ns, ctime_ns;
    uint32_t mode;   /* the permission bits */
    bool is_regular; /* not a folder, device or pipe */
} rung_file_stamp;

/* Handles are small numbers chosen by the implementation. Names are single components, relative to an open folder. */
typedef struct rung_fs {
    void *ctx;
    /* Creates the last component durably. */
    int (*dir_open)(void *ctx, const char *path, bool create);
    int (*dir_sync)(void *ctx, int dir);
    int (*dir_list)(void *ctx, int dir, void (*each)(void *arg, const char *name), void *arg);
    int (*open)(void *ctx, int dir, const char *name, int mode);
    int (*close)(void *ctx, int handle); /* a folder or file; releases its lock */
    ssize_t (*pwritev)(void *ctx, int file, const struct iovec *parts, int count, uint64_t offset);
    ssize_t (*pread)(void *ctx, int file, void *buffer, size_t len, uint64_t offset);
    int (*fdatasync)(void *ctx, int file);
    int (*fsync)(void *ctx, int file);
    /* NULL: nothing to gain. */
    int (*write_out)(void *ctx, int file, uint64_t offset, uint64_t len);
    int (*forget)(void *ctx, int file, uint64_t offset, uint64_t len); /* NULL: nothing to gain */
    int (*fallocate)(void *ctx, int file, uint64_t size); /* also extends the file to `size` */
    int (*ftruncate)(void *ctx, int file, uint64_t size);
    int64_t (*size)(void *ctx, int file);
    int (*rename)(void *ctx, int dir, const char *from, const char *to);
    int (*link)(void *ctx, int from_dir, const char *from, int to_dir, const char *to);
    int (*unlink)(void *ctx, int dir, const char *name);
    int (*lock)(void *ctx, int file);    /* exclusive; -EAGAIN if taken; held until close */
    int (*dir_lock)(void *ctx, int dir); /* exclusive; blocks; held until close */
    /* The stamp of the file `name` in the folder `handle`, or without a name, of the open file `handle`. */
    int (*stamp)(void *ctx, int handle, const char *name, rung_file_stamp *out);
    /* 1: folder/name is this very file; 0: it is another one or absent. NULL: always 1. */
    int (*is_at)(void *ctx, int file, const char *folder, const char *name);
    int (*random)(void *ctx, void *buffer, size_t len);
    /* The size of the file system of a folder, and what an unprivileged user can still write. NULL: not known. */
    int (*space)(void *ctx, int dir, uint64_t *total_out, uint64_t *free_out);
} rung_fs;

/* The operating system's files. Static storage. */
const rung_fs *rung_fs_posix(void);

#define RUNG_FILE_NAME_MAX 64 /* the longest name the journal uses, including its NUL */

/* Zero is closed; closing twice is fine. */
typedef struct rung_dir {
    const rung_fs *fs;
    int handle;
    char path[256]; /* for messages; truncated if longer */
} rung_dir;

typedef struct rung_file {
    const rung_fs *fs;
    int handle;
    char name[256];
} rung_file;

/* All return RUNG_OK or the translated failure, with `err` filled. RUNG_ENOSPC also stands for a quota and for the
 * limit on open files: a retry may succeed. */
RUNG_NODISCARD rung_status rung_dir_open(rung_dir *d, const rung_fs *fs, const char *path,
                                         bool create, rung_err *err);
/* Open the folder of the file at `path`. `*name_out` is its name there, a part of `path`. */
RUNG_NODISCARD rung_status rung_dir_open_parent(rung_dir *d, const rung_fs *fs, const char *path,
                                                const char **name_out, rung_err *err);
void rung_dir_close(rung_dir *d);
RUNG_NODISCARD rung_status rung_dir_sync(const rung_dir *d, rung_err *err);
RUNG_NODISCARD rung_status rung_dir_list(const rung_dir *d,
                                         void (*each)(void *arg, const char *name), void *arg,
                                         rung_err *err);
RUNG_NODISCARD rung_status rung_dir_rename(const rung_dir *d, const char *from, const char *to,
                                           rung_err *err);
/* RUNG_EUNSUPPORTED: the two folders cannot share a file; copy it instead. */
RUNG_NODISCARD rung_status rung_dir_link(const rung_dir *from_dir, const char *from,
                                         const rung_dir *to_dir, const char *to, rung_err *err);
/* RUNG_NOT_FOUND: no such file. */
RUNG_NODISCARD rung_status rung_dir_unlink(const rung_dir *d, const char *name, rung_err *err);

/* The bytes of the folder's file system, and how many of them are free. RUNG_EUNSUPPORTED: not known. */
RUNG_NODISCARD rung_status rung_dir_space(const rung_dir *d, uint64_t *total_out,
                                          uint64_t *free_out, rung_err *err);

/* RUNG_NOT_FOUND, without a message: no such file, and `mode` does not create it. */
RUNG_NODISCARD rung_status rung_file_open(rung_file *f, const rung_dir *d, const char *name,
                                          int mode, rung_err *err);
void rung_file_close(rung_file *f);
static inline bool rung_file_is_open(const rung_file *f) {
    return f->fs != NULL;
}
/* Writes everything, or fails and leaves the range undefined. */
RUNG_NODISCARD rung_status rung_file_write(const rung_file *f, const void *bytes, size_t len,
                                           uint64_t offset, rung_err *err);
RUNG_NODISCARD rung_status rung_file_write_zeros(const rung_file *f, uint64_t from, uint64_t to,
                                                 rung_err *err);
/* Reads up to `len` bytes; fewer only at the end of the file. */
RUNG_NODISCARD rung_status rung_file_read(const rung_file *f, void *buffer, size_t len,
                                          uint64_t offset, size_t *got_out, rung_err *err);
RUNG_NODISCARD rung_status rung_file_datasync(const rung_file *f, rung_err *err);
RUNG_NODISCARD rung_status rung_file_sync(const rung_file *f, rung_err *err);
/* Start writing a range to the disk now, and wait. Guarantees no durability; it only makes a later sync short. */
RUNG_NODISCARD rung_status rung_file_write_out(const rung_file *f, uint64_t offset, uint64_t len,
                                               rung_err *err);
/* Drop a clean range from the page cache. Only a hint: no data is lost. */
void rung_file_forget(const rung_file *f, uint64_t offset, uint64_t len);
RUNG_NODISCARD rung_status rung_file_reserve(const rung_file *f, uint64_t size, rung_err *err);
RUNG_NODISCARD rung_status rung_file_truncate(const rung_file *f, uint64_t size, rung_err *err);
RUNG_NODISCARD rung_status rung_file_size(const rung_file *f, uint64_t *size_out, rung_err *err);
/* RUNG_EBUSY, without a message: another open file holds the lock, in this process or another. */
RUNG_NODISCARD rung_status rung_file_lock(const rung_file *f, rung_err *err);
/* Is the file at folder/name this one? RUNG_OK: yes, or it cannot be determined. RUNG_NOT_FOUND: removed or replaced.
 */
RUNG_NODISCARD rung_status rung_file_is_at(const rung_file *f, const char *folder, rung_err *err);

/* Create the file, or empty it if it exists. */
RUNG_NODISCARD rung_status rung_file_open_empty(rung_file *f, const rung_dir *d, const char *name,
                                                rung_err *err);
/* Read a small file: its first `len` bytes at most. RUNG_NOT_FOUND as rung_file_open(). */
RUNG_NODISCARD rung_status rung_file_read_small(const rung_dir *d, const char *name, void *buffer,
                                                size_t len, size_t *got_out, rung_err *err);
/* Copy the bytes from `at` to `end` to offset `to_at` of another file, or of the same. RUNG_EIO also when `from` is
 * shorter. */
RUNG_NODISCARD rung_status rung_file_copy_range(const rung_file *from, uint64_t at, uint64_t end,
                                                const rung_file *to, uint64_t to_at, rung_err *err);

/* Replace the file `name` atomically: a crash leaves the old one or the new one. Writes a temporary file, syncs it,
 * renames it, syncs the folder. */
RUNG_NODISCARD rung_status rung_file_replace(const rung_dir *d, const char *name, const void *bytes,
                                             size_t len, rung_err *err);
/* The same with RUNG_FILE_PRIVATE. */
RUNG_NODISCARD rung_status rung_file_replace_private(const rung_dir *d, const char *name,
                                                     const void *bytes, size_t len, rung_err *err);

#endif
