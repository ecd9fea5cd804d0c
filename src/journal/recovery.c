/* SPDX-License-Identifier: Apache-2.0 */
/* The rules, in the order in which they are applied:
 *
 *   R1 A log has a high-water file with at least one valid slot (it is created before the first segment).
 *   R2 The mark's segment exists (the mark names a segment only after the segment's name was synced).
 *   R3 Each segment continues the one before: sequence, chain and SHA-256. A hole is damage.
 *   R4 Every segment except the last is sealed. One exception: the second to last, if a later start (a higher epoch)
 *      made the last one. Then a crash came between making the new segment and sealing the old one. The new header
 *      says where the old one is cut, and up to there it must be intact.
 *   R5 An open last segment has the size in its header. A sealed one ends with its footer, or zeros follow up to that
 *      size. (Sizes are synced before names.)
 *   R6 In an open last segment, a bad record below the mark is damage; above it the tail rules decide
 *      (segment_scan.c).
 *   R7 At the mark, sequence and chain are those of the log; the log does not end before the mark.
 *
 * Recovery does not read the records of sealed segments: their readers check them. */
#include "journal/recovery.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

rung_status rung_high_water_read(const rung_dir *dir, rung_high_water *mark_out,
                                 bool *is_slot_bad_out, rung_err *err) {
    uint8_t bytes[RUNG_HIGH_WATER_SIZE];
    size_t got;
    rung_status st =
        rung_file_read_small(dir, RUNG_HIGH_WATER_NAME, bytes, sizeof bytes, &got, err);
    if (st != RUNG_OK)
        return st;
    memset(bytes + got, 0, sizeof bytes - got);
    rung_high_water slots[2];
    rung_status found[2] = {rung_high_water_decode(bytes, &slots[0]),
                            rung_high_water_decode(bytes + RUNG_HIGH_WATER_SLOT_SIZE, &slots[1])};
    if (found[0] == RUNG_EVERSION || found[1] == RUNG_EVERSION)
        return RUNG_FAIL(err, RUNG_EVERSION, "%s was written by a newer version",
                         RUNG_HIGH_WATER_NAME);
    if (found[0] < 0 && found[1] < 0)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "file %s: neither of its two marks is whole",
                         RUNG_HIGH_WATER_NAME);
    int newer = found[0] < 0 || (found[1] == RUNG_OK && slots[1].generation > slots[0].generation);
    *mark_out = slots[newer];
    *is_slot_bad_out = found[!newer] < 0;
    return RUNG_OK;
}

/* ---- the list of segments ---- */

typedef struct listing {
    rung_log_image *image;
    rung_status status;
} listing;

rung_status rung_log_image_reserve(rung_log_image *im) {
    rung_segment_info *grown = rung_alloc_array(im->alloc, im->segments, &im->capacity,
                                                (uint32_t)im->count, sizeof *grown);
    im->segments = grown ? grown : im->segments;
    return grown ? RUNG_OK : RUNG_ENOMEM;
}

static void add_name(void *arg, const char *name) {
    listing *l = arg;
    rung_log_image *im = l->image;
    rung_segment_info info = {0};
    if (l->status < 0 || !rung_segment_name_parse(name, &info.first_seq, &info.epoch))
        return;
    l->status = rung_log_image_reserve(im);
    if (l->status == RUNG_OK)
        im->segments[im->count++] = info;
}

static int compare_segments(const void *a, const void *b) {
    const rung_segment_info *x = a, *y = b;
    if (x->first_seq != y->first_seq)
        return x->first_seq < y->first_seq ? -1 : 1;
    return (x->epoch > y->epoch) - (x->epoch < y->epoch);
}

rung_status rung_log_image_list(rung_log_image *image, const rung_alloc *alloc, const rung_dir *dir,
                                rung_err *err) {
    *image = (rung_log_image){.alloc = alloc};
    listing l = {image, RUNG_OK};
    rung_status st = rung_dir_list(dir, add_name, &l, err);
    if (st == RUNG_OK && l.status < 0)
        st = RUNG_FAIL(err, l.status, "no memory for the list of segments");
    if (st < 0) {
        rung_log_image_deinit(image);
        return st;
    }
    if (image->count)
        qsort(image->segments, image->count, sizeof *image->segments, compare_segments);
    return RUNG_OK;
}

void rung_log_image_deinit(rung_log_image *image) {
    if (image->segments)
        rung_alloc_free(image->alloc, image->segments, image->capacity * sizeof *image->segments);
    *image = (rung_log_image){0};
}

/* ---- one segment ---- */

void rung_segment_info_footer(const rung_segment_info *info, const uint8_t uuid[RUNG_UUID_SIZE],
                              uint8_t footer_out[RUNG_SEGMENT_FOOTER_SIZE]) {
    rung_segment_footer f = {
        .first_seq = info->first_seq,
        .last_seq = info->last_seq,
        .offset = info->end,
        .epoch = info->epoch,
        .chain = info->chain,
    };
    memcpy(f.uuid, uuid, sizeof f.uuid);
    memcpy(f.sha, info->sha, sizeof f.sha);
    rung_segment_footer_encode(&f, footer_out);
}

