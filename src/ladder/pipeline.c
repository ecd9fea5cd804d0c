/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder, looking ahead: descents, which find where moves will go, many at a time.
 *
 * On the way down, a stage searches a node by the first key word, near where interpolation expects it. Rows with the
 * same first word are told apart by the other words or by their prefixes; only where those are equal too, by the
 * players' ids, which are far away in memory.
 *
 * Others may change the ladder between two stages. So a stage trusts nothing that an earlier one found beyond memory
 * safety: a node id must be of a node that exists or once existed, a row must be below the node's count. A descent that
 * went wrong is harmless, because the put checks that nothing changed the leaf since its row was found. */
#include "ladder/pipeline.h"

#include "base/prefetch.h"
#include "ladder/tree.h"

/* A word is searched REACH rows before and after its expected place. In a leaf, the first of several equal words is
 * usually LEAN rows before that place. */
#ifdef RUNG_TEST_BUILD
enum { REACH = 1, LEAN = 1 };
#else
enum { REACH = 8, LEAN = 3 };
#endif
_Static_assert((REACH & (REACH - 1)) == 0, "twice as many are searched in steps that halve them");

/* The lowest LEVELS inner levels are pipelined, two stages each; the levels above are passed in one go. */
enum { LEVELS = 3 };
_Static_assert(RUNG_DESCENT_DOWN_LAST == RUNG_DESCENT_DOWN + 2 * (LEVELS - 1), "one level is left");
_Static_assert(RUNG_DESCENT_DOWN_LEAF == RUNG_DESCENT_DOWN + 2 * LEVELS, "below the last level");

/* ---- prefetch ---- */

/* What a move reads and changes in the parent of a leaf: its header, the leaf's own counts and, for a rank, those
 * before them. The leaf's own go to L1: a lone line, prefetched to L2, often came too late. */
static void prefetch_parent(const rung_ladder *l, const rung__node *leaf, bool ranked) {
    rung__node *parent = rung__inner(l, leaf->parent);
    const uint32_t *counts = rung__inner_places(l, parent, RUNG__COUNT);
    rung_prefetch(parent);
    if (ranked)
        rung_prefetch_range(counts, leaf->place * sizeof *counts);
    rung_prefetch_now(counts + leaf->place);
}

/* What a search near a place is likely to read: REACH words on either side, and REACH more for a run of equal words. */
static void prefetch_near(const rung__node *node, uint32_t place) {
    rung_prefetch(node);
    rung_prefetch_range(node->rows + (place > REACH ? place - REACH : 0),
                        3 * REACH * sizeof *node->rows);
}

/* To L1, for a search that follows at once; without the run. */
static void prefetch_near_now(const rung__node *node, uint32_t place) {
    const uint64_t *words = node->rows + (place > REACH ? place - REACH : 0);
    rung_prefetch_now(node);
    for (uint32_t i = 0; i <= 2; i++)
        rung_prefetch_now(words + i * REACH);
}

void rung_ladder_prefetch(const rung_ladder *l, int part) {
    if (part == 0)
        rung_prefetch_range(l, sizeof *l);
    else if (part == 1 && l->tree)
        rung_prefetch_range(l->tree, sizeof *l->tree);
    else if (l->height)
        rung_prefetch(&l->tree->inners.slabs[l->root >> l->tree->inners.shift]);
}

void rung__prefetch_map(const rung_ladder *l, uint32_t player) {
    l = l->guide ? l->guide : l;
    if (l->tree)
        rung_numbermap_prefetch(&l->tree->map, player);
}

void rung__prefetch_leaf(const rung_ladder *l, uint32_t player) {
    l = l->guide ? l->guide : l;
    uint32_t id = l->height ? rung__leaf_of(l, player) : RUNG_NUMBER_NONE;
    if (id != RUNG_NUMBER_NONE)
        rung__prefetch_players(l, id);
}

static void prefetch_row(const rung_ladder *l, uint32_t player) {
    rung__path path;
    if (!rung__locate(l, player, &path) || l->height == 0)
        return;
    rung__prefetch_key(l, rung__leaf(l, path.step[0].id), path.step[0].row);
    prefetch_parent(l, rung__leaf(l, path.step[0].id), true);
}

