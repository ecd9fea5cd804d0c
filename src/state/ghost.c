/* SPDX-License-Identifier: Apache-2.0 */
/* A shadow ban hides a player from everybody else, and lets the player go on: submissions are accepted, and the player
 * sees their own place. There is no second set of books for that. The entries that the ban holds (ban.h) are put back
 * into the ladders for as long as one submission or one question of that player takes, and taken out again. So ranks,
 * limits, scopes and teams come from the same ladders as everybody's, and nobody else ever sees a state with them.
 *
 *   G1 Between begin and end, and between enter and leave, nothing is reported (on_change), and versions stay, so that
 *      nothing that was cached there is taken for what others may see.
 *   G2 After leave the digest is what it was. After end it has the facts of the new stash instead of the old one.
 *   G3 What end and leave do cannot fail: memory for the new stash is there before the entries are shown. */
#include "state/ghost.h"

#include "base/assert.h"
#include "state/digest.h"
#include "state/ranking.h"
#include "state/score.h"
#include "state/shadow.h"

#include <string.h>

uint32_t rung__ghost_find(const rung_state *s, rung_slice player) {
    uint32_t number;
    if (!s->shadow_bans || rung_names_find(s->players, player, &number) != RUNG_OK)
        return RUNG__NONE;
    const rung__ban *ban = rung__sparse_get(&s->bans, number);
    return ban && ban->is_shadow ? number : RUNG__NONE;
}

static rung__window *window_of(const rung__board *b, uint64_t tag) {
    for (uint32_t i = 0; i < b->window_count; i++)
        if (b->windows[i]->tag == tag)
            return b->windows[i];
    return NULL;
}

static const rung__stashed *held(const rung__ban *ban, const rung__board *b,
                                 const rung__window *w) {
    for (uint32_t k = 0; k < ban->count; k++)
        if (ban->entries[k].board_serial == b->serial && ban->entries[k].window_tag == w->tag)
            return &ban->entries[k];
    return NULL;
}

/* Take out of the windows of a board what the ban holds there. */
static void hide(rung_state *s, rung__board *b, uint32_t player, const rung__ban *ban) {
    for (uint32_t i = 0; i < b->window_count; i++)
        if (held(ban, b, b->windows[i]))
            rung__ranking_remove(s, b, b->windows[i], player, NULL);
}

/* Put it there. RUNG_ENOMEM: it is hidden again. */
static rung_status show(rung_state *s, rung__board *b, uint32_t player, const rung__ban *ban,
                        bool only_open) {
    uint32_t values[RUNG__SCOPE_SLOTS];
    for (uint32_t k = 0; k < ban->count; k++) {
        const rung__stashed *e = &ban->entries[k];
        rung__window *w = e->board_serial == b->serial ? window_of(b, e->window_tag) : NULL;
        if (!w || (only_open && w->closed))
            continue;
        rung__stashed_values(s, b, player, e, values);
        if (rung__ranking_restore(s, b, w, player, e->key, values) < 0) {
            hide(s, b, player, ban);
            return RUNG_ENOMEM;
        }
    }
    return RUNG_OK;
}

/* ---- submissions ---- */

rung_status rung__ghost_begin(rung_state *s, rung__board *b, uint32_t player, rung__ghost *g) {
    rung__ban *ban = rung__sparse_get(&s->bans, player);
    uint32_t cap = ban->count + RUNG__REACH_MAX;
    *g = (rung__ghost){.board = b, .player = player, .on_change = s->on_change};
    g->fresh = rung_alloc_zeroed(s->alloc, rung__ban_bytes(cap));
    if (!g->fresh)
        return RUNG_ENOMEM;
    g->fresh->cap = cap;
    g->fresh->until_ms = ban->until_ms;
    g->fresh->is_shadow = true;
    s->on_change = NULL;
    s->is_ghosting = true;
    rung_status st = show(s, b, player, ban, true);
    s->is_ghosting = false;
    if (st < 0) {
        s->on_change = g->on_change;
        rung_alloc_free(s->alloc, g->fresh, rung__ban_bytes(cap));
    }
    return st;
}

static void keep(rung__ghost *g, const rung__stashed *e) {
    RUNG_ASSERT(g->fresh->count < g->fresh->cap);
    g->fresh->entries[g->fresh->count++] = *e;
}

