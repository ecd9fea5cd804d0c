/* SPDX-License-Identifier: Apache-2.0 */
/* Packed segments: the same records, every flipped bit and missing byte found, whole or plain after any crash. */
/* ctest: timeout=180 */
#include "journal/backup.h"
#include "journal/segment_pack.h"
#include "journal/verify.h"
#include "support/check.h"
#include "support/logkit.h"
#include "support/rng.h"

#include <errno.h>
#include <string.h>

enum { RECORDS = 120, NAMES = 32 };

typedef struct fixture {
    rung_memfs fs;
    rung_segment_log_config config;
    rung_dir dir;
    char names[NAMES][RUNG_FILE_NAME_MAX];
    size_t count;
} fixture;

static void list_segments(fixture *f) {
    rung_log_image image;
    rung_err err;
    CHECK_OK(rung_log_image_list(&image, rung_alloc_heap(), &f->dir, &err));
    CHECK(image.count <= NAMES);
    f->count = image.count;
    for (size_t i = 0; i < image.count; i++)
        rung_segment_name(f->names[i], image.segments[i].first_seq, image.segments[i].epoch);
    rung_log_image_deinit(&image);
}

/* A closed log of several segments, none of them packed. */
static void begin(fixture *f) {
    rung_err err;
    rung_segment_log *log;
    *f = (fixture){0};
    rung_memfs_init(&f->fs);
    f->config = logkit_config(&f->fs, 12288);
    CHECK_OK(rung_dir_open(&f->dir, &f->fs.port, LOGKIT_PATH, true, &err));
    CHECK_OK(logkit_open(&f->config, true, &log, &err));
    for (uint64_t seq = 1; seq <= RECORDS; seq += 6)
        CHECK_OK(logkit_append(log, seq, 6, &err));
    CHECK_OK(rung_segment_log_close(log, &err));
    list_segments(f);
    CHECK(f->count >= 3);
}

static void end(fixture *f) {
    rung_dir_close(&f->dir);
    rung_memfs_deinit(&f->fs);
}

static void pack_all(fixture *f) {
    rung_err err = {0};
    for (size_t i = 0; i < f->count; i++) {
        uint64_t size;
        CHECK_OK(
            rung_segment_pack(&f->dir, rung_alloc_heap(), f->names[i], i % 2 == 1, &size, &err));
        CHECK_EQ_U64(size, rung_memfs_bytes(&f->fs, LOGKIT_PATH, f->names[i])->size);
    }
}

