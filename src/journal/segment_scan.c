/* SPDX-License-Identifier: Apache-2.0 */
/* How to distinguish a torn tail from damage.
 *
 * A segment file is zero before its first record is written, and batch N+1 is written only after the sync of batch N
 * returned. So after a crash all batches except the last are complete, and any of the last batch's sectors may be
 * missing, that is, zero (in the sector it shares with the previous batch: zero from the start of the batch on). The
 * first bad record X is a tear only if all of the following hold. Otherwise something other than a crash happened,
 * and nothing may be cut:
 *
 *   T1 no valid record header of a later batch follows X (it would prove that X's batch was synced);
 *   T2 no valid header after X is out of place (an earlier batch, a sequence at or before X): files are never reused;
 *   T3 no valid footer follows X (a footer follows only synced records);
 *   T4 X itself is neither a valid header for another position nor longer than the segment;
 *   T5 one of X's own sectors is missing: from X, or from the sector's start, to its end there are only zeros.
 *
 * For etcd, T5 alone makes a tear; here it is one of five conditions. The caller checks a sixth: X is not below the
 * high-water mark. */
#include "journal/segment_scan.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <string.h>

/* Room for the longest record after a block of the preferred read size. */
#define READ_SIZE       ((size_t)1 << 20)
#define BUFFER_SIZE_MAX (READ_SIZE + RUNG_LOG_RECORD_MAX + RUNG_SEGMENT_HEADER_SIZE)

rung_status rung_segment_scan_damage(const rung_segment_scan *s, const char *what, rung_err *err) {
    return RUNG_FAIL(err, RUNG_ECORRUPT, "segment %s, offset %llu, sequence %llu: %s", s->file.name,
                     (unsigned long long)s->offset, (unsigned long long)s->state.next_seq, what);
}

rung_status rung_segment_scan_read(const rung_segment_scan *s, void *buffer, size_t len,
                                   uint64_t offset, size_t *got_out, rung_err *err) {
    return s->packed ? rung_segment_packed_read(s->packed, buffer, len, offset, got_out, err)
                     : rung_file_read(&s->file, buffer, len, offset, got_out, err);
}

static rung_status read_header(rung_segment_scan *s, rung_err *err) {
    uint64_t first_seq;
    uint32_t epoch;
    bool is_named = rung_segment_name_parse(s->file.name, &first_seq, &epoch);
    s->offset = 0;
    s->state.next_seq = is_named ? first_seq : 0;
    if (s->buffer_len < RUNG_SEGMENT_HEADER_SIZE)
        return rung_segment_scan_damage(s, "the file ends inside the segment header", err);
    rung_status st = rung_segment_header_decode(s->buffer, &s->header);
    if (st == RUNG_EVERSION)
        return RUNG_FAIL(err, st, "segment %s was written by a newer version", s->file.name);
    if (st < 0)
        return rung_segment_scan_damage(s, "the segment header does not match its checksum", err);
    if (is_named && (s->header.first_seq != first_seq || s->header.epoch != epoch))
        return rung_segment_scan_damage(s, "the segment header belongs to another file name", err);
    return RUNG_OK;
}

static rung_status fill(rung_segment_scan *s, rung_err *err) {
    size_t skip = (size_t)(s->offset - s->buffer_at);
    RUNG_ASSERT(skip <= s->buffer_len);
    memmove(s->buffer, s->buffer + skip, s->buffer_len - skip);
    s->buffer_at = s->offset;
    s->buffer_len -= skip;
    uint64_t from = s->buffer_at + s->buffer_len;
    uint64_t left = s->limit > from ? s->limit - from : 0;
    size_t room = s->buffer_size - s->buffer_len, got = 0;
    rung_status st = rung_segment_scan_read(s, s->buffer + s->buffer_len,
                                            left < room ? (size_t)left : room, from, &got, err);
    s->buffer_len += got;
    return st;
}

