/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshot files: what goes in comes out, damage is found wherever it is and the older one takes over, crashes and
 * failed calls leave the old ones or the new one. */
/* ctest: timeout=180 */
#include "journal/snapshot_file.h"
#include "support/check.h"
#include "support/failalloc.h"
#include "support/memfs.h"
#include "support/rng.h"
#include "support/snapshot_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATH "data"
static const uint8_t UUID[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/* The stream of snapshot `seq` is `size` bytes that depend on both. */
static uint8_t byte_at(uint64_t seq, size_t i) {
    uint64_t x = seq * 0x9e3779b97f4a7c15u + i / 8;
    return (uint8_t)(rung_splitmix64(&x) >> (i % 8 * 8));
}

static void digest_of(uint64_t seq, size_t size, uint8_t out[32]) {
    memset(out, (int)(seq % 251 + 1), 32);
    memcpy(out, &size, sizeof size);
}

static rung_status save(const rung_dir *dir, const rung_alloc *alloc, uint64_t seq, size_t size,
                        rung_err *err) {
    rung_snapshot_writer *w;
    rung_status st = rung_snapshot_writer_begin(dir, alloc, UUID, seq, &w, err);
    if (st < 0)
        return st;
    size_t done = 0, piece = 1;
    while (done < size) {
        uint8_t bytes[5000];
        size_t len = size - done < piece ? size - done : piece;
        for (size_t i = 0; i < len; i++)
            bytes[i] = byte_at(seq, done + i);
        st = rung_snapshot_writer_append(w, bytes, len, err);
        if (st < 0) {
            rung_snapshot_writer_abort(w);
            return st;
        }
        done += len;
        piece = piece * 3 % 4999 + 1;
    }
    uint8_t digest[32];
    rung_snapshot_info info;
    digest_of(seq, size, digest);
    return rung_snapshot_writer_finish(w, digest, &info, err);
}

typedef struct load {
    uint64_t seq;
    size_t size;
    int begun, said;
    char last_line[300];
} load;

static rung_status on_begin(void *ctx, uint64_t seq) {
    load *l = ctx;
    l->seq = seq;
    l->size = 0;
    l->begun++;
    return RUNG_OK;
}

static rung_status on_feed(void *ctx, const void *bytes, size_t len) {
    load *l = ctx;
    const uint8_t *p = bytes;
    for (size_t i = 0; i < len; i++)
        if (p[i] != byte_at(l->seq, l->size++))
            test_fail(__FILE__, __LINE__, "wrong byte %zu of snapshot %llu", l->size - 1,
                      (unsigned long long)l->seq);
    return RUNG_OK;
}

static rung_status on_end(void *ctx, const rung_snapshot_info *info) {
    load *l = ctx;
    uint8_t digest[32];
    digest_of(l->seq, l->size, digest);
    CHECK_EQ_U64(info->size_bytes, l->size);
    return memcmp(digest, info->digest, 32) == 0 ? RUNG_OK : RUNG_ECORRUPT;
}

static void on_say(void *ctx, const char *line) {
    load *l = ctx;
    l->said++;
    strncpy(l->last_line, line, sizeof l->last_line - 1);
}

static rung_status restore(const rung_dir *dir, load *l, rung_err *err) {
    *l = (load){0};
    snapshot_sink sink = {l, on_begin, on_feed, on_end, on_say};
    rung_snapshot_info info;
    return snapshot_load(dir, rung_alloc_heap(), UUID, UINT64_MAX, &sink, &info, err);
}

static void begin(rung_memfs *fs, rung_dir *dir) {
    rung_err err;
    rung_memfs_init(fs);
    CHECK_OK(rung_dir_open(dir, &fs->port, PATH, true, &err));
}

static void end(rung_memfs *fs, rung_dir *dir) {
    rung_dir_close(dir);
    rung_memfs_deinit(fs);
}

TEST(streams_of_all_sizes_come_back) {
    static const size_t sizes[] = {0, 1, 100, 65535, 65536, 65537, 131072, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        rung_memfs fs;
        rung_dir dir;
        rung_err err;
        load l;
        begin(&fs, &dir);
        CHECK_STATUS(restore(&dir, &l, &err), RUNG_NOT_FOUND);
        CHECK_OK(save(&dir, rung_alloc_heap(), 7, sizes[i], &err));
        CHECK_OK(restore(&dir, &l, &err));
        CHECK_EQ_U64(l.size, sizes[i]);
        CHECK_EQ_U64(l.said, 0);
        CHECK(rung_memfs_bytes(&fs, PATH, "snapshot.tmp") == NULL);
        end(&fs, &dir);
    }
}

TEST(two_are_kept_and_listed) {
    rung_memfs fs;
    rung_dir dir;
    rung_err err;
    load l;
    uint64_t seqs[8];
    size_t count;
    rung_snapshot_info infos[RUNG_SNAPSHOT_KEEP];
    begin(&fs, &dir);
    for (uint64_t seq = 10; seq <= 50; seq += 10) {
        CHECK_OK(save(&dir, rung_alloc_heap(), seq, 1000, &err));
        CHECK_OK(rung_snapshot_list(&dir, seqs, 8, &count, &err));
        CHECK_EQ_U64(count, seq == 10 ? 1 : 2);
        CHECK_EQ_U64(seqs[0], seq);
        CHECK_OK(rung_snapshot_manifest_read(&dir, UUID, infos, &count, &err));
        CHECK_EQ_U64(count, seq == 10 ? 1 : 2);
        CHECK_EQ_U64(infos[0].seq, seq);
        CHECK_EQ_U64(infos[0].size_bytes, 1000);
        CHECK_OK(restore(&dir, &l, &err));
        CHECK_EQ_U64(l.seq, seq);
    }
    snapshot_sink sink = {&l, on_begin, on_feed, on_end, on_say};
    rung_snapshot_info info;
    l = (load){0};
    CHECK_OK(snapshot_load(&dir, rung_alloc_heap(), UUID, 45, &sink, &info, &err));
    CHECK_EQ_U64(l.seq, 40);
    end(&fs, &dir);
}

/* Any damage of the newest makes the older one take over, and is said. */
TEST(a_raw_file_tells_what_it_holds_and_survives_newer_ones) {
    rung_memfs fs;
    rung_dir dir;
    rung_snapshot_raw raw;
    rung_err err;
    char name[RUNG_FILE_NAME_MAX];
    uint8_t digest[32], byte;
    size_t got;
    begin(&fs, &dir);
    rung_snapshot_name(name, 7);
    CHECK_EQ_I64(rung_snapshot_raw_open(&dir, name, &raw, &err), RUNG_NOT_FOUND);
    CHECK_OK(save(&dir, rung_alloc_heap(), 7, 100000, &err));
    CHECK_OK(rung_snapshot_raw_open(&dir, name, &raw, &err));
    digest_of(7, 100000, digest);
    CHECK_EQ_U64(raw.info.seq, 7);
    CHECK_EQ_U64(raw.info.size_bytes, 100000);
    CHECK(memcmp(raw.info.digest, digest, sizeof digest) == 0);
    CHECK(memcmp(raw.uuid, UUID, sizeof UUID) == 0);
    for (uint64_t seq = 8; seq < 12; seq++)
        CHECK_OK(save(&dir, rung_alloc_heap(), seq, 10, &err));
    CHECK_OK(rung_file_read(&raw.file, &byte, 1, raw.size - 1, &got, &err));
    CHECK_EQ_U64(got, 1);
    rung_file_close(&raw.file);
    CHECK_EQ_I64(rung_snapshot_raw_open(&dir, name, &raw, &err), RUNG_NOT_FOUND);

    /* A damaged or missing end is noticed; a damaged block is not. */
    rung_file file;
    uint64_t size;
    rung_snapshot_name(name, 11);
    CHECK_OK(rung_file_open(&file, &dir, name, RUNG_FILE_WRITE, &err));
    CHECK_OK(rung_file_size(&file, &size, &err));
    const uint64_t places[] = {0, 20, 40, size - 90, size - 1};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        CHECK_OK(rung_file_read(&file, &byte, 1, places[i], &got, &err));
        byte ^= 4;
        CHECK_OK(rung_file_write(&file, &byte, 1, places[i], &err));
        CHECK_EQ_I64(rung_snapshot_raw_open(&dir, name, &raw, &err), RUNG_ECORRUPT);
        byte ^= 4;
        CHECK_OK(rung_file_write(&file, &byte, 1, places[i], &err));
        CHECK_OK(rung_snapshot_raw_open(&dir, name, &raw, &err));
        rung_file_close(&raw.file);
    }
    for (uint64_t len = 0; len < size; len += 9) {
        CHECK_OK(rung_file_truncate(&file, size - 1 - len, &err));
        CHECK_EQ_I64(rung_snapshot_raw_open(&dir, name, &raw, &err), RUNG_ECORRUPT);
    }
    rung_file_close(&file);
    end(&fs, &dir);
}

