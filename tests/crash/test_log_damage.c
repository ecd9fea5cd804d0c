/* SPDX-License-Identifier: Apache-2.0 */
/* Damage of every kind, exhaustively on a small log: cut at every byte, flip every bit, zero, swap and repeat every
 * sector, lose, swap and copy files. The outcome must be all the records, exactly, or a refusal that names the
 * place. Only one thing may cost records: the loss of whole sectors of the last batch before any mark
 * was written, which nobody can tell from a crash. */
/* ctest: timeout=180 labels=slow */
#include "support/check.h"
#include "support/logkit.h"
#include "support/rng.h"

#include <string.h>

static const char *const FILES[] = {"00000000000000000001-00000001.seg",
                                    "00000000000000000013-00000001.seg",
                                    "00000000000000000025-00000002.seg", "high-water"};
enum { FILE_COUNT = 4, RECORDS = 36, LAST_BATCH = 3 };

typedef struct fixture {
    rung_memfs fs;
    rung_segment_log_config config;
    uint64_t refused, whole;
} fixture;

/* Two runs, three segments of twelve records; the end is a clean close, or a kill with the mark far behind. */
static void build(fixture *f, bool is_clean) {
    *f = (fixture){0};
    rung_memfs_init(&f->fs);
    f->config = logkit_config(&f->fs, 8192);
    f->config.mark_every = 100;
    rung_segment_log *log;
    rung_err err;
    uint64_t seq = 1, unused;
    CHECK_OK(logkit_open(&f->config, true, &log, &err));
    for (; seq <= 24; seq += 3)
        if (seq == 13) { /* force the change of segments with a batch that fits nowhere else */
            CHECK_OK(logkit_append(log, seq, 12, &err));
            seq += 9;
        } else {
            CHECK_OK(logkit_append(log, seq, 3, &err));
        }
    CHECK_OK(rung_segment_log_close(log, &err));
    CHECK_OK(logkit_open(&f->config, true, &log, &err));
    for (; seq <= RECORDS; seq += 3)
        CHECK_OK(logkit_append(log, seq, 3, &err));
    if (is_clean)
        CHECK_OK(rung_segment_log_close(log, &err));
    else
        logkit_abandon(&f->fs, log);
    CHECK_OK(logkit_open(&f->config, false, &log, &err));
    CHECK_OK(logkit_read(log, &unused, &seq, &err));
    CHECK_EQ_U64(seq, RECORDS);
    CHECK_OK(rung_segment_log_close(log, &err));
    for (int i = 0; i < FILE_COUNT; i++)
        CHECK_MSG(rung_memfs_bytes(&f->fs, LOGKIT_PATH, FILES[i]) != NULL, "no file %s", FILES[i]);
}

/* Open and read. `may_lose` records at the end may be missing. */
static void judge(fixture *f, uint64_t may_lose, const char *what, size_t where) {
    rung_segment_log *log;
    rung_err err = {0};
    uint64_t first = 0, last = 0;
    rung_status st = rung_segment_log_open(&f->config, &log, &err);
    if (st == RUNG_OK) {
        st = logkit_read(log, &first, &last, &err);
        if (st == RUNG_OK && first != 1) { /* nobody who wants the beginning gets it */
            rung_log_cursor *cursor;
            st = rung_log_cursor_open(rung_segment_log_port(log), 1, &cursor, &err);
        }
        rung_segment_log_close(log, NULL);
    }
    if (st == RUNG_OK) {
        CHECK_MSG(last + may_lose >= RECORDS && last <= RECORDS,
                  "%s at %zu: %llu records came back", what, where, (unsigned long long)last);
        f->whole++;
        return;
    }
    CHECK_MSG(st == RUNG_ECORRUPT || st == RUNG_EVERSION || st == RUNG_ESTALE, "%s at %zu: %s",
              what, where, rung_status_name(st));
    bool is_named = strstr(err.message, "segment ") || strstr(err.message, RUNG_HIGH_WATER_NAME) ||
                    strstr(err.message, "sequence ");
    CHECK_MSG(is_named, "%s at %zu: the refusal does not say where: %s", what, where, err.message);
    f->refused++;
}

