/* SPDX-License-Identifier: Apache-2.0 */
/* A hub with an archive attached: closed windows answer the same after they left memory, whatever happened to their
 * players since, through restarts, kills and a disk that fails for a while. Beside it runs a state that never lets
 * go of a closed window: it is asked what memory would have said. */
/* ctest: timeout=240 labels=thread */
#include "archive/attach.h"

#include "journal/segment_log.h"
#include "service/hub.h"
#include "support/archive_contract.h"
#include "support/archive_dir.h"
#include "support/check.h"
#include "support/failvfs.h"
#include "support/history_gen.h"
#include "support/rng.h"

#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

typedef struct fixture {
    archive_dir dir;
    rung_attach_config attach_config;
    rung_attach *attach;
    rung_hub_follower port; /* the attached one's, with an ear of ours in between */
    rung_hub_config config;
    rung_hub *hub;
    rung_state *memory; /* all events, nothing dropped */
    archive_ages ages;  /* of its boards */
    uint64_t rankings;  /* scopes and teams compared */
    int64_t now_ms;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t wakes;
} fixture;

static int64_t now(void *ctx) {
    return ((fixture *)ctx)->now_ms;
}

static void on_wake(void *ctx) {
    fixture *f = ctx;
    pthread_mutex_lock(&f->lock);
    f->wakes++;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void remember(fixture *f, uint64_t first_seq, uint32_t count,
                     const rung_event *const *events) {
    static rung_event e;
    for (uint32_t i = 0; f->memory && i < count; i++) {
        if (first_seq + i <= rung_state_seq(f->memory))
            continue;
        CHECK_EQ_U64(first_seq + i, rung_state_seq(f->memory) + 1);
        e = *events[i];
        if (e.kind == RUNG_EVENT_BOARD_DEFINED)
            e.defined.def.keep = RUNG_KEEP_MAX;
        rung_ignore(rung_state_apply(f->memory, &e, NULL, NULL), "refused there and here");
        if (e.kind != RUNG_EVENT_SCORE)
            archive_ages_note(&f->ages, f->memory);
    }
}

static void on_applied(void *ctx, uint64_t first_seq, uint32_t count,
                       const rung_event *const *events, const rung_status *statuses,
                       const rung_outcome *outcomes) {
    fixture *f = ctx;
    remember(f, first_seq, count, events);
    rung_attach_port(f->attach)->applied(rung_attach_port(f->attach)->ctx, first_seq, count, events,
                                         statuses, outcomes);
}

/* The others are passed on as they are. */
#define PASS_ON(f) const rung_hub_follower *p = rung_attach_port(((fixture *)(f))->attach)

static rung_status on_begin(void *ctx, rung_log *log, const uint8_t id[16], uint64_t first_seq,
                            uint64_t state_seq, const rung_state *state, rung_err *err) {
    PASS_ON(ctx);
    return p->begin(p->ctx, log, id, first_seq, state_seq, state, err);
}

static void on_before(void *ctx, const rung_state *state, int64_t ts_ms) {
    PASS_ON(ctx);
    p->before(p->ctx, state, ts_ms);
}

static void on_close_window(void *ctx, rung_slice board, const rung_view *view) {
    PASS_ON(ctx);
    p->on_close(p->ctx, board, view);
}

static void on_catch_up(void *ctx) {
    PASS_ON(ctx);
    p->catch_up(p->ctx);
}

static uint64_t on_needed_from(void *ctx) {
    PASS_ON(ctx);
    return p->needed_from(p->ctx);
}

static uint64_t on_snapshot_before(void *ctx) {
    PASS_ON(ctx);
    return p->snapshot_before(p->ctx);
}

static void on_end(void *ctx) {
    PASS_ON(ctx);
    p->end(p->ctx);
}

static void begin(fixture *f) {
    memset(f, 0, sizeof *f);
    archive_dir_init(&f->dir);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    f->attach_config = (rung_attach_config){
        .alloc = rung_alloc_heap(),
        .folder = f->dir.dir,
        .follower = {.retry_ms_min = 1, .retry_ms_max = 10, .batch_events = 64},
    };
    f->port = (rung_hub_follower){.ctx = f,
                                  .begin = on_begin,
                                  .before = on_before,
                                  .applied = on_applied,
                                  .on_close = on_close_window,
                                  .catch_up = on_catch_up,
                                  .needed_from = on_needed_from,
                                  .snapshot_before = on_snapshot_before,
                                  .end = on_end};
    f->config = (rung_hub_config){.alloc = rung_alloc_heap(),
                                  .clock = {now, f},
                                  .at_ahead_ms = INT64_MAX,
                                  .path = f->dir.dir,
                                  .segment_size = 1 << 20,
                                  .snapshot_every = UINT64_MAX,
                                  .follower = &f->port,
                                  .wake = on_wake,
                                  .ctx = f};
}

static void forget_nothing(fixture *f, const history_taste *taste) {
    f->config.id_capacity = taste->id_capacity;
    f->config.id_keep_ms = taste->id_keep_ms;
    f->now_ms = taste->start_ms;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &f->memory));
}

