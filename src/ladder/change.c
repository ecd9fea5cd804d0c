/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder, writing side: put, remove, build, and the one restructuring step they share.
 *
 * Differs from the textbook B+-tree in three ways:
 *  - reshape() is the only way nodes gain or lose neighbours: it spreads the rows of m adjacent siblings evenly over
 *    m' siblings. Sharing with a neighbour is 2 -> 2, splitting 2 -> 3 (or 1 -> 2), merging 2 -> 1 or 3 -> 2.
 *    Splitting two full nodes into three keeps leaves about four fifths full under random load.
 *  - An inner row's key is always exactly the first entry below it, never a stale separator: a caller's tie
 *    comparison is only ever asked about players that are really there, and an entry that goes to row 0 of a
 *    leaf is the first of all, so the entry before a new one is always in the same leaf.
 *  - All memory a change may need is secured before the first byte is moved, so failure has nothing to undo. */
#include "base/assert.h"
#include "ladder/ladder.h"
#include "ladder/pipeline.h"
#include "ladder/tree.h"

#include <string.h>

enum { SPREAD_MAX = 3 }; /* siblings that take part in one reshape */

/* ---- rows and columns ---- */

/* Without the prefixes. */
static uint32_t own_columns(uint32_t level) {
    return level ? RUNG__INNER_COLUMNS : RUNG__LEAF_COLUMNS;
}

static uint32_t columns_at(const rung_ladder *l, uint32_t level) {
    return own_columns(level) + (rung__uses_prefixes(l) ? 1 : 0);
}

static uint32_t cap_at(uint32_t level) {
    return level ? RUNG__INNER_CAP : RUNG__LEAF_CAP;
}

static rung__node *node_at(const rung_ladder *l, uint32_t level, uint32_t id) {
    return level ? rung__inner(l, id) : rung__leaf(l, id);
}

static rung__pool *pool_at(rung_ladder *l, uint32_t level) {
    return level ? &l->tree->inners : &l->leaves;
}

/* Copy `count` rows, all columns. */
static void rows_copy(const rung_ladder *l, uint32_t level, rung__node *to, uint32_t to_row,
                      rung__node *from, uint32_t from_row, uint32_t count) {
    for (uint32_t k = 0; k < l->key_words; k++)
        memcpy(rung__words(to, k) + to_row, rung__words(from, k) + from_row,
               count * sizeof(uint64_t));
    for (uint32_t c = 0; c < columns_at(l, level); c++)
        memcpy(rung__column(l, to, c) + to_row, rung__column(l, from, c) + from_row,
               count * sizeof(uint32_t));
}

typedef struct block {
    unsigned char bytes[16];
} block;

static inline block block_at(const unsigned char *at) {
    block x;
    memcpy(&x, at, sizeof x);
    return x;
}

/* Move the `bytes` from `at` on by `width`, up or (by < 0) down. Usually a dozen rows, for which memmove() would spend
 * as long choosing its method. The last chunk overlaps the one before, so it is read first. */
static inline void slide(unsigned char *at, size_t bytes, int by, size_t width) {
    enum { BLOCK = sizeof(block) };
    if (bytes < BLOCK) {
        memmove(by > 0 ? at + width : at - width, at, bytes);
    } else if (by > 0) {
        block rest = block_at(at);
        for (size_t left = bytes; left > BLOCK; left -= BLOCK) {
            block x = block_at(at + left - BLOCK);
            memcpy(at + left - BLOCK + width, &x, BLOCK);
        }
        memcpy(at + width, &rest, BLOCK);
    } else {
        block rest = block_at(at + bytes - BLOCK);
        for (size_t done = 0; done + BLOCK < bytes; done += BLOCK) {
            block x = block_at(at + done);
            memcpy(at + done - width, &x, BLOCK);
        }
        memcpy(at + bytes - BLOCK - width, &rest, BLOCK);
    }
}

/* The shape of a row. The functions that change rows are compiled twice: with constants for leaves of one key word and
 * a prefix, the common case, so that the loops over words and columns unroll; and for all others. */
typedef struct row_form {
    uint32_t words, score_words, columns;
} row_form;

#define INLINE __attribute__((always_inline)) static inline

static const row_form one_word = {1, 1, RUNG__LEAF_COLUMNS + 1};

static bool is_one_word(const rung_ladder *l) {
    return l->key_words == 1 && rung__uses_prefixes(l);
}

INLINE row_form form_at(const rung_ladder *l, uint32_t level) {
    return (row_form){l->key_words, l->score_words, columns_at(l, level)};
}

/* Move `count` rows from `from` by one place, all columns: up (by = 1) or down (by = -1). */
INLINE void rows_slide(row_form form, rung__node *node, uint32_t from, size_t count, int by) {
    enum { WORD = sizeof(uint64_t), CELL = sizeof(uint32_t) };
    unsigned char *at = (unsigned char *)(rung__words(node, 0) + from);
    for (uint32_t k = 0; k < form.words; k++, at += (size_t)node->cap * WORD)
        slide(at, count * WORD, by, WORD);
    at = (unsigned char *)(rung__column_behind(node, form.words, 0) + from);
    for (uint32_t c = 0; c < form.columns; c++, at += (size_t)node->cap * CELL)
        slide(at, count * CELL, by, CELL);
}

/* Make room for a new row, which the caller fills. */
INLINE void row_open(row_form form, rung__node *node, uint32_t row) {
    bool at_end = node->start + node->n == node->cap;
    if (node->start > 0 && (row < node->n / 2u || at_end)) {
        rows_slide(form, node, 0, row, -1);
        node->start--;
    } else {
        rows_slide(form, node, row, node->n - row, 1);
    }
    node->n++;
    node->changes++;
}

/* Take a row out. */
INLINE void row_close(row_form form, rung__node *node, uint32_t row) {
    if (row < node->n / 2u) {
        rows_slide(form, node, 0, row, 1);
        node->start++;
    } else {
        rows_slide(form, node, row + 1, node->n - row - 1u, -1);
    }
    node->n--;
    node->changes++;
}

