/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder, reading side, in batches: a group of queries descends together, one level at a time. Each level reads
 * what the level before prefetched while the other queries of the group did theirs.
 *
 * Workload: pipelined commands, each a page from the middle of a board or a count of a range. At 10 M entries the top
 * two levels are cached, the lowest inner nodes sometimes, the leaves never. */
#include "base/prefetch.h"
#include "ladder/match.h"
#include "ladder/pipeline.h"
#include "ladder/tree.h"

#ifdef RUNG_TEST_BUILD
enum { GROUP = 3 };
#else
enum { GROUP = 16 }; /* about as many misses as the memory system keeps in flight */
#endif

/* Prefetch the header of an inner node, `words` of its first column, its children and their counts. */
static void prefetch_inner(const rung_ladder *l, uint32_t id, uint32_t words) {
    rung__node *node = rung__inner(l, id); /* address only: all have the same layout */
    const uint32_t *columns =
        (const uint32_t *)(node->rows + (size_t)RUNG__INNER_CAP * l->key_words);
    rung_prefetch_range(node, sizeof *node + words * sizeof(uint64_t));
    rung_prefetch_range(columns + RUNG__CHILD * RUNG__INNER_CAP,
                        (RUNG__COUNT - RUNG__CHILD + 1) * RUNG__INNER_CAP * sizeof *columns);
}

/* ---- to a place ---- */

static void seek_group(const rung_ladder *l, uint32_t n, const uint32_t *indexes,
                       rung_ladder_cursor *cursors) {
    uint32_t left[GROUP];
    for (uint32_t i = 0; i < n; i++) {
        cursors[i] = (rung_ladder_cursor){l, l->count ? l->root : RUNG__NODE_NONE, 0};
        left[i] = indexes[i] < l->count ? indexes[i] : l->count - 1;
    }
    if (l->count == 0)
        return;
    for (uint32_t h = l->height; h > 0; h--)
        for (uint32_t i = 0; i < n; i++) {
            rung__node *node = rung__inner(l, cursors[i].leaf);
            rung__counts below = rung__counts_of(l, node, h, RUNG__COUNT);
            uint32_t row = rung__counts_find(&below, node->n, &left[i]);
            cursors[i].leaf = rung__column(l, node, RUNG__CHILD)[row];
            if (h > 1)
                prefetch_inner(l, cursors[i].leaf, 0);
            else
                rung_prefetch(rung__leaf(l, cursors[i].leaf));
        }
    for (uint32_t i = 0; i < n; i++)
        cursors[i].pos = left[i] + (indexes[i] >= l->count);
}

void rung_ladder_seek_batch(const rung_ladder *l, uint32_t n, const uint32_t *indexes,
                            rung_ladder_cursor *cursors_out) {
    for (uint32_t done = 0; done < n; done += GROUP)
        seek_group(l, n - done < GROUP ? n - done : GROUP, indexes + done, cursors_out + done);
}

/* ---- from there on ---- */

/* Of `count` rows on from the cursor, those in the cursor's own leaf: from row *first_out on. */
static uint32_t rows_at_hand(const rung_ladder_cursor *c, const rung__node *leaf, bool back,
                             uint32_t count, uint32_t *first_out) {
    uint32_t there = back ? c->pos : leaf->n - c->pos, n = there < count ? there : count;
    *first_out = back ? c->pos - n : c->pos;
    return n;
}

static void prefetch_entries(const rung_ladder *l, rung__node *leaf, uint32_t row, uint32_t n) {
    for (uint32_t k = 0; k < l->key_words; k++)
        rung_prefetch_range(rung__words(leaf, k) + row, n * sizeof(uint64_t));
    rung_prefetch_range(rung__column(l, leaf, RUNG__PLAYER) + row, n * sizeof(uint32_t));
}

void rung_ladder_prefetch_walk(const rung_ladder_cursor *c, bool back, uint32_t count, int part) {
    if (c->leaf == RUNG__NODE_NONE)
        return;
    rung_ladder_cursor on = *c;
    rung__node *leaf = rung__leaf(c->ladder, c->leaf);
    uint32_t row, n = rows_at_hand(c, leaf, back, count, &row);
    uint32_t next = back ? leaf->prev : leaf->next;
    if (part == 0) {
        prefetch_entries(c->ladder, leaf, row, n);
        if (n < count && next != RUNG__NODE_NONE)
            rung_prefetch(rung__leaf(c->ladder, next));
    } else if (n < count && rung__step_over(&on, back)) {
        leaf = rung__leaf(on.ladder, on.leaf);
        n = rows_at_hand(&on, leaf, back, count - n, &row);
        prefetch_entries(on.ladder, leaf, row, n);
    }
}

