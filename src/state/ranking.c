/* SPDX-License-Identifier: Apache-2.0 */
/* One window's rankings, kept consistent: everybody, each value of each scope, the teams.
 *
 *   R1 In an open window a player is in the ranking of scope value v iff the player is ranked and has the value v.
 *   R2 A scope's entry has the same key as the main one and is found by it: the main ranking guides the scopes'
 *      ladders. So the scopes change first.
 *   R3 A team is ranked iff it has a ranked member; its key follows from its members' scores.
 *
 * Memory for all of them is reserved before the first one changes. */
#include "state/ranking.h"
#include "state/decay.h"

#include "base/assert.h"
#include "state/attribute.h"
#include "state/digest.h"
#include "state/edition_list.h"
#include "state/hold_list.h"
#include "state/lookahead.h"
#include "state/shadow.h"
#include "state/sketch.h"
#include "state/team.h"

#include <string.h>

uint32_t rung__value_of(const rung_state *s, const rung__board *b, uint32_t slot, uint32_t player) {
    return rung_numbermap_get(&s->attributes[b->attribute[slot]].of_player, player);
}

static void values_now(const rung_state *s, const rung__board *b, uint32_t player,
                       uint32_t *values) {
    for (uint32_t slot = 0; slot < b->scope_count; slot++)
        values[slot] = rung__value_of(s, b, slot, player);
}

static int compare_larger_first(const void *players, uint32_t a, uint32_t b) {
    return rung_names_compare(players, b, a);
}

static uint32_t prefix_larger_first(const void *players, const void *origin, uint32_t player) {
    return ~rung_names_prefix(players, origin, player);
}

static void prefixes_larger_first(const void *players, const void *origin, uint32_t from,
                                  uint32_t n, uint32_t *prefixes_out) {
    rung_names_prefixes(players, origin, from, n, prefixes_out);
    for (uint32_t i = 0; i < n; i++)
        prefixes_out[i] = ~prefixes_out[i];
}

static rung_status create_ladder(const rung_state *s, const rung__board *b,
                                 const rung_ladder *guide, rung_arena *arena, rung_ladder **out) {
    static const rung_ladder_aid smaller_first = {rung_names_prefetch_id, rung_names_prefix_begin,
                                                  rung_names_prefix, rung_names_prefix_span,
                                                  rung_names_prefixes},
                                 larger_first = {rung_names_prefetch_id, rung_names_prefix_begin,
                                                 prefix_larger_first, rung_names_prefix_span,
                                                 prefixes_larger_first};
    rung_tie tie = b->def->key.tie;
    return rung_ladder_create(
        &(rung_ladder_config){.alloc = s->alloc,
                              .key_words = (uint8_t)rung_keyspec_words(&b->def->key),
                              .score_words = (uint8_t)rung_keyspec_score_words(&b->def->key),
                              .tie = tie == RUNG_TIE_PLAYER        ? rung_names_compare
                                     : tie == RUNG_TIE_PLAYER_LAST ? compare_larger_first
                                                                   : NULL,
                              .tie_ctx = s->players,
                              .tie_aid = tie == RUNG_TIE_PLAYER ? &smaller_first : &larger_first,
                              .guide = guide,
                              .arena = arena},
        out);
}

rung_status rung__ranking_ladder(const rung_state *s, const rung__board *b, rung_ladder **out) {
    return create_ladder(s, b, NULL, NULL, out);
}

rung_status rung__ranking_create(const rung_state *s, const rung__board *b, rung__window *w) {
    return create_ladder(s, b, NULL, NULL, &w->ladder);
}

rung_status rung__ranking_open_value(rung_state *s, const rung__board *b, rung__window *w,
                                     uint32_t slot, uint32_t value) {
    rung__scope *scope = &w->scopes[slot];
    if (rung__grow(s->alloc, &scope->ladders, &scope->cap, value + 1, sizeof *scope->ladders) < 0)
        return RUNG_ENOMEM;
    if (scope->ladders[value])
        return RUNG_OK;
    if (!scope->arena && !(scope->arena = rung_arena_create(s->alloc)))
        return RUNG_ENOMEM;
    return create_ladder(s, b, w->ladder, scope->arena, &scope->ladders[value]);
}

/* ---- teams ---- */

static rung__wide contribution(const rung__board *b, const uint64_t *key) {
    return rung_team_contribution(b->def, rung_score_decode(&b->def->key.columns[0], key[0]));
}

