/* SPDX-License-Identifier: Apache-2.0 */
/* What Redis cannot do: ranks from 1 in three styles, windows, scopes, friends, percentiles, and submissions that reach
 * all windows of a board. A row is [rank, member, score]; a score is text, exact in the board's own type. */
#include "codec/match_json.h"
#include "front/resp/arguments.h"
#include "front/resp/handlers.h"
#include "front/resp/server.h"
#include "model/calendar.h"
#include "service/ask.h"
#include "service/sessions.h"
#include "service/submit.h"
#include "state/ratings.h"

#include <string.h>

enum { STYLE_BRIEF = 1 }; /* RUNG.SUBMIT: what `build` tells `reply` */
enum { SIGNED_ARGS = 5 }; /* SIGNED session time nonce signature, at the end */
enum { ROWS_MAX = 1000, AROUND_MAX = 100, AROUND_DEFAULT = 5, MEMBERS_PIECE = 64 };

/* ---- arguments ---- */

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
static bool take_question(rung__resp_call *call, uint32_t at, int64_t count_max,
                          rung_question *out) {
    int64_t number;
    rung_query *q = &out->query;
    q->board = call->argv[1];
    for (uint32_t i = at; i < call->argc; i++) {
        rung_slice word = call->argv[i];
        if (take_style(word, q))
            continue;
        if (i + 1 == call->argc)
            return rung__resp_error_syntax(call);
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
                                              "ERR COUNT is out of range", &number) &&
                      (out->limit = (uint32_t)number, true);
        else if (count_max && rung__resp_is_word(word, "offset"))
            is_good = rung__resp_take_between(call, value, 0, UINT32_MAX,
                                              "ERR OFFSET is out of range", &number) &&
                      (out->offset = (uint32_t)number, true);
        else {
            return rung__resp_error_syntax(call);
        }
        if (!is_good)
            return false;
    }
    return true;
}

/* The member meant: "me" is the player of a token. */
static rung_slice member_of(const rung__resp_call *call, uint32_t i) {
    return rung_who_resolve(&call->s->who, call->argv[i]);
}

/* ---- rows ---- */

/* Most scores are whole numbers, which are written faster. */
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

/* ---- answers ---- */

/* What is answered: call->style, kept with a request whose answer comes later. */
enum { SHOW_ROWS, SHOW_RANK, SHOW_RANKS, SHOW_PERCENTILE };

static void put_answer(rung__resp_call *call, const rung_question *q) {
    if (call->style == SHOW_ROWS || call->style == SHOW_RANKS)
        rung_resp_array(call->out, call->style == SHOW_ROWS ? q->count : q->id_count);
    if (call->style == SHOW_ROWS) {
        for (uint32_t i = 0; i < q->count; i++)
            put_row(call, q->k.def, &q->rows[i], q->kind == RUNG_ASK_FRIENDS);
        return;
    }
    for (uint32_t i = 0; i < q->id_count; i++)
        if (!q->found[i])
            rung_resp_null(call->out);
        else if (call->style == SHOW_PERCENTILE)
            rung_resp_double(call->out, q->rows[i].percentile);
        else
            rung_resp_int(call->out, q->rows[i].rank);
}

/* The player is not ranked, or the board is empty. */
static void put_nothing(rung__resp_call *call, const rung_question *q) {
    if (call->style == SHOW_ROWS || call->style == SHOW_RANKS)
        rung_resp_array(call->out, call->style == SHOW_ROWS ? 0 : q->id_count);
    for (uint32_t i = 0; i < q->id_count && call->style != SHOW_ROWS; i++)
        rung_resp_null(call->out);
}

static void put_failure(rung__resp_call *call, rung_status st, const rung_question *q,
                        const rung_err *err) {
    if (st == RUNG_NOT_FOUND && strcmp(err->field, "player") == 0)
        put_nothing(call, q);
    else if (st > 0)
        rung__resp_error_of(call, "ERR ", rung_slice_str(err->message), "");
    else
        rung__resp_error_status(call, st, err);
}

/* ---- from the archive: only this connection waits ---- */

static void archive_answered(void *ctx, rung_status st, const rung_question *q,
                             const rung_err *err) {
    rung__resp_request *request = ctx;
    rung__resp_call call = rung__resp_request_call(request);
    if (st == RUNG_OK)
        put_answer(&call, q);
    else
        put_failure(&call, st, q, err);
    rung__resp_call_end(&call);
    rung__resp_request_finish(request);
}

