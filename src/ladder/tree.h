/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - the ladder's inside: nodes, pools, paths. Private to ladder.
 *
 * A counted B+-tree. Leaves and inner nodes have one shape: `n` rows over columns, words first.
 *
 *     leaf    key words | player | prefix
 *     inner   key words | player | child | count | starts | prefix
 *
 * A row of an inner node describes one child: its first entry (key, player), its id, the entries below it and
 * the "starts" below it. A start is an entry whose score differs from that of the entry before it (the first
 * entry of all is one): the number of starts up to an entry is its dense rank, and the index of the last start
 * is its sparse rank. In a leaf the starts are a bitmap; its parent packs both numbers into one (see "counts").
 * Prefixes (ladder.h) exist only if the owner supplies them, and are valid only in a ladder of several leaves.
 *
 * At 10 M entries a move misses the TLB, and the page walk costs as much as the cache miss. So a move should touch few
 * pages: the map, two leaves, their two parents. Node ids are 32-bit numbers from which an address is computed without
 * reading memory per node; a leaf knows its parent; and node sizes are chosen so that a node rarely crosses a page. */
#ifndef RUNG_LADDER_TREE_H
#define RUNG_LADDER_TREE_H

#include "base/numbermap.h"
#include "base/prefetch.h"
#include "ladder/ladder.h"

#ifdef RUNG_TEST_BUILD
enum { RUNG__LEAF_CAP = 6, RUNG__INNER_CAP = 4, RUNG__LEAF_CAP_FIRST = 3 };
#else
enum {
    RUNG__LEAF_CAP = 62, /* a leaf with one word and prefixes has 1 KiB: four to a page */
    RUNG__INNER_CAP = 64,
    RUNG__LEAF_CAP_FIRST = 4
}; /* by measurement, see bench/ */
#endif
_Static_assert(RUNG__LEAF_CAP < 64, "a bit of a word for each row, and one to spare");

#define RUNG__NODE_NONE  UINT32_MAX
#define RUNG__PLACE_NONE UINT16_MAX

typedef struct rung__node {
    uint32_t prev, next; /* leaves: neighbours in order, or RUNG__NODE_NONE */
    uint16_t n;          /* rows in use */
    uint16_t cap;        /* rows there is room for */
    uint16_t start;      /* free places before row 0: a change slides rows towards the nearer end */
    uint16_t changes;    /* counts rows put in and taken out; it may wrap */
    uint64_t starts;     /* leaves: bit i = row i is a start */
    uint32_t parent;     /* RUNG__NODE_NONE for the root; the next free id in a free node */
    uint16_t place;      /* of its row in the parent (start + row); RUNG__PLACE_NONE: a free node */
    uint16_t prefix_column;
    uint64_t rows[]; /* the columns, each `cap` long; row i stands at place start + i */
} rung__node;

enum {
    RUNG__PLAYER,
    RUNG__CHILD,
    RUNG__COUNT,
    RUNG__STARTS
}; /* 32-bit columns, behind the words; prefixes come last */

/* A block of memory with nodes; from an arena, with a single node. */
typedef struct rung__slab {
    uintptr_t base; /* where node 0 of the pool would be: address = base + id * stride */
    uint32_t bytes; /* 0: it belongs to the arena */
    uint32_t used;  /* nodes ever taken, which are safe to read */
} rung__slab;

typedef struct rung__pool {
    rung__slab *slabs;
    uint16_t stride; /* bytes of a node, except the first leaf */
    uint16_t shift;  /* id = slab << shift | number of the node in it */
    uint32_t slab_count, slab_cap;
    uint32_t node_count;
    uint32_t fresh_slab;  /* the first slab that may have nodes never used */
    uint32_t fresh_count; /* nodes never used */
    uint32_t free_head;   /* freed nodes: a list through their parents */
    uint32_t free_count;
} rung__pool;

/* What only a ladder of more than one leaf has. */
typedef struct rung__tree {
    rung__pool inners;
    rung_numbermap map;
    uint32_t births; /* grows with every leaf taken: its id may have been another leaf's */
    unsigned char origin[RUNG_LADDER_ORIGIN_BYTES]; /* of the prefixes */
} rung__tree;

