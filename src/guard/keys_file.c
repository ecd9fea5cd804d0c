/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/keys_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static rung_status fail_os(rung_err *err, const char *what, const char *path) {
    int os_errno = errno;
    rung_status st = os_errno == ENOSPC || os_errno == EDQUOT ? RUNG_ENOSPC : RUNG_EIO;
    return RUNG_FAIL_OS(err, st, os_errno, "%.120s: cannot %s: %s", path, what, strerror(os_errno));
}

/* ---- stamps ---- */

static rung_keys_stamp stamp_of(const struct stat *s) {
    return (rung_keys_stamp){
        .device = s->st_dev,
        .inode = s->st_ino,
        .size = (uint64_t)s->st_size,
        .mtime_ns = (int64_t)s->st_mtim.tv_sec * 1000000000 + s->st_mtim.tv_nsec,
        .ctime_ns = (int64_t)s->st_ctim.tv_sec * 1000000000 + s->st_ctim.tv_nsec,
    };
}

bool rung_keys_stamp_eq(const rung_keys_stamp *a, const rung_keys_stamp *b) {
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

rung_status rung_keys_file_stamp(const char *path, rung_keys_stamp *stamp_out, rung_err *err) {
    struct stat s;
    if (stat(path, &s) == 0) {
        *stamp_out = stamp_of(&s);
        return RUNG_OK;
    }
    *stamp_out = (rung_keys_stamp){0};
    return errno == ENOENT ? RUNG_NOT_FOUND : fail_os(err, "look at it", path);
}

/* ---- reading ---- */

static rung_status check_file(int fd, const char *path, struct stat *s, rung_err *err) {
    if (fstat(fd, s) != 0)
        return fail_os(err, "look at it", path);
    if (!S_ISREG(s->st_mode))
        return RUNG_FAIL(err, RUNG_EREFUSED, "%.120s: not a file", path);
    if (s->st_mode & 027)
        return RUNG_FAIL(err, RUNG_EREFUSED,
                         "%.120s: others than its owner may read or change it: chmod 600", path);
    if (s->st_size == 0) /* never written so; to take it for "no keys" would open every door */
        return RUNG_FAIL(err, RUNG_ECORRUPT, "%.120s: the file is empty", path);
    if ((uint64_t)s->st_size > RUNG_KEYS_BYTES_MAX)
        return RUNG_FAIL(err, RUNG_ELIMIT, "%.120s: larger than %zu bytes", path,
                         RUNG_KEYS_BYTES_MAX);
    return RUNG_OK;
}

static rung_status read_whole(int fd, const char *path, char *buffer, size_t size, rung_err *err) {
    for (size_t got = 0; got < size;) {
        ssize_t n = read(fd, buffer + got, size - got);
        if (n < 0 && errno != EINTR)
            return fail_os(err, "read it", path);
        if (n == 0)
            return RUNG_FAIL(err, RUNG_EIO, "%.120s: became shorter while it was read", path);
        got += n > 0 ? (size_t)n : 0;
    }
    return RUNG_OK;
}

static rung_status create_from(const rung_alloc *alloc, int fd, const char *path, size_t size,
                               rung_keys **keys_out, rung_err *err) {
    char *buffer = rung_alloc_get(alloc, size);
    rung_err why;
    if (!buffer)
        return RUNG_FAIL(err, RUNG_ENOMEM, "%.120s: no memory to read it", path);
    rung_status st = read_whole(fd, path, buffer, size, err);
    if (st >= 0) {
        st = rung_keys_create(alloc, rung_slice_of(buffer, size), keys_out, &why);
        if (st < 0)
            st = RUNG_FAIL(err, st, "%.100s: %s", path, why.message);
    }
    OPENSSL_cleanse(buffer, size);
    rung_alloc_free(alloc, buffer, size);
    return st;
}

static rung_status read_at(const rung_alloc *alloc, int dir, const char *name, const char *path,
                           rung_keys **keys_out, struct stat *s, rung_err *err) {
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? RUNG_NOT_FOUND : fail_os(err, "open it", path);
    rung_status st = check_file(fd, path, s, err);
    if (st >= 0)
        st = create_from(alloc, fd, path, (size_t)s->st_size, keys_out, err);
    close(fd);
    return st;
}

rung_status rung_keys_file_read(const rung_alloc *alloc, const char *path, rung_keys **keys_out,
                                rung_keys_stamp *stamp_out, rung_err *err) {
    struct stat s;
    rung_status st = read_at(alloc, AT_FDCWD, path, path, keys_out, &s, err);
    if (st == RUNG_OK && stamp_out)
        *stamp_out = stamp_of(&s);
    return st;
}

/* ---- changing ---- */

/* A path taken apart, its folder open and locked. */
typedef struct place {
    const char *path, *name;
    char temporary[NAME_MAX + 1];
    int dir;
} place;

static rung_status open_place(place *p, const char *path, rung_err *err) {
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    p->path = path;
    p->name = slash ? slash + 1 : path;
    int wrote = snprintf(p->temporary, sizeof p->temporary, "%s.new", p->name);
    if (*p->name == '\0' || wrote < 0 || (size_t)wrote >= sizeof p->temporary ||
        strlen(path) >= sizeof folder)
        return RUNG_FAIL(err, RUNG_EINVAL, "%.120s: not the path of a file", path);
    size_t len = !slash ? 1 : slash == path ? 1 : (size_t)(slash - path);
    memcpy(folder, slash ? path : ".", len);
    folder[len] = '\0';
    p->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->dir < 0)
        return fail_os(err, "open the folder", folder);
    while (flock(p->dir, LOCK_EX) != 0)
        if (errno != EINTR) {
            rung_status st = fail_os(err, "lock the folder", folder);
            close(p->dir);
            return st;
        }
    return RUNG_OK;
}

