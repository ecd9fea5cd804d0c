/* SPDX-License-Identifier: Apache-2.0 */
/* The N-th call that SQLite makes to the disk fails, for every N: once, and from then on; as an I/O error and as a
 * full disk. Whatever happens, a failed batch may be tried again, a reopened archive knows how far it came, and in
 * the end everything is there exactly once. Then the same for the N-th allocation of ours, and for the follower. */
/* ctest: timeout=180 labels=slow */
#include "archive/sqlite/sqlite_archive.h"
#include "support/archive_dir.h"
#include "support/archive_server.h"
#include "support/check.h"
#include "support/failalloc.h"
#include "support/failvfs.h"
#include "support/memfs.h"

#include <sqlite3.h>

enum { EVENTS = 110, BATCH = 22 }; /* two hours close */

typedef struct world {
    archive_dir dir;
    rung_sqlite_archive_config config;
    rung_archive *archive; /* NULL: not open */
    archive_kit kit;       /* the state, and packed windows by the event that closed them */
    rung_buffer packed[EVENTS + 1];
    uint64_t cursor;
} world;

static void on_close(void *ctx, rung_slice board, const rung_view *view) {
    world *w = ctx;
    uint64_t seq = rung_state_seq(view->state);
    if (!w->packed[seq].data) /* one window an event in this load */
        CHECK_OK(rung_closed_window_pack(rung_alloc_heap(), board, view, &w->packed[seq]));
    else
        CHECK(false);
}

/* What the follower would be handed, once for all runs. */
static rung_archive_effect effects[EVENTS + 1];

static void prepare(world *w) {
    rung_state *s;
    archive_load load;
    CHECK_OK(rung_state_create(
        &(rung_state_config){.alloc = rung_alloc_heap(), .on_close = on_close, .on_close_ctx = w},
        &s));
    for (uint64_t seq = 1; seq <= EVENTS; seq++) {
        rung_outcome outcome;
        rung_status st = rung_state_apply(s, archive_load_event(&load, seq), &outcome, NULL);
        effects[seq] = archive_effect_of(st, &outcome);
    }
    rung_state_destroy(s);
}

static rung_status open_again(world *w, rung_err *err) {
    rung_archive_close(w->archive);
    w->archive = NULL;
    rung_status st = rung_sqlite_archive_open(&w->config, &w->archive, err);
    if (st == RUNG_OK)
        st = rung_archive_cursor(w->archive, &w->cursor, NULL, err);
    return st;
}

static rung_status one_batch(world *w, rung_err *err) {
    archive_load load;
    rung_archive *a = w->archive;
    uint64_t last = w->cursor + BATCH < EVENTS ? w->cursor + BATCH : EVENTS;
    rung_status st = rung_archive_begin(a, err);
    for (uint64_t seq = w->cursor + 1; st >= 0 && seq <= last; seq++) {
        const rung_event *e = archive_load_event(&load, seq);
        st = rung_archive_add_event(a, seq, e, e->ts_ms, &effects[seq], err);
        if (st >= 0 && w->packed[seq].data)
            st = rung_archive_add_packed(a, rung_slice_of(w->packed[seq].data, w->packed[seq].len),
                                         err);
    }
    if (st >= 0)
        st = rung_archive_commit(a, last, ARCHIVE_LOAD_T0 + (int64_t)last * 72000, err);
    if (st < 0)
        rung_archive_rollback(a);
    else
        w->cursor = last;
    return st;
}

/* Ask something, so that reading is swept too. */
static rung_status ask(world *w, rung_err *err) {
    rung_archive_view v;
    rung_row rows[50];
    uint32_t count, self;
    rung_archive_query q = {.board = RUNG_SLICE("load"),
                            .kind = RUNG_WINDOW_HOUR,
                            .window_id = RUNG_SLICE("2025-11-15T00")};
    rung_status st = rung_archive_reading.open(w->archive, &q, &v, err);
    if (st == RUNG_OK) {
        st = rung_archive_reading.top(&v, 0, 50, rows, &count, err);
        if (st == RUNG_OK)
            st = rung_archive_reading.around(&v, rows[count / 2].id, 2, rows, &count, &self, err);
        if (st == RUNG_OK)
            CHECK_EQ_U64(count, 5);
        rung_archive_reading.close(&v);
    }
    return st;
}

/* Everything, with failures on the way; `patience` failures are answered by trying again, on the same archive and
 * on a fresh one in turn. Returns the last failure when patience ended. */
static rung_status live(world *w, int patience) {
    rung_err err = {0};
    rung_status st = open_again(w, &err);
    for (int failures = 0;;) {
        while (st >= 0 && w->cursor < EVENTS)
            st = one_batch(w, &err);
        if (st >= 0)
            st = ask(w, &err);
        if (st == RUNG_OK)
            return st;
        CHECK(st < 0 && err.message[0]);
        if (++failures > patience)
            return st;
        if (!w->archive || failures % 2)
            st = open_again(w, &err);
        else
            st = rung_archive_cursor(w->archive, &w->cursor, NULL, &err);
    }
}

