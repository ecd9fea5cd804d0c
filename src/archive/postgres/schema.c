/* SPDX-License-Identifier: Apache-2.0 */
/* There is no DEFAULT partition: attaching a month beside one would lock out its readers. */
#include "archive/postgres/schema.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdio.h>

enum { MONTHS = 1200, FIRST_YEAR = 2020 };

#define NAME "text COLLATE \"C\""
/* Bounds of the two partitions without a month of their own: 2020 and 2120. */
#define FIRST_MS "1577836800000"
#define LAST_MS  "4733510400000"
#define EDGES(table)                                                                               \
    "CREATE TABLE " table "_before PARTITION OF " table                                            \
    " FOR VALUES FROM (MINVALUE) TO (" FIRST_MS ");"                                               \
    "CREATE TABLE " table "_after PARTITION OF " table " FOR VALUES FROM (" LAST_MS                \
    ") TO (MAXVALUE);"
/* NULL for what timestamptz cannot hold. */
#define TIME(ms)                                                                                   \
    "CASE WHEN " ms " BETWEEN -62135596800000 AND 253402300799999 THEN to_timestamp(" ms           \
    " / 1000.0) END"

/* clang-format off */

static const char first[] =
    "CREATE TABLE source ("
    "  one integer PRIMARY KEY CHECK (one = 1),"
    "  log_id text NOT NULL,"
    "  cursor bigint NOT NULL,"
    "  log_time_ms bigint);"

    "CREATE TABLE score_events ("
    "  seq bigint NOT NULL,"
    "  part integer NOT NULL,"
    "  board " NAME " NOT NULL,"
    "  player " NAME " NOT NULL,"
    "  kind text NOT NULL,"
    "  score numeric, column1 numeric, column2 numeric,"
    "  score_format integer NOT NULL,"
    "  result numeric, result1 numeric, result2 numeric,"
    "  result_format integer,"
    "  at_ms bigint NOT NULL,"
    "  at_given boolean NOT NULL,"
    "  ts_ms bigint NOT NULL,"
    "  id text,"
    "  meta text,"
    "  status text,"
    "  rule text,"
    "  PRIMARY KEY (seq, part, ts_ms)) PARTITION BY RANGE (ts_ms);"
    "CREATE INDEX score_events_by_board ON score_events (board, at_ms, seq);"
    "CREATE INDEX score_events_by_player ON score_events (player, at_ms, seq);"
    EDGES("score_events")

    "CREATE TABLE user_scores ("
    "  board " NAME " NOT NULL,"
    "  player " NAME " NOT NULL,"
    "  score numeric NOT NULL, column1 numeric, column2 numeric,"
    "  score_format integer NOT NULL,"
    "  at_ms bigint NOT NULL,"
    "  seq bigint NOT NULL,"
    "  PRIMARY KEY (board, player));"
    "CREATE INDEX user_scores_by_player ON user_scores (player);"

    "CREATE TABLE banned_players (player " NAME " PRIMARY KEY);"

    "CREATE TABLE audit ("
    "  seq bigint NOT NULL,"
    "  entry integer NOT NULL,"
    "  ts_ms bigint NOT NULL,"
    "  kind text NOT NULL,"
    "  board " NAME ","
    "  player " NAME ","
    "  details text,"
    "  status text,"
    "  rule text,"
    "  actor_key " NAME ","
    "  actor_player " NAME ","
    "  actor_address text,"
    "  reason text,"
    "  before text,"
    "  after text,"
    "  PRIMARY KEY (seq, entry, ts_ms)) PARTITION BY RANGE (ts_ms);"
    "CREATE INDEX audit_by_board ON audit (board, seq);"
    "CREATE INDEX audit_by_player ON audit (player, seq);"
    "CREATE INDEX audit_by_actor ON audit (actor_key, seq);"
    "CREATE INDEX audit_by_actor_player ON audit (actor_player);"
    EDGES("audit")

    "CREATE TABLE refusals ("
    "  board " NAME " NOT NULL,"
    "  rule text NOT NULL,"
    "  minute_ms bigint NOT NULL,"
    "  refused bigint NOT NULL,"
    "  first_seq bigint NOT NULL,"
    "  last_seq bigint NOT NULL,"
    "  PRIMARY KEY (board, rule, minute_ms));"

    "CREATE TABLE players ("
    "  player " NAME " PRIMARY KEY,"
    "  profile text NOT NULL,"
    "  changed_seq bigint NOT NULL,"
    "  changed_ms bigint NOT NULL);"

    "CREATE TABLE closed_windows ("
    "  window_key bigint PRIMARY KEY,"
    "  board " NAME " NOT NULL,"
    "  kind text NOT NULL,"
    "  window_id " NAME " NOT NULL,"
    "  start_ms bigint NOT NULL,"
    "  end_ms bigint NOT NULL,"
    "  closed_seq bigint NOT NULL,"
    "  closed_ms bigint NOT NULL,"
    "  entries bigint NOT NULL,"
    "  distinct_scores bigint NOT NULL,"
    "  rank_style text NOT NULL,"
    "  score_format integer NOT NULL,"
    "  definition bytea NOT NULL,"
    "  board_deleted_seq bigint,"
    "  UNIQUE (board, kind, window_id, closed_seq));"
    "CREATE INDEX closed_windows_by_end ON closed_windows (board, end_ms);"

    "CREATE TABLE standings ("
    "  window_key bigint NOT NULL,"
    "  place bigint NOT NULL,"
    "  sparse_rank bigint NOT NULL,"
    "  dense_rank bigint NOT NULL,"
    "  player " NAME " NOT NULL,"
    "  player_number bigint NOT NULL,"
    "  score numeric, column1 numeric, column2 numeric,"
    "  at_ms bigint,"
    "  hidden integer NOT NULL DEFAULT 0,"
    "  erased boolean NOT NULL DEFAULT false,"
    "  PRIMARY KEY (window_key, place));"
    "CREATE INDEX standings_by_player ON standings (player, window_key);"
    "CREATE INDEX standings_hidden ON standings (window_key, place) WHERE hidden <> 0;"

    "CREATE TABLE scopes ("
    "  scope bigint PRIMARY KEY,"
    "  window_key bigint NOT NULL,"
    "  attribute text NOT NULL,"
    "  value " NAME ","
    "  entries bigint NOT NULL,"
    "  distinct_scores bigint NOT NULL,"
    "  team_sum bytea);"
    "CREATE UNIQUE INDEX scopes_by_value ON scopes (window_key, attribute, value);"

    "CREATE TABLE scope_standings ("
    "  scope bigint NOT NULL,"
    "  scope_place bigint NOT NULL,"
    "  sparse_rank bigint NOT NULL,"
    "  dense_rank bigint NOT NULL,"
    "  window_key bigint NOT NULL,"
    "  place bigint NOT NULL,"
    "  PRIMARY KEY (scope, scope_place));"
    "CREATE INDEX scope_standings_by_place ON scope_standings (window_key, place);"

    "CREATE TABLE samples ("
    "  board " NAME " NOT NULL,"
    "  player " NAME " NOT NULL,"
    "  taken_ms bigint NOT NULL,"
    "  kind text NOT NULL,"
    "  window_id " NAME " NOT NULL,"
    "  seq bigint NOT NULL,"
    "  place bigint NOT NULL,"
    "  sparse_rank bigint NOT NULL,"
    "  dense_rank bigint NOT NULL,"
    "  entries bigint NOT NULL,"
    "  score numeric, column1 numeric, column2 numeric,"
    "  score_format integer NOT NULL,"
    "  dropped_seq bigint," /* by which event it was taken away; kept for reads as of an earlier moment */
    "  PRIMARY KEY (board, player, taken_ms, kind, window_id));"
    "CREATE INDEX samples_by_player ON samples (player);"

    /* What a standing's `hidden` was until event `seq` changed it. */
    "CREATE TABLE standing_changes ("
    "  window_key bigint NOT NULL,"
    "  place bigint NOT NULL,"
    "  seq bigint NOT NULL,"
    "  hidden integer NOT NULL,"
    "  PRIMARY KEY (window_key, place, seq));"

    "CREATE VIEW readable_scores AS SELECT seq, part, board, player, kind, score, column1, column2, result,"
    "  " TIME("at_ms") " AS at, " TIME("ts_ms") " AS received, id, meta, status, rule FROM score_events;"

    "CREATE VIEW readable_user_scores AS SELECT u.board, u.player, u.score, u.column1, u.column2,"
    "  " TIME("u.at_ms") " AS at, u.seq FROM user_scores u"
    "  WHERE NOT EXISTS (SELECT 1 FROM banned_players b WHERE b.player = u.player);"

    "CREATE VIEW readable_windows AS SELECT window_key, board, kind, window_id, " TIME("start_ms") " AS starts,"
    "  " TIME("end_ms") " AS ends, " TIME("closed_ms") " AS closed, closed_seq, entries, rank_style"
    "  FROM closed_windows WHERE board_deleted_seq IS NULL;"

    "CREATE VIEW readable_standings AS SELECT w.board, w.kind, w.window_id, s.place,"
    "  CASE w.rank_style WHEN 'unique' THEN s.place WHEN 'sparse' THEN s.sparse_rank ELSE s.dense_rank END AS rank,"
    "  s.player, p.profile::json ->> 'name' AS name, s.score, s.column1, s.column2, " TIME("s.at_ms") " AS at"
    "  FROM closed_windows w JOIN standings s USING (window_key)"
    "  LEFT JOIN players p ON p.player = s.player AND NOT s.erased"
    "  WHERE s.hidden = 0 AND w.board_deleted_seq IS NULL;"

    "CREATE VIEW readable_scope_standings AS SELECT w.board, w.kind, w.window_id, c.attribute, c.value, t.scope_place,"
    "  CASE w.rank_style WHEN 'unique' THEN t.scope_place WHEN 'sparse' THEN t.sparse_rank ELSE t.dense_rank END"
    "  AS rank, s.player, p.profile::json ->> 'name' AS name, s.score, s.column1, s.column2, " TIME("s.at_ms") " AS at"
    "  FROM closed_windows w JOIN scopes c USING (window_key) JOIN scope_standings t USING (scope)"
    "  JOIN standings s ON s.window_key = t.window_key AND s.place = t.place"
    "  LEFT JOIN players p ON p.player = s.player AND NOT s.erased"
    "  WHERE s.hidden = 0 AND w.board_deleted_seq IS NULL;"

    "CREATE VIEW readable_audit AS SELECT seq, entry, CASE WHEN ts_ms <> 0 THEN " TIME("ts_ms") " END AS at, kind,"
    "  board, player, actor_key, actor_player, actor_address, reason, details, before, after, status, rule FROM audit;"

    "CREATE VIEW readable_history AS"
    "  SELECT w.board, s.player, " TIME("w.end_ms") " AS at, 'window end' AS taken, w.kind, w.window_id,"
    "  s.place, s.sparse_rank, s.dense_rank, w.entries, s.score"
    "  FROM standings s JOIN closed_windows w USING (window_key)"
    "  WHERE s.hidden = 0 AND NOT s.erased AND w.board_deleted_seq IS NULL"
    "  UNION ALL SELECT board, player, " TIME("taken_ms") ","
    "  CASE WHEN taken_ms % 86400000 = 0 THEN 'daily' ELSE 'hourly' END, kind, window_id, place, sparse_rank,"
    "  dense_rank, entries, score FROM samples WHERE dropped_seq IS NULL;";

