/* SPDX-License-Identifier: Apache-2.0 */
/* The writer thread: order under many producers, group commit, limits, a full disk, a failed sync. */
/* ctest: labels=thread */
#include "journal/writer.h"
#include "support/check.h"
#include "support/logkit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

typedef struct fixture {
    rung_memfs fs;
    rung_segment_log_config log_config;
    rung_segment_log *log;
    rung_writer *writer;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t notified;
    bool is_dead;
    rung_err death;
    atomic_uint_fast64_t submitted;
    atomic_uint_fast64_t held; /* the sync of this record waits until it is 0, none before */
} fixture;

static void on_notify(void *ctx) {
    fixture *f = ctx;
    pthread_mutex_lock(&f->lock);
    f->notified++;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void on_fatal(void *ctx, const rung_err *err) {
    fixture *f = ctx;
    pthread_mutex_lock(&f->lock);
    f->is_dead = true;
    f->death = *err;
    pthread_mutex_unlock(&f->lock);
}

static void wait_change(fixture *f, uint64_t seen) {
    pthread_mutex_lock(&f->lock);
    while (f->notified == seen)
        pthread_cond_wait(&f->changed, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

static uint64_t notified(fixture *f) {
    pthread_mutex_lock(&f->lock);
    uint64_t n = f->notified;
    pthread_mutex_unlock(&f->lock);
    return n;
}

/* Has the writer taken the record that is to be held up? Asked in this order: more may be submitted meanwhile. */
static bool is_held(fixture *f) {
    uint64_t held = atomic_load(&f->held);
    if (!held)
        return false;
    uint64_t queued = rung_writer_stat(f->writer).queue_records;
    return atomic_load(&f->submitted) - queued >= held;
}

static void gate(void *arg, rung_memfs *fs, const char *call) {
    (void)fs;
    while (strcmp(call, "sync") == 0 && is_held(arg))
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void begin(fixture *f, uint64_t segment_size, rung_writer_config config) {
    rung_err err;
    *f = (fixture){0};
    rung_memfs_init(&f->fs);
    f->fs.before = gate;
    f->fs.before_arg = f;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    f->log_config = logkit_config(&f->fs, segment_size);
    f->log_config.is_relaxed = config.sync_every_ms > 0;
    CHECK_OK(logkit_open(&f->log_config, true, &f->log, &err));
    config.log = rung_segment_log_port(f->log);
    config.alloc = rung_alloc_heap();
    config.notify = on_notify;
    config.fatal = on_fatal;
    config.ctx = f;
    config.space_retry_ms = 5;
    CHECK_OK(rung_writer_create(&config, &f->writer, &err));
}

static void end(fixture *f) {
    rung_writer_destroy(f->writer);
    rung_log_close(rung_segment_log_port(f->log), NULL);
    rung_memfs_deinit(&f->fs);
}

static rung_status submit_one(rung_writer *w, uint16_t type, rung_slice payload, uint64_t *seq_out,
                              rung_err *err) {
    return rung_writer_submit_many(w, &(rung_log_entry){payload, type}, 1, seq_out, err);
}

static rung_status submit(fixture *f, uint64_t number, uint64_t *seq_out, rung_err *err) {
    char bytes[LOGKIT_PAYLOAD_MAX];
    atomic_fetch_add(&f->submitted, 1);
    return submit_one(f->writer, logkit_type(number), logkit_payload_into(number, bytes), seq_out,
                      err);
}

TEST(submissions_become_durable_in_order) {
    fixture f;
    begin(&f, 1 << 20, (rung_writer_config){0});
    rung_err err;
    uint64_t seq, first, last;
    for (uint64_t i = 1; i <= 500; i++) {
        CHECK_OK(submit(&f, i, &seq, &err));
        CHECK_EQ_U64(seq, i);
    }
    rung_writer_drain(f.writer);
    CHECK_EQ_U64(rung_writer_poll(f.writer).durable_seq, 500);
    CHECK_OK(logkit_read(f.log, &first, &last, &err));
    CHECK_EQ_U64(last, 500);
    end(&f);
}

enum { PRODUCERS = 4, EACH = 500 };

typedef struct producer {
    fixture *f;
    uint8_t id;
    pthread_t thread;
} producer;

static void *produce(void *arg) {
    producer *p = arg;
    uint64_t before = 0, seq;
    rung_err err;
    for (uint32_t i = 0; i < EACH; i++) {
        char text[5] = {(char)p->id};
        memcpy(text + 1, &i, 4);
        rung_status st;
        while ((st = submit_one(p->f->writer, 7, rung_slice_of(text, 5), &seq, &err)) ==
               RUNG_ELIMIT)
            rung_writer_drain(p->f->writer);
        CHECK_OK(st);
        CHECK(seq > before);
        before = seq;
    }
    return NULL;
}

TEST(many_producers_each_keep_their_order) {
    fixture f;
    begin(&f, 1 << 14, (rung_writer_config){.queue_records_max = 50});
    producer producers[PRODUCERS];
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (producer){.f = &f, .id = (uint8_t)i};
        CHECK(pthread_create(&producers[i].thread, NULL, produce, &producers[i]) == 0);
    }
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(producers[i].thread, NULL);
    rung_writer_drain(f.writer);
    rung_writer_stats stats = rung_writer_stat(f.writer);
    CHECK_EQ_U64(stats.records, PRODUCERS * EACH);
    CHECK(stats.batch_records_max <= 50);

    uint32_t next[PRODUCERS] = {0};
    rung_log_cursor *cursor;
    rung_err err;
    rung_log_record r[16];
    size_t count;
    CHECK_OK(rung_log_cursor_open(rung_segment_log_port(f.log), 1, &cursor, &err));
    while (rung_log_cursor_read(cursor, r, 16, &count, &err) == RUNG_OK)
        for (size_t i = 0; i < count; i++) {
            uint32_t number;
            memcpy(&number, r[i].payload.ptr + 1, 4);
            CHECK_EQ_U64(number, next[(uint8_t)r[i].payload.ptr[0]]++);
        }
    for (int i = 0; i < PRODUCERS; i++)
        CHECK_EQ_U64(next[i], EACH);
    rung_log_cursor_close(cursor);
    end(&f);
}

/* A reader beside the writer sees only durable records, all of them, once. */
static void *follow(void *arg) {
    fixture *f = arg;
    rung_log *log = rung_segment_log_port(f->log);
    rung_log_cursor *cursor;
    rung_err err;
    uint64_t next = 1;
    CHECK_OK(rung_log_cursor_open(log, 1, &cursor, &err));
    while (next <= 800) {
        rung_log_record r[8];
        size_t count;
        rung_status st = rung_log_cursor_read(cursor, r, 8, &count, &err);
        if (st == RUNG_NOT_FOUND)
            continue;
        CHECK_OK(st);
        for (size_t i = 0; i < count; i++, next++) {
            CHECK_EQ_U64(r[i].seq, next);
            CHECK(r[i].seq <= rung_log_durable_seq(log));
            CHECK(rung_slice_eq(r[i].payload, logkit_payload(next)));
        }
    }
    rung_log_cursor_close(cursor);
    return NULL;
}

TEST(a_reader_beside_the_writer) {
    fixture f;
    begin(&f, 1 << 14, (rung_writer_config){0});
    pthread_t reader;
    rung_err err;
    uint64_t seq;
    CHECK(pthread_create(&reader, NULL, follow, &f) == 0);
    for (uint64_t i = 1; i <= 800; i++) {
        rung_status st;
        while ((st = submit(&f, i, &seq, &err)) == RUNG_ELIMIT)
            rung_writer_drain(f.writer);
        CHECK_OK(st);
    }
    pthread_join(reader, NULL);
    end(&f);
}

/* The sync of the second record is held up; the others wait together and go down together. */
TEST(what_queues_up_during_a_sync_is_one_batch) {
    fixture f;
    begin(&f, 1 << 20, (rung_writer_config){0});
    rung_err err;
    uint64_t seq;
    CHECK_OK(submit(&f, 1, &seq, &err)); /* also lets the helper finish its spare */
    rung_writer_drain(f.writer);
    while (!rung_segment_log_stat(f.log).is_spare_ready)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    uint64_t batches = rung_writer_stat(f.writer).batches;
    atomic_store(&f.held, 2);
    CHECK_OK(submit(&f, 2, &seq, &err));
    while (rung_writer_stat(f.writer).queue_records)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    for (uint64_t i = 3; i <= 300; i++)
        CHECK_OK(submit(&f, i, &seq, &err));
    CHECK_EQ_U64(rung_writer_poll(f.writer).durable_seq, 1); /* nothing is told before its sync */
    atomic_store(&f.held, 0);
    rung_writer_drain(f.writer);
    CHECK_EQ_U64(rung_writer_poll(f.writer).durable_seq, 300);
    CHECK_EQ_U64(rung_writer_stat(f.writer).batches - batches, 2);
    CHECK_EQ_U64(rung_writer_stat(f.writer).batch_records_max, 298);
    end(&f);
}

/* A record that waits is read where it lies, and not before its turn. */
TEST(what_is_borrowed_is_not_copied) {
    fixture f;
    begin(&f, 1 << 20, (rung_writer_config){.is_borrowing = true});
    static char first[LOGKIT_PAYLOAD_MAX], second[LOGKIT_PAYLOAD_MAX];
    rung_err err;
    uint64_t seq, from, to;
    atomic_store(&f.held, 1);
    atomic_store(&f.submitted, 1);
    CHECK_OK(submit_one(f.writer, logkit_type(1), logkit_payload_into(1, first), &seq, &err));
    while (rung_writer_stat(f.writer).queue_records)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    atomic_store(&f.submitted, 2);
    rung_slice late = rung_slice_of(second, logkit_payload(2).len);
    CHECK_OK(submit_one(f.writer, logkit_type(2), late, &seq, &err));
    logkit_payload_into(2, second);
    atomic_store(&f.held, 0);
    rung_writer_drain(f.writer);
    CHECK_EQ_U64(rung_writer_poll(f.writer).durable_seq, 2);
    CHECK_OK(logkit_read(f.log, &from, &to, &err)); /* compares the payloads */
    CHECK_EQ_U64(to, 2);
    end(&f);
}

TEST(a_full_queue_refuses_and_takes_again) {
    fixture f;
    begin(&f, 1 << 16, (rung_writer_config){.queue_records_max = 2});
    rung_err err;
    uint64_t seq, done = 0, refused = 0;
    while (done < 200) {
        rung_status st = submit(&f, done + 1, &seq, &err);
        if (st == RUNG_OK) {
            CHECK_EQ_U64(seq, ++done);
            continue;
        }
        CHECK_STATUS(st, RUNG_ELIMIT);
        refused++;
        rung_writer_drain(f.writer);
    }
    CHECK(refused > 0);
    static char big[RUNG_LOG_RECORD_MAX + 1];
    CHECK_STATUS(submit_one(f.writer, 1, rung_slice_of(big, sizeof big), &seq, &err), RUNG_ELIMIT);
    CHECK_STATUS(rung_writer_submit_many(f.writer, NULL, 0, &seq, &err), RUNG_EINVAL);
    end(&f);
}

TEST(a_full_disk_refuses_tells_and_returns_by_itself) {
    fixture f;
    begin(&f, 8192, (rung_writer_config){0});
    rung_err err;
    uint64_t seq, next = 1, first, last;
    pthread_mutex_lock(&f.fs.lock);
    f.fs.space = 6 * 8192;
    pthread_mutex_unlock(&f.fs.lock);
    rung_writer_state s;
    for (;;) {
        rung_status st = submit(&f, next, &seq, &err);
        s = rung_writer_poll(f.writer);
        if (s.refused_to) {
            CHECK(s.refused_from > s.durable_seq && s.refused_to >= s.refused_from);
            break;
        }
        if (st == RUNG_OK)
            next++;
        else if (st == RUNG_ELIMIT)
            rung_writer_drain(f.writer);
    }
    CHECK_STATUS(s.status, RUNG_ENOSPC);
    CHECK_STATUS(submit(&f, next, &seq, &err), RUNG_ENOSPC);
    CHECK_OK(logkit_read(f.log, &first, &last, &err));
    CHECK_EQ_U64(last, s.durable_seq);
    next = s.durable_seq + 1;
    uint64_t seen = notified(&f);
    pthread_mutex_lock(&f.fs.lock);
    f.fs.space = 0;
    pthread_mutex_unlock(&f.fs.lock);
    while (rung_writer_poll(f.writer).status == RUNG_ENOSPC) {
        wait_change(&f, seen);
        seen++;
    }
    CHECK_OK(submit(&f, next, &seq, &err));
    CHECK_EQ_U64(seq, next);
    rung_writer_drain(f.writer);
    CHECK_EQ_U64(rung_writer_poll(f.writer).durable_seq, next);
    CHECK(!f.is_dead);
    end(&f);
}

TEST(a_failed_sync_is_fatal_and_nothing_is_told_after_it) {
    fixture f;
    begin(&f, 1 << 16, (rung_writer_config){0});
    rung_err err;
    uint64_t seq;
    CHECK_OK(submit(&f, 1, &seq, &err));
    rung_writer_drain(f.writer);
    while (!rung_segment_log_stat(f.log).is_spare_ready)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    uint64_t seen = notified(&f);
    pthread_mutex_lock(&f.fs.lock);
    f.fs.only = 's';
    rung_memfs_fail(&f.fs, 1, EIO, false); /* later syncs would succeed: they must not be tried */
    pthread_mutex_unlock(&f.fs.lock);
    rung_status st = submit(&f, 2, &seq, &err);
    if (st == RUNG_OK)
        wait_change(&f, seen);
    rung_writer_drain(f.writer);
    CHECK_STATUS(rung_writer_poll(f.writer).status, RUNG_EIO);
    CHECK_STATUS(submit(&f, 3, &seq, &err), RUNG_EIO);
    CHECK_EQ_U64(rung_writer_poll(f.writer).durable_seq, 1);
    end(&f);
    CHECK(f.is_dead && f.death.message[0]);
}

TEST(sync_every_acknowledges_before_the_sync) {
    fixture f;
    begin(&f, 1 << 20, (rung_writer_config){.sync_every_ms = 20});
    rung_err err;
    uint64_t seq, first, last;
    for (uint64_t i = 1; i <= 300; i++) {
        CHECK_OK(submit(&f, i, &seq, &err));
        if (i % 10 == 0)
            rung_writer_drain(f.writer);
    }
    rung_writer_drain(f.writer);
    CHECK_EQ_U64(rung_writer_poll(f.writer).durable_seq, 300);
    while (rung_log_durable_seq(rung_segment_log_port(f.log)) < 300)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    CHECK_OK(logkit_read(f.log, &first, &last, &err));
    CHECK_EQ_U64(last, 300);
    end(&f);
}

TEST(old_segments_go_from_the_writers_thread) {
    fixture f;
    begin(&f, 8192, (rung_writer_config){0});
    rung_err err;
    uint64_t seq;
    for (uint64_t i = 1; i <= 400; i++)
        while (submit(&f, i, &seq, &err) == RUNG_ELIMIT)
            rung_writer_drain(f.writer);
    rung_writer_drain(f.writer);
    rung_writer_truncate_before(f.writer, 200);
    while (rung_segment_log_stat(f.log).first_seq < 100)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    CHECK(rung_segment_log_stat(f.log).first_seq <= 200);
    end(&f);
}

RUNG_TEST_MAIN
