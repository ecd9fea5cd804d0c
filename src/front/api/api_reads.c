/* SPDX-License-Identifier: Apache-2.0 */
/* Ranked questions: choose the ranking, ask the state, write the answer. One handler each.
 *
 * Rows live in the API's scratch memory until the handler returns. Questions for a player's place are batched: those of
 * one turn of the loop are answered at its end. */
#include "codec/board_json.h"
#include "front/api/answers.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "front/api/past_calls.h"
#include "service/matches.h"
#include "state/editions.h"
#include "state/review.h"
#include "state/scope_values.h"

#include <stdio.h>
#include <string.h>

/* A ranked question of a call (service/ask.h). The archive's answer comes later, in the same struct, and is written by
 * the same function: call->write. */
typedef struct rung_read {
    rung_question q; /* the first member */
    rung_call *call;
    uint64_t review; /* of the player's tentative score; 0: none */
    rung_row tentative;
} rung_read;

/* ---- choosing a ranking ---- */

/* The rank style asked for; -1: none. */
static int rank_of(const rung_call *c) {
    const rung_arg *rank = rung__call_find(c, "rank_style");
    if (!rank)
        rank = rung__call_find(c, "rank");
    return rank && rank->given ? (int)rank->number : -1;
}

/* Write the answer; it is not closed yet. */
static rung_json_writer *write_answer(const rung_read *r) {
    rung_json_writer *w = rung__call_begin(r->call);
    rung_answer_head(w, &r->q.k);
    r->call->write(w, r);
    return w;
}

static void answer(const rung_read *r) {
    write_answer(r);
    rung__call_answer(r->call, 200);
}

static void archive_answered(void *ctx, rung_status st, const rung_question *q,
                             const rung_err *err) {
    rung_call *c = ctx;
    if (!rung__call_may_still(c))
        return; /* it is answered */
    if (st == RUNG_OK)
        answer(&(rung_read){.q = *q, .call = c});
    else
        rung__call_fail(c, st, err);
}

static void ask_archive(rung_read *r) {
    rung_call *c = r->call;
    rung_err err = {0};
    rung_ask_later later = {.done = archive_answered,
                            .ctx = c,
                            .share = rung__call_share(c),
                            .deadline_ms = c->deadline_ms};
    rung_status st = rung_question_defer(&c->api->service, &r->q, &later, &err);
    if (st != RUNG_OK)
        rung__call_malformed(c, st, &err);
}

/* Choose the ranking that the call's arguments name. True: `*view` and r->q.k are set. False: the call is ended, or has
 * gone to ask the archive, since the window has left memory. */
static bool open_ranking(rung_read *r, rung_view *view, bool teams) {
    rung_call *c = r->call;
    int rank = rank_of(c);
    rung_err err = {0};
    r->q.query = (rung_query){.board = c->board,
                              .window = rung__call_text(c, "window"),
                              .window_id = rung__call_text(c, "window_id"),
                              .on = rung__call_text(c, "on"),
                              .scope = rung__call_text(c, "scope"),
                              .teams = teams,
                              .has_rank = rank >= 0,
                              .rank = rank >= 0 ? (rung_rank_style)rank : RUNG_RANK_UNIQUE};
    rung_status st = rung_question_open(&c->api->service, &r->q, view, &err);
    if (st == RUNG_PARTIAL)
        ask_archive(r);
    else if (st != RUNG_OK)
        rung__call_malformed(c, st, &err);
    return st == RUNG_OK;
}

/* Read the view and answer. */
static void answer_view(rung_read *r, const rung_view *view) {
    rung_err err = {0};
    rung_status st = rung_question_read(&r->q, view, r->call->api->config.alloc, &err);
    if (st == RUNG_OK)
        answer(r);
    else
        rung__call_fail(r->call, st, &err);
}

static void ask(rung_read *r) {
    rung_view view;
    if (open_ranking(r, &view, false))
        answer_view(r, &view);
}

static rung_read begin(rung_call *c, rung_ask_kind kind,
                       void (*write)(rung_json_writer *, const rung_read *)) {
    c->write = write;
    return (rung_read){.q = {.kind = kind, .rows = c->api->rows}, .call = c};
}

/* ---- top ---- */

/* Weak: `seq` may differ. The version covers neither the clock, which selects the window, nor the history of another
 * process. */