/* Rows from `row` on, or back from it. */
static void read_rows(const rung_ladder *l, rung__node *leaf, uint32_t row, bool back, uint32_t n,
                      rung_ladder_entry *out) {
    const uint64_t *words = rung__words(leaf, 0);
    const uint32_t *players = rung__column(l, leaf, RUNG__PLAYER);
    for (uint32_t i = 0; i < n; i++, row += back ? UINT32_MAX : 1) {
        out[i] = (rung_ladder_entry){.key = {words[row]}, .player = players[row]};
        for (uint32_t k = 1; k < l->key_words; k++)
            out[i].key[k] = rung__words(leaf, k)[row];
    }
}

uint32_t rung_ladder_walk(rung_ladder_cursor *c, bool back, uint32_t count,
                          rung_ladder_entry *out) {
    const rung_ladder *l = c->ladder;
    uint32_t done = 0, row;
    if (c->leaf == RUNG__NODE_NONE)
        return 0;
    do {
        rung__node *leaf = rung__leaf(l, c->leaf);
        uint32_t n = rows_at_hand(c, leaf, back, count - done, &row);
        read_rows(l, leaf, back ? row + n - 1 : row, back, n, out + done);
        c->pos = back ? row : row + n;
        done += n;
    } while (done < count && rung__step_over(c, back));
    return done;
}

/* ---- to a key ---- */

/* Rows of the node whose words are less than `key`, or not greater with `or_equal`. */
static uint32_t rows_before(const rung_ladder *l, rung__node *node, const uint64_t *key,
                            bool or_equal) {
    if (l->key_words > 1)
        return rung__node_search(
            l, node, &(rung__probe){.key = key, .words = l->key_words, .after_equal = or_equal});
    if (or_equal && key[0] == UINT64_MAX)
        return node->n;
    return rung__words_less(rung__words(node, 0), node->n, key[0] + or_equal);
}

static void count_group(const rung_ladder *l, uint32_t n, const uint64_t *keys,
                        const bool *or_equal, uint32_t *counts) {
    uint32_t at[GROUP];
    for (uint32_t i = 0; i < n; i++) {
        at[i] = l->root;
        counts[i] = 0;
    }
    for (uint32_t h = l->height; h > 0; h--)
        for (uint32_t i = 0; i < n; i++) {
            rung__node *node = rung__inner(l, at[i]);
            uint32_t before = rows_before(l, node, keys + (size_t)i * l->key_words, or_equal[i]);
            uint32_t row = before ? before - 1 : 0;
            rung__counts below = rung__counts_of(l, node, h, RUNG__COUNT);
            counts[i] += rung__counts_sum(&below, row);
            at[i] = rung__column(l, node, RUNG__CHILD)[row];
            if (h > 1)
                prefetch_inner(l, at[i], RUNG__INNER_CAP);
            else
                rung_prefetch_range(rung__leaf(l, at[i]),
                                    sizeof *node + RUNG__LEAF_CAP * sizeof(uint64_t));
        }
    for (uint32_t i = 0; l->count && i < n; i++)
        counts[i] +=
            rows_before(l, rung__leaf(l, at[i]), keys + (size_t)i * l->key_words, or_equal[i]);
}

void rung_ladder_count_before_batch(const rung_ladder *l, uint32_t n, const uint64_t *keys,
                                    const bool *or_equal, uint32_t *counts_out) {
    for (uint32_t done = 0; done < n; done += GROUP)
        count_group(l, n - done < GROUP ? n - done : GROUP, keys + (size_t)done * l->key_words,
                    or_equal + done, counts_out + done);
}

/* ---- to players ---- */

void rung_ladder_rank_batch(const rung_ladder *l, uint32_t n, const uint32_t *players,
                            rung_rank_style style, uint32_t *ranks_out) {
    for (uint32_t done = 0; done < n;) {
        uint32_t stop = n - done < GROUP ? n : done + GROUP;
        for (uint32_t i = done; i < stop; i++)
            rung__prefetch_map(l, players[i]);
        for (uint32_t i = done; i < stop; i++)
            rung__prefetch_leaf(l, players[i]);
        for (; done < stop; done++)
            if (rung_ladder_rank(l, players[done], style, &ranks_out[done]) != RUNG_OK)
                ranks_out[done] = 0;
    }
}

