/* SPDX-License-Identifier: Apache-2.0 */
/* bench_log - acknowledged records per second through the writer thread at several depths, with sync and without,
 * beside what the file system's own fdatasync does; then replay. Arguments: [folder] [seconds per row].
 *
 *     depth   records/s (always)   batches/s   records/batch   fdatasync/s alone   no sync   ratio */
#include "journal/segment_log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAYLOAD = 64 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char *what, const rung_err *err) {
    fprintf(stderr, "bench_log: %s: %s\n", what, err ? err->message : "");
    exit(1);
}

typedef struct signal_box {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_set;
} signal_box;

static void on_notify(void *ctx) {
    signal_box *s = ctx;
    pthread_mutex_lock(&s->lock);
    s->is_set = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void on_fatal(void *ctx, const rung_err *err) {
    (void)ctx;
    fail("the writer died", err);
}

static void wait_signal(signal_box *s) {
    pthread_mutex_lock(&s->lock);
    while (!s->is_set)
        pthread_cond_wait(&s->changed, &s->lock);
    s->is_set = false;
    pthread_mutex_unlock(&s->lock);
}

static void remove_name(void *arg, const char *name) {
    rung_ignore(rung_dir_unlink(arg, name, NULL), "a leftover is no harm here");
}

static void clear(const char *path) {
    rung_dir d;
    if (rung_dir_open(&d, rung_fs_posix(), path, true, NULL) < 0)
        fail("cannot open the folder", NULL);
    rung_ignore(rung_dir_list(&d, remove_name, &d, NULL), "an empty folder is fine");
    rung_dir_close(&d);
}

typedef struct row {
    double records, batches, bytes;
} row;

/* Keep `depth` submissions in flight for some seconds; count those acknowledged. */
static row run(const char *path, size_t depth, double seconds, bool is_synced) {
    clear(path);
    rung_err err = {0};
    rung_segment_log *log;
    signal_box box = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    rung_segment_log_config lc = {.fs = rung_fs_posix(),
                                  .alloc = rung_alloc_heap(),
                                  .path = path,
                                  .is_relaxed = !is_synced,
                                  .writer = {.sync_every_ms = is_synced ? 0 : 3600 * 1000,
                                             .wake = on_notify,
                                             .fatal = on_fatal,
                                             .ctx = &box}};
    if (rung_segment_log_open(&lc, &log, &err) < 0 ||
        rung_log_start(rung_segment_log_port(log), 1, &err) < 0)
        fail("open", &err);
    rung_log *port = rung_segment_log_port(log);
    rung_ignore(rung_segment_log_prepare(log, &err), "warm up: the first spare is not measured");

    uint64_t submitted = 0, acked = 0;
    char payload[PAYLOAD];
    memset(payload, 'x', sizeof payload);
    rung_log_entry entries[256];
    for (size_t i = 0; i < 256; i++)
        entries[i] = (rung_log_entry){.payload = rung_slice_of(payload, sizeof payload), .type = 1};
    double start = now(), until = start + seconds;
    while (now() < until) {
        while (submitted - acked < depth) {
            /* As a loop thread does: what one turn parsed goes in together. */
            size_t room = depth - (size_t)(submitted - acked), count = room < 256 ? room : 256;
            rung_status st = rung_log_propose(port, entries, count, &err);
            if (st < 0)
                fail("submit", &err);
            submitted += count;
        }
        wait_signal(&box);
        rung_log_delivery d;
        while (rung_log_deliver(port, SIZE_MAX, &d, &err) == RUNG_OK)
            acked += d.count;
        if (acked > (uint64_t)1 << 21 && acked % 65536 < depth)
            rung_ignore(rung_log_truncate_before(port, acked - ((uint64_t)1 << 20), &err),
                        "what stays does no harm");
    }
    double spent = now() - start;
    rung_log_stats stats = rung_log_stat(port);
    rung_segment_log_close(log, NULL);
    return (row){(double)acked / spent, (double)stats.batches / spent,
                 (double)stats.bytes / (double)stats.batches};
}

/* The disk alone: writes of that size into a prepared file, each followed by fdatasync. */
static double disk_rate(const char *path, size_t size, double seconds) {
    char name[512];
    snprintf(name, sizeof name, "%s/plain", path);
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    size_t total = (size_t)64 << 20;
    char *bytes = malloc(size);
    static char zeros[1 << 20];
    if (fd < 0 || !bytes)
        fail("plain file", NULL);
    memset(bytes, 'x', size);
    for (size_t at = 0; at < total; at += sizeof zeros)
        if (pwrite(fd, zeros, sizeof zeros, (off_t)at) < 0)
            fail("plain write", NULL);
    fsync(fd);
    uint64_t count = 0;
    size_t at = 0;
    double start = now(), until = start + seconds;
    for (; now() < until; count++) {
        if (pwrite(fd, bytes, size, (off_t)at) < 0 || fdatasync(fd) < 0)
            fail("plain sync", NULL);
        at = at + 2 * size > total ? 0 : at + size;
    }
    double rate = (double)count / (now() - start);
    close(fd);
    unlink(name);
    free(bytes);
    return rate;
}

static void replay(const char *path) {
    clear(path);
    rung_err err = {0};
    rung_segment_log *log;
    rung_segment_log_config lc = {
        .fs = rung_fs_posix(), .alloc = rung_alloc_heap(), .path = path, .is_relaxed = true};
    if (rung_segment_log_open(&lc, &log, &err) < 0 || rung_segment_log_start(log, &err) < 0)
        fail("open", &err);
    rung_log *port = rung_segment_log_port(log);
    char payload[PAYLOAD];
    memset(payload, 'x', sizeof payload);
    rung_log_entry entries[1024];
    for (size_t i = 0; i < 1024; i++)
        entries[i] = (rung_log_entry){.payload = rung_slice_of(payload, sizeof payload), .type = 1};
    uint64_t seq, durable, total = (uint64_t)4 << 20;
    double start = now(), encode = 0;
    for (uint64_t done = 0; done < total; done += 1024)
        if (rung_segment_log_append(log, entries, 1024, &seq, &err) < 0)
            fail("append", &err);
    encode = now() - start;
    if (rung_segment_log_sync(log, &durable, &err) < 0)
        fail("sync", &err);
    printf("append  %.2f M records/s of %d bytes, one thread, no sync, %.0f ns each\n",
           (double)total / encode * 1e-6, PAYLOAD, encode / (double)total * 1e9);
    rung_log_cursor *cursor;
    if (rung_log_cursor_open(port, 1, &cursor, &err) < 0)
        fail("cursor", &err);
    uint64_t read = 0, sum = 0;
    start = now();
    for (;;) {
        rung_log_record r[512];
        size_t count;
        rung_status st = rung_log_cursor_read(cursor, r, 512, &count, &err);
        if (st == RUNG_NOT_FOUND)
            break;
        if (st < 0)
            fail("read", &err);
        for (size_t i = 0; i < count; i++)
            sum += r[i].seq + r[i].payload.len;
        read += count;
    }
    double spent = now() - start;
    rung_log_cursor_close(cursor);
    printf("replay  %.2f M records/s (%" PRIu64 " records, %.0f MB/s, sum %" PRIu64 ")\n",
           (double)read / spent * 1e-6, read, (double)read * (32 + PAYLOAD) / spent * 1e-6, sum);
    rung_segment_log_close(log, NULL);
}

int main(int argc, char **argv) {
    static const size_t depths[] = {1, 16, 256, 4096};
    char made[64] = "/tmp/rung-bench-log-XXXXXX";
    const char *path = argc > 1 ? argv[1] : mkdtemp(made);
    double seconds = argc > 2 ? atof(argv[2]) : 2;
    if (!path || seconds <= 0)
        fail("usage: bench_log [folder] [seconds]", NULL);
    printf("%8s %14s %12s %10s %14s %10s %14s %8s\n", "depth", "always, rec/s", "batches/s",
           "rec/batch", "fdatasync/s", "syncs/batch", "no sync, rec/s", "ratio");
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        row with = run(path, depths[i], seconds, true);
        double alone = disk_rate(path, (size_t)with.bytes, seconds / 2);
        row without = run(path, depths[i], seconds, false);
        printf("%8zu %14.0f %12.0f %10.1f %14.0f %10.2f %14.0f %8.2f\n", depths[i], with.records,
               with.batches, with.records / with.batches, alone, alone / with.batches,
               without.records, with.records / without.records);
        fflush(stdout);
    }
    replay(path);
    clear(path);
    if (argc <= 1)
        rmdir(path);
    return 0;
}
