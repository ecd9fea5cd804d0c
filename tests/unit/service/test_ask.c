/* SPDX-License-Identifier: Apache-2.0 */
/* Ranked questions, of the state and of an archive that is none: which of them is asked, when, and what becomes of the
 * answer. The loop is the test: work runs when it says so. */
#include "service/ask.h"

#include "support/check.h"

#include <stdio.h>
#include <string.h>

#define NOON INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */
#define RACE RUNG_SLICE("race")

enum { ROWS = 8 };

typedef struct fixture {
    rung_service service;
    int64_t now_ms, loop_ms;
    rung_asker_work *work[RUNG_ASKER_READERS_MAX]; /* begun and not done */
    bool has_no_memory;                            /* for work */
    uint32_t looks;                                /* asked for */
    bool has_marks;
    rung_archive_stats marks;
    /* what the archive holds: ranks 1 .. total of players "p0", "p1", ..., scores total .. 1 */
    uint32_t total, opened, closed;
    rung_status failure;
    char names[ROWS][4];
    uint8_t definition[RUNG_BOARD_DEF_BYTES_MAX];
    size_t definition_len;
    /* the last answer */
    uint32_t answers, of_second; /* of_second: of the second of November */
    rung_status status;
    rung_reason reason;
    uint32_t count, self, list_total, first_rank;
    char first[RUNG_NAME_MAX + 1], window_id[RUNG_NAME_MAX + 1];
} fixture;

/* ---- an archive ---- */

static void set_row(fixture *f, uint32_t index, rung_row *row) {
    *row = (rung_row){.rank = index + 1, .index = index, .value_count = 1};
    row->values[0].i = f->total - index;
    row->id = rung_slice_str(f->names[index]);
}

static rung_status open_window(rung_archive *a, const rung_archive_query *q,
                               rung_archive_view *view, rung_err *err) {
    fixture *f = (fixture *)a;
    if (f->failure < 0)
        return RUNG_FAIL(err, f->failure, "the disk is gone");
    if (!f->total)
        return RUNG_NOT_FOUND;
    f->opened++;
    *view = (rung_archive_view){.total = f->total, .rank = q->rank, .archive = a};
    view->window = (rung_archive_window){.kind = q->kind, .id = q->window_id};
    view->window.definition = rung_slice_of((const char *)f->definition, f->definition_len);
    return RUNG_OK;
}

static void close_window(rung_archive_view *view) {
    ((fixture *)view->archive)->closed++;
}

static rung_status top(rung_archive_view *view, uint32_t offset, uint32_t limit, rung_row *rows,
                       uint32_t *count_out, rung_err *err) {
    fixture *f = (fixture *)view->archive;
    (void)err;
    *count_out = 0;
    for (uint32_t i = offset; i < f->total && *count_out < limit; i++)
        set_row(f, i, &rows[(*count_out)++]);
    return RUNG_OK;
}

static bool find(fixture *f, rung_slice id, uint32_t *index_out) {
    for (uint32_t i = 0; i < f->total; i++)
        if (rung_slice_eq(id, rung_slice_str(f->names[i]))) {
            *index_out = i;
            return true;
        }
    return false;
}

static rung_status around(rung_archive_view *view, rung_slice id, uint32_t n, rung_row *rows,
                          uint32_t *count_out, uint32_t *self_out, rung_err *err) {
    fixture *f = (fixture *)view->archive;
    uint32_t index;
    if (!find(f, id, &index))
        return RUNG_NOT_FOUND;
    uint32_t from = index < n ? 0 : index - n;
    *self_out = index - from;
    return top(view, from, 2 * n + 1, rows, count_out, err);
}

static rung_status rows_of(rung_archive_view *view, uint32_t n, const rung_slice *ids,
                           rung_row *rows, bool *found, rung_err *err) {
    fixture *f = (fixture *)view->archive;
    uint32_t index;
    (void)err;
    for (uint32_t i = 0; i < n; i++)
        if ((found[i] = find(f, ids[i], &index)))
            set_row(f, index, &rows[i]);
    return RUNG_OK;
}

