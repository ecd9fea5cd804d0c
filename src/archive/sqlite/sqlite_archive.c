/* SPDX-License-Identifier: Apache-2.0 */
/* One connection, one table of statements, one function that turns SQLite's failures into ours.
 *
 * Invariants:
 *   Q1  Between calls no statement is in the middle of its rows: every one is reset where it was used.
 *   Q2  A batch is one BEGIN IMMEDIATE transaction. After any failure in it nothing of it is kept: commit is refused
 *       until rollback was called.
 *   Q3  The cursor only moves forward, in the transaction that holds what it covers.
 *
 * A number is bound as what it is, so that integers stay exact and doubles keep their bits; columns for scores have
 * no type of their own. score_format tells what they are: byte i (from the lowest) has the type of value i in bits
 * 0 to 3 and its decimals in bits 4 to 7; byte 3 has the number of values. */
#include "archive/sqlite/sqlite_archive.h"

#include "archive/sqlite/schema.h"
#include "base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_TIMEOUT_MS_DEFAULT 5000

enum { SUM_BYTES = 16 };

/* ---- statements ----
 * INDEXED BY where the planner, who takes every window for a small one, would read all of its rows. */

#define STANDING_COLUMNS                                                                           \
    "s.place, s.sparse_rank, s.dense_rank, s.player_number, s.player, s.score, s.column1, "        \
    "s.column2, s.at_ms,"                                                                          \
    " w.score_format"
#define WINDOW_COLUMNS                                                                             \
    "window, board, kind, window_id, start_ms, end_ms, closed_seq, closed_ms, entries, "           \
    "distinct_scores, rank_style,"                                                                 \
    " definition, has_scopes FROM closed_windows WHERE board_deleted_seq IS NULL AND board = ?1"
#define SCOPE_COLUMNS                                                                              \
    "t.scope_place, t.sparse_rank, t.dense_rank, s.player_number, s.player, s.score, s.column1, "  \
    "s.column2, s.at_ms,"                                                                          \
    " w.score_format"
/* The scopes of the hidden standings of window ?1. */
#define HIDDEN_IN_SCOPES                                                                           \
    " FROM standings h INDEXED BY standings_hidden CROSS JOIN scope_standings t INDEXED BY "       \
    "scope_standings_by_place"                                                                     \
    " ON t.window = h.window AND t.place = h.place WHERE h.window = ?1 AND h.hidden <> 0"
#define SCORE_COLUMNS                                                                              \
    "SELECT seq, board, player, kind, score, column1, column2, score_format, at_ms, at_given, "    \
    "ts_ms, id, meta, status"                                                                      \
    " FROM score_events WHERE "
#define SCORE_RANGE                                                                                \
    " AND at_ms >= ?3 AND at_ms < ?4 AND (at_ms, seq) > (?5, ?6) ORDER BY at_ms, seq LIMIT ?7"
#define SCORE_RANGE_BACK                                                                           \
    " AND at_ms >= ?3 AND at_ms < ?4 AND (at_ms, seq) < (?5, ?6) ORDER BY at_ms DESC, seq DESC "   \
    "LIMIT ?7"
#define PLAYERS_STANDINGS                                                                          \
    " WHERE player = ?2 AND NOT erased AND EXISTS (SELECT 1 FROM closed_windows w WHERE w.window " \
    "= standings.window"                                                                           \
    " AND (?1 IS NULL OR w.board = ?1) AND w.board_deleted_seq IS NULL)"

