/* SPDX-License-Identifier: Apache-2.0 */
/* Holds (docs/adr/0033-paging.md).
 *
 * Let S be the moment, `moved` the players whose entry has changed since, and `old` the entries that those had at S.
 * Then the ranking at S is (the ranking now without `moved`) merged with `old`.
 *
 *   O1 A player who is not in `moved` has the same entry as at S, or has none as at S.
 *   O2 `old` has the entries at S of the players in `moved` who had one.
 *
 * So a page is a walk over two ladders. Where it begins follows from the entry before it: by key and tie, in both. */
#include "state/hold.h"

#include "state/attribute.h"
#include "state/ban.h"
#include "state/hold_list.h"
#include "state/ranking.h"

#include <string.h>

struct rung_hold {
    const rung_alloc *alloc;
    rung__window *window; /* NULL: over */
    struct rung_hold *next_in_window;
    rung_view view;
    uint64_t seq;
    uint32_t notes, notes_max;
    rung_numbermap moved;
    rung_ladder *old;
};

rung_status rung_hold_create(const rung_view *v, uint32_t notes_max, rung_hold **out,
                             rung_err *err) {
    const rung__board *b = v->board;
    rung__window *w = (rung__window *)(uintptr_t)v->window; /* not state: nothing depends on it */
    if (v->sketch_kind)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "page",
                               "a sketch board has no entries that could be held");
    if (v->teams || (v->ladder && v->ladder != w->ladder))
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "page",
                               "only whole rankings of players are held");
    rung_hold *h = rung_alloc_zeroed(v->state->alloc, sizeof *h);
    if (!h)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    *h = (rung_hold){
        .alloc = v->state->alloc, .view = *v, .seq = v->state->seq, .notes_max = notes_max};
    if (w && rung__ranking_ladder(v->state, b, &h->old) < 0) {
        rung_alloc_free(h->alloc, h, sizeof *h);
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    }
    h->window = w;
    if (w) {
        h->next_in_window = w->holds;
        w->holds = h;
    }
    *out = h;
    return RUNG_OK;
}

/* It is not in its window's list any more. */
static void end(rung_hold *h) {
    rung_ladder_destroy(h->old);
    rung_numbermap_deinit(&h->moved, h->alloc);
    h->old = NULL;
    h->moved = (rung_numbermap){0};
    h->window = NULL;
    h->notes = 0;
}

void rung_hold_end(rung_hold *h) {
    struct rung_hold **at = h->window ? &h->window->holds : NULL;
    while (at && *at != h)
        at = &(*at)->next_in_window;
    if (at)
        *at = h->next_in_window;
    end(h);
}

void rung_hold_destroy(rung_hold *h) {
    if (!h)
        return;
    rung_hold_end(h);
    rung_alloc_free(h->alloc, h, sizeof *h);
}

bool rung_hold_is_over(const rung_hold *h) {
    return !h->window;
}

uint32_t rung_hold_notes(const rung_hold *h) {
    return h->notes;
}

const rung_view *rung_hold_view(const rung_hold *h) {
    return &h->view;
}

uint64_t rung_hold_seq(const rung_hold *h) {
    return h->seq;
}

bool rung_hold_is_of(const rung_hold *h, rung_slice board) {
    return h->window && rung__board_find(h->view.state, board) == h->view.board;
}

/* ---- changes ---- */

static bool note(rung_hold *h, uint32_t player, const uint64_t *old) {
    rung_status st = rung_numbermap_add(&h->moved, h->alloc, player, old != NULL);
    if (st != RUNG_OK)
        return st >= 0; /* known already */
    return ++h->notes <= h->notes_max && (!old || rung_ladder_put(h->old, player, old, NULL) >= 0);
}

void rung__holds_note_all(rung__window *w, uint32_t player, const uint64_t *old) {
    for (rung_hold **at = &w->holds, *h; (h = *at);) {
        if (note(h, player, old)) {
            at = &h->next_in_window;
            continue;
        }
        *at = h->next_in_window;
        end(h);
    }
}