static const rung_archive_port port = {
    .open = open_window, .close = close_window, .top = top, .around = around, .rows = rows_of};

/* ---- a loop ---- */

static bool begin_work(void *ctx, uint32_t reader, rung_asker_work *w) {
    fixture *f = ctx;
    CHECK(!f->work[reader]);
    if (f->has_no_memory)
        return false;
    f->work[reader] = w;
    return true;
}

static void look_in(void *ctx, uint32_t ms) {
    fixture *f = ctx;
    CHECK(ms > 0);
    f->looks++;
}

static int64_t loop_now(void *ctx) {
    return ((fixture *)ctx)->loop_ms;
}

static bool marks_of(void *ctx, rung_archive_stats *out) {
    fixture *f = ctx;
    *out = f->marks;
    return f->has_marks;
}

static uint32_t turn(fixture *f) {
    uint32_t done = 0;
    for (uint32_t i = 0; i < RUNG_ASKER_READERS_MAX; i++) {
        rung_asker_work *w = f->work[i];
        if (!w)
            continue;
        f->work[i] = NULL;
        w->run(w);
        w->done(w);
        done++;
    }
    return done;
}

/* ---- a server ---- */

static int64_t now(void *ctx) {
    return ((fixture *)ctx)->now_ms;
}

static void wake(void *ctx) {
    (void)ctx;
}

static void put(fixture *f, rung_event *event) {
    CHECK_OK(rung_hub_put(f->service.hub, event, NULL, NULL, NULL));
    rung_hub_flush(f->service.hub);
}

static void score(fixture *f, const char *player, int64_t value) {
    rung_event e = {.kind = RUNG_EVENT_SCORE};
    e.score = (rung_score_event){.board = RACE,
                                 .player = rung_slice_str(player),
                                 .value_count = 1,
                                 .values = {{.i = value}}};
    put(f, &e);
}

static void begin(fixture *f, uint32_t readers) {
    memset(f, 0, sizeof *f);
    f->now_ms = NOON;
    f->total = 5;
    for (uint32_t i = 0; i < ROWS; i++)
        f->names[i][0] = 'p', f->names[i][1] = (char)('0' + i);
    CHECK_OK(rung_hub_open(
        &(rung_hub_config){.alloc = rung_alloc_heap(), .clock = {now, f}, .wake = wake},
        &f->service.hub, NULL));
    rung_asker_config config = {.alloc = rung_alloc_heap(),
                                .wait_ms = 5000,
                                .work = begin_work,
                                .look_in = look_in,
                                .now_ms = loop_now,
                                .marks = marks_of,
                                .ctx = f};
    CHECK_OK(rung_asker_create(&config, &f->service.asker, NULL));
    f->service.alloc = rung_alloc_heap();
    rung_asker_start(f->service.asker, rung_hub_state(f->service.hub));
    for (uint32_t i = 0; i < readers; i++)
        CHECK(rung_asker_add_reader(f->service.asker, &port, (rung_archive *)f));
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.scopes[def.scope_count++] = RUNG_SLICE("country");
    CHECK_OK(rung_hub_define(f->service.hub, (rung_hub_sender){0}, RACE, &def, NULL, NULL, NULL));
    CHECK_OK(rung_board_def_encode(&def, f->definition, sizeof f->definition, &f->definition_len));
    rung_hub_flush(f->service.hub);
    score(f, "p3", 30);
    score(f, "p1", 10);
    score(f, "p2", 20);
}

static void end(fixture *f) {
    CHECK_EQ_U64(f->opened, f->closed);
    CHECK(!rung_asker_is_busy(f->service.asker));
    CHECK_EQ_U64(rung_asker_stat(f->service.asker).waiting, 0);
    rung_asker_destroy(f->service.asker);
    CHECK_OK(rung_hub_close(f->service.hub, NULL));
}

