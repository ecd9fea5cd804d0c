/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the ranking of a question and reads its rows. Rows of the archive are read in another thread (fill_*), into a
 * copy of the question. */
#include "service/ask.h"

#include "model/calendar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint32_t rung_window_id_write(uint32_t kind, int64_t ordinal, rung_slice season,
                              char out[RUNG_NAME_MAX + 1]) {
    if (kind != 0 && kind != RUNG_WINDOW_SEASON)
        return (uint32_t)rung_window_id_format((rung_window_kind)kind, ordinal, out);
    rung_slice id = kind == 0 ? RUNG_SLICE("all") : season;
    uint32_t len = id.len <= RUNG_NAME_MAX ? (uint32_t)id.len : RUNG_NAME_MAX;
    memcpy(out, id.ptr, len);
    out[len] = 0;
    return len;
}

/* ---- which window of the archive ---- */

/* Does the board, as defined now, have such a ranking? If not, archived ones are not shown either. */
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

/* Name the archived window; its id goes to `text`. False: the archive cannot have it. */
static bool name_window(const rung_query *q, const rung_board_def *def,
                        char text[RUNG_NAME_MAX + 1], rung_archive_query *out) {
    rung_slice id = {NULL, 0};
    int64_t ordinal;
    uint32_t kind = rung_board_window_kind(def, q->window, &id);
    if (kind == RUNG_WINDOW_SEASON) {
        if (q->window_id.len && !rung_slice_eq(q->window_id, id))
            return false;
    } else {
        if (kind == 0 || (!q->window_id.len && !q->on.len) ||
            rung_window_find((rung_window_kind)kind, q->window_id, q->on, &ordinal, NULL) < 0)
            return false;
        id = rung_slice_of(text, rung_window_id_format((rung_window_kind)kind, ordinal, text));
    }
    *out = (rung_archive_query){.board = q->board,
                                .kind = kind,
                                .window_id = id,
                                .scope = q->scope,
                                .teams = q->teams,
                                .has_rank = true, /* not that of the board when the window closed */
                                .rank = q->has_rank ? q->rank : def->rank,
                                .now_ms = q->now_ms};
    return true;
}

/* ---- from the state ---- */

static void set_ranking(rung_ranking *k, const rung_view *view, const rung_board_def *def) {
    k->def = def;
    k->has_numbers = true;
    k->kind = view->kind;
    k->window_id_len = rung_window_id_write(view->kind, view->ordinal, view->season, k->window_id);
    k->start_ms = view->start_ms;
    k->end_ms = view->end_ms;
    k->closed = view->closed;
    k->rank = view->rank;
    k->total = rung_view_size(view);
    rung_view_sketch(view, &k->sketch);
}

/* What a sketch board keeps cannot answer every question. */
static rung_status check_sketch(const rung_question *q, const rung_board_def *def, rung_err *err) {
    static const char *const reasons[] = {
        [RUNG_SKETCH_COUNTS] = "a counts board has the largest sums: ask for the top, or a player",
        [RUNG_SKETCH_PERCENTILE] =
            "a percentile board has no entries: ask where a score stands, for a target or the "
            "distribution",
        [RUNG_SKETCH_DISTINCT] = "a distinct board has a number alone: ask for the top",
    };
    unsigned can = q->sketches;
    if (q->kind == RUNG_ASK_TOP || q->kind == RUNG_ASK_AROUND || q->kind == RUNG_ASK_PLAYERS)
        can = 1u << RUNG_SKETCH_COUNTS;
    if (q->kind == RUNG_ASK_TARGET)
        can = 1u << RUNG_SKETCH_PERCENTILE;
    if (q->kind == RUNG_ASK_TOP) /* an empty list, with how many players there were */
        can |= 1u << RUNG_SKETCH_DISTINCT;
    if (!def->sketch || can >> def->sketch & 1)
        return RUNG_OK;
    return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "sketch", "%s", reasons[def->sketch]);
}

/* The window is not in memory; `st` is the state's answer. */
static rung_status leave_memory(const rung_service *s, const rung_question *q,
                                const rung_board_def *def, rung_status st, rung_err *err) {
    rung_err why = {0};
    rung_archive_query query;
    char id[RUNG_NAME_MAX + 1];
    if (!s->asker || !rung_asker_has_archive(s->asker) || def->sketch)
        return st; /* the archive keeps entries, which a sketch board has none of */
    if (q->kind == RUNG_ASK_MEMORY)
        return RUNG_FAIL_WHY(err, RUNG_EABSENT, RUNG_REASON_NOT_ARCHIVED,
                             "this question is answered only as long as the window is in memory; "
                             "the archive has its entries and their ranks");
    rung_status found = check_ranking(&q->query, def, &why);
    if (found != RUNG_OK) {
        if (err)
            *err = why;
        return found;
    }
    return name_window(&q->query, def, id, &query) ? RUNG_PARTIAL : st;
}

