/* SPDX-License-Identifier: Apache-2.0 */
/* feed.c - the events of one player on every board: rank changes, who passed them, whom they passed.
 *
 * For each board the feed keeps the player's standing at the last frame, with the ids of the neighbours. At the next
 * frame:
 *
 *     passed:     neighbours above then, below now
 *     passed_by:  neighbours below then, above now; and players who are new among those above
 *
 * So only the nearest players (NEAR on either side) are named; counts are the net change of position, or the number
 * of names if that is more. On boards where scores can get worse (`last`), a new player above may have risen or sunk:
 * there only neighbours are named.
 *
 *   1. boards[i] describes board number i of the state; its id shows when the number was reused for another board.
 *   2. For a board outside the topic's sight only its id is known. */
#include "front/live/topic.h"

#include "state/sketches.h"

#include "model/calendar.h"

#include <string.h>

#define NEAR     10u
#define SEEN_MAX (2 * NEAR)

/* Ids, one after the other. */
typedef struct idlist {
    char *text;
    uint32_t size;
    uint32_t count;
    uint16_t ends[SEEN_MAX]; /* 20 x 128 bytes at most */
} idlist;

typedef struct standing {
    rung_slice board; /* owned; ptr NULL: nothing known */
    uint64_t version;
    bool is_ranked;
    bool is_hidden; /* from who has this topic's sight */
    uint32_t index, rank, total;
    uint32_t kind;
    int64_t ordinal;
    char *entry; /* the row as JSON */
    uint32_t entry_len;
    idlist above, below;
} standing;

struct rung__feed {
    standing *boards;
    uint32_t count;
    uint64_t looked_seq; /* the state that was looked at */
};

/* ---- small memory ---- */

static char *copy(const rung_alloc *a, rung_slice text) {
    char *p = rung_alloc_get(a, text.len ? text.len : 1);
    if (p && text.len)
        memcpy(p, text.ptr, text.len);
    return p;
}

static void free_text(const rung_alloc *a, char *text, size_t len) {
    rung_alloc_free(a, text, text ? (len ? len : 1) : 0);
}

static rung_slice id_of(const idlist *l, uint32_t i) {
    uint32_t start = i ? l->ends[i - 1] : 0;
    return rung_slice_of(l->text + start, l->ends[i] - start);
}

static bool has_id(const idlist *l, rung_slice id) {
    for (uint32_t i = 0; i < l->count; i++)
        if (rung_slice_eq(id_of(l, i), id))
            return true;
    return false;
}

static bool fill_ids(const rung_alloc *a, idlist *l, const rung_row *rows, uint32_t count) {
    uint32_t len = 0;
    for (uint32_t i = 0; i < count; i++)
        len += (uint32_t)rows[i].id.len;
    char *text = rung_alloc_get(a, len ? len : 1);
    if (!text)
        return false;
    free_text(a, l->text, l->size);
    l->text = text;
    l->size = len;
    l->count = count;
    len = 0;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(text + len, rows[i].id.ptr, rows[i].id.len);
        len += (uint32_t)rows[i].id.len;
        l->ends[i] = (uint16_t)len;
    }
    return true;
}

static void forget(const rung_alloc *a, standing *s) {
    free_text(a, (char *)(uintptr_t)s->board.ptr, s->board.len);
    free_text(a, s->entry, s->entry_len);
    free_text(a, s->above.text, s->above.size);
    free_text(a, s->below.text, s->below.size);
    *s = (standing){0};
}

/* ---- looking ---- */

/* Rows of the player and neighbours; the player is rows[self]. */
typedef struct sight {
    rung_view view;
    const rung_board_def *def;
    bool is_ranked;
    rung_row rows[2 * NEAR + 1];
    uint32_t count, self;
} sight;

static bool look(rung__topic *t, rung_slice board, const rung_board_def *def, sight *g) {
    const rung_live_config *c = &t->live->config;
    rung_query q = {.board = board, .window = t->spec.window, .now_ms = c->now_ms(c->ctx)};
    g->view = (rung_view){0};
    g->def = def;
    g->is_ranked = false;
    g->count = g->self = 0;
    if (rung_state_view(c->state(c->ctx), &q, &g->view, NULL) != RUNG_OK)
        return false;
    g->is_ranked =
        rung_view_around(&g->view, t->spec.player, NEAR, g->rows, &g->count, &g->self) == RUNG_OK;
    return true;
}

