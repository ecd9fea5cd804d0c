/* SPDX-License-Identifier: Apache-2.0 */
/* One connection. What a batch adds is collected in memory in PostgreSQL's binary form and sent with COPY, or as
 * arrays to an INSERT that replaces; at the end of the batch, when there is much of it, and before a statement that
 * changes rows.
 *
 * Invariants:
 *   P1  A batch is one transaction of one session. It holds the advisory lock and the row of the cursor. After any
 *       failure in it nothing of it is kept: commit is refused until rollback was called.
 *   P2  The cursor only moves forward, in the transaction that holds what it covers.
 *   P3  is_ready, has_lock and `months` are true of the connection that is open now, and of no other.
 *
 * Scores are numeric and have their decimals. score_format tells their types, as in the SQLite archive: byte i (from
 * the lowest) has the type of value i in bits 0 to 3 and its decimals in bits 4 to 7; byte 3 has the number of
 * values. */
#include "archive/postgres/postgres_archive.h"

#include "archive/postgres/connection.h"
#include "archive/postgres/copy_row.h"
#include "archive/postgres/expire.h"
#include "archive/postgres/schema.h"
#include "archive/postgres/url.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "model/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SUM_BYTES = 16,
    READ_MS_DEFAULT = 5000,
    WRITE_MS_DEFAULT = 120000,
    OPEN_MS = 5000,       /* for the writer to connect */
    LEAVE_MS = 500,       /* to give the lock back */
    AWAY_MS = 1000,       /* after a failure to connect, questions fail at once for this long */
    SERVER_MIN = 140000,  /* numeric has infinities since 14 */
    MONTHS_MAX = 64,      /* partitions known to exist */
    SAMPLE_ROWS = 4096,   /* sent at once */
    KEEP_BYTES = 1 << 20, /* of a buffer between batches */
    EXPIRE_EVERY_MS = 3600000, /* of log time, for what has no index by time */
    EXPIRE_LOOK_MS = 60000,
};
#define SEND_BYTES ((size_t)4 << 20)
#define LOCK_CLASS "1381321319" /* "RUng" */
#define LOCK_KEY   LOCK_CLASS ", hashtext(current_schema())"

/* ---- statements ---- */

#define STANDING(ranks)                                                                            \
    "SELECT " ranks ", s.player_number, s.player, s.score, s.column1, s.column2, s.at_ms,"         \
    " w.score_format FROM "
#define RANKS       "s.place, s.sparse_rank, s.dense_rank"
#define SCOPE_RANKS "t.scope_place, t.sparse_rank, t.dense_rank"
#define WINDOW_COLUMNS(entries)                                                                    \
    "window_key, board, kind, window_id, start_ms, end_ms, closed_seq, closed_ms, " entries        \
    ", distinct_scores, rank_style, definition FROM closed_windows"                                \
    " WHERE " WINDOW_IS_THERE " AND board = $1"
/* The moment of the archive (config.as_of_seq). A standing's `hidden` then is what its first later change replaced,
 * or, without one, what it is. */
#define AS_OF "current_setting('rung.as_of')::bigint"
#define WINDOW_IS_THERE                                                                            \
    "closed_seq <= " AS_OF " AND (board_deleted_seq IS NULL OR board_deleted_seq > " AS_OF ")"
#define IS_SHOWN                                                                                   \
    "coalesce((SELECT c.hidden FROM standing_changes c WHERE c.window_key = s.window_key"          \
    " AND c.place = s.place AND c.seq > " AS_OF " ORDER BY c.seq LIMIT 1), s.hidden) = 0"
/* The places of the hidden standings of a window. */
#define HIDDEN_PLACES(window)                                                                      \
    "(SELECT k.place AS place FROM standings k WHERE k.window_key = " window                       \
    " AND k.hidden <> 0 AND NOT EXISTS (SELECT 1 FROM standing_changes c WHERE c.window_key "      \
    "= " window " AND c.place = k.place AND c.seq > " AS_OF ")"                                    \
    " UNION ALL SELECT c.place FROM standing_changes c WHERE c.window_key = " window               \
    " AND c.hidden <> 0 AND c.seq > " AS_OF " AND NOT EXISTS (SELECT 1 FROM standing_changes d"    \
    " WHERE d.window_key = " window " AND d.place = c.place AND d.seq > " AS_OF                    \
    " AND d.seq < c.seq)) h"
#define SHOWN_ENTRIES                                                                              \
    "entries - (SELECT count(*) FROM " HIDDEN_PLACES("closed_windows.window_key") ")"
/* The scopes of the hidden standings of window $1. */
#define HIDDEN_IN_SCOPES                                                                           \
    " FROM " HIDDEN_PLACES("$1") " JOIN scope_standings t ON t.window_key = $1"                    \
                                 " AND t.place = h.place WHERE TRUE"
#define SCORE_COLUMNS                                                                              \
    "SELECT seq, board, player, kind, score, column1, column2, score_format, at_ms, at_given,"     \
    " ts_ms, id, meta, status, rule, result, result1, result2, result_format, part"                \
    " FROM score_events"                                                                           \
    " WHERE "
#define SCORE_RANGE                                                                                \
    " AND at_ms >= $3 AND at_ms < $4 AND (at_ms, seq, part) > ($5, $6, $8)"                        \
    " ORDER BY at_ms, seq, part LIMIT $7"
#define SCORE_RANGE_BACK                                                                           \
    " AND at_ms >= $3 AND at_ms < $4 AND (at_ms, seq, part) < ($5, $6, $8)"                        \
    " ORDER BY at_ms DESC, seq DESC, part DESC LIMIT $7"
#define BOTH        "board = $1 AND player = $2"
#define BOARD_ONLY  "board = $1 AND $2::text IS NULL"
#define PLAYER_ONLY "player = $2 AND $1::text IS NULL"
#define AUDIT_COLUMNS                                                                              \
    "SELECT seq, entry, ts_ms, kind, board, player, details, status, rule, actor_key,"             \
    " actor_player, actor_address, reason, before, after FROM audit"                               \
    " WHERE ($1::text IS NULL OR board = $1) AND ($2::text IS NULL OR player = $2)"                \
    " AND ($3::text IS NULL OR actor_key = $3) AND ($4::text IS NULL OR kind = $4)"                \
    " AND ($5::bigint IS NULL OR (ts_ms <> 0 AND ts_ms >= $5 AND ts_ms < $6))"
#define NOTE_CHANGES                                                                               \
    "INSERT INTO standing_changes SELECT s.window_key, s.place, $4, s.hidden FROM standings s,"    \
    " closed_windows w WHERE" PLAYERS_WINDOWS
#define NOTED_ALREADY " ON CONFLICT DO NOTHING"
/* Standings of player $2 on board $1, or on all. */
#define PLAYERS_WINDOWS                                                                            \
    " s.player = $2 AND NOT s.erased AND w.window_key = s.window_key"                              \
    " AND ($1::text IS NULL OR w.board = $1) AND w.board_deleted_seq IS NULL"
#define PLAYERS_STANDINGS " FROM closed_windows w WHERE" PLAYERS_WINDOWS

static const char copy_scores[] =
    "COPY score_events (seq, part, board, player, kind, score, column1, column2, score_format,"
    " result, result1, result2, result_format, at_ms, at_given, ts_ms, id, meta, status, rule)"
    " FROM STDIN (FORMAT binary)";
static const char copy_audit[] =
    "COPY audit (seq, entry, ts_ms, kind, board, player, details, status, rule, actor_key,"
    " actor_player, actor_address, reason, before, after) FROM STDIN (FORMAT binary)";
static const char copy_standings[] =
    "COPY standings (window_key, place, sparse_rank, dense_rank, player, player_number, score,"
    " column1, column2, at_ms, hidden) FROM STDIN (FORMAT binary)";
static const char copy_scope_standings[] =
    "COPY scope_standings (scope, scope_place, sparse_rank, dense_rank, window_key, place)"
    " FROM STDIN (FORMAT binary)";

/* The last result of each player among events $1 .. $2, which came at times $3 .. $4; or none after a removal. */
/* Rows since the last sending. */
#define SENT "s.seq BETWEEN $1 AND $2 AND s.ts_ms BETWEEN $3 AND $4"
#define DONE "(s.status IS NULL OR s.status = 'OK')"
/* After these nothing is known of the board's scores: they change members without naming them. */
#define ENDS_BOARD_SQL SENT " AND s.kind IN ('zpop', 'zremrange', 'swapped') AND " DONE

static const char end_user_scores[] =
    "DELETE FROM user_scores u USING (SELECT DISTINCT s.board FROM score_events s"
    " WHERE " ENDS_BOARD_SQL ") e WHERE u.board = e.board";

/* The last result of each player; without one the player is gone, or the score is not known. */
#define PUT_USER_SCORES(before, after)                                                             \
    "WITH " before                                                                                 \
    "latest AS (SELECT DISTINCT ON (s.board, s.player) s.board, s.player, s.result, s.result1,"    \
    " s.result2, s.result_format, s.at_ms, s.seq FROM score_events s " after                       \
    " s.player <> '' AND " SENT " AND (s.result IS NOT NULL OR s.kind = 'removal' OR " DONE ")"    \
    " ORDER BY s.board, s.player, s.seq DESC, s.part DESC),"                                       \
    " gone AS (DELETE FROM user_scores u USING latest l WHERE l.result IS NULL"                    \
    " AND u.board = l.board AND u.player = l.player)"                                              \
    " INSERT INTO user_scores (board, player, score, column1, column2, score_format, at_ms, seq)"  \
    " SELECT board, player, result, result1, result2, result_format, at_ms, seq FROM latest"       \
    " WHERE result IS NOT NULL ON CONFLICT (board, player) DO UPDATE SET score = excluded.score,"  \
    " column1 = excluded.column1, column2 = excluded.column2,"                                     \
    " score_format = excluded.score_format, at_ms = excluded.at_ms, seq = excluded.seq"

static const char put_user_scores[] = PUT_USER_SCORES("", "WHERE");
static const char put_user_scores_after_ends[] = PUT_USER_SCORES(
    "ends AS (SELECT DISTINCT ON (s.board) s.board, s.seq, s.part FROM score_events s"
    " WHERE " ENDS_BOARD_SQL " ORDER BY s.board, s.seq DESC, s.part DESC), ",
    "LEFT JOIN ends e ON e.board = s.board"
    " WHERE (e.seq IS NULL OR (s.seq, s.part) > (e.seq, e.part)) AND");

