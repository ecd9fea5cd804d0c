/* SPDX-License-Identifier: Apache-2.0 */
/* Apply Redis commands. What a command does is computed only here, so that replaying a log gives the same replies and
 * the same state.
 *
 *   K1 A key is a board or a set, never both: they share one table of names.
 *   K2 A board created by a command is deleted when it has no entries, unless a ban holds some.
 *
 * Out of memory anywhere ends the event and makes the state unusable (state.h). */
#include "state/keyspace/keys.h"

#include "base/assert.h"
#include "state/ban.h"
#include "state/digest.h"
#include "state/keyspace/commands.h"
#include "state/keyspace/key_read.h"
#include "state/keyspace/set.h"
#include "state/lookahead.h"
#include "state/people.h"
#include "state/ranking.h"
#include "state/reviews.h"
#include "state/shadow.h"
#include "state/sketch.h"

#include <math.h>
#include <string.h>

#ifdef RUNG_TEST_BUILD
enum { PIECE = 3 };
#else
enum { PIECE = 256 }; /* members taken out at a time */
#endif

typedef struct run {
    rung_state *s;
    uint32_t i;          /* the command's place in the event */
    bool is_admin;       /* who sent it */
    rung_zkey_row *rows; /* room for PIECE */
    rung_zkey_result result;
    rung_err err;
} run;

static void tell(run *r) {
    if (r->s->sink)
        r->s->sink(r->s->sink_ctx, r->i, &r->result);
}

static rung_status fail(run *r, rung_zkey_error error) {
    r->result.error = error;
    r->result.err = error == RUNG_ZKEY_REFUSED ? &r->err : NULL;
    return RUNG_OK;
}

static rung_zkey open_key(const run *r, rung_slice name) {
    rung_zkey k;
    rung_zkey_open(r->s, name, r->s->time_ms, &k);
    return k;
}

static bool is_no_zset(const rung_zkey *k) {
    return k->kind == RUNG_ZKEY_SET || k->kind == RUNG_ZKEY_SKETCH;
}

/* ---- making and taking away ---- */

static rung_board_def zset_def(void) {
    rung_board_def def = rung_board_def_default();
    def.key.columns[0].type = RUNG_SCORE_REAL;
    def.key.tie = RUNG_TIE_PLAYER_LAST;
    def.update = RUNG_UPDATE_LAST;
    return def;
}

rung_status rung__zset_make(rung_state *s, rung_slice name, rung__board **out, rung_err *err) {
    rung_board_def def = zset_def();
    return rung__board_create(s, name, &def, true, out, err);
}

static rung__board *board_at(const rung_state *s, uint32_t number) {
    return number < s->board_cap ? s->boards[number] : NULL;
}

void rung__key_delete(rung_state *s, uint32_t number) {
    if (board_at(s, number))
        rung__board_delete(s, s->boards[number]);
    else
        rung__set_delete(s, s->sets[number]);
}

/* Delete the key of that name, if there is one. */
static void delete_name(rung_state *s, rung_slice name) {
    uint32_t number;
    if (rung_names_find(s->board_ids, name, &number) == RUNG_OK)
        rung__key_delete(s, number);
}

/* K2 */
static void drop_if_empty(rung_state *s, rung__board *b) {
    if (!b->is_key || b->def->sketch ||
        (b->window_count && rung_ladder_count(b->windows[0]->ladder)))
        return;
    if (!b->has_stash || !rung__stash_has(s, b->serial))
        rung__board_delete(s, b);
}

static rung__board *board_of(const run *r, rung_slice name) {
    return rung__board_find(r->s, name);
}

/* Commands do not store into a defined board. */
static bool is_in_the_way(run *r, rung_slice name) {
    const rung__board *b = board_of(r, name);
    if (!b || b->is_key)
        return false;
    rung_ignore(RUNG_FAIL_FIELD(&r->err, RUNG_EREFUSED, "key", "a board with rules of its own"),
                "it is the answer");
    return true;
}

/* Since level 1 only an admin's command deletes or expires a defined board. The sender's rights were checked when the
 * command was sent, but the board may have been defined since. */
static bool is_denied(const run *r, rung_slice name) {
    if (r->s->rules < 1 || r->is_admin)
        return false;
    const rung__board *b = board_of(r, name);
    return b && !b->is_key;
}

/* ---- scores ---- */

static rung_status zadd_failed(run *r, const rung_zcommand *c, rung_status st) {
    const rung__board *b = board_of(r, c->key);
    if (st == RUNG_ENOMEM)
        return st;
    if (st == RUNG_EUNSUPPORTED)
        return fail(r, RUNG_ZKEY_WRONG_TYPE);
    bool is_nan = st == RUNG_ERANGE && b && b->is_key;
    return fail(r, is_nan ? RUNG_ZKEY_NAN : RUNG_ZKEY_REFUSED);
}

enum { SCORES = 32 }; /* at a time */