/* Copy the first entry of `node` into the key of a row of its parent. */
static void copy_first(const rung_ladder *l, rung__node *parent, uint32_t row, rung__node *node) {
    for (uint32_t k = 0; k < l->key_words; k++)
        rung__words(parent, k)[row] = rung__words(node, k)[0];
    rung__column(l, parent, RUNG__PLAYER)[row] = rung__column(l, node, RUNG__PLAYER)[0];
    if (l->has_prefixes)
        rung__prefixes(l, parent)[row] = rung__prefixes(l, node)[0];
}

/* Fill row `row` of `parent` (at level + 1) with the description of child `id`. */
static void describe_child(rung_ladder *l, uint32_t level, uint32_t parent_id, uint32_t row,
                           uint32_t id) {
    rung__node *parent = rung__inner(l, parent_id), *child = node_at(l, level, id);
    copy_first(l, parent, row, child);
    rung__column(l, parent, RUNG__CHILD)[row] = id;
    if (level == 0) {
        rung__column(l, parent, RUNG__COUNT)[row] = rung__pack_counts(
            child->n, (uint32_t)__builtin_popcountll(child->starts), child->start);
    } else {
        rung__counts counts = rung__counts_of(l, child, level, RUNG__COUNT),
                     starts = rung__counts_of(l, child, level, RUNG__STARTS);
        rung__column(l, parent, RUNG__COUNT)[row] = rung__counts_sum(&counts, child->n);
        rung__column(l, parent, RUNG__STARTS)[row] = rung__counts_sum(&starts, child->n);
    }
    child->parent = parent_id;
    child->place = (uint16_t)(parent->start + row);
}

/* Set parent and place in all children of an inner node at `level`. */
static void announce_children(rung_ladder *l, uint32_t level, uint32_t id) {
    rung__node *node = rung__inner(l, id);
    const uint32_t *children = rung__column(l, node, RUNG__CHILD);
    for (uint32_t row = 0; row < node->n; row++) {
        rung__node *child = node_at(l, level - 1, children[row]);
        child->parent = id;
        child->place = (uint16_t)(node->start + row);
    }
}

/* ---- reshape ---- */

/* Rows of up to three siblings in one place, with room for every key width. */
typedef union spread {
    rung__node node;
    unsigned char bytes[sizeof(rung__node) +
                        SPREAD_MAX * RUNG__LEAF_CAP *
                            (RUNG_LADDER_WORDS_MAX * sizeof(uint64_t) +
                             (RUNG__LEAF_COLUMNS + 1) * sizeof(uint32_t)) +
                        SPREAD_MAX * RUNG__INNER_CAP *
                            (RUNG_LADDER_WORDS_MAX * sizeof(uint64_t) +
                             (RUNG__INNER_COLUMNS + 1) * sizeof(uint32_t))];
} spread;

static void leaf_link_after(rung_ladder *l, uint32_t before, uint32_t id) {
    rung__node *left = rung__leaf(l, before), *leaf = rung__leaf(l, id);
    leaf->prev = before;
    leaf->next = left->next;
    if (left->next != RUNG__NODE_NONE)
        rung__leaf(l, left->next)->prev = id;
    left->next = id;
}

static void leaf_unlink(rung_ladder *l, uint32_t id) {
    rung__node *leaf = rung__leaf(l, id);
    rung__leaf(l, leaf->prev)->next =
        leaf->next; /* the first of a spread always stays, so there is a left one */
    if (leaf->next != RUNG__NODE_NONE)
        rung__leaf(l, leaf->next)->prev = leaf->prev;
}

/* A string of bits. It has one word more than needed, so that an access may span two words. */
static void bits_put(uint64_t *bits, uint32_t at, uint64_t some) {
    bits[at / 64] |= some << at % 64;
    bits[at / 64 + 1] |= some >> 1 >> (63 - at % 64);
}

static uint64_t bits_get(const uint64_t *bits, uint32_t at, uint32_t n) {
    return (bits[at / 64] >> at % 64 | bits[at / 64 + 1] << 1 << (63 - at % 64)) & rung__mask(n);
}

/* Map the players of some rows to this leaf. */
static void settle_rows(rung_ladder *l, uint32_t id, uint32_t from, uint32_t end) {
    const uint32_t *players = rung__column(l, rung__leaf(l, id), RUNG__PLAYER);
    for (uint32_t row = from; row < end; row++)
        rung_numbermap_set(&l->tree->map, players[row], id);
}

/* Spread the rows of the `m` children from row `first` of the parent on evenly over `m2` children. Needs |m2 -
 * m| <= 1, room in the parent and a free node when m2 > m. Takes no memory. */