/* ---- to players' entries, by the map ---- */

/* A pipeline over blocks of players: each step prefetches what the next one reads, and a block takes a step while the
 * block before it takes the next. */
#ifdef RUNG_TEST_BUILD
enum { BLOCK = 2 };
#else
enum { BLOCK = 4 };
#endif
enum { TO_MAP, TO_LEAF, TO_ROW, TO_KEY, STEPS };
enum { IN_FLIGHT = STEPS * BLOCK };

typedef struct lookups {
    const rung_ladder *l;
    const uint32_t *players;
    bool *found;
    uint32_t leaf[IN_FLIGHT];
    uint32_t place[IN_FLIGHT]; /* of the row in its leaf: start + row */
    rung__node *node[IN_FLIGHT];
} lookups;

static inline const uint32_t *places_of(const rung_ladder *l, rung__node *leaf) {
    return (const uint32_t *)(leaf->rows + (size_t)RUNG__LEAF_CAP * l->key_words);
}

static inline void go_to_leaf(lookups *w, uint32_t slot) {
    enum { LINE = 64, COLUMN = RUNG__LEAF_CAP * sizeof(uint32_t) };
    if (w->leaf[slot] == RUNG__NODE_NONE)
        return;
    w->node[slot] = rung__leaf(w->l, w->leaf[slot]);
    const char *column = (const char *)places_of(w->l, w->node[slot]);
    for (uint32_t at = 0; at < COLUMN; at += LINE)
        rung_prefetch(column + at);
    rung_prefetch(column + COLUMN - 1);
}

/* The map says that the player is in this leaf, so it is at one of its places. Compare all places, used or not: that
 * avoids reading the node's header, a cache line of its own. A free place may still hold the player's number; only if
 * there are several matches is the header read. */
static inline void go_to_row(lookups *w, uint32_t slot, uint32_t player) {
    if (w->leaf[slot] == RUNG__NODE_NONE)
        return;
    rung__node *leaf = w->node[slot];
    uint64_t match = rung__match(places_of(w->l, leaf), RUNG__LEAF_CAP, player);
    if (match & (match - 1))
        match &= rung__mask(leaf->n) << leaf->start;
    w->place[slot] = (uint32_t)__builtin_ctzll(match);
    for (uint32_t k = 0; k < w->l->key_words; k++)
        rung_prefetch(&leaf->rows[k * RUNG__LEAF_CAP + w->place[slot]]);
}

/* One of the two is NULL: the whole entry, or the first word of its key. */
static inline void read_key(const lookups *w, uint32_t slot, uint32_t player,
                            rung_ladder_entry *entry, uint64_t *word) {
    if (w->leaf[slot] == RUNG__NODE_NONE)
        return;
    const uint64_t *rows = w->node[slot]->rows + w->place[slot];
    if (word) {
        *word = rows[0];
        return;
    }
    *entry = (rung_ladder_entry){.key = {rows[0]}, .player = player};
    for (uint32_t k = 1; k < w->l->key_words; k++)
        entry->key[k] = rows[k * RUNG__LEAF_CAP];
}

static inline void take_step(lookups *w, int step, uint32_t i, rung_ladder_entry *entries,
                             uint64_t *words) {
    const rung_ladder *l = w->l;
    uint32_t slot = i % IN_FLIGHT, player = w->players[i];
    switch (step) {
    case TO_MAP:
        rung_numbermap_prefetch(&l->tree->map, player);
        break;
    case TO_LEAF:
        w->leaf[slot] = rung_numbermap_get(&l->tree->map, player);
        w->found[i] = w->leaf[slot] != RUNG__NODE_NONE;
        go_to_leaf(w, slot);
        break;
    case TO_ROW:
        go_to_row(w, slot, player);
        break;
    case TO_KEY:
        read_key(w, slot, player, entries ? entries + i : NULL, words ? words + i : NULL);
        break;
    }
}

