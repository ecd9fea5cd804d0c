/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "guard/keys_file.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

/* `failed` is a negative errno. */
static rung_status fail_os(rung_err *err, int failed, const char *what) {
    return RUNG_FAIL_OS(err, RUNG_EIO, -failed, "%s: %s", what, strerrordesc_np(-failed));
}

/* Report the failure `why` with the path. */
static rung_status fail_at(const char *path, rung_status st, const rung_err *why, rung_err *err) {
    return RUNG_FAIL_OS(err, st, why->os_errno, "%.120s: %.100s", path, why->message);
}

/* RUNG_NOT_FOUND: there is no such folder. */
static rung_status open_folder(rung_dir *d, const rung_fs *fs, const char *path,
                               const char **name_out, rung_err *why) {
    rung_status st = rung_dir_open_parent(d, fs ? fs : rung_fs_posix(), path, name_out, why);
    return st < 0 && why->os_errno == ENOENT ? RUNG_NOT_FOUND : st;
}

/* ---- stamps ---- */

bool rung_keys_stamp_eq(const rung_file_stamp *a, const rung_file_stamp *b) {
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

static rung_status stamp_of(const rung_fs *fs, int handle, const char *name,
                            rung_file_stamp *stamp_out, rung_err *err) {
    int failed = fs->stamp(fs->ctx, handle, name, stamp_out);
    if (failed == -ENOENT)
        return RUNG_NOT_FOUND;
    return failed < 0 ? fail_os(err, failed, "cannot stat it") : RUNG_OK;
}

rung_status rung_keys_file_stamp(const rung_fs *fs, const char *path, rung_file_stamp *stamp_out,
                                 rung_err *err) {
    rung_dir d;
    const char *name;
    rung_err why = {0};
    *stamp_out = (rung_file_stamp){0};
    rung_status st = open_folder(&d, fs, path, &name, &why);
    if (st == RUNG_OK)
        st = stamp_of(d.fs, d.handle, name, stamp_out, &why);
    rung_dir_close(&d);
    return st < 0 ? fail_at(path, st, &why, err) : st;
}

/* ---- reading ---- */

static rung_status check_file(const rung_file_stamp *s, rung_err *err) {
    if (!s->is_regular)
        return RUNG_FAIL(err, RUNG_EREFUSED, "not a file");
    if (s->mode & 027)
        return RUNG_FAIL(err, RUNG_EREFUSED,
                         "others than its owner may read or change it: chmod 600");
    if (s->size ==
        0) /* we never write this; reading it as "no keys" would disable access control */
        return RUNG_FAIL(err, RUNG_ECORRUPT, "the file is empty");
    if (s->size > RUNG_KEYS_BYTES_MAX)
        return RUNG_FAIL(err, RUNG_ELIMIT, "larger than %zu bytes", RUNG_KEYS_BYTES_MAX);
    return RUNG_OK;
}

static rung_status read_keys(const rung_alloc *alloc, const rung_file *f, size_t size,
                             rung_keys **keys_out, rung_err *err) {
    size_t got = 0;
    char *buffer = rung_alloc_get(alloc, size);
    if (!buffer)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    rung_status st = rung_file_read(f, buffer, size, 0, &got, err);
    if (st == RUNG_OK && got < size)
        st = RUNG_FAIL(err, RUNG_EIO, "it was truncated while being read");
    if (st == RUNG_OK)
        st = rung_keys_create(alloc, rung_slice_of(buffer, size), keys_out, err);
    OPENSSL_cleanse(buffer, size);
    rung_alloc_free(alloc, buffer, size);
    return st;
}

/* Checked by name first, to avoid opening a pipe, and again once it is open. */
static rung_status read_in(const rung_dir *d, const char *name, const rung_alloc *alloc,
                           rung_keys **keys_out, rung_file_stamp *stamp_out, rung_err *err) {
    rung_file f;
    rung_status st = stamp_of(d->fs, d->handle, name, stamp_out, err);
    if (st == RUNG_OK)
        st = check_file(stamp_out, err);
    if (st == RUNG_OK)
        st = rung_file_open(&f, d, name, RUNG_FILE_READ, err);
    if (st != RUNG_OK)
        return st;
    st = stamp_of(d->fs, f.handle, NULL, stamp_out, err);
    if (st == RUNG_OK)
        st = check_file(stamp_out, err);
    if (st == RUNG_OK)
        st = read_keys(alloc, &f, (size_t)stamp_out->size, keys_out, err);
    rung_file_close(&f);
    return st;
}

rung_status rung_keys_file_read(const rung_fs *fs, const rung_alloc *alloc, const char *path,
                                rung_keys **keys_out, rung_file_stamp *stamp_out, rung_err *err) {
    rung_dir d;
    const char *name;
    rung_file_stamp stamp;
    rung_err why = {0};
    rung_status st = open_folder(&d, fs, path, &name, &why);
    if (st == RUNG_OK)
        st = read_in(&d, name, alloc, keys_out, &stamp, &why);
    rung_dir_close(&d);
    if (st == RUNG_OK && stamp_out)
        *stamp_out = stamp;
    return st < 0 ? fail_at(path, st, &why, err) : st;
}

/* ---- changing ---- */

static rung_status change_in(const rung_dir *d, const char *name, const rung_alloc *alloc,
                             rung_keys_change *change, void *ctx, rung_err *err) {
    rung_keys *old = NULL, *new = NULL;
    rung_file_stamp stamp;
    int failed = d->fs->dir_lock(d->fs->ctx, d->handle);
    if (failed < 0)
        return fail_os(err, failed, "cannot lock its folder");
    rung_status st = read_in(d, name, alloc, &old, &stamp, err);
    if (st == RUNG_NOT_FOUND)
        st = rung_keys_create(alloc, (rung_slice){NULL, 0}, &old, err);
    if (st < 0)
        return st;
    st = change(ctx, old, &new, err);
    if (st == RUNG_OK) {
        rung_slice bytes = rung_keys_bytes(new);
        st = rung_file_replace_private(d, name, bytes.ptr, bytes.len, err);
    }
    rung_keys_destroy(new);
    rung_keys_destroy(old);
    return st;
}

rung_status rung_keys_file_change(const rung_fs *fs, const rung_alloc *alloc, const char *path,
                                  rung_keys_change *change, void *ctx, rung_err *err) {
    rung_dir d;
    const char *name;
    rung_err why = {0};
    rung_status st = rung_dir_open_parent(&d, fs ? fs : rung_fs_posix(), path, &name, &why);
    if (st == RUNG_OK)
        st = change_in(&d, name, alloc, change, ctx, &why);
    rung_dir_close(&d); /* releases the lock */
    return st < 0 ? fail_at(path, st, &why, err) : st;
}