rung_status rung_segment_scan_open(rung_segment_scan *s, const rung_alloc *alloc,
                                   const rung_dir *dir, const char *name, bool with_sha,
                                   rung_err *err) {
    *s = (rung_segment_scan){.alloc = alloc, .has_sha = with_sha};
    rung_status st = rung_file_open(&s->file, dir, name, RUNG_FILE_READ, err);
    if (st != RUNG_OK)
        return st;
    st = rung_segment_packed_open(&s->packed, alloc, &s->file, err);
    if (st == RUNG_OK)
        s->file_size = rung_segment_packed_plain_size(s->packed);
    else if (st == RUNG_NOT_FOUND)
        st = rung_file_size(&s->file, &s->file_size, err);
    if (st < 0)
        goto fail;
    size_t size = s->file_size < BUFFER_SIZE_MAX ? (size_t)s->file_size : BUFFER_SIZE_MAX;
    s->buffer_size = size < RUNG_SEGMENT_HEADER_SIZE ? RUNG_SEGMENT_HEADER_SIZE : size;
    s->buffer = rung_alloc_get(alloc, s->buffer_size);
    if (!s->buffer) {
        st = RUNG_FAIL(err, RUNG_ENOMEM, "no memory to read segment %s", name);
        goto fail;
    }
    /* Small at first, so that reading a header does not read a megabyte. */
    s->limit = RUNG_SEGMENT_HEADER_SIZE;
    st = fill(s, err);
    if (st == RUNG_OK)
        st = read_header(s, err);
    if (st == RUNG_OK && with_sha)
        st = rung_sha256_start(&s->sha);
    if (st < 0)
        goto fail;
    if (with_sha)
        rung_sha256_add(&s->sha, s->buffer, RUNG_SEGMENT_HEADER_SIZE);
    s->offset = RUNG_SEGMENT_HEADER_SIZE;
    s->limit = s->header.capacity - RUNG_SEGMENT_FOOTER_SIZE;
    s->state = (rung_frame_state){
        .salt = rung_segment_salt(s->header.uuid),
        .epoch = s->header.epoch,
        .next_seq = s->header.first_seq,
        .chain = s->header.chain,
    };
    return RUNG_OK;
fail:
    rung_segment_scan_close(s);
    return st;
}

void rung_segment_scan_close(rung_segment_scan *s) {
    rung_sha256_deinit(&s->sha);
    rung_segment_packed_close(s->packed);
    rung_file_close(&s->file);
    if (s->buffer)
        rung_alloc_free(s->alloc, s->buffer, s->buffer_size);
    s->buffer = NULL;
    s->packed = NULL;
}

static void accept(rung_segment_scan *s, const uint8_t *in, const rung_record_header *r,
                   rung_log_record *out) {
    *out =
        (rung_log_record){r->seq, rung_slice_of(in + RUNG_RECORD_HEADER_SIZE, r->length), r->type};
    if (s->has_sha)
        rung_sha256_add(&s->sha, in, rung_log_framed_size(r->length));
    s->offset = rung_record_end(s->offset, r->length);
}

/* Drop the buffer from the offset on and read it again: beside a writer, a block is stale as soon as it is read. */
static rung_status renew(rung_segment_scan *s, rung_err *err) {
    s->buffer_at = s->offset;
    s->buffer_len = 0;
    return fill(s, err);
}

rung_status rung_segment_scan_next(rung_segment_scan *s, bool may_refill,
                                   rung_log_record *record_out, rung_err *err) {
    bool is_filled = false, is_renewed = false;
    for (;;) {
        const uint8_t *in = s->buffer + (s->offset - s->buffer_at);
        size_t available = s->buffer_len - (size_t)(s->offset - s->buffer_at), need = 0;
        rung_record_header r;
        s->verdict = s->offset >= s->limit ? RUNG_FRAME_ZERO
                                           : rung_frame_next(&s->state, in, available,
                                                             s->limit - s->offset, &r, &need);
        bool is_doubtful = s->verdict != RUNG_FRAME_OK && s->verdict != RUNG_FRAME_FOOTER &&
                           (s->verdict != RUNG_FRAME_MORE || is_filled) && s->offset < s->limit;
        if (is_doubtful && may_refill && !is_renewed) {
            rung_status st = renew(s, err);
            if (st < 0)
                return st;
            is_renewed = is_filled = true;
            continue;
        }
        switch (s->verdict) {
        case RUNG_FRAME_OK:
            accept(s, in, &r, record_out);
            return RUNG_OK;
        case RUNG_FRAME_ZERO:
        case RUNG_FRAME_FOOTER:
            return RUNG_NOT_FOUND;
        case RUNG_FRAME_MORE:
            if (!may_refill)
                return RUNG_PARTIAL;
            if (!is_filled) {
                rung_status st = fill(s, err);
                if (st < 0)
                    return st;
                is_filled = true;
                continue;
            }
            break;
        case RUNG_FRAME_BAD_HEADER:
        case RUNG_FRAME_BAD_PAYLOAD:
        case RUNG_FRAME_BAD_ORDER:
            break;
        }
        return rung_segment_scan_damage(s, rung_frame_verdict_text(s->verdict), err);
    }
}

rung_status rung_segment_scan_seek(rung_segment_scan *s, uint64_t seq, rung_err *err) {
    rung_status st = RUNG_OK;
    rung_log_record ignored;
    while (st == RUNG_OK && s->state.next_seq < seq)
        st = rung_segment_scan_next(s, true, &ignored, err);
    return st;
}

