/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/folder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOCK_NAME "lock"

static rung_status refuse_second(const rung_dir *dir, const rung_file *lock, rung_err *err) {
    char text[32] = {0};
    size_t got = 0;
    rung_status st = rung_file_read(lock, text, sizeof text - 1, 0, &got, NULL);
    text[st < 0 ? 0 : strspn(text, "0123456789")] = '\0';
    return RUNG_FAIL(err, RUNG_EBUSY, "folder %s is in use by another process (pid %s)", dir->path,
                     text[0] ? text : "unknown");
}

rung_status rung_folder_lock(const rung_dir *dir, rung_file *lock_out, rung_err *err) {
    rung_status st = rung_file_open(lock_out, dir, LOCK_NAME, RUNG_FILE_CREATE, err);
    if (st < 0)
        return st;
    st = rung_file_lock(lock_out, err);
    if (st == RUNG_EBUSY)
        return refuse_second(dir, lock_out, err);
    if (st < 0)
        return st;
    char text[32];
    int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    st = rung_file_write(lock_out, text, (size_t)len, 0, NULL);
    if (st == RUNG_OK)
        st = rung_file_truncate(lock_out, (uint64_t)len, NULL);
    rung_ignore(st, "the lock holds without its text, which may not fit on a full disk");
    return RUNG_OK;
}

rung_status rung_folder_check(const rung_file *lock, const char *path, rung_err *err) {
    if (rung_file_is_at(lock, path, NULL) != RUNG_NOT_FOUND)
        return RUNG_OK;
    return RUNG_FAIL(err, RUNG_EABSENT,
                     "folder %s was removed or replaced while it was in use: its file " LOCK_NAME
                     " is not the one that is locked",
                     path);
}
