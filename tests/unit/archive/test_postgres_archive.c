/* SPDX-License-Identifier: Apache-2.0 */
/* The contract on a real PostgreSQL; then what is PostgreSQL's own: migrations, refusals, one writer among several. */
/* ctest: timeout=240 */
#define _GNU_SOURCE
#include "archive/postgres/schema.h"
#include "archive/postgres/url.h"
#include "support/archive_contract.h"
#include "support/check.h"
#include "support/postgres_archive.h"

#include <sys/socket.h>
#include <sys/un.h>

#define T0 INT64_C(1763164800000) /* in November 2025 */

static postgres_server server;

int main(int argc, char **argv) {
    bool is_list = argc > 1 && strcmp(argv[1], "--list") == 0;
    if (!is_list)
        postgres_server_init(&server);
    int code = test_main(argc, argv);
    if (!is_list)
        postgres_server_deinit(&server);
    return code;
}

/* ---- the contract ---- */

#define CONTRACT(topic)                                                                            \
    TEST(contract_##topic) {                                                                       \
        postgres_place p;                                                                          \
        postgres_place_init(&p, &server);                                                          \
        archive_contract_##topic(&(archive_maker){postgres_place_open, &p});                       \
    }

CONTRACT(empty)
CONTRACT(batches)
CONTRACT(score_events)
CONTRACT(commands)
CONTRACT(players)
CONTRACT(compared)
CONTRACT(closed_windows)
CONTRACT(flushed)
CONTRACT(hidden)
CONTRACT(scopes)
CONTRACT(erased)
CONTRACT(history)
CONTRACT(extremes)
CONTRACT(results)
CONTRACT(audit)
CONTRACT(refusals)

TEST(contract_teams) {
    static const struct {
        rung_combine combine;
        uint32_t top;
    } kinds[] = {{RUNG_COMBINE_SUM, 0},
                 {RUNG_COMBINE_MEAN, 0},
                 {RUNG_COMBINE_TOP, 1},
                 {RUNG_COMBINE_TOP, 2}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        postgres_place p;
        postgres_place_init(&p, &server);
        archive_contract_teams(&(archive_maker){postgres_place_open, &p}, kinds[i].combine,
                               kinds[i].top);
    }
}

TEST(random_histories_are_answered_as_the_state_did) {
    uint32_t compared = 0, rankings = 0;
    uint64_t first = test_seed(1), seeds = test_steps(1);
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        postgres_place p;
        postgres_place_init(&p, &server);
        test_seed(seed);
        compared += archive_contract_random(&(archive_maker){postgres_place_open, &p}, seed, 700,
                                            &rankings);
    }
    CHECK(compared > 10 * seeds && rankings > 10 * seeds);
}

/* ---- the address ---- */

TEST(an_address_is_shown_without_its_password) {
    static const struct {
        const char *text, *libpq, *shown, *schema;
    } good[] = {
        {"postgres://h/db", "postgres://h/db", "postgres://h/db", "rung"},
        {"postgresql://ada:s%40crt@h:5433/db?sslmode=verify-full&schema=mine&password=x",
         "postgresql://ada:s%40crt@h:5433/db?sslmode=verify-full&password=x",
         "postgresql://ada@h:5433/db", "mine"},
        {"postgres://ada@/db?schema=a_1", "postgres://ada@/db", "postgres://ada@/db", "a_1"},
        {"postgres://a:b@h1:1,h2:2/db", "postgres://a:b@h1:1,h2:2/db", "postgres://a@h1:1,h2:2/db",
         "rung"},
    };
    static const char *const bad[] = {
        "mysql://h/db",           "postgres://a:p@ss@h/db",        "postgres://a:p/ss@h/db",
        "postgres://a:p?s@h/d",   "postgres://a:p%zz@h/d",         "postgres://a:p s@h/d",
        "postgres://h/d#x",       "postgres://h/d?schema=pg_temp", "postgres://h/d?schema=a;b",
        "postgres://h/d?schema=", "postgres://h/d?schema=1a"};
    static rung_postgres_url url;
    rung_err err;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK_OK(rung_postgres_url_parse(good[i].text, &url, &err));
        CHECK_EQ_STR(url.libpq, good[i].libpq);
        CHECK_EQ_STR(url.shown, good[i].shown);
        CHECK_EQ_STR(url.schema, good[i].schema);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_STATUS(rung_postgres_url_parse(bad[i], &url, &err), RUNG_EINVAL);
        CHECK_EQ_STR(err.field, "archive");
        CHECK_MSG(!strstr(err.message, "ss@") && !strstr(err.message, "zz"), "%s", err.message);
    }
}