static void reshape(rung_ladder *l, uint32_t level, uint32_t parent_id, uint32_t first, uint32_t m,
                    uint32_t m2) {
    rung__node *parent = rung__inner(l, parent_id);
    l->shape++;
    uint32_t ids[SPREAD_MAX], total = 0;
    uint32_t end[SPREAD_MAX + 1] = {0}; /* child i had the rows from end[i] to end[i + 1] */
    uint64_t starts[SPREAD_MAX + 1] = {0};
    spread all;
    all.node.n = all.node.start = 0;
    all.node.cap = (uint16_t)(SPREAD_MAX * cap_at(level));

    for (uint32_t i = 0; i < m; i++) {
        ids[i] = rung__column(l, parent, RUNG__CHILD)[first + i];
        rung__node *node = node_at(l, level, ids[i]);
        rows_copy(l, level, &all.node, total, node, 0, node->n);
        if (level == 0)
            bits_put(starts, total, node->starts);
        end[i + 1] = total += node->n;
    }
    if (m2 > m) {
        ids[m] = rung__pool_take(pool_at(l, level), own_columns(level), cap_at(level));
        end[m2] = total;
        l->tree->births += level == 0;
        if (level == 0)
            leaf_link_after(l, ids[m - 1], ids[m]);
        row_open(form_at(l, level + 1), parent, first + m);
    }
    for (uint32_t i = 0, from = 0; i < m2; i++) {
        rung__node *node = node_at(l, level, ids[i]);
        uint32_t n = total / m2 + (i < total % m2);
        node->start = (uint16_t)((node->cap - n) / 2);
        node->n = (uint16_t)n;
        node->changes++;
        rows_copy(l, level, node, 0, &all.node, from, n);
        node->starts = level == 0 ? bits_get(starts, from, n) : 0;
        if (level == 0 && !l->guide) { /* all but those that were here before */
            uint32_t here = end[i] > from ? end[i] - from : 0,
                     gone = end[i + 1] > from ? end[i + 1] - from : 0;
            settle_rows(l, ids[i], 0, here < n ? here : n);
            settle_rows(l, ids[i], gone, n);
        }
        from += n;
        if (level > 0)
            announce_children(l, level, ids[i]);
        describe_child(l, level, parent_id, first + i, ids[i]);
    }
    if (m2 < m) {
        if (level == 0)
            leaf_unlink(l, ids[m2]);
        rung__pool_give(pool_at(l, level), ids[m2]);
        row_close(form_at(l, level + 1), parent, first + m2);
    }
    if (m2 != m)
        announce_children(l, level + 1, parent_id);
}

/* Rows in the child at `row` of a parent, without touching a leaf. */
static uint32_t child_rows(const rung_ladder *l, uint32_t level, rung__node *parent, uint32_t row) {
    if (level == 0)
        return rung__packed_count(rung__column(l, parent, RUNG__COUNT)[row]);
    return rung__inner(l, rung__column(l, parent, RUNG__CHILD)[row])->n;
}

static void grow_root(rung_ladder *l) {
    uint32_t id = rung__pool_take(&l->tree->inners, RUNG__INNER_COLUMNS, RUNG__INNER_CAP),
             old = l->root;
    rung__inner(l, id)->n = 1;
    describe_child(l, l->height, id, 0, old);
    l->root = id;
    l->height++;
}

/* The node at `level` of the path is full: let a neighbour take some of its rows, or add a node. The path's leaf is
 * still there afterwards, but the path must be found again. */
static void make_room(rung_ladder *l, rung__path *path, uint32_t level) {
    if (level == l->height) {
        grow_root(l);
        path->step[level + 1].id = l->root;
        path->step[level + 1].row = 0;
    }
    uint32_t cap = cap_at(level), slack = cap / 8 > 2 ? cap / 8 : 2;
    uint32_t parent_id = path->step[level + 1].id, row = path->step[level + 1].row;
    rung__node *parent = rung__inner(l, parent_id);
    if (row + 1 < parent->n && child_rows(l, level, parent, row + 1) <= cap - slack) {
        reshape(l, level, parent_id, row, 2, 2);
        return;
    }
    if (row > 0 && child_rows(l, level, parent, row - 1) <= cap - slack) {
        reshape(l, level, parent_id, row - 1, 2, 2);
        return;
    }
    if (parent->n == parent->cap) {
        make_room(l, path, level + 1);
        rung__climb(l, path);
        parent_id = path->step[level + 1].id;
        row = path->step[level + 1].row;
        parent = rung__inner(l, parent_id);
    }
    if (row + 1 < parent->n)
        reshape(l, level, parent_id, row, 2, 3);
    else if (row > 0)
        reshape(l, level, parent_id, row - 1, 2, 3);
    else
        reshape(l, level, parent_id, row, 1, 2);
}

/* The node at `level` of the path is less than half full: merge it with a neighbour if that leaves some slack, else
 * spread rows evenly. */
static void rebalance(rung_ladder *l, const rung__path *path, uint32_t level) {
    if (level == l->height) {
        rung__node *root = node_at(l, level, l->root);
        if (level > 0 && root->n == 1) {
            uint32_t child = rung__column(l, root, RUNG__CHILD)[0];
            rung__pool_give(&l->tree->inners, l->root);
            l->root = child;
            l->height--;
            node_at(l, l->height, child)->parent = RUNG__NODE_NONE;
        }
        return;
    }
    uint32_t parent_id = path->step[level + 1].id, row = path->step[level + 1].row;
    rung__node *parent = rung__inner(l, parent_id);
    uint32_t cap = cap_at(level), seven_eighths = cap - cap / 8;
    uint32_t here = child_rows(l, level, parent, row);
    bool has_left = row > 0, has_right = row + 1 < parent->n;
    uint32_t left = has_left ? child_rows(l, level, parent, row - 1) : 0;
    uint32_t right = has_right ? child_rows(l, level, parent, row + 1) : 0;
    if (has_right && here + right <= seven_eighths)
        reshape(l, level, parent_id, row, 2, 1);
    else if (has_left && left + here <= seven_eighths)
        reshape(l, level, parent_id, row - 1, 2, 1);
    else if (has_left && has_right && left + here + right <= 2 * seven_eighths)
        reshape(l, level, parent_id, row - 1, 3, 2);
    else {
        reshape(l, level, parent_id, left > right ? row - 1 : row, 2, 2);
        return;
    }
    if (parent->n < cap_at(level + 1) / 2)
        rebalance(l, path, level + 1);
}

/* ---- one entry in, one entry out ---- */

/* Update what the parent stores about a leaf: counts by a difference, and the leaf's `start`. */
static inline void adjust_leaf(const rung_ladder *l, const rung__node *leaf, int32_t count,
                               int32_t starts) {
    uint32_t *packed =
        &rung__inner_places(l, rung__inner(l, leaf->parent), RUNG__COUNT)[leaf->place];
    uint32_t more = rung__pack_counts((uint32_t)count, (uint32_t)starts, leaf->start);
    *packed = *packed - rung__pack_counts(0, 0, rung__packed_start(*packed)) + more;
}

