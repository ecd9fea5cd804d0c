/* SPDX-License-Identifier: Apache-2.0 */
/* bench_journal.c - what durability costs: acknowledged events per second through the hub, replay, snapshots, start-up
 * beside Redis, and what a snapshot does to those who submit meanwhile.
 *
 * needs: redis-server=redis-server
 *
 * Everything but one row goes through rung_hub as the server uses it, from one thread. Submissions are of random
 * known players (15-byte ids) to a board with `update: last`, so that every one moves an entry and is answered with
 * ranks. Files are in the folder $RUNG_BENCH_DIR, or build/: not in a file system that lives in memory. Wall times. */
#include "rung/rung.h"
#include "service/hub.h"
#include "support/machine.h"
#include "support/options.h"
#include "support/report.h"
#include "support/rng.h"
#include "support/shuffle.h"
#include "support/stopwatch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ID_LEN = 15, SCORES = 1000000, DEPTH_FILL = 4096, DEPTH_LATENCY = 16 };

#define BOARD RUNG_SLICE("race")

/* ---- folders ---- */

static char folder[512];

static void make_folder(void) {
    const char *parent = getenv("RUNG_BENCH_DIR");
    struct stat about;
    if (!parent)
        parent = stat("build", &about) == 0 ? "build" : ".";
    snprintf(folder, sizeof folder, "%s/bench-journal-XXXXXX", parent);
    if (!mkdtemp(folder))
        bench_die("cannot make a folder in %s", parent);
}

/* Remove what is in a folder, one level deep; the folder itself, too, with `whole`. */
static void clear_folder(const char *path, bool whole) {
    DIR *dir = opendir(path);
    char name[1024];
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlink(name) != 0)
            clear_folder(name, true);
    }
    if (dir)
        closedir(dir);
    if (whole)
        rmdir(path);
}

/* ---- a hub and its load ---- */

typedef struct load {
    rung_hub *hub;
    rung_hub_config config;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_awake;
    rung_rng rng;
    uint64_t players;
    uint64_t put, answered;
    /* Opening, as it was told. */
    uint64_t opened_ns, log_ns;
    /* Latencies, when they are asked for. */
    uint32_t *us;
    size_t us_count, us_room;
    uint64_t sent_ns[DEPTH_FILL];
    uint64_t longest_ns; /* of one call of the hub */
} load;

