/* SPDX-License-Identifier: Apache-2.0 */
/* Everything about players except their scores: profiles and attributes, friendships, bans, erasure.
 *
 *   P1 For every attribute in use: if a player's profile has it with 1 to 128 bytes, of_player has that value's
 *      number.
 *   P2 q is among p's following iff p is among q's followers.
 *   P3 A banned player is in no ranking. */
#include "state/people.h"
#include "state/match.h"

#include "base/assert.h"
#include "state/attribute.h"
#include "state/ban.h"
#include "state/digest.h"
#include "state/edition_list.h"
#include "state/hold_list.h"
#include "state/keyspace/set.h"
#include "state/ranking.h"
#include "state/reviews.h"
#include "state/shadow.h"
#include "state/sketch.h"

#include <stdlib.h>
#include <string.h>

/* ---- profiles ---- */

bool rung__profile_next(const rung__profile *p, uint32_t *offset, rung_attribute *out) {
    if (*offset >= p->bytes)
        return false;
    const unsigned char *at = (const unsigned char *)p->packed + *offset;
    out->name = rung_slice_of(at + 1, at[0]);
    at += 1 + at[0];
    out->value = rung_slice_of(at + 2, (size_t)(at[0] | at[1] << 8));
    *offset += (uint32_t)(3 + out->name.len + out->value.len);
    return true;
}

static rung__profile *profile_pack(rung_state *s, uint32_t count,
                                   const rung_attribute *attributes) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += 3 + attributes[i].name.len + attributes[i].value.len;
    rung__profile *p = rung_alloc_get(s->alloc, sizeof *p + bytes);
    if (!p)
        return NULL;
    p->count = count;
    p->bytes = (uint32_t)bytes;
    char *at = p->packed;
    for (uint32_t i = 0; i < count; i++) {
        const rung_attribute *a = &attributes[i];
        *at++ = (char)a->name.len;
        rung_slice_put(&at, a->name);
        *at++ = (char)(a->value.len & 0xff);
        *at++ = (char)(a->value.len >> 8);
        rung_slice_put(&at, a->value);
    }
    return p;
}

static void profile_free(rung_state *s, rung__profile *p) {
    rung_alloc_free(s->alloc, p, p ? sizeof *p + p->bytes : 0);
}

static rung_digest profile_digest(uint32_t player, const rung__profile *p) {
    return rung__fact_digest(RUNG__FACT_PROFILE, player, rung__bytes_hash(p->packed, p->bytes),
                             NULL, 0);
}

static bool profile_value(const rung__profile *p, rung_slice name, rung_slice *out) {
    rung_attribute a;
    for (uint32_t offset = 0; p && rung__profile_next(p, &offset, &a);)
        if (rung_slice_eq(a.name, name)) {
            *out = a.value;
            return true;
        }
    return false;
}

/* ---- attributes that boards rank by ---- */

/* The interned number of the player's value in this profile; RUNG__NONE: none that is ranked. */
static rung_status ranked_value(rung__attribute *a, const rung__profile *p, uint32_t *number_out) {
    rung_slice value;
    *number_out = RUNG__NONE;
    if (!profile_value(p, a->name, &value) || value.len < 1 || value.len > RUNG_NAME_MAX)
        return RUNG_OK;
    rung_status st = rung_names_intern(a->values, value, number_out);
    return st < 0 ? RUNG_ENOMEM : RUNG_OK;
}

static rung_status set_value(rung_state *s, rung__attribute *a, uint32_t player, uint32_t now) {
    uint32_t old = rung_numbermap_get(&a->of_player, player);
    if (now == RUNG__NONE) {
        if (old != RUNG__NONE)
            rung_numbermap_remove(&a->of_player, player);
        return RUNG_OK;
    }
    if (old == RUNG__NONE && rung_numbermap_reserve(&a->of_player, s->alloc, player) < 0)
        return RUNG_ENOMEM;
    rung_numbermap_set(&a->of_player, player, now);
    return RUNG_OK;
}

rung_status rung__attribute_fill(rung_state *s, rung__attribute *a) {
    uint32_t span = rung_names_span(s->players);
    for (uint32_t player = 0; player < span; player++) {
        const rung__profile *p = rung__sparse_get(&s->profiles, player);
        uint32_t value;
        if (!p)
            continue;
        if (ranked_value(a, p, &value) < 0 || set_value(s, a, player, value) < 0)
            return RUNG_ENOMEM;
    }
    return RUNG_OK;
}

rung_status rung__attribute_use(rung_state *s, rung_slice name, uint32_t *number_out) {
    uint32_t number;
    if (rung_names_intern(s->attribute_ids, name, &number) < 0 ||
        rung__grow(s->alloc, &s->attributes, &s->attribute_cap, number + 1, sizeof *s->attributes) <
            0)
        return RUNG_ENOMEM;
    rung__attribute *a = &s->attributes[number];
    *number_out = number;
    if (a->users++)
        return RUNG_OK;
    a->name = rung_names_id(s->attribute_ids, number);
    if (rung_names_create(s->alloc, &s->hash_key, &a->values) < 0)
        return RUNG_ENOMEM;
    return rung__attribute_fill(s, a);
}