/* The same for an inner node. */
static inline void adjust_inner(const rung_ladder *l, const rung__node *node, int32_t count,
                                int32_t starts) {
    rung__node *parent = rung__inner(l, node->parent);
    rung__inner_places(l, parent, RUNG__COUNT)[node->place] += (uint32_t)count;
    rung__inner_places(l, parent, RUNG__STARTS)[node->place] += (uint32_t)starts;
}

/* In all nodes above a leaf. */
static void adjust_counts(const rung_ladder *l, const rung__node *leaf, int32_t count,
                          int32_t starts) {
    const rung__node *node = leaf;
    for (uint32_t h = 0; h < l->height; h++) {
        if (h == 0)
            adjust_leaf(l, leaf, count, starts);
        else
            adjust_inner(l, node, count, starts);
        node = rung__inner(l, node->parent);
    }
}

/* The first entry of the path's leaf changed: update the keys above it, up to where it is no longer the first child. */
static void refresh_first(rung_ladder *l, const rung__path *path) {
    rung__node *leaf = rung__leaf(l, path->step[0].id);
    l->shape++;
    for (uint32_t h = 1; h <= l->height; h++) {
        copy_first(l, rung__inner(l, path->step[h].id), path->step[h].row, leaf);
        if (path->step[h].row > 0)
            return;
    }
}

/* The entry after the last row of a leaf starts its score, or no longer does. */
static void set_next_start(rung_ladder *l, rung__node *leaf, bool is_start) {
    int32_t starts = is_start ? 1 : -1;
    rung__node *next = rung__leaf(l, leaf->next);
    next->starts ^= 1;
    adjust_counts(l, next, 0, starts);
    l->distinct += (uint32_t)starts;
}

/* Take a row out of its leaf, which may become too empty. Returns the change in the leaf's starts; the caller updates
 * the counts above. */
INLINE int32_t take_out(rung_ladder *l, row_form form, rung__node *leaf, uint32_t row) {
    uint64_t bits = leaf->starts, below = rung__mask(row);
    bool start = bits >> row & 1;
    bool next_starts = false; /* the next entry has the same score and becomes the start */
    if (start && row + 1 < leaf->n) {
        next_starts = !(bits >> (row + 1) & 1);
        bits |= (uint64_t)next_starts << (row + 1);
    } else if (start && leaf->next != RUNG__NODE_NONE && !(rung__leaf(l, leaf->next)->starts & 1)) {
        set_next_start(l, leaf, true);
    }
    leaf->starts = (bits & below) | (bits >> 1 & ~below);
    row_close(form, leaf, row);
    int32_t starts = next_starts ? 0 : -(int32_t)start;
    l->distinct += (uint32_t)starts;
    l->count--;
    return starts;
}

/* Take the entry at a complete path out of the tree. The path is stale afterwards. */
static void erase(rung_ladder *l, const rung__path *path) {
    rung__node *leaf = rung__leaf(l, path->step[0].id);
    adjust_counts(l, leaf, -1, take_out(l, form_at(l, 0), leaf, path->step[0].row));
    if (path->step[0].row == 0 && leaf->n > 0)
        refresh_first(l, path);
    if (leaf->n < RUNG__LEAF_CAP / 2)
        rebalance(l, path, 0);
}

/* Put a row into a leaf that has room. Returns the change in the leaf's starts, as take_out(). */
INLINE int32_t put_in(rung_ladder *l, row_form form, rung__node *leaf, uint32_t row,
                      const rung__probe *probe) {
    uint64_t bits = leaf->starts, below = rung__mask(row);
    bits = (bits & below) | (bits & ~below) << 1;
    row_open(form, leaf, row);
    for (uint32_t k = 0; k < form.words; k++)
        rung__words(leaf, k)[row] = probe->key[k];
    rung__column_behind(leaf, form.words, RUNG__PLAYER)[row] = probe->player;
    if (form.columns > RUNG__LEAF_COLUMNS)
        rung__column_behind(leaf, form.words, RUNG__LEAF_COLUMNS)[row] = probe->prefix;

    bool start = row == 0 ||
                 !rung__same_words(leaf, row - 1, leaf, row, form.score_words); /* 0: the first */
    bool next_loses = false; /* the next entry has the same score and was its start until now */
    if (start && row + 1 < leaf->n) {
        next_loses = rung__same_words(leaf, row, leaf, row + 1, form.score_words);
        bits &= ~((uint64_t)next_loses << (row + 1));
    } else if (start && leaf->next != RUNG__NODE_NONE &&
               rung__same_words(leaf, row, rung__leaf(l, leaf->next), 0, form.score_words)) {
        set_next_start(l, leaf, false);
    }
    leaf->starts = bits | (uint64_t)start << row;
    int32_t starts = (int32_t)start - (int32_t)next_loses;
    l->distinct += (uint32_t)starts;
    l->count++;
    return starts;
}

/* Put a new entry where the path points; memory was secured. If that leaf is full, the path changes. */
static void insert(rung_ladder *l, const rung__probe *probe, rung__path *path) {
    while (rung__leaf(l, path->step[0].id)->n == RUNG__LEAF_CAP) {
        make_room(l, path, 0);
        rung__descend(l, probe, path);
    }
    rung__node *leaf = rung__leaf(l, path->step[0].id);
    uint32_t row = path->step[0].row;
    adjust_counts(l, leaf, 1, put_in(l, form_at(l, 0), leaf, row, probe));
    if (row == 0)
        refresh_first(l, path);
}

/* ---- securing memory ---- */

/* Begin to use prefixes. */
static void begin_prefixes(rung_ladder *l, rung__node *leaf) {
    const uint32_t *players = rung__column(l, leaf, RUNG__PLAYER);
    if (!l->has_prefixes)
        return;
    l->tie_aid->prefix_begin(l->tie_ctx, leaf->n, players, l->tree->origin);
    for (uint32_t i = 0; i < leaf->n; i++)
        rung__prefixes(l, leaf)[i] = rung__prefix_of(l, players[i]);
}

