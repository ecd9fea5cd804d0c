/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder, looking ahead: where moves are headed, found in advance and many at a time.
 *
 * A move at ten million entries waits for a dozen lines of memory, one after the other. Here a group of moves goes the
 * same way together: each takes one step, which asks for what the next one will read, then the next move takes its own.
 * Nothing here changes the ladder; what was found is left in hints, which the put checks before it believes them. */
#include "base/prefetch.h"
#include "ladder/tree.h"

enum {
    GROUP = 16
}; /* enough misses in flight to fill the memory system, few enough to stay in the first cache */

/* What a way down is for: the key of a ladder with its upper nodes in the cache, or, where they are not, the key or the
 * player who is there. */
enum { TO_KEY, TO_PLACE, TO_PLAYER };

/* What is left of a way, as a number that counts down. At height h, 2h + 2: to find the row; 2h + 1: to go to its
 * child. Then, of the leaf: */
enum { AT_LEAF = 1, TO_LEAF = 2, AT_PARENT = 4 };

static uint32_t steps_from(uint32_t height) {
    return height ? 2 * height + 2 : 0;
}

/* A 32-bit column of an inner node, from its first place on; the node itself is not touched. */
static const uint32_t *inner_column(const rung_ladder *l, const rung__node *node, uint32_t column) {
    return (const uint32_t *)(node->rows + (size_t)RUNG__INNER_CAP * l->key_words) +
           (size_t)column * RUNG__INNER_CAP;
}

/* What is read and changed in the parent of a node: the counts of the node itself and, for a rank, those before. */
static void prefetch_parent(const rung_ladder *l, const rung__slot *slot, bool ranked) {
    const rung__node *parent = rung__inner(l, slot->parent);
    uint32_t from = ranked ? 0 : slot->place;
    rung_prefetch(parent);
    rung_prefetch_range(inner_column(l, parent, RUNG__COUNT) + from,
                        (slot->place + 1 - from) * sizeof(uint32_t));
    rung_prefetch(inner_column(l, parent, RUNG__STARTS) + slot->place);
}

/* The root has few rows as a rule, and rows stand in the middle of a node. */
static void prefetch_root(const rung__slot *slot) {
    rung_prefetch(slot->node);
    rung_prefetch_range(slot->node->rows + RUNG__INNER_CAP / 4,
                        RUNG__INNER_CAP / 2 * sizeof(uint64_t));
}

void rung_ladder_warm_ladder(const rung_ladder *l, int part) {
    if (part == 0)
        rung_prefetch_range(l, sizeof *l);
    else if (part == 1 && l->trunk)
        rung_prefetch_range(l->trunk, sizeof *l->trunk);
    else if (l->height)
        rung_prefetch(&l->trunk->inners.slots[l->root]);
}

void rung_ladder_warm_map(const rung_ladder *l, uint32_t player) {
    l = l->guide ? l->guide : l;
    if (l->trunk)
        rung_numbermap_prefetch(&l->trunk->map, player);
}

void rung_ladder_warm_slot(const rung_ladder *l, uint32_t player) {
    l = l->guide ? l->guide : l;
    uint32_t id = l->height ? rung__leaf_of(l, player) : RUNG_NUMBER_NONE;
    if (id != RUNG_NUMBER_NONE)
        rung_prefetch(&l->leaves.slots[id]);
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
    prefetch_parent(l, &l->leaves.slots[path.step[0].id], true);
}

void rung_ladder_aim_leaf(const rung_ladder *l, uint32_t player, rung_ladder_hint *hint) {
    hint->ladder = l;
    hint->player = player;
    hint->from_leaf = rung__leaf_of(l, player);
    if (l->height && hint->from_leaf != RUNG__NODE_NONE)
        rung_prefetch(&l->leaves.slots[hint->from_leaf]);
}

void rung_ladder_aim_players(const rung_ladder *l, const rung_ladder_hint *hint) {
    if (l->height && hint->from_leaf != RUNG__NODE_NONE)
        rung__prefetch_players(l, hint->from_leaf);
}

