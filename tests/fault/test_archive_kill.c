/* SPDX-License-Identifier: Apache-2.0 */
/* Real processes that log and archive are killed at random moments: while opening, replaying, archiving, closing
 * windows. What is left is opened by the next. In the end nothing is lost and nothing doubled. */
/* ctest: timeout=180 labels=slow */
#include "support/archive_dir.h"
#include "support/archive_server.h"
#include "support/check.h"
#include "support/rng.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Until killed, or until there is enough; a byte to `told` for each step. */
static _Noreturn void work(const archive_server_config *config, uint64_t seed, int told) {
    static archive_server s;
    rung_rng rng;
    rung_rng_seed(&rng, seed);
    archive_server_open(&s, config);
    while (archive_server_seq(&s) < 20000) {
        archive_server_step(&s, 1 + (uint32_t)rung_rng_below(&rng, 40));
        if (s.snapshot_path && rung_rng_below(&rng, 4) == 0)
            archive_server_snapshot(&s);
        CHECK_EQ_I64(write(told, "", 1), 1);
    }
    CHECK_EQ_I64(write(told, "", 1), 1);
    for (;;)
        pause();
}

static void remove_folder(const char *path) {
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s'", path);
    CHECK_EQ_I64(system(command), 0);
}

static void wait_for_steps(int told, uint64_t count) {
    char byte;
    for (uint64_t i = 0; i < count; i++)
        CHECK_EQ_I64(read(told, &byte, 1), 1);
}

static void kill_at_random(bool with_snapshots) {
    archive_dir d;
    char log_path[128], snapshot_path[128];
    rung_rng rng;
    uint64_t rounds = test_steps(25), seed = test_seed(7), cursor = 0;
    archive_dir_init(&d);
    snprintf(log_path, sizeof log_path, "%s/log", d.dir);
    snprintf(snapshot_path, sizeof snapshot_path, "%s/snapshot", d.dir);
    archive_server_config config = {
        .fs = rung_fs_posix(),
        .log_path = log_path,
        .archive_path = d.path,
        .snapshot_path = with_snapshots ? snapshot_path : NULL,
        .follower = {.retry_ms_min = 1, .retry_ms_max = 10, .batch_events = 64}};
    rung_rng_seed(&rng, seed);
    for (uint64_t i = 0; i < rounds; i++) {
        int ends[2];
        CHECK_EQ_I64(pipe(ends), 0);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            work(&config, seed + i, ends[1]);
        close(ends[1]);
        /* A third dies at a moment nobody chose, possibly before its first step; the others after a number of steps, so
         * that the log grows however slow the machine is. */
        if (i % 3 == 0)
            usleep((useconds_t)rung_rng_below(&rng, 8000));
        else
            wait_for_steps(ends[0], 1 + rung_rng_below(&rng, 60));
        CHECK_EQ_I64(kill(pid, SIGKILL), 0);
        int status;
        CHECK_EQ_I64(waitpid(pid, &status, 0), pid);
        CHECK_MSG(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                  "round %llu: the process ended by itself", (unsigned long long)i);
        close(ends[0]);
    }
    static archive_server s;
    archive_server_open(&s, &config);
    uint64_t last = archive_server_seq(&s);
    CHECK_OK(rung_follower_wait(s.follower, last, 60000));
    cursor = rung_follower_cursor(s.follower);
    archive_server_close(&s);
    CHECK_EQ_U64(cursor, last);
    CHECK_MSG(last > 100, "only %llu events in all rounds", (unsigned long long)last);
    archive_server_verify(d.path, d.dir, last, !with_snapshots);
    remove_folder(d.dir);
}

/* Every restart replays everything: outcomes are known again. */
TEST(killed_at_random) {
    kill_at_random(false);
}

/* Snapshots are taken when nothing is pinned: no window is lost, though those before the snapshot never come again. */
TEST(killed_at_random_with_snapshots) {
    kill_at_random(true);
}

RUNG_TEST_MAIN