static void answered(void *ctx, rung_status st, const rung_question *q, const rung_err *err) {
    fixture *f = ctx;
    f->answers++;
    f->status = st;
    f->reason = err->reason;
    f->count = q->count;
    f->self = q->self;
    f->list_total = q->list_total;
    f->first[0] = 0;
    if (st != RUNG_OK)
        return;
    CHECK(q->k.closed && !q->k.has_numbers && q->k.def);
    CHECK_EQ_U64(q->k.total, f->total);
    snprintf(f->window_id, sizeof f->window_id, "%.*s", (int)q->k.window_id_len, q->k.window_id);
    f->of_second += strcmp(f->window_id, "2026-11-02") == 0;
    if (q->count) {
        snprintf(f->first, sizeof f->first, "%.*s", (int)q->rows[0].id.len, q->rows[0].id.ptr);
        f->first_rank = q->kind == RUNG_ASK_FRIENDS ? q->rows[0].list_rank : q->rows[0].rank;
    }
}

/* Open, and send it to the archive. */
static rung_status defer(fixture *f, rung_question *q, uint32_t share) {
    rung_view view;
    rung_err err = {0};
    rung_status st = rung_question_open(&f->service, q, &view, &err);
    if (st != RUNG_PARTIAL)
        return st;
    return rung_question_defer(&f->service, q,
                               &(rung_ask_later){.done = answered, .ctx = f, .share = share}, &err);
}

static rung_question past(rung_ask_kind kind) {
    return (rung_question){.kind = kind,
                           .query = {.board = RACE,
                                     .window = RUNG_SLICE("day"),
                                     .window_id = RUNG_SLICE("2026-11-01"),
                                     .now_ms = NOON},
                           .limit = 3};
}

/* ---- memory ---- */

/* Today is the log's today, also after the clock was set back: what was just sent is in it. */
TEST(a_clock_behind_the_log_does_not_undo_its_events) {
    fixture f;
    rung_view view;
    rung_err err;
    begin(&f, 0);
    f.now_ms = NOON - 86400000;
    rung_question q = {.query = {.board = RACE, .window = RUNG_SLICE("day")}};
    CHECK_OK(rung_question_open(&f.service, &q, &view, &err));
    CHECK_EQ_U64(q.k.total, 3);
    CHECK_EQ_I64(view.now_ms, NOON);
    end(&f);
}

TEST(what_is_in_memory_is_answered_at_once) {
    fixture f;
    rung_view view;
    rung_err err;
    rung_row rows[ROWS];
    bool found[2];
    rung_slice ids[] = {RUNG_SLICE("p2"), RUNG_SLICE("nobody")};
    begin(&f, 1);
    rung_question q = {.query = {.board = RACE, .now_ms = NOON},
                       .limit = 2,
                       .around = 1,
                       .rows = rows,
                       .found = found,
                       .ids = ids,
                       .id_count = 2};
    CHECK_OK(rung_question_open(&f.service, &q, &view, &err));
    CHECK_EQ_STR(q.k.window_id, "all");
    CHECK(q.k.has_numbers && !q.k.closed && q.k.total == 3);
    CHECK_OK(rung_question_read(&q, &view, rung_alloc_heap(), &err)); /* nothing to do */
    q.kind = RUNG_ASK_TOP;
    CHECK_OK(rung_question_read(&q, &view, rung_alloc_heap(), &err));
    CHECK(q.count == 2 && rung_slice_eq(rows[0].id, RUNG_SLICE("p3")));
    q.kind = RUNG_ASK_AROUND;
    CHECK_OK(rung_question_read(&q, &view, rung_alloc_heap(), &err));
    CHECK(q.count == 3 && q.self == 1);
    q.kind = RUNG_ASK_PLAYERS;
    CHECK_OK(rung_question_read(&q, &view, rung_alloc_heap(), &err));
    CHECK(found[0] && !found[1] && rows[0].rank == 2);
    q.kind = RUNG_ASK_FRIENDS;
    CHECK_OK(rung_question_read(&q, &view, rung_alloc_heap(), &err));
    CHECK(q.count == 1 && q.list_total == 1);
    q.kind = RUNG_ASK_TARGET;
    q.target_percent = 50;
    CHECK_OK(rung_question_read(&q, &view, rung_alloc_heap(), &err));
    CHECK(q.count == 1 && rung_slice_eq(rows[0].id, RUNG_SLICE("p2")));
    q.target_rank = 4;
    CHECK_OK(rung_question_read(&q, &view, rung_alloc_heap(), &err));
    CHECK_EQ_U64(q.count, 0);
    q.ids = ids + 1;
    q.kind = RUNG_ASK_AROUND;
    CHECK_STATUS(rung_question_read(&q, &view, rung_alloc_heap(), &err), RUNG_NOT_FOUND);
    CHECK_EQ_STR(err.field, "player");
    q.kind = RUNG_ASK_FRIENDS;
    CHECK_STATUS(rung_question_read(&q, &view, rung_alloc_heap(), &err), RUNG_NOT_FOUND);
    end(&f);
}