typedef enum copied { C_SCORES, C_AUDIT, C_STANDINGS, C_SCOPE_STANDINGS, C_COUNT } copied;
static const char *const copy_sql[C_COUNT] = {copy_scores, copy_audit, copy_standings,
                                              copy_scope_standings};

/* Rows for an INSERT from arrays, one per column; of rows with the same key the last counts. */
enum { COLUMNS_MAX = 14 };

typedef struct bulk_kind {
    const char *sql;
    int columns;
    Oid types[COLUMNS_MAX];
} bulk_kind;

typedef enum bulked { B_PLAYERS, B_SAMPLES, B_COUNT } bulked;
static const bulk_kind bulk_kinds[B_COUNT] = {
    {"INSERT INTO players SELECT DISTINCT ON (player) player, profile, seq, ms"
     " FROM unnest($1, $2, $3, $4) WITH ORDINALITY AS n (player, profile, seq, ms, i)"
     " ORDER BY player, i DESC ON CONFLICT (player) DO UPDATE SET profile = excluded.profile,"
     " changed_seq = excluded.changed_seq, changed_ms = excluded.changed_ms",
     4,
     {RUNG__ARRAY_TEXT, RUNG__ARRAY_TEXT, RUNG__ARRAY_INT, RUNG__ARRAY_INT}},
    {"INSERT INTO samples (board, player, taken_ms, kind, window_id, seq, place, sparse_rank,"
     " dense_rank, entries, score, column1, column2, score_format) SELECT DISTINCT ON (board, "
     "player, taken_ms, kind, window_id)"
     " board, player, taken_ms, kind, window_id, seq, place, sparse, dense, entries, score, c1,"
     " c2, format FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
     " WITH ORDINALITY AS n (board, player, taken_ms, kind, window_id, seq, place, sparse, dense,"
     " entries, score, c1, c2, format, i)"
     " ORDER BY board, player, taken_ms, kind, window_id, i DESC"
     " ON CONFLICT (board, player, taken_ms, kind, window_id) DO UPDATE SET seq = excluded.seq,"
     " place = excluded.place, sparse_rank = excluded.sparse_rank,"
     " dense_rank = excluded.dense_rank, entries = excluded.entries, score = excluded.score,"
     " column1 = excluded.column1, column2 = excluded.column2,"
     " score_format = excluded.score_format, dropped_seq = NULL",
     14,
     {RUNG__ARRAY_TEXT, RUNG__ARRAY_TEXT, RUNG__ARRAY_INT, RUNG__ARRAY_TEXT, RUNG__ARRAY_TEXT,
      RUNG__ARRAY_INT, RUNG__ARRAY_INT, RUNG__ARRAY_INT, RUNG__ARRAY_INT, RUNG__ARRAY_INT,
      RUNG__ARRAY_NUMERIC, RUNG__ARRAY_NUMERIC, RUNG__ARRAY_NUMERIC, RUNG__ARRAY_INT4}},
};

typedef struct bulk {
    uint32_t rows;
    rung_buffer columns[COLUMNS_MAX];
} bulk;

typedef struct postgres_archive {
    rung_archive port;
    rung_postgres_url url;
    rung__pg db;
    bool is_read_only;
    int64_t as_of_seq; /* INT64_MAX: now */
    char log_id[64];
    size_t log_id_len;
    uint32_t wait_ms;
    bool is_ready, has_lock; /* P3 */
    bool in_batch, is_broken, is_reading;
    uint64_t cursor_seq; /* at the start of the batch */
    int64_t log_time_ms;
    /* a batch */
    uint64_t score_seq, audit_seq;     /* of the last row of each, */
    int32_t audit_entry;               /* to number the records of one event */
    bool has_results;                  /* rows since the last sending have some, or end some */
    bool has_ends;                     /* some end all scores of a board */
    uint64_t first_seq;                /* of those rows */
    int64_t ts_min_ms, ts_max_ms;      /* of those rows */
    int64_t seen_from_ms, seen_to_ms;  /* times whose partition exists or is wanted */
    int months[MONTHS_MAX], wanted[2]; /* partitions that exist; to be created, -1: none */
    uint32_t month_count;
    int64_t samples_expired_ms, expired_ms; /* up to when old rows were removed */
    bool has_more_old;
    rung_buffer copies[C_COUNT];
    bulk bulks[B_COUNT];
    /* the last failure to connect; until then it is not tried again */
    int64_t away_until_ms;
    rung_err away;
} postgres_archive;

static postgres_archive *self_of(rung_archive *a) {
    return (postgres_archive *)(void *)a;
}

/* ---- arguments and results ---- */

typedef rung__pg_arg argument;

static argument integer(int64_t n) {
    return (argument){.type = RUNG__PG_INT, .number = n};
}

/* An empty text is NULL. */
static argument text(rung_slice bytes) {
    return (argument){.type = bytes.len ? RUNG__PG_TEXT : RUNG__PG_NULL, .bytes = bytes};
}

static argument word(const char *word) {
    return text(rung_slice_str(word));
}

static argument blob(const void *bytes, size_t len) {
    return (argument){.type = RUNG__PG_BYTES, .bytes = rung_slice_of(bytes, len)};
}

static rung_slice outcome(int status) {
    return status == RUNG_STATUS_UNKNOWN ? (rung_slice){0}
                                         : rung_slice_str(rung_status_name((rung_status)status));
}

static rung_slice rule_word(rung_rule rule) {
    return rule == RUNG_RULE_NONE ? (rung_slice){0} : rung_slice_str(rung_rule_words[rule]);
}

static int32_t format_of(const rung_archive_values *v) {
    uint32_t format = v->count << 24;
    for (uint32_t k = 0; k < v->count; k++)
        format |= (uint32_t)(v->types[k] | v->decimals[k] << 4) << (8 * k);
    return (int32_t)format;
}

/* A row of a result; the first failure to read it is kept. */
typedef struct row {
    postgres_archive *a;
    const PGresult *result;
    int at;
    rung_status st;
} row;

static void note(row *r, rung_status st) {
    if (r->st == RUNG_OK)
        r->st = st;
}

static bool is_null_at(const row *r, int i) {
    return PQgetisnull(r->result, r->at, i);
}

static rung_slice peek_text(const row *r, int i) {
    return rung_slice_of(PQgetvalue(r->result, r->at, i), (size_t)PQgetlength(r->result, r->at, i));
}

static int64_t int_at(const row *r, int i) {
    return is_null_at(r, i) ? 0 : strtoll(PQgetvalue(r->result, r->at, i), NULL, 10);
}

static uint32_t u32_at(const row *r, int i) {
    return (uint32_t)int_at(r, i);
}

static bool bool_at(const row *r, int i) {
    return PQgetvalue(r->result, r->at, i)[0] == 't';
}

static rung_slice text_at(row *r, int i) {
    rung_slice text = peek_text(r, i);
    if (!rung__archive_keep(&r->a->port, text.ptr, text.len, &text))
        note(r, RUNG_ENOMEM);
    return text;
}

static int hex_digit(char c) {
    return c >= 'a' ? c - 'a' + 10 : c - '0';
}

/* bytea: "\x0123ab". */
static rung_slice bytes_at(row *r, int i) {
    rung_slice hex = peek_text(r, i);
    size_t len = hex.len < 2 ? 0 : hex.len / 2 - 1;
    uint8_t *bytes = rung__archive_get(&r->a->port, len ? len : 1);
    if (!bytes) {
        note(r, RUNG_ENOMEM);
        return (rung_slice){0};
    }
    for (size_t k = 0; k < len; k++)
        bytes[k] = (uint8_t)(hex_digit(hex.ptr[2 + 2 * k]) << 4 | hex_digit(hex.ptr[3 + 2 * k]));
    return rung_slice_of(bytes, len);
}

static rung_archive_values values_at(row *r, int first, int64_t format) {
    rung_archive_values v = {.count = (uint32_t)(format >> 24 & 3)};
    for (uint32_t k = 0; k < v.count; k++) {
        rung_slice number = peek_text(r, first + (int)k);
        v.types[k] = (uint8_t)(format >> (8 * k) & 15);
        v.decimals[k] = (uint8_t)(format >> (8 * k + 4) & 15);
        rung_status st = v.types[k] == RUNG_SCORE_REAL
                             ? rung_text_parse_real(number, &v.values[k].d, NULL)
                             : rung_text_parse_fixed(number, v.decimals[k], &v.values[k].i, NULL);
        if (st < 0)
            note(r, RUNG_ECORRUPT);
    }
    return v;
}

static int status_at(const row *r, int i) {
    static const struct {
        const char *name;
        int status;
    } names[] = {
#define X(name, value, text) {#name, value},
        RUNG_STATUS_MAP(X)
#undef X
    };
    rung_slice text = peek_text(r, i);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (rung_slice_eq(text, rung_slice_str(names[k].name)))
            return names[k].status;
    return RUNG_STATUS_UNKNOWN;
}

static int word_at(row *r, const char *const *words, int i) {
    int found = rung_word_find(words, peek_text(r, i));
    if (found < 0)
        note(r, RUNG_ECORRUPT);
    return found < 0 ? 0 : found;
}

static rung_rule rule_at(row *r, int i) {
    return is_null_at(r, i) ? RUNG_RULE_NONE : (rung_rule)word_at(r, rung_rule_words, i);
}

/* ---- connecting ---- */

static rung_status foreign(const postgres_archive *a, rung_err *err) {
    return RUNG_FAIL(err, RUNG_ECORRUPT,
                     "archive: the schema %s has tables, but is not an archive of Rung",
                     a->url.schema);
}

static rung_status newer(int64_t version, rung_err *err) {
    return RUNG_FAIL(err, RUNG_EVERSION,
                     "archive: the schema has version %" PRId64 ", this program knows %d", version,
                     RUNG__POSTGRES_VERSION);
}

static rung_status check_server(postgres_archive *a, rung_err *err) {
    const char *encoding = PQparameterStatus(a->db.conn, "server_encoding");
    int version = PQserverVersion(a->db.conn);
    if (version < SERVER_MIN)
        return RUNG_FAIL(err, RUNG_EUNSUPPORTED,
                         "archive: PostgreSQL 14 or newer is needed, not %d", version / 10000);
    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return RUNG_FAIL(err, RUNG_EUNSUPPORTED,
                         "archive: the database must have the encoding UTF8, not %s",
                         encoding ? encoding : "none");
    return RUNG_OK;
}

