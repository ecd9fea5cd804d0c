/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - the ladder's inside: nodes, pools, paths. Private to the room.
 *
 * A counted B+-tree. Leaves and inner nodes have one shape: `n` rows over columns, words first.
 *
 *     leaf    key words | player | mark
 *     inner   key words | player | child | count | starts | mark
 *
 * A row of an inner node describes one child: its first entry (key, player), its id, the entries below it and
 * the "starts" below it. A start is an entry whose score differs from that of the entry before it (the first
 * entry of all is one): the number of starts up to an entry is its dense rank, and the index of the last start
 * is its sparse rank. In a leaf the starts are a bitmap.
 * Marks (ladder.h) are only there if the owner has some, and only true in a ladder of several leaves.
 *
 * Nodes are addressed by 32-bit ids. What a walk up needs of a leaf (its address, its parent and where it stands there)
 * is in the pool's slot array, 16 bytes a leaf, which stays in cache where the leaves themselves do not. */
#ifndef RUNG_LADDER_TREE_H
#define RUNG_LADDER_TREE_H

#include "base/numbermap.h"
#include "base/prefetch.h"
#include "ladder/ladder.h"

#ifdef RUNG_TEST_BUILD
enum { RUNG__LEAF_CAP = 6, RUNG__INNER_CAP = 4, RUNG__LEAF_CAP_FIRST = 3 };
#else
enum {
    RUNG__LEAF_CAP = 64,
    RUNG__INNER_CAP = 64,
    RUNG__LEAF_CAP_FIRST = 4
}; /* by measurement, see bench/ */
#endif
_Static_assert(RUNG__LEAF_CAP <= 64, "a bit of a word for each row");
_Static_assert((RUNG__LEAF_CAP / RUNG__LEAF_CAP_FIRST &
                (RUNG__LEAF_CAP / RUNG__LEAF_CAP_FIRST - 1)) == 0 &&
                   RUNG__LEAF_CAP % RUNG__LEAF_CAP_FIRST == 0,
               "the first leaf grows to full size by doubling");

#define RUNG__NODE_NONE  UINT32_MAX
#define RUNG__PLACE_NONE UINT16_MAX

typedef struct rung__node {
    uint32_t prev, next; /* leaves: neighbours in order, or RUNG__NODE_NONE */
    uint16_t n;          /* rows in use */
    uint16_t cap;        /* rows there is room for */
    uint16_t
        start; /* free places before row 0: rows slide towards the nearer end, so half of them stay put */
    uint16_t changes; /* counts rows put in and taken out; it may wrap */
    uint64_t starts;  /* leaves: bit i = row i is a start */
    uint64_t mark_column;
    uint64_t rows[]; /* the columns, each `cap` long; row i stands at place start + i */
} rung__node;

enum {
    RUNG__PLAYER,
    RUNG__CHILD,
    RUNG__COUNT,
    RUNG__STARTS
}; /* 32-bit columns, behind the words; marks come last */

typedef struct rung__slot {
    rung__node *node;
    uint32_t parent; /* RUNG__NODE_NONE for the root; the next free id in a free slot */
    uint16_t
        place; /* of its row in the parent: start + row, so that nobody need ask the parent; RUNG__PLACE_NONE: free */
    uint16_t start; /* leaves: the node's own, or what it was a while ago: for guesses (aim.c) */
} rung__slot;

typedef struct rung__slab {
    rung__node *nodes;
    size_t bytes;
} rung__slab;

typedef struct rung__pool {
    rung__slot *slots;
    rung__slab *slabs;
    uint32_t slot_count, slot_cap;
    uint32_t slab_count, slab_cap;
    uint32_t free_head, free_count;
} rung__pool;

/* What only a ladder of more than one leaf has. */
typedef struct rung__trunk {
    rung__pool inners;
    rung_numbermap map;
    uint32_t
        births; /* grows with every leaf that is taken into use: its id may have been another's */
    unsigned char origin[RUNG_LADDER_ORIGIN_BYTES]; /* of the marks */
} rung__trunk;