static uint64_t decayed_team_key(const rung__board *b, const rung_ladder *members) {
    uint32_t n = rung_ladder_count(members);
    uint32_t take =
        b->def->team_combine == RUNG_COMBINE_TOP && b->def->team_top < n ? b->def->team_top : n;
    rung_ladder_cursor c = rung_ladder_seek(members, 0);
    rung_ladder_entry e;
    uint64_t weight = 0;
    for (uint32_t i = 0; i < take && rung_ladder_next(&c, &e); i++)
        weight = rung__decay_add(weight, ~e.key[0]);
    return ~(b->def->team_combine == RUNG_COMBINE_MEAN ? rung__decay_divide(weight, n) : weight);
}

uint64_t rung__team_key(const rung__board *b, const rung__window *w, uint32_t value) {
    const rung_ladder *members = w->scopes[b->team_slot].ladders[value];
    if (b->def->update == RUNG_UPDATE_DECAY)
        return decayed_team_key(b, members);
    rung_column column = rung_team_column(b->def);
    rung__wide sum = w->teams[value].sum;
    if (b->def->team_combine == RUNG_COMBINE_TOP) {
        rung_ladder_cursor c = rung_ladder_seek(members, 0);
        rung_ladder_entry e;
        sum = 0;
        for (uint32_t i = 0; i < b->def->team_top && rung_ladder_next(&c, &e); i++)
            sum += contribution(b, e.key);
    }
    rung_value v = rung_team_score(b->def, sum, w->teams[value].members);
    uint64_t word = 0;
    rung_status st = rung_score_encode(&column, v, &word);
    RUNG_ASSERT(st == RUNG_OK); /* finite by construction */
    return word;
}

/* Update the team of `value`: a member's key changed from `old` (NULL: new member) to `key` (NULL: no longer a
 * member). */
static void team_update(const rung__board *b, rung__window *w, uint32_t value, const uint64_t *old,
                        const uint64_t *key) {
    if (!w->team_ladder || value == RUNG__NONE)
        return;
    rung__team *team = &w->teams[value];
    if (b->def->update != RUNG_UPDATE_DECAY)
        team->sum += (key ? contribution(b, key) : 0) - (old ? contribution(b, old) : 0);
    team->members = team->members + (key != NULL) - (old != NULL);
    if (team->members == 0) {
        rung_ladder_remove(w->team_ladder, value);
        return;
    }
    uint64_t word = rung__team_key(b, w, value);
    rung_status st = rung_ladder_put(w->team_ladder, value, &word, NULL);
    RUNG_ASSERT(st >= 0); /* secured */
}

static rung_status secure_team(rung_state *s, rung__board *b, rung__window *w, uint32_t value) {
    if (b->team_slot == RUNG__NONE || value == RUNG__NONE)
        return RUNG_OK;
    if (!w->team_ladder) {
        rung_ladder_config config = {.alloc = s->alloc,
                                     .key_words = 1,
                                     .score_words = 1,
                                     .tie = rung_names_compare,
                                     .tie_ctx = s->attributes[b->attribute[b->team_slot]].values};
        if (rung_ladder_create(&config, &w->team_ladder) < 0)
            return RUNG_ENOMEM;
    }
    if (rung__grow(s->alloc, &w->teams, &w->team_cap, value + 1, sizeof *w->teams) < 0)
        return RUNG_ENOMEM;
    return rung_ladder_secure(w->team_ladder, value, w->teams[value].members == 0);
}

/* ---- scopes ---- */

static rung_status secure_slot(rung_state *s, rung__board *b, rung__window *w, uint32_t slot,
                               uint32_t value, uint32_t player, bool is_new) {
    if (value == RUNG__NONE)
        return RUNG_OK;
    if (rung__ranking_open_value(s, b, w, slot, value) < 0)
        return RUNG_ENOMEM;
    return rung_ladder_secure(w->scopes[slot].ladders[value], player, is_new);
}

static rung_status secure_values(rung_state *s, rung__board *b, rung__window *w, uint32_t player,
                                 bool is_new, const uint32_t *values) {
    for (uint32_t slot = 0; slot < b->scope_count; slot++) {
        rung_status st = secure_slot(s, b, w, slot, values[slot], player, is_new);
        if (st >= 0 && slot == b->team_slot)
            st = secure_team(s, b, w, values[slot]);
        if (st < 0)
            return st;
    }
    return rung_ladder_secure(w->ladder, player, is_new);
}

