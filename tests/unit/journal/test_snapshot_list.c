/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a folder's snapshots: times, the nearest one, what is removed; broken files. */
#include "journal/snapshot_list.h"

#include "journal/snapshot_file.h"
#include "support/check.h"
#include "support/memfs.h"

#include <string.h>

static const uint8_t UUID[16] = {9, 8, 7};

static void save(const rung_dir *dir, const uint8_t *uuid, uint64_t seq, int64_t time_ms,
                 const uint64_t *keep, size_t keep_count) {
    rung_snapshot_writer *w;
    rung_snapshot_info info;
    uint8_t digest[32] = {1};
    CHECK_OK(rung_snapshot_writer_begin(dir, rung_alloc_heap(), uuid, seq, &w, NULL));
    CHECK_OK(rung_snapshot_writer_append(w, "state", 5, NULL));
    if (time_ms)
        rung_snapshot_writer_set_time(w, time_ms);
    rung_snapshot_writer_keep(w, keep, keep_count);
    CHECK_OK(rung_snapshot_writer_finish(w, digest, &info, NULL));
    CHECK_OK(rung_snapshot_check(dir, rung_alloc_heap(), uuid, seq, &info, NULL));
    CHECK_EQ_I64(info.time_ms, time_ms);
}

TEST(times_and_the_nearest) {
    rung_memfs fs;
    rung_dir dir;
    rung_snapshot_entries list;
    const uint64_t keep[] = {10, 20, 30, 40, 50};
    rung_memfs_init(&fs);
    CHECK_OK(rung_dir_open(&dir, &fs.port, "data", true, NULL));
    CHECK_OK(rung_snapshot_list_read(&dir, rung_alloc_heap(), UUID, &list, NULL));
    CHECK_EQ_U64(list.count, 0);
    CHECK(!rung_snapshot_nearest(&list, 1, 100));
    rung_snapshot_list_deinit(&list);
    save(&dir, UUID, 10, 0, keep, 5); /* as an older program writes it */
    for (uint64_t seq = 20; seq <= 50; seq += 10)
        save(&dir, UUID, seq, (int64_t)seq * 1000, keep, 5);
    memfs_bytes *b = rung_memfs_bytes(&fs, "data", "snapshot-00000000000000000030.snap");
    b->bytes[b->size - 5] ^= 1; /* the trailer: it is left out */
    CHECK_OK(rung_snapshot_list_read(&dir, rung_alloc_heap(), UUID, &list, NULL));
    CHECK_EQ_U64(list.count, 4);
    CHECK_EQ_I64(list.entries[0].time_ms, 0);
    CHECK_EQ_I64(list.entries[1].time_ms, 20000);
    CHECK_EQ_U64(list.entries[3].file_bytes, 64 + 16 + 5 + 96);
    CHECK_EQ_U64(rung_snapshot_nearest(&list, 1, 49)->seq, 40);
    CHECK_EQ_U64(rung_snapshot_nearest(&list, 1, 50)->seq, 50);
    CHECK_EQ_U64(rung_snapshot_nearest(&list, 21, 39)->seq, 20);
    CHECK(!rung_snapshot_nearest(&list, 22, 39)); /* 21 is gone */
    CHECK(!rung_snapshot_nearest(&list, 1, 9));
    CHECK_EQ_U64(rung_snapshot_nearest_time(&list, 1, 39999)->seq, 20);
    CHECK_EQ_U64(rung_snapshot_nearest_time(&list, 1, INT64_MAX)->seq, 50);
    CHECK_EQ_U64(rung_snapshot_nearest_time(&list, 1, 19999)->seq, 10); /* its time is unknown */
    CHECK(!rung_snapshot_nearest_time(&list, 12, 19999));
    rung_snapshot_list_deinit(&list);
    const uint8_t other[16] = {1};
    CHECK_OK(rung_snapshot_list_read(&dir, rung_alloc_heap(), other, &list, NULL));
    CHECK_EQ_U64(list.count, 0);
    rung_snapshot_list_deinit(&list);
    rung_dir_close(&dir);
    rung_memfs_deinit(&fs);
}

TEST(removing_leaves_two_and_those_to_keep) {
    rung_memfs fs;
    rung_dir dir;
    rung_snapshot_entries list;
    uint64_t keep[100];
    rung_memfs_init(&fs);
    CHECK_OK(rung_dir_open(&dir, &fs.port, "data", true, NULL));
    for (uint64_t seq = 1; seq <= 100; seq++) {
        keep[seq - 1] = seq;
        save(&dir, UUID, seq, 1, keep, seq);
    }
    CHECK_OK(rung_snapshot_list_names(&dir, rung_alloc_heap(), &list, NULL));
    CHECK_EQ_U64(list.count, 100);
    for (size_t i = 0; i < 100; i++)
        CHECK_EQ_U64(list.entries[i].seq, i + 1);
    rung_snapshot_list_deinit(&list);
    const uint64_t some[] = {7, 8, 95};
    rung_snapshot_remove_old(&dir, rung_alloc_heap(), 98, some, 3); /* 99 and 100 are somebody's */
    CHECK_OK(rung_snapshot_list_names(&dir, rung_alloc_heap(), &list, NULL));
    const uint64_t left[] = {7, 8, 95, 97, 98, 99, 100};
    CHECK_EQ_U64(list.count, 7);
    for (size_t i = 0; i < 7; i++)
        CHECK_EQ_U64(list.entries[i].seq, left[i]);
    rung_snapshot_entry e = {.seq = 50}, again = {.seq = 50, .time_ms = 3};
    CHECK_OK(rung_snapshot_list_add(&list, &e, NULL));
    CHECK_OK(rung_snapshot_list_add(&list, &again, NULL));
    CHECK_EQ_U64(list.count, 8);
    CHECK_EQ_I64(list.entries[2].time_ms, 3);
    rung_snapshot_list_deinit(&list);
    rung_dir_close(&dir);
    rung_memfs_deinit(&fs);
}

RUNG_TEST_MAIN
