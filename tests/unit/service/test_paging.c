/* SPDX-License-Identifier: Apache-2.0 */
/* Holds as a service: tokens, shares of the room, and what is let go when. */
#include "service/paging.h"

#include "support/check.h"
#include "support/failalloc.h"

#include <stdio.h>
#include <string.h>

#define NOON INT64_C(1794744000000)

static void submit(rung_state *s, uint32_t player, int64_t score) {
    char name[16];
    rung_event e = {.kind = RUNG_EVENT_SCORE, .ts_ms = NOON};
    snprintf(name, sizeof name, "p%u", player);
    e.score = (rung_score_event){.board = RUNG_SLICE("b"),
                                 .player = rung_slice_str(name),
                                 .value_count = 1,
                                 .values = {{.i = score}}};
    CHECK(rung_state_apply(s, &e, NULL, NULL) >= 0);
}

static rung_state *create(uint32_t players) {
    rung_state *s;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s));
    rung_event e = {
        .kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = NOON, .defined = {.board = RUNG_SLICE("b")}};
    e.defined.def = rung_board_def_default();
    e.defined.def.update = RUNG_UPDATE_LAST;
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    for (uint32_t i = 0; i < players; i++)
        submit(s, i, i);
    return s;
}

static rung_view view_of(const rung_state *s) {
    rung_view v;
    CHECK_OK(rung_state_view(s, &(rung_query){.board = RUNG_SLICE("b")}, &v, NULL));
    return v;
}

static rung_paging *paging(void) {
    rung_paging *p;
    CHECK_OK(rung_paging_create(rung_alloc_heap(), NULL, &p, NULL));
    return p;
}

TEST(a_token_names_a_place_and_nothing_else_does) {
    rung_state *s = create(10);
    rung_paging *p = paging(), *other = paging();
    rung_view v = view_of(s);
    rung_paged first, found;
    rung_row rows[10];
    bool is_more;
    char token[RUNG_PAGING_TOKEN_SIZE];
    rung_err err;
    CHECK_OK(rung_paging_begin(p, &v, 1, 0, &first, NULL));
    CHECK_EQ_U64(rung_hold_rows(first.hold, &first.place, 4, rows, &is_more), 4);
    CHECK(is_more);
    rung_paging_token(p, &first, token);
    rung_slice text = rung_slice_of(token, sizeof token);
    for (int64_t now_ms = 1; now_ms < 3; now_ms++) {
        CHECK_OK(rung_paging_find(p, text, now_ms, &found, NULL));
        CHECK_EQ_U64(rung_hold_rows(found.hold, &found.place, 10, rows, &is_more), 6);
        CHECK(!is_more && rows[0].rank == 5 && rows[5].rank == 10);
    }
    CHECK_STATUS(rung_paging_find(other, text, 1, &found, &err), RUNG_EABSENT);
    CHECK_EQ_U64(err.reason, RUNG_REASON_PAGE_EXPIRED);
    CHECK_EQ_STR(err.field, "page");
    for (size_t i = 0; i < sizeof token; i++) {
        char was = token[i];
        for (uint32_t bit = 0; bit < 7; bit++) {
            token[i] = (char)(was ^ 1 << bit);
            CHECK(rung_paging_find(p, text, 1, &found, NULL) < 0);
        }
        token[i] = was;
    }
    for (size_t len = 0; len < sizeof token; len++)
        CHECK_STATUS(rung_paging_find(p, rung_slice_of(token, len), 1, &found, NULL), RUNG_EINVAL);
    CHECK_OK(rung_paging_find(p, text, 1, &found, NULL));
    rung_paging_destroy(p);
    rung_paging_destroy(other);
    rung_state_destroy(s);
}

