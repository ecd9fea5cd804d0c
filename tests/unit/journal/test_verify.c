/* SPDX-License-Identifier: Apache-2.0 */
/* verify finds what recovery refuses (and more), cat shows what is whole, repair keeps the longest whole beginning,
 * a backup comes back, to any sequence. */
/* ctest: timeout=180 */
#include "journal/backup.h"
#include "journal/snapshot_file.h"
#include "journal/verify.h"
#include "support/check.h"
#include "support/logkit.h"
#include "support/rng.h"

#include <string.h>

enum { RECORDS = 60 };

typedef struct fixture {
    rung_memfs fs;
    rung_segment_log_config config;
    rung_dir dir;
} fixture;

static void save_snapshot(fixture *f, const uint8_t *uuid, uint64_t seq) {
    rung_snapshot_writer *w;
    rung_snapshot_info info;
    rung_err err;
    uint8_t digest[32] = {1};
    CHECK_OK(rung_snapshot_writer_begin(&f->dir, rung_alloc_heap(), uuid, seq, &w, &err));
    CHECK_OK(rung_snapshot_writer_append(w, "state", 5, &err));
    CHECK_OK(rung_snapshot_writer_finish(w, digest, &info, &err));
}

/* Sixty records over several segments; snapshots where asked. */
static void build(fixture *f, bool is_clean, uint64_t snapshot_seq) {
    rung_err err;
    rung_segment_log *log;
    *f = (fixture){0};
    rung_memfs_init(&f->fs);
    f->config = logkit_config(&f->fs, 0);
    CHECK_OK(rung_dir_open(&f->dir, &f->fs.port, LOGKIT_PATH, true, &err));
    CHECK_OK(logkit_open(&f->config, true, &log, &err));
    for (uint64_t seq = 1; seq <= RECORDS; seq += 6)
        CHECK_OK(logkit_append(log, seq, 6, &err));
    if (snapshot_seq)
        save_snapshot(f, rung_segment_log_uuid(log), snapshot_seq);
    if (is_clean)
        CHECK_OK(rung_segment_log_close(log, &err));
    else
        logkit_abandon(&f->fs, log);
}

static void end(fixture *f) {
    rung_dir_close(&f->dir);
    rung_memfs_deinit(&f->fs);
}

/* The names of the segments, in order. */
static size_t segments_of(fixture *f, char names[][RUNG_FILE_NAME_MAX], size_t max) {
    rung_log_image image;
    rung_err err;
    CHECK_OK(rung_log_image_list(&image, rung_alloc_heap(), &f->dir, &err));
    size_t count = image.count < max ? image.count : max;
    for (size_t i = 0; i < count; i++)
        rung_segment_name(names[i], image.segments[i].first_seq, image.segments[i].epoch);
    rung_log_image_deinit(&image);
    return count;
}

TEST(a_good_log_verifies) {
    for (int is_clean = 0; is_clean < 2; is_clean++) {
        fixture f;
        rung_verify_report r;
        rung_err err;
        build(&f, is_clean, 20);
        CHECK_OK(rung_log_verify(&f.dir, rung_alloc_heap(), NULL, NULL, &r, &err));
        CHECK_EQ_U64(r.record_count, RECORDS);
        CHECK_EQ_U64(r.first_seq, 1);
        CHECK_EQ_U64(r.last_seq, RECORDS);
        CHECK_EQ_U64(r.newest_snapshot_seq, 20);
        CHECK_EQ_U64(r.damage_count, 0);
        end(&f);
    }
}