static int64_t now_ms(void *ctx) {
    struct timespec t;
    (void)ctx;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void on_wake(void *ctx) {
    load *l = ctx;
    pthread_mutex_lock(&l->lock);
    l->is_awake = true;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

static void wait_wake(load *l) {
    pthread_mutex_lock(&l->lock);
    while (!l->is_awake)
        pthread_cond_wait(&l->changed, &l->lock);
    l->is_awake = false;
    pthread_mutex_unlock(&l->lock);
}

static void on_fatal(void *ctx, const rung_err *err) {
    (void)ctx;
    bench_die("the log failed: %s", err->message);
}

static void on_progress(void *ctx, const char *what, uint64_t done, uint64_t total) {
    load *l = ctx;
    (void)done;
    (void)total;
    if (l->log_ns == 0 && strcmp(what, "log") == 0)
        l->log_ns = bench_now_ns();
}

static void open_hub(load *l, const char *path, bool is_synced) {
    rung_err err = {0};
    l->config = (rung_hub_config){.alloc = rung_alloc_heap(),
                                  .clock = {now_ms, NULL},
                                  .path = path,
                                  .sync_every_ms = is_synced ? 0 : 3600 * 1000,
                                  .snapshot_every = UINT64_MAX,
                                  .wake = on_wake,
                                  .fatal = on_fatal,
                                  .progress = on_progress,
                                  .ctx = l};
    l->log_ns = 0;
    l->opened_ns = bench_now_ns();
    if (rung_hub_open(&l->config, &l->hub, &err) < 0)
        bench_die("%s", err.message);
}

static void close_hub(load *l) {
    rung_err err = {0};
    if (rung_hub_close(l->hub, &err) < 0)
        bench_die("%s", err.message);
}

static void on_answer(void *ctx, rung_status st, const rung_outcome *outcome, const rung_err *err) {
    load *l = ctx;
    (void)outcome;
    if (st < 0)
        bench_die("refused: %s", err->message);
    if (l->us && l->us_count < l->us_room) {
        uint64_t ns = bench_now_ns() - l->sent_ns[l->answered % DEPTH_FILL];
        l->us[l->us_count++] = (uint32_t)(ns / 1000);
    }
    l->answered++;
}

static void set_id(char *bytes, uint64_t player) {
    memcpy(bytes, "player:", 7);
    for (int digit = ID_LEN - 1; digit >= 7; digit--, player /= 10)
        bytes[digit] = (char)('0' + player % 10);
}

static void put_score(load *l, uint64_t player) {
    static rung_event e = {.kind = RUNG_EVENT_SCORE};
    char id[ID_LEN];
    set_id(id, player);
    e.score = (rung_score_event){.board = BOARD,
                                 .player = rung_slice_of(id, ID_LEN),
                                 .value_count = 1,
                                 .values = {{.i = (int64_t)rung_rng_below(&l->rng, SCORES)}}};
    rung_err err;
    if (rung_hub_put(l->hub, &e, on_answer, l, &err) < 0)
        bench_die("%s", err.message);
    if (l->us)
        l->sent_ns[l->put % DEPTH_FILL] = bench_now_ns();
    l->put++;
}

/* One turn of a server's loop. */
static void turn(load *l) {
    uint64_t start = bench_now_ns();
    rung_hub_turn(l->hub);
    uint64_t middle = bench_now_ns();
    rung_hub_flush(l->hub);
    uint64_t end = bench_now_ns();
    uint64_t longer = middle - start > end - middle ? middle - start : end - middle;
    if (longer > l->longest_ns)
        l->longest_ns = longer;
}

static void settle(load *l) {
    while (turn(l), !rung_commit_is_idle(rung_hub_commit(l->hub)))
        wait_wake(l);
}

/* `count` submissions with `depth` in flight: of all players, each once, in random order; or of random ones. */
static void submit_many(load *l, uint64_t count, const bench_shuffle *order, uint64_t depth) {
    for (uint64_t sent = 0; sent < count;) {
        for (; sent < count && l->put - l->answered < depth; sent++)
            put_score(l,
                      order ? bench_shuffle_at(order, sent) : rung_rng_below(&l->rng, l->players));
        turn(l);
        if (l->put - l->answered >= depth)
            wait_wake(l);
    }
    settle(l);
}

static void define_board(load *l) {
    rung_err err;
    rung_board_def def = rung_board_def_default();
    def.update = RUNG_UPDATE_LAST;
    if (rung_hub_define(l->hub, (rung_hub_sender){0}, BOARD, &def, NULL, NULL, &err) < 0)
        bench_die("%s", err.message);
    settle(l);
}

static void init_load(load *l, uint64_t players, uint64_t seed) {
    memset(l, 0, sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    rung_rng_seed(&l->rng, seed);
    l->players = players;
}

/* ---- acknowledged events per second ---- */

typedef struct commits {
    double events, batches, batch_bytes;
} commits;

static commits measure_commits(uint64_t depth, double seconds, bool is_synced, uint64_t seed) {
    load l;
    init_load(&l, 100000, seed);
    clear_folder(folder, false);
    open_hub(&l, folder, is_synced);
    define_board(&l);
    bench_shuffle order = bench_shuffle_of(l.players, seed);
    submit_many(&l, l.players, &order, DEPTH_FILL);
    rung_hub_stats before = rung_hub_stat(l.hub);
    uint64_t answered = l.answered, start = bench_now_ns();
    while (bench_seconds_since(start) < seconds) {
        while (l.put - l.answered < depth)
            put_score(&l, rung_rng_below(&l.rng, l.players));
        turn(&l);
        if (l.put - l.answered >= depth)
            wait_wake(&l);
    }
    double spent = bench_seconds_since(start);
    rung_hub_stats after = rung_hub_stat(l.hub);
    double batches = (double)(after.batches - before.batches);
    commits c = {(double)(l.answered - answered) / spent, batches / spent,
                 (double)(after.log_bytes - before.log_bytes) / (batches > 0 ? batches : 1)};
    close_hub(&l);
    return c;
}

/* The library: one thread that submits, writes, syncs and applies. One at a time is all it can be asked for. */
static double measure_library(double seconds, uint64_t seed) {
    enum { PLAYERS = 100000 };
    rung *db;
    rung_err err;
    rung_rng rng;
    char id[ID_LEN];
    rung_board_def def = rung_board_def_default();
    def.update = RUNG_UPDATE_LAST;
    clear_folder(folder, false);
    rung_rng_seed(&rng, seed);
    if (rung_open(&(rung_config){.path = folder}, &db, &err) < 0 ||
        rung_board_define(db, BOARD, &def, &err) < 0)
        bench_die("%s", err.message);
    uint64_t count = 0, start = bench_now_ns();
    for (; bench_seconds_since(start) < seconds; count++) {
        set_id(id, rung_rng_below(&rng, PLAYERS));
        rung_score_event e = {.board = BOARD,
                              .player = rung_slice_of(id, ID_LEN),
                              .value_count = 1,
                              .values = {{.i = (int64_t)rung_rng_below(&rng, SCORES)}}};
        if (rung_submit(db, &e, NULL, &err) < 0)
            bench_die("%s", err.message);
    }
    double rate = (double)count / bench_seconds_since(start);
    if (rung_close(db, &err) < 0)
        bench_die("%s", err.message);
    return rate;
}

/* The disk alone: writes of that size into a prepared file, each followed by fdatasync. */
static double measure_disk(double size_wanted, double seconds) {
    enum { FILE_BYTES = 64 << 20 };
    static char bytes[1 << 20];
    char name[600];
    size_t size = size_wanted < 64             ? 64
                  : size_wanted > sizeof bytes ? sizeof bytes
                                               : (size_t)size_wanted;
    snprintf(name, sizeof name, "%s/plain", folder);
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    for (off_t at = 0; at < FILE_BYTES; at += (off_t)sizeof bytes)
        if (fd < 0 || pwrite(fd, bytes, sizeof bytes, at) != (ssize_t)sizeof bytes)
            bench_die("cannot write %s", name);
    fsync(fd);
    uint64_t count = 0, start = bench_now_ns();
    for (off_t at = 0; bench_seconds_since(start) < seconds; count++) {
        if (pwrite(fd, bytes, size, at) != (ssize_t)size || fdatasync(fd) != 0)
            bench_die("cannot sync %s", name);
        at = at + 2 * (off_t)size > FILE_BYTES ? 0 : at + (off_t)size;
    }
    double rate = (double)count / bench_seconds_since(start);
    close(fd);
    unlink(name);
    return rate;
}

typedef struct bars {
    double sync_ratio, lone_cost, library_cost, replay_ratio, start_ratio, p99_ratio, stop_ms;
    bool has_redis;
} bars;

/* In fdatasyncs; a row of the table of commits. */
static double report_library(const bench_options *o, double seconds, bench_table *t) {
    double always[64], alone[64], cost[64];
    uint64_t rounds = o->rounds < 64 ? o->rounds : 64;
    for (uint64_t k = 0; k < rounds; k++) {
        bench_progress("the library, round %" PRIu64, k + 1);
        always[k] = measure_library(seconds, o->seed);
        alone[k] = measure_disk(64, seconds);
        cost[k] = alone[k] / always[k];
    }
    bench_table_cell(t, "1, the library");
    bench_table_cell(t, "%.0f", bench_median(always, rounds));
    bench_table_cell(t, "1.0");
    bench_table_cell(t, "%.0f", bench_median(always, rounds));
    bench_table_cell(t, "%.0f", bench_median(alone, rounds));
    bench_table_cell(t, "%.2f", bench_median(cost, rounds));
    bench_table_cell(t, "-");
    bench_table_cell(t, "-");
    return bench_median(cost, rounds);
}

static void report_commits(const bench_options *o, double seconds, bars *b, bench_report *r) {
    static const uint64_t depths[] = {1, 16, 256, 4096};
    bench_table t = {0};
    bench_report_line(r, "### Acknowledged events per second, 100 k players");
    bench_report_gap(r);
    bench_table_head(&t, 8, "in flight", "always", "events per batch", "batches/s",
                     "fdatasync/s alone", "fdatasyncs per batch", "no sync", "always / no sync");
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        double always[64], without[64], alone[64], batches[64], per_batch[64], ratio[64], cost[64];
        uint64_t rounds = o->rounds < 64 ? o->rounds : 64;
        for (uint64_t k = 0; k < rounds; k++) {
            bench_progress("%" PRIu64 " in flight, round %" PRIu64, depths[i], k + 1);
            commits with = measure_commits(depths[i], seconds, true, o->seed);
            alone[k] = measure_disk(with.batch_bytes, seconds);
            commits no = measure_commits(depths[i], seconds, false, o->seed);
            always[k] = with.events;
            without[k] = no.events;
            batches[k] = with.batches;
            per_batch[k] = with.events / with.batches;
            ratio[k] = with.events / no.events;
            cost[k] = alone[k] / with.batches;
        }
        double median_ratio = bench_median(ratio, rounds), median_cost = bench_median(cost, rounds);
        bench_table_cell(&t, "%" PRIu64, depths[i]);
        bench_table_cell(&t, "%.0f", bench_median(always, rounds));
        bench_table_cell(&t, "%.1f", bench_median(per_batch, rounds));
        bench_table_cell(&t, "%.0f", bench_median(batches, rounds));
        bench_table_cell(&t, "%.0f", bench_median(alone, rounds));
        bench_table_cell(&t, "%.2f", median_cost);
        bench_table_cell(&t, "%.0f", bench_median(without, rounds));
        bench_table_cell(&t, "%.2f", median_ratio);
        if (depths[i] == 1)
            b->lone_cost = median_cost;
        if (depths[i] == 4096)
            b->sync_ratio = median_ratio;
    }
    b->library_cost = report_library(o, seconds, &t);
    bench_table_end(&t, r);
}

/* ---- a large folder: snapshots, latency beside them, start, replay ---- */

typedef struct latency {
    double p50_us, p99_us, longest_us, stop_ms;
    uint64_t count;
} latency;

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static latency read_latency(load *l) {
    latency out = {.count = l->us_count, .stop_ms = (double)l->longest_ns * 1e-6};
    if (l->us_count == 0)
        return out;
    qsort(l->us, l->us_count, sizeof *l->us, by_number);
    out.p50_us = l->us[l->us_count / 2];
    out.p99_us = l->us[l->us_count - 1 - l->us_count / 100];
    out.longest_us = l->us[l->us_count - 1];
    return out;
}

static void tick(load *l) {
    uint64_t start = bench_now_ns();
    rung_hub_tick(l->hub);
    uint64_t ns = bench_now_ns() - start;
    if (ns > l->longest_ns)
        l->longest_ns = ns;
}

/* Submissions with DEPTH_LATENCY in flight for some seconds, or, with `in_snapshot`, for as long as one takes. */
static latency measure_latency(load *l, double seconds, bool in_snapshot,
                               double *snapshot_seconds) {
    rung_err err;
    uint64_t snapshots = rung_hub_stat(l->hub).snapshots;
    l->us_count = 0;
    l->longest_ns = 0;
    uint64_t start = bench_now_ns(), ticked = start;
    if (in_snapshot) {
        if (rung_hub_snapshot(l->hub, &err) != RUNG_OK)
            bench_die("snapshot: %s", err.message);
        l->longest_ns = bench_now_ns() - start;
    }
    for (;;) {
        uint64_t at = bench_now_ns();
        if (at - ticked > 100000000) {
            ticked = at;
            tick(l);
        }
        rung_hub_stats s = rung_hub_stat(l->hub);
        if (s.snapshot_failures)
            bench_die("the snapshot failed");
        if (in_snapshot ? s.snapshots > snapshots : bench_seconds_since(start) >= seconds)
            break;
        while (l->put - l->answered < DEPTH_LATENCY)
            put_score(l, rung_rng_below(&l->rng, l->players));
        turn(l);
        if (l->put - l->answered >= DEPTH_LATENCY)
            wait_wake(l);
    }
    *snapshot_seconds = bench_seconds_since(start);
    latency out = read_latency(l);
    settle(l);
    return out;
}

static uint64_t snapshot_bytes(void) {
    DIR *dir = opendir(folder);
    uint64_t largest = 0;
    struct stat about;
    char name[1024];
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        if (strncmp(e->d_name, "snapshot", 8) == 0 && stat(name, &about) == 0 &&
            (uint64_t)about.st_size > largest)
            largest = (uint64_t)about.st_size;
    }
    if (dir)
        closedir(dir);
    return largest;
}

/* A snapshot with nobody else at work. */
static double quiet_snapshot(load *l) {
    rung_err err;
    uint64_t snapshots = rung_hub_stat(l->hub).snapshots, start = bench_now_ns();
    rung_status st = rung_hub_snapshot(l->hub, &err);
    if (st < 0)
        bench_die("snapshot: %s", err.message);
    while (st == RUNG_OK && rung_hub_stat(l->hub).snapshots == snapshots) {
        usleep(1000);
        rung_hub_turn(l->hub);
        rung_hub_tick(l->hub);
    }
    settle(l);
    return bench_seconds_since(start);
}

/* Events per second of the state alone: decoded events, in batches of 32, as `./dev bench state` has it. */
static double measure_state(load *l, uint64_t count) {
    enum { BATCH = 32 };
    static char ids[BATCH][ID_LEN];
    static rung_event events[BATCH];
    static rung_status statuses[BATCH];
    static rung_outcome outcomes[BATCH];
    const rung_event *list[BATCH];
    rung_state *s = (rung_state *)rung_hub_state(l->hub); /* nobody uses the hub after this */
    uint64_t spent = 0;
    for (uint64_t done = 0; done < count; done += BATCH) {
        for (uint32_t i = 0; i < BATCH; i++) {
            set_id(ids[i], rung_rng_below(&l->rng, l->players));
            events[i] = (rung_event){.kind = RUNG_EVENT_SCORE, .ts_ms = rung_state_time(s)};
            events[i].score =
                (rung_score_event){.board = BOARD,
                                   .player = rung_slice_of(ids[i], ID_LEN),
                                   .value_count = 1,
                                   .values = {{.i = (int64_t)rung_rng_below(&l->rng, SCORES)}}};
            list[i] = &events[i];
        }
        uint64_t start = bench_now_ns();
        if (rung_state_apply_batch(s, BATCH, list, statuses, outcomes, NULL) != BATCH)
            bench_die("out of memory");
        spent += bench_now_ns() - start;
    }
    return (double)count / ((double)spent * 1e-9);
}

typedef struct start_up {
    double snapshot_s, replay_s;
} start_up;

static start_up measure_start(load *l, bool has_tail) {
    open_hub(l, folder, true);
    double whole = bench_seconds_since(l->opened_ns);
    double snapshot = whole;
    if (has_tail &&
        l->log_ns) /* the first word about the log comes when 1024 records of it are done */
        snapshot = (double)(l->log_ns - l->opened_ns) * 1e-9;
    return (start_up){snapshot, whole - snapshot};
}

/* ---- Redis ---- */

typedef struct redis {
    pid_t pid;
    int fd;
} redis;

static bool redis_connect(redis *s) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (snprintf(to.sun_path, sizeof to.sun_path, "%s/redis.sock", folder) >=
        (int)sizeof to.sun_path)
        bench_die("the folder's path is too long for a socket: %s", folder);
    s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->fd >= 0 && connect(s->fd, (struct sockaddr *)&to, sizeof to) == 0)
        return true;
    close(s->fd);
    return false;
}

