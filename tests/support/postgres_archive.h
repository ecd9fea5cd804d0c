/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_archive.h - archives in schemas of a postgres_server.h, and whether two of them hold the same. Inline: only
 * tests that link archive may use it. */
#ifndef RUNG_TESTS_POSTGRES_ARCHIVE_H
#define RUNG_TESTS_POSTGRES_ARCHIVE_H

#include "archive/postgres/postgres_archive.h"
#include "support/archive_contract.h"
#include "support/archive_server.h"
#include "support/postgres_server.h"

/* One archive. */
typedef struct postgres_place {
    const postgres_server *server;
    char schema[40];
    char url[POSTGRES_URL_MAX];
} postgres_place;

static inline void postgres_place_init(postgres_place *p, const postgres_server *s) {
    static int count;
    char parameters[64];
    postgres_server_need(s);
    p->server = s;
    snprintf(p->schema, sizeof p->schema, "t%d_%d", (int)getpid(), count++);
    snprintf(parameters, sizeof parameters, "schema=%s", p->schema);
    postgres_server_url(s, parameters, p->url);
}

/* As archive_maker.open. It may be away. */
static inline rung_status postgres_place_open(void *ctx, rung_archive **out, rung_err *err) {
    const postgres_place *p = ctx;
    rung_postgres_archive_config config = {.url = p->url, .alloc = rung_alloc_heap()};
    return rung_postgres_archive_open(&config, out, NULL, err);
}

static inline void postgres_place_same_rows(const postgres_place *p, const postgres_place *want,
                                            const char *table, const char *columns) {
    char sql[800];
    for (int i = 0; i < 2; i++) {
        const char *left = i ? want->schema : p->schema, *right = i ? p->schema : want->schema;
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM (SELECT %s FROM %s.%s EXCEPT ALL SELECT %s FROM %s.%s) x",
                 columns, left, table, columns, right, table);
        int64_t differ = postgres_server_int(p->server, sql);
        CHECK_MSG(differ == 0, "%s: %lld rows %s", table, (long long)differ,
                  i ? "are missing" : "are too many");
    }
}

/* The archive has all of the load's events 1 .. last and their windows exactly once. */
static inline void postgres_place_verify(const postgres_place *p, uint64_t last) {
    static const char *const tables[] = {
        "source", "score_events",    "user_scores", "audit",          "closed_windows", "standings",
        "scopes", "scope_standings", "players",     "banned_players", "refusals"};
    postgres_place want;
    rung_archive *a;
    rung_err err = {0};
    postgres_place_init(&want, p->server);
    CHECK_OK(postgres_place_open(&want, &a, &err));
    archive_server_write_reference(a, last);
    rung_archive_close(a);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        postgres_place_same_rows(p, &want, tables[i], "*");
}

#endif
