/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "journal/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- the operating system ---- */

static int os_result(int result) {
    return result < 0 ? -errno : result;
}

static int os_sync_parent(const char *path) {
    char parent[4096];
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    while (len > 0 && path[len - 1] != '/')
        len--;
    if (len >= sizeof parent)
        return -ENAMETOOLONG;
    memcpy(parent, len ? path : ".", len ? len : 1);
    parent[len ? len : 1] = '\0';
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int result = os_result(fsync(fd));
    close(fd);
    return result;
}

static int os_dir_open(void *ctx, const char *path, bool create) {
    (void)ctx;
    if (create && mkdir(path, 0700) == 0) {
        int result = os_sync_parent(path);
        if (result < 0)
            return result;
    } else if (create && errno != EEXIST) {
        return -errno;
    }
    return os_result(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* Without opendir(), which allocates: a forked child lists folders, too. */
static int os_dir_list(void *ctx, int dir, void (*each)(void *arg, const char *name), void *arg) {
    (void)ctx;
    _Alignas(struct dirent64) char buffer[4096];
    ssize_t got;
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    while ((got = getdents64(fd, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const void *)(buffer + at);
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                each(arg, entry->d_name);
            at += entry->d_reclen;
        }
    }
    int failed = got < 0 ? -errno : 0;
    close(fd);
    return failed;
}

/* When run by root: give the file to the owner of the folder. */
static int os_make_private(int dir, int file) {
    struct stat folder;
    if (fchmod(file, 0600) != 0)
        return -errno;
    if (geteuid() != 0 || fstat(dir, &folder) != 0 || folder.st_uid == 0)
        return 0;
    return os_result(fchown(file, folder.st_uid, folder.st_gid));
}

static int os_open(void *ctx, int dir, const char *name, int mode) {
    (void)ctx;
    int flags = mode == RUNG_FILE_READ ? O_RDONLY : O_RDWR;
    if (mode == RUNG_FILE_CREATE)
        flags |= O_CREAT;
    if (mode == RUNG_FILE_EXCLUSIVE || mode == RUNG_FILE_PRIVATE)
        flags |= O_CREAT | O_EXCL;
    int file = openat(dir, name, flags | O_CLOEXEC, 0600);
    if (file < 0 || mode != RUNG_FILE_PRIVATE)
        return os_result(file);
    int failed = os_make_private(dir, file);
    if (failed < 0)
        close(file);
    return failed < 0 ? failed : file;
}

static int os_close(void *ctx, int handle) {
    (void)ctx;
    return os_result(close(handle));
}

static ssize_t os_pwritev(void *ctx, int file, const struct iovec *parts, int count,
                          uint64_t offset) {
    (void)ctx;
    ssize_t n = pwritev(file, parts, count, (off_t)offset);
    return n < 0 ? -errno : n;
}

static ssize_t os_pread(void *ctx, int file, void *buffer, size_t len, uint64_t offset) {
    (void)ctx;
    ssize_t n = pread(file, buffer, len, (off_t)offset);
    return n < 0 ? -errno : n;
}

static int os_fdatasync(void *ctx, int file) {
    (void)ctx;
    return os_result(fdatasync(file));
}

static int os_fsync(void *ctx, int file) {
    (void)ctx;
    return os_result(fsync(file));
}

static int os_write_out(void *ctx, int file, uint64_t offset, uint64_t len) {
    (void)ctx;
    return os_result(sync_file_range(file, (off64_t)offset, (off64_t)len,
                                     SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
}

static int os_forget(void *ctx, int file, uint64_t offset, uint64_t len) {
    (void)ctx;
    return -posix_fadvise(file, (off_t)offset, (off_t)len, POSIX_FADV_DONTNEED);
}

static int os_fallocate(void *ctx, int file, uint64_t size) {
    (void)ctx;
    return os_result(fallocate(file, 0, 0, (off_t)size));
}

static int os_ftruncate(void *ctx, int file, uint64_t size) {
    (void)ctx;
    return os_result(ftruncate(file, (off_t)size));
}

static int64_t os_size(void *ctx, int file) {
    (void)ctx;
    struct stat info;
    return fstat(file, &info) < 0 ? -errno : (int64_t)info.st_size;
}

static int os_rename(void *ctx, int dir, const char *from, const char *to) {
    (void)ctx;
    return os_result(renameat(dir, from, dir, to));
}

static int os_link(void *ctx, int from_dir, const char *from, int to_dir, const char *to) {
    (void)ctx;
    return os_result(linkat(from_dir, from, to_dir, to, 0));
}

static int os_unlink(void *ctx, int dir, const char *name) {
    (void)ctx;
    return os_result(unlinkat(dir, name, 0));
}

/* The lock belongs to the open file, not to the process: a second open in the same process is refused as well. */
static int os_lock(void *ctx, int file) {
    (void)ctx;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return os_result(fcntl(file, F_OFD_SETLK, &whole));
}

static int os_dir_lock(void *ctx, int dir) {
    (void)ctx;
    while (flock(dir, LOCK_EX) != 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

static int os_stamp(void *ctx, int handle, const char *name, rung_file_stamp *out) {
    struct stat s;
    (void)ctx;
    if ((name ? fstatat(handle, name, &s, 0) : fstat(handle, &s)) != 0)
        return -errno;
    *out = (rung_file_stamp){
        .device = s.st_dev,
        .inode = s.st_ino,
        .size = (uint64_t)s.st_size,
        .mtime_ns = (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec,
        .ctime_ns = (int64_t)s.st_ctim.tv_sec * 1000000000 + s.st_ctim.tv_nsec,
        .mode = s.st_mode & 07777,
        .is_regular = S_ISREG(s.st_mode),
    };
    return 0;
}

static int os_is_at(void *ctx, int file, const char *folder, const char *name) {
    char path[4096];
    struct stat ours, there;
    (void)ctx;
    int len = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (len < 0 || (size_t)len >= sizeof path)
        return -ENAMETOOLONG;
    if (fstat(file, &ours) < 0)
        return -errno;
    if (stat(path, &there) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
    return ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

static int os_random(void *ctx, void *buffer, size_t len) {
    (void)ctx;
    ssize_t n = getrandom(buffer, len, 0);
    return n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
}

static int os_space(void *ctx, int dir, uint64_t *total_out, uint64_t *free_out) {
    struct statvfs found;
    (void)ctx;
    if (fstatvfs(dir, &found) < 0)
        return -errno;
    *total_out = (uint64_t)found.f_blocks * found.f_frsize;
    *free_out = (uint64_t)found.f_bavail * found.f_frsize;
    return 0;
}

const rung_fs *rung_fs_posix(void) {
    static const rung_fs fs = {
        .dir_open = os_dir_open,
        .dir_sync = os_fsync,
        .dir_list = os_dir_list,
        .open = os_open,
        .close = os_close,
        .pwritev = os_pwritev,
        .pread = os_pread,
        .fdatasync = os_fdatasync,
        .write_out = os_write_out,
        .forget = os_forget,
        .fsync = os_fsync,
        .fallocate = os_fallocate,
        .ftruncate = os_ftruncate,
        .size = os_size,
        .rename = os_rename,
        .link = os_link,
        .unlink = os_unlink,
        .lock = os_lock,
        .dir_lock = os_dir_lock,
        .stamp = os_stamp,
        .is_at = os_is_at,
        .random = os_random,
        .space = os_space,
    };
    return &fs;
}

/* ---- what the rooms call ---- */

static rung_status translate(int failed) {
    switch (-failed) {
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
        return RUNG_ENOSPC;
    case ENOMEM:
        return RUNG_ENOMEM;
    case EEXIST:
        return RUNG_EEXIST;
    default:
        return RUNG_EIO;
    }
}

static const char *reason(int failed) {
    const char *text = strerrordesc_np(-failed);
    return text ? text : "unknown error";
}

#define FAIL_IO(err, failed, what, name)                                                           \
    RUNG_FAIL_OS(err, translate(failed), -(failed), "%s %s: %s", what, name, reason(failed))

rung_status rung_dir_open(rung_dir *d, const rung_fs *fs, const char *path, bool create,
                          rung_err *err) {
    *d = (rung_dir){0};
    int handle = fs->dir_open(fs->ctx, path, create);
    if (handle < 0)
        return FAIL_IO(err, handle, "cannot open folder", path);
    d->fs = fs;
    d->handle = handle;
    size_t len = strlen(path), room = sizeof d->path - 1;
    memcpy(d->path, path, len < room ? len : room);
    return RUNG_OK;
}

rung_status rung_dir_open_parent(rung_dir *d, const rung_fs *fs, const char *path,
                                 const char **name_out, rung_err *err) {
    char folder[4096];
    const char *slash = strrchr(path, '/');
    size_t len = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
    *d = (rung_dir){0};
    *name_out = slash ? slash + 1 : path;
    if (**name_out == '\0' || len >= sizeof folder)
        return RUNG_FAIL(err, RUNG_EINVAL, "%.120s is not the path of a file", path);
    snprintf(folder, sizeof folder, "%.*s", len ? (int)len : 1, len ? path : ".");
    return rung_dir_open(d, fs, folder, false, err);
}

void rung_dir_close(rung_dir *d) {
    if (d->fs)
        d->fs->close(d->fs->ctx, d->handle);
    d->fs = NULL;
}

rung_status rung_dir_sync(const rung_dir *d, rung_err *err) {
    int result = d->fs->dir_sync(d->fs->ctx, d->handle);
    return result < 0 ? FAIL_IO(err, result, "cannot sync folder", d->path) : RUNG_OK;
}

rung_status rung_dir_list(const rung_dir *d, void (*each)(void *arg, const char *name), void *arg,
                          rung_err *err) {
    int result = d->fs->dir_list(d->fs->ctx, d->handle, each, arg);
    return result < 0 ? FAIL_IO(err, result, "cannot list folder", d->path) : RUNG_OK;
}

rung_status rung_dir_rename(const rung_dir *d, const char *from, const char *to, rung_err *err) {
    int result = d->fs->rename(d->fs->ctx, d->handle, from, to);
    return result < 0 ? FAIL_IO(err, result, "cannot rename", from) : RUNG_OK;
}

rung_status rung_dir_link(const rung_dir *from_dir, const char *from, const rung_dir *to_dir,
                          const char *to, rung_err *err) {
    if (from_dir->fs != to_dir->fs)
        return RUNG_FAIL(err, RUNG_EUNSUPPORTED, "%s: the folders are of two kinds", from);
    int result = from_dir->fs->link(from_dir->fs->ctx, from_dir->handle, from, to_dir->handle, to);
    if (result == -EXDEV || result == -EPERM || result == -EOPNOTSUPP || result == -EMLINK)
        return RUNG_FAIL_OS(err, RUNG_EUNSUPPORTED, -result, "cannot link %s: %s", from,
                            reason(result));
    return result < 0 ? FAIL_IO(err, result, "cannot link", from) : RUNG_OK;
}

rung_status rung_dir_unlink(const rung_dir *d, const char *name, rung_err *err) {
    int result = d->fs->unlink(d->fs->ctx, d->handle, name);
    if (result == -ENOENT)
        return RUNG_NOT_FOUND;
    return result < 0 ? FAIL_IO(err, result, "cannot remove", name) : RUNG_OK;
}

rung_status rung_dir_space(const rung_dir *d, uint64_t *total_out, uint64_t *free_out,
                           rung_err *err) {
    if (!d->fs->space)
        return RUNG_FAIL(err, RUNG_EUNSUPPORTED, "the size of the disk is not known");
    int result = d->fs->space(d->fs->ctx, d->handle, total_out, free_out);
    return result < 0 ? FAIL_IO(err, result, "cannot measure the disk of", d->path) : RUNG_OK;
}

rung_status rung_file_open(rung_file *f, const rung_dir *d, const char *name, int mode,
                           rung_err *err) {
    *f = (rung_file){0};
    size_t len = strlen(name);
    if (len >= sizeof f->name)
        return RUNG_FAIL(err, RUNG_EINVAL, "the file name %s is too long", name);
    int handle = d->fs->open(d->fs->ctx, d->handle, name, mode);
    if (handle == -ENOENT && mode <= RUNG_FILE_WRITE)
        return RUNG_NOT_FOUND;
    if (handle < 0)
        return FAIL_IO(err, handle, "cannot open", name);
    f->fs = d->fs;
    f->handle = handle;
    memcpy(f->name, name, len);
    return RUNG_OK;
}

void rung_file_close(rung_file *f) {
    if (f->fs)
        f->fs->close(f->fs->ctx, f->handle);
    f->fs = NULL;
}

/* Write all of `parts`, which this modifies. */
static rung_status write_parts(const rung_file *f, struct iovec *parts, int count, uint64_t offset,
                               rung_err *err) {
    while (count > 0) {
        ssize_t n = f->fs->pwritev(f->fs->ctx, f->handle, parts, count, offset);
        if (n == -EINTR)
            continue;
        if (n == 0)
            n = -EIO;
        if (n < 0)
            return FAIL_IO(err, (int)n, "cannot write", f->name);
        offset += (uint64_t)n;
        size_t done = (size_t)n;
        while (count > 0 && done >= parts->iov_len) {
            done -= parts->iov_len;
            parts++;
            count--;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + done;
            parts->iov_len -= done;
        }
    }
    return RUNG_OK;
}

rung_status rung_file_write(const rung_file *f, const void *bytes, size_t len, uint64_t offset,
                            rung_err *err) {
    struct iovec part = {(void *)(uintptr_t)bytes, len};
    return len ? write_parts(f, &part, 1, offset, err) : RUNG_OK;
}

rung_status rung_file_write_zeros(const rung_file *f, uint64_t from, uint64_t to, rung_err *err) {
    static const char zeros[1 << 16];
    enum { PARTS = 16 };
    while (from < to) {
        struct iovec parts[PARTS];
        int count = 0;
        uint64_t end = from;
        for (; count < PARTS && end < to; count++) {
            size_t len = to - end < sizeof zeros ? (size_t)(to - end) : sizeof zeros;
            parts[count] = (struct iovec){(void *)(uintptr_t)zeros, len};
            end += len;
        }
        rung_status st = write_parts(f, parts, count, from, err);
        if (st < 0)
            return st;
        from = end;
    }
    return RUNG_OK;
}

rung_status rung_file_read(const rung_file *f, void *buffer, size_t len, uint64_t offset,
                           size_t *got_out, rung_err *err) {
    size_t got = 0;
    while (got < len) {
        ssize_t n =
            f->fs->pread(f->fs->ctx, f->handle, (char *)buffer + got, len - got, offset + got);
        if (n == -EINTR)
            continue;
        if (n < 0)
            return FAIL_IO(err, (int)n, "cannot read", f->name);
        if (n == 0)
            break;
        got += (size_t)n;
    }
    *got_out = got;
    return RUNG_OK;
}

rung_status rung_file_open_empty(rung_file *f, const rung_dir *d, const char *name, rung_err *err) {
    rung_status st = rung_file_open(f, d, name, RUNG_FILE_CREATE, err);
    if (st == RUNG_OK)
        st = rung_file_truncate(f, 0, err);
    if (st < 0)
        rung_file_close(f);
    return st;
}

rung_status rung_file_read_small(const rung_dir *d, const char *name, void *buffer, size_t len,
                                 size_t *got_out, rung_err *err) {
    rung_file f;
    rung_status st = rung_file_open(&f, d, name, RUNG_FILE_READ, err);
    if (st == RUNG_OK)
        st = rung_file_read(&f, buffer, len, 0, got_out, err);
    rung_file_close(&f);
    return st;
}

rung_status rung_file_copy_range(const rung_file *from, uint64_t at, uint64_t end,
                                 const rung_file *to, uint64_t to_at, rung_err *err) {
    uint8_t block[1 << 16];
    rung_status st = RUNG_OK;
    for (size_t got = 0; st == RUNG_OK && at < end; at += got, to_at += got) {
        size_t want = end - at < sizeof block ? (size_t)(end - at) : sizeof block;
        st = rung_file_read(from, block, want, at, &got, err);
        if (st == RUNG_OK && got == 0)
            st = RUNG_FAIL(err, RUNG_EIO, "%s became shorter while it was copied", from->name);
        if (st == RUNG_OK)
            st = rung_file_write(to, block, got, to_at, err);
    }
    return st;
}

rung_status rung_file_datasync(const rung_file *f, rung_err *err) {
    int result = f->fs->fdatasync(f->fs->ctx, f->handle);
    return result < 0 ? FAIL_IO(err, result, "cannot sync", f->name) : RUNG_OK;
}

rung_status rung_file_sync(const rung_file *f, rung_err *err) {
    int result = f->fs->fsync(f->fs->ctx, f->handle);
    return result < 0 ? FAIL_IO(err, result, "cannot sync", f->name) : RUNG_OK;
}

/* Without this call nothing is lost. But it reports a write error only once, and a later sync may not report it
 * again. */
rung_status rung_file_write_out(const rung_file *f, uint64_t offset, uint64_t len, rung_err *err) {
    int result = f->fs->write_out ? f->fs->write_out(f->fs->ctx, f->handle, offset, len) : 0;
    if (result == -ENOSYS || result == -EINVAL || result == -EINTR)
        return RUNG_OK;
    return result < 0 ? FAIL_IO(err, result, "cannot write", f->name) : RUNG_OK;
}

void rung_file_forget(const rung_file *f, uint64_t offset, uint64_t len) {
    if (f->fs->forget)
        f->fs->forget(f->fs->ctx, f->handle, offset, len);
}

/* A file system without preallocation is fine: writing the zeros takes the space. */
rung_status rung_file_reserve(const rung_file *f, uint64_t size, rung_err *err) {
    int result;
    do
        result = f->fs->fallocate(f->fs->ctx, f->handle, size);
    while (result == -EINTR);
    if (result == -EOPNOTSUPP)
        return RUNG_OK;
    return result < 0 ? FAIL_IO(err, result, "cannot reserve space for", f->name) : RUNG_OK;
}

rung_status rung_file_truncate(const rung_file *f, uint64_t size, rung_err *err) {
    int result;
    do
        result = f->fs->ftruncate(f->fs->ctx, f->handle, size);
    while (result == -EINTR);
    return result < 0 ? FAIL_IO(err, result, "cannot truncate", f->name) : RUNG_OK;
}

rung_status rung_file_size(const rung_file *f, uint64_t *size_out, rung_err *err) {
    int64_t size = f->fs->size(f->fs->ctx, f->handle);
    if (size < 0)
        return FAIL_IO(err, (int)size, "cannot measure", f->name);
    *size_out = (uint64_t)size;
    return RUNG_OK;
}

rung_status rung_file_lock(const rung_file *f, rung_err *err) {
    int result = f->fs->lock(f->fs->ctx, f->handle);
    if (result == -EAGAIN || result == -EACCES)
        return RUNG_EBUSY;
    return result < 0 ? FAIL_IO(err, result, "cannot lock", f->name) : RUNG_OK;
}

rung_status rung_file_is_at(const rung_file *f, const char *folder, rung_err *err) {
    if (!f->fs->is_at)
        return RUNG_OK;
    int result = f->fs->is_at(f->fs->ctx, f->handle, folder, f->name);
    if (result < 0)
        return FAIL_IO(err, result, "cannot look at", f->name);
    return result ? RUNG_OK : RUNG_NOT_FOUND;
}

static rung_status write_new(const rung_dir *d, const char *name, int mode, const void *bytes,
                             size_t len, rung_err *err) {
    rung_file f;
    rung_status st = RUNG_OK;
    if (mode == RUNG_FILE_PRIVATE)
        st = rung_dir_unlink(d, name, err); /* left by a crash */
    if (st >= 0)
        st = rung_file_open(&f, d, name, mode, err);
    if (st < 0)
        return st;
    st = rung_file_truncate(&f, 0, err);
    if (st == RUNG_OK)
        st = rung_file_write(&f, bytes, len, 0, err);
    if (st == RUNG_OK)
        st = rung_file_sync(&f, err);
    rung_file_close(&f);
    return st;
}

static rung_status replace(const rung_dir *d, const char *name, int mode, const void *bytes,
                           size_t len, rung_err *err) {
    char temporary[sizeof((rung_file *)0)->name];
    int n = snprintf(temporary, sizeof temporary, "%s.tmp", name);
    if (n < 0 || (size_t)n >= sizeof temporary)
        return RUNG_FAIL(err, RUNG_EINVAL, "the file name %.100s is too long", name);
    rung_status st = write_new(d, temporary, mode, bytes, len, err);
    if (st == RUNG_OK)
        st = rung_dir_rename(d, temporary, name, err);
    if (st == RUNG_OK)
        return rung_dir_sync(d, err);
    rung_ignore(rung_dir_unlink(d, temporary, NULL),
                "the failure that brought us here is the one to report");
    return st;
}

rung_status rung_file_replace(const rung_dir *d, const char *name, const void *bytes, size_t len,
                              rung_err *err) {
    return replace(d, name, RUNG_FILE_CREATE, bytes, len, err);
}

rung_status rung_file_replace_private(const rung_dir *d, const char *name, const void *bytes,
                                      size_t len, rung_err *err) {
    return replace(d, name, RUNG_FILE_PRIVATE, bytes, len, err);
}
