/* SPDX-License-Identifier: Apache-2.0 */
/* The applier: what it applies, answers and refuses of a log's records. */
#include "service/applier.h"
#include "support/check.h"

#include <string.h>

#define NOON INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */

typedef struct fixture {
    rung_state *state;
    rung_applier *applier;
    uint32_t answers;
    rung_status last;
} fixture;

static void count_answer(void *ctx, rung_status st, const rung_outcome *outcome,
                         const rung_err *err) {
    fixture *f = ctx;
    (void)outcome, (void)err;
    f->answers++;
    f->last = st;
}

static void begin(fixture *f) {
    *f = (fixture){0};
    rung_state_config state = {.alloc = rung_alloc_heap()};
    CHECK_OK(rung_state_create(&state, &f->state));
    rung_applier_config config = {
        .alloc = rung_alloc_heap(), .state = f->state, .answer = count_answer, .ctx = f};
    CHECK_OK(rung_applier_create(&config, &f->applier, NULL));
}

static void end(fixture *f) {
    rung_applier_destroy(f->applier);
    rung_state_destroy(f->state);
}

/* A ban, or its end: the state takes both without a board. */
static rung_slice encode(bool is_ban, char out[256]) {
    rung_event e = {.kind = is_ban ? RUNG_EVENT_BANNED : RUNG_EVENT_UNBANNED,
                    .ts_ms = NOON,
                    .ban = {.player = RUNG_SLICE("ann")}};
    size_t len;
    CHECK_OK(rung_event_encode(&e, out, 256, &len));
    return rung_slice_of(out, len);
}

TEST(events_are_applied_and_answered_in_order) {
    fixture f;
    char bytes[2][256];
    begin(&f);
    CHECK_OK(rung_applier_add(f.applier, encode(true, bytes[0]), false, NULL));
    CHECK_OK(rung_applier_add(f.applier, encode(false, bytes[1]), false, NULL));
    CHECK_EQ_U64(f.answers, 1); /* the second cannot join the first */
    CHECK_OK(rung_applier_finish(f.applier, NULL));
    CHECK_OK(rung_applier_finish(f.applier, NULL)); /* nothing left */
    CHECK_EQ_U64(f.answers, 2);
    CHECK_EQ_U64(rung_state_seq(f.state), 2);
    end(&f);
}

/* Whatever is wrong with the second record, the first is applied, and the next try begins behind it. */
TEST(a_bad_record_stops_behind_those_before_it) {
    static const char nonsense[] = {127, 1, 2};
    static const struct {
        uint64_t seq;
        uint16_t type;
        bool is_nonsense;
        rung_status status;
        const char *says;
    } rows[] = {{3, RUNG_LOG_TYPE_EVENT, false, RUNG_ECORRUPT, "record 3 follows state 1"},
                {2, 7, false, RUNG_EVERSION, "record 2 is of type 7"},
                {2, RUNG_LOG_TYPE_LOST, false, RUNG_ECORRUPT, "record 2 is not in this log"},
                {2, RUNG_LOG_TYPE_EVENT, true, RUNG_EVERSION, "record 2 is not an event"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        rung_err err = {0};
        char bytes[256];
        rung_slice good;
        begin(&f);
        good = encode(true, bytes);
        rung_log_record records[] = {
            {1, good, RUNG_LOG_TYPE_EVENT},
            {rows[i].seq, rows[i].is_nonsense ? rung_slice_of(nonsense, sizeof nonsense) : good,
             rows[i].type}};
        CHECK_STATUS(rung_applier_replay(f.applier, records, 2, &err), rows[i].status);
        CHECK_MSG(strstr(err.message, rows[i].says) != NULL, "%s", err.message);
        CHECK_EQ_U64(rung_state_seq(f.state), 1);
        CHECK_EQ_U64(f.answers, 1);
        records[1] = (rung_log_record){2, good, RUNG_LOG_TYPE_EVENT};
        CHECK_OK(rung_applier_replay(f.applier, records + 1, 1, &err));
        CHECK_EQ_U64(rung_state_seq(f.state), 2);
        end(&f);
    }
}

/* It takes a sequence, also as the first record of all, and whatever it contains; the state is otherwise the same. */
TEST(a_void_record_has_no_effect) {
    fixture f, g;
    char bytes[2][256];
    begin(&f);
    begin(&g);
    rung_log_record records[] = {{1, RUNG_SLICE(""), RUNG_LOG_TYPE_VOID},
                                 {2, encode(true, bytes[0]), RUNG_LOG_TYPE_EVENT},
                                 {3, RUNG_SLICE("anything"), RUNG_LOG_TYPE_VOID},
                                 {4, encode(false, bytes[1]), RUNG_LOG_TYPE_EVENT}};
    CHECK_OK(rung_applier_replay(f.applier, records, 4, NULL));
    CHECK_EQ_U64(rung_state_seq(f.state), 4);
    CHECK_EQ_I64(rung_state_time(f.state), NOON);
    rung_log_record events[] = {{1, records[1].payload, RUNG_LOG_TYPE_EVENT},
                                {2, records[3].payload, RUNG_LOG_TYPE_EVENT}};
    CHECK_OK(rung_applier_replay(g.applier, events, 2, NULL));
    rung_stats with, without;
    rung_state_stats(f.state, &with);
    rung_state_stats(g.state, &without);
    CHECK_EQ_U64(with.refused, without.refused);
    CHECK_EQ_U64(with.banned, without.banned);
    CHECK_EQ_U64(with.players, without.players);
    end(&f);
    end(&g);
}

/* Operators look for a record of a topic by its offset. */
TEST(a_shared_log_names_offsets) {
    fixture f;
    rung_err err = {0};
    begin(&f);
    rung_applier_destroy(f.applier);
    rung_applier_config config = {.alloc = rung_alloc_heap(), .state = f.state, .is_shared = true};
    CHECK_OK(rung_applier_create(&config, &f.applier, NULL));
    rung_log_record bad = {1, RUNG_SLICE("\1\1"), RUNG_LOG_TYPE_EVENT};
    CHECK_STATUS(rung_applier_replay(f.applier, &bad, 1, &err), RUNG_ECORRUPT);
    CHECK(strstr(err.message, "record 1 (offset 0 of the topic) is not an event") != NULL);
    end(&f);
}

RUNG_TEST_MAIN
