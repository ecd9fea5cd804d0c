/* SPDX-License-Identifier: Apache-2.0 */
/* A bit for each of the last offsets of a source, in a ring; below the ring, everything counts as seen:
 *
 *     0 ............ next - window ............ next ......
 *       seen           a bit says               not seen
 *
 * A sender keeps fewer than RUNG_SOURCE_WINDOW offsets between its oldest unanswered one and its newest. So when an
 * offset leaves the ring without its bit, no sender will send it: it was answered in another way (refused).
 *
 * Invariants:
 *   S1 The bit of next - 1 is set.
 *   S2 Every set bit is a fact in the digest, and nothing else of a source is. */
#include "state/sources.h"

#include "base/assert.h"
#include "state/digest.h"
#include "state/machine.h"

rung_status rung__sources_create(rung_state *s) {
    rung_status st = rung_names_create(s->alloc, &s->hash_key, &s->sources.names);
    if (st == RUNG_OK)
        rung_names_set_limit(s->sources.names, RUNG__SOURCES_MAX);
    return st;
}

void rung__sources_destroy(rung_state *s) {
    rung__sources *all = &s->sources;
    for (uint32_t i = 0; i < all->cap; i++)
        rung_alloc_free(s->alloc, all->items[i], all->items[i] ? sizeof *all->items[i] : 0);
    rung_alloc_free(s->alloc, all->items, all->cap * sizeof *all->items);
    rung_names_destroy(all->names);
}

/* ---- one source ---- */

static uint64_t *word_of(rung__source *source, uint64_t offset) {
    return &source->seen[offset % RUNG_SOURCE_WINDOW / 64];
}

static bool has_bit(const rung__source *source, uint64_t offset) {
    return source->seen[offset % RUNG_SOURCE_WINDOW / 64] >> (offset % 64) & 1;
}

static bool has(const rung__source *source, uint64_t offset) {
    if (offset >= source->next)
        return false;
    return source->next - offset > RUNG_SOURCE_WINDOW || has_bit(source, offset);
}

static rung_digest fact_of(const rung_state *s, uint32_t number, uint64_t offset) {
    rung_slice name = rung_names_id(s->sources.names, number);
    return rung__fact_digest(RUNG__FACT_SOURCE, rung__bytes_hash(name.ptr, name.len), offset, NULL,
                             0);
}

/* Let the offsets that `offset` pushes out of the ring go. */
static void slide(rung_state *s, uint32_t number, uint64_t offset) {
    rung__source *source = s->sources.items[number];
    uint64_t steps = offset - source->next + 1;
    steps = steps < RUNG_SOURCE_WINDOW ? steps : RUNG_SOURCE_WINDOW;
    for (uint64_t at = source->next, end = at + steps; at < end; at++) {
        if (!has_bit(source, at)) /* the bit of at - window */
            continue;
        rung__digest_subtract(&s->digest, fact_of(s, number, at - RUNG_SOURCE_WINDOW));
        *word_of(source, at) &= ~(UINT64_C(1) << (at % 64));
    }
    source->next = offset + 1;
}

/* ---- all of them ---- */

bool rung__source_has(const rung_state *s, rung_slice name, uint64_t offset) {
    uint32_t number;
    return rung_names_find(s->sources.names, name, &number) == RUNG_OK &&
           has(s->sources.items[number], offset);
}

rung_status rung__source_claim(rung_state *s, rung_slice name, uint32_t *number_out) {
    rung__sources *all = &s->sources;
    rung_status st = rung_names_intern(all->names, name, number_out);
    if (st != RUNG_OK)
        return st;
    if (rung__grow(s->alloc, &all->items, &all->cap, *number_out + 1, sizeof *all->items) ==
        RUNG_OK)
        all->items[*number_out] = rung_alloc_zeroed(s->alloc, sizeof(rung__source));
    if (*number_out < all->cap && all->items[*number_out])
        return RUNG_OK;
    rung_names_remove(all->names, *number_out);
    return RUNG_ENOMEM;
}

void rung__source_unclaim(rung_state *s, uint32_t number) {
    rung_alloc_free(s->alloc, s->sources.items[number], sizeof(rung__source));
    s->sources.items[number] = NULL;
    rung_names_remove(s->sources.names, number);
}

void rung__source_mark(rung_state *s, uint32_t number, uint64_t offset) {
    rung__source *source = s->sources.items[number];
    RUNG_ASSERT(!has(source, offset));
    if (offset >= source->next)
        slide(s, number, offset);
    *word_of(source, offset) |= UINT64_C(1) << (offset % 64);
    rung__digest_add(&s->digest, fact_of(s, number, offset));
}

rung_status rung__source_restore(rung_state *s, uint32_t number, const rung__source *source) {
    rung__sources *all = &s->sources;
    rung_status st = rung__grow(s->alloc, &all->items, &all->cap, number + 1, sizeof *all->items);
    if (st < 0)
        return st;
    all->items[number] = rung_alloc_get(s->alloc, sizeof *source);
    if (!all->items[number])
        return RUNG_ENOMEM;
    *all->items[number] = *source;
    return RUNG_OK;
}

/* S1; and no bit stands for an offset below 0. */
bool rung__source_is_valid(const rung__source *source) {
    if (!source->next || source->next - 1 > RUNG_SOURCE_OFFSET_MAX ||
        !has_bit(source, source->next - 1))
        return false;
    for (uint64_t at = source->next; at < RUNG_SOURCE_WINDOW; at++)
        if (has_bit(source, at))
            return false;
    return true;
}

size_t rung__sources_bytes(const rung_state *s) {
    const rung__sources *all = &s->sources;
    return rung_names_size_bytes(all->names) + all->cap * sizeof *all->items +
           rung_names_count(all->names) * sizeof(rung__source);
}

rung_digest rung__sources_digest_all(const rung_state *s) {
    rung_digest sum = {0, 0};
    for (uint32_t i = 0; i < s->sources.cap; i++) {
        const rung__source *source = s->sources.items[i];
        uint64_t low =
            source && source->next > RUNG_SOURCE_WINDOW ? source->next - RUNG_SOURCE_WINDOW : 0;
        for (uint64_t at = low; source && at < source->next; at++)
            if (has_bit(source, at))
                rung__digest_add(&sum, fact_of(s, i, at));
    }
    return sum;
}

const char *rung__sources_check(const rung_state *s) {
    const rung__sources *all = &s->sources;
    for (uint32_t i = 0; i < all->cap; i++) {
        if (rung_names_is_used(all->names, i) != (all->items[i] != NULL))
            return "S1: a source has a name or a record, not both";
        if (all->items[i] && !rung__source_is_valid(all->items[i]))
            return "S1: a source's record is not valid";
    }
    return NULL;
}