/* The next members, as submissions of one each. */
static uint32_t next_scores(rung_zcommand *c, rung_score_event *events) {
    rung_zcommand_item item;
    uint32_t n = 0;
    while (n < SCORES && rung_zcommand_item_next(c, &item))
        events[n++] =
            (rung_score_event){.board = c->key,
                               .player = item.name,
                               .when = (uint8_t)(RUNG_SCORE_KEY | (c->flags & RUNG_IF_MASK)),
                               .is_delta = c->flags & RUNG_ZCOMMAND_INCR,
                               .value_count = 1,
                               .values = {{.d = item.number}},
                               .types = {RUNG_SCORE_REAL}};
    return n;
}

static rung_status zadd_one(run *r, const rung_zcommand *c, const rung_score_event *e,
                            const rung__prepared *prepared) {
    rung_outcome outcome;
    memset(&outcome, 0, offsetof(rung_outcome, windows));
    rung_status st = rung__apply_score(r->s, e, prepared, &outcome, &r->err);
    if (st < 0)
        return st;
    r->result.count += outcome.is_new;
    r->result.updated += st == RUNG_OK && !outcome.is_new;
    r->result.has_score = e->is_delta && !outcome.held;
    if (r->result.has_score)
        r->result.score = rung_zkey_outcome_score(r->s, c->key, &outcome);
    return RUNG_OK;
}

typedef struct scores {
    rung_score_event events[SCORES];
    int64_t time_ms;
} scores;

static const rung_score_event *score_at(const void *ctx, uint32_t i, int64_t *ts_ms) {
    const scores *list = ctx;
    *ts_ms = list->time_ms;
    return &list->events[i];
}

static rung_status zadd(run *r, rung_zcommand *c) {
    scores list;
    rung_status st = RUNG_OK;
    list.time_ms = r->s->time_ms;
    for (uint32_t n; st >= 0 && (n = next_scores(c, list.events));) {
        rung__lookahead_begin(r->s, n, score_at, &list);
        for (uint32_t i = 0; st >= 0 && i < n; i++)
            st = zadd_one(r, c, &list.events[i], n > 1 ? rung__lookahead_next(r->s) : NULL);
    }
    r->result.changed = r->result.count + r->result.updated > 0;
    return st < 0 ? zadd_failed(r, c, st) : RUNG_OK;
}

static rung_status zrem(run *r, rung_zcommand *c) {
    rung_zkey k = open_key(r, c->key);
    if (is_no_zset(&k))
        return fail(r, RUNG_ZKEY_WRONG_TYPE);
    rung__board *b = k.kind ? board_of(r, c->key) : NULL;
    rung_zcommand_item item;
    while (b && rung_zcommand_item_next(c, &item)) {
        uint32_t player;
        if (rung_names_find(r->s->players, item.name, &player) == RUNG_OK)
            r->result.count += rung__entry_remove(r->s, b, player) == RUNG_OK;
    }
    if (b)
        drop_if_empty(r->s, b);
    return RUNG_OK;
}

/* Remove up to PIECE members from the ascending index `from`, upwards or downwards; with `rows`, report them. */
static uint32_t take_out(run *r, rung_slice name, uint32_t from, uint32_t count, bool down,
                         rung_zkey_row *rows) {
    rung_zkey k = open_key(r, name);
    rung__board *b = board_of(r, name);
    uint32_t players[PIECE], n = 0;
    for (; n < PIECE && n < count; n++) {
        rung_ladder_entry e;
        rung__zkey_at(&k, down ? from - n : from + n, &e);
        players[n] = e.player;
        if (rows)
            rows[n] = (rung_zkey_row){rung_names_id(r->s->players, e.player),
                                      rung__zkey_score(&k, e.key)};
    }
    for (uint32_t i = 0; i < n; i++)
        rung_ignore(rung__entry_remove(r->s, b, players[i]), "it was there");
    return n;
}

static rung_status zremrange(run *r, rung_zcommand *c) {
    rung_zkey k = open_key(r, c->key);
    uint32_t first, end;
    if (is_no_zset(&k))
        return fail(r, RUNG_ZKEY_WRONG_TYPE);
    rung_zkey_range(&k, &c->range, false, &first, &end);
    r->result.count = end - first;
    for (uint32_t left = end - first; left;)
        left -= take_out(r, c->key, first, left, false, NULL);
    if (k.kind && r->result.count)
        drop_if_empty(r->s, board_of(r, c->key));
    return RUNG_OK;
}

/* Piece by piece; the caller reports the last one. */
static void pop(run *r, const rung_zcommand *c, rung_slice name, uint32_t card) {
    bool down = c->flags & RUNG_ZCOMMAND_MAX;
    uint32_t left = c->pop_count < card ? (uint32_t)c->pop_count : card;
    r->result.key = name;
    r->result.count = left;
    r->result.rows = r->rows;
    while (left) {
        r->result.row_count = take_out(r, name, down ? card - 1 : 0, left, down, r->rows);
        r->result.changed = true;
        left -= r->result.row_count;
        card -= r->result.row_count;
        r->result.more = left > 0;
        if (r->result.more)
            tell(r);
    }
    drop_if_empty(r->s, board_of(r, name));
}

