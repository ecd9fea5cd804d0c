/* SPDX-License-Identifier: Apache-2.0 */
/* idxNum is a set of bits: which of the constraints below SQLite passes to xFilter, in this order. SQLite tests all of
 * them again, so a value of an unexpected type is simply not used. */
#include "archive/sqlite/event_table.h"

#include "archive/archive.h"
#include "archive/sqlite/event_store.h"
#include "archive/sqlite/sqlite_api.h"

#include <string.h>

enum { BOARD, PLAYER, SEQ, SEQ_FROM, SEQ_TO, AT, AT_FROM, AT_TO, CONSTRAINTS };

enum {
    C_SEQ,
    C_PART,
    C_BOARD,
    C_PLAYER,
    C_KIND,
    C_SCORE,
    C_COLUMN1,
    C_COLUMN2,
    C_SCORE_FORMAT,
    C_AT_MS,
    C_AT_GIVEN,
    C_TS_MS,
    C_ID,
    C_META,
    C_STATUS,
    C_RULE,
    C_RESULT,
    C_RESULT_COLUMN1,
    C_RESULT_COLUMN2,
    C_RESULT_FORMAT,
};

static const char declaration[] =
    "CREATE TABLE packed_events (seq INTEGER, part INTEGER, board TEXT, player TEXT, kind TEXT,"
    " score, column1, column2, score_format INTEGER, at_ms INTEGER, at_given INTEGER,"
    " ts_ms INTEGER, id TEXT, meta TEXT, status TEXT, rule TEXT, result, result_column1,"
    " result_column2,"
    " result_format INTEGER)";

typedef struct table {
    sqlite3_vtab base;
    sqlite3 *db;
} table;

typedef struct cursor {
    sqlite3_vtab_cursor base;
    rung_event_store *store;
    rung_event_filter filter;
    char *names; /* the texts of the filter */
    rung_event_span *spans;
    uint32_t span, span_count;
    bool is_end;
    rung_archive_score row;
} cursor;

static int on_connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **out,
                      char **message) {
    (void)arg, (void)argc, (void)argv, (void)message;
    int rc = sqlite3_declare_vtab(db, declaration);
    table *t = rc == SQLITE_OK ? sqlite3_malloc(sizeof *t) : NULL;
    if (!t)
        return rc == SQLITE_OK ? SQLITE_NOMEM : rc;
    *t = (table){.db = db};
    sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS); /* it only reads: views may use it */
    *out = &t->base;
    return SQLITE_OK;
}

static int on_disconnect(sqlite3_vtab *base) {
    sqlite3_free(base);
    return SQLITE_OK;
}

/* Which constraint it is; -1: none of ours. */
static int constraint_of(int column, unsigned char op) {
    bool is_eq = op == SQLITE_INDEX_CONSTRAINT_EQ;
    bool is_from = op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
    bool is_to = op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
    switch (column) {
    case C_BOARD:
        return is_eq ? BOARD : -1;
    case C_PLAYER:
        return is_eq ? PLAYER : -1;
    case C_SEQ:
        return is_eq ? SEQ : is_from ? SEQ_FROM : is_to ? SEQ_TO : -1;
    case C_AT_MS:
        return is_eq ? AT : is_from ? AT_FROM : is_to ? AT_TO : -1;
    default:
        return -1;
    }
}

static int on_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
    int used[CONSTRAINTS], count = 0;
    double cost = 1e9;
    (void)base;
    memset(used, -1, sizeof used);
    for (int i = 0; i < info->nConstraint; i++) {
        int which = constraint_of(info->aConstraint[i].iColumn, info->aConstraint[i].op);
        if (which >= 0 && info->aConstraint[i].usable && used[which] < 0 &&
            sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0)
            used[which] = i;
    }
    static const double factors[CONSTRAINTS] = {.5, 1e-4, 1e-6, .5, .5, 1e-3, .5, .5};
    for (int which = 0; which < CONSTRAINTS; which++)
        if (used[which] >= 0) {
            info->aConstraintUsage[used[which]].argvIndex = ++count;
            info->idxNum |= 1 << which;
            cost *= factors[which];
        }
    info->estimatedCost = cost;
    info->estimatedRows = (sqlite3_int64)cost + 1;
    /* Rows come in the order of (seq, part). */
    info->orderByConsumed =
        info->nOrderBy == 1 && info->aOrderBy[0].iColumn == C_SEQ && !info->aOrderBy[0].desc;
    return SQLITE_OK;
}

