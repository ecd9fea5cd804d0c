/* SPDX-License-Identifier: Apache-2.0 */
/* sketch.h - a ranking of a sketch board: bounded memory instead of entries; private to state.
 *
 *   S1 The rankings of one board have equal memory and seeds, by its definition and its name at the time.
 *   S2 A board has at most RUNG__SKETCHES_MAX rankings, and RUNG__SKETCH_BYTES_MAX of memory in them.
 *   S3 `chain` is a hash over everything that was added or removed, in order. It stands for the contents in digests:
 *      equal logs give equal chains, and adding one costs no look at the rest. */
#ifndef RUNG_STATE_SKETCH_H
#define RUNG_STATE_SKETCH_H

#include "sketch/distinct.h"
#include "sketch/hitters.h"
#include "sketch/quantiles.h"
#include "state/sketches.h"
#include "state/window.h"

enum { RUNG__SKETCHES_MAX = 1024 };
#define RUNG__SKETCH_BYTES_MAX ((uint64_t)1 << 30)

typedef struct rung__sketch {
    rung_hitters *hitters;     /* of counts */
    rung_quantiles *quantiles; /* of percentile */
    rung_distinct *players;    /* of all kinds */
    uint64_t submissions;
    uint64_t chain;
} rung__sketch;

/* What a submission adds. */
typedef struct rung__sketch_add {
    rung_slice player;
    uint64_t weight; /* counts */
    uint64_t key;    /* percentile: the score as a word, the better the smaller */
} rung__sketch_add;

/* How a ranking's memory is divided. */
typedef struct rung__sketch_parts {
    uint32_t precision; /* of the distinct count */
    size_t main_bytes;  /* of hitters or quantiles; 0: there are none */
} rung__sketch_parts;
rung__sketch_parts rung__sketch_parts_of(rung_sketch_kind kind, uint32_t memory_bytes);

/* Could the board have `more` rankings? */
bool rung__sketch_has_room(const struct rung__board *b, uint32_t more);
/* Both count in the board. */
rung__sketch *rung__sketch_new(rung_state *s, struct rung__board *b);
void rung__sketch_free(rung_state *s, struct rung__board *b, rung__sketch *k); /* accepts NULL */
size_t rung__sketch_memory(const rung__sketch *k);
/* Names held, scores, or different players. */
uint64_t rung__sketch_size(const rung__sketch *k);
static inline uint32_t rung__sketch_size32(const rung__sketch *k) {
    uint64_t size = rung__sketch_size(k);
    return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

/* Would it exceed a counter? */
bool rung__sketch_is_full(const rung__sketch *k, const rung__sketch_add *add);
/* True: its player was not counted before. */
bool rung__sketch_put(rung__sketch *k, const rung__sketch_add *add);
/* Add the players of `from`. RUNG_OK, or RUNG_EINVAL: the counts have other sizes. */
rung_status rung__sketch_merge_players(rung__sketch *k, const rung__sketch *from);
/* Forget a name; false: it is not held. */
bool rung__sketch_forget(rung__sketch *k, rung_slice player);

/* The rankings that one submission reaches in a window: everybody's, and of the player's values of each scope. Returns
 * how many, RUNG__SCOPE_SLOTS + 1 at most; NULL where there is none yet. */
uint32_t rung__sketches_of(const rung_state *s, const struct rung__board *b, const rung__window *w,
                           uint32_t player, uint32_t *slots, uint32_t *values, rung__sketch **out);
/* Create the one of a scope's value. */
RUNG_NODISCARD rung_status rung__sketch_open_value(rung_state *s, struct rung__board *b,
                                                   rung__window *w, uint32_t slot, uint32_t value);

/* The fact about one; `place` is 0 for everybody, else 1 + slot and the value above. */
static inline uint64_t rung__sketch_place(uint32_t slot, uint32_t value) {
    return 1 + (uint64_t)slot + ((uint64_t)value << 8);
}
rung_digest rung__sketch_digest(const rung__window *w, uint64_t place, const rung__sketch *k);
/* The sum of all facts about the sketches of a window. */
rung_digest rung__sketches_digest(const rung__window *w);

/* Forget a name in every window, or in one board's. */
bool rung__sketches_forget(rung_state *s, struct rung__board *b, rung_slice player);
bool rung__sketches_forget_everywhere(rung_state *s, rung_slice player);

void rung__sketches_drop_slot(rung_state *s, struct rung__board *b, rung__scope *scope);
const char *rung__sketch_check(const rung__sketch *k);

#endif