static rung_status zpop(run *r, rung_zcommand *c) {
    rung_zcommand_item item;
    while (rung_zcommand_item_next(c, &item)) {
        rung_zkey k = open_key(r, item.name);
        if (is_no_zset(&k))
            return fail(r, RUNG_ZKEY_WRONG_TYPE);
        if (k.count == 0)
            continue;
        pop(r, c, item.name, k.count);
        break;
    }
    return RUNG_OK;
}

/* ---- storing ---- */

typedef struct stored {
    const rung__pairs *pairs; /* ascending; a ladder wants the best first */
    const rung_keyspec *spec;
    uint32_t left;
} stored;

static bool next_stored(void *ctx, rung_ladder_entry *out) {
    stored *f = ctx;
    if (!f->left)
        return false;
    const rung__pair *pair = &f->pairs->items[--f->left];
    out->player = pair->player;
    return rung_keyspec_encode(f->spec, &(rung_value){.d = pair->score}, 0, out->key) == RUNG_OK;
}

/* Fill a fresh board. */
static rung_status fill(rung_state *s, rung__board *b, const rung__pairs *pairs) {
    if (rung__window_list_reserve(s, b, 1) < 0)
        return RUNG_ENOMEM;
    rung__window *w =
        rung__window_new(s, b, 0, &(rung_window){0, INT64_MIN, INT64_MAX}, (rung_slice){NULL, 0});
    if (!w)
        return RUNG_ENOMEM;
    rung__window_list_add(s, b, w);
    stored from = {pairs, &b->def->key, pairs->count};
    rung_status st = rung_ladder_build(w->ladder, pairs->count, next_stored, &from);
    RUNG_ASSERT(st != RUNG_EINVAL); /* sorted, and nobody twice */
    if (st >= 0) {
        w->entries = rung__entries_digest(b, w);
        rung__digest_add(&s->digest, w->entries);
    }
    if (st >= 0 && s->on_change)
        rung__tell_board(s, b, RUNG_CHANGE_BOARD_REPLACED);
    return st;
}

/* Store the pairs as the key `name`; without pairs, delete it. Frees them. */
static rung_status store(run *r, rung_slice name, rung__pairs *pairs) {
    rung_state *s = r->s;
    rung__board *b;
    rung_status st = rung__pairs_sort(s->alloc, s->players, pairs);
    uint32_t number;
    if (st >= 0) {
        r->result.changed = pairs->count || rung_names_find(s->board_ids, name, &number) == RUNG_OK;
        delete_name(s, name);
    }
    if (st >= 0 && pairs->count) {
        st = rung__zset_make(s, name, &b, &r->err);
        if (st >= 0)
            st = fill(s, b, pairs);
    }
    r->result.count = st >= 0 ? pairs->count : 0;
    rung__pairs_free(s->alloc, pairs);
    return st < 0 && st != RUNG_ENOMEM ? fail(r, RUNG_ZKEY_REFUSED) : st;
}

/* Apply LIMIT to ascending indexes [first, end). */
static void limit_range(const rung_zcommand *c, uint32_t *first, uint32_t *end) {
    uint32_t n = *end - *first;
    bool rev = c->flags & RUNG_ZCOMMAND_REV;
    uint32_t skip = c->offset < 0 || c->offset > n ? n : (uint32_t)c->offset;
    uint32_t keep = c->limit < 0 || c->limit > n - skip ? n - skip : (uint32_t)c->limit;
    *first = rev ? *end - skip - keep : *first + skip;
    *end = *first + keep;
}

static rung_status zrangestore(run *r, rung_zcommand *c) {
    rung_zkey k = open_key(r, c->other);
    rung__pairs pairs = {0};
    uint32_t first, end;
    if (is_no_zset(&k))
        return fail(r, RUNG_ZKEY_WRONG_TYPE);
    if (is_in_the_way(r, c->key))
        return fail(r, RUNG_ZKEY_REFUSED);
    rung_zkey_range(&k, &c->range, c->flags & RUNG_ZCOMMAND_REV, &first, &end);
    if (c->flags & RUNG_ZCOMMAND_LIMIT)
        limit_range(c, &first, &end);
    if (rung__pairs_read(r->s->alloc, &k, first, end, &pairs) < 0)
        return RUNG_ENOMEM;
    return store(r, c->key, &pairs);
}