static void send_all(int fd, const char *bytes, size_t len) {
    while (len > 0) {
        ssize_t wrote = write(fd, bytes, len);
        if (wrote <= 0)
            bench_die("redis does not listen");
        bytes += wrote;
        len -= (size_t)wrote;
    }
}

/* Read until `lines` line ends came; the first of the last reading tells of errors. */
static char read_lines(int fd, uint64_t lines) {
    char bytes[65536], first = 0;
    while (lines > 0) {
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got <= 0)
            bench_die("redis does not answer");
        first = bytes[0];
        for (ssize_t i = 0; i < got; i++)
            lines -= bytes[i] == '\n';
    }
    return first;
}

/* Start it and wait until it answers: the seconds that takes. */
static double redis_start(redis *s, bool is_aof) {
    char socket_path[600];
    snprintf(socket_path, sizeof socket_path, "%s/redis.sock", folder);
    uint64_t start = bench_now_ns();
    s->pid = fork();
    if (s->pid == 0) {
        int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, 1);
        char *absolute = realpath(folder, NULL);
        snprintf(socket_path, sizeof socket_path, "%s/redis.sock", absolute ? absolute : folder);
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket_path, "--dir",
               folder, "--save", "", "--appendonly", is_aof ? "yes" : "no",
               "--aof-use-rdb-preamble", "no", "--appendfsync", "no",
               "--auto-aof-rewrite-percentage", "0", (char *)NULL);
        _exit(127);
    }
    for (;;) {
        int status;
        if (waitpid(s->pid, &status, WNOHANG) == s->pid)
            return -1;
        if (redis_connect(s)) {
            send_all(s->fd, "PING\r\n", 6);
            if (read_lines(s->fd, 1) == '+')
                return bench_seconds_since(start);
            close(s->fd);
        }
        usleep(2000);
    }
}

