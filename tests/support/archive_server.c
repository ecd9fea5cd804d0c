/* SPDX-License-Identifier: Apache-2.0 */
#include "support/archive_server.h"

#include "archive/sqlite/event_table.h"
#include "archive/sqlite/sqlite_archive.h"
#include "support/check.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void on_close(void *ctx, rung_slice board, const rung_view *view) {
    archive_server *s = ctx;
    if (!s->is_mute)
        rung_follower_close_window(s->follower, board, view);
}

static void apply(archive_server *s, const rung_event *e) {
    if (s->is_mute) {
        rung_ignore(rung_state_apply(s->state, e, NULL, NULL), "as before");
        return;
    }
    rung_sampler_before(s->sampler, s->state, s->follower, e->ts_ms);
    rung_outcome outcome;
    rung_status st = rung_state_apply(s->state, e, &outcome, NULL);
    if (st >= 0)
        rung_sampler_note(s->sampler, e);
    rung_follower_applied(s->follower, rung_state_seq(s->state), 1, &st, &outcome);
}

static uint64_t read_snapshot(const archive_server *s) {
    unsigned long long seq = 0;
    FILE *f = s->snapshot_path ? fopen(s->snapshot_path, "r") : NULL;
    if (f) {
        CHECK_EQ_I64(fscanf(f, "%llu", &seq), 1);
        fclose(f);
    }
    return seq;
}

void archive_server_snapshot(archive_server *s) {
    char path[200];
    uint64_t seq = archive_server_seq(s), oldest = rung_follower_pinned(s->follower).oldest_seq;
    if (oldest && oldest <= seq)
        return;
    snprintf(path, sizeof path, "%s.new", s->snapshot_path);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    fprintf(f, "%llu\n", (unsigned long long)seq);
    CHECK_EQ_I64(fclose(f), 0);
    CHECK_EQ_I64(rename(path, s->snapshot_path), 0);
}

static void replay(archive_server *s) {
    uint64_t snapshot = read_snapshot(s);
    rung_log_cursor *c;
    rung_log_record r;
    size_t count;
    rung_status st;
    rung_err err = {0};
    CHECK_OK(rung_log_cursor_open(rung_segment_log_port(s->log), 1, &c, &err));
    while ((st = rung_log_cursor_read(c, &r, 1, &count, &err)) == RUNG_OK) {
        static rung_event e;
        CHECK_OK(rung_event_decode(r.payload, &e, &err));
        s->is_mute = r.seq <= snapshot;
        if (r.seq == snapshot + 1)
            rung_follower_resume(s->follower, snapshot);
        apply(s, &e);
        CHECK_EQ_U64(rung_state_seq(s->state), r.seq);
    }
    CHECK_STATUS(st, RUNG_NOT_FOUND);
    rung_log_cursor_close(c);
    if (s->is_mute)
        rung_follower_resume(s->follower, snapshot);
    s->is_mute = false;
}

/* The events are the same in every folder: so are the logs, though one may be further. */
static void pretend_shared(archive_server *s) {
    rung_log *log = rung_segment_log_port(s->log);
    s->shared_ops = *log->ops;
    s->shared_ops.is_shared = true;
    log->ops = &s->shared_ops;
}

void archive_server_open(archive_server *s, const archive_server_config *config) {
    rung_err err = {0};
    memset(s, 0, sizeof *s);
    s->snapshot_path = config->snapshot_path;
    rung_segment_log_config log = {.fs = config->fs,
                                   .alloc = rung_alloc_heap(),
                                   .path = config->log_path,
                                   .segment_size = 1 << 16};
    rung_status st = rung_segment_log_open(&log, &s->log, &err);
    CHECK_MSG(st == RUNG_OK, "log: %s", err.message);
    rung_sqlite_archive_config file = {
        .path = config->archive_path, .alloc = rung_alloc_heap(), .vfs = config->vfs};
    st = config->maker ? config->maker->open(config->maker->ctx, &s->archive, &err)
                       : rung_sqlite_archive_open(&file, &s->archive, &err);
    CHECK_MSG(st == RUNG_OK, "archive: %s", err.message);
    if (config->is_shared)
        pretend_shared(s);
    rung_follower_config f = config->follower;
    f.archive = s->archive;
    f.log = rung_segment_log_port(s->log);
    f.alloc = rung_alloc_heap();
    st = rung_follower_create(&f, &s->follower, &err);
    CHECK_MSG(st == RUNG_OK, "follower: %s", err.message);
    CHECK_OK(rung_sampler_create(rung_alloc_heap(), &(rung_hash_key){1, 2}, 0, &s->sampler));
    CHECK_OK(rung_state_create(
        &(rung_state_config){.alloc = rung_alloc_heap(), .on_close = on_close, .on_close_ctx = s},
        &s->state));
    replay(s);
    CHECK_OK(rung_segment_log_start(s->log, &err));
}

