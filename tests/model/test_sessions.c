/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions and nonces against a brute-force model, which keeps every session that ever began and every nonce that took
 * effect: sessions begin, are ended, expire and push each other out; submissions come in and out of order, repeated,
 * late and early, for the wrong player, on a closed board, and refused by a limit. Now and then the state is saved and
 * loaded. A second state that gets the same events has the same digest. */
#include "state/image/save.h"
#include "state/state.h"
#include "support/check.h"
#include "support/rng.h"
#include "support/state_bytes.h"

#include <stdio.h>
#include <string.h>

enum { PLAYERS = 5, STEPS = 6000, SESSIONS = 2000, NONCES = STEPS };
#define NOON INT64_C(1763208000000)

typedef struct model_session {
    char id[RUNG_SESSION_ID_SIZE + 1];
    uint32_t player;
    int64_t expires_ms, window_ms;
    bool is_ended;
    uint32_t nonce_count;
    uint64_t nonces[NONCES]; /* all that took effect */
} model_session;

static rung_rng rng;
static model_session sessions[SESSIONS];
static uint32_t session_count;
static uint64_t seen[8]; /* by kind of answer */
static const rung_slice players[PLAYERS] = {
    {"ada", 3}, {"bob", 3}, {"cyd", 3}, {"dan", 3}, {"eve", 3}};

static int64_t between(int64_t low, int64_t high) {
    return low + (int64_t)rung_rng_below(&rng, (uint64_t)(high - low + 1));
}

static bool is_live(const model_session *m, int64_t now_ms) {
    return !m->is_ended && m->expires_ms > now_ms;
}

/* The n-th highest nonce that took effect. */
static uint64_t nth_highest(const model_session *m, uint32_t n) {
    for (uint32_t i = 0; i < m->nonce_count; i++) {
        uint32_t higher = 0;
        for (uint32_t k = 0; k < m->nonce_count; k++)
            higher += m->nonces[k] > m->nonces[i];
        if (higher == n - 1)
            return m->nonces[i];
    }
    return 0;
}

static bool is_used(const model_session *m, uint64_t nonce) {
    for (uint32_t i = 0; i < m->nonce_count; i++)
        if (m->nonces[i] == nonce)
            return true;
    return m->nonce_count >= RUNG_SESSION_NONCES && nonce < nth_highest(m, RUNG_SESSION_NONCES);
}

/* What must come of a signed score, but for what the board says to it. */
static rung_reason expected(const model_session *m, const rung_score_event *e, int64_t now_ms) {
    if (!m || !is_live(m, now_ms))
        return RUNG_REASON_EXPIRED;
    if (!rung_slice_eq(e->player, players[m->player]))
        return RUNG_REASON_SIGNATURE;
    if (rung_slice_eq(e->board, RUNG_SLICE("closed")))
        return RUNG_REASON_FORBIDDEN;
    if (e->signed_ms < now_ms - m->window_ms || e->signed_ms > now_ms + m->window_ms)
        return RUNG_REASON_EXPIRED;
    return is_used(m, e->nonce) ? RUNG_REASON_REPLAYED : RUNG_REASON_NONE;
}

static void model_begin(const rung_event *e, uint32_t player, int64_t now_ms) {
    model_session *oldest = NULL;
    uint32_t live = 0;
    for (uint32_t i = 0; i < session_count; i++)
        if (sessions[i].player == player && is_live(&sessions[i], now_ms)) {
            oldest = oldest ? oldest : &sessions[i];
            live++;
        }
    if (live == RUNG_SESSIONS_PER_PLAYER)
        oldest->is_ended = true;
    model_session *m = &sessions[session_count++];
    *m = (model_session){
        .player = player, .expires_ms = e->session.expires_ms, .window_ms = e->session.window_ms};
    memcpy(m->id, e->session.id.ptr, RUNG_SESSION_ID_SIZE);
}

