/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "sim/sqlite.h"

#include "support/check.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILE_NAME "archive.db"

enum { MOUNTS_MAX = 4, FILES_MAX = 8, SHM_PAGES = 8, SHM_SLOTS = 8 };

/* What all connections to one file share. */
typedef struct shared {
    char name[64];
    uint32_t readers; /* with SHARED or more */
    const void *reserved, *pending;
    void *pages[SHM_PAGES];
    uint32_t mapped; /* connections that use the pages */
    uint32_t shm_readers[SHM_SLOTS];
    bool shm_writer[SHM_SLOTS];
} shared;

typedef struct mount {
    sim_process *process;
    rung_memfs **fs;
    const char *folder;
    shared files[FILES_MAX];
} mount;

static mount mounts[MOUNTS_MAX];

typedef struct file {
    sqlite3_file base;
    mount *mount;
    shared *shared;
    int handle, level;
    bool is_name_new; /* the folder must be synced with it */
    bool is_temporary;
    bool is_mapped;
    uint8_t shm_shared, shm_exclusive; /* slots */
} file;

static file *self(sqlite3_file *f) {
    return (file *)(void *)f;
}

static mount *here(void) {
    for (int i = 0; i < MOUNTS_MAX; i++)
        if (mounts[i].process && mounts[i].process == sim_process_running())
            return &mounts[i];
    CHECK(!"SQLite outside of a process");
    abort();
}

static const rung_fs *port(const mount *m) {
    return &(*m->fs)->port;
}

static int failure(ssize_t rc, int otherwise) {
    return rc >= 0 ? SQLITE_OK : rc == -ENOSPC ? SQLITE_FULL : otherwise;
}

/* ---- memory: the process's ---- */

typedef struct block {
    sim_process *process; /* NULL: SQLite's own, made before any process ran */
    size_t size;
    _Alignas(16) char bytes[];
} block;

static block *block_of(void *p) {
    return (block *)(void *)((char *)p - offsetof(block, bytes));
}

static void *resize(block *b, sim_process *p, size_t size) {
    size_t whole = sizeof(block) + size;
    block *now = !p ? realloc(b, whole)
                    : p->alloc.resize(p->alloc.ctx, b, b ? sizeof(block) + b->size : 0, whole);
    CHECK(now != NULL);
    now->process = p;
    now->size = size;
    return now->bytes;
}

static void *m_malloc(int size) {
    return resize(NULL, sim_process_running(), (size_t)size);
}

static void *m_realloc(void *p, int size) {
    return resize(block_of(p), block_of(p)->process, (size_t)size);
}

static void m_free(void *p) {
    block *b = p ? block_of(p) : NULL;
    if (b && b->process)
        b->process->alloc.resize(b->process->alloc.ctx, b, sizeof(block) + b->size, 0);
    else
        free(b);
}

static int m_size(void *p) {
    return p ? (int)block_of(p)->size : 0;
}

static int m_roundup(int size) {
    return (size + 7) & ~7;
}

static int m_init(void *ctx) {
    (void)ctx;
    return SQLITE_OK;
}

static void m_shutdown(void *ctx) {
    (void)ctx;
}

/* ---- files ---- */

static int f_close(sqlite3_file *base) {
    file *f = self(base);
    port(f->mount)->close((*f->mount->fs), f->handle);
    return SQLITE_OK;
}

