/* SPDX-License-Identifier: Apache-2.0 */
/* The rules, in the order in which they are applied:
 *
 *   R1  A log has a high-water file with at least one whole slot (it is made before the first segment).
 *   R2  The mark's segment exists (it is named only after the segment's name was synced).
 *   R3  Each segment goes on where the one before ends: sequence, chain and SHA-256. A hole is damage.
 *   R4  Every segment but the last is sealed. One exception: the one before the last, when the last was made by a
 *       later start (a higher epoch). A crash came between making the new segment and sealing the old; the new
 *       header says where the old one is cut, and up to there it must be whole.
 *   R5  An open last segment has the size its header says, a sealed one ends with its footer or is followed by
 *       zeros to that size. (Sizes are synced before names.)
 *   R6  In an open last segment, a bad record below the mark is damage; above it the tail rules decide
 *       (segment_scan.c).
 *   R7  At the mark, sequence and chain are those of the log; the log does not end before the mark.
 *
 * Records of sealed segments are not read here: whoever replays them checks them. */
#include "journal/recovery.h"

#include "base/assert.h"
#include "journal/bytes.h"

#include <stdlib.h>
#include <string.h>

rung_status rung_high_water_read(const rung_dir *dir, rung_high_water *mark_out, bool *is_slot_bad_out,
                                 rung_err *err) {
    uint8_t bytes[RUNG_HIGH_WATER_SIZE];
    rung_file f;
    size_t got;
    rung_status st = rung_file_open(&f, dir, RUNG_HIGH_WATER_NAME, RUNG_FILE_READ, err);
    if (st != RUNG_OK)
        return st;
    st = rung_file_read(&f, bytes, sizeof bytes, 0, &got, err);
    rung_file_close(&f);
    if (st < 0)
        return st;
    memset(bytes + got, 0, sizeof bytes - got);
    rung_high_water slots[2];
    rung_status found[2] = {rung_high_water_decode(bytes, &slots[0]),
                            rung_high_water_decode(bytes + RUNG_HIGH_WATER_SLOT_SIZE, &slots[1])};
    if (found[0] == RUNG_EVERSION || found[1] == RUNG_EVERSION)
        return RUNG_FAIL(err, RUNG_EVERSION, "%s was written by a newer version", RUNG_HIGH_WATER_NAME);
    if (found[0] < 0 && found[1] < 0)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "file %s: neither of its two marks is whole", RUNG_HIGH_WATER_NAME);
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

static void add_name(void *arg, const char *name) {
    listing *l = arg;
    rung_log_image *im = l->image;
    rung_segment_info info = {0};
    if (l->status < 0 || !rung_segment_name_parse(name, &info.first_seq, &info.epoch))
        return;
    if (im->count == im->capacity) {
        size_t more = im->capacity ? im->capacity * 2 : 16;
        void *grown = rung_alloc_resize(im->alloc, im->segments, im->capacity * sizeof info, more * sizeof info);
        if (!grown) {
            l->status = RUNG_ENOMEM;
            return;
        }
        im->segments = grown;
        im->capacity = more;
    }
    im->segments[im->count++] = info;
}

static int compare_segments(const void *a, const void *b) {
    const rung_segment_info *x = a, *y = b;
    if (x->first_seq != y->first_seq)
        return x->first_seq < y->first_seq ? -1 : 1;
    return (x->epoch > y->epoch) - (x->epoch < y->epoch);
}