static void begin_one(rung_state *s, rung_state *twin, int64_t now_ms) {
    char id[RUNG_SESSION_ID_SIZE + 1];
    uint32_t player = (uint32_t)between(0, PLAYERS - 1);
    snprintf(id, sizeof id, "session_%014u", session_count);
    rung_event e = {.kind = RUNG_EVENT_SESSION, .ts_ms = now_ms};
    e.session.id = rung_slice_of(id, RUNG_SESSION_ID_SIZE);
    e.session.player = players[player];
    e.session.key = RUNG_SLICE("master");
    e.session.expires_ms = now_ms + between(-1, 400000);
    e.session.window_ms = between(1, 60000);
    bool is_good = e.session.expires_ms > now_ms;
    rung_status st = rung_state_apply(s, &e, NULL, NULL);
    CHECK_STATUS(st, is_good ? RUNG_OK : RUNG_EINVAL);
    CHECK_STATUS(rung_state_apply(twin, &e, NULL, NULL), st);
    if (is_good)
        model_begin(&e, player, now_ms);
}

static void end_some(rung_state *s, rung_state *twin, int64_t now_ms) {
    rung_event e = {.kind = RUNG_EVENT_SESSION, .ts_ms = now_ms};
    bool is_changed = false;
    uint32_t one = (uint32_t)between(0, session_count ? session_count - 1 : 0);
    uint32_t player = (uint32_t)between(0, PLAYERS - 1);
    bool is_one = session_count && between(0, 3);
    bool is_erased = !is_one && between(0, 2) == 0;
    for (uint32_t i = 0; i < session_count; i++)
        if ((is_one ? i == one : sessions[i].player == player) && is_live(&sessions[i], now_ms))
            is_changed = sessions[i].is_ended = true;
    if (is_erased) {
        e.kind = RUNG_EVENT_PLAYER_ERASED;
        e.erased.player = players[player];
    } else {
        e.session.is_ended = true;
        if (is_one)
            e.session.id = rung_slice_of(sessions[one].id, RUNG_SESSION_ID_SIZE);
        else
            e.session.player = players[player];
    }
    rung_status st = rung_state_apply(s, &e, NULL, NULL);
    if (!is_erased)
        CHECK_STATUS(st, is_changed ? RUNG_OK : RUNG_UNCHANGED);
    else
        CHECK(st == RUNG_OK || (st == RUNG_EABSENT && !is_changed));
    CHECK_STATUS(rung_state_apply(twin, &e, NULL, NULL), st);
}

static uint64_t any_nonce(const model_session *m) {
    uint64_t highest = m && m->nonce_count ? nth_highest(m, 1) : 0;
    switch (between(0, 5)) {
    case 0:
        return m && m->nonce_count ? m->nonces[between(0, m->nonce_count - 1)] : 1;
    case 1:
        return highest > 30 ? highest - (uint64_t)between(0, 30) : 1;
    case 2:
        return between(0, 60) ? highest + (uint64_t)between(1, 1000) : RUNG_NONCE_MAX;
    default:
        return highest < RUNG_NONCE_MAX ? highest + (uint64_t)between(1, 3) % 3 + 1 : 1;
    }
}

static void submit_one(rung_state *s, rung_state *twin, int64_t now_ms) {
    /* mostly one of the last, which are alive */
    int64_t low = between(0, 9) && session_count > 12 ? session_count - 12 : 0;
    model_session *m = session_count ? &sessions[between(low, session_count - 1)] : NULL;
    rung_event e = {.kind = RUNG_EVENT_SCORE, .ts_ms = now_ms};
    e.score.board = between(0, 15) ? RUNG_SLICE("open") : RUNG_SLICE("closed");
    e.score.player = players[m && between(0, 15) ? m->player : (uint32_t)between(0, PLAYERS - 1)];
    e.score.value_count = 1;
    e.score.values[0].i = between(0, 1100); /* the board's limit is 1000 */
    e.score.session =
        m ? rung_slice_of(m->id, RUNG_SESSION_ID_SIZE) : RUNG_SLICE("session_unknown_______");
    e.score.nonce = any_nonce(m);
    if (e.score.nonce > RUNG_NONCE_MAX)
        e.score.nonce = RUNG_NONCE_MAX;
    int64_t window = m ? m->window_ms : 1000;
    e.score.signed_ms = now_ms + (between(0, 9) ? between(-window, window)
                                                : between(-2 * window - 1, 2 * window + 1));
    rung_reason why = expected(m, &e.score, now_ms);
    rung_err err = {0};
    rung_outcome out;
    rung_status door = rung_state_check_signed(s, &e.score, now_ms, NULL);
    rung_status st = rung_state_apply(s, &e, &out, &err);
    if (why != RUNG_REASON_NONE) {
        CHECK_STATUS(st, RUNG_EREFUSED);
        CHECK_EQ_U64(err.reason, why);
        CHECK_STATUS(door, RUNG_EREFUSED);
        seen[why == RUNG_REASON_EXPIRED     ? 0
             : why == RUNG_REASON_SIGNATURE ? 1
             : why == RUNG_REASON_FORBIDDEN ? 2
                                            : 3]++;
    } else {
        bool is_taken = e.score.values[0].i <= 1000;
        CHECK_STATUS(door, RUNG_OK);
        CHECK_MSG(is_taken ? st == RUNG_OK || st == RUNG_UNCHANGED : st == RUNG_EREFUSED,
                  "status %d, %s", st, err.message);
        if (is_taken)
            m->nonces[m->nonce_count++] = e.score.nonce;
        seen[is_taken ? 4 : 5]++;
    }
    CHECK_STATUS(rung_state_apply(twin, &e, NULL, NULL), st);
}