static void redis_stop(redis *s) {
    send_all(s->fd, "SHUTDOWN NOSAVE\r\n", 17);
    waitpid(s->pid, NULL, 0);
    close(s->fd);
}

/* The same players and as many commands as we had events. */
static void redis_fill(redis *s, uint64_t players, uint64_t seed) {
    enum { PIPELINE = 1000 };
    static char bytes[PIPELINE * 96];
    bench_shuffle order = bench_shuffle_of(players, seed);
    rung_rng rng;
    rung_rng_seed(&rng, seed);
    for (uint64_t done = 0; done < players;) {
        size_t len = 0;
        uint64_t n = players - done < PIPELINE ? players - done : PIPELINE;
        for (uint64_t i = 0; i < n; i++, done++) {
            char id[ID_LEN], score[24];
            set_id(id, bench_shuffle_at(&order, done));
            int digits = snprintf(score, sizeof score, "%" PRIu64, rung_rng_below(&rng, SCORES));
            len +=
                (size_t)snprintf(bytes + len, sizeof bytes - len,
                                 "*4\r\n$4\r\nZADD\r\n$4\r\nrace\r\n$%d\r\n%s\r\n$15\r\n%.15s\r\n",
                                 digits, score, id);
        }
        send_all(s->fd, bytes, len);
        read_lines(s->fd, n);
    }
}