rung_status rung_ladder_aim_find(const rung_ladder *l, rung_ladder_hint *hint) {
    uint32_t id = hint->from_leaf;
    if (id == RUNG__NODE_NONE)
        return RUNG_NOT_FOUND;
    if (!rung__row_of(l, id, hint->player, &hint->from_row)) {
        hint->from_leaf = RUNG__NODE_NONE;
        return RUNG_NOT_FOUND;
    }
    rung__prefetch_rows(l, rung__leaf(l, id), hint->from_row);
    if (l->height > 0) { /* the first step up from here, and the first one down */
        rung_prefetch(&l->trunk->inners.slots[l->leaves.slots[id].parent]);
        rung_prefetch(&l->trunk->inners.slots[l->root]);
    }
    return RUNG_OK;
}

void rung_ladder_aim_entry(const rung_ladder *l, const rung_ladder_hint *hint,
                           rung_ladder_entry *out) {
    rung__read_row(l, rung__leaf(l, hint->from_leaf), hint->from_row, out);
}

void rung_ladder_aim_begin(const rung_ladder *l, const uint64_t *key, bool ranked,
                           rung_ladder_hint *hint) {
    for (uint32_t k = 0; k < l->key_words; k++)
        hint->key[k] = key[k];
    hint->mark = rung__is_marked(l) && hint->from_leaf != RUNG__NODE_NONE
                     ? rung__marks(l, rung__leaf(l, hint->from_leaf))[hint->from_row]
                     : rung__mark_of(l, hint->player);
    hint->shape = l->shape;
    hint->errand = TO_KEY;
    hint->left = steps_from(l->height);
    hint->stage = 0;
    hint->low = RUNG__INNER_CAP / 2;
    hint->step[l->height].id = l->root;
    if (l->height == 0)
        return;
    prefetch_root(&l->trunk->inners.slots[l->root]);
    if (hint->from_leaf != RUNG__NODE_NONE)
        prefetch_parent(l, &l->leaves.slots[hint->from_leaf], ranked);
}

static rung__probe probe_of(const rung_ladder *l, const rung_ladder_hint *hint) {
    return (rung__probe){.key = hint->key,
                         .words = l->key_words,
                         .player = hint->player,
                         .mark = hint->mark,
                         .has_player = true,
                         .or_self = hint->errand == TO_PLAYER};
}

static uint32_t rows_before(const rung_ladder *l, rung__node *node, const rung_ladder_hint *hint) {
    rung__probe probe = probe_of(l, hint);
    return rung__node_search(l, node, &probe);
}

/* The end of the way to a key: as many rows of the leaf as hint->low are before it. */
static void note_place(const rung_ladder *l, rung__node *leaf, rung_ladder_hint *hint) {
    hint->step[0].row = hint->low;
    hint->changes = leaf->changes;
    hint->moves = l->moves;
    rung__prefetch_rows(l, leaf, hint->low);
}

/* Of the rows whose first word ties, leave those whose mark does, too. */
static void narrow(const uint32_t *marks, rung_ladder_hint *hint) {
    while (hint->low < hint->high && marks[hint->low] < hint->mark)
        hint->low++;
    uint32_t end = hint->low;
    while (end < hint->high && marks[end] == hint->mark)
        end++;
    hint->high = end;
}

/* Keys are spread about evenly between the first of a child and the first of the next: so the place of a word in the
 * child at `row` can be guessed, and most of the child's lines be left alone. `rows`: how many it has, about. */
static uint32_t guess_place(rung__node *parent, uint32_t row, uint64_t word, uint32_t rows,
                            uint32_t cap) {
    const uint64_t *words = rung__words(parent, 0) + row;
    if (row + 1u >= parent->n || word <= words[0] || word >= words[1])
        return word <= words[0] ? (cap - rows) / 2 : (cap + rows) / 2;
    double share = (double)(word - words[0]) / (double)(words[1] - words[0]);
    return (cap - rows) / 2 + (uint32_t)(share * rows);
}

/* What a search that begins there is likely to read. */
static void prefetch_guess(const rung__node *node, uint32_t place) {
    enum { AROUND = 10 };
    rung_prefetch(node);
    rung_prefetch_range(node->rows + (place > AROUND ? place - AROUND : 0),
                        2 * AROUND * sizeof *node->rows);
}

