/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that expire: a binary min-heap of their numbers, the first to expire on top. A key knows its place in the
 * heap, so removing it or changing its expiry costs O(log n).
 *
 *   E1 A key is in the heap, at the place it knows, iff it expires.
 *   E2 No key expires before its parent; of keys that expire together, the smaller number is above. So the order in
 *      which keys expire, and in which their numbers become free, depends only on the events. */
#include "state/keyspace/expiry.h"

#include "state/keyspace/commands.h"
#include "state/keyspace/set.h"

rung__expiry *rung__expiry_of(const rung_state *s, uint32_t number) {
    if (number < s->board_cap && s->boards[number])
        return &s->boards[number]->expiry;
    return number < s->set_cap && s->sets[number] ? &s->sets[number]->expiry : NULL;
}

static bool ends_before(const rung_state *s, uint32_t a, uint32_t b) {
    int64_t x = rung__expiry_of(s, a)->at_ms, y = rung__expiry_of(s, b)->at_ms;
    return x != y ? x < y : a < b;
}

static void put_at(rung_state *s, uint32_t place, uint32_t number) {
    s->expiring[place] = number;
    rung__expiry_of(s, number)->place = place + 1;
}

/* Find the place of `number`, starting at one that is free. */
static void settle(rung_state *s, uint32_t at, uint32_t number) {
    for (; at && ends_before(s, number, s->expiring[(at - 1) / 2]); at = (at - 1) / 2)
        put_at(s, at, s->expiring[(at - 1) / 2]);
    for (uint32_t child; (child = 2 * at + 1) < s->expiring_count; at = child) {
        if (child + 1 < s->expiring_count &&
            ends_before(s, s->expiring[child + 1], s->expiring[child]))
            child++;
        if (ends_before(s, number, s->expiring[child]))
            break;
        put_at(s, at, s->expiring[child]);
    }
    put_at(s, at, number);
}

rung_status rung__expiry_reserve(rung_state *s) {
    return rung__grow(s->alloc, &s->expiring, &s->expiring_cap, s->expiring_count + 1,
                      sizeof *s->expiring);
}

void rung__expiry_clear(rung_state *s, uint32_t number) {
    rung__expiry *e = rung__expiry_of(s, number);
    if (!e->place)
        return;
    uint32_t at = e->place - 1, last = s->expiring[--s->expiring_count];
    e->place = 0;
    e->at_ms = 0;
    if (last != number)
        settle(s, at, last);
}

void rung__expiry_set(rung_state *s, uint32_t number, int64_t at_ms) {
    rung__expiry_clear(s, number);
    rung__expiry_of(s, number)->at_ms = at_ms;
    s->expiring_count++;
    settle(s, s->expiring_count - 1, number);
}

void rung__expiry_renumber(rung_state *s, uint32_t number) {
    const rung__expiry *e = rung__expiry_of(s, number);
    if (e->place)
        settle(s, e->place - 1, number);
}

int64_t rung__expiry_next(const rung_state *s) {
    return s->expiring_count ? rung__expiry_of(s, s->expiring[0])->at_ms : INT64_MAX;
}

bool rung__expiry_purge(rung_state *s) {
    bool any = false;
    for (; s->expiring_count && rung__expiry_next(s) <= s->time_ms; any = true)
        rung__key_delete(s, s->expiring[0]);
    return any;
}

const char *rung__expiry_check(const rung_state *s) {
    uint32_t ending = 0, span = s->board_cap > s->set_cap ? s->board_cap : s->set_cap;
    for (uint32_t number = 0; number < span; number++) {
        const rung__expiry *e = rung__expiry_of(s, number);
        if (!e || !e->place)
            continue;
        ending++;
        if (e->place > s->expiring_count || s->expiring[e->place - 1] != number)
            return "E1: a key is not where it believes to be";
    }
    for (uint32_t i = 1; i < s->expiring_count; i++)
        if (ends_before(s, s->expiring[i], s->expiring[(i - 1) / 2]))
            return "E2: a key ends before the one above it";
    return ending == s->expiring_count ? NULL : "E1: keys whose time ends are miscounted";
}