static rung_status write_whole(int fd, const char *path, rung_slice bytes, rung_err *err) {
    for (size_t done = 0; done < bytes.len;) {
        ssize_t n = write(fd, bytes.ptr + done, bytes.len - done);
        if (n < 0 && errno != EINTR)
            return fail_os(err, "write it", path);
        done += n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) == 0 ? RUNG_OK : fail_os(err, "sync it", path);
}

/* Root makes keys for the server's user: the file goes to whom the folder belongs. */
static rung_status give_to_owner(const place *p, int fd, rung_err *err) {
    struct stat folder;
    if (geteuid() != 0 || fstat(p->dir, &folder) != 0 || folder.st_uid == 0)
        return RUNG_OK;
    return fchown(fd, folder.st_uid, folder.st_gid) == 0
               ? RUNG_OK
               : fail_os(err, "change the owner", p->path);
}

static rung_status write_temporary(const place *p, rung_slice bytes, rung_err *err) {
    if (unlinkat(p->dir, p->temporary, 0) != 0 && errno != ENOENT) /* what a crash left */
        return fail_os(err, "remove the old temporary file", p->path);
    int fd =
        openat(p->dir, p->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail_os(err, "make a temporary file", p->path);
    rung_status st = fchmod(fd, 0600) == 0 ? RUNG_OK : fail_os(err, "set the mode", p->path);
    if (st == RUNG_OK)
        st = give_to_owner(p, fd, err);
    if (st == RUNG_OK)
        st = write_whole(fd, p->path, bytes, err);
    if (close(fd) != 0 && st == RUNG_OK)
        st = fail_os(err, "close it", p->path);
    return st;
}

static rung_status replace(const place *p, rung_slice bytes, rung_err *err) {
    rung_status st = write_temporary(p, bytes, err);
    if (st == RUNG_OK && renameat(p->dir, p->temporary, p->dir, p->name) != 0)
        st = fail_os(err, "put the new file in place", p->path);
    if (st < 0) {
        unlinkat(p->dir, p->temporary, 0);
        return st;
    }
    return fsync(p->dir) == 0 ? RUNG_OK
                              : fail_os(err, "sync the folder after it was changed", p->path);
}

static rung_status change_in(const rung_alloc *alloc, const place *p, rung_keys_change *change,
                             void *ctx, rung_err *err) {
    rung_keys *old = NULL, *new = NULL;
    struct stat s;
    rung_status st = read_at(alloc, p->dir, p->name, p->path, &old, &s, err);
    if (st == RUNG_NOT_FOUND)
        st = rung_keys_create(alloc, (rung_slice){NULL, 0}, &old, err);
    if (st < 0)
        return st;
    st = change(ctx, old, &new, err);
    if (st == RUNG_OK)
        st = replace(p, rung_keys_bytes(new), err);
    rung_keys_destroy(new);
    rung_keys_destroy(old);
    return st;
}

rung_status rung_keys_file_change(const rung_alloc *alloc, const char *path,
                                  rung_keys_change *change, void *ctx, rung_err *err) {
    place p;
    rung_status st = open_place(&p, path, err);
    if (st < 0)
        return st;
    st = change_in(alloc, &p, change, ctx, err);
    close(p.dir); /* and the lock with it */
    return st;
}