static void cut_everywhere(bool is_clean) {
    fixture f;
    build(&f, is_clean);
    for (int i = 0; i < FILE_COUNT; i++) {
        memfs_bytes *b = rung_memfs_bytes(&f.fs, LOGKIT_PATH, FILES[i]);
        size_t size = b->size;
        for (size_t cut = 0; cut < size; cut++) {
            b->size = cut;
            uint64_t whole = f.whole;
            judge(&f, 0, "cut", cut);
            /* Without its footer, the second looks as if its sealing had been interrupted: records are all there. */
            CHECK_MSG(i == 3 || i == 1 || f.whole == whole, "%s cut to %zu bytes was accepted",
                      FILES[i], cut);
        }
        b->size = size;
    }
    rung_memfs_deinit(&f.fs);
}

TEST(cut_at_every_byte_after_a_clean_end) {
    cut_everywhere(true);
}
TEST(cut_at_every_byte_after_a_kill) {
    cut_everywhere(false);
}

/* All bits where something is written; every 61st byte of the zeros, all of them in a long run. */
static void flip_everywhere(bool is_clean) {
    fixture f;
    build(&f, is_clean);
    bool is_long = test_steps(1) > 1;
    for (int i = 0; i < FILE_COUNT; i++) {
        memfs_bytes *b = rung_memfs_bytes(&f.fs, LOGKIT_PATH, FILES[i]);
        for (size_t at = 0; at < b->size; at++) {
            if (!is_long && b->bytes[at] == 0 && at % 61 != 0)
                continue;
            for (int bit = 0; bit < 8; bit++) {
                b->bytes[at] ^= (uint8_t)(1 << bit);
                judge(&f, 0, "flip", at);
                b->bytes[at] ^= (uint8_t)(1 << bit);
            }
        }
    }
    CHECK(f.refused > 10000);
    rung_memfs_deinit(&f.fs);
}

TEST(flip_every_bit_after_a_clean_end) {
    flip_everywhere(true);
}
TEST(flip_every_bit_after_a_kill) {
    flip_everywhere(false);
}

/* Where the last batch stands, nobody can tell lost sectors from a crash: it alone may go. */
static uint64_t may_lose(bool is_clean, int file) {
    return !is_clean && file == 2 ? LAST_BATCH : 0;
}

static void spoil_sectors(bool is_clean) {
    fixture f;
    build(&f, is_clean);
    uint8_t saved[512], other[512];
    for (int i = 0; i < FILE_COUNT; i++) {
        memfs_bytes *b = rung_memfs_bytes(&f.fs, LOGKIT_PATH, FILES[i]);
        for (size_t at = 0; at + 512 <= b->size; at += 512) {
            memcpy(saved, b->bytes + at, 512);
            memset(b->bytes + at, 0, 512);
            judge(&f, may_lose(is_clean, i), "zeroed sector", at);
            memset(b->bytes + at, 0xff, 512);
            judge(&f, 0, "filled sector", at);
            for (int k = 0; k < FILE_COUNT; k++) {
                memfs_bytes *from = rung_memfs_bytes(&f.fs, LOGKIT_PATH, FILES[k]);
                for (size_t pos = 0; pos + 512 <= from->size; pos += 512) {
                    memcpy(b->bytes + at, saved, 512);
                    memcpy(other, from->bytes + pos, 512);
                    memcpy(b->bytes + at, other, 512);
                    judge(&f, may_lose(is_clean, i), "repeated sector", at);
                    memcpy(from->bytes + pos, saved, 512);
                    judge(&f, may_lose(is_clean, i) | may_lose(is_clean, k), "swapped sectors", at);
                    memcpy(from->bytes + pos, other, 512);
                }
            }
            memcpy(b->bytes + at, saved, 512);
        }
    }
    judge(&f, 0, "nothing", 0);
    rung_memfs_deinit(&f.fs);
}