static bool footer_fits(const rung_segment_scan *s, const rung_segment_footer *f) {
    return memcmp(f->uuid, s->header.uuid, RUNG_UUID_SIZE) == 0 && f->epoch == s->header.epoch &&
           f->first_seq == s->header.first_seq;
}

rung_status rung_segment_scan_footer(rung_segment_scan *s, rung_segment_footer *footer_out,
                                     rung_err *err) {
    uint8_t bytes[RUNG_SEGMENT_FOOTER_SIZE];
    size_t got;
    rung_status st = rung_segment_scan_read(s, bytes, sizeof bytes, s->offset, &got, err);
    if (st < 0)
        return st;
    if (rung_is_zero(bytes, got))
        return RUNG_NOT_FOUND;
    rung_segment_footer f;
    if (got < sizeof bytes || rung_segment_footer_decode(bytes, &f) < 0)
        return rung_segment_scan_damage(s, "the footer does not match its checksum", err);
    if (!footer_fits(s, &f) || f.offset != s->offset || f.last_seq + 1 != s->state.next_seq ||
        f.chain != s->state.chain)
        return rung_segment_scan_damage(s, "the footer does not agree with the records before it",
                                        err);
    *footer_out = f;
    return RUNG_OK;
}

rung_status rung_segment_scan_last_footer(rung_segment_scan *s, rung_segment_footer *footer_out,
                                          rung_err *err) {
    uint8_t bytes[RUNG_SEGMENT_FOOTER_SIZE];
    size_t got;
    if (s->file_size < RUNG_SEGMENT_HEADER_SIZE + sizeof bytes || s->file_size > s->header.capacity)
        return RUNG_NOT_FOUND;
    uint64_t at = s->file_size - sizeof bytes;
    rung_status st = rung_segment_scan_read(s, bytes, sizeof bytes, at, &got, err);
    if (st < 0)
        return st;
    rung_segment_footer f;
    if (got < sizeof bytes || rung_segment_footer_decode(bytes, &f) < 0 || !footer_fits(s, &f) ||
        f.offset != at)
        return RUNG_NOT_FOUND;
    *footer_out = f;
    return RUNG_OK;
}

/* ---- the tail ---- */

typedef struct tail_search {
    const rung_segment_scan *scan;
    uint32_t batch_max; /* the batch that X is of, at most */
    uint64_t data_end;
    const char *why; /* the first rule broken */
} tail_search;

/* The batch that the record at X belongs to: the current one, or the next one after an end. */
static uint32_t batch_at_x(const rung_frame_state *s) {
    return s->batch == 0 ? 1 : s->flags & RUNG_RECORD_END ? s->batch + 1 : s->batch;
}

static void look_at(tail_search *t, const uint8_t *p) {
    const rung_frame_state *s = &t->scan->state;
    rung_record_header r;
    if (rung_get32(p + 16) == s->epoch && rung_record_header_decode(p, s->salt, &r)) {
        if (r.batch > t->batch_max)
            t->why = "bad record, but a later batch is on the disk: this one had been synced";
        else if (r.batch < s->batch || r.seq <= s->next_seq)
            t->why = "bad record, and a record behind it is out of place";
    }
}

/* Search the bytes from `at` on for headers; those that begin in the last 24 bytes come again with the next block. */
static void search_block(tail_search *t, const uint8_t *bytes, size_t len, uint64_t at) {
    for (size_t i = 0; i < len; i += 8) {
        if (i % 4096 == 0 && rung_is_zero(bytes + i, len - i < 4096 ? len - i : 4096)) {
            i += 4088;
            continue;
        }
        size_t left = len - i;
        for (size_t k = left < 8 ? left : 8; k > 0; k--)
            if (bytes[i + k - 1]) {
                t->data_end = at + i + k > t->data_end ? at + i + k : t->data_end;
                break;
            }
        if (!t->why && left >= RUNG_RECORD_HEADER_SIZE && at + i > t->scan->offset)
            look_at(t, bytes + i);
        rung_segment_footer f;
        if (!t->why && left >= RUNG_SEGMENT_FOOTER_SIZE &&
            rung_get32(bytes + i) == 0x474e5552u /* "RUNG" */ &&
            rung_segment_footer_decode(bytes + i, &f) == RUNG_OK && footer_fits(t->scan, &f))
            t->why = "bad record, but the segment had been sealed behind it";
    }
}

