/* SPDX-License-Identifier: Apache-2.0 */
/* A server whose archive is a PostgreSQL that is away at the start, restarted, read-only, or has another password: it
 * goes on, says so in one line without the password, and catches up. Then real processes: two servers share an
 * archive, and they and the database are killed at random moments. Nothing is lost and nothing doubled. */
/* ctest: timeout=300 labels=slow */
#define _GNU_SOURCE
#include "support/postgres_archive.h"
#include "support/rng.h"

#include <pthread.h>

static postgres_server server; /* of each test its own, since it is killed */

typedef struct fixture {
    char dir[64], log_path[2][96];
    postgres_place place;
    archive_maker maker;
    archive_server_config config;
    pthread_mutex_t lock;
    char lines[8][300]; /* said by the follower */
    int line_count;
} fixture;

static void say(void *ctx, const char *line) {
    fixture *f = ctx;
    pthread_mutex_lock(&f->lock);
    if (f->line_count < 8)
        snprintf(f->lines[f->line_count++], sizeof f->lines[0], "%s", line);
    pthread_mutex_unlock(&f->lock);
}

static void begin(fixture *f) {
    memset(f, 0, sizeof *f);
    pthread_mutex_init(&f->lock, NULL);
    postgres_server_init(&server);
    postgres_place_init(&f->place, &server);
    char dir[] = "/tmp/rung-postgres-log-XXXXXX";
    CHECK(mkdtemp(dir) != NULL);
    snprintf(f->dir, sizeof f->dir, "%s", dir);
    for (int i = 0; i < 2; i++)
        snprintf(f->log_path[i], sizeof f->log_path[i], "%s/log%d", dir, i);
    f->maker = (archive_maker){postgres_place_open, &f->place};
    f->config = (archive_server_config){
        .fs = rung_fs_posix(),
        .log_path = f->log_path[0],
        .maker = &f->maker,
        .is_shared = true,
        .follower = {
            .retry_ms_min = 1, .retry_ms_max = 50, .batch_events = 64, .say = say, .say_ctx = f}};
}

