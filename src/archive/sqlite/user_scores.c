/* SPDX-License-Identifier: Apache-2.0 */
/* A step collects what happens to each (board, player) in some blocks, sorts it, and writes the last of each. Commands
 * that take members off a board without naming them end what is known of the board: what was collected is written, and
 * the board's rows are deleted. */
#include "archive/sqlite/user_scores.h"

#include "archive/sqlite/sqlite_api.h"
#include "model/zcommand.h"

#include <stdlib.h>
#include <string.h>

#define COMMAND(kind) (UINT32_C(1) << RUNG_ZCOMMAND_##kind)
#define ENDS_BOARD                                                                                 \
    (COMMAND(ZPOP) | COMMAND(ZREMRANGE) | COMMAND(ZRANGESTORE) | COMMAND(ZSTORE) | COMMAND(DEL) |  \
     COMMAND(RENAME))

typedef struct entry {
    const char *name; /* board, then player; while collecting: the offset */
    uint8_t board_len, player_len;
    bool is_gone;
    uint64_t seq;
    uint32_t order; /* among all entries */
    int64_t at_ms;
    rung_archive_values score;
} entry;

typedef struct fold {
    sqlite3 *db;
    rung_event_store *events;
    const rung_alloc *alloc;
    entry *entries;
    uint32_t count, room;
    rung_buffer names;
    sqlite3_stmt *put, *drop, *drop_board;
} fold;

static rung_slice board_of(const entry *e) {
    return rung_slice_of(e->name, e->board_len);
}

static rung_slice player_of(const entry *e) {
    return rung_slice_of(e->name + e->board_len, e->player_len);
}