void archive_server_step(archive_server *s, uint32_t count) {
    enum { MAX = 64, BYTES = 512 };
    static uint8_t bytes[MAX][BYTES];
    rung_log_entry entries[MAX];
    uint64_t first, durable, next = archive_server_seq(s) + 1;
    rung_err err = {0};
    CHECK(count <= MAX);
    for (uint32_t i = 0; i < count; i++) {
        size_t len;
        CHECK_OK(rung_event_encode(archive_load_event(&s->load, next + i), bytes[i], BYTES, &len));
        entries[i] = (rung_log_entry){.payload = rung_slice_of(bytes[i], len), .type = 1};
    }
    CHECK_OK(rung_segment_log_append(s->log, entries, count, &first, &err));
    CHECK_EQ_U64(first, next);
    CHECK_OK(rung_segment_log_sync(s->log, &durable, &err));
    for (uint32_t i = 0; i < count; i++)
        apply(s, archive_load_event(&s->load, next + i));
}

uint64_t archive_server_seq(const archive_server *s) {
    return rung_state_seq(s->state);
}

void archive_server_close(archive_server *s) {
    rung_follower_destroy(s->follower);
    rung_sampler_destroy(s->sampler);
    rung_archive_close(s->archive);
    CHECK_OK(rung_segment_log_close(s->log, NULL));
    rung_state_destroy(s->state);
}

/* ---- verifying ---- */

/* A row of `query` in one of the two databases and not in the other. */
static void same_rows(sqlite3 *db, const char *table, const char *columns) {
    char text[800];
    sqlite3_stmt *stmt;
    snprintf(
        text, sizeof text,
        "SELECT (SELECT count(*) FROM %3$s.%1$s), (SELECT count(*) FROM want.%1$s),"
        " (SELECT count(*) FROM (SELECT %2$s FROM %3$s.%1$s EXCEPT SELECT %2$s FROM want.%1$s)),"
        " (SELECT count(*) FROM (SELECT %2$s FROM want.%1$s EXCEPT SELECT %2$s FROM %3$s.%1$s))",
        table, columns, strcmp(table, "unpacked") == 0 ? "temp" : "main");
    CHECK_MSG(sqlite3_prepare_v2(db, text, -1, &stmt, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    CHECK_EQ_I64(sqlite3_step(stmt), SQLITE_ROW);
    CHECK_MSG(sqlite3_column_int64(stmt, 0) == sqlite3_column_int64(stmt, 1) &&
                  sqlite3_column_int64(stmt, 2) == 0 && sqlite3_column_int64(stmt, 3) == 0,
              "%s: %lld rows, not %lld; %lld too many, %lld missing", table,
              sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
              sqlite3_column_int64(stmt, 2), sqlite3_column_int64(stmt, 3));
    sqlite3_finalize(stmt);
}

/* The archive as it must be, by the plain functions of the port. */
void archive_server_write_reference(rung_archive *a, uint64_t last) {
    static archive_kit k;
    static archive_load load;
    archive_kit_init(&k, a);
    for (uint64_t seq = 1; seq <= last; seq++)
        rung_ignore(archive_kit_apply(&k, archive_load_event(&load, seq)),
                    "refusals are archived too");
    archive_kit_deinit(&k);
}

static void write_reference(const char *path, uint64_t last) {
    rung_archive *a;
    rung_err err = {0};
    rung_sqlite_archive_config config = {.path = path, .alloc = rung_alloc_heap()};
    CHECK_OK(rung_sqlite_archive_open(&config, &a, &err));
    archive_server_write_reference(a, last);
    rung_archive_close(a);
}

/* The packed events as a plain table of the database `where`. */
static void unpack_events(sqlite3 *db, const char *where) {
    char text[200];
    CHECK_EQ_I64(rung_event_table_register(db), SQLITE_OK);
    snprintf(text, sizeof text, "CREATE TABLE %s.unpacked AS SELECT * FROM score_events", where);
    CHECK_MSG(sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
}

void archive_server_verify(const char *archive_path, const char *dir, uint64_t last,
                           bool with_statuses) {
    char reference[128], text[200];
    sqlite3 *db;
    snprintf(reference, sizeof reference, "%s/reference.db", dir);
    unlink(reference);
    write_reference(reference, last);
    CHECK_EQ_I64(sqlite3_open(reference, &db), SQLITE_OK);
    unpack_events(db, "main");
    sqlite3_close(db);
    CHECK_EQ_I64(sqlite3_open(archive_path, &db), SQLITE_OK);
    unpack_events(db, "temp");
    snprintf(text, sizeof text, "ATTACH '%s' AS want", reference);
    CHECK_EQ_I64(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    same_rows(db, "source", "*");
    same_rows(db, "unpacked",
              with_statuses ? "*" : "seq, board, player, kind, score, at_ms, ts_ms, id");
    same_rows(db, "audit", with_statuses ? "*" : "entry, seq, ts_ms, kind, board, player, details");
    same_rows(db, "closed_windows", "*");
    same_rows(db, "standings", "*");
    same_rows(db, "scopes", "*");
    same_rows(db, "scope_standings", "*");
    same_rows(db, "players", "*");
    sqlite3_close(db);
}
