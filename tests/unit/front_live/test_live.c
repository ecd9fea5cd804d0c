/* SPDX-License-Identifier: Apache-2.0 */
/* Topics and viewers without sockets: what is sent, to whom, and that it adds up to the state. */
#include "front/live/live.h"

#include "codec/json_reader.h"
#include "support/livekit.h"
#include "support/rng.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- a viewer that puts the list together again ---- */

typedef struct mirror_row {
    char player[64];
    int64_t place, rank, score;
} mirror_row;

typedef struct mirror {
    rung_viewer *viewer;
    size_t queued; /* what it pretends not to have read */
    bool may_not;
    uint32_t states, changes, resumes, beats, ended;
    rung_live_end why;
    uint64_t id, total;
    mirror_row rows[256];
    uint32_t count;
    const void *newest; /* the last frame's memory */
    char text[65536];   /* and its JSON */
} mirror;

static void put_row(mirror *m, const mirror_row *row) {
    uint32_t i = 0;
    while (i < m->count && strcmp(m->rows[i].player, row->player) != 0)
        i++;
    m->rows[i] = *row;
    m->count += i == m->count;
}

static void read_rows(mirror *m, rung_json *r) {
    rung_slice key, text;
    CHECK_OK(rung_json_enter_array(r));
    while (rung_json_next_item(r) == RUNG_OK) {
        mirror_row row = {0};
        CHECK_OK(rung_json_enter_object(r));
        while (rung_json_next_key(r, &key) == RUNG_OK)
            if (rung_slice_eq(key, RUNG_SLICE("player"))) {
                CHECK_OK(rung_json_string(r, &text));
                memcpy(row.player, text.ptr, text.len);
            } else {
                int64_t *to = rung_slice_eq(key, RUNG_SLICE("place"))  ? &row.place
                              : rung_slice_eq(key, RUNG_SLICE("rank")) ? &row.rank
                                                                       : &row.score;
                CHECK_OK(rung_json_int64(r, to));
            }
        put_row(m, &row);
    }
}

static void read_gone(mirror *m, rung_json *r) {
    rung_slice id;
    CHECK_OK(rung_json_enter_array(r));
    while (rung_json_next_item(r) == RUNG_OK) {
        CHECK_OK(rung_json_string(r, &id));
        uint32_t i = 0;
        while (i < m->count && !rung_slice_eq(rung_slice_str(m->rows[i].player), id))
            i++;
        CHECK(i < m->count); /* only who was shown can be gone */
        m->rows[i] = m->rows[--m->count];
    }
}

