/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/sqlite/schema.h"

#include "base/assert.h"

/* clang-format off */

/* 0 -> 1: events. */
static const char events[] =
    "CREATE TABLE source ("
    "  only INTEGER PRIMARY KEY CHECK (only = 1),"
    "  log_id TEXT NOT NULL,"
    "  cursor INTEGER NOT NULL,"
    "  log_time_ms INTEGER);"

    "CREATE TABLE score_events ("
    "  seq INTEGER PRIMARY KEY,"
    "  board TEXT NOT NULL,"
    "  player TEXT NOT NULL,"
    "  kind TEXT NOT NULL,"
    "  score, column1, column2,"
    "  score_format INTEGER NOT NULL,"
    "  at_ms INTEGER NOT NULL,"
    "  at_given INTEGER NOT NULL,"
    "  ts_ms INTEGER NOT NULL,"
    "  id TEXT,"
    "  meta TEXT,"
    "  status TEXT);"
    "CREATE INDEX score_events_by_board_player ON score_events (board, player, at_ms);"
    "CREATE INDEX score_events_by_board ON score_events (board, at_ms);"
    "CREATE INDEX score_events_by_player ON score_events (player, at_ms);"

    "CREATE TABLE audit ("
    "  entry INTEGER PRIMARY KEY,"
    "  seq INTEGER NOT NULL,"
    "  ts_ms INTEGER,"
    "  kind TEXT NOT NULL,"
    "  board TEXT,"
    "  player TEXT,"
    "  details TEXT,"
    "  status TEXT);"
    "CREATE INDEX audit_by_seq ON audit (seq);"
    "CREATE INDEX audit_by_board ON audit (board, seq);"
    "CREATE INDEX audit_by_player ON audit (player, seq);"

    "CREATE TABLE players ("
    "  player TEXT PRIMARY KEY,"
    "  profile TEXT NOT NULL,"
    "  changed_seq INTEGER NOT NULL,"
    "  changed_ms INTEGER NOT NULL) WITHOUT ROWID;";

/* 1 -> 2: closed windows and samples. */
static const char standings[] =
    "CREATE TABLE closed_windows ("
    "  window INTEGER PRIMARY KEY,"
    "  board TEXT NOT NULL,"
    "  kind TEXT NOT NULL,"
    "  window_id TEXT NOT NULL,"
    "  start_ms INTEGER NOT NULL,"
    "  end_ms INTEGER NOT NULL,"
    "  closed_seq INTEGER NOT NULL,"
    "  closed_ms INTEGER NOT NULL,"
    "  entries INTEGER NOT NULL,"
    "  distinct_scores INTEGER NOT NULL,"
    "  rank_style TEXT NOT NULL,"
    "  score_format INTEGER NOT NULL,"
    "  definition BLOB NOT NULL,"
    "  board_deleted_seq INTEGER,"
    "  UNIQUE (board, kind, window_id, closed_seq));"
    "CREATE INDEX closed_windows_by_end ON closed_windows (board, end_ms);"

    "CREATE TABLE standings ("
    "  window INTEGER NOT NULL REFERENCES closed_windows,"
    "  place INTEGER NOT NULL,"
    "  sparse_rank INTEGER NOT NULL,"
    "  dense_rank INTEGER NOT NULL,"
    "  player TEXT NOT NULL,"
    "  player_number INTEGER NOT NULL,"
    "  score, column1, column2,"
    "  at_ms INTEGER,"
    "  hidden INTEGER NOT NULL DEFAULT 0,"
    "  erased INTEGER NOT NULL DEFAULT 0,"
    "  PRIMARY KEY (window, place)) WITHOUT ROWID;"
    "CREATE INDEX standings_by_player ON standings (player, window);"
    "CREATE INDEX standings_hidden ON standings (window, place) WHERE hidden <> 0;"

    "CREATE TABLE samples ("
    "  board TEXT NOT NULL,"
    "  player TEXT NOT NULL,"
    "  taken_ms INTEGER NOT NULL,"
    "  kind TEXT NOT NULL,"
    "  window_id TEXT NOT NULL,"
    "  seq INTEGER NOT NULL,"
    "  place INTEGER NOT NULL,"
    "  sparse_rank INTEGER NOT NULL,"
    "  dense_rank INTEGER NOT NULL,"
    "  entries INTEGER NOT NULL,"
    "  score, column1, column2,"
    "  score_format INTEGER NOT NULL,"
    "  PRIMARY KEY (board, player, taken_ms, kind, window_id)) WITHOUT ROWID;"
    "CREATE INDEX samples_by_player ON samples (player);";