static void take_header(rung_segment_info *info, const rung_segment_header *h) {
    info->capacity = h->capacity;
    info->chain_before = info->chain = h->chain;
    info->last_seq = h->first_seq - 1;
    info->end = RUNG_SEGMENT_HEADER_SIZE;
    memcpy(info->previous_sha, h->previous_sha, sizeof info->previous_sha);
}

static void take_footer(rung_segment_info *info, const rung_segment_footer *f) {
    info->last_seq = f->last_seq;
    info->end = f->offset;
    info->chain = f->chain;
    info->is_sealed = true;
    memcpy(info->sha, f->sha, sizeof info->sha);
}

/* R3: does `info` continue the previous segment? */
static rung_status check_link(const rung_segment_scan *s, const rung_segment_info *before,
                              const rung_segment_info *info, rung_err *err) {
    if (!before)
        return RUNG_OK; /* older segments may have been removed; a reader that needs them will fail */
    if (info->first_seq != before->last_seq + 1)
        return rung_segment_scan_damage(
            s, "records are missing between this segment and the one before", err);
    if (info->chain_before != before->chain ||
        memcmp(info->previous_sha, before->sha, sizeof before->sha) != 0)
        return rung_segment_scan_damage(s, "the segment does not belong behind the one before it",
                                        err);
    return RUNG_OK;
}

static rung_status check_zeros(rung_segment_scan *s, uint64_t from, rung_err *err) {
    while (from < s->file_size) {
        size_t got;
        rung_status st = rung_segment_scan_read(s, s->buffer, s->buffer_size, from, &got, err);
        if (st < 0)
            return st;
        if (got == 0 || !rung_is_zero(s->buffer, got))
            return rung_segment_scan_damage(s, "bytes behind the footer are not zero", err);
        from += got;
    }
    return RUNG_OK;
}

/* A footer found by reading up to it: sealed, but a crash came before the file was truncated (R5). */
static rung_status accept_footer(rung_segment_scan *s, rung_segment_info *info,
                                 const rung_segment_footer *f, rung_err *err) {
    take_footer(info, f);
    if (s->file_size != s->header.capacity)
        return rung_segment_scan_damage(s, "the file has not the size its header says", err);
    return check_zeros(s, f->offset + RUNG_SEGMENT_FOOTER_SIZE, err);
}

/* A segment before the last without a footer at its end: read it up to where the next one begins (R4). */
static rung_status read_inner(rung_segment_scan *s, rung_segment_info *info,
                              const rung_segment_info *next, bool may_be_open, rung_err *err) {
    rung_status st = rung_segment_scan_seek(s, next->first_seq, err);
    if (st == RUNG_NOT_FOUND || (st == RUNG_OK && s->state.next_seq != next->first_seq))
        return rung_segment_scan_damage(s, "the segment does not end where the next one begins",
                                        err);
    if (st < 0)
        return st;
    info->last_seq = next->first_seq - 1;
    info->end = s->offset;
    info->chain = s->state.chain;
    if (info->last_seq < info->first_seq)
        memcpy(info->sha, info->previous_sha, sizeof info->sha);
    else
        rung_sha256_finish(&s->sha, info->sha);

    rung_segment_footer f;
    if (rung_segment_scan_footer(s, &f, may_be_open ? NULL : err) == RUNG_OK)
        return accept_footer(s, info, &f, err);
    return may_be_open ? RUNG_OK : rung_segment_scan_damage(s, "the segment is not sealed", err);
}

/* Up to the mark every record must be intact, and the mark must match the log (R6, R7). */
static rung_status read_to_mark(rung_log_image *im, rung_segment_scan *s, rung_err *err) {
    const rung_high_water *m = &im->mark;
    rung_log_record r;
    while (s->offset < m->offset) {
        rung_status st = rung_segment_scan_next(s, true, &r, err);
        if (st == RUNG_NOT_FOUND)
            return rung_segment_scan_damage(s, rung_frame_verdict_text(s->verdict), err);
        if (st < 0)
            return st;
    }
    if (m->offset != s->offset || m->seq + 1 != s->state.next_seq || m->chain != s->state.chain)
        return rung_segment_scan_damage(
            s, "the high-water mark does not agree with the record here", err);
    return RUNG_OK;
}

/* The last segment, with no footer at its end. */
static rung_status read_open(rung_log_image *im, rung_segment_scan *s, rung_segment_info *info,
                             bool is_marked, rung_err *err) {
    if (s->file_size != s->header.capacity)
        return rung_segment_scan_damage(s, "the file has not the size its header says", err);
    rung_status st = is_marked ? read_to_mark(im, s, err) : RUNG_OK;
    if (st < 0)
        return st;
    im->sure = (rung_log_place){s->state.next_seq - 1, s->offset, s->state.chain};
    rung_sha256_finish(&s->sha, im->sure_sha);
    s->has_sha = false; /* what follows goes to a new segment */

    rung_log_record r;
    do
        st = rung_segment_scan_next(s, true, &r, err);
    while (st == RUNG_OK);
    if (st < 0 && st != RUNG_ECORRUPT)
        return st;
    info->last_seq = s->state.next_seq - 1;
    info->end = s->offset;
    info->chain = s->state.chain;

    rung_segment_footer f;
    if (rung_segment_scan_footer(s, &f, NULL) == RUNG_OK)
        return accept_footer(s, info, &f, err);
    const char *why;
    st = rung_segment_scan_judge(s, &im->tail, &im->torn_end, &why, err);
    if (st == RUNG_OK && im->tail == RUNG_TAIL_DAMAGED)
        st = rung_segment_scan_damage(s, why, err);
    return st;
}

