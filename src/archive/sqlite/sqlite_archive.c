/* SPDX-License-Identifier: Apache-2.0 */
/* One connection, one table of statements, one function that maps SQLite's failures to ours.
 *
 * Invariants:
 *   Q1  Between calls no statement is active: each is reset by the function that used it.
 *   Q2  A batch is one BEGIN IMMEDIATE transaction. After any failure in it nothing of it is kept: commit is refused
 *       until rollback was called.
 *   Q3  The cursor only moves forward, in the transaction that holds what it covers.
 *
 * A number is bound as what it is, so that integers stay exact and doubles keep their bits; columns for scores have
 * no type of their own. score_format tells what they are: byte i (from the lowest) has the type of value i in bits
 * 0 to 3 and its decimals in bits 4 to 7; byte 3 has the number of values. */
#include "archive/sqlite/sqlite_archive.h"

#include "archive/sqlite/event_store.h"
#include "archive/sqlite/event_table.h"
#include "archive/sqlite/schema.h"
#include "archive/sqlite/user_scores.h"
#include "base/assert.h"
#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_TIMEOUT_MS_DEFAULT 5000

enum { SUM_BYTES = 16 };

/* ---- statements ----
 * INDEXED BY where the planner, which assumes that every window is small, would read all of its rows. */

/* A standing with its ranks among everybody, or in a scope. */
#define STANDING(ranks)                                                                            \
    "SELECT " ranks ", s.player_number, s.player, s.score, s.column1, s.column2, s.at_ms,"         \
    " w.score_format FROM "
#define RANKS       "s.place, s.sparse_rank, s.dense_rank"
#define SCOPE_RANKS "t.scope_place, t.sparse_rank, t.dense_rank"
#define WINDOW_COLUMNS                                                                             \
    "window, board, kind, window_id, start_ms, end_ms, closed_seq, closed_ms, entries, "           \
    "distinct_scores, rank_style,"                                                                 \
    " definition, has_scopes FROM closed_windows WHERE " WINDOW_IS_THERE " AND board = ?1"
/* as_of() is the moment of the archive (config.as_of_seq). A standing's `hidden` then is what its first later change
 * replaced, or, without one, what it is. */
#define WINDOW_IS_THERE                                                                            \
    "closed_seq <= as_of() AND (board_deleted_seq IS NULL OR board_deleted_seq > as_of())"
#define SAMPLE_IS_THERE "seq <= as_of() AND (dropped_seq IS NULL OR dropped_seq > as_of())"
#define IS_SHOWN                                                                                   \
    "ifnull((SELECT c.hidden FROM standing_changes c WHERE c.window = s.window AND c.place = "     \
    "s.place AND c.seq > as_of() ORDER BY c.seq LIMIT 1), s.hidden) = 0"
/* The places of the hidden standings of window ?1. */
#define HIDDEN_PLACES                                                                              \
    "(SELECT k.place AS place FROM standings k INDEXED BY standings_hidden WHERE k.window = ?1"    \
    " AND k.hidden <> 0 AND NOT EXISTS (SELECT 1 FROM standing_changes c WHERE c.window = ?1"      \
    " AND c.place = k.place AND c.seq > as_of())"                                                  \
    " UNION ALL SELECT c.place FROM standing_changes c WHERE c.window = ?1 AND c.hidden <> 0"      \
    " AND c.seq > as_of() AND NOT EXISTS (SELECT 1 FROM standing_changes d WHERE d.window = ?1"    \
    " AND d.place = c.place AND d.seq > as_of() AND d.seq < c.seq)) h"
/* The scopes of the hidden standings of window ?1. */
#define HIDDEN_IN_SCOPES                                                                           \
    " FROM " HIDDEN_PLACES " CROSS JOIN scope_standings t INDEXED BY scope_standings_by_place"     \
    " ON t.window = ?1 AND t.place = h.place WHERE TRUE"
#define SCORE_COLUMNS                                                                              \
    "SELECT seq, board, player, kind, score, column1, column2, score_format, at_ms, at_given, "    \
    "ts_ms, id, meta, status, rule, result, result_column1, result_column2, result_format"         \
    " FROM score_rows WHERE "
#define SCORE_RANGE                                                                                \
    " AND at_ms >= ?3 AND at_ms <= ?4 AND (at_ms, seq) > (?5, ?6) ORDER BY at_ms, seq LIMIT ?7"
#define SCORE_RANGE_BACK                                                                           \
    " AND at_ms >= ?3 AND at_ms <= ?4 AND (at_ms, seq) < (?5, ?6) ORDER BY at_ms DESC, seq DESC "  \
    "LIMIT ?7"
#define AUDIT_COLUMNS                                                                              \
    "SELECT seq, entry, ts_ms, kind, board, player, details, status, rule, actor_key, "            \
    "actor_player, actor_address, reason, before, after FROM audit "
/* ?1 board, ?2 player, ?3 actor, ?4 kind, [?5, ?6) time, (?7, ?8) after */
#define AUDIT_MATCH                                                                                \
    "(?1 IS NULL OR board = ?1) AND (?2 IS NULL OR player = ?2) AND (?3 IS NULL OR actor_key = "   \
    "?3) AND (?4 IS NULL OR kind = ?4) AND (?5 IS NULL OR (ts_ms >= ?5 AND ts_ms < ?6))"
#define AUDIT_RANGE      " AND (seq, entry) > (?7, ?8) ORDER BY seq, entry LIMIT ?9"
#define AUDIT_RANGE_BACK " AND (seq, entry) < (?7, ?8) ORDER BY seq DESC, entry DESC LIMIT ?9"
#define PLAYERS_STANDINGS                                                                          \
    " WHERE player = ?2 AND NOT erased AND EXISTS (SELECT 1 FROM closed_windows w WHERE w.window " \
    "= standings.window"                                                                           \
    " AND (?1 IS NULL OR w.board = ?1) AND w.board_deleted_seq IS NULL)"

