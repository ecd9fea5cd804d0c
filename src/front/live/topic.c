/* SPDX-License-Identifier: Apache-2.0 */
/* topic.c - query again, compare, and put the difference into a frame.
 *
 * A topic keeps what it last showed as text, row by row: a row has changed if its text has. The full state is made
 * from the kept text, without a query, so it is always the state of the last frame and fits the frames that follow.
 *
 *   1. list, seq, total and ordinal belong together: the state shown by the newest kept frame, or by the full one.
 *   2. Kept frames are in order of seq; applying the frames after some seq to the state at that seq gives the current
 *      state. */
#include "front/live/topic.h"

#include "state/sketches.h"

#include <stdio.h>
#include <string.h>

/* ---- frames ---- */

void rung__frame_clear(rung__frame *f) {
    rung_blob_give(f->sse);
    rung_blob_give(f->websocket);
    *f = (rung__frame){0};
}

/* A chunk of HTTP around an event around the text. */
bool rung__frame_make(rung_live *l, rung__frame *f, const char *event, uint64_t seq) {
    char head[96], chunk[24];
    rung_slice text = rung_json_written(&l->out);
    rung__frame_clear(f);
    if (rung_json_failed(&l->out))
        return false;
    int head_len =
        snprintf(head, sizeof head, "id: %llu\nevent: %s\ndata: ", (unsigned long long)seq, event);
    size_t inside = (size_t)head_len + text.len + 2;
    int chunk_len = snprintf(chunk, sizeof chunk, "%zx\r\n", inside);
    rung_blob *b = rung_blob_create(l->config.alloc, (size_t)chunk_len + inside + 2);
    if (!b)
        return false;
    char *at = b->bytes;
    memcpy(at, chunk, (size_t)chunk_len);
    memcpy(at + chunk_len, head, (size_t)head_len);
    f->text_at = (uint32_t)(chunk_len + head_len);
    memcpy(at + f->text_at, text.ptr, text.len);
    memcpy(at + f->text_at + text.len, "\n\n\r\n", 4);
    f->text_len = (uint32_t)text.len;
    f->sse = b;
    f->seq = seq;
    return true;
}

rung_blob *rung__frame_encoded(rung__frame *f, const rung_alloc *alloc,
                               rung_live_encoding encoding) {
    if (encoding == RUNG_LIVE_SSE)
        return f->sse;
    if (!f->websocket)
        f->websocket =
            rung__websocket_frame(alloc, 1, rung_slice_of(f->sse->bytes + f->text_at, f->text_len));
    return f->websocket;
}

rung__frame *rung__topic_kept(const rung__topic *t, uint32_t i) {
    return &t->kept[(t->kept_first + i) % t->live->config.keep_frames];
}

static void drop_oldest(rung__topic *t) {
    rung__frame *oldest = rung__topic_kept(t, 0);
    t->kept_bytes -= oldest->sse->len;
    rung__frame_clear(oldest);
    t->kept_first = (t->kept_first + 1) % t->live->config.keep_frames;
    t->kept_count--;
}

void rung__topic_keep(rung__topic *t, rung__frame *f, uint64_t since) {
    const rung_live_config *c = &t->live->config;
    while (t->kept_count &&
           (t->kept_count == c->keep_frames || t->kept_bytes + f->sse->len > c->keep_bytes))
        drop_oldest(t);
    f->since = since;
    *rung__topic_kept(t, t->kept_count) = *f;
    t->kept_count++;
    t->kept_bytes += f->sse->len;
    t->live->stats.frames++;
}

/* ---- the list, old and new ---- */

static rung_slice text_at(const rung__list *l, uint32_t i) {
    uint32_t start = i ? l->text_ends[i - 1] : 0;
    return rung_slice_of(l->text + start, l->text_ends[i] - start);
}

static rung_slice id_at(const rung__list *l, uint32_t i) {
    uint32_t start = i ? l->id_ends[i - 1] : 0;
    return rung_slice_of(l->ids + start, l->id_ends[i] - start);
}