/* The player's entry in an open window goes into the new stash. */
static void take(rung_state *s, rung__ghost *g, rung__window *w) {
    rung__board *b = g->board;
    rung_ladder_entry entry;
    if (!w->ladder || rung_ladder_find(w->ladder, g->player, &entry) != RUNG_OK)
        return;
    rung__stashed e = {
        .board_serial = b->serial, .window_tag = w->tag, .scope_count = b->scope_count};
    memcpy(e.key, entry.key, sizeof e.key);
    memcpy(e.attributes, b->attribute, sizeof e.attributes);
    rung__ranking_remove(s, b, w, g->player, e.values);
    rung__digest_add(&s->digest, rung__stashed_digest(g->player, &e));
    b->has_stash = true;
    keep(g, &e);
}

/* In the order of boards and windows: what the ban holds of earlier boards, of this one, of later ones. */
static void rewrite(rung_state *s, rung__ghost *g, const rung__ban *ban) {
    rung__board *b = g->board;
    uint32_t k = 0;
    for (; k < ban->count && ban->entries[k].board_serial != b->serial &&
           rung__stash_board(s, ban->entries[k].board_serial) < b->number;
         k++)
        keep(g, &ban->entries[k]);
    for (uint32_t i = 0; i < b->window_count; i++) {
        const rung__stashed *old = held(ban, b, b->windows[i]);
        if (b->windows[i]->closed) {
            if (old)
                keep(g, old);
            continue;
        }
        if (old)
            rung__digest_subtract(&s->digest, rung__stashed_digest(g->player, old));
        take(s, g, b->windows[i]);
    }
    for (; k < ban->count; k++)
        if (ban->entries[k].board_serial != b->serial)
            keep(g, &ban->entries[k]);
}

void rung__ghost_end(rung_state *s, rung__ghost *g, bool is_accepted) {
    rung__ban *ban = rung__sparse_get(&s->bans, g->player);
    rung__ban *gone = g->fresh;
    s->is_ghosting = true;
    if (is_accepted) {
        rewrite(s, g, ban);
        rung_status st = rung__sparse_put(&s->bans, s->alloc, g->player, g->fresh);
        RUNG_ASSERT(st == RUNG_OK); /* in the place of the old one */
        gone = ban;
        g->board->version = s->seq; /* for the player's own live views */
        if (g->board->twin)
            rung__shadow_touch(s, g->player);
    } else {
        hide(s, g->board, g->player, ban);
    }
    s->is_ghosting = false;
    s->on_change = g->on_change;
    rung_alloc_free(s->alloc, gone, rung__ban_bytes(gone->cap));
}

/* ---- questions ---- */

bool rung_state_is_shadow_banned(const rung_state *s, rung_slice id) {
    return rung__ghost_find(s, id) != RUNG__NONE;
}

void rung_state_ghost_leave(rung_state *s) {
    const rung__ban *ban = rung__sparse_get(&s->bans, s->ghost);
    for (uint32_t i = 0; i < s->board_cap; i++)
        if (s->boards[i] && s->boards[i]->has_stash)
            hide(s, s->boards[i], s->ghost, ban);
    s->ghost = RUNG__NONE;
    s->is_ghosting = false;
    s->on_change = s->ghost_on_change;
}

rung_status rung_state_ghost_enter(rung_state *s, rung_slice board, rung_slice id) {
    uint32_t player = rung__ghost_find(s, id);
    rung_status st = RUNG_OK;
    if (player == RUNG__NONE || s->ghost != RUNG__NONE)
        return RUNG_NOT_FOUND;
    const rung__ban *ban = rung__sparse_get(&s->bans, player);
    s->ghost = player;
    s->is_ghosting = true;
    s->ghost_on_change = s->on_change;
    s->on_change = NULL;
    for (uint32_t i = 0; st == RUNG_OK && i < s->board_cap; i++)
        if (s->boards[i] && s->boards[i]->has_stash &&
            (!board.len || rung_slice_eq(rung_names_id(s->board_ids, i), board)))
            st = show(s, s->boards[i], player, ban, false);
    if (st < 0)
        rung_state_ghost_leave(s);
    return st;
}