/* Needs a tree with a map, whose leaves are all of full size. */
__attribute__((always_inline)) static inline void find_mapped(const rung_ladder *l, uint32_t n,
                                                              const uint32_t *players,
                                                              rung_ladder_entry *entries,
                                                              uint64_t *words, bool *found) {
    lookups w;
    w.l = l;
    w.players = players;
    w.found = found;
    for (uint64_t at = 0; at < (uint64_t)n + STEPS * BLOCK; at += BLOCK) {
#pragma GCC unroll 8
        for (int step = TO_MAP; step < STEPS; step++) {
            uint64_t first =
                at - (uint64_t)step * BLOCK; /* a negative number wraps and is not below n */
            for (uint64_t i = first; first < n && i < first + BLOCK && i < n; i++)
                take_step(&w, step, (uint32_t)i, entries, words);
        }
    }
}

/* ---- to players' entries, otherwise ---- */

/* Not in groups, which would stall at their ends, but as one pipeline with LAG players between two steps. */
static void find_others(const rung_ladder *l, uint32_t n, const uint32_t *players,
                        rung_ladder_entry *entries_out, bool *found_out) {
    enum { LAG = 8, RING = 4 * LAG };
    uint32_t leaf[RING], row[RING];
    for (uint64_t i = 0; i < (uint64_t)n + RING; i++) {
        uint64_t guide = i - LAG, who = i - 2 * LAG, at = i - 3 * LAG, read = i - 4 * LAG;
        if (i < n) /* a negative number wraps and is not below n */
            rung__prefetch_map(l, players[i]);
        if (guide < n && l->guide)
            rung__prefetch_leaf(l, players[guide]);
        if (who < n) {
            leaf[who % RING] = rung__leaf_of(l, players[who]);
            if (l->height && leaf[who % RING] != RUNG__NODE_NONE)
                rung__prefetch_players(l, leaf[who % RING]);
        }
        if (at < n) {
            uint32_t id = leaf[at % RING];
            found_out[at] =
                id != RUNG__NODE_NONE && rung__row_of(l, id, players[at], &row[at % RING]);
            if (found_out[at])
                rung__prefetch_key(l, rung__leaf(l, id), row[at % RING]);
        }
        if (read < n && found_out[read])
            rung__read_row(l, rung__leaf(l, leaf[read % RING]), row[read % RING],
                           &entries_out[read]);
    }
}

void rung_ladder_find_batch(const rung_ladder *l, uint32_t n, const uint32_t *players,
                            rung_ladder_entry *entries_out, bool *found_out) {
    if (l->tree && !l->guide)
        find_mapped(l, n, players, entries_out, NULL, found_out);
    else
        find_others(l, n, players, entries_out, found_out);
}

void rung_ladder_word_batch(const rung_ladder *l, uint32_t n, const uint32_t *players,
                            uint64_t *words_out, bool *found_out) {
    enum { SOME = 32 };
    rung_ladder_entry entries[SOME];
    if (l->tree && !l->guide) {
        find_mapped(l, n, players, NULL, words_out, found_out);
        return;
    }
    for (uint32_t done = 0; done < n; done += SOME) {
        uint32_t count = n - done < SOME ? n - done : SOME;
        find_others(l, count, players + done, entries, found_out + done);
        for (uint32_t i = 0; i < count; i++)
            if (found_out[done + i])
                words_out[done + i] = entries[i].key[0];
    }
}

/* ---- by player number ---- */

/* Scans the leaf once per player listed. */
static uint32_t list_leaf(const rung_ladder *l, uint32_t from, uint32_t *players, uint32_t room) {
    rung__node *leaf = rung__leaf(l, l->root);
    const uint32_t *all = rung__column(l, leaf, RUNG__PLAYER);
    uint32_t n = 0;
    for (uint32_t last = from; n < room; last = players[n++] + 1) {
        uint32_t next = RUNG_NUMBER_NONE;
        for (uint32_t i = 0; i < leaf->n; i++)
            if (all[i] >= last && all[i] < next)
                next = all[i];
        if (next == RUNG_NUMBER_NONE)
            break;
        players[n] = next;
    }
    return n;
}

uint32_t rung_ladder_list(const rung_ladder *l, uint32_t from, uint32_t *players, uint32_t room) {
    if (l->tree)
        return rung_numbermap_list(&l->tree->map, from, players, room);
    return l->root == RUNG__NODE_NONE ? 0 : list_leaf(l, from, players, room);
}
