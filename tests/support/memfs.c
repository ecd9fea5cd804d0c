/* SPDX-License-Identifier: Apache-2.0 */
#include "support/memfs.h"

#include "support/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR = 512 };

static rung_memfs *self(void *ctx) {
    return ctx;
}

/* ---- bytes and names ---- */

void rung_memfs_resize(memfs_bytes *b, size_t size) {
    if (size > b->room) {
        b->room = size * 2;
        b->bytes = realloc(b->bytes, b->room);
        CHECK(b->bytes != NULL);
    }
    if (size > b->size)
        memset(b->bytes + b->size, 0, size - b->size);
    b->size = size;
}

static void copy_bytes(memfs_bytes *to, const memfs_bytes *from) {
    *to = (memfs_bytes){0};
    rung_memfs_resize(to, from->size);
    if (from->size)
        memcpy(to->bytes, from->bytes, from->size);
}

static memfs_name *find_name(const memfs_names *list, int dir, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (list->names[i].dir == dir && strcmp(list->names[i].name, name) == 0)
            return &list->names[i];
    return NULL;
}

static void drop_name(memfs_names *list, int dir, const char *name) {
    memfs_name *found = find_name(list, dir, name);
    if (found)
        *found = list->names[--list->count];
}

static void set_name(memfs_names *list, int dir, const char *name, int inode) {
    drop_name(list, dir, name);
    if (list->count == list->room) {
        list->room = list->room ? list->room * 2 : 16;
        list->names = realloc(list->names, list->room * sizeof *list->names);
        CHECK(list->names != NULL);
    }
    memfs_name *n = &list->names[list->count++];
    *n = (memfs_name){.dir = dir, .inode = inode};
    CHECK(strlen(name) < sizeof n->name);
    memcpy(n->name, name, strlen(name) + 1);
}

/* ---- atoms ---- */

static memfs_atom *add_atom(rung_memfs *fs, memfs_atom_kind kind) {
    if (fs->atom_count == fs->atom_room) {
        fs->atom_room = fs->atom_room ? fs->atom_room * 2 : 32;
        fs->atoms = realloc(fs->atoms, fs->atom_room * sizeof *fs->atoms);
        CHECK(fs->atoms != NULL);
    }
    memfs_atom *a = &fs->atoms[fs->atom_count++];
    *a = (memfs_atom){.kind = kind};
    return a;
}

static void name_atom(rung_memfs *fs, memfs_atom_kind kind, int dir, int inode, const char *name,
                      const char *to) {
    memfs_atom *a = add_atom(fs, kind);
    a->dir = dir;
    a->inode = inode;
    memcpy(a->name, name, strlen(name) + 1);
    if (to)
        memcpy(a->to, to, strlen(to) + 1);
}

/* Will the disk's sector change before what is written now gets there? */
static bool has_pending(const rung_memfs *fs, int inode, uint64_t sector) {
    for (size_t i = 0; i < fs->atom_count; i++) {
        const memfs_atom *a = &fs->atoms[i];
        bool is_cut = a->kind == MEMFS_SIZE && !a->is_grown && a->index < (sector + 1) * SECTOR;
        if (a->inode == inode && (is_cut || (a->kind == MEMFS_SECTOR && a->index == sector)))
            return true;
    }
    return false;
}

static void load_sector(const memfs_bytes *b, uint64_t sector, uint8_t out[SECTOR]) {
    memset(out, 0, SECTOR);
    uint64_t at = sector * SECTOR;
    if (at < b->size)
        memcpy(out, b->bytes + at, b->size - at < SECTOR ? b->size - at : SECTOR);
}

/* A write that changes nothing on the disk leaves no atom: the zeros of a fresh segment, mostly. */
static void sector_atom(rung_memfs *fs, int inode, uint64_t sector) {
    uint8_t seen[SECTOR], disk[SECTOR];
    load_sector(&fs->inodes[inode].seen, sector, seen);
    load_sector(&fs->inodes[inode].disk, sector, disk);
    if (memcmp(seen, disk, SECTOR) == 0 && !has_pending(fs, inode, sector))
        return;
    memfs_atom *a = add_atom(fs, MEMFS_SECTOR);
    a->inode = inode;
    a->index = sector;
    memcpy(a->bytes, seen, SECTOR);
}