/* 2 -> 3: views for people. A decimal is stored times 10^decimals; bits 4 to 7 of the format have the decimals. */
#define SHOWN(score, format)                                                                       \
    "CASE WHEN (" format " & 15) <> 1 OR (" format " >> 4 & 15) = 0 THEN " score " ELSE "          \
    "printf('%s%d.%0*d',"                                                                          \
    " CASE WHEN " score " < 0 AND " score " / (" POWER(format) ") = 0 THEN '-' ELSE '' END,"       \
    " " score " / (" POWER(format) "), " format " >> 4 & 15, abs(" score " % (" POWER(format) "))) END"
#define POWER(format)                                                                              \
    "CASE " format " >> 4 & 15 WHEN 1 THEN 10 WHEN 2 THEN 100 WHEN 3 THEN 1000 WHEN 4 THEN 10000"  \
    " WHEN 5 THEN 100000 WHEN 6 THEN 1000000 WHEN 7 THEN 10000000 WHEN 8 THEN 100000000"           \
    " ELSE 1000000000 END"
#define TIME(ms) "strftime('%Y-%m-%dT%H:%M:%fZ', " ms " / 1000.0, 'unixepoch')"

static const char views[] =
    "CREATE VIEW readable_scores AS SELECT seq, board, player, kind, " SHOWN("score", "score_format") " AS score,"
    "  column1, column2, " TIME("at_ms") " AS at, " TIME("ts_ms") " AS received, id, meta, status"
    "  FROM score_events;"

    "CREATE VIEW readable_standings AS SELECT w.board, w.kind, w.window_id, s.place,"
    "  CASE w.rank_style WHEN 'unique' THEN s.place WHEN 'sparse' THEN s.sparse_rank ELSE s.dense_rank END AS rank,"
    "  s.player, json_extract(p.profile, '$.name') AS name, " SHOWN("s.score", "w.score_format") " AS score,"
    "  s.column1, s.column2, " TIME("s.at_ms") " AS at"
    "  FROM closed_windows w JOIN standings s USING (window)"
    "  LEFT JOIN players p ON p.player = s.player AND NOT s.erased"
    "  WHERE s.hidden = 0 AND w.board_deleted_seq IS NULL;"

    "CREATE VIEW readable_windows AS SELECT window, board, kind, window_id, " TIME("start_ms") " AS starts,"
    "  " TIME("end_ms") " AS ends, " TIME("closed_ms") " AS closed, closed_seq, entries, rank_style"
    "  FROM closed_windows WHERE board_deleted_seq IS NULL;"

    "CREATE VIEW readable_audit AS SELECT seq, " TIME("ts_ms") " AS at, kind, board, player, details, status"
    "  FROM audit;"

    "CREATE VIEW readable_history AS"
    "  SELECT w.board, s.player, " TIME("w.end_ms") " AS at, 'window end' AS taken, w.kind, w.window_id,"
    "  s.place, s.sparse_rank, s.dense_rank, w.entries, " SHOWN("s.score", "w.score_format") " AS score"
    "  FROM standings s CROSS JOIN closed_windows w USING (window)"
    "  WHERE s.hidden = 0 AND NOT s.erased AND w.board_deleted_seq IS NULL"
    "  UNION ALL SELECT board, player, " TIME("taken_ms") ", 'daily', kind, window_id, place, sparse_rank, dense_rank,"
    "  entries, " SHOWN("score", "score_format") " FROM samples;";

