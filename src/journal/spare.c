/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/spare.h"

#include <stdio.h>

#define SPARE_NAME      "spare"
#define SPARE_TEMPORARY "spare.tmp"
#define FILL_SIZE       ((uint64_t)1 << 20) /* what a sync of the log may have to wait for */

void rung_spare_init(rung_spare *s) {
    *s = (rung_spare){0};
    pthread_mutex_init(&s->mutex, NULL);
}

void rung_spare_deinit(rung_spare *s) {
    rung_file_close(&s->file);
    pthread_mutex_destroy(&s->mutex);
}

void rung_spare_lock(rung_spare *s) {
    pthread_mutex_lock(&s->mutex);
}

void rung_spare_unlock(rung_spare *s) {
    pthread_mutex_unlock(&s->mutex);
}

/* ---- making ---- */

/* Write piece by piece to the disk: with all of it in the page cache at once, every sync of the log would wait until
 * the last of it is written. The sync that makes it durable comes later and is short. Each piece reuses the page
 * cache memory of the one before: allocating new pages would cost more than the writing. */
static rung_status write_zeros_out(const rung_file *f, uint64_t size, rung_err *err) {
    rung_status st = RUNG_OK;
    for (uint64_t at = 0; st == RUNG_OK && at < size; at += FILL_SIZE) {
        uint64_t end = size - at < FILL_SIZE ? size : at + FILL_SIZE;
        st = rung_file_write_zeros(f, at, end, err);
        if (st == RUNG_OK)
            st = rung_file_write_out(f, at, end - at, err);
        rung_file_forget(f, at, end - at);
    }
    return st;
}

static rung_status fill(rung_file *f, const rung_dir *dir, uint64_t size, rung_err *err) {
    rung_status st = rung_file_open_empty(f, dir, SPARE_TEMPORARY, err);
    if (st == RUNG_OK)
        st = rung_file_reserve(f, size, err);
    if (st == RUNG_OK)
        st = write_zeros_out(f, size, err);
    if (st == RUNG_OK)
        st = rung_file_sync(f, err);
    if (st == RUNG_OK)
        st = rung_dir_rename(dir, SPARE_TEMPORARY, SPARE_NAME, err);
    if (st == RUNG_OK)
        st = rung_dir_sync(dir, err);
    return st;
}

static rung_status make(rung_spare *s, const rung_dir *dir, uint64_t size, rung_err *err) {
    rung_file f = {0};
    rung_status st = fill(&f, dir, size, err);
    if (st < 0) {
        rung_file_close(&f);
        rung_ignore(rung_dir_unlink(dir, SPARE_TEMPORARY, NULL),
                    "giving back space is all we can do here");
        return st;
    }
    s->file = f;
    s->size = size;
    atomic_store(&s->is_made, true);
    return RUNG_OK;
}

rung_status rung_spare_ensure(rung_spare *s, const rung_dir *dir, uint64_t size, rung_err *err) {
    rung_spare_lock(s);
    rung_status st = rung_file_is_open(&s->file) ? RUNG_UNCHANGED : make(s, dir, size, err);
    rung_spare_unlock(s);
    return st;
}

/* ---- at a start ---- */

static rung_status adopt(rung_spare *s, const rung_dir *dir, uint64_t size, rung_err *err) {
    rung_file f;
    uint64_t found = 0;
    rung_status st = rung_file_open(&f, dir, SPARE_NAME, RUNG_FILE_WRITE, err);
    if (st != RUNG_OK)
        return st;
    st = rung_file_size(&f, &found, err);
    if (st == RUNG_OK && found >= size) {
        if (found > size)
            st = rung_file_truncate(&f, size, err);
        if (st == RUNG_OK)
            st = rung_file_write_zeros(&f, 0, size, err);
        if (st == RUNG_OK)
            st = rung_file_sync(&f, err);
        if (st == RUNG_OK) {
            s->file = f;
            s->size = size;
            return RUNG_OK;
        }
    }
    rung_file_close(&f);
    if (st < 0)
        return st;
    st = rung_dir_unlink(dir, SPARE_NAME, err);
    return st < 0 ? st : RUNG_NOT_FOUND;
}

rung_status rung_spare_renew(rung_spare *s, const rung_dir *dir, uint64_t size, rung_err *err) {
    rung_status st = adopt(s, dir, size, err);
    return st == RUNG_NOT_FOUND ? make(s, dir, size, err) : st;
}

/* ---- becoming a segment ---- */

rung_status rung_spare_take(rung_spare *s, const rung_dir *dir, const char *name,
                            rung_file *file_out, rung_err *err) {
    rung_status st = rung_file_datasync(&s->file, err);
    if (st == RUNG_OK)
        st = rung_dir_rename(dir, SPARE_NAME, name, err);
    if (st == RUNG_OK)
        st = rung_dir_sync(dir, err);
    if (st < 0)
        return st;
    *file_out = s->file;
    snprintf(file_out->name, sizeof file_out->name, "%s", name);
    s->file = (rung_file){0};
    atomic_store(&s->is_made, false);
    return RUNG_OK;
}