#define STATEMENTS(X)                                                                              \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                    \
    X(BEGIN_READ, "BEGIN")                                                                         \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")                                                                        \
    X(GET_CURSOR, "SELECT cursor, log_time_ms FROM source")                                        \
    X(SET_CURSOR, "UPDATE source SET cursor = ?1, log_time_ms = ?2 WHERE cursor <= ?1")            \
    X(ADD_SCORE, "INSERT INTO score_events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, " \
                 "?12, ?13, ?14)")                                                                 \
    X(ADD_AUDIT, "INSERT INTO audit (seq, ts_ms, kind, board, player, details, status)"            \
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                           \
    X(PUT_PLAYER, "INSERT INTO players VALUES (?1, ?2, ?3, ?4) ON CONFLICT (player) DO UPDATE SET" \
                  " profile = excluded.profile, changed_seq = excluded.changed_seq, changed_ms = " \
                  "excluded.changed_ms")                                                           \
    X(ADD_WINDOW, "INSERT INTO closed_windows (board, kind, window_id, start_ms, end_ms, "         \
                  "closed_seq, closed_ms,"                                                         \
                  " entries, distinct_scores, rank_style, score_format, definition, has_scopes)"   \
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 1)")                \
    X(ADD_STANDING,                                                                                \
      "INSERT INTO standings (window, place, sparse_rank, dense_rank, player, player_number, "     \
      "score,"                                                                                     \
      " column1, column2, at_ms, hidden) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")   \
    X(LAST_SCOPE, "SELECT ifnull(max(scope), 0) FROM scopes")                                      \
    X(ADD_SCOPE, "INSERT INTO scopes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                         \
    X(ADD_SCOPE_STANDING, "INSERT INTO scope_standings VALUES (?1, ?2, ?3, ?4, ?5, ?6)")           \
    X(ADD_SAMPLE, "INSERT OR REPLACE INTO samples"                                                 \
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)")         \
    X(HIDE, "UPDATE standings INDEXED BY standings_by_player SET hidden = hidden | "               \
            "?3" PLAYERS_STANDINGS)                                                                \
    X(SHOW, "UPDATE standings INDEXED BY standings_by_player SET hidden = hidden & "               \
            "~?3" PLAYERS_STANDINGS)                                                               \
    X(DROP_SAMPLES, "DELETE FROM samples WHERE board = ?1 AND (?2 IS NULL OR player = ?2)")        \
    X(ERASE_STANDINGS,                                                                             \
      "UPDATE standings INDEXED BY standings_by_player SET player = 'erased-' || place,"           \
      " player_number = 0, erased = 1, hidden = hidden | 2 WHERE player = ?1 AND NOT erased")      \
    X(ERASE_SCOPES,                                                                                \
      "UPDATE scopes SET value = NULL WHERE scope IN ("                                            \
      "SELECT t.scope FROM standings s INDEXED BY standings_by_player"                             \
      " CROSS JOIN scope_standings t INDEXED BY scope_standings_by_place"                          \
      " ON t.window = s.window AND t.place = s.place WHERE s.player = ?1 AND NOT s.erased"         \
      " AND NOT EXISTS (SELECT 1 FROM scope_standings o CROSS JOIN standings p"                    \
      " ON p.window = o.window AND p.place = o.place"                                              \
      " WHERE o.scope = t.scope AND p.player <> ?1 AND NOT p.erased))")                            \
    X(ERASE_SCORES, "DELETE FROM score_events WHERE player = ?1")                                  \
    X(ERASE_SAMPLES, "DELETE FROM samples WHERE player = ?1")                                      \
    X(ERASE_PLAYER, "DELETE FROM players WHERE player = ?1")                                       \
    X(ERASE_AUDIT, "UPDATE audit SET player = NULL, details = NULL WHERE player = ?1")             \
    X(RETIRE_BOARD, "UPDATE closed_windows SET board_deleted_seq = ?2 WHERE board = ?1 AND "       \
                    "board_deleted_seq IS NULL")                                                   \
    X(RETIRE_ALL,                                                                                  \
      "UPDATE closed_windows SET board_deleted_seq = ?1 WHERE board_deleted_seq IS NULL")          \
    X(DROP_ALL_SAMPLES, "DELETE FROM samples")                                                     \
    X(FIND_WINDOW, "SELECT " WINDOW_COLUMNS                                                        \
                   " AND kind = ?2 AND window_id = ?3 ORDER BY closed_seq DESC LIMIT 1")           \
    X(WINDOWS, "SELECT " WINDOW_COLUMNS " AND (?2 IS NULL OR kind = ?2) AND end_ms < ?3"           \
               " ORDER BY end_ms DESC, kind, window_id, closed_seq DESC LIMIT ?4")                 \
    X(FIND_SCOPE, "SELECT scope, entries, distinct_scores FROM scopes"                             \
                  " WHERE window = ?1 AND attribute = ?2 AND value = ?3")                          \
    X(SCOPES,                                                                                      \
      "SELECT c.scope, c.value, c.entries, c.distinct_scores, c.team_sum, ifnull(x.hidden, 0)"     \
      " FROM scopes c LEFT JOIN (SELECT t.scope AS scope, count(*) AS hidden" HIDDEN_IN_SCOPES     \
      " GROUP BY t.scope) x USING (scope)"                                                         \
      " WHERE c.window = ?1 AND c.attribute = ?2 AND c.value IS NOT NULL")                         \
    X(COUNT_SCOPES,                                                                                \
      "SELECT count(*) FROM scopes WHERE window = ?1 AND attribute = ?2 AND value IS NOT NULL")    \
    X(COUNT_SCOPE_HIDDEN, "SELECT count(*)" HIDDEN_IN_SCOPES " AND t.scope = ?2")                  \
    X(SCOPE_HIDDEN, "SELECT t.scope_place, t.sparse_rank, t.dense_rank" HIDDEN_IN_SCOPES           \
                    " AND t.scope = ?2 ORDER BY h.place")                                          \
    X(SCOPE_ROWS,                                                                                  \
      "SELECT " SCOPE_COLUMNS " FROM scope_standings t CROSS JOIN standings s"                     \
      " ON s.window = t.window AND s.place = t.place JOIN closed_windows w ON w.window = t.window" \
      " WHERE t.scope = ?4 AND t.window = ?1 AND t.scope_place >= ?2 AND s.hidden = 0"             \
      " ORDER BY t.scope_place LIMIT ?3")                                                          \
    X(SCOPE_ROW_OF,                                                                                \
      "SELECT " SCOPE_COLUMNS " FROM standings s INDEXED BY standings_by_player"                   \
      " CROSS JOIN scope_standings t INDEXED BY scope_standings_by_place"                          \
      " ON t.window = s.window AND t.place = s.place JOIN closed_windows w ON w.window = s.window" \
      " WHERE s.window = ?1 AND s.player = ?2 AND s.hidden = 0 AND NOT s.erased AND t.scope = ?3") \
    X(COUNT_HIDDEN, "SELECT count(*) FROM standings INDEXED BY standings_hidden WHERE window = "   \
                    "?1 AND hidden <> 0")                                                          \
    X(HIDDEN, "SELECT place, sparse_rank, dense_rank FROM standings INDEXED BY standings_hidden"   \
              " WHERE window = ?1 AND hidden <> 0 ORDER BY place")                                 \
    X(ROWS, "SELECT " STANDING_COLUMNS " FROM standings s JOIN closed_windows w USING (window)"    \
            " WHERE s.window = ?1 AND s.place >= ?2 AND s.hidden = 0 ORDER BY s.place LIMIT ?3")   \
    X(ROW_OF, "SELECT " STANDING_COLUMNS " FROM standings s INDEXED BY standings_by_player"        \
              " JOIN closed_windows w USING (window)"                                              \
              " WHERE s.window = ?1 AND s.player = ?2 AND s.hidden = 0 AND NOT s.erased")          \
    X(HISTORY, "SELECT w.end_ms, 0, w.kind, w.window_id, s.place, s.sparse_rank, s.dense_rank, "   \
               "w.entries, s.score,"                                                               \
               " s.column1, s.column2, w.score_format FROM standings s CROSS JOIN closed_windows " \
               "w USING (window)"                                                                  \
               " WHERE s.player = ?2 AND s.hidden = 0 AND NOT s.erased AND w.board = ?1"           \
               " AND w.board_deleted_seq IS NULL AND w.end_ms >= ?3 AND w.end_ms < ?4"             \
               " UNION ALL SELECT taken_ms, 1, kind, window_id, place, sparse_rank, dense_rank, "  \
               "entries, score,"                                                                   \
               " column1, column2, score_format FROM samples"                                      \
               " WHERE board = ?1 AND player = ?2 AND taken_ms >= ?3 AND taken_ms < ?4"            \
               " ORDER BY 1, 2, 3, 4 LIMIT ?5")                                                    \
    X(SCORES_BOTH, SCORE_COLUMNS "board = ?1 AND player = ?2" SCORE_RANGE)                         \
    X(SCORES_BOARD, SCORE_COLUMNS "board = ?1 AND ?2 IS NULL" SCORE_RANGE)                         \
    X(SCORES_PLAYER, SCORE_COLUMNS "player = ?2 AND ?1 IS NULL" SCORE_RANGE)                       \
    X(SCORES_BOTH_BACK, SCORE_COLUMNS "board = ?1 AND player = ?2" SCORE_RANGE_BACK)               \
    X(SCORES_BOARD_BACK, SCORE_COLUMNS "board = ?1 AND ?2 IS NULL" SCORE_RANGE_BACK)               \
    X(SCORES_PLAYER_BACK, SCORE_COLUMNS "player = ?2 AND ?1 IS NULL" SCORE_RANGE_BACK)

typedef enum statement {
#define X(name, sql) S_##name,
    STATEMENTS(X)
#undef X
        S_COUNT,
} statement;

static const char *const statement_sql[S_COUNT] = {
#define X(name, sql) sql,
    STATEMENTS(X)
#undef X
};

typedef struct sqlite_archive {
    rung_archive port;
    sqlite3 *db;
    sqlite3_stmt *statements[S_COUNT]; /* prepared when first used */
    bool is_broken;                    /* something in this batch failed: Q2 */
    bool has_erased; /* old names are still in the WAL: truncate it after the commit */
} sqlite_archive;

static sqlite_archive *self_of(rung_archive *a) {
    return (sqlite_archive *)(void *)a;
}

/* ---- failures ---- */

