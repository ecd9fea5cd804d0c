/* SPDX-License-Identifier: Apache-2.0 */
/* Packed events: blocks there and back, every flipped bit, and random histories beside a plain list. */
#define _GNU_SOURCE
#include "archive/sqlite/event_block.h"
#include "archive/sqlite/event_run.h"
#include "archive/sqlite/event_store.h"
#include "archive/sqlite/event_table.h"
#include "support/archive_dir.h"
#include "support/check.h"
#include "support/rng.h"

#include <sqlite3.h>

#define T0 INT64_C(1763164800000)

enum { ROWS_MAX = 4000, PLAYERS = 60, PAGE = 7 };

static rung_archive_values random_values(rung_rng *rng) {
    rung_archive_values v = {.count = (uint32_t)rung_rng_below(rng, RUNG_COLUMNS_MAX + 1)};
    for (uint32_t k = 0; k < v.count; k++) {
        v.types[k] = (uint8_t)rung_rng_below(rng, 3);
        if (v.types[k] == RUNG_SCORE_REAL)
            v.values[k].d = rung_rng_double(rng) * 1e300;
        else
            v.values[k].i = (int64_t)(rung_rng_next(rng) >> rung_rng_below(rng, 64));
        if (v.types[k] == RUNG_SCORE_DECIMAL)
            v.decimals[k] = (uint8_t)rung_rng_below(rng, 10);
    }
    return v;
}

typedef struct names {
    char board[16], player[16], id[16], meta[64];
} names;

/* A row behind the last one; its texts live in `n`. */
static rung_archive_score random_row(rung_rng *rng, const rung_archive_score *last, names *n) {
    bool is_part = last && last->part && rung_rng_below(rng, 2);
    snprintf(n->board, sizeof n->board, "board%u", (unsigned)rung_rng_below(rng, 5));
    snprintf(n->player, sizeof n->player, "p%u", (unsigned)rung_rng_below(rng, PLAYERS));
    snprintf(n->id, sizeof n->id, "%x", (unsigned)rung_rng_next(rng));
    snprintf(n->meta, sizeof n->meta, "{\"x\": %u}", (unsigned)rung_rng_next(rng));
    rung_archive_score s = {.seq = !last     ? 1
                                   : is_part ? last->seq
                                             : last->seq + 1 + rung_rng_below(rng, 3),
                            .part = is_part                       ? last->part + 1
                                    : rung_rng_below(rng, 4) == 0 ? 1
                                                                  : 0,
                            .board = rung_slice_str(n->board),
                            .player = rung_slice_str(n->player),
                            .is_delta = rung_rng_below(rng, 2),
                            .has_at = rung_rng_below(rng, 2),
                            .ts_ms = T0 + (int64_t)(last ? last->seq : 0) * 10,
                            .values = random_values(rng),
                            .status = rung_rng_below(rng, 3) ? RUNG_OK : RUNG_EREFUSED};
    s.at_ms = s.has_at ? s.ts_ms - (int64_t)rung_rng_below(rng, 2000) : s.ts_ms;
    if (rung_rng_below(rng, 3) == 0)
        s.id = rung_slice_str(n->id);
    if (rung_rng_below(rng, 3) == 0)
        s.meta = rung_slice_str(n->meta);
    if (s.status < 0)
        s.rule = (rung_rule)(1 + rung_rng_below(rng, RUNG_RULE_COUNT - 1));
    else
        s.result = random_values(rng);
    s.has_result = s.result.count > 0;
    s.is_removal = rung_rng_below(rng, 20) == 0;
    return s;
}

static void same_values(const rung_archive_values *a, const rung_archive_values *b) {
    CHECK_EQ_U64(rung_score_format_of(a), rung_score_format_of(b));
    for (uint32_t k = 0; k < a->count; k++)
        CHECK(memcmp(&a->values[k], &b->values[k], sizeof a->values[k]) == 0);
}