static rung_slice new_text(const rung_live *l, uint32_t i) {
    uint32_t start = i ? l->row_ends[i - 1] : 0;
    return rung_slice_of(l->rows.data + start, l->row_ends[i] - start);
}

static rung_slice new_id(const rung_live *l, uint32_t i) {
    uint32_t start = i ? l->id_ends[i - 1] : 0;
    return rung_slice_of(l->ids.data + start, l->id_ends[i] - start);
}

/* The index of an id in the old list; most stay near their place. */
static uint32_t find_old(const rung__list *l, rung_slice id, uint32_t near) {
    if (near < l->count && rung_slice_eq(id_at(l, near), id))
        return near;
    for (uint32_t i = 0; i < l->count; i++)
        if (rung_slice_eq(id_at(l, i), id))
            return i;
    return UINT32_MAX;
}

static bool reserve(const rung_alloc *a, char **data, uint32_t *room, uint32_t need) {
    if (need <= *room)
        return true;
    char *bigger = rung_alloc_resize(a, *data, *room, need);
    if (!bigger)
        return false;
    *data = bigger;
    *room = need;
    return true;
}

/* Reserve room first, so that taking over the new list cannot fail. */
static bool reserve_list(rung__topic *t) {
    rung_live *l = t->live;
    rung__list *list = t->list;
    size_t before = list->text_room + list->ids_room + list->head_room;
    const rung_alloc *a = l->config.alloc;
    bool ok = reserve(a, &list->text, &list->text_room, (uint32_t)l->rows.len) &&
              reserve(a, &list->ids, &list->ids_room, (uint32_t)l->ids.len) &&
              reserve(a, &list->head, &list->head_room, (uint32_t)l->head.len);
    l->stats.memory += list->text_room + list->ids_room + list->head_room - before;
    return ok;
}

static void take_list(rung__topic *t, uint32_t count) {
    rung_live *l = t->live;
    rung__list *list = t->list;
    if (l->rows.len)
        memcpy(list->text, l->rows.data, l->rows.len);
    if (l->ids.len)
        memcpy(list->ids, l->ids.data, l->ids.len);
    memcpy(list->head, l->head.data, l->head.len);
    list->head_len = (uint32_t)l->head.len;
    memcpy(list->text_ends, l->row_ends, count * sizeof *l->row_ends);
    memcpy(list->id_ends, l->id_ends, count * sizeof *l->id_ends);
    list->count = count;
}

/* ---- asking ---- */

rung_query rung__topic_query(const rung_live *l, const rung_live_spec *spec) {
    return (rung_query){.board = spec->board,
                        .window = spec->window,
                        .window_id = spec->window_id,
                        .scope = spec->scope,
                        .has_rank = spec->has_rank,
                        .rank = spec->rank,
                        .now_ms = l->config.now_ms(l->config.ctx)};
}

/* Query the rows; a player who is unranked or unknown has none. */
static rung_status ask_rows(rung__topic *t, const rung_view *view, uint32_t *count_out) {
    const rung_live_spec *s = &t->spec;
    rung_row *rows = t->live->row_scratch;
    uint32_t count = 0, other;
    rung_status st = RUNG_OK;
    if (s->kind == RUNG_LIVE_TOP)
        count = rung_view_top(view, 0, s->count, rows);
    else if (s->kind == RUNG_LIVE_AROUND)
        st = rung_view_around(view, s->player, s->count, rows, &count, &other);
    else
        st = rung_view_friends(view, t->live->config.alloc, s->player, 0, s->count, rows, &count,
                               &other);
    if (st == RUNG_NOT_FOUND)
        count = 0;
    *count_out = count;
    return st < 0 ? st : RUNG_OK;
}