static size_t make_etag(const rung_call *c, const rung_view *view, char out[96]) {
    uint64_t version = rung_state_board_version(view->state, c->board);
    return (size_t)snprintf(out, 96, "W/\"%llx-%llx-%x-%llx\"", (unsigned long long)version,
                            (unsigned long long)view->ordinal, view->kind,
                            (unsigned long long)c->api->boot);
}

bool rung__call_has_etag(const rung_call *c, rung_slice etag) {
    rung_slice list = rung_exchange_header(c->x, "if-none-match");
    if (list.len == 1 && list.ptr[0] == '*')
        return true;
    for (size_t i = 0; list.ptr && i + etag.len <= list.len; i++)
        if (memcmp(list.ptr + i, etag.ptr, etag.len) == 0)
            return true;
    return false;
}

/* True: the client has this version, and the call is ended. */
static bool is_known(rung_call *c, const rung_view *view, const rung_board_def *def) {
    char etag[96];
    if (def->update == RUNG_UPDATE_DECAY)
        return false; /* scores change with time */
    size_t len = make_etag(c, view, etag);
    rung_exchange_set(c->x, "ETag", rung_slice_of(etag, len));
    rung_exchange_set(c->x, "Cache-Control",
                      c->who.key_id_len ? RUNG_SLICE("private, max-age=1")
                                        : RUNG_SLICE("max-age=1"));
    if (!rung__call_has_etag(c, rung_slice_of(etag, len)))
        return false;
    rung_exchange_answer(c->x, 304, NULL, (rung_slice){NULL, 0});
    return true;
}

/* The board's newest timed snapshot of this kind of window, if it makes any. */
static void write_newest(rung_json_writer *w, const rung_ranking *k) {
    if (!k->has_numbers || !k->def->snapshot_every_ms || k->teams || k->scope.len)
        return;
    rung_slice season = rung_slice_of(k->window_id, k->window_id_len);
    uint64_t version = rung_state_edition_newest(k->state, k->board, k->kind, season);
    if (version)
        RUNG_JSON_MEMBER(w, "newest_version", uint, version);
}

static void write_entries(rung_json_writer *w, const rung_read *r) {
    write_newest(w, &r->q.k);
    rung_answer_rows(w, &r->q.k, "entries", r->q.rows, r->q.count, false);
}

static void top(rung_call *c, bool teams) {
    rung_view view;
    rung_read r = begin(c, RUNG_ASK_TOP, write_entries);
    r.q.limit = rung__call_count(c, "limit");
    r.q.offset = rung__call_count(c, "offset");
    if (!open_ranking(&r, &view, teams) || is_known(c, &view, r.q.k.def))
        return;
    const rung_request *q = rung_exchange_request(c->x);
    rung_page_key key = {q->path, q->query, rung_state_seq(view.state), view.kind, view.ordinal};
    /* Decayed scores depend on the clock, and a ghost's page is nobody else's. */
    bool keeps = r.q.k.def->update != RUNG_UPDATE_DECAY && !c->is_ghost;
    rung_slice page = keeps ? rung_page_find(&c->api->pages, &key) : (rung_slice){NULL, 0};
    if (page.ptr) {
        rung_exchange_answer(c->x, 200, RUNG_TYPE_JSON, page);
        return;
    }
    rung_ignore(rung_question_read(&r.q, &view, NULL, NULL), "a top list is always there");
    rung_json_writer *w = write_answer(&r);
    rung_json_close_object(w);
    if (keeps && !rung_json_failed(w))
        rung_page_keep(&c->api->pages, c->api->config.alloc, &key, rung_json_written(w));
    rung__call_send(c, 200);
}

void rung_api_top(rung_call *c) {
    rung_slice version = rung__call_text(c, "version"), page = rung__call_text(c, "page");
    if (page.len)
        rung__api_top_page(c, page);
    else if (version.len)
        rung__api_top_version(c, version);
    else
        top(c, false);
}

void rung_api_teams(rung_call *c) {
    top(c, true);
}

/* ---- one among neighbours ---- */

/* The player's own token, and keys that submit for players, see what waits for a review. The server whose helper we
 * are says what its client may see. */