/* 3 -> 4: scopes of closed windows. */
static const char scopes[] =
    "ALTER TABLE closed_windows ADD COLUMN has_scopes INTEGER NOT NULL DEFAULT 0;"

    "CREATE TABLE scopes ("
    "  scope INTEGER PRIMARY KEY,"
    "  window INTEGER NOT NULL REFERENCES closed_windows,"
    "  attribute TEXT NOT NULL,"
    "  value TEXT,"
    "  entries INTEGER NOT NULL,"
    "  distinct_scores INTEGER NOT NULL,"
    "  team_sum BLOB,"
    "  UNIQUE (window, attribute, value));"

    "CREATE TABLE scope_standings ("
    "  scope INTEGER NOT NULL REFERENCES scopes,"
    "  scope_place INTEGER NOT NULL,"
    "  sparse_rank INTEGER NOT NULL,"
    "  dense_rank INTEGER NOT NULL,"
    "  window INTEGER NOT NULL,"
    "  place INTEGER NOT NULL,"
    "  PRIMARY KEY (scope, scope_place)) WITHOUT ROWID;"
    "CREATE INDEX scope_standings_by_place ON scope_standings (window, place);"

    "CREATE VIEW readable_scope_standings AS SELECT w.board, w.kind, w.window_id, c.attribute, c.value, t.scope_place,"
    "  CASE w.rank_style WHEN 'unique' THEN t.scope_place WHEN 'sparse' THEN t.sparse_rank ELSE t.dense_rank END"
    "  AS rank, s.player, json_extract(p.profile, '$.name') AS name, " SHOWN("s.score", "w.score_format") " AS score,"
    "  s.column1, s.column2, " TIME("s.at_ms") " AS at"
    "  FROM closed_windows w JOIN scopes c USING (window) JOIN scope_standings t USING (scope)"
    "  JOIN standings s ON s.window = t.window AND s.place = t.place"
    "  LEFT JOIN players p ON p.player = s.player AND NOT s.erased"
    "  WHERE s.hidden = 0 AND w.board_deleted_seq IS NULL;";

/* 4 -> 5: the result of a submission, the rule that refused it; who did what, why, before and after. */
static const char actors[] =
    "ALTER TABLE score_events ADD COLUMN rule TEXT;"
    "ALTER TABLE score_events ADD COLUMN result;"
    "ALTER TABLE score_events ADD COLUMN result_column1;"
    "ALTER TABLE score_events ADD COLUMN result_column2;"
    "ALTER TABLE score_events ADD COLUMN result_format INTEGER;"

    "ALTER TABLE audit ADD COLUMN rule TEXT;"
    "ALTER TABLE audit ADD COLUMN actor_key TEXT;"
    "ALTER TABLE audit ADD COLUMN actor_player TEXT;"
    "ALTER TABLE audit ADD COLUMN actor_address TEXT;"
    "ALTER TABLE audit ADD COLUMN reason TEXT;"
    "ALTER TABLE audit ADD COLUMN before TEXT;"
    "ALTER TABLE audit ADD COLUMN after TEXT;"
    "CREATE INDEX audit_by_actor ON audit (actor_key, seq) WHERE actor_key IS NOT NULL;"
    "CREATE INDEX audit_by_actor_player ON audit (actor_player) WHERE actor_player IS NOT NULL;"

    "CREATE TABLE refusals ("
    "  board TEXT NOT NULL,"
    "  rule TEXT NOT NULL,"
    "  minute_ms INTEGER NOT NULL,"
    "  count INTEGER NOT NULL,"
    "  first_seq INTEGER NOT NULL,"
    "  last_seq INTEGER NOT NULL,"
    "  PRIMARY KEY (board, rule, minute_ms)) WITHOUT ROWID;"

    "DROP VIEW readable_scores;"
    "CREATE VIEW readable_scores AS SELECT seq, board, player, kind, " SHOWN("score", "score_format") " AS score,"
    "  column1, column2, " TIME("at_ms") " AS at, " TIME("ts_ms") " AS received, id, meta, status, rule,"
    "  " SHOWN("result", "result_format") " AS result FROM score_events;"

    "DROP VIEW readable_audit;"
    "CREATE VIEW readable_audit AS SELECT seq, " TIME("ts_ms") " AS at, kind, board, player, details, status, rule,"
    "  actor_key, actor_player, actor_address, reason, before, after FROM audit;"

    "CREATE VIEW readable_refusals AS SELECT board, rule, " TIME("minute_ms") " AS minute, count, first_seq, last_seq"
    "  FROM refusals;";

/* 5 -> 6: score events in packed blocks (event_store.h), which the virtual table packed_events shows; those of older
 * versions stay in their rows. */