/* The version of the schema; 0: there is nothing in it. */
static rung_status find_version(postgres_archive *a, int64_t *version_out, rung_err *err) {
    PGresult *result;
    rung_status st = rung__pg_run(
        &a->db,
        "SELECT (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')),"
        " to_regclass(quote_ident($1) || '.schema_migrations') IS NOT NULL",
        ((argument[]){word(a->url.schema)}), 1, &result, err);
    if (st < 0)
        return st;
    row r = {.a = a, .result = result};
    int64_t tables = int_at(&r, 0);
    bool is_ours = bool_at(&r, 1);
    PQclear(result);
    *version_out = 0;
    if (!is_ours)
        return tables ? foreign(a, err) : RUNG_OK;
    st = rung__pg_script(&a->db, "SELECT max(version) FROM schema_migrations", &result, err);
    if (st < 0)
        return st;
    *version_out = int_at(&(row){.a = a, .result = result}, 0);
    PQclear(result);
    return *version_out > RUNG__POSTGRES_VERSION ? newer(*version_out, err) : RUNG_OK;
}

static rung_status run_steps(postgres_archive *a, int64_t version, rung_err *err) {
    char sql[256];
    rung_status st = RUNG_OK;
    if (version == 0)
        st = rung__pg_script(&a->db,
                             "CREATE TABLE schema_migrations (version integer PRIMARY KEY,"
                             " applied timestamptz NOT NULL DEFAULT now())",
                             NULL, err);
    for (int64_t i = version; st == RUNG_OK && i < RUNG__POSTGRES_VERSION; i++) {
        snprintf(sql, sizeof sql, "INSERT INTO schema_migrations VALUES (%" PRId64 ")", i + 1);
        st = rung__pg_script(&a->db, rung__postgres_step((int)i), NULL, err);
        if (st == RUNG_OK)
            st = rung__pg_script(&a->db, sql, NULL, err);
    }
    if (st == RUNG_OK && version == 0)
        st = rung__pg_run(&a->db, "INSERT INTO source VALUES (1, coalesce($1, ''), 0, NULL)",
                          ((argument[]){text(rung_slice_of(a->log_id, a->log_id_len))}), 1, NULL,
                          err);
    return st;
}

/* Make the schema if it is not there; that needs a right which the role need not have otherwise. */
static rung_status make_schema(postgres_archive *a, rung_err *err) {
    char sql[128];
    PGresult *result;
    rung_status st = rung__pg_run(&a->db, "SELECT count(*) FROM pg_namespace WHERE nspname = $1",
                                  ((argument[]){word(a->url.schema)}), 1, &result, err);
    if (st < 0)
        return st;
    bool is_there = int_at(&(row){.a = a, .result = result}, 0) != 0;
    PQclear(result);
    snprintf(sql, sizeof sql, "CREATE SCHEMA %s", a->url.schema);
    return is_there ? RUNG_OK : rung__pg_script(&a->db, sql, NULL, err);
}

/* From any older version to the current one, in one transaction. */
static rung_status migrate(postgres_archive *a, rung_err *err) {
    int64_t version;
    rung_status st = rung__pg_script(
        &a->db, "BEGIN; SELECT pg_advisory_xact_lock(" LOCK_CLASS ", 0)", NULL, err);
    if (st == RUNG_OK)
        st = make_schema(a, err);
    if (st == RUNG_OK)
        st = find_version(a, &version, err); /* another server may have been faster */
    if (st == RUNG_OK)
        st = run_steps(a, version, err);
    if (st == RUNG_OK)
        return rung__pg_script(&a->db, "COMMIT", NULL, err);
    if (a->db.conn)
        rung_ignore(rung__pg_script(&a->db, "ROLLBACK", NULL, NULL), "it has failed already");
    return st;
}

static rung_status check_log_id(postgres_archive *a, rung_slice have, uint64_t cursor,
                                rung_err *err) {
    rung_slice mine = rung_slice_of(a->log_id, a->log_id_len);
    if (mine.len == 0 || have.len == 0 || cursor == 0 || rung_slice_eq(have, mine))
        return RUNG_OK;
    return RUNG_FAIL(err, RUNG_ECONFLICT, "archive: it follows another log (%.*s)", (int)have.len,
                     have.ptr);
}

static rung_status read_source(postgres_archive *a, uint64_t *seq_out, int64_t *log_time_ms_out,
                               rung_err *err) {
    PGresult *result;
    rung_status st =
        rung__pg_script(&a->db, "SELECT cursor, log_time_ms, log_id FROM source", &result, err);
    if (st < 0)
        return st;
    row r = {.a = a, .result = result};
    if (PQntuples(result) != 1) {
        st = RUNG_FAIL(err, RUNG_ECORRUPT, "archive: it has lost its cursor");
    } else {
        *seq_out = (uint64_t)int_at(&r, 0);
        if (log_time_ms_out)
            *log_time_ms_out = is_null_at(&r, 1) ? INT64_MIN : int_at(&r, 1);
        st = check_log_id(a, peek_text(&r, 2), *seq_out, err);
    }
    PQclear(result);
    return st;
}

/* The connection is new: is the schema as this program knows it? */
static rung_status prepare(postgres_archive *a, rung_err *err) {
    int64_t version;
    uint64_t seq;
    rung_status st = check_server(a, err);
    if (st == RUNG_OK)
        st = find_version(a, &version, err);
    if (st == RUNG_OK && version < RUNG__POSTGRES_VERSION)
        st = a->is_read_only
                 ? RUNG_FAIL(err, RUNG_EIO, "archive: it has not been brought up to date yet")
                 : migrate(a, err);
    if (st == RUNG_OK)
        st = read_source(a, &seq, NULL, err);
    if (st < 0)
        rung__pg_drop(&a->db);
    return st;
}

static bool is_away(postgres_archive *a) {
    return rung_clock_monotonic_ms(NULL) < a->away_until_ms;
}

/* Be connected to a schema that is up to date. */
static rung_status ensure(postgres_archive *a, rung_err *err) {
    rung_err why = {0};
    if (a->db.conn && PQstatus(a->db.conn) != CONNECTION_OK)
        rung__pg_drop(&a->db);
    if (a->db.conn && a->is_ready)
        return RUNG_OK;
    if (is_away(a)) {
        if (err)
            *err = a->away;
        return a->away.code;
    }
    a->is_ready = a->has_lock = false; /* P3 */
    a->month_count = 0;
    if (!a->is_read_only)
        rung__pg_limit(&a->db, a->wait_ms < OPEN_MS ? a->wait_ms : OPEN_MS);
    rung_status st = rung__pg_open(&a->db, &why);
    if (!a->is_read_only)
        rung__pg_limit(&a->db, a->wait_ms);
    if (st == RUNG_OK)
        st = prepare(a, &why);
    a->is_ready = st == RUNG_OK;
    if (st < 0) {
        a->away = why;
        a->away_until_ms = rung_clock_monotonic_ms(NULL) + AWAY_MS;
        if (err)
            *err = why;
    }
    return st;
}

/* Begin a question, or a piece of a batch. */
static rung_status ready(postgres_archive *a, rung_err *err) {
    if (a->in_batch || a->is_reading) {
        if (a->in_batch)
            rung__pg_limit(&a->db, a->wait_ms);
        return a->db.conn ? RUNG_OK
                          : RUNG_FAIL(err, RUNG_EIO, "archive: PostgreSQL: connection lost");
    }
    rung__pg_limit(&a->db, a->wait_ms);
    return ensure(a, err);
}

/* ---- using statements ---- */

#define ARGUMENTS(...)                                                                             \
    (const argument[]){__VA_ARGS__}, (int)(sizeof((argument[]){__VA_ARGS__}) / sizeof(argument))

static rung_status ask(rung_archive *archive, const char *sql, const argument *args, int count,
                       PGresult **result_out, rung_err *err) {
    postgres_archive *a = self_of(archive);
    rung_status st = ready(a, err);
    if (st == RUNG_OK)
        st = rung__pg_run(&a->db, sql, args, count, result_out, err);
    a->is_broken |= st < 0;
    return st;
}

static rung_status send_all(postgres_archive *a, rung_err *err);

/* Change rows, after what was added before. */
static rung_status change(rung_archive *archive, const char *sql, const argument *args, int count,
                          rung_err *err) {
    postgres_archive *a = self_of(archive);
    rung_status st = send_all(a, err);
    return st < 0 ? st : ask(archive, sql, args, count, NULL, err);
}
#define CHANGE(archive, sql, err, ...) change(archive, sql, ARGUMENTS(__VA_ARGS__), err)

typedef void read_row(row *r, void *out);

/* Read up to `room` rows into an array with elements of `size` bytes, and free the result. */
static rung_status read_rows(rung_archive *archive, PGresult *result, read_row *read, void *out,
                             size_t size, uint32_t room, uint32_t *count_out, rung_err *err) {
    row r = {.a = self_of(archive), .result = result};
    uint32_t count = (uint32_t)PQntuples(result);
    count = count < room ? count : room;
    for (; r.at < (int)count && r.st == RUNG_OK; r.at++)
        read(&r, (char *)out + size * (size_t)r.at);
    PQclear(result);
    if (r.st < 0)
        return RUNG_FAIL(err, r.st, "archive: %s",
                         r.st == RUNG_ENOMEM ? "out of memory" : "a row makes no sense");
    *count_out = count;
    return RUNG_OK;
}

static rung_status list(rung_archive *archive, const char *sql, const argument *args, int count,
                        read_row *read, void *out, size_t size, uint32_t room, uint32_t *count_out,
                        rung_err *err) {
    PGresult *result;
    rung_status st = ask(archive, sql, args, count, &result, err);
    return st < 0 ? st : read_rows(archive, result, read, out, size, room, count_out, err);
}

/* All rows, in the arena. */
static rung_status list_all(rung_archive *archive, const char *sql, const argument *args, int count,
                            read_row *read, size_t size, void **all_out, uint32_t *count_out,
                            rung_err *err) {
    PGresult *result;
    rung_status st = ask(archive, sql, args, count, &result, err);
    if (st < 0)
        return st;
    uint32_t n = (uint32_t)PQntuples(result);
    *all_out = rung__archive_get(archive, (n ? n : 1) * size);
    if (!*all_out) {
        PQclear(result);
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    }
    return read_rows(archive, result, read, *all_out, size, n, count_out, err);
}