static int by_place(const void *a, const void *b) {
    const mirror_row *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

static void on_send(void *ctx, rung_blob *frame) {
    static rung_json reader;
    mirror *m = ctx;
    char *copy = m->text;
    CHECK(frame->len < sizeof m->text);
    memcpy(copy, frame->bytes, frame->len);
    copy[frame->len] = 0;
    m->newest = frame;
    char *data = strstr(copy, "data: "), *id = strstr(copy, "id: ");
    if (!data) {
        m->beats++;
        return;
    }
    size_t chunk = strtoul(copy, NULL, 16);
    CHECK_EQ_U64(chunk, frame->len - (size_t)(strstr(copy, "\r\n") + 2 - copy) - 2);
    CHECK(memcmp(copy + frame->len - 4, "\n\n\r\n", 4) == 0);
    uint64_t seq = strtoull(id + 4, NULL, 10);
    bool is_state = strstr(copy, "event: state\n") != NULL;
    m->states += is_state;
    m->changes += strstr(copy, "event: change\n") != NULL;
    m->resumes += strstr(copy, "event: resumed\n") != NULL;
    CHECK(seq >= m->id || is_state);
    if (is_state)
        m->count = 0;
    m->id = seq;
    data += 6;
    memmove(m->text, data, strlen(data) + 1);
    static char work[65536];
    memcpy(work, m->text, strlen(m->text) + 1);
    rung_json_init(&reader, work, strlen(work) - 4, NULL);
    rung_slice key;
    int64_t number;
    CHECK_OK(rung_json_enter_object(&reader));
    while (rung_json_next_key(&reader, &key) == RUNG_OK)
        if (rung_slice_eq(key, RUNG_SLICE("entries")) ||
            rung_slice_eq(key, RUNG_SLICE("changed"))) {
            read_rows(m, &reader);
        } else if (rung_slice_eq(key, RUNG_SLICE("gone"))) {
            read_gone(m, &reader);
        } else if (rung_slice_eq(key, RUNG_SLICE("total"))) {
            CHECK_OK(rung_json_int64(&reader, &number));
            m->total = (uint64_t)number;
        } else {
            CHECK_OK(rung_json_skip(&reader, NULL));
        }
    CHECK_OK(rung_json_end(&reader));
    qsort(m->rows, m->count, sizeof *m->rows, by_place);
}

static size_t on_queued(void *ctx) {
    return ((mirror *)ctx)->queued;
}

static bool on_may(void *ctx) {
    return !((mirror *)ctx)->may_not;
}

static void on_end(void *ctx, rung_viewer *v, rung_live_end why) {
    mirror *m = ctx;
    CHECK_EQ_PTR(m->viewer, v);
    m->viewer = NULL;
    m->ended++;
    m->why = why;
}

static const rung_live_sink sink = {RUNG_LIVE_SSE, on_send, on_queued, on_may, on_end};

static mirror mirrors[8];

static mirror *watch(livekit *k, uint32_t i, const rung_live_spec *spec, const uint64_t *since) {
    mirror *m = &mirrors[i];
    rung_err err = {0};
    rung_status st = rung_live_open(k->live, spec, since, &sink, m, &m->viewer, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
    return m;
}

static rung_live_spec top(const char *board, uint32_t count) {
    return (rung_live_spec){.kind = RUNG_LIVE_TOP, .board = rung_slice_str(board), .count = count};
}

static rung_live_spec about(rung_live_kind kind, const char *player, uint32_t count) {
    return (rung_live_spec){.kind = kind,
                            .board = kind == RUNG_LIVE_FEED ? (rung_slice){0} : RUNG_SLICE("race"),
                            .player = rung_slice_str(player),
                            .count = count};
}

static void frame(livekit *k) {
    k->now_ms += 100;
    rung_live_frame(k->live);
}

/* The names in order, "a b c". */
static const char *names(const mirror *m) {
    static char text[4096];
    size_t len = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < m->count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i ? " " : "",
                                m->rows[i].player);
    return text;
}

#define CHECK_HAS(text, part)                                                                      \
    CHECK_MSG(strstr((text), (part)) != NULL, "\"%s\" is not in: %s", (part), (text))

/* ---- tests ---- */

TEST(a_state_then_changes) {
    livekit k;
    livekit_start(&k, &(rung_live_config){0});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    livekit_score(&k, "race", "ada", 10);
    livekit_score(&k, "race", "bob", 20);
    rung_live_spec spec = top("race", 2);
    mirror *m = watch(&k, 0, &spec, NULL);
    CHECK_EQ_STR(names(m), "bob ada");
    CHECK_EQ_U64(m->id, rung_state_seq(k.state));
    frame(&k);
    CHECK_EQ_U64(m->changes, 0);
    livekit_score(&k, "race", "eve", 15);
    livekit_score(&k, "race", "dan", 5);
    frame(&k);
    CHECK_EQ_U64(m->changes, 1); /* coalesced */
    CHECK_EQ_STR(names(m), "bob eve");
    CHECK_EQ_U64(m->total, 4);
    CHECK_EQ_U64(m->id, rung_state_seq(k.state));
    CHECK(!strstr(m->text, "bob")); /* what did not change is not sent */
    livekit_player_event(&k, RUNG_EVENT_BANNED, "bob");
    frame(&k);
    CHECK_EQ_STR(names(m), "eve ada");
    rung_live_leave(m->viewer);
    livekit_stop(&k);
}

TEST(viewers_of_one_topic_share_each_frame) {
    livekit k;
    livekit_start(&k, &(rung_live_config){0});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    rung_live_spec spec = top("race", 10);
    mirror *a = watch(&k, 0, &spec, NULL), *b = watch(&k, 1, &spec, NULL);
    CHECK_EQ_PTR(a->newest, b->newest);
    CHECK_EQ_U64(rung_live_stat(k.live).topics, 1);
    livekit_score(&k, "race", "ada", 10);
    frame(&k);
    CHECK_EQ_PTR(a->newest, b->newest);
    CHECK_EQ_U64(rung_live_stat(k.live).frames, 1);
    CHECK_EQ_U64(rung_live_stat(k.live).sent, 4);
    livekit_stop(&k);
    CHECK_EQ_U64(a->ended + b->ended, 2);
    CHECK(a->why == RUNG_LIVE_STOPPING);
}

TEST(a_slow_viewer_gets_the_newest_state) {
    livekit k;
    livekit_start(&k, &(rung_live_config){.queued_max = 1000});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    rung_live_spec spec = top("race", 10);
    mirror *m = watch(&k, 0, &spec, NULL);
    m->queued = 5000;
    for (int i = 0; i < 50; i++) {
        livekit_score(&k, "race", "ada", 10 + i);
        frame(&k);
    }
    CHECK_EQ_U64(m->changes + m->states, 1); /* nothing but the first state */
    m->queued = 500;                         /* some of it is read: not enough to start anew */
    frame(&k);
    CHECK_EQ_U64(m->states, 1);
    m->queued = 0;
    frame(&k);
    CHECK_EQ_U64(m->states, 2);
    CHECK_EQ_I64(m->rows[0].score, 59);
    livekit_score(&k, "race", "ada", 100);
    frame(&k);
    CHECK_EQ_U64(m->changes, 1);
    livekit_stop(&k);
}

TEST(who_comes_back_goes_on_after_the_first_state) {
    livekit k;
    livekit_start(&k, &(rung_live_config){.keep_frames = 4});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    livekit_score(&k, "race", "ada", 1);
    rung_live_spec spec = top("race", 10);
    mirror *m = watch(&k, 0, &spec, NULL);
    watch(&k, 1, &spec, NULL);
    uint64_t id = m->id;
    rung_live_leave(m->viewer);
    for (int i = 0; i < 3; i++) {
        livekit_score(&k, "race", "ada", 10 + i);
        frame(&k);
    }
    m = watch(&k, 0, &spec, &id);
    CHECK_EQ_U64(m->states, 1); /* that of the beginning */
    CHECK_EQ_U64(m->resumes, 1);
    CHECK_EQ_U64(m->changes, 3);
    livekit_score(&k, "race", "ada", 20);
    frame(&k);
    livekit_score(&k, "race", "ada", 21);
    frame(&k);
    rung_live_leave(m->viewer);
    m = watch(&k, 0, &spec, &id); /* four are kept, and five were needed */
    CHECK_EQ_U64(m->states, 2);
    CHECK_EQ_U64(m->resumes, 1);
    livekit_stop(&k);
}

TEST(frames_are_kept_for_who_comes_back) {
    livekit k;
    livekit_start(&k, &(rung_live_config){.keep_frames = 4, .keep_ms = 1000});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    livekit_score(&k, "race", "ada", 1);
    rung_live_spec spec = top("race", 10);
    mirror *m = watch(&k, 0, &spec, NULL), *stay = watch(&k, 1, &spec, NULL);
    livekit_score(&k, "race", "bob", 2);
    frame(&k);
    uint64_t id = m->id;
    rung_live_leave(m->viewer);
    for (int i = 0; i < 3; i++) {
        livekit_score(&k, "race", "bob", 10 + i);
        frame(&k);
    }
    m = watch(&k, 0, &spec, &id);
    CHECK_EQ_U64(m->states, 1);
    CHECK_EQ_U64(m->resumes, 1);
    CHECK_EQ_U64(m->changes, 4);
    CHECK_EQ_I64(m->rows[0].score, 12);
    rung_live_leave(m->viewer);
    rung_live_leave(stay->viewer);
    /* Nobody watches; what happens meanwhile is one frame for who returns. */
    livekit_score(&k, "race", "eve", 7);
    livekit_score(&k, "race", "dan", 8);
    id = m->id;
    m = watch(&k, 0, &spec, &id);
    CHECK_EQ_U64(m->resumes, 2);
    CHECK_EQ_STR(names(m), "bob dan eve ada");
    rung_live_leave(m->viewer);
    k.now_ms += 2000;
    rung_live_frame(k.live); /* too long: forgotten */
    CHECK_EQ_U64(rung_live_stat(k.live).topics, 0);
    /* Not a frame kept, but nothing has changed since: there is no gap. */
    id = m->id;
    m = watch(&k, 0, &spec, &id);
    CHECK_EQ_U64(m->resumes, 3);
    CHECK_EQ_U64(m->states, 1);
    rung_live_leave(m->viewer);
    k.now_ms += 2000;
    rung_live_frame(k.live);
    livekit_score(&k, "race", "dan", 80);
    m = watch(&k, 0, &spec, &id); /* now there is one */
    CHECK_EQ_U64(m->resumes, 3);
    CHECK_EQ_U64(m->states, 2);
    uint64_t future = 1000000;
    rung_live_leave(m->viewer);
    m = watch(&k, 0, &spec, &future);
    CHECK_EQ_U64(m->states, 3);
    livekit_stop(&k);
}

TEST(neighbours_and_friends) {
    livekit k;
    livekit_start(&k, &(rung_live_config){0});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    char name[16];
    for (int i = 1; i <= 9; i++) {
        snprintf(name, sizeof name, "p%d", i);
        livekit_score(&k, "race", name, i);
    }
    rung_live_spec near = about(RUNG_LIVE_AROUND, "p3", 1),
                   friends = about(RUNG_LIVE_FRIENDS, "p3", 10);
    mirror *a = watch(&k, 0, &near, NULL), *f = watch(&k, 1, &friends, NULL);
    CHECK_EQ_STR(names(a), "p4 p3 p2");
    CHECK_EQ_STR(names(f), "p3");
    rung_event e = {.kind = RUNG_EVENT_FRIEND_ADDED};
    e.friend.player = RUNG_SLICE("p3");
    e.friend.other = RUNG_SLICE("p8");
    CHECK(livekit_apply(&k, &e) >= 0);
    livekit_score(&k, "race", "p3", 8);
    frame(&k);
    CHECK_EQ_STR(names(a), "p8 p3 p7");
    CHECK_EQ_STR(names(f), "p8 p3");
    CHECK_EQ_I64(f->rows[0].place, 1);
    rung_live_spec nobody = about(RUNG_LIVE_AROUND, "new", 1);
    mirror *n = watch(&k, 2, &nobody, NULL);
    CHECK_EQ_U64(n->count, 0);
    livekit_score(&k, "race", "new", 100);
    frame(&k);
    CHECK_EQ_STR(names(n), "new p9 p8");
    livekit_stop(&k);
}

TEST(a_new_day_is_a_new_state) {
    livekit k;
    livekit_start(&k, &(rung_live_config){0});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL | RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY));
    livekit_score(&k, "race", "ada", 10);
    rung_live_spec spec = top("race", 10);
    spec.window = RUNG_SLICE("day");
    mirror *m = watch(&k, 0, &spec, NULL);
    CHECK_EQ_STR(names(m), "ada");
    k.now_ms += 86400000; /* the clock alone */
    rung_live_frame(k.live);
    CHECK_EQ_U64(m->states, 2);
    CHECK_EQ_U64(m->count, 0);
    livekit_stop(&k);
}

