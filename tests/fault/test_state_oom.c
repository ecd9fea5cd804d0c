/* SPDX-License-Identifier: Apache-2.0 */
/* The state when memory runs out, along random histories.
 *
 * Submissions: every allocation of every one of them fails in its turn, once alone and once with all that follow. Each
 * time the answer is RUNG_ENOMEM, the digest is what it was, and at last the same submission succeeds as if nothing had
 * been. Other events: the state is lost and says so for ever, but it can be asked and destroyed, and nothing leaks. */
/* ctest: timeout=180 */
#include "state/state.h"
#include "support/check.h"
#include "support/failalloc.h"
#include "support/history_gen.h"

#include <string.h>

enum { EVENTS_MAX = 220, BATCH_MAX = 16 };

static rung_state *new_state(const rung_alloc *alloc, const history_taste *taste) {
    rung_state_config config = {
        .alloc = alloc, .id_capacity = taste->id_capacity, .id_keep_ms = taste->id_keep_ms};
    rung_state *s = NULL;
    CHECK_OK(rung_state_create(&config, &s));
    return s;
}

static bool same_digest(const rung_state *a, const rung_state *b) {
    rung_digest x = rung_state_digest(a), y = rung_state_digest(b);
    return x.a == y.a && x.b == y.b;
}

/* A history that is small enough to be run again and again. */
static history_gen *small_history(uint64_t *seed) {
    for (;; (*seed)++) {
        history_gen *g = history_gen_create(*seed);
        if (history_gen_taste(g)->player_count <= 50)
            return g;
        history_gen_destroy(g);
    }
}

TEST(creation) {
    for (uint64_t n = 1;; n++) {
        rung_failalloc fa;
        rung_state *s = NULL;
        rung_failalloc_init(&fa);
        rung_failalloc_fail_at(&fa, n, false);
        rung_status st =
            rung_state_create(&(rung_state_config){.alloc = rung_failalloc_port(&fa)}, &s);
        CHECK_STATUS(st, fa.failed_count ? RUNG_ENOMEM : RUNG_OK);
        rung_state_destroy(s);
        rung_failalloc_deinit(&fa);
        if (st == RUNG_OK)
            return;
    }
}

/* ---- submissions ---- */

/* Let the n-th allocation fail, n = 1, 2, ... until the submission gets through. */
static rung_status submit_against_odds(rung_state *s, rung_failalloc *fa, const rung_event *e,
                                       bool is_sticky, uint64_t *refused_count) {
    for (uint64_t n = 1;; n++) {
        rung_digest before = rung_state_digest(s);
        int64_t time = rung_state_time(s);
        uint64_t seq = rung_state_seq(s), failed = fa->failed_count;
        rung_failalloc_fail_at(fa, n, is_sticky);
        rung_status st = rung_state_apply(s, e, NULL, NULL);
        rung_failalloc_fail_at(fa, 0, false);
        if (fa->failed_count == failed)
            return st;
        if (st != RUNG_ENOMEM)
            return st; /* it could do without */
        rung_digest after = rung_state_digest(s);
        CHECK_MSG(before.a == after.a && before.b == after.b,
                  "allocation %" PRIu64 " failed, and something changed", n);
        CHECK_EQ_I64(rung_state_time(s), time);
        CHECK_EQ_U64(rung_state_seq(s), seq);
        if (++*refused_count % 16 == 0)
            CHECK_SOUND(rung_state_check(s));
    }
}

static void run_submissions(uint64_t seed, bool is_sticky) {
    history_gen *g = small_history(&seed);
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    rung_state *s = new_state(rung_failalloc_port(&fa), history_gen_taste(g));
    rung_state *calm = new_state(rung_alloc_heap(), history_gen_taste(g));
    uint64_t refused = 0;
    for (uint32_t i = 0; i < EVENTS_MAX; i++) {
        rung_event e;
        history_gen_next(g, &e);
        rung_status expected = rung_state_apply(calm, &e, NULL, NULL);
        rung_status st = e.kind == RUNG_EVENT_SCORE
                             ? submit_against_odds(s, &fa, &e, is_sticky, &refused)
                             : rung_state_apply(s, &e, NULL, NULL);
        CHECK_MSG(st == expected, "seed %" PRIu64 ", event %u: %s, in calm %s", seed, i,
                  rung_status_name(st), rung_status_name(expected));
        CHECK_MSG(same_digest(s, calm), "seed %" PRIu64 ", event %u: another digest than in calm",
                  seed, i);
    }
    CHECK(refused > 0);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
    rung_state_destroy(calm);
    rung_failalloc_deinit(&fa);
    history_gen_destroy(g);
}

TEST(submissions) {
    uint64_t seed = test_seed(1), rounds = test_steps(200);
    for (uint64_t i = 0; i < rounds; i++)
        run_submissions(seed + i, i % 2);
}

