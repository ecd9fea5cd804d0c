/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/segment_copy.h"

#include "journal/segment_log.h"
#include "journal/segment_scan.h"

#include <string.h>

/* Copy the plain bytes up to the scan's offset; its buffer is not needed for reading any more. */
static rung_status copy_plain(const rung_segment_scan *scan, const rung_file *to, rung_err *err) {
    rung_status st = RUNG_OK;
    for (uint64_t at = 0; st == RUNG_OK && at < scan->offset;) {
        uint64_t left = scan->offset - at;
        size_t got = 0;
        st = rung_segment_scan_read(scan, scan->buffer,
                                    left < scan->buffer_size ? (size_t)left : scan->buffer_size, at,
                                    &got, err);
        if (st == RUNG_OK && got == 0)
            return rung_segment_scan_damage(scan, "the file became shorter", err);
        if (st == RUNG_OK)
            st = rung_file_write(to, scan->buffer, got, at, err);
        at += got;
    }
    return st;
}

static rung_status write_copy(const rung_segment_scan *scan, const rung_dir *to,
                              const char *to_name, const uint8_t footer[RUNG_SEGMENT_FOOTER_SIZE],
                              rung_err *err) {
    rung_file target;
    rung_status st = rung_file_open_empty(&target, to, to_name, err);
    if (st == RUNG_OK)
        st = copy_plain(scan, &target, err);
    if (st == RUNG_OK)
        st = rung_file_write(&target, footer, RUNG_SEGMENT_FOOTER_SIZE, scan->offset, err);
    if (st == RUNG_OK)
        st = rung_file_sync(&target, err);
    rung_file_close(&target);
    return st;
}

rung_status rung_segment_copy(const rung_alloc *alloc, const rung_dir *from, const char *from_name,
                              const rung_dir *to, const char *to_name, uint64_t last_seq,
                              rung_segment_info *info_out, rung_err *err) {
    rung_segment_scan scan;
    rung_status st = rung_segment_scan_open(&scan, alloc, from, from_name, true, err);
    if (st != RUNG_OK)
        return st == RUNG_NOT_FOUND
                   ? RUNG_FAIL(err, RUNG_ECORRUPT, "segment %s is missing", from_name)
                   : st;
    st = rung_segment_scan_seek(&scan, last_seq + 1, err);
    if (st == RUNG_NOT_FOUND)
        st = rung_segment_scan_damage(&scan, rung_frame_verdict_text(scan.verdict), err);
    if (st == RUNG_OK) {
        rung_segment_info info = {
            .first_seq = scan.header.first_seq,
            .last_seq = last_seq,
            .end = scan.offset,
            .capacity = scan.header.capacity,
            .epoch = scan.header.epoch,
            .chain_before = scan.header.chain,
            .chain = scan.state.chain,
            .is_sealed = true,
        };
        memcpy(info.previous_sha, scan.header.previous_sha, sizeof info.previous_sha);
        rung_sha256_finish(&scan.sha, info.sha);
        uint8_t footer[RUNG_SEGMENT_FOOTER_SIZE];
        rung_segment_info_footer(&info, scan.header.uuid, footer);
        st = write_copy(&scan, to, to_name, footer, err);
        *info_out = info;
    }
    rung_segment_scan_close(&scan);
    return st;
}

rung_status rung_file_copy(const rung_dir *from, const char *from_name, const rung_dir *to,
                           const char *to_name, rung_err *err) {
    rung_file source, target = {0};
    uint64_t size;
    rung_status st = rung_file_open(&source, from, from_name, RUNG_FILE_READ, err);
    if (st == RUNG_OK)
        st = rung_file_open_empty(&target, to, to_name, err);
    if (st == RUNG_OK)
        st = rung_file_size(&source, &size, err);
    if (st == RUNG_OK)
        st = rung_file_copy_range(&source, 0, size, &target, 0, err);
    if (st == RUNG_OK)
        st = rung_file_sync(&target, err);
    rung_file_close(&target);
    rung_file_close(&source);
    return st;
}

rung_status rung__segment_begin_after(const rung_dir *dir, const uint8_t uuid[RUNG_UUID_SIZE],
                                      uint64_t seq, uint32_t epoch, rung_segment_info *info_out,
                                      rung_err *err) {
    rung_segment_header h = {
        .first_seq = seq + 1, .capacity = RUNG_SEGMENT_SIZE_MIN, .epoch = epoch};
    memcpy(h.uuid, uuid, sizeof h.uuid);
    uint8_t bytes[RUNG_SEGMENT_SIZE_MIN] = {0};
    char name[RUNG_FILE_NAME_MAX];
    rung_segment_header_encode(&h, bytes);
    rung_segment_name(name, h.first_seq, h.epoch);
    *info_out = (rung_segment_info){.first_seq = h.first_seq,
                                    .last_seq = seq,
                                    .end = RUNG_SEGMENT_HEADER_SIZE,
                                    .epoch = h.epoch};
    return rung_file_replace(dir, name, bytes, sizeof bytes, err);
}

rung_status rung_log_begin_after(const rung_dir *dir, uint64_t seq, rung_err *err) {
    uint8_t uuid[RUNG_UUID_SIZE];
    rung_segment_info info;
    if (dir->fs->random(dir->fs->ctx, uuid, sizeof uuid) < 0)
        return RUNG_FAIL(err, RUNG_EIO, "the system gives no random numbers");
    rung_status st = rung__segment_begin_after(dir, uuid, seq, 1, &info, err);
    return st < 0 ? st : rung__high_water_create(dir, uuid, &info, err);
}
