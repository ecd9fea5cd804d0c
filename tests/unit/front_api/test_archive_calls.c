/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that the archive answers, with an archive made of constants. */
#include "support/askkit.h"

#define DAY INT64_C(86400000)
#define NOW INT64_C(1800000000000)

/* What it says to every question; `windows_found` tells how many windows it lists. */
typedef struct fake {
    rung_status status;
    uint32_t windows_found, points_found, scores_found;
} fake;

static rung_status answer_of(const rung_archive *a, rung_err *err) {
    const fake *f = (const fake *)a;
    return f->status < 0 ? RUNG_FAIL(err, f->status, "the disk has failed") : f->status;
}

static rung_status cursor(rung_archive *a, uint64_t *seq_out, int64_t *log_time_ms_out,
                          rung_err *err) {
    (void)log_time_ms_out;
    *seq_out = 4711;
    return answer_of(a, err);
}

static rung_status open_view(rung_archive *a, const rung_archive_query *q,
                             rung_archive_view *view_out, rung_err *err) {
    static char bytes[4096];
    size_t size = 0;
    rung_board_def def = rung_board_def_default();
    def.windows = RUNG_WINDOWS_ALL | 1u << RUNG_WINDOW_DAY;
    CHECK_OK(rung_board_def_encode(&def, bytes, sizeof bytes, &size));
    rung_status st = answer_of(a, err);
    *view_out = (rung_archive_view){.total = 2,
                                    .distinct = 2,
                                    .archive = a,
                                    .window = {.board = q->board,
                                               .kind = q->kind,
                                               .id = q->window_id,
                                               .definition = rung_slice_of(bytes, size),
                                               .start_ms = NOW - 9 * DAY,
                                               .end_ms = NOW - 8 * DAY}};
    return st;
}

static void close_view(rung_archive_view *view) {
    (void)view;
}

static void fill_row(rung_row *row, const char *player, uint32_t rank) {
    *row = (rung_row){.id = rung_slice_str(player), .rank = rank, .value_count = 1};
    row->values[0].i = 100 - (int64_t)rank;
}

static rung_status top(rung_archive_view *view, uint32_t offset, uint32_t limit, rung_row *rows,
                       uint32_t *count_out, rung_err *err) {
    (void)view;
    (void)err;
    *count_out = 0;
    for (uint32_t i = offset; i < 2 && *count_out < limit; i++)
        fill_row(&rows[(*count_out)++], i ? "old2" : "old1", i + 1);
    return RUNG_OK;
}

static rung_status around(rung_archive_view *view, rung_slice id, uint32_t n, rung_row *rows,
                          uint32_t *count_out, uint32_t *self_out, rung_err *err) {
    (void)view;
    (void)n;
    if (!rung_slice_eq(id, RUNG_SLICE("old1")))
        return RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "player", "not in this window");
    fill_row(&rows[0], "old1", 1);
    *count_out = 1;
    *self_out = 0;
    return RUNG_OK;
}

static rung_status rows_of(rung_archive_view *view, uint32_t n, const rung_slice *ids,
                           rung_row *rows, bool *found, rung_err *err) {
    (void)view;
    (void)err;
    for (uint32_t i = 0; i < n; i++) {
        found[i] = rung_slice_eq(ids[i], RUNG_SLICE("old1"));
        fill_row(&rows[i], "old1", 1);
    }
    return RUNG_OK;
}

static rung_status windows(rung_archive *a, rung_slice board, uint32_t kind, int64_t before_end_ms,
                           uint32_t limit, rung_archive_window *out, uint32_t *count_out,
                           rung_err *err) {
    uint32_t n = ((const fake *)a)->windows_found;
    static char ids[64][16];
    (void)kind;
    (void)before_end_ms;
    *count_out = n < limit ? n : limit;
    for (uint32_t i = 0; i < *count_out; i++) {
        int len = snprintf(ids[i], sizeof ids[i], "2026-10-%02u", i + 1);
        out[i] = (rung_archive_window){.board = board,
                                       .kind = RUNG_WINDOW_DAY,
                                       .id = rung_slice_of(ids[i], (size_t)len),
                                       .start_ms = NOW - (int64_t)(i + 10) * DAY,
                                       .end_ms = NOW - (int64_t)(i + 9) * DAY,
                                       .total = 2};
    }
    return answer_of(a, err);
}