rung_status rung__ranking_secure(rung_state *s, rung__board *b, rung__window *w, uint32_t player,
                                 bool is_new) {
    uint32_t values[RUNG__SCOPE_SLOTS];
    values_now(s, b, player, values);
    return secure_values(s, b, w, player, is_new, values);
}

static void slot_put(rung__window *w, uint32_t slot, uint32_t value, uint32_t player,
                     const uint64_t *key, const rung_descent *pair) {
    if (value == RUNG__NONE)
        return;
    rung_ladder *l = w->scopes[slot].ladders[value];
    rung_status st = pair ? rung_descent_put(l, player, key, &pair[0], &pair[1], NULL)
                          : rung_ladder_put(l, player, key, NULL);
    RUNG_ASSERT(st >= 0); /* secured */
}

static void slot_remove(rung__window *w, uint32_t slot, uint32_t value, uint32_t player) {
    if (value != RUNG__NONE)
        rung_ladder_remove(w->scopes[slot].ladders[value], player);
}

rung_digest rung__entry_digest(const rung__board *b, const rung__window *w, uint32_t player,
                               const uint64_t *key) {
    return rung__fact_digest(RUNG__FACT_ENTRY, w->tag, player, key,
                             rung_keyspec_words(&b->def->key));
}

/* ---- reports ---- */

static rung_change change_of(const rung_state *s, const rung__board *b, rung_change_kind kind) {
    return (rung_change){.kind = kind,
                         .cause = s->cause,
                         .seq = s->seq,
                         .time_ms = s->time_ms,
                         .board = rung_names_id(s->board_ids, b->number),
                         .def = b->def};
}

static rung_change change_in(const rung_state *s, const rung__board *b, const rung__window *w,
                             rung_change_kind kind, uint32_t player, const uint64_t *key) {
    rung_change c = change_of(s, b, kind);
    c.player = rung_names_id(s->players, player);
    c.window = w->kind;
    c.ordinal = w->ordinal;
    c.season = w->season;
    c.value_count = b->def->key.column_count;
    rung__key_values(b, key, s->time_ms, c.values, NULL);
    return c;
}

void rung__tell_entry(rung_state *s, const rung__board *b, const rung__window *w, uint32_t player,
                      const uint64_t *key, const rung_ladder_change *change, bool changed) {
    if (b->twin)
        return;
    rung_change c = change_in(s, b, w, RUNG_CHANGE_ENTRY, player, key);
    c.changed = changed;
    c.rank_before = change->rank_before;
    c.rank = change->rank_after;
    c.total = rung_ladder_count(w->ladder);
    s->on_change(s->on_change_ctx, &c);
}

void rung__tell_removal(rung_state *s, const rung__board *b, const rung__window *w, uint32_t player,
                        const uint64_t *key) {
    if (b->twin)
        return;
    rung_change c = change_in(s, b, w, RUNG_CHANGE_REMOVED, player, key);
    c.changed = true;
    c.total = rung_ladder_count(w->ladder) - 1;
    rung_ignore(rung_ladder_rank(w->ladder, player, b->def->rank, &c.rank_before), "it is there");
    s->on_change(s->on_change_ctx, &c);
}

void rung__tell_board(rung_state *s, const rung__board *b, rung_change_kind kind) {
    if (b->twin)
        return;
    rung_change c = change_of(s, b, kind);
    s->on_change(s->on_change_ctx, &c);
}

/* ---- put, remove, restore ---- */

static inline rung_status place(rung_state *s, rung__board *b, rung__window *w, uint32_t player,
                                const uint64_t *old, const uint64_t *key, const uint32_t *values,
                                const rung__descents *d, rung_ladder_change *change) {
    bool moves = !old;
    for (uint32_t k = rung_keyspec_words(&b->def->key); k--;)
        moves |= old && old[k] != key[k];
    for (uint32_t slot = 0; moves && slot < b->scope_count; slot++)
        slot_put(w, slot, values[slot], player, key,
                 slot < d->slot_count ? d->slots[slot].pair : NULL);
    rung_status st = d->main ? rung_descent_put(w->ladder, player, key, d->main, d->main, change)
                             : rung_ladder_put(w->ladder, player, key, change);
    RUNG_ASSERT(st < 0 || (moves == (st == RUNG_OK) && change->existed == (old != NULL)));
    if (st != RUNG_OK)
        return st;
    if (!s->is_ghosting) {
        b->version = s->seq;
        rung__editions_touch(s, b);
    }
    rung__holds_note(w, player, old);
    if (b->twin)
        rung__shadow_touch(s, player);
    if (old) {
        rung_digest before = rung__entry_digest(b, w, player, old);
        rung__digest_subtract(&s->digest, before);
        rung__digest_subtract(&w->entries, before);
    }
    rung_digest after = rung__entry_digest(b, w, player, key);
    rung__digest_add(&s->digest, after);
    rung__digest_add(&w->entries, after);
    if (b->team_slot != RUNG__NONE)
        team_update(b, w, values[b->team_slot], old, key);
    return RUNG_OK;
}