static void open_hub(fixture *f) {
    rung_err err = {0};
    CHECK_OK(rung_attach_create(&f->attach_config, &f->attach, &err));
    rung_status st = rung_hub_open(&f->config, &f->hub, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
}

static void close_hub(fixture *f) {
    CHECK_OK(rung_hub_close(f->hub, NULL));
    rung_attach_destroy(f->attach);
}

static void end(fixture *f) {
    rung_state_destroy(f->memory);
    archive_dir_deinit(&f->dir);
}

static void settle(fixture *f) {
    for (;;) {
        pthread_mutex_lock(&f->lock);
        uint64_t seen = f->wakes;
        pthread_mutex_unlock(&f->lock);
        rung_hub_turn(f->hub);
        rung_hub_flush(f->hub);
        if (rung_commit_is_idle(rung_hub_commit(f->hub)))
            return;
        pthread_mutex_lock(&f->lock);
        while (f->wakes == seen)
            pthread_cond_wait(&f->changed, &f->lock);
        pthread_mutex_unlock(&f->lock);
    }
}

static void play(fixture *f, history_gen *g, rung_rng *r, uint32_t steps) {
    static rung_event e;
    for (uint32_t i = 0; i < steps; i++) {
        history_gen_next(g, &e);
        f->now_ms = e.ts_ms > f->now_ms ? e.ts_ms : f->now_ms;
        rung_status st = rung_hub_put(f->hub, &e, NULL, NULL, NULL);
        CHECK(st == RUNG_OK || st == RUNG_EINVAL || st == RUNG_ELIMIT);
        uint64_t what = rung_rng_below(r, 12);
        if (what == 0)
            settle(f);
        else if (what == 1)
            rung_hub_tick(f->hub);
        else if (what < 5)
            rung_hub_flush(f->hub);
    }
    settle(f);
}

/* Everything archived answers as memory would. */
static uint32_t compare(fixture *f) {
    rung_archive *archive;
    rung_err err = {0};
    uint64_t seq = rung_state_seq(rung_hub_state(f->hub));
    CHECK_EQ_U64(rung_state_seq(f->memory), seq);
    CHECK_OK(rung_attach_wait(f->attach, seq, 60000));
    CHECK_EQ_U64(rung_attach_stat(f->attach).behind_events, 0);
    CHECK_OK(rung_attach_reader(f->attach, &archive, &err));
    f->rankings += archive_compare_scopes(f->memory, archive, &f->ages);
    return archive_compare(f->memory, archive);
}

TEST(windows_that_left_memory_answer_the_same) {
    uint64_t compared = 0, rankings = 0;
    for (uint64_t seed = test_seed(1), last = seed + 4; seed < last; seed++) {
        fixture f;
        rung_rng r;
        history_gen *g = history_gen_create(seed);
        rung_rng_seed(&r, seed);
        begin(&f);
        forget_nothing(&f, history_gen_taste(g));
        open_hub(&f);
        for (int part = 0; part < 3; part++) {
            play(&f, g, &r, 800);
            compared += compare(&f);
        }
        close_hub(&f);
        history_gen_destroy(g);
        rankings += f.rankings;
        end(&f);
    }
    CHECK(compared > 0);
    CHECK(compared < 100 || rankings > 100); /* some seeds have few windows */
}

/* Every window, the smallest too, by a child of its own. */
TEST(windows_packed_by_children_answer_the_same) {
    fixture f;
    rung_rng r;
    uint64_t seed = test_seed(41);
    history_gen *g = history_gen_create(seed);
    rung_rng_seed(&r, seed);
    begin(&f);
    f.attach_config.follower.fork_rows = 1;
    forget_nothing(&f, history_gen_taste(g));
    open_hub(&f);
    uint32_t compared = 0;
    for (int part = 0; part < 3; part++) {
        play(&f, g, &r, 300);
        compared += compare(&f);
    }
    CHECK(compared > 0);
    play(&f, g, &r, 100);
    close_hub(&f); /* perhaps with jobs under way */
    open_hub(&f);
    CHECK(compare(&f) > 0);
    close_hub(&f);
    history_gen_destroy(g);
    end(&f);
}

static const char *const banned[] = {"p1", "p4", "p5", "p9"};

#define DAY_BOARD "daily" /* no board of the histories: they may have defined that one otherwise */

/* Ten players on a board that keeps no closed window, four of them banned; then the day ends. */
static void close_a_day(fixture *f) {
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.keep = 0;
    CHECK_OK(rung_hub_define(f->hub, (rung_hub_sender){0}, RUNG_SLICE(DAY_BOARD), &def, NULL, NULL,
                             NULL));
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        rung_event e = archive_event_score(DAY_BOARD, name, i / 3, 0);
        CHECK_OK(rung_hub_put(f->hub, &e, NULL, NULL, NULL));
    }
    for (int i = 0; i < 4; i++) {
        rung_event e = archive_event_ban(banned[i], true, 0);
        CHECK_OK(rung_hub_put(f->hub, &e, NULL, NULL, NULL));
    }
    settle(f);
    f->now_ms += 2 * 86400000;
    rung_hub_tick(f->hub);
    settle(f);
}

