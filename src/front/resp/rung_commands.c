/* SPDX-License-Identifier: Apache-2.0 */
/* What Redis cannot do: ranks from 1 in three styles, windows, scopes, friends, percentiles, and submissions that reach
 * all windows of a board. A row is [rank, member, score]; a score is text, exact in the board's own type. */
#include "front/resp/arguments.h"
#include "front/resp/handlers.h"
#include "front/resp/server.h"
#include "model/calendar.h"
#include "service/submit.h"

enum { STYLE_BRIEF = 1 }; /* RUNG.SUBMIT: what `build` tells `reply` */
enum { ROWS_MAX = 1000, AROUND_MAX = 100, AROUND_DEFAULT = 5, MEMBERS_PIECE = 64 };

/* ---- arguments ---- */

typedef struct question {
    rung_query query;
    int64_t count, offset;
} question;

static bool take_style(rung_slice word, rung_query *q) {
    for (unsigned i = 0; rung_rank_words[i]; i++)
        if (rung__resp_is_word(word, rung_rank_words[i])) {
            q->has_rank = true;
            q->rank = (rung_rank_style)i;
            return true;
        }
    return false;
}

/* [DENSE|SPARSE|UNIQUE] [WINDOW w] [WINDOWID id] [ON date] [SCOPE s] [COUNT n] [OFFSET n] from argv[at] on. */
static bool take_question(rung__resp_call *call, uint32_t at, int64_t count_max, question *out) {
    rung_query *q = &out->query;
    q->board = call->argv[1];
    q->now_ms = call->now_ms;
    for (uint32_t i = at; i < call->argc; i++) {
        rung_slice word = call->argv[i];
        if (take_style(word, q))
            continue;
        if (i + 1 == call->argc) {
            rung__resp_error_syntax(call);
            return false;
        }
        rung_slice value = call->argv[++i];
        bool is_good = true;
        if (rung__resp_is_word(word, "window"))
            q->window = value;
        else if (rung__resp_is_word(word, "windowid"))
            q->window_id = value;
        else if (rung__resp_is_word(word, "on"))
            q->on = value;
        else if (rung__resp_is_word(word, "scope"))
            q->scope = value;
        else if (count_max && rung__resp_is_word(word, "count"))
            is_good = rung__resp_take_between(call, value, 0, count_max,
                                              "ERR COUNT is out of range", &out->count);
        else if (count_max && rung__resp_is_word(word, "offset"))
            is_good = rung__resp_take_between(call, value, 0, UINT32_MAX,
                                              "ERR OFFSET is out of range", &out->offset);
        else {
            rung__resp_error_syntax(call);
            return false;
        }
        if (!is_good)
            return false;
    }
    return true;
}

/* RUNG_OK; RUNG_NOT_FOUND: there is no such key; negative: an error has been written. */
static rung_status open_view(rung__resp_call *call, const question *q, rung_view *view) {
    rung_zkey k;
    rung_err err = {0};
    if (!rung__resp_open_zset(call, call->argv[1], &k))
        return RUNG_EINVAL;
    if (k.kind == RUNG_ZKEY_NONE)
        return RUNG_NOT_FOUND;
    rung_status st = rung_state_view(call->state, &q->query, view, &err);
    if (st == RUNG_OK)
        return RUNG_OK;
    rung__resp_error_of(call, "ERR ", rung_slice_str(err.message), "");
    return RUNG_EINVAL;
}

/* The member meant: "me" is the player of a token. */
static rung_slice member_of(const rung__resp_call *call, uint32_t i) {
    return rung_who_resolve(&call->s->who, call->argv[i]);
}

/* ---- rows ---- */

/* Most scores are whole, and need no more than their digits. */
static inline bool is_whole(const rung_column *column, rung_value value, int64_t *whole_out) {
    double real = value.d;
    if (column->type != RUNG_SCORE_REAL) {
        *whole_out = value.i;
        return column->decimals == 0;
    }
    if (!(real > -1e15 && real < 1e15))
        return false;
    *whole_out = (int64_t)real;
    return (double)*whole_out == real;
}

static void put_score(rung__resp_call *call, const rung_board_def *def, const rung_value *values,
                      uint32_t count) {
    const rung_column *column = &def->key.columns[0];
    char text[RUNG_SCORE_TEXT_MAX];
    int64_t whole;
    if (!count)
        rung_resp_null(call->out);
    else if (is_whole(column, values[0], &whole))
        rung_resp_bulk_int(call->out, whole);
    else
        rung_resp_bulk(call->out, rung_slice_of(text, rung_score_format(column, values[0], text)));
}

