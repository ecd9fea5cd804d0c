/* SPDX-License-Identifier: Apache-2.0 */
/* The scores of the players that an event names, packed by the owner of the state and read by the archive. */
#include "archive/results.h"

#include "support/check.h"

#include <stdio.h>

static rung_state *state;

static rung_status apply(rung_event e) {
    rung_err err = {0};
    e.ts_ms = INT64_C(1763164800000);
    return rung_state_apply(state, &e, NULL, &err);
}

static rung_event event_of(const rung_zcommand *commands, uint32_t count, char *packed,
                           size_t size) {
    rung_event e = {.kind = RUNG_EVENT_KEYS, .keys = {.count = count}};
    rung_err err = {0};
    size_t len = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t n;
        CHECK_OK(rung_zcommand_encode(&commands[i], packed + len, size - len, &n, &err));
        len += n;
    }
    e.keys.packed = rung_slice_of(packed, len);
    return e;
}

/* In the order of the names, each as after the whole event. */
TEST(of_a_transaction) {
    char packed[1024];
    const rung_zcommand_item two[] = {{RUNG_SLICE("ada"), 1.5}, {RUNG_SLICE("bob"), -2}};
    const rung_zcommand_item other[] = {{RUNG_SLICE("bob"), 7}};
    const rung_zcommand commands[] = {
        {.kind = RUNG_ZCOMMAND_ZADD, .key = RUNG_SLICE("race"), .item_count = 2, .items = two},
        {.kind = RUNG_ZCOMMAND_ZADD, .key = RUNG_SLICE("next"), .item_count = 1, .items = other},
        {.kind = RUNG_ZCOMMAND_PERSIST, .key = RUNG_SLICE("race")},
        {.kind = RUNG_ZCOMMAND_ZREM,
         .key = RUNG_SLICE("race"),
         .item_count = 1,
         .items = (const rung_zcommand_item[]){{RUNG_SLICE("ada"), 0}}}};
    static const double want[] = {0, -2, 7, 0}; /* 0: none */
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &state));
    rung_event e = event_of(commands, 4, packed, sizeof packed);
    CHECK_OK(apply(e));
    CHECK(rung_results_has(&e));
    rung_buffer out = {.alloc = rung_alloc_heap()};
    rung_results_pack(state, &e, &out);
    rung_slice rest = rung_buffer_slice(&out);
    rung_archive_values v;
    for (int i = 0; i < 4; i++) {
        bool has = rung_results_next(&rest, &v);
        CHECK_EQ_U64(has, want[i] != 0);
        if (has)
            CHECK(v.count == 1 && v.types[0] == RUNG_SCORE_REAL && v.values[0].d == want[i]);
    }
    CHECK_EQ_U64(rest.len, 0);
    CHECK(!rung_results_next(&rest, &v));
    rung_buffer_deinit(&out);
    rung_state_destroy(state);
}

/* More than are looked up at once. */
TEST(of_many) {
    enum { MANY = 500 };
    static char names[MANY][16], packed[1 << 16];
    static rung_zcommand_item items[MANY];
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "p%d", i);
        items[i] = (rung_zcommand_item){rung_slice_str(names[i]), i};
    }
    const rung_zcommand add = {
        .kind = RUNG_ZCOMMAND_ZADD, .key = RUNG_SLICE("race"), .item_count = MANY, .items = items};
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &state));
    rung_event e = event_of(&add, 1, packed, sizeof packed);
    CHECK_OK(apply(e));
    rung_buffer out = {.alloc = rung_alloc_heap()};
    rung_results_pack(state, &e, &out);
    rung_slice rest = rung_buffer_slice(&out);
    rung_archive_values v;
    for (int i = 0; i < MANY; i++)
        CHECK(rung_results_next(&rest, &v) && v.values[0].d == i);
    CHECK_EQ_U64(rest.len, 0);
    rung_buffer_deinit(&out);
    rung_state_destroy(state);
}

TEST(who_has_none) {
    char packed[256];
    const rung_zcommand_item key[] = {{RUNG_SLICE("race"), 0}};
    const rung_zcommand del = {.kind = RUNG_ZCOMMAND_DEL, .item_count = 1, .items = key};
    rung_event e = event_of(&del, 1, packed, sizeof packed);
    CHECK(!rung_results_has(&e));
    CHECK(!rung_results_has(&(rung_event){.kind = RUNG_EVENT_SCORE}));
    CHECK(!rung_results_has(&(rung_event){.kind = RUNG_EVENT_TICK}));
    CHECK(!rung_results_has(
        &(rung_event){.kind = RUNG_EVENT_REVIEWED, .reviewed = {.verdict = RUNG_VERDICT_REJECT}}));
    CHECK(rung_results_has(
        &(rung_event){.kind = RUNG_EVENT_REVIEWED, .reviewed = {.verdict = RUNG_VERDICT_PROMOTE}}));
}

RUNG_TEST_MAIN
