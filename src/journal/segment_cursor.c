/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of the segment log. It keeps one segment open and asks the log once per read where its next record is. The
 * answer includes the durable end of the segment, so a reader beside the writer never reads further. When a start of
 * the log moves records to a new segment, the answer names that one and the reader switches. */
#include "base/assert.h"
#include "journal/segment_log.h"
#include "journal/segment_scan.h"

typedef struct segment_cursor {
    rung_log_cursor port;
    rung_segment_log *log;
    rung_segment_scan scan;
    bool is_open;
    uint64_t next_seq;
} segment_cursor;

rung_status rung__segment_cursor_open(rung_log *log, uint64_t from_seq,
                                      rung_log_cursor **cursor_out, rung_err *err) {
    rung_segment_log *owner = (rung_segment_log *)log;
    if (from_seq == 0)
        return RUNG_FAIL(err, RUNG_EINVAL, "sequences begin at 1");
    rung_segment_info info;
    rung_status st = rung__segment_log_locate(owner, from_seq, &info, err);
    if (st < 0)
        return st;
    segment_cursor *c = rung_alloc_zeroed(rung__segment_log_alloc(owner), sizeof *c);
    if (!c)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for a cursor");
    c->port.ops = log->ops;
    c->log = owner;
    c->next_seq = from_seq;
    *cursor_out = &c->port;
    return RUNG_OK;
}

void rung__segment_cursor_close(rung_log_cursor *cursor) {
    segment_cursor *c = (segment_cursor *)cursor;
    if (c->is_open)
        rung_segment_scan_close(&c->scan);
    rung_alloc_free(rung__segment_log_alloc(c->log), c, sizeof *c);
}

/* Have the segment of `info` open, at next_seq. */
static rung_status go_to(segment_cursor *c, const rung_segment_info *info, rung_err *err) {
    rung_segment_scan *s = &c->scan;
    if (c->is_open && s->header.first_seq == info->first_seq && s->header.epoch == info->epoch) {
        s->limit = info->end;
        return RUNG_OK;
    }
    if (c->is_open)
        rung_segment_scan_close(s);
    char name[RUNG_FILE_NAME_MAX];
    rung_segment_name(name, info->first_seq, info->epoch);
    rung_status st = rung_segment_scan_open(s, rung__segment_log_alloc(c->log),
                                            rung_segment_log_dir(c->log), name, false, err);
    c->is_open = st == RUNG_OK;
    if (st == RUNG_NOT_FOUND)
        return RUNG_FAIL(err, RUNG_ECORRUPT,
                         "segment %s, offset 0, sequence %llu: the file is missing", name,
                         (unsigned long long)c->next_seq);
    if (st < 0)
        return st;
    s->limit = info->end;
    st = rung_segment_scan_seek(s, c->next_seq, err);
    return st == RUNG_NOT_FOUND
               ? rung_segment_scan_damage(s, rung_frame_verdict_text(s->verdict), err)
               : st;
}

rung_status rung__segment_cursor_read(rung_log_cursor *cursor, rung_log_record *records, size_t max,
                                      size_t *count_out, rung_err *err) {
    segment_cursor *c = (segment_cursor *)cursor;
    rung_segment_info info;
    RUNG_ASSERT(max > 0);
    rung_status st = rung__segment_log_locate(c->log, c->next_seq, &info, err);
    if (st != RUNG_OK)
        return st;
    st = go_to(c, &info, err);
    size_t count = 0;
    while (st == RUNG_OK && count < max && c->next_seq <= info.last_seq) {
        st = rung_segment_scan_next(&c->scan, count == 0, &records[count], err);
        if (st == RUNG_OK) {
            count++;
            c->next_seq++;
        }
    }
    if (st == RUNG_NOT_FOUND)
        st = rung_segment_scan_damage(&c->scan, rung_frame_verdict_text(c->scan.verdict), err);
    if (st < 0 && count == 0)
        return st;
    *count_out = count; /* the next read meets a failure after good records again */
    return RUNG_OK;
}