#define STATEMENTS(X)                                                                              \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                    \
    X(BEGIN_READ, "BEGIN")                                                                         \
    X(COMMIT, "COMMIT")                                                                            \
    X(ROLLBACK, "ROLLBACK")                                                                        \
    X(APPLICATION_ID, "PRAGMA application_id")                                                     \
    X(SCHEMA_VERSION, "PRAGMA user_version")                                                       \
    X(COUNT_TABLES, "SELECT count(*) FROM sqlite_master")                                          \
    X(JOURNAL_MODE, "PRAGMA journal_mode")                                                         \
    X(QUICK_CHECK, "PRAGMA quick_check(1)")                                                        \
    X(ADD_SOURCE, "INSERT INTO source VALUES (1, ifnull(?1, ''), 0, NULL)")                        \
    X(ADOPT_LOG, "UPDATE source SET log_id = ?1 WHERE cursor = 0 AND log_id <> ?1")                \
    X(LOG_ID, "SELECT log_id FROM source")                                                         \
    X(GET_CURSOR, "SELECT cursor, log_time_ms FROM source")                                        \
    X(SET_CURSOR, "UPDATE source SET cursor = ?1, log_time_ms = ?2 WHERE cursor <= ?1")            \
    X(ADD_AUDIT, "INSERT INTO audit (seq, ts_ms, kind, board, player, details, status, rule,"      \
                 " actor_key, actor_player, actor_address, reason, before, after)"                 \
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)")          \
    X(FIND_REFUSALS, "SELECT count, first_seq, last_seq FROM refusals"                             \
                     " WHERE board = ?1 AND rule = ?2 AND minute_ms = ?3")                         \
    X(PUT_REFUSALS, "INSERT OR REPLACE INTO refusals VALUES (?1, ?2, ?3, ?4, ?5, ?6)")             \
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
    X(ADD_SAMPLE,                                                                                  \
      "INSERT OR REPLACE INTO samples (board, player, taken_ms, kind, window_id, seq,"             \
      " place, sparse_rank, dense_rank, entries, score, column1, column2, score_format)"           \
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)")                     \
    X(HIDE, "UPDATE standings INDEXED BY standings_by_player SET hidden = hidden | "               \
            "?3" PLAYERS_STANDINGS)                                                                \
    X(SHOW, "UPDATE standings INDEXED BY standings_by_player SET hidden = hidden & "               \
            "~?3" PLAYERS_STANDINGS)                                                               \
    X(NOTE_HIDE,                                                                                   \
      "INSERT OR IGNORE INTO standing_changes SELECT window, place, ?4, hidden FROM"               \
      " standings INDEXED BY standings_by_player" PLAYERS_STANDINGS " AND hidden & ?3 <> ?3")      \
    X(NOTE_SHOW,                                                                                   \
      "INSERT OR IGNORE INTO standing_changes SELECT window, place, ?4, hidden FROM"               \
      " standings INDEXED BY standings_by_player" PLAYERS_STANDINGS " AND hidden & ?3 <> 0")       \
    X(NOTE_ERASE, "INSERT OR IGNORE INTO standing_changes SELECT window, place, ?2, hidden FROM"   \
                  " standings INDEXED BY standings_by_player WHERE player = ?1 AND NOT erased")    \
    X(DROP_SAMPLES, "UPDATE samples SET dropped_seq = ?3 WHERE board = ?1"                         \
                    " AND (?2 IS NULL OR player = ?2) AND dropped_seq IS NULL")                    \
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
    X(ERASE_SCORES, "DELETE FROM score_rows WHERE player = ?1")                                    \
    X(ERASE_USER_SCORES,                                                                           \
      "WITH RECURSIVE b (board) AS (SELECT min(board) FROM user_scores UNION ALL"                  \
      " SELECT (SELECT min(board) FROM user_scores u WHERE u.board > b.board) FROM b"              \
      " WHERE b.board IS NOT NULL)"                                                                \
      " DELETE FROM user_scores WHERE board IN (SELECT board FROM b) AND player = ?1")             \
    X(EXPIRE_ROWS, "DELETE FROM score_rows WHERE seq IN (SELECT seq FROM (SELECT seq, ts_ms FROM " \
                   "score_rows ORDER BY seq LIMIT ?2) WHERE ts_ms < ?1)")                          \
    X(EXPIRE_SAMPLES, "DELETE FROM samples WHERE taken_ms < ?1")                                   \
    X(EXPIRE_REFUSALS, "DELETE FROM refusals WHERE minute_ms < ?1 - 60000")                        \
    X(OLD_WINDOW, "SELECT window FROM closed_windows WHERE end_ms < ?1 LIMIT 1")                   \
    X(RETIRE_WINDOW, "UPDATE closed_windows SET board_deleted_seq = closed_seq"                    \
                     " WHERE window = ?1 AND board_deleted_seq IS NULL")                           \
    X(EXPIRE_SCOPE_STANDINGS,                                                                      \
      "DELETE FROM scope_standings WHERE (scope, scope_place) IN (SELECT t.scope, t.scope_place"   \
      " FROM (SELECT place FROM standings WHERE window = ?1 ORDER BY place LIMIT ?2) s"            \
      " CROSS JOIN scope_standings t INDEXED BY scope_standings_by_place"                          \
      " ON t.window = ?1 AND t.place = s.place)")                                                  \
    X(EXPIRE_STANDINGS, "DELETE FROM standings WHERE window = ?1 AND place IN (SELECT place FROM " \
                        "standings WHERE window = ?1 ORDER BY place LIMIT ?2)")                    \
    X(EXPIRE_CHANGES, "DELETE FROM standing_changes WHERE window = ?1")                            \
    X(EXPIRE_SCOPES, "DELETE FROM scopes WHERE window = ?1")                                       \
    X(EXPIRE_WINDOW, "DELETE FROM closed_windows WHERE window = ?1")                               \
    X(ERASE_SAMPLES, "DELETE FROM samples WHERE player = ?1")                                      \
    X(ERASE_PLAYER, "DELETE FROM players WHERE player = ?1")                                       \
    X(ERASE_AUDIT, "UPDATE audit SET player = NULL, details = NULL, reason = NULL, before = NULL," \
                   " after = NULL WHERE player = ?1")                                              \
    X(ERASE_ACTOR, "UPDATE audit INDEXED BY audit_by_actor_player SET actor_player = NULL,"        \
                   " actor_address = NULL WHERE actor_player = ?1")                                \
    X(RETIRE_BOARD, "UPDATE closed_windows SET board_deleted_seq = ?2 WHERE board = ?1 AND "       \
                    "board_deleted_seq IS NULL")                                                   \
    X(RETIRE_ALL,                                                                                  \
      "UPDATE closed_windows SET board_deleted_seq = ?1 WHERE board_deleted_seq IS NULL")          \
    X(DROP_ALL_SAMPLES, "UPDATE samples SET dropped_seq = ?1 WHERE dropped_seq IS NULL")           \
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
    X(SCOPE_HIDDEN, "SELECT " SCOPE_RANKS HIDDEN_IN_SCOPES " AND t.scope = ?2 ORDER BY h.place")   \
    X(SCOPE_ROWS, STANDING(SCOPE_RANKS) "scope_standings t CROSS JOIN standings s"                 \
                                        " ON s.window = t.window AND s.place = t.place JOIN "      \
                                        "closed_windows w ON w.window = t.window"                  \
                                        " WHERE t.scope = ?4 AND t.window = ?1 AND t.scope_place " \
                                        ">= ?2 AND " IS_SHOWN " ORDER BY t.scope_place LIMIT ?3")  \
    X(SCOPE_ROW_OF,                                                                                \
      STANDING(SCOPE_RANKS) "standings s INDEXED BY standings_by_player"                           \
                            " CROSS JOIN scope_standings t INDEXED BY scope_standings_by_place"    \
                            " ON t.window = s.window AND t.place = s.place JOIN closed_windows w " \
                            "ON w.window = s.window"                                               \
                            " WHERE s.window = ?1 AND s.player = ?2 AND NOT s.erased"              \
                            " AND t.scope = ?3 AND " IS_SHOWN)                                     \
    X(COUNT_HIDDEN, "SELECT count(*) FROM " HIDDEN_PLACES)                                         \
    X(HIDDEN, "SELECT s.place, s.sparse_rank, s.dense_rank FROM " HIDDEN_PLACES                    \
              " CROSS JOIN standings s ON s.window = ?1 AND s.place = h.place ORDER BY s.place")   \
    X(ERASED_SINCE, "SELECT count(*) FROM standing_changes c CROSS JOIN standings s"               \
                    " USING (window, place) WHERE c.window = ?1 AND c.seq > as_of()"               \
                    " AND s.erased")                                                               \
    X(ROWS, STANDING(RANKS) "standings s JOIN closed_windows w USING (window)"                     \
                            " WHERE s.window = ?1 AND s.place >= ?2 AND " IS_SHOWN                 \
                            " ORDER BY s.place LIMIT ?3")                                          \
    X(ROW_OF,                                                                                      \
      STANDING(RANKS) "standings s INDEXED BY standings_by_player"                                 \
                      " JOIN closed_windows w USING (window)"                                      \
                      " WHERE s.window = ?1 AND s.player = ?2 AND NOT s.erased AND " IS_SHOWN)     \
    X(HISTORY, "SELECT w.end_ms, 0, w.kind, w.window_id, s.place, s.sparse_rank, s.dense_rank, "   \
               "w.entries, s.score,"                                                               \
               " s.column1, s.column2, w.score_format FROM standings s CROSS JOIN closed_windows " \
               "w USING (window)"                                                                  \
               " WHERE s.player = ?2 AND NOT s.erased AND w.board = ?1 AND " WINDOW_IS_THERE       \
               " AND w.end_ms >= ?3 AND w.end_ms < ?4 AND " IS_SHOWN                               \
               " UNION ALL SELECT taken_ms, 1, kind, window_id, place, sparse_rank, dense_rank, "  \
               "entries, score,"                                                                   \
               " column1, column2, score_format FROM samples"                                      \
               " WHERE board = ?1 AND player = ?2 AND taken_ms >= ?3 AND taken_ms < ?4"            \
               " AND " SAMPLE_IS_THERE " ORDER BY 1, 2, 3, 4 LIMIT ?5")                            \
    X(SCORES_BOTH, SCORE_COLUMNS "board = ?1 AND player = ?2" SCORE_RANGE)                         \
    X(SCORES_BOARD, SCORE_COLUMNS "board = ?1 AND ?2 IS NULL" SCORE_RANGE)                         \
    X(SCORES_PLAYER, SCORE_COLUMNS "player = ?2 AND ?1 IS NULL" SCORE_RANGE)                       \
    X(SCORES_BOTH_BACK, SCORE_COLUMNS "board = ?1 AND player = ?2" SCORE_RANGE_BACK)               \
    X(SCORES_BOARD_BACK, SCORE_COLUMNS "board = ?1 AND ?2 IS NULL" SCORE_RANGE_BACK)               \
    X(SCORES_PLAYER_BACK, SCORE_COLUMNS "player = ?2 AND ?1 IS NULL" SCORE_RANGE_BACK)             \
    X(AUDIT, AUDIT_COLUMNS "INDEXED BY audit_by_seq WHERE " AUDIT_MATCH AUDIT_RANGE)               \
    X(AUDIT_BACK, AUDIT_COLUMNS "INDEXED BY audit_by_seq WHERE " AUDIT_MATCH AUDIT_RANGE_BACK)     \
    X(AUDIT_BOARD, AUDIT_COLUMNS "WHERE board = ?1 AND " AUDIT_MATCH AUDIT_RANGE)                  \
    X(AUDIT_BOARD_BACK, AUDIT_COLUMNS "WHERE board = ?1 AND " AUDIT_MATCH AUDIT_RANGE_BACK)        \
    X(AUDIT_PLAYER, AUDIT_COLUMNS "WHERE player = ?2 AND " AUDIT_MATCH AUDIT_RANGE)                \
    X(AUDIT_PLAYER_BACK, AUDIT_COLUMNS "WHERE player = ?2 AND " AUDIT_MATCH AUDIT_RANGE_BACK)      \
    X(AUDIT_ACTOR, AUDIT_COLUMNS "WHERE actor_key = ?3 AND " AUDIT_MATCH AUDIT_RANGE)              \
    X(AUDIT_ACTOR_BACK, AUDIT_COLUMNS "WHERE actor_key = ?3 AND " AUDIT_MATCH AUDIT_RANGE_BACK)

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
    rung_event_store *events;
    bool is_broken;             /* something in this batch failed: Q2 */
    int64_t samples_expired_ms; /* up to when samples and refusals were removed */
    bool has_erased;            /* old names are still in the WAL: truncate it after the commit */
    int64_t as_of_seq;
} sqlite_archive;

