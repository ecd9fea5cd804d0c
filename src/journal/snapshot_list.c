/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/snapshot_list.h"

#include "journal/snapshot_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct collecting {
    rung_snapshot_entries *list;
    rung_status status;
    rung_err *err;
} collecting;

static bool reserve_one(rung_snapshot_entries *l) {
    if (l->count < l->capacity)
        return true;
    size_t capacity = l->capacity ? 2 * l->capacity : 16;
    rung_snapshot_entry *grown = rung_alloc_resize(
        l->alloc, l->entries, l->capacity * sizeof *grown, capacity * sizeof *grown);
    if (!grown)
        return false;
    l->entries = grown;
    l->capacity = capacity;
    return true;
}

/* Not by qsort, which may take memory from the heap: a forked child lists them, too. */
rung_status rung_snapshot_list_add(rung_snapshot_entries *l, const rung_snapshot_entry *entry,
                                   rung_err *err) {
    size_t at = l->count;
    while (at > 0 && l->entries[at - 1].seq > entry->seq)
        at--;
    if (at > 0 && l->entries[at - 1].seq == entry->seq) {
        l->entries[at - 1] = *entry;
        return RUNG_OK;
    }
    if (!reserve_one(l))
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory to list the snapshots");
    memmove(&l->entries[at + 1], &l->entries[at], (l->count - at) * sizeof *l->entries);
    l->entries[at] = *entry;
    l->count++;
    return RUNG_OK;
}

static void add_name(void *arg, const char *name) {
    collecting *c = arg;
    rung_snapshot_entry entry = {0};
    if (c->status >= 0 && rung_snapshot_name_parse(name, &entry.seq))
        c->status = rung_snapshot_list_add(c->list, &entry, c->err);
}

rung_status rung_snapshot_list_names(const rung_dir *dir, const rung_alloc *alloc,
                                     rung_snapshot_entries *out, rung_err *err) {
    *out = (rung_snapshot_entries){.alloc = alloc};
    collecting c = {out, RUNG_OK, err};
    rung_status st = rung_dir_list(dir, add_name, &c, err);
    st = st < 0 ? st : c.status;
    if (st < 0)
        rung_snapshot_list_deinit(out);
    return st < 0 ? st : RUNG_OK;
}

rung_status rung_snapshot_entry_read(const rung_dir *dir, const uint8_t uuid[RUNG_UUID_SIZE],
                                     uint64_t seq, rung_snapshot_entry *out, rung_err *err) {
    rung_snapshot_raw raw;
    char name[RUNG_FILE_NAME_MAX];
    rung_snapshot_name(name, seq);
    rung_status st = rung_snapshot_raw_open(dir, name, &raw, err);
    if (st != RUNG_OK)
        return st;
    rung_file_close(&raw.file);
    if (memcmp(raw.uuid, uuid, RUNG_UUID_SIZE) != 0 || raw.info.seq != seq)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "%s belongs to another log or sequence", name);
    *out = (rung_snapshot_entry){.seq = seq, .time_ms = raw.info.time_ms, .file_bytes = raw.size};
    return RUNG_OK;
}

rung_status rung_snapshot_list_read(const rung_dir *dir, const rung_alloc *alloc,
                                    const uint8_t uuid[RUNG_UUID_SIZE], rung_snapshot_entries *out,
                                    rung_err *err) {
    rung_status st = rung_snapshot_list_names(dir, alloc, out, err);
    size_t kept = 0;
    for (size_t i = 0; st >= 0 && i < out->count; i++) {
        rung_snapshot_entry e = out->entries[i];
        st = rung_snapshot_entry_read(dir, uuid, e.seq, &e, err);
        if (st == RUNG_OK)
            out->entries[kept++] = e;
        if (st == RUNG_ECORRUPT || st == RUNG_EVERSION || st == RUNG_NOT_FOUND)
            st = RUNG_OK;
    }
    out->count = kept;
    if (st < 0)
        rung_snapshot_list_deinit(out);
    return st;
}

void rung_snapshot_list_deinit(rung_snapshot_entries *list) {
    if (list->entries)
        rung_alloc_free(list->alloc, list->entries, list->capacity * sizeof *list->entries);
    list->entries = NULL;
    list->count = list->capacity = 0;
}

/* Replay goes on at the next sequence, which the log must have. */
static bool is_usable(const rung_snapshot_entry *e, uint64_t first_seq) {
    return e->seq + 1 >= first_seq;
}

const rung_snapshot_entry *rung_snapshot_nearest(const rung_snapshot_entries *list,
                                                 uint64_t first_seq, uint64_t seq) {
    for (size_t i = list->count; i > 0; i--) {
        const rung_snapshot_entry *e = &list->entries[i - 1];
        if (e->seq <= seq)
            return is_usable(e, first_seq) ? e : NULL;
    }
    return NULL;
}

const rung_snapshot_entry *rung_snapshot_nearest_time(const rung_snapshot_entries *list,
                                                      uint64_t first_seq, int64_t time_ms) {
    for (size_t i = list->count; i > 0; i--) {
        const rung_snapshot_entry *e = &list->entries[i - 1];
        if (e->time_ms == 0 || e->time_ms <= time_ms)
            return is_usable(e, first_seq) ? e : NULL;
    }
    return NULL;
}

static int by_number(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void rung_snapshot_remove_old(const rung_dir *dir, const rung_alloc *alloc, uint64_t newest,
                              const uint64_t *keep, size_t keep_count) {
    rung_snapshot_entries list;
    if (rung_snapshot_list_names(dir, alloc, &list, NULL) < 0)
        return;
    size_t count = list.count;
    while (count > 0 && list.entries[count - 1].seq > newest)
        count--;
    for (size_t i = 0; i + RUNG_SNAPSHOT_KEEP < count; i++) {
        char name[RUNG_FILE_NAME_MAX];
        uint64_t seq = list.entries[i].seq;
        if (keep_count && bsearch(&seq, keep, keep_count, sizeof seq, by_number))
            continue;
        rung_snapshot_name(name, seq);
        rung_ignore(rung_dir_unlink(dir, name, NULL),
                    "a snapshot too many does no harm; the next one removes it");
    }
    rung_snapshot_list_deinit(&list);
}
