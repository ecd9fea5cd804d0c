/* SPDX-License-Identifier: Apache-2.0 */
/* Packing a ranking and reading it again; damaged bytes are refused, never followed. */
#include "archive/closed_window.h"
#include "support/archive_load.h"
#include "support/check.h"

#include <stdlib.h>

typedef struct taken {
    rung_buffer packed;
    uint32_t total;
    rung_row rows[64];
    char names[64][16];
} taken;

static void take(void *ctx, rung_slice board, const rung_view *view) {
    taken *t = ctx;
    if (t->packed.data)
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
    CHECK_OK(rung_state_create(
        &(rung_state_config){.alloc = rung_alloc_heap(), .on_close = take, .on_close_ctx = t}, &s));
    for (uint64_t seq = 1; seq <= 50; seq++)
        rung_ignore(rung_state_apply(s, archive_load_event(&load, seq), NULL, NULL),
                    "whatever it says");
    rung_state_destroy(s);
    CHECK(t->packed.data && t->total > 10);
}

TEST(what_was_packed_is_read) {
    static taken t;
    rung_packed_reader r;
    rung_archive_row row;
    rung_err err;
    take_an_hour(&t);
    CHECK_OK(rung_packed_open(rung_slice_of(t.packed.data, t.packed.len), &r, &err));
    CHECK_EQ_U64(r.window.closed_seq, 50);
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
    rung_buffer_deinit(&t.packed);
}

static void take_packed(void *ctx, rung_slice board, const rung_view *view) {
    CHECK_OK(rung_closed_window_pack(rung_alloc_heap(), board, view, ctx));
}

/* A day of four players: two in FI, one in SE who has been banned since and moved, one nowhere. */
static void take_a_day_with_scopes(rung_buffer *out) {
    static const char *const names[] = {"p0", "p1", "p2", "p3"}, *const places[] = {"FI", "SE",
                                                                                    NULL, "FI"};
    const int64_t t0 = INT64_C(1763164800000);
    rung_state *s;
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.scope_count = 1;
    def.scopes[0] = RUNG_SLICE("country");
    def.has_teams = true;
    def.team_by = RUNG_SLICE("guild");
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap(),
                                                    .on_close = take_packed,
                                                    .on_close_ctx = out},
                               &s));
    rung_event e = archive_event_define("b", &def, t0);
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    for (int i = 0; i < 4; i++) {
        e = archive_event_profile(names[i], "country", places[i] ? places[i] : "FI", t0);
        e.profile.count = places[i] ? 1 : 0;
        CHECK(rung_state_apply(s, &e, NULL, NULL) >= 0);
        e = archive_event_score("b", names[i], 10 - i, t0);
        CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    }
    e = archive_event_ban("p1", true, t0);
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    e = archive_event_profile("p1", "country", "DE", t0);
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    e = archive_event_tick(t0 + INT64_C(86400000));
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    rung_state_destroy(s);
}

TEST(scopes_come_with_the_rows) {
    static const char *const places[] = {"FI", "SE", "", "FI"};
    rung_buffer packed = {0};
    rung_packed_reader r;
    rung_archive_row row;
    rung_err err;
    take_a_day_with_scopes(&packed);
    CHECK_OK(rung_packed_open(rung_slice_of(packed.data, packed.len), &r, &err));
    CHECK_EQ_U64(r.slot_count, 2);
    CHECK(rung_slice_eq(r.attributes[0], RUNG_SLICE("country")));
    CHECK(rung_slice_eq(r.attributes[1], RUNG_SLICE("guild")));
    for (int i = 0; i < 4; i++) {
        CHECK_OK(rung_packed_next(&r, &row, &err));
        CHECK(rung_slice_eq(r.scope_values[0], rung_slice_str(places[i])));
        CHECK_EQ_U64(r.scope_values[1].len, 0);
        CHECK_EQ_U64(row.hidden, i == 1 ? RUNG_HIDDEN_BANNED : 0);
    }
    CHECK_STATUS(rung_packed_next(&r, &row, &err), RUNG_NOT_FOUND);
    rung_buffer_deinit(&packed);
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

static void damage(rung_buffer *p) {
    CHECK_STATUS(read_all(p->data, p->len), RUNG_NOT_FOUND);
    for (size_t len = 0; len < p->len; len++)
        CHECK_STATUS(read_all(p->data, len), RUNG_ECORRUPT);
    for (size_t i = 0; i < p->len; i++)
        for (int bit = 0; bit < 8; bit++) {
            p->data[i] = (char)(p->data[i] ^ 1 << bit);
            rung_status st = read_all(p->data, p->len);
            CHECK(st == RUNG_ECORRUPT ||
                  st == RUNG_NOT_FOUND); /* some flips give another valid ranking */
            p->data[i] = (char)(p->data[i] ^ 1 << bit);
        }
}

TEST(damaged_bytes_are_refused) {
    static taken t;
    rung_buffer with_scopes = {0};
    take_an_hour(&t);
    damage(&t.packed);
    rung_buffer_deinit(&t.packed);
    take_a_day_with_scopes(&with_scopes);
    damage(&with_scopes);
    rung_buffer_deinit(&with_scopes);
}

RUNG_TEST_MAIN