/* The first row. RUNG_NOT_FOUND: there is none. */
static rung_status find(rung_archive *archive, const char *sql, const argument *args, int count,
                        read_row *read, void *out, rung_err *err) {
    uint32_t found = 0;
    rung_status st = list(archive, sql, args, count, read, out, 0, 1, &found, err);
    return st < 0 ? st : found ? RUNG_OK : RUNG_NOT_FOUND;
}

static void read_int(row *r, void *out) {
    *(int64_t *)out = int_at(r, 0);
}

/* ---- partitions ---- */

static bool has_month(const postgres_archive *a, int month) {
    for (uint32_t i = 0; i < a->month_count; i++)
        if (a->months[i] == month)
            return true;
    return false;
}

/* A row of this time will come: its month and the next one shall have partitions. */
static void want_month(postgres_archive *a, int64_t ts_ms) {
    if (ts_ms >= a->seen_from_ms && ts_ms < a->seen_to_ms)
        return;
    int month = rung__partition_month(ts_ms);
    if (month < 0)
        return;
    a->seen_from_ms = rung__partition_start_ms(month);
    a->seen_to_ms = rung__partition_start_ms(month + 1);
    if (!has_month(a, month) && a->wanted[0] != month)
        a->wanted[a->wanted[0] >= 0] = month;
}

static rung_status make_partition(postgres_archive *a, const char *table, int month,
                                  rung_err *err) {
    char name[64], sql[RUNG__PARTITION_SQL_MAX];
    int64_t is_there = 0;
    rung__partition_name(table, month, name);
    rung__partition_sql(table, month, sql);
    rung_status st = find(&a->port, "SELECT (to_regclass($1) IS NOT NULL)::int",
                          ARGUMENTS(word(name)), read_int, &is_there, err);
    return st < 0 || is_there ? st : rung__pg_script(&a->db, sql, NULL, err);
}

static rung_status make_month(postgres_archive *a, int month, rung_err *err) {
    rung_status st = RUNG_OK;
    if (has_month(a, month))
        return RUNG_OK;
    for (int i = 0; st >= 0 && i < RUNG__PARTITIONED; i++)
        st = make_partition(a, rung__partitioned[i], month, err);
    if (st >= 0) {
        if (a->month_count == MONTHS_MAX)
            a->month_count = 0; /* those are asked about again */
        a->months[a->month_count++] = month;
    }
    return st;
}

static rung_status make_months(postgres_archive *a, rung_err *err) {
    rung_status st = RUNG_OK;
    for (int i = 0; i < 2; i++) {
        int month = a->wanted[i];
        a->wanted[i] = -1;
        if (month < 0)
            continue;
        if (st >= 0)
            st = make_month(a, month, err);
        if (st >= 0 && rung__partition_has_next(month))
            st = make_month(a, month + 1, err);
    }
    return st;
}

/* ---- collecting rows ---- */

static rung_status send_copy(postgres_archive *a, copied which, rung_err *err) {
    rung_buffer *rows = &a->copies[which];
    if (rows->len == 0 && !rows->is_failed)
        return RUNG_OK;
    rung_status st =
        rows->is_failed ? RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory") : ready(a, err);
    if (st == RUNG_OK)
        st = rung__pg_copy(&a->db, copy_sql[which], rows, err);
    rung_buffer_reset(rows, KEEP_BYTES);
    return st;
}

static rung_status send_user_scores(postgres_archive *a, rung_err *err) {
    bool has_ends = a->has_ends, has_results = a->has_results;
    rung_status st = RUNG_OK;
    argument sent[] = {integer((int64_t)a->first_seq), integer((int64_t)a->score_seq),
                       integer(a->ts_min_ms), integer(a->ts_max_ms)};
    a->has_results = a->has_ends = false;
    if (has_ends)
        st = ask(&a->port, end_user_scores, sent, 4, NULL, err);
    if (st >= 0 && has_results)
        st = ask(&a->port, has_ends ? put_user_scores_after_ends : put_user_scores, sent, 4, NULL,
                 err);
    return st;
}

static rung_status send_bulk(postgres_archive *a, bulked which, rung_err *err) {
    const bulk_kind *kind = &bulk_kinds[which];
    bulk *b = &a->bulks[which];
    argument args[COLUMNS_MAX];
    bool is_failed = false;
    if (b->rows == 0)
        return RUNG_OK;
    for (int i = 0; i < kind->columns; i++) {
        rung_buffer *column = &b->columns[i];
        is_failed |= column->is_failed;
        if (!is_failed)
            rung__pgrow_array_header(column->data, kind->types[i], b->rows);
        args[i] = (argument){.type = RUNG__PG_ARRAY,
                             .bytes = rung_buffer_slice(column),
                             .array_type = kind->types[i]};
    }
    rung_status st = is_failed ? RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory")
                               : ask(&a->port, kind->sql, args, kind->columns, NULL, err);
    for (int i = 0; i < kind->columns; i++)
        rung_buffer_reset(&b->columns[i], KEEP_BYTES);
    b->rows = 0;
    return st;
}

/* Send what was collected. */
static rung_status send_all(postgres_archive *a, rung_err *err) {
    rung_status st = make_months(a, err);
    for (int i = 0; st >= 0 && i < C_COUNT; i++)
        st = send_copy(a, (copied)i, err);
    if (st >= 0)
        st = send_user_scores(a, err);
    for (int i = 0; st >= 0 && i < B_COUNT; i++)
        st = send_bulk(a, (bulked)i, err);
    a->first_seq = 0;
    a->is_broken |= st < 0;
    return st;
}

/* A row was added to `which`. */
static rung_status sent_if_large(postgres_archive *a, copied which, rung_err *err) {
    return a->copies[which].len < SEND_BYTES && a->wanted[1] < 0 ? RUNG_OK : send_all(a, err);
}

static void forget_rows(postgres_archive *a) {
    for (int i = 0; i < C_COUNT; i++)
        rung_buffer_reset(&a->copies[i], KEEP_BYTES);
    for (int i = 0; i < B_COUNT; i++) {
        a->bulks[i].rows = 0;
        for (int k = 0; k < COLUMNS_MAX; k++)
            rung_buffer_reset(&a->bulks[i].columns[k], KEEP_BYTES);
    }
    a->wanted[0] = a->wanted[1] = -1;
    a->seen_from_ms = a->seen_to_ms = 0;
    a->has_results = a->has_ends = false;
    a->first_seq = a->score_seq = a->audit_seq = 0;
}

/* The columns of the next row of a bulk. */
static rung_buffer *bulk_row(bulk *b, int columns) {
    static const char header[RUNG__ARRAY_HEADER];
    for (int i = 0; b->rows == 0 && i < columns; i++)
        rung_buffer_put(&b->columns[i], header, sizeof header);
    b->rows++;
    return b->columns;
}

/* ---- a batch ---- */

/* RUNG_PARTIAL: another session has it. */
static rung_status take_lock(postgres_archive *a, rung_err *err) {
    PGresult *result;
    if (a->has_lock)
        return RUNG_OK;
    rung_status st =
        rung__pg_script(&a->db, "SELECT pg_try_advisory_lock(" LOCK_KEY ")", &result, err);
    if (st < 0)
        return st;
    a->has_lock = bool_at(&(row){.a = a, .result = result}, 0);
    PQclear(result);
    return a->has_lock ? RUNG_OK : RUNG_PARTIAL;
}

/* The first row of the transaction: P1. */
static rung_status check_turn(postgres_archive *a, const PGresult *result, rung_err *err) {
    row r = {.a = a, .result = result};
    if (PQntuples(result) != 1)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "archive: it has lost its cursor");
    if (!bool_at(&r, 0)) /* a pooler gave us the session of somebody else */
        return RUNG_FAIL(err, RUNG_EBUSY,
                         "archive: another session holds the lock: is there a pooler that changes "
                         "sessions between transactions?");
    if (int_at(&r, 4) != RUNG__POSTGRES_VERSION)
        return newer(int_at(&r, 4), err);
    a->cursor_seq = (uint64_t)int_at(&r, 1);
    a->log_time_ms = is_null_at(&r, 2) ? INT64_MIN : int_at(&r, 2);
    return check_log_id(a, peek_text(&r, 3), a->cursor_seq, err);
}

static rung_status start_batch(postgres_archive *a, rung_err *err) {
    PGresult *result;
    rung_status st = rung__pg_script(
        &a->db,
        "BEGIN; SELECT pg_try_advisory_xact_lock(" LOCK_KEY "), cursor, log_time_ms, log_id,"
        " (SELECT max(version) FROM schema_migrations) FROM source FOR UPDATE",
        &result, err);
    if (st < 0)
        return st;
    st = check_turn(a, result, err);
    PQclear(result);
    return st;
}

static void pg_rollback(rung_archive *archive) {
    postgres_archive *a = self_of(archive);
    rung__archive_forget(archive);
    forget_rows(a);
    if (a->in_batch)
        a->month_count = 0; /* those made in it are gone */
    a->in_batch = a->is_broken = a->is_reading = false;
    if (!a->db.conn || PQtransactionStatus(a->db.conn) == PQTRANS_IDLE)
        return;
    if (!a->is_read_only)
        rung__pg_limit(&a->db, a->wait_ms);
    if (rung__pg_script(&a->db, "ROLLBACK", NULL, NULL) < 0)
        rung__pg_drop(&a->db);
}

static rung_status pg_begin(rung_archive *archive, rung_err *err) {
    postgres_archive *a = self_of(archive);
    if (a->in_batch)
        return RUNG_FAIL(err, RUNG_EBUSY, "archive: the batch before has not ended");
    forget_rows(a);
    a->is_broken = false;
    rung_status st = ready(a, err);
    if (st == RUNG_OK)
        st = take_lock(a, err);
    if (st != RUNG_OK)
        return st;
    st = start_batch(a, err);
    a->in_batch = st == RUNG_OK;
    if (st < 0) {
        a->has_lock &= st != RUNG_EBUSY;
        pg_rollback(archive);
    }
    return st;
}