rung_status rung_log_image_list(rung_log_image *image, const rung_alloc *alloc, const rung_dir *dir, rung_err *err) {
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

/* R3: does `info` go on from the segment before it? */
static rung_status check_link(const rung_segment_scan *s, const rung_segment_info *before,
                              const rung_segment_info *info, rung_err *err) {
    if (!before)
        return RUNG_OK; /* older segments may have been removed; whoever needs them will say so */
    if (info->first_seq != before->last_seq + 1)
        return rung_segment_scan_damage(s, "records are missing between this segment and the one before", err);
    if (info->chain_before != before->chain ||
        memcmp(info->previous_sha, before->sha, sizeof before->sha) != 0)
        return rung_segment_scan_damage(s, "the segment does not belong behind the one before it", err);
    return RUNG_OK;
}

/* R4, exception: read an unsealed segment up to the cut that its successor made. */
static rung_status read_cut(rung_segment_scan *s, rung_segment_info *info, uint64_t cut_seq, rung_err *err) {
    rung_status st = rung_segment_scan_seek(s, cut_seq + 1, err);
    if (st == RUNG_NOT_FOUND)
        return rung_segment_scan_damage(s, "the segment ends before the next one begins", err);
    if (st < 0)
        return st;
    info->last_seq = cut_seq;
    info->end = s->offset;
    info->chain = s->state.chain;
    rung_sha256_finish(&s->sha, info->sha);
    return RUNG_OK;
}

/* R6 and R7 for the record place just reached. */
static rung_status pass_mark(rung_log_image *im, rung_segment_scan *s, rung_err *err) {
    const rung_high_water *m = &im->mark;
    if (m->seq + 1 != s->state.next_seq || m->chain != s->state.chain)
        return rung_segment_scan_damage(s, "the high-water mark does not agree with the record here", err);
    im->sure = (rung_log_place){m->seq, s->offset, s->state.chain};
    rung_sha256_finish(&s->sha, im->sure_sha);
    s->has_sha = false; /* what follows goes to a new segment */
    return RUNG_OK;
}

/* The end of an open segment has been reached: is all of it explained? */
static rung_status judge_end(rung_log_image *im, rung_segment_scan *s, bool has_mark, rung_err *err) {
    const char *why;
    if (has_mark && s->offset < im->mark.offset)
        return rung_segment_scan_damage(s, rung_frame_verdict_text(s->verdict), err);
    rung_status st = rung_segment_scan_judge(s, &im->tail, &im->torn_end, &why, err);
    if (st == RUNG_OK && im->tail == RUNG_TAIL_DAMAGED)
        st = rung_segment_scan_damage(s, why, err);
    return st;
}

static rung_status check_zeros(rung_segment_scan *s, uint64_t from, rung_err *err) {
    while (from < s->file_size) {
        size_t got;
        rung_status st = rung_file_read(&s->file, s->buffer, s->buffer_size, from, &got, err);
        if (st < 0)
            return st;
        if (got == 0 || !rung_is_zero(s->buffer, got))
            return rung_segment_scan_damage(s, "bytes behind the footer are not zero", err);
        from += got;
    }
    return RUNG_OK;
}

/* Read the last segment, which has no footer at its end. It may have one further in front: a crash came between
 * sealing and shortening. */
static rung_status read_open(rung_log_image *im, rung_segment_scan *s, rung_segment_info *info, bool has_mark,
                             rung_err *err) {
    if (s->file_size != s->header.capacity)
        return rung_segment_scan_damage(s, "the file has not the size its header says", err);
    im->sure = (rung_log_place){info->last_seq, s->offset, s->state.chain};
    rung_status st = RUNG_OK;
    rung_log_record r;
    rung_err detail;
    bool is_past_mark = !has_mark;
    while (st == RUNG_OK) {
        if (!is_past_mark && s->offset == im->mark.offset) {
            st = pass_mark(im, s, err);
            is_past_mark = true;
        }
        if (st == RUNG_OK)
            st = rung_segment_scan_next(s, true, &r, &detail);
    }
    if (st < 0 && st != RUNG_ECORRUPT) {
        if (err)
            *err = detail;
        return st;
    }
    if (st == RUNG_ECORRUPT && is_past_mark != !has_mark && s->verdict == RUNG_FRAME_OK)
        return st; /* pass_mark refused; it filled err */
    info->last_seq = s->state.next_seq - 1;
    info->end = s->offset;
    info->chain = s->state.chain;

    rung_segment_footer f;
    if (s->verdict == RUNG_FRAME_FOOTER && rung_segment_scan_footer(s, &f, NULL) == RUNG_OK) {
        take_footer(info, &f);
        return check_zeros(s, f.offset + RUNG_SEGMENT_FOOTER_SIZE, err);
    }
    return judge_end(im, s, has_mark, err);
}