static void attribute_deinit(rung_state *s, rung__attribute *a) {
    rung_names_destroy(a->values);
    rung_numbermap_deinit(&a->of_player, s->alloc);
    memset(a, 0, sizeof *a);
}

void rung__attribute_unuse(rung_state *s, uint32_t number) {
    if (--s->attributes[number].users)
        return;
    attribute_deinit(s, &s->attributes[number]);
    rung_names_remove(s->attribute_ids, number);
}

/* Set the player's value of an attribute to `now`, and move the player in every open window that ranks by it. */
static rung_status move_scopes(rung_state *s, uint32_t attribute, uint32_t player, uint32_t now) {
    rung__attribute *a = &s->attributes[attribute];
    uint32_t old = rung_numbermap_get(&a->of_player, player);
    if (old == now)
        return RUNG_OK;
    for (uint32_t i = 0; i < s->board_cap; i++) {
        rung__board *b = s->boards[i];
        for (uint32_t slot = 0; b && slot < b->scope_count; slot++)
            for (uint32_t w = 0; b->attribute[slot] == attribute && w < b->window_count; w++)
                if (!b->windows[w]->closed &&
                    rung__ranking_rescope(s, b, b->windows[w], slot, player, old, now) < 0)
                    return RUNG_ENOMEM;
    }
    return set_value(s, a, player, now);
}

static rung_status replace_profile(rung_state *s, uint32_t player, rung__profile *fresh) {
    for (uint32_t i = 0; i < s->attribute_cap; i++) {
        uint32_t value;
        if (!s->attributes[i].users)
            continue;
        if (ranked_value(&s->attributes[i], fresh, &value) < 0 ||
            move_scopes(s, i, player, value) < 0)
            return RUNG_ENOMEM;
    }
    rung__profile *old = rung__sparse_get(&s->profiles, player);
    s->people_version = s->seq;
    if (fresh && rung__sparse_put(&s->profiles, s->alloc, player, fresh) < 0)
        return RUNG_ENOMEM;
    if (fresh)
        rung__digest_add(&s->digest, profile_digest(player, fresh));
    else
        rung__sparse_remove(&s->profiles, player);
    if (old)
        rung__digest_subtract(&s->digest, profile_digest(player, old));
    profile_free(s, old);
    return RUNG_OK;
}

rung_status rung__apply_profile(rung_state *s, const rung_event *e, rung_err *err) {
    uint32_t player;
    rung_status st = rung__intern_player(s, e->profile.player, &player);
    if (st < 0)
        return st == RUNG_ENOMEM ? st : RUNG_FAIL_FIELD(err, st, "player", "player limit reached");
    rung__profile *old = rung__sparse_get(&s->profiles, player), *fresh = NULL;
    if (!old && e->profile.count == 0) /* no profile is the same as an empty one */
        return st;
    if (e->profile.count) {
        fresh = profile_pack(s, e->profile.count, e->profile.attributes);
        if (!fresh)
            return RUNG_ENOMEM;
    }
    if (old && fresh && old->bytes == fresh->bytes &&
        memcmp(old->packed, fresh->packed, fresh->bytes) == 0) {
        profile_free(s, fresh);
        return RUNG_UNCHANGED;
    }
    st = replace_profile(s, player, fresh);
    if (st < 0 && rung__sparse_get(&s->profiles, player) != fresh)
        profile_free(s, fresh);
    return st;
}

/* ---- friendships ---- */

static rung__friends *friends_of(rung_state *s, uint32_t player, bool create) {
    rung__friends *f = rung__sparse_get(&s->friends, player);
    if (f || !create)
        return f;
    f = rung_alloc_zeroed(s->alloc, sizeof *f);
    if (f && rung__sparse_put(&s->friends, s->alloc, player, f) < 0) {
        rung_alloc_free(s->alloc, f, sizeof *f);
        return NULL;
    }
    return f;
}

static bool follows(const rung_state *s, uint32_t p, uint32_t q) {
    const rung__friends *f = rung__sparse_get(&s->friends, p);
    uint32_t at = f ? rung__list_place(f->following, f->following_count, q) : 0;
    return f && at < f->following_count && f->following[at] == q;
}