static void add_score_row(postgres_archive *a, const rung_archive_score *s) {
    rung_buffer *b = &a->copies[C_SCORES];
    rung_archive_values none = {0};
    rung__pgrow_row(b, 20);
    rung__pgrow_int(b, (int64_t)s->seq);
    rung__pgrow_int4(b, (int32_t)s->part);
    rung__pgrow_bytes(b, s->board.ptr, s->board.len); /* empty where a command has none */
    rung__pgrow_bytes(b, s->player.ptr, s->player.len);
    rung__pgrow_text(b, rung_slice_str(rung_archive_kind_of(s)));
    rung__pgrow_values(b, &s->values);
    rung__pgrow_int4(b, format_of(&s->values));
    rung__pgrow_values(b, s->has_result ? &s->result : &none);
    if (s->has_result)
        rung__pgrow_int4(b, format_of(&s->result));
    else
        rung__pgrow_null(b);
    rung__pgrow_int(b, s->at_ms);
    rung__pgrow_bool(b, s->has_at);
    rung__pgrow_int(b, s->ts_ms);
    rung__pgrow_text(b, s->id);
    rung__pgrow_text(b, s->meta);
    rung__pgrow_text(b, outcome(s->status));
    rung__pgrow_text(b, rule_word(s->rule));
}

static bool ends_board(const rung_archive_score *s) {
    return s->command == RUNG_ZCOMMAND_ZPOP || s->command == RUNG_ZCOMMAND_ZREMRANGE ||
           s->command == RUNG_ARCHIVE_SWAPPED;
}

static rung_status pg_add_score(rung_archive *archive, const rung_archive_score *s, rung_err *err) {
    postgres_archive *a = self_of(archive);
    if (s->seq <= a->cursor_seq) { /* P2 */
        a->is_broken = true;
        return RUNG_FAIL(err, RUNG_ECORRUPT, "archive: it has event %" PRIu64 " already", s->seq);
    }
    a->score_seq = s->seq;
    if (!a->first_seq) {
        a->first_seq = s->seq;
        a->ts_min_ms = a->ts_max_ms = s->ts_ms;
    }
    a->ts_min_ms = s->ts_ms < a->ts_min_ms ? s->ts_ms : a->ts_min_ms;
    a->ts_max_ms = s->ts_ms > a->ts_max_ms ? s->ts_ms : a->ts_max_ms;
    bool is_done = s->status == RUNG_OK || s->status == RUNG_STATUS_UNKNOWN;
    a->has_results |= s->player.len && (is_done || s->is_removal || s->has_result);
    a->has_ends |= is_done && ends_board(s);
    want_month(a, s->ts_ms);
    add_score_row(a, s);
    return sent_if_large(a, C_SCORES, err);
}

static rung_status pg_add_audit(rung_archive *archive, const rung_archive_audit *r, rung_err *err) {
    postgres_archive *a = self_of(archive);
    rung_buffer *b = &a->copies[C_AUDIT];
    const rung_slice texts[] = {r->kind,      r->board,           r->player,
                                r->details,   outcome(r->status), rule_word(r->rule),
                                r->actor_key, r->actor_player,    r->actor_address,
                                r->reason,    r->before,          r->after};
    a->audit_entry = r->seq == a->audit_seq ? a->audit_entry + 1 : 0;
    a->audit_seq = r->seq;
    want_month(a, r->ts_ms);
    rung__pgrow_row(b, 15);
    rung__pgrow_int(b, (int64_t)r->seq);
    rung__pgrow_int4(b, a->audit_entry);
    rung__pgrow_int(b, r->ts_ms);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        rung__pgrow_text(b, texts[i]);
    return sent_if_large(a, C_AUDIT, err);
}

static void read_refusals(row *r, void *out) {
    rung_archive_refusals *found = out;
    found->count = (uint64_t)int_at(r, 0);
    found->first_seq = (uint64_t)int_at(r, 1);
    found->last_seq = (uint64_t)int_at(r, 2);
}

static rung_status pg_find_refusals(rung_archive *archive, rung_archive_refusals *r,
                                    rung_err *err) {
    r->count = r->first_seq = r->last_seq = 0;
    rung_status st =
        find(archive,
             "SELECT refused, first_seq, last_seq FROM refusals"
             " WHERE board = $1 AND rule = $2 AND minute_ms = $3",
             ARGUMENTS(text(r->board), text(rule_word(r->rule)), integer(r->minute_ms)),
             read_refusals, r, err);
    return st < 0 ? st : RUNG_OK;
}

static rung_status pg_put_refusals(rung_archive *archive, const rung_archive_refusals *r,
                                   rung_err *err) {
    return ask(archive,
               "INSERT INTO refusals VALUES ($1, $2, $3, $4, $5, $6)"
               " ON CONFLICT (board, rule, minute_ms) DO UPDATE SET refused = excluded.refused,"
               " first_seq = excluded.first_seq, last_seq = excluded.last_seq",
               ARGUMENTS(text(r->board), text(rule_word(r->rule)), integer(r->minute_ms),
                         integer((int64_t)r->count), integer((int64_t)r->first_seq),
                         integer((int64_t)r->last_seq)),
               NULL, err);
}

static rung_status pg_put_player(rung_archive *archive, uint64_t seq, int64_t ts_ms,
                                 rung_slice player, rung_slice profile, rung_err *err) {
    postgres_archive *a = self_of(archive);
    rung_buffer *columns = bulk_row(&a->bulks[B_PLAYERS], bulk_kinds[B_PLAYERS].columns);
    rung__pgrow_text(&columns[0], player);
    rung__pgrow_text(&columns[1], profile);
    rung__pgrow_int(&columns[2], (int64_t)seq);
    rung__pgrow_int(&columns[3], ts_ms);
    return columns[1].len < SEND_BYTES ? RUNG_OK : send_all(a, err);
}

/* The next key of a table that only grows. */
static rung_status next_key(rung_archive *archive, const char *sql, int64_t *key_out,
                            rung_err *err) {
    return find(archive, sql, NULL, 0, read_int, key_out, err);
}

static rung_status add_scope(rung_archive *archive, int64_t window, int64_t key,
                             const rung_archive_scope *s, rung_err *err) {
    uint8_t sum[SUM_BYTES];
    rung_put64(sum, (uint64_t)s->team_sum);
    rung_put64(sum + 8, (uint64_t)(s->team_sum >> 64));
    return ask(archive, "INSERT INTO scopes VALUES ($1, $2, $3, $4, $5, $6, $7)",
               ARGUMENTS(integer(key), integer(window), text(s->attribute), text(s->value),
                         integer(s->total), integer(s->distinct),
                         s->is_team ? blob(sum, sizeof sum) : (argument){0}),
               NULL, err);
}

static void add_standing(postgres_archive *a, int64_t window, int64_t first_scope,
                         const rung_archive_row *given) {
    rung_buffer *b = &a->copies[C_STANDINGS];
    rung__pgrow_row(b, 11);
    rung__pgrow_int(b, window);
    rung__pgrow_int(b, given->place);
    rung__pgrow_int(b, given->sparse);
    rung__pgrow_int(b, given->dense);
    rung__pgrow_text(b, given->player);
    rung__pgrow_int(b, given->number);
    rung__pgrow_values(b, &given->values);
    if (given->has_at)
        rung__pgrow_int(b, given->at_ms);
    else
        rung__pgrow_null(b);
    rung__pgrow_int4(b, (int32_t)given->hidden);
    b = &a->copies[C_SCOPE_STANDINGS];
    for (uint32_t i = 0; i < given->scope_count; i++) {
        const rung_archive_scope_rank *r = &given->scopes[i];
        rung__pgrow_row(b, 6);
        rung__pgrow_int(b, first_scope + r->scope);
        rung__pgrow_int(b, r->place);
        rung__pgrow_int(b, r->sparse);
        rung__pgrow_int(b, r->dense);
        rung__pgrow_int(b, window);
        rung__pgrow_int(b, given->place);
    }
}

static rung_status add_standings(postgres_archive *a, int64_t window, int64_t first_scope,
                                 uint32_t total, rung_archive_next_row *next, void *ctx,
                                 rung_err *err) {
    rung_archive_row given;
    uint32_t count = 0;
    rung_status st = RUNG_OK;
    while (st >= 0 && (st = next(ctx, &given, err)) == RUNG_OK) {
        add_standing(a, window, first_scope, &given);
        count++;
        st = sent_if_large(a, C_STANDINGS, err);
        if (st >= 0)
            st = sent_if_large(a, C_SCOPE_STANDINGS, err);
    }
    if (st == RUNG_NOT_FOUND && count != total)
        st = RUNG_FAIL(err, RUNG_ECORRUPT, "archive: a window of %u entries came with %u", total,
                       count);
    return st < 0 ? st : RUNG_OK;
}

static rung_status add_window_row(rung_archive *archive, int64_t window,
                                  const rung_archive_window *w, const rung_archive_values *format,
                                  rung_err *err) {
    return ask(archive,
               "INSERT INTO closed_windows (window_key, board, kind, window_id, start_ms, end_ms,"
               " closed_seq, closed_ms, entries, distinct_scores, rank_style, score_format,"
               " definition) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
               ARGUMENTS(integer(window), text(w->board), word(rung_window_words[w->kind]),
                         text(w->id), integer(w->start_ms), integer(w->end_ms),
                         integer((int64_t)w->closed_seq), integer(w->closed_ms), integer(w->total),
                         integer(w->distinct), word(rung_rank_words[w->rank]),
                         integer(format_of(format)), blob(w->definition.ptr, w->definition.len)),
               NULL, err);
}

static rung_status pg_add_window(rung_archive *archive, const rung_archive_window *w,
                                 const rung_archive_scope *scopes, uint32_t scope_count,
                                 rung_archive_next_row *next, void *ctx, rung_err *err) {
    postgres_archive *a = self_of(archive);
    int64_t window = 0, first_scope = 0;
    rung_board_def def;
    rung_status st = rung_board_def_decode(w->definition, &def, err);
    if (st >= 0) {
        st = next_key(archive, "SELECT coalesce(max(window_key), 0) + 1 FROM closed_windows",
                      &window, err);
    }
    if (st >= 0) {
        rung_archive_values format = rung_archive_values_of(&def);
        st = add_window_row(archive, window, w, &format, err);
    }
    if (st >= 0)
        st = next_key(archive, "SELECT coalesce(max(scope), 0) + 1 FROM scopes", &first_scope, err);
    for (uint32_t i = 0; st >= 0 && i < scope_count; i++)
        st = add_scope(archive, window, first_scope + i, &scopes[i], err);
    if (st >= 0)
        st = add_standings(a, window, first_scope, w->total, next, ctx, err);
    a->is_broken |= st < 0;
    return st < 0 ? st : RUNG_OK;
}