/* ---- opening ---- */

static rung_status open_with(const postgres_place *p, const char *log_id, bool is_read_only,
                             rung_archive **out, rung_err *away, rung_err *err) {
    rung_postgres_archive_config config = {.url = p->url,
                                           .alloc = rung_alloc_heap(),
                                           .log_id = rung_slice_str(log_id),
                                           .is_read_only = is_read_only};
    return rung_postgres_archive_open(&config, out, away, err);
}

static void add_scores(rung_archive *a, uint64_t first, uint64_t last) {
    rung_err err = {0};
    rung_status st = rung_archive_begin(a, &err);
    CHECK_MSG(st == RUNG_OK, "begin: %d %s", (int)st, err.message);
    for (uint64_t seq = first; seq <= last; seq++) {
        rung_event e = archive_event_score("b", "p", (int64_t)seq, T0);
        CHECK_OK(rung_archive_add_event(a, seq, &e, T0, &(rung_archive_effect){0}, &err));
    }
    st = rung_archive_commit(a, last, T0, &err);
    CHECK_MSG(st == RUNG_OK, "commit: %s", err.message);
}

/* Statements as the superuser, in the schema. */
static void sql(const postgres_place *p, const char *statement) {
    char text[300];
    snprintf(text, sizeof text, "SET search_path = %s; %s", p->schema, statement);
    postgres_server_sql(&server, text);
}

TEST(what_no_retry_mends_is_refused) {
    postgres_place p, q;
    rung_archive *a;
    rung_err err = {0};
    char text[100];
    postgres_place_init(&p, &server);
    CHECK_OK(open_with(&p, "one", false, &a, NULL, &err));
    rung_archive_close(a);
    CHECK_OK(open_with(&p, "two", false, &a, NULL, &err)); /* nothing is in it */
    add_scores(a, 1, 3);
    rung_archive_close(a);
    CHECK_STATUS(open_with(&p, "one", false, &a, NULL, &err), RUNG_ECONFLICT);
    sql(&p, "INSERT INTO schema_migrations VALUES (99)");
    CHECK_STATUS(open_with(&p, "two", false, &a, NULL, &err), RUNG_EVERSION);
    CHECK(strstr(err.message, "99"));
    postgres_place_init(&q, &server);
    snprintf(text, sizeof text, "CREATE SCHEMA %s AUTHORIZATION rung", q.schema);
    postgres_server_sql(&server, text);
    sql(&q, "CREATE TABLE cats (name text)");
    CHECK_STATUS(open_with(&q, "", false, &a, NULL, &err), RUNG_ECORRUPT);
}

TEST(a_schema_that_changes_under_a_writer_stops_it) {
    postgres_place p;
    rung_archive *a;
    rung_err err = {0};
    postgres_place_init(&p, &server);
    CHECK_OK(open_with(&p, "", false, &a, NULL, &err));
    add_scores(a, 1, 3);
    sql(&p, "INSERT INTO schema_migrations VALUES (99)");
    CHECK_STATUS(rung_archive_begin(a, &err), RUNG_EVERSION);
    sql(&p, "DELETE FROM schema_migrations WHERE version = 99");
    add_scores(a, 4, 5);
    rung_archive_close(a);
}

/* What the role may not do is reported without values of rows, and works once it may. */
TEST(missing_rights_are_reported_and_pass) {
    postgres_place p;
    rung_archive *a;
    rung_err err = {0};
    postgres_place_init(&p, &server);
    CHECK_OK(open_with(&p, "", false, &a, NULL, &err));
    add_scores(a, 1, 1);
    sql(&p, "REVOKE INSERT ON score_events FROM rung");
    rung_event e = archive_event_score("b", "somebody", 1, T0);
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(rung_archive_add_event(a, 2, &e, T0, &(rung_archive_effect){0}, &err));
    CHECK_STATUS(rung_archive_commit(a, 2, T0, &err), RUNG_EIO);
    CHECK(strstr(err.message, "42501") && !strstr(err.message, "somebody"));
    rung_archive_rollback(a);
    sql(&p, "GRANT INSERT ON score_events TO rung");
    add_scores(a, 2, 2);
    rung_archive_close(a);
}

