/* SPDX-License-Identifier: Apache-2.0 */
/* Changes as records: which belong together, what they say, and their positions; and the ring that they wait in,
 * against a list. */
#include "stream/feed_record.h"
#include "stream/feed_ring.h"

#include "support/check.h"
#include "support/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOON INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */

typedef struct taken {
    char text[16][2048];
    rung__feed_position positions[16];
    char keys[16][64];
    uint32_t count, for_all, lost;
} taken;

static void emit(void *ctx, const rung__feed_record *r) {
    taken *t = ctx;
    CHECK(t->count < 16 && r->json.len < sizeof t->text[0]);
    snprintf(t->text[t->count], sizeof t->text[0], "%.*s", (int)r->json.len, r->json.ptr);
    snprintf(t->keys[t->count], sizeof t->keys[0], "%.*s", (int)r->key.len, r->key.ptr);
    t->for_all += r->is_for_all;
    t->positions[t->count++] = r->position;
}

static void lose(void *ctx, uint64_t seq) {
    (void)seq;
    ((taken *)ctx)->lost++;
}

static rung__feed_writer writer(taken *t, const char *boards) {
    *t = (taken){0};
    return (rung__feed_writer){
        .alloc = rung_alloc_heap(), .boards = boards, .emit = emit, .lose = lose, .ctx = t};
}

static rung_change change(const rung_board_def *def, uint64_t seq, const char *player,
                          uint32_t window) {
    return (rung_change){.kind = RUNG_CHANGE_ENTRY,
                         .cause = RUNG_EVENT_SCORE,
                         .seq = seq,
                         .time_ms = NOON,
                         .board = RUNG_SLICE("race"),
                         .def = def,
                         .player = rung_slice_str(player),
                         .window = window,
                         .changed = true,
                         .rank_before = 0,
                         .rank = 1,
                         .total = 1,
                         .value_count = 1,
                         .values = {{.i = 42}}};
}

TEST(one_record_lists_the_windows) {
    taken t;
    rung_board_def def = rung_board_def_default();
    rung__feed_writer w = writer(&t, NULL);
    rung_change all = change(&def, 7, "a\"\\\n", RUNG_WINDOW_ALL);
    rung_change day = change(&def, 7, "a\"\\\n", RUNG_WINDOW_DAY);
    day.ordinal = 20000;
    day.rank_before = 3;
    rung__feed_write_change(&w, &all);
    rung__feed_write_change(&w, &day);
    CHECK_EQ_U64(t.count, 0); /* more may come */
    rung__feed_write_end(&w);
    CHECK_EQ_U64(t.count, 1);
    CHECK_EQ_STR(
        t.text[0],
        "{\"seq\":7,\"n\":0,\"type\":\"score\",\"at\":\"2026-11-15T12:00:00.000Z\",\"board\":"
        "\"race\",\"player\":\"a\\\"\\\\\\n\",\"cause\":\"score\",\"score\":42,\"rank_before\":"
        "null,"
        "\"rank\":1,\"total\":1,\"windows\":[{\"window\":\"all\",\"id\":\"all\",\"changed\":true,"
        "\"score\":42,\"rank_before\":null,\"rank\":1,\"total\":1},{\"window\":\"day\",\"id\":"
        "\"2024-10-04\",\"changed\":true,\"score\":42,\"rank_before\":3,\"rank\":1,\"total\":1}]}");
    CHECK_EQ_STR(t.keys[0], "a\"\\\n");
    rung__feed_writer_deinit(&w);
}

