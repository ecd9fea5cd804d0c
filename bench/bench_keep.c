/* SPDX-License-Identifier: Apache-2.0 */
/* bench_keep - what it costs to keep the log: bytes per event as it is written and after packing, the packer's CPU time
 * per event, and how fast both forms are read. Scores of a million players, as the server logs them, with ids and
 * without. Arguments: [folder] [events]. */
#include "journal/segment_log.h"
#include "model/event.h"
#include "service/applier.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 256, PLAYERS = 1000000, SEGMENTS_MAX = 1024 };

static void fail(const char *what, const rung_err *err) {
    fprintf(stderr, "bench_keep: %s: %s\n", what, err ? err->message : "");
    exit(1);
}

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static size_t encode(uint64_t i, bool has_id, char *out, size_t size) {
    char player[32], id[40];
    size_t len = 0;
    uint64_t chance = mix(i);
    snprintf(player, sizeof player, "player-%07" PRIu64, chance % PLAYERS);
    snprintf(id, sizeof id, "%08" PRIx64 "%08" PRIx64, mix(chance) & 0xffffffff,
             mix(chance + 1) & 0xffffffff);
    rung_event e = {.kind = RUNG_EVENT_SCORE,
                    .ts_ms = INT64_C(1794744000000) + (int64_t)(i / 50), /* 50,000 per second */
                    .score = {.board = RUNG_SLICE("race"),
                              .player = rung_slice_str(player),
                              .value_count = 1,
                              .values = {{.i = (int64_t)(chance >> 44)}},
                              .id = has_id ? rung_slice_str(id) : (rung_slice){0}}};
    if (rung_event_encode(&e, out, size, &len) < 0)
        fail("encode", NULL);
    return len;
}

static void fill(rung_segment_log *log, uint64_t count, bool has_id) {
    static char bytes[BATCH][512];
    rung_log_entry entries[BATCH];
    rung_err err;
    uint64_t first, durable;
    for (uint64_t done = 0; done < count; done += BATCH) {
        for (uint64_t i = 0; i < BATCH; i++) {
            size_t len = encode(done + i, has_id, bytes[i], sizeof bytes[i]);
            entries[i] = (rung_log_entry){.payload = rung_slice_of(bytes[i], len),
                                          .type = RUNG_LOG_TYPE_EVENT};
        }
        if (rung_segment_log_append(log, entries, BATCH, &first, &err) < 0 ||
            (done % (64 * BATCH) == 0 && rung_segment_log_sync(log, &durable, &err) < 0))
            fail("append", &err);
        if (done % (64 * BATCH) == 0 && rung_segment_log_maintain(log, false, &err) == RUNG_PARTIAL)
            rung_ignore(rung_segment_log_prepare(log, NULL), "append says it again");
    }
    if (rung_segment_log_sync(log, &durable, &err) < 0)
        fail("sync", &err);
}

static double read_rate(rung_segment_log *log, uint64_t last_seq) {
    static rung_log_record records[1024];
    rung_log_cursor *cursor;
    rung_err err;
    size_t count;
    uint64_t seq = 0;
    rung_log *port = rung_segment_log_port(log);
    double begun = seconds(CLOCK_THREAD_CPUTIME_ID);
    if (rung_log_cursor_open(port, 1, &cursor, &err) < 0)
        fail("read", &err);
    while (seq < last_seq) {
        if (rung_log_cursor_read(cursor, records, 1024, &count, &err) != RUNG_OK)
            fail("read", &err);
        seq = records[count - 1].seq;
    }
    rung_log_cursor_close(cursor);
    return (double)last_seq / (seconds(CLOCK_THREAD_CPUTIME_ID) - begun);
}

static void remove_name(void *arg, const char *name) {
    rung_ignore(rung_dir_unlink(arg, name, NULL), "a leftover is no harm here");
}

static void run(const char *folder, uint64_t count, bool has_id) {
    static rung_segment_info infos[SEGMENTS_MAX];
    rung_segment_log_config config = {
        .fs = rung_fs_posix(), .alloc = rung_alloc_heap(), .path = folder, .is_relaxed = true};
    rung_segment_log *log;
    rung_err err = {0};
    if (rung_segment_log_open(&config, &log, &err) < 0 || rung_segment_log_start(log, &err) < 0)
        fail("open", &err);
    fill(log, count, has_id);
    rung_segment_log_segments(log, infos, SEGMENTS_MAX);
    double plain_rate = read_rate(log, infos[0].last_seq);
    double begun = seconds(CLOCK_THREAD_CPUTIME_ID);
    rung_status st;
    while ((st = rung_segment_log_pack(log, false, &err)) >= 0 && st != RUNG_NOT_FOUND) {
    }
    double cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - begun;
    if (st < 0)
        fail("pack", &err);
    size_t segments = rung_segment_log_segments(log, infos, SEGMENTS_MAX), packed = 0;
    uint64_t records = 0, plain_bytes = 0, packed_bytes = 0;
    for (size_t i = 0; i < segments && infos[i].is_packed; i++, packed++) {
        records += infos[i].last_seq - infos[i].first_seq + 1;
        plain_bytes += infos[i].end;
        packed_bytes += infos[i].file_bytes;
    }
    if (!records)
        fail("too few events for a sealed segment that is not the newest", NULL);
    double packed_rate = read_rate(log, infos[0].last_seq), n = (double)records;
    printf("%-10s %12" PRIu64 " %8.1f %8.1f %12.3f %12.2f %12.2f\n", has_id ? "with ids" : "no ids",
           records, (double)plain_bytes / n, (double)packed_bytes / n, cpu / n * 1e6,
           plain_rate / 1e6, packed_rate / 1e6);
    rung_dir dir;
    rung_ignore(rung_segment_log_close(log, NULL), "it is removed now");
    if (rung_dir_open(&dir, rung_fs_posix(), folder, false, &err) < 0)
        fail("remove", &err);
    rung_ignore(rung_dir_list(&dir, remove_name, &dir, NULL), "a leftover is no harm here");
    rung_dir_close(&dir);
}

int main(int argc, char **argv) {
    char folder[256] = "";
    int at = argc > 1 && strcmp(argv[1], "--write") == 0 ? 2 : 1;
    snprintf(folder, sizeof folder, "%s/bench_keep.%d", argc > at ? argv[at] : "/tmp",
             (int)getpid());
    uint64_t count = argc > at + 1 ? strtoull(argv[at + 1], NULL, 10) : 4000000;
    printf("%-10s %12s %8s %8s %12s %12s %12s\n", "scores", "packed", "plain B", "packed B",
           "pack us CPU", "read M/s", "unpack M/s");
    run(folder, count, true);
    run(folder, count, false);
    rmdir(folder);
    return 0;
}
