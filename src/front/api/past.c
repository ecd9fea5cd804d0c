/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the archive. The loop never waits for the disk: they queue, libuv's pool works on a few at a time (each
 * with a reader of its own: an archive is one thread's at a time), and the answer is written in the loop, where the
 * names of players are.
 *
 *     rung__archive_ask -> [asking] -> work_ask (pool) -> work_done (loop) -> finish -> the next one
 *
 * Who asks much does not stand before who asks little. Each question has a turn: one later than the last of the same
 * sender, but no earlier than the turn that is being worked on; the lowest is next (start-time fair queueing).
 *
 * The archive follows the log a moment behind. An answer reflects the sequence that it states all the same: a question
 * waits in the queue until the archive has the last event that hid or brought back anybody, as of the time the question
 * came; and a window that is not found is looked for again when the archive has all windows that had closed by then.
 * Scores do not reach closed windows, so nobody waits for those. An archive that does not come as far in time: 503.
 *
 * What the archive gave (the view stays open) lives until `finish` is done: its reader asks nobody else before that. */
#include "base/assert.h"
#include "front/api/reads.h"
#include "model/calendar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOK_MS = 2, /* how often to look how far the archive is, while somebody waits for it */
};

/* ---- objects ---- */

rung_past *rung__past_create(const rung_alloc *alloc, uint32_t rows_max, uint32_t ids_max,
                             size_t more_size) {
    rung_past *p = rung_alloc_zeroed(alloc, sizeof *p);
    if (!p)
        return NULL;
    p->rows_max = rows_max;
    p->ids_max = ids_max;
    p->more_size = more_size;
    p->read.rows = rung_alloc_zeroed(alloc, (rows_max + 1) * sizeof *p->read.rows);
    p->read.ids = rung_alloc_zeroed(alloc, (ids_max + 1) * sizeof *p->read.ids);
    p->read.found = rung_alloc_zeroed(alloc, (ids_max + 1) * sizeof *p->read.found);
    p->more = more_size ? rung_alloc_zeroed(alloc, more_size) : NULL;
    if (p->read.rows && p->read.ids && p->read.found && (p->more || !more_size))
        return p;
    rung__past_destroy(alloc, p);
    return NULL;
}

void rung__past_destroy(const rung_alloc *alloc, rung_past *p) {
    if (!p)
        return;
    rung_alloc_free(alloc, p->read.rows, (p->rows_max + 1) * sizeof *p->read.rows);
    rung_alloc_free(alloc, p->read.ids, (p->ids_max + 1) * sizeof *p->read.ids);
    rung_alloc_free(alloc, p->read.found, (p->ids_max + 1) * sizeof *p->read.found);
    rung_alloc_free(alloc, p->more, p->more_size);
    rung_alloc_free(alloc, p, sizeof *p);
}

/* ---- the queue ---- */

static rung_api_archive_stat archive_stat(const rung_api *api) {
    rung_api_archive_stat s = {.cursor_seq = UINT64_MAX};
    if (api->config.archive_stat && !api->config.archive_stat(api->config.ctx, &s))
        s = (rung_api_archive_stat){.cursor_seq = UINT64_MAX};
    return s;
}

static void work_ask(rung_work *work) {
    const rung_asker *asker = work->ctx;
    rung_past *p = asker->call->past; /* the loop leaves it alone until work_done */
    p->status = p->ask(p, asker->archive);
}

static void close_view(rung_past *p) {
    if (p->is_open)
        rung_archive_view_close(&p->view);
    p->is_open = false;
}

static void leave(rung_api *api, rung_call *c) {
    rung__call_list_remove(&api->asking, c);
    rung_fair_give(&api->asking_shares, c->share, 1);
}

static void fail_question(rung_call *c, rung_past *p) {
    if (p->status == RUNG_EABSENT)
        p->err.reason = RUNG_REASON_NOT_ARCHIVED;
    else if (p->status != RUNG_NOT_FOUND)
        p->err.reason = RUNG_REASON_ARCHIVE;
    rung__call_fail(c, p->err.reason == RUNG_REASON_ARCHIVE ? RUNG_EIO : p->status, &p->err);
}

static void end_question(rung_api *api, rung_call *c) {
    rung_past *p = c->past;
    leave(api, c);
    if (!rung__call_may_still(c))
        ; /* it is answered */
    else if (p->status == RUNG_OK)
        p->finish(p);
    else
        fail_question(c, p);
    close_view(p);
    rung__past_destroy(api->config.alloc, p);
}

