/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants:
 *   E1  Blocks are numbered in the order of the log, from 1. All but the last are never added to.
 *   E2  A run has the pairs of the blocks first_block .. last_block; the runs together those of blocks 1 .. `indexed`.
 *       A pair whose block is gone or does not have the name any more does no harm.
 *   E3  Once loaded, `tail` has the rows of block `tail_block`, and `pairs` the pairs of the blocks after `indexed`.
 *       After a rollback everything is loaded again.
 *   E4  Between calls no statement is active. */
#include "archive/sqlite/event_store.h"

#include "archive/sqlite/event_run.h"
#include "archive/sqlite/sqlite_api.h"
#include "base/hash.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVEL_MAX = 2, CHUNK_BITS = 24, WHY_SIZE = 160 };

#define STATEMENTS(X)                                                                              \
    X(STORE, "SELECT hash_key, indexed FROM event_store")                                          \
    X(SET_INDEXED, "UPDATE event_store SET indexed = ?1")                                          \
    X(LAST_BLOCK, "SELECT ifnull(max(block), 0) FROM event_blocks")                                \
    X(LAST_SEQ, "SELECT ifnull(max(last_seq), 0) FROM event_blocks")                               \
    X(PUT_BLOCK, "INSERT OR REPLACE INTO event_blocks"                                             \
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")                                       \
    X(PUT_BYTES, "INSERT OR REPLACE INTO event_bytes VALUES (?1, ?2)")                             \
    X(BYTES, "SELECT bytes FROM event_bytes WHERE block = ?1")                                     \
    X(DROP_BLOCK, "DELETE FROM event_blocks WHERE block = ?1")                                     \
    X(DROP_BYTES, "DELETE FROM event_bytes WHERE block = ?1")                                      \
    X(SPAN, "SELECT block, min_at_ms, max_at_ms, first_seq, last_seq FROM event_blocks"            \
            " WHERE block = ?1")                                                                   \
    X(SPANS, "SELECT block, min_at_ms, max_at_ms, first_seq, last_seq FROM event_blocks"           \
             " WHERE block > ?1 ORDER BY block")                                                   \
    X(OLD_BLOCKS, "SELECT block FROM event_blocks WHERE max_ts_ms < ?1 ORDER BY block LIMIT ?2")   \
    X(FIRST_BLOCK, "SELECT ifnull(min(block), 0) FROM event_blocks")                               \
    X(RUNS, "SELECT run, first_block, fences FROM event_runs ORDER BY run")                        \
    X(RUNS_OF_LEVEL, "SELECT run, first_block, last_block, length(fences) / 4 FROM event_runs"     \
                     " WHERE level = ?1 ORDER BY first_block LIMIT ?2")                            \
    X(ADD_RUN, "INSERT INTO event_runs VALUES (?1, ?2, ?3, ?4, ?5)")                               \
    X(NEXT_RUN, "SELECT ifnull(max(run), 0) + 1 FROM event_runs")                                  \
    X(DROP_RUN, "DELETE FROM event_runs WHERE run = ?1")                                           \
    X(DEAD_RUNS, "SELECT run FROM event_runs WHERE last_block < ?1")                               \
    X(PUT_CHUNK, "INSERT OR REPLACE INTO event_chunks VALUES (?1, ?2)")                            \
    X(CHUNK, "SELECT bytes FROM event_chunks WHERE chunk = ?1")                                    \
    X(DROP_CHUNKS, "DELETE FROM event_chunks WHERE chunk >= ?1 AND chunk < ?2")

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

typedef struct pair_list {
    uint64_t *pairs;
    size_t count, room;
} pair_list;

struct rung_event_store {
    sqlite3 *db;
    const rung_alloc *alloc;
    sqlite3_stmt *statements[S_COUNT]; /* prepared when first used */
    char why[WHY_SIZE];
    rung_hash_key player_key, board_key;
    uint32_t indexed; /* as read last */
    /* writing: E3 */
    bool is_loaded, is_changed;
    uint32_t tail_block;
    int64_t last_seq; /* and the part of it: the last event added */
    uint32_t last_part;
    rung_event_block tail;
    pair_list pairs, scratch;
    rung_event_packer packer;
    /* reading */
    rung_event_reader reader;
    rung_event_span *spans;
    uint32_t spans_room;
};

/* ---- small things ---- */

__attribute__((format(printf, 3, 4))) static int fail(rung_event_store *s, int rc,
                                                      const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(s->why, sizeof s->why, format, args);
    va_end(args);
    return rc;
}

static int fail_as(rung_event_store *s, rung_status st, const rung_err *err) {
    return st == RUNG_ENOMEM ? SQLITE_NOMEM : fail(s, SQLITE_CORRUPT, "%s", err->message);
}

/* A statement with up to two numbers bound. NULL: *rc has the failure. */
static sqlite3_stmt *use(rung_event_store *s, statement which, int64_t one, int64_t two, int *rc) {
    sqlite3_stmt **stmt = &s->statements[which];
    *rc = *stmt ? SQLITE_OK
                : sqlite3_prepare_v3(s->db, statement_sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                                     stmt, NULL);
    if (*rc != SQLITE_OK)
        return NULL;
    int count = sqlite3_bind_parameter_count(*stmt);
    if (count > 0)
        sqlite3_bind_int64(*stmt, 1, one);
    if (count > 1)
        sqlite3_bind_int64(*stmt, 2, two);
    return *stmt;
}

/* E4 */
static int done(sqlite3_stmt *stmt, int rc) {
    if (stmt) {
        sqlite3_reset(stmt);
        sqlite3_clear_bindings(stmt);
    }
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int run(rung_event_store *s, statement which, int64_t one, int64_t two) {
    int rc;
    sqlite3_stmt *stmt = use(s, which, one, two, &rc);
    return stmt ? done(stmt, sqlite3_step(stmt)) : rc;
}

static int run_blob(rung_event_store *s, statement which, int64_t one, const void *bytes,
                    size_t len) {
    int rc;
    sqlite3_stmt *stmt = use(s, which, one, 0, &rc);
    if (!stmt)
        return rc;
    rc = sqlite3_bind_blob64(stmt, 2, bytes, len, SQLITE_STATIC);
    return done(stmt, rc == SQLITE_OK ? sqlite3_step(stmt) : rc);
}

static int get_number(rung_event_store *s, statement which, int64_t one, int64_t *out) {
    int rc;
    sqlite3_stmt *stmt = use(s, which, one, 0, &rc);
    if (!stmt)
        return rc;
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(stmt, 0);
    return done(stmt, rc);
}

static rung_slice blob_at(sqlite3_stmt *stmt, int i) {
    const void *bytes = sqlite3_column_blob(stmt, i);
    return rung_slice_of(bytes, (size_t)sqlite3_column_bytes(stmt, i));
}

static bool has_room(rung_event_store *s, pair_list *l, size_t count) {
    if (count <= l->room)
        return true;
    size_t room = l->room ? l->room : 4096;
    while (room < count)
        room *= 2;
    uint64_t *pairs =
        rung_alloc_resize(s->alloc, l->pairs, l->room * sizeof *pairs, room * sizeof *pairs);
    if (!pairs)
        return false;
    l->pairs = pairs;
    l->room = room;
    return true;
}

static int add_pair(rung_event_store *s, pair_list *l, uint32_t hash, uint32_t block) {
    if (!has_room(s, l, l->count + 1))
        return SQLITE_NOMEM;
    l->pairs[l->count++] = rung_event_pair(hash, block);
    return SQLITE_OK;
}

static uint32_t hash_player(const rung_event_store *s, rung_slice player) {
    return (uint32_t)rung_hash_keyed(&s->player_key, player.ptr, player.len);
}

static uint32_t hash_board(const rung_event_store *s, rung_slice board) {
    return (uint32_t)rung_hash_keyed(&s->board_key, board.ptr, board.len);
}

/* ---- life ---- */

rung_event_store *rung_event_store_create(sqlite3 *db, const rung_alloc *alloc) {
    rung_event_store *s = rung_alloc_zeroed(alloc, sizeof *s);
    if (!s)
        return NULL;
    s->db = db;
    s->alloc = s->tail.alloc = s->packer.alloc = s->reader.alloc = alloc;
    return s;
}

static void free_pairs(rung_event_store *s, pair_list *l) {
    if (l->pairs)
        rung_alloc_free(s->alloc, l->pairs, l->room * sizeof *l->pairs);
}

void rung_event_store_destroy(rung_event_store *s) {
    if (!s)
        return;
    for (int i = 0; i < S_COUNT; i++)
        sqlite3_finalize(s->statements[i]);
    rung_event_block_deinit(&s->tail);
    rung_event_packer_deinit(&s->packer);
    rung_event_reader_deinit(&s->reader);
    free_pairs(s, &s->pairs);
    free_pairs(s, &s->scratch);
    if (s->spans)
        rung_alloc_free(s->alloc, s->spans, s->spans_room * sizeof *s->spans);
    rung_alloc_free(s->alloc, s, sizeof *s);
}

const char *rung_event_store_why(const rung_event_store *s) {
    return s->why;
}

/* The key of the hashes and how far the runs reach. */
static int read_store(rung_event_store *s) {
    int rc;
    s->why[0] = '\0';
    sqlite3_stmt *stmt = use(s, S_STORE, 0, 0, &rc);
    if (!stmt)
        return rc;
    rc = sqlite3_step(stmt);
    rung_slice key = rc == SQLITE_ROW ? blob_at(stmt, 0) : (rung_slice){0};
    if (rc == SQLITE_DONE || (rc == SQLITE_ROW && key.len != 16)) {
        rc = fail(s, SQLITE_CORRUPT, "event_store has lost its row");
    } else if (rc == SQLITE_ROW) {
        const uint8_t *p = (const uint8_t *)key.ptr;
        s->player_key = (rung_hash_key){rung_get64(p), rung_get64(p + 8)};
        s->board_key = (rung_hash_key){~s->player_key.k0, s->player_key.k1};
        s->indexed = (uint32_t)sqlite3_column_int64(stmt, 1);
    }
    return done(stmt, rc);
}

/* ---- one block ---- */

int rung_event_store_open(rung_event_store *s, uint32_t block) {
    int rc;
    rung_err err = {0};
    sqlite3_stmt *stmt = use(s, S_BYTES, block, 0, &rc);
    if (!stmt)
        return rc;
    rc = sqlite3_step(stmt);
    if (rc == SQLITE_DONE) {
        rc = fail(s, SQLITE_CORRUPT, "archive: block %u of events is missing", block);
    } else if (rc == SQLITE_ROW) {
        rung_slice bytes = blob_at(stmt, 0);
        rung_status st = rung_event_block_open(&s->reader, bytes, &err);
        if (st < 0)
            rc = fail_as(s, st, &err);
    }
    return done(stmt, rc);
}

void rung_event_store_rewind(rung_event_store *s) {
    s->reader.rows = s->reader.done = 0;
}

static int next_row(rung_event_store *s, rung_archive_score *out) {
    rung_err err = {0};
    rung_status st = rung_event_block_next(&s->reader, out, &err);
    return st == RUNG_OK ? SQLITE_ROW : st == RUNG_NOT_FOUND ? SQLITE_DONE : fail_as(s, st, &err);
}

static bool matches(const rung_event_filter *f, const rung_archive_score *r) {
    return (!f->player.len || rung_slice_eq(f->player, r->player)) &&
           (!f->board.len || rung_slice_eq(f->board, r->board)) && r->at_ms >= f->from_ms &&
           r->at_ms <= f->to_ms && r->seq >= f->from_seq && r->seq <= f->to_seq;
}

int rung_event_store_next(rung_event_store *s, const rung_event_filter *f,
                          rung_archive_score *out) {
    int rc;
    while ((rc = next_row(s, out)) == SQLITE_ROW && !matches(f, out))
        ;
    return rc;
}

static int put_block(rung_event_store *s, uint32_t block, const rung_event_block *b) {
    rung_slice bytes;
    rung_err err = {0};
    int rc;
    rung_status st = rung_event_block_pack(b, &s->packer, &bytes, &err);
    if (st < 0)
        return fail_as(s, st, &err);
    sqlite3_stmt *stmt = use(s, S_PUT_BLOCK, block, (int64_t)b->first_seq, &rc);
    if (!stmt)
        return rc;
    const int64_t rest[] = {(int64_t)b->last_seq, b->rows,      b->min_at_ms,
                            b->max_at_ms,         b->min_ts_ms, b->max_ts_ms};
    for (int i = 0; i < 6; i++)
        sqlite3_bind_int64(stmt, i + 3, rest[i]);
    rc = done(stmt, sqlite3_step(stmt));
    return rc == SQLITE_OK ? run_blob(s, S_PUT_BYTES, block, bytes.ptr, bytes.len) : rc;
}

static int drop_block(rung_event_store *s, uint32_t block) {
    int rc = run(s, S_DROP_BLOCK, block, 0);
    return rc == SQLITE_OK ? run(s, S_DROP_BYTES, block, 0) : rc;
}

/* ---- runs ---- */

/* A run being written. */
typedef struct run_writer {
    int64_t run;
    uint32_t base, count; /* pairs that wait */
    uint64_t pairs[RUNG_EVENT_CHUNK_PAIRS];
    uint64_t chunks;
    rung_buffer fences;
} run_writer;

static int64_t chunk_key(int64_t run_number, uint64_t chunk) {
    return run_number << CHUNK_BITS | (int64_t)chunk;
}

static int end_chunk(rung_event_store *s, run_writer *w) {
    uint8_t bytes[RUNG_EVENT_CHUNK_BYTES], fence[4];
    if (w->count == 0)
        return SQLITE_OK;
    size_t len = rung_event_chunk_write(w->pairs, w->count, w->base, bytes);
    rung_put32(fence, (uint32_t)(w->pairs[0] >> 32));
    rung_buffer_put(&w->fences, fence, sizeof fence);
    w->count = 0;
    return w->fences.is_failed
               ? SQLITE_NOMEM
               : run_blob(s, S_PUT_CHUNK, chunk_key(w->run, w->chunks++), bytes, len);
}

static int put_pair(rung_event_store *s, run_writer *w, uint64_t pair) {
    w->pairs[w->count++] = pair;
    return w->count == RUNG_EVENT_CHUNK_PAIRS ? end_chunk(s, w) : SQLITE_OK;
}

static int begin_run(rung_event_store *s, run_writer *w, uint32_t base) {
    *w = (run_writer){.base = base, .fences = {.alloc = s->alloc}};
    return get_number(s, S_NEXT_RUN, 0, &w->run);
}

static int end_run(rung_event_store *s, run_writer *w, int level, uint32_t last_block, int rc) {
    if (rc == SQLITE_OK)
        rc = end_chunk(s, w);
    sqlite3_stmt *stmt = rc == SQLITE_OK ? use(s, S_ADD_RUN, w->run, level, &rc) : NULL;
    if (stmt) {
        sqlite3_bind_int64(stmt, 3, w->base);
        sqlite3_bind_int64(stmt, 4, last_block);
        sqlite3_bind_blob64(stmt, 5, w->fences.data, w->fences.len, SQLITE_STATIC);
        rc = done(stmt, sqlite3_step(stmt));
    }
    rung_buffer_deinit(&w->fences);
    return rc;
}

static int drop_run(rung_event_store *s, int64_t number) {
    int rc = run(s, S_DROP_RUN, number, 0);
    return rc == SQLITE_OK ? run(s, S_DROP_CHUNKS, chunk_key(number, 0), chunk_key(number + 1, 0))
                           : rc;
}

static int read_chunk(rung_event_store *s, int64_t number, uint64_t chunk, uint32_t base,
                      uint64_t *pairs, size_t *count_out) {
    int rc;
    sqlite3_stmt *stmt = use(s, S_CHUNK, chunk_key(number, chunk), 0, &rc);
    if (!stmt)
        return rc;
    rc = sqlite3_step(stmt);
    bool is_there = rc == SQLITE_ROW;
    if (is_there ? !rung_event_chunk_read(blob_at(stmt, 0), base, pairs, count_out)
                 : rc == SQLITE_DONE)
        rc = fail(s, SQLITE_CORRUPT, "archive: the index of events is damaged in run %lld",
                  (long long)number);
    return done(stmt, rc);
}

/* A run being read from its beginning. */
typedef struct run_reader {
    int64_t run;
    uint32_t base, last_block;
    uint64_t chunk, chunks;
    size_t at, count;
    uint64_t pairs[RUNG_EVENT_CHUNK_PAIRS_MAX];
} run_reader;

static int refill(rung_event_store *s, run_reader *r) {
    int rc = SQLITE_OK;
    r->at = r->count = 0;
    while (rc == SQLITE_OK && r->count == 0 && r->chunk < r->chunks)
        rc = read_chunk(s, r->run, r->chunk++, r->base, r->pairs, &r->count);
    return rc;
}

static int merge_pairs(rung_event_store *s, run_reader *readers, uint32_t count, run_writer *w) {
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK) {
        run_reader *least = NULL;
        for (uint32_t i = 0; i < count; i++)
            if (readers[i].at < readers[i].count &&
                (!least || readers[i].pairs[readers[i].at] < least->pairs[least->at]))
                least = &readers[i];
        if (!least)
            return SQLITE_OK;
        rc = put_pair(s, w, least->pairs[least->at++]);
        if (rc == SQLITE_OK && least->at == least->count)
            rc = refill(s, least);
    }
    return rc;
}

/* Find the oldest runs of a level; `*count_out` of them. */
static int list_runs(rung_event_store *s, int level, run_reader *readers, uint32_t *count_out) {
    int rc;
    sqlite3_stmt *stmt = use(s, S_RUNS_OF_LEVEL, level, RUNG_EVENT_RUN_FAN, &rc);
    *count_out = 0;
    while (stmt && *count_out < RUNG_EVENT_RUN_FAN && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        run_reader *r = &readers[(*count_out)++];
        r->run = sqlite3_column_int64(stmt, 0);
        r->base = (uint32_t)sqlite3_column_int64(stmt, 1);
        r->last_block = (uint32_t)sqlite3_column_int64(stmt, 2);
        r->chunks = (uint64_t)sqlite3_column_int64(stmt, 3);
        r->chunk = 0;
    }
    return done(stmt, rc);
}

static int merge_runs(rung_event_store *s, run_reader *readers, int level) {
    uint32_t count = RUNG_EVENT_RUN_FAN;
    run_writer *w = rung_alloc_get(s->alloc, sizeof *w);
    int rc = w ? begin_run(s, w, readers[0].base) : SQLITE_NOMEM;
    for (uint32_t i = 0; rc == SQLITE_OK && i < count; i++)
        rc = refill(s, &readers[i]);
    if (rc == SQLITE_OK)
        rc = merge_pairs(s, readers, count, w);
    if (w)
        rc = end_run(s, w, level + 1, readers[count - 1].last_block, rc);
    for (uint32_t i = 0; rc == SQLITE_OK && i < count; i++)
        rc = drop_run(s, readers[i].run);
    if (w)
        rung_alloc_free(s->alloc, w, sizeof *w);
    return rc;
}

static int merge_levels(rung_event_store *s) {
    size_t size = RUNG_EVENT_RUN_FAN * sizeof(run_reader);
    run_reader *readers = rung_alloc_get(s->alloc, size);
    int rc = readers ? SQLITE_OK : SQLITE_NOMEM;
    for (int level = 0; rc == SQLITE_OK && level < LEVEL_MAX; level++) {
        uint32_t count;
        rc = list_runs(s, level, readers, &count);
        if (rc == SQLITE_OK && count == RUNG_EVENT_RUN_FAN)
            rc = merge_runs(s, readers, level);
    }
    if (readers)
        rung_alloc_free(s->alloc, readers, size);
    return rc;
}

/* Write the pairs of all full blocks as a run. */
static int index_blocks(rung_event_store *s, uint32_t last_block) {
    run_writer *w = rung_alloc_get(s->alloc, sizeof *w);
    if (!w || !has_room(s, &s->scratch, s->pairs.count)) {
        if (w)
            rung_alloc_free(s->alloc, w, sizeof *w);
        return SQLITE_NOMEM;
    }
    size_t count = rung_event_pairs_sort(s->pairs.pairs, s->scratch.pairs, s->pairs.count);
    int rc = begin_run(s, w, s->indexed + 1);
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++)
        rc = put_pair(s, w, s->pairs.pairs[i]);
    rc = end_run(s, w, 0, last_block, rc);
    rung_alloc_free(s->alloc, w, sizeof *w);
    if (rc == SQLITE_OK)
        rc = run(s, S_SET_INDEXED, last_block, 0);
    s->indexed = last_block;
    s->pairs.count = 0;
    return rc == SQLITE_OK ? merge_levels(s) : rc;
}