static void sweep(int code, bool sticky) {
    static world w;
    uint64_t n = 1;
    failvfs_install();
    memset(&w, 0, sizeof w);
    archive_dir_init(&w.dir);
    w.config = (rung_sqlite_archive_config){
        .path = w.dir.path, .alloc = rung_alloc_heap(), .vfs = "failvfs"};
    prepare(&w);
    for (bool reached = true; reached; n += 1 + n / 200) {
        failvfs_fail_at(n, code, sticky);
        rung_status st = live(&w, 3);
        reached = failvfs_failed() > 0;
        CHECK_MSG(sticky || st == RUNG_OK, "call %llu failing once is not overcome: %s",
                  (unsigned long long)n, rung_status_name(st));
        failvfs_fail_at(0, 0, false);
        st = live(&w, 0); /* the disk is well again */
        CHECK_MSG(st == RUNG_OK, "call %llu: %s", (unsigned long long)n, rung_status_name(st));
        rung_archive_close(w.archive);
        w.archive = NULL;
        if (n % 8 == 1 || !reached)
            archive_server_verify(w.dir.path, w.dir.dir, EVENTS, true);
        archive_dir_wipe(&w.dir);
    }
    CHECK(n > 100);
    for (int i = 0; i <= EVENTS; i++)
        rung_buffer_deinit(&w.packed[i]);
    archive_dir_deinit(&w.dir);
}

TEST(io_error_once) {
    sweep(SQLITE_IOERR, false);
}

TEST(io_error_for_long) {
    sweep(SQLITE_IOERR, true);
}

TEST(full_disk_once) {
    sweep(SQLITE_FULL, false);
}

TEST(full_disk_for_long) {
    sweep(SQLITE_FULL, true);
}

/* Our own memory: the archive's answers and JSON. */
TEST(no_memory) {
    static world w;
    rung_failalloc fa;
    memset(&w, 0, sizeof w);
    archive_dir_init(&w.dir);
    prepare(&w);
    failvfs_install();
    for (uint64_t n = 1;; n++) {
        rung_failalloc_init(&fa);
        rung_failalloc_fail_at(&fa, n, false);
        w.config = (rung_sqlite_archive_config){
            .path = w.dir.path, .alloc = rung_failalloc_port(&fa), .vfs = "failvfs"};
        CHECK_OK(live(&w, 2));
        rung_archive_close(w.archive);
        w.archive = NULL;
        bool reached = fa.failed_count > 0;
        rung_failalloc_deinit(&fa);
        if (n % 8 == 1 || !reached)
            archive_server_verify(w.dir.path, w.dir.dir, EVENTS, true);
        archive_dir_wipe(&w.dir);
        if (!reached)
            break;
    }
    /* And the memory of packing. */
    for (int i = 0; i <= EVENTS; i++)
        rung_buffer_deinit(&w.packed[i]);
    archive_dir_deinit(&w.dir);
}

typedef struct packing {
    const rung_alloc *alloc;
    rung_status status;
} packing;

static void pack_on_close(void *ctx, rung_slice board, const rung_view *view) {
    packing *p = ctx;
    rung_buffer out;
    p->status = rung_closed_window_pack(p->alloc, board, view, &out);
    if (p->status == RUNG_OK)
        rung_buffer_deinit(&out);
}

TEST(no_memory_to_pack) {
    rung_failalloc fa;
    for (uint64_t n = 1;; n++) {
        rung_state *s;
        archive_load load;
        rung_failalloc_init(&fa);
        rung_failalloc_fail_at(&fa, n, false);
        packing p = {.alloc = rung_failalloc_port(&fa)};
        CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap(),
                                                        .on_close = pack_on_close,
                                                        .on_close_ctx = &p},
                                   &s));
        for (uint64_t seq = 1; seq <= 50; seq++)
            rung_ignore(rung_state_apply(s, archive_load_event(&load, seq), NULL, NULL), "fine");
        rung_state_destroy(s);
        bool reached = fa.failed_count > 0;
        CHECK_STATUS(p.status, reached ? RUNG_ENOMEM : RUNG_OK);
        rung_failalloc_deinit(&fa);
        if (!reached)
            break;
    }
}

/* The follower over a disk that fails now and then: it retries by itself. */
TEST(follower_retries) {
    static archive_server s;
    archive_dir dir;
    rung_memfs fs;
    failvfs_install();
    for (uint64_t n = 60; n < 260; n += 9) {
        archive_dir_init(&dir);
        rung_memfs_init(&fs);
        failvfs_fail_at(0, 0, false);
        archive_server_open(
            &s, &(archive_server_config){
                    .fs = &fs.port,
                    .log_path = "data",
                    .archive_path = dir.path,
                    .vfs = "failvfs",
                    .follower = {.retry_ms_min = 1, .retry_ms_max = 2, .batch_events = 16}});
        failvfs_fail_at(n - 59, n % 2 ? SQLITE_IOERR : SQLITE_FULL, false);
        for (int i = 0; i < 4; i++)
            archive_server_step(&s, 40);
        CHECK_OK(rung_follower_wait(s.follower, 160, 20000));
        rung_follower_stats stats = rung_follower_stat(s.follower);
        CHECK_EQ_I64(stats.status, RUNG_OK);
        archive_server_close(&s);
        archive_server_verify(dir.path, dir.dir, 160, true);
        rung_memfs_deinit(&fs);
        archive_dir_deinit(&dir);
    }
}

RUNG_TEST_MAIN
