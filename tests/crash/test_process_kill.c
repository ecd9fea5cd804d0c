/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=300 labels=release */
/* A server's life in small: a worker process with the folder open, a parent that sends it
 * submissions through a pipe with many in flight, and SIGKILL at a random microsecond: under load,
 * during recovery, during snapshots. What was not acknowledged is sent again to the next worker,
 * as a client would. After each kill:
 *
 *   - `rung log verify` finds the folder fine (where the program is built), and so does the library's own open;
 *   - the log, applied record by record to a state of our own from the very first on, gives the digest the library has;
 *   - every acknowledged submission was applied exactly once, at the sequence it was acknowledged with;
 *   - no submission was applied twice, and the sums of the board are those of the submissions applied.
 *
 * tests/crash/test_library_kill.c is the same idea without a second program, in both sync modes.
 * 25 rounds; RUNG_STEPS asks for more, RUNG_SEED for others: ./dev hunt crash. */
#define _GNU_SOURCE
#include <rung/rung.h>

#include "journal/verify.h"
#include "service/applier.h"
#include "support/check.h"
#include "support/rng.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, IN_FLIGHT_MAX = 400, PLAYERS = 40 };

#define READY UINT64_MAX /* in place of a submission's number: the worker has opened the folder */

typedef struct ack {
    uint64_t number, seq;
    int64_t status;
} ack;
_Static_assert(BATCH * sizeof(ack) <= 4096, "a batch of acks goes through the pipe whole");

/* ---- submissions: everything about one follows from its number ---- */

static uint32_t player_of(uint64_t number) {
    return (uint32_t)(rung_hash_word(number) % PLAYERS);
}

static int64_t points_of(uint64_t number) {
    return (int64_t)(rung_hash_word(number + 1) % 1000);
}

static bool is_sum(uint64_t number) {
    return number % 3 != 0;
}

typedef struct names {
    char id[24], player[24];
} names;

static rung_score_event submission(uint64_t number, names *n) {
    snprintf(n->id, sizeof n->id, "%llu", (unsigned long long)number);
    snprintf(n->player, sizeof n->player, "p%u", player_of(number));
    return (rung_score_event){
        .board = is_sum(number) ? RUNG_SLICE("sum") : RUNG_SLICE("best"),
        .player = rung_slice_str(n->player),
        .value_count = 1,
        .values = {{.i = points_of(number)}},
        .id = rung_slice_str(n->id),
    };
}

/* ---- the worker ---- */

static rung_config config_of(const char *path) {
    return (rung_config){.path = path, .segment_size = (uint64_t)4 << 20};
}

static void define_boards(rung *db) {
    rung_board_def def = rung_board_def_default();
    rung_err err;
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    if (rung_board_define(db, RUNG_SLICE("best"), &def, &err) < 0)
        _exit(3);
    def.update = RUNG_UPDATE_SUM;
    if (rung_board_define(db, RUNG_SLICE("sum"), &def, &err) < 0)
        _exit(3);
}

/* What is in the pipe, up to a batch; 0 at its end. A number is never cut: the parent writes them
 * whole. */
static size_t read_batch(uint64_t *numbers) {
    ssize_t got;
    do
        got = read(STDIN_FILENO, numbers, BATCH * sizeof *numbers);
    while (got < 0 && errno == EINTR);
    return got <= 0 ? 0 : (size_t)got / sizeof *numbers;
}

static void answer(const ack *acks, size_t count) {
    if (write(STDOUT_FILENO, acks, count * sizeof *acks) != (ssize_t)(count * sizeof *acks))
        _exit(4);
}

static void serve_batch(rung *db, const uint64_t *numbers, size_t count) {
    static rung_outcome outcomes[BATCH];
    static rung_score_event scores[BATCH];
    names texts[BATCH];
    rung_status statuses[BATCH];
    ack acks[BATCH];
    rung_err err;
    for (size_t i = 0; i < count; i++)
        scores[i] = submission(numbers[i], &texts[i]);
    if (rung_submit_many(db, count, scores, statuses, outcomes, NULL, &err) != RUNG_OK)
        _exit(5);
    for (size_t i = 0; i < count; i++)
        acks[i] = (ack){numbers[i], outcomes[i].seq, statuses[i]};
    answer(acks, count);
}