rung__tentative rung__call_tentative(const rung_call *c) {
    if (c->api->config.is_past_helper) {
        rung_slice said = rung_exchange_header(c->x, "rung-tentative");
        return rung_slice_eq(said, RUNG_SLICE("all"))   ? RUNG__TENTATIVE_ALL
               : rung_slice_eq(said, RUNG_SLICE("own")) ? RUNG__TENTATIVE_OWN
                                                        : RUNG__TENTATIVE_HIDDEN;
    }
    if (c->who.player_len && rung_slice_eq(rung_who_player(&c->who), c->player))
        return RUNG__TENTATIVE_OWN;
    return c->who.role >= RUNG_ROLE_SERVER ? RUNG__TENTATIVE_ALL : RUNG__TENTATIVE_HIDDEN;
}

static void write_tentative(rung_json_writer *w, const rung_read *r) {
    char id[RUNG_REVIEW_ID_TEXT_MAX];
    RUNG_JSON_OPEN(w, "tentative", object);
    RUNG_JSON_MEMBER(w, "review", string, rung_slice_of(id, rung_review_id_format(r->review, id)));
    RUNG_JSON_MEMBER(w, "rank", uint, r->tentative.rank);
    rung_values_json_write(w, r->q.k.def, r->tentative.values, r->tentative.value_count);
    if (r->tentative.has_at)
        RUNG_JSON_MEMBER(w, "at", time, r->tentative.at_ms);
    rung_json_close_object(w);
}

static void write_around(rung_json_writer *w, const rung_read *r) {
    uint32_t below = r->q.count ? r->q.self + 1 : 0;
    RUNG_JSON_KEY(w, "entry");
    if (r->q.count)
        rung_answer_row(w, &r->q.k, &r->q.rows[r->q.self], false);
    else
        rung_json_write_null(w); /* only a tentative score is there */
    if (r->review)
        write_tentative(w, r);
    rung_answer_rows(w, &r->q.k, "above", r->q.rows, r->q.self, false);
    rung_answer_rows(w, &r->q.k, "below", r->q.rows + below, r->q.count - below, false);
}

/* A player's place, with what waits for a review. */
static void answer_place(rung_read *r, const rung_view *view) {
    rung_err err = {0};
    rung_status st = rung_question_read(&r->q, view, r->call->api->config.alloc, &err);
    rung__tentative sees = rung__call_tentative(r->call);
    bool is_own = sees == RUNG__TENTATIVE_OWN;
    bool is_tentative =
        sees && rung_view_tentative(view, r->call->player, &r->tentative, &r->review) == RUNG_OK;
    if (st != RUNG_OK && is_tentative)
        r->q.count = r->q.self = 0;
    if (st == RUNG_OK || (is_tentative && is_own))
        answer(r);
    else
        rung__call_fail(r->call, st, &err);
}

/* As open_ranking(). `*id` lives as long as the read. */
static bool open_around(rung_read *r, rung_call *c, rung_slice *id, bool teams, rung_view *view) {
    *r = begin(c, RUNG_ASK_AROUND, write_around);
    r->q.around = rung__call_count(c, "around");
    r->q.ids = id;
    r->q.id_count = 1;
    return open_ranking(r, view, teams);
}

void rung_api_team(rung_call *c) {
    rung_slice id = rung__call_arg(c, "team")->text;
    rung_view view;
    rung_read r;
    if (open_around(&r, c, &id, true, &view))
        answer_view(&r, &view);
}

enum { TOGETHER = 32 };

/* Answer the first calls of the list. Their entries are prefetched together: each is a cache miss. */
static void answer_some(rung_api *api) {
    rung_read reads[TOGETHER];
    rung_view views[TOGETHER];
    const rung_view *at[TOGETHER];
    rung_slice ids[TOGETHER];
    uint32_t n = 0;
    while (n < TOGETHER && api->ranked.first) {
        rung_call *c = api->ranked.first;
        RUNG_LIST_REMOVE(&api->ranked, c, link);
        api->ranked_count--;
        ids[n] = c->player;
        at[n] = &views[n];
        n += open_around(&reads[n], c, &ids[n], false, &views[n]);
    }
    rung_view_prefetch(n, at, ids);
    for (uint32_t i = 0; i < n; i++)
        answer_place(&reads[i], &views[i]);
}

void rung__answer_ranked(void *ctx) {
    rung_api *api = ctx;
    while (api->ranked.first)
        answer_some(api);
}