static void ask_archive(rung__resp_call *call, const rung_question *q) {
    rung__resp_session *s = call->s;
    rung_err err = {0};
    if (!call->may_wait) {
        rung__resp_error(call, "ERR the window is archived: a transaction cannot query it");
        return;
    }
    if (q->id_count > ROWS_MAX) {
        rung__resp_error(call, "ERR at most 1000 members of an archived window");
        return;
    }
    rung__resp_request *request = rung__resp_request_for(call);
    if (!request)
        return;
    rung_ask_later later = {.done = archive_answered, .ctx = request, .share = s->share};
    rung_status st = rung_question_defer(&call->r->service, q, &later, &err);
    if (st == RUNG_OK) {
        rung__resp_session_pause(s, 0);
        return;
    }
    rung__resp_request_release(request);
    put_failure(call, st, q, &err);
}

/* ---- questions ---- */

/* Which ranking. RUNG_OK: `view` can be read; else it is answered, or will be. */
static rung_status open_ranking(rung__resp_call *call, rung_question *q, rung_view *view) {
    rung_zkey k;
    rung_err err;
    rung_status st = rung_question_open(&call->r->service, q, view, &err);
    if (st == RUNG_OK || !rung__resp_open_zset(call, call->argv[1], &k))
        return st;
    if (k.kind == RUNG_ZKEY_NONE)
        put_nothing(call, q);
    else if (st == RUNG_PARTIAL)
        ask_archive(call, q);
    else
        rung__resp_error_of(call, "ERR ", rung_slice_str(err.message), "");
    return st;
}

static void ask(rung__resp_call *call, rung_question *q) {
    rung_view view;
    rung_err err;
    if (open_ranking(call, q, &view) != RUNG_OK)
        return;
    rung_status st = rung_question_read(q, &view, rung__resp_alloc(call), &err);
    if (st == RUNG_OK)
        put_answer(call, q);
    else
        put_failure(call, st, q, &err);
}

/* The same for up to so many rows. */
static void ask_rows(rung__resp_call *call, rung_question *q, size_t count) {
    const rung_alloc *a = rung__resp_alloc(call);
    call->style = SHOW_ROWS;
    q->rows = rung_alloc_get(a, (count + 1) * sizeof *q->rows);
    if (!q->rows) {
        rung__resp_error_status(call, RUNG_ENOMEM, NULL);
        return;
    }
    ask(call, q);
    rung_alloc_free(a, q->rows, (count + 1) * sizeof *q->rows);
}

static void ask_one(rung__resp_call *call, uint32_t style) {
    rung_row row;
    bool found;
    rung_slice member = member_of(call, 2);
    rung_question q = {
        .kind = RUNG_ASK_PLAYERS, .ids = &member, .id_count = 1, .rows = &row, .found = &found};
    call->style = style;
    if (take_question(call, 3, 0, &q))
        ask(call, &q);
}

/* RUNG.RANK key member [options] */
void rung__resp_answer_rung_rank(rung__resp_call *call) {
    ask_one(call, SHOW_RANK);
}

/* RUNG.PERCENTILE key member [options] */
void rung__resp_answer_rung_percentile(rung__resp_call *call) {
    ask_one(call, SHOW_PERCENTILE);
}

/* Ask for as many at a time as fit on the stack. The archive is asked for all of them at once. */
static void ask_many(rung__resp_call *call, rung_question *q) {
    bool found[MEMBERS_PIECE];
    rung_row rows[MEMBERS_PIECE];
    rung_view view;
    const uint32_t count = q->id_count;
    rung_status st = open_ranking(call, q, &view);
    if (st != RUNG_OK)
        return;
    q->rows = rows;
    q->found = found;
    rung_resp_array(call->out, count);
    call->style = SHOW_RANK;
    for (uint32_t at = 0; at < count; at += q->id_count) {
        q->id_count = count - at < MEMBERS_PIECE ? count - at : MEMBERS_PIECE;
        rung_ignore(rung_question_read(q, &view, NULL, NULL), "each is ranked or is not");
        put_answer(call, q);
        q->ids += q->id_count;
    }
}

/* RUNG.MRANK key count member [member ...] [options] */
void rung__resp_answer_rung_mrank(rung__resp_call *call) {
    rung_question q = {.kind = RUNG_ASK_PLAYERS};
    int64_t count;
    if (!rung__resp_take_between(call, call->argv[2], 1, INT64_MAX,
                                 "ERR count should be greater than 0", &count))
        return;
    if (count > call->argc - 3) {
        rung__resp_error_syntax(call);
        return;
    }
    q.ids = (rung_slice *)(call->argv + 3); /* is not written to */
    q.id_count = (uint32_t)count;
    call->style = SHOW_RANKS;
    if (take_question(call, 3 + (uint32_t)count, 0, &q))
        ask_many(call, &q);
}