static void same_row(const rung_archive_score *a, const rung_archive_score *b) {
    CHECK_EQ_U64(a->seq, b->seq);
    CHECK_EQ_U64(a->part, b->part);
    CHECK(rung_slice_eq(a->board, b->board) && rung_slice_eq(a->player, b->player));
    CHECK(rung_slice_eq(a->id, b->id) && rung_slice_eq(a->meta, b->meta));
    CHECK_EQ_I64(a->at_ms, b->at_ms);
    CHECK_EQ_I64(a->ts_ms, b->ts_ms);
    CHECK_EQ_I64(a->status, b->status);
    CHECK(a->rule == b->rule && a->is_delta == b->is_delta && a->is_removal == b->is_removal &&
          a->has_at == b->has_at && a->has_result == b->has_result);
    same_values(&a->values, &b->values);
    if (a->has_result)
        same_values(&a->result, &b->result);
}

/* ---- blocks ---- */

static rung_archive_score rows[ROWS_MAX];
static names texts[ROWS_MAX];

static uint32_t fill_block(rung_event_block *b, rung_rng *rng) {
    uint32_t n = 0;
    while (!rung_event_block_is_full(b)) {
        rows[n] = random_row(rng, n ? &rows[n - 1] : NULL, &texts[n]);
        CHECK_OK(rung_event_block_add(b, &rows[n], NULL));
        n++;
    }
    return n;
}

TEST(blocks_there_and_back) {
    rung_event_block b = {.alloc = rung_alloc_heap()};
    rung_event_packer p = {.alloc = rung_alloc_heap()};
    rung_event_reader r = {.alloc = rung_alloc_heap()};
    rung_err err = {0};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        rung_rng rng;
        rung_slice bytes;
        rung_archive_score row;
        rung_rng_seed(&rng, seed);
        rung_event_block_clear(&b);
        uint32_t n = fill_block(&b, &rng);
        CHECK_OK(rung_event_block_pack(&b, &p, &bytes, &err));
        CHECK_OK(rung_event_block_open(&r, bytes, &err));
        for (uint32_t i = 0; i < n; i++) {
            CHECK_OK(rung_event_block_next(&r, &row, &err));
            same_row(&rows[i], &row);
        }
        CHECK_STATUS(rung_event_block_next(&r, &row, &err), RUNG_NOT_FOUND);
    }
    rung_event_block_deinit(&b);
    rung_event_packer_deinit(&p);
    rung_event_reader_deinit(&r);
}

TEST(every_flipped_bit_is_noticed) {
    rung_event_block b = {.alloc = rung_alloc_heap()};
    rung_event_packer p = {.alloc = rung_alloc_heap()};
    rung_event_reader r = {.alloc = rung_alloc_heap()};
    rung_err err = {0};
    rung_rng rng;
    rung_slice bytes;
    static uint8_t copy[1 << 16];
    rung_rng_seed(&rng, test_seed(1));
    fill_block(&b, &rng);
    CHECK_OK(rung_event_block_pack(&b, &p, &bytes, &err));
    CHECK(bytes.len < sizeof copy);
    memcpy(copy, bytes.ptr, bytes.len);
    for (size_t bit = 0; bit < bytes.len * 8; bit++) {
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK_STATUS(rung_event_block_open(&r, rung_slice_of(copy, bytes.len), &err),
                     RUNG_ECORRUPT);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t len = 0; len < bytes.len; len++)
        CHECK(rung_event_block_open(&r, rung_slice_of(copy, len), &err) < 0);
    rung_event_block_deinit(&b);
    rung_event_packer_deinit(&p);
    rung_event_reader_deinit(&r);
}

TEST(pairs_are_sorted_and_chunked) {
    static uint64_t pairs[5000], scratch[5000], back[RUNG_EVENT_CHUNK_PAIRS_MAX];
    uint8_t bytes[RUNG_EVENT_CHUNK_BYTES];
    rung_rng rng;
    size_t count;
    rung_rng_seed(&rng, test_seed(1));
    for (size_t i = 0; i < 5000; i++)
        pairs[i] = rung_event_pair((uint32_t)rung_rng_next(&rng) >> rung_rng_below(&rng, 30),
                                   1000 + (uint32_t)i / 50);
    size_t n = rung_event_pairs_sort(pairs, scratch, 5000);
    CHECK(n > 1000 && n < 5000);
    for (size_t i = 1; i < n; i++)
        CHECK(pairs[i] > pairs[i - 1]);
    for (size_t i = 0; i + 16 <= n; i += 16) {
        size_t len = rung_event_chunk_write(pairs + i, 16, 1000, bytes);
        CHECK(rung_event_chunk_read(rung_slice_of(bytes, len), 1000, back, &count));
        CHECK(count == 16 && memcmp(back, pairs + i, sizeof *pairs * 16) == 0);
        size_t bit = rung_rng_below(&rng, len * 8);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(!rung_event_chunk_read(rung_slice_of(bytes, len), 1000, back, &count));
    }
    CHECK(rung_event_chunk_read(rung_slice_of(bytes, rung_event_chunk_write(pairs, 0, 1000, bytes)),
                                1000, back, &count));
    CHECK_EQ_U64(count, 0);
}