static sqlite_archive *self_of(rung_archive *a) {
    return (sqlite_archive *)(void *)a;
}

/* ---- failures ---- */

static rung_status status_of(int rc) {
    if (rc == SQLITE_IOERR_NOMEM)
        return RUNG_ENOMEM;
    if (rc == SQLITE_IOERR_SHMSIZE) /* cannot create the index of the WAL */
        return RUNG_ENOSPC;
    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        return RUNG_ENOMEM;
    case SQLITE_FULL:
        return RUNG_ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return RUNG_EBUSY;
    case SQLITE_DONE: /* an expected row is missing */
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CONSTRAINT: /* a key would occur twice */
    case SQLITE_ERROR:      /* a table is missing */
    case SQLITE_MISMATCH:
        return RUNG_ECORRUPT;
    default:
        return RUNG_EIO;
    }
}

/* The only place where SQLite's codes become ours. */
static rung_status fail(sqlite_archive *a, int rc, const char *what, rung_err *err) {
    bool is_last = a->db && sqlite3_extended_errcode(a->db) == rc;
    a->is_broken = true;
    return RUNG_FAIL_OS(err, status_of(rc), sqlite3_system_errno(a->db),
                        "archive: %s: %s (SQLite %d)", what,
                        is_last ? sqlite3_errmsg(a->db) : sqlite3_errstr(rc), rc);
}

static rung_status no_memory(rung_archive *archive, rung_err *err) {
    return fail(self_of(archive), SQLITE_NOMEM, "reading failed", err);
}

/* ---- using statements ---- */

/* The value of a parameter. Bytes are borrowed until finish(). */
typedef struct argument {
    enum { NOTHING, INTEGER, REAL, TEXT, BLOB } type;
    rung_value number;
    rung_slice bytes;
} argument;

static argument integer(int64_t n) {
    return (argument){.type = INTEGER, .number.i = n};
}

/* An empty text is NULL. */
static argument text(rung_slice bytes) {
    return (argument){.type = bytes.len ? TEXT : NOTHING, .bytes = bytes};
}

static argument word(const char *word) {
    return text(rung_slice_str(word));
}

static argument blob(const void *bytes, size_t len) {
    return (argument){.type = BLOB, .bytes = rung_slice_of(bytes, len)};
}

static argument outcome(int status) {
    return status == RUNG_STATUS_UNKNOWN ? (argument){0}
                                         : word(rung_status_name((rung_status)status));
}

static argument rule(rung_rule rule) {
    return rule == RUNG_RULE_NONE ? (argument){0} : word(rung_rule_words[rule]);
}

static argument score(const rung_archive_values *v, uint32_t i) {
    if (i >= v->count)
        return (argument){0};
    return (argument){.type = v->types[i] == RUNG_SCORE_REAL ? REAL : INTEGER,
                      .number = v->values[i]};
}

/* The three columns of a score. */
#define SCORES(v) score(v, 0), score(v, 1), score(v, 2)

typedef struct use {
    sqlite_archive *a;
    sqlite3_stmt *stmt; /* NULL: could not be prepared */
    int rc;             /* the first failure */
} use;

static void note(use *u, int rc) {
    if (u->rc == SQLITE_OK)
        u->rc = rc;
}

static void bind(use *u, int i, const argument *arg) {
    rung_slice b = arg->bytes;
    switch (arg->type) {
    case INTEGER:
        note(u, sqlite3_bind_int64(u->stmt, i, arg->number.i));
        break;
    case REAL:
        note(u, sqlite3_bind_double(u->stmt, i, arg->number.d));
        break;
    case TEXT:
        note(u, sqlite3_bind_text64(u->stmt, i, b.ptr, b.len, SQLITE_STATIC, SQLITE_UTF8));
        break;
    case BLOB:
        note(u, sqlite3_bind_blob64(u->stmt, i, b.ptr, b.len, SQLITE_STATIC));
        break;
    case NOTHING:
        break;
    }
}

/* The first argument is ?1, and so on. Those beyond the statement's last parameter are ignored. */
static use start(rung_archive *archive, statement which, const argument *args, int count) {
    sqlite_archive *a = self_of(archive);
    use u = {a, a->statements[which], SQLITE_OK};
    if (!u.stmt) {
        u.rc = sqlite3_prepare_v3(a->db, statement_sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                                  &u.stmt, NULL);
        a->statements[which] = u.stmt;
    }
    int room = u.stmt ? sqlite3_bind_parameter_count(u.stmt) : 0;
    for (int i = 0; i < count && i < room; i++)
        bind(&u, i + 1, &args[i]);
    return u;
}

#define ARGUMENTS(...)                                                                             \
    (const argument[]){__VA_ARGS__}, (int)(sizeof((argument[]){__VA_ARGS__}) / sizeof(argument))
#define START(archive, which, ...) start(archive, which, ARGUMENTS(__VA_ARGS__))

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

/* Q1. Returns `st`, or the failure of reading the last row. */
static rung_status finish(use *u, rung_status st, rung_err *err) {
    if (st >= 0 && u->rc != SQLITE_OK)
        st = fail(u->a, u->rc, "reading failed", err);
    if (u->stmt) {              /* NULL: it could not be prepared */
        sqlite3_reset(u->stmt); /* its code repeats the failure of step */
        sqlite3_clear_bindings(u->stmt);
    }
    return st;
}