TEST(a_player_banned_when_a_window_closed_comes_back_to_it) {
    fixture f;
    begin(&f);
    forget_nothing(&f, &(history_taste){.start_ms = INT64_C(1794744000000)});
    open_hub(&f);
    close_a_day(&f);
    CHECK_EQ_U64(compare(&f), 1);
    uint64_t closed_seq = rung_attach_stat(f.attach).closed_seq;
    CHECK(closed_seq > rung_attach_stat(f.attach).changed_seq);
    for (int i = 3; i >= 0; i--) {
        rung_event e = archive_event_ban(banned[i], false, 0);
        CHECK_OK(rung_hub_put(f.hub, &e, NULL, NULL, NULL));
        settle(&f);
        CHECK_EQ_U64(rung_attach_stat(f.attach).changed_seq, rung_state_seq(rung_hub_state(f.hub)));
        CHECK_EQ_U64(compare(&f), 1);
    }
    rung_event e = archive_event_erase("p4", 0);
    CHECK_OK(rung_hub_put(f.hub, &e, NULL, NULL, NULL));
    settle(&f);
    CHECK_EQ_U64(compare(&f), 1);
    uint64_t seq = rung_state_seq(rung_hub_state(f.hub));
    e = archive_event_score(DAY_BOARD, "p1", 7, 0); /* changes nothing that is archived */
    CHECK_OK(rung_hub_put(f.hub, &e, NULL, NULL, NULL));
    settle(&f);
    CHECK_EQ_U64(rung_attach_stat(f.attach).changed_seq, seq);
    CHECK_EQ_U64(rung_attach_stat(f.attach).closed_seq, closed_seq);
    close_hub(&f);
    end(&f);
}

static void snapshot(fixture *f) {
    rung_err err = {0};
    uint64_t before = rung_hub_stat(f->hub).snapshots;
    CHECK_OK(rung_attach_wait(f->attach, rung_state_seq(rung_hub_state(f->hub)), 60000));
    rung_status st = rung_hub_snapshot(f->hub, &err);
    CHECK_MSG(st == RUNG_OK || st == RUNG_UNCHANGED, "%s", err.message);
    while (st == RUNG_OK && rung_hub_stat(f->hub).snapshots == before) {
        CHECK_EQ_U64(rung_hub_stat(f->hub).snapshot_failures, 0);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        rung_hub_tick(f->hub);
    }
    settle(f);
}

TEST(restarts_with_and_without_snapshots) {
    fixture f;
    rung_rng r;
    uint64_t seed = test_seed(11);
    history_gen *g = history_gen_create(seed);
    rung_rng_seed(&r, seed);
    begin(&f);
    forget_nothing(&f, history_gen_taste(g));
    for (int life = 0; life < 6; life++) {
        open_hub(&f);
        play(&f, g, &r, 400);
        if (life % 2)
            snapshot(&f);
        play(&f, g, &r, 100);
        compare(&f);
        close_hub(&f);
    }
    history_gen_destroy(g);
    end(&f);
}

