/* SPDX-License-Identifier: Apache-2.0 */
/* The segment log. Workload: batches of one to several thousand small records, each batch one write and one
 * fdatasync; a full read at each start; occasionally a concurrent reader.
 *
 * Invariants:
 *   I1 One batch in flight (Rule S): a batch is written only after the previous one is synced. Under is_relaxed, all
 *      appends between two syncs are one batch.
 *   I2 Records go only to a file that is all zeros, synced, and whose name is synced. Until then it is `spare`.
 *   I3 A record is reported durable only after fdatasync of its segment succeeded.
 *   I4 The high-water mark never claims more than was synced before it was written.
 *   I5 After a failed write or sync nothing more is written, and every call returns `failure`.
 *   I6 Each start writes a new segment. Records of the old one beyond the sure part (the page cache may show what
 *      never reached the disk) are copied into it before it gets its name, so that it appears complete or not at all.
 *      Its header then cuts the old one.
 *   I7 Segments are removed one by one, oldest first, each removal synced: no crash leaves a hole.
 *
 * States: opened -> rung_segment_log_start -> writable -> (failed) -> closed; without disk space it is start_due
 * until maintain has started it. */
#define _GNU_SOURCE
#include "journal/segment_log.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "journal/folder.h"
#include "journal/segment_pack.h"
#include "journal/segment_scan.h"
#include "journal/spare.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK_EVERY_DEFAULT 64
#define COPY_SIZE          ((size_t)1 << 20)
#define START_SIZE         ((uint64_t)4 << 20)
#define BLOCK_SIZE         ((uint64_t)4096) /* written as a whole, so the kernel need not read it first */
#ifdef RUNG_TEST_BUILD
#define CACHED_SIZE BLOCK_SIZE
#else
#define CACHED_SIZE ((uint64_t)4 << 20) /* of the active file, for readers close behind */
#endif

struct rung_segment_log {
    rung_log port;
    rung_segment_log_config config;
    rung_dir dir;
    rung_file lock_file;
    uint8_t uuid[RUNG_UUID_SIZE];
    uint32_t salt;

    /* The appending thread's. */
    bool is_started;
    /* There was no space to start: maintain retries. Read by any thread. */
    _Atomic bool is_start_due;
    rung_err failure; /* code RUNG_OK while all is well */
    uint32_t epoch;
    rung_file active; /* the file of the last entry of image.segments, once started */
    rung_frame_state state;
    uint64_t end;       /* end offset of the last record written */
    uint64_t forgotten; /* what is before it is no longer in memory */
    uint64_t capacity;
    bool has_unsynced;
    uint8_t *buffer; /* the last batch, encoded */
    size_t buffer_size;
    size_t unhashed; /* bytes of it that `sha` has not seen yet */
    rung_sha256 sha; /* of the active file so far */
    rung_file mark_file;
    rung_high_water mark;
    uint32_t batches_since_mark;
    uint64_t torn_bytes;

    /* Protects image.segments, .count and pin_count; never held during I/O on records. */
    pthread_mutex_t list_lock;
    rung_log_image image;
    unsigned pin_count;

    rung_spare spare;

    _Atomic uint64_t durable_seq;
    uint64_t sure_seq;            /* of the image that was opened */
    _Atomic bool is_tail_durable; /* a start has written the rest of it again */
    rung_writer *writer;          /* NULL: not started through the port */
};

static rung_segment_log *self(const rung_log *port) {
    return (rung_segment_log *)(uintptr_t)port;
}

static void say(const rung_segment_log *log, const char *line) {
    if (log->config.say)
        log->config.say(log->config.say_ctx, line);
}

/* I5: remember the first failure; every later call returns it. */
static rung_status fail_for_ever(rung_segment_log *log, rung_status st, const rung_err *detail,
                                 rung_err *err) {
    if (log->failure.code == RUNG_OK) {
        log->failure = *detail;
        log->failure.code = st;
    }
    if (err)
        *err = log->failure;
    return log->failure.code;
}

static rung_segment_info *last_segment(rung_segment_log *log) {
    return &log->image.segments[log->image.count - 1];
}

static uint64_t record_space(uint64_t capacity) {
    return capacity - RUNG_SEGMENT_HEADER_SIZE - RUNG_SEGMENT_FOOTER_SIZE;
}

/* ---- opening ---- */

static rung_status check_config(const rung_segment_log_config *c, rung_err *err) {
    if (c->segment_size < RUNG_SEGMENT_SIZE_MIN || c->segment_size > RUNG_SEGMENT_SIZE_MAX ||
        c->segment_size % RUNG_SECTOR_SIZE != 0)
        return RUNG_FAIL(err, RUNG_EINVAL,
                         "segment size %llu: a multiple of 512 from 8192 to 2147483648 is needed",
                         (unsigned long long)c->segment_size);
    return RUNG_OK;
}

static const rung_log_ops segment_log_ops;

static void release(rung_segment_log *log) {
    rung_file_close(&log->active);
    rung_spare_deinit(&log->spare);
    rung_file_close(&log->mark_file);
    rung_file_close(&log->lock_file);
    rung_dir_close(&log->dir);
    rung_log_image_deinit(&log->image);
    rung_sha256_deinit(&log->sha);
    pthread_mutex_destroy(&log->list_lock);
    const rung_alloc *alloc = log->config.alloc;
    if (log->buffer)
        rung_alloc_free(alloc, log->buffer, log->buffer_size);
    rung_alloc_free(alloc, log, sizeof *log);
}