static void put_row(rung__resp_call *call, const rung_board_def *def, const rung_row *row,
                    bool is_friend) {
    rung_resp_array(call->out, is_friend ? 4 : 3);
    rung_resp_int(call->out, is_friend ? row->list_rank : row->rank);
    rung_resp_bulk(call->out, row->id);
    put_score(call, def, row->values, row->value_count);
    if (is_friend)
        rung_resp_int(call->out, row->rank);
}

static void put_rows(rung__resp_call *call, const rung_row *rows, uint32_t count, bool is_friend) {
    const rung_board_def *def = NULL;
    if (rung_state_board(call->state, call->argv[1], &def) != RUNG_OK)
        count = 0;
    rung_resp_array(call->out, count);
    for (uint32_t i = 0; i < count; i++)
        put_row(call, def, &rows[i], is_friend);
}

/* Room for rows; NULL with an error. */
static rung_row *rows_new(rung__resp_call *call, size_t count) {
    rung_row *rows = rung_alloc_get(rung__resp_alloc(call), (count + 1) * sizeof *rows);
    if (!rows)
        rung__resp_error_status(call, RUNG_ENOMEM, NULL);
    return rows;
}

static void rows_free(rung__resp_call *call, rung_row *rows, size_t count) {
    rung_alloc_free(rung__resp_alloc(call), rows, (count + 1) * sizeof *rows);
}

/* ---- questions ---- */

/* RUNG.RANK key member [options] */
void rung__resp_answer_rung_rank(rung__resp_call *call) {
    question q = {0};
    rung_view view;
    rung_row row;
    bool found = false;
    if (!take_question(call, 3, 0, &q))
        return;
    rung_status st = open_view(call, &q, &view);
    if (st < 0)
        return;
    rung_slice member = member_of(call, 2);
    if (st == RUNG_OK)
        rung_view_rows(&view, 1, &member, &row, &found);
    if (found)
        rung_resp_int(call->out, row.rank);
    else
        rung_resp_null(call->out);
}

/* RUNG.PERCENTILE key member [options] */
void rung__resp_answer_rung_percentile(rung__resp_call *call) {
    question q = {0};
    rung_view view;
    rung_row row;
    bool found = false;
    if (!take_question(call, 3, 0, &q))
        return;
    rung_status st = open_view(call, &q, &view);
    if (st < 0)
        return;
    rung_slice member = member_of(call, 2);
    if (st == RUNG_OK)
        rung_view_rows(&view, 1, &member, &row, &found);
    if (found)
        rung_resp_double(call->out, row.percentile);
    else
        rung_resp_null(call->out);
}

/* RUNG.MRANK key count member [member ...] [options] */
void rung__resp_answer_rung_mrank(rung__resp_call *call) {
    question q = {0};
    rung_view view;
    rung_row rows[MEMBERS_PIECE];
    bool found[MEMBERS_PIECE];
    int64_t count;
    if (!rung__resp_take_between(call, call->argv[2], 1, INT64_MAX,
                                 "ERR count should be greater than 0", &count))
        return;
    if (count > call->argc - 3) {
        rung__resp_error_syntax(call);
        return;
    }
    if (!take_question(call, 3 + (uint32_t)count, 0, &q))
        return;
    rung_status st = open_view(call, &q, &view);
    if (st < 0)
        return;
    rung_resp_array(call->out, (uint64_t)count);
    for (uint32_t at = 0; at < (uint32_t)count; at += MEMBERS_PIECE) {
        uint32_t left = (uint32_t)count - at, n = left < MEMBERS_PIECE ? left : MEMBERS_PIECE;
        memset(found, 0, sizeof found);
        if (st == RUNG_OK)
            rung_view_rows(&view, n, call->argv + 3 + at, rows, found);
        for (uint32_t i = 0; i < n; i++)
            if (found[i])
                rung_resp_int(call->out, rows[i].rank);
            else
                rung_resp_null(call->out);
    }
}

/* RUNG.TOP key [COUNT n] [OFFSET n] [options] */
void rung__resp_answer_rung_top(rung__resp_call *call) {
    question q = {.count = 10};
    rung_view view;
    if (!take_question(call, 2, ROWS_MAX, &q))
        return;
    rung_status st = open_view(call, &q, &view);
    rung_row *rows = st < 0 ? NULL : rows_new(call, ROWS_MAX);
    if (!rows)
        return;
    uint32_t n = 0;
    if (st == RUNG_OK)
        n = rung_view_top(&view, (uint32_t)q.offset, (uint32_t)q.count, rows);
    put_rows(call, rows, n, false);
    rows_free(call, rows, ROWS_MAX);
}