/* ---- the store beside a plain list ---- */

static uint32_t row_count;
static bool is_erased[ROWS_MAX];

static int compare_places(const void *a, const void *b) {
    const rung_archive_score *x = *(rung_archive_score *const *)a;
    const rung_archive_score *y = *(rung_archive_score *const *)b;
    if (x->at_ms != y->at_ms)
        return x->at_ms < y->at_ms ? -1 : 1;
    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return (x->part > y->part) - (x->part < y->part);
}

/* The rows that a query finds, in its order. */
static uint32_t expected(const rung_archive_score_query *q, rung_archive_score **out) {
    uint32_t n = 0;
    bool is_always = q->from_ms == 0 && q->to_ms == 0;
    for (uint32_t i = 0; i < row_count; i++)
        if (!is_erased[i] && (!q->board.len || rung_slice_eq(q->board, rows[i].board)) &&
            (!q->player.len || rung_slice_eq(q->player, rows[i].player)) &&
            (is_always || (rows[i].at_ms >= q->from_ms && rows[i].at_ms < q->to_ms)))
            out[n++] = &rows[i];
    qsort(out, n, sizeof *out, compare_places);
    for (uint32_t i = 0; q->newest_first && i < n / 2; i++) {
        rung_archive_score *other = out[i];
        out[i] = out[n - 1 - i];
        out[n - 1 - i] = other;
    }
    return n;
}

/* All pages of a query. */
static void compare_query(rung_archive *a, rung_archive_score_query q) {
    static rung_archive_score *want[ROWS_MAX];
    rung_archive_score page[PAGE];
    rung_err err = {0};
    uint32_t n = expected(&q, want), done = 0, count = PAGE;
    for (uint32_t pages = 0; count == PAGE && pages < 12; pages++) {
        CHECK_OK(rung_archive_reading.scores(a, &q, PAGE, page, &count, &err));
        for (uint32_t i = 0; i < count; i++) {
            CHECK(done < n);
            same_row(want[done++], &page[i]);
        }
        if (count) {
            q.after_at_ms = page[count - 1].at_ms;
            q.after_seq = page[count - 1].seq;
            q.after_part = page[count - 1].part;
        }
    }
    CHECK(done == n || count == PAGE);
}

static void compare_some(rung_archive *a, rung_rng *rng) {
    char board[16], player[16];
    for (int i = 0; i < 12; i++) {
        snprintf(board, sizeof board, "board%u", (unsigned)rung_rng_below(rng, 5));
        snprintf(player, sizeof player, "p%u", (unsigned)rung_rng_below(rng, PLAYERS + 2));
        rung_archive_score_query q = {.newest_first = rung_rng_below(rng, 2)};
        if (i % 3 != 0)
            q.board = rung_slice_str(board);
        if (i % 3 != 1)
            q.player = rung_slice_str(player);
        if (rung_rng_below(rng, 2)) {
            q.from_ms = T0 + (int64_t)rung_rng_below(rng, ROWS_MAX * 20);
            q.to_ms = q.from_ms + (int64_t)rung_rng_below(rng, 20000);
        }
        compare_query(a, q);
    }
}

