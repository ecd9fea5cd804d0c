/* SPDX-License-Identifier: Apache-2.0 */
/* The top list page by page, as it was when the first page was asked for (service/paging.h). */
#include "front/api/answers.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "service/ask.h"

enum { SWEEP_MS = 30000 };

static int64_t now_of(const rung_api *api) {
    return (int64_t)rung_loop_now_ms(api->config.loop);
}

static void sweep(void *ctx) {
    rung_api *api = ctx;
    if (!rung_paging_sweep(api->paging, now_of(api)))
        rung_timer_stop(api->config.loop, &api->paging_timer);
}

rung_status rung__paging_start(rung_api *api, rung_err *err) {
    api->paging_timer = (rung_timer){.call = sweep, .ctx = api};
    return rung_paging_create(api->config.alloc, NULL, &api->paging, err);
}

static rung_ranking ranking_of(const rung_call *c, const rung_view *view, uint64_t seq) {
    const rung_state *state = rung__api_state(c->api);
    rung_ranking k = {.board = c->board,
                      .state = state,
                      .has_numbers = true,
                      .kind = view->kind,
                      .start_ms = view->start_ms,
                      .end_ms = view->end_ms,
                      .closed = view->closed,
                      .rank = view->rank,
                      .total = view->total,
                      .seq = seq};
    rung_ignore(rung_state_board(state, c->board, &k.def), "it has a ranking");
    k.window_id_len = rung_window_id_write(view->kind, view->ordinal, view->season, k.window_id);
    return k;
}

/* `next` empty: it is the last page. */
static void answer_rows(rung_call *c, const rung_ranking *k, uint32_t count, rung_slice next) {
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung_json_writer *w = rung__call_begin(c);
    rung_answer_head(w, k);
    RUNG_JSON_MEMBER(w, "next", string_or_null, next);
    rung_answer_rows(w, k, "entries", c->api->rows, count, false);
    rung__call_answer(c, 200);
}

static void answer_page(rung_call *c, rung_paged *paged) {
    rung_api *api = c->api;
    char token[RUNG_PAGING_TOKEN_SIZE];
    bool is_more = false;
    rung_ranking k = ranking_of(c, rung_hold_view(paged->hold), rung_hold_seq(paged->hold));
    uint32_t count = rung_hold_rows(paged->hold, &paged->place, rung__call_count(c, "limit"),
                                    api->rows, &is_more);
    if (is_more)
        rung_paging_token(api->paging, paged, token);
    else
        rung_paging_done(api->paging, paged);
    answer_rows(c, &k, count, rung_slice_of(token, is_more ? sizeof token : 0));
}

static void first_page(rung_call *c) {
    rung_api *api = c->api;
    rung_view view;
    rung_paged paged;
    rung_err err = {0};
    const rung_arg *rank = rung__call_find(c, "rank");
    rung_question q = {
        .kind = RUNG_ASK_MEMORY,
        .query = {.board = c->board,
                  .window = rung__call_text(c, "window"),
                  .window_id = rung__call_text(c, "window_id"),
                  .on = rung__call_text(c, "on"),
                  .has_rank = rank && rank->given,
                  .rank = rank && rank->given ? (rung_rank_style)rank->number : RUNG_RANK_UNIQUE}};
    rung_status st = rung_question_open(&api->service, &q, &view, &err);
    if (st != RUNG_OK) {
        rung__call_malformed(c, st, &err);
        return;
    }
    uint32_t limit = rung__call_count(c, "limit");
    if (view.total <= limit) { /* one page needs no hold */
        uint32_t count = rung_view_top(&view, 0, limit, api->rows);
        answer_rows(c, &q.k, count, (rung_slice){NULL, 0});
        return;
    }
    st = rung_paging_begin(api->paging, &view, rung__call_share(c), now_of(api), &paged, &err);
    if (st < 0) {
        rung__call_fail(c, st, &err);
        return;
    }
    if (!api->paging_timer.is_running)
        rung_timer_start(api->config.loop, &api->paging_timer, SWEEP_MS, SWEEP_MS);
    answer_page(c, &paged);
}

static void next_page(rung_call *c, rung_slice token) {
    rung_paged paged;
    rung_err err = {0};
    rung_status st = rung_paging_find(c->api->paging, token, now_of(c->api), &paged, &err);
    if (st < 0)
        rung__call_malformed(c, st, &err);
    else if (!rung_hold_is_of(paged.hold, c->board))
        rung__call_fail_with(c, RUNG_EINVAL, RUNG_REASON_NONE, "page", "it is of another board");
    else
        answer_page(c, &paged);
}

/* What a page may not be combined with; NULL: nothing of it was sent. A later page is what the first one was. */
static const char *what_else(const rung_call *c, bool is_first) {
    static const char *const never[] = {"scope", "version"}, *const later[] = {"window",
                                                                               "window_id", "on",
                                                                               "rank"};
    for (size_t i = 0; i < RUNG_COUNT_OF(never); i++)
        if (rung__call_find(c, never[i])->given)
            return never[i];
    for (size_t i = 0; i < RUNG_COUNT_OF(later) && !is_first; i++)
        if (rung__call_find(c, later[i])->given)
            return later[i];
    return rung__call_count(c, "offset") ? "offset" : NULL;
}

void rung__api_top_page(rung_call *c, rung_slice page) {
    bool is_first = rung_slice_eq(page, RUNG_SLICE("first"));
    const char *other = what_else(c, is_first);
    if (other)
        rung__call_fail_with(c, RUNG_EUNSUPPORTED, RUNG_REASON_NONE, other,
                             "not together with page");
    else if (is_first)
        first_page(c);
    else
        next_page(c, page);
}
