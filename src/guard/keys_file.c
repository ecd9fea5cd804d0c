/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "guard/keys_file.h"

#include <errno.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

/* `failed` is a negative errno. */
static rung_status fail_os(rung_err *err, int failed, const char *what, const char *path) {
    rung_status st = failed == -ENOSPC || failed == -EDQUOT ? RUNG_ENOSPC : RUNG_EIO;
    return RUNG_FAIL_OS(err, st, -failed, "%.120s: cannot %s: %s", path, what,
                        strerrordesc_np(-failed));
}

/* ---- a path taken apart, its folder open ---- */

typedef struct place {
    const rung_fs *fs;
    const char *path, *name;
    char temporary[NAME_MAX + 1];
    int dir;
} place;

/* RUNG_NOT_FOUND: there is no such folder. */
static rung_status open_place(place *p, const rung_fs *fs, const char *path, rung_err *err) {
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    p->fs = fs ? fs : rung_fs_posix();
    p->path = path;
    p->name = slash ? slash + 1 : path;
    int wrote = snprintf(p->temporary, sizeof p->temporary, "%s.new", p->name);
    if (*p->name == '\0' || wrote < 0 || (size_t)wrote >= sizeof p->temporary ||
        strlen(path) >= sizeof folder)
        return RUNG_FAIL(err, RUNG_EINVAL, "%.120s: not the path of a file", path);
    size_t len = !slash ? 1 : slash == path ? 1 : (size_t)(slash - path);
    memcpy(folder, slash ? path : ".", len);
    folder[len] = '\0';
    p->dir = p->fs->dir_open(p->fs->ctx, folder, false);
    if (p->dir >= 0)
        return RUNG_OK;
    rung_ignore(fail_os(err, p->dir, "open the folder", folder), "told by what is returned");
    return p->dir == -ENOENT ? RUNG_NOT_FOUND : RUNG_EIO;
}

static void close_place(const place *p) {
    p->fs->close(p->fs->ctx, p->dir);
}

/* ---- stamps ---- */