/* The only leaf is full: create what a tree of several leaves needs. */
static rung_status begin_tree(rung_ladder *l) {
    rung__tree *tree = rung_alloc_zeroed(l->alloc, sizeof *tree);
    if (!tree)
        return RUNG_ENOMEM;
    rung__pool_init(l, &tree->inners, RUNG__INNER_COLUMNS, RUNG__INNER_CAP);
    tree->births = l->shape; /* later than any birth in an earlier tree */
    rung__node *leaf = l->root == RUNG__NODE_NONE ? NULL : rung__leaf(l, l->root);
    for (uint32_t i = 0; leaf && !l->guide && i < leaf->n; i++) {
        uint32_t player = rung__column(l, leaf, RUNG__PLAYER)[i];
        if (rung_numbermap_reserve(&tree->map, l->alloc, player) < 0) {
            rung_numbermap_deinit(&tree->map, l->alloc);
            rung_alloc_free(l->alloc, tree, sizeof *tree);
            return RUNG_ENOMEM;
        }
        rung_numbermap_set(&tree->map, player, l->root);
    }
    l->tree = tree;
    l->bytes += sizeof *tree;
    if (leaf)
        begin_prefixes(l, leaf);
    return RUNG_OK;
}

/* The only leaf of a small ladder doubles until it has full size. */
static uint32_t first_leaf_cap(uint32_t rows) {
    uint32_t cap = RUNG__LEAF_CAP_FIRST;
    while (cap < rows)
        cap *= 2;
    return cap < RUNG__LEAF_CAP ? cap : RUNG__LEAF_CAP;
}

static rung_status secure(rung_ladder *l, uint32_t player, bool is_new) {
    if (!l->tree) {
        rung__node *leaf = l->root == RUNG__NODE_NONE ? NULL : rung__leaf(l, l->root);
        if (!is_new || (leaf && leaf->n < leaf->cap))
            return RUNG_OK;
        if (!leaf)
            return rung__pool_fit_first_leaf(l, RUNG__LEAF_CAP_FIRST);
        if (leaf->cap < RUNG__LEAF_CAP)
            return rung__pool_fit_first_leaf(l, first_leaf_cap(leaf->cap + 1u));
        if (begin_tree(l) < 0)
            return RUNG_ENOMEM;
    }
    if (is_new && !l->guide && rung_numbermap_reserve(&l->tree->map, l->alloc, player) < 0)
        return RUNG_ENOMEM;
    /* At most one new node per level, and a new root. */
    if (rung__pool_reserve(l, &l->leaves, 1) < 0)
        return RUNG_ENOMEM;
    return rung__pool_reserve(l, &l->tree->inners, l->height + 1u);
}

/* ---- the public changes ---- */

rung_status rung_ladder_secure(rung_ladder *l, uint32_t player, bool is_new) {
    if (is_new && l->count >= RUNG_LADDER_COUNT_MAX)
        return RUNG_ELIMIT;
    return secure(l, player, is_new);
}

static bool key_equals(const rung_ladder *l, rung__node *leaf, uint32_t row, const uint64_t *key) {
    for (uint32_t k = 0; k < l->key_words; k++)
        if (rung__words(leaf, k)[row] != key[k])
            return false;
    return true;
}

/* Fill in what stood before the change. `from` is complete when the player existed. */
static void note_before(const rung_ladder *l, const rung__path *from, bool existed,
                        rung_ladder_change *change) {
    rung_ladder_entry old = {0};
    change->existed = existed;
    if (change->is_brief)
        return;
    if (existed)
        rung__read_row(l, rung__leaf(l, from->step[0].id), from->step[0].row, &old);
    memcpy(change->old_key, old.key, sizeof old.key);
    change->rank_before = 0;
    change->index_before = l->count;
    if (existed)
        change->rank_before = rung__rank_at(l, from, change->style, &change->index_before);
}

static void note_after(const rung_ladder *l, const rung__path *at, rung_ladder_change *change) {
    rung__node *leaf = rung__leaf(l, at->step[0].id);
    uint32_t row = at->step[0].row;
    if (change->is_brief)
        return;
    change->rank_after = rung__rank_at(l, at, change->style, &change->index_after);
    change->has_above = row > 0 || leaf->prev != RUNG__NODE_NONE;
    if (row > 0)
        rung__read_row(l, leaf, row - 1, &change->above);
    else if (change->has_above)
        rung__read_row(l, rung__leaf(l, leaf->prev), rung__leaf(l, leaf->prev)->n - 1u,
                       &change->above);
}

/* Move the entry at `from` (complete) to the key of the probe, which belongs at `to`. */
static void move(rung_ladder *l, const rung__path *from, const rung__probe *probe, rung__path *to) {
    bool same_leaf = from->step[0].id == to->step[0].id, was_first = from->step[0].row == 0;
    uint32_t shape = l->shape;
    erase(l, from);
    /* The path to the key is still valid, unless nodes were reshaped or the key now belongs in the leaf before. */
    if (l->shape != shape && (!was_first || same_leaf || l->shape != shape + 1))
        rung__descend(l, probe, to);
    else if (same_leaf && from->step[0].row < to->step[0].row)
        to->step[0].row--;
    insert(l, probe, to);
}

