/* SPDX-License-Identifier: Apache-2.0 */
/* rung.h with a path: what was answered is there again, whoever opens it next. */
#include <rung/rung.h>

#include "support/check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOON INT64_C(1794744000000) /* Sunday 2026-11-15T12:00:00Z */
#define HOUR INT64_C(3600000)

typedef struct place {
    char path[64];
    int64_t now_ms;
    char said[1024];
    uint64_t from_log;
    rung_err err;
} place;

static int64_t told_time(void *ctx) {
    return ((place *)ctx)->now_ms;
}

static void hear(void *ctx, const char *line) {
    place *p = ctx;
    size_t used = strlen(p->said);
    snprintf(p->said + used, sizeof p->said - used, "%s\n", line);
}

static void watch(void *ctx, const char *what, uint64_t done, uint64_t total) {
    if (done == total && strcmp(what, "log") == 0)
        ((place *)ctx)->from_log = total;
}

static void place_init(place *p) {
    memset(p, 0, sizeof *p);
    snprintf(p->path, sizeof p->path, "/tmp/rung-test-XXXXXX");
    CHECK(mkdtemp(p->path));
    p->now_ms = NOON;
}

static void place_deinit(place *p) {
    char name[400];
    DIR *d = opendir(p->path);
    CHECK(d);
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(name, sizeof name, "%s/%s", p->path, e->d_name);
        unlink(name); /* "." and ".." do not mind */
    }
    closedir(d);
    CHECK_EQ_I64(rmdir(p->path), 0);
}

static rung_config config_of(place *p) {
    return (rung_config){.path = p->path,
                         .segment_size = (uint64_t)4 << 20,
                         .now_ms = told_time,
                         .progress = watch,
                         .say = hear,
                         .ctx = p};
}

static rung *open_place(place *p) {
    rung_config config = config_of(p);
    rung *db;
    p->said[0] = '\0';
    p->from_log = 0;
    rung_status st = rung_open(&config, &db, &p->err);
    CHECK_MSG(st == RUNG_OK, "%s", p->err.message);
    return db;
}

static void submit(place *p, rung *db, const char *player, int64_t score) {
    rung_score_event s = {.board = RUNG_SLICE("race"),
                          .player = rung_slice_str(player),
                          .value_count = 1,
                          .values = {{.i = score}}};
    CHECK(rung_submit(db, &s, NULL, &p->err) >= 0);
}

/* Something of everything. */
static void live_a_little(place *p, rung *db) {
    rung_slice race = RUNG_SLICE("race"), ada = RUNG_SLICE("ada"), bob = RUNG_SLICE("bob");
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY) | RUNG_WINDOWS_BIT(RUNG_WINDOW_WEEK);
    def.zone_name = RUNG_SLICE("Australia/Lord_Howe");
    def.scopes[def.scope_count++] = RUNG_SLICE("country");
    rung_attribute country = {RUNG_SLICE("country"), RUNG_SLICE("GB")};
    CHECK(rung_board_define(db, race, &def, &p->err) >= 0);
    submit(p, db, "ada", 10);
    submit(p, db, "bob", 20);
    CHECK(rung_player_set(db, ada, 1, &country, &p->err) >= 0);
    CHECK(rung_friend_add(db, ada, bob, true, &p->err) >= 0);
    CHECK(rung_friends_replace(db, bob, 1, (rung_slice[]){ada}, true, &p->err) >= 0);
    CHECK(rung_player_ban(db, bob, RUNG_SLICE("why not"), &p->err) >= 0);
    p->now_ms += 30 * HOUR;
    submit(p, db, "eve", 30); /* closes a day by a tick */
    CHECK(rung_player_unban(db, bob, RUNG_SLICE(""), &p->err) >= 0);
    CHECK_STATUS(rung_entry_remove(db, RUNG_SLICE("nowhere"), ada, &p->err),
                 RUNG_EABSENT); /* refusals count too */
}

static void check_same(rung_digest before, const rung *db) {
    rung_digest after = rung_state_digest(rung_state_of(db));
    CHECK_EQ_U64(before.a, after.a);
    CHECK_EQ_U64(before.b, after.b);
    CHECK_SOUND(rung_state_check(rung_state_of(db)));
}