static const rung_archive_values one_value = {.count = 1, .values = {{.i = 5}}};
static const rung_archive_values two_values = {.count = 2, .values = {{.i = 5}, {.i = 6}}};

static rung_status history(rung_archive *a, rung_slice board, rung_slice player, int64_t from_ms,
                           int64_t to_ms, uint32_t limit, rung_archive_point *out,
                           uint32_t *count_out, rung_err *err) {
    (void)board;
    (void)player;
    (void)from_ms;
    (void)to_ms;
    (void)limit;
    *count_out = ((const fake *)a)->points_found;
    for (uint32_t i = 0; i < *count_out; i++)
        out[i] = (rung_archive_point){.time_ms = NOW - DAY,
                                      .is_sample = i % 2,
                                      .kind = RUNG_WINDOW_DAY,
                                      .window_id = RUNG_SLICE("2026-10-01"),
                                      .place = 1,
                                      .sparse = 2,
                                      .dense = 3,
                                      .total = 4,
                                      .values = i ? two_values : one_value};
    return answer_of(a, err);
}

static rung_status scores(rung_archive *a, const rung_archive_score_query *q, uint32_t limit,
                          rung_archive_score *out, uint32_t *count_out, rung_err *err) {
    static const struct {
        int status;
        const char *meta;
    } kinds[] = {{RUNG_OK, "{\"a\":1}"}, {RUNG_UNCHANGED, "[1"},   {RUNG_DUPLICATE, "text"},
                 {RUNG_EABSENT, ""},     {RUNG_EREFUSED, "[1,2]"}, {RUNG_STATUS_UNKNOWN, ""}};
    uint32_t n = ((const fake *)a)->scores_found;
    (void)q;
    *count_out = n < limit ? n : limit;
    for (uint32_t i = 0; i < *count_out; i++)
        out[i] = (rung_archive_score){.seq = 100 - i,
                                      .board = i % 2 ? RUNG_SLICE("gone") : RUNG_SLICE("laps"),
                                      .player = RUNG_SLICE("ada"),
                                      .is_delta = i == 2,
                                      .at_ms = NOW - i,
                                      .values = i == 3 ? (rung_archive_values){0} : two_values,
                                      .id = i ? RUNG_SLICE("id") : RUNG_SLICE(""),
                                      .meta = rung_slice_str(kinds[i % 6].meta),
                                      .status = kinds[i % 6].status};
    return answer_of(a, err);
}

static rung_status audit(rung_archive *a, const rung_archive_audit_query *q, uint32_t limit,
                         rung_archive_audit *out, uint32_t *count_out, rung_err *err) {
    static const struct {
        const char *kind, *before, *after;
        int status;
        rung_rule rule;
    } kinds[] = {{"banned", "{\"banned\":false}", "{\"banned\":true}", RUNG_OK, RUNG_RULE_NONE},
                 {"submissions refused", "", "not JSON", RUNG_EREFUSED, RUNG_RULE_MAX},
                 {"board defined", "", "{}", RUNG_UNCHANGED, RUNG_RULE_NONE},
                 {"board deleted", "", "", RUNG_STATUS_UNKNOWN, RUNG_RULE_NONE}};
    *count_out = 0;
    for (uint32_t i = 0; i < COUNT_OF(kinds) && *count_out < limit; i++) {
        if (q->kind.len && !rung_slice_eq(q->kind, rung_slice_str(kinds[i].kind)))
            continue;
        if (q->from_ms || q->to_ms || q->after_seq) /* nothing is that old */
            continue;
        out[(*count_out)++] =
            (rung_archive_audit){.seq = 50 - i,
                                 .entry = i,
                                 .ts_ms = i ? NOW : 0,
                                 .kind = rung_slice_str(kinds[i].kind),
                                 .board = i ? RUNG_SLICE("race") : RUNG_SLICE(""),
                                 .player = i ? RUNG_SLICE("") : RUNG_SLICE("ada"),
                                 .actor_key = i == 0 ? RUNG_SLICE("boss") : RUNG_SLICE(""),
                                 .actor_address = i == 2 ? RUNG_SLICE("::1") : RUNG_SLICE(""),
                                 .reason = i == 0 ? RUNG_SLICE("a bot") : RUNG_SLICE(""),
                                 .before = rung_slice_str(kinds[i].before),
                                 .after = rung_slice_str(kinds[i].after),
                                 .status = kinds[i].status,
                                 .rule = kinds[i].rule};
    }
    return answer_of(a, err);
}