static rung_status status_of(int rc) {
    if (rc == SQLITE_IOERR_NOMEM)
        return RUNG_ENOMEM;
    if (rc == SQLITE_IOERR_SHMSIZE) /* its index of the WAL could not be made */
        return RUNG_ENOSPC;
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return RUNG_OK;
    case SQLITE_NOMEM:
        return RUNG_ENOMEM;
    case SQLITE_FULL:
        return RUNG_ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return RUNG_EBUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CONSTRAINT: /* something would be there twice */
    case SQLITE_ERROR:      /* tables that should be there are not */
    case SQLITE_MISMATCH:
        return RUNG_ECORRUPT;
    default:
        return RUNG_EIO;
    }
}

/* The only place where SQLite's codes become ours. */
static rung_status fail(sqlite_archive *a, int rc, const char *what, rung_err *err) {
    a->is_broken = true;
    rung_status st = status_of(rc);
    if (st == RUNG_OK)
        st = RUNG_ECORRUPT;
    return RUNG_FAIL_OS(err, st, sqlite3_system_errno(a->db), "archive: %s: %s (SQLite %d)", what,
                        a->db ? sqlite3_errmsg(a->db) : sqlite3_errstr(rc), rc);
}

static rung_status no_memory(sqlite_archive *a, rung_err *err) {
    a->is_broken = true;
    return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
}

/* ---- using statements ---- */

typedef struct use {
    sqlite_archive *a;
    sqlite3_stmt *stmt; /* NULL: could not be prepared */
    int rc;             /* the first failure */
} use;

static use start(rung_archive *archive, statement which) {
    sqlite_archive *a = self_of(archive);
    use u = {a, a->statements[which], SQLITE_OK};
    if (!u.stmt) {
        u.rc = sqlite3_prepare_v3(a->db, statement_sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                                  &u.stmt, NULL);
        a->statements[which] = u.stmt;
    }
    return u;
}

static void note(use *u, int rc) {
    if (u->rc == SQLITE_OK)
        u->rc = rc;
}

static void bind_int(use *u, int i, int64_t n) {
    if (u->stmt)
        note(u, sqlite3_bind_int64(u->stmt, i, n));
}

/* Borrowed until finish(). An empty text is NULL. */
static void bind_text(use *u, int i, rung_slice text) {
    if (u->stmt && text.len)
        note(u, sqlite3_bind_text64(u->stmt, i, text.ptr, text.len, SQLITE_STATIC, SQLITE_UTF8));
}

static void bind_str(use *u, int i, const char *text) {
    bind_text(u, i, rung_slice_str(text));
}

/* Three columns from `first` on. */
static void bind_values(use *u, int first, const rung_archive_values *v) {
    for (uint32_t k = 0; u->stmt && k < v->count; k++)
        note(u, v->types[k] == RUNG_SCORE_REAL
                    ? sqlite3_bind_double(u->stmt, first + (int)k, v->values[k].d)
                    : sqlite3_bind_int64(u->stmt, first + (int)k, v->values[k].i));
}

static int64_t format_of(const rung_archive_values *v) {
    int64_t format = (int64_t)v->count << 24;
    for (uint32_t k = 0; k < v->count; k++)
        format |= (int64_t)(v->types[k] | v->decimals[k] << 4) << (8 * k);
    return format;
}

/* RUNG_OK: a row; RUNG_NOT_FOUND: no more. */
static rung_status step(use *u, rung_err *err) {
    if (u->rc == SQLITE_OK) {
        int rc = sqlite3_step(u->stmt);
        if (rc == SQLITE_ROW)
            return RUNG_OK;
        if (rc == SQLITE_DONE)
            return RUNG_NOT_FOUND;
        u->rc = rc;
    }
    return fail(u->a, u->rc, "reading or writing failed", err);
}

/* Q1 */
static void finish(use *u) {
    if (!u->stmt)
        return;
    sqlite3_reset(u->stmt); /* its code repeats the failure of step */
    sqlite3_clear_bindings(u->stmt);
}

/* A statement without rows. */
static rung_status run(use *u, rung_err *err) {
    rung_status st = step(u, err);
    finish(u);
    return st < 0 ? st : RUNG_OK;
}

static rung_status run_plain(rung_archive *a, statement which, rung_err *err) {
    use u = start(a, which);
    return run(&u, err);
}

/* ---- reading columns ---- */

static int64_t int_at(use *u, int i) {
    return sqlite3_column_int64(u->stmt, i);
}

static uint32_t u32_at(use *u, int i) {
    return (uint32_t)sqlite3_column_int64(u->stmt, i);
}

/* The text itself, until the next step. */
static rung_slice peek_text(use *u, int i) {
    const void *bytes = sqlite3_column_blob(u->stmt, i);
    return rung_slice_of(bytes, (size_t)sqlite3_column_bytes(u->stmt, i));
}

static bool text_at(use *u, int i, rung_slice *out) {
    rung_slice text = peek_text(u, i);
    return rung__archive_keep(&u->a->port, text.ptr, text.len, out);
}

static rung_archive_values values_at(use *u, int first, int64_t format) {
    rung_archive_values v = {.count = (uint32_t)(format >> 24 & 3)};
    for (uint32_t k = 0; k < v.count; k++) {
        v.types[k] = (uint8_t)(format >> (8 * k) & 15);
        v.decimals[k] = (uint8_t)(format >> (8 * k + 4) & 15);
        if (v.types[k] == RUNG_SCORE_REAL)
            v.values[k].d = sqlite3_column_double(u->stmt, first + (int)k);
        else
            v.values[k].i = int_at(u, first + (int)k);
    }
    return v;
}

static int status_at(use *u, int i) {
    static const struct {
        const char *name;
        int status;
    } names[] = {
#define X(name, value, text) {#name, value},
        RUNG_STATUS_MAP(X)
#undef X
    };
    rung_slice text = peek_text(u, i);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (rung_slice_eq(text, rung_slice_str(names[k].name)))
            return names[k].status;
    return RUNG_STATUS_UNKNOWN;
}

static void bind_status(use *u, int i, int status) {
    if (status != RUNG_STATUS_UNKNOWN)
        bind_str(u, i, rung_status_name((rung_status)status));
}

/* ---- a batch ---- */

static rung_status sq_begin(rung_archive *archive, rung_err *err) {
    sqlite_archive *a = self_of(archive);
    a->is_broken = a->has_erased = false;
    if (!sqlite3_get_autocommit(a->db))
        return RUNG_FAIL(err, RUNG_EBUSY, "archive: the batch before has not ended");
    return run_plain(archive, S_BEGIN, err);
}

static rung_status sq_add_score(rung_archive *archive, const rung_archive_score *s, rung_err *err) {
    use u = start(archive, S_ADD_SCORE);
    bind_int(&u, 1, (int64_t)s->seq);
    bind_text(&u, 2, s->board);
    bind_text(&u, 3, s->player);
    bind_str(&u, 4, s->is_delta ? "delta" : "score");
    bind_values(&u, 5, &s->values);
    bind_int(&u, 8, format_of(&s->values));
    bind_int(&u, 9, s->at_ms);
    bind_int(&u, 10, s->has_at);
    bind_int(&u, 11, s->ts_ms);
    bind_text(&u, 12, s->id);
    bind_text(&u, 13, s->meta);
    bind_status(&u, 14, s->status);
    return run(&u, err);
}

