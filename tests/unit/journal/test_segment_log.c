/* SPDX-License-Identifier: Apache-2.0 */
/* The segment log in fair weather, on the disk in memory: order, rotation, restart, removal, limits. */
#include "support/check.h"
#include "support/logkit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

TEST(an_empty_folder_becomes_a_log) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_segment_log *log;
    rung_err err;
    uint64_t first, last;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_EQ_U64(first, 1);
    CHECK_EQ_U64(last, 0);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

TEST(records_come_back_after_a_clean_end_over_many_segments) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_err err;
    uint64_t next = 1, first, last;
    for (int run = 0; run < 5; run++) {
        rung_segment_log *log;
        CHECK_OK(logkit_open(&config, true, &log, &err));
        CHECK_OK(logkit_read(log, &first, &last, &err));
        CHECK_EQ_U64(last, next - 1);
        for (size_t count = 1; count < 20; next += count, count++) {
            CHECK_OK(logkit_append(log, next, count, &err));
            CHECK(rung_segment_log_maintain(log, count % 3 == 0, &err) >= 0);
        }
        CHECK_OK(logkit_read(log, &first, &last, &err));
        CHECK_EQ_U64(last, next - 1);
        CHECK(rung_segment_log_stat(log).segment_count > 3);
        CHECK_OK(rung_segment_log_close(log, &err));
    }
    rung_memfs_deinit(&fs);
}

TEST(records_come_back_after_a_kill) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_err err;
    uint64_t next = 1, first, last;
    for (int run = 0; run < 12; run++) {
        rung_segment_log *log;
        CHECK_OK(logkit_open(&config, true, &log, &err));
        for (size_t count = 1; count < (size_t)run + 2; next += count, count++)
            CHECK_OK(logkit_append(log, next, count, &err));
        logkit_abandon(&fs, log);
        CHECK_OK(logkit_open(&config, run % 2, &log, &err));
        CHECK_OK(logkit_read(log, &first, &last, &err));
        CHECK_EQ_U64(last, next - 1);
        logkit_abandon(&fs, log);
    }
    rung_memfs_deinit(&fs);
}

/* What a killed run left may be in the page cache alone: it is sure when a start has written it again. */
TEST(a_tail_is_sure_after_the_start) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_segment_log *log;
    rung_err err;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_OK(logkit_append(log, 1, 3, &err));
    logkit_abandon(&fs, log);
    CHECK_OK(logkit_open(&config, false, &log, &err));
    CHECK_EQ_U64(rung_log_durable_seq(rung_segment_log_port(log)), 3);
    CHECK_EQ_U64(rung_log_sure_seq(rung_segment_log_port(log)), 0);
    CHECK_OK(rung_segment_log_start(log, &err));
    CHECK_EQ_U64(rung_log_sure_seq(rung_segment_log_port(log)), 3);
    CHECK_OK(logkit_append(log, 4, 2, &err));
    CHECK_EQ_U64(rung_log_sure_seq(rung_segment_log_port(log)), 5);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

TEST(restarts_without_records_leave_no_trace) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_err err;
    for (int run = 0; run < 10; run++) {
        rung_segment_log *log;
        CHECK_OK(logkit_open(&config, true, &log, &err));
        CHECK_EQ_U64(rung_segment_log_stat(log).segment_count, 1);
        CHECK_EQ_U64(rung_segment_log_stat(log).epoch, (uint64_t)run + 1);
        if (run % 2)
            logkit_abandon(&fs, log);
        else
            CHECK_OK(rung_segment_log_close(log, &err));
    }
    rung_memfs_deinit(&fs);
}

TEST(a_batch_is_one_write_and_one_sync) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 1 << 20);
    config.mark_every = 1000;
    rung_segment_log *log;
    rung_err err;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    uint64_t writes = fs.write_count, syncs = fs.sync_count;
    CHECK_OK(logkit_append(log, 1, LOGKIT_BATCH_MAX, &err));
    CHECK_EQ_U64(fs.write_count - writes, 1);
    CHECK_EQ_U64(fs.sync_count - syncs, 1);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