/* RUNG_OK, RUNG_UNCHANGED, RUNG_ENOMEM. The limit was checked. */
rung_status rung__follow(rung_state *s, uint32_t p, uint32_t q) {
    if (follows(s, p, q))
        return RUNG_UNCHANGED;
    rung__friends *from = friends_of(s, p, true), *to = friends_of(s, q, true);
    if (!from || !to ||
        rung__grow(s->alloc, &from->following, &from->following_cap, from->following_count + 1,
                   sizeof(uint32_t)) < 0 ||
        rung__grow(s->alloc, &to->followers, &to->followers_cap, to->followers_count + 1,
                   sizeof(uint32_t)) < 0)
        return RUNG_ENOMEM;
    uint32_t at = rung__list_place(from->following, from->following_count, q);
    memmove(&from->following[at + 1], &from->following[at],
            (from->following_count - at) * sizeof(uint32_t));
    from->following[at] = q;
    from->following_count++;
    to->followers[to->followers_count++] = p;
    s->friendships++;
    rung__digest_add(&s->digest, rung__fact_digest(RUNG__FACT_FOLLOW, p, q, NULL, 0));
    return RUNG_OK;
}

static rung_status unfollow(rung_state *s, uint32_t p, uint32_t q) {
    if (!follows(s, p, q))
        return RUNG_UNCHANGED;
    rung__friends *from = rung__sparse_get(&s->friends, p), *to = rung__sparse_get(&s->friends, q);
    uint32_t at = rung__list_place(from->following, from->following_count, q), i = 0;
    from->following_count--;
    memmove(&from->following[at], &from->following[at + 1],
            (from->following_count - at) * sizeof(uint32_t));
    while (to->followers[i] != p) /* a celebrity's list is long, but leaving one is rare */
        i++;
    to->followers[i] = to->followers[--to->followers_count];
    s->friendships--;
    rung__digest_subtract(&s->digest, rung__fact_digest(RUNG__FACT_FOLLOW, p, q, NULL, 0));
    return RUNG_OK;
}

static uint32_t following_count(const rung_state *s, uint32_t player) {
    const rung__friends *f = rung__sparse_get(&s->friends, player);
    return f ? f->following_count : 0;
}

/* May `from` follow `to`? Checked before any player is interned, so that a refusal leaves no trace. */
static bool has_room(const rung_state *s, rung_slice from, rung_slice to) {
    uint32_t p, q;
    if (rung_names_find(s->players, from, &p) != RUNG_OK ||
        following_count(s, p) < RUNG_FRIENDS_MAX)
        return true;
    return rung_names_find(s->players, to, &q) == RUNG_OK && follows(s, p, q);
}

static rung_status too_many_friends(rung_err *err) {
    return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "friends", "at most %d per player", RUNG_FRIENDS_MAX);
}

rung_status rung__apply_friend(rung_state *s, const rung_event *e, rung_err *err) {
    uint32_t p, q;
    bool mutual = !e->friend.follow;
    if (rung_slice_eq(e->friend.player, e->friend.other))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "friend", "a player cannot be their own friend");
    if (e->kind == RUNG_EVENT_FRIEND_REMOVED) {
        if (rung_names_find(s->players, e->friend.player, &p) != RUNG_OK ||
            rung_names_find(s->players, e->friend.other, &q) != RUNG_OK)
            return RUNG_UNCHANGED;
        rung_status there = unfollow(s, p, q), back = mutual ? unfollow(s, q, p) : RUNG_UNCHANGED;
        return there == RUNG_OK ? there : back;
    }
    if (!has_room(s, e->friend.player, e->friend.other) ||
        (mutual && !has_room(s, e->friend.other, e->friend.player)))
        return too_many_friends(err);
    if (rung__intern_player(s, e->friend.player, &p) < 0 ||
        rung__intern_player(s, e->friend.other, &q) < 0)
        return RUNG_ENOMEM;
    rung_status there = rung__follow(s, p, q);
    if (there < 0 || !mutual)
        return there;
    rung_status back = rung__follow(s, q, p);
    return back < 0 || there == RUNG_UNCHANGED ? back : there;
}

static int by_number(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

uint32_t rung__sort_unique(uint32_t *list, uint32_t n) {
    uint32_t kept = 0;
    qsort(list, n, sizeof *list, by_number);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || list[i] != list[kept - 1])
            list[kept++] = list[i];
    return kept;
}

static bool in_list(const uint32_t *list, uint32_t n, uint32_t player) {
    uint32_t at = rung__list_place(list, n, player);
    return at < n && list[at] == player;
}

/* Make `list` (ascending) the player's friends. */
static rung_status replace_friends(rung_state *s, uint32_t p, bool mutual, const uint32_t *list,
                                   uint32_t n) {
    rung_status any = RUNG_UNCHANGED;
    const rung__friends *f = rung__sparse_get(&s->friends, p);
    for (uint32_t i = f ? f->following_count : 0; i-- > 0;) {
        uint32_t q = f->following[i];
        if (in_list(list, n, q))
            continue;
        any = unfollow(s, p, q);
        if (mutual)
            rung_ignore(unfollow(s, q, p), "the other direction has changed");
    }
    for (uint32_t i = 0; i < n; i++) {
        rung_status there = rung__follow(s, p, list[i]),
                    back = mutual ? rung__follow(s, list[i], p) : RUNG_UNCHANGED;
        if (there < 0 || back < 0)
            return RUNG_ENOMEM;
        any = there == RUNG_OK || back == RUNG_OK ? RUNG_OK : any;
    }
    return any;
}

