/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the state. The bytes have normally passed the checks of the file, but nothing here relies on that:
 *
 *   S1 Every reference (to a player, attribute, value or window) is checked when it is read.
 *   S2 Memory grows only with what was read, or by a small multiple of it: names as they come, and a ranking for at
 *      most as many entries as there are players.
 *   S3 No key, time or profile is accepted that apply would not have made: later code may rely on them.
 *   S4 The digest is recomputed from everything that was built, and must equal the saved one. What the digest does
 *      not cover (results of remembered ids, scopes of closed windows) only has to be valid.
 *
 * The stream records the first failure and returns zeros from then on; loops and allocations check it first.
 * rung_state_destroy() frees a half-built state like any other. */
#include "ladder/pipeline.h"
#include "model/utf8.h"
#include "state/attribute.h"
#include "state/ban.h"
#include "state/digest.h"
#include "state/edition_list.h"
#include "state/image/save.h"
#include "state/image/stream.h"
#include "state/keyspace/set.h"
#include "state/match.h"
#include "state/people.h"
#include "state/ranking.h"
#include "state/reviews.h"
#include "state/season_reset.h"
#include "state/shadow.h"
#include "state/sketch.h"

#include <math.h>
#include <string.h>

typedef struct loader {
    rung__in in;
    rung_state *s;
    rung_names *serials; /* of the boards and sets so far: no two are the same */
    uint64_t version;
    const rung_load_helper *helper; /* NULL: none */
    bool is_helped;                 /* the players' index is with the helper */
    rung_status index_status;
} loader;

static void damaged(loader *l, const char *fault) {
    rung__in_fail(&l->in, RUNG_ECORRUPT, fault);
}

/* False, and noted, unless `st` is a success. */
static bool went_well(loader *l, rung_status st) {
    if (st < 0)
        rung__in_fail(&l->in, st == RUNG_EINVAL ? RUNG_ECORRUPT : st,
                      "something is invalid or duplicated");
    return st >= 0;
}

static bool is_fine(const loader *l) {
    return l->in.st >= 0;
}

/* A time that can be added to another one, or `otherwise`. */
static int64_t load_time_or(loader *l, int64_t otherwise) {
    int64_t ms = rung__in_signed(&l->in);
    if (ms == otherwise || (ms >= -(INT64_C(1) << 60) && ms <= INT64_C(1) << 60))
        return ms;
    damaged(l, "a time is out of range");
    return 0;
}

static int64_t load_time(loader *l) {
    return load_time_or(l, 0);
}

/* False, and noted, if there was no memory. */
static bool has_memory(loader *l, const void *memory) {
    if (!memory)
        rung__in_fail(&l->in, RUNG_ENOMEM, NULL);
    return memory;
}

/* Allocate `len` bytes and read them from the stream; NULL after a failure, or if `len` is 0. */
static char *load_block(loader *l, size_t len) {
    if (!len)
        return NULL;
    char *block = is_fine(l) ? rung_alloc_get(l->s->alloc, len) : NULL;
    if (!has_memory(l, block))
        return NULL;
    rung__in_bytes(&l->in, block, len);
    if (is_fine(l))
        return block;
    rung_alloc_free(l->s->alloc, block, len);
    return NULL;
}

/* ---- players, and other names with numbers ---- */

static void load_free_names(loader *l, rung_names *t, uint32_t free) {
    uint32_t before = RUNG_PLAYER_NONE;
    while (free-- && is_fine(l)) {
        uint32_t number = rung__in_count(&l->in, RUNG_PLAYER_NONE - 1);
        went_well(l, rung_names_restore_free(t, before, number));
        before = number;
    }
}

/* All names of a table, but not its index. */
static void load_names_only(loader *l, rung_names *t, bool is_metered) {
    uint32_t span = rung__in_count(&l->in, RUNG_PLAYER_NONE), free = 0;
    uint8_t id[256];
    size_t last = 0;
    for (uint32_t number = 0; number < span && is_fine(l); number++) {
        size_t len = rung__in_byte(&l->in), shared = len ? rung__in_byte(&l->in) : 0;
        if (shared > len || shared > last) {
            damaged(l, "a name shares more than there is");
            return;
        }
        rung_bytes_copy(id + shared, rung__in_take(&l->in, len - shared), len - shared);
        free += len == 0;
        last = len ? len : last;
        went_well(l, rung_names_restore(t, rung_slice_of(id, len)));
        if (is_metered)
            rung__meter_add(&l->in.meter, 1);
    }
    load_free_names(l, t, free);
}

static void load_names(loader *l, rung_names *t) {
    load_names_only(l, t, false);
    if (is_fine(l))
        went_well(l, rung_names_restore_finish(t));
}

/* Nothing needs the players' index until loading ends, and building it does not touch what is read meanwhile. */
static void finish_players(void *arg) {
    loader *l = arg;
    l->index_status = rung_names_restore_finish(l->s->players);
}

static void begin_players_index(loader *l) {
    if (!is_fine(l))
        return;
    l->is_helped = l->helper && l->helper->begin(l->helper->ctx, finish_players, l);
    if (!l->is_helped)
        finish_players(l);
}

static void end_players_index(loader *l) {
    if (l->is_helped)
        l->helper->wait(l->helper->ctx);
    l->is_helped = false;
    went_well(l, l->index_status);
}

/* The next player of an ascending list; false at its end. */
static bool load_player(loader *l, uint32_t *player) {
    uint32_t step = rung__in_count(&l->in, RUNG_PLAYER_NONE - 1);
    if (!step || !is_fine(l))
        return false;
    uint64_t next = (uint64_t)(uint32_t)(*player + 1) + step - 1; /* it starts at -1 */
    if (next >= RUNG_PLAYER_NONE || !rung_names_is_used(l->s->players, (uint32_t)next)) {
        damaged(l, "nobody has this player number");
        return false;
    }
    *player = (uint32_t)next;
    return true;
}

/* ---- people ---- */

/* Names ascend, lengths are those allowed in events, and all bytes are used (S3). */
static bool profile_is_valid(rung__profile *p) {
    rung_attribute a = {{NULL, 0}, {NULL, 0}};
    uint32_t offset = 0;
    for (p->count = 0; offset < p->bytes; p->count++) {
        const uint8_t *at = (const uint8_t *)p->packed + offset;
        uint32_t left = p->bytes - offset, name = at[0];
        rung_slice before = a.name;
        if (left < 3 + name || left < 3 + name + at[name + 1] + (at[name + 2] * 256u))
            return false;
        rung__profile_next(p, &offset, &a);
        if (!rung_attribute_name_is_valid(a.name) || rung_slice_cmp(before, a.name) >= 0 ||
            a.value.len < 1 || a.value.len > RUNG_ATTRIBUTE_VALUE_MAX)
            return false;
    }
    return p->count >= 1 && p->count <= RUNG_ATTRIBUTES_MAX;
}

static void load_profile(loader *l, uint32_t player) {
    enum {
        BYTES_MAX = RUNG_ATTRIBUTES_MAX * (3 + RUNG_ATTRIBUTE_NAME_MAX + RUNG_ATTRIBUTE_VALUE_MAX)
    };
    uint32_t bytes = rung__in_count(&l->in, BYTES_MAX);
    rung__profile *p = is_fine(l) ? rung_alloc_get(l->s->alloc, sizeof *p + bytes) : NULL;
    if (!has_memory(l, p))
        return;
    p->bytes = bytes;
    rung__in_bytes(&l->in, p->packed, bytes);
    if (is_fine(l) && !profile_is_valid(p))
        damaged(l, "a profile is not valid");
    if (!is_fine(l) || !went_well(l, rung__sparse_put(&l->s->profiles, l->s->alloc, player, p)))
        rung_alloc_free(l->s->alloc, p, sizeof *p + bytes);
}