static rung_status zstore(run *r, rung_zcommand *c) {
    const rung_alloc *alloc = r->s->alloc;
    uint32_t n = c->item_count;
    size_t bytes = n * (sizeof(rung_zkey) + sizeof(double));
    if (is_in_the_way(r, c->key))
        return fail(r, RUNG_ZKEY_REFUSED);
    rung_zkey *keys = rung_alloc_get(alloc, bytes);
    if (!keys)
        return RUNG_ENOMEM;
    double *weights = (double *)(keys + n);
    rung_zcommand_item item;
    bool is_sketch = false;
    for (uint32_t i = 0; i < n && rung_zcommand_item_next(c, &item); i++) {
        keys[i] = open_key(r, item.name);
        is_sketch |= keys[i].kind == RUNG_ZKEY_SKETCH;
        weights[i] = item.number;
    }
    rung__pairs pairs = {0};
    if (is_sketch) {
        rung_alloc_free(alloc, keys, bytes);
        return fail(r, RUNG_ZKEY_WRONG_TYPE);
    }
    rung_status st =
        rung__pairs_combine(alloc, c->combine, c->aggregate, n, keys, weights, UINT32_MAX, &pairs);
    rung_alloc_free(alloc, keys, bytes);
    return st < 0 ? st : store(r, c->key, &pairs);
}

/* ---- keys ---- */

static rung_status del(run *r, rung_zcommand *c) {
    rung_zcommand_item item;
    for (rung_zcommand all = *c; rung_zcommand_item_next(&all, &item);)
        if (is_denied(r, item.name))
            return fail(r, RUNG_ZKEY_DENIED);
    while (rung_zcommand_item_next(c, &item)) {
        r->result.count += open_key(r, item.name).kind != RUNG_ZKEY_NONE;
        delete_name(r->s, item.name); /* also a board that is empty because of a ban */
    }
    return RUNG_OK;
}

static rung_digest key_digest(const rung_state *s, uint32_t number) {
    const rung__board *b = board_at(s, number);
    return b ? rung__board_digest(s, b) : rung__set_digest(s, s->sets[number]);
}

static void set_expiry(rung_state *s, uint32_t number, const int64_t *at_ms) {
    rung__board *b = board_at(s, number);
    rung__digest_subtract(&s->digest, key_digest(s, number));
    if (at_ms)
        rung__expiry_set(s, number, *at_ms);
    else
        rung__expiry_clear(s, number);
    rung__digest_add(&s->digest, key_digest(s, number));
    *(b ? &b->version : &s->sets[number]->version) = s->seq;
}

static bool expiry_is_allowed(const rung_zkey *k, const rung_zcommand *c) {
    if (c->flags & RUNG_IF_NX && k->has_expiry)
        return false;
    if (c->flags & RUNG_IF_XX && !k->has_expiry)
        return false;
    if (c->flags & RUNG_IF_GT && (!k->has_expiry || c->at_ms <= k->expires_ms))
        return false;
    return !(c->flags & RUNG_IF_LT && k->has_expiry && c->at_ms >= k->expires_ms);
}

static rung_status expire(run *r, rung_zcommand *c) {
    rung_zkey k = open_key(r, c->key);
    bool persists = c->kind == RUNG_ZCOMMAND_PERSIST;
    uint32_t number;
    if (is_denied(r, c->key))
        return fail(r, RUNG_ZKEY_DENIED);
    if (!k.kind || !(persists ? k.has_expiry : expiry_is_allowed(&k, c)))
        return RUNG_OK;
    r->result.count = 1;
    if (!persists && c->at_ms <= r->s->time_ms) {
        delete_name(r->s, c->key);
        return RUNG_OK;
    }
    rung_ignore(rung_names_find(r->s->board_ids, c->key, &number), "it is there");
    if (!persists && rung__expiry_reserve(r->s) < 0)
        return RUNG_ENOMEM;
    set_expiry(r->s, number, persists ? NULL : &c->at_ms);
    return RUNG_OK;
}

/* Give a key another name, which is not in use. RUNG_OK, RUNG_ELIMIT (no more names allowed) or RUNG_ENOMEM. */
static rung_status give_name(rung_state *s, uint32_t old, rung_slice name) {
    rung__board *b = board_at(s, old);
    uint32_t number;
    rung_status st = rung_names_intern(s->board_ids, name, &number);
    if (st < 0)
        return st;
    st = b ? rung__grow(s->alloc, &s->boards, &s->board_cap, number + 1, sizeof *s->boards)
           : rung__grow(s->alloc, &s->sets, &s->set_cap, number + 1, sizeof *s->sets);
    if (st < 0) {
        rung_names_remove(s->board_ids, number);
        return st;
    }
    rung__digest_subtract(&s->digest, key_digest(s, old));
    if (b) {
        if (s->on_change)
            rung__tell_board(s, b, RUNG_CHANGE_BOARD_DELETED);
        s->boards[number] = b;
        s->boards[old] = NULL;
        s->last_board = NULL;
        b->number = number;
        b->version = s->seq;
    } else {
        s->sets[number] = s->sets[old];
        s->sets[old] = NULL;
        s->sets[number]->number = number;
        s->sets[number]->version = s->seq;
    }
    rung__expiry_renumber(s, number);
    rung_names_remove(s->board_ids, old);
    rung__digest_add(&s->digest, key_digest(s, number));
    if (b && b->has_stash)
        rung__stash_sort(s, b->serial);
    if (b && s->reviews.count)
        rung__reviews_renumber(s, old, number);
    if (b && s->on_change)
        rung__tell_board(s, b, RUNG_CHANGE_BOARD_REPLACED);
    return RUNG_OK;
}