void rung__holds_end(rung__window *w) {
    for (rung_hold *h = w->holds, *next; h; h = next) {
        next = h->next_in_window;
        end(h);
    }
    w->holds = NULL;
}

void rung__holds_end_board(const rung__board *b) {
    for (uint32_t i = 0; i < b->window_count; i++)
        rung__holds_end(b->windows[i]);
}

void rung__holds_forget(rung_state *s, uint32_t player) {
    uint32_t i = 0, k = 0;
    rung__board *b;
    for (rung__window *w; (w = rung__next_window(s, &i, &k, &b));)
        for (rung_hold **at = &w->holds, *h; (h = *at);) {
            if (rung_numbermap_get(&h->moved, player) == RUNG_NUMBER_NONE) {
                at = &h->next_in_window;
                continue;
            }
            *at = h->next_in_window;
            end(h);
        }
}

/* ---- pages ---- */

/* The index of the first entry behind a place. */
static uint32_t index_behind(const rung_ladder *l, const rung_ladder_entry *before) {
    uint32_t low = rung_ladder_count_before(l, before->key, false),
             high = rung_ladder_count_before(l, before->key, true);
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        rung_ladder_entry there;
        if (rung_ladder_at(l, mid, &there) == RUNG_OK &&
            rung_ladder_compare(l, &there, before) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

typedef struct side {
    rung_ladder_cursor c;
    rung_ladder_entry e;
    bool has;
} side;

static void step(side *s, const rung_numbermap *without) {
    do
        s->has = rung_ladder_next(&s->c, &s->e);
    while (s->has && without && rung_numbermap_get(without, s->e.player) != RUNG_NUMBER_NONE);
}

static side begin(const rung_ladder *l, const rung_hold_place *place,
                  const rung_numbermap *without) {
    rung_ladder_entry before = {.player = place->player};
    memcpy(before.key, place->key, sizeof before.key);
    side s = {.c = rung_ladder_seek(l, place->index ? index_behind(l, &before) : 0)};
    step(&s, without);
    return s;
}

static void pass(const rung_hold *h, rung_hold_place *place, const rung_ladder_entry *e) {
    const rung__board *b = h->view.board;
    uint32_t words = rung_keyspec_score_words(&b->def->key);
    if (!place->index || memcmp(e->key, place->key, words * sizeof e->key[0]) != 0) {
        place->sparse = place->index + 1;
        place->dense++;
    }
    place->index++;
    place->player = e->player;
    memcpy(place->key, e->key, sizeof place->key);
}

static void write_row(const rung_hold *h, const rung_hold_place *at, rung_row *row) {
    const rung_view *v = &h->view;
    const rung__board *b = v->board;
    *row = (rung_row){.index = at->index - 1,
                      .number = at->player,
                      .id = rung_names_id(v->state->players, at->player),
                      .value_count = b->def->key.column_count,
                      .has_at = rung_tie_keeps_time(b->def->key.tie),
                      .rank = rung_rank_in(v->rank, at->index, at->sparse, at->dense)};
    rung__key_values(b, at->key, v->now_ms, row->values, &row->at_ms);
    row->percentile = 100.0 * (double)(v->total - at->sparse + 1) / (double)v->total;
}

uint32_t rung_hold_rows(const rung_hold *h, rung_hold_place *place, uint32_t limit, rung_row *rows,
                        bool *more_out) {
    const rung_state *s = h->view.state;
    const rung_ladder *live = h->window->ladder;
    side now = begin(live, place, &h->moved), old = begin(h->old, place, NULL);
    uint32_t count = 0;
    while (count < limit && (now.has || old.has)) {
        bool is_now = now.has && (!old.has || rung_ladder_compare(live, &now.e, &old.e) < 0);
        side *from = is_now ? &now : &old;
        pass(h, place, &from->e);
        if (!rung__sparse_get(&s->bans, from->e.player))
            write_row(h, place, &rows[count++]);
        step(from, is_now ? &h->moved : NULL);
    }
    *more_out = now.has || old.has;
    return count;
}