TEST(what_cannot_be_asked) {
    static const struct {
        const char *window, *id, *on, *scope;
        bool teams;
        rung_status status;
        const char *field;
    } rows[] = {
        {"day", "2026-11-01", "2026-11-01", "", false, RUNG_EINVAL, "on"},
        {"day", "soon", "", "", false, RUNG_EINVAL, "window_id"},
        {"day", "", "soon", "", false, RUNG_EINVAL, "on"},
        {"day", "2026-11-01", "", "country", false, RUNG_EINVAL, "scope"},
        {"day", "2026-11-01", "", "guild:x", false, RUNG_NOT_FOUND, "scope"},
        {"day", "2026-11-01", "", "", true, RUNG_NOT_FOUND, "teams"},
        {"spring", "summer", "", "", false, RUNG_NOT_FOUND, "window"}, /* two seasons */
        {"all", "1999", "", "", false, RUNG_NOT_FOUND, "window_id"},
        {"week", "", "", "", false, RUNG_NOT_FOUND, "window"}, /* which week? */
        {"day", "2026-11-01", "", "country:FI", false, RUNG_PARTIAL, NULL},
        {"spring", "", "", "", false, RUNG_PARTIAL, NULL},
        {"week", "2026-W40", "", "", false, RUNG_PARTIAL, NULL},
        {"day", "", "2026-11-01", "", false, RUNG_PARTIAL, NULL},
    };
    fixture f;
    begin(&f, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rung_view view;
        rung_err err = {0};
        rung_question q = {.kind = RUNG_ASK_TOP,
                           .query = {.board = RACE,
                                     .window = rung_slice_str(rows[i].window),
                                     .window_id = rung_slice_str(rows[i].id),
                                     .on = rung_slice_str(rows[i].on),
                                     .scope = rung_slice_str(rows[i].scope),
                                     .teams = rows[i].teams,
                                     .now_ms = NOON}};
        rung_status st = rung_question_open(&f.service, &q, &view, &err);
        CHECK_MSG(st == rows[i].status, "row %zu: %d %s", i, st, err.message);
        if (rows[i].field)
            CHECK_EQ_STR(err.field, rows[i].field);
    }
    rung_question other = past(RUNG_ASK_TOP);
    other.query.board = RUNG_SLICE("none");
    CHECK_STATUS(defer(&f, &other, 1), RUNG_NOT_FOUND);
    rung_question memory = past(RUNG_ASK_MEMORY);
    CHECK_STATUS(defer(&f, &memory, 1), RUNG_EABSENT);
    end(&f);
    begin(&f, 0); /* no archive */
    rung_question none = past(RUNG_ASK_TOP);
    CHECK_STATUS(defer(&f, &none, 1), RUNG_NOT_FOUND);
    end(&f);
}

/* ---- the archive ---- */

