/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of a log: resumed after every interruption, over a beginning of it only, read back, without its beginning. */
#include "journal/log_copy.h"
#include "journal/segment_copy.h"
#include "support/check.h"
#include "support/failalloc.h"
#include "support/logkit.h"

#include <stdio.h>
#include <string.h>

enum { RECORDS = 60 };
#define TARGET "target"

typedef struct kit {
    rung_memfs fs;
    rung_segment_log_config from, to;
    rung_segment_log *source;
    const rung_alloc *alloc; /* of the copy */
    unsigned looks, stop_at; /* is_stopped is asked; from then on it says yes; 0: never */
    uint64_t done;           /* of the last progress */
    char what[16];
} kit;

static void kit_init(kit *t, uint64_t count) {
    rung_err err;
    *t = (kit){.alloc = rung_alloc_heap()};
    rung_memfs_init(&t->fs);
    t->from = logkit_config(&t->fs, 8192);
    t->from.writer.is_inline = true;
    t->to = t->from;
    t->to.path = TARGET;
    CHECK_OK(logkit_open(&t->from, true, &t->source, &err));
    for (uint64_t seq = 1; seq <= count; seq++)
        CHECK_OK(logkit_append(t->source, seq, 1, &err));
}

static void kit_deinit(kit *t) {
    CHECK_OK(rung_segment_log_close(t->source, NULL));
    rung_memfs_deinit(&t->fs);
}

static void note_progress(void *ctx, const char *what, uint64_t done, uint64_t total) {
    kit *t = ctx;
    CHECK(done <= total);
    if (strcmp(t->what, what) == 0)
        CHECK(done >= t->done);
    snprintf(t->what, sizeof t->what, "%s", what);
    t->done = done;
}

static bool is_stopped(void *ctx) {
    kit *t = ctx;
    return ++t->looks >= t->stop_at && t->stop_at;
}

static rung_status copy(kit *t, rung_log_copy_report *report, rung_err *err) {
    rung_segment_log *target;
    rung_status st = rung_segment_log_open(&t->to, &target, err);
    if (st < 0)
        return st;
    t->looks = 0;
    t->what[0] = '\0';
    rung_log_copy_config config = {.alloc = t->alloc,
                                   .from = rung_segment_log_port(t->source),
                                   .to = rung_segment_log_port(target),
                                   .progress = note_progress,
                                   .is_stopped = is_stopped,
                                   .ctx = t};
    return rung_log_copy(&config, report, err);
}

static void check_target(kit *t, uint64_t first, uint64_t last) {
    rung_segment_log *log;
    uint64_t got_first, got_last;
    rung_err err;
    CHECK_OK(rung_segment_log_open(&t->to, &log, &err));
    CHECK_OK(logkit_read(log, &got_first, &got_last, &err));
    CHECK_EQ_U64(got_last, last);
    CHECK_EQ_U64(got_first, first);
    CHECK_OK(rung_segment_log_close(log, &err));
}

TEST(all_records_with_their_sequences) {
    kit t;
    rung_log_copy_report r;
    rung_err err = {0};
    kit_init(&t, RECORDS);
    CHECK_OK(copy(&t, &r, &err));
    CHECK_EQ_U64(r.first_seq, 1);
    CHECK_EQ_U64(r.last_seq, RECORDS);
    CHECK_EQ_U64(r.copied, RECORDS);
    CHECK_EQ_U64(r.present + r.filled, 0);
    CHECK_EQ_STR(t.what, "verifying");
    CHECK_EQ_U64(t.done, RECORDS);
    check_target(&t, 1, RECORDS);
    CHECK_OK(copy(&t, &r, &err)); /* again: there is nothing to do */
    CHECK_EQ_U64(r.present, RECORDS);
    CHECK_EQ_U64(r.copied, 0);
    CHECK_OK(logkit_append(t.source, RECORDS + 1, 3, &err)); /* and what came meanwhile */
    CHECK_OK(copy(&t, &r, &err));
    CHECK_EQ_U64(r.copied, 3);
    check_target(&t, 1, RECORDS + 3);
    kit_deinit(&t);
}

TEST(an_empty_log) {
    kit t;
    rung_log_copy_report r;
    kit_init(&t, 0);
    CHECK_OK(copy(&t, &r, NULL));
    CHECK_EQ_U64(r.last_seq, 0);
    kit_deinit(&t);
}

TEST(stopped_anywhere_and_run_again) {
    for (unsigned stop = 1, is_done = 0; !is_done; stop++) {
        kit t;
        rung_log_copy_report r;
        rung_err err = {0};
        kit_init(&t, RECORDS);
        t.stop_at = stop;
        rung_status st = copy(&t, &r, &err);
        is_done = st == RUNG_OK;
        if (!is_done) {
            CHECK_STATUS(st, RUNG_ECLOSED);
            CHECK(strstr(err.message, "run it again") != NULL);
            t.stop_at = 0;
            CHECK_OK(copy(&t, &r, &err));
            CHECK_EQ_U64(r.present + r.copied, RECORDS);
        }
        check_target(&t, 1, RECORDS);
        kit_deinit(&t);
    }
}

static void append_text(kit *t, const char *text, uint16_t type) {
    rung_segment_log *log;
    uint64_t unused;
    rung_err err;
    rung_log_entry entry = {.payload = rung_slice_str(text), .type = type};
    CHECK_OK(logkit_open(&t->to, true, &log, &err));
    CHECK_OK(rung_segment_log_append(log, &entry, 1, &unused, &err));
    CHECK_OK(rung_segment_log_sync(log, &unused, &err));
    CHECK_OK(rung_segment_log_close(log, &err));
}