TEST(what_begins_another_record) {
    taken t;
    rung_board_def def = rung_board_def_default();
    rung__feed_writer w = writer(&t, NULL);
    rung_change c = change(&def, 7, "ada", RUNG_WINDOW_ALL);
    rung__feed_write_change(&w, &c);
    rung__feed_write_change(&w, &c); /* the same window again: ZADD k 1 ada 2 ada */
    c.player = RUNG_SLICE("bob");
    rung__feed_write_change(&w, &c);
    c.kind = RUNG_CHANGE_REMOVED;
    rung__feed_write_change(&w, &c);
    c.board = RUNG_SLICE("climb");
    rung__feed_write_change(&w, &c);
    c.kind = RUNG_CHANGE_BOARD_DELETED;
    rung__feed_write_change(&w, &c);
    CHECK_EQ_U64(t.for_all, 1);
    c = change(&def, 8, "ada", RUNG_WINDOW_ALL);
    rung__feed_write_change(&w, &c);
    rung__feed_write_end(&w);
    CHECK_EQ_U64(t.count, 7);
    for (uint32_t i = 0; i < 7; i++) {
        CHECK_EQ_U64(t.positions[i].seq, i < 6 ? 7 : 8);
        CHECK_EQ_U64(t.positions[i].n, i < 6 ? i : 0);
        rung__feed_position read;
        CHECK_OK(rung__feed_record_read(t.text[i], strlen(t.text[i]), &read, NULL));
        CHECK(!rung__feed_is_after(read, t.positions[i]) &&
              !rung__feed_is_after(t.positions[i], read));
    }
    rung__feed_writer_deinit(&w);
}

/* They take no position: another server must come to the same ones. */
TEST(what_leaves_no_record) {
    taken t;
    rung_board_def def = rung_board_def_default();
    rung__feed_writer w = writer(&t, "other,r?ce-*");
    rung_change c = change(&def, 7, "ada", RUNG_WINDOW_ALL);
    rung__feed_write_change(&w, &c); /* not a board of this feed */
    c.board = RUNG_SLICE("race-1");
    c.changed = false;
    rung__feed_write_change(&w, &c); /* nothing changed */
    c.player = RUNG_SLICE("bob");
    c.changed = true;
    rung__feed_write_change(&w, &c);
    rung__feed_write_end(&w);
    rung__feed_write_end(&w);
    CHECK_EQ_U64(t.count, 1);
    CHECK_EQ_U64(t.positions[0].n, 0);
    CHECK_EQ_STR(t.keys[0], "bob");
    rung__feed_writer_deinit(&w);
}

TEST(records_of_others_are_refused) {
    static const char *const bad[] = {"",
                                      "junk",
                                      "[]",
                                      "{}",
                                      "{\"n\":1}",
                                      "{\"seq\":-1}",
                                      "{\"seq\":1} x",
                                      "{\"seq\":\"1\"}",
                                      "{\"seq\":1,\"n\":-1}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[64];
        rung__feed_position p;
        rung_err err = {0};
        snprintf(text, sizeof text, "%s", bad[i]);
        CHECK_STATUS(rung__feed_record_read(text, strlen(text), &p, &err), RUNG_ECORRUPT);
        CHECK(err.message[0]);
    }
    char good[] = "{\"seq\":12,\"type\":\"progress\"}";
    rung__feed_position p;
    CHECK_OK(rung__feed_record_read(good, strlen(good), &p, NULL));
    CHECK(p.seq == 12 && p.n == RUNG__FEED_ALL);
}

/* ---- the ring ---- */

enum { STEPS = 20000, ROOM = 1024 };

static rung__feed_record made(uint64_t seq, uint32_t n, size_t len, char *room) {
    memset(room, (int)('a' + (seq + n) % 26), ROOM);
    return (rung__feed_record){.position = {seq, n},
                               .is_for_all = seq % 5 == 0,
                               .key = rung_slice_of(room, seq % 7),
                               .json = rung_slice_of(room, len)};
}