static void end(fixture *f) {
    postgres_server_deinit(&server);
    nftw(f->dir, postgres_server_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static void wait_for_failure(archive_server *s) {
    uint64_t before = rung_follower_stat(s->follower).failures;
    for (int i = 0; i < 6000; i++) {
        rung_follower_stats now = rung_follower_stat(s->follower);
        if (now.failures > before && now.status < 0)
            return;
        usleep(5000);
    }
    test_fail(__FILE__, __LINE__, "the follower does not fail");
}

static void check_lines(fixture *f, const char *text) {
    pthread_mutex_lock(&f->lock);
    CHECK_EQ_I64(f->line_count, 2); /* it fails; it works again */
    CHECK_MSG(strstr(f->lines[0], text) != NULL, "%s", f->lines[0]);
    CHECK_MSG(!strstr(f->lines[0], "secret"), "%s", f->lines[0]);
    CHECK_MSG(strstr(f->lines[1], "works again") != NULL, "%s", f->lines[1]);
    f->line_count = 0;
    pthread_mutex_unlock(&f->lock);
}

static void finish(fixture *f, archive_server *s, const char *text) {
    uint64_t last = archive_server_seq(s);
    CHECK_OK(rung_follower_wait(s->follower, last, 60000));
    CHECK_EQ_U64(rung_follower_stat(s->follower).behind_events, 0);
    CHECK(rung_follower_stat(s->follower).is_writer);
    if (text)
        check_lines(f, text);
}

TEST(away_at_the_start_and_later) {
    static fixture f;
    static archive_server s;
    begin(&f);
    postgres_server_kill(&server, SIGINT);
    archive_server_open(&s, &f.config);
    for (int i = 0; i < 10; i++)
        archive_server_step(&s, 60);
    wait_for_failure(&s);
    CHECK(!rung_follower_stat(s.follower).is_known);
    CHECK_EQ_U64(rung_follower_stat(s.follower).behind_events, 600);
    CHECK_EQ_U64(rung_follower_cursor(s.follower), 0); /* the log is kept */
    postgres_server_start(&server);
    finish(&f, &s, ".s.PGSQL");
    postgres_server_kill(&server, SIGQUIT);
    for (int i = 0; i < 10; i++)
        archive_server_step(&s, 60);
    wait_for_failure(&s);
    postgres_server_start(&server);
    finish(&f, &s, NULL);
    archive_server_close(&s);
    /* a restart without the database, which has everything: what is in it does not come again */
    postgres_server_kill(&server, SIGINT);
    archive_server_open(&s, &f.config);
    wait_for_failure(&s);
    postgres_server_start(&server);
    archive_server_step(&s, 50);
    finish(&f, &s, NULL);
    archive_server_close(&s);
    postgres_place_verify(&f.place, 1250);
    end(&f);
}

static void write_hba(const char *method) {
    char path[128];
    snprintf(path, sizeof path, "%s/pg_hba.conf", server.data);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fprintf(file, "local all boss trust\nlocal all all %s\n", method);
    CHECK_EQ_I64(fclose(file), 0);
    postgres_server_sql(&server, "SELECT pg_reload_conf()");
}

/* Ends the sessions of the servers. */
static void end_sessions(void) {
    postgres_server_sql(&server, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                                 " WHERE usename = 'rung'");
}

TEST(wrong_password) {
    static fixture f;
    static archive_server s;
    begin(&f);
    archive_server_open(&s, &f.config);
    archive_server_step(&s, 60);
    finish(&f, &s, NULL);
    postgres_server_sql(&server, "ALTER ROLE rung PASSWORD 'another'");
    write_hba("scram-sha-256");
    end_sessions();
    archive_server_step(&s, 60);
    wait_for_failure(&s);
    postgres_server_sql(&server, "ALTER ROLE rung PASSWORD 'secret'");
    finish(&f, &s, NULL);
    CHECK(f.line_count == 2 && !strstr(f.lines[0], "secret"));
    archive_server_close(&s);
    postgres_place_verify(&f.place, 120);
    end(&f);
}

/* A hot standby takes no changes. */
TEST(read_only_server) {
    static fixture f;
    static archive_server s;
    char path[128];
    begin(&f);
    archive_server_open(&s, &f.config);
    archive_server_step(&s, 60);
    finish(&f, &s, NULL);
    postgres_server_kill(&server, SIGINT);
    snprintf(path, sizeof path, "%s/standby.signal", server.data);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fclose(file) == 0);
    postgres_server_start(&server);
    archive_server_step(&s, 60);
    wait_for_failure(&s);
    while (!strstr(rung_follower_stat(s.follower).last_error.message, "read-only"))
        wait_for_failure(&s);
    postgres_server_kill(&server, SIGINT);
    CHECK_EQ_I64(unlink(path), 0);
    postgres_server_start(&server);
    finish(&f, &s, NULL);
    archive_server_close(&s);
    postgres_place_verify(&f.place, 120);
    end(&f);
}

/* As PostgreSQL reports one, in the statement that moves the cursor. */
TEST(full_disk) {
    static fixture f;
    static archive_server s;
    char sql[1024];
    begin(&f);
    archive_server_open(&s, &f.config);
    archive_server_step(&s, 60);
    finish(&f, &s, NULL);
    snprintf(sql, sizeof sql,
             "CREATE FUNCTION %s.fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE"
             " 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';"
             " END $$; CREATE TRIGGER full_disk BEFORE UPDATE ON %s.source FOR EACH ROW EXECUTE"
             " FUNCTION %s.fill()",
             f.place.schema, f.place.schema, f.place.schema);
    postgres_server_sql(&server, sql);
    for (int i = 0; i < 10; i++)
        archive_server_step(&s, 60);
    wait_for_failure(&s);
    CHECK_EQ_I64(rung_follower_stat(s.follower).status, RUNG_ENOSPC);
    CHECK_EQ_U64(rung_follower_cursor(s.follower), 60); /* the log is kept */
    snprintf(sql, sizeof sql, "DROP TRIGGER full_disk ON %s.source", f.place.schema);
    postgres_server_sql(&server, sql);
    finish(&f, &s, "No space left on device");
    archive_server_close(&s);
    postgres_place_verify(&f.place, 660);
    end(&f);
}

/* ---- killed at random ---- */

enum { ENOUGH = 20000 }; /* events: every restart replays all of them */

/* Until killed; a byte to `told` for each step. */
static _Noreturn void work(const archive_server_config *config, uint64_t seed, int told) {
    static archive_server s;
    rung_rng rng;
    rung_rng_seed(&rng, seed);
    archive_server_open(&s, config);
    for (;;) {
        if (archive_server_seq(&s) < ENOUGH)
            archive_server_step(&s, 1 + (uint32_t)rung_rng_below(&rng, 40));
        else
            usleep(1000);
        if (write(told, "", 1) != 1)
            _exit(3);
    }
}

typedef struct worker {
    pid_t pid;
    int told;
} worker;

static worker start_worker(fixture *f, int which, uint64_t seed) {
    int ends[2];
    CHECK_EQ_I64(pipe(ends), 0);
    archive_server_config config = f->config;
    config.log_path = f->log_path[which];
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work(&config, seed, ends[1]);
    }
    close(ends[1]);
    return (worker){pid, ends[0]};
}