/* The rows as text, one after the other, into the scratch. */
static rung_status write_rows(rung__topic *t, const rung_view *view, uint32_t count) {
    rung_live *l = t->live;
    rung_json_writer_reset(&l->rows);
    rung_json_writer_reset(&l->ids);
    for (uint32_t i = 0; i < count; i++) {
        const rung_row *row = &l->row_scratch[i];
        l->rows.is_comma_due = false;
        l->config.write_row(l->config.ctx, &l->rows, &t->spec, view, row,
                            t->spec.kind == RUNG_LIVE_FRIENDS ? i + 1 : row->index + 1,
                            t->spec.kind == RUNG_LIVE_FRIENDS);
        rung_json_append(&l->ids, row->id);
        l->row_ends[i] = (uint32_t)l->rows.len;
        l->id_ends[i] = (uint32_t)l->ids.len;
    }
    return rung_json_failed(&l->rows) || rung_json_failed(&l->ids) ? RUNG_ENOMEM : RUNG_OK;
}

/* ---- texts ---- */

static void write_start(rung__topic *t, const char *type) {
    rung_json_writer *w = &t->live->out;
    rung_json_writer_reset(w);
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "type", word, type);
    RUNG_JSON_MEMBER(w, "topic", string, rung_slice_of(t->memory, t->name_len));
}

/* The state as it was last shown. */
static void write_state(rung__topic *t) {
    rung_json_writer *w = &t->live->out;
    write_start(t, "state");
    if (t->feed) {
        rung__feed_write_state(t, w);
    } else {
        rung_json_append(w, RUNG_SLICE(","));
        rung_json_append(w, rung_slice_of(t->list->head, t->list->head_len));
        RUNG_JSON_OPEN(w, "entries", array);
        for (uint32_t i = 0; i < t->list->count; i++)
            rung_json_write_raw(w, text_at(t->list, i));
        rung_json_close_array(w);
    }
    rung_json_close_object(w);
}

rung__frame *rung__topic_full(rung__topic *t) {
    if (!t->full.sse) {
        write_state(t);
        if (!rung__frame_make(t->live, &t->full, "state", t->seq))
            return NULL;
    }
    return &t->full;
}

/* Write the rows that changed, and the ids that are gone. */
static void write_change(rung__topic *t, uint64_t seq, uint32_t total, uint32_t count) {
    rung_live *l = t->live;
    rung_json_writer *w = &l->out;
    write_start(t, "change");
    RUNG_JSON_MEMBER(w, "seq", uint, seq);
    RUNG_JSON_MEMBER(w, "since", uint, t->seq);
    RUNG_JSON_MEMBER(w, "total", uint, total);
    RUNG_JSON_OPEN(w, "changed", array);
    for (uint32_t i = 0; i < count; i++)
        if (!l->is_same[i])
            rung_json_write_raw(w, new_text(l, i));
    rung_json_close_array(w);
    RUNG_JSON_OPEN(w, "gone", array);
    for (uint32_t i = 0; i < t->list->count; i++)
        if (!t->live->is_found[i])
            rung_json_write_string(w, id_at(t->list, i));
    rung_json_close_array(w);
    rung_json_close_object(w);
}

/* Fill is_same (for new rows) and is_found (for old ones); true: nothing changed. */
static bool compare(rung__topic *t, uint32_t count) {
    rung_live *l = t->live;
    const rung__list *old = t->list;
    uint32_t same = 0;
    memset(l->is_found, 0, sizeof l->is_found);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = find_old(old, new_id(l, i), i);
        l->is_same[i] = at != UINT32_MAX && rung_slice_eq(text_at(old, at), new_text(l, i));
        if (at != UINT32_MAX)
            l->is_found[at] = true;
        same += l->is_same[i];
    }
    return same == count && count == old->count;
}

/* ---- refresh ---- */