static void snapshot_sometimes(rung *db, rung_rng *r) {
    rung_err err;
    if (rung_rng_below(r, 30) != 0)
        return;
    rung_status st = rung_snapshot(db, rung_rng_below(r, 2), &err);
    if (st < 0 && st != RUNG_EBUSY)
        _exit(6);
}

/* A snapshot's child of the worker before may still be at its last block, and holds the lock
 * meanwhile. */
static rung *open_when_free(const char *path) {
    rung_config config = config_of(path);
    rung *db;
    rung_err err;
    for (int tries = 0; tries < 30000; tries++) {
        rung_status st = rung_open(&config, &db, &err);
        if (st == RUNG_OK)
            return db;
        if (st != RUNG_EBUSY)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    fprintf(stderr, "cannot open %s: %s\n", path, err.message);
    return NULL;
}

static int work(const char *path, uint64_t seed) {
    uint64_t numbers[BATCH];
    rung_rng r;
    rung_rng_seed(&r, seed);
    rung *db = open_when_free(path);
    if (!db)
        return 2;
    define_boards(db);
    answer(&(ack){.number = READY}, 1);
    for (size_t count; (count = read_batch(numbers)) > 0;) {
        serve_batch(db, numbers, count);
        snapshot_sometimes(db, &r);
    }
    rung_err err;
    return rung_close(db, &err) < 0;
}

/* ---- the parent: what it knows ---- */

typedef struct fate {
    uint64_t acked_seq;   /* 0: not acknowledged */
    uint64_t applied_seq; /* 0: not in the log as applied */
} fate;

typedef struct parent {
    char path[64];
    rung_rng rng;
    fate *fates;                      /* by number */
    uint64_t count, capacity;         /* numbers given out */
    uint64_t waiting[IN_FLIGHT_MAX];  /* sent or to be sent, not acknowledged */
    size_t waiting_count, sent_count; /* the first `sent_count` have been sent to this worker */
    rung_state *model;
    int64_t sums[PLAYERS];
    bool is_ready;       /* this worker */
    int64_t recovery_us; /* how long the last one took to be ready */
    uint64_t acked_total, ready_rounds, duplicates;
} parent;

static void give_out(parent *p) {
    if (p->count == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 1024;
        p->fates = realloc(p->fates, p->capacity * sizeof *p->fates);
        CHECK(p->fates);
    }
    p->fates[p->count] = (fate){0};
    p->waiting[p->waiting_count++] = p->count++;
}

static void take_ack(parent *p, const ack *a) {
    if (a->number == READY) {
        p->ready_rounds++;
        p->is_ready = true;
        return;
    }
    CHECK(a->number < p->count);
    CHECK_MSG(a->status == RUNG_OK || a->status == RUNG_UNCHANGED || a->status == RUNG_DUPLICATE,
              "submission %llu: status %lld", (unsigned long long)a->number, (long long)a->status);
    CHECK_EQ_U64(p->fates[a->number].acked_seq, 0); /* nothing acknowledged is sent again */
    p->fates[a->number].acked_seq = a->seq;
    p->acked_total++;
    p->duplicates += a->status == RUNG_DUPLICATE;
    CHECK(p->sent_count > 0 && p->waiting[0] == a->number); /* in order */
    p->waiting_count--;
    p->sent_count--;
    memmove(p->waiting, p->waiting + 1, p->waiting_count * sizeof p->waiting[0]);
}

/* ---- the parent: one worker's life ---- */

typedef struct worker {
    pid_t pid;
    int in, out; /* numbers to it, acks from it */
} worker;

static worker start_worker(parent *p) {
    int in[2], out[2];
    char seed[32];
    CHECK_EQ_I64(pipe(in), 0);
    CHECK_EQ_I64(pipe(out), 0);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)rung_rng_next(&p->rng));
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[0]);
        close(in[1]);
        close(out[0]);
        close(out[1]);
        execl("/proc/self/exe", "worker", "--worker", p->path, seed, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    return (worker){pid, in[1], out[0]};
}

