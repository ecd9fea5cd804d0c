/* SPDX-License-Identifier: Apache-2.0 */
/* bench_archive.c - what an archive costs: events per second, processor time and bytes per event.
 *
 * A log of score events of random players (15-byte ids) is written first, not measured. Then a follower archives
 * all of it. The processor time is that of the whole process while it does: reading the log, decoding, encoding,
 * the database, sync, checkpoints. With $RUNG_BENCH_POSTGRES, the address of a database with the empty schemas size0,
 * size1, ... (one for each number of events), the same with PostgreSQL, whose own processor time and bytes are not
 * counted. Then a player's history and a board's latest
 * events are asked for. Files are in the folder $RUNG_BENCH_DIR, or build/. */
#include "archive/follower.h"
#include "archive/postgres/postgres_archive.h"
#include "archive/sqlite/sqlite_archive.h"
#include "journal/segment_log.h"
#include "model/event.h"
#include "support/machine.h"
#include "support/options.h"
#include "support/report.h"
#include "support/rng.h"
#include "support/stopwatch.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH = 256, ASKED = 200, PAGE = 50 };

#define T0 INT64_C(1763164800000)

static char folder[512];

static void make_folder(void) {
    const char *parent = getenv("RUNG_BENCH_DIR");
    struct stat about;
    if (!parent)
        parent = stat("build", &about) == 0 ? "build" : ".";
    snprintf(folder, sizeof folder, "%s/bench-archive-XXXXXX", parent);
    if (!mkdtemp(folder))
        bench_die("cannot make a folder in %s", parent);
}

/* The size of the files in the folder whose names begin with `start` (or do not, with `others`); removes them. */
static uint64_t size_of(const char *start, bool others, bool remove_them) {
    uint64_t sum = 0;
    char name[1024];
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        struct stat s;
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        bool is_ours = (strncmp(e->d_name, start, strlen(start)) == 0) != others;
        if (e->d_name[0] == '.' || !is_ours || stat(name, &s) != 0)
            continue;
        sum += (uint64_t)s.st_size;
        if (remove_them)
            unlink(name);
    }
    if (dir)
        closedir(dir);
    return sum;
}

static double cpu_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static void check(rung_status st, const rung_err *err, const char *what) {
    if (st < 0)
        bench_die("%s: %s", what, err->message);
}

static void player_of(uint64_t number, char out[32]) {
    snprintf(out, 32, "player-%08" PRIu64, number);
}

/* 100,000 events a second of log time. */
static rung_segment_log *write_log(uint64_t events, uint64_t players, rung_rng *rng) {
    static uint8_t bytes[BATCH][256];
    rung_log_entry entries[BATCH];
    rung_segment_log *log;
    rung_err err = {0};
    uint64_t seq, durable;
    rung_segment_log_config c = {
        .fs = rung_fs_posix(), .alloc = rung_alloc_heap(), .path = folder, .is_relaxed = true};
    check(rung_segment_log_open(&c, &log, &err), &err, "log");
    check(rung_segment_log_start(log, &err), &err, "log");
    for (uint64_t done = 0; done < events; done += BATCH) {
        for (size_t i = 0; i < BATCH; i++) {
            char player[32];
            size_t len;
            player_of(rung_rng_next(rng) % players, player);
            rung_event e = {.kind = RUNG_EVENT_SCORE,
                            .ts_ms = T0 + (int64_t)((done + i) / 100),
                            .score = {.board = RUNG_SLICE("race"),
                                      .player = rung_slice_str(player),
                                      .value_count = 1,
                                      .values = {{.i = (int64_t)(rung_rng_next(rng) % 1000000)}}}};
            check(rung_event_encode(&e, bytes[i], sizeof bytes[i], &len), &err, "event");
            entries[i] = (rung_log_entry){.payload = rung_slice_of(bytes[i], len), .type = 1};
        }
        check(rung_segment_log_append(log, entries, BATCH, &seq, &err), &err, "append");
    }
    check(rung_segment_log_sync(log, &durable, &err), &err, "sync");
    return log;
}

typedef struct figures {
    double wall_s, cpu_s;
    uint64_t log_bytes, archive_bytes;
    double player_us, board_us; /* one question */
} figures;

static void follow(rung_archive *archive, rung_log *log, uint64_t events, figures *f) {
    static rung_status statuses[BATCH];
    static rung_outcome outcomes[BATCH];
    rung_follower *follower;
    rung_err err = {0};
    rung_follower_config c = {
        .archive = archive, .log = log, .alloc = rung_alloc_heap(), .stop_ms = 60000};
    check(rung_follower_create(&c, &follower, &err), &err, "follower");
    double cpu = cpu_seconds();
    uint64_t start_ns = bench_now_ns();
    for (uint64_t done = 0; done < events; done += BATCH) {
        for (uint32_t i = 0; i < BATCH; i++)
            outcomes[i] = (rung_outcome){.value_count = 1, .values = {{.i = (int64_t)(done + i)}}};
        rung_follower_applied(follower, done + 1, BATCH, statuses, outcomes);
        if (done % 524288 == 0 && done)
            while (rung_follower_wait(follower, done - 262144, 600000) != RUNG_OK)
                ;
    }
    while (rung_follower_wait(follower, events, 600000) != RUNG_OK)
        ;
    rung_follower_destroy(follower);
    f->wall_s = bench_seconds_since(start_ns);
    f->cpu_s = cpu_seconds() - cpu;
}