static void check_log(fixture *f) {
    rung_err err = {0};
    rung_segment_log *log;
    uint64_t first, last;
    CHECK_OK(logkit_open(&f->config, true, &log, &err));
    rung_status st = logkit_read(log, &first, &last, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
    CHECK_EQ_U64(first, 1);
    CHECK_EQ_U64(last, RECORDS);
    CHECK_OK(logkit_append(log, RECORDS + 1, 3, &err));
    CHECK_OK(rung_segment_log_close(log, &err));
}

TEST(packed_segments_read_as_before) {
    fixture f;
    rung_err err = {0};
    rung_verify_report r;
    begin(&f);
    uint64_t plain = rung_memfs_used(&f.fs), size;
    pack_all(&f);
    CHECK(rung_memfs_used(&f.fs) < plain);
    CHECK_STATUS(rung_segment_pack(&f.dir, rung_alloc_heap(), f.names[0], false, &size, &err),
                 RUNG_UNCHANGED);
    CHECK_OK(rung_log_verify(&f.dir, rung_alloc_heap(), NULL, NULL, &r, &err));
    CHECK_EQ_U64(r.record_count, RECORDS);
    CHECK_EQ_U64(r.damage_count, 0);
    check_log(&f);
    end(&f);
}

TEST(plain_bytes_come_back_from_any_offset) {
    fixture f;
    rung_err err = {0};
    rung_segment_packed *p;
    rung_file file;
    begin(&f);
    memfs_bytes *b = rung_memfs_bytes(&f.fs, LOGKIT_PATH, f.names[1]);
    size_t size = b->size;
    uint8_t *plain = rung_alloc_get(rung_alloc_heap(), size), bytes[9000];
    memcpy(plain, b->bytes, size);
    pack_all(&f);
    CHECK_OK(rung_file_open(&file, &f.dir, f.names[1], RUNG_FILE_READ, &err));
    CHECK_OK(rung_segment_packed_open(&p, rung_alloc_heap(), &file, &err));
    CHECK_EQ_U64(rung_segment_packed_plain_size(p), size);
    for (size_t at = 0; at < size + 10; at += 37)
        for (size_t len = 1; len <= sizeof bytes; len = len * 3 + 1) {
            size_t got, want = at < size ? size - at : 0;
            CHECK_OK(rung_segment_packed_read(p, bytes, len, at, &got, &err));
            CHECK_EQ_U64(got, want < len ? want : len);
            CHECK(memcmp(bytes, plain + at, got) == 0);
        }
    rung_segment_packed_close(p);
    rung_file_close(&file);
    rung_alloc_free(rung_alloc_heap(), plain, size);
    end(&f);
}

static bool is_whole(fixture *f) {
    rung_verify_report r;
    rung_err err = {0};
    rung_status st = rung_log_verify(&f->dir, rung_alloc_heap(), NULL, NULL, &r, &err);
    CHECK(st == RUNG_OK || st == RUNG_ECORRUPT || st == RUNG_EVERSION);
    return st == RUNG_OK;
}

TEST(every_flipped_bit_is_found) {
    fixture f;
    begin(&f);
    pack_all(&f);
    memfs_bytes *b = rung_memfs_bytes(&f.fs, LOGKIT_PATH, f.names[1]);
    CHECK(is_whole(&f));
    for (size_t bit = 0; bit < 8 * b->size; bit++) {
        b->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK_MSG(!is_whole(&f), "bit %zu", bit);
        b->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    end(&f);
}

TEST(every_missing_byte_is_found) {
    fixture f;
    begin(&f);
    pack_all(&f);
    memfs_bytes *b = rung_memfs_bytes(&f.fs, LOGKIT_PATH, f.names[1]);
    size_t size = b->size;
    for (size_t cut = size; cut-- > 0;) {
        b->size = cut; /* the bytes stay in the buffer */
        CHECK_MSG(!is_whole(&f), "%zu bytes", cut);
    }
    b->size = size;
    CHECK(is_whole(&f));
    end(&f);
}

/* Damage costs what is behind it, not what is before. */
TEST(repair_keeps_what_is_before_a_damaged_block) {
    fixture f;
    rung_err err = {0};
    rung_repair_report r;
    rung_segment_log *log;
    uint64_t first, last;
    begin(&f);
    pack_all(&f);
    memfs_bytes *b = rung_memfs_bytes(&f.fs, LOGKIT_PATH, f.names[1]);
    b->bytes[b->size / 2] ^= 1;
    CHECK_OK(rung_log_repair(&f.dir, rung_alloc_heap(), true, &r, &err));
    CHECK_OK(logkit_open(&f.config, true, &log, &err));
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_EQ_U64(first, 1);
    CHECK_EQ_U64(last, r.kept_seq);
    CHECK(last > 6 && last < RECORDS);
    CHECK_OK(rung_segment_log_close(log, &err));
    end(&f);
}

TEST(a_backup_of_packed_segments_restores_to_any_sequence) {
    fixture f;
    rung_err err = {0};
    rung_backup_report r;
    rung_dir to, again;
    begin(&f);
    pack_all(&f);
    CHECK_OK(rung_dir_open(&to, &f.fs.port, "backup", true, &err));
    CHECK_OK(rung_backup_run(&f.dir, NULL, &to, rung_alloc_heap(), &r, &err));
    CHECK_EQ_U64(r.last_seq, RECORDS);
    CHECK_OK(rung_dir_open(&again, &f.fs.port, "again", true, &err));
    CHECK_OK(rung_backup_restore(&to, &again, rung_alloc_heap(), 50, &r, &err));
    CHECK_EQ_U64(r.last_seq, 50);
    rung_dir_close(&again);
    rung_dir_close(&to);
    end(&f);
}

/* ---- beside the log ---- */

static bool keep_some(void *arg, size_t atom) {
    (void)atom;
    return rung_rng_below(arg, 2);
}

/* Power cuts before each change that packing makes to the disk. */
typedef struct cuts {
    fixture *f;
    rung_rng rng;
    uint64_t worlds;
} cuts;

static void cut_power(void *arg, rung_memfs *fs, const char *call) {
    cuts *c = arg;
    (void)call;
    fixture g = *c->f;
    rung_memfs world;
    rung_err err = {0};
    rung_memfs_crash(&world, fs, keep_some, &c->rng);
    g.config.fs = &world.port;
    CHECK_OK(rung_dir_open(&g.dir, &world.port, LOGKIT_PATH, false, &err));
    check_log(&g);
    rung_dir_close(&g.dir);
    rung_memfs_deinit(&world);
    c->worlds++;
}

TEST(a_power_cut_while_packing_loses_nothing) {
    for (int round = 0; round < 20; round++) {
        fixture f;
        begin(&f);
        cuts c = {.f = &f};
        rung_rng_seed(&c.rng, (uint64_t)round);
        f.fs.before = cut_power;
        f.fs.before_arg = &c;
        pack_all(&f);
        f.fs.before = NULL;
        CHECK(c.worlds > 10);
        cut_power(&c, &f.fs, "end");
        end(&f);
    }
}

TEST(a_failing_disk_leaves_the_plain_segment) {
    for (uint64_t n = 1;; n++) {
        fixture f;
        rung_err err = {0};
        uint64_t size;
        begin(&f);
        rung_memfs_fail(&f.fs, n, n % 2 ? EIO : ENOSPC, false);
        rung_status st =
            rung_segment_pack(&f.dir, rung_alloc_heap(), f.names[1], false, &size, &err);
        bool has_failed = f.fs.has_failed;
        rung_memfs_fail(&f.fs, 0, 0, false);
        CHECK(has_failed || st == RUNG_OK);
        check_log(&f);
        end(&f);
        if (!has_failed)
            break;
    }
}

TEST(the_log_packs_all_but_its_newest_segments) {
    fixture f;
    rung_err err = {0};
    rung_segment_log *log;
    uint64_t first, last;
    begin(&f);
    CHECK_OK(logkit_open(&f.config, true, &log, &err));
    uint64_t before = rung_segment_log_stat(log).disk_bytes;
    rung_log_cursor *cursor;
    rung_log_record record;
    size_t count;
    CHECK_OK(rung_log_cursor_open(rung_segment_log_port(log), 1, &cursor, &err));
    CHECK_OK(rung_log_cursor_read(cursor, &record, 1, &count, &err));
    size_t packed = 0;
    rung_status st;
    while ((st = rung_segment_log_pack(log, false, &err)) == RUNG_OK)
        packed++;
    CHECK_STATUS(st, RUNG_NOT_FOUND);
    CHECK_EQ_U64(packed, rung_segment_log_stat(log).segment_count - 2);
    CHECK(rung_segment_log_stat(log).disk_bytes < before);
    for (uint64_t seq = 2; seq <= RECORDS;
         seq++) { /* began in a plain file, goes on in packed ones */
        CHECK_OK(rung_log_cursor_read(cursor, &record, 1, &count, &err));
        CHECK_EQ_U64(record.seq, seq);
        CHECK(rung_slice_eq(record.payload, logkit_payload(seq)));
    }
    rung_log_cursor_close(cursor);
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_EQ_U64(last, RECORDS);
    CHECK_OK(rung_segment_log_truncate_before(log, 90, &err));
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK(first > 1 && first <= 90);
    CHECK_OK(rung_segment_log_close(log, &err));
    end(&f);
}

RUNG_TEST_MAIN
