/* SPDX-License-Identifier: Apache-2.0 */
/* storekit.h - a known history for tests of stores: event k is always the same event at the same
 * time, so that the state after k events has one digest, whoever applied them and in how many
 * lives.
 *
 * Event 1 defines a board (sums, with day windows); every other one adds a point under an id of
 * its own. Once a day passes, and the commit line puts a tick: ticks are events of the history too,
 * and storekit_next() knows. Inline: only tests that link the rooms may use it. */
#ifndef RUNG_TESTS_STOREKIT_H
#define RUNG_TESTS_STOREKIT_H

#include "journal/memory_log.h"
#include "service/commit.h"
#include "service/store.h"
#include "support/check.h"

#include <stdio.h>

#define STOREKIT_NOON  INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */
#define STOREKIT_BOARD RUNG_SLICE("race")

typedef struct storekit {
    rung_store *store;
    rung_state *state;
    rung_log *log; /* the store's, or one in memory */
    rung_log_time time;
    rung_commit *commit;
    int64_t now_ms;
} storekit;

static inline int64_t storekit_now(void *ctx) {
    return ((storekit *)ctx)->now_ms;
}

/* A commit line over the kit's state, and over its store where there is one. */
static inline rung_status storekit_start(storekit *k, const rung_alloc *alloc, rung_err *err) {
    rung_clock clock = {.now_ms = storekit_now, .ctx = k};
    rung_status st = RUNG_OK;
    rung_log_time_init(&k->time, &clock, 0, NULL, NULL, NULL);
    if (k->store)
        k->log = rung_store_log(k->store);
    else
        st = rung_memory_log_create(alloc, 64, &k->log, err);
    rung_commit_config config = {.alloc = alloc,
                                 .state = k->state,
                                 .log = k->log,
                                 .is_kept = k->store != NULL,
                                 .time = &k->time,
                                 .waiting_max = 16,
                                 .bytes_max = (size_t)1 << 20};
    return st < 0 ? st : rung_commit_create(&config, &k->commit, err);
}

typedef struct storekit_answer {
    rung_status st;
    rung_err *err;
} storekit_answer;

static inline void storekit_take_answer(void *ctx, rung_status st, const rung_outcome *outcome,
                                        const rung_err *err) {
    storekit_answer *a = ctx;
    (void)outcome;
    a->st = st;
    if (st < 0)
        *a->err = *err;
}

/* One event, and wait for its answer. */
static inline rung_status storekit_submit(storekit *k, rung_event *event, rung_err *err) {
    storekit_answer a = {.err = err};
    rung_status st = rung_commit_put(k->commit, (rung_hub_sender){0}, event, NULL,
                                     storekit_take_answer, &a, err);
    if (st < 0)
        return st;
    while (!rung_commit_is_idle(k->commit)) {
        rung_commit_propose(k->commit);
        rung_log_await(k->log);
        rung_commit_work(k->commit, true, UINT32_MAX);
    }
    return a.st;
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
    return storekit_submit(k, &event, err);
}

static inline rung_status storekit_close(storekit *k, rung_err *err) {
    rung_status st = k->store ? rung_store_close(k->store, err) : rung_log_close(k->log, err);
    rung_commit_destroy(k->commit);
    rung_state_destroy(k->state);
    *k = (storekit){0};
    return st;
}

static inline rung_status storekit_open(storekit *k, const rung_store_config *config,
                                        rung_err *err) {
    rung_store_config with_inline_log = *config;
    with_inline_log.writer.is_inline = true;
    *k = (storekit){0};
    rung_status st = rung_store_open(&with_inline_log, &k->store, &k->state, err);
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
