/* SPDX-License-Identifier: Apache-2.0 */
/* Boards: define, read, list, delete; and their windows, from memory and archive. */
#include "codec/board_json.h"
#include "front/api/answers.h"
#include "front/api/archive_calls.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "service/define.h"
#include "state/keyspace/keys.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_SPAN_MAX = 20000 }; /* board numbers scanned for one page: bounds its time */

/* EXPIRE of the Redis protocol may have set an end. */
static void write_end(rung_json_writer *w, const rung_state *s, rung_slice board, int64_t now_ms) {
    rung_zkey key;
    rung_zkey_open(s, board, now_ms, &key);
    if (!key.has_expiry)
        return;
    RUNG_JSON_MEMBER(w, "expires", time, key.expires_ms);
}

static void answer_board(rung_call *c, int status) {
    const rung_state *s = rung__api_state(c->api);
    const rung_board_def *def = rung__call_board(c);
    if (!def)
        return;
    rung_json_writer *w = rung__call_begin(c);
    rung_board_json_write(w, c->board, def);
    write_end(w, s, c->board, rung_hub_now(c->api->service.hub));
    rung__call_answer_seq(c, status, rung_state_seq(s));
}

void rung_api_get_board(rung_call *c) {
    answer_board(c, 200);
}

/* ---- changes ---- */

static void answer_define(void *ctx, rung_status st, const rung_outcome *outcome,
                          const rung_err *err) {
    rung_call *c = ctx;
    (void)outcome;
    if (st < 0)
        rung__call_fail(c, st, err);
    else
        answer_board(c, c->is_new ? 201 : 200);
}

void rung_api_put_board(rung_call *c) {
    rung_board_def def;
    rung_err err = {0};
    rung_status st = rung_board_json_read(c->body, c->body_len, c->board, &def, &err);
    if (st < 0) {
        rung__call_malformed(c, st, &err);
        return;
    }
    rung__call_actor actor;
    rung_hub_sender from = {.actor = rung__call_signed(c, &actor).actor};
    st =
        rung_define_put(&c->api->service, from, c->board, &def, &c->is_new, answer_define, c, &err);
    if (st == RUNG_EABSENT) /* the time zone, not the board of the path */
        st = RUNG_EINVAL;
    if (st < 0)
        rung__call_fail(c, st, &err);
}

void rung_api_delete_board(rung_call *c) {
    c->api->event.kind = RUNG_EVENT_BOARD_DELETED;
    c->api->event.deleted.board = c->board;
    rung__call_change(c);
}

/* ---- the list ---- */

static bool may_see(rung_call *c, rung_slice board, int64_t now_ms) {
    rung_need need = {.role = RUNG_ROLE_READ, .board = board};
    return rung_access_allow(c->api->service.access, &c->who, &need, now_ms, NULL) ==
           RUNG_ACCESS_OK;
}

void rung_api_list_boards(rung_call *c) {
    const rung_state *s = rung__api_state(c->api);
    uint32_t span = rung_state_board_span(s), limit = rung__call_count(c, "limit");
    uint32_t at = rung__call_count(c, "cursor"), count = 0, looked = 0;
    int64_t now_ms = rung_hub_now(c->api->service.hub);
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_OPEN(w, "boards", array);
    for (; at < span && looked < LIST_SPAN_MAX; at++, looked++) {
        rung_slice id;
        const rung_board_def *def;
        if (rung_state_board_at(s, at, &id, &def) != RUNG_OK || !may_see(c, id, now_ms))
            continue;
        if (count == limit) /* `next` is a board that the caller may see */
            break;
        rung_json_open_object(w);
        rung_board_json_write(w, id, def);
        rung_json_close_object(w);
        count++;
    }
    rung_json_close_array(w);
    RUNG_JSON_MEMBER(w, "next", uint_or_null, at < span ? at : 0);
    rung__call_answer_seq(c, 200, rung_state_seq(s));
}

/* ---- windows ---- */

/* A page never splits windows that end together: at most one of each kind, and all seasons. */
enum { TOGETHER_MAX = 6 + RUNG_SEASONS_MAX };

typedef struct window_item {
    uint32_t kind, total;
    rung_slice id;
    int64_t start_ms, end_ms;
    bool closed, is_archived;
} window_item;

/* The question for the archive, with room for its answer. */
typedef struct window_ask {
    rung_archive_call base; /* the first member */
    uint32_t limit, count, kind;
    int64_t before_ms;
    rung_archive_window found[];
} window_ask;

/* Latest end first; of the same window, memory before archive. */
static int compare_windows(const void *a, const void *b) {
    const window_item *x = a, *y = b;
    if (x->end_ms != y->end_ms)
        return x->end_ms < y->end_ms ? 1 : -1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    int c = rung_slice_cmp(x->id, y->id);
    return c ? c : x->is_archived - y->is_archived;
}

static bool is_wanted(const rung_call *c, uint32_t kind, int64_t end_ms) {
    const rung_arg *wanted = rung__call_arg(c, "kind"), *before = rung__call_arg(c, "before");
    return (!wanted->given || kind == (uint32_t)wanted->number) &&
           (!before->given || end_ms < before->number);
}