static rung_status sq_add_audit(rung_archive *archive, const rung_archive_audit *r, rung_err *err) {
    use u = start(archive, S_ADD_AUDIT);
    bind_int(&u, 1, (int64_t)r->seq);
    if (r->ts_ms)
        bind_int(&u, 2, r->ts_ms);
    bind_str(&u, 3, r->kind);
    bind_text(&u, 4, r->board);
    bind_text(&u, 5, r->player);
    bind_text(&u, 6, r->details);
    bind_status(&u, 7, r->status);
    return run(&u, err);
}

static rung_status sq_put_player(rung_archive *archive, uint64_t seq, int64_t ts_ms,
                                 rung_slice player, rung_slice profile, rung_err *err) {
    use u = start(archive, S_PUT_PLAYER);
    bind_text(&u, 1, player);
    bind_text(&u, 2, profile);
    bind_int(&u, 3, (int64_t)seq);
    bind_int(&u, 4, ts_ms);
    return run(&u, err);
}

static rung_status add_standing(rung_archive *archive, int64_t window, const rung_archive_row *row,
                                rung_err *err) {
    use u = start(archive, S_ADD_STANDING);
    bind_int(&u, 1, window);
    bind_int(&u, 2, row->place);
    bind_int(&u, 3, row->sparse);
    bind_int(&u, 4, row->dense);
    bind_text(&u, 5, row->player);
    bind_int(&u, 6, row->number);
    bind_values(&u, 7, &row->values);
    if (row->has_at)
        bind_int(&u, 10, row->at_ms);
    bind_int(&u, 11, row->hidden);
    return run(&u, err);
}

static rung_status add_scope(rung_archive *archive, int64_t window, int64_t key,
                             const rung_archive_scope *s, rung_err *err) {
    uint8_t sum[SUM_BYTES];
    unsigned __int128 bits = (unsigned __int128)s->team_sum;
    for (int i = 0; i < SUM_BYTES; i++)
        sum[i] = (uint8_t)(bits >> (8 * i));
    use u = start(archive, S_ADD_SCOPE);
    bind_int(&u, 1, key);
    bind_int(&u, 2, window);
    bind_text(&u, 3, s->attribute);
    bind_text(&u, 4, s->value);
    bind_int(&u, 5, s->total);
    bind_int(&u, 6, s->distinct);
    if (u.stmt && s->is_team)
        note(&u, sqlite3_bind_blob(u.stmt, 7, sum, sizeof sum, SQLITE_STATIC));
    return run(&u, err);
}

/* Keys are assigned in order: `*last_out` is the one before the first. */
static rung_status add_scopes(rung_archive *archive, int64_t window,
                              const rung_archive_scope *scopes, uint32_t count, int64_t *last_out,
                              rung_err *err) {
    use u = start(archive, S_LAST_SCOPE);
    rung_status st = step(&u, err);
    int64_t last = st == RUNG_OK ? int_at(&u, 0) : 0;
    finish(&u);
    for (uint32_t i = 0; st >= 0 && i < count; i++)
        st = add_scope(archive, window, last + 1 + i, &scopes[i], err);
    *last_out = last;
    return st;
}

static rung_status add_scope_standings(rung_archive *archive, int64_t window, int64_t last_scope,
                                       const rung_archive_row *row, rung_err *err) {
    rung_status st = RUNG_OK;
    for (uint32_t i = 0; st >= 0 && i < row->scope_count; i++) {
        const rung_archive_scope_rank *r = &row->scopes[i];
        use u = start(archive, S_ADD_SCOPE_STANDING);
        bind_int(&u, 1, last_scope + 1 + r->scope);
        bind_int(&u, 2, r->place);
        bind_int(&u, 3, r->sparse);
        bind_int(&u, 4, r->dense);
        bind_int(&u, 5, window);
        bind_int(&u, 6, row->place);
        st = run(&u, err);
    }
    return st;
}

static rung_status sq_add_window(rung_archive *archive, const rung_archive_window *w,
                                 const rung_archive_scope *scopes, uint32_t scope_count,
                                 rung_archive_next_row *next, void *ctx, rung_err *err) {
    sqlite_archive *a = self_of(archive);
    rung_board_def def;
    rung_status st = rung_board_def_decode(w->definition, &def, err);
    if (st < 0) {
        a->is_broken = true;
        return st;
    }
    rung_archive_values format = rung_archive_values_of(&def);
    use u = start(archive, S_ADD_WINDOW);
    bind_text(&u, 1, w->board);
    bind_str(&u, 2, rung_window_words[w->kind]);
    bind_text(&u, 3, w->id);
    bind_int(&u, 4, w->start_ms);
    bind_int(&u, 5, w->end_ms);
    bind_int(&u, 6, (int64_t)w->closed_seq);
    bind_int(&u, 7, w->closed_ms);
    bind_int(&u, 8, w->total);
    bind_int(&u, 9, w->distinct);
    bind_str(&u, 10, rung_rank_words[w->rank]);
    bind_int(&u, 11, format_of(&format));
    if (u.stmt)
        note(&u,
             sqlite3_bind_blob64(u.stmt, 12, w->definition.ptr, w->definition.len, SQLITE_STATIC));
    st = run(&u, err);
    int64_t window = sqlite3_last_insert_rowid(a->db);
    int64_t last_scope = 0;
    if (st >= 0)
        st = add_scopes(archive, window, scopes, scope_count, &last_scope, err);
    rung_archive_row row;
    uint32_t count = 0;
    while (st >= 0 && (st = next(ctx, &row, err)) == RUNG_OK) {
        st = add_standing(archive, window, &row, err);
        if (st >= 0)
            st = add_scope_standings(archive, window, last_scope, &row, err);
        count++;
    }
    if (st == RUNG_NOT_FOUND && count != w->total)
        st = RUNG_FAIL(err, RUNG_ECORRUPT, "archive: a window of %u entries came with %u", w->total,
                       count);
    a->is_broken |= st < 0;
    return st < 0 ? st : RUNG_OK;
}

static rung_status sq_add_sample(rung_archive *archive, const rung_archive_sample *s,
                                 rung_err *err) {
    use u = start(archive, S_ADD_SAMPLE);
    bind_text(&u, 1, s->board);
    bind_text(&u, 2, s->player);
    bind_int(&u, 3, s->point.time_ms);
    bind_str(&u, 4, rung_window_words[s->point.kind]);
    bind_text(&u, 5, s->point.window_id);
    bind_int(&u, 6, (int64_t)s->seq);
    bind_int(&u, 7, s->point.place);
    bind_int(&u, 8, s->point.sparse);
    bind_int(&u, 9, s->point.dense);
    bind_int(&u, 10, s->point.total);
    bind_values(&u, 11, &s->point.values);
    bind_int(&u, 14, format_of(&s->point.values));
    return run(&u, err);
}

