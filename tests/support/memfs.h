/* SPDX-License-Identifier: Apache-2.0 */
/* memfs.h - a disk in memory behind the journal's file port: it forgets, fails and fills up on demand.
 *
 * Each file has two contents: what processes see (the page cache) and what the disk holds. A write changes the first
 * and leaves one *atom* per touched 512-byte sector; a change of size, a new name, a rename, a removal leaves one
 * atom too. A sync of the file (its sectors and size) or of the folder (its names) carries the atoms over to the
 * disk. A crash keeps any subset of the atoms that are not synced: memfs_crash() makes the disk of such a world.
 *
 *     rung_memfs fs;  rung_memfs_init(&fs);
 *     config.fs = &fs.port;
 *     rung_memfs_fail(&fs, 7, EIO, false);         // the 7th call from now fails
 *     fs.before = look; fs.before_arg = ...;       // called before each call that changes something
 *     rung_memfs_crash(&world, &fs, keep_some, &rng);
 *
 * A sync that fails drops the pages that it was for, or some of them (keep_failed): the page cache still shows them,
 * the disk never gets them, and later syncs succeed (what Linux does). Calls are guarded by a mutex; the hook runs
 * outside of it. */
#ifndef RUNG_TESTS_MEMFS_H
#define RUNG_TESTS_MEMFS_H

#include "journal/file.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum memfs_atom_kind {
    MEMFS_SECTOR,
    MEMFS_SIZE,
    MEMFS_NAME,
    MEMFS_UNNAME,
    MEMFS_RENAME
} memfs_atom_kind;

typedef struct memfs_atom {
    memfs_atom_kind kind;
    int inode, dir;
    uint64_t index; /* sector number, or size */
    bool is_grown;  /* a size that a write has reached: at least this */
    char name[64], to[64];
    uint8_t bytes[512];
} memfs_atom;

typedef struct memfs_bytes {
    uint8_t *bytes;
    size_t size, room;
} memfs_bytes;

typedef struct memfs_inode {
    memfs_bytes seen, disk;
} memfs_inode;

typedef struct memfs_name {
    char name[64];
    int dir, inode;
} memfs_name;

typedef struct memfs_names {
    memfs_name *names;
    size_t count, room;
} memfs_names;

typedef struct memfs_handle {
    bool is_used, is_dir, has_lock;
    int index; /* folder or inode */
} memfs_handle;

typedef struct rung_memfs {
    rung_fs port; /* its ctx is this struct: do not move it */
    pthread_mutex_t lock;
    memfs_inode *inodes;
    size_t inode_count;
    char dirs[8][64];
    int dir_count;
    memfs_names seen, disk;
    memfs_atom *atoms;
    size_t atom_count, atom_room;
    memfs_handle handles[64];
    /* What to do wrong. */
    uint64_t call_count; /* calls since the last rung_memfs_fail() */
    uint64_t fail_at;    /* this call fails; 0 = none */
    int fail_errno;
    bool is_sticky;
    bool has_failed;
    int only;            /* 0, or a letter: w = writes only, s = syncs only */
    size_t transfer_max; /* longest read or write at once; 0 = any */
    uint64_t space;      /* bytes of all files together; 0 = endless */
    bool
        is_frozen; /* every call fails and changes nothing: the process is dead, its objects are being freed */
    uint64_t random; /* state of random() */
    /* Is this page (an atom) still pending after a sync that failed? NULL: none is. */
    bool (*keep_failed)(void *arg, size_t atom);
    void *keep_arg;
    uint64_t sync_count, write_count;
    void (*before)(void *arg, struct rung_memfs *fs, const char *call);
    void *before_arg;
} rung_memfs;

void rung_memfs_init(rung_memfs *fs);
void rung_memfs_deinit(rung_memfs *fs);

/* The n-th call from now fails with `os_errno` (sticky: all from then on). 0 = stop failing. Reads, writes, syncs,
 * opens, names: every call of the port counts but close and random. EINTR hits only calls that may return it. */
void rung_memfs_fail(rung_memfs *fs, uint64_t n, int os_errno, bool is_sticky);

/* `world` (not initialised) becomes what a restart after a crash finds: the disk of `fs` plus the pending atoms for
 * which keep() says true, in order. */
void rung_memfs_crash(rung_memfs *world, const rung_memfs *fs, bool (*keep)(void *arg, size_t atom),
                      void *arg);

/* `world` becomes a copy of what processes see now, all of it on disk: a kill without a crash. */
void rung_memfs_copy(rung_memfs *world, const rung_memfs *fs);

/* Bit rot: the bits of `mask` are other ones, on the disk and in the page cache. A second time they are back, unless
 * the byte was written meanwhile (`is` is the byte that must be there). False: it is not. */
typedef struct memfs_flip {
    int inode;
    size_t offset;
    uint8_t mask, is;
} memfs_flip;
bool rung_memfs_flip(rung_memfs *fs, memfs_flip *flip);

/* The process that used it is dead: its files are closed, its locks gone. What was not synced still may be, or be lost
 * when the power goes. */
void rung_memfs_kill(rung_memfs *fs);

/* Bytes of all files together, as `space` counts them. */
uint64_t rung_memfs_used(const rung_memfs *fs);

/* The bytes of a file as processes see them, to read or to damage (with rung_memfs_resize). NULL when absent. */
memfs_bytes *rung_memfs_bytes(rung_memfs *fs, const char *path, const char *name);
void rung_memfs_resize(memfs_bytes *b, size_t size);
void rung_memfs_remove(rung_memfs *fs, const char *path, const char *name);

#endif