TEST(the_archive_answers_each_kind) {
    fixture f;
    rung_slice ids[] = {RUNG_SLICE("p3"), RUNG_SLICE("nobody")};
    begin(&f, 1);
    rung_question q = past(RUNG_ASK_TOP);
    q.offset = 1;
    CHECK_OK(defer(&f, &q, 1));
    CHECK_EQ_U64(f.answers, 0); /* never from the call */
    CHECK_EQ_U64(turn(&f), 1);
    CHECK_EQ_STR(f.window_id, "2026-11-01");
    CHECK(f.status == RUNG_OK && f.count == 3);
    CHECK_EQ_STR(f.first, "p1");
    q = past(RUNG_ASK_AROUND);
    q.around = 1;
    q.ids = ids;
    q.id_count = 1;
    CHECK_OK(defer(&f, &q, 1));
    turn(&f);
    CHECK(f.status == RUNG_OK && f.count == 3 && f.self == 1);
    q.ids = ids + 1;
    CHECK_OK(defer(&f, &q, 1));
    turn(&f);
    CHECK_STATUS(f.status, RUNG_NOT_FOUND);
    q = past(RUNG_ASK_PLAYERS);
    q.ids = ids;
    q.id_count = 2;
    CHECK_OK(defer(&f, &q, 1));
    turn(&f);
    CHECK_OK(f.status);
    end(&f);
}

TEST(friends_of_the_archive) {
    fixture f;
    rung_slice ids[] = {RUNG_SLICE("p3"), RUNG_SLICE("nobody")};
    begin(&f, 1);
    for (const char *other = "12"; *other; other++) {
        rung_event e = {.kind = RUNG_EVENT_FRIEND_ADDED};
        char name[3] = {'p', *other, 0};
        e.friend.player = RUNG_SLICE("p3");
        e.friend.other = rung_slice_str(name);
        put(&f, &e);
    }
    rung_question q = past(RUNG_ASK_FRIENDS);
    q.ids = ids;
    q.id_count = 1;
    q.offset = 1;
    CHECK_OK(defer(&f, &q, 1));
    turn(&f);
    CHECK(f.status == RUNG_OK && f.list_total == 3 && f.count == 2);
    CHECK_EQ_STR(f.first, "p2");
    CHECK_EQ_U64(f.first_rank, 2);
    q.ids = ids + 1;
    CHECK_STATUS(defer(&f, &q, 1), RUNG_NOT_FOUND);
    end(&f);
}

TEST(targets_of_the_archive) {
    static const struct {
        uint32_t rank;
        double percent;
        rung_rank_style style;
        const char *player;
    } rows[] = {{1, 0, RUNG_RANK_UNIQUE, "p0"},  {5, 0, RUNG_RANK_SPARSE, "p4"},
                {3, 0, RUNG_RANK_DENSE, "p2"},   {6, 0, RUNG_RANK_UNIQUE, ""},
                {0, 40, RUNG_RANK_SPARSE, "p1"}, {0, 0, RUNG_RANK_SPARSE, "p0"}};
    fixture f;
    begin(&f, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rung_question q = past(RUNG_ASK_TARGET);
        q.target_rank = rows[i].rank;
        q.target_percent = rows[i].percent;
        q.query.has_rank = true;
        q.query.rank = rows[i].style;
        CHECK_OK(defer(&f, &q, 1));
        turn(&f);
        CHECK_OK(f.status);
        CHECK_EQ_STR(f.first, rows[i].player);
    }
    end(&f);
}

/* ---- waiting ---- */

/* A ban that the archive has not seen yet: it is not asked before; and a window that may be on its way is looked for
 * again. */
TEST(it_waits_for_an_archive_that_is_behind) {
    fixture f;
    begin(&f, 1);
    f.has_marks = true;
    f.marks = (rung_archive_stats){.cursor_seq = 3, .changed_seq = 5, .closed_seq = 9};
    rung_question q = past(RUNG_ASK_TOP);
    CHECK_OK(defer(&f, &q, 1));
    CHECK_EQ_U64(turn(&f), 0);
    CHECK_EQ_U64(f.looks, 1);
    f.marks.cursor_seq = 5;
    f.total = 0; /* the window is not there yet */
    rung_asker_look(f.service.asker);
    CHECK_EQ_U64(turn(&f), 1);
    CHECK_EQ_U64(f.answers, 0);
    f.marks.cursor_seq = 9;
    f.total = 5;
    rung_asker_look(f.service.asker);
    CHECK_EQ_U64(turn(&f), 1);
    CHECK_EQ_U64(f.answers, 1);
    CHECK_OK(f.status);
    end(&f);
}