/* Rows whose first word is less. The answer is likely near `place`: it is looked for from there on, line by line. */
static uint32_t words_less_near(rung__node *node, uint64_t word, uint32_t place) {
    enum { STRIDE = 8 };
    const uint64_t *words = rung__words(node, 0);
    uint32_t n = node->n, low = place > node->start ? place - node->start : 0, high;
    low = low < n ? low : n - 1;
    if (words[low] < word) {
        low++;
        while (low + STRIDE <= n && words[low + STRIDE - 1] < word)
            low += STRIDE;
        high = low + STRIDE <= n ? low + STRIDE - 1 : n;
    } else {
        high = low;
        while (high >= STRIDE && words[high - STRIDE] >= word)
            high -= STRIDE;
        low = high >= STRIDE ? high - STRIDE + 1 : 0;
    }
    return low + rung__words_less(words + low, high - low, word);
}

/* Rows [low, high) have the first word of the key: ask for what decides between them. */
static void begin_tie(const rung_ladder *l, rung__node *node, rung_ladder_hint *hint) {
    uint32_t n = hint->high - hint->low;
    if (l->key_words > 1)
        rung_prefetch_range(rung__words(node, 1) + hint->low, n * sizeof(uint64_t));
    else if (rung__is_marked(l))
        rung_prefetch_range(rung__marks(l, node) + hint->low, n * sizeof(uint32_t));
    else
        rung_prefetch_range(rung__column(l, node, RUNG__PLAYER) + hint->low, n * sizeof(uint32_t));
}

/* One step of a search that goes no further than to where it would wait for memory. false: it is over, and rows before
 * the probe are hint->low. Other words are asked for before they are compared; so are, where players decide ties, their
 * marks, and then the two lines in which a player's name is found. */
static bool search_on(const rung_ladder *l, rung__node *node, rung_ladder_hint *hint) {
    enum { BEGIN, REST, MARKS, WHO, WHERE, COMPARE };
    const uint32_t *players = rung__column(l, node, RUNG__PLAYER);
    if (hint->stage == BEGIN) {
        const uint64_t *words = rung__words(node, 0);
        uint64_t word = hint->key[0];
        hint->low = hint->high = words_less_near(node, word, hint->low);
        while (hint->high < node->n && words[hint->high] == word)
            hint->high++;
        if (hint->low == hint->high)
            return false;
        begin_tie(l, node, hint);
        hint->stage = l->key_words > 1 || !l->tie_aid ? REST : l->has_marks ? MARKS : WHO;
        return true;
    }
    if (hint->stage == REST) {
        hint->low = rows_before(l, node, hint);
        hint->stage = BEGIN;
        return false;
    }
    if (hint->stage == MARKS) {
        narrow(rung__marks(l, node), hint);
        if (hint->low < hint->high)
            rung_prefetch_range(players + hint->low, (hint->high - hint->low) * sizeof *players);
        hint->stage = hint->low < hint->high ? WHO : BEGIN;
        return hint->stage != BEGIN;
    }
    uint32_t mid = (hint->low + hint->high) / 2;
    if (hint->stage == COMPARE) {
        rung__probe probe = probe_of(l, hint);
        if (rung__row_before(l, node, mid, &probe))
            hint->low = mid + 1;
        else
            hint->high = mid;
        if (hint->low == hint->high) {
            hint->stage = BEGIN;
            return false;
        }
        mid = (hint->low + hint->high) / 2;
        hint->stage = WHO;
    }
    l->tie_aid->warm(l->tie_ctx, players[mid], hint->stage == WHERE);
    hint->stage++;
    return true;
}

/* Ask for what will be read and changed in the row of an inner node. */
static void note_row(const rung_ladder *l, rung__node *node, uint32_t before, uint32_t *row_out) {
    *row_out = before ? before - 1 : 0;
    for (uint32_t column = RUNG__CHILD; column <= RUNG__STARTS; column++)
        rung_prefetch(rung__column(l, node, column) + *row_out);
}

/* From height h to the child, and ask for what a search reads in it; of a leaf, for its slot. */
static void take_child(const rung_ladder *l, rung_ladder_hint *hint, uint32_t h) {
    rung__node *node = rung__inner(l, hint->step[h].id);
    uint32_t row = hint->step[h].row, child = rung__column(l, node, RUNG__CHILD)[row];
    hint->step[h - 1].id = child;
    if (h == 1) {
        rung_prefetch(&l->leaves.slots[child]);
        return;
    }
    hint->low = guess_place(node, row, hint->key[0], RUNG__INNER_CAP * 3 / 4, RUNG__INNER_CAP);
    prefetch_guess(rung__inner(l, child), hint->low);
}