static void refuse_late(rung_api *api, rung_call *c) {
    rung_past *p = c->past;
    leave(api, c);
    api->metrics.wait_timeouts++;
    rung__call_fail_with(c, RUNG_EBUSY, RUNG_REASON_ARCHIVE_BEHIND, NULL,
                         "the archive has not caught up with what changed this window");
    rung__past_destroy(api->config.alloc, p);
}

static void work_done(rung_work *work);

static void begin_work(rung_api *api, rung_asker *asker, rung_call *c) {
    asker->call = c;
    asker->work = (rung_work){.run = work_ask, .done = work_done, .ctx = asker};
    c->past->is_asked = true;
    api->turn = c->past->turn;
    rung_status st = rung_loop_work(api->config.loop, &asker->work);
    if (st < 0) {
        c->past->status = st;
        work_done(&asker->work);
    }
}

/* Whose turn it is, of those that the archive can answer now. */
static rung_call *next_ready(const rung_api *api, uint64_t archived_seq) {
    rung_call *next = NULL;
    for (rung_call *c = api->asking.first; c; c = c->next)
        if (!c->past->is_asked && c->past->needed_seq <= archived_seq &&
            (!next || c->past->turn < next->past->turn))
            next = c;
    return next;
}

/* The first that it cannot; if `late`, of those whose time is over. */
static rung_call *first_waiting(const rung_api *api, uint64_t archived_seq, bool late) {
    int64_t now_ms = (int64_t)rung_loop_now_ms(api->config.loop);
    rung_call *c = api->asking.first;
    while (c && (c->past->is_asked || c->past->needed_seq <= archived_seq ||
                 (late && c->deadline_ms > now_ms)))
        c = c->next;
    return c;
}

static rung_asker *free_asker(rung_api *api) {
    for (uint32_t i = 0; i < api->asker_count; i++)
        if (!api->askers[i].call)
            return &api->askers[i];
    return NULL;
}

static void ask_next(rung_api *api) {
    rung_asker *asker;
    rung_call *ready;
    if (!api->asking.first)
        return;
    uint64_t archived_seq = archive_stat(api).cursor_seq;
    if (first_waiting(api, archived_seq, false))
        rung_timer_start(api->config.loop, &api->ask_timer, LOOK_MS, 0);
    while ((asker = free_asker(api)) != NULL && (ready = next_ready(api, archived_seq)) != NULL)
        begin_work(api, asker, ready);
}

void rung__archive_look_again(void *ctx) {
    rung_api *api = ctx;
    uint64_t archived_seq = archive_stat(api).cursor_seq;
    rung_call *late;
    while ((late = first_waiting(api, archived_seq, true)) != NULL)
        refuse_late(api, late);
    ask_next(api);
}

static void work_done(rung_work *work) {
    rung_asker *asker = work->ctx;
    rung_call *c = asker->call;
    rung_api *api = c->api;
    rung_past *p = c->past;
    p->is_asked = false;
    api->metrics.archive_questions++;
    api->metrics.archive_failures += p->status < 0;
    if (p->status == RUNG_NOT_FOUND && p->needed_seq < p->closed_seq && !api->is_stopped) {
        p->needed_seq = p->closed_seq;
        close_view(p);
    } else {
        end_question(api, c);
    }
    asker->call = NULL;
    if (!api->is_stopped)
        ask_next(api);
}

void rung__archive_ask(rung_call *c, rung_past *p) {
    rung_api *api = c->api;
    c->past = p;
    uint32_t share = rung__call_share(c);
    if (api->is_stopped || !rung_fair_may(&api->asking_shares, share, false)) {
        rung__past_destroy(api->config.alloc, p);
        if (api->is_stopped)
            rung__call_fail(c, RUNG_ECLOSED, NULL);
        else
            rung__call_overloaded(c);
        return;
    }
    rung_api_archive_stat s = archive_stat(api);
    p->seq = rung_state_seq(rung__api_state(api));
    p->closed_seq = s.closed_seq;
    p->needed_seq = p->needs_closed && s.closed_seq > s.changed_seq ? s.closed_seq : s.changed_seq;
    if (!c->deadline_ms) /* or it has waited for its min_seq */
        c->deadline_ms = (int64_t)rung_loop_now_ms(api->config.loop) + api->config.wait_ms;
    uint64_t *turn = &api->turns[share];
    p->turn = *turn = (*turn > api->turn ? *turn : api->turn) + 1;
    rung_fair_take(&api->asking_shares, share, 1);
    rung__call_list_add(&api->asking, c);
    ask_next(api);
}