/* Not before log time: otherwise the last events would lie in the future. */
static int64_t now_of(rung_hub *hub) {
    int64_t now_ms = rung_hub_now(hub), log_ms = rung_state_time(rung_hub_state(hub));
    return now_ms < log_ms ? log_ms : now_ms;
}

rung_status rung_question_open(const rung_service *s, rung_question *q, rung_view *view,
                               rung_err *err) {
    const rung_state *state = rung_hub_state(s->hub);
    const rung_board_def *def;
    rung_err why;
    q->k.board = q->query.board;
    q->k.scope = q->query.scope;
    q->k.state = state;
    q->k.teams = q->query.teams;
    q->k.seq = rung_state_seq(state);
    if (q->query.window_id.len && q->query.on.len)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "on", "not together with window_id");
    if (rung_state_board(state, q->query.board, &def) != RUNG_OK)
        return RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "board", "no such board");
    if (q->query.now_ms == 0)
        q->query.now_ms = now_of(s->hub);
    rung_status st = check_sketch(q, def, err);
    if (st < 0)
        return st;
    st = rung_state_view(state, &q->query, view, &why);
    if (st == RUNG_OK) {
        set_ranking(&q->k, view, def);
        return RUNG_OK;
    }
    if (err)
        *err = why;
    return why.reason == RUNG_REASON_NOT_IN_MEMORY ? leave_memory(s, q, def, st, err) : st;
}

static rung_status fail_unranked(const rung_question *q, rung_err *err) {
    return q->k.teams ? RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "team", "not ranked here")
                      : RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "player", "not ranked here");
}

static rung_status read_friends(rung_question *q, const rung_view *view, const rung_alloc *alloc,
                                rung_err *err) {
    rung_status st = rung_view_friends(view, alloc, q->ids[0], q->offset, q->limit, q->rows,
                                       &q->count, &q->list_total);
    if (st == RUNG_NOT_FOUND)
        return RUNG_FAIL_FIELD(err, st, "player", "no such player");
    return st < 0 ? RUNG_FAIL(err, st, "out of memory") : st;
}

rung_status rung_question_read(rung_question *q, const rung_view *view, const rung_alloc *alloc,
                               rung_err *err) {
    switch (q->kind) {
    case RUNG_ASK_TOP:
        q->count = rung_view_top(view, q->offset, q->limit, q->rows);
        return RUNG_OK;
    case RUNG_ASK_AROUND:
        if (rung_view_around(view, q->ids[0], q->around, q->rows, &q->count, &q->self) != RUNG_OK)
            return fail_unranked(q, err);
        return RUNG_OK;
    case RUNG_ASK_PLAYERS:
        rung_view_rows(view, q->id_count, q->ids, q->rows, q->found);
        return RUNG_OK;
    case RUNG_ASK_FRIENDS:
        return read_friends(q, view, alloc, err);
    case RUNG_ASK_TARGET:
        if (view->sketch_kind) {
            q->count = 0;
            q->has_target = (q->target_rank ? rung_view_score_at(view, q->target_rank, &q->target)
                                            : rung_view_score_at_percent(view, q->target_percent,
                                                                         &q->target)) == RUNG_OK;
            return RUNG_OK;
        }
        q->count = (q->target_rank
                        ? rung_view_target_rank(view, q->target_rank, q->rows)
                        : rung_view_target_percent(view, q->target_percent, q->rows)) == RUNG_OK;
        return RUNG_OK;
    case RUNG_ASK_MEMORY:
        break;
    }
    return RUNG_OK;
}

/* ---- from the archive: the question ---- */

typedef struct past {
    rung_archive_job job; /* the first member */
    rung_question q;      /* its rows, ids, found and texts follow in the same block */
    rung_ask_later later;
    const rung_alloc *alloc;
    size_t size;
    rung_archive_query query;
    char window_id[RUNG_NAME_MAX + 1];
    const rung_archive_port *port;
    rung_archive_view view;
    bool is_open;
    rung_board_def def;
} past;

/* ---- rows, in another thread ---- */

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

/* Rank the rows among themselves; they are in order. */
static void rank_list(rung_row *rows, uint32_t count, rung_rank_style style) {
    uint32_t sparse = 0, dense = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || !is_same_score(&rows[i - 1], &rows[i])) {
            sparse = i + 1;
            dense++;
        }
        rows[i].list_rank = rung_rank_in(style, i + 1, sparse, dense);
    }
}