rung_status rung_segment_log_open(const rung_segment_log_config *config, rung_segment_log **log_out,
                                  rung_err *err) {
    rung_segment_log_config c = *config;
    c.segment_size = c.segment_size ? c.segment_size : RUNG_SEGMENT_SIZE_DEFAULT;
    c.mark_every = c.mark_every ? c.mark_every : MARK_EVERY_DEFAULT;
    rung_status st = check_config(&c, err);
    if (st < 0)
        return st;
    rung_segment_log *log = rung_alloc_zeroed(c.alloc, sizeof *log);
    if (!log)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for the log");
    log->port.ops = &segment_log_ops;
    log->config = c;
    pthread_mutex_init(&log->list_lock, NULL);
    rung_spare_init(&log->spare);

    st = rung_dir_open(&log->dir, c.fs, c.path, !c.is_read_only, err);
    if (st == RUNG_OK && !c.is_read_only)
        st = rung_folder_lock(&log->dir, &log->lock_file, err);
    if (st == RUNG_OK)
        st = c.is_read_only ? rung_log_image_read_live(&log->image, c.alloc, &log->dir, err)
                            : rung_log_image_read(&log->image, c.alloc, &log->dir, err);
    if (st == RUNG_OK && !log->image.has_mark &&
        c.fs->random(c.fs->ctx, log->image.uuid, RUNG_UUID_SIZE) < 0)
        st = RUNG_FAIL(err, RUNG_EIO, "no random bytes to name a new log");
    if (st < 0) {
        release(log);
        return st;
    }
    memcpy(log->uuid, log->image.uuid, sizeof log->uuid);
    log->salt = rung_segment_salt(log->uuid);
    log->mark = log->image.mark;
    const rung_segment_info *last = log->image.count ? last_segment(log) : NULL;
    atomic_init(&log->durable_seq, last ? last->last_seq : 0);
    log->sure_seq = !last || last->is_sealed ? atomic_load(&log->durable_seq) : log->image.sure.seq;
    *log_out = log;
    return RUNG_OK;
}

rung_status rung_segment_log_check_place(const rung_segment_log *log, rung_err *err) {
    return rung_folder_check(&log->lock_file, log->config.path, err);
}

rung_log *rung_segment_log_port(rung_segment_log *log) {
    return &log->port;
}

const uint8_t *rung_segment_log_uuid(const rung_segment_log *log) {
    return log->uuid;
}

const rung_dir *rung_segment_log_dir(const rung_segment_log *log) {
    return &log->dir;
}

rung_writer *rung__segment_log_writer(const rung_log *port) {
    return self(port)->writer;
}

const rung_alloc *rung__segment_log_alloc(const rung_segment_log *log) {
    return log->config.alloc;
}

/* ---- the high-water mark ---- */

rung_status rung__high_water_create(const rung_dir *dir, const uint8_t uuid[RUNG_UUID_SIZE],
                                    const rung_segment_info *last, rung_err *err) {
    uint8_t bytes[RUNG_HIGH_WATER_SIZE];
    rung_high_water m = {0};
    if (last)
        m = (rung_high_water){.seq = last->last_seq,
                              .segment_first_seq = last->first_seq,
                              .offset = last->end,
                              .segment_epoch = last->epoch,
                              .chain = last->chain};
    memcpy(m.uuid, uuid, sizeof m.uuid);
    for (size_t slot = 0; slot < 2; slot++) {
        m.generation = slot;
        rung_high_water_encode(&m, bytes + slot * RUNG_HIGH_WATER_SLOT_SIZE);
    }
    return rung_file_replace(dir, RUNG_HIGH_WATER_NAME, bytes, sizeof bytes, err);
}

static rung_status open_mark(rung_segment_log *log, rung_err *err) {
    rung_status st = RUNG_OK;
    if (!log->image.has_mark) {
        memcpy(log->mark.uuid, log->uuid, sizeof log->uuid);
        st = rung__high_water_create(&log->dir, log->uuid, NULL, err);
        log->mark.generation = 1;
        log->image.has_mark = st == RUNG_OK;
    }
    if (st == RUNG_OK)
        st = rung_file_open(&log->mark_file, &log->dir, RUNG_HIGH_WATER_NAME, RUNG_FILE_WRITE, err);
    return st == RUNG_NOT_FOUND
               ? RUNG_FAIL(err, RUNG_ECORRUPT, "file %s is missing", RUNG_HIGH_WATER_NAME)
               : st;
}

/* Record that everything up to `place` of segment `info` is durable (I4: it has been synced). */
static rung_status write_mark_at(rung_segment_log *log, const rung_segment_info *info,
                                 const rung_log_place *place, rung_err *err) {
    rung_high_water m = log->mark;
    m.generation++;
    m.seq = place->seq;
    m.segment_first_seq = info->first_seq;
    m.segment_epoch = info->epoch;
    m.offset = place->offset;
    m.chain = place->chain;
    uint8_t slot[RUNG_HIGH_WATER_SLOT_SIZE];
    rung_high_water_encode(&m, slot);
    rung_status st =
        rung_file_write(&log->mark_file, slot, sizeof slot, m.generation % 2 * sizeof slot, err);
    if (st == RUNG_OK)
        st = rung_file_datasync(&log->mark_file, err);
    if (st < 0)
        return st;
    log->mark = m;
    return RUNG_OK;
}

static rung_status write_mark(rung_segment_log *log, rung_err *err) {
    RUNG_ASSERT(!log->has_unsynced);
    rung_log_place all = {log->state.next_seq - 1, log->end, log->state.chain};
    log->batches_since_mark = 0;
    return write_mark_at(log, last_segment(log), &all,
                         err); /* only this thread changes the entry */
}

/* ---- making a segment the active one ---- */

/* Reserve room for one more list entry, so that activation cannot run out of memory halfway. */
static rung_status reserve_entry(rung_segment_log *log, rung_err *err) {
    pthread_mutex_lock(&log->list_lock);
    rung_status st = rung_log_image_reserve(&log->image);
    pthread_mutex_unlock(&log->list_lock);
    return st < 0 ? RUNG_FAIL(err, st, "no memory for the list of segments") : RUNG_OK;
}