static void add_some(rung_archive *a, rung_rng *rng, bool is_kept) {
    uint32_t before = row_count, n = (uint32_t)rung_rng_below(rng, 120);
    rung_err err = {0};
    CHECK_OK(rung_archive_begin(a, &err));
    for (uint32_t i = 0; i < n && row_count < ROWS_MAX; i++, row_count++) {
        rung_archive_score last = {0};
        if (row_count) {
            last = rows[row_count - 1];
            if (i == 0)
                last.part = 0; /* an event is never divided among batches */
        }
        rows[row_count] = random_row(rng, row_count ? &last : NULL, &texts[row_count]);
        is_erased[row_count] = false;
        CHECK_OK(a->ops->add_score(a, &rows[row_count], &err));
    }
    if (is_kept) {
        uint64_t seq = row_count ? rows[row_count - 1].seq : 0;
        CHECK_OK(rung_archive_commit(a, seq, T0, &err));
    } else {
        rung_archive_rollback(a);
        row_count = before;
    }
}

static void erase_one(rung_archive *a, rung_rng *rng) {
    char player[16];
    rung_err err = {0};
    uint64_t seq;
    snprintf(player, sizeof player, "p%u", (unsigned)rung_rng_below(rng, PLAYERS));
    CHECK_OK(rung_archive_cursor(a, &seq, NULL, &err));
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(a->ops->erase(a, 1, rung_slice_str(player), &err));
    CHECK_OK(rung_archive_commit(a, seq, T0, &err));
    for (uint32_t i = 0; i < row_count; i++)
        is_erased[i] |= rung_slice_eq(rows[i].player, rung_slice_str(player));
}

static int64_t number(sqlite3 *db, const char *sql);

static void upkeep(rung_archive *a, int64_t before_ms) {
    rung_err err = {0};
    bool is_more = true;
    while (is_more)
        CHECK_OK(a->ops->upkeep(a, before_ms, &is_more, &err));
}

/* The row that decides the current score of row i's player on its board; ROWS_MAX: none. */
static uint32_t last_row(uint32_t i) {
    uint32_t found = ROWS_MAX;
    for (uint32_t k = 0; k < row_count; k++)
        if (!is_erased[k] && rung_slice_eq(rows[k].board, rows[i].board) &&
            rung_slice_eq(rows[k].player, rows[i].player)) {
            if (rows[k].has_result)
                found = k;
            else if (rows[k].status == RUNG_OK)
                found = ROWS_MAX;
        }
    return found;
}

