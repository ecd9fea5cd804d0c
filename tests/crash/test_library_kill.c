/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=240 */
/* Real processes, real files, SIGKILL at a random moment. Each round a child opens the folder,
 * submits, and tells its parent over a pipe of every answer it got; the parent kills it, opens
 * the folder itself and holds it against what was told:
 *
 *   - every submission that was answered is there exactly once: its id is known, and the board,
 *     which counts submissions, counts each once;
 *   - of those not answered at most one call's worth is there;
 *   - opened a second time it is the same state.
 *
 * 25 rounds; RUNG_STEPS asks for more. */
#include <rung/rung.h>

#include "support/check.h"
#include "support/rng.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 8 };

/* One board, one player; submission i has the id "i". */
static rung_score_event submission(uint64_t i, char id[24]) {
    snprintf(id, 24, "%llu", (unsigned long long)i);
    return (rung_score_event){
        .board = RUNG_SLICE("count"), .player = RUNG_SLICE("ada"), .id = rung_slice_str(id)};
}

static rung *open_or_fail(const char *path, uint32_t sync_every_ms) {
    rung *db;
    rung_err err;
    rung_config config = {
        .path = path, .segment_size = (uint64_t)4 << 20, .sync_every_ms = sync_every_ms};
    rung_status st = rung_open(&config, &db, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
    return db;
}

static void define(rung *db) {
    rung_board_def def = rung_board_def_default();
    rung_err err;
    def.update = RUNG_UPDATE_COUNT;
    CHECK(rung_board_define(db, RUNG_SLICE("count"), &def, &err) >= 0);
}

static uint64_t counted(const rung *db) {
    rung_view view;
    rung_row row;
    rung_err err;
    bool found;
    if (rung_ask(db, &(rung_query){.board = RUNG_SLICE("count")}, &view, &err) != RUNG_OK)
        return 0; /* killed before the board was there */
    rung_view_rows(&view, 1, &RUNG_SLICE("ada"), &row, &found);
    return found ? (uint64_t)row.values[0].i : 0;
}

/* The child: submit from `next` on, singly and in batches, with snapshots in between, until it
 * is killed. */
static _Noreturn void submit_until_killed(const char *path, uint64_t next, uint64_t seed,
                                          int answers) {
    rung_rng r;
    rung_rng_seed(&r, seed);
    rung *db = open_or_fail(path, seed % 3 == 0 ? 5 : 0);
    define(db);
    for (;;) {
        char ids[BATCH][24];
        rung_score_event scores[BATCH];
        rung_status statuses[BATCH];
        rung_err err;
        uint64_t n = rung_rng_below(&r, 4) ? 1 : 1 + rung_rng_below(&r, BATCH);
        for (uint64_t i = 0; i < n; i++)
            scores[i] = submission(next + i, ids[i]);
        if (rung_submit_many(db, n, scores, statuses, NULL, NULL, &err) != RUNG_OK)
            _exit(2);
        for (uint64_t i = 0; i < n; i++)
            if (statuses[i] != RUNG_OK)
                _exit(3);
        next += n;
        if (write(answers, &next, sizeof next) != (ssize_t)sizeof next)
            _exit(4);
        if (rung_rng_below(&r, 20) == 0) {
            rung_status st = rung_snapshot(db, rung_rng_below(&r, 2), &err);
            if (st < 0 && st != RUNG_EBUSY)
                _exit(5);
        }
    }
}

/* Start a child, kill it after a while: some when they may not even have opened, most after their first answer, however
 * slow the machine is. Returns the first submission that was not answered. */
static uint64_t run_and_kill(const char *path, uint64_t next, uint64_t seed) {
    rung_rng r;
    rung_rng_seed(&r, ~seed);
    int ends[2];
    CHECK_EQ_I64(pipe(ends), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(ends[0]);
        submit_until_killed(path, next, seed, ends[1]);
    }
    close(ends[1]);
    uint64_t told;
    struct timespec wait = {.tv_nsec = (long)rung_rng_below(&r, 60000000)};
    if (rung_rng_below(&r, 3) && read(ends[0], &told, sizeof told) == (ssize_t)sizeof told)
        next = told;
    nanosleep(&wait, NULL);
    kill(child, SIGKILL);
    int status;
    CHECK_EQ_I64(waitpid(child, &status, 0), child);
    CHECK_MSG(WIFSIGNALED(status), "the child left by itself with %d", WEXITSTATUS(status));
    while (read(ends[0], &told, sizeof told) == (ssize_t)sizeof told)
        next = told;
    close(ends[0]);
    return next;
}

/* A snapshot's child outlives its killed parent by a block at most, and holds the lock
 * meanwhile. */
static rung *open_when_free(const char *path) {
    rung *db;
    rung_err err;
    for (int tries = 0; tries < 12000; tries++) {
        rung_status st =
            rung_open(&(rung_config){.path = path, .segment_size = (uint64_t)4 << 20}, &db, &err);
        if (st == RUNG_OK)
            return db;
        CHECK_MSG(st == RUNG_EBUSY, "%s", err.message);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    test_fail(__FILE__, __LINE__, "still in use: %s", err.message);
}

static uint64_t check_after(const char *path, uint64_t answered) {
    rung_err err;
    rung *db = open_when_free(path);
    uint64_t there = counted(db);
    CHECK_MSG(there >= answered, "%llu answered, %llu there", (unsigned long long)answered,
              (unsigned long long)there);
    CHECK(there <= answered + BATCH);
    CHECK_SOUND(rung_state_check(rung_state_of(db)));
    rung_digest first = rung_state_digest(rung_state_of(db));
    CHECK_OK(rung_close(db, &err));

    db = open_or_fail(path, 0);
    rung_digest second = rung_state_digest(rung_state_of(db));
    CHECK_EQ_MEM(&first, &second, sizeof first);
    for (uint64_t i = there > 200 ? there - 200 : 0; i < there;
         i++) { /* those before were checked in their round */
        char id[24];
        rung_score_event again = submission(i, id);
        CHECK_STATUS(rung_submit(db, &again, NULL, &err), RUNG_DUPLICATE);
    }
    CHECK_EQ_U64(counted(db), there);
    CHECK_OK(rung_close(db, &err));
    return there;
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

TEST(killed_at_any_moment) {
    uint64_t rounds = test_steps(25), seed = test_seed(1), next = 0, killed_busy = 0;
    char path[] = "/tmp/rung-kill-XXXXXX";
    CHECK(mkdtemp(path));
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t answered = run_and_kill(path, next, seed * 1000003 + round);
        killed_busy += answered > next;
        next = check_after(path, answered);
    }
    CHECK_MSG(killed_busy > 0 || rounds < 5, "no child got as far as an answer");
    remove_folder(path);
}

RUNG_TEST_MAIN