rung_status rung__ranking_put(rung_state *s, rung__board *b, rung__window *w, uint32_t player,
                              const uint64_t *old, const uint64_t *key, const rung__descents *d,
                              rung_ladder_change *change) {
    uint32_t values[RUNG__SCOPE_SLOTS];
    values_now(s, b, player, values);
    return place(s, b, w, player, old, key, values, d, change);
}

rung_status rung__ranking_restore(rung_state *s, rung__board *b, rung__window *w, uint32_t player,
                                  const uint64_t *key, const uint32_t *values) {
    uint32_t now[RUNG__SCOPE_SLOTS];
    rung_ladder_change change = {.style = b->def->rank};
    if (!w->closed) {
        values_now(s, b, player, now);
        values = now;
    }
    if (secure_values(s, b, w, player, true, values) < 0)
        return RUNG_ENOMEM;
    rung_status st = place(s, b, w, player, NULL, key, values, &(rung__descents){0}, &change);
    if (st >= 0 && s->on_change)
        rung__tell_entry(s, b, w, player, key, &change, true);
    return st;
}

/* The value under which a ranked player is listed in a slot. In a closed window it may differ from today's. */
uint32_t rung__value_in(const rung_state *s, const rung__board *b, const rung__window *w,
                        uint32_t slot, uint32_t player) {
    const rung__scope *scope = &w->scopes[slot];
    uint32_t value = rung__value_of(s, b, slot, player);
    if (!w->closed)
        return value;
    if (value < scope->cap && scope->ladders[value] &&
        rung_ladder_find(scope->ladders[value], player, NULL) == RUNG_OK)
        return value;
    for (value = 0; value < scope->cap; value++)
        if (scope->ladders[value] &&
            rung_ladder_find(scope->ladders[value], player, NULL) == RUNG_OK)
            return value;
    return RUNG__NONE;
}

rung_status rung__ranking_remove(rung_state *s, rung__board *b, rung__window *w, uint32_t player,
                                 uint32_t *values) {
    rung_ladder_entry e;
    if (!w->ladder || rung_ladder_find(w->ladder, player, &e) != RUNG_OK)
        return RUNG_NOT_FOUND;
    if (s->on_change)
        rung__tell_removal(s, b, w, player, e.key);
    for (uint32_t slot = 0; slot < b->scope_count; slot++) {
        uint32_t value = rung__value_in(s, b, w, slot, player);
        slot_remove(w, slot, value, player);
        if (slot == b->team_slot)
            team_update(b, w, value, e.key, NULL);
        if (values)
            values[slot] = value;
    }
    rung_ladder_remove(w->ladder, player);
    rung__holds_note(w, player, e.key);
    rung_digest before = rung__entry_digest(b, w, player, e.key);
    rung__digest_subtract(&s->digest, before);
    rung__digest_subtract(&w->entries, before);
    if (!s->is_ghosting) {
        b->version = s->seq;
        rung__editions_touch(s, b);
    }
    if (b->twin)
        rung__shadow_touch(s, player);
    return RUNG_OK;
}

rung_status rung__ranking_rescope(rung_state *s, rung__board *b, rung__window *w, uint32_t slot,
                                  uint32_t player, uint32_t old, uint32_t now) {
    rung_ladder_entry e;
    if (!w->ladder || rung_ladder_find(w->ladder, player, &e) != RUNG_OK)
        return RUNG_OK;
    if (secure_slot(s, b, w, slot, now, player, true) < 0)
        return RUNG_ENOMEM;
    if (slot == b->team_slot && secure_team(s, b, w, now) < 0)
        return RUNG_ENOMEM;
    slot_remove(w, slot, old, player);
    slot_put(w, slot, now, player, e.key, NULL);
    if (slot == b->team_slot) {
        team_update(b, w, old, e.key, NULL);
        team_update(b, w, now, NULL, e.key);
    }
    return RUNG_OK;
}

