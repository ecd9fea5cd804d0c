/* SPDX-License-Identifier: Apache-2.0 */
#include "archive/postgres/expire.h"

#include "archive/postgres/schema.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 10000 }; /* of a window, in one step */

static rung__pg_arg integer(int64_t n) {
    return (rung__pg_arg){.type = RUNG__PG_INT, .number = n};
}

/* The first column of the first row, cut to `size`. RUNG_NOT_FOUND: there is none. */
static rung_status find(rung__pg *db, const char *sql, const rung__pg_arg *args, int count,
                        char *out, size_t size, rung_err *err) {
    PGresult *result;
    rung_status st = rung__pg_run(db, sql, args, count, &result, err);
    if (st < 0)
        return st;
    st = PQntuples(result) ? RUNG_OK : RUNG_NOT_FOUND;
    if (st == RUNG_OK)
        snprintf(out, size, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return st;
}

/* ---- events ---- */

/* DROP needs a lock on the whole table for a moment: who waits for it holds up all readers behind it. */
static rung_status drop_table(rung__pg *db, const char *name, rung_err *err) {
    char sql[200];
    snprintf(sql, sizeof sql, "SET LOCAL lock_timeout = 300; DROP TABLE %s", name);
    return rung__pg_script(db, sql, NULL, err);
}

/* The names of months sort like their times. Ours only: the pattern leaves no character that needs quoting. */
static rung_status drop_month(rung__pg *db, int64_t before_ms, bool *more_out, rung_err *err) {
    char oldest_kept[64], name[64];
    int month = rung__partition_month(before_ms);
    if (month < 0)
        return RUNG_OK;
    rung__partition_name("score_events", month, oldest_kept);
    rung__pg_arg args[] = {{.type = RUNG__PG_TEXT, .bytes = rung_slice_str(oldest_kept)}};
    rung_status st =
        find(db,
             "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
             " WHERE i.inhparent = to_regclass('score_events')"
             " AND c.relname ~ '^score_events_[0-9]{4}_[0-9]{2}$' AND c.relname < $1"
             " ORDER BY c.relname COLLATE \"C\" LIMIT 1",
             args, 1, name, sizeof name, err);
    if (st != RUNG_OK)
        return st < 0 ? st : RUNG_OK;
    *more_out = true;
    return drop_table(db, name, err);
}

/* ---- windows ---- */

/* Nobody is shown a part of a window: it is retired first. */
static rung_status expire_window(rung__pg *db, int64_t window, rung_err *err) {
    static const char *const in_steps[] = {
        "UPDATE closed_windows SET board_deleted_seq = closed_seq WHERE window_key = $1"
        " AND board_deleted_seq IS NULL AND $2::bigint > 0",
        "DELETE FROM scope_standings t USING (SELECT place FROM standings WHERE window_key = $1"
        " ORDER BY place LIMIT $2) s WHERE t.window_key = $1 AND t.place = s.place",
        "DELETE FROM standings WHERE window_key = $1 AND place IN (SELECT place FROM standings"
        " WHERE window_key = $1 ORDER BY place LIMIT $2)",
    };
    static const char *const after_the_last[] = {
        "DELETE FROM scopes WHERE window_key = $1",
        "DELETE FROM closed_windows WHERE window_key = $1",
    };
    rung__pg_arg args[] = {integer(window), integer(ROWS)};
    rung_status st = RUNG_OK;
    char place[32];
    for (size_t i = 0; st >= 0 && i < sizeof in_steps / sizeof *in_steps; i++)
        st = rung__pg_run(db, in_steps[i], args, 2, NULL, err);
    if (st >= 0)
        st = find(db, "SELECT place FROM standings WHERE window_key = $1 LIMIT 1", args, 1, place,
                  sizeof place, err);
    if (st != RUNG_NOT_FOUND)
        return st;
    st = RUNG_OK;
    for (size_t i = 0; st >= 0 && i < sizeof after_the_last / sizeof *after_the_last; i++)
        st = rung__pg_run(db, after_the_last[i], args, 1, NULL, err);
    return st;
}

/* ---- a step ---- */

rung_status rung__postgres_expire_samples(rung__pg *db, int64_t before_ms, rung_err *err) {
    rung__pg_arg args[] = {integer(before_ms)};
    rung_status st =
        rung__pg_run(db, "DELETE FROM samples WHERE taken_ms < $1", args, 1, NULL, err);
    if (st >= 0)
        st = rung__pg_run(db, "DELETE FROM refusals WHERE minute_ms < $1 - 60000", args, 1, NULL,
                          err);
    return st < 0 ? st
                  : rung__pg_run(db, "DELETE FROM score_events_before WHERE ts_ms < $1", args, 1,
                                 NULL, err);
}

rung_status rung__postgres_expire(rung__pg *db, int64_t before_ms, bool *more_out, rung_err *err) {
    rung__pg_arg args[] = {integer(before_ms)};
    char window[32];
    *more_out = false;
    rung_status st = drop_month(db, before_ms, more_out, err);
    if (st < 0)
        return st;
    st = find(db, "SELECT window_key FROM closed_windows WHERE end_ms < $1 LIMIT 1", args, 1,
              window, sizeof window, err);
    if (st != RUNG_OK)
        return st < 0 ? st : RUNG_OK;
    *more_out = true;
    return expire_window(db, strtoll(window, NULL, 10), err);
}