static int on_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out) {
    cursor *c = sqlite3_malloc(sizeof *c);
    if (!c)
        return SQLITE_NOMEM;
    *c = (cursor){.store = rung_event_store_create(((table *)(void *)base)->db, rung_alloc_heap())};
    if (!c->store) {
        sqlite3_free(c);
        return SQLITE_NOMEM;
    }
    *out = &c->base;
    return SQLITE_OK;
}

static int on_close(sqlite3_vtab_cursor *base) {
    cursor *c = (cursor *)(void *)base;
    rung_event_store_destroy(c->store);
    sqlite3_free(c->names);
    sqlite3_free(c);
    return SQLITE_OK;
}

/* Pass a failure on to SQLite, with what the store says. */
static int ended(cursor *c, int rc) {
    const char *why = rung_event_store_why(c->store);
    if (rc != SQLITE_OK && *why) {
        sqlite3_free(c->base.pVtab->zErrMsg);
        c->base.pVtab->zErrMsg = sqlite3_mprintf("%s", why);
    }
    return rc;
}

/* The next matching row, of this block or a later one. */
static int on_next(sqlite3_vtab_cursor *base) {
    cursor *c = (cursor *)(void *)base;
    int rc = rung_event_store_next(c->store, &c->filter, &c->row);
    while (rc == SQLITE_DONE && c->span < c->span_count) {
        rc = rung_event_store_open(c->store, c->spans[c->span++].block);
        if (rc == SQLITE_OK)
            rc = rung_event_store_next(c->store, &c->filter, &c->row);
    }
    c->is_end = rc != SQLITE_ROW;
    return ended(c, rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc);
}

static void narrow(rung_event_filter *f, int which, int64_t n) {
    if ((which == SEQ || which == SEQ_FROM) && n > 0)
        f->from_seq = (uint64_t)n;
    if (which == SEQ || which == SEQ_TO)
        f->to_seq = n < 0 ? 0 : (uint64_t)n;
    if (which == AT || which == AT_FROM)
        f->from_ms = n;
    if (which == AT || which == AT_TO)
        f->to_ms = n;
}

static rung_slice text_of(sqlite3_value *value) {
    const void *text = sqlite3_value_text(value);
    return rung_slice_of(text, (size_t)sqlite3_value_bytes(value));
}

/* The filter's own copy of board and player. */
static int keep_names(cursor *c) {
    rung_slice board = c->filter.board, player = c->filter.player;
    sqlite3_free(c->names);
    c->names = sqlite3_malloc64(board.len + player.len + 1);
    if (!c->names)
        return SQLITE_NOMEM;
    rung_bytes_copy(c->names, board.ptr, board.len);
    rung_bytes_copy(c->names + board.len, player.ptr, player.len);
    c->filter.board = rung_slice_of(c->names, board.len);
    c->filter.player = rung_slice_of(c->names + board.len, player.len);
    return SQLITE_OK;
}

static int on_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                     sqlite3_value **argv) {
    cursor *c = (cursor *)(void *)base;
    (void)text;
    c->filter = (rung_event_filter)RUNG_EVENT_FILTER_ALL;
    for (int which = 0, i = 0; which < CONSTRAINTS && i < argc; which++) {
        if (!(number >> which & 1))
            continue;
        sqlite3_value *value = argv[i++];
        int type = sqlite3_value_type(value);
        if (which == BOARD && type == SQLITE_TEXT)
            c->filter.board = text_of(value);
        else if (which == PLAYER && type == SQLITE_TEXT)
            c->filter.player = text_of(value);
        else if (which >= SEQ && type == SQLITE_INTEGER)
            narrow(&c->filter, which, sqlite3_value_int64(value));
    }
    int rc = keep_names(c);
    c->span = c->span_count = 0;
    if (rc == SQLITE_OK)
        rc = rung_event_store_find(c->store, &c->filter, &c->spans, &c->span_count);
    if (rc != SQLITE_OK)
        return ended(c, rc);
    rung_event_store_rewind(c->store);
    return on_next(base);
}