static uint32_t size_of(const rung_view *view) {
    uint64_t size = rung_view_size(view);
    return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

static bool is_other_window(const rung__topic *t, const rung_view *view) {
    return view->kind != t->kind || view->ordinal != t->ordinal;
}

/* With the new rows in the scratch buffers: make the frame that leads to them, if one is needed. */
static rung_status make_frame(rung__topic *t, const rung_view *view, uint64_t seq, uint32_t count) {
    rung_live *l = t->live;
    rung__frame f = {0};
    bool is_new_window = t->has_state && is_other_window(t, view);
    uint32_t total = size_of(view);
    bool is_same = compare(t, count) && t->has_state && !is_new_window && total == t->total;
    if (is_same)
        return RUNG_UNCHANGED;
    rung_json_writer_reset(&l->head);
    l->config.write_head(l->config.ctx, &l->head, &t->spec, view, seq);
    if (rung_json_failed(&l->head) || !reserve_list(t))
        return RUNG_ENOMEM;
    bool is_change = t->has_state && !is_new_window;
    if (is_change) {
        write_change(t, seq, total, count);
        if (!rung__frame_make(l, &f, "change", seq))
            return RUNG_ENOMEM;
    }
    uint64_t since = t->seq;
    take_list(t, count);
    rung__frame_clear(&t->full);
    t->seq = seq;
    t->total = total;
    t->kind = view->kind;
    t->ordinal = view->ordinal;
    bool had_state = t->has_state;
    t->has_state = true;
    if (is_change) {
        rung__topic_keep(t, &f, since);
    } else if (had_state) { /* another window: a full state takes the place of a frame */
        write_state(t);
        if (rung__frame_make(l, &f, "state", seq))
            rung__topic_keep(t, &f, since);
        else
            return RUNG_ENOMEM;
    }
    return RUNG_OK;
}

static rung_status refresh(rung__topic *t, rung_err *err) {
    const rung_live_config *c = &t->live->config;
    const rung_state *s = c->state(c->ctx);
    if (t->spec.kind == RUNG_LIVE_FEED)
        return rung__feed_refresh(t, err);
    uint64_t version = rung_state_board_version(s, t->spec.board);
    int64_t now = c->now_ms(c->ctx);
    if (!version)
        return RUNG_FAIL_FIELD(err, RUNG_NOT_FOUND, "board", "no such board");
    /* The clock alone changes a window: look once a second. */
    bool is_quiet = t->has_state && version == t->version;
    if (is_quiet && now >= t->looked_ms && now - t->looked_ms < 1000)
        return RUNG_UNCHANGED;
    rung_view view;
    rung_query q = rung__topic_query(t->live, &t->spec);
    rung_status st = rung_state_view(s, &q, &view, err);
    if (st != RUNG_OK)
        return st;
    t->looked_ms = now;
    if (is_quiet && !is_other_window(t, &view))
        return RUNG_UNCHANGED;
    uint32_t count = 0;
    st = ask_rows(t, &view, &count);
    if (st == RUNG_OK)
        st = write_rows(t, &view, count);
    if (st == RUNG_OK)
        st = make_frame(t, &view, rung_state_seq(s), count);
    if (st < 0)
        return RUNG_FAIL(err, st, "live: out of memory");
    t->version = version;
    return st;
}

rung_status rung__topic_refresh(rung__topic *t, rung_err *err) {
    const rung_live_config *c = &t->live->config;
    bool is_revealed =
        t->spec.is_own && c->reveal && c->reveal(c->ctx, t->spec.board, t->spec.player);
    rung_status st = refresh(t, err);
    if (is_revealed)
        c->conceal(c->ctx);
    return st;
}

void rung__topic_deinit(rung__topic *t) {
    const rung_alloc *a = t->live->config.alloc;
    while (t->kept_count)
        drop_oldest(t);
    rung__frame_clear(&t->full);
    rung__feed_destroy(t);
    if (t->list) {
        t->live->stats.memory -=
            sizeof *t->list + t->list->text_room + t->list->ids_room + t->list->head_room;
        rung_alloc_free(a, t->list->text, t->list->text_room);
        rung_alloc_free(a, t->list->ids, t->list->ids_room);
        rung_alloc_free(a, t->list->head, t->list->head_room);
        rung_alloc_free(a, t->list, sizeof *t->list);
    }
    rung_alloc_free(a, t->kept, t->kept ? t->live->config.keep_frames * sizeof *t->kept : 0);
    rung_alloc_free(a, t->memory, t->memory_size);
}