TEST(the_ends_of_a_viewer) {
    livekit k;
    livekit_start(&k, &(rung_live_config){0});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    livekit_define(&k, "gone", RUNG_WINDOWS_ALL);
    rung_live_spec race = top("race", 10), gone = top("gone", 10);
    mirror *a = watch(&k, 0, &race, NULL), *b = watch(&k, 1, &gone, NULL);
    rung_event e = {.kind = RUNG_EVENT_BOARD_DELETED};
    e.deleted.board = RUNG_SLICE("gone");
    CHECK_OK(livekit_apply(&k, &e));
    frame(&k);
    CHECK(b->ended == 1 && b->why == RUNG_LIVE_GONE);
    a->may_not = true;
    for (int i = 0; i < 60; i++)
        frame(&k);
    CHECK(a->ended == 1 && a->why == RUNG_LIVE_FORBIDDEN);
    livekit_stop(&k);
}

TEST(silence_is_broken_now_and_then) {
    livekit k;
    livekit_start(&k, &(rung_live_config){.beat_ms = 1000});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    rung_live_spec spec = top("race", 10);
    mirror *m = watch(&k, 0, &spec, NULL);
    for (int i = 0; i < 35; i++)
        frame(&k);
    CHECK_EQ_U64(m->beats, 3);
    livekit_stop(&k);
}