static void send_some(parent *p, const worker *w, size_t in_flight) {
    while (p->waiting_count < in_flight)
        give_out(p);
    while (p->sent_count < p->waiting_count) {
        if (write(w->in, &p->waiting[p->sent_count], sizeof p->waiting[0]) !=
            (ssize_t)sizeof p->waiting[0])
            return; /* the pipe is full, or the worker has gone */
        p->sent_count++;
    }
}

/* True at the end of the pipe. */
static bool take_acks(parent *p, const worker *w) {
    ack acks[BATCH];
    ssize_t got;
    while ((got = read(w->out, acks, sizeof acks)) > 0) {
        CHECK_EQ_U64((size_t)got % sizeof(ack), 0);
        for (size_t i = 0; i < (size_t)got / sizeof(ack); i++)
            take_ack(p, &acks[i]);
    }
    return got == 0;
}

static int64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void serve_once(parent *p, const worker *w, size_t in_flight, int64_t left_us) {
    struct pollfd from = {.fd = w->out, .events = POLLIN};
    struct timespec wait = {.tv_nsec = (left_us < 900000 ? left_us : 900000) * 1000};
    send_some(p, w, in_flight);
    ppoll(&from, 1, &wait, NULL);
    CHECK_MSG(!take_acks(p, w), "the worker ended by itself");
}

/* Everything it said before it died still counts; a snapshot's child keeps the pipe open a little
 * longer. */
static void bury(parent *p, const worker *w) {
    int status;
    kill(w->pid, SIGKILL);
    CHECK_EQ_I64(waitpid(w->pid, &status, 0), w->pid);
    CHECK_MSG(WIFSIGNALED(status), "the worker left by itself with %d", WEXITSTATUS(status));
    close(w->in);
    fcntl(w->out, F_SETFL, 0);
    while (!take_acks(p, w))
        continue;
    close(w->out);
    p->sent_count = 0; /* what is not acknowledged goes to the next worker */
}

/* A third of the workers die in the time that the last one took to recover, the others under load. */
static void live_and_die(parent *p) {
    size_t in_flight = 1 + rung_rng_below(&p->rng, IN_FLIGHT_MAX);
    bool dies_young = rung_rng_below(&p->rng, 3) == 0;
    int64_t life_us =
        (int64_t)rung_rng_below(&p->rng, dies_young ? (uint64_t)p->recovery_us : 60000);
    worker w = start_worker(p);
    int64_t began_us = now_us(), end_us = began_us + life_us;
    p->is_ready = false;
    for (int64_t left; (left = end_us - now_us()) > 0;) {
        bool was_ready = p->is_ready;
        serve_once(p, &w, in_flight, left);
        if (p->is_ready && !was_ready)
            p->recovery_us = now_us() - began_us;
        if (!dies_young && !was_ready) /* its time under load begins when it is ready */
            end_us = now_us() + life_us + 1;
    }
    bury(p, &w);
}

/* ---- the parent: the checks ---- */

static void verify_with_program(const parent *p) {
    const char *build = getenv("RUNG_BUILD");
    char program[512], mark[128];
    snprintf(mark, sizeof mark, "%s/high-water", p->path);
    if (!build || access(mark, F_OK) != 0) /* killed before there was a log */
        return;
    snprintf(program, sizeof program, "%s/rung", build);
    if (access(program, X_OK) != 0)
        return;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        execl(program, "rung", "log", "verify", p->path, "--quiet", (char *)NULL);
        _exit(127);
    }
    int status;
    CHECK_EQ_I64(waitpid(pid, &status, 0), pid);
    CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "rung log verify: %d", status);
}