/* An archive that comes late has what memory still has, and follows from there. */
TEST(windows_that_closed_without_an_archive) {
    fixture f;
    rung_archive *archive;
    rung_err err = {0};
    begin(&f);
    forget_nothing(&f, &(history_taste){.start_ms = INT64_C(1794744000000)});
    f.config.follower = NULL;
    CHECK_OK(rung_hub_open(&f.config, &f.hub, &err));
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY) | RUNG_WINDOWS_BIT(RUNG_WINDOW_HOUR);
    def.keep = 3;
    def.scope_count = 1;
    def.scopes[0] = RUNG_SLICE("country");
    def.has_teams = true;
    def.team_by = RUNG_SLICE("country");
    def.season_count = 1;
    def.seasons[0] = (rung_season){RUNG_SLICE("short"), f.now_ms - 1000, f.now_ms + 1000};
    CHECK_OK(rung_hub_define(f.hub, (rung_hub_sender){0}, RUNG_SLICE("b"), &def, NULL, NULL, NULL));
    for (int day = 0; day < 5; day++) {
        for (int i = 0; i < 10; i++) {
            char name[16];
            snprintf(name, sizeof name, "p%d", i);
            rung_event e = archive_event_score("b", name, i * day % 4, 0);
            CHECK_OK(rung_hub_put(f.hub, &e, NULL, NULL, NULL));
            e = archive_event_profile(name, "country", (i + day) % 3 ? "FI" : "SE",
                                      0); /* they move every day */
            CHECK_OK(rung_hub_put(f.hub, &e, NULL, NULL, NULL));
        }
        rung_event e = archive_event_ban("p3", day % 2 == 0, 0);
        CHECK_OK(rung_hub_put(f.hub, &e, NULL, NULL, NULL));
        settle(&f);
        f.now_ms += 86400000;
    }
    rung_hub_tick(f.hub);
    settle(&f);
    CHECK_OK(rung_hub_snapshot(f.hub, &err));
    while (rung_hub_stat(f.hub).snapshots == 0) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        rung_hub_tick(f.hub);
    }
    CHECK_OK(rung_hub_close(f.hub, NULL));
    CHECK_OK(rung_attach_create(&f.attach_config, &f.attach, &err));
    f.config.follower = rung_attach_port(f.attach);
    for (int life = 0; life < 2; life++) { /* the second finds them there */
        CHECK_OK(rung_hub_open(&f.config, &f.hub, &err));
        rung_event e = archive_event_ban("p3", life == 1, 0);
        CHECK_OK(rung_hub_put(f.hub, &e, NULL, NULL, NULL));
        settle(&f);
        CHECK_OK(rung_attach_wait(f.attach, rung_state_seq(rung_hub_state(f.hub)), 60000));
        CHECK_OK(rung_attach_reader(f.attach, &archive, &err));
        CHECK_EQ_U64(archive_compare(rung_hub_state(f.hub), archive), 7);
        CHECK(archive_compare_scopes(rung_hub_state(f.hub), archive, NULL) > 7);
        rung_archive_window windows[16];
        uint32_t count;
        CHECK_OK(rung_archive_reading.windows(archive, RUNG_SLICE("b"), 0, INT64_MAX, 16, windows,
                                              &count, &err));
        CHECK_EQ_U64(count, 7); /* none twice */
        CHECK_OK(rung_hub_close(f.hub, NULL));
    }
    rung_attach_destroy(f.attach);
    end(&f);
}

/* ---- killed ---- */

static uint64_t keep_all(void *ctx) {
    (void)ctx;
    return 1;
}

/* Until killed. Snapshots come often; the log stays whole, for the one who looks afterwards. */
static void live(fixture *f, uint64_t seed) {
    history_gen *g = history_gen_create(seed);
    rung_rng r;
    rung_rng_seed(&r, seed);
    f->config.snapshot_every = 1 << 14;
    f->port.needed_from = keep_all;
    f->now_ms = history_gen_taste(g)->start_ms;
    open_hub(f);
    for (;;) {
        play(f, g, &r, 50);
        rung_hub_tick(f->hub);
    }
}