static void refused(livekit *k, rung_live_spec spec, rung_status want) {
    rung_viewer *v;
    rung_err err = {0};
    CHECK_STATUS(rung_live_open(k->live, &spec, NULL, &sink, &mirrors[7], &v, &err), want);
    CHECK(err.message[0] != 0);
}

TEST(limits_and_mistakes) {
    livekit k;
    livekit_start(&k, &(rung_live_config){.viewers_max = 3, .topics_max = 2});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    refused(&k, top("none", 10), RUNG_NOT_FOUND);
    refused(&k, top("race", 0), RUNG_EINVAL);
    refused(&k, top("race", 101), RUNG_EINVAL);
    refused(&k, about(RUNG_LIVE_AROUND, "x", 51), RUNG_EINVAL);
    refused(&k, about(RUNG_LIVE_AROUND, "", 5), RUNG_EINVAL);
    refused(&k, top("", 5), RUNG_EINVAL);
    rung_live_spec bad = top("race", 5);
    bad.window = RUNG_SLICE("week");
    refused(&k, bad, RUNG_NOT_FOUND);
    CHECK_EQ_U64(rung_live_stat(k.live).topics, 0);
    rung_live_spec a = top("race", 1), b = top("race", 2);
    watch(&k, 0, &a, NULL);
    watch(&k, 1, &b, NULL);
    refused(&k, top("race", 3), RUNG_ELIMIT);
    watch(&k, 2, &b, NULL);
    refused(&k, b, RUNG_ELIMIT);
    livekit_stop(&k);
    CHECK_EQ_U64(mirrors[0].ended + mirrors[1].ended + mirrors[2].ended, 3);
}