static void kill_worker(worker *w) {
    int status;
    CHECK_EQ_I64(kill(w->pid, SIGKILL), 0);
    CHECK_EQ_I64(waitpid(w->pid, &status, 0), w->pid);
    CHECK_MSG(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a server ended by itself");
    close(w->told);
}

static void wait_for_steps(const worker *w, uint64_t count) {
    char byte;
    for (uint64_t i = 0; i < count; i++)
        CHECK_EQ_I64(read(w->told, &byte, 1), 1);
}

TEST(two_servers_and_the_database_killed_at_random) {
    static fixture f;
    static archive_server s[2];
    rung_rng rng;
    uint64_t rounds = test_steps(5), seed = test_seed(7), last = 0;
    begin(&f);
    rung_rng_seed(&rng, seed);
    worker w[2] = {start_worker(&f, 0, seed), start_worker(&f, 1, seed + 1)};
    for (uint64_t i = 0; i < rounds; i++) {
        int which = (int)rung_rng_below(&rng, 3);
        for (int k = 0; k < 2; k++)
            wait_for_steps(&w[k], 1 + rung_rng_below(&rng, 20));
        if (which < 2) {
            kill_worker(&w[which]);
            w[which] = start_worker(&f, which, seed + 2 * i);
        } else {
            postgres_server_kill(&server, SIGKILL);
            postgres_server_start(&server);
        }
    }
    for (int k = 0; k < 2; k++)
        kill_worker(&w[k]);
    for (int k = 0; k < 2; k++) {
        archive_server_config config = f.config;
        config.log_path = f.log_path[k];
        archive_server_open(&s[k], &config);
        last = archive_server_seq(&s[k]) > last ? archive_server_seq(&s[k]) : last;
    }
    for (int k = 0; k < 2; k++)
        while (archive_server_seq(&s[k]) < last)
            archive_server_step(&s[k], 1);
    for (int k = 0; k < 2; k++)
        CHECK_OK(rung_follower_wait(s[k].follower, last, 60000));
    /* neither, if the archive had everything before */
    CHECK(!rung_follower_stat(s[0].follower).is_writer ||
          !rung_follower_stat(s[1].follower).is_writer);
    for (int k = 0; k < 2; k++)
        archive_server_close(&s[k]);
    postgres_place_verify(&f.place, last);
    end(&f);
}

RUNG_TEST_MAIN
