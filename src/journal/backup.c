/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/backup.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "journal/recovery.h"
#include "journal/segment_copy.h"
#include "journal/snapshot_file.h"
#include "journal/snapshot_list.h"
#include "journal/verify.h"

#include <string.h>

static const char MARKER_MAGIC[8] = {'R', 'U', 'N', 'G', 'B', 'A', 'C', 'K'};

typedef struct backup {
    const rung_dir *from, *to;
    const rung_alloc *alloc;
    bool may_link;
    uint8_t uuid[RUNG_UUID_SIZE];
    rung_segment_info last; /* the last segment in the copy */
    rung_backup_report *report;
} backup;

/* ---- the marker ---- */

static rung_status write_marker(const backup *b, rung_err *err) {
    uint8_t bytes[RUNG_BACKUP_MARKER_SIZE] = {0};
    memcpy(bytes, MARKER_MAGIC, sizeof MARKER_MAGIC);
    rung_put32(bytes + 8, 1);
    memcpy(bytes + 16, b->uuid, RUNG_UUID_SIZE);
    rung_put64(bytes + 32, b->report->first_seq);
    rung_put64(bytes + 40, b->report->last_seq);
    rung_put32(bytes + 12, rung_crc32c(0, bytes, sizeof bytes));
    return rung_file_replace(b->to, RUNG_BACKUP_MARKER, bytes, sizeof bytes, err);
}

static rung_status check_marker(const rung_dir *dir, rung_err *err) {
    uint8_t bytes[RUNG_BACKUP_MARKER_SIZE];
    size_t got = 0;
    rung_status st = rung_file_read_small(dir, RUNG_BACKUP_MARKER, bytes, sizeof bytes, &got, err);
    if (st == RUNG_NOT_FOUND)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "folder %s holds no complete backup", dir->path);
    if (st < 0)
        return st;
    uint32_t crc = got == sizeof bytes ? rung_get32(bytes + 12) : 0;
    if (got == sizeof bytes)
        rung_put32(bytes + 12, 0);
    if (got != sizeof bytes || memcmp(bytes, MARKER_MAGIC, sizeof MARKER_MAGIC) != 0 ||
        crc != rung_crc32c(0, bytes, sizeof bytes))
        return RUNG_FAIL(err, RUNG_ECORRUPT, "file %s is damaged", RUNG_BACKUP_MARKER);
    return RUNG_OK;
}

/* ---- files ---- */

static rung_status check_empty(const rung_dir *to, const rung_alloc *alloc, rung_err *err) {
    rung_log_image image;
    rung_high_water mark;
    bool unused;
    rung_status st = rung_log_image_list(&image, alloc, to, err);
    if (st < 0)
        return st;
    bool is_empty =
        image.count == 0 && rung_high_water_read(to, &mark, &unused, NULL) == RUNG_NOT_FOUND;
    rung_log_image_deinit(&image);
    return is_empty ? RUNG_OK
                    : RUNG_FAIL(err, RUNG_EEXIST, "folder %s holds a log already", to->path);
}

static rung_status bring(backup *b, const char *name, rung_err *err) {
    rung_status st = RUNG_EUNSUPPORTED;
    if (b->may_link)
        st = rung_dir_link(b->from, name, b->to, name, err);
    if (st == RUNG_OK) {
        b->report->linked_count++;
        return RUNG_OK;
    }
    st = rung_file_copy(b->from, name, b->to, name, err);
    b->report->copied_count += st == RUNG_OK;
    return st;
}

/* Copy the segments up to `seq_max`; the last one is cut there, or at its durable end. */
static rung_status bring_segments(backup *b, const rung_segment_info *segments, size_t count,
                                  uint64_t seq_max, rung_err *err) {
    rung_backup_report *rep = b->report;
    rep->first_seq = count ? segments[0].first_seq : 1;
    rep->last_seq = rep->first_seq - 1;
    for (size_t i = 0; i < count && segments[i].first_seq <= seq_max; i++) {
        const rung_segment_info *info = &segments[i];
        char name[RUNG_FILE_NAME_MAX];
        rung_segment_name(name, info->first_seq, info->epoch);
        if (info->last_seq < info->first_seq)
            continue;
        rung_status st;
        if (info->is_sealed && info->last_seq <= seq_max) {
            b->last = *info;
            st = bring(b, name, err);
            if (st == RUNG_NOT_FOUND)
                return RUNG_FAIL(err, RUNG_ECORRUPT, "segment %s is missing", name);
        } else {
            uint64_t last = info->last_seq < seq_max ? info->last_seq : seq_max;
            st = rung_segment_copy(b->alloc, b->from, name, b->to, name, last, &b->last, err);
            rep->copied_count++;
        }
        if (st < 0)
            return st;
        rep->segment_count++;
        rep->last_seq = b->last.last_seq;
    }
    /* A log that begins after a snapshot and has no record yet: the empty segment says where it begins. */
    if (rep->segment_count == 0 && rep->first_seq > 1 && rep->first_seq <= seq_max) {
        char name[RUNG_FILE_NAME_MAX];
        b->last = segments[count - 1];
        rung_segment_name(name, b->last.first_seq, b->last.epoch);
        rung_status st = rung_file_copy(b->from, name, b->to, name, err);
        rep->segment_count += st == RUNG_OK;
        return st < 0 ? st : RUNG_OK;
    }
    return RUNG_OK;
}

/* Copy the snapshots from the first record to the last; older ones need records that are gone. A snapshot that the
 * server removes meanwhile, or that is damaged, is left out; the records make up for it. */