TEST(opened_again_it_is_the_same) {
    place p;
    place_init(&p);
    for (int life = 0; life < 4; life++) {
        rung *db = open_place(&p);
        live_a_little(&p, db);
        rung_digest before = rung_state_digest(rung_state_of(db));
        CHECK_OK(rung_close(db, &p.err));
        db = open_place(&p);
        CHECK_EQ_STR(p.said, "");
        check_same(before, db);
        CHECK_OK(rung_close(db, &p.err));
    }
    place_deinit(&p);
}

TEST(a_path_and_memory_agree) {
    place p;
    place_init(&p);
    rung *kept = open_place(&p), *memory;
    live_a_little(&p, kept);
    p.now_ms = NOON;
    CHECK_OK(rung_open(&(rung_config){.now_ms = told_time, .ctx = &p}, &memory, &p.err));
    live_a_little(&p, memory);
    check_same(rung_state_digest(rung_state_of(memory)), kept);
    CHECK_OK(rung_close(memory, &p.err));
    CHECK_OK(rung_close(kept, &p.err));
    place_deinit(&p);
}

TEST(batches_are_kept) {
    enum { N = 5000 };
    static rung_score_event scores[N];
    static rung_status statuses[N];
    static char names[N][16];
    place p;
    place_init(&p);
    rung *db = open_place(&p);
    live_a_little(&p, db);
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "p%d", i % 777);
        scores[i] = (rung_score_event){.board = RUNG_SLICE("race"),
                                       .player = rung_slice_str(names[i]),
                                       .value_count = 1,
                                       .values = {{.i = i * 7 % 1000}}};
    }
    CHECK_OK(rung_submit_many(db, N, scores, statuses, NULL, NULL, &p.err));
    rung_digest before = rung_state_digest(rung_state_of(db));
    CHECK_OK(rung_close(db, &p.err));
    db = open_place(&p);
    check_same(before, db);
    CHECK_OK(rung_close(db, &p.err));
    place_deinit(&p);
}

static uint32_t count_files(const place *p, const char *ending) {
    DIR *d = opendir(p->path);
    uint32_t count = 0;
    CHECK(d);
    for (struct dirent *e; (e = readdir(d));) {
        size_t len = strlen(e->d_name), end = strlen(ending);
        count += len > end && strcmp(e->d_name + len - end, ending) == 0;
    }
    closedir(d);
    return count;
}

TEST(snapshots_shorten_the_replay_and_the_log) {
    place p;
    place_init(&p);
    rung *db = open_place(&p);
    CHECK_STATUS(rung_snapshot_wait(db, &p.err), RUNG_UNCHANGED);
    for (int life = 0; life < 5; life++) {
        bool in_background = life % 2;
        live_a_little(&p, db);
        CHECK_OK(rung_snapshot(db, in_background, &p.err));
        if (in_background) {
            rung_status st = rung_snapshot(db, true, &p.err);
            CHECK(st == RUNG_EBUSY || st == RUNG_UNCHANGED); /* it may be done already */
            CHECK(rung_snapshot_wait(db, &p.err) >= 0);
        }
        CHECK_STATUS(rung_snapshot(db, false, &p.err), RUNG_UNCHANGED);
        submit(&p, db, "zoe", life);
        rung_digest before = rung_state_digest(rung_state_of(db));
        CHECK_OK(rung_close(db, &p.err));
        db = open_place(&p);
        CHECK_EQ_STR(p.said, "");
        CHECK_EQ_U64(p.from_log, 1);
        check_same(before, db);
        CHECK(count_files(&p, ".snap") <= 2);
        CHECK(count_files(&p, ".seg") <= 4);
    }
    CHECK_OK(rung_close(db, &p.err));
    place_deinit(&p);
}

/* Closing waits for the child, so that the folder is free afterwards; changes go on meanwhile. */
TEST(close_during_a_snapshot) {
    place p;
    place_init(&p);
    rung *db = open_place(&p);
    for (int life = 0; life < 5; life++) {
        live_a_little(&p, db);
        CHECK_OK(rung_snapshot(db, true, &p.err));
        submit(&p, db, "zoe", life);
        CHECK(rung_tick(db, &p.err) >= 0);
        rung_digest before = rung_state_digest(rung_state_of(db));
        CHECK_OK(rung_close(db, &p.err));
        db = open_place(&p);
        check_same(before, db);
    }
    CHECK_OK(rung_close(db, &p.err));
    place_deinit(&p);
}