static int on_eof(sqlite3_vtab_cursor *base) {
    return ((cursor *)(void *)base)->is_end;
}

/* ---- columns ---- */

static void give_text(sqlite3_context *ctx, rung_slice text) {
    if (text.len)
        sqlite3_result_text64(ctx, text.ptr, text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void give_value(sqlite3_context *ctx, const rung_archive_values *v, uint32_t i) {
    if (i >= v->count)
        return;
    if (v->types[i] == RUNG_SCORE_REAL)
        sqlite3_result_double(ctx, v->values[i].d);
    else
        sqlite3_result_int64(ctx, v->values[i].i);
}

static void give_word(sqlite3_context *ctx, const char *word) {
    sqlite3_result_text(ctx, word, -1, SQLITE_STATIC);
}

static void give_column(sqlite3_context *ctx, const rung_archive_score *r, int column) {
    switch (column) {
    case C_SEQ:
        sqlite3_result_int64(ctx, (int64_t)r->seq);
        break;
    case C_PART:
        sqlite3_result_int64(ctx, r->part);
        break;
    case C_BOARD:
        give_text(ctx, r->board);
        break;
    case C_PLAYER:
        give_text(ctx, r->player);
        break;
    case C_KIND:
        give_word(ctx, rung_archive_kind_of(r));
        break;
    case C_SCORE:
    case C_COLUMN1:
    case C_COLUMN2:
        give_value(ctx, &r->values, (uint32_t)(column - C_SCORE));
        break;
    case C_SCORE_FORMAT:
        sqlite3_result_int64(ctx, rung_score_format_of(&r->values));
        break;
    case C_AT_MS:
        sqlite3_result_int64(ctx, r->at_ms);
        break;
    case C_AT_GIVEN:
        sqlite3_result_int64(ctx, r->has_at);
        break;
    case C_TS_MS:
        sqlite3_result_int64(ctx, r->ts_ms);
        break;
    case C_ID:
        give_text(ctx, r->id);
        break;
    case C_META:
        give_text(ctx, r->meta);
        break;
    case C_STATUS:
        if (r->status != RUNG_STATUS_UNKNOWN)
            give_word(ctx, rung_status_name((rung_status)r->status));
        break;
    case C_RULE:
        if (r->rule != RUNG_RULE_NONE)
            give_word(ctx, rung_rule_words[r->rule]);
        break;
    case C_RESULT:
    case C_RESULT_COLUMN1:
    case C_RESULT_COLUMN2:
        if (r->has_result)
            give_value(ctx, &r->result, (uint32_t)(column - C_RESULT));
        break;
    default:
        if (r->has_result)
            sqlite3_result_int64(ctx, rung_score_format_of(&r->result));
        break;
    }
}

static int on_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column) {
    give_column(ctx, &((cursor *)(void *)base)->row, column);
    return SQLITE_OK;
}

static int on_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out) {
    *out = (sqlite3_int64)((cursor *)(void *)base)->row.seq;
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .xConnect = on_connect, /* without xCreate: it exists by itself, under its name */
    .xBestIndex = on_best_index,
    .xDisconnect = on_disconnect,
    .xOpen = on_open,
    .xClose = on_close,
    .xFilter = on_filter,
    .xNext = on_next,
    .xEof = on_eof,
    .xColumn = on_column,
    .xRowid = on_rowid,
};

int rung_event_table_register(sqlite3 *db) {
    return sqlite3_create_module_v2(db, "packed_events", &module, NULL, NULL);
}
