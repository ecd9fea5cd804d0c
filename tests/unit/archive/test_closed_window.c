/* SPDX-License-Identifier: Apache-2.0 */
/* Packing a ranking and reading it again; damaged bytes are refused, never followed. */
#include "archive/closed_window.h"
#include "support/archive_load.h"
#include "support/check.h"

#include <stdlib.h>

typedef struct taken {
    rung_packed packed;
    uint32_t total;
    rung_row rows[64];
    char names[64][16];
} taken;

static void take(void *ctx, rung_slice board, const rung_view *view) {
    taken *t = ctx;
    if (t->packed.ptr)
        return;
    CHECK_OK(rung_closed_window_pack(rung_alloc_heap(), board, view, &t->packed));
    rung_view v = *view;
    v.rank = RUNG_RANK_DENSE;
    t->total = rung_view_top(&v, 0, 64, t->rows);
    for (uint32_t i = 0; i < t->total; i++) { /* the texts outlive the state */
        memcpy(t->names[i], t->rows[i].id.ptr, t->rows[i].id.len);
        t->rows[i].id.ptr = t->names[i];
    }
}

/* The first hour of the load. */
static void take_an_hour(taken *t) {
    static archive_load load;
    rung_state *s;
    memset(t, 0, sizeof *t);
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap(), .on_close = take, .on_close_ctx = t},
                               &s));
    for (uint64_t seq = 1; seq <= 50; seq++)
        rung_ignore(rung_state_apply(s, archive_load_event(&load, seq), NULL, NULL), "whatever it says");
    rung_state_destroy(s);
    CHECK(t->packed.ptr && t->total > 10);
}

TEST(what_was_packed_is_read) {
    static taken t;
    rung_packed_reader r;
    rung_archive_row row;
    rung_err err;
    take_an_hour(&t);
    CHECK_EQ_U64(t.packed.seq, 50);
    CHECK_OK(rung_packed_open(rung_slice_of(t.packed.ptr, t.packed.len), &r, &err));
    CHECK(!r.is_sample);
    CHECK_EQ_U64(r.row_count, t.total);
    CHECK_EQ_U64(r.window.closed_seq, 50);
    CHECK_EQ_U64(r.window.kind, RUNG_WINDOW_HOUR);
    CHECK(rung_slice_eq(r.window.id, RUNG_SLICE("2025-11-15T00")));
    CHECK(rung_slice_eq(r.window.board, RUNG_SLICE("load")));
    for (uint32_t i = 0; i < t.total; i++) {
        CHECK_OK(rung_packed_next(&r, &row, &err));
        CHECK_EQ_U64(row.place, i + 1);
        CHECK_EQ_U64(row.dense, t.rows[i].rank);
        CHECK_EQ_U64(row.number, t.rows[i].number);
        CHECK(rung_slice_eq(row.player, t.rows[i].id));
        CHECK_EQ_I64(row.values.values[0].i, t.rows[i].values[0].i);
        CHECK_EQ_I64(row.at_ms, t.rows[i].at_ms);
    }
    CHECK_STATUS(rung_packed_next(&r, &row, &err), RUNG_NOT_FOUND);
    rung_packed_deinit(rung_alloc_heap(), &t.packed);
}

/* Reads all there is; the bytes are in a block of their own, so that a sanitizer sees a step too far. */
static rung_status read_all(const char *bytes, size_t len) {
    rung_packed_reader r;
    rung_archive_row row;
    rung_err err;
    char *copy = malloc(len ? len : 1);
    CHECK(copy != NULL);
    memcpy(copy, bytes, len);
    rung_status st = rung_packed_open(rung_slice_of(copy, len), &r, &err);
    uint64_t rows = 0;
    while (st == RUNG_OK && (st = rung_packed_next(&r, &row, &err)) == RUNG_OK)
        CHECK(++rows <= len); /* a row takes a byte at least */
    free(copy);
    return st;
}

TEST(damaged_bytes_are_refused) {
    static taken t;
    take_an_hour(&t);
    CHECK_STATUS(read_all(t.packed.ptr, t.packed.len), RUNG_NOT_FOUND);
    for (size_t len = 0; len < t.packed.len; len++)
        CHECK_STATUS(read_all(t.packed.ptr, len), RUNG_ECORRUPT);
    for (size_t i = 0; i < t.packed.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            t.packed.ptr[i] = (char)(t.packed.ptr[i] ^ 1 << bit);
            rung_status st = read_all(t.packed.ptr, t.packed.len);
            CHECK(st == RUNG_ECORRUPT || st == RUNG_NOT_FOUND); /* some flips give another valid ranking */
            t.packed.ptr[i] = (char)(t.packed.ptr[i] ^ 1 << bit);
        }
    rung_packed_deinit(rung_alloc_heap(), &t.packed);
}

RUNG_TEST_MAIN