/* ---- who passed whom ---- */

typedef struct names {
    rung_slice ids[SEEN_MAX];
    uint32_t count;
} names;

/* The neighbours in `then` who are now on the other side of the player. */
static void crossed(const idlist *then, const sight *now, bool are_below_now, names *out) {
    rung_slice ids[SEEN_MAX];
    rung_row rows[SEEN_MAX];
    bool found[SEEN_MAX];
    uint32_t self = now->rows[now->self].index;
    for (uint32_t i = 0; i < then->count; i++)
        ids[i] = id_of(then, i);
    if (then->count)
        rung_view_rows(&now->view, then->count, ids, rows, found);
    for (uint32_t i = 0; i < then->count; i++)
        if (found[i] && (are_below_now ? rows[i].index > self : rows[i].index < self))
            out->ids[out->count++] = ids[i];
}

/* Players above now who were not among the neighbours. They are newcomers if a known player is even higher, or if
 * everyone above was known. */
static void newcomers(const standing *then, const sight *now, names *out) {
    bool is_known_higher = then->above.count == then->index; /* nobody above was unknown */
    if (now->def->update == RUNG_UPDATE_LAST)
        return;
    for (uint32_t i = 0; i < now->self && out->count < SEEN_MAX; i++) {
        rung_slice id = now->rows[i].id;
        if (has_id(&then->above, id))
            is_known_higher = true;
        else if (is_known_higher && !has_id(&then->below, id))
            out->ids[out->count++] = id;
    }
}

static void write_crossing(rung_json_writer *w, const char *key, const names *n, uint32_t net) {
    rung_json_write_key(w, rung_slice_str(key));
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "count", uint, net > n->count ? net : n->count);
    RUNG_JSON_OPEN(w, "players", array);
    for (uint32_t i = 0; i < n->count; i++)
        rung_json_write_string(w, n->ids[i]);
    rung_json_close_array(w);
    rung_json_close_object(w);
}

/* ---- one board ---- */

static void write_rank(rung_json_writer *w, const char *key, bool is_ranked, uint32_t rank) {
    rung_json_write_key(w, rung_slice_str(key));
    if (is_ranked)
        rung_json_write_uint(w, rank);
    else
        rung_json_write_null(w);
}

static void write_window(rung_json_writer *w, uint32_t kind, int64_t ordinal, rung_slice season) {
    char id[RUNG_WINDOW_ID_MAX];
    RUNG_JSON_KEY(w, "window");
    if (kind == 0 || kind == RUNG_WINDOW_SEASON)
        rung_json_write_string(w, kind ? season : RUNG_SLICE("all"));
    else
        rung_json_write_string(
            w, rung_slice_of(id, rung_window_id_format((rung_window_kind)kind, ordinal, id)));
}

static void write_event(rung__topic *t, rung_json_writer *w, const standing *then, const sight *now,
                        rung_slice entry) {
    names passed = {0}, passed_by = {0};
    bool is_same_window = then->kind == now->view.kind && then->ordinal == now->view.ordinal;
    uint32_t up = 0, down = 0;
    if (then->is_ranked && now->is_ranked && is_same_window) {
        uint32_t index = now->rows[now->self].index;
        up = then->index > index ? then->index - index : 0;
        down = index > then->index ? index - then->index : 0;
        crossed(&then->above, now, true, &passed);
        crossed(&then->below, now, false, &passed_by);
        newcomers(then, now, &passed_by);
    }
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "board", string, then->board);
    write_window(w, now->view.kind, now->view.ordinal, t->spec.window);
    write_rank(w, "rank_before", then->is_ranked && is_same_window, then->rank);
    write_rank(w, "rank", now->is_ranked, now->is_ranked ? now->rows[now->self].rank : 0);
    RUNG_JSON_MEMBER(w, "total", uint, rung_view_size(&now->view));
    RUNG_JSON_KEY(w, "entry");
    if (entry.len)
        rung_json_write_raw(w, entry);
    else
        rung_json_write_null(w);
    write_crossing(w, "passed", &passed, up);
    write_crossing(w, "passed_by", &passed_by, down);
    rung_json_close_object(w);
}