static bool is_marked(const rung_log_image *im, const rung_segment_info *info) {
    return im->mark.segment_first_seq == info->first_seq && im->mark.segment_epoch == info->epoch;
}

static rung_status read_segment(rung_log_image *im, rung_segment_scan *s, size_t i, rung_err *err) {
    rung_segment_info *info = &im->segments[i];
    if (memcmp(s->header.uuid, im->uuid, sizeof im->uuid) != 0)
        return rung_segment_scan_damage(s, "the segment belongs to another log", err);
    take_header(info, &s->header);
    info->is_packed = s->packed != NULL;
    rung_segment_footer f;
    rung_status st = rung_file_size(&s->file, &info->file_bytes, err);
    if (st == RUNG_OK)
        st = rung_segment_scan_last_footer(s, &f, err);
    if (st == RUNG_OK)
        take_footer(info, &f);
    else if (st == RUNG_NOT_FOUND && i + 1 == im->count)
        st = read_open(im, s, info, is_marked(im, info), err);
    else if (st == RUNG_NOT_FOUND)
        st = read_inner(s, info, info + 1, i + 2 == im->count && info[1].epoch > info->epoch, err);
    if (st < 0)
        return st;
    s->offset = 0; /* the header links to the previous segment */
    s->state.next_seq = info->first_seq;
    return check_link(s, i ? info - 1 : NULL, info, err);
}

/* R2 and R7, once the segments are known. */
static rung_status check_mark(const rung_log_image *im, rung_err *err) {
    const rung_high_water *m = &im->mark;
    if (m->segment_first_seq == 0)
        return RUNG_OK;
    const rung_segment_info *info = NULL;
    for (size_t i = 0; i < im->count; i++)
        if (is_marked(im, &im->segments[i]))
            info = &im->segments[i];
    char name[RUNG_FILE_NAME_MAX];
    rung_segment_name(name, m->segment_first_seq, m->segment_epoch);
    if (!info)
        return RUNG_FAIL(err, RUNG_ECORRUPT,
                         "segment %s, offset %llu, sequence %llu: the file is missing", name,
                         (unsigned long long)m->offset, (unsigned long long)m->seq);
    if (m->seq > info->last_seq || m->offset > info->end ||
        (m->seq == info->last_seq && m->chain != info->chain))
        return RUNG_FAIL(
            err, RUNG_ECORRUPT,
            "segment %s, offset %llu, sequence %llu: the records end before the high-water mark "
            "(sequence %llu)",
            name, (unsigned long long)info->end, (unsigned long long)info->last_seq + 1,
            (unsigned long long)m->seq);
    return RUNG_OK;
}

static rung_status read_mark(rung_log_image *im, const rung_dir *dir, rung_err *err) {
    rung_status st = rung_high_water_read(dir, &im->mark, &im->is_mark_slot_bad, err);
    if (st == RUNG_NOT_FOUND && im->count)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "file %s is missing, but there are segments",
                         RUNG_HIGH_WATER_NAME);
    if (st == RUNG_OK) {
        im->has_mark = true;
        memcpy(im->uuid, im->mark.uuid, sizeof im->uuid);
    }
    return st;
}

rung_status rung_log_image_read(rung_log_image *image, const rung_alloc *alloc, const rung_dir *dir,
                                rung_err *err) {
    rung_status st = rung_log_image_list(image, alloc, dir, err);
    if (st < 0)
        return st;
    st = read_mark(image, dir, err);
    for (size_t i = 0; st == RUNG_OK && i < image->count; i++) {
        rung_segment_scan scan;
        char name[RUNG_FILE_NAME_MAX];
        const rung_segment_info *info = &image->segments[i];
        image->epoch_max = info->epoch > image->epoch_max ? info->epoch : image->epoch_max;
        rung_segment_name(name, info->first_seq, info->epoch);
        st = rung_segment_scan_open(&scan, alloc, dir, name, true, err);
        if (st == RUNG_OK) {
            st = read_segment(image, &scan, i, err);
            rung_segment_scan_close(&scan);
        }
    }
    if (st == RUNG_OK)
        st = check_mark(image, err);
    if (st < 0)
        rung_log_image_deinit(image);
    return st < 0 ? st : RUNG_OK;
}

rung_status rung_log_image_read_live(rung_log_image *image, const rung_alloc *alloc,
                                     const rung_dir *dir, rung_err *err) {
    rung_status st;
    int tries = 4;
    do
        st = rung_log_image_read(image, alloc, dir, err);
    while (st == RUNG_ECORRUPT && --tries > 0);
    return st;
}