rung_status rung_ladder_put(rung_ladder *l, uint32_t player, const uint64_t *key,
                            rung_ladder_change *change) {
    rung__probe probe = {.key = key,
                         .words = l->key_words,
                         .player = player,
                         .prefix = rung__prefix_of(l, player),
                         .has_player = true};
    rung__path from, to;
    if (l->root != RUNG__NODE_NONE) {
        /* Both leaves likely miss the cache: prefetch both before reading either. */
        rung__prefetch_leaf(l, player);
        rung__descend_to_leaf(l, &probe, &to);
    }
    if (rung__locate(l, player, &from)) {
        rung__node *leaf = rung__leaf(l, from.step[0].id);
        to.step[0].row = rung__node_search(l, rung__leaf(l, to.step[0].id), &probe);
        rung__prefetch_rows(l, rung__leaf(l, to.step[0].id), to.step[0].row, true);
        rung__climb(l, &from);
        if (change)
            note_before(l, &from, true, change);
        if (key_equals(l, leaf, from.step[0].row, key)) {
            if (change)
                note_after(l, &from, change);
            return RUNG_UNCHANGED;
        }
        if (secure(l, player, false) < 0)
            return RUNG_ENOMEM;
        move(l, &from, &probe, &to);
    } else {
        if (l->count >= RUNG_LADDER_COUNT_MAX)
            return RUNG_ELIMIT;
        if (secure(l, player, true) < 0)
            return RUNG_ENOMEM;
        if (change)
            note_before(l, &from, false, change);
        probe.prefix = rung__prefix_of(l, player); /* securing memory may have begun them */
        rung__descend(l, &probe, &to);
        insert(l, &probe, &to);
    }
    l->moves++;
    if (l->tree && !l->guide)
        rung_numbermap_set(&l->tree->map, player, to.step[0].id);
    if (change)
        note_after(l, &to, change);
    return RUNG_OK;
}

/* ---- prepared moves (pipeline.h) ---- */

/* Move a row from one leaf to another, or within one. Where the paths to the root meet, and above, the numbers of
 * entries do not change. */
INLINE void move_row(rung_ladder *l, row_form form, rung__node *from, uint32_t from_row,
                     rung__node *to, uint32_t to_row, const rung__probe *probe) {
    int32_t out = take_out(l, form, from, from_row), in = put_in(l, form, to, to_row, probe);
    if (from == to) {
        adjust_leaf(l, from, 0, out + in);
    } else {
        adjust_leaf(l, from, -1, out);
        adjust_leaf(l, to, 1, in);
    }
    rung__node *down = rung__inner(l, from->parent), *up = rung__inner(l, to->parent);
    while (down != up) {
        adjust_inner(l, down, -1, out);
        adjust_inner(l, up, 1, in);
        down = rung__inner(l, down->parent);
        up = rung__inner(l, up->parent);
    }
    for (; out + in && down->parent != RUNG__NODE_NONE; down = rung__inner(l, down->parent))
        adjust_inner(l, down, 0, out + in);
}

/* The row of a leaf before which the probe belongs; 0: it may belong in another leaf, or comes first of all. This is
 * the descent's row, if nothing changed since. A leaf's count of changes wraps, but not within so few moves. */
static uint32_t prepared_row(const rung_ladder *l, const rung_descent *d, rung__node *leaf,
                             const rung__probe *probe) {
    bool same = d->births == l->tree->births && d->changes == leaf->changes &&
                l->moves - d->moves < UINT16_MAX / 2;
    uint32_t row = same ? d->low : rung__node_search(l, leaf, probe);
    return row < leaf->n || d->shape == l->shape ? row : 0;
}

/* Is it a descent of this put, and complete? */
static bool is_descent_of(const rung_ladder *l, uint32_t player, const uint64_t *key,
                          const rung_descent *d) {
    bool good = d->ladder == l && d->player == player && l->height > 0 && d->height == 0;
    for (uint32_t k = 0; k < l->key_words; k++)
        good = good && d->key[k] == key[k];
    return good;
}

/* Make the prepared move, if it is a simple one: no node becomes too full or too empty, or begins with the entry. Where
 * the entry stands is checked, so a stale `source` is harmless. False: nothing was done. */
static bool move_prepared(rung_ladder *l, uint32_t player, const uint64_t *key,
                          const rung_descent *source, const rung_descent *target,
                          rung_ladder_change *change) {
    uint32_t from_leaf = source->from_leaf, from_row = source->from_row, to_leaf = target->node;
    if (!is_descent_of(l, player, key, target) || !rung__is_leaf(l, from_leaf) ||
        !rung__is_leaf(l, to_leaf))
        return false;
    rung__node *from = rung__leaf(l, from_leaf), *to = rung__leaf(l, to_leaf);
    if ((from_row >= from->n || rung__column(l, from, RUNG__PLAYER)[from_row] != player) &&
        !rung__row_of(l, from_leaf, player, &from_row))
        return false;
    rung__probe probe = {.key = key,
                         .words = l->key_words,
                         .player = player,
                         .prefix = target->births == l->tree->births ? target->prefix
                                                                     : rung__prefix_of(l, player),
                         .has_player = true};
    uint32_t to_row = prepared_row(l, target, to, &probe);
    if (to_row == 0 || from->n <= RUNG__LEAF_CAP / 2 || to->n == RUNG__LEAF_CAP ||
        (from_row == 0 && from == to) || key_equals(l, from, from_row, key))
        return false;
    if (from_leaf == to_leaf && from_row < to_row)
        to_row--;
    rung__path path;
    path.step[0].id = from_leaf;
    path.step[0].row = from_row;
    if (change) {
        if (!change->is_brief)
            rung__climb(l, &path);
        note_before(l, &path, true, change);
    }
    if (is_one_word(l))
        move_row(l, one_word, from, from_row, to, to_row, &probe);
    else
        move_row(l, form_at(l, 0), from, from_row, to, to_row, &probe);
    if (from_row == 0) {
        rung__climb(l, &path);
        refresh_first(l, &path);
    }
    l->moves++;
    if (from_leaf != to_leaf && !l->guide)
        rung_numbermap_set(&l->tree->map, player, to_leaf);
    if (change && !change->is_brief) {
        path.step[0].id = to_leaf;
        path.step[0].row = to_row;
        rung__climb(l, &path);
        note_after(l, &path, change);
    }
    return true;
}