TEST(spoil_every_sector_after_a_clean_end) {
    spoil_sectors(true);
}
TEST(spoil_every_sector_after_a_kill) {
    spoil_sectors(false);
}

static void swap_bytes(memfs_bytes *a, memfs_bytes *b) {
    memfs_bytes t = *a;
    *a = *b;
    *b = t;
}

TEST(files_lost_swapped_or_copied_are_refused) {
    for (int i = 0; i < FILE_COUNT; i++) {
        fixture f;
        build(&f, i % 2);
        rung_memfs_remove(&f.fs, LOGKIT_PATH, FILES[i]);
        judge(&f, 0, "lost file", (size_t)i);
        CHECK_EQ_U64(f.refused, 1);
        rung_memfs_deinit(&f.fs);
    }
    for (int i = 0; i < FILE_COUNT; i++)
        for (int k = 0; k < FILE_COUNT; k++) {
            fixture f;
            build(&f, true);
            memfs_bytes *a = rung_memfs_bytes(&f.fs, LOGKIT_PATH, FILES[i]);
            memfs_bytes *b = rung_memfs_bytes(&f.fs, LOGKIT_PATH, FILES[k]);
            swap_bytes(a, b);
            judge(&f, 0, "swapped files", (size_t)i);
            swap_bytes(a, b);
            rung_memfs_resize(a, b->size);
            if (a != b)
                memcpy(a->bytes, b->bytes, b->size);
            judge(&f, 0, "copied file", (size_t)i);
            CHECK_EQ_U64(f.refused, i == k ? 0 : 2);
            rung_memfs_deinit(&f.fs);
        }
}

TEST(the_refusal_names_segment_offset_and_sequence) {
    fixture f;
    build(&f, true);
    memfs_bytes *b = rung_memfs_bytes(&f.fs, LOGKIT_PATH, FILES[1]);
    b->bytes[4096 + 40] ^= 1; /* in the payload of record 13 */
    rung_segment_log *log;
    rung_err err;
    uint64_t first, last;
    CHECK_OK(rung_segment_log_open(&f.config, &log, &err));
    CHECK_STATUS(logkit_read(log, &first, &last, &err), RUNG_ECORRUPT);
    CHECK_EQ_U64(last, 12);
    CHECK_EQ_STR(err.message,
                 "segment 00000000000000000013-00000001.seg, offset 4096, sequence 13: "
                 "the payload does not match its checksum");
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&f.fs);
}

/* A batch that reached the disk in part is cut, said, and kept aside. */
static void note(void *ctx, const char *line) {
    strncpy(ctx, line, 255);
}

TEST(a_torn_tail_is_saved_before_it_is_cut) {
    fixture f;
    build(&f, false);
    memfs_bytes *b = rung_memfs_bytes(&f.fs, LOGKIT_PATH, FILES[2]);
    size_t end = b->size;
    while (b->bytes[end - 1] == 0)
        end--;
    size_t sector = (end - 1) / 512 * 512;
    memset(b->bytes + sector, 0, 512);
    char said[256] = {0};
    f.config.say = note;
    f.config.say_ctx = said;
    rung_segment_log *log;
    rung_err err;
    uint64_t first, last;
    CHECK_OK(logkit_open(&f.config, true, &log, &err));
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK(last >= RECORDS - LAST_BATCH && last < RECORDS);
    CHECK(strstr(said, "torn tail of ") && strstr(said, FILES[2]) && strstr(said, "copy in torn-"));
    const char *copy = strstr(said, "torn-");
    memfs_bytes *saved = rung_memfs_bytes(&f.fs, LOGKIT_PATH, copy);
    CHECK(saved != NULL);
    CHECK_EQ_U64(saved->size, rung_segment_log_stat(log).torn_bytes);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&f.fs);
}

RUNG_TEST_MAIN