typedef struct redis_times {
    bool is_there;
    double rdb_s, aof_s, save_s;
    uint64_t rdb_bytes;
} redis_times;

static redis_times measure_redis(uint64_t players, uint64_t seed) {
    redis s;
    redis_times t = {0};
    char name[600];
    struct stat about;
    clear_folder(folder, false);
    bench_progress("redis: loading %s members", bench_count_label(players).text);
    if (redis_start(&s, true) < 0)
        return t;
    redis_fill(&s, players, seed);
    uint64_t start = bench_now_ns();
    send_all(s.fd, "SAVE\r\n", 6);
    read_lines(s.fd, 1);
    t.save_s = bench_seconds_since(start);
    snprintf(name, sizeof name, "%s/dump.rdb", folder);
    t.rdb_bytes = stat(name, &about) == 0 ? (uint64_t)about.st_size : 0;
    redis_stop(&s);
    bench_progress("redis: starting from its RDB");
    t.rdb_s = redis_start(&s, false);
    redis_stop(&s);
    bench_progress("redis: starting from its AOF");
    t.aof_s = redis_start(&s, true);
    redis_stop(&s);
    t.is_there = t.rdb_s > 0 && t.aof_s > 0;
    clear_folder(folder, false);
    return t;
}

/* ---- the report of a large folder ---- */