static void load_following(loader *l, uint32_t player) {
    uint32_t other = RUNG__NONE, count = 0;
    while (load_player(l, &other)) {
        if (other == player || ++count > RUNG_FRIENDS_MAX)
            damaged(l, "a list of friends is not valid");
        else
            went_well(l, rung__follow(l->s, player, other));
    }
    if (!count)
        damaged(l, "a list of friends is empty");
}

static void load_people(loader *l) {
    load_names_only(l, l->s->players, true);
    begin_players_index(l);
    for (uint32_t player = RUNG__NONE; load_player(l, &player);)
        load_profile(l, player);
    for (uint32_t player = RUNG__NONE; load_player(l, &player);)
        load_following(l, player);
}

static void load_attribute(loader *l, uint32_t number) {
    rung__attribute *a = &l->s->attributes[number];
    a->name = rung_names_id(l->s->attribute_ids, number);
    if (!went_well(l, rung_names_create(l->s->alloc, &l->s->hash_key, &a->values)))
        return;
    a->users = 1; /* ours, until the boards are there */
    load_names(l, a->values);
    if (is_fine(l) && rung_names_count(a->values) != rung_names_span(a->values))
        damaged(l, "an attribute has lost a value");
    if (is_fine(l))
        went_well(l, rung__attribute_fill(l->s, a));
}

static void load_attributes(loader *l) {
    rung_state *s = l->s;
    load_names(l, s->attribute_ids);
    uint32_t span = rung_names_span(s->attribute_ids);
    if (!is_fine(l) || !went_well(l, rung__grow(s->alloc, &s->attributes, &s->attribute_cap, span,
                                                sizeof *s->attributes)))
        return;
    for (uint32_t i = 0; i < span && is_fine(l); i++)
        if (rung_names_is_used(s->attribute_ids, i))
            load_attribute(l, i);
}

/* Every attribute must be one that some board ranks by. */
static void release_attributes(loader *l) {
    for (uint32_t i = 0; i < l->s->attribute_cap && is_fine(l); i++) {
        if (l->s->attributes[i].users == 1)
            damaged(l, "no board ranks by an attribute");
        else if (l->s->attributes[i].users)
            l->s->attributes[i].users--;
    }
}

/* ---- rankings ---- */

/* Entries on their way into a window's main ranking, or members of one of its scopes, whose keys are known already.
 * The columns are rings of two pieces: all pieces except the last are full, so entry `i` is at i modulo RING. */
enum { RING = 2 * RUNG__COLUMN_MAX };
typedef uint64_t ring[RING];

typedef struct entries {
    loader *l;
    const rung__board *b;
    const rung_ladder *main;
    rung_numbermap *seen; /* of members: who was in the slot already */
    uint32_t columns;     /* the last one has the players */
    uint32_t left;        /* to be read */
    uint32_t at, end;     /* given out, and read, so far */
    uint64_t last;        /* first word */
    ring *column;
} entries;

static bool read_piece(entries *e) {
    uint32_t n = e->left < RUNG__COLUMN_MAX ? e->left : RUNG__COLUMN_MAX, from = e->end % RING;
    const uint64_t *players = &e->column[e->columns - 1][from];
    const rung_names *table = e->l->s->players;
    uint32_t span = rung_names_span(table);
    bool is_valid = true, has_gaps = span != rung_names_count(table);
    for (uint32_t k = 0; k < e->columns; k++)
        rung__in_column(&e->l->in, &e->column[k][from], n);
    for (uint32_t i = 0; i < n; i++)
        is_valid &=
            players[i] < span && (!has_gaps || rung_names_is_used(table, (uint32_t)players[i]));
    e->left -= n;
    e->end += n;
    rung__meter_add(&e->l->in.meter, e->seen ? 0 : n); /* members count where they are entries */
    return is_valid && is_fine(e->l);
}

/* Members are scattered over the main ranking's map: prefetch this many members ahead. */
enum { AHEAD = 24 };

static void look_ahead(const entries *e) {
    uint32_t far = e->at + AHEAD;
    if (far < e->end)
        rung_ladder_prefetch_player(e->main, (uint32_t)e->column[0][far % RING], 0);
}

/* The column index of the next entry; false: there is none, or it cannot be valid. */
static bool next_place(entries *e, uint32_t *place_out) {
    while (e->left && e->end - e->at <= RUNG__COLUMN_MAX)
        if (!read_piece(e))
            return false;
    if (e->at == e->end)
        return false;
    *place_out = e->at++ % RING;
    return true;
}

static bool next_entry(void *ctx, rung_ladder_entry *out) {
    entries *e = ctx;
    uint32_t words = e->columns - 1, i;
    bool is_first = e->at == 0;
    if (!next_place(e, &i))
        return false;
    memset(out, 0, sizeof *out);
    out->key[0] = e->last += e->column[0][i];
    for (uint32_t k = 1; k < words; k++)
        out->key[k] = e->column[k][i];
    out->player = (uint32_t)e->column[words][i];
    bool is_known = !is_first && words == 1 && !e->column[0][i]; /* the same as before */
    return is_known || rung__key_is_valid(e->b->def, out->key);
}

static bool next_member(void *ctx, rung_ladder_entry *out) {
    entries *e = ctx;
    uint32_t i;
    if (!next_place(e, &i))
        return false;
    look_ahead(e);
    if (rung_ladder_find(e->main, (uint32_t)e->column[0][i], out) != RUNG_OK)
        return false;
    rung_status st = rung_numbermap_add(e->seen, e->l->s->alloc, out->player, 0);
    return went_well(e->l, st) && st == RUNG_OK;
}

static void load_ladder(loader *l, rung_ladder *ladder, entries *e, rung_ladder_source next) {
    rung_status st = is_fine(l) ? rung_ladder_build(ladder, e->left, next, e) : RUNG_OK;
    if (st == RUNG_EINVAL)
        damaged(l, "a ranking is not valid");
    else
        went_well(l, st);
}

/* The ranking of one value in a closed window; false when there are no more. */
static bool load_closed_value(loader *l, rung__board *b, rung__window *w, uint32_t slot,
                              rung_numbermap *seen) {
    rung_state *s = l->s;
    rung__scope *scope = &w->scopes[slot];
    ring column[1];
    entries e = {.l = l, .b = b, .main = w->ladder, .seen = seen, .columns = 1, .column = column};
    e.left = rung__in_count(&l->in, rung_ladder_count(w->ladder));
    if (!e.left)
        return false;
    uint32_t value = rung__in_count(&l->in, RUNG__NONE - 1);
    if (!rung_names_is_used(s->attributes[b->attribute[slot]].values, value) ||
        (value < scope->cap && scope->ladders[value])) {
        damaged(l, "a scope has a value that does not exist, or twice");
        return false;
    }
    if (!went_well(l, rung__ranking_open_value(s, b, w, slot, value)))
        return false;
    load_ladder(l, scope->ladders[value], &e, next_member);
    return is_fine(l);
}

static void load_scopes(loader *l, rung__board *b, rung__window *w) {
    for (uint32_t slot = 0; slot < b->scope_count && is_fine(l); slot++) {
        if (!w->closed) {
            went_well(l, rung__ranking_fill_slot(l->s, b, w, slot));
            continue;
        }
        rung_numbermap seen = {0};
        while (load_closed_value(l, b, w, slot, &seen))
            continue;
        rung_numbermap_deinit(&seen, l->s->alloc);
    }
    if (is_fine(l) && b->team_slot != RUNG__NONE)
        went_well(l, rung__ranking_fill_teams(l->s, b, w));
}