/* RUNG.AROUND key member [COUNT n] [options] */
void rung__resp_answer_rung_around(rung__resp_call *call) {
    question q = {.count = AROUND_DEFAULT};
    rung_view view;
    if (!take_question(call, 3, AROUND_MAX, &q))
        return;
    rung_status st = open_view(call, &q, &view);
    rung_row *rows = st < 0 ? NULL : rows_new(call, 2 * AROUND_MAX + 1);
    if (!rows)
        return;
    uint32_t n = 0, self;
    if (st == RUNG_OK &&
        rung_view_around(&view, member_of(call, 2), (uint32_t)q.count, rows, &n, &self) != RUNG_OK)
        n = 0;
    put_rows(call, rows, n, false);
    rows_free(call, rows, 2 * AROUND_MAX + 1);
}

/* RUNG.FRIENDS key player [COUNT n] [OFFSET n] [options] */
void rung__resp_answer_rung_friends(rung__resp_call *call) {
    question q = {.count = 100};
    rung_view view;
    if (!take_question(call, 3, ROWS_MAX, &q))
        return;
    rung_status st = open_view(call, &q, &view);
    rung_row *rows = st < 0 ? NULL : rows_new(call, ROWS_MAX);
    if (!rows)
        return;
    uint32_t n = 0, total;
    if (st == RUNG_OK)
        st = rung_view_friends(&view, rung__resp_alloc(call), member_of(call, 2),
                               (uint32_t)q.offset, (uint32_t)q.count, rows, &n, &total);
    if (st < 0)
        rung__resp_error_status(call, st, NULL);
    else
        put_rows(call, rows, st == RUNG_OK ? n : 0, true);
    rows_free(call, rows, ROWS_MAX);
}

/* ---- RUNG.SUBMIT key member [score [column ...]] [DELTA] [AT time] [ID id] [META text] [BRIEF] ---- */

typedef enum submit_word { VALUE, DELTA, BRIEF, AT, ID, META } submit_word;

static submit_word submit_word_of(rung_slice word) {
    if (rung__resp_is_like_number(word))
        return VALUE;
    return rung__resp_is_word(word, "brief")   ? BRIEF
           : rung__resp_is_word(word, "delta") ? DELTA
           : rung__resp_is_word(word, "id")    ? ID
           : rung__resp_is_word(word, "at")    ? AT
           : rung__resp_is_word(word, "meta")  ? META
                                               : VALUE;
}

static bool take_value(rung__resp_call *call, const rung_board_def *def, rung_slice text,
                       rung_score_event *e) {
    rung_err err;
    uint32_t i = e->value_count;
    if (i == def->key.column_count) {
        rung__resp_error(call, "ERR the board has fewer columns");
        return false;
    }
    if (rung_submit_value(def, i, text, e, &err) < 0) {
        rung__resp_error_of(call, "ERR ", rung_slice_str(err.message), "");
        return false;
    }
    e->value_count++;
    return true;
}

static bool take_time(rung__resp_call *call, rung_slice text, int64_t *at_ms_out) {
    if (rung_resp_integer(text, at_ms_out) || rung_time_parse(text, at_ms_out, NULL) == RUNG_OK)
        return true;
    rung__resp_error(call, "ERR AT: expected Unix milliseconds or an RFC 3339 time");
    return false;
}

/* The option at argv[*i]; steps to its value, if it has one. */
static bool take_submit_option(rung__resp_call *call, submit_word word, uint32_t *i,
                               rung_score_event *e) {
    if (word == DELTA) {
        e->is_delta = true;
        return true;
    }
    if (word == BRIEF) {
        e->is_brief = true;
        call->style |= STYLE_BRIEF;
        return true;
    }
    if (word == VALUE || ++*i == call->argc) {
        rung__resp_error_syntax(call);
        return false;
    }
    rung_slice value = call->argv[*i];
    if (word == ID) {
        e->id = value;
    } else if (word == META) {
        e->meta = value;
    } else {
        e->has_at = true;
        return take_time(call, value, &e->at_ms);
    }
    return true;
}

static const char no_board[] = "ERR no such board";

