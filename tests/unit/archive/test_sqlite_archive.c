/* SPDX-License-Identifier: Apache-2.0 */
/* The contract on SQLite; then what is SQLite's own: migrations, refusals, readers beside the writer. */
#include "archive/sqlite/event_table.h"
#include "archive/sqlite/schema.h"
#include "archive/sqlite/sqlite_archive.h"
#include "support/archive_contract.h"
#include "support/archive_dir.h"
#include "support/check.h"

#include <sqlite3.h>
#include <stdarg.h>

#define T0     INT64_C(1763164800000)
#define DAY_MS INT64_C(86400000)

#define CONTRACT(topic)                                                                            \
    TEST(contract_##topic) {                                                                       \
        archive_dir d;                                                                             \
        archive_dir_init(&d);                                                                      \
        archive_contract_##topic(&(archive_maker){archive_dir_open, &d});                          \
        archive_dir_deinit(&d);                                                                    \
    }

CONTRACT(empty)
CONTRACT(batches)
CONTRACT(score_events)
CONTRACT(commands)
CONTRACT(players)
CONTRACT(compared)
CONTRACT(results)
CONTRACT(audit)
CONTRACT(refusals)
CONTRACT(closed_windows)
CONTRACT(flushed)
CONTRACT(hidden)
CONTRACT(scopes)
CONTRACT(erased)
CONTRACT(history)
CONTRACT(extremes)

TEST(contract_teams) {
    static const struct {
        rung_combine combine;
        uint32_t top;
    } kinds[] = {{RUNG_COMBINE_SUM, 0},
                 {RUNG_COMBINE_MEAN, 0},
                 {RUNG_COMBINE_TOP, 1},
                 {RUNG_COMBINE_TOP, 2}};
    archive_dir d;
    archive_dir_init(&d);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        archive_contract_teams(&(archive_maker){archive_dir_open, &d}, kinds[i].combine,
                               kinds[i].top);
        archive_dir_wipe(&d);
    }
    archive_dir_deinit(&d);
}

TEST(random_histories_are_answered_as_the_state_did) {
    archive_dir d;
    uint32_t compared = 0, rankings = 0;
    archive_dir_init(&d);
    uint64_t first = test_seed(1), seeds = test_steps(16);
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        test_seed(seed);
        compared +=
            archive_contract_random(&(archive_maker){archive_dir_open, &d}, seed, 700, &rankings);
        archive_dir_wipe(&d);
    }
    CHECK_MSG(compared > seeds * 4, "only %u windows were compared", compared);
    CHECK_MSG(rankings > seeds * 4, "only %u scopes were compared", rankings);
    archive_dir_deinit(&d);
}

/* ---- SQLite's own ---- */

static void sql(const char *path, const char *text) {
    sqlite3 *db;
    char *message = NULL;
    CHECK_EQ_I64(sqlite3_open(path, &db), SQLITE_OK);
    int rc = sqlite3_exec(db, text, NULL, NULL, &message);
    CHECK_MSG(rc == SQLITE_OK, "%s", message);
    sqlite3_close(db);
}

