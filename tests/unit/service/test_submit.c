/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions: the same checks in the same order, and what each of them refuses. */
#include "service/submit.h"

#include "support/check.h"

#include <string.h>

#define NOW  INT64_C(1794744000000) /* 2026-11-15T12:00:00Z */
#define NONE ((rung_slice){NULL, 0})

typedef struct fixture {
    rung_service service;
    rung_event event;
    rung_status status; /* of the last answer */
    uint32_t answers;
} fixture;

static int64_t now(void *ctx) {
    (void)ctx;
    return NOW;
}

static void never(void *ctx, const rung_err *err) {
    (void)ctx;
    CHECK_MSG(false, "%s", err->message);
}

static void wake(void *ctx) {
    (void)ctx;
}

static void answered(void *ctx, rung_status st, const rung_outcome *outcome, const rung_err *err) {
    fixture *f = ctx;
    (void)outcome, (void)err;
    f->status = st;
    f->answers++;
}

static void define(fixture *f, const char *name, rung_update update, rung_score_type type) {
    rung_board_def def = rung_board_def_default();
    def.update = update;
    def.key.columns[0].type = type;
    if (update == RUNG_UPDATE_DECAY)
        def.half_life_ms = 3600000;
    CHECK_OK(rung_hub_define(f->service.hub, (rung_hub_sender){0}, rung_slice_str(name), &def,
                             answered, f, NULL));
    rung_hub_flush(f->service.hub);
    CHECK_EQ_I64(f->status, RUNG_OK);
}

static void begin(fixture *f, uint32_t per_player) {
    memset(f, 0, sizeof *f);
    rung_access_config access = {.alloc = rung_alloc_heap(),
                                 .per_player = {per_player, per_player ? 60000 : 0},
                                 .rate_capacity = 16};
    rung_hub_config hub = {
        .alloc = rung_alloc_heap(), .clock = {now, NULL}, .wake = wake, .fatal = never};
    CHECK_OK(rung_access_create(&access, &f->service.access, NULL));
    CHECK_OK(rung_hub_open(&hub, &f->service.hub, NULL));
    define(f, "best", RUNG_UPDATE_BEST, RUNG_SCORE_INTEGER);
    define(f, "sum", RUNG_UPDATE_SUM, RUNG_SCORE_REAL);
    define(f, "decay", RUNG_UPDATE_DECAY, RUNG_SCORE_REAL);
    f->answers = 0;
}

static void end(fixture *f) {
    CHECK_OK(rung_hub_close(f->service.hub, NULL));
    rung_access_destroy(f->service.access);
}

/* One submission as a door makes it. */
static rung_status submit(fixture *f, const char *board, const char *player, const char *value,
                          rung_access_answer *why) {
    const rung_board_def *def;
    rung_score_event *e = &f->event.score;
    f->event.kind = RUNG_EVENT_SCORE;
    *e = (rung_score_event){
        .board = rung_slice_str(board), .player = rung_slice_str(player), .value_count = 1};
    rung_status st = rung_submit_open(&f->service, NULL, e->board, NOW, &def, why);
    if (st >= 0)
        st = rung_submit_value(def, 0, rung_slice_str(value), e, &why->err);
    if (st >= 0)
        st = rung_submit_put(&f->service, NULL, (rung_hub_sender){0}, &f->event, NOW, answered, f,
                             why);
    return st;
}

TEST(values_by_column) {
    static const struct {
        const char *board, *value;
        rung_status status;
    } rows[] = {
        {"best", "7", RUNG_OK},         {"best", "-7", RUNG_OK},
        {"best", "7.5", RUNG_EINVAL},   {"best", "x", RUNG_EINVAL},
        {"none", "7", RUNG_EABSENT},    {"sum", "1e288", RUNG_OK},
        {"sum", "-1e288", RUNG_OK},     {"sum", "1.1e288", RUNG_ERANGE},
        {"sum", "-1e300", RUNG_ERANGE}, {"decay", "1e300", RUNG_OK},
        {"decay", "0", RUNG_ERANGE},    {"decay", "-1", RUNG_ERANGE},
    };
    fixture f;
    begin(&f, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rung_access_answer why = {0};
        rung_status st = submit(&f, rows[i].board, "ada", rows[i].value, &why);
        CHECK_MSG(st == rows[i].status, "%s %s: %d %s", rows[i].board, rows[i].value, st,
                  why.err.message);
        CHECK(why.verdict == RUNG_ACCESS_OK);
    }
    rung_hub_flush(f.service.hub);
    CHECK_EQ_U64(f.answers, 5);
    end(&f);
}

