/* SPDX-License-Identifier: Apache-2.0 */
/* livekit.h - a state, a clock and a live room for tests of front/live, without sockets.
 *
 *     livekit k;
 *     livekit_start(&k, &(rung_live_config){0});     // alloc, loop, state, clock and rows are filled in
 *     livekit_define(&k, "race", RUNG_WINDOWS_ALL);
 *     livekit_score(&k, "race", "ada", 100);
 *     ...
 *     livekit_stop(&k);
 *
 * Header-only: it uses front_live, which only some tests link. */
#ifndef RUNG_TESTS_LIVEKIT_H
#define RUNG_TESTS_LIVEKIT_H

#include "front/live/live.h"
#include "front/net/uv_loop.h"
#include "support/check.h"
#include "support/failalloc.h"

#include <string.h>

typedef struct livekit {
    rung_failalloc heap; /* of the live room */
    rung_loop *loop;
    rung_state *state;
    rung_live *live;
    int64_t now_ms;
} livekit;

static inline const rung_state *livekit_state(void *ctx) {
    return ((livekit *)ctx)->state;
}

static inline int64_t livekit_now(void *ctx) {
    return ((livekit *)ctx)->now_ms;
}

static inline void livekit_head(void *ctx, rung_json_writer *w, const rung_live_spec *spec,
                                const rung_view *view, uint64_t seq) {
    (void)ctx;
    RUNG_JSON_KEY(w, "board");
    rung_json_write_string(w, spec->board);
    RUNG_JSON_KEY(w, "total");
    rung_json_write_uint(w, view->total);
    RUNG_JSON_KEY(w, "seq");
    rung_json_write_uint(w, seq);
}

static inline void livekit_row(void *ctx, rung_json_writer *w, const rung_live_spec *spec,
                               const rung_view *view, const rung_row *row, uint32_t place,
                               bool among) {
    (void)ctx;
    (void)spec;
    (void)view;
    rung_json_open_object(w);
    RUNG_JSON_KEY(w, "place");
    rung_json_write_uint(w, place);
    RUNG_JSON_KEY(w, "rank");
    rung_json_write_uint(w, among ? row->list_rank : row->rank);
    RUNG_JSON_KEY(w, "player");
    rung_json_write_string(w, row->id);
    RUNG_JSON_KEY(w, "score");
    rung_json_write_int(w, row->values[0].i);
    rung_json_close_object(w);
}

static inline void livekit_start(livekit *k, const rung_live_config *config) {
    rung_live_config c = *config;
    memset(k, 0, sizeof *k);
    rung_failalloc_init(&k->heap);
    k->now_ms = INT64_C(1800000000000);
    CHECK_OK(rung_uv_loop_create(rung_alloc_heap(), &k->loop, NULL));
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &k->state));
    c.alloc = rung_failalloc_port(&k->heap);
    c.loop = k->loop;
    c.state = livekit_state;
    c.now_ms = livekit_now;
    c.write_head = livekit_head;
    c.write_row = livekit_row;
    c.ctx = k;
    CHECK_OK(rung_live_create(&c, &k->live, NULL));
}

static inline void livekit_stop(livekit *k) {
    rung_live_stop(k->live);
    rung_live_destroy(k->live);
    rung_uv_loop_destroy(k->loop);
    rung_state_destroy(k->state);
    rung_failalloc_deinit(&k->heap);
}

static inline rung_status livekit_apply(livekit *k, rung_event *e) {
    e->ts_ms = ++k->now_ms;
    return rung_state_apply(k->state, e, NULL, NULL);
}

static inline void livekit_define(livekit *k, const char *board, uint32_t windows) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED};
    e.defined.board = rung_slice_str(board);
    e.defined.def = rung_board_def_default();
    e.defined.def.windows = windows;
    CHECK(livekit_apply(k, &e) >= 0);
}

static inline void livekit_score(livekit *k, const char *board, const char *player, int64_t score) {
    rung_event e = {.kind = RUNG_EVENT_SCORE};
    e.score.board = rung_slice_str(board);
    e.score.player = rung_slice_str(player);
    e.score.value_count = 1;
    e.score.values[0].i = score;
    CHECK(livekit_apply(k, &e) >= 0);
}

static inline void livekit_player_event(livekit *k, rung_event_kind kind, const char *player) {
    rung_event e = {.kind = kind};
    if (kind == RUNG_EVENT_BANNED || kind == RUNG_EVENT_UNBANNED)
        e.ban.player = rung_slice_str(player);
    else
        e.erased.player = rung_slice_str(player);
    rung_ignore(livekit_apply(k, &e), "who is not there is not changed");
}

#endif