static rung_status reserve_buffer(rung_segment_log *log, size_t size, rung_err *err) {
    if (size <= log->buffer_size)
        return RUNG_OK;
    size_t grow = log->buffer_size * 2 > size ? log->buffer_size * 2 : size;
    uint8_t *grown = rung_alloc_resize(log->config.alloc, log->buffer, log->buffer_size, grow);
    if (!grown)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for a batch of %zu bytes", size);
    log->buffer = grown;
    log->buffer_size = grow;
    return RUNG_OK;
}

/* Write `header` to the spare and update hash, state and end. Spare lock held. */
static rung_status begin_segment(rung_segment_log *log, const rung_segment_header *h,
                                 rung_err *err) {
    uint8_t bytes[RUNG_SEGMENT_HEADER_SIZE];
    rung_segment_header_encode(h, bytes);
    rung_status st = rung_sha256_start(&log->sha);
    if (st < 0)
        return RUNG_FAIL(err, st, "no memory for the hash of a segment");
    rung_sha256_add(&log->sha, bytes, sizeof bytes);
    log->state = (rung_frame_state){log->salt, h->epoch, h->first_seq, h->chain, 0, 0};
    log->end = RUNG_SEGMENT_HEADER_SIZE;
    log->capacity = h->capacity;
    log->forgotten = 0;
    log->unhashed = 0;
    return rung_file_write(&log->spare.file, bytes, sizeof bytes, 0, err);
}

/* Sync the spare and give it its name: from here on it is the newest segment of the log. Spare lock held. */
static rung_status name_segment(rung_segment_log *log, const rung_segment_header *h,
                                rung_err *err) {
    char name[RUNG_FILE_NAME_MAX];
    rung_segment_name(name, h->first_seq, h->epoch);
    rung_file file;
    rung_status st = rung_spare_take(&log->spare, &log->dir, name, &file, err);
    if (st < 0)
        return st;
    rung_file_close(&log->active);
    log->active = file;

    rung_segment_info info = {
        .first_seq = h->first_seq,
        .last_seq = log->state.next_seq - 1,
        .end = log->end,
        .capacity = h->capacity,
        .file_bytes = h->capacity,
        .epoch = h->epoch,
        .chain_before = h->chain,
        .chain = log->state.chain,
    };
    memcpy(info.previous_sha, h->previous_sha, sizeof info.previous_sha);
    pthread_mutex_lock(&log->list_lock);
    RUNG_ASSERT(log->image.count < log->image.capacity);
    log->image.segments[log->image.count++] = info;
    pthread_mutex_unlock(&log->list_lock);
    return RUNG_OK;
}

/* ---- starting ---- */

static rung_status open_segment(const rung_dir *dir, const rung_segment_info *info, int mode,
                                rung_file *file, rung_err *err) {
    char name[RUNG_FILE_NAME_MAX];
    rung_segment_name(name, info->first_seq, info->epoch);
    rung_status st = rung_file_open(file, dir, name, mode, err);
    return st == RUNG_NOT_FOUND ? RUNG_FAIL(err, RUNG_ECORRUPT, "segment %s is missing", name) : st;
}

static rung_status put_footer(const rung_file *file, const uint8_t uuid[RUNG_UUID_SIZE],
                              const rung_segment_info *info, rung_err *err) {
    uint8_t footer[RUNG_SEGMENT_FOOTER_SIZE];
    rung_segment_info_footer(info, uuid, footer);
    rung_status st = rung_file_write(file, footer, sizeof footer, info->end, err);
    return st == RUNG_OK ? rung_file_sync(file, err) : st;
}

/* Write the footer of `info` at `info->end` and truncate the file there. */
static rung_status seal_at(const rung_dir *dir, const uint8_t uuid[RUNG_UUID_SIZE],
                           const rung_segment_info *info, rung_err *err) {
    rung_file file;
    rung_status st = open_segment(dir, info, RUNG_FILE_WRITE, &file, err);
    if (st < 0)
        return st;
    /* The truncation must be durable before the footer: a footer followed by old records would look like damage. */
    st = rung_file_truncate(&file, info->end, err);
    if (st == RUNG_OK)
        st = rung_file_sync(&file, err);
    if (st == RUNG_OK)
        st = put_footer(&file, uuid, info, err);
    rung_file_close(&file);
    return st;
}

/* Seal an old open segment at `info->last_seq`, or remove it if it is empty. Entry `i` of the list. */
static rung_status retire(rung_segment_log *log, size_t i, rung_err *err) {
    rung_segment_info info = log->image.segments[i];
    if (info.last_seq >= info.first_seq) {
        rung_status st = seal_at(&log->dir, log->uuid, &info, err);
        pthread_mutex_lock(&log->list_lock); /* readers may follow while a log starts */
        log->image.segments[i].is_sealed = st == RUNG_OK;
        pthread_mutex_unlock(&log->list_lock);
        return st;
    }
    char name[RUNG_FILE_NAME_MAX];
    rung_segment_name(name, info.first_seq, info.epoch);
    rung_status st = rung_dir_unlink(&log->dir, name, err);
    if (st >= 0)
        st = rung_dir_sync(&log->dir, err);
    if (st < 0)
        return st;
    pthread_mutex_lock(&log->list_lock);
    log->image.count--;
    memmove(&log->image.segments[i], &log->image.segments[i + 1],
            (log->image.count - i) * sizeof *log->image.segments);
    pthread_mutex_unlock(&log->list_lock);
    return RUNG_OK;
}