static rung_status pg_add_sample(rung_archive *archive, const rung_archive_sample *s,
                                 rung_err *err) {
    postgres_archive *a = self_of(archive);
    const rung_archive_point *p = &s->point;
    rung_buffer *columns = bulk_row(&a->bulks[B_SAMPLES], bulk_kinds[B_SAMPLES].columns);
    const rung_slice texts[] = {s->board, s->player, rung_slice_str(rung_window_words[p->kind]),
                                p->window_id};
    static const int at[] = {0, 1, 3, 4};
    const int64_t numbers[] = {(int64_t)s->seq, p->place, p->sparse, p->dense, p->total};
    for (int i = 0; i < 4; i++)
        rung__pgrow_text(&columns[at[i]], texts[i]);
    rung__pgrow_int(&columns[2], p->time_ms);
    for (int i = 0; i < 5; i++)
        rung__pgrow_int(&columns[5 + i], numbers[i]);
    for (uint32_t i = 0; i < RUNG_COLUMNS_MAX; i++)
        rung__pgrow_value(&columns[10 + i], &p->values, i);
    rung__pgrow_int4(&columns[13], format_of(&p->values));
    return a->bulks[B_SAMPLES].rows < SAMPLE_ROWS ? RUNG_OK : send_all(a, err);
}

static rung_status pg_hide(rung_archive *archive, uint64_t seq, rung_slice board, rung_slice player,
                           uint32_t bit, bool on, rung_err *err) {
    rung_status st = CHANGE(archive,
                            on ? NOTE_CHANGES " AND s.hidden & $3::int <> $3::int" NOTED_ALREADY
                               : NOTE_CHANGES " AND s.hidden & $3::int <> 0" NOTED_ALREADY,
                            err, text(board), text(player), integer(bit), integer((int64_t)seq));
    if (st < 0)
        return st;
    st = CHANGE(archive,
                on ? "UPDATE standings s SET hidden = s.hidden | $3::int" PLAYERS_STANDINGS
                   : "UPDATE standings s SET hidden = s.hidden & ~$3::int" PLAYERS_STANDINGS,
                err, text(board), text(player), integer(bit));
    if (st < 0)
        return st;
    if (bit == RUNG_HIDDEN_BANNED)
        return CHANGE(archive,
                      on ? "INSERT INTO banned_players VALUES ($1) ON CONFLICT DO NOTHING"
                         : "DELETE FROM banned_players WHERE player = $1",
                      err, text(player));
    st = CHANGE(archive,
                "UPDATE samples SET dropped_seq = $3 WHERE board = $1 AND player = $2"
                " AND dropped_seq IS NULL",
                err, text(board), text(player), integer((int64_t)seq));
    return st < 0 ? st
                  : CHANGE(archive, "DELETE FROM user_scores WHERE board = $1 AND player = $2", err,
                           text(board), text(player));
}

static rung_status pg_erase(rung_archive *archive, uint64_t seq, rung_slice player, rung_err *err) {
    static const char *const all[] = {
        /* while the standings still have the name */
        "UPDATE scopes SET value = NULL WHERE scope IN (SELECT t.scope FROM standings s"
        " JOIN scope_standings t ON t.window_key = s.window_key AND t.place = s.place"
        " WHERE s.player = $1 AND NOT s.erased AND NOT EXISTS (SELECT 1 FROM scope_standings o"
        " JOIN standings p ON p.window_key = o.window_key AND p.place = o.place"
        " WHERE o.scope = t.scope AND p.player <> $1 AND NOT p.erased))",
        "UPDATE standings SET player = 'erased-' || place, player_number = 0, erased = true,"
        " hidden = hidden | 2 WHERE player = $1 AND NOT erased",
        "DELETE FROM score_events WHERE player = $1",
        "DELETE FROM user_scores WHERE player = $1",
        "DELETE FROM samples WHERE player = $1",
        "DELETE FROM players WHERE player = $1",
        "DELETE FROM banned_players WHERE player = $1",
        "UPDATE audit SET player = NULL, details = NULL, reason = NULL, before = NULL,"
        " after = NULL WHERE player = $1",
        "UPDATE audit SET actor_player = NULL, actor_address = NULL WHERE actor_player = $1",
    };
    rung_status st = CHANGE(archive,
                            "INSERT INTO standing_changes SELECT s.window_key, s.place, $2,"
                            " s.hidden FROM standings s WHERE s.player = $1"
                            " AND NOT s.erased" NOTED_ALREADY,
                            err, text(player), integer((int64_t)seq));
    for (size_t i = 0; st >= 0 && i < sizeof all / sizeof *all; i++)
        st = CHANGE(archive, all[i], err, text(player));
    return st;
}

static rung_status pg_retire_board(rung_archive *archive, rung_slice board, uint64_t seq,
                                   rung_err *err) {
    rung_status st = CHANGE(archive,
                            "UPDATE closed_windows SET board_deleted_seq = $2 WHERE board = $1"
                            " AND board_deleted_seq IS NULL",
                            err, text(board), integer((int64_t)seq));
    if (st >= 0)
        st = CHANGE(archive,
                    "UPDATE samples SET dropped_seq = $2 WHERE board = $1 AND dropped_seq IS NULL",
                    err, text(board), integer((int64_t)seq));
    return st < 0 ? st
                  : CHANGE(archive, "DELETE FROM user_scores WHERE board = $1", err, text(board));
}

static rung_status pg_retire_all(rung_archive *archive, uint64_t seq, rung_err *err) {
    rung_status st = CHANGE(archive,
                            "UPDATE closed_windows SET board_deleted_seq = $1"
                            " WHERE board_deleted_seq IS NULL",
                            err, integer((int64_t)seq));
    if (st >= 0)
        st = CHANGE(archive, "UPDATE samples SET dropped_seq = $1 WHERE dropped_seq IS NULL", err,
                    integer((int64_t)seq));
    return st < 0 ? st : change(archive, "DELETE FROM user_scores", NULL, 0, err);
}

static rung_status pg_commit(rung_archive *archive, uint64_t seq, int64_t log_time_ms,
                             rung_err *err) {
    postgres_archive *a = self_of(archive);
    char sql[512];
    PGresult *result;
    if (a->is_broken || !a->in_batch || !a->db.conn)
        return RUNG_FAIL(err, RUNG_EIO, "archive: a batch that failed cannot be committed");
    if (seq < a->cursor_seq) { /* P2 */
        a->is_broken = true;
        return RUNG_FAIL(err, RUNG_ECORRUPT, "archive: the cursor would move back");
    }
    rung_status st = send_all(a, err);
    if (st < 0)
        return st;
    snprintf(sql, sizeof sql,
             "UPDATE source SET cursor = %" PRIu64 ", log_time_ms = %" PRId64 "%s%.*s%s; COMMIT",
             seq, log_time_ms, a->log_id_len ? ", log_id = '" : "", (int)a->log_id_len, a->log_id,
             a->log_id_len ? "'" : "");
    rung__pg_limit(&a->db, a->wait_ms);
    st = rung__pg_script(&a->db, sql, &result, err);
    if (st < 0) {
        a->is_broken = true;
        return st;
    }
    bool is_committed = strcmp(PQcmdStatus(result), "COMMIT") == 0;
    PQclear(result);
    if (!is_committed) {
        a->is_broken = true;
        return RUNG_FAIL(err, RUNG_EIO, "archive: PostgreSQL undid the batch");
    }
    a->in_batch = false;
    forget_rows(a);
    return RUNG_OK;
}

/* ---- upkeep ---- */

/* In a transaction of the writer that leaves the cursor where it is. */
static rung_status expire(postgres_archive *a, int64_t before_ms, bool *more_out, rung_err *err) {
    bool is_hour_later = before_ms - EXPIRE_EVERY_MS >= a->samples_expired_ms;
    rung_status st =
        is_hour_later ? rung__postgres_expire_samples(&a->db, before_ms, err) : RUNG_OK;
    if (st >= 0)
        st = rung__postgres_expire(&a->db, before_ms, more_out, err);
    if (st >= 0)
        st = rung__pg_script(&a->db, "COMMIT", NULL, err);
    if (st >= 0 && is_hour_later)
        a->samples_expired_ms = before_ms;
    return st;
}

/* Every minute of log time, until nothing is left to do. */
static rung_status pg_upkeep(rung_archive *archive, int64_t before_ms, bool *more_out,
                             rung_err *err) {
    postgres_archive *a = self_of(archive);
    *more_out = false;
    if (before_ms == INT64_MIN || (!a->has_more_old && before_ms < a->expired_ms + EXPIRE_LOOK_MS))
        return RUNG_OK;
    rung_status st = pg_begin(archive, err);
    if (st != RUNG_OK) /* or another server writes: it does this, too */
        return st < 0 ? st : RUNG_OK;
    st = expire(a, before_ms, more_out, err);
    a->in_batch = st < 0;
    a->month_count = 0; /* P3 */
    if (st < 0) {
        pg_rollback(archive);
        return st;
    }
    a->expired_ms = before_ms;
    a->has_more_old = *more_out;
    return RUNG_OK;
}

/* ---- questions ---- */

static rung_status pg_cursor(rung_archive *archive, uint64_t *seq_out, int64_t *log_time_ms_out,
                             rung_err *err) {
    postgres_archive *a = self_of(archive);
    if (a->in_batch) {
        *seq_out = a->cursor_seq;
        if (log_time_ms_out)
            *log_time_ms_out = a->log_time_ms;
        return RUNG_OK;
    }
    rung_status st = ready(a, err);
    if (st >= 0)
        st = read_source(a, seq_out, log_time_ms_out, err);
    if (st >= 0 && *seq_out > (uint64_t)a->as_of_seq)
        *seq_out = (uint64_t)a->as_of_seq;
    return st;
}