/* Execute a statement without rows. */
static rung_status run(use u, rung_err *err) {
    rung_status st = finish(&u, step(&u, err), err);
    return st < 0 ? st : RUNG_OK;
}
#define RUN(archive, which, err, ...) run(START(archive, which, __VA_ARGS__), err)

static rung_status run_plain(rung_archive *a, statement which, rung_err *err) {
    return run(start(a, which, NULL, 0), err);
}

/* Reads the current row; notes a failure in `u`. */
typedef void read_row(use *u, void *out);

/* The first row. RUNG_NOT_FOUND: there is none. */
static rung_status find(use u, read_row *read, void *out, rung_err *err) {
    rung_status st = step(&u, err);
    if (st == RUNG_OK)
        read(&u, out);
    return finish(&u, st, err);
}

/* Up to `room` rows into an array with elements of `size` bytes. */
static rung_status list(use u, read_row *read, void *out, size_t size, uint32_t room,
                        uint32_t *count_out, rung_err *err) {
    rung_status st = RUNG_OK;
    uint32_t count = 0;
    while (count < room && u.rc == SQLITE_OK && (st = step(&u, err)) == RUNG_OK)
        read(&u, (char *)out + size * count++);
    st = finish(&u, st, err);
    if (st >= 0)
        *count_out = count;
    return st < 0 ? st : RUNG_OK;
}

/* ---- reading columns ---- */

static int64_t int_at(use *u, int i) {
    return sqlite3_column_int64(u->stmt, i);
}

static uint32_t u32_at(use *u, int i) {
    return (uint32_t)sqlite3_column_int64(u->stmt, i);
}

static bool is_null_at(use *u, int i) {
    return sqlite3_column_type(u->stmt, i) == SQLITE_NULL;
}

/* The text itself, until the next step. */
static rung_slice peek_text(use *u, int i) {
    const void *bytes = sqlite3_column_blob(u->stmt, i);
    return rung_slice_of(bytes, (size_t)sqlite3_column_bytes(u->stmt, i));
}