TEST(a_second_opener_is_told_who_holds_the_folder) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_segment_log *log, *second;
    rung_err err;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_STATUS(rung_segment_log_open(&config, &second, &err), RUNG_EBUSY);
    CHECK(strstr(err.message, "in use by another process (pid ") != NULL);
    CHECK(strstr(err.message, "unknown") == NULL);
    config.is_read_only = true;
    CHECK_OK(rung_segment_log_open(&config, &second, &err));
    CHECK_STATUS(rung_segment_log_start(second, &err), RUNG_EINVAL);
    CHECK_OK(rung_segment_log_close(second, &err));
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

TEST(limits_are_checked_before_anything_changes) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_segment_log *log;
    rung_err err;
    uint64_t seq;
    config.segment_size = 1000;
    CHECK_STATUS(rung_segment_log_open(&config, &log, &err), RUNG_EINVAL);
    config.segment_size = 8192;
    CHECK_OK(rung_segment_log_open(&config, &log, &err));
    rung_log_entry entry = {.payload = logkit_payload(1), .type = logkit_type(1)};
    CHECK_STATUS(rung_segment_log_append(log, &entry, 1, &seq, &err),
                 RUNG_EINVAL); /* not started */
    CHECK_OK(rung_segment_log_start(log, &err));
    CHECK_STATUS(rung_segment_log_append(log, &entry, 0, &seq, &err), RUNG_EINVAL);
    entry.payload.len = RUNG_LOG_RECORD_MAX + 1; /* must not be read */
    CHECK_STATUS(rung_segment_log_append(log, &entry, 1, &seq, &err), RUNG_ELIMIT);
    entry.payload.len = 8192; /* longer than the segment */
    CHECK_STATUS(rung_segment_log_append(log, &entry, 1, &seq, &err), RUNG_ELIMIT);
    CHECK_OK(logkit_append(log, 1, 3, &err));
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

TEST(a_batch_that_fills_the_segment_exactly_fits) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_segment_log *log;
    rung_err err;
    uint64_t seq, durable;
    static char bytes[8192];
    memset(bytes, 'x', sizeof bytes);
    CHECK_OK(logkit_open(&config, true, &log, &err));
    size_t max = rung_segment_log_batch_bytes_max(log) - RUNG_RECORD_HEADER_SIZE;
    for (uint64_t i = 1; i <= 3; i++) {
        rung_log_entry entry = {.payload = rung_slice_of(bytes, max), 1};
        CHECK_OK(rung_segment_log_append(log, &entry, 1, &seq, &err));
        CHECK_OK(rung_segment_log_sync(log, &durable, &err));
        CHECK_EQ_U64(durable, i);
    }
    logkit_abandon(&fs, log);
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_EQ_U64(rung_log_durable_seq(rung_segment_log_port(log)), 3);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

TEST(truncation_removes_whole_sealed_segments_only) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_segment_log *log;
    rung_err err;
    uint64_t first, last;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    rung_log *port = rung_segment_log_port(log);
    for (uint64_t seq = 1; seq <= 400; seq += 10)
        CHECK_OK(logkit_append(log, seq, 10, &err));
    rung_segment_info segments[64];
    size_t count = rung_segment_log_segments(log, segments, 64);
    CHECK(count > 4);
    CHECK_STATUS(rung_segment_log_truncate_before(log, segments[0].last_seq, &err), RUNG_UNCHANGED);
    rung_segment_log_pin(log);
    CHECK_STATUS(rung_segment_log_truncate_before(log, 300, &err), RUNG_UNCHANGED);
    rung_segment_log_unpin(log);
    CHECK_OK(rung_segment_log_truncate_before(log, segments[2].last_seq, &err));
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_EQ_U64(first, segments[2].first_seq);
    CHECK_EQ_U64(last, 400);
    rung_log_cursor *cursor;
    CHECK_STATUS(rung_log_cursor_open(port, 1, &cursor, &err), RUNG_ESTALE);
    CHECK_OK(rung_segment_log_truncate_before(log, UINT64_MAX, &err)); /* the open one stays */
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_EQ_U64(last, 400);
    CHECK_OK(rung_segment_log_close(log, &err));
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_OK(logkit_append(log, 401, 5, &err));
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

