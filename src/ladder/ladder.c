/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder, reading side: searching, ranking, selecting, walking.
 *
 * Workload: moves and "what is my rank" in equal parts, far more often than anything else, of players chosen at
 * random among millions; then the first hundred, neighbours of a player, counts. So the costs that matter are
 * cache misses: a rank takes one into the player map, one or two into the leaf, and finds the rest of the way
 * up in cache. Nothing on that way compares a key. */
#include "ladder/ladder.h"

#include "base/assert.h"
#include "base/prefetch.h"
#include "ladder/tree.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* ---- life ---- */

rung_status rung_ladder_create(const rung_ladder_config *config, rung_ladder **out) {
    if (config->key_words < 1 || config->key_words > RUNG_LADDER_WORDS_MAX ||
        config->score_words < 1 || config->score_words > config->key_words)
        return RUNG_EINVAL;
    rung_ladder *l = rung_alloc_zeroed(config->alloc, sizeof *l);
    if (!l)
        return RUNG_ENOMEM;
    l->alloc = config->alloc;
    l->tie = config->tie;
    l->tie_ctx = config->tie_ctx;
    l->tie_aid = config->tie ? config->tie_aid : NULL;
    l->has_marks = l->tie_aid && l->tie_aid->mark;
    l->guide = config->guide;
    l->quarry = config->quarry;
    l->key_words = config->key_words;
    l->score_words = config->score_words;
    l->leaves.free_head = RUNG__NODE_NONE;
    l->root = RUNG__NODE_NONE;
    l->bytes = sizeof *l;
    *out = l;
    return RUNG_OK;
}

void rung_ladder_clear(rung_ladder *l) {
    rung__pool_deinit(l, &l->leaves);
    if (l->trunk) {
        rung__pool_deinit(l, &l->trunk->inners);
        rung_numbermap_deinit(&l->trunk->map, l->alloc);
        rung_alloc_free(l->alloc, l->trunk, sizeof *l->trunk);
        l->bytes -= sizeof *l->trunk;
        l->trunk = NULL;
    }
    l->shape++;
    l->count = l->distinct = 0;
    l->root = RUNG__NODE_NONE;
    l->height = 0;
    RUNG_ASSERT(l->bytes == sizeof *l);
}

void rung_ladder_destroy(rung_ladder *l) {
    if (!l)
        return;
    rung_ladder_clear(l);
    rung_alloc_free(l->alloc, l, sizeof *l);
}

/* ---- rows ---- */

void rung__read_row(const rung_ladder *l, rung__node *leaf, uint32_t row, rung_ladder_entry *out) {
    for (uint32_t k = 0; k < RUNG_LADDER_WORDS_MAX; k++)
        out->key[k] = k < l->key_words ? rung__words(leaf, k)[row] : 0;
    out->player = rung__column(l, leaf, RUNG__PLAYER)[row];
}

#if defined(__SSE2__)
/* Which of sixteen numbers are the wanted one, a bit for each. */
static inline uint64_t match_sixteen(const uint32_t *column, __m128i wanted) {
    const __m128i *p = (const __m128i *)column;
    __m128i a = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_loadu_si128(p), wanted),
                                _mm_cmpeq_epi32(_mm_loadu_si128(p + 1), wanted));
    __m128i b = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_loadu_si128(p + 2), wanted),
                                _mm_cmpeq_epi32(_mm_loadu_si128(p + 3), wanted));
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(a, b));
}
#endif

/* Where `value` stands in the column of a leaf, or n. Without a branch per row: sixteen at a time, and then the last
 * sixteen, some of them once more. */
static uint32_t column_find(const uint32_t *column, uint32_t n, uint32_t value) {
    uint32_t i = 0;
#if defined(__SSE2__)
    if (n >= 16) {
        __m128i wanted = _mm_set1_epi32((int)value);
        uint64_t found = match_sixteen(column + n - 16, wanted) << (n - 16);
        for (; i + 16 < n; i += 16)
            found |= match_sixteen(column + i, wanted) << i;
        return found ? (uint32_t)__builtin_ctzll(found) : n;
    }
#endif
    while (i < n && column[i] != value)
        i++;
    return i;
}
_Static_assert(RUNG__LEAF_CAP <= 64, "a bit of a word for each row");

