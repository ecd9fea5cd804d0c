/* SPDX-License-Identifier: Apache-2.0 */
/* bench_redis.c - Rung beside Redis: the same members, the same questions, the same client, in turn.
 *
 * needs: redis-server=redis-server
 *
 * Both servers run at once, each may use one processor (both the same one; the client has the other), and only one of
 * them is asked at a time. A question is asked for a while of one, then of the other, in several rounds; a ratio is
 * the median of the rounds' ratios. Rung is build/.../rung serve, as anybody runs it. */
#define _GNU_SOURCE 1 /* which processor */
#include "support/machine.h"
#include "support/options.h"
#include "support/report.h"
#include "support/resp_load.h"
#include "support/rng.h"
#include "support/shuffle.h"
#include "support/stopwatch.h"

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRIENDS = 200, FRIEND_SETS = 500, SCORE_MAX = 1000000000, ROUNDS_MAX = 32 };
enum { RUNG, REDIS, SERVERS };

static const char *const names[SERVERS] = {"Rung", "Redis"};
static char folder[80];

typedef struct server {
    pid_t pid;
    bench_address address;
    uint16_t http_port;
    char data[128];
    bool is_durable;
} server;

/* ---- processes ---- */

static void pin(pid_t pid, size_t cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(pid, sizeof set,
                      &set); /* on one processor alone it fails, and all share it */
}

/* The program of the same build: bench/.. has it. */
static void rung_path(char out[512]) {
    char self[400] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        bench_die("who am I?");
    snprintf(out, 512, "%s/../rung", dirname(self));
}

static pid_t spawn(const char *const *words, const char *err_path) {
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    int err = open(err_path, O_WRONLY | O_CREAT | O_TRUNC, 0600), null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    dup2(err, 2);
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

/* The HTTP port from the line that says where it listens; 0: not yet. */
static uint16_t announced_port(const char *path) {
    char line[512];
    unsigned port = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, "listening http=127.0.0.1:");
        if (at)
            sscanf(at, "listening http=127.0.0.1:%u", &port);
    }
    if (f)
        fclose(f);
    return (uint16_t)port;
}

/* Until it answers, and has everything in memory; returns the seconds that took. */
static double wait_ready(server *s, uint64_t start) {
    char reply[512];
    for (;;) {
        if (bench_ask(&s->address, (const char *[]){"ZCARD", "race", NULL}, reply, sizeof reply) &&
            reply[0] == ':')
            return bench_seconds_since(start);
        if (waitpid(s->pid, NULL, WNOHANG) != 0)
            bench_die("a server did not start; see %s", folder);
        usleep(2000);
    }
}

static double start_rung(server *s) {
    char path[512], resp[160], err[128];
    rung_path(path);
    snprintf(s->address.path, sizeof s->address.path, "%s/rung.sock", folder);
    snprintf(resp, sizeof resp, "unix:%s", s->address.path);
    snprintf(s->data, sizeof s->data, "%s/rung", folder);
    snprintf(err, sizeof err, "%s/rung.log", folder);
    const char *words[12] = {path, "serve", "--http", "127.0.0.1:0", "--resp", resp};
    if (s->is_durable) {
        words[6] = "--data";
        words[7] = s->data;
    }
    uint64_t start = bench_now_ns();
    s->pid = spawn(words, err);
    pin(s->pid, 0);
    double took = wait_ready(s, start);
    while (!(s->http_port = announced_port(err)))
        usleep(2000);
    return took;
}

static double start_redis(server *s) {
    char err[128];
    snprintf(s->address.path, sizeof s->address.path, "%s/redis.sock", folder);
    snprintf(s->data, sizeof s->data, "%s/redis", folder);
    snprintf(err, sizeof err, "%s/redis.log", folder);
    mkdir(s->data, 0700);
    const char *words[] = {"redis-server",
                           "--port",
                           "0",
                           "--unixsocket",
                           s->address.path,
                           "--save",
                           "",
                           "--dir",
                           s->data,
                           "--appendonly",
                           s->is_durable ? "yes" : "no",
                           "--appendfsync",
                           "always",
                           NULL};
    uint64_t start = bench_now_ns();
    s->pid = spawn(words, err);
    pin(s->pid, 0);
    return wait_ready(s, start);
}