static rung_status pg_read_begin(rung_archive *archive, rung_err *err) {
    postgres_archive *a = self_of(archive);
    rung_status st = ready(a, err);
    if (st == RUNG_OK)
        st = rung__pg_script(&a->db, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", NULL, err);
    a->is_reading = st == RUNG_OK;
    return st;
}

/* The columns of WINDOW_COLUMNS. */
static void read_window(row *r, void *out) {
    *(rung_archive_window *)out =
        (rung_archive_window){.key = int_at(r, 0),
                              .board = text_at(r, 1),
                              .kind = (uint32_t)word_at(r, rung_window_words, 2),
                              .id = text_at(r, 3),
                              .start_ms = int_at(r, 4),
                              .end_ms = int_at(r, 5),
                              .closed_seq = (uint64_t)int_at(r, 6),
                              .closed_ms = int_at(r, 7),
                              .total = u32_at(r, 8),
                              .distinct = u32_at(r, 9),
                              .rank = (rung_rank_style)word_at(r, rung_rank_words, 10),
                              .definition = bytes_at(r, 11),
                              .has_scopes = true};
}

static void read_count(row *r, void *out) {
    *(int64_t *)out = int_at(r, 0);
}

static rung_status pg_find_window(rung_archive *archive, rung_slice board, uint32_t kind,
                                  rung_slice id, rung_archive_window *out, rung_err *err) {
    rung_status st = find(archive,
                          "SELECT " WINDOW_COLUMNS("entries") " AND kind = $2 AND window_id = $3"
                                                              " ORDER BY closed_seq DESC LIMIT 1",
                          ARGUMENTS(text(board), word(rung_window_words[kind]), text(id)),
                          read_window, out, err);
    if (st == RUNG_NOT_FOUND)
        RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "window", "it is not in the archive");
    int64_t erased = 0;
    if (st == RUNG_OK && self_of(archive)->as_of_seq != INT64_MAX)
        st = find(archive,
                  "SELECT count(*) FROM standing_changes c JOIN standings s"
                  " USING (window_key, place) WHERE c.window_key = $1 AND c.seq > " AS_OF
                  " AND s.erased",
                  ARGUMENTS(integer(out->key)), read_count, &erased, err);
    return st == RUNG_OK && erased ? rung__archive_fail_erased(err) : st;
}

static rung_status pg_windows(rung_archive *archive, rung_slice board, uint32_t kind,
                              int64_t before_end_ms, uint32_t limit, rung_archive_window *out,
                              uint32_t *count_out, rung_err *err) {
    return list(archive,
                "SELECT " WINDOW_COLUMNS(
                    SHOWN_ENTRIES) " AND ($2::text IS NULL OR kind = $2) AND end_ms < $3"
                                   " ORDER BY end_ms DESC, kind COLLATE \"C\", window_id, "
                                   "closed_seq DESC LIMIT $4",
                ARGUMENTS(text(board), kind ? word(rung_window_words[kind]) : (argument){0},
                          integer(before_end_ms), integer(limit)),
                read_window, out, sizeof *out, limit, count_out, err);
}

static void read_scope(row *r, void *out) {
    rung_archive_scope *s = out;
    s->key = int_at(r, 0);
    s->total = u32_at(r, 1);
    s->distinct = u32_at(r, 2);
}

static rung_status pg_find_scope(rung_archive *archive, int64_t window, rung_slice attribute,
                                 rung_slice value, rung_archive_scope *out, rung_err *err) {
    *out = (rung_archive_scope){.attribute = attribute, .value = value};
    return find(archive,
                "SELECT scope, entries, distinct_scores FROM scopes"
                " WHERE window_key = $1 AND attribute = $2 AND value = $3",
                ARGUMENTS(integer(window), text(attribute), text(value)), read_scope, out, err);
}

static void read_full_scope(row *r, void *out) {
    rung_slice sum = bytes_at(r, 4);
    rung_archive_scope s = {.key = int_at(r, 0),
                            .value = text_at(r, 1),
                            .total = u32_at(r, 2),
                            .distinct = u32_at(r, 3),
                            .hidden = u32_at(r, 5),
                            .is_team = sum.len == SUM_BYTES};
    if (s.is_team) {
        const uint8_t *bytes = (const uint8_t *)sum.ptr;
        s.team_sum =
            (__int128)(((unsigned __int128)rung_get64(bytes + 8) << 64) | rung_get64(bytes));
    }
    *(rung_archive_scope *)out = s;
}

static rung_status pg_scopes(rung_archive *archive, int64_t window, rung_slice attribute,
                             rung_archive_scope **scopes_out, uint32_t *count_out, rung_err *err) {
    void *all;
    rung_status st =
        list_all(archive,
                 "SELECT c.scope, c.value, c.entries, c.distinct_scores, c.team_sum,"
                 " coalesce(x.hidden, 0) FROM scopes c LEFT JOIN (SELECT t.scope AS scope,"
                 " count(*) AS hidden" HIDDEN_IN_SCOPES " GROUP BY t.scope) x USING (scope)"
                 " WHERE c.window_key = $1 AND c.attribute = $2 AND c.value IS NOT NULL",
                 ARGUMENTS(integer(window), text(attribute)), read_full_scope, sizeof **scopes_out,
                 &all, count_out, err);
    if (st != RUNG_OK)
        return st;
    *scopes_out = all;
    for (uint32_t i = 0; i < *count_out; i++)
        (*scopes_out)[i].attribute = attribute;
    return RUNG_OK;
}

static void read_ranks(row *r, void *out) {
    *(rung_archive_row *)out =
        (rung_archive_row){.place = u32_at(r, 0), .sparse = u32_at(r, 1), .dense = u32_at(r, 2)};
}

static rung_status pg_hidden(rung_archive *archive, const rung_archive_ranking *r,
                             rung_archive_row **rows_out, uint32_t *count_out, rung_err *err) {
    void *all;
    rung_status st =
        r->scope
            ? list_all(archive,
                       "SELECT " SCOPE_RANKS HIDDEN_IN_SCOPES " AND t.scope = $2 ORDER BY h.place",
                       ARGUMENTS(integer(r->window), integer(r->scope)), read_ranks,
                       sizeof **rows_out, &all, count_out, err)
            : list_all(archive,
                       "SELECT s.place, s.sparse_rank, s.dense_rank"
                       " FROM " HIDDEN_PLACES("$1") " JOIN standings s"
                                                    " ON s.window_key = $1 AND s.place = h.place"
                                                    " ORDER BY s.place",
                       ARGUMENTS(integer(r->window)), read_ranks, sizeof **rows_out, &all,
                       count_out, err);
    if (st == RUNG_OK)
        *rows_out = all;
    return st;
}

/* The columns of STANDING(). */
static void read_standing(row *r, void *out) {
    *(rung_archive_row *)out = (rung_archive_row){.place = u32_at(r, 0),
                                                  .sparse = u32_at(r, 1),
                                                  .dense = u32_at(r, 2),
                                                  .number = u32_at(r, 3),
                                                  .player = text_at(r, 4),
                                                  .values = values_at(r, 5, int_at(r, 9)),
                                                  .has_at = !is_null_at(r, 8),
                                                  .at_ms = int_at(r, 8)};
}

static rung_status pg_rows(rung_archive *archive, const rung_archive_ranking *r,
                           uint32_t from_place, uint32_t limit, rung_archive_row *out,
                           uint32_t *count_out, rung_err *err) {
    static const char everybody[] =
        STANDING(RANKS) "standings s JOIN closed_windows w USING (window_key)"
                        " WHERE s.window_key = $1 AND s.place >= $2 AND " IS_SHOWN
                        " ORDER BY s.place LIMIT $3";
    static const char in_scope[] =
        STANDING(SCOPE_RANKS) "scope_standings t JOIN standings s ON s.window_key = t.window_key"
                              " AND s.place = t.place JOIN closed_windows w"
                              " ON w.window_key = t.window_key WHERE t.scope = $4"
                              " AND t.window_key = $1 AND t.scope_place >= $2 AND " IS_SHOWN
                              " ORDER BY t.scope_place LIMIT $3";
    argument args[] = {integer(r->window), integer(from_place), integer(limit), integer(r->scope)};
    return list(archive, r->scope ? in_scope : everybody, args, r->scope ? 4 : 3, read_standing,
                out, sizeof *out, limit, count_out, err);
}

static rung_status pg_row_of(rung_archive *archive, const rung_archive_ranking *r,
                             rung_slice player, rung_archive_row *out, rung_err *err) {
    static const char everybody[] =
        STANDING(RANKS) "standings s JOIN closed_windows w USING (window_key)"
                        " WHERE s.window_key = $1 AND s.player = $2 AND NOT s.erased"
                        " AND " IS_SHOWN;
    static const char in_scope[] =
        STANDING(SCOPE_RANKS) "standings s JOIN scope_standings t ON t.window_key = s.window_key"
                              " AND t.place = s.place JOIN closed_windows w"
                              " ON w.window_key = s.window_key WHERE s.window_key = $1"
                              " AND s.player = $2 AND NOT s.erased AND t.scope = $3 AND " IS_SHOWN;
    argument args[] = {integer(r->window), text(player), integer(r->scope)};
    return find(archive, r->scope ? in_scope : everybody, args, r->scope ? 3 : 2, read_standing,
                out, err);
}

static void read_point(row *r, void *out) {
    int kind = rung_word_find(rung_window_words, peek_text(r, 2));
    *(rung_archive_point *)out = (rung_archive_point){.time_ms = int_at(r, 0),
                                                      .is_sample = int_at(r, 1) != 0,
                                                      .kind = kind < 0 ? 0 : (uint32_t)kind,
                                                      .window_id = text_at(r, 3),
                                                      .place = u32_at(r, 4),
                                                      .sparse = u32_at(r, 5),
                                                      .dense = u32_at(r, 6),
                                                      .total = u32_at(r, 7),
                                                      .values = values_at(r, 8, int_at(r, 11))};
}

static rung_status pg_history(rung_archive *archive, rung_slice board, rung_slice player,
                              int64_t from_ms, int64_t to_ms, uint32_t limit,
                              rung_archive_point *out, uint32_t *count_out, rung_err *err) {
    return list(
        archive,
        "SELECT w.end_ms, 0, w.kind COLLATE \"C\", w.window_id, s.place, s.sparse_rank,"
        " s.dense_rank, w.entries, s.score, s.column1, s.column2, w.score_format"
        " FROM standings s JOIN closed_windows w USING (window_key)"
        " WHERE s.player = $2 AND NOT s.erased AND w.board = $1 AND " WINDOW_IS_THERE
        " AND w.end_ms >= $3 AND w.end_ms < $4 AND " IS_SHOWN
        " UNION ALL SELECT taken_ms, 1, kind, window_id, place, sparse_rank, dense_rank,"
        " entries, score, column1, column2, score_format FROM samples"
        " WHERE board = $1 AND player = $2 AND taken_ms >= $3 AND taken_ms < $4"
        " AND seq <= " AS_OF " AND (dropped_seq IS NULL OR dropped_seq > " AS_OF ")"
        " ORDER BY 1, 2, 3, 4 LIMIT $5",
        ARGUMENTS(text(board), text(player), integer(from_ms), integer(to_ms), integer(limit)),
        read_point, out, sizeof *out, limit, count_out, err);
}