/* RUNG.TOP key [COUNT n] [OFFSET n] [options] */
void rung__resp_answer_rung_top(rung__resp_call *call) {
    rung_question q = {.kind = RUNG_ASK_TOP, .limit = 10};
    if (take_question(call, 2, ROWS_MAX, &q))
        ask_rows(call, &q, q.limit);
}

/* RUNG.AROUND key member [COUNT n] [options] */
void rung__resp_answer_rung_around(rung__resp_call *call) {
    rung_slice member = member_of(call, 2);
    rung_question q = {
        .kind = RUNG_ASK_AROUND, .limit = AROUND_DEFAULT, .ids = &member, .id_count = 1};
    if (!take_question(call, 3, AROUND_MAX, &q))
        return;
    q.around = q.limit;
    ask_rows(call, &q, 2 * (size_t)q.around + 1);
}

/* RUNG.FRIENDS key player [COUNT n] [OFFSET n] [options] */
void rung__resp_answer_rung_friends(rung__resp_call *call) {
    rung_slice member = member_of(call, 2);
    rung_question q = {.kind = RUNG_ASK_FRIENDS, .limit = 100, .ids = &member, .id_count = 1};
    if (take_question(call, 3, ROWS_MAX, &q))
        ask_rows(call, &q, q.limit);
}

/* ---- RUNG.SUBMIT key member [score [column ...]] [DELTA] [AT time] [ID id] [META text] [BRIEF]
 *                  [SIGNED session time nonce signature] ---- */

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
    if (i == def->key.column_count)
        return rung__resp_error(call, "ERR the board has fewer columns");
    if (rung_submit_value(def, i, text, e, &err) < 0)
        return rung__resp_error_of(call, "ERR ", rung_slice_str(err.message), "");
    e->value_count++;
    return true;
}