static rung_status search_tail(tail_search *t, rung_segment_scan *s, rung_err *err) {
    uint64_t at = s->offset;
    size_t got;
    do {
        rung_status st =
            rung_segment_scan_read(s, s->buffer, s->buffer_size & ~(size_t)7, at, &got, err);
        if (st < 0)
            return st;
        search_block(t, s->buffer, got, at);
        at += got - RUNG_SEGMENT_FOOTER_SIZE; /* overlap: nothing hides across two blocks */
    } while (got == (s->buffer_size & ~(size_t)7) && got > RUNG_SEGMENT_FOOTER_SIZE);
    return RUNG_OK;
}

/* T5: is one of the bad record's sectors still as it was before the record was written? */
static rung_status find_lost_sector(rung_segment_scan *s, uint64_t extent, bool *found_out,
                                    rung_err *err) {
    uint64_t end = s->offset + extent;
    for (uint64_t from = s->offset; from < end;) {
        uint8_t sector[RUNG_SECTOR_SIZE];
        uint64_t next = (from / RUNG_SECTOR_SIZE + 1) * RUNG_SECTOR_SIZE;
        size_t got;
        rung_status st = rung_segment_scan_read(s, sector, (size_t)(next - from), from, &got, err);
        if (st < 0)
            return st;
        if (rung_is_zero(sector, got)) {
            *found_out = true;
            return RUNG_OK;
        }
        from = next;
    }
    *found_out = false;
    return RUNG_OK;
}

/* The end of the record at X, as far as it can be known. */
static rung_status extent_at_x(rung_segment_scan *s, uint64_t *extent_out, rung_err *err) {
    uint8_t bytes[RUNG_RECORD_HEADER_SIZE];
    size_t got;
    rung_status st = rung_segment_scan_read(s, bytes, sizeof bytes, s->offset, &got, err);
    if (st < 0)
        return st;
    rung_record_header r;
    *extent_out = RUNG_RECORD_HEADER_SIZE;
    bool has_only_room_for_footer = s->offset + RUNG_RECORD_HEADER_SIZE > s->limit;
    if (s->verdict == RUNG_FRAME_FOOTER || has_only_room_for_footer)
        *extent_out = RUNG_SEGMENT_FOOTER_SIZE;
    else if (s->verdict == RUNG_FRAME_BAD_PAYLOAD && got == sizeof bytes &&
             rung_record_header_decode(bytes, s->state.salt, &r))
        *extent_out = rung_log_framed_size(r.length);
    return RUNG_OK;
}

/* There is an intact record at the offset now: a writer has continued since the scan ended there. */
static rung_status has_grown(rung_segment_scan *s, bool *grown_out, rung_err *err) {
    rung_record_header r;
    rung_frame_state state = s->state; /* only a look: the scan stays where it is */
    size_t need;
    rung_status st = renew(s, err);
    *grown_out = st == RUNG_OK && s->offset < s->limit &&
                 rung_frame_next(&state, s->buffer, s->buffer_len, s->limit - s->offset, &r,
                                 &need) == RUNG_FRAME_OK;
    return st;
}

rung_status rung_segment_scan_judge(rung_segment_scan *s, rung_tail *tail_out,
                                    uint64_t *data_end_out, const char **why_out, rung_err *err) {
    tail_search t = {.scan = s, .batch_max = batch_at_x(&s->state), .data_end = s->offset};
    rung_status st = search_tail(&t, s, err);
    if (st < 0)
        return st;
    bool is_batch_whole = s->state.batch == 0 || s->state.flags & RUNG_RECORD_END;
    bool has_lost_sector = true;
    if (s->verdict == RUNG_FRAME_BAD_ORDER) {
        t.why = rung_frame_verdict_text(s->verdict);
    } else if (t.data_end > s->offset) {
        uint64_t extent;
        st = extent_at_x(s, &extent, err);
        if (st == RUNG_OK)
            st = find_lost_sector(s, extent, &has_lost_sector, err);
        if (st < 0)
            return st;
        if (!t.why && !has_lost_sector)
            t.why = rung_frame_verdict_text(s->verdict);
    }
    bool grown = false;
    if (t.why || t.data_end > s->offset)
        st = has_grown(s, &grown, err);
    if (st < 0)
        return st;
    if (grown) { /* what was scanned is intact; what follows is being written */
        t.why = NULL;
        t.data_end = s->offset;
        is_batch_whole = true;
    }
    *data_end_out = t.data_end;
    *why_out = t.why;
    *tail_out = t.why                                       ? RUNG_TAIL_DAMAGED
                : t.data_end > s->offset || !is_batch_whole ? RUNG_TAIL_TORN
                                                            : RUNG_TAIL_CLEAN;
    return RUNG_OK;
}
