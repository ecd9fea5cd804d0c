/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/folder.h"

#include "base/slice.h"
#include "journal/recovery.h"
#include "journal/snapshot_file.h"
#include "journal/verify.h"
#include "service/applier.h"
#include "service/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the meter ---- */

static ssize_t metered_pread(void *ctx, int file, void *buffer, size_t len, uint64_t offset) {
    rung_meter *m = ctx;
    const rung_fs *os = rung_fs_posix();
    ssize_t got = os->pread(os->ctx, file, buffer, len, offset);
    m->done += got > 0 ? (uint64_t)got : 0;
    rung_progress_show(&m->progress, m->what, m->done, m->total);
    return got;
}

/* The other functions of the table ignore their context. */
void rung_meter_init(rung_meter *m, const char *what) {
    *m = (rung_meter){.fs = *rung_fs_posix(), .what = what};
    m->fs.ctx = m;
    m->fs.pread = metered_pread;
}

/* ---- folders ---- */

rung_status rung_folder_open(rung_dir *dir, const rung_fs *fs, const char *path, rung_err *err) {
    rung_log_image list = {0};
    rung_status st = rung_dir_open(dir, fs, path, false, err);
    if (st < 0)
        return st;
    rung_file mark;
    st = rung_file_open(&mark, dir, RUNG_HIGH_WATER_NAME, RUNG_FILE_READ, err);
    if (st == RUNG_OK) {
        rung_file_close(&mark);
        return RUNG_OK;
    }
    /* Segments without a mark are a damaged log. */
    if (st == RUNG_NOT_FOUND) {
        st = rung_log_image_list(&list, rung_alloc_heap(), dir, err);
        if (st >= 0 && list.count == 0)
            st = RUNG_FAIL(err, RUNG_EABSENT, "folder %s holds no log", path);
        rung_log_image_deinit(&list);
    }
    if (st < 0)
        rung_dir_close(dir);
    return st < 0 ? st : RUNG_OK;
}

static void count_name(void *arg, const char *name) {
    (void)name;
    ++*(uint64_t *)arg;
}

rung_status rung_folder_open_empty(rung_dir *dir, const rung_fs *fs, const char *path,
                                   rung_err *err) {
    uint64_t count = 0;
    rung_status st = rung_dir_open(dir, fs, path, true, err);
    if (st < 0)
        return st;
    st = rung_dir_list(dir, count_name, &count, err);
    if (st >= 0 && count > 0)
        st = RUNG_FAIL(err, RUNG_EEXIST, "folder %s is not empty", path);
    if (st < 0)
        rung_dir_close(dir);
    return st < 0 ? st : RUNG_OK;
}

static void remove_name(void *arg, const char *name) {
    rung_ignore(rung_dir_unlink(arg, name, NULL), "the first failure is the one to report");
}

void rung_folder_clear(const rung_dir *dir) {
    rung_dir copy = *dir;
    rung_ignore(rung_dir_list(dir, remove_name, &copy, NULL), "as above");
}

typedef struct sizes {
    const rung_dir *dir;
    uint64_t total;
} sizes;

static void add_size(void *arg, const char *name) {
    sizes *s = arg;
    rung_file f;
    uint64_t size;
    if (strlen(name) >= RUNG_FILE_NAME_MAX ||
        rung_file_open(&f, s->dir, name, RUNG_FILE_READ, NULL) != RUNG_OK)
        return;
    if (rung_file_size(&f, &size, NULL) == RUNG_OK)
        s->total += size;
    rung_file_close(&f);
}

uint64_t rung_folder_size(const rung_dir *dir) {
    sizes s = {.dir = dir};
    return rung_dir_list(dir, add_size, &s, NULL) < 0 ? 0 : s.total;
}

/* From the kernel's list of locks: taking the lock could make a server fail that starts at that moment. */
static bool is_locked(const struct stat *file) {
    char line[256], inode[32];
    bool found = false;
    FILE *locks = fopen("/proc/locks", "re");
    if (!locks)
        return false;
    snprintf(inode, sizeof inode, ":%llu ", (unsigned long long)file->st_ino);
    while (!found && fgets(line, sizeof line, locks))
        found = strstr(line, inode) && (strstr(line, "FLOCK") || strstr(line, "OFDLCK"));
    fclose(locks);
    return found;
}

long rung_folder_user(const char *path) {
    char name[4096], text[32] = "";
    struct stat file;
    if (snprintf(name, sizeof name, "%s/lock", path) >= (int)sizeof name ||
        stat(name, &file) != 0 || !is_locked(&file))
        return 0;
    FILE *f = fopen(name, "re");
    if (!f)
        return 0;
    size_t got = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[got] = '\0';
    return strtol(text, NULL, 10);
}