/* Save the bytes of a torn tail in a separate file before they are cut. */
static rung_status save_torn(rung_segment_log *log, rung_err *err) {
    const rung_segment_info *info = last_segment(log);
    if (log->image.tail != RUNG_TAIL_TORN || log->image.torn_end <= info->end)
        return RUNG_OK;
    char copy[RUNG_FILE_NAME_MAX], line[500];
    snprintf(copy, sizeof copy, "torn-%020llu-%08x-%llu", (unsigned long long)info->first_seq,
             info->epoch, (unsigned long long)info->end);
    rung_file from, to = {0};
    rung_status st = open_segment(&log->dir, info, RUNG_FILE_READ, &from, err);
    if (st == RUNG_OK)
        st = rung_file_open_empty(&to, &log->dir, copy, err);
    if (st == RUNG_OK)
        st = rung_file_copy_range(&from, info->end, log->image.torn_end, &to, 0, err);
    if (st == RUNG_OK)
        st = rung_file_sync(&to, err);
    if (st == RUNG_OK)
        st = rung_dir_sync(&log->dir, err);
    rung_file_close(&to);
    rung_file_close(&from);
    if (st < 0)
        return st;
    log->torn_bytes = log->image.torn_end - info->end;
    snprintf(line, sizeof line,
             "log: segment %s, offset %llu, sequence %llu: torn tail of %llu bytes cut, copy in %s",
             from.name, (unsigned long long)info->end, (unsigned long long)info->last_seq + 1,
             (unsigned long long)log->torn_bytes, copy);
    say(log, line);
    return RUNG_OK;
}

static rung_status flush_copy(rung_segment_log *log, size_t len, rung_err *err) {
    rung_sha256_add(&log->sha, log->buffer, len);
    rung_status st = rung_file_write(&log->spare.file, log->buffer, len, log->end, err);
    log->end += len;
    return st;
}

/* I6: copy records from `from` on of the old segment into the new one, as its first batch. */
static rung_status repersist(rung_segment_log *log, const rung_segment_info *old, uint64_t from,
                             uint64_t bytes, rung_err *err) {
    char name[RUNG_FILE_NAME_MAX];
    rung_segment_name(name, old->first_seq, old->epoch);
    rung_segment_scan scan;
    size_t most = COPY_SIZE + rung_log_framed_size(RUNG_LOG_RECORD_MAX);
    rung_status st = reserve_buffer(log, bytes < most ? (size_t)bytes : most, err);
    if (st < 0)
        return st;
    st = rung_segment_scan_open(&scan, log->config.alloc, &log->dir, name, false, err);
    if (st == RUNG_NOT_FOUND)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "segment %s is missing", name);
    if (st < 0)
        return st;
    st = rung_segment_scan_seek(&scan, from, err);
    size_t len = 0;
    while (st == RUNG_OK && scan.state.next_seq <= old->last_seq) {
        rung_log_record r;
        st = rung_segment_scan_next(&scan, true, &r, err);
        if (st != RUNG_OK)
            break;
        rung_log_entry e = {.payload = r.payload, .type = r.type};
        uint16_t flags = r.seq == old->last_seq ? RUNG_RECORD_END : 0;
        rung_frame_encode(&log->state, log->buffer + len, &e, 1, flags);
        len += rung_log_framed_size(r.payload.len);
        if (len >= COPY_SIZE || r.seq == old->last_seq) {
            st = flush_copy(log, len, err);
            len = 0;
        }
    }
    rung_segment_scan_close(&scan);
    return st == RUNG_NOT_FOUND
               ? RUNG_FAIL(err, RUNG_EIO, "segment %s changed while it was read", name)
               : st;
}

/* The header of the segment that this start writes, continuing the sure part of the log. The segment is short if
 * possible, since everyone waits for it; one of the usual size is made while it fills. */
static rung_segment_header plan_segment(const rung_segment_log *log, uint64_t *copy_bytes_out) {
    rung_segment_header h = {.first_seq = 1, .epoch = log->image.epoch_max + 1};
    memcpy(h.uuid, log->uuid, sizeof h.uuid);
    *copy_bytes_out = 0;
    if (log->image.count) {
        const rung_segment_info *old = &log->image.segments[log->image.count - 1];
        const rung_log_place *sure = &log->image.sure;
        bool is_empty = !old->is_sealed && sure->seq < old->first_seq;
        h.first_seq = (old->is_sealed ? old->last_seq : sure->seq) + 1;
        h.chain = old->is_sealed ? old->chain : sure->chain;
        memcpy(h.previous_sha,
               old->is_sealed ? old->sha
               : is_empty     ? old->previous_sha
                              : log->image.sure_sha,
               sizeof h.previous_sha);
        *copy_bytes_out = old->is_sealed ? 0 : old->end - sure->offset;
    }
    uint64_t need = *copy_bytes_out + RUNG_SEGMENT_HEADER_SIZE + RUNG_SEGMENT_FOOTER_SIZE;
    need = (need + 4095) & ~(uint64_t)4095;
    uint64_t usual = log->config.segment_size, brief = usual < START_SIZE ? usual : START_SIZE;
    h.capacity = need <= brief ? brief : need <= usual ? usual : need;
    return h;
}

/* Make, fill and name the segment of this start. */
static rung_status renew(rung_segment_log *log, rung_err *err) {
    uint64_t copy_bytes;
    rung_segment_header h = plan_segment(log, &copy_bytes);
    rung_status st = reserve_entry(log, err);
    if (st < 0)
        return st;
    rung_spare_lock(&log->spare);
    st = rung_spare_renew(&log->spare, &log->dir, h.capacity, err);
    if (st == RUNG_OK)
        st = begin_segment(log, &h, err);
    if (st == RUNG_OK && copy_bytes)
        st = repersist(log, last_segment(log), h.first_seq, copy_bytes, err);
    if (st == RUNG_OK)
        st = name_segment(log, &h, err);
    if (st < 0)
        rung_file_close(&log->spare.file); /* a second try adopts it afresh */
    log->epoch = h.epoch;
    rung_spare_unlock(&log->spare);
    return st;
}

/* The new segment exists; the old one's records beyond the cut have moved to it. */
static rung_status retire_old(rung_segment_log *log, rung_err *err) {
    rung_log_image *im = &log->image;
    if (im->count < 2)
        return RUNG_OK;
    rung_segment_info *old = &im->segments[im->count - 2];
    if (old->is_sealed)
        return RUNG_OK;
    pthread_mutex_lock(&log->list_lock);
    old->last_seq = im->sure.seq;
    old->end = im->sure.offset;
    old->chain = im->sure.chain;
    memcpy(old->sha, im->sure_sha, sizeof old->sha);
    pthread_mutex_unlock(&log->list_lock);
    return retire(log, im->count - 2, err);
}

