/* SPDX-License-Identifier: Apache-2.0 */
/* What a server's own settings refuse: times too far ahead, and growth at the memory limit. */
#include "service/admission.h"

#include "support/check.h"

static rung_state *make_state(void) {
    rung_state *s;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s));
    return s;
}

TEST(times_ahead) {
    rung_state *s = make_state();
    rung_event e = {.kind = RUNG_EVENT_SCORE, .ts_ms = 1000, .score = {.has_at = true}};
    rung_err err = {0};
    e.score.at_ms = 500;
    CHECK_OK(rung_admit(&e, s, 10, &err));
    e.score.at_ms = 1010;
    CHECK_OK(rung_admit(&e, s, 10, &err));
    e.score.at_ms = 1011;
    CHECK_STATUS(rung_admit(&e, s, 10, &err), RUNG_EFUTURE);
    CHECK_EQ_STR(err.field, "at");
    CHECK_OK(rung_admit(&e, s, 0, &err));
    e.score.at_ms = 1001 + RUNG_AT_AHEAD_DEFAULT_MS;
    CHECK_STATUS(rung_admit(&e, s, 0, &err), RUNG_EFUTURE);
    e.score.has_at = false;
    CHECK_OK(rung_admit(&e, s, 0, &err));
    e = (rung_event){.kind = RUNG_EVENT_MATCH, .ts_ms = 1000, .match = {.has_at = true}};
    e.match.at_ms = 1010;
    CHECK_OK(rung_admit(&e, s, 10, &err));
    e.match.at_ms = 1011;
    CHECK_STATUS(rung_admit(&e, s, 10, &err), RUNG_EFUTURE);
    CHECK_EQ_STR(err.field, "at");
    e.match.has_at = false;
    CHECK_OK(rung_admit(&e, s, 10, &err));
    e.kind = RUNG_EVENT_TICK;
    CHECK_OK(rung_admit(&e, s, 0, &err));
    rung_state_destroy(s);
}

/* At the limit, with one change queued. */
static rung_status check_full(const rung_state *s, const rung_event *e, rung_memory_limit *limit) {
    rung_err err = {0};
    return rung_memory_limit_check(limit, s, e, 1, 0, &err);
}

TEST(growth_is_refused_at_the_limit_and_removal_is_not) {
    static const rung_event_kind growing[] = {RUNG_EVENT_SCORE, RUNG_EVENT_PLAYER_SET,
                                              RUNG_EVENT_FRIEND_ADDED, RUNG_EVENT_FRIENDS_REPLACED,
                                              RUNG_EVENT_WINDOW_OPENED};
    static const rung_event_kind others[] = {
        RUNG_EVENT_BOARD_DELETED,  RUNG_EVENT_ENTRY_REMOVED, RUNG_EVENT_PLAYER_ERASED,
        RUNG_EVENT_FRIEND_REMOVED, RUNG_EVENT_BANNED,        RUNG_EVENT_UNBANNED,
        RUNG_EVENT_WINDOW_CLOSED,  RUNG_EVENT_TICK,          RUNG_EVENT_IDS_SET,
        RUNG_EVENT_RULES_SET,      RUNG_EVENT_ACCESS_SET};
    rung_state *s = make_state();
    rung_alloc_meter meter;
    rung_alloc_meter_init(&meter, rung_alloc_heap());
    rung_memory_limit limit = {.meter = &meter, .max = RUNG__GROWTH_EACH};
    for (size_t i = 0; i < RUNG_COUNT_OF(growing); i++)
        CHECK_STATUS(check_full(s, &(rung_event){.kind = growing[i]}, &limit), RUNG_EFULL);
    CHECK_EQ_U64(limit.refused, RUNG_COUNT_OF(growing));
    for (size_t i = 0; i < RUNG_COUNT_OF(others); i++)
        CHECK_OK(check_full(s, &(rung_event){.kind = others[i]}, &limit));
    CHECK_EQ_U64(limit.refused, RUNG_COUNT_OF(growing));
    limit.max++; /* below the limit */
    CHECK_OK(check_full(s, &(rung_event){.kind = RUNG_EVENT_SCORE}, &limit));
    limit.max = 0; /* none */
    CHECK_OK(check_full(s, &(rung_event){.kind = RUNG_EVENT_SCORE}, &limit));
    rung_state_destroy(s);
}

TEST(a_definition_grows_only_if_the_board_is_new) {
    rung_state *s = make_state();
    rung_alloc_meter meter;
    rung_alloc_meter_init(&meter, rung_alloc_heap());
    rung_memory_limit limit = {.meter = &meter, .max = 1};
    rung_board_def def = rung_board_def_default();
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED,
                    .defined = {.board = RUNG_SLICE("race"), .def = def}};
    CHECK_STATUS(check_full(s, &e, &limit), RUNG_EFULL);
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    CHECK_OK(check_full(s, &e, &limit));
    rung_state_destroy(s);
}

TEST(commands_grow_if_one_of_them_does) {
    static const struct {
        rung_zcommand_kind kind;
        bool grows;
    } rows[] = {{RUNG_ZCOMMAND_ZADD, true},
                {RUNG_ZCOMMAND_SADD, true},
                {RUNG_ZCOMMAND_ZREM, false},
                {RUNG_ZCOMMAND_DEL, false}};
    const rung_zcommand_item item = {.name = RUNG_SLICE("ada")};
    rung_state *s = make_state();
    rung_alloc_meter meter;
    rung_alloc_meter_init(&meter, rung_alloc_heap());
    rung_memory_limit limit = {.meter = &meter, .max = 1};
    for (size_t i = 0; i < RUNG_COUNT_OF(rows); i++) {
        char packed[256];
        size_t first, second;
        rung_zcommand c = {.kind = RUNG_ZCOMMAND_DEL, .item_count = 1, .items = &item};
        CHECK_OK(rung_zcommand_encode(&c, packed, sizeof packed, &first, NULL));
        c.kind = rows[i].kind;
        c.key = rows[i].kind == RUNG_ZCOMMAND_DEL ? RUNG_SLICE("") : RUNG_SLICE("race");
        CHECK_OK(rung_zcommand_encode(&c, packed + first, sizeof packed - first, &second, NULL));
        rung_event e = {.kind = RUNG_EVENT_KEYS,
                        .keys = {.packed = rung_slice_of(packed, first + second)}};
        CHECK_STATUS(check_full(s, &e, &limit), rows[i].grows ? RUNG_EFULL : RUNG_OK);
    }
    rung_state_destroy(s);
}

RUNG_TEST_MAIN