/* A copy in the arena. */
static rung_slice text_at(use *u, int i) {
    rung_slice text = peek_text(u, i);
    if (!rung__archive_keep(&u->a->port, text.ptr, text.len, &text))
        note(u, SQLITE_NOMEM);
    return text;
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

static rung_rule rule_at(use *u, int i) {
    int rule = is_null_at(u, i) ? RUNG_RULE_NONE : rung_word_find(rung_rule_words, peek_text(u, i));
    if (rule < 0)
        note(u, SQLITE_CORRUPT);
    return rule < 0 ? RUNG_RULE_NONE : (rung_rule)rule;
}

static void read_int(use *u, void *out) {
    *(int64_t *)out = int_at(u, 0);
}

/* ---- a batch ---- */

static rung_status sq_begin(rung_archive *archive, rung_err *err) {
    sqlite_archive *a = self_of(archive);
    a->is_broken = a->has_erased = false;
    if (!sqlite3_get_autocommit(a->db))
        return RUNG_FAIL(err, RUNG_EBUSY, "archive: the batch before has not ended");
    return run_plain(archive, S_BEGIN, err);
}

static rung_status check_events(sqlite_archive *a, int rc, rung_err *err) {
    const char *why = rung_event_store_why(a->events);
    if (rc == SQLITE_OK)
        return RUNG_OK;
    a->is_broken = true;
    if (*why)
        return RUNG_FAIL(err, status_of(rc), "%s", why);
    return fail(a, rc, "reading or writing events failed", err);
}

static rung_status sq_add_score(rung_archive *archive, const rung_archive_score *s, rung_err *err) {
    sqlite_archive *a = self_of(archive);
    return check_events(a, rung_event_store_add(a->events, s), err);
}

static rung_status sq_add_audit(rung_archive *archive, const rung_archive_audit *r, rung_err *err) {
    return RUN(archive, S_ADD_AUDIT, err, integer((int64_t)r->seq),
               r->ts_ms ? integer(r->ts_ms) : (argument){0}, text(r->kind), text(r->board),
               text(r->player), text(r->details), outcome(r->status), rule(r->rule),
               text(r->actor_key), text(r->actor_player), text(r->actor_address), text(r->reason),
               text(r->before), text(r->after));
}

static void read_refusals(use *u, void *out) {
    rung_archive_refusals *r = out;
    r->count = (uint64_t)int_at(u, 0);
    r->first_seq = (uint64_t)int_at(u, 1);
    r->last_seq = (uint64_t)int_at(u, 2);
}

static rung_status sq_find_refusals(rung_archive *archive, rung_archive_refusals *r,
                                    rung_err *err) {
    r->count = r->first_seq = r->last_seq = 0;
    rung_status st =
        find(START(archive, S_FIND_REFUSALS, text(r->board), rule(r->rule), integer(r->minute_ms)),
             read_refusals, r, err);
    return st < 0 ? st : RUNG_OK;
}

static rung_status sq_put_refusals(rung_archive *archive, const rung_archive_refusals *r,
                                   rung_err *err) {
    return RUN(archive, S_PUT_REFUSALS, err, text(r->board), rule(r->rule), integer(r->minute_ms),
               integer((int64_t)r->count), integer((int64_t)r->first_seq),
               integer((int64_t)r->last_seq));
}

static rung_status sq_put_player(rung_archive *archive, uint64_t seq, int64_t ts_ms,
                                 rung_slice player, rung_slice profile, rung_err *err) {
    return RUN(archive, S_PUT_PLAYER, err, text(player), text(profile), integer((int64_t)seq),
               integer(ts_ms));
}

static rung_status add_standing(rung_archive *archive, int64_t window, const rung_archive_row *row,
                                rung_err *err) {
    return RUN(archive, S_ADD_STANDING, err, integer(window), integer(row->place),
               integer(row->sparse), integer(row->dense), text(row->player), integer(row->number),
               SCORES(&row->values), row->has_at ? integer(row->at_ms) : (argument){0},
               integer(row->hidden));
}

static rung_status add_scope(rung_archive *archive, int64_t window, int64_t key,
                             const rung_archive_scope *s, rung_err *err) {
    uint8_t sum[SUM_BYTES];
    rung_put64(sum, (uint64_t)s->team_sum);
    rung_put64(sum + 8, (uint64_t)(s->team_sum >> 64));
    return RUN(archive, S_ADD_SCOPE, err, integer(key), integer(window), text(s->attribute),
               text(s->value), integer(s->total), integer(s->distinct),
               s->is_team ? blob(sum, sizeof sum) : (argument){0});
}

/* Keys are assigned in order: `*last_out` is the one before the first. */
static rung_status add_scopes(rung_archive *archive, int64_t window,
                              const rung_archive_scope *scopes, uint32_t count, int64_t *last_out,
                              rung_err *err) {
    rung_status st = find(start(archive, S_LAST_SCOPE, NULL, 0), read_int, last_out, err);
    for (uint32_t i = 0; st >= 0 && i < count; i++)
        st = add_scope(archive, window, *last_out + 1 + i, &scopes[i], err);
    return st;
}

static rung_status add_scope_standings(rung_archive *archive, int64_t window, int64_t last_scope,
                                       const rung_archive_row *row, rung_err *err) {
    rung_status st = RUNG_OK;
    for (uint32_t i = 0; st >= 0 && i < row->scope_count; i++) {
        const rung_archive_scope_rank *r = &row->scopes[i];
        st = RUN(archive, S_ADD_SCOPE_STANDING, err, integer(last_scope + 1 + r->scope),
                 integer(r->place), integer(r->sparse), integer(r->dense), integer(window),
                 integer(row->place));
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
    st = RUN(archive, S_ADD_WINDOW, err, text(w->board), word(rung_window_words[w->kind]),
             text(w->id), integer(w->start_ms), integer(w->end_ms), integer((int64_t)w->closed_seq),
             integer(w->closed_ms), integer(w->total), integer(w->distinct),
             word(rung_rank_words[w->rank]), integer(rung_score_format_of(&format)),
             blob(w->definition.ptr, w->definition.len));
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
    const rung_archive_point *p = &s->point;
    return RUN(archive, S_ADD_SAMPLE, err, text(s->board), text(s->player), integer(p->time_ms),
               word(rung_window_words[p->kind]), text(p->window_id), integer((int64_t)s->seq),
               integer(p->place), integer(p->sparse), integer(p->dense), integer(p->total),
               SCORES(&p->values), integer(rung_score_format_of(&p->values)));
}

static rung_status sq_hide(rung_archive *archive, uint64_t seq, rung_slice board, rung_slice player,
                           uint32_t bit, bool on, rung_err *err) {
    rung_status st = RUN(archive, on ? S_NOTE_HIDE : S_NOTE_SHOW, err, text(board), text(player),
                         integer(bit), integer((int64_t)seq));
    if (st >= 0)
        st = RUN(archive, on ? S_HIDE : S_SHOW, err, text(board), text(player), integer(bit));
    if (st < 0 || bit != RUNG_HIDDEN_REMOVED)
        return st;
    return RUN(archive, S_DROP_SAMPLES, err, text(board), text(player), integer((int64_t)seq));
}

static rung_status sq_erase(rung_archive *archive, uint64_t seq, rung_slice player, rung_err *err) {
    static const statement all[] = {S_ERASE_SCOPES, /* while the standings still have the name */
                                    S_NOTE_ERASE,        S_ERASE_STANDINGS, S_ERASE_SCORES,
                                    S_ERASE_USER_SCORES, S_ERASE_SAMPLES,   S_ERASE_PLAYER,
                                    S_ERASE_AUDIT,       S_ERASE_ACTOR};
    rung_status st = RUNG_OK;
    sqlite_archive *a = self_of(archive);
    for (size_t i = 0; st >= 0 && i < sizeof all / sizeof *all; i++)
        st = RUN(archive, all[i], err, text(player), integer((int64_t)seq));
    a->has_erased = true;
    return st < 0 ? st : check_events(a, rung_event_store_erase(a->events, player), err);
}

static rung_status sq_retire_board(rung_archive *archive, rung_slice board, uint64_t seq,
                                   rung_err *err) {
    rung_status st = RUN(archive, S_RETIRE_BOARD, err, text(board), integer((int64_t)seq));
    return st < 0 ? st
                  : RUN(archive, S_DROP_SAMPLES, err, text(board), (argument){0},
                        integer((int64_t)seq));
}

static rung_status sq_retire_all(rung_archive *archive, uint64_t seq, rung_err *err) {
    rung_status st = RUN(archive, S_RETIRE_ALL, err, integer((int64_t)seq));
    return st < 0 ? st : RUN(archive, S_DROP_ALL_SAMPLES, err, integer((int64_t)seq));
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
    rung_status st = check_events(a, rung_event_store_flush(a->events), err);
    if (st >= 0)
        st = RUN(archive, S_SET_CURSOR, err, integer((int64_t)seq), integer(log_time_ms));
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
    rung_event_store_reset(a->events);
    if (!sqlite3_get_autocommit(a->db)) /* some failures have rolled back already */
        rung_ignore(run_plain(archive, S_ROLLBACK, NULL), "what is not committed is not there");
    if (!sqlite3_get_autocommit(a->db)) /* the statement could not even be prepared */
        sqlite3_exec(a->db, "ROLLBACK", NULL, NULL, NULL);
    a->is_broken = a->has_erased = false;
}

/* ---- upkeep ---- */

enum { EXPIRE_BLOCKS = 16, EXPIRE_ROWS = 4000, EXPIRE_EVERY_MS = 3600000 };

/* Remove some standings of a window, and the window itself after the last. Nobody is shown a part of it. */
static rung_status expire_window(rung_archive *archive, int64_t window, rung_err *err) {
    sqlite_archive *a = self_of(archive);
    rung_status st = RUN(archive, S_RETIRE_WINDOW, err, integer(window));
    if (st >= 0)
        st = RUN(archive, S_EXPIRE_SCOPE_STANDINGS, err, integer(window), integer(EXPIRE_ROWS));
    if (st >= 0)
        st = RUN(archive, S_EXPIRE_STANDINGS, err, integer(window), integer(EXPIRE_ROWS));
    if (st < 0 || sqlite3_changes(a->db) == EXPIRE_ROWS)
        return st;
    st = RUN(archive, S_EXPIRE_CHANGES, err, integer(window));
    if (st >= 0)
        st = RUN(archive, S_EXPIRE_SCOPES, err, integer(window));
    return st < 0 ? st : RUN(archive, S_EXPIRE_WINDOW, err, integer(window));
}

/* There is no index by time for these; they are few. */
static rung_status expire_samples(rung_archive *archive, int64_t before_ms, rung_err *err) {
    sqlite_archive *a = self_of(archive);
    if (before_ms - EXPIRE_EVERY_MS < a->samples_expired_ms)
        return RUNG_OK;
    rung_status st = RUN(archive, S_EXPIRE_SAMPLES, err, integer(before_ms));
    if (st >= 0)
        st = RUN(archive, S_EXPIRE_REFUSALS, err, integer(before_ms));
    if (st >= 0)
        a->samples_expired_ms = before_ms;
    return st;
}

static rung_status expire(rung_archive *archive, int64_t before_ms, bool *more, rung_err *err) {
    sqlite_archive *a = self_of(archive);
    uint32_t blocks = 0;
    int64_t window = 0;
    rung_status st =
        check_events(a, rung_event_store_expire(a->events, before_ms, EXPIRE_BLOCKS, &blocks), err);
    if (st >= 0)
        st = RUN(archive, S_EXPIRE_ROWS, err, integer(before_ms), integer(EXPIRE_ROWS));
    *more = blocks == EXPIRE_BLOCKS || (st >= 0 && sqlite3_changes(a->db) == EXPIRE_ROWS);
    if (st >= 0)
        st = expire_samples(archive, before_ms, err);
    if (st >= 0)
        st = find(START(archive, S_OLD_WINDOW, integer(before_ms)), read_int, &window, err);
    if (st != RUNG_OK)
        return st < 0 ? st : RUNG_OK;
    *more = true;
    return expire_window(archive, window, err);
}

static rung_status sq_upkeep(rung_archive *archive, int64_t before_ms, bool *more_out,
                             rung_err *err) {
    sqlite_archive *a = self_of(archive);
    bool is_more = false, has_scores = false;
    rung_status st = sq_begin(archive, err);
    if (st < 0)
        return st;
    if (before_ms != INT64_MIN)
        st = expire(archive, before_ms, &is_more, err);
    if (st >= 0)
        st = check_events(a, rung_user_scores_step(a->db, a->events, archive->alloc, &has_scores),
                          err);
    if (st >= 0)
        st = run_plain(archive, S_COMMIT, err);
    if (st < 0)
        sq_rollback(archive);
    *more_out = is_more || has_scores;
    return st;
}

/* ---- questions ---- */

static int64_t min_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static rung_status sq_cursor(rung_archive *archive, uint64_t *seq_out, int64_t *log_time_ms_out,
                             rung_err *err) {
    use u = start(archive, S_GET_CURSOR, NULL, 0);
    rung_status st = step(&u, err);
    if (st == RUNG_OK) {
        *seq_out = (uint64_t)min_of(int_at(&u, 0), self_of(archive)->as_of_seq);
        if (log_time_ms_out)
            *log_time_ms_out = is_null_at(&u, 1) ? INT64_MIN : int_at(&u, 1);
    } else if (st == RUNG_NOT_FOUND) {
        st = RUNG_FAIL(err, RUNG_ECORRUPT, "archive: it has lost its cursor");
    }
    return finish(&u, st, err);
}

static rung_status sq_read_begin(rung_archive *archive, rung_err *err) {
    return run_plain(archive, S_BEGIN_READ, err);
}

/* The columns of WINDOW_COLUMNS. */
static void read_window(use *u, void *out) {
    int kind = rung_word_find(rung_window_words, peek_text(u, 2));
    int style = rung_word_find(rung_rank_words, peek_text(u, 10));
    if (kind < 0 || style < 0)
        note(u, SQLITE_CORRUPT);
    *(rung_archive_window *)out = (rung_archive_window){.key = int_at(u, 0),
                                                        .board = text_at(u, 1),
                                                        .kind = (uint32_t)kind,
                                                        .id = text_at(u, 3),
                                                        .start_ms = int_at(u, 4),
                                                        .end_ms = int_at(u, 5),
                                                        .closed_seq = (uint64_t)int_at(u, 6),
                                                        .closed_ms = int_at(u, 7),
                                                        .total = u32_at(u, 8),
                                                        .distinct = u32_at(u, 9),
                                                        .rank = (rung_rank_style)style,
                                                        .definition = text_at(u, 11),
                                                        .has_scopes = int_at(u, 12) != 0};
}

static rung_status sq_find_window(rung_archive *archive, rung_slice board, uint32_t kind,
                                  rung_slice id, rung_archive_window *out, rung_err *err) {
    rung_status st =
        find(START(archive, S_FIND_WINDOW, text(board), word(rung_window_words[kind]), text(id)),
             read_window, out, err);
    if (st == RUNG_NOT_FOUND)
        RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "window", "it is not in the archive");
    int64_t erased = 0;
    if (st == RUNG_OK && self_of(archive)->as_of_seq != INT64_MAX)
        st = find(START(archive, S_ERASED_SINCE, integer(out->key)), read_int, &erased, err);
    return st == RUNG_OK && erased ? rung__archive_fail_erased(err) : st;
}

static rung_status sq_windows(rung_archive *archive, rung_slice board, uint32_t kind,
                              int64_t before_end_ms, uint32_t limit, rung_archive_window *out,
                              uint32_t *count_out, rung_err *err) {
    uint32_t count;
    rung_status st = list(START(archive, S_WINDOWS, text(board),
                                kind ? word(rung_window_words[kind]) : (argument){0},
                                integer(before_end_ms), integer(limit)),
                          read_window, out, sizeof *out, limit, &count, err);
    for (uint32_t i = 0; st >= 0 && i < count; i++) {
        int64_t hidden = 0;
        st = find(START(archive, S_COUNT_HIDDEN, integer(out[i].key)), read_int, &hidden, err);
        out[i].total -= (uint32_t)hidden;
    }
    if (st < 0)
        return st;
    *count_out = count;
    return RUNG_OK;
}

static void read_scope(use *u, void *out) {
    *(rung_archive_scope *)out =
        (rung_archive_scope){.key = int_at(u, 0), .total = u32_at(u, 1), .distinct = u32_at(u, 2)};
}

static rung_status sq_find_scope(rung_archive *archive, int64_t window, rung_slice attribute,
                                 rung_slice value, rung_archive_scope *out, rung_err *err) {
    return find(START(archive, S_FIND_SCOPE, integer(window), text(attribute), text(value)),
                read_scope, out, err);
}

static __int128 sum_at(use *u, int i) {
    uint8_t sum[SUM_BYTES] = {0};
    rung_slice bytes = peek_text(u, i);
    rung_bytes_copy(sum, bytes.ptr, bytes.len < SUM_BYTES ? bytes.len : SUM_BYTES);
    return (__int128)((unsigned __int128)rung_get64(sum + 8) << 64 | rung_get64(sum));
}

static void read_scope_of_attribute(use *u, void *out) {
    *(rung_archive_scope *)out = (rung_archive_scope){.key = int_at(u, 0),
                                                      .value = text_at(u, 1),
                                                      .total = u32_at(u, 2),
                                                      .distinct = u32_at(u, 3),
                                                      .is_team = !is_null_at(u, 4),
                                                      .team_sum = sum_at(u, 4),
                                                      .hidden = u32_at(u, 5)};
}

/* All rows of a statement, in the arena; `count` returns their number. */
static rung_status list_all(rung_archive *archive, use count, use rows, read_row *read, size_t size,
                            void **out, uint32_t *count_out, rung_err *err) {
    int64_t room = 0;
    rung_status st = find(count, read_int, &room, err);
    void *all = st < 0 ? NULL : rung__archive_get(archive, ((size_t)room + 1) * size);
    if (st >= 0 && !all)
        st = no_memory(archive, err);
    if (st < 0)
        return finish(&rows, st, err);
    *out = all;
    return list(rows, read, all, size, (uint32_t)room, count_out, err);
}

static rung_status sq_scopes(rung_archive *archive, int64_t window, rung_slice attribute,
                             rung_archive_scope **scopes_out, uint32_t *count_out, rung_err *err) {
    void *all;
    rung_status st =
        list_all(archive, START(archive, S_COUNT_SCOPES, integer(window), text(attribute)),
                 START(archive, S_SCOPES, integer(window), text(attribute)),
                 read_scope_of_attribute, sizeof **scopes_out, &all, count_out, err);
    if (st == RUNG_OK)
        *scopes_out = all;
    return st;
}

static void read_ranks(use *u, void *out) {
    *(rung_archive_row *)out =
        (rung_archive_row){.place = u32_at(u, 0), .sparse = u32_at(u, 1), .dense = u32_at(u, 2)};
}

static rung_status sq_hidden(rung_archive *archive, const rung_archive_ranking *r,
                             rung_archive_row **rows_out, uint32_t *count_out, rung_err *err) {
    void *all;
    rung_status st = list_all(
        archive,
        START(archive, r->scope ? S_COUNT_SCOPE_HIDDEN : S_COUNT_HIDDEN, integer(r->window),
              integer(r->scope)),
        START(archive, r->scope ? S_SCOPE_HIDDEN : S_HIDDEN, integer(r->window), integer(r->scope)),
        read_ranks, sizeof **rows_out, &all, count_out, err);
    if (st == RUNG_OK)
        *rows_out = all;
    return st;
}

/* The columns of STANDING(). */
static void read_standing(use *u, void *out) {
    *(rung_archive_row *)out = (rung_archive_row){.place = u32_at(u, 0),
                                                  .sparse = u32_at(u, 1),
                                                  .dense = u32_at(u, 2),
                                                  .number = u32_at(u, 3),
                                                  .player = text_at(u, 4),
                                                  .values = values_at(u, 5, int_at(u, 9)),
                                                  .has_at = !is_null_at(u, 8),
                                                  .at_ms = int_at(u, 8)};
}

static rung_status sq_rows(rung_archive *archive, const rung_archive_ranking *r,
                           uint32_t from_place, uint32_t limit, rung_archive_row *out,
                           uint32_t *count_out, rung_err *err) {
    return list(START(archive, r->scope ? S_SCOPE_ROWS : S_ROWS, integer(r->window),
                      integer(from_place), integer(limit), integer(r->scope)),
                read_standing, out, sizeof *out, limit, count_out, err);
}

static rung_status sq_row_of(rung_archive *archive, const rung_archive_ranking *r,
                             rung_slice player, rung_archive_row *out, rung_err *err) {
    return find(START(archive, r->scope ? S_SCOPE_ROW_OF : S_ROW_OF, integer(r->window),
                      text(player), integer(r->scope)),
                read_standing, out, err);
}

static void read_point(use *u, void *out) {
    int kind = rung_word_find(rung_window_words, peek_text(u, 2));
    *(rung_archive_point *)out = (rung_archive_point){.time_ms = int_at(u, 0),
                                                      .is_sample = int_at(u, 1),
                                                      .kind = kind < 0 ? 0 : (uint32_t)kind,
                                                      .window_id = text_at(u, 3),
                                                      .place = u32_at(u, 4),
                                                      .sparse = u32_at(u, 5),
                                                      .dense = u32_at(u, 6),
                                                      .total = u32_at(u, 7),
                                                      .values = values_at(u, 8, int_at(u, 11))};
}

static rung_status sq_history(rung_archive *archive, rung_slice board, rung_slice player,
                              int64_t from_ms, int64_t to_ms, uint32_t limit,
                              rung_archive_point *out, uint32_t *count_out, rung_err *err) {
    return list(START(archive, S_HISTORY, text(board), text(player), integer(from_ms),
                      integer(to_ms), integer(limit)),
                read_point, out, sizeof *out, limit, count_out, err);
}

static void read_score(use *u, void *out) {
    *(rung_archive_score *)out =
        (rung_archive_score){.seq = (uint64_t)int_at(u, 0),
                             .board = text_at(u, 1),
                             .player = text_at(u, 2),
                             .is_delta = rung_slice_eq(peek_text(u, 3), RUNG_SLICE("delta")),
                             .values = values_at(u, 4, int_at(u, 7)),
                             .at_ms = int_at(u, 8),
                             .has_at = int_at(u, 9),
                             .ts_ms = int_at(u, 10),
                             .id = text_at(u, 11),
                             .meta = text_at(u, 12),
                             .status = status_at(u, 13),
                             .rule = rule_at(u, 14),
                             .has_result = !is_null_at(u, 18),
                             .result = values_at(u, 15, int_at(u, 18))};
}

static statement scores_statement(const rung_archive_score_query *q) {
    if (!q->player.len)
        return q->newest_first ? S_SCORES_BOARD_BACK : S_SCORES_BOARD;
    if (!q->board.len)
        return q->newest_first ? S_SCORES_PLAYER_BACK : S_SCORES_PLAYER;
    return q->newest_first ? S_SCORES_BOTH_BACK : S_SCORES_BOTH;
}

/* A page of scores in the making: the best `count` so far, in order. */
typedef struct page {
    sqlite_archive *a;
    rung_archive_score *out;
    uint32_t count, limit;
    bool newest_first;
    bool has_after;
    rung_archive_score after; /* only at, seq and part */
    rung_event_filter filter;
} page;

static int compare_places(const rung_archive_score *a, const rung_archive_score *b) {
    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms ? -1 : 1;
    if (a->seq != b->seq)
        return a->seq < b->seq ? -1 : 1;
    return (a->part > b->part) - (a->part < b->part);
}

/* Does `a` come before `b` on the page? */
static bool is_before(const page *p, const rung_archive_score *a, const rung_archive_score *b) {
    int order = compare_places(a, b);
    return p->newest_first ? order > 0 : order < 0;
}

static bool keep_texts(sqlite_archive *a, rung_archive_score *s) {
    rung_slice *const texts[] = {&s->board, &s->player, &s->id, &s->meta};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!rung__archive_keep(&a->port, texts[i]->ptr, texts[i]->len, texts[i]))
            return false;
    return true;
}