static void size_atom(rung_memfs *fs, int inode, uint64_t size, bool is_grown) {
    memfs_atom *a = add_atom(fs, MEMFS_SIZE);
    a->inode = inode;
    a->index = size;
    a->is_grown = is_grown;
}

/* Sectors beyond the end of the file wait there, invisible, until a size atom reaches them: the content is kept in
 * bytes beyond `size`, which rung_memfs_resize would clear. So sizes are applied last, per file. */
static void apply_sector(memfs_bytes *b, const memfs_atom *a) {
    size_t end = (size_t)(a->index + 1) * SECTOR;
    if (end > b->size)
        rung_memfs_resize(b, end);
    memcpy(b->bytes + a->index * SECTOR, a->bytes, SECTOR);
}

static void apply_name(memfs_names *list, const memfs_atom *a) {
    if (a->kind == MEMFS_NAME)
        set_name(list, a->dir, a->name, a->inode);
    if (a->kind == MEMFS_UNNAME)
        drop_name(list, a->dir, a->name);
    if (a->kind == MEMFS_RENAME) {
        drop_name(list, a->dir, a->name);
        set_name(list, a->dir, a->to, a->inode);
    }
}

/* Carry the kept atoms of one inode to `disk`. A smaller size clears what is behind it, for later atoms too. */
static void apply_inode(memfs_bytes *disk, const rung_memfs *fs, int inode,
                        bool (*keep)(void *arg, size_t atom), void *arg) {
    size_t size = disk->size;
    for (size_t i = 0; i < fs->atom_count; i++) {
        const memfs_atom *a = &fs->atoms[i];
        if (a->inode != inode || a->kind > MEMFS_SIZE || !keep(arg, i))
            continue;
        if (a->kind == MEMFS_SECTOR) {
            apply_sector(disk, a);
        } else if (a->is_grown) {
            size = a->index > size ? (size_t)a->index : size;
        } else {
            if (a->index < size && a->index < disk->size)
                memset(disk->bytes + a->index, 0, disk->size - a->index);
            size = a->index;
        }
    }
    if (size > disk->size)
        rung_memfs_resize(disk, size);
    disk->size = size;
    if (disk->size < disk->room) /* what is behind the end is zero when the file grows again */
        memset(disk->bytes + disk->size, 0, disk->room - disk->size);
}

static bool keep_all(void *arg, size_t atom) {
    (void)arg;
    (void)atom;
    return true;
}

static void forget(rung_memfs *fs, int inode, int dir) {
    size_t kept = 0;
    for (size_t i = 0; i < fs->atom_count; i++) {
        const memfs_atom *a = &fs->atoms[i];
        bool is_gone = a->kind <= MEMFS_SIZE ? a->inode == inode : a->dir == dir;
        if (!is_gone)
            fs->atoms[kept++] = fs->atoms[i];
    }
    fs->atom_count = kept;
}

/* A sync has failed: the kernel calls the pages that it was for clean, so no later sync carries them over, nor the
 * growth of the file that came with them. What keep_failed() says is still pending. A size that was set, like a name,
 * is in the file system's journal: one that cannot write that takes no more writes at all. */
static void lose_pages(rung_memfs *fs, int inode) {
    size_t kept = 0;
    for (size_t i = 0; i < fs->atom_count; i++) {
        const memfs_atom *a = &fs->atoms[i];
        bool is_page = a->kind == MEMFS_SECTOR || (a->kind == MEMFS_SIZE && a->is_grown);
        bool is_kept = fs->keep_failed && fs->keep_failed(fs->keep_arg, i);
        if (!is_page || a->inode != inode || is_kept)
            fs->atoms[kept++] = fs->atoms[i];
    }
    fs->atom_count = kept;
}

/* ---- faults ---- */

void rung_memfs_fail(rung_memfs *fs, uint64_t n, int os_errno, bool is_sticky) {
    fs->call_count = 0;
    fs->fail_at = n;
    fs->fail_errno = os_errno;
    fs->is_sticky = is_sticky;
    fs->has_failed = false;
}

