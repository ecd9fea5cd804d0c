/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of numbered sources: one effect per offset, however late it comes again. */
#include "state/sources.h"
#include "state/state.h"

#include "support/check.h"
#include "support/failalloc.h"

#include <stdio.h>

#define NOON INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */
#define DAY  INT64_C(86400000)

static rung_state *create(const rung_alloc *alloc) {
    rung_state *s;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = alloc}, &s));
    rung_event e = {
        .kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = NOON, .defined = {.board = RUNG_SLICE("b")}};
    e.defined.def = rung_board_def_default();
    e.defined.def.update = RUNG_UPDATE_SUM;
    e.defined.def.limits = RUNG_LIMIT_MAX;
    e.defined.def.max.i = 100;
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    return s;
}

static rung_event score(const char *source, uint64_t offset, int64_t value, int64_t ts_ms) {
    return (rung_event){.kind = RUNG_EVENT_SCORE,
                        .ts_ms = ts_ms,
                        .score = {.board = RUNG_SLICE("b"),
                                  .player = RUNG_SLICE("ada"),
                                  .value_count = 1,
                                  .values = {{.i = value}},
                                  .source = rung_slice_str(source),
                                  .offset = offset}};
}

static rung_status put(rung_state *s, const char *source, uint64_t offset, int64_t value,
                       int64_t ts_ms) {
    rung_event e = score(source, offset, value, ts_ms);
    return rung_state_apply(s, &e, NULL, NULL);
}

static int64_t total(const rung_state *s) {
    rung_view v;
    rung_row row;
    CHECK_OK(rung_state_view(s, &(rung_query){.board = RUNG_SLICE("b")}, &v, NULL));
    return rung_view_top(&v, 0, 1, &row) ? row.values[0].i : 0;
}

TEST(an_offset_counts_once) {
    rung_state *s = create(rung_alloc_heap());
    rung_outcome out;
    CHECK_OK(put(s, "t/0", 5, 1, NOON));
    rung_event again = score("t/0", 5, 1, NOON + 400 * DAY); /* ids are long forgotten */
    CHECK_STATUS(rung_state_apply(s, &again, &out, NULL), RUNG_DUPLICATE);
    CHECK(out.duplicate && !out.changed);
    CHECK_EQ_U64(out.seq, rung_state_seq(s));
    CHECK_OK(put(s, "t/1", 5, 1, NOON)); /* another source */
    CHECK_OK(put(s, "t/0", 4, 1, NOON)); /* out of order */
    CHECK_STATUS(put(s, "t/0", 4, 1, NOON), RUNG_DUPLICATE);
    CHECK_OK(put(s, "t/0", 6, 1, NOON));
    CHECK_EQ_I64(total(s), 4);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

TEST(what_was_refused_may_come_again) {
    rung_state *s = create(rung_alloc_heap());
    CHECK_STATUS(put(s, "t/0", 1, 1000, NOON), RUNG_EREFUSED);
    CHECK_SOUND(rung_state_check(s)); /* and the source is not known yet */
    CHECK_STATUS(put(s, "t/0", 1, 1000, NOON), RUNG_EREFUSED);
    CHECK_OK(put(s, "t/0", 1, 10, NOON));
    CHECK_STATUS(put(s, "t/0", 1, 1000, NOON), RUNG_DUPLICATE);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

TEST(below_the_window_everything_is_seen) {
    rung_state *s = create(rung_alloc_heap());
    enum { W = RUNG_SOURCE_WINDOW };
    CHECK_OK(put(s, "t/0", 3 * W, 1, NOON)); /* begins late: as if the ones before were answered */
    CHECK_STATUS(put(s, "t/0", 2 * W, 1, NOON), RUNG_DUPLICATE);
    CHECK_OK(put(s, "t/0", 2 * W + 1, 1, NOON));
    CHECK_OK(put(s, "t/0", 3 * W + 1, 1, NOON)); /* pushes that one out */
    CHECK_STATUS(put(s, "t/0", 2 * W + 1, 1, NOON), RUNG_DUPLICATE);
    CHECK_OK(put(s, "t/0", 9 * W, 1, NOON));
    CHECK_STATUS(put(s, "t/0", 3 * W + 1, 1, NOON), RUNG_DUPLICATE);
    CHECK_OK(put(s, "t/0", RUNG_SOURCE_OFFSET_MAX, 1, NOON));
    CHECK_STATUS(put(s, "t/0", RUNG_SOURCE_OFFSET_MAX, 1, NOON), RUNG_DUPLICATE);
    CHECK_EQ_I64(total(s), 5);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

TEST(a_duplicate_by_id_marks_its_offset) {
    rung_state *s = create(rung_alloc_heap());
    rung_event a = score("t/0", 1, 1, NOON), b = score("t/0", 2, 1, NOON);
    a.score.id = b.score.id = RUNG_SLICE("run-1");
    CHECK_OK(rung_state_apply(s, &a, NULL, NULL));
    CHECK_STATUS(rung_state_apply(s, &b, NULL, NULL), RUNG_DUPLICATE);
    b.ts_ms = NOON + 400 * DAY; /* the id is forgotten, the offset is not */
    CHECK_STATUS(rung_state_apply(s, &b, NULL, NULL), RUNG_DUPLICATE);
    CHECK_EQ_I64(total(s), 1);
    rung_state_destroy(s);
}

TEST(there_are_not_too_many_sources) {
    rung_state *s = create(rung_alloc_heap());
    char name[16];
    rung_err err = {0};
    for (unsigned i = 0; i < RUNG__SOURCES_MAX; i++) {
        snprintf(name, sizeof name, "t/%u", i);
        CHECK_OK(put(s, name, 0, 1, NOON));
    }
    rung_event e = score("one/more", 0, 1, NOON);
    CHECK_STATUS(rung_state_apply(s, &e, NULL, &err), RUNG_ELIMIT);
    CHECK_EQ_STR(err.field, "source");
    CHECK_OK(put(s, "t/7", 1, 1, NOON));
    rung_state_destroy(s);
}

TEST(without_memory_nothing_changes) {
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    rung_state *s = create(rung_failalloc_port(&fa));
    CHECK_OK(put(s, "t/0", 0, 1, NOON));
    rung_digest before = rung_state_digest(s);
    rung_status st = RUNG_ENOMEM;
    for (uint64_t n = 1; st == RUNG_ENOMEM; n++) {
        rung_failalloc_fail_at(&fa, n, false);
        st = put(s, "a/source/with/a/name/that/is/new", 3, 1, NOON);
        rung_failalloc_fail_at(&fa, 0, false);
        CHECK_SOUND(rung_state_check(s));
        if (st == RUNG_ENOMEM)
            CHECK_EQ_U64(rung_state_digest(s).a, before.a);
    }
    CHECK_OK(st);
    CHECK_STATUS(put(s, "a/source/with/a/name/that/is/new", 3, 1, NOON), RUNG_DUPLICATE);
    rung_state_destroy(s);
    rung_failalloc_deinit(&fa);
}

RUNG_TEST_MAIN