void rung_ladder_prefetch_player(const rung_ladder *l, uint32_t player, int part) {
    if (part == 0)
        rung__prefetch_map(l, player);
    else if (part == 1)
        rung__prefetch_leaf(l, player);
    else
        prefetch_row(l, player);
}

/* ---- where the entry stands ---- */

static void map_stage(rung_descent *d, uint32_t n) {
    for (; n; d++, n--)
        rung__prefetch_map(d->ladder, d->player);
}

static void leaf_stage(rung_descent *d, uint32_t n) {
    for (; n; d++, n--)
        d->from_leaf = rung__leaf_of(d->ladder, d->player);
}

static void players_stage(rung_descent *d, uint32_t n) {
    for (; n; d++, n--)
        if (d->ladder->height && d->from_leaf != RUNG__NODE_NONE)
            rung__prefetch_players(d->ladder, d->from_leaf);
}

/* The entry has moved to another leaf since; false: there is none. */
static bool locate_again(rung_descent *d) {
    rung__path path;
    if (!rung__locate(d->ladder, d->player, &path)) {
        d->from_leaf = RUNG__NODE_NONE;
        return false;
    }
    d->from_leaf = path.step[0].id;
    d->from_row = path.step[0].row;
    return true;
}

static void row_stage(rung_descent *d, uint32_t n) {
    for (; n; d++, n--) {
        const rung_ladder *l = d->ladder;
        uint32_t id = d->from_leaf;
        if (id != RUNG__NODE_NONE &&
            ((rung__is_leaf(l, id) && rung__row_of(l, id, d->player, &d->from_row)) ||
             locate_again(d)))
            rung__prefetch_rows(l, rung__leaf(l, d->from_leaf), d->from_row, false);
    }
}

static inline void prefetch_parents(const rung_descent *d, uint32_t n, bool ranked) {
    for (; n; d++, n--)
        if (d->ladder->height && d->from_leaf != RUNG__NODE_NONE)
            prefetch_parent(d->ladder, rung__leaf(d->ladder, d->from_leaf), ranked);
}

static void counts_stage(rung_descent *d, uint32_t n) {
    prefetch_parents(d, n, false);
}

static void ranks_stage(rung_descent *d, uint32_t n) {
    prefetch_parents(d, n, true);
}

rung_status rung_descent_entry(rung_descent *d, rung_ladder_entry *out) {
    const rung_ladder *l = d->ladder;
    if (d->from_leaf == RUNG__NODE_NONE)
        return RUNG_NOT_FOUND;
    bool good = rung__is_leaf(l, d->from_leaf);
    if (good) {
        rung__node *leaf = rung__leaf(l, d->from_leaf);
        good =
            d->from_row < leaf->n && rung__column(l, leaf, RUNG__PLAYER)[d->from_row] == d->player;
    }
    if (!good && !locate_again(d))
        return RUNG_NOT_FOUND;
    rung__read_row(l, rung__leaf(l, d->from_leaf), d->from_row, out);
    return RUNG_OK;
}

/* ---- where it goes: searching one node ---- */

static rung__node *node_of(const rung_ladder *l, const rung_descent *d) {
    return d->height ? rung__inner(l, d->node) : rung__leaf(l, d->node);
}

static rung__probe probe_of(const rung_ladder *l, const rung_descent *d) {
    return (rung__probe){.key = d->key,
                         .words = l->key_words,
                         .player = d->player,
                         .prefix = d->prefix,
                         .has_player = true,
                         .or_self = d->seeks_player};
}

static uint32_t rows_before(const rung_ladder *l, rung__node *node, const rung_descent *d) {
    rung__probe probe = probe_of(l, d);
    return rung__node_search(l, node, &probe);
}

/* Keys are spread about evenly between the first of a child and the first of the next: so the row of a word in the
 * child at `row` can be guessed, and most of the child's lines be left alone. `rows`: how many it has, about. */