static rung_status drop_samples(rung_archive *archive, rung_slice board, rung_slice player,
                                rung_err *err) {
    use u = start(archive, S_DROP_SAMPLES);
    bind_text(&u, 1, board);
    bind_text(&u, 2, player);
    return run(&u, err);
}

static rung_status sq_hide(rung_archive *archive, rung_slice board, rung_slice player, uint32_t bit,
                           bool on, rung_err *err) {
    use u = start(archive, on ? S_HIDE : S_SHOW);
    bind_text(&u, 1, board);
    bind_text(&u, 2, player);
    bind_int(&u, 3, bit);
    rung_status st = run(&u, err);
    if (st < 0 || bit != RUNG_HIDDEN_REMOVED)
        return st;
    return drop_samples(archive, board, player, err);
}

static rung_status sq_erase(rung_archive *archive, rung_slice player, rung_err *err) {
    static const statement all[] = {S_ERASE_SCOPES, /* while the standings still have the name */
                                    S_ERASE_STANDINGS, S_ERASE_SCORES, S_ERASE_SAMPLES,
                                    S_ERASE_PLAYER,    S_ERASE_AUDIT};
    rung_status st = RUNG_OK;
    for (size_t i = 0; st >= 0 && i < sizeof all / sizeof *all; i++) {
        use u = start(archive, all[i]);
        bind_text(&u, 1, player);
        st = run(&u, err);
    }
    self_of(archive)->has_erased = true;
    return st;
}

static rung_status sq_retire_board(rung_archive *archive, rung_slice board, uint64_t seq,
                                   rung_err *err) {
    use u = start(archive, S_RETIRE_BOARD);
    bind_text(&u, 1, board);
    bind_int(&u, 2, (int64_t)seq);
    rung_status st = run(&u, err);
    return st < 0 ? st : drop_samples(archive, board, (rung_slice){NULL, 0}, err);
}

static rung_status sq_retire_all(rung_archive *archive, uint64_t seq, rung_err *err) {
    use u = start(archive, S_RETIRE_ALL);
    bind_int(&u, 1, (int64_t)seq);
    rung_status st = run(&u, err);
    return st < 0 ? st : run_plain(archive, S_DROP_ALL_SAMPLES, err);
}

/* Checkpoint and truncate the WAL, so that an erased name is nowhere. If readers block it, the next erasure or
 * opening does it. */
static void empty_wal(sqlite_archive *a) {
    sqlite3_wal_checkpoint_v2(a->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

static rung_status sq_commit(rung_archive *archive, uint64_t seq, int64_t log_time_ms,
                             rung_err *err) {
    sqlite_archive *a = self_of(archive);
    if (a->is_broken || sqlite3_get_autocommit(a->db))
        return RUNG_FAIL(err, RUNG_EIO, "archive: a batch that failed cannot be committed");
    use u = start(archive, S_SET_CURSOR);
    bind_int(&u, 1, (int64_t)seq);
    bind_int(&u, 2, log_time_ms);
    rung_status st = run(&u, err);
    if (st >= 0 && sqlite3_changes(a->db) != 1) /* Q3 */
        st = fail(a, SQLITE_CONSTRAINT,
                  "the cursor would move back: does another process write to it?", err);
    if (st >= 0)
        st = run_plain(archive, S_COMMIT, err);
    if (st >= 0 && a->has_erased)
        empty_wal(a);
    return st;
}

static void sq_rollback(rung_archive *archive) {
    sqlite_archive *a = self_of(archive);
    rung__archive_forget(archive);
    if (!sqlite3_get_autocommit(a->db)) /* some failures have rolled back already */
        rung_ignore(run_plain(archive, S_ROLLBACK, NULL), "what is not committed is not there");
    if (!sqlite3_get_autocommit(a->db)) /* the statement could not even be prepared */
        sqlite3_exec(a->db, "ROLLBACK", NULL, NULL, NULL);
    a->is_broken = a->has_erased = false;
}

/* ---- questions ---- */

static rung_status sq_cursor(rung_archive *archive, uint64_t *seq_out, int64_t *log_time_ms_out,
                             rung_err *err) {
    use u = start(archive, S_GET_CURSOR);
    rung_status st = step(&u, err);
    if (st == RUNG_OK) {
        *seq_out = (uint64_t)int_at(&u, 0);
        if (log_time_ms_out)
            *log_time_ms_out =
                sqlite3_column_type(u.stmt, 1) == SQLITE_NULL ? INT64_MIN : int_at(&u, 1);
    } else if (st == RUNG_NOT_FOUND) {
        st = RUNG_FAIL(err, RUNG_ECORRUPT, "archive: it has lost its cursor");
    }
    finish(&u);
    return st;
}

static rung_status sq_read_begin(rung_archive *archive, rung_err *err) {
    return run_plain(archive, S_BEGIN_READ, err);
}

static void sq_read_end(rung_archive *archive) {
    sq_rollback(archive);
}

/* The columns of WINDOW_COLUMNS. */
static rung_status read_window(use *u, rung_archive_window *out, rung_err *err) {
    rung_slice style = peek_text(u, 10);
    int kind = rung_word_find(rung_window_words, peek_text(u, 2));
    *out = (rung_archive_window){.key = int_at(u, 0),
                                 .kind = (uint32_t)kind,
                                 .start_ms = int_at(u, 4),
                                 .end_ms = int_at(u, 5),
                                 .closed_seq = (uint64_t)int_at(u, 6),
                                 .closed_ms = int_at(u, 7),
                                 .total = u32_at(u, 8),
                                 .distinct = u32_at(u, 9),
                                 .has_scopes = int_at(u, 12) != 0};
    while (out->rank < RUNG_RANK_DENSE &&
           !rung_slice_eq(style, rung_slice_str(rung_rank_words[out->rank])))
        out->rank++;
    if (kind < 0)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "archive: a closed window of unknown kind");
    if (!text_at(u, 1, &out->board) || !text_at(u, 3, &out->id) ||
        !text_at(u, 11, &out->definition))
        return no_memory(u->a, err);
    return RUNG_OK;
}

static rung_status sq_find_window(rung_archive *archive, rung_slice board, uint32_t kind,
                                  rung_slice id, rung_archive_window *out, rung_err *err) {
    use u = start(archive, S_FIND_WINDOW);
    bind_text(&u, 1, board);
    bind_str(&u, 2, rung_window_words[kind]);
    bind_text(&u, 3, id);
    rung_status st = step(&u, err);
    if (st == RUNG_OK)
        st = read_window(&u, out, err);
    else if (st == RUNG_NOT_FOUND)
        RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "window", "it is not in the archive");
    finish(&u);
    return st;
}

/* The first number that a statement returns for a window; 0 if none. */
static rung_status count_of(use u, uint32_t *out, rung_err *err) {
    rung_status st = step(&u, err);
    *out = st == RUNG_OK ? u32_at(&u, 0) : 0;
    finish(&u);
    return st;
}

/* Excludes hidden standings. Uses a second statement in the same transaction, since the one that lists the windows is
 * active. */