static rung_viewer *open_as(livekit *k, uint64_t asker, const char *player, rung_status want) {
    rung_viewer *v = NULL;
    rung_live_spec spec = about(RUNG_LIVE_AROUND, player, 1);
    spec.asker = asker;
    CHECK_STATUS(rung_live_check(k->live, &spec, NULL), want);
    CHECK_STATUS(rung_live_open(k->live, &spec, NULL, &sink, &mirrors[7], &v, NULL), want);
    return v;
}

/* Topics that nobody watches any more make room for new ones, the longest idle first. */
TEST(idle_topics_make_room) {
    livekit k;
    char name[16];
    livekit_start(&k, &(rung_live_config){.topics_max = 10});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "p%d", i);
        rung_live_leave(open_as(&k, 1, name, RUNG_OK));
        CHECK(rung_live_stat(k.live).topics <= 10);
    }
    CHECK_EQ_U64(rung_live_stat(k.live).viewers, 0);
    rung_viewer *kept = open_as(&k, 1, "p999", RUNG_OK);
    rung_live_stats before = rung_live_stat(k.live);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "q%d", i);
        rung_live_leave(open_as(&k, 2, name, RUNG_OK));
    }
    CHECK_EQ_U64(rung_live_stat(k.live).topics, before.topics);
    rung_live_leave(kept);
    livekit_stop(&k);
}

/* One who asks cannot take all places: half of the topics and viewers stay for others. */
TEST(one_asker_has_a_share) {
    livekit k;
    char name[16];
    rung_viewer *mine[8], *others[4];
    livekit_start(&k, &(rung_live_config){.topics_max = 8, .viewers_max = 12});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "p%d", i);
        mine[i] = open_as(&k, 1, name, RUNG_OK);
    }
    open_as(&k, 1, "p4", RUNG_ELIMIT);            /* a fifth topic */
    mine[4] = open_as(&k, 1, "p0", RUNG_OK);      /* more viewers of their own */
    others[0] = open_as(&k, 2, "other", RUNG_OK); /* somebody else's topic */
    mine[5] = open_as(&k, 1, "other", RUNG_OK);   /* counts for who opened it */
    open_as(&k, 1, "other", RUNG_ELIMIT);         /* a seventh viewer */
    others[1] = open_as(&k, 2, "another", RUNG_OK);
    for (int i = 0; i < 6; i++)
        rung_live_leave(mine[i]);
    for (int i = 0; i < 4; i++) { /* what they left does not count against them */
        snprintf(name, sizeof name, "r%d", i);
        mine[i] = open_as(&k, 1, name, RUNG_OK);
    }
    open_as(&k, 1, "r4", RUNG_ELIMIT);
    for (int i = 0; i < 4; i++)
        rung_live_leave(mine[i]);
    rung_live_leave(others[0]);
    rung_live_leave(others[1]);
    livekit_stop(&k);
}