/* 0, or the negative errno that this call shall return. `kind`: r read, w write or space, s sync, o other. */
static int fault(rung_memfs *fs, char kind) {
    if (fs->is_frozen)
        return -EIO;
    if (fs->only && fs->only != kind)
        return 0;
    if (fs->fail_errno == EINTR && kind != 'r' && kind != 'w')
        return 0;
    fs->call_count++;
    if (fs->fail_at == 0 || fs->call_count < fs->fail_at ||
        (fs->call_count > fs->fail_at && !fs->is_sticky))
        return 0;
    fs->has_failed = true;
    return -fs->fail_errno;
}

static void hook(rung_memfs *fs, const char *call) {
    if (fs->before)
        fs->before(fs->before_arg, fs, call);
}

uint64_t rung_memfs_used(const rung_memfs *fs) {
    uint64_t used = 0;
    for (size_t i = 0; i < fs->inode_count; i++) {
        bool is_named = false;
        for (size_t k = 0; k < fs->seen.count; k++)
            is_named |= fs->seen.names[k].inode == (int)i;
        used += is_named ? fs->inodes[i].seen.size : 0;
    }
    return used;
}

static bool has_space(const rung_memfs *fs, uint64_t more) {
    return !fs->space || rung_memfs_used(fs) + more <= fs->space;
}

/* ---- the port ---- */

static int new_handle(rung_memfs *fs, bool is_dir, int index) {
    for (int i = 0; i < (int)(sizeof fs->handles / sizeof fs->handles[0]); i++)
        if (!fs->handles[i].is_used) {
            fs->handles[i] = (memfs_handle){true, is_dir, false, index};
            return i;
        }
    return -EMFILE;
}

static int inode_of(const rung_memfs *fs, int handle) {
    CHECK(handle >= 0 && handle < 64 && fs->handles[handle].is_used && !fs->handles[handle].is_dir);
    return fs->handles[handle].index;
}

static int dir_of(const rung_memfs *fs, int handle) {
    CHECK(handle >= 0 && handle < 64 && fs->handles[handle].is_used && fs->handles[handle].is_dir);
    return fs->handles[handle].index;
}

static int find_dir(const rung_memfs *fs, const char *path) {
    for (int i = 0; i < fs->dir_count; i++)
        if (strcmp(fs->dirs[i], path) == 0)
            return i;
    return -1;
}

#define LOCKED(fs, result_type, expression)                                                        \
    do {                                                                                           \
        pthread_mutex_lock(&(fs)->lock);                                                           \
        result_type locked_result = (expression);                                                  \
        pthread_mutex_unlock(&(fs)->lock);                                                         \
        return locked_result;                                                                      \
    } while (0)

static int do_dir_open(rung_memfs *fs, const char *path, bool create) {
    int failed = fault(fs, 'o');
    if (failed)
        return failed;
    int dir = find_dir(fs, path);
    if (dir < 0 && !create)
        return -ENOENT;
    if (dir < 0) {
        CHECK(fs->dir_count < 8 && strlen(path) < sizeof fs->dirs[0]);
        dir = fs->dir_count++;
        memcpy(fs->dirs[dir], path, strlen(path) + 1);
    }
    return new_handle(fs, true, dir);
}

static int mem_dir_open(void *ctx, const char *path, bool create) {
    LOCKED(self(ctx), int, do_dir_open(ctx, path, create));
}

static int do_dir_sync(rung_memfs *fs, int handle) {
    int failed = fault(fs, 's'), dir = dir_of(fs, handle);
    fs->sync_count++;
    if (failed)
        return failed;
    for (size_t i = 0; i < fs->atom_count; i++)
        if (fs->atoms[i].kind > MEMFS_SIZE && fs->atoms[i].dir == dir)
            apply_name(&fs->disk, &fs->atoms[i]);
    forget(fs, -1, dir);
    return 0;
}

static int mem_dir_sync(void *ctx, int handle) {
    hook(ctx, "dir_sync");
    LOCKED(self(ctx), int, do_dir_sync(ctx, handle));
}