static rung_status leave_hidden(rung_archive *archive, rung_archive_window *w, rung_err *err) {
    uint32_t hidden;
    use u = start(archive, S_COUNT_HIDDEN);
    bind_int(&u, 1, w->key);
    rung_status st = count_of(u, &hidden, err);
    w->total -= st == RUNG_OK ? hidden : 0;
    return st;
}

static rung_status sq_windows(rung_archive *archive, rung_slice board, uint32_t kind,
                              int64_t before_end_ms, uint32_t limit, rung_archive_window *out,
                              uint32_t *count_out, rung_err *err) {
    use u = start(archive, S_WINDOWS);
    uint32_t count = 0;
    bind_text(&u, 1, board);
    if (kind)
        bind_str(&u, 2, rung_window_words[kind]);
    bind_int(&u, 3, before_end_ms);
    bind_int(&u, 4, limit);
    rung_status st;
    while ((st = step(&u, err)) == RUNG_OK && (st = read_window(&u, &out[count], err)) == RUNG_OK &&
           (st = leave_hidden(archive, &out[count], err)) == RUNG_OK)
        count++;
    finish(&u);
    if (st < 0)
        return st;
    *count_out = count;
    return RUNG_OK;
}

static rung_status sq_find_scope(rung_archive *archive, int64_t window, rung_slice attribute,
                                 rung_slice value, rung_archive_scope *out, rung_err *err) {
    use u = start(archive, S_FIND_SCOPE);
    bind_int(&u, 1, window);
    bind_text(&u, 2, attribute);
    bind_text(&u, 3, value);
    rung_status st = step(&u, err);
    if (st == RUNG_OK)
        *out = (rung_archive_scope){.key = int_at(&u, 0),
                                    .attribute = attribute,
                                    .value = value,
                                    .total = u32_at(&u, 1),
                                    .distinct = u32_at(&u, 2)};
    finish(&u);
    return st;
}

static __int128 sum_at(use *u, int i) {
    rung_slice bytes = peek_text(u, i);
    unsigned __int128 bits = 0;
    for (size_t k = bytes.len < SUM_BYTES ? bytes.len : SUM_BYTES; k > 0; k--)
        bits = bits << 8 | (uint8_t)bytes.ptr[k - 1];
    return (__int128)bits;
}

static use start_scopes(rung_archive *archive, statement which, int64_t window,
                        rung_slice attribute) {
    use u = start(archive, which);
    bind_int(&u, 1, window);
    bind_text(&u, 2, attribute);
    return u;
}

static rung_status sq_scopes(rung_archive *archive, int64_t window, rung_slice attribute,
                             rung_archive_scope **scopes_out, uint32_t *count_out, rung_err *err) {
    uint32_t room, count = 0;
    rung_status st = count_of(start_scopes(archive, S_COUNT_SCOPES, window, attribute), &room, err);
    if (st < 0)
        return st;
    rung_archive_scope *all = rung__archive_get(archive, (room + (size_t)1) * sizeof *all);
    if (!all)
        return no_memory(self_of(archive), err);
    use u = start_scopes(archive, S_SCOPES, window, attribute);
    while (count < room && (st = step(&u, err)) == RUNG_OK) {
        all[count] = (rung_archive_scope){.key = int_at(&u, 0),
                                          .attribute = attribute,
                                          .total = u32_at(&u, 2),
                                          .distinct = u32_at(&u, 3),
                                          .is_team = sqlite3_column_type(u.stmt, 4) != SQLITE_NULL,
                                          .team_sum = sum_at(&u, 4),
                                          .hidden = u32_at(&u, 5)};
        if (!text_at(&u, 1, &all[count++].value)) {
            st = no_memory(u.a, err);
            break;
        }
    }
    finish(&u);
    if (st < 0)
        return st;
    *scopes_out = all;
    *count_out = count;
    return RUNG_OK;
}

static use start_hidden(rung_archive *archive, const rung_archive_ranking *r, statement everybody,
                        statement scope) {
    use u = start(archive, r->scope ? scope : everybody);
    bind_int(&u, 1, r->window);
    if (r->scope)
        bind_int(&u, 2, r->scope);
    return u;
}

static rung_status sq_hidden(rung_archive *archive, const rung_archive_ranking *r,
                             rung_archive_row **rows_out, uint32_t *count_out, rung_err *err) {
    uint32_t room, count = 0;
    rung_status st =
        count_of(start_hidden(archive, r, S_COUNT_HIDDEN, S_COUNT_SCOPE_HIDDEN), &room, err);
    *count_out = 0;
    if (st < 0 || room == 0)
        return st < 0 ? st : RUNG_OK;
    rung_archive_row *rows = rung__archive_get(archive, room * sizeof *rows);
    if (!rows)
        return no_memory(self_of(archive), err);
    use u = start_hidden(archive, r, S_HIDDEN, S_SCOPE_HIDDEN);
    while ((st = step(&u, err)) == RUNG_OK && count < room)
        rows[count++] = (rung_archive_row){
            .place = u32_at(&u, 0), .sparse = u32_at(&u, 1), .dense = u32_at(&u, 2)};
    finish(&u);
    if (st < 0)
        return st;
    *rows_out = rows;
    *count_out = count;
    return RUNG_OK;
}

/* The columns of STANDING_COLUMNS or SCOPE_COLUMNS. */
static rung_status read_standing(use *u, rung_archive_row *out, rung_err *err) {
    *out = (rung_archive_row){.place = u32_at(u, 0),
                              .sparse = u32_at(u, 1),
                              .dense = u32_at(u, 2),
                              .number = u32_at(u, 3),
                              .values = values_at(u, 5, int_at(u, 9)),
                              .has_at = sqlite3_column_type(u->stmt, 8) != SQLITE_NULL,
                              .at_ms = int_at(u, 8)};
    return text_at(u, 4, &out->player) ? RUNG_OK : no_memory(u->a, err);
}

static rung_status sq_rows(rung_archive *archive, const rung_archive_ranking *r,
                           uint32_t from_place, uint32_t limit, rung_archive_row *out,
                           uint32_t *count_out, rung_err *err) {
    use u = start(archive, r->scope ? S_SCOPE_ROWS : S_ROWS);
    uint32_t count = 0;
    bind_int(&u, 1, r->window);
    bind_int(&u, 2, from_place);
    bind_int(&u, 3, limit);
    if (r->scope)
        bind_int(&u, 4, r->scope);
    rung_status st;
    while ((st = step(&u, err)) == RUNG_OK && (st = read_standing(&u, &out[count], err)) == RUNG_OK)
        count++;
    finish(&u);
    if (st < 0)
        return st;
    *count_out = count;
    return RUNG_OK;
}

static rung_status sq_row_of(rung_archive *archive, const rung_archive_ranking *r,
                             rung_slice player, rung_archive_row *out, rung_err *err) {
    use u = start(archive, r->scope ? S_SCOPE_ROW_OF : S_ROW_OF);
    bind_int(&u, 1, r->window);
    bind_text(&u, 2, player);
    if (r->scope)
        bind_int(&u, 3, r->scope);
    rung_status st = step(&u, err);
    if (st == RUNG_OK)
        st = read_standing(&u, out, err);
    finish(&u);
    return st;
}

