/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of every released format must be read for ever. tests/golden/log-v1 holds three segments (one sealed when it was
 * full, one by a clean end, one left open by a kill), the high-water file, a snapshot and its manifest, and the
 * digest of all records. With RUNG_GOLDEN_WRITE=<folder> the program writes such a set instead, for a new format. */
#include "base/bytes.h"
#include "journal/sha256.h"
#include "journal/snapshot_file.h"
#include "journal/verify.h"
#include "support/check.h"
#include "support/logkit.h"
#include "support/snapshot_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const NAMES[] = {
    "00000000000000000001-00000001.seg",  "00000000000000000024-00000001.seg",
    "00000000000000000031-00000002.seg",  "high-water",
    "snapshot-00000000000000000020.snap", "manifest"};
enum { NAME_COUNT = 6, RECORDS = 40 };

static const char *folder(void) {
    static char path[512];
    const char *source = getenv("RUNG_SOURCE");
    snprintf(path, sizeof path, "%s/tests/golden/log-v1", source ? source : ".");
    return path;
}

/* Everything a reader can see of the records, hashed. */
static void digest_of(rung_segment_log *log, char text_out[65]) {
    rung_sha256 h = {0};
    rung_log_cursor *cursor;
    rung_err err = {0};
    uint8_t digest[32];
    CHECK_OK(rung_sha256_start(&h));
    CHECK_OK(rung_log_cursor_open(rung_segment_log_port(log), 1, &cursor, &err));
    rung_log_record r;
    size_t count;
    rung_status st;
    while ((st = rung_log_cursor_read(cursor, &r, 1, &count, &err)) == RUNG_OK) {
        uint8_t head[18];
        rung_put64(head, r.seq);
        rung_put16(head + 8, r.type);
        rung_put64(head + 10, r.payload.len);
        rung_sha256_add(&h, head, sizeof head);
        rung_sha256_add(&h, r.payload.ptr, r.payload.len);
    }
    CHECK_MSG(st == RUNG_NOT_FOUND, "%s", err.message);
    rung_log_cursor_close(cursor);
    rung_sha256_finish(&h, digest);
    rung_sha256_deinit(&h);
    for (int i = 0; i < 32; i++)
        snprintf(text_out + 2 * i, 3, "%02x", digest[i]);
}

static void write_snapshot(const rung_dir *dir, const uint8_t *uuid) {
    rung_snapshot_writer *w;
    rung_snapshot_info info;
    rung_err err;
    uint8_t digest[32];
    memset(digest, 0x5a, sizeof digest);
    CHECK_OK(rung_snapshot_writer_begin(dir, rung_alloc_heap(), uuid, 20, &w, &err));
    CHECK_OK(rung_snapshot_writer_append(w, "the state at sequence 20", 24, &err));
    CHECK_OK(rung_snapshot_writer_finish(w, digest, &info, &err));
}

static void write_golden(const char *to) {
    rung_memfs fs;
    rung_err err;
    rung_segment_log *log;
    char path[600], digest[65];
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 8192);
    CHECK_OK(logkit_open(&config, true, &log, &err));
    for (uint64_t seq = 1; seq <= 30; seq++)
        CHECK_OK(logkit_append(log, seq, 1, &err));
    write_snapshot(rung_segment_log_dir(log), rung_segment_log_uuid(log));
    CHECK_OK(rung_segment_log_close(log, &err));
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_OK(logkit_append(log, 31, RECORDS - 30, &err));
    digest_of(log, digest);
    logkit_abandon(&fs, log);
    for (size_t i = 0; i < fs.seen.count; i++)
        printf("%s\n", fs.seen.names[i].name);
    for (int i = 0; i < NAME_COUNT; i++) {
        memfs_bytes *b = rung_memfs_bytes(&fs, LOGKIT_PATH, NAMES[i]);
        CHECK_MSG(b != NULL, "no %s", NAMES[i]);
        snprintf(path, sizeof path, "%s/%s", to, NAMES[i]);
        FILE *f = fopen(path, "wb");
        CHECK(f && fwrite(b->bytes, 1, b->size, f) == b->size && fclose(f) == 0);
    }
    snprintf(path, sizeof path, "%s/DIGEST", to);
    FILE *f = fopen(path, "w");
    CHECK(f && fprintf(f, "%d %s\n", RECORDS, digest) > 0 && fclose(f) == 0);
    rung_memfs_deinit(&fs);
}