static void report_folder(uint64_t players, const bench_options *o, double seconds, bars *b,
                          bench_report *r) {
    static load l;
    bench_table t = {0};
    bench_label label = bench_count_label(players);
    redis_times redis_is = measure_redis(players, o->seed);
    init_load(&l, players, o->seed);
    clear_folder(folder, false);

    bench_progress("%s players: filling", label.text);
    open_hub(&l, folder, false);
    define_board(&l);
    bench_shuffle order = bench_shuffle_of(players, o->seed);
    uint64_t start = bench_now_ns();
    submit_many(&l, players, &order, DEPTH_FILL);
    double fill_s = bench_seconds_since(start);
    close_hub(&l);

    bench_progress("replaying %s new players", label.text);
    start_up cold = measure_start(&l, true);
    bench_progress("snapshot, nobody else at work");
    double save_s = quiet_snapshot(&l);
    uint64_t bytes = snapshot_bytes();
    close_hub(&l);

    bench_progress("starting from the snapshot");
    start_up warm = measure_start(&l, false);
    l.us_room = (size_t)8 << 20;
    l.us = rung_alloc_get(rung_alloc_heap(), l.us_room * sizeof *l.us);
    if (!l.us)
        bench_die("out of memory");
    double ignored, beside_s;
    bench_progress("submissions, without and with a snapshot");
    measure_latency(&l, seconds, false, &ignored); /* warm */
    latency without = measure_latency(&l, 4 * seconds, false, &ignored);
    latency with = measure_latency(&l, 0, true, &beside_s);
    rung_alloc_free(rung_alloc_heap(), l.us, l.us_room * sizeof *l.us);
    l.us = NULL;
    close_hub(&l);

    uint64_t tail = players / 4 > 100000 ? players / 4 : 100000;
    bench_progress("replay of %s submissions of known players", bench_count_label(tail).text);
    open_hub(&l, folder, false);
    quiet_snapshot(&l);
    submit_many(&l, tail, NULL, DEPTH_FILL);
    close_hub(&l);
    start_up known = measure_start(&l, true);
    double state_rate = measure_state(&l, tail / 32 * 32);
    double replay_rate = (double)tail / known.replay_s;
    rung_ignore(rung_hub_close(l.hub, NULL), "its state was changed behind its back");
    clear_folder(folder, false);

    bench_report_line(r, "### %s players", label.text);
    bench_report_gap(r);
    bench_table_head(&t, 3, "", "Rung", "Redis 7");
    bench_table_cell(&t, "snapshot written, s");
    bench_table_cell(&t, "%.2f", save_s);
    bench_table_cell(&t, redis_is.is_there ? "%.2f" : "-", redis_is.save_s);
    bench_table_cell(&t, "snapshot, bytes per player");
    bench_table_cell(&t, "%.1f", (double)bytes / (double)players);
    bench_table_cell(&t, redis_is.is_there ? "%.1f" : "-",
                     (double)redis_is.rdb_bytes / (double)players);
    bench_table_cell(&t, "start from snapshot or RDB, s");
    bench_table_cell(&t, "%.2f", warm.snapshot_s);
    bench_table_cell(&t, redis_is.is_there ? "%.2f" : "-", redis_is.rdb_s);
    bench_table_cell(&t, "start from the log or AOF alone, s");
    bench_table_cell(&t, "%.2f", cold.snapshot_s + cold.replay_s);
    bench_table_cell(&t, redis_is.is_there ? "%.2f" : "-", redis_is.aof_s);
    bench_table_end(&t, r);

    bench_table_head(&t, 2, "events per second", "M/s");
    bench_table_cell(&t, "new players, in, no sync");
    bench_table_cell(&t, "%.2f", (double)players / fill_s * 1e-6);
    bench_table_cell(&t, "replay, new players");
    bench_table_cell(&t, "%.2f", (double)players / (cold.snapshot_s + cold.replay_s) * 1e-6);
    bench_table_cell(&t, "replay, known players");
    bench_table_cell(&t, "%.2f", replay_rate * 1e-6);
    bench_table_cell(&t, "the state alone, known players");
    bench_table_cell(&t, "%.2f", state_rate * 1e-6);
    bench_table_end(&t, r);

    bench_table_head(&t, 6, "submissions, 16 in flight, always", "events", "p50, us", "p99, us",
                     "longest, us", "longest stop, ms");
    bench_table_cell(&t, "nothing beside");
    bench_table_cell(&t, "%" PRIu64, without.count);
    bench_table_cell(&t, "%.0f", without.p50_us);
    bench_table_cell(&t, "%.0f", without.p99_us);
    bench_table_cell(&t, "%.0f", without.longest_us);
    bench_table_cell(&t, "%.1f", without.stop_ms);
    bench_table_cell(&t, "a snapshot beside (%.1f s)", beside_s);
    bench_table_cell(&t, "%" PRIu64, with.count);
    bench_table_cell(&t, "%.0f", with.p50_us);
    bench_table_cell(&t, "%.0f", with.p99_us);
    bench_table_cell(&t, "%.0f", with.longest_us);
    bench_table_cell(&t, "%.1f", with.stop_ms);
    bench_table_end(&t, r);

    b->replay_ratio = replay_rate / state_rate;
    b->has_redis = redis_is.is_there;
    b->start_ratio = redis_is.is_there ? redis_is.rdb_s / warm.snapshot_s : 0;
    b->p99_ratio = with.p99_us / without.p99_us;
    b->stop_ms = with.stop_ms;
}