static rung_status apply_to_model(void *ctx, const rung_log_record *record) {
    parent *p = ctx;
    rung_event event;
    rung_err err = {0};
    CHECK_EQ_U64(record->seq, rung_state_seq(p->model) + 1);
    CHECK_EQ_U64(record->type, RUNG_LOG_TYPE_EVENT);
    CHECK_OK(rung_event_decode(record->payload, &event, &err));
    rung_status st = rung_state_apply(p->model, &event, NULL, &err);
    CHECK_MSG(st >= 0, "sequence %llu: %s", (unsigned long long)record->seq, err.message);
    if (event.kind != RUNG_EVENT_SCORE || st == RUNG_DUPLICATE)
        return RUNG_OK;
    char id[24];
    snprintf(id, sizeof id, "%.*s", (int)event.score.id.len, event.score.id.ptr);
    uint64_t number = strtoull(id, NULL, 10);
    CHECK(number < p->count);
    CHECK_MSG(p->fates[number].applied_seq == 0,
              "submission %s was applied twice: at %llu and %llu", id,
              (unsigned long long)p->fates[number].applied_seq, (unsigned long long)record->seq);
    p->fates[number].applied_seq = record->seq;
    if (is_sum(number))
        p->sums[player_of(number)] += points_of(number);
    return RUNG_OK;
}

static void check_sums(const parent *p) {
    rung_view view;
    rung_err err;
    if (rung_state_view(p->model, &(rung_query){.board = RUNG_SLICE("sum")}, &view, &err) !=
        RUNG_OK)
        return; /* killed before the board was there */
    for (uint32_t i = 0; i < PLAYERS; i++) {
        char name[24];
        rung_row row;
        bool is_found;
        snprintf(name, sizeof name, "p%u", i);
        rung_slice id = rung_slice_str(name);
        rung_view_rows(&view, 1, &id, &row, &is_found);
        CHECK_EQ_I64(is_found ? row.values[0].i : 0, p->sums[i]);
    }
}

static void check_folder(parent *p) {
    rung_dir dir;
    rung_err err = {0};
    verify_with_program(p);
    rung *db = open_when_free(p->path);
    CHECK(db);
    rung_digest library = rung_state_digest(rung_state_of(db));
    uint64_t seq = rung_state_seq(rung_state_of(db));
    CHECK_SOUND(rung_state_check(rung_state_of(db)));
    CHECK_OK(rung_close(db, &err));

    CHECK_OK(rung_dir_open(&dir, rung_fs_posix(), p->path, false, &err));
    rung_status st = rung_log_cat(&dir, rung_alloc_heap(), rung_state_seq(p->model) + 1, UINT64_MAX,
                                  apply_to_model, p, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
    rung_dir_close(&dir);
    CHECK_EQ_U64(rung_state_seq(p->model), seq);
    rung_digest model = rung_state_digest(p->model);
    CHECK_EQ_MEM(&library, &model, sizeof library);
    check_sums(p);
}

static void check_fates(const parent *p, uint64_t from) {
    for (uint64_t i = from; i < p->count; i++)
        if (p->fates[i].acked_seq)
            CHECK_MSG(p->fates[i].applied_seq == p->fates[i].acked_seq,
                      "submission %llu was acknowledged at %llu and is in the log at %llu",
                      (unsigned long long)i, (unsigned long long)p->fates[i].acked_seq,
                      (unsigned long long)p->fates[i].applied_seq);
}

static void remove_folder(const char *path) {
    char name[400];
    DIR *d = opendir(path);
    CHECK(d);
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        unlink(name);
    }
    closedir(d);
    rmdir(path);
}

TEST(workers_killed_under_load) {
    uint64_t rounds = test_steps(25);
    static parent p;
    signal(SIGPIPE, SIG_IGN);
    p.recovery_us = 4000;
    rung_rng_seed(&p.rng, test_seed(1));
    snprintf(p.path, sizeof p.path, "/tmp/rung-crash-XXXXXX");
    CHECK(mkdtemp(p.path));
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &p.model));
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t from = p.waiting_count ? p.waiting[0] : p.count;
        live_and_die(&p);
        check_folder(&p);
        check_fates(&p, from);
    }
    check_fates(&p, 0);
    CHECK_MSG(p.acked_total > 0 || rounds < 10, "no worker got as far as an answer");
    printf("%llu rounds, %llu of them served; %llu submissions acknowledged, %llu of them sent "
           "before a kill\n",
           (unsigned long long)rounds, (unsigned long long)p.ready_rounds,
           (unsigned long long)p.acked_total, (unsigned long long)p.duplicates);
    rung_state_destroy(p.model);
    free(p.fates);
    remove_folder(p.path);
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "--worker") == 0)
        return work(argv[2], strtoull(argv[3], NULL, 10));
    return test_main(argc, argv);
}
