/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder, looking ahead: where moves are headed, found in advance and many at a time.
 *
 * A move at ten million entries reads two dozen lines of memory that no cache has. Here it goes its way in steps,
 * each of which does what is possible without waiting and asks for the lines that the next one reads; between two
 * steps of one move come those of others. Down the tree, a node is searched by the first word, near where it is
 * likely to be; then, among rows that have the same one, by what decides between them (other words, or prefixes); then,
 * where even prefixes are equal, by the players' ids, which are far away.
 *
 * Nothing here changes the ladder, but others may between two steps. So nothing that an earlier step found is believed
 * further than memory reaches: nodes are those that exist, or did once, rows those that the node has. A way that went
 * astray leads to a hint that is of no use, and the put sees that: what it needs is that nobody changed the leaf since
 * its row was found. */
#include "base/prefetch.h"
#include "ladder/tree.h"

enum {
    GROUP = 16
}; /* enough misses in flight to fill the memory system, few enough to stay in the first cache */

/* A word is looked for that many rows before and behind where it is likely to be. In a leaf, entries with the same word
 * are found by the first of them, which stands LEAN rows before that place as a rule. */
#ifdef RUNG_TEST_BUILD
enum { REACH = 1, LEAN = 1 };
#else
enum { REACH = 8, LEAN = 3 };
#endif
_Static_assert((REACH & (REACH - 1)) == 0, "twice as many are searched in steps that halve them");

/* Down from so many levels above the leaves the way is gone step by step; what is above is passed at once. */
enum { LEVELS = (RUNG_LADDER_AIM_STEPS - 3) / 2 };
_Static_assert(RUNG_LADDER_AIM_FIRST == 2 * (LEVELS - 1), "one level is left then");
_Static_assert(RUNG_LADDER_AIM_LEAF == 2 * LEVELS, "behind the last level");

/* What a way down is for: the key of a ladder with its upper nodes in the cache, or, where they are not, the key or the
 * player who is there. */
enum { TO_KEY, TO_PLACE, TO_PLAYER };

/* ---- asking for memory ---- */

/* What is read and changed in the parent of a leaf: its head, the leaf's own counts and, for a rank, those before it.
 * The leaf's own go to L1: a lone line, prefetched to L2, often came too late. */
static void prefetch_parent(const rung_ladder *l, const rung__node *leaf, bool ranked) {
    rung__node *parent = rung__inner(l, leaf->parent);
    const uint32_t *counts = rung__inner_places(l, parent, RUNG__COUNT);
    rung_prefetch(parent);
    if (ranked)
        rung_prefetch_range(counts, leaf->place * sizeof *counts);
    rung_prefetch_now(counts + leaf->place);
}

/* What a search near a place is likely to read: where the word may be, and as far again as a run of the same goes. */
static void prefetch_near(const rung__node *node, uint32_t place) {
    rung_prefetch(node);
    rung_prefetch_range(node->rows + (place > REACH ? place - REACH : 0),
                        3 * REACH * sizeof *node->rows);
}

/* For a search in the same tick, without the run. */
static void prefetch_near_now(const rung__node *node, uint32_t place) {
    const uint64_t *words = node->rows + (place > REACH ? place - REACH : 0);
    rung_prefetch_now(node);
    for (uint32_t i = 0; i <= 2; i++)
        rung_prefetch_now(words + i * REACH);
}

void rung_ladder_warm_ladder(const rung_ladder *l, int part) {
    if (part == 0)
        rung_prefetch_range(l, sizeof *l);
    else if (part == 1 && l->tree)
        rung_prefetch_range(l->tree, sizeof *l->tree);
    else if (l->height)
        rung_prefetch(&l->tree->inners.slabs[l->root >> l->tree->inners.shift]);
}

void rung_ladder_warm_map(const rung_ladder *l, uint32_t player) {
    l = l->guide ? l->guide : l;
    if (l->tree)
        rung_numbermap_prefetch(&l->tree->map, player);
}

void rung_ladder_warm_leaf(const rung_ladder *l, uint32_t player) {
    l = l->guide ? l->guide : l;
    uint32_t id = l->height ? rung__leaf_of(l, player) : RUNG_NUMBER_NONE;
    if (id != RUNG_NUMBER_NONE)
        rung__prefetch_players(l, id);
}