static int mem_dir_list(void *ctx, int handle, void (*each)(void *arg, const char *name),
                        void *arg) {
    rung_memfs *fs = ctx;
    pthread_mutex_lock(&fs->lock);
    int failed = fault(fs, 'r'), dir = dir_of(fs, handle);
    if (failed == -EINTR)
        failed = 0;
    for (size_t i = 0; !failed && i < fs->seen.count; i++)
        if (fs->seen.names[i].dir == dir)
            each(arg, fs->seen.names[i].name);
    pthread_mutex_unlock(&fs->lock);
    return failed;
}

static int do_open(rung_memfs *fs, int handle, const char *name, int mode) {
    int failed = fault(fs, 'o'), dir = dir_of(fs, handle);
    if (failed)
        return failed;
    memfs_name *found = find_name(&fs->seen, dir, name);
    if (found && mode >= RUNG_FILE_EXCLUSIVE)
        return -EEXIST;
    if (found)
        return new_handle(fs, false, found->inode);
    if (mode <= RUNG_FILE_WRITE)
        return -ENOENT;
    fs->inodes = realloc(fs->inodes, (fs->inode_count + 1) * sizeof *fs->inodes);
    CHECK(fs->inodes != NULL);
    int inode = (int)fs->inode_count++;
    fs->inodes[inode] = (memfs_inode){0};
    set_name(&fs->seen, dir, name, inode);
    name_atom(fs, MEMFS_NAME, dir, inode, name, NULL);
    return new_handle(fs, false, inode);
}

static int mem_open(void *ctx, int dir, const char *name, int mode) {
    if (mode > RUNG_FILE_WRITE)
        hook(ctx, "create");
    LOCKED(self(ctx), int, do_open(ctx, dir, name, mode));
}

static int mem_close(void *ctx, int handle) {
    rung_memfs *fs = ctx;
    pthread_mutex_lock(&fs->lock);
    CHECK(handle >= 0 && handle < 64 && fs->handles[handle].is_used);
    fs->handles[handle].is_used = false;
    pthread_mutex_unlock(&fs->lock);
    return 0;
}

static void write_some(rung_memfs *fs, int inode, const uint8_t *from, size_t len,
                       uint64_t offset) {
    memfs_bytes *b = &fs->inodes[inode].seen;
    if (len == 0)
        return;
    if (offset + len > b->size || offset + len > fs->inodes[inode].disk.size)
        size_atom(fs, inode, offset + len, true); /* also where the last growth was lost */
    if (offset + len > b->size)
        rung_memfs_resize(b, (size_t)offset + len);
    memcpy(b->bytes + offset, from, len);
    for (uint64_t s = offset / SECTOR; s <= (offset + len - 1) / SECTOR; s++)
        sector_atom(fs, inode, s);
}

/* What a failed write has written: half, up to a boundary of sectors. */
static size_t half(uint64_t offset, size_t total) {
    uint64_t end = (offset + total / 2) / SECTOR * SECTOR;
    return end > offset ? (size_t)(end - offset) : 0;
}

static ssize_t do_pwritev(rung_memfs *fs, int handle, const struct iovec *parts, int count,
                          uint64_t offset) {
    int inode = inode_of(fs, handle), failed = fault(fs, 'w');
    if (failed == -EINTR)
        return failed;
    size_t total = 0, done = 0;
    for (int i = 0; i < count; i++)
        total += parts[i].iov_len;
    size_t want = fs->is_frozen ? 0 : failed ? half(offset, total) : total;
    if (fs->transfer_max && want > fs->transfer_max)
        want = fs->transfer_max;
    uint64_t size = fs->inodes[inode].seen.size;
    if (offset + want > size && !has_space(fs, offset + want - size))
        return -ENOSPC;
    fs->write_count++;
    for (int i = 0; i < count && done < want; i++) {
        size_t len = parts[i].iov_len < want - done ? parts[i].iov_len : want - done;
        write_some(fs, inode, parts[i].iov_base, len, offset + done);
        done += len;
    }
    return failed ? failed : (ssize_t)done;
}