/* ---- sketches ---- */

/* Pieces up to the empty one, put together; grows with what was read (S2). */
typedef struct pieces {
    uint8_t *bytes;
    size_t len, cap;
} pieces;

static void load_pieces(loader *l, pieces *p, size_t most) {
    for (uint32_t n; is_fine(l) && (n = rung__in_count(&l->in, RUNG__PIECE_MAX)); p->len += n) {
        if (p->len + n > most) {
            damaged(l, "a sketch is too long");
            return;
        }
        if (p->len + n > p->cap) {
            size_t cap = p->cap * 2 > p->len + n ? p->cap * 2 : p->len + n;
            uint8_t *bytes = rung_alloc_resize(l->s->alloc, p->bytes, p->cap, cap);
            if (!has_memory(l, bytes))
                return;
            p->bytes = bytes;
            p->cap = cap;
        }
        rung__in_bytes(&l->in, p->bytes + p->len, n);
    }
}

/* A saved sketch takes at most twice its memory. */
static size_t saved_max(const rung__board *b) {
    return 2 * (size_t)b->def->sketch_memory + 4096;
}

static void load_players(loader *l, const rung__board *b, rung__sketch *k) {
    pieces p = {0};
    rung_distinct *players = NULL;
    load_pieces(l, &p, saved_max(b));
    if (is_fine(l) && went_well(l, rung_distinct_load(l->s->alloc, rung_slice_of(p.bytes, p.len),
                                                      &players, NULL))) {
        if (rung_distinct_merge(k->players, players) != RUNG_OK)
            damaged(l, "a distinct count is of another board");
    }
    rung_distinct_destroy(players);
    rung_alloc_free(l->s->alloc, p.bytes, p.cap);
}

static void load_hitters(loader *l, rung_slice bytes, rung__sketch *k) {
    rung_hitters *h;
    if (!went_well(l, rung_hitters_load(l->s->alloc, l->s->hash_key.k0, bytes, &h, NULL)))
        return;
    if (!rung_hitters_is_alike(h, k->hitters)) {
        rung_hitters_destroy(h);
        damaged(l, "heavy hitters are of another board");
        return;
    }
    rung_hitters_destroy(k->hitters);
    k->hitters = h;
}

static void load_quantiles(loader *l, rung_slice bytes, rung__sketch *k) {
    rung_quantiles *q;
    if (!went_well(l, rung_quantiles_load(l->s->alloc, bytes, &q, NULL)))
        return;
    if (rung_quantiles_capacity(q) != rung_quantiles_capacity(k->quantiles)) {
        rung_quantiles_destroy(q);
        damaged(l, "a rank histogram is of another board");
        return;
    }
    rung_quantiles_destroy(k->quantiles);
    k->quantiles = q;
}

static void load_sketch(loader *l, const rung__board *b, rung__sketch *k) {
    pieces p = {0};
    k->submissions = rung__in_number(&l->in);
    k->chain = rung__in_word(&l->in);
    load_players(l, b, k);
    load_pieces(l, &p, saved_max(b));
    rung_slice bytes = rung_slice_of(p.bytes, p.len);
    if (is_fine(l) && k->hitters)
        load_hitters(l, bytes, k);
    else if (is_fine(l) && k->quantiles)
        load_quantiles(l, bytes, k);
    else if (p.len)
        damaged(l, "a sketch has bytes of another kind");
    rung_alloc_free(l->s->alloc, p.bytes, p.cap);
}

static void load_sketches(loader *l, rung__board *b, rung__window *w) {
    load_sketch(l, b, w->sketch);
    for (uint32_t slot = 0; slot < b->scope_count && is_fine(l); slot++)
        for (uint32_t next; is_fine(l) && (next = rung__in_count(&l->in, RUNG__NONE - 1));) {
            uint32_t value = next - 1;
            const rung__scope *scope = &w->scopes[slot];
            if (!rung_names_is_used(l->s->attributes[b->attribute[slot]].values, value) ||
                (value < scope->sketch_cap && scope->sketches[value]) ||
                !rung__sketch_has_room(b, 1)) {
                damaged(l, "a scope has a value that does not exist, twice, or too many");
                return;
            }
            if (!went_well(l, rung__sketch_open_value(l->s, b, w, slot, value)))
                return;
            load_sketch(l, b, scope->sketches[value]);
            if (is_fine(l) && !scope->sketches[value]->submissions)
                damaged(l, "a sketch of a scope is empty");
        }
}

/* ---- windows ---- */

static void load_standings(loader *l, rung__board *b, rung__window *w) {
    const rung_keyspec *spec = &b->def->key;
    ring column[RUNG_LADDER_WORDS_MAX + 1];
    entries e = {.l = l, .b = b, .main = w->ladder, .column = column};
    e.columns = rung_keyspec_words(spec) + 1;
    e.left = rung__in_count(&l->in, rung_names_count(l->s->players)); /* S2 */
    load_ladder(l, w->ladder, &e, next_entry);
    load_scopes(l, b, w);
}

static void load_window(loader *l, rung__board *b) {
    uint32_t head = rung__in_byte(&l->in), kind = head & 7;
    bool closed = head >> 3 & 1, dropped = head >> 4 & 1;
    rung_window span = {0, INT64_MIN, INT64_MAX};
    char name[RUNG_NAME_MAX];
    rung_slice season = {NULL, 0};
    if (kind == RUNG_WINDOW_SEASON) {
        season = rung_slice_of(name, rung__in_count(&l->in, sizeof name));
        rung__in_bytes(&l->in, name, season.len);
    } else if (kind) {
        span.ordinal = rung__in_signed(&l->in);
    }
    if (kind) {
        span.start_ms = load_time(l);
        span.end_ms = load_time(l);
    }
    if (head >> 5 || kind > RUNG_WINDOW_SEASON || (dropped && !closed) || (closed && kind == 0) ||
        !rung__window_is_valid(b->def, kind, &span, season) ||
        (b->def->sketch && !dropped && !rung__sketch_has_room(b, 1)) ||
        rung__window_find(b, kind, span.ordinal, season))
        damaged(l, "a window is not valid");
    if (!is_fine(l) || !went_well(l, rung__window_list_reserve(l->s, b, 1)))
        return;
    rung__window *w = rung__window_new(l->s, b, kind, &span, season);
    if (!has_memory(l, w))
        return;
    w->closed = closed;
    w->dropped = dropped;
    if (dropped)
        rung__window_forget_rankings(l->s, b, w);
    rung__window_list_add(l->s, b, w);
    if (w->sketch)
        load_sketches(l, b, w);
    else if (!dropped)
        load_standings(l, b, w);
}

/* ---- boards ---- */

static void load_def(loader *l, rung__board *b) {
    size_t len = rung__in_count(&l->in, RUNG_BOARD_DEF_BYTES_MAX);
    char *bytes = load_block(l, len);
    if (!bytes) {
        damaged(l, "a board has no definition");
        return;
    }
    rung_status st = rung__def_use(l->s, bytes, len, &b->shared, NULL);
    if (st == RUNG_OK)
        b->def = &b->shared->def;
    if (st < 0)
        rung__in_fail(&l->in, st == RUNG_EVERSION || st == RUNG_ENOMEM ? st : RUNG_ECORRUPT,
                      "a board's definition is not valid");
}

static void load_zone(loader *l, rung_slice packed, rung_zone **zone) {
    rung_status st = packed.len ? rung_zone_unpack(l->s->alloc, packed, zone, NULL) : RUNG_OK;
    if (st < 0)
        rung__in_fail(&l->in, st == RUNG_ENOMEM ? st : RUNG_ECORRUPT,
                      "the rules of a time zone are not valid");
}