void rung_api_around(rung_call *c) {
    rung_api *api = c->api;
    rung_view view;
    rung_read r;
    if (c->is_ghost) { /* now, not after the turn */
        if (open_around(&r, c, &c->player, false, &view))
            answer_place(&r, &view);
        return;
    }
    RUNG_LIST_APPEND(&api->ranked, c, link);
    api->ranked_count++;
    if (api->ranked_count == TOGETHER) /* a burst holds no more requests than that */
        answer_some(api);
    else if (api->ranked_count == 1)
        rung_turn_want(&api->answer_ranked);
}

/* ---- several ---- */

static void write_players(rung_json_writer *w, const rung_read *r) {
    RUNG_JSON_OPEN(w, "entries", array);
    for (uint32_t i = 0; i < r->q.id_count; i++)
        if (r->q.found[i])
            rung_answer_row(w, &r->q.k, &r->q.rows[i], false);
    rung_json_close_array(w);
    RUNG_JSON_OPEN(w, "missing", array);
    for (uint32_t i = 0; i < r->q.id_count; i++)
        if (!r->q.found[i])
            rung_json_write_string(w, r->q.ids[i]);
    rung_json_close_array(w);
}

void rung_api_players(rung_call *c) {
    rung_slice ids[RUNG_API_ROWS_MAX];
    bool found[RUNG_API_ROWS_MAX];
    rung_read r = begin(c, RUNG_ASK_PLAYERS, write_players);
    r.q.ids = ids;
    r.q.found = found;
    rung_slice names = rung__call_arg(c, "ids")->text;
    while (r.q.id_count < RUNG_API_ROWS_MAX && rung_arg_next(&names, &ids[r.q.id_count]))
        r.q.id_count++;
    ask(&r);
}

/* ---- friends ---- */

static void write_friends(rung_json_writer *w, const rung_read *r) {
    RUNG_JSON_MEMBER(w, "player", string, r->call->player);
    RUNG_JSON_MEMBER(w, "count", uint, r->q.list_total);
    rung_answer_rows(w, &r->q.k, "entries", r->q.rows, r->q.count, true);
}

void rung_api_friend_ranking(rung_call *c) {
    rung_read r = begin(c, RUNG_ASK_FRIENDS, write_friends);
    r.q.limit = rung__call_count(c, "limit");
    r.q.offset = rung__call_count(c, "offset");
    r.q.ids = &c->player;
    r.q.id_count = 1;
    ask(&r);
}

/* ---- where a score would stand ---- */

static rung_status read_score(const rung_column *column, rung_slice text, const char *name,
                              rung_value *value_out, rung_err *err) {
    rung_err why;
    rung_status st = rung_score_parse(column, text, value_out, &why);
    return st < 0 ? RUNG_FAIL_FIELD(err, st, "%s", "%s", name, why.message) : RUNG_OK;
}

typedef struct at_score {
    rung_read read; /* the first member */
    rung_value values[RUNG_COLUMNS_MAX];
    uint32_t value_count, rank;
    bool is_estimate; /* `place` instead of `rank` */
    rung_place place;
} at_score;

static void write_place(rung_json_writer *w, const rung_place *p) {
    RUNG_JSON_MEMBER(w, "rank", uint, p->rank);
    RUNG_JSON_MEMBER(w, "rank_low", uint, p->rank_low);
    RUNG_JSON_MEMBER(w, "rank_high", uint, p->rank_high);
    RUNG_JSON_MEMBER(w, "percentile", real, p->percentile);
    RUNG_JSON_MEMBER(w, "percentile_low", real, p->percentile_low);
    RUNG_JSON_MEMBER(w, "percentile_high", real, p->percentile_high);
}

static void write_at_score(rung_json_writer *w, const rung_read *r) {
    const at_score *a = (const at_score *)r;
    rung_values_json_write(w, r->q.k.def, a->values, a->value_count);
    if (a->is_estimate)
        write_place(w, &a->place);
    else
        RUNG_JSON_MEMBER(w, "rank", uint, a->rank);
    rung_answer_rows(w, &r->q.k, "above", r->q.rows, r->q.self, false);
    rung_answer_rows(w, &r->q.k, "below", r->q.rows + r->q.self, r->q.count - r->q.self, false);
}