static rung_status rename_key(run *r, rung_zcommand *c) {
    rung_zkey from = open_key(r, c->key), to = open_key(r, c->other);
    uint32_t number;
    if (!from.kind)
        return fail(r, RUNG_ZKEY_NO_SUCH);
    if (c->flags & RUNG_IF_NX && to.kind)
        return RUNG_OK;
    r->result.count = 1;
    if (rung_slice_eq(c->key, c->other))
        return RUNG_OK;
    if (is_in_the_way(r, c->key) || is_in_the_way(r, c->other)) {
        r->result.count = 0;
        return fail(r, RUNG_ZKEY_REFUSED);
    }
    delete_name(r->s, c->other);
    rung_ignore(rung_names_find(r->s->board_ids, c->key, &number), "it is there");
    rung_status st = give_name(r->s, number, c->other);
    if (st == RUNG_ELIMIT) { /* both names exist briefly; the new one was free */
        r->result.count = 0;
        rung_ignore(RUNG_FAIL_FIELD(&r->err, st, "key", "key limit reached"), "it is the answer");
        return fail(r, RUNG_ZKEY_REFUSED);
    }
    r->result.changed = true;
    return st;
}

static rung_status flush(run *r, rung_zcommand *c) {
    (void)c;
    rung_state *s = r->s;
    for (uint32_t i = 0; i < s->board_cap; i++)
        if (s->boards[i] && is_denied(r, rung_names_id(s->board_ids, i)))
            return fail(r, RUNG_ZKEY_DENIED);
    for (uint32_t i = 0; i < rung_names_span(s->board_ids); i++)
        if (rung_names_is_used(s->board_ids, i) &&
            !rung__is_hidden_name(rung_names_id(s->board_ids, i))) { /* goes with its board */
            rung__key_delete(s, i);
            r->result.count++;
        }
    return RUNG_OK;
}

/* ---- sets ---- */

/* The set to add to, created if absent. NULL: the key holds something else. */
static rung_status open_set(run *r, rung_slice name, rung__set **out) {
    rung_zkey k = open_key(r, name);
    *out = rung__set_find(r->s, name);
    if (k.kind && k.kind != RUNG_ZKEY_SET)
        return fail(r, RUNG_ZKEY_WRONG_TYPE);
    if (*out)
        return RUNG_OK;
    delete_name(r->s, name); /* a board that is empty because of a ban */
    rung_status st = rung__set_create(r->s, name, out, &r->err);
    if (st < 0)
        *out = NULL;
    return st < 0 && st != RUNG_ENOMEM ? fail(r, RUNG_ZKEY_REFUSED) : st;
}

static rung_status sadd(run *r, rung_zcommand *c) {
    rung__set *set;
    rung_zcommand_item item;
    rung_status st = open_set(r, c->key, &set);
    while (st >= 0 && set && rung_zcommand_item_next(c, &item)) {
        uint32_t player;
        st = rung__intern_player(r->s, item.name, &player);
        if (st >= 0)
            st = rung__set_add(r->s, set, player);
        r->result.count += st == RUNG_OK;
    }
    if (set && set->count == 0) /* not even one found room */
        rung__set_delete(r->s, set);
    if (st < 0 && st != RUNG_ENOMEM) {
        rung_ignore(RUNG_FAIL_FIELD(&r->err, st, "player", "player limit reached"),
                    "it is the answer");
        return fail(r, RUNG_ZKEY_REFUSED);
    }
    return st < 0 ? st : RUNG_OK;
}

static rung_status srem(run *r, rung_zcommand *c) {
    rung_zkey k = open_key(r, c->key);
    rung_zcommand_item item;
    if (k.kind && k.kind != RUNG_ZKEY_SET)
        return fail(r, RUNG_ZKEY_WRONG_TYPE);
    rung__set *set = k.kind ? rung__set_find(r->s, c->key) : NULL;
    while (set && rung_zcommand_item_next(c, &item)) {
        uint32_t player;
        if (rung_names_find(r->s->players, item.name, &player) == RUNG_OK)
            r->result.count += rung__set_remove(r->s, set, player) == RUNG_OK;
    }
    if (set && set->count == 0)
        rung__set_delete(r->s, set);
    return RUNG_OK;
}

/* ---- sketches ---- */