/* A batch stops where memory ran out; the rest, sent again, ends where it would have ended in calm. */
static void run_batches(uint64_t seed) {
    history_gen *g = small_history(&seed);
    static rung_event events[BATCH_MAX];
    const rung_event *list[BATCH_MAX];
    rung_status statuses[BATCH_MAX];
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    rung_state *s = new_state(rung_failalloc_port(&fa), history_gen_taste(g));
    rung_state *calm = new_state(rung_alloc_heap(), history_gen_taste(g));
    for (uint32_t round = 0; round < EVENTS_MAX / BATCH_MAX; round++) {
        uint32_t n = 0, done = 0;
        bool has_other = false;
        while (n < BATCH_MAX && !has_other) {
            history_gen_next(g, &events[n]);
            list[n] = &events[n];
            has_other = events[n++].kind != RUNG_EVENT_SCORE;
        }
        for (uint32_t i = 0; i < n; i++)
            if (rung_state_apply(calm, list[i], NULL, NULL) == RUNG_ENOMEM)
                test_fail(__FILE__, __LINE__, "out of memory in calm");
        for (uint64_t scores = n - has_other, reach = 1; done < scores; reach += 1 + reach / 4) {
            rung_failalloc_fail_at(&fa, reach + rung_rng_below(history_gen_rng(g), reach), false);
            uint32_t got = rung_state_apply_batch(s, (uint32_t)scores - done, list + done, statuses,
                                                  NULL, NULL);
            CHECK(got == scores - done || statuses[got] == RUNG_ENOMEM);
            done += got;
        }
        rung_failalloc_fail_at(&fa, 0, false);
        if (has_other)
            CHECK_EQ_U64(rung_state_apply_batch(s, 1, list + n - 1, statuses, NULL, NULL), 1);
        CHECK_MSG(same_digest(s, calm), "seed %" PRIu64 ", batch %u: another digest than in calm",
                  seed, round);
    }
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
    rung_state_destroy(calm);
    rung_failalloc_deinit(&fa);
    history_gen_destroy(g);
}

TEST(batches) {
    uint64_t seed = test_seed(1), rounds = test_steps(200);
    for (uint64_t i = 0; i < rounds; i++)
        run_batches(seed + i);
}

/* ---- other events ---- */

/* Run the first `count` events in calm and the next with its n-th allocation failing. False: it had fewer. */
static bool lose_at(const history_taste *taste, const rung_event *events, uint32_t count,
                    uint64_t n, bool is_sticky) {
    rung_failalloc fa;
    rung_failalloc_init(&fa);
    rung_state *s = new_state(rung_failalloc_port(&fa), taste);
    for (uint32_t i = 0; i < count; i++)
        CHECK(rung_state_apply(s, &events[i], NULL, NULL) != RUNG_ENOMEM);
    uint64_t failed = fa.failed_count;
    rung_failalloc_fail_at(&fa, n, is_sticky);
    rung_status st = rung_state_apply(s, &events[count], NULL, NULL);
    bool has_failed = fa.failed_count > failed;
    rung_failalloc_fail_at(&fa, 0, false);
    CHECK_MSG(st != RUNG_ENOMEM || has_failed, "out of memory, though no allocation failed");
    if (st == RUNG_ENOMEM) { /* for ever */
        rung_err err = {0};
        CHECK_STATUS(rung_state_apply(s, &events[0], NULL, &err), RUNG_ENOMEM);
        CHECK(err.message[0] != '\0');
        CHECK_STATUS(
            rung_state_apply(s, &(rung_event){.kind = RUNG_EVENT_TICK, .ts_ms = 1}, NULL, NULL),
            RUNG_ENOMEM);
    }
    rung_state_destroy(s);
    rung_failalloc_deinit(&fa);
    return has_failed;
}

TEST(other_events) {
    static rung_event events[EVENTS_MAX];
    uint64_t seed = test_seed(1), rounds = test_steps(25), lost = 0;
    for (uint64_t round = 0; round < rounds; round++, seed++) {
        history_gen *g = small_history(&seed);
        enum { LENGTH = 90 };
        for (uint32_t i = 0; i < LENGTH; i++) {
            history_gen_next(g, &events[i]);
            if (events[i].kind == RUNG_EVENT_SCORE)
                continue;
            for (uint64_t n = 1; lose_at(history_gen_taste(g), events, i, n, (n + round) % 2); n++)
                lost++;
        }
        history_gen_destroy(g);
    }
    CHECK(lost > 100);
}

/* ---- questions ---- */

TEST(friends_and_lists) {
    uint64_t seed = test_seed(1);
    history_gen *g = small_history(&seed);
    const history_taste *taste = history_gen_taste(g);
    rung_state *s = new_state(rung_alloc_heap(), taste);
    rung_row rows[HISTORY_PLAYERS_MAX];
    for (uint32_t i = 0; i < EVENTS_MAX; i++) {
        rung_event e;
        rung_view v;
        uint32_t count, total;
        history_gen_next(g, &e);
        CHECK(rung_state_apply(s, &e, NULL, NULL) != RUNG_ENOMEM);
        if (rung_state_view(s, &(rung_query){.board = taste->boards[0]}, &v, NULL) != RUNG_OK)
            continue;
        for (uint64_t n = 1, failed = 1; failed; n++) {
            rung_failalloc fa;
            rung_failalloc_init(&fa);
            rung_failalloc_fail_at(&fa, n, true);
            const rung_alloc *alloc = rung_failalloc_port(&fa);
            rung_status st =
                i % 2 ? rung_view_friends(&v, alloc, taste->players[0], 0, 50, rows, &count, &total)
                      : rung_view_list(&v, alloc, taste->player_count, taste->players, 0, 50, rows,
                                       &count, &total);
            failed = fa.failed_count;
            CHECK(failed ? st == RUNG_ENOMEM : st != RUNG_ENOMEM);
            rung_failalloc_deinit(&fa);
        }
    }
    rung_state_destroy(s);
    history_gen_destroy(g);
}

RUNG_TEST_MAIN