TEST(months_get_partitions_ahead) {
    postgres_place p;
    rung_archive *a;
    rung_err err = {0};
    char text[200];
    static const int64_t times[] = {T0, T0 + 40 * INT64_C(86400000), 0, INT64_MAX, INT64_MIN};
    postgres_place_init(&p, &server);
    CHECK_OK(open_with(&p, "", false, &a, NULL, &err));
    CHECK_OK(rung_archive_begin(a, &err));
    for (uint64_t i = 0; i < 5; i++) {
        rung_event e = archive_event_score("b", "p", 1, times[i]);
        CHECK_OK(rung_archive_add_event(a, i + 1, &e, T0, &(rung_archive_effect){0}, &err));
    }
    CHECK_OK(rung_archive_commit(a, 5, T0, &err));
    static const struct {
        const char *table;
        int64_t rows;
    } want[] = {{"score_events_2025_11", 1}, {"score_events_2025_12", 1},
                {"score_events_2026_01", 0}, {"score_events_before", 2},
                {"score_events_after", 1},   {"audit_2026_01", 0}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        snprintf(text, sizeof text, "SELECT count(*) FROM %s.%s", p.schema, want[i].table);
        CHECK_EQ_I64(postgres_server_int(&server, text), want[i].rows);
    }
    rung_archive_close(a);
}

static int64_t count_in(const postgres_place *p, const char *what) {
    char text[300];
    snprintf(text, sizeof text, "SET search_path = %s; SELECT count(*) FROM %s", p->schema, what);
    return postgres_server_int(&server, text);
}

/* What is older than archive.keep goes: whole months of events, windows with everything that belongs to them. */
TEST(old_months_and_windows_are_removed) {
    postgres_place p;
    rung_archive *a;
    rung_archive_view v;
    rung_err err = {0};
    static archive_kit k;
    bool is_more = true;
    const int64_t day = INT64_C(86400000);
    postgres_place_init(&p, &server);
    CHECK_OK(open_with(&p, "", false, &a, NULL, &err));
    archive_kit_init(&k, a);
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.scope_count = 1;
    def.scopes[0] = RUNG_SLICE("country");
    rung_event e = archive_event_define("b", &def, T0);
    CHECK_OK(archive_kit_apply(&k, &e));
    e = archive_event_profile("p", "country", "FI", T0);
    CHECK_OK(archive_kit_apply(&k, &e));
    for (int i = 0; i < 4; i++) { /* 15 November, 5 and 25 December, 14 January */
        e = archive_event_score("b", "p", i, T0 + i * 20 * day);
        CHECK(archive_kit_apply(&k, &e) >= 0);
    }
    e = archive_event_tick(T0 + 70 * day);
    CHECK_OK(archive_kit_apply(&k, &e));
    archive_kit_commit(&k);
    CHECK_EQ_I64(count_in(&p, "closed_windows"), 4);
    uint64_t cursor, after;
    CHECK_OK(rung_archive_cursor(a, &cursor, NULL, &err));
    while (is_more)
        CHECK_OK(a->ops->upkeep(a, T0 + 30 * day, &is_more, &err)); /* 15 December */
    CHECK_EQ_I64(count_in(&p, "pg_class WHERE relname = 'score_events_2025_11'"
                              " AND relnamespace = current_schema()::regnamespace"),
                 0);
    CHECK_EQ_I64(count_in(&p, "score_events"), 3);
    CHECK_EQ_I64(count_in(&p, "closed_windows"), 2);
    CHECK_EQ_I64(count_in(&p, "standings"), 2);
    CHECK_EQ_I64(count_in(&p, "scopes"), 2);
    CHECK_EQ_I64(count_in(&p, "scope_standings"), 2);
    CHECK(count_in(&p, "audit") > 0);
    CHECK_OK(rung_archive_cursor(a, &after, NULL, &err));
    CHECK_EQ_U64(after, cursor);
    rung_archive_query q = {
        .board = RUNG_SLICE("b"), .kind = RUNG_WINDOW_DAY, .window_id = RUNG_SLICE("2025-11-15")};
    CHECK_STATUS(rung_archive_reading.open(a, &q, &v, &err), RUNG_NOT_FOUND);
    q.window_id = RUNG_SLICE("2025-12-25");
    CHECK_OK(rung_archive_reading.open(a, &q, &v, &err));
    CHECK_EQ_U64(v.total, 1);
    rung_archive_reading.close(&v);
    e = archive_event_score("b", "p", 9, T0 + 70 * day); /* it goes on */
    CHECK(archive_kit_apply(&k, &e) >= 0);
    archive_kit_commit(&k);
    CHECK_EQ_I64(count_in(&p, "score_events"), 4);
    archive_kit_deinit(&k);
    rung_archive_close(a);
}

