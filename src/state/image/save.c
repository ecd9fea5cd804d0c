/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the state. docs/formats/state.md has the bytes. Their order: a reference (from a profile to a player, from
 * a board to an attribute, from a ban's entry to a window) comes after what it refers to, so that the reader can
 * check it at once. Player numbers are written in ascending order wherever the state has no order of its own, so
 * equal states have equal bytes.
 *
 * May run in a forked child of a process with threads: allocates nothing and changes nothing. */
#include "state/image/save.h"

#include "base/assert.h"
#include "state/attribute.h"
#include "state/ban.h"
#include "state/edition_list.h"
#include "state/image/stream.h"
#include "state/keyspace/set.h"
#include "state/people.h"
#include "state/reviews.h"
#include "state/shadow.h"
#include "state/sketch.h"

#include <string.h>

enum { LIST = 1024 }; /* players asked for at a time */

/* ---- players, and other names with numbers ---- */

static size_t shared_prefix(rung_slice a, rung_slice b) {
    size_t max = a.len < b.len ? a.len : b.len, n = 0;
    while (n < max && a.ptr[n] == b.ptr[n])
        n++;
    return n;
}

/* All names by number, each without the prefix it shares with the one before; then the free numbers. */
static void save_names(rung__out *o, const rung_names *t, bool is_metered) {
    uint32_t span = rung_names_span(t);
    rung_slice last = {NULL, 0};
    rung__out_number(o, span);
    for (uint32_t number = 0; number < span; number++) {
        rung_slice id = rung_names_id(t, number);
        rung__out_byte(o, (uint8_t)id.len);
        if (id.len) {
            size_t shared = shared_prefix(id, last);
            rung__out_byte(o, (uint8_t)shared);
            rung__out_bytes(o, id.ptr + shared, id.len - shared);
            last = id;
        }
        if (is_metered)
            rung__meter_add(&o->meter, 1);
    }
    for (uint32_t n = RUNG_PLAYER_NONE; (n = rung_names_next_free(t, n)) != RUNG_PLAYER_NONE;)
        rung__out_number(o, n);
}

/* Players in ascending order, each as the difference from the one before. */
static void save_player(rung__out *o, uint32_t player, uint32_t *before) {
    rung__out_number(o, player - *before); /* `before` starts at -1: never 0, which is the end */
    *before = player;
}

/* Calls `save` for every player in a map, in order. */
static void each_player(rung__out *o, const rung_numbermap *map,
                        void (*save)(rung__out *o, void *ctx, uint32_t player, uint32_t value),
                        void *ctx) {
    uint32_t players[LIST], n, from = 0;
    do {
        n = rung_numbermap_list(map, from, players, LIST);
        for (uint32_t i = 0; i < n; i++)
            save(o, ctx, players[i], rung_numbermap_get(map, players[i]));
        from = n ? players[n - 1] + 1 : 0;
    } while (n == LIST && from);
}

/* ---- people ---- */

typedef struct people {
    const rung_state *s;
    uint32_t before;
} people;

static void save_profile(rung__out *o, void *ctx, uint32_t player, uint32_t slot) {
    people *p = ctx;
    const rung__profile *profile = p->s->profiles.items[slot];
    save_player(o, player, &p->before);
    rung__out_text(o, rung_slice_of(profile->packed, profile->bytes));
}

static void save_following(rung__out *o, void *ctx, uint32_t player, uint32_t slot) {
    people *p = ctx;
    const rung__friends *f = p->s->friends.items[slot];
    uint32_t before = RUNG__NONE;
    if (!f->following_count)
        return;
    save_player(o, player, &p->before);
    for (uint32_t i = 0; i < f->following_count; i++)
        save_player(o, f->following[i], &before);
    rung__out_number(o, 0);
}

static void save_people(rung__out *o, const rung_state *s) {
    save_names(o, s->players, true);
    each_player(o, &s->profiles.map, save_profile, &(people){s, RUNG__NONE});
    rung__out_number(o, 0);
    each_player(o, &s->friends.map, save_following, &(people){s, RUNG__NONE});
    rung__out_number(o, 0);
}

/* The numbers of attributes and values are preserved, since results show those of teams. */
static void save_attributes(rung__out *o, const rung_state *s) {
    save_names(o, s->attribute_ids, false);
    for (uint32_t i = 0; i < rung_names_span(s->attribute_ids); i++)
        if (rung_names_is_used(s->attribute_ids, i))
            save_names(o, s->attributes[i].values, false);
}

/* ---- rankings ---- */

/* The entries of a ranking in order, in pieces: a column for each of `words` key words, the first as differences since
 * it ascends; then the players. Without words: who is in it. */
static void save_entries(rung__out *o, const rung_ladder *l, uint32_t words) {
    uint64_t column[RUNG_LADDER_WORDS_MAX + 1][RUNG__COLUMN_MAX], last = 0;
    rung_ladder_cursor c = rung_ladder_seek(l, 0);
    for (uint32_t left = rung_ladder_count(l), n; left; left -= n) {
        n = left < RUNG__COLUMN_MAX ? left : RUNG__COLUMN_MAX;
        for (uint32_t i = 0; i < n; i++) {
            rung_ladder_entry e;
            rung_ladder_next(&c, &e);
            for (uint32_t k = 0; k < words; k++)
                column[k][i] = e.key[k] - (k ? 0 : last);
            last = e.key[0];
            column[words][i] = e.player;
        }
        for (uint32_t k = 0; k <= words; k++)
            rung__out_column(o, column[k], n);
        rung__meter_add(&o->meter, words ? n : 0); /* members count where they are entries */
    }
}

/* A closed window's scopes have the values of their time, which are stored nowhere else. */
static void save_closed_scope(rung__out *o, const rung__scope *scope) {
    for (uint32_t value = 0; value < scope->cap; value++) {
        uint32_t count = scope->ladders[value] ? rung_ladder_count(scope->ladders[value]) : 0;
        if (!count)
            continue;
        rung__out_number(o, count);
        rung__out_number(o, value);
        save_entries(o, scope->ladders[value], 0);
    }
    rung__out_number(o, 0);
}

/* A piece of a sketch; the empty one is the end. */
static void put_piece(void *ctx, const void *bytes, size_t len) {
    rung__out *o = ctx;
    while (len) {
        size_t n = len < RUNG__PIECE_MAX ? len : RUNG__PIECE_MAX;
        rung__out_number(o, n);
        rung__out_bytes(o, bytes, n);
        bytes = (const uint8_t *)bytes + n;
        len -= n;
    }
}

/* Writing sorts it in place, which changes no answer. */
static void save_sketch(rung__out *o, rung__sketch *k) {
    rung__out_number(o, k->submissions);
    rung__out_word(o, k->chain);
    rung_distinct_stream(k->players, put_piece, o);
    rung__out_number(o, 0);
    if (k->hitters)
        rung_hitters_stream(k->hitters, put_piece, o);
    if (k->quantiles)
        rung_quantiles_stream(k->quantiles, put_piece, o);
    rung__out_number(o, 0);
}

static void save_sketches(rung__out *o, const rung__board *b, const rung__window *w) {
    save_sketch(o, w->sketch);
    for (uint32_t slot = 0; slot < b->scope_count; slot++) {
        const rung__scope *scope = &w->scopes[slot];
        for (uint32_t v = 0; v < scope->sketch_cap; v++) {
            if (!scope->sketches[v] || !scope->sketches[v]->submissions)
                continue;
            rung__out_number(o, (uint64_t)v + 1);
            save_sketch(o, scope->sketches[v]);
        }
        rung__out_number(o, 0);
    }
}

static void save_window(rung__out *o, const rung__board *b, const rung__window *w) {
    rung__out_byte(o, (uint8_t)(w->kind | (unsigned)w->closed << 3 | (unsigned)w->dropped << 4));
    if (w->kind == RUNG_WINDOW_SEASON)
        rung__out_text(o, w->season);
    else if (w->kind)
        rung__out_signed(o, w->ordinal);
    if (w->kind) {
        rung__out_signed(o, w->start_ms);
        rung__out_signed(o, w->end_ms);
    }
    if (w->dropped)
        return;
    if (w->sketch) {
        save_sketches(o, b, w);
        return;
    }
    rung__out_number(o, rung_ladder_count(w->ladder));
    save_entries(o, w->ladder, rung_keyspec_words(&b->def->key));
    for (uint32_t slot = 0; w->closed && slot < b->scope_count; slot++)
        save_closed_scope(o, &w->scopes[slot]);
}

/* ---- boards ---- */

/* The newest rule has the definition's zone and day start; the first one covers all earlier time. */
static void save_rule(rung__out *o, const rung__rule *rule, bool is_first, bool is_newest) {
    if (!is_newest) {
        uint8_t packed[RUNG_ZONE_PACKED_MAX];
        size_t len = 0;
        rung_status st = rule->zone
                             ? rung_zone_pack(rule->zone, INT64_MIN, packed, sizeof packed, &len)
                             : RUNG_OK;
        RUNG_ASSERT(st == RUNG_OK); /* there is room for any */
        rung__out_text(o, rung_slice_of(packed, len));
        rung__out_number(o, (uint64_t)rule->day_starts_min);
    }
    for (uint32_t kind = RUNG_WINDOW_HOUR; !is_first && kind <= RUNG_WINDOW_YEAR; kind++) {
        rung__out_signed(o, rule->from_ms[kind]);
        rung__out_signed(o, rule->before[kind]);
    }
}

static void save_rate(rung__out *o, void *ctx, uint32_t player, uint32_t count) {
    save_player(o, player, ctx);
    rung__out_number(o, count);
}

static uint64_t real_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

typedef struct rated {
    const rung__board *b;
    uint32_t before;
} rated;

static void save_card(rung__out *o, void *ctx, uint32_t player, uint32_t slot) {
    rated *r = ctx;
    const rung_rating_card *c = &r->b->rated[slot].card;
    save_player(o, player, &r->before);
    rung__out_word(o, real_bits(c->rating.rating));
    rung__out_word(o, real_bits(c->rating.deviation));
    rung__out_word(o, real_bits(c->rating.volatility));
    rung__out_signed(o, c->rating.at_ms);
    rung__out_number(o, c->rating.games);
    rung__out_number(o, c->wins);
    rung__out_number(o, c->draws);
    rung__out_number(o, c->losses);
    rung__out_signed(o, c->streak);
}

static void save_result(rung__out *o, const rung__result *r) {
    rung__out_number(o, r->player == RUNG_PLAYER_NONE ? 0 : (uint64_t)r->player + 1);
    rung__out_number(o, (uint64_t)r->side << 1 | r->was_new);
    rung__out_signed(o, r->place);
    rung__out_number(o, r->rank);
    const double reals[] = {r->expected,      r->weight, r->played,
                            r->rating_before, r->rating, r->deviation};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        rung__out_word(o, real_bits(reals[i]));
    rung__out_signed(o, r->score_before);
    rung__out_signed(o, r->score);
}

static void save_kept(rung__out *o, const rung__board *b) {
    const rung__kept *k = &b->kept;
    rung__out_number(o, k->match_end - k->match_first);
    for (uint64_t i = k->match_first; i < k->match_end; i++) {
        const rung__kept_match *m = rung__kept_match_at(k, i);
        rung__out_number(o, m->seq);
        rung__out_signed(o, m->at_ms);
        rung__out_signed(o, m->ts_ms);
        rung__out_text(o, rung_slice_of(m->id, m->id_len));
        rung__out_number(o, m->players);
        for (uint32_t r = 0; r < m->players; r++)
            save_result(o, rung__kept_result_at(k, m->first + r));
    }
    rung__out_number(o, b->removed_count);
    for (uint32_t i = 0; i < b->removed_count; i++)
        rung__out_number(o, b->removed[i]);
}

static void save_ratings(rung__out *o, const rung__board *b) {
    each_player(o, &b->rated_of, save_card, &(rated){b, RUNG__NONE});
    rung__out_number(o, 0);
    save_kept(o, b);
}

static void save_form(rung__out *o, void *ctx, uint32_t player, uint32_t slot) {
    rated *r = ctx;
    const rung__form *f = &r->b->forms.items[slot];
    save_player(o, player, &r->before);
    rung__out_number(o, f->count);
    rung__out_signed(o, f->last_ms);
    rung__out_signed(o, f->last.i);
    rung__out_word(o, real_bits(f->mean));
    rung__out_word(o, real_bits(f->deviation));
    rung__out_signed(o, f->period_ms);
    rung__out_number(o, f->in_period);
}

static void save_forms(rung__out *o, const rung__board *b) {
    each_player(o, &b->forms.of, save_form, &(rated){b, RUNG__NONE});
    rung__out_number(o, 0);
}

static void save_board(rung__out *o, const rung__board *b) {
    uint32_t before = RUNG__NONE;
    rung__out_number(o, b->serial);
    rung__out_signed(o, b->created_ms);
    rung__out_signed(o, b->over_ms);
    rung__out_signed(o, b->ids.horizon_ms);
    rung__out_text(o, b->shared->bytes);
    rung__out_number(o, b->rule_count);
    for (uint32_t i = 0; i < b->rule_count; i++)
        save_rule(o, &b->rules[i], i == 0, i + 1 == b->rule_count);
    rung__out_signed(o, b->rate_minute);
    each_player(o, &b->rate, save_rate, &before);
    rung__out_number(o, 0);
    if (rung_update_is_rating(b->def->update))
        save_ratings(o, b);
    if (rung_board_needs_form(b->def))
        save_forms(o, b);
    rung__out_number(o, b->window_count);
    for (uint32_t i = 0; i < b->window_count; i++)
        save_window(o, b, b->windows[i]);
}

static void save_set(rung__out *o, const rung__set *set) {
    uint32_t players[LIST], n, from = 0, before = RUNG__NONE;
    rung__out_number(o, set->serial);
    do {
        n = rung__set_list(set, from, players, LIST);
        for (uint32_t i = 0; i < n; i++)
            save_player(o, players[i], &before);
        from = n ? players[n - 1] + 1 : 0;
    } while (n == LIST);
    rung__out_number(o, 0);
}

/* `id_serial`: by which ids know the board; 0: its own serial, or a set's. */
static void save_key_head(rung__out *o, bool is_set, bool is_key, const rung__expiry *e,
                          uint64_t id_serial) {
    bool ends = e->place != 0;
    rung__out_byte(o, (uint8_t)(is_key | (unsigned)ends << 1 | (unsigned)is_set << 2 |
                                (unsigned)(id_serial != 0) << 3));
    if (ends)
        rung__out_signed(o, e->at_ms);
    if (id_serial)
        rung__out_number(o, id_serial);
}

/* Boards, and sets among them: they share the names. */
static void save_boards(rung__out *o, const rung_state *s) {
    save_names(o, s->board_ids, false);
    for (uint32_t i = 0; i < rung_names_span(s->board_ids); i++) {
        const rung__board *b = i < s->board_cap ? s->boards[i] : NULL;
        const rung__set *set = i < s->set_cap ? s->sets[i] : NULL;
        if (!b && !set)
            continue;
        save_key_head(o, set != NULL, b && b->is_key, b ? &b->expiry : &set->expiry,
                      b && b->id_serial != b->serial ? b->id_serial : 0);
        if (b)
            save_board(o, b);
        else
            save_set(o, set);
    }
}

/* ---- bans ---- */

/* A ban's entries are in the order of boards and windows: one walk over those finds them all. */
typedef struct walk {
    uint32_t board, window;
} walk;

static const rung__board *walk_to(const rung_state *s, walk *at, const rung__stashed *e) {
    for (; at->board < s->board_cap; at->board++, at->window = 0) {
        const rung__board *b = s->boards[at->board];
        if (!b || b->serial != e->board_serial)
            continue;
        for (; at->window < b->window_count; at->window++)
            if (b->windows[at->window]->tag == e->window_tag)
                return b;
    }
    return NULL;
}

static void save_stashed(rung__out *o, const rung__stashed *e, const rung__board *b, walk at) {
    rung__out_number(o, at.board);
    rung__out_number(o, at.window);
    for (uint32_t k = 0; k < rung_keyspec_words(&b->def->key); k++)
        rung__out_number(o, e->key[k]);
    rung__out_byte(o, (uint8_t)e->scope_count);
    for (uint32_t i = 0; i < e->scope_count; i++) {
        rung__out_number(o, e->attributes[i] + 1); /* 0: none */
        if (e->attributes[i] != RUNG__NONE)
            rung__out_number(o, e->values[i] + 1);
    }
}

static void save_ban(rung__out *o, void *ctx, uint32_t player, uint32_t slot) {
    people *p = ctx;
    const rung__ban *ban = p->s->bans.items[slot];
    walk at = {0, 0};
    save_player(o, player, &p->before);
    rung__out_number(o, ban->count);
    for (uint32_t k = 0; k < ban->count; k++, at.window++) {
        const rung__board *b = walk_to(p->s, &at, &ban->entries[k]);
        /* Entries of deleted boards were dropped, and boards and windows never change their order. */
        RUNG_ASSERT(b);
        save_stashed(o, &ban->entries[k], b, at);
    }
}

static void save_bans(rung__out *o, const rung_state *s) {
    each_player(o, &s->bans.map, save_ban, &(people){s, RUNG__NONE});
    rung__out_number(o, 0);
}

/* ---- ids ---- */

static void save_id(rung__out *o, rung_slice key, const rung__id_record *r) {
    uint64_t percentile;
    memcpy(&percentile, &r->percentile, sizeof percentile);
    rung__out_text(o, key);
    rung__out_word(o, r->body);
    rung__out_signed(o, r->effective_ms);
    rung__out_byte(o, (uint8_t)(r->changed | (unsigned)r->has_next << 1 |
                                (unsigned)r->value_count << 2 | (unsigned)r->tentative << 4));
    rung__out_number(o, r->seq);
    rung__out_number(o, r->rank_before);
    rung__out_number(o, r->rank);
    rung__out_number(o, r->total);
    rung__out_number(o, r->passed);
    rung__out_word(o, percentile);
    for (uint32_t i = 0; i < r->value_count; i++)
        rung__out_signed(o, r->values[i].i);
    if (r->has_next) {
        rung__out_number(o, r->next_player + 1); /* 0: erased since */
        rung__out_signed(o, r->gap.i);
    }
}

static void save_ids(rung__out *o, const rung_state *s) {
    rung__out_number(o, rung__ids_count(s));
    for (uint32_t i = s->ids.first; i != RUNG__NONE; i = rung__ids_record(s, i)->next) {
        save_id(o, rung_names_id(s->ids.table, i), rung__ids_record(s, i));
        rung__meter_add(&o->meter, 1);
    }
}

/* ---- sources ---- */

static void save_sources(rung__out *o, const rung_state *s) {
    const rung__sources *all = &s->sources;
    save_names(o, all->names, false);
    for (uint32_t i = 0; i < rung_names_span(all->names); i++) {
        const rung__source *source = i < all->cap ? all->items[i] : NULL;
        if (!source)
            continue;
        rung__out_number(o, source->next);
        for (uint32_t k = 0; k < RUNG__SOURCE_WORDS; k++)
            rung__out_word(o, source->seen[k]);
    }
}

/* ---- shadows ---- */

static void save_shadows(rung__out *o, const rung_state *s) {
    rung__out_number(o, s->shadow_count);
    for (uint32_t i = 0; s->shadow_count && i < s->board_cap; i++) {
        const rung__shadow *sh = s->boards[i] ? s->boards[i]->shadow : NULL;
        if (!sh)
            continue;
        rung__out_number(o, i);
        rung__out_number(o, sh->board->number);
        rung__out_number(o, sh->job);
        rung__out_byte(o, (uint8_t)((unsigned)sh->phase | (unsigned)sh->was_live << 2));
        rung__out_number(o, sh->parts);
        rung__out_text(o, rung_slice_of(sh->queue, sh->queued));
    }
}

/* ---- sessions ---- */

static void save_sessions(rung__out *o, const rung_state *s) {
    const rung__sessions *all = &s->sessions;
    save_names(o, all->ids, false);
    for (uint32_t i = 0; i < rung_names_span(all->ids); i++) {
        const rung__session *x = i < all->cap ? all->items[i] : NULL;
        if (!x)
            continue;
        rung__out_text(o, rung_names_id(all->owners, x->owner));
        rung__out_text(o, rung_slice_of(x->key, x->key_len));
        rung__out_number(o, x->opened);
        rung__out_signed(o, x->expires_ms);
        rung__out_signed(o, x->window_ms);
        rung__out_number(o, x->nonce_count);
        for (uint32_t k = 0; k < x->nonce_count; k++)
            rung__out_number(o, x->nonces[k]);
    }
}

/* ---- reviews, and bans with an end ---- */

static void save_review(rung__out *o, const rung__review *r) {
    rung__out_number(o, r->id);
    rung__out_number(o, r->board);
    rung__out_number(o, r->player);
    rung__out_signed(o, r->ts_ms);
    rung__out_signed(o, r->at_ms);
    rung__out_signed(o, r->expires_ms);
    rung__out_byte(
        o, (uint8_t)(r->value_count | (unsigned)r->is_delta << 2 | (unsigned)r->outcome << 3));
    rung__out_byte(o, (uint8_t)(r->score_type | (unsigned)r->score_decimals << 4));
    for (uint32_t i = 0; i < r->value_count; i++) {
        rung__out_byte(o, (uint8_t)(r->types[i] | (unsigned)r->decimals[i] << 4));
        rung__out_signed(o, r->values[i].i);
    }
    rung__out_number(o, r->finding_count);
    for (uint32_t i = 0; i < r->finding_count; i++) {
        rung__out_byte(o, r->findings[i].rule);
        rung__out_byte(o, r->findings[i].action);
        rung__out_signed(o, r->findings[i].value.i);
        rung__out_signed(o, r->findings[i].limit.i);
    }
}

static void save_reviews(rung__out *o, const rung_state *s) {
    rung__out_number(o, s->reviews.count);
    for (uint32_t i = 0; i < s->reviews.count; i++)
        save_review(o, &s->reviews.items[i]);
}

static void save_ban_end(rung__out *o, void *ctx, uint32_t player, uint32_t slot) {
    people *p = ctx;
    const rung__ban *ban = p->s->bans.items[slot];
    if (!ban->until_ms && !ban->is_shadow)
        return;
    save_player(o, player, &p->before);
    rung__out_signed(o, ban->until_ms);
    rung__out_byte(o, ban->is_shadow);
}

static void save_ban_ends(rung__out *o, const rung_state *s) {
    each_player(o, &s->bans.map, save_ban_end, &(people){s, RUNG__NONE});
    rung__out_number(o, 0);
}

/* ---- editions ---- */

static void save_edition(rung__out *o, const rung__edition *e) {
    rung__out_number(o, e->version);
    rung__out_signed(o, e->at_ms);
    rung__out_byte(o, (uint8_t)(e->kind | e->rank << 3));
    rung__out_number(o, e->season_len);
    if (e->kind) {
        rung__out_signed(o, e->ordinal);
        rung__out_signed(o, e->start_ms);
        rung__out_signed(o, e->end_ms);
    }
    rung__out_word(o, e->entries.a);
    rung__out_word(o, e->entries.b);
    rung__out_number(o, e->total);
    rung__out_number(o, e->count);
    rung__out_text(o, rung_slice_of(e->bytes, e->size));
}

static void save_editions(rung__out *o, const rung_state *s) {
    for (uint32_t i = 0; s->editions && i < s->board_cap; i++) {
        const rung__editions *all = s->boards[i] ? s->boards[i]->editions : NULL;
        if (!all || !all->count)
            continue;
        rung__out_number(o, i + 1);
        rung__out_number(o, all->count);
        for (uint32_t k = 0; k < all->count; k++)
            save_edition(o, all->items[k]);
    }
    rung__out_number(o, 0);
}

/* ---- all ---- */

static uint64_t count_all(const rung_state *s) {
    uint64_t total = (uint64_t)rung_names_span(s->players) + rung__ids_count(s);
    rung__board *b;
    uint32_t i = 0, k = 0;
    for (const rung__window *w; (w = rung__next_window(s, &i, &k, &b));)
        total += w->ladder ? rung_ladder_count(w->ladder) : 0;
    return total;
}

static void save_head(rung__out *o, const rung_state *s) {
    rung__out_bytes(o, RUNG__STREAM_MAGIC, sizeof RUNG__STREAM_MAGIC - 1);
    rung__out_number(o, RUNG_STATE_FORMAT);
    rung__out_number(o, o->meter.total);
    rung__out_number(o, s->ids.capacity);
    rung__out_signed(o, s->ids.keep_ms);
    rung__out_number(o, s->seq);
    rung__out_number(o, s->refused);
    rung__out_signed(o, s->time_ms);
    rung__out_signed(o, s->ids.horizon_ms);
    rung__out_number(o, s->rules);
    rung__out_byte(o, s->has_keys);
}

rung_status rung_state_save(const rung_state *s, rung_save_sink sink, void *ctx,
                            const rung_save_progress *progress) {
    if (s->broken)
        return RUNG_ENOMEM;
    rung__out o = {
        .sink = sink, .ctx = ctx, .st = RUNG_OK, .meter = {progress, 0, count_all(s), 0}};
    save_head(&o, s);
    save_people(&o, s);
    save_attributes(&o, s);
    save_boards(&o, s);
    save_bans(&o, s);
    save_ids(&o, s);
    save_sources(&o, s);
    save_shadows(&o, s);
    save_sessions(&o, s);
    save_reviews(&o, s);
    save_ban_ends(&o, s);
    save_editions(&o, s);
    rung_digest digest = rung_state_digest(s);
    rung__out_word(&o, digest.a);
    rung__out_word(&o, digest.b);
    rung__out_flush(&o);
    if (o.st >= 0 && progress)
        progress->tell(progress->ctx, o.meter.total, o.meter.total);
    return o.st < 0 ? o.st : RUNG_OK;
}