static uint32_t guess_row(rung__node *parent, uint32_t row, uint64_t word, uint32_t rows) {
    const uint64_t *words = rung__words(parent, 0) + row;
    if (row + 1u >= parent->n || word <= words[0] || word >= words[1])
        return word <= words[0] ? 0 : rows;
    double share = (double)(word - words[0]) / (double)(words[1] - words[0]);
    return (uint32_t)(share * rows);
}

/* Rows whose first word is less. The answer is likely near `place`: there it is found without a branch. */
static inline uint32_t words_less_near(rung__node *node, uint64_t word, uint32_t place) {
    const uint64_t *words = rung__words(node, 0);
    uint32_t n = node->n, row = place > node->start ? place - node->start : 0;
    if (n <= 2 * REACH)
        return rung__words_less(words, n, word);
    uint32_t low = row > REACH ? row - REACH : 0;
    low = low < n - 2 * REACH ? low : n - 2 * REACH;
    uint32_t less = rung__words_less_of(words + low, 2 * REACH, word), high = low + 2 * REACH;
    if (less == 0 && low && words[low - 1] >= word)
        return rung__words_less(words, low, word);
    if (less == 2 * REACH && high < n && words[high] < word)
        return high + rung__words_less(words + high, n - high, word);
    return low + less;
}

/* The end of a run of rows with the same first word, which begins at `low`. */
static inline uint32_t words_equal_to(rung__node *node, uint64_t word, uint32_t low) {
    const uint64_t *words = rung__words(node, 0);
    uint32_t high = low, left = node->n - low;
    if (left > 2 * REACH && word != UINT64_MAX)
        high += rung__words_less_of(words + low, 2 * REACH, word + 1);
    while (high < node->n && words[high] == word)
        high++;
    return high;
}

/* Rows [low, high) have the first word of the key: prefetch what decides between them. */
static void prefetch_tied(const rung_ladder *l, rung__node *node, const rung_descent *d) {
    uint32_t n = d->high - d->low;
    if (l->key_words > 1)
        rung_prefetch_range(rung__words(node, 1) + d->low, n * sizeof(uint64_t));
    else if (rung__uses_prefixes(l))
        rung_prefetch_range(rung__prefixes(l, node) + d->low, n * sizeof(uint32_t));
    else
        rung_prefetch_range(rung__column(l, node, RUNG__PLAYER) + d->low, n * sizeof(uint32_t));
}

static void search_words(const rung_ladder *l, rung__node *node, rung_descent *d) {
    uint64_t word = d->key[0];
    uint32_t low = words_less_near(node, word, d->low);
    d->low = d->high = low;
    if (low == node->n || rung__words(node, 0)[low] != word)
        return;
    d->high = words_equal_to(node, word, low);
    prefetch_tied(l, node, d);
}

/* Of the rows whose first word ties, leave those between which only the ids decide; false: none. */
static bool narrow(const rung_ladder *l, rung__node *node, rung_descent *d) {
    if (l->key_words > 1 || !l->tie_aid) {
        d->low = d->high = rows_before(l, node, d);
        return false;
    }
    if (rung__uses_prefixes(l)) {
        const uint32_t *prefixes = rung__prefixes(l, node);
        uint32_t low = d->low, end = d->high;
        while (low < end && prefixes[low] < d->prefix)
            low++;
        d->low = d->high = low;
        while (d->high < end && prefixes[d->high] == d->prefix)
            d->high++;
    }
    return d->low < d->high;
}

static bool is_tied_at(const rung_descent *d, uint32_t height) {
    return d->ladder && d->height == height && d->low < d->high;
}

/* One step of a binary search by ids, in all descents at this height that need one. Prefetches the two lines of each id
 * first. False: none needed one. */