static rung_status read_scores(const rung_call *c, at_score *a, rung_err *err) {
    const rung_keyspec *key = &a->read.q.k.def->key;
    rung_slice rest = rung__call_arg(c, "columns")->text, text;
    rung_status st =
        read_score(&key->columns[0], rung__call_arg(c, "score")->text, "score", &a->values[0], err);
    a->value_count = key->column_count;
    for (uint32_t i = 1; st >= 0 && rung_arg_next(&rest, &text); i++) {
        if (i >= key->column_count)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "columns", "the board has %u beside the score",
                                   key->column_count - 1);
        st = read_score(&key->columns[i], text, "columns", &a->values[i], err);
    }
    return st;
}

void rung_api_at_score(rung_call *c) {
    rung_view view;
    rung_err err = {0};
    at_score a = {.read = begin(c, RUNG_ASK_MEMORY, write_at_score)};
    a.read.q.sketches = 1u << RUNG_SKETCH_PERCENTILE;
    if (!open_ranking(&a.read, &view, false))
        return;
    rung_status st = read_scores(c, &a, &err);
    a.is_estimate = view.sketch_kind != RUNG_SKETCH_NONE;
    if (st >= 0 && a.is_estimate)
        st = rung_view_place(&view, a.values[0], &a.place) == RUNG_OK
                 ? RUNG_OK
                 : RUNG_FAIL_FIELD(&err, RUNG_EINVAL, "score", "not a score of the board");
    else if (st >= 0)
        st = rung_view_at_score(&view, a.value_count, a.values, rung__call_count(c, "around"),
                                &a.rank, a.read.q.rows, &a.read.q.count, &a.read.q.self, &err);
    if (st < 0)
        rung__call_malformed(c, st, &err);
    else
        answer(&a.read);
}

/* ---- the score it takes ---- */

static void write_target(rung_json_writer *w, const rung_read *r) {
    const rung_arg *rank = rung__call_arg(r->call, "rank");
    if (rank->given) {
        RUNG_JSON_MEMBER(w, "rank", int, rank->number);
    } else {
        RUNG_JSON_MEMBER(w, "top_percent", real, rung__call_arg(r->call, "top_percent")->real);
    }
    if (r->q.count) {
        rung_values_json_write(w, r->q.k.def, r->q.rows[0].values, r->q.rows[0].value_count);
        RUNG_JSON_KEY(w, "entry");
        rung_answer_row(w, &r->q.k, &r->q.rows[0], false);
        return;
    }
    RUNG_JSON_KEY(w, "score");
    if (r->q.has_target)
        rung_score_json_write(w, &r->q.k.def->key.columns[0], r->q.target);
    else
        rung_json_write_null(w);
    RUNG_JSON_KEY(w, "entry");
    rung_json_write_null(w);
}

void rung_api_target(rung_call *c) {
    rung_read r = begin(c, RUNG_ASK_TARGET, write_target);
    const rung_arg *rank = rung__call_arg(c, "rank"), *percent = rung__call_arg(c, "top_percent");
    if (rank->given == percent->given) {
        rung__call_fail_with(c, RUNG_EINVAL, RUNG_REASON_MALFORMED, "rank",
                             "expected either rank or top_percent");
        return;
    }
    r.q.target_rank = rank->given ? (uint32_t)rank->number : 0;
    r.q.target_percent = percent->real;
    ask(&r);
}

/* ---- counting ---- */

static void write_count(rung_json_writer *w, const rung_read *r) {
    RUNG_JSON_MEMBER(w, "count", uint, r->q.count);
}

/* The full range of scores. */
static void widest(const rung_board_def *def, rung_value *low, rung_value *high) {
    if (def->key.columns[0].type == RUNG_SCORE_REAL) {
        low->d = -__builtin_inf();
        high->d = __builtin_inf();
    } else {
        low->i = INT64_MIN;
        high->i = INT64_MAX;
    }
}

