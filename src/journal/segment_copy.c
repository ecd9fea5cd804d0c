/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/segment_copy.h"

#include "journal/segment_scan.h"

#include <string.h>

#define COPY_SIZE ((size_t)1 << 18)

/* Bytes [0, end) of one open file into another. */
static rung_status copy_bytes(const rung_alloc *alloc, const rung_file *from, const rung_file *to,
                              uint64_t end, rung_err *err) {
    size_t size = end < COPY_SIZE ? (size_t)end + 1 : COPY_SIZE;
    uint8_t *buffer = rung_alloc_get(alloc, size);
    if (!buffer)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory to copy %s", from->name);
    rung_status st = RUNG_OK;
    for (uint64_t at = 0; st == RUNG_OK && at < end;) {
        size_t want = end - at < size ? (size_t)(end - at) : size, got = 0;
        st = rung_file_read(from, buffer, want, at, &got, err);
        if (st == RUNG_OK && got == 0)
            st = RUNG_FAIL(err, RUNG_EIO, "%s became shorter while it was copied", from->name);
        if (st == RUNG_OK)
            st = rung_file_write(to, buffer, got, at, err);
        at += got;
    }
    rung_alloc_free(alloc, buffer, size);
    return st;
}

static rung_status write_copy(const rung_alloc *alloc, const rung_segment_scan *scan,
                              const rung_dir *to, const char *to_name,
                              const uint8_t footer[RUNG_SEGMENT_FOOTER_SIZE], rung_err *err) {
    rung_file target;
    rung_status st = rung_file_open(&target, to, to_name, RUNG_FILE_CREATE, err);
    if (st < 0)
        return st;
    st = rung_file_truncate(&target, 0, err);
    if (st == RUNG_OK)
        st = copy_bytes(alloc, &scan->file, &target, scan->offset, err);
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
        rung_segment_footer f = {
            .first_seq = info.first_seq,
            .last_seq = last_seq,
            .offset = info.end,
            .epoch = info.epoch,
            .chain = info.chain,
        };
        memcpy(f.uuid, scan.header.uuid, sizeof f.uuid);
        memcpy(f.sha, info.sha, sizeof f.sha);
        uint8_t footer[RUNG_SEGMENT_FOOTER_SIZE];
        rung_segment_footer_encode(&f, footer);
        st = write_copy(alloc, &scan, to, to_name, footer, err);
        *info_out = info;
    }
    rung_segment_scan_close(&scan);
    return st;
}

rung_status rung_file_copy(const rung_alloc *alloc, const rung_dir *from, const char *from_name,
                           const rung_dir *to, const char *to_name, rung_err *err) {
    rung_file source, target;
    uint64_t size;
    rung_status st = rung_file_open(&source, from, from_name, RUNG_FILE_READ, err);
    if (st != RUNG_OK)
        return st;
    st = rung_file_open(&target, to, to_name, RUNG_FILE_CREATE, err);
    if (st == RUNG_OK) {
        st = rung_file_truncate(&target, 0, err);
        if (st == RUNG_OK)
            st = rung_file_size(&source, &size, err);
        if (st == RUNG_OK)
            st = copy_bytes(alloc, &source, &target, size, err);
        if (st == RUNG_OK)
            st = rung_file_sync(&target, err);
        rung_file_close(&target);
    }
    rung_file_close(&source);
    return st;
}
