/* SPDX-License-Identifier: Apache-2.0 */
/* Every SQL block of docs/archive.md runs on an archive, read-only, and finds something. */
#include "archive/sqlite/event_table.h"
#include "archive/sqlite/sqlite_archive.h"
#include "support/archive_dir.h"
#include "support/check.h"

#include <sqlite3.h>

#define T0     INT64_C(1763164800000) /* 2025-11-15T00:00:00Z */
#define DAY_MS INT64_C(86400000)

static void apply(archive_kit *k, rung_event e) {
    CHECK(archive_kit_apply(k, &e) >= 0);
}

/* Two days of a race among four, with a profile, a ban and daily history. */
static void fill(const archive_dir *d) {
    static const char *const names[] = {"ada", "bob", "cem", "dee"};
    static archive_kit k;
    rung_archive *a;
    rung_err err;
    CHECK_OK(archive_dir_open((void *)(uintptr_t)d, &a, &err));
    archive_kit_init(&k, a);
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.scope_count = 1;
    def.scopes[0] = RUNG_SLICE("country");
    def.has_teams = true;
    def.team_by = RUNG_SLICE("guild");
    apply(&k, archive_event_define("race", &def, T0));
    rung_event profile = {.kind = RUNG_EVENT_PLAYER_SET, .ts_ms = T0};
    profile.profile.player = RUNG_SLICE("ada");
    profile.profile.count = 3;
    profile.profile.attributes[0] = (rung_attribute){RUNG_SLICE("country"), RUNG_SLICE("FI")};
    profile.profile.attributes[1] = (rung_attribute){RUNG_SLICE("guild"), RUNG_SLICE("owls")};
    profile.profile.attributes[2] = (rung_attribute){RUNG_SLICE("name"), RUNG_SLICE("Ada L.")};
    apply(&k, profile);
    for (int i = 0; i < 16; i++) {
        rung_event e = archive_event_score("race", names[i % 4], i * 37 % 11, T0 + i * DAY_MS / 8);
        e.score.meta = RUNG_SLICE("{\"level\": 3}");
        apply(&k, e);
    }
    apply(&k, archive_event_tick(T0 + 2 * DAY_MS));
    apply(&k, archive_event_ban("cem", true, T0 + 2 * DAY_MS));
    archive_kit_deinit(&k);
    CHECK_OK(rung_archive_begin(a, &err)); /* as the follower hands it over, with its result */
    rung_archive_score s = {.seq = 1000,
                            .board = RUNG_SLICE("race"),
                            .player = RUNG_SLICE("ada"),
                            .at_ms = T0,
                            .ts_ms = T0,
                            .has_result = true,
                            .result = {.count = 1}};
    CHECK_OK(a->ops->add_score(a, &s, &err));
    CHECK_OK(rung_archive_commit(a, 1000, T0, &err));
    bool is_more = true;
    while (is_more)
        CHECK_OK(a->ops->upkeep(a, INT64_MIN, &is_more, &err));
    rung_archive_close(a);
}

static char *read_page(void) {
    char path[500];
    const char *root = getenv("RUNG_SOURCE");
    if (!root)
        test_skip("RUNG_SOURCE does not say where the documents are");
    snprintf(path, sizeof path, "%s/docs/archive.md", root);
    FILE *f = fopen(path, "r");
    CHECK_MSG(f != NULL, "cannot open %s", path);
    static char text[1 << 16];
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    return text;
}

/* Rows of one query; ends the test if it is not one. */
static int rows_of(sqlite3 *db, const char *sql, const char *end) {
    sqlite3_stmt *stmt;
    const char *tail;
    int rc, rows = 0;
    CHECK_MSG(sqlite3_prepare_v2(db, sql, (int)(end - sql), &stmt, &tail) == SQLITE_OK,
              "%s in:\n%.*s", sqlite3_errmsg(db), (int)(end - sql), sql);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        rows++;
    CHECK_MSG(rc == SQLITE_DONE, "%s", sqlite3_errmsg(db));
    CHECK_MSG(strspn(tail, " \n") >= (size_t)(end - tail), "more than one statement");
    sqlite3_finalize(stmt);
    return rows;
}

TEST(every_query_of_the_page) {
    archive_dir d;
    sqlite3 *db;
    int blocks = 0;
    char *page = read_page();
    archive_dir_init(&d);
    fill(&d);
    CHECK_EQ_I64(sqlite3_open_v2(d.path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    CHECK_EQ_I64(rung_event_table_register(db), SQLITE_OK);
    for (char *at = page; (at = strstr(at, "```sql\n")) != NULL; blocks++) {
        at += strlen("```sql\n");
        char *end = strstr(at, "```");
        CHECK(end != NULL);
        CHECK_MSG(rows_of(db, at, end) > 0, "nothing found by:\n%.*s", (int)(end - at), at);
        at = end;
    }
    CHECK(blocks >= 10);
    sqlite3_close(db);
    archive_dir_deinit(&d);
}

RUNG_TEST_MAIN