static double start_server(server *s, int which) {
    return which == RUNG ? start_rung(s) : start_redis(s);
}

static void stop_server(server *s) {
    kill(s->pid, SIGTERM);
    waitpid(s->pid, NULL, 0);
}

static double resident_bytes(const server *s) {
    char path[64], line[256];
    double kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)s->pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = atof(line + 6);
    if (f)
        fclose(f);
    return kib * 1024;
}

/* Processor time of all threads so far. */
static double processor_seconds(const server *s) {
    char path[300];
    double ns = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)s->pid);
    DIR *tasks = opendir(path);
    for (struct dirent *e; tasks && (e = readdir(tasks)) != NULL;) {
        double mine = 0;
        snprintf(path, sizeof path, "/proc/%d/task/%.16s/schedstat", (int)s->pid, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f && fscanf(f, "%lf", &mine) == 1)
            ns += mine;
        if (f)
            fclose(f);
    }
    if (tasks)
        closedir(tasks);
    return ns * 1e-9;
}

static void ask(const server *s, const char *const *words) {
    static char reply[1 << 20];
    if (!bench_ask(&s->address, words, reply, sizeof reply) || reply[0] == '-')
        bench_die("%s: %.200s", words[0], reply);
}

static void remove_folder(void) {
    char command[320];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "%s is left behind\n", folder);
}

/* ---- commands ---- */

typedef struct workload {
    rung_rng rng;
    uint64_t members;
    int which;
    bench_shuffle order; /* of loading */
    uint64_t next;
} workload;

static const char *member_name(char out[16], uint64_t i) {
    memcpy(out, "player:", 7);
    for (int d = 14; d >= 7; d--, i /= 10)
        out[d] = (char)('0' + i % 10);
    out[15] = '\0';
    return out;
}

static const char *number(char out[24], uint64_t n) {
    snprintf(out, 24, "%llu", (unsigned long long)n);
    return out;
}

static uint64_t below(workload *w, uint64_t n) {
    return rung_rng_below(&w->rng, n);
}

#define COMMAND(...)                                                                               \
    (*length = bench_command(out, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),          \
                             (const char *[]){__VA_ARGS__}),                                       \
     1u)

static uint32_t make_load(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    char name[16], score[24];
    uint64_t i = bench_shuffle_at(&w->order, w->next++ % w->members);
    return COMMAND("ZADD", "race", number(score, below(w, SCORE_MAX)), member_name(name, i));
}

static uint32_t make_zadd(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    char name[16], score[24];
    return COMMAND("ZADD", "race", number(score, below(w, SCORE_MAX)),
                   member_name(name, below(w, w->members)));
}

static uint32_t make_zincrby(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    char name[16], score[24];
    return COMMAND("ZINCRBY", "race", number(score, below(w, 1000)),
                   member_name(name, below(w, w->members)));
}

static uint32_t make_zrevrank(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    char name[16];
    return COMMAND("ZREVRANK", "race", member_name(name, below(w, w->members)));
}

static uint32_t make_zscore(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    char name[16];
    return COMMAND("ZSCORE", "race", member_name(name, below(w, w->members)));
}

static uint32_t make_top(void *ctx, char *out, size_t *length) {
    (void)ctx;
    return COMMAND("ZREVRANGE", "race", "0", "99", "WITHSCORES");
}

static uint32_t make_around(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    char from[24], to[24];
    uint64_t at = below(w, w->members - 11);
    return COMMAND("ZREVRANGE", "race", number(from, at), number(to, at + 10), "WITHSCORES");
}

static uint32_t make_zcount(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    char min[24], max[24];
    uint64_t a = below(w, SCORE_MAX), b = below(w, SCORE_MAX);
    return COMMAND("ZCOUNT", "race", number(min, a < b ? a : b), number(max, a < b ? b : a));
}

static uint32_t make_friends(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    char set[40];
    snprintf(set, sizeof set, "friends:%u", (unsigned)below(w, FRIEND_SETS));
    return COMMAND("ZINTER", "2", "race", set, "WITHSCORES");
}