static rung_status fill_friends(past *p) {
    rung_question *q = &p->q;
    rung_status st = p->port->rows(&p->view, q->id_count, q->ids, q->rows, q->found, &p->job.err);
    if (st < 0)
        return st;
    uint32_t ranked = 0;
    for (uint32_t i = 0; i < q->id_count; i++)
        if (q->found[i])
            q->rows[ranked++] = q->rows[i];
    qsort(q->rows, ranked, sizeof *q->rows, compare_rows);
    rank_list(q->rows, ranked, p->view.rank);
    q->list_total = ranked;
    uint32_t left = q->offset < ranked ? ranked - q->offset : 0;
    q->count = left < q->limit ? left : q->limit;
    if (q->offset && q->count)
        memmove(q->rows, q->rows + q->offset, q->count * sizeof *q->rows);
    return RUNG_OK;
}

/* Binary search for the first place whose dense rank is at least `rank`. */
static rung_status find_dense(past *p, uint32_t rank, uint32_t *index_out) {
    uint32_t low = 0, high = p->view.total, count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        rung_status st = p->port->top(&p->view, middle, 1, p->q.rows, &count, &p->job.err);
        if (st < 0)
            return st;
        if (count == 0 || p->q.rows[0].rank >= rank)
            high = middle;
        else
            low = middle + 1;
    }
    *index_out = low;
    return RUNG_OK;
}

static rung_status fill_target(past *p) {
    rung_question *q = &p->q;
    uint32_t index = 0, total = p->view.total;
    rung_status st = RUNG_OK;
    q->count = 0;
    if (total == 0 || q->target_rank > total)
        return RUNG_OK;
    if (!q->target_rank) {
        double nth = ceil((double)total * q->target_percent / 100.0);
        index = nth < 1 ? 0 : nth > (double)total ? total - 1 : (uint32_t)nth - 1;
    } else if (p->view.rank == RUNG_RANK_DENSE) {
        st = find_dense(p, q->target_rank, &index);
    } else {
        index = q->target_rank - 1;
    }
    if (st < 0 || index >= total)
        return st < 0 ? st : RUNG_OK;
    return p->port->top(&p->view, index, 1, q->rows, &q->count, &p->job.err);
}

static rung_status fill(past *p) {
    rung_question *q = &p->q;
    rung_status st;
    switch (q->kind) {
    case RUNG_ASK_AROUND:
        st = p->port->around(&p->view, q->ids[0], q->around, q->rows, &q->count, &q->self,
                             &p->job.err);
        return st == RUNG_NOT_FOUND ? fail_unranked(q, &p->job.err) : st;
    case RUNG_ASK_PLAYERS:
        return p->port->rows(&p->view, q->id_count, q->ids, q->rows, q->found, &p->job.err);
    case RUNG_ASK_FRIENDS:
        return fill_friends(p);
    case RUNG_ASK_TARGET:
        return fill_target(p);
    case RUNG_ASK_TOP:
    case RUNG_ASK_MEMORY:
        break;
    }
    return p->port->top(&p->view, q->offset, q->limit, q->rows, &q->count, &p->job.err);
}

static void close_view(past *p) {
    if (p->is_open)
        p->port->close(&p->view);
    p->is_open = false;
}

static rung_status open_and_fill(past *p, rung_archive *archive) {
    rung_err *err = &p->job.err;
    rung_status st = p->port->open(archive, &p->query, &p->view, err);
    if (st == RUNG_NOT_FOUND)
        return RUNG_FAIL_FIELD(err, st, "window",
                               "there is no such window, or nobody was ranked in it");
    if (st != RUNG_OK)
        return st;
    p->is_open = true;
    st = rung_board_def_decode(p->view.window.definition, &p->def, err);
    return st < 0 ? st : fill(p);
}

static rung_status run(rung_archive_job *job, const rung_archive_port *port,
                       rung_archive *archive) {
    past *p = (past *)job;
    p->port = port;
    rung_status st = open_and_fill(p, archive);
    if (st != RUNG_OK) /* another reader may run the job again */
        close_view(p);
    return st;
}

/* ---- the answer, in the loop ---- */

static void set_past_ranking(past *p) {
    rung_ranking *k = &p->q.k;
    const rung_archive_window *window = &p->view.window;
    k->def = &p->def;
    k->seq = p->job.seq;
    k->kind = window->kind;
    k->window_id_len =
        (uint32_t)(window->id.len < sizeof k->window_id ? window->id.len : sizeof k->window_id - 1);
    memcpy(k->window_id, window->id.ptr, k->window_id_len);
    k->start_ms = window->start_ms;
    k->end_ms = window->end_ms;
    k->closed = true;
    k->rank = p->view.rank;
    k->total = p->view.total;
}

