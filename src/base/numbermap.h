/* SPDX-License-Identifier: Apache-2.0 */
/* numbermap.h - a map from 32-bit numbers to 32-bit numbers, for dense or sparse keys.
 *
 * Dense keys want a plain array indexed by key, 4 bytes per entry. Three hundred keys out of ten million cannot
 * afford one. So there are two stores, an array and a hash table. One of them, the home, takes new keys; the other
 * drains into it a few entries per change. The density decides which is home: the number of entries against the
 * highest key seen.
 *
 * The zero value is an empty map. Every call does a bounded amount of work. */
#ifndef RUNG_BASE_NUMBERMAP_H
#define RUNG_BASE_NUMBERMAP_H

#include "base/alloc.h"
#include "base/prefetch.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_NUMBER_NONE UINT32_MAX

#ifdef RUNG_TEST_BUILD
enum { RUNG__NUMBER_CHUNK_BITS = 4 };
#else
enum { RUNG__NUMBER_CHUNK_BITS = 19 };
#endif

typedef struct rung__number_page rung__number_page;

typedef struct rung_numbermap {
    /* The array: chunks of value + 1, 0 for no entry. Only chunk 0 may be shorter than the others. */
    uint32_t **chunks;
    uint32_t chunk_count;   /* slots in `chunks`; a slot may be NULL */
    uint32_t chunk0_len;    /* entries in chunk 0 */
    uint32_t array_count;   /* entries in the array */
    uint32_t array_drained; /* with hash_is_home: no key below this is in the array */
    /* The hash table: extendible hashing; the top `depth` bits select the page. */
    /* 1 << depth pointers; a page of local depth d occurs 1 << (depth - d) times. */
    rung__number_page **pages;
    uint32_t hash_count;
    uint32_t hash_drained; /* without hash_is_home: directory slots below this are empty */
    uint8_t depth;
    bool hash_is_home;
    uint64_t span;     /* highest key ever set + 1 */
    uint32_t expected; /* see rung_numbermap_expect() */
    size_t bytes;      /* memory held, without the struct itself */
} rung_numbermap;

void rung_numbermap_deinit(rung_numbermap *m, const rung_alloc *a);

/* Guarantee that the next rung_numbermap_set() of this key, which is not in the map, cannot fail. May switch homes,
 * and moves some entries along. RUNG_OK or RUNG_ENOMEM; the contents are the same either way. */
RUNG_NODISCARD rung_status rung_numbermap_reserve(rung_numbermap *m, const rung_alloc *a,
                                                  uint32_t key);

/* Reserve and set in one call. RUNG_OK; RUNG_UNCHANGED: the key is in the map and keeps its value; RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_numbermap_add(rung_numbermap *m, const rung_alloc *a, uint32_t key,
                                              uint32_t value);

/* Announce that the map will soon have `count` entries: it chooses the home for that many and does not switch on the
 * way. 0: no longer. */
static inline void rung_numbermap_expect(rung_numbermap *m, uint32_t count) {
    m->expected = count;
}

/* Private: a key's cell in the array (NULL: none), and the same operations for the hash table. */
static inline uint32_t *rung__numbermap_cell(const rung_numbermap *m, uint32_t key) {
    uint32_t c = key >> RUNG__NUMBER_CHUNK_BITS;
    if (c >= m->chunk_count || !m->chunks[c] || (c == 0 && key >= m->chunk0_len))
        return NULL;
    return &m->chunks[c][key & ((UINT32_C(1) << RUNG__NUMBER_CHUNK_BITS) - 1)];
}
uint32_t rung__numbermap_get_hashed(const rung_numbermap *m, uint32_t key);
void rung__numbermap_set_elsewhere(rung_numbermap *m, uint32_t key, uint32_t value);
void rung__numbermap_prefetch_hashed(const rung_numbermap *m, uint32_t key);