bool rung_keys_stamp_eq(const rung_file_stamp *a, const rung_file_stamp *b) {
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

static rung_status stamp_at(const place *p, rung_file_stamp *stamp_out, rung_err *err) {
    int failed = p->fs->stamp(p->fs->ctx, p->dir, p->name, stamp_out);
    if (failed == -ENOENT)
        return RUNG_NOT_FOUND;
    return failed < 0 ? fail_os(err, failed, "look at it", p->path) : RUNG_OK;
}

rung_status rung_keys_file_stamp(const rung_fs *fs, const char *path, rung_file_stamp *stamp_out,
                                 rung_err *err) {
    place p;
    *stamp_out = (rung_file_stamp){0};
    rung_status st = open_place(&p, fs, path, err);
    if (st != RUNG_OK)
        return st;
    st = stamp_at(&p, stamp_out, err);
    close_place(&p);
    return st;
}

/* ---- reading ---- */

static rung_status check_file(const rung_file_stamp *s, const char *path, rung_err *err) {
    if (!s->is_regular)
        return RUNG_FAIL(err, RUNG_EREFUSED, "%.120s: not a file", path);
    if (s->mode & 027)
        return RUNG_FAIL(err, RUNG_EREFUSED,
                         "%.120s: others than its owner may read or change it: chmod 600", path);
    if (s->size ==
        0) /* never written like this; treating it as "no keys" would disable all access control */
        return RUNG_FAIL(err, RUNG_ECORRUPT, "%.120s: the file is empty", path);
    if (s->size > RUNG_KEYS_BYTES_MAX)
        return RUNG_FAIL(err, RUNG_ELIMIT, "%.120s: larger than %zu bytes", path,
                         RUNG_KEYS_BYTES_MAX);
    return RUNG_OK;
}

static rung_status read_whole(const place *p, int file, char *buffer, size_t size, rung_err *err) {
    for (size_t got = 0; got < size;) {
        ssize_t n = p->fs->pread(p->fs->ctx, file, buffer + got, size - got, got);
        if (n < 0 && n != -EINTR)
            return fail_os(err, (int)n, "read it", p->path);
        if (n == 0)
            return RUNG_FAIL(err, RUNG_EIO, "%.120s: became shorter while it was read", p->path);
        got += n > 0 ? (size_t)n : 0;
    }
    return RUNG_OK;
}

static rung_status create_from(const rung_alloc *alloc, const place *p, int file, size_t size,
                               rung_keys **keys_out, rung_err *err) {
    char *buffer = rung_alloc_get(alloc, size);
    rung_err why;
    if (!buffer)
        return RUNG_FAIL(err, RUNG_ENOMEM, "%.120s: no memory to read it", p->path);
    rung_status st = read_whole(p, file, buffer, size, err);
    if (st >= 0) {
        st = rung_keys_create(alloc, rung_slice_of(buffer, size), keys_out, &why);
        if (st < 0)
            st = RUNG_FAIL(err, st, "%.100s: %s", p->path, why.message);
    }
    OPENSSL_cleanse(buffer, size);
    rung_alloc_free(alloc, buffer, size);
    return st;
}

/* Checked by name first, to avoid opening a pipe, and again once it is open. */
static rung_status read_at(const rung_alloc *alloc, const place *p, rung_keys **keys_out,
                           rung_file_stamp *stamp_out, rung_err *err) {
    rung_status st = stamp_at(p, stamp_out, err);
    if (st == RUNG_OK)
        st = check_file(stamp_out, p->path, err);
    if (st != RUNG_OK)
        return st;
    int file = p->fs->open(p->fs->ctx, p->dir, p->name, RUNG_FILE_READ);
    if (file < 0)
        return file == -ENOENT ? RUNG_NOT_FOUND : fail_os(err, file, "open it", p->path);
    int failed = p->fs->stamp(p->fs->ctx, file, NULL, stamp_out);
    st = failed < 0 ? fail_os(err, failed, "look at it", p->path)
                    : check_file(stamp_out, p->path, err);
    if (st >= 0)
        st = create_from(alloc, p, file, (size_t)stamp_out->size, keys_out, err);
    p->fs->close(p->fs->ctx, file);
    return st;
}

rung_status rung_keys_file_read(const rung_fs *fs, const rung_alloc *alloc, const char *path,
                                rung_keys **keys_out, rung_file_stamp *stamp_out, rung_err *err) {
    place p;
    rung_file_stamp stamp;
    rung_status st = open_place(&p, fs, path, err);
    if (st != RUNG_OK)
        return st;
    st = read_at(alloc, &p, keys_out, &stamp, err);
    close_place(&p);
    if (st == RUNG_OK && stamp_out)
        *stamp_out = stamp;
    return st;
}

/* ---- changing ---- */

static rung_status write_whole(const place *p, int file, rung_slice bytes, rung_err *err) {
    for (size_t done = 0; done < bytes.len;) {
        struct iovec part = {(void *)(uintptr_t)(bytes.ptr + done), bytes.len - done};
        ssize_t n = p->fs->pwritev(p->fs->ctx, file, &part, 1, done);
        if (n < 0 && n != -EINTR)
            return fail_os(err, (int)n, "write it", p->path);
        done += n > 0 ? (size_t)n : 0;
    }
    int failed = p->fs->fsync(p->fs->ctx, file);
    return failed < 0 ? fail_os(err, failed, "sync it", p->path) : RUNG_OK;
}

static rung_status write_temporary(const place *p, rung_slice bytes, rung_err *err) {
    int failed = p->fs->unlink(p->fs->ctx, p->dir, p->temporary); /* what a crash left */
    if (failed < 0 && failed != -ENOENT)
        return fail_os(err, failed, "remove the old temporary file", p->path);
    int file = p->fs->open(p->fs->ctx, p->dir, p->temporary, RUNG_FILE_PRIVATE);
    if (file < 0)
        return fail_os(err, file, "make a temporary file", p->path);
    rung_status st = write_whole(p, file, bytes, err);
    failed = p->fs->close(p->fs->ctx, file);
    return failed < 0 && st == RUNG_OK ? fail_os(err, failed, "close it", p->path) : st;
}

static rung_status replace(const place *p, rung_slice bytes, rung_err *err) {
    int failed = 0;
    rung_status st = write_temporary(p, bytes, err);
    if (st == RUNG_OK)
        failed = p->fs->rename(p->fs->ctx, p->dir, p->temporary, p->name);
    if (failed < 0)
        st = fail_os(err, failed, "put the new file in place", p->path);
    if (st < 0) {
        p->fs->unlink(p->fs->ctx, p->dir, p->temporary);
        return st;
    }
    failed = p->fs->dir_sync(p->fs->ctx, p->dir);
    return failed < 0 ? fail_os(err, failed, "sync the folder after it was changed", p->path)
                      : RUNG_OK;
}

static rung_status change_in(const rung_alloc *alloc, const place *p, rung_keys_change *change,
                             void *ctx, rung_err *err) {
    rung_keys *old = NULL, *new = NULL;
    rung_file_stamp stamp;
    int failed = p->fs->dir_lock(p->fs->ctx, p->dir);
    if (failed < 0)
        return fail_os(err, failed, "lock the folder of", p->path);
    rung_status st = read_at(alloc, p, &old, &stamp, err);
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

rung_status rung_keys_file_change(const rung_fs *fs, const rung_alloc *alloc, const char *path,
                                  rung_keys_change *change, void *ctx, rung_err *err) {
    place p;
    rung_status st = open_place(&p, fs, path, err);
    if (st != RUNG_OK)
        return st < 0 ? st : RUNG_EIO;
    st = change_in(alloc, &p, change, ctx, err);
    close_place(&p); /* and the lock with it */
    return st;
}