void rung__archive_stop(rung_api *api) {
    rung_call *next;
    rung_timer_stop(api->config.loop, &api->ask_timer);
    for (rung_call *c = api->asking.first; c; c = next) {
        next = c->next;
        if (c->past->is_asked)
            continue;
        c->past->status = RUNG_ECLOSED;
        end_question(api, c);
    }
}

static bool is_asking(const rung_api *api) {
    for (uint32_t i = 0; i < api->asker_count; i++)
        if (api->askers[i].call)
            return true;
    return false;
}

void rung_api_settle(rung_api *api) {
    while (api && (is_asking(api) || api->key_change))
        rung_loop_run(api->config.loop, RUNG_RUN_ONCE);
}

/* ---- one ranking ---- */

/* The first kind a board has, as the state chooses it. */
static uint32_t first_kind(const rung_board_def *def, rung_slice *season_out) {
    static const uint8_t order[] = {0,
                                    RUNG_WINDOW_YEAR,
                                    RUNG_WINDOW_MONTH,
                                    RUNG_WINDOW_WEEK,
                                    RUNG_WINDOW_DAY,
                                    RUNG_WINDOW_HOUR};
    for (size_t i = 0; i < sizeof order; i++)
        if (def->windows >> order[i] & 1)
            return order[i];
    *season_out = def->seasons[0].name;
    return RUNG_WINDOW_SEASON;
}

static uint32_t kind_of(const rung_query *q, const rung_board_def *def, rung_slice *season_out) {
    if (!q->window.len)
        return first_kind(def, season_out);
    int kind = rung_word_find(rung_plain_window_words, q->window);
    if (kind >= 0)
        return (uint32_t)kind;
    *season_out = q->window;
    return RUNG_WINDOW_SEASON;
}

/* Which window of the archive is meant: false when none can be. */
static bool name_window(rung_past *p, const rung_query *q, const rung_board_def *def) {
    rung_slice season = {0}, id = q->window_id;
    int64_t ordinal;
    uint32_t kind = kind_of(q, def, &season);
    if (kind == 0)
        return false;
    if (kind == RUNG_WINDOW_SEASON) {
        if (id.len && !rung_slice_eq(id, season))
            return false;
        id = season;
    } else if (id.len) {
        if (rung_window_id_parse((rung_window_kind)kind, id, &ordinal, NULL) < 0)
            return false;
    } else {
        if (!q->on.len || rung_window_on((rung_window_kind)kind, q->on, &ordinal, NULL) < 0)
            return false;
        size_t len = rung_window_id_format((rung_window_kind)kind, ordinal, p->window_id);
        id = rung_slice_of(p->window_id, len);
    }
    p->query = (rung_archive_query){.board = q->board,
                                    .kind = kind,
                                    .window_id = id,
                                    .scope = q->scope,
                                    .teams = q->teams,
                                    .has_rank = true, /* not the board's when the window closed */
                                    .rank = q->has_rank ? q->rank : def->rank,
                                    .now_ms = q->now_ms};
    return true;
}

static rung_status ask_ranking(rung_past *p, rung_archive *a) {
    rung_status st = rung_archive_view_open(a, &p->query, &p->view, &p->err);
    if (st == RUNG_NOT_FOUND)
        return RUNG_FAIL_FIELD(&p->err, st, "window",
                               "there is no such window, or nobody was ranked in it");
    if (st != RUNG_OK)
        return st;
    p->is_open = true;
    st = rung_board_def_decode(p->view.window.definition, &p->def, &p->err);
    return st < 0 ? st : p->rows(p);
}

static void finish_ranking(rung_past *p) {
    rung_ranking *k = &p->read.k;
    const rung_archive_window *window = &p->view.window;
    const rung_state *s = rung__api_state(p->read.call->api);
    k->def = &p->def;
    k->state = s;
    k->seq = p->seq;
    k->kind = window->kind;
    k->window_id_len =
        (uint32_t)(window->id.len < sizeof k->window_id ? window->id.len : sizeof k->window_id - 1);
    memcpy(k->window_id, window->id.ptr, k->window_id_len);
    k->start_ms = window->start_ms;
    k->end_ms = window->end_ms;
    k->closed = true;
    k->rank = p->view.rank;
    k->total = p->view.total;
    rung__read_answer(&p->read);
}