/* user_scores is the fold of the events. */
static void compare_current(const char *path) {
    sqlite3 *db;
    sqlite3_stmt *stmt;
    int64_t want = 0;
    CHECK_EQ_I64(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    CHECK_EQ_I64(sqlite3_prepare_v2(db,
                                    "SELECT seq, at_ms, score_format FROM user_scores WHERE board "
                                    "= ?1 AND player = ?2",
                                    -1, &stmt, NULL),
                 SQLITE_OK);
    for (uint32_t i = 0; i < row_count; i++) {
        uint32_t k = last_row(i);
        want += k == i;
        if (i % 7 && k != i)
            continue;
        sqlite3_bind_text(stmt, 1, rows[i].board.ptr, (int)rows[i].board.len, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, rows[i].player.ptr, (int)rows[i].player.len, SQLITE_STATIC);
        CHECK_EQ_I64(sqlite3_step(stmt), k < ROWS_MAX ? SQLITE_ROW : SQLITE_DONE);
        if (k < ROWS_MAX) {
            CHECK_EQ_I64(sqlite3_column_int64(stmt, 0), (int64_t)rows[k].seq);
            CHECK_EQ_I64(sqlite3_column_int64(stmt, 1), rows[k].at_ms);
            CHECK_EQ_I64(sqlite3_column_int64(stmt, 2), rung_score_format_of(&rows[k].result));
        }
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    CHECK_EQ_I64(number(db, "SELECT count(*) FROM user_scores"), want);
    sqlite3_close(db);
}

TEST(random_histories_beside_a_list) {
    for (uint64_t seed = test_seed(1), end = seed + test_steps(3); seed < end; seed++) {
        archive_dir d;
        rung_archive *a;
        rung_err err = {0};
        rung_rng rng;
        test_seed(seed);
        rung_rng_seed(&rng, seed);
        archive_dir_init(&d);
        CHECK_OK(archive_dir_open(&d, &a, &err));
        row_count = 0;
        while (row_count < ROWS_MAX) {
            uint64_t what = rung_rng_below(&rng, 20);
            add_some(a, &rng, what != 0);
            if (what == 1)
                erase_one(a, &rng);
            if (what == 2) {
                rung_archive_close(a);
                CHECK_OK(archive_dir_open(&d, &a, &err));
            }
            if (what == 3)
                compare_some(a, &rng);
            if (what == 4) {
                bool is_more;
                CHECK_OK(a->ops->upkeep(a, INT64_MIN, &is_more, &err));
            }
        }
        for (int i = 0; i < 10; i++)
            compare_some(a, &rng);
        CHECK_OK(rung_sqlite_archive_check(a, &err));
        upkeep(a, INT64_MIN);
        compare_current(d.path);
        rung_archive_close(a);
        archive_dir_deinit(&d);
    }
}

/* ---- on the disk ---- */

static int64_t number(sqlite3 *db, const char *sql) {
    sqlite3_stmt *stmt;
    CHECK_MSG(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    CHECK_EQ_I64(sqlite3_step(stmt), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return n;
}

static void fill_archive(archive_dir *d, uint32_t want) {
    rung_archive *a;
    rung_err err = {0};
    rung_rng rng;
    rung_rng_seed(&rng, 7);
    archive_dir_init(d);
    CHECK_OK(archive_dir_open(d, &a, &err));
    row_count = 0;
    while (row_count < want)
        add_some(a, &rng, true);
    rung_archive_close(a);
}

/* Old blocks go, and with them the runs of the index; the rest is found as before. */
TEST(old_events_are_removed) {
    archive_dir d;
    rung_archive *a;
    sqlite3 *db;
    rung_err err = {0};
    rung_rng rng;
    char sql[120];
    fill_archive(&d, 3000);
    CHECK_OK(archive_dir_open(&d, &a, &err));
    int64_t before_ms = rows[2000].ts_ms;
    upkeep(a, before_ms);
    CHECK_EQ_I64(sqlite3_open_v2(d.path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    CHECK_EQ_I64(rung_event_table_register(db), SQLITE_OK);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM event_blocks WHERE max_ts_ms < %lld",
             (long long)before_ms);
    CHECK_EQ_I64(number(db, sql), 0);
    CHECK_EQ_I64(number(db, "SELECT count(*) FROM event_bytes"),
                 number(db, "SELECT count(*) FROM event_blocks"));
    CHECK_EQ_I64(number(db, "SELECT min(last_block) >= (SELECT min(block) FROM event_blocks) FROM "
                            "event_runs"),
                 1);
    uint64_t first = (uint64_t)number(db, "SELECT min(first_seq) FROM event_blocks");
    sqlite3_close(db);
    CHECK(first <= rows[2000].seq && first > rows[2000 - 2 * RUNG_EVENT_BLOCK_ROWS].seq);
    for (uint32_t i = 0; i < row_count; i++)
        is_erased[i] = rows[i].seq < first;
    rung_rng_seed(&rng, 8);
    for (int i = 0; i < 5; i++) {
        compare_some(a, &rng);
        add_some(a, &rng, true);
    }
    upkeep(a, INT64_MAX / 2); /* everything */
    rung_archive_score_query q = {.board = RUNG_SLICE("board1")};
    uint32_t count;
    CHECK_OK(rung_archive_reading.scores(a, &q, 1, &(rung_archive_score){0}, &count, &err));
    CHECK_EQ_U64(count, 0);
    add_some(a, &rng, true);
    rung_archive_close(a);
    archive_dir_deinit(&d);
}

/* The table of SQL has the same rows, whichever way they are asked for. */
TEST(the_table_has_all_rows) {
    archive_dir d;
    sqlite3 *db;
    char sql[200];
    fill_archive(&d, 2000);
    CHECK_EQ_I64(sqlite3_open_v2(d.path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    CHECK_EQ_I64(rung_event_table_register(db), SQLITE_OK);
    CHECK_EQ_I64(number(db, "SELECT count(*) FROM score_events"), row_count);
    CHECK_EQ_I64(number(db, "SELECT count(*) FROM score_events a JOIN score_events b USING (seq, "
                            "part) WHERE a.player = b.player AND a.seq < 100"),
                 number(db, "SELECT count(*) FROM score_events WHERE seq < 100"));
    for (int i = 0; i < 8; i++) {
        int64_t want = 0;
        for (uint32_t k = 0; k < row_count; k++) {
            char player[16];
            snprintf(player, sizeof player, "p%d", i);
            want += rung_slice_eq(rows[k].player, rung_slice_str(player)) &&
                    rows[k].at_ms > T0 + 500 && rows[k].seq <= 1500;
        }
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM score_events WHERE player = 'p%d' AND at_ms > %lld AND seq "
                 "<= 1500",
                 i, (long long)T0 + 500);
        CHECK_EQ_I64(number(db, sql), want);
        /* The planner must not use the index for another comparison. */
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM score_events WHERE player = 'P%d' COLLATE NOCASE AND at_ms "
                 "> %lld AND seq <= 1500",
                 i, (long long)T0 + 500);
        CHECK_EQ_I64(number(db, sql), want);
    }
    sqlite3_close(db);
    archive_dir_deinit(&d);
}

TEST(damage_is_reported) {
    archive_dir d;
    rung_archive *a;
    sqlite3 *db;
    rung_archive_score s[200];
    rung_err err = {0};
    uint32_t count;
    fill_archive(&d, 1000);
    CHECK_EQ_I64(sqlite3_open(d.path, &db), SQLITE_OK);
    CHECK_EQ_I64(sqlite3_exec(db,
                              "UPDATE event_bytes SET bytes = CAST(substr(bytes, 1, 99) || x'aa' "
                              "|| substr(bytes, 101) AS BLOB) WHERE block = 3",
                              NULL, NULL, NULL),
                 SQLITE_OK);
    sqlite3_close(db);
    CHECK_OK(archive_dir_open(&d, &a, &err));
    CHECK_STATUS(rung_sqlite_archive_check(a, &err), RUNG_ECORRUPT);
    CHECK(strstr(err.message, "block") != NULL);
    rung_archive_score_query q = {
        .board = RUNG_SLICE("board1"), .from_ms = T0 + 2000, .to_ms = T0 + 3000};
    CHECK_STATUS(rung_archive_reading.scores(a, &q, 200, s, &count, &err), RUNG_ECORRUPT);
    q.from_ms = T0 + 5000; /* what does not need the block is answered */
    q.to_ms = T0 + 6000;
    CHECK_OK(rung_archive_reading.scores(a, &q, 200, s, &count, &err));
    rung_archive_close(a);
    archive_dir_deinit(&d);
}

static bool file_has(const char *path, const char *bytes, size_t len) {
    static char all[1 << 23];
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    size_t n = fread(all, 1, sizeof all, f);
    fclose(f);
    CHECK(n < sizeof all);
    return memmem(all, n, bytes, len) != NULL;
}

/* The blocks that had the player's events are nowhere in the files after an erasure. */
TEST(erased_blocks_are_gone_from_the_disk) {
    archive_dir d;
    rung_archive *a;
    sqlite3 *db;
    sqlite3_stmt *stmt;
    rung_err err = {0};
    char old[64], wal[120];
    uint64_t seq;
    fill_archive(&d, 1000);
    CHECK_EQ_I64(sqlite3_open(d.path, &db), SQLITE_OK);
    CHECK_EQ_I64(sqlite3_prepare_v2(db,
                                    "SELECT substr(bytes, 1, 64) FROM event_bytes WHERE block = 2",
                                    -1, &stmt, NULL),
                 SQLITE_OK);
    CHECK_EQ_I64(sqlite3_step(stmt), SQLITE_ROW);
    memcpy(old, sqlite3_column_blob(stmt, 0), sizeof old);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    snprintf(wal, sizeof wal, "%s-wal", d.path);
    CHECK(file_has(d.path, old, sizeof old));
    CHECK_OK(archive_dir_open(&d, &a, &err));
    CHECK_OK(rung_archive_cursor(a, &seq, NULL, &err));
    CHECK_OK(rung_archive_begin(a, &err));
    CHECK_OK(a->ops->erase(a, 1, rows[2 * RUNG_EVENT_BLOCK_ROWS - 5].player, &err));
    CHECK_OK(rung_archive_commit(a, seq, T0, &err));
    CHECK(!file_has(d.path, old, sizeof old));
    CHECK(!file_has(wal, old, sizeof old));
    rung_archive_close(a);
    archive_dir_deinit(&d);
}

RUNG_TEST_MAIN