static void ask_for_leaf(const rung_ladder *l, rung_ladder_hint *hint) {
    rung__node *parent = rung__inner(l, hint->step[1].id);
    uint32_t row = hint->step[1].row;
    if (hint->errand == TO_PLAYER) {
        rung__prefetch_players(l, hint->step[0].id);
        return;
    }
    hint->low = guess_place(parent, row, hint->key[0], rung__column(l, parent, RUNG__COUNT)[row],
                            RUNG__LEAF_CAP);
    prefetch_guess(rung__leaf(l, hint->step[0].id), hint->low);
}

static void note_origin(const rung_ladder *l, rung__node *leaf, rung_ladder_hint *hint) {
    if (!rung__row_of(l, hint->step[0].id, hint->player, &hint->step[0].row))
        return;
    hint->from_leaf = hint->step[0].id;
    rung__prefetch_rows(l, leaf, hint->step[0].row);
}

/* All nodes above the parents of leaves at once. */
static void pass_upper_nodes(const rung_ladder *l, rung_ladder_hint *hint) {
    for (uint32_t h = l->height; h > 1; h--) {
        rung__node *node = rung__inner(l, hint->step[h].id);
        note_row(l, node, rows_before(l, node, hint), &hint->step[h].row);
        take_child(l, hint, h);
    }
    hint->left = AT_PARENT;
}

static void go_on(const rung_ladder *l, rung_ladder_hint *hint) {
    uint32_t left = hint->left, h = (left - 1) / 2;
    if (left > AT_PARENT && hint->errand == TO_KEY) {
        pass_upper_nodes(l, hint);
        return;
    }
    if (left == AT_LEAF && hint->errand == TO_PLAYER) {
        note_origin(l, rung__leaf(l, hint->step[0].id), hint);
    } else if (left == AT_LEAF) {
        rung__node *leaf = rung__leaf(l, hint->step[0].id);
        if (search_on(l, leaf, hint))
            return;
        note_place(l, leaf, hint);
    } else if (left == TO_LEAF) {
        ask_for_leaf(l, hint);
    } else if (left % 2) {
        take_child(l, hint, h);
    } else {
        rung__node *node = rung__inner(l, hint->step[h].id);
        if (search_on(l, node, hint))
            return;
        note_row(l, node, hint->low, &hint->step[h].row);
    }
    hint->left--;
}

static void head_for(const rung_ladder *l, uint32_t player, const uint64_t *key, uint32_t errand,
                     rung_ladder_hint *hint) {
    for (uint32_t k = 0; k < l->key_words; k++)
        hint->key[k] = key[k];
    hint->ladder = l;
    hint->player = player;
    hint->mark = rung__mark_of(l, player);
    hint->errand = errand;
    hint->shape = l->shape;
    hint->left = steps_from(l->height);
    hint->stage = 0;
    hint->low = RUNG__INNER_CAP / 2;
    hint->step[l->height].id = l->root;
}

void rung_ladder_move_begin(const rung_ladder *l, uint32_t player, const uint64_t *old_key,
                            const uint64_t *key, rung_ladder_move *move) {
    move->from.left = 0;
    move->from.ladder = NULL;
    move->from.from_leaf = move->to.from_leaf = RUNG__NODE_NONE;
    head_for(l, player, key, TO_PLACE, &move->to);
    if (old_key)
        head_for(l, player, old_key, TO_PLAYER, &move->from);
    if (l->height)
        prefetch_root(&l->trunk->inners.slots[l->root]);
}

void rung_ladder_aim_down(rung_ladder_way *ways, uint32_t n) {
    while (n) /* all together one step on, then the next */
        for (uint32_t i = 0; i < n;) {
            const rung_ladder *l = ways[i].ladder;
            rung_ladder_hint *hint = ways[i].hint;
            if (hint->left)
                go_on(l, hint);
            if (hint->left)
                i++;
            else
                ways[i] = ways[--n];
        }
}

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
            rung_ignore(rung_ladder_aim_find(l, hint), "who is new has no place yet");
            rung_ladder_aim_begin(l, keys + (size_t)i * l->key_words, changes != NULL, hint);
            ways[i - start] = (rung_ladder_way){l, hint};
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