static bool sees_board(void *ctx, rung_slice sight, rung_slice board) {
    (void)ctx;
    return sight.len && sight.ptr[0] == board.ptr[0]; /* boards that begin like the sight */
}

TEST(a_feed_shows_what_its_viewers_may_see) {
    livekit k;
    livekit_start(&k, &(rung_live_config){.sees = sees_board});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    livekit_define(&k, "jump", RUNG_WINDOWS_ALL);
    livekit_score(&k, "race", "bob", 20);
    livekit_score(&k, "jump", "bob", 20);
    rung_live_spec all = about(RUNG_LIVE_FEED, "bob", 0), some = all, none = all;
    some.sight = RUNG_SLICE("race");
    none.sight = RUNG_SLICE("");
    mirror *a = watch(&k, 0, &all, NULL), *s = watch(&k, 1, &some, NULL),
           *n = watch(&k, 2, &none, NULL), *b = watch(&k, 3, &some, NULL);
    CHECK_EQ_U64(rung_live_stat(k.live).topics, 3);
    CHECK_HAS(a->text, "\"jump\"");
    CHECK_HAS(s->text, "\"race\"");
    CHECK_HAS(s->text, "\"topic\":\"players/bob\"");
    CHECK(!strstr(s->text, "jump"));
    CHECK_HAS(n->text, "\"boards\":[]");
    livekit_score(&k, "jump", "eve", 30); /* bob is passed where only `a` looks */
    frame(&k);
    CHECK_EQ_U64(a->changes, 1);
    CHECK_EQ_U64(s->changes + n->changes, 0);
    livekit_score(&k, "race", "eve", 30);
    frame(&k);
    CHECK_EQ_U64(a->changes, 2);
    CHECK_EQ_U64(s->changes, 1);
    CHECK_EQ_PTR(s->newest, b->newest);
    CHECK_EQ_U64(n->changes, 0);
    livekit_stop(&k);
}

static uint64_t rights;

static uint64_t rights_now(void *ctx) {
    (void)ctx;
    return rights;
}

TEST(other_rights_are_looked_at_in_the_next_frame) {
    livekit k;
    livekit_start(&k, &(rung_live_config){.rights = rights_now});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    rung_live_spec spec = top("race", 10);
    mirror *m = watch(&k, 0, &spec, NULL);
    m->may_not = true;
    frame(&k);
    CHECK_EQ_U64(m->ended, 0);
    rights++;
    frame(&k);
    CHECK(m->ended == 1 && m->why == RUNG_LIVE_FORBIDDEN);
    livekit_stop(&k);
}

/* Names as long as they may be, of which every byte is escaped: the topic's name has room for them. */
TEST(the_longest_names_fit) {
    static char name[RUNG_NAME_MAX + 1], scope[RUNG_LIVE_SCOPE_MAX + 1];
    livekit k;
    for (size_t i = 0; i < sizeof scope - 1; i++)
        scope[i] = i % 2 ? '\xa9' : '\xc3';
    memcpy(name, scope, sizeof name - 1);
    livekit_start(&k, &(rung_live_config){0});
    livekit_define(&k, name, RUNG_WINDOWS_ALL);
    for (int i = 0; i < 3; i++) {
        rung_live_kind kind =
            (rung_live_kind[]){RUNG_LIVE_AROUND, RUNG_LIVE_FRIENDS, RUNG_LIVE_FEED}[i];
        rung_live_spec spec = {
            .kind = kind,
            .board = kind == RUNG_LIVE_FEED ? (rung_slice){0} : rung_slice_str(name),
            .player = rung_slice_str(name),
            .count = kind == RUNG_LIVE_FRIENDS ? RUNG_LIVE_FRIENDS_MAX : RUNG_LIVE_AROUND_MAX,
            .window = rung_slice_str(name),
            .window_id = rung_slice_str(name),
            .scope = rung_slice_str(scope),
            .has_rank = true,
            .rank = RUNG_RANK_UNIQUE};
        rung_viewer *v = NULL;
        rung_err err = {0};
        rung_status st = rung_live_open(k.live, &spec, NULL, &sink, &mirrors[0], &v, &err);
        CHECK_STATUS(st, kind == RUNG_LIVE_FEED ? RUNG_OK : RUNG_NOT_FOUND);
        mirrors[0].viewer = v;
    }
    livekit_stop(&k);
}