static const rung_archive_port port = {.audit = audit,
                                       .cursor = cursor,
                                       .open = open_view,
                                       .close = close_view,
                                       .top = top,
                                       .around = around,
                                       .rows = rows_of,
                                       .windows = windows,
                                       .history = history,
                                       .scores = scores};

static bool far_behind(void *ctx, rung_archive_stats *out) {
    (void)ctx;
    *out = (rung_archive_stats){.cursor_seq = 1, .changed_seq = 1000, .closed_seq = 1000};
    return true;
}

static void start(frontkit *k, fake *f, const frontkit_config *config) {
    frontkit_start(k, config);
    CHECK(rung_asker_add_reader(rung_api_asker(k->api), &port, (rung_archive *)f));
    frontkit_define(k, "race", RUNG_WINDOWS_ALL | 1u << RUNG_WINDOW_DAY);
    CHECK_OK(frontkit_score(k, "race", "ada", 1));
    frontkit_turn(k, 2);
    CHECK_EQ_I64(ask(k, "PUT", "/v1/boards/laps", NULL,
                     "{\"columns\":[{\"name\":\"time\",\"type\":\"integer\"}]}"),
                 201);
}

TEST(what_the_archive_has) {
    static const ask_row rows[] = {
        {"GET", "/v1/boards/race/top?window=day&window_id=2026-10-01", NULL, 200,
         "\"player\":\"old1\""},
        {"GET", "/v1/boards/race/top?window=day&on=2026-10-01&offset=1", NULL, 200, "old2"},
        {"GET", "/v1/boards/race/players/old1?window=day&window_id=2026-10-01", NULL, 200,
         "\"rank\":1"},
        {"GET", "/v1/boards/race/players/zoe?window=day&window_id=2026-10-01", NULL, 404,
         "player_not_found"},
        {"GET", "/v1/boards/race/players?ids=old1,zoe&window=day&window_id=2026-10-01", NULL, 200,
         "\"missing\":[\"zoe\"]"},
        {"GET", "/v1/boards/race/count?window=day&window_id=2026-10-01", NULL, 404, "not_archived"},
        {"GET", "/v1/boards/race/windows", NULL, 200, "\"source\":\"archive\""},
        {"GET", "/v1/boards/race/windows?limit=2", NULL, 200, "\"next\":\"20"},
        {"GET", "/v1/boards/race/windows?kind=all", NULL, 200, "\"next\":null"},
        {"GET", "/v1/boards/race/windows?kind=day&before=2027-01-01T00:00:00Z", NULL, 200,
         "2026-10-03"},
        {"GET", "/v1/players/ada/history?board=race", NULL, 200, "\"archived_seq\":4711"},
        {"GET", "/v1/players/ada/history?board=race&rank=dense&from=1000&to=2000", NULL, 200,
         "\"rank\":3"},
        {"GET", "/v1/players/ada/history?board=laps&rank=sparse", NULL, 200,
         "\"columns\":{\"time\":6}"},
        {"GET", "/v1/players/ada/history?board=none", NULL, 404, "board_not_found"},
        {"GET", "/v1/players/ada/submissions", NULL, 200, "\"meta\":{\"a\":1}"},
        {"GET", "/v1/players/ada/submissions", NULL, 200, "\"reason\":\"board_not_found\""},
        {"GET", "/v1/players/ada/submissions", NULL, 200, "\"outcome\":\"unknown\""},
        {"GET", "/v1/players/ada/submissions?limit=2", NULL, 200, "\"next\":\"1799999999999.99\""},
        {"GET", "/v1/players/ada/submissions?before=1799999999999.99&board=race", NULL, 200,
         "\"next\":null"},
    };
    frontkit k;
    fake f = {.windows_found = 30, .points_found = 2, .scores_found = 6};
    start(&k, &f, &(frontkit_config){0});
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    frontkit_stop(&k);
}