/* One submission that all, week and day get: Redis needs three commands in a transaction, Rung one. */
static uint32_t make_windows_of(workload *w, char *out, size_t *length, uint64_t member) {
    char name[16], score[24];
    member_name(name, member);
    number(score, below(w, 1000));
    if (w->which == RUNG)
        return COMMAND("RUNG.SUBMIT", "windows", name, score);
    size_t used = bench_command(out, 1, (const char *[]){"MULTI"});
    static const char *const keys[] = {"windows:all", "windows:week", "windows:day"};
    for (int i = 0; i < 3; i++)
        used += bench_command(out + used, 4, (const char *[]){"ZINCRBY", keys[i], score, name});
    *length = used + bench_command(out + used, 1, (const char *[]){"EXEC"});
    return 5;
}

static uint32_t make_windows(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    return make_windows_of(w, out, length, below(w, w->members));
}

static uint32_t make_windows_load(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    return make_windows_of(w, out, length, bench_shuffle_at(&w->order, w->next++ % w->members));
}

typedef struct question {
    const char *name;
    bench_command_maker make;
    double bar; /* at 10 M members, depth 16; 0: none */
} question;

static const question questions[] = {
    {"ZADD of a known member", make_zadd, 10},
    {"ZINCRBY", make_zincrby, 10},
    {"ZREVRANK", make_zrevrank, 7},
    {"ZSCORE", make_zscore, 0},
    {"ZREVRANGE 0 99 WITHSCORES", make_top, 8},
    {"ZREVRANGE, 11 rows anywhere", make_around, 7},
    {"ZCOUNT", make_zcount, 7},
    {"ZINTER with 200 friends", make_friends, 10},
    {"three windows at once", make_windows, 20},
};
enum { QUESTIONS = sizeof questions / sizeof questions[0], FRIENDS_AT = 7, WINDOWS_AT = 8 };

/* ---- measuring ---- */

typedef struct figures {         /* medians */
    double rate[SERVERS], ratio; /* commands per second */
    double ratio_busy;           /* commands per second of the server's processor time */
} figures;

typedef struct bench {
    bench_options o;
    uint64_t seconds_ms, connections;
    bool with_windows;
    server servers[SERVERS];
    uint64_t members;
    figures found[QUESTIONS][3]; /* by depth */
    double load_s[SERVERS], bytes[SERVERS], bytes_windows[SERVERS], restart_s[SERVERS],
        durable[SERVERS][2];
} bench;

static const uint32_t depths[] = {1, 16, 100};

static workload work_of(const bench *b, int which, uint64_t seed) {
    workload w = {.members = b->members, .which = which, .order = bench_shuffle_of(b->members, 7)};
    rung_rng_seed(&w.rng, seed);
    return w;
}

typedef struct pace {
    double rate, rate_busy; /* commands per second, and per second of processor time */
} pace;

static pace run_once(const bench *b, int which, bench_command_maker make, uint32_t depth,
                     uint64_t seed, double seconds, uint64_t count) {
    static bench_load load;
    const server *s = &b->servers[which];
    workload w = work_of(b, which, seed);
    load = (bench_load){.connections = (uint32_t)b->connections, .depth = depth};
    bench_load_connect(&load, &s->address);
    double busy = processor_seconds(s);
    uint64_t start = bench_now_ns();
    double rate = bench_load_run(&load, make, &w, seconds, count);
    double done = rate * bench_seconds_since(start);
    busy = processor_seconds(s) - busy;
    bench_load_close(&load);
    if (load.errors)
        bench_die("%s answered %llu errors", names[which], (unsigned long long)load.errors);
    return (pace){rate, busy > 0 ? done / busy : rate};
}

static figures compare(const bench *b, bench_command_maker make, uint32_t depth) {
    double rates[SERVERS][ROUNDS_MAX], ratios[ROUNDS_MAX], busy[ROUNDS_MAX];
    for (uint64_t round = 0; round < b->o.rounds; round++) {
        pace p[SERVERS];
        for (int k = 0; k < SERVERS; k++) { /* who goes first alternates */
            int which = (int)((round + (uint64_t)k) % 2);
            p[which] =
                run_once(b, which, make, depth, b->o.seed + round, (double)b->seconds_ms / 1000, 0);
            rates[which][round] = p[which].rate;
        }
        ratios[round] = p[RUNG].rate / p[REDIS].rate;
        busy[round] = p[RUNG].rate_busy / p[REDIS].rate_busy;
    }
    figures f = {.ratio = bench_median(ratios, b->o.rounds),
                 .ratio_busy = bench_median(busy, b->o.rounds)};
    for (int which = 0; which < SERVERS; which++)
        f.rate[which] = bench_median(rates[which], b->o.rounds);
    return f;
}