TEST(a_target_with_something_else_is_refused) {
    kit t;
    rung_log_copy_report r;
    rung_err err = {0};
    kit_init(&t, 1);
    append_text(&t, "another", logkit_type(1));
    CHECK_STATUS(copy(&t, &r, &err), RUNG_EREFUSED);
    CHECK(strstr(err.message, "sequence 1 ") != NULL);
    kit_deinit(&t);

    kit_init(&t, 5); /* the same, and then more */
    CHECK_OK(copy(&t, &r, &err));
    append_text(&t, "more", 1);
    CHECK_STATUS(copy(&t, &r, &err), RUNG_EREFUSED);
    CHECK(strstr(err.message, "ends at sequence 6 and the source at 5") != NULL);
    kit_deinit(&t);

    char bytes[LOGKIT_PAYLOAD_MAX]; /* the same bytes, of another type */
    rung_slice payload = logkit_payload_into(1, bytes);
    bytes[payload.len] = '\0';
    kit_init(&t, 1);
    append_text(&t, bytes, (uint16_t)(logkit_type(1) + 1));
    CHECK_STATUS(copy(&t, &r, &err), RUNG_EREFUSED);
    kit_deinit(&t);
}

/* The source has lost its beginning. */
static void shorten(kit *t) {
    CHECK_OK(rung_segment_log_truncate_before(t->source, RECORDS - 10, NULL));
    CHECK(rung_log_first_seq(rung_segment_log_port(t->source)) > 1);
}

TEST(what_is_gone_is_filled_with_records_that_say_so) {
    kit t;
    rung_log_copy_report r;
    rung_err err = {0};
    kit_init(&t, RECORDS);
    shorten(&t);
    uint64_t first = rung_log_first_seq(rung_segment_log_port(t.source));
    t.stop_at = 1; /* in the middle of it */
    CHECK_STATUS(copy(&t, &r, &err), RUNG_ECLOSED);
    t.stop_at = 0;
    CHECK_OK(copy(&t, &r, &err));
    CHECK_EQ_U64(r.first_seq, first);
    CHECK_EQ_U64(r.present + r.filled + r.copied, RECORDS);

    rung_segment_log *log;
    rung_log_cursor *cursor;
    CHECK_OK(rung_segment_log_open(&t.to, &log, &err));
    CHECK_OK(rung_log_cursor_open(rung_segment_log_port(log), 1, &cursor, &err));
    for (uint64_t seq = 1; seq <= RECORDS; seq++) {
        rung_log_record record;
        size_t count;
        CHECK_OK(rung_log_cursor_read(cursor, &record, 1, &count, &err));
        CHECK_EQ_U64(record.type, seq < first ? RUNG_LOG_TYPE_LOST : logkit_type(seq));
        CHECK(seq < first ? record.payload.len == 0
                          : rung_slice_eq(record.payload, logkit_payload(seq)));
    }
    rung_log_cursor_close(cursor);
    CHECK_OK(rung_segment_log_close(log, &err));
    kit_deinit(&t);
}

TEST(a_target_that_begins_where_the_source_does) {
    kit t;
    rung_dir dir;
    rung_log_copy_report r;
    rung_err err = {0};
    kit_init(&t, RECORDS);
    shorten(&t);
    uint64_t first = rung_log_first_seq(rung_segment_log_port(t.source));
    CHECK_OK(rung_dir_open(&dir, &t.fs.port, TARGET, true, &err));
    CHECK_OK(rung_log_begin_after(&dir, first - 1, &err));
    CHECK_OK(copy(&t, &r, &err));
    CHECK_EQ_U64(r.filled, 0);
    CHECK_EQ_U64(r.copied, RECORDS - first + 1);
    check_target(&t, first, RECORDS);
    CHECK_OK(copy(&t, &r, &err));
    kit_deinit(&t);

    kit_init(&t, RECORDS); /* begins later: records are missing */
    CHECK_OK(rung_dir_open(&dir, &t.fs.port, TARGET, true, &err));
    CHECK_OK(rung_log_begin_after(&dir, 5, &err));
    CHECK_STATUS(copy(&t, &r, &err), RUNG_EREFUSED);
    CHECK(strstr(err.message, "begins at sequence 6, later") != NULL);
    rung_dir_close(&dir);
    kit_deinit(&t);
}

/* Wherever memory runs out, a later run completes the copy. */
TEST(without_memory) {
    for (uint64_t n = 1, is_done = 0; !is_done; n++) {
        kit t;
        rung_log_copy_report r;
        rung_err err = {0};
        rung_failalloc failing;
        kit_init(&t, RECORDS);
        rung_failalloc_init(&failing);
        rung_failalloc_fail_at(&failing, n, false);
        t.alloc = rung_failalloc_port(&failing);
        rung_status st = copy(&t, &r, &err);
        rung_failalloc_deinit(&failing);
        t.alloc = rung_alloc_heap();
        is_done = st == RUNG_OK;
        if (!is_done) {
            CHECK_STATUS(st, RUNG_ENOMEM);
            CHECK_OK(copy(&t, &r, &err));
        }
        check_target(&t, 1, RECORDS);
        kit_deinit(&t);
    }
}

RUNG_TEST_MAIN