rung_status rung__apply_friends(rung_state *s, const rung_event *e, rung_err *err) {
    uint32_t p, n = 0;
    rung_slice packed = e->friends.packed, name;
    while (rung_names_next(&packed, &name))
        if (rung_slice_eq(name, e->friends.player))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "friends",
                                   "a player cannot be their own friend");
        else if (!e->friends.follow && !has_room(s, name, e->friends.player))
            return too_many_friends(err);
    uint32_t known = rung_names_count(s->players);
    size_t bytes = (e->friends.count + 1) * sizeof(uint32_t);
    uint32_t *list = rung_alloc_get(s->alloc, bytes);
    rung_status st = list ? RUNG_OK : RUNG_ENOMEM;
    if (st >= 0 && rung__intern_player(s, e->friends.player, &p) < 0)
        st = RUNG_ENOMEM;
    packed = e->friends.packed;
    while (st >= 0 && n < e->friends.count && rung_names_next(&packed, &name))
        st = rung__intern_player(s, name, &list[n++]) < 0 ? RUNG_ENOMEM : RUNG_OK;
    if (st >= 0)
        st = replace_friends(s, p, !e->friends.follow, list, rung__sort_unique(list, n));
    if (st == RUNG_UNCHANGED && rung_names_count(s->players) != known)
        st = RUNG_OK; /* somebody became known */
    rung_alloc_free(s->alloc, list, bytes);
    return st;
}

static void friends_free(rung_state *s, rung__friends *f) {
    rung_alloc_free(s->alloc, f->following, f->following_cap * sizeof(uint32_t));
    rung_alloc_free(s->alloc, f->followers, f->followers_cap * sizeof(uint32_t));
    rung_alloc_free(s->alloc, f, sizeof *f);
}

static void forget_friends(rung_state *s, uint32_t player) {
    rung__friends *f = rung__sparse_get(&s->friends, player);
    if (!f)
        return;
    while (f->following_count)
        rung_ignore(unfollow(s, player, f->following[f->following_count - 1]), "it is there");
    while (f->followers_count)
        rung_ignore(unfollow(s, f->followers[f->followers_count - 1], player), "it is there");
    rung__sparse_remove(&s->friends, player);
    friends_free(s, f);
}

/* ---- bans ---- */

size_t rung__ban_bytes(uint32_t cap) {
    return sizeof(rung__ban) + cap * sizeof(rung__stashed);
}

rung_digest rung__stashed_digest(uint32_t player, const rung__stashed *e) {
    return rung__fact_digest(RUNG__FACT_STASHED, e->window_tag, player, e->key,
                             RUNG_LADDER_WORDS_MAX);
}

static rung_digest ban_digest(uint32_t player, const rung__ban *ban) {
    rung_digest d = rung__fact_digest(RUNG__FACT_BAN, player, 0, NULL, 0);
    if (ban->until_ms)
        rung__digest_add(
            &d, rung__fact_digest(RUNG__FACT_BAN_END, player, (uint64_t)ban->until_ms, NULL, 0));
    if (ban->is_shadow)
        rung__digest_add(&d, rung__fact_digest(RUNG__FACT_BAN_SHADOW, player, 0, NULL, 0));
    return d;
}

void rung__stashed_set_key(rung_state *s, uint32_t player, rung__stashed *e, const uint64_t *key) {
    rung__digest_subtract(&s->digest, rung__stashed_digest(player, e));
    memcpy(e->key, key, sizeof e->key);
    rung__digest_add(&s->digest, rung__stashed_digest(player, e));
}

void rung__ban_set_end(rung_state *s, rung__ban *ban, int64_t until_ms) {
    ban->until_ms = until_ms;
    if (until_ms && until_ms < s->next_ban_end_ms)
        s->next_ban_end_ms = until_ms;
}

void rung__ban_set_shadow(rung_state *s, rung__ban *ban, bool is_shadow) {
    s->shadow_bans = s->shadow_bans + is_shadow - ban->is_shadow;
    ban->is_shadow = is_shadow;
}

/* A banned player is banned again: only the end changes, and whether it is a shadow ban. */
static rung_status change_terms(rung_state *s, uint32_t player, rung__ban *ban,
                                const rung_event *e) {
    if (ban->until_ms == e->ban.until_ms && ban->is_shadow == e->ban.is_shadow)
        return RUNG_UNCHANGED;
    rung__digest_subtract(&s->digest, ban_digest(player, ban));
    rung__ban_set_end(s, ban, e->ban.until_ms);
    rung__ban_set_shadow(s, ban, e->ban.is_shadow);
    s->people_version = s->seq;
    rung__digest_add(&s->digest, ban_digest(player, ban));
    return RUNG_OK;
}