TEST(nothing_to_snapshot_in_memory) {
    rung *db;
    rung_err err;
    CHECK_OK(rung_open(NULL, &db, &err));
    CHECK_STATUS(rung_snapshot(db, false, &err), RUNG_EUNSUPPORTED);
    CHECK_STATUS(rung_snapshot_wait(db, &err), RUNG_UNCHANGED);
    CHECK_OK(rung_close(db, &err));
}

TEST(in_use_names_the_process) {
    place p;
    place_init(&p);
    rung *db = open_place(&p), *second;
    rung_config config = config_of(&p);
    char pid[32];
    snprintf(pid, sizeof pid, "(pid %ld)", (long)getpid());
    CHECK_STATUS(rung_open(&config, &second, &p.err), RUNG_EBUSY);
    CHECK_MSG(strstr(p.err.message, "is in use by another process") && strstr(p.err.message, pid),
              "%s", p.err.message);
    pid_t child = fork();
    if (child == 0) {
        rung_err err;
        bool is_told = rung_open(&config, &second, &err) == RUNG_EBUSY && strstr(err.message, pid);
        _exit(is_told ? 0 : 1);
    }
    int status;
    CHECK_EQ_I64(waitpid(child, &status, 0), child);
    CHECK_EQ_I64(status, 0);
    live_a_little(&p, db);
    CHECK_OK(rung_close(db, &p.err));
    db = open_place(&p);
    CHECK_OK(rung_close(db, &p.err));
    place_deinit(&p);
}

TEST(relaxed_keeps_all_on_close) {
    place p;
    place_init(&p);
    rung_config config = config_of(&p);
    rung *db;
    config.sync_every_ms = 1000000;
    CHECK_OK(rung_open(&config, &db, &p.err));
    live_a_little(&p, db);
    CHECK_OK(rung_sync(db, &p.err));
    live_a_little(&p, db);
    CHECK_OK(rung_snapshot(db, false, &p.err)); /* syncs first */
    live_a_little(&p, db);
    rung_digest before = rung_state_digest(rung_state_of(db));
    CHECK_OK(rung_close(db, &p.err));
    db = open_place(&p); /* and the other way to sync may be chosen the next time */
    check_same(before, db);
    CHECK_OK(rung_close(db, &p.err));
    place_deinit(&p);
}

TEST(what_cannot_be_opened_is_named) {
    place p;
    rung *db;
    place_init(&p);
    rung_config config = config_of(&p);
    config.segment_size = 1 << 20;
    CHECK_STATUS(rung_open(&config, &db, &p.err), RUNG_EINVAL);
    CHECK(strncmp(p.err.message, "segment_size", 12) == 0);
    config = config_of(&p);
    config.path = "/nowhere/at/all";
    CHECK(rung_open(&config, &db, &p.err) < 0);
    CHECK_MSG(strstr(p.err.message, "/nowhere/at/all"), "%s", p.err.message);
    place_deinit(&p);
}

/* One flipped bit in the middle of the log: nothing is skipped, nothing is repaired. */
TEST(damage_is_refused) {
    place p;
    place_init(&p);
    rung *db = open_place(&p);
    live_a_little(&p, db);
    CHECK_OK(rung_close(db, &p.err));
    char name[200];
    snprintf(name, sizeof name, "%s/00000000000000000001-00000001.seg", p.path);
    FILE *f = fopen(name, "r+");
    CHECK(f);
    fseek(f, 4096 + 100, SEEK_SET);
    int byte = fgetc(f);
    fseek(f, 4096 + 100, SEEK_SET);
    fputc(byte ^ 1, f);
    fclose(f);
    rung_config config = config_of(&p);
    CHECK_STATUS(rung_open(&config, &db, &p.err), RUNG_ECORRUPT);
    CHECK_MSG(strstr(p.err.message, "00000000000000000001-00000001.seg"), "%s", p.err.message);
    place_deinit(&p);
}

RUNG_TEST_MAIN