TEST(a_cursor_follows_the_writer_and_never_runs_ahead) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_segment_log *log;
    rung_err err;
    rung_log_cursor *cursor;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    rung_log *port = rung_segment_log_port(log);
    CHECK_OK(rung_log_cursor_open(port, 1, &cursor, &err));
    uint64_t next = 1, seq, durable;
    for (uint64_t at = 1; at <= 300; at++) {
        rung_log_record r;
        size_t count;
        CHECK_STATUS(rung_log_cursor_read(cursor, &r, 1, &count, &err), RUNG_NOT_FOUND);
        rung_log_entry entry = {logkit_payload(at), .type = logkit_type(at)};
        CHECK_OK(rung_segment_log_append(log, &entry, 1, &seq, &err));
        CHECK_STATUS(rung_log_cursor_read(cursor, &r, 1, &count, &err),
                     RUNG_NOT_FOUND); /* not durable */
        CHECK_OK(rung_segment_log_sync(log, &durable, &err));
        CHECK_OK(rung_log_cursor_read(cursor, &r, 1, &count, &err));
        CHECK_EQ_U64(r.seq, next++);
        CHECK(rung_slice_eq(r.payload, logkit_payload(at)));
    }
    rung_log_cursor_close(cursor);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

TEST(a_cursor_opened_before_the_start_goes_over_to_the_new_segment) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    config.mark_every = 100;
    rung_segment_log *log;
    rung_err err;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    for (uint64_t seq = 1; seq <= 9; seq++)
        CHECK_OK(logkit_append(log, seq, 1, &err));
    logkit_abandon(&fs, log);

    CHECK_OK(rung_segment_log_open(&config, &log, &err));
    rung_log_cursor *cursor;
    rung_log_record r;
    size_t count;
    CHECK_OK(rung_log_cursor_open(rung_segment_log_port(log), 1, &cursor, &err));
    for (uint64_t seq = 1; seq <= 4; seq++)
        CHECK_OK(rung_log_cursor_read(cursor, &r, 1, &count, &err));
    CHECK_OK(rung_segment_log_start(log, &err)); /* all nine move: the mark was at the beginning */
    CHECK_OK(logkit_append(log, 10, 2, &err));
    for (uint64_t seq = 5; seq <= 11; seq++) {
        CHECK_OK(rung_log_cursor_read(cursor, &r, 1, &count, &err));
        CHECK_EQ_U64(r.seq, seq);
        CHECK(rung_slice_eq(r.payload, logkit_payload(seq)));
    }
    rung_log_cursor_close(cursor);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

TEST(a_full_disk_refuses_loses_nothing_and_comes_back) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_segment_log *log;
    rung_err err;
    uint64_t first, last, next = 1;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    fs.space = 5 * 8192 + 8192; /* some segments, the mark, the lock */
    rung_status st;
    while ((st = logkit_append(log, next, 4, &err)) == RUNG_OK)
        next += 4;
    CHECK_STATUS(st, RUNG_ENOSPC);
    for (int i = 0; i < 10; i++)
        CHECK_STATUS(logkit_append(log, next, 14, &err), RUNG_ENOSPC);
    CHECK_OK(logkit_read(log, &first, &last, &err)); /* reads go on */
    CHECK_EQ_U64(last, next - 1);
    fs.space += 8192 * 4;
    CHECK_OK(logkit_append(log, next, 14, &err));
    next += 14;
    logkit_abandon(&fs, log);
    fs.space = 1; /* full again, but the spare of the last run is there */
    CHECK_OK(logkit_open(&config, false, &log, &err));
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_EQ_U64(last, next - 1);
    logkit_abandon(&fs, log);
    rung_memfs_deinit(&fs);
}