static int f_read(sqlite3_file *base, void *out, int n, sqlite3_int64 at) {
    file *f = self(base);
    ssize_t got = port(f->mount)->pread(*f->mount->fs, f->handle, out, (size_t)n, (uint64_t)at);
    if (got < 0)
        return SQLITE_IOERR_READ;
    memset((char *)out + got, 0, (size_t)(n - got));
    return got == n ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int f_write(sqlite3_file *base, const void *bytes, int n, sqlite3_int64 at) {
    file *f = self(base);
    struct iovec part = {(void *)(uintptr_t)bytes, (size_t)n};
    return failure(port(f->mount)->pwritev(*f->mount->fs, f->handle, &part, 1, (uint64_t)at),
                   SQLITE_IOERR_WRITE);
}

static int f_truncate(sqlite3_file *base, sqlite3_int64 size) {
    file *f = self(base);
    return failure(port(f->mount)->ftruncate(*f->mount->fs, f->handle, (uint64_t)size),
                   SQLITE_IOERR_TRUNCATE);
}

static int sync_folder(const mount *m) {
    int dir = port(m)->dir_open(*m->fs, m->folder, false);
    if (dir < 0)
        return dir;
    int rc = port(m)->dir_sync(*m->fs, dir);
    port(m)->close(*m->fs, dir);
    return rc;
}

/* As the unix VFS: the name of a new journal is synced with its first bytes. */
static int f_sync(sqlite3_file *base, int flags) {
    file *f = self(base);
    (void)flags;
    int rc = port(f->mount)->fsync(*f->mount->fs, f->handle);
    if (rc == 0 && f->is_name_new) {
        rc = sync_folder(f->mount);
        f->is_name_new = rc < 0;
    }
    return failure(rc, SQLITE_IOERR_FSYNC);
}

static int f_size(sqlite3_file *base, sqlite3_int64 *size) {
    file *f = self(base);
    *size = port(f->mount)->size(*f->mount->fs, f->handle);
    return *size < 0 ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

static int f_lock(sqlite3_file *base, int level) {
    file *f = self(base);
    shared *s = f->shared;
    if (f->level >= level)
        return SQLITE_OK;
    if (s->pending && s->pending != f)
        return SQLITE_BUSY;
    if (level >= SQLITE_LOCK_RESERVED && s->reserved && s->reserved != f)
        return SQLITE_BUSY;
    if (f->level == SQLITE_LOCK_NONE)
        s->readers++;
    if (level >= SQLITE_LOCK_RESERVED)
        s->reserved = f;
    if (level == SQLITE_LOCK_EXCLUSIVE) {
        s->pending = f;
        if (s->readers > 1) {
            f->level = SQLITE_LOCK_PENDING;
            return SQLITE_BUSY;
        }
    }
    f->level = level;
    return SQLITE_OK;
}

static int f_unlock(sqlite3_file *base, int level) {
    file *f = self(base);
    shared *s = f->shared;
    if (f->level <= level)
        return SQLITE_OK;
    s->reserved = s->reserved == f ? NULL : s->reserved;
    s->pending = s->pending == f ? NULL : s->pending;
    s->readers -= level == SQLITE_LOCK_NONE;
    f->level = level;
    return SQLITE_OK;
}

static int f_check_lock(sqlite3_file *base, int *out) {
    *out = self(base)->shared->reserved != NULL;
    return SQLITE_OK;
}

static int f_control(sqlite3_file *base, int op, void *arg) {
    (void)base, (void)op, (void)arg;
    return SQLITE_NOTFOUND;
}

static int f_sector_size(sqlite3_file *base) {
    (void)base;
    return 512;
}

static int f_traits(sqlite3_file *base) {
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

/* ---- shared memory: the index of the WAL, among the connections of one process ---- */

static int f_shm_map(sqlite3_file *base, int page, int size, int extend, void volatile **out) {
    file *f = self(base);
    shared *s = f->shared;
    CHECK(page < SHM_PAGES);
    s->mapped += !f->is_mapped;
    f->is_mapped = true;
    if (!s->pages[page] && extend)
        s->pages[page] = calloc(1, (size_t)size);
    *out = s->pages[page];
    return SQLITE_OK;
}

static int f_shm_lock(sqlite3_file *base, int offset, int n, int flags) {
    file *f = self(base);
    shared *s = f->shared;
    bool is_exclusive = flags & SQLITE_SHM_EXCLUSIVE;
    for (int i = offset; flags & SQLITE_SHM_LOCK && i < offset + n; i++) {
        bool is_read_here = f->shm_shared & 1 << i, is_written_here = f->shm_exclusive & 1 << i;
        if ((s->shm_writer[i] && !is_written_here) ||
            (is_exclusive && s->shm_readers[i] > is_read_here))
            return SQLITE_BUSY;
    }
    for (int i = offset; i < offset + n; i++) {
        uint8_t bit = (uint8_t)(1 << i);
        s->shm_readers[i] -= f->shm_shared & bit ? 1 : 0;
        s->shm_writer[i] &= !(f->shm_exclusive & bit);
        f->shm_shared &= (uint8_t)~bit;
        f->shm_exclusive &= (uint8_t)~bit;
        if (!(flags & SQLITE_SHM_LOCK))
            continue;
        s->shm_readers[i] += !is_exclusive;
        s->shm_writer[i] |= is_exclusive;
        *(is_exclusive ? &f->shm_exclusive : &f->shm_shared) |= bit;
    }
    return SQLITE_OK;
}

static void f_shm_barrier(sqlite3_file *base) {
    (void)base;
}

static void free_pages(shared *s) {
    for (int i = 0; i < SHM_PAGES; i++) {
        free(s->pages[i]);
        s->pages[i] = NULL;
    }
}

static int f_shm_unmap(sqlite3_file *base, int remove) {
    file *f = self(base);
    (void)remove;
    if (!f->is_mapped)
        return SQLITE_OK;
    f_shm_lock(base, 0, SHM_SLOTS, SQLITE_SHM_UNLOCK);
    f->is_mapped = false;
    if (--f->shared->mapped == 0)
        free_pages(f->shared);
    return SQLITE_OK;
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

/* ---- names ---- */

static shared *shared_of(mount *m, const char *name) {
    int i = 0;
    while (i < FILES_MAX && m->files[i].name[0] && strcmp(m->files[i].name, name) != 0)
        i++;
    CHECK(i < FILES_MAX);
    snprintf(m->files[i].name, sizeof m->files[i].name, "%s", name);
    return &m->files[i];
}

static bool is_there(const mount *m, int dir, const char *name) {
    rung_file_stamp stamp;
    return port(m)->stamp(*m->fs, dir, name, &stamp) == 0;
}

static int v_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags,
                  int *out_flags) {
    file *f = self(base);
    mount *m = here();
    (void)vfs;
    CHECK(name != NULL); /* nothing of ours needs a temporary file */
    *f = (file){.mount = m, .shared = shared_of(m, name)};
    int dir = port(m)->dir_open(*m->fs, m->folder, false);
    if (dir < 0)
        return SQLITE_CANTOPEN;
    bool is_new = !is_there(m, dir, name);
    int mode = flags & SQLITE_OPEN_CREATE      ? RUNG_FILE_CREATE
               : flags & SQLITE_OPEN_READWRITE ? RUNG_FILE_WRITE
                                               : RUNG_FILE_READ;
    f->handle = port(m)->open(*m->fs, dir, name, mode);
    port(m)->close(*m->fs, dir);
    if (f->handle < 0)
        return f->handle == -ENOSPC ? SQLITE_FULL : SQLITE_CANTOPEN;
    f->is_name_new = is_new && flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL);
    f->base.pMethods = &methods;
    if (out_flags)
        *out_flags = flags;
    return SQLITE_OK;
}

static int v_delete(sqlite3_vfs *vfs, const char *name, int sync) {
    mount *m = here();
    (void)vfs;
    int dir = port(m)->dir_open(*m->fs, m->folder, false);
    if (dir < 0)
        return SQLITE_IOERR_DELETE;
    int rc = port(m)->unlink(*m->fs, dir, name);
    if (rc == 0 && sync)
        rc = port(m)->dir_sync(*m->fs, dir);
    port(m)->close(*m->fs, dir);
    return rc == -ENOENT ? SQLITE_IOERR_DELETE_NOENT : failure(rc, SQLITE_IOERR_DELETE);
}

static int v_access(sqlite3_vfs *vfs, const char *name, int flags, int *out) {
    mount *m = here();
    (void)vfs, (void)flags;
    int dir = port(m)->dir_open(*m->fs, m->folder, false);
    if (dir < 0)
        return SQLITE_IOERR_ACCESS;
    *out = is_there(m, dir, name);
    port(m)->close(*m->fs, dir);
    return SQLITE_OK;
}

static int v_full_path(sqlite3_vfs *vfs, const char *name, int size, char *out) {
    (void)vfs, (void)name;
    snprintf(out, (size_t)size, "%s", FILE_NAME);
    return SQLITE_OK;
}

static int v_random(sqlite3_vfs *vfs, int size, char *out) {
    const mount *m = here();
    (void)vfs;
    port(m)->random(*m->fs, out, (size_t)size);
    return size;
}

typedef struct alarm {
    const int64_t *now_us;
    int64_t until_us;
} alarm_time;

static bool is_over(void *ctx) {
    const alarm_time *a = ctx;
    return *a->now_us >= a->until_us;
}

static int v_sleep(sqlite3_vfs *vfs, int us) {
    sim_process *p = sim_process_running();
    alarm_time a = {p->monotonic_us, *p->monotonic_us + us};
    (void)vfs;
    sim_process_wait(p, is_over, &a);
    return us;
}

static int v_time(sqlite3_vfs *vfs, sqlite3_int64 *out) {
    (void)vfs;
    *out = *sim_process_running()->monotonic_us / 1000;
    return SQLITE_OK;
}

static int v_error(sqlite3_vfs *vfs, int size, char *out) {
    (void)vfs, (void)size, (void)out;
    return 0;
}

/* ---- life ---- */

static void install(void) {
    static bool is_done;
    static const sqlite3_mem_methods memory = {.xMalloc = m_malloc,
                                               .xFree = m_free,
                                               .xRealloc = m_realloc,
                                               .xSize = m_size,
                                               .xRoundup = m_roundup,
                                               .xInit = m_init,
                                               .xShutdown = m_shutdown};
    static sqlite3_vfs vfs = {.iVersion = 2,
                              .szOsFile = sizeof(file),
                              .mxPathname = 64,
                              .zName = SIM_VFS,
                              .xOpen = v_open,
                              .xDelete = v_delete,
                              .xAccess = v_access,
                              .xFullPathname = v_full_path,
                              .xRandomness = v_random,
                              .xSleep = v_sleep,
                              .xCurrentTimeInt64 = v_time,
                              .xGetLastError = v_error};
    if (is_done)
        return;
    is_done = true;
    CHECK(sqlite3_config(SQLITE_CONFIG_MALLOC, &memory) == SQLITE_OK);
    CHECK(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK);
    CHECK(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK);
}

void sim_sqlite_mount(sim_process *p, rung_memfs **fs, const char *folder) {
    int i = 0;
    install();
    sqlite3_randomness(0, NULL); /* the same seed is the same story */
    while (i < MOUNTS_MAX && mounts[i].process)
        i++;
    CHECK(i < MOUNTS_MAX);
    mounts[i] = (mount){.process = p, .fs = fs, .folder = folder};
}

void sim_sqlite_forget(sim_process *p) {
    for (int i = 0; i < MOUNTS_MAX; i++) {
        mount *m = &mounts[i];
        for (int k = 0; m->process == p && k < FILES_MAX; k++)
            free_pages(&m->files[k]);
        if (m->process == p)
            memset(m->files, 0, sizeof m->files);
    }
}

void sim_sqlite_unmount(sim_process *p) {
    sim_sqlite_forget(p);
    for (int i = 0; i < MOUNTS_MAX; i++)
        if (mounts[i].process == p)
            mounts[i] = (mount){0};
}

const char *sim_sqlite_path(void) {
    static char path[40];
    if (!path[0]) {
        int fd = memfd_create("archive", MFD_CLOEXEC);
        CHECK(fd >= 0 && write(fd, "x", 1) == 1);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    return path;
}