/* ---- setting up ---- */

static void define_windows(const server *s) {
    char command[512];
    snprintf(command, sizeof command,
             "curl -sf -X PUT -H 'Content-Type: application/json' "
             "-d "
             "'{\"score\":{\"type\":\"real\"},\"update\":\"sum\",\"windows\":[\"all\",\"week\","
             "\"day\"]}' "
             "http://127.0.0.1:%u/v1/boards/windows >/dev/null",
             s->http_port);
    if (system(command) != 0)
        bench_die("the board with three windows cannot be made");
}

static void load_friends(const server *s, uint64_t members) {
    workload w = {.members = members};
    rung_rng_seed(&w.rng, 99);
    for (int set = 0; set < FRIEND_SETS; set++) {
        static char names_of[FRIENDS][16];
        char key[40];
        const char *words[FRIENDS + 3] = {"SADD", key};
        snprintf(key, sizeof key, "friends:%d", set);
        for (int i = 0; i < FRIENDS; i++)
            words[2 + i] = member_name(names_of[i], below(&w, members));
        ask(s, words);
    }
}

static void load_members(bench *b) {
    for (int which = 0; which < SERVERS; which++) {
        double before = resident_bytes(&b->servers[which]);
        bench_progress("%s: loading %llu members", names[which], (unsigned long long)b->members);
        b->load_s[which] =
            (double)b->members / run_once(b, which, make_load, 100, 1, 0, b->members).rate;
        b->bytes[which] = (resident_bytes(&b->servers[which]) - before) / (double)b->members;
        load_friends(&b->servers[which], b->members);
    }
}

static void load_windows(bench *b) {
    define_windows(&b->servers[RUNG]);
    for (int which = 0; which < SERVERS; which++) {
        double before = resident_bytes(&b->servers[which]);
        bench_progress("%s: loading three windows", names[which]);
        run_once(b, which, make_windows_load, 50, 1, 0, b->members);
        b->bytes_windows[which] =
            (resident_bytes(&b->servers[which]) - before) / (double)b->members;
    }
}

/* ---- parts ---- */

static void measure_questions(bench *b) {
    for (int which = 0; which < SERVERS; which++)
        start_server(&b->servers[which], which);
    load_members(b);
    for (int q = 0; q < QUESTIONS; q++) {
        if (q == WINDOWS_AT && !b->with_windows)
            continue;
        if (q == WINDOWS_AT)
            load_windows(b);
        for (int d = 0; d < 3; d++) {
            b->found[q][d] = compare(b, questions[q].make, depths[d]);
            bench_progress("%s, depth %u: %.1fx", questions[q].name, depths[d],
                           b->found[q][d].ratio);
        }
    }
    for (int which = 0; which < SERVERS; which++)
        stop_server(&b->servers[which]);
}

static void take_snapshot(const server *s) {
    char path[512];
    int status = 0;
    rung_path(path);
    pid_t pid = spawn((const char *[]){path, "snapshot", s->data, NULL}, "/dev/null");
    if (waitpid(pid, &status, 0) != pid || status != 0)
        bench_die("no snapshot");
}

/* Every change on disk before it is answered; then how long a restart takes: Redis from an RDB, Rung from a snapshot.
 *  */
static void measure_durable(bench *b) {
    for (int which = 0; which < SERVERS; which++) {
        server *s = &b->servers[which];
        s->is_durable =
            false; /* loaded without, as an RDB: an append-only file takes longer still to read */
        if (which == RUNG)
            s->is_durable = true;
        start_server(s, which);
        bench_progress("%s: loading for a restart", names[which]);
        run_once(b, which, make_load, 100, 1, 0, b->members);
        if (which == REDIS)
            ask(s, (const char *[]){"SAVE", NULL});
        stop_server(s);
        if (which == RUNG)
            take_snapshot(s);
        b->restart_s[which] = start_server(s, which);
        stop_server(s);
        bench_progress("%s: restart in %.2f s", names[which], b->restart_s[which]);
    }
    for (int which = 0; which < SERVERS; which++) {
        b->servers[which].is_durable = true;
        if (which == REDIS) {
            char command[400];
            snprintf(command, sizeof command, "rm -rf '%s'", b->servers[which].data);
            if (system(command) != 0)
                bench_die("cannot clean up");
        }
        start_server(&b->servers[which], which);
    }
    uint64_t all = b->members;
    b->members = all < 100000 ? all : 100000; /* the disk decides, not the size */
    for (int which = 0; which < SERVERS; which++)
        run_once(b, which, make_load, 100, 1, 0, b->members);
    for (int d = 0; d < 2; d++) {
        figures f = compare(b, make_zadd, depths[d]);
        for (int which = 0; which < SERVERS; which++)
            b->durable[which][d] = f.rate[which];
        bench_progress("durable ZADD, depth %u: %.1fx", depths[d], f.ratio);
    }
    b->members = all;
    for (int which = 0; which < SERVERS; which++)
        stop_server(&b->servers[which]);
}