static bool compare_ids(rung_descent *descents, uint32_t n, uint32_t height) {
    rung_descent *end = descents + n;
    bool any = false;
    for (int part = 0; part < 2; part++)
        for (const rung_descent *d = descents; d < end; d++) {
            const rung_ladder *l = d->ladder;
            if (is_tied_at(d, height))
                l->tie_aid->prefetch(
                    l->tie_ctx,
                    rung__column(l, node_of(l, d), RUNG__PLAYER)[(d->low + d->high) / 2], part);
        }
    for (rung_descent *d = descents; d < end; d++) {
        if (!is_tied_at(d, height))
            continue;
        rung__probe probe = probe_of(d->ladder, d);
        uint32_t mid = (d->low + d->high) / 2;
        if (rung__row_before(d->ladder, node_of(d->ladder, d), mid, &probe))
            d->low = mid + 1;
        else
            d->high = mid;
        any = true;
    }
    return any;
}

/* ---- where it goes: from node to node ---- */

/* From the row of an inner node, at least two levels up, to the child. */
static void enter_inner(const rung_ladder *l, rung__node *node, uint32_t row, rung_descent *d) {
    d->node = rung__column(l, node, RUNG__CHILD)[row];
    d->height--;
    d->low = RUNG__INNER_CAP / 8 + guess_row(node, row, d->key[0], RUNG__INNER_CAP * 3 / 4);
}

/* Descend to a height in one go. */
static void pass_upper_nodes(const rung_ladder *l, uint32_t height, rung_descent *d) {
    while (d->height > height) {
        rung__node *node = rung__inner(l, d->node);
        uint32_t before = rung__words_less(rung__words(node, 0), node->n, d->key[0]);
        if (before < node->n && rung__words(node, 0)[before] == d->key[0])
            before = rows_before(l, node, d);
        enter_inner(l, node, before ? before - 1 : 0, d);
    }
}

static void prefetch_inner(const rung_ladder *l, const rung_descent *d) {
    prefetch_near(rung__inner(l, d->node), d->low);
}

static uint64_t distance(uint64_t a, uint64_t b) {
    return a < b ? b - a : a - b;
}

/* Will the entry at a row likely pass fewer than 2^16 others, judging by how dense they are from the row to the nearer
 * end of its leaf? A node two levels above the leaves has twice as many below it. */
static bool is_near(rung__node *leaf, uint32_t row, uint64_t word) {
    const uint64_t *words = rung__words(leaf, 0);
    uint32_t end = row < leaf->n / 2u ? 0 : leaf->n - 1u;
    uint64_t span = distance(words[row], words[end]); /* 0: unknown */
    return span == 0 || (distance(words[row], word) >> 16) * distance(row, end) <= span;
}

/* Most moves are short: the old and the new leaf are below the same node two levels up. A descent may begin there. */
static bool begin_beside(const rung_ladder *l, rung__node *leaf, rung_descent *d) {
    if (l->height < 2 || !is_near(leaf, d->from_row, d->key[0]))
        return false;
    const rung__node *parent = rung__inner(l, leaf->parent);
    d->node = parent->parent;
    d->height = 2;
    d->low = parent->place;
    /* The counts that change there; both ends of the move usually share the line. */
    rung__node *above = rung__inner(l, d->node);
    rung_prefetch(rung__inner_places(l, above, RUNG__COUNT) + d->low);
    rung_prefetch(rung__inner_places(l, above, RUNG__STARTS) + d->low);
    return true;
}

/* Go past the node two levels above the leaves, searching it near the expected row. False: the descent began beside the
 * entry, and the key is not below this node. */
static bool pass_known(const rung_ladder *l, rung_descent *d) {
    rung__node *node = rung__inner(l, d->node);
    uint32_t before = words_less_near(node, d->key[0], d->low);
    bool ties = before < node->n && rung__words(node, 0)[before] == d->key[0];
    if (d->is_beside && (before == 0 || before == node->n || ties))
        return false;
    if (ties)
        before = rows_before(l, node, d);
    enter_inner(l, node, before ? before - 1 : 0, d);
    return true;
}