rung_status rung_descent_put(rung_ladder *l, uint32_t player, const uint64_t *key,
                             const rung_descent *from, const rung_descent *to,
                             rung_ladder_change *change) {
    if (move_prepared(l, player, key, from, to, change))
        return RUNG_OK;
    return rung_ladder_put(l, player, key, change);
}

rung_status rung_ladder_remove(rung_ladder *l, uint32_t player) {
    rung__path path;
    path.step[0].id = rung__leaf_of(l, player);
    if (path.step[0].id == RUNG_NUMBER_NONE ||
        !rung__row_of(l, path.step[0].id, player, &path.step[0].row))
        return RUNG_NOT_FOUND;
    rung__climb(l, &path);
    erase(l, &path);
    l->moves++;
    if (l->tree && !l->guide)
        rung_numbermap_remove(&l->tree->map, player);
    return RUNG_OK;
}

/* ---- bulk build ---- */

/* Nodes needed for `rows` rows when each is seven eighths full. */
static uint32_t nodes_for(uint32_t rows, uint32_t level) {
    uint32_t seven_eighths = cap_at(level) - cap_at(level) / 8;
    return (uint32_t)(((uint64_t)rows + seven_eighths - 1) / seven_eighths);
}

/* Secure everything a tree of `count` entries needs, except room in the player map. */
static rung_status build_secure(rung_ladder *l, uint32_t count) {
    uint32_t leaves = nodes_for(count, 0), inners = 0;
    if (leaves == 1)
        return rung__pool_fit_first_leaf(l, first_leaf_cap(count));
    if (begin_tree(l) < 0)
        return RUNG_ENOMEM;
    for (uint32_t nodes = leaves; nodes > 1;)
        inners += nodes = nodes_for(nodes, 1);
    if (rung__pool_reserve(l, &l->leaves, leaves) < 0)
        return RUNG_ENOMEM;
    return rung__pool_reserve(l, &l->tree->inners, inners);
}

/* Does the entry come after that row? `prefix`: the entry's; NULL while there are none. */
static bool is_behind(const rung_ladder *l, rung__node *leaf, uint32_t row,
                      const rung_ladder_entry *e, const uint32_t *prefix) {
    for (uint32_t k = 0; k < l->key_words; k++) {
        uint64_t word = rung__words(leaf, k)[row];
        if (word != e->key[k])
            return word < e->key[k];
    }
    if (prefix && rung__prefixes(l, leaf)[row] != *prefix)
        return rung__prefixes(l, leaf)[row] < *prefix;
    uint32_t player = rung__column(l, leaf, RUNG__PLAYER)[row];
    return l->tie ? l->tie(l->tie_ctx, player, e->player) < 0 : player < e->player;
}

/* A build in progress. It reads entries a few ahead of their turn and prefetches what they need: their cells in the
 * map, and the names that their prefixes come from. Where the ladder will hold most of the existing players, it first
 * computes all prefixes in the order of player numbers and parks them in the map. */
enum { BUILD_RING = 64 };
typedef struct build {
    rung_ladder *l;
    rung_ladder_source next;
    void *ctx;
    uint32_t left;      /* entries to be read */
    uint32_t at, end;   /* taken from the ring, and read into it, so far */
    uint32_t fill_span; /* of player numbers, if the map is filled in one go; else 0 */
    rung_numbermap_fill fill;
    rung_ladder_entry ring[BUILD_RING];
} build;

/* Prefetch what the build needs of a player: part 0, then part 1. */
static void build_prefetch(const build *b, uint32_t player, int part) {
    const rung_ladder *l = b->l;
    if (b->fill_span) {
        if (part == 0)
            rung_numbermap_fill_prefetch(&b->fill, player);
        return;
    }
    if (l->tree && part == 0)
        rung_numbermap_prefetch(&l->tree->map, player);
    if (rung__uses_prefixes(l))
        l->tie_aid->prefetch(l->tie_ctx, player, part);
}

/* The next entry, valid until the next call; NULL: the source has no more. */
static const rung_ladder_entry *build_next(build *b) {
    for (; b->left && b->end - b->at < BUILD_RING - 1; b->left--, b->end++) {
        rung_ladder_entry *e = &b->ring[b->end % BUILD_RING];
        if (!b->next(b->ctx, e))
            return NULL;
        build_prefetch(b, e->player, 0);
    }
    if (b->end - b->at > BUILD_RING / 2)
        build_prefetch(b, b->ring[(b->at + BUILD_RING / 2) % BUILD_RING].player, 1);
    return &b->ring[b->at++ % BUILD_RING];
}

/* Map the player to its leaf and give its prefix, 0 if there is none yet. RUNG_EINVAL: the player came twice. */
static rung_status build_note(build *b, uint32_t id, uint32_t player, uint32_t *prefix_out) {
    rung_ladder *l = b->l;
    bool is_first = id == l->root; /* the first leaf's prefixes are computed when it is complete */
    if (b->fill.map)
        return rung_numbermap_fill_put(&b->fill, player, id, prefix_out) ? RUNG_OK : RUNG_EINVAL;
    *prefix_out = is_first ? 0 : rung__prefix_of(l, player);
    if (l->tree && (l->guide || b->fill_span))
        return RUNG_OK;
    if (l->tree) {
        rung_status st = rung_numbermap_add(&l->tree->map, l->alloc, player, id);
        return st == RUNG_UNCHANGED ? RUNG_EINVAL : st;
    }
    rung__node *leaf = rung__leaf(l, id);
    for (uint32_t i = 0; i < leaf->n; i++)
        if (rung__column(l, leaf, RUNG__PLAYER)[i] == player)
            return RUNG_EINVAL;
    return RUNG_OK;
}