TEST(every_cut_and_every_flip_falls_back) {
    rung_memfs fs;
    rung_dir dir;
    rung_err err;
    load l;
    begin(&fs, &dir);
    CHECK_OK(save(&dir, rung_alloc_heap(), 1, 50, &err));
    CHECK_OK(save(&dir, rung_alloc_heap(), 2, 400, &err));
    char name[RUNG_FILE_NAME_MAX];
    rung_snapshot_name(name, 2);
    memfs_bytes *b = rung_memfs_bytes(&fs, PATH, name);
    size_t size = b->size;
    for (size_t cut = 0; cut < size; cut++) {
        b->size = cut;
        CHECK_OK(restore(&dir, &l, &err));
        CHECK_EQ_U64(l.seq, 1);
        CHECK_EQ_U64(l.said, 1);
        CHECK(strstr(l.last_line, name) != NULL);
    }
    b->size = size;
    for (size_t bit = 0; bit < size * 8; bit++) {
        b->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        rung_status st = restore(&dir, &l, &err);
        /* A flip of the version alone is seen by the checksum, so no flip is taken for another version. */
        CHECK_OK(st);
        CHECK_EQ_U64(l.seq, 1);
        CHECK_EQ_U64(l.said, 1);
        b->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    rung_memfs_resize(b, size + 1); /* something behind the end */
    CHECK_OK(restore(&dir, &l, &err));
    CHECK_EQ_U64(l.seq, 1);
    rung_memfs_resize(b, size);
    CHECK_OK(restore(&dir, &l, &err));
    CHECK_EQ_U64(l.seq, 2);
    end(&fs, &dir);
}

TEST(sectors_zeroed_swapped_and_repeated_fall_back) {
    rung_memfs fs;
    rung_dir dir;
    rung_err err;
    load l;
    begin(&fs, &dir);
    CHECK_OK(save(&dir, rung_alloc_heap(), 1, 50, &err));
    CHECK_OK(save(&dir, rung_alloc_heap(), 2, 8000, &err));
    char name[RUNG_FILE_NAME_MAX];
    rung_snapshot_name(name, 2);
    memfs_bytes *b = rung_memfs_bytes(&fs, PATH, name);
    uint8_t one[512], two[512];
    for (size_t i = 0; i + 512 <= b->size; i += 512)
        for (size_t k = 0; k + 512 <= b->size; k += 512) {
            memcpy(one, b->bytes + i, 512);
            memcpy(two, b->bytes + k, 512);
            if (i == k)
                memset(b->bytes + i, 0, 512);
            else
                memcpy(b->bytes + i, two, 512);
            CHECK_OK(restore(&dir, &l, &err));
            CHECK_EQ_U64(l.seq, 1);
            if (i != k) {
                memcpy(b->bytes + k, one, 512);
                CHECK_OK(restore(&dir, &l, &err));
                CHECK_EQ_U64(l.seq, 1);
            }
            memcpy(b->bytes + i, one, 512);
            memcpy(b->bytes + k, two, 512);
        }
    end(&fs, &dir);
}

TEST(a_damaged_or_missing_manifest_does_no_harm) {
    rung_memfs fs;
    rung_dir dir;
    rung_err err;
    load l;
    begin(&fs, &dir);
    CHECK_OK(save(&dir, rung_alloc_heap(), 1, 50, &err));
    CHECK_OK(save(&dir, rung_alloc_heap(), 2, 60, &err));
    memfs_bytes *b = rung_memfs_bytes(&fs, PATH, RUNG_SNAPSHOT_MANIFEST);
    for (size_t bit = 0; bit < b->size * 8; bit++) {
        b->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK_OK(restore(&dir, &l, &err));
        CHECK_EQ_U64(l.seq, 2);
        CHECK_EQ_U64(l.said, 1);
        b->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t cut = 0; cut < 512; cut++) {
        b->size = cut;
        CHECK_OK(restore(&dir, &l, &err));
        CHECK_EQ_U64(l.seq, 2);
    }
    CHECK_OK(save(&dir, rung_alloc_heap(), 3, 60, &err)); /* and is mended by the next */
    CHECK_OK(restore(&dir, &l, &err));
    CHECK_EQ_U64(l.seq, 3);
    CHECK_EQ_U64(l.said, 0);
    rung_memfs_remove(&fs, PATH, "snapshot-00000000000000000003.snap");
    CHECK_OK(restore(&dir, &l, &err));
    CHECK_EQ_U64(l.seq, 2);
    CHECK(strstr(l.last_line, "missing") != NULL);
    end(&fs, &dir);
}

TEST(only_damaged_ones_are_an_error_and_another_logs_are_refused) {
    rung_memfs fs;
    rung_dir dir;
    rung_err err;
    load l = {0};
    begin(&fs, &dir);
    CHECK_OK(save(&dir, rung_alloc_heap(), 1, 50, &err));
    uint8_t other[16] = {9};
    snapshot_sink sink = {&l, on_begin, on_feed, on_end, on_say};
    rung_snapshot_info info;
    CHECK_STATUS(snapshot_load(&dir, rung_alloc_heap(), other, UINT64_MAX, &sink, &info, &err),
                 RUNG_ECORRUPT);
    CHECK(strstr(err.message, "another log") != NULL);
    end(&fs, &dir);
}

/* ---- crashes and failures ---- */

typedef struct watch {
    uint64_t done; /* the newest snapshot whose finish returned */
    rung_rng rng;
    uint64_t states;
} watch;

static bool is_kept(void *arg, size_t atom) {
    const uint64_t *bits = arg;
    return bits[atom / 64 % 8] >> (atom % 64) & 1;
}

static void check_state(watch *w, rung_memfs *fs, uint64_t *bits) {
    rung_memfs world;
    rung_dir dir;
    rung_err err;
    load l;
    rung_memfs_crash(&world, fs, is_kept, bits);
    CHECK_OK(rung_dir_open(&dir, &world.port, PATH, true, &err));
    rung_status st = restore(&dir, &l, &err);
    CHECK(st == RUNG_OK || (st == RUNG_NOT_FOUND && w->done == 0));
    CHECK_MSG(l.begun == (st == RUNG_OK), "a crash must not leave a damaged snapshot: %s",
              l.last_line);
    CHECK(l.seq == w->done || l.seq == w->done + 1);
    CHECK_OK(save(&dir, rung_alloc_heap(), 100, 30, &err));
    CHECK_OK(restore(&dir, &l, &err));
    CHECK_EQ_U64(l.seq, 100);
    rung_dir_close(&dir);
    rung_memfs_deinit(&world);
    w->states++;
}

static void enumerate(void *arg, rung_memfs *fs, const char *call) {
    (void)call;
    watch *w = arg;
    uint64_t bits[8] = {0};
    if (fs->atom_count <= 8) {
        for (bits[0] = 0; bits[0] < (uint64_t)1 << fs->atom_count; bits[0]++)
            check_state(w, fs, bits);
        return;
    }
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 8; k++)
            bits[k] = i == 0 ? 0 : i == 1 ? UINT64_MAX : rung_rng_next(&w->rng);
        check_state(w, fs, bits);
    }
}

