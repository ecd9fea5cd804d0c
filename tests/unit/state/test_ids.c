/* SPDX-License-Identifier: Apache-2.0 */
/* The memory for submission ids, when an event changes it: what is forgotten, and that nothing is applied twice. */
#include "state/state.h"

#include "support/check.h"

#include <stdio.h>

#define NOON INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */
#define HOUR INT64_C(3600000)

static rung_state *create(void) {
    rung_state *s;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &s));
    rung_event e = {
        .kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = NOON, .defined = {.board = RUNG_SLICE("b")}};
    e.defined.def = rung_board_def_default();
    e.defined.def.update = RUNG_UPDATE_SUM;
    CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
    return s;
}

static rung_status set_ids(rung_state *s, uint32_t capacity, int64_t keep_ms, int64_t ts_ms) {
    rung_event e = {.kind = RUNG_EVENT_IDS_SET, .ts_ms = ts_ms, .ids = {capacity, keep_ms}};
    return rung_state_apply(s, &e, NULL, NULL);
}

static rung_status submit(rung_state *s, const char *id, int64_t ts_ms) {
    rung_event e = {.kind = RUNG_EVENT_SCORE,
                    .ts_ms = ts_ms,
                    .score = {.board = RUNG_SLICE("b"),
                              .player = RUNG_SLICE("ada"),
                              .value_count = 1,
                              .values = {{.i = 1}},
                              .id = rung_slice_str(id)}};
    return rung_state_apply(s, &e, NULL, NULL);
}

/* A UUIDv7 of that time. */
static const char *uuid(int64_t ms, char out[40]) {
    snprintf(out, 40, "%08llx-%04llx-7000-8000-000000000001", (unsigned long long)(ms >> 16),
             (unsigned long long)(ms & 0xffff));
    return out;
}

TEST(a_smaller_memory_lets_the_oldest_go) {
    rung_state *s = create();
    rung_stats stats;
    for (int i = 0; i < 10; i++)
        CHECK_OK(submit(s, (const char[]){(char)('a' + i), 0}, NOON + i));
    CHECK_OK(set_ids(s, 3, 24 * HOUR, NOON + 20));
    CHECK_STATUS(set_ids(s, 3, 24 * HOUR, NOON + 21), RUNG_UNCHANGED);
    rung_state_stats(s, &stats);
    CHECK_EQ_U64(stats.ids, 3);
    CHECK_EQ_U64(stats.id_capacity, 3);
    CHECK_STATUS(submit(s, "j", NOON + 30), RUNG_DUPLICATE);
    CHECK_OK(submit(s, "a", NOON + 31)); /* forgotten: it says nothing of its own time */
    CHECK_STATUS(submit(s, "h", NOON + 32), RUNG_OK); /* pushed out by that one */
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

/* Boards have their own ids from level 1 on; a later level must not count them again. */
TEST(ids_are_shared_out_once) {
    rung_state *s = create();
    for (uint32_t level = 1; level <= RUNG_RULES_LEVEL; level++) {
        char id[8];
        snprintf(id, sizeof id, "id-%u", level);
        CHECK_OK(submit(s, id, NOON + level));
        rung_event e = {.kind = RUNG_EVENT_RULES_SET, .ts_ms = NOON + level, .rules = {level}};
        CHECK_OK(rung_state_apply(s, &e, NULL, NULL));
        CHECK_SOUND(rung_state_check(s));
        CHECK_STATUS(submit(s, "id-1", NOON + level), RUNG_DUPLICATE);
    }
    rung_state_destroy(s);
}

TEST(an_id_with_a_time_is_never_applied_twice_whatever_is_set) {
    rung_state *s = create();
    char old[40], other[40];
    CHECK_OK(set_ids(s, 1000, HOUR, NOON));
    CHECK_OK(submit(s, uuid(NOON, old), NOON));
    CHECK_STATUS(submit(s, old, NOON + HOUR), RUNG_DUPLICATE);
    CHECK_OK(
        submit(s, uuid(NOON + 2 * HOUR, other), NOON + 2 * HOUR)); /* the first is forgotten here */
    CHECK_STATUS(submit(s, old, NOON + 2 * HOUR), RUNG_ESTALE);
    CHECK_OK(set_ids(s, 1000, 24 * HOUR, NOON + 2 * HOUR));
    CHECK_STATUS(submit(s, old, NOON + 2 * HOUR),
                 RUNG_ESTALE); /* longer memory does not bring back the forgotten */
    CHECK_STATUS(submit(s, other, NOON + 2 * HOUR), RUNG_DUPLICATE);
    CHECK_OK(set_ids(s, 1, 24 * HOUR, NOON + 2 * HOUR));
    CHECK_STATUS(submit(s, other, NOON + 2 * HOUR), RUNG_DUPLICATE);
    CHECK_OK(submit(s, "x", NOON + 3 * HOUR));
    CHECK_STATUS(submit(s, other, NOON + 3 * HOUR), RUNG_ESTALE);
    CHECK_SOUND(rung_state_check(s));
    rung_state_destroy(s);
}

RUNG_TEST_MAIN
