/* SPDX-License-Identifier: Apache-2.0 */
/* Read the values from the scope rankings themselves: only they know them for a closed window, and a look-up per
 * player would have to try every value. */
#include "state/scope_values.h"

#include "base/assert.h"
#include "state/attribute.h"
#include "state/ban.h"
#include "state/sketch.h"

#include <string.h>

_Static_assert(RUNG_SCOPE_SLOTS_MAX == RUNG__SCOPE_SLOTS, "one slot for each");

static rung_status note_ranked(const rung__scope *scope, const rung_alloc *alloc,
                               rung_numbermap *m) {
    for (uint32_t value = 0; value < scope->cap; value++) {
        if (!scope->ladders[value])
            continue;
        rung_ladder_cursor c = rung_ladder_seek(scope->ladders[value], 0);
        rung_ladder_entry e;
        while (rung_ladder_next(&c, &e))
            if (rung_numbermap_add(m, alloc, e.player, value) < 0)
                return RUNG_ENOMEM;
    }
    return RUNG_OK;
}

static rung_status note_held(const rung_view *v, const rung_alloc *alloc, rung_scope_values *out) {
    const rung_state *s = v->state;
    const rung__board *b = v->board;
    uint32_t player = 0, values[RUNG__SCOPE_SLOTS];
    for (const rung__ban *ban; (ban = rung__ban_next(s, &player)); player++) {
        const rung__stashed *e = rung__held_entry(v, ban);
        if (!e)
            continue;
        rung__stashed_values(s, b, player, e, values);
        for (uint32_t i = 0; i < out->count; i++)
            if (values[i] != RUNG__NONE &&
                rung_numbermap_add(&out->of_player[i], alloc, player, values[i]) < 0)
                return RUNG_ENOMEM;
    }
    return RUNG_OK;
}

rung_status rung_scope_values_init(const rung_view *v, const rung_alloc *alloc,
                                   rung_scope_values *out) {
    const rung__board *b = v->board;
    const rung__window *w = v->window;
    *out = (rung_scope_values){.count = b->scope_count};
    rung_status st = RUNG_OK;
    for (uint32_t i = 0; i < out->count && st >= 0; i++) {
        const rung__attribute *a = &v->state->attributes[b->attribute[i]];
        out->attributes[i] = a->name;
        out->names[i] = a->values;
        if (w) {
            rung_numbermap_expect(&out->of_player[i], v->total);
            st = note_ranked(&w->scopes[i], alloc, &out->of_player[i]);
        }
    }
    if (st >= 0 && w && out->count)
        st = note_held(v, alloc, out);
    if (st < 0)
        rung_scope_values_deinit(out, alloc);
    return st;
}

void rung_scope_values_deinit(rung_scope_values *values, const rung_alloc *alloc) {
    for (uint32_t i = 0; i < values->count; i++)
        rung_numbermap_deinit(&values->of_player[i], alloc);
    *values = (rung_scope_values){0};
}

rung_slice rung_scope_values_of(const rung_scope_values *values, uint32_t i, uint32_t player) {
    uint32_t value = rung_numbermap_get(&values->of_player[i], player);
    return value == RUNG_NUMBER_NONE ? (rung_slice){NULL, 0}
                                     : rung_names_id(values->names[i], value);
}

/* ---- the largest ---- */

static bool is_larger(const rung_scope_size *a, const rung_scope_size *b) {
    return a->total != b->total ? a->total > b->total : rung_slice_cmp(a->value, b->value) < 0;
}

/* Insert one into a list in order, of which only the first `limit` are kept. Returns the new count. */
static uint32_t keep_largest(rung_scope_size *list, uint32_t count, uint32_t limit,
                             rung_scope_size one) {
    uint32_t at = count;
    while (at && is_larger(&one, &list[at - 1]))
        at--;
    if (at == limit)
        return count;
    count += count < limit;
    memmove(&list[at + 1], &list[at], (count - at - 1) * sizeof *list);
    list[at] = one;
    return count;
}

static uint32_t span_of(const rung__scope *scope) {
    uint32_t span = scope->cap > scope->sketch_cap ? scope->cap : scope->sketch_cap;
    return span < RUNG_SCOPE_LOOK_MAX ? span : RUNG_SCOPE_LOOK_MAX;
}

/* Entries; of a sketch board submissions. */
static uint32_t total_of(const rung__scope *scope, uint32_t value) {
    if (value < scope->cap && scope->ladders[value])
        return rung_ladder_count(scope->ladders[value]);
    if (value >= scope->sketch_cap || !scope->sketches[value])
        return 0;
    uint64_t count = scope->sketches[value]->submissions;
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

uint32_t rung_scope_largest(const rung_view *v, rung_slice attribute, uint32_t limit,
                            rung_scope_size *sizes, uint32_t *values_out) {
    const rung__board *b = v->board;
    const rung__window *w = v->window;
    uint32_t slot = 0, count = 0;
    while (slot < b->def->scope_count && !rung_slice_eq(b->def->scopes[slot], attribute))
        slot++;
    if (slot == b->def->scope_count)
        return RUNG_SCOPE_NONE;
    *values_out = 0;
    const rung__scope *scope = w ? &w->scopes[slot] : NULL;
    const rung__attribute *names = &v->state->attributes[b->attribute[slot]];
    for (uint32_t value = 0; scope && value < span_of(scope); value++) {
        uint32_t total = total_of(scope, value);
        if (!total)
            continue;
        ++*values_out;
        count = keep_largest(
            sizes, count, limit,
            (rung_scope_size){.value = rung_names_id(names->values, value), .total = total});
    }
    return count;
}