/* Everything from first_seq on is there, in order and whole. */
static void check_ring(const rung__feed_ring *r, const uint32_t *lengths, const uint32_t *parts,
                       uint64_t last) {
    char room[ROOM];
    uint64_t place = 0, seq = r->first_seq;
    uint32_t n = 0;
    rung__feed_record got;
    while (rung__feed_ring_look(r, &place, &got)) {
        rung__feed_ring_pass(r, &place);
        if (got.position.seq < r->first_seq)
            continue; /* the rest of an event that is not complete */
        while (seq < got.position.seq) {
            CHECK_EQ_U64(n, parts[seq]);
            seq++;
            n = 0;
        }
        CHECK_EQ_U64(got.position.n, n);
        rung__feed_record want = made(seq, n, lengths[seq], room);
        CHECK(rung_slice_eq(got.json, want.json) && rung_slice_eq(got.key, want.key));
        CHECK_EQ_U64(got.is_for_all, want.is_for_all);
        n++;
    }
    for (; seq <= last; seq++, n = 0)
        CHECK_EQ_U64(n, parts[seq]);
}

typedef struct ring_reader {
    uint64_t place, seq; /* the next record is the n-th of event seq */
    uint32_t n;
    uint64_t losses, read;
} ring_reader;

/* A reader that stops now and then: it gets every record, or is told that it lost one. `last` is the last event; 0: one
 * is being written. */
static void read_on(ring_reader *t, const rung__feed_ring *r, const uint32_t *parts, uint64_t last,
                    uint64_t max) {
    rung__feed_record got;
    if (rung__feed_ring_has_lost(r, t->place)) { /* go on with the first whole event */
        t->losses++;
        t->place = r->head;
        t->seq = r->first_seq;
        t->n = 0;
    }
    for (; max > 0 && rung__feed_ring_look(r, &t->place, &got); max--) {
        rung__feed_ring_pass(r, &t->place);
        if (got.position.seq < t->seq)
            continue;
        for (; t->n == parts[t->seq]; t->seq++)
            t->n = 0;
        CHECK(got.position.seq == t->seq && got.position.n == t->n);
        t->n++;
        t->read++;
    }
    if (max == 0 || last == 0)
        return;
    while (t->seq <= last && t->n == parts[t->seq]) {
        t->seq++;
        t->n = 0;
    }
    CHECK_EQ_U64(t->seq, last + 1); /* at the end, and nothing is missing */
}

TEST(the_ring_keeps_whole_events) {
    static uint32_t lengths[STEPS + 2], parts[STEPS + 2];
    char room[ROOM];
    rung_rng rng;
    rung__feed_ring r;
    rung_rng_seed(&rng, test_seed(1));
    for (uint32_t size = 256; size <= 4096; size *= 4) {
        CHECK_OK(rung__feed_ring_init(&r, rung_alloc_heap(), size, 1));
        uint64_t forgotten = 0;
        ring_reader reader = {.seq = 1};
        for (uint64_t seq = 1; seq <= STEPS; seq++) {
            lengths[seq] = (uint32_t)rung_rng_below(&rng, 100 == seq % 101 ? ROOM : 60) + 1;
            parts[seq] = (uint32_t)rung_rng_below(&rng, seq % 97 ? 3 : 60);
            for (uint32_t n = 0; n < parts[seq]; n++) {
                rung__feed_record one = made(seq, n, lengths[seq], room);
                rung__feed_ring_add(&r, &one);
                if (rung_rng_below(&rng, 3) == 0) /* in the middle of an event */
                    read_on(&reader, &r, parts, 0, 1 + rung_rng_below(&rng, 9));
            }
            if (seq % 997 == 0)
                rung__feed_ring_forget(&r, forgotten = seq);
            CHECK(r.first_seq > forgotten && r.first_seq <= seq + 1);
            if (seq % 13 == 0)
                check_ring(&r, lengths, parts, seq);
            if (rung_rng_below(&rng, 4))
                read_on(&reader, &r, parts, seq, rung_rng_below(&rng, 5));
            else if (seq % 5 == 0)
                read_on(&reader, &r, parts, seq, UINT64_MAX);
        }
        CHECK(reader.losses > 10 && reader.read > 100);
        rung__feed_ring_deinit(&r, rung_alloc_heap());
    }
}

RUNG_TEST_MAIN