/* The player and all whom the player follows. */
static void gather_friends(rung_past *p, const rung_state *s) {
    rung_slice player = p->read.call->player;
    p->read.id_count = rung_state_friends(s, player, p->read.ids, p->ids_max - 1);
    p->read.ids[p->read.id_count++] = player;
}

/* State's slices do not outlive the next event: friends' ids are copied behind the question. */
static bool keep_ids(rung_past *p, rung_call *c) {
    for (uint32_t i = 0; i < p->read.id_count; i++)
        if (!rung__call_keep(c, p->read.ids[i], &p->read.ids[i]))
            return false;
    return true;
}

static bool fill_friends(rung_past *p) {
    rung_call *c = p->read.call;
    const rung_state *s = rung__api_state(c->api);
    rung_attribute attributes[RUNG_ATTRIBUTES_MAX];
    uint32_t count;
    bool banned;
    if (rung_state_player(s, c->player, &count, attributes, &banned) != RUNG_OK) {
        rung__call_absent(c, "player", "no such player");
        return false;
    }
    gather_friends(p, s);
    return keep_ids(p, c);
}

static void copy_read(rung_past *p, const rung_read *r) {
    rung_row *rows = p->read.rows;
    rung_slice *ids = p->read.ids;
    bool *found = p->read.found;
    p->read = *r;
    p->read.rows = rows;
    p->read.ids = ids;
    p->read.found = found;
    for (uint32_t i = 0; i < r->id_count; i++)
        ids[i] = r->ids[i];
}

/* Is there such a ranking on the board as it is today? What it no longer ranks by is gone, here as in memory. */
static rung_status check_ranking(const rung_query *q, const rung_board_def *def, rung_err *err) {
    if (q->teams && !def->has_teams)
        return RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "teams", "the board has no team ranking");
    if (!q->scope.len)
        return RUNG_OK;
    const char *colon = memchr(q->scope.ptr, ':', q->scope.len);
    if (!colon)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "scope", "must be attribute:value");
    rung_slice attribute = rung_slice_of(q->scope.ptr, (size_t)(colon - q->scope.ptr));
    for (uint32_t i = 0; i < def->scope_count; i++)
        if (rung_slice_eq(def->scopes[i], attribute))
            return RUNG_OK;
    return RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "scope",
                           "the board has no ranking by this attribute");
}

static uint32_t rows_needed(const rung_read *r, rung_past_rows *rows) {
    if (rows == rung__past_friends)
        return 1 + rung_state_friends(rung__api_state(r->call->api), r->call->player, NULL, 0);
    uint32_t neighbours = 2 * r->around + 1, most = r->limit > r->id_count ? r->limit : r->id_count;
    return most > neighbours ? most : neighbours;
}

bool rung__past_begin(const rung_read *r, const rung_query *q, const rung_board_def *def,
                      rung_past_rows *rows) {
    rung_call *c = r->call;
    rung_api *api = c->api;
    if (!api->archive)
        return false;
    if (!rows) {
        rung__call_fail_with(
            c, RUNG_EABSENT, RUNG_REASON_NOT_ARCHIVED, NULL,
            "this question is answered only as long as the window is in memory; the archive has "
            "its entries and their ranks");
        return true;
    }
    rung_err err = {0};
    rung_status st = check_ranking(q, def, &err);
    if (st != RUNG_OK) {
        rung__call_malformed(c, st, &err);
        return true;
    }
    uint32_t most = rows_needed(r, rows);
    rung_past *p = rung__past_create(api->config.alloc, most, most, 0);
    if (!p) {
        rung__call_fail(c, RUNG_ENOMEM, NULL);
        return true;
    }
    if (!name_window(p, q, def)) {
        rung__past_destroy(api->config.alloc, p);
        return false;
    }
    copy_read(p, r);
    p->ask = ask_ranking;
    p->finish = finish_ranking;
    p->rows = rows;
    if (rows == rung__past_target) {
        p->target_rank = rung__call_arg(c, "rank")->given ? rung__call_arg(c, "rank")->number : 0;
        p->target_percent = rung__call_arg(c, "top_percent")->real;
    }
    if (rows == rung__past_friends && !fill_friends(p)) {
        rung__past_destroy(api->config.alloc, p);
        return true;
    }
    rung__archive_ask(c, p);
    return true;
}