/* A door that brings a double does not look at the board; the rule of sums holds all the same. */
TEST(doubles_without_the_board) {
    static const struct {
        const char *board;
        double value;
        rung_status status;
    } rows[] = {{"sum", 1e288, RUNG_OK},
                {"sum", 1e289, RUNG_ERANGE},
                {"best", 1e300, RUNG_OK},
                {"a new key", 1.7e308, RUNG_OK},
                {"sum", -1e300, RUNG_ERANGE}};
    fixture f;
    rung_access_answer why;
    begin(&f, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f.event.kind = RUNG_EVENT_SCORE;
        f.event.score = (rung_score_event){.board = rung_slice_str(rows[i].board),
                                           .player = RUNG_SLICE("ada"),
                                           .when = RUNG_SCORE_KEY,
                                           .value_count = 1,
                                           .values = {{.d = rows[i].value}},
                                           .types = {RUNG_SCORE_REAL}};
        CHECK_STATUS(rung_submit_put(&f.service, NULL, (rung_hub_sender){0}, &f.event, NOW,
                                     answered, &f, &why),
                     rows[i].status);
    }
    end(&f);
}

/* What is malformed is not counted; what is counted is refused with the time to wait. */
TEST(limits_come_last) {
    fixture f;
    rung_access_answer why = {0};
    begin(&f, 2);
    for (int i = 0; i < 5; i++) {
        CHECK_STATUS(submit(&f, "best", "ada", "x", &why), RUNG_EINVAL);
        CHECK_STATUS(submit(&f, "none", "ada", "1", &why), RUNG_EABSENT);
        CHECK_STATUS(submit(&f, "sum", "ada", "1e300", &why), RUNG_ERANGE);
        f.event.score.has_at = true;
        f.event.score.at_ms = INT64_MAX;
        f.event.score.values[0].d = 1;
        CHECK_STATUS(rung_submit_put(&f.service, NULL, (rung_hub_sender){0}, &f.event, NOW,
                                     answered, &f, &why),
                     RUNG_ERANGE);
        CHECK(strstr(why.err.message, "at:"));
    }
    CHECK_OK(submit(&f, "best", "ada", "1", &why));
    CHECK_OK(submit(&f, "best", "ada", "2", &why));
    CHECK_STATUS(submit(&f, "best", "ada", "3", &why), RUNG_ELIMIT);
    CHECK_EQ_I64(why.verdict, RUNG_ACCESS_TOO_MANY);
    CHECK_EQ_U64(why.rate.retry_s, 30);
    CHECK_OK(submit(&f, "best", "bob", "3", &why));
    CHECK_EQ_I64(why.verdict, RUNG_ACCESS_OK);
    end(&f);
}

/* A door that puts several submissions in one event asks for each of them. */
TEST(checked_without_being_put) {
    fixture f;
    rung_access_answer why = {0};
    begin(&f, 2);
    rung_score_event e = {.board = RUNG_SLICE("sum"),
                          .player = RUNG_SLICE("ada"),
                          .value_count = 1,
                          .values = {{.d = 1e289}},
                          .types = {RUNG_SCORE_REAL}};
    CHECK_STATUS(rung_submit_check(&f.service, NULL, &e, NOW, &why), RUNG_ERANGE);
    CHECK_EQ_I64(why.verdict, RUNG_ACCESS_OK);
    e.values[0].d = 1;
    CHECK_OK(rung_submit_check(&f.service, NULL, &e, NOW, &why));
    CHECK_OK(rung_submit_check(&f.service, NULL, &e, NOW, &why));
    CHECK_STATUS(rung_submit_check(&f.service, NULL, &e, NOW, &why), RUNG_ELIMIT);
    CHECK_EQ_I64(why.verdict, RUNG_ACCESS_TOO_MANY);
    CHECK_EQ_U64(f.answers, 0);
    end(&f);
}

TEST(access_comes_first) {
    fixture f;
    const rung_board_def *def;
    rung_access_answer why = {0};
    rung_who stranger = {.key_id_len = 3, .key_id = "abc", .generation = 99};
    begin(&f, 0);
    CHECK_STATUS(rung_submit_open(&f.service, &stranger, RUNG_SLICE("none"), NOW, &def, &why),
                 RUNG_EREFUSED);
    CHECK_EQ_I64(why.verdict, RUNG_ACCESS_UNKNOWN);
    rung_who all;
    CHECK_EQ_I64(rung_access_identify(f.service.access, NONE, NONE, NOW, &all, NULL), 0);
    CHECK_STATUS(rung_submit_open(&f.service, &all, RUNG_SLICE("none"), NOW, &def, &why),
                 RUNG_EABSENT);
    CHECK_OK(rung_submit_open(&f.service, &all, RUNG_SLICE("sum"), NOW, &def, &why));
    CHECK_EQ_I64(def->update, RUNG_UPDATE_SUM);
    end(&f);
}

RUNG_TEST_MAIN