static rung_board_def sketch_def(rung_sketch_kind kind, uint32_t memory_bytes, uint32_t top) {
    rung_board_def def = rung_board_def_default();
    def.sketch = kind;
    def.sketch_memory = memory_bytes;
    def.sketch_top = top;
    def.update = kind == RUNG_SKETCH_COUNTS     ? RUNG_UPDATE_SUM
                 : kind == RUNG_SKETCH_DISTINCT ? RUNG_UPDATE_COUNT
                                                : RUNG_UPDATE_BEST;
    if (kind == RUNG_SKETCH_PERCENTILE)
        def.key.columns[0] = (rung_column){RUNG_SCORE_REAL, RUNG_ORDER_ASC, 0};
    return def;
}

static rung_sketch_kind kind_of(const rung_zcommand *c) {
    return (rung_sketch_kind)(c->flags >> RUNG_ZCOMMAND_SKETCH_SHIFT);
}

static uint32_t whole_of(double number) {
    return number >= 0 && number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static rung_status sketch_make(run *r, rung_zcommand *c) {
    rung_zcommand_item item;
    rung__board *b;
    uint32_t memory_bytes = 0, top = 0;
    if (open_key(r, c->key).kind)
        return fail(r, RUNG_ZKEY_EXISTS);
    while (rung_zcommand_item_next(c, &item))
        if (rung_slice_eq(item.name, RUNG_SLICE("memory")))
            memory_bytes = whole_of(item.number);
        else
            top = whole_of(item.number);
    rung_board_def def = sketch_def(kind_of(c), memory_bytes, top);
    rung_status st = rung_board_def_check(&def, &r->err);
    if (st >= 0) {
        delete_name(r->s, c->key); /* a board that is empty because of a ban */
        st = rung__board_create(r->s, c->key, &def, true, &b, &r->err);
    }
    if (st < 0)
        return st == RUNG_ENOMEM ? st : fail(r, RUNG_ZKEY_REFUSED);
    r->result.count = 1;
    return RUNG_OK;
}

/* The window `all` of a distinct count that commands made, opened if necessary. */
static rung_status open_players(run *r, rung_slice key, rung__window **out) {
    rung_state *s = r->s;
    /* A board that is empty because of a ban is no key. */
    rung__board *b = open_key(r, key).kind ? board_of(r, key) : NULL;
    rung_status st = RUNG_OK;
    if (!b) {
        rung_board_def def = sketch_def(RUNG_SKETCH_DISTINCT, RUNG_SKETCH_MEMORY_MIN_DISTINCT, 0);
        delete_name(s, key);
        st = rung__board_create(s, key, &def, true, &b, &r->err);
    }
    if (st < 0)
        return st;
    if (!b->window_count) {
        if (rung__window_list_reserve(s, b, 1) < 0 ||
            !(*out = rung__window_new(s, b, 0, &(rung_window){0, INT64_MIN, INT64_MAX},
                                      (rung_slice){NULL, 0})))
            return RUNG_ENOMEM;
        rung__window_list_add(s, b, *out);
    }
    *out = b->windows[0];
    return RUNG_OK;
}

/* Can the players of every source be added? Their counts have equal sizes. */
static bool can_merge(run *r, const rung_zcommand *c, rung_zkey_error *error) {
    rung_zcommand_item item;
    bool is_there = open_key(r, c->key).kind != RUNG_ZKEY_NONE;
    const rung__board *to = is_there ? board_of(r, c->key) : NULL;
    *error = RUNG_ZKEY_WRONG_TYPE;
    if (is_there && (!to || to->def->sketch != RUNG_SKETCH_DISTINCT))
        return false;
    uint32_t bytes = to ? to->def->sketch_memory : RUNG_SKETCH_MEMORY_MIN_DISTINCT;
    for (rung_zcommand all = *c; rung_zcommand_item_next(&all, &item);) {
        const rung__board *from = board_of(r, item.name);
        if (!open_key(r, item.name).kind)
            continue;
        if (!from || from->def->sketch != RUNG_SKETCH_DISTINCT)
            return false;
        rung__sketch_parts a = rung__sketch_parts_of(RUNG_SKETCH_DISTINCT, bytes),
                           b = rung__sketch_parts_of(RUNG_SKETCH_DISTINCT,
                                                     from->def->sketch_memory);
        if (a.precision == b.precision)
            continue;
        rung_ignore(RUNG_FAIL_FIELD(&r->err, RUNG_EUNSUPPORTED, "memory",
                                    "distinct counts of different sizes cannot be merged"),
                    "it is the answer");
        *error = RUNG_ZKEY_REFUSED;
        return false;
    }
    return true;
}

static rung_status sketch_merge(run *r, rung_zcommand *c) {
    rung_state *s = r->s;
    rung_zcommand_item item;
    rung__window *w;
    rung_zkey_error error;
    bool is_made = open_key(r, c->key).kind == RUNG_ZKEY_NONE;
    if (is_in_the_way(r, c->key))
        return fail(r, RUNG_ZKEY_REFUSED);
    if (!can_merge(r, c, &error))
        return fail(r, error);
    rung_status st = open_players(r, c->key, &w);
    if (st < 0)
        return st == RUNG_ENOMEM ? st : fail(r, RUNG_ZKEY_REFUSED);
    rung_digest change = {0, 0};
    rung__digest_subtract(&change, rung__sketch_digest(w, 0, w->sketch));
    while (rung_zcommand_item_next(c, &item)) {
        const rung__board *from = board_of(r, item.name);
        if (open_key(r, item.name).kind && from && from->window_count && from->windows[0]->sketch &&
            from->windows[0] != w)
            rung_ignore(rung__sketch_merge_players(w->sketch, from->windows[0]->sketch),
                        "it was checked");
    }
    rung__digest_add(&change, rung__sketch_digest(w, 0, w->sketch));
    rung__digest_add(&s->digest, change);
    rung__digest_add(&w->entries, change);
    board_of(r, c->key)->version = s->seq;
    r->result.count = 1;
    r->result.updated = is_made;
    return RUNG_OK;
}

static rung_status sketch(run *r, rung_zcommand *c) {
    return c->flags & RUNG_ZCOMMAND_MERGE ? sketch_merge(r, c) : sketch_make(r, c);
}

/* Who is in the top of a counts board, by hash: only replies depend on it. */
typedef struct top_list {
    uint64_t *hashes;
    rung_hitter *rows;
    uint32_t count, room; /* of the top; `rows` has one more */
    uint64_t least;       /* the count of the last one */
    rung_slice next;      /* who comes after them; empty: nobody */
} top_list;

static uint64_t hash_of(rung_slice name) {
    return rung__bytes_hash(name.ptr, name.len);
}

static const rung_hitters *hitters_of(const rung__board *b) {
    return b->window_count && b->windows[0]->sketch ? b->windows[0]->sketch->hitters : NULL;
}

static void read_top(top_list *t, const rung_hitters *h) {
    uint32_t n = h ? rung_hitters_top(h, 0, t->room + 1, t->rows) : 0;
    t->count = n < t->room ? n : t->room;
    for (uint32_t i = 0; i < t->count; i++)
        t->hashes[i] = hash_of(t->rows[i].name);
    t->least = t->count ? t->rows[t->count - 1].count : 0;
    t->next = n > t->room ? t->rows[t->room].name : (rung_slice){NULL, 0};
}

static bool is_listed(const top_list *t, uint64_t hash) {
    for (uint32_t i = 0; i < t->count; i++)
        if (t->hashes[i] == hash)
            return true;
    return false;
}

/* `name` has `count` now: who leaves the top for it? */
static rung_slice find_leaver(top_list *t, const rung_hitters *h, rung_slice name, uint64_t count) {
    uint64_t hash = hash_of(name);
    if (is_listed(t, hash) || (t->count == t->room && count < t->least))
        return (rung_slice){NULL, 0};
    bool was_full = t->count == t->room;
    read_top(t, h);
    return was_full && is_listed(t, hash) ? t->next : (rung_slice){NULL, 0};
}

/* A name with its number as a submission. */
static rung_status sketch_event(const rung__board *b, rung_slice key,
                                const rung_zcommand_item *item, rung_score_event *e,
                                rung_err *err) {
    const rung_column *column = &b->def->key.columns[0];
    *e = (rung_score_event){.board = key, .player = item->name, .is_brief = true};
    if (b->def->update == RUNG_UPDATE_COUNT)
        return RUNG_OK;
    e->value_count = 1;
    e->types[0] = (uint8_t)column->type;
    e->decimals[0] = (uint8_t)(column->type == RUNG_SCORE_DECIMAL ? column->decimals : 0);
    if (column->type == RUNG_SCORE_REAL) {
        e->values[0].d = item->number;
        return RUNG_OK;
    }
    double value = item->number;
    for (unsigned i = 0; i < column->decimals; i++)
        value *= 10;
    if (!(value >= -9007199254740992.0 && value <= 9007199254740992.0) || value != rint(value))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "score", "not exact in the board's type");
    e->values[0].i = (int64_t)value;
    return RUNG_OK;
}