/* The last start was interrupted between naming its segment and retiring the old one. Finish that before the next
 * start, since rule R4 allows one open segment before the last, not two. Write the mark first: it may still name the
 * old one. */
static rung_status finish_start(rung_segment_log *log, rung_err *err) {
    rung_status st = RUNG_OK;
    if (!last_segment(log)->is_sealed)
        st = write_mark_at(log, last_segment(log), &log->image.sure, err);
    return st == RUNG_OK ? retire(log, log->image.count - 2, err) : st;
}

/* The sync of the last seal may have failed in an earlier run: the page cache shows the footer, but it never reached
 * the disk. After a power cut, an unsealed segment with others after it would be damage. So write the footer again
 * before anything follows. A packed segment was synced before it got its name. */
static rung_status seal_again(rung_segment_log *log, rung_err *err) {
    const rung_log_image *im = &log->image;
    size_t i = im->count;
    while (i > 0 && !im->segments[i - 1].is_sealed)
        i--;
    if (i == 0 || im->segments[i - 1].is_packed)
        return RUNG_OK;
    rung_file file;
    const rung_segment_info *info = &im->segments[i - 1];
    rung_status st = open_segment(&log->dir, info, RUNG_FILE_WRITE, &file, err);
    if (st == RUNG_OK)
        st = put_footer(&file, log->uuid, info, err);
    rung_file_close(&file);
    return st;
}

static rung_status start(rung_segment_log *log, rung_err *err) {
    if (log->config.is_read_only)
        return RUNG_FAIL(err, RUNG_EINVAL, "the log is open for reading only");
    rung_log_image *im = &log->image;
    rung_file_close(&log->mark_file);
    rung_status st = open_mark(log, err);
    /* A killed run may have left a segment's name unsynced: ours must not reach the disk without it. */
    if (st == RUNG_OK)
        st = rung_dir_sync(&log->dir, err);
    if (st == RUNG_OK && im->count >= 2 && !im->segments[im->count - 2].is_sealed)
        st = finish_start(log, err);
    if (st == RUNG_OK)
        st = seal_again(log, err);
    if (st == RUNG_OK && im->count)
        st = save_torn(log, err);
    if (st == RUNG_OK)
        st = renew(log, err);
    if (st < 0)
        return st;
    st = write_mark(log, err);
    if (st == RUNG_OK)
        st = retire_old(log, err);
    if (st == RUNG_ENOSPC)
        st = RUNG_EIO; /* too late to retry in this process: the new segment has its name */
    log->is_started = st == RUNG_OK;
    return st;
}

/* There is no space for a new segment, so the records after the sure part stay in place and will be read. They may be
 * only in the page cache: write them again in place, which takes no space. */
static rung_status keep_tail(rung_segment_log *log, rung_err *err) {
    const rung_segment_info *last = log->image.count ? last_segment(log) : NULL;
    rung_file file;
    if (!last || last->is_sealed)
        return RUNG_OK;
    uint64_t at = log->image.sure.offset;
    rung_status st = open_segment(&log->dir, last, RUNG_FILE_WRITE, &file, err);
    if (st == RUNG_OK)
        st = rung_file_copy_range(&file, at, last->end, &file, at, err);
    if (st == RUNG_OK)
        st = rung_file_datasync(&file, err);
    rung_file_close(&file);
    return st;
}

rung_status rung_segment_log_start(rung_segment_log *log, rung_err *err) {
    RUNG_ASSERT(!log->is_started);
    rung_status st = start(log, err);
    if (st == RUNG_ENOSPC && !atomic_load(&log->is_start_due)) {
        rung_err detail;
        rung_status kept = keep_tail(log, &detail);
        atomic_store(&log->is_tail_durable, kept == RUNG_OK);
        if (kept < 0 && kept != RUNG_ENOSPC) {
            if (err)
                *err = detail;
            st = kept;
        }
    }
    if (st == RUNG_OK)
        atomic_store(&log->is_tail_durable, true);
    atomic_store(&log->is_start_due, st == RUNG_ENOSPC);
    return st;
}

/* ---- appending ---- */

static void hash_pending(rung_segment_log *log) {
    rung_sha256_add(&log->sha, log->buffer, log->unhashed);
    log->unhashed = 0;
}

/* The active segment is synced and full, or the log closes: write the footer after its records. */
static rung_status seal_active(rung_segment_log *log, rung_err *err) {
    RUNG_ASSERT(!log->has_unsynced);
    hash_pending(log);
    rung_segment_info sealed = *last_segment(log);
    sealed.is_sealed = true;
    sealed.file_bytes = sealed.end + RUNG_SEGMENT_FOOTER_SIZE;
    rung_sha256_finish(&log->sha, sealed.sha);
    uint8_t bytes[RUNG_SEGMENT_FOOTER_SIZE];
    rung_segment_info_footer(&sealed, log->uuid, bytes);
    rung_status st = rung_file_write(&log->active, bytes, sizeof bytes, sealed.end, err);
    if (st == RUNG_OK)
        st = rung_file_datasync(&log->active, err);
    if (st < 0)
        return st;
    rung_ignore(rung_file_truncate(&log->active, sealed.end + sizeof bytes, NULL),
                "a sealed segment followed by zeros is as good; only space is lost");
    rung_file_forget(&log->active, log->forgotten, sealed.end - log->forgotten);
    pthread_mutex_lock(&log->list_lock);
    *last_segment(log) = sealed;
    pthread_mutex_unlock(&log->list_lock);
    return RUNG_OK;
}