/* Everybody waits for the first segment of a start, so it is no longer than 4 MiB, and what a spare of the usual size
 * has more goes back. A batch that is too long for it goes into the next one. */
TEST(a_start_begins_with_a_short_segment) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    const uint64_t brief = 4 << 20, usual = 6 << 20;
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_segment_log *log;
    rung_segment_info found[4];
    rung_err err;
    uint64_t first, last;
    config.segment_size = usual;
    for (int run = 0; run < 2; run++) {
        CHECK_OK(logkit_open(&config, true, &log, &err));
        size_t count = rung_segment_log_segments(log, found, 4);
        CHECK_EQ_U64(found[count - 1].capacity, brief);
        CHECK_OK(logkit_append(log, 1 + (uint64_t)run * 10, 10, &err));
        CHECK_OK(rung_segment_log_prepare(log, &err)); /* of the usual size */
        logkit_abandon(&fs, log);
    }
    CHECK_OK(logkit_open(&config, true, &log, &err));
    static char payload[1 << 20];
    rung_log_entry long_one[5];
    for (int i = 0; i < 5; i++)
        long_one[i] =
            (rung_log_entry){.payload = rung_slice_of(payload, sizeof payload - 1024), .type = 1};
    CHECK_OK(rung_segment_log_append(log, long_one, 5, &first, &err));
    CHECK_OK(rung_segment_log_sync(log, &last, &err));
    CHECK_EQ_U64(first, 21);
    CHECK_EQ_U64(last, 25);
    size_t count = rung_segment_log_segments(log, found, 4);
    CHECK_EQ_U64(found[count - 1].capacity, usual);
    CHECK_EQ_U64(found[count - 1].first_seq, 21);
    logkit_abandon(&fs, log);
    rung_memfs_deinit(&fs);
}

TEST(a_start_on_a_full_disk_uses_the_spare_of_the_last_run) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_segment_log *log;
    rung_err err;
    uint64_t first, last;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_OK(logkit_append(log, 1, 10, &err));
    CHECK_OK(rung_segment_log_prepare(log, &err));
    CHECK_STATUS(rung_segment_log_prepare(log, &err), RUNG_UNCHANGED);
    CHECK(rung_segment_log_stat(log).is_spare_ready);
    logkit_abandon(&fs, log);
    fs.space = 1;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_OK(logkit_append(log, 11, 10, &err));
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_EQ_U64(last, 20);
    logkit_abandon(&fs, log);
    CHECK_STATUS(logkit_open(&config, true, &log, &err), RUNG_ENOSPC); /* none left */
    fs.space = 0;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_EQ_U64(last, 20);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

/* Without a descriptor there is no next segment. That passes, so it is no failure of the log. */
static bool is_out_of_files;
static int (*open_really)(void *ctx, int dir, const char *name, int mode);

static int open_if_possible(void *ctx, int dir, const char *name, int mode) {
    return is_out_of_files ? -EMFILE : open_really(ctx, dir, name, mode);
}

TEST(without_a_descriptor_the_log_waits) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    open_really = fs.port.open;
    fs.port.open = open_if_possible;
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_segment_log *log;
    rung_err err;
    uint64_t first, last, next = 1;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    is_out_of_files = true;
    rung_status st;
    while ((st = logkit_append(log, next, 4, &err)) == RUNG_OK)
        next += 4;
    CHECK_STATUS(st, RUNG_ENOSPC);
    CHECK_EQ_I64(err.os_errno, EMFILE);
    is_out_of_files = false;
    CHECK_OK(logkit_append(log, next, 4, &err));
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_EQ_U64(last, next + 3);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

