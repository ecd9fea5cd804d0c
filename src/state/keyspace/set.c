/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of members, such as the friends in a ZINTERSTORE. Most are small, and there may be one per player: an
 * ascending list of player numbers, 4 bytes each, with binary search. A set that grows large moves to a number map
 * and stays there.
 *
 *   M1 Members are players in use; the list ascends.
 *   M2 A set has at least one member: removing the last one deletes the set. */
#include "state/keyspace/set.h"

#include "state/board.h"
#include "state/digest.h"

#include <string.h>

#ifdef RUNG_TEST_BUILD
enum { LIST_MAX = 8 };
#else
enum {
    LIST_MAX = 1024
}; /* an insertion moves 2 KiB on average, which costs as much as a look-up in a map */
#endif

/* ---- facts ---- */

rung_digest rung__set_digest(const rung_state *s, const rung__set *set) {
    rung_slice name = rung_names_id(s->board_ids, set->number);
    uint64_t words[3] = {rung__bytes_hash(name.ptr, name.len), set->expiry.place != 0,
                         set->expiry.place ? (uint64_t)set->expiry.at_ms : 0};
    return rung__fact_digest(RUNG__FACT_SET, set->serial, set->number, words, 3);
}

static rung_digest member_digest(const rung__set *set, uint32_t player) {
    return rung__fact_digest(RUNG__FACT_MEMBER, set->serial, player, NULL, 0);
}

/* The facts about all members, added to `d` or subtracted from it. */
static void each_member(const rung__set *set, rung_digest *d,
                        void (*change)(rung_digest *d, rung_digest fact)) {
    uint32_t players[256], n, from = 0;
    do {
        n = rung__set_list(set, from, players, 256);
        for (uint32_t i = 0; i < n; i++)
            change(d, member_digest(set, players[i]));
        from = n ? players[n - 1] + 1 : 0;
    } while (n == 256);
}

rung_digest rung__set_digest_all(const rung_state *s, const rung__set *set) {
    rung_digest d = rung__set_digest(s, set);
    each_member(set, &d, rung__digest_add);
    return d;
}

/* ---- life ---- */

rung__set *rung__set_find(const rung_state *s, rung_slice name) {
    uint32_t number;
    if (!s->set_count || rung_names_find(s->board_ids, name, &number) != RUNG_OK ||
        number >= s->set_cap)
        return NULL;
    return s->sets[number];
}

rung_status rung__set_create(rung_state *s, rung_slice name, rung__set **out, rung_err *err) {
    uint32_t number;
    rung_status st =
        rung__key_may_be_made(s) ? rung_names_intern(s->board_ids, name, &number) : RUNG_ELIMIT;
    if (st < 0)
        return st == RUNG_ELIMIT ? RUNG_FAIL_FIELD(err, st, "key", "key limit reached") : st;
    rung__set *set = rung_alloc_zeroed(s->alloc, sizeof *set);
    if (!set || rung__grow(s->alloc, &s->sets, &s->set_cap, number + 1, sizeof *s->sets) < 0) {
        rung_alloc_free(s->alloc, set, set ? sizeof *set : 0);
        rung_names_remove(s->board_ids, number);
        return RUNG_ENOMEM;
    }
    set->number = number;
    set->serial = rung__serial_new(s);
    set->version = s->seq;
    s->sets[number] = set;
    s->set_count++;
    rung__digest_add(&s->digest, rung__set_digest(s, set));
    *out = set;
    return RUNG_OK;
}

void rung__set_free(rung_state *s, rung__set *set) {
    rung_alloc_free(s->alloc, set->list, set->list_cap * sizeof *set->list);
    if (set->map)
        rung_numbermap_deinit(set->map, s->alloc);
    rung_alloc_free(s->alloc, set->map, set->map ? sizeof *set->map : 0);
    rung_alloc_free(s->alloc, set, sizeof *set);
}

void rung__set_delete(rung_state *s, rung__set *set) {
    each_member(set, &s->digest, rung__digest_subtract);
    rung__digest_subtract(&s->digest, rung__set_digest(s, set));
    rung__expiry_clear(s, set->number);
    s->sets[set->number] = NULL;
    s->set_count--;
    rung_names_remove(s->board_ids, set->number);
    rung__set_free(s, set);
}

