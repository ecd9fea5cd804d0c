/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder's invariants, checked by a walk over all of it.
 *
 *  I1  Entries are strictly ascending by (words, tie); the leaf chain visits them in tree order, both ways.
 *  I2  An inner row's key is the first entry below it; its count and starts are what is below it; that of a leaf says
 *      at which place the leaf's rows start.
 *  I3  Every node knows its parent and its place there; all leaves have the same depth.
 *  I4  No node is overfull; below the root none is less than seven sixteenths full; an inner root has two children.
 *  I5  Bit `row` of a leaf's starts is set iff the entry's score differs from the one before it, or there is none.
 *  I6  The player map names exactly the players in the tree, each with its leaf. A guided ladder has none: its guide
 *      has every entry, too.
 *  I7  The totals (entries, distinct scores) are right.
 *  I8  Where there are prefixes, every row has its player's. */
#include "ladder/ladder.h"
#include "ladder/tree.h"

#include <string.h>

typedef struct walk {
    const rung_ladder *l;
    rung__node *last_leaf; /* the leaf before, NULL at first */
    uint32_t last_id;
    uint32_t count, starts;
} walk;

static bool guide_has(const rung_ladder *guide, const rung_ladder_entry *e) {
    rung_ladder_entry there;
    return rung_ladder_find(guide, e->player, &there) == RUNG_OK &&
           memcmp(there.key, e->key, sizeof there.key) == 0;
}

static const char *check_leaf(walk *w, uint32_t id) {
    const rung_ladder *l = w->l;
    rung__node *leaf = rung__leaf(l, id);
    if (leaf->prev != w->last_id || (w->last_leaf && w->last_leaf->next != id))
        return "I1: the leaf chain is broken";
    for (uint32_t row = 0; row < leaf->n; row++) {
        rung__node *before = row ? leaf : w->last_leaf;
        uint32_t at = row ? row - 1 : before ? before->n - 1u : 0;
        rung_ladder_entry e;
        rung__read_row(l, leaf, row, &e);
        rung__probe probe = {.key = e.key,
                             .words = l->key_words,
                             .player = e.player,
                             .prefix = rung__prefix_of(l, e.player),
                             .has_player = true};
        if (rung__uses_prefixes(l) && rung__prefixes(l, leaf)[row] != probe.prefix)
            return "I8: an entry has another player's prefix";
        if (before && rung__node_search(l, before, &probe) <= at)
            return "I1: entries are out of order";
        bool start = !before || !rung__same_score(l, before, at, leaf, row);
        if ((leaf->starts >> row & 1) != start)
            return "I5: a start bit is wrong";
        if (l->guide && !guide_has(l->guide, &e))
            return "I6: the guide has another entry, or none";
        if (l->tree && !l->guide && rung_numbermap_get(&l->tree->map, e.player) != id)
            return "I6: the player map names another leaf";
    }
    if (leaf->starts & ~rung__mask(leaf->n))
        return "I5: a start bit is set behind the last row";
    w->count += leaf->n;
    w->starts += (uint32_t)__builtin_popcountll(leaf->starts);
    w->last_leaf = leaf;
    w->last_id = id;
    return NULL;
}

static const char *check_node(walk *w, uint32_t id, uint32_t level, uint32_t parent) {
    const rung_ladder *l = w->l;
    rung__node *node = level ? rung__inner(l, id) : rung__leaf(l, id);
    uint32_t cap = level ? RUNG__INNER_CAP : RUNG__LEAF_CAP;
    bool is_root = level == l->height;
    if (node->parent != parent)
        return "I3: a node does not know its parent";
    if (node->start + node->n > node->cap || (!is_root && node->n < cap * 7 / 16) ||
        (is_root && level && node->n < 2))
        return "I4: a node is too full or too empty";
    if (level == 0)
        return check_leaf(w, id);
    rung__counts counts = rung__counts_of(l, node, level, RUNG__COUNT),
                 all_starts = rung__counts_of(l, node, level, RUNG__STARTS);
    for (uint32_t row = 0; row < node->n; row++) {
        uint32_t child = rung__column(l, node, RUNG__CHILD)[row], count = w->count,
                 starts = w->starts;
        rung__node *below = level > 1 ? rung__inner(l, child) : rung__leaf(l, child);
        rung_ladder_entry first, key;
        rung__read_row(l, below, 0, &first);
        rung__read_row(l, node, row, &key);
        for (uint32_t k = 0; k < RUNG_LADDER_WORDS_MAX; k++)
            if (first.key[k] != key.key[k] || first.player != key.player)
                return "I2: an inner key is not the first entry below it";
        if (rung__uses_prefixes(l) &&
            rung__prefixes(l, node)[row] != rung__prefix_of(l, key.player))
            return "I8: an inner row has another player's prefix";
        if (below->place != node->start + row)
            return "I3: a node does not know its place";
        const char *wrong = check_node(w, child, level - 1, id);
        if (wrong)
            return wrong;
        if (rung__counts_at(&counts, row) != w->count - count ||
            rung__counts_at(&all_starts, row) != w->starts - starts)
            return "I2: a count or the starts of a child are wrong";
        if (level == 1 && rung__packed_start(counts.rows[row]) != below->start)
            return "I2: a parent does not know where the rows of a leaf start";
    }
    return NULL;
}

const char *rung_ladder_check(const rung_ladder *l) {
    walk w = {.l = l, .last_id = RUNG__NODE_NONE};
    if (l->root == RUNG__NODE_NONE)
        return l->count || l->distinct || l->tree ? "I7: totals without a root" : NULL;
    const char *wrong = check_node(&w, l->root, l->height, RUNG__NODE_NONE);
    if (!wrong && w.last_leaf->next != RUNG__NODE_NONE)
        wrong = "I1: the leaf chain does not end";
    if (!wrong && (w.count != l->count || w.starts != l->distinct))
        wrong = "I7: the totals are wrong";
    if (!wrong && l->tree && !l->guide)
        wrong = rung_numbermap_check(&l->tree->map);
    if (!wrong && l->tree && !l->guide &&
        l->tree->map.array_count + l->tree->map.hash_count != l->count)
        wrong = "I6: the player map has others too";
    return wrong;
}