/* ---- searching by key ---- */

/* Is the row before the probe? Their first words are equal. */
static bool row_before(const rung_ladder *l, rung__node *node, uint32_t row,
                       const rung__probe *probe) {
    for (uint32_t k = 1; k < probe->words; k++) {
        uint64_t w = rung__words(node, k)[row];
        if (w != probe->key[k])
            return w < probe->key[k];
    }
    if (!probe->has_player)
        return probe->after_equal;
    uint32_t player = rung__column(l, node, RUNG__PLAYER)[row];
    if (player == probe->player)
        return probe->or_self;
    if (rung__is_marked(l) && rung__marks(l, node)[row] != probe->mark)
        return rung__marks(l, node)[row] < probe->mark;
    return l->tie ? l->tie(l->tie_ctx, player, probe->player) < 0 : player < probe->player;
}

uint32_t rung__node_search(const rung_ladder *l, rung__node *node, const rung__probe *probe) {
    const uint64_t *words = rung__words(node, 0);
    uint64_t word = probe->key[0];
    uint32_t low = rung__words_less(words, node->n, word);
    if (low == node->n || words[low] != word)
        return low;
    /* The first word ties: look at the others, but only within the run of equal first words. */
    uint32_t high =
        word == UINT64_MAX ? node->n : low + rung__words_less(words + low, node->n - low, word + 1);
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (row_before(l, node, mid, probe))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void rung__prefetch_players(const rung_ladder *l, uint32_t id) {
    rung__node *leaf =
        l->leaves.slots[id].node; /* not touched here: all leaves of a tree are laid out alike */
    rung_prefetch(leaf);
    rung_prefetch_range(leaf->rows + (size_t)RUNG__LEAF_CAP * l->key_words,
                        RUNG__LEAF_CAP * sizeof(uint32_t));
}

void rung__prefetch_rows(const rung_ladder *l, rung__node *leaf, uint32_t row) {
    bool head = row < leaf->n / 2u;
    size_t first = head ? 0 : row, count = head ? row + 1u : leaf->n - row + 1u;
    for (uint32_t k = 0; k < l->key_words; k++)
        rung_prefetch_range(rung__words(leaf, k) + first, count * sizeof(uint64_t));
    rung_prefetch_range(rung__column(l, leaf, RUNG__PLAYER) + first, count * sizeof(uint32_t));
    if (l->has_marks)
        rung_prefetch_range(rung__marks(l, leaf) + first, count * sizeof(uint32_t));
}

static void prefetch_key(const rung_ladder *l, rung__node *leaf, uint32_t row) {
    for (uint32_t k = 0; k < l->key_words; k++)
        rung_prefetch(rung__words(leaf, k) + row);
}

/* A binary search would meet a node's lines one miss after the other: ask for all of its first words at once. */
static void prefetch_search(const rung__slot *slot, uint32_t cap) {
    rung_prefetch_range(slot->node, sizeof(rung__node) + cap * sizeof(uint64_t));
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

/* One step of a descent, from the inner node at height h, with `before` rows before the probe, to its child. Of a leaf
 * the slot is asked for, which tells where it is. */
static void step_down(const rung_ladder *l, uint32_t h, uint32_t before, rung__path *path) {
    rung__node *node = rung__inner(l, path->step[h].id);
    uint32_t row = before ? before - 1 : 0, child = rung__column(l, node, RUNG__CHILD)[row];
    path->step[h].row = row;
    path->step[h - 1].id = child;
    if (h == 1)
        rung_prefetch(&l->leaves.slots[child]);
}

void rung__descend_to_leaf(const rung_ladder *l, const rung__probe *probe, rung__path *path) {
    path->step[l->height].id = l->root;
    for (uint32_t h = l->height; h > 0; h--) {
        step_down(l, h, rung__node_search(l, rung__inner(l, path->step[h].id), probe), path);
        if (h > 1)
            prefetch_search(&l->trunk->inners.slots[path->step[h - 1].id], RUNG__INNER_CAP);
    }
    if (l->height > 0)
        prefetch_search(&l->leaves.slots[path->step[0].id], RUNG__LEAF_CAP);
}

void rung__descend(const rung_ladder *l, const rung__probe *probe, rung__path *path) {
    rung__descend_to_leaf(l, probe, path);
    path->step[0].row = rung__node_search(l, rung__leaf(l, path->step[0].id), probe);
}

/* ---- from a player upwards ---- */

/* The leaf where the player is, if anywhere, by the key that the guide has. Apart, as it needs a frame that a look into
 * the map shall not pay for. */
__attribute__((noinline)) static uint32_t guided_leaf(const rung_ladder *l, uint32_t player) {
    rung_ladder_entry e;
    rung__path path;
    if (rung_ladder_find(l->guide, player, &e) != RUNG_OK)
        return RUNG_NUMBER_NONE;
    rung__descend_to_leaf(l,
                          &(rung__probe){.key = e.key,
                                         .words = l->key_words,
                                         .player = player,
                                         .mark = rung__mark_of(l, player),
                                         .has_player = true,
                                         .or_self = true},
                          &path);
    return path.step[0].id;
}

uint32_t rung__leaf_of(const rung_ladder *l, uint32_t player) {
    if (!l->trunk)
        return l->root;
    return l->guide ? guided_leaf(l, player) : rung_numbermap_get(&l->trunk->map, player);
}

bool rung__row_of(const rung_ladder *l, uint32_t leaf_id, uint32_t player, uint32_t *row_out) {
    rung__node *leaf = rung__leaf(l, leaf_id);
    *row_out = column_find(rung__column(l, leaf, RUNG__PLAYER), leaf->n, player);
    return *row_out < leaf->n;
}

/* Leaf and row of a player; false when not in the ladder. */
static bool locate(const rung_ladder *l, uint32_t player, rung__path *path) {
    path->step[0].id = rung__leaf_of(l, player);
    return path->step[0].id != RUNG_NUMBER_NONE &&
           rung__row_of(l, path->step[0].id, player, &path->step[0].row);
}

void rung__climb(const rung_ladder *l, rung__path *path) {
    for (uint32_t h = 1; h <= l->height; h++) {
        uint32_t child = path->step[h - 1].id;
        const rung__slot *slot = h == 1 ? &l->leaves.slots[child] : &l->trunk->inners.slots[child];
        path->step[h].id = slot->parent;
        path->step[h].row = slot->place - rung__inner(l, slot->parent)->start;
    }
}

/* What the inner nodes of a path have in a column before the path: entries or starts in earlier leaves. */
static uint32_t path_sum(const rung_ladder *l, const rung__path *path, uint32_t column) {
    uint32_t sum = 0;
    for (uint32_t h = 1; h <= l->height; h++)
        sum += rung__column_sum(rung__column(l, rung__inner(l, path->step[h].id), column),
                                path->step[h].row);
    return sum;
}

static uint32_t path_index(const rung_ladder *l, const rung__path *path) {
    return path_sum(l, path, RUNG__COUNT) + path->step[0].row;
}

/* Starts among the rows before the path's. */
static uint32_t path_starts(const rung_ladder *l, const rung__path *path) {
    uint64_t before = rung__leaf(l, path->step[0].id)->starts & rung__mask(path->step[0].row);
    return path_sum(l, path, RUNG__STARTS) + (uint32_t)__builtin_popcountll(before);
}

/* The row of the k-th set bit, counting from 0. */
static uint32_t nth_start(uint64_t bits, uint32_t k) {
    for (; k; k--)
        bits &= bits - 1;
    return (uint32_t)__builtin_ctzll(bits);
}

/* The row of the highest set bit; there is one. */
static uint32_t last_start(uint64_t bits) {
    return 63 - (uint32_t)__builtin_clzll(bits);
}

/* Walk down to the k-th entry (column RUNG__COUNT) or the k-th start (RUNG__STARTS), counting from 0. */
static void descend_to(const rung_ladder *l, uint32_t column, uint32_t k, rung__path *path) {
    uint32_t id = l->root;
    for (uint32_t h = l->height; h > 0; h--) {
        rung__node *node = rung__inner(l, id);
        const uint32_t *counts = rung__column(l, node, column);
        uint32_t row = rung__row_holding(counts, node->n, &k);
        path->step[h].id = id;
        path->step[h].row = row;
        id = rung__column(l, node, RUNG__CHILD)[row];
    }
    path->step[0].id = id;
    path->step[0].row = column == RUNG__COUNT ? k : nth_start(rung__leaf(l, id)->starts, k);
}

uint32_t rung__rank_at(const rung_ladder *l, const rung__path *path, rung_rank_style style,
                       uint32_t *index_out) {
    uint32_t row = path->step[0].row, before = path_sum(l, path, RUNG__COUNT);
    *index_out = before + row;
    if (style == RUNG_RANK_UNIQUE)
        return before + row + 1;
    uint64_t upto = rung__leaf(l, path->step[0].id)->starts & rung__mask(row + 1);
    if (style == RUNG_RANK_DENSE)
        return path_sum(l, path, RUNG__STARTS) + (uint32_t)__builtin_popcountll(upto);
    if (upto) /* the first of its score is in this leaf */
        return before + last_start(upto) + 1;
    rung__path start;
    descend_to(l, RUNG__STARTS, path_sum(l, path, RUNG__STARTS) - 1, &start);
    return path_index(l, &start) + 1;
}

/* ---- queries ---- */

uint32_t rung_ladder_count(const rung_ladder *l) {
    return l->count;
}

uint32_t rung_ladder_distinct(const rung_ladder *l) {
    return l->distinct;
}

size_t rung_ladder_memory(const rung_ladder *l) {
    return l->bytes + (l->trunk ? l->trunk->map.bytes : 0);
}

rung_status rung_ladder_find(const rung_ladder *l, uint32_t player, rung_ladder_entry *out) {
    rung__path path;
    if (!locate(l, player, &path))
        return RUNG_NOT_FOUND;
    if (out)
        rung__read_row(l, rung__leaf(l, path.step[0].id), path.step[0].row, out);
    return RUNG_OK;
}

rung_status rung_ladder_rank(const rung_ladder *l, uint32_t player, rung_rank_style style,
                             uint32_t *rank_out) {
    rung__path path;
    if (!locate(l, player, &path))
        return RUNG_NOT_FOUND;
    uint32_t index;
    rung__climb(l, &path);
    *rank_out = rung__rank_at(l, &path, style, &index);
    return RUNG_OK;
}

static void descend_key(const rung_ladder *l, const uint64_t *key, uint32_t words, bool after_equal,
                        rung__path *path) {
    rung__descend(l, &(rung__probe){.key = key, .words = words, .after_equal = after_equal}, path);
}

uint32_t rung_ladder_rank_of_key(const rung_ladder *l, const uint64_t *key, rung_rank_style style) {
    rung__path path;
    if (l->count == 0)
        return 1;
    if (style == RUNG_RANK_UNIQUE) {
        descend_key(l, key, l->key_words, true, &path);
        return path_index(l, &path) + 1;
    }
    descend_key(l, key, l->score_words, false, &path);
    return (style == RUNG_RANK_SPARSE ? path_index(l, &path) : path_starts(l, &path)) + 1;
}

rung_status rung_ladder_at(const rung_ladder *l, uint32_t index, rung_ladder_entry *out) {
    if (index >= l->count)
        return RUNG_NOT_FOUND;
    rung__path path;
    descend_to(l, RUNG__COUNT, index, &path);
    rung__read_row(l, rung__leaf(l, path.step[0].id), path.step[0].row, out);
    return RUNG_OK;
}

rung_status rung_ladder_select(const rung_ladder *l, uint32_t rank, rung_rank_style style,
                               rung_ladder_entry *out) {
    if (rank == 0)
        return RUNG_NOT_FOUND;
    if (style != RUNG_RANK_DENSE)
        return rung_ladder_at(
            l, rank - 1,
            out); /* sparse: the entry there is the first of `rank`, or the last before */
    if (rank > l->distinct)
        return RUNG_NOT_FOUND;
    rung__path path;
    descend_to(l, RUNG__STARTS, rank - 1, &path);
    rung__read_row(l, rung__leaf(l, path.step[0].id), path.step[0].row, out);
    return RUNG_OK;
}

uint32_t rung_ladder_count_before(const rung_ladder *l, const uint64_t *key, bool or_equal) {
    if (l->count == 0)
        return 0;
    rung__path path;
    descend_key(l, key, l->key_words, or_equal, &path);
    return path_index(l, &path);
}

uint32_t rung_ladder_count_between(const rung_ladder *l, const uint64_t *lo, const uint64_t *hi) {
    uint32_t upto = rung_ladder_count_before(l, hi, true),
             before = rung_ladder_count_before(l, lo, false);
    return upto > before ? upto - before : 0;
}

rung_status rung_ladder_quantile(const rung_ladder *l, uint32_t numerator, uint32_t denominator,
                                 rung_ladder_entry *out) {
    RUNG_ASSERT(denominator > 0 && numerator <= denominator);
    uint64_t nth = ((uint64_t)l->count * numerator + denominator - 1) / denominator;
    return rung_ladder_at(l, nth ? (uint32_t)nth - 1 : 0, out);
}

/* ---- iteration ---- */

rung_ladder_cursor rung_ladder_seek(const rung_ladder *l, uint32_t index) {
    rung_ladder_cursor c = {l, RUNG__NODE_NONE, 0};
    if (l->count == 0)
        return c;
    rung__path path;
    descend_to(l, RUNG__COUNT, index < l->count ? index : l->count - 1, &path);
    c.leaf = path.step[0].id;
    c.pos = path.step[0].row + (index >= l->count);
    return c;
}

rung_ladder_cursor rung_ladder_seek_key(const rung_ladder *l, const uint64_t *key) {
    rung_ladder_cursor c = {l, RUNG__NODE_NONE, 0};
    if (l->count == 0)
        return c;
    rung__path path;
    descend_key(l, key, l->key_words, false, &path);
    c.leaf = path.step[0].id;
    c.pos = path.step[0].row;
    return c;
}

rung_status rung_ladder_seek_player(const rung_ladder *l, uint32_t player,
                                    rung_ladder_cursor *cursor_out, uint32_t *index_out) {
    rung__path path;
    if (!locate(l, player, &path))
        return RUNG_NOT_FOUND;
    rung__climb(l, &path);
    *index_out = path_index(l, &path);
    *cursor_out = (rung_ladder_cursor){l, path.step[0].id, path.step[0].row};
    return RUNG_OK;
}

void rung_ladder_back(rung_ladder_cursor *c, uint32_t count) {
    while (count > c->pos) {
        count -= c->pos;
        c->leaf = rung__leaf(c->ladder, c->leaf)->prev;
        RUNG_ASSERT(c->leaf != RUNG__NODE_NONE);
        c->pos = rung__leaf(c->ladder, c->leaf)->n;
    }
    c->pos -= count;
}

bool rung_ladder_next(rung_ladder_cursor *c, rung_ladder_entry *out) {
    if (c->leaf == RUNG__NODE_NONE)
        return false;
    rung__node *leaf = rung__leaf(c->ladder, c->leaf);
    if (c->pos == leaf->n) {
        if (leaf->next == RUNG__NODE_NONE)
            return false;
        c->leaf = leaf->next;
        c->pos = 0;
        leaf = rung__leaf(c->ladder, c->leaf);
    }
    rung__read_row(c->ladder, leaf, c->pos++, out);
    return true;
}

bool rung_ladder_prev(rung_ladder_cursor *c, rung_ladder_entry *out) {
    if (c->leaf == RUNG__NODE_NONE)
        return false;
    rung__node *leaf = rung__leaf(c->ladder, c->leaf);
    if (c->pos == 0) {
        if (leaf->prev == RUNG__NODE_NONE)
            return false;
        c->leaf = leaf->prev;
        leaf = rung__leaf(c->ladder, c->leaf);
        c->pos = leaf->n;
    }
    rung__read_row(c->ladder, leaf, --c->pos, out);
    return true;
}

/* The entry behind the cursor, as the foot of a path; false at the end. */
static bool entry_behind(const rung_ladder_cursor *c, rung__path *path) {
    if (c->leaf == RUNG__NODE_NONE)
        return false;
    rung__node *leaf = rung__leaf(c->ladder, c->leaf);
    bool next = c->pos == leaf->n; /* between two leaves: the entry is the first of the second */
    path->step[0].id = next ? leaf->next : c->leaf;
    path->step[0].row = next ? 0 : c->pos;
    return path->step[0].id != RUNG__NODE_NONE;
}

uint32_t rung_ladder_cursor_rank(const rung_ladder_cursor *c, rung_rank_style style) {
    rung__path path;
    uint32_t index;
    if (!entry_behind(c, &path))
        return 0;
    rung__climb(c->ladder, &path);
    return rung__rank_at(c->ladder, &path, style, &index);
}

uint32_t rung_ladder_cursor_sparse(const rung_ladder_cursor *c, uint32_t index) {
    rung__path path;
    if (!entry_behind(c, &path))
        return 0;
    uint32_t row = path.step[0].row;
    uint64_t upto = rung__leaf(c->ladder, path.step[0].id)->starts & rung__mask(row + 1);
    if (upto) /* the first of its score is in this leaf */
        return index - row + last_start(upto) + 1;
    rung__climb(c->ladder, &path);
    return rung__rank_at(c->ladder, &path, RUNG_RANK_SPARSE, &index);
}

uint32_t rung_ladder_tell(const rung_ladder_cursor *c) {
    if (c->leaf == RUNG__NODE_NONE)
        return 0;
    rung__path path;
    path.step[0].id = c->leaf;
    path.step[0].row = c->pos;
    rung__climb(c->ladder, &path);
    return path_index(c->ladder, &path);
}

/* ---- many at once ---- */

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
    if (!locate(l, player, &path) || l->height == 0)
        return;
    prefetch_key(l, rung__leaf(l, path.step[0].id), path.step[0].row);
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
        if (row_before(l, node, mid, &probe))
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

void rung_ladder_rank_batch(const rung_ladder *l, uint32_t n, const uint32_t *players,
                            rung_rank_style style, uint32_t *ranks_out) {
    for (uint32_t done = 0; done < n;) {
        uint32_t stop = n - done < GROUP ? n : done + GROUP;
        for (uint32_t i = done; i < stop; i++)
            rung_ladder_warm_map(l, players[i]);
        for (uint32_t i = done; i < stop; i++)
            rung_ladder_warm_leaf(l, players[i]);
        for (; done < stop; done++)
            if (rung_ladder_rank(l, players[done], style, &ranks_out[done]) != RUNG_OK)
                ranks_out[done] = 0;
    }
}

int rung_ladder_compare(const rung_ladder *l, const rung_ladder_entry *a,
                        const rung_ladder_entry *b) {
    for (uint32_t k = 0; k < l->key_words; k++)
        if (a->key[k] != b->key[k])
            return a->key[k] < b->key[k] ? -1 : 1;
    if (a->player == b->player)
        return 0;
    if (l->tie)
        return l->tie(l->tie_ctx, a->player, b->player);
    return a->player < b->player ? -1 : 1;
}

/* Not group by group, whose ends would wait, but in a row: each player LAG steps behind the one before it. */
void rung_ladder_find_batch(const rung_ladder *l, uint32_t n, const uint32_t *players,
                            rung_ladder_entry *entries_out, bool *found_out) {
    enum { LAG = 8, RING = 4 * LAG };
    uint32_t leaf[RING], row[RING];
    for (uint64_t i = 0; i < (uint64_t)n + RING; i++) {
        uint64_t slot = i - LAG, who = i - 2 * LAG, at = i - 3 * LAG, read = i - 4 * LAG;
        if (i < n) /* below 0 is not below n */
            rung_ladder_warm_map(l, players[i]);
        if (slot < n) {
            if (l->guide)
                rung_ladder_warm_leaf(l, players[slot]);
            leaf[slot % RING] = rung__leaf_of(l, players[slot]);
            if (l->height && leaf[slot % RING] != RUNG__NODE_NONE)
                rung_prefetch(&l->leaves.slots[leaf[slot % RING]]);
        }
        if (who < n && l->height && leaf[who % RING] != RUNG__NODE_NONE)
            rung__prefetch_players(l, leaf[who % RING]);
        if (at < n) {
            uint32_t id = leaf[at % RING];
            found_out[at] =
                id != RUNG__NODE_NONE && rung__row_of(l, id, players[at], &row[at % RING]);
            if (found_out[at])
                prefetch_key(l, rung__leaf(l, id), row[at % RING]);
        }
        if (read < n && found_out[read])
            rung__read_row(l, rung__leaf(l, leaf[read % RING]), row[read % RING],
                           &entries_out[read]);
    }
}
