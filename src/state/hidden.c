/* SPDX-License-Identifier: Apache-2.0 */
/* The entries that bans hold of one window, sorted and counted into the window's ladder. */
#include "state/hidden.h"

#include "base/assert.h"
#include "state/ban.h"
#include "state/ranking.h"

#include <string.h>

const rung__stashed *rung__held_entry(const rung_view *v, const rung__ban *ban) {
    const rung__board *b = v->board;
    const rung__window *w = v->window;
    for (uint32_t k = 0; k < ban->count; k++)
        if (ban->entries[k].board_serial == b->serial && ban->entries[k].window_tag == w->tag)
            return &ban->entries[k];
    return NULL;
}

/* The next one from player number *player on; false at the end. */
static bool next_held(const rung_view *v, uint32_t *player, rung_ladder_entry *out) {
    const rung_state *s = v->state;
    for (const rung__ban *ban; (ban = rung__ban_next(s, player)); ++*player) {
        const rung__stashed *e = rung__held_entry(v, ban);
        if (!e)
            continue;
        *out = (rung_ladder_entry){.player = *player};
        memcpy(out->key, e->key, sizeof out->key);
        ++*player;
        return true;
    }
    return false;
}

static uint32_t count_held(const rung_view *v) {
    uint32_t player = 0, count = 0;
    rung_ladder_entry e;
    while (next_held(v, &player, &e))
        count++;
    return count;
}

/* Rows of the ladder above `e`: those with smaller keys, and those with equal keys that win the tie. */
static uint32_t count_above(const rung_ladder *l, const rung_ladder_entry *e) {
    uint32_t low = rung_ladder_count_before(l, e->key, false);
    uint32_t high = rung_ladder_count_before(l, e->key, true);
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        rung_ladder_entry there;
        if (rung_ladder_at(l, mid, &there) == RUNG_OK && rung_ladder_compare(l, &there, e) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void fill_row(const rung_view *v, const rung_ladder_entry *e,
                     const rung_ladder_entry *before, rung_hidden_row *out) {
    const rung__board *b = v->board;
    const rung_ladder *l = v->ladder;
    size_t score = rung_keyspec_score_words(&b->def->key) * sizeof e->key[0];
    rung_ladder_entry there;
    memset(out, 0, sizeof *out);
    out->row.number = e->player;
    out->row.id = rung_names_id(v->state->players, e->player);
    out->row.value_count = b->def->key.column_count;
    rung__key_values(b, e->key, v->now_ms, out->row.values, &out->row.at_ms);
    out->row.has_at = rung_tie_keeps_time(b->def->key.tie);
    out->above = count_above(l, e);
    out->better = rung_ladder_rank_of_key(l, e->key, RUNG_RANK_SPARSE) - 1;
    out->is_tied =
        rung_ladder_at(l, out->better, &there) == RUNG_OK && memcmp(there.key, e->key, score) == 0;
    out->is_same = before && memcmp(before->key, e->key, score) == 0;
}

rung_status rung_view_hidden(const rung_view *v, const rung_alloc *alloc,
                             rung_hidden_row **rows_out, uint32_t *count_out) {
    uint32_t count = v->ladder ? count_held(v) : 0, player = 0;
    *rows_out = NULL;
    *count_out = 0;
    if (count == 0)
        return RUNG_OK;
    size_t size = count * sizeof(rung_ladder_entry);
    rung_ladder_entry *entries = rung_alloc_get(alloc, size);
    rung_hidden_row *rows = rung_alloc_get(alloc, count * sizeof *rows);
    if (!entries || !rows) {
        rung_alloc_free(alloc, rows, rows ? count * sizeof *rows : 0);
        rung_alloc_free(alloc, entries, entries ? size : 0);
        return RUNG_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool is_there = next_held(v, &player, &entries[i]);
        RUNG_ASSERT(is_there); /* they were just counted */
    }
    rung_ladder_entry e, before;
    rung__entries_heap(v->ladder, entries, count);
    for (uint32_t i = 0, left = count; i < count; i++, before = e) {
        e = rung__entries_pop(v->ladder, entries, &left);
        fill_row(v, &e, i ? &before : NULL, &rows[i]);
    }
    rung_alloc_free(alloc, entries, size);
    *rows_out = rows;
    *count_out = count;
    return RUNG_OK;
}

void rung_view_hidden_free(const rung_alloc *alloc, rung_hidden_row *rows, uint32_t count) {
    rung_alloc_free(alloc, rows, count * sizeof *rows);
}