static rung_status sq_history(rung_archive *archive, rung_slice board, rung_slice player,
                              int64_t from_ms, int64_t to_ms, uint32_t limit,
                              rung_archive_point *out, uint32_t *count_out, rung_err *err) {
    use u = start(archive, S_HISTORY);
    uint32_t count = 0;
    bind_text(&u, 1, board);
    bind_text(&u, 2, player);
    bind_int(&u, 3, from_ms);
    bind_int(&u, 4, to_ms);
    bind_int(&u, 5, limit);
    rung_status st;
    while ((st = step(&u, err)) == RUNG_OK) {
        int kind = rung_word_find(rung_window_words, peek_text(&u, 2));
        rung_archive_point p = {.time_ms = int_at(&u, 0),
                                .is_daily = int_at(&u, 1),
                                .kind = kind < 0 ? 0 : (uint32_t)kind,
                                .place = u32_at(&u, 4),
                                .sparse = u32_at(&u, 5),
                                .dense = u32_at(&u, 6),
                                .total = u32_at(&u, 7),
                                .values = values_at(&u, 8, int_at(&u, 11))};
        if (!text_at(&u, 3, &p.window_id)) {
            st = no_memory(u.a, err);
            break;
        }
        out[count++] = p;
    }
    finish(&u);
    if (st < 0)
        return st;
    *count_out = count;
    return RUNG_OK;
}

static rung_status read_score(use *u, rung_archive_score *out, rung_err *err) {
    *out = (rung_archive_score){.seq = (uint64_t)int_at(u, 0),
                                .is_delta = rung_slice_eq(peek_text(u, 3), RUNG_SLICE("delta")),
                                .values = values_at(u, 4, int_at(u, 7)),
                                .at_ms = int_at(u, 8),
                                .has_at = int_at(u, 9),
                                .ts_ms = int_at(u, 10),
                                .status = status_at(u, 13)};
    bool kept = text_at(u, 1, &out->board) && text_at(u, 2, &out->player) &&
                text_at(u, 11, &out->id) && text_at(u, 12, &out->meta);
    return kept ? RUNG_OK : no_memory(u->a, err);
}

static statement scores_statement(const rung_archive_score_query *q) {
    if (!q->player.len)
        return q->newest_first ? S_SCORES_BOARD_BACK : S_SCORES_BOARD;
    if (!q->board.len)
        return q->newest_first ? S_SCORES_PLAYER_BACK : S_SCORES_PLAYER;
    return q->newest_first ? S_SCORES_BOTH_BACK : S_SCORES_BOTH;
}

static rung_status sq_scores(rung_archive *archive, const rung_archive_score_query *q,
                             uint32_t limit, rung_archive_score *out, uint32_t *count_out,
                             rung_err *err) {
    use u = start(archive, scores_statement(q));
    bool is_always = q->from_ms == 0 && q->to_ms == 0;
    int64_t from_ms = is_always ? INT64_MIN : q->from_ms, to_ms = is_always ? INT64_MAX : q->to_ms;
    int64_t after_ms = q->after_seq ? q->after_at_ms : q->newest_first ? INT64_MAX : INT64_MIN;
    uint32_t count = 0;
    /* The planner uses either of two bounds on the index: both lead to the start of the page. */
    if (q->newest_first && after_ms < to_ms)
        to_ms = after_ms + 1;
    if (!q->newest_first && after_ms > from_ms)
        from_ms = after_ms;
    bind_text(&u, 1, q->board);
    bind_text(&u, 2, q->player);
    bind_int(&u, 3, from_ms);
    bind_int(&u, 4, to_ms);
    bind_int(&u, 5, after_ms);
    bind_int(&u, 6, (int64_t)q->after_seq);
    bind_int(&u, 7, limit);
    rung_status st;
    while ((st = step(&u, err)) == RUNG_OK && (st = read_score(&u, &out[count], err)) == RUNG_OK)
        count++;
    finish(&u);
    if (st < 0)
        return st;
    *count_out = count;
    return RUNG_OK;
}

/* ---- life ---- */

static void sq_close(rung_archive *archive) {
    sqlite_archive *a = self_of(archive);
    for (int i = 0; i < S_COUNT; i++)
        sqlite3_finalize(a->statements[i]);
    int rc = sqlite3_close(a->db); /* undoes an open batch */
    RUNG_ASSERT(rc == SQLITE_OK);
    rung_alloc_free(archive->alloc, a, sizeof *a);
}

static const rung_archive_ops sqlite_ops = {
    .begin = sq_begin,
    .add_score = sq_add_score,
    .add_audit = sq_add_audit,
    .put_player = sq_put_player,
    .add_window = sq_add_window,
    .add_sample = sq_add_sample,
    .hide = sq_hide,
    .erase = sq_erase,
    .retire_board = sq_retire_board,
    .retire_all = sq_retire_all,
    .commit = sq_commit,
    .rollback = sq_rollback,
    .cursor = sq_cursor,
    .read_begin = sq_read_begin,
    .read_end = sq_read_end,
    .find_window = sq_find_window,
    .windows = sq_windows,
    .find_scope = sq_find_scope,
    .scopes = sq_scopes,
    .hidden = sq_hidden,
    .rows = sq_rows,
    .row_of = sq_row_of,
    .history = sq_history,
    .scores = sq_scores,
    .close = sq_close,
};

/* ---- opening ---- */