TEST(senders_share_the_room) {
    rung_state *s = create(3);
    rung_paging *p = paging();
    rung_view v = view_of(s);
    rung_paged paged, first;
    rung_err err;
    for (int i = 0; i < RUNG_PAGING_MAX / 2; i++)
        CHECK_OK(rung_paging_begin(p, &v, 7, i, i ? &paged : &first, NULL));
    CHECK_STATUS(rung_paging_begin(p, &v, 7, 40, &paged, &err), RUNG_ELIMIT);
    CHECK_EQ_U64(err.reason, RUNG_REASON_OVERLOADED);
    CHECK_OK(rung_paging_begin(p, &v, 8, 40, &paged, NULL));
    rung_paging_done(p, &first); /* what was read to its end makes room */
    CHECK_OK(rung_paging_begin(p, &v, 7, 40, &paged, NULL));
    CHECK_STATUS(rung_paging_begin(p, &v, 7, 40, &paged, NULL), RUNG_ELIMIT);
    CHECK_EQ_U64(rung_paging_sweep(p, RUNG_PAGING_IDLE_MS), RUNG_PAGING_MAX / 2 + 1);
    CHECK_EQ_U64(rung_paging_sweep(p, RUNG_PAGING_IDLE_MS + 39), 2);
    CHECK_EQ_U64(rung_paging_sweep(p, RUNG_PAGING_IDLE_MS + 40), 0);
    CHECK_OK(rung_paging_begin(p, &v, 7, RUNG_PAGING_IDLE_MS + 40, &paged, NULL));
    rung_state_destroy(s);
    CHECK_EQ_U64(rung_paging_sweep(p, RUNG_PAGING_IDLE_MS + 40), 0);
    rung_paging_destroy(p);
}

TEST(a_ranking_that_changes_too_much_is_let_go) {
    rung_state *s = create(RUNG_PAGING_NOTES_EACH + 1);
    rung_paging *p = paging();
    rung_view v = view_of(s);
    rung_paged paged[5];
    char token[RUNG_PAGING_TOKEN_SIZE];
    for (uint32_t i = 0; i < 5; i++)
        CHECK_OK(rung_paging_begin(p, &v, 0, 0, &paged[i], NULL));
    rung_paging_token(p, &paged[0], token);
    for (uint32_t i = 0; i < RUNG_PAGING_NOTES_EACH; i++)
        submit(s, i, -1);
    CHECK_EQ_U64(rung_hold_notes(paged[0].hold), RUNG_PAGING_NOTES_EACH);
    CHECK_EQ_U64(rung_paging_sweep(p, 0), 4); /* all together noted too much */
    submit(s, RUNG_PAGING_NOTES_EACH, -1);
    CHECK_EQ_U64(rung_paging_sweep(p, 0), 0); /* and now each of them */
    CHECK_STATUS(rung_paging_find(p, rung_slice_of(token, sizeof token), 0, &paged[0], NULL),
                 RUNG_EABSENT);
    rung_paging_destroy(p);
    rung_state_destroy(s);
}

/* Without memory a hold ends; apply goes on. */
TEST(no_memory_ends_the_hold) {
    for (uint64_t n = 1; n < 60; n++) {
        rung_failalloc fa;
        rung_failalloc_init(&fa);
        rung_state *s;
        CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_failalloc_port(&fa)}, &s));
        rung_event e = {
            .kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = NOON, .defined = {.board = RUNG_SLICE("b")}};
        e.defined.def = rung_board_def_default();
        CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
        for (uint32_t i = 0; i < 40; i++)
            submit(s, i, i);
        rung_view v = view_of(s);
        rung_hold *h = NULL;
        rung_failalloc_fail_at(&fa, n, true);
        if (rung_hold_create(&v, 100, &h, NULL) == RUNG_OK)
            for (uint32_t i = 0; i < 40; i++) {
                rung_event r = {.kind = RUNG_EVENT_ENTRY_REMOVED, .ts_ms = NOON};
                char name[16];
                snprintf(name, sizeof name, "p%u", i);
                r.removed.board = RUNG_SLICE("b");
                r.removed.player = rung_slice_str(name);
                CHECK_OK(rung_state_apply(s, &r, NULL, NULL));
            }
        rung_hold_destroy(h);
        CHECK_SOUND(rung_state_check(s));
        rung_state_destroy(s);
        rung_failalloc_deinit(&fa);
    }
}

RUNG_TEST_MAIN