/* Begin at the root. False: a ladder of one leaf has nothing to descend. */
static bool begin(const rung_ladder *l, const uint64_t *key, bool seeks_player, rung_descent *d) {
    d->ladder = l->height ? l : NULL;
    if (!l->height)
        return false;
    for (uint32_t k = 0; k < l->key_words; k++)
        d->key[k] = key[k];
    d->seeks_player = seeks_player;
    d->shape = l->shape;
    d->births = l->tree->births;
    d->moves = l->moves;
    d->node = l->root;
    d->height = l->height;
    d->low = RUNG__INNER_CAP / 2;
    return true;
}

void rung_descent_set_key(rung_descent *d, const uint64_t *key) {
    const rung_ladder *l = d->ladder;
    bool exists = d->from_leaf != RUNG__NODE_NONE;
    if (!begin(l, key, false, d))
        return;
    d->prefix = rung__uses_prefixes(l) && exists
                    ? rung__prefixes(l, rung__leaf(l, d->from_leaf))[d->from_row]
                    : rung__prefix_of(l, d->player);
    d->is_beside = exists && begin_beside(l, rung__leaf(l, d->from_leaf), d);
    pass_upper_nodes(l, 2, d);
    prefetch_near_now(rung__inner(l, d->node), d->low);
}

static void upper_stage(rung_descent *d, uint32_t n) {
    for (; n; d++, n--) {
        const rung_ladder *l = d->ladder;
        if (l && d->height == 2 && !pass_known(l, d)) {
            d->node = l->root;
            d->height = l->height;
            pass_upper_nodes(l, 1, d);
        }
    }
}

static void inner_stage(rung_descent *d, uint32_t n) {
    for (; n; d++, n--)
        if (d->ladder)
            prefetch_inner(d->ladder, d);
}

void rung_descent_init_guided(rung_descent *from, rung_descent *to, const rung_ladder *l,
                              uint32_t player, const uint64_t *old_key, const uint64_t *key) {
    from->ladder = NULL;
    from->from_leaf = to->from_leaf = RUNG__NODE_NONE;
    to->player = from->player = player;
    if (!begin(l, key, false, to))
        return;
    to->prefix = from->prefix = rung__prefix_of(l, player);
    pass_upper_nodes(l, LEVELS, to);
    prefetch_inner(l, to);
    if (old_key && begin(l, old_key, true, from)) {
        pass_upper_nodes(l, LEVELS, from);
        prefetch_inner(l, from);
    }
}

/* Search by the first word; prefetch what the move reads and changes in the row. */
static void search_inner(const rung_ladder *l, rung_descent *d) {
    rung__node *node = rung__inner(l, d->node);
    search_words(l, node, d);
    const uint32_t *child = rung__column(l, node, RUNG__CHILD) + (d->low ? d->low - 1 : 0);
    rung_prefetch(child);
    rung_prefetch(child + (RUNG__COUNT - RUNG__CHILD) * RUNG__INNER_CAP);
    if (d->height > 1)
        rung_prefetch(child + (RUNG__STARTS - RUNG__CHILD) * RUNG__INNER_CAP);
}

/* From the row of a parent of leaves to the leaf. */
static void enter_leaf(const rung_ladder *l, rung__node *node, uint32_t row, rung_descent *d) {
    uint32_t packed = rung__column(l, node, RUNG__COUNT)[row];
    uint32_t place =
        rung__packed_start(packed) + guess_row(node, row, d->key[0], rung__packed_count(packed));
    d->node = rung__column(l, node, RUNG__CHILD)[row];
    d->height = 0;
    place = place > LEAN ? place - LEAN : 0;
    d->low = place < RUNG__LEAF_CAP ? place : RUNG__LEAF_CAP;
}

static void prefetch_leaf(const rung_ladder *l, const rung_descent *d) {
    if (d->seeks_player)
        rung__prefetch_players(l, d->node);
    else
        prefetch_near(rung__leaf(l, d->node), d->low);
}

static void enter_child(const rung_ladder *l, rung_descent *d) {
    rung__node *node = rung__inner(l, d->node);
    uint32_t before = d->low < node->n ? d->low : node->n, row = before ? before - 1 : 0;
    if (d->height == 1) {
        enter_leaf(l, node, row, d);
    } else {
        enter_inner(l, node, row, d);
        if (rung__pool_has(&l->tree->inners, d->node))
            prefetch_inner(l, d);
    }
}