static rung_status activate_spare(rung_segment_log *log, rung_err *err) {
    const rung_segment_info *old = last_segment(log);
    rung_segment_header h = {
        .first_seq = old->last_seq + 1,
        .capacity = log->spare.size,
        .epoch = log->epoch,
        .chain = old->chain,
    };
    memcpy(h.uuid, log->uuid, sizeof h.uuid);
    memcpy(h.previous_sha, old->sha, sizeof h.previous_sha);
    rung_spare_lock(&log->spare);
    rung_status st = begin_segment(log, &h, err);
    if (st == RUNG_OK)
        st = name_segment(log, &h, err);
    rung_spare_unlock(&log->spare);
    return st == RUNG_OK ? write_mark(log, err) : st;
}

/* Switch to the next segment. Nothing changes before the spare is ready, so a full disk does no harm. */
static rung_status rotate(rung_segment_log *log, rung_err *err) {
    rung_err detail = {0};
    rung_status st = reserve_entry(log, err);
    if (st < 0)
        return st;
    st = rung_spare_ensure(&log->spare, &log->dir, log->config.segment_size, &detail);
    if (st == RUNG_ENOSPC || st == RUNG_ENOMEM) {
        if (err)
            *err = detail;
        return st;
    }
    if (st >= 0 && log->has_unsynced) {
        uint64_t durable;
        st = rung_segment_log_sync(log, &durable, &detail);
    }
    if (st >= 0)
        st = seal_active(log, &detail);
    if (st >= 0)
        st = activate_spare(log, &detail);
    return st < 0 ? fail_for_ever(log, st, &detail, err) : RUNG_OK;
}

static rung_status measure(const rung_segment_log *log, const rung_log_entry *entries, size_t count,
                           size_t *size_out, rung_err *err) {
    size_t size = 0, space = (size_t)record_space(log->config.segment_size);
    if (count == 0)
        return RUNG_FAIL(err, RUNG_EINVAL, "a batch needs at least one record");
    for (size_t i = 0; i < count; i++) {
        if (entries[i].payload.len > RUNG_LOG_RECORD_MAX)
            return RUNG_FAIL(err, RUNG_ELIMIT, "a record of %zu bytes is longer than the log takes",
                             entries[i].payload.len);
        size += rung_log_framed_size(entries[i].payload.len);
        if (size > space)
            return RUNG_FAIL(err, RUNG_ELIMIT, "the batch does not fit into a segment (%zu bytes)",
                             space);
    }
    *size_out = size;
    return RUNG_OK;
}

static rung_status mark_if_due(rung_segment_log *log, bool is_idle, rung_err *err) {
    bool is_due = log->batches_since_mark >= (is_idle ? 1 : log->config.mark_every);
    return is_due && !log->has_unsynced ? write_mark(log, err) : RUNG_OK;
}

static void encode(rung_segment_log *log, const rung_log_entry *entries, size_t count) {
    uint32_t batch = log->has_unsynced ? log->state.batch : log->state.batch + 1;
    uint16_t flags = log->config.is_relaxed ? RUNG_RECORD_RELAXED : 0;
    uint8_t *out = log->buffer;
    for (size_t i = 0; i < count; i++) {
        uint16_t end = i + 1 == count ? RUNG_RECORD_END : 0;
        rung_frame_encode(&log->state, out, &entries[i], batch, (uint16_t)(flags | end));
        out += rung_log_framed_size(entries[i].payload.len);
    }
}

/* Write the batch, and zeros up to the end of its last block, which is zero anyway: so the kernel need not read it. */
static rung_status write_batch(const rung_segment_log *log, size_t size, rung_err *err) {
    uint64_t end = log->end + size, filled = (end + BLOCK_SIZE - 1) / BLOCK_SIZE * BLOCK_SIZE;
    filled = filled < log->capacity ? filled : log->capacity;
    memset(log->buffer + size, 0, (size_t)(filled - end));
    return rung_file_write(&log->active, log->buffer, (size_t)(filled - log->end), log->end, err);
}

/* Drop the active file from the page cache, except its end. */
static void forget_old(rung_segment_log *log) {
    if (log->has_unsynced || log->end - log->forgotten < 2 * CACHED_SIZE)
        return;
    uint64_t up_to = (log->end - CACHED_SIZE) / BLOCK_SIZE * BLOCK_SIZE;
    rung_file_forget(&log->active, log->forgotten, up_to - log->forgotten);
    log->forgotten = up_to;
}

rung_status rung_segment_log_append(rung_segment_log *log, const rung_log_entry *entries,
                                    size_t count, uint64_t *first_seq_out, rung_err *err) {
    if (log->failure.code < 0)
        return fail_for_ever(log, RUNG_OK, &log->failure, err);
    if (atomic_load(&log->is_start_due))
        return RUNG_FAIL(err, RUNG_ENOSPC, "there was no space to start the log");
    if (!log->is_started)
        return RUNG_FAIL(err, RUNG_EINVAL, "the log is not open for writing");
    RUNG_ASSERT(log->config.is_relaxed || !log->has_unsynced); /* I1 */
    size_t size = 0;
    rung_status st = measure(log, entries, count, &size, err);
    if (st < 0)
        return st;
    hash_pending(log); /* before the buffer is used again */
    st = reserve_buffer(log, size + BLOCK_SIZE, err);
    if (st == RUNG_OK && log->end + size > log->capacity - RUNG_SEGMENT_FOOTER_SIZE)
        st = rotate(log, err);
    if (st < 0)
        return st;

    rung_err detail = {0};
    st = mark_if_due(log, false, &detail);
    if (st == RUNG_OK) {
        *first_seq_out = log->state.next_seq;
        encode(log, entries, count);
        st = write_batch(log, size, &detail);
    }
    if (st < 0)
        return fail_for_ever(log, st, &detail, err);
    log->end += size;
    log->unhashed = size;
    log->has_unsynced = true;
    return RUNG_OK;
}