static ssize_t mem_pwritev(void *ctx, int file, const struct iovec *parts, int count,
                           uint64_t offset) {
    hook(ctx, "pwritev");
    LOCKED(self(ctx), ssize_t, do_pwritev(ctx, file, parts, count, offset));
}

static ssize_t do_pread(rung_memfs *fs, int handle, void *buffer, size_t len, uint64_t offset) {
    int failed = fault(fs, 'r');
    if (failed)
        return failed;
    const memfs_bytes *b = &fs->inodes[inode_of(fs, handle)].seen;
    if (offset >= b->size)
        return 0;
    if (fs->transfer_max && len > fs->transfer_max)
        len = fs->transfer_max;
    if (len > b->size - offset)
        len = b->size - (size_t)offset;
    memcpy(buffer, b->bytes + offset, len);
    return (ssize_t)len;
}

static ssize_t mem_pread(void *ctx, int file, void *buffer, size_t len, uint64_t offset) {
    LOCKED(self(ctx), ssize_t, do_pread(ctx, file, buffer, len, offset));
}

static int do_sync(rung_memfs *fs, int handle) {
    int inode = inode_of(fs, handle), failed = fault(fs, 's');
    fs->sync_count++;
    if (fs->is_frozen)
        return failed;
    if (failed) {
        lose_pages(fs, inode);
        return failed;
    }
    apply_inode(&fs->inodes[inode].disk, fs, inode, keep_all, NULL);
    forget(fs, inode, -1);
    return 0;
}

static int mem_sync(void *ctx, int file) {
    hook(ctx, "sync");
    LOCKED(self(ctx), int, do_sync(ctx, file));
}

static int mem_write_out(void *ctx, int file, uint64_t offset, uint64_t len) {
    (void)file, (void)offset, (void)len; /* it promises nothing */
    LOCKED(self(ctx), int, fault(ctx, 'w'));
}

static int do_resize(rung_memfs *fs, int handle, uint64_t size, bool may_shrink) {
    int inode = inode_of(fs, handle), failed = fault(fs, 'w');
    if (failed)
        return failed;
    memfs_bytes *b = &fs->inodes[inode].seen;
    if (size > b->size && !has_space(fs, size - b->size))
        return -ENOSPC;
    if (size == b->size || (size < b->size && !may_shrink))
        return 0;
    rung_memfs_resize(b, (size_t)size);
    size_atom(fs, inode, size, false);
    return 0;
}

static int mem_fallocate(void *ctx, int file, uint64_t size) {
    hook(ctx, "fallocate");
    LOCKED(self(ctx), int, do_resize(ctx, file, size, false));
}

static int mem_ftruncate(void *ctx, int file, uint64_t size) {
    hook(ctx, "ftruncate");
    LOCKED(self(ctx), int, do_resize(ctx, file, size, true));
}

static int64_t do_size(rung_memfs *fs, int handle) {
    int failed = fault(fs, 'o');
    return failed ? failed : (int64_t)fs->inodes[inode_of(fs, handle)].seen.size;
}

static int64_t mem_size(void *ctx, int file) {
    LOCKED(self(ctx), int64_t, do_size(ctx, file));
}

static int do_rename(rung_memfs *fs, int handle, const char *from, const char *to) {
    int failed = fault(fs, 'o'), dir = dir_of(fs, handle);
    if (failed)
        return failed;
    memfs_name *found = find_name(&fs->seen, dir, from);
    if (!found)
        return -ENOENT;
    int inode = found->inode;
    drop_name(&fs->seen, dir, from);
    set_name(&fs->seen, dir, to, inode);
    name_atom(fs, MEMFS_RENAME, dir, inode, from, to);
    return 0;
}

static int mem_rename(void *ctx, int dir, const char *from, const char *to) {
    hook(ctx, "rename");
    LOCKED(self(ctx), int, do_rename(ctx, dir, from, to));
}

