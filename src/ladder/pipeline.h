/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - moves prepared in stages, so that their cache misses overlap.
 *
 * At 10 M entries one move reads about two dozen cache lines that no cache holds. A descent looks for the places that a
 * move will touch; each stage reads what the stage before prefetched. A caller with several moves in flight advances
 * each by one stage in turn, and applies a move when its descent has gone through all stages.
 *
 * Stages read the ladder and change only the descent. Between two stages others may change the ladder, but not the
 * entry that is to move. The put notices a stale descent and ignores it: only speed depends on descents.
 *
 *     rung_descent d;
 *     rung_descent_init(&d, ladder, player);
 *     rung_descent_advance(&d, 1, RUNG_DESCENT_MAP); ... RUNG_DESCENT_COUNTS
 *     rung_descent_entry(&d, &entry);                 // where it stands; the new key may depend on it
 *     rung_descent_set_key(&d, key);
 *     rung_descent_advance(&d, 1, RUNG_DESCENT_UPPER); ... RUNG_DESCENT_STAGES - 1
 *     rung_descent_put(ladder, player, key, &d, &d, NULL);
 *
 * Pure: no I/O, clock or threads. One thread at a time. */
#ifndef RUNG_LADDER_PIPELINE_H
#define RUNG_LADDER_PIPELINE_H

#include "ladder/ladder.h"

typedef struct rung_descent {  /* all private */
    const rung_ladder *ladder; /* NULL: nothing to prepare, in a ladder of one leaf */
    uint64_t key[RUNG_LADDER_WORDS_MAX];
    uint32_t player, prefix;
    uint32_t from_leaf, from_row;  /* where the entry stands */
    uint32_t node, height;         /* where the descent has come to */
    uint32_t low, high;            /* its rows still in question; at the end, low is the row */
    uint32_t shape, births, moves; /* the ladder's, when the key was set */
    uint16_t changes;              /* the leaf's, when the row was found */
    bool is_beside;                /* began near where the entry stands, not at the root */
    bool seeks_player;             /* ends at the player's row, not where a new entry would go */
} rung_descent;

/* Stages in order. Those that only prefetch may be left out. */
typedef enum rung_descent_stage {
    RUNG_DESCENT_MAP,     /* prefetch the player's cell in the map from players to leaves */
    RUNG_DESCENT_LEAF,    /* find the player's leaf */
    RUNG_DESCENT_PLAYERS, /* prefetch its players */
    RUNG_DESCENT_ROW,     /* find the player's row; prefetch what moves when it is taken out */
    RUNG_DESCENT_COUNTS, /* prefetch the leaf's counts in its parent; no change since the last stage */
    RUNG_DESCENT_RANKS, /* instead, if the put will be asked for ranks: all that a rank reads */
    /* rung_descent_entry() and rung_descent_set_key() come here; no change until after the next stage. */
    RUNG_DESCENT_UPPER, /* go past the node two levels above the leaves */
    RUNG_DESCENT_INNER, /* prefetch the parent of the leaf where the key goes */
    /* Then 9 stages: 2 for each of 3 levels, 3 for the leaf. A descent whose key was set needs those from
     * RUNG_DESCENT_DOWN_LAST on, one of rung_descent_init_guided() all. RUNG_DESCENT_DOWN_LEAF only prefetches. */
    RUNG_DESCENT_DOWN,
    RUNG_DESCENT_DOWN_LAST = RUNG_DESCENT_DOWN + 4,
    RUNG_DESCENT_DOWN_LEAF = RUNG_DESCENT_DOWN + 6,
    RUNG_DESCENT_STAGES = RUNG_DESCENT_DOWN + 9,
} rung_descent_stage;

/* Prepare to put `player`, who may have no entry yet. */
static inline void rung_descent_init(rung_descent *d, const rung_ladder *l, uint32_t player) {
    d->ladder = l;
    d->player = player;
}
/* Advance `n` descents by a stage. Together they settle ties with one round of prefetches. */
void rung_descent_advance(rung_descent *d, uint32_t n, uint32_t stage);
/* The player's entry, after RUNG_DESCENT_ROW; RUNG_NOT_FOUND: none. */
RUNG_NODISCARD rung_status rung_descent_entry(rung_descent *d, rung_ladder_entry *out);
/* The key that the player will be put at. No change of the ladder since rung_descent_entry(). */
void rung_descent_set_key(rung_descent *d, const uint64_t *key);

/* The same in a guided ladder, where one descent looks for the entry by its old key and another for the new place.
 * Prefetch the ladder first, in three parts; then begin at RUNG_DESCENT_DOWN. `old_key` is the guide's; NULL: the
 * player has no entry. */
void rung_descent_init_guided(rung_descent *from, rung_descent *to, const rung_ladder *l,
                              uint32_t player, const uint64_t *old_key, const uint64_t *key);

/* rung_ladder_put(), faster if the descents are of this put and not stale. `from` and `to` are the same descent, or the
 * two of a guided ladder. */
RUNG_NODISCARD rung_status rung_descent_put(rung_ladder *l, uint32_t player, const uint64_t *key,
                                            const rung_descent *from, const rung_descent *to,
                                            rung_ladder_change *change);

/* ---- prefetch in parts 0, 1, ...: each part reads what the one before prefetched ---- */

/* The ladder itself, for callers with many ladders. 3 parts. */
void rung_ladder_prefetch(const rung_ladder *l, int part);
/* A player's entry and what its rank reads first. 3 parts. */
void rung_ladder_prefetch_player(const rung_ladder *l, uint32_t player, int part);
/* The entries that a walk of `count` will read. 2 parts. */
void rung_ladder_prefetch_walk(const rung_ladder_cursor *c, bool back, uint32_t count, int part);

#endif