static uint32_t gather_memory(rung_call *c, const rung_window_info *infos, uint32_t n,
                              window_item *items) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        if (is_wanted(c, infos[i].kind, infos[i].end_ms))
            items[count++] = (window_item){.kind = infos[i].kind,
                                           .total = infos[i].total,
                                           .id = rung_slice_str(infos[i].id),
                                           .start_ms = infos[i].start_ms,
                                           .end_ms = infos[i].end_ms,
                                           .closed = infos[i].closed};
    return count;
}

static uint32_t gather_archive(const window_ask *ask, window_item *items) {
    for (uint32_t i = 0; ask && i < ask->count; i++)
        items[i] = (window_item){.kind = ask->found[i].kind,
                                 .total = ask->found[i].total,
                                 .id = ask->found[i].id,
                                 .start_ms = ask->found[i].start_ms,
                                 .end_ms = ask->found[i].end_ms,
                                 .closed = true,
                                 .is_archived = true};
    return ask ? ask->count : 0;
}

static uint32_t merge(window_item *items, uint32_t count) {
    uint32_t kept = 0;
    qsort(items, count, sizeof *items, compare_windows);
    for (uint32_t i = 0; i < count; i++)
        if (!kept || items[kept - 1].kind != items[i].kind ||
            !rung_slice_eq(items[kept - 1].id, items[i].id))
            items[kept++] = items[i];
    return kept;
}

/* The number of sorted items on the page. */
static uint32_t page_end(const window_item *items, uint32_t count, uint32_t limit) {
    uint32_t end = count < limit ? count : limit;
    while (end && end < count && items[end].end_ms == items[end - 1].end_ms)
        end++;
    return end;
}

static void write_window(rung_json_writer *w, const window_item *item) {
    rung_json_open_object(w);
    rung_answer_window(w, item->kind, item->id, item->start_ms, item->end_ms, item->closed);
    RUNG_JSON_MEMBER(w, "total", uint, item->total);
    RUNG_JSON_MEMBER(w, "source", string,
                     item->is_archived ? RUNG_SLICE("archive") : RUNG_SLICE("memory"));
    rung_json_close_object(w);
}

static void write_windows(rung_call *c, window_item *items, uint32_t count, bool has_more,
                          uint64_t seq) {
    uint32_t end = page_end(items, count, rung__call_count(c, "limit"));
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "board", string, c->board);
    RUNG_JSON_OPEN(w, "windows", array);
    for (uint32_t i = 0; i < end; i++)
        write_window(w, &items[i]);
    rung_json_close_array(w);
    bool has_next = end && (end < count || has_more);
    RUNG_JSON_MEMBER(w, "next", time, has_next ? items[end - 1].end_ms : INT64_MAX); /* or null */
    rung__call_answer_seq(c, 200, seq);
}

static void answer_windows(rung_call *c, const window_ask *ask) {
    const rung_alloc *a = c->api->config.alloc;
    const rung_state *s = rung__api_state(c->api);
    uint32_t n = rung_state_windows(s, c->board, NULL, 0), most = n + (ask ? ask->count : 0) + 1;
    rung_window_info *infos = rung_alloc_get(a, (n + 1) * sizeof *infos);
    window_item *items = rung_alloc_get(a, most * sizeof *items);
    if (infos && items) {
        rung_state_windows(s, c->board, infos, n);
        uint32_t count = gather_memory(c, infos, n, items);
        count += gather_archive(ask, items + count);
        write_windows(c, items, merge(items, count), ask && ask->count == ask->limit,
                      ask ? ask->base.job.seq : rung_state_seq(s));
    } else {
        rung__call_fail(c, RUNG_ENOMEM, NULL);
    }
    rung_alloc_free(a, infos, infos ? (n + 1) * sizeof *infos : 0);
    rung_alloc_free(a, items, items ? most * sizeof *items : 0);
}

static rung_status ask_windows(rung_archive_job *job, const rung_archive_port *port,
                               rung_archive *archive) {
    window_ask *ask = (window_ask *)job;
    return port->windows(archive, ask->base.call->board, ask->kind, ask->before_ms, ask->limit,
                         ask->found, &ask->count, &job->err);
}

static void finish_windows(rung_archive_call *a) {
    answer_windows(a->call, (const window_ask *)a);
}

void rung_api_windows(rung_call *c) {
    const rung_arg *kind = rung__call_arg(c, "kind"), *before = rung__call_arg(c, "before");
    if (!rung__call_board(c))
        return;
    if (!rung_asker_has_archive(c->api->service.asker) || (kind->given && kind->number == 0)) {
        answer_windows(c, NULL);
        return;
    }
    uint32_t limit = rung__call_count(c, "limit") + TOGETHER_MAX;
    window_ask *ask = rung__archive_call_new(
        c, sizeof(window_ask) + limit * sizeof(rung_archive_window), ask_windows, finish_windows);
    if (!ask)
        return;
    ask->limit = limit;
    ask->kind = kind->given ? (uint32_t)kind->number : 0;
    ask->before_ms = before->given ? before->number : INT64_MAX;
    ask->base.job.needs_closed = true;
    rung__archive_call_put(&ask->base);
}