TEST(a_feed_says_who_passed_whom) {
    livekit k;
    livekit_start(&k, &(rung_live_config){0});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    livekit_define(&k, "jump", RUNG_WINDOWS_ALL);
    livekit_score(&k, "race", "ada", 10);
    livekit_score(&k, "race", "bob", 20);
    livekit_score(&k, "race", "eve", 30);
    rung_live_spec spec = about(RUNG_LIVE_FEED, "bob", 0);
    mirror *m = watch(&k, 0, &spec, NULL);
    CHECK_HAS(m->text, "\"boards\":[{\"board\":\"race\",\"window\":\"all\",\"rank\":2,\"total\":3");
    livekit_score(&k, "race", "ada", 25);
    frame(&k);
    CHECK_HAS(m->text, "\"rank_before\":2,\"rank\":3");
    CHECK_HAS(m->text, "\"passed\":{\"count\":0,\"players\":[]}");
    CHECK_HAS(m->text, "\"passed_by\":{\"count\":1,\"players\":[\"ada\"]}");
    livekit_score(&k, "race", "bob", 99);
    frame(&k);
    CHECK_HAS(m->text, "\"rank_before\":3,\"rank\":1");
    CHECK_HAS(m->text, "\"passed\":{\"count\":2,\"players\":[\"eve\",\"ada\"]}");
    livekit_score(&k, "race", "new", 100); /* somebody nobody knew */
    livekit_score(&k, "jump", "bob", 5);   /* and another board */
    frame(&k);
    CHECK_HAS(m->text, "\"passed_by\":{\"count\":1,\"players\":[\"new\"]}");
    CHECK_HAS(m->text, "{\"board\":\"jump\",\"window\":\"all\",\"rank_before\":null,\"rank\":1");
    uint32_t changes = m->changes;
    livekit_score(&k, "race", "zoe", 1); /* below: nothing to tell */
    frame(&k);
    CHECK_EQ_U64(m->changes, changes);
    livekit_player_event(&k, RUNG_EVENT_BANNED, "bob");
    frame(&k);
    CHECK_HAS(m->text, "\"rank\":null");
    livekit_stop(&k);
}

/* ---- the property: a mirror equals the state ---- */

static void check_mirror(livekit *k, const mirror *m, const rung_live_spec *spec) {
    rung_view view;
    static rung_row rows[256];
    uint32_t count = 0, other;
    rung_query q = {.board = spec->board, .window = spec->window, .now_ms = k->now_ms};
    CHECK_OK(rung_state_view(k->state, &q, &view, NULL));
    if (spec->kind == RUNG_LIVE_TOP)
        count = rung_view_top(&view, 0, spec->count, rows);
    else if (rung_view_around(&view, spec->player, spec->count, rows, &count, &other) != RUNG_OK)
        count = 0;
    CHECK_EQ_U64(m->count, count);
    CHECK_EQ_U64(m->total, view.total);
    for (uint32_t i = 0; i < count; i++) {
        CHECK(rung_slice_eq(rung_slice_str(m->rows[i].player), rows[i].id));
        CHECK_EQ_I64(m->rows[i].place, rows[i].index + 1);
        CHECK_EQ_I64(m->rows[i].rank, rows[i].rank);
        CHECK_EQ_I64(m->rows[i].score, rows[i].values[0].i);
    }
}