/* Insert the event if it belongs on the page. */
static int offer(page *p, const rung_archive_score *s) {
    bool is_full = p->count == p->limit;
    if ((p->has_after && !is_before(p, &p->after, s)) ||
        (is_full && !is_before(p, s, &p->out[p->count - 1])))
        return SQLITE_OK;
    rung_archive_score kept = *s;
    if (!keep_texts(p->a, &kept))
        return SQLITE_NOMEM;
    uint32_t low = 0, high = p->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (is_before(p, &p->out[middle], s))
            low = middle + 1;
        else
            high = middle;
    }
    p->count += !is_full;
    memmove(&p->out[low + 1], &p->out[low], (p->count - low - 1) * sizeof *p->out);
    p->out[low] = kept;
    return SQLITE_OK;
}

static int by_first(const void *a, const void *b) {
    const rung_event_span *x = a, *y = b;
    return (x->min_at_ms > y->min_at_ms) - (x->min_at_ms < y->min_at_ms);
}

static int by_last(const void *a, const void *b) {
    const rung_event_span *x = a, *y = b;
    return (x->max_at_ms < y->max_at_ms) - (x->max_at_ms > y->max_at_ms);
}

/* Can none of the block's events, or of those sorted behind it, be on the page any more? */
static bool is_beyond(const page *p, const rung_event_span *span) {
    if (p->count < p->limit)
        return false;
    int64_t worst = p->out[p->count - 1].at_ms;
    return p->newest_first ? span->max_at_ms < worst : span->min_at_ms > worst;
}