/* ---- adding ---- */

static int note_names(rung_event_store *s, const rung_archive_score *score, uint32_t block,
                      bool is_new_board) {
    int rc = add_pair(s, &s->pairs, hash_player(s, score->player), block);
    if (rc == SQLITE_OK && is_new_board)
        rc = add_pair(s, &s->pairs, hash_board(s, score->board), block);
    return rc;
}

/* The rows of a block into `tail`, and their pairs. */
static int load_block(rung_event_store *s, uint32_t block) {
    rung_archive_score row;
    int rc = rung_event_store_open(s, block);
    rung_event_block_clear(&s->tail);
    while (rc == SQLITE_OK && (rc = next_row(s, &row)) == SQLITE_ROW) {
        bool is_new;
        rc = rung_event_block_add(&s->tail, &row, &is_new) < 0 ? SQLITE_NOMEM
                                                               : note_names(s, &row, block, is_new);
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int list_spans(rung_event_store *s, statement which, uint32_t after,
                      const rung_event_filter *f, uint32_t *count);

/* E3 */
static int load(rung_event_store *s) {
    static const rung_event_filter all = RUNG_EVENT_FILTER_ALL;
    uint32_t count = 0;
    int64_t last = 0;
    int rc = read_store(s);
    s->pairs.count = 0;
    rung_event_block_clear(&s->tail);
    if (rc == SQLITE_OK)
        rc = get_number(s, S_LAST_BLOCK, 0, &last);
    if (rc == SQLITE_OK)
        rc = get_number(s, S_LAST_SEQ, 0, &s->last_seq);
    s->last_part = UINT32_MAX; /* all parts of an event come in one batch */
    if (rc == SQLITE_OK)
        rc = list_spans(s, S_SPANS, s->indexed, &all, &count);
    for (uint32_t i = 0; rc == SQLITE_OK && i < count; i++)
        rc = load_block(s, s->spans[i].block);
    if (last < s->indexed)
        last = s->indexed;
    s->tail_block = (uint32_t)last;
    if (rc == SQLITE_OK && (count == 0 || rung_event_block_is_full(&s->tail))) {
        rung_event_block_clear(&s->tail);
        s->tail_block++;
    }
    s->is_loaded = rc == SQLITE_OK;
    s->is_changed = false;
    return rc;
}

/* `tail` is full. */
static int begin_block(rung_event_store *s) {
    int rc = put_block(s, s->tail_block, &s->tail);
    if (rc == SQLITE_OK && s->tail_block - s->indexed >= RUNG_EVENT_RUN_BLOCKS)
        rc = index_blocks(s, s->tail_block);
    rung_event_block_clear(&s->tail);
    s->tail_block++;
    s->is_changed = false;
    return rc;
}

int rung_event_store_add(rung_event_store *s, const rung_archive_score *score) {
    bool is_new;
    int rc = s->is_loaded ? SQLITE_OK : load(s);
    if (rc != SQLITE_OK)
        return rc;
    if ((int64_t)score->seq < s->last_seq ||
        ((int64_t)score->seq == s->last_seq && score->part <= s->last_part))
        return fail(s, SQLITE_CONSTRAINT, "archive: event %lld would be there twice",
                    (long long)score->seq);
    if (rung_event_block_add(&s->tail, score, &is_new) < 0)
        return SQLITE_NOMEM;
    s->last_seq = (int64_t)score->seq;
    s->last_part = score->part;
    s->is_changed = true;
    rc = note_names(s, score, s->tail_block, is_new);
    if (rc == SQLITE_OK && rung_event_block_is_full(&s->tail))
        rc = begin_block(s);
    return rc;
}

int rung_event_store_flush(rung_event_store *s) {
    if (!s->is_changed)
        return SQLITE_OK;
    s->is_changed = false;
    return put_block(s, s->tail_block, &s->tail);
}

void rung_event_store_reset(rung_event_store *s) {
    s->is_loaded = s->is_changed = false;
}

/* ---- finding ---- */

/* Read a row of SPAN or SPANS; appends it if it matches. */
static int add_span(rung_event_store *s, sqlite3_stmt *stmt, const rung_event_filter *f,
                    uint32_t *count) {
    int64_t min = sqlite3_column_int64(stmt, 1), max = sqlite3_column_int64(stmt, 2);
    uint64_t first = (uint64_t)sqlite3_column_int64(stmt, 3);
    uint64_t last = (uint64_t)sqlite3_column_int64(stmt, 4);
    if (max < f->from_ms || min > f->to_ms || last < f->from_seq || first > f->to_seq)
        return SQLITE_OK;
    rung_event_span *spans =
        rung_alloc_array(s->alloc, s->spans, &s->spans_room, *count, sizeof *spans);
    if (!spans)
        return SQLITE_NOMEM;
    s->spans = spans;
    spans[(*count)++] = (rung_event_span){(uint32_t)sqlite3_column_int64(stmt, 0), min, max};
    return SQLITE_OK;
}

/* Append the spans of SPAN or SPANS. */
static int list_spans(rung_event_store *s, statement which, uint32_t after,
                      const rung_event_filter *f, uint32_t *count) {
    int rc;
    sqlite3_stmt *stmt = use(s, which, after, 0, &rc);
    while (stmt && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        rc = add_span(s, stmt, f, count);
        if (rc != SQLITE_OK)
            return done(stmt, rc);
    }
    return done(stmt, rc);
}

/* The first chunk that may have the hash. */
static uint64_t first_chunk(rung_slice fences, uint32_t hash) {
    const uint8_t *p = (const uint8_t *)fences.ptr;
    uint64_t low = 0, high = fences.len / 4; /* fences before `low` are less than the hash */
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (rung_get32(p + 4 * middle) < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

/* A chunk of a run that may have the hash: called with its pairs. */
typedef int chunk_user(rung_event_store *s, void *ctx, int64_t run_number, uint64_t chunk,
                       uint32_t base, uint64_t *pairs, size_t count);

static int use_run(rung_event_store *s, int64_t number, uint32_t base, rung_slice fences,
                   uint32_t hash, chunk_user *user, void *ctx) {
    uint64_t pairs[RUNG_EVENT_CHUNK_PAIRS_MAX];
    int rc = SQLITE_OK;
    for (uint64_t i = first_chunk(fences, hash); rc == SQLITE_OK && i < fences.len / 4; i++) {
        size_t count;
        if (rung_get32((const uint8_t *)fences.ptr + 4 * i) > hash)
            break;
        rc = read_chunk(s, number, i, base, pairs, &count);
        if (rc == SQLITE_OK)
            rc = user(s, ctx, number, i, base, pairs, count);
    }
    return rc;
}

static int use_runs(rung_event_store *s, uint32_t hash, chunk_user *user, void *ctx) {
    int rc;
    sqlite3_stmt *stmt = use(s, S_RUNS, 0, 0, &rc);
    while (stmt && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        rc = use_run(s, sqlite3_column_int64(stmt, 0), (uint32_t)sqlite3_column_int64(stmt, 1),
                     blob_at(stmt, 2), hash, user, ctx);
        if (rc != SQLITE_OK)
            return done(stmt, rc);
    }
    return done(stmt, rc);
}

typedef struct hash_blocks {
    uint32_t hash;
    pair_list *blocks; /* pairs of hash 0 */
} hash_blocks;

static int collect(rung_event_store *s, void *ctx, int64_t run_number, uint64_t chunk,
                   uint32_t base, uint64_t *pairs, size_t count) {
    hash_blocks *h = ctx;
    int rc = SQLITE_OK;
    (void)run_number, (void)chunk, (void)base;
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++)
        if (pairs[i] >> 32 == h->hash)
            rc = add_pair(s, h->blocks, 0, (uint32_t)pairs[i]);
    return rc;
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int rung_event_store_find(rung_event_store *s, const rung_event_filter *f,
                          rung_event_span **spans_out, uint32_t *count_out) {
    bool has_name = f->player.len || f->board.len;
    uint32_t count = 0;
    pair_list blocks = {0};
    int rc = read_store(s);
    if (rc == SQLITE_OK && has_name) {
        hash_blocks h = {f->player.len ? hash_player(s, f->player) : hash_board(s, f->board),
                         &blocks};
        rc = use_runs(s, h.hash, collect, &h);
    }
    if (blocks.count)
        qsort(blocks.pairs, blocks.count, sizeof *blocks.pairs, by_number);
    for (size_t i = 0; rc == SQLITE_OK && i < blocks.count; i++)
        if (i == 0 || blocks.pairs[i] != blocks.pairs[i - 1])
            rc = list_spans(s, S_SPAN, (uint32_t)blocks.pairs[i], f, &count);
    if (rc == SQLITE_OK)
        rc = list_spans(s, S_SPANS, has_name ? s->indexed : 0, f, &count);
    free_pairs(s, &blocks);
    *spans_out = s->spans;
    *count_out = count;
    return rc;
}

/* ---- erasing ---- */

typedef struct erasure {
    rung_slice player;
    uint32_t hash;
    rung_event_block rest; /* a block without the player */
    pair_list gone;        /* blocks in which no name has the hash any more, ascending */
} erasure;

/* Write a block again without the player's rows. */
static int erase_from(rung_event_store *s, uint32_t block, erasure *e) {
    rung_archive_score row;
    bool is_there = false, is_shared = false, is_new;
    int rc = rung_event_store_open(s, block);
    rung_event_block_clear(&e->rest);
    while (rc == SQLITE_OK && (rc = next_row(s, &row)) == SQLITE_ROW) {
        rc = SQLITE_OK;
        if (rung_slice_eq(row.player, e->player)) {
            is_there = true;
            continue;
        }
        if (rung_event_block_add(&e->rest, &row, &is_new) < 0)
            return SQLITE_NOMEM;
        is_shared |= hash_player(s, row.player) == e->hash;
        is_shared |= is_new && hash_board(s, row.board) == e->hash;
    }
    if (rc != SQLITE_DONE || !is_there)
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    rc = is_shared ? SQLITE_OK : add_pair(s, &e->gone, e->hash, block);
    if (rc != SQLITE_OK)
        return rc;
    return e->rest.rows ? put_block(s, block, &e->rest) : drop_block(s, block);
}

static bool is_gone(const erasure *e, uint64_t pair) {
    return e->gone.count &&
           bsearch(&pair, e->gone.pairs, e->gone.count, sizeof pair, by_number) != NULL;
}

/* Write a chunk of the index again without the pairs that are gone. */
static int forget_pairs(rung_event_store *s, void *ctx, int64_t run_number, uint64_t chunk,
                        uint32_t base, uint64_t *pairs, size_t count) {
    uint8_t bytes[RUNG_EVENT_CHUNK_BYTES];
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!is_gone(ctx, pairs[i]))
            pairs[kept++] = pairs[i];
    if (kept == count)
        return SQLITE_OK;
    size_t len = rung_event_chunk_write(pairs, kept, base, bytes);
    return run_blob(s, S_PUT_CHUNK, chunk_key(run_number, chunk), bytes, len);
}

static int erase_all(rung_event_store *s, erasure *e) {
    rung_event_filter f = RUNG_EVENT_FILTER_ALL;
    rung_event_span *spans;
    uint32_t count;
    f.player = e->player;
    int rc = rung_event_store_find(s, &f, &spans, &count);
    e->hash = hash_player(s, e->player);
    for (uint32_t i = 0; rc == SQLITE_OK && i < count; i++)
        rc = erase_from(s, spans[i].block, e);
    return rc == SQLITE_OK ? use_runs(s, e->hash, forget_pairs, e) : rc;
}

int rung_event_store_erase(rung_event_store *s, rung_slice player) {
    erasure e = {.player = player, .rest = {.alloc = s->alloc}};
    int rc = rung_event_store_flush(s);
    if (rc == SQLITE_OK)
        rc = erase_all(s, &e);
    rung_event_block_deinit(&e.rest);
    free_pairs(s, &e.gone);
    rung_event_store_reset(s);
    return rc;
}

/* ---- forgetting what is old ---- */

static int list_numbers(rung_event_store *s, statement which, int64_t one, int64_t two,
                        pair_list *out) {
    int rc;
    sqlite3_stmt *stmt = use(s, which, one, two, &rc);
    while (stmt && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        rc = add_pair(s, out, 0, (uint32_t)sqlite3_column_int64(stmt, 0));
        if (rc != SQLITE_OK)
            return done(stmt, rc);
    }
    return done(stmt, rc);
}

static int drop_dead_runs(rung_event_store *s) {
    int64_t first = 0;
    pair_list runs = {0};
    int rc = get_number(s, S_FIRST_BLOCK, 0, &first);
    if (rc == SQLITE_OK)
        rc = list_numbers(s, S_DEAD_RUNS, first, 0, &runs);
    for (size_t i = 0; rc == SQLITE_OK && i < runs.count; i++)
        rc = drop_run(s, (int64_t)(uint32_t)runs.pairs[i]);
    free_pairs(s, &runs);
    return rc;
}

int rung_event_store_expire(rung_event_store *s, int64_t before_ms, uint32_t max,
                            uint32_t *count_out) {
    pair_list blocks = {0};
    int rc = rung_event_store_flush(s);
    if (rc == SQLITE_OK)
        rc = list_numbers(s, S_OLD_BLOCKS, before_ms, max, &blocks);
    for (size_t i = 0; rc == SQLITE_OK && i < blocks.count; i++)
        rc = drop_block(s, (uint32_t)blocks.pairs[i]);
    *count_out = (uint32_t)blocks.count;
    if (rc == SQLITE_OK && blocks.count)
        rc = drop_dead_runs(s);
    if (blocks.count)
        rung_event_store_reset(s);
    free_pairs(s, &blocks);
    return rc;
}

/* ---- looking for damage ---- */

int rung_event_store_check(rung_event_store *s) {
    static const rung_event_filter all = RUNG_EVENT_FILTER_ALL;
    rung_event_span *spans;
    rung_archive_score row;
    uint32_t count;
    int rc = rung_event_store_find(s, &all, &spans, &count);
    for (uint32_t i = 0; rc == SQLITE_OK && i < count; i++) {
        rc = rung_event_store_open(s, spans[i].block);
        while (rc == SQLITE_OK && (rc = next_row(s, &row)) == SQLITE_ROW)
            rc = SQLITE_OK;
        rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    return rc;
}