struct rung_ladder {
    const rung_alloc *alloc;
    rung_ladder_tie tie;
    const void *tie_ctx;
    const rung_ladder_aid *tie_aid; /* NULL without `tie` */
    rung__pool leaves;
    rung__trunk *trunk;       /* NULL while one leaf is enough: then players are found by looking */
    const rung_ladder *guide; /* instead of the map */
    rung_quarry *quarry;      /* instead of slabs, but for the first leaf */
    size_t bytes;             /* without the leaf map's, which counts its own */
    uint32_t count, distinct;
    uint32_t moves; /* puts and removals that changed something */
    uint32_t shape; /* changes whenever a path's inner steps may have become wrong */
    uint32_t
        root; /* a leaf id when height is 0, else an inner id; RUNG__NODE_NONE when nothing was ever put */
    uint8_t height, key_words, score_words;
    bool has_marks; /* nodes have room for them */
};

#ifdef RUNG_TEST_BUILD
enum { RUNG__HEIGHT_MAX = 32 }; /* tiny nodes make tall trees */
#else
enum {
    RUNG__HEIGHT_MAX = 8
}; /* nodes at least 7/16 full: seven levels hold more than 2^32 entries */
#endif

/* The way from the root to a row of a leaf. step[0] is the leaf; step[h] the inner node h levels above it. */
typedef struct rung__path {
    struct {
        uint32_t id, row;
    } step[RUNG__HEIGHT_MAX + 1];
} rung__path;

/* ---- columns ---- */

static inline uint64_t *rung__words(rung__node *node, uint32_t k) {
    return node->rows + (size_t)k * node->cap + node->start;
}

static inline uint32_t *rung__column(const rung_ladder *l, rung__node *node, uint32_t column) {
    return (uint32_t *)(node->rows + (size_t)l->key_words * node->cap) +
           (size_t)column * node->cap + node->start;
}

static inline rung__node *rung__leaf(const rung_ladder *l, uint32_t id) {
    return l->leaves.slots[id].node;
}

/* Is there such a leaf? Whoever remembers an id must ask. */
static inline bool rung__is_leaf(const rung_ladder *l, uint32_t id) {
    return id < l->leaves.slot_count && l->leaves.slots[id].place != RUNG__PLACE_NONE;
}

static inline rung__node *rung__inner(const rung_ladder *l, uint32_t id) {
    return l->trunk->inners.slots[id].node;
}

static inline bool rung__is_inner(const rung_ladder *l, uint32_t id) {
    return l->trunk && id < l->trunk->inners.slot_count &&
           l->trunk->inners.slots[id].place != RUNG__PLACE_NONE;
}

/* A 32-bit column of an inner node, from its first place on; the node itself is not touched. */
static inline uint32_t *rung__inner_places(const rung_ladder *l, rung__node *node,
                                           uint32_t column) {
    return (uint32_t *)(node->rows + (size_t)RUNG__INNER_CAP * l->key_words) +
           (size_t)column * RUNG__INNER_CAP;
}

static inline uint32_t *rung__marks(const rung_ladder *l, rung__node *node) {
    return rung__column(l, node, (uint32_t)node->mark_column);
}

static inline bool rung__is_marked(const rung_ladder *l) {
    return l->has_marks && l->trunk;
}

/* 0 where there are none. */
static inline uint32_t rung__mark_of(const rung_ladder *l, uint32_t player) {
    return rung__is_marked(l) ? l->tie_aid->mark(l->tie_ctx, l->trunk->origin, player) : 0;
}

/* The lowest `n` bits, n <= 64. */
static inline uint64_t rung__mask(uint32_t n) {
    return n >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
}

/* ---- rows ---- */

static inline void rung__prefetch_key(const rung_ladder *l, rung__node *leaf, uint32_t row) {
    for (uint32_t k = 0; k < l->key_words; k++)
        rung_prefetch(rung__words(leaf, k) + row);
}

static inline bool rung__same_score(const rung_ladder *l, rung__node *a, uint32_t row_a,
                                    rung__node *b, uint32_t row_b) {
    for (uint32_t k = 0; k < l->score_words; k++)
        if (rung__words(a, k)[row_a] != rung__words(b, k)[row_b])
            return false;
    return true;
}

/* Rows whose first word is less: a binary search without a branch to mispredict. */
static inline uint32_t rung__words_less(const uint64_t *words, uint32_t n, uint64_t value) {
    const uint64_t *base = words;
    if (n == 0)
        return 0;
    while (n > 1) {
        uint32_t half = n / 2;
        base += half & -(uint32_t)(base[half - 1] <
                                   value); /* an and, not a jump: compilers like to undo ?: */
        n -= half;
    }
    return (uint32_t)(base - words) + (*base < value);
}