struct rung_ladder {
    const rung_alloc *alloc;
    rung_ladder_tie tie;
    const void *tie_ctx;
    const rung_ladder_aid *tie_aid; /* NULL without `tie` */
    rung__pool leaves;
    rung__tree *tree; /* NULL while there is one leaf: then players are found by scanning it */
    const rung_ladder *guide; /* instead of the map */
    rung_arena *arena;        /* instead of slabs, except for the first leaf */
    size_t bytes;             /* without the map's, which counts its own */
    uint32_t count, distinct;
    uint32_t moves; /* puts and removals that changed something */
    uint32_t shape; /* changes whenever a path's inner steps may have become wrong */
    /* A leaf if height is 0, else an inner node; RUNG__NODE_NONE: nothing was ever put. */
    uint32_t root;
    uint8_t height, key_words, score_words;
    bool has_prefixes; /* nodes have room for them */
};

#ifdef RUNG_TEST_BUILD
enum { RUNG__HEIGHT_MAX = 32 }; /* tiny nodes make tall trees */
#else
enum {
    RUNG__HEIGHT_MAX = 8
}; /* nodes at least 7/16 full: seven levels hold more than 2^32 entries */
#endif

/* The path from the root to a row of a leaf. step[0] is the leaf; step[h] the inner node h levels above it. */
typedef struct rung__path {
    struct {
        uint32_t id, row;
    } step[RUNG__HEIGHT_MAX + 1];
} rung__path;

/* ---- columns ---- */

static inline uint64_t *rung__words(rung__node *node, uint32_t k) {
    return node->rows + (size_t)k * node->cap + node->start;
}

/* A 32-bit column of a node with `words` key words. */
static inline uint32_t *rung__column_behind(rung__node *node, uint32_t words, uint32_t column) {
    return (uint32_t *)(node->rows + (size_t)words * node->cap) + (size_t)column * node->cap +
           node->start;
}

static inline uint32_t *rung__column(const rung_ladder *l, rung__node *node, uint32_t column) {
    return rung__column_behind(node, l->key_words, column);
}

static inline uint32_t rung__number_in_slab(const rung__pool *pool, uint32_t id) {
    return id & ((1u << pool->shift) - 1);
}

static inline rung__node *rung__pool_node(const rung__pool *pool, uint32_t id) {
    return (rung__node *)(pool->slabs[id >> pool->shift].base + (uintptr_t)id * pool->stride);
}

/* Was this node ever taken? Then it is safe to read. Check every id that was remembered across changes. */
static inline bool rung__pool_has(const rung__pool *pool, uint32_t id) {
    uint32_t slab = id >> pool->shift;
    return slab < pool->slab_count && rung__number_in_slab(pool, id) < pool->slabs[slab].used;
}

static inline rung__node *rung__leaf(const rung_ladder *l, uint32_t id) {
    return rung__pool_node(&l->leaves, id);
}

/* Is this a leaf in use? */
static inline bool rung__is_leaf(const rung_ladder *l, uint32_t id) {
    return rung__pool_has(&l->leaves, id) && rung__leaf(l, id)->place != RUNG__PLACE_NONE;
}

static inline rung__node *rung__inner(const rung_ladder *l, uint32_t id) {
    return rung__pool_node(&l->tree->inners, id);
}

/* A 32-bit column of an inner node from place 0 on, computed without reading the node. */
static inline uint32_t *rung__inner_places(const rung_ladder *l, rung__node *node,
                                           uint32_t column) {
    return (uint32_t *)(node->rows + (size_t)RUNG__INNER_CAP * l->key_words) +
           (size_t)column * RUNG__INNER_CAP;
}

static inline uint32_t *rung__prefixes(const rung_ladder *l, rung__node *node) {
    return rung__column(l, node, (uint32_t)node->prefix_column);
}

static inline bool rung__uses_prefixes(const rung_ladder *l) {
    return l->has_prefixes && l->tree;
}

/* 0 if the ladder has no prefixes. */
static inline uint32_t rung__prefix_of(const rung_ladder *l, uint32_t player) {
    return rung__uses_prefixes(l) ? l->tie_aid->prefix(l->tie_ctx, l->tree->origin, player) : 0;
}

/* The lowest `n` bits, n < 64. */
static inline uint64_t rung__mask(uint32_t n) {
    return ((uint64_t)1 << n) - 1;
}

/* ---- rows ---- */

static inline void rung__prefetch_key(const rung_ladder *l, rung__node *leaf, uint32_t row) {
    for (uint32_t k = 0; k < l->key_words; k++)
        rung_prefetch(rung__words(leaf, k) + row);
}

static inline bool rung__same_words(rung__node *a, uint32_t row_a, rung__node *b, uint32_t row_b,
                                    uint32_t words) {
    for (uint32_t k = 0; k < words; k++)
        if (rung__words(a, k)[row_a] != rung__words(b, k)[row_b])
            return false;
    return true;
}