int64_t rung_state_banned_until(const rung_state *s, rung_slice id) {
    uint32_t player;
    if (rung_names_find(s->players, id, &player) != RUNG_OK)
        return 0;
    const rung__ban *ban = rung__sparse_get(&s->bans, player);
    return ban ? ban->until_ms : 0;
}

uint32_t rung_state_bans_due(rung_state *s, int64_t now_ms, uint32_t room, rung_slice *players,
                             int64_t *untils) {
    uint32_t player = 0, count = 0;
    int64_t next_ms = INT64_MAX;
    if (now_ms < s->next_ban_end_ms)
        return 0;
    for (const rung__ban *ban; (ban = rung__ban_next(s, &player)); player++) {
        if (ban->until_ms && ban->until_ms <= now_ms && count < room) {
            players[count] = rung_names_id(s->players, player);
            untils[count++] = ban->until_ms;
        }
        if (ban->until_ms && ban->until_ms < next_ms)
            next_ms = ban->until_ms;
    }
    s->next_ban_end_ms = next_ms;
    return count;
}

rung_status rung__apply_ban(rung_state *s, const rung_event *event, rung_err *err) {
    uint32_t player, i = 0, j = 0, ranked = 0;
    rung__board *b;
    rung_status st = rung__intern_player(s, event->ban.player, &player);
    if (st < 0)
        return st == RUNG_ENOMEM ? st : RUNG_FAIL_FIELD(err, st, "player", "player limit reached");
    rung__ban *ban = rung__sparse_get(&s->bans, player);
    if (ban)
        return change_terms(s, player, ban, event);
    for (rung__window *w; (w = rung__next_window(s, &i, &j, &b));)
        ranked += w->ladder && rung_ladder_find(w->ladder, player, NULL) == RUNG_OK;
    ban = rung_alloc_zeroed(s->alloc, rung__ban_bytes(ranked));
    if (!ban)
        return RUNG_ENOMEM;
    ban->cap = ranked;
    if (rung__sparse_put(&s->bans, s->alloc, player, ban) < 0) {
        rung_alloc_free(s->alloc, ban, rung__ban_bytes(ranked));
        return RUNG_ENOMEM;
    }
    rung__ban_set_end(s, ban, event->ban.until_ms);
    rung__ban_set_shadow(s, ban, event->ban.is_shadow);
    i = j = 0;
    for (rung__window *w; (w = rung__next_window(s, &i, &j, &b));) {
        rung_ladder_entry entry;
        if (!w->ladder || rung_ladder_find(w->ladder, player, &entry) != RUNG_OK)
            continue;
        rung__stashed *e = &ban->entries[ban->count++];
        e->board_serial = b->serial;
        e->window_tag = w->tag;
        b->has_stash = true;
        memcpy(e->key, entry.key, sizeof e->key);
        e->scope_count = b->scope_count;
        memcpy(e->attributes, b->attribute, sizeof e->attributes);
        rung__ranking_remove(s, b, w, player, e->values);
        rung__digest_add(&s->digest, rung__stashed_digest(player, e));
    }
    rung__digest_add(&s->digest, ban_digest(player, ban));
    s->people_version = s->seq;
    rung__shadow_interrupt_all(s);
    rung__editions_forget(s, player);
    return RUNG_OK;
}

void rung__stashed_values(const rung_state *s, const rung__board *b, uint32_t player,
                          const rung__stashed *e, uint32_t *values) {
    for (uint32_t slot = 0; slot < b->scope_count; slot++) {
        values[slot] = rung__value_of(s, b, slot, player);
        for (uint32_t k = 0; k < e->scope_count; k++)
            if (e->attributes[k] == b->attribute[slot])
                values[slot] = e->values[k];
    }
}

static void ban_remove(rung_state *s, uint32_t player, rung__ban *ban) {
    s->people_version = s->seq;
    for (uint32_t k = 0; k < ban->count; k++)
        rung__digest_subtract(&s->digest, rung__stashed_digest(player, &ban->entries[k]));
    rung__digest_subtract(&s->digest, ban_digest(player, ban));
    s->shadow_bans -= ban->is_shadow;
    rung__sparse_remove(&s->bans, player);
}

rung_status rung__apply_unban(rung_state *s, const rung_event *event, rung_err *err) {
    uint32_t player, i = 0, j = 0;
    rung__board *b;
    (void)err;
    if (rung_names_find(s->players, event->ban.player, &player) != RUNG_OK)
        return RUNG_UNCHANGED;
    rung__ban *ban = rung__sparse_get(&s->bans, player);
    int64_t until_ms = event->ban.until_ms;
    if (!ban || (until_ms && (ban->until_ms != until_ms || s->time_ms < until_ms)))
        return RUNG_UNCHANGED;
    ban_remove(s, player, ban);
    rung__shadow_interrupt_all(s);
    rung_status st = RUNG_OK;
    for (rung__window *w; st >= 0 && (w = rung__next_window(s, &i, &j, &b));)
        for (uint32_t k = 0; k < ban->count; k++) {
            const rung__stashed *e = &ban->entries[k];
            uint32_t values[RUNG__SCOPE_SLOTS];
            if (e->board_serial != b->serial || e->window_tag != w->tag)
                continue;
            rung__stashed_values(s, b, player, e, values);
            st = rung__ranking_restore(s, b, w, player, e->key, values);
        }
    rung_alloc_free(s->alloc, ban, rung__ban_bytes(ban->cap));
    return st < 0 ? st : RUNG_OK;
}