/* Remember the current state. false: out of memory; it will be checked again. */
static bool remember(rung__topic *t, standing *s, const sight *g, rung_slice entry,
                     uint64_t version) {
    const rung_alloc *a = t->live->config.alloc;
    uint32_t above = g->self < SEEN_MAX ? g->self : SEEN_MAX;
    uint32_t below = g->count ? g->count - g->self - 1 : 0;
    char *text = copy(a, entry);
    if (!text || !fill_ids(a, &s->above, g->rows + (g->self - above), above) ||
        !fill_ids(a, &s->below, g->rows + g->self + (g->count ? 1 : 0),
                  below < SEEN_MAX ? below : SEEN_MAX)) {
        free_text(a, text, entry.len);
        return false;
    }
    free_text(a, s->entry, s->entry_len);
    s->entry = text;
    s->entry_len = (uint32_t)entry.len;
    s->is_ranked = g->is_ranked;
    s->index = g->is_ranked ? g->rows[g->self].index : 0;
    s->rank = g->is_ranked ? g->rows[g->self].rank : 0;
    s->total = g->view.total;
    s->kind = g->view.kind;
    s->ordinal = g->view.ordinal;
    s->version = version;
    return true;
}

/* Check one board. RUNG_OK: it changed, and an event was written; RUNG_UNCHANGED; RUNG_ENOMEM. */
static rung_status visit(rung__topic *t, standing *s, rung_slice board, const rung_board_def *def,
                         uint64_t version, bool is_first) {
    rung_live *l = t->live;
    static const rung_live_spec no_spec;
    sight g;
    if (!look(t, board, def, &g) && !s->is_ranked) {
        s->version = version;
        return RUNG_UNCHANGED;
    }
    rung_json_writer_reset(&l->ids); /* the row's text */
    if (g.is_ranked) {
        rung_live_spec spec = no_spec;
        spec.board = board;
        l->config.write_row(l->config.ctx, &l->ids, &spec, &g.view, &g.rows[g.self],
                            g.rows[g.self].index + 1, false);
    }
    if (rung_json_failed(&l->ids))
        return RUNG_ENOMEM;
    rung_slice entry = rung_json_written(&l->ids);
    bool is_same =
        g.is_ranked == s->is_ranked && rung_slice_eq(entry, rung_slice_of(s->entry, s->entry_len));
    if (!is_same && !is_first)
        write_event(t, &l->rows, s, &g, entry);
    if (!remember(t, s, &g, entry, version))
        return RUNG_ENOMEM;
    return is_same || is_first ? RUNG_UNCHANGED : RUNG_OK;
}

/* ---- all boards ---- */

static bool grow(rung__topic *t, uint32_t count) {
    rung__feed *f = t->feed;
    if (count <= f->count)
        return true;
    standing *bigger = rung_alloc_resize(t->live->config.alloc, f->boards,
                                         f->count * sizeof *bigger, count * sizeof *bigger);
    if (!bigger)
        return false;
    memset(bigger + f->count, 0, (count - f->count) * sizeof *bigger);
    t->live->stats.memory += (count - f->count) * sizeof *bigger;
    f->boards = bigger;
    f->count = count;
    return true;
}

/* Decide once per board whether a topic may show it: its sight never changes. */
static bool sees(const rung__topic *t, rung_slice board) {
    const rung_live_config *c = &t->live->config;
    return !t->spec.sight.ptr || !c->sees || c->sees(c->ctx, t->spec.sight, board);
}

/* Check board number i. Increments `*changed` if an event was written. */
static rung_status visit_number(rung__topic *t, const rung_state *state, uint32_t i,
                                uint32_t *changed) {
    const rung_alloc *a = t->live->config.alloc;
    standing *s = &t->feed->boards[i];
    rung_slice id;
    const rung_board_def *def;
    if (rung_state_board_at(state, i, &id, &def) != RUNG_OK) {
        forget(a, s);
        return RUNG_OK;
    }
    if (s->board.ptr && !rung_slice_eq(s->board, id))
        forget(a, s);
    uint64_t version = rung_state_board_version(state, id);
    if (s->board.ptr && (s->is_hidden || s->version == version))
        return RUNG_OK;
    if (!s->board.ptr) {
        char *text = copy(a, id);
        if (!text)
            return RUNG_ENOMEM;
        s->board = rung_slice_of(text, id.len);
        s->is_hidden = !sees(t, id);
    }
    if (s->is_hidden)
        return RUNG_OK;
    rung_status st = visit(t, s, id, def, version, !t->has_state);
    *changed += st == RUNG_OK;
    return st < 0 ? st : RUNG_OK;
}