static rung_status add_name(run *r, rung__board *b, const rung_zcommand *c,
                            const rung_zcommand_item *item) {
    rung_score_event e;
    rung_outcome outcome;
    memset(&outcome, 0, offsetof(rung_outcome, windows));
    r->result.is_failed = false;
    r->result.number = 0;
    rung_status st = sketch_event(b, c->key, item, &e, &r->err);
    if (st >= 0)
        st = rung__apply_score(r->s, &e, NULL, &outcome, &r->err);
    if (st == RUNG_ENOMEM)
        return st;
    r->result.changed |= st >= 0;
    r->result.updated += outcome.is_new;
    r->result.is_failed = st < 0;
    r->result.err = st < 0 ? &r->err : NULL;
    r->result.number = st >= 0 ? (uint64_t)outcome.values[0].i : 0;
    return RUNG_OK;
}

static rung_status add_names(run *r, rung__board *b, rung_zcommand *c, top_list *top) {
    rung_zcommand_item item;
    uint32_t left = c->item_count;
    rung_status st = RUNG_OK;
    if (top)
        read_top(top, hitters_of(b));
    r->result.is_first = true;
    while (st >= 0 && rung_zcommand_item_next(c, &item)) {
        st = add_name(r, b, c, &item);
        r->result.leaver = (rung_slice){NULL, 0};
        if (st >= 0 && top && !r->result.is_failed)
            r->result.leaver = find_leaver(top, hitters_of(b), item.name, r->result.number);
        r->result.more = --left > 0;
        if (st < 0 || !left)
            continue;
        tell(r);
        r->result.is_first = false;
    }
    return st;
}