static void search_leaf(const rung_ladder *l, rung_descent *d) {
    rung__node *leaf = rung__leaf(l, d->node);
    if (!d->seeks_player) {
        d->changes = leaf->changes;
        search_words(l, leaf, d);
        return;
    }
    d->low = d->high = 0;
    if (rung__row_of(l, d->node, d->player, &d->from_row)) {
        d->from_leaf = d->node;
        rung__prefetch_rows(l, leaf, d->from_row, true);
    }
}

/* The row is found: prefetch all that moves when the entry is put in. */
static void prefetch_place(const rung_ladder *l, const rung_descent *d) {
    rung__node *leaf = rung__leaf(l, d->node);
    if (!d->seeks_player && d->changes == leaf->changes)
        rung__prefetch_rows(l, leaf, d->low, true);
}

/* Is the descent at this height, in a node that is safe to read? */
static bool is_at(const rung_descent *d, uint32_t height) {
    const rung_ladder *l = d->ladder;
    return l && d->height == height && (!height || l->tree) &&
           rung__pool_has(height ? &l->tree->inners : &l->leaves, d->node);
}

/* Choose between rows of the same first word, in the nodes at this height. If a leaf changed since its rows were found,
 * give up the search. */
static void settle_ties(rung_descent *descents, uint32_t n, uint32_t height) {
    bool open = false;
    for (rung_descent *d = descents; d < descents + n; d++) {
        if (!is_tied_at(d, height))
            continue;
        rung__node *node = is_at(d, height) ? node_of(d->ladder, d) : NULL;
        if (!node || node->place == RUNG__PLACE_NONE || d->high > node->n ||
            (height == 0 && d->changes != node->changes))
            d->low = d->high = 0;
        else
            open |= narrow(d->ladder, node, d);
    }
    while (open)
        open = compare_ids(descents, n, height);
}

/* Compiled once for each constant stage, counted from RUNG_DESCENT_DOWN, so that its branches are resolved then. */
__attribute__((always_inline)) static inline void go_down(rung_descent *descents, uint32_t n,
                                                          uint32_t stage) {
    enum { PREFETCH = 2 * LEVELS, SEARCH, SETTLE };
    uint32_t height = stage < PREFETCH ? LEVELS - stage / 2 : 0;
    bool settles = stage < PREFETCH ? stage % 2 : stage == SETTLE;
    if (settles)
        settle_ties(descents, n, height);
    for (rung_descent *d = descents; d < descents + n; d++) {
        if (!is_at(d, height))
            continue;
        if (stage == PREFETCH)
            prefetch_leaf(d->ladder, d);
        else if (stage == SEARCH)
            search_leaf(d->ladder, d);
        else if (stage == SETTLE)
            prefetch_place(d->ladder, d);
        else if (settles)
            enter_child(d->ladder, d);
        else
            search_inner(d->ladder, d);
    }
}

#define DOWN(k)                                                                                    \
    __attribute__((noinline)) static void down_stage_##k(rung_descent *d, uint32_t n) {            \
        go_down(d, n, k);                                                                          \
    }
/* clang-format off */
DOWN(0) DOWN(1) DOWN(2) DOWN(3) DOWN(4) DOWN(5) DOWN(6) DOWN(7) DOWN(8)
    /* clang-format on */

    void rung_descent_advance(rung_descent *d, uint32_t n, uint32_t stage) {
    static void (*const stages[])(rung_descent *, uint32_t) = {
        map_stage,    leaf_stage,   players_stage, row_stage,    counts_stage, ranks_stage,
        upper_stage,  inner_stage,  down_stage_0,  down_stage_1, down_stage_2, down_stage_3,
        down_stage_4, down_stage_5, down_stage_6,  down_stage_7, down_stage_8};
    _Static_assert(sizeof stages / sizeof *stages == RUNG_DESCENT_STAGES, "a function for each");
    stages[stage](d, n);
}