/* ---- whole slots ---- */

rung_status rung__ranking_fill_slot(rung_state *s, rung__board *b, rung__window *w, uint32_t slot) {
    if (!w->ladder)
        return RUNG_OK;
    rung_ladder_cursor c = rung_ladder_seek(w->ladder, 0);
    rung_ladder_entry e;
    while (rung_ladder_next(&c, &e)) {
        uint32_t value = rung__value_of(s, b, slot, e.player);
        if (secure_slot(s, b, w, slot, value, e.player, true) < 0)
            return RUNG_ENOMEM;
        slot_put(w, slot, value, e.player, e.key, NULL);
    }
    return RUNG_OK;
}

rung_status rung__ranking_fill_teams(rung_state *s, rung__board *b, rung__window *w) {
    const rung__scope *scope = &w->scopes[b->team_slot];
    for (uint32_t value = 0; value < scope->cap; value++) {
        if (!scope->ladders[value] || rung_ladder_count(scope->ladders[value]) == 0)
            continue;
        if (secure_team(s, b, w, value) < 0)
            return RUNG_ENOMEM;
        rung_ladder_cursor c = rung_ladder_seek(scope->ladders[value], 0);
        rung_ladder_entry e;
        while (b->def->update != RUNG_UPDATE_DECAY && rung_ladder_next(&c, &e))
            w->teams[value].sum += contribution(b, e.key);
        w->teams[value].members = rung_ladder_count(scope->ladders[value]);
        uint64_t word = rung__team_key(b, w, value); /* once: it may take a look at every member */
        rung_status st = rung_ladder_put(w->team_ladder, value, &word, NULL);
        RUNG_ASSERT(st >= 0); /* secured */
    }
    return RUNG_OK;
}

void rung__ranking_drop_teams(rung_state *s, rung__window *w) {
    rung_ladder_destroy(w->team_ladder);
    rung_alloc_free(s->alloc, w->teams, w->team_cap * sizeof *w->teams);
    w->team_ladder = NULL;
    w->teams = NULL;
    w->team_cap = 0;
}

void rung__ranking_drop_slot(rung_state *s, rung__board *b, rung__window *w, uint32_t slot) {
    rung__scope *scope = &w->scopes[slot];
    rung__sketches_drop_slot(s, b, scope);
    for (uint32_t v = 0; v < scope->cap; v++)
        rung_ladder_destroy(scope->ladders[v]);
    rung_arena_destroy(scope->arena);
    rung_alloc_free(s->alloc, scope->ladders, scope->cap * sizeof *scope->ladders);
    memset(scope, 0, sizeof *scope);
}

void rung__key_values(const rung__board *b, const uint64_t *key, int64_t now_ms, rung_value *values,
                      int64_t *at_ms) {
    rung_keyspec_decode(&b->def->key, key, values, at_ms);
    if (b->def->update == RUNG_UPDATE_DECAY)
        values[0].d = rung__decay_value(~key[0], now_ms, b->created_ms, b->def->half_life_ms);
}

/* ---- entries in the order of a ladder ---- */

/* Sift list[root] down: both heaps below it are in order, the first in the ladder on top. */
static void sink_entry(const rung_ladder *l, rung_ladder_entry *list, uint32_t n, uint32_t root) {
    rung_ladder_entry item = list[root];
    uint32_t child;
    while ((child = 2 * root + 1) < n) {
        if (child + 1 < n && rung_ladder_compare(l, &list[child + 1], &list[child]) < 0)
            child++;
        if (rung_ladder_compare(l, &item, &list[child]) <= 0)
            break;
        list[root] = list[child];
        root = child;
    }
    list[root] = item;
}

void rung__entries_heap(const rung_ladder *l, rung_ladder_entry *list, uint32_t n) {
    for (uint32_t root = n / 2; root > 0;)
        sink_entry(l, list, n, --root);
}

rung_ladder_entry rung__entries_pop(const rung_ladder *l, rung_ladder_entry *list, uint32_t *n) {
    rung_ladder_entry first = list[0];
    list[0] = list[--*n];
    sink_entry(l, list, *n, 0);
    return first;
}