TEST(it_does_not_wait_forever) {
    fixture f;
    begin(&f, 1);
    f.has_marks = true;
    f.marks = (rung_archive_stats){.cursor_seq = 3, .changed_seq = 5};
    rung_question q = past(RUNG_ASK_TOP);
    CHECK_OK(defer(&f, &q, 1));
    f.loop_ms = 4999;
    rung_asker_look(f.service.asker);
    CHECK_EQ_U64(f.answers, 0);
    f.loop_ms = 5000;
    rung_asker_look(f.service.asker);
    CHECK_EQ_U64(f.answers, 1);
    CHECK(f.status == RUNG_EBUSY && f.reason == RUNG_REASON_ARCHIVE_BEHIND);
    CHECK_EQ_U64(rung_asker_stat(f.service.asker).late, 1);
    end(&f);
}

TEST(failures_are_the_archives) {
    static const struct {
        rung_status status, told;
        rung_reason reason;
    } rows[] = {{RUNG_ECORRUPT, RUNG_EIO, RUNG_REASON_ARCHIVE},
                {RUNG_EABSENT, RUNG_EABSENT, RUNG_REASON_NOT_ARCHIVED}};
    fixture f;
    begin(&f, 1);
    for (size_t i = 0; i < 2; i++) {
        rung_question q = past(RUNG_ASK_TOP);
        f.failure = rows[i].status;
        CHECK_OK(defer(&f, &q, 1));
        turn(&f);
        CHECK(f.status == rows[i].told && f.reason == rows[i].reason);
    }
    f.failure = RUNG_OK;
    f.has_no_memory = true; /* it is tried again */
    rung_question q = past(RUNG_ASK_TOP);
    CHECK_OK(defer(&f, &q, 1));
    CHECK_EQ_U64(turn(&f), 0);
    f.has_no_memory = false;
    rung_asker_look(f.service.asker);
    CHECK_EQ_U64(turn(&f), 1);
    CHECK_OK(f.status);
    CHECK_EQ_U64(rung_asker_stat(f.service.asker).failures, 2);
    f.definition_len = 1; /* not a definition */
    CHECK_OK(defer(&f, &q, 1));
    turn(&f);
    CHECK_EQ_I64(f.status, RUNG_EIO);
    end(&f);
}

/* Who asks much does not stand before who asks little; and there is an end to what may wait. */
TEST(it_is_fair) {
    fixture f;
    uint32_t accepted = 0, turns = 0;
    begin(&f, RUNG_ASKER_READERS_MAX);
    CHECK(!rung_asker_add_reader(f.service.asker, &port, (rung_archive *)&f));
    rung_question q = past(RUNG_ASK_TOP);
    while (defer(&f, &q, 1) == RUNG_OK)
        accepted++;
    CHECK(accepted >= RUNG_ASKER_WAITING_MAX / 2 && accepted < RUNG_ASKER_WAITING_MAX);
    q.query.window_id = RUNG_SLICE("2026-11-02");
    CHECK_OK(defer(&f, &q, 2));
    for (; !f.of_second; turns++)
        CHECK(turn(&f));
    CHECK(turns <= 3);
    while (turn(&f))
        ;
    CHECK_EQ_U64(f.answers, accepted + 1);
    end(&f);
}

TEST(stopping_refuses_what_waits) {
    fixture f;
    begin(&f, 1);
    rung_question q = past(RUNG_ASK_TOP);
    CHECK_OK(defer(&f, &q, 1));
    CHECK_OK(defer(&f, &q, 1));
    rung_asker_stop(f.service.asker);
    CHECK_EQ_U64(f.answers, 1);
    CHECK_EQ_I64(f.status, RUNG_ECLOSED);
    CHECK(rung_asker_is_busy(f.service.asker));
    rung_asker_look(f.service.asker);
    CHECK_EQ_U64(turn(&f), 1);
    CHECK_EQ_U64(f.answers, 2);
    CHECK_STATUS(defer(&f, &q, 1), RUNG_ECLOSED);
    end(&f);
}

RUNG_TEST_MAIN