/* Values first, options behind them. */
rung__resp_built rung__resp_build_submit(rung__resp_call *call, rung__resp_change *change) {
    rung_score_event *out = change->score;
    bool is_good = true, has_option = false;
    *out = (rung_score_event){.board = call->argv[1], .player = call->argv[2]};
    rung_access_answer why;
    if (!call->before.def && rung_submit_open(&call->r->service, NULL, out->board, call->now_ms,
                                              &call->before.def, &why) < 0) {
        rung__resp_error(call, no_board);
        return RUNG__BUILD_ERROR;
    }
    for (uint32_t i = 3; is_good && i < call->argc; i++) {
        submit_word word = submit_word_of(call->argv[i]);
        has_option |= word != VALUE;
        is_good = has_option ? take_submit_option(call, word, &i, out)
                             : take_value(call, call->before.def, call->argv[i], out);
    }
    return is_good ? RUNG__BUILD_SCORE : RUNG__BUILD_ERROR;
}

/* A field's name as it is sent: there are eight for every submission, and they are always the same. */
#define NAME(len, name) RUNG_SLICE("$" len "\r\n" name "\r\n")

static void put_outcome_score(rung__resp_call *call, rung_slice key, const rung_outcome *outcome) {
    const rung_board_def *def;
    if (rung_state_board(call->state, key, &def) == RUNG_OK)
        put_score(call, def, outcome->values, outcome->value_count);
    else
        rung_resp_null(call->out);
}

void rung__resp_reply_submit(rung__resp_call *call, rung_slice key, rung_status st,
                             const rung_outcome *outcome, const rung_err *err) {
    rung_resp_writer *out = call->out;
    if (st == RUNG_EABSENT) { /* it was deleted meanwhile */
        rung__resp_error(call, no_board);
        return;
    }
    if (st < 0) {
        rung__resp_error_status(call, st, err);
        return;
    }
    if (call->style & STYLE_BRIEF) {
        put_outcome_score(call, key, outcome);
        return;
    }
    rung_resp_map(out, 8);
    rung_resp_raw(out, NAME("7", "changed"));
    rung_resp_bool(out, outcome->changed);
    rung_resp_raw(out, NAME("9", "duplicate"));
    rung_resp_bool(out, outcome->duplicate);
    rung_resp_raw(out, NAME("5", "score"));
    put_outcome_score(call, key, outcome);
    rung_resp_raw(out, NAME("11", "rank_before"));
    rung_resp_int(out, outcome->rank_before);
    rung_resp_raw(out, NAME("4", "rank"));
    rung_resp_int(out, outcome->rank);
    rung_resp_raw(out, NAME("5", "total"));
    rung_resp_int(out, outcome->total);
    rung_resp_raw(out, NAME("6", "passed"));
    rung_resp_int(out, outcome->passed);
    rung_resp_raw(out, NAME("10", "percentile"));
    rung_resp_double(out, outcome->percentile);
}

/* ---- help ---- */

void rung__resp_answer_rung_help(rung__resp_call *call) {
    static const char *const lines[] = {
        "RUNG.RANK key member [options]",
        "    The member's rank, from 1, or nil.",
        "RUNG.MRANK key count member [member ...] [options]",
        "    The ranks of several members.",
        "RUNG.PERCENTILE key member [options]",
        "    The share of entries at or below the member's score, in percent.",
        "RUNG.AROUND key member [COUNT n] [options]",
        "    The member with n rows above and below (5), each [rank, member, score].",
        "RUNG.TOP key [COUNT n] [OFFSET n] [options]",
        "    The best n (10), each [rank, member, score].",
        "RUNG.FRIENDS key player [COUNT n] [OFFSET n] [options]",
        "    The player and those the player follows, each [rank among them, member, score, rank].",
        "RUNG.SUBMIT key member [score [column ...]] [DELTA] [AT time] [ID id] [META text] [BRIEF]",
        "    One submission to a board: all its windows, scopes and teams. With BRIEF the answer",
        "    is the score that stands now, and no more.",
        "RUNG.HELP",
        "    This text.",
        "Options are:",
        "    UNIQUE, SPARSE or DENSE: 1234, 1134 or 1123; the board's own style otherwise.",
        "    WINDOW name, WINDOWID id, ON date: one of the board's windows.",
        "    SCOPE attribute:value: the ranking of those who have it.",
    };
    rung__resp_put_lines(call, lines, sizeof lines / sizeof lines[0]);
}