rung_status rung_segment_log_sync(rung_segment_log *log, uint64_t *durable_seq_out, rung_err *err) {
    if (log->failure.code < 0)
        return fail_for_ever(log, RUNG_OK, &log->failure, err);
    if (log->has_unsynced) {
        rung_err detail = {0};
        rung_status st = rung_file_datasync(&log->active, &detail);
        if (st < 0)
            return fail_for_ever(log, st, &detail, err);
        /* Update this before the list: a reader that finds a record there must see it as durable. */
        atomic_store_explicit(&log->durable_seq, log->state.next_seq - 1, memory_order_release);
        pthread_mutex_lock(&log->list_lock);
        rung_segment_info *info = last_segment(log);
        info->last_seq = log->state.next_seq - 1;
        info->end = log->end;
        info->chain = log->state.chain;
        pthread_mutex_unlock(&log->list_lock);
        log->has_unsynced = false;
        log->batches_since_mark++;
    }
    *durable_seq_out = atomic_load_explicit(&log->durable_seq, memory_order_relaxed);
    return RUNG_OK;
}

rung_status rung_segment_log_maintain(rung_segment_log *log, bool is_idle, rung_err *err) {
    if (log->failure.code < 0)
        return fail_for_ever(log, RUNG_OK, &log->failure, err);
    rung_err detail = {0};
    if (atomic_load(&log->is_start_due)) {
        rung_status st = rung_segment_log_start(log, &detail);
        if (st < 0)
            return st == RUNG_ENOSPC ? RUNG_OK : fail_for_ever(log, st, &detail, err);
    }
    if (!log->is_started)
        return RUNG_OK;
    hash_pending(log);
    forget_old(log);
    rung_status st = mark_if_due(log, is_idle, &detail);
    if (st < 0)
        return fail_for_ever(log, st, &detail, err);
    return atomic_load(&log->spare.is_made) ? RUNG_OK : RUNG_PARTIAL;
}

rung_status rung_segment_log_prepare(rung_segment_log *log, rung_err *err) {
    if (atomic_load(&log->is_start_due))
        return RUNG_FAIL(err, RUNG_ENOSPC, "there was no space to start the log");
    return rung_spare_ensure(&log->spare, &log->dir, log->config.segment_size, err);
}

size_t rung_segment_log_batch_bytes_max(const rung_segment_log *log) {
    return (size_t)record_space(log->config.segment_size);
}

/* ---- removing, reading, closing ---- */

rung_status rung_segment_log_truncate_before(rung_segment_log *log, uint64_t seq, rung_err *err) {
    rung_log_image *im = &log->image;
    rung_status st = RUNG_OK;
    size_t removed = 0;
    if (!log->is_started)
        return RUNG_FAIL(err, RUNG_EINVAL, "the log is not open for writing");
    pthread_mutex_lock(&log->list_lock);
    while (st >= 0 && log->pin_count == 0 && im->count > 1 && im->segments[0].is_sealed &&
           im->segments[0].last_seq < seq) {
        char name[RUNG_FILE_NAME_MAX];
        rung_segment_name(name, im->segments[0].first_seq, im->segments[0].epoch);
        st = rung_dir_unlink(&log->dir, name, err);
        if (st < 0)
            break;
        im->count--;
        memmove(im->segments, im->segments + 1, im->count * sizeof *im->segments);
        rung_err detail = {0};
        st = rung_dir_sync(&log->dir, &detail); /* I7 */
        if (st < 0)
            st = fail_for_ever(log, st, &detail, err);
        removed++;
    }
    pthread_mutex_unlock(&log->list_lock);
    return st < 0 ? st : removed ? RUNG_OK : RUNG_UNCHANGED;
}

/* The oldest sealed segment that is not packed; it is pinned. The newest sealed one is left to readers close behind. */
static bool take_packable(rung_segment_log *log, rung_segment_info *out) {
    bool is_found = false;
    pthread_mutex_lock(&log->list_lock);
    for (size_t i = 0; i + 2 < log->image.count && !is_found; i++) {
        const rung_segment_info *info = &log->image.segments[i];
        is_found = info->is_sealed && !info->is_packed;
        if (is_found)
            *out = *info;
    }
    log->pin_count += is_found;
    pthread_mutex_unlock(&log->list_lock);
    return is_found;
}

rung_status rung_segment_log_pack(rung_segment_log *log, bool gives_way, rung_err *err) {
    rung_segment_info info;
    char name[RUNG_FILE_NAME_MAX];
    uint64_t size = 0;
    if (!take_packable(log, &info))
        return RUNG_NOT_FOUND;
    rung_segment_name(name, info.first_seq, info.epoch);
    rung_status st = rung_segment_pack(&log->dir, log->config.alloc, name, gives_way, &size, err);
    pthread_mutex_lock(&log->list_lock);
    for (size_t i = 0; st >= 0 && i < log->image.count; i++) {
        rung_segment_info *entry = &log->image.segments[i];
        if (entry->first_seq == info.first_seq && entry->epoch == info.epoch) {
            entry->is_packed = true;
            entry->file_bytes = size;
        }
    }
    log->pin_count--;
    pthread_mutex_unlock(&log->list_lock);
    return st == RUNG_NOT_FOUND ? RUNG_FAIL(err, RUNG_ECORRUPT, "segment %s is missing", name) : st;
}

void rung_segment_log_pin(rung_segment_log *log) {
    pthread_mutex_lock(&log->list_lock);
    log->pin_count++;
    pthread_mutex_unlock(&log->list_lock);
}

void rung_segment_log_unpin(rung_segment_log *log) {
    pthread_mutex_lock(&log->list_lock);
    RUNG_ASSERT(log->pin_count > 0);
    log->pin_count--;
    pthread_mutex_unlock(&log->list_lock);
}

