/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder, reading side: searching, ranking, selecting, walking.
 *
 * Workload: moves and "what is my rank" in equal parts, far more often than anything else, of players chosen at
 * random among millions; then the first hundred, neighbours of a player, counts. So the costs that matter are
 * cache misses: a rank has one in the player map and one or two in the leaf; the inner nodes above are usually
 * cached. It compares no keys. */
#include "ladder/ladder.h"

#include "base/assert.h"
#include "base/prefetch.h"
#include "ladder/match.h"
#include "ladder/tree.h"

#include <string.h>

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
    l->has_prefixes = l->tie_aid && l->tie_aid->prefix;
    l->guide = config->guide;
    l->arena = config->arena;
    l->key_words = config->key_words;
    l->score_words = config->score_words;
    rung__pool_init(l, &l->leaves, RUNG__LEAF_COLUMNS, RUNG__LEAF_CAP);
    l->root = RUNG__NODE_NONE;
    l->bytes = sizeof *l;
    *out = l;
    return RUNG_OK;
}

void rung_ladder_clear(rung_ladder *l) {
    rung__pool_clear(l, &l->leaves);
    if (l->tree) {
        rung__pool_clear(l, &l->tree->inners);
        rung_numbermap_deinit(&l->tree->map, l->alloc);
        rung_alloc_free(l->alloc, l->tree, sizeof *l->tree);
        l->bytes -= sizeof *l->tree;
        l->tree = NULL;
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

/* The row of `value` in a column of a leaf, or n. No branch per row: sixteen rows at a time, then the last sixteen,
 * which may overlap. */
static uint32_t column_find(const uint32_t *column, uint32_t n, uint32_t value) {
    uint32_t i = 0;
#if defined(__SSE2__)
    if (n >= 16) {
        __m128i wanted = _mm_set1_epi32((int)value);
        uint64_t found = rung__match_sixteen(column + n - 16, wanted) << (n - 16);
        for (; i + 16 < n; i += 16)
            found |= rung__match_sixteen(column + i, wanted) << i;
        return found ? (uint32_t)__builtin_ctzll(found) : n;
    }
#endif
    while (i < n && column[i] != value)
        i++;
    return i;
}
_Static_assert(RUNG__LEAF_CAP <= 64, "a bit of a word for each row");

/* ---- searching by key ---- */

bool rung__row_before(const rung_ladder *l, rung__node *node, uint32_t row,
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
    if (rung__uses_prefixes(l) && rung__prefixes(l, node)[row] != probe->prefix)
        return rung__prefixes(l, node)[row] < probe->prefix;
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
        if (rung__row_before(l, node, mid, probe))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void rung__prefetch_players(const rung_ladder *l, uint32_t id) {
    rung__node *leaf =
        rung__leaf(l, id); /* address only: all leaves of a tree have the same layout */
    rung_prefetch(leaf);
    rung_prefetch_range(leaf->rows + (size_t)RUNG__LEAF_CAP * l->key_words,
                        RUNG__LEAF_CAP * sizeof(uint32_t));
}

/* Compiled for one word apart, without the loop. */
__attribute__((always_inline)) static inline void
prefetch_rows(const rung_ladder *l, rung__node *leaf, uint32_t words, uint32_t row, bool players) {
    bool head = row < leaf->n / 2u;
    size_t first = head ? 0 : row, count = head ? row + 1u : leaf->n - row + 1u;
    for (uint32_t k = 0; k < words; k++)
        rung_prefetch_range(rung__words(leaf, k) + first, count * sizeof(uint64_t));
    if (players)
        rung_prefetch_range(rung__column_behind(leaf, words, RUNG__PLAYER) + first,
                            count * sizeof(uint32_t));
    if (l->has_prefixes)
        rung_prefetch_range(rung__column_behind(leaf, words, RUNG__LEAF_COLUMNS) + first,
                            count * sizeof(uint32_t));
}

void rung__prefetch_rows(const rung_ladder *l, rung__node *leaf, uint32_t row, bool players) {
    if (l->key_words == 1)
        prefetch_rows(l, leaf, 1, row, players);
    else
        prefetch_rows(l, leaf, l->key_words, row, players);
}

/* A binary search would miss line after line: prefetch all first words at once. */
static void prefetch_search(const rung__node *node, uint32_t cap) {
    rung_prefetch_range_now(node, sizeof *node + cap * sizeof(uint64_t));
}

void rung__descend_to_leaf(const rung_ladder *l, const rung__probe *probe, rung__path *path) {
    path->step[l->height].id = l->root;
    for (uint32_t h = l->height; h > 0; h--) {
        rung__node *node = rung__inner(l, path->step[h].id);
        uint32_t before = rung__node_search(l, node, probe), row = before ? before - 1 : 0;
        uint32_t child = rung__column(l, node, RUNG__CHILD)[row];
        path->step[h].row = row;
        path->step[h - 1].id = child;
        if (h > 1)
            prefetch_search(rung__inner(l, child), RUNG__INNER_CAP);
        else
            prefetch_search(rung__leaf(l, child), RUNG__LEAF_CAP);
    }
}

void rung__descend(const rung_ladder *l, const rung__probe *probe, rung__path *path) {
    rung__descend_to_leaf(l, probe, path);
    path->step[0].row = rung__node_search(l, rung__leaf(l, path->step[0].id), probe);
}

/* ---- from a player upwards ---- */

/* The leaf where the player is, if anywhere, found by the guide's key. Not inlined: it needs a stack frame, which the
 * look-up in the map should not pay for. */
__attribute__((noinline)) static uint32_t guided_leaf(const rung_ladder *l, uint32_t player) {
    rung_ladder_entry e;
    rung__path path;
    if (rung_ladder_find(l->guide, player, &e) != RUNG_OK)
        return RUNG_NUMBER_NONE;
    rung__descend_to_leaf(l,
                          &(rung__probe){.key = e.key,
                                         .words = l->key_words,
                                         .player = player,
                                         .prefix = rung__prefix_of(l, player),
                                         .has_player = true,
                                         .or_self = true},
                          &path);
    return path.step[0].id;
}

uint32_t rung__leaf_of(const rung_ladder *l, uint32_t player) {
    if (!l->tree)
        return l->root;
    return l->guide ? guided_leaf(l, player) : rung_numbermap_get(&l->tree->map, player);
}

bool rung__row_of(const rung_ladder *l, uint32_t leaf_id, uint32_t player, uint32_t *row_out) {
    rung__node *leaf = rung__leaf(l, leaf_id);
    *row_out = column_find(rung__column(l, leaf, RUNG__PLAYER), leaf->n, player);
    return *row_out < leaf->n;
}

bool rung__locate(const rung_ladder *l, uint32_t player, rung__path *path) {
    path->step[0].id = rung__leaf_of(l, player);
    return path->step[0].id != RUNG_NUMBER_NONE &&
           rung__row_of(l, path->step[0].id, player, &path->step[0].row);
}

void rung__climb(const rung_ladder *l, rung__path *path) {
    for (uint32_t h = 1; h <= l->height; h++) {
        uint32_t id = path->step[h - 1].id;
        const rung__node *child = h == 1 ? rung__leaf(l, id) : rung__inner(l, id);
        path->step[h].id = child->parent;
        path->step[h].row = child->place - rung__inner(l, child->parent)->start;
    }
}

/* Entries (or starts) in earlier leaves: the sum over the rows before the path in its inner nodes. */
static uint32_t path_sum(const rung_ladder *l, const rung__path *path, uint32_t column) {
    uint32_t sum = 0;
    for (uint32_t h = 1; h <= l->height; h++) {
        rung__counts below = rung__counts_of(l, rung__inner(l, path->step[h].id), h, column);
        sum += rung__counts_sum(&below, path->step[h].row);
    }
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
        rung__counts below = rung__counts_of(l, node, h, column);
        uint32_t row = rung__counts_find(&below, node->n, &k);
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
    return l->bytes + (l->tree ? l->tree->map.bytes : 0);
}

rung_status rung_ladder_find(const rung_ladder *l, uint32_t player, rung_ladder_entry *out) {
    rung__path path;
    if (!rung__locate(l, player, &path))
        return RUNG_NOT_FOUND;
    if (out)
        rung__read_row(l, rung__leaf(l, path.step[0].id), path.step[0].row, out);
    return RUNG_OK;
}

rung_status rung_ladder_rank(const rung_ladder *l, uint32_t player, rung_rank_style style,
                             uint32_t *rank_out) {
    rung__path path;
    if (!rung__locate(l, player, &path))
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

rung_status rung_ladder_seek_player(const rung_ladder *l, uint32_t player,
                                    rung_ladder_cursor *cursor_out, uint32_t *index_out) {
    rung__path path;
    if (!rung__locate(l, player, &path))
        return RUNG_NOT_FOUND;
    rung__climb(l, &path);
    *index_out = path_index(l, &path);
    *cursor_out = (rung_ladder_cursor){l, path.step[0].id, path.step[0].row};
    return RUNG_OK;
}

void rung_ladder_back(rung_ladder_cursor *c, uint32_t count) {
    while (count > c->pos) {
        count -= c->pos;
        bool is_there = rung__step_over(c, true);
        RUNG_ASSERT(is_there);
    }
    c->pos -= count;
}

bool rung__step_over(rung_ladder_cursor *c, bool back) {
    const rung__node *leaf = rung__leaf(c->ladder, c->leaf);
    uint32_t id = back ? leaf->prev : leaf->next;
    if (id == RUNG__NODE_NONE)
        return false;
    c->leaf = id;
    c->pos = back ? rung__leaf(c->ladder, id)->n : 0;
    return true;
}

bool rung_ladder_next(rung_ladder_cursor *c, rung_ladder_entry *out) {
    if (c->leaf == RUNG__NODE_NONE ||
        (c->pos == rung__leaf(c->ladder, c->leaf)->n && !rung__step_over(c, false)))
        return false;
    rung__read_row(c->ladder, rung__leaf(c->ladder, c->leaf), c->pos++, out);
    return true;
}

bool rung_ladder_prev(rung_ladder_cursor *c, rung_ladder_entry *out) {
    if (c->leaf == RUNG__NODE_NONE || (c->pos == 0 && !rung__step_over(c, true)))
        return false;
    rung__read_row(c->ladder, rung__leaf(c->ladder, c->leaf), --c->pos, out);
    return true;
}

/* The entry after the cursor, as the lowest step of a path; false at the end. */
static bool entry_behind(const rung_ladder_cursor *c, rung__path *path) {
    if (c->leaf == RUNG__NODE_NONE)
        return false;
    rung__node *leaf = rung__leaf(c->ladder, c->leaf);
    bool next = c->pos == leaf->n; /* at the end of a leaf: the entry is the first of the next */
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

/* ---- order ---- */

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