/* Drop stashed entries of a board (or of one of its windows) from one ban. */
static void stash_filter(rung_state *s, uint32_t player, rung__ban *ban, uint64_t board_serial,
                         const uint64_t *window_tag) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < ban->count; k++) {
        rung__stashed *e = &ban->entries[k];
        if (e->board_serial == board_serial && (!window_tag || e->window_tag == *window_tag))
            rung__digest_subtract(&s->digest, rung__stashed_digest(player, e));
        else
            ban->entries[kept++] = *e;
    }
    ban->count = kept;
}

rung__ban *rung__ban_next(const rung_state *s, uint32_t *player) {
    if (rung_numbermap_list(&s->bans.map, *player, player, 1) == 0)
        return NULL;
    return rung__sparse_get(&s->bans, *player);
}

void rung__stash_forget(rung_state *s, uint64_t board_serial, const uint64_t *window_tag) {
    uint32_t player = 0;
    for (rung__ban *ban; (ban = rung__ban_next(s, &player)); player++)
        stash_filter(s, player, ban, board_serial, window_tag);
}

bool rung__stash_has(const rung_state *s, uint64_t board_serial) {
    uint32_t player = 0;
    for (const rung__ban *ban; (ban = rung__ban_next(s, &player)); player++)
        for (uint32_t k = 0; k < ban->count; k++)
            if (ban->entries[k].board_serial == board_serial)
                return true;
    return false;
}

uint32_t rung__stash_board(const rung_state *s, uint64_t serial) {
    uint32_t number = 0;
    while (number < s->board_cap && !(s->boards[number] && s->boards[number]->serial == serial))
        number++;
    return number;
}

/* Entries of one board stay in the order of its windows: the sort is stable. */
static void ban_sort(const rung_state *s, rung__ban *ban) {
    for (uint32_t i = 1; i < ban->count; i++) {
        rung__stashed e = ban->entries[i];
        uint32_t number = rung__stash_board(s, e.board_serial), at = i;
        for (; at && rung__stash_board(s, ban->entries[at - 1].board_serial) > number; at--)
            ban->entries[at] = ban->entries[at - 1];
        ban->entries[at] = e;
    }
}

void rung__stash_sort(rung_state *s, uint64_t board_serial) {
    uint32_t player = 0;
    for (rung__ban *ban; (ban = rung__ban_next(s, &player)); player++)
        for (uint32_t k = 0; k < ban->count; k++)
            if (ban->entries[k].board_serial == board_serial) {
                ban_sort(s, ban);
                break;
            }
}

/* Its place among the windows of its board. */
static uint32_t window_of_tag(const rung__board *b, uint64_t tag) {
    uint32_t i = 0;
    while (i < b->window_count && b->windows[i]->tag != tag)
        i++;
    return i;
}

/* Does entry `e` come before window `w` of board `b`? */
static bool stashed_before(const rung_state *s, const rung__stashed *e, const rung__board *b,
                           const rung__window *w) {
    if (e->board_serial != b->serial)
        return rung__stash_board(s, e->board_serial) < b->number;
    return window_of_tag(b, e->window_tag) < window_of_tag(b, w->tag);
}

rung_status rung__stash_put(rung_state *s, uint32_t player, rung__board *b, const rung__window *w,
                            const uint64_t *key, const uint32_t *values) {
    rung__ban *old = rung__sparse_get(&s->bans, player);
    stash_filter(s, player, old, b->serial, &w->tag);
    rung__ban *ban = rung_alloc_zeroed(s->alloc, rung__ban_bytes(old->count + 1));
    if (!ban)
        return RUNG_ENOMEM;
    ban->cap = old->count + 1;
    ban->until_ms = old->until_ms;
    ban->is_shadow = old->is_shadow;
    uint32_t at = 0;
    while (at < old->count && stashed_before(s, &old->entries[at], b, w))
        at++;
    rung__stashed *e = &ban->entries[at];
    memcpy(ban->entries, old->entries, at * sizeof *e);
    memcpy(e + 1, old->entries + at, (old->count - at) * sizeof *e);
    ban->count = ban->cap;
    e->board_serial = b->serial;
    e->window_tag = w->tag;
    memcpy(e->key, key, sizeof e->key);
    e->scope_count = b->scope_count;
    memcpy(e->attributes, b->attribute, sizeof e->attributes);
    memcpy(e->values, values, b->scope_count * sizeof *values);
    b->has_stash = true;
    if (rung__sparse_put(&s->bans, s->alloc, player, ban) < 0) {
        rung_alloc_free(s->alloc, ban, rung__ban_bytes(ban->cap));
        return RUNG_ENOMEM;
    }
    rung__digest_add(&s->digest, rung__stashed_digest(player, e));
    rung_alloc_free(s->alloc, old, rung__ban_bytes(old->cap));
    return RUNG_OK;
}