static int offer_block(page *p, uint32_t block) {
    rung_archive_score s;
    int rc = rung_event_store_open(p->a->events, block);
    while (rc == SQLITE_OK &&
           (rc = rung_event_store_next(p->a->events, &p->filter, &s)) == SQLITE_ROW)
        rc = offer(p, &s);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Blocks in the order of the page, as many as it takes. */
static int offer_blocks(page *p) {
    rung_event_span *spans;
    uint32_t count;
    int rc = rung_event_store_find(p->a->events, &p->filter, &spans, &count);
    if (rc == SQLITE_OK && count)
        qsort(spans, count, sizeof *spans, p->newest_first ? by_last : by_first);
    for (uint32_t i = 0; rc == SQLITE_OK && i < count && !is_beyond(p, &spans[i]); i++)
        rc = offer_block(p, spans[i].block);
    return rc;
}

/* The page from the rows of older versions alone. */
static rung_status list_rows(page *p, const rung_archive_score_query *q, rung_err *err) {
    const rung_event_filter *f = &p->filter;
    int64_t after_ms = q->after_seq ? q->after_at_ms : q->newest_first ? INT64_MAX : INT64_MIN;
    /* They have no parts. */
    int64_t after_seq = (int64_t)q->after_seq;
    if (q->after_seq && q->after_part && q->newest_first)
        after_seq++;
    return list(START(&p->a->port, scores_statement(q), text(q->board), text(q->player),
                      integer(f->from_ms), integer(f->to_ms), integer(after_ms), integer(after_seq),
                      integer(p->limit)),
                read_score, p->out, sizeof *p->out, p->limit, &p->count, err);
}

static rung_status sq_scores(rung_archive *archive, const rung_archive_score_query *q,
                             uint32_t limit, rung_archive_score *out, uint32_t *count_out,
                             rung_err *err) {
    bool is_always = q->from_ms == 0 && q->to_ms == 0;
    sqlite_archive *a = self_of(archive);
    page p = {.a = a,
              .out = out,
              .limit = limit,
              .newest_first = q->newest_first,
              .has_after = q->after_seq != 0,
              .after = {.at_ms = q->after_at_ms, .seq = q->after_seq, .part = q->after_part},
              .filter = {.board = q->board,
                         .player = q->player,
                         .from_ms = is_always ? INT64_MIN : q->from_ms,
                         .to_ms = is_always ? INT64_MAX : q->to_ms - 1,
                         .to_seq = UINT64_MAX}};
    *count_out = 0;
    if (limit == 0 || p.filter.from_ms > p.filter.to_ms)
        return RUNG_OK;
    if (p.has_after && q->newest_first && q->after_at_ms < p.filter.to_ms)
        p.filter.to_ms = q->after_at_ms;
    if (p.has_after && !q->newest_first && q->after_at_ms > p.filter.from_ms)
        p.filter.from_ms = q->after_at_ms;
    rung_status st = list_rows(&p, q, err);
    if (st >= 0)
        st = check_events(a, offer_blocks(&p), err);
    if (st >= 0)
        *count_out = p.count;
    return st;
}

static void read_audit(use *u, void *out) {
    *(rung_archive_audit *)out = (rung_archive_audit){.seq = (uint64_t)int_at(u, 0),
                                                      .entry = (uint64_t)int_at(u, 1),
                                                      .ts_ms = int_at(u, 2),
                                                      .kind = text_at(u, 3),
                                                      .board = text_at(u, 4),
                                                      .player = text_at(u, 5),
                                                      .details = text_at(u, 6),
                                                      .status = status_at(u, 7),
                                                      .rule = rule_at(u, 8),
                                                      .actor_key = text_at(u, 9),
                                                      .actor_player = text_at(u, 10),
                                                      .actor_address = text_at(u, 11),
                                                      .reason = text_at(u, 12),
                                                      .before = text_at(u, 13),
                                                      .after = text_at(u, 14)};
}

static statement audit_statement(const rung_archive_audit_query *q) {
    if (q->player.len)
        return q->newest_first ? S_AUDIT_PLAYER_BACK : S_AUDIT_PLAYER;
    if (q->board.len)
        return q->newest_first ? S_AUDIT_BOARD_BACK : S_AUDIT_BOARD;
    if (q->actor.len)
        return q->newest_first ? S_AUDIT_ACTOR_BACK : S_AUDIT_ACTOR;
    return q->newest_first ? S_AUDIT_BACK : S_AUDIT;
}

static rung_status sq_audit(rung_archive *archive, const rung_archive_audit_query *q,
                            uint32_t limit, rung_archive_audit *out, uint32_t *count_out,
                            rung_err *err) {
    bool is_always = q->from_ms == 0 && q->to_ms == 0;
    bool is_last = q->newest_first && q->after_seq == 0; /* the first page, from the end */
    return list(START(archive, audit_statement(q), text(q->board), text(q->player), text(q->actor),
                      text(q->kind), is_always ? (argument){0} : integer(q->from_ms),
                      integer(q->to_ms), integer(is_last ? INT64_MAX : (int64_t)q->after_seq),
                      integer(is_last ? INT64_MAX : (int64_t)q->after_entry), integer(limit)),
                read_audit, out, sizeof *out, limit, count_out, err);
}

/* ---- life ---- */

static void sq_close(rung_archive *archive) {
    sqlite_archive *a = self_of(archive);
    for (int i = 0; i < S_COUNT; i++)
        sqlite3_finalize(a->statements[i]);
    rung_event_store_destroy(a->events);
    int rc = sqlite3_close(a->db); /* undoes an open batch */
    RUNG_ASSERT(rc == SQLITE_OK);
    rung__archive_forget(archive);
    rung_alloc_free(archive->alloc, a, sizeof *a);
}

static const rung_archive_ops sqlite_ops = {
    .begin = sq_begin,
    .add_score = sq_add_score,
    .add_audit = sq_add_audit,
    .find_refusals = sq_find_refusals,
    .put_refusals = sq_put_refusals,
    .put_player = sq_put_player,
    .add_window = sq_add_window,
    .add_sample = sq_add_sample,
    .hide = sq_hide,
    .erase = sq_erase,
    .retire_board = sq_retire_board,
    .retire_all = sq_retire_all,
    .commit = sq_commit,
    .rollback = sq_rollback,
    .upkeep = sq_upkeep,
    .cursor = sq_cursor,
    .read_begin = sq_read_begin,
    .read_end = sq_rollback,
    .find_window = sq_find_window,
    .windows = sq_windows,
    .find_scope = sq_find_scope,
    .scopes = sq_scopes,
    .hidden = sq_hidden,
    .rows = sq_rows,
    .row_of = sq_row_of,
    .history = sq_history,
    .scores = sq_scores,
    .audit = sq_audit,
    .close = sq_close,
};

/* ---- opening ---- */

static rung_status exec(sqlite_archive *a, const char *sql, rung_err *err) {
    int rc = sqlite3_exec(a->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? RUNG_OK : fail(a, rc, "opening failed", err);
}

/* The file's version; refuses what is not ours. */
static rung_status check_version(sqlite_archive *a, int64_t *version_out, rung_err *err) {
    static const statement questions[] = {S_APPLICATION_ID, S_SCHEMA_VERSION, S_COUNT_TABLES};
    int64_t answers[3] = {0};
    for (int i = 0; i < 3; i++) {
        rung_status st = find(start(&a->port, questions[i], NULL, 0), read_int, &answers[i], err);
        if (st < 0)
            return st;
    }
    int64_t id = answers[0], version = answers[1], tables = answers[2];
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
    if (st == RUNG_OK && version == 0)
        st = RUN(&a->port, S_ADD_SOURCE, err, text(log_id));
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

/* A first start that was interrupted leaves an empty archive, named after a log that was never written. */
static rung_status adopt_log(sqlite_archive *a, rung_slice log_id, rung_err *err) {
    return log_id.len ? RUN(&a->port, S_ADOPT_LOG, err, text(log_id)) : RUNG_OK;
}

static void read_text(use *u, void *out) {
    *(rung_slice *)out = text_at(u, 0);
}

static rung_status check_log_id(sqlite_archive *a, rung_slice log_id, rung_err *err) {
    rung_slice have = {0};
    if (log_id.len == 0)
        return RUNG_OK;
    rung_status st = find(start(&a->port, S_LOG_ID, NULL, 0), read_text, &have, err);
    if (st == RUNG_OK && have.len && !rung_slice_eq(have, log_id))
        st = RUNG_FAIL(err, RUNG_ECONFLICT, "archive: it follows another log (%.*s)", (int)have.len,
                       have.ptr);
    else if (st == RUNG_NOT_FOUND)
        st = RUNG_FAIL(err, RUNG_ECORRUPT, "archive: it has lost its cursor");
    rung__archive_forget(&a->port);
    return st;
}

/* SQLite would create a world-readable file. It gives the files beside it the mode of this one. */
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

/* The SQL function as_of(). */
static void tell_as_of(sqlite3_context *ctx, int count, sqlite3_value **values) {
    const sqlite_archive *a = sqlite3_user_data(ctx);
    (void)count, (void)values;
    sqlite3_result_int64(ctx, a->as_of_seq);
}

static int register_functions(sqlite_archive *a) {
    int rc = rung_event_table_register(a->db);
    return rc != SQLITE_OK
               ? rc
               : sqlite3_create_function_v2(a->db, "as_of", 0, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                            a, tell_as_of, NULL, NULL, NULL);
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
    a->events = rung_event_store_create(a->db, c->alloc);
    if (!a->events)
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    sqlite3_extended_result_codes(a->db, 1);
    rc = register_functions(a);
    if (rc != SQLITE_OK)
        return fail(a, rc, c->path, err);
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
    rung_slice mode = {0};
    rung_status st = find(start(&a->port, S_JOURNAL_MODE, NULL, 0), read_text, &mode, err);
    if (st == RUNG_OK && !rung_slice_eq(mode, RUNG_SLICE("wal")))
        st = RUNG_FAIL(err, RUNG_EUNSUPPORTED,
                       "archive: this disk does not allow SQLite's WAL mode");
    return st;
}

/* The WAL may have frames whose sync failed in an earlier run: the page cache shows them, and the disk never got them.
 * After a power cut everything behind them would be lost. So the WAL is emptied into the file, which writes and syncs
 * every page, before anything is added. Without space it stays as it is. */
static rung_status write_again(sqlite_archive *a, rung_err *err) {
    rung_status st = exec(a, "PRAGMA wal_checkpoint(TRUNCATE)", err);
    return st == RUNG_ENOSPC ? RUNG_OK : st;
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
        if (st == RUNG_OK)
            st = adopt_log(a, c->log_id, err);
        if (st == RUNG_OK)
            st = write_again(a, err);
    }
    return st == RUNG_OK ? check_log_id(a, c->log_id, err) : st;
}

rung_status rung_sqlite_archive_open(const rung_sqlite_archive_config *config,
                                     rung_archive **archive_out, rung_err *err) {
    sqlite_archive *a = rung_alloc_zeroed(config->alloc, sizeof *a);
    if (!a)
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    a->port = (rung_archive){.ops = &sqlite_ops, .alloc = config->alloc};
    a->as_of_seq = config->as_of_seq ? (int64_t)config->as_of_seq : INT64_MAX;
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
    use u = start(archive, S_QUICK_CHECK, NULL, 0);
    rung_status st = step(&u, err);
    rung_slice found = st == RUNG_OK ? peek_text(&u, 0) : (rung_slice){0};
    if (u.rc == SQLITE_INTERRUPT)
        st = RUNG_ECLOSED;
    else if (st == RUNG_OK && !rung_slice_eq(found, RUNG_SLICE("ok")))
        st = RUNG_FAIL(err, RUNG_ECORRUPT, "archive: %.*s", (int)found.len, found.ptr);
    st = finish(&u, st, err);
    if (st != RUNG_OK)
        return st;
    int rc = rung_event_store_check(self_of(archive)->events);
    return rc == SQLITE_INTERRUPT ? RUNG_ECLOSED : check_events(self_of(archive), rc, err);
}

void rung_sqlite_archive_interrupt(rung_archive *archive) {
    sqlite3_interrupt(self_of(archive)->db);
}