void rung_ladder_warm_row(const rung_ladder *l, uint32_t player) {
    rung__path path;
    if (!rung__locate(l, player, &path) || l->height == 0)
        return;
    rung__prefetch_key(l, rung__leaf(l, path.step[0].id), path.step[0].row);
    prefetch_parent(l, rung__leaf(l, path.step[0].id), true);
}

/* ---- where the entry stands ---- */

void rung_ladder_aim_leaf(const rung_ladder *l, uint32_t player, rung_ladder_hint *hint) {
    hint->ladder = l;
    hint->player = player;
    hint->from_leaf = rung__leaf_of(l, player);
}

void rung_ladder_aim_players(const rung_ladder *l, const rung_ladder_hint *hint) {
    if (l->height && hint->from_leaf != RUNG__NODE_NONE)
        rung__prefetch_players(l, hint->from_leaf);
}

/* Where the entry stands now; false: there is none. */
static bool find_again(const rung_ladder *l, rung_ladder_hint *hint) {
    rung__path path;
    if (!rung__locate(l, hint->player, &path)) {
        hint->from_leaf = RUNG__NODE_NONE;
        return false;
    }
    hint->from_leaf = path.step[0].id;
    hint->from_row = path.step[0].row;
    return true;
}

void rung_ladder_aim_row(const rung_ladder *l, rung_ladder_hint *hint) {
    uint32_t id = hint->from_leaf;
    if (id == RUNG__NODE_NONE ||
        (!(rung__is_leaf(l, id) && rung__row_of(l, id, hint->player, &hint->from_row)) &&
         !find_again(l, hint)))
        return;
    rung__prefetch_rows(l, rung__leaf(l, hint->from_leaf), hint->from_row, false);
}

void rung_ladder_aim_parent(const rung_ladder *l, bool ranked, const rung_ladder_hint *hint) {
    if (l->height && hint->from_leaf != RUNG__NODE_NONE)
        prefetch_parent(l, rung__leaf(l, hint->from_leaf), ranked);
}

rung_status rung_ladder_aim_entry(const rung_ladder *l, rung_ladder_hint *hint,
                                  rung_ladder_entry *out) {
    if (hint->from_leaf == RUNG__NODE_NONE)
        return RUNG_NOT_FOUND;
    bool good = rung__is_leaf(l, hint->from_leaf);
    if (good) {
        rung__node *leaf = rung__leaf(l, hint->from_leaf);
        good = hint->from_row < leaf->n &&
               rung__column(l, leaf, RUNG__PLAYER)[hint->from_row] == hint->player;
    }
    if (!good && !find_again(l, hint))
        return RUNG_NOT_FOUND;
    rung__read_row(l, rung__leaf(l, hint->from_leaf), hint->from_row, out);
    return RUNG_OK;
}

/* ---- where it goes: a node ---- */

static rung__node *node_of(const rung_ladder *l, const rung_ladder_hint *hint) {
    return hint->height ? rung__inner(l, hint->node) : rung__leaf(l, hint->node);
}

static rung__probe probe_of(const rung_ladder *l, const rung_ladder_hint *hint) {
    return (rung__probe){.key = hint->key,
                         .words = l->key_words,
                         .player = hint->player,
                         .prefix = hint->prefix,
                         .has_player = true,
                         .or_self = hint->errand == TO_PLAYER};
}

