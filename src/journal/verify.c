/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/verify.h"

#include "base/assert.h"
#include "journal/recovery.h"
#include "journal/segment_copy.h"
#include "journal/segment_log.h"
#include "journal/segment_scan.h"
#include "journal/snapshot_file.h"
#include "journal/snapshot_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- verify ---- */

typedef struct verify {
    const rung_dir *dir;
    const rung_alloc *alloc;
    void (*each)(void *ctx, const char *line);
    void *ctx;
    rung_verify_report *report;
    rung_err first; /* damage */
    rung_high_water mark;
    bool has_mark;
} verify;

static void tell(const verify *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void tell(const verify *v, const char *format, ...) {
    char line[320];
    va_list args;
    if (!v->each)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    v->each(v->ctx, line);
}

static bool is_damage(rung_status st) {
    return st == RUNG_ECORRUPT || st == RUNG_EVERSION;
}

/* Damage is counted and told, and the check goes on: RUNG_OK. Any other failure is returned. */
static rung_status collect(verify *v, rung_status st, const rung_err *detail, rung_err *err) {
    if (is_damage(st)) {
        if (v->report->damage_count++ == 0)
            v->first = *detail;
        tell(v, "damage: %s", detail->message);
        return RUNG_OK;
    }
    if (st < 0 && err)
        *err = *detail;
    return st < 0 ? st : RUNG_OK;
}

static bool is_marked(const rung_high_water *mark, const rung_segment_scan *s) {
    return mark->segment_first_seq == s->header.first_seq && mark->segment_epoch == s->header.epoch;
}

/* The footer after the records, with the hash, which recovery does not check. */
static rung_status check_seal(verify *v, rung_segment_scan *s, rung_err *err) {
    rung_segment_footer f;
    uint8_t sha[RUNG_SHA256_SIZE];
    rung_status st = rung_segment_scan_footer(s, &f, err);
    if (st != RUNG_OK)
        return st;
    rung_sha256_finish(&s->sha, sha);
    if (memcmp(sha, f.sha, sizeof sha) != 0)
        return rung_segment_scan_damage(s, "the SHA-256 in the footer is not that of the segment",
                                        err);
    tell(v, "segment %s: sequence %llu to %llu, sealed", s->file.name,
         (unsigned long long)f.first_seq, (unsigned long long)f.last_seq);
    return RUNG_OK;
}

static rung_status check_tail(verify *v, rung_segment_scan *s, rung_err *err) {
    rung_tail tail;
    uint64_t data_end;
    const char *why;
    if (v->has_mark && is_marked(&v->mark, s) && s->offset < v->mark.offset)
        return rung_segment_scan_damage(s, rung_frame_verdict_text(s->verdict), err);
    rung_status st = rung_segment_scan_judge(s, &tail, &data_end, &why, err);
    if (st < 0)
        return st;
    if (tail == RUNG_TAIL_DAMAGED)
        return rung_segment_scan_damage(s, why, err);
    v->report->torn_bytes = data_end - s->offset;
    tell(v, "segment %s: sequence %llu to %llu, open%s", s->file.name,
         (unsigned long long)s->header.first_seq, (unsigned long long)s->state.next_seq - 1,
         tail == RUNG_TAIL_TORN ? ", torn tail: the next start cuts it" : "");
    return RUNG_OK;
}

/* Every record of one segment. `stop` is where the next segment begins, 0 for the last. */
static rung_status check_segment(verify *v, rung_segment_scan *s, uint64_t stop, rung_err *err) {
    rung_log_record r;
    rung_status st = RUNG_OK;
    rung_verify_report *rep = v->report;
    while (st == RUNG_OK && (stop == 0 || s->state.next_seq < stop)) {
        st = rung_segment_scan_next(s, true, &r, err);
        if (st != RUNG_OK)
            break;
        rep->record_count++;
        rep->first_seq = rep->first_seq ? rep->first_seq : r.seq;
        rep->last_seq = r.seq;
    }
    rep->size_bytes += s->offset;
    if (st < 0 && (st != RUNG_ECORRUPT || stop))
        return st;
    rung_status sealed = check_seal(v, s, err);
    if (sealed == RUNG_OK || stop)
        return sealed < 0 ? sealed : RUNG_OK;
    return check_tail(v, s, err);
}

static rung_status verify_segments(verify *v, rung_err *err) {
    rung_log_image list;
    rung_status st = rung_log_image_list(&list, v->alloc, v->dir, err);
    for (size_t i = 0; st >= 0 && i < list.count; i++) {
        char name[RUNG_FILE_NAME_MAX];
        rung_segment_scan scan;
        rung_err detail = {0};
        rung_segment_name(name, list.segments[i].first_seq, list.segments[i].epoch);
        uint64_t stop = i + 1 < list.count ? list.segments[i + 1].first_seq : 0;
        st = rung_segment_scan_open(&scan, v->alloc, v->dir, name, true, &detail);
        if (st == RUNG_OK) {
            v->report->segment_count++;
            st = check_segment(v, &scan, stop, &detail);
            rung_segment_scan_close(&scan);
        }
        st = collect(v, st, &detail, err);
    }
    rung_log_image_deinit(&list);
    return st < 0 ? st : RUNG_OK;
}

/* Recovery has the rules about marks, links and sizes: whatever it refuses is damage. */
static rung_status verify_rules(verify *v, rung_err *err) {
    rung_log_image image;
    rung_err detail = {0};
    rung_status st = rung_log_image_read_live(&image, v->alloc, v->dir, &detail);
    if (st == RUNG_OK) {
        if (image.is_mark_slot_bad)
            tell(v, "file %s: one of its two marks is not whole; the other one counts",
                 RUNG_HIGH_WATER_NAME);
        rung_log_image_deinit(&image);
    } else if (is_damage(st) && v->report->damage_count) {
        return RUNG_OK; /* told already */
    }
    return collect(v, st, &detail, err);
}

static rung_status verify_snapshot(verify *v, uint64_t seq, rung_err *err) {
    rung_err detail = {0};
    rung_snapshot_info info = {0};
    rung_status st = rung_snapshot_check(v->dir, v->alloc, v->mark.uuid, seq, &info, &detail);
    rung_verify_report *r = v->report;
    if (st == RUNG_NOT_FOUND)
        st = RUNG_FAIL(&detail, RUNG_ECORRUPT, "a snapshot is missing");
    r->snapshot_count++;
    if (st == RUNG_OK && r->newest_snapshot_seq < seq)
        r->newest_snapshot_seq = seq;
    if (st == RUNG_OK && seq + 1 >= r->first_seq) { /* the newest comes first */
        r->oldest_snapshot_seq = seq;
        r->oldest_snapshot_ms = info.time_ms;
    }
    if (st == RUNG_OK)
        tell(v, "snapshot at sequence %llu: whole", (unsigned long long)seq);
    return collect(v, st, &detail, err);
}

static rung_status verify_snapshots(verify *v, rung_err *err) {
    rung_snapshot_info infos[RUNG_SNAPSHOT_KEEP];
    rung_snapshot_entries list;
    size_t count = 0;
    rung_status st = rung_snapshot_list_names(v->dir, v->alloc, &list, err);
    for (size_t i = list.count; st >= 0 && i > 0; i--)
        st = verify_snapshot(v, list.entries[i - 1].seq, err);
    rung_snapshot_list_deinit(&list);
    if (st < 0)
        return st;
    rung_err detail = {0};
    st = rung_snapshot_manifest_read(v->dir, v->mark.uuid, infos, &count, &detail);
    return is_damage(st) ? collect(v, st, &detail, err) : RUNG_OK;
}

static rung_status verify_log(verify *v, rung_err *err) {
    bool is_slot_bad;
    v->has_mark = rung_high_water_read(v->dir, &v->mark, &is_slot_bad, NULL) == RUNG_OK;
    rung_status st = verify_segments(v, err);
    return st < 0 ? st : verify_rules(v, err);
}

rung_status rung_log_verify(const rung_dir *dir, const rung_alloc *alloc,
                            void (*each)(void *ctx, const char *line), void *ctx,
                            rung_verify_report *report_out, rung_err *err) {
    *report_out = (rung_verify_report){0};
    verify v = {.dir = dir, .alloc = alloc, .each = each, .ctx = ctx, .report = report_out};
    rung_status st = verify_log(&v, err);
    report_out->mark_seq = v.has_mark ? v.mark.seq : 0;
    if (st == RUNG_OK && v.has_mark)
        st = verify_snapshots(&v, err);
    if (st == RUNG_OK && report_out->damage_count) {
        if (err)
            *err = v.first;
        return RUNG_ECORRUPT;
    }
    return st;
}

/* ---- cat ---- */

/* The records of the last segment have ended. An incomplete batch, from a crash or a running server, is not damage; a
 * record missing before `mark`, which was read first, is. */
static rung_status judge_end(rung_segment_scan *s, const rung_high_water *mark, rung_err *err) {
    rung_tail tail;
    uint64_t data_end;
    const char *why = rung_frame_verdict_text(s->verdict);
    rung_segment_footer footer;
    if (mark && is_marked(mark, s) && s->offset < mark->offset)
        return rung_segment_scan_damage(s, why, err);
    if (rung_segment_scan_footer(s, &footer, NULL) == RUNG_OK)
        return RUNG_OK;
    rung_status st = rung_segment_scan_judge(s, &tail, &data_end, &why, err);
    if (st < 0)
        return st;
    return tail == RUNG_TAIL_DAMAGED ? rung_segment_scan_damage(s, why, err) : RUNG_OK;
}

typedef struct walk {
    uint64_t from, to;
    uint64_t stop; /* start of the next segment; UINT64_MAX: none */
    rung_status (*each)(void *ctx, const rung_log_record *record);
    void *ctx;
    const rung_high_water *mark; /* NULL: there is none */
} walk;

static rung_status walk_segment(const walk *w, rung_segment_scan *s, rung_err *err) {
    rung_log_record r;
    while (s->state.next_seq < w->stop && s->state.next_seq <= w->to) {
        rung_status st = rung_segment_scan_next(s, true, &r, err);
        bool is_end = st == RUNG_NOT_FOUND || st == RUNG_ECORRUPT;
        if (is_end && w->stop == UINT64_MAX)
            return judge_end(s, w->mark, err);
        if (is_end)
            return rung_segment_scan_damage(s, rung_frame_verdict_text(s->verdict), err);
        if (st == RUNG_OK && r.seq >= w->from)
            st = w->each(w->ctx, &r);
        if (st != RUNG_OK)
            return st;
    }
    return RUNG_OK;
}

rung_status rung_log_cat(const rung_dir *dir, const rung_alloc *alloc, uint64_t from, uint64_t to,
                         rung_status (*each)(void *ctx, const rung_log_record *record), void *ctx,
                         rung_err *err) {
    rung_log_image list;
    rung_high_water mark;
    bool is_slot_bad;
    walk w = {.from = from, .to = to, .each = each, .ctx = ctx};
    if (rung_high_water_read(dir, &mark, &is_slot_bad, NULL) == RUNG_OK)
        w.mark = &mark;
    rung_status st = rung_log_image_list(&list, alloc, dir, err);
    for (size_t i = 0; st == RUNG_OK && i < list.count && list.segments[i].first_seq <= to; i++) {
        w.stop = i + 1 < list.count ? list.segments[i + 1].first_seq : UINT64_MAX;
        if (w.stop <= from)
            continue;
        char name[RUNG_FILE_NAME_MAX];
        rung_segment_scan scan;
        rung_segment_name(name, list.segments[i].first_seq, list.segments[i].epoch);
        st = rung_segment_scan_open(&scan, alloc, dir, name, false, err);
        if (st != RUNG_OK)
            break;
        st = walk_segment(&w, &scan, err);
        rung_segment_scan_close(&scan);
    }
    rung_log_image_deinit(&list);
    return st;
}

/* ---- repair ---- */

/* The longest intact prefix: segments 0 .. `whole` - 1 of the list, and the records up to `cut_seq` of segment
 * `whole` (0: none of it). */
typedef struct beginning {
    size_t whole;
    uint64_t last_seq;
    uint64_t cut_seq;
    uint64_t seen_seq; /* the highest sequence that anything on the disk mentions */
    uint32_t epoch_max;
    rung_segment_info last; /* of the last whole one */
    uint8_t uuid[RUNG_UUID_SIZE];
    bool has_uuid;
} beginning;

/* Does the segment open in `s` continue `b`? The first one always does. */
static bool is_next(const beginning *b, const rung_segment_scan *s) {
    if (b->whole == 0)
        return true;
    return s->header.first_seq == b->last_seq + 1 && s->header.chain == b->last.chain &&
           memcmp(s->header.previous_sha, b->last.sha, RUNG_SHA256_SIZE) == 0 &&
           memcmp(s->header.uuid, b->uuid, RUNG_UUID_SIZE) == 0;
}

/* Read the segment; true if all of it belongs to the prefix. `stop`: start of the next segment, 0 at the end. */
static bool extend(beginning *b, rung_segment_scan *s, uint64_t stop) {
    if (!is_next(b, s))
        return false;
    memcpy(b->uuid, s->header.uuid, sizeof b->uuid);
    b->has_uuid = true;
    if (b->whole == 0)
        b->last_seq = s->header.first_seq - 1;
    rung_log_record r;
    rung_status st = RUNG_OK;
    while (st == RUNG_OK && (stop == 0 || s->state.next_seq < stop))
        st = rung_segment_scan_next(s, true, &r, NULL);
    uint64_t last = s->state.next_seq - 1;
    bool is_whole = stop && s->state.next_seq == stop;
    if (last < s->header.first_seq && !is_whole)
        return false; /* nothing of it can be kept */
    rung_segment_footer f;
    b->last = (rung_segment_info){.first_seq = s->header.first_seq,
                                  .last_seq = last,
                                  .end = s->offset,
                                  .epoch = s->header.epoch,
                                  .chain = s->state.chain};
    if (last < s->header.first_seq)
        memcpy(b->last.sha, s->header.previous_sha, sizeof b->last.sha);
    else
        rung_sha256_finish(&s->sha, b->last.sha);
    b->last_seq = last;
    b->last.is_sealed = rung_segment_scan_footer(s, &f, NULL) == RUNG_OK &&
                        memcmp(f.sha, b->last.sha, sizeof f.sha) == 0;
    if (is_whole || (stop == 0 && b->last.is_sealed))
        return true;
    b->cut_seq = last;
    return false;
}

static void note_seen(beginning *b, uint64_t seq) {
    b->seen_seq = seq > b->seen_seq ? seq : b->seen_seq;
}

/* Fills in the intact entries of the list; a segment that only lacks its seal counts as intact. */
static rung_status find_beginning(const rung_dir *dir, const rung_alloc *alloc,
                                  rung_log_image *list, beginning *b, rung_err *err) {
    bool is_broken = false;
    *b = (beginning){0};
    for (size_t i = 0; i < list->count; i++) {
        char name[RUNG_FILE_NAME_MAX];
        rung_segment_scan scan;
        rung_segment_footer f;
        rung_segment_info *info = &list->segments[i];
        rung_segment_name(name, info->first_seq, info->epoch);
        b->epoch_max = info->epoch > b->epoch_max ? info->epoch : b->epoch_max;
        note_seen(b, info->first_seq - 1);
        rung_status st = rung_segment_scan_open(&scan, alloc, dir, name, true, err);
        if (st == RUNG_ENOMEM || st == RUNG_EIO)
            return st;
        if (st != RUNG_OK) {
            is_broken = true;
            continue;
        }
        if (rung_segment_scan_last_footer(&scan, &f, NULL) == RUNG_OK)
            note_seen(b, f.last_seq);
        if (!is_broken && extend(b, &scan, i + 1 < list->count ? info[1].first_seq : 0)) {
            *info = b->last;
            b->whole = i + 1;
        } else {
            is_broken = true;
        }
        note_seen(b, scan.state.next_seq - 1);
        rung_segment_scan_close(&scan);
    }
    return RUNG_OK;
}

/* Keep the file under another name. An interrupted repair may have left it there already. */
static rung_status keep_aside(const rung_dir *dir, const char *name, bool remove, rung_err *err) {
    char kept[RUNG_FILE_NAME_MAX];
    int n = snprintf(kept, sizeof kept, "damaged-%s", name);
    RUNG_ASSERT(n > 0 && (size_t)n < sizeof kept);
    rung_status st;
    if (remove) {
        st = rung_dir_rename(dir, name, kept, err);
    } else {
        st = rung_dir_link(dir, name, dir, kept, err);
        if (st == RUNG_EEXIST)
            st = RUNG_OK;
    }
    return st < 0 ? st : rung_dir_sync(dir, err);
}

/* Replace a segment with a sealed copy up to `last_seq`. */
static rung_status replace_segment(const rung_dir *dir, const rung_alloc *alloc,
                                   const rung_segment_info *info, uint64_t last_seq,
                                   rung_segment_info *info_out, rung_err *err) {
    char name[RUNG_FILE_NAME_MAX];
    rung_segment_name(name, info->first_seq, info->epoch);
    rung_status st =
        rung_segment_copy(alloc, dir, name, dir, "repair.tmp", last_seq, info_out, err);
    if (st == RUNG_OK)
        st = keep_aside(dir, name, false, err);
    if (st == RUNG_OK)
        st = rung_dir_rename(dir, "repair.tmp", name, err);
    return st == RUNG_OK ? rung_dir_sync(dir, err) : st;
}

/* Seal intact segments that are not sealed; remove those that a later start has emptied. */
static rung_status seal_whole(const rung_dir *dir, const rung_alloc *alloc,
                              const rung_log_image *list, size_t whole, rung_err *err) {
    rung_status st = RUNG_OK;
    for (size_t i = 0; st == RUNG_OK && i < whole; i++) {
        const rung_segment_info *info = &list->segments[i];
        rung_segment_info sealed;
        char name[RUNG_FILE_NAME_MAX];
        rung_segment_name(name, info->first_seq, info->epoch);
        if (info->is_sealed)
            continue;
        st = info->last_seq < info->first_seq
                 ? keep_aside(dir, name, true, err)
                 : replace_segment(dir, alloc, info, info->last_seq, &sealed, err);
    }
    return st;
}

static rung_status renew_mark(const rung_dir *dir, const beginning *b, rung_err *err) {
    rung_ignore(keep_aside(dir, RUNG_HIGH_WATER_NAME, false, NULL), "it may be what is missing");
    return rung__high_water_create(dir, b->uuid, &b->last, err);
}

/* The newest intact snapshot; 0: none. */
static uint64_t newest_snapshot(const rung_dir *dir, const rung_alloc *alloc, const uint8_t *uuid) {
    uint64_t seqs[16];
    size_t count = 0;
    if (rung_snapshot_list(dir, seqs, 16, &count, NULL) < 0)
        return 0;
    rung_snapshot_info info;
    for (size_t i = 0; i < count; i++)
        if (rung_snapshot_check(dir, alloc, uuid, seqs[i], &info, NULL) == RUNG_OK)
            return seqs[i];
    return 0;
}

static rung_status rebuild(const rung_dir *dir, const rung_alloc *alloc, const rung_log_image *list,
                           beginning *b, uint64_t snapshot_seq, rung_err *err) {
    rung_status st = RUNG_OK;
    bool is_restart = snapshot_seq > b->last_seq;
    if (!is_restart)
        st = seal_whole(dir, alloc, list, b->whole, err);
    if (st == RUNG_OK && !is_restart && b->cut_seq) {
        st = replace_segment(dir, alloc, &list->segments[b->whole], b->cut_seq, &b->last, err);
        b->whole++;
    }
    size_t keep = is_restart ? 0 : b->whole;
    /* From the end, so that a prefix remains at every moment. */
    for (size_t i = list->count; st >= 0 && i > keep; i--) {
        char name[RUNG_FILE_NAME_MAX];
        rung_segment_name(name, list->segments[i - 1].first_seq, list->segments[i - 1].epoch);
        st = keep_aside(dir, name, true, err);
    }
    if (st >= 0 && keep == 0) { /* only a snapshot is left */
        b->last_seq = is_restart ? snapshot_seq : b->last_seq;
        st = rung__segment_begin_after(dir, b->uuid, b->last_seq, b->epoch_max + 1, &b->last, err);
    }
    return st < 0 ? st : renew_mark(dir, b, err);
}

/* Check the log alone, reading every record. RUNG_OK or RUNG_ECORRUPT. */
static rung_status is_log_whole(const rung_dir *dir, const rung_alloc *alloc, rung_err *err) {
    rung_verify_report report = {0};
    verify v = {.dir = dir, .alloc = alloc, .report = &report};
    rung_status st = verify_log(&v, err);
    if (st == RUNG_OK && report.damage_count) {
        if (err)
            *err = v.first;
        return v.first.code;
    }
    return st;
}

static rung_status repair_locked(const rung_dir *dir, const rung_alloc *alloc, bool accept_loss,
                                 rung_repair_report *report_out, rung_err *err) {
    rung_log_image image;
    rung_status st = is_log_whole(dir, alloc, err);
    if (st != RUNG_ECORRUPT)
        return st == RUNG_OK ? RUNG_UNCHANGED : st;
    st = rung_log_image_list(&image, alloc, dir, err);
    if (st < 0)
        return st;
    beginning b;
    rung_high_water mark;
    bool is_slot_bad;
    st = find_beginning(dir, alloc, &image, &b, err);
    if (rung_high_water_read(dir, &mark, &is_slot_bad, NULL) == RUNG_OK) {
        note_seen(&b, mark.seq);
        memcpy(b.uuid, mark.uuid, sizeof b.uuid);
        b.has_uuid = true;
    }
    if (st == RUNG_OK && !b.has_uuid)
        st = RUNG_FAIL(err, RUNG_ECORRUPT,
                       "nothing in the folder says which log this was: restore a backup");
    if (st == RUNG_OK) {
        uint64_t snapshot_seq = newest_snapshot(dir, alloc, b.uuid);
        bool is_restart = snapshot_seq > b.last_seq;
        uint64_t kept = is_restart ? snapshot_seq : b.last_seq;
        *report_out = (rung_repair_report){.kept_seq = kept, .is_restarted = is_restart};
        if (b.seen_seq > kept) {
            report_out->lost_from = kept + 1;
            report_out->lost_to = b.seen_seq;
        }
        report_out->is_mark_only = !is_restart && b.seen_seq <= kept;
        st = accept_loss ? rebuild(dir, alloc, &image, &b, snapshot_seq, err)
                         : RUNG_FAIL(err, RUNG_EREFUSED,
                                     "records may be lost: repair needs to be told to accept that");
    }
    rung_log_image_deinit(&image);
    return st;
}

rung_status rung_log_repair(const rung_dir *dir, const rung_alloc *alloc, bool accept_loss,
                            rung_repair_report *report_out, rung_err *err) {
    rung_file lock;
    *report_out = (rung_repair_report){0};
    rung_status st = rung_file_open(&lock, dir, "lock", RUNG_FILE_CREATE, err);
    if (st < 0)
        return st;
    st = rung_file_lock(&lock, err);
    if (st == RUNG_EBUSY)
        st = RUNG_FAIL(err, st, "folder %s is in use: stop the server first", dir->path);
    if (st == RUNG_OK)
        st = repair_locked(dir, alloc, accept_loss, report_out, err);
    rung_file_close(&lock);
    return st;
}