static int compare_texts(rung_slice a, rung_slice b) {
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static bool is_same(const entry *a, const entry *b) {
    return rung_slice_eq(board_of(a), board_of(b)) && rung_slice_eq(player_of(a), player_of(b));
}

static int compare_entries(const void *x, const void *y) {
    const entry *a = x, *b = y;
    int order = compare_texts(board_of(a), board_of(b));
    if (!order)
        order = compare_texts(player_of(a), player_of(b));
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

/* ---- writing ---- */

static int run(sqlite3_stmt *stmt) {
    int rc = sqlite3_step(stmt);
    sqlite3_reset(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static void bind_text(sqlite3_stmt *stmt, int i, rung_slice text) {
    sqlite3_bind_text64(stmt, i, text.ptr, text.len, SQLITE_STATIC, SQLITE_UTF8);
}

static void bind_value(sqlite3_stmt *stmt, int i, const rung_archive_values *v, uint32_t k) {
    if (k >= v->count)
        sqlite3_bind_null(stmt, i);
    else if (v->types[k] == RUNG_SCORE_REAL)
        sqlite3_bind_double(stmt, i, v->values[k].d);
    else
        sqlite3_bind_int64(stmt, i, v->values[k].i);
}

static int write_entry(fold *f, const entry *e) {
    sqlite3_stmt *stmt = e->is_gone ? f->drop : f->put;
    bind_text(stmt, 1, board_of(e));
    bind_text(stmt, 2, player_of(e));
    if (!e->is_gone) {
        for (int k = 0; k < RUNG_COLUMNS_MAX; k++)
            bind_value(stmt, 3 + k, &e->score, (uint32_t)k);
        sqlite3_bind_int64(stmt, 6, rung_score_format_of(&e->score));
        sqlite3_bind_int64(stmt, 7, e->at_ms);
        sqlite3_bind_int64(stmt, 8, (int64_t)e->seq);
    }
    return run(stmt);
}

/* Write what was collected. */
static int write_all(fold *f) {
    int rc = SQLITE_OK;
    for (uint32_t i = 0; i < f->count; i++)
        f->entries[i].name = f->names.data + (uintptr_t)f->entries[i].name;
    if (f->count)
        qsort(f->entries, f->count, sizeof *f->entries, compare_entries);
    for (uint32_t i = 0; rc == SQLITE_OK && i < f->count; i++)
        if (i + 1 == f->count || !is_same(&f->entries[i], &f->entries[i + 1]))
            rc = write_entry(f, &f->entries[i]);
    f->count = 0;
    f->names.len = 0;
    return rc;
}

/* ---- collecting ---- */

static int end_board(fold *f, rung_slice board) {
    int rc = write_all(f);
    if (rc != SQLITE_OK)
        return rc;
    bind_text(f->drop_board, 1, board);
    return run(f->drop_board);
}

static int end_all(fold *f) {
    f->count = 0;
    f->names.len = 0;
    return sqlite3_exec(f->db, "DELETE FROM user_scores", NULL, NULL, NULL);
}

static int collect(fold *f, const rung_archive_score *s, bool is_gone) {
    entry *entries = rung_alloc_array(f->alloc, f->entries, &f->room, f->count, sizeof *f->entries);
    if (!entries)
        return SQLITE_NOMEM;
    f->entries = entries;
    entries[f->count] = (entry){.name = (const char *)(uintptr_t)f->names.len,
                                .board_len = (uint8_t)s->board.len,
                                .player_len = (uint8_t)s->player.len,
                                .is_gone = is_gone,
                                .seq = s->seq,
                                .order = f->count,
                                .at_ms = s->at_ms,
                                .score = s->result};
    f->count++;
    rung_buffer_put(&f->names, s->board.ptr, s->board.len);
    rung_buffer_put(&f->names, s->player.ptr, s->player.len);
    return f->names.is_failed ? SQLITE_NOMEM : SQLITE_OK;
}

static int take(fold *f, const rung_archive_score *s) {
    bool is_done = s->status == RUNG_OK || s->status == RUNG_STATUS_UNKNOWN;
    if (s->command == RUNG_ZCOMMAND_FLUSH && is_done)
        return end_all(f);
    if (s->command == RUNG_ARCHIVE_SWAPPED)
        return is_done ? end_board(f, s->board) : SQLITE_OK;
    if (s->command && s->command < RUNG_ARCHIVE_MATCH)
        return is_done && ENDS_BOARD >> s->command & 1 ? end_board(f, s->board) : SQLITE_OK;
    if (s->has_result)
        return collect(f, s, false);
    return is_done ? collect(f, s, true) : SQLITE_OK; /* removed, or the score is not known */
}

static int take_block(fold *f, uint32_t block, uint64_t after_seq, uint64_t *seq) {
    rung_event_filter all = RUNG_EVENT_FILTER_ALL;
    rung_archive_score s;
    all.from_seq = after_seq + 1;
    int rc = rung_event_store_open(f->events, block);
    while (rc == SQLITE_OK && (rc = rung_event_store_next(f->events, &all, &s)) == SQLITE_ROW) {
        *seq = s.seq;
        rc = take(f, &s);
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- a step ---- */

static int prepare(fold *f) {
    int rc = sqlite3_prepare_v2(
        f->db, "INSERT OR REPLACE INTO user_scores VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", -1,
        &f->put, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(f->db, "DELETE FROM user_scores WHERE board = ?1 AND player = ?2",
                                -1, &f->drop, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(f->db, "DELETE FROM user_scores WHERE board = ?1", -1,
                                &f->drop_board, NULL);
    return rc;
}

/* A number from the one row of event_store, or set it. */
static int position(sqlite3 *db, const char *sql, int64_t *seq) {
    sqlite3_stmt *stmt;
    int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (rc != SQLITE_OK)
        return rc;
    if (sqlite3_bind_parameter_count(stmt))
        sqlite3_bind_int64(stmt, 1, *seq);
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *seq = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int fold_blocks(fold *f, int64_t after, bool *more_out) {
    rung_event_filter rest = RUNG_EVENT_FILTER_ALL;
    rung_event_span *spans;
    uint32_t count, first = 0;
    uint64_t seq = (uint64_t)after;
    rest.from_seq = seq + 1;
    int rc = rung_event_store_find(f->events, &rest, &spans, &count);
    uint32_t last = count < RUNG_USER_SCORES_BLOCKS ? count : RUNG_USER_SCORES_BLOCKS;
    for (; rc == SQLITE_OK && first < last; first++)
        rc = take_block(f, spans[first].block, (uint64_t)after, &seq);
    if (rc == SQLITE_OK)
        rc = write_all(f);
    int64_t done = (int64_t)seq;
    if (count > last && done - 1 > after) /* the next block may have more of this event */
        done--;
    if (rc == SQLITE_OK && done > after)
        rc = position(f->db, "UPDATE event_store SET scores_seq = ?1", &done);
    *more_out = count > last;
    return rc;
}

int rung_user_scores_step(sqlite3 *db, rung_event_store *events, const rung_alloc *alloc,
                          bool *more_out) {
    fold f = {.db = db, .events = events, .alloc = alloc, .names = {.alloc = alloc}};
    int64_t after = 0;
    *more_out = false;
    int rc = position(db, "SELECT scores_seq FROM event_store", &after);
    if (rc == SQLITE_OK)
        rc = prepare(&f);
    if (rc == SQLITE_OK)
        rc = fold_blocks(&f, after, more_out);
    sqlite3_finalize(f.put);
    sqlite3_finalize(f.drop);
    sqlite3_finalize(f.drop_board);
    rung_buffer_deinit(&f.names);
    if (f.entries)
        rung_alloc_free(alloc, f.entries, f.room * sizeof *f.entries);
    return rc;
}