static int do_link(rung_memfs *fs, int from_handle, const char *from, int to_handle,
                   const char *to) {
    int failed = fault(fs, 'o'), from_dir = dir_of(fs, from_handle), to_dir = dir_of(fs, to_handle);
    if (failed)
        return failed;
    memfs_name *found = find_name(&fs->seen, from_dir, from);
    if (!found)
        return -ENOENT;
    if (find_name(&fs->seen, to_dir, to))
        return -EEXIST;
    int inode = found->inode;
    set_name(&fs->seen, to_dir, to, inode);
    name_atom(fs, MEMFS_NAME, to_dir, inode, to, NULL);
    return 0;
}

static int mem_link(void *ctx, int from_dir, const char *from, int to_dir, const char *to) {
    hook(ctx, "link");
    LOCKED(self(ctx), int, do_link(ctx, from_dir, from, to_dir, to));
}

static int do_unlink(rung_memfs *fs, int handle, const char *name) {
    int failed = fault(fs, 'o'), dir = dir_of(fs, handle);
    if (failed)
        return failed;
    if (!find_name(&fs->seen, dir, name))
        return -ENOENT;
    drop_name(&fs->seen, dir, name);
    name_atom(fs, MEMFS_UNNAME, dir, 0, name, NULL);
    return 0;
}

static int do_space(const rung_memfs *fs, uint64_t *total_out, uint64_t *free_out) {
    uint64_t used = rung_memfs_used(fs);
    *total_out = fs->space;
    *free_out = used < fs->space ? fs->space - used : 0;
    return fs->space ? 0 : -ENOSYS;
}

static int mem_space(void *ctx, int dir, uint64_t *total_out, uint64_t *free_out) {
    (void)dir;
    LOCKED(self(ctx), int, do_space(ctx, total_out, free_out));
}

static int mem_unlink(void *ctx, int dir, const char *name) {
    hook(ctx, "unlink");
    LOCKED(self(ctx), int, do_unlink(ctx, dir, name));
}

static int do_lock(rung_memfs *fs, int handle) {
    int failed = fault(fs, 'o'), inode = inode_of(fs, handle);
    if (failed)
        return failed;
    for (int i = 0; i < 64; i++)
        if (i != handle && fs->handles[i].is_used && fs->handles[i].has_lock &&
            fs->handles[i].index == inode)
            return -EAGAIN;
    fs->handles[handle].has_lock = true;
    return 0;
}

static int mem_lock(void *ctx, int file) {
    LOCKED(self(ctx), int, do_lock(ctx, file));
}

/* Nobody else has it: who locks a folder is done with it before the next one comes. */
static int mem_dir_lock(void *ctx, int dir) {
    (void)dir;
    LOCKED(self(ctx), int, fault(ctx, 'o'));
}

/* A file that is written anew is another inode, so number and size tell it apart. */
static int do_stamp(rung_memfs *fs, int handle, const char *name, rung_file_stamp *out) {
    int failed = fault(fs, 'o');
    memfs_name *found = failed || !name ? NULL : find_name(&fs->seen, dir_of(fs, handle), name);
    if (failed || (name && !found))
        return failed ? failed : -ENOENT;
    int inode = name ? found->inode : inode_of(fs, handle);
    *out = (rung_file_stamp){.inode = (uint64_t)inode,
                             .size = fs->inodes[inode].seen.size,
                             .mode = 0600,
                             .is_regular = true};
    return 0;
}

static int mem_stamp(void *ctx, int handle, const char *name, rung_file_stamp *out) {
    LOCKED(self(ctx), int, do_stamp(ctx, handle, name, out));
}

static int mem_random(void *ctx, void *buffer, size_t len) {
    rung_memfs *fs = ctx;
    uint8_t *out = buffer;
    for (size_t i = 0; i < len; i++) {
        fs->random = fs->random * 6364136223846793005u + 1442695040888963407u;
        out[i] = (uint8_t)(fs->random >> 56);
    }
    return 0;
}

/* ---- worlds ---- */