/* ---- report ---- */

static void rate_cell(bench_table *t, double rate) {
    bench_table_cell(t, rate >= 1e6 ? "%.2f M" : "%.1f k", rate >= 1e6 ? rate / 1e6 : rate / 1e3);
}

static void ratio_cell(bench_table *t, double ratio) {
    bench_table_cell(t, ratio < 10 ? "%.1fx" : "%.0fx", ratio);
}

static void report_questions(bench *b, bench_report *r) {
    bench_table t = {0};
    bench_table_head(&t, 10, "commands per second", "Redis, 1", "Rung, 1", "ratio", "Redis, 16",
                     "Rung, 16", "ratio", "by processor", "ratio, 100", "bar");
    for (int q = 0; q < QUESTIONS; q++) {
        if (q == WINDOWS_AT && !b->with_windows)
            continue;
        bench_table_cell(&t, "%s", questions[q].name);
        for (int d = 0; d < 2; d++) {
            rate_cell(&t, b->found[q][d].rate[REDIS]);
            rate_cell(&t, b->found[q][d].rate[RUNG]);
            ratio_cell(&t, b->found[q][d].ratio);
        }
        ratio_cell(&t, b->found[q][1].ratio_busy);
        ratio_cell(&t, b->found[q][2].ratio);
        if (questions[q].bar > 0 && b->members >= 10000000)
            bench_table_cell(&t, "%.0fx %s", questions[q].bar,
                             b->found[q][1].ratio >= questions[q].bar ? "reached" : "missed");
        else
            bench_table_skip(&t, 1);
    }
    bench_table_end(&t, r);
}

static void pair_row(bench_table *t, const char *name, const double *pair, int decimals,
                     bool is_less_better) {
    bench_table_cell(t, "%s", name);
    bench_table_cell(t, "%.*f", decimals, pair[REDIS]);
    bench_table_cell(t, "%.*f", decimals, pair[RUNG]);
    ratio_cell(t, is_less_better ? pair[REDIS] / pair[RUNG] : pair[RUNG] / pair[REDIS]);
}

static void report_costs(bench *b, bench_report *r, bool with_durable) {
    bench_table t = {0};
    bench_table_head(&t, 4, "", "Redis", "Rung", "ratio");
    pair_row(&t, "bytes a member, one board", b->bytes, 0, true);
    if (b->with_windows)
        pair_row(&t, "bytes a member, three windows", b->bytes_windows, 0, true);
    pair_row(&t, "seconds to load", b->load_s, 1, true);
    if (with_durable) {
        double d1[SERVERS], d16[SERVERS];
        for (int which = 0; which < SERVERS; which++) {
            d1[which] = b->durable[which][0];
            d16[which] = b->durable[which][1];
        }
        pair_row(&t, "seconds to restart", b->restart_s, 2, true);
        pair_row(&t, "ZADD a second, on disk before answered, depth 1", d1, 0, false);
        pair_row(&t, "the same, depth 16", d16, 0, false);
    }
    bench_table_end(&t, r);
}