static rung_status exec(sqlite_archive *a, const char *sql, rung_err *err) {
    int rc = sqlite3_exec(a->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? RUNG_OK : fail(a, rc, "opening failed", err);
}

/* A query of one number. */
static rung_status ask_int(sqlite_archive *a, const char *sql, int64_t *out, rung_err *err) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(a->db, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(stmt, 0);
    rung_status st = rc == SQLITE_ROW ? RUNG_OK : fail(a, rc, "opening failed", err);
    sqlite3_finalize(stmt);
    return st;
}

/* The file's version; refuses what is not ours. */
static rung_status check_version(sqlite_archive *a, int64_t *version_out, rung_err *err) {
    int64_t id = 0, version = 0, tables = 0;
    rung_status st = ask_int(a, "PRAGMA application_id", &id, err);
    if (st == RUNG_OK)
        st = ask_int(a, "PRAGMA user_version", &version, err);
    if (st == RUNG_OK)
        st = ask_int(a, "SELECT count(*) FROM sqlite_master", &tables, err);
    if (st < 0)
        return st;
    bool is_fresh = id == 0 && version == 0 && tables == 0;
    if (!is_fresh && id != RUNG_ARCHIVE_APPLICATION_ID)
        return RUNG_FAIL(err, RUNG_ECORRUPT,
                         "archive: the file is a database, but not an archive of Rung");
    if (version > RUNG_ARCHIVE_SCHEMA_VERSION)
        return RUNG_FAIL(err, RUNG_EVERSION,
                         "archive: the file has version %" PRId64 ", this program knows %d",
                         version, RUNG_ARCHIVE_SCHEMA_VERSION);
    *version_out = version;
    return RUNG_OK;
}

/* Upgrade from any older version to the current one, in one transaction; a no-op for a current file. */
static rung_status migrate(sqlite_archive *a, rung_slice log_id, rung_err *err) {
    int64_t version;
    char sql[96];
    rung_status st = check_version(a, &version, err);
    if (st < 0 || version == RUNG_ARCHIVE_SCHEMA_VERSION)
        return st;
    st = exec(a, "BEGIN IMMEDIATE", err);
    if (st == RUNG_OK)
        st = check_version(a, &version, err); /* another process may have been faster */
    for (int64_t i = version; st == RUNG_OK && i < RUNG_ARCHIVE_SCHEMA_VERSION; i++)
        st = exec(a, rung__archive_schema_step((int)i), err);
    if (st == RUNG_OK && version == 0) {
        use u = {a, NULL, SQLITE_OK};
        u.rc = sqlite3_prepare_v2(a->db, "INSERT INTO source VALUES (1, ifnull(?1, ''), 0, NULL)",
                                  -1, &u.stmt, NULL);
        bind_text(&u, 1, log_id);
        st = run(&u, err);
        sqlite3_finalize(u.stmt);
    }
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             RUNG_ARCHIVE_APPLICATION_ID, RUNG_ARCHIVE_SCHEMA_VERSION);
    if (st == RUNG_OK)
        st = exec(a, sql, err);
    if (st == RUNG_OK)
        st = exec(a, "COMMIT", err);
    if (st < 0)
        sqlite3_exec(a->db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

static rung_status check_log_id(sqlite_archive *a, rung_slice log_id, rung_err *err) {
    use u = {a, NULL, SQLITE_OK};
    if (log_id.len == 0)
        return RUNG_OK;
    u.rc = sqlite3_prepare_v2(a->db, "SELECT log_id FROM source", -1, &u.stmt, NULL);
    rung_status st = step(&u, err);
    if (st == RUNG_OK) {
        rung_slice have = peek_text(&u, 0);
        if (have.len && !rung_slice_eq(have, log_id))
            st = RUNG_FAIL(err, RUNG_ECONFLICT, "archive: it follows another log (%.*s)",
                           (int)have.len, have.ptr);
    } else if (st == RUNG_NOT_FOUND) {
        st = RUNG_FAIL(err, RUNG_ECORRUPT, "archive: it has lost its cursor");
    }
    sqlite3_finalize(u.stmt);
    return st;
}

/* SQLite would create a world-readable file; the files beside it get the mode of this one. */
static rung_status make_private(const rung_sqlite_archive_config *c, rung_err *err) {
    struct stat s;
    int fd = open(c->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return RUNG_FAIL_OS(err, errno == ENOSPC ? RUNG_ENOSPC : RUNG_EIO, errno,
                            "archive: cannot open %s: %s", c->path, strerror(errno));
    if (fstat(fd, &s) == 0 && s.st_mode & 07 && fchmod(fd, s.st_mode & 0770) != 0)
        errno = 0; /* another user's file: leave its mode alone */
    close(fd);
    return RUNG_OK;
}

static rung_status connect(sqlite_archive *a, const rung_sqlite_archive_config *c, rung_err *err) {
    rung_status st = c->is_read_only ? RUNG_OK : make_private(c, err);
    if (st < 0)
        return st;
    int flags = c->is_read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int rc = sqlite3_open_v2(c->path, &a->db, flags | SQLITE_OPEN_NOMUTEX, c->vfs);
    if (c->is_read_only && rc == SQLITE_CANTOPEN)
        return RUNG_FAIL(err, RUNG_NOT_FOUND, "archive: there is no file %s", c->path);
    if (rc != SQLITE_OK)
        return fail(a, rc, c->path, err);
    sqlite3_extended_result_codes(a->db, 1);
    sqlite3_busy_timeout(a->db, c->busy_timeout_ms ? c->busy_timeout_ms : BUSY_TIMEOUT_MS_DEFAULT);
    if (c->is_read_only)
        return exec(a, "PRAGMA query_only = ON", err);
    return exec(a,
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;"
                "PRAGMA cache_size = -16384; PRAGMA journal_size_limit = 67108864",
                err);
}

/* A file that is not in WAL mode (some file systems do not support it) would be correct, but not readable meanwhile. */
static rung_status check_wal(sqlite_archive *a, rung_err *err) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(a->db, "PRAGMA journal_mode", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    rung_status st = rc == SQLITE_ROW ? RUNG_OK : fail(a, rc, "opening failed", err);
    if (st == RUNG_OK && strcmp((const char *)sqlite3_column_text(stmt, 0), "wal") != 0)
        st = RUNG_FAIL(err, RUNG_EUNSUPPORTED,
                       "archive: this disk does not allow SQLite's WAL mode");
    sqlite3_finalize(stmt);
    return st;
}

static rung_status make_ready(sqlite_archive *a, const rung_sqlite_archive_config *c,
                              rung_err *err) {
    int64_t version;
    rung_status st = connect(a, c, err);
    if (st != RUNG_OK)
        return st;
    if (c->is_read_only) {
        st = check_version(a, &version, err);
        if (st == RUNG_OK && version != RUNG_ARCHIVE_SCHEMA_VERSION)
            st = RUNG_FAIL(err, RUNG_NOT_FOUND, "archive: it has not been brought up to date yet");
    } else {
        st = check_wal(a, err);
        if (st == RUNG_OK)
            st = migrate(a, c->log_id, err);
    }
    return st == RUNG_OK ? check_log_id(a, c->log_id, err) : st;
}

rung_status rung_sqlite_archive_open(const rung_sqlite_archive_config *config,
                                     rung_archive **archive_out, rung_err *err) {
    sqlite_archive *a = rung_alloc_zeroed(config->alloc, sizeof *a);
    if (!a)
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    a->port = (rung_archive){.ops = &sqlite_ops, .alloc = config->alloc};
    rung_status st = make_ready(a, config, err);
    if (st != RUNG_OK) {
        sq_close(&a->port);
        return st;
    }
    *archive_out = &a->port;
    return RUNG_OK;
}

/* ---- looking for damage ---- */

rung_status rung_sqlite_archive_check(rung_archive *archive, rung_err *err) {
    sqlite_archive *a = self_of(archive);
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(a->db, "PRAGMA quick_check(1)", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    rung_status st = RUNG_OK;
    if (rc == SQLITE_INTERRUPT)
        st = RUNG_ECLOSED;
    else if (rc != SQLITE_ROW)
        st = fail(a, rc, "it cannot be looked through", err);
    else if (strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0)
        st = RUNG_FAIL(err, RUNG_ECORRUPT, "archive: %s",
                       (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    return st;
}

void rung_sqlite_archive_interrupt(rung_archive *archive) {
    sqlite3_interrupt(self_of(archive)->db);
}
