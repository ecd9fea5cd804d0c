/* SPDX-License-Identifier: Apache-2.0 */
/* numbermap.h - from player numbers to other small numbers, dense or sparse.
 *
 * Something that everybody has wants a plain array indexed by player number (4 bytes an entry); something that
 * three hundred among ten million players have cannot afford one. So there are two stores, an array and a hash
 * table, one of which takes new players ("home") while the other drains into it a few entries per change. Which
 * is home follows the density: entries in the map against the highest player number seen.
 *
 * The zero value is an empty map. Never more than a bounded amount of work per call. */
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
    /* the array: chunks of value + 1, 0 = not here; only chunk 0 may be shorter than the others */
    uint32_t **chunks;
    uint32_t chunk_count;   /* slots in `chunks`; a slot may be NULL */
    uint32_t chunk0_len;    /* entries in chunk 0 */
    uint32_t array_count;   /* players in the array */
    uint32_t array_drained; /* with hash_is_home: every player below this is out of the array */
    /* the hash table: extendible, pages chosen by the top `depth` bits */
    /* 1 << depth pointers; a page of local depth d stands 1 << (depth - d) times */
    rung__number_page **pages;
    uint32_t hash_count;
    uint32_t hash_drained; /* without hash_is_home: slots of the directory below this are empty */
    uint8_t depth;
    bool hash_is_home;
    uint64_t span;     /* highest player ever set + 1 */
    uint32_t expected; /* see rung_numbermap_expect() */
    size_t bytes;      /* all memory held, without the struct itself */
} rung_numbermap;

void rung_numbermap_deinit(rung_numbermap *m, const rung_alloc *a);

/* Make sure that the next rung_numbermap_set(m, player) of a player not in the map cannot fail. May switch homes and
 * moves some entries along. RUNG_OK or RUNG_ENOMEM; the contents are the same either way. */
RUNG_NODISCARD rung_status rung_numbermap_reserve(rung_numbermap *m, const rung_alloc *a,
                                                  uint32_t player);

/* Both in one, for a player who is new: RUNG_OK, RUNG_UNCHANGED (who is in the map keeps the value), RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_numbermap_add(rung_numbermap *m, const rung_alloc *a,
                                              uint32_t player, uint32_t value);

/* The map will soon have `count` players: choose the home for so many, and do not move house on the way. 0: no
 * longer. */
static inline void rung_numbermap_expect(rung_numbermap *m, uint32_t count) {
    m->expected = count;
}

/* Private: a player's place in the array, NULL where it has none; and what the hash table has. */
static inline uint32_t *rung__numbermap_cell(const rung_numbermap *m, uint32_t player) {
    uint32_t c = player >> RUNG__NUMBER_CHUNK_BITS;
    if (c >= m->chunk_count || !m->chunks[c] || (c == 0 && player >= m->chunk0_len))
        return NULL;
    return &m->chunks[c][player & ((UINT32_C(1) << RUNG__NUMBER_CHUNK_BITS) - 1)];
}
uint32_t rung__numbermap_get_hashed(const rung_numbermap *m, uint32_t player);
void rung__numbermap_set_elsewhere(rung_numbermap *m, uint32_t player, uint32_t value);
void rung__numbermap_prefetch_hashed(const rung_numbermap *m, uint32_t player);

/* RUNG_NUMBER_NONE when not here. */
static inline uint32_t rung_numbermap_get(const rung_numbermap *m, uint32_t player) {
    const uint32_t *cell = rung__numbermap_cell(m, player);
    if (cell && *cell)
        return *cell - 1;
    return m->hash_count ? rung__numbermap_get_hashed(m, player) : RUNG_NUMBER_NONE;
}

/* Set the value (any but RUNG_NUMBER_NONE) of a player who is in the map, or for whom room was reserved by the
 * last call. */
static inline void rung_numbermap_set(rung_numbermap *m, uint32_t player, uint32_t value) {
    uint32_t *cell = rung__numbermap_cell(m, player);
    if (cell && *cell && value != RUNG_NUMBER_NONE)
        *cell = value + 1;
    else
        rung__numbermap_set_elsewhere(m, player, value);
}

void rung_numbermap_remove(rung_numbermap *m, uint32_t player);

/* ---- many at once ----
 * Filling an empty map with most of the players below `span`, in any order. Until its turn comes, a player's place has
 * a note, any 32 bits, which the filler wrote there first: what it must know of the player is then where the value
 * goes, and takes no cache miss of its own.
 *
 *     begin; write notes(0), notes(their count), ... until there are none; put everybody; end, also after a failure
 *
 * In between the map may be asked nothing. */
typedef struct rung_numbermap_fill {
    rung_numbermap *map; /* NULL: none is under way */
    const rung_alloc *alloc;
    uint64_t *is_in; /* a bit for each player: put, so there is no note any more */
    uint32_t span;
} rung_numbermap_fill;

/* Is the array the right store for so many? Else a fill would waste memory. */
bool rung_numbermap_fill_fits(uint32_t count, uint32_t span);
/* RUNG_OK or RUNG_ENOMEM; then nothing has begun. The map must be empty. */
RUNG_NODISCARD rung_status rung_numbermap_fill_begin(rung_numbermap_fill *f, rung_numbermap *m,
                                                     const rung_alloc *a, uint32_t span);
/* The notes of the players from `from` on, `*n_out` of them; none from the span on. */
uint32_t *rung_numbermap_fill_notes(const rung_numbermap_fill *f, uint32_t from, uint32_t *n_out);
/* Take the player's note and leave the value. False: it was put before, or is not below the span. */
static inline bool rung_numbermap_fill_put(rung_numbermap_fill *f, uint32_t player, uint32_t value,
                                           uint32_t *note_out) {
    if (player >= f->span || (f->is_in[player / 64] >> player % 64 & 1))
        return false;
    uint32_t *cell = rung__numbermap_cell(f->map, player);
    f->is_in[player / 64] |= UINT64_C(1) << player % 64;
    *note_out = *cell;
    *cell = value + 1;
    return true;
}
/* Ask for what that needs. */
static inline void rung_numbermap_fill_prefetch(const rung_numbermap_fill *f, uint32_t player) {
    if (player >= f->span)
        return;
    rung_prefetch(rung__numbermap_cell(f->map, player));
    rung_prefetch(&f->is_in[player / 64]);
}
void rung_numbermap_fill_end(rung_numbermap_fill *f);

/* The players of the map from `from` on, ascending, at most `room` of them; returns how many. For a walk over
 * all n of them without memory: again from the last + 1 until fewer than `room` come. It costs O(span) or, if
 * less, O(n * n / room). */
uint32_t rung_numbermap_list(const rung_numbermap *m, uint32_t from, uint32_t *players,
                             uint32_t room);

static inline void rung_numbermap_prefetch(const rung_numbermap *m, uint32_t player) {
    const uint32_t *cell = rung__numbermap_cell(m, player);
    if (cell)
        rung_prefetch(cell);
    if (m->hash_count)
        rung__numbermap_prefetch_hashed(m, player);
}

/* NULL, or what is wrong. */
const char *rung_numbermap_check(const rung_numbermap *m);

#endif