static void random_event(livekit *k, rung_rng *rng) {
    char name[8];
    snprintf(name, sizeof name, "p%u", (unsigned)rung_rng_below(rng, 60));
    uint64_t what = rung_rng_below(rng, 40);
    if (what == 0)
        livekit_player_event(k, RUNG_EVENT_BANNED, name);
    else if (what == 1)
        livekit_player_event(k, RUNG_EVENT_UNBANNED, name);
    else if (what == 2)
        livekit_player_event(k, RUNG_EVENT_PLAYER_ERASED, name);
    else {
        rung_event e = {.kind = RUNG_EVENT_SCORE};
        e.score.board = RUNG_SLICE("race");
        e.score.player = rung_slice_str(name);
        e.score.value_count = 1;
        e.score.values[0].i = (int64_t)rung_rng_below(rng, 100);
        rung_ignore(livekit_apply(k, &e), "a banned player's score is refused");
    }
}

TEST(a_mirror_equals_the_state_however_it_is_disturbed) {
    livekit k;
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(7));
    livekit_start(&k, &(rung_live_config){.keep_frames = 5, .keep_ms = 700});
    livekit_define(&k, "race", RUNG_WINDOWS_ALL);
    rung_live_spec specs[6] = {top("race", 1),
                               top("race", 10),
                               top("race", 100),
                               about(RUNG_LIVE_AROUND, "p1", 3),
                               about(RUNG_LIVE_AROUND, "p2", 0),
                               top("race", 10)};
    for (uint32_t i = 0; i < 6; i++)
        watch(&k, i, &specs[i], NULL);
    uint64_t steps = test_steps(2500);
    for (uint64_t step = 0; step < steps; step++) {
        for (uint64_t n = rung_rng_below(&rng, 4); n; n--)
            random_event(&k, &rng);
        uint32_t i = (uint32_t)rung_rng_below(&rng, 6);
        mirror *m = &mirrors[i];
        uint64_t what = rung_rng_below(&rng, 5);
        if (what == 0) {
            m->queued = m->queued ? 0 : 1 << 20;
        } else if (what == 1 && m->viewer) {
            rung_live_leave(m->viewer);
            m->viewer = NULL;
        } else if (what == 2 && !m->viewer) {
            uint64_t id = m->id;
            watch(&k, i, &specs[i], rung_rng_below(&rng, 4) ? &id : NULL);
        }
        frame(&k);
        for (i = 0; i < 6; i++)
            if (mirrors[i].viewer && !mirrors[i].queued)
                check_mirror(&k, &mirrors[i], &specs[i]);
    }
    rung_live_stats stats = rung_live_stat(k.live);
    CHECK_MSG(stats.resumed > 3 && stats.anew > 3 && stats.skipped > 10,
              "too tame: %" PRIu64 " resumed, %" PRIu64 " anew, %" PRIu64 " skipped", stats.resumed,
              stats.anew, stats.skipped);
    livekit_stop(&k);
}

TEST(no_memory_is_no_disaster) {
    for (uint64_t n = 1;; n++) {
        livekit k;
        rung_viewer *v;
        livekit_start(&k, &(rung_live_config){0});
        livekit_define(&k, "race", RUNG_WINDOWS_ALL);
        livekit_score(&k, "race", "ada", 10);
        rung_live_spec spec = top("race", 10), feed = about(RUNG_LIVE_FEED, "ada", 0);
        spec.asker = 1;
        feed.asker = 2;
        feed.sight = RUNG_SLICE("race");
        memset(mirrors, 0, sizeof mirrors);
        rung_failalloc_fail_at(&k.heap, n, false);
        bool is_open = rung_live_open(k.live, &spec, NULL, &sink, &mirrors[0], &mirrors[0].viewer,
                                      NULL) == RUNG_OK;
        rung_ignore(rung_live_open(k.live, &feed, NULL, &sink, &mirrors[1], &v, NULL), "may fail");
        mirrors[1].viewer = v;
        for (int i = 0; i < 3; i++) {
            livekit_score(&k, "race", "bob", 20 + i);
            livekit_score(&k, "race", "a much longer name than the others", 30 + i);
            frame(&k);
        }
        uint64_t failed = k.heap.failed_count;
        rung_failalloc_fail_at(&k.heap, 0, false);
        frame(&k);
        if (is_open)
            check_mirror(&k, &mirrors[0], &spec); /* made up for */
        livekit_stop(&k);
        if (!failed)
            break;
    }
}

RUNG_TEST_MAIN