/* ---- rows, in the pool ---- */

rung_status rung__past_top(rung_past *p) {
    rung_read *r = &p->read;
    return rung_archive_view_top(&p->view, r->offset, r->limit, r->rows, &r->count, &p->err);
}

rung_status rung__past_around(rung_past *p) {
    rung_read *r = &p->read;
    rung_status st = rung_archive_view_around(&p->view, r->ids[0], r->around, r->rows, &r->count,
                                              &r->self, &p->err);
    return st == RUNG_NOT_FOUND ? RUNG_FAIL_FIELD(&p->err, st, "%s", "not ranked here",
                                                  r->k.teams ? "team" : "player")
                                : st;
}

rung_status rung__past_players(rung_past *p) {
    rung_read *r = &p->read;
    return rung_archive_view_rows(&p->view, r->id_count, r->ids, r->rows, r->found, &p->err);
}

static int compare_rows(const void *a, const void *b) {
    uint32_t x = ((const rung_row *)a)->index, y = ((const rung_row *)b)->index;
    return (x > y) - (x < y);
}

static bool is_same_score(const rung_row *a, const rung_row *b) {
    for (uint32_t i = 0; i < a->value_count; i++)
        if (a->values[i].i != b->values[i].i)
            return false;
    return true;
}

/* Ranks among those listed, who are in order. */
static void rank_list(rung_row *rows, uint32_t count, rung_rank_style style) {
    uint32_t sparse = 0, dense = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || !is_same_score(&rows[i - 1], &rows[i])) {
            sparse = i + 1;
            dense++;
        }
        rows[i].list_rank = style == RUNG_RANK_UNIQUE   ? i + 1
                            : style == RUNG_RANK_SPARSE ? sparse
                                                        : dense;
    }
}

rung_status rung__past_friends(rung_past *p) {
    rung_read *r = &p->read;
    rung_status st =
        rung_archive_view_rows(&p->view, r->id_count, r->ids, r->rows, r->found, &p->err);
    if (st < 0)
        return st;
    uint32_t ranked = 0;
    for (uint32_t i = 0; i < r->id_count; i++)
        if (r->found[i])
            r->rows[ranked++] = r->rows[i];
    qsort(r->rows, ranked, sizeof *r->rows, compare_rows);
    rank_list(r->rows, ranked, p->view.rank);
    r->list_total = ranked;
    uint32_t left = r->offset < ranked ? ranked - r->offset : 0;
    r->count = left < r->limit ? left : r->limit;
    if (r->offset && r->count)
        memmove(r->rows, r->rows + r->offset, r->count * sizeof *r->rows);
    return RUNG_OK;
}

/* The first place whose dense rank is at least `rank`: ranks grow with places. */
static rung_status find_dense(rung_past *p, uint32_t rank, uint32_t *index_out) {
    uint32_t low = 0, high = p->view.total, count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        rung_status st = rung_archive_view_top(&p->view, middle, 1, p->read.rows, &count, &p->err);
        if (st < 0)
            return st;
        if (count == 0 || p->read.rows[0].rank >= rank)
            high = middle;
        else
            low = middle + 1;
    }
    *index_out = low;
    return RUNG_OK;
}

rung_status rung__past_target(rung_past *p) {
    rung_read *r = &p->read;
    uint32_t index = 0, total = p->view.total;
    rung_status st = RUNG_OK;
    r->count = 0;
    if (total == 0 || p->target_rank > total)
        return RUNG_OK;
    if (!p->target_rank) {
        double nth = ceil((double)total * p->target_percent / 100.0);
        index = nth < 1 ? 0 : nth > (double)total ? total - 1 : (uint32_t)nth - 1;
    } else if (p->view.rank == RUNG_RANK_DENSE) {
        st = find_dense(p, (uint32_t)p->target_rank, &index);
    } else {
        index = (uint32_t)p->target_rank - 1;
    }
    if (st < 0 || index >= total)
        return st < 0 ? st : RUNG_OK;
    return rung_archive_view_top(&p->view, index, 1, r->rows, &r->count, &p->err);
}