static void bar(bench_table *t, const char *what, const char *limit, const char *measured_format,
                double measured, bool is_met) {
    char text[32];
    snprintf(text, sizeof text, "%.2f%s", measured, measured_format);
    bench_table_cell(t, "%s", what);
    bench_table_cell(t, "%s", limit);
    bench_table_cell(t, "%s", text);
    bench_table_cell(t, "%s", is_met ? "met" : "missed");
}

static void report_bars(const bars *b, bench_report *r) {
    bench_table t = {0};
    bench_report_line(r, "### Bars");
    bench_report_gap(r);
    bench_table_head(&t, 4, "", "bar", "measured", "verdict");
    bar(&t, "4,096 in flight, always against no sync", "at least 0.7", "", b->sync_ratio,
        b->sync_ratio >= 0.7);
    bar(&t, "a lone submission to the library, in fdatasyncs", "at most 1.3", "", b->library_cost,
        b->library_cost <= 1.3);
    bar(&t, "a lone submission to the server's hub, two threads", "at most 1.3", "", b->lone_cost,
        b->lone_cost <= 1.3);
    bar(&t, "replay against the state alone", "at least 0.6", "", b->replay_ratio,
        b->replay_ratio >= 0.6);
    if (b->has_redis)
        bar(&t, "start from a snapshot against Redis from its RDB", "at least 4x", "x",
            b->start_ratio, b->start_ratio >= 4);
    bar(&t, "p99 of submissions beside a snapshot", "at most 2x", "x", b->p99_ratio,
        b->p99_ratio <= 2);
    bar(&t, "longest stop beside a snapshot", "at most 20 ms", " ms", b->stop_ms, b->stop_ms <= 20);
    bench_table_end(&t, r);
}