/* Append one entry to a leaf under construction; `before` is the leaf of the previous entry, NULL at first. */
static rung_status build_append(build *b, uint32_t id, const rung_ladder_entry *e,
                                rung__node *before) {
    rung_ladder *l = b->l;
    rung__node *leaf = rung__leaf(l, id);
    uint32_t row = leaf->n, last = before ? before->n - 1u : 0, prefix;
    rung_status st = build_note(b, id, e->player, &prefix);
    if (st < 0)
        return st;
    bool has_prefix = l->has_prefixes && id != l->root;
    if (before && !is_behind(l, before, last, e, has_prefix ? &prefix : NULL))
        return RUNG_EINVAL;
    for (uint32_t k = 0; k < l->key_words; k++)
        rung__words(leaf, k)[row] = e->key[k];
    rung__column(l, leaf, RUNG__PLAYER)[row] = e->player;
    if (has_prefix)
        rung__prefixes(l, leaf)[row] = prefix;
    leaf->n++;
    bool start = !before || !rung__same_score(l, before, last, leaf, row);
    leaf->starts = leaf->starts | (uint64_t)start << row;
    l->distinct += start;
    l->count++;
    return RUNG_OK;
}

/* The first leaf is complete, so prefixes can be computed: park all of them in the map, then map the leaf's players. */
static rung_status build_fill(build *b, rung__node *leaf) {
    rung_ladder *l = b->l;
    if (rung_numbermap_fill_begin(&b->fill, &l->tree->map, l->alloc, b->fill_span) < 0)
        return RUNG_ENOMEM;
    uint32_t n, *notes;
    for (uint32_t from = 0; (notes = rung_numbermap_fill_notes(&b->fill, from, &n)); from += n)
        l->tie_aid->prefixes(l->tie_ctx, l->tree->origin, from, n, notes);
    for (uint32_t i = 0; i < leaf->n; i++) {
        uint32_t prefix;
        if (!rung_numbermap_fill_put(&b->fill, rung__column(l, leaf, RUNG__PLAYER)[i], l->root,
                                     &prefix))
            return RUNG_EINVAL;
    }
    return RUNG_OK;
}

/* Build one level of inner nodes over the chain of nodes that starts at `first`; returns the first of the new chain.
 * While a tree is built, nodes of every level are chained by `next`. */
static uint32_t build_level(rung_ladder *l, uint32_t level, uint32_t first, uint32_t nodes) {
    uint32_t parents = nodes_for(nodes, level + 1), chain = RUNG__NODE_NONE, last = RUNG__NODE_NONE,
             child = first;
    for (uint32_t i = 0; i < parents; i++) {
        uint32_t id = rung__pool_take(&l->tree->inners, RUNG__INNER_COLUMNS, RUNG__INNER_CAP),
                 n = nodes / parents + (i < nodes % parents);
        rung__inner(l, id)->n = (uint16_t)n;
        for (uint32_t row = 0; row < n; row++) {
            describe_child(l, level, id, row, child);
            child = node_at(l, level, child)->next;
        }
        if (chain == RUNG__NODE_NONE)
            chain = id;
        else
            rung__inner(l, last)->next = id;
        last = id;
    }
    return chain;
}

static rung_status build_leaf(build *b, uint32_t id, uint32_t rows, rung__node *before) {
    rung_ladder *l = b->l;
    for (; rows; rows--, before = rung__leaf(l, id)) {
        const rung_ladder_entry *e = build_next(b);
        rung_status st = e ? build_append(b, id, e, before) : RUNG_EINVAL;
        if (st < 0)
            return st;
    }
    return RUNG_OK;
}

static rung_status build_leaves(build *b, uint32_t count) {
    rung_ladder *l = b->l;
    uint32_t leaves = nodes_for(count, 0), before = RUNG__NODE_NONE;
    for (uint32_t i = 0; i < leaves; i++) {
        uint32_t id =
            l->tree ? rung__pool_take(&l->leaves, RUNG__LEAF_COLUMNS, RUNG__LEAF_CAP) : l->root;
        if (i == 0)
            l->root = id;
        else
            leaf_link_after(l, before, id);
        rung_status st = build_leaf(b, id, count / leaves + (i < count % leaves),
                                    i ? rung__leaf(l, before) : NULL);
        if (st == RUNG_OK && i == 0 && l->tree)
            begin_prefixes(l, rung__leaf(l, id));
        if (st == RUNG_OK && i == 0 && b->fill_span)
            st = build_fill(b, rung__leaf(l, id));
        if (st < 0)
            return st;
        before = id;
    }
    return RUNG_OK;
}

/* The span of player numbers if the build fills the map in one go; else 0. */
static uint32_t fill_span(const rung_ladder *l, uint32_t count) {
    bool may_fill = rung__uses_prefixes(l) && !l->guide && l->tie_aid->prefixes;
    uint32_t span = may_fill ? l->tie_aid->span(l->tie_ctx) : 0;
    return rung_numbermap_fill_fits(count, span) ? span : 0;
}

rung_status rung_ladder_build(rung_ladder *l, uint32_t count, rung_ladder_source next, void *ctx) {
    if (l->count || count > RUNG_LADDER_COUNT_MAX)
        return RUNG_EINVAL;
    rung_ladder_clear(l);
    if (count == 0)
        return RUNG_OK;
    rung_status st = build_secure(l, count);
    build b = {.l = l, .next = next, .ctx = ctx, .left = count, .fill_span = fill_span(l, count)};
    if (st == RUNG_OK && l->tree)
        rung_numbermap_expect(&l->tree->map, count);
    if (st == RUNG_OK)
        st = build_leaves(&b, count);
    rung_numbermap_fill_end(&b.fill);
    if (st < 0) {
        rung_ladder_clear(l);
        return st;
    }
    if (l->tree)
        rung_numbermap_expect(&l->tree->map, 0);
    for (uint32_t nodes = nodes_for(count, 0); nodes > 1; nodes = nodes_for(nodes, 1)) {
        l->root = build_level(l, l->height, l->root, nodes);
        l->height++;
    }
    return RUNG_OK;
}