static inline bool rung__same_score(const rung_ladder *l, rung__node *a, uint32_t row_a,
                                    rung__node *b, uint32_t row_b) {
    return rung__same_words(a, row_a, b, row_b, l->score_words);
}

/* How many of three words a step apart are less. The three loads are independent; two halvings would be serial. */
static inline uint32_t rung__quarters_less(const uint64_t *words, uint32_t step, uint64_t value) {
    uint32_t less = words[step - 1] < value;
    less += words[2 * step - 1] < value;
    less += words[3 * step - 1] < value;
    return less;
}

/* Rows whose first word is less. Branch-free: each step leaves about a quarter. */
static inline uint32_t rung__words_less(const uint64_t *words, uint32_t n, uint64_t value) {
    uint32_t less = 0;
    while (n > 3) {
        uint32_t quarter = n / 4;
        less += quarter * rung__quarters_less(words + less, quarter, value);
        n -= 3 * quarter;
    }
    for (const uint64_t *word = words + less, *end = word + n; word < end; word++)
        less += *word < value;
    return less;
}

/* The same for a constant n, so that the compiler unrolls the steps. */
__attribute__((always_inline)) static inline uint32_t
rung__words_less_of(const uint64_t *words, uint32_t n, uint64_t value) {
    uint32_t less = 0;
#pragma GCC unroll 4
    for (; n > 4; n -= 3 * (n / 4))
        less += n / 4 * rung__quarters_less(words + less, n / 4, value);
    words += less;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < n; i++)
        less += words[i] < value;
    return less;
}

/* ---- counts: how many entries, or starts, are below each row of an inner node ----
 *
 * Each is a column of its own, except in a parent of leaves. There the column of counts packs both, together with the
 * leaf's `start`, so that a change of a leaf updates one cache line, and the parent says where in the leaf to search.
 * The fields are wide enough for the sum over a whole node, so packed values can be added as they are. */

enum { RUNG__LEAF_BITS = 13, RUNG__LEAF_START_SHIFT = 2 * RUNG__LEAF_BITS };
_Static_assert(RUNG__LEAF_CAP < (1 << RUNG__LEAF_BITS) / RUNG__INNER_CAP, "a node's sum fits");
_Static_assert(RUNG__LEAF_CAP < 1 << (32 - RUNG__LEAF_START_SHIFT), "so does a start");

typedef struct rung__counts {
    const uint32_t *rows;
    uint32_t shift, mask; /* of the field in each row */
} rung__counts;

/* The counts of a node `level` levels above the leaves; column: RUNG__COUNT or RUNG__STARTS. */
static inline rung__counts rung__counts_of(const rung_ladder *l, rung__node *node, uint32_t level,
                                           uint32_t column) {
    if (level > 1)
        return (rung__counts){rung__column(l, node, column), 0, UINT32_MAX};
    return (rung__counts){rung__column(l, node, RUNG__COUNT),
                          column == RUNG__COUNT ? 0 : RUNG__LEAF_BITS, (1u << RUNG__LEAF_BITS) - 1};
}

static inline uint32_t rung__counts_field(const rung__counts *t, uint32_t sum) {
    return sum >> t->shift & t->mask;
}

static inline uint32_t rung__counts_at(const rung__counts *t, uint32_t row) {
    return rung__counts_field(t, t->rows[row]);
}

/* The sum over the first n rows. */
static inline uint32_t rung__counts_sum(const rung__counts *t, uint32_t n) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += t->rows[i];
    return rung__counts_field(t, sum);
}

/* The row, of n, below which the *k-th entry or start is; makes *k relative to that row. The last row if there are
 * fewer. Adds several rows at a time, then one by one. */
static inline uint32_t rung__counts_find(const rung__counts *t, uint32_t n, uint32_t *k) {
    enum { ROWS = 8 };
    uint32_t row = 0, left = *k;
    while (row + ROWS < n) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < ROWS; i++)
            sum += t->rows[row + i];
        sum = rung__counts_field(t, sum);
        if (left < sum)
            break;
        left -= sum;
        row += ROWS;
    }
    for (; row + 1 < n && left >= rung__counts_at(t, row); row++)
        left -= rung__counts_at(t, row);
    *k = left;
    return row;
}

/* What the parent of a leaf stores about it. */
static inline uint32_t rung__pack_counts(uint32_t count, uint32_t starts, uint32_t start) {
    return count + (starts << RUNG__LEAF_BITS) + (start << RUNG__LEAF_START_SHIFT);
}