/* The newest rule has the definition's zone and day start; older rules have their own. */
static void load_rule_zone(loader *l, const rung__board *b, rung__rule *rule, bool is_newest) {
    if (is_newest) {
        rule->day_starts_min = b->def->day_starts_min;
        load_zone(l, b->def->zone_rules, &rule->zone);
        return;
    }
    size_t len = rung__in_count(&l->in, RUNG_ZONE_PACKED_MAX);
    char *packed = load_block(l, len);
    if (packed)
        load_zone(l, rung_slice_of(packed, len), &rule->zone);
    rung_alloc_free(l->s->alloc, packed, packed ? len : 0);
    rule->day_starts_min = (int32_t)rung__in_count(&l->in, RUNG_DAY_STARTS_MAX);
}

static void load_rule(loader *l, rung__board *b, uint32_t count) {
    rung__rule *rules = rung_alloc_resize(l->s->alloc, b->rules, b->rule_count * sizeof *rules,
                                          (b->rule_count + 1) * sizeof *rules);
    if (!has_memory(l, rules))
        return;
    b->rules = rules;
    rung__rule *rule = &rules[b->rule_count++];
    memset(rule, 0, sizeof *rule);
    load_rule_zone(l, b, rule, b->rule_count == count);
    for (uint32_t kind = 0; kind < RUNG__KINDS; kind++) {
        bool is_calendar =
            kind >= RUNG_WINDOW_HOUR && kind <= RUNG_WINDOW_YEAR && b->rule_count > 1;
        rule->from_ms[kind] = is_calendar ? load_time(l) : INT64_MIN;
        rule->before[kind] = is_calendar ? rung__in_signed(&l->in) : INT64_MIN;
    }
}

/* Every attribute that the board ranks by was saved before. */
static void load_slots(loader *l, rung__board *b) {
    uint32_t number;
    bool is_there = true;
    for (uint32_t i = 0; i < b->def->scope_count; i++)
        is_there &= rung_names_find(l->s->attribute_ids, b->def->scopes[i], &number) == RUNG_OK;
    if (b->def->has_teams)
        is_there &= rung_names_find(l->s->attribute_ids, b->def->team_by, &number) == RUNG_OK;
    if (is_there)
        went_well(l, rung__board_use_slots(l->s, b));
    else
        damaged(l, "an attribute that a board ranks by is missing");
}

static void load_rates(loader *l, rung__board *b) {
    b->rate_minute = load_time_or(l, INT64_MIN);
    for (uint32_t player = RUNG__NONE; load_player(l, &player);) {
        uint32_t count = rung__in_count(&l->in, RUNG_NUMBER_NONE - 1);
        if (!is_fine(l) || !went_well(l, rung_numbermap_add(&b->rate, l->s->alloc, player, count)))
            return;
        rung__digest_add(&b->rate_digest, rung__rate_digest(b, player, count));
    }
}