static rung_status bring_snapshots(backup *b, rung_err *err) {
    rung_snapshot_entries list;
    size_t kept = 0;
    rung_snapshot_info infos[RUNG_SNAPSHOT_KEEP] = {0}, info;
    rung_status st = rung_snapshot_list_names(b->from, b->alloc, &list, err);
    for (size_t i = list.count; st >= 0 && i > 0; i--) {
        char name[RUNG_FILE_NAME_MAX];
        uint64_t seq = list.entries[i - 1].seq;
        rung_snapshot_name(name, seq);
        if (seq > b->report->last_seq || seq + 1 < b->report->first_seq)
            continue;
        st = bring(b, name, err);
        if (st == RUNG_OK)
            st = rung_snapshot_check(b->to, b->alloc, b->uuid, seq, &info, err);
        if (st == RUNG_OK && kept < RUNG_SNAPSHOT_KEEP)
            infos[kept] = info;
        if (st == RUNG_OK)
            kept++;
        else if (st == RUNG_ECORRUPT)
            st = rung_dir_unlink(b->to, name, err);
    }
    rung_snapshot_list_deinit(&list);
    if (st < 0)
        return st;
    b->report->snapshot_count = kept;
    b->report->newest_snapshot_seq = kept ? infos[0].seq : 0;
    size_t listed = kept < RUNG_SNAPSHOT_KEEP ? kept : RUNG_SNAPSHOT_KEEP;
    return listed ? rung_snapshot_manifest_write(b->to, b->uuid, infos, listed, err) : RUNG_OK;
}

/* A log without its beginning needs a snapshot to start from. */
static rung_status check_reach(const backup *b, rung_err *err) {
    const rung_backup_report *r = b->report;
    if (r->first_seq > 1 && (r->snapshot_count == 0 || r->newest_snapshot_seq + 1 < r->first_seq))
        return RUNG_FAIL(err, RUNG_ESTALE,
                         "the records begin at %llu and no snapshot covers what is before",
                         (unsigned long long)r->first_seq);
    return RUNG_OK;
}

/* The segments are there: bring what belongs to them. */
static rung_status finish(backup *b, rung_err *err) {
    rung_status st = bring_snapshots(b, err);
    if (st == RUNG_OK)
        st = check_reach(b, err);
    if (st == RUNG_OK)
        st = rung_dir_sync(b->to, err);
    if (st < 0)
        return st;
    return rung__high_water_create(b->to, b->uuid, b->report->segment_count ? &b->last : NULL, err);
}

/* ---- backup ---- */

static rung_status run_from_log(backup *b, rung_segment_log *log, rung_err *err) {
    rung_segment_log_pin(log);
    memcpy(b->uuid, rung_segment_log_uuid(log), RUNG_UUID_SIZE);
    size_t room = rung_segment_log_segments(log, NULL, 0) + 16,
           size = room * sizeof(rung_segment_info);
    rung_segment_info *segments = rung_alloc_get(b->alloc, size);
    rung_status st =
        segments ? RUNG_OK : RUNG_FAIL(err, RUNG_ENOMEM, "no memory for the list of segments");
    if (st == RUNG_OK) {
        size_t count = rung_segment_log_segments(log, segments, room);
        st = bring_segments(b, segments, count < room ? count : room, UINT64_MAX, err);
        rung_alloc_free(b->alloc, segments, size);
    }
    rung_segment_log_unpin(log);
    return st;
}

static rung_status run_from_folder(backup *b, uint64_t seq_max, rung_err *err) {
    rung_log_image image;
    rung_status st = rung_log_image_read_live(&image, b->alloc, b->from, err);
    if (st < 0)
        return st;
    memcpy(b->uuid, image.uuid, sizeof b->uuid);
    if (!image.has_mark)
        st = RUNG_FAIL(err, RUNG_EABSENT, "folder %s holds no log", b->from->path);
    if (st == RUNG_OK)
        st = bring_segments(b, image.segments, image.count, seq_max, err);
    rung_log_image_deinit(&image);
    return st;
}

rung_status rung_backup_run(const rung_dir *from, rung_segment_log *log, const rung_dir *to,
                            const rung_alloc *alloc, rung_backup_report *report_out,
                            rung_err *err) {
    *report_out = (rung_backup_report){0};
    backup b = {.from = from, .to = to, .alloc = alloc, .may_link = true, .report = report_out};
    rung_status st = check_empty(to, alloc, err);
    if (st == RUNG_OK)
        st = log ? run_from_log(&b, log, err) : run_from_folder(&b, UINT64_MAX, err);
    if (st == RUNG_OK)
        st = finish(&b, err);
    return st == RUNG_OK ? write_marker(&b, err) : st;
}

/* ---- restore ---- */

rung_status rung_backup_restore(const rung_dir *from, const rung_dir *to, const rung_alloc *alloc,
                                uint64_t seq, rung_backup_report *report_out, rung_err *err) {
    *report_out = (rung_backup_report){0};
    /* Copies, not links: changes of the restored files must not reach the backup. */
    backup b = {.from = from, .to = to, .alloc = alloc, .report = report_out};
    rung_status st = check_marker(from, err);
    if (st == RUNG_OK)
        st = check_empty(to, alloc, err);
    if (st == RUNG_OK)
        st = run_from_folder(&b, seq ? seq : UINT64_MAX, err);
    if (st == RUNG_OK && seq && report_out->last_seq < seq)
        st = report_out->first_seq > seq
                 ? RUNG_FAIL(err, RUNG_ESTALE, "the backup begins at sequence %llu",
                             (unsigned long long)report_out->first_seq)
                 : RUNG_FAIL(err, RUNG_ERANGE, "the backup ends at sequence %llu",
                             (unsigned long long)report_out->last_seq);
    if (st == RUNG_OK)
        st = finish(&b, err);
    rung_verify_report checked;
    return st == RUNG_OK ? rung_log_verify(to, alloc, NULL, NULL, &checked, err) : st;
}
