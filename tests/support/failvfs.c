/* SPDX-License-Identifier: Apache-2.0 */
/* See failvfs.h. A file is ours with SQLite's own behind it in the same block. */
#include "support/failvfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

typedef struct fail_file {
    sqlite3_file base;
    sqlite3_file *real; /* the bytes after this struct */
} fail_file;

static struct {
    uint64_t calls, failed, fail_at;
    int code;
    bool sticky;
    sqlite3_vfs *real;
} state;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the state */

void failvfs_fail_at(uint64_t n, int code, bool sticky) {
    pthread_mutex_lock(&lock);
    state.calls = state.failed = 0;
    state.fail_at = n;
    state.code = code;
    state.sticky = sticky;
    pthread_mutex_unlock(&lock);
}

static uint64_t read_count(const uint64_t *count) {
    pthread_mutex_lock(&lock);
    uint64_t n = *count;
    pthread_mutex_unlock(&lock);
    return n;
}

uint64_t failvfs_failed(void) {
    return read_count(&state.failed);
}

uint64_t failvfs_calls(void) {
    return read_count(&state.calls);
}

static int count_call(int otherwise) {
    pthread_mutex_lock(&lock);
    state.calls++;
    bool is_failing = state.fail_at && state.calls >= state.fail_at &&
                      (state.calls == state.fail_at || state.sticky);
    state.failed += is_failing;
    int code = !is_failing ? SQLITE_OK : state.code == SQLITE_IOERR ? otherwise : state.code;
    pthread_mutex_unlock(&lock);
    return code;
}

static sqlite3_file *real_of(sqlite3_file *f) {
    return ((fail_file *)(void *)f)->real;
}

static int f_close(sqlite3_file *f) {
    return real_of(f)->pMethods->xClose(real_of(f));
}

static int f_read(sqlite3_file *f, void *out, int n, sqlite3_int64 at) {
    int rc = count_call(SQLITE_IOERR_READ);
    return rc ? rc : real_of(f)->pMethods->xRead(real_of(f), out, n, at);
}

static int f_write(sqlite3_file *f, const void *bytes, int n, sqlite3_int64 at) {
    int rc = count_call(SQLITE_IOERR_WRITE);
    if (rc && n > 1) /* as much as happens when a disk fails in the middle */
        real_of(f)->pMethods->xWrite(real_of(f), bytes, n / 2, at);
    return rc ? rc : real_of(f)->pMethods->xWrite(real_of(f), bytes, n, at);
}

static int f_truncate(sqlite3_file *f, sqlite3_int64 size) {
    int rc = count_call(SQLITE_IOERR_TRUNCATE);
    return rc ? rc : real_of(f)->pMethods->xTruncate(real_of(f), size);
}

static int f_sync(sqlite3_file *f, int flags) {
    (void)f;
    (void)flags;
    return count_call(SQLITE_IOERR_FSYNC);
}

static int f_size(sqlite3_file *f, sqlite3_int64 *size) {
    int rc = count_call(SQLITE_IOERR_FSTAT);
    return rc ? rc : real_of(f)->pMethods->xFileSize(real_of(f), size);
}

static int f_lock(sqlite3_file *f, int level) {
    return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int f_unlock(sqlite3_file *f, int level) {
    return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int f_check_lock(sqlite3_file *f, int *out) {
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}

static int f_control(sqlite3_file *f, int op, void *arg) {
    return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static int f_sector_size(sqlite3_file *f) {
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int f_traits(sqlite3_file *f) {
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int f_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out) {
    int rc = count_call(SQLITE_IOERR_SHMMAP);
    return rc ? rc : real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, out);
}

static int f_shm_lock(sqlite3_file *f, int offset, int n, int flags) {
    return real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags);
}

static void f_shm_barrier(sqlite3_file *f) {
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int f_shm_unmap(sqlite3_file *f, int remove) {
    return real_of(f)->pMethods->xShmUnmap(real_of(f), remove);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = f_close,
    .xRead = f_read,
    .xWrite = f_write,
    .xTruncate = f_truncate,
    .xSync = f_sync,
    .xFileSize = f_size,
    .xLock = f_lock,
    .xUnlock = f_unlock,
    .xCheckReservedLock = f_check_lock,
    .xFileControl = f_control,
    .xSectorSize = f_sector_size,
    .xDeviceCharacteristics = f_traits,
    .xShmMap = f_shm_map,
    .xShmLock = f_shm_lock,
    .xShmBarrier = f_shm_barrier,
    .xShmUnmap = f_shm_unmap,
};

static int v_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                  int *out_flags) {
    fail_file *f = (fail_file *)(void *)file;
    (void)vfs;
    f->base.pMethods = NULL;
    f->real = (sqlite3_file *)(void *)(f + 1);
    int rc = count_call(SQLITE_CANTOPEN);
    if (rc == SQLITE_OK)
        rc = state.real->xOpen(state.real, name, f->real, flags, out_flags);
    if (rc == SQLITE_OK)
        f->base.pMethods = &methods;
    return rc;
}

static int v_delete(sqlite3_vfs *vfs, const char *name, int sync) {
    (void)vfs;
    int rc = count_call(SQLITE_IOERR_DELETE);
    return rc ? rc : state.real->xDelete(state.real, name, sync);
}

static int v_access(sqlite3_vfs *vfs, const char *name, int flags, int *out) {
    (void)vfs;
    return state.real->xAccess(state.real, name, flags, out);
}

void failvfs_install(void) {
    static sqlite3_vfs vfs;
    if (state.real)
        return;
    state.real = sqlite3_vfs_find(NULL);
    vfs = *state.real;
    vfs.zName = "failvfs";
    vfs.pNext = NULL;
    vfs.szOsFile = (int)sizeof(fail_file) + state.real->szOsFile;
    vfs.xOpen = v_open;
    vfs.xDelete = v_delete;
    vfs.xAccess = v_access;
    sqlite3_vfs_register(&vfs, 0);
}
