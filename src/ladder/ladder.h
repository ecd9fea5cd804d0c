/* SPDX-License-Identifier: Apache-2.0 */
/* ladder.h - the ordered index: players by key, answering rank both ways in three rank styles.
 *
 * An entry is (key, player): a key of 1 to 4 unsigned 64-bit words compared in order, smaller is better, and a
 * 32-bit player number. At most one entry per player. Whatever a board means (direction, type, columns, who wins
 * a tie) is already in the words; entries with equal words are ordered by player number, or by a comparison
 * the owner supplies. The leading `score_words` words are "the score": sparse and dense rank treat entries
 * with equal scores as equal, unique rank never does.
 *
 *     rung_ladder *l;
 *     rung_ladder_create(&(rung_ladder_config){.alloc = rung_alloc_heap(), .key_words = 2, .score_words = 1}, &l);
 *     rung_ladder_put(l, player, (uint64_t[]){~score, at}, NULL);
 *     rung_ladder_rank(l, player, RUNG_RANK_SPARSE, &rank);      // 1 = best
 *
 * Pure: no I/O, clock or threads. One thread at a time. Costs are O(log n) unless said otherwise.
 * `index` counts from 0 over all entries in order; `rank` counts from 1. */
#ifndef RUNG_LADDER_LADDER_H
#define RUNG_LADDER_LADDER_H

#include "base/alloc.h"
#include "base/status.h"
#include "ladder/arena.h"
#include "model/words.h"

#include <stdbool.h>
#include <stdint.h>

enum { RUNG_LADDER_WORDS_MAX = 4 };
#define RUNG_LADDER_COUNT_MAX UINT32_C(0xfffffff0)

/* Heap object; the creator calls rung_ladder_destroy(). */
typedef struct rung_ladder rung_ladder;

/* Order of two players whose words are equal: <0, 0 (same player), >0. Must be total, and constant while both
 * are in the ladder. Called only for players that are in it or being put. */
typedef int (*rung_ladder_tie)(const void *ctx, uint32_t a, uint32_t b);

/* What makes ties cheap where comparing two players reads distant memory.
 *   prefetch      prefetches what `tie` reads of a player: part 0, then part 1, which reads what part 0 prefetched
 *   prefix        4 bytes kept with the entry that settle most ties: if a comes before b by `tie`, a's prefix is not
 *                 greater than b's; only for equal prefixes is `tie` called. NULL: no prefixes
 *   prefix_begin  called once, when the ladder outgrows its first leaf, with the players in it: stores in `origin`
 *                 what their ids have in common, which the prefixes then leave out
 *   span          all player numbers are below this
 *   prefixes      those of the `n` players from number `from` on, faster than one by one; anything for unused
 *                 numbers. NULL (`span` may then be NULL too): only one by one */
enum { RUNG_LADDER_ORIGIN_BYTES = 40 };
typedef struct rung_ladder_aid {
    void (*prefetch)(const void *ctx, uint32_t player, int part);
    void (*prefix_begin)(const void *ctx, uint32_t n, const uint32_t *players, void *origin);
    uint32_t (*prefix)(const void *ctx, const void *origin, uint32_t player);
    uint32_t (*span)(const void *ctx);
    void (*prefixes)(const void *ctx, const void *origin, uint32_t from, uint32_t n,
                     uint32_t *prefixes_out);
} rung_ladder_aid;

typedef struct rung_ladder_config {
    const rung_alloc *alloc;        /* outlives the ladder */
    uint8_t key_words;              /* 1..4 */
    uint8_t score_words;            /* 1..key_words */
    rung_ladder_tie tie;            /* NULL: smaller player number first */
    const void *tie_ctx;            /* borrowed; outlives the ladder */
    const rung_ladder_aid *tie_aid; /* NULL: `tie` reads nothing distant */
    /* Another ladder with the same words and order that holds every player of this one, at the same key. This one then
     * keeps no map from players to leaves, but takes the key from the guide: look-ups are slower, entries smaller.
     * Change the guided ladder first, then the guide. Borrowed; NULL: none. */
    const rung_ladder *guide;
    rung_arena *arena; /* where nodes are allocated; outlives the ladder. NULL: from `alloc` */
} rung_ladder_config;

typedef struct rung_ladder_entry {
    uint64_t key[RUNG_LADDER_WORDS_MAX]; /* the first key_words count; the rest are 0 */
    uint32_t player;
} rung_ladder_entry;