static const char packed[] =
    "DROP VIEW readable_scores;"
    "ALTER TABLE score_events RENAME TO score_rows;"

    "CREATE TABLE event_store ("
    "  only INTEGER PRIMARY KEY CHECK (only = 1),"
    "  hash_key BLOB NOT NULL,"
    "  indexed INTEGER NOT NULL);"
    "INSERT INTO event_store VALUES (1, randomblob(16), 0);"

    "CREATE TABLE event_blocks ("
    "  block INTEGER PRIMARY KEY,"
    "  first_seq INTEGER NOT NULL,"
    "  last_seq INTEGER NOT NULL,"
    "  events INTEGER NOT NULL,"
    "  min_at_ms INTEGER NOT NULL,"
    "  max_at_ms INTEGER NOT NULL,"
    "  min_ts_ms INTEGER NOT NULL,"
    "  max_ts_ms INTEGER NOT NULL);"
    "CREATE TABLE event_bytes (block INTEGER PRIMARY KEY, bytes BLOB NOT NULL);"

    "CREATE TABLE event_runs ("
    "  run INTEGER PRIMARY KEY,"
    "  level INTEGER NOT NULL,"
    "  first_block INTEGER NOT NULL,"
    "  last_block INTEGER NOT NULL,"
    "  fences BLOB NOT NULL);"
    "CREATE TABLE event_chunks (chunk INTEGER PRIMARY KEY, bytes BLOB NOT NULL);"

    "CREATE VIEW score_events AS SELECT seq, part, board, player, kind, score, column1, column2, score_format,"
    "  at_ms, at_given, ts_ms, id, meta, status, rule, result, result_column1, result_column2, result_format"
    "  FROM packed_events"
    "  UNION ALL SELECT seq, 0, board, player, kind, score, column1, column2, score_format,"
    "  at_ms, at_given, ts_ms, id, meta, status, rule, result, result_column1, result_column2, result_format"
    "  FROM score_rows;"

    "CREATE VIEW readable_scores AS SELECT seq, part, board, player, kind,"
    "  " SHOWN("score", "score_format") " AS score, column1, column2, " TIME("at_ms") " AS at,"
    "  " TIME("ts_ms") " AS received, id, meta, status, rule, " SHOWN("result", "result_format") " AS result"
    "  FROM score_events;";

/* 6 -> 7: current scores, with their position; what reads as of a moment need. */
static const char current[] =
    "ALTER TABLE event_store ADD COLUMN scores_seq INTEGER NOT NULL DEFAULT 0;"

    "CREATE TABLE user_scores ("
    "  board TEXT NOT NULL,"
    "  player TEXT NOT NULL,"
    "  score, column1, column2,"
    "  score_format INTEGER NOT NULL,"
    "  at_ms INTEGER NOT NULL,"
    "  seq INTEGER NOT NULL,"
    "  PRIMARY KEY (board, player)) WITHOUT ROWID;"

    "CREATE VIEW readable_user_scores AS SELECT u.board, u.player, json_extract(p.profile, '$.name') AS name,"
    "  " SHOWN("u.score", "u.score_format") " AS score, u.column1, u.column2, " TIME("u.at_ms") " AS at, u.seq"
    "  FROM user_scores u LEFT JOIN players p USING (player);"

    /* What a standing's `hidden` was until event `seq` changed it. */
    "CREATE TABLE standing_changes ("
    "  window INTEGER NOT NULL REFERENCES closed_windows,"
    "  place INTEGER NOT NULL,"
    "  seq INTEGER NOT NULL,"
    "  hidden INTEGER NOT NULL,"
    "  PRIMARY KEY (window, place, seq)) WITHOUT ROWID;"

    /* A sample that event `dropped_seq` took away is kept for reads as of an earlier moment. */
    "ALTER TABLE samples ADD COLUMN dropped_seq INTEGER;"
    "DROP VIEW readable_history;"
    "CREATE VIEW readable_history AS"
    "  SELECT w.board, s.player, " TIME("w.end_ms") " AS at, 'window end' AS taken, w.kind, w.window_id,"
    "  s.place, s.sparse_rank, s.dense_rank, w.entries, " SHOWN("s.score", "w.score_format") " AS score"
    "  FROM standings s CROSS JOIN closed_windows w USING (window)"
    "  WHERE s.hidden = 0 AND NOT s.erased AND w.board_deleted_seq IS NULL"
    "  UNION ALL SELECT board, player, " TIME("taken_ms") ","
    "  CASE WHEN taken_ms % 86400000 = 0 THEN 'daily' ELSE 'hourly' END, kind, window_id, place, sparse_rank,"
    "  dense_rank, entries, " SHOWN("score", "score_format") " FROM samples WHERE dropped_seq IS NULL;";

/* 7 -> 8: rows of matches, promoted scores and swaps, in blocks of version 2. An older program must not read them. */
static const char kinds[] = "UPDATE source SET cursor = cursor;";

/* clang-format on */

const char *rung__archive_schema_step(int step) {
    static const char *const steps[RUNG_ARCHIVE_SCHEMA_VERSION] = {
        events, standings, views, scopes, actors, packed, current, kinds};
    RUNG_ASSERT(step >= 0 && step < RUNG_ARCHIVE_SCHEMA_VERSION);
    return steps[step];
}