static double load_real(loader *l) {
    uint64_t bits = rung__in_word(&l->in);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool is_within(double x, double least, double most) {
    return x >= least && x <= most;
}

/* `side`: of the result before; its own must follow. */
static void load_result(loader *l, const rung__board *b, rung__result *r, uint32_t *side) {
    uint64_t player = rung__in_number(&l->in);
    uint32_t head = rung__in_count(&l->in, RUNG_MATCH_PLAYERS_MAX << 1 | 1);
    *r = (rung__result){.player = RUNG_PLAYER_NONE, .side = (uint16_t)(head >> 1)};
    r->was_new = head & 1;
    int64_t place = rung__in_signed(&l->in);
    r->place = (int32_t)place;
    r->rank = rung__in_count(&l->in, UINT32_MAX);
    r->expected = load_real(l);
    r->weight = load_real(l);
    r->played = load_real(l);
    r->rating_before = load_real(l);
    r->rating = load_real(l);
    r->deviation = load_real(l);
    r->score_before = rung__in_signed(&l->in);
    r->score = rung__in_signed(&l->in);
    if (!is_fine(l))
        return;
    if (player > RUNG_PLAYER_NONE || place != r->place ||
        (r->side != *side && r->side != *side + 1) || !is_within(r->expected, 0, 1) ||
        !is_within(r->weight, 0.01, 100) || !is_within(r->played, 0.001, 1) ||
        !is_within(r->rating_before, -RUNG_RATING_MAX, RUNG_RATING_MAX) ||
        !is_within(r->rating, -RUNG_RATING_MAX, RUNG_RATING_MAX) ||
        !is_within(r->deviation, 0, RUNG_RATING_MAX))
        damaged(l, "a result of a match is not valid");
    *side = r->side;
    if (player && !rung__rated_find(b, (uint32_t)(player - 1)))
        damaged(l, "a result of a match is of nobody");
    if (player)
        r->player = (uint32_t)(player - 1);
}

static void load_match(loader *l, rung__board *b, uint64_t *seq) {
    rung__kept_match m = {.seq = rung__in_number(&l->in)};
    rung__result results[RUNG_MATCH_PLAYERS_MAX];
    m.at_ms = load_time(l);
    m.ts_ms = load_time(l);
    m.id_len = (uint8_t)rung__in_count(&l->in, RUNG_EVENT_ID_MAX);
    rung__in_bytes(&l->in, m.id, m.id_len);
    m.players = (uint16_t)rung__in_count(&l->in, RUNG_MATCH_PLAYERS_MAX);
    uint32_t side = UINT32_MAX; /* the first is 0 */
    for (uint32_t i = 0; i < m.players && is_fine(l); i++)
        load_result(l, b, &results[i], &side);
    if (!is_fine(l))
        return;
    if (m.players < 2 || side == 0 || !rung_utf8_is_plain(rung_slice_of(m.id, m.id_len)) ||
        m.seq <= *seq || m.seq > l->s->seq ||
        m.players > b->def->rating.results_kept - (b->kept.result_end - b->kept.result_first)) {
        damaged(l, "a match is not valid");
        return;
    }
    *seq = m.seq;
    m.sides = (uint16_t)(side + 1);
    if (went_well(l, rung__kept_reserve(l->s, b, m.players)))
        rung__kept_append(l->s, b, &m, results);
}

static void load_kept(loader *l, rung__board *b) {
    uint64_t seq = 0;
    for (uint32_t n = rung__in_count(&l->in, RUNG_RESULTS_KEPT_MAX); n && is_fine(l); n--)
        load_match(l, b, &seq);
    uint64_t removed[RUNG_MATCHES_REMOVED_MAX], before = 0;
    uint32_t count = rung__in_count(&l->in, RUNG_MATCHES_REMOVED_MAX);
    for (uint32_t i = 0; i < count && is_fine(l); i++) {
        removed[i] = rung__in_number(&l->in);
        if (removed[i] <= before)
            damaged(l, "removed matches are out of order");
        before = removed[i];
    }
    if (is_fine(l))
        went_well(l, rung__removed_set(l->s, b, removed, count));
}

static void load_ratings(loader *l, rung__board *b) {
    for (uint32_t player = RUNG__NONE; load_player(l, &player);) {
        rung_rating_card c = {0};
        c.rating.rating = load_real(l);
        c.rating.deviation = load_real(l);
        c.rating.volatility = load_real(l);
        c.rating.at_ms = rung__in_signed(&l->in);
        c.rating.games = rung__in_count(&l->in, UINT32_MAX);
        c.wins = rung__in_count(&l->in, UINT32_MAX);
        c.draws = rung__in_count(&l->in, UINT32_MAX);
        c.losses = rung__in_count(&l->in, UINT32_MAX);
        int64_t streak = rung__in_signed(&l->in);
        c.streak = (int32_t)streak;
        if (is_fine(l) && (streak != c.streak || !rung__rated_is_valid(b->def, &c)))
            damaged(l, "a rating is not valid");
        if (!is_fine(l) || !went_well(l, rung__rated_add(l->s, b, player, &c)))
            return;
    }
    load_kept(l, b);
}

static void load_forms(loader *l, rung__board *b) {
    for (uint32_t player = RUNG__NONE; load_player(l, &player);) {
        rung__form f = {.player = player};
        f.count = rung__in_count(&l->in, UINT32_MAX);
        f.last_ms = rung__in_signed(&l->in);
        f.last.i = rung__in_signed(&l->in);
        f.mean = load_real(l);
        f.deviation = load_real(l);
        f.period_ms = rung__in_signed(&l->in);
        f.in_period = rung__in_count(&l->in, UINT32_MAX);
        if (is_fine(l) && !rung__form_is_valid(b, &f))
            damaged(l, "what rules know of a player is not valid");
        if (!is_fine(l) || !went_well(l, rung__form_add(l->s, b, &f)))
            return;
    }
}

static void load_serial(loader *l, uint64_t *serial) {
    const uint64_t event_mask = (UINT64_C(1) << RUNG__SERIAL_SEQ_BITS) - 1;
    uint8_t bytes[8];
    uint32_t number;
    *serial = rung__in_number(&l->in);
    rung_put64(bytes, *serial);
    if ((*serial & event_mask) > l->s->seq)
        damaged(l, "a board was created by an event that has not happened");
    else if (went_well(
                 l, rung_names_intern(l->serials, rung_slice_of(bytes, sizeof bytes), &number)) &&
             number + 1 != rung_names_count(l->serials))
        damaged(l, "two boards have the same serial");
}

static void load_board(loader *l, rung__board *b) {
    load_serial(l, &b->serial);
    b->created_ms = load_time(l);
    b->over_ms = load_time_or(l, INT64_MIN);
    b->ids.horizon_ms = l->version < 3 ? INT64_MIN : load_time_or(l, INT64_MIN);
    load_def(l, b);
    if (!is_fine(l))
        return;
    uint32_t rules = rung__in_count(&l->in, RUNG__RULES_MAX);
    if (!rules)
        damaged(l, "a board has no rules");
    while (b->rule_count < rules && is_fine(l))
        load_rule(l, b, rules);
    if (is_fine(l))
        load_slots(l, b);
    load_rates(l, b);
    if (is_fine(l) && rung_update_is_rating(b->def->update))
        load_ratings(l, b);
    if (is_fine(l) && rung_board_needs_form(b->def))
        load_forms(l, b);
    uint32_t windows = rung__in_count(&l->in, RUNG__WINDOWS_ALL_MAX);
    while (b->window_count < windows && is_fine(l))
        load_window(l, b);
    if (is_fine(l))
        rung__season_reset_note(l->s, b);
}

/* ---- sets ---- */

static void load_members(loader *l, rung__set *set) {
    for (uint32_t player = RUNG__NONE; load_player(l, &player);)
        if (!went_well(l, rung__set_add(l->s, set, player)))
            return;
    if (!set->count)
        damaged(l, "a set is empty");
}

static void load_set(loader *l, uint32_t number) {
    rung_state *s = l->s;
    if (!went_well(l, rung__grow(s->alloc, &s->sets, &s->set_cap, number + 1, sizeof *s->sets)))
        return;
    rung__set *set = rung_alloc_zeroed(s->alloc, sizeof *set);
    if (!has_memory(l, set))
        return;
    s->sets[number] = set;
    s->set_count++;
    set->number = number;
    set->version = s->seq;
    load_serial(l, &set->serial);
    load_members(l, set);
}

/* What stands before a key since version 2. */
typedef struct key_head {
    bool is_key, ends, is_set;
    int64_t at_ms;
    uint64_t id_serial; /* 0: its own */
} key_head;

static key_head load_key_head(loader *l) {
    key_head h = {0};
    if (l->version < 2)
        return h;
    uint8_t bits = rung__in_byte(&l->in);
    h.is_key = bits & 1;
    h.ends = bits >> 1 & 1;
    h.is_set = bits >> 2 & 1;
    if (h.ends)
        h.at_ms = rung__in_signed(&l->in);
    if (bits >> 3 & 1) {
        h.id_serial = rung__in_number(&l->in);
        if (l->version < 5 || h.is_set || !h.id_serial)
            damaged(l, "a board's ids are of no board");
    }
    if (bits > 15 || (h.is_set && h.is_key) || (h.ends && h.at_ms <= l->s->time_ms))
        damaged(l, "a key is not valid");
    return h;
}

/* A board created by a Redis command must have exactly the definition that commands give it. */
static bool key_board_is_valid(const rung__board *b) {
    const rung_board_def *def = b->def;
    if (def->sketch)
        return def->windows == RUNG_WINDOWS_ALL && def->season_count == 0 && b->scope_count == 0 &&
               b->window_count <= 1;
    return def->key.column_count == 1 && def->key.columns[0].type == RUNG_SCORE_REAL &&
           def->key.columns[0].order == RUNG_ORDER_DESC && def->key.tie == RUNG_TIE_PLAYER_LAST &&
           def->update == RUNG_UPDATE_LAST && def->windows == RUNG_WINDOWS_ALL &&
           def->season_count == 0 && b->scope_count == 0 && b->window_count <= 1;
}

static void load_expiry(loader *l, uint32_t number, const key_head *h) {
    if (h->ends && is_fine(l) && went_well(l, rung__expiry_reserve(l->s)))
        rung__expiry_set(l->s, number, h->at_ms);
}

static void load_boards(loader *l) {
    rung_state *s = l->s;
    load_names(l, s->board_ids);
    uint32_t span = rung_names_span(s->board_ids);
    if (!is_fine(l) ||
        !went_well(l, rung__grow(s->alloc, &s->boards, &s->board_cap, span, sizeof *s->boards)))
        return;
    for (uint32_t i = 0; i < span && is_fine(l); i++) {
        if (!rung_names_is_used(s->board_ids, i))
            continue;
        key_head head = load_key_head(l);
        if (head.is_set) {
            load_set(l, i);
            load_expiry(l, i, &head);
            continue;
        }
        s->boards[i] = rung_alloc_zeroed(s->alloc, sizeof *s->boards[i]);
        if (!has_memory(l, s->boards[i]))
            return;
        s->boards[i]->number = i;
        s->boards[i]->version = s->seq;
        s->boards[i]->is_key = head.is_key;
        load_board(l, s->boards[i]);
        s->boards[i]->id_serial = head.id_serial ? head.id_serial : s->boards[i]->serial;
        if (is_fine(l) && head.is_key && !key_board_is_valid(s->boards[i]))
            damaged(l, "a key's board is not valid");
        load_expiry(l, i, &head);
    }
}

/* ---- bans ---- */

/* Does the board rank by the attribute of scope `i`, and is it named once? */
static bool is_own_scope(const rung__board *b, const rung__stashed *e, uint32_t i) {
    bool is_own = false;
    for (uint32_t k = 0; k < b->scope_count; k++)
        is_own = is_own || b->attribute[k] == e->attributes[i];
    for (uint32_t k = 0; k < i; k++)
        is_own = is_own && e->attributes[k] != e->attributes[i];
    return is_own;
}

static void load_stashed_scopes(loader *l, const rung__board *b, rung__stashed *e) {
    const rung_state *s = l->s;
    e->scope_count = rung__in_byte(&l->in);
    if (e->scope_count > RUNG__SCOPE_SLOTS) {
        e->scope_count = 0;
        damaged(l, "an entry was in too many scopes");
    }
    for (uint32_t i = 0; i < e->scope_count; i++) {
        e->attributes[i] = rung__in_count(&l->in, RUNG__NONE) - 1;
        e->values[i] = RUNG__NONE;
        if (e->attributes[i] == RUNG__NONE)
            continue;
        e->values[i] = rung__in_count(&l->in, RUNG__NONE) - 1;
        if (!is_own_scope(b, e, i) ||
            (e->values[i] != RUNG__NONE &&
             !rung_names_is_used(s->attributes[e->attributes[i]].values, e->values[i])))
            damaged(l, "an entry was in a scope that does not exist");
    }
}

/* One entry that a ban holds; `after` is the previous one: board and window ascend. */
static void load_stashed(loader *l, rung__stashed *e, uint32_t after[2]) {
    const rung_state *s = l->s;
    uint32_t board = rung__in_count(&l->in, RUNG__NONE - 1),
             window = rung__in_count(&l->in, RUNG__WINDOWS_ALL_MAX);
    rung__board *b = board < s->board_cap ? s->boards[board] : NULL;
    if (!b || window >= b->window_count || !b->windows[window]->ladder ||
        (after[0] != RUNG__NONE &&
         (board < after[0] || (board == after[0] && window <= after[1])))) {
        damaged(l, "a banned player's entry is of no window");
        return;
    }
    after[0] = board;
    after[1] = window;
    b->has_stash = true;
    e->board_serial = b->serial;
    e->window_tag = b->windows[window]->tag;
    for (uint32_t k = 0; k < rung_keyspec_words(&b->def->key); k++)
        e->key[k] = rung__in_number(&l->in);
    if (!rung__key_is_valid(b->def, e->key))
        damaged(l, "a banned player's key is not valid");
    load_stashed_scopes(l, b, e);
}

/* Nobody is banned and ranked at the same time. */
static void check_unranked(loader *l, uint32_t player) {
    rung__board *b;
    uint32_t i = 0, k = 0;
    for (const rung__window *w; (w = rung__next_window(l->s, &i, &k, &b));)
        if (w->ladder && rung_ladder_find(w->ladder, player, NULL) == RUNG_OK)
            damaged(l, "a banned player is ranked");
}

static void load_ban(loader *l, uint32_t player, uint32_t windows) {
    uint32_t count = rung__in_count(&l->in, windows), after[2] = {RUNG__NONE, 0}; /* S2 */
    size_t bytes = sizeof(rung__ban) + count * sizeof(rung__stashed);
    rung__ban *ban = is_fine(l) ? rung_alloc_zeroed(l->s->alloc, bytes) : NULL;
    if (!has_memory(l, ban))
        return;
    ban->cap = count;
    for (; ban->count < count && is_fine(l); ban->count++)
        load_stashed(l, &ban->entries[ban->count], after);
    check_unranked(l, player);
    if (!is_fine(l) || !went_well(l, rung__sparse_put(&l->s->bans, l->s->alloc, player, ban)))
        rung_alloc_free(l->s->alloc, ban, bytes);
}

static void load_bans(loader *l) {
    uint32_t windows = 0;
    for (uint32_t i = 0; i < l->s->board_cap; i++)
        windows += l->s->boards[i] ? l->s->boards[i]->window_count : 0;
    for (uint32_t player = RUNG__NONE; load_player(l, &player);)
        load_ban(l, player, windows);
}

/* ---- ids ---- */

static void load_id(loader *l) {
    char key[8 + RUNG_EVENT_ID_MAX];
    size_t len = rung__in_count(&l->in, sizeof key);
    rung__in_bytes(&l->in, key, len);
    rung__id_record r = {.next_player = RUNG__NONE};
    r.body = rung__in_word(&l->in);
    r.effective_ms = load_time(l);
    uint8_t head = rung__in_byte(&l->in);
    r.changed = head & 1;
    r.has_next = head >> 1 & 1;
    r.value_count = head >> 2 & 3;
    r.tentative = head >> 4 & 1;
    r.seq = rung__in_number(&l->in);
    r.rank_before = rung__in_count(&l->in, UINT32_MAX);
    r.rank = rung__in_count(&l->in, UINT32_MAX);
    r.total = rung__in_count(&l->in, UINT32_MAX);
    r.passed = rung__in_count(&l->in, UINT32_MAX);
    uint64_t percentile = rung__in_word(&l->in);
    memcpy(&r.percentile, &percentile, sizeof percentile);
    for (uint32_t i = 0; i < r.value_count && i < RUNG_COLUMNS_MAX; i++)
        r.values[i].i = rung__in_signed(&l->in);
    if (r.has_next) {
        r.next_player = rung__in_count(&l->in, RUNG__NONE) - 1;
        r.gap.i = rung__in_signed(&l->in);
    }
    if (len <= 8 || r.value_count > RUNG_COLUMNS_MAX || head >> (l->version < 5 ? 4 : 5) ||
        (r.next_player != RUNG__NONE && !rung_names_is_used(l->s->players, r.next_player)))
        damaged(l, "a remembered id is not valid");
    if (!is_fine(l))
        return;
    rung_status st = rung__ids_restore(l->s, rung_slice_of(key, len), &r);
    if (st == RUNG_UNCHANGED)
        damaged(l, "an id is remembered twice");
    else
        went_well(l, st);
}

static void load_ids(loader *l) {
    for (uint32_t left = rung__in_count(&l->in, UINT32_MAX); left && is_fine(l); left--) {
        load_id(l);
        rung__meter_add(&l->in.meter, 1);
    }
    if (!is_fine(l) || l->s->rules < 1)
        return;
    size_t count = rung__ids_count(l->s);
    if (went_well(l, rung__ids_share_out(l->s)) && rung__ids_count(l->s) != count)
        damaged(l, "an id is of no board");
}

/* ---- sources ---- */

static void load_source(loader *l, uint32_t number) {
    rung__source source = {.next = rung__in_number(&l->in)};
    for (uint32_t k = 0; k < RUNG__SOURCE_WORDS; k++)
        source.seen[k] = rung__in_word(&l->in);
    if (is_fine(l) && !rung__source_is_valid(&source))
        damaged(l, "a source's record is not valid");
    if (is_fine(l))
        went_well(l, rung__source_restore(l->s, number, &source));
}

static void load_sources(loader *l) {
    rung_names *names = l->s->sources.names;
    if (l->version < 4)
        return;
    load_names(l, names);
    for (uint32_t i = 0; i < rung_names_span(names) && is_fine(l); i++)
        if (rung_names_is_used(names, i))
            load_source(l, i);
}

/* ---- shadows ---- */

/* Every event in a queue is one that apply would have put there. */
static bool queue_is_valid(rung__shadow *sh) {
    rung_byte_reader r = rung_byte_reader_of(rung_slice_of(sh->queue, sh->queued));
    rung_slice bytes;
    while (rung__queue_next(&r, &bytes)) {
        rung_event e;
        if (rung_event_decode(bytes, &e, NULL) < 0 ||
            (e.kind != RUNG_EVENT_SCORE && e.kind != RUNG_EVENT_MATCH &&
             e.kind != RUNG_EVENT_ENTRY_REMOVED))
            return false;
        sh->queue_hash = rung__queue_hash(sh->queue_hash, (const uint8_t *)bytes.ptr, bytes.len);
    }
    return !r.fault;
}

static rung__board *load_board_number(loader *l) {
    uint32_t number = rung__in_count(&l->in, RUNG__NONE - 1);
    rung__board *b = is_fine(l) && number < l->s->board_cap ? l->s->boards[number] : NULL;
    if (!b)
        damaged(l, "a shadow is of no board");
    return b;
}

static void load_shadow(loader *l) {
    rung__board *b = load_board_number(l), *hidden = load_board_number(l);
    uint64_t job = rung__in_number(&l->in);
    uint8_t head = rung__in_byte(&l->in);
    uint32_t parts = rung__in_count(&l->in, UINT32_MAX);
    uint32_t queued = rung__in_count(&l->in, RUNG_SHADOW_QUEUE_MAX);
    if (!is_fine(l))
        return;
    if (b == hidden || b->is_key || hidden->is_key || b->shadow || b->twin || hidden->shadow ||
        hidden->twin || !job || head > 7 || (head & 3) > RUNG_SHADOW_READY ||
        (queued && (head & 3) != RUNG_SHADOW_QUEUEING) || hidden->expiry.place) {
        damaged(l, "a shadow is not valid");
        return;
    }
    if (!went_well(l, rung__shadow_attach(l->s, b, hidden, job)))
        return;
    b->shadow->phase = (rung_shadow_phase)(head & 3);
    b->shadow->was_live = head >> 2;
    b->shadow->parts = parts;
    b->shadow->queue = (uint8_t *)load_block(l, queued);
    b->shadow->queued = b->shadow->queue_cap = b->shadow->queue ? queued : 0;
    if (is_fine(l) && !queue_is_valid(b->shadow))
        damaged(l, "a shadow's queue is not valid");
}

static void load_shadows(loader *l) {
    uint32_t count = l->version < 5 ? 0 : rung__in_count(&l->in, RUNG_SHADOWS_MAX);
    while (count-- && is_fine(l))
        load_shadow(l);
    for (uint32_t i = 0; i < l->s->board_cap && is_fine(l); i++)
        if (l->s->boards[i] && rung__is_hidden_name(rung_names_id(l->s->board_ids, i)) !=
                                   (l->s->boards[i]->twin != NULL))
            damaged(l, "a hidden board is no shadow, or the reverse");
}

/* ---- sessions ---- */

static rung_slice load_short(loader *l, char *room, size_t most) {
    uint32_t len = rung__in_count(&l->in, (uint32_t)most);
    rung__in_bytes(&l->in, room, len);
    return rung_slice_of(room, is_fine(l) ? len : 0);
}

static void load_session(loader *l, uint32_t number) {
    char player[RUNG_NAME_MAX], key[RUNG_SESSION_KEY_MAX];
    rung__session x = {0};
    rung_slice owner = load_short(l, player, sizeof player);
    rung_slice key_id = load_short(l, key, sizeof key);
    x.opened = rung__in_number(&l->in);
    x.expires_ms = rung__in_signed(&l->in);
    x.window_ms = rung__in_signed(&l->in);
    x.nonce_count = rung__in_count(&l->in, RUNG_SESSION_NONCES);
    for (uint32_t i = 0; i < x.nonce_count && is_fine(l); i++)
        x.nonces[i] = rung__in_number(&l->in);
    if (is_fine(l))
        went_well(l, rung__session_restore(l->s, number, owner, key_id, &x));
}

static void load_sessions(loader *l) {
    rung_names *ids = l->s->sessions.ids;
    if (l->version < 5)
        return;
    load_names(l, ids);
    for (uint32_t i = 0; i < rung_names_span(ids) && is_fine(l); i++)
        if (rung_names_is_used(ids, i))
            load_session(l, i);
}

/* ---- reviews, and bans with an end ---- */

static bool type_is_valid(uint8_t byte) {
    unsigned type = byte & 15, decimals = byte >> 4;
    return type <= RUNG_SCORE_REAL &&
           decimals <= (type == RUNG_SCORE_DECIMAL ? RUNG_DECIMALS_MAX : 0);
}

static bool review_is_valid(const loader *l, const rung__review *r) {
    const rung_state *s = l->s;
    const rung__board *b = r->board < s->board_cap ? s->boards[r->board] : NULL;
    if (!b || b->twin || !rung_names_is_used(s->players, r->player) || r->finding_count < 1 ||
        r->at_ms < RUNG_TIME_MS_MIN || r->at_ms >= RUNG_TIME_MS_END || r->ts_ms > s->time_ms)
        return false;
    for (uint32_t i = 0; i < r->value_count; i++)
        if (!type_is_valid((uint8_t)(r->types[i] | r->decimals[i] << 4)) ||
            (r->types[i] == RUNG_SCORE_REAL && isnan(r->values[i].d)))
            return false;
    return type_is_valid((uint8_t)(r->score_type | r->score_decimals << 4));
}

static void load_review_values(loader *l, rung__review *r) {
    uint8_t head = rung__in_byte(&l->in), score = rung__in_byte(&l->in);
    r->value_count = head & 3;
    r->is_delta = head >> 2 & 1;
    r->outcome = head >> 3;
    r->score_type = score & 15;
    r->score_decimals = score >> 4;
    if (r->outcome > RUNG_VERDICT_PROMOTE)
        damaged(l, "the outcome of a review is not known");
    for (uint32_t i = 0; i < r->value_count; i++) {
        uint8_t type = rung__in_byte(&l->in);
        r->types[i] = type & 15;
        r->decimals[i] = type >> 4;
        r->values[i].i = rung__in_signed(&l->in);
    }
}

static void load_review(loader *l) {
    rung_finding findings[RUNG_FINDINGS_MAX] = {{0}};
    rung__review r = {.id = rung__in_number(&l->in)};
    r.board = rung__in_count(&l->in, UINT32_MAX - 1);
    r.player = rung__in_count(&l->in, UINT32_MAX - 1);
    r.ts_ms = load_time(l);
    r.at_ms = load_time(l);
    r.expires_ms = load_time(l);
    load_review_values(l, &r);
    r.finding_count = rung__in_count(&l->in, RUNG_FINDINGS_MAX);
    for (uint32_t i = 0; i < r.finding_count; i++) {
        rung_finding *f = &findings[i];
        f->rule = rung__in_byte(&l->in);
        f->action = rung__in_byte(&l->in);
        f->value.i = rung__in_signed(&l->in);
        f->limit.i = rung__in_signed(&l->in);
        if (f->rule >= RUNG_RULE_COUNT || f->action < RUNG_ACTION_FLAG ||
            f->action > RUNG_ACTION_REVIEW)
            damaged(l, "a review's rule is not known");
    }
    if (is_fine(l) && (!review_is_valid(l, &r) || rung__reviews_admit(l->s, r.player, NULL) < 0))
        damaged(l, "a review is not valid");
    if (is_fine(l))
        went_well(l, rung__review_restore(l->s, &r, findings));
}

static void load_reviews(loader *l) {
    uint32_t count = l->version < 5 ? 0 : rung__in_count(&l->in, RUNG_REVIEWS_MAX);
    while (count-- && is_fine(l))
        load_review(l);
}

static void load_ban_ends(loader *l) {
    if (l->version < 5)
        return;
    for (uint32_t player = RUNG__NONE; load_player(l, &player);) {
        rung__ban *ban = rung__sparse_get(&l->s->bans, player);
        int64_t until_ms = load_time(l);
        uint8_t is_shadow = rung__in_byte(&l->in);
        if (!ban || until_ms < RUNG_TIME_MS_MIN || until_ms >= RUNG_TIME_MS_END || is_shadow > 1 ||
            (!until_ms && !is_shadow)) {
            damaged(l, "the end of a ban is not valid");
            return;
        }
        rung__ban_set_end(l->s, ban, until_ms);
        rung__ban_set_shadow(l->s, ban, is_shadow);
    }
}

/* ---- editions ---- */

static rung__edition *load_edition_bytes(loader *l, rung__edition head) {
    head.size = rung__in_count(&l->in, UINT32_MAX);
    head.season_len = is_fine(l) && head.season_len <= head.size ? head.season_len : 0;
    size_t block = sizeof head + head.size,
           most = (size_t)RUNG_SNAPSHOT_TOP_MAX *
                      (5 + 8 * RUNG_LADDER_WORDS_MAX + RUNG_EDITION_NAME_MAX) +
                  RUNG_NAME_MAX;
    if (head.size > most)
        damaged(l, "a timed snapshot is too large");
    rung__edition *e = is_fine(l) ? rung_alloc_get(l->s->alloc, block) : NULL;
    if (!has_memory(l, e))
        return NULL;
    *e = head;
    rung__in_bytes(&l->in, e->bytes, e->size);
    return e;
}

static void load_edition(loader *l, rung__board *b) {
    rung__edition head = {.version = rung__in_number(&l->in), .at_ms = load_time(l)};
    uint8_t kinds = rung__in_byte(&l->in);
    head.kind = kinds & 7;
    head.rank = kinds >> 3;
    head.season_len = rung__in_count(&l->in, RUNG_NAME_MAX);
    head.start_ms = INT64_MIN;
    head.end_ms = INT64_MAX;
    if (head.kind) {
        head.ordinal = rung__in_signed(&l->in);
        head.start_ms = load_time(l);
        head.end_ms = load_time(l);
    }
    head.entries.a = rung__in_word(&l->in);
    head.entries.b = rung__in_word(&l->in);
    head.total = rung__in_count(&l->in, UINT32_MAX);
    head.count = rung__in_count(&l->in, RUNG_SNAPSHOT_TOP_MAX);
    rung__edition *e = load_edition_bytes(l, head);
    if (!e)
        return;
    rung_status st = is_fine(l) ? rung__edition_restore(l->s, b, e) : RUNG_EINVAL;
    if (st == RUNG_OK)
        return;
    rung_alloc_free(l->s->alloc, e, sizeof *e + e->size);
    went_well(l, st);
}

static void begin_editions(loader *l) {
    for (uint32_t i = 0; i < l->s->board_cap && is_fine(l); i++) {
        rung__board *b = l->s->boards[i];
        if (b && b->def->snapshot_every_ms && !b->twin)
            went_well(l, rung__editions_begin(l->s, b));
    }
}

static void load_editions(loader *l) {
    rung_state *s = l->s;
    begin_editions(l);
    for (uint32_t number, after = 0; l->version >= 6 && is_fine(l); after = number) {
        number = rung__in_count(&l->in, RUNG__NONE - 1);
        if (!number)
            break;
        rung__board *b = number > after && number <= s->board_cap ? s->boards[number - 1] : NULL;
        uint32_t count = rung__in_count(&l->in, UINT32_MAX);
        if (!b || !b->editions || !count) {
            damaged(l, "timed snapshots are of no board that has them");
            return;
        }
        while (count-- && is_fine(l))
            load_edition(l, b);
    }
    if (is_fine(l))
        rung__editions_restored(s);
}

/* ---- all ---- */

static void load_head(loader *l, const rung_state_config *config) {
    rung_state *s = l->s;
    char magic[sizeof RUNG__STREAM_MAGIC - 1];
    rung__in_bytes(&l->in, magic, sizeof magic);
    if (memcmp(magic, RUNG__STREAM_MAGIC, sizeof magic) != 0)
        damaged(l, "it is not a saved state");
    l->version = rung__in_number(&l->in);
    if (l->version < 1 || l->version > RUNG_STATE_FORMAT)
        rung__in_fail(&l->in, RUNG_EVERSION, "its format is not known to this version");
    l->in.meter.total = rung__in_number(&l->in);
    uint32_t capacity = rung__in_count(&l->in, UINT32_MAX);
    int64_t keep_ms = load_time(l);
    if (!capacity || keep_ms <= 0)
        damaged(l, "ids are remembered for no time");
    s->ids.capacity = config->id_capacity ? config->id_capacity : capacity;
    s->ids.keep_ms = config->id_keep_ms ? config->id_keep_ms : keep_ms;
    s->seq = rung__in_number(&l->in);
    s->refused = rung__in_number(&l->in);
    s->time_ms = load_time_or(l, INT64_MIN);
    s->ids.horizon_ms = load_time_or(l, INT64_MIN);
    s->rules = l->version < 3 ? 0 : rung__in_count(&l->in, UINT32_MAX);
    uint8_t access = l->version < 3 ? 0 : rung__in_byte(&l->in);
    s->has_keys = access;
    if (access > 1)
        damaged(l, "the flag for keys is not a boolean");
    if (is_fine(l) && s->rules > RUNG_RULES_LEVEL)
        rung__in_fail(&l->in, RUNG_EVERSION, "its level of rules is not known to this version");
}

/* S4. Recompute even the facts that were added up on the way, so that one rule covers all of them. */
static void check_digest(loader *l, bool any_digest) {
    rung_state *s = l->s;
    for (uint32_t i = 0; i < s->board_cap; i++)
        if (s->boards[i])
            rung__board_renew_digests(s->boards[i]);
    s->digest = rung__facts_digest(s);
    rung_digest found = rung_state_digest(s);
    uint64_t a = rung__in_word(&l->in), b = rung__in_word(&l->in);
    if (!any_digest && (found.a != a || found.b != b))
        damaged(l, "the digest is another one");
}

static void load_state(loader *l, const rung_state_config *config, bool any_digest) {
    load_head(l, config);
    load_people(l);
    load_attributes(l);
    load_boards(l);
    release_attributes(l);
    load_bans(l);
    load_ids(l);
    load_sources(l);
    load_shadows(l);
    load_sessions(l);
    load_reviews(l);
    load_ban_ends(l);
    load_editions(l);
    end_players_index(l);
    if (is_fine(l))
        check_digest(l, any_digest);
    rung__in_finish(&l->in);
}

static rung_status explain(const loader *l, rung_err *err) {
    const rung__in *in = &l->in;
    if (in->st == RUNG_ENOMEM)
        return RUNG_FAIL(err, in->st, "out of memory");
    if (in->st == RUNG_ELIMIT)
        return RUNG_FAIL(err, in->st, "saved state: it holds more than is configured");
    if (!in->fault)
        return RUNG_FAIL(err, in->st, "saved state: %s", rung_status_text(in->st));
    return RUNG_FAIL(err, in->st, "saved state, before byte %llu: %s",
                     (unsigned long long)rung__in_offset(in), in->fault);
}

rung_status rung__state_load(const rung_state_config *config, rung_load_source source, void *ctx,
                             const rung_save_progress *progress, const rung_load_helper *helper,
                             bool any_digest, rung_state **out, rung_err *err) {
    loader l = {
        .in = {.source = source, .ctx = ctx, .st = RUNG_OK, .meter = {.progress = progress}},
        .helper = helper};
    rung_status st = rung_state_create(config, &l.s);
    if (st >= 0)
        st = rung_names_create(config->alloc, &config->hash_key, &l.serials);
    if (st >= 0) {
        load_state(&l, config, any_digest);
        st = l.in.st;
    }
    rung_names_destroy(l.serials);
    if (st < 0) {
        rung_state_destroy(l.s);
        return l.in.st < 0 ? explain(&l, err) : RUNG_FAIL(err, st, "out of memory");
    }
    if (progress)
        progress->tell(progress->ctx, l.in.meter.total, l.in.meter.total);
    *out = l.s;
    return RUNG_OK;
}

rung_status rung_state_load(const rung_state_config *config, rung_load_source source, void *ctx,
                            const rung_save_progress *progress, const rung_load_helper *helper,
                            rung_state **out, rung_err *err) {
    return rung__state_load(config, source, ctx, progress, helper, false, out, err);
}