int main(int argc, char **argv) {
    bench_options o = {
        .sizes = {10000000}, .size_count = 1, .rounds = 3, .seed = 1, .section = "journal"};
    uint64_t ms = 2000;
    bench_options_parse(
        &o, argc, argv, "What durability costs: commits, replay, snapshots, start-up beside Redis.",
        (bench_option[]){{"--ms", BENCH_NUMBER, &ms, "milliseconds per measurement (2000)"}, {0}});
    bench_report r = {0};
    bars b = {0};
    double seconds = (double)ms * 1e-3;
    make_folder();
    bench_machine_describe(&r, o.command);
    bench_report_line(&r, "One thread runs a loop like the server's: put, flush, and a turn when "
                          "woken. Another thread writes and syncs.");
    bench_report_line(&r, "Submissions of random known players (15-byte ids) to a board with "
                          "`update: last`. Redis has the");
    bench_report_line(&r, "same members in one sorted set, an AOF of one ZADD each, without RDB "
                          "preamble, and the RDB of a");
    bench_report_line(
        &r,
        "SAVE; its start ends with the first answer to PING. Wall times; medians of the rounds.");
    bench_report_gap(&r);
    report_commits(&o, seconds, &b, &r);
    for (size_t i = 0; i < o.size_count; i++)
        report_folder(o.sizes[i], &o, seconds, &b, &r);
    report_bars(&b, &r);
    clear_folder(folder, true);
    int code = bench_options_finish(&o, &r);
    bench_report_deinit(&r);
    return code;
}