static rung_status sketch_add(run *r, rung_zcommand *c) {
    const rung_alloc *alloc = r->s->alloc;
    rung_sketch_kind kind = kind_of(c);
    rung__window *w;
    bool is_made = false;
    if (open_key(r, c->key).kind == RUNG_ZKEY_NONE) {
        if (kind != RUNG_SKETCH_DISTINCT)
            return fail(r, RUNG_ZKEY_NO_SUCH);
        rung_status st = open_players(r, c->key, &w);
        if (st < 0)
            return st == RUNG_ENOMEM ? st : fail(r, RUNG_ZKEY_REFUSED);
        is_made = true;
    }
    rung__board *b = board_of(r, c->key);
    if (!b || b->def->sketch != kind)
        return fail(r, RUNG_ZKEY_WRONG_TYPE);
    top_list top = {.room = b->def->sketch_top ? b->def->sketch_top : RUNG_SKETCH_TOP_DEFAULT};
    size_t hashes = top.room * sizeof *top.hashes, rows = (top.room + 1) * sizeof *top.rows;
    bool has_top = kind == RUNG_SKETCH_COUNTS && c->flags & RUNG_ZCOMMAND_LEAVERS;
    if (has_top) {
        top.rows = rung_alloc_get(alloc, rows + hashes);
        if (!top.rows)
            return RUNG_ENOMEM;
        top.hashes = (uint64_t *)(top.rows + top.room + 1);
    }
    r->result.count = c->item_count;
    rung_status st = add_names(r, b, c, has_top ? &top : NULL);
    if (has_top)
        rung_alloc_free(alloc, top.rows, rows + hashes);
    r->result.changed |= is_made;
    r->result.updated += is_made;
    return st;
}

/* ---- all ---- */

/* Does a count other than 0 mean that something changed? */
static bool counts_changes(rung_zcommand_kind kind) {
    return kind != RUNG_ZCOMMAND_ZRANGESTORE && kind != RUNG_ZCOMMAND_ZSTORE &&
           kind != RUNG_ZCOMMAND_RENAME && kind != RUNG_ZCOMMAND_SKETCH_ADD;
}

static rung_status apply_one(run *r, rung_zcommand *c) {
    static rung_status (*const APPLY[])(run *, rung_zcommand *) = {
        [RUNG_ZCOMMAND_ZADD] = zadd,
        [RUNG_ZCOMMAND_ZREM] = zrem,
        [RUNG_ZCOMMAND_ZREMRANGE] = zremrange,
        [RUNG_ZCOMMAND_ZPOP] = zpop,
        [RUNG_ZCOMMAND_ZRANGESTORE] = zrangestore,
        [RUNG_ZCOMMAND_ZSTORE] = zstore,
        [RUNG_ZCOMMAND_DEL] = del,
        [RUNG_ZCOMMAND_EXPIRE] = expire,
        [RUNG_ZCOMMAND_PERSIST] = expire,
        [RUNG_ZCOMMAND_RENAME] = rename_key,
        [RUNG_ZCOMMAND_FLUSH] = flush,
        [RUNG_ZCOMMAND_SADD] = sadd,
        [RUNG_ZCOMMAND_SREM] = srem,
        [RUNG_ZCOMMAND_SKETCH] = sketch,
        [RUNG_ZCOMMAND_SKETCH_ADD] = sketch_add,
    };
    rung_status st = APPLY[c->kind](r, c);
    if (st < 0)
        return st;
    if (counts_changes(c->kind) && r->result.count)
        r->result.changed = true;
    tell(r);
    return RUNG_OK;
}

rung_status rung__apply_keys(rung_state *s, const rung_event *e, rung_err *err) {
    rung_slice packed = e->keys.packed;
    rung_zcommand c;
    rung_zkey_row rows[PIECE];
    bool changed = false;
    (void)err;
    for (uint32_t i = 0; rung_zcommand_next(&packed, &c, NULL) == RUNG_OK; i++) {
        run r = {
            .s = s, .i = i, .is_admin = e->keys.is_admin, .rows = rows, .result = {.kind = c.kind}};
        if (apply_one(&r, &c) < 0)
            return RUNG_ENOMEM;
        changed = changed || r.result.changed;
    }
    return changed ? RUNG_OK : RUNG_UNCHANGED;
}