/* RUNG_NUMBER_NONE: not in the map. */
static inline uint32_t rung_numbermap_get(const rung_numbermap *m, uint32_t key) {
    const uint32_t *cell = rung__numbermap_cell(m, key);
    if (cell && *cell)
        return *cell - 1;
    return m->hash_count ? rung__numbermap_get_hashed(m, key) : RUNG_NUMBER_NONE;
}

/* Set the value (any but RUNG_NUMBER_NONE) of a key that is in the map, or that the last call reserved. */
static inline void rung_numbermap_set(rung_numbermap *m, uint32_t key, uint32_t value) {
    uint32_t *cell = rung__numbermap_cell(m, key);
    if (cell && *cell && value != RUNG_NUMBER_NONE)
        *cell = value + 1;
    else
        rung__numbermap_set_elsewhere(m, key, value);
}

void rung_numbermap_remove(rung_numbermap *m, uint32_t key);

/* ---- bulk fill ----
 *
 * Fill an empty map with most of the keys below `span`, in any order. Before a key is put, its cell holds a note: any
 * 32 bits, which the caller wrote first. Reading the note when the key is put then costs no cache miss of its own,
 * since the value goes to the same cell.
 *
 *     begin; write notes(0), notes(their count), ... until there are none; put every key; end, also after a failure
 *
 * Between begin and end, no other function may use the map. */
typedef struct rung_numbermap_fill {
    rung_numbermap *map; /* NULL: no fill is running */
    const rung_alloc *alloc;
    uint64_t *is_in; /* one bit per key: it was put, and its note is gone */
    uint32_t span;
} rung_numbermap_fill;

/* Is the array the right home for this many? Otherwise a fill would waste memory. */
bool rung_numbermap_fill_fits(uint32_t count, uint32_t span);
/* RUNG_OK, or RUNG_ENOMEM: the fill has not begun. The map must be empty. */
RUNG_NODISCARD rung_status rung_numbermap_fill_begin(rung_numbermap_fill *f, rung_numbermap *m,
                                                     const rung_alloc *a, uint32_t span);
/* The notes of the keys from `from` on, `*n_out` of them; none at or beyond the span. */
uint32_t *rung_numbermap_fill_notes(const rung_numbermap_fill *f, uint32_t from, uint32_t *n_out);
/* Read the key's note and store the value in its place. false: the key was put before, or is not below the span. */
static inline bool rung_numbermap_fill_put(rung_numbermap_fill *f, uint32_t key, uint32_t value,
                                           uint32_t *note_out) {
    if (key >= f->span || (f->is_in[key / 64] >> key % 64 & 1))
        return false;
    uint32_t *cell = rung__numbermap_cell(f->map, key);
    f->is_in[key / 64] |= UINT64_C(1) << key % 64;
    *note_out = *cell;
    *cell = value + 1;
    return true;
}
/* Prefetch for rung_numbermap_fill_put(). */
static inline void rung_numbermap_fill_prefetch(const rung_numbermap_fill *f, uint32_t key) {
    if (key >= f->span)
        return;
    rung_prefetch(rung__numbermap_cell(f->map, key));
    rung_prefetch(&f->is_in[key / 64]);
}
void rung_numbermap_fill_end(rung_numbermap_fill *f);

/* The keys from `from` on, ascending, at most `room`. Returns how many. To walk over all n keys without memory, call
 * it again from the last key + 1 until it returns fewer than `room`. The walk costs O(span) or O(n * n / room),
 * whichever is less. */
uint32_t rung_numbermap_list(const rung_numbermap *m, uint32_t from, uint32_t *keys, uint32_t room);

static inline void rung_numbermap_prefetch(const rung_numbermap *m, uint32_t key) {
    const uint32_t *cell = rung__numbermap_cell(m, key);
    if (cell)
        rung_prefetch(cell);
    if (m->hash_count)
        rung__numbermap_prefetch_hashed(m, key);
}

/* NULL, or the broken invariant; for tests. */
const char *rung_numbermap_check(const rung_numbermap *m);

#endif