void rung_api_count(rung_call *c) {
    rung_view view;
    rung_value low, high;
    rung_err err = {0};
    rung_status st = RUNG_OK;
    rung_read r = begin(c, RUNG_ASK_MEMORY, write_count);
    if (!open_ranking(&r, &view, false))
        return;
    const rung_arg *min = rung__call_arg(c, "min"), *max = rung__call_arg(c, "max");
    const rung_column *score = &r.q.k.def->key.columns[0];
    widest(r.q.k.def, &low, &high);
    if (min->given)
        st = read_score(score, min->text, "min", &low, &err);
    if (st >= 0 && max->given)
        st = read_score(score, max->text, "max", &high, &err);
    if (st >= 0 && rung_view_count_range(&view, low, high, &r.q.count) < 0)
        st = RUNG_FAIL_FIELD(&err, RUNG_EINVAL, "min", "out of the range of the board's scores");
    if (st < 0)
        rung__call_malformed(c, st, &err);
    else
        answer(&r);
}

/* ---- distribution ---- */

typedef struct distribution {
    rung_read read; /* the first member */
    const rung_view *view;
    const rung_bucket *buckets;
    uint32_t count;
} distribution;

static void write_quantiles(rung_json_writer *w, const distribution *d) {
    static const uint8_t percents[] = {1, 5, 10, 25, 50, 75, 90, 95, 99};
    rung_row row;
    RUNG_JSON_OPEN(w, "quantiles", array);
    for (size_t i = 0; i < RUNG_COUNT_OF(percents); i++) {
        memset(row.values, 0, sizeof row.values);
        if (d->view->sketch_kind
                ? rung_view_score_at_percent(d->view, percents[i], &row.values[0]) != RUNG_OK
                : rung_view_quantile(d->view, percents[i], 100, &row) != RUNG_OK)
            break;
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "top_percent", uint, percents[i]);
        rung_values_json_write(w, d->read.q.k.def, row.values, 1);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
}

static void write_distribution(rung_json_writer *w, const rung_read *r) {
    const distribution *d = (const distribution *)r;
    const rung_column *score = &r->q.k.def->key.columns[0];
    RUNG_JSON_MEMBER(w, "by", string,
                     rung__call_arg(r->call, "by")->number ? RUNG_SLICE("count")
                                                           : RUNG_SLICE("width"));
    RUNG_JSON_OPEN(w, "buckets", array);
    for (uint32_t i = 0; i < d->count; i++) {
        rung_json_open_object(w);
        RUNG_JSON_KEY(w, "low");
        rung_score_json_write(w, score, d->buckets[i].low);
        RUNG_JSON_KEY(w, "high");
        rung_score_json_write(w, score, d->buckets[i].high);
        RUNG_JSON_MEMBER(w, "count", uint, d->buckets[i].count);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
    write_quantiles(w, d);
}

void rung_api_distribution(rung_call *c) {
    rung_view view;
    rung_bucket buckets[RUNG_API_ROWS_MAX];
    distribution d = {
        .read = begin(c, RUNG_ASK_MEMORY, write_distribution), .view = &view, .buckets = buckets};
    d.read.q.sketches = 1u << RUNG_SKETCH_PERCENTILE;
    if (!open_ranking(&d.read, &view, false))
        return;
    d.count = rung_view_spread(&view, rung__call_count(c, "buckets"),
                               rung__call_arg(c, "by")->number, buckets);
    answer(&d.read);
}

/* ---- movers ---- */

typedef struct movers {
    rung_read read; /* the first member */
    const rung_movers *kept;
    rung_movement found;
} movers;

static void write_moment(rung_json_writer *w, const char *name, int64_t at_ms, uint64_t seq) {
    rung_json_write_key(w, rung_slice_str(name));
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "at", time, at_ms);
    RUNG_JSON_MEMBER(w, "seq", uint, seq);
    rung_json_close_object(w);
}

static void write_mover_list(rung_json_writer *w, const rung_ranking *k, const char *name,
                             const rung_mover *list, uint32_t count) {
    rung_json_write_key(w, rung_slice_str(name));
    rung_json_open_array(w);
    for (uint32_t i = 0; i < count; i++) {
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "change", int,
                         (int64_t)list[i].rank_before - (int64_t)list[i].row.rank);
        RUNG_JSON_MEMBER(w, "rank_before", uint, list[i].rank_before);
        RUNG_JSON_KEY(w, "entry");
        rung_answer_row(w, k, &list[i].row, false);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
}