/* The committed files, in a world of their own. */
static void load_golden(rung_memfs *fs) {
    rung_dir dir;
    rung_err err;
    rung_memfs_init(fs);
    CHECK_OK(rung_dir_open(&dir, &fs->port, LOGKIT_PATH, true, &err));
    for (int i = 0; i < NAME_COUNT; i++) {
        char path[600];
        static char bytes[65536];
        snprintf(path, sizeof path, "%s/%s", folder(), NAMES[i]);
        FILE *f = fopen(path, "rb");
        CHECK_MSG(f != NULL, "cannot open %s", path);
        size_t len = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        CHECK_OK(rung_file_replace(&dir, NAMES[i], bytes, len, &err));
    }
    rung_dir_close(&dir);
}

TEST(the_golden_log_replays_to_its_digest) {
    const char *to = getenv("RUNG_GOLDEN_WRITE");
    if (to) {
        write_golden(to);
        return;
    }
    rung_memfs fs;
    rung_err err;
    rung_segment_log *log;
    char path[600], want[65], got[65];
    int records;
    snprintf(path, sizeof path, "%s/DIGEST", folder());
    FILE *f = fopen(path, "r");
    CHECK(f && fscanf(f, "%d %64s", &records, want) == 2);
    fclose(f);
    load_golden(&fs);
    rung_segment_log_config config = logkit_config(&fs, 8192);
    CHECK_OK(rung_segment_log_open(&config, &log, &err));
    CHECK_EQ_U64(rung_log_durable_seq(rung_segment_log_port(log)), (uint64_t)records);
    digest_of(log, got);
    CHECK_EQ_STR(got, want);
    CHECK_OK(rung_segment_log_start(log, &err)); /* and it goes on */
    digest_of(log, got);
    CHECK_EQ_STR(got, want);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

static rung_status take_begin(void *ctx, uint64_t seq) {
    CHECK_EQ_U64(seq, 20);
    *(size_t *)ctx = 0;
    return RUNG_OK;
}

static rung_status take_bytes(void *ctx, const void *bytes, size_t len) {
    CHECK_EQ_U64(len, 24);
    CHECK_EQ_MEM(bytes, "the state at sequence 20", 24);
    *(size_t *)ctx += len;
    return RUNG_OK;
}

static rung_status take_end(void *ctx, const rung_snapshot_info *info) {
    CHECK_EQ_U64(info->size_bytes, *(size_t *)ctx);
    CHECK_EQ_U64(info->digest[31], 0x5a);
    return RUNG_OK;
}

TEST(the_golden_snapshot_loads_and_all_verifies) {
    if (getenv("RUNG_GOLDEN_WRITE"))
        return;
    rung_memfs fs;
    rung_dir dir;
    rung_err err;
    rung_verify_report report;
    rung_high_water mark;
    bool is_slot_bad;
    size_t len = 0;
    load_golden(&fs);
    CHECK_OK(rung_dir_open(&dir, &fs.port, LOGKIT_PATH, false, &err));
    CHECK_OK(rung_log_verify(&dir, rung_alloc_heap(), NULL, NULL, &report, &err));
    CHECK_EQ_U64(report.record_count, RECORDS);
    CHECK_EQ_U64(report.newest_snapshot_seq, 20);
    CHECK_OK(rung_high_water_read(&dir, &mark, &is_slot_bad, &err));
    snapshot_sink sink = {&len, take_begin, take_bytes, take_end, NULL};
    rung_snapshot_info info;
    CHECK_OK(snapshot_load(&dir, rung_alloc_heap(), mark.uuid, UINT64_MAX, &sink, &info, &err));
    CHECK_EQ_U64(len, 24);
    rung_dir_close(&dir);
    rung_memfs_deinit(&fs);
}

RUNG_TEST_MAIN