/* The ratios of depth 16 as bars, on a scale of doublings. */
static void draw(const bench *b, const char *path) {
    FILE *f = fopen(path, "w");
    int rows = b->with_windows ? QUESTIONS : QUESTIONS - 1;
    if (!f)
        bench_die("cannot write %s", path);
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 %d\" "
            "font-family=\"sans-serif\" "
            "font-size=\"13\">\n<title>Rung against Redis: commands per second at pipeline depth "
            "16</title>\n"
            "<rect width=\"720\" height=\"%d\" fill=\"#ffffff\"/>\n",
            rows * 28 + 50, rows * 28 + 50);
    for (int k = 0; k <= 6; k++)
        fprintf(f,
                "<line x1=\"%d\" y1=\"24\" x2=\"%d\" y2=\"%d\" stroke=\"#d8dde3\"/>"
                "<text x=\"%d\" y=\"18\" fill=\"#5b6670\" text-anchor=\"middle\">%dx</text>\n",
                240 + k * 70, 240 + k * 70, rows * 28 + 30, 240 + k * 70, 1 << k);
    for (int q = 0; q < rows; q++) {
        double ratio = b->found[q][1].ratio, width = log2(ratio > 1 ? ratio : 1) * 70;
        fprintf(f,
                "<text x=\"230\" y=\"%d\" text-anchor=\"end\" fill=\"#1f2933\">%s</text>"
                "<rect x=\"240\" y=\"%d\" width=\"%.0f\" height=\"18\" fill=\"#2f6f9f\"/>"
                "<text x=\"%.0f\" y=\"%d\" fill=\"#1f2933\">%.1fx</text>\n",
                q * 28 + 45, questions[q].name, q * 28 + 31, width, 246 + width, q * 28 + 45,
                ratio);
    }
    fprintf(f, "</svg>\n");
    fclose(f);
}

static void report_size(bench *b, bench_report *r, bool with_durable) {
    bench_report_line(r, "### %s members", bench_count_label(b->members).text);
    bench_report_gap(r);
    report_questions(b, r);
    report_costs(b, r, with_durable);
}

int main(int argc, char **argv) {
    static bench b;
    bool is_without_windows = false, is_without_disk = false;
    b.seconds_ms = 1000;
    b.connections = 50;
    const bench_option own[] = {
        {"--ms", BENCH_NUMBER, &b.seconds_ms, "milliseconds per question, server and round"},
        {"--connections", BENCH_NUMBER, &b.connections, "at once"},
        {"--no-windows", BENCH_FLAG, &is_without_windows, "leave out the three windows"},
        {"--no-disk", BENCH_FLAG, &is_without_disk, "leave out durability and restart"},
        {0}};
    b.o = (bench_options){
        .section = "redis", .sizes = {1000000, 10000000}, .size_count = 2, .rounds = 3, .seed = 1};
    bench_options_parse(&b.o, argc, argv, "Rung beside Redis, over the same protocol", own);
    b.with_windows = !is_without_windows;
    if (b.o.rounds > ROUNDS_MAX || b.connections > BENCH_LOAD_CONNECTIONS_MAX)
        bench_die("too many rounds or connections");
    const char *parent = getenv("RUNG_BENCH_DIR");
    snprintf(folder, sizeof folder, "%s/bench-redis-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder))
        bench_die("cannot make a folder");
    atexit(remove_folder);
    pin(0, 1);
    bench_report r = {0};
    bench_machine_describe(&r, b.o.command);
    bench_report_line(&r, "Redis 7 and `rung serve`, each on the same one processor, asked in turn "
                          "over a unix socket by one");
    bench_report_line(&r,
                      "client on another one: %u connections, each with 1, 16 or 100 commands "
                      "under way. Members are",
                      (unsigned)b.connections);
    bench_report_line(
        &r,
        "`player:%%08d` with random scores. Nothing is kept on disk, but where it says so. \"By");
    bench_report_line(&r, "processor\": the ratio of commands per second of the server's own "
                          "processor time, depth 16; it is");
    bench_report_line(&r,
                      "larger than the one beside it where the client, not Rung, is at its limit.");
    bench_report_gap(&r);
    for (size_t i = 0; i < b.o.size_count; i++) {
        b.members = b.o.sizes[i];
        measure_questions(&b);
        if (!is_without_disk)
            measure_durable(&b);
        report_size(&b, &r, !is_without_disk);
        for (int which = 0; which < SERVERS; which++)
            b.servers[which].is_durable = false;
    }
    if (b.o.markdown)
        draw(&b, "docs/benchmarks-redis.svg");
    int code = bench_options_finish(&b.o, &r);
    bench_report_deinit(&r);
    return code;
}