/* What a put did. Ranks are in `style`. The caller sets the first two fields before the call. */
typedef struct rung_ladder_change {
    rung_rank_style style;
    bool is_brief;                           /* fill only `existed` */
    bool existed;                            /* the player had an entry before */
    uint64_t old_key[RUNG_LADDER_WORDS_MAX]; /* when existed */
    uint32_t rank_before, rank_after;        /* before: 0 when not existed */
    uint32_t index_before, index_after; /* in the full order; before: the count when not existed */
    bool has_above;                     /* there is an entry just above the new place */
    rung_ladder_entry above;            /* when has_above */
} rung_ladder_change;

/* ---- life ---- */

RUNG_NODISCARD rung_status rung_ladder_create(const rung_ladder_config *config, rung_ladder **out);
void rung_ladder_destroy(rung_ladder *l); /* accepts NULL */

/* Remove all entries and free the memory. O(n / leaf size). */
void rung_ladder_clear(rung_ladder *l);

/* ---- changes: on any failure the ladder is exactly as before ---- */

/* Put `player` at `key`: insert, or move. RUNG_OK, RUNG_UNCHANGED (it already had that key; `change` is filled all the
 * same), RUNG_ENOMEM, RUNG_ELIMIT (RUNG_LADDER_COUNT_MAX entries). `change` may be NULL. */
RUNG_NODISCARD rung_status rung_ladder_put(rung_ladder *l, uint32_t player, const uint64_t *key,
                                           rung_ladder_change *change);

/* Allocate what a put of this player may need, so that the next change of the ladder, if it is that put, cannot
 * fail. For owners who change several ladders or none. `is_new`: the player has no entry here.
 * RUNG_OK, RUNG_ENOMEM or RUNG_ELIMIT. */
RUNG_NODISCARD rung_status rung_ladder_secure(rung_ladder *l, uint32_t player, bool is_new);

/* RUNG_OK, or RUNG_NOT_FOUND. Never needs memory. */
rung_status rung_ladder_remove(rung_ladder *l, uint32_t player);

/* Supplies the entries of a build in order; false = no more. */
typedef bool (*rung_ladder_source)(void *ctx, rung_ladder_entry *out);

/* Fill an empty ladder with exactly `count` entries that come in strictly ascending order. O(n). RUNG_EINVAL
 * when the ladder is not empty, the source ends early, the order is wrong or a player comes twice; the ladder is then
 * empty (or as it was). */
RUNG_NODISCARD rung_status rung_ladder_build(rung_ladder *l, uint32_t count,
                                             rung_ladder_source next, void *ctx);

/* ---- queries ---- */

uint32_t rung_ladder_count(const rung_ladder *l);    /* entries, O(1) */
uint32_t rung_ladder_distinct(const rung_ladder *l); /* distinct scores, O(1) */
size_t rung_ladder_memory(const rung_ladder *l);     /* bytes held, without the arena's, O(1) */

/* The player's entry, or RUNG_NOT_FOUND. `out` may be NULL. */
rung_status rung_ladder_find(const rung_ladder *l, uint32_t player, rung_ladder_entry *out);

/* The player's rank, or RUNG_NOT_FOUND. Walks up from the leaf; compares no key. */
rung_status rung_ladder_rank(const rung_ladder *l, uint32_t player, rung_rank_style style,
                             uint32_t *rank_out);

/* The rank that a new player would get with this key: after equal words in unique style, the same as an equal score in
 * the others. */
uint32_t rung_ladder_rank_of_key(const rung_ladder *l, const uint64_t *key, rung_rank_style style);

/* The entry at `index`, or RUNG_NOT_FOUND past the end. */
rung_status rung_ladder_at(const rung_ladder *l, uint32_t index, rung_ladder_entry *out);

/* The first entry that holds `rank` in `style`, or, where ties leave that rank empty, the entry at that place
 * (a sparse board ranked 1 1 1 4: rank 2 gives the second entry, which holds rank 1). RUNG_NOT_FOUND for 0 and
 * past the end. */
rung_status rung_ladder_select(const rung_ladder *l, uint32_t rank, rung_rank_style style,
                               rung_ladder_entry *out);

/* Entries whose words are less than `key` (or not greater, with `or_equal`). Only words count, not players. */
uint32_t rung_ladder_count_before(const rung_ladder *l, const uint64_t *key, bool or_equal);