static bool take_time(rung__resp_call *call, rung_slice text, int64_t *at_ms_out) {
    if (rung_resp_integer(text, at_ms_out) || rung_time_parse(text, at_ms_out, NULL) == RUNG_OK)
        return true;
    return rung__resp_error(call, "ERR AT: expected Unix milliseconds or an RFC 3339 time");
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
    if (word == VALUE || ++*i == call->argc)
        return rung__resp_error_syntax(call);
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

/* The arguments before SIGNED, each as it is sent: "$length\r\nbytes\r\n". False: they are too long. */
static bool put_signed(const rung__resp_call *call, uint32_t count, char *room, size_t size,
                       rung_slice *out) {
    char *at = room, *end = room + size;
    for (uint32_t i = 1; i < count; i++) {
        rung_slice arg = call->argv[i];
        if (arg.len + 32 > (size_t)(end - at))
            return false;
        *at++ = '$';
        at += rung_digits_format(arg.len, at);
        rung_slice_put(&at, RUNG_SLICE("\r\n"));
        rung_slice_put(&at, arg);
        rung_slice_put(&at, RUNG_SLICE("\r\n"));
    }
    *out = rung_slice_of(room, (size_t)(at - room));
    return true;
}

/* Of a player's own submission: `count` arguments are signed, the rest is the signature. */
static bool verify_signed(rung__resp_call *call, uint32_t count, rung_signature *out) {
    char room[8192];
    rung_err err = {0};
    rung_signed_text text = {RUNG_SLICE("RESP"), RUNG_SLICE("RUNG.SUBMIT"), {NULL, 0}};
    const rung_slice *by = call->argv + count;
    if (count < 3 || !rung__resp_is_word(by[0], "signed"))
        return rung__resp_error(
            call, "NOPERM a player's token may submit only what is signed: SIGNED session time "
                  "nonce signature");
    if (!put_signed(call, count, room, sizeof room, &text.body))
        return rung__resp_error(call, "ERR the signed arguments are too long");
    rung_status st = rung_signature_read(by[1], by[2], by[3], by[4], out, &err);
    if (st >= 0)
        st = rung_signed_verify(&call->r->service, &call->s->who, call->argv[1], out, &text,
                                call->now_ms, &err);
    return st >= 0 || rung__resp_error_status(call, st, &err);
}

/* Values first, options behind them. A player's token has to sign. */
bool rung__resp_build_submit(rung__resp_call *call, rung__resp_change *change) {
    rung_score_event *out = change->score;
    bool is_good = true, has_option = false;
    *out = (rung_score_event){.board = call->argv[1], .player = call->argv[2]};
    rung_access_answer why;
    rung_signature signature;
    bool is_own = call->s->who.player_len;
    uint32_t argc = is_own && call->argc > SIGNED_ARGS ? call->argc - SIGNED_ARGS : call->argc;
    if (is_own && !verify_signed(call, argc == call->argc ? 0 : argc, &signature))
        return false;
    if (!call->before.def && rung_submit_open(&call->r->service, NULL, out->board, call->now_ms,
                                              &call->before.def, &why) < 0)
        return rung__resp_error(call, no_board);
    uint32_t whole = call->argc;
    call->argc = argc; /* nothing reads on into the signature */
    for (uint32_t i = 3; is_good && i < argc; i++) {
        submit_word word = submit_word_of(call->argv[i]);
        has_option |= word != VALUE;
        is_good = has_option ? take_submit_option(call, word, &i, out)
                             : take_value(call, call->before.def, call->argv[i], out);
    }
    call->argc = whole;
    if (is_good && is_own) {
        rung_status st = rung_signed_fill(&call->s->who, &signature, out, &why.err);
        if (st < 0)
            return rung__resp_error_status(call, st, &why.err);
    }
    change->kind = RUNG__CHANGE_SCORE;
    return is_good;
}

/* The name of a field as it is sent. */
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
    if (st == RUNG_EABSENT) { /* deleted in the meantime */
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

/* ---- RUNG.MATCH key match ---- */

enum { MATCH_TEXT_MAX = 128 << 10 }; /* bytes, as over HTTP */
_Static_assert(MATCH_TEXT_MAX + RUNG_MATCH_PACKED_MAX <= RUNG_ZCOMMANDS_BYTES_MAX,
               "text and players fit the room for packed commands");

/* The match is the JSON object that HTTP takes. Reading changes the text, so it is copied. */
bool rung__resp_build_match(rung__resp_call *call, rung__resp_change *change) {
    rung_resp *r = call->r;
    rung_slice text = call->argv[2];
    rung_err err = {0};
    if (text.len > MATCH_TEXT_MAX)
        return rung__resp_error(call, "ERR a match has at most 131072 bytes");
    memcpy(r->pack, text.ptr, text.len);
    rung_status st =
        rung_match_json_read(&rung_match_schema, r->pack, text.len, &r->reader,
                             (uint8_t *)r->pack + MATCH_TEXT_MAX, &r->event.match, &err);
    if (st < 0) {
        rung__resp_error_status(call, st, &err);
        return false;
    }
    r->event.kind = RUNG_EVENT_MATCH;
    r->event.match.board = call->argv[1];
    change->kind = RUNG__CHANGE_MATCH;
    return true;
}

static void put_rank(rung_resp_writer *out, uint32_t rank) {
    if (rank)
        rung_resp_int(out, rank);
    else
        rung_resp_null(out);
}

static void put_match_row(rung__resp_call *call, const rung_board_def *def,
                          const rung_match_row *row) {
    rung_resp_writer *out = call->out;
    const rung_value before = {.i = row->score_before}, after = {.i = row->score};
    rung_resp_map(out, 10);
    rung_resp_raw(out, NAME("6", "player"));
    rung_resp_bulk(out, row->player);
    rung_resp_raw(out, NAME("5", "place"));
    rung_resp_int(out, row->place);
    rung_resp_raw(out, NAME("8", "expected"));
    rung_resp_double(out, row->expected);
    rung_resp_raw(out, NAME("12", "score_before"));
    put_score(call, def, &before, row->before.rating.games ? 1 : 0);
    rung_resp_raw(out, NAME("5", "score"));
    put_score(call, def, &after, 1);
    rung_resp_raw(out, NAME("11", "rank_before"));
    put_rank(out, row->rank_before);
    rung_resp_raw(out, NAME("4", "rank"));
    put_rank(out, row->rank);
    rung_resp_raw(out, NAME("6", "rating"));
    rung_resp_double(out, row->after.rating.rating);
    rung_resp_raw(out, NAME("9", "deviation"));
    rung_resp_double(out, row->after.rating.deviation);
    rung_resp_raw(out, NAME("5", "games"));
    rung_resp_int(out, row->after.rating.games);
}

void rung__resp_reply_match(rung__resp_call *call, rung_slice key, rung_status st,
                            const rung_outcome *outcome, const rung_err *err) {
    rung_resp_writer *out = call->out;
    const rung_board_def *def = NULL;
    uint32_t count = 0;
    if (st < 0) {
        rung__resp_error_status(call, st, err);
        return;
    }
    const rung_match_row *rows = rung_state_match_rows(call->state, &count);
    if (rung_state_board(call->state, key, &def) != RUNG_OK)
        count = 0;
    rung_resp_map(out, 3);
    rung_resp_raw(out, NAME("9", "duplicate"));
    rung_resp_bool(out, st == RUNG_DUPLICATE);
    rung_resp_raw(out, NAME("3", "seq"));
    rung_resp_int(out, (int64_t)outcome->seq);
    rung_resp_raw(out, NAME("7", "players"));
    rung_resp_array(out, count);
    for (uint32_t i = 0; i < count; i++)
        put_match_row(call, def, &rows[i]);
}

/* ---- movers ---- */

static void put_movers(rung__resp_call *call, const rung_board_def *def, const rung_mover *list,
                       uint32_t count) {
    rung_resp_array(call->out, count);
    for (uint32_t i = 0; i < count; i++) {
        rung_resp_array(call->out, 4);
        rung_resp_int(call->out, list[i].row.rank);
        rung_resp_bulk(call->out, list[i].row.id);
        put_score(call, def, list[i].row.values, list[i].row.value_count);
        rung_resp_int(call->out, list[i].rank_before);
    }
}

/* RUNG.MOVERS key since [COUNT n] [options]; a server without the ranks of then asks a helper that has them. */
void rung__resp_answer_rung_movers(rung__resp_call *call) {
    const rung_movers *kept = rung_hub_movers(call->r->hub);
    rung_question q = {.kind = RUNG_ASK_MEMORY, .limit = 10};
    rung_movement found;
    rung_view view;
    rung_err err = {0};
    if (!take_question(call, 3, RUNG_MOVERS_MAX, &q))
        return;
    if (!kept) {
        rung__resp_ask_since(call);
        return;
    }
    call->style = SHOW_ROWS;
    if (open_ranking(call, &q, &view) != RUNG_OK)
        return;
    rung_status st = rung_movers_find(kept, rung__resp_alloc(call), rung_hub_state(call->r->hub),
                                      &q.query, q.limit, &found, &err);
    if (st != RUNG_OK) {
        put_failure(call, st, &q, &err);
        return;
    }
    rung_resp_array(call->out, 2);
    put_movers(call, q.k.def, found.risers, found.riser_count);
    put_movers(call, q.k.def, found.fallers, found.faller_count);
    rung_movement_deinit(&found, rung__resp_alloc(call));
}

/* ---- help ---- */

void rung__resp_answer_rung_help(rung__resp_call *call) {
    static const char lines[] =
        "RUNG.RANK key member [options]\n    The member's rank, from 1, or nil.\n"
        "RUNG.MRANK key count member [member ...] [options]\n"
        "    The ranks of several members.\n"
        "RUNG.PERCENTILE key member [options]\n"
        "    The share of entries at or below the member's score, in percent.\n"
        "RUNG.AROUND key member [COUNT n] [options]\n"
        "    The member with n rows above and below (5), each [rank, member, score].\n"
        "RUNG.TOP key [COUNT n] [OFFSET n] [options]\n"
        "    The best n (10), each [rank, member, score].\n"
        "RUNG.FRIENDS key player [COUNT n] [OFFSET n] [options]\n"
        "    The player and those the player follows, each [rank among them, member, score, "
        "rank].\n"
        "RUNG.SUBMIT key member [score [column ...]] [DELTA] [AT time] [ID id] [META text] "
        "[BRIEF] [SIGNED session time nonce signature]\n"
        "    One submission to a board: all its windows, scopes and teams. With BRIEF the answer\n"
        "    is the score that stands now, and no more. A player's token has to sign it.\n"
        "RUNG.MATCH key match\n"
        "    The result of a match, for a rating board: the JSON object of docs/ratings.md.\n"
        "RUNG.MOVERS key since [COUNT n] [options]\n"
        "    Who rose and who fell most since so long ago (1h, 1d, 1w): two lists of n (10), each\n"
        "    [rank, member, score, rank before].\n"
        "RUNG.ASOF moment command [argument ...]\n"
        "    A command that reads a key, as it was answered then. The moment is a time or a\n"
        "    position in the log.\n"
        "RUNG.SEQ\n    The position in the log that the replies so far reflect.\n"
        "RUNG.WAITSEQ seq\n"
        "    Wait until this server has applied that position (5 seconds, then TRYAGAIN).\n"
        "RUNG.LATEST\n    The same for everything that any server has acknowledged.\n"
        "RUNG.HELP\n    This text.\n"
        "Options are:\n"
        "    UNIQUE, SPARSE or DENSE: 1234, 1134 or 1123; the board's own style otherwise.\n"
        "    WINDOW name, WINDOWID id, ON date: one of the board's windows.\n"
        "    SCOPE attribute:value: the ranking of those who have it.\n";
    rung__resp_put_lines(call, lines);
}
