/* SPDX-License-Identifier: Apache-2.0 */
/* Keys when memory runs out. A single member: the answer is RUNG_ENOMEM, nothing changed, and at last the same
 * submission succeeds as if nothing had been, be it that it makes the key. Commands: the state is lost and says so,
 * but can be asked and destroyed, and nothing leaks. */
/* ctest: timeout=180 */
#include "state/keyspace/keys.h"
#include "support/check.h"
#include "support/event_gen.h"
#include "support/failalloc.h"

#include <stdlib.h>
#include <string.h>

static rung_state *new_state(rung_failalloc *fa) {
    rung_state *s = NULL;
    rung_failalloc_init(fa);
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_failalloc_port(fa)}, &s));
    return s;
}

static event_gen *new_gen(uint64_t seed) {
    event_gen *g = malloc(sizeof *g);
    CHECK(g);
    event_gen_init(g, seed);
    g->board_count = 4;
    g->player_count = 12;
    return g;
}

/* Times run on, so that keys end now and then. */
static void next_event(event_gen *g, uint32_t i, rung_event *e) {
    static const rung_event_kind kinds[] = {RUNG_EVENT_KEYS,    RUNG_EVENT_SCORE, RUNG_EVENT_KEYS,
                                            RUNG_EVENT_BANNED,  RUNG_EVENT_KEYS,  RUNG_EVENT_SCORE,
                                            RUNG_EVENT_UNBANNED};
    event_gen_make(g, kinds[i % 7], e);
    e->ts_ms = INT64_C(1763337600000) + (int64_t)i * 10000000;
    if (e->kind != RUNG_EVENT_SCORE)
        return;
    e->score.when = RUNG_SCORE_KEY;
    e->score.id = e->score.meta = (rung_slice){NULL, 0};
    e->score.has_at = false;
    e->score.at_ms = 0;
    e->score.value_count = 1;
    e->score.types[0] = RUNG_SCORE_REAL;
    e->score.decimals[0] = 0;
    e->score.values[0].d = (double)(i % 5);
}

static void score_against_odds(rung_state *s, rung_failalloc *fa, const rung_event *e) {
    rung_event tick = {.kind = RUNG_EVENT_TICK, .ts_ms = e->ts_ms};
    CHECK(rung_state_apply(s, &tick, NULL, NULL) >=
          0); /* what is over goes now, and not with the score */
    for (uint64_t n = 1;; n++) {
        rung_digest before = rung_state_digest(s);
        uint64_t failed = fa->failed_count;
        rung_failalloc_fail_at(fa, n, n % 2);
        rung_status st = rung_state_apply(s, e, NULL, NULL);
        rung_failalloc_fail_at(fa, 0, false);
        if (fa->failed_count == failed || st != RUNG_ENOMEM)
            return;
        rung_digest after = rung_state_digest(s);
        CHECK_MSG(before.a == after.a && before.b == after.b,
                  "allocation %" PRIu64 " failed, and something changed", n);
        CHECK_SOUND(rung_state_check(s));
    }
}

TEST(single_members) {
    for (uint64_t seed = 1; seed <= 40; seed++) {
        rung_failalloc fa;
        rung_state *s = new_state(&fa);
        event_gen *g = new_gen(test_seed(seed));
        for (uint32_t i = 0; i < 70; i++) {
            static rung_event e;
            next_event(g, i, &e);
            if (e.kind == RUNG_EVENT_SCORE)
                score_against_odds(s, &fa, &e);
            else
                CHECK(rung_state_apply(s, &e, NULL, NULL) != RUNG_ENOMEM);
        }
        CHECK_SOUND(rung_state_check(s));
        rung_state_destroy(s);
        rung_failalloc_deinit(&fa);
        free(g);
    }
}

/* The first `count` events in calm, the next with its n-th allocation failing. False: it had fewer. */
static bool lose_at(uint64_t seed, uint32_t count, uint64_t n) {
    static rung_event e;
    rung_failalloc fa;
    rung_state *s = new_state(&fa);
    event_gen *g = new_gen(seed);
    for (uint32_t i = 0; i < count; i++) {
        next_event(g, i, &e);
        CHECK(rung_state_apply(s, &e, NULL, NULL) != RUNG_ENOMEM);
    }
    next_event(g, count, &e);
    rung_failalloc_fail_at(&fa, n, n % 3 == 0);
    uint64_t failed = fa.failed_count;
    rung_status st = rung_state_apply(s, &e, NULL, NULL);
    bool has_failed = fa.failed_count > failed;
    rung_failalloc_fail_at(&fa, 0, false);
    CHECK(st != RUNG_ENOMEM || has_failed);
    if (st == RUNG_ENOMEM && e.kind == RUNG_EVENT_KEYS)
        CHECK_STATUS(rung_state_apply(s, &e, NULL, NULL), RUNG_ENOMEM);
    rung_zkey k;
    rung_zkey_row rows[16];
    rung_zkey_open(s, RUNG_SLICE("board-0"), e.ts_ms, &k);
    rung_zkey_rows(&k, 0, 16, true, rows);
    rung_state_destroy(s);
    rung_failalloc_deinit(&fa);
    free(g);
    return has_failed;
}

TEST(commands) {
    for (uint64_t seed = 1; seed <= 12; seed++)
        for (uint32_t count = 0; count < 40; count++)
            for (uint64_t n = 1; lose_at(test_seed(seed), count, n); n++)
                continue;
}

/* Questions that need memory say so, too. */
TEST(combinations) {
    rung_failalloc fa, calm;
    rung_state *s = new_state(&calm);
    event_gen *g = new_gen(7);
    static rung_event e;
    for (uint32_t i = 0; i < 60; i++) {
        next_event(g, i, &e);
        CHECK(rung_state_apply(s, &e, NULL, NULL) != RUNG_ENOMEM);
    }
    rung_zkey keys[4];
    const char *const names[] = {"board-0", "board-1", "board-2", "board-3"};
    for (int i = 0; i < 4; i++)
        rung_zkey_open(s, rung_slice_str(names[i]), e.ts_ms, &keys[i]);
    for (int combine = 0; combine < 3; combine++)
        for (uint64_t n = 1;; n++) {
            rung_zkey_list list = {0};
            rung_failalloc_init(&fa);
            rung_failalloc_fail_at(&fa, n, false);
            rung_status st =
                rung_zkeys_combine(rung_failalloc_port(&fa), (rung_combine_keys)combine,
                                   RUNG_AGGREGATE_SUM, 4, keys, NULL, UINT32_MAX, &list);
            CHECK_STATUS(st, fa.failed_count ? RUNG_ENOMEM : RUNG_OK);
            rung_zkey_list_free(&list);
            rung_failalloc_deinit(&fa);
            if (st == RUNG_OK)
                break;
        }
    rung_state_destroy(s);
    rung_failalloc_deinit(&calm);
    free(g);
}

RUNG_TEST_MAIN