/* ---- one writer ---- */

TEST(one_of_several_writes_and_the_next_takes_over) {
    postgres_place p;
    rung_archive *a, *b;
    rung_err err = {0};
    uint64_t seq;
    postgres_place_init(&p, &server);
    CHECK_OK(open_with(&p, "", false, &a, NULL, &err));
    CHECK_OK(open_with(&p, "", false, &b, NULL, &err));
    add_scores(a, 1, 3);
    CHECK_STATUS(rung_archive_begin(b, &err), RUNG_PARTIAL);
    CHECK_OK(rung_archive_cursor(b, &seq, NULL, &err));
    CHECK_EQ_U64(seq, 3);
    rung_archive_close(a);
    add_scores(b, 4, 5);
    rung_archive_close(b);
}

/* A holder whose session ended in the middle of a batch finds that it may not go on. */
TEST(a_former_holder_cannot_write) {
    postgres_place p;
    rung_archive *a, *b;
    rung_err err = {0};
    char text[300];
    postgres_place_init(&p, &server);
    CHECK_OK(open_with(&p, "", false, &a, NULL, &err));
    CHECK_OK(open_with(&p, "", false, &b, NULL, &err));
    add_scores(a, 1, 3);
    rung_event e = archive_event_score("b", "p", 4, T0);
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(rung_archive_add_event(a, 4, &e, T0, &(rung_archive_effect){0}, &err));
    CHECK_STATUS(rung_archive_begin(b, &err), RUNG_PARTIAL);
    snprintf(text, sizeof text,
             "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_locks l JOIN pg_namespace n"
             " ON l.objid = (hashtext(n.nspname)::bigint & 4294967295)::oid"
             " WHERE locktype = 'advisory' AND n.nspname = '%s' AND objsubid = 2",
             p.schema);
    CHECK(postgres_server_int(&server, text) > 0);
    add_scores(b, 4, 4);
    CHECK(rung_archive_commit(a, 4, T0, &err) < 0);
    rung_archive_rollback(a);
    CHECK_STATUS(rung_archive_begin(a, &err), RUNG_PARTIAL);
    rung_archive_close(b);
    add_scores(a, 5, 5);
    rung_archive_close(a);
    snprintf(text, sizeof text, "SELECT count(*) FROM %s.score_events", p.schema);
    CHECK_EQ_I64(postgres_server_int(&server, text), 5);
}

/* ---- a database that does not answer ---- */

/* A socket that takes connections and never says anything. */
static int listen_silently(char dir[64]) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(dir, 64, "/tmp/rung-silent-XXXXXX");
    CHECK(mkdtemp(dir) != NULL);
    snprintf(at.sun_path, sizeof at.sun_path, "%s/.s.PGSQL.5432", dir);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 8) == 0);
    return fd;
}

TEST(a_question_ends_with_its_deadline) {
    char dir[64], text[128];
    rung_archive *a;
    rung_err err = {0};
    rung_archive_score s;
    uint32_t count;
    postgres_place p = {0};
    int fd = listen_silently(dir);
    snprintf(p.url, sizeof p.url, "postgres://rung:secret@/db?host=%s", dir);
    CHECK_OK(open_with(&p, "", true, &a, NULL, &err));
    rung_archive_reading.limit(a, 50);
    rung_archive_score_query q = {.board = RUNG_SLICE("b")};
    CHECK_STATUS(rung_archive_reading.scores(a, &q, 1, &s, &count, &err), RUNG_EIO);
    CHECK(strstr(err.message, "50 ms"));
    CHECK_STATUS(rung_archive_reading.scores(a, &q, 1, &s, &count, &err), RUNG_EIO); /* at once */
    rung_archive_close(a);
    close(fd);
    snprintf(text, sizeof text, "%s/.s.PGSQL.5432", dir);
    CHECK(unlink(text) == 0 && rmdir(dir) == 0);
}