static void done(rung_archive_job *job) {
    past *p = (past *)job;
    if (job->status == RUNG_OK)
        set_past_ranking(p);
    p->later.done(p->later.ctx, job->status, &p->q, &job->err);
    close_view(p);
    rung_alloc_free(p->alloc, p, p->size);
}

/* ---- the copy ---- */

/* Friends are read here, in the thread that owns the state: the player first, then all whom they follow. */
static rung_status count_ids(const rung_state *state, const rung_question *q, uint32_t *count_out,
                             rung_err *err) {
    rung_attribute attributes[RUNG_ATTRIBUTES_MAX];
    uint32_t count;
    bool banned;
    *count_out = q->id_count;
    if (q->kind != RUNG_ASK_FRIENDS)
        return RUNG_OK;
    if (rung_state_player(state, q->ids[0], &count, attributes, &banned) != RUNG_OK)
        return RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "player", "no such player");
    *count_out = 1 + rung_state_friends(state, q->ids[0], NULL, 0);
    return RUNG_OK;
}

static uint32_t rows_needed(const rung_question *q, uint32_t id_count) {
    uint32_t neighbours = 2 * q->around + 1, most = q->limit > id_count ? q->limit : id_count;
    return most > neighbours ? most : neighbours;
}

static void keep_texts(rung_question *q, char *at) {
    rung_query *query = &q->query;
    query->board = q->k.board = rung_slice_put(&at, query->board);
    query->scope = q->k.scope = rung_slice_put(&at, query->scope);
    query->window = rung_slice_put(&at, query->window);
    query->window_id = rung_slice_put(&at, query->window_id);
    query->on = rung_slice_put(&at, query->on);
    for (uint32_t i = 0; i < q->id_count; i++)
        q->ids[i] = rung_slice_put(&at, q->ids[i]);
}

/* The caller's memory and the state's names may go after this loop turn, so the copy owns its rows, ids and texts. */
static past *copy(const rung_alloc *alloc, const rung_state *state, const rung_question *q,
                  uint32_t id_count) {
    const rung_query *of = &q->query;
    uint32_t row_count = rows_needed(q, id_count) + 1;
    size_t texts = of->board.len + of->scope.len + of->window.len + of->window_id.len + of->on.len +
                   (size_t)(id_count - q->id_count) * RUNG_NAME_MAX;
    for (uint32_t i = 0; i < q->id_count; i++)
        texts += q->ids[i].len;
    size_t size = sizeof(past) + row_count * sizeof(rung_row) +
                  (id_count + 1) * (sizeof(rung_slice) + sizeof(bool)) + texts;
    past *p = rung_alloc_zeroed(alloc, size);
    if (!p)
        return NULL;
    p->alloc = alloc;
    p->size = size;
    p->q = *q;
    p->q.rows = (rung_row *)(p + 1);
    p->q.ids = (rung_slice *)(p->q.rows + row_count);
    p->q.found = (bool *)(p->q.ids + id_count + 1);
    p->q.id_count = id_count;
    for (uint32_t i = 0; i < q->id_count; i++)
        p->q.ids[i] = q->ids[i];
    if (q->kind == RUNG_ASK_FRIENDS)
        rung_state_friends(state, q->ids[0], p->q.ids + 1, id_count - 1);
    keep_texts(&p->q, (char *)(p->q.found + id_count + 1));
    return p;
}

rung_status rung_question_defer(const rung_service *s, const rung_question *q,
                                const rung_ask_later *later, rung_err *err) {
    const rung_state *state = rung_hub_state(s->hub);
    const rung_board_def *def;
    uint32_t id_count;
    if (rung_state_board(state, q->query.board, &def) != RUNG_OK)
        return RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "board", "no such board");
    rung_status st = count_ids(state, q, &id_count, err);
    if (st != RUNG_OK)
        return st;
    past *p = copy(s->alloc, state, q, id_count);
    if (!p)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    p->later = *later;
    p->job = (rung_archive_job){
        .run = run, .done = done, .share = later->share, .deadline_ms = later->deadline_ms};
    st = name_window(&p->q.query, def, p->window_id, &p->query)
             ? rung_asker_put(s->asker, &p->job, err)
             : RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "window", "there is no such window");
    if (st != RUNG_OK)
        rung_alloc_free(p->alloc, p, p->size);
    return st;
}