/* 1 -> 2: rows of matches, promoted scores and swaps. An older program does not know them. */
static const char kinds[] =
    "COMMENT ON COLUMN score_events.kind IS"
    " 'score, delta, removal, match, promoted, swapped, or the name of a Redis command';";

/* clang-format on */

const char *rung__postgres_step(int step) {
    static const char *const steps[RUNG__POSTGRES_VERSION] = {first, kinds};
    RUNG_ASSERT(step >= 0 && step < RUNG__POSTGRES_VERSION);
    return steps[step];
}

/* ---- partitions ---- */

const char *const rung__partitioned[RUNG__PARTITIONED] = {"score_events", "audit"};

/* Days from 1970 to the first of a month (Howard Hinnant's days_from_civil). */
static int64_t days_to(int year, int month) {
    year -= month <= 2;
    int64_t era = year / 400, year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           719468;
}

int64_t rung__partition_start_ms(int month) {
    return days_to(FIRST_YEAR + month / 12, month % 12 + 1) * 86400000;
}

int rung__partition_month(int64_t ts_ms) {
    if (ts_ms < rung__partition_start_ms(0) || ts_ms >= rung__partition_start_ms(MONTHS))
        return -1;
    int low = 0,
        high = MONTHS; /* rung__partition_start_ms(low) <= ts_ms < rung__partition_start_ms(high) */
    while (high - low > 1) {
        int middle = (low + high) / 2;
        *(rung__partition_start_ms(middle) <= ts_ms ? &low : &high) = middle;
    }
    return low;
}

bool rung__partition_has_next(int month) {
    return month + 1 < MONTHS;
}

void rung__partition_name(const char *table, int month, char out[64]) {
    snprintf(out, 64, "%s_%04d_%02d", table, FIRST_YEAR + month / 12, month % 12 + 1);
}

void rung__partition_sql(const char *table, int month, char out[RUNG__PARTITION_SQL_MAX]) {
    char name[64];
    rung__partition_name(table, month, name);
    snprintf(out, RUNG__PARTITION_SQL_MAX,
             "CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS); "
             "ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%" PRId64 ") TO (%" PRId64 ")",
             name, table, table, name, rung__partition_start_ms(month),
             rung__partition_start_ms(month + 1));
}
