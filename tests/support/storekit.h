/* SPDX-License-Identifier: Apache-2.0 */
/* storekit.h - a known history for tests of stores: event k is always the same event at the same
 * time, so that the state after k events has one digest, whoever applied them and in how many
 * lives.
 *
 * Event 1 defines a board (sums, with day windows); every other one adds a point under an id of
 * its own. Once a day passes, and the engine puts a tick: ticks are events of the history too,
 * and storekit_next() knows. Inline: only tests that link the rooms may use it. */
#ifndef RUNG_TESTS_STOREKIT_H
#define RUNG_TESTS_STOREKIT_H

#include "service/engine.h"
#include "service/store.h"
#include "support/check.h"

#include <stdio.h>

#define STOREKIT_NOON  INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */
#define STOREKIT_BOARD RUNG_SLICE("race")

typedef struct storekit {
    rung_store *store;
    rung_state *state;
    rung_engine *engine;
    int64_t now_ms;
} storekit;

static inline int64_t storekit_now(void *ctx) {
    return ((storekit *)ctx)->now_ms;
}

/* An engine over the kit's state, and over its store where there is one. */
static inline rung_status storekit_start(storekit *k, const rung_alloc *alloc, rung_err *err) {
    rung_engine_config config = {.alloc = alloc,
                                 .clock = {storekit_now, k},
                                 .state = k->state,
                                 .log = k->store ? rung_store_log(k->store) : NULL};
    return rung_engine_create(&config, &k->engine, err);
}

/* Submit the event that comes next after the state's. The time follows from the sequence alone. */
static inline rung_status storekit_next(storekit *k, rung_err *err) {
    uint64_t seq = rung_state_seq(k->state) + 1;
    char id[32], player[32];
    rung_event event;
    k->now_ms = STOREKIT_NOON + (int64_t)seq * 3600000;
    if (seq == 1) {
        event =
            (rung_event){.kind = RUNG_EVENT_BOARD_DEFINED, .defined = {.board = STOREKIT_BOARD}};
        event.defined.def = rung_board_def_default();
        event.defined.def.update = RUNG_UPDATE_SUM;
        event.defined.def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    } else {
        snprintf(id, sizeof id, "id-%llu", (unsigned long long)seq);
        snprintf(player, sizeof player, "player-%llu", (unsigned long long)(seq % 7));
        event = (rung_event){.kind = RUNG_EVENT_SCORE,
                             .score = {.board = STOREKIT_BOARD,
                                       .player = rung_slice_str(player),
                                       .value_count = 1,
                                       .values = {{.i = 1}},
                                       .id = rung_slice_str(id)}};
    }
    return rung_engine_submit(k->engine, &event, NULL, err);
}

static inline rung_status storekit_close(storekit *k, rung_err *err) {
    rung_engine_destroy(k->engine);
    rung_status st = rung_store_close(k->store, err);
    rung_state_destroy(k->state);
    *k = (storekit){0};
    return st;
}

static inline rung_status storekit_open(storekit *k, const rung_store_config *config,
                                        rung_err *err) {
    *k = (storekit){0};
    rung_status st = rung_store_open(config, &k->store, &k->state, err);
    if (st == RUNG_OK)
        st = storekit_start(k, config->alloc, err);
    if (st < 0)
        rung_ignore(storekit_close(k, NULL), "the failure to open is the one to tell");
    return st;
}

/* The state is what the same history gives in memory. */
static inline void storekit_check(const storekit *k) {
    storekit reference = {0};
    rung_err err;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &reference.state));
    CHECK_OK(storekit_start(&reference, rung_alloc_heap(), &err));
    while (rung_state_seq(reference.state) < rung_state_seq(k->state))
        CHECK_OK(storekit_next(&reference, &err));
    CHECK_EQ_U64(rung_state_seq(reference.state), rung_state_seq(k->state));
    rung_digest a = rung_state_digest(reference.state), b = rung_state_digest(k->state);
    CHECK_EQ_U64(a.a, b.a);
    CHECK_EQ_U64(a.b, b.b);
    CHECK_SOUND(rung_state_check(k->state));
    CHECK_OK(storekit_close(&reference, NULL));
}

#endif