/* ---- reading while a server writes ---- */

bool rung_folder_wait(int *tries) {
    enum { TRIES_MAX = 10, PAUSE_MS = 20 };
    if (++*tries >= TRIES_MAX)
        return false;
    rung_pause_ms(PAUSE_MS);
    return true;
}

typedef struct walk {
    rung_status (*each)(void *ctx, const rung_log_record *record);
    void *ctx;
    uint64_t next; /* the first record not passed on */
    bool is_ended; /* by `each` */
} walk;

static rung_status hand_on(void *ctx, const rung_log_record *record) {
    walk *w = ctx;
    rung_status st = w->each(w->ctx, record);
    w->next = record->seq + 1;
    w->is_ended = st != RUNG_OK;
    return st;
}

rung_status rung_folder_cat(const rung_dir *dir, uint64_t from, uint64_t to,
                            rung_status (*each)(void *ctx, const rung_log_record *record),
                            void *ctx, rung_err *err) {
    walk w = {.each = each, .ctx = ctx, .next = from};
    int tries = 0;
    for (;;) {
        uint64_t began = w.next;
        rung_status st = rung_log_cat(dir, rung_alloc_heap(), w.next, to, hand_on, &w, err);
        if (st == RUNG_OK || w.is_ended)
            return st;
        if (w.next > began)
            tries = 0;
        if (!rung_folder_wait(&tries))
            return st < 0 ? st
                          : RUNG_FAIL(err, RUNG_ESTALE, "records were removed while being read");
    }
}

/* ---- its state ---- */

static void tell_progress(void *ctx, uint64_t done, uint64_t total) {
    rung_progress_show(ctx, "snapshot", done, total);
}

rung_status rung_folder_newest(const rung_dir *dir, const uint8_t uuid[RUNG_UUID_SIZE],
                               const rung_state_config *config, rung_progress *progress,
                               rung_state **state_out, rung_err *err) {
    uint64_t seqs[16];
    size_t count;
    rung_save_progress tell = {.tell = tell_progress, .ctx = progress};
    rung_status st = rung_snapshot_list(dir, seqs, 16, &count, err);
    if (st < 0)
        return st;
    for (size_t i = 0; i < count; i++) {
        rung_snapshot_reader *reader;
        st = rung_snapshot_reader_open(dir, config->alloc, uuid, seqs[i], &reader, err);
        if (st == RUNG_OK) {
            st = rung_store_load_snapshot(reader, config, &tell, NULL, state_out, err);
            rung_snapshot_reader_close(reader);
        }
        if (st != RUNG_ECORRUPT && st != RUNG_NOT_FOUND) /* a server may have removed it */
            return st;
    }
    st = rung_state_create(config, state_out);
    return st < 0 ? RUNG_FAIL(err, st, "out of memory") : RUNG_OK;
}

typedef struct replay {
    rung_applier *applier;
    rung_progress *progress;
    uint64_t from, to;
    rung_err *err;
} replay;

static rung_status apply_record(void *ctx, const rung_log_record *record) {
    replay *r = ctx;
    rung_status st = rung_applier_replay(r->applier, record, 1, r->err);
    if (st == RUNG_OK && record->seq % 1024 == 0)
        rung_progress_show(r->progress, "log", record->seq - r->from, r->to - r->from);
    return st;
}

rung_status rung_folder_state(const rung_dir *dir, const uint8_t uuid[RUNG_UUID_SIZE],
                              const rung_state_config *config, rung_progress *progress,
                              rung_state **state_out, rung_err *err) {
    rung_state *state = NULL;
    rung_high_water mark = {0};
    bool is_slot_bad;
    rung_status st = rung_folder_newest(dir, uuid, config, progress, &state, err);
    if (st < 0)
        return st;
    rung_ignore(rung_high_water_read(dir, &mark, &is_slot_bad, NULL), "it only estimates the work");
    uint64_t from = rung_state_seq(state);
    replay r = {NULL, progress, from, mark.seq > from ? mark.seq : from, err};
    rung_applier_config applier = {.alloc = config->alloc, .state = state};
    st = rung_applier_create(&applier, &r.applier, err);
    if (st == RUNG_OK)
        st = rung_folder_cat(dir, from + 1, UINT64_MAX, apply_record, &r, err);
    rung_applier_destroy(r.applier);
    rung_progress_end(progress);
    if (st < 0) {
        rung_state_destroy(state);
        return st;
    }
    *state_out = state;
    return RUNG_OK;
}