/* The entry a share of numerator/denominator down the order by the nearest-rank rule: index ceil(n * num / den) - 1,
 * at least 0. (1, 2) is the median, (0, 1) the best, (1, 1) the last. RUNG_NOT_FOUND when empty. */
rung_status rung_ladder_quantile(const rung_ladder *l, uint32_t numerator, uint32_t denominator,
                                 rung_ladder_entry *out);

/* ---- iteration: a cursor stands between two entries; valid until the next change ---- */

typedef struct rung_ladder_cursor {
    const rung_ladder *ladder;
    uint32_t leaf; /* private */
    uint32_t pos;  /* private */
} rung_ladder_cursor;

/* Stand before entry `index`; past the end: after the last. */
rung_ladder_cursor rung_ladder_seek(const rung_ladder *l, uint32_t index);
/* Stand before the player's entry, which has the index `*index_out`; RUNG_NOT_FOUND. One walk up, like a rank. */
RUNG_NODISCARD rung_status rung_ladder_seek_player(const rung_ladder *l, uint32_t player,
                                                   rung_ladder_cursor *cursor_out,
                                                   uint32_t *index_out);
/* Step back over `count` entries; at least as many come before the cursor. O(1) within a leaf. */
void rung_ladder_back(rung_ladder_cursor *c, uint32_t count);
/* Give the entry after the cursor and step over it; false at the end. O(1). */
bool rung_ladder_next(rung_ladder_cursor *c, rung_ladder_entry *out);
/* Give the entry before the cursor and step back over it; false at the beginning. O(1). */
bool rung_ladder_prev(rung_ladder_cursor *c, rung_ladder_entry *out);
/* The rank of the entry after the cursor; 0 at the end. */
uint32_t rung_ladder_cursor_rank(const rung_ladder_cursor *c, rung_rank_style style);
/* The same in sparse style, for a caller who knows that entry's index: then reading the leaf is usually enough. */
uint32_t rung_ladder_cursor_sparse(const rung_ladder_cursor *c, uint32_t index);

/* ---- many at once: same results as one by one in order, memory latency hidden by prefetch ---- */

/* ranks_out[i] = rank of players[i], 0 where absent. */
void rung_ladder_rank_batch(const rung_ladder *l, uint32_t n, const uint32_t *players,
                            rung_rank_style style, uint32_t *ranks_out);
/* <0 when entry `a` stands before `b` in the ladder's order, 0 for the same entry. Both as read from this ladder. */
int rung_ladder_compare(const rung_ladder *l, const rung_ladder_entry *a,
                        const rung_ladder_entry *b);
/* entries_out[i] = the entry of players[i]; found_out[i] false where absent. */
void rung_ladder_find_batch(const rung_ladder *l, uint32_t n, const uint32_t *players,
                            rung_ladder_entry *entries_out, bool *found_out);
/* words_out[i] = only the first word of that entry's key; anything where absent. */
void rung_ladder_word_batch(const rung_ladder *l, uint32_t n, const uint32_t *players,
                            uint64_t *words_out, bool *found_out);
/* cursors_out[i] = rung_ladder_seek() of indexes[i]. */
void rung_ladder_seek_batch(const rung_ladder *l, uint32_t n, const uint32_t *indexes,
                            rung_ladder_cursor *cursors_out);
/* Up to `count` entries after the cursor, which steps over them; with `back` those before it, the nearest first.
 * Returns how many there were. */
uint32_t rung_ladder_walk(rung_ladder_cursor *c, bool back, uint32_t count, rung_ladder_entry *out);
/* counts_out[i] = rung_ladder_count_before() of keys[i], which has key_words words, and or_equal[i]. */
void rung_ladder_count_before_batch(const rung_ladder *l, uint32_t n, const uint64_t *keys,
                                    const bool *or_equal, uint32_t *counts_out);

/* ---- by player number: an iteration that stays valid while the ladder changes, unlike a cursor ---- */

/* Players with an entry from number `from` on, ascending, at most `room`; returns how many. To list all, call again
 * from the last + 1 until fewer than `room` come. Costs as rung_numbermap_list(). */
uint32_t rung_ladder_list(const rung_ladder *l, uint32_t from, uint32_t *players, uint32_t room);

/* ---- self-check ---- */

/* NULL, or which invariant is broken; O(n), for tests. */
const char *rung_ladder_check(const rung_ladder *l);

#endif