static uint32_t rows_before(const rung_ladder *l, rung__node *node, const rung_ladder_hint *hint) {
    rung__probe probe = probe_of(l, hint);
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

/* Rows [low, high) have the first word of the key: ask for what decides between them. */
static void prefetch_tied(const rung_ladder *l, rung__node *node, const rung_ladder_hint *hint) {
    uint32_t n = hint->high - hint->low;
    if (l->key_words > 1)
        rung_prefetch_range(rung__words(node, 1) + hint->low, n * sizeof(uint64_t));
    else if (rung__uses_prefixes(l))
        rung_prefetch_range(rung__prefixes(l, node) + hint->low, n * sizeof(uint32_t));
    else
        rung_prefetch_range(rung__column(l, node, RUNG__PLAYER) + hint->low, n * sizeof(uint32_t));
}

static void search_words(const rung_ladder *l, rung__node *node, rung_ladder_hint *hint) {
    uint64_t word = hint->key[0];
    uint32_t low = words_less_near(node, word, hint->low);
    hint->low = hint->high = low;
    if (low == node->n || rung__words(node, 0)[low] != word)
        return;
    hint->high = words_equal_to(node, word, low);
    prefetch_tied(l, node, hint);
}

/* Of the rows whose first word ties, leave those between which only the ids decide; false: none. */
static bool narrow(const rung_ladder *l, rung__node *node, rung_ladder_hint *hint) {
    if (l->key_words > 1 || !l->tie_aid) {
        hint->low = hint->high = rows_before(l, node, hint);
        return false;
    }
    if (rung__uses_prefixes(l)) {
        const uint32_t *prefixes = rung__prefixes(l, node);
        uint32_t low = hint->low, end = hint->high;
        while (low < end && prefixes[low] < hint->prefix)
            low++;
        hint->low = hint->high = low;
        while (hint->high < end && prefixes[hint->high] == hint->prefix)
            hint->high++;
    }
    return hint->low < hint->high;
}

static bool is_tied_at(const rung_ladder_hint *hint, uint32_t height) {
    return hint->ladder && hint->height == height && hint->low < hint->high;
}

/* One step of a binary search by ids, in every node at this height that needs one: the two lines where an id is found
 * are asked for first. False: there was none. */
static bool compare_ids(const rung_ladder_way *ways, uint32_t n, uint32_t height) {
    bool any = false;
    for (int part = 0; part < 2; part++)
        for (uint32_t i = 0; i < n; i++) {
            const rung_ladder *l = ways[i].ladder;
            const rung_ladder_hint *hint = ways[i].hint;
            if (is_tied_at(hint, height))
                l->tie_aid->warm(
                    l->tie_ctx,
                    rung__column(l, node_of(l, hint), RUNG__PLAYER)[(hint->low + hint->high) / 2],
                    part);
        }
    for (uint32_t i = 0; i < n; i++) {
        rung_ladder_hint *hint = ways[i].hint;
        if (!is_tied_at(hint, height))
            continue;
        rung__probe probe = probe_of(ways[i].ladder, hint);
        uint32_t mid = (hint->low + hint->high) / 2;
        if (rung__row_before(ways[i].ladder, node_of(ways[i].ladder, hint), mid, &probe))
            hint->low = mid + 1;
        else
            hint->high = mid;
        any = true;
    }
    return any;
}

/* ---- where it goes: all the way ---- */

/* From the row of an inner node, at least two levels up, to the child. */
static void take_inner(const rung_ladder *l, rung__node *node, uint32_t row,
                       rung_ladder_hint *hint) {
    hint->node = rung__column(l, node, RUNG__CHILD)[row];
    hint->height--;
    hint->low = RUNG__INNER_CAP / 8 + guess_row(node, row, hint->key[0], RUNG__INNER_CAP * 3 / 4);
}

/* All nodes above a height at once. */
static void pass_upper_nodes(const rung_ladder *l, uint32_t height, rung_ladder_hint *hint) {
    while (hint->height > height) {
        rung__node *node = rung__inner(l, hint->node);
        uint32_t before = rung__words_less(rung__words(node, 0), node->n, hint->key[0]);
        if (before < node->n && rung__words(node, 0)[before] == hint->key[0])
            before = rows_before(l, node, hint);
        take_inner(l, node, before ? before - 1 : 0, hint);
    }
}

/* Where it has come to. */
static void ask_for_inner(const rung_ladder *l, const rung_ladder_hint *hint) {
    prefetch_near(rung__inner(l, hint->node), hint->low);
}

static uint64_t distance(uint64_t a, uint64_t b) {
    return a < b ? b - a : a - b;
}

/* May the entry at a row go past fewer than 2^16 others, if they are as close together as those from the row to the
 * nearer end of its leaf? A node two levels above the leaves has twice as many below it. */
static bool is_near(rung__node *leaf, uint32_t row, uint64_t word) {
    const uint64_t *words = rung__words(leaf, 0);
    uint32_t end = row < leaf->n / 2u ? 0 : leaf->n - 1u;
    uint64_t span = distance(words[row], words[end]); /* 0: nobody can tell */
    return span == 0 || (distance(words[row], word) >> 16) * distance(row, end) <= span;
}

/* Most moves are short: the parent of the leaf where the entry goes is near that of the leaf where it stands, below the
 * same node. So the way may begin there. */
static bool begin_beside(const rung_ladder *l, rung__node *leaf, rung_ladder_hint *hint) {
    if (l->height < 2 || !is_near(leaf, hint->from_row, hint->key[0]))
        return false;
    const rung__node *parent = rung__inner(l, leaf->parent);
    hint->node = parent->parent;
    hint->height = 2;
    hint->low = parent->place;
    /* What will be changed there, as a rule in the same line for both ends of the move. */
    rung__node *above = rung__inner(l, hint->node);
    rung_prefetch(rung__inner_places(l, above, RUNG__COUNT) + hint->low);
    rung_prefetch(rung__inner_places(l, above, RUNG__STARTS) + hint->low);
    return true;
}

/* Past the node two levels above the leaves; where the row is in it is known, more or less. False: begun beside, the
 * way does not lead past there. */
static bool pass_known(const rung_ladder *l, rung_ladder_hint *hint) {
    rung__node *node = rung__inner(l, hint->node);
    uint32_t before = words_less_near(node, hint->key[0], hint->low);
    bool ties = before < node->n && rung__words(node, 0)[before] == hint->key[0];
    if (hint->is_beside && (before == 0 || before == node->n || ties))
        return false;
    if (ties)
        before = rows_before(l, node, hint);
    take_inner(l, node, before ? before - 1 : 0, hint);
    return true;
}

/* Is there a way? In a ladder of one leaf there is none. */
static bool head_for(const rung_ladder *l, const uint64_t *key, uint8_t errand,
                     rung_ladder_hint *hint) {
    hint->ladder = l->height ? l : NULL;
    if (!l->height)
        return false;
    for (uint32_t k = 0; k < l->key_words; k++)
        hint->key[k] = key[k];
    hint->errand = errand;
    hint->shape = l->shape;
    hint->births = l->tree->births;
    hint->moves = l->moves;
    hint->node = l->root;
    hint->height = l->height;
    hint->low = RUNG__INNER_CAP / 2;
    return true;
}

void rung_ladder_aim_begin(const rung_ladder *l, const uint64_t *key, rung_ladder_hint *hint) {
    bool exists = hint->from_leaf != RUNG__NODE_NONE;
    if (!head_for(l, key, TO_KEY, hint))
        return;
    hint->prefix = rung__uses_prefixes(l) && exists
                       ? rung__prefixes(l, rung__leaf(l, hint->from_leaf))[hint->from_row]
                       : rung__prefix_of(l, hint->player);
    hint->is_beside = exists && begin_beside(l, rung__leaf(l, hint->from_leaf), hint);
    pass_upper_nodes(l, 2, hint);
    prefetch_near_now(rung__inner(l, hint->node), hint->low);
}

void rung_ladder_aim_upper(const rung_ladder *l, rung_ladder_hint *hint) {
    if (!hint->ladder)
        return;
    if (hint->height == 2 && !pass_known(l, hint)) {
        hint->node = l->root;
        hint->height = l->height;
        pass_upper_nodes(l, 1, hint);
    }
}

void rung_ladder_aim_inner(const rung_ladder *l, const rung_ladder_hint *hint) {
    if (hint->ladder)
        ask_for_inner(l, hint);
}

void rung_ladder_move_begin(const rung_ladder *l, uint32_t player, const uint64_t *old_key,
                            const uint64_t *key, rung_ladder_move *move) {
    move->from.ladder = NULL;
    move->from.from_leaf = move->to.from_leaf = RUNG__NODE_NONE;
    move->to.player = move->from.player = player;
    if (!head_for(l, key, TO_PLACE, &move->to))
        return;
    move->to.prefix = move->from.prefix = rung__prefix_of(l, player);
    pass_upper_nodes(l, LEVELS, &move->to);
    ask_for_inner(l, &move->to);
    if (old_key && head_for(l, old_key, TO_PLAYER, &move->from)) {
        pass_upper_nodes(l, LEVELS, &move->from);
        ask_for_inner(l, &move->from);
    }
}

/* By the first word; and ask for what will be read and changed in the row. */
static void search_inner(const rung_ladder *l, rung_ladder_hint *hint) {
    rung__node *node = rung__inner(l, hint->node);
    search_words(l, node, hint);
    const uint32_t *child = rung__column(l, node, RUNG__CHILD) + (hint->low ? hint->low - 1 : 0);
    rung_prefetch(child);
    rung_prefetch(child + (RUNG__COUNT - RUNG__CHILD) * RUNG__INNER_CAP);
    if (hint->height > 1)
        rung_prefetch(child + (RUNG__STARTS - RUNG__CHILD) * RUNG__INNER_CAP);
}

/* From the row of a parent of leaves to the leaf. */
static void take_leaf(const rung_ladder *l, rung__node *node, uint32_t row,
                      rung_ladder_hint *hint) {
    uint32_t packed = rung__column(l, node, RUNG__COUNT)[row];
    uint32_t place =
        rung__packed_start(packed) + guess_row(node, row, hint->key[0], rung__packed_count(packed));
    hint->node = rung__column(l, node, RUNG__CHILD)[row];
    hint->height = 0;
    place = place > LEAN ? place - LEAN : 0;
    hint->low = place < RUNG__LEAF_CAP ? place : RUNG__LEAF_CAP;
}

static void ask_for_leaf(const rung_ladder *l, const rung_ladder_hint *hint) {
    if (hint->errand == TO_PLAYER)
        rung__prefetch_players(l, hint->node);
    else
        prefetch_near(rung__leaf(l, hint->node), hint->low);
}

static void take_child(const rung_ladder *l, rung_ladder_hint *hint) {
    rung__node *node = rung__inner(l, hint->node);
    uint32_t before = hint->low < node->n ? hint->low : node->n, row = before ? before - 1 : 0;
    if (hint->height == 1) {
        take_leaf(l, node, row, hint);
    } else {
        take_inner(l, node, row, hint);
        if (rung__pool_has(&l->tree->inners, hint->node))
            ask_for_inner(l, hint);
    }
}

static void search_leaf(const rung_ladder *l, rung_ladder_hint *hint) {
    rung__node *leaf = rung__leaf(l, hint->node);
    if (hint->errand != TO_PLAYER) {
        hint->changes = leaf->changes;
        search_words(l, leaf, hint);
        return;
    }
    hint->low = hint->high = 0;
    if (rung__row_of(l, hint->node, hint->player, &hint->from_row)) {
        hint->from_leaf = hint->node;
        rung__prefetch_rows(l, leaf, hint->from_row, true);
    }
}

/* The row is found: ask for all that moves when it is put in. */
static void note_place(const rung_ladder *l, const rung_ladder_hint *hint) {
    rung__node *leaf = rung__leaf(l, hint->node);
    if (hint->errand != TO_PLAYER && hint->changes == leaf->changes)
        rung__prefetch_rows(l, leaf, hint->low, true);
}

/* Is the way at this height, and can the node be read that it has come to? */
static bool is_at(const rung_ladder_way *way, uint32_t height) {
    const rung_ladder_hint *hint = way->hint;
    return hint->ladder && hint->height == height && (!height || way->ladder->tree) &&
           rung__pool_has(height ? &way->ladder->tree->inners : &way->ladder->leaves, hint->node);
}

/* Between rows of the same first word, in the nodes at this height. Where rows were put in or taken out since these
 * were found, they may be others: then a leaf is no longer searched, as it would be in vain. */
static void settle_ties(const rung_ladder_way *ways, uint32_t n, uint32_t height) {
    bool open = false;
    for (uint32_t i = 0; i < n; i++) {
        rung_ladder_hint *hint = ways[i].hint;
        if (!is_tied_at(hint, height))
            continue;
        rung__node *node = is_at(&ways[i], height) ? node_of(ways[i].ladder, hint) : NULL;
        if (!node || node->place == RUNG__PLACE_NONE || hint->high > node->n ||
            (height == 0 && hint->changes != node->changes))
            hint->low = hint->high = 0;
        else
            open |= narrow(ways[i].ladder, node, hint);
    }
    while (open)
        open = compare_ids(ways, n, height);
}

/* `step` is a constant wherever this is called from, so that little of it is left there. */
__attribute__((always_inline)) static inline void take_step(const rung_ladder_way *ways, uint32_t n,
                                                            uint32_t step) {
    enum { ASK = RUNG_LADDER_AIM_LEAF, SEARCH, SETTLE };
    uint32_t height = step < ASK ? LEVELS - step / 2 : 0;
    bool settles = step < ASK ? step % 2 : step == SETTLE;
    if (settles)
        settle_ties(ways, n, height);
    for (uint32_t i = 0; i < n; i++) {
        const rung_ladder *l = ways[i].ladder;
        rung_ladder_hint *hint = ways[i].hint;
        if (!is_at(&ways[i], height))
            continue;
        if (step == ASK)
            ask_for_leaf(l, hint);
        else if (step == SEARCH)
            search_leaf(l, hint);
        else if (step == SETTLE)
            note_place(l, hint);
        else if (settles)
            take_child(l, hint);
        else
            search_inner(l, hint);
    }
}

#define STEP(k)                                                                                    \
    __attribute__((noinline)) static void step_##k(const rung_ladder_way *ways, uint32_t n) {      \
        take_step(ways, n, k);                                                                     \
    }