static void write_movers(rung_json_writer *w, const rung_read *r) {
    const movers *m = (const movers *)r;
    const rung_movement *f = &m->found;
    write_moment(w, "from", rung_movers_time(m->kept), rung_movers_seq(m->kept));
    write_moment(w, "to", rung_hub_now(r->call->api->service.hub), r->q.k.seq);
    RUNG_JSON_MEMBER(w, "compared", uint, f->compared);
    RUNG_JSON_MEMBER(w, "entered", uint, f->entered);
    RUNG_JSON_MEMBER(w, "rose", uint, f->risen);
    RUNG_JSON_MEMBER(w, "fell", uint, f->fallen);
    write_mover_list(w, &r->q.k, "risers", f->risers, f->riser_count);
    write_mover_list(w, &r->q.k, "fallers", f->fallers, f->faller_count);
}

/* A server without the ranks of another moment asks a helper that has them. */
void rung_api_movers(rung_call *c) {
    const rung_alloc *alloc = c->api->config.alloc;
    rung_view view;
    rung_err err = {0};
    movers m = {.read = begin(c, RUNG_ASK_MEMORY, write_movers),
                .kept = rung_hub_movers(c->api->service.hub)};
    if (!m.kept) {
        rung__past_ask_since(c, rung__call_arg(c, "since")->text);
        return;
    }
    if (!open_ranking(&m.read, &view, false))
        return;
    rung_status st = rung_movers_find(m.kept, alloc, rung__api_state(c->api), &m.read.q.query,
                                      rung__call_count(c, "limit"), &m.found, &err);
    if (st != RUNG_OK) {
        rung__call_fail(c, st, &err);
        return;
    }
    m.read.q.k.rank = m.found.view.rank;
    answer(&m.read);
    rung_movement_deinit(&m.found, alloc);
}

/* ---- the values of a scope, the largest first: what a page offers as tabs ---- */

typedef struct scope_list {
    rung_read read; /* the first member */
    rung_slice attribute;
    rung_scope_size *sizes;
    uint32_t count, values;
} scope_list;

static void write_scope(rung_json_writer *w, const rung_read *r) {
    const scope_list *list = (const scope_list *)r;
    RUNG_JSON_MEMBER(w, "attribute", string, list->attribute);
    RUNG_JSON_MEMBER(w, "value_count", uint, list->values);
    RUNG_JSON_OPEN(w, "values", array);
    for (uint32_t i = 0; i < list->count; i++) {
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "value", string, list->sizes[i].value);
        RUNG_JSON_MEMBER(w, "total", uint, list->sizes[i].total);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
}

void rung_api_scope_values(rung_call *c) {
    rung_view view;
    uint32_t limit = rung__call_count(c, "limit");
    scope_list list = {.read = begin(c, RUNG_ASK_MEMORY, write_scope),
                       .attribute = rung__call_arg(c, "attribute")->text};
    list.read.q.sketches = ~0u; /* any of them */
    if (!open_ranking(&list.read, &view, false))
        return;
    list.sizes = rung__call_alloc(c, limit * sizeof *list.sizes);
    if (!list.sizes)
        return;
    list.count = rung_scope_largest(&view, list.attribute, limit, list.sizes, &list.values);
    if (list.count == RUNG_SCOPE_NONE)
        rung__call_absent(c, "attribute", "the board has no such scope");
    else
        answer(&list.read);
}

/* ---- opponents ---- */

void rung_api_opponents(rung_call *c) {
    rung_api *api = c->api;
    rung_opponent found[RUNG_OPPONENTS_MAX];
    rung_view view;
    rung_err err = {0};
    uint32_t count = 0;
    rung_read r = begin(c, RUNG_ASK_MEMORY, NULL);
    if (!open_ranking(&r, &view, false))
        return;
    rung_status st = rung_match_opponents(&api->service, c->board, &view, c->player,
                                          rung_hub_now(api->service.hub), rung__call_count(c, "n"),
                                          found, &count, &err);
    if (st < 0) {
        rung__call_fail(c, st, &err);
        return;
    }
    rung_json_writer *w = rung__call_begin(c);
    rung_answer_head(w, &r.q.k);
    RUNG_JSON_MEMBER(w, "player", string, c->player);
    RUNG_JSON_OPEN(w, "opponents", array);
    for (uint32_t i = 0; i < count; i++) {
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "quality", real, found[i].quality);
        RUNG_JSON_MEMBER(w, "expected", real, found[i].expected);
        RUNG_JSON_KEY(w, "entry");
        rung_answer_row(w, &r.q.k, &found[i].row, false);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
    rung__call_answer(c, 200);
}