size_t rung_segment_log_segments(rung_segment_log *log, rung_segment_info *out, size_t max) {
    pthread_mutex_lock(&log->list_lock);
    size_t count = log->image.count;
    if (count && max)
        memcpy(out, log->image.segments, (count < max ? count : max) * sizeof *out);
    pthread_mutex_unlock(&log->list_lock);
    return count;
}

rung_status rung__segment_log_locate(rung_segment_log *log, uint64_t seq,
                                     rung_segment_info *info_out, rung_err *err) {
    rung_status st = RUNG_NOT_FOUND;
    pthread_mutex_lock(&log->list_lock);
    const rung_segment_info *s = log->image.segments;
    size_t low = 0, high = log->image.count;
    if (high && seq < s[0].first_seq) {
        st = RUNG_FAIL(err, RUNG_ESTALE, "sequence %llu is wanted, but the log begins at %llu",
                       (unsigned long long)seq, (unsigned long long)s[0].first_seq);
    } else if (high && seq <= s[high - 1].last_seq) {
        while (high - low > 1) { /* the last one that does not begin after seq */
            size_t middle = low + (high - low) / 2;
            if (s[middle].first_seq <= seq)
                low = middle;
            else
                high = middle;
        }
        *info_out = s[low];
        st = RUNG_OK;
    }
    pthread_mutex_unlock(&log->list_lock);
    return st;
}

static uint64_t log_durable_seq(const rung_log *port) {
    return atomic_load_explicit(&self(port)->durable_seq, memory_order_acquire);
}

static uint64_t log_first_seq(rung_log *port) {
    return rung_segment_log_stat(self(port)).first_seq;
}

static const uint8_t *log_id(const rung_log *port) {
    return self(port)->uuid;
}

static uint64_t log_sure_seq(const rung_log *port) {
    return atomic_load(&self(port)->is_tail_durable) ? log_durable_seq(port) : self(port)->sure_seq;
}

bool rung_segment_log_is_start_due(const rung_segment_log *log) {
    return atomic_load(&log->is_start_due);
}

rung_segment_log_stats rung_segment_log_stat(rung_segment_log *log) {
    rung_segment_log_stats out = {.torn_bytes = log->torn_bytes};
    rung_spare_lock(&log->spare);
    out.epoch = log->epoch;
    out.is_spare_ready = rung_file_is_open(&log->spare.file);
    rung_spare_unlock(&log->spare);
    pthread_mutex_lock(&log->list_lock);
    const rung_log_image *im = &log->image;
    out.segment_count = im->count;
    for (size_t i = 0; i < im->count; i++) {
        out.size_bytes += im->segments[i].end;
        out.disk_bytes += im->segments[i].file_bytes;
    }
    out.durable_seq = im->count ? im->segments[im->count - 1].last_seq : 0;
    out.first_seq = im->count ? im->segments[0].first_seq : 1;
    pthread_mutex_unlock(&log->list_lock);
    return out;
}

uint64_t rung_segment_log_bytes_from(rung_segment_log *log, uint64_t seq) {
    uint64_t bytes = 0;
    pthread_mutex_lock(&log->list_lock);
    for (size_t i = log->image.count; i > 0; i--) {
        const rung_segment_info *info = &log->image.segments[i - 1];
        if (info->is_sealed && info->last_seq < seq)
            break;
        bytes += info->is_sealed ? info->file_bytes : info->end; /* the rest of it is reserved */
    }
    pthread_mutex_unlock(&log->list_lock);
    return bytes;
}

/* A clean end: sync, seal and mark everything, so that the next start has nothing to check. An empty segment stays;
 * the next start removes it. */
static rung_status finish(rung_segment_log *log, rung_err *err) {
    uint64_t durable;
    rung_status st = rung_segment_log_sync(log, &durable, err);
    if (st == RUNG_OK)
        st = rung_segment_log_maintain(log, true, err);
    if (st == RUNG_PARTIAL)
        st = RUNG_OK;
    if (st < 0 || last_segment(log)->last_seq < last_segment(log)->first_seq)
        return st;
    return seal_active(log, err);
}

rung_status rung_segment_log_close(rung_segment_log *log, rung_err *err) {
    rung_writer_destroy(log->writer);
    rung_status st = log->is_started ? finish(log, err) : RUNG_OK;
    release(log);
    return st;
}

/* ---- the port ---- */

static rung_status log_start(rung_log *port, uint64_t from_seq, rung_err *err) {
    rung_segment_log *log = self(port);
    uint64_t durable = rung_log_durable_seq(port);
    if (from_seq != durable + 1)
        return RUNG_FAIL(err, RUNG_EINVAL, "the log goes on at %llu, not at %llu",
                         (unsigned long long)durable + 1, (unsigned long long)from_seq);
    rung_err why = {0};
    rung_status st = rung_segment_log_start(log, &why);
    bool is_full = st == RUNG_ENOSPC && log->config.writer.is_patient;
    if (is_full) {
        char line[400];
        snprintf(line, sizeof line,
                 "there is no space for the log: changes are refused until there is some, reads go "
                 "on: %s",
                 why.message);
        say(log, line);
    } else if (st < 0) {
        if (err)
            *err = why;
        return st;
    }
    return rung_writer_create(&log->config.writer, log, is_full, &log->writer, err);
}

static rung_status log_close(rung_log *port, rung_err *err) {
    return rung_segment_log_close(self(port), err);
}

static const rung_log_ops segment_log_ops = {
    .start = log_start,
    .propose = rung_writer_propose,
    .deliver = rung_writer_deliver,
    .await = rung_writer_await,
    .sync = rung_writer_sync,
    .durable_seq = log_durable_seq,
    .first_seq = log_first_seq,
    .id = log_id,
    .sure_seq = log_sure_seq,
    .cursor_open = rung__segment_cursor_open,
    .cursor_read = rung__segment_cursor_read,
    .cursor_close = rung__segment_cursor_close,
    .truncate_before = rung_writer_truncate_before,
    .stat = rung_writer_stat,
    .close = log_close,
};
