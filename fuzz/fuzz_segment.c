/* SPDX-License-Identifier: Apache-2.0 */
/* A folder with a log whose bytes a stranger chose. First byte even: the rest is a segment file as it is. Odd: the rest
 * is a list of changes (offset 16 bits, value to xor) to a good log, and then whatever is read must be a prefix of
 * what was written. With 2 in the first byte that log's segment is packed. */
#include "journal/segment_pack.h"
#include "journal/verify.h"
#include "support/check.h"
#include "support/logkit.h"

#include <string.h>

#define SEGMENT "00000000000000000001-00000001.seg"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void pack(rung_memfs *fs) {
    rung_dir dir;
    rung_err err;
    uint64_t size;
    CHECK_OK(rung_dir_open(&dir, &fs->port, LOGKIT_PATH, false, &err));
    CHECK_OK(rung_segment_pack(&dir, rung_alloc_heap(), SEGMENT, false, &size, &err));
    rung_dir_close(&dir);
}

static void make_log(rung_memfs *fs, rung_segment_log_config *config, bool is_packed) {
    rung_segment_log *log;
    rung_err err;
    *config = logkit_config(fs, 8192);
    CHECK_OK(logkit_open(config, true, &log, &err));
    for (uint64_t seq = 1; seq <= 9; seq += 3)
        CHECK_OK(logkit_append(log, seq, 3, &err));
    if (is_packed) {
        CHECK_OK(rung_segment_log_close(log, &err));
        pack(fs);
    } else {
        logkit_abandon(fs, log);
    }
}

static void read_any(const rung_segment_log_config *config, bool is_ours) {
    rung_segment_log *log;
    rung_err err;
    if (rung_segment_log_open(config, &log, &err) < 0)
        return;
    rung_log_cursor *cursor;
    rung_log *port = rung_segment_log_port(log);
    if (rung_log_cursor_open(port, 1, &cursor, &err) == RUNG_OK) {
        rung_log_record r;
        size_t count;
        for (uint64_t next = 1; rung_log_cursor_read(cursor, &r, 1, &count, &err) == RUNG_OK;
             next++) {
            CHECK_EQ_U64(r.seq, next);
            if (is_ours)
                CHECK(rung_slice_eq(r.payload, logkit_payload(next)));
        }
        rung_log_cursor_close(cursor);
    }
    rung_status st = rung_segment_log_start(log, &err);
    if (st == RUNG_OK)
        st = rung_segment_log_truncate_before(log, 5, &err);
    rung_ignore(st, "any answer is fine");
    rung_ignore(rung_segment_log_close(log, &err), "any answer is fine");
}

static rung_status ignore_record(void *ctx, const rung_log_record *r) {
    (void)ctx;
    return r->payload.len <= RUNG_LOG_RECORD_MAX ? RUNG_OK : RUNG_EINVAL;
}

static void tools(rung_memfs *fs) {
    rung_dir dir;
    rung_verify_report verified;
    rung_repair_report repaired;
    rung_err err;
    CHECK_OK(rung_dir_open(&dir, &fs->port, LOGKIT_PATH, false, &err));
    rung_ignore(rung_log_cat(&dir, rung_alloc_heap(), 1, UINT64_MAX, ignore_record, NULL, &err),
                "any answer");
    rung_ignore(rung_log_verify(&dir, rung_alloc_heap(), NULL, NULL, &verified, &err),
                "any answer");
    rung_status st = rung_log_repair(&dir, rung_alloc_heap(), true, &repaired, &err);
    if (st == RUNG_OK) {
        st = rung_log_repair(&dir, rung_alloc_heap(), true, &repaired, &err);
        CHECK(st == RUNG_UNCHANGED);
    }
    rung_dir_close(&dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    rung_memfs fs, copy;
    rung_segment_log_config config;
    if (size < 1 || size > 40000)
        return 0;
    rung_memfs_init(&fs);
    make_log(&fs, &config, data[0] & 2);
    memfs_bytes *segment = rung_memfs_bytes(&fs, LOGKIT_PATH, SEGMENT);
    memfs_bytes *mark = rung_memfs_bytes(&fs, LOGKIT_PATH, RUNG_HIGH_WATER_NAME);
    bool is_ours = data[0] & 1;
    if (is_ours) {
        for (size_t i = 1; i + 3 <= size && i < 3 * 64; i += 3) {
            size_t at = (size_t)data[i] | (size_t)data[i + 1] << 8;
            memfs_bytes *b = at & 0x8000 ? mark : segment;
            b->bytes[(at & 0x7fff) % b->size] ^= data[i + 2];
        }
    } else {
        rung_memfs_resize(segment, size - 1);
        memcpy(segment->bytes, data + 1, size - 1);
    }
    rung_memfs_copy(&copy, &fs);
    read_any(&config, is_ours);
    tools(&copy);
    rung_memfs_deinit(&copy);
    rung_memfs_deinit(&fs);
    return 0;
}