void rung_memfs_init(rung_memfs *fs) {
    *fs = (rung_memfs){0};
    pthread_mutex_init(&fs->lock, NULL);
    fs->port = (rung_fs){
        .ctx = fs,
        .dir_open = mem_dir_open,
        .dir_sync = mem_dir_sync,
        .dir_list = mem_dir_list,
        .open = mem_open,
        .close = mem_close,
        .pwritev = mem_pwritev,
        .pread = mem_pread,
        .fdatasync = mem_sync,
        .fsync = mem_sync,
        .write_out = mem_write_out,
        .fallocate = mem_fallocate,
        .ftruncate = mem_ftruncate,
        .size = mem_size,
        .rename = mem_rename,
        .link = mem_link,
        .unlink = mem_unlink,
        .space = mem_space,
        .lock = mem_lock,
        .dir_lock = mem_dir_lock,
        .stamp = mem_stamp,
        .random = mem_random,
    };
}

void rung_memfs_deinit(rung_memfs *fs) {
    for (size_t i = 0; i < fs->inode_count; i++) {
        free(fs->inodes[i].seen.bytes);
        free(fs->inodes[i].disk.bytes);
    }
    free(fs->inodes);
    free(fs->atoms);
    free(fs->seen.names);
    free(fs->disk.names);
    pthread_mutex_destroy(&fs->lock);
    *fs = (rung_memfs){0};
}

static void copy_names(memfs_names *to, const memfs_names *from) {
    for (size_t i = 0; i < from->count; i++)
        set_name(to, from->names[i].dir, from->names[i].name, from->names[i].inode);
}

static void begin_world(rung_memfs *world, const rung_memfs *fs) {
    rung_memfs_init(world);
    world->random = fs->random;
    world->space = fs->space;
    world->dir_count = fs->dir_count;
    memcpy(world->dirs, fs->dirs, sizeof fs->dirs);
    world->inode_count = fs->inode_count;
    world->inodes = calloc(fs->inode_count ? fs->inode_count : 1, sizeof *world->inodes);
    CHECK(world->inodes != NULL);
}

void rung_memfs_crash(rung_memfs *world, const rung_memfs *fs, bool (*keep)(void *arg, size_t atom),
                      void *arg) {
    begin_world(world, fs);
    copy_names(&world->disk, &fs->disk);
    for (size_t i = 0; i < fs->atom_count; i++)
        if (fs->atoms[i].kind > MEMFS_SIZE && keep(arg, i))
            apply_name(&world->disk, &fs->atoms[i]);
    copy_names(&world->seen, &world->disk);
    for (size_t i = 0; i < fs->inode_count; i++) {
        memfs_inode *inode = &world->inodes[i];
        copy_bytes(&inode->disk, &fs->inodes[i].disk);
        apply_inode(&inode->disk, fs, (int)i, keep, arg);
        copy_bytes(&inode->seen, &inode->disk);
    }
}

void rung_memfs_copy(rung_memfs *world, const rung_memfs *fs) {
    begin_world(world, fs);
    copy_names(&world->seen, &fs->seen);
    copy_names(&world->disk, &fs->seen);
    for (size_t i = 0; i < fs->inode_count; i++) {
        copy_bytes(&world->inodes[i].seen, &fs->inodes[i].seen);
        copy_bytes(&world->inodes[i].disk, &fs->inodes[i].seen);
    }
}

bool rung_memfs_flip(rung_memfs *fs, memfs_flip *flip) {
    memfs_inode *inode = &fs->inodes[flip->inode];
    if (flip->offset >= inode->disk.size || flip->offset >= inode->seen.size ||
        inode->disk.bytes[flip->offset] != flip->is || inode->seen.bytes[flip->offset] != flip->is)
        return false;
    flip->is ^= flip->mask;
    inode->disk.bytes[flip->offset] = inode->seen.bytes[flip->offset] = flip->is;
    return true;
}

void rung_memfs_kill(rung_memfs *fs) {
    memset(fs->handles, 0, sizeof fs->handles);
}

memfs_bytes *rung_memfs_bytes(rung_memfs *fs, const char *path, const char *name) {
    int dir = find_dir(fs, path);
    memfs_name *found = dir < 0 ? NULL : find_name(&fs->seen, dir, name);
    return found ? &fs->inodes[found->inode].seen : NULL;
}

void rung_memfs_remove(rung_memfs *fs, const char *path, const char *name) {
    drop_name(&fs->seen, find_dir(fs, path), name);
    drop_name(&fs->disk, find_dir(fs, path), name);
}