/* What the log has, from its first event on, into the state that forgets nothing. */
static void read_log(fixture *f) {
    rung_segment_log *log;
    rung_log_cursor *cursor;
    rung_log_record record;
    size_t count;
    rung_err err = {0};
    rung_segment_log_config c = {.fs = rung_fs_posix(),
                                 .alloc = rung_alloc_heap(),
                                 .path = f->dir.dir,
                                 .segment_size = 1 << 20};
    rung_status st; /* a child that was at a snapshot may not have noticed yet */
    while ((st = rung_segment_log_open(&c, &log, &err)) == RUNG_EBUSY)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    CHECK_OK(st);
    CHECK_OK(rung_log_cursor_open(rung_segment_log_port(log), 1, &cursor, &err));
    while (rung_log_cursor_read(cursor, &record, 1, &count, &err) == RUNG_OK) {
        static rung_event e;
        const rung_event *one = &e;
        CHECK_OK(rung_event_decode(record.payload, &e, &err));
        remember(f, record.seq, 1, &one);
    }
    rung_log_cursor_close(cursor);
    CHECK_OK(rung_segment_log_close(log, NULL));
}

TEST(killed_at_any_moment) {
    fixture f;
    rung_rng r;
    uint64_t rounds = test_steps(16), seed = test_seed(21);
    rung_rng_seed(&r, seed);
    begin(&f);
    for (uint64_t i = 0; i < rounds; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            live(&f, seed + i);
            _exit(1);
        }
        usleep((useconds_t)(2000 + rung_rng_below(&r, i % 3 == 0 ? 20000 : 200000)));
        CHECK_EQ_I64(kill(pid, SIGKILL), 0);
        int status;
        CHECK_EQ_I64(waitpid(pid, &status, 0), pid);
        CHECK_MSG(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                  "round %llu: the process ended by itself", (unsigned long long)i);
    }
    forget_nothing(&f, &(history_taste){.start_ms = INT64_C(1794744000000)});
    read_log(&f);
    f.port.needed_from = keep_all;
    open_hub(&f);
    settle(&f);
    compare(&f);
    f.now_ms = rung_state_time(f.memory) > f.now_ms ? rung_state_time(f.memory) : f.now_ms;
    close_a_day(&f); /* however slow the children were */
    CHECK(compare(&f) > 0);
    close_hub(&f);
    end(&f);
}

/* ---- a disk that fails ---- */

TEST(an_archive_that_fails_for_a_while_makes_up_for_it) {
    fixture f;
    rung_rng r;
    uint64_t seed = test_seed(32); /* it closes windows */
    history_gen *g = history_gen_create(seed);
    rung_err err = {0};
    rung_rng_seed(&r, seed);
    failvfs_install();
    begin(&f);
    f.attach_config.vfs = "failvfs";
    forget_nothing(&f, history_gen_taste(g));
    open_hub(&f);
    play(&f, g, &r, 300);
    compare(&f);
    failvfs_fail_at(1, SQLITE_IOERR, true);
    play(&f, g, &r, 600); /* nobody notices */
    uint64_t seq = rung_state_seq(rung_hub_state(f.hub)), before = f.port.needed_from(&f);
    CHECK(rung_attach_stat(f.attach).cursor_seq < seq);
    CHECK(before <= seq);
    if (f.port.snapshot_before(&f) <= seq) /* a window waits */
        CHECK_STATUS(rung_hub_snapshot(f.hub, &err), RUNG_EBUSY);
    while (rung_attach_stat(f.attach).failures == 0) /* it has met the fault */
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    failvfs_fail_at(0, 0, false);
    CHECK(compare(&f) > 0);
    close_hub(&f);
    history_gen_destroy(g);
    end(&f);
}

/* ---- refusals ---- */

TEST(the_archive_of_another_log_is_refused) {
    fixture a, b;
    rung_err err = {0};
    rung_attach_config none = {.alloc = rung_alloc_heap()};
    history_taste taste = {.start_ms = INT64_C(1794744000000)};
    begin(&a);
    begin(&b);
    CHECK_STATUS(rung_attach_create(&none, &a.attach, &err), RUNG_EINVAL);
    forget_nothing(&a, &taste);
    forget_nothing(&b, &taste);
    open_hub(&a);
    rung_archive *reader;
    CHECK_OK(rung_attach_reader(a.attach, &reader, &err));
    close_hub(&a);
    b.attach_config.folder = NULL;
    b.attach_config.path = a.dir.path;
    CHECK_OK(rung_attach_create(&b.attach_config, &b.attach, &err));
    CHECK_STATUS(rung_hub_open(&b.config, &b.hub, &err), RUNG_ECONFLICT);
    CHECK_STATUS(rung_attach_reader(b.attach, &reader, &err), RUNG_NOT_FOUND);
    CHECK_EQ_U64(rung_attach_stat(b.attach).cursor_seq, 0);
    rung_attach_destroy(b.attach);
    end(&b);
    end(&a);
}

RUNG_TEST_MAIN