void rung__stash_drop_attribute(rung_state *s, uint64_t board_serial, uint32_t attribute) {
    uint32_t player = 0;
    for (rung__ban *ban; (ban = rung__ban_next(s, &player)); player++)
        for (uint32_t k = 0; k < ban->count; k++)
            for (uint32_t i = 0; i < ban->entries[k].scope_count; i++)
                if (ban->entries[k].board_serial == board_serial &&
                    ban->entries[k].attributes[i] == attribute)
                    ban->entries[k].attributes[i] = RUNG__NONE;
}

/* Add a scope to an entry if there is room: some of its scopes may be dropped ones. */
static void stashed_add(rung__stashed *e, uint32_t attribute, uint32_t value) {
    uint32_t at = 0;
    while (at < e->scope_count && e->attributes[at] != RUNG__NONE)
        at++;
    RUNG_ASSERT(at < RUNG__SCOPE_SLOTS);
    e->scope_count += at == e->scope_count;
    e->attributes[at] = attribute;
    e->values[at] = value;
}

void rung__stash_add_attribute(rung_state *s, const rung__board *b, uint32_t slot) {
    uint32_t player = 0;
    for (rung__ban *ban; (ban = rung__ban_next(s, &player)); player++)
        for (uint32_t k = 0; k < ban->count; k++)
            if (ban->entries[k].board_serial == b->serial)
                stashed_add(&ban->entries[k], b->attribute[slot],
                            rung__value_of(s, b, slot, player));
}

/* ---- removal and erasure ---- */

rung_status rung__apply_remove_entry(rung_state *s, const rung_event *e, rung_err *err) {
    rung__board *b = rung__board_find(s, e->removed.board);
    uint32_t player;
    if (!b)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "no such board");
    if (b->def->sketch)
        return rung__sketches_forget(s, b, e->removed.player) ? RUNG_OK : RUNG_UNCHANGED;
    if (rung_names_find(s->players, e->removed.player, &player) != RUNG_OK)
        return RUNG_UNCHANGED;
    return rung__entry_remove(s, b, player);
}

void rung__entry_take_out(rung_state *s, rung__board *b, uint32_t player) {
    for (uint32_t i = 0; i < b->window_count; i++)
        rung__ranking_remove(s, b, b->windows[i], player, NULL);
    rung__form_remove(s, b, player);
    rung__ban *ban = rung__sparse_get(&s->bans, player);
    if (ban)
        stash_filter(s, player, ban, b->serial, NULL);
}

rung_status rung__entry_remove(rung_state *s, rung__board *b, uint32_t player) {
    rung_status any = RUNG_UNCHANGED;
    for (uint32_t i = 0; i < b->window_count; i++)
        if (rung__ranking_remove(s, b, b->windows[i], player, NULL) == RUNG_OK)
            any = RUNG_OK;
    if (rung__rated_remove(s, b, player))
        any = RUNG_OK;
    rung__form_remove(s, b, player);
    rung__ban *ban = rung__sparse_get(&s->bans, player);
    uint32_t stashed = ban ? ban->count : 0;
    if (ban)
        stash_filter(s, player, ban, b->serial, NULL);
    if (b->twin)
        rung__shadow_touch(s, player);
    if (b->shadow)
        rung__shadow_remove(s, b, player);
    return ban && ban->count < stashed ? RUNG_OK : any;
}

static void forget_rates(rung_state *s, uint32_t player) {
    for (uint32_t i = 0; i < s->board_cap; i++) {
        rung__board *b = s->boards[i];
        uint32_t count = b ? rung_numbermap_get(&b->rate, player) : RUNG_NUMBER_NONE;
        if (count == RUNG_NUMBER_NONE)
            continue;
        rung_digest fact = rung__rate_digest(b, player, count);
        rung__digest_subtract(&b->rate_digest, fact);
        rung__digest_subtract(&s->digest, fact);
        rung_numbermap_remove(&b->rate, player);
    }
}

static void forget_ratings(rung_state *s, uint32_t player) {
    for (uint32_t i = 0; i < s->board_cap; i++)
        if (s->boards[i]) {
            rung__rated_remove(s, s->boards[i], player);
            rung__form_remove(s, s->boards[i], player);
        }
}

static void forget_memberships(rung_state *s, uint32_t player) {
    for (uint32_t i = 0; s->set_count && i < s->set_cap; i++) {
        rung__set *set = s->sets[i];
        if (set && rung__set_remove(s, set, player) == RUNG_OK && set->count == 0)
            rung__set_delete(s, set);
    }
}

