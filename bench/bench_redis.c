/* SPDX-License-Identifier: Apache-2.0 */
/* bench_redis.c - Rung beside Redis: the same members, the same questions, the same client, in turn.
 *
 * needs: redis-server=redis-server
 *
 * Both servers run at once, each may use one processor (both the same one; the client has the other), and only one of
 * them is asked at a time. A question is asked for a while of one, then of the other, in several rounds, the same
 * commands in the same order; no two rounds have the same commands, since a ZADD of what stands already is not one. A
 * ratio is the median of the rounds' ratios. Rung is build/.../rung serve, as anybody runs it.
 *
 * The client writes and counts commands in a tenth of a microsecond, so that it is the server who is measured; the
 * processor time of the server itself is measured beside. */
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

enum { FRIENDS = 200, FRIEND_SETS = 500, SCORE_MAX = 1000001, STEP_MAX = 1000, ROUNDS_MAX = 32 };
enum { RESTARTS = 5 };
enum { RUNG, REDIS, SERVERS };

static const char *const names[SERVERS] = {"Rung", "Redis"};
static char folder[80];

typedef struct server {
    pid_t pid;
    bench_address address;
    uint16_t http_port;
    char data[128];
    bool is_durable; /* every change is on disk before it is answered */
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
        words[8] = "--archive"; /* a second store, in SQL, that Redis has no like of */
        words[9] = "off";
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

/* They are written as fast as can be: the client must not be what is measured. */

typedef struct workload {
    rung_rng rng;
    uint64_t members;
    int which;
    bench_shuffle order; /* of loading */
    uint64_t next;
} workload;

static uint64_t below(workload *w, uint64_t n) {
    return rung_rng_below(&w->rng, n);
}

#define PUT(at, literal) ((char *)memcpy((at), literal, sizeof(literal) - 1) + sizeof(literal) - 1)

/* An argument that is a number. */
static char *put_number(char *at, uint64_t n) {
    char digits[20];
    uint32_t len = 0;
    do
        digits[len++] = (char)('0' + n % 10);
    while (n /= 10);
    at = PUT(at, "$");
    if (len > 9)
        *at++ = (char)('0' + len / 10);
    *at++ = (char)('0' + len % 10);
    at = PUT(at, "\r\n");
    while (len)
        *at++ = digits[--len];
    return PUT(at, "\r\n");
}

/* An argument that is a member. */
static char *put_member(char *at, uint64_t i) {
    uint32_t n = (uint32_t)i;
    at = PUT(at, "$15\r\nplayer:00000000\r\n");
    for (char *d = at - 3; n; n /= 10)
        *d-- = (char)('0' + n % 10);
    return at;
}

static uint32_t made(const char *out, const char *end, size_t *length) {
    *length = (size_t)(end - out);
    return 1;
}

static char *put_zadd(char *at, uint64_t score, uint64_t member) {
    at = PUT(at, "*4\r\n$4\r\nZADD\r\n$4\r\nrace\r\n");
    return put_member(put_number(at, score), member);
}

static uint32_t make_load(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    uint64_t i = bench_shuffle_at(&w->order, w->next++ % w->members);
    return made(out, put_zadd(out, below(w, SCORE_MAX), i), length);
}

static uint32_t make_zadd(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    return made(out, put_zadd(out, below(w, SCORE_MAX), below(w, w->members)), length);
}

static uint32_t make_zincrby(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    char *at = PUT(out, "*4\r\n$7\r\nZINCRBY\r\n$4\r\nrace\r\n");
    at = put_number(at, below(w, STEP_MAX));
    return made(out, put_member(at, below(w, w->members)), length);
}

static uint32_t make_zrevrank(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    char *at = PUT(out, "*3\r\n$8\r\nZREVRANK\r\n$4\r\nrace\r\n");
    return made(out, put_member(at, below(w, w->members)), length);
}

static uint32_t make_zscore(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    char *at = PUT(out, "*3\r\n$6\r\nZSCORE\r\n$4\r\nrace\r\n");
    return made(out, put_member(at, below(w, w->members)), length);
}

static uint32_t make_top(void *ctx, char *out, size_t *length) {
    (void)ctx;
    char *at = PUT(out, "*5\r\n$9\r\nZREVRANGE\r\n$4\r\nrace\r\n$1\r\n0\r\n$2\r\n99\r\n"
                        "$10\r\nWITHSCORES\r\n");
    return made(out, at, length);
}

static uint32_t make_around(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    uint64_t from = below(w, w->members - 11);
    char *at = PUT(out, "*5\r\n$9\r\nZREVRANGE\r\n$4\r\nrace\r\n");
    at = put_number(put_number(at, from), from + 10);
    return made(out, PUT(at, "$10\r\nWITHSCORES\r\n"), length);
}

static uint32_t make_zcount(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    uint64_t a = below(w, SCORE_MAX), b = below(w, SCORE_MAX);
    char *at = PUT(out, "*4\r\n$6\r\nZCOUNT\r\n$4\r\nrace\r\n");
    return made(out, put_number(put_number(at, a < b ? a : b), a < b ? b : a), length);
}

static uint32_t make_friends(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    char *at = PUT(out, "*5\r\n$6\r\nZINTER\r\n$1\r\n2\r\n$4\r\nrace\r\n$11\r\nfriends:000\r\n"
                        "$10\r\nWITHSCORES\r\n");
    uint32_t n = (uint32_t)below(w, FRIEND_SETS);
    char *digits = at - sizeof "\r\n$10\r\nWITHSCORES\r\n" + 1;
    for (int d = 1; d <= 3; d++, n /= 10)
        digits[-d] = (char)('0' + n % 10);
    return made(out, at, length);
}

/* One submission that all, week and day get: Redis needs three commands in a transaction, Rung one. */
static uint32_t make_windows(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    uint64_t member = below(w, w->members), step = below(w, STEP_MAX);
    if (w->which == RUNG) {
        char *at = PUT(out, "*5\r\n$11\r\nRUNG.SUBMIT\r\n$7\r\nwindows\r\n");
        at = put_number(put_member(at, member), step);
        return made(out, PUT(at, "$5\r\nBRIEF\r\n"), length);
    }
    char *at = PUT(out, "*1\r\n$5\r\nMULTI\r\n");
    at = PUT(at, "*4\r\n$7\r\nZINCRBY\r\n$11\r\nwindows:all\r\n");
    at = put_member(put_number(at, step), member);
    at = PUT(at, "*4\r\n$7\r\nZINCRBY\r\n$12\r\nwindows:week\r\n");
    at = put_member(put_number(at, step), member);
    at = PUT(at, "*4\r\n$7\r\nZINCRBY\r\n$11\r\nwindows:day\r\n");
    at = put_member(put_number(at, step), member);
    made(out, PUT(at, "*1\r\n$4\r\nEXEC\r\n"), length);
    return 5;
}

/* The first score of everybody. To spare Redis ten minutes it gets three plain ZADD. */
static uint32_t make_windows_load(void *ctx, char *out, size_t *length) {
    workload *w = ctx;
    uint64_t member = bench_shuffle_at(&w->order, w->next++ % w->members);
    uint64_t score = below(w, SCORE_MAX);
    if (w->which == RUNG) {
        char *at = PUT(out, "*4\r\n$11\r\nRUNG.SUBMIT\r\n$7\r\nwindows\r\n");
        return made(out, put_number(put_member(at, member), score), length);
    }
    char *at = PUT(out, "*4\r\n$4\r\nZADD\r\n$11\r\nwindows:all\r\n");
    at = put_member(put_number(at, score), member);
    at = PUT(at, "*4\r\n$4\r\nZADD\r\n$12\r\nwindows:week\r\n");
    at = put_member(put_number(at, score), member);
    at = PUT(at, "*4\r\n$4\r\nZADD\r\n$11\r\nwindows:day\r\n");
    made(out, put_member(put_number(at, score), member), length);
    return 3;
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
enum { QUESTIONS = sizeof questions / sizeof questions[0], WINDOWS_AT = 8 };

/* ---- measuring ---- */

typedef struct figures {         /* medians */
    double rate[SERVERS], ratio; /* commands per second */
    double cost_us[SERVERS];     /* of the server's processor time per command */
    double ratio_busy;           /* of the costs */
} figures;

enum { DEPTHS = 3, DEPTH_BAR = 1 /* the depth that the bars are for */ };

typedef struct bench {
    bench_options o;
    uint64_t round_ms, connections;
    const char *only;
    bool with_windows, with_disk;
    bool is_alone;     /* Redis is left out */
    bool is_disk_only; /* the questions are left out */
    uint64_t runs;     /* so far: each round has commands of its own */
    server servers[SERVERS];
    uint64_t members;
    bool is_asked[QUESTIONS];
    figures found[QUESTIONS][DEPTHS];
    double load_s[SERVERS], bytes[SERVERS], bytes_windows[SERVERS], restart_s[SERVERS];
    double durable_load_s[SERVERS];
    figures durable[2], durable_restarted; /* ZADD at the first two depths; at the second */
} bench;

static const uint32_t depths[DEPTHS] = {1, 16, 100};

static workload work_of(const bench *b, int which, uint64_t seed) {
    workload w = {.members = b->members, .which = which, .order = bench_shuffle_of(b->members, 7)};
    rung_rng_seed(&w.rng, seed);
    return w;
}

typedef struct pace {
    double rate, cost_us; /* commands per second, and the server's processor time for each */
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
    return (pace){rate, busy * 1e6 / done};
}

static bool is_left_out(const bench *b, int which) {
    return which == REDIS && b->is_alone;
}

/* What the rounds of one question at one depth gave. */
typedef struct samples {
    double rates[SERVERS][ROUNDS_MAX], costs[SERVERS][ROUNDS_MAX];
} samples;

static void sample(bench *b, bench_command_maker make, uint32_t depth, uint64_t round,
                   samples *out) {
    uint64_t seed = b->o.seed + 1000 * ++b->runs;
    for (int k = 0; k < SERVERS; k++) { /* who goes first alternates */
        int which = (int)((round + (uint64_t)k) % 2);
        pace p = {1, 1};
        if (!is_left_out(b, which))
            p = run_once(b, which, make, depth, seed, (double)b->round_ms / 1000, 0);
        out->rates[which][round] = p.rate;
        out->costs[which][round] = p.cost_us;
    }
}

static figures sum_up(samples *s, uint64_t rounds) {
    double ratios[ROUNDS_MAX], busy[ROUNDS_MAX];
    for (uint64_t round = 0; round < rounds; round++) {
        ratios[round] = s->rates[RUNG][round] / s->rates[REDIS][round];
        busy[round] = s->costs[REDIS][round] / s->costs[RUNG][round];
    }
    figures f = {.ratio = bench_median(ratios, rounds), .ratio_busy = bench_median(busy, rounds)};
    for (int which = 0; which < SERVERS; which++) {
        f.rate[which] = bench_median(s->rates[which], rounds);
        f.cost_us[which] = bench_median(s->costs[which], rounds);
    }
    return f;
}

/* ---- setting up ---- */

static void define_windows(const server *s) {
    char command[512];
    snprintf(command, sizeof command,
             "curl -sf -X PUT -H 'Content-Type: application/json' "
             "-d "
             "'{\"score\":{\"type\":\"real\"},\"update\":\"sum\",\"tie\":\"player_desc\","
             "\"windows\":[\"all\",\"week\","
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
        snprintf(key, sizeof key, "friends:%03d", set);
        for (int i = 0; i < FRIENDS; i++) {
            snprintf(names_of[i], sizeof names_of[i], "player:%08u", (unsigned)below(&w, members));
            words[2 + i] = names_of[i];
        }
        ask(s, words);
    }
}

/* Everybody once, in an order of chance; returns the seconds that took. */
static double load_board(const bench *b, int which) {
    bench_progress("%s: loading %llu members", names[which], (unsigned long long)b->members);
    return (double)b->members / run_once(b, which, make_load, 100, 1, 0, b->members).rate;
}

static void load_members(bench *b) {
    for (int which = 0; which < SERVERS; which++) {
        if (is_left_out(b, which))
            continue;
        double before = resident_bytes(&b->servers[which]);
        b->load_s[which] = load_board(b, which);
        b->bytes[which] = (resident_bytes(&b->servers[which]) - before) / (double)b->members;
        load_friends(&b->servers[which], b->members);
    }
}

static void load_windows(bench *b) {
    define_windows(&b->servers[RUNG]);
    for (int which = 0; which < SERVERS; which++) {
        if (is_left_out(b, which))
            continue;
        double before = resident_bytes(&b->servers[which]);
        bench_progress("%s: loading three windows", names[which]);
        run_once(b, which, make_windows_load, 50, 1, 0, b->members);
        b->bytes_windows[which] =
            (resident_bytes(&b->servers[which]) - before) / (double)b->members;
    }
}

/* ---- parts ---- */

/* Both, or Rung alone. */
static void start_servers(bench *b) {
    for (int which = 0; which < SERVERS; which++)
        if (!is_left_out(b, which))
            start_server(&b->servers[which], which);
}

static void stop_servers(bench *b) {
    for (int which = 0; which < SERVERS; which++)
        if (!is_left_out(b, which))
            stop_server(&b->servers[which]);
}

/* A round of all these questions at all depths, then the next: so a noisy neighbour of some seconds spoils one round of
   many questions, and not most rounds of one. */
static void measure_some(bench *b, int first, int end) {
    static samples taken[QUESTIONS][DEPTHS];
    bool any = false;
    for (int q = first; q < end; q++)
        any |= b->is_asked[q];
    for (uint64_t round = 0; any && round < b->o.rounds; round++) {
        for (int q = first; q < end; q++)
            for (int d = 0; b->is_asked[q] && d < DEPTHS; d++)
                sample(b, questions[q].make, depths[d], round, &taken[q][d]);
        bench_progress("round %u of %u", (unsigned)round + 1, (unsigned)b->o.rounds);
    }
    for (int q = first; q < end; q++)
        for (int d = 0; b->is_asked[q] && d < DEPTHS; d++) {
            figures *f = &b->found[q][d];
            *f = sum_up(&taken[q][d], b->o.rounds);
            bench_progress("%s, depth %u: %.0f / %.0f a second, %.1fx (%.2f / %.2f us, %.1fx)",
                           questions[q].name, depths[d], f->rate[RUNG], f->rate[REDIS], f->ratio,
                           f->cost_us[RUNG], f->cost_us[REDIS], f->ratio_busy);
        }
}

static void measure_questions(bench *b) {
    start_servers(b);
    load_members(b);
    for (int q = 0; q < QUESTIONS; q++)
        b->is_asked[q] = (q != WINDOWS_AT || b->with_windows) &&
                         (!b->only || strstr(questions[q].name, b->only));
    measure_some(b, 0, WINDOWS_AT);
    if (b->is_asked[WINDOWS_AT]) {
        load_windows(b);
        measure_some(b, WINDOWS_AT, QUESTIONS);
    }
    stop_servers(b);
}

/* A disk that is shared stalls now and then, for as long as half a round: so there are more of them. */
static uint64_t durable_rounds(const bench *b) {
    uint64_t rounds = 3 * b->o.rounds;
    return rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX;
}

/* Until Redis has its append-only file, and rewrites it no more: it does so while it is loaded. */
static void await_appending(const bench *b) {
    static char reply[64 << 10];
    if (is_left_out(b, REDIS))
        return;
    do {
        usleep(100000);
        if (!bench_ask(&b->servers[REDIS].address, (const char *[]){"INFO", "persistence", NULL},
                       reply, sizeof reply))
            bench_die("Redis does not answer");
    } while (!strstr(reply, "aof_rewrite_in_progress:0") ||
             !strstr(reply, "aof_rewrite_scheduled:0") || !strstr(reply, "aof_enabled:1"));
}

static figures compare_durable(bench *b, uint32_t depth, const char *when) {
    await_appending(b);
    static samples taken;
    for (uint64_t round = 0; round < durable_rounds(b); round++)
        sample(b, make_zadd, depth, round, &taken);
    figures f = sum_up(&taken, durable_rounds(b));
    bench_progress("durable ZADD%s, depth %u: %.0f / %.0f a second, %.1fx (%.2f / %.2f us)", when,
                   depth, f.rate[RUNG], f.rate[REDIS], f.ratio, f.cost_us[RUNG], f.cost_us[REDIS]);
    return f;
}

/* Every change on disk before it is answered, the first of all members to begin with. */
static void measure_durable(bench *b) {
    for (int which = 0; which < SERVERS; which++)
        b->servers[which].is_durable = true;
    start_servers(b);
    for (int which = 0; which < SERVERS; which++)
        if (!is_left_out(b, which))
            b->durable_load_s[which] = load_board(b, which);
    for (int d = 0; d < 2; d++)
        b->durable[d] = compare_durable(b, depths[d], "");
}

/* Redis has an RDB (to read its append-only file would take longer), Rung a snapshot. */
static void stop_with_snapshots(bench *b) {
    char path[512];
    int status = 0;
    if (!is_left_out(b, REDIS))
        ask(&b->servers[REDIS], (const char *[]){"SAVE", NULL});
    stop_servers(b);
    rung_path(path);
    pid_t pid = spawn((const char *[]){path, "snapshot", b->servers[RUNG].data, NULL}, "/dev/null");
    if (waitpid(pid, &status, 0) != pid || status != 0)
        bench_die("no snapshot");
}

/* How long until a server answers again that has everything on disk, and how durable changes go then: Redis has its
   nodes in the order of their scores after it, one behind the other, until changes have moved them all. */
static void measure_restart(bench *b) {
    stop_with_snapshots(b);
    b->servers[REDIS].is_durable = false; /* it would read the append-only file */
    double took[SERVERS][RESTARTS];
    for (int round = 0; round < RESTARTS; round++) {
        if (round)
            stop_servers(b);
        for (int which = 0; which < SERVERS; which++) {
            if (is_left_out(b, which))
                continue;
            took[which][round] = start_server(&b->servers[which], which);
            bench_progress("%s: restart in %.2f s", names[which], took[which][round]);
        }
    }
    for (int which = 0; which < SERVERS; which++)
        if (!is_left_out(b, which))
            b->restart_s[which] = bench_median(took[which], RESTARTS);
    if (!is_left_out(b, REDIS))
        ask(&b->servers[REDIS], (const char *[]){"CONFIG", "SET", "appendonly", "yes", NULL});
    b->durable_restarted = compare_durable(b, depths[DEPTH_BAR], " after a restart");
    stop_servers(b);
}

/* The next size begins with nothing. */
static void remove_data(bench *b) {
    for (int which = 0; which < SERVERS; which++) {
        char command[160];
        snprintf(command, sizeof command, "rm -rf '%s'", b->servers[which].data);
        if (system(command) != 0)
            bench_die("cannot clean up");
        b->servers[which].is_durable = false;
    }
}

/* ---- report ---- */

static void rate_cell(bench_table *t, double rate) {
    bench_table_cell(t, rate >= 1e6 ? "%.2f M" : "%.1f k", rate >= 1e6 ? rate / 1e6 : rate / 1e3);
}

static void ratio_cell(bench_table *t, double ratio) {
    bench_table_cell(t, ratio < 10 ? "%.1fx" : "%.0fx", ratio);
}

static void cost_cell(bench_table *t, double us) {
    bench_table_cell(t, us < 100 ? "%.2f" : "%.0f", us);
}

/* Bars are for ten million members. */
static void bar_cells(const bench *b, bench_table *t, double bar, double ratio) {
    if (bar <= 0 || b->members < 10000000) {
        bench_table_skip(t, 1);
        return;
    }
    bench_table_cell(t, "%.0fx %s", bar, ratio >= bar ? "met" : "missed");
}

static void report_questions(const bench *b, bench_report *r) {
    bench_table t = {0};
    bench_table_head(&t, 8, "depth 16, 50 connections", "Redis, a second", "Rung, a second",
                     "ratio", "bar", "Redis, us", "Rung, us", "ratio of us");
    for (int q = 0; q < QUESTIONS; q++) {
        const figures *f = &b->found[q][DEPTH_BAR];
        if (!b->is_asked[q])
            continue;
        bench_table_cell(&t, "%s", questions[q].name);
        rate_cell(&t, f->rate[REDIS]);
        rate_cell(&t, f->rate[RUNG]);
        ratio_cell(&t, f->ratio);
        bar_cells(b, &t, questions[q].bar, f->ratio);
        cost_cell(&t, f->cost_us[REDIS]);
        cost_cell(&t, f->cost_us[RUNG]);
        ratio_cell(&t, f->ratio_busy);
    }
    bench_table_end(&t, r);
}

static void report_depths(const bench *b, bench_report *r) {
    bench_table t = {0};
    bench_table_head(&t, 8, "other depths", "Redis, 1", "Rung, 1", "ratio", "bar", "Redis, 100",
                     "Rung, 100", "ratio");
    for (int q = 0; q < QUESTIONS; q++) {
        if (!b->is_asked[q])
            continue;
        bench_table_cell(&t, "%s", questions[q].name);
        for (int d = 0; d < DEPTHS; d += 2) {
            const figures *f = &b->found[q][d];
            rate_cell(&t, f->rate[REDIS]);
            rate_cell(&t, f->rate[RUNG]);
            ratio_cell(&t, f->ratio);
            if (d == 0)
                bar_cells(b, &t, 1, f->ratio);
        }
    }
    bench_table_end(&t, r);
}

static void ratio_row(const bench *b, bench_table *t, const char *name, const double *pair,
                      int decimals, double ratio, double bar) {
    bench_table_cell(t, "%s", name);
    bench_table_cell(t, "%.*f", decimals, pair[REDIS]);
    bench_table_cell(t, "%.*f", decimals, pair[RUNG]);
    ratio_cell(t, ratio);
    bar_cells(b, t, bar, ratio);
}

/* Of what shall be little. */
static void pair_row(const bench *b, bench_table *t, const char *name, const double *pair,
                     int decimals, double bar) {
    ratio_row(b, t, name, pair, decimals, pair[REDIS] / pair[RUNG], bar);
}

static void report_costs(const bench *b, bench_report *r) {
    bench_table t = {0};
    bench_table_head(&t, 5, "", "Redis", "Rung", "ratio", "bar");
    if (!b->is_disk_only)
        pair_row(b, &t, "bytes a member, one board", b->bytes, 0, 2);
    if (b->is_asked[WINDOWS_AT])
        pair_row(b, &t, "bytes a member, three windows", b->bytes_windows, 0, 3);
    if (!b->is_disk_only)
        pair_row(b, &t, "seconds to load", b->load_s, 1, 0);
    if (b->with_disk) {
        const figures *lone = &b->durable[0], *deep = &b->durable[1],
                      *restarted = &b->durable_restarted;
        pair_row(b, &t, "seconds to load, all on disk before answered", b->durable_load_s, 1, 0);
        pair_row(b, &t, "seconds to restart", b->restart_s, 2, 4);
        ratio_row(b, &t, "ZADD a second, on disk before answered, depth 1", lone->rate, 0,
                  lone->ratio, 0);
        ratio_row(b, &t, "the same, depth 16", deep->rate, 0, deep->ratio, 6);
        ratio_row(b, &t, "the same, depth 16, after a restart", restarted->rate, 0,
                  restarted->ratio, 0);
    }
    bench_table_end(&t, r);
}

/* The ratios of depth 16 as bars, on a scale of doublings, with a mark at what they are to reach. */
static void draw(const bench *b, const char *path) {
    enum { LEFT = 240, DOUBLING = 70, ROW = 28, TOP = 30 };
    FILE *f = fopen(path, "w");
    int bottom = QUESTIONS * ROW + TOP, row = 0;
    if (!f)
        bench_die("cannot write %s", path);
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 %d\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n"
            "<title>Rung against Redis: commands per second, %s members, depth 16</title>\n"
            "<rect width=\"720\" height=\"%d\" fill=\"#ffffff\"/>\n",
            bottom + 30, bench_count_label(b->members).text, bottom + 30);
    for (int k = 0; k <= 6; k++)
        fprintf(f,
                "<line x1=\"%d\" y1=\"24\" x2=\"%d\" y2=\"%d\" stroke=\"#d8dde3\"/>"
                "<text x=\"%d\" y=\"18\" fill=\"#5b6670\" text-anchor=\"middle\">%dx</text>\n",
                LEFT + k * DOUBLING, LEFT + k * DOUBLING, bottom, LEFT + k * DOUBLING, 1 << k);
    for (int q = 0; q < QUESTIONS; q++) {
        double ratio = b->found[q][DEPTH_BAR].ratio;
        double width = log2(ratio > 1 ? ratio : 1) * (double)DOUBLING,
               bar = log2(questions[q].bar > 1 ? questions[q].bar : 1) * (double)DOUBLING;
        int y = TOP + row * ROW;
        if (!b->is_asked[q])
            continue;
        row++;
        fprintf(f,
                "<text x=\"230\" y=\"%d\" text-anchor=\"end\" fill=\"#1f2933\">%s</text>"
                "<rect x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"18\" fill=\"#2f6f9f\"/>"
                "<text x=\"%.0f\" y=\"%d\" fill=\"#1f2933\">%.1fx</text>\n",
                y + 15, questions[q].name, LEFT, y + 1, width,
                LEFT + 8 + (width > bar ? width : bar), y + 15, ratio);
        if (bar > 0)
            fprintf(f, "<rect x=\"%.0f\" y=\"%d\" width=\"3\" height=\"24\" fill=\"#c2571a\"/>\n",
                    (double)LEFT + bar - 1, y - 2);
    }
    fprintf(f,
            "<text x=\"%d\" y=\"%d\" fill=\"#5b6670\">Redis 7 = 1x; the mark is the ratio to "
            "reach</text>\n</svg>\n",
            LEFT, bottom + 18);
    fclose(f);
}

static void report_size(const bench *b, bench_report *r) {
    bench_report_line(r, "### %s members", bench_count_label(b->members).text);
    bench_report_gap(r);
    if (!b->is_disk_only) {
        report_questions(b, r);
        report_depths(b, r);
    }
    report_costs(b, r);
}

static void introduce(const bench *b, bench_report *r) {
    bench_machine_describe(r, b->o.command);
    bench_report_line(r,
                      "Redis 7 and `rung serve` run on the same core, alternately. One client on "
                      "another core sends");
    bench_report_line(
        r,
        "commands over a unix socket: %u connections, each with 1, 16 or 100 commands "
        "in flight.",
        (unsigned)b->connections);
    bench_report_line(r, "Members are `player:%%08d` with random integer scores from 0 to 10^6, so "
                         "at 10 M ten share a");
    bench_report_line(r, "score. Nothing is on disk unless stated. \"us\" is the server's own CPU "
                         "time per command. Where");
    bench_report_line(r, "its ratio is the larger one, the client was the limit, not Rung.");
    bench_report_gap(r);
    bench_report_line(r, "On disk, Rung has its log and snapshots (`--archive off`), Redis its AOF "
                         "and RDB. Both start");
    bench_report_line(r,
                      "empty, and the same client loads them. After a restart from an RDB, Redis "
                      "has its nodes in memory");
    bench_report_line(r, "in the order of their scores, and is faster until changes have moved "
                         "them.");
    bench_report_gap(r);
    bench_report_line(r,
                      "Medians of %u rounds, on disk of %u, and of %d restarts; a ratio is the "
                      "median of the rounds' ratios.",
                      (unsigned)b->o.rounds, (unsigned)durable_rounds(b), RESTARTS);
    bench_report_gap(r);
}

int main(int argc, char **argv) {
    static bench b;
    bool is_without_windows = false, is_without_disk = false;
    b.round_ms = 600;
    b.connections = 50;
    const bench_option own[] = {
        {"--ms", BENCH_NUMBER, &b.round_ms, "milliseconds per question, server and round"},
        {"--connections", BENCH_NUMBER, &b.connections, "at once"},
        {"--only", BENCH_TEXT, &b.only, "questions with this in their name; nothing is written"},
        {"--alone", BENCH_FLAG, &b.is_alone, "without Redis, for a profiler; nothing is written"},
        {"--no-windows", BENCH_FLAG, &is_without_windows, "leave out the three windows"},
        {"--only-disk", BENCH_FLAG, &b.is_disk_only,
         "only durability and restart; nothing is written"},
        {"--no-disk", BENCH_FLAG, &is_without_disk, "leave out durability and restart"},
        {0}};
    b.o = (bench_options){
        .section = "redis", .sizes = {1000000, 10000000}, .size_count = 2, .rounds = 3, .seed = 1};
    bench_options_parse(&b.o, argc, argv, "Rung beside Redis, over the same protocol", own);
    b.with_windows = !is_without_windows;
    b.with_disk = b.is_disk_only || (!is_without_disk && !b.only && !b.is_alone);
    if (b.o.rounds > ROUNDS_MAX || b.connections > BENCH_LOAD_CONNECTIONS_MAX)
        bench_die("too many rounds or connections");
    if (b.only || b.is_alone || b.is_disk_only)
        b.o.markdown = NULL;
    signal(SIGPIPE, SIG_IGN); /* a server that is just starting may hang up */
    const char *parent = getenv("RUNG_BENCH_DIR");
    snprintf(folder, sizeof folder, "%s/bench-redis-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder))
        bench_die("cannot make a folder");
    atexit(remove_folder);
    pin(0, 1);
    bench_report r = {0};
    introduce(&b, &r);
    for (size_t i = 0; i < b.o.size_count; i++) {
        b.members = b.o.sizes[i];
        if (!b.is_disk_only)
            measure_questions(&b);
        if (b.with_disk) {
            measure_durable(&b);
            measure_restart(&b);
            remove_data(&b);
        }
        report_size(&b, &r);
    }
    if (b.o.markdown) {
        draw(&b, "docs/benchmarks-redis.svg");
        bench_report_line(&r, "![Rung against Redis, %s members, depth 16](benchmarks-redis.svg)",
                          bench_count_label(b.members).text);
    }
    int code = bench_options_finish(&b.o, &r);
    bench_report_deinit(&r);
    return code;
}