static int64_t sql_int(const char *path, const char *text) {
    sqlite3 *db;
    sqlite3_stmt *stmt;
    CHECK_EQ_I64(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    CHECK_EQ_I64(rung_event_table_register(db), SQLITE_OK);
    CHECK_MSG(sqlite3_prepare_v2(db, text, -1, &stmt, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    CHECK_EQ_I64(sqlite3_step(stmt), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return n;
}

/* A file as an older program left it. */
static void make_old_file(const char *path, int version) {
    char text[400];
    for (int i = 0; i < version; i++)
        sql(path, rung__archive_schema_step(i));
    sql(path, "INSERT INTO source VALUES (1, 'log-a', 7, 1763164800000)");
    snprintf(text, sizeof text,
             "INSERT INTO %s (seq, board, player, kind, score, column1, column2, "
             "score_format, at_ms, at_given, ts_ms, id, meta, status) VALUES "
             "(7,'b','p','score',5,NULL,NULL,16777216,1763164800000,0,1763164800000,"
             "NULL,NULL,'OK')",
             version < 6 ? "score_events" : "score_rows");
    sql(path, text);
    snprintf(text, sizeof text, "PRAGMA application_id=%d; PRAGMA user_version=%d",
             RUNG_ARCHIVE_APPLICATION_ID, version);
    sql(path, text);
}

TEST(older_files_are_brought_up_to_date) {
    for (int version = 1; version <= RUNG_ARCHIVE_SCHEMA_VERSION; version++) {
        archive_dir d;
        rung_archive *a;
        rung_err err = {0};
        uint64_t seq;
        archive_dir_init(&d);
        make_old_file(d.path, version);
        rung_sqlite_archive_config read_only = {
            .path = d.path, .alloc = rung_alloc_heap(), .is_read_only = true};
        if (version < RUNG_ARCHIVE_SCHEMA_VERSION)
            CHECK_STATUS(rung_sqlite_archive_open(&read_only, &a, &err), RUNG_NOT_FOUND);
        CHECK_OK(archive_dir_open(&d, &a, &err));
        CHECK_OK(rung_archive_cursor(a, &seq, NULL, &err));
        CHECK_EQ_U64(seq, 7);
        rung_archive_score s;
        uint32_t count;
        CHECK_OK(rung_archive_reading.scores(
            a, &(rung_archive_score_query){.board = RUNG_SLICE("b")}, 1, &s, &count, &err));
        CHECK_EQ_U64(count, 1);
        CHECK_EQ_I64(s.values.values[0].i, 5);
        CHECK(!s.has_result && s.rule == RUNG_RULE_NONE);
        rung_archive_close(a);
        CHECK_EQ_I64(sql_int(d.path, "PRAGMA user_version"), RUNG_ARCHIVE_SCHEMA_VERSION);
        CHECK_EQ_I64(sql_int(d.path, "SELECT count(*) FROM readable_scores"), 1);
        CHECK_EQ_I64(sql_int(d.path, "SELECT count(*) FROM readable_history"), 0);
        archive_dir_deinit(&d);
    }
}

TEST(strange_files_are_refused) {
    archive_dir d;
    rung_archive *a = NULL;
    rung_err err = {0};
    archive_dir_init(&d);
    rung_sqlite_archive_config config = {
        .path = d.path, .alloc = rung_alloc_heap(), .log_id = RUNG_SLICE("log-a")};
    rung_sqlite_archive_config read_only = config;
    read_only.is_read_only = true;
    CHECK_STATUS(rung_sqlite_archive_open(&read_only, &a, &err), RUNG_NOT_FOUND);
    CHECK_OK(rung_sqlite_archive_open(&config, &a, &err));
    rung_archive_close(a);
    CHECK_OK(rung_sqlite_archive_open(&config, &a, &err));
    rung_archive_close(a);
    CHECK_OK(rung_sqlite_archive_open(&read_only, &a, &err));
    CHECK(rung_archive_begin(a, &err) < 0);
    rung_archive_close(a);
    config.log_id = RUNG_SLICE("log-0"); /* as long as it is empty, it may be any log's */
    CHECK_OK(rung_sqlite_archive_open(&config, &a, &err));
    rung_archive_close(a);
    config.log_id = RUNG_SLICE("log-a");
    CHECK_OK(rung_sqlite_archive_open(&config, &a, &err));
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(rung_archive_commit(a, 1, 1000, &err));
    rung_archive_close(a);
    config.log_id = RUNG_SLICE("log-b");
    CHECK_STATUS(rung_sqlite_archive_open(&config, &a, &err), RUNG_ECONFLICT);
    CHECK(strstr(err.message, "log-a") != NULL);
    config.log_id = (rung_slice){NULL, 0};
    sql(d.path, "PRAGMA user_version = 99");
    CHECK_STATUS(rung_sqlite_archive_open(&config, &a, &err), RUNG_EVERSION);
    archive_dir_wipe(&d);
    sql(d.path, "CREATE TABLE cookies (name)");
    CHECK_STATUS(rung_sqlite_archive_open(&config, &a, &err), RUNG_ECORRUPT);
    archive_dir_wipe(&d);
    FILE *f = fopen(d.path, "w");
    for (int i = 0; i < 999; i++)
        fputs("this is not a database\n", f);
    fclose(f);
    CHECK_STATUS(rung_sqlite_archive_open(&config, &a, &err), RUNG_ECORRUPT);
    config.path = "/tmp/no such folder/archive.db";
    CHECK_STATUS(rung_sqlite_archive_open(&config, &a, &err), RUNG_EIO);
    archive_dir_deinit(&d);
}

/* A second writer waits, and is told when it waited too long. */
TEST(two_writers) {
    archive_dir d;
    rung_archive *a, *b;
    rung_err err = {0};
    archive_dir_init(&d);
    rung_sqlite_archive_config config = {
        .path = d.path, .alloc = rung_alloc_heap(), .busy_timeout_ms = 20};
    CHECK_OK(rung_sqlite_archive_open(&config, &a, &err));
    CHECK_OK(rung_sqlite_archive_open(&config, &b, &err));
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_STATUS(rung_archive_begin(b, &err), RUNG_EBUSY);
    rung_archive_rollback(b);
    CHECK_OK(rung_archive_commit(a, 1, T0, &err));
    CHECK_OK(rung_archive_begin(b, &err));
    CHECK_OK(rung_archive_commit(b, 2, T0, &err));
    rung_archive_close(a);
    rung_archive_close(b);
    archive_dir_deinit(&d);
}

/* What a command prints. */
__attribute__((format(printf, 3, 4))) static void shell(char *out, size_t size, const char *format,
                                                        ...) {
    char command[600];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    FILE *p = popen(command, "r");
    CHECK(p != NULL);
    size_t n = fread(out, 1, size - 1, p);
    out[n] = '\0';
    CHECK_EQ_I64(pclose(p), 0);
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define IS_SANITIZED true /* no other program can load what we built */
#else
#define IS_SANITIZED false
#endif

TEST(the_sqlite3_tool_reads_while_a_batch_is_open) {
    archive_dir d;
    rung_archive *a;
    rung_err err = {0};
    static archive_kit k;
    char out[4096];
    const char *build = getenv("RUNG_BUILD");
    if (system("sqlite3 --version >/dev/null 2>&1") != 0)
        test_skip("there is no sqlite3 command");
    archive_dir_init(&d);
    CHECK_OK(archive_dir_open(&d, &a, &err));
    archive_kit_init(&k, a);
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.key.columns[0] = (rung_column){RUNG_SCORE_DECIMAL, RUNG_ORDER_DESC, 2};
    rung_event e = archive_event_define("b", &def, T0);
    CHECK_OK(archive_kit_apply(&k, &e));
    static const int64_t scores[] = {-5, -150, 12345, INT64_MIN};
    for (int i = 0; i < 4; i++) {
        char name[] = {'p', (char)('0' + i), 0};
        e = archive_event_score("b", name, scores[i], T0 + i);
        e.score.types[0] = RUNG_SCORE_DECIMAL;
        e.score.decimals[0] = 2;
        CHECK_OK(archive_kit_apply(&k, &e));
    }
    e = archive_event_tick(T0 + DAY_MS);
    CHECK_OK(archive_kit_apply(&k, &e));
    archive_kit_commit(&k);
    e = archive_event_score("b", "late", 1, T0 + DAY_MS); /* in an open batch */
    e.score.types[0] = RUNG_SCORE_DECIMAL;
    e.score.decimals[0] = 2;
    CHECK_OK(archive_kit_apply(&k, &e));
    shell(out, sizeof out, "sqlite3 -readonly %s \"%s\"", d.path,
          "SELECT place, rank, player, score, at FROM readable_standings ORDER BY place");
    CHECK_EQ_STR(out, "1|1|p2|123.45|2025-11-15T00:00:00.002Z\n"
                      "2|2|p0|-0.05|2025-11-15T00:00:00.000Z\n"
                      "3|3|p1|-1.50|2025-11-15T00:00:00.001Z\n"
                      "4|4|p3|-92233720368547758.08|2025-11-15T00:00:00.003Z\n");
    if (build && !IS_SANITIZED) { /* with the extension that is installed beside the program */
        shell(out, sizeof out, "sqlite3 -readonly -cmd '.load %s/rung_archive' %s \"%s\"", build,
              d.path,
              "SELECT count(*), min(seq), max(score) FROM readable_scores WHERE player <> 'p3'");
        CHECK_EQ_STR(out, "3|2|123.45\n");
    }
    shell(out, sizeof out, "sqlite3 -readonly %s \"%s\"", d.path,
          "SELECT board, kind, window_id, ends FROM readable_windows");
    CHECK_EQ_STR(out, "b|day|2025-11-15|2025-11-16T00:00:00.000Z\n");
    shell(out, sizeof out, "sqlite3 -readonly %s \"%s\"", d.path,
          "SELECT kind, json_extract(details,'$.score.decimals') FROM readable_audit ORDER BY seq "
          "LIMIT 1");
    CHECK_EQ_STR(out, "board defined|2\n");
    archive_kit_deinit(&k);
    rung_archive_close(a);
    archive_dir_deinit(&d);
}

/* Windows that an older program archived have one ranking. */
TEST(windows_without_scopes) {
    archive_dir d;
    rung_archive *a;
    rung_archive_view v;
    rung_err err = {0};
    static archive_kit k;
    archive_dir_init(&d);
    CHECK_OK(archive_dir_open(&d, &a, &err));
    archive_kit_init(&k, a);
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.scope_count = 1;
    def.scopes[0] = RUNG_SLICE("country");
    rung_event e = archive_event_define("b", &def, T0);
    CHECK_OK(archive_kit_apply(&k, &e));
    e = archive_event_score("b", "p", 1, T0);
    CHECK_OK(archive_kit_apply(&k, &e));
    e = archive_event_tick(T0 + DAY_MS);
    CHECK_OK(archive_kit_apply(&k, &e));
    archive_kit_deinit(&k);
    rung_archive_close(a);
    sql(d.path, "UPDATE closed_windows SET has_scopes = 0");
    CHECK_OK(archive_dir_open(&d, &a, &err));
    rung_archive_query q = {
        .board = RUNG_SLICE("b"), .kind = RUNG_WINDOW_DAY, .window_id = RUNG_SLICE("2025-11-15")};
    CHECK_OK(rung_archive_reading.open(a, &q, &v, &err));
    CHECK_EQ_U64(v.total, 1);
    rung_archive_reading.close(&v);
    q.scope = RUNG_SLICE("country:FI");
    CHECK_STATUS(rung_archive_reading.open(a, &q, &v, &err), RUNG_EABSENT);
    rung_archive_close(a);
    archive_dir_deinit(&d);
}

/* Windows older than archive.keep go, with everything that belongs to them; younger ones stay. */
TEST(old_windows_are_removed) {
    archive_dir d;
    rung_archive *a;
    rung_archive_view v;
    rung_err err = {0};
    static archive_kit k;
    bool is_more = true;
    archive_dir_init(&d);
    CHECK_OK(archive_dir_open(&d, &a, &err));
    archive_kit_init(&k, a);
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.scope_count = 1;
    def.scopes[0] = RUNG_SLICE("country");
    rung_event e = archive_event_define("b", &def, T0);
    CHECK_OK(archive_kit_apply(&k, &e));
    e = archive_event_profile("p", "country", "FI", T0);
    CHECK_OK(archive_kit_apply(&k, &e));
    for (int day = 0; day < 3; day++) {
        e = archive_event_score("b", "p", day, T0 + day * DAY_MS);
        CHECK(archive_kit_apply(&k, &e) >= 0);
    }
    e = archive_event_tick(T0 + 3 * DAY_MS);
    CHECK_OK(archive_kit_apply(&k, &e));
    archive_kit_commit(&k);
    CHECK_EQ_I64(sql_int(d.path, "SELECT count(*) FROM closed_windows"), 3);
    while (is_more)
        CHECK_OK(a->ops->upkeep(a, T0 + 2 * DAY_MS + 1, &is_more, &err));
    CHECK_EQ_I64(sql_int(d.path, "SELECT count(*) FROM closed_windows"), 1);
    CHECK_EQ_I64(sql_int(d.path, "SELECT count(*) FROM standings"), 1);
    CHECK_EQ_I64(sql_int(d.path, "SELECT count(*) FROM scopes"), 1);
    CHECK_EQ_I64(sql_int(d.path, "SELECT count(*) FROM scope_standings"), 1);
    rung_archive_query q = {
        .board = RUNG_SLICE("b"), .kind = RUNG_WINDOW_DAY, .window_id = RUNG_SLICE("2025-11-15")};
    CHECK_STATUS(rung_archive_reading.open(a, &q, &v, &err), RUNG_NOT_FOUND);
    q.window_id = RUNG_SLICE("2025-11-17");
    CHECK_OK(rung_archive_reading.open(a, &q, &v, &err));
    CHECK_EQ_U64(v.total, 1);
    rung_archive_reading.close(&v);
    archive_kit_deinit(&k);
    rung_archive_close(a);
    archive_dir_deinit(&d);
}

/* A name that was erased is nowhere in the files, nor is a value that nobody else stood under. */
TEST(erased_names_are_gone_from_the_disk) {
    archive_dir d;
    rung_archive *a;
    rung_err err = {0};
    static archive_kit k;
    static const char name[] = "Zebediah-Quux";
    archive_dir_init(&d);
    CHECK_OK(archive_dir_open(&d, &a, &err));
    archive_kit_init(&k, a);
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.scope_count = 1;
    def.scopes[0] = RUNG_SLICE("town");
    rung_event e = archive_event_define("b", &def, T0);
    CHECK_OK(archive_kit_apply(&k, &e));
    e = archive_event_profile(name, "town", "Zebediah-Quuxville",
                              T0); /* found by the same search */
    CHECK_OK(archive_kit_apply(&k, &e));
    for (int i = 0; i < 500; i++) {
        char other[16];
        snprintf(other, sizeof other, "player%d", i);
        e = archive_event_score("b", i == 250 ? name : other, i, T0);
        CHECK_OK(archive_kit_apply(&k, &e));
    }
    e = archive_event_ban(name, true, T0);
    CHECK_OK(archive_kit_apply(&k, &e));
    e = archive_event_ban(name, false, T0);
    CHECK_OK(archive_kit_apply(&k, &e));
    e = archive_event_tick(T0 + DAY_MS);
    CHECK_OK(archive_kit_apply(&k, &e));
    archive_kit_commit(&k);
    e = archive_event_erase(name, T0 + DAY_MS);
    CHECK_OK(archive_kit_apply(&k, &e));
    archive_kit_commit(&k);
    char out[256];
    shell(out, sizeof out, "grep -c -a %s %s | sort | uniq -c | tr -d ' \\n'; true", name, d.path);
    CHECK_EQ_STR(out, "10"); /* one file with 0 lines */
    shell(out, sizeof out, "grep -c -a %s %s-wal | tr -d ' \\n'; true", name, d.path);
    CHECK_EQ_STR(out, "0");
    archive_kit_deinit(&k);
    rung_archive_close(a);
    archive_dir_deinit(&d);
}

/* The lines of a plan. */
static void plan(const char *path, const char *text, char *out, size_t size) {
    sqlite3 *db;
    sqlite3_stmt *stmt;
    size_t len = 0;
    CHECK_EQ_I64(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    CHECK_EQ_I64(rung_event_table_register(db), SQLITE_OK);
    CHECK_MSG(sqlite3_prepare_v2(db, text, -1, &stmt, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    while (sqlite3_step(stmt) == SQLITE_ROW && len < size)
        len += (size_t)snprintf(out + len, size - len, "%s\n",
                                (const char *)sqlite3_column_text(stmt, 3));
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

/* Each question is answered by an index. */
TEST(questions_use_their_indexes) {
    archive_dir d;
    rung_archive *a;
    rung_err err = {0};
    char out[2048];
    archive_dir_init(&d);
    CHECK_OK(archive_dir_open(&d, &a, &err));
    rung_archive_close(a);
    static const char *const questions[][2] = {
        {"SELECT * FROM score_rows WHERE player='p' AND (at_ms, seq) < (5, 5) ORDER BY at_ms "
         "DESC, seq DESC",
         "score_events_by_player"},
        {"SELECT * FROM score_rows WHERE board='b' AND player='p' AND (at_ms, seq) < (5, 5)"
         " ORDER BY at_ms DESC, seq DESC",
         "by_board_player"},
        {"SELECT * FROM readable_scores WHERE board='b' AND player='p'", "by_board_player"},
        /* bits of event_table.c: board 1, player 2, seq 4, 8, 16, at 32, 64, 128 */
        {"SELECT * FROM readable_scores WHERE board='b' AND player='p'", "INDEX 3:"},
        {"SELECT count(*) FROM score_events WHERE player='p' AND at_ms > 5 AND at_ms <= 7",
         "INDEX 194:"},
        {"SELECT * FROM score_events WHERE seq=5", "INDEX 4:"},
        {"SELECT * FROM score_events WHERE seq>=5 AND seq<9", "INDEX 24:"},
        {"SELECT * FROM packed_events WHERE board='b' ORDER BY seq", "INDEX 1:"},
        {"SELECT * FROM score_events WHERE player='p' COLLATE NOCASE", "INDEX 0:"},
        {"SELECT * FROM standings WHERE player='p'", "standings_by_player"},
        {"SELECT * FROM readable_history WHERE board='b' AND player='p'", "standings_by_player"},
        {"SELECT * FROM audit WHERE board='b' ORDER BY seq", "audit_by_board"},
        {"SELECT * FROM audit WHERE actor_key='k' AND (seq, entry) < (5, 5) ORDER BY seq DESC, "
         "entry DESC",
         "audit_by_actor"},
        {"SELECT * FROM closed_windows WHERE board='b' ORDER BY end_ms DESC",
         "closed_windows_by_end"},
        {"SELECT * FROM scopes WHERE window=1 AND attribute='country' AND value='FI'",
         "(window=? AND attribute=? AND value=?)"},
        {"SELECT * FROM scope_standings WHERE window=1 AND place=2", "scope_standings_by_place"},
        {"SELECT * FROM scope_standings WHERE scope=1 AND scope_place>5 ORDER BY scope_place",
         "(scope=? AND scope_place>?)"},
    };
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        char text[300];
        snprintf(text, sizeof text, "EXPLAIN QUERY PLAN %s", questions[i][0]);
        plan(d.path, text, out, sizeof out);
        CHECK_MSG(strstr(out, questions[i][1]) && !strstr(out, "TEMP B-TREE"), "%s: %s",
                  questions[i][0], out);
    }
    archive_dir_deinit(&d);
}

RUNG_TEST_MAIN