rung_status rung__apply_erase(rung_state *s, const rung_event *e, rung_err *err) {
    uint32_t player, i = 0, j = 0;
    rung__board *b;
    bool had_session = rung__sessions_end_of(s, e->erased.player);
    had_session |= rung__sketches_forget_everywhere(s, e->erased.player);
    if (rung_names_find(s->players, e->erased.player, &player) != RUNG_OK)
        return had_session ? RUNG_OK
                           : RUNG_FAIL_FIELD(err, RUNG_EABSENT, "player", "no such player");
    rung__shadow_drop_incomplete(s);
    for (rung__window *w; (w = rung__next_window(s, &i, &j, &b));)
        rung__ranking_remove(s, b, w, player, NULL);
    rung__ban *ban = rung__sparse_get(&s->bans, player);
    if (ban) {
        ban_remove(s, player, ban);
        rung_alloc_free(s->alloc, ban, rung__ban_bytes(ban->cap));
    }
    rung__editions_forget(s, player);
    forget_friends(s, player);
    forget_memberships(s, player);
    forget_rates(s, player);
    forget_ratings(s, player);
    rung__ids_forget_player(s, player);
    if (s->reviews.count)
        rung__reviews_forget_player(s, player);
    if (replace_profile(s, player, NULL) < 0)
        return RUNG_ENOMEM;
    rung__holds_forget(s, player);
    rung__forget_player(s, player);
    return RUNG_OK;
}

/* Is more than the name known of any player? */
static bool has_rest(const rung_state *s) {
    return s->profiles.count || s->friends.count || s->bans.count;
}

/* The facts about a player, except the name. */
static rung_digest rest_digest(const rung_state *s, uint32_t player) {
    rung_digest d = {0, 0};
    const rung__profile *p = rung__sparse_get(&s->profiles, player);
    const rung__friends *f = rung__sparse_get(&s->friends, player);
    const rung__ban *ban = rung__sparse_get(&s->bans, player);
    if (p)
        rung__digest_add(&d, profile_digest(player, p));
    for (uint32_t i = 0; f && i < f->following_count; i++)
        rung__digest_add(&d,
                         rung__fact_digest(RUNG__FACT_FOLLOW, player, f->following[i], NULL, 0));
    if (ban)
        rung__digest_add(&d, ban_digest(player, ban));
    for (uint32_t k = 0; ban && k < ban->count; k++)
        rung__digest_add(&d, rung__stashed_digest(player, &ban->entries[k]));
    return d;
}

/* The players in use among `n` numbers from `from` on: their numbers and ids. */
static uint32_t list_players(const rung_state *s, uint32_t from, uint32_t n, uint32_t *players,
                             rung_slice *ids) {
    uint32_t count = 0;
    for (uint32_t player = from; player < from + n; player++) {
        ids[count] = rung_names_id(s->players, player);
        players[count] = player;
        count += ids[count].len != 0;
    }
    return count;
}

/* Hash names in bulk, separately from the rest, so that the two overlap. */
rung_digest rung__people_digest_all(const rung_state *s) {
    enum { BLOCK = 32 };
    rung_digest d = {0, 0};
    rung_slice ids[BLOCK];
    uint64_t hashes[BLOCK];
    uint32_t players[BLOCK], span = rung_names_span(s->players);
    bool is_more_known = has_rest(s);
    for (uint32_t from = 0, n; from < span; from += n) {
        n = span - from < BLOCK ? span - from : BLOCK;
        uint32_t count = list_players(s, from, n, players, ids);
        rung__bytes_hash_many(ids, count, hashes);
        for (uint32_t i = 0; i < count; i++)
            rung__digest_add(&d,
                             rung__fact_digest(RUNG__FACT_PLAYER, players[i], hashes[i], NULL, 0));
        for (uint32_t i = 0; i < count && is_more_known; i++)
            rung__digest_add(&d, rest_digest(s, players[i]));
    }
    return d;
}

void rung__people_deinit(rung_state *s) {
    uint32_t span = s->players && has_rest(s) ? rung_names_span(s->players) : 0;
    for (uint32_t player = 0; player < span; player++) {
        rung__friends *f = rung__sparse_get(&s->friends, player);
        rung__ban *ban = rung__sparse_get(&s->bans, player);
        profile_free(s, rung__sparse_get(&s->profiles, player));
        if (f)
            friends_free(s, f);
        if (ban)
            rung_alloc_free(s->alloc, ban, rung__ban_bytes(ban->cap));
    }
    rung__sparse_deinit(&s->profiles, s->alloc);
    rung__sparse_deinit(&s->friends, s->alloc);
    rung__sparse_deinit(&s->bans, s->alloc);
    for (uint32_t i = 0; i < s->attribute_cap; i++)
        if (s->attributes[i].users)
            attribute_deinit(s, &s->attributes[i]);
    rung_alloc_free(s->alloc, s->attributes, s->attribute_cap * sizeof *s->attributes);
}