/* Each flipped bit, here one in 7, is damage for verify, or lies where nothing is said. */
TEST(verify_sees_every_flip) {
    fixture f;
    build(&f, true, 20);
    char names[16][RUNG_FILE_NAME_MAX];
    size_t count = segments_of(&f, names, 16);
    CHECK(count > 2);
    for (size_t i = 0; i < count; i++) {
        memfs_bytes *b = rung_memfs_bytes(&f.fs, LOGKIT_PATH, names[i]);
        for (size_t bit = i; bit < b->size * 8; bit += bit < 4096 * 8 ? 1001 : 7) {
            rung_verify_report r;
            rung_err err;
            b->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            CHECK_STATUS(rung_log_verify(&f.dir, rung_alloc_heap(), NULL, NULL, &r, &err),
                         RUNG_ECORRUPT);
            CHECK(strstr(err.message, "segment ") != NULL);
            b->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
    end(&f);
}

static rung_status count_record(void *ctx, const rung_log_record *r) {
    uint64_t *next = ctx;
    CHECK_EQ_U64(r->seq, (*next)++);
    CHECK(rung_slice_eq(r->payload, logkit_payload(r->seq)));
    return RUNG_OK;
}

static rung_status stop_at_once(void *ctx, const rung_log_record *r) {
    (void)ctx;
    (void)r;
    return RUNG_UNCHANGED;
}

TEST(cat_shows_any_range) {
    fixture f;
    rung_err err;
    build(&f, false, 0);
    for (uint64_t from = 1; from <= RECORDS; from += 7)
        for (uint64_t to = from; to <= RECORDS + 10; to += 5) {
            uint64_t next = from;
            CHECK_OK(rung_log_cat(&f.dir, rung_alloc_heap(), from, to, count_record, &next, &err));
            CHECK_EQ_U64(next, (to < RECORDS ? to : RECORDS) + 1);
        }
    CHECK_STATUS(rung_log_cat(&f.dir, rung_alloc_heap(), 1, 9, stop_at_once, NULL, &err),
                 RUNG_UNCHANGED);
    end(&f);
}

/* A last record that a crash cut short ends the log; one that is missing below the mark, or before whole ones, is
 * damage. */
TEST(cat_ends_at_a_torn_tail_and_stops_at_damage) {
    fixture f;
    rung_err err;
    char names[16][RUNG_FILE_NAME_MAX];
    build(&f, false, 0);
    size_t count = segments_of(&f, names, 16);
    memfs_bytes *b = rung_memfs_bytes(&f.fs, LOGKIT_PATH, names[count - 1]);
    size_t used = b->size;
    while (used > 0 && b->bytes[used - 1] == 0)
        used--;
    rung_verify_report report;
    CHECK_OK(rung_log_verify(&f.dir, rung_alloc_heap(), NULL, NULL, &report, &err));
    uint32_t torn = 0, damaged = 0;
    for (size_t at = RUNG_SEGMENT_HEADER_SIZE; at < used; at += 3) {
        uint64_t next = 1;
        b->bytes[at] ^= 0x55;
        rung_status want = rung_log_verify(&f.dir, rung_alloc_heap(), NULL, NULL, &report, &err);
        rung_status st =
            rung_log_cat(&f.dir, rung_alloc_heap(), 1, UINT64_MAX, count_record, &next, &err);
        CHECK_STATUS(st, want);
        CHECK(next <= RECORDS);
        torn += st == RUNG_OK;
        damaged += st == RUNG_ECORRUPT;
        b->bytes[at] ^= 0x55;
    }
    for (size_t at = used / 512 * 512; at > RUNG_SEGMENT_HEADER_SIZE;
         at -= 512) { /* sectors that never came */
        uint64_t next = 1;
        memset(b->bytes + at, 0, used - at);
        rung_status want = rung_log_verify(&f.dir, rung_alloc_heap(), NULL, NULL, &report, &err);
        CHECK_STATUS(
            rung_log_cat(&f.dir, rung_alloc_heap(), 1, UINT64_MAX, count_record, &next, &err),
            want);
        torn += want == RUNG_OK && report.torn_bytes > 0;
    }
    CHECK_MSG(torn > 0 && damaged > 0, "%u torn, %u damaged", torn, damaged);
    end(&f);
}

static uint64_t last_of(fixture *f, uint64_t *first_out) {
    rung_segment_log *log;
    rung_err err = {0};
    uint64_t last;
    rung_status st = logkit_open(&f->config, true, &log, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
    CHECK_OK(logkit_read(log, first_out, &last, &err));
    CHECK_OK(logkit_append(log, last + 1, 2, &err));
    CHECK_OK(rung_segment_log_close(log, &err));
    return last;
}

/* Wherever a bit is flipped: repair needs permission, keeps the whole beginning, keeps the rest aside, and the log
 * goes on. */
static void repair_flips(uint64_t snapshot_seq) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(9));
    for (int round = 0; round < 150; round++) {
        fixture f;
        rung_err err = {0};
        build(&f, round % 2, snapshot_seq);
        char names[17][RUNG_FILE_NAME_MAX];
        size_t count = segments_of(&f, names, 16);
        memcpy(names[count], RUNG_HIGH_WATER_NAME, sizeof RUNG_HIGH_WATER_NAME);
        size_t which = (size_t)rung_rng_below(&rng, count + 1);
        memfs_bytes *b = rung_memfs_bytes(&f.fs, LOGKIT_PATH, names[which]);
        if (which == count) /* both marks */
            b->bytes[rung_rng_below(&rng, 4096)] ^= 4;
        size_t at = which == count   ? 4096 + (size_t)rung_rng_below(&rng, 4096)
                    : round % 5 == 0 ? (size_t)rung_rng_below(&rng, 100)
                                     : 4096 + (size_t)rung_rng_below(&rng, b->size - 4096);
        b->bytes[at] ^= 1;
        rung_verify_report v;
        rung_repair_report r;
        rung_status found = rung_log_verify(&f.dir, rung_alloc_heap(), NULL, NULL, &v, &err);
        rung_status st = rung_log_repair(&f.dir, rung_alloc_heap(), false, &r, &err);
        if (found == RUNG_OK) { /* behind the end of an open segment: a torn tail */
            CHECK_STATUS(st, RUNG_UNCHANGED);
            end(&f);
            continue;
        }
        CHECK_STATUS(found, RUNG_ECORRUPT);
        CHECK_STATUS(st, RUNG_EREFUSED);
        st = rung_log_repair(&f.dir, rung_alloc_heap(), true, &r, &err);
        CHECK_MSG(st == RUNG_OK, "round %d: %s", round, err.message);
        CHECK_STATUS(
            rung_log_repair(&f.dir, rung_alloc_heap(), true, &(rung_repair_report){0}, &err),
            RUNG_UNCHANGED);
        uint64_t first = 0, last;
        if (r.is_restarted) {
            CHECK_EQ_U64(r.kept_seq, snapshot_seq);
            rung_segment_log *log;
            CHECK_OK(logkit_open(&f.config, true, &log, &err));
            CHECK_EQ_U64(rung_log_durable_seq(rung_segment_log_port(log)), snapshot_seq);
            CHECK_OK(logkit_append(log, snapshot_seq + 1, 2, &err));
            CHECK_OK(rung_segment_log_close(log, &err));
        } else {
            last = last_of(&f, &first);
            CHECK_EQ_U64(last, r.kept_seq);
            CHECK_EQ_U64(first, 1);
            CHECK(r.lost_to == 0 || r.lost_from == last + 1);
            CHECK(which == count ? last == RECORDS : true);
        }
        CHECK_OK(rung_log_verify(&f.dir, rung_alloc_heap(), NULL, NULL, &v, &err));
        end(&f);
    }
}

TEST(repair_keeps_the_whole_beginning) {
    repair_flips(0);
}
TEST(repair_goes_on_behind_a_snapshot) {
    repair_flips(59);
}

/* Damage inside a sealed segment shows at replay; repair must find it although a start would not. */
TEST(repair_of_damage_inside_a_sealed_segment) {
    fixture f;
    rung_err err;
    rung_repair_report r;
    build(&f, true, 0);
    char names[16][RUNG_FILE_NAME_MAX];
    segments_of(&f, names, 16);
    rung_memfs_bytes(&f.fs, LOGKIT_PATH, names[1])->bytes[4096 + 33] ^= 1;
    CHECK_OK(rung_log_repair(&f.dir, rung_alloc_heap(), true, &r, &err));
    uint64_t first, last = last_of(&f, &first);
    CHECK_EQ_U64(last, r.kept_seq);
    CHECK_EQ_U64(r.lost_from, last + 1);
    CHECK_EQ_U64(r.lost_to, RECORDS);
    end(&f);
}

TEST(repair_of_a_log_in_use_is_refused) {
    fixture f;
    rung_err err;
    rung_segment_log *log;
    rung_repair_report r;
    build(&f, true, 0);
    CHECK_OK(logkit_open(&f.config, true, &log, &err));
    CHECK_STATUS(rung_log_repair(&f.dir, rung_alloc_heap(), true, &r, &err), RUNG_EBUSY);
    CHECK_OK(rung_segment_log_close(log, &err));
    end(&f);
}

/* ---- backup ---- */

static void check_restored(fixture *f, const rung_dir *backup, uint64_t seq, uint64_t want_last) {
    static int number;
    char path[32];
    rung_dir to;
    rung_err err = {0};
    rung_backup_report r;
    memcpy(path, "restore-0", 10);
    path[8] = (char)('0' + number++ % 4);
    rung_memfs copy;
    rung_memfs_copy(&copy, &f->fs);
    rung_dir from;
    CHECK_OK(rung_dir_open(&from, &copy.port, backup->path, false, &err));
    CHECK_OK(rung_dir_open(&to, &copy.port, path, true, &err));
    rung_status st = rung_backup_restore(&from, &to, rung_alloc_heap(), seq, &r, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
    CHECK_EQ_U64(r.last_seq, want_last);
    CHECK(r.newest_snapshot_seq <= want_last);
    rung_segment_log_config config = f->config;
    config.fs = &copy.port;
    config.path = path;
    rung_segment_log *log;
    uint64_t first, last;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_EQ_U64(last, want_last);
    CHECK_OK(logkit_append(log, last + 1, 3, &err));
    CHECK_OK(rung_segment_log_close(log, &err));
    CHECK_STATUS(rung_backup_restore(&from, &to, rung_alloc_heap(), seq, &r, &err), RUNG_EEXIST);
    rung_dir_close(&to);
    rung_dir_close(&from);
    rung_memfs_deinit(&copy);
}

TEST(a_backup_of_a_running_log_restores_to_every_sequence) {
    fixture f;
    rung_err err;
    rung_segment_log *log;
    rung_backup_report r;
    rung_dir to;
    build(&f, false, 20);
    CHECK_OK(logkit_open(&f.config, true, &log, &err));
    CHECK_OK(logkit_append(log, RECORDS + 1, 5, &err));
    CHECK_OK(rung_dir_open(&to, &f.fs.port, "backup", true, &err));
    CHECK_OK(rung_backup_run(&f.dir, log, &to, rung_alloc_heap(), &r, &err));
    CHECK_EQ_U64(r.last_seq, RECORDS + 5);
    CHECK_EQ_U64(r.snapshot_count, 1);
    CHECK(r.linked_count > 1);
    CHECK_STATUS(rung_backup_run(&f.dir, log, &to, rung_alloc_heap(), &r, &err), RUNG_EEXIST);
    /* The log goes on; the backup stays. */
    CHECK_OK(logkit_append(log, RECORDS + 6, 12, &err));
    CHECK_OK(rung_segment_log_truncate_before(log, 40, &err));
    CHECK_OK(rung_segment_log_close(log, &err));
    check_restored(&f, &to, 0, RECORDS + 5);
    for (uint64_t seq = 1; seq <= RECORDS + 5; seq++)
        check_restored(&f, &to, seq, seq);
    rung_dir target;
    CHECK_OK(rung_dir_open(&target, &f.fs.port, "elsewhere", true, &err));
    CHECK_STATUS(rung_backup_restore(&to, &target, rung_alloc_heap(), RECORDS + 6, &r, &err),
                 RUNG_ERANGE);
    rung_dir_close(&target);
    rung_dir_close(&to);
    end(&f);
}

TEST(a_backup_without_a_server_and_one_that_is_not_complete) {
    fixture f;
    rung_err err;
    rung_backup_report r;
    rung_dir to, target;
    build(&f, false, 0);
    CHECK_OK(rung_dir_open(&to, &f.fs.port, "backup", true, &err));
    CHECK_OK(rung_backup_run(&f.dir, NULL, &to, rung_alloc_heap(), &r, &err));
    check_restored(&f, &to, 0, RECORDS);
    memfs_bytes *marker = rung_memfs_bytes(&f.fs, "backup", RUNG_BACKUP_MARKER);
    CHECK_OK(rung_dir_open(&target, &f.fs.port, "elsewhere", true, &err));
    for (size_t bit = 0; bit < marker->size * 8; bit += 3) {
        marker->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK_STATUS(rung_backup_restore(&to, &target, rung_alloc_heap(), 0, &r, &err),
                     RUNG_ECORRUPT);
        marker->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    rung_memfs_remove(&f.fs, "backup", RUNG_BACKUP_MARKER);
    CHECK_STATUS(rung_backup_restore(&to, &target, rung_alloc_heap(), 0, &r, &err), RUNG_ECORRUPT);
    rung_dir_close(&target);
    rung_dir_close(&to);
    end(&f);
}

TEST(a_backup_whose_beginning_is_gone_needs_its_snapshot) {
    fixture f;
    rung_err err;
    rung_backup_report r;
    rung_segment_log *log;
    rung_dir to, target;
    build(&f, true, 55);
    CHECK_OK(logkit_open(&f.config, true, &log, &err));
    CHECK_OK(rung_segment_log_truncate_before(log, 56, &err));
    CHECK_OK(rung_dir_open(&to, &f.fs.port, "backup", true, &err));
    CHECK_OK(rung_backup_run(&f.dir, log, &to, rung_alloc_heap(), &r, &err));
    CHECK(r.first_seq > 1);
    check_restored(&f, &to, 0, RECORDS);
    CHECK_OK(rung_dir_open(&target, &f.fs.port, "elsewhere", true, &err));
    CHECK_STATUS(rung_backup_restore(&to, &target, rung_alloc_heap(), 54, &r, &err), RUNG_ESTALE);
    rung_dir_close(&target);
    rung_dir_close(&to);
    CHECK_OK(rung_segment_log_close(log, &err));
    end(&f);
}

RUNG_TEST_MAIN