static void write_change(rung__topic *t, uint64_t seq) {
    rung_json_writer *w = &t->live->out;
    rung_json_writer_reset(w);
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "type", string, RUNG_SLICE("change"));
    RUNG_JSON_MEMBER(w, "topic", string, rung_slice_of(t->memory, t->name_len));
    RUNG_JSON_MEMBER(w, "player", string, t->spec.player);
    RUNG_JSON_MEMBER(w, "seq", uint, seq);
    RUNG_JSON_MEMBER(w, "since", uint, t->seq);
    RUNG_JSON_OPEN(w, "boards", array);
    rung_json_append(w, rung_json_written(&t->live->rows));
    rung_json_close_array(w);
    rung_json_close_object(w);
}

static rung_status begin(rung__topic *t) {
    if (t->feed)
        return RUNG_OK;
    t->feed = rung_alloc_zeroed(t->live->config.alloc, sizeof *t->feed);
    if (!t->feed)
        return RUNG_ENOMEM;
    t->live->stats.memory += sizeof *t->feed;
    return RUNG_OK;
}

rung_status rung__feed_refresh(rung__topic *t, rung_err *err) {
    rung_live *l = t->live;
    const rung_state *state = l->config.state(l->config.ctx);
    uint64_t seq = rung_state_seq(state);
    uint32_t span = rung_state_board_span(state), changed = 0;
    rung_status st = begin(t);
    if (st == RUNG_OK && t->has_state && t->feed->looked_seq == seq)
        return RUNG_UNCHANGED;
    if (span > l->config.feed_boards_max)
        span = l->config.feed_boards_max;
    if (st == RUNG_OK && !grow(t, span))
        st = RUNG_ENOMEM;
    rung_json_writer_reset(&l->rows);
    for (uint32_t i = 0; i < span && st == RUNG_OK; i++)
        st = visit_number(t, state, i, &changed);
    if (st < 0)
        return RUNG_FAIL(err, st, "live: out of memory");
    t->feed->looked_seq = seq;
    if (!t->has_state) {
        t->has_state = true;
        t->seq = seq;
        return RUNG_OK;
    }
    if (!changed)
        return RUNG_UNCHANGED;
    rung__frame f = {0};
    write_change(t, seq);
    if (rung_json_failed(&l->rows) || !rung__frame_make(l, &f, "change", seq))
        return RUNG_FAIL(err, RUNG_ENOMEM, "live: out of memory");
    rung__frame_clear(&t->full);
    rung__topic_keep(t, &f, t->seq);
    t->seq = seq;
    return RUNG_OK;
}

void rung__feed_write_state(rung__topic *t, rung_json_writer *w) {
    RUNG_JSON_MEMBER(w, "player", string, t->spec.player);
    RUNG_JSON_MEMBER(w, "seq", uint, t->seq);
    RUNG_JSON_OPEN(w, "boards", array);
    for (uint32_t i = 0; i < t->feed->count; i++) {
        const standing *s = &t->feed->boards[i];
        if (!s->board.ptr || !s->is_ranked)
            continue;
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "board", string, s->board);
        write_window(w, s->kind, s->ordinal, t->spec.window);
        write_rank(w, "rank", true, s->rank);
        RUNG_JSON_MEMBER(w, "total", uint, s->total);
        RUNG_JSON_MEMBER(w, "entry", raw, rung_slice_of(s->entry, s->entry_len));
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
}

void rung__feed_destroy(rung__topic *t) {
    const rung_alloc *a = t->live->config.alloc;
    if (!t->feed)
        return;
    for (uint32_t i = 0; i < t->feed->count; i++)
        forget(a, &t->feed->boards[i]);
    t->live->stats.memory -= sizeof *t->feed + t->feed->count * sizeof *t->feed->boards;
    rung_alloc_free(a, t->feed->boards, t->feed->count * sizeof *t->feed->boards);
    rung_alloc_free(a, t->feed, sizeof *t->feed);
    t->feed = NULL;
}