static rung_state *make_state(uint64_t key) {
    rung_state *s;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap(),
                                                    .hash_key = {key, key},
                                                    .rules_level = RUNG_RULES_LEVEL},
                               &s));
    for (int i = 0; i < 2; i++) {
        rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = NOON};
        e.defined.board = i ? RUNG_SLICE("closed") : RUNG_SLICE("open");
        e.defined.def = rung_board_def_default();
        e.defined.def.update = RUNG_UPDATE_LAST;
        e.defined.def.writers = i ? RUNG_WRITERS_SERVER : RUNG_WRITERS_PLAYER;
        e.defined.def.limits = RUNG_LIMIT_MAX;
        e.defined.def.max = (rung_value){.i = 1000};
        CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    }
    return s;
}

static void check_same(const rung_state *s, const rung_state *twin) {
    rung_digest a = rung_state_digest(s), b = rung_state_digest(twin);
    CHECK_EQ_U64(a.a, b.a);
    CHECK_EQ_U64(a.b, b.b);
}

static rung_state *reload(rung_state *s) {
    state_bytes b = {0}, again = {0};
    rung_state *copy;
    rung_err err = {0};
    state_bytes_save(&b, s);
    rung_state_config config = {.alloc = rung_alloc_heap(), .hash_key = {3, 4}};
    CHECK_OK(state_bytes_load(&b, &config, (size_t)between(0, 9), false, &copy, &err));
    CHECK_SOUND(rung_state_check(copy));
    state_bytes_save(&again, copy);
    CHECK_EQ_U64(again.len, b.len);
    CHECK_EQ_MEM(again.bytes, b.bytes, b.len);
    state_bytes_deinit(&b);
    state_bytes_deinit(&again);
    rung_state_destroy(s);
    return copy;
}

static void check_known(const rung_state *s, int64_t now_ms) {
    for (uint32_t i = 0; i < session_count; i++) {
        rung_session_info info;
        bool is_known = rung_state_session(s, rung_slice_of(sessions[i].id, RUNG_SESSION_ID_SIZE),
                                           &info) == RUNG_OK;
        CHECK_EQ_U64(is_known, is_live(&sessions[i], now_ms));
        if (is_known)
            CHECK(rung_slice_eq(info.player, players[sessions[i].player]) &&
                  info.expires_ms == sessions[i].expires_ms &&
                  info.window_ms == sessions[i].window_ms &&
                  rung_slice_eq(info.key, RUNG_SLICE("master")));
    }
}

TEST(sessions_and_nonces) {
    uint64_t seed = test_seed(1);
    rung_rng_seed(&rng, seed);
    rung_state *s = make_state(1), *twin = make_state(2);
    int64_t now_ms = NOON;
    for (int step = 0; step < STEPS; step++) {
        now_ms += between(0, 20) ? between(0, 500) : between(0, 60000);
        int64_t what = between(0, 99);
        if (what < 8 && session_count < SESSIONS)
            begin_one(s, twin, now_ms);
        else if (what < 10)
            end_some(s, twin, now_ms);
        else
            submit_one(s, twin, now_ms);
        check_same(s, twin);
        if (step % 200 == 0) {
            CHECK_SOUND(rung_state_check(s));
            check_known(s, now_ms);
            s = reload(s);
            check_same(s, twin);
        }
    }
    for (int i = 0; i < 6; i++)
        CHECK_MSG(seen[i] > 10, "answer %d came %llu times", i, (unsigned long long)seen[i]);
    rung_state_destroy(s);
    rung_state_destroy(twin);
}

RUNG_TEST_MAIN