TEST(a_start_without_space_is_made_up_for_later) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_segment_log *log;
    rung_err err;
    uint64_t first, last;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_OK(logkit_append(log, 1, 10, &err));
    logkit_abandon(&fs, log);
    fs.space = 1;
    CHECK_OK(logkit_open(&config, false, &log, &err));
    CHECK_STATUS(rung_segment_log_start(log, &err), RUNG_ENOSPC);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rung_segment_log_maintain(log, true, &err)); /* in vain */
        CHECK_STATUS(rung_segment_log_prepare(log, &err), RUNG_ENOSPC);
        CHECK_STATUS(logkit_append(log, 11, 1, &err), RUNG_ENOSPC);
        CHECK_OK(logkit_read(log, &first, &last, &err)); /* reads go on */
        CHECK_EQ_U64(last, 10);
    }
    fs.space = 0;
    CHECK_STATUS(rung_segment_log_maintain(log, true, &err), RUNG_PARTIAL);
    CHECK_OK(rung_segment_log_prepare(log, &err));
    CHECK_OK(logkit_append(log, 11, 10, &err));
    CHECK_OK(rung_segment_log_close(log, &err));
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_EQ_U64(last, 20);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

TEST(relaxed_appends_share_a_sync) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    config.is_relaxed = true;
    rung_segment_log *log;
    rung_err err;
    uint64_t seq, durable, first, last, next = 1;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 5; i++, next++) {
            rung_log_entry entry = {.payload = logkit_payload(next), .type = logkit_type(next)};
            CHECK_OK(rung_segment_log_append(log, &entry, 1, &seq, &err));
        }
        CHECK_OK(rung_segment_log_sync(log, &durable, &err));
        CHECK_EQ_U64(durable, next - 1);
        CHECK(rung_segment_log_maintain(log, false, &err) >= 0);
    }
    logkit_abandon(&fs, log);
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_EQ_U64(last, next - 1);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

TEST(a_smaller_segment_size_is_no_obstacle_to_a_long_tail) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 1 << 16);
    config.mark_every = 1000;
    rung_segment_log *log;
    rung_err err;
    uint64_t first, last;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    for (uint64_t seq = 1; seq <= 200; seq += 20)
        CHECK_OK(logkit_append(log, seq, 20, &err));
    logkit_abandon(&fs, log);
    config.segment_size = 8192;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    for (uint64_t seq = 201; seq <= 400; seq += 10)
        CHECK_OK(logkit_append(log, seq, 10, &err));
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_EQ_U64(last, 400);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&fs);
}

/* ---- what the page cache shows and the disk does not have ---- */

static bool keep_none(void *arg, size_t atom) {
    (void)arg, (void)atom;
    return false;
}

/* The power goes. What is on the disk must open, with no less than the records up to `least`. */
static void check_power_cut(const rung_memfs *fs, uint64_t least) {
    rung_memfs world;
    rung_segment_log *log;
    rung_err err = {0};
    uint64_t first, last;
    rung_memfs_crash(&world, fs, keep_none, NULL);
    world.space = 0;
    rung_segment_log_config config = logkit_config(&world, 0);
    rung_status st = logkit_open(&config, true, &log, &err);
    CHECK_MSG(st == RUNG_OK, "after the power cut: %s", err.message);
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK(last >= least);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&world);
}

/* Appends batches of three, the first of record `next`, and is killed. */
static void one_life(rung_memfs *fs, uint64_t next, int batches) {
    rung_segment_log_config config = logkit_config(fs, 0);
    rung_segment_log *log;
    rung_err err;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    for (int i = 0; i < batches; i++, next += 3) {
        CHECK_OK(logkit_append(log, next, 3, &err));
        CHECK(rung_segment_log_maintain(log, true, &err) >= 0);
    }
    logkit_abandon(fs, log);
}