TEST(every_crash_leaves_the_old_ones_or_the_new_one) {
    rung_memfs fs;
    rung_dir dir;
    rung_err err;
    watch w = {0};
    rung_rng_seed(&w.rng, test_seed(1));
    begin(&fs, &dir);
    fs.before = enumerate;
    fs.before_arg = &w;
    for (uint64_t seq = 1; seq <= 4; seq++) {
        CHECK_OK(save(&dir, rung_alloc_heap(), seq, (size_t)seq * 700, &err));
        w.done = seq;
        enumerate(&w, &fs, "between");
    }
    CHECK(w.states > 200);
    fs.before = NULL;
    end(&fs, &dir);
}

static void sweep(int os_errno, bool is_sticky) {
    for (uint64_t n = 1;; n++) {
        rung_memfs fs;
        rung_dir dir;
        rung_err err;
        load l;
        begin(&fs, &dir);
        CHECK_OK(save(&dir, rung_alloc_heap(), 1, 100, &err));
        rung_memfs_fail(&fs, n, os_errno, is_sticky);
        rung_status st = save(&dir, rung_alloc_heap(), 2, 70000, &err);
        bool has_failed = fs.has_failed;
        rung_memfs_fail(&fs, 0, 0, false);
        if (os_errno == EINTR || !has_failed)
            CHECK_OK(st);
        uint64_t bits[8] = {0};
        watch w = {.done = st == RUNG_OK ? 2 : 1};
        check_state(&w, &fs, bits);
        CHECK_OK(restore(&dir, &l, &err));
        CHECK(l.seq == w.done || l.seq == 2);
        CHECK_OK(save(&dir, rung_alloc_heap(), 3, 10, &err));
        CHECK_OK(restore(&dir, &l, &err));
        CHECK_EQ_U64(l.seq, 3);
        end(&fs, &dir);
        if (!has_failed)
            break;
    }
}

TEST(any_call_fails_once) {
    sweep(EIO, false);
}
TEST(any_call_fails_for_good) {
    sweep(EIO, true);
}
TEST(no_space) {
    sweep(ENOSPC, true);
}
TEST(interrupted) {
    sweep(EINTR, false);
}

TEST(any_allocation_fails) {
    for (uint64_t n = 1;; n++) {
        rung_memfs fs;
        rung_dir dir;
        rung_err err;
        rung_failalloc fa;
        begin(&fs, &dir);
        rung_failalloc_init(&fa);
        rung_failalloc_fail_at(&fa, n, false);
        rung_status st = save(&dir, rung_failalloc_port(&fa), 1, 100, &err);
        CHECK(st == RUNG_OK || st == RUNG_ENOMEM);
        bool is_over = fa.failed_count == 0;
        rung_failalloc_deinit(&fa);
        end(&fs, &dir);
        if (is_over)
            break;
    }
}

RUNG_TEST_MAIN