/* The row below which the *k-th entry or start is, by the column of their counts; *k is then counted from its first.
 * The last row, where they are fewer. Several rows at a time, then one by one. */
static inline uint32_t rung__row_holding(const uint32_t *counts, uint32_t n, uint32_t *k) {
    enum { ROWS = 8 };
    uint32_t row = 0, left = *k;
    while (row + ROWS < n) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < ROWS; i++)
            sum += counts[row + i];
        if (left < sum)
            break;
        left -= sum;
        row += ROWS;
    }
    for (; row + 1 < n && left >= counts[row]; row++)
        left -= counts[row];
    *k = left;
    return row;
}

static inline uint32_t rung__column_sum(const uint32_t *column, uint32_t n) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += column[i];
    return sum;
}

/* ---- searching (ladder.c) ---- */

/* What a search compares rows with. Without a player, rows with equal words are before the probe iff `after_equal`. */
typedef struct rung__probe {
    const uint64_t *key;
    uint32_t words; /* how many of them count */
    uint32_t player, mark;
    bool has_player;
    bool after_equal;
    bool or_self; /* with a player: the row of that player itself is before the probe, too */
} rung__probe;

/* Is the row before the probe? Their first words are equal. */
bool rung__row_before(const rung_ladder *l, rung__node *node, uint32_t row,
                      const rung__probe *probe);
/* Rows of the node that come before the probe. */
uint32_t rung__node_search(const rung_ladder *l, rung__node *node, const rung__probe *probe);
/* The leaf where the probe belongs and the way there; asks for the leaf's first words to be fetched. */
void rung__descend_to_leaf(const rung_ladder *l, const rung__probe *probe, rung__path *path);
/* The same and the row in it: rows before the probe counted, so it may be one past the leaf's last. */
void rung__descend(const rung_ladder *l, const rung__probe *probe, rung__path *path);
/* Ask for a leaf's header and players, by its id alone. Needs a tree of several leaves. */
void rung__prefetch_players(const rung_ladder *l, uint32_t id);
/* Ask for all that moves when a row is put in or taken out here; the column of players only on request. */
void rung__prefetch_rows(const rung_ladder *l, rung__node *leaf, uint32_t row, bool players);
/* Complete a path upwards from its leaf. */
void rung__climb(const rung_ladder *l, rung__path *path);
/* The leaf of a player, or RUNG_NUMBER_NONE (in a ladder of one leaf: where the player is, if anywhere). */
uint32_t rung__leaf_of(const rung_ladder *l, uint32_t player);
/* The row of a player in that leaf; false when it is not there. */
bool rung__row_of(const rung_ladder *l, uint32_t leaf, uint32_t player, uint32_t *row_out);
/* Leaf and row of a player; false when not in the ladder. */
bool rung__locate(const rung_ladder *l, uint32_t player, rung__path *path);
/* The rank, in a style, of the row a complete path points at; and its index. */
uint32_t rung__rank_at(const rung_ladder *l, const rung__path *path, rung_rank_style style,
                       uint32_t *index_out);

void rung__read_row(const rung_ladder *l, rung__node *leaf, uint32_t row, rung_ladder_entry *out);

/* ---- pools (pool.c) ---- */

size_t rung__node_bytes(const rung_ladder *l, uint32_t columns, uint32_t cap);
/* Have at least `want` free nodes of full size. */
RUNG_NODISCARD rung_status rung__pool_reserve(rung_ladder *l, rung__pool *pool, uint32_t columns,
                                              uint32_t cap, uint32_t want);
/* A fresh node from the reserve, of the size that was reserved: empty, without parent or neighbours. */
uint32_t rung__pool_take(rung__pool *pool, uint32_t columns, uint32_t cap);
void rung__pool_give(rung__pool *pool, uint32_t id);
void rung__pool_deinit(rung_ladder *l, rung__pool *pool);
/* Resize the only leaf of a small ladder to `cap` rows (RUNG__LEAF_CAP at most), creating it if there is none. */
RUNG_NODISCARD rung_status rung__pool_fit_first_leaf(rung_ladder *l, uint32_t cap);

enum { RUNG__LEAF_COLUMNS = 1, RUNG__INNER_COLUMNS = 4 };

#endif