TEST(the_audit_trail) {
    static const ask_row rows[] = {
        {"GET", "/v1/audit", NULL, 200, "\"actor\":{\"key\":\"boss\"},\"reason\":\"a bot\""},
        {"GET", "/v1/audit", NULL, 200, "\"before\":{\"banned\":false}"},
        {"GET", "/v1/audit", NULL, 200, "\"rule\":\"max\",\"after\":\"not JSON\""},
        {"GET", "/v1/audit", NULL, 200, "\"outcome\":\"unchanged\""},
        {"GET", "/v1/audit", NULL, 200, "\"outcome\":\"unknown\""},
        {"GET", "/v1/audit?limit=1", NULL, 200, "\"next\":\"50.0\",\"archived_seq\":4711"},
        {"GET", "/v1/audit?kind=board%20defined", NULL, 200, "\"address\":\"::1\""},
        {"GET", "/v1/audit?after=50.0", NULL, 200, "\"records\":[],\"next\":null"},
        {"GET", "/v1/audit?from=2020-01-01T00:00:00Z", NULL, 200, "\"records\":[]"},
        {"GET", "/v1/audit?from=2020-01-02T00:00:00Z&to=2020-01-01T00:00:00Z", NULL, 200, NULL},
        {"GET", "/v1/audit?after=50", NULL, 400, "\"field\":\"after\""},
        {"GET", "/v1/audit?after=x.y", NULL, 400, "\"field\":\"after\""},
        {"GET", "/v1/audit?after=0.1", NULL, 400, "\"field\":\"after\""},
    };
    frontkit k;
    fake f = {0};
    start(&k, &f, &(frontkit_config){0});
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    f.status = RUNG_EIO;
    CHECK_EQ_I64(ask(&k, "GET", "/v1/audit", NULL, NULL), 503);
    frontkit_stop(&k);
}

TEST(an_archive_that_fails) {
    static const ask_row rows[] = {
        {"GET", "/v1/boards/race/top?window=day&window_id=2026-10-01", NULL, 503,
         "archive_unavailable"},
        {"GET", "/v1/boards/race/windows", NULL, 503, "archive_unavailable"},
        {"GET", "/v1/players/ada/history?board=race", NULL, 503, "archive_unavailable"},
        {"GET", "/v1/players/ada/submissions", NULL, 503, "archive_unavailable"},
    };
    frontkit k;
    fake f = {.status = RUNG_EIO};
    start(&k, &f, &(frontkit_config){0});
    ask_all(&k, NULL, rows, COUNT_OF(rows));
    frontkit_stop(&k);
}

TEST(an_archive_that_is_behind) {
    frontkit k;
    fake f = {0};
    start(&k, &f, &(frontkit_config){.api = {.archive_stat = far_behind, .wait_ms = 30}});
    CHECK_EQ_I64(ask(&k, "GET", "/v1/boards/race/windows", NULL, NULL), 503);
    CHECK(strstr(ask_reply, "\"code\":\"archive_behind\""));
    int fd = ask_begin(&k, "GET", "/v1/players/ada/submissions", "Connection: close\r\n", NULL);
    frontkit_turn(&k, 4);
    frontkit_begin_stop(&k, 1000);
    ask_await(&k, fd, NULL);
    CHECK_EQ_I64(ask_status(), 503);
    close(fd);
    frontkit_stop(&k);
}

TEST(no_memory_for_a_question) {
    static const char *const targets[] = {"/v1/boards/race/windows", "/v1/players/ada/submissions",
                                          "/v1/players/ada/history?board=race",
                                          "/v1/boards/race/top?window=day&window_id=2026-10-01"};
    for (size_t i = 0; i < COUNT_OF(targets); i++)
        for (uint64_t n = 1;; n++) {
            frontkit k;
            fake f = {.windows_found = 3, .points_found = 2, .scores_found = 6};
            start(&k, &f, &(frontkit_config){.fill_max = 64});
            rung_failalloc_fail_at(&k.heap, n, false);
            int status = ask(&k, "GET", targets[i], NULL, NULL);
            bool is_swept = !k.heap.failed_count;
            rung_failalloc_fail_at(&k.heap, 0, false);
            CHECK_MSG(status == 0 || status == 200 || status == 503, "%s", ask_reply);
            frontkit_stop(&k);
            if (is_swept)
                break;
        }
}

RUNG_TEST_MAIN