/* clang-format off */
STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8)
_Static_assert(RUNG_LADDER_AIM_STEPS == 9, "a function for each");
/* clang-format on */

void rung_ladder_aim_step(const rung_ladder_way *ways, uint32_t n, uint32_t step) {
    static void (*const steps[])(const rung_ladder_way *, uint32_t) = {
        step_0, step_1, step_2, step_3, step_4, step_5, step_6, step_7, step_8};
    steps[step](ways, n);
}

void rung_ladder_aim_down(const rung_ladder_way *ways, uint32_t n) {
    for (uint32_t step = 0; step < RUNG_LADDER_AIM_STEPS; step++)
        rung_ladder_aim_step(ways, n, step);
}

/* ---- a whole batch ---- */

rung_status rung_ladder_put_batch(rung_ladder *l, uint32_t n, const uint32_t *players,
                                  const uint64_t *keys, rung_ladder_change *changes,
                                  uint32_t *done_out) {
    rung_status st = RUNG_OK;
    uint32_t done = 0;
    rung_ladder_hint hints[GROUP];
    rung_ladder_way ways[GROUP];
    while (done < n && st >= 0) {
        uint32_t start = done, stop = n - done < GROUP ? n : done + GROUP;
        for (uint32_t i = start; i < stop; i++)
            rung_ladder_warm_map(l, players[i]);
        for (uint32_t i = start; i < stop; i++)
            rung_ladder_aim_leaf(l, players[i], &hints[i - start]);
        for (uint32_t i = start; i < stop; i++)
            rung_ladder_aim_players(l, &hints[i - start]);
        for (uint32_t i = start; i < stop; i++) {
            rung_ladder_hint *hint = &hints[i - start];
            rung_ladder_aim_row(l, hint);
            rung_ladder_aim_parent(l, changes != NULL, hint);
            rung_ladder_aim_begin(l, keys + (size_t)i * l->key_words, hint);
            ways[i - start] = (rung_ladder_way){l, hint};
        }
        for (uint32_t i = 0; i < stop - start; i++) {
            rung_ladder_aim_upper(l, &hints[i]);
            rung_ladder_aim_inner(l, &hints[i]);
        }
        rung_ladder_aim_down(ways, stop - start);
        for (; done < stop && st >= 0; done += st >= 0)
            st = rung_ladder_put_aimed(l, players[done], keys + (size_t)done * l->key_words,
                                       &hints[done - start], changes ? &changes[done] : NULL);
    }
    if (done_out)
        *done_out = done;
    return st < 0 ? st : RUNG_OK;
}