/* A start seals the last segment; if that sync fails the page cache shows a footer that the disk never gets. */
TEST(a_seal_whose_sync_failed_is_written_again) {
    for (uint64_t n = 1;; n++) {
        rung_memfs fs;
        rung_memfs_init(&fs);
        rung_segment_log_config config = logkit_config(&fs, 0);
        rung_segment_log *log;
        one_life(&fs, 1, 4);
        CHECK_OK(rung_segment_log_open(&config, &log, NULL));
        fs.only = 's';
        rung_memfs_fail(&fs, n, EIO, false);
        rung_status st = rung_segment_log_start(log, NULL);
        bool has_failed = fs.has_failed;
        rung_memfs_fail(&fs, 0, 0, false);
        fs.only = 0;
        logkit_abandon(&fs, log);
        CHECK(st == (has_failed ? RUNG_EIO : RUNG_OK));
        one_life(&fs, 13, 1);
        one_life(&fs, 16, 1);
        check_power_cut(&fs, 18);
        rung_memfs_deinit(&fs);
        if (!has_failed)
            break;
    }
}

/* A sync fails, the next life finds the disk full: it shows records that only the page cache has. */
TEST(a_tail_shown_on_a_full_disk_is_written_again) {
    rung_memfs fs;
    rung_memfs_init(&fs);
    rung_segment_log_config config = logkit_config(&fs, 0);
    rung_segment_log *log;
    rung_err err;
    uint64_t first, last;
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_OK(logkit_append(log, 1, 3, &err));
    fs.only = 's';
    rung_memfs_fail(&fs, 1, EIO, false);
    CHECK_STATUS(logkit_append(log, 4, 3, &err), RUNG_EIO);
    rung_memfs_fail(&fs, 0, 0, false);
    fs.only = 0;
    logkit_abandon(&fs, log);
    fs.space = rung_memfs_used(&fs);
    CHECK_OK(rung_segment_log_open(&config, &log, &err));
    CHECK_STATUS(rung_segment_log_start(log, &err), RUNG_ENOSPC);
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK_EQ_U64(last, 6);
    logkit_abandon(&fs, log);
    check_power_cut(&fs, 6);
    rung_memfs_deinit(&fs);
}

static void die_before_folder_sync(void *arg, rung_memfs *fs, const char *call) {
    int *left = arg;
    if (strcmp(call, "dir_sync") == 0 && --*left == 0)
        fs->is_frozen = true;
}

static bool keep_last(void *arg, size_t atom) {
    return atom + 1 == *(const size_t *)arg;
}

/* The power may go now, and of all names only the newest be on the disk. */
static void cut_power(void *arg, rung_memfs *fs, const char *call) {
    rung_memfs world;
    rung_segment_log *log;
    rung_err err = {0};
    (void)arg, (void)call;
    if (fs->is_frozen || fs->atom_count == 0)
        return;
    rung_memfs_crash(&world, fs, keep_last, &fs->atom_count);
    rung_segment_log_config config = logkit_config(&world, 0);
    rung_status st = rung_segment_log_open(&config, &log, &err);
    CHECK_MSG(st == RUNG_OK, "before %s: %s", call, err.message);
    CHECK_OK(rung_segment_log_close(log, &err));
    rung_memfs_deinit(&world);
}

/* A killed life leaves a name in memory only. The next one must not give a name of its own before that is synced. */
TEST(a_name_of_a_killed_life_is_synced_before_the_next_is_given) {
    for (int n = 1; n < 8; n++) {
        rung_memfs fs;
        rung_memfs_init(&fs);
        rung_segment_log_config config = logkit_config(&fs, 0);
        rung_segment_log *log;
        one_life(&fs, 1, 1);
        CHECK_OK(rung_segment_log_open(&config, &log, NULL));
        int left = n;
        fs.before = die_before_folder_sync;
        fs.before_arg = &left;
        rung_ignore(rung_segment_log_start(log, NULL), "it may have died");
        fs.before = NULL;
        logkit_abandon(&fs, log);
        fs.before = cut_power;
        one_life(&fs, 4, 1);
        rung_memfs_deinit(&fs);
    }
}

RUNG_TEST_MAIN