static double ask(rung_archive *archive, uint64_t players, bool is_board, rung_rng *rng) {
    static rung_archive_score scores[PAGE];
    rung_err err = {0};
    uint32_t count;
    uint64_t start_ns = bench_now_ns();
    for (int i = 0; i < ASKED; i++) {
        char player[32];
        player_of(rung_rng_next(rng) % players, player);
        rung_archive_score_query q = {.board = RUNG_SLICE("race"), .newest_first = true};
        if (!is_board)
            q.player = rung_slice_str(player);
        check(rung_archive_reading.scores(archive, &q, PAGE, scores, &count, &err), &err, "scores");
    }
    return bench_seconds_since(start_ns) * 1e6 / ASKED;
}

static figures run_sqlite(rung_segment_log *log, uint64_t events, uint64_t players, rung_rng *rng) {
    figures f = {.log_bytes = size_of("archive", true, false)};
    char path[600];
    rung_archive *archive;
    rung_err err = {0};
    snprintf(path, sizeof path, "%s/archive.db", folder);
    rung_sqlite_archive_config c = {.path = path, .alloc = rung_alloc_heap()};
    check(rung_sqlite_archive_open(&c, &archive, &err), &err, "archive");
    follow(archive, rung_segment_log_port(log), events, &f);
    f.player_us = ask(archive, players, false, rng);
    f.board_us = ask(archive, players, true, rng);
    rung_archive_close(archive);
    f.archive_bytes = size_of("archive", false, false);
    return f;
}

static figures run_postgres(const char *database, size_t which, rung_segment_log *log,
                            uint64_t events, uint64_t players, rung_rng *rng) {
    char url[1024];
    snprintf(url, sizeof url, "%s&schema=size%zu", database, which);
    figures f = {.log_bytes = size_of("archive", true, false)};
    rung_archive *archive;
    rung_err err = {0}, away = {0};
    rung_postgres_archive_config c = {.url = url, .alloc = rung_alloc_heap()};
    check(rung_postgres_archive_open(&c, &archive, &away, &err), &err, "archive");
    check(away.code, &away, "archive");
    follow(archive, rung_segment_log_port(log), events, &f);
    f.player_us = ask(archive, players, false, rng);
    f.board_us = ask(archive, players, true, rng);
    rung_archive_close(archive);
    return f;
}

static void show(bench_table *t, const char *name, uint64_t events, const figures *f) {
    bench_table_cell(t, "%s", name);
    bench_table_cell(t, "%s", bench_count_label(events).text);
    bench_table_cell(t, "%.0f", (double)events / f->wall_s);
    bench_table_cell(t, "%.2f", f->cpu_s * 1e6 / (double)events);
    bench_table_cell(t, "%.1f", (double)f->log_bytes / (double)events);
    bench_table_cell(t, "%.1f", (double)f->archive_bytes / (double)events);
    bench_table_cell(t, "%.0f", f->player_us);
    bench_table_cell(t, "%.0f", f->board_us);
}

int main(int argc, char **argv) {
    const char *url = getenv("RUNG_BENCH_POSTGRES");
    static uint64_t players = 1000000;
    static const bench_option own[] = {
        {"players", BENCH_NUMBER, &players, "players who score (1M)"}, {0}};
    bench_options o = {.sizes = {2000000}, .size_count = 1, .rounds = 1, .section = "archive"};
    bench_options_parse(&o, argc, argv, "the cost of an archive, per event", own);
    bench_report r = {0};
    bench_table t = {0};
    bench_machine_describe(&r, o.command);
    bench_table_head(&t, 8, "archive", "events", "events/s", "CPU us/event", "log B/event",
                     "archive B/event", "player, us", "board, us");
    for (size_t i = 0; i < o.size_count; i++) {
        uint64_t events = o.sizes[i] / BATCH * BATCH;
        rung_rng rng;
        rung_rng_seed(&rng, o.seed);
        make_folder();
        rung_segment_log *log = write_log(events, players, &rng);
        figures f = run_sqlite(log, events, players, &rng);
        show(&t, "SQLite", events, &f);
        if (url) {
            f = run_postgres(url, i, log, events, players, &rng);
            show(&t, "PostgreSQL", events, &f);
        }
        rung_segment_log_close(log, NULL);
        size_of("", false, true);
        rmdir(folder);
    }
    bench_table_end(&t, &r);
    return bench_options_finish(&o, &r);
}