static inline uint32_t rung__packed_count(uint32_t packed) {
    return packed & ((1u << RUNG__LEAF_BITS) - 1);
}

static inline uint32_t rung__packed_start(uint32_t packed) {
    return packed >> RUNG__LEAF_START_SHIFT;
}

/* ---- searching (ladder.c) ---- */

/* What a search compares rows with. Without a player, rows with equal words are before the probe iff `after_equal`. */
typedef struct rung__probe {
    const uint64_t *key;
    uint32_t words; /* how many are compared */
    uint32_t player, prefix;
    bool has_player;
    bool after_equal;
    bool or_self; /* with a player: that player's own row is before the probe, too */
} rung__probe;

/* Is the row before the probe? Their first words are equal. */
bool rung__row_before(const rung_ladder *l, rung__node *node, uint32_t row,
                      const rung__probe *probe);
/* Rows of the node that come before the probe. */
uint32_t rung__node_search(const rung_ladder *l, rung__node *node, const rung__probe *probe);
/* The leaf where the probe belongs and the path to it; prefetches the leaf's first words. */
void rung__descend_to_leaf(const rung_ladder *l, const rung__probe *probe, rung__path *path);
/* The same and the row in it, which may be one past the leaf's last. */
void rung__descend(const rung_ladder *l, const rung__probe *probe, rung__path *path);
/* Prefetch the player's cell in the map, of the guide if there is one; then that leaf's header and players. */
void rung__prefetch_map(const rung_ladder *l, uint32_t player);
void rung__prefetch_leaf(const rung_ladder *l, uint32_t player);
/* Prefetch a leaf's header and players, by its id alone. Needs a tree of several leaves. */
void rung__prefetch_players(const rung_ladder *l, uint32_t id);
/* Prefetch all that moves when a row is put in or taken out; the column of players only if `players`. */
void rung__prefetch_rows(const rung_ladder *l, rung__node *leaf, uint32_t row, bool players);
/* Complete a path upwards from its leaf. */
void rung__climb(const rung_ladder *l, rung__path *path);
/* The leaf of a player, or RUNG_NUMBER_NONE. In a ladder of one leaf: that leaf, whether the player is in it or not. */
uint32_t rung__leaf_of(const rung_ladder *l, uint32_t player);
/* The row of a player in that leaf; false when it is not there. */
bool rung__row_of(const rung_ladder *l, uint32_t leaf, uint32_t player, uint32_t *row_out);
/* Leaf and row of a player; false when not in the ladder. */
bool rung__locate(const rung_ladder *l, uint32_t player, rung__path *path);
/* The rank, in a style, of the row a complete path points at; and its index. */
uint32_t rung__rank_at(const rung_ladder *l, const rung__path *path, rung_rank_style style,
                       uint32_t *index_out);

/* Move a cursor to the near end of the next leaf, or with `back` of the one before; false when there is none. */
bool rung__step_over(rung_ladder_cursor *c, bool back);
void rung__read_row(const rung_ladder *l, rung__node *leaf, uint32_t row, rung_ladder_entry *out);

/* ---- pools (pool.c) ---- */

/* An empty pool of nodes with `columns` 32-bit columns and `cap` places. */
void rung__pool_init(const rung_ladder *l, rung__pool *pool, uint32_t columns, uint32_t cap);
/* How many nodes can be taken. */
static inline uint32_t rung__pool_spare(const rung__pool *pool) {
    return pool->free_count + pool->fresh_count;
}
/* Make at least `want` nodes available. */
RUNG_NODISCARD rung_status rung__pool_grow(rung_ladder *l, rung__pool *pool, uint32_t want);
static inline rung_status rung__pool_reserve(rung_ladder *l, rung__pool *pool, uint32_t want) {
    return rung__pool_spare(pool) >= want ? RUNG_OK : rung__pool_grow(l, pool, want);
}
/* A node from the reserve: empty, without parent or neighbours. */
uint32_t rung__pool_take(rung__pool *pool, uint32_t columns, uint32_t cap);
void rung__pool_give(rung__pool *pool, uint32_t id);
/* Free all memory; the pool is then as after init. */
void rung__pool_clear(rung_ladder *l, rung__pool *pool);
/* Resize the only leaf of a small ladder to `cap` rows (RUNG__LEAF_CAP at most), creating it if there is none. */
RUNG_NODISCARD rung_status rung__pool_fit_first_leaf(rung_ladder *l, uint32_t cap);

enum { RUNG__LEAF_COLUMNS = 1, RUNG__INNER_COLUMNS = 4 };

#endif