static void read_score(row *r, void *out) {
    *(rung_archive_score *)out = (rung_archive_score){.seq = (uint64_t)int_at(r, 0),
                                                      .board = text_at(r, 1),
                                                      .player = text_at(r, 2),
                                                      .values = values_at(r, 4, int_at(r, 7)),
                                                      .at_ms = int_at(r, 8),
                                                      .has_at = bool_at(r, 9),
                                                      .ts_ms = int_at(r, 10),
                                                      .id = text_at(r, 11),
                                                      .meta = text_at(r, 12),
                                                      .status = status_at(r, 13),
                                                      .rule = rule_at(r, 14),
                                                      .has_result = !is_null_at(r, 18),
                                                      .result = values_at(r, 15, int_at(r, 18)),
                                                      .part = (uint32_t)int_at(r, 19)};
    if (!rung_archive_kind_read(peek_text(r, 3), out))
        note(r, RUNG_ECORRUPT);
}

static const char *scores_sql(const rung_archive_score_query *q) {
    static const char *const all[3][2] = {
        {SCORE_COLUMNS BOARD_ONLY SCORE_RANGE, SCORE_COLUMNS BOARD_ONLY SCORE_RANGE_BACK},
        {SCORE_COLUMNS PLAYER_ONLY SCORE_RANGE, SCORE_COLUMNS PLAYER_ONLY SCORE_RANGE_BACK},
        {SCORE_COLUMNS BOTH SCORE_RANGE, SCORE_COLUMNS BOTH SCORE_RANGE_BACK}};
    return all[!q->player.len ? 0 : !q->board.len ? 1 : 2][q->newest_first];
}

static rung_status pg_scores(rung_archive *archive, const rung_archive_score_query *q,
                             uint32_t limit, rung_archive_score *out, uint32_t *count_out,
                             rung_err *err) {
    bool is_always = q->from_ms == 0 && q->to_ms == 0;
    int64_t from_ms = is_always ? INT64_MIN : q->from_ms, to_ms = is_always ? INT64_MAX : q->to_ms;
    int64_t after_ms = q->after_seq ? q->after_at_ms : q->newest_first ? INT64_MAX : INT64_MIN;
    int64_t after_seq = q->after_seq || !q->newest_first ? (int64_t)q->after_seq : INT64_MAX;
    int64_t after_part = q->after_seq ? q->after_part : q->newest_first ? INT32_MAX : 0;
    return list(archive, scores_sql(q),
                ARGUMENTS(text(q->board), text(q->player), integer(from_ms), integer(to_ms),
                          integer(after_ms), integer(after_seq), integer(limit),
                          integer(after_part)),
                read_score, out, sizeof *out, limit, count_out, err);
}

static void read_audit(row *r, void *out) {
    *(rung_archive_audit *)out = (rung_archive_audit){.seq = (uint64_t)int_at(r, 0),
                                                      .entry = (uint64_t)int_at(r, 1),
                                                      .ts_ms = int_at(r, 2),
                                                      .kind = text_at(r, 3),
                                                      .board = text_at(r, 4),
                                                      .player = text_at(r, 5),
                                                      .details = text_at(r, 6),
                                                      .status = status_at(r, 7),
                                                      .rule = rule_at(r, 8),
                                                      .actor_key = text_at(r, 9),
                                                      .actor_player = text_at(r, 10),
                                                      .actor_address = text_at(r, 11),
                                                      .reason = text_at(r, 12),
                                                      .before = text_at(r, 13),
                                                      .after = text_at(r, 14)};
}

static rung_status pg_audit(rung_archive *archive, const rung_archive_audit_query *q,
                            uint32_t limit, rung_archive_audit *out, uint32_t *count_out,
                            rung_err *err) {
    static const char forward[] =
        AUDIT_COLUMNS " AND (seq, entry) > ($7, $8) ORDER BY seq, entry LIMIT $9";
    static const char back[] =
        AUDIT_COLUMNS " AND (seq, entry) < ($7, $8) ORDER BY seq DESC, entry DESC LIMIT $9";
    bool is_always = q->from_ms == 0 && q->to_ms == 0;
    bool is_last = q->newest_first && q->after_seq == 0; /* the first page, from the end */
    bool is_first = !q->newest_first && q->after_seq == 0;
    int64_t entry = is_last ? INT64_MAX : is_first ? -1 : (int64_t)q->after_entry;
    return list(archive, q->newest_first ? back : forward,
                ARGUMENTS(text(q->board), text(q->player), text(q->actor), text(q->kind),
                          is_always ? (argument){0} : integer(q->from_ms), integer(q->to_ms),
                          integer(is_last ? INT64_MAX : (int64_t)q->after_seq), integer(entry),
                          integer(limit)),
                read_audit, out, sizeof *out, limit, count_out, err);
}

/* ---- life ---- */

static void pg_interrupt(rung_archive *archive) {
    rung__pg_interrupt(&self_of(archive)->db);
}

static void pg_limit(rung_archive *archive, uint32_t ms) {
    self_of(archive)->wait_ms = ms;
}

static void pg_close(rung_archive *archive) {
    postgres_archive *a = self_of(archive);
    if (a->db.conn && a->has_lock) { /* so that the next one need not wait for our session's end */
        rung__pg_limit(&a->db, LEAVE_MS);
        a->wait_ms = LEAVE_MS;
        pg_rollback(archive);
        if (a->db.conn)
            rung_ignore(rung__pg_script(&a->db, "SELECT pg_advisory_unlock_all()", NULL, NULL),
                        "the end of the session does it as well");
    }
    rung__pg_deinit(&a->db);
    rung__archive_forget(archive);
    for (int i = 0; i < C_COUNT; i++)
        rung_buffer_deinit(&a->copies[i]);
    for (int i = 0; i < B_COUNT; i++)
        for (int k = 0; k < COLUMNS_MAX; k++)
            rung_buffer_deinit(&a->bulks[i].columns[k]);
    explicit_bzero(&a->url, sizeof a->url);
    rung_alloc_free(archive->alloc, a, sizeof *a);
}

static const rung_archive_ops postgres_ops = {
    .begin = pg_begin,
    .add_score = pg_add_score,
    .add_audit = pg_add_audit,
    .find_refusals = pg_find_refusals,
    .put_refusals = pg_put_refusals,
    .put_player = pg_put_player,
    .add_window = pg_add_window,
    .add_sample = pg_add_sample,
    .hide = pg_hide,
    .erase = pg_erase,
    .retire_board = pg_retire_board,
    .retire_all = pg_retire_all,
    .commit = pg_commit,
    .rollback = pg_rollback,
    .upkeep = pg_upkeep,
    .cursor = pg_cursor,
    .read_begin = pg_read_begin,
    .read_end = pg_rollback,
    .find_window = pg_find_window,
    .windows = pg_windows,
    .find_scope = pg_find_scope,
    .scopes = pg_scopes,
    .hidden = pg_hidden,
    .rows = pg_rows,
    .row_of = pg_row_of,
    .history = pg_history,
    .scores = pg_scores,
    .audit = pg_audit,
    .interrupt = pg_interrupt,
    .limit = pg_limit,
    .close = pg_close,
};

/* SQL for every new connection. Keepalives let the server notice soon that a holder's machine is gone. */
static void write_session(postgres_archive *a) {
    snprintf(a->db.session, sizeof a->db.session,
             "SET search_path = %s; SET statement_timeout = %u; SET lock_timeout = 5000;"
             " SET idle_in_transaction_session_timeout = 300000; SET jit = off;"
             " SET bytea_output = 'hex'; SET tcp_keepalives_idle = 10;"
             " SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;"
             " SET default_transaction_read_only = %s; SET rung.as_of = '%" PRId64 "'",
             a->url.schema, a->wait_ms, a->is_read_only ? "on" : "off", a->as_of_seq);
}

/* Failures that trying again does not mend. */
static bool is_final(rung_status st) {
    return st == RUNG_EVERSION || st == RUNG_ECONFLICT || st == RUNG_ECORRUPT ||
           st == RUNG_EUNSUPPORTED || st == RUNG_ENOMEM || st == RUNG_EINVAL;
}

static rung_status set_up(postgres_archive *a, const rung_postgres_archive_config *c,
                          rung_err *err) {
    rung_status st = rung_postgres_url_parse(c->url, &a->url, err);
    if (st < 0)
        return st;
    if (c->log_id.len > sizeof a->log_id ||
        (c->log_id.len && memchr(c->log_id.ptr, '\'', c->log_id.len)))
        return RUNG_FAIL(err, RUNG_EINVAL, "archive: not the identity of a log");
    if (c->log_id.len)
        memcpy(a->log_id, c->log_id.ptr, c->log_id.len);
    a->log_id_len = c->log_id.len;
    a->is_read_only = c->is_read_only;
    a->as_of_seq = c->as_of_seq ? (int64_t)c->as_of_seq : INT64_MAX;
    a->wait_ms = c->wait_ms ? c->wait_ms : c->is_read_only ? READ_MS_DEFAULT : WRITE_MS_DEFAULT;
    a->db.url = a->url.libpq;
    a->db.shown = a->url.shown;
    a->db.is_writer = !c->is_read_only;
    a->wanted[0] = a->wanted[1] = -1;
    a->samples_expired_ms = a->expired_ms = INT64_MIN / 2;
    for (int i = 0; i < C_COUNT; i++)
        a->copies[i].alloc = c->alloc;
    for (int i = 0; i < B_COUNT; i++)
        for (int k = 0; k < COLUMNS_MAX; k++)
            a->bulks[i].columns[k].alloc = c->alloc;
    write_session(a);
    return rung__pg_init(&a->db, err);
}

rung_status rung_postgres_archive_open(const rung_postgres_archive_config *config,
                                       rung_archive **archive_out, rung_err *away_out,
                                       rung_err *err) {
    rung_err away = {0};
    postgres_archive *a = rung_alloc_zeroed(config->alloc, sizeof *a);
    if (!a)
        return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
    a->port = (rung_archive){.ops = &postgres_ops, .alloc = config->alloc, .may_be_away = true};
    a->db.interrupt_fd = -1;
    rung_status st = set_up(a, config, err);
    if (st == RUNG_OK && !config->is_read_only) {
        st = ensure(a, &away);
        if (is_final(st) && err)
            *err = away;
        st = is_final(st) ? st : RUNG_OK;
    }
    if (st < 0) {
        pg_close(&a->port);
        return st;
    }
    if (away_out)
        *away_out = away;
    *archive_out = &a->port;
    return RUNG_OK;
}