/* ---- members ---- */

bool rung__set_has(const rung__set *set, uint32_t player) {
    if (set->map)
        return rung_numbermap_get(set->map, player) != RUNG_NUMBER_NONE;
    uint32_t at = rung__list_place(set->list, set->count, player);
    return at < set->count && set->list[at] == player;
}

static rung_status move_to_map(rung_state *s, rung__set *set) {
    rung_numbermap *map = rung_alloc_zeroed(s->alloc, sizeof *map);
    if (!map)
        return RUNG_ENOMEM;
    for (uint32_t i = 0; i < set->count; i++) {
        if (rung_numbermap_add(map, s->alloc, set->list[i], 0) < 0) {
            rung_numbermap_deinit(map, s->alloc);
            rung_alloc_free(s->alloc, map, sizeof *map);
            return RUNG_ENOMEM;
        }
    }
    rung_alloc_free(s->alloc, set->list, set->list_cap * sizeof *set->list);
    set->list = NULL;
    set->list_cap = 0;
    set->map = map;
    return RUNG_OK;
}

static rung_status add_to_list(rung_state *s, rung__set *set, uint32_t player) {
    if (rung__grow(s->alloc, &set->list, &set->list_cap, set->count + 1, sizeof *set->list) < 0)
        return RUNG_ENOMEM;
    uint32_t at = rung__list_place(set->list, set->count, player);
    memmove(&set->list[at + 1], &set->list[at], (set->count - at) * sizeof *set->list);
    set->list[at] = player;
    return RUNG_OK;
}

rung_status rung__set_add(rung_state *s, rung__set *set, uint32_t player) {
    if (rung__set_has(set, player))
        return RUNG_UNCHANGED;
    if (!set->map && set->count == LIST_MAX && move_to_map(s, set) < 0)
        return RUNG_ENOMEM;
    if ((set->map ? rung_numbermap_add(set->map, s->alloc, player, 0)
                  : add_to_list(s, set, player)) < 0)
        return RUNG_ENOMEM;
    set->count++;
    set->version = s->seq;
    rung__digest_add(&s->digest, member_digest(set, player));
    return RUNG_OK;
}

rung_status rung__set_remove(rung_state *s, rung__set *set, uint32_t player) {
    if (!rung__set_has(set, player))
        return RUNG_NOT_FOUND;
    uint32_t at = set->map ? 0 : rung__list_place(set->list, set->count, player);
    set->count--;
    set->version = s->seq;
    rung__digest_subtract(&s->digest, member_digest(set, player));
    if (set->map) {
        rung_numbermap_remove(set->map, player);
        return RUNG_OK;
    }
    memmove(&set->list[at], &set->list[at + 1], (set->count - at) * sizeof *set->list);
    return RUNG_OK;
}

uint32_t rung__set_list(const rung__set *set, uint32_t from, uint32_t *players, uint32_t room) {
    if (set->map)
        return rung_numbermap_list(set->map, from, players, room);
    uint32_t at = rung__list_place(set->list, set->count, from),
             n = set->count - at < room ? set->count - at : room;
    if (n)
        memcpy(players, set->list + at, n * sizeof *players);
    return n;
}

/* ---- tests and figures ---- */

size_t rung__set_memory(const rung__set *set) {
    return sizeof *set + set->list_cap * sizeof *set->list +
           (set->map ? sizeof *set->map + set->map->bytes : 0);
}

const char *rung__set_check(const rung_state *s, const rung__set *set) {
    const char *wrong = set->map ? rung_numbermap_check(set->map) : NULL;
    uint32_t player, from = 0, count = 0;
    for (; rung__set_list(set, from, &player, 1); from = player + 1, count++)
        if (!rung_names_is_used(s->players, player) || player < from)
            return "M1: a set has a member that is nobody, or out of order";
    if (!wrong && (count != set->count || count == 0))
        wrong = "M2: a set is empty, or miscounted";
    return wrong;
}
